import numpy as np
import pytest
import truth

import posenc

X = truth.normal(2, 3, 5, 9)


def test_masks():
    masks = {
        (-1, -1): {'causal': False}, (-1, 0): {'causal': True}, (2, 0): {'causal': True, 'window': 3},
        (2, 1): {'window': (2, 1)}, (1, -1): {'causal': False, 'window': (1, -1)},
    }
    for (before, after), given in masks.items():
        expected = truth.softmax(X, truth.allowed(5, 9, before, after))
        np.testing.assert_allclose(posenc.softmax(X, **given), expected, rtol=0, atol=2e-6)
    first = posenc.softmax(X, causal=True, query_start=0)
    np.testing.assert_allclose(first, truth.softmax(X, truth.allowed(5, 9, -1, 0, 0)), rtol=0, atol=2e-6)
    chunked = truth.allowed(5, 9, -1, 0) & (np.arange(9) // 4 == (np.arange(4, 9) // 4)[:, None])
    np.testing.assert_allclose(posenc.softmax(X, causal=True, chunk=4), truth.softmax(X, chunked), rtol=0, atol=2e-6)
    sink = truth.allowed(5, 9, 1, 0) | (np.arange(9) < 2) & truth.allowed(5, 9, -1, 0)
    np.testing.assert_allclose(posenc.softmax(X, causal=True, window=2, n_first=2), truth.softmax(X, sink), atol=2e-6)


def test_bool_masks():
    for shape in (9,), (5, 9), (1, 9), (3, 5, 9), (2, 1, 5, 9), (2, 3, 5, 9):
        keep = truth.rng(1).random(shape) < 0.6
        found = posenc.softmax(X, causal=False, keep=keep)
        np.testing.assert_allclose(found, truth.softmax(X, keep), rtol=0, atol=2e-6)
        assert np.array_equal(posenc.softmax(X, causal=False, drop=~keep), found)


def test_masks_of_keys():
    seen = truth.rng(1).random((2, 9)) < 0.6
    expected = truth.softmax(X, seen[:, None, None, :])
    np.testing.assert_allclose(posenc.softmax(X, causal=False, key_mask=seen), expected, rtol=0, atol=2e-6)
    one = posenc.softmax(X, causal=False, key_mask=seen[:1])
    np.testing.assert_allclose(one, truth.softmax(X, seen[0]), rtol=0, atol=2e-6)


def test_two_axes_of_a_mask_are_queries_and_keys():
    """As they are of `bias` and of PyTorch's attn_mask, also where there are as many sequences as queries."""
    x = truth.normal(4, 2, 4, 6)
    mask = truth.rng(3).random((4, 6)) < 0.6
    by_query = truth.softmax(x, mask)
    np.testing.assert_allclose(posenc.softmax(x, causal=False, keep=mask), by_query, rtol=0, atol=2e-6)
    bias = np.where(mask, 0, -np.inf).astype('f4')
    np.testing.assert_allclose(posenc.softmax(x, causal=False, bias=bias), by_query, rtol=0, atol=2e-6)
    by_sequence = truth.softmax(x, mask[:, None, None, :])
    np.testing.assert_allclose(posenc.softmax(x, causal=False, key_mask=mask), by_sequence, rtol=0, atol=2e-6)


def test_biases_scale_cap_and_sinks():
    slopes, sinks = posenc.alibi_slopes(3), np.array([0.5, -1.0, 2.0])
    tensor, data = truth.normal(1, 3, 5, 9, seed=1), truth.normal(3, 30, seed=2)
    relative = posenc.RelBias(data, -15)
    offset = truth.offsets_of(5, 9)
    s = 5 * np.tanh(0.3 * X.astype(np.float64) / 5)
    logits = s - slopes[:, None, None] * np.abs(offset) + data[:, offset + 15] + 0.5 * tensor
    given = dict(causal=True, scale=0.3, cap=5.0, alibi_slopes=slopes, bias=(tensor, relative), tensor_slopes=[0.5] * 3)
    seen = truth.allowed(5, 9, -1, 0)
    np.testing.assert_allclose(posenc.softmax(X, sinks=sinks, **given), truth.softmax(logits, seen, sinks), atol=2e-6)
    np.testing.assert_allclose(posenc.logits(X, **given), np.where(seen, logits, -np.inf), rtol=0, atol=1e-5)
    matrix = posenc.bias_matrix(5, 9, 3, causal=True, bias=relative)
    assert np.array_equal(matrix[0], np.where(seen, data[:, offset + 15], -np.inf).astype('f4'))


def test_sequences_and_positions():
    begin, end = [0, 2], [9, 7]
    j = np.arange(9)
    seen = (j >= np.array(begin)[:, None]) & (j < np.array(end)[:, None])
    start = np.array(end) - 5
    causal = j <= (start[:, None, None] + np.arange(5)[:, None])
    expected = truth.softmax(X, (seen[:, None] & causal)[:, None])
    np.testing.assert_allclose(posenc.softmax(X, causal=True, k_begin=begin, k_end=end), expected, rtol=0, atol=2e-6)
    queries, keys = np.array([3, 1, 4, 1, 5]), np.array([2, 7, 1, 8, 2, 8, 1, 8, 2])
    expected = truth.softmax(X, keys[None, :] <= queries[:, None])
    given = posenc.softmax(X, causal=True, query_positions=queries, key_positions=keys)
    np.testing.assert_allclose(given, expected, rtol=0, atol=2e-6)
    square = truth.normal(1, 1, 6, 6)
    document = np.array([0, 0, 1, 1, 1, 2])
    packed = posenc.softmax(square, causal=True, cu_seqlens=[0, 2, 5, 6])
    same = document[:, None] == document[None, :]
    np.testing.assert_allclose(packed, truth.softmax(square, same & truth.allowed(6, 6, -1, 0)), rtol=0, atol=2e-6)


def test_chunks_from_the_first_key():
    """Two sequences, one padded on the left as Hugging Face does it: each has the result that it has alone."""
    begin = np.array([0, 3])
    at = np.arange(9) - begin[:, None]
    same = at[:, :, None] // 4 == at[:, None, :] // 4
    seen = same & (at[:, None, :] <= at[:, :, None]) & (at[:, None, :] >= 0)
    x = truth.normal(2, 1, 9, 9)
    given = posenc.softmax(x, causal=True, chunk=4, k_begin=begin, origins=begin)
    np.testing.assert_allclose(given, truth.softmax(x, seen[:, None]), rtol=0, atol=2e-6)
    alone = posenc.softmax(x[1:, :, 3:, 3:].copy(), causal=True, chunk=4)
    np.testing.assert_allclose(given[1:, :, 3:, 3:], alone, rtol=0, atol=2e-6)


def test_slopes_of_each_sequence():
    x, slopes = truth.normal(2, 3, 4, 9), np.array([[0.5, 0.25, 1.0], [0.125, 2.0, 0.0]], np.float32)
    both = posenc.softmax(x, causal=True, alibi_slopes=slopes)
    for b in range(2):
        assert np.array_equal(both[b], posenc.softmax(x[b], causal=True, alibi_slopes=slopes[b]))
    with pytest.raises(ValueError, match='alibi_slopes'):
        posenc.softmax(x, causal=True, alibi_slopes=slopes[:, :2])


def test_trees():
    parents = [-1, 0, 0, 1]
    seen = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]], bool)
    x = truth.normal(2, 3, 4, 9)
    keep = np.ones((4, 9), bool)
    keep[:, 5:] = seen
    expected = truth.softmax(x, keep)
    np.testing.assert_allclose(posenc.softmax(x, causal=False, tree=parents), expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(posenc.softmax(x, causal=True, tree=[parents] * 2), expected, rtol=0, atol=2e-6)
    assert posenc.tree_positions(parents, 5).tolist() == [5, 6, 6, 7]
    with pytest.raises(ValueError, match='tree'):
        posenc.softmax(x, causal=False, tree=[-1, 0])
    with pytest.raises(ValueError):
        posenc.softmax(x, causal=False, tree=[-1, 0, 0, 3])


def test_fully_masked_rows_and_untouched_keys():
    nothing = np.zeros((5, 9), bool)
    assert np.all(posenc.softmax(X, causal=False, keep=nothing) == 0)
    uniform = posenc.softmax(X, causal=False, keep=nothing, fully_masked='uniform')
    np.testing.assert_allclose(uniform, 1 / 9, rtol=1e-6)
    assert np.all(np.isnan(posenc.softmax(X, causal=False, keep=nothing, fully_masked='nan')))
    wide = truth.normal(1, 1, 2, 96)
    out = np.full(wide.shape, 9.0, np.float32)
    posenc.softmax(wide, causal=True, query_start=0, masked='untouched', out=out)
    assert np.all(out[..., 32:] == 9.0) and np.all(out[0, 0, 0, 1:32] == 0.0)
    with pytest.raises(ValueError, match='masked'):
        posenc.softmax(wide, causal=True, masked='untouched')


def test_partial_sums():
    x = truth.normal(1, 1, 1, 64)
    e, sums = posenc.softmax_partial(x, causal=False)
    np.testing.assert_allclose(e, np.exp(x.astype(np.float64) - x.max()), rtol=3e-6)
    assert sums.shape == (1, 1, 1, 2) and sums[0, 0, 0, 0] == x.max()
    parts = [posenc.softmax_partial(part, causal=False) for part in (x[..., :40], x[..., 40:])]
    (most, total), fa, fb = posenc.softmax_combine(*(tuple(part[1][0, 0, 0]) for part in parts))
    joined = np.concatenate([parts[0][0] * fa, parts[1][0] * fb], -1) / total
    np.testing.assert_allclose(joined, truth.softmax(x), rtol=0, atol=1e-6)
    assert most == x.max()


def test_padding():
    y, keep = truth.normal(2, 3, 2, 4), np.array([[1, 0, 1], [0, 1, 1]], bool)
    expected = np.where(keep[:, :, None, None], y, 0)
    assert np.array_equal(posenc.zero_padded(y, keep), expected)
    assert posenc.masked_mean([1.0, 5.0, 3.0], [True, False, True]) == 2.0


def test_backward():
    given = dict(causal=True, scale=0.5, sinks=[0.1, 0.2, 0.3])
    p, dp = posenc.softmax(X, **given), truth.normal(2, 3, 5, 9, seed=5)
    found = posenc.softmax_backward(p, dp, with_bias=True, **given)
    exact = truth.softmax(0.5 * X, truth.allowed(5, 9, -1, 0), given['sinks'])
    g = (exact * dp).sum(-1, keepdims=True)
    dl = exact * (dp - g)
    np.testing.assert_allclose(found['dx'], 0.5 * dl, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found['db'], dl, rtol=0, atol=1e-5)
    dsinks = -((1 - exact.sum(-1)) * g[..., 0]).sum((0, 2))
    np.testing.assert_allclose(found['dsinks'], dsinks, rtol=0, atol=1e-5)
    bias = posenc.RelBias(np.zeros((3, 17), np.float32), -8)
    gradient = posenc.rel_bias_backward(found['db'], bias, causal=True)
    offset = truth.offsets_of(5, 9)
    expected = [[dl[:, h][:, offset == o].sum() for o in range(-8, 9)] for h in range(3)]
    np.testing.assert_allclose(gradient.data, expected, rtol=0, atol=2e-5)
    slopes = -np.array(expected) @ np.abs(np.arange(-8, 9))
    np.testing.assert_allclose(posenc.alibi_backward(gradient), slopes, rtol=0, atol=1e-4)
    index = posenc.RelIndex.clipped(2, range(-8, 9))
    table = np.zeros((5, 3))
    np.add.at(table, index.data, np.array(expected).T)
    np.testing.assert_allclose(posenc.bias_table_backward(index, gradient), table, rtol=0, atol=5e-5)


def test_backward_of_a_bias_that_heads_share():
    ds, offset = truth.normal(2, 3, 5, 9), truth.offsets_of(5, 9)
    row = truth.normal(1, 17)
    for bias in posenc.RelBias(row, -8, shared=True), posenc.RelBias(np.broadcast_to(row, (3, 17)), -8):
        scores = posenc.logits(ds, causal=False, bias=bias)
        np.testing.assert_allclose(scores, ds + row[0, offset + 8], rtol=0, atol=1e-6)
        gradient = posenc.rel_bias_backward(ds, bias, causal=False)
        expected = [ds.astype(np.float64)[:, :, offset == o].sum() for o in range(-8, 9)]
        np.testing.assert_allclose(gradient.data, [expected], rtol=0, atol=2e-5)
        slope = -np.dot(expected, np.abs(np.arange(-8, 9)))
        np.testing.assert_allclose(posenc.alibi_backward(gradient), [slope], rtol=0, atol=1e-4)


def test_gate_backward():
    e, gate, dy = truth.normal(4, 8), truth.normal(4, 1, seed=1), truth.normal(4, 8, seed=2)
    found = posenc.gate_backward(dy, e, gate)
    np.testing.assert_allclose(found['dgate'], (dy.astype(np.float64) * e).sum(-1, keepdims=True), rtol=0, atol=1e-5)
    np.testing.assert_allclose(found['de'], gate * dy, rtol=1e-6)
