"""Masks of Transformers as posenc has them: a window, a chunk and lengths, in place of a byte for each query and key.

Transformers describes a mask by nested functions (transformers.masking_utils), and asks the attention implementation to
build it. `build_mask` recognises those functions and returns a Mask, which is a tensor to whoever treats it as one: only
then are the bytes made.
"""
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from torch.utils._pytree import tree_map
from transformers import masking_utils

from ..torch.ops import is_compiling

NO_LIMIT = -1


@dataclass
class Pattern:
    """Mask by positions: key j is visible to query i if j - i is in -before .. after, and in its chunk."""
    before: int = NO_LIMIT
    after: int = NO_LIMIT
    chunk: int = 0
    chunk_starts: Optional[torch.Tensor] = None  # of each sequence
    documents: list = field(default_factory=list)  # (n_batch, n_tokens) numbers of documents

    def meet(self, other):
        """Both at once, or None if one Pattern cannot say so."""
        def least(a, b):
            return max(a, b) if NO_LIMIT in (a, b) else min(a, b)
        if self.chunk and other.chunk:
            return None
        starts = self.chunk_starts if self.chunk else other.chunk_starts
        return Pattern(least(self.before, other.before), least(self.after, other.after), self.chunk or other.chunk,
                       starts, self.documents + other.documents)


# The functions of transformers.masking_utils that return mask functions, and what their arguments mean.
_MAKERS = {
    'sliding_window_overlay': lambda sliding_window: Pattern(before=sliding_window - 1),
    'sliding_window_bidirectional_overlay': lambda sliding_window: Pattern(sliding_window, sliding_window),
    'chunked_overlay': lambda chunk_size, left_padding: Pattern(chunk=chunk_size, chunk_starts=left_padding),
    'packed_sequence_mask_function': lambda packed_sequence_mask: Pattern(documents=[packed_sequence_mask]),
}
_PLAIN = {'causal_mask_function': Pattern(after=0), 'bidirectional_mask_function': Pattern()}


def recognise(function):
    """The Pattern of a mask function, or None if it is not one of Transformers' own."""
    if getattr(function, '__module__', '') != masking_utils.__name__:
        return None
    name = function.__qualname__.split('.')[0]
    if name in _PLAIN:
        return _PLAIN[name] if function is getattr(masking_utils, name) else None
    closure = dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ())))
    if name == 'and_masks' and set(closure) == {'mask_functions'}:
        pattern = Pattern()
        for each in closure['mask_functions']:
            other = recognise(each)
            pattern = None if other is None else pattern.meet(other)
            if pattern is None:
                return None
        return pattern
    try:
        return _MAKERS[name](**closure)
    except (KeyError, TypeError):
        return None


_aten = torch.ops.aten
_VIEWS = {_aten.slice.Tensor, _aten.expand.default, _aten.view.default, _aten.unsqueeze.default, _aten.squeeze.dim,
          _aten.alias.default, _aten.clone.default, _aten._to_copy.default, _aten.detach.default}
_SUMS = {_aten.add.Tensor, _aten.add_.Tensor}


class Mask(torch.Tensor):
    """A mask (n_batch, 1, n_q, n_k), True where a key is seen. `given` is what posenc.attention is told instead; None
    once somebody has had the bytes, and may have written to them.

    Code of a model that adds it to scores adds 0 where a key is seen, and else the least number, as of an eager mask.
    """

    @staticmethod
    def __new__(cls, shape, given, make):
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool, device='cpu')

    def __init__(self, shape, given, make):
        self.given, self.n_k, self._make, self._dense = given, shape[-1], make, None

    def dense(self):
        """The bytes."""
        if self._dense is None:
            self._dense = self._make().expand(self.shape).clone()  # of a tensor that may be shared, or broadcast
        return self._dense

    def __repr__(self):
        return f'Mask({tuple(self.shape)}, {self.given})'

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def plain(x):
            if not isinstance(x, Mask):
                return x
            x.given = None
            return x.dense()

        args, kwargs = tree_map(plain, args), tree_map(plain, kwargs or {})
        if function in _SUMS and torch.is_tensor(args[1]) and args[1].dtype == torch.bool and args[0].is_floating_point():
            args = args[0], as_numbers(args[1], args[0].dtype), *args[2:]
        elif function is _aten.add.Tensor and args[0].dtype == torch.bool and torch.is_tensor(args[1]) and (
                args[1].is_floating_point()):
            args = as_numbers(args[0], args[1].dtype), *args[1:]
        result = function(*args, **kwargs)
        if function in _VIEWS and result.dtype == torch.bool:
            return _mask_of_bytes(result)
        return result


def as_numbers(mask, dtype):
    """0 where a key is seen, else the least number: as a mask for eager attention."""
    return torch.zeros(mask.shape, dtype=dtype).masked_fill_(~mask, torch.finfo(dtype).min)


def _mask_of_bytes(seen):
    mask = Mask(seen.shape, None, None)
    mask._dense = seen
    return mask


def _lengths(real):
    """(k_begin, k_end) of rows of bool whose True lie side by side, or None if those of a row do not."""
    n = real.shape[-1]
    counts = real.sum(-1)
    first = real.int().argmax(-1)
    last = n - real.flip(-1).int().argmax(-1)
    last = torch.where(counts > 0, last, first)
    if not bool((last - first == counts).all()):
        return None
    return first.to(torch.int32), last.to(torch.int32)


def _documents(numbers, kv_length):
    """cu_seqlens of one sequence of documents, or None."""
    if numbers.shape[0] != 1 or numbers.shape[1] != kv_length:
        return None
    _, counts = numbers[0].unique_consecutive(return_counts=True)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(torch.int32)


def _given_of(pattern, real, q_length, kv_length, q_offset, kv_offset):
    """Keyword arguments of posenc.attention, or None if it cannot be said without bytes."""
    given = {'window': (pattern.before, pattern.after), 'query_start': q_offset - kv_offset}
    if pattern.chunk:
        if kv_offset or bool((pattern.chunk_starts != 0).any()):
            return None
        given['chunk'] = pattern.chunk
    if pattern.documents:
        cu_seqlens = _documents(pattern.documents[0], kv_length)
        if len(pattern.documents) > 1 or cu_seqlens is None or q_offset or kv_offset or q_length != kv_length:
            return None
        given['cu_seqlens'] = cu_seqlens
    if real is not None and not bool(real.all()):
        lengths = _lengths(real)
        if lengths is None:
            given['keep'] = real[:, None, None, :].contiguous()
        else:
            given['k_begin'], given['k_end'] = lengths
    return given


def build_mask(batch_size, q_length=None, kv_length=None, q_offset=0, kv_offset=0,
               mask_function=masking_utils.causal_mask_function, attention_mask=None,
               allow_is_bidirectional_skip=False, **rest: Any):
    """The mask function of attn_implementation="posenc": a Mask, of bytes where it has no shorter form; plain bytes for
    a trace; None if every key is seen."""
    cache_position = rest.pop('cache_position', None)  # Transformers 4
    if cache_position is not None:
        rest['cache_position'], q_length, q_offset = cache_position, cache_position.shape[0], cache_position[0]
    elif q_length is not None:
        rest['q_length'], rest['q_offset'] = q_length, q_offset

    def make():
        if callable(rest.get('device')):
            rest.pop('device')
        return masking_utils.sdpa_mask(batch_size=batch_size, kv_length=kv_length, kv_offset=kv_offset,
                                       mask_function=mask_function, attention_mask=attention_mask,
                                       **{**rest, 'allow_is_causal_skip': False})

    device = torch.device(rest.get('device', 'cpu'))
    if is_compiling() or torch.jit.is_tracing() or device.type != 'cpu' or _is_fake(attention_mask):
        return make()
    pattern = recognise(mask_function)
    if pattern is None:
        return _mask_of_bytes(make())
    q_offset = int(q_offset)
    real = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    if isinstance(real, tuple):  # Transformers 4
        real = real[0]
    if real is not None:
        real = real[:, kv_offset:kv_offset + kv_length].bool()
    given = _given_of(pattern, real, q_length, kv_length, q_offset, kv_offset)
    if given is None:
        return _mask_of_bytes(make())
    if allow_is_bidirectional_skip and given == {'window': (NO_LIMIT, NO_LIMIT), 'query_start': q_offset - kv_offset}:
        return None
    return Mask((batch_size, 1, q_length, kv_length), given, make)


def _is_fake(tensor):
    return tensor is not None and type(tensor) is not torch.Tensor


def check_recognition():
    """Builds small masks both ways, and raises RuntimeError if they differ: a Transformers whose functions have changed
    their meaning, under the same names."""
    left = torch.zeros(1, dtype=torch.int64)
    cases = {
        'causal': masking_utils.causal_mask_function,
        'bidirectional': masking_utils.bidirectional_mask_function,
        'sliding window': masking_utils.sliding_window_causal_mask_function(3),
        'chunked': masking_utils.chunked_causal_mask_function(3, left),
        'documents': masking_utils.and_masks(masking_utils.causal_mask_function,
                                             masking_utils.packed_sequence_mask_function(
                                                 torch.tensor([[0, 0, 1, 1, 1, 2, 2]]))),
    }
    if hasattr(masking_utils, 'sliding_window_bidirectional_mask_function'):
        cases['symmetric window'] = masking_utils.sliding_window_bidirectional_mask_function(2)
    position = torch.arange(7)
    for name, function in cases.items():
        wanted = function(left, left, position[:, None], position[None, :]).expand(7, 7)
        pattern = recognise(function)
        if pattern is None or not torch.equal(wanted, _seen(pattern, position)):
            raise RuntimeError(f"the {name} mask of this version of Transformers is not understood")


def _seen(pattern, position):
    offset = position[None, :] - position[:, None]
    seen = torch.ones_like(offset, dtype=torch.bool)
    if pattern.before != NO_LIMIT:
        seen &= offset >= -pattern.before
    if pattern.after != NO_LIMIT:
        seen &= offset <= pattern.after
    if pattern.chunk:
        seen &= position[None, :] // pattern.chunk == position[:, None] // pattern.chunk
    for numbers in pattern.documents:
        seen &= numbers[0][None, :] == numbers[0][:, None]
    return seen
