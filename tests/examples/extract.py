"""Turns the C examples of the documentation into programs.

    extract.py markdown FILE.md OUT.c      the first fenced C block that has a main(), as it stands
    extract.py headers INCLUDE_DIR OUT.c   the example in the opening comment of each public header, each in a function
                                           of its own with the variables it takes for granted

A document without its example is an error.
"""
import pathlib
import re
import sys

# What a header's example takes for granted, in C, and the headers that have none.
GIVEN = {
    'angles.h': '',
    'conv.h': 'enum { n_batch = 2 }; static float tokens[2 * 197 * 64], result[2 * 197 * 64], weights[64 * 9], bias[64];',
    'encoding.h': 'int64_t n_tokens = 4; static float embeddings[4 * 768]; int32_t positions[4] = {0, 1, 2, 7};',
    'fourier.h': 'enum { n_points = 3 }; static float memory[3 * 256], points[2 * 3];',
    'integer.h': 'static float memory[4 * 16]; int32_t positions[4] = {0, 1, 2, 7};',
    'learned.h': 'static uint16_t weights[514 * 768]; static float data[4 * 768]; int64_t ids[4] = {0, 1, 2, 511}; '
                 'posenc_view x = posenc_view_dense(data, POSENC_F32, 768, 4, 1, 1);',
    'random.h': 'static float weights[512 * 768];',
    'rope_config.h': 'posenc_status status; posenc_rope *rope;',
    'rope.h': 'int64_t n_tokens = 4; static float data[4 * 32 * 128]; int32_t positions[4] = {0, 1, 2, 7};',
    'sinusoidal.h': 'static uint16_t memory[4 * 512]; int32_t positions[4] = {0, 1, 2, 7};',
    'softmax.h': 'int64_t n_k = 20; static float scores[32 * 8 * 20]; float slopes[32]; '
                 'if (posenc_alibi_slopes(32, 8.0, slopes) != POSENC_OK) return 1;',
}
NO_EXAMPLE = {'alibi.h', 'isa.h', 'line.h', 'mask.h', 'posenc.h', 'position_ids.h', 'rope_scaling.h', 'types.h', 'version.h'}


def markdown(path, out):
    for block in re.findall(r'^ *```c\n(.*?)^ *```', pathlib.Path(path).read_text(), re.M | re.S):
        if re.search(r'\bmain\(', block):
            pathlib.Path(out).write_text(f'#line 1 "example of {pathlib.Path(path).name}"\n{block}')
            return
    sys.exit(f'{path} has no C block with a main()')


def examples_of(header):
    """Runs of indented lines in the opening comment that begin with a type or a call of ours."""
    comment = header.read_text().split('*/')[0]
    lines = [re.sub(r'^ \* ?', '', line) for line in comment.split('\n')]
    runs = re.findall(r'(?:^    .*\n)+', '\n'.join(lines) + '\n', re.M)
    return [run for run in runs if run.lstrip().startswith('posenc_')]


def headers(directory, out):
    text = '#include <posenc/posenc.h>\n\n'
    names = []
    for header in sorted(pathlib.Path(directory).glob('*.h')):
        examples = examples_of(header)
        if header.name in NO_EXAMPLE and not examples:
            continue
        if len(examples) != 1 or header.name not in GIVEN:
            sys.exit(f'{header}: {len(examples)} examples, and tests/examples/extract.py knows of '
                     f'{"one" if header.name in GIVEN else "none"}')
        name = header.stem + '_example'
        body = examples[0].replace('    ...\n', '')
        result = 'status != POSENC_OK' if 'status' in body else '0'
        text += f'static int {name}(void) {{\n    {GIVEN[header.name]}\n#line 1 "example of {header.name}"\n{body}    return {result};\n}}\n\n'
        names.append(name)
    calls = ' || '.join(f'{name}() != 0' for name in names)
    pathlib.Path(out).write_text(f'{text}int main(void) {{\n    return {calls};\n}}\n')


{'markdown': markdown, 'headers': headers}[sys.argv[1]](*sys.argv[2:])
