"""A Hugging Face config.json: its kind of positions and its heads; json_rope.py has RoPE."""
from . import dialects, families, json_rope
from .description import LARGEST_BIAS, Refused
from .json_fields import count, find, find_named, is_of_rope, is_true, number, part_of

_STATED = {'alibi': 'alibi', 'rope': 'rope', 'rotary': 'rope', 'nope': 'none', 'relative_key': 'relative_keys',
           'relative_key_query': 'relative_keys'}


def _fields_of(file, part):
    """Fields of the part that is wanted. Files of one part, and some of two, have the text's fields outside any part."""
    found = part_of(file, part)
    if part == 'vision' and found is None:
        raise Refused('there is no vision_config; a tower with a file of its own is read without --part')
    return found if found is not None and (part == 'vision' or find(file, 'num_attention_heads') is None) else file


class Config:
    """The parts of the file, and what its model_type implies."""

    def __init__(self, model, file, part):
        self.model, self.text = model, _fields_of(file, part)
        names = find(file, 'architectures')
        model.architecture = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ''
        name = find(self.text, 'model_type') or find(file, 'model_type') # towers of some have none
        model.model_type = name if isinstance(name, str) else ''
        self.type = families.type_of(model.model_type, part)
        whole = find(file, 'model_type') if part == 'text' else None
        self.whole_type = families.type_of(whole if isinstance(whole, str) else '', part)
        self.text = dialects.usual(model.model_type, self.text)
        self.attention = find(self.text, 'attn_config')
        self.layers, self.rope = [], None # json_rope.py reads them

    def is_of_known_type(self):
        return self.type.positions != ''


def _speaks_of_rope(object_):
    """Whether a field does, and not to say that there is none."""
    return isinstance(object_, dict) and any(is_of_rope(name) and value is not None and value is not False
                                             for name, value in object_.items())


def _note_stated(config, name, value):
    """A kind stated of an unknown type by another name: some that state "sans_pos" rotate, conformers do not."""
    if name is None or value == 'absolute' or not isinstance(value, str) or is_of_rope(value):
        return
    config.model.note(f'{name:.32} "{value:.48}"')


def _positions(config):
    """Kind of positions: the file's statement, or what its type implies. "absolute" is ignored: many models that rotate
    have it from a class that theirs was copied from."""
    name, value = find_named(config.text, 'position_embedding_type', 'position_embeddings_type')
    if is_true(config.text, 'alibi') or is_true(config.attention, 'alibi'):
        return 'alibi'
    if is_true(config.text, 'mla_use_nope'): # Kimi-Linear, whose other layers are no attention
        return 'none'
    if is_true(config.attention, 'rope') or is_true(config.text, 'use_mem_rope'):
        return 'rope'
    if isinstance(value, str) and value in _STATED:
        return _STATED[value]
    if value == 'relative' and not config.is_of_known_type():
        raise Refused(f'"{name}" is "relative", as Transformer-XL has it, which posenc model does not read')
    if config.type.refused:
        raise Refused(f'model_type "{config.model.model_type:.63}" is not read: {config.type.refused}')
    if config.is_of_known_type():
        return config.type.positions
    _note_stated(config, name, value)
    if _speaks_of_rope(config.text) or _speaks_of_rope(config.attention):
        return 'rope'
    return 'learned' if value == 'absolute' else ''


def _kv_heads(config):
    text = config.text
    n = count(text, 'num_key_value_heads', 'num_kv_heads')
    if not n and find(text, 'multi_query_attention') is not False: # ChatGLM's groups
        n = count(text, 'multi_query_group_num')
    n = n or count(config.attention, 'kv_n_heads')
    if is_true(text, 'multi_query') and not is_true(text, 'new_decoder_architecture') and \
            find(text, 'multi_query_group_num') is None:
        return 1 # Falcon, whose num_kv_heads does not count then
    return n or config.type.n_kv_heads or config.model.n_heads


def _read_heads(config):
    model, text, type_ = config.model, config.text, config.type
    # Qwen2-VL's tower calls the width of what it gives to the text its hidden size.
    widths = ('embed_dim', 'width') if type_.coordinates else ()
    model.hidden_size = count(text, *widths, 'hidden_size', 'n_embd', 'n_embed', 'd_model') or type_.hidden_size
    model.n_heads = count(text, 'num_attention_heads', 'n_head', 'n_heads', 'num_heads', 'encoder_attention_heads',
                          'heads') or type_.n_heads
    model.n_layers = count(text, 'num_hidden_layers', 'n_layer', 'n_layers', 'num_layers', 'depth',
                           *(('layers',) if type_.coordinates else ())) or type_.n_layers
    model.max_position = int(number(text, ('max_position_embeddings', 'n_positions', 'seq_length', 'max_seq_len'),
                                    type_.max_position, 1.0, 2.0**31 - 1.0))
    model.n_kv_heads = _kv_heads(config)
    model.n_kv_shared = int(number(text, ('num_kv_shared_layers',), 0.0, 0.0, model.n_layers or 2.0**20)) # Gemma 4
    # Heads of latent attention need not divide the hidden size.
    n_rot = count(text, 'qk_rope_head_dim')
    latent = count(text, 'qk_nope_head_dim') + n_rot if n_rot else 0
    model.head_dim = count(text, 'head_dim', 'attention_head_dim', 'kv_channels', 'd_kv') or type_.head_dim or latent
    if not model.head_dim and model.n_heads and model.hidden_size % model.n_heads == 0:
        model.head_dim = model.hidden_size // model.n_heads


def _check_heads(model):
    """Encodings that are added to the embeddings, or to the scores by themselves, do without."""
    if model.positions not in ('rope', 'alibi'):
        return
    if not model.n_heads:
        raise Refused("there is no num_attention_heads (or n_head, n_heads); is this a Transformer's config.json?")
    if not model.head_dim and not model.hidden_size:
        raise Refused('there is neither head_dim nor hidden_size; add one of them')
    if not model.head_dim:
        raise Refused(f'hidden_size {model.hidden_size} is no multiple of {model.n_heads} heads; correct one, or add '
                      'head_dim')


def read(file, model, part, head_dim=None):
    """file: its fields. Fills what it says, and its tables with parameters that are not yet checked."""
    config = Config(model, file, part)
    if head_dim is not None:
        config.text = {**config.text, 'head_dim': float(head_dim)}
    model.positions = _positions(config)
    model.coordinates = config.type.coordinates
    model.output_rotates, model.is_inverse = config.type.output_rotates, config.type.is_inverse
    model.bias_is_scaled = config.type.bias_is_scaled
    _read_heads(config)
    _check_heads(model)
    model.max_bias = number(config.attention, ('alibi_bias_max',), model.max_bias, 0.01, LARGEST_BIAS)
    if model.positions == 'rope':
        json_rope.read(config)
