"""The benchmark report: runs us and our peers in turns and writes what was seen. scripts/bench builds and starts it."""
import argparse
import datetime
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Length of a run: rounds and milliseconds of each peer in each, and the same of posenc-bench in seconds.
FULL = {'rounds': 7, 'ms': 20, 'attention_rounds': 3, 'layout_ms': 300, 'sweep_rounds': 5, 'sweep_ms': 8,
        'kernel_rounds': 3, 'kernel_seconds': 0.004}
QUICK = {'rounds': 3, 'ms': 5, 'attention_rounds': 1, 'layout_ms': 20, 'sweep_rounds': 3, 'sweep_ms': 2,
         'kernel_rounds': 1, 'kernel_seconds': 0.002}
LARGEST_QUICK = 16 << 20  # bytes of a working set
LARGEST_SCALAR = 1 << 18  # elements


def report_file(name):
    """The path of a report that can be read."""
    try:
        json.loads(pathlib.Path(name).read_text())
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f'no report of scripts/bench: {error}') from None
    return pathlib.Path(name)


def usable_core(text):
    """The number of a core that this process may run on."""
    usable = sorted(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) not in usable:
        raise argparse.ArgumentTypeError(f"no core to run on: '{text}'; there are {', '.join(map(str, usable))}")
    return int(text)


def pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"no regular expression: '{text}': {error}") from None


def check_against(parser, options):
    """Checks the options of --against; the revision becomes its commit."""
    if options.against is None:
        if options.filter is not None or options.all:
            parser.error('--filter and --all are for --against')
        return
    import machine
    commit = machine.commit_of(options.against, ROOT)
    if commit is None:
        parser.exit(2, f"error: not a commit of this repository: '{options.against}'\n")
    options.against = commit


def arguments():
    parser = argparse.ArgumentParser(
        prog='scripts/bench', description='Runs our kernels on every tier, their limits, and whatever peers are installed '
        '(ggml, PyTorch, ONNX Runtime, XNNPACK, NumPy, a plain loop), in turns on one core, and writes report.json, '
        'report.md and report.html. Keep the machine quiet meanwhile.',
        epilog='To install the peers that Debian has: scripts/bench --install-peers')
    what = parser.add_mutually_exclusive_group()
    what.add_argument('--quick', action='store_true', help='fewer rounds and sizes: some ten minutes instead of an hour and a half')
    what.add_argument('--against', metavar='REV',
                      help='compare this tree with a commit, which is built in build-bench-COMMIT: name what changed by more '
                      'than its noise; exit status 1 if something is slower, 2 if they cannot be compared')
    what.add_argument('--cliffs', action='store_true',
                      help='list sizes that cost more than 1.5 times as much per element as their neighbours')
    what.add_argument('--render', metavar='JSON', type=report_file, help='pages of a report.json that is there')
    what.add_argument('--documents', metavar='JSON', type=report_file,
                      help='write the page of its CPU in docs/results out of a report.json, and README\'s table out of the '
                      'page that it shows; from a run of a clean commit, not --quick')
    parser.add_argument('--peers', action='store_true', help='only the lines that other libraries are measured with')
    parser.add_argument('--short', action='store_true',
                        help='with --peers: of attention the lines of --quick, in all rounds; some half hour')
    parser.add_argument('--filter', metavar='REGEX', type=pattern,
                        help='with --against: the benchmarks that it finds, instead of those that run in caches, on SIMD tiers')
    parser.add_argument('--all', action='store_true', help='with --against: every benchmark of the SIMD tiers')
    parser.add_argument('-o', '--output', metavar='FOLDER', type=pathlib.Path, help='instead of build-bench/report')
    parser.add_argument('--core', type=usable_core, default=max(os.sched_getaffinity(0)), help='to run on (the last)')
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build-bench', help=argparse.SUPPRESS)
    parser.add_argument('--other', type=pathlib.Path, help=argparse.SUPPRESS)  # the build of --against
    parser.add_argument('--ggml', default='', help=argparse.SUPPRESS)
    parser.add_argument('--frameworks', default='', help=argparse.SUPPRESS)
    parser.add_argument('--arguments-only', action='store_true', help=argparse.SUPPRESS)  # before a build, which takes long
    options = parser.parse_args()
    check_against(parser, options)
    if options.short and not options.peers:
        parser.error('--short is for --peers')
    return options


def thread_counts():
    cores, counts = len(os.sched_getaffinity(0)), [1]
    while 2 * counts[-1] <= cores:
        counts.append(2 * counts[-1])
    return counts


def is_small(sweep_x, quick):
    return not quick or sweep_x <= LARGEST_QUICK


def in_time(works, peers, work):
    """Peers that do this work. The scalar tier is the specification, and would take most of the run if it did what is large."""
    is_large = work.startswith('attention') or works.shape_of(work)['elements'] > LARGEST_SCALAR
    return [p for p in peers if p.does(work) and not (is_large and p.name.endswith('scalar'))]


def peer_jobs(works, mine, others):
    """Lines that goals and bars need, by everybody; in groups, as race.run_rounds takes them."""
    groups, raced = works.goal_groups(), works.goal_lines()
    groups += [[work] for work in dict.fromkeys(work for _, work in works.BARS) if work not in raced]
    return [[(work, in_time(works, mine + others, work)) for work in group] for group in groups]


def attention_jobs(lines, mine, others):
    """Lines of attentions.py, by ours and by libraries that have attention."""
    import works
    from results import ATTENTION_LIBRARIES
    peers = [p for p in mine if p.name.startswith('posenc')] + [p for p in others if p.name.startswith(ATTENTION_LIBRARIES)]
    return [[(line.work, in_time(works, peers, line.work))] for line in lines]


def sweep_jobs(works, mine, quick):
    jobs = [(work, in_time(works, mine, work)) for sweep in works.WORKING_SETS for x, work in sweep.points
            if is_small(x, quick)]
    ours = [p for p in mine if p.name.startswith('posenc') and not p.name.endswith('scalar')]
    jobs += [(work, ours) for sweep in works.SHAPES for _, work in sweep.points]
    return [[job] for job in jobs]


def thread_jobs(works, race, options, counts):
    mine, _ = race.ours(options.build, os.sched_getaffinity(0))
    ours = [p for p in mine if p.name.startswith('posenc') and not p.name.endswith('scalar')]
    return [[(work, ours)] for sweep in works.thread_sweeps(counts) for _, work in sweep.points]


def without_repeats(results):
    """Sweeps and goals share lines: of each line and peer the first stays, which had more rounds."""
    first = {}
    for entry in results:
        first.setdefault((entry['work'], entry['peer']), entry)
    return list(first.values())


def race_peers(effort, mine, others, is_short):
    """Everybody's times, of lines that goals, bars and the table of attention need."""
    import attentions
    import race
    import works
    lines = attentions.quick_lines() if is_short else attentions.LINES
    times = race.run_rounds(peer_jobs(works, mine, others), effort['rounds'], effort['ms'])
    return times + race.run_rounds(attention_jobs(lines, mine, others), effort['attention_rounds'], effort['ms'])


def race_ourselves(options, effort, mine, counts):
    """Our own times and those of the limits, by size and by threads."""
    import race
    import works
    times = race.run_rounds(sweep_jobs(works, mine, options.quick), effort['sweep_rounds'], effort['sweep_ms'])
    return times + race.run_rounds(thread_jobs(works, race, options, counts), effort['sweep_rounds'], effort['ms'])


def run_kernels(options, effort):
    import kernels
    program = str(options.build / 'bench/posenc-bench')
    leave_out = ('tokens:512', '2048x', '262144x') if options.quick else ('262144x',)
    names = [name for name in kernels.list_names(program, leave_out) if not options.quick or kernels.is_small(name)]
    return kernels.run_rounds(program, names, effort['kernel_rounds'], effort['kernel_seconds'], options.core)


def run_layouts(options, effort, tiers):
    """{tier: rows of posenc-bench layout}; of a quick run those over 4096 keys of f16."""
    import layouts
    choice = ['--keys', '4096', '--type', 'f16', '--work', 'decode'] if options.quick else []
    return {tier: layouts.run(options.build / 'bench/posenc-bench', tier, effort['layout_ms'], options.core, choice)
            for tier in tiers if tier != 'scalar'}


def run(options):
    import machine
    import race
    import results
    effort = QUICK if options.quick else FULL
    report = {'version': results.VERSION, 'machine': machine.describe(options.build, ROOT, options.core),
              'rounds': effort['rounds'], 'attention_rounds': effort['attention_rounds'], 'started': datetime.datetime.now().isoformat(timespec='seconds'),
              'threads': thread_counts(), 'is_short': options.short, 'versions': race.versions(options.frameworks, options.ggml)}
    mine, others, report['absent'] = race.find_peers(options.build, options.ggml, options.frameworks, options.core)
    for name, why in report['absent'].items():
        print(f'skipped: {name}: {why}', file=sys.stderr)
    times = race_peers(effort, mine, others, options.quick or options.short)
    report['layouts'] = run_layouts(options, effort, race.our_tiers(options.build))
    if not options.peers:
        times += race_ourselves(options, effort, mine, report['threads'])
    report['times'] = without_repeats(times)
    report['kernels'] = {} if options.peers else run_kernels(options, effort)
    report['finished'] = datetime.datetime.now().isoformat(timespec='seconds')
    return report


def write_pages(report, folder):
    import pages
    try:
        import charts
    except ImportError:
        charts = None
        print('skipped: the charts, for want of matplotlib (Debian: python3-matplotlib)')
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'report.md').write_text(pages.markdown(report))
    (folder / 'report.html').write_text(pages.page(report, charts))
    print(f'{folder}/report.md\n{folder}/report.html')


def main():
    options = arguments()
    if options.arguments_only:
        print(options.against or '')
        return 0
    folder = options.output or options.build / 'report'
    if options.render:
        write_pages(json.loads(options.render.read_text()), options.output or options.render.parent)
    elif options.documents:
        import document
        import readme
        report = json.loads(options.documents.read_text())
        if reason := document.why_not(report, FULL['rounds']):
            raise SystemExit(f'error: {options.documents} is not for the documents: {reason}')
        document.write(report, ROOT)
        readme.write(ROOT)
    elif options.against:
        import against
        return against.run(options.build, options.other, options.core, options.filter, options.all)
    elif options.cliffs:
        import cliffs
        return cliffs.scan(options.build, options.core)
    else:
        report = run(options)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'report.json').write_text(json.dumps(report, indent=1) + '\n')
        print(f'{folder}/report.json')
        write_pages(report, folder)
    return 0


sys.exit(main())
