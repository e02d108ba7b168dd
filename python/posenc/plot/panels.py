"""Heat maps and curves in one figure. Colours are even, and fit for the colour-blind."""
import os
from dataclasses import dataclass, field

import numpy as np
from matplotlib import colormaps, colors, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .._files import whole

#: Formats of pictures, and the entry of each that would differ from run to run.
FORMATS = {'.png': 'Software', '.pdf': 'CreationDate', '.svg': 'Date'}

_STYLE = {'font.family': 'DejaVu Sans', 'font.size': 9, 'axes.titlesize': 9.5, 'figure.titlesize': 12,
          'axes.edgecolor': '0.3', 'axes.linewidth': 0.7, 'xtick.color': '0.3', 'ytick.color': '0.3',
          'xtick.labelcolor': 'black', 'ytick.labelcolor': 'black', 'axes.titlelocation': 'left',
          'lines.linewidth': 1.4, 'svg.hashsalt': 'posenc'} # the same file each time
_MASKED = '0.85'
_APART = ('black', '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9') # of Okabe and Ito
_FEW_LEVELS = 6 # of whole numbers, which get a colour each


@dataclass
class Axis:
    """Axis of a heat map: cell k is centred at first + k."""
    label: str
    first: float = 0


@dataclass
class Map:
    """Rows from top to bottom. Values that are not finite are grey."""
    values: np.ndarray
    x: Axis
    y: Axis
    title: str = ''
    is_square: bool = False
    heights: np.ndarray = None #: of the rows' borders on a logarithmic axis, where they are not at whole numbers


@dataclass
class Curves:
    x: np.ndarray
    lines: dict             #: name to values
    x_label: str
    y_label: str
    title: str = ''
    x_scale: str = 'linear'
    y_scale: str = 'linear'
    beyond: float = None    #: from there on the background is shaded: what was not trained
    marks: dict = field(default_factory=dict) #: name to a height that is drawn across


@dataclass
class Look:
    """How a figure looks, where the reader has wishes of their own."""
    cmap: str = None            #: matplotlib's name of a colour map, of maps and of curves
    size: tuple = None          #: width and height of the figure, in inches
    font_size: float = _STYLE['font.size']
    own_scale: bool = False     #: each map of a row has colours and a colour bar of its own


# ---- Colours ----


def _finite(values):
    return values[np.isfinite(values)]


def _norm(values, cap):
    """Around 0 where values have both signs; else from the least to the largest, or to the cap."""
    seen = _finite(values)
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    if cap is not None:
        low, high = min(low, 0.0), cap
    if low < 0.0 < high:
        high = max(-low, high)
        return colors.Normalize(-high, high), colormaps['RdBu_r']
    if low == high: # one value alone: from 0 to it
        low, high = min(low, 0.0), max(high, 0.0) or (1.0 if low >= 0.0 else 0.0)
    return colors.Normalize(low, high), colormaps['viridis']


def _levels(values):
    """Whole numbers of which there are few, or None."""
    levels = np.unique(_finite(values))
    return levels if 2 <= len(levels) <= _FEW_LEVELS and np.all(levels == np.round(levels)) else None


def _colouring(values, cap, cmap=None):
    """Norm, colour map (by name, or None) and the ticks of a colour bar (None: as they come)."""
    levels = _levels(values)
    if levels is None:
        norm, colours = _norm(values, cap)
        return norm, (colormaps[cmap] if cmap else colours).with_extremes(bad=_MASKED), None
    colours = colors.ListedColormap(colormaps[cmap or 'viridis'](np.linspace(0.08, 0.92, len(levels))))
    middles = (levels[1:] + levels[:-1]) / 2
    borders = [levels[0] - 0.5, *middles, levels[-1] + 0.5]
    return colors.BoundaryNorm(borders, len(levels)), colours.with_extremes(bad=_MASKED), levels


def line_colour(i, n, cmap=None):
    """Colour of line i of n. The end of the scale is too pale for a line."""
    return colormaps[cmap or 'viridis'](0.9 * i / (n - 1) if n > 1 else 0.3)


def line_colours(names, cmap=None):
    """Shades where names have numbers, which are in order; else colours that the colour-blind tell apart."""
    if cmap or len(names) > len(_APART) or all(any(letter.isdigit() for letter in name) for name in names):
        return [line_colour(i, len(names), cmap) for i in range(len(names))]
    return _APART[:len(names)]


# ---- One panel ----


def _draw_map(axes, panel, norm, colours):
    n_rows, n_columns = panel.values.shape
    columns = np.arange(n_columns + 1) + panel.x.first - 0.5
    rows = panel.heights if panel.heights is not None else np.arange(n_rows + 1) + panel.y.first - 0.5
    masked = np.ma.masked_invalid(panel.values)
    if panel.heights is None:
        extent = (columns[0], columns[-1], rows[-1], rows[0])
        image = axes.imshow(masked, norm=norm, cmap=colours, extent=extent, interpolation='nearest',
                            aspect='equal' if panel.is_square else 'auto', interpolation_stage='data')
        axes.yaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 8, 10]))
    else:
        image = axes.pcolormesh(columns, rows, masked, norm=norm, cmap=colours, rasterized=True)
        axes.set_yscale('log')
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 4, 5, 8, 10]))
    axes.set(xlabel=panel.x.label, ylabel=panel.y.label, title=panel.title)
    return image


def _draw_curves(axes, panel, cmap):
    for (name, values), colour in zip(panel.lines.items(), line_colours([*panel.lines], cmap)):
        axes.plot(panel.x, values, label=name, color=colour)
    if panel.beyond is not None:
        axes.axvspan(panel.beyond, panel.x[-1], color='0.93', zorder=0)
    for name, height in panel.marks.items():
        axes.axhline(height, color='0.45', linewidth=0.8, linestyle='--')
        axes.annotate(name, (0.01, height), xycoords=('axes fraction', 'data'), va='bottom', fontsize='small',
                      color='0.35')
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title, xscale=panel.x_scale, yscale=panel.y_scale,
             xlim=(panel.x[0], panel.x[-1]))
    axes.grid(True, color='0.92', linewidth=0.6)
    axes.set_axisbelow(True)


def _name_lines(axes):
    axes.legend(fontsize='small', frameon=False, loc='center left', bbox_to_anchor=(1.0, 0.5), handlelength=1.2)


# ---- Figures ----


@dataclass
class Row:
    """Panels side by side. Maps of a row have their colours, and one colour bar, in common."""
    panels: list
    unit: str = ''      #: of the colour bar
    cap: float = None   #: colours end here: what is above has the last one


def _grid(rows):
    """Numbers of panels below each other and side by side. Rows of one square panel each are drawn side by side."""
    n = max(len(row.panels) for row in rows)
    is_flat = n == 1 and all(isinstance(row.panels[0], Map) and row.panels[0].is_square for row in rows)
    return (1, len(rows)) if is_flat else (len(rows), n)


def _size(rows, n):
    """Size of one of n panels side by side, in inches."""
    if isinstance(rows[0].panels[0], Map) and rows[0].panels[0].is_square:
        side = {1: 4.6, 2: 3.4, 3: 2.6}.get(n, 2.1)
        return side, side
    return {1: (6.8, 3.7), 2: (4.4, 3.4)}.get(n, (3.4, 2.7))


def _draw_maps(figure, axes, panels, row, cmap):
    """Maps with their colours, and one colour bar, in common."""
    norm, colours, ticks = _colouring(np.concatenate([panel.values.ravel() for panel in panels]), row.cap, cmap)
    for one, panel in zip(axes, panels):
        image = _draw_map(one, panel, norm, colours)
    extend = 'neither' if row.cap is None else 'max'
    bar = figure.colorbar(image, ax=list(axes), label=row.unit, ticks=ticks, extend=extend, pad=0.02, fraction=0.06)
    bar.outline.set_linewidth(0.5)


def _draw_row(figure, axes, row, look):
    if isinstance(row.panels[0], Curves):
        for one, panel in zip(axes, row.panels):
            _draw_curves(one, panel, look.cmap)
        for one, panel, following in zip(axes, row.panels, [*row.panels[1:], None]):
            if len(panel.lines) > 1 and (following is None or [*following.lines] != [*panel.lines]):
                _name_lines(one)
        return
    groups = [[i] for i in range(len(row.panels))] if look.own_scale else [range(len(row.panels))]
    for group in groups:
        _draw_maps(figure, [axes[i] for i in group], [row.panels[i] for i in group], row, look.cmap)


def style(look):
    """A context with sizes of text in proportion."""
    factor = look.font_size / _STYLE['font.size']
    return rc_context({**_STYLE, **{name: factor * _STYLE[name] for name in ('font.size', 'axes.titlesize', 'figure.titlesize')}})


def draw(title, rows, subtitle='', look=Look()):
    """A figure of rows of panels."""
    n_rows, n_columns = _grid(rows)
    width, height = _size(rows, n_columns)
    with style(look):
        figure = Figure(look.size or (0.9 + n_columns * width, 0.7 + n_rows * (height + 0.35)), layout='constrained')
        if n_columns > 1 and any(isinstance(row.panels[0], Curves) for row in rows):
            figure.get_layout_engine().set(w_pad=0.08) # labels of an axis do not touch the panel before
        FigureCanvasAgg(figure)
        heading = f'{title}\n' if subtitle else title
        figure.suptitle(heading, x=0.01, ha='left', weight='bold')
        if subtitle:
            figure.text(0.01, 1 - 0.04 * look.font_size / figure.get_figheight(), subtitle, va='center', color='0.35')
        grid = figure.subplots(n_rows, n_columns, squeeze=False)
        for axes, row in zip(grid if n_rows == len(rows) else grid.T, rows):
            _draw_row(figure, axes[:len(row.panels)], row, look)
            for unused in axes[len(row.panels):]:
                unused.set_axis_off()
    return figure


def save(figure, path, dpi=110):
    """By its ending PNG, PDF or SVG. The same picture is the same file."""
    ending = os.path.splitext(path)[1]
    if ending not in FORMATS:
        raise ValueError(f'{path}: use a name that ends with {" or ".join(FORMATS)}')
    with whole(path) as part, rc_context(_STYLE):
        figure.savefig(part, format=ending[1:], dpi=dpi, metadata={FORMATS[ending]: None})
