"""The layers of a config.json: their kinds, which of them rotate, by which base, and with which heads."""
from dataclasses import dataclass, replace

from .architectures import Layers
from .description import Refused
from .json_fields import count, find, find_named, is_number, is_true

#: A kind for each layer, or kinds that repeat.
_KINDS, _BLOCKS = ('layer_types', 'layers_block_type'), ('block_types', '_block_types')
#: Indices of the layers of a hybrid that are attention.
_ATTENTION_LISTS = ('full_attn_idxs', 'attn_layer_indices')
#: Heads of a layer, and the lists that have those of all layers.
_HEADS = {'num_attention_heads': 'num_attention_heads_per_layer',
          'num_key_value_heads': 'num_key_value_heads_per_layer', 'head_dim': ''}
#: Lists with a number for each layer. Some go on with layers that predict further tokens.
_LISTS = (*_KINDS, 'no_rope_layers', 'layer_rope_theta', 'partial_rotary_factors', 'num_attention_heads_per_layer',
          'num_key_value_heads_per_layer')
_MOST_FURTHER_LAYERS = 16
_MOST_HEADS, _MOST_DIGITS = 1 << 20, 9


@dataclass(frozen=True)
class Use:
    """Base, rotated part and heads of a layer. Layers that agree in them share a table."""
    base: float  #: of a list of bases; 0: that of all layers
    part: float  #: of the channels that rotate, of such a list; 0: likewise
    heads: tuple #: n_heads, n_kv_heads and head_dim


@dataclass(frozen=True)
class Layer:
    kind: str
    rotates: bool
    use: Use


def _list(config, *names):
    """[] if the list is missing."""
    value = find(config.text, *names)
    return value if isinstance(value, list) else []


def _at(values, i, fallback=0.0):
    """Number i of a list, which may be too short."""
    return values[i] if i is not None and i < len(values) else fallback


def _take_interval(config, implied, *names):
    value = find(config.text, *names)
    return int(min(value, 2.0**31)) if is_number(value) and value >= 1.0 else implied


# ---- Kinds ----


def _attention_layers(config):
    """The indices of the layers that are attention, where the others of a hybrid have no Q and K. []: no list, or one
    that is not understood: these ascend."""
    listed = find(config.text, *_ATTENTION_LISTS)
    least, n_layers = 0, config.model.n_layers
    for i in listed if isinstance(listed, list) else []:
        if not (is_number(i) and least <= i < n_layers and i == int(i)):
            return []
        least = i + 1
    return listed if isinstance(listed, list) else []


def _words(config, *names):
    """A list of kinds; [] if it is missing, or holds no word."""
    values = _list(config, *names)
    return values if any(isinstance(kind, str) for kind in values) else []


def _pattern(config):
    """The pattern of the type, with what the file says of it."""
    text, pattern = config.text, config.type.layers
    if pattern.only_if_windows and 'sliding_window' in text and text['sliding_window'] is None:
        pattern = Layers()
    blocks = _words(config, *_BLOCKS)
    if blocks:
        pattern = replace(pattern, blocks=tuple(blocks))
    return replace(pattern,
                   full_every=_take_interval(config, pattern.full_every, 'sliding_window_pattern',
                                             '_sliding_window_pattern', 'global_attn_every_n_layers'),
                   unrotated_every=_take_interval(config, pattern.unrotated_every, 'no_rope_layer_interval'))


def _check_lists(config):
    """By their lengths, and that they hold numbers: of heads whole ones."""
    n_layers = config.model.n_layers
    for name in _LISTS:
        values = _words(config, name) if name in _KINDS else _list(config, name)
        if values and n_layers and not n_layers <= len(values) <= n_layers + _MOST_FURTHER_LAYERS:
            raise Refused(f'"{name}" is a list of {len(values)} for {n_layers} layers; correct it, or '
                          'num_hidden_layers')
        if name not in _KINDS and not all(is_number(value) for value in values):
            raise Refused(f'"{name}" holds what is no number; correct it')
        if name in _HEADS.values() and not all(1.0 <= value <= _MOST_HEADS and value.is_integer() for value in values):
            raise Refused(f'"{name}" holds what is no count of heads; correct it')


# ---- Heads ----


def _own_configs(config):
    """per_layer_config by the number of the layer, which is a string, perhaps with zeros in front."""
    own = find(config.text, 'per_layer_config')
    if own is None:
        return {}
    if not isinstance(own, dict) or not all(len(name) <= _MOST_DIGITS and name.isdecimal() and isinstance(value, dict)
                                            for name, value in own.items()):
        raise Refused('"per_layer_config" is no object with an object for the number of each layer; correct it')
    found = {int(name): value for name, value in own.items()}
    if config.model.n_layers and found and max(found) >= config.model.n_layers:
        raise Refused(f'"per_layer_config" has layer {max(found)}, and there are {config.model.n_layers} layers; '
                      'correct it')
    return found


def _of_kind(config, kind, own):
    """Heads that layers of a kind have for themselves, by the names of _HEADS. own: of single layers, by which newer
    files say it."""
    text, type_ = config.text, config.type
    if kind == 'full_attention' and own is None:
        counts = is_true(text, 'attention_k_eq_v') or not type_.states_full_kv
        return {'head_dim': count(text, 'global_head_dim') or type_.full_head_dim,
                'num_key_value_heads': count(text, 'num_global_key_value_heads') if counts else 0}
    if kind == 'sliding_attention':
        return {'num_attention_heads': count(text, 'num_sliding_attention_heads') or
                count(find(text, 'attention_other_setting'), 'num_attention_heads')}
    return {}


class Heads:
    """n_heads, n_kv_heads and head_dim of a layer."""

    def __init__(self, config):
        self.config, self.own, self.known = config, _own_configs(config), {}
        self.has_own = find(config.text, 'per_layer_config') is not None
        self.lists = {name: _list(config, list_) for name, list_ in _HEADS.items() if list_}

    def of(self, kind, i=None):
        """i: None for any layer of that kind."""
        listed = tuple(int(_at(self.lists.get(name, ()), i)) for name in _HEADS)
        if i in self.own:
            return self._made(kind, listed, self.own[i])
        if (kind, listed) not in self.known:
            self.known[kind, listed] = self._made(kind, listed, {})
        return self.known[kind, listed]

    def _made(self, kind, listed, own):
        model, of_kind = self.config.model, _of_kind(self.config, kind, self.own if self.has_own else None)
        common = {'num_attention_heads': model.n_heads, 'num_key_value_heads': model.n_kv_heads,
                  'head_dim': model.head_dim}
        return tuple(count(own, name) or n or of_kind.get(name) or common[name] for name, n in zip(_HEADS, listed))


def _note_own_fields(config):
    """Fields of single layers that bear on positions, and are not their heads."""
    for own in _own_configs(config).values():
        for name in own:
            if name not in _HEADS and ('rope' in name or 'rotary' in name or name in _KINDS):
                config.model.note(f'per_layer_config: {name}')


# ---- The whole ----


def read(config):
    """[] where the file does not tell how many there are."""
    _check_lists(config)
    types, pattern = _words(config, *_KINDS), _pattern(config)
    attention = set() if types else set(_attention_layers(config))
    rotates, bases = _list(config, 'no_rope_layers'), _list(config, 'layer_rope_theta')
    parts, heads = _list(config, 'partial_rotary_factors'), Heads(config)
    attention_every = _take_interval(config, pattern.attention_every, 'full_attention_interval', 'layer_group_size')
    pattern = replace(pattern, attention_every=0 if types else attention_every) # layer_types tells it itself
    if rotates or bases:
        pattern = replace(pattern, unrotated_every=0)
    n_layers, layers, known = config.model.n_layers or len(types), [], {}
    for i in range(n_layers):
        place = pattern.place(i, n_layers)
        kind = types[i] if i < len(types) and isinstance(types[i], str) else pattern.kind(place)
        if attention:
            kind = 'full_attention' if i in attention else 'conv'
        # In spite of its name, 1 in no_rope_layers is a layer with RoPE; a base of 0 is one without.
        is_unrotated = abs(_at(rotates, i, 1.0)) < 1.0 or _at(bases, i, 1.0) == 0.0
        said = kind, not is_unrotated and pattern.rotates(place, kind), _at(bases, i), _at(parts, i), heads.of(kind, i)
        if said not in known:
            known[said] = Layer(kind, said[1], Use(*said[2:]))
        layers.append(known[said])
    return layers


def note_unread(config):
    """Lists of the layers that are attention, or that have a window, where no list of their kinds tells it."""
    _note_own_fields(config)
    if _words(config, *_KINDS):
        return
    for name in ('attn_type_list', 'hybrid_override_pattern', *_KINDS, *_BLOCKS):
        if find(config.text, name) is not None and not _words(config, name):
            config.model.note(name)
    if isinstance(find(config.text, 'sliding_window_pattern'), str): # "LLLG"; a number is an interval
        config.model.note('sliding_window_pattern')
    name, _ = find_named(config.text, *_ATTENTION_LISTS)
    if name is not None and not _attention_layers(config):
        config.model.note(name)
