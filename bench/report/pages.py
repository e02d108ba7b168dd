"""The report as Markdown and as one page of HTML: the same sections, tables and words; charts first, goals last."""
import html
from dataclasses import dataclass, field

import attentions
import kernel_table
import layouts
import machine
import works
from results import ATTENTION_LIBRARIES, ROTATION_LIBRARIES, TIER_NAMES, Results, goal_rows, library_cell


@dataclass
class Section:
    title: str
    words: list = field(default_factory=list)  # paragraphs
    head: list = field(default_factory=list)   # of the table
    rows: list = field(default_factory=list)
    chart: str = ''
    folded: bool = False                       # in HTML the table opens on demand


def met_text(met):
    return {True: 'met', False: '**not met**', None: '-'}[met]


GOAL_WORDS = (
    'Medians of ratios of two times of one round, in which all competitors take turns; in brackets the lower and upper quartile of '
    'the rounds. "as fast as": how many times as long the other takes. "limit", "other call": how many times as long as that the '
    'call takes. On a CPU with AVX-512, libraries are restricted to AVX2 beside posenc for AVX2.')
CALL_GOAL_WORDS = (
    'Cost of one call beside another: the same without what is added, or the calls that it replaces. Ratios of posenc-bench, '
    'each the median over time slices: the median of the rounds, in brackets their lower and upper quartile. Ratios against ggml and '
    'of rows of 131072 keys are of the benchmark comparison.')


def goals_section(results, title='Goals against libraries and limits', goals=works.GOALS, what=GOAL_WORDS):
    tiers = results.tiers()
    head = ['work', 'against', 'goal', *(text for t in tiers for text in (f'measured on {TIER_NAMES[t]}', 'met'))]
    rows, verdicts = [], []
    for work, against, goal, cells in goal_rows(results, goals):
        rows.append([work, against, goal] + [text for seen, met in cells for text in (seen, met_text(met))])
        verdicts.append([met for _, met in cells])
    counts = [f'{TIER_NAMES[tier]} {sum(v[i] is True for v in verdicts)} of {sum(v[i] is not None for v in verdicts)}'
              for i, tier in enumerate(tiers)]
    return Section(title, [what, 'Met: ' + ', '.join(counts) + '.'], head, rows)


def call_goals_section(results):
    return goals_section(results, 'Goals of single calls', works.CALL_GOALS, CALL_GOAL_WORDS)


def peers_section(results, draw):
    report = results.report
    words = ['Shorter is faster. Each bar: nanoseconds per element, and how many times the fastest that is. Bars begin at zero; each '
             'panel has a scale of its own. The thin line spans the quartiles of the rounds, the dashed line is the limit of the '
             'best tier. ggml computes its cos/sin table in every call. The scalar tier is in the table only.']
    if versions := versions_text(report):
        words.append(f'{versions}.')
    if report['absent']:
        reasons = [f'{name}: {why}' for name, why in sorted(report['absent'].items())]
        words.append(f"Skipped: {'; '.join(reasons)}.")
    reasons = sorted({f"{t['peer']} {t['absent']}" for t in report['times'] if 'absent' in t
                      and not t['peer'].startswith(('posenc', 'limit', 'plain'))})
    if reasons:
        words.append('Missing in some panels: ' + '; '.join(reasons) + '.')
    names = list(dict.fromkeys(peer for _, peer in results.times))
    rows = []
    for work in works.goal_lines():
        cells = [results.median(work, name) for name in names]
        if any(cells):
            shape = ' '.join(word for word in work.split() if not word.startswith('elements='))
            rows.append([shape, *('-' if cell is None else f'{cell:.3g}' for cell in cells)])
    return Section('Benchmark comparison', words, ['ns per element', *names], rows, draw and draw.bars(results), folded=True)


def versions_text(report):
    return ', '.join(f'{name} {version}' for name, version in report.get('versions', {}).items())


RATIO_WORDS = (
    'How many times as long as posenc each library takes, on one core and one thread: the median of the rounds, in which '
    'all take turns, and in brackets their lower and upper quartile; bold where it takes less. On a CPU with AVX-512, '
    'libraries are restricted to AVX2 beside posenc for AVX2; ONNX Runtime and XNNPACK cannot be, and are left out there. ')
ROTATIONS_WORDS = RATIO_WORDS + (
    'ggml and posenc rotate in place, the others into another tensor that is there before. ggml computes its cos/sin table '
    'in every call. PyTorch is the fastest of the ways to write it: results into tensors that are there (out=), of whole '
    'heads at once, or complex numbers. Hugging Face is the code of Transformers on the same PyTorch, its memory kept by '
    'malloc. Shapes are 32 heads x 128, of 1 token in decode and 512 in prefill.')
ATTENTION_WORDS = RATIO_WORDS + (
    'head_dim is 128 unless said; K and V are of the type named, Q is float32. Layout t has a token\'s heads side by side, h '
    'a head\'s tokens. Hot: each call has the same keys and values; memory: each has the next of so many copies that no '
    'cache holds them, as the layers of a model. Pages of the system are 4 KB, or huge ones where said. ggml is its flash '
    'attention; ggml graph is products, softmax and products with V transposed, as llama.cpp builds it without -fa. The fastest way that a framework '
    'has to the same result is timed: "by rows" has queries that share keys as rows of one '
    'head, "two products" is two matrix products and softmax. PyTorch may take float32 throughout for f16 and bf16 where '
    'that is faster, and names the type that it took; in bf16 its queries and results are bf16 too. ONNX Runtime has float32 '
    'throughout, in the lines of f16 too. PyTorch is given the keys of a window alone.')


def milliseconds(results, work, tier):
    """Time of one call in milliseconds."""
    ns = results.median(work, f'posenc {tier}')
    return '-' if ns is None else f"{1e-6 * ns * works.shape_of(work)['elements']:.3g}"


def rotations_section(results):
    lines = [(title, work) for title, work in works.BARS if not work.startswith('attention')]
    return beside_libraries('Rotations, tables and softmax beside other libraries', ROTATIONS_WORDS, results, ['work'],
                            [((title,), work) for title, work in lines], ROTATION_LIBRARIES)


def attention_section(results):
    return beside_libraries('Attention beside other libraries', ATTENTION_WORDS, results,
                            ['attention', 'K and V', 'layout', 'from'],
                            [(line.cells(), line.work) for line in attentions.LINES], ATTENTION_LIBRARIES)


def beside_libraries(title, words, results, head, lines, libraries):
    """A table of our milliseconds and ratios; lines: what the columns of head say of a line of work, and that line."""
    tiers, rows = results.tiers(), []
    for cells, work in lines:
        ratios = {tier: [library_cell(results, work, tier, name) for name in libraries] for tier in tiers}
        if any(set(found) != {'-'} for found in ratios.values()):
            rows.append([*cells, *(text for tier in tiers for text in (milliseconds(results, work, tier), *ratios[tier]))])
    columns = [f'{TIER_NAMES[tier]}: {name}' for tier in tiers for name in ('posenc, ms', *libraries)]
    return Section(title, [words], head + columns, rows)


def losses(results):
    """[(line, tier, library, its cell)] of attention in which another library takes less time, the worst first."""
    found = []
    for line in attentions.LINES:
        for tier in results.tiers():
            for name in ATTENTION_LIBRARIES:
                seen = results.ratio((line.work, results.limited_to(tier, name)), (line.work, f'posenc {tier}'))
                if seen is not None and float(f'{seen[1]:.3g}') < 1:
                    found.append((seen[1], line, tier, name))
    return [(line, tier, name, library_cell(results, line.work, tier, name))
            for _, line, tier, name in sorted(found, key=lambda loss: loss[0])]


def losses_section(results):
    seen = sum(any(results.has(line.work, f'posenc {tier}') for tier in results.tiers()) for line in attentions.LINES)
    found = losses(results)
    lines = len({line for line, *_ in found})
    words = [f'{lines} of the {seen} lines of attention: another library takes less time than posenc, the worst first.']
    rows = [[*line.cells(), TIER_NAMES[tier], name, cell] for line, tier, name, cell in found]
    return Section('Attention in which another library is faster', words,
                   ['attention', 'K and V', 'layout', 'from', 'tier', 'library', 'times posenc'], rows)


def layouts_section(results):
    words = ['Attention in layout t (a token\'s heads side by side) beside h (a head\'s tokens), by `posenc-bench layout`: the two in '
             'turns, with bit-identical results. Ratios are medians of neighbours in time, with their quartiles. The limit of '
             'decode is reading keys and values once, that of prefill its multiply-adds.']
    return Section('Layouts t and h', words, *layouts.table(results.report), folded=True)


def sweep_section(title, words, results, sweeps, chart):
    names = list(dict.fromkeys(peer for sweep in sweeps for _, work in sweep.points
                               for w, peer in results.times if w == work))
    rows = []
    for sweep in sweeps:
        for x, work in sweep.points:
            cells = [results.median(work, name) for name in names]
            if any(cells):
                rows.append([sweep.title, f'{x}', *('-' if c is None else f'{c:.3g}' for c in cells)])
    labels = {sweep.x_label for sweep in sweeps}
    head = ['ns per element', labels.pop() if len(labels) == 1 else 'x', *names]
    return Section(title, words, head, rows, chart if rows else '', folded=True)


def kernels_section(results, draw):
    times = results.report['kernels']
    levels = kernel_table.in_cache(times)
    words = ['How many times as long as its limit each kernel takes. The limit moves the same bytes with next to no arithmetic; for '
             'products it is as many multiply-adds. The chart shows a working set of 16 KiB, within the first cache.']
    head, rows = kernel_table.by_size(times)
    chart = draw and levels and draw.kernels(levels, 'Kernels in the first cache, against the roofline')
    return Section('Roofline: every kernel against its limit', words, head, rows, chart or '', folded=True)


def slower_section(results):
    slower, raced = kernel_table.slower_than_plain(results.report['kernels'])
    words = [f'{len(slower)} of the {raced} benchmarks of posenc-bench that have a plain loop, on all SIMD tiers or none (-). '
             'The ratio is how many times as long the plain loop takes, the median of the rounds: below 1 posenc is slower.']
    rows = [[name, TIER_NAMES.get(tier, '-'), f'{ratio:.3g}x'] for name, tier, ratio in slower]
    return Section('Slower than the plain loop', words, ['benchmark', 'tier', 'plain'], rows)


def sections(report, draw=None):
    """draw: the module charts, or None for tables alone."""
    results = Results(report)
    thread_sweeps = works.thread_sweeps(report['threads'])
    parts = [peers_section(results, draw), rotations_section(results), attention_section(results), losses_section(results),
             layouts_section(results)]
    parts.append(sweep_section(
        'Roofline: from the first cache to memory',
        ['Time per element by working set. Dashed: the measured limit of the tier, which moves the same bytes and does next to '
         'nothing else. Dotted: sizes of the caches. Bands: quartiles of the rounds. The scalar tier is in the table only.'],
        results, works.WORKING_SETS, draw and draw.working_sets(results)))
    if report['kernels']:
        parts.append(kernels_section(results, draw))
    parts.append(sweep_section(
        'Shapes', ['Time per element by head dimension, number of tokens and number of keys. scripts/bench --cliffs looks for '
                   'performance cliffs between neighbouring sizes.'],
        results, works.SHAPES, draw and draw.shapes(results)))
    parts.append(sweep_section('Threads', ['Each thread takes a range of the tokens or heads. Wall-clock time.'],
                               results, thread_sweeps, draw and draw.threads(results, thread_sweeps)))
    if report['kernels']:
        parts.append(slower_section(results))
    return parts + [goals_section(results), call_goals_section(results)]


def rounds_text(report):
    text = f"{report['rounds']} rounds"
    if 'attention_rounds' in report:
        text += f" ({report['attention_rounds']} of attention beside other libraries)"
    return text


def head_words(report):
    m = report['machine']
    return [machine.sentence(m) + '.',
            f"One thread pinned to core {m['core']} unless another number is given; {rounds_text(report)}, in which all competitors take "
            f'turns; processor time. {machine.load_sentence(m)}']


# ---- Markdown ----

def markdown_table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows])


def markdown(report):
    parts = ['# posenc: benchmark report', *head_words(report)]
    for section in sections(report):
        if section.rows:
            parts += [f'## {section.title}', *section.words, markdown_table(section.head, section.rows)]
    return '\n\n'.join(parts) + '\n'


# ---- HTML ----

STYLE = """
body { font: 15px/1.5 system-ui, "DejaVu Sans", Verdana, sans-serif; color: #222; background: #fff; max-width: 70rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
p { max-width: 48rem; }
svg { width: 100%; height: auto; }
svg text { font-family: "DejaVu Sans", Verdana, sans-serif !important; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.7rem 0.2rem 0; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; }
.met { color: #00633f; } .unmet { color: #a33c00; font-weight: bold; }
summary { cursor: pointer; color: #0059a0; margin: 0.5rem 0; }
"""


def html_cell(text):
    if text == 'met':
        return '<td class="met">&#10003; met</td>'
    if text == '**not met**':
        return '<td class="unmet">&#10007; not met</td>'
    return f'<td>{html.escape(text)}</td>'


def html_table(head, rows):
    lines = ['<div class="scroll"><table><thead><tr>', *(f'<th>{html.escape(h)}</th>' for h in head), '</tr></thead>']
    lines += ['<tbody>'] + ['<tr>' + ''.join(map(html_cell, row)) + '</tr>' for row in rows]
    return ''.join(lines) + '</tbody></table></div>'


def page(report, draw):
    parts = [f'<p>{html.escape(text)}</p>' for text in head_words(report)]
    for section in sections(report, draw):
        if not section.rows:
            continue
        parts.append(f'<h2>{html.escape(section.title)}</h2>')
        parts += [f'<p>{html.escape(text)}</p>' for text in section.words]
        if section.chart:
            parts.append(f'<figure aria-label="{html.escape(section.title)}">{section.chart}</figure>')
        table = html_table(section.head, section.rows)
        parts.append(f'<details><summary>Table of these figures</summary>{table}</details>' if section.folded else table)
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f'<title>posenc: benchmark report</title><style>{STYLE}</style></head><body>\n'
            '<h1>posenc: benchmark report</h1>\n' + '\n'.join(parts) + '\n</body></html>\n')
