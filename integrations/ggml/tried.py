"""The table of `try`: lines 'CACHE with|without FLASH {JSON of llama-bench}' on standard input, of rounds that took turns.
Ratios are of the same round, and their median is taken: a neighbour on the machine spoils a few rounds."""
import json
import statistics
import sys

WAYS = [(which, flash) for flash in '01' for which in ('without', 'with')]


def rates():
    """{(cache, test): {way: rates by round}}"""
    found = {}
    for line in sys.stdin:
        cache, which, flash, text = line.split(' ', 3)
        of = json.loads(text)
        test = f"pp{of['n_prompt']}" if of['n_prompt'] else f"tg{of['n_gen']}"
        if of.get('n_depth'):
            test += f" @ d{of['n_depth']}"
        found.setdefault((cache, test), {way: [] for way in WAYS})[which, flash].append(of['avg_ts'])
    return found


def ratio(ours, *theirs):
    return statistics.median(a / max(others) for a, *others in zip(ours, *theirs))


def main():
    found = rates()
    if not found:
        sys.exit(1)
    heads = [f'-fa {flash} {which}' for which, flash in WAYS]
    print('| cache | test | ' + ' | '.join(heads) + ' | with / without, -fa 1 | -fa 1 with / better without |')
    print('|---' * (4 + len(WAYS)) + '|')
    for (cache, test), of in found.items():
        ours, plain, flash = of['with', '1'], of['without', '0'], of['without', '1']
        cells = [f'{statistics.median(of[way]):.1f}' for way in WAYS]
        print(f"| {cache} | {test} | {' | '.join(cells)} | {ratio(ours, flash):.2f} | {ratio(ours, plain, flash):.2f} |")


main()
