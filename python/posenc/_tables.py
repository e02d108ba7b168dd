"""Tables of trained numbers from files: FILE.npy, FILE.safetensors:TENSOR, FILE.gguf:TENSOR."""
import json
import math
import os

import numpy as np

from .model.gguf import File

_KINDS = ('.npy', '.safetensors', '.gguf')
_OF_SAFETENSORS = {'F64': '<f8', 'F32': '<f4', 'F16': '<f2', 'BF16': '<u2'}
_OF_GGUF = {0: '<f4', 1: '<f2', 30: '<u2', 28: '<f8'} # its types F32, F16, BF16, F64
_MOST_HEADER, _MOST_NAMES = 1 << 26, 6


def _widened(numbers):
    """float32. Whole numbers of 16 bits are bf16: the upper half of a float32."""
    if numbers.dtype == np.uint16:
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return np.asarray(numbers, np.float32)


def _choose(path, name, found):
    """The entry of this name; ValueError, which names some tensors with two axes, if there is none."""
    if name in found:
        return found[name]
    tables = [other for other, (_, shape, _) in found.items() if len(shape) == 2]
    some = ', '.join(tables[:_MOST_NAMES]) + (f' and {len(tables) - _MOST_NAMES} more' if len(tables) > _MOST_NAMES else '')
    what = f'there is no tensor {name!r} in {path}' if name else f'{path} has several tensors: name one, as {path}:NAME'
    raise ValueError(f'{what}; of two axes it has {some or "none"}')


def _read(path, kind, shape, start):
    """An array that lies in a file from `start` on."""
    n = math.prod(shape)
    if kind is None:
        raise ValueError(f'{path}: this tensor has a type that is not read; f64, f32, f16 and bf16 are')
    if start + n * np.dtype(kind).itemsize > os.path.getsize(path):
        raise ValueError(f'{path} ends before the end of this tensor')
    return _widened(np.fromfile(path, kind, n, offset=start).reshape(shape))


def _safetensors(path):
    """Type, shape and place of each tensor."""
    with open(path, 'rb') as file:
        size = int.from_bytes(file.read(8), 'little')
        if size > min(_MOST_HEADER, os.path.getsize(path)):
            raise ValueError(f'{path} is no safetensors file')
        try:
            header = json.loads(file.read(size))
            return {name: (_OF_SAFETENSORS.get(one['dtype']), tuple(map(int, one['shape'])), 8 + size + int(one['data_offsets'][0]))
                    for name, one in header.items() if name != '__metadata__'}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f'{path} is no safetensors file') from None


def _gguf(path):
    """The same of a GGUF file, whose first extent is that of a row."""
    try:
        file = File(path)
    except ValueError as error:
        raise ValueError(f'{path}: the GGUF file {error}') from None
    try:
        return {name: (_OF_GGUF.get(one.type), one.dims[::-1], file.start_of(name)) for name, one in file.tensors.items()}
    finally:
        file.close()


def read(where):
    """A table (n_rows, n_columns) as float32."""
    path, name = where, ''
    if not os.path.exists(path) and ':' in where:
        path, name = where.rsplit(':', 1)
    ending = os.path.splitext(path)[1]
    if ending not in _KINDS:
        raise ValueError(f'--table {where}: use FILE.npy, FILE.safetensors:TENSOR or FILE.gguf:TENSOR')
    if ending == '.npy':
        table = _widened(np.load(path, allow_pickle=False))
    else:
        found = _safetensors(path) if ending == '.safetensors' else _gguf(path)
        table = _read(path, *(next(iter(found.values())) if len(found) == 1 and not name else _choose(path, name, found)))
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f'--table {where}: a table has rows and columns, and this has the shape {tuple(table.shape)}')
    return table
