"""Errors against independent truth: what the tests print in lines 'measured | what | how many | worst | where'."""
import json

from proof import Part, Stop, plain_build, run


def measured(directory):
    """The lines of every test of the kinds that have them, with the name of the test, and the tests that failed."""
    for old in (directory / 'meson-logs').glob('right*'):
        old.unlink()
    run(['meson', 'test', '-C', directory, '--no-rebuild', '--logbase', 'right', '--suite', 'accuracy', '--suite',
         'kernels'])
    rows, failed = [], []
    with open(directory / 'meson-logs' / 'right.json', encoding='utf-8') as log:
        for test in map(json.loads, log):
            if test['result'] not in ('OK', 'SKIP'):
                failed.append(test['name'])
            for line in test.get('stdout', '').splitlines():
                if line.startswith('measured | '):
                    rows.append([test['name'].split(' / ')[-1], *line.split(' | ')[1:]])
    return rows, failed


def every_argument(part, directory):
    """The lines of exp and tanh over all their float32 arguments, which takes minutes."""
    status, text = run([directory / 'tests/test_exp', 'every'])
    rows = [['exp', *line.split(' | ')[1:]] for line in text.splitlines()
            if line.startswith('measured | ') and ', every argument | ' in line]
    if status != 0 or len(rows) != 2:
        part.fail(f'test_exp every fails: {text[-600:]}')
    return rows


def main():
    with Part('right') as part:
        directory = plain_build()
        rows, failed = measured(directory)
        if part.is_long:
            rows += every_argument(part, directory)
        for name in failed:
            part.fail(f'test {name} fails')
        if not rows:
            raise Stop('no test measured anything')
        rows.sort(key=lambda row: row[0])
        part.table('Worst errors found, on all tiers of this machine. "of the allowed" is the share of the bound that the header '
                   'promises, which 1 would exhaust; tests compare with MPFR, plain double or golden vectors '
                   '(`tests/test_*.c`).', ['test', 'what', 'values', 'worst', 'where'],
                   [[name, what.removeprefix('test_').replace('_', ' '), f'{int(n):,}', worst, where]
                    for name, what, n, worst, where in rows])


if __name__ == '__main__':
    main()
