"""python -m posenc plot METHOD|STUDY -o FILE"""
import argparse

from .. import options
from . import studies, views
from .panels import FORMATS, draw, save

_MOST_VALUES = 1 << 28 # above this a picture takes gigabytes


def _numbers(text):
    if not all(part.isascii() and part.isdigit() for part in text.split(',')):
        raise argparse.ArgumentTypeError(f'takes whole numbers from 0, with commas between them, not {text!r}')
    return [int(part) for part in text.split(',')]


def _new_parser():
    parser = options.new_parser('plot', 'Draws an encoding as a heat map, or the heads of a bias beside each other, '
                                'each above the attention weights that it gives, into a PNG, PDF or SVG file; or '
                                f'something else of it, or a comparison ({", ".join(studies.STUDIES)}).')
    parser.add_argument('method', metavar='METHOD|COMPARISON')
    one = parser.add_mutually_exclusive_group()
    for view, help_ in (('similarity', 'cosine similarity of every position with every other'),
                        ('curves', 'some channels over the positions; of a bias, heads over key - query'),
                        ('spectrum', 'how strongly each channel swings, by wavelength')):
        one.add_argument(f'--{view}', dest='view', action='store_const', const=view, help=help_)
    parser.add_argument('--lines', type=_numbers, metavar='N[,N...]', help='which channels or heads --curves draws')
    parser.add_argument('--head', type=_numbers, metavar='N[,N...]', help='which heads of a bias are drawn')
    parser.add_argument('--dpi', type=int, choices=range(30, 601), default=110, metavar='N', help='30 to 600; 110')
    return parser


_TITLES = {None: '', 'similarity': ': cosine similarity', 'curves': ': curves', 'spectrum': ': spectrum'}


def _check(method, given):
    if given.lines and given.view != 'curves':
        raise options.Refused('--lines goes with --curves')
    if given.head and (given.view or not method.is_bias):
        raise options.Refused('--head is for the heat maps of biases: leave it away')
    if method.is_bias and given.view in ('similarity', 'spectrum'):
        raise options.Refused('--similarity and --spectrum are for encodings, and this is a bias: use --curves')
    n = given.length or given.height * given.width
    if method.bytes(given) > 4 * _MOST_VALUES or (given.view == 'similarity' and n * n > _MOST_VALUES):
        raise options.Refused('the picture would take more than 1 GiB of memory: use a smaller --length, --dim or '
                              '--heads')


def _draw_method(given):
    method = options.method_of(given)
    _check(method, given)
    made = method.make(given)
    if method.is_bias:
        rows = views.bias_curves(made, given.lines) if given.view else views.heads(made, given.head)
    elif given.view == 'curves':
        rows = views.curves(made, given.lines)
    else:
        rows = {None: views.values, 'similarity': views.similarity, 'spectrum': views.spectrum}[given.view](made)
    return draw(method.title + _TITLES[given.view], rows, method.describe(given))


def _draw_study(given):
    if given.view or given.lines or given.head:
        raise options.Refused(f'{given.method} is one picture: leave --similarity, --curves, --spectrum, --lines and '
                              '--head away')
    study = options.method_of(given, studies.STUDIES)
    return draw(study.title, study.make(given), study.describe(given))


def _draw(given):
    options.check_path(given.path, FORMATS)
    figure = _draw_study(given) if given.method in studies.STUDIES else _draw_method(given)
    save(figure, given.path, given.dpi)


def main(arguments):
    """The exit status."""
    given = _new_parser().parse_args(arguments)
    return options.run('plot', lambda: _draw(given))
