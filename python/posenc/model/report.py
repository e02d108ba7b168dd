"""Report on a model: as text, and as a dictionary for --json."""
import math
import os

import numpy as np

from .description import STATUS

_LAYOUTS = {'half': 'half-split', 'half_by_axis': 'half-split inside each axis', 'interleaved': 'interleaved',
            'deinterleave': 'interleaved pairs written half-split'}
_SCALINGS = {'none': 'unscaled', 'ntk_length': 'ntk by length', 'dynamic': 'dynamic ntk'}
_ORDERS = {'mrope': 'one after the other', 'ernie': 'the second and third in turns, then the first',
           'vision': 'each with frequencies of its own', 'axial': 'each with frequencies of its own'}

#: Remarks on models that leave nothing to time.
REMARKS = {
    'none': 'Its attention layers know nothing of positions.',
    'sinusoidal': 'Sinusoidal rows are added to the embeddings, once per token and not per layer: posenc_encoding_add '
                  'does that.',
    'learned': 'A learned table is added to the embeddings: one row is read per token, once and not per layer: '
               'posenc_learned_create and posenc_encoding_apply do that.',
    'relative_buckets': 'A learned bias per bucket of distance is added to the scores: posenc_rel_index_t5 and '
                        'posenc_rel_bias_gather make lines of\nit, which posenc_softmax adds.',
    'relative_keys': 'A learned row per distance is multiplied with Q, and with K where the file says so: '
                     'posenc_rel_index_rule_of and\nposenc_relative_products make these terms, which '
                     'posenc_softmax adds.',
}


def printable(text, most=63):
    """Names and paths may hold anything, but they are printed on one line, and no terminal may obey them: what is no
    character that prints, such as controls, marks of direction and bytes that are no UTF-8, becomes '?'."""
    return ''.join(character if character.isprintable() else '?' for character in text[:most])


# ---- RoPE ----


def _given(before, value):
    """The number, with what goes before it, if there is one."""
    return f'{before}{value:g}' if value else ''


def _scaling(params):
    kind = params.scaling
    if kind == 'none':
        return 'unscaled' if params.freq_factors is None else "divided by the file's factors"
    from_lengths = kind == 'yarn' and params.factor == 0.0
    original = params.original_context or params.max_context # as the library has it
    text = _SCALINGS.get(kind, kind)
    text += _given(', factor ', params.max_context / original if from_lengths else params.factor)
    text += _given(', original context ', params.original_context)
    text += _given(', alpha ', params.ntk_alpha)
    if kind == 'dynamic':
        text += _given(', as for a context of ', params.context)
    elif kind == 'yarn':
        text += f', beta {params.beta_fast:g} and {params.beta_slow:g}{"" if params.truncate else ", not truncated"}'
    elif kind == 'llama3':
        text += f', turns {params.low_freq_factor:g} to {params.high_freq_factor:g}'
    elif kind == 'proportional':
        text += f', proportion {params.proportion:g}'
    return text


def _difference(theta, unscaled):
    """Pairs whose frequencies differ from unscaled ones, and by how much."""
    with np.errstate(divide='ignore'):
        by = unscaled / theta
    differs = np.flatnonzero(np.abs(by - 1.0) >= 1e-12)
    if len(differs) == 0:
        return []
    least, most = by[differs].min(), by[differs].max()
    how = 'these do not turn' if math.isinf(most) else f'divided by {most:g}' if most - least < 1e-9 * most else \
        f'divided by {least:.4g} to {most:.4g}'
    return [f'pairs {differs[0]} to {differs[-1]}, of {len(theta)}, differ from the unscaled: {how}']


def _frequencies(params):
    status, theta, magnitude = params.frequencies()
    status_unscaled, unscaled, _ = params.unscaled().frequencies()
    if status != STATUS.OK or status_unscaled != STATUS.OK or len(theta) == 0:
        return []
    high, low = theta[0], theta[np.flatnonzero(theta)[-1]]
    lines = [f'theta {high:.6g} to {low:.6g}, wavelengths {2 * math.pi / high:.4g} to {2 * math.pi / low:.4g} '
             'positions']
    lines += _difference(theta, unscaled)
    if magnitude != 1.0:
        lines.append(f'magnitude {magnitude:.9g} on cosine and sine')
    return lines


def softmax_multiplier(table):
    """1 unless it is one of latent attention: other models state its parameters for the magnitude only."""
    multiplier = table.params.softmax_multiplier() if table.q.n_offs > 0 else 1.0
    return multiplier if math.isfinite(multiplier) else 1.0


def _title(model, table):
    """Tells one of several tables from the others: its name, its layers, and where it differs from the main one."""
    words, main = [printable(table.name)] if table.name else [], model.main_table()
    if 0 < table.n_layers < model.rotated_layers():
        words.append(f'{table.n_layers} layer{"" if table.n_layers == 1 else "s"}')
    if not table.has_heads_of(main):
        words.append(f'Q {table.q.n_heads}, K {table.k.n_heads}, of {table.q.head_dim} channels')
    if table.params.n_rot * main.q.head_dim != main.params.n_rot * table.q.head_dim: # another part of a head
        words.append(f'{table.params.n_rot} channels rotated')
    return ', '.join(words) + ':'


def _table(model, table):
    lines = [f'base {table.params.base:g}, {_scaling(table.params)}', *_frequencies(table.params)]
    if softmax_multiplier(table) != 1.0:
        lines.append(f'softmax scale to be multiplied by {softmax_multiplier(table):.9g}')
    if table.params.temperature_beta:
        lines.append(f'Q to be multiplied by 1 + {table.params.temperature_beta:g} ln(1 + floor(position / original '
                     'context))')
    if table.name or len(model.tables) > 1:
        lines.insert(0, _title(model, table))
    return [('frequencies' if i == 0 else '', line) for i, line in enumerate(lines)]


def _axes(model, params):
    if params.axes == 'single':
        return []
    kind = '' if model.coordinates else 'M-RoPE, '
    sections, order = ' '.join(map(str, params.sections)), _ORDERS.get(params.axes, 'interleaved')
    how = 'pair by pair in turns' if params.axes == 'alternate' else f'sections of {sections} pairs, {order}'
    lines = [('axes', f'{len(params.sections)} positions a token, {kind}{how}')]
    return lines + ([('', model.coordinates)] if model.coordinates else [])


def _rope(model):
    params = model.main_table().params
    text = f'RoPE, {_LAYOUTS[params.layout]}, {params.n_rot} of {params.head_dim} channels'
    if model.is_inverse:
        text += ', by minus the position'
    if model.rotated_layers() != model.n_layers:
        text += f', in {model.rotated_layers()} of the layers'
    lines = [('positions', text + (', after an RMS-norm of each head' if model.has_qk_norm else ''))]
    lines += _axes(model, params)
    for table in model.tables:
        lines += _table(model, table)
    if model.output_rotates:
        lines.append(('output', f"its last {params.n_rot} channels are rotated back by the query's position: K and V "
                                'are one'))
    return lines


# ---- The whole ----


def _heads(model):
    if not model.n_heads or not model.head_dim:
        return []
    text = f'Q {model.n_heads}, K {model.n_kv_heads}, of {model.head_dim} channels'
    if model.positions == 'rope' and model.main_table().q.n_offs > 0:
        table = model.main_table()
        text = ', '.join(f'{name} {heads.n_heads} x {heads.head_dim}' +
                         (f' (the last {table.params.n_rot} rotated)' if heads.n_offs else '')
                         for name, heads in (('Q', table.q), ('K', table.k))) + ', latent attention'
    lines = [('heads', text + (f', in {model.n_layers} layers' if model.n_layers else ''))]
    if model.n_kv_shared:
        lines.append(('', f'the last {model.n_kv_shared} layers rotate Q alone, and use K and V of a layer before'))
    return lines


def _lines(model):
    lines = _heads(model)
    if model.positions == 'rope':
        lines += _rope(model)
    elif model.positions == 'alibi':
        scaled = ', times 1/sqrt(head_dim)' if model.bias_is_scaled else ''
        lines.append(('positions', f'ALiBi: {model.n_heads} slopes down to 2^-{model.max_bias:g}{scaled}, applied in '
                                   'the softmax over the scores'))
    if model.max_position:
        lines.append(('context', f'{model.max_position} positions'))
    if model.guessed:
        lines.append(('guessed', f'{", ".join(model.guessed.values())}: neither the file nor its model_type, '
                                 f'"{printable(model.model_type)}", tells'))
    if model.not_understood:
        lines.append(('not understood', printable(', '.join(model.not_understood), 319)))
    return lines


def text(model, path):
    """Some lines, the last one empty."""
    title = printable(model.architecture or model.model_type)
    lines = [f'{title}  ({printable(os.fspath(path), None)})', '']
    lines += [f'  {name:14} {line}' for name, line in _lines(model)]
    return '\n'.join([*lines, '', ''])


# ---- For --json ----

_PARAMS = ('layout', 'head_dim', 'n_rot', 'base', 'scaling', 'factor', 'original_context', 'max_context', 'context',
           'beta_fast', 'beta_slow', 'ext_factor', 'truncate', 'low_freq_factor', 'high_freq_factor', 'proportion',
           'attention_factor', 'mscale', 'mscale_all_dim', 'short_mscale', 'long_mscale', 'attn_factor', 'ntk_alpha',
           'temperature_beta', 'axes', 'sections')


def _table_dictionary(table):
    _, theta, magnitude = table.params.frequencies()
    return {'name': table.name, 'n_layers': table.n_layers, 'is_alternative': table.is_alternative,
            'q': vars(table.q), 'k': vars(table.k), 'params': {name: getattr(table.params, name) for name in _PARAMS},
            'theta': theta.tolist(), 'magnitude': magnitude, 'softmax_multiplier': softmax_multiplier(table)}


def dictionary(model):
    """Nothing but what JSON has."""
    return {**vars(model), 'not_understood': list(model.not_understood), 'guessed': list(model.guessed.values()),
            'tables': [_table_dictionary(table) for table in model.tables]}
