"""Animation of rotary pairs: each pair of channels as a vector that rotates from position to position. Needs Pillow."""
import os

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .._files import whole
from . import panels
from .views import Refused

FORMATS = ('.gif', '.png')
_MOST_FRAMES, _MILLISECONDS, _TRAIL = 512, 80, 12
_SOME, _COLUMNS, _COLOURS = 6, 3, 32


def _pairs(asked, n):
    """Pairs asked for, or some, evenly spaced from the fastest to the slowest."""
    for pair in asked or ():
        if pair >= n:
            raise Refused(f'there is no pair {pair}: they are 0 to {n - 1}')
    return asked or sorted({round(i * (n - 1) / (_SOME - 1)) for i in range(_SOME)})


def _turn(theta):
    """How long a rotation of a pair takes."""
    length = 2 * np.pi / abs(theta) if theta else 0.0
    return f'a turn in {length:,.{1 if length < 100 else 0}f} positions' if theta else 'does not rotate'


def _axes(figure, pairs, theta):
    n_rows = -(-len(pairs) // _COLUMNS)
    axes = figure.subplots(n_rows, min(_COLUMNS, len(pairs)), squeeze=False).ravel()
    for one, pair in zip(axes, pairs):
        one.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=(), yticks=(), aspect='equal', title=f'pair {pair}\n{_turn(theta[pair])}')
        one.plot(*_circle(), color='0.8', linewidth=0.8, zorder=0)
        one.set_frame_on(False)
    for one in axes[len(pairs):]:
        one.set_axis_off()
    return axes


def _circle():
    angle = np.linspace(0, 2 * np.pi, 181)
    return np.cos(angle), np.sin(angle)


def rotation(rope, positions, pairs=None, title=None, look=panels.Look(), dpi=110):
    """Frames, one a position: the vector (1, 0) of some rotary pairs, rotated. Faint dots are the positions before."""
    if len(positions) > _MOST_FRAMES:
        raise Refused(f'an animation has at most {_MOST_FRAMES} positions: use a smaller --length')
    from PIL import Image
    pairs = _pairs(pairs, len(rope.theta))
    cos, sin = rope.table(positions)
    n_columns, frames = min(_COLUMNS, len(pairs)), []
    with panels.style(look):
        figure = Figure(look.size or (0.6 + 2.3 * n_columns, 0.8 + 2.6 * -(-len(pairs) // _COLUMNS)), layout='constrained')
        canvas = FigureCanvasAgg(figure)
        figure.set_dpi(dpi)
        axes = _axes(figure, pairs, rope.theta)
        colours = [panels.line_colour(i, len(pairs), look.cmap) for i in range(len(pairs))]
        hands = [one.plot([], [], color=colour, linewidth=2.5, solid_capstyle='round')[0] for one, colour in zip(axes, colours)]
        tips = [one.scatter([], [], s=22, zorder=3) for one in axes[:len(pairs)]]
        for i, position in enumerate(positions):
            figure.suptitle(f'{title or "Rotary embedding"}: position {position}', x=0.01, ha='left', weight='bold')
            seen = slice(max(0, i - _TRAIL), i + 1)
            fading = np.linspace(0.15, 1.0, _TRAIL + 1)[-(i + 1 - seen.start):]
            for pair, hand, tip, colour in zip(pairs, hands, tips, colours):
                x, y = cos[seen, pair], sin[seen, pair]
                hand.set_data([0, x[-1]], [0, y[-1]])
                tip.set_offsets(np.stack([x, y], axis=1))
                tip.set_facecolor([(*colour[:3], alpha) for alpha in fading])
            canvas.draw()
            frames.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy()))
    return frames


def save(frames, path):
    """GIF, or by the ending .png an animated PNG. The same frames are the same file."""
    kind = os.path.splitext(path)[1][1:]
    if kind == 'gif':
        frames = [frame.quantize(_COLOURS) for frame in frames]
    with whole(path) as part:
        frames[0].save(part, format=kind.upper(), save_all=True, append_images=frames[1:], duration=_MILLISECONDS, loop=0)
