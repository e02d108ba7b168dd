"""Guard against slowing down: ratios within a run are compared with those that were recorded."""
import json
import pathlib
import sys

import kernels
import machine

BASELINE = pathlib.Path(__file__).resolve().parent.parent / 'baseline.json'
TOLERANCE = 1.15
# What is larger than the first cache, or not much smaller than the second, depends on neighbours that use the same memory.
LEAVE_OUT = ('tokens:512', 'tokens:16', '131072', '32768', '16384', 'x4096', '2048x', '512x', '262144', 'rope_create',
             'posenc_attention', 'fire_write', 'cope_logits', 'decomposed_add', 'conv_apply', 'table_resize', 'swin_bias')
SMALLEST = 2  # sizes of each kernel: 4 KiB and 16 KiB
SECONDS, ROUNDS = 0.003, 3
SKIPPED = 77  # an exit status, as meson and scripts/mca have it


def names_to_check(program):
    sizes = {}
    for name in kernels.list_names(program, LEAVE_OUT):
        kernel, _, count = name.rpartition(':')
        sizes.setdefault(kernel or name, []).append((int(count) if kernel else 0, name))
    return [name for of_one in sizes.values() for _, name in sorted(of_one)[:SMALLEST]]


def how_much_worse(key, was, now):
    return now / was if kernels.RATIOS[key.split()[1]] == 'lower' else was / now


def worse(recorded, seen):
    """{ratio: how many times worse} of those beyond the tolerance."""
    found = {key: how_much_worse(key, was, seen[key]) for key, was in recorded.items() if key in seen}
    return {key: factor for key, factor in found.items() if factor > TOLERANCE}


def load(path=BASELINE):
    return json.loads(path.read_text()) if path.exists() else {}


def measure(program, names, rounds, core, seconds=SECONDS):
    return kernels.medians(kernels.run_rounds(program, names, rounds, seconds, core))


def record(program, core):
    """Puts this CPU's ratios into the baseline. Others' stay."""
    baseline = load()
    seen = measure(program, names_to_check(program), 2 * ROUNDS, core)
    baseline[machine.cpu_key()] = {key: float(f'{value:.3g}') for key, value in sorted(seen.items())}
    BASELINE.write_text(json.dumps(baseline, indent=1, sort_keys=True) + '\n')
    print(f'{len(seen)} ratios recorded for {machine.cpu_key()}')


def names_of(ratios):
    return sorted({key.split()[0] for key in ratios})


def check(program, core, path=BASELINE):
    """Prints what got worse; the exit status, 77 on a CPU of which nothing is recorded."""
    recorded = load(path).get(machine.cpu_key())
    if recorded is None:
        print(f'skipped: no baseline of this CPU ({machine.cpu_key()}); scripts/bench --record makes one, '
              'best of the code before a change')
        return SKIPPED
    seen = measure(program, names_to_check(program), ROUNDS, core)
    suspects = worse(recorded, seen)
    for again in range(2):  # a busy neighbour slows a few each time, but seldom the same ones
        if not suspects:
            break
        print(f'{len(suspects)} ratios look worse; measuring them again', file=sys.stderr)
        seen.update(measure(program, names_of(suspects), 2 * ROUNDS, core, 4 * SECONDS))
        suspects = worse({key: recorded[key] for key in suspects}, seen)
    for key, factor in sorted(suspects.items(), key=lambda item: -item[1]):
        print(f'worse: {key}: {seen[key]:.3g}, was {recorded[key]:.3g}: {factor:.2f} times as bad')
    gone = sorted(set(recorded) - set(seen))
    for key in gone:
        print(f'gone: {key} is in the baseline, and no longer measured')
    new = len(set(seen) - set(recorded))
    print(f'{len(recorded) - len(gone)} ratios compared, {len(suspects)} worse by more than {TOLERANCE - 1:.0%}'
          + (f', {new} not in the baseline yet' if new else ''))
    return int(bool(suspects or gone))
