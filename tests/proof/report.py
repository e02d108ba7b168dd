"""Puts results of scripts/prove into pages: report.py DOCS DIRECTORY. It is DOCS/reliability.md, and on a machine with AVX-512
reliability-avx512.md too, which a machine without it leaves alone: there that tier is emulated at best. A page has a pair of lines
for each part,

    <!-- proof: NAME -->
    <!-- end -->

and what stands between them is replaced if the directory has NAME.json; else it stays, with the date of its run.
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


def main(docs, directory):
    def replaced(match):
        result = pathlib.Path(directory) / f'{match[1]}.json'
        if not result.exists():
            return match[0]
        text = rendered(json.loads(result.read_text(encoding='utf-8')))
        return f'<!-- proof: {match[1]} -->\n{text}\n<!-- end -->'

    for name in ['reliability.md'] + ['reliability-avx512.md'] * ('avx512' in tiers()):
        page = pathlib.Path(docs) / name
        text = page.read_text(encoding='utf-8')
        page.write_text(re.sub(r'<!-- proof: (\w+) -->\n.*?<!-- end -->', replaced, text, flags=re.DOTALL), encoding='utf-8')


main(*sys.argv[1:])
