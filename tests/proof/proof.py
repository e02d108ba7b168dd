"""Shared by the parts of scripts/prove: options, builds, and the result that tests/proof/report.py reads.

A result is a JSON object: part, form, date, machine, commit, seconds, failures (a list of sentences), tables (each a caption, the
names of the columns, and rows of text).
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / 'build-prove'


def cpu_name():
    for line in pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines():
        if line.startswith('model name'):
            return line.split(':', 1)[1].strip()
    return platform.machine()


def tier_folders():
    return re.findall(r'^TIER\(.*, (\w+)\)$', (ROOT / 'src/tiers.def').read_text(encoding='utf-8'), re.M)


def tiers():
    """Tiers of x86 that this CPU can run; scalar on other CPUs."""
    lines = pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
    flags = next((set(line.split()) for line in lines if line.startswith('flags')), set())
    rows = re.findall(r'^TIER\((\w+), \w+, x86_64, \d+, "(.*)", \w+\)', (ROOT / 'src/tiers.def').read_text(encoding='utf-8'), re.M)
    wanted = {'scalar': set(), **{tier: {flag.removeprefix('-m') for flag in options.split()} for tier, options in rows}}
    return [tier for tier, needs in wanted.items() if needs <= flags]


def emulated_tiers():
    """Tiers that this CPU lacks and a build can emulate: their sources run, made of other instructions (docs/building.md)."""
    return ['avx512'] if 'avx2' in tiers() and 'avx512' not in tiers() else []


def emulation():
    """The options of a build that emulates them; all its other tiers are as ever."""
    return [f'-Demulate_{tier}=true' for tier in emulated_tiers()]


# Tests of src/neon that run on another machine, in an emulator.
NEON = 'aarch64-linux-gnu'
NEON_TESTS = [('vec_neon',), ('posenc-check', '--verify', '--tier', 'neon'), ('posenc-check', '--tier', 'neon')]
EMULATE_NEON = ['qemu-aarch64', '-cpu', 'max,pauth=off']  # to sign return addresses would take most of the time


def can_emulate_neon():
    return have(f'{NEON}-gcc') and have('qemu-aarch64')


def title(tier):
    return tier + ' emulated' if tier in emulated_tiers() else tier


def commit():
    """The commit that is at work, with a + if files differ from it; 'unknown' without git, or outside of a clone."""
    status, name = run(['git', 'rev-parse', '--short', 'HEAD']) if have('git') else (None, '')
    if status != 0:
        return 'unknown'
    changed = run(['git', 'status', '--porcelain', '--', 'src', 'include', 'tests', 'tools'])[1].strip()
    return name.strip() + ('+' if changed else '')


class Part:
    """One run of a part: `with Part('bits') as part:`; at the end the result is written and the exit status set."""

    def __init__(self, name, **more_options):
        parser = argparse.ArgumentParser(description=f'The part {name} of scripts/prove.')
        form = parser.add_mutually_exclusive_group()
        form.add_argument('--short', dest='form', action='store_const', const='short')
        form.add_argument('--long', dest='form', action='store_const', const='long')
        parser.add_argument('--result', help='where the JSON goes')
        for option, default in more_options.items():
            parser.add_argument('--' + option, type=type(default), default=default)
        self.options = parser.parse_args()
        self.name, self.form = name, self.options.form or 'short'
        self.is_long = self.form == 'long'
        self.failures, self.tables, self.start, self.commit = [], [], time.time(), commit()

    def __enter__(self):
        SCRATCH.mkdir(exist_ok=True)
        return self

    def fail(self, sentence):
        print('FAILED:', sentence, flush=True)
        self.failures.append(sentence)

    def table(self, caption, columns, rows):
        self.tables.append({'caption': caption, 'columns': columns, 'rows': [[str(cell) for cell in r] for r in rows]})

    def __exit__(self, kind, value, traceback):
        if kind is not None and issubclass(kind, Stop):
            self.fail(str(value))
        elif kind is not None:
            return False
        result = {'part': self.name, 'form': self.form, 'date': datetime.date.today().isoformat(), 'machine': cpu_name(),
                  'commit': self.commit, 'seconds': round(time.time() - self.start), 'failures': self.failures, 'tables': self.tables}
        for table in self.tables:
            print('\n' + table['caption'])
            for row in [table['columns']] + table['rows']:
                print('  ' + ' | '.join(row))
        if self.options.result:
            path = pathlib.Path(self.options.result)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
        print(f"\n{self.name}: {len(self.failures)} failures, {result['seconds']} s", flush=True)
        sys.exit(1 if self.failures else 0)


class Stop(Exception):
    """Ends a part as failed."""


def run(command, environment=None, log=None, timeout=None):
    """Runs a command: (exit status, what it printed). A command that takes too long has the status None."""
    try:
        done = subprocess.run([str(word) for word in command], cwd=ROOT, env={**os.environ, **(environment or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout, check=False)
        status, text = done.returncode, done.stdout.decode('utf-8', 'replace')
    except subprocess.TimeoutExpired as expired:
        status, text = None, (expired.stdout or b'').decode('utf-8', 'replace')
    if log:
        with open(log, 'a', encoding='utf-8') as file:
            file.write(text)
    return status, text


def build(name, targets=(), options=(), compiler='gcc', tests=True):
    """Configures and builds build-prove/NAME; returns the directory."""
    directory = SCRATCH / name
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / 'build.log'
    log.unlink(missing_ok=True)
    setup = ['meson', 'setup', directory, '-Dbench=disabled', '-Dpython=disabled', f"-Dtests={'enabled' if tests else 'disabled'}", *options]
    if (directory / 'build.ninja').exists():
        setup.append('--reconfigure')
    print(f'building {directory.relative_to(ROOT)}', flush=True)
    if run(setup, {'CC': compiler, 'CXX': ''} if compiler else None, log)[0] != 0:
        raise Stop(f'{name} cannot be configured (see {log})')
    if run(['ninja', '-C', directory, '-j2', *targets], None, log)[0] != 0:
        raise Stop(f'{name} does not build (see {log})')
    return directory


def plain_build(targets=()):
    """The build that scripts/test has for gcc, made if there is none; returns the directory."""
    directory = ROOT / 'build-gcc'
    print(f'building {directory.name}', flush=True)
    setup = ['meson', 'setup', directory, '--werror', '-Dtests=enabled', '-Dpython=disabled', '-Dtools=enabled']
    if (directory / 'build.ninja').exists():
        setup.append('--reconfigure')
    if run(setup, {'CC': 'gcc', 'CXX': 'g++'})[0] != 0:
        raise Stop('build-gcc cannot be configured')
    status, text = run(['ninja', '-C', directory, '-j2', *targets])
    if status != 0:
        raise Stop(f'build-gcc does not build: {text[-1000:]}')
    return directory


def have(program):
    return shutil.which(program) is not None
