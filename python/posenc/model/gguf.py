"""A reader of GGUF files, versions 2 and 3: the metadata, the list of tensors, and small float32 tensors.

Every count and offset in the file is checked against its size before it is used, and none decides how much memory is
taken. Weights may be missing from the end: only what is read must be there.
"""
import mmap
import struct
from dataclasses import dataclass

_NUMBERS = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: '?', 10: 'Q', 11: 'q', 12: 'd'}
_STRING, _ARRAY, _U32 = 8, 9, 4
_FLOAT32 = 0 # of tensors
_MOST_DIMS = 4
_MOST_TEXT = 127 # longer names and texts are cut off; nothing that is looked for is as long


class Damaged(ValueError):
    """What is wrong with the file, to follow 'the GGUF file'."""


@dataclass
class Value:
    key: str
    text: str = ''       #: of a string; of an array of strings the last
    numbers: tuple = ()  #: one, or those of an array
    is_text: bool = False
    is_array: bool = False
    type: int = -1

    @property
    def first(self):
        return self.numbers[0] if self.numbers else 0.0

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

    def numbers(self, code, n=1):
        layout = struct.Struct(f'<{code}')
        start = self.skip(n * layout.size) # before the numbers are made, of which a wrong count would be many
        return tuple(value for value, in layout.iter_unpack(self.data[start:self.at]))

    def number(self, code):
        return self.numbers(code)[0]

    def text(self):
        n = self.number('Q')
        start = self.skip(n)
        return self.data[start:start + min(n, _MOST_TEXT)].split(b'\0')[0].decode(errors='surrogateescape')


def _read_value(cursor):
    value = Value(cursor.text())
    value.type, n = cursor.number('I'), 1
    value.is_array = value.type == _ARRAY
    if value.is_array:
        value.type, n = cursor.number('I'), cursor.number('Q')
    value.is_text = value.type == _STRING
    if value.is_text:
        for _ in range(n):
            value.text = cursor.text()
    elif value.type in _NUMBERS:
        value.numbers = cursor.numbers(_NUMBERS[value.type], n)
    else:
        raise Damaged('holds a value of an unknown type; fetch it again')
    return value


def _read_tensor(cursor):
    name, n_dims = cursor.text(), cursor.number('I')
    if n_dims > _MOST_DIMS:
        raise Damaged('has a tensor of more than four dimensions; fetch it again')
    return Tensor(name, cursor.numbers('Q', n_dims), cursor.number('I'), cursor.number('Q'))


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
        self.values = [_read_value(cursor) for _ in range(n_values)]
        alignment = 32
        for value in self.values:
            if value.key == 'general.alignment':
                alignment = value.first if value.type == _U32 else 0
        if not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
            raise Damaged('has a general.alignment that is no power of two up to 2^20; fetch it again')
        self.tensors = {}
        for _ in range(n_tensors):
            tensor = _read_tensor(cursor)
            self.tensors.setdefault(tensor.name, tensor)
        self._tensor_data = -(-cursor.at // alignment) * alignment

    def floats(self, name):
        """The numbers of a float32 tensor of one dimension; None if it is none, is empty or is not inside the file."""
        tensor = self.tensors[name]
        start = self._tensor_data + tensor.offset
        if tensor.type != _FLOAT32 or len(tensor.dims) != 1 or tensor.dims[0] == 0:
            return None
        end = start + 4 * tensor.dims[0]
        return [value for value, in struct.iter_unpack('<f', self._data[start:end])] if end <= len(self._data) else None

    def close(self):
        self._data.close()
