"""Two builds in turns: how many times as long the new one takes, and whether that is more than noise."""
import statistics
from dataclasses import dataclass

from results import quartiles

LEAST = 0.03  # less is no change: it comes and goes with where the linker puts a loop
NOISY = 0.10  # beyond this a benchmark cannot tell much


@dataclass(frozen=True)
class Change:
    """One benchmark: the new build's time by the old one's, and how far that strays of itself."""
    name: str
    ratio: float
    noise: float

    def verdict(self):
        bound = 1 + max(LEAST, self.noise)
        return 'slower' if self.ratio > bound else 'faster' if self.ratio < 1 / bound else 'unchanged'


def compare(name, starts):
    """starts: [[(new, old, old again)]], times of neighbours in time, by start of the programs. Where code and memory lie is
    drawn at each start, so the noise is that between starts: the quartiles' distance, or how far old strays from old."""
    low, ratio, high = quartiles([statistics.median(new / old for new, old, _ in turns) for turns in starts])
    itself = quartiles([statistics.median(again / old for _, old, again in turns) for turns in starts])
    return Change(name, ratio, max((high - low) / ratio, itself[2] - 1, 1 - itself[0]))


def confirmed(suspects, again):
    """Suspects confirmed by a second measurement, with its numbers."""
    first = {change.name: change.verdict() for change in suspects}
    return [change for change in again if change.verdict() == first[change.name]]


def worst_first(changes):
    return sorted(changes, key=lambda change: -change.ratio)


def shortened(names, most=6):
    return ', '.join(names[:most]) + (f' and {len(names) - most} more' if len(names) > most else '')


def summary(changes, changed, n_suspects):
    """Lines below the table."""
    n_slower = sum(change.verdict() == 'slower' for change in changed)
    low, middle, high = quartiles([change.ratio for change in changes])
    lines = [f'{len(changes)} benchmarks compared: {n_slower} slower, {len(changed) - n_slower} faster, '
             f'{len(changes) - len(changed)} unchanged'
             + (f' ({n_suspects - len(changed)} of them looked changed, and not when measured again)'
                if n_suspects > len(changed) else ''),
             f'over all: median {middle:.3f}x, quartiles {low:.3f}x and {high:.3f}x; '
             f'noise {statistics.median(change.noise for change in changes):.1%} (median)']
    noisy = [change.name for change in sorted(changes, key=lambda change: -change.noise) if change.noise > NOISY]
    if noisy:
        lines.append(f'too noisy to notice less than {NOISY:.0%} ({len(noisy)}): {shortened(noisy)}')
    return lines


def table(changed):
    """The worst first."""
    rows = [f'{change.verdict():7} {change.ratio:6.3f}x  noise {change.noise:5.1%}  {change.name}'
            for change in worst_first(changed)]
    return rows or ['nothing changed by more than its noise']


def one_sided(new_names, old_names):
    """Names that cannot be compared, as lines."""
    sides = (('only in this tree', new_names, old_names), ('only in the other revision', old_names, new_names))
    missing = [(side, [name for name in names if name not in set(others)]) for side, names, others in sides]
    return [f'{side} ({len(names)}): {shortened(names)}' for side, names in missing if names]
