"""Random parameters, files and calls by libFuzzer (tests/fuzz), with clang's address and undefined-behaviour sanitizers.
--seconds: how long each target runs. --keep: the smallest inputs that together reach most go into tests/fuzz/corpus."""
import re
import shutil

from proof import ROOT, SCRATCH, Part, Stop, build, run

TARGETS = {'setup': 'constructors of all set-up objects and lines, and a first use',
           'model': 'the command\'s readers of config.json and GGUF',
           'kernels': 'every kernel of every tier against scalar'}
KEPT_FILES, KEPT_BYTES = 60, 8192


def fuzz(part, directory, target, seconds):
    """A row of the table."""
    found, artifacts = SCRATCH / 'corpus' / target, SCRATCH / 'findings'
    found.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(exist_ok=True)
    seeds = [ROOT / 'tests/fuzz/corpus' / target] + ([ROOT / 'models'] if target == 'model' else [])
    program = directory / 'tests/fuzz' / f'fuzz_{target}'
    status, text = run([program, f'-max_total_time={seconds}', '-timeout=120', '-rss_limit_mb=2500', '-print_final_stats=1',
                        '-verbosity=1', f'-artifact_prefix={artifacts}/{target}-', found, *seeds],
                       {'ASAN_OPTIONS': 'allocator_may_return_null=1'}, SCRATCH / f'fuzz-{target}.log')
    runs = re.search(r'number_of_executed_units: (\d+)', text)
    covered = re.findall(r'cov: (\d+)', text)
    if status != 0:
        part.fail(f'fuzz_{target}: {text[-1500:]}')
    if part.options.keep:
        keep(program, target, found, seeds)
    return [target, TARGETS[target], f'{seconds} s', f'{int(runs[1]):,}' if runs else '?', covered[-1] if covered else '?',
            'none' if status == 0 else 'SEE BELOW']


def keep(program, target, found, seeds):
    merged, kept = SCRATCH / 'merged' / target, ROOT / 'tests/fuzz/corpus' / target
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    if run([program, '-merge=1', merged, found, *seeds])[0] != 0:
        raise Stop(f'the corpus of {target} cannot be merged')
    total = 0
    files = sorted(merged.iterdir(), key=lambda file: file.stat().st_size)
    step = max(1, len(files) // KEPT_FILES)
    for file in files[::step]:
        total += file.stat().st_size
        if total > KEPT_BYTES:
            break
        shutil.copy(file, kept / file.name[:12])


def main():
    with Part('fuzz', seconds=0, keep=0) as part:
        directory = build('fuzz', [f'tests/fuzz/fuzz_{target}' for target in TARGETS],
                          ['-Dfuzz=enabled', '-Dtools=disabled', '-Ddefault_library=static', '-Db_lundef=false',
                           '--buildtype=debugoptimized', '-Db_sanitize=address,undefined'], 'clang')
        seconds = part.options.seconds or (1200 if part.is_long else 30)
        part.table('libFuzzer, with address and undefined-behaviour sanitizers (the SIMD tiers between guard pages instead):',
                   ['target', 'what is fed', 'time', 'runs', 'edges reached', 'findings'],
                   [fuzz(part, directory, target, seconds) for target in TARGETS])


main()
