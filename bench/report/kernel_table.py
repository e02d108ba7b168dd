"""Kernels by working set and tier, and what is slower than plain loops, out of the names and ratios of posenc-bench."""
import statistics

from results import SIMD_TIERS, TIER_NAMES

SIZE_NAMES = ('4 KiB', '16 KiB', '256 KiB', '4 MiB', '128 MiB')


def kernel_lines(times):
    """{kernel with its types: {tier: [x_limit by size, smallest first]}}; posenc_ is how public calls begin."""
    found = {}
    for name, ratios in times.items():
        if name.startswith('posenc_') or 'x_limit' not in ratios:
            continue
        kernel, tier, *types, size = name.split('/')
        if ':' not in size or tier not in SIMD_TIERS:
            continue
        title = ' '.join([kernel, *types])
        count = int(size.rsplit(':', 1)[1])
        found.setdefault(title, {}).setdefault(tier, []).append((count, statistics.median(ratios['x_limit'])))
    return {title: {tier: [x for _, x in sorted(sizes)] for tier, sizes in tiers.items()}
            for title, tiers in found.items()}


def in_cache(times):
    """[(kernel, {tier: x_limit})] of the second size, of the types that come first, mostly float32: for the chart."""
    first = {}
    for title, tiers in kernel_lines(times).items():
        first.setdefault(title.split()[0], (title, tiers))
    return [(title, {tier: sizes[min(1, len(sizes) - 1)] for tier, sizes in tiers.items()})
            for title, tiers in first.values()]


def by_size(times):
    """Head and rows of a table."""
    lines = kernel_lines(times)
    tiers = [tier for tier in SIMD_TIERS if any(tier in by_tier for by_tier in lines.values())]
    rows = []
    for title, by_tier in lines.items():
        cells = []
        for tier in tiers:
            sizes = by_tier.get(tier, [])
            cells += [f'{x:.2f}' for x in sizes] + ['-'] * (len(SIZE_NAMES) - len(sizes))
        rows.append([title, *cells])
    return ['times the limit', *(f'{TIER_NAMES[tier]}, {size}' for tier in tiers for size in SIZE_NAMES)], rows


def without_tier(name):
    """The benchmark's name, and its tier or None."""
    words = name.split('/')
    tier = next((word for word in words if word in SIMD_TIERS), None)
    return '/'.join(word for word in words if word != tier), tier


def slower_than_plain(times):
    """[(benchmark, tier or None, x_libm)] of those below 1, the slowest first; and how many have a plain loop."""
    ratios = {name: statistics.median(values['x_libm']) for name, values in times.items() if 'x_libm' in values}
    slower = sorted((ratio, name) for name, ratio in ratios.items() if ratio < 1)
    return [(*without_tier(name), ratio) for ratio, name in slower], len(ratios)
