"""Ratios of every kernel and public call, by posenc-bench: against the plain loop, the limit and the unfused calls."""
import json
import subprocess
import sys

RATIOS = ('x_limit', 'x_alone', 'x_libm', 'x_unfused')


def all_names(program):
    return subprocess.run([program, '--benchmark_list_tests'], capture_output=True, text=True, check=True).stdout.split()


def of_simd(names):
    """The scalar tier is not meant to be fast."""
    return [name for name in names if '/scalar/' not in name]


def list_names(program, leave_out):
    """Names of the benchmarks of the SIMD tiers."""
    return [name for name in of_simd(all_names(program)) if not any(mark in name for mark in leave_out)]


def is_small(name):
    """Whether a kernel runs in the first two caches."""
    count = name.rsplit(':', 1)[-1]
    return not count.isdigit() or len(count) < 5


def escape(name):
    return ''.join('\\' + c if c in '.+*?()[]{}|^$\\' else c for c in name)


def entries(program, names, seconds, core):
    """Google Benchmark's results by name; a command line holds some hundred names."""
    for begin in range(0, len(names), 200):
        pattern = '^(' + '|'.join(escape(name) for name in names[begin:begin + 200]) + ')$'
        run = subprocess.run(['taskset', '-c', str(core), program, f'--benchmark_filter={pattern}',
                              '--benchmark_format=json', f'--benchmark_min_time={seconds}'],
                             capture_output=True, text=True, check=True)
        yield from json.loads(run.stdout)['benchmarks']


def run_once(program, names, seconds, core):
    """{name: {'ns': , 'x_limit': , ...}}"""
    return {entry['name']: {'ns': entry['ns/elem'], **{key: entry[key] for key in RATIOS if key in entry}}
            for entry in entries(program, names, seconds, core)}


def run_rounds(program, names, rounds, seconds, core):
    """{name: {'ns': [one a round], 'x_limit': [...], ...}}"""
    times = {}
    for r in range(rounds):
        print(f'kernels: {len(names)} benchmarks, round {r + 1} of {rounds}', file=sys.stderr)
        for name, values in run_once(program, names, seconds, core).items():
            for key, value in values.items():
                times.setdefault(name, {}).setdefault(key, []).append(value)
    return times
