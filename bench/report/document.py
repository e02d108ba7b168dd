"""A page of docs/results: all of it is written out of the report of one run on its machine."""
import statistics

import kernel_table
import machine
import works
from pages import (attention_section, call_goals_section, goals_section, head_words, layouts_section, losses_section,
                   markdown_table, rotations_section, slower_section, versions_text)
from results import SIMD_TIERS, TIER_NAMES, Results

# The table at a glance: what a reader looks for, and the benchmark's name.
SPEED = [
    ('RoPE half-split, 1 token x 32 heads x 128, precomputed table', 'posenc_rope_apply_table/{}/32x128/half/tokens:1'),
    ('RoPE half-split, 512 tokens x 32 x 128, precomputed table', 'posenc_rope_apply_table/{}/32x128/half/tokens:512'),
    ('RoPE interleaved, 1 token, precomputed table', 'posenc_rope_apply_table/{}/32x128/interleaved/tokens:1'),
    ('RoPE interleaved, 512 tokens, precomputed table', 'posenc_rope_apply_table/{}/32x128/interleaved/tokens:512'),
    ('RoPE half-split, 1 token, computed on the fly', 'posenc_rope_apply/{}/32x128/half/tokens:1'),
    ('RoPE half-split, 512 tokens, computed on the fly', 'posenc_rope_apply/{}/32x128/half/tokens:512'),
    ('RoPE half-split f16, 512 tokens, precomputed table', 'posenc_rope_apply_table/{}/llama-3.1-8b/half/f16/tokens:512'),
    ('RoPE half-split bf16, 512 tokens, precomputed table', 'posenc_rope_apply_table/{}/llama-3.1-8b/half/bf16/tokens:512'),
    ('RoPE interleaved bf16, 64 heads x 128, in cache', 'rope_interleaved/{}/bf16/heads:64'),
    ('QK-norm and RoPE half-split, 1 token of Qwen3-8B, precomputed table',
     'posenc_rope_apply_tensors/{}/qk_norm/table/tokens:1'),
    ('packed QKV of Phi-3-mini taken apart and rotated, 512 tokens',
     'posenc_rope_apply_tensors/{}/packed_qkv/tokens:512'),
    ('K to an f16 cache (rotate, convert, scatter), 512 tokens',
     'posenc_rope_apply_tensors/{}/k_cache/f32_f16/table/tokens:512'),
    ('cos/sin table, 64 pairs, 512 consecutive positions', 'posenc_angle_rows/{}/run/512x64'),
    ('cos/sin table, 64 pairs, 16384 consecutive positions', 'posenc_angle_rows/{}/run/16384x64'),
    ('cos/sin table, 64 pairs, single positions', 'posenc_angle_rows/{}/lone/512x64'),
    ('softmax with ALiBi, rows of 4096', 'posenc_softmax/{}/alibi/32x1x4096'),
    ('attention, prefill, f16 K and V, 4 heads x 1024 x 1024 x 128', 'posenc_attention/{}/plain/t/4x4/1024x1024/128'),
]


# The page of a CPU and its title, by family and model: names are shared by several generations ("AMD EPYC").
PAGES = {
    'family and model 25 1': ('zen3-avx2.md', 'AMD Zen 3, AVX2'),
    'family and model 25 17': ('zen4-avx512.md', 'AMD Zen 4, AVX-512'),
    'family and model 26 2': ('zen5-avx512.md', 'AMD Zen 5, AVX-512'),
    'family and model 6 143': ('sapphire-rapids-avx512.md', 'Intel Sapphire Rapids, AVX-512'),
    'family and model 6 207': ('emerald-rapids-avx512.md', 'Intel Emerald Rapids, AVX-512'),
}


def ratio_text(values):
    if not values:
        return '-'
    middle = statistics.median(values)
    return f'{middle:.0f}x' if middle >= 20 else f'{middle:.1f}x' if middle >= 2 else f'{middle:.2f}x'


def measured_tiers(times):
    return [tier for tier in SIMD_TIERS if any(f'/{tier}/' in name for name in times)]


def speed_table(report):
    times = report['kernels']
    tiers = measured_tiers(times)
    head = ['work, float32 unless said', *(text for tier in tiers for text in (f'{TIER_NAMES[tier]}: plain', 'limit'))]
    rows = []
    for title, pattern in SPEED:
        seen = [times.get(pattern.format(tier), {}) for tier in tiers]
        if any(seen):
            rows.append([title, *(ratio_text(ratios.get(key)) for ratios in seen for key in ('x_libm', 'x_limit'))])
        else:
            print(f"left out: '{title}', for the report has no benchmark '{pattern}'")
    return markdown_table(head, rows)


def roof_table(report):
    """Throughput of the limits: of scaling in place, of writing and of copying, by working set; and of multiply-adds."""
    results = Results(report)
    kinds = (('scale in place', 0, 8), ('write', 2, 4), ('copy', 3, 8))  # of works.WORKING_SETS, bytes an element moves
    head = ['working set', *(f'{TIER_NAMES[tier]}: {name}, GB/s' for tier in results.tiers() for name, _, _ in kinds)]
    rows = []
    for at, size in enumerate(works.SET_SIZES):
        cells = []
        for tier in results.tiers():
            for _, sweep, moved in kinds:
                ns = results.median(works.WORKING_SETS[sweep].points[at][1], f'limit {tier}')
                cells.append('-' if ns is None else f'{moved / ns:.0f}')
        rows.append([f'{size >> 10} KiB' if size < 1 << 20 else f'{size >> 20} MiB', *cells])
    multiply = works.attention(1024, 1024, 4, 4)
    peaks = [f'{TIER_NAMES[tier]} {2 / ns:.0f} GFLOP/s' for tier in results.tiers()
             if (ns := results.median(multiply, f'limit {tier}')) is not None]
    return markdown_table(head, rows) + f"\n\nMultiply-adds in registers: {', '.join(peaks)}."


SPEED_WORDS = ('Medians of ratios, each taken between time slices of one run of `posenc-bench`. "plain" is the plain loop, and higher '
               'is better. "limit" is the limit of the call, and lower is better.')


def page(report):
    """Sections that the report has nothing of are left out: of a run of --peers those of single kernels."""
    results = Results(report)
    peers = [rotations_section(results), attention_section(results), losses_section(results), layouts_section(results)]
    rotations, attention, losses, layouts = ((s.title, s.words, markdown_table(s.head, s.rows) if s.rows else '') for s in peers)
    parts = [losses, attention, layouts, rotations]
    if report['kernels']:
        of_calls = [(s.title, s.words, markdown_table(s.head, s.rows) if s.rows else '')
                    for s in (goals_section(results), call_goals_section(results), slower_section(results))]
        parts = [('At a glance', [SPEED_WORDS], speed_table(report)), *parts, *of_calls[:2], ('Roofline', [], roof_table(report)),
                 ('Kernels against their limits', [], markdown_table(*kernel_table.by_size(report['kernels']))), of_calls[2]]
    text = [f'# Results: {page_of(report)[1]}',
            '[Performance](../performance.md) says how these tables are measured and how to read them. All of this page is written by '
            '`scripts/bench --documents` out of the report of one run.', *head_words(report)]
    if versions := versions_text(report):
        text.append(f'{versions}.')
    if report.get('is_short'):
        text.append('A run of `--peers --short`: beside other libraries attention in layout t and hot memory alone, in calls shorter '
                    'than a second; no single kernels.')
    for title, words, table in parts:
        if table or title == losses[0]:
            text += [f'## {title}', *words, *([table] if table else [])]
    return '\n\n'.join(text) + '\n'


def why_not(report, rounds):
    """Why a report cannot be published, and what to do, or None; rounds: of a full run. One of a busy machine says so
    in its tables."""
    if report['machine']['commit'] == 'unknown':
        return 'nobody can tell which commit it was made of: run scripts/bench again in a clone, with git installed'
    if report['machine']['commit'].endswith('-dirty'):
        return (f"it was made of {report['machine']['commit']}, which nobody else can have: commit what is changed, "
                'and run scripts/bench again')
    if report['rounds'] < rounds:
        return f"it is of a quick run, {report['rounds']} rounds and not {rounds}: run scripts/bench without --quick"
    return None


def page_of(report):
    """(file, title) of the report's machine."""
    key = report['machine']['key']
    for cpu, found in PAGES.items():
        if key.endswith(f', {cpu}'):
            return found
    raise SystemExit(f'error: docs/results has no page for this CPU ({key}): name one in PAGES of bench/report/document.py')


def write(report, root):
    path = root / 'docs/results' / page_of(report)[0]
    path.write_text(page(report))
    print(path)
