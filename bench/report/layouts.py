"""Layout t beside h, as `posenc-bench layout` times them."""
import json
import subprocess
import sys

from results import TIER_NAMES

HEAD = ['work', 'heads', 'queries x keys', 'K and V', 'from', 't, ms', 'h, ms', 't / h', 't by its limit']


def run(program, tier, milliseconds, core, choice=()):
    print(f'layouts, {tier}: each row {milliseconds} ms', file=sys.stderr)
    said = subprocess.run(['taskset', '-c', str(core), str(program), 'layout', '--format', 'json', '--isa', tier,
                           '--ms', str(milliseconds), *choice], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def cells(row):
    note = f" ({row['note']})" if row['note'] else ''
    return [row['work'], row['heads'].replace('x', ' over '), f"{row['queries']} x {row['keys']}",
            row['type'].replace('_int16', ' INT16'), row['place'] + note, f"{row['t_ms']:.3g}", f"{row['h_ms']:.3g}",
            f"{row['ratio']:.2f}x ({row['low']:.2f}-{row['high']:.2f})", f"{row['limit']:.2f}x"]


def table(report):
    """Head and rows, the tier in front."""
    rows = [[TIER_NAMES[tier], *cells(row)] for tier, found in report.get('layouts', {}).items() for row in found]
    return ['tier', *HEAD], rows
