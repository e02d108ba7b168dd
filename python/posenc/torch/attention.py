"""Attention with the shapes of torch.nn.functional.scaled_dot_product_attention."""
import math as _math

import torch

import posenc

from . import ops


# Most products of a call that one thread finishes sooner: beginning a second thread with its scratch takes 0.3 ms. One query
# of 32 heads over 512 keys took one thread 0.3 ms, and two 0.45 ms.
_FEW_PRODUCTS = 1 << 22


def _threads(q, k):
    threads = torch.get_num_threads()
    return 1 if threads > 1 and q.numel() * k.shape[2] < _FEW_PRODUCTS else threads


def attend(q, k, v, given):
    """posenc.attention of tensors (n_batch, n_heads, n_tokens, dim), seen by autograd and torch.compile: (n_batch,
    n_tokens, n_heads, v_dim). window is given as (before, after), and scale."""
    if ops.needs_operator(q, k, v, given.get('bias'), given.get('sinks')):
        ops.require_operators('attention with a gradient, or in torch.compile,')
        terms, plain = ops.operands(given)
        return torch.ops.posenc.attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), *terms, *plain,
                                          given['scale'], given.get('lists'), given.get('math', 'f32'),
                                          *ops.block_operands(given.get('block_mask')))
    if v.shape[-1] == q.shape[-1]:
        out = torch.empty_like(q)  # in memory mostly as tokens of heads, as q is
    else:
        out = q.new_empty(q.shape[0], q.shape[2], q.shape[1], v.shape[-1]).transpose(1, 2)
    posenc.attention(q, k, v, out=out, heads_first=True, threads=_threads(q, k), **given)
    return out.transpose(1, 2).contiguous()


def _window_of(window, is_causal):
    if window is None:
        return -1, 0 if is_causal else -1
    if isinstance(window, int):
        if not is_causal:
            raise ValueError('window: an int is for is_causal=True; (before, after) says both sides')
        return window - 1, 0
    before, after = window
    return before, 0 if is_causal else after


def _as_heads(x):
    """(..., n_heads, n_tokens, dim) as (n_batch, n_heads, n_tokens, dim)."""
    if x.dim() == 4:
        return x
    return x.reshape(-1, *x.shape[-3:]) if x.dim() > 4 else x.reshape(*[1] * (4 - x.dim()), *x.shape)


def _set_mask(given, mask, shape):
    """shape: what the scores have, in front as many axes as there are."""
    if mask.dtype == torch.bool:
        name, mask = 'keep', mask if ops.HAS_OPERATORS else mask.view(torch.uint8)  # old ones export no bool
    elif mask.is_floating_point():
        name, mask = 'bias', mask if mask.dtype != torch.float64 else mask.float()
    else:
        raise TypeError(f'attn_mask: bool or floating point is expected, not {mask.dtype}')
    if len(shape) > 4:
        mask = mask.reshape(*[1] * (3 - mask.dim()), *mask.shape)
        mask = mask.expand(*shape[:-3], *mask.shape[-3:])
    given[name] = _as_heads(ops.side_by_side(mask))


_MOST_PAIRS = 1 << 20  # (query, key) pairs of a call of mask_mod


def block_mask_bytes(block_mask, n_q, n_k):
    """mask_mod of FlexAttention's BlockMask as bool (n_batch, n_heads, n_q, n_k): in partial blocks, False elsewhere.

    scaled_dot_product_attention makes it in every call; a model makes it once and gives it as attn_mask.
    """
    counts, numbers = block_mask.kv_num_blocks, block_mask.kv_indices
    q_block, k_block = block_mask.BLOCK_SIZE
    n_batch, n_heads, rows, columns = numbers.shape
    keep = torch.zeros(n_batch, n_heads, rows, q_block, columns, k_block, dtype=torch.bool)
    *place, entry = torch.nonzero(torch.arange(columns) < counts[..., None], as_tuple=True)
    place.append(numbers[(*place, entry)].long())
    queries, keys = torch.arange(q_block)[:, None], torch.arange(k_block)
    for part in torch.arange(len(entry)).split(max(1, _MOST_PAIRS // (q_block * k_block))):
        b, h, row, column = (x[part, None, None] for x in place)
        at = b, h, (row * q_block + queries).clamp(max=n_q - 1), (column * k_block + keys).clamp(max=n_k - 1)
        at = torch.broadcast_tensors(*at)
        seen = torch.vmap(block_mask.mask_mod)(*(x.flatten() for x in at))
        b, h, row, column = (x[part] for x in place)
        keep[b, h, row, :, column] = seen.view(at[0].shape)
    return keep.view(n_batch, n_heads, rows * q_block, columns * k_block)[:, :, :n_q, :n_k]


def _set_blocks(given, block_mask, n_q, n_k):
    given['block_mask'] = block_mask
    if 'keep' in given or not block_mask.kv_num_blocks.any():
        return
    if getattr(block_mask, 'mask_mod', None) is None:
        raise ValueError('block_mask: partial blocks need a mask_mod, or a bool attn_mask')
    given['keep'] = block_mask_bytes(block_mask, n_q, n_k)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False, *, window=None, query_start=0, sinks=None, cap=0.0,
                                 alibi_slopes=None, bias=None, cu_seqlens=None, lists=None, block_mask=None,
                                 math='f32'):
    """torch.nn.functional.scaled_dot_product_attention by posenc, and what it lacks by keyword.

    query: (..., n_heads, n_q, head_dim); key, value: (..., n_heads, n_k, dim), with enable_gqa fewer heads; float32,
    float16 or bfloat16 on the CPU. attn_mask: bool, True where a key is seen, or numbers that are added; it is broadcast
    to (..., n_heads, n_q, n_k). is_causal aligns the first query with the first key, as PyTorch does; query_start=None
    aligns the last ones, which is what a cache needs.

    window: keys before each query, its own among them, with is_causal; or (before, after). sinks, cap, alibi_slopes,
    bias (beside a bool attn_mask), cu_seqlens, lists, math: as for posenc.attention. dropout_p has to be 0.

    block_mask: FlexAttention's BlockMask. Its partial blocks see what a bool attn_mask says, or else its mask_mod, which
    is evaluated in each call (block_mask_bytes).

    Gradients of query, key, value, bias and sinks are computed from the probabilities, made again by the backward call:
    that takes memory for n_q times n_k scores. alibi_slopes and lists have none.
    """
    if dropout_p:
        raise ValueError(f'dropout_p: {dropout_p} is not possible, posenc has no dropout')
    if attn_mask is not None and is_causal:
        raise ValueError('is_causal: not together with attn_mask, as in PyTorch')
    if query.dim() < 2 or query.dim() != key.dim() or query.dim() != value.dim():
        raise ValueError(f'key, value: as many axes as the query are expected, {query.dim()}, not {key.dim()} and '
                         f'{value.dim()}')
    shape = *query.shape[:-1], key.shape[-2]
    q, k, v = _as_heads(query), _as_heads(key), _as_heads(value)
    if q.shape[1] != k.shape[1] and not enable_gqa:
        raise ValueError(f'key: {q.shape[1]} heads are expected, as query has, not {k.shape[1]}; enable_gqa=True shares')
    given = {'window': _window_of(window, is_causal), 'query_start': query_start, 'cap': cap, 'math': math,
             'scale': 1 / _math.sqrt(query.shape[-1]) if scale is None else scale}
    if attn_mask is not None:
        _set_mask(given, attn_mask, shape)
    if bias is not None and 'bias' in given:
        raise ValueError('bias: not together with an attn_mask of numbers')
    for name, value_ in ('bias', bias), ('sinks', sinks), ('alibi_slopes', alibi_slopes), ('cu_seqlens', cu_seqlens), (
            'lists', lists):
        if value_ is not None:
            given[name] = value_
    if block_mask is not None:
        _set_blocks(given, block_mask, query.shape[-2], key.shape[-2])
    out = attend(*(ops.side_by_side(x) for x in (q, k, v)), given).transpose(1, 2)
    return out if query.dim() == 4 else out.reshape(*query.shape[:-1], value.shape[-1])
