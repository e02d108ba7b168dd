import json

import numpy as np
import pytest
import truth

import posenc


@pytest.mark.parametrize('layout', ['half', 'interleaved'])
@pytest.mark.parametrize('n_rot', [128, 32])
def test_rotates(layout, n_rot):
    x = truth.normal(2, 5, 3, 128)
    positions = np.array([0, 1, 17, 4095, 1000000], np.int32)
    rope = posenc.Rope(128, base=5e5, layout=layout, n_rot=n_rot)
    expected = truth.rotate(x, positions, n_rot, 5e5, layout)
    np.testing.assert_allclose(rope(x, positions), expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(rope.theta, truth.theta(n_rot, 5e5), rtol=1e-15)


@pytest.mark.parametrize('dtype, error', [('float16', 2e-3), ('float32', 1e-6)])
def test_types_and_directions(dtype, error):
    x = truth.normal(4, 2, 64, dtype=dtype)
    rope = posenc.Rope(64)
    y = rope(x, 7)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, truth.rotate(x, np.arange(7, 11)), rtol=0, atol=2 * error)
    np.testing.assert_allclose(rope(y, 7, direction='inverse'), x, rtol=0, atol=4 * error)
    back = truth.rotate(x, np.arange(7, 11), sign=-1)
    np.testing.assert_allclose(rope(x, 7, direction='backward'), back, rtol=0, atol=2 * error)
    shifted = rope(y, np.full(4, 5, np.int32), direction='shift')
    np.testing.assert_allclose(shifted, truth.rotate(x, np.arange(12, 16)), rtol=0, atol=4 * error)


def test_positions_of_each_sequence_and_of_int64():
    x = truth.normal(2, 4, 1, 8)
    rope = posenc.Rope(8)
    positions = np.array([[0, 1, 2, 3], [10, 11, 12, 13]])
    np.testing.assert_allclose(rope(x, positions), truth.rotate(x, positions), rtol=0, atol=1e-6)
    assert np.array_equal(rope(x, positions.astype('i4')), rope(x, positions))
    assert np.array_equal(rope(x[0], range(4)), rope(x[0], 0))
    assert np.array_equal(rope(x[0], np.arange(8)[::2]), rope(x[0], [0, 2, 4, 6]))


def test_axes():
    x = truth.normal(3, 2, 16)
    rope = posenc.Rope(16, axes='mrope', sections=(4, 2, 2))
    planes = np.array([[0, 1, 2], [5, 6, 7], [9, 8, 7]], np.int32)
    assert rope.n_axes == 3 and list(rope.axis) == [0] * 4 + [1] * 2 + [2] * 2
    angle = planes[rope.axis].T * truth.theta(16)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    expected = np.concatenate([x[..., :8] * cos - x[..., 8:] * sin, x[..., 8:] * cos + x[..., :8] * sin], -1)
    np.testing.assert_allclose(rope(x, planes), expected, rtol=0, atol=1e-6)
    both = rope(np.stack([x, x]), np.stack([planes, planes + 1], 1))
    assert np.array_equal(both[0], rope(x, planes)) and np.array_equal(both[1], rope(x, planes + 1))


def halves(x, angle):
    """x (.., n_tokens, n_heads, head_dim) half-split, its pairs rotated by angle (.., n_tokens, n_pairs), in double."""
    cos, sin = np.cos(angle)[..., None, :], np.sin(angle)[..., None, :]
    x0, x1 = np.split(x.astype(np.float64), 2, -1)
    return np.concatenate([x0 * cos - x1 * sin, x1 * cos + x0 * sin], -1)


@pytest.mark.parametrize('dtype', ['f4', 'f8'])
def test_real_positions(dtype):
    x, positions = truth.normal(2, 5, 2, 16), (truth.normal(2, 5, seed=1) * 1000).astype(dtype)
    rope = posenc.Rope(16)
    expected = halves(x, positions[..., None].astype('f8') * truth.theta(16))
    np.testing.assert_allclose(rope(x, positions), expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(rope(x[0], positions[0].tolist()), expected[0], rtol=0, atol=2e-6)
    cos, sin = rope.table(positions[0])
    np.testing.assert_allclose(cos, np.cos(np.outer(positions[0].astype('f8'), truth.theta(16))), rtol=0, atol=1e-7)
    assert np.array_equal(rope.apply_table(x[0], cos, sin), rope(x[0], positions[0]))
    assert np.array_equal(rope(x, positions, direction='backward'), rope(x, -positions))
    whole = np.arange(5)
    assert np.array_equal(rope(x, whole.astype(dtype)), rope(x, whole))


def test_axes_by_list():
    """DINOv3's coordinates and frequencies (B.28), and frequencies of either sign (B.26)."""
    d, rows, columns = 16, 2, 3
    theta = 2 * np.pi * 100.0 ** (-4 * np.arange(d // 4) / d)
    rope = posenc.Rope(d, theta=np.tile(theta, 2), axes=[0] * 4 + [1] * 4)
    np.testing.assert_allclose(rope.theta[:4], [6.2831853, 1.9869177, 0.62831853, 0.19869177], rtol=1e-7)
    assert rope.n_axes == 2 and list(rope.axis) == [0] * 4 + [1] * 4
    row, column = posenc.positions_grid((rows, columns)).astype('f8')
    yx = np.stack([2 * (row + 0.5) / rows - 1, 2 * (column + 0.5) / columns - 1])
    x = truth.normal(rows * columns, 2, d)
    np.testing.assert_allclose(rope(x, yx), halves(x, yx[rope.axis].T * np.tile(theta, 2)), rtol=0, atol=1e-6)
    rope = posenc.Rope(8, n_rot=6, theta=[0.75, -0.125, 3], axes=(2, 0, 1))
    cos, sin = rope.table([[3], [-7], [40]])
    np.testing.assert_allclose(sin, np.sin([[30, -0.375, -21]]), rtol=0, atol=1e-6)
    assert posenc.Rope(4, axes=[1, 0], n_axes=3).n_axes == 3
    assert np.array_equal(posenc.Rope(4, rot_fraction=0.5, theta=[2.0]).theta, [2.0])


def test_bases_of_axes():
    rope = posenc.Rope(16, axes='axial', sections=(4, 4), bases=[100.0, 0.0], base=1e4)
    np.testing.assert_allclose(rope.theta, [*truth.theta(8, 100.0), *truth.theta(8)], rtol=1e-14)


def test_ernie_and_axes_that_alternate():
    ernie = posenc.Rope(16, layout='interleaved', axes='ernie', sections=(4, 2, 2))
    assert list(ernie.axis) == [1, 2, 1, 2, 0, 0, 0, 0]
    np.testing.assert_allclose(ernie.theta, truth.theta(16), rtol=1e-14)
    moon = posenc.Rope(12, layout='interleaved', axes='alternate', n_axes=2)
    assert list(moon.axis) == [0, 1] * 3
    np.testing.assert_allclose(moon.theta, np.repeat(truth.theta(6), 2), rtol=1e-14)


def test_half_by_axis():
    x, positions = truth.normal(3, 2, 16), np.array([[0, 1, 2], [5, 7, 9]])
    rope = posenc.Rope(16, layout='half_by_axis', axes='axial', sections=(4, 4), base=100.0)
    expected = np.concatenate([truth.rotate(x[..., i:i + 8], positions[i // 8], base=100.0) for i in (0, 8)], -1)
    np.testing.assert_allclose(rope(x, positions), expected, rtol=0, atol=1e-6)


def test_table():
    x = truth.normal(6, 2, 32)
    rope = posenc.Rope(32)
    positions = np.arange(6) * 1000
    cos, sin = rope.table(positions)
    np.testing.assert_allclose(cos, np.cos(np.outer(positions, truth.theta(32))), rtol=0, atol=1e-7)
    np.testing.assert_allclose(sin, np.sin(np.outer(positions, truth.theta(32))), rtol=0, atol=1e-7)
    assert np.array_equal(rope.apply_table(x, cos, sin), rope(x, positions))
    pairs = np.stack([cos, sin], -1)  # rows of complex numbers
    assert np.array_equal(rope.apply_table(x, pairs[..., 0], pairs[..., 1]), rope(x, positions))


def test_scaling_by_either_names():
    ours = posenc.Rope(64, base=5e5, scaling={'type': 'llama3', 'factor': 8, 'original_context': 8192})
    published = {'rope_type': 'llama3', 'factor': 8, 'original_max_position_embeddings': 8192}
    theirs = posenc.Rope(64, base=5e5, scaling=published)
    assert np.array_equal(ours.theta, theirs.theta)
    turns = truth.theta(64, 5e5) * 8192 / (2 * np.pi)
    smooth = np.clip((turns - 1) / 3, 0, 1)  # low_freq_factor 1, high_freq_factor 4
    expected = truth.theta(64, 5e5) * (smooth + (1 - smooth) / 8)
    np.testing.assert_allclose(ours.theta, expected, rtol=1e-13)
    yarn = posenc.Rope(64, scaling={'type': 'yarn', 'factor': 4, 'original_context': 4096})
    assert yarn.magnitude == pytest.approx(1 + 0.1 * np.log(4), rel=1e-15)
    longrope = posenc.Rope(8, scaling={'type': 'longrope', 'short_factors': [1, 2, 3, 4], 'long_factors': [4, 5, 6, 7],
                                       'original_context': 100, 'factor': 2, 'context': 50})
    np.testing.assert_allclose(longrope.theta, truth.theta(8) / [1, 2, 3, 4], rtol=1e-14)
    linear = posenc.Rope(8, scaling={'type': 'linear', 'factor': 2, 'freq_factors': [1, 2, 4, 8]})
    np.testing.assert_allclose(linear.theta, truth.theta(8) / [2, 4, 8, 16], rtol=1e-14)


def test_magnitude_and_alpha_of_scalings():
    longrope = {'type': 'longrope', 'short_factors': [1, 1], 'long_factors': [2, 2], 'original_context': 100,
                'max_context': 400, 'short_mscale': 1.25, 'long_mscale': 1.5}
    assert posenc.Rope(4, scaling={**longrope, 'context': 100}).magnitude == 1.25
    assert posenc.Rope(4, scaling={**longrope, 'context': 101}).magnitude == 1.5
    grown = truth.theta(64, 1e4 * 1000 ** (64 / 62))
    published = {'type': 'dynamic', 'alpha': 1000.0, 'factor': 1.0}  # HunYuan's
    for scaling in published, {'type': 'ntk', 'ntk_alpha': 1000}, {'ntk_alpha': 1000, 'alpha': 5, 'type': 'ntk'}:
        np.testing.assert_allclose(posenc.Rope(64, scaling=scaling).theta, grown, rtol=1e-13)
    by_length = {'type': 'ntk_length', 'alpha': 4, 'context': 300, 'original_context': 100}
    np.testing.assert_allclose(posenc.Rope(64, scaling=by_length).theta, truth.theta(64, 1e4 * 16), rtol=1e-13)


def test_local():
    rope = posenc.Rope(64, base=1e6, local_base=1e4, scaling={'type': 'linear', 'factor': 8})
    np.testing.assert_allclose(rope.theta, truth.theta(64, 1e6) / 8, rtol=1e-14)
    assert np.array_equal(rope.local().theta, posenc.Rope(64).theta)
    listed = posenc.Rope(4, axes=[1, 0])
    del rope
    assert listed.local().axis.tolist() == [1, 0] and np.array_equal(listed.local().theta, listed.theta)
    published = posenc.Rope(64, scaling={'rope_theta': 1e6, 'rope_local_base_freq': 500.0})
    np.testing.assert_allclose(published.local().theta, truth.theta(64, 500.0), rtol=1e-14)


def test_query_temperature():
    for beta, context in (('temperature_beta', 'original_context'),
                          ('llama_4_scaling_beta', 'original_max_position_embeddings')):
        rope = posenc.Rope(8, scaling={'type': 'yarn', 'factor': 16, beta: 0.1, context: 16384})
        assert rope.query_temperature(16383) == 1.0
        assert rope.query_temperature(3 * 16384) == pytest.approx(1 + 0.1 * np.log(4), rel=1e-15)
    assert posenc.Rope(8).query_temperature(10 ** 6) == 1.0
    assert np.isnan(posenc.Rope(8, scaling={'temperature_beta': 0.1}).query_temperature(0))
    with pytest.raises(TypeError):
        rope.query_temperature(2 ** 31)


def test_xpos():
    x = truth.normal(3, 1, 8)
    q = posenc.Rope(8, xpos_role='query')(x, 5)
    zeta = (2 * np.arange(4) / 8 + 0.4) / 1.4
    grown = zeta ** ((np.arange(5, 8) / 512.0)[:, None])
    np.testing.assert_allclose(q, truth.rotate(x, np.arange(5, 8)) * np.tile(grown, 2)[:, None], rtol=0, atol=1e-6)


def test_from_config(tmp_path):
    config = {'model_type': 'llama', 'hidden_size': 4096, 'num_attention_heads': 32, 'rope_theta': 5e5,
              'max_position_embeddings': 131072,
              'rope_scaling': {'rope_type': 'llama3', 'type': 'default', 'factor': 8.0, 'low_freq_factor': 1.0,
                               'high_freq_factor': 4.0, 'original_max_position_embeddings': 8192}}
    (tmp_path / 'config.json').write_text(json.dumps(config))
    rope = posenc.Rope.from_config(config)
    same = posenc.Rope(128, base=5e5, scaling={'type': 'llama3', 'factor': 8, 'original_context': 8192})
    assert np.array_equal(rope.theta, same.theta)
    assert np.array_equal(posenc.Rope.from_config(tmp_path).theta, rope.theta)
    assert np.array_equal(posenc.Rope.from_config(tmp_path / 'config.json').theta, rope.theta)
    assert np.array_equal(posenc.Rope.from_config({'text_config': config}).theta, rope.theta)
    assert posenc.Rope.from_config(config, head_dim=64).head_dim == 64
    small = {'model_type': 'llama', 'num_attention_heads': 2, 'head_dim': 64}
    assert np.array_equal(posenc.Rope.from_config({**small, 'rope_theta': 1e6}, base=1e4).theta, posenc.Rope(64).theta)
    wide = {**small, 'rope_parameters': {'rope_theta': 1e6, 'partial_rotary_factor': 0.5}}
    assert len(posenc.Rope.from_config(wide, rot_fraction=0.25).theta) == 8
    for option in {'rot_fraction': 0.25}, {'n_rot': 16}:
        assert len(posenc.Rope.from_config({**wide, 'rotary_dim': 32}, **option).theta) == 8
    partial = posenc.Rope.from_config({**small, 'partial_rotary_factor': 0.5, 'rope_theta': 1e4})
    assert len(partial.theta) == 16
    axes = posenc.Rope.from_config({**small, 'head_dim': 16,
                                    'rope_scaling': {'type': 'mrope', 'mrope_section': [4, 2, 2]}})
    assert axes.n_axes == 3
    yarn = posenc.Rope.from_config(small, scaling={'rope_type': 'linear', 'factor': 4})
    np.testing.assert_allclose(yarn.theta, posenc.Rope(64).theta / 4, rtol=1e-15)
    with pytest.raises(ValueError, match='num_attention_heads'):
        posenc.Rope.from_config({'model_type': 'llama', 'hidden_size': 8})
    with pytest.raises(ValueError, match='"rope_parameters" is no object'):
        posenc.Rope.from_config({**small, 'rope_parameters': 4})


def read_q8(blocks):
    blocks = blocks.reshape(*blocks.shape[:-1], -1, 34)
    scale = blocks[..., :2].copy().view(np.float16).astype(np.float64)
    return (scale * blocks[..., 2:].view(np.int8)).reshape(*blocks.shape[:-2], -1)


def test_quantised_output():
    x = truth.normal(3, 2, 64)
    blocks = posenc.Rope(64)(x, 0, dtype='q8_0')
    expected = truth.rotate(x, np.arange(3))
    assert blocks.dtype == np.uint8 and blocks.shape == (3, 2, 68)
    scale = np.abs(expected).reshape(3, 2, 2, 32).max(-1).repeat(32, -1) / 127
    bound = scale * (0.5001 + 127 * 2.0 ** -11)  # the scale is rounded too
    assert np.all(np.abs(read_q8(blocks) - expected) <= bound + 1e-6)
    sizes = {'q4_0': 18, 'q5_0': 22, 'q4_1': 20, 'q5_1': 24, 'iq4_nl': 18}
    for name, size in sizes.items():
        blocks = posenc.Rope(64)(x, 0, dtype=name)
        assert blocks.shape == (3, 2, 2 * size)
        most = np.abs(expected).reshape(3, 2, 2, 32).max(-1).repeat(32, -1).reshape(3, 2, 64)
        assert np.all(np.abs(posenc.dequantise(blocks, name) - expected) <= 0.22 * most)


def test_quantised_input():
    """A context shift of a quantised cache: in place what the numbers give, and to any type."""
    rope, x = posenc.Rope(64), truth.normal(3, 2, 64)
    for name in 'q8_0', 'q4_0', 'q5_0', 'q4_1', 'q5_1', 'iq4_nl':
        blocks = rope(x, 7, dtype=name)
        numbers = posenc.dequantise(blocks, name)
        if name == 'q8_0':
            assert np.array_equal(numbers, read_q8(blocks).astype(np.float32))
        by = np.full(3, -5)
        want = rope(numbers, by, direction='shift', dtype=name)
        assert np.array_equal(rope(blocks, by, x_type=name, direction='shift'), want)
        assert np.array_equal(rope(blocks, by, x_type=name, dtype='float32'), rope(numbers, by))
        assert rope(blocks, by, x_type=name, direction='shift', inplace=True) is blocks
        assert np.array_equal(blocks, want)
        halves = posenc.dequantise(blocks, name, dtype='float16')
        assert halves.dtype == np.float16 and np.array_equal(halves, posenc.dequantise(blocks, name).astype(np.float16))
    with pytest.raises(ValueError, match='x_type: .*q6_k'):
        rope(blocks, 0, x_type='q6_k')
    with pytest.raises(ValueError, match='blocks: .*uint8'):
        posenc.dequantise(x, 'q8_0')


E4M3 = np.array([(-1) ** (code >> 7) * (np.nan if code & 127 == 127 else code % 8 * 2.0 ** -9 if code & 120 == 0
                                        else (8 + code % 8) * 2.0 ** ((code >> 3 & 15) - 10)) for code in range(256)])


def test_8_bit_floats():
    """A cache of any head_dim: the nearest codes, all codes read, shifted, and larger numbers saturated."""
    rope, x = posenc.Rope(6), truth.normal(5, 3, 6)
    codes = rope(x, 2, dtype='f8_e4m3')
    assert codes.dtype == np.uint8 and codes.shape == x.shape
    numbers = posenc.dequantise(codes, 'f8_e4m3')
    assert np.array_equal(numbers, E4M3[codes].astype(np.float32))
    exact = rope(x, 2).astype(np.float64)
    nearest = np.abs(exact[..., None] - E4M3[:127] * np.sign(exact)[..., None]).min(-1)
    assert np.array_equal(np.abs(numbers - exact), nearest)
    every = np.arange(256, dtype=np.uint8).reshape(2, 1, 128)
    np.testing.assert_array_equal(posenc.dequantise(every, 'f8_e4m3').ravel(), E4M3.astype(np.float32))
    assert np.array_equal(rope(codes, np.full(5, 3), x_type='f8_e4m3', direction='shift'),
                          rope(numbers, np.full(5, 3), direction='shift', dtype='f8_e4m3'))
    large = np.array([[[460.0, -1e9, np.inf, np.nan]]], np.float32)
    assert posenc.Rope(4, rot_fraction=0.0)(large, 0, dtype='f8_e4m3').tolist() == [[[0x7e, 0xfe, 0x7e, 0x7f]]]
    with pytest.raises(ValueError, match='blocks: .*uint8'):
        posenc.dequantise(x, 'f8_e4m3')


def test_table_of_each_channel():
    x, angle = truth.normal(3, 2, 16), truth.normal(3, 16, seed=1).astype(np.float32)
    cos, sin = np.cos(angle), np.sin(angle)
    first, second = np.split(x, 2, axis=-1)
    want = x * cos[:, None] + np.concatenate([-second, first], axis=-1) * sin[:, None]
    np.testing.assert_allclose(posenc.Rope(16).apply_table(x, cos, sin), want, rtol=0, atol=1e-6)
    with pytest.raises(ValueError):
        posenc.Rope(16).apply_table(x, cos, sin, direction='inverse')


def test_apply_tensors_normalises_scales_and_scatters():
    q, k, weight = truth.normal(3, 4, 64), truth.normal(3, 2, 64, seed=1), truth.normal(64, seed=2)
    cache = np.full((8, 2, 64), 9.0, np.float16)
    rows = [5, 0, 7]
    rope = posenc.Rope(64)
    out = rope.apply_tensors([{'x': q.copy(), 'scale': 0.125, 'weight': weight, 'eps': 1e-6},
                              {'x': k, 'y': cache, 'rows': rows},
                              {'x': q.copy(), 'rotates': False, 'norm': True, 'eps': 1e-6}], 10)
    norm = q / np.sqrt((q.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(out[0], 0.125 * truth.rotate(norm * weight, np.arange(10, 13)), rtol=0, atol=1e-6)
    np.testing.assert_allclose(out[2], norm, rtol=0, atol=1e-6)
    assert out[1] is cache
    np.testing.assert_allclose(cache[rows], truth.rotate(k, np.arange(10, 13)), rtol=0, atol=4e-3)
    assert np.all(cache[[1, 2, 3, 4, 6]] == 9.0)


def test_apply_tensors_at_any_positions():
    x, planes = truth.normal(3, 2, 16), np.array([[0, 1, 2], [5, 6, 7]])
    rope = posenc.Rope(16, axes='axial', sections=(4, 4))
    for positions in 4, planes, planes.astype('i4'), planes.T.copy().T, planes[::-1], planes * 0.5, planes.astype('f4'):
        y, = rope.apply_tensors([{'x': x.copy()}], positions, threads=2)
        assert np.array_equal(y, rope(x, positions))
    unrotated, = posenc.Rope(16, rot_fraction=0.0).apply_tensors([{'x': x.copy()}], [0.5, 1.5, 2.5])
    assert np.array_equal(unrotated, x)


def test_hadamard():
    x = truth.normal(2, 3, 8)
    h = np.ones((1, 1))
    for _ in range(3):
        h = np.block([[h, h], [h, -h]])
    np.testing.assert_allclose(posenc.hadamard(x, 8), x @ h / np.sqrt(8), rtol=0, atol=1e-6)
    np.testing.assert_allclose(posenc.hadamard(posenc.hadamard(x, 8), 8), x, rtol=0, atol=1e-6)


def test_numbers():
    assert posenc.query_temperature(8191, 0.1, 8192.0) == pytest.approx(np.log(2) * 0.1 + 1)
    scaling = {'type': 'yarn', 'factor': 40, 'mscale_all_dim': 1.0, 'original_context': 4096}
    assert posenc.softmax_multiplier(scaling) == pytest.approx((1 + 0.1 * np.log(40)) ** 2)
