"""Lines and branches of src/ that the tests reach, by gcov: all of it on this machine, whose missing tier is emulated, and src/neon
under the emulator of aarch64. Lines that are left are listed in build-prove/coverage-left.txt."""
import json

from proof import EMULATE_NEON, NEON, NEON_TESTS, ROOT, SCRATCH, Part, Stop, build, can_emulate_neon, emulated_tiers, emulation, run

WANTED = 98.0  # per cent of lines
COUNTED = ['-Db_coverage=true', '-Dc_args=-fprofile-update=atomic', '-Ddefault_library=static', '-Doptimization=0', '-Dtools=disabled']


def fresh_build(name, targets=(), options=()):
    directory = build(name, targets, [*COUNTED, *options])
    for old in directory.rglob('*.gcda'):
        old.unlink()
    return directory


def covered(directory, gcov, *filters):
    """Coverage of each file, by gcovr."""
    report = SCRATCH / f'{directory.name}.json'
    status, text = run(['gcovr', '-r', ROOT, '--object-directory', directory, '--gcov-executable', gcov, *filters,
                        '--exclude-throw-branches', '--json', report, directory])
    if status != 0:
        raise Stop(f'gcovr fails: {text[-1000:]}')
    return json.loads(report.read_text(encoding='utf-8'))['files']


def on_this_machine(part):
    directory = fresh_build('coverage', options=emulation())
    status, text = run(['meson', 'test', '-C', directory, '--no-rebuild', '--no-suite', 'tree', '-t', '10'], {'POSENC_TEST_SCALE': '4'})
    if status != 0:
        part.fail(f'tests fail: {text[-1000:]}')
    return covered(directory, 'gcov', '--filter', f'{ROOT}/src/')


def of_neon(part):
    """The other files of src/ are counted above."""
    directory = fresh_build('coverage-neon', sorted({f'tests/{command[0]}' for command in NEON_TESTS}), ['--cross-file', f'cross/{NEON}.ini'])
    for name, *arguments in NEON_TESTS:
        status, text = run([*EMULATE_NEON, directory / 'tests' / name, *arguments], {'POSENC_TEST_SCALE': '16'})
        if status != 0:
            part.fail(f'{name} fails on aarch64: {text[-1000:]}')
    return covered(directory, f'{NEON}-gcov', '--filter', f'{ROOT}/src/neon/')


def folder_of(name):
    return name.rsplit('/', 1)[0]


def main():
    with Part('coverage') as part:
        has_neon = can_emulate_neon()
        files = on_this_machine(part) + (of_neon(part) if has_neon else [])
        totals, left = {}, []
        for file in files:
            sums = totals.setdefault(folder_of(file['file']), [0, 0, 0, 0])
            for line in file['lines']:
                if line.get('gcovr/noncode'):
                    continue
                branches = line.get('branches', [])
                sums[0] += line['count'] > 0
                sums[1] += 1
                sums[2] += sum(b['count'] > 0 for b in branches)
                sums[3] += len(branches)
                if line['count'] == 0:
                    left.append(f"{file['file']}:{line['line_number']}")
        (SCRATCH / 'coverage-left.txt').write_text('\n'.join(left) + '\n', encoding='utf-8')
        if not totals:
            raise Stop('gcovr found nothing')
        total = [sum(column) for column in zip(*totals.values())]
        rows = [[f'`{name}`', f'{s[0]} of {s[1]}', f'{100 * s[0] / max(1, s[1]):.1f} %', f'{100 * s[2] / max(1, s[3]):.1f} %']
                for name, s in [*sorted(totals.items()), ('all', total)]]
        how = [f'`src/{tier}` emulated' for tier in emulated_tiers()]
        how.append('`src/neon` under qemu' if has_neon else '`src/neon` not run, its compiler or emulator is not installed')
        part.table(f"By gcov, without optimisation; {', '.join(how)}:", ['folder', 'lines', 'share', 'branches'], rows)
        if 100 * total[0] / total[1] < WANTED:
            part.fail(f'{100 * total[0] / total[1]:.1f} % of the lines, {WANTED} wanted')


if __name__ == '__main__':
    main()
