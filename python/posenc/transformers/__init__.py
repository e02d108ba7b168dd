"""posenc for Transformers, in one line before a model is loaded:

    import posenc.transformers; posenc.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation='posenc')

register() adds the attention function and its mask function; patch(model) replaces the rotary modules by exact ones.
docs/transformers.md says what was tested and what falls back.
"""
import functools
import warnings

from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface

from .adapter import attention
from .masks import Mask, build_mask, check_recognition
from .rotary import patch

__all__ = ['Mask', 'attention', 'build_mask', 'patch', 'register']

_names = set()


def register(name='posenc', *, math='f32'):
    """Makes attn_implementation=name known to Transformers, attention and mask.

    math: arithmetic of the products, as for posenc.attention: 'f32', or for models in bfloat16 on a CPU with matrix
    units 'bf16', 'bf16x2' or 'bf16x3'. The number of threads is PyTorch's.

    A model whose code has no place for an attention function gets sdpa or eager, with a warning: Transformers itself
    would give such code the masks of this one.
    """
    check_recognition()
    AttentionInterface.register(name, attention if math == 'f32' else functools.partial(attention, math=math))
    AttentionMaskInterface.register(name, build_mask)
    if not _names:
        _guard_models()
    _names.add(name)


def _takes_functions(model):
    if model._supports_attention_backend:
        return True
    uses_interface = getattr(model, '_can_set_attn_implementation', None)  # by the source of the model
    return uses_interface is not None and uses_interface()


def _guard_models():
    inner = PreTrainedModel._check_and_adjust_attn_implementation

    @functools.wraps(inner)
    def check_and_adjust(self, attn_implementation, *args, **given):
        if attn_implementation in _names and not _takes_functions(self):
            warnings.warn(f'{type(self).__name__} takes no attention function: it is computed by sdpa or eager, not by '
                          'posenc', stacklevel=2)
            attn_implementation = None
        return inner(self, attn_implementation, *args, **given)

    PreTrainedModel._check_and_adjust_attn_implementation = check_and_adjust
