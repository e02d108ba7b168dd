import numpy as np
import pytest
import truth

import posenc


def test_alibi():
    assert posenc.alibi_slopes(8).tolist() == [2.0 ** -(h + 1) for h in range(8)]
    twelve = [2.0 ** -(h + 1) for h in range(8)] + [2.0 ** -(h + 0.5) for h in range(4)]
    np.testing.assert_allclose(posenc.alibi_slopes(12), twelve, rtol=1e-7)
    np.testing.assert_allclose(posenc.alibi_slopes(12, plain=True), 2.0 ** (-8 * np.arange(1, 13) / 12), rtol=1e-7)
    slopes = posenc.alibi_slopes(2)
    bias = posenc.RelBias.alibi(slopes, range(-3, 3))
    np.testing.assert_allclose(bias.data, -np.outer(slopes, np.abs(np.arange(-3, 3))), rtol=1e-7)
    assert bias.offsets == range(-3, 3) and bias.n_heads == 2 and not bias.is_clamped
    row = posenc.alibi_row(slopes, 'from_last', n_k=4)
    np.testing.assert_allclose(row[0, 1, 0], slopes[1] * np.arange(-3, 1), rtol=1e-7)
    counted = posenc.alibi_row(slopes, 'counted', key_mask=np.array([[0, 1, 1]], bool))
    np.testing.assert_allclose(counted[0, 0, 0], slopes[0] * np.array([0, 0, 1]), rtol=1e-7)
    rounded = posenc.alibi_row([0.5, 0.7], 'counted_bf16', key_mask=np.ones((1, 260), bool))[0, :, 0]
    assert list(rounded[0, 256:]) == [128, 128, 129, 130] and rounded[1, 1] == 0.69921875


def test_offsets():
    assert posenc.offsets(4, 10, causal=True) == range(-9, 1)
    assert posenc.offsets(4, 10, causal=True, window=3) == range(-2, 1)
    assert posenc.offsets(4, 4, causal=False) == range(-3, 4)
    with pytest.raises(posenc.Error, match='causal'):
        posenc.offsets(4, 4)


@pytest.mark.parametrize('bidirectional', [True, False])
def test_t5(bidirectional):
    table = truth.normal(32, 2)
    buckets = [truth.t5_bucket(o, 32, 128, bidirectional) for o in range(-300, 300)]
    index = posenc.RelIndex.t5(range(-300, 300), bidirectional=bidirectional)
    assert index.data.tolist() == buckets and index.n_rows == 32
    assert posenc.t5_bucket(-77, bidirectional=bidirectional) == truth.t5_bucket(-77, 32, 128, bidirectional)
    bias = posenc.RelBias.t5(table, bidirectional=bidirectional)
    matrix = posenc.bias_matrix(150, 200, n_heads=2, causal=False, bias=bias)
    bucket_of = {o: truth.t5_bucket(o, 32, 128, bidirectional) for o in range(-300, 300)}
    expected = [[table[bucket_of[o], 1] for o in row] for row in truth.offsets_of(150, 200)]
    np.testing.assert_allclose(matrix[0, 1], expected, rtol=0, atol=1e-7)


def test_functions_of_the_offset():
    offsets, d = range(-50, 51), np.abs(np.arange(-50, 51.0))
    p, a = np.array([0.5, 1.5]), np.array([0.2, 0.001])
    clamped = np.maximum(a, 0.01)
    log = posenc.RelBias.kerple(p, a, offsets, kind='log')
    np.testing.assert_allclose(log.data, -p[:, None] * np.log1p(clamped[:, None] * d), rtol=1e-6)
    power = posenc.RelBias.kerple(p, a, offsets, kind='power')
    np.testing.assert_allclose(power.data, -clamped[:, None] * d ** p[:, None], rtol=1e-6)
    rbf = posenc.RelBias.rbf([2.0, 9.0], offsets)
    np.testing.assert_allclose(rbf.data, np.exp(-d ** 2 / (2 * np.array([[4.0], [81.0]]))), rtol=1e-6, atol=1e-37)
    sandwich = posenc.RelBias.sandwich(2, offsets, dim=16)
    total = np.cos(d[:, None] * 10000.0 ** (-2 * np.arange(8) / 16)).sum(-1)
    np.testing.assert_allclose(sandwich.data, np.stack([2 / 8 * total, 2 / 16 * total]), rtol=1e-6, atol=1e-6)
    cosine = posenc.RelBias.cosine([0.3], offsets, phi=[0.1], amplitude=[2.0])
    np.testing.assert_allclose(cosine.data[0], 2 * np.cos(0.3 * np.arange(-50, 51) + 0.1), rtol=0, atol=1e-6)


def test_clipped_gather_and_mask():
    table = truth.normal(7, 2)
    index = posenc.RelIndex.clipped(3, range(-5, 6))
    assert index.data.tolist() == [max(-3, min(o, 3)) + 3 for o in range(-5, 6)]
    bias = posenc.RelBias.gather(index, table, scale=2.0)
    np.testing.assert_allclose(bias.data, 2 * table[index.data].T, rtol=1e-6)
    bias.mask(causal=True, window=3)
    assert np.isneginf(bias.data[0]).tolist() == [not -2 <= o <= 0 for o in range(-5, 6)]
    strided = np.zeros((8, 9), np.float32).T[1:8, ::4][:, :2]  # any strides of a table
    strided[:] = table
    assert np.array_equal(posenc.RelBias.gather(index, strided).data, table[index.data].T)


def test_own_numbers_are_used_where_they_lie():
    data = truth.normal(2, 7)
    bias = posenc.RelBias(data, -3)
    assert bias.data is data
    before = posenc.bias_matrix(4, 4, n_heads=2, causal=False, bias=bias)
    data[:] += 1
    assert np.allclose(posenc.bias_matrix(4, 4, n_heads=2, causal=False, bias=bias), before + 1)
    shared = posenc.RelBias(data[:1], -3, shared=True)
    matrix = posenc.bias_matrix(4, 4, n_heads=3, causal=False, bias=shared)
    assert np.array_equal(matrix[0, 2], matrix[0, 0])


def test_images():
    table = truth.normal(3 * 5, 2)
    index = posenc.swin_index(2, 3)
    places = [(y, x) for y in range(2) for x in range(3)]
    expected = [[(y - v + 1) * 5 + x - u + 2 for v, u in places] for y, x in places]
    assert index.tolist() == expected
    assert np.array_equal(posenc.swin_bias(table, 2, 3), table[index].transpose(2, 0, 1))
    ds = truth.normal(2, 2, 6, 6, seed=1)
    gradient = np.zeros((15, 2))
    np.add.at(gradient, index, ds.astype(np.float64).sum(0).transpose(1, 2, 0))
    np.testing.assert_allclose(posenc.swin_backward(ds, 2, 3), gradient, rtol=0, atol=1e-5)
    coords = posenc.swin_v2_coords(2, 3)
    u = 8 * np.array([-1, 0, 1.0])
    np.testing.assert_allclose(coords[:, 0, 0], np.sign(u) * np.log2(np.abs(u) + 1) / 3, rtol=1e-6)
    np.testing.assert_allclose(posenc.swin_v2_scale([0.0, 2.0]), 16 / (1 + np.exp([0.0, -2.0])), rtol=1e-6)
    rows = truth.normal(5, 4)
    expected = [[rows[a + 2 - b] for b in range(3)] for a in range(3)]
    assert np.array_equal(posenc.decomposed_rows(rows, 3, 3), expected)
    scores = truth.normal(1, 1, 2, 6)
    by_row, by_column = truth.normal(1, 1, 2, 2, seed=1), truth.normal(1, 1, 2, 3, seed=2)
    wanted = scores.reshape(1, 1, 2, 2, 3) + by_row[..., None] + by_column[..., None, :]
    assert posenc.decomposed_add(scores, by_row, by_column) is scores
    np.testing.assert_allclose(scores, wanted.reshape(1, 1, 2, 6), rtol=0, atol=1e-6)


# ---- Relative terms ----

def gathered(products, rows):
    """products (.., i, r) by row (i, j)."""
    return np.take_along_axis(products, np.broadcast_to(rows, (*products.shape[:-2], *rows.shape)), -1)


RULES = {
    'shaw': (lambda o: posenc.RelIndex.shaw(3, o), lambda o: np.clip(o, -3, 3) + 3),
    'shaw reversed': (lambda o: posenc.RelIndex.shaw(3, o, reversed=True), lambda o: np.clip(-o, -3, 3) + 3),
    'relative_key': (lambda o: posenc.RelIndex.relative_key(16, o), lambda o: 15 - o),
    'transformer_xl': (lambda o: posenc.RelIndex.transformer_xl(8, o), lambda o: np.clip(o + 7, 0, 7)),
    'xlnet': (lambda o: posenc.RelIndex.xlnet(6, 8, o), lambda o: o + 8),
    'deberta': (lambda o: posenc.RelIndex.deberta(4, o), lambda o: np.clip(4 - o, 0, 7)),
}


@pytest.mark.parametrize('name', RULES)
def test_relative_terms(name):
    make, row_of = RULES[name]
    offsets = posenc.offsets(6, 8, causal=False)
    index = make(offsets)
    assert index.data.tolist() == row_of(np.array(offsets)).tolist()
    rows = row_of(truth.offsets_of(6, 8))
    q, k, table = truth.normal(2, 6, 3, 16), truth.normal(2, 8, 3, 16, seed=1), truth.normal(index.n_rows, 16, seed=2)
    shift = truth.normal(3, 16, seed=3)
    products = posenc.RelativeTable(table).products(q, shift=shift)
    expected = np.einsum('bihc,rc->bhir', q.astype(np.float64) + shift, table)
    np.testing.assert_allclose(products, expected, rtol=0, atol=2e-5)
    key_products = posenc.RelativeTable(table).products(k)
    x = truth.normal(2, 3, 6, 8, seed=4)
    y = posenc.logits(x, causal=False, scale=0.5, by_query=(products, index), by_key=(key_products, index))
    by_key = np.swapaxes(gathered(np.einsum('bjhc,rc->bhjr', k.astype(np.float64), table), rows.T), -1, -2)
    np.testing.assert_allclose(y, 0.5 * (x + gathered(expected, rows) + by_key), rtol=0, atol=3e-5)
    own = posenc.RelativeTable(np.stack([table, -table, 2 * table], 1)).products(q)
    np.testing.assert_allclose(own[:, 1], -posenc.RelativeTable(table).products(q)[:, 1], rtol=0, atol=0)


def test_deberta_log_buckets():
    index = posenc.RelIndex.deberta_log(8, 32, range(-40, 41))
    assert index.n_rows == 16 and index.data[40] == 8
    assert [index.data[40 - d] for d in (1, 2, 3, 4)] == [9, 10, 11, 12] and index.data[0] == 15
    beyond = posenc.RelIndex.deberta_log(8, 32, range(-40, 41), clipped=False)
    assert [beyond.data[40 + d] for d in (30, 31, 32, 40)] == [1, 1, 0, 0] and index.data[80] == 1
    assert np.array_equal(np.asarray(beyond.data)[:72], np.asarray(index.data)[:72])


def test_relative_values_and_sums():
    index = posenc.RelIndex.shaw(2, posenc.offsets(4, 6, causal=True))
    rows = np.clip(truth.offsets_of(4, 6), -2, 2) + 2
    p = posenc.softmax(truth.normal(2, 3, 4, 6), causal=True)
    table = truth.normal(5, 8, seed=1)
    z = posenc.relative_values(p, index, table, np.zeros((2, 4, 3, 8), np.float32), causal=True)
    np.testing.assert_allclose(z, np.einsum('bhij,ijc->bihc', p.astype(np.float64), table[rows]), rtol=0, atol=1e-6)
    one_hot = np.eye(5)[rows]
    by_query = posenc.relative_sums_by_query(index, p, causal=True)
    np.testing.assert_allclose(by_query, np.einsum('bhij,ijr->bhir', p, one_hot), rtol=0, atol=1e-6)
    by_key = posenc.relative_sums_by_key(index, p, causal=True)
    np.testing.assert_allclose(by_key, np.einsum('bhij,ijr->bhjr', p, one_hot), rtol=0, atol=1e-6)
    np.testing.assert_allclose(posenc.relative_combine(by_query, table), z, rtol=0, atol=1e-6)
    x, shift = truth.normal(2, 4, 3, 8, seed=2), truth.normal(3, 8, seed=3)
    expected = np.einsum('bhir,bihc->rhc', by_query.astype(np.float64), x + shift)
    own = posenc.relative_collect(by_query, x, shift=shift, shared=False)
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-5)
    shared = posenc.relative_collect(by_query, x, shift=shift, factor=2.0)
    np.testing.assert_allclose(shared, 2 * expected.sum(1), rtol=0, atol=4e-5)


def test_shifts():
    x = truth.normal(1, 1, 3, 5)
    shifted = posenc.relative_shift(x)
    for i in range(3):
        assert np.array_equal(shifted[0, 0, i, :i + 3], x[0, 0, i, 2 - i:])
    skewed = posenc.relative_skew(x)
    assert np.array_equal(skewed[0, 0], [[x[0, 0, i, j - i + 2] for j in range(3)] for i in range(3)])


def test_fire():
    w1, b1, w2, b2 = truth.normal(4), truth.normal(4, seed=1), truth.normal(2, 4, seed=2), truth.normal(2, seed=3)
    fire = posenc.Fire(w1, b1, w2, b2, max_distance=63, threshold=8.0)
    distance = -truth.offsets_of(5, 9).astype(np.float64)
    psi = lambda t: np.log1p(np.abs(0.1 * t))
    x = psi(distance) / (psi(np.maximum(np.arange(4, 9), 8.0))[:, None] + 1e-6)
    hidden = np.maximum(x[..., None] * w1 + b1, 0)
    expected = np.einsum('ijk,hk->hij', hidden, w2) + b2[:, None, None]
    np.testing.assert_allclose(fire(5, 9)[0], expected, rtol=0, atol=1e-5)
    y = np.ones((1, 2, 5, 9), np.float32)
    assert fire.add(y) is y
    np.testing.assert_allclose(y[0], expected + 1, rtol=0, atol=1e-5)


@pytest.mark.parametrize('form', ['listing', 'scaled'])
def test_cope(form):
    x, z = truth.normal(1, 2, 4, 6), truth.normal(1, 2, 4, 5, seed=1)
    expected = np.full(x.shape, -np.inf)
    for h, i in np.ndindex(2, 4):
        at = i + 2
        gates = 1 / (1 + np.exp(-0.5 * x[0, h, i, :at + 1].astype(np.float64)))
        p = np.minimum(np.cumsum(gates[::-1])[::-1], 4)
        low = np.floor(p).astype(int)
        b = (1 - (p - low)) * z[0, h, i, low] + (p - low) * z[0, h, i, np.ceil(p).astype(int)]
        expected[0, h, i, :at + 1] = 0.5 * x[0, h, i, :at + 1] + (b if form == 'listing' else 0.5 * b)
    np.testing.assert_allclose(posenc.cope_logits(x, z, scale=0.5, form=form), expected, rtol=0, atol=1e-5)
