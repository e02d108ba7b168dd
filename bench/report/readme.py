"""Writes README's tables of speed, end to end and by call, out of the documents that have the figures, between lines that mark
them: python3 bench/report/readme.py, or scripts/bench --documents. A test compares them."""
import pathlib
import re
import textwrap

PAGE = 'zen3-avx2.md'
TIER = 'AVX2'
WIDTH = 120  # of README's lines
BEGIN, END = '<!-- speed: begin -->', '<!-- speed: end -->'
BEGIN_PROGRAMS, END_PROGRAMS = '<!-- end to end: begin -->', '<!-- end to end: end -->'
GGML, TRANSFORMERS = 'integrations/ggml/README.md', 'docs/transformers.md'

ATTENTION, ROTATIONS = 'Attention beside other libraries', 'Rotations, tables and softmax beside other libraries'
LOSSES = 'Attention in which another library is faster'
COLUMNS = ('ggml', 'PyTorch', 'ONNX Runtime')
SEVERAL = {'ggml': ('ggml', 'ggml graph')}  # whose better way README has

SQUARE = 'prefill 1024 x 1024, 8 heads'
DECODE = 'decode, {} keys, 32 heads over {}'
WINDOW = 'decode, window of 512 in 4096 keys, 32 heads over 8'
MLA = 'decode of MLA, 4096 keys of 576, values of 512, {} heads'
PREFILL_ROPE = 'RoPE {}, prefill, precomputed table'


def attention(words, title, kind, layout='t', place='hot'):
    return words, ATTENTION, (title, kind, layout, place)


# README's words; and of the page the title of a table and the cells that its row begins with.
ROWS = [
    *(attention(f'prefill 1024x1024, {kind}', SQUARE, kind) for kind in ('f32', 'bf16')),
    *(attention(f'prefill 1024x1024, head_dim {dim}, f32', f'{SQUARE}, head_dim {dim}', 'f32') for dim in (64, 80, 256)),
    *(attention(f'decode 32/8, {kind}', DECODE.format(4096, 8), kind) for kind in ('f32', 'f16', 'q8_0 INT16')),
    attention('decode 32/8, f16, 512-key window', WINDOW, 'f16'),
    *(attention(f'decode 32/32, {kind}', DECODE.format(4096, 32), kind) for kind in ('f32', 'f16')),
    attention('MLA, 16 heads, f16', MLA.format(16), 'f16', 'both'),
    ('RoPE, 512 tokens, 32 heads', ROTATIONS, (PREFILL_ROPE.format('half-split'),)),
    ('softmax, ALiBi, mask, 4096 keys', ROTATIONS, ('softmax, ALiBi and mask, rows of 4096',)),
]


# Rows of the table of whole programs: README's words, the document, and what its row begins with.
PROGRAMS = [
    ('llama.cpp, generation', GGML, '| 1 | generation |'),
    ('llama.cpp, generation, small MoE model', GGML, '| llama-moe | 1 | 1 | tg64 |'),
    ('llama.cpp, generation at depth 4096', GGML, '| 1 | generation at depth 4096 |'),
    ('llama.cpp, the same, Q8_0 cache', GGML, '| q8_0 | generation at depth 4096 |'),
    ('llama.cpp, prompt of 512 at depth 4096', GGML, '| 1 | prompt of 512 at depth 4096 |'),
    ('Transformers, generation at 4096 tokens, f32', TRANSFORMERS, '| 1 | float32, 4096 |'),
    ('Transformers, the same, bf16', TRANSFORMERS, '| 1 | bfloat16, 4096 |'),
    ('Transformers, prompt of 1024, f32', TRANSFORMERS, '| 1 | float32, prefill of 1024 |'),
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


def program_cells(document, row):
    """Tokens a second without posenc and with it, and the ratio, of a row of llama-bench or of Transformers' speed."""
    cells = [cell.strip() for cell in row.strip('|').split('|')]
    if document == GGML:
        return cells[-3], cells[-2], cells[-1].removesuffix('x')
    with_posenc, without = (re.search(r'([\d.]+)/s', cell)[1] for cell in cells[2:4])
    return without, with_posenc, cells[5]


def programs(texts):
    """The table of whole programs. texts: {document: its text}."""
    lines = ['|tokens a second, one thread|without|with posenc|median of ratios|', '|---|---|---|---|']
    for words, document, begin in PROGRAMS:
        row, = [line for line in texts[document].splitlines() if line.startswith(begin)]
        without, with_posenc, times = program_cells(document, row)
        lines.append(f'|{words}|{without}|{with_posenc}|{f"**{times}**" if float(times) < 1.0 else times}|')
    return '\n'.join(lines)


def between(text, begin, end, new):
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f'README.md has no place for its table: {begin} and {end}, once')
    before, _, rest = text.partition(begin)
    return f'{before}{begin}\n{new}\n{end}{rest.partition(end)[2]}'


def replaced(text, new, of_programs):
    return between(between(text, BEGIN, END, new), BEGIN_PROGRAMS, END_PROGRAMS, of_programs)


def written(root):
    """README as it should be."""
    texts = {document: (root / document).read_text() for document in (GGML, TRANSFORMERS)}
    return replaced((root / 'README.md').read_text(), block((root / 'docs/results' / PAGE).read_text()), programs(texts))


def write(root):
    readme = root / 'README.md'
    readme.write_text(written(root))
    print(readme)


if __name__ == '__main__':
    write(pathlib.Path(__file__).resolve().parent.parent.parent)
