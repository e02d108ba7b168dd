"""python -m posenc plot METHOD|STUDY -o FILE"""
import argparse
import difflib

from matplotlib import colormaps

from .. import methods, options
from . import animation, studies, views
from .panels import FORMATS, Look, draw, save

_MOST_VALUES = 1 << 28 # above this a picture takes gigabytes


def _numbers(text):
    if not all(part.isascii() and part.isdigit() for part in text.split(',')):
        raise argparse.ArgumentTypeError(f'takes whole numbers from 0, with commas between them, not {text!r}')
    return [int(part) for part in text.split(',')]


def _colour_map(text):
    if text not in colormaps:
        near = difflib.get_close_matches(text, colormaps, 1)
        raise argparse.ArgumentTypeError(f'there is no colour map {text!r}' + (f'; did you mean {near[0]}?' if near else ''))
    return text


def _size(text):
    try:
        width, height = map(float, text.split('x'))
    except ValueError:
        width = height = 0.0
    if not (1.0 <= width <= 100.0 and 1.0 <= height <= 100.0):
        raise argparse.ArgumentTypeError(f'takes width x height of 1 to 100 inches, as 6x4, not {text!r}')
    return width, height


def _font_size(text):
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 4.0 <= size <= 40.0:
        raise argparse.ArgumentTypeError(f'takes points from 4 to 40, not {text!r}')
    return size


_TITLES = {'values': '', 'similarity': ': cosine similarity', 'curves': ': curves', 'spectrum': ': spectrum', 'rotation': ''}


def _new_parser():
    parser = options.new_parser('plot', 'Draws an encoding as a heat map, or the heads of a bias beside each other, '
                                'each above the attention weights that it gives, into a PNG, PDF or SVG file; or '
                                f'something else of it, or a comparison ({", ".join(studies.STUDIES)}).')
    parser.add_argument('method', metavar='METHOD[,METHOD...]|COMPARISON', help='several methods are drawn in one picture')
    parser.add_argument('--view', choices=_TITLES, default='values', help='values: a heat map; similarity: cosine of every '
                        'position with every other; curves: some channels over the positions, of a bias heads over key - query; '
                        'spectrum: how strongly each channel swings, by wavelength; rotation: an animation of rotary pairs (rope), '
                        'a .gif or .png')
    parser.add_argument('--lines', type=_numbers, metavar='N[,N...]', help='which channels or heads curves draws, or pairs rotation')
    parser.add_argument('--head', type=_numbers, metavar='N[,N...]', help='which heads of a bias are drawn')
    look = parser.add_argument_group('how it looks')
    look.add_argument('--title', metavar='TEXT', help='above the picture, in place of its own')
    look.add_argument('--cmap', type=_colour_map, metavar='NAME', help="a colour map by matplotlib's name, as cividis")
    look.add_argument('--size', type=_size, metavar='WxH', help='inches, as 6x4')
    look.add_argument('--font-size', type=_font_size, default=Look.font_size, metavar='N', help='points, 4 to 40; 9')
    look.add_argument('--own-scale', action='store_true', help='each heat map has a colour scale of its own')
    look.add_argument('--dpi', type=int, choices=range(30, 601), default=110, metavar='N', help='30 to 600; 110')
    return parser


def _check(method, given):
    if given.lines and given.view != 'curves':
        raise options.Refused('--lines goes with --view curves or rotation')
    if given.head and (given.view != 'values' or not method.is_bias):
        raise options.Refused('--head is for the heat maps of biases: leave it away')
    if method.is_bias and given.view in ('similarity', 'spectrum'):
        raise options.Refused(f'--view {given.view} is for encodings, and this is a bias: use --view curves')
    n = given.length or given.height * given.width
    if method.bytes(given) > 4 * _MOST_VALUES or (given.view == 'similarity' and n * n > _MOST_VALUES):
        raise options.Refused('the picture would take more than 1 GiB of memory: use a smaller --length, --dim or '
                              '--heads')


def _look(given):
    return Look(given.cmap, given.size, given.font_size, given.own_scale)


def _rows_of(method, given):
    made = method.make(given)
    if method.is_bias:
        return views.bias_curves(made, given.lines) if given.view == 'curves' else views.heads(made, given.head)
    if given.view == 'curves':
        return views.curves(made, given.lines)
    return {'values': views.values, 'similarity': views.similarity, 'spectrum': views.spectrum}[given.view](made)


def _draw_methods(given):
    """Methods in one picture, each with its name. A bias shows head 0, or those of --head, beside similarities too."""
    rows = []
    for name in given.method.split(','):
        own = argparse.Namespace(**{**vars(given), 'method': name})
        method = options.method_of(own)
        if method.is_bias and own.view == 'similarity':
            own.view = 'values'
        if method.is_bias and own.view == 'values':
            own.head = own.head or [0]
        _check(method, own)
        of_method = _rows_of(method, own)[:1]
        for row in of_method:
            for panel in row.panels:
                panel.title = f'{method.title}, {panel.title}' if panel.title else method.title
        rows += of_method
    return draw(given.title or '', rows, look=_look(given))


def _draw_method(given):
    method = options.method_of(given)
    _check(method, given)
    rows = _rows_of(method, given)
    return draw(given.title or method.title + _TITLES[given.view], rows, method.describe(given), _look(given))


def _draw_study(given):
    if given.view != 'values' or given.lines or given.head:
        raise options.Refused(f'{given.method} is one picture: leave --view, --lines and --head away')
    study = options.method_of(given, studies.STUDIES)
    return draw(given.title or study.title, study.make(given), study.describe(given), _look(given))


def _animate(given):
    if given.method != 'rope':
        raise options.Refused('--view rotation draws rope alone')
    options.check_path(given.path, animation.FORMATS)
    options.method_of(given)
    if given.head:
        raise options.Refused('--head is for the heat maps of biases: leave it away')
    frames = animation.rotation(methods.rope_of(given), methods.positions(given), given.lines, given.title, _look(given), given.dpi)
    animation.save(frames, given.path)


def _draw(given):
    if given.view == 'rotation':
        _animate(given)
        return
    options.check_path(given.path, FORMATS)
    if given.method in studies.STUDIES:
        figure = _draw_study(given)
    else:
        figure = _draw_methods(given) if ',' in given.method else _draw_method(given)
    save(figure, given.path, given.dpi)


def main(arguments):
    """The exit status."""
    given = _new_parser().parse_args(arguments)
    return options.run('plot', lambda: _draw(given))
