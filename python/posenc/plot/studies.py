"""Pictures that compare schemes: RoPE's scalings, what lies beyond the trained length, and positions that look alike."""
import numpy as np

from .. import Rope
from .panels import Curves, Row

# ---- RoPE's scalings ----

#: What each needs, of the factor s and the length c that a model was trained on.
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
    """How q.k falls with distance at most: RoFormer's bound, the mean over i of |sum of e^(j d theta_k), k < i|, relative
    to that of distance 0 (arXiv 2104.09864, section 3.4.3)."""
    waves = np.exp(1j * distances[:, None] * theta)
    sums = np.abs(np.cumsum(waves, axis=1)).mean(axis=1)
    return sums / (0.5 * (len(theta) + 1))


def _mean_decay(theta, borders):
    """Between each two borders, over some of the distances there: far out the bound swings from one to the next."""
    return [decay(theta, np.unique(np.linspace(low, high, _MOST_IN_BIN, dtype=np.int64))).mean()
            for low, high in zip(borders, borders[1:])]


def scalings(dim, base, context, factor, types=tuple(SCALINGS)):
    """Frequencies, wavelengths and the decay of q.k with distance, scaling by scaling."""
    ropes = {name: Rope(dim, base=base, scaling=SCALINGS[name](factor, context)) for name in types}
    unscaled = Rope(dim, base=base).theta
    pairs, borders = np.arange(len(unscaled)), np.unique(np.geomspace(1, 2 * factor * context, _BINS).astype(np.int64))
    return [Row([
        Curves(pairs, {name: rope.theta / unscaled for name, rope in ropes.items()}, 'pair', 'theta / theta unscaled',
               'frequencies', y_scale='log'),
        Curves(pairs, {name: 2 * np.pi / rope.theta for name, rope in ropes.items()}, 'pair', 'positions',
               'wavelengths', y_scale='log', marks={'trained': context, 'scaled': factor * context}),
        Curves(borders[:-1], {name: _mean_decay(rope.theta, borders) for name, rope in ropes.items()}, 'distance',
               'upper bound, relative', 'decay of q.k (grey: beyond the trained length)', x_scale='log', beyond=context),
    ])]
