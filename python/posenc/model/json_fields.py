"""A config.json and its fields, which go by several names."""
import json
import math
import numbers
import os
from collections.abc import Mapping, Sequence

from .description import Refused

_LARGEST_FILE = 16 << 20 # no config.json is near this large; weights are


# ---- The file ----


def load(path):
    if os.path.getsize(path) > _LARGEST_FILE:
        raise Refused('too large for a config.json, and no GGUF file; give the small JSON file beside the weights')
    with open(path, 'rb') as file:
        text = file.read().decode('utf-8-sig', errors='surrogateescape')
    try: # Infinity and NaN are no JSON, but Python writes them; a field that means something is refused by its range
        found = json.loads(text, strict=False, parse_int=float)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith('Unterminated string'):
            line, column = text.count('\n') + 1, len(text) - text.rfind('\n')
            raise Refused(f'the JSON ends too early, at line {line}, column {column}; fetch the file again') from None
        raise Refused(f'no valid JSON near line {error.lineno}, column {error.colno}; correct it there, or fetch the '
                      'file again') from None
    if not isinstance(found, dict):
        raise Refused("the JSON is no object; give a model's config.json")
    return found


def plain(value):
    """A field of a dict as load() has it: numbers are floats, sequences lists, and names strings."""
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    return str(value) # such as a dtype


# ---- Parts: models that also see or hear keep each inside ----

#: The parts that are read, and what their objects are called.
PARTS = {'text': ('text_config', 'llm_config', 'language_config'), 'vision': ('vision_config',)}


def part_of(file, part):
    """The object of a part, None where there is none. Omni models have theirs one level deeper."""
    thinker = find(file, 'thinker_config')
    found = find(thinker if isinstance(thinker, dict) else file, *PARTS[part])
    return found if isinstance(found, dict) else None


# ---- Fields, which go by several names: the first that is there counts ----


def is_number(value):
    return isinstance(value, float)


def find_named(object_, *names):
    """(name, value), or (None, None) where there is none but null."""
    if isinstance(object_, dict):
        for name in names:
            if object_.get(name) is not None:
                return name, object_[name]
    return None, None


def find(object_, *names):
    return find_named(object_, *names)[1]


def is_true(object_, name):
    return find(object_, name) is True


def number(object_, names, fallback, low, high):
    """The fallback where the field is missing; out of range or of another type it is refused."""
    name, value = find_named(object_, *names)
    if name is None:
        return fallback
    if isinstance(value, list): # OpenELM's heads, Swin's
        raise Refused(f'"{name}" is a list, and posenc model reads one number for all layers')
    if not is_number(value):
        raise Refused(f'"{name}" is no number; correct it')
    if not low <= value <= high:
        raise Refused(f'"{name}" is {value:g}, which makes no sense; expected {low:g} .. {high:g}')
    return value


def count(object_, *names):
    """A count, from 1 to 2^20; 0 where it is not stated."""
    value = number(object_, names, 0.0, 1.0, 2.0**20)
    if value != math.floor(value):
        raise Refused(f'"{find_named(object_, *names)[0]}" is {value:g}, but must be a whole number')
    return int(value)


def is_of_rope(name):
    """Whether a field of that name speaks of RoPE."""
    return 'rope' in name or 'rotary' in name


def bears_on_rope(name):
    """Whether a field of that name may change what is rotated, or by how much."""
    return is_of_rope(name) or 'nope' in name or 'yarn' in name
