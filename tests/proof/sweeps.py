"""Every tier against scalar in every place, bad input to every function, and reads of what was never written."""
import re

from proof import Part, build, emulated_tiers, emulation, plain_build, run, title

# Programs for memcheck, which knows AVX2 and not AVX-512: what writes its own buffers and reads every byte of them.
MEMCHECK = ['test_encoding', 'test_rope_tasks', 'test_scores', 'test_attention_fused', 'test_relative', 'test_gradients',
            'test_conv', 'test_grouped_conv', 'test_resize', 'test_image_bias', 'test_fire_cope', 'test_errors']


def sweep_rows(part, directory, seeds):
    rows = []
    for tier in 'scalar', 'avx2', 'avx512':
        cases = values = failed = 0
        where = build('emulated', ['tests/posenc-check'], emulation()) if tier in emulated_tiers() else directory
        for seed in seeds:
            status, text = run([where / 'tests/posenc-check', '--tier', tier, '--seed', str(seed)])
            if status == 77:
                rows.append([tier, 'not run, this CPU lacks it', '', ''])
                break
            found = [tuple(map(int, line)) for line in re.findall(r' (\d+) cases +(\d+) values', text)]
            if status != 0 or not found:
                part.fail(f'posenc-check --tier {title(tier)} --seed {seed}: {text[-600:]}')
                failed += 1
                continue
            cases, values = cases + sum(line[0] for line in found), values + sum(line[1] for line in found)
        else:
            outcome = f'{failed} failed' if failed else '0 differences'
            rows.append([title(tier), f'{cases:,}', f'{values:,}', f'{len(seeds)} seeds, {outcome}'])
    return rows


def main():
    with Part('sweeps', seeds=10) as part:
        directory = plain_build()
        seeds = range(1, 1 + (part.options.seeds if part.is_long else 1))
        part.table('Every kernel against scalar, bit for bit: sizes 0 to 67 and some large, each call in up to 32 places between '
                   'guard pages, canaries around and between rows (`tests/README.md`):',
                   ['tier', 'cases', 'values compared', 'runs'], sweep_rows(part, directory, seeds))
        status, text = run([directory / 'tests/test_errors'])
        found = re.search(r'(\d+) public functions, (\d+) checks', text)
        if status != 0 or not found:
            part.fail('test_errors fails')
        else:
            part.table('Bad input; a public function without rows of its own fails the test:',
                       ['public functions', 'calls with bad arguments', 'calls that wrote anything'], [[found[1], found[2], 0]])
        rows = []
        for name in MEMCHECK if part.is_long else MEMCHECK[:0]:
            status, text = run(['valgrind', '-q', '--error-exitcode=99', directory / 'tests' / name], timeout=3600)
            if status != 0:
                part.fail(f'{name} under valgrind: exit status {status}: {text[-800:]}')
            rows.append([f'`{name}`', 'scalar, AVX2', '0' if status == 0 else 'FAILED'])
        if rows:
            part.table('Under valgrind\'s memcheck, which sees decisions on memory that was never written:',
                       ['program', 'tiers', 'findings'], rows)


if __name__ == '__main__':
    main()
