"""torch.ops.posenc: opcheck, torch.compile(fullgraph=True), torch.export, vmap and gradients of each operator."""
import copy
import pickle

import pytest

torch = pytest.importorskip('torch')

import posenc  # noqa: E402
import posenc.torch as pt  # noqa: E402
from posenc.torch import ops  # noqa: E402

if not ops.HAS_OPERATORS:
    pytest.skip(f'operators need PyTorch 2.4, this is {torch.__version__}', allow_module_level=True)

torch.manual_seed(0)
ROPE = ops.rope_text(posenc.Rope(16))
POSITIONS = torch.tensor([3, 4, 70000, 5, 9])
THETA = posenc.Rope(16).theta.tolist()
COS, SIN = ops.cos_sin(POSITIONS[None], THETA)


@pytest.fixture(autouse=True)
def compile_anew():
    torch._dynamo.reset()


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def score_terms():
    """bias, keep, sinks, alibi_slopes, k_begin, k_end, cu_seqlens, window, chunk, query_start, cap, scale."""
    keep = torch.ones(2, 1, 5, 6, dtype=torch.bool)
    keep[1, :, :, 2] = False
    return [leaf(1, 4, 5, 6), keep, leaf(4), torch.tensor([0.5, 0.25, 0.125, 0.0625]), torch.tensor([0, 1], dtype=torch.int32),
            torch.tensor([6, 6], dtype=torch.int32), None, [3, 0], 0, None, 3.0, 0.5]


def plain_terms():
    return [None] * 7 + [[-1, 0], 0, None, 0.0, 0.25]


def block_lists():
    """Queries by 4, keys by 16: both blocks, then the second in part."""
    partial = torch.tensor([[[0, 1]]], dtype=torch.int32), torch.tensor([[[[0, 0], [1, 0]]]], dtype=torch.int32)
    full = torch.tensor([[[2, 0]]], dtype=torch.int32), torch.tensor([[[[0, 1], [0, 0]]]], dtype=torch.int32)
    return *partial, *full, [4, 16]


def sinusoidal():
    return POSITIONS, 8, 'concat', 'half', 10000.0


# Operands of each operator, with what requires a gradient.
CASES = {
    'rope': lambda: (leaf(2, 5, 3, 16), POSITIONS, ROPE, 'forward'),
    'rope_table': lambda: (leaf(2, 5, 3, 16), COS, SIN, 'half', 'forward'),
    'cos_sin': lambda: (POSITIONS, THETA),
    'sinusoidal': sinusoidal,
    'learned': lambda: (leaf(12, 8), torch.tensor([[0, 3, 11], [3, 3, 5]]), 0, 1.0, 'error'),
    'softmax': lambda: (leaf(2, 4, 5, 6), *score_terms()),
    'softmax, plain': lambda: (leaf(2, 4, 5, 6), *plain_terms()),
    'attention': lambda: (leaf(2, 5, 4, 8), leaf(2, 6, 2, 8), leaf(2, 6, 2, 12), *score_terms(), None, 'f32'),
    'attention, blocks': lambda: (leaf(2, 5, 4, 8), leaf(2, 20, 2, 8), leaf(2, 20, 2, 12), *plain_terms(), None, 'f32',
                                  *block_lists()),
    'attention, plain': lambda: (leaf(2, 5, 4, 8), leaf(2, 6, 4, 8), leaf(2, 6, 4, 8), *plain_terms(), None, 'f32'),
}


def operator(name):
    return getattr(torch.ops.posenc, name.split(',')[0])


@pytest.mark.parametrize('name', CASES)
def test_opcheck(name):
    torch.library.opcheck(operator(name), CASES[name]())


@pytest.mark.parametrize('name', CASES)
def test_compile_and_export(name):
    """Values of a whole graph, and of an exported program, are those of the call."""
    args = CASES[name]()
    wanted = operator(name)(*args)
    compiled = torch.compile(lambda *args: operator(name)(*args), fullgraph=True, backend='aot_eager')(*args)
    torch.testing.assert_close(compiled, wanted, rtol=0, atol=0)

    class Module(torch.nn.Module):
        def forward(self, *tensors):
            given = iter(tensors)
            return operator(name)(*(next(given) if isinstance(arg, torch.Tensor) else arg for arg in args))

    tensors = tuple(arg.detach() for arg in args if isinstance(arg, torch.Tensor))
    program = torch.export.export(Module(), tensors)
    torch.testing.assert_close(program.module()(*tensors), wanted, rtol=0, atol=0)


def test_compiled_gradients():
    q, k, v = leaf(2, 5, 4, 8), leaf(2, 6, 2, 8), leaf(2, 6, 2, 8)

    def loss(q, k, v):
        return pt.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                               is_causal=True, query_start=None, enable_gqa=True).square().sum()

    wanted = torch.autograd.grad(loss(q, k, v), (q, k, v))
    found = torch.autograd.grad(torch.compile(loss, fullgraph=True, backend='aot_eager')(q, k, v), (q, k, v))
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


@pytest.mark.parametrize('name', CASES)
def test_vmap(name):
    """Over one operand that is a tensor, the first: its slices, one by one."""
    args = [arg.detach() if isinstance(arg, torch.Tensor) else arg for arg in CASES[name]()]
    stacked = torch.stack([args[0], args[0].flip(0), args[0]])
    found = torch.vmap(lambda first: operator(name)(first, *args[1:]))(stacked)
    for i in range(3):
        wanted = operator(name)(stacked[i], *args[1:])
        first = [each[i] for each in found] if isinstance(found, tuple) else found[i]
        torch.testing.assert_close(first, list(wanted) if isinstance(wanted, tuple) else wanted, rtol=0, atol=0)


# Finite differences as in test_gradcheck.py: f(x + eps) - f(x - eps) of float32, where eps is 2^-7.
def check(function, leaves, third=60.0, size=4.0):
    eps = 2.0 ** -7
    def of_doubles(*doubles):
        return function(*(x.float() for x in doubles)).double()
    doubles = [(torch.round(x.detach().double() * 64) / 64).requires_grad_() for x in leaves]
    assert torch.autograd.gradcheck(of_doubles, doubles, eps=eps, rtol=0.0,
                                    atol=eps ** 2 / 6 * third + 16 * 2.0 ** -24 * size / eps)


@pytest.mark.parametrize('name', [name for name in CASES if name not in ('cos_sin', 'sinusoidal')])
def test_gradcheck(name):
    args = CASES[name]()
    at = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor) and arg.requires_grad]

    def function(*leaves):
        given = list(args)
        for i, x in zip(at, leaves):
            given[i] = x
        return operator(name)(*given)

    check(function, [args[i] for i in at])


def test_what_has_no_gradient_says_so():
    args = list(CASES['attention']())
    args[6] = args[6].requires_grad_()
    with pytest.raises(NotImplementedError, match='alibi_slopes'):
        torch.ops.posenc.attention(*args).sum().backward()
    args = list(CASES['attention, plain']())
    args[15] = torch.tensor([[0, 1], [2, -1], [3, 1], [4, 0], [5, 1]], dtype=torch.int32)
    with pytest.raises(NotImplementedError, match='lists'):
        torch.ops.posenc.attention(*args).sum().backward()
    x = leaf(2, 5, 3, 16)
    with pytest.raises(NotImplementedError, match='inverse'):
        torch.ops.posenc.rope(x, POSITIONS, ROPE, 'inverse').sum().backward()


MODULES = {
    'RotaryEmbedding': (lambda: pt.RotaryEmbedding(posenc.Rope(16)), lambda: (torch.zeros(1), POSITIONS[None])),
    'SinusoidalPositionalEmbedding': (lambda: pt.SinusoidalPositionalEmbedding(8), lambda: (POSITIONS[None],)),
    'LearnedPositionalEmbedding': (lambda: pt.LearnedPositionalEmbedding(12, 8, offset=2),
                                   lambda: (torch.tensor([[0, 9], [3, 3]]),)),
    'AlibiBias': (lambda: pt.AlibiBias(4), lambda: (3, 5)),
    'T5RelativeBias': (lambda: pt.T5RelativeBias(4, bidirectional=False), lambda: (3, 5)),
}


@pytest.mark.parametrize('name', MODULES)
def test_modules_move_and_compile(name):
    make, inputs = MODULES[name]
    module = make()
    wanted = module(*inputs())
    others = [copy.deepcopy(module), pickle.loads(pickle.dumps(module)), make()]
    others[2].load_state_dict(module.state_dict())
    others.append(torch.compile(module, fullgraph=name not in ('T5RelativeBias',), backend='aot_eager'))
    for other in others:
        torch.testing.assert_close(other(*inputs()), wanted, rtol=0, atol=0)
    assert name in repr(module)
