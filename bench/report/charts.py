"""The charts of the report, as SVG. Colours are Okabe and Ito's, which people see whatever their colour vision; what
differs in colour differs in dash or marker too."""
import io
import re

import matplotlib

matplotlib.use('svg')
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator  # noqa: E402

import works  # noqa: E402
from results import SIMD_TIERS, TIER_NAMES  # noqa: E402

INK, MUTED, GRID = '#222222', '#666666', '#dddddd'
TIER_COLOURS = {**dict.fromkeys(SIMD_TIERS, '#cc79a7'), 'avx512': '#0072b2', 'avx2': '#d55e00', 'neon': '#009e73'}
TIER_MARKERS = {**dict.fromkeys(SIMD_TIERS, '^'), 'avx512': 'o', 'avx2': 's', 'neon': 'D'}
PEER_COLOUR, LIMIT_COLOUR = '#e6c37a', '#222222'
DASHED = {'linestyle': (0, (4, 2)), 'linewidth': 1.1}

plt.rcParams.update({
    'font.family': 'DejaVu Sans', 'font.size': 9, 'text.color': INK, 'axes.labelcolor': INK, 'axes.titlesize': 10,
    'axes.titleweight': 'bold', 'axes.titlelocation': 'left', 'axes.edgecolor': MUTED, 'axes.spines.top': False,
    'axes.spines.right': False, 'axes.grid': True, 'axes.axisbelow': True, 'grid.color': GRID, 'grid.linewidth': 0.6,
    'xtick.color': MUTED, 'ytick.color': MUTED, 'xtick.labelcolor': INK, 'ytick.labelcolor': INK, 'xtick.labelsize': 8,
    'ytick.labelsize': 8, 'legend.frameon': False, 'svg.fonttype': 'none', 'svg.hashsalt': 'posenc',
    'lines.linewidth': 1.6, 'lines.markersize': 4.5,
})


def as_svg(figure):
    """Without the XML head, sizes or names of groups, so that it can stand in a page beside others."""
    text = io.StringIO()
    figure.savefig(text, format='svg', metadata={'Date': None, 'Creator': None, 'Type': None, 'Format': None})
    plt.close(figure)
    svg = text.getvalue()[text.getvalue().index('<svg'):]
    svg = re.sub(r'<metadata>.*?</metadata>', '', svg, flags=re.S)
    svg = re.sub(r'<g id="(?:figure|axes|patch|text|line2d|matplotlib|xtick|ytick|legend)[^"]*"', '<g', svg)
    return re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" role="img">', svg, count=1)


def bytes_text(size, _=None):
    for unit, name in ((1 << 30, 'GiB'), (1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit:
            return f'{size / unit:g} {name}'
    return f'{size:g}'


def plain_number(value, _=None):
    return f'{value:g}'


def panels(n, columns=2, width=9.6, height=3.1):
    n_rows = -(-n // columns)
    figure, axes = plt.subplots(n_rows, columns, figsize=(width, height * n_rows), squeeze=False, layout='constrained')
    cells = list(axes.flat)
    for cell in cells[n:]:
        cell.axis('off')
    return figure, cells[:n]


def draw_line(axes, results, points, peer, **style):
    """Medians, and a band from the lower to the upper quartile."""
    seen = [(x, *results.spread(work, peer)) for x, work in points if results.has(work, peer)]
    if not seen:
        return []
    xs, low, middle, high = zip(*seen)
    axes.plot(xs, middle, **style)
    axes.fill_between(xs, low, high, color=style['color'], alpha=0.15, linewidth=0)
    return list(middle)


def scale_y(axes, values):
    """From zero where that can be read; otherwise logarithmic, and said so."""
    if not values:
        return
    if max(values) > 8 * min(values):
        axes.set_yscale('log')
        axes.set_ylabel(axes.get_ylabel() + ' (log scale)')
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(plain_number))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=0, top=1.12 * max(values))


def mark_caches(axes, caches):
    for name, size in caches.items():
        low, high = axes.get_xlim()
        if low < size < high:
            axes.axvline(size, color=MUTED, linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
            axes.annotate(name, (size, 1), xycoords=('data', 'axes fraction'), xytext=(0, 1), ha='center', va='bottom',
                          textcoords='offset points', fontsize=8, color=MUTED)


def tier_style(tier):
    return {'color': TIER_COLOURS[tier], 'marker': TIER_MARKERS[tier]}


def legend_above(figure, handles):
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.32 / figure.get_figheight()))
    figure.legend(handles=handles, loc='upper left', ncols=len(handles), handlelength=2.6)


def legend(figure, tiers, with_limit):
    handles = [Line2D([], [], label=TIER_NAMES[tier], **tier_style(tier)) for tier in tiers]
    if with_limit:
        handles += [Line2D([], [], label=f'limit, {TIER_NAMES[t]}', color=TIER_COLOURS[t], **DASHED) for t in tiers]
    legend_above(figure, handles)


def working_sets(results, sweeps=None):
    sweeps = works.WORKING_SETS if sweeps is None else sweeps
    tiers = results.tiers()
    figure, cells = panels(len(sweeps))
    for axes, sweep in zip(cells, sweeps):
        values = []
        for tier in tiers:
            values += draw_line(axes, results, sweep.points, f'posenc {tier}', **tier_style(tier))
            values += draw_line(axes, results, sweep.points, f'limit {tier}', color=TIER_COLOURS[tier], **DASHED)
        axes.set_title(sweep.title, pad=15)
        axes.set(xlabel=f'{sweep.x_label} (log scale)', ylabel=sweep.y_label)
        axes.set_xscale('log', base=2)
        axes.set_xticks([x for x, work in sweep.points if results.has(work, f'posenc {tiers[0]}')][::2])
        axes.xaxis.set_major_formatter(FuncFormatter(bytes_text))
        scale_y(axes, values)
        mark_caches(axes, results.report['machine']['caches'])
    legend(figure, tiers, True)
    return as_svg(figure)


def shapes(results):
    tiers = results.tiers()
    figure, cells = panels(len(works.SHAPES))
    for axes, sweep in zip(cells, works.SHAPES):
        values = []
        for tier in tiers:
            values += draw_line(axes, results, sweep.points, f'posenc {tier}', **tier_style(tier))
        axes.set(title=sweep.title, xlabel=f'{sweep.x_label} (log scale)', ylabel=sweep.y_label)
        axes.set_xscale('log', base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(plain_number))
        axes.xaxis.set_minor_formatter(NullFormatter())
        scale_y(axes, values)
    legend(figure, tiers, False)
    return as_svg(figure)


def threads(results, sweeps):
    tiers = results.tiers()
    figure, cells = panels(len(sweeps), columns=4, height=2.9)
    for axes, sweep in zip(cells, sweeps):
        counts = [x for x, _ in sweep.points]
        axes.plot(counts, counts, color=MUTED, **DASHED)
        highest = max(counts)
        for tier in tiers:
            peer = f'posenc {tier}'
            alone = sweep.points[0][1]
            seen = [(x, results.ratio((alone, peer), (work, peer))) for x, work in sweep.points]
            seen = [(x, r) for x, r in seen if r is not None]
            if seen:
                middles = [r[1] for _, r in seen]
                spread = [[r[1] - r[0] for _, r in seen], [r[2] - r[1] for _, r in seen]]
                axes.errorbar([x for x, _ in seen], middles, yerr=spread, elinewidth=1, capsize=2, **tier_style(tier))
                highest = max(highest, *middles)
        title, _, more = sweep.title.partition(', ')
        axes.set_title(f'{title}\n{more}', fontsize=8.5)
        axes.set(xlabel='threads', ylim=(0, 1.15 * highest), xlim=(0.8 * min(counts), max(counts) + 0.2))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    cells[0].set_ylabel('speed-up over one thread')
    handles = [Line2D([], [], label=TIER_NAMES[t], **tier_style(t)) for t in tiers]
    handles.append(Line2D([], [], label='ideal', color=MUTED, **DASHED))
    legend_above(figure, handles)
    return as_svg(figure)


def bar_names(results, work):
    """The scalar tier, the specification, would make the others too small to see."""
    names = [peer for line, peer in results.times
             if line == work and not peer.startswith('limit') and peer != 'posenc scalar']
    return sorted(names, key=lambda peer: results.median(work, peer))


def bar_label(peer):
    return f"posenc, {TIER_NAMES[peer.split()[1]]}" if peer.startswith('posenc') else peer


def bars(results):
    """Linear and from zero; each panel has a scale of its own."""
    kinds = [(title, work) for title, work in works.BARS if bar_names(results, work)]
    most = max(len(bar_names(results, work)) for _, work in kinds)
    figure, cells = panels(len(kinds), columns=2, height=0.55 + 0.21 * most)
    for axes, (title, work) in zip(cells, kinds):
        names = bar_names(results, work)
        times = [results.median(work, name) for name in names]
        colours = [TIER_COLOURS.get(name.removeprefix('posenc '), PEER_COLOUR) for name in names]
        axes.barh(range(len(names)), times, color=colours, height=0.72)
        for at, (name, value) in enumerate(zip(names, times)):
            low, _, high = results.spread(work, name)
            axes.plot([low, high], [at, at], color=INK, linewidth=1)
            axes.annotate(f'{value:.3g} ns ({value / times[0]:.3g}x)', (max(value, high), at), xytext=(5, 0),
                          textcoords='offset points', va='center', fontsize=8)
        best = results.tiers()[0]
        if (limit := results.median(work, f'limit {best}')) is not None:
            axes.axvline(limit, color=LIMIT_COLOUR, **DASHED)
        axes.set_yticks(range(len(names)), [bar_label(name) for name in names])
        axes.invert_yaxis()
        axes.set(title=title, xlim=(0, 1.3 * max(times)))
        axes.grid(axis='y', visible=False)
        axes.tick_params(axis='y', length=0)
    for axes in cells[-2:]:
        axes.set_xlabel('ns per element')
    return as_svg(figure)


def kernels(levels, title):
    """levels: [(kernel, {tier: times the limit})], in cache."""
    figure, axes = plt.subplots(figsize=(9.6, 0.8 + 0.2 * len(levels)), layout='constrained')
    tiers = [tier for tier in SIMD_TIERS if any(tier in by_tier for _, by_tier in levels)]
    for at, (_, by_tier) in enumerate(levels):
        seen = [by_tier[tier] for tier in tiers if tier in by_tier]
        axes.plot([min(seen), max(seen)], [at, at], color=GRID, linewidth=2, zorder=1)
        for tier in tiers:
            if tier in by_tier:
                axes.plot(by_tier[tier], at, linestyle='', zorder=2, **{**tier_style(tier), 'markersize': 6})
    axes.axvline(1, color=LIMIT_COLOUR, **DASHED)
    axes.set_xscale('log', base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(plain_number))
    axes.set_yticks(range(len(levels)), [name for name, _ in levels])
    axes.invert_yaxis()
    axes.grid(axis='y', visible=False)
    axes.set(title=title, xlabel='time relative to the limit (log scale); dashed: the limit')
    handles = [Line2D([], [], label=TIER_NAMES[t], linestyle='', **tier_style(t)) for t in tiers]
    axes.legend(handles=handles, loc='lower right')
    return as_svg(figure)
