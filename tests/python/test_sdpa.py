"""posenc.torch.scaled_dot_product_attention against PyTorch's formula in double, and modules against plain formulas."""
import math

import numpy as np
import pytest

torch = pytest.importorskip('torch')

import posenc  # noqa: E402
import posenc.torch as pt  # noqa: E402

torch.manual_seed(0)


def exact(q, k, v, mask=None, is_causal=False, scale=None):
    """Code of torch's documentation, in double; query heads share keys."""
    q, k, v = q.double(), k.double(), v.double()
    if q.dim() >= 3 and q.shape[-3] != k.shape[-3]:
        k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.double()
    return torch.softmax(scores, -1).nan_to_num(0.0) @ v


SHAPES = {'2 axes': ((5, 8), (7, 8), (7, 6)), '3 axes': ((4, 5, 8), (4, 7, 8), (4, 7, 6)),
          '4 axes': ((2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)), '5 axes': ((3, 2, 4, 5, 8), (3, 2, 4, 7, 8), (3, 2, 4, 7, 6))}


@pytest.mark.parametrize('name', SHAPES)
def test_shapes_and_masks(name):
    q, k, v = (torch.randn(shape) for shape in SHAPES[name])
    n_q, n_k = q.shape[-2], k.shape[-2]
    keep = torch.rand(*q.shape[:-2], n_q, n_k) < 0.7
    for mask in None, keep, keep[..., :1, :], torch.randn(n_q, n_k), torch.randn(*q.shape[:-2], n_q, n_k):
        out = pt.scaled_dot_product_attention(q, k, v, mask)
        torch.testing.assert_close(out.double(), exact(q, k, v, mask), rtol=0, atol=2e-6)
    for scale in None, 0.3:
        out = pt.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
        torch.testing.assert_close(out.double(), exact(q, k, v, is_causal=True, scale=scale), rtol=0, atol=2e-6)


def test_shared_heads():
    q, k, v = torch.randn(2, 8, 5, 16), torch.randn(2, 2, 7, 16), torch.randn(2, 2, 7, 16)
    out = pt.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(out.double(), exact(q, k, v), rtol=0, atol=2e-6)
    with pytest.raises(ValueError, match='key: 8 heads are expected.*not 2; enable_gqa=True'):
        pt.scaled_dot_product_attention(q, k, v)


def test_what_pytorch_has_no_argument_for():
    q, k, v = torch.randn(2, 4, 5, 16), torch.randn(2, 4, 7, 16), torch.randn(2, 4, 7, 16)
    at, to = torch.arange(5)[:, None] + 2, torch.arange(7)
    band = (to <= at) & (to > at - 3)
    out = pt.scaled_dot_product_attention(q, k, v, is_causal=True, window=3, query_start=None)
    torch.testing.assert_close(out.double(), exact(q, k, v, band), rtol=0, atol=2e-6)
    sides = (to - at <= 1) & (to - at >= -2)
    out = pt.scaled_dot_product_attention(q, k, v, window=(2, 1), query_start=None)
    torch.testing.assert_close(out.double(), exact(q, k, v, sides), rtol=0, atol=2e-6)
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])
    bias = -slopes[:, None, None] * (to - at).abs()
    keep = torch.rand(2, 1, 5, 7) < 0.8
    out = pt.scaled_dot_product_attention(q, k, v, keep, alibi_slopes=slopes, query_start=None)
    torch.testing.assert_close(out.double(), exact(q, k, v, bias.expand(2, 4, 5, 7).masked_fill(~keep, -math.inf)), rtol=0,
                               atol=2e-6)
    lists = torch.tensor([[0, 1, -1], [2, 0, 1], [3, 4, 5], [6, -1, -1], [1, 2, 3]], dtype=torch.int32)
    listed = torch.zeros(5, 7, dtype=torch.bool)
    for i in range(5):
        listed[i, [key for key in lists[i].tolist() if key >= 0]] = True
    out = pt.scaled_dot_product_attention(q, k, v, lists=lists)
    torch.testing.assert_close(out.double(), exact(q, k, v, listed), rtol=0, atol=2e-6)


def documents_and_window(b, h, q, k):
    """A mask_mod: documents of 70 tokens, and a causal window of 40 more with each head."""
    return (q // 70 == k // 70) & (q >= k) & (q - k < 40 * (h + 1))


class Blocks:
    """FlexAttention's BlockMask of a mask_mod, for PyTorch without it."""

    def __init__(self, mask_mod, n_heads, n, block):
        at, n_blocks = torch.arange(n), -(-n // block)
        keep = mask_mod(0, torch.arange(n_heads)[:, None, None], at[:, None], at)[None]
        padded = torch.nn.functional.pad(keep, (0, n_blocks * block - n) * 2).view(1, n_heads, n_blocks, block, n_blocks, block)
        counts = padded.sum((3, 5))
        full = counts == block * block
        self.kv_num_blocks, self.kv_indices = self._lists((counts > 0) & ~full)
        self.full_kv_num_blocks, self.full_kv_indices = self._lists(full)
        self.mask_mod, self.BLOCK_SIZE, self.seq_lengths = mask_mod, (block, block), (n, n)
        self.keep = keep

    @staticmethod
    def _lists(chosen):
        return chosen.sum(-1, dtype=torch.int32), torch.argsort(chosen.int(), dim=-1, descending=True, stable=True).int()


def block_masks(n_heads, n):
    """A stand-in, and where FlexAttention is there its masks, with and without full blocks."""
    yield Blocks(documents_and_window, n_heads, n, 32)
    try:
        from torch.nn.attention.flex_attention import create_block_mask
    except ImportError:
        return
    yield create_block_mask(documents_and_window, None, n_heads, n, n, device='cpu', BLOCK_SIZE=16)
    yield create_block_mask(documents_and_window, None, n_heads, n, n, device='cpu', separate_full_blocks=False)


def test_block_masks():
    """The same bits as by bytes, which are given, or made by mask_mod."""
    q, k, v = torch.randn(2, 4, 210, 16), torch.randn(2, 2, 210, 16), torch.randn(2, 2, 210, 16)
    keep = Blocks(documents_and_window, 4, 210, 32).keep
    bias = torch.randn(210, 210)
    for mask in block_masks(4, 210):
        def ours(*args, mask=mask, **given):
            return pt.scaled_dot_product_attention(q, k, v, *args, enable_gqa=True, block_mask=mask, **given)
        wanted = pt.scaled_dot_product_attention(q, k, v, keep, enable_gqa=True)
        torch.testing.assert_close(ours(keep), wanted, rtol=0, atol=0)
        if hasattr(torch, 'vmap'):
            torch.testing.assert_close(ours(), wanted, rtol=0, atol=0)
            biased = pt.scaled_dot_product_attention(q, k, v, keep, enable_gqa=True, bias=bias)
            torch.testing.assert_close(ours(bias), biased, rtol=0, atol=0)
        with pytest.raises(ValueError, match='block_mask: made for .*210, 210.* queries and keys'):
            pt.scaled_dot_product_attention(q[:, :, :9], k, v, keep[:, :, :9], enable_gqa=True, block_mask=mask)
        with pytest.raises(posenc.Error, match='lists do not go with bool_mask|lists do not go with block_mask'):
            ours(keep, lists=torch.zeros(210, 1, dtype=torch.int32))
    mask = Blocks(documents_and_window, 4, 210, 32)
    mask.mask_mod = None
    with pytest.raises(ValueError, match='block_mask: partial blocks need a mask_mod, or a bool attn_mask'):
        pt.scaled_dot_product_attention(q, k, v, enable_gqa=True, block_mask=mask)


def test_gradients_of_block_masks():
    if not pt.ops.HAS_OPERATORS:
        return
    q, k, v = (torch.randn(shape).requires_grad_() for shape in ((2, 4, 210, 8), (2, 2, 210, 8), (2, 2, 210, 8)))
    keep, weight = Blocks(documents_and_window, 4, 210, 32).keep, torch.randn(2, 4, 210, 8)

    def loss(attn_mask, block_mask):
        out = pt.scaled_dot_product_attention(q, k, v, attn_mask, enable_gqa=True, block_mask=block_mask)
        return (out * weight).sum()

    wanted = torch.autograd.grad(loss(keep, None), (q, k, v))
    for mask in block_masks(4, 210):
        for attn_mask in keep, None:
            found = torch.autograd.grad(loss(attn_mask, mask), (q, k, v))
            torch.testing.assert_close(found, wanted, rtol=0, atol=0)
        compiled = torch.compile(lambda: loss(keep, mask), fullgraph=True, backend='aot_eager')
        torch.testing.assert_close(torch.autograd.grad(compiled(), (q, k, v)), wanted, rtol=0, atol=0)


def test_refusals():
    q = torch.randn(1, 2, 3, 8)
    for given, message in [({'dropout_p': 0.1}, 'dropout_p'), ({'attn_mask': torch.ones(3, 3), 'is_causal': True}, 'is_causal'),
                           ({'window': 3}, 'window'), ({'attn_mask': torch.ones(3, 3), 'bias': torch.ones(3, 3)}, 'bias')]:
        with pytest.raises(ValueError, match=f'^{message}:'):
            pt.scaled_dot_product_attention(q, q, q, **given)
    with pytest.raises(TypeError, match='attn_mask: bool or floating point'):
        pt.scaled_dot_product_attention(q, q, q, torch.ones(3, 3, dtype=torch.int32))


def test_gradients():
    """Or, before PyTorch 2.4, an error that says what is missing."""
    q, k, v = (torch.randn(shape).requires_grad_() for shape in ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8)))

    def ours():
        return pt.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    if not pt.ops.HAS_OPERATORS:
        with pytest.raises(RuntimeError, match='PyTorch 2.4'):
            ours()
        return
    weight = torch.randn(2, 4, 5, 8)
    found = torch.autograd.grad((ours() * weight).sum(), (q, k, v))
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v)]
    wanted = torch.autograd.grad((exact(*doubles, is_causal=True) * weight).sum(), doubles)
    for a, b in zip(found, wanted):
        torch.testing.assert_close(a.double(), b, rtol=0, atol=1e-5)


@pytest.mark.parametrize('interleaved', [False, True])
def test_rotary_embedding(interleaved):
    rope = posenc.Rope(16, scaling={'type': 'yarn', 'factor': 4.0, 'original_context': 4096})
    at = torch.tensor([[0, 1, 5], [99, 1000003, 2 ** 30]])
    cos, sin = pt.RotaryEmbedding(rope, interleaved=interleaved)(torch.zeros(1), at)
    angles = at[..., None].double() * torch.from_numpy(rope.theta)
    angles = angles.repeat_interleave(2, -1) if interleaved else torch.cat([angles, angles], -1)
    torch.testing.assert_close(cos.double(), angles.cos() * rope.magnitude, rtol=0, atol=2e-7)
    torch.testing.assert_close(sin.double(), angles.sin() * rope.magnitude, rtol=0, atol=2e-7)
    assert pt.RotaryEmbedding(rope)(torch.zeros(1, dtype=torch.bfloat16), at)[0].dtype == torch.bfloat16


@pytest.mark.parametrize('axis', [1, 2])
def test_apply_rotary_pos_emb(axis):
    rope, at = posenc.Rope(16), torch.tensor([[3, 4, 5], [70, 71, 9]])
    cos, sin = pt.RotaryEmbedding(rope)(torch.zeros(1), at)
    q, k = torch.randn(2, 3, 4, 16), torch.randn(2, 3, 2, 16)
    order = (lambda x: x.transpose(1, 2)) if axis == 1 else (lambda x: x)
    for found, x in zip(pt.apply_rotary_pos_emb(order(q), order(k), cos, sin, unsqueeze_dim=axis), (q, k)):
        torch.testing.assert_close(order(found), rope(x, at), rtol=0, atol=1e-6)


def test_modules_of_positions():
    at = torch.tensor([[0, 1, 5], [99, 1000, 7]])
    rows = pt.SinusoidalPositionalEmbedding(8, layout='concat', schedule='half')(at)
    wanted = posenc.sinusoidal(8, 'concat', schedule='half')(at.reshape(-1).numpy()).reshape(2, 3, 8)
    np.testing.assert_array_equal(rows.numpy(), wanted)
    table = pt.LearnedPositionalEmbedding(12, 8, offset=2)
    ids = torch.tensor([[0, 9], [3, 3]])
    torch.testing.assert_close(table(ids), table.weight[ids + 2], rtol=0, atol=0)
    table(ids).sum().backward()
    assert table.weight.grad[5].eq(2).all() and table.weight.grad[0].eq(0).all()
    with pytest.raises(ValueError):
        table(torch.tensor([[10]]))


def test_modules_of_biases():
    alibi = pt.AlibiBias(4)(3, 5)
    wanted = posenc.bias_matrix(3, 5, n_heads=4, causal=False, alibi_slopes=posenc.alibi_slopes(4))
    np.testing.assert_array_equal(alibi.numpy(), np.asarray(wanted).reshape(4, 3, 5))
    t5 = pt.T5RelativeBias(4, bidirectional=True)
    bias = posenc.RelBias.t5(t5.weight.detach(), bidirectional=True)
    wanted = posenc.bias_matrix(3, 300, n_heads=4, causal=False, bias=bias)
    np.testing.assert_array_equal(t5(3, 300).detach().numpy(), np.asarray(wanted).reshape(1, 4, 3, 300))
    t5(3, 5).sum().backward()
    assert t5.weight.grad.sum().item() == pytest.approx(60)
