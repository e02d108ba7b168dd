"""Everything about position in a Transformer, on CPUs: the C library posenc for NumPy, torch and others.

Arrays have the axes of C in reverse, innermost last: heads are (n_batch, n_tokens, n_heads, head_dim), scores
(n_batch, n_heads, n_q, n_k), rows of encodings (n_batch, n_tokens, dim). They are used where they lie, with their
strides; a result is written to `out`, or in place, or to a new array. `threads` splits the work and changes no bit.
docs/python.md is the manual.
"""
from ._core import Error, Rope, __version__, isa, isa_select, isa_supported

__all__ = ['Error', 'Rope', '__version__', 'isa', 'isa_select', 'isa_supported']
