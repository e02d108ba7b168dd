"""The same bits from every compiler, level of optimisation and architecture: tests/hashes/kernels.def and public.def, computed
anew by each. --levels 3: those levels only."""
import re

from proof import ROOT, Part, Stop, build, emulation, have, run, title

# name, compiler, cross file; the system's own gcc and clang (of Debian 12: 12 and 14), and newer ones; what is not installed is named in the table
COMPILERS = [('gcc', 'gcc', None), ('clang', 'clang', None), ('clang 16', 'clang-16', None),
             ('clang 19', 'clang-19', None), ('clang 22', 'clang-22', None),
             ('gcc for aarch64', 'aarch64-linux-gnu-gcc', 'aarch64-linux-gnu'),
             ('clang for aarch64', 'clang', 'aarch64-linux-gnu-clang'),
             ('gcc for 32-bit ARM', 'arm-linux-gnueabihf-gcc', 'arm-linux-gnueabihf'),
             ('gcc for s390x, big-endian', 's390x-linux-gnu-gcc', 's390x-linux-gnu')]
RECORDS = ['tests/hashes/kernels.def', 'tests/hashes/public.def']
# Without optimisation clang keeps every value of an emulated vector on the stack: 10 MB in one function.
STACK = 64 << 20
SHORT = [('gcc', '0'), ('clang', '0')]  # scripts/test has -O3 of gcc, clang 14 and the ARM compilers


def verify(directory, cross, tier):
    emulator = ['prlimit', f'--stack={STACK}'] if cross is None else ['qemu-' + cross.split('-')[0]]
    return run([*emulator, directory / 'tests/posenc-check', '--verify', '--tier', tier])


def tiers_of(cross):
    if cross is None:
        return ['scalar', 'avx2', 'avx512']
    return ['scalar', 'neon'] if cross.startswith('aarch64') else ['scalar']


def cell(part, directory, cross, tier, where):
    """Results of one tier of one build. CPUs without FMA and big-endian ones have recorded lines of their own (docs/numerics.md)."""
    status, text = verify(directory, cross, tier)
    if status == 77:
        return f'{tier}: not run, this CPU lacks it'
    if status != 0:
        part.fail(f'{where}, {title(tier)}: other bits than recorded: {text[-1000:]}')
        return f'{title(tier)}: DIFFERS'
    return f'{title(tier)}: equal'


def compare(part, name, compiler, cross, level):
    """A row of the table: what each tier of one build has to say."""
    directory = build(f"bits-{re.sub('[ ,]+', '-', name)}-O{level}", ['tests/posenc-check'],
                      [f'-Doptimization={level}', '-Ddefault_library=static', '-Dtools=disabled',
                       *(['--cross-file', f'cross/{cross}.ini'] if cross else emulation())], None if cross else compiler)
    cells = [cell(part, directory, cross, tier, f'{name} -O{level}') for tier in tiers_of(cross)]
    return [name, f'-O{level}', ', '.join(cells)]


def main():
    with Part('bits', levels='0,2,3') as part:
        rows = []
        for name, compiler, cross in COMPILERS:
            for level in part.options.levels.split(','):
                if not part.is_long and (name, level) not in SHORT:
                    continue
                if not have(compiler):
                    rows.append([name, f'-O{level}', f'not run: {compiler} is not installed'])
                    continue
                try:
                    rows.append(compare(part, name, compiler, cross, level))
                except Stop as stop:
                    part.fail(str(stop))
                    rows.append([name, f'-O{level}', 'does not build'])
                print(*rows[-1], sep='  ', flush=True)
        kernels, families = [len(re.findall(r'^HASH\(', (ROOT / record).read_text(encoding='utf-8'), re.MULTILINE)) for record in RECORDS]
        part.table(f'{kernels} kernels and {families} families of public functions and of the double arithmetic below them, each '
                   'hashed over a fixed sweep of types, sizes and values, held to the record (`tests/hashes`):',
                   ['compiler', 'level', 'tiers'], rows)


if __name__ == '__main__':
    main()
