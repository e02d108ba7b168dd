"""The command line of a method: its options, and the file to write."""
import argparse
import os
import sys

from .methods import GROUPS, METHODS, OF_TABLE, OPTIONS


_FEW = 4


class Refused(ValueError):
    """A fault of the arguments, and how to put it right."""


def _type_of(option):
    def parse(text):
        try:
            return option.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return parse


def _list_of_methods():
    lines = ['methods, and what their options are unless given:']
    for is_bias in (False, True):
        lines += ['', 'biases: a row is a query, a column a key' if is_bias else 'encodings: a row is a position']
        for method in METHODS.values():
            if method.is_bias == is_bias:
                lines += [f'  {method.name:13}{method.help}',
                          f'  {"":13}{" ".join(f"--{name} {value}" for name, value in method.defaults.items() if value != "")}']
    return '\n'.join(lines)


def _takers(name):
    """The methods with this option, where they are few."""
    methods = [method.name for method in METHODS.values() if name in method.defaults]
    return f' ({", ".join(methods)})' if 0 < len(methods) <= _FEW else ''


def new_parser(command, description):
    """With METHOD, the options of all methods, and -o FILE."""
    parser = argparse.ArgumentParser(f'python -m posenc {command}', description=description, epilog=_list_of_methods(),
                                     formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument('-o', dest='path', metavar='FILE', required=True)
    for title, members in GROUPS.items():
        group = parser.add_argument_group(f'options of {title}')
        for name, option in members.items():
            metavar = 'WORD' if option.words else 'FILE' if option.is_file else 'N' if option.is_whole else 'X'
            words = f': {", ".join(option.words)}' if option.words else ''
            group.add_argument(f'--{name}', type=_type_of(option), metavar=metavar, help=option.help + words + _takers(name))
    return parser


def check_path(path, endings):
    """A name that promises another kind of file is a mistake."""
    if os.path.splitext(path)[1] not in endings:
        raise Refused(f'-o {path}: use a name that ends with {" or ".join(endings)}')


def method_of(given, methods=METHODS):
    """The method named, with its defaults in the place of what is not given."""
    method = methods.get(given.method)
    if method is None:
        raise Refused(f'there is no method {given.method!r}; --help lists them')
    stated = []
    for name in OPTIONS:
        attribute = name.replace('-', '_')
        if getattr(given, attribute) is None:
            setattr(given, attribute, method.defaults.get(name))
        elif name in method.defaults:
            stated.append(name)
        else:
            raise Refused(f'{method.name} takes no --{name}; its options are '
                          f'{" ".join("--" + own for own in method.defaults)}')
    if given.table:
        for name in stated:
            if name in OF_TABLE:
                raise Refused(f'--{name} is what the table of --table says: leave it away')
    for name in stated:
        if not method.has_meaning(name, given):
            raise Refused(f'--{name} does nothing without --{OPTIONS[name].of}')
    if 'start' in method.defaults and given.start + given.length > 2**31:
        raise Refused(f'--start {given.start} and --length {given.length} reach beyond position 2147483647, the last')
    return method


def run(command, main):
    """The exit status; what is refused gets one line."""
    try:
        main()
        return 0
    except MemoryError:
        message = 'there is not enough memory: use a smaller --length, --dim or --heads'
    except (ValueError, OSError) as error: # posenc.Error is a ValueError
        message = str(error)
    print(f'posenc {command}: {message}', file=sys.stderr)
    return 2
