"""Lines of work that are measured (bench/peers/work.h): with goals, and for the sweeps of the charts."""
from dataclasses import dataclass

LAYOUTS = ('half', 'interleaved')


def elements(kind, **shape):
    """Number that a line's time is divided by: channels, cosines and sines, unmasked keys, or multiplications with additions."""
    if kind == 'rope':
        return shape['tokens'] * shape['heads'] * shape['dim']
    if kind == 'rows':
        return shape['tokens'] * shape['dim']
    queries, keys = shape['queries'], shape['keys']
    if window := shape.get('window'):
        seen = sum(min(window, keys - query) for query in range(queries))
    else:
        seen = queries * keys - (queries * (queries - 1) // 2 if shape.get('causal') else 0)
    return shape['heads'] * seen * (shape['dim'] + shape.get('dim_v', shape['dim']) if kind == 'attention' else 1)


def line(kind, **shape):
    words = ' '.join(f'{key}={value}' for key, value in shape.items())
    count = elements(kind, **{k: v for k, v in shape.items() if k != 'threads'})
    return f'{kind} {words} elements={count}'


def rope(tokens, layout='half', kind='f32', rows='ready', heads=32, dim=128, **more):
    return line('rope', layout=layout, type=kind, rows=rows, tokens=tokens, heads=heads, dim=dim, **more)


def rows(tokens, lone=0, dim=128, **more):
    return line('rows', dim=dim, tokens=tokens, lone=lone, **more)


def softmax(keys, queries=1, heads=32, alibi=0, causal=0, **more):
    return line('softmax', heads=heads, queries=queries, keys=keys, alibi=alibi, causal=causal, **more)


def attention(queries, keys, heads, kv_heads, causal=0, dim=128, kind='f16', layout='t', **more):
    """K and V of a type, 'q8_0 INT16' among them, in a layout: t, a token's heads side by side, or h, a head's tokens."""
    kind, _, math = kind.partition(' ')
    more |= {'math': math.lower()} if math else {}
    return line('attention', layout=layout, type=kind, heads=heads, kv_heads=kv_heads, queries=queries, keys=keys, dim=dim,
                causal=causal, **more)


def shape_of(work):
    """The words of a line as numbers and names."""
    return {key: int(value) if value.isdigit() else value for key, value in (w.split('=') for w in work.split()[1:])}


# ---- The goals ----

@dataclass(frozen=True)
class Goal:
    """One promise: our line against that of somebody else, in one run.

    against: 'ggml'; 'best', the fastest of the other libraries; 'limit'; or 'ours', another line of our own. Or a column
    of posenc-bench, 'x_limit', 'x_alone' or 'x_unfused': ours is then a benchmark, with {} for the tier, and theirs is ''.
    factor: how many times as long as ours theirs has to take, for 'ggml', 'best' and 'x_unfused'; of the others, how many
    times as long as theirs ours may take.
    share: how much of the other's work is left to ours, which its time is divided by.
    """
    work: str
    against: str
    factor: float
    ours: str
    theirs: str
    what: str
    share: float = 1.0


SOFTMAX_KEYS = (256, 1024, 4096, 32768)


def rope_goals():
    for layout, decode, prefill in (('half', (10, 18, 2.5), (3.5, 1.25)), ('interleaved', (2.5, 2.5, 2), (1.8, 1.2))):
        name = f'RoPE {layout}' + ('-split' if layout == 'half' else '')
        made, ready = rope(1, layout, rows='made'), rope(1, layout)
        work = f'{name}, decode (1 token, 32 heads x 128)'
        yield Goal(work, 'ggml', decode[0], made, made, 'table computed on the fly')
        yield Goal(work, 'ggml', decode[1], ready, made, 'precomputed table (ggml computes its own)')
        yield Goal(work, 'best', decode[2], ready, ready, 'precomputed table')
        yield Goal(work, 'limit', 1.5, ready, ready, 'in-cache scale of the same bytes')
        made, ready = rope(512, layout, rows='made'), rope(512, layout)
        work = f'{name}, prefill (512 tokens x 32 x 128)'
        yield Goal(work, 'ggml', prefill[0], made, made, 'table computed on the fly')
        yield Goal(work, 'best', prefill[1], ready, ready, 'precomputed table')
        yield Goal(work, 'limit', 1.15, ready, ready, 'in-place scale of the same bytes')
    made, ready = rope(512, kind='f16', rows='made'), rope(512, kind='f16')
    work = 'RoPE half-split f16, prefill'
    yield Goal(work, 'ggml', 20, made, made, 'table computed on the fly')
    yield Goal(work, 'best', 1.5, ready, ready, 'precomputed table')
    yield Goal(work, 'limit', 1.25, ready, ready, 'in-place scale of f16')


def row_goals():
    work = 'cos/sin table, 64 pairs'
    run, lone, long_run = rows(512), rows(512, lone=1), rows(262144)
    yield Goal(work, 'ggml', 15, run, run, '512 consecutive positions (ggml: rotation of one head)')
    yield Goal(work, 'ggml', 3.5, lone, lone, 'single positions (ggml: rotation of one head)')
    yield Goal(work, 'limit', 2.5, run, run, 'writing the table, in L2')
    yield Goal(work, 'limit', 1.3, long_run, long_run, 'writing the table, beyond the last cache: 128 MiB')


def softmax_goals():
    for keys in SOFTMAX_KEYS:
        work = f'softmax with scale, ALiBi and mask, rows of {keys}'
        ours, plain = softmax(keys, alibi=1, causal=1), softmax(keys)
        yield Goal(work, 'ggml', 6, ours, ours, 'f16 mask')
        yield Goal(work, 'best', 1.1, ours, plain, 'theirs without any bias')
        yield Goal(work, 'ours', 1.1, ours, plain, 'plain softmax')
    work = 'causal prefill softmax (4 x 2048 x 2048)'
    causal, full = softmax(2048, 2048, 4, causal=1), softmax(2048, 2048, 4)
    yield Goal(work, 'ggml', 8, causal, causal, 'f16 mask')
    yield Goal(work, 'ours', 1.15, causal, full, 'an unmasked key against one of the full rows')
    work += ', masked keys not touched'
    causal = softmax(2048, 2048, 4, causal=1, untouched=1)
    yield Goal(work, 'ggml', 8, causal, causal, 'f16 mask')
    yield Goal(work, 'ours', 1.15, causal, full, 'an unmasked key against one of the full rows')


def attention_goals():
    for name, factor, shape in (('prefill', 3, {}), ('causal prefill', 6, {'causal': 1})):
        work = attention(1024, 1024, 4, 4, **shape)
        title = f'fused attention, f16 K and V, {name} (4 heads, 1024 x 1024 x 128)'
        yield Goal(title, 'ggml', factor, work, work, 'its flash attention')
        if not shape:
            yield Goal(title, 'limit', 1 / 0.6, work, work, '60 % of the peak of multiply-adds')
    work = attention(1, 8192, 32, 8)
    title = 'fused attention, f16 K and V, decode, grouped heads (32 over 8, 8192 keys)'
    yield Goal(title, 'ggml', 3, work, work, 'its flash attention')
    yield Goal(title, 'limit', 1.25, work, work, 'reading K and V once')


GOALS = [*rope_goals(), *row_goals(), *softmax_goals(), *attention_goals()]


# ---- Goals of single calls ----

def fused_goals():
    for kind, name in (('float32', 'qk_norm'), ('bf16', 'qk_norm/bf16')):
        for tokens in (1, 16):
            yield Goal(f'QK-norm and RoPE, {kind}, {tokens} x 40 heads x 128 (Qwen3-8B), in cache', 'x_alone', 1.3,
                       f'posenc_rope_apply_tensors/{{}}/{name}/table/tokens:{tokens}', '', 'RoPE alone')
    yield Goal('K rotated, converted and scattered into an f16 cache, prefill (512 tokens x 8 x 128)', 'x_unfused', 1.4,
               'posenc_rope_apply_tensors/{}/k_cache/f32_f16/table/tokens:512', '', 'RoPE, then a copy into the cache')
    for kind in ('f16', 'bf16'):
        yield Goal(f'RoPE half-split {kind}, prefill (512 tokens x 40 x 128)', 'x_limit', 1.25,
                   f'posenc_rope_apply_table/{{}}/llama-3.1-8b/half/{kind}/tokens:512', '',
                   f'in-place scale of {kind}, precomputed table')


def score_goals():
    for name, term in (('a relative bias', 'line'), ("T5's relative bias", 't5')):
        for size in ('32x1x256', '32x1x4096', '32x1x32768', '1x2048x2048'):
            yield Goal(f'softmax with {name}, {size}', 'x_alone', 1.1, f'softmax_bias/{{}}/{term}/{size}', '',
                       'plain softmax')
    yield Goal('softmax, causal, 1x2048x2048', 'x_alone', 0.6, 'softmax_bias/{}/causal/1x2048x2048', '',
               'plain softmax')
    work = 'softmax with ALiBi, rows of 131072'
    for heads, what in ((32, '32 rows of each'), (1, 'as many bytes: 1 row, and 32 of 4096')):
        yield Goal(work, 'ours', 1.2, softmax(131072, alibi=1, heads=heads), softmax(4096, alibi=1),
                   f'per key, rows of 4096; {what}')


def tiles_in_window(tokens, window):
    """Share of tiles of 64 queries and a panel of 32 keys with visible keys in a window."""
    seen = sum((first + 63) // 32 - max(0, first - window + 1) // 32 + 1 for first in range(0, tokens, 64))
    return seen / ((tokens // 64) * (tokens // 32))


def attention_call_goals():
    shape = '4x4/1024x1024/128'
    for name, call, share in (('ALiBi', 'alibi', 1.0), ("T5's relative bias", 't5', 1.0),
                              ('a window of 256', 'window_256', tiles_in_window(1024, 256))):
        yield Goal(f'attention with {name}, prefill ({shape})', 'x_alone', 1.05, f'posenc_attention/{{}}/{call}/t/{shape}',
                   '', 'plain attention' + (', by unmasked tiles' if share < 1 else ''), share)
    yield Goal('attention with a tenth of its blocks of 128 x 128, prefill (4x4/2048x2048/128)', 'x_alone', 0.16,
               'posenc_attention/{}/tenth_of_blocks/t/4x4/2048x2048/128', '', 'plain attention')
    yield Goal('attention with a window of 512 as blocks of 128 and bytes (4x4/2048x2048/128)', 'x_alone', 1.15,
               'posenc_attention/{}/window_512_blocks/t/4x4/2048x2048/128', '', 'the same by the mask\'s parameter')
    yield Goal('attention with Transformer-XL\'s term, causal (8x8/512x1024/64)', 'x_alone', 2,
               'posenc_attention/{}/transformer_xl/t/8x8/512x1024/64', '', 'causal attention; products precomputed')
    yield Goal('attention with DeBERTa\'s terms (12x12/512x512/64)', 'x_alone', 2,
               'posenc_attention/{}/deberta/t/12x12/512x512/64', '', 'plain attention; products precomputed')
    for kv_heads, factor in ((4, 3), (32, 1.3)):
        work = attention(1, 4096, 32, kv_heads)
        yield Goal(f'fused attention, f16 K and V, decode, 32 heads over {kv_heads}, 4096 keys', 'ggml', factor, work, work,
                   'its flash attention')


CALL_GOALS = [*fused_goals(), *score_goals(), *attention_call_goals()]

COLUMNS = ('x_limit', 'x_alone', 'x_unfused')


def goal_groups():
    """Groups of lines that are raced, [[line]]: lines that a goal compares, if only through a third, share a group,
    because ratios are of neighbours in time. Work of posenc-bench is not among them."""
    groups = []
    for goal in GOALS + CALL_GOALS:
        if goal.against in COLUMNS:
            continue
        lines = {goal.ours: None, goal.theirs: None}  # a set that keeps the order
        for group in [group for group in groups if group.keys() & lines]:
            groups.remove(group)
            lines = group | lines
        groups.append(lines)
    return [list(group) for group in groups]


def goal_lines():
    return [line for group in goal_groups() for line in group]


# Bars against peers: title and line.
BARS = [
    ('RoPE half-split, decode, precomputed table', rope(1)),
    ('RoPE half-split, prefill, table on the fly', rope(512, rows='made')),
    ('RoPE half-split, prefill, precomputed table', rope(512)),
    ('RoPE interleaved, decode, precomputed table', rope(1, 'interleaved')),
    ('RoPE interleaved, prefill, table on the fly', rope(512, 'interleaved', rows='made')),
    ('RoPE interleaved, prefill, precomputed table', rope(512, 'interleaved')),
    ('RoPE half-split f16, prefill, table on the fly', rope(512, kind='f16', rows='made')),
    ('cos/sin table, 512 consecutive positions', rows(512)),
    ('softmax, plain, rows of 4096', softmax(4096)),
    ('softmax, ALiBi and mask, rows of 4096', softmax(4096, alibi=1, causal=1)),
    ('attention, prefill, 4 x 1024 x 1024 x 128', attention(1024, 1024, 4, 4)),
    ('attention, decode, 32 heads over 8, 8192 keys', attention(1, 8192, 32, 8)),
]


# ---- Sweeps: title, what x is, unit of y, and [(x, line)] ----

@dataclass(frozen=True)
class Sweep:
    title: str
    x_label: str
    points: tuple  # of (x, line)
    y_label: str = 'ns per element'


KIB = 1024
SET_SIZES = [4 * KIB * 4 ** i for i in range(9)]  # 4 KiB to 256 MiB

WORKING_SETS = [
    Sweep('RoPE half-split, float32, precomputed table', 'working set',
          tuple((size, rope(size // (4 * KIB), heads=8)) for size in SET_SIZES)),
    Sweep('RoPE half-split, f16, precomputed table', 'working set',
          tuple((size, rope(size // (4 * KIB), heads=16, kind='f16')) for size in SET_SIZES)),
    Sweep('cos/sin table, consecutive positions', 'working set',
          tuple((size, rows(size // 512)) for size in SET_SIZES)),
    Sweep('softmax with ALiBi, rows of 512', 'working set',
          tuple((size, softmax(512, size // (4 * KIB), 1, alibi=1)) for size in SET_SIZES)),
]

DIMS = (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512)
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

SHAPES = [
    Sweep('RoPE half-split, decode, by head_dim', 'head_dim', tuple((d, rope(1, dim=d)) for d in DIMS)),
    Sweep('RoPE interleaved, decode, by head_dim', 'head_dim', tuple((d, rope(1, 'interleaved', dim=d)) for d in DIMS)),
    Sweep('RoPE half-split, computed on the fly, by tokens', 'tokens',
          tuple((n, rope(n, rows='made')) for n in COUNTS)),
    Sweep('softmax with ALiBi, by keys in a row', 'keys',
          tuple((n, softmax(n, heads=8, alibi=1)) for n in (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384))),
]


def thread_sweeps(counts):
    works = [('RoPE half-split, prefill, precomputed table', lambda n: rope(512, threads=n)),
             ('cos/sin table, 512 positions', lambda n: rows(512, threads=n)),
             ('softmax with ALiBi, 32 rows of 4096', lambda n: softmax(4096, alibi=1, threads=n)),
             ('attention, prefill, 4 x 1024 x 1024 x 128', lambda n: attention(1024, 1024, 4, 4, threads=n))]
    return [Sweep(title, 'threads', tuple((n, make(n)) for n in counts)) for title, make in works]
