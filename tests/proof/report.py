"""Puts results of scripts/prove into DOCS/reliability.md: report.py DOCS DIRECTORY. The page has a pair of lines for each part,

    <!-- proof: NAME -->
    <!-- end -->

and what stands between them is replaced if the directory has NAME.json; else it stays, with the date of its run. So does what a CPU
with AVX-512 made, if this one lacks it and found no failure.
"""
import json
import pathlib
import re
import sys

from proof import tiers


def rendered(result):
    hours, minutes = divmod(result['seconds'] // 60, 60)
    lines = [f"*{result['date']}, {result['machine']}, commit {result['commit']}, `scripts/prove {result['part']}`: {hours} h "
             f'{minutes} min.*']
    for table in result['tables']:
        lines += ['', table['caption'], '', '| ' + ' | '.join(table['columns']) + ' |', '|---' * len(table['columns']) + '|']
        lines += ['| ' + ' | '.join(cell.replace('|', '\\|') for cell in row) + ' |' for row in table['rows']]
    if result['failures']:
        lines += ['', '**Failed:**', ''] + [f'- {sentence}' for sentence in result['failures']]
    return '\n'.join(lines)


def must_stay(text, result):
    """Whether the table is of AVX-512 itself, which this CPU can emulate at best."""
    return 'avx512' in text and 'emulated' not in text and 'avx512' not in tiers() and not result['failures']


def main(docs, directory):
    def replaced(match):
        path = pathlib.Path(directory) / f'{match[1]}.json'
        if not path.exists():
            return match[0]
        result = json.loads(path.read_text(encoding='utf-8'))
        if must_stay(match[0], result):
            print(f'{page}: {match[1]} stays, for it is of a CPU with AVX-512')
            return match[0]
        return f'<!-- proof: {match[1]} -->\n{rendered(result)}\n<!-- end -->'

    page = pathlib.Path(docs) / 'reliability.md'
    text = page.read_text(encoding='utf-8')
    page.write_text(re.sub(r'<!-- proof: (\w+) -->\n.*?<!-- end -->', replaced, text, flags=re.DOTALL), encoding='utf-8')


main(*sys.argv[1:])
