"""Writes small GGUF files for tests, whole or wrong on purpose."""
import struct

TYPES = {'u8': (0, 'B'), 'i8': (1, 'b'), 'u16': (2, 'H'), 'i16': (3, 'h'), 'u32': (4, 'I'), 'i32': (5, 'i'),
         'f32': (6, 'f'), 'bool': (7, '?'), 'string': (8, None), 'u64': (10, 'Q'), 'i64': (11, 'q'), 'f64': (12, 'd')}
ARRAY = 9


def text(value):
    value = value.encode(errors='surrogateescape')
    return struct.pack('<Q', len(value)) + value


def key(name, type_number):
    return text(name) + struct.pack('<I', type_number)


def _element(type_, value):
    return text(value) if type_ == 'string' else struct.pack('<' + TYPES[type_][1], value)


def value(name, type_, content):
    """A list is an array."""
    number = TYPES[type_][0]
    if not isinstance(content, list):
        return key(name, number) + _element(type_, content)
    head = key(name, ARRAY) + struct.pack('<IQ', number, len(content))
    return head + b''.join(_element(type_, element) for element in content)


def tensor(name, n, type_=0, offset=0):
    """Entry of a tensor of one dimension; type 0 is float32."""
    return text(name) + struct.pack('<IQIQ', 1, n, type_, offset)


def begin(version, n_tensors, n_values):
    return b'GGUF' + struct.pack('<IQQ', version, n_tensors, n_values)


def common(architecture):
    """Every key that all architectures have. Heads of 8 channels."""
    counts = {'block_count': 2, 'context_length': 4096, 'embedding_length': 16, 'attention.head_count': 2,
              'attention.head_count_kv': 1}
    return [('general.architecture', 'string', architecture),
            *((f'{architecture}.{name}', 'u32', count) for name, count in counts.items())]


def lists(before, n_lists, n):
    """n_lists lists of n numbers 1, 2, 3 ... of float32, each on a line of 32 bytes."""
    data = before
    for _ in range(n_lists):
        data += bytes(-len(data) % 32) + struct.pack(f'<{n}f', *range(1, n + 1))
    return data


def header(values, tensors=(), version=3):
    return begin(version, len(tensors), len(values)) + b''.join(value(*v) for v in values) + \
        b''.join(tensor(*t) for t in tensors)
