"""ONNX Runtime: each work is a graph of few nodes, its operators for attention and rotation among them, whose inputs and
outputs are bound once, so that a call copies nothing.

A graph is a message of protocol buffers, which is written here: the package that writes it registers its operators a second
time in the runtime's process."""
import importlib
import struct

import shapes
from shapes import SCALE, Absent

MICROSOFT = 'com.microsoft'  # the domain of operators that ONNX itself has not

# The numbers of ONNX's types.
TYPES = {'float32': 1, 'int32': 6, 'int64': 7, 'float16': 10}


# ---- Messages: fields are numbered as in onnx.proto ----

def varint(n):
    groups = []
    while n > 127:
        groups.append(n & 127 | 128)
        n >>= 7
    return bytes([*groups, n])


def number(field, n):
    return varint(field << 3) + varint(n)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    if isinstance(value, float):
        return block(1, name) + varint(2 << 3 | 5) + struct.pack('<f', value) + number(20, 1)
    return block(1, name) + number(3, value) + number(20, 2)


def node(operator, inputs, outputs, domain='', **attributes):
    parts = [block(1, name) for name in inputs.split()] + [block(2, name) for name in outputs.split()]
    parts += [block(4, operator)] + [block(5, attribute(*item)) for item in attributes.items()] + [block(7, domain)]
    return b''.join(parts)


def value(name, array):
    return block(1, name) + block(2, block(1, number(1, TYPES[array.dtype.name])))


def model(nodes, inputs, outputs):
    graph = [block(1, content) for content in nodes] + [block(2, 'graph')]
    graph += [block(11, value(*item)) for item in inputs.items()] + [block(12, value(*item)) for item in outputs.items()]
    versions = b''.join(block(8, block(1, domain) + number(2, version)) for domain, version in (('', 17), (MICROSOFT, 1)))
    return number(1, 8) + block(7, b''.join(graph)) + versions


# ---- The works ----

class OnnxRuntime:
    def __init__(self):
        self.np, self.runtime = importlib.import_module('numpy'), importlib.import_module('onnxruntime')
        self.options = self.runtime.SessionOptions()
        self.options.intra_op_num_threads = self.options.inter_op_num_threads = 1

    def bound(self, nodes, inputs, outputs, shared=()):
        """The call of a graph. Inputs and outputs are arrays by name; shared: pairs of an input and the output that is
        written to the same memory."""
        values = {name: self.runtime.OrtValue.ortvalue_from_numpy(array) for name, array in {**inputs, **outputs}.items()}
        every_output = {**outputs, **{written: inputs[name] for name, written in shared}}
        session = self.runtime.InferenceSession(model(nodes, inputs, every_output), self.options,
                                                providers=['CPUExecutionProvider'])
        binding = session.io_binding()
        for name in inputs:
            binding.bind_ortvalue_input(name, values[name])
        for name in outputs:
            binding.bind_ortvalue_output(name, values[name])
        for name, written in shared:
            binding.bind_ortvalue_output(written, values[name])
        first = next(iter(outputs))

        def call():
            session.run_with_iobinding(binding)
            return values[first]  # all of them live as long as the call: the binding has their addresses only
        return call

    def as_numpy(self, x):
        return x.numpy()

    def on_memory(self, buffer, offset, shape, kind):
        return self.np.ndarray(shape, self.np.dtype({'f32': 'float32', 'f16': 'float16'}[kind]), buffer, offset)

    def assign(self, tensor, values):
        tensor[...] = values

    def attention_ways(self, work, q):
        """{name: ('f32', what makes a call of keys and values)}, by the layout in which an operator takes K and V."""
        if work['type'] == 'bf16':
            raise Absent('has none in bf16')
        if work['window']:
            raise Absent('takes caches in one piece')
        ways, is_plain = {}, work['heads'] == work['kv_heads'] and not work['dim_v']
        if shapes.is_by_head(work) or work['kv_heads'] == 1:
            if not shapes.is_masked(work):
                ways['by rows'] = lambda k, v: self.by_rows(q, k, v)
            if not work['dim_v'] and (work['queries'] == 1 or work['causal']):
                ways['GroupQueryAttention'] = lambda k, v: self.group_query(work, q, k, v)
        elif is_plain and (not shapes.is_masked(work) or work['queries'] == work['keys']):
            ways['MultiHeadAttention'] = lambda k, v: self.multi_head(work, q, k, v)
        return {name: ('f32', make) for name, make in ways.items()}

    def by_rows(self, q, k, v):
        """Attention with each KV head as an entry of the batch, and all its queries as one head."""
        rows = shapes.as_rows(q, len(k))
        inputs = {'q': rows, 'k': k, 'v': self.np.ascontiguousarray(v)}
        output = self.np.empty((*rows.shape[:2], v.shape[-1]), self.np.float32)
        return self.bound([node('MultiHeadAttention', 'q k v', 'y', MICROSOFT, num_heads=1, scale=SCALE)], inputs, {'y': output})

    def multi_head(self, work, q, k, v):
        inputs = {name: by_token(self.np, x) for name, x in (('q', q), ('k', k), ('v', v))}
        attend = node('MultiHeadAttention', 'q k v', 'y', MICROSOFT, num_heads=len(q), scale=SCALE,
                      unidirectional=int(shapes.is_masked(work)))
        return self.bound([attend], inputs, {'y': self.np.empty_like(inputs['q'])})

    def group_query(self, work, q, k, v):
        """The last keys are new, one of each query, and are written behind the others in the cache."""
        np, n, keys = self.np, work['queries'], work['keys']
        inputs = {name: by_token(np, x) for name, x in (('q', q), ('k', k[:, keys - n:]), ('v', v[:, keys - n:]))}
        inputs |= {'past_k': k[None], 'past_v': v[None], 'last': np.array([keys - 1], np.int32),
                   'total': np.array([keys], np.int32)}
        attend = node('GroupQueryAttention', 'q k v past_k past_v last total', 'y all_k all_v', MICROSOFT, num_heads=len(q),
                      kv_num_heads=len(k), scale=SCALE)
        return self.bound([attend], inputs, {'y': np.empty_like(inputs['q'])}, (('past_k', 'all_k'), ('past_v', 'all_v')))


def by_token(np, x):
    """[1, tokens, heads x dim] of [heads, tokens, dim]."""
    return np.ascontiguousarray(np.swapaxes(x, 0, 1)).reshape(1, x.shape[1], -1)


def angle_inputs(np, work):
    return {'where': np.array(shapes.positions(work), np.float32)[:, None],
            'frequency': np.array(shapes.frequencies(work), np.float32)[None, :]}


ANGLE_NODES = (node('Mul', 'where frequency', 'angles'), node('Cos', 'angles', 'cos'), node('Sin', 'angles', 'sin'))


def rows(lib, work):
    table = lib.np.empty((work['tokens'], work['dim'] // 2), lib.np.float32)
    return lib.bound(ANGLE_NODES, angle_inputs(lib.np, work), {'cos': table, 'sin': lib.np.empty_like(table)})


def rope(lib, work):
    np = lib.np
    if work['type'] == 'bf16':
        raise Absent('has none in bf16')
    kind = {'f32': np.float32, 'f16': np.float16}[work['type']]
    x = shapes.random(np, (1, work['tokens'], work['heads'] * work['dim'])).astype(kind)
    inputs = {'x': x, 'first': np.zeros(1, np.int64)}
    rotate = node('RotaryEmbedding', 'x first cos_row sin_row', 'y', MICROSOFT,
                  interleaved=int(work['layout'] == 'interleaved'))
    if work['rows']:
        angles = angle_inputs(np, work)
        angles = angles['where'] * angles['frequency']
        inputs |= {'cos_row': np.cos(angles).astype(kind), 'sin_row': np.sin(angles).astype(kind)}
        return lib.bound([rotate], inputs, {'y': np.empty_like(x)})
    converted = [node('Cast', name, f'{name}_row', to=TYPES[x.dtype.name]) for name in ('cos', 'sin')]
    return lib.bound([*ANGLE_NODES, *converted, rotate], inputs | angle_inputs(np, work), {'y': np.empty_like(x)})


def softmax(lib, work):
    np = lib.np
    x, bias = shapes.random(np, (work['heads'], work['queries'], work['keys']), 16.0), shapes.bias(np, work)
    inputs = {'x': x, 'scale': np.array(SCALE, np.float32)} | ({} if bias is None else {'bias': bias})
    nodes = [node('Mul', 'x scale', 'scaled')] + ([] if bias is None else [node('Add', 'scaled bias', 'scores')])
    nodes.append(node('Softmax', 'scaled' if bias is None else 'scores', 'y', axis=2))
    return lib.bound(nodes, inputs, {'y': np.empty_like(x)})


WORKS = {'rope': rope, 'rows': rows, 'softmax': softmax}
