"""python -m posenc model|plot|table ..."""
import importlib
import os
import sys

#: Summary of each command, and the module whose main() takes its arguments.
_COMMANDS = {'model': ("verify and time a model's positional work", 'posenc.model.command'),
             'plot': ('draw an encoding, a bias or a comparison', 'posenc.plot.command'),
             'table': ('write an encoding or a bias as a NumPy file', 'posenc.table')}


def main(arguments):
    """The exit status."""
    if arguments and arguments[0] in _COMMANDS:
        return importlib.import_module(_COMMANDS[arguments[0]][1]).main(arguments[1:])
    is_asked = arguments[:1] in (['--help'], ['-h'])
    commands = ''.join(f'  {name:7} {what}\n' for name, (what, _) in _COMMANDS.items())
    text = f'usage: python -m posenc COMMAND ...\n\n{commands}'
    print(text + '\nCOMMAND --help tells more.', file=sys.stdout if is_asked else sys.stderr)
    return 0 if is_asked else 2


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError: # what reads the output, as head does, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
