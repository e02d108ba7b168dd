"""Lines of tables of llama-bench, those without the plugin marked '- ', from runs that took turns: a line for each test. A
neighbour on the machine slows down both of a pair, or spoils a few pairs; the median of the ratios is neither's. usage:
paired.py MODEL THREADS FLASH CACHE"""
import statistics
import sys


def rates():
    """{test: (rates without, rates with)}"""
    found = {}
    for line in sys.stdin:
        cells = [cell.strip() for cell in line.split('|')]
        if len(cells) > 3 and cells[-3][:2] in ('pp', 'tg'):
            of_test = found.setdefault(cells[-3].replace(' ', ''), ([], []))
            of_test[not line.startswith('- ')].append(float(cells[-2].split()[0]))
    return found


def main(model, threads, flash, cache):
    for test, (without, with_plugin) in rates().items():
        ratios = [b / a for a, b in zip(without, with_plugin)]
        print(f'{model:<18} {threads:>7} {flash:>3} {cache:>5} {test:>14} {statistics.median(without):9.1f} '
              f'{statistics.median(with_plugin):9.1f} {statistics.median(ratios):7.3f}x '
              f'({min(ratios):.3f} to {max(ratios):.3f})')


main(*sys.argv[1:])
