"""NumPy and PyTorch. What is computed is what people write in them: Hugging Face's rotation, softmax of scores plus a
tensor, attention by two products, and PyTorch's own attention."""
import importlib

import shapes
from shapes import SCALE, Absent


class NumPy:
    """The arrays of NumPy; the works below are written in what the two frameworks share."""

    def __init__(self):
        self.np = importlib.import_module('numpy')
        self.types = {'f32': self.np.float32, 'f16': self.np.float16}

    def array(self, values, kind='f32'):
        if kind not in self.types:
            raise Absent(f'has no {kind}')
        return self.np.asarray(values).astype(self.types[kind])

    def cat(self, parts):
        return self.np.concatenate(parts, axis=-1)

    def pairs(self, even, odd):
        return self.np.stack((even, odd), axis=-1).reshape(*even.shape[:-1], -1)

    def as_type(self, x, kind):
        return x.astype(self.types[kind])

    def cos_sin(self, angles):
        return self.np.cos(angles), self.np.sin(angles)

    def softmax(self, x):
        x = self.np.exp(x - x.max(axis=-1, keepdims=True))
        return x / x.sum(axis=-1, keepdims=True)

    def products(self, q, k, v, added):
        scores = self.np.matmul(q * self.np.float32(SCALE), self.np.swapaxes(k, -1, -2))
        return self.np.matmul(self.softmax(scores if added is None else scores + added), v)

    def as_numpy(self, x):
        return x

    def attention_ways(self, work, q, k, v):
        """In float32: of what it multiplies in f16 NumPy is a hundred times as slow."""
        self.array([], work['type'])
        if work['queries'] * work['keys'] > 1 << 22:
            raise Absent('would hold all scores in memory')
        added = bias_of_rows(self, work)
        rows = shapes.as_rows(q, work['kv_heads'])
        return {'': lambda: self.products(rows, k, v, added)}


class Torch(NumPy):
    def __init__(self):
        super().__init__()
        self.torch = importlib.import_module('torch')
        self.torch.set_num_threads(1)
        self.torch.set_grad_enabled(False)
        self.torch_types = {'f32': self.torch.float32, 'f16': self.torch.float16, 'bf16': self.torch.bfloat16}

    def array(self, values, kind='f32'):
        return self.torch.from_numpy(super().array(values)).to(self.torch_types[kind])

    def cat(self, parts):
        return self.torch.cat(parts, dim=-1)

    def pairs(self, even, odd):
        return self.torch.stack((even, odd), dim=-1).flatten(-2)

    def as_type(self, x, kind):
        return x.to(self.torch_types[kind])

    def cos_sin(self, angles):
        return angles.cos(), angles.sin()

    def softmax(self, x):
        return self.torch.softmax(x, dim=-1)

    def products(self, q, k, v, added):
        torch = self.torch
        if added is None:  # the scale is that of the product
            added, beta = torch.empty((), dtype=q.dtype), 0.0
        else:
            beta = 1.0
        return torch.bmm(torch.softmax(torch.baddbmm(added, q, k.mT, beta=beta, alpha=SCALE), -1), v)

    def as_numpy(self, x):
        return x.float().numpy()

    def attention_ways(self, work, q, k, v):
        """In the type of the work and, where that is not float32, in float32 all the same: K and V kept in it."""
        ways = {}
        for kind in dict.fromkeys((work['type'], 'f32')):
            tensors = [self.array(x, kind)[None] for x in (q, k, v)]
            ways.update(self.ways_in(kind, work, *tensors))
        return ways

    def ways_in(self, kind, work, q, k, v):
        """Without PyTorch's attention over MLA's one head of keys, which it would copy for each head: 300 ms for 16."""
        attend = self.torch.nn.functional.scaled_dot_product_attention
        rows = shapes.as_rows(q[0], work['kv_heads'])
        added, is_grouped = bias_of_rows(self, work, kind), work['heads'] != work['kv_heads']
        ways = {f'two products, {kind}': lambda: self.products(rows, k[0], v[0], added)}
        if not shapes.is_masked(work):
            if is_grouped:
                ways[f'by rows, {kind}'] = lambda: attend(rows[None], k, v, scale=SCALE)
            if not work['dim_v']:
                ways[kind] = lambda: attend(q, k, v, scale=SCALE, enable_gqa=is_grouped)
        elif work['queries'] == work['keys']:
            ways[kind] = lambda: attend(q, k, v, scale=SCALE, is_causal=True, enable_gqa=is_grouped)
        return ways


def bias_of_rows(lib, work, kind='f32'):
    """The mask in the order of shapes.as_rows, or None."""
    if not shapes.is_masked(work):
        return None
    return lib.array(lib.np.tile(shapes.bias(lib.np, work), (1, work['heads'] // work['kv_heads'], 1)), kind)


def rows(lib, work):
    where, frequency = lib.array(shapes.positions(work)), lib.array(shapes.frequencies(work))
    return lambda: lib.cos_sin(where[:, None] * frequency[None, :])


def rope(lib, work):
    kind = work['type']
    x = lib.array(shapes.random(lib.np, (work['tokens'], work['heads'], work['dim'])), kind)
    make_rows, interleaved, half = rows(lib, work), work['layout'] == 'interleaved', work['dim'] // 2

    def make():
        join = lib.pairs if interleaved else lambda a, b: lib.cat((a, b))
        return [lib.as_type(join(row, row), kind)[:, None, :] for row in make_rows()]

    def rotate(cos, sin):
        if interleaved:
            other = lib.pairs(-x[..., 1::2], x[..., 0::2])
        else:
            other = lib.cat((-x[..., half:], x[..., :half]))
        return x * cos + other * sin

    ready = make()
    return (lambda: rotate(*ready)) if work['rows'] else (lambda: rotate(*make()))


def softmax(lib, work):
    x = lib.array(shapes.random(lib.np, (work['heads'], work['queries'], work['keys']), 16.0))
    bias = shapes.bias(lib.np, work)
    added = None if bias is None else lib.array(bias)
    return (lambda: lib.softmax(x * SCALE)) if added is None else (lambda: lib.softmax(x * SCALE + added))


WORKS = {'rope': rope, 'rows': rows, 'softmax': softmax}
