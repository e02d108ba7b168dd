"""Comparisons of schemes: RoPE's scalings, what lies beyond the trained length, and positions that look alike."""
import numpy as np

import posenc

from .. import Rope
from ..methods import Method
from .panels import Curves, Row

# ---- RoPE's scalings ----

#: Parameters of each scaling, for a factor s and a trained length c.
SCALINGS = {
    'none': lambda s, c: None,
    'linear': lambda s, c: {'type': 'linear', 'factor': s},
    'ntk': lambda s, c: {'type': 'ntk', 'factor': s},
    'dynamic': lambda s, c: {'type': 'dynamic', 'factor': s, 'max_context': c, 'context': s * c},
    'yarn': lambda s, c: {'type': 'yarn', 'factor': s, 'original_context': c},
    'llama3': lambda s, c: {'type': 'llama3', 'factor': s, 'original_context': c},
}


_BINS, _MOST_IN_BIN = 120, 32


def decay(theta, distances):
    """How q.k falls with distance at most: RoFormer's bound, the mean over i of |sum of e^(j d theta_k), k < i|,
    relative to that of distance 0 (arXiv 2104.09864, section 3.4.3)."""
    waves = np.exp(1j * distances[:, None] * theta)
    sums = np.abs(np.cumsum(waves, axis=1)).mean(axis=1)
    return sums / (0.5 * (len(theta) + 1))


def _mean_decay(theta, borders):
    """Between each two borders, over some of the distances there: far out the bound swings from one to the next."""
    return [decay(theta, np.unique(np.linspace(low, high, _MOST_IN_BIN, dtype=np.int64))).mean()
            for low, high in zip(borders, borders[1:])]


def scalings(o):
    """Frequencies, wavelengths and the decay of q.k with distance, scaling by scaling (B.9 - B.17)"""
    ropes = {name: Rope(o.dim, base=o.base, scaling=needs(o.factor, o.context)) for name, needs in SCALINGS.items()}
    unscaled = ropes['none'].theta
    pairs, borders = np.arange(len(unscaled)), np.geomspace(1, 2 * o.factor * o.context, _BINS)
    borders = np.unique(borders.astype(np.int64))
    return [Row([
        Curves(pairs, {name: rope.theta / unscaled for name, rope in ropes.items()}, 'pair', 'theta / theta unscaled',
               'frequencies', y_scale='log'),
        Curves(pairs, {name: 2 * np.pi / rope.theta for name, rope in ropes.items()}, 'pair', 'positions',
               'wavelengths', y_scale='log', marks={'trained': o.context, 'scaled': o.factor * o.context}),
        Curves(borders[:-1], {name: _mean_decay(rope.theta, borders) for name, rope in ropes.items()}, 'distance',
               'upper bound, relative', 'decay of q.k', x_scale='log', beyond=o.context),
    ])]


# ---- Beyond the trained length ----

_TIMES_TRAINED, _HEADS_DRAWN = 4, (0, 2, 5, 7)


def _biases(bias):
    """Heads of a RelBias over the distance, from 0 on."""
    return {f'head {h}': bias.data[h, ::-1] for h in _HEADS_DRAWN}


def _similarities(encoding, n):
    """Similarity of the first position to all positions."""
    rows = encoding(np.arange(n, dtype=np.int32)).astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(rows[0])
    return np.divide(rows @ rows[0], lengths, out=np.zeros(n), where=lengths > 0)


def extrapolation(o):
    """Bias that distance adds to a score, within the trained length and beyond it"""
    n, n_heads = _TIMES_TRAINED * o.trained, 8
    distances, offsets = np.arange(n), range(1 - n, 1)
    table = posenc.fill_normal(np.empty((o.trained, o.dim), np.float32), o.seed)
    slopes = posenc.alibi_slopes(n_heads)
    buckets = -slopes * np.arange(32, dtype=np.float32)[:, None] # rows of a table, falling head by head
    half = o.trained // 2
    clipped = slopes * np.minimum(np.arange(-half, half + 1, dtype=np.float32), 0)[:, None]
    index = posenc.RelIndex.clipped(half, offsets)
    p = np.arange(1, n_heads + 1, dtype=np.float32) / 4
    scaling = SCALINGS['yarn'](_TIMES_TRAINED, o.trained)
    schemes = {
        'learned table: similarity': {'random': _similarities(posenc.learned(table, out_of_range='zero'), n)},
        'RoPE, sinusoids: q.k of equal vectors': {
            name: np.cos(distances[:, None] * Rope(o.dim, base=o.base, scaling=needs).theta).mean(axis=1)
            for name, needs in (('unscaled', None), ('yarn', scaling))},
        'ALiBi': _biases(posenc.RelBias.alibi(slopes, offsets)),
        'T5: falling by bucket': _biases(posenc.RelBias.t5(buckets, offsets, max_distance=o.trained,
                                                           bidirectional=False)),
        'clipped at a half: falling by distance': _biases(posenc.RelBias.gather(index, clipped)),
        'KERPLE, logarithmic': _biases(posenc.RelBias.kerple(p, np.ones_like(p), offsets, kind='log')),
    }
    panels = [Curves(distances, lines, 'distance', 'score', title, beyond=o.trained)
              for title, lines in schemes.items()]
    return [Row(panels[:3]), Row(panels[3:])]


# ---- Positions that look alike ----


def _nearest(dim, base, n):
    """How near to that of a position the encodings of so many later ones come, over the largest distance possible."""
    rows = posenc.sinusoidal(dim, 'interleaved', base=base)(np.arange(n, dtype=np.int32)).astype(np.float64)
    return np.minimum.accumulate(np.linalg.norm(rows - rows[0], axis=1)[1:]) / (2 * np.sqrt(dim / 2))


def aliasing(o):
    """How near two sinusoidal encodings come: below their neighbours' distance positions look alike (D.5)"""
    within = np.arange(1, o.length)
    by_dim = {f'dim {dim}': _nearest(dim, o.base, o.length) for dim in (2, 4, 6, 8, 64)}
    by_base = {f'base {base:g}': _nearest(4, base, o.length) for base in (3.0, 10.0, 100.0, 1e4)}
    labels = 'within so many positions', 'nearest, of the largest distance possible'
    return [Row([Curves(within, by_dim, *labels, f'base {o.base:g}', x_scale='log', y_scale='log'),
                 Curves(within, by_base, *labels, 'dim 4', x_scale='log', y_scale='log')])]


def _study(make, title, **defaults):
    return Method(make.__name__, title, make.__doc__, False, defaults, make)


STUDIES = {study.name: study for study in (
    _study(scalings, "RoPE's scalings", dim=128, base=10000.0, context=4096, factor=8.0),
    _study(extrapolation, 'Beyond the trained length', dim=64, base=10000.0, trained=128, seed=1),
    _study(aliasing, 'Positions that look alike', length=2048, base=10000.0),
)}
