"""The kinds of facts that a file leaves to its model_type (Hugging Face) or architecture (GGUF).

families.py has the facts of each model_type, families_gguf.py those of each architecture.
"""
from dataclasses import dataclass, field

#: Kinds of layers that have no Q and K to rotate.
NOT_ATTENTION = frozenset(('mamba', 'mamba2', 'linear_attention', 'conv', 'recurrent', 'moe', 'mlp', 'ssm'))


@dataclass(frozen=True)
class Layers:
    """Tells which layers see all keys, and which rotate. Without arguments all layers do both."""
    full_every: int = 0                #: one of so many layers sees all keys, the others have a sliding window
    full_comes_first: bool = False     #: of those so many, and not last
    unrotated_every: int = 0           #: the last of so many layers does not rotate
    attention_every: int = 0           #: the last of so many layers is attention, the others have no Q and K
    counts_from_end: bool = False      #: the last layer is the last of its group, whatever their number
    only_windows_rotate: bool = False
    only_if_windows: bool = False      #: no pattern where the file has no sliding window (GGUF) or a null one (JSON)
    windows_unscaled: bool = False     #: layers with a window rotate by the same base, but are not scaled
    blocks: tuple = ()                 #: kinds of the first layers, which repeat

    def kind(self, i):
        """Layer i by the names of config.json's layer_types; '' where no layer has a window."""
        if self.blocks:
            return self.blocks[i % len(self.blocks)]
        if self.full_every == 0:
            return ''
        is_full = i % self.full_every == (0 if self.full_comes_first else self.full_every - 1)
        return 'full_attention' if is_full else 'sliding_attention'

    def rotates(self, i, kind):
        """kind: as above, or as the file has it."""
        if kind in NOT_ATTENTION:
            return False
        if self.only_windows_rotate and kind != 'sliding_attention':
            return False
        if self.attention_every and (i + 1) % self.attention_every:
            return False
        return self.unrotated_every == 0 or (i + 1) % self.unrotated_every != 0

    def place(self, i, n):
        """The index by which layer i of n is judged."""
        every = self.full_every or self.unrotated_every
        return i - n % every if self.counts_from_end and every else i

    def count(self, n, kind=''):
        """The number of layers, of n, that rotate and are of that kind; '': of any."""
        return sum(self.rotates(i, self.kind(i)) and kind in ('', self.kind(i)) for i in range(n))


@dataclass(frozen=True)
class Architecture:
    """Numbers are those of a file that is silent; 0: there is no such, the file has to say it."""
    positions: str = ''        #: as Model has them; '': not known
    layout: str = ''           #: of RoPE: half, half_by_axis, interleaved or deinterleave
    base: float = 0.0
    local_base: float = 0.0    #: of the layers with a sliding window; 0: that of the others
    rotated_part: float = 1.0  #: of head_dim
    n_rot: int = 0             #: rotated channels, where that is a number and no part, of heads that have as many
    rope: dict = field(default_factory=dict) #: JSON: rope_parameters of a file that has none
    hidden_size: int = 0
    n_heads: int = 0
    n_kv_heads: int = 0
    head_dim: int = 0
    n_layers: int = 0
    max_position: int = 0
    full_head_dim: int = 0         #: of the layers that see all keys; 0: that of the others
    states_full_kv: bool = False   #: num_global_key_value_heads counts only if attention_k_eq_v is true
    layers: Layers = field(default_factory=Layers)
    bias_is_scaled: bool = False   #: JSON, ALiBi: the bias too is multiplied by 1/sqrt(head_dim)
    has_qk_norm: bool = False      #: JSON: RMS-norm of each head of Q and K; a GGUF file has its weights
    states_qk_norm: bool = False   #: JSON: it has that norm if use_qk_norm is true
    states_interleave: bool = False #: JSON: the class looks at rope_interleave: false means half
    axes: str = 'single'           #: of a model with sections, where these are not one after the other; of a tower
    sections: tuple = ()           #: JSON: with such axes; a GGUF file has its own
    n_axes: int = 2                #: of a tower for images, whose axes have as many pairs each
    coordinates: str = ''          #: of a tower for images, whose file has no sections: what a patch has as positions
    rotates_last: bool = False     #: the rotated channels are the last of a head
    is_inverse: bool = False       #: rotated by minus the position
    output_rotates: bool = False   #: K and V are one, and attention's output is rotated back
    unwindowed: str = 'full_attention' #: what the layers are called that have not the local base
    unread: str = ''               #: what else the model has by way of positions, which is not read
    refused: str = ''              #: why its positions are not read
    alibi_layers: int = 0          #: GGUF: with so many layers it is ALiBi, of which the file says nothing; 0: none
    finetuned_tells: bool = False  #: GGUF: a rope.scaling.finetuned that is false says that nothing rotates


UNKNOWN = Architecture()


def half(base=0.0, **more):
    return Architecture('rope', 'half', base, **more)


def interleaved(base=0.0, **more):
    return Architecture('rope', 'interleaved', base, **more)


def deinterleave(base=0.0, **more):
    """Latent attention: interleaved pairs are read, and written half-split."""
    return Architecture('rope', 'deinterleave', base, **more)


def axes_of(type_, is_interleaved):
    """How sections of a config.json are meant."""
    if type_.axes != 'single':
        return type_.axes
    return 'imrope' if is_interleaved else 'mrope'


def sections_of(type_, n_pairs):
    """Sections of a file that states none. Towers for images give each axis as many of the n_pairs; where axes
    alternate nothing is divided."""
    if not type_.coordinates:
        return type_.sections
    if type_.axes in ('alternate', 'pixtral'):
        return (0,) * type_.n_axes
    return (n_pairs // type_.n_axes,) * type_.n_axes


def in_order_of_planes(axes, sections):
    """ERNIE publishes its sections as h, w, t, and its positions as t, h, w."""
    return [*sections[2:], *sections[:2]] if axes == 'ernie' else sections


def by_name(rows):
    """rows: names, and what they have in common last."""
    return {name: row[-1] for row in rows for name in row[0].split()}
