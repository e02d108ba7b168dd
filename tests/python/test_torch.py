"""posenc.torch against PyTorch's own gradients of plain formulas in double. float32 is what the library computes in, so
gradients agree within 1e-5 of numbers of size 1; test_gradcheck.py has finite differences."""
import numpy as np
import pytest

torch = pytest.importorskip('torch')

import posenc  # noqa: E402
import posenc.torch as pt  # noqa: E402

torch.manual_seed(0)
BOUND = {'rtol': 1e-5, 'atol': 1e-5}


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def compare(ours, formula, leaves, **bound):
    """Value and gradients of ours, of float32 leaves, and of the formula, of the same in double."""
    doubles = [x.detach().double().requires_grad_() for x in leaves]
    y, expected = ours(*leaves), formula(*doubles)
    weight = torch.randn(expected.shape, dtype=torch.float64)
    torch.testing.assert_close(y.double(), expected, **{**BOUND, **bound})
    gradients = torch.autograd.grad((y * weight.float()).sum(), leaves)
    truth = torch.autograd.grad((expected * weight).sum(), doubles)
    for gradient, of_formula in zip(gradients, truth):
        torch.testing.assert_close(gradient.double(), of_formula, **{**BOUND, **bound})


def angles(n_tokens, start, n_rot, base=10000.0):
    theta = base ** (-2.0 * torch.arange(n_rot // 2, dtype=torch.float64) / n_rot)
    return torch.outer(torch.arange(start, start + n_tokens, dtype=torch.float64), theta)[:, None]


@pytest.mark.parametrize('factor', [1.0, 4.0])
def test_rope(factor):
    scaling = {'type': 'yarn', 'factor': factor, 'original_context': 4096} if factor > 1 else None
    rope = posenc.Rope(16, scaling=scaling)
    theta = torch.from_numpy(rope.theta)

    def formula(x):
        a = torch.outer(torch.arange(7, 12, dtype=torch.float64), theta)[:, None]
        c, s = rope.magnitude * a.cos(), rope.magnitude * a.sin()
        return torch.cat([x[..., :8] * c - x[..., 8:] * s, x[..., 8:] * c + x[..., :8] * s], -1)

    compare(lambda x: pt.rope(x, rope, torch.arange(7, 12)), formula, [leaf(2, 5, 3, 16)])
    x = leaf(5, 3, 16)
    pt.rope(x, rope, 0).sum().backward()  # whose gradient is one number, expanded
    assert x.grad.shape == x.shape


def test_rope_of_bfloat16_without_copies():
    rope, x = posenc.Rope(16), torch.randn(5, 3, 16).to(torch.bfloat16)
    y = rope(x, torch.arange(5))
    assert y.dtype == torch.bfloat16 and isinstance(y, torch.Tensor)
    exact = torch.from_numpy(rope(x.float().numpy(), 0))
    torch.testing.assert_close(y.float(), exact, rtol=2 ** -8, atol=1e-6)
    at = x.data_ptr()
    assert rope(x, torch.arange(5), inplace=True) is x and x.data_ptr() == at and torch.equal(x, y)
    storage = torch.randn(2, 3, 5, 16)
    expected = rope(storage.transpose(1, 2).contiguous(), 0)
    view = storage.transpose(1, 2)
    rope(view, 0, inplace=True)
    assert torch.equal(storage.transpose(1, 2), expected)


def test_gradients_are_not_dropped_in_silence():
    with pytest.raises(ValueError, match='x: it requires a gradient'):
        posenc.Rope(16)(leaf(5, 3, 16), 0)


def test_negated_tensors():
    z = torch.randn(32, 2, dtype=torch.complex64)
    table = z.conj().imag  # in memory it is z.imag still
    assert table.is_neg()
    for negated in table, table.as_subclass(type('Table', (torch.Tensor,), {})):
        with pytest.raises(ValueError, match=r'table: .*resolve_neg\(\)'):
            posenc.RelBias.t5(negated, bidirectional=False)
    plain = posenc.RelBias.t5((-z.imag).contiguous(), bidirectional=False)
    assert np.array_equal(posenc.RelBias.t5(table.resolve_neg(), bidirectional=False).data, plain.data)


def test_positions_of_several_axes_may_be_shared():
    positions = torch.arange(5).expand(2, 5)
    e = posenc.grid(16, 'w_first')
    assert torch.equal(e(positions), e(positions.contiguous()))


@pytest.mark.parametrize('given', [np.arange(3), [0, 1, 2]])
def test_positions_may_change_before_backward(given):
    rope, x, table = posenc.Rope(16), leaf(3, 2, 16), leaf(9, 4)
    weight, rows = torch.randn(3, 2, 16), torch.randn(3, 4)
    given = given.copy()
    y, e = pt.rope(x, rope, given), pt.learned(table, given)
    given[1] = 7
    gradient, = torch.autograd.grad((y * weight).sum(), x)
    assert torch.equal(gradient, rope(weight, [0, 1, 2], direction='backward'))
    gradient, = torch.autograd.grad((e * rows).sum(), table)
    assert torch.equal(gradient, posenc.learned_backward([0, 1, 2], rows, n_rows=9))


def softmax_at(x, row, positions):
    bias = pt.RelBias(row, range(-9, 10))
    return pt.softmax(x, rel_bias=bias, causal=False, query_positions=positions, key_positions=[0, 1, 2])


def test_positions_of_softmax_may_change_before_backward():
    x, row, weight, positions = leaf(1, 2, 3, 3), leaf(2, 19), torch.randn(1, 2, 3, 3), np.arange(3)
    expected, = torch.autograd.grad((softmax_at(x, row, [0, 1, 2]) * weight).sum(), row)
    y = softmax_at(x, row, positions)
    positions[1] = 7
    gradient, = torch.autograd.grad((y * weight).sum(), row)
    assert torch.equal(gradient, expected)


def test_tensors_of_positions_may_not_change_before_backward():
    for made in (lambda at: pt.rope(leaf(3, 2, 16), posenc.Rope(16), at), lambda at: pt.learned(leaf(9, 4), at),
                 lambda at: softmax_at(leaf(1, 2, 3, 3), leaf(2, 19), at)):
        positions = torch.arange(3)
        y = made(positions)
        positions += 1
        with pytest.raises(RuntimeError, match='modified by an inplace operation'):
            y.sum().backward()


def test_learned():
    ids = torch.tensor([[3, 0, 3], [1, 2, 2]])
    compare(lambda table: pt.learned(table, ids, offset=2, scale=0.5), lambda table: 0.5 * table[ids + 2], [leaf(9, 8)])


def offset_matrix(n_q, n_k):
    return torch.arange(n_k)[None] - (n_k - n_q + torch.arange(n_q))[:, None]


def seen(n_q, n_k):
    return offset_matrix(n_q, n_k) <= 0


def plain_softmax(logits, mask, sinks=None):
    logits = logits.masked_fill(~mask, -torch.inf)
    if sinks is not None:
        sink = sinks[None, :, None, None].expand(*logits.shape[:3], 1)
        return torch.cat([logits, sink], -1).softmax(-1)[..., :-1]
    return logits.softmax(-1)


@pytest.mark.parametrize('cap', [0.0, 3.0])
def test_softmax(cap):
    offsets = range(-8, 1)
    gather = (offset_matrix(5, 9) + 8).clamp(max=8)

    def ours(x, bias, data, sinks):
        relative = pt.RelBias(data, offsets)
        return pt.softmax(x, bias=bias, rel_bias=relative, sinks=sinks, causal=True, scale=0.7, cap=cap)

    def formula(x, bias, data, sinks):
        s = 0.7 * x
        s = cap * torch.tanh(s / cap) if cap else s
        return plain_softmax(s + bias + data[:, gather], seen(5, 9), sinks)

    compare(ours, formula, [leaf(2, 3, 5, 9), leaf(1, 3, 1, 9), leaf(3, 9), leaf(3)])


def test_softmax_with_a_bias_that_heads_share():
    gather = (offset_matrix(5, 9) + 8).clamp(max=8)
    compare(lambda x, row: pt.softmax(x, rel_bias=pt.RelBias(row.expand(3, 9), range(-8, 1)), causal=True),
            lambda x, row: plain_softmax(x + row[:, gather], seen(5, 9)), [leaf(2, 3, 5, 9), leaf(1, 9)])


def test_relative_biases():
    offset = offset_matrix(6, 6)
    x = leaf(1, 2, 6, 6)

    def t5_formula(x, table):
        index = posenc.RelIndex.t5(range(-5, 6), bidirectional=True)  # buckets are checked in test_bias.py
        return plain_softmax(x + table[torch.from_numpy(index.data).long()[offset + 5]].permute(2, 0, 1), offset < 99)

    compare(lambda x, table: pt.softmax(x, rel_bias=pt.t5(table, bidirectional=True), causal=False), t5_formula,
            [x, leaf(32, 2)])
    compare(lambda x, slopes: pt.softmax(x, rel_bias=pt.alibi(slopes, range(-5, 1)), causal=True),
            lambda x, slopes: plain_softmax(x - slopes[:, None, None] * offset.abs(), seen(6, 6)), [x, leaf(2)])
    p, a = (torch.tensor([0.5, 1.2]) * f for f in (1.0, 0.7))

    def kerple_formula(x, p, a):
        return plain_softmax(x - p[:, None, None] * torch.log1p(a[:, None, None] * offset.abs()), seen(6, 6))

    compare(lambda x, p, a: pt.softmax(x, rel_bias=pt.kerple(p, a, range(-5, 1), kind='log'), causal=True),
            kerple_formula, [x, p.requires_grad_(), a.requires_grad_()])


@pytest.mark.parametrize('shared, cap', [(True, 0.0), (False, 0.0), (True, 4.0)])
def test_shaw_and_transformer_xl(shared, cap):
    """Keys with a shift, keys by key, and values."""
    index = posenc.RelIndex.shaw(2, posenc.offsets(6, 6, causal=True))
    rows = offset_matrix(6, 6).clamp(-2, 2) + 2
    table_shape = (5, 8) if shared else (5, 3, 8)

    def ours(x, q, k, table, shift, values):
        by_query = pt.relative_products(q, table, shift=shift), index
        by_key = pt.relative_products(k, table), index
        p = pt.softmax(x, by_query=by_query, by_key=by_key, causal=True, scale=0.5, cap=cap)
        return pt.relative_values(p, index, values, causal=True)

    def formula(x, q, k, table, shift, values):
        tables = [t[:, None].expand(5, 3, 8) if shared else t for t in (table, values)]
        by_query = torch.einsum('bihc,ijhc->bhij', q + shift, tables[0][rows])
        by_key = torch.einsum('bjhc,ijhc->bhij', k, tables[0][rows])
        s = 0.5 * (x + by_query + by_key)
        s = cap * torch.tanh(s / cap) if cap else s
        return torch.einsum('bhij,ijhc->bihc', plain_softmax(s, seen(6, 6)), tables[1][rows])

    leaves = [leaf(2, 3, 6, 6), leaf(2, 6, 3, 8), leaf(2, 6, 3, 8), leaf(*table_shape), leaf(3, 8), leaf(*table_shape)]
    compare(ours, formula, leaves, atol=4e-5)


def test_masked_keys_of_relative_values_have_gradient_0():
    index = posenc.RelIndex.shaw(2, posenc.offsets(4, 4, causal=True))
    p = torch.tril(torch.ones(1, 1, 4, 4)).requires_grad_()
    table = torch.randn(5, 8)
    pt.relative_values(p, index, table, causal=True).sum().backward()
    rows = offset_matrix(4, 4).clamp(-2, 2) + 2
    torch.testing.assert_close(p.grad[0, 0], table.sum(-1)[rows].tril(), **BOUND)


def test_against_torch_attention():
    q, k, v = (torch.randn(1, 40, 4, 32) for _ in range(3))
    out = posenc.attention(q, k, v, causal=True, threads=2)
    logits = torch.einsum('bihc,bjhc->bhij', q.double(), k.double()) * 32 ** -0.5
    expected = torch.einsum('bhij,bjhc->bihc', plain_softmax(logits, seen(40, 40)), v.double())
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=1e-5)


def test_refused():
    x = leaf(1, 2, 4, 4)
    for given in {'alibi_slopes': np.ones(2)}, {'tensor_slopes': np.ones(2)}, {'masked': 'untouched'}:
        with pytest.raises(ValueError, match=next(iter(given))):
            pt.softmax(x, causal=True, **given)
    with pytest.raises(ValueError, match='x: 4 axes'):
        pt.softmax(leaf(4, 4), causal=True)
