"""DeepSeek-V4's fields, by the names that other models have for the same.

Layers with a sliding window alone rotate by rope_theta, unscaled. The others, which also see compressed keys, rotate
everything by compress_rope_theta, scaled, as Gemma 3 does with its local and its global base.
"""
from .description import Refused
from .json_fields import is_number, number

_WINDOW, _OTHERS = 'sliding_attention', 'compressed_attention'
_TYPES = (_WINDOW, 'compressed_sparse_attention', 'heavily_compressed_attention')


def _layer_types(fields):
    ratios, types = fields.get('compress_ratios'), fields.get('layer_types')
    if isinstance(types, list):
        return [_WINDOW if kind == _WINDOW else _OTHERS for kind in types]
    if isinstance(ratios, list):
        return [_OTHERS if ratio else _WINDOW for ratio in ratios]
    return None


def _unstretched(scaling):
    """The published code scales YaRN's frequencies, and leaves cosine and sine as they are."""
    if not isinstance(scaling, dict) or 'yarn' not in (scaling.get('rope_type'), scaling.get('type')):
        return scaling
    stated = scaling.get('attention_factor')
    return {**scaling, 'attention_factor': 1.0 if stated is None else stated}


def _kinds(parameters):
    """rope_parameters has an object for each kind of rotation, for which others have one for each kind of layers."""
    if not isinstance(parameters, dict) or 'main' not in parameters or 'compress' not in parameters:
        return _unstretched(parameters)
    return {_WINDOW: parameters['main'], _OTHERS: _unstretched(parameters['compress'])}


def _n_rot(fields):
    """A file states it, or its part of a head; 64 of 512 channels otherwise."""
    stated, part, width = (fields.get(name) for name in ('qk_rope_head_dim', 'partial_rotary_factor', 'head_dim'))
    if stated is not None or not all(isinstance(value or 0, (int, float)) for value in (part, width)):
        return stated
    return float(int((part or 0.125) * (width or 512)))


def _check(fields):
    """Checks fields under the file's own names, so that a refusal uses them."""
    for name in ('rope_theta', 'compress_rope_theta'):
        number(fields, (name,), 1.0, 1.0, 1e30)
    types, ratios = fields.get('layer_types'), fields.get('compress_ratios')
    if isinstance(types, list) and not all(kind in _TYPES for kind in types):
        raise Refused(f'"layer_types" holds what DeepSeek-V4 does not have; it has {", ".join(_TYPES)}')
    if isinstance(ratios, list) and not all(is_number(ratio) for ratio in ratios):
        raise Refused('"compress_ratios" holds what is no number; correct it')


def renamed(fields):
    """The same fields for a reader that knows no DeepSeek-V4."""
    _check(fields)
    found = {name: value for name, value in fields.items() if name not in ('compress_rope_theta', 'rope_theta')}
    for name, value in (('qk_rope_head_dim', _n_rot(fields)),
                        ('rope_theta', fields.get('compress_rope_theta')),
                        ('rope_local_base_freq', fields.get('rope_theta')), ('layer_types', _layer_types(fields)),
                        ('rope_scaling', _unstretched(fields.get('rope_scaling'))),
                        ('rope_parameters', _kinds(fields.get('rope_parameters')))):
        if value is not None:
            found[name] = value
    return found
