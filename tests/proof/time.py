"""Adversarial values against ordinary ones: how much longer a kernel takes, and how much where the host has denormals flushed.
CPUs that take a detour for denormal numbers do so for whoever computes with them: there the bound is promised with flushing
(docs/reliability.md). Only the long form judges: other work on the machine disturbs it."""
from proof import Part, Stop, plain_build, run

ALLOWED = 1.3
# Fills whose operands or results are denormal numbers.
DENORMAL = ('denormal', 'denormal among ordinary', 'alternating extremes')


def ratios_of(directory, *arguments):
    """{(kernel, tier): {kind: ratio}}; nothing where the processor has no such mode."""
    status, text = run([directory / 'tests/posenc-check', '--time', *arguments])
    lines = [line.split(' | ')[1:] for line in text.splitlines() if line.startswith('time | ')]
    if status == 2 and arguments:
        return {}
    if status != 0 or not lines:
        raise Stop(f'posenc-check --time fails: {text[-500:]}')
    ratios = {}
    for kernel, tier, kind, _, ordinary, adversarial in lines:
        ratios.setdefault((kernel, tier), {})[kind] = float(adversarial) / float(ordinary)
    return ratios


def judge(part, ratios, kinds, how):
    for (kernel, tier), by_kind in ratios.items():
        slow = [f'{kind} {by_kind[kind]:.1f}' for kind in kinds if by_kind[kind] > ALLOWED]
        if slow and part.is_long and tier != 'scalar':  # which branches where vectors select
            part.fail(f'{kernel} on {tier} takes too long{how}: {", ".join(slow)} times')


def main():
    with Part('time') as part:
        directory = plain_build(['tests/posenc-check'])
        plain, flushed = ratios_of(directory), ratios_of(directory, '--flush')
        kinds = list(next(iter(plain.values())))
        judge(part, plain, [kind for kind in kinds if kind not in DENORMAL], '')
        judge(part, flushed, kinds, ' with denormals flushed')
        part.table('Time with adversarial values by time with ordinary ones, shortest of 25 runs of each call. '
                   f'{ALLOWED} is allowed, for denormals and extremes with flushing; the scalar tier, which branches where vectors '
                   'select, is shown and not judged:',
                   ['kernel', 'tier', *kinds, *(f'{kind}, flushed' for kind in kinds if flushed)],
                   [[f'`{name}`', tier, *(f'{by_kind[kind]:.2f}' for kind in kinds),
                     *(f'{flushed[name, tier][kind]:.2f}' for kind in kinds if flushed)]
                    for (name, tier), by_kind in plain.items()])


if __name__ == '__main__':
    main()
