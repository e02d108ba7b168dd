"""Sizes that cost more per element than their neighbours do."""
import statistics
import sys
from dataclasses import dataclass

import works
from race import Peer, our_tiers
from results import VECTOR, quartiles

CLIFF = 1.5
PASSES = 3
CONFIRMATIONS = 7

# A step that memory takes as well, for rows of such a length, is no cliff of ours: so much more than it ours has to be.
OF_MEMORY = 1.25


def scaled(length, kind='f32', heads=64, stride_heads=1):
    """Line of work: rows of a length, each by itself, so many lengths apart."""
    return f'stretches rows=ready type={kind} heads={heads} dim={length} stride_heads={stride_heads} elements={heads * length}'


def written(length, heads=128):
    return f'stretches rows=made type=f32 heads={heads} dim={length} elements={heads * length}'


@dataclass(frozen=True)
class Scan:
    """Sizes, our line of a size, the limit's line of it, and how many elements of it lie next to each other."""
    name: str
    sizes: range
    ours: object
    limit: object
    run: object = lambda n: n


SIZES, DIMS, HEADS = range(1, 4097), range(2, 513, 2), range(1, 65)
HEAD = 128  # channels
SCANS = [
    Scan('softmax with ALiBi, keys', SIZES, lambda n: works.softmax(n, heads=8, alibi=1), lambda n: scaled(n, heads=8)),
    Scan('bias written, keys', SIZES, lambda n: works.line('logits', heads=8, queries=1, keys=n, alibi=1),
         lambda n: written(n, heads=8)),
    Scan('RoPE half-split, head_dim', DIMS, lambda n: works.rope(1, dim=n), lambda n: scaled(n // 2), lambda n: n // 2),
    Scan('RoPE interleaved, head_dim', DIMS, lambda n: works.rope(1, 'interleaved', dim=n), lambda n: scaled(n, heads=32)),
    Scan('RoPE half-split f16, head_dim', DIMS, lambda n: works.rope(1, kind='f16', dim=n), lambda n: scaled(n // 2, 'f16'),
         lambda n: n // 2),
    Scan('RoPE half-split, on the fly, head_dim', DIMS, lambda n: works.rope(16, rows='made', dim=n),
         lambda n: scaled(n // 2, heads=1024), lambda n: n // 2),
    Scan('cos/sin table, 2 x pairs', DIMS, lambda n: works.rows(64, dim=n), lambda n: written(n // 2), lambda n: n // 2),
    Scan('attention, head_dim', DIMS, lambda n: works.attention(16, 128, 1, 1, dim=n), lambda n: scaled(n, 'f16', 256)),
    Scan('attention, decode, token stride in heads, all heads', HEADS, lambda n: works.attention(1, 512, n, n),
         lambda n: scaled(HEAD, 'f16', 2 * 512 * n), lambda n: HEAD),
    Scan('attention, decode, token stride in heads, one head of keys', HEADS,
         lambda n: works.attention(1, 2048, 4, 1, stride_heads=n),
         lambda n: scaled(HEAD, 'f16', 2 * 2048, n), lambda n: HEAD),
]


def time_all(peer, sizes, make):
    """{size: median ns per element}, of one slice in each pass; so a slow moment hits each size at most once."""
    times = {n: [] for n in sizes}
    for _ in range(PASSES):
        for n in sizes:
            times[n].append(peer.ask(make(n), 0)['ns_per_element'])
    return {n: statistics.median(values) for n, values in times.items()}


def steps(times, first_vector, run):
    """[(size, neighbour, ratio)] of neighbours beyond the first vector that are a cliff apart, the dearer first."""
    sizes = [n for n in sorted(times) if run(n) > first_vector]
    found = []
    for n, following in zip(sizes, sizes[1:]):
        dear, cheap = (n, following) if times[n] > times[following] else (following, n)
        if times[dear] > CLIFF * times[cheap]:
            found.append((dear, cheap, times[dear] / times[cheap]))
    return found


def step(peer, dear, cheap):
    """Ratio of the costs of two lines, measured alternately: the lower quartile, so that a busy machine makes no
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


def scan_one(peer, limit, tier, scanned):
    """The steps that are confirmed, the worst first."""
    suspects = steps(time_all(peer, scanned.sizes, scanned.ours), VECTOR[tier], scanned.run)
    seen = (Step(step(peer, scanned.ours(dear), scanned.ours(cheap)),
                 step(limit, scanned.limit(dear), scanned.limit(cheap)), dear, cheap) for dear, cheap, _ in suspects)
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
        for scanned in SCANS:
            print(f'{tier}: {scanned.name} {scanned.sizes[0]}..{scanned.sizes[-1]}', file=sys.stderr)
            found = scan_one(peer, limit, tier, scanned)
            cliffs, shared = [s for s in found if s.is_cliff()], [s for s in found if not s.is_cliff()]
            n_cliffs, n_shared = n_cliffs + len(cliffs), n_shared + len(shared)
            for what, which in ('performance cliffs', cliffs), ('steps of memory', shared):
                if which:
                    print(f'{what}: {tier}, {scanned.name}, times a neighbour: ' + ', '.join(map(str, which)), flush=True)
        peer.stop()
        limit.stop()
    print(f'{n_cliffs} performance cliffs: a size beyond the first vector that costs more than {CLIFF} times as much per element as its '
          f'neighbour; {n_shared} more are steps of memory, which a loop that only scales or writes such rows has too')
    return int(n_cliffs > 0)
