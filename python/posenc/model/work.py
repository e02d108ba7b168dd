"""A layer's positional work, as the model has it: what is verified and timed."""
import statistics
import time

import numpy as np

import posenc

from .. import Rope
from .description import rope_arguments


def arguments(params):
    """The arguments of posenc.Rope, without the magnitude: what is rotated again and again would grow."""
    found = rope_arguments(params)
    stretches = ('mscale', 'mscale_all_dim', 'short_mscale', 'long_mscale', 'attn_factor', 'temperature_beta')
    for name in stretches:
        del found['scaling'][name]
    found['scaling']['attention_factor'] = 1.0
    return found


class Layer:
    """One layer's work on some tokens. ways: to do it, by name, from inputs to outputs (the same arrays: in place)."""

    def __init__(self, n_tokens, inputs, outputs, ways):
        self.n_tokens, self.inputs, self.outputs, self.ways = n_tokens, inputs, outputs, ways

    def negate(self):
        """Moves the inputs to the outputs: the limit of memory."""
        for x, out in zip(self.inputs, self.outputs):
            np.negative(x, out=out)

    def results(self):
        """The bytes that all ways write, from the same input."""
        found, before = [], [x.copy() for x in self.inputs]
        for run in self.ways.values():
            run()
            found += [out.tobytes() for out in self.outputs]
            for x, kept in zip(self.inputs, before):
                x[...] = kept
        return found


class RopeLayer(Layer):
    """Q and K of one layer. first_position: of the first of the tokens."""

    def __init__(self, table, dtype, n_tokens, first_position):
        generator = np.random.default_rng(1)
        self.parts = []
        for heads in (table.q, table.k):
            params = table.params_of(heads)
            rope = Rope(heads.head_dim, **arguments(params))
            x = generator.uniform(-4, 4, (n_tokens, heads.n_heads, heads.head_dim)).astype(dtype)
            out = np.zeros_like(x) if params.layout == 'deinterleave' else x # not in place
            self.parts.append((rope, x, out))
        positions = first_position + np.arange(n_tokens, dtype=np.int32)
        n_axes = self.parts[0][0].n_axes
        self.positions = np.tile(positions, (n_axes, 1)) if n_axes > 1 else positions
        self.table = self.parts[0][0].table(self.positions)
        super().__init__(n_tokens, [x for _, x, _ in self.parts], [out for _, _, out in self.parts],
                         {'first': self.rotate, 'later': self.rotate_by_table})

    def rotate(self):
        """Cosines and sines are computed in the call."""
        for rope, x, out in self.parts:
            rope(x, self.positions, out=out)

    def rotate_by_table(self):
        """Precomputed cosines and sines, as for all other layers."""
        for rope, x, out in self.parts:
            rope.apply_table(x, *self.table, out=out)


class AlibiLayer(Layer):
    """Scores of one layer: scale, ALiBi, causal mask and softmax, in place."""

    def __init__(self, model, n_tokens, n_cached):
        shape = 1, model.n_heads, n_tokens, n_cached + n_tokens
        self.scores = np.random.default_rng(1).uniform(-4, 4, shape).astype(np.float32)
        self.slopes, self.scale = posenc.alibi_slopes(model.n_heads, model.max_bias), model.head_dim**-0.5
        super().__init__(n_tokens, [self.scores], [self.scores], {'later': self.softmax})

    def softmax(self):
        posenc.softmax(self.scores, inplace=True, scale=self.scale, alibi_slopes=self.slopes, causal=True)


_SHORTEST_SAMPLE, _MOST_SAMPLES = 50e-6, 301 # seconds: far above the clock's resolution


def _time_runs(run, n):
    start = time.perf_counter()
    for _ in range(n):
        run()
    return (time.perf_counter() - start) / n


def medians(runs, seconds):
    """Time of each run in seconds. Runs alternate, so that all see the same machine."""
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
