"""posenc for Transformers, in one line before a model is loaded:

    import posenc.transformers; posenc.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation='posenc')

register() adds the attention function and its mask function; patch(model) replaces the rotary modules by exact ones.
docs/transformers.md says what was tested and what falls back.
"""
from functools import partial

from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from .adapter import attention
from .masks import Mask, build_mask, check_recognition
from .rotary import patch

__all__ = ['Mask', 'attention', 'patch', 'register']


def register(name='posenc', *, math='f32'):
    """Makes attn_implementation=name known to Transformers, attention and mask.

    math: arithmetic of the products, as for posenc.attention: 'f32', or for models in bfloat16 on a CPU with matrix
    units 'bf16', 'bf16x2' or 'bf16x3'. The number of threads is PyTorch's.
    """
    check_recognition()
    AttentionInterface.register(name, attention if math == 'f32' else partial(attention, math=math))
    AttentionMaskInterface.register(name, build_mask)
