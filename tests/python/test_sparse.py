import numpy as np
import pytest
import truth

import posenc

Q, K, W = truth.normal(2, 5, 8, 32), truth.normal(2, 1500, 32, seed=1), truth.normal(2, 5, 8, seed=2)
ENDS = np.arange(5) + 1496


def scores_of(q, k, w):
    products = np.einsum('bihc,bjc->bihj', q.astype(np.float64), k.astype(np.float64))
    return np.einsum('bih,bihj->bij', w.astype(np.float64), np.maximum(products, 0))


def test_index_scores():
    expected = scores_of(Q, K, W)
    scores = posenc.index_scores(Q, K, W)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)
    assert np.array_equal(posenc.index_scores(Q, K, W, threads=3), scores)
    assert np.array_equal(posenc.index_scores(Q[0], K[0], W[0]), scores[0])
    out = np.full_like(scores, 7)
    assert posenc.index_scores(Q, K, W, begin=3, end=ENDS, out=out) is out
    sees = (np.arange(1500) >= 3) & (np.arange(1500) < ENDS[:, None])
    assert np.array_equal(out, np.where(sees, scores, np.float32(7)))
    halves = posenc.index_scores(Q.astype(np.float16), K.astype(np.float16), W)
    np.testing.assert_allclose(halves, expected, rtol=0, atol=0.1)


def test_top_k():
    scores = posenc.index_scores(Q, K, W)
    keys = posenc.top_k(scores, 40)
    assert keys.dtype == np.int32
    assert np.array_equal(keys, np.argsort(-scores, axis=-1, kind='stable')[..., :40])
    assert np.array_equal(posenc.top_k(scores, 40, threads=3), keys)
    assert np.array_equal(posenc.top_k(scores[1], 40), keys[1])
    few = np.array([1, np.nan, 3, 3, -np.inf], np.float32)
    assert posenc.top_k(few, 6).tolist() == [2, 3, 0, 4, 1, -1]
    begin = np.array([[0], [1490]])
    bounded = posenc.top_k(scores, 40, begin=begin, end=ENDS)
    for i in range(5):
        assert bounded[1, i].tolist() == [
            *(1490 + np.argsort(-scores[1, i, 1490:ENDS[i]], kind='stable')), *[-1] * (1530 - ENDS[i])]


def test_lists_for_attention():
    q, k, v = truth.normal(2, 5, 4, 16), truth.normal(2, 1500, 1, 16, seed=3), truth.normal(2, 1500, 1, 16, seed=4)
    lists = posenc.top_k(posenc.index_scores(Q, K, W, end=ENDS), 40, end=ENDS)
    out = posenc.attention(q, k, v, causal=False, lists=lists)
    for b in range(2):
        for i in range(5):
            some = lists[b, i]
            alone = posenc.attention(q[b, i:i + 1], k[b, some], v[b, some], causal=False)
            assert np.array_equal(out[b, i:i + 1], alone)


@pytest.mark.parametrize('n_heads', [2, 4])
def test_lists_of_each_head(n_heads):
    """The keys that each KV head, or each query head, has chosen (MoBA): a call for each head gives the same bits."""
    q, k, v = truth.normal(2, 5, 4, 16), truth.normal(2, 60, 2, 16, seed=3), truth.normal(2, 60, 2, 16, seed=4)
    scores = truth.normal(2, n_heads, 5, 60, seed=5)
    lists = posenc.top_k(scores, 7)
    assert lists.shape == (2, n_heads, 5, 7)
    assert np.array_equal(lists[1, 1], posenc.top_k(scores[1, 1], 7))
    out = posenc.attention(q, k, v, causal=False, lists=lists)
    for h in range(4):
        alone = posenc.attention(q[:, :, h:h + 1], k[:, :, h // 2:h // 2 + 1], v[:, :, h // 2:h // 2 + 1], causal=False,
                                 lists=lists[:, h * n_heads // 4])
        assert np.array_equal(out[:, :, h:h + 1], alone)
    with pytest.raises(posenc.Error, match='lists: n_heads is 3'):
        posenc.attention(q, k, v, causal=False, lists=np.zeros((2, 3, 5, 7), np.int32))


def test_what_is_refused():
    with pytest.raises(posenc.Error, match='k: '):
        posenc.top_k(np.ones(5, np.float32), 0)
    with pytest.raises(posenc.Error):
        posenc.index_scores(Q, K[..., :16], W)
    with pytest.raises(posenc.Error):
        posenc.top_k(np.ones((2, 5), np.float32), 3, end=6)
    with pytest.raises(ValueError, match='end'):
        posenc.top_k(np.ones((2, 5), np.float32), 3, end=[1, 2, 3])
