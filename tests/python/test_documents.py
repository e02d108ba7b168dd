"""The Python code of the documents runs."""
import json
import pathlib
import re

import numpy as np
import posenc
import pytest
import truth

ROOT = pathlib.Path(__file__).parent.parent.parent


def code_of(document):
    return re.findall(r'^```python\n(.*?)^```', (ROOT / document).read_text(), re.M | re.S)


def test_manual():
    names = {}
    for block in code_of('docs/python.md'):
        if 'torch' in block:
            pytest.importorskip('torch')
        exec(block, names)
    assert names['slopes'].grad.shape == (8,)


def test_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {'model_type': 'llama', 'num_attention_heads': 4, 'head_dim': 64, 'rope_theta': 1e4}
    (tmp_path / 'config.json').write_text(json.dumps(config))
    heads = np.ones((1, 5, 4, 64), np.float32)
    names = {'q': heads, 'k': heads, 'v': heads, 'positions': np.arange(5)}
    block, = code_of('README.md')
    exec('import posenc\n' + block, names)
    np.testing.assert_allclose(names['out'], heads, rtol=1e-6)


# ---- docs/recipes.md: masks and scores by their published names ----

N, HEADS, CHUNK = 24, 2, 4


def recipes(title):
    """Code blocks of a section."""
    section = (ROOT / 'docs/recipes.md').read_text().split(f'## {title}\n')[1].split('\n## ')[0]
    return re.findall(r'^```python\n(.*?)^```', section, re.M | re.S)


def rows_of(column):
    """Rows (name, function, arguments) of the table with this column."""
    table = re.search(rf'^\| \w+ \| `{column}` .*\n\|[-|]+\n((?:\|.*\n)+)', (ROOT / 'docs/recipes.md').read_text(), re.M)[1]
    return [[cell.strip().replace('\\|', '|') for cell in re.split(r'(?<!\\)\|', line)[1:4]] for line in table.splitlines()]


def scene():
    """Names in the rows, with indices b, h, i, j as FlexAttention's functions have them."""
    image = np.array([0] * 4 + [1] * 5 + [0] * 3 + [2] * 6 + [0] * 6)
    last = np.array([np.flatnonzero(image == image[t])[-1] if image[t] else t for t in range(N)])
    document = np.repeat([0, 1, 2], [7, 12, 5])
    b, h, i, j = np.ogrid[:2, :HEADS, :N, :N]
    q, k, v = (truth.normal(2, N, HEADS, 16, seed=seed) for seed in range(3))
    return {'np': np, 'posenc': posenc, 'b': b, 'h': h, 'i': i, 'j': j, 'n': N, 'n_heads': HEADS, 'at': np.arange(N),
            'q': q, 'k': k, 'v': v, 'W': 5, 'C': CHUNK, 'S': 2, 'P': 9, 'L': 1, 'T': 2.0, 'lengths': np.array([N, 13]),
            'document': document, 'cu_seqlens': np.array([0, 7, 19, 24]), 'image': image, 'last_of_image': last,
            'keep': truth.rng(5).random((2, HEADS, N, N)) < 0.6, 'slopes': np.array([0.5, 0.25], np.float32),
            'bias': truth.normal(2, HEADS, N, N, seed=6), 'by_offset': truth.normal(HEADS, 2 * N - 1, seed=7),
            'p': np.array([0.7, 1.1], np.float32), 'a': np.array([0.3, 2.0], np.float32),
            'sums': np.cumsum(np.log(truth.rng(8).uniform(0.5, 1, (2, HEADS, N))), -1).astype(np.float32),
            'temperature': 1 + np.arange(N) / 8}


def exact(names, seen, score_mod='score'):
    q, k, v = (names[x].astype(np.float64) for x in 'qkv')
    names = {**names, 'score': np.einsum('bihc,bjhc->bhij', q, k) / 4}
    with np.errstate(invalid='ignore'):  # logarithms of keys behind the query
        scores = np.broadcast_to(eval(score_mod, names), (2, HEADS, N, N))
    return np.einsum('bhij,bjhc->bihc', truth.softmax(scores, np.broadcast_to(eval(seen, names), scores.shape)), v)


@pytest.mark.parametrize('name, mask_mod, arguments', rows_of('mask_mod'))
def test_masks_by_name(name, mask_mod, arguments):
    names = scene()
    out = eval(f'posenc.attention(q, k, v, {arguments[1:-1]})', names)
    np.testing.assert_allclose(out, exact(names, mask_mod[1:-1]), rtol=0, atol=2e-6, err_msg=name)


@pytest.mark.parametrize('name, score_mod, arguments', rows_of('score_mod'))
def test_scores_by_name(name, score_mod, arguments):
    names = scene()
    call, _, also = arguments[1:].partition('`')
    if also:
        assert also == ', with q times the temperature'
        names['q_'] = (names['q'] * names['temperature'][:, None, None]).astype(np.float32)
    out = eval(f'posenc.attention({"q_" if also else "q"}, k, v, {call})', names)
    np.testing.assert_allclose(out, exact(names, 'j <= i', score_mod[1:-1]), rtol=0, atol=5e-6, err_msg=name)


def test_masks_by_several_calls():
    names = {**scene(), 'D': 3, 'c': 3}
    for x in 'qkv':
        names[x] = names[x][:1]
    code, = recipes('Masks and scores by their published names')
    exec(code, names)
    for x in 'qkv':  # exact() has two sequences
        names[x] = np.repeat(names[x], 2, 0)
    rows = {mask[0].split(' ')[0]: mask[1][1:-1] for mask in rows_of('mask_mod')}
    np.testing.assert_allclose(names['prefix_lm'][0], exact(names, rows['prefix-LM'])[0], rtol=0, atol=2e-6)
    by_chunks = '(i // C >= j // C) & (i // C - j // C <= L)'
    np.testing.assert_allclose(names['chunk'][0], exact(names, by_chunks)[0, 3 * CHUNK:4 * CHUNK], rtol=0, atol=2e-6)
    dilated = exact(names, '(j <= i) & ((i - j) % D == 0) & (i - j < W * D)')
    np.testing.assert_allclose(names['dilated'][0], dilated[0], rtol=0, atol=2e-6)


def test_attention_of_several_calls():
    names = {**scene(), 'weight': 0.3, 'gate': truth.normal(2, N, HEADS, 16, seed=9),
             'forget': truth.rng(10).uniform(0.5, 1, (2, HEADS, N)).astype(np.float32),
             'k_prefix': truth.normal(1, 11, HEADS, 16, seed=11), 'v_prefix': truth.normal(1, 11, HEADS, 16, seed=12)}
    for code in recipes('Attention made of several calls'):
        exec(code, names)
    q, k, v = (names[x] for x in 'qkv')
    causal = truth.allowed(N, N, after=0)
    parts = [truth.attention(q[..., c], k[..., c], v, causal)[0] for c in (slice(0, 8), slice(8, 16))]
    plain = truth.attention(q, k, v, causal)[0]
    sums = np.cumsum(np.log(names['forget'].astype(np.float64)), -1)
    forgetting = truth.attention(q, k, v, causal, sums[..., None] - sums[:, :, None])[0]
    keys, values = (np.concatenate([np.repeat(names[x + '_prefix'], 2, 0), names[x]], 1) for x in 'kv')
    wanted = {'differential': parts[0] - 0.3 * parts[1], 'gated': plain / (1 + np.exp(-names['gate'].astype(np.float64))),
              'forgetting': forgetting, 'cascade': truth.attention(q, keys, values, truth.allowed(N, N + 11, after=0))[0]}
    for name, want in wanted.items():
        np.testing.assert_allclose(names[name], want, rtol=0, atol=5e-6, err_msg=name)
