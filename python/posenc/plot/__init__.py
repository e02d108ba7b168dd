"""Pictures of encodings and biases, with matplotlib.

    E = posenc.sinusoidal(64, 'interleaved')(range(128))
    posenc.plot.save(posenc.plot.rows(E, 'Sinusoidal encoding'), 'sinusoidal.png')

Each function returns a matplotlib Figure. `python -m posenc plot` draws the same from the command line.
"""
import numpy as np

from ..methods import Bias, Rows
from . import views
from .panels import Curves, Row, draw, save

__all__ = ['bias', 'curves', 'rows', 'save']

_VIEWS = {'values': views.values, 'similarity': views.similarity, 'curves': views.curves, 'spectrum': views.spectrum}


def rows(values, title='', *, view='values', lines=None, first=0, row='position', column='channel', planes=('',),
         unit='value', subtitle=''):
    """An encoding.

    values: (n_positions, n_channels), or (n_planes, n_positions, n_channels) with as many names in planes.
    view: 'values' (a heat map), 'similarity' (cosine, of every two positions), 'curves' (the channels in lines, or
    some) or 'spectrum' (amplitudes by wavelength). first: the first position.
    """
    values = np.asarray(values, np.float32)
    made = Rows(values[None] if values.ndim == 2 else values, first, row, column, tuple(planes), unit)
    return draw(title, views.curves(made, lines) if view == 'curves' else _VIEWS[view](made), subtitle)


def bias(values, title='', *, heads=None, titles=None, view='heads', is_causal=True, unit='bias', subtitle=''):
    """A bias of attention scores, head by head.

    values: (n_heads, n_queries, n_keys), -inf where a key is masked. view: 'heads' (each above the attention weights of
    equal scores) or 'curves' (over key - query). heads: which are drawn; some unless given. titles: what they are
    called.
    """
    made = Bias(np.asarray(values, np.float32), is_causal, unit=unit)
    drawn = views.bias_curves(made, heads) if view == 'curves' else views.heads(made, heads, titles)
    return draw(title, drawn, subtitle)


def curves(x, lines, title='', *, x_label='', y_label='', x_scale='linear', y_scale='linear', beyond=None, subtitle=''):
    """Lines over x, by name. beyond: from there on the background is grey."""
    panel = Curves(np.asarray(x), lines, x_label, y_label, '', x_scale, y_scale, beyond)
    return draw(title, [Row([panel])], subtitle)
