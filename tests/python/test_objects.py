"""repr, pickle, deepcopy and signatures of everything that the package makes; heads_first; how long the import takes."""
import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import posenc

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


HEADS, TOKENS = numbers(5, 2, 16), np.arange(7)
OFFSETS = posenc.offsets(4, 6, causal=True)
Q = numbers(1, 4, 2, 16)

# Each object, a part of its repr, and what it computes.
OBJECTS = {
    'Rope': (lambda: posenc.Rope(16, base=5e5, scaling={'type': 'yarn', 'factor': 4.0, 'original_context': 4096}),
             "posenc.Rope(16, base=500000.0, scaling={'type': 'yarn'", lambda rope: rope(HEADS, 3)),
    'Rope of theta': (lambda: posenc.Rope(4, theta=np.array([1.0, 0.5])), 'theta=[1.0, 0.5]',
                      lambda rope: rope(HEADS[..., :4], 3)),
    'Rope of a config': (lambda: posenc.Rope.from_config({'head_dim': 16, 'num_attention_heads': 4, 'rope_theta': 1e4}, layout='half'), 'posenc.Rope(16',
                         lambda rope: rope(HEADS, 3)),
    'local Rope': (lambda: posenc.Rope(16, local_base=100.0).local(), 'posenc.Rope.local(posenc.Rope(16',
                   lambda rope: rope(HEADS, 3)),
    'Freq': (lambda: posenc.Freq(1e4, 16), 'posenc.Freq(10000.0, 16)', lambda freq: freq(TOKENS)[1]),
    'Freq.of': (lambda: posenc.Freq.of([1.0, 0.1]), 'posenc.Freq.of([1.0, 0.1])', lambda freq: freq(TOKENS)[1]),
    'sinusoidal': (lambda: posenc.sinusoidal(8, 'interleaved'), "posenc.sinusoidal(8, 'interleaved')",
                   lambda e: e(TOKENS)),
    'learned': (lambda: posenc.learned(numbers(9, 8)), 'posenc.learned(<float32 (9, 8)>)', lambda e: e(TOKENS)),
    'concat': (lambda: posenc.concat([posenc.sinusoidal(8, 'interleaved'), posenc.bits(4)]),
               "posenc.concat([posenc.sinusoidal(8, 'interleaved'), posenc.bits(4)])", lambda e: e(TOKENS)),
    'sum': (lambda: posenc.sum(e for e in (posenc.sinusoidal(8, 'interleaved'), posenc.learned(numbers(9, 8)))),
            'posenc.sum(', lambda e: e(TOKENS)),
    'RelBias': (lambda: posenc.RelBias(numbers(2, 9), -4, clamped=True), 'posenc.RelBias(<float32 (2, 9)>, -4, clamped=True)',
                lambda bias: posenc.bias_matrix(4, 6, n_heads=2, causal=True, bias=bias)),
    'shared RelBias': (lambda: posenc.RelBias(numbers(1, 12), -6, shared=True), 'shared=True',
                       lambda bias: posenc.bias_matrix(4, 6, n_heads=2, causal=True, bias=bias)),
    'masked RelBias': (lambda: posenc.RelBias.alibi([0.5, 0.25], OFFSETS).mask(causal=True, window=2), 'posenc.RelBias(',
                       lambda bias: bias.data),
    'RelIndex': (lambda: posenc.RelIndex.t5(num_buckets=8, max_distance=16, bidirectional=True), 'posenc.RelIndex.t5(',
                 lambda index: index.data),
    'RelativeTable': (lambda: posenc.RelativeTable(numbers(9, 16)), 'posenc.RelativeTable(<float32 (9, 16)>)',
                      lambda table: table.products(Q)),
    'Fire': (lambda: posenc.Fire(numbers(4), numbers(4), numbers(2, 4), numbers(2), max_distance=64), 'max_distance=64',
             lambda fire: fire(4, 6)),
    'Conv': (lambda: posenc.Conv(numbers(4, 3)), 'posenc.Conv(<float32 (4, 3)>)', lambda conv: conv(numbers_of_conv, width=6)),
    'GroupedConv': (lambda: posenc.GroupedConv(numbers(3, 2, 4)), 'posenc.GroupedConv(', lambda conv: conv(numbers_of_conv)),
}
numbers_of_conv = numbers(6, 4)


@pytest.mark.parametrize('name', OBJECTS)
def test_objects(name):
    make, shown, compute = OBJECTS[name]
    made = make()
    assert shown in repr(made)
    wanted = np.asarray(compute(made))
    for other in pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made):
        np.testing.assert_array_equal(np.asarray(compute(other)), wanted)
        assert repr(other).split('(')[0] == repr(made).split('(')[0]


def test_every_class_is_tested():
    classes = {name for name, value in vars(posenc._core).items() if inspect.isclass(value) and value is not posenc.Error}
    assert classes - {type(make()).__name__ for make, _, _ in OBJECTS.values()} == set()


def test_arguments_are_kept_as_they_were():
    """Later writes to the caller's array do not change the copy."""
    theta = np.array([1.0, 0.5])
    rope = posenc.Rope(4, theta=theta)
    theta[:] = 7.0
    np.testing.assert_array_equal(copy.deepcopy(rope).theta, [1.0, 0.5])


def test_signatures():
    assert str(inspect.signature(posenc.attention)).startswith('(q, k, v, *, out=None, return_lse=False, threads=1, causal=None')
    assert 'layout' in inspect.signature(posenc.Rope).parameters
    rope = posenc.Rope(16)
    assert str(inspect.signature(rope)) == ("(x, positions, *, out=None, inplace=False, direction='forward', dtype=None, "
                                            "x_type=None, heads_first=False, threads=1)")
    assert str(inspect.signature(rope.table)) == "(positions, *, direction='forward')"
    assert str(inspect.signature(posenc.RelBias.t5)).startswith('(table, offsets=None, *, max_distance=128')
    assert list(inspect.signature(posenc.sinusoidal).parameters)[:2] == ['dim', 'layout']
    for name in posenc.__all__:
        value = getattr(posenc, name)
        if callable(value) and not inspect.isclass(value):
            assert inspect.signature(value) is not None, name
            assert '->' not in (value.__doc__ or ''), name  # pybind11's own line


def test_rows_at_once():
    rows = posenc.sinusoidal(128, 64)
    np.testing.assert_array_equal(rows, posenc.sinusoidal(64, 'interleaved')(range(128)))
    np.testing.assert_array_equal(posenc.sinusoidal(7, 8, layout='concat', schedule='half'),
                                  posenc.sinusoidal(8, 'concat', schedule='half')(range(7)))


def test_temperatures_of_arrays():
    one = [posenc.query_temperature(p, 0.1, 8192.0) for p in (0, 8191, 8192, 100000)]
    np.testing.assert_array_equal(posenc.query_temperature([[0, 8191], [8192, 100000]], 0.1, 8192.0),
                                  np.float32(one).reshape(2, 2))
    rope = posenc.Rope(16, scaling={'type': 'yarn', 'factor': 4.0, 'original_context': 4096, 'temperature_beta': 0.1})
    positions = np.arange(0, 20000, 4095)
    np.testing.assert_array_equal(rope.query_temperature(positions),
                                  np.float32([rope.query_temperature(int(p)) for p in positions]))


def test_heads_first():
    """The order of torch, in and out, for attention and RoPE."""
    q, k, v = numbers(2, 5, 4, 16), numbers(2, 7, 2, 16), numbers(2, 7, 2, 8)
    wanted, lse = posenc.attention(q, k, v, causal=True, return_lse=True)
    turned = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v)]
    found, its_lse = posenc.attention(*turned, causal=True, heads_first=True, return_lse=True)
    assert found.shape == (2, 4, 5, 8) and its_lse.shape == (2, 4, 5, 1)
    np.testing.assert_array_equal(found, wanted.swapaxes(1, 2))
    np.testing.assert_array_equal(its_lse, lse.swapaxes(1, 2))
    out = np.empty((2, 4, 5, 8), np.float32)
    assert posenc.attention(*turned, causal=True, heads_first=True, out=out) is out
    np.testing.assert_array_equal(out, found)
    rope = posenc.Rope(16)
    np.testing.assert_array_equal(rope(turned[0], 3, heads_first=True), rope(q, 3).swapaxes(1, 2))
    assert rope(turned[0], 3, heads_first=True, inplace=True) is turned[0]
    np.testing.assert_array_equal(turned[0], rope(q, 3).swapaxes(1, 2))


def test_heads_first_is_named_where_positions_are_as_many_as_heads_first_has_tokens():
    x = numbers(2, 4, 5, 16)  # (n_batch, n_heads, n_tokens, head_dim)
    with pytest.raises(ValueError, match=r'positions: .*not \(5,\).*heads_first=True'):
        posenc.Rope(16)(x, np.arange(5))
    posenc.Rope(16)(x, np.arange(5), heads_first=True)


def test_float64_has_a_hint():
    with pytest.raises(ValueError, match=r'q: float32.* is expected, not float64: pass q.astype\(np.float32\)'):
        posenc.attention(np.zeros((1, 1, 1, 8)), numbers(1, 1, 1, 8), numbers(1, 1, 1, 8), causal=True)


def test_import_takes_less_time_than_numpys():
    code = ('import time; t = [time.thread_time()]; import numpy; t.append(time.thread_time()); '
            'import posenc; t.append(time.thread_time()); print((t[2] - t[1]) / (t[1] - t[0]))')
    ratios = [float(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout)
              for _ in range(5)]
    assert min(ratios) < 0.5, ratios


def test_the_reader_of_configs_is_imported_when_it_is_used():
    code = "import sys, posenc; assert 'posenc.model' not in sys.modules; assert posenc.model.read"
    subprocess.run([sys.executable, '-c', code], check=True)
