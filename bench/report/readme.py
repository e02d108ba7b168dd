"""Writes README's table of speed out of a page of docs/results, between lines that mark it: python3 bench/report/readme.py,
or scripts/bench --documents. A test compares the two."""
import pathlib
import re

PAGE = 'zen3-avx2.md'
TIER = 'AVX2'
BEGIN, END = '<!-- speed: begin -->', '<!-- speed: end -->'

ATTENTION, ROTATIONS = 'Attention beside other libraries', 'Rotations, tables and softmax beside other libraries'
LOSSES = 'Attention in which another library is faster'
COLUMNS = ('ggml', 'PyTorch', 'ONNX Runtime')
SEVERAL = {'ggml': ('ggml', 'ggml graph')}  # whose better way README has

# README's words, and the cells in front of a row of the page.
SQUARE, LARGE = 'prefill 1024 x 1024, 8 heads', 'prefill 4096 x 4096, 8 heads'
CHUNK = 'prefill, 512 queries of 4096 keys, 32 heads over 8'
DECODE = 'decode, {} keys, 32 heads over {}'
MLA = 'decode of MLA, 4096 keys of 576, values of 512, {} heads'
ROWS = [
    ('prefill 1024 x 1024, 8 heads, f32', ATTENTION, (SQUARE, 'f32', 't', 'hot')),
    ('causal', ATTENTION, (f'{SQUARE}, causal', 'f32', 't', 'hot')),
    ('f16', ATTENTION, (SQUARE, 'f16', 't', 'hot')),
    ('bf16', ATTENTION, (SQUARE, 'bf16', 't', 'hot')),
    ('layout h, f32', ATTENTION, (SQUARE, 'f32', 'h', 'hot')),
    *((f'head_dim {dim}, f32', ATTENTION, (f'{SQUARE}, head_dim {dim}', 'f32', 't', 'hot')) for dim in (64, 80, 96, 256)),
    ('prefill 4096 x 4096, f32', ATTENTION, (LARGE, 'f32', 't', 'hot')),
    ('causal', ATTENTION, (f'{LARGE}, causal', 'f32', 't', 'hot')),
    ('512 queries of 4096 keys, 32/8, f32', ATTENTION, (CHUNK, 'f32', 't', 'hot')),
    ('bf16', ATTENTION, (CHUNK, 'bf16', 't', 'hot')),
    *((f'decode 32/8, 4096 keys, {kind}' if kind == 'f32' else kind.replace('q8_0', 'Q8_0'), ATTENTION,
       (DECODE.format(4096, 8), kind, 't', 'hot')) for kind in ('f32', 'f16', 'bf16', 'q8_0 INT16')),
    ('512 keys, f16', ATTENTION, (DECODE.format(512, 8), 'f16', 't', 'hot')),
    ('f16 from memory', ATTENTION, (DECODE.format(4096, 8), 'f16', 't', 'memory')),
    ('window of 512, f16', ATTENTION, ('decode, window of 512 in 4096 keys, 32 heads over 8', 'f16', 't', 'hot')),
    ('decode 32/4, bf16', ATTENTION, (DECODE.format(4096, 4), 'bf16', 't', 'hot')),
    ('decode 32/32, f32', ATTENTION, (DECODE.format(4096, 32), 'f32', 't', 'hot')),
    ('layout h', ATTENTION, (DECODE.format(4096, 32), 'f32', 'h', 'hot')),
    ('MLA, 16 heads, f16', ATTENTION, (MLA.format(16), 'f16', 'both', 'hot')),
    ('bf16', ATTENTION, (MLA.format(16), 'bf16', 'both', 'hot')),
    ('MLA, 128 heads, f32', ATTENTION, (MLA.format(128), 'f32', 'both', 'hot')),
    ('bf16', ATTENTION, (MLA.format(128), 'bf16', 'both', 'hot')),
    ('RoPE, 512 tokens x 32 heads', ROTATIONS, ('RoPE half-split, prefill, precomputed table',)),
    ('interleaved', ROTATIONS, ('RoPE interleaved, prefill, precomputed table',)),
    ('softmax, ALiBi and mask, rows of 4096', ROTATIONS, ('softmax, ALiBi and mask, rows of 4096',)),
]


def sections(page):
    """{title: (text, [row as {head: cell}])} of a page."""
    found = {}
    for part in page.split('\n## ')[1:]:
        title, _, text = part.partition('\n')
        lines = [[cell.strip() for cell in line.strip('|').split('|')] for line in text.splitlines() if line.startswith('|')]
        found[title] = text, [dict(zip(lines[0], line)) for line in lines[2:]] if lines else []
    return found


def ratio(cell):
    """'2.95' of '2.95x (2.94-2.97), by rows', bold as it is there; '' of '-'."""
    match = re.match(r'(\*\*)?([\d.e+]+)x(\*\*)?', cell)
    return f'{match[1] or ""}{match[2]}{match[1] or ""}' if match else ''


def library_cell(row, library):
    """Of several ways of a library the faster."""
    texts = [ratio(row.get(f'{TIER}: {name}', '-')) for name in SEVERAL.get(library, (library,))]
    return min((text for text in texts if text), key=lambda text: float(text.strip('*')), default='')


def table(page):
    found, lines = sections(page), ['|work|' + '|'.join(COLUMNS) + '|', '|' + '---|' * (1 + len(COLUMNS))]
    for words, title, cells in ROWS:
        rows = [row for row in found[title][1] if tuple(row.values())[:len(cells)] == cells]
        if rows:
            lines.append('|'.join(['', words, *(library_cell(rows[0], name) for name in COLUMNS), '']))
    return '\n'.join(lines)


def block(page):
    """What README has between its markers."""
    title = page.splitlines()[0].removeprefix('# Results: ')
    date = re.search(r'commit (\w+), (\d{4}-\d\d-\d\d)', page)
    versions = re.search(r'^(?:PyTorch|ONNX).*\.$', page, re.M)
    found = sections(page)
    lost = re.match(r'\s*(\d+) of the (\d+) lines', found[LOSSES][0])
    hf = next((ratio(row[f'{TIER}: Hugging Face']) for row in found[ROTATIONS][1]
               if row['work'] == 'RoPE half-split, prefill, precomputed table'), '')
    words = (f"Time relative to posenc on one core; above 1, posenc is faster; bold, slower. {title}, {date[2]}, "
             f"{versions[0] if versions else ''} K and V in layout t, a token's heads side by side; ggml by flash attention "
             f"or by its graph, whichever is faster.")
    after = (f"Hugging Face's code for RoPE takes {hf} times as long. [All figures](docs/results/{PAGE}): {lost[1]} of {lost[2]} "
             f"lines of attention are lost to another library.")
    return f'{words}\n\n{table(page)}\n\n{after}'


def replaced(text, new):
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f'README.md has no place for its table: {BEGIN} and {END}, once')
    before, _, rest = text.partition(BEGIN)
    return f'{before}{BEGIN}\n{new}\n{END}{rest.partition(END)[2]}'


def write(root):
    readme = root / 'README.md'
    readme.write_text(replaced(readme.read_text(), block((root / 'docs/results' / PAGE).read_text())))
    print(readme)


if __name__ == '__main__':
    write(pathlib.Path(__file__).resolve().parent.parent.parent)
