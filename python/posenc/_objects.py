"""repr, pickle and deepcopy of what the extension module makes: each object remembers the call that made it."""
import functools
import weakref

import numpy as np

from . import _core

_FACTORIES = ('sinusoidal', 'timestep', 'grid', 'fourier', 'integer', 'bits', 'rbf', 'concat', 'sum', 'learned')
_MOST_SHOWN = 8  # numbers of an array

_calls = weakref.WeakKeyDictionary()  # object: (name, positional, keyword arguments)


def make(name, positional, given):
    """The object of a call that was remembered."""
    found = _core
    for part in name.split('.'):
        found = getattr(found, part)
    function = _makers.get(name, found)
    return function(*positional, **given)


def _kept(value):
    """Small arrays are copied, for the C object did so; tables are used where they lie, by it and here."""
    if isinstance(value, np.ndarray) and value.ndim < 2:
        return value.copy()
    if isinstance(value, list):
        return list(value)
    return tuple(value) if hasattr(value, '__next__') else value


def _remember(name, function, is_method):
    @functools.wraps(function)
    def remembering(*args, **given):
        args = tuple(_kept(value) for value in args)  # an iterator can be read once
        result = function(*args, **given)
        made, args = (args[0], args[1:]) if is_method else (result, args)
        _calls[made] = name, args, {key: _kept(value) for key, value in given.items()}
        return result
    return remembering


def _text_of(value):
    if isinstance(value, (tuple, list)) and any(hasattr(each, 'shape') for each in value):
        return '[' + ', '.join(_text_of(each) for each in value) + ']'
    if hasattr(value, 'shape') and hasattr(value, 'dtype'):
        if len(value.shape) == 1 and value.shape[0] <= _MOST_SHOWN:
            return repr(value.tolist())
        return f'<{str(value.dtype).split(".")[-1]} {tuple(value.shape)}>'
    return repr(value)


def call_of(made):
    """(name, positional, keyword arguments) of the call that makes an equal object."""
    if isinstance(made, _core.RelBias):  # whose numbers may have been written to
        _, _, given = _calls.get(made, ('', (), {}))
        more = {'clamped': made.is_clamped} if made.is_clamped else {}
        if given.get('shared'):
            more['shared'] = True
        return 'RelBias', (made.data, made.offsets.start), more
    return _calls[made]


def _repr(made):
    try:
        name, positional, given = call_of(made)
    except KeyError:
        return object.__repr__(made)
    parts = [_text_of(value) for value in positional]
    return f'posenc.{name}({", ".join(parts + [f"{key}={_text_of(value)}" for key, value in given.items()])})'


def _reduce(made):
    return make, call_of(made)


_makers = {}


def _rows_at_once(sinusoidal):
    @functools.wraps(sinusoidal)
    def either(*args, **options):
        if len(args) == 2 and isinstance(args[1], int):
            n_positions, dim = args
            return sinusoidal(dim, options.pop('layout', 'interleaved'), **options)(np.arange(n_positions))
        return sinusoidal(*args, **options)
    either.__doc__ += '\n\nsinusoidal(n_positions, dim) gives the rows of the first positions at once, float32 (n_positions, dim).'
    return either


def _each(function, positions):
    """A function of one position, of a number or of an array of them."""
    if np.ndim(positions) == 0:
        return function(positions)
    positions = np.asarray(positions)
    return np.array([function(int(one)) for one in positions.reshape(-1)], np.float32).reshape(positions.shape)


def _temperatures(of_one, of_rope):
    @functools.wraps(of_one)
    def query_temperature(position, attn_scale, floor_scale):
        return _each(lambda one: of_one(one, attn_scale, floor_scale), position)

    @functools.wraps(of_rope)
    def method(self, position):
        return _each(lambda one: of_rope(self, one), position)

    return query_temperature, method


def install(namespace):
    """Puts the remembering functions into the namespace of the package, and methods into the classes."""
    for name in _FACTORIES:
        namespace[name] = _makers[name] = _remember(name, getattr(_core, name), is_method=False)
    for kind in vars(_core).values():
        if not isinstance(kind, type) or kind is _core.Error:
            continue
        name = kind.__name__
        if '__init__' in vars(kind):
            kind.__init__ = _remember(name, kind.__init__, is_method=True)
        for method, function in list(vars(kind).items()):
            if isinstance(function, staticmethod):
                setattr(kind, method, staticmethod(_remember(f'{name}.{method}', function.__func__, is_method=False)))
        kind.__repr__, kind.__reduce__ = _repr, _reduce
    namespace['sinusoidal'] = _rows_at_once(namespace['sinusoidal'])
    namespace['query_temperature'], _core.Rope.query_temperature = _temperatures(
        _core.query_temperature, _core.Rope.query_temperature)
    _core.Rope.local = _remember('Rope.local', _core.Rope.local, is_method=False)
