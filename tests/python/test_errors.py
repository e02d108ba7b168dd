"""Anything in place of an array raises a TypeError or ValueError that names the argument, in words of Python and one
line, without the array."""
import numpy as np
import pytest
from calls import CALLS, call

# Names of arguments that differ from the table's.
NAMES = {('Rope.__call__ in place', 'out'): 'x', ('Rope.apply_tensors', 'out'): 'y', ('Fire.add', 'out'): 'y',
         ('Rope.apply_tensors in place', 'out'): 'x', ('softmax in place', 'out'): 'x', ('fill_normal', 'out'): 'y',
         ('fill_uniform', 'out'): 'y', ('relative_values', 'out'): 'z', ('decomposed_add', 'out'): 'scores',
         ('softmax by_query', 'products'): 'by_query', ('softmax by_key', 'products'): 'by_key'}
OF_CPP = 'std::', 'C++', 'Unable to cast', 'handle', 'incompatible'
TAKEN = {'alibi_slopes': ['other order']}  # (n_batch, n_heads), which NumPy copies

BAD = {
    'text': 'x', 'bytes': b'x', 'texts': ['x'], 'list of None': [None], 'dict': {}, 'object': object(), 'complex': 1j,
    'complex numbers': [1j], 'bool': True, 'booleans': [True, False], 'large int': 2 ** 70, 'large ints': [2 ** 70],
    "NumPy's number": np.float32(1.5), 'dates': np.zeros(3, 'M8[s]'),
    'records': np.zeros(3, [('a', 'f4'), ('b', 'i2')]),
    'seven axes': np.zeros((1,) * 7, 'f4'), 'no axes': np.zeros((), 'f4'), 'unsigned': np.zeros(3, 'u8'),
    'objects': np.array([None, {}], object), 'other order': np.zeros((2, 2), '>f4'), 'ragged': [[1], [2, 3]],
}


@pytest.mark.parametrize('name', CALLS)
def test_bad_arguments(name):
    _, arrays = CALLS[name]
    for argument in arrays:
        plain = argument.split('.')[1] if argument.startswith('tensors.') else argument.split('.')[0]
        expected = NAMES.get((name, argument), plain)
        for what, bad in BAD.items():
            if what in TAKEN.get(argument, []):
                continue
            with pytest.raises((TypeError, ValueError)) as error:
                call(name, {**arrays, argument: bad})
                pytest.fail(f'{argument} is taken: {what}')
            message = str(error.value)
            assert message.startswith(f'{expected}: ') or f': {expected}: ' in message, (argument, what, message)
            assert not any(word in message for word in OF_CPP), (argument, what, message)
            assert '\n' not in message and 'array(' not in message, (argument, what, message)
