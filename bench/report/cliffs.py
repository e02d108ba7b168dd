"""Sizes that cost more per element than their neighbours do."""
import statistics
import sys

import works
from race import Peer, our_tiers
from results import quartiles

CLIFF = 1.5
VECTOR = {'avx512': 16, 'avx2': 8, 'neon': 4}
PASSES = 3
CONFIRMATIONS = 7

# What is scanned: name, sizes, line of a size, and how many of its elements lie next to each other.
SIZES, DIMS = range(1, 4097), range(2, 513, 2)
SCANS = [
    ('softmax with ALiBi, keys', SIZES, lambda n: works.softmax(n, heads=8, alibi=1), lambda n: n),
    ('bias written, keys', SIZES, lambda n: works.line('logits', heads=8, queries=1, keys=n, alibi=1), lambda n: n),
    ('RoPE half-split, head_dim', DIMS, lambda n: works.rope(1, dim=n), lambda n: n // 2),
    ('RoPE interleaved, head_dim', DIMS, lambda n: works.rope(1, 'interleaved', dim=n), lambda n: n),
    ('RoPE half-split f16, head_dim', DIMS, lambda n: works.rope(1, kind='f16', dim=n), lambda n: n // 2),
    ('RoPE half-split, rows made, head_dim', DIMS, lambda n: works.rope(16, rows='made', dim=n), lambda n: n // 2),
    ('cos/sin rows, 2 x pairs', DIMS, lambda n: works.rows(64, dim=n), lambda n: n // 2),
    ('attention, head_dim', DIMS, lambda n: works.attention(16, 128, 1, 1, dim=n), lambda n: n),
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


def confirmed(peer, make, dear, cheap):
    """How many times as dear, the two in turns; the lower quartile, so that a busy machine makes no cliffs."""
    return quartiles([peer.ask(make(dear), 2)['ns_per_element'] / peer.ask(make(cheap), 2)['ns_per_element']
                      for _ in range(CONFIRMATIONS)])[0]


def scan_one(peer, tier, sizes, make, parts):
    """[(ratio, dear, cheap)], the worst first."""
    suspects = steps(time_all(peer, sizes, make), VECTOR[tier], parts)
    seen = ((confirmed(peer, make, dear, cheap), dear, cheap) for dear, cheap, _ in suspects)
    return sorted((step for step in seen if step[0] > CLIFF), reverse=True)


def scan(build, core):
    """Prints the cliffs of every tier; the exit status."""
    n_found = 0
    for tier in our_tiers(build):
        if tier not in VECTOR:
            continue
        peer = Peer(f'posenc {tier}', [str(build / 'bench/posenc-bench'), '--serve', tier, 'ours'], {core})
        for name, sizes, make, parts in SCANS:
            print(f'{tier}: {name} {sizes[0]}..{sizes[-1]}', file=sys.stderr)
            found = scan_one(peer, tier, sizes, make, parts)
            n_found += len(found)
            if found:
                print(f'cliffs: {tier}, {name}, times a neighbour: '
                      + ', '.join(f'{dear} {ratio:.2f}x of {cheap}' for ratio, dear, cheap in found), flush=True)
        peer.stop()
    print(f'{n_found} cliffs: neighbours beyond the first vector of which one costs more than {CLIFF} times the other')
    return int(n_found > 0)
