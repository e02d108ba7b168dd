"""Whether the tests notice a change: a copy of the tree for each CPU, built for one vector tier at a time."""
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

from mutants import options_of, tier_of
from proof import EMULATE_NEON, NEON_TESTS, ROOT, SCRATCH, Stop, run

SCALE = 4  # one case in so many

# Sources that tests compile themselves: a change of these may show in them alone.
COMPILED_BY_TESTS = ('include/', 'src/kernels/fma.h', 'tests/emulated/')

# test_native is for a header that sees __AVX__, which the copies take away.
NOT_RUN = ('tests/test_static', 'tests/test_native')


class Copy:
    """The tree once more, built for one vector tier, as is quickest to build and run in all: with -O2 the tests take a sixth of -O1's
    time, and with -mfma, which src/core/cpu.c refuses if it sees __AVX__, the scalar tier's fmaf is no call."""

    def __init__(self, tree, tier):
        self.tree, self.tier, self.build = tree, tier, tree.parent / f'{tree.name}-{tier}'
        if not (self.build / 'build.ninja').exists():
            if run(['meson', 'setup', self.build, tree, '-Doptimization=2', '-Dbench=disabled', '-Dtools=disabled',
                    '-Dtests=enabled', '-Dpython=disabled', '-Ddefault_library=static', *options_of(tier)])[0] != 0:
                raise Stop('the copy cannot be configured')
        targets = run(['ninja', '-C', self.build, '-t', 'targets', 'all'])[1]
        programs = re.findall(r'^(tests/(?:posenc-check|(?:test|vec)_\w+)): ', targets, re.MULTILINE)
        self.programs = (sorted({f'tests/{command[0]}' for command in NEON_TESTS}) if tier == 'neon' else
                         [name for name in programs if name not in NOT_RUN])
        status, text = self.ninja()
        if status != 0:
            raise Stop(f'the copy does not build: {text[-500:]}')
        self.sound = self.objects()

    def ninja(self, *targets):
        return run(['ninja', '-C', self.build, '-j1', *(targets or self.programs)], None, None, 900)

    def objects(self):
        """Hashes of the library's objects, by which a mutant with the same machine code is known."""
        return {path.name + path.parent.name: hashlib.sha1(path.read_bytes()).digest()
                for path in self.build.glob('lib*.p/*.o')}

    def commands(self):
        """Every test: its program, its arguments, and with a = what goes into the environment."""
        if self.tier == 'neon':
            return NEON_TESTS
        checks = [('posenc-check', '--verify', '--tier', self.tier), ('posenc-check', '--verify', '--tier', 'scalar'),
                  ('posenc-check', '--tier', self.tier), ('posenc-check', '--tier', 'scalar')]
        forced = [('test_dispatch', f'POSENC_ISA={name}') for name in ('scalar', self.tier, 'unknown')]
        return checks + forced + [(path.name,) for path in map(pathlib.Path, self.programs) if path.name != 'posenc-check']

    def passes(self, command, timeout):
        self.ninja(f'tests/{command[0]}')
        emulator = EMULATE_NEON if self.tier == 'neon' else []
        arguments = [word for word in command[1:] if '=' not in word]
        environment = dict(word.split('=') for word in command[1:] if '=' in word)
        status, _ = run([*emulator, self.build / 'tests' / command[0], *arguments],
                        {'POSENC_TEST_SCALE': str(SCALE), 'POSENC_TEST_SEED': '1', **environment}, timeout=timeout)
        return status in (0, 77)


def time_tests(copy):
    """{command: seconds} of the sound copy; a net with a hole of its own proves nothing."""
    seconds = {}
    for command in copy.commands():
        start = time.time()
        if not copy.passes(command, 600):
            raise Stop(f'{command[0]} fails without a mutant')
        seconds[command] = time.time() - start
    return seconds


def in_order(name, copy, seconds):
    """The tests in the order in which they are likely to notice a change of this file soon: the hashes, those named
    after it, then the quick."""
    words = set(re.split(r'[/_.]', name)) - {'src', 'c', 'h', 'core', 'kernels', 'simd', 'scalar', 'avx2', 'avx512', 'neon'}
    return sorted(copy.commands(),
                  key=lambda command: (-2 * ('--verify' in command) - len(words & set(command[0].split('_'))), seconds[command]))


def noticed_by(name, copy, seconds):
    """The test that fails, or takes far too long; or None."""
    for command in in_order(name, copy, seconds):
        if not copy.passes(command, 20 + 10 * seconds[command]):
            return ' '.join(command)
    return None


def judge(change, copies, seconds):
    """(what became of it, by what); seconds of the tests of each tier. The copies are one tree's, and of no one else meanwhile."""
    copy = copies[tier_of(change.label)]
    path = copy.tree / change.file
    path.write_text(change.text, encoding='utf-8')
    try:
        # A name that nothing has shows when every function is linked.
        status, text = copy.ninja('libposenc.a', 'tests/posenc-check')
        if status != 0:
            return 'does not compile', next((line for line in text.splitlines() if 'error' in line), '')
        if copy.objects() == copy.sound and not change.file.startswith(COMPILED_BY_TESTS):
            return 'equivalent', 'same machine code'
        killer = noticed_by(change.file, copy, seconds[copy.tier])
        return ('killed', killer) if killer else ('survived', '')
    finally:
        shutil.copy(ROOT / change.file, path)
        os.utime(path)


def copies_of_tree(number, wanted):
    tree = SCRATCH / 'mutants' / f'tree{number}'
    shutil.rmtree(tree, ignore_errors=True)
    # With new times: objects that remain of a build with a fault are older.
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns('.git', 'build*', '.cache'), copy_function=shutil.copy)
    return {tier: Copy(tree, tier) for tier in wanted}


class Verdicts:
    """Verdicts on mutants of these sources under these tests, of this run or one before it, which may have been cut short.
    Survivors are judged anew each time: their explanation may be new."""

    def __init__(self):
        digest = hashlib.sha1()
        for files in 'include/**/*.h', 'src/**/*.*', 'tests/*.*', 'tests/check/*', 'tests/hashes/*', 'tests/emulated/*.h':
            for path in sorted(ROOT.glob(files)):
                digest.update(path.read_bytes())
        self.lock = threading.Lock()
        self.path = SCRATCH / 'mutants' / f'verdicts-{digest.hexdigest()[:12]}.json'
        self.known = json.loads(self.path.read_text(encoding='utf-8')) if self.path.exists() else {}

    def of(self, change, judge_it):
        key = f'{change.label}: {hashlib.sha1(change.text.encode()).hexdigest()}'
        if key in self.known:
            return self.known[key]
        verdict = judge_it()
        if verdict[0] != 'survived':
            with self.lock:
                self.known[key] = verdict
                self.path.write_text(json.dumps(self.known), encoding='utf-8')
        return verdict


def prepare(wanted):
    """(trees, seconds): a copy of the tree for each CPU, with a build for each wanted tier, and how long each test takes there."""
    os.environ['CCACHE_DIR'] = str(SCRATCH / 'ccache')  # if there is one, faulty objects stay in a cache of their own
    with concurrent.futures.ThreadPoolExecutor() as pool:
        trees = list(pool.map(lambda number: copies_of_tree(number, wanted), range(os.cpu_count())))
        return trees, dict(zip(trees[0], pool.map(time_tests, trees[0].values())))


def judge_all(changes, trees, seconds):
    """(change, what became of it, by what) in the order of the changes, as many at a time as there are trees."""
    free, verdicts = queue.SimpleQueue(), Verdicts()
    for tree in trees:
        free.put(tree)

    def with_a_tree(change):
        tree = free.get()
        try:
            return change, *verdicts.of(change, lambda: judge(change, tree, seconds))
        finally:
            free.put(tree)

    with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
        under_way = collections.deque()
        try:
            for change in changes:
                under_way.append(pool.submit(with_a_tree, change))
                if len(under_way) > 4 * len(trees):
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()
