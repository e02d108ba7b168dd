"""Everything about position in a Transformer, on CPUs: the C library posenc for NumPy, torch and others.

Arrays have the axes of C in reverse, innermost last: heads are (n_batch, n_tokens, n_heads, head_dim), scores
(n_batch, n_heads, n_q, n_k), rows of encodings (n_batch, n_tokens, dim). They are used where they lie, with their
strides; a result is written to `out`, or in place, or to a new array. `threads` splits the work and changes no bit.
docs/python.md is the manual.
"""
import importlib

from . import _core, _objects
from ._config import rope_from_config
from ._core import *  # noqa: F403
from ._core import Rope, __version__

__all__ = [name for name in dir(_core) if not name.startswith('_')] + ['__version__']

_objects.install(globals())
Rope.from_config = staticmethod(rope_from_config)


def __getattr__(name):
    """Imports the reader of configs when it is used: it would take four fifths of `import posenc`."""
    if name == 'model':
        return importlib.import_module('posenc.model')
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
