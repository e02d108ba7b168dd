"""Faults made at random, one at a time, in a copy of the tree: do the tests notice? A mutant whose machine code is that of the
original is no fault and is drawn again. tests/proof/survivors.txt explains those that no test can see.

    mutation.py --count 200 --seed 7       so many, drawn anew
    mutation.py --only src/t5.c            of files whose path has this in it"""
import hashlib
import os
import pathlib
import random
import re
import shutil

from proof import ROOT, SCRATCH, Part, Stop, run

SOURCES = ['src/*.c', 'src/kernels/*.inc.h', 'src/kernels/exp.h', 'src/kernels/half.h', 'src/scalar/*', 'src/avx2/vec.h',
           'src/avx2/rope.c', 'src/avx512/vec.h', 'src/*.h']
TREE = SCRATCH / 'mutants' / 'tree'

SWAPS = [(' + ', ' - '), (' - ', ' + '), (' * ', ' + '), (' / ', ' * '), (' < ', ' <= '), (' <= ', ' < '), (' > ', ' >= '),
         (' >= ', ' > '), (' == ', ' != '), (' != ', ' == '), (' && ', ' || '), (' || ', ' && '), ('v_add(', 'v_sub('),
         ('v_sub(', 'v_add('), ('v_mul(', 'v_add('), ('v_fma(', 'v_fms('), ('v_fms(', 'v_fma('), ('vd_add(', 'vd_sub('),
         ('vd_mul(', 'vd_add('), ('vd_fms(', 'vd_fma('), ('vi_add(', 'vi_sub('), ('v_max(', 'v_min('), ('_lo', '_hi'), ('_hi', '_lo'),
         ('unpacklo', 'unpackhi'), ('unpackhi', 'unpacklo'), ('cos_', 'sin_'), ('sin_', 'cos_'), ('.begin', '.end'),
         ('.end', '.begin')]
NUMBER = re.compile(r'(?<![\w.])(0x[0-9a-fA-F]+u?|\d+u?)(?![\w.])')
REAL = re.compile(r'(?<![\w.])(0x[0-9a-f.]+p[-+]?\d+f?|\d+\.\d*(?:e[-+]?\d+)?f?)(?![\w.])')


def code_lines(text):
    """(number, line) of what is code; comments, directives and texts are not."""
    is_comment = False
    for number, line in enumerate(text.split('\n')):
        stripped = line.strip()
        if is_comment or stripped.startswith('/*'):
            is_comment = '*/' not in line
            continue
        if stripped and not stripped.startswith(('#', '//', '_Static_assert', 'static_assert')) and '"' not in line:
            yield number, line


def mutants_of_line(line):
    """Every changed line, once."""
    code = line.split('/*')[0]
    for old, new in SWAPS:
        for found in re.finditer(re.escape(old), code):
            yield code[:found.start()] + new + code[found.end():]
    for found in NUMBER.finditer(code):
        digits = found[1].rstrip('u')
        yield code[:found.start()] + str(int(digits, 0) + 1) + ('u' if 'u' in found[1] else '') + code[found.end():]
    for found in REAL.finditer(code):
        yield code[:found.start()] + f'({found[1]} * 1.001{"f" if found[1].endswith("f") else ""} + 1e-30f)' + code[found.end():]
    condition = re.match(r'^(\s*(?:\} else )?if )\((.*)\)( \{)?$', code)
    if condition:
        yield f"{condition[1]}(!({condition[2]})){condition[3] or ''}"
    if re.match(r'^\s+[\w\[\].>*+-]+ [-+*|&^]?= .*;$', code) or re.match(r'^\s+\w+\(.*\);$', code):
        yield re.match(r'^\s*', code)[0] + ';'


def all_mutants(only):
    found = []
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if only not in name or not path.is_file() or name == 'src/cpu.c':
                continue
            for number, line in code_lines(path.read_text(encoding='utf-8')):
                found += [(name, number, line, changed) for changed in mutants_of_line(line) if changed != line]
    return found


class Copy:
    """The tree once more, built for one vector tier with little optimisation: quick to compile and to run, and the same bits."""

    def __init__(self, tier):
        self.tier, self.build = tier, SCRATCH / 'mutants' / tier
        if not (self.build / 'build.ninja').exists():
            if run(['meson', 'setup', self.build, TREE, '-Doptimization=1', '-Dbench=disabled', '-Dtools=disabled',
                    '-Dtests=enabled', '-Ddefault_library=static', f'-Disa={tier}'])[0] != 0:
                raise Stop('the copy cannot be configured')
        targets = run(['ninja', '-C', self.build, '-t', 'targets', 'all'])[1]
        self.programs = [t for t in re.findall(r'^(tests/(?:test|vec)_\w+): ', targets, re.MULTILINE)
                         if t not in ('tests/test_static', 'tests/test_dispatch')]
        status, text = self.ninja()
        if status != 0:
            raise Stop(f'the copy does not build: {text[-500:]}')
        self.sound = self.objects()

    def ninja(self, *targets):
        return run(['ninja', '-C', self.build, '-j2', *(targets or self.programs)], None, None, 900)

    def objects(self):
        """What the library's objects hold, so that a mutant with the same machine code is known."""
        return {path.name + path.parent.name: hashlib.sha1(path.read_bytes()).digest()
                for path in self.build.glob('lib*.p/*.o')}


def commands(name, copy):
    """Test commands in the order in which they are likely to notice a change of this file."""
    quick = [['test_hashes', TREE / 'tests/hashes.txt']]
    kernels = [['test_kernels', copy.tier], ['test_kernels', 'scalar']]
    vectors = [[f'vec_{copy.tier}'], ['test_half']]
    others = sorted(pathlib.Path(p).name for p in copy.programs)
    others = [[p] for p in others if p.startswith('test_') and p not in ('test_hashes', 'test_kernels', 'test_half')]
    words = set(re.split(r'[/_.]', name)) - {'src', 'c', 'h', 'inc', 'kernels', 'scalar', 'avx2', 'avx512'}
    slow = {'test_angles', 'test_encoding', 'test_scores', 'test_relative', 'test_softmax', 'test_exp', 'test_rope_tasks',
            'test_attention_fused'}
    others.sort(key=lambda p: (-len(words & set(p[0].split('_'))), p[0] in slow))
    if re.match(r'src/(kernels|scalar|avx2|avx512)/', name):
        return quick + (vectors if 'vec.h' in name or 'half.h' in name else []) + kernels + vectors + others
    return [p for p in others if words & set(p[0].split('_'))] + quick + [p for p in others if not words & set(p[0].split('_'))]


def noticed_by(name, copy):
    """The program that fails, or None."""
    for program, *arguments in commands(name, copy):
        copy.ninja(f'tests/{program}')
        status, _ = run([copy.build / 'tests' / program, *arguments], {'POSENC_TEST_SCALE': '4', 'POSENC_TEST_SEED': '1'},
                        timeout=600)
        if status not in (0, 77):
            return f'{program} {arguments[0] if program == "test_kernels" else ""}'.strip() + ('' if status else ' (too long)')
    return None


def explained():
    """Lines of the kept list: FILE: changed line."""
    path = ROOT / 'tests/proof/survivors.txt'
    lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else []
    return {line for line in lines if line and not line.startswith('#')}


def one(mutant, copy):
    """(what became of it, by what)."""
    name, number, line, changed = mutant
    path = TREE / name
    lines = (ROOT / name).read_text(encoding='utf-8').split('\n')
    lines[number] = changed
    path.write_text('\n'.join(lines), encoding='utf-8')
    try:
        status, text = copy.ninja('libposenc.a')
        if status != 0:
            return 'does not compile', next((line for line in text.splitlines() if 'error' in line), '')
        if copy.objects() == copy.sound:
            return 'equivalent', 'same machine code'
        killer = noticed_by(name, copy)
        return ('killed', killer) if killer else ('survived', '')
    finally:
        shutil.copy(ROOT / name, path)
        os.utime(path)


def main():
    with Part('mutation', seed=0, count=0, only='') as part:
        seed = part.options.seed or 1
        count = part.options.count or (150 if part.is_long else 6)
        shutil.rmtree(TREE, ignore_errors=True)
        os.environ['CCACHE_DIR'] = str(SCRATCH / 'ccache')  # if there is one, faulty objects stay in a cache of their own
        # With new times: what is left of a build with a fault in it is older.
        shutil.copytree(ROOT, TREE, ignore=shutil.ignore_patterns('.git', 'build*', '.cache'), copy_function=shutil.copy)
        copies = {tier: Copy(tier) for tier in ('avx2', 'avx512')}
        candidates = all_mutants(part.options.only)
        random.Random(seed).shuffle(candidates)
        print(f'seed {seed}: {count} of {len(candidates)} mutants', flush=True)
        counts = {'killed': 0, 'survived': 0, 'explained': 0, 'equivalent': 0, 'does not compile': 0}
        kept, survivors, by_folder = explained(), [], {}
        for mutant in candidates:
            if counts['killed'] + counts['survived'] + counts['explained'] >= count:
                break
            fate, by = one(mutant, copies['avx512' if 'avx512' in mutant[0] else 'avx2'])
            name, number, line, changed = mutant
            if fate == 'survived' and f'{name}: {changed.strip()}' in kept:
                fate = 'explained'
            counts[fate] += 1
            folder = by_folder.setdefault(str(pathlib.Path(name).parent), [0, 0])
            folder[0] += fate == 'killed'
            folder[1] += fate == 'survived'
            print(f'{fate:<16} {name}:{number + 1}: {line.strip()}  =>  {changed.strip()}  {by}', flush=True)
            if fate == 'survived':
                survivors.append([name, line.strip(), changed.strip()])
        judged = counts['killed'] + counts['survived']
        share = 100.0 * counts['killed'] / judged if judged else 0.0
        part.table(f'{count} mutants of {len(candidates)} possible, drawn with seed {seed}; those of the same machine code '
                   'and those that do not compile are not counted:',
                   ['killed', 'survived', 'share killed', 'explained (`tests/proof/survivors.txt`)', 'same code', 'do not compile'],
                   [[counts['killed'], counts['survived'], f'{share:.1f} %', counts['explained'], counts['equivalent'],
                     counts['does not compile']]])
        part.table('By folder:', ['folder', 'killed', 'survived'], [[f, *n] for f, n in sorted(by_folder.items())])
        if survivors:
            part.table('Survivors:', ['file', 'line', 'became'], survivors)
        if share < 95.0:
            part.fail(f'{share:.1f} % killed, 95 wanted')


main()
