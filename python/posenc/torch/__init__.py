"""posenc for PyTorch: attention, rotations, softmax with biases, encodings, with gradients and torch.compile.

    posenc.torch.scaled_dot_product_attention    PyTorch's, with windows, sinks, cap, ALiBi, lists, FlexAttention's BlockMask
    posenc.torch.RotaryEmbedding and others      modules
    posenc.torch.softmax, rope, learned, t5 ...  functions with gradients for training
    torch.ops.posenc.*                           operators for torch.compile, torch.export and vmap

Tensors are float32, float16 or bfloat16 on the CPU; functions with gradients for training take float32 (RoPE: all
three). A second derivative is not defined. Operators need PyTorch 2.4 or later, the rest 1.13.
"""
from .attention import block_mask_bytes, scaled_dot_product_attention
from .gradients import (RelBias, alibi, gather, kerple, learned, relative_products, relative_values, rope, softmax, t5)
from .modules import (AlibiBias, LearnedPositionalEmbedding, RotaryEmbedding, SinusoidalPositionalEmbedding,
                      T5RelativeBias, apply_rotary_pos_emb)

__all__ = ['AlibiBias', 'LearnedPositionalEmbedding', 'RelBias', 'RotaryEmbedding', 'SinusoidalPositionalEmbedding',
           'T5RelativeBias', 'alibi', 'apply_rotary_pos_emb', 'block_mask_bytes',
           'gather', 'kerple', 'learned', 'relative_products',
           'relative_values', 'rope', 'scaled_dot_product_attention', 'softmax', 't5']
