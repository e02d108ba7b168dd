"""Models that say by names of their own what others say by usual ones: their fields, renamed."""
from . import deepseek_v4
from .json_fields import is_number


def _kinds(n, every):
    return ['full_attention' if (i + 1) % every == 0 else 'sliding_attention' for i in range(n)]


def _cohere2_moe(fields):
    """Layers with a window rotate, and so do dense ones at the front, unless these have windows in a pattern."""
    counts = (('num_hidden_layers', 0), ('first_k_dense_replace', 0), ('prefix_dense_sliding_window_pattern', 1),
              ('sliding_window_pattern', 4))
    n, n_dense, prefix, every = (int(fields[name]) if is_number(fields.get(name)) and 1 <= fields[name] <= 2**20
                                 else implied for name, implied in counts)
    n_dense = min(n, n_dense)
    types, mlps = fields.get('layer_types'), fields.get('mlp_layer_types')
    if not isinstance(types, list):
        types = _kinds(n_dense, prefix) + _kinds(n - n_dense, every)
    if not isinstance(mlps, list):
        mlps = ['dense'] * n_dense
    forced = {i for i, kind in enumerate(mlps) if kind == 'dense' and prefix == 1}
    rotates = [float(kind == 'sliding_attention' or i in forced) for i, kind in enumerate(types)]
    return {**fields, 'layer_types': types, 'no_rope_layers': rotates}


def _step(fields):
    """A base for each layer, and groups of heads."""
    found = dict(fields)
    if isinstance(fields.get('rope_theta'), list):
        found['layer_rope_theta'] = found.pop('rope_theta')
    if fields.get('num_key_value_heads') is None:
        found['num_key_value_heads'] = fields.get('num_attention_groups')
    return found


_DIALECTS = {'cohere2_moe': _cohere2_moe, 'deepseek_v4': deepseek_v4.renamed, 'step3p5': _step, 'step3p7': _step}


def usual(model_type, fields):
    """The fields by the names that other models have for the same."""
    return _DIALECTS[model_type](fields) if model_type in _DIALECTS else fields
