"""python -m posenc table METHOD -o FILE.npy"""
import numpy as np

from . import options
from ._files import whole

_MOST_BYTES = 4 << 30 # beyond this a file is more likely a slip than a wish


def _write(given):
    options.check_path(given.path, ('.npy',))
    method = options.method_of(given)
    size = method.bytes(given)
    if size > _MOST_BYTES and not given.large:
        raise options.Refused(f'this file would have {size / 2**30:.1f} GiB: use a smaller --length, or add --large to '
                              'write it all the same')
    values = method.make(given).values
    with whole(given.path) as part, open(part, 'wb') as file: # no axis of planes where there is but one
        np.save(file, values if method.is_bias or len(values) > 1 else values[0])


def main(arguments):
    """The exit status."""
    parser = options.new_parser('table', 'Writes an encoding, or the biases of every head, as a NumPy file: float32, '
                                '[position, channel], [plane, position, channel] where a method has several planes, or '
                                '[head, query, key] with -inf where a key is masked.')
    parser.add_argument('method', metavar='METHOD')
    parser.add_argument('--large', action='store_true', help='write the file even if it has more than 4 GiB')
    given = parser.parse_args(arguments)
    return options.run('table', lambda: _write(given))
