"""NumPy and PyTorch. NumPy computes what people write in it: Hugging Face's rotation, softmax of scores plus a
tensor, attention by two products. PyTorch's is the fastest way that its interface has: results into tensors that are
there, complex numbers, its own attention. Hugging Face's code, in PyTorch, is a peer of its own."""
import importlib

import shapes
from shapes import SCALE, TOLERANCE, Absent


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

    def on_memory(self, buffer, offset, shape, kind):
        return self.np.ndarray(shape, self.types[kind], buffer, offset)

    def assign(self, tensor, values):
        tensor[...] = values

    def in_layout(self, work, x):
        """[heads, queries, dim], in memory as the layout has it."""
        return x if shapes.is_by_head(work) else self.np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)

    def attention_ways(self, work, q):
        """{name: (type, what makes a call of keys and values)}. In float32: of what it multiplies in f16 NumPy is a hundred
        times as slow."""
        if work['type'] == 'bf16':
            raise Absent('has no bf16')
        if work['queries'] * work['keys'] > 1 << 22:
            raise Absent('would hold all scores in memory')
        added, q = bias_of_rows(self, work), self.in_layout(work, q)
        return {'': ('f32', lambda k, v: lambda: self.products(shapes.as_rows(q, work['kv_heads']), k, v, added))}


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

    def on_memory(self, buffer, offset, shape, kind):
        count = self.np.prod(shape).item()
        return self.torch.frombuffer(buffer, dtype=self.torch_types[kind], count=count, offset=offset).reshape(shape)

    def assign(self, tensor, values):
        tensor.copy_(self.torch.from_numpy(self.np.ascontiguousarray(values)))

    def in_layout(self, work, x):
        return x if shapes.is_by_head(work) else x.swapaxes(0, 1).contiguous().swapaxes(0, 1)

    def attention_ways(self, work, q):
        """In the type of the work and, where that is not float32, in float32 all the same: K and V kept in it."""
        ways = {}
        for kind in dict.fromkeys((work['type'], 'f32')):
            ways.update(self.ways_in(kind, work, self.in_layout(work, self.array(q, kind))))
        return ways

    def ways_in(self, kind, work, q):
        """Without PyTorch's attention over MLA's one KV head, which it would copy for each head: 300 ms for 16."""
        attend = self.torch.nn.functional.scaled_dot_product_attention
        kv_heads = work['kv_heads']
        added, is_grouped = bias_of_rows(self, work, kind), work['heads'] != kv_heads
        ways = {'two products': lambda k, v: lambda: self.products(shapes.as_rows(q, kv_heads), k, v, added)}
        if not shapes.is_masked(work):
            if is_grouped:
                ways['by rows'] = lambda k, v: lambda: attend(shapes.as_rows(q, kv_heads)[None], k[None], v[None], scale=SCALE)
            if not work['dim_v']:
                ways[''] = lambda k, v: lambda: attend(q[None], k[None], v[None], scale=SCALE, enable_gqa=is_grouped)
        elif work['queries'] == work['keys']:
            ways[''] = lambda k, v: lambda: attend(q[None], k[None], v[None], scale=SCALE, is_causal=True,
                                                   enable_gqa=is_grouped)
        return {f'{name}, {kind}' if name else kind: (kind, make) for name, make in ways.items()}


def bias_of_rows(lib, work, kind='f32'):
    """The mask in the order of shapes.as_rows, or None."""
    if not shapes.is_masked(work):
        return None
    return lib.array(lib.np.tile(shapes.bias(lib.np, work), (1, work['heads'] // work['kv_heads'], 1)), kind)


# ---- Rotations, tables and softmax as people write them ----

def rows(lib, work):
    where, frequency = lib.array(shapes.positions(work)), lib.array(shapes.frequencies(work))
    return lambda: lib.cos_sin(where[:, None] * frequency[None, :])


def rope(lib, work):
    kind = work['type']
    x = lib.array(shapes.random(lib.np, (work['tokens'], work['heads'], work['dim'])), kind)
    where, frequency = lib.array(shapes.positions(work))[:, None], lib.array(shapes.frequencies(work))[None, :]
    interleaved, half = work['layout'] == 'interleaved', work['dim'] // 2

    def make():
        join = lib.pairs if interleaved else lambda a, b: lib.cat((a, b))
        return [lib.as_type(join(row, row), kind)[:, None, :] for row in lib.cos_sin(where * frequency)]

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


# ---- The same in PyTorch, into tensors that are there ----

class Angles:
    """Cosines and sines of a work, into memory of their own; call() computes them."""

    def __init__(self, lib, work):
        torch = self.torch = lib.torch
        self.where, self.frequency = lib.array(shapes.positions(work)), lib.array(shapes.frequencies(work))
        self.angles = torch.outer(self.where, self.frequency)
        self.cos, self.sin = self.angles.cos(), self.angles.sin()

    def __call__(self):
        self.torch.outer(self.where, self.frequency, out=self.angles)
        return self.torch.cos(self.angles, out=self.cos), self.torch.sin(self.angles, out=self.sin)


def torch_rows(lib, work):
    return Angles(lib, work)


def halves(work, tensor):
    """Both channels of each pair."""
    if work['layout'] == 'interleaved':
        return tensor[..., 0::2], tensor[..., 1::2]
    return tensor.chunk(2, -1)


def by_halves(lib, work, x, y, of_whole_heads):
    """Two products, of whole heads one, and two products with a sum, without a temporary tensor."""
    torch, made = lib.torch, Angles(lib, work)
    (a, b), (to_a, to_b) = halves(work, x), halves(work, y)
    cos, sin = (torch.empty_like(x[:, :1]) for _ in range(2))
    kept = [half for row in (cos, sin) for half in halves(work, row)]
    cos_a, _, sin_a, _ = kept

    def make():
        for at, row in enumerate(made()):
            kept[2 * at].copy_(row[:, None, :])
            if of_whole_heads:
                kept[2 * at + 1].copy_(row[:, None, :])

    def rotate():
        if not work['rows']:
            make()
        if of_whole_heads:
            torch.mul(x, cos, out=y)
        else:
            torch.mul(a, cos_a, out=to_a)
            torch.mul(b, cos_a, out=to_b)
        to_a.addcmul_(b, sin_a, value=-1)
        to_b.addcmul_(a, sin_a)
        return y
    make()
    return rotate


def by_complex_numbers(lib, work, x, y):
    torch, made = lib.torch, Angles(lib, work)
    numbers, to = (torch.view_as_complex(t.unflatten(-1, (-1, 2))) for t in (x, y))
    factors = torch.complex(*made())[:, None, :]
    parts = torch.view_as_real(factors)

    def rotate():
        if not work['rows']:
            for at, row in enumerate(made()):
                parts[..., at].copy_(row[:, None, :])
        torch.mul(numbers, factors, out=to)
        return y
    return rotate


def torch_rope(lib, work):
    """{name: call}"""
    x = lib.array(shapes.random(lib.np, (work['tokens'], work['heads'], work['dim'])), work['type'])
    ways = {f'out={what}': by_halves(lib, work, x, x.clone(), whole) for what, whole in (('', False), (', whole heads', True))}
    if work['layout'] == 'interleaved' and work['type'] == 'f32':
        ways['complex'] = by_complex_numbers(lib, work, x, x.clone())
    wanted = rope(lib, work)().float()
    for name, call in ways.items():
        if (call().float() - wanted).abs().max() > TOLERANCE[work['type']]:
            raise Absent(f'computes something else: {name}')
    return ways


def torch_softmax(lib, work):
    torch = lib.torch
    x = lib.array(shapes.random(lib.np, (work['heads'], work['queries'], work['keys']), 16.0))
    bias, y, z = shapes.bias(lib.np, work), torch.empty_like(x), torch.empty_like(x)
    if bias is None:
        return lambda: torch.softmax(torch.mul(x, SCALE, out=y), -1, out=z)
    added = lib.array(bias)
    return lambda: torch.softmax(torch.add(added, x, alpha=SCALE, out=y), -1, out=z)


TORCH_WORKS = {'rope': torch_rope, 'rows': torch_rows, 'softmax': torch_softmax}
