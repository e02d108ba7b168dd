"""Attention's lines that are raced with other libraries: shapes, types, both layouts, and where keys and values come from."""
from dataclasses import dataclass

from works import attention, shape_of

LARGE = 1 << 32  # elements: a call takes a second
TYPES = ('f32', 'f16', 'bf16')
BLOCKS = ('q8_0', 'q8_0 INT16')
PLACES = {'hot': 'hot', 'hot_huge': 'hot, huge pages', 'memory': 'memory', 'memory_huge': 'memory, huge pages'}


@dataclass(frozen=True)
class Line:
    title: str
    kind: str    # of keys and values, and how blocks are multiplied
    layout: str  # 't', 'h'; '' with one KV head, and so one layout
    place: str
    work: str    # what peers are asked for

    def is_large(self):
        return shape_of(self.work)['elements'] > LARGE

    def cells(self):
        """As the table of the report names it."""
        return self.title, self.kind, self.layout or 'both', PLACES[self.place]


def line(title, kind, layout='t', place='hot', **shape):
    more = {'place': place} if place != 'hot' else {}
    return Line(title, kind, layout if shape['kv_heads'] > 1 else '', place, attention(kind=kind, layout=layout, **shape, **more))


def in_both(title, kinds, **shape):
    return [line(title, kind, layout, **shape) for kind in kinds for layout in 'th']


def prefill():
    for n in (1024, 4096):
        for causal, title in ((0, ''), (1, ', causal')):
            yield from in_both(f'prefill {n} x {n}, 8 heads{title}', TYPES if n == 1024 else TYPES[:2], queries=n, keys=n, heads=8,
                               kv_heads=8, causal=causal)
    for dim in (64, 80, 96, 256):
        square = {'queries': 1024, 'keys': 1024, 'heads': 8, 'kv_heads': 8, 'dim': dim}
        yield from in_both(f'prefill 1024 x 1024, 8 heads, head_dim {dim}', ('f32',), **square)
        yield line(f'prefill 1024 x 1024, 8 heads, head_dim {dim}', 'f16', **square)
        yield line(f'prefill 1024 x 1024, 8 heads, head_dim {dim}, causal', 'f32', causal=1, **square)
    yield from in_both('prefill 512 x 512, 12 heads, head_dim 64', ('f32',), queries=512, keys=512, heads=12, kv_heads=12, dim=64)
    chunk = {'queries': 512, 'keys': 4096, 'heads': 32, 'kv_heads': 8}
    for kind, layout in (('f32', 't'), ('f32', 'h'), ('f16', 't'), ('bf16', 't')):
        yield line('prefill, 512 queries of 4096 keys, 32 heads over 8', kind, layout, **chunk)


def decode():
    for keys in (4096, 512, 16384):
        for kv_heads in (8, 32):
            yield from in_both(f'decode, {keys} keys, 32 heads over {kv_heads}', TYPES + BLOCKS, queries=1, keys=keys, heads=32,
                               kv_heads=kv_heads)
    yield from in_both('decode, 4096 keys, 32 heads over 4', TYPES, queries=1, keys=4096, heads=32, kv_heads=4)
    for place in ('hot_huge', 'memory', 'memory_huge'):
        for kv_heads in (8, 32):
            yield from in_both(f'decode, 4096 keys, 32 heads over {kv_heads}', TYPES[:2], place=place, queries=1, keys=4096, heads=32,
                               kv_heads=kv_heads)
    yield from in_both('decode, window of 512 in 4096 keys, 32 heads over 8', TYPES[:2], queries=1, keys=4096, heads=32, kv_heads=8,
                       window=512)
    for heads in (16, 128):
        for kind in TYPES:
            yield line(f'decode of MLA, 4096 keys of 576, values of 512, {heads} heads', kind, queries=1, keys=4096, heads=heads,
                       kv_heads=1, dim=576, dim_v=512)


LINES = [*prefill(), *decode()]


def quick_lines():
    """One of each shape and type, in layout t."""
    return [line for line in LINES if line.layout != 'h' and line.place == 'hot' and not line.is_large()
            and 'keys=16384' not in line.work]
