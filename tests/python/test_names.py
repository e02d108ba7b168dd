"""Every public function of C has its place in Python, and everything in Python a docstring and a type."""
import ast
import inspect
import pathlib
import re

import posenc
from posenc import _core

ROOT = pathlib.Path(__file__).parent.parent.parent

# Public functions that Python needs no name for, and what it has instead.
WITHOUT = {
    'posenc_attention': 'attention, by posenc_attention_run',
    'posenc_encoding_write': 'Encoding.__call__, by posenc_encoding_apply',
    'posenc_encoding_add': 'the same',
    'posenc_rope_apply': 'Rope.__call__, by posenc_rope_apply_at',
    'posenc_rope_params_from_ggml': "Rope(scaling={'type': 'ggml'})",
    'posenc_rope_table_fill': 'Rope.table, by posenc_rope_table_fill_at',
    'posenc_view_dense': 'arrays have extents and strides',
}


def test_every_function_of_c_is_bound():
    sources = ' '.join(path.read_text() for path in (ROOT / 'python/src').glob('*.[ch]pp'))
    called = set(re.findall(r'\bposenc_\w+', sources))
    symbols = set((ROOT / 'tests/exported-symbols.txt').read_text().split())
    assert symbols - called - set(WITHOUT) == set()
    assert set(WITHOUT) <= symbols - called


def described():
    """Each function and method of the module: its name, and itself."""
    for name, value in vars(_core).items():
        if name.startswith('_'):
            continue
        members = vars(value).items() if inspect.isclass(value) and value is not _core.Error else []
        if callable(value) and not inspect.isclass(value):
            yield name, value
        for member, function in members:
            function = getattr(function, '__func__', function)
            function = inspect.unwrap(function) if callable(function) else function
            function = getattr(function, '__func__', function)
            is_public = not member.startswith('_') or member in ('__init__', '__call__')
            if is_public and callable(function) and not inspect.isfunction(function):
                if not (function.__doc__ or '').startswith('Initialize self'):  # there is no constructor
                    yield f'{name}.{member}', function


def parameters(docstring):
    line = docstring.split('\n')[0]
    inside = line[line.index('(') + 1:line.rindex(')')]
    names = re.findall(r'(?:^|, )(\*?\*?\w*)(?=: |,|$)', re.sub(r' = (?:\'[^\']*\'|[^,]*)', '', inside))
    return [name for name in names if name not in ('', 'self', '*') and not name.startswith('**')]


def defaults(line):
    """Defaults in pybind11's line: {name: value}."""
    found = re.findall(r'(\w+): [^=:]* = (\'[^\']*\'|[^,)]*)', line)
    return {name: ast.literal_eval(value) for name, value in found}


def test_stubs_have_every_name_and_parameter():
    stubs = {}
    for node in ast.parse((ROOT / 'python/posenc/_core.pyi').read_text()).body:
        functions = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in functions:
            if isinstance(function, ast.FunctionDef):
                name = f'{node.name}.{function.name}' if function is not node else function.name
                arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
                stubs[name] = [argument.arg for argument in arguments if argument.arg != 'self']
    bound = {name: line for name, line in _core._bound.items() if line and name not in ('Freq.__len__',)}
    assert len(bound) > 100 and set(bound) >= {name for name, _ in described()}
    for name, line in bound.items():
        assert stubs.get(name) == parameters(line), name
    functions = dict(described())
    for name, line in bound.items():
        shown = inspect.signature(functions[name]).parameters if name in functions else {}
        for argument, value in defaults(line).items() if shown else ():
            assert shown[argument].default == value, (name, argument)


def test_docstrings():
    undescribed = [name for name, function in described() if not (inspect.getdoc(function) or '').strip()]
    assert {name for name in undescribed if not name.endswith('__init__')} == {'xavier_normal', 'xavier_uniform'}
    assert set(posenc.__all__) >= {name for name in dir(_core) if not name.startswith('_')}
