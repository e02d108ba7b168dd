"""Lines and branches of src/ that the tests reach, by gcov, with every tier that this machine has. Lines that are left are listed
in build-prove/coverage-left.txt."""
import json

from proof import ROOT, SCRATCH, Part, Stop, build, run, tiers

WANTED = 98.0  # per cent of lines


def folder_of(name):
    return name.rsplit('/', 1)[0]


def main():
    with Part('coverage') as part:
        directory = build('coverage', options=['-Db_coverage=true', '-Dc_args=-fprofile-update=atomic', '-Ddefault_library=static', '-Doptimization=0', '-Dtools=disabled'])
        for old in directory.rglob('*.gcda'):
            old.unlink()
        status, text = run(['meson', 'test', '-C', directory, '--no-rebuild', '--no-suite', 'tree', '-t', '10'],
                           {'POSENC_TEST_SCALE': '4'})
        if status != 0:
            part.fail(f'tests fail: {text[-1000:]}')
        report = SCRATCH / 'coverage.json'
        without = [] if 'avx512' in tiers() else ['--exclude', f'{ROOT}/src/avx512/']
        status, text = run(['gcovr', '-r', ROOT, '--object-directory', directory, '--filter', f'{ROOT}/src/', *without,
                            '--exclude-throw-branches', '--json', report, directory])
        if status != 0:
            raise Stop(f'gcovr fails: {text[-1000:]}')
        totals, left = {}, []
        for file in json.loads(report.read_text(encoding='utf-8'))['files']:
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
        part.table('By gcov, without optimisation; `src/neon` is left to the emulator' +
                   (', `src/avx512` to machines that can run it:' if without else ':'), ['folder', 'lines', 'share', 'branches'], rows)
        if 100 * total[0] / total[1] < WANTED:
            part.fail(f'{100 * total[0] / total[1]:.1f} % of the lines, {WANTED} wanted')


main()
