"""Schemes that no name says: what docs/embedding.md tells of them, against their own formulas in double."""
import numpy as np
import posenc
import truth


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_real_coordinates_by_fourier_rows():
    """NeRF: sin and cos of 2^k pi x, each coordinate by itself. Rows of the matrix are 2^(k-1) of one coordinate."""
    points = truth.normal(2, 50)  # one plane for each coordinate
    matrix = np.kron(np.eye(2), 2.0 ** (np.arange(10) - 1)[:, None]).astype(np.float32)
    rows = posenc.fourier(20, 2, matrix=matrix, order='sin_cos')(points)
    z = np.concatenate([np.pi * 2.0 ** np.arange(10) * points[a].astype(np.float64)[:, None] for a in range(2)], 1)
    np.testing.assert_allclose(rows, np.concatenate([np.sin(z), np.cos(z)], 1), rtol=0, atol=1e-6)


def test_gates_of_wavlm():
    """A gate for each query and head on T5's bias: products of a table that has one channel."""
    table = truth.normal(32, 4)  # (buckets, heads)
    gates = sigmoid(truth.normal(2, 4, 6, seed=1))  # (batch, heads, queries)
    scores = truth.normal(2, 4, 6, 6, seed=2)
    index = posenc.RelIndex.t5(posenc.offsets(6, 6, causal=False), bidirectional=True)
    products = np.ascontiguousarray(gates[..., None] * table.T[None, :, None, :])  # (batch, heads, queries, buckets)
    y = posenc.softmax(scores, causal=False, by_query=(products, index))  # scale 1: that of Q is in the scores
    bucket = np.vectorize(lambda o: truth.t5_bucket(o, 32, 128, True))(truth.offsets_of(6, 6))
    expected = truth.softmax(scores + gates[..., None].astype(np.float64) * np.moveaxis(table[bucket], 2, 0)[None])
    np.testing.assert_allclose(y, expected, rtol=0, atol=2e-6)


def test_three_biases_of_layoutlmv3():
    """Buckets of the order of words are a relative bias; those of x and y, which are no function of it, one tensor."""
    n, heads, dim = 7, 3, 16
    order, across, down = (truth.normal(buckets, heads, seed=s) for s, buckets in enumerate((32, 64, 64)))
    boxes = truth.rng(5).integers(0, 1000, (2, n))
    scores = truth.normal(1, heads, n, n, seed=6)

    def gathered(table, positions, most):
        bucket = [[truth.t5_bucket(int(b - a), len(table), most, True) for b in positions] for a in positions]
        return np.moveaxis(table[np.array(bucket)], 2, 0)

    scale = dim ** -0.5  # the sum of the three is divided too
    tensor = np.ascontiguousarray(scale * (gathered(across, boxes[0], 256) + gathered(down, boxes[1], 256))[None])
    relative = posenc.RelBias.t5(order, bidirectional=True, scale=scale)
    y = posenc.softmax(scores, causal=False, scale=scale, bias=(relative, tensor.astype(np.float32)))
    expected = scale * (scores + gathered(order, range(n), 128)) + tensor
    np.testing.assert_allclose(y, truth.softmax(expected), rtol=0, atol=2e-6)


def test_forgetting_transformer_is_one_row():
    """The bias of query i and key j is sum of log f from j + 1 to i, F_i - F_j. The softmax does not see F_i."""
    n, heads = 40, 2
    sums = np.cumsum(np.log(sigmoid(2 + truth.normal(heads, n, dtype='float64'))), -1)
    q, k, v = (truth.normal(1, n, heads, 16, seed=s) for s in (1, 2, 3))
    row = -sums[None, :, None, :].astype(np.float32)  # (1, heads, 1, keys): all queries share it
    out = posenc.attention(q, k, v, causal=True, bias=row)
    expected, _ = truth.attention(q, k, v, truth.allowed(n, n, after=0), sums[..., :, None] - sums[..., None, :])
    np.testing.assert_allclose(out, expected, rtol=0, atol=5e-6)


def test_cross_attention():
    """Keys of another sequence: no mask by position, lengths for its padding. Unrotated inputs are not rotated."""
    q, k, v = truth.normal(2, 3, 4, 16), truth.normal(2, 9, 2, 16, seed=1), truth.normal(2, 9, 2, 16, seed=2)
    out = posenc.attention(q, k, v, causal=False, k_end=[9, 5])
    seen = np.arange(9) < np.array([9, 5])[:, None, None, None]
    np.testing.assert_allclose(out, truth.attention(q, k, v, seen)[0], rtol=0, atol=2e-6)


def test_mask_shorter_than_the_keys():
    """ONNX hides the keys behind a short mask: they are left out of the views."""
    q, k, v = truth.normal(1, 3, 4, 16), truth.normal(1, 9, 2, 16, seed=1), truth.normal(1, 9, 2, 16, seed=2)
    bias = truth.normal(1, 4, 3, 7, seed=3)
    out = posenc.attention(q, k[:, :7], v[:, :7], causal=False, bias=bias)
    padded = np.concatenate([bias, np.zeros((1, 4, 3, 2))], -1)
    np.testing.assert_allclose(out, truth.attention(q, k, v, np.arange(9) < 7, padded)[0], rtol=0, atol=2e-6)


def test_layers_that_share_keys():
    """A layer without K and V of its own rotates Q alone, with the table of its kind, and reads the other's cache."""
    local, full = posenc.Rope(32), posenc.Rope(32, base=1e6)
    k, v = truth.normal(1, 12, 2, 32), truth.normal(1, 12, 2, 32, seed=1)
    for rope, window in (local, 4), (full, 12):
        cache, q = rope(k, 0), truth.normal(1, 12, 4, 32, seed=2)
        out = posenc.attention(rope(q, 0), cache, v, causal=True, window=window)
        base = 1e4 if rope is local else 1e6
        rotated = [truth.rotate(x, np.arange(12), base=base) for x in (q, k)]
        expected, _ = truth.attention(*rotated, v, truth.allowed(12, 12, before=window - 1, after=0))
        np.testing.assert_allclose(out, expected, rtol=0, atol=2e-6)


def test_compressed_keys_stand_where_they_begin():
    """DeepSeek-V4: compressed key j stands at j times the ratio."""
    rope, k = posenc.Rope(16, layout='interleaved'), truth.normal(5, 1, 16)
    at = 128 * np.arange(5)
    np.testing.assert_allclose(rope(k, at), truth.rotate(k, at, layout='interleaved'), rtol=0, atol=2e-6)


def test_norms_of_wide_heads_are_a_call_of_their_own():
    """Gemma 4's global layers rotate 512 channels, and norms go with 256: a rope that rotates nothing does them."""
    x, weight = truth.normal(3, 2, 512), truth.normal(512, seed=1)
    nothing, rope = posenc.Rope(512, rot_fraction=0.0), posenc.Rope(512, base=1e6)
    y, = nothing.apply_tensors([{'x': x.copy(), 'weight': weight, 'eps': 1e-6, 'rotates': False}], 0)
    x64 = x.astype(np.float64)
    normed = x64 / np.sqrt(np.mean(x64**2, -1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(y, normed, rtol=0, atol=2e-6)
    np.testing.assert_allclose(rope(y, 5), truth.rotate(normed, 5 + np.arange(3), base=1e6), rtol=0, atol=6e-6)
