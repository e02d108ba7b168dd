"""Exact rotation in place of a model's rotary modules."""
import warnings

import numpy as np
import torch
from torch import nn

from ..torch.modules import cos_sin

_TYPES = 'default', 'linear', 'llama3', 'yarn', 'proportional'  # whose frequencies do not depend on the length


def _exact_theta(inv_freq, base):
    """Powers of the base in double if they are these numbers of float32, else the numbers themselves."""
    given = inv_freq.detach().double().numpy()
    if base:
        exact = float(base) ** (-np.arange(len(given), dtype=np.float64) / len(given))
        if np.allclose(exact, given, rtol=3e-7, atol=0):
            return exact
    return given


class ExactRotary(nn.Module):
    """A rotary module of Transformers whose angles are computed by posenc, exact at any position.

    It keeps the original's order of channels and factor; forward(x, position_ids) or (x, position_ids, layer_type).
    """

    def __init__(self, original, theta, scaling, interleaved):
        super().__init__()
        self.config = original.config
        self.theta, self.scaling, self.interleaved = theta, scaling, interleaved  # by the type of layer, or of None

    def extra_repr(self):
        return ', '.join(f'{"" if name is None else name + ": "}{len(theta)} pairs' for name, theta in
                         self.theta.items())

    @torch.no_grad()
    def forward(self, x, position_ids, layer_type=None):
        key = layer_type if layer_type in self.theta else None
        rows = cos_sin(position_ids, self.theta[key])
        factor = self.scaling[key]
        if factor != 1.0:
            rows = [each * factor for each in rows]
        if self.interleaved:
            rows = [each.repeat_interleave(2, dim=-1) for each in rows]
        else:
            rows = [torch.cat((each, each), dim=-1) for each in rows]
        return tuple(each.to(x.dtype) for each in rows)


def _parameters(module, name):
    """(theta, factor) of a type of layers, or None where frequencies depend on the length of the input."""
    prefix = '' if name is None else f'{name}_'
    types = getattr(module, 'rope_type', 'default')
    kind = types.get(name) if isinstance(types, dict) else types
    if kind not in _TYPES:
        return None
    parameters = getattr(module.config, 'rope_parameters', None) or {}
    parameters = parameters.get(name, parameters) if name is not None else parameters
    base = parameters.get('rope_theta') or getattr(module.config, 'rope_theta', None)
    theta = _exact_theta(getattr(module, f'{prefix}inv_freq'), base if kind == 'default' else None)
    return theta, float(getattr(module, f'{prefix}attention_scaling', 1.0))


def exact(module):
    """An ExactRotary for this module, or None if that would not give its numbers at small positions."""
    names = [name[:-len('_inv_freq')] for name, _ in module.named_buffers(recurse=False)
             if name.endswith('_inv_freq') and not name.endswith('original_inv_freq')]
    names = names or [None]
    found = {name: _parameters(module, name) for name in names}
    if None in found.values():
        return None
    theta = {name: pair[0] for name, pair in found.items()}
    scaling = {name: pair[1] for name, pair in found.items()}
    positions = torch.tensor([[0, 1, 2, 5, 11]])
    for interleaved in False, True:
        mine = ExactRotary(module, theta, scaling, interleaved)
        if all(_agree(module, mine, positions, name) for name in names):
            return mine
    return None


def _agree(module, mine, positions, name):
    more = () if name is None else (name,)
    x = torch.zeros(1, 1, 1)
    try:
        theirs, ours = module(x, positions, *more), mine(x, positions, *more)
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
        return False
    return isinstance(theirs, tuple) and len(theirs) == 2 and all(
        a.shape == b.shape and torch.allclose(a.float(), b, rtol=0, atol=1e-5) for a, b in zip(theirs, ours))


def patch(model):
    """Replaces the rotary modules of a model by exact ones, in place, and returns how many there were.

    A module is replaced if its frequencies do not depend on the length of the input, and if it gives the same cosines
    and sines at small positions; others are left as they are, with a warning.
    """
    replaced = 0
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if 'Rotary' not in type(child).__name__ or not any('inv_freq' in each for each, _ in child.named_buffers()):
                continue
            mine = exact(child)
            if mine is None:
                warnings.warn(f'{type(child).__name__}: its rotation is not understood, and left as it is', stacklevel=2)
                continue
            setattr(parent, name, mine)
            replaced += 1
    return replaced
