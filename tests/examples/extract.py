"""Turns the C examples of the documentation into programs.

    extract.py markdown FILE.md NUMBER COUNT OUT.c
                                           fenced C block NUMBER, from 1, of the COUNT that have a main(), as it stands
    extract.py recipes FILE.md OUT.c       all fenced C blocks, each in a function of its own
    extract.py headers INCLUDE_DIR OUT.c   the examples in the comments that open public headers and their sections, each in a
                                           function of its own with the variables it takes for granted

A document that has not all of its examples, or more, is an error.
"""
import pathlib
import re
import sys

# Variables that each example of a header uses without declaring them, in C; and headers without an example. Objects are
# static: examples do not free them, and a sanitizer would call them lost.
GIVEN = {
    'analysis.h': [
        'static float encoding[64 * 128], matrix[128 * 128];',
    ],
    'angles.h': [
        '',
    ],
    'attention.h': [
        'int64_t n_q = 4; static float queries[8 * 4 * 64], keys[2 * 4 * 64], values[2 * 4 * 64], out[8 * 4 * '
        '64], scratch[3 << 17]; const size_t scratch_bytes = sizeof scratch;',
    ],
    'backward.h': [
        'static int32_t bucket_data[64]; static float bias_data[128], gradient_data[128], table_data[64]; '
        'static float probabilities[2 * 64 * 64], gradients[2 * 64 * 64]; '
        'posenc_rel_index buckets = {bucket_data, -63, 64, 32}; '
        'posenc_rel_bias bias = {bias_data, -63, 64, 2, 64, 0}, bias_gradient = {gradient_data, -63, 64, 2, 64, 0}; '
        'posenc_bias_table table_gradient = {table_data, 32, 2, 2, 1}; '
        'posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal()); '
        'params.bias.relative = &bias; posenc_view p = posenc_view_dense(probabilities, POSENC_F32, 64, 64, 2, 1); '
        'posenc_view dp = posenc_view_dense(gradients, POSENC_F32, 64, 64, 2, 1);',
    ],
    'bias.h': [
        'int64_t n_heads = 2; static int32_t bucket_data[129]; static float table_data[32 * 2], bias_data[2 * 129]; '
        'posenc_score_params params; (void)params;',
    ],
    'encoding.h': [
        'int64_t n_tokens = 4; static float embeddings[4 * 768]; int32_t positions[4] = {0, 1, 2, 7};',
    ],
    'isa.h': [
        '',
    ],
    'learned.h': [
        'static uint16_t weights[514 * 768]; static float data[4 * 768]; int64_t ids[4] = {0, 1, 2, 511}; '
        'posenc_view x = posenc_view_dense(data, POSENC_F32, 768, 4, 1, 1);',
    ],
    'mask.h': [
        'int64_t n_q = 4, n_k = 20; static float memory[4 * 20];',
    ],
    'relative.h': [
        'enum { n_q = 4, n_k = 4 }; static float a_k[33 * 64], queries[8 * 4 * 64], buffer[8 * 4 * 33]; int32_t memory[n_k]; '
        'posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal()); (void)&params; posenc_relative_table *table; '
        'posenc_view rows = posenc_view_dense(a_k, POSENC_F32, 64, 1, 33, 1), q = posenc_view_dense(queries, POSENC_F32, 64, '
        '8, n_q, 1), products = posenc_view_dense(buffer, POSENC_F32, 33, n_q, 8, 1);',
    ],
    'rope.h': [
        'int64_t n_tokens = 4; static float data[4 * 32 * 128]; int32_t positions[4] = {0, 1, 2, 7};',
    ],
    'rope_config.h': [
        'posenc_status status; static posenc_rope *rope;',
    ],
    'rope_scaling.h': [
        '',
    ],
    'softmax.h': [
        'int64_t n_k = 20; static float scores[32 * 8 * 20]; float slopes[32]; if (posenc_alibi_slopes(32, 8.0, '
        'slopes) != POSENC_OK) return 1;',
    ],
    'sparse.h': [
        'enum { n_k = 20 }; static uint16_t index_q[64 * 128], index_k[n_k * 128]; static int32_t keys[2048]; '
        'static float w[64], scores[n_k], scratch[1 << 15]; static posenc_attention_args '
        'args; (void)args;',
    ],
    'step.h': [
        'enum { n = 2, n_past = 3 }; static float q[n * 32 * 128], k[n * 8 * 128], v[n * 8 * 128], out[n * 32 * 128]; static '
        'uint16_t k_cache[4096 * 8 * 128], v_cache[4096 * 8 * 128]; static float scratch[3 << 17]; const size_t scratch_bytes = '
        'sizeof scratch; posenc_rope_params rotation = POSENC_ROPE_DEFAULTS; rotation.layout = POSENC_ROPE_HALF; '
        'rotation.head_dim = rotation.n_rot = 128; static posenc_rope *rope; if (posenc_rope_create(&rotation, &rope) != POSENC_OK) '
        'return 1;',
    ],
    'types.h': [
        'int64_t ith = 0, nth = 2; static float data[1024 * 8 * 64];',
    ],
}
NO_EXAMPLE = {'posenc.h'}

# Declarations given to the examples of docs/recipes.md.
GIVEN_RECIPES = [
    'static const int sections[4] = {16, 24, 24, 0};',
    'enum { n_context = 9 }; static uint16_t k_blocks[9 * 8 * 4 * 17], v_blocks[9 * 8 * 4 * 9]; static float '
        'data[4][3 * 32 * 128]; int32_t slots[3] = {4, 5, 6}, positions[3] = {4, 5, 6}; posenc_view q = '
        'posenc_view_dense(data[0], POSENC_F32, 128, 32, 3, 1), out = q; posenc_view k = '
        'posenc_view_dense(data[1], POSENC_F32, 128, 8, 3, 1); posenc_view v = posenc_view_dense(data[2], '
        'POSENC_F32, 128, 8, 3, 1); out.data = data[3]; static posenc_rope *rope; posenc_rope_params params = '
        'POSENC_ROPE_DEFAULTS; params.layout = POSENC_ROPE_HALF; params.head_dim = params.n_rot = 128; if '
        '(posenc_rope_create(&params, &rope) != POSENC_OK) return 1;',
    'enum { n_context = 9 }; static uint8_t k_bytes[9 * 8 * 128], v_bytes[9 * 8 * 128]; static float '
        'data[4][3 * 32 * 128]; float k_scale = 0.5f, v_scale = 2.0f; int32_t slots[3] = {4, 5, 6}, positions[3] = '
        '{4, 5, 6}; posenc_view q = posenc_view_dense(data[0], POSENC_F32, 128, 32, 3, 1), out = q; posenc_view k = '
        'posenc_view_dense(data[1], POSENC_F32, 128, 8, 3, 1); posenc_view v = posenc_view_dense(data[2], '
        'POSENC_F32, 128, 8, 3, 1); out.data = data[3]; static posenc_rope *rope; posenc_rope_params rotation = '
        'POSENC_ROPE_DEFAULTS; rotation.layout = POSENC_ROPE_HALF; rotation.head_dim = rotation.n_rot = 128; if '
        '(posenc_rope_create(&rotation, &rope) != POSENC_OK) return 1; posenc_score_params params = '
        'posenc_score_params_of(1.0f, posenc_mask_causal()); (void)params;',
    'posenc_sinusoidal_params p = POSENC_SINUSOIDAL_DEFAULTS; p.layout = POSENC_SINUSOIDAL_INTERLEAVED; p.dim '
        '= 8; static float rows[16 * 8]; posenc_view table = posenc_view_dense(rows, POSENC_F32, 8, 16, 1, 1); '
        'static posenc_encoding *sinusoid, *learned, *made[4]; if (posenc_sinusoidal_create(&p, &sinusoid) != '
        'POSENC_OK || posenc_learned_create(&table, NULL, &learned) != POSENC_OK) return 1;',
    'static uint16_t memory[4 * 512]; int32_t positions[4] = {0, 1, 2, 7};',
    'static float memory[2 * 320];',
    'enum { n_points = 3 }; static float memory[3 * 256], points[2 * 3];',
    'static float memory[4 * 16]; int32_t positions[4] = {0, 1, 2, 7};',
    'static float weights[512 * 768];',
    'enum { n_batch = 2 }; static float tokens[2 * 197 * 64], result[2 * 197 * 64], weights[64 * 9], '
        'bias[64];',
    'enum { n_tokens = 3, n_batch = 2 }; static float tokens[2 * 3 * 768], result[2 * 3 * 768], weights[128 * '
        '48 * 768], bias[768];',
    'static float slopes[32], bias_data[32 * 4096], scores[32 * 4096];',
    'int64_t n_heads = 2; static float bias_data[2 * 1024], p[2] = {1.0f, 0.5f}, a[2] = {0.1f, 1.0f};',
    'int64_t n_heads = 4; static float table_data[13 * 13 * 4], bias_data[49 * 49 * 4];',
    'float w1[] = {1.0f, -1.0f}, b1[] = {0.0f, 0.5f}, w2[] = {1.0f, 2.0f}, b2[] = {0.25f}, rows[4];',
    'int64_t n_q = 4, n_k = 6; static float scores[8 * 4 * 6], products[8 * 4 * 64];',
    'float dq_k[8] = {0}, du[4] = {0}, one = 1.0f;',
]


def markdown(path, number, count, out):
    text = pathlib.Path(path).read_text()
    blocks = [block for block in re.findall(r'^ *```c\n(.*?)^ *```', text, re.M | re.S) if re.search(r'\bmain\(', block)]
    if len(blocks) != int(count):
        sys.exit(f'{path} has {len(blocks)} C blocks with a main(), and tests/meson.build knows of {count}')
    pathlib.Path(out).write_text(f'#line 1 "example {number} of {pathlib.Path(path).name}"\n{blocks[int(number) - 1]}')


def examples_of(header):
    """Runs of indented lines in the comments that open a header, or a section, which begin with a type or a call of ours."""
    runs = []
    for comment in re.findall(r'/\*(?:\* @file| ----).*?\*/', header.read_text(), re.S):
        lines = [re.sub(r'^ \* ?', '', line) for line in comment.removesuffix('*/').split('\n')]
        runs += re.findall(r'(?:^    .*\n)+', '\n'.join(lines) + '\n', re.M)
    return [run for run in runs if run.lstrip().startswith('posenc_')]


def program(examples):
    """A program that runs examples: (name, where it is from, variables, code)."""
    text = '#include <posenc/posenc.h>\n\n'
    for name, source, variables, code in examples:
        result = 'status != POSENC_OK' if 'status' in code else '0'
        text += f'static int {name}(void) {{\n    {variables}\n#line 1 "{source}"\n{code}    return {result};\n}}\n\n'
    calls = ' || '.join(f'{name}() != 0' for name, *_ in examples)
    return f'{text}int main(void) {{\n    return {calls};\n}}\n'


def recipes(path, out):
    blocks = re.findall(r'^```c\n(.*?)^```', pathlib.Path(path).read_text(), re.M | re.S)
    if len(blocks) != len(GIVEN_RECIPES):
        sys.exit(f'{path} has {len(blocks)} C blocks, and tests/examples/extract.py knows of {len(GIVEN_RECIPES)}')
    pathlib.Path(out).write_text(program([
        (f'recipe_{number}', f'recipe {number}', variables, block)
        for number, (block, variables) in enumerate(zip(blocks, GIVEN_RECIPES), 1)]))


def headers(directory, out):
    found = []
    for header in sorted(pathlib.Path(directory).glob('*.h')):
        examples, given = examples_of(header), GIVEN.get(header.name, [])
        if len(examples) != len(given) or (not given and header.name not in NO_EXAMPLE):
            sys.exit(f'{header}: {len(examples)} examples, and tests/examples/extract.py knows of {len(given)}')
        for number, (example, variables) in enumerate(zip(examples, given), 1):
            found.append((f'{header.stem}_example_{number}', f'example {number} of {header.name}', variables,
                          example.replace('    ...\n', '')))
    pathlib.Path(out).write_text(program(found))


{'markdown': markdown, 'recipes': recipes, 'headers': headers}[sys.argv[1]](*sys.argv[2:])
