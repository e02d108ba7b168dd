"""The golden vectors of docs/formulas.md (tests/vectors) through Python: a function for each, from inputs to parts."""
import functools
import json
import pathlib

import numpy as np
import pytest

import posenc

FOLDER = pathlib.Path(__file__).parent.parent / 'vectors'


def floats(values):
    return np.array(values, np.float32)


def rope_of(i, x, **options):
    options.setdefault('layout', i.get('layout', 'half'))
    n_rot = i.get('n_rot', x.shape[-1])
    if n_rot == 0:
        options['rot_fraction'] = 0.0
    return posenc.Rope(x.shape[-1], n_rot=n_rot, n_offs=i.get('offset', 0), base=i['base'], **options)


def rotated(i, name='x', positions=None, direction='forward', **options):
    x = floats(i[name])
    x = x.reshape(-1, 1, x.shape[-1])
    if 'mscale' in i:
        options['scaling'] = {'attention_factor': i['mscale']}
    positions = i['positions'] if positions is None else positions
    return rope_of(i, x, **options)(x, positions, direction=direction)


def shifted(i):
    x = floats(i['x']).reshape(1, 1, -1)
    y = rotated(i, positions=[i['position']])
    return [y, rope_of(i, x)(y, [i['delta']], direction='shift')]


def theta(i, n=None, **scaling):
    return posenc.Rope(i['n_rot'], base=i['base'], scaling=scaling).theta[:n]


def dynamic(i):
    return theta(i, 8, type='dynamic', factor=i['factor'], max_context=i['max_position'], context=i['seq_len'])


def xpos(i, role):
    return rotated(i, 'q' if role == 'query' else 'k', xpos_role=role, xpos_gamma=i['gamma'],
                   xpos_scale_base=i['scale_base'], xpos_centre=i['centre'])


def alibi(i):
    if i['form'] == 'counted_bf16':
        seen = np.arange(i['n_k'])[None] >= i['padded']
        return posenc.alibi_row(posenc.alibi_slopes(i['n_heads']), i['form'], key_mask=seen)[0, :, 0, i['from']:]
    bias = posenc.RelBias.alibi(posenc.alibi_slopes(i['n_heads']), posenc.offsets(i['n_q'], i['n_k'], causal=False))
    given = dict(query_start=i['q_offset'], causal=i['form'] == 'causal', bias=bias)
    return posenc.bias_matrix(i['n_q'], i['n_k'], i['n_heads'], **given)


def t5_buckets(i):
    given = {name: i[name] for name in ('bidirectional', 'num_buckets', 'max_distance')}
    return [posenc.t5_bucket(o, **given) for o in i['relative_position_j_minus_i']]


def t5_bias(i):
    bias = posenc.RelBias.t5(floats(i['table']), max_distance=i['max_distance'], bidirectional=i['bidirectional'])
    return posenc.bias_matrix(i['n_q'], i['n_k'], bias.n_heads, causal=False, query_start=i['q_offset'], bias=bias)


def shaw(i):
    q, k = floats(i['q'])[:, None], floats(i['k'])[:, None]
    index = posenc.RelIndex.shaw(i['k_max'], posenc.offsets(len(q), len(k), causal=False))
    products = posenc.RelativeTable(floats(i['table'])).products(q)
    return posenc.logits((q[:, 0] @ k[:, 0].T)[None, None], by_query=(products, index), scale=i['scale'], causal=False)


def fire(i):
    weights = [floats(i[name]) for name in ('w1', 'b1', 'w2', 'b2')]
    made = posenc.Fire(*weights, c=i['c'], threshold=abs(i['L']), eps=i['eps'], max_distance=i['n_k'])
    return made(i['n_q'], i['n_k'])


def swin(i):
    if i.get('kind') == 'v2_coords':
        height, width = i['pretrained']
        return posenc.swin_v2_coords(i['Wh'], i['Ww'], trained_height=height, trained_width=width)
    return [posenc.swin_index(i['Wh'], i['Ww']), posenc.swin_bias(floats(i['table']), i['Wh'], i['Ww'])]


def kerple(i):
    offsets = range(i['L'])
    made = (posenc.RelBias.kerple([i['p']], [i['a']], offsets, kind=kind, min=i['eps']) for kind in ('log', 'power'))
    return [bias.data for bias in made]


def attention(i):
    q, k, v = (floats(i[name])[:, None] for name in 'qkv')
    slopes = [i['alibi_slope']]
    given = dict(causal=i['causal'], scale=i['scale'], cap=i['softcap'], alibi_slopes=slopes, query_start=0)
    return posenc.attention(q, k, v, **given)


def softmax_backward(i):
    y, dy = floats(i['y'])[None], floats(i['dy'])[None]
    if i['sink'] is None:
        return posenc.softmax_backward(y, dy, scale=i['scale'], causal=False)['dx']
    found = posenc.softmax_backward(y, dy, scale=i['scale'], causal=False, sinks=[i['sink']])
    return [found['dx'], found['dsinks']]


def table_gradient(i):
    out_of_range = {'drop': 'zero', 'skip': 'zero'}.get(i['policy'], i['policy'])
    given = dict(n_rows=i['L'], offset=i['offset'], out_of_range=out_of_range)
    return posenc.learned_backward(i['ids'], floats(i['dy']), **given)


def sinusoid(layout, i, **options):
    return posenc.sinusoidal(i['d'], layout, base=i['base'], **options)(i['positions'])


# file: (function of the inputs, the parts that it gives; None: all)
VECTORS = {
    'A01': (functools.partial(sinusoid, 'interleaved'), None),
    'A02': (lambda i: sinusoid('concat', i, schedule=i['schedule']), None),
    'A15': (lambda i: posenc.bits(i['d'], 'binary')(i['positions']), ['bits']),
    'A17': (functools.partial(sinusoid, 'complex'), None),
    'A19': (lambda i: posenc.rbf(i['centers'], i['sigma'])(i['positions']), None),
    'B01': (theta, None),
    'B02': (functools.partial(rotated, layout='interleaved'), None),
    'B03': (rotated, None),
    'B05': (rotated, None),
    'B06': (functools.partial(rotated, direction='backward'), ['transpose_applied']),
    'B08': (shifted, None),
    'B09': (lambda i: theta(i, type='linear', factor=i['factor']), None),
    'B10': (lambda i: theta(i, 8, type='ntk', factor=i['s']), ['inv_freq_head']),
    'B12': (dynamic, ['inv_freq_head']),
    'B17': (lambda i: theta(i, type='llama3', **{name: i[name] for name in (
        'factor', 'low_freq_factor', 'high_freq_factor', 'original_context')}), None),
    'B19': (lambda i: [xpos(i, 'query'), xpos(i, 'key')], ['q_out', 'k_out']),
    'C02': (lambda i: posenc.alibi_slopes(i['n_heads'], i['max_bias']), None),
    'C03': (alibi, ['bias']),
    'C05': (t5_buckets, None),
    'C06': (t5_bias, None),
    'C07': (shaw, None),
    'C16': (kerple, ['log_bias_by_distance', 'power_bias_by_distance']),
    'C17': (fire, None),
    'C20': (swin, None),
    'C32': (attention, ['out']),
    'E01': (table_gradient, ['dtable']),
    'E03': (lambda i: rotated(i, 'dy', [i['position']], 'backward'), None),
    'E06': (softmax_backward, None),
}


def cases():
    for name in VECTORS:
        path, = FOLDER.glob(f'{name}_*.json')
        for number, case in enumerate(json.loads(path.read_text())['cases']):
            yield pytest.param(name, case, id=f'{path.stem}-{number}')


@pytest.mark.parametrize('name, case', cases())
def test_vector(name, case):
    function, wanted = VECTORS[name]
    found = function(case['inputs'])
    found = np.concatenate([np.ravel(part) for part in (found if isinstance(found, list) else [found])])
    expected, first = [], 0
    for part in case['parts']:
        n = int(np.prod(part['shape']))
        if wanted is None or part['name'] in wanted:
            expected += case['expected'][first:first + n]
        first += n
    expected = np.array([-np.inf if value is None else value for value in expected], np.float64)
    assert len(expected) > 0
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
