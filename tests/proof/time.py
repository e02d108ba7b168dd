"""Hostile numbers against ordinary ones: how much longer a kernel takes. Only the long form judges: other work on the machine
disturbs it."""
from proof import Part, Stop, plain_build, run

ALLOWED = 1.3


def main():
    with Part('time') as part:
        directory = plain_build(['tests/hostile_time'])
        status, text = run([directory / 'tests' / 'hostile_time'])
        lines = [line.split(' | ')[1:] for line in text.splitlines() if line.startswith('time | ')]
        if status != 0 or not lines:
            raise Stop(f'hostile_time fails: {text[-500:]}')
        kinds, ratios = [], {}
        for kernel, tier, kind, _, ordinary, hostile in lines:
            kinds += [] if kind in kinds else [kind]
            ratios.setdefault((kernel, tier), {})[kind] = float(hostile) / float(ordinary)
        for (kernel, tier), by_kind in ratios.items():
            slow = [f'{kind} {ratio:.1f}' for kind, ratio in by_kind.items() if ratio > ALLOWED]
            if slow and part.is_long:
                part.fail(f'{kernel} on {tier} takes too long: {", ".join(slow)} times')
        part.table(f'Time with hostile numbers by time with ordinary ones; {ALLOWED} is allowed. Shortest of 25 runs of each call:',
                   ['kernel', 'tier', *kinds],
                   [[f'`{kernel}`', tier, *[f'{by_kind[kind]:.2f}' for kind in kinds]] for (kernel, tier), by_kind in ratios.items()])


main()
