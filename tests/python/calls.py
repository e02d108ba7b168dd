"""Every call that may release the interpreter's lock, with each array that it takes: for tests of all of them."""
import numpy as np
import truth

import posenc

N, H, D = 512, 4, 64  # tokens, heads, channels
ROPE = posenc.Rope(D)
INDEX = posenc.RelIndex.shaw(8, posenc.offsets(N, N, causal=False))
COS, SIN = ROPE.table(range(N))
NOBODY_HIDDEN = dict(causal=False, query_start=0)


def x(*shape, seed=0):
    return truth.normal(*(shape or (N, H, D)), seed=seed)


def tokens(dtype='i4'):
    return np.arange(N, dtype=dtype)


def scores(**arrays):
    return {'x': x(2, 2, N, N), 'out': x(2, 2, N, N), **arrays}


def heads(**arrays):
    return {'q': x(1, N, H, D), 'k': x(1, N, H, D, seed=1), 'v': x(1, N, H, D, seed=2), **arrays}


def attend(**arrays):
    if 'k_table.cos' in arrays:
        arrays.update(k_rope=ROPE, k_table=(arrays.pop('k_table.cos'), arrays.pop('k_table.sin')))
    return posenc.attention(causal=True, **arrays)


def apply_tensors(positions, **tensor):
    return ROPE.apply_tensors([{'eps': 1e-6, **tensor}], positions)


def combine(**arrays):
    return posenc.attention_combine(*((arrays[f'{name}.out'], arrays[f'{name}.lse']) for name in 'ab'))


def with_terms(name):
    return lambda products, **arrays: posenc.softmax(**NOBODY_HIDDEN, **arrays, **{name: (products, INDEX)})


def softmax(**arrays):
    return posenc.softmax(**NOBODY_HIDDEN, **arrays)


SIDE = 32
CONV = posenc.Conv(x(D, 3, 3), x(D))
GROUPED = posenc.GroupedConv(x(8, 4, D), x(D), has_backward=True)
ENCODING = posenc.sinusoidal(D, 'interleaved')
FIRE = posenc.Fire(x(8), x(8), x(2, 8), x(2), max_distance=N)
SINES = posenc.Freq(1e4, D)
LIMITS = {'begin': np.zeros((1, N), 'i4'), 'end': np.full((1, N), N, 'i4')}
W = x(2, 2, N, 17)

# Function, and its use if there are several: the call, and the arrays that it takes. Before a dot stands the argument.
CALLS = {
    'Rope.__call__': (ROPE, {'x': x(), 'positions': tokens('i8'), 'out': x()}),
    'Rope.__call__ q8_0': (lambda **a: ROPE(dtype='q8_0', **a), {'x': x(), 'positions': tokens(), 'out': np.zeros(
        (N, H, D // 32 * 34), 'u1')}),
    'Rope.__call__ q4_0': (lambda **a: ROPE(dtype='q4_0', **a), {'x': x(), 'positions': tokens(), 'out': np.zeros(
        (N, H, D // 32 * 18), 'u1')}),
    'Rope.__call__ in place': (lambda out, positions: ROPE(out, positions, inplace=True), {
        'out': x(), 'positions': tokens('f8')}),
    'Rope.apply_table': (ROPE.apply_table, {'x': x(), 'cos': COS, 'sin': SIN, 'out': x()}),
    'Rope.apply_tensors': (lambda out, **a: apply_tensors(y=out, **a), {
        'x': x(), 'out': x(), 'positions': tokens(), 'tensors.weight': x(D), 'tensors.rows': tokens('i8')}),
    'Rope.apply_tensors in place': (lambda out, **a: apply_tensors(x=out, **a), {
        'out': x(), 'positions': tokens(), 'tensors.weight': x(D)}),
    'hadamard': (lambda **a: posenc.hadamard(n=D, **a), {'x': x(), 'out': x()}),
    'dequantise': (lambda **a: posenc.dequantise(type='q8_0', **a), {
        'blocks': np.zeros((N, H, D // 32 * 34), 'u1'), 'out': x()}),
    'softmax origins': (softmax, scores(origins=np.zeros(2, 'i4'))),
    'softmax': (softmax, scores(sinks=x(2), k_begin=np.zeros(2, 'i4'), k_end=np.full(2, N, 'i4'))),
    'softmax biases': (softmax, scores(bias=x(N, N), tensor_slopes=x(2), alibi_slopes=x(2, 2))),
    'softmax keep': (softmax, scores(keep=np.ones((N, N), bool))),
    'softmax drop': (softmax, scores(drop=np.zeros((2, 2, N, N), bool))),
    'softmax key_mask': (softmax, scores(key_mask=np.ones((2, N), bool))),
    'softmax by_query': (with_terms('by_query'), scores(products=x(2, 2, N, INDEX.n_rows))),
    'softmax by_key': (with_terms('by_key'), scores(products=x(2, 2, N, INDEX.n_rows))),
    'softmax positions': (lambda **a: posenc.softmax(causal=True, **a), scores(
        query_positions=tokens(), key_positions=tokens())),
    'softmax query_starts': (lambda **a: posenc.softmax(causal=True, **a), scores(query_starts=np.zeros(2, 'i4'))),
    'softmax cu_seqlens': (lambda **a: posenc.softmax(causal=True, **a), scores(
        cu_seqlens=np.array([0, 100, N], 'i4'))),
    'softmax tree': (lambda **a: posenc.softmax(causal=False, **a), scores(tree=tokens() - 1)),
    'softmax in place': (lambda out, **a: posenc.softmax(out, causal=False, inplace=True, **a), {
        'out': x(2, 2, N, N), 'sinks': x(2)}),
    'logits': (lambda **a: posenc.logits(causal=False, **a), scores(sinks=x(2))),
    'bias_matrix': (lambda **a: posenc.bias_matrix(N, N, 2, 2, causal=True, **a), {
        'out': x(2, 2, N, N), 'alibi_slopes': x(2)}),
    'softmax_partial': (lambda **a: posenc.softmax_partial(causal=False, **a), scores(alibi_slopes=x(2))),
    'softmax_backward': (lambda **a: posenc.softmax_backward(causal=False, cap=50.0, **a), {
        'p': x(2, 2, N, N), 'dp': x(2, 2, N, N), 's': x(2, 2, N, N)}),
    'attention': (attend, heads(out=x(1, N, H, D), sinks=x(H), k_end=np.full(1, N, 'i4'))),
    'attention k_table': (attend, heads(out=x(1, N, H, D), **{'k_table.cos': COS, 'k_table.sin': SIN})),
    'attention lists': (attend, heads(out=x(1, N, H, D), lists=np.tile(tokens(), (N, 1)))),
    'attention ragged': (attend, {'q': x(), 'k': x(), 'v': x(), 'out': x(), 'cu_q': np.array([0, 100, N], 'i4'),
                                  'cu_k': np.array([0, 100, N], 'i4')}),
    'attention pages': (lambda **a: attend(n_k=N, **a), {
        'q': x(1, N, H, D), 'k': x(N // 16, 16, H, D), 'v': x(N // 16, 16, H, D), 'out': x(1, N, H, D),
        'pages': np.arange(N // 16, dtype='i4')}),
    'attention_reference': (lambda **a: posenc.attention_reference(causal=True, **a), heads()),
    'attention_combine': (combine, {f'{name}.{part}': x(4 * N, H, size) for name in 'ab'
                                    for part, size in (('out', D), ('lse', 1))}),
    'index_scores': (posenc.index_scores, {'q': x(1, N, H, D), 'k': x(1, N, D), 'weights': x(1, N, H), **LIMITS,
                                           'out': x(1, N, N)}),
    'top_k': (lambda **a: posenc.top_k(k=100, **a), {'scores': x(1, N, N), **LIMITS}),
    'Encoding.__call__': (ENCODING, {'positions': tokens('f8'), 'x': x(N, D), 'gate': x(N, D), 'out': x(N, D)}),
    'Encoding.__call__ ids': (posenc.learned(x(N, D)), {'positions': tokens('i8'), 'out': x(N, D)}),
    'learned_backward': (posenc.learned_backward, {'ids': tokens('i8'), 'dy': x(N, D), 'out': x(N, D)}),
    'table_resize': (lambda **a: posenc.table_resize(
        h_in=SIDE, w_in=SIDE, h_out=64, w_out=64, method='cubic', **a), {'x': x(SIDE ** 2, D), 'out': x(64 ** 2, D)}),
    'fill_normal': (lambda out: posenc.fill_normal(out, 1), {'out': x()}),
    'fill_uniform': (lambda out: posenc.fill_uniform(out, 1), {'out': x()}),
    'Conv.__call__': (lambda **a: CONV(height=SIDE, width=SIDE, **a), {'x': x(SIDE ** 2, D), 'out': x(SIDE ** 2, D)}),
    'Conv.backward_input': (lambda **a: CONV.backward_input(height=SIDE, width=SIDE, **a), {'dy': x(SIDE ** 2, D)}),
    'Conv.backward_weights': (lambda **a: CONV.backward_weights(height=SIDE, width=SIDE, **a), {
        'x': x(SIDE ** 2, D), 'dy': x(SIDE ** 2, D)}),
    'GroupedConv.__call__': (GROUPED, {'x': x(N, D), 'out': x(N, D)}),
    'GroupedConv.backward_input': (GROUPED.backward_input, {'dy': x(N, D)}),
    'GroupedConv.backward_weights': (GROUPED.backward_weights, {'x': x(N, D), 'dy': x(N, D)}),
    'RelativeTable.products': (posenc.RelativeTable(x(99, D)).products, {
        'q': x(2, N, H, D), 'shift': x(H, D), 'out': x(2, H, N, 99)}),
    'relative_values': (lambda out, **a: posenc.relative_values(index=INDEX, z=out, **NOBODY_HIDDEN, **a), {
        'p': x(2, 2, N, N), 'table': x(INDEX.n_rows, D), 'out': x(2, N, 2, D)}),
    'relative_sums_by_query': (lambda **a: posenc.relative_sums_by_query(INDEX, **NOBODY_HIDDEN, **a), {
        'x': x(2, 2, N, N)}),
    'relative_sums_by_key': (lambda **a: posenc.relative_sums_by_key(INDEX, **NOBODY_HIDDEN, **a), {
        'x': x(2, 2, N, N)}),
    'relative_combine': (posenc.relative_combine, {'w': W, 'table': x(17, D), 'out': x(2, N, 2, D)}),
    'relative_collect': (posenc.relative_collect, {'w': W, 'x': x(2, N, 2, D), 'shift': x(2, D), 'out': x(17, D)}),
    'gate_backward': (posenc.gate_backward, {'dy': x(4 * N, D), 'e': x(4 * N, D), 'gate': x(4 * N, D)}),
    'Fire.add': (lambda out: FIRE.add(out, query_start=0), {'out': x(1, 2, N, N)}),
    'cope_logits': (posenc.cope_logits, {'x': x(1, 2, N, N), 'gates': x(1, 2, N, N), 'z': x(1, 2, N, 64),
                                         'out': x(1, 2, N, N)}),
    'decomposed_add': (lambda out, **a: posenc.decomposed_add(out, **a), {
        'out': x(1, 2, N, SIDE ** 2), 'by_row': x(1, 2, N, SIDE), 'by_column': x(1, 2, N, SIDE)}),
    'cosine_similarity': (posenc.cosine_similarity, {'e': x(N, D)}),
    'Freq.__call__': (SINES, {'positions': tokens()}),
}


def call(name, arrays):
    return CALLS[name][0](**{argument.replace('tensors.', ''): array for argument, array in arrays.items()})


def cast(memory, like):
    """memory, which is bytes, as an array like this one."""
    letter = {'bool': '?', 'uint8': 'B', 'int32': 'i', 'int64': 'q', 'float32': 'f', 'float64': 'd'}[str(like.dtype)]
    return memoryview(memory).cast('B').cast(letter, like.shape)
