"""Sizes that cost more per element than their neighbours do."""
import statistics
import sys
from dataclasses import dataclass

import works
from race import Peer, our_tiers
from results import quartiles

CLIFF = 1.5
VECTOR = {'avx512': 16, 'avx2': 8, 'neon': 4}
PASSES = 3
CONFIRMATIONS = 7

# A step that memory takes as well, for rows of such a length, is no cliff of ours: so much more than it ours has to be.
OF_MEMORY = 1.25


def scaled(length, kind='f32', heads=64):
    """What is read and written: rows of a length, each by itself."""
    return f'stretches rows=ready type={kind} heads={heads} dim={length} elements={heads * length}'


def written(length, heads=128):
    return f'stretches rows=made type=f32 heads={heads} dim={length} elements={heads * length}'


# What is scanned: name, sizes, line of a size, how many of its elements lie next to each other, and a limit's line for
# so many.
SIZES, DIMS = range(1, 4097), range(2, 513, 2)
SCANS = [
    ('softmax with ALiBi, keys', SIZES, lambda n: works.softmax(n, heads=8, alibi=1), lambda n: n, lambda n: scaled(n, heads=8)),
    ('bias written, keys', SIZES, lambda n: works.line('logits', heads=8, queries=1, keys=n, alibi=1), lambda n: n,
     lambda n: written(n, heads=8)),
    ('RoPE half-split, head_dim', DIMS, lambda n: works.rope(1, dim=n), lambda n: n // 2, scaled),
    ('RoPE interleaved, head_dim', DIMS, lambda n: works.rope(1, 'interleaved', dim=n), lambda n: n, lambda n: scaled(n, heads=32)),
    ('RoPE half-split f16, head_dim', DIMS, lambda n: works.rope(1, kind='f16', dim=n), lambda n: n // 2,
     lambda n: scaled(n, 'f16')),
    ('RoPE half-split, on the fly, head_dim', DIMS, lambda n: works.rope(16, rows='made', dim=n), lambda n: n // 2,
     lambda n: scaled(n, heads=1024)),
    ('cos/sin table, 2 x pairs', DIMS, lambda n: works.rows(64, dim=n), lambda n: n // 2, written),
    ('attention, head_dim', DIMS, lambda n: works.attention(16, 128, 1, 1, dim=n), lambda n: n, lambda n: scaled(n, 'f16', 256)),
]


def time_all(peer, sizes, make):
    """{size: median ns per element}, of one slice in each pass; so a slow moment hits each size at most once."""
    times = {n: [] for n in sizes}
    for _ in range(PASSES):
        for n in sizes:
            times[n].append(peer.ask(make(n), 0)['ns_per_element'])
    return {n: statistics.median(values) for n, values in times.items()}


def steps(times, first_vector, parts):
    """[(size, neighbour, ratio)] of neighbours beyond the first vector that are a cliff apart, the dearer first."""
    sizes = [n for n in sorted(times) if parts(n) > first_vector]
    found = []
    for n, following in zip(sizes, sizes[1:]):
        dear, cheap = (n, following) if times[n] > times[following] else (following, n)
        if times[dear] > CLIFF * times[cheap]:
            found.append((dear, cheap, times[dear] / times[cheap]))
    return found


def step(peer, dear, cheap):
    """How many times as dear one line is as another, the two in turns: the lower quartile, so that a busy machine makes no
    cliffs."""
    return quartiles([peer.ask(dear, 2)['ns_per_element'] / peer.ask(cheap, 2)['ns_per_element']
                      for _ in range(CONFIRMATIONS)])[0]


@dataclass(frozen=True, order=True)
class Step:
    """One size and a cheaper neighbour: how many times as dear it is, to us and to memory."""
    ours: float
    memory: float
    dear: int
    cheap: int

    def is_cliff(self):
        return self.ours > max(CLIFF, OF_MEMORY * self.memory)

    def __str__(self):
        return f'{self.dear} {self.ours:.2f}x of {self.cheap} (memory {self.memory:.2f}x)'


def scan_one(peer, limit, tier, sizes, make, parts, make_limit):
    """The steps that are confirmed, the worst first."""
    suspects = steps(time_all(peer, sizes, make), VECTOR[tier], parts)
    seen = (Step(step(peer, make(dear), make(cheap)),
                 step(limit, make_limit(parts(dear)), make_limit(parts(cheap))), dear, cheap) for dear, cheap, _ in suspects)
    return sorted((s for s in seen if s.ours > CLIFF), reverse=True)


def scan(build, core):
    """Prints the cliffs of every tier, and the steps that memory takes as well; the exit status."""
    n_cliffs = n_shared = 0
    for tier in our_tiers(build):
        if tier not in VECTOR:
            continue
        program = str(build / 'bench/posenc-bench')
        peer, limit = (Peer(f'{who} {tier}', [program, '--serve', tier, who], {core}, is_ours=True)
                       for who in ('ours', 'limit'))
        for name, sizes, make, parts, make_limit in SCANS:
            print(f'{tier}: {name} {sizes[0]}..{sizes[-1]}', file=sys.stderr)
            found = scan_one(peer, limit, tier, sizes, make, parts, make_limit)
            cliffs, shared = [s for s in found if s.is_cliff()], [s for s in found if not s.is_cliff()]
            n_cliffs, n_shared = n_cliffs + len(cliffs), n_shared + len(shared)
            for what, which in ('performance cliffs', cliffs), ('steps of memory', shared):
                if which:
                    print(f'{what}: {tier}, {name}, times a neighbour: ' + ', '.join(map(str, which)), flush=True)
        peer.stop()
        limit.stop()
    print(f'{n_cliffs} performance cliffs: a size beyond the first vector that costs more than {CLIFF} times as much per element as its '
          f'neighbour; {n_shared} more are steps of memory, which a loop that only scales or writes such rows has too')
    return int(n_cliffs > 0)
