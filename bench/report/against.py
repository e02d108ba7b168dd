"""This tree against another revision: their posenc-bench programs take turns on one core."""
import itertools
import re
import sys
import time

import kernels
import machine
import pairs
import race

# Starts of the programs, turns in each of them, and the seconds after which a long call has had enough of these.
STARTS, TURNS, LEAST_TURNS, SECONDS = 9, 15, 2, 0.15
BATCH, BATCH_SECONDS = 8, 0.003  # benchmarks that an older program runs at once, and each for how long
LARGE = ('tokens:512', '2048x', 'x2048', '131072', '262144', '32768')
ORDERS = list(itertools.permutations(range(3)))
FAILED = 2  # an exit status


def chosen(names, pattern, everything):
    """Benchmarks that the pattern finds; without a pattern all of the SIMD tiers, or the ones that run in caches."""
    if pattern is not None:
        return [name for name in names if pattern.search(name)]
    names = kernels.of_simd(names)
    return names if everything else [name for name in names if kernels.is_small(name) and not any(m in name for m in LARGE)]


def tier_of(name, tiers):
    """Tier of a benchmark. Without a tier in its name: the best, which is first in the list."""
    return next((word for word in name.split('/') if word in tiers), tiers[0])


class Served:
    """Programs that answer by name: neighbours are slices of a fraction of a millisecond."""
    def __init__(self, programs, core, tiers):
        self.tiers = tiers
        self.peers = {tier: [race.Peer(f'{program} ({tier})', [str(program), '--serve', tier, 'ours'], {core}, is_ours=True)
                             for program in programs] for tier in tiers}

    def understand(self, name):
        """Whether both programs do: older ones have no work of this kind."""
        answers = [peer.ask(f'benchmark {name}', 0) for peer in self.peers[tier_of(name, self.tiers)]]
        self.stop()
        return not any('absent' in answer for answer in answers)

    def stop(self):
        for peer in itertools.chain(*self.peers.values()):
            peer.stop()

    def one(self, peer, name):
        answer = peer.ask(f'benchmark {name}', 0)
        if 'absent' in answer:
            raise SystemExit(f"error: {peer.name} does not run {name}: {answer['absent']}")
        return answer['ns_per_call']

    def turns(self, name):
        """[(new, old, old again)], every order as often."""
        trio, begin, found = self.peers[tier_of(name, self.tiers)], time.monotonic(), []
        while len(found) < LEAST_TURNS or (len(found) < TURNS and time.monotonic() - begin < SECONDS):
            times = {which: self.one(trio[which], name) for which in ORDERS[len(found) % len(ORDERS)]}
            found.append((times[0], times[1], times[2]))
        return found

    def start(self, names, _, progress):
        """{name: turns} of programs that are started anew."""
        found = {}
        for name in names:
            progress.step(name)
            found[name] = self.turns(name)
        self.stop()
        return found


class Batches:
    """Programs that cannot: each runs some benchmarks, and then it is the next one's turn."""

    def __init__(self, programs, core):
        self.programs, self.core = [str(program) for program in programs], core

    def start(self, names, n, progress):
        found = {}
        for begin in range(0, len(names), BATCH):
            batch = names[begin:begin + BATCH]
            times = {which: {entry['name']: entry['cpu_time'] for entry in
                             kernels.entries(self.programs[which], batch, BATCH_SECONDS, self.core)}
                     for which in ORDERS[n % len(ORDERS)]}
            for name in batch:
                progress.step(name)
                found[name] = [(times[0][name], times[1][name], times[2][name])]
        return found


def measure(way, names, starts):
    """[Change] of each name."""
    progress, found = race.Progress(len(names) * starts), {name: [] for name in names}
    for n in range(starts):
        for name, turns in way.start(names, n, progress).items():
            found[name].append(turns)
    return [pairs.compare(name, turns) for name, turns in found.items()]


def compare_all(way, names):
    """All changes, and the confirmed ones: suspects are measured again, with twice as many starts."""
    changes = measure(way, names, STARTS)
    suspects = [change for change in changes if change.verdict() != 'unchanged']
    if not suspects:
        return changes, [], 0
    print(f'{len(suspects)} look changed; measuring them again', file=sys.stderr)
    again = measure(way, [change.name for change in suspects], 2 * STARTS)
    return changes, pairs.confirmed(suspects, again), len(suspects)


def way_of(programs, core, tiers, name):
    served = Served(programs, core, tiers)
    if served.understand(name):
        return served
    print('the other program is an older one, and takes turns by batches of benchmarks: this takes longer', file=sys.stderr)
    return Batches(programs, core)


def run(new, old, core, pattern=None, everything=False):
    """Prints what changed; the exit status: 1 if something is slower, 2 if there is nothing to compare."""
    compilers = [machine.compiler(build) for build in (new, old)]
    if compilers[0] != compilers[1]:
        print(f'error: different compilers: {new} is of {compilers[0]}, {old} of {compilers[1]}', file=sys.stderr)
        return FAILED
    programs = [build / 'bench/posenc-bench' for build in (new, old, old)]
    new_names, old_names = (chosen(kernels.all_names(str(program)), pattern, everything) for program in programs[:2])
    names = [name for name in new_names if name in set(old_names)]
    for line in pairs.one_sided(new_names, old_names):
        print(line)
    if not names:
        print('error: no benchmark to compare', file=sys.stderr)
        return FAILED
    try:
        way = way_of(programs, core, race.our_tiers(new), names[0])
        changes, changed, n_suspects = compare_all(way, names)
    except SystemExit as error:  # a program that died
        print(error, file=sys.stderr)
        return FAILED
    print('\n'.join([*pairs.table(changed), *pairs.summary(changes, changed, n_suspects)]))
    return int(any(change.verdict() == 'slower' for change in changed))
