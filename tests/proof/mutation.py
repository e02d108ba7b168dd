"""Faults made at random, one at a time, in a copy of the tree: do the tests notice? A mutant whose machine code is that of the
original is no fault and is drawn again. tests/proof/survivors.txt explains those that no test can see.

    mutation.py --count 200 --seed 7       so many, drawn anew
    mutation.py --only src/t5.c            of files whose path has this in it"""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import queue
import re
import shutil
import threading
import time

from proof import NEON, NEON_TESTS, ROOT, SCRATCH, Part, Stop, can_emulate_neon, emulated_tiers, emulation, run, tiers

SOURCES = ['src/*.c', 'src/kernels/*.inc.h', 'src/kernels/exp.h', 'src/kernels/half.h', 'src/scalar/*', 'src/avx2/vec.h',
           'src/avx2/rope.c', 'src/avx512/vec.h', 'src/neon/vec.h', 'src/*.h']
SCALE = 4  # one case in so many

SWAPS = [(' + ', ' - '), (' - ', ' + '), (' * ', ' + '), (' / ', ' * '), (' < ', ' <= '), (' <= ', ' < '), (' > ', ' >= '),
         (' >= ', ' > '), (' == ', ' != '), (' != ', ' == '), (' && ', ' || '), (' || ', ' && '), ('v_add(', 'v_sub('),
         ('v_sub(', 'v_add('), ('v_mul(', 'v_add('), ('v_fma(', 'v_fms('), ('v_fms(', 'v_fma('), ('vd_add(', 'vd_mul('),
         ('vd_mul(', 'vd_add('), ('vd_fms(', 'vd_fma('), ('vi_add(', 'vi_sub('), ('v_max(', 'v_min('), ('_lo', '_hi'), ('_hi', '_lo'),
         ('unpacklo', 'unpackhi'), ('unpackhi', 'unpacklo'), ('cos_', 'sin_'), ('sin_', 'cos_'), ('.begin', '.end'),
         ('.end', '.begin')]
NO_CODE = '#', '//', '_Static_assert', 'static_assert', '__builtin_prefetch', 'fetch_typed('
NUMBER = re.compile(r'(?<![\w.])(0x[0-9a-fA-F]+u?|\d+u?)(?![\w.])')
REAL = re.compile(r'(?<![\w.])(0x[0-9a-f.]+p[-+]?\d+f?|\d+\.\d*(?:e[-+]?\d+)?f?)(?![\w.])')


def code_lines(text):
    """(number, line) of what is code; comments, directives, texts and what is fetched ahead, which changes no result, are not."""
    is_comment = False
    for number, line in enumerate(text.split('\n')):
        stripped = line.strip()
        if is_comment or stripped.startswith('/*'):
            is_comment = '*/' not in line
            continue
        if stripped and not stripped.startswith(NO_CODE) and '"' not in line:
            yield number, line


def mutants_of_line(line):
    """Every changed line, once."""
    code = line.split('/*')[0]
    for old, new in SWAPS:
        whole = r'(?![a-z])' if old[0] == '_' else ''  # v_load has no low half
        for found in re.finditer(re.escape(old) + whole, code):
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


def tier_of(name):
    """The vector tier whose build judges a mutant of this file."""
    return next((tier for tier in ('avx512', 'neon') if f'/{tier}/' in name), 'avx2')


def vector_tiers():
    return [tier for tier in tiers() + emulated_tiers() if tier != 'scalar'] + ['neon'] * can_emulate_neon()


def options_of(tier):
    if tier == 'neon':
        return ['--cross-file', ROOT / f'cross/{NEON}.ini']
    return ['-Dc_args=-mfma -U__AVX__', '-Dc_link_args=-fsanitize=leak', f'-Disa={tier}',
            *(emulation() if tier in emulated_tiers() else [])]


def all_mutants(only):
    """Of every file that this CPU can run, or a build emulate."""
    found, judged = [], vector_tiers()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if only not in name or not path.is_file() or name == 'src/cpu.c' or tier_of(name) not in judged:
                continue
            for number, line in code_lines(path.read_text(encoding='utf-8')):
                found += [(name, number, line, changed) for changed in mutants_of_line(line) if changed != line]
    return found


def drawn(candidates, seed):
    """In an order that the seed and each mutant's own text give, so that a change elsewhere draws the same mutants again."""
    seen = collections.Counter()

    def lot(mutant):
        name, _, line, changed = mutant
        text = f'{seed}: {name}: {line.strip()} => {changed.strip()}'
        seen[text] += 1
        return hashlib.sha1(f'{text}: {seen[text]}'.encode()).digest()

    return sorted(candidates, key=lot)


class Copy:
    """The tree once more, built for one vector tier, as is quickest to build and run in all: with -O2 the tests take a sixth of -O1's
    time, and with -mfma, which src/cpu.c refuses if it sees __AVX__, the scalar tier's fmaf is no call."""

    def __init__(self, tree, tier):
        self.tree, self.tier, self.build = tree, tier, tree.parent / f'{tree.name}-{tier}'
        if not (self.build / 'build.ninja').exists():
            if run(['meson', 'setup', self.build, tree, '-Doptimization=2', '-Dbench=disabled', '-Dtools=disabled',
                    '-Dtests=enabled', '-Ddefault_library=static', *options_of(tier)])[0] != 0:
                raise Stop('the copy cannot be configured')
        targets = run(['ninja', '-C', self.build, '-t', 'targets', 'all'])[1]
        programs = re.findall(r'^(tests/(?:test|vec)_\w+): ', targets, re.MULTILINE)
        self.programs = ([f'tests/{name}' for name in NEON_TESTS] if tier == 'neon' else
                         [name for name in programs if name not in ('tests/test_static', 'tests/test_dispatch')])
        status, text = self.ninja()
        if status != 0:
            raise Stop(f'the copy does not build: {text[-500:]}')
        self.sound = self.objects()

    def ninja(self, *targets):
        return run(['ninja', '-C', self.build, '-j1', *(targets or self.programs)], None, None, 900)

    def objects(self):
        """What the library's objects hold, so that a mutant with the same machine code is known."""
        return {path.name + path.parent.name: hashlib.sha1(path.read_bytes()).digest()
                for path in self.build.glob('lib*.p/*.o')}

    def commands(self):
        """Every test: its program, and its arguments."""
        arguments = {'test_hashes': [[self.tree / 'tests/hashes.txt']], 'test_kernels': [[self.tier], ['scalar']],
                     'test_hashes_public': [[self.tree / 'tests/hashes_public.txt']]}
        if self.tier == 'neon':
            arguments = {name: [given] for name, given in NEON_TESTS.items()}
        return [(path.name, *more) for path in map(pathlib.Path, self.programs) for more in arguments.get(path.name, [[]])]

    def passes(self, command, timeout):
        self.ninja(f'tests/{command[0]}')
        emulator = ['qemu-aarch64'] if self.tier == 'neon' else []
        status, _ = run([*emulator, self.build / 'tests' / command[0], *command[1:]],
                        {'POSENC_TEST_SCALE': str(SCALE), 'POSENC_TEST_SEED': '1'}, timeout=timeout)
        return status in (0, 77)


def time_tests(copy):
    """{command: seconds} of the sound copy; a net with a hole of its own proves nothing."""
    seconds = {}
    for command in copy.commands():
        start = time.time()
        if not copy.passes(command, 600):
            raise Stop(f'{command[0]} fails without a mutant')
        seconds[command[0]] = time.time() - start
    return seconds


def in_order(name, copy, seconds):
    """The tests in the order in which they are likely to notice a change of this file soon: those named after it, then the quick."""
    words = set(re.split(r'[/_.]', name)) - {'src', 'c', 'h', 'inc', 'kernels', 'scalar', 'avx2', 'avx512', 'neon'}
    if re.match(r'src/(kernels|scalar|avx2|avx512|neon)/', name):
        words |= {'hashes', 'kernels', 'vec'}
    return sorted(copy.commands(), key=lambda c: (-len(words & set(c[0].split('_'))), seconds[c[0]]))


def noticed_by(name, copy, seconds):
    """The test that fails, or takes far too long; or None."""
    for command in in_order(name, copy, seconds):
        if not copy.passes(command, 20 + 10 * seconds[command[0]]):
            return command[0]
    return None


def spelled(mutant):
    """As the kept list has it: FILE: changed line, or FILE: without line."""
    name, _, line, changed = mutant
    return f'{name}: without {line.strip()}' if changed.strip() == ';' else f'{name}: {changed.strip()}'


def explained():
    """Lines of the kept list."""
    path = ROOT / 'tests/proof/survivors.txt'
    lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else []
    return {line for line in lines if line and not line.startswith('#')}


def stale_lines(candidates):
    """Of the kept list, those of files at hand that are no mutant any more."""
    mutants, files = set(map(spelled, candidates)), {name for name, *_ in candidates}
    return sorted(line for line in explained() if line.split(':')[0] in files and line not in mutants)


def judge(mutant, copies, seconds):
    """(what became of it, by what); seconds of the tests of each tier. The copies are one tree's, and of no one else meanwhile."""
    name, number, line, changed = mutant
    copy = copies[tier_of(name)]
    path = copy.tree / name
    lines = (ROOT / name).read_text(encoding='utf-8').split('\n')
    lines[number] = changed
    path.write_text('\n'.join(lines), encoding='utf-8')
    try:
        # A name that nothing has shows when every function is linked.
        status, text = copy.ninja('libposenc.a', 'tests/test_kernels' if copy.tier == 'neon' else 'tests/test_errors')
        if status != 0:
            return 'does not compile', next((line for line in text.splitlines() if 'error' in line), '')
        if copy.objects() == copy.sound:
            return 'equivalent', 'same machine code'
        killer = noticed_by(name, copy, seconds[copy.tier])
        return ('killed', killer) if killer else ('survived', '')
    finally:
        shutil.copy(ROOT / name, path)
        os.utime(path)


def copies_of_tree(number, wanted):
    tree = SCRATCH / 'mutants' / f'tree{number}'
    shutil.rmtree(tree, ignore_errors=True)
    # With new times: what is left of a build with a fault in it is older.
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns('.git', 'build*', '.cache'), copy_function=shutil.copy)
    return {tier: Copy(tree, tier) for tier in wanted}


class Verdicts:
    """What became of mutants of these sources under these tests, in this run or one before it, which may have been cut short. Those
    that survived are judged anew each time, since what explains them may be new."""

    def __init__(self):
        digest = hashlib.sha1()
        for files in 'include/**/*.h', 'src/**/*.*', 'tests/*.*', 'tests/emulated/*.h':
            for path in sorted(ROOT.glob(files)):
                digest.update(path.read_bytes())
        self.lock = threading.Lock()
        self.path = SCRATCH / 'mutants' / f'verdicts-{digest.hexdigest()[:12]}.json'
        self.known = json.loads(self.path.read_text(encoding='utf-8')) if self.path.exists() else {}

    def of(self, mutant, judge_it):
        key = ': '.join(map(str, mutant))
        if key in self.known:
            return self.known[key]
        verdict = judge_it()
        if verdict[0] != 'survived':
            with self.lock:
                self.known[key] = verdict
                self.path.write_text(json.dumps(self.known), encoding='utf-8')
        return verdict


def judge_all(candidates, trees, seconds):
    """(mutant, what became of it, by what) in the order of the candidates, as many at a time as there are trees."""
    free, verdicts, no_effect = queue.SimpleQueue(), Verdicts(), explained()
    for tree in trees:
        free.put(tree)

    def with_a_tree(mutant):
        if spelled(mutant) in no_effect:
            return mutant, 'explained', ''
        tree = free.get()
        try:
            return mutant, *verdicts.of(mutant, lambda: judge(mutant, tree, seconds))
        finally:
            free.put(tree)

    with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
        under_way = collections.deque()
        try:
            for mutant in candidates:
                under_way.append(pool.submit(with_a_tree, mutant))
                if len(under_way) > 4 * len(trees):
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


def main():
    with Part('mutation', seed=0, count=0, only='') as part:
        seed = part.options.seed or 1
        count = part.options.count or (150 if part.is_long else 6)
        os.environ['CCACHE_DIR'] = str(SCRATCH / 'ccache')  # if there is one, faulty objects stay in a cache of their own
        candidates = drawn(all_mutants(part.options.only), seed)
        for line in stale_lines(candidates):
            part.fail(f'tests/proof/survivors.txt explains what is no mutant: {line}')
        wanted = sorted({tier_of(name) for name, *_ in candidates})
        with concurrent.futures.ThreadPoolExecutor() as pool:
            trees = list(pool.map(lambda number: copies_of_tree(number, wanted), range(os.cpu_count())))
            seconds = dict(zip(trees[0], pool.map(time_tests, trees[0].values())))
        print(f'seed {seed}: {count} of {len(candidates)} mutants', flush=True)
        counts = {'killed': 0, 'survived': 0, 'explained': 0, 'equivalent': 0, 'does not compile': 0}
        survivors, by_folder = [], {}
        for (name, number, line, changed), fate, by in judge_all(candidates, trees, seconds):
            counts[fate] += 1
            folder = by_folder.setdefault(str(pathlib.Path(name).parent), [0, 0])
            folder[0] += fate == 'killed'
            folder[1] += fate == 'survived'
            print(f'{fate:<16} {name}:{number + 1}: {line.strip()}  =>  {changed.strip()}  {by}', flush=True)
            if fate == 'survived':
                survivors.append([name, line.strip(), changed.strip()])
            if counts['killed'] + counts['survived'] + counts['explained'] >= count:
                break
        judged = counts['killed'] + counts['survived']
        share = 100.0 * counts['killed'] / judged if judged else 0.0
        part.table(f'{count} mutants of {len(candidates)} possible, drawn with seed {seed}; those of the same machine code '
                   'and those that do not compile are not counted:',
                   ['killed', 'survived', 'share killed', 'explained (`tests/proof/survivors.txt`)', 'same code', 'do not compile'],
                   [[counts['killed'], counts['survived'], f'{share:.1f} %', counts['explained'], counts['equivalent'],
                     counts['does not compile']]])
        emulated = ''.join(f', `src/{tier}` emulated' for tier in emulated_tiers()) + ', `src/neon` under qemu' * can_emulate_neon()
        part.table(f'By folder{emulated}:', ['folder', 'killed', 'survived'], [[f, *n] for f, n in sorted(by_folder.items())])
        if survivors:
            part.table('Survivors:', ['file', 'line', 'became'], survivors)
        if share < 95.0:
            part.fail(f'{share:.1f} % killed, 95 wanted')


if __name__ == '__main__':
    main()
