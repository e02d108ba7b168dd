"""attn_implementation="posenc" in architectures of Transformers: tiny models with random weights, against eager attention
in double. POSENC_TEST_SCALE=4 takes every fourth."""
import os

import pytest

torch = pytest.importorskip('torch')
transformers = pytest.importorskip('transformers')
pytest.importorskip('transformers.masking_utils')

import architectures  # noqa: E402
import posenc.transformers as pt  # noqa: E402
from posenc.transformers import adapter  # noqa: E402
from transformers import AttentionInterface  # noqa: E402
from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: E402

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
pt.register()

ARCHITECTURES = sorted(set(architectures.NAMES) & set(architectures.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))
ARCHITECTURES = ARCHITECTURES[::int(os.environ.get('POSENC_TEST_SCALE', 1))]

N_TOKENS, PROMPT, N_NEW = 24, 12, 6
IDS = torch.randint(1, 99, (2, N_TOKENS), generator=torch.Generator().manual_seed(1))


def padding(side):
    mask = torch.ones(2, N_TOKENS, dtype=torch.int64)
    if side == 'left':
        mask[0, :5] = 0
    elif side == 'right':
        mask[1, -7:] = 0
    return mask


class Compared:
    """Squared errors of posenc and sdpa over all attention calls, and how many calls there were."""
    calls = 0
    errors = None


def compared(module, query, key, value, mask, **given):
    out, weights = pt.attention(module, query, key, value, mask, **given)
    Compared.calls += 1
    if Compared.errors is not None and given.get('softcap') is None and given.get('s_aux') is None:
        dense = adapter._dense(mask)
        theirs = sdpa_attention_forward(module, query, key, value, dense, **given)[0].double()
        exact = sdpa_attention_forward(module, query.double(), key.double(), value.double(),
                                       dense if dense is None or dense.dtype == torch.bool else dense.double(), **given)[0]
        seen = torch.ones(()) if dense is None or dense.dtype != torch.bool else dense.any(-1)[:, 0, :, None, None]
        for i, each in enumerate((out.double(), theirs)):
            Compared.errors[i] += (((each - exact) * seen) ** 2).nan_to_num(0.0).sum().item()
    return out, weights


AttentionInterface.register('posenc', compared)


@pytest.fixture(scope='module')
def models():
    """Those of one architecture, kept for the tests that follow each other."""
    kept = {}

    def of(name):
        if name not in kept:
            kept.clear()
            kept[name] = architectures.make(name, 'eager', torch.float64), architectures.make(name, 'posenc')
        return kept[name]
    return of


errors = {}


@pytest.mark.parametrize('name', ARCHITECTURES)
@torch.no_grad()
def test_logits(name, models):
    exact, ours = models(name)
    for side in 'none', 'left', 'right':
        Compared.calls, Compared.errors = 0, [0.0, 0.0] if side == 'left' else None
        given = {} if side == 'none' else {'attention_mask': padding(side)}
        found, wanted = ours(IDS, **given).logits, exact(IDS, **given).logits
        real = padding(side).bool()
        bound = 1e-5 * wanted[real].abs().max().item()
        torch.testing.assert_close(found[real].double(), wanted[real], rtol=0, atol=bound, msg=lambda m: f'{side}: {m}')
        assert Compared.calls > 0
        if side == 'left':
            errors[name], Compared.errors = Compared.errors, None


@pytest.mark.parametrize('name', ARCHITECTURES)
def test_generate(name, models):
    exact, ours = models(name)
    prompt, mask = IDS[:, :PROMPT], padding('left')[:, :PROMPT]
    implementations = [None] if name in architectures.WITHOUT_STATIC_CACHE else [None, 'static']
    for implementation in implementations:
        given = dict(attention_mask=mask, max_new_tokens=N_NEW, do_sample=False)
        if implementation:
            given['cache_implementation'] = implementation
        wanted = exact.generate(prompt, **given)
        assert torch.equal(ours.generate(prompt, **given), wanted), implementation


def test_errors_are_not_larger_than_those_of_sdpa():
    compared = {name: pair for name, pair in errors.items() if any(pair)}
    if not compared:
        pytest.skip('no architecture was tested')
    better = [name for name, (ours, theirs) in compared.items() if ours <= theirs]
    print(f'\nerror not larger than that of sdpa: {len(better)} of {len(compared)} architectures')
    assert len(better) >= 0.9 * len(compared), sorted(set(compared) - set(better))
