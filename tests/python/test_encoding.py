import numpy as np
import pytest
import truth

import posenc


def sinusoid(positions, dim, base=10000.0):
    angle = np.asarray(positions, np.float64)[..., None] * base ** (-2.0 * np.arange(dim // 2) / dim)
    return np.sin(angle), np.cos(angle)


def test_sinusoidal_layouts():
    positions = np.array([0, 1, 5, 100000])
    sin, cos = sinusoid(positions, 32)
    expected = {
        'interleaved': np.stack([sin, cos], -1).reshape(4, 32),
        'complex': np.stack([cos, sin], -1).reshape(4, 32),
        'concat': np.concatenate([sin, cos], -1),
        'concat_cos': np.concatenate([cos, sin], -1),
    }
    for layout, rows in expected.items():
        e = posenc.sinusoidal(32, layout, schedule='half')
        assert (e.dim, e.n_axes) == (32, 1)
        np.testing.assert_allclose(e(positions), rows, rtol=0, atol=1e-7)
    with pytest.raises(posenc.Error) as error:
        posenc.sinusoidal(32, 'concat')
    assert error.value.status == 'ERR_UNSET'
    whisper = posenc.sinusoidal(8, 'concat', schedule='half_minus_1')
    angle = 3.0 * np.exp(-np.log(10000) * np.arange(4) / 3)
    np.testing.assert_allclose(whisper([3])[0], [*np.sin(angle), *np.cos(angle)], rtol=0, atol=1e-7)


def test_adds_gates_and_batches():
    e = posenc.sinusoidal(16, 'interleaved')
    rows = e(range(5)).astype(np.float64)
    x = truth.normal(2, 5, 16)
    np.testing.assert_allclose(e(range(5), x), x + rows, rtol=0, atol=1e-6)
    gate = truth.normal(2, 5, 1, seed=3)
    np.testing.assert_allclose(e(range(5), x, gate=gate), x + gate * rows, rtol=0, atol=1e-6)
    y = e(range(5), x, gate=gate, inplace=True)
    assert y is x
    each = e(np.array([[0, 1, 2], [7, 8, 9]]))
    assert np.array_equal(each[1], e([7, 8, 9])) and each.shape == (2, 3, 16)
    assert e([1, 2], dtype='float16').dtype == np.float16
    half = e(np.array([0.5, 2.25]))
    np.testing.assert_allclose(half[:, 0], np.sin([0.5, 2.25]), rtol=0, atol=1e-7)


def test_shift_matrix():
    e = posenc.sinusoidal(16, 'interleaved')
    rows = e([3, 10])
    np.testing.assert_allclose(e.shift_matrix(7) @ rows[0], rows[1], rtol=0, atol=1e-6)


def test_timestep_and_grid():
    e = posenc.timestep(8, flip_sin_to_cos=True, downscale_freq_shift=0.0)
    angle = 999.0 * 10000.0 ** (-np.arange(4) / 4)
    np.testing.assert_allclose(e(np.array([999.0]))[0], [*np.cos(angle), *np.sin(angle)], rtol=0, atol=1e-7)
    planes = posenc.positions_grid((2, 3))
    assert planes.tolist() == [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]
    rows = posenc.grid(16, 'w_first')(planes)
    (sin_y, cos_y), (sin_x, cos_x) = (sinusoid(plane, 8) for plane in planes)
    np.testing.assert_allclose(rows, np.concatenate([sin_x, cos_x, sin_y, cos_y], -1), rtol=0, atol=1e-7)
    for strided in planes[::-1], planes[:, ::-1], planes[:, ::2], np.broadcast_to(planes[:1], (2, 6)):
        assert np.array_equal(posenc.grid(16, 'w_first')(strided), posenc.grid(16, 'w_first')(strided.copy()))


def test_axes_may_share_positions():
    shared = np.broadcast_to(np.array([3, 70, 5]), (2, 3))
    e = posenc.grid(16, 'w_first')
    assert np.array_equal(e(shared), e(shared.copy()))
    with_batch = np.broadcast_to(np.array([[[3, 70, 5]], [[1, 2, 4]]]), (2, 2, 3))
    assert np.array_equal(e(with_batch), e(with_batch.copy()))
    one = np.broadcast_to(np.array([7]), (2, 1))
    assert np.array_equal(e(one), e(one.copy()))
    shared_batch = np.broadcast_to(np.array([[3, 70, 5], [1, 2, 4]]), (4, 2, 3))
    assert np.array_equal(e(shared_batch), e(shared_batch.copy()))


def test_fourier():
    b = truth.normal(4, 2)
    points = truth.normal(2, 5, seed=1)  # planes of coordinates
    z = 2 * np.pi * (points.T.astype(np.float64) @ b.T.astype(np.float64))
    rows = posenc.fourier(4, 2, matrix=b)(points)
    np.testing.assert_allclose(rows, np.concatenate([np.cos(z), np.sin(z)], -1), rtol=0, atol=1e-6)
    assert np.array_equal(posenc.fourier(4, 2, seed=5)(points), posenc.fourier(4, 2, seed=5)(points))
    wide = np.geomspace(0.5, 1e4, 32) # in float32 the last would be off by 1.7e-3
    steps = np.array([0.1, 0.7, 3.3])
    z = 2 * np.pi * np.outer(steps, wide)
    np.testing.assert_allclose(posenc.fourier(32, matrix=wide[:, None])(steps), np.concatenate([np.cos(z), np.sin(z)], -1),
                               rtol=0, atol=1e-7)


def test_stable_audio_3():
    """Features of 0.5 to 10000 turns, ascending: a base below 1."""
    steps = np.array([0.0, 0.1, 0.7, 1.0])
    z = 2 * np.pi * np.outer(steps, 0.5 * (1e4 / 0.5) ** (np.arange(128) / 127))
    e = posenc.timestep(256, flip_sin_to_cos=True, scale=np.pi, max_period=0.5 / 1e4)
    np.testing.assert_allclose(e(steps), np.concatenate([np.cos(z), np.sin(z)], -1), rtol=0, atol=1e-7)


def test_integers_bits_and_bumps():
    np.testing.assert_allclose(posenc.integer(3, 11, alpha=1.0)([5])[0], 0.5 * np.array([0, 0.5, 1]), rtol=1e-6)
    assert posenc.bits(4, 'binary')([5])[0].tolist() == [1, 0, 1, 0]
    assert posenc.bits(4, 'gray', zero=-1, one=1)([5])[0].tolist() == [1, 1, 1, -1]
    assert posenc.gray_encode(5) == 7 and posenc.gray_decode(7) == 5
    centres = np.array([0.0, 2.0])
    bumps = np.exp(-(np.array([[1], [2]]) - centres) ** 2 / 4.5)
    np.testing.assert_allclose(posenc.rbf(centres, 1.5)([1, 2]), bumps, rtol=1e-6)


def test_learned():
    table, ids = truth.normal(10, 6), np.array([3, 0, 3])
    assert np.array_equal(posenc.learned(table, offset=2)(ids), table[ids + 2])
    e = posenc.learned(table)
    table[3] = 7.0  # not a copy
    assert np.all(e(ids)[0] == 7.0)
    assert np.all(posenc.learned(table, out_of_range='zero')([99]) == 0.0)
    assert np.array_equal(posenc.learned(table, out_of_range='clamp')([99])[0], table[9])
    with pytest.raises(ValueError, match='positions: row 1'):
        e([0, 10])
    dy = truth.normal(3, 6, seed=2)
    expected = np.zeros((10, 6))
    np.add.at(expected, ids, 0.5 * dy.astype(np.float64))
    np.testing.assert_allclose(posenc.learned_backward(ids, dy, n_rows=10, scale=0.5), expected, rtol=0, atol=1e-6)


def test_concat_and_sum():
    table = truth.normal(64, 8)
    sinusoid_of, learned = posenc.sinusoidal(8, 'interleaved'), posenc.learned(table)
    both = posenc.concat([sinusoid_of, {'encoding': learned, 'first': 2, 'width': 4}])
    assert np.array_equal(both([3])[0], np.concatenate([sinusoid_of([3])[0], table[3, 2:6]]))
    del learned
    blocks = posenc.sum([{'encoding': posenc.learned(table), 'divide': 8}, {'encoding': sinusoid_of, 'modulo': 8}])
    np.testing.assert_allclose(blocks([19])[0], table[2] + sinusoid_of([3])[0], rtol=0, atol=1e-6)
    for axis in 2 ** 32, -2 ** 32, 2 ** 31:  # as an int of C, axis 0
        with pytest.raises(ValueError, match='axis: .*range'):
            posenc.concat([{'encoding': sinusoid_of, 'axis': axis}])


def test_resize():
    x = truth.normal(4, 3)
    y = posenc.table_resize(x, w_in=4, w_out=8)
    at = np.clip((np.arange(8) + 0.5) * 0.5 - 0.5, 0, None)
    low = at.astype(int)
    high = np.minimum(low + 1, 3)
    weights = np.zeros((8, 4))
    np.add.at(weights, (np.arange(8), low), 1 - (at - low))
    np.add.at(weights, (np.arange(8), high), at - low)
    np.testing.assert_allclose(y, weights @ x, rtol=0, atol=1e-6)
    dy = truth.normal(8, 3, seed=1)
    np.testing.assert_allclose(posenc.table_resize_backward(dy, w_in=4, w_out=8), weights.T @ dy, rtol=0, atol=1e-6)


def test_resize_antialias():
    x = truth.normal(9, 3)
    centres = (np.arange(4) + 0.5) * 9 / 4
    weights = np.clip(1 - np.abs(np.arange(9) + 0.5 - centres[:, None]) / (9 / 4), 0, None)
    weights /= weights.sum(1, keepdims=True)
    y = posenc.table_resize(x, w_in=9, w_out=4, antialias=True)
    np.testing.assert_allclose(y, weights @ x, rtol=0, atol=1e-6)
    dx = posenc.table_resize_backward(y, w_in=9, w_out=4, antialias=True)
    np.testing.assert_allclose(dx, weights.T @ y, rtol=0, atol=1e-6)


def test_initial_values():
    y = posenc.fill_normal(np.empty((200, 50), np.float32), 42, mean=1.0, deviation=0.5)
    assert abs(y.mean() - 1.0) < 0.02 and abs(y.std() - 0.5) < 0.02
    again = posenc.fill_normal(np.empty_like(y), 42, mean=1.0, deviation=0.5, threads=3)
    assert np.array_equal(y, again)
    z = posenc.fill_uniform(np.empty(1000, np.float32), 1, low=-2.0, high=3.0)
    assert z.min() >= -2.0 and z.max() <= 3.0 and abs(z.mean() - 0.5) < 0.2
    assert posenc.xavier_uniform(3, 5) == pytest.approx(np.sqrt(6 / 8))
    assert posenc.xavier_normal(3, 5) == pytest.approx(np.sqrt(2 / 8))


def test_conv():
    w, b, x = truth.normal(4, 3), truth.normal(4, seed=1), truth.normal(7, 4, seed=2)
    conv = posenc.Conv(w, b)
    padded = np.pad(x.astype(np.float64), ((1, 1), (0, 0)))
    expected = x + b + sum(padded[u:u + 7] * w[:, u] for u in range(3))
    np.testing.assert_allclose(conv(x, width=7), expected, rtol=0, atol=1e-5)
    dy = truth.normal(7, 4, seed=3)
    dw, db = conv.backward_weights(x, dy, width=7)
    np.testing.assert_allclose(dw, np.stack([(padded[u:u + 7] * dy).sum(0) for u in range(3)], -1), rtol=0, atol=1e-5)
    np.testing.assert_allclose(db, dy.sum(0), rtol=0, atol=1e-5)
    pad_dy = np.pad(dy.astype(np.float64), ((1, 1), (0, 0)))
    dx = dy + sum(pad_dy[2 - u:9 - u] * w[:, u] for u in range(3))
    np.testing.assert_allclose(conv.backward_input(dy, width=7), dx, rtol=0, atol=1e-5)
    grid = posenc.Conv(truth.normal(2, 3, 3), has_residual=False)
    assert grid(truth.normal(13, 2), height=3, width=4, n_prefix=1).shape == (13, 2)


def test_grouped_conv():
    kernel, width, n, tokens = 4, 3, 6, 9
    w, b, x = truth.normal(kernel, width, n), truth.normal(n, seed=1), truth.normal(tokens, n, seed=2)
    dy = truth.normal(tokens, n, seed=3)
    y, dx, dw = np.tile(b.astype(np.float64), (tokens, 1)), np.zeros((tokens, n)), np.zeros(w.shape)
    for t, u, i, c in np.ndindex(tokens, kernel, width, n):
        source, read = t + u - kernel // 2, c // width * width + i
        if 0 <= source < tokens:
            y[t, c] += w[u, i, c] * x[source, read]
            dx[source, read] += w[u, i, c] * dy[t, c]
            dw[u, i, c] += dy[t, c] * x[source, read]
    conv = posenc.GroupedConv(w, b, has_backward=True)
    np.testing.assert_allclose(conv(x), y, rtol=0, atol=1e-5)
    np.testing.assert_allclose(conv.backward_input(dy, threads=2), dx, rtol=0, atol=1e-5)
    got_dw, got_db = conv.backward_weights(x, dy)
    np.testing.assert_allclose(got_dw, dw, rtol=0, atol=1e-5)
    np.testing.assert_allclose(got_db, dy.sum(0), rtol=0, atol=1e-5)
    with pytest.raises(posenc.Error):
        posenc.GroupedConv(w).backward_input(dy)
    with pytest.raises(ValueError, match='weights'):
        posenc.GroupedConv(truth.normal(3, 4, 6))


def test_positions():
    assert posenc.positions_range(3, 4).tolist() == [3, 4, 5, 6]
    assert posenc.positions_packed([0, 2, 5], [7, 0]).tolist() == [7, 8, 0, 1, 2]
    mask = np.array([[0, 1, 1], [1, 1, 0]], bool)
    assert posenc.positions_masked(mask, start=2, pad_value=1).tolist() == [[1, 2, 3], [2, 3, 1]]
    assert posenc.positions_documents([4, 4, 5, 5, 5]).tolist() == [0, 1, 0, 1, 2]


def test_frequencies_and_analysis():
    freq = posenc.Freq(10000.0, 8)
    cos, sin = freq([0, 3])
    np.testing.assert_allclose(cos[1], np.cos(3 * truth.theta(8)), rtol=0, atol=1e-7)
    np.testing.assert_allclose(sin[1], np.sin(3 * truth.theta(8)), rtol=0, atol=1e-7)
    assert len(freq) == 4 and np.array_equal(posenc.Freq.of(freq.theta).theta, freq.theta)
    np.testing.assert_allclose(freq.dot_by_offset([5]), np.cos(5 * freq.theta).sum(), rtol=0, atol=1e-6)
    np.testing.assert_allclose(freq.alias_distance([5]), np.sqrt((2 - 2 * np.cos(5 * freq.theta)).sum()), rtol=1e-6)
    rows = posenc.sinusoidal(8, 'interleaved')(range(6)).astype(np.float64)
    norm = np.linalg.norm(rows, axis=-1)
    expected = rows @ rows.T / np.outer(norm, norm)
    similarity = posenc.cosine_similarity(rows.astype('f4'))
    np.testing.assert_allclose(similarity, expected, rtol=0, atol=2e-6)
    profile = posenc.similarity_profile(rows.astype('f4'), 2, 5)
    np.testing.assert_allclose(profile[:4], expected[2, 2:], rtol=0, atol=2e-6)
    assert np.isnan(profile[4])
    assert posenc.check_progression(np.arange(8, dtype='f4').reshape(4, 2), 0, 1) == (True, 0.0)
    report = posenc.frequency_report(freq.theta, 100.0)
    np.testing.assert_allclose(report['wavelength'], 2 * np.pi / freq.theta)
    np.testing.assert_allclose(report['turns'], 100 / report['wavelength'])
    assert posenc.hamming_binary(3, 4) == 3 and posenc.hamming_gray(3, 4) == 1
    assert posenc.parameter_count('learned', length=512, dim=768) == 512 * 768
    assert posenc.flops('rope', n_heads=2, head_dim=64) == 6 * 2 * 64
    assert posenc.flops('rope', rule_of_thumb=True, head_dim=64) == 4 * 64


def test_instruction_sets():
    tier = posenc.isa()
    x = truth.normal(5, 3, 64)
    expected = posenc.Rope(64)(x, 0)
    try:
        for other in posenc.isa_supported():
            posenc.isa_select(other)
            assert posenc.isa() == other and np.array_equal(posenc.Rope(64)(x, 0), expected)
    finally:
        posenc.isa_select(tier)
    assert set(posenc.isa_supported()) <= set(posenc.isa_built())
    with pytest.raises(posenc.Error, match='tier'):
        posenc.isa_select('sse2')
