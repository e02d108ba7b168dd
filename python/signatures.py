"""Writes the signatures of the stubs as a table of C++: signatures.py STUBS FILE."""
import ast
import sys


def fields_of(classes, name):
    """Keys of a TypedDict, those of its bases first."""
    node = classes[name]
    own = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
    return [field for base in node.bases if base.id in classes for field in fields_of(classes, base.id)] + own


def signature_of(function, classes):
    """(q, k, *, out=None, ...), with the keys that **options stand for as keyword arguments."""
    arguments = function.args
    parts, plain = [], arguments.posonlyargs + arguments.args
    first_default = len(plain) - len(arguments.defaults)
    for i, argument in enumerate(plain):
        default = '' if i < first_default else f'={ast.unparse(arguments.defaults[i - first_default])}'
        parts.append(argument.arg + default)
    keywords = []
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        keywords.append(argument.arg + ('' if default is None else f'={ast.unparse(default)}'))
    if arguments.kwarg is not None:
        annotation = arguments.kwarg.annotation
        if isinstance(annotation, ast.Subscript):
            names = [argument.arg for argument in plain + arguments.kwonlyargs]
            keywords += [f'{field}=None' for field in fields_of(classes, annotation.slice.id) if field not in names]
        else:
            keywords.append('**' + arguments.kwarg.arg)
    if keywords and not keywords[0].startswith('**'):
        parts.append('*')
    return '(' + ', '.join(parts + keywords) + ')'


def main(stubs, table):
    tree = ast.parse(open(stubs).read())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, signature_of(node, classes)))
        elif isinstance(node, ast.ClassDef) and not any(getattr(base, 'id', '') == 'TypedDict' or
                                                        getattr(base, 'id', '').endswith('Arguments')
                                                        for base in node.bases):
            for function in node.body:
                if isinstance(function, ast.FunctionDef):
                    decorators = [getattr(each, 'id', '') for each in function.decorator_list]
                    if 'property' not in decorators:
                        found.append((f'{node.name}.{function.name}', signature_of(function, classes)))
    with open(table, 'w') as file:
        file.write('// Written by python/signatures.py.\n#include "signatures.hpp"\n\nnamespace binding {\n\n')
        file.write('const Signature signatures[] = {\n')
        for name, text in found:
            file.write(f'    {{"{name}", R"({text})"}},\n')
        file.write('    {nullptr, nullptr},\n};\n\n} // namespace binding\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
