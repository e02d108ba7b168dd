"""A line of work (work.h) as frameworks need it: its words, its data, and what attention has to give."""
import mmap

SCALE = 0.0883883
WORDS = {'made': 0, 'ready': 1}
DEFAULTS = {'layout': '', 'type': 'f32', 'rows': 0, 'lone': 0, 'alibi': 0, 'causal': 0, 'untouched': 0, 'tokens': 1,
            'heads': 1, 'kv_heads': 1, 'queries': 1, 'keys': 1, 'dim': 128, 'dim_v': 0, 'window': 0, 'page': 0,
            'math': 'f32', 'place': 'hot', 'threads': 0, 'ms': 20, 'elements': 1}

# Tolerance, of the largest value, by the type that is computed in: only tells that the same thing is computed.
TOLERANCE = {'f32': 1e-4, 'f16': 2e-2, 'bf16': 1e-1}


class Absent(Exception):
    """The peer does not do this work; the message says why."""


def parse(line):
    kind, *words = line.split()
    work = dict(DEFAULTS, kind=kind, shape=' '.join(words))
    for word in words:
        key, value = word.split('=')
        work[key] = int(value) if value.isdigit() else WORDS.get(value, value)
    return work


def positions(work):
    return [t * 40503 % (1 << 17) if work['lone'] else 3000 + t for t in range(work['tokens'])]


def frequencies(work):
    return [10000.0 ** (-2 * i / work['dim']) for i in range(work['dim'] // 2)]


def random(np, shape, bound=1.0):
    return np.random.default_rng(1).uniform(-bound, bound, shape).astype(np.float32)


def bias(np, work):
    """ALiBi and the mask as a tensor of frameworks, [heads or 1, queries, keys], or None. A query sees the keys up to
    its own, and the last query is that of the last key."""
    if not work['alibi'] and not work['causal']:
        return None
    heads, keys, queries = work['heads'], np.arange(work['keys']), np.arange(work['queries'])
    distance = work['keys'] - work['queries'] + queries[:, None] - keys[None, :]
    slopes = [2.0 ** (-8.0 * (h + 1) / heads) for h in range(heads)] if work['alibi'] else [0.0]
    planes = -np.array(slopes)[:, None, None] * abs(distance)
    return np.where((distance < 0) & (work['causal'] == 1), -np.inf, planes).astype(np.float32)


# ---- Attention ----

def is_masked(work):
    """True if a mask is needed: one query sees all keys, or all keys of the window that it is given."""
    return work['causal'] == 1 and work['queries'] > 1


def is_by_head(work):
    """Layout h: a head's tokens side by side; otherwise t, a token's heads."""
    return work['layout'] == 'h'


def check_attention(work):
    """Raises Absent for work that no framework does."""
    if work['page']:
        raise Absent('has no pages')
    if work['math'] != 'f32' or work['type'] == 'q8_0':
        raise Absent('has no blocks')
    if work['window'] and work['queries'] > 1:
        raise Absent('has no window')


def attention_data(np, work):
    """q [heads, queries, dim], k and v [kv_heads, keys, ...]; of dim_v= the values are channels of the keys. Where a window
    masks keys for the one query, the visible keys."""
    keys = work['window'] or work['keys']
    q = random(np, (work['heads'], work['queries'], work['dim']))
    k = random(np, (work['kv_heads'], keys, work['dim']))
    return q, k, k[..., :work['dim_v']] if work['dim_v'] else k + np.float32(0.5)


COPIES_BYTES = 160 << 20  # as in cache.c
HUGE_PAGE = 2 << 20
SIZES = {'f32': 4, 'f16': 2, 'bf16': 2}


def memory(size, is_huge):
    """So many bytes in huge pages, or in pages of 4 KB; libraries would decide by size."""
    buffer = mmap.mmap(-1, (size + HUGE_PAGE - 1) // HUGE_PAGE * HUGE_PAGE)
    if hasattr(mmap, 'MADV_HUGEPAGE'):
        buffer.madvise(mmap.MADV_HUGEPAGE if is_huge else mmap.MADV_NOHUGEPAGE)
    return buffer


def caches(lib, work, kind, k, v):
    """[(k, v)]: tensors [kv_heads, keys, dim] of the type, in the layout and place of the work; the next for each call. The
    keys of a window are the last of a longer cache."""
    heads, seen, dim = k.shape
    shape = (heads, work['keys'], dim) if is_by_head(work) else (work['keys'], heads, dim)
    size = heads * work['keys'] * dim * SIZES[kind]
    copy = size * (1 if work['dim_v'] else 2)
    n_copies = 1 + (COPIES_BYTES // copy if work['place'].startswith('memory') else 0)
    buffer, found = memory(copy * n_copies, work['place'].endswith('huge')), []
    for n in range(n_copies):
        pair = []
        for at, x in enumerate((k,) if work['dim_v'] else (k, v)):
            tensor = lib.on_memory(buffer, n * copy + at * size, shape, kind)
            tensor = (tensor if is_by_head(work) else tensor.swapaxes(0, 1))[:, work['keys'] - seen:]
            lib.assign(tensor, x)
            pair.append(tensor)
        found.append((pair[0], pair[0][..., :work['dim_v']] if work['dim_v'] else pair[1]))
    return found


def as_rows(q, kv_heads):
    """Queries that share a KV head as rows of one product, so that keys and values are read once."""
    return q.reshape(kv_heads, -1, q.shape[-1])


def attention_result(np, work, q, k, v):
    """[heads, queries, dim_v], in float32: of OpenBLAS 0.3.34 double products end the program on AVX2 at times."""
    group = work['heads'] // work['kv_heads']
    scores = np.float32(SCALE) * as_rows(q, len(k)) @ np.swapaxes(k, -1, -2)
    if is_masked(work):
        scores = (scores.reshape(len(k), group, *q.shape[1:2], -1) + bias(np, work)).reshape(scores.shape)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True) @ v).reshape(*q.shape[:2], -1)


LARGEST_TRIAL = 512  # keys


def trial(work):
    """Prefill in small, and one copy of the keys, for a trial: some ways are a hundred times as slow as others."""
    by = 1 if work['queries'] == 1 else max(1, work['keys'] // LARGEST_TRIAL)
    return dict(work, queries=work['queries'] // by, keys=work['keys'] // by, place='hot')
