"""Modules with the names that people look for. Learned numbers are Parameters, published ones are computed again."""
import torch
from torch import nn

import posenc

from . import gradients, ops


def cos_sin(positions, theta):
    """cos and sin of positions times each of theta, exact for any position: float32 (..., len(theta)) each."""
    if ops.needs_operator(positions):
        ops.require_operators('a rotation in torch.compile')
        return torch.ops.posenc.cos_sin(positions, theta)
    return ops.cos_sin(positions, theta)


class RotaryEmbedding(nn.Module):
    """Cosines and sines of positions: in place of the rotary modules of Transformers, and exact at any position.

    theta: radians per position of each pair, or a posenc.Rope that has them. interleaved: values of a pair lie side by
    side, else half a head apart. scaling: the factor on both, the Rope's magnitude if there is one.

    forward(x, position_ids): cos and sin, each (*position_ids.shape, 2 * n_pairs), of the type of x.
    """

    def __init__(self, theta, *, interleaved=False, scaling=None):
        super().__init__()
        if isinstance(theta, posenc.Rope):
            scaling = theta.magnitude if scaling is None else scaling
            theta = theta.theta
        self.theta = [float(number) for number in theta]
        self.interleaved = interleaved
        self.attention_scaling = 1.0 if scaling is None else float(scaling)

    def extra_repr(self):
        return f'{len(self.theta)} pairs, interleaved={self.interleaved}, scaling={self.attention_scaling:g}'

    @torch.no_grad()
    def forward(self, x, position_ids):
        def spread(rows):
            if self.attention_scaling != 1.0:
                rows = rows * self.attention_scaling
            if self.interleaved:
                rows = rows.repeat_interleave(2, dim=-1)
            else:
                rows = torch.cat((rows, rows), dim=-1)
            return rows.to(x.dtype)

        cos, sin = cos_sin(position_ids, self.theta)
        return spread(cos), spread(sin)


def _apply_table(x, cos, sin, layout):
    if ops.needs_operator(x):
        ops.require_operators('a rotation with a gradient, or in torch.compile,')
        return torch.ops.posenc.rope_table(x, cos, sin, layout, 'forward')
    return ops.apply_table(x, cos, sin, layout, 'forward')


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1, *, layout='half'):
    """q and k rotated, as the function of this name in Transformers does it.

    q, k: (n_batch, n_heads, n_tokens, head_dim), or with unsqueeze_dim=2 (n_batch, n_tokens, n_heads, head_dim). cos,
    sin: (1 or n_batch, n_tokens, n), as RotaryEmbedding gives them; they have no gradient.
    """
    cos, sin = cos.float(), sin.float()

    def rotated(x):
        if unsqueeze_dim == 2:
            return _apply_table(x, cos, sin, layout)
        return _apply_table(x.transpose(1, 2), cos, sin, layout).transpose(1, 2)

    return rotated(q), rotated(k)


class SinusoidalPositionalEmbedding(nn.Module):
    """Rows of the sinusoidal encoding: forward(position_ids) gives float32 (*position_ids.shape, dim).

    layout, schedule: as for posenc.sinusoidal: 'interleaved' as in the paper, or 'concat', with the schedule 'half'
    (Marian, Pegasus) or 'half_minus_1' (fairseq, Whisper).
    """

    def __init__(self, dim, *, layout='interleaved', schedule='', base=10000.0):
        super().__init__()
        posenc.sinusoidal(dim, layout, schedule=schedule, base=base)  # refuses what is wrong
        self.dim, self.layout, self.schedule, self.base = dim, layout, schedule, float(base)

    def extra_repr(self):
        return f'{self.dim}, layout={self.layout!r}, schedule={self.schedule!r}, base={self.base:g}'

    def forward(self, position_ids):
        call = torch.ops.posenc.sinusoidal if ops.HAS_OPERATORS else ops.sinusoidal
        return call(position_ids, self.dim, self.layout, self.schedule, self.base)


class LearnedPositionalEmbedding(nn.Module):
    """A table with a row for each position: forward(position_ids) gives (*position_ids.shape, dim).

    offset: added to positions (OPT: 2). Positions without a row are refused.
    """

    def __init__(self, n_positions, dim, *, offset=0, deviation=0.02):
        super().__init__()
        self.offset = offset
        self.weight = nn.Parameter(torch.empty(n_positions, dim))
        nn.init.normal_(self.weight, std=deviation)

    def extra_repr(self):
        return f'{self.weight.shape[0]}, {self.weight.shape[1]}, offset={self.offset}'

    def forward(self, position_ids):
        if ops.HAS_OPERATORS:
            return torch.ops.posenc.learned(self.weight, position_ids, self.offset, 1.0, 'error')
        flat = gradients.learned(self.weight, position_ids.reshape(1, -1), offset=self.offset)
        return flat.view(*position_ids.shape, -1)


class AlibiBias(nn.Module):
    """ALiBi with the published slopes: forward(n_q, n_k) gives the bias (n_heads, n_q, n_k), last query at last key.

    slopes is a buffer, for alibi_slopes of scaled_dot_product_attention, which needs no matrix.
    """

    def __init__(self, n_heads, *, max_bias=8.0):
        super().__init__()
        slopes = torch.from_numpy(posenc.alibi_slopes(n_heads, max_bias))
        self.register_buffer('slopes', slopes, persistent=False)

    def extra_repr(self):
        return f'{len(self.slopes)} heads'

    def forward(self, n_q, n_k):
        offsets = torch.arange(n_k) - torch.arange(n_k - n_q, n_k)[:, None]
        return -(self.slopes[:, None, None] * offsets.abs())


class T5RelativeBias(nn.Module):
    """T5's relative bias: forward(n_q, n_k) gives (1, n_heads, n_q, n_k), the last query at the last key.

    weight: (num_buckets, n_heads), as relative_attention_bias.weight of a checkpoint. rel_bias() is the same for
    posenc.torch.softmax, without a matrix.
    """

    def __init__(self, n_heads, *, num_buckets=32, max_distance=128, bidirectional):
        super().__init__()
        self.max_distance, self.bidirectional = max_distance, bidirectional
        self.weight = nn.Parameter(torch.empty(num_buckets, n_heads))
        nn.init.normal_(self.weight, std=0.02)

    def extra_repr(self):
        n_buckets, n_heads = self.weight.shape
        return f'{n_heads} heads, {n_buckets} buckets, bidirectional={self.bidirectional}'

    def rel_bias(self):
        return gradients.t5(self.weight, max_distance=self.max_distance, bidirectional=self.bidirectional)

    def forward(self, n_q, n_k):
        bias = self.rel_bias()
        offsets = torch.arange(n_k) - torch.arange(n_k - n_q, n_k)[:, None]
        at = offsets.clamp(bias.offsets.start, bias.offsets.stop - 1) - bias.offsets.start
        return bias.data[:, at][None]
