"""A layer's rotary work, as the model has it: what is verified and timed."""
import statistics
import time

import numpy as np

from .. import Rope


def _arguments(params):
    """Of posenc.Rope, for RopeParams. The magnitude is left out: what is rotated again and again would grow."""
    names = ('factor', 'original_context', 'max_context', 'context', 'beta_fast', 'beta_slow', 'ext_factor', 'truncate',
             'low_freq_factor', 'high_freq_factor', 'proportion', 'freq_factors', 'short_factors', 'long_factors')
    scaling = {'type': params.scaling, 'attention_factor': 1.0, **{name: getattr(params, name) for name in names}}
    return {'layout': params.layout, 'base': params.base, 'n_rot': params.n_rot, 'n_offs': params.n_offs,
            'rot_fraction': params.rot_fraction, 'scaling': scaling, 'axes': params.axes,
            'sections': tuple(params.sections)}


class Layer:
    """Q and K of one layer. first_position: of the first of the tokens."""

    def __init__(self, table, dtype, n_tokens, first_position, seed=1):
        generator = np.random.default_rng(seed)
        self.n_tokens, self.parts = n_tokens, []
        for heads in (table.q, table.k):
            params = table.params_of(heads)
            rope = Rope(heads.head_dim, **_arguments(params))
            x = generator.uniform(-4, 4, (n_tokens, heads.n_heads, heads.head_dim)).astype(dtype)
            out = np.zeros_like(x) if params.layout == 'deinterleave' else x # not in place
            self.parts.append((rope, x, out))
        positions = first_position + np.arange(n_tokens, dtype=np.int32)
        n_axes = self.parts[0][0].n_axes
        self.positions = np.tile(positions, (n_axes, 1)) if n_axes > 1 else positions
        self.table = self.parts[0][0].table(self.positions)

    def rotate(self):
        """Cosines and sines are computed in the call."""
        for rope, x, out in self.parts:
            rope(x, self.positions, out=out)

    def rotate_by_table(self):
        """Precomputed cosines and sines, as for all other layers."""
        for rope, x, out in self.parts:
            rope.apply_table(x, *self.table, out=out)

    def negate(self):
        """What memory allows."""
        for _, x, out in self.parts:
            np.negative(x, out=out)

    def results(self):
        """The bytes that rotate and rotate_by_table write, from the same input."""
        found, inputs = [], [x.copy() for _, x, _ in self.parts]
        for run in (self.rotate, self.rotate_by_table):
            run()
            found += [out.tobytes() for _, _, out in self.parts]
            for (_, x, _), before in zip(self.parts, inputs):
                x[...] = before
        return found


_SHORTEST_SAMPLE, _MOST_SAMPLES = 50e-6, 301 # seconds: far above the clock's resolution


def _time_runs(run, n):
    start = time.perf_counter()
    for _ in range(n):
        run()
    return (time.perf_counter() - start) / n


def medians(runs, seconds):
    """Of each run in seconds; they take turns, so that all see the same machine."""
    counts = []
    for run in runs:
        n = 1
        while _time_runs(run, n) * n < _SHORTEST_SAMPLE:
            n *= 2
        counts.append(n)
    samples, start = [[] for _ in runs], time.perf_counter()
    while len(samples[0]) < 3 or (time.perf_counter() - start < seconds * len(runs) and
                                  len(samples[0]) < _MOST_SAMPLES):
        for run, n, own in zip(runs, counts, samples):
            own.append(_time_runs(run, n))
    return [statistics.median(own) for own in samples]
