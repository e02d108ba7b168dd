"""Rope.from_config: the rotary embedding of a Hugging Face config.json."""
import json
import pathlib

from ._core import Rope
from .model import deepseek_v4
from .model.architectures import axes_of, in_order_of_planes, sections_of, type_of
from .model.json_fields import part_of

# What describes RoPE outside of rope_scaling, by the names of posenc/rope_config.h, and the arguments that win over it.
ARGUMENTS = {**dict.fromkeys(('rope_theta', 'rotary_emb_base', 'global_rope_theta', 'rope_ratio'), {'base'}),
             **dict.fromkeys(('local_rope_theta', 'rope_local_base_freq'), {'local_base'}),
             **dict.fromkeys(('partial_rotary_factor', 'rotary_pct', 'rotary_emb_fraction'), {'rot_fraction'}),
             'rotary_dim': {'rot_fraction', 'n_rot'},
             **dict.fromkeys(('max_position_embeddings', 'original_max_position_embeddings'), set())}


def rope_from_config(config, *, part='text', layout=None, context=None, **options):
    """Makes the Rope of a model.

    config: a dict with the fields of config.json, or the path of such a file or of a folder that has one. Fields of
    `text_config` count where there is one.
    part: 'vision' for the tower for images, whose fields are in `vision_config`.
    layout: that of its model_type (GPT-J, Cohere: 'interleaved'); of an unknown one 'half', as most of Hugging Face's
    code has it. What else a file leaves to its model_type (base, rotated part, head_dim) is taken from there too.
    context: the longest sequence to come, which 'longrope' needs and 'dynamic' wants.
    Other keyword arguments are those of Rope, and win over the file.
    """
    fields = config if isinstance(config, dict) else read(config)
    fields = fields_of(fields, part)
    if fields.get('model_type') == 'deepseek_v4':
        fields = deepseek_v4.renamed(fields)
    type_ = type_of(fields.get('model_type'), part)
    scaling = published(fields, set(options))
    options = {'base': type_.base or 10000.0, 'local_base': type_.local_base, 'rot_fraction': type_.rotated_part,
               **options}
    is_interleaved = scaling.pop('mrope_interleaved', False)
    if 'interleaved' in scaling and scaling['interleaved'] is is_interleaved:  # Qwen3-Omni says it twice
        scaling.pop('interleaved')
    axes = axes_of(type_, is_interleaved)
    stated = [scaling.pop(name, None) for name in ('mrope_section', 'xdrope_section')]
    width = options.pop('head_dim', None) or head_dim(fields, type_)
    sections = next(filter(None, stated), sections_of(type_, width // 2))
    if sections:
        options = {'axes': axes, 'sections': in_order_of_planes(axes, sections), **options}
    if type_.coordinates and scaling.get('rope_type') == 'axial':  # what its type does anyway
        scaling.pop('rope_type')
    if 'rope_type' in scaling:  # Hugging Face then does not look at type
        scaling.pop('type', None)
    elif 'type' in scaling:
        scaling['rope_type'] = scaling.pop('type')
    if context is not None:
        scaling['context'] = context
    scaling.update(options.pop('scaling', None) or {})
    return Rope(width, layout=layout or type_.layout or 'half', scaling=scaling, **options)


def read(path):
    path = pathlib.Path(path)
    return json.loads((path / 'config.json' if path.is_dir() else path).read_text())


def fields_of(fields, part):
    """Of a part; some of those beside its object count too."""
    inside = part_of(fields, part)
    if part == 'text':
        return {**fields, **(inside or {})}
    found = {'model_type': fields.get('model_type'), **(inside or {})}
    if inside is None or not type_of(found['model_type'], part).coordinates:
        raise ValueError('config: there is no vision_config of a tower that is known')
    return found


def published(fields, given):
    """The fields that describe RoPE, but for those in whose place an argument was given."""
    found = {name: fields[name] for name in ARGUMENTS if fields.get(name) is not None}
    found.update(rope_parameters(fields))
    return {name: value for name, value in found.items() if given.isdisjoint(ARGUMENTS.get(name, ()))}


def rope_parameters(fields):
    """The object that says how frequencies are scaled, by its older or its newer name."""
    for name in ('rope_parameters', 'rope_scaling'):
        value = fields.get(name)
        if value is not None:
            if not isinstance(value, dict) or any(isinstance(item, dict) for item in value.values()):
                raise ValueError(f'config: {name}: one object of fields is expected')
            return {key: item for key, item in value.items() if item is not None}
    return {}


def head_dim(fields, type_):
    for name in 'qk_rope_head_dim', 'head_dim':  # the former is that of DeepSeek's rotated part
        if fields.get(name):
            return fields[name]
    if type_.head_dim:
        return type_.head_dim
    widths = (('embed_dim',) if type_.coordinates else ()) + ('hidden_size', 'n_embd', 'd_model')
    size, heads = (next((fields[name] for name in names if fields.get(name)), None)
                   for names in (widths, ('num_attention_heads', 'n_head', 'n_heads', 'num_heads')))
    if size is None or heads is None:
        missing = 'hidden_size' if size is None else 'num_attention_heads'
        raise ValueError(f'config: there is neither head_dim nor {missing}')
    return size // heads
