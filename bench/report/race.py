"""The race: peers are programs that wait for a line of work; they take turns on one core, and so do lines of work that
are compared, round by round."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

PEERS = pathlib.Path(__file__).resolve().parent.parent / 'peers'


class Peer:
    """A program that does what it is asked for, one line at a time. Started when first asked, and again after a stop."""

    def __init__(self, name, command, cores, folder=None, environment=(), is_ours=False, only=''):
        """only: the one kind of work that it does, if there is but one."""
        self.name, self.command, self.cores, self.is_ours, self.only = name, command, cores, is_ours, only
        self.folder, self.environment, self.process = folder, dict(environment), None

    def does(self, work):
        return not self.only or work.startswith(f'{self.only} ')

    def start(self):
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, env={**os.environ, 'OMP_NUM_THREADS': '1', **self.environment}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None if self.is_ours else subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, self.cores))

    def ask(self, work, milliseconds):
        """Its answer, in which 'absent' says why there is no time."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(f'{work} ms={milliseconds}\n')
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            if self.is_ours: # a defect, where another's peer may just be unable
                raise SystemExit(f"error: {self.name} ended without an answer to '{work}'; see for yourself: "
                                 f"echo '{work} ms={milliseconds}' | {' '.join(self.command)}") from None
            return {'peer': self.name, 'absent': 'ended without an answer'}

    def stop(self):
        if self.process is not None:
            with contextlib.suppress(OSError):  # of one that has died, what it was last asked is still to be written
                self.process.stdin.close()
            self.process.wait()
            self.process = None


def cpu_flags():
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith(('flags', 'Features')):
            return set(line.split()[2:])
    return set()


def our_tiers(build):
    """The tiers that run here, best first."""
    context = subprocess.run([build / 'bench/posenc-bench', '--benchmark_format=json', '--benchmark_filter=rope_create',
                              '--benchmark_min_time=0.001'], capture_output=True, text=True, check=True).stdout
    return json.loads(context)['context']['tiers'].split(', ')[::-1]


def ours(build, cores):
    program = str(build / 'bench/posenc-bench')
    tiers = our_tiers(build)

    def peer(name, tier, what):
        return Peer(name, [program, '--serve', tier, what], cores, is_ours=True)

    peers = [peer(f'posenc {tier}', tier, 'ours') for tier in tiers]
    peers += [peer(f'limit {tier}', tier, 'limit') for tier in tiers if tier != 'scalar']
    return peers, peer('plain libm loop', 'scalar', 'plain')


def loader(root, *folders):
    """The beginning of a command that starts a program of packages unpacked in root (scripts/peer-packages), or one
    built with their libraries: these may need a newer C library than the system's, which comes with them."""
    start = next(pathlib.Path(root, 'usr').glob('lib*/ld-linux-*.so.*'))
    return [str(start), '--library-path', ':'.join(map(str, folders))]


def libraries_of(root):
    """Folder of the libraries of packages unpacked in root, or None."""
    found = next(iter(pathlib.Path(root, 'usr/lib').glob('*/libc.so.6')), None) if root else None
    return found and found.parent


# Attention in one operation, or in products and softmax (ggml.c): the way, and the one kind of work of the peer.
GGML_WAYS = {'ggml': ('flash', ''), 'ggml graph': ('graph', 'attention')}


def ggml_peers(build, root, cores):
    """ggml at its best, and on the backend for AVX2 CPUs. An unpacked ggml is started by its own loader."""
    program = build / 'bench/peer-ggml'
    if not program.exists():
        return [], 'its headers were not found when this was built (scripts/peer-packages ggml)'
    libraries = libraries_of(root)
    if libraries is None:
        return [Peer(name, [str(program), name, way], cores, only=only) for name, (way, only) in GGML_WAYS.items()], None
    backends = libraries / 'ggml/backends0'
    start = [*loader(root, libraries, backends), str(program.resolve())]
    peers = [Peer(name, [*start, name, way], cores, folder=backends, only=only) for name, (way, only) in GGML_WAYS.items()]
    haswell = backends / 'libggml-cpu-haswell.so'
    if 'avx512f' in cpu_flags() and haswell.exists():
        peers += [Peer(f'{name} (AVX2)', [*start, f'{name} (AVX2)', way, str(haswell)], cores, folder=backends, only=only)
                  for name, (way, only) in GGML_WAYS.items()]
    return peers, None


# Names in frameworks.py, and the package that each needs.
FRAMEWORKS = {'PyTorch': ('torch', 'torch'), 'Hugging Face': ('huggingface', 'torch'),
              'ONNX Runtime': ('onnxruntime', 'onnxruntime'), 'NumPy': ('numpy', 'numpy')}
NOT_INSTALLED = 'not installed (scripts/bench --install-peers)'


def packages(root):
    """{package: version} of the frameworks unpacked in root, by the folders in which Python packages say it."""
    folder, found = pathlib.Path(root, 'usr/lib/python3/dist-packages'), {}
    for package in {package for _, package in FRAMEWORKS.values()}:
        for path in folder.glob(f'{package}-*-info'):
            found[package] = re.match(r'[\d.]*\d', path.name.split('-')[1])[0]
    return found


def versions(root, ggml_root=''):
    """{name: version} of the libraries in the report: of the frameworks unpacked in root, and of ggml."""
    found = {}
    for path in pathlib.Path(ggml_root, 'pkgconfig').glob('ggml.pc') if ggml_root else ():
        found['ggml'] = next(line.split()[1] for line in path.read_text().splitlines() if line.startswith('Version:'))
    version_of = packages(root)
    return found | {title: version_of[package] for title, (module, package) in FRAMEWORKS.items()
                    if module == package and package in version_of}


# Environment that keeps a framework from using AVX-512.
AVX2_ONLY = {'ATEN_CPU_CAPABILITY': 'avx2', 'ONEDNN_MAX_CPU_ISA': 'AVX2', 'OPENBLAS_CORETYPE': 'Haswell',
             'NPY_DISABLE_CPU_FEATURES': 'X86_V4 AVX512_ICL AVX512_SPR'}


# malloc keeps what it once had: fresh pages for each result were up to three quarters of the time of Hugging Face's code.
KEEP_MEMORY = {'MALLOC_MMAP_MAX_': '0', 'MALLOC_TRIM_THRESHOLD_': str(1 << 40), 'MALLOC_TOP_PAD_': str(64 << 20)}


def framework_peers(title, root, cores):
    """Peers of the packages unpacked in root, on the Python there. ONNX Runtime cannot be kept from using AVX-512."""
    module, package = FRAMEWORKS[title]
    if package not in packages(root):
        return [], NOT_INSTALLED
    libraries = libraries_of(root)
    python = [*loader(root, libraries / 'openblas-pthread', libraries, libraries.parent), f'{root}/usr/bin/python3']
    environment = {**KEEP_MEMORY, 'PYTHONHOME': f'{root}/usr', 'PYTHONPATH': f'{root}/usr/lib/python3/dist-packages'}
    command = [*python, str(PEERS / 'frameworks.py'), module, title]
    only = 'rope' if module == 'huggingface' else ''
    peers = [Peer(title, command, cores, environment=environment, only=only)]
    if 'avx512f' in cpu_flags() and module != 'onnxruntime':
        peers.append(Peer(f'{title} (AVX2)', command, cores, environment={**environment, **AVX2_ONLY}, only=only))
    return peers, None


def xnnpack_peers(build, cores):
    program = build / 'bench/peer-xnnpack'
    if not program.exists():
        return [], 'not installed when this was built (Debian: libxnnpack-dev, libpthreadpool-dev)'
    return [Peer('XNNPACK', [str(program)], cores)], None


def find_peers(build, ggml_root, frameworks_root, core):
    """Ours, others, and {name: why} of absent peers."""
    cores, absent = {core}, {}
    mine, plain = ours(build, cores)
    others = [plain]
    libraries = {'ggml': ggml_peers(build, ggml_root, cores), 'XNNPACK': xnnpack_peers(build, cores)}
    for title in FRAMEWORKS:
        libraries[title] = framework_peers(title, frameworks_root, cores)
    for name, (found, why) in libraries.items():
        others += found
        if why is not None:
            absent[name] = why
    return mine, others, absent


class Progress:
    """One line on a terminal that is written over; into a file, a line now and then."""

    def __init__(self, total):
        self.total, self.done, self.begin, self.printed = total, 0, time.monotonic(), -1e9
        self.terminal = sys.stderr.isatty()

    def step(self, what):
        self.done += 1
        now = time.monotonic()
        if now - self.printed < (0.2 if self.terminal else 20) and self.done < self.total:
            return
        self.printed, spent = now, now - self.begin
        left = spent / self.done * (self.total - self.done)
        text = f'[{self.done}/{self.total}] {spent:.0f} s, about {left:.0f} s to go: {what}'
        width = shutil.get_terminal_size().columns - 1
        if not self.terminal:
            print(text, file=sys.stderr)
        else:
            print(f'\r{text[:width]:<{width}}', end='\n' if self.done == self.total else '', file=sys.stderr)


def rotated(things, by):
    by %= len(things)
    return things[by:] + things[:by]


def turns(group, r):
    """Who does which line in round r, [(line, peer)], each round beginning with another. One peer does its lines of the
    group one after the other, so that its own times, which differ least, are the nearest neighbours."""
    for peer in rotated(list(dict.fromkeys(peer for _, peers in group for peer in peers)), r):
        for work, peers in rotated(group, r):
            if peer in peers:
                yield work, peer


def run_group(group, r, milliseconds, progress, times, why_not, ways):
    for work, peer in turns(group, r):
        progress.step(f'{peer.name}: {work}')
        if (work, peer.name) in why_not:
            continue
        answer = peer.ask(work, milliseconds)
        if 'absent' in answer:
            why_not[work, peer.name] = answer['absent']
        else:
            times.setdefault((work, peer.name), []).append(answer['ns_per_element'])
            ways[work, peer.name] = {'way': answer['way']} if 'way' in answer else {}


def run_rounds(groups, rounds, milliseconds):
    """groups: [[(line, [peer])]]. The lines of a group, and all peers of each, take turns in each round.
    Returns [{'work', 'peer', 'rounds': [ns per element]}], with the 'way' of the last round where a peer has several,
    and of who does not do it {'work', 'peer', 'absent'}.

    Each round has peers that are started anew: where their code and memory lie is drawn at the start, and by the draw one
    and the same loop took 1.09 or 1.20 times as long as its limit."""
    peers = dict.fromkeys(peer for group in groups for _, peers in group for peer in peers)
    progress = Progress(sum(len(peers) for group in groups for _, peers in group) * rounds)
    times, why_not, ways = {}, {}, {}
    for r in range(rounds):
        for group in groups:
            run_group(group, r, milliseconds, progress, times, why_not, ways)
        for peer in peers:
            peer.stop()
    return ([{'work': work, 'peer': name, 'rounds': values, **ways[work, name]}
             for (work, name), values in times.items()]
            + [{'work': work, 'peer': name, 'absent': why} for (work, name), why in why_not.items()])
