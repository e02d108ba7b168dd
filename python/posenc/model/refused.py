"""Why a model's rotary parameters are refused: the keys of its file that are to blame, and what to do."""
import math
from dataclasses import dataclass

from .._core import _published
from .description import STATUS, Refused

#: Largest factor; 1 / _LARGEST is the smallest.
_LARGEST = 1e30
_ALL = frozenset(('none', 'linear', 'ntk', 'dynamic', 'yarn', 'longrope', 'llama3', 'proportional'))


@dataclass(frozen=True)
class _Number:
    """As rope.h and rope_scaling.h have it, but for numbers that make no sense in a model, of which the library takes
    more. 0 is a number that is not given, unless there is a default."""
    json: str
    gguf: str #: without the architecture
    member: str
    low: float
    high: float
    judged: frozenset = _ALL      #: by scalings of these types
    needed: frozenset = frozenset()


def _types(names):
    return frozenset(names.split())


_NUMBERS = (
    _Number('rope_theta" or "rotary_emb_base', 'rope.freq_base', 'base', 1.0, 1e30, needed=_ALL),
    _Number('factor', 'rope.scaling.factor', 'factor', 1.0, 1e9,
            _types('linear ntk dynamic yarn longrope llama3 proportional'), _types('linear ntk dynamic llama3')),
    _Number('alpha', '', 'ntk_alpha', 1.0, 1e9, _types('ntk dynamic')),
    _Number('original_max_position_embeddings', 'rope.scaling.original_context_length', 'original_context', 1.0, 1e15,
            _types('dynamic yarn longrope llama3'), _types('llama3')),
    _Number('max_position_embeddings', 'context_length', 'max_context', 1.0, 1e15, _types('dynamic yarn longrope')),
    _Number('low_freq_factor', '', 'low_freq_factor', 1 / _LARGEST, _LARGEST, _types('llama3'), _types('llama3')),
    _Number('high_freq_factor', '', 'high_freq_factor', 1 / _LARGEST, _LARGEST, _types('llama3'), _types('llama3')),
    _Number('beta_fast', 'rope.scaling.yarn_beta_fast', 'beta_fast', 1e-9, 1e9, _types('yarn'), _types('yarn')),
    _Number('beta_slow', 'rope.scaling.yarn_beta_slow', 'beta_slow', 1e-9, 1e9, _types('yarn'), _types('yarn')),
    _Number('extrapolation_factor', 'rope.scaling.yarn_ext_factor', 'ext_factor', 0.0, 1.0, _types('yarn')),
    _Number('attention_factor', 'rope.scaling.yarn_attn_factor', 'attention_factor', 1 / _LARGEST, _LARGEST),
    _Number('', 'rope.scaling.attn_factor', 'attn_factor', 1 / _LARGEST, _LARGEST),
)


def _is_needed(number, params):
    """Lengths do where others are not given."""
    if number.member == 'factor' and params.scaling == 'yarn':
        return not (params.max_context > 0.0 and params.max_context >= params.original_context)
    if number.member == 'factor' and params.scaling in ('ntk', 'dynamic') and params.ntk_alpha:
        return False
    if number.member == 'max_context':
        has_magnitude = params.factor or params.attention_factor or params.attn_factor
        return params.original_context == 0.0 or (params.scaling == 'longrope' and not has_magnitude)
    return params.scaling in number.needed


class Names:
    """Names that complaints use: of config.json, or of GGUF."""

    def __init__(self, architecture=None):
        """architecture: of a GGUF file."""
        self.is_gguf = architecture is not None
        self.prefix = f'{architecture}.' if self.is_gguf else ''

    def of(self, json, gguf):
        return gguf if self.is_gguf else json


def _check_numbers(params, names):
    for number in _NUMBERS:
        value = getattr(params, number.member)
        if params.scaling not in number.judged or (value == 0.0 and not _is_needed(number, params)) or \
                number.low <= value <= number.high:
            continue
        missing = ' or missing' if value == 0.0 else ''
        raise Refused(f'"{names.prefix}{names.of(number.json, number.gguf)}" is {value:g}{missing}; it has to be '
                      f'{number.low:g} to {number.high:g}: correct it')


def _check_list(name, values, is_needed, params):
    n_pairs = params.n_rot // 2
    if values is None and is_needed:
        raise Refused(f'"{name}" is missing, and this length of the context needs it; add it')
    if values is not None and len(values) != n_pairs:
        raise Refused(f'"{name}" has {len(values)} numbers for the {n_pairs} pairs of a head; correct it')
    for i, value in enumerate(values or ()):
        if not 1.0 / _published.MAX_FREQUENCY <= value <= _LARGEST:
            raise Refused(f'number {i + 1} of "{name}" is {value:g}; it has to be 1/{_published.MAX_FREQUENCY:g} to '
                          f'{_LARGEST:g}: correct it')


def _check_lists(params, names):
    is_longrope = params.scaling == 'longrope'
    is_long = params.context > (params.original_context or params.max_context)
    _check_list('rope_freqs.weight', params.freq_factors, False, params)
    _check_list(names.of('short_factor', 'rope_factors_short.weight'), params.short_factors,
                is_longrope and not is_long, params)
    _check_list(names.of('long_factor', 'rope_factors_long.weight'), params.long_factors, is_longrope and is_long,
                params)


def check_sense(params, names):
    """Refuses parameters that the library takes and that make no sense in a model."""
    _check_numbers(params, names)
    _check_lists(params, names)


# ---- What goes with what ----


def _refuse_channels(params, names):
    if params.n_rot == 2 and params.scaling in ('ntk', 'dynamic'):
        raise Refused('2 rotated channels cannot be scaled by dynamic NTK; take another type, or none')
    most = '' if params.axes == 'single' else f', at most {_published.MAX_AXES_ROT} where tokens have several positions'
    correct = names.of('"head_dim", or what tells the rotated part: "partial_rotary_factor", "rotary_pct", '
                       '"rotary_dim" or "qk_rope_head_dim"', 'rope.dimension_count or attention.key_length')
    raise Refused(f'{params.n_rot} of the {params.head_dim} channels of a head are to be rotated; it has to be an even '
                  f'number of them{most}: correct {correct}')


def _refuse_sections(params, names):
    name = names.of('xdrope_section' if params.scaling == 'ntk' else 'mrope_section', 'rope.dimension_sections')
    total, n_pairs = sum(params.sections), params.n_rot // 2
    if total != n_pairs:
        raise Refused(f'the sections of "{name}" add up to {total} pairs, but a head has {n_pairs}; correct it')
    raise Refused(f'"{name}" has {len(params.sections)} sections, or one below 0, which does not fit this kind of '
                  'M-RoPE; correct it')


def _refuse_yarn(params, names, status):
    slow, fast = (f'"{names.prefix}{names.of("", "rope.scaling.yarn_")}beta_{speed}"' for speed in ('slow', 'fast'))
    if status == STATUS.BASE:
        base = names.of('"rope_theta"', 'rope.freq_base')
        raise Refused(f'a base of 1 gives every pair the same frequency, and YaRN no ramp; correct {base}')
    if params.beta_slow > params.beta_fast:
        raise Refused(f'{slow} is {params.beta_slow:g}, and must not be above {fast}, {params.beta_fast:g}; correct '
                      'one of them')
    if status == STATUS.CONTEXT:
        original = params.original_context or params.max_context
        raise Refused(f'an original context of {original:g} tokens does not go with '
                      f"YaRN's {slow}, {params.beta_slow:g}, and {fast}, {params.beta_fast:g}; correct one of them")
    raise Refused(f'"mscale", {params.mscale:g}, and "mscale_all_dim", {params.mscale_all_dim:g}, make a factor on the '
                  'cosines that is not positive; correct one of them')


def _refuse_numbers(params, names, status):
    """Each number is in its range."""
    if params.scaling == 'none' and params.factor not in (0.0, 1.0):
        factor = names.of('factor', 'rope.scaling.factor')
        type_ = names.of('rope_type', 'rope.scaling.type')
        raise Refused(f'"{factor}" is {params.factor:g}, but no scaling is stated; add its type ("{type_}"), or leave '
                      'the factor away')
    if params.scaling == 'llama3':
        raise Refused(f'"low_freq_factor" is {params.low_freq_factor:g}, and must not be above "high_freq_factor", '
                      f'{params.high_freq_factor:g}; correct one of them')
    if params.scaling in ('ntk', 'dynamic'):
        raise Refused(f'a base of {params.base:g}, grown by a factor of {params.ntk_alpha or params.factor:g}, is '
                      'beyond 1e30; correct one of them')
    if params.scaling == 'yarn':
        _refuse_yarn(params, names, status)


def refuse(params, names, status):
    """The library's refusal of parameters, in terms of the file."""
    params = params.copy()
    if params.n_rot == 0:
        params.n_rot = math.floor(params.head_dim * params.rot_fraction)
    if status == STATUS.N_ROT:
        _refuse_channels(params, names)
    elif status == STATUS.SECTIONS:
        _refuse_sections(params, names)
    elif status in (STATUS.FACTORS, STATUS.FREQUENCY):
        _check_lists(params, names)
    else:
        _check_numbers(params, names)
        _refuse_numbers(params, names, status)
    raise Refused(f'its RoPE parameters do not go together: {status.text}') # if nothing is named
