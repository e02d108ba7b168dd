"""The attention function of attn_implementation="posenc"."""
import inspect
import sys
import warnings

import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from ..torch.attention import attend
from ..torch.ops import side_by_side
from .masks import Mask, as_numbers

# Keyword arguments that reach attention and do not concern it: what the mask already says, and the caller's own.
NOT_FOR_ATTENTION = frozenset((
    'position_ids', 'cache_position', 'past_key_values', 'past_key_value', 'use_cache', 'output_hidden_states',
    'output_router_logits', 'return_dict', 'num_items_in_batch', 'labels', 'max_length_q', 'max_length_k',
    'max_seqlen_q', 'max_seqlen_k', 'seq_idx', 'deterministic', 'layer_idx', 'position_embeddings', 'target_dtype',
    'logits_to_keep', 'return_loss', 'is_first_iteration', 'mm_token_type_ids', 'token_type_ids', 'cu_seq_lens_k',
    'input_ids', 'encoder_hidden_states', 'encoder_attention_mask'))

_TYPES = torch.float32, torch.float16, torch.bfloat16
_warned = set()


def _warn_once(module, why, instead):
    key = type(module).__name__, why
    if key not in _warned:
        _warned.add(key)
        warnings.warn(f'{type(module).__name__}: {why}: attention is computed by {instead}, not by posenc', stacklevel=4)


def _dense(mask):
    return mask.dense() if isinstance(mask, Mask) else mask


def hand_over(why, module, query, key, value, mask, needs_eager, given):
    """Lets the model's own eager function, where sdpa would ignore something, or else sdpa compute it."""
    mask, eager = _dense(mask), None
    if needs_eager:
        eager = getattr(sys.modules.get(type(module).__module__), 'eager_attention_forward', None)
    if eager is None:
        _warn_once(module, why, 'sdpa')
        return sdpa_attention_forward(module, query, key, value, mask, **given)
    _warn_once(module, why, "the model's eager function")
    if mask is None and query.shape[2] > 1 and _is_causal(module, given.get('is_causal')):
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()[None, None]
    if mask is not None and mask.dtype == torch.bool:
        mask = as_numbers(mask, query.dtype)
    return eager(module, query, key, value, mask, **given)


def _eager_names(module):
    """Arguments that the model's eager function names."""
    eager = getattr(sys.modules.get(type(module).__module__), 'eager_attention_forward', None)
    return () if eager is None else inspect.signature(eager).parameters


def _is_causal(module, is_causal):
    return is_causal if is_causal is not None else getattr(module, 'is_causal', True)


def _keep_of_lists(indices, block_size, n_k):
    """Keys that each query has in its list, of blocks if they are such: (n_batch, 1, n_q, n_k)."""
    n_blocks = -(-n_k // block_size)
    at = indices.long().masked_fill(indices < 0, n_blocks)
    keep = torch.zeros((*indices.shape[:-1], n_blocks + 1), dtype=torch.bool).scatter_(-1, at, True)[..., :n_blocks]
    return keep.repeat_interleave(block_size, dim=-1)[..., :n_k].unsqueeze(1)


def _set_mask(given, mask, module, is_causal, sliding_window, n_q, n_k):
    """Adds the mask to the arguments of posenc.attention; False if it is not understood."""
    if mask is None:
        is_causal = n_q > 1 and _is_causal(module, is_causal)
        if sliding_window is not None and n_k > sliding_window and not is_causal:
            return False
        before = sliding_window - 1 if sliding_window is not None and is_causal else -1
        given['window'], given['query_start'] = (before, 0 if is_causal else -1), 0
        return True
    mask = _dense(mask)
    if mask.dim() != 4 or mask.shape[-1] < n_k:
        return False
    if mask.dtype == torch.bool:
        given['keep'] = side_by_side(mask[..., :n_k])
    elif mask.dtype in _TYPES:
        given['bias'] = side_by_side(mask[..., :n_k])
    else:
        return False
    given['window'], given['query_start'] = (-1, -1), 0
    return True


def _add_lists(given, mask, module, block_indices, indices, n_k):
    """Adds lists of keys or of blocks, of an indexer, to a mask as bytes."""
    if block_indices is not None:
        block_size = getattr(getattr(module, 'indexer', None), 'block_size', None)
        if block_size is None:
            return False
        keep = _keep_of_lists(block_indices, block_size, n_k)
    else:
        keep = _keep_of_lists(indices, 1, n_k)
    if 'keep' in given:
        if isinstance(mask, Mask):
            keep = keep & mask.dense()[..., :n_k]
            given.clear()
            given.update(window=(-1, -1), query_start=0)
        else:
            keep = keep & given['keep']
    given['keep'] = keep
    return True


def _add_documents(given, cu_seqlens, query, key):
    """Adds documents packed into one sequence."""
    if query.shape[0] != 1 or query.shape[2] != key.shape[2] or given.get('query_start'):
        return False
    given['cu_seqlens'] = cu_seqlens.to(torch.int32)
    return True


def _add_more(given, mask, module, block_indices, indices, cu_seqlens, position_bias, query, key):
    """Adds what few models pass; None, or why that is not possible."""
    if (block_indices is not None or indices is not None) and not _add_lists(given, mask, module, block_indices, indices,
                                                                             key.shape[2]):
        return 'block_indices without an indexer'
    if cu_seqlens is not None and 'cu_seqlens' not in given and not _add_documents(given, cu_seqlens, query, key):
        return 'cu_seq_lens_q with a cache'
    if position_bias is not None:
        if 'bias' in given:
            return 'position_bias beside a mask of numbers'
        given['bias'] = side_by_side(position_bias)
    return None


def attention(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None, softcap=None,
              s_aux=None, sliding_window=None, position_bias=None, block_indices=None, indices=None,
              cu_seq_lens_q=None, output_attentions=False, *, math='f32', **rest):
    """softmax(scaling query key^T + mask) value, by posenc: (n_batch, n_q, n_heads, head_dim), and None for the weights.

    query, key, value: (n_batch, n_heads, n_tokens, dim), of fewer heads for the latter two. Unknown arguments
    go to the model's eager function or to sdpa, with one warning.
    """
    if dropout:
        raise ValueError(f'dropout: {dropout} was asked for, and posenc has none: set the dropout of attention to 0 in the '
                         'config, or train with attn_implementation="sdpa"')
    given, why = {'math': math, 'scale': query.shape[-1] ** -0.5 if scaling is None else scaling}, None
    unknown = [name for name, x in rest.items()
               if x is not None and x is not False and name not in NOT_FOR_ATTENTION] if rest else ()
    if query.dtype not in _TYPES or not query.is_cpu or query.dim() != 4 or output_attentions or unknown:
        why = ('output_attentions' if output_attentions else f'argument {unknown[0]} is unknown' if unknown else
               f'{query.dtype} on {query.device} with {query.dim()} axes')
    else:
        n_k = key.shape[2]
        if type(attention_mask) is Mask and attention_mask.given is not None and attention_mask.n_k == n_k:
            given.update(attention_mask.given)
        elif not _set_mask(given, attention_mask, module, is_causal, sliding_window, query.shape[2], n_k):
            why = 'the mask is not understood'
        if why is None and (block_indices is not None or indices is not None or cu_seq_lens_q is not None or
                            position_bias is not None):
            why = _add_more(given, attention_mask, module, block_indices, indices, cu_seq_lens_q, position_bias, query,
                            key)
    if why is not None:
        more = {name: x for name, x in (('softcap', softcap), ('s_aux', s_aux), ('position_bias', position_bias),
                                        ('block_indices', block_indices), ('indices', indices),
                                        ('sliding_window', sliding_window), ('is_causal', is_causal),
                                        ('output_attentions', output_attentions)) if x is not None and x is not False}
        names = _eager_names(module)
        needs_eager = softcap is not None or s_aux is not None or output_attentions or any(
            name in names for name in unknown)
        return hand_over(why, module, query, key, value, attention_mask, needs_eager,
                         dict(rest, **more, dropout=dropout, scaling=scaling))
    if softcap is not None:
        given['cap'] = softcap
    if s_aux is not None:
        given['sinks'] = s_aux.reshape(-1).float()
    return attend(side_by_side(query), side_by_side(key), side_by_side(value), given), None
