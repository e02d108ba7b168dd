"""RoPE in a config.json: fields by their published names, and a table for each kind of layers."""
from dataclasses import replace

from .._core import _published
from . import json_layers
from .architectures import axes_of, in_order_of_planes, sections_of
from .description import Heads, Refused, check_no_number, set_list, set_number, set_sections, set_string
from .json_fields import bears_on_rope, count, find, find_named, is_number, is_true, number

# ---- Fields ----


#: Fields that tell how channels are paired, and the layout that true means: in latent attention, and elsewhere.
_LAYOUT_FLAGS = {'rope_interleave': 'deinterleave', 'rope_interleaved': 'interleaved',
                 'rotary_emb_interleaved': 'interleaved'}
#: The pairs of each axis; the latter is HunyuanVL's.
_SECTIONS = ('mrope_section', 'xdrope_section')


def _read_list(config, params, name, values):
    if not all(is_number(value) for value in values):
        raise Refused(f'"{name}" holds what is no number; correct it')
    if name in _SECTIONS:
        axes = params.axes if params.axes != 'single' else axes_of(config.type, False)
        set_sections(params, axes, in_order_of_planes(axes, values), name)
    elif not set_list(params, name, values):
        check_no_number(name)
        config.model.note(name)


def _read_string(config, params, name, value):
    if value == 'axial' and config.type.coordinates: # what its type does anyway
        return
    if not set_string(params, name, value):
        check_no_number(name)
        config.model.note(f'{name:.32} "{value:.48}"')


def _read_field(config, params, name, value, inside):
    """One field, for the library to understand. inside: of rope_scaling or rope_parameters, where every name matters;
    of the others, only names that bear on RoPE."""
    matters = inside or bears_on_rope(name)
    if is_number(value) or isinstance(value, bool):
        if not set_number(params, name, float(value)) and matters:
            config.model.note(name)
    elif isinstance(value, str) and inside:
        _read_string(config, params, name, value)
    elif isinstance(value, list) and inside:
        _read_list(config, params, name, value)
    elif value is not None and matters:
        check_no_number(name)
        config.model.note(name)


#: Fields that are made use of here, beside those of the library.
_KNOWN_HERE = {'rope_scaling', 'rope_parameters', 'rope_local_base_freq', 'rope_ratio', 'qk_rope_head_dim',
               'mrope_interleaved', 'global_rope_theta', 'local_rope_theta', 'rotary_embedding_base', 'no_rope_layers',
               'no_rope_layer_interval', 'layer_rope_theta', 'partial_rotary_factors', 'use_mem_rope', 'mla_use_nope',
               'qk_nope_head_dim', *_LAYOUT_FLAGS,
               'indexer_rope_interleave'} # the indexer's rotation is not this one
#: Fields that say what is done anyway.
_AS_DONE = {'original_rope': True, 'rotary': True, 'yarn_only_types': ['full_attention'], 'use_rope_layers': []}


def _is_known_here(name, value):
    return name in _KNOWN_HERE or (name in _AS_DONE and type(value) is type(_AS_DONE[name]) and value == _AS_DONE[name])


def _is_said_twice(object_, name, value):
    """Older names beside newer ones do not count, wherever they stand. (Qwen3-Omni has "interleaved" of its axes.)"""
    return (name == 'type' and object_.get('rope_type') is not None) or \
        (name == 'interleaved' and value is object_.get('mrope_interleaved'))


def _own_fields(object_, inside):
    """The fields that somebody has to understand."""
    return [(name, value) for name, value in object_.items()
            if not _is_known_here(name, value) and not (inside and _is_said_twice(object_, name, value))]


def _read_fields(config, params, object_, inside):
    if not isinstance(object_, dict):
        return
    if inside:
        params.axes = axes_of(config.type, is_true(object_, 'mrope_interleaved'))
    for name, value in _own_fields(object_, inside):
        _read_field(config, params, name, value, inside)
    if inside and not params.sections:
        params.axes = 'single'


# ---- Tables ----


def _layout(config):
    """The layout of the type; the file's where the type is not known, or its class looks at the field."""
    name, stated = find_named(config.text, *_LAYOUT_FLAGS)
    layout = config.type.layout
    if name is None:
        return layout or 'half'
    if layout and not config.type.states_interleave: # the class does not look at it
        if stated is not (layout in ('interleaved', 'deinterleave')):
            config.model.note(name)
        return layout
    return _LAYOUT_FLAGS[name] if stated is True else 'half'


def _read_part(config, params):
    """Sets how many channels rotate, for a file that does not say it."""
    params.rot_fraction = config.type.rotated_part
    if config.type.n_rot <= config.model.head_dim and 'rotary_dim' not in config.text:
        params.n_rot = config.type.n_rot


def _common_params(config):
    """Parameters that all layers have in common."""
    model, text, params = config.model, config.text, _published.RopeParams()
    params.layout = _layout(config)
    _read_part(config, params)
    params.base = config.type.base or params.base
    _read_fields(config, params, config.attention, inside=False)
    _read_fields(config, params, text, inside=False)
    params.base = number(text, ('global_rope_theta', 'rotary_embedding_base'), params.base, 1.0, 1e30)
    params.head_dim = model.head_dim
    params.max_context = model.max_position
    params.base *= number(text, ('rope_ratio',), 1.0, 1e-3, 1e12) # ChatGLM: a factor on the base
    return params


def _local_base(config, base):
    """The base of the layers with a sliding window, where it is not that of the others."""
    return number(config.text, ('rope_local_base_freq', 'local_rope_theta'), config.type.local_base or base, 1.0, 1e30)


def _by_use(layers, kind):
    """Layers of a kind ('': of any) that rotate, by what they make of RoPE."""
    found = {}
    for layer in layers:
        if layer.rotates and kind in ('', layer.kind):
            found.setdefault(layer.use, []).append(layer)
    return found


_MOST_TABLES = 6


def _new_tables(config, kind, params):
    """A table of these parameters for layers of a kind, or several where layers differ in base, part or heads."""
    by_use = _by_use(config.layers, kind)
    if not config.layers or (kind and not any(layer.kind for layer in config.layers)): # nothing tells which they are
        by_use = {json_layers.Use(0.0, 0.0, json_layers.Heads(config).of(kind)): []}
    if len(config.model.tables) + len(by_use) > _MOST_TABLES:
        raise Refused(f'its layers rotate in more than {_MOST_TABLES} ways')
    for use, layers in by_use.items():
        kinds = tuple(dict.fromkeys(layer.kind for layer in layers))
        name = kind or ('' if len(by_use) == 1 else kinds[0] if len(kinds) == 1 else f'base {use.base:g}')
        table = config.model.new_table(name, params, len(layers))
        table.layer_types = tuple(filter(None, kinds))
        n_heads, n_kv_heads, head_dim = use.heads
        table.q, table.k = Heads(n_heads, head_dim), Heads(n_kv_heads, head_dim)
        if use.base:
            table.params.base = use.base
        if use.part:
            table.params.rot_fraction = use.part


def _read_kinds_of_layers(config, rope, common):
    """An object inside the object for each kind of layers; what stands beside them is for all. False: none is."""
    fields = _own_fields(rope, inside=True)
    kinds = [(name, value) for name, value in rope.items() if isinstance(value, dict)]
    if len(kinds) > _MOST_TABLES:
        raise Refused(f'has more than {_MOST_TABLES} kinds of layers')
    if not kinds:
        return False
    for name, value in fields:
        if not isinstance(value, dict):
            _read_field(config, common, name, value, inside=True)
    for name, value in kinds:
        params = common.copy()
        if name == 'sliding_attention':
            params.base = _local_base(config, common.base)
        _read_fields(config, params, value, inside=True)
        _new_tables(config, name, params)
    for kind in dict.fromkeys(layer.kind for layer in config.layers if layer.rotates):
        if kind and kind not in rope:
            config.model.note(f'{kind} (not in rope_parameters)')
    return True


def _find_rope(config):
    """The object that tells the frequencies, or holds one for each kind of layers. rope_scaling, the older name,
    goes before the other, as transformers has it; a file without either leaves them to its type."""
    scaling, parameters = find(config.text, 'rope_scaling'), find(config.text, 'rope_parameters')
    for name, value in (('rope_scaling', scaling), ('rope_parameters', parameters)):
        if value is not None and not isinstance(value, dict):
            raise Refused(f'"{name}" is no object; correct it')
    if scaling is None and parameters is None:
        return config.type.rope or None
    if not scaling:
        return parameters
    if parameters is not None and parameters != scaling:
        config.model.note('rope_parameters beside rope_scaling')
    return scaling


def _unscaled(params, base):
    plain = params.unscaled()
    plain.max_context, plain.base = params.max_context, base
    return plain


def _read_sections(config, params, head_dim):
    """Takes the sections of the type where the file states none."""
    type_ = config.type
    if type_.axes == 'single' or params.sections:
        return
    n_rot = params.n_rot or int(params.rot_fraction * head_dim)
    sections = sections_of(type_, n_rot // 2)
    set_sections(params, type_.axes, in_order_of_planes(type_.axes, sections), 'mrope_section')
    if type_.n_axes > 2: # what does not go into equal parts is not rotated
        params.n_rot = 2 * sum(sections)


def _read_tables(config):
    """Layers with a sliding window may also have a base of their own, and then no scaling."""
    common, type_, rope = _common_params(config), config.type, config.rope
    if rope and _read_kinds_of_layers(config, rope, common):
        return
    params = common.copy()
    _read_fields(config, params, rope, inside=True)
    _read_sections(config, params, config.model.head_dim)
    if _local_base(config, 0.0):
        _new_tables(config, type_.unwindowed, params)
        _new_tables(config, 'sliding_attention', _unscaled(common, _local_base(config, 0.0)))
    elif type_.layers.windows_unscaled and params.scaling != 'none':
        _new_tables(config, 'full_attention', params)
        _new_tables(config, 'sliding_attention', _unscaled(params, params.base))
    else:
        _new_tables(config, '', params)


# ---- What is not made use of, and what is guessed ----


def _note_unread(config):
    """Notes fields about positions, or about which layers have them, whose names do not speak of RoPE."""
    for name in ('linear_attn_config', 'cross_attention_layers', 'use_dynamic_ntk', 'use_logn_attn',
                 'attn_temperature_tuning'):
        value = find(config.text, name)
        if value is not None and value is not False and value != 0.0 and value != []:
            config.model.note(name)
    json_layers.note_unread(config)
    for type_ in config.type, config.whole_type:
        if type_.unread:
            config.model.note(type_.unread)


def _states(object_, *names):
    """In the model's object, that of its RoPE, or one inside that."""
    return find(object_, *names) is not None or any(_states(value, *names) for value in object_.values()
                                                     if isinstance(value, dict))


def _note_guesses(config):
    """Notes what neither the file states nor its type implies, by the argument of Rope that would tell it."""
    text, type_, guessed = config.text, config.type, config.model.guessed
    axes = [table.params.axes for table in config.model.tables]
    is_stated = isinstance(find_named(text, *_LAYOUT_FLAGS)[1], bool)
    if not type_.layout and not is_stated:
        guessed['layout'] = 'half-split'
    bases = ('rope_theta', 'rotary_emb_base', 'global_rope_theta', 'rotary_embedding_base', 'layer_rope_theta')
    if not type_.base and not _states(text, *bases) and not _states(config.rope or {}, *bases):
        guessed['base'] = 'base 10000'
    if config.is_of_known_type():
        return
    # Classes differ in where the axes' pairs are, and not all of them look at mrope_interleaved.
    if 'mrope' in axes and not _states(text, 'mrope_interleaved'):
        guessed['axes'] = 'sections one after the other'
    # Towers for images rotate by rows and columns, each in its own way, or by their patches' index.
    if 'single' in axes and find(text, 'patch_size', 'image_size') is not None:
        guessed['axes'] = 'one position a token'


# ---- The whole ----


def _find_latent_heads(config):
    """Multi-head latent attention: the rotated channels come last, in Q behind those of each head, in K once for all
    heads behind the compressed keys and values."""
    n_rot = count(config.text, 'qk_rope_head_dim')
    if not n_rot:
        return
    unrotated, compressed = count(config.text, 'qk_nope_head_dim'), count(config.text, 'kv_lora_rank')
    if config.type.rotates_last: # K and V are one head, which is not compressed
        unrotated = compressed = config.model.head_dim - n_rot
    for table in config.model.tables:
        table.q = replace(table.q, head_dim=unrotated + n_rot, n_offs=unrotated)
        table.k = replace(table.k, n_heads=1, head_dim=compressed + n_rot, n_offs=compressed)
        table.params.n_rot = n_rot


def read(config):
    """Once the heads are known: the tables, and which channels of Q and K they rotate."""
    model, type_ = config.model, config.type
    model.has_qk_norm = type_.has_qk_norm or (type_.states_qk_norm and is_true(config.text, 'use_qk_norm'))
    if is_true(config.text, 'position_encoding_2d'): # the first ChatGLM
        raise Refused('"position_encoding_2d" is true: each token has two positions, which posenc model does not read; '
                      'of ChatGLM it reads the second and later')
    config.layers, config.rope = json_layers.read(config), _find_rope(config)
    _read_tables(config)
    if not model.tables: # no layer rotates
        model.positions = 'none'
        return
    _note_unread(config)
    _note_guesses(config)
    _find_latent_heads(config)
