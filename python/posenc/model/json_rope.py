"""RoPE in a config.json: fields by their published names, and a table for each kind of layers."""
from dataclasses import replace

from .._core import _published
from .architectures import Layers, axes_of, in_order_of_planes, sections_of
from .description import Refused, check_no_number, set_list, set_number, set_sections, set_string
from .json_fields import count, find, find_named, is_number, is_of_rope, is_true, number

#: Of hybrids: the indices of the layers that are attention.
_ATTENTION_LISTS = ('full_attn_idxs', 'attn_layer_indices')

# ---- Fields ----


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
    of the others, only names that speak of RoPE."""
    matters = inside or is_of_rope(name)
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


#: What is made use of here, beside the library.
_KNOWN_HERE = {'rope_scaling', 'rope_parameters', 'rope_local_base_freq', 'rope_ratio', 'qk_rope_head_dim',
               'rope_interleave', 'mrope_interleaved', 'global_rope_theta', 'local_rope_theta', 'no_rope_layers',
               'no_rope_layer_interval'}
#: Fields that say what is done anyway.
_AS_DONE = {'original_rope': True, 'rotary': True, 'rope_interleaved': False}


def _is_known_here(name, value):
    return name in _KNOWN_HERE or (name in _AS_DONE and value is _AS_DONE[name])


def _is_said_twice(object_, name, value):
    """Older names beside newer ones do not count, wherever they stand. (Qwen3-Omni has "interleaved" of its axes.)"""
    return (name == 'type' and object_.get('rope_type') is not None) or \
        (name == 'interleaved' and value is object_.get('mrope_interleaved'))


def _own_fields(object_, inside):
    """Those that somebody has to understand."""
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


# ---- Which layers ----


def _take_interval(config, implied, *names):
    value = find(config.text, *names)
    return int(min(value, 2.0**31)) if is_number(value) and value >= 1.0 else implied


def _list(config, name):
    """[] if the list is missing."""
    value = find(config.text, name)
    return value if isinstance(value, list) else []


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


#: Beyond the model's own layers some files list those that predict further tokens: 1 to 3 of them.
_MOST_FURTHER_LAYERS = 16


def _check_length(config, name):
    """A list that says something of each layer."""
    n, n_layers = len(_list(config, name)), config.model.n_layers
    if n and n_layers and not n_layers <= n <= n_layers + _MOST_FURTHER_LAYERS:
        raise Refused(f'"{name}" is a list of {n} for {n_layers} layers; correct it, or num_hidden_layers')


def _pattern(config):
    """Of the type, with what the file says of it."""
    text, pattern = config.text, config.type.layers
    if pattern.only_if_windows and 'sliding_window' in text and text['sliding_window'] is None:
        pattern = Layers()
    return replace(pattern,
                   full_every=_take_interval(config, pattern.full_every, 'sliding_window_pattern',
                                             '_sliding_window_pattern', 'global_attn_every_n_layers'),
                   unrotated_every=_take_interval(config, pattern.unrotated_every, 'no_rope_layer_interval'))


def _count_layers(config, name):
    """Layers that use the table of that name ('': of any); 0 where the file does not tell."""
    types, pattern = _list(config, 'layer_types'), _pattern(config)
    attention = set() if types else set(_attention_layers(config))
    rotates = _list(config, 'no_rope_layers') # in spite of its name, 1 is a layer with RoPE
    if not types: # layer_types tells it itself
        pattern = replace(pattern, attention_every=_take_interval(config, pattern.attention_every,
                                                                  'full_attention_interval'))
    if rotates:
        pattern = replace(pattern, unrotated_every=0)
    n = 0
    for i in range(config.model.n_layers or len(types)):
        kind = types[i] if i < len(types) and isinstance(types[i], str) else pattern.kind(i)
        if attention:
            kind = 'full_attention' if i in attention else 'conv'
        is_unrotated = i < len(rotates) and is_number(rotates[i]) and abs(rotates[i]) < 1.0
        n += not is_unrotated and pattern.rotates(i, kind) and name in ('', kind)
    return n


# ---- Tables ----


def _layout(config):
    """rope_interleave tells it of the classes that have it, which write interleaved pairs half-split."""
    stated = find(config.text, 'rope_interleave')
    if stated is not None and stated is not True:
        return 'half'
    return config.type.layout or ('deinterleave' if stated is not None else 'half')


def _common_params(config):
    """What all layers have in common."""
    model, text, params = config.model, config.text, _published.RopeParams()
    params.layout = _layout(config)
    params.rot_fraction = config.type.rotated_part
    params.base = config.type.base or params.base
    _read_fields(config, params, config.attention, inside=False)
    _read_fields(config, params, text, inside=False)
    params.base = number(text, ('global_rope_theta',), params.base, 1.0, 1e30)
    params.head_dim = model.head_dim
    params.max_context = model.max_position
    params.base *= number(text, ('rope_ratio',), 1.0, 1e-3, 1e12) # ChatGLM: a factor on the base
    return params


def _local_base(config, base):
    """Of the layers with a sliding window, where it is not that of the others."""
    return number(config.text, ('rope_local_base_freq', 'local_rope_theta'), config.type.local_base or base, 1.0, 1e30)


def _read_full_heads(config, table):
    """Layers that see all keys may have heads of their own."""
    head_dim = count(config.text, 'global_head_dim') or config.type.full_head_dim
    n_kv_heads = count(config.text, 'num_global_key_value_heads')
    if head_dim:
        table.q.head_dim = table.k.head_dim = head_dim
    if n_kv_heads and is_true(config.text, 'attention_k_eq_v'): # without it the class takes no notice
        table.k.n_heads = n_kv_heads


def _new_table(config, name, like):
    table = config.model.new_table(name, like, _count_layers(config, name))
    if name == 'sliding_attention':
        table.params.base = _local_base(config, like.base)
    elif name == 'full_attention':
        _read_full_heads(config, table)
    return table


_MOST_TABLES = 6


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
        _read_fields(config, _new_table(config, name, common).params, value, inside=True)
    return True


def _find_rope(config):
    """What is told of the frequencies, in one object, or in one for each kind of layers. rope_scaling, the older name,
    goes before the other, as transformers has it."""
    scaling, parameters = find(config.text, 'rope_scaling'), find(config.text, 'rope_parameters')
    for name, value in (('rope_scaling', scaling), ('rope_parameters', parameters)):
        if value is not None and not isinstance(value, dict):
            raise Refused(f'"{name}" is no object; correct it')
    if not scaling:
        return parameters
    if parameters is not None and parameters != scaling:
        config.model.note('rope_parameters beside rope_scaling')
    return scaling


def _read_tables(config):
    """Layers with a sliding window may also have a base of their own, and then no scaling."""
    common, type_ = _common_params(config), config.type
    rope = _find_rope(config)
    if rope and _read_kinds_of_layers(config, rope, common):
        return
    has_local_base = _local_base(config, 0.0) != 0.0
    table = _new_table(config, type_.unwindowed if has_local_base else '', common)
    _read_fields(config, table.params, rope, inside=True)
    if type_.axes != 'single' and not table.params.sections:
        sections = sections_of(type_, int(table.params.rot_fraction * table.q.head_dim) // 2)
        set_sections(table.params, type_.axes, in_order_of_planes(type_.axes, sections), 'mrope_section')
    if rope is None and type_.full_proportion:
        table.params.scaling = 'proportional'
        table.params.proportion = type_.full_proportion
    if has_local_base:
        _new_table(config, 'sliding_attention', common)


# ---- What is not made use of, and what is guessed ----


def _note_unread_layers(config):
    """Lists of the layers that are attention, or that have a window, where layer_types does not tell it."""
    if _list(config, 'layer_types'):
        return
    for name in ('attn_type_list', 'layers_block_type', 'block_types', '_block_types'):
        if find(config.text, name) is not None:
            config.model.note(name)
    if isinstance(find(config.text, 'sliding_window_pattern'), str): # "LLLG"; a number is an interval
        config.model.note('sliding_window_pattern')
    name, _ = find_named(config.text, *_ATTENTION_LISTS)
    if name is not None and not _attention_layers(config):
        config.model.note(name)


def _note_unread(config):
    """What bears on positions or on which layers have them, by names that do not speak of RoPE."""
    for name in ('linear_attn_config', 'cross_attention_layers', 'use_dynamic_ntk', 'use_logn_attn',
                 'attn_temperature_tuning'):
        value = find(config.text, name)
        if value is not None and value is not False and value != 0.0 and value != []:
            config.model.note(name)
    _note_unread_layers(config)


def _states(object_, *names):
    """In the model's object, that of its RoPE, or one inside that."""
    return find(object_, *names) is not None or any(_states(value, *names) for value in object_.values()
                                                     if isinstance(value, dict))


def _note_guesses(config):
    """What neither the file states nor its type implies."""
    text, type_, guessed = config.text, config.type, config.model.guessed
    axes = [table.params.axes for table in config.model.tables]
    if not type_.layout and not isinstance(find(text, 'rope_interleave'), bool):
        guessed.append('half-split')
    if not type_.base and not _states(text, 'rope_theta', 'rotary_emb_base', 'global_rope_theta'):
        guessed.append('base 10000')
    if config.is_of_known_type():
        return
    # Classes differ in where the axes' pairs are, and not all of them look at mrope_interleaved.
    if 'mrope' in axes and not _states(text, 'mrope_interleaved'):
        guessed.append('sections one after the other')
    # Towers for images rotate by rows and columns, each in its own way, or by their patches' index.
    if 'single' in axes and find(text, 'patch_size', 'image_size') is not None:
        guessed.append('one position a token')


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
    _check_length(config, 'layer_types')
    _check_length(config, 'no_rope_layers')
    _read_tables(config)
    _note_unread(config)
    _note_guesses(config)
    _find_latent_heads(config)
