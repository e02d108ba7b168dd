"""Puts results of scripts/prove side by side into DIRECTORY/report.md: report.py DIRECTORY PART..."""
import json
import pathlib
import sys


def rendered(result):
    hours, minutes = divmod(result['seconds'] // 60, 60)
    lines = [f"## {result['part']}", '', f"*{result['date']}, {result['machine']}, commit {result['commit']}, "
             f"`scripts/prove {result['part']}`: {hours} h {minutes} min.*"]
    for table in result['tables']:
        lines += ['', table['caption'], '', '| ' + ' | '.join(table['columns']) + ' |', '|---' * len(table['columns']) + '|']
        lines += ['| ' + ' | '.join(cell.replace('|', '\\|') for cell in row) + ' |' for row in table['rows']]
    if result['failures']:
        lines += ['', '**Failed:**', ''] + [f'- {sentence}' for sentence in result['failures']]
    return '\n'.join(lines)


def main(directory, *parts):
    paths = [pathlib.Path(directory) / f'{part}.json' for part in parts]
    sections = [rendered(json.loads(path.read_text(encoding='utf-8'))) for path in paths if path.exists()]
    page = pathlib.Path(directory) / 'report.md'
    page.write_text('\n\n'.join(['# Results of scripts/prove', *sections]) + '\n', encoding='utf-8')
    print(f'tables: {page}')


main(*sys.argv[1:])
