"""Encodings and biases by name, with their options, for `python -m posenc table` and `plot`.

A method is a function of its options below the decorator that names it: _encoding (it returns Rows) or _bias (Bias).
"""
import os
from dataclasses import dataclass

import numpy as np

import posenc

from . import _tables


@dataclass
class Rows:
    """An encoding: a row for each position, in one plane or, as cosines and sines, in several."""
    values: np.ndarray        #: (n_planes, n_rows, n_columns)
    first: int = 0            #: position of row 0
    row: str = 'position'
    column: str = 'channel'
    planes: tuple = ('',)
    unit: str = 'value'


@dataclass
class Bias:
    """Bias of attention scores; -inf for masked keys."""
    values: np.ndarray        #: (n_heads, n_queries, n_keys)
    is_causal: bool = True
    is_by_offset: bool = True #: True if it depends on key - query alone
    unit: str = 'bias'
    row: str = 'query'
    column: str = 'key'


# ---- Options ----


@dataclass(frozen=True)
class Option:
    """A number from low to high, or one of some words."""
    help: str
    low: float = 0
    high: float = 0
    is_whole: bool = True
    words: tuple = ()
    of: str = ''              #: means something only with another word than the first of this option
    is_file: bool = False     #: names a file, and '' none

    def parse(self, text):
        """ValueError if it is none, which tells what is expected."""
        if self.is_file:
            return text
        if self.words:
            if text not in self.words:
                raise ValueError(f'takes {", ".join(self.words)}, not {text!r}')
            return text
        kind = 'whole number' if self.is_whole else 'number'
        try:
            value = int(text) if self.is_whole else float(text)
        except ValueError:
            value = float('nan')
        if not self.low <= value <= self.high:
            raise ValueError(f'takes a {kind} from {self.low:.10g} to {self.high:.10g}, not {text!r}')
        return value


_MANY = 1 << 24

#: Options by what they are for.
GROUPS = {
    'most methods': {
        'length': Option('positions; of a bias, queries and keys', 1, _MANY),
        'start': Option('the first position', -2**31, 2**31 - 1),
        'dim': Option('channels', 1, 1 << 21),
        'seed': Option('which random numbers', 0, 10**15),
    },
    'sinusoids and rotations': {
        'base': Option('base of the frequencies', 1, 1e30, is_whole=False),
        'layout': Option('order of sines and cosines', words=('interleaved', 'concat', 'complex', 'concat-cos')),
        'schedule': Option('divisor of the exponents', words=('half', 'half-minus-1')),
        'odd': Option('the last channel of an odd dim', words=('sin', 'zero')),
        'shift': Option("diffusers' downscale_freq_shift", 0, 1000, is_whole=False),
    },
    'rotations': {
        'scaling': Option('how frequencies are stretched', words=('none', 'linear', 'ntk', 'dynamic', 'yarn', 'llama3')),
        'factor': Option('factor of the scaling', 1, 1e9, is_whole=False, of='scaling'),
        'context': Option('positions of the training, before the scaling; dynamic is as for factor times as many', 1, 10**9,
                          of='scaling'),
    },
    'tables': {
        'trained': Option('rows of a learned table', 1, _MANY),
        'table': Option('trained numbers: FILE.npy, FILE.safetensors:TENSOR or FILE.gguf:TENSOR', is_file=True),
        'deviation': Option('standard deviation of random numbers', 0, 1e9, is_whole=False),
        'resize': Option('interpolation', words=('linear', 'cubic')),
    },
    'blocks, integers, Fourier features and bumps': {
        'block': Option('positions of a block', 1, _MANY),
        'alpha': Option('exponent of the scales', 0, 1000, is_whole=False),
        'sigma': Option('width of a Gaussian', 1e-6, 1e8, is_whole=False),
    },
    'images': {
        'order': Option('which of row and column comes first', words=('w-first', 'h-first', 'timm')),
        'height': Option('rows of an image or a grid', 1, 4096),
        'width': Option('columns of an image or a grid', 1, 4096),
    },
    'biases': {
        'heads': Option('heads', 1, 4096),
        'max-bias': Option("ALiBi's exponent", 0, 100, is_whole=False),
        'buckets': Option('buckets of distances', 2, 4096),
        'max-distance': Option('distance from which on all are alike', 0, _MANY),
        'p': Option("KERPLE's p", 0, 1000, is_whole=False),
        'a': Option("KERPLE's a", 0, 1000, is_whole=False),
        'mask': Option('whether keys after the query are masked', words=('causal', 'full')),
        'window': Option('keys a query sees on either side, itself included, or 0 for all', 0, _MANY),
        'chunk': Option('keys are seen within chunks of so many positions, or 0 for everywhere', 0, _MANY),
    },
}
OPTIONS = {name: option for group in GROUPS.values() for name, option in group.items()}


@dataclass(frozen=True)
class Method:
    name: str
    title: str                #: of a picture
    help: str                 #: one line
    is_bias: bool
    defaults: dict            #: of its options
    make: object              #: a function of the options, by attributes
    n_parts: int = 1          #: of dim channels each, side by side

    def bytes(self, o):
        """Bytes of the whole table, about."""
        n = o.height * o.width if 'height' in self.defaults else o.length
        return 4 * n * (n * o.heads if self.is_bias else o.dim * self.n_parts)

    def has_meaning(self, name, o):
        """Whether an option says something, with the others as they are."""
        of = OPTIONS[name].of
        return of not in self.defaults or getattr(o, of) != OPTIONS[of].words[0]

    def describe(self, o):
        """Options that differ from their defaults, and numbers other than 0. Axes show length and start."""
        said = []
        for name, default in self.defaults.items():
            value, option = getattr(o, name.replace('-', '_')), OPTIONS[name]
            if name in ('length', 'start') or not self.has_meaning(name, o) or (o.table and name in ('deviation', 'seed')):
                continue
            if option.is_file:
                said += [f'{name} {os.path.basename(value)}'] if value else []
            elif value != default or (not option.words and value != 0):
                said.append(f'{name} {value if option.words else format(value, ".10g")}')
        return ', '.join(said)


METHODS = {}


def _method(name, title, is_bias, defaults, n_parts=1):
    def add(make):
        METHODS[name] = Method(name, title, make.__doc__, is_bias, defaults, make, n_parts)
        return make
    return add


def _encoding(name, title, n_parts=1, **defaults):
    return _method(name, title, False, {key.replace('_', '-'): value for key, value in defaults.items()}, n_parts)


def _bias(name, title, **defaults):
    return _method(name, title, True, {key.replace('_', '-'): value for key, value in defaults.items()})


def positions(o):
    return np.arange(o.start, o.start + o.length, dtype=np.int64).astype(np.int32)


def _rows(encoding, o, **more):
    return Rows(encoding(positions(o))[None], o.start, **more)


# ---- Sinusoids ----

_WHERE = dict(length=128, start=0)
_WIDE = dict(dim=128, base=10000.0)


@_encoding('sinusoidal', 'Sinusoidal encoding', **_WHERE, **_WIDE, layout='interleaved', schedule='half', odd='sin')
def sinusoidal(o):
    """Sines and cosines of the Transformer; complex numbers (A.1, A.2, A.4, A.17)"""
    layout, schedule = o.layout.replace('-', '_'), o.schedule.replace('-', '_')
    return _rows(posenc.sinusoidal(o.dim, layout, schedule=schedule, odd=o.odd, base=o.base), o)


@_encoding('timestep', 'Timestep embedding', length=1000, start=0, **_WIDE, layout='concat', shift=1.0)
def timestep(o):
    """Timestep embedding of diffusion models (A.3)"""
    return _rows(posenc.timestep(o.dim, flip_sin_to_cos=o.layout == 'concat-cos', downscale_freq_shift=o.shift,
                                 max_period=o.base), o)


def rope_of(o):
    """posenc.Rope by the options base, scaling, factor and context."""
    scaling = {'type': o.scaling}
    if o.scaling != 'none':
        scaling.update(factor=o.factor, original_context=o.context, context=o.context * o.factor)
    return posenc.Rope(o.dim, base=o.base, scaling=scaling)


@_encoding('rope', 'Rotary embedding', **_WHERE, **_WIDE, scaling='none', factor=4.0, context=4096)
def rope(o):
    """Cosines and sines of the rotary embedding, with its scalings (B.1, B.9 - B.17)"""
    return Rows(np.stack(rope_of(o).table(positions(o))), o.start, column='pair', planes=('cosine', 'sine'))


@_encoding('blocks', 'Block-wise encoding', n_parts=2, **_WHERE, dim=64, base=10000.0, block=16)
def blocks(o):
    """Sinusoids of the block's number beside those of the place in it (A.11)"""
    waves = posenc.sinusoidal(o.dim, 'interleaved', base=o.base)
    parts = [dict(encoding=waves, divide=o.block), dict(encoding=waves, modulo=o.block)]
    return _rows(posenc.concat(parts), o)


# ---- Tables: normal random numbers in place of trained ones ----


def _random(o, n_rows, n_columns, deviation=1.0):
    return posenc.fill_normal(np.empty((n_rows, n_columns), np.float32), o.seed, deviation=deviation)


#: Options that are a file's to say, where --table names one.
OF_TABLE = ('trained', 'dim', 'buckets', 'heads', 'deviation', 'seed')


def _trained(o, rows, columns, deviation=1.0):
    """The table of --table, whose extents become the options of these names; or random numbers."""
    if not o.table:
        return _random(o, getattr(o, rows), getattr(o, columns), deviation)
    table = _tables.read(o.table)
    setattr(o, rows, table.shape[0])
    setattr(o, columns, table.shape[1])
    return table


def _learned(table, o):
    """The table begins where the picture does, and is 0 beyond its end."""
    return posenc.learned(table, offset=-o.start, out_of_range='zero')


def _waves_and_table(o, dim):
    table = _learned(_random(o, o.trained, dim, o.deviation), o)
    return [posenc.sinusoidal(dim, 'interleaved', base=o.base), table]


@_encoding('learned', 'Learned table', **_WHERE, table='', dim=128, trained=128, deviation=0.02, seed=1)
def learned(o):
    """A table, of a file or of random numbers, zero beyond its trained rows (A.7)"""
    return _rows(_learned(_trained(o, 'trained', 'dim', o.deviation), o), o)


@_encoding('trainable', 'Trainable sinusoid', **_WHERE, **_WIDE, trained=128, deviation=0.2, seed=1)
def trainable(o):
    """Sinusoids and a table added to them (A.8)"""
    return _rows(posenc.sum(_waves_and_table(o, o.dim)), o)


@_encoding('hybrid', 'Hybrid of sinusoid and table', **_WHERE, **_WIDE, trained=96, deviation=0.5, seed=1)
def hybrid(o):
    """Sinusoids, and a table beside them that ends with its trained rows (A.10)"""
    return _rows(posenc.concat(_waves_and_table(o, (o.dim + 1) // 2)), o)


@_encoding('resized', 'Resized table', **_WHERE, table='', dim=32, trained=16, resize='linear', deviation=0.02, seed=1)
def resized(o):
    """A table of trained rows, resized to the length (A.12)"""
    small = _trained(o, 'trained', 'dim', o.deviation)
    large = posenc.table_resize(small, method=o.resize, w_in=o.trained, w_out=o.length)
    return _rows(_learned(large, o), o)


# ---- Integers, bits, features, bumps ----


@_encoding('integer', 'Integer encoding', **_WHERE, dim=16, alpha=0.0)
def integer(o):
    """Integers over length - 1; with alpha several scales (A.13, A.14)"""
    return _rows(posenc.integer(o.dim, o.length, alpha=o.alpha), o)


@_encoding('binary', 'Binary code', length=64, start=0, dim=6)
def binary(o):
    """Bits, the lowest first (A.15)"""
    return _rows(posenc.bits(o.dim, 'binary'), o, column='bit', unit='bit')


@_encoding('gray', 'Gray code', length=64, start=0, dim=6)
def gray(o):
    """Bits of the Gray code (A.16)"""
    return _rows(posenc.bits(o.dim, 'gray'), o, column='bit', unit='bit')


@_encoding('fourier', 'Random Fourier features', **_WHERE, dim=64, sigma=2.0, seed=1)
def fourier(o):
    """Random Fourier features of positions from 0 to 1 (A.18)"""
    encoding = posenc.fourier((o.dim + 1) // 2, sigma=o.sigma, seed=o.seed)
    return Rows(encoding((positions(o) / o.length).astype(np.float32))[None], o.start)


@_encoding('rbf', 'Gaussian basis', **_WHERE, dim=16, sigma=8.0)
def rbf(o):
    """Gaussian bumps, as many as dim (A.19)"""
    return _rows(posenc.rbf(np.linspace(o.start, o.start + o.length - 1, o.dim), o.sigma), o, column='bump')


# ---- Images ----


def _tokens(o):
    """Rows and columns of the tokens of an image."""
    return np.indices((o.height, o.width)).reshape(2, -1).astype(np.int32)


@_encoding('grid', '2D sinusoidal encoding', height=14, width=14, **_WIDE, order='w-first')
def grid(o):
    """Sinusoids of the rows and columns of an image (A.21)"""
    return Rows(posenc.grid(o.dim, o.order.replace('-', '_'), base=o.base)(_tokens(o))[None], row='token')


@_encoding('axial', 'Axial encoding', height=14, width=14, dim=64, deviation=0.02, seed=1)
def axial(o):
    """Tables for the rows and the columns of an image, summed (A.22)"""
    table = _random(o, o.height + o.width, o.dim, o.deviation)
    by_row, by_column = posenc.learned(table[:o.height]), posenc.learned(table[o.height:])
    encoding = posenc.sum([dict(encoding=by_row), dict(encoding=by_column, axis=1)])
    return Rows(encoding(_tokens(o))[None], row='token')


# ---- Biases ----

_MASK = dict(mask='causal', window=0, chunk=0)


def _mask(o):
    is_causal = o.mask == 'causal'
    window = (o.window if is_causal else (o.window - 1, o.window - 1)) if o.window else None
    return dict(causal=is_causal, window=window, chunk=o.chunk)


def offsets(o):
    """All that queries and keys can meet."""
    return range(1 - o.length, o.length)


def _of_offset(o, bias=None):
    values = posenc.bias_matrix(o.length, o.length, o.heads, bias=bias, **_mask(o))
    return Bias(values[0], o.mask == 'causal')


def _by_head(o, from_head):
    return np.array([from_head(h) for h in range(o.heads)], np.float32)


@_bias('nope', 'No bias', length=64, heads=1, **_MASK)
def nope(o):
    """No bias, only the mask (C.23, C.24, C.29)"""
    return _of_offset(o)


@_bias('alibi', 'ALiBi', length=64, heads=8, max_bias=8.0, **_MASK)
def alibi(o):
    """Linear biases, head by head (C.2, C.3)"""
    return _of_offset(o, posenc.RelBias.alibi(posenc.alibi_slopes(o.heads, o.max_bias), offsets(o)))


@_bias('t5', 'T5 relative bias', length=64, table='', heads=8, buckets=32, max_distance=128, seed=1, **_MASK)
def t5(o):
    """T5's buckets, of a file or random (C.5, C.6); with a full mask those of the encoder"""
    table = _trained(o, 'buckets', 'heads')
    return _of_offset(o, posenc.RelBias.t5(table, offsets(o), max_distance=o.max_distance, bidirectional=o.mask == 'full'))


@_bias('clipped', 'Clipped relative bias', length=64, heads=8, max_distance=16, seed=1, **_MASK)
def clipped(o):
    """A random bias for each offset up to max-distance (C.10)"""
    index = posenc.RelIndex.clipped(o.max_distance, offsets(o))
    return _of_offset(o, posenc.RelBias.gather(index, _random(o, 2 * o.max_distance + 1, o.heads)))


def _kerple(o, kind):
    p, a = _by_head(o, lambda h: o.p * (h + 1) / o.heads), _by_head(o, lambda h: o.a)
    return _of_offset(o, posenc.RelBias.kerple(p, a, offsets(o), kind=kind))


@_bias('kerple-log', 'KERPLE, logarithmic', length=64, heads=8, p=2.0, a=1.0, **_MASK)
def kerple_log(o):
    """KERPLE, logarithmic; head h of H has p (h+1)/H (C.16)"""
    return _kerple(o, 'log')


@_bias('kerple-power', 'KERPLE, power', length=64, heads=8, p=1.5, a=0.5, **_MASK)
def kerple_power(o):
    """KERPLE, power; head h of H has p (h+1)/H (C.16)"""
    return _kerple(o, 'power')


@_bias('kerple-rbf', 'KERPLE, Gaussian', length=64, heads=8, sigma=4.0, **_MASK)
def kerple_rbf(o):
    """KERPLE, Gaussian; head h has sigma (h+1) (C.16)"""
    return _of_offset(o, posenc.RelBias.rbf(_by_head(o, lambda h: o.sigma * (h + 1)), offsets(o)))


@_bias('sandwich', 'Sandwich', length=64, heads=8, dim=128, base=10000.0, **_MASK)
def sandwich(o):
    """Sums of cosines, head by head (C.18)"""
    return _of_offset(o, posenc.RelBias.sandwich(o.heads, offsets(o), dim=o.dim, base=o.base))


@_bias('cosine', 'Cosine bias', length=64, heads=8, base=10000.0, **_MASK)
def cosine(o):
    """A cosine for each head, of frequency base^(-h/H) (C.30)"""
    return _of_offset(o, posenc.RelBias.cosine(o.base ** (-np.arange(o.heads) / o.heads), offsets(o)))


@_bias('swin', 'Swin relative bias', height=7, width=7, heads=3, seed=1)
def swin(o):
    """Swin's window of an image, with random biases (C.20)"""
    table = _random(o, (2 * o.height - 1) * (2 * o.width - 1), o.heads)
    return Bias(posenc.swin_bias(table, o.height, o.width), is_causal=False, is_by_offset=False)
