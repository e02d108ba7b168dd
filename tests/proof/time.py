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
        worst = {}
        for kernel, tier, kind, calls, ordinary, hostile in lines:
            ratio = float(hostile) / float(ordinary)
            if ratio > worst.get((kernel, tier), (0.0,))[0]:
                worst[kernel, tier] = (ratio, kind)
        tiers = sorted({tier for _, tier in worst}, key=['scalar', 'avx2', 'avx512', 'neon'].index)
        rows = []
        for kernel in dict.fromkeys(line[0] for line in lines):
            cells = [worst.get((kernel, tier), (0.0, '-')) for tier in tiers]
            rows.append([f'`{kernel}`', *[f'{ratio:.2f} ({kind})' for ratio, kind in cells]])
            for tier, (ratio, kind) in zip(tiers, cells):
                if ratio > ALLOWED and part.is_long:
                    part.fail(f'{kernel} on {tier} takes {ratio:.2f} times as long with numbers that are {kind}')
        part.table('Time with hostile numbers (denormal, infinite, NaN, alternating extremes) by time with ordinary ones, the worst '
                   f'kind; {ALLOWED} is allowed. Shortest of 25 runs of each call:', ['kernel', *tiers], rows)


main()
