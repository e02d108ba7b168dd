"""A reader of GGUF files, versions 2 and 3: the metadata, the list of tensors, and small float32 tensors.

Every count and offset in the file is checked against its size before it is used, and none decides how much memory is
taken: arrays are read where they lie, when somebody asks. Weights may be missing from the end: only what is read must
be there.
"""
import mmap
import struct
from dataclasses import dataclass

_NUMBERS = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: '?', 10: 'Q', 11: 'q', 12: 'd'}
_STRING, _ARRAY, _U32 = 8, 9, 4
_FLOAT32 = 0 # of tensors
_MOST_DIMS = 4
_MOST_TEXT = 127 # longer names and texts are cut off; nothing that is looked for is as long
_MOST_NUMBERS = 1 << 16 # of an array that is asked for: no model has as many layers, nor a head as many pairs
_MOST_KEYS, _MOST_TENSORS = 1 << 15, 1 << 16 # far more than any model has


class Damaged(ValueError):
    """A fault of the file, in words that follow 'the GGUF file'."""


@dataclass
class Value:
    key: str
    text: str = ''       #: of a string; of an array of strings the last
    is_text: bool = False
    is_array: bool = False
    type: int = -1
    data: object = b''   #: of the file
    start: int = 0       #: where its numbers lie, of which there are n
    n: int = 0

    def _read(self, n):
        layout = struct.Struct(f'<{_NUMBERS[self.type]}')
        return [layout.unpack_from(self.data, self.start + i * layout.size)[0] for i in range(n)]

    @property
    def numbers(self):
        """One, or those of an array; () of texts."""
        if self.is_text:
            return []
        if self.n > _MOST_NUMBERS:
            raise Damaged(f'has an array of {self.n} numbers as "{self.key}", which makes no sense; fetch it again')
        return self._read(self.n)

    @property
    def first(self):
        return self._read(1)[0] if self.n and not self.is_text else 0.0

    @property
    def largest(self):
        return max(self.numbers, default=0.0)

    @property
    def n_zeros(self):
        return sum(number == 0 for number in self.numbers)


@dataclass
class Tensor:
    name: str
    dims: tuple
    type: int
    offset: int #: from where the data begins


class _Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def skip(self, n):
        if n > len(self.data) - self.at:
            raise Damaged('ends too early; fetch it again')
        self.at += n
        return self.at - n

    def number(self, code):
        layout = f'<{code}'
        return struct.unpack_from(layout, self.data, self.skip(struct.calcsize(layout)))[0]

    def text(self):
        n = self.number('Q')
        start = self.skip(n)
        return self.data[start:start + min(n, _MOST_TEXT)].split(b'\0')[0].decode(errors='surrogateescape')

    def last_text(self, n):
        """The last of n texts; a tokenizer has many."""
        data, at, size, length = self.data, self.at, len(self.data), struct.Struct('<Q').unpack_from
        for _ in range(n - 1):
            if at > size - 8: # a wrong length ends there too
                break
            at += 8 + length(data, at)[0]
        self.at = min(at, size)
        return self.text() if n else ''


def _read_value(cursor):
    value = Value(cursor.text(), data=cursor.data)
    value.type, value.n = cursor.number('I'), 1
    value.is_array = value.type == _ARRAY
    if value.is_array:
        value.type, value.n = cursor.number('I'), cursor.number('Q')
    value.is_text = value.type == _STRING
    if value.is_text:
        value.text = cursor.last_text(value.n)
    elif value.type in _NUMBERS:
        value.start = cursor.skip(value.n * struct.calcsize('<' + _NUMBERS[value.type]))
    else:
        raise Damaged('holds a value of an unknown type; fetch it again')
    return value


def _read_tensor(cursor):
    name, n_dims = cursor.text(), cursor.number('I')
    if n_dims > _MOST_DIMS:
        raise Damaged('has a tensor of more than four dimensions; fetch it again')
    dims = tuple(cursor.number('Q') for _ in range(n_dims))
    return Tensor(name, dims, cursor.number('I'), cursor.number('Q'))


def _counted(n, most, what, read, cursor):
    """Yields what n calls of read return."""
    for i in range(n):
        if i == most:
            raise Damaged(f'has more than {most} {what}, which makes no sense; fetch it again')
        yield read(cursor)


class File:
    """values: all keys in their order. tensors: by name, of several the first."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._read_through(_Cursor(self._data))
        except Exception:
            self.close()
            raise

    def _read_through(self, cursor):
        cursor.skip(len(b'GGUF'))
        if cursor.number('I') not in (2, 3):
            raise Damaged('is of another version than 2 and 3, which posenc reads; convert the model anew with a '
                          'current tool')
        n_tensors, n_values = cursor.number('Q'), cursor.number('Q')
        # Every key and tensor takes some bytes, so wrong counts end with the file.
        self.values = list(_counted(n_values, _MOST_KEYS, 'keys', _read_value, cursor))
        alignment = 32
        for value in self.values:
            if value.key == 'general.alignment':
                alignment = value.first if value.type == _U32 else 0
        if not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
            raise Damaged('has a general.alignment that is no power of two up to 2^20; fetch it again')
        self.tensors = {}
        for tensor in _counted(n_tensors, _MOST_TENSORS, 'tensors', _read_tensor, cursor):
            self.tensors.setdefault(tensor.name, tensor)
        self._tensor_data = -(-cursor.at // alignment) * alignment

    def start_of(self, name):
        """Offset of a tensor's numbers in the file."""
        return self._tensor_data + self.tensors[name].offset

    def floats(self, name):
        """The numbers of a float32 tensor of one dimension; None if it is none, is empty or is not inside the file."""
        tensor = self.tensors[name]
        start = self.start_of(name)
        if tensor.type != _FLOAT32 or len(tensor.dims) != 1 or tensor.dims[0] == 0:
            return None
        end = start + 4 * tensor.dims[0]
        return [value for value, in struct.iter_unpack('<f', self._data[start:end])] if end <= len(self._data) else None

    def close(self):
        self._data.close()
