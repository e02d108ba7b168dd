import concurrent.futures
import subprocess
import sys

import numpy as np
import pytest
import truth

import posenc

Q, K, V = truth.normal(2, 5, 4, 32), truth.normal(2, 9, 2, 32, seed=1), truth.normal(2, 9, 2, 16, seed=2)


def test_attends():
    expected, p = truth.attention(Q, K, V, truth.allowed(5, 9, -1, 0))
    out, lse = posenc.attention(Q, K, V, causal=True, return_lse=True)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-5)
    logits = np.einsum('bihc,bjhc->bhij', Q.astype(np.float64), np.repeat(K, 2, 2)) * 32 ** -0.5
    masked = np.where(truth.allowed(5, 9, -1, 0), logits, -np.inf)
    np.testing.assert_allclose(lse[..., 0], np.log(np.exp(masked).sum(-1)).transpose(0, 2, 1), rtol=0, atol=1e-5)
    plain, probabilities = posenc.attention_reference(Q, K, V, causal=True)
    np.testing.assert_allclose(plain, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(probabilities, p, rtol=0, atol=1e-5)
    assert np.array_equal(posenc.attention(Q[0], K[0], V[0], causal=True), out[0])


def test_biases_windows_sinks_and_cap():
    slopes, sinks = posenc.alibi_slopes(4), truth.normal(4)
    bias = -slopes[:, None, None] * np.abs(truth.offsets_of(5, 9))
    given = dict(scale=0.2, cap=3.0, sinks=sinks)
    expected, _ = truth.attention(Q, K, V, truth.allowed(5, 9, 3, 0), bias, **given)
    out = posenc.attention(Q, K, V, causal=True, window=4, alibi_slopes=slopes, **given)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-5)
    as_bias = posenc.RelBias.alibi(slopes, range(-9, 10))
    same = posenc.attention(Q, K, V, causal=True, window=4, bias=as_bias, **given)
    np.testing.assert_allclose(same, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize('math, error', [('bf16', 3e-2), ('bf16x2', 2e-2), ('bf16x3', 1e-5)])
def test_math(math, error):
    expected, _ = truth.attention(Q, K, V)
    out = posenc.attention(Q, K, V, causal=False, math=math)
    np.testing.assert_allclose(out, expected, rtol=0, atol=error)
    assert not np.array_equal(out, posenc.attention(Q, K, V, causal=False))


def test_quantised_cache():
    k, v = truth.normal(2, 9, 2, 32, seed=1), truth.normal(2, 9, 2, 32, seed=2)
    rope = posenc.Rope(32, rot_fraction=0.0)  # not rotated: quantised alone
    blocks = [rope(x, 0, dtype='q8_0') for x in (k, v)]
    expected, _ = truth.attention(Q, k, v)
    for math in 'f32', 'int16':
        out = posenc.attention(Q, *blocks, causal=False, math=math, k_type='q8_0', v_type='q8_0')
        np.testing.assert_allclose(out, expected, rtol=0, atol=2e-2)
    with pytest.raises(ValueError, match='k: '):
        posenc.attention(Q, *blocks, causal=False)
    for name in 'q4_0', 'q5_0', 'q4_1', 'q5_1', 'iq4_nl':
        blocks = [rope(x, 0, dtype=name) for x in (k, v)]
        expected, _ = truth.attention(Q, *(posenc.dequantise(each, name) for each in blocks))
        out = posenc.attention(Q, *blocks, causal=False, math='int16', k_type=name, v_type=name)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-4)


def test_fp8_cache():
    """Scales of keys and values, as docs/recipes.md has them; without scales the bits of float32."""
    k, v = truth.normal(2, 9, 2, 32, seed=1), truth.normal(2, 9, 2, 32, seed=2)
    rope = posenc.Rope(32, rot_fraction=0.0)
    k_scale, v_scale = 0.02, 0.01
    codes = [rope((x / scale).astype(np.float32), 0, dtype='f8_e4m3') for x, scale in ((k, k_scale), (v, v_scale))]
    types = {'k_type': 'f8_e4m3', 'v_type': 'f8_e4m3'}
    numbers = [posenc.dequantise(each, 'f8_e4m3') for each in codes]
    for math in 'f32', 'int16':
        assert np.array_equal(posenc.attention(Q, *codes, causal=False, math=math, **types),
                              posenc.attention(Q, *numbers, causal=False))
    expected, _ = truth.attention(Q, k, v)
    out = posenc.attention(Q, *codes, causal=False, scale=k_scale / np.sqrt(32), **types) * v_scale
    np.testing.assert_allclose(out, expected, rtol=0, atol=0.1)
    with pytest.raises(ValueError, match='k_type|k: '):
        posenc.attention(Q, *codes, causal=False, k_type='f8_e5m2')


def test_keys_rotated_on_load():
    rope = posenc.Rope(32)
    table = rope.table(range(9))
    out = posenc.attention(Q, K, V, causal=True, k_rope=rope, k_table=table)
    assert np.array_equal(out, posenc.attention(Q, rope(K, 0), V, causal=True))
    with pytest.raises(ValueError, match='k_table'):
        posenc.attention(Q, K, V, causal=True, k_rope=rope, k_table=rope.table(range(8)))


def test_pages():
    pages = np.array([[3, 0, 2], [5, 1, 4]], np.int32)
    k_pages, v_pages = np.zeros((6, 4, 2, 32), np.float32), np.zeros((6, 4, 2, 16), np.float32)
    for b, j in np.ndindex(2, 9):
        k_pages[pages[b, j // 4], j % 4], v_pages[pages[b, j // 4], j % 4] = K[b, j], V[b, j]
    out = posenc.attention(Q, k_pages, v_pages, causal=True, pages=pages, n_k=9)
    assert np.array_equal(out, posenc.attention(Q, K, V, causal=True))
    with pytest.raises(ValueError, match='pages'):
        posenc.attention(Q, k_pages, v_pages, causal=True, pages=pages, n_k=13)
    with pytest.raises(posenc.Error, match='page'):
        posenc.attention(Q, k_pages, v_pages, causal=True, pages=pages + 1, n_k=9)


def test_lists():
    lists = np.array([[3, 0, -1], [8, 1, 4], [2, -1, 7], [5, 6, 7], [0, 1, 2]], np.int32)
    out = posenc.attention(Q, K, V, causal=False, lists=lists)
    for i, keys in enumerate(lists):
        keys = keys[:np.append(keys, -1).tolist().index(-1)]
        assert np.array_equal(out[:, i:i + 1], posenc.attention(Q[:, i:i + 1], K[:, keys], V[:, keys], causal=False))
    assert np.array_equal(posenc.attention(Q, K, V, causal=False, lists=np.stack([lists, lists])), out)
    assert np.array_equal(posenc.attention(Q, K, V, causal=True, lists=np.arange(9)),
                          posenc.attention(Q, K, V, causal=True))
    with pytest.raises(ValueError, match='lists'):
        posenc.attention(Q, K, V, causal=False, lists=lists[:4])
    with pytest.raises(posenc.Error):
        posenc.attention(Q, K, V, causal=False, lists=[9])


class BlockMask:
    """Attributes of torch's class of this name, as create_block_mask() makes them of a mask (n_batch, n_heads, n_q, n_k)."""

    def __init__(self, keep, q_block, k_block, has_full=True):
        n_batch, n_heads, n_q, n_k = keep.shape
        rows, columns = -(-n_q // q_block), -(-n_k // k_block)
        padded = np.pad(keep, ((0, 0), (0, 0), (0, rows * q_block - n_q), (0, columns * k_block - n_k)))
        counts = padded.reshape(n_batch, n_heads, rows, q_block, columns, k_block).sum((3, 5))
        full = (counts == q_block * k_block) if has_full else np.zeros_like(counts, bool)
        self.BLOCK_SIZE = q_block, k_block
        self.kv_num_blocks, self.kv_indices = self._lists((counts > 0) & ~full)
        self.full_kv_num_blocks, self.full_kv_indices = self._lists(full) if has_full else (None, None)

    @staticmethod
    def _lists(chosen):
        return chosen.sum(-1, dtype=np.int32), np.argsort(~chosen, -1, kind='stable').astype(np.int32)


@pytest.mark.parametrize('n_heads, has_full', [(1, True), (4, False), (4, True)])
def test_block_mask(n_heads, has_full):
    q, k, v = truth.normal(2, 150, 4, 16), truth.normal(2, 700, 2, 16, seed=3), truth.normal(2, 700, 2, 16, seed=4)
    keep = np.kron(truth.rng(5).random((2, n_heads, 5, 11)) < 0.3, np.ones((1, 1, 32, 64), bool))[:, :, :150, :700]
    keep &= truth.offsets_of(150, 700, 300) <= 100
    mask = BlockMask(keep, 32, 64, has_full)
    want = posenc.attention(q, k, v, causal=False, keep=keep)
    assert np.array_equal(posenc.attention(q, k, v, causal=False, block_mask=mask, keep=keep), want)
    assert np.array_equal(posenc.attention(q[:, :3], k, v, causal=False, block_mask=mask, keep=keep[:, :, :3], threads=2),
                          want[:, :3])
    x = truth.normal(2, 4, 150, 700)
    for call in posenc.softmax, posenc.logits:
        of_bytes = call(x, causal=False, keep=keep)
        assert np.array_equal(call(x, causal=False, block_mask=mask, keep=keep), of_bytes)
    assert np.array_equal(posenc.attention_reference(q, k, v, causal=False, block_mask=mask, keep=keep)[0],
                          posenc.attention_reference(q, k, v, causal=False, keep=keep)[0])
    with pytest.raises(posenc.Error, match='block_mask: does not go with tree: bool_mask can mask drafts'):
        posenc.attention(q, k, v, causal=False, block_mask=mask, tree=[-1] * 150)
    with pytest.raises(posenc.Error, match='lists do not go with block_mask: list only the keys that it leaves'):
        posenc.attention(q, k, v, causal=False, block_mask=mask, lists=[0])
    with pytest.raises(posenc.Error, match='ragged batches do not go with block_mask'):
        posenc.attention(q[0], k[0], v[0], causal=False, block_mask=BlockMask(keep[:1, :1], 32, 64), cu_q=[0, 150],
                         cu_k=[0, 700])
    mask.seq_lengths = 150, 699
    with pytest.raises(ValueError, match=r'block_mask: made for \(150, 699\) queries and keys, but the call has \(150, 700\)'):
        posenc.attention(q, k, v, causal=False, block_mask=mask, keep=keep)
    mask.seq_lengths = 150, 700
    mask.kv_indices = mask.kv_indices[..., ::-1].copy()
    with pytest.raises(posenc.Error, match='block_mask: row'):
        posenc.attention(q, k, v, causal=False, block_mask=mask, keep=keep)
    del mask.seq_lengths
    with pytest.raises(ValueError, match='block_mask: .*do not fit the queries'):
        posenc.attention(q[:1], k[:1], v[:1], causal=False, block_mask=BlockMask(keep, 32, 64))
    with pytest.raises(posenc.Error, match='block_mask: k_block is 8'):
        posenc.attention(q, k, v, causal=False, block_mask=BlockMask(keep, 32, 8))


def test_block_mask_of_other_masks():
    q, k, v = truth.normal(2, 150, 4, 16), truth.normal(2, 700, 2, 16, seed=3), truth.normal(2, 700, 2, 16, seed=4)
    keep = np.kron(truth.rng(5).random((2, 4, 5, 11)) < 0.3, np.ones((1, 1, 32, 64), bool))[:, :, :150, :700]
    given = {'causal': True, 'window': 300, 'query_start': 400, 'k_end': [650, 700], 'keep': keep}
    mask = posenc.block_mask(150, 700, 4, 2, q_block=32, k_block=64, **given)
    assert mask.full_kv_num_blocks.sum() > 20 and mask.kv_num_blocks.sum() > 20
    want = posenc.attention(q, k, v, **given)
    assert np.array_equal(posenc.attention(q, k, v, block_mask=mask, **given), want)
    shared = posenc.block_mask(150, 700, causal=True, window=300, query_start=400)
    assert shared.kv_indices.shape == (1, 1, 2, 6) and shared.BLOCK_SIZE == (128, 128)
    del given['keep']
    assert np.array_equal(posenc.attention(q, k, v, block_mask=shared, **given), posenc.attention(q, k, v, **given))
    whole = keep[:, :, :128, :640]
    plain, made = BlockMask(whole, 32, 64), posenc.block_mask(128, 640, 4, 2, q_block=32, k_block=64, causal=False, keep=whole)
    for names in ('kv_num_blocks', 'kv_indices'), ('full_kv_num_blocks', 'full_kv_indices'):
        of_plain, of_made = ([getattr(m, name) for name in names] for m in (plain, made))
        assert np.array_equal(of_made[0], of_plain[0])
        listed = np.arange(10) < of_plain[0][..., None]
        assert np.array_equal(of_made[1][listed], of_plain[1][listed])
    with pytest.raises(ValueError, match='q_block: a positive'):
        posenc.block_mask(150, 700, q_block=0, causal=True)
    with pytest.raises(posenc.Error, match='mask: k_block is 8'):
        posenc.block_mask(150, 700, k_block=8, causal=True)
    with pytest.raises(posenc.Error, match='tree: block masks do not go with it'):
        posenc.block_mask(3, 9, causal=False, tree=[-1, 0, 0])


def test_block_mask_of_torch_tensors():
    torch = pytest.importorskip('torch')
    q, k, v = (torch.randn(1, 2, 200, 16) for _ in range(3))
    keep = truth.allowed(200, 200, before=40, after=0)[None, None]
    mask = BlockMask(keep, 128, 128)
    for name in ('kv_num_blocks', 'kv_indices', 'full_kv_num_blocks', 'full_kv_indices'):
        setattr(mask, name, torch.from_numpy(getattr(mask, name)))
    out = posenc.attention(q, k, v, heads_first=True, causal=False, block_mask=mask, keep=torch.from_numpy(keep))
    assert torch.equal(out, posenc.attention(q, k, v, heads_first=True, causal=False, keep=torch.from_numpy(keep)))


@pytest.mark.parametrize('threads', [1, 2])
def test_ragged_batch(threads):
    """A prompt, decode, no query, two draft tokens: each as a call of the sequence alone, packed, side by side, in pages."""
    cu_q, cu_k = np.array([0, 30, 31, 31, 33]), np.array([0, 30, 60, 71, 85])
    q, k, v = truth.normal(33, 4, 16), truth.normal(85, 2, 16, seed=3), truth.normal(85, 2, 16, seed=4)
    sides = [np.zeros((4, 32, 2, 16), np.float32) for _ in 'kv']
    want = []
    for b in range(4):
        keys = slice(cu_k[b], cu_k[b + 1])
        for side, rows in zip(sides, (k, v)):
            side[b, :cu_k[b + 1] - cu_k[b]] = rows[keys]
        want.append(posenc.attention(q[cu_q[b]:cu_q[b + 1]], k[keys], v[keys], causal=True, window=9))
    want = np.concatenate(want)
    given = {'causal': True, 'window': 9, 'cu_q': cu_q, 'threads': threads}
    assert np.array_equal(posenc.attention(q, k, v, cu_k=cu_k, **given), want)
    assert np.array_equal(posenc.attention(q, *sides, k_end=np.diff(cu_k), **given), want)
    pages = np.arange(16).reshape(4, 4)[::-1]
    paged = [side.reshape(4, 4, 8, 2, 16)[::-1].reshape(16, 8, 2, 16) for side in sides]
    assert np.array_equal(posenc.attention(q, *paged, pages=pages, n_k=32, k_end=np.diff(cu_k), **given), want)
    with pytest.raises(posenc.Error, match='cu_q: from 0 to 32'):
        posenc.attention(q, k, v, causal=True, cu_q=[0, 32], cu_k=[0, 85])
    with pytest.raises(ValueError, match='cu_k: as many'):
        posenc.attention(q, k, v, causal=True, cu_q=[0, 33], cu_k=cu_k)
    with pytest.raises(ValueError, match='cu_q: n_batch'):
        posenc.attention(q, k, v, causal=True, cu_k=cu_k)
    with pytest.raises(posenc.Error, match='ragged batches do not go with bool_mask'):
        posenc.attention(q, k, v, causal=True, cu_q=[0, 33], cu_k=[0, 85], keep=np.ones(85, bool))


@pytest.mark.parametrize('head_dim, v_dim', [(0, 16), (16, 0), (10 ** 5, 16), (16, 10 ** 5)])
def test_dimensions_that_are_refused(head_dim, v_dim):
    q, v = np.ones((3, 2, head_dim), np.float32), np.ones((3, 2, v_dim), np.float32)
    with concurrent.futures.ThreadPoolExecutor(1) as fresh:  # a thread that has no scratch from another call
        with pytest.raises(posenc.Error, match='head_dim: '):
            fresh.submit(posenc.attention, q, q, v, causal=True).result()


def test_memory_runs_out():
    """In a helper thread, at some of many limits: MemoryError, and the program goes on."""
    pytest.importorskip('resource')
    code = """
import resource
import numpy as np
import posenc

def size():
    return int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()

q = np.ones((1, 64, 4, 512), np.float32)
out = np.empty_like(q)
refused = 0
for room in range(0, 40 << 20, 1 << 18):
    resource.setrlimit(resource.RLIMIT_AS, (size() + room, resource.RLIM_INFINITY))
    try:
        posenc.attention(q, q, q, causal=False, out=out, threads=4)
    except MemoryError:
        refused += 1
    resource.setrlimit(resource.RLIMIT_AS, 2 * (resource.RLIM_INFINITY,))
posenc.attention(q, q, q, causal=False, out=out, threads=4)
assert np.all(out == 1.0) and refused > 0, refused
"""
    assert subprocess.run([sys.executable, '-c', code], timeout=100).returncode == 0


def test_combines_states():
    a = posenc.attention(Q, K[:, :4], V[:, :4], causal=False, return_lse=True)
    b = posenc.attention(Q, K[:, 4:], V[:, 4:], causal=False, return_lse=True)
    out, _ = posenc.attention_combine(a, b)
    np.testing.assert_allclose(out, truth.attention(Q, K, V)[0], rtol=0, atol=1e-5)


def test_threads_change_no_bit():
    q, k, v = truth.normal(1, 1, 2, 64), truth.normal(1, 9000, 1, 64, seed=1), truth.normal(1, 9000, 1, 64, seed=2)
    one = posenc.attention(q, k, v, causal=True)
    assert np.array_equal(posenc.attention(q, k, v, causal=True, threads=3), one)  # parts of keys
    np.testing.assert_allclose(one, truth.attention(q, k, v)[0], rtol=0, atol=1e-5)
    many = [truth.normal(1, 300, 4, 64, seed=s) for s in range(3)]
    assert np.array_equal(posenc.attention(*many, causal=True, threads=4), posenc.attention(*many, causal=True))
