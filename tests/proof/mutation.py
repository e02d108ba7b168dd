"""Injected faults, one at a time, in a copy of the tree: do the tests notice? Named ones (faults.txt), and mutants drawn at random. A
mutant whose machine code is that of the original is no fault and is drawn again; survivors.txt explains mutants that no test can see.

    mutation.py --count 200 --seed 7       so many mutants, drawn anew; no named faults with --named no
    mutation.py --only src/bias/t5.c            mutants of files whose path has this in it, and faults whose line has"""
import pathlib

import judge
from mutants import all_mutants, change_of, drawn, named_faults, spelled, tier_of
from proof import ROOT, Part, can_emulate_neon, emulated_tiers

WANTED = 95.0  # per cent


def explained():
    """Lines of the kept list."""
    path = ROOT / 'tests/proof/survivors.txt'
    lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else []
    return {line for line in lines if line and not line.startswith('#')}


def try_named(part, changes, stale, trees, seconds):
    missed = []
    counts = {'killed': 0, 'survived': 0, 'equivalent': 0, 'does not compile': 0}
    for change, fate, by in judge.judge_all(changes, trees, seconds):
        counts[fate] += 1
        print(f'{fate:<16} {change.label}  {by}', flush=True)
        if fate != 'killed':
            missed.append(f'{change.label} ({fate})')
    part.table('Named faults (`tests/proof/faults.txt`), each found by its pattern:',
               ['noticed', 'not noticed', 'whose pattern matches nothing any more'],
               [[counts['killed'], len(missed), len(stale)]])
    for name in missed:
        part.fail(f'not noticed: {name}')
    for name in stale:
        part.fail(f'faults.txt: nothing to plant it in, adapt it or take it out: {name}')


def try_random(part, candidates, count, trees, seconds):
    counts = {'killed': 0, 'survived': 0, 'explained': 0, 'equivalent': 0, 'does not compile': 0}
    survivors, by_folder, no_effect = [], {}, explained()
    counts['explained'] = sum(spelled(mutant) in no_effect for mutant in candidates[:count])
    changes = (change_of(mutant) for mutant in candidates if spelled(mutant) not in no_effect)
    for change, fate, by in judge.judge_all(changes, trees, seconds):
        counts[fate] += 1
        folder = by_folder.setdefault(str(pathlib.Path(change.file).parent), [0, 0])
        folder[0] += fate == 'killed'
        folder[1] += fate == 'survived'
        print(f'{fate:<16} {change.label}  {by}', flush=True)
        if fate == 'survived':
            survivors.append(change.label.split('  =>  '))
        if counts['killed'] + counts['survived'] >= count:
            break
    judged = counts['killed'] + counts['survived']
    share = 100.0 * counts['killed'] / judged if judged else 0.0
    part.table(f'{judged} mutants of {len(candidates)} possible; those of the same machine code and those that do not compile are not '
               'counted:',
               ['killed', 'survived', 'share killed', 'explained (`tests/proof/survivors.txt`)', 'same code', 'do not compile'],
               [[counts['killed'], counts['survived'], f'{share:.1f} %', counts['explained'], counts['equivalent'],
                 counts['does not compile']]])
    emulated = ''.join(f', `src/{tier}` emulated' for tier in emulated_tiers()) + ', `src/neon` under qemu' * can_emulate_neon()
    part.table(f'By folder{emulated}:', ['folder', 'killed', 'survived'], [[f, *n] for f, n in sorted(by_folder.items())])
    if survivors:
        part.table('Survivors:', ['line', 'became'], survivors)
    if share < WANTED:
        part.fail(f'{share:.1f} % killed, {WANTED:.0f} wanted')


def main():
    with Part('mutation', seed=0, count=0, only='', named='yes') as part:
        seed = part.options.seed or 1
        count = part.options.count or (150 if part.is_long else 6)
        candidates = drawn(all_mutants(part.options.only), seed)
        changes, stale = named_faults(part.options.only) if part.options.named == 'yes' and part.is_long else ([], [])
        wanted = sorted({tier_of(mutant[0]) for mutant in candidates} | {tier_of(change.label) for change in changes})
        trees, seconds = judge.prepare(wanted)
        if changes or stale:
            try_named(part, changes, stale, trees, seconds)
        print(f'seed {seed}: {count} of {len(candidates)} mutants', flush=True)
        if candidates:
            try_random(part, candidates, count, trees, seconds)


if __name__ == '__main__':
    main()
