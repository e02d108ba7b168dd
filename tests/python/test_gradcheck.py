"""torch.autograd.gradcheck of each torch.autograd.Function of posenc.torch.

gradcheck compares gradients with differences of values, (f(x + eps) - f(x - eps)) / (2 eps), in double. The library is
float32: an input is rounded to float32, and so is what comes back. Where f is linear the difference has no error of its
own, and eps is 1/2. Elsewhere its error is eps^2 / 6 of the third derivative, and eps is 2^-7. Inputs are multiples of
2^-6, so that x + eps and x - eps are float32 numbers, and what is left is the rounding of values, a few 2^-24 of their
size, divided by eps. The bounds below are that, for values of the size that the comments state.
"""
import numpy as np
import pytest

torch = pytest.importorskip('torch')

import posenc  # noqa: E402
import posenc.torch as pt  # noqa: E402

ROUNDING = 2.0 ** -24
LINEAR, CURVED = 0.5, 2.0 ** -7


def leaf(*shape, low=-2.0, high=2.0):
    """Multiples of 2^-6 between the two."""
    generator = torch.Generator().manual_seed(sum(shape))
    x = low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)
    return (torch.round(x * 64) / 64).requires_grad_()


def check(function, leaves, *, eps, atol):
    """function of float32 tensors, as one of doubles."""
    def of_doubles(*doubles):
        y = function(*(x.float() for x in doubles))
        return y.double()

    assert torch.autograd.gradcheck(of_doubles, leaves, eps=eps, atol=atol, rtol=0.0)


def check_linear(function, *leaves, size):
    """Checks values up to `size`, each a sum of few terms: 16 roundings, and twice, divided by 2 eps = 1."""
    check(function, leaves, eps=LINEAR, atol=32 * ROUNDING * size)


def check_curved(function, *leaves, size, third):
    """size as above; third: a bound of the third derivative."""
    check(function, leaves, eps=CURVED, atol=CURVED ** 2 / 6 * third + 16 * ROUNDING * size / CURVED)


def of_bias(make):
    """The numbers of the relative bias that make(...) returns, its gradient by its own backward call alone."""
    return lambda *tensors: make(*tensors).data


@pytest.mark.parametrize('layout', ['half', 'interleaved'])
def test_rope(layout):
    rope = posenc.Rope(8, layout=layout, scaling={'type': 'yarn', 'factor': 4.0, 'original_context': 4096})
    check_linear(lambda x: pt.rope(x, rope, [3, 4, 70000]), leaf(2, 3, 2, 8), size=4.0)


def test_learned():
    ids = np.array([[3, 0, 3], [1, 2, 2]])
    check_linear(lambda table: pt.learned(table, ids, offset=2, scale=0.5), leaf(7, 3), size=2.0)


def test_gather():
    index = posenc.RelIndex.t5(range(-5, 6), num_buckets=8, max_distance=16, bidirectional=True)
    check_linear(of_bias(lambda table: pt.gather(index, table, scale=0.25)), leaf(8, 2), size=2.0)


def test_alibi():
    check_linear(of_bias(lambda slopes: pt.alibi(slopes, range(-6, 4))), leaf(3), size=16.0)


@pytest.mark.parametrize('kind', ['log', 'power'])
def test_kerple(kind):
    """p ln(1 + a d) and p d^a, of d up to 4: third derivatives by a are 2 p (d / (1 + a d))^3 and p d^a (ln d)^3."""
    p, a = leaf(2, low=0.5, high=1.0), leaf(2, low=0.5, high=1.0)
    check_curved(of_bias(lambda p, a: pt.kerple(p, a, range(-4, 1), kind=kind)), p, a, size=4.0, third=16.0)


@pytest.mark.parametrize('cap', [0.0, 3.0])
def test_softmax(cap):
    """A weight's third derivative by a logit is at most 1/8; by a soft-capped score or a bias not above 1."""
    by_query = posenc.RelIndex.shaw(1, posenc.offsets(3, 4, causal=True))

    def ours(x, bias, data, sinks, query_products, key_products):
        return pt.softmax(x, bias=bias, rel_bias=pt.RelBias(data, range(-3, 1)), sinks=sinks, causal=True, scale=0.5,
                          cap=cap, by_query=(query_products, by_query), by_key=(key_products, by_query))

    check_curved(ours, leaf(1, 2, 3, 4), leaf(1, 2, 1, 4), leaf(2, 4), leaf(2), leaf(1, 2, 3, 3), leaf(1, 2, 4, 3),
                 size=1.0, third=1.0)


@pytest.mark.parametrize('shape', [(3, 4), (3, 2, 4)])
def test_relative_products(shape):
    """Bilinear: linear in each number alone."""
    check_linear(lambda q, table, shift: pt.relative_products(q, table, shift=shift), leaf(1, 3, 2, 4), leaf(*shape),
                 leaf(2, 4), size=36.0)


@pytest.mark.parametrize('shape', [(3, 4), (3, 2, 4)])
def test_relative_values(shape):
    index = posenc.RelIndex.shaw(1, posenc.offsets(3, 4, causal=True))
    check_linear(lambda p, table: pt.relative_values(p, index, table, causal=True), leaf(1, 2, 3, 4), leaf(*shape),
                 size=20.0)


def test_every_function_is_here():
    functions = {name for name, value in vars(pt.gradients).items()
                 if isinstance(value, type) and issubclass(value, torch.autograd.Function)}
    assert functions == {'_Rope', '_Learned', '_Gather', '_Alibi', '_Kerple', '_Softmax', '_Products', '_Values'}
