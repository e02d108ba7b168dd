"""Writes README's table of speed out of a page of docs/results, between lines that mark it: python3 bench/report/readme.py,
or scripts/bench --documents. A test compares the two."""
import pathlib
import re
import textwrap

PAGE = 'zen3-avx2.md'
TIER = 'AVX2'
WIDTH = 120  # of README's lines
BEGIN, END = '<!-- speed: begin -->', '<!-- speed: end -->'

ATTENTION, ROTATIONS = 'Attention beside other libraries', 'Rotations, tables and softmax beside other libraries'
LOSSES = 'Attention in which another library is faster'
COLUMNS = ('ggml', 'PyTorch', 'ONNX Runtime')
SEVERAL = {'ggml': ('ggml', 'ggml graph')}  # whose better way README has

SQUARE, LARGE = 'prefill 1024 x 1024, 8 heads', 'prefill 4096 x 4096, 8 heads'
CHUNK = 'prefill, 512 queries of 4096 keys, 32 heads over 8'
DECODE = 'decode, {} keys, 32 heads over {}'
WINDOW = 'decode, window of 512 in 4096 keys, 32 heads over 8'
MLA = 'decode of MLA, 4096 keys of 576, values of 512, {} heads'
PREFILL_ROPE = 'RoPE {}, prefill, precomputed table'


def attention(words, title, kind, layout='t', place='hot'):
    return words, ATTENTION, (title, kind, layout, place)


# README's words; and of the page the title of a table and the cells that its row begins with.
ROWS = [
    *(attention(f'prefill 1024x1024, {kind}', SQUARE, kind) for kind in ('f32', 'bf16')),
    attention('prefill 1024x1024, causal, f32', f'{SQUARE}, causal', 'f32'),
    attention('prefill 1024x1024, layout h, f32', SQUARE, 'f32', 'h'),
    *(attention(f'prefill 1024x1024, head_dim {dim}, f32', f'{SQUARE}, head_dim {dim}', 'f32') for dim in (64, 80, 96, 256)),
    attention('prefill 4096x4096, f32', LARGE, 'f32'),
    attention('prefill 4096x4096, causal, f32', f'{LARGE}, causal', 'f32'),
    *(attention(f'prefill 512x4096, 32/8, {kind}', CHUNK, kind) for kind in ('f32', 'bf16')),
    *(attention(f'decode 32/8, {kind}', DECODE.format(4096, 8), kind) for kind in ('f32', 'f16', 'bf16', 'q8_0 INT16')),
    attention('decode 32/8, f16, from memory', DECODE.format(4096, 8), 'f16', 't', 'memory'),
    attention('decode 32/8, f16, 512 keys', DECODE.format(512, 8), 'f16'),
    attention('decode 32/8, f16, 512-key window', WINDOW, 'f16'),
    attention('decode 32/4, bf16', DECODE.format(4096, 4), 'bf16'),
    *(attention(f'decode 32/32, {kind}', DECODE.format(4096, 32), kind) for kind in ('f32', 'f16')),
    attention('decode 32/32, layout h, f32', DECODE.format(4096, 32), 'f32', 'h'),
    *(attention(f'MLA, {heads} heads, {kind}', MLA.format(heads), kind, 'both')
      for heads, kind in ((16, 'f16'), (16, 'bf16'), (128, 'f32'), (128, 'bf16'))),
    ('RoPE, 512 tokens, 32 heads', ROTATIONS, (PREFILL_ROPE.format('half-split'),)),
    ('softmax, ALiBi, mask, 4096 keys', ROTATIONS, ('softmax, ALiBi and mask, rows of 4096',)),
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
    """Ratio of the fastest of a library's ways."""
    texts = [ratio(row.get(f'{TIER}: {name}', '-')) for name in SEVERAL.get(library, (library,))]
    return min((text for text in texts if text), key=lambda text: float(text.strip('*')), default='')


def versions(page):
    """{library: version} that the page names."""
    text = next((line for line in page.splitlines() if re.fullmatch(r'(?:[A-Za-z ]+ [\d.]+\d(?:, |\.$))+', line)), '')
    return dict(re.findall(r'([A-Za-z][A-Za-z ]*) ([\d.]+\d)', text))


def table(page):
    found, known = sections(page), versions(page)
    head = [f'{name} {known[name]}' if name in known else name for name in COLUMNS]
    lines = ['|work|' + '|'.join(head) + '|', '|' + '---|' * (1 + len(COLUMNS))]
    for words, title, cells in ROWS:
        rows = [row for row in found[title][1] if tuple(row.values())[:len(cells)] == cells]
        if rows:
            lines.append('|'.join(['', words.replace('q8_0', 'Q8_0'), *(library_cell(rows[0], name) for name in COLUMNS), '']))
    return '\n'.join(lines)


def block(page):
    """Text between README's markers."""
    title, date = page.splitlines()[0].removeprefix('# Results: '), re.search(r', commit \w+, ([\d-]+)', page)[1]
    found = sections(page)
    lost, raced = re.match(r'\s*(\d+) of the (\d+) lines', found[LOSSES][0]).groups()
    rope = PREFILL_ROPE.format('half-split')
    code = next(ratio(row[f'{TIER}: Hugging Face']) for row in found[ROTATIONS][1] if row['work'] == rope)
    before = (f"Time relative to posenc on one core; above 1, posenc is faster; bold, slower. {title}, {date}; a token's heads side by "
              'side unless layout h is named; head_dim 128; prefill with 8 heads, decode over 4096 keys. ggml with or without -fa, '
              'whichever is faster.')
    after = f"Hugging Face's code for RoPE takes {code} times as long. " if code else ''
    after += f'In {lost} of {raced} lines of attention another library is faster: [all figures](docs/results/{PAGE}).'
    return '\n\n'.join([textwrap.fill(before, WIDTH), table(page), textwrap.fill(after, WIDTH, break_on_hyphens=False)])


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
