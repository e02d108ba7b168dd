"""The calls of posenc as operators of PyTorch, `torch.ops.posenc.*`: with shapes for torch.compile and torch.export,
gradients for autograd, and vmap. They take and return tensors whose axes are those of posenc: (n_batch, n_tokens,
n_heads, head_dim).

The functions and modules of posenc.torch call them where a trace, a gradient or a transform needs an operator, and the
library itself otherwise, which takes a third of the time.
"""
import json
from functools import lru_cache
from types import SimpleNamespace
from typing import Optional, Sequence, Tuple

import torch
from torch import Tensor

import posenc

from .._objects import call_of

HAS_OPERATORS = hasattr(torch.library, 'custom_op')  # PyTorch 2.4

_TERMS = 'bias', 'keep', 'sinks', 'alibi_slopes', 'k_begin', 'k_end', 'cu_seqlens'
_PLAIN = {'window': (-1, -1), 'chunk': 0, 'query_start': None, 'cap': 0.0}


def needs_operator(*tensors):
    """True where a call has to be seen by torch.compile, autograd or a transform."""
    if torch.is_grad_enabled():
        for tensor in tensors:
            if tensor is not None and tensor.requires_grad:
                return True
    if type(tensors[0]) not in _PLAIN_TYPES:
        return True
    return is_compiling() or _transforms_active()


_PLAIN_TYPES = Tensor, torch.nn.Parameter
is_compiling = getattr(getattr(torch, 'compiler', None), 'is_compiling', lambda: False)
_transforms_active = getattr(torch._C, '_are_functorch_transforms_active', lambda: False)


def require_operators(what):
    if not HAS_OPERATORS:
        raise RuntimeError(f'{what} needs PyTorch 2.4 or later (torch.library.custom_op); this is {torch.__version__}')


def side_by_side(x):
    """x itself, or a copy if the elements of its last axis do not lie side by side."""
    # Keys and values of a cache are contiguous, which takes a third of the time to ask for.
    return x if x.is_contiguous() or x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()


def rope_text(rope):
    """The parameters of a posenc.Rope as text, which an exported program keeps."""
    name, positional, given = call_of(rope)
    if name == 'Rope.local':
        return json.dumps({'local': rope_text(positional[0])})
    return json.dumps([positional, given], default=lambda array: array.tolist())


@lru_cache(maxsize=64)
def _rope_of(text):
    call = json.loads(text)
    if isinstance(call, dict):
        return _rope_of(call['local']).local()
    return posenc.Rope(*call[0], **call[1])


@lru_cache(maxsize=64)
def _freq_of(theta):
    return posenc.Freq.of(theta)


@lru_cache(maxsize=64)
def table_rope(head_dim, n_rot, layout):
    """A rotation whose angles come with each call."""
    return posenc.Rope(head_dim, n_rot=n_rot, layout=layout)


@lru_cache(maxsize=64)
def _encoding_of(dim, layout, schedule, base):
    return posenc.sinusoidal(dim, layout, schedule=schedule, base=base)


def sinusoidal(positions, dim, layout, schedule, base):
    """Rows of the sinusoidal encoding: float32 (*positions.shape, dim)."""
    flat = positions.reshape(1, -1).to(torch.int32)
    rows = _encoding_of(dim, layout, schedule, base)(flat, threads=torch.get_num_threads())
    return torch.as_tensor(rows).view(*positions.shape, dim)


def cos_sin(positions, theta):
    """Cosines and sines of positions (any shape) times each theta: float32 (..., len(theta)) each."""
    c, s = _freq_of(tuple(theta))(positions.reshape(-1).to(torch.int32).numpy())
    shape = (*positions.shape, len(theta))
    return torch.from_numpy(c).view(shape), torch.from_numpy(s).view(shape)


def apply_table(x, cos, sin, layout, direction):
    """x (n_batch, n_tokens, n_heads, head_dim) rotated by rows (1 or n_batch, n_tokens, n) of float32."""
    x = side_by_side(x)
    rope = table_rope(x.shape[-1], min(cos.shape[-1], x.shape[-1]), layout)
    y = torch.empty(x.shape, dtype=x.dtype)
    for rows in range(cos.shape[0]):
        here = slice(rows, rows + 1) if cos.shape[0] > 1 else slice(None)
        rope.apply_table(x[here], cos[rows], sin[rows], out=y[here], direction=direction,
                         threads=torch.get_num_threads())
    return y


def _score_options(terms, window, chunk, query_start, scale, cap):
    given = {name: value.detach() for name, value in zip(_TERMS, terms) if value is not None}
    if 'keep' in given:
        given['keep'] = side_by_side(given['keep'])
    if 'bias' in given:
        given['bias'] = side_by_side(given['bias'])
    return dict(given, window=tuple(window), chunk=chunk, query_start=query_start, scale=scale, cap=cap)


def operands(given):
    """Arguments that posenc.softmax and posenc.attention take by name, in the order of the operators."""
    plain = [given.get(name, otherwise) for name, otherwise in _PLAIN.items()]
    return [given.get(name) for name in _TERMS], plain


_BLOCK_LISTS = 'kv_num_blocks', 'kv_indices', 'full_kv_num_blocks', 'full_kv_indices'


def block_operands(block_mask):
    """FlexAttention's BlockMask, or None, as the last arguments of the operator of attention."""
    if block_mask is None:
        return [None] * 5
    return [*(getattr(block_mask, name) for name in _BLOCK_LISTS), list(block_mask.BLOCK_SIZE)]


def _block_option(lists, block_size):
    """The argument block_mask of posenc.attention and posenc.softmax."""
    if block_size is None:
        return {}
    return {'block_mask': SimpleNamespace(**dict(zip(_BLOCK_LISTS, lists)), BLOCK_SIZE=tuple(block_size))}


def _sum_to(gradient, shape):
    extra = gradient.dim() - len(shape)
    gradient = gradient.sum(tuple(range(extra))) if extra else gradient
    shared = [axis for axis, n in enumerate(shape) if n == 1 and gradient.shape[axis] != 1]
    return gradient.sum(shared, keepdim=True) if shared else gradient


def _score_gradients(found, bias, sinks):
    """Gradients of bias and sinks; empty tensors where there are none."""
    dbias = torch.empty(0) if bias is None else _sum_to(found['db'], bias.shape).to(bias.dtype).contiguous()
    dsinks = torch.empty(0) if sinks is None else torch.as_tensor(found['dsinks']).to(sinks.dtype)
    return dbias, dsinks


def _define():
    """Defines the operators, once, where PyTorch has torch.library.custom_op."""
    def operator(name):
        return torch.library.custom_op(f'posenc::{name}', mutates_args=(), device_types='cpu')

    def like_terms(x, *terms):
        return [x.new_empty(0, dtype=torch.float32) if term is None else term.new_empty(term.shape) for term in terms]

    # ---- Rotation ----

    @operator('rope')
    def rope(x: Tensor, positions: Tensor, rope: str, direction: str) -> Tensor:
        return _rope_of(rope)(side_by_side(x.detach()), positions, direction=direction,
                              threads=torch.get_num_threads())

    @rope.register_fake
    def _(x, positions, rope, direction):
        return x.new_empty(x.shape)

    def rope_context(ctx, inputs, output):
        _, positions, ctx.rope, ctx.direction = inputs
        ctx.save_for_backward(positions)

    def rope_backward(ctx, dy):
        if ctx.direction != 'forward':
            raise NotImplementedError(f"direction: '{ctx.direction}' has no gradient")
        return torch.ops.posenc.rope(dy, ctx.saved_tensors[0], ctx.rope, 'backward'), None, None, None

    rope.register_autograd(rope_backward, setup_context=rope_context)

    @operator('rope_table')
    def rope_table(x: Tensor, cos: Tensor, sin: Tensor, layout: str, direction: str) -> Tensor:
        return apply_table(x.detach(), cos.detach(), sin.detach(), layout, direction)

    @rope_table.register_fake
    def _(x, cos, sin, layout, direction):
        return x.new_empty(x.shape)

    def table_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[1:3])
        ctx.layout = inputs[3]

    def table_backward(ctx, dy):
        cos, sin = ctx.saved_tensors
        return torch.ops.posenc.rope_table(dy, cos, sin, ctx.layout, 'backward'), None, None, None, None

    rope_table.register_autograd(table_backward, setup_context=table_context)

    @operator('cos_sin')
    def cos_sin_(positions: Tensor, theta: Sequence[float]) -> Tuple[Tensor, Tensor]:
        return cos_sin(positions, theta)

    @cos_sin_.register_fake
    def _(positions, theta):
        shape = (*positions.shape, len(theta))
        return (positions.new_empty(shape, dtype=torch.float32), positions.new_empty(shape, dtype=torch.float32))

    # ---- Rows of encodings ----

    @operator('sinusoidal')
    def sinusoidal_(positions: Tensor, dim: int, layout: str, schedule: str, base: float) -> Tensor:
        return sinusoidal(positions, dim, layout, schedule, base)

    @sinusoidal_.register_fake
    def _(positions, dim, layout, schedule, base):
        return positions.new_empty((*positions.shape, dim), dtype=torch.float32)

    @operator('learned')
    def learned(table: Tensor, ids: Tensor, offset: int, scale: float, out_of_range: str) -> Tensor:
        e = posenc.learned(side_by_side(table.detach()), offset=offset, scale=scale, out_of_range=out_of_range)
        flat = ids.reshape(1, -1).to(torch.int32)
        return torch.as_tensor(e(flat, threads=torch.get_num_threads())).view(*ids.shape, table.shape[-1])

    @learned.register_fake
    def _(table, ids, offset, scale, out_of_range):
        return table.new_empty((*ids.shape, table.shape[-1]), dtype=torch.float32)

    @operator('learned_backward')
    def learned_backward(dy: Tensor, ids: Tensor, n_rows: int, offset: int, scale: float,
                         out_of_range: str) -> Tensor:
        flat = dy.detach().reshape(1, -1, dy.shape[-1]).contiguous()
        return torch.as_tensor(posenc.learned_backward(
            ids.reshape(1, -1).to(torch.int32), flat, n_rows=n_rows, offset=offset, scale=scale,
            out_of_range=out_of_range, threads=torch.get_num_threads()))

    @learned_backward.register_fake
    def _(dy, ids, n_rows, offset, scale, out_of_range):
        return dy.new_empty((n_rows, dy.shape[-1]), dtype=torch.float32)

    def learned_context(ctx, inputs, output):
        table, ids, *ctx.lookup = inputs
        ctx.save_for_backward(ids)
        ctx.n_rows = table.shape[0]

    def learned_gradient(ctx, dy):
        return torch.ops.posenc.learned_backward(dy, ctx.saved_tensors[0], ctx.n_rows, *ctx.lookup), *[None] * 4

    learned.register_autograd(learned_gradient, setup_context=learned_context)

    # ---- Softmax ----

    @operator('softmax')
    def softmax(x: Tensor, bias: Optional[Tensor], keep: Optional[Tensor], sinks: Optional[Tensor],
                alibi_slopes: Optional[Tensor], k_begin: Optional[Tensor], k_end: Optional[Tensor],
                cu_seqlens: Optional[Tensor], window: Sequence[int], chunk: int, query_start: Optional[int],
                cap: float, scale: float) -> Tensor:
        given = _score_options((bias, keep, sinks, alibi_slopes, k_begin, k_end, cu_seqlens), window, chunk,
                               query_start, scale, cap)
        return posenc.softmax(side_by_side(x.detach()), threads=torch.get_num_threads(), **given)

    @softmax.register_fake
    def _(x, *rest):
        return x.new_empty(x.shape)

    @operator('softmax_backward')
    def softmax_backward(p: Tensor, dp: Tensor, x: Tensor, bias: Optional[Tensor], keep: Optional[Tensor],
                         sinks: Optional[Tensor], alibi_slopes: Optional[Tensor], k_begin: Optional[Tensor],
                         k_end: Optional[Tensor], cu_seqlens: Optional[Tensor], window: Sequence[int], chunk: int,
                         query_start: Optional[int], cap: float, scale: float) -> Tuple[Tensor, Tensor, Tensor]:
        given = _score_options((None, keep, sinks, None, k_begin, k_end, cu_seqlens), window, chunk, query_start,
                               scale, cap)
        found = posenc.softmax_backward(p.detach(), side_by_side(dp.detach()), side_by_side(x.detach()) if cap else None,
                                        with_bias=bias is not None, threads=torch.get_num_threads(), **given)
        return found['dx'], *_score_gradients(found, bias, sinks)

    @softmax_backward.register_fake
    def _(p, dp, x, bias, keep, sinks, *rest):
        return (p.new_empty(p.shape), *like_terms(p, bias, sinks))

    def softmax_context(ctx, inputs, output):
        ctx.save_for_backward(output, *inputs[:8])
        ctx.plain = inputs[8:]

    def softmax_gradient(ctx, dp):
        p, x, *terms = ctx.saved_tensors
        if ctx.needs_input_grad[4]:
            raise NotImplementedError('alibi_slopes: no gradient; use posenc.torch.alibi')
        dx, dbias, dsinks = torch.ops.posenc.softmax_backward(p, dp, x, *terms, *ctx.plain)
        return (dx, None if terms[0] is None else dbias, None, None if terms[2] is None else dsinks, *[None] * 9)

    softmax.register_autograd(softmax_gradient, setup_context=softmax_context)

    # ---- Attention ----

    @operator('attention')
    def attention(q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], keep: Optional[Tensor],
                  sinks: Optional[Tensor], alibi_slopes: Optional[Tensor], k_begin: Optional[Tensor],
                  k_end: Optional[Tensor], cu_seqlens: Optional[Tensor], window: Sequence[int], chunk: int,
                  query_start: Optional[int], cap: float, scale: float, lists: Optional[Tensor], math: str,
                  kv_num_blocks: Optional[Tensor] = None, kv_indices: Optional[Tensor] = None,
                  full_kv_num_blocks: Optional[Tensor] = None, full_kv_indices: Optional[Tensor] = None,
                  block_size: Optional[Sequence[int]] = None) -> Tensor:
        given = _score_options((bias, keep, sinks, alibi_slopes, k_begin, k_end, cu_seqlens), window, chunk,
                               query_start, scale, cap)
        given |= _block_option((kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices), block_size)
        return posenc.attention(*(side_by_side(x.detach()) for x in (q, k, v)), lists=lists, math=math,
                                threads=torch.get_num_threads(), **given)

    @attention.register_fake
    def _(q, k, v, *rest):
        return q.new_empty((*q.shape[:-1], v.shape[-1]))

    @operator('attention_backward')
    def attention_backward(dout: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor],
                           keep: Optional[Tensor], sinks: Optional[Tensor], alibi_slopes: Optional[Tensor],
                           k_begin: Optional[Tensor], k_end: Optional[Tensor], cu_seqlens: Optional[Tensor],
                           kv_num_blocks: Optional[Tensor], kv_indices: Optional[Tensor],
                           full_kv_num_blocks: Optional[Tensor], full_kv_indices: Optional[Tensor],
                           block_size: Optional[Sequence[int]], window: Sequence[int], chunk: int,
                           query_start: Optional[int], cap: float, scale: float) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        n_batch, n_q, n_heads, dim = q.shape
        n_k, n_kv = k.shape[1], k.shape[2]

        def by_head(x, groups):  # float32 (n_batch, n_kv, heads of a group, n, dim)
            x = x.detach().float().transpose(1, 2)
            return x.reshape(n_batch, n_kv, groups, *x.shape[2:])

        rows, columns, values = by_head(q, n_heads // n_kv), by_head(k, 1), by_head(v, 1)
        dvalues = by_head(dout, n_heads // n_kv)
        whole = n_batch, n_heads, n_q, n_k
        x = (rows @ columns.mT).reshape(whole)
        terms = bias, keep, sinks, alibi_slopes, k_begin, k_end, cu_seqlens
        given = _score_options(terms, window, chunk, query_start, scale, cap)
        given |= _block_option((kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices), block_size)
        p = posenc.softmax(x, threads=torch.get_num_threads(), **given)
        dp = (dvalues @ values.mT).reshape(whole)
        given.pop('bias', None), given.pop('alibi_slopes', None)
        found = posenc.softmax_backward(p, dp, x if cap else None, with_bias=bias is not None,
                                        threads=torch.get_num_threads(), **given)
        grouped = n_batch, n_kv, n_heads // n_kv, n_q, n_k
        dx, p = found['dx'].reshape(grouped), p.reshape(grouped)

        def as_input(x, like):
            return x.transpose(1, 2).to(like.dtype).contiguous()

        return (as_input((dx @ columns).reshape(n_batch, n_heads, n_q, dim), q),
                as_input((dx.mT @ rows).sum(2), k), as_input((p.mT @ dvalues).sum(2), v),
                *_score_gradients(found, bias, sinks))

    @attention_backward.register_fake
    def _(dout, q, k, v, bias, keep, sinks, *rest):
        return (*(x.new_empty(x.shape) for x in (q, k, v)), *like_terms(q, bias, sinks))

    def attention_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:10], *inputs[17:21])
        ctx.plain, ctx.lists, ctx.block_size = inputs[10:15], inputs[15], inputs[21]

    def attention_gradient(ctx, dout):
        if ctx.lists is not None:
            raise NotImplementedError('lists: attention over lists of keys has no gradient')
        if ctx.needs_input_grad[6]:
            raise NotImplementedError('alibi_slopes: no gradient; use posenc.torch.alibi')
        tensors = ctx.saved_tensors
        dq, dk, dv, dbias, dsinks = torch.ops.posenc.attention_backward(dout, *tensors, ctx.block_size, *ctx.plain)
        return (dq, dk, dv, None if tensors[3] is None else dbias, None, None if tensors[5] is None else dsinks,
                *[None] * 16)

    attention.register_autograd(attention_gradient, setup_context=attention_context)

    # ---- vmap: a call for each element ----

    def by_element(op):
        def vmapped(info, in_dims, *args):
            calls = []
            for i in range(info.batch_size):
                parts = [arg.select(dim, i) if isinstance(dim, int) else arg for arg, dim in zip(args, in_dims)]
                calls.append(op(*parts))
            if isinstance(calls[0], Tensor):
                return torch.stack(calls), 0
            return tuple(torch.stack(parts) for parts in zip(*calls)), tuple([0] * len(calls[0]))
        return vmapped

    for op in (rope, rope_table, cos_sin_, sinusoidal_, learned, learned_backward, softmax, softmax_backward, attention,
               attention_backward):
        op.register_vmap(by_element(op))


if HAS_OPERATORS:
    _define()
