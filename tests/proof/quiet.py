"""Side effects of calls on data. Every call from a test into the library is watched (quiet_probe.c); what the shared
library imports and which instructions it has is read from the file; threads that share objects run under ThreadSanitizer."""
import re
from concurrent.futures import ThreadPoolExecutor

from proof import ROOT, SCRATCH, Part, Stop, build, plain_build, run

# Set-up: what may allocate, and free.
SETS_UP = re.compile(r'_(create|create_values|free|concat|sum)$')
# And calls whose header says that they do.
MAY_ALLOCATE = {'posenc_attention_reference'}
# Symbols that the library may import.
ALLOWED = (ROOT / 'tests/allowed-imports.txt').read_text(encoding='utf-8').splitlines()
MAY_IMPORT = re.compile('|'.join(line for line in ALLOWED if line and not line.startswith('#')))
# Instructions that change the modes of the processor or enter the system.
FORBIDDEN = re.compile(r'\b(v?ldmxcsr|fldcw|fldenv|syscall|sysenter|int3?|xsave\w*|xrstor\w*|cli|sti)\b')
# Programs that call kernels or nothing, or what others call too, or are no guests.
WITHOUT = {'test_half', 'test_dispatch', 'test_static'}
KINDS = ['allocations', 'locks', 'threads', 'modes', 'errno']


def symbols(program):
    """Address to name."""
    return {int(line.split()[0], 16): line.split()[2] for line in run(['nm', program])[1].splitlines()
            if re.match(r'^[0-9a-f]+ [tTwW] ', line)}


def watch_program(probe, program):
    """(program, exit status, what it printed, what the probe wrote)."""
    out = SCRATCH / f'quiet_probe-{program.name}.out'
    out.unlink(missing_ok=True)
    status, text = run([program], {'LD_PRELOAD': str(probe), 'QUIET_PROBE': str(out)})
    return program, status, text, out.read_text(encoding='utf-8').splitlines() if out.exists() else []


def watch(part, directory, public):
    """Function to [calls, seen ...], over all programs."""
    probe = SCRATCH / 'quiet_probe.so'
    if run(['gcc', '-O1', '-shared', '-fPIC', '-o', probe, ROOT / 'tests/proof/quiet_probe.c', '-ldl'])[0] != 0:
        raise Stop('quiet_probe.c does not compile')
    totals = {}
    programs = sorted(p for p in (directory / 'tests').glob('test_*') if p.is_file() and p.suffix == '' and p.name not in WITHOUT)
    with ThreadPoolExecutor(2) as pool:
        watched = list(pool.map(lambda program: watch_program(probe, program), programs))
    for program, status, text, lines in watched:
        if status != 0 or not lines:
            part.fail(f'{program.name} fails under the probe: {text[-500:]}')
        names = symbols(program)
        for line in lines:
            address, base, *counts = line.split()
            address = int(address, 16)
            name = names.get(address) or names.get(address - int(base, 16), '?')
            if name in public:
                total = totals.setdefault(name, [0] * (1 + len(KINDS)))
                totals[name] = [a + int(b) for a, b in zip(total, counts)]
    return totals


def judge(part, totals, public):
    hot = {name: counts for name, counts in totals.items() if not SETS_UP.search(name)}
    for name, (_, *seen) in sorted(hot.items()):
        for kind, n in zip(KINDS, seen):
            if n and not (kind == 'allocations' and name in MAY_ALLOCATE):
                part.fail(f'{name}: {n} {kind}')
    for name, (_, *seen) in sorted(totals.items()):
        for kind, n in list(zip(KINDS, seen))[1:]:
            if n and name not in hot:
                part.fail(f'{name}: {n} {kind}')
    if part.is_long:
        for name in sorted(public - set(totals)):
            part.fail(f'{name} was never called')
    sums = [sum(column) for column in zip(*hot.values())]
    excused = ' and '.join(f'`{name}`' for name in sorted(MAY_ALLOCATE))
    part.table(f'Calls from the tests into the {len(public)} public functions, watched from outside; "modes" are rounding and '
               'flushing, set-up is what creates and frees; on data nothing may allocate but '
               f'{excused}, which says so:',
               ['functions', 'calls', *KINDS],
               [[f'{len(hot)} on data', f'{sums[0]:,}', *sums[1:]],
                [f'{len(totals) - len(hot)} of set-up', f'{sum(c[0] for n, c in totals.items() if n not in hot):,}', 'allowed',
                 *[sum(c[2 + k] for n, c in totals.items() if n not in hot) for k in range(len(KINDS) - 1)]]])


def read_library(part, library):
    imported = sorted({line.split()[-1].split('@')[0] for line in run(['nm', '-D', '--undefined-only', library])[1].splitlines()})
    strangers = [name for name in imported if not MAY_IMPORT.fullmatch(name)]
    for name in strangers:
        part.fail(f'the library imports {name}')
    found = {}
    for line in run(['objdump', '-d', '--no-show-raw-insn', library])[1].splitlines():
        match = FORBIDDEN.search(line.split('\t', 1)[-1].split('#')[0].split('<')[0]) if '\t' in line else None
        if match:
            found[match[1]] = found.get(match[1], 0) + 1
    for instruction, n in found.items():
        part.fail(f'the library has {n} instructions {instruction}')
    part.table('The shared library itself:', ['imports', 'of them locks, threads, output, modes', 'instructions that change modes '
               'or enter the system'], [[', '.join(f'`{n}`' for n in imported if not n.startswith(('_', 'Sleef'))), len(strangers),
                                                      sum(found.values())]])


def race(part):
    directory = build('threads', ['tests/test_guest', 'tests/test_dispatch'],
                      ['-Db_sanitize=thread', '-Db_lundef=false', '-Dtools=disabled', '-Ddefault_library=static', '-Doptimization=0', '-Disa=avx2'],
                      'clang')
    rows = []
    for name in 'test_guest', 'test_dispatch':
        status, text = run([directory / 'tests' / name], {'TSAN_OPTIONS': 'halt_on_error=1'})
        if status != 0:
            part.fail(f'{name} under ThreadSanitizer: {text[-1500:]}')
        rows.append([f'`{name}`', '0' if status == 0 else 'FAILED'])
    part.table('Under ThreadSanitizer: first use by several threads at once, set-up objects that they share and combine, a tier '
               'chosen by one while others compute:', ['program', 'findings'], rows)


def main():
    with Part('quiet') as part:
        public = set((ROOT / 'tests/exported-symbols.txt').read_text(encoding='utf-8').split())
        directory = build('quiet', options=['-Doptimization=1', '-Dtools=disabled', '-Ddefault_library=both',
                                            '-Dc_args=-finstrument-functions -finstrument-functions-exclude-file-list=tests/'])
        judge(part, watch(part, directory, public), public)
        read_library(part, plain_build() / 'libposenc.so')
        race(part)


if __name__ == '__main__':
    main()
