#!/usr/bin/env python3
"""PyTorch or NumPy as a peer, one thread:

    frameworks.py torch|numpy [NAME]

Reads lines of work and prints lines of JSON, as peers in C do (worker.h, work.h). What is computed is what people write
in these frameworks: Hugging Face's rotation, softmax of scores plus a tensor, attention by two products.
"""
import importlib
import json
import statistics
import sys
import time

SCALE = 0.0883883
WORDS = {'made': 0, 'ready': 1}
DEFAULTS = {'layout': 'half', 'type': 'f32', 'rows': 0, 'lone': 0, 'alibi': 0, 'causal': 0, 'untouched': 0, 'tokens': 1,
            'heads': 1, 'kv_heads': 1, 'queries': 1, 'keys': 1, 'dim': 128, 'threads': 0, 'ms': 20, 'elements': 1}
SLICE_SECONDS = 200e-6


class Absent(Exception):
    """The peer does not do this work; the message says why."""


def parse(line):
    kind, *words = line.split()
    work = dict(DEFAULTS, kind=kind, shape=' '.join(words))
    for word in words:
        key, value = word.split('=')
        work[key] = int(value) if value.isdigit() else WORDS.get(value, value)
    return work


def slopes(n_heads):
    return [2.0 ** (-8.0 * (h + 1) / n_heads) for h in range(n_heads)]


class NumPy:
    """The arrays of NumPy; the works below are written in what the two frameworks share."""

    def __init__(self):
        self.np = importlib.import_module('numpy')
        self.types = {'f32': self.np.float32, 'f16': self.np.float16}

    def array(self, values, kind='f32'):
        return self.np.array(values, dtype=self.types[kind])

    def random(self, shape, bound, kind='f32'):
        values = self.np.random.default_rng(1).uniform(-bound, bound, shape)
        return values.astype(self.types[kind])

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

    def transposed(self, x):
        return self.np.swapaxes(x, -1, -2)

    def matmul(self, a, b):
        return self.np.matmul(a, b)


class Torch(NumPy):
    def __init__(self):
        super().__init__()
        self.torch = importlib.import_module('torch')
        self.torch.set_num_threads(1)
        self.torch.set_grad_enabled(False)
        self.torch_types = {'f32': self.torch.float32, 'f16': self.torch.float16, 'bf16': self.torch.bfloat16}

    def array(self, values, kind='f32'):
        return self.torch.tensor(values, dtype=self.torch_types[kind])

    def random(self, shape, bound, kind='f32'):
        return self.torch.from_numpy(super().random(shape, bound)).to(self.torch_types[kind])

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

    def matmul(self, a, b):
        return self.torch.matmul(a, b)

    def transposed(self, x):
        return x.transpose(-1, -2)


def positions(work):
    return [t * 40503 % (1 << 17) if work['lone'] else 3000 + t for t in range(work['tokens'])]


def frequencies(work):
    return [10000.0 ** (-2 * i / work['dim']) for i in range(work['dim'] // 2)]


def rows(lib, work):
    where, frequency = lib.array(positions(work)), lib.array(frequencies(work))
    return lambda: lib.cos_sin(where[:, None] * frequency[None, :])


def rotate(lib, work):
    kind = work['type']
    if kind == 'bf16' and not hasattr(lib, 'torch'):
        raise Absent('has no bf16')
    x = lib.random((work['tokens'], work['heads'], work['dim']), 1.0, kind)
    make_rows, interleaved, half = rows(lib, work), work['layout'] == 'interleaved', work['dim'] // 2

    def make():
        join = lib.pairs if interleaved else lambda a, b: lib.cat((a, b))
        return [lib.as_type(join(row, row), kind)[:, None, :] for row in make_rows()]

    def turn(cos, sin):
        if interleaved:
            other = lib.pairs(-x[..., 1::2], x[..., 0::2])
        else:
            other = lib.cat((-x[..., half:], x[..., :half]))
        return x * cos + other * sin

    ready = make()
    return (lambda: turn(*ready)) if work['rows'] else (lambda: turn(*make()))


def bias(lib, work):
    """The tensor that ALiBi and the mask are to these frameworks, or None. By arrays, as it is made in every round."""
    if not work['alibi'] and not work['causal']:
        return None
    keys, queries = lib.np.arange(work['keys']), lib.np.arange(work['queries'])
    distance = work['keys'] - work['queries'] + queries[:, None] - keys[None, :]
    slope = lib.np.array(slopes(work['heads']) if work['alibi'] else [0.0])
    planes = -slope[:, None, None] * abs(distance)
    return lib.array(lib.np.where((distance < 0) & (work['causal'] == 1), -lib.np.inf, planes))


def softmax(lib, work):
    x = lib.random((work['heads'], work['queries'], work['keys']), 16.0)
    added = bias(lib, work)
    return (lambda: lib.softmax(x * SCALE)) if added is None else (lambda: lib.softmax(x * SCALE + added))


def attention(lib, work):
    """Queries that share a head of keys are rows of one product, so that keys and values are read once, as in a decode
    of ours; with k[:, None] to spread over them PyTorch copies K and V for each head (some 20 to 50 times as long).

    In float32: neither has products of f16 that are fast. PyTorch 1.13 has none on a CPU, and converting K and V in
    each call takes 1.2 to 4.9 times as long in decode; those of NumPy 1.24 take 75 to 118 times as long. bf16 is
    coarser, which is other work; PyTorch's decode in it takes 0.4 to 0.5 of the time on AVX512-BF16. By two products:
    scaled_dot_product_attention is private in 1.13, takes no bias, and takes 0.97 to 1.03 of the time."""
    kv_heads, queries, keys = work['kv_heads'], work['queries'], work['keys']
    group = work['heads'] // kv_heads
    q = lib.random((work['heads'], queries, work['dim']), 1.0).reshape(kv_heads, group * queries, work['dim'])
    k = lib.random((kv_heads, keys, work['dim']), 1.0)
    v, added = k + 0.5, bias(lib, work)
    if added is not None:  # of each head, or one of all
        added = added.reshape(-1, min(group, added.shape[0]), queries, keys)

    def biased(scores):
        return (scores.reshape(kv_heads, group, queries, keys) + added).reshape(scores.shape)

    def run():
        scores = lib.matmul(q * SCALE, lib.transposed(k))
        return lib.matmul(lib.softmax(scores if added is None else biased(scores)), v)
    return run


WORKS = {'rope': rotate, 'rows': rows, 'softmax': softmax, 'attention': attention}


def time_calls(call, calls):
    start = time.thread_time()
    for _ in range(calls):
        call()
    return (time.thread_time() - start) / calls


def calls_in_slice(call):
    call()  # what is set up by the first
    return max(1, int(SLICE_SECONDS / max(time_calls(call, 1), 1e-7)))


def measure(call, calls, milliseconds):
    """The first slice only brings the data back into cache, as in worker.c."""
    time_calls(call, calls)
    times, end = [], time.thread_time() + 1e-3 * milliseconds
    while not times or time.thread_time() < end:
        times.append(time_calls(call, calls))
    return 1e9 * statistics.median(times)


def main(framework, name):
    lib = {'torch': Torch, 'numpy': NumPy}[framework]()
    last, call, calls = None, None, 0
    for line in sys.stdin:
        work = parse(line)
        answer = {'peer': name, 'work': work['kind'], 'shape': work['shape']}
        try:
            if work['kind'] not in WORKS:
                raise Absent('has no operation for it')
            if work['threads'] > 1:
                raise Absent('is timed with one thread')
            if line != last:
                call = WORKS[work['kind']](lib, work)
                calls = calls_in_slice(call)
                last = line
            ns = measure(call, calls, work['ms'])
            answer.update(ns_per_element=ns / work['elements'], ns_per_call=ns, calls=calls)
        except Absent as reason:
            answer['absent'] = str(reason)
        print(json.dumps(answer), flush=True)


main(sys.argv[1], sys.argv[-1])
