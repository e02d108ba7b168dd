"""Description of a model: its heads, and how its positions are encoded."""
import math
from dataclasses import dataclass, field, replace

from .._core import Rope, _published


#: Largest bias of ALiBi. With a larger one, slopes are 0 in float32.
LARGEST_BIAS = 100.0


class Refused(ValueError):
    """One line that tells what is wrong with a file and how to put it right, without its path."""


@dataclass
class Heads:
    """Q or K as RoPE sees it: the rotated channels of a head begin at n_offs."""
    n_heads: int
    head_dim: int
    n_offs: int = 0


_SCALING = ('factor', 'original_context', 'max_context', 'context', 'beta_fast', 'beta_slow', 'ext_factor', 'truncate',
            'low_freq_factor', 'high_freq_factor', 'proportion', 'freq_factors', 'short_factors', 'long_factors',
            'ntk_alpha', 'attention_factor', 'mscale', 'mscale_all_dim', 'short_mscale', 'long_mscale', 'attn_factor',
            'temperature_beta')


def rope_arguments(params):
    """The arguments of posenc.Rope, beside head_dim, that RopeParams mean."""
    scaling = {'type': params.scaling, **{name: getattr(params, name) for name in _SCALING}}
    return {'layout': params.layout, 'base': params.base, 'n_rot': params.n_rot, 'n_offs': params.n_offs,
            'rot_fraction': params.rot_fraction, 'scaling': scaling, 'axes': params.axes,
            'sections': tuple(params.sections)}


@dataclass
class Table:
    """One list of frequencies. Some models have several: for kinds of layers, or for lengths of the context."""
    name: str               #: empty where there is only one
    q: Heads
    k: Heads
    params: object          #: RopeParams, of a head of Q
    n_layers: int = 0       #: that use it; 0: not known
    is_alternative: bool = False #: in the place of another table, in longer contexts
    is_inverse: bool = False     #: rotated by minus the position
    layer_types: tuple = ()      #: kinds of the layers that use it, as far as the file tells them

    def rope(self, **options):
        """The Rope of a head of Q. For latent attention: of the rotated channels alone, which Q and K have alike.
        options: arguments of Rope that win over the file."""
        params = self.params_of(self.q)
        if params.n_offs:
            params.head_dim, params.n_offs = params.n_rot, 0
        return self._made(params, options)

    def ropes(self):
        """The Ropes of whole heads, (of Q, of K)."""
        return tuple(self._made(self.params_of(heads), {}) for heads in (self.q, self.k))

    def _made(self, params, options):
        given = rope_arguments(params)
        if 'rot_fraction' in options: # n_rot would win
            given['n_rot'] = 0
        given.update({name: value for name, value in options.items() if name != 'scaling'})
        given['scaling'].update(options.get('scaling') or {})
        if not self.is_inverse:
            return Rope(params.head_dim, **given)
        theta = Rope(params.head_dim, **given).theta
        return Rope(params.head_dim, layout=given['layout'], n_rot=2 * len(theta), n_offs=given['n_offs'], theta=-theta)

    def has_heads_of(self, other):
        """Whether heads of Q and K are as many, and as wide."""
        return all((a.n_heads, a.head_dim) == (b.n_heads, b.head_dim)
                   for a, b in ((self.q, other.q), (self.k, other.k)))

    def params_of(self, heads):
        """Parameters of a Rope for the heads of Q or of K."""
        params = self.params.copy()
        params.head_dim, params.n_offs = heads.head_dim, heads.n_offs
        return params


@dataclass
class Model:
    model_type: str = ''
    architecture: str = ''
    positions: str = ''    #: rope, alibi, learned, sinusoidal, relative_buckets, relative_keys or none
    hidden_size: int = 0
    n_heads: int = 0
    n_kv_heads: int = 0
    head_dim: int = 0
    n_layers: int = 0
    max_position: int = 0       #: 0: not stated
    max_bias: float = 8.0       #: ALiBi: the smallest slope is 2^-max_bias
    bias_is_scaled: bool = False #: ALiBi: the bias is multiplied by 1/sqrt(head_dim), as the products are
    has_qk_norm: bool = False   #: each head of Q and K is normalised first
    n_kv_shared: int = 0        #: of the last layers, which have no K and V of their own
    coordinates: str = ''       #: of a tower for images: what a patch has as positions, axis by axis
    output_rotates: bool = False #: K and V are one, and attention's output is rotated back by the query's position
    is_inverse: bool = False     #: heads are rotated by minus the position
    tables: list = field(default_factory=list)
    not_understood: dict = field(default_factory=dict) #: its keys are names, of which a file may have thousands
    guessed: dict = field(default_factory=dict)        #: what neither the file nor its type tells, by argument of Rope

    def note(self, name):
        """A name that nobody has understood."""
        self.not_understood[name] = True

    def new_table(self, name, like=None, n_layers=0):
        """The next table, for the model's heads, with parameters like those (None: the library's defaults)."""
        table = Table(name, Heads(self.n_heads, self.head_dim), Heads(self.n_kv_heads, self.head_dim),
                      like.copy() if like is not None else _published.RopeParams(), n_layers,
                      is_inverse=self.is_inverse)
        self.tables.append(table)
        return table

    def rotated_layers(self):
        if any(table.n_layers == 0 for table in self.tables): # nothing tells
            return self.n_layers
        return sum(table.n_layers for table in self.tables if not table.is_alternative)

    def main_table(self):
        """The table of most layers: their heads may differ."""
        return max(self.tables, key=lambda table: table.n_layers)


# ---- Fields by their published names, for the library to understand ----

STATUS = _published.RopeStatus


def _bytes(text):
    """For comparison with names, of which none has a surrogate."""
    return text.encode(errors='surrogatepass')


def set_number(params, name, value):
    """Whether the library knows the name; a value that makes no sense is refused."""
    status = params.set_number(_bytes(name), value)
    if status == STATUS.N_ROT:
        raise Refused(f'"{name}" is {value:g}; as a part of the channels it has to be above 0 and at most 1: correct '
                      'it')
    if status == STATUS.SHAPE:
        raise Refused(f'"{name}" is {value:g}; it has to be a whole number: correct it')
    return status != STATUS.ENUM


def set_string(params, name, value):
    """Whether the library knows the name; a scaling that posenc does not have is refused."""
    is_known = params.set_string(_bytes(name), _bytes(value)) == STATUS.OK
    if not is_known and params.copy().set_string(_bytes(name), b'none') == STATUS.OK:
        raise Refused(f'"{name}" is "{value:.48}", a scaling that posenc does not have; it has default, linear, '
                      'dynamic, yarn, longrope, llama3 and proportional')
    return is_known


def set_list(params, name, values):
    """Whether the library knows the name."""
    n_before = params.n_factors
    status = params.set_list(_bytes(name), values)
    if status == STATUS.FACTORS:
        raise Refused(f'"{name}" has {len(values)} numbers, and another list of factors has {n_before}; correct one of '
                      'them')
    return status != STATUS.ENUM


def check_no_number(name):
    """For a value that has not been understood: where the library knows the name as that of a number, it is refused."""
    if _published.RopeParams().set_number(_bytes(name), 1.0) != STATUS.ENUM:
        raise Refused(f'"{name}" is no number; correct it')


def set_sections(params, kind, sections, name):
    """M-RoPE: the sections, perhaps with a last one of 0 pairs."""
    if not 2 <= len(sections) <= _published.MAX_AXES:
        raise Refused(f'M-RoPE has {len(sections)} sections, but 2 to {_published.MAX_AXES} are possible')
    for pairs in sections:
        if not (0.0 <= pairs <= 1e6 and pairs == math.floor(pairs)):
            raise Refused(f'"{name}" holds {pairs:g}, and a section is a number of pairs; correct it')
    params.axes = kind
    params.sections = [int(pairs) for pairs in sections]


# ---- Lengths of the context ----


def _split_longrope(model, table):
    """LongRoPE has one list up to the original context and one beyond: both count, unless a length was given."""
    params = table.params
    original = params.original_context or params.max_context
    params.context = original
    if params.max_context <= original:
        return
    beyond = replace(table, name=f'beyond {original:.0f} positions', params=params.copy(), is_alternative=True)
    beyond.params.context = params.max_context
    table.name = f'up to {original:.0f} positions'
    model.tables.append(beyond)


def choose_context(model, table, context):
    """context: the longest sequence to come; 0: as long as the model takes."""
    params = table.params
    params.context = context
    if context:
        return
    if params.scaling == 'longrope':
        _split_longrope(model, table)
    elif params.scaling == 'dynamic' and not params.ntk_alpha: # below that it changes nothing
        params.context = params.factor * (params.max_context or params.original_context)
