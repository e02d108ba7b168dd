"""The same bits from every compiler, level of optimisation and architecture: tests/hashes.txt, made anew by each.
--levels 3: those levels only."""
import re

from proof import ROOT, Part, Stop, build, emulation, have, run, title

# name, compiler, cross file; the system's own gcc and clang (of Debian 12: 12 and 14), and newer ones; what is not installed is named in the table
COMPILERS = [('gcc', 'gcc', None), ('clang', 'clang', None), ('clang 16', 'clang-16', None),
             ('clang 19', 'clang-19', None), ('gcc for aarch64', 'aarch64-linux-gnu-gcc', 'aarch64-linux-gnu'),
             ('clang for aarch64', 'clang', 'aarch64-linux-gnu-clang'),
             ('gcc for 32-bit ARM', 'arm-linux-gnueabihf-gcc', 'arm-linux-gnueabihf'),
             ('gcc for s390x, big-endian', 's390x-linux-gnu-gcc', 's390x-linux-gnu')]
# SLEEF's double cosines and sines have other last bits there; see docs/numerics.md.
EXCEPT = {'s390x-linux-gnu': 'angle_anchors'}
# Without optimisation clang keeps every value of an emulated vector on the stack: 10 MB in one function.
STACK = 64 << 20
SHORT = [('gcc', '0'), ('clang', '0')]  # scripts/test has -O3 of gcc, clang 14 and the ARM compilers


def program_and_emulator(directory, cross):
    program = directory / 'tests' / 'test_hashes'
    if cross is None:
        return ['prlimit', f'--stack={STACK}', program]
    return ['qemu-' + cross.split('-')[0], program]


def tiers_of(cross):
    if cross is None:
        return ['scalar', 'avx2', 'avx512']
    return ['scalar', 'neon'] if cross.startswith('aarch64') else ['scalar']


def different_kernels(text, expected):
    lines = text.splitlines()
    return [line.split()[0] for line in expected if line not in lines]


def compare(part, expected, name, compiler, cross, level):
    """A row of the table: what each tier of one build has to say."""
    directory = build(f"bits-{re.sub('[ ,]+', '-', name)}-O{level}", ['tests/test_hashes'],
                      [f'-Doptimization={level}', '-Ddefault_library=static', '-Dtools=disabled',
                       *(['--cross-file', f'cross/{cross}.ini'] if cross else emulation())], None if cross else compiler)
    cells = []
    for tier in tiers_of(cross):
        status, text = run([*program_and_emulator(directory, cross), '--print', tier])
        if status == 2:
            cells.append(f'{tier}: not run, this CPU lacks it')
            continue
        different = different_kernels(text, expected)
        if status != 0 or different not in ([], [EXCEPT.get(cross)]):
            part.fail(f'{name} -O{level}, {title(tier)}: other bits than tests/hashes.txt')
            cells.append(f'{title(tier)}: DIFFERS')
        else:
            cells.append(f'{title(tier)}: equal' + (f' but {EXCEPT[cross]}' if different else ''))
    return [name, f'-O{level}', ', '.join(cells)]


def main():
    with Part('bits', levels='0,2,3') as part:
        expected = (ROOT / 'tests/hashes.txt').read_text(encoding='utf-8').splitlines()
        rows = []
        for name, compiler, cross in COMPILERS:
            for level in part.options.levels.split(','):
                if not part.is_long and (name, level) not in SHORT:
                    continue
                if not have(compiler):
                    rows.append([name, f'-O{level}', f'not run: {compiler} is not installed'])
                    continue
                try:
                    rows.append(compare(part, expected, name, compiler, cross, level))
                except Stop as stop:
                    part.fail(str(stop))
                print(*rows[-1], sep='  ', flush=True)
        part.table(f'{len(expected) - 1} kernels, each hashed over a fixed sweep of its types, sizes and values '
                   '(`tests/test_hashes.c`), held to `tests/hashes.txt`:', ['compiler', 'level', 'tiers'], rows)


main()
