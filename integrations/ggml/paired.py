"""Lines of tables of llama-bench, those without the plugin marked '- ', from runs that took turns: a line for each test. A neighbour on the
machine slows down both of a pair, or spoils a few pairs; the median of the ratios is neither's. usage: paired.py MODEL THREADS FLASH"""
import statistics
import sys


def rates():
    """{test: (rates without, rates with)}"""
    found = {}
    for line in sys.stdin:
        cells = [cell.strip() for cell in line.split('|')]
        if len(cells) > 3 and cells[-3][:2] in ('pp', 'tg'):
            found.setdefault(cells[-3].replace(' ', ''), ([], []))[not line.startswith('- ')].append(float(cells[-2].split()[0]))
    return found


def main(model, threads, flash):
    for test, (without, with_plugin) in rates().items():
        ratio = statistics.median(b / a for a, b in zip(without, with_plugin))
        print(f'{model:<18} {threads:>8} {flash:>4} {test:>14} {statistics.median(without):12.1f} '
              f'{statistics.median(with_plugin):12.1f} {ratio:7.3f}x')


main(*sys.argv[1:])
