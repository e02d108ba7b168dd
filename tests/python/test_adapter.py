"""posenc.transformers: masks, what is handed over to others, and that nothing is dropped in silence."""
import pickle
import warnings

import pytest

torch = pytest.importorskip('torch')
transformers = pytest.importorskip('transformers')
masking_utils = pytest.importorskip('transformers.masking_utils')

import architectures  # noqa: E402
import posenc.transformers as pt  # noqa: E402
from posenc.transformers import adapter, masks  # noqa: E402

transformers.logging.set_verbosity_error()
pt.register()


@pytest.fixture(autouse=True)
def forget_warnings():
    adapter._warned.clear()


def module_of(n_heads=4, n_kv_heads=2, is_causal=True):
    module = torch.nn.Module()
    module.num_key_value_groups, module.is_causal = n_heads // n_kv_heads, is_causal
    return module.eval()


def random_heads(n_q=6, n_k=6, dim=16, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (2, 4, n_q, dim), (2, 2, n_k, dim), (2, 2, n_k, dim)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def exact(q, k, v, keep=None, bias=None, scale=None, cap=None, sinks=None):
    """In double."""
    q, k, v = q.double(), *(x.double().repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias.double()
    if keep is not None:
        scores = scores.masked_fill(~keep, -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.double().view(1, -1, 1, 1).expand(*scores.shape[:3], 1)], -1)
    p = torch.softmax(scores, -1).nan_to_num(0.0)
    return (p[..., :k.shape[2]] @ v).transpose(1, 2)


FUNCTIONS = {
    'causal': masking_utils.causal_mask_function,
    'bidirectional': masking_utils.bidirectional_mask_function,
    'window': masking_utils.sliding_window_causal_mask_function(3),
    'symmetric': masking_utils.sliding_window_bidirectional_mask_function(2),
    'chunk': masking_utils.chunked_causal_mask_function(4, torch.zeros(2, dtype=torch.int64)),
    'shifted chunk': masking_utils.chunked_causal_mask_function(4, torch.tensor([2, 0])),
    'documents': masking_utils.and_masks(masking_utils.causal_mask_function, masking_utils.packed_sequence_mask_function(
        torch.tensor([[0, 0, 1, 1, 1, 2]] * 2))),
    'custom': masking_utils.and_masks(masking_utils.causal_mask_function, lambda b, h, q, k: (q + k) % 3 != 1),
}
PADDING = {'none': [[1] * 6] * 2, 'left': [[0, 0, 1, 1, 1, 1], [1] * 6], 'right': [[1] * 6, [1, 1, 1, 0, 0, 0]],
           'holes': [[1, 0, 1, 1, 0, 1], [1] * 6]}
LIVES_AS_BYTES = 'shifted chunk', 'custom', 'documents'  # documents of several sequences


@pytest.mark.parametrize('padding', PADDING)
@pytest.mark.parametrize('name', FUNCTIONS)
def test_masks_are_those_of_sdpa(name, padding):
    real = torch.tensor(PADDING[padding], dtype=torch.bool)
    options = dict(batch_size=2, q_length=6, kv_length=6, mask_function=FUNCTIONS[name], attention_mask=real)
    wanted = masking_utils.sdpa_mask(**options, allow_is_causal_skip=False)
    mask = masks.build_mask(**options, dtype=torch.float32, config=None)
    assert (mask.given is None) == (name in LIVES_AS_BYTES)
    q, k, v = random_heads()
    out, _ = pt.attention(module_of(), q, k, v, mask)
    torch.testing.assert_close(out.double(), exact(q, k, v, wanted), rtol=0, atol=1e-6)
    assert torch.equal(mask[:, :, :, :], wanted)  # whoever looks at it as at a tensor


@pytest.mark.parametrize('n_q, q_offset, kv_offset, kv_length', [(1, 9, 0, 10), (3, 7, 0, 16), (1, 20, 15, 6),
                                                                 (4, 20, 15, 9)])
def test_offsets_of_caches(n_q, q_offset, kv_offset, kv_length):
    real = torch.ones(2, q_offset + n_q, dtype=torch.bool)
    real[0, :3] = False
    for function in FUNCTIONS['causal'], FUNCTIONS['window'], FUNCTIONS['chunk']:
        options = dict(batch_size=2, q_length=n_q, kv_length=kv_length, q_offset=q_offset, kv_offset=kv_offset,
                       mask_function=function, attention_mask=real)
        wanted = masking_utils.sdpa_mask(**options, allow_is_causal_skip=False)
        q, k, v = random_heads(n_q, kv_length)
        out, _ = pt.attention(module_of(), q, k, v, masks.build_mask(**options))
        torch.testing.assert_close(out.double(), exact(q, k, v, wanted), rtol=0, atol=1e-6)


def test_masks_as_tensors():
    """Slices, casts and writes give what they give of bytes, and attention sees what was written."""
    options = dict(batch_size=2, q_length=6, kv_length=6, mask_function=FUNCTIONS['causal'])
    mask, wanted = masks.build_mask(**options), masking_utils.sdpa_mask(**options, allow_is_causal_skip=False)
    assert mask.shape == wanted.shape and mask.dtype == torch.bool and mask.dim() == 4
    assert torch.equal(mask[..., :4], wanted[..., :4])
    assert torch.equal(mask.to(torch.float32), wanted.float()) and torch.equal(~mask, ~wanted)
    assert torch.equal(torch.where(mask, 1, 0), wanted.int())
    scores, least = torch.randn(2, 4, 6, 6), torch.finfo(torch.float32).min
    numbers = torch.zeros(6, 6).masked_fill_(~wanted[0, 0], least)
    for added in scores + mask, mask + scores, scores.clone().add_(mask), scores + mask[:, :, :, :6]:
        assert torch.equal(added, scores + numbers)  # code that expects an eager mask
    mask[:, :, :, 0] = False
    wanted = wanted.clone()
    wanted[:, :, :, 0] = False
    q, k, v = random_heads()
    out, _ = pt.attention(module_of(), q, k, v, mask)
    torch.testing.assert_close(out.double(), exact(q, k, v, wanted), rtol=0, atol=1e-6)


def test_recognition_is_checked(monkeypatch):
    masks.check_recognition()
    monkeypatch.setitem(masks._MAKERS, 'sliding_window_overlay', lambda sliding_window: masks.Pattern(sliding_window))
    with pytest.raises(RuntimeError, match='sliding window mask'):
        masks.check_recognition()


@pytest.mark.parametrize('dtype, bound', [(torch.float32, 1e-6), (torch.bfloat16, 2 ** -7), (torch.float16, 2 ** -10)])
def test_arguments(dtype, bound):
    q, k, v = random_heads(dtype=dtype)
    keep = torch.ones(6, 6, dtype=torch.bool).tril()
    causal = masks.build_mask(2, 6, 6)
    sinks, bias = torch.randn(4), torch.randn(1, 4, 6, 6)
    cases = [({}, {}), ({'scaling': 0.3}, {'scale': 0.3}), ({'softcap': 2.0}, {'cap': 2.0}),
             ({'s_aux': sinks}, {'sinks': sinks}), ({'position_bias': bias}, {'bias': bias})]
    for given, formula in cases:
        out, weights = pt.attention(module_of(), q, k, v, causal, **given)
        assert weights is None and out.dtype == dtype and out.is_contiguous()
        torch.testing.assert_close(out.double(), exact(q, k, v, keep, **formula), rtol=0, atol=3 * bound)


def test_without_a_mask():
    q, k, v = random_heads()
    keep = torch.ones(6, 6, dtype=torch.bool).tril()
    for is_causal, given in (True, {}), (False, {'is_causal': False}):
        out, _ = pt.attention(module_of(), q, k, v, None, **given)
        torch.testing.assert_close(out.double(), exact(q, k, v, keep if is_causal else None), rtol=0, atol=1e-6)
    out, _ = pt.attention(module_of(), q, k, v, None, sliding_window=2)
    torch.testing.assert_close(out.double(), exact(q, k, v, keep.triu(-1)), rtol=0, atol=1e-6)
    out, _ = pt.attention(module_of(is_causal=False), q[:, :, :3], k, v, None)  # cross attention
    torch.testing.assert_close(out.double(), exact(q[:, :, :3], k, v), rtol=0, atol=1e-6)


def test_masks_of_numbers_and_of_bytes():
    q, k, v = random_heads()
    keep = torch.rand(2, 1, 6, 8) < 0.7  # wider than the keys, as of a static cache
    keep[..., 0] = True
    numbers = torch.zeros(2, 1, 6, 8).masked_fill_(~keep, torch.finfo(torch.float32).min)
    for mask in keep, numbers:
        out, _ = pt.attention(module_of(), q, k, v, mask)
        torch.testing.assert_close(out.double(), exact(q, k, v, keep[..., :6]), rtol=0, atol=1e-6)


def test_keys_of_any_stride():
    q, k, v = random_heads()
    spread = [torch.stack([x, x], -1)[..., 0] for x in (q, k, v)]
    assert spread[0].stride(-1) == 2
    out, _ = pt.attention(module_of(), *spread, masks.build_mask(2, 6, 6))
    torch.testing.assert_close(out, pt.attention(module_of(), q, k, v, masks.build_mask(2, 6, 6))[0], rtol=0, atol=0)


def test_lists_of_keys_and_of_blocks():
    q, k, v = random_heads()
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    lists = torch.tensor([[[0, 3, -1], [1, 0, 5], [2, 1, 0], [3, -1, 0], [4, 2, 1], [5, 0, 3]]] * 2)
    listed = torch.zeros(2, 1, 6, 6, dtype=torch.bool)
    for b in range(2):
        for i in range(6):
            for key in lists[b, i].tolist():
                if key >= 0:
                    listed[b, 0, i, key] = True
    for mask in masks.build_mask(2, 6, 6), causal.expand(2, 1, 6, 6):
        out, _ = pt.attention(module_of(), q, k, v, mask, indices=lists)
        torch.testing.assert_close(out.double(), exact(q, k, v, listed & causal), rtol=0, atol=1e-6)
    module = module_of()
    module.indexer = torch.nn.Module()
    module.indexer.block_size = 4
    blocks = torch.tensor([[[0, -1]] * 3 + [[0, 1]] * 2 + [[1, -1]]] * 2)
    keep = torch.zeros(6, 6, dtype=torch.bool)
    keep[:5, :4] = True
    keep[3:, 4:] = True
    out, _ = pt.attention(module, q, k, v, masks.build_mask(2, 6, 6), block_indices=blocks)
    torch.testing.assert_close(out.double(), exact(q, k, v, keep & causal), rtol=0, atol=1e-6)
    with pytest.warns(UserWarning, match='block_indices without an indexer'):
        pt.attention(module_of(), q, k, v, masks.build_mask(2, 6, 6), block_indices=blocks)


def test_packed_documents():
    q, k, v = (x[:1] for x in random_heads())
    cu_seqlens = torch.tensor([0, 2, 6])
    keep = torch.block_diag(torch.ones(2, 2), torch.ones(4, 4)).bool().tril()
    for mask in None, masks.build_mask(1, 6, 6):
        out, _ = pt.attention(module_of(), q, k, v, mask, cu_seq_lens_q=cu_seqlens, cu_seq_lens_k=cu_seqlens)
        torch.testing.assert_close(out.double(), exact(q, k, v, keep), rtol=0, atol=1e-6)
    function = masking_utils.and_masks(masking_utils.causal_mask_function, masking_utils.packed_sequence_mask_function(
        torch.tensor([[0, 0, 1, 1, 1, 1]])))
    mask = masks.build_mask(1, 6, 6, mask_function=function)
    assert isinstance(mask, masks.Mask) and mask.given['cu_seqlens'].tolist() == [0, 2, 6]
    out, _ = pt.attention(module_of(), q, k, v, mask)
    torch.testing.assert_close(out.double(), exact(q, k, v, keep), rtol=0, atol=1e-6)


def test_dropout_is_refused():
    with pytest.raises(ValueError, match=r'dropout: 0.1 was asked for.*attn_implementation="sdpa"'):
        pt.attention(module_of(), *random_heads(), None, dropout=0.1)


def test_what_is_unknown_is_handed_over_with_one_warning():
    q, k, v = random_heads()
    mask = masks.build_mask(2, 6, 6)
    keep = torch.ones(6, 6, dtype=torch.bool).tril()
    with pytest.warns(UserWarning, match='argument brand_new is unknown: attention is computed by sdpa') as seen:
        for _ in range(3):
            out, _ = pt.attention(module_of(), q, k, v, mask, brand_new=1)
    assert len(seen) == 1
    torch.testing.assert_close(out.double(), exact(q, k, v, keep), rtol=0, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        pt.attention(module_of(), q, k, v, masks.build_mask(2, 6, 6), position_ids=torch.arange(6), use_cache=True,
                     output_attentions=False, brand_new=None)


def test_what_sdpa_ignores_goes_to_the_eager_function_of_the_model():
    """In double, which posenc does not compute: Gemma 2's cap would be lost by sdpa."""
    with pytest.warns(UserWarning, match='float64'):
        model = architectures.make('gemma2', 'posenc', torch.float64)
        ids = torch.arange(1, 13)[None]
        with torch.no_grad():
            logits = model(ids).logits
    eager = architectures.make('gemma2', 'eager', torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(logits, eager(ids).logits, rtol=0, atol=1e-12)
        sdpa = architectures.make('gemma2', 'sdpa', torch.float64)(ids).logits
    assert (sdpa - logits).abs().max() > 1e-9  # so the test sees it


def test_models_without_a_place_for_attention_functions():
    """BLOOM adds masks to its own scores."""
    ids = torch.arange(1, 13).repeat(2, 1)
    real = torch.ones(2, 12, dtype=torch.int64)
    real[0, :4] = 0
    with pytest.warns(UserWarning, match='BloomForCausalLM takes no attention function'):
        ours = architectures.make('bloom', 'posenc')
    with torch.no_grad():
        found, wanted = (model(ids, attention_mask=real).logits[real.bool()]
                         for model in (ours, architectures.make('bloom', 'eager')))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)


def test_output_attentions():
    model = architectures.make('llama', 'posenc')
    with pytest.warns(UserWarning, match='output_attentions'):
        q, k, v = random_heads()
        module = model.model.layers[0].self_attn
        out, weights = pt.attention(module, q, k, v, masks.build_mask(2, 6, 6), scaling=0.25, output_attentions=True)
    assert weights.shape == (2, 4, 6, 6)
    keep = torch.ones(6, 6, dtype=torch.bool).tril()
    torch.testing.assert_close(out.double(), exact(q, k, v, keep), rtol=0, atol=1e-5)


def test_gradients_of_a_model():
    """The loss of a Llama in training mode, against eager in double."""
    ids = torch.randint(1, 99, (2, 9), generator=torch.Generator().manual_seed(3))
    found = []
    for implementation, dtype in ('eager', torch.float64), ('posenc', torch.float32):
        model = architectures.make('llama', implementation, dtype).train()
        model(ids, labels=ids).loss.backward()
        found.append({name: p.grad for name, p in model.named_parameters()})
    for name, gradient in found[0].items():
        bound = 1e-5 * max(gradient.abs().max().item(), 1e-2)
        torch.testing.assert_close(found[1][name].double(), gradient, rtol=0, atol=bound, msg=name)


@pytest.mark.parametrize('model_type', ['llama', 'gemma3_text', 'cohere', 'gpt_neox', 'glm', 'phi3', 'qwen3'])
def test_patch(model_type):
    """Logits stay the same at small positions, and rows at large ones are exact."""
    model, plain = (architectures.make(model_type, 'posenc') for _ in range(2))
    assert pt.patch(model) == 1
    model = pickle.loads(pickle.dumps(model))
    ids = torch.arange(1, 21)[None]
    with torch.no_grad():
        a, b = model(ids).logits, plain(ids).logits
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5 * b.abs().max().item())
    rotary = next(module for module in model.modules() if type(module).__name__ == 'ExactRotary')
    name = next(iter(rotary.theta))
    at = torch.tensor([[1000003, 123456789]])
    cos, sin = rotary(torch.zeros(1), at, name)
    angle = at[..., None].double() * torch.as_tensor(rotary.theta[name], dtype=torch.float64)
    spread = angle.repeat_interleave(2, -1) if rotary.interleaved else torch.cat([angle, angle], -1)
    torch.testing.assert_close(cos.double(), spread.cos() * rotary.scaling[name], rtol=0, atol=1e-6)
    torch.testing.assert_close(sin.double(), spread.sin() * rotary.scaling[name], rtol=0, atol=1e-6)


@pytest.mark.parametrize('model_type', ['llama', 'gemma3_text'])
def test_compiled_models(model_type):
    """As one graph, with padding; and with a static cache, by generate's own masks."""
    torch._dynamo.reset()
    model = architectures.make(model_type, 'posenc')
    ids = torch.randint(1, 99, (2, 12), generator=torch.Generator().manual_seed(4))
    real = torch.ones(2, 12, dtype=torch.int64)
    real[0, :4] = 0
    with torch.no_grad():
        wanted = model(ids, attention_mask=real, use_cache=False).logits
        compiled = torch.compile(model, fullgraph=True, backend='aot_eager')
        found = compiled(ids, attention_mask=real, use_cache=False).logits
    torch.testing.assert_close(found[real.bool()], wanted[real.bool()], rtol=0, atol=1e-4 * wanted.abs().max().item())
    options = dict(attention_mask=real, max_new_tokens=4, do_sample=False, cache_implementation='static')
    wanted = model.generate(ids, **options)
    model.forward = torch.compile(model.forward, backend='aot_eager')
    assert torch.equal(model.generate(ids, **options), wanted)
