"""What a file leaves to its model_type (Hugging Face) or architecture (GGUF): one table, as data."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Layers:
    """Which layers see all keys, and which rotate. Without arguments: all layers do both."""
    full_every: int = 0                #: one of so many layers sees all keys, the others have a sliding window
    full_comes_first: bool = False     #: of those so many, and not last
    unrotated_every: int = 0           #: the last of so many layers does not rotate
    attention_every: int = 0           #: the last of so many layers is attention, the others have no Q and K
    only_windows_rotate: bool = False
    only_if_windows: bool = False      #: no pattern where the file has no sliding window (GGUF) or a null one (JSON)
    windows_unscaled: bool = False     #: GGUF: layers with a window rotate by the same base, but are not scaled

    def kind(self, i):
        """Layer i by the names of config.json's layer_types; '' where no layer has a window."""
        if self.full_every == 0:
            return ''
        is_full = i % self.full_every == (0 if self.full_comes_first else self.full_every - 1)
        return 'full_attention' if is_full else 'sliding_attention'

    def rotates(self, i, kind):
        """kind: as above, or as the file has it."""
        if kind in ('mamba', 'linear_attention', 'conv', 'recurrent'): # there are no Q and K
            return False
        if self.only_windows_rotate and kind != 'sliding_attention':
            return False
        if self.attention_every and (i + 1) % self.attention_every:
            return False
        return self.unrotated_every == 0 or (i + 1) % self.unrotated_every != 0

    def count(self, n, kind=''):
        """Of n layers those that rotate and are of that kind; '': of any."""
        return sum(self.rotates(i, self.kind(i)) and kind in ('', self.kind(i)) for i in range(n))


@dataclass(frozen=True)
class Architecture:
    """Numbers are those of a file that is silent; 0: there is no such, the file has to say it."""
    positions: str = ''        #: rope, alibi, learned, sinusoidal, relative_buckets or none; '': not known
    layout: str = ''           #: of RoPE: half, interleaved or deinterleave
    base: float = 0.0
    local_base: float = 0.0    #: of the layers with a sliding window; 0: that of the others
    rotated_part: float = 1.0  #: of head_dim
    hidden_size: int = 0
    n_heads: int = 0
    n_kv_heads: int = 0
    head_dim: int = 0
    n_layers: int = 0
    max_position: int = 0
    full_head_dim: int = 0         #: of the layers that see all keys; 0: that of the others
    full_proportion: float = 0.0   #: of their pairs that rotate; 0: all
    layers: Layers = field(default_factory=Layers)
    bias_is_scaled: bool = False   #: JSON, ALiBi: the bias too is multiplied by 1/sqrt(head_dim)
    has_qk_norm: bool = False      #: JSON: RMS-norm of each head of Q and K; a GGUF file has its weights
    states_qk_norm: bool = False   #: JSON: it has that norm if use_qk_norm is true
    axes: str = 'single'           #: of a model with sections, where these are not one after the other; of a tower
    sections: tuple = ()           #: JSON: with such axes; a GGUF file has its own
    coordinates: str = ''          #: of a tower for images, whose file has no sections: what a patch has as positions
    rotates_last: bool = False     #: the rotated channels are the last of a head
    output_rotates: bool = False   #: K and V are one, and attention's output is rotated back
    unwindowed: str = 'full_attention' #: what the layers are called that have not the local base
    alibi_layers: int = 0          #: GGUF: with so many layers it is ALiBi, of which the file says nothing; 0: none
    finetuned_tells: bool = False  #: GGUF: a rope.scaling.finetuned that is false says that nothing rotates


UNKNOWN = Architecture()


def axes_of(type_, is_interleaved):
    """How sections of a config.json are meant."""
    if type_.axes != 'single':
        return type_.axes
    return 'imrope' if is_interleaved else 'mrope'


def sections_of(type_, n_pairs):
    """Of a file that states none. Towers for images give rows and columns half of the pairs each, of which there are
    n_pairs; where axes alternate nothing is divided."""
    if not type_.coordinates:
        return type_.sections
    return (0, 0) if type_.axes == 'alternate' else (n_pairs // 2, n_pairs - n_pairs // 2)


def in_order_of_planes(axes, sections):
    """ERNIE publishes its sections as h, w, t, and its positions as t, h, w."""
    return [*sections[2:], *sections[:2]] if axes == 'ernie' else sections


def _half(base=0.0, **more):
    return Architecture('rope', 'half', base, **more)


def _interleaved(base=0.0, **more):
    return Architecture('rope', 'interleaved', base, **more)


def _by_name(rows):
    return {name: architecture for names, architecture in rows for name in names.split()}


_GEMMA = dict(local_base=1e4, hidden_size=2304, n_heads=8, n_kv_heads=4, head_dim=256, max_position=131072,
              layers=Layers(full_every=6), has_qk_norm=True)

#: By model_type, as the model and configuration code of the transformers library has it.
HUGGING_FACE = _by_name([
    ('llama mistral mistral3 ministral ministral3 qwen2 qwen2_moe phi3 starcoder2 olmo olmo2 granite granitemoe dbrx',
     _half(1e4)),
    ('granitemoehybrid', Architecture('none', 'half', 1e4)), # unless it states "rope"
    ('jamba nemotron_h', Architecture('none')), # some files have a rope_theta, the classes do not look at it
    ('falcon', _half(1e4, bias_is_scaled=True)), # unless "alibi" is true it has no bias
    ('mixtral qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text', _half(1e6)),
    ('gpt_oss', _half(150000.0, head_dim=64)),
    ('seed_oss', _half(1e4, head_dim=128)),
    ('smollm3', _half(2e6, layers=Layers(unrotated_every=4))),
    ('qwen3', _half(1e4, head_dim=128, has_qk_norm=True)),
    ('qwen3_moe', _half(1e4, has_qk_norm=True)),
    ('qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text',
     _half(5e6, head_dim=128, has_qk_norm=True, axes='imrope', sections=(24, 20, 20))),
    ('qwen2_5_omni qwen2_5_omni_thinker qwen2_5_omni_text', _half(1e6)),
    ('qwen3_omni_moe qwen3_omni_moe_thinker qwen3_omni_moe_text',
     _half(1e6, has_qk_norm=True, axes='imrope', sections=(24, 20, 20))),
    ('hunyuan_vl hunyuan_vl_text', _half(1e4)), # norms of Q and K come after the rotation
    ('gemma gemma2', _half(1e4, head_dim=256)),
    ('gemma3 gemma3_text', _half(1e6, n_layers=26, **_GEMMA)),
    ('gemma4 gemma4_text', _half(1e6, n_layers=30, full_head_dim=512, full_proportion=0.25, **_GEMMA)),
    ('modernbert', _half(160000.0, local_base=1e4, hidden_size=768, n_heads=12, n_layers=22, max_position=8192,
                         layers=Layers(full_every=3, full_comes_first=True))),
    ('phi', _half(1e4, rotated_part=0.5)),
    ('glm4_moe', _half(1e4, rotated_part=0.5, states_qk_norm=True)),
    ('persimmon', _half(25000.0, rotated_part=0.5)),
    ('gpt_neox stablelm', _half(1e4, rotated_part=0.25)),
    ('cohere2', _interleaved(1e4, layers=Layers(full_every=4, only_windows_rotate=True))),
    ('exaone4', _half(1e4, has_qk_norm=True,
                      layers=Layers(full_every=4, only_windows_rotate=True, only_if_windows=True))),
    ('gptj codegen cohere', _interleaved(1e4)),
    ('ernie4_5_vl_moe ernie4_5_vl_moe_text ernie4_5_moe_vl', _interleaved(5e5, axes='ernie', sections=(22, 22, 20))),
    ('llama4_text', _interleaved(5e5, head_dim=128, layers=Layers(unrotated_every=4))),
    ('chatglm', _interleaved(1e4, rotated_part=0.5)),
    ('glm glm4', _interleaved(1e4, rotated_part=0.5, head_dim=128)),
    ('deepseek_v2 deepseek_v3 kimi_k2 glm4_moe_lite', Architecture('rope', 'deinterleave', 1e4)),
    ('deepseek_v4', _interleaved(16e4, local_base=1e4, head_dim=512, n_kv_heads=1, has_qk_norm=True, rotates_last=True,
                                 output_rotates=True, unwindowed='compressed_attention')),
    ('bloom', Architecture('alibi')),
    ('mpt gpt2 gpt_bigcode opt bert roberta', Architecture('learned')), # mpt: unless attn_config says otherwise
    ('marian m2m_100 whisper', Architecture('sinusoidal')),
    ('t5 mt5 umt5', Architecture('relative_buckets')),
])

#: Towers for images, likewise. Some are called like the whole model.
TOWERS = _by_name([
    ('qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen2_5_omni_vision_encoder qwen3_omni_moe_vision_encoder',
     _half(1e4, axes='vision', coordinates='row and column')),
    ('dinov3_vit', _half(100.0, axes='vision', coordinates='y and x of the centre in [-1, 1], times 2 pi, real')),
    ('gemma4_vision', Architecture('rope', 'half_by_axis', 100.0, axes='axial', has_qk_norm=True, hidden_size=768,
                                   n_heads=12, head_dim=64, n_layers=16, coordinates='column and row')),
    ('llama4_vision_model', _interleaved(1e4, axes='axial', coordinates='column and row, from 1 on')),
    ('moonvit kimi_vl kimi_k25 kimi_k25_vision', _interleaved(1e4, axes='alternate', coordinates='column and row')),
])


def type_of(name, part):
    """Of a config.json, or of the part of it. A tower may have a file of its own."""
    if part == 'vision':
        return TOWERS.get(name, UNKNOWN)
    return HUGGING_FACE.get(name) or TOWERS.get(name, UNKNOWN)


#: By general.architecture, as llama.cpp has it, which converts weights where the layouts of the two differ.
GGUF = _by_name([
    ('llama llada deci internlm2 minicpm xverse command-r olmo arctic deepseek deepseek2 plm chatglm glm4 chameleon '
     'bailingmoe neo-bert arcee ernie4_5 ernie4_5-moe mistral3', _interleaved()),
    ('baichuan', _interleaved(alibi_layers=40)), # 13B; 7B rotates
    ('granite granitemoe granitehybrid', _interleaved(finetuned_tells=True)),
    ('cohere2', _interleaved(layers=Layers(full_every=4, only_windows_rotate=True))),
    ('llama4 smollm3', _interleaved(layers=Layers(unrotated_every=4))),
    ('falcon falcon-h1 grok dbrx nomic-bert nomic-bert-moe jina-bert-v3 stablelm bitnet qwen qwen2 qwen2moe qwen2vl '
     'qwen3 qwen3moe dream llada-moe olmoe phi2 phi3 phimoe plamo plamo2 plamo3 gemma gemma2 starcoder2 openelm '
     'gptneox codeshell orion nemotron exaone minicpm3 bailingmoe2 dots1 hunyuan-moe hunyuan-dense gpt-oss lfm2 '
     'lfm2moe glm4moe seed_oss grovemoe apertus minimax-m2', _half()),
    ('gemma3 gemma-embedding', _half(local_base=1e4, layers=Layers(full_every=6))),
    ('gemma3n', _half(local_base=1e4, layers=Layers(full_every=5))),
    ('exaone4', _half(layers=Layers(full_every=4, only_windows_rotate=True, only_if_windows=True))),
    ('smallthinker', _half(layers=Layers(full_every=4, full_comes_first=True, only_windows_rotate=True,
                                         only_if_windows=True))),
    ('olmo2', _half(layers=Layers(full_every=4, only_if_windows=True, windows_unscaled=True))), # with windows OLMo 3
    ('modern-bert', _half(layers=Layers(full_every=3, full_comes_first=True))),
    ('qwen3vl qwen3vlmoe', _half(axes='imrope_ggml')),
    ('bloom refact jina-bert-v2', Architecture('alibi')),
    ('mpt gpt2 bert starcoder', Architecture('learned')), # mpt: unless there is an attention.max_alibi_bias
    ('t5 t5encoder', Architecture('relative_buckets')),
])
