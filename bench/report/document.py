"""The tables of docs/results/, written anew from a report into the page of its machine, between lines that mark them."""
import re
import statistics

import kernel_table
import machine
import works
from pages import (attention_section, call_goals_section, head_words, markdown_table, rotations_section, slower_section,
                   versions_text)
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
    ('attention, prefill, f16 K and V, 4 heads x 1024 x 1024 x 128', 'posenc_attention/{}/plain/4x4/1024x1024/128'),
]


# The page of a CPU, by family and model: names are shared by several generations ("AMD EPYC").
PAGES = {
    'family and model 25 17': 'zen4-avx512.md',
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
    return f"One thread, {machine.sentence(report['machine'])}:\n\n" + markdown_table(head, rows)


def roof_table(report):
    """What the limits reach: of scaling in place, of writing and of copying, by working set; and of multiply-adds."""
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


def beside_tables(report):
    """By the names of their places: what a report of --peers has all of. They may be of a later run than the others."""
    results, where = Results(report), report['machine']
    return {'beside': f"{versions_text(report)}; {machine.sentence(where)}. {machine.load_sentence(where)}",
            'rotations': section_text(rotations_section(results)), 'attention': section_text(attention_section(results))}


def tables_of(report):
    """By the names of their places."""
    if not report['kernels']:
        return beside_tables(report)
    results = Results(report)
    return {**beside_tables(report),
            'machine': '\n'.join(head_words(report)), 'speed': speed_table(report), 'roof': roof_table(report),
            'kernels': markdown_table(*kernel_table.by_size(report['kernels'])),
            'call-goals': section_text(call_goals_section(results)), 'slower': section_text(slower_section(results))}


def replace_between(text, name, new):
    """What stands between <!-- name: begin --> and <!-- name: end -->."""
    begin, end = f'<!-- {name}: begin -->', f'<!-- {name}: end -->'
    pattern = re.compile(re.escape(begin) + '.*?' + re.escape(end), re.S)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f'no place for {name}: it needs {begin} and {end}, once')
    return pattern.sub(lambda _: f'{begin}\n{new}\n{end}', text)


def section_text(section):
    return '\n\n'.join([*section.words, *([markdown_table(section.head, section.rows)] if section.rows else [])])


def fill(path, tables):
    """Writes the tables that a page has a place for."""
    text = path.read_text()
    for name, table in tables.items():
        if f'<!-- {name}: begin -->' not in text:
            print(f"left out: '{name}', for which {path.name} has no place")
        else:
            text = replace_between(text, name, table)
    path.write_text(text)


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
    """The name of the page of the report's machine."""
    key = report['machine']['key']
    for cpu, page in PAGES.items():
        if key.endswith(f', {cpu}'):
            return page
    raise SystemExit(f"error: docs/results has no page for this CPU ({key}): write one and name it in PAGES of "
                     'bench/report/document.py')


def write(report, root):
    path = root / 'docs/results' / page_of(report)
    fill(path, tables_of(report))
    print(path)
