"""Memory of the caller that a call reads or writes without the interpreter's lock: it is held until the call returns,
and what is read is not what is written."""
import ast
import pathlib
import sys
import threading

import numpy as np
import pytest
import truth
from calls import CALLS, D, N, NOBODY_HIDDEN, ROPE, call, cast, x

import posenc

STUBS = pathlib.Path(posenc.__file__).parent / '_core.pyi'
WITHOUT_THREADS = {'attention_reference', 'Freq.__call__'}  # which release the lock all the same
COPIED = {('Rope.apply_tensors', 'positions')}  # while the lock is held


def argument_of(array):
    return array.split('.')[0]


@pytest.fixture(scope='module', autouse=True)
def slow_calls():
    tier = posenc.isa()
    posenc.isa_select('scalar')
    yield
    posenc.isa_select(tier)


# ---- The table is complete ----

def stub_parameters():
    """Arrays that each function takes which may release the lock, by the stubs."""
    tree = ast.parse(STUBS.read_text())
    fields, functions = {}, {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            fields[node.name] = [item for item in node.body if isinstance(item, ast.AnnAssign)]
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef):
                functions[function.name if function is node else f'{node.name}.{function.name}'] = function
    options = {'softmax': fields['ScoreArguments'], 'attention': fields['AttentionArguments']}
    for name, function in functions.items():
        arguments = function.args.args + function.args.kwonlyargs
        if 'threads' not in [argument.arg for argument in arguments] and name not in WITHOUT_THREADS:
            continue
        named = [(argument.arg, argument.annotation) for argument in arguments if argument.annotation]
        named += [(item.target.id, item.annotation) for item in options.get(name, [])]
        yield name, {argument for argument, annotation in named
                     if any(kind in ast.unparse(annotation) for kind in ('Array', 'Numbers', 'dict['))}


def test_the_table_has_every_array_of_every_call():
    found = {}
    for name, (_, arrays) in CALLS.items():
        found.setdefault(name.split()[0], set()).update(map(argument_of, arrays))
    written = {'Fire.add': 'y', 'fill_normal': 'y', 'fill_uniform': 'y', 'relative_values': 'z',
               'decomposed_add': 'scores'}
    for function, argument in written.items():  # which the table calls 'out'
        found[function].add(argument)
    found['softmax'] |= {'by_query', 'by_key'}
    for name, arguments in stub_parameters():
        if name != 'Fire.__call__':  # which takes none
            assert arguments - found[name] == set(), name


# ---- What a call uses is held ----

def is_held(name, argument):
    """Whether another thread can neither release nor resize the memory of an argument while the call runs."""
    arrays = dict(CALLS[name][1])
    memory = bytearray(arrays[argument].tobytes())
    view = arrays[argument] = cast(memory, arrays[argument])
    begun, others = threading.Event(), {key: cast(bytearray(value.tobytes()), value) for key, value in arrays.items()
                                        if key != argument}

    def work():
        begun.set()
        call(name, {**others, argument: view})

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # the worker has the interpreter's lock until the call releases it
    worker = threading.Thread(target=work)
    try:
        worker.start()
        begun.wait()
        view.release()
        memory.pop()  # of a bytearray that nobody looks at it moves nothing
        return False
    except BufferError:
        return True
    finally:
        worker.join()
        sys.setswitchinterval(interval)


HELD = [(name, argument) for name, (_, arrays) in CALLS.items() for argument in arrays
        if (name.split()[0], argument) not in COPIED]


@pytest.mark.parametrize('name,argument', HELD)
def test_memory_is_held_during_a_call(name, argument):
    assert any(is_held(name, argument) for _ in range(200))  # this thread may have had no CPU until the call returned


# ---- What a call reads it does not write ----

READ = [(name, argument) for name, argument in HELD if 'out' in CALLS[name][1] and argument != 'out']


@pytest.mark.parametrize('name,argument', READ)
def test_an_output_that_overlaps_an_input_is_refused(name, argument):
    arrays = dict(CALLS[name][1])
    read, out = arrays[argument], arrays['out']
    memory = bytearray(max(read.nbytes + 8, out.nbytes))
    memory[:out.nbytes] = out.tobytes()
    memory[8:8 + read.nbytes] = read.tobytes()
    arrays = {key: cast(value.tobytes(), value) for key, value in arrays.items()}
    arrays[argument] = cast(memoryview(memory)[8:8 + read.nbytes], read)
    arrays['out'] = cast(memoryview(memory)[:out.nbytes], out)
    before = bytes(memory)
    with pytest.raises(ValueError, match='overlap'):
        call(name, arrays)
    assert memory == before


def test_inputs_beside_the_output_are_taken():
    memory = np.zeros(4 * D + 8, 'f4')
    positions, out = memory[:4].view('i4'), memory[8:].reshape(4, 1, D)
    assert ROPE(x(4, 1, D), positions, out=out) is out
    assert np.array_equal(out, ROPE(x(4, 1, D), [0] * 4))
    out = memory[4:4 + 4 * D].reshape(4, 1, D)
    assert np.array_equal(ROPE(x(4, 1, D), positions, out=out), ROPE(x(4, 1, D), [0] * 4))


def test_the_data_of_a_relative_bias():
    memory = bytearray(8 * N * N)
    out, bias = cast(memoryview(memory)[:4 * N * N], np.zeros((1, 1, N, N), 'f4')), np.zeros((1, 2 * N - 1), 'f4')
    data = memoryview(memory)[4 * N:].cast('f')[:2 * N - 1].cast('B').cast('f', bias.shape)
    bias = posenc.RelBias(data, 1 - N)
    data.release()
    with pytest.raises(ValueError, match='bias: .*overlap'):
        posenc.softmax(x(1, 1, N, N), **NOBODY_HIDDEN, bias=bias, out=out)
    out.release()
    with pytest.raises(BufferError):
        memory.pop()
