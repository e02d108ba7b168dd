"""Types of the extension module; `import posenc` gives all of it."""
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from numpy import ndarray
from typing_extensions import Unpack

# NumPy array, torch tensor, anything with DLPack or the buffer protocol
Array = Any
Numbers = Sequence[float] | Array
Result = Any  # an array of the kind of the input: NumPy's, or torch's
Direction = Literal['forward', 'inverse', 'backward', 'shift']
# Types of caches, bytes in arrays: blocks of quantised heads, and 8-bit floats.
Blocks = Literal['q8_0', 'q4_0', 'q5_0', 'q4_1', 'q5_1', 'iq4_nl', 'f8_e4m3']

__version__: str


class MaskArguments(TypedDict, total=False):
    causal: bool
    window: int | tuple[int, int]
    chunk: int
    n_first: int


class PlaceArguments(MaskArguments, total=False):
    query_start: int | None


class ScoreArguments(PlaceArguments, total=False):
    scale: float
    cap: float
    sinks: Numbers
    alibi_slopes: Numbers
    bias: RelBias | Array | tuple[RelBias | Array, ...]
    tensor_slopes: Numbers
    by_query: tuple[Array, RelIndex]
    by_key: tuple[Array, RelIndex]
    keep: Array
    drop: Array
    key_mask: Array
    block_mask: Any
    tree: Numbers
    query_starts: Numbers
    query_positions: Numbers
    key_positions: Numbers
    k_begin: Numbers
    k_end: Numbers
    origins: Numbers
    cu_seqlens: Numbers
    fully_masked: Literal['zeros', 'uniform', 'nan']
    masked: Literal['written', 'untouched']


class AttentionArguments(ScoreArguments, total=False):
    heads_first: bool
    math: Literal['f32', 'int16', 'bf16', 'bf16x2', 'bf16x3']
    k_type: Blocks
    v_type: Blocks
    pages: Array
    lists: Numbers
    cu_q: Numbers
    cu_k: Numbers
    n_k: int
    k_rope: Rope
    k_table: tuple[Array, Array]


class RopeArguments(TypedDict, total=False):
    layout: Literal['half', 'interleaved', 'deinterleave', 'half_by_axis']
    base: float
    n_rot: int
    n_offs: int
    rot_fraction: float
    scaling: dict[str, Any] | None
    axes: (Literal['single', 'mrope', 'imrope', 'imrope_ggml', 'vision', 'pixtral', 'axial', 'alternate', 'ernie'] |
           Numbers)
    n_axes: int
    sections: Sequence[int]
    theta: Numbers | None
    bases: Numbers
    local_base: float
    xpos_role: Literal['off', 'query', 'key']
    xpos_gamma: float
    xpos_scale_base: float
    xpos_centre: int


class ResizeArguments(TypedDict, total=False):
    method: Literal['linear', 'cubic']
    align_corners: bool
    h_in: int
    w_in: int
    h_out: int
    w_out: int
    n_prefix: int
    h_ratio: float
    w_ratio: float
    cubic_a: float
    antialias: bool


class SizeArguments(TypedDict, total=False):
    length: int
    dim: int
    head_dim: int
    n_heads: int
    max_distance: int
    n_buckets: int
    hidden: int
    n_positions: int
    window_h: int
    window_w: int
    kernel: int


class Error(ValueError):
    status: str
    argument: str | None


class Conv:
    def __init__(
            self, weights: Array, bias: Array | None = None, *, is_causal: bool = False,
            has_residual: bool = True) -> None: ...
    def __call__(
            self, x: Array, *, height: int = 1, width: int, n_prefix: int = 0, out: Array | None = None,
            threads: int = 1) -> Result: ...
    def backward_input(
            self, dy: Array, *, height: int = 1, width: int, n_prefix: int = 0,
            threads: int = 1) -> Result: ...
    def backward_weights(
            self, x: Array, dy: Array, *, height: int = 1, width: int, n_prefix: int = 0,
            threads: int = 1) -> tuple[Any, ...]: ...

class Encoding:
    def __call__(
            self, positions: Numbers, x: Array | None = None, *, gate: Array | None = None,
            out: Array | None = None, inplace: bool = False, dtype: str | None = None, threads: int = 1) -> Result: ...
    def shift_matrix(self, k: int) -> Result: ...
    @property
    def dim(self) -> int: ...
    @property
    def n_axes(self) -> int: ...

class Fire:
    def __init__(
            self, w1: Array, b1: Array, w2: Array, b2: Array, *, max_distance: int, c: float = 0.1,
            threshold: float = 512.0, eps: float = 1e-06) -> None: ...
    def __call__(
            self, n_q: int, n_k: int, *, query_start: int | None = None, n_batch: int = 1,
            threads: int = 1) -> Result: ...
    def add(self, y: Array, *, query_start: int | None = None, threads: int = 1) -> Result: ...

class Freq:
    def __init__(self, base: float, dim: int) -> None: ...
    @staticmethod
    def of(theta: Numbers) -> Freq: ...
    def __call__(self, positions: Numbers) -> tuple[Any, ...]: ...
    def dot_by_offset(self, offsets: Numbers) -> Result: ...
    def alias_distance(self, offsets: Numbers) -> Result: ...
    @property
    def theta(self) -> ndarray: ...
    def __len__(self) -> int: ...

class GroupedConv:
    def __init__(
            self, weights: Array, bias: Array | None = None, *, has_backward: bool = False) -> None: ...
    def __call__(
            self, x: Array, *, out: Array | None = None, threads: int = 1) -> Result: ...
    def backward_input(self, dy: Array, *, threads: int = 1) -> Result: ...
    def backward_weights(self, x: Array, dy: Array, *, threads: int = 1) -> tuple[Any, ...]: ...

class RelBias:
    def __init__(self, data: Array, first: int, *, clamped: bool = False, shared: bool = False) -> None: ...
    @staticmethod
    def alibi(slopes: Numbers, offsets: range) -> RelBias: ...
    @staticmethod
    def kerple(p: Numbers, a: Numbers, offsets: range, *, kind: str, min: float = 0.009999999776482582) -> RelBias: ...
    @staticmethod
    def rbf(sigma: Numbers, offsets: range) -> RelBias: ...
    @staticmethod
    def sandwich(
            n_heads: int, offsets: range, *, dim: int = 128, base: float = 10000.0, first: int = 0,
            centred: bool = False) -> RelBias: ...
    @staticmethod
    def cosine(
            omega: Numbers, offsets: range, *, phi: Numbers | None = None,
            amplitude: Numbers | None = None) -> RelBias: ...
    @staticmethod
    def gather(index: RelIndex, table: Array, *, scale: float = 1.0, clamped: bool = False) -> RelBias: ...
    @staticmethod
    def t5(
            table: Array, offsets: range | None = None, *, max_distance: int = 128, bidirectional: bool,
            scale: float = 1.0) -> RelBias: ...
    def mask(self, **options: Unpack[MaskArguments]) -> RelBias: ...
    @property
    def data(self) -> Array: ...
    @property
    def offsets(self) -> range: ...
    @property
    def n_heads(self) -> int: ...
    @property
    def is_clamped(self) -> bool: ...

class RelIndex:
    @staticmethod
    def t5(
            offsets: range | None = None, *, num_buckets: int = 32, max_distance: int = 128,
            bidirectional: bool) -> RelIndex: ...
    @staticmethod
    def clipped(k: int, offsets: range) -> RelIndex: ...
    @property
    def data(self) -> ndarray: ...
    @property
    def offsets(self) -> range: ...
    @property
    def n_rows(self) -> int: ...
    @staticmethod
    def shaw(k: int, offsets: range, reversed: bool = False) -> RelIndex: ...
    @staticmethod
    def relative_key(n: int, offsets: range) -> RelIndex: ...
    @staticmethod
    def transformer_xl(n: int, offsets: range) -> RelIndex: ...
    @staticmethod
    def xlnet(n_q: int, n_k: int, offsets: range) -> RelIndex: ...
    @staticmethod
    def deberta(k: int, offsets: range, reversed: bool = False) -> RelIndex: ...
    @staticmethod
    def deberta_log(
            buckets: int, max_position: int, offsets: range, reversed: bool = False,
            clipped: bool = True) -> RelIndex: ...

class RelativeTable:
    def __init__(self, rows: Array) -> None: ...
    def products(
            self, q: Array, *, shift: Array | None = None, out: Array | None = None,
            threads: int = 1) -> Result: ...

class Rope:
    def __init__(self, head_dim: int, **options: Unpack[RopeArguments]) -> None: ...
    def __call__(
            self, x: Array, positions: int | Numbers, *, out: Array | None = None, inplace: bool = False,
            direction: Direction = 'forward', dtype: str | None = None, x_type: Blocks | None = None,
            heads_first: bool = False, threads: int = 1) -> Result: ...
    def apply_table(
            self, x: Array, cos: Array, sin: Array, *, out: Array | None = None, inplace: bool = False,
            direction: Direction = 'forward', threads: int = 1) -> Result: ...
    def table(self, positions: Numbers, *, direction: Direction = 'forward') -> tuple[Any, ...]: ...
    def local(self) -> Rope: ...
    def query_temperature(self, position: int | Numbers) -> Result: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def theta(self) -> ndarray: ...
    @property
    def axis(self) -> ndarray: ...
    @property
    def n_axes(self) -> int: ...
    @property
    def magnitude(self) -> float: ...
    def apply_tensors(
            self, tensors: Iterable[dict[str, Any]], positions: int | Numbers, *, direction: Direction = 'forward',
            threads: int = 1) -> list[Array]: ...
    @staticmethod
    def from_config(config: dict[str, Any] | str | PathLike[str], *, part: str = ..., layer_type: str | None = ...,
                    layout: str | None = ..., context: float | None = ..., strict: bool = ...,
                    **options: Unpack[RopeArguments]) -> Rope: ...


def alibi_backward(gradient: RelBias) -> Result: ...

def alibi_row(slopes: Numbers, form: str, *, n_k: int = 0, key_mask: Array | None = None) -> Result: ...

def alibi_slopes(n_heads: int, max_bias: float = 8.0, *, plain: bool = False) -> ndarray: ...

def attention(
        q: Array, k: Array, v: Array, *, out: Array | None = None, return_lse: bool = False, threads: int = 1,
        **options: Unpack[AttentionArguments]) -> Result: ...

def attention_combine(a: tuple[Array, Array], b: tuple[Array, Array], *, threads: int = 1) -> tuple[Any, ...]: ...

def attention_reference(q: Array, k: Array, v: Array, **options: Unpack[ScoreArguments]) -> tuple[Any, ...]: ...

def bias_matrix(
        n_q: int, n_k: int, n_heads: int = 1, n_batch: int = 1, *, out: Array | None = None, threads: int = 1,
        **options: Unpack[ScoreArguments]) -> Result: ...

def bias_table_backward(index: RelIndex, gradient: RelBias, *, scale: float = 1.0) -> Result: ...

def bits(dim: int, code: str = 'binary', *, zero: float = 0.0, one: float = 1.0) -> Encoding: ...

def block_mask(
        n_q: int, n_k: int, n_heads: int = 1, n_batch: int = 1, *, q_block: int = 128, k_block: int = 128,
        **options: Unpack[ScoreArguments]) -> Any: ...

def check_progression(
        e: Array, start: int, step: int, *, atol: float = 0.0, rtol: float = 0.0) -> tuple[Any, ...]: ...

def concat(parts: Iterable[Encoding | dict[str, Any]]) -> Encoding: ...

def cope_logits(
        x: Array, z: Array, *, gates: Array | None = None, scale: float = 1.0, form: str = 'listing',
        query_start: int | None = None, out: Array | None = None, threads: int = 1) -> Result: ...

def cosine_similarity(e: Array, *, eps: float = 0.0, threads: int = 1) -> Result: ...

def decomposed_add(scores: Array, by_row: Array, by_column: Array, *, threads: int = 1) -> Result: ...

def decomposed_rows(table: Array, n_q: int, n_k: int) -> Result: ...

def dequantise(
        blocks: Array, type: Blocks, *, dtype: str = 'float32', out: Array | None = None,
        threads: int = 1) -> Result: ...

def fill_normal(
        y: Array, seed: int, *, mean: float = 0.0, deviation: float = 1.0, threads: int = 1) -> Result: ...

def fill_uniform(y: Array, seed: int, *, low: float = 0.0, high: float = 1.0, threads: int = 1) -> Result: ...

def flops(scheme: str, *, rule_of_thumb: bool = False, **options: Unpack[SizeArguments]) -> int: ...

def fourier(
        n_features: int, n_coords: int = 1, *, order: str = 'cos_sin', matrix: Array | None = None, sigma: float = 1.0,
        seed: int = 0) -> Encoding: ...

def frequency_report(theta: Numbers, context: float) -> dict[str, Result]: ...

def gate_backward(dy: Array, e: Array, gate: Array, *, threads: int = 1) -> dict[str, Result]: ...

def gray_decode(gray: int) -> int: ...

def gray_encode(p: int) -> int: ...

def grid(dim: int, grid: str, *, n_axes: int = 0, base: float = 10000.0) -> Encoding: ...

def hadamard(x: Array, n: int, *, out: Array | None = None, inplace: bool = False, threads: int = 1) -> Result: ...

def hamming_binary(p: int, q: int) -> int: ...

def hamming_gray(p: int, q: int) -> int: ...

def index_scores(
        q: Array, k: Array, weights: Array, *, begin: Numbers | int | None = None, end: Numbers | int | None = None,
        out: Array | None = None, threads: int = 1) -> Result: ...

def integer(dim: int, length: int, *, alpha: float = 0.0) -> Encoding: ...

def isa() -> str: ...

def isa_built() -> list[str]: ...

def isa_select(tier: str) -> None: ...

def isa_supported() -> list[str]: ...

def kerple_backward(
        gradient: RelBias, p: Numbers, a: Numbers, *, kind: str, min: float = 0.009999999776482582,
        clamped_stops: bool = False) -> tuple[Any, ...]: ...

def learned(table: Array, *, offset: int = 0, scale: float = 1.0, out_of_range: str = 'error') -> Encoding: ...

def learned_backward(
        ids: Array, dy: Array, *, out: Array | None = None, n_rows: int = 0, offset: int = 0,
        scale: float = 1.0, out_of_range: str = 'error', threads: int = 1) -> Result: ...

def logits(
        x: Array, *, out: Array | None = None, inplace: bool = False, threads: int = 1,
        **options: Unpack[ScoreArguments]) -> Result: ...

def masked_mean(losses: Numbers, keep: Array) -> float: ...

def offsets(n_q: int, n_k: int, **options: Unpack[PlaceArguments]) -> Result: ...

def parameter_count(scheme: str, **options: Unpack[SizeArguments]) -> int: ...

def positions_documents(document: Numbers) -> Result: ...

def positions_grid(sizes: Numbers) -> Result: ...

def positions_masked(mask: Numbers, *, start: int = 0, pad_value: int = 0) -> Result: ...

def positions_packed(cu_seqlens: Numbers, starts: Numbers | None = None) -> Result: ...

def positions_range(start: int, n: int) -> Result: ...

def query_temperature(position: int | Numbers, attn_scale: float, floor_scale: float) -> Result: ...

def rbf(centres: Numbers, sigma: float) -> Encoding: ...

def rel_bias_backward(ds: Array, bias: RelBias, **options: Unpack[ScoreArguments]) -> RelBias: ...

def relative_collect(
        w: Array, x: Array, *, shift: Array | None = None, factor: float = 1.0, shared: bool = True,
        out: Array | None = None, threads: int = 1) -> Result: ...

def relative_combine(
        w: Array, table: Array, *, factor: float = 1.0, out: Array | None = None, threads: int = 1) -> Result: ...

def relative_shift(x: Array) -> Result: ...

def relative_skew(x: Array) -> Result: ...

def relative_sums_by_key(
        index: RelIndex, x: Array, *, threads: int = 1, **options: Unpack[PlaceArguments]) -> Result: ...

def relative_sums_by_query(
        index: RelIndex, x: Array, *, threads: int = 1, **options: Unpack[PlaceArguments]) -> Result: ...

def relative_values(
        p: Numbers, index: RelIndex, table: Array, z: Array, *, threads: int = 1,
        **options: Unpack[PlaceArguments]) -> Result: ...

def similarity_profile(e: Array, query: int, n_offsets: int, *, eps: float = 0.0) -> Result: ...

def sinusoidal(
        dim: int, layout: str | int, *, schedule: str = '', odd: str = 'sin', base: float = 10000.0,
        min_timescale: float = 1.0, shift: float = 1.0, scale: float = 1.0) -> Encoding: ...

def softmax(
        x: Array, *, out: Array | None = None, inplace: bool = False, threads: int = 1,
        **options: Unpack[ScoreArguments]) -> Result: ...

def softmax_backward(
        p: Numbers, dp: Array, s: Array | None = None, *, with_bias: bool = False, threads: int = 1,
        **options: Unpack[ScoreArguments]) -> dict[str, Result]: ...

def softmax_combine(a: tuple[float, float], b: tuple[float, float]) -> tuple[Any, ...]: ...

def softmax_multiplier(scaling: dict[str, Any]) -> float: ...

def softmax_partial(
        x: Array, *, out: Array | None = None, threads: int = 1, **options: Unpack[ScoreArguments]) -> tuple[Any,
        ...]: ...

def sum(parts: Iterable[Encoding | dict[str, Any]]) -> Encoding: ...

def swin_backward(ds: Array, height: int, width: int) -> Result: ...

def swin_bias(table: Array, height: int, width: int) -> Result: ...

def swin_index(height: int, width: int) -> Result: ...

def swin_v2_coords(height: int, width: int, *, trained_height: int = 0, trained_width: int = 0) -> Result: ...

def swin_v2_scale(x: Array) -> Result: ...

def t5_bucket(offset: int, *, num_buckets: int = 32, max_distance: int = 128, bidirectional: bool) -> int: ...

def table_resize(
        x: Array, *, out: Array | None = None, threads: int = 1,
        **options: Unpack[ResizeArguments]) -> Result: ...

def table_resize_backward(dy: Array, **options: Unpack[ResizeArguments]) -> Result: ...

def timestep(
        dim: int, *, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1.0, scale: float = 1.0,
        max_period: float = 10000.0) -> Encoding: ...

def xavier_normal(fan_in: int, fan_out: int) -> float: ...

def xavier_uniform(fan_in: int, fan_out: int) -> float: ...

def top_k(
        scores: Array, k: int, *, begin: Numbers | int | None = None, end: Numbers | int | None = None,
        threads: int = 1) -> Result: ...

def tree_positions(parents: Numbers, start: int) -> Result: ...
def zero_padded(y: Array, keep: Array) -> Result: ...
