"""Random parameters and calls by libFuzzer (tests/fuzz), with clang's address and undefined-behaviour sanitizers.
--seconds: how long each target runs. --targets a,b: those only, the result keeps the rows of the others. --keep: the
smallest inputs that together reach most go into tests/fuzz/corpus."""
import json
import pathlib
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

from proof import ROOT, SCRATCH, Part, Stop, build, emulated_tiers, emulation, run

PROGRAMS = {'setup': 'constructors of all set-up objects and lines, and a first use',
            'data': 'calls on data: on every tier, whole and in parts, and against plain loops in double'}
# Exceptions: the time in the long and in the short form, and inputs that may be long from the start.
SECONDS = {'data': (600, 60)}
MORE_OPTIONS = {'data': ['-len_control=0', '-max_len=256']}
# Kernels by family, each on every tier against scalar.
FAMILIES = {'angles': ['angle_anchors', 'angle_rows'],
            'rope': ['rope_half', 'rope_interleaved', 'rope_deinterleave', 'rope_channels', 'rms_factors',
                     'convert_rows', 'quantise_rows', 'hadamard_rows'],
            'rows': ['place_rows', 'mix_row', 'bit_rows', 'rbf_rows', 'add_axes'],
            'softmax': ['softmax_row', 'affine_row', 'cope_row', 'softmax_backward'],
            'attention': ['pack_rows', 'pack_values', 'dot_rows', 'dot_few', 'attend_rows', 'attend_panels',
                          'weighted_rows'],
            'quant': ['pack_quants', 'dot_quants', 'attend_quants'],
            'bf16': ['round_rows', 'pack_pairs', 'pair_rows', 'multiply_pairs']}
KEPT_FILES, KEPT_BYTES = 60, 8192


def fuzz(part, directory, target, seconds):
    """A row of the table."""
    family = FAMILIES.get(target)
    name = 'kernels' if family else target
    found, artifacts = SCRATCH / 'corpus' / target, SCRATCH / 'findings'
    found.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(exist_ok=True)
    seeds = [ROOT / 'tests/fuzz/corpus' / name]
    program = directory / 'tests/fuzz' / f'fuzz_{name}'
    chosen = {'POSENC_FUZZ_KERNELS': ','.join(family) + ','} if family else {}
    status, text = run([program, *MORE_OPTIONS.get(target, []), f'-max_total_time={seconds}', '-timeout=600', '-rss_limit_mb=2500',
                        '-print_final_stats=1', '-verbosity=1', f'-artifact_prefix={artifacts}/{target}-', found, *seeds],
                       {'ASAN_OPTIONS': 'allocator_may_return_null=1', **chosen}, SCRATCH / f'fuzz-{target}.log')
    print(f'{target}: exit status {status}', flush=True)
    runs = re.search(r'number_of_executed_units: (\d+)', text)
    covered = re.findall(r'cov: (\d+)', text)
    if status != 0:
        part.fail(f'fuzz_{name}, {target}: {text[-1500:]}')
    if part.options.keep:
        keep(program, name, found, seeds)
    what = ', '.join(f'`{kernel}`' for kernel in family) if family else PROGRAMS[target]
    return [target, what, f'{seconds} s', f'{int(runs[1]):,}' if runs else '?', covered[-1] if covered else '?',
            'none' if status == 0 else 'SEE BELOW', part.commit]


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


def rows_before(part):
    """Target to its row in the result that there is."""
    path = pathlib.Path(part.options.result or '')
    if not path.is_file():
        return {}
    tables = json.loads(path.read_text(encoding='utf-8'))['tables']  # none, if the run before did not build
    return {row[0]: row for table in tables for row in table['rows']}


def check_families():
    """Every kernel has a family."""
    listed = re.findall(r'^(?:[A-Z]+_)?KERNEL\((\w+),', (ROOT / 'src/kernels/kernels.def').read_text(encoding='utf-8'), re.MULTILINE)
    if sorted(listed) != sorted(sum(FAMILIES.values(), [])):
        raise Stop('FAMILIES in tests/proof/fuzz.py and src/kernels/kernels.def differ')


def seconds_of(part, target):
    of_long, of_short = SECONDS.get(target, (1200, 30))
    return part.options.seconds or (of_long if part.is_long else of_short)


def main():
    with Part('fuzz', seconds=0, keep=0, targets='') as part:
        check_families()
        targets = [*PROGRAMS, *FAMILIES]
        rows = rows_before(part) if part.options.targets else {}
        chosen = [target for target in targets if target in (part.options.targets.split(',') if part.options.targets else targets)]
        directory = build('fuzz', [f'tests/fuzz/fuzz_{name}' for name in [*PROGRAMS, 'kernels']],
                          ['-Dfuzz=enabled', '-Dtools=disabled', '-Ddefault_library=static', '-Db_lundef=false',
                           '--buildtype=debugoptimized', '-Db_sanitize=address,undefined', *emulation()], 'clang')
        with ThreadPoolExecutor(2) as pool:
            rows.update((row[0], row) for row in
                        pool.map(lambda target: fuzz(part, directory, target, seconds_of(part, target)), chosen))
        emulated = ''.join(f', {tier} emulated' for tier in emulated_tiers())
        part.table('libFuzzer, with address and undefined-behaviour sanitizers (the SIMD tiers between guard pages instead), two at '
                   f'a time; kernels by family, each on every tier against scalar{emulated}:',
                   ['target', 'what is fed', 'time', 'runs', 'edges reached', 'findings', 'commit'],
                   [rows[target] for target in targets if target in rows])


if __name__ == '__main__':
    main()
