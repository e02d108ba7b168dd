"""Numbers out of the rounds: medians with their spread, ratios within rounds, goals."""
import pathlib
import re
import statistics

import works

VERSION = 2  # of a report; in the first, lines that a goal compares were not raced together

LIBRARIES = ('XNNPACK', 'PyTorch', 'ONNX Runtime', 'NumPy')  # and ggml, which has goals of its own
ATTENTION_LIBRARIES = ('ggml', 'ggml graph', 'PyTorch', 'ONNX Runtime')
ROTATION_LIBRARIES = ('ggml', 'XNNPACK', 'PyTorch', 'Hugging Face', 'ONNX Runtime', 'NumPy')
TIERS = (pathlib.Path(__file__).parents[2] / 'src/tiers.def').read_text(encoding='utf-8')
VECTOR = {tier: int(floats) for tier, floats in reversed(re.findall(r'^TIER\((\w+), \w+, \w+, (\d+),', TIERS, re.M))}
SIMD_TIERS = tuple(VECTOR)  # of an architecture the best first
TIER_NAMES = {'scalar': 'scalar', **{tier: tier.upper().replace('AVX512', 'AVX-512') for tier in VECTOR}}


def quartiles(values):
    """Lower quartile, median, upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method='inclusive')
    return low, middle, high


class Results:
    """The report's 'times', by line and peer."""

    def __init__(self, report):
        self.report = report
        self.times = {(t['work'], t['peer']): t['rounds'] for t in report['times'] if 'rounds' in t}
        self.ways = {(t['work'], t['peer']): t['way'] for t in report['times'] if 'way' in t}

    def has(self, work, peer):
        return (work, peer) in self.times

    def median(self, work, peer):
        return statistics.median(self.times[work, peer]) if self.has(work, peer) else None

    def spread(self, work, peer):
        return quartiles(self.times[work, peer])

    def tiers(self):
        """SIMD tiers that were measured, best first."""
        return [tier for tier in SIMD_TIERS if any(peer == f'posenc {tier}' for _, peer in self.times)]

    def ratio(self, above, below):
        """Quartiles of one (line, peer) by another, each ratio within one round; None if one of them is absent."""
        if above not in self.times or below not in self.times:
            return None
        return quartiles([a / b for a, b in zip(self.times[above], self.times[below])])

    def limited_to(self, tier, peer):
        """The peer, kept from using more than the tier, which the best tier of a CPU does not ask for. One that cannot be
        kept from it has no times: nobody compares a program for AVX2 with one for AVX-512."""
        return peer if tier == self.tiers()[0] else f'{peer} ({TIER_NAMES[tier]})'

    def best_library(self, work, tier):
        names = [self.limited_to(tier, name) for name in LIBRARIES]
        return min((name for name in names if self.has(work, name)), key=lambda n: self.median(work, n), default=None)


def is_behind(goal):
    """Whether it is theirs that has to take longer."""
    return goal.against in ('ggml', 'best', 'x_unfused')


def seen_by_bench(results, goal, tier):
    """Quartiles of posenc-bench's rounds; None from a report that lacks the benchmark."""
    rounds = results.report['kernels'].get(goal.ours.format(tier), {}).get(goal.against)
    return quartiles([ratio / goal.share for ratio in rounds]) if rounds else None


def seen_in_race(results, goal, tier):
    """Quartiles of the ratio, and whose time it is; no quartiles where its times are not neighbours."""
    if goal.ours != goal.theirs and results.report['version'] < VERSION:
        return None, None
    us = (goal.ours, f'posenc {tier}')
    if goal.against == 'best':
        peer = results.best_library(goal.theirs, tier)
    else:
        peer = {'ggml': results.limited_to(tier, 'ggml'), 'limit': f'limit {tier}', 'ours': us[1]}[goal.against]
    them = (goal.theirs, peer)
    return (results.ratio(them, us) if is_behind(goal) else results.ratio(us, them)), peer


def judge(results, goal, tier):
    """(quartiles, whose, met) of a goal on a tier; None if somebody was not there."""
    if goal.against in works.COLUMNS:
        seen, peer = seen_by_bench(results, goal, tier), None
    else:
        seen, peer = seen_in_race(results, goal, tier)
    if seen is None:
        return None
    return seen, peer, seen[1] >= goal.factor if is_behind(goal) else seen[1] <= goal.factor


def goal_text(goal):
    words = {'ggml': 'at least {}x as fast as ggml', 'best': 'at least {}x as fast as the fastest other library',
             'limit': 'at most {}x the limit', 'ours': 'at most {}x the other call', 'x_limit': 'at most {}x the limit',
             'x_alone': 'at most {}x the other call', 'x_unfused': 'at least {}x as fast as the other calls'}
    return words[goal.against].format(f'{goal.factor:.3g}')


def goal_rows(results, goals):
    """Cells of each goal: work, what with, goal, then for each tier (text, met or None)."""
    for goal in goals:
        cells = []
        for tier in results.tiers():
            verdict = judge(results, goal, tier)
            if verdict is None:
                cells.append(('not measured', None))
                continue
            (low, middle, high), peer, met = verdict
            whose = f', {peer}' if goal.against == 'best' else ''
            cells.append((f'{middle:.3g}x ({low:.3g}-{high:.3g}{whose})', met))
        yield goal.work, goal.what, goal_text(goal), cells


def library_cell(results, work, tier, library):
    """Time of a library as a multiple of ours, with the way that it took; bold if it is less than 1."""
    peer = results.limited_to(tier, library)
    seen = results.ratio((work, peer), (work, f'posenc {tier}'))
    if seen is None:
        return '-'
    low, middle, high = seen
    text = f'**{middle:.3g}x**' if float(f'{middle:.3g}') < 1 else f'{middle:.3g}x'
    way = results.ways.get((work, peer))
    return f'{text} ({low:.3g}-{high:.3g}){f", {way}" if way else ""}'
