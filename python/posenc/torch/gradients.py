"""posenc for PyTorch with gradients: RoPE, softmax with biases, learned tables and relative terms.

Tensors are float32 on the CPU (RoPE: also float16 and bfloat16). Arguments are those of the functions of posenc.
Each operation is a torch.autograd.Function over the library's own backward call; a second derivative is not defined.
"""
import dataclasses

import numpy as np
import torch
from torch.autograd.function import once_differentiable

import posenc


def _dense(gradient):
    """A gradient whose last axis lies side by side, which that of a sum does not."""
    return gradient if gradient.stride(-1) == 1 or gradient.shape[-1] == 1 else gradient.contiguous()


def _detached(tensor):
    return None if tensor is None else tensor.detach()


def _save(ctx, tensors, given):
    """Keeps tensors, and arguments by name, for backward(), before which they may not change: autograd refuses a tensor
    that was written to; lists and NumPy arrays are copied."""
    of_torch = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
    ctx.save_for_backward(*tensors, *of_torch.values())
    ctx.n_tensors, ctx.names = len(tensors), list(of_torch)
    ctx.given = {name: value.copy() if isinstance(value, (list, np.ndarray)) else value
                 for name, value in given.items() if name not in of_torch}


def _saved(ctx):
    tensors, of_torch = ctx.saved_tensors[:ctx.n_tensors], ctx.saved_tensors[ctx.n_tensors:]
    return tensors, {**ctx.given, **dict(zip(ctx.names, of_torch))}


# ---- RoPE ----

class _Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rope, positions, threads):
        _save(ctx, (), {'positions': positions})
        ctx.arguments = rope, threads
        return rope(x.detach(), positions, threads=threads)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        (_, given), (rope, threads) = _saved(ctx), ctx.arguments
        return rope(_dense(dy), **given, direction='backward', threads=threads), None, None, None


def rope(x, rope, positions, *, threads=1):
    """rope(x, positions) of a posenc.Rope, with the gradient of x."""
    return _Rope.apply(x, rope, positions, threads)


# ---- Learned tables ----

class _Learned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, ids, lookup, threads):
        _save(ctx, (), {'ids': ids})
        ctx.arguments = table.shape[0], lookup, threads
        rows = posenc.learned(table.detach(), **lookup)(ids, threads=threads)
        return torch.as_tensor(rows)  # of NumPy if ids are

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        (_, given), (n_rows, lookup, threads) = _saved(ctx), ctx.arguments
        dtable = posenc.learned_backward(dy=_dense(dy), n_rows=n_rows, threads=threads, **given, **lookup)
        return dtable, None, None, None


def learned(table, ids, *, offset=0, scale=1.0, out_of_range='error', threads=1):
    """Rows ids + offset of a table (n_rows, dim), with the gradient of the table."""
    lookup = {'offset': offset, 'scale': scale, 'out_of_range': out_of_range}
    return _Learned.apply(table, ids, lookup, threads)


# ---- Relative biases ----

@dataclasses.dataclass
class RelBias:
    """A relative bias whose numbers have a gradient: data (n_heads, n_offsets) for a range of offsets, key - query."""
    data: torch.Tensor
    offsets: range
    clamped: bool = False

    def detached(self):
        data = self.data.detach().contiguous()  # of expanded heads too: the gradient has a row for each
        return posenc.RelBias(data, self.offsets.start, clamped=self.clamped)


def _gradient_bias(gradient, offsets):
    return posenc.RelBias(gradient.contiguous(), offsets.start)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, index, scale):
        ctx.arguments = index, scale
        return torch.from_numpy(posenc.RelBias.gather(index, table.detach(), scale=scale).data)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        index, scale = ctx.arguments
        bias = _gradient_bias(gradient, index.offsets)
        return torch.from_numpy(posenc.bias_table_backward(index, bias, scale=scale)), None, None


def gather(index, table, *, scale=1.0, clamped=False):
    """The relative bias scale * table[index] of a posenc.RelIndex and a table (n_rows, n_heads)."""
    return RelBias(_Gather.apply(table, index, scale), index.offsets, clamped)


def t5(table, *, max_distance=128, bidirectional, scale=1.0):
    """T5's relative bias from its table (num_buckets, n_heads), for any length."""
    index = posenc.RelIndex.t5(num_buckets=table.shape[0], max_distance=max_distance, bidirectional=bidirectional)
    return gather(index, table, scale=scale, clamped=True)


class _Alibi(torch.autograd.Function):
    @staticmethod
    def forward(ctx, slopes, offsets):
        ctx.offsets = offsets
        return torch.from_numpy(posenc.RelBias.alibi(slopes.detach(), offsets).data)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return torch.from_numpy(posenc.alibi_backward(_gradient_bias(gradient, ctx.offsets))), None


def alibi(slopes, offsets):
    """ALiBi with slopes (n_heads,) that are trained."""
    return RelBias(_Alibi.apply(slopes, offsets), offsets)


class _Kerple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p, a, offsets, options):
        ctx.save_for_backward(p, a)
        ctx.arguments = offsets, options
        return torch.from_numpy(posenc.RelBias.kerple(p.detach(), a.detach(), offsets, **options).data)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        p, a = (_detached(tensor) for tensor in ctx.saved_tensors)
        offsets, options = ctx.arguments
        dp, da = posenc.kerple_backward(_gradient_bias(gradient, offsets), p, a, **options)
        return torch.from_numpy(dp), torch.from_numpy(da), None, None


def kerple(p, a, offsets, *, kind, min=0.01):
    """KERPLE with p and a (n_heads,); a parameter below min gets its gradient all the same."""
    return RelBias(_Kerple.apply(p, a, offsets, {'kind': kind, 'min': min}), offsets)


# ---- Softmax ----

def _of_shape(gradient, shape):
    """The sum over what was shared."""
    gradient = gradient.sum(tuple(range(gradient.dim() - len(shape)))) if gradient.dim() > len(shape) else gradient
    shared = [axis for axis, n in enumerate(shape) if n == 1 and gradient.shape[axis] != 1]
    return gradient.sum(shared, keepdim=True) if shared else gradient


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias, relative, sinks, query_products, key_products, terms, threads, options):
        rel_bias, query_index, key_index = terms
        given = dict(options, sinks=_detached(sinks))
        biases = [_detached(bias)] if bias is not None else []
        if relative is not None:
            biases.append(rel_bias.detached())
        given['bias'] = tuple(biases) or None
        if query_index is not None:
            given['by_query'] = query_products.detach(), query_index
        if key_index is not None:
            given['by_key'] = key_products.detach(), key_index
        p = posenc.softmax(x.detach(), threads=threads, **given)
        scores = None
        if options.get('cap'):  # s_j: relative terms added, neither scaled nor capped
            plain = {name: given[name] for name in ('by_query', 'by_key', *_PLACE) if name in given}
            has_terms = query_index is not None or key_index is not None
            scores = posenc.logits(x.detach(), threads=threads, **plain) if has_terms else x.detach()
        _save(ctx, (p, scores, bias, sinks), options)
        ctx.arguments = (rel_bias, query_index, key_index), threads
        return p

    @staticmethod
    @once_differentiable
    def backward(ctx, dp):
        tensors, options = _saved(ctx)
        p, scores, bias, sinks = (_detached(tensor) for tensor in tensors)
        (rel_bias, query_index, key_index), threads = ctx.arguments
        found = posenc.softmax_backward(p, _dense(dp), scores, with_bias=True, threads=threads,
                                        sinks=sinks, **options)
        where = {name: options[name] for name in _PLACE if name in options}
        drelative = dquery = dkey = dsinks = None
        if rel_bias is not None:
            drelative = torch.from_numpy(posenc.rel_bias_backward(found['db'], rel_bias.detached(), **options).data)
        if query_index is not None:
            dquery = posenc.relative_sums_by_query(query_index, found['dx'], threads=threads, **where)
        if key_index is not None:
            dkey = posenc.relative_sums_by_key(key_index, found['dx'], threads=threads, **where)
        if sinks is not None:
            dsinks = torch.from_numpy(found['dsinks'])
        dbias = None if bias is None else _of_shape(found['db'], bias.shape)
        return found['dx'], dbias, drelative, dsinks, dquery, dkey, None, None, None


_PLACE = 'causal', 'window', 'chunk', 'n_first', 'query_start'
_REFUSED = {'tensor_slopes': 'multiply the bias', 'masked': 'there is none', 'alibi_slopes': 'posenc.torch.alibi()'}


def softmax(x, *, bias=None, rel_bias=None, sinks=None, by_query=None, by_key=None, threads=1, **options):
    """posenc.softmax with gradients of x, bias, rel_bias, sinks and of the products of by_query and by_key.

    x: (n_batch, n_heads, n_q, n_k); rel_bias: a RelBias of this module. Positions of by_query and by_key are rows and
    columns, with query_start. Slopes of ALiBi are a rel_bias.
    """
    for name, instead in _REFUSED.items():
        if options.get(name) is not None:
            raise ValueError(f'{name}: it has no gradient here; instead: {instead}')
    if x.dim() != 4:
        raise ValueError(f'x: 4 axes are expected, not {x.dim()}')
    query_products, query_index = by_query or (None, None)
    key_products, key_index = by_key or (None, None)
    relative = None if rel_bias is None else rel_bias.data
    return _Softmax.apply(x, bias, relative, sinks, query_products, key_products, (rel_bias, query_index, key_index),
                          threads, options)


# ---- Relative terms ----

class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, table, shift, threads):
        ctx.save_for_backward(q, table, shift)
        ctx.threads = threads
        return posenc.RelativeTable(table.detach()).products(q.detach(), shift=_detached(shift), threads=threads)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        q, table, shift = (_detached(tensor) for tensor in ctx.saved_tensors)
        w = _dense(dy)
        dq = posenc.relative_combine(w, table, threads=ctx.threads)
        dtable = posenc.relative_collect(w, q, shift=shift, shared=table.dim() == 2, threads=ctx.threads)
        dshift = None
        if shift is not None:  # the sum over tokens and batch
            one = torch.ones(1).expand(*dq.permute(0, 2, 1, 3).shape[:3], 1)
            dshift = posenc.relative_collect(one, dq, shared=False, threads=ctx.threads)[0]
        return dq, dtable, dshift, None


def relative_products(q, table, *, shift=None, threads=1):
    """(q + shift) . table: (n_batch, n_heads, n_q, n_rows), for by_query or, of keys, by_key of softmax.

    q: (n_batch, n_q, n_heads, head_dim); table: (n_rows, head_dim) or (n_rows, n_heads, head_dim); shift, of
    Transformer-XL: (n_heads, head_dim).
    """
    return _Products.apply(q, table, shift, threads)


class _Values(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p, table, index, threads, mask):
        ctx.save_for_backward(p, table)
        ctx.arguments = index, threads, mask
        n_batch, n_heads, n_q, _ = p.shape
        z = torch.zeros(n_batch, n_q, n_heads, table.shape[-1])
        return posenc.relative_values(p.detach(), index, table.detach(), z, threads=threads, **mask)

    @staticmethod
    @once_differentiable
    def backward(ctx, dz):
        p, table = (_detached(tensor) for tensor in ctx.saved_tensors)
        index, threads, mask = ctx.arguments
        dz = _dense(dz)
        products = posenc.RelativeTable(table).products(dz, threads=threads)
        dp = posenc.logits(torch.zeros_like(p), by_query=(products, index), threads=threads, **mask)
        dp.masked_fill_(dp == -torch.inf, 0.0)  # masked keys
        w = posenc.relative_sums_by_query(index, p, threads=threads, **mask)
        return dp, posenc.relative_collect(w, dz, shared=table.dim() == 2, threads=threads), None, None, None


def relative_values(p, index, table, *, threads=1, **mask):
    """Shaw's relative values, sum of p . table[index]: (n_batch, n_q, n_heads, head_dim); masks as for softmax."""
    return _Values.apply(p, table, index, threads, mask)
