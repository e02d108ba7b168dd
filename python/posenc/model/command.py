"""python -m posenc model FILE"""
import argparse
import json
import os
import sys

from .. import isa_supported
from . import Refused, read_quietly, report, timing
from .json_fields import PARTS

_MOST_TOKENS, _MOST_BYTES = 65536, 1 << 30


def _whole(low, high):
    def parse(text):
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f'takes a whole number from {low} to {high}, not {text!r}')
        return int(text)
    return parse


def _tiers(text):
    supported = isa_supported()
    for name in text.split(','):
        if name not in supported:
            raise argparse.ArgumentTypeError(f'tier {name!r} does not run here; there are {", ".join(supported)}')
    return text.split(',')


def _parse(arguments):
    parser = argparse.ArgumentParser(
        'python -m posenc model',
        description="Reads a Hugging Face config.json, its folder or a GGUF file and, for that model's real shapes "
        'and parameters, verifies and times its positional work on every tier that runs here.',
        epilog='Exit status: 0 all is well, 1 a check has failed, 2 the file or the arguments are wrong.')
    parser.add_argument('file', metavar='FILE')
    parser.add_argument('--tokens', type=_whole(1, _MOST_TOKENS), default=512, metavar='N', help='of the prefill; 512')
    parser.add_argument('--context', type=_whole(1, 10**15), default=0, metavar='N',
                        help='the longest sequence to come, which LongRoPE and dynamic NTK go by')
    parser.add_argument('--part', choices=sorted(PARTS), default='text', help='of a config.json that has both; text')
    parser.add_argument('--isa', type=_tiers, default=isa_supported(), metavar='TIER[,TIER...]',
                        help='only these tiers, and scalar for comparison')
    parser.add_argument('--json', action='store_true', help='what is known and measured, for scripts')
    parser.add_argument('--quick', action='store_true', help='time with few repetitions: the figures say little')
    parser.add_argument('--no-timing', action='store_true', help='only tell what the model is')
    return parser.parse_args(arguments)


def _refuse(message):
    print(f'posenc model: {message}', file=sys.stderr)
    return 2


def _bytes(model, n_tokens):
    """Bytes of the tensors that are verified: Q and K, or scores, which grow with the square of the tokens."""
    if model.positions == 'alibi':
        return 16 * model.n_heads * n_tokens**2
    table = model.main_table()
    return 16 * n_tokens * sum(heads.n_heads * heads.head_dim for heads in (table.q, table.k))


def _print_json(model, same, times):
    found = report.dictionary(model)
    if times:
        found['verified'] = same
        found['seconds_per_token'] = [{'batch': batch, 'type': type_, **tiers}
                                      for (batch, type_), tiers in times.items()]
    print(json.dumps(found, indent=1))


def main(arguments):
    """The exit status."""
    options = _parse(arguments)
    path = report.printable(os.fspath(options.file), None)
    try:
        model = read_quietly(options.file, float(options.context), options.part)
    except Refused as refused:
        return _refuse(f'{path}: {report.printable(str(refused), None)}')
    is_timed = model.positions in ('rope', 'alibi') and not options.no_timing
    if is_timed and _bytes(model, options.tokens) > _MOST_BYTES:
        return _refuse(f'{options.tokens} tokens of this model take more than 1 GiB; use a smaller --tokens')
    if not options.json:
        print(report.text(model, options.file), flush=True)
    same, times = {}, {}
    if is_timed:
        same, times = timing.measure(model, options.tokens, options.isa, 0.0 if options.quick else 0.05)
    if options.json:
        _print_json(model, same, times)
    elif is_timed:
        print(timing.text(model, options.tokens, same, times))
    elif model.positions in report.REMARKS:
        print(report.REMARKS[model.positions])
    return 0 if all(same.values()) else 1
