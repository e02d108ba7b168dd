"""Views of an encoding: its values, similarities, curves and spectrum; and of a bias, head by head."""
import numpy as np

import posenc

from .panels import Axis, Curves, Map, Row

_SOME_LINES, _MOST_LINES, _SOME_HEADS = 6, 8, 4


class Refused(ValueError):
    """Which number or view asked for is not there, and what to do."""


def _vectors(rows):
    """The whole vector of each position: the planes side by side."""
    return np.concatenate(list(rows.values), axis=1)


def _need_two(rows):
    if rows.values.shape[1] < 2:
        raise Refused('there is only one position to draw: use a --length of 2 or more')


def _names_of(rows):
    """Names of the columns of all planes."""
    n = rows.values.shape[2]
    names = [f'{rows.column} {i}' for i in range(n)]
    return [f'{plane}, {name}' for plane in rows.planes for name in names] if len(rows.planes) > 1 else names


def _choose(asked, n, some, what):
    """Numbers asked for, or some of n, evenly spaced; of many only even numbers, which are of one
    kind where sines and cosines alternate."""
    for i in asked or ():
        if i >= n:
            raise Refused(f'there is no {what} {i}: they are 0 to {n - 1}')
    if asked:
        return asked
    return list(range(n)) if n <= _MOST_LINES else [i * n // some // 2 * 2 for i in range(some)]


# ---- Encodings ----


def values(rows):
    """A heat map for each plane."""
    x, y = Axis(rows.column), Axis(rows.row, rows.first)
    titles = rows.planes if len(rows.planes) > 1 else ['']
    return [Row([Map(plane, x, y, title) for plane, title in zip(rows.values, titles)], rows.unit)]


def similarity(rows):
    """Cosine similarity of every position with every other."""
    _need_two(rows)
    axis = Axis(rows.row, rows.first)
    matrix = posenc.cosine_similarity(_vectors(rows))
    return [Row([Map(matrix, axis, axis, is_square=True)], 'cosine similarity')]


def curves(rows, lines=None):
    """Some channels over the positions."""
    _need_two(rows)
    vectors, names = _vectors(rows), _names_of(rows)
    chosen = _choose(lines, len(names), _SOME_LINES, 'curve' if len(rows.planes) > 1 else rows.column)
    positions = rows.first + np.arange(len(vectors))
    return [Row([Curves(positions, {names[i]: vectors[:, i] for i in chosen}, rows.row, rows.unit)])]


_WAVES, _WAVES_IN_WINDOW, _SHORTEST = 200, 40, 2.0 # the shortest wavelength: half the sampling rate


def _amplitudes(channels, wavelength):
    """How strongly each channel swings at this wavelength, through Hann's window over the middle of the positions, some
    tens of waves wide, or all positions if those are fewer (a constant-Q transform): lines are as broad for short waves
    as for long ones. The mean under the window is taken off."""
    n = len(channels)
    length = min(n, int(np.ceil(_WAVES_IN_WINDOW * wavelength)))
    start = (n - length) // 2
    position = np.arange(length)
    weight = 0.5 - 0.5 * np.cos(2 * np.pi * (position + 0.5) / length)
    wave = weight * np.exp(2j * np.pi * position / wavelength)
    seen = channels[start:start + length]
    mean = weight @ seen / weight.sum()
    return 2 / weight.sum() * np.abs(wave @ seen - mean * wave.sum())


def spectrum(rows):
    """Amplitudes of each channel at wavelengths evenly spaced on a logarithmic scale."""
    _need_two(rows)
    longest = 2.0 * rows.values.shape[1]
    borders = longest * (_SHORTEST / longest) ** (np.arange(_WAVES + 1) / _WAVES)
    middles = np.sqrt(borders[1:] * borders[:-1])
    titles = rows.planes if len(rows.planes) > 1 else ['']
    panels = [Map(np.array([_amplitudes(plane.astype(np.float64), wavelength) for wavelength in middles]),
                  Axis(rows.column), Axis('wavelength in positions'), title, heights=borders)
              for plane, title in zip(rows.values, titles)]
    return [Row(panels, 'amplitude')]


# ---- Biases ----


def _weights(bias):
    """Scores that are nothing but bias: the softmax shows what attention they give."""
    weights = posenc.softmax(bias[None], causal=False)[0]
    return np.where(np.isneginf(bias), bias, weights) # drawn as masked here too


def heads(bias, chosen=None, titles=None):
    """Heads side by side: the bias of each, unless it is 0 all over, above the attention weights of equal scores."""
    n_heads, n = bias.values.shape[:2]
    if not chosen:
        chosen = range(n_heads) if n_heads <= _SOME_HEADS else range(0, n_heads, n_heads // _SOME_HEADS)[:_SOME_HEADS]
    chosen = _choose(list(chosen), n_heads, _SOME_HEADS, 'head')
    weights = _weights(bias.values[chosen])
    x, y = Axis(bias.column), Axis(bias.row)
    titles = titles or [f'head {h}' for h in chosen]
    panels = [Map(bias.values[h], x, y, title, is_square=True) for h, title in zip(chosen, titles)]
    has_bias = np.any(bias.values[chosen][np.isfinite(bias.values[chosen])])
    below = [Map(weight, x, y, '' if has_bias else title, is_square=True) for weight, title in zip(weights, titles)]
    cap = float(weights[:, n // 8:].max()) # the first queries see few keys, and have large weights
    weight_row = Row(below, 'weight', cap if cap < weights.max() else None)
    return [Row(panels, bias.unit), weight_row] if has_bias else [weight_row]


def bias_curves(bias, lines=None):
    """One query's row of each head: the last one's, or with keys on both sides the middle one's."""
    n_heads, n = bias.values.shape[:2]
    if not bias.is_by_offset:
        raise Refused('curves go over key - query, but this bias depends on rows and columns: use --view values')
    chosen = _choose(lines, n_heads, _SOME_LINES, 'head')
    query = n - 1 if bias.is_causal else n // 2
    lines = {f'head {h}': np.where(np.isfinite(bias.values[h, query]), bias.values[h, query], np.nan) for h in chosen}
    return [Row([Curves(np.arange(n) - query, lines, 'key \N{MINUS SIGN} query', 'bias')])]
