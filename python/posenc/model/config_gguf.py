"""The metadata of a GGUF file."""
import math
from dataclasses import dataclass, replace

from .._core import _published
from . import architectures, families_gguf, gguf
from .description import (LARGEST_BIAS, STATUS, Heads, Refused, check_no_number, set_list, set_number, set_sections,
                          set_string)

#: Counts that are wanted here, by key without "<architecture>.", and the attribute of Model; '': of _Reading.
_COUNTS = {'block_count': 'n_layers', 'embedding_length': 'hidden_size', 'attention.head_count': 'n_heads',
           'attention.head_count_kv': 'n_kv_heads', 'attention.key_length': 'head_dim',
           'context_length': 'max_position', 'attention.key_length_mla': '', 'attention.kv_lora_rank': ''}

#: More factors than any head has pairs.
_MOST_FACTORS = 65536


@dataclass
class _Reading:
    """Values of the keys, beside the model."""
    model: object
    file: gguf.File
    type: architectures.Architecture
    is_split: bool                #: into several files, of which this is one
    params: object
    key_length_mla: int = 0
    kv_lora_rank: int = 0         #: of latent attention
    local_base: float = 0.0
    n_without_attention: int = 0  #: layers of a hybrid that have no K and V
    pattern: object = None        #: which layers have a window; None: the file does not tell
    has_alibi: bool = False
    has_no_rope: bool = False
    has_windows: bool = False
    has_scaling: bool = False     #: rope.scaling.type is stated
    layers: architectures.Layers = architectures.Layers() #: of the type, as far as this file has them
    n_windows: int = -1           #: layers that have one; -1: there is no list of them


# ---- Keys ----


def _take_count(reading, key, value):
    """The number, or the largest one if each layer has its own."""
    most = 2**31 - 1 if key == 'context_length' else 2**20
    n = value.largest
    if value.is_text:
        raise Refused(f'"{value.key}" is no number')
    if not (0 <= n <= most and n == math.floor(n)):
        raise Refused(f'"{value.key}" is {n:g}, which makes no sense; expected a whole number up to {most:g}')
    if _COUNTS[key]:
        setattr(reading.model, _COUNTS[key], int(n))
    else:
        setattr(reading, key.split('.')[1], int(n))


def _take_max_bias(reading, value):
    """0: there is none."""
    if not 0.0 <= value.first <= LARGEST_BIAS:
        raise Refused(f'"{value.key}" is {value.first:g}, which makes no sense; expected 0 to {LARGEST_BIAS:g}')
    if value.first:
        reading.has_alibi, reading.model.max_bias = True, value.first


def _take_sections(reading, value):
    """Without a first and a second section llama.cpp takes them for none."""
    if len(value.numbers) < 2 or any(value.numbers[:2]):
        kind = reading.type.axes if reading.type.axes != 'single' else 'mrope'
        set_sections(reading.params, kind, value.numbers, 'rope.dimension_sections')


def _take_other(reading, key, value):
    """Whether the key is known here, and not the library's."""
    if key == 'rope.dimension_sections' and value.is_array:
        _take_sections(reading, value)
    elif key == 'rope.freq_base_swa':
        reading.local_base = value.first
    elif key == 'attention.max_alibi_bias':
        _take_max_bias(reading, value)
    elif key == 'attention.head_count_kv' and value.is_array:
        reading.n_without_attention = value.n_zeros
    elif key == 'attention.sliding_window':
        reading.has_windows = value.largest > 0
    elif key == 'attention.sliding_window_pattern':
        reading.pattern = value
    elif key == 'rope.scaling.finetuned': # of most models it says nothing about positions
        reading.has_no_rope = reading.type.finetuned_tells and value.first == 0
    else:
        return False
    return True


def _take_value(reading, key, value):
    """key: without the architecture."""
    is_known = key in _COUNTS
    if is_known:
        _take_count(reading, key, value)
    is_known |= _take_other(reading, key, value)
    if value.is_text and not value.is_array:
        is_known |= set_string(reading.params, value.key, value.text)
    elif not value.is_array:
        is_known |= set_number(reading.params, value.key, float(value.first))
    reading.has_scaling |= key == 'rope.scaling.type'
    is_temperature = key == 'attention.temperature_scale' and value.first != 0
    if is_known or not (key.startswith('rope.') or is_temperature):
        return
    check_no_number(value.key)
    reading.model.note(f'{value.key:.60}{" = " if value.text else ""}{value.text:.60}')


def _begin(file, model):
    """The architecture first, for the other keys begin with it."""
    is_split = False
    for value in file.values:
        if value.key == 'general.architecture':
            model.model_type = value.text
        elif value.key == 'general.name':
            model.architecture = value.text
        elif value.key == 'split.count':
            is_split = value.first > 1
    if not model.model_type:
        raise Refused('there is no general.architecture; ' +
                      ('this is a part of a split model: give the first' if is_split else 'is this a model?'))
    type_ = families_gguf.GGUF.get(model.model_type)
    if type_ is None:
        raise Refused(f'architecture "{model.model_type:.63}" is unknown: posenc cannot tell what its positions do; '
                      'give the config.json of the model it was made from')
    return _Reading(model, file, type_, is_split, _published.RopeParams())


# ---- Tensors ----


def _take_list(reading, name):
    """Whether the file has that list of factors."""
    if name not in reading.file.tensors:
        return False
    few = reading.file.tensors[name].dims[:1] <= (_MOST_FACTORS,)
    numbers = reading.file.floats(name) if few else None
    if numbers is None:
        raise Refused(f'tensor "{name}" is no list of float32 inside the file; fetch the file again')
    set_list(reading.params, name, numbers)
    return True


def _take_tensors(reading):
    model, tensors = reading.model, reading.file.tensors
    if reading.is_split and not tensors:
        model.note('split.count (tensors are in other files)')
    _take_list(reading, 'rope_freqs.weight')
    has_lists = [_take_list(reading, f'rope_factors_{length}.weight') for length in ('short', 'long')]
    if any(has_lists) and not reading.has_scaling: # llama.cpp goes by the tensors
        reading.params.scaling = 'longrope'
    norm = tensors.get('blk.0.attn_q_norm.weight')
    model.has_qk_norm = norm is not None and norm.dims == (model.head_dim,)


# ---- The whole ----


def _check_heads(model):
    if not model.n_heads:
        raise Refused(f'there is no {model.model_type}.attention.head_count; is this a Transformer?')
    if not model.head_dim and (not model.hidden_size or model.hidden_size % model.n_heads):
        raise Refused(f'there is no {model.model_type}.attention.key_length, and embedding_length {model.hidden_size} '
                      f'is no multiple of {model.n_heads} heads')
    model.head_dim = model.head_dim or model.hidden_size // model.n_heads
    model.n_kv_heads = model.n_kv_heads or model.n_heads


def _read_window_pattern(reading):
    """Which layers see all keys: one of so many (0: none does), or those with 0 in a list of all."""
    value, model = reading.pattern, reading.model
    if value is None or (reading.type.layers.only_if_windows and not reading.has_windows):
        return
    every = value.first
    if value.is_array and not value.is_text and len(value.numbers) == model.n_layers:
        reading.n_windows = model.n_layers - value.n_zeros
    elif value.is_array or value.is_text or not (0 <= every <= 2**20 and every == math.floor(every)):
        model.note(value.key)
    elif every > 0:
        reading.layers = replace(reading.layers, full_every=int(every))
    else:
        reading.n_windows = model.n_layers


def _count_layers(reading, kind):
    """Layers that rotate, by a table for layers of that kind."""
    n_layers, layers = reading.model.n_layers, reading.layers
    if reading.n_windows < 0 or layers.unrotated_every:
        return layers.count(n_layers, kind)
    n_full = 0 if layers.only_windows_rotate else n_layers - reading.n_windows
    return {'': n_full + reading.n_windows, 'full_attention': n_full, 'sliding_attention': reading.n_windows}[kind]


def _new_table(reading, name, kind, params):
    """None where it is known that no layer would use it."""
    n = _count_layers(reading, kind)
    is_known = reading.model.n_layers and (not kind or reading.layers.full_every or reading.n_windows >= 0)
    if n or not is_known:
        reading.model.new_table(name, params, n)


def _make_tables(reading):
    model, params = reading.model, reading.params
    if not reading.has_scaling and params.scaling == 'none' and params.factor > 1.0:
        params.scaling = 'linear'
    local_base = reading.local_base or (params.base if reading.layers.windows_unscaled else reading.type.local_base)
    if not local_base:
        _new_table(reading, '', '', params)
        # A file that leaves no layer with attention is not taken at its word.
        if model.tables and reading.n_without_attention < model.tables[0].n_layers:
            model.tables[0].n_layers -= reading.n_without_attention
        return
    _new_table(reading, 'full attention', 'full_attention', params)
    plain = params.unscaled()
    plain.max_context = model.max_position
    plain.base = local_base
    _new_table(reading, 'sliding window', 'sliding_attention', plain)


def _find_latent_heads(reading):
    """Multi-head latent attention: the rotated channels come last, in K behind the compressed keys and values."""
    model, n_rot = reading.model, reading.params.n_rot
    q_length = reading.key_length_mla or model.head_dim
    if reading.kv_lora_rank == 0 or not 0 < n_rot <= q_length:
        return
    for table in model.tables:
        table.q = Heads(model.n_heads, q_length, q_length - n_rot)
        table.k = Heads(1, reading.kv_lora_rank + n_rot, reading.kv_lora_rank)


def _interpret(reading):
    model, type_, prefix = reading.model, reading.type, reading.model.model_type + '.'
    for value in reading.file.values:
        if value.key.startswith(prefix):
            _take_value(reading, value.key[len(prefix):], value)
    _check_heads(model)
    reading.has_alibi |= type_.alibi_layers != 0 and model.n_layers == type_.alibi_layers
    model.positions = 'alibi' if reading.has_alibi else 'none' if reading.has_no_rope else type_.positions
    if model.positions != 'rope':
        return
    has_sections = reading.params.axes != 'single' # M-RoPE pairs the halves, whatever the type
    reading.params.layout = 'half' if has_sections else type_.layout
    reading.params.rot_fraction = 1.0
    if not type_.layers.only_if_windows or reading.has_windows:
        reading.layers = type_.layers
    _read_window_pattern(reading)
    _take_tensors(reading)
    _make_tables(reading)
    if not model.tables:
        model.positions = 'none'
    _find_latent_heads(reading)


def read(path, model):
    """Fills what the file says, and its tables with parameters that are not yet checked."""
    try:
        file = gguf.File(path)
        try:
            _interpret(_begin(file, model))
        finally:
            file.close()
    except gguf.Damaged as damage:
        raise Refused(f'the GGUF file {damage}') from None
