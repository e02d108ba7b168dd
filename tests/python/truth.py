"""Formulas in double, written from docs/formulas.md and not from the library."""
import numpy as np


def rng(seed=0):
    return np.random.default_rng(seed)


def normal(*shape, dtype='float32', seed=0):
    return rng(seed).standard_normal(shape).astype(dtype)


def theta(n_rot, base=10000.0):
    return float(base) ** (-2.0 * np.arange(n_rot // 2) / n_rot)


def rotate(x, positions, n_rot=None, base=10000.0, layout='half', sign=1.0):
    """x (.., n_tokens, n_heads, head_dim) rotated in its first n_rot channels (B.2, B.3)."""
    x = np.asarray(x, np.float64)
    n_rot = n_rot or x.shape[-1]
    angle = np.asarray(positions, np.float64)[..., None] * theta(n_rot, base)
    cos, sin = np.cos(angle)[..., None, :], sign * np.sin(angle)[..., None, :]
    y = x.copy()
    first = slice(0, n_rot // 2) if layout == 'half' else slice(0, n_rot, 2)
    second = slice(n_rot // 2, n_rot) if layout == 'half' else slice(1, n_rot, 2)
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., second] * cos + x[..., first] * sin
    return y


def offsets_of(n_q, n_k, query_start=None):
    """Key minus query, (n_q, n_k)."""
    start = n_k - n_q if query_start is None else query_start
    return np.arange(n_k)[None, :] - (start + np.arange(n_q))[:, None]


def allowed(n_q, n_k, before=-1, after=-1, query_start=None):
    offset = offsets_of(n_q, n_k, query_start)
    return ((before < 0) | (-offset <= before)) & ((after < 0) | (offset <= after))


def softmax(logits, seen=True, sinks=None):
    """Over the last axis; rows that see nothing are 0. sinks: a logit for each head (.., head, query, key)."""
    logits = np.where(seen, np.asarray(logits, np.float64), -np.inf)
    most = logits.max(-1, keepdims=True)
    if sinks is not None:
        sink = np.asarray(sinks, np.float64)[:, None, None]
        most = np.maximum(most, sink)
    most = np.where(np.isfinite(most), most, 0.0)
    e = np.exp(logits - most)
    total = e.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sink - most)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def attention(q, k, v, seen=True, bias=0.0, scale=None, cap=0.0, sinks=None):
    """q (n_batch, n_q, n_heads, d), k and v (n_batch, n_k, n_kv_heads, d)."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    logits = np.einsum('bihc,bjhc->bhij', q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if cap:
        logits = cap * np.tanh(logits / cap)
    p = softmax(logits + bias, seen, sinks)
    return np.einsum('bhij,bjhc->bihc', p, v), p


def t5_bucket(offset, num_buckets, max_distance, bidirectional):
    """C.5, for one offset, key minus query."""
    bucket, distance = 0, -offset
    if bidirectional:
        num_buckets //= 2
        bucket = num_buckets if offset > 0 else 0
        distance = abs(distance)
    distance = max(distance, 0)
    exact = num_buckets // 2
    if distance < exact:
        return bucket + distance
    far = exact + int(np.log(distance / exact) / np.log(max_distance / exact) * (num_buckets - exact) + 1e-12)
    return bucket + min(far, num_buckets - 1)
