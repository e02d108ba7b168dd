"""Files of every model_type that the reader of models knows, and of some that it does not, with what they mean.

Fields are the defaults of the configuration classes of Transformers, or of published files. Expected values were
written down from the modelling code that posenc/model/families.py names, not from what a reader says.
"""
from dataclasses import dataclass, field

FULL, WINDOW = 'full_attention', 'sliding_attention'


@dataclass
class T:
    """A table: heads of dim channels, of which rot rotate, by base^(-2i/rot) unless it is scaled."""
    dim: int
    layout: str
    base: float
    rot: int = 0           #: 0: all
    n: int = 0             #: layers; 0: all of the file, -1: the file does not tell
    name: str = ''
    q: int = 0             #: heads; 0: those of the file
    k: int = 0
    scale: tuple = ()      #: its kind and numbers
    axes: tuple = ()       #: their kind, and sections as published
    magnitude: float = 1.0
    q_offs: int = 0        #: latent attention: where the rotated channels of a head of Q begin
    k_dim: int = 0         #: and the width of K, whose last channels rotate; 0: as Q
    inverse: bool = False


@dataclass
class Case:
    config: dict
    tables: list = field(default_factory=list)
    positions: str = 'rope'
    refused: str = ''       #: words of the refusal
    guessed: tuple = ()     #: arguments of Rope
    unknown: tuple = ()     #: words that the warning has
    norm: bool = False      #: each head of Q and K is normalised first
    context: int = 0
    part: str = 'text'
    needs_context: bool = False


def C(model_type, heads=32, kv=32, layers=32, hidden=4096, **fields):
    return {'model_type': model_type, 'num_attention_heads': heads, 'num_key_value_heads': kv,
            'num_hidden_layers': layers, 'hidden_size': hidden, **fields}


def rope(rope_type='default', **fields):
    return {'rope_type': rope_type, **fields}


def kinds(n, every, first=False):
    """One of every layers sees all keys."""
    return [FULL if i % every == (0 if first else every - 1) else WINDOW for i in range(n)]


def latent(nope, rot, rank, **more):
    """Heads of Q of nope + rot channels, one of K of rank + rot; the last rot rotate."""
    fields = {'qk_nope_head_dim': nope, 'qk_rope_head_dim': rot, 'kv_lora_rank': rank, **more}
    return fields, dict(dim=nope + rot, rot=rot, q_offs=nope, k=1, k_dim=rank + rot)


LLAMA3 = rope('llama3', factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)
OSS = rope('yarn', factor=32.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=4096)
OSS_SCALE, OSS_MAGNITUDE = ('yarn', 32.0, 4096, 32.0, 1.0, False), 1.3465735902799727
GEMMA3_KINDS, GEMMA4_KINDS = kinds(34, 6), kinds(30, 6)
GEMMA4_ROPE = {FULL: rope('proportional', partial_rotary_factor=0.25, rope_theta=1e6), WINDOW: rope(rope_theta=1e4)}
GEMMA4_FULL = dict(dim=512, layout='half', base=1e6, scale=('proportional', 0.25), name=FULL)

# ---- One position a token ----

CASES = [
    Case(C('llama'), [T(128, 'half', 1e4)]),
    Case(C('llama', kv=8, rope_theta=5e5, rope_scaling=LLAMA3, max_position_embeddings=131072),
         [T(128, 'half', 5e5, scale=('llama3', 8.0, 1.0, 4.0, 8192))]),
    Case(C('llama', kv=8, rope_parameters={**LLAMA3, 'rope_theta': 5e5}),
         [T(128, 'half', 5e5, scale=('llama3', 8.0, 1.0, 4.0, 8192))]),
    Case(C('llama', rope_parameters=rope(rope_theta=2e4), rope_scaling=None), [T(128, 'half', 2e4)]),
    Case(C('llama', rope_scaling={'type': 'linear', 'factor': 4.0}), [T(128, 'half', 1e4, scale=('linear', 4.0))]),
    Case(C('llama', max_position_embeddings=4096, rope_scaling=rope('dynamic', factor=2.0)),
         [T(128, 'half', 1e4, scale=('dynamic', 2.0, 4096, 16384))], context=16384),
    Case(C('afmoe', 16, 16, 32, 2048, head_dim=128, sliding_window=1024, global_attn_every_n_layers=4),
         [T(128, 'half', 1e4, n=24)], norm=True),
    Case(C('apertus', rope_theta=1e4), # the class has its own rope_parameters, and takes no other base beside them
         [T(128, 'half', 1.2e7, scale=('llama3', 8.0, 1.0, 4.0, 8192))], norm=True),
    Case(C('apertus', kv=8, rope_theta=1.2e7, rope_scaling=LLAMA3),
         [T(128, 'half', 1.2e7, scale=('llama3', 8.0, 1.0, 4.0, 8192))], norm=True),
    Case(C('arcee', 32, 32, 32, 2560), [T(80, 'half', 1e4)]),
    Case({'model_type': 'aria', 'text_config': C('aria_text')}, [T(128, 'half', 1e4)]),
    Case(C('bamba', kv=8, layers=16, attn_layer_indices=[9, 15]), [T(128, 'half', 1e4, rot=64, n=2)]),
    Case(C('bitnet', 20, 5, 30, 2560), [T(128, 'half', 5e5)]),
    Case(C('chameleon'), [T(128, 'half', 1e4)]),
    Case({'model_type': 'chatglm', 'hidden_size': 4096, 'num_attention_heads': 32, 'num_layers': 28,
          'kv_channels': 128, 'multi_query_attention': True, 'multi_query_group_num': 2, 'rope_ratio': 50,
          'original_rope': True}, [T(128, 'interleaved', 5e5, rot=64, n=28, q=32, k=2)]),
    Case({'model_type': 'codegen', 'n_embd': 4096, 'n_head': 16, 'n_layer': 28, 'rotary_dim': 32},
         [T(256, 'interleaved', 1e4, rot=32, n=28, q=16, k=16)]),
    Case(C('cohere', 64, 64, 40, 8192, rope_theta=8e6), [T(128, 'interleaved', 8e6)]),
    Case(C('cohere2', 64, 64, 40, 8192, sliding_window=4096), [T(128, 'interleaved', 1e4, n=30)]),
    Case(C('cohere2', 32, 8, 4, 4096, layer_types=[WINDOW, WINDOW, FULL, FULL]), [T(128, 'interleaved', 1e4, n=2)]),
    Case(C('cohere2_moe', 64, 64, 40, 8192, head_dim=128), [T(128, 'interleaved', 1e4, n=30)]),
    Case(C('cohere2_moe', 64, 8, 13, 8192, head_dim=128, first_k_dense_replace=1), # dense layers rotate too
         [T(128, 'interleaved', 1e4, n=10)]),
    Case(C('cohere2_moe', 64, 8, 4, 8192, head_dim=128, layer_types=kinds(4, 4), mlp_layer_types=['sparse'] * 3 + [
        'dense'], prefix_dense_sliding_window_pattern=1), [T(128, 'interleaved', 1e4, n=4)]),
    Case(C('csm', 32, 8, 16, 2048), [T(64, 'half', 5e5)]),
    Case(C('cwm', 48, 8, 64, 6144, head_dim=128),
         [T(128, 'half', 1e6, scale=('llama3', 16.0, 1.0, 4.0, 8192))]),
    Case({'model_type': 'dbrx', 'd_model': 6144, 'n_heads': 48, 'n_layers': 40, 'max_seq_len': 32768,
          'attn_config': {'kv_n_heads': 8, 'rope_theta': 5e5, 'clip_qkv': 8}}, [T(128, 'half', 5e5, n=40, q=48, k=8)]),
    Case({'model_type': 'deepseek_ocr2', 'text_config': C('deepseek_ocr2_text', 10, 10, 12, 1280)},
         [T(128, 'half', 1e4)]),
    Case(C('diffllama', 32, 32, 16, 2048), [T(64, 'half', 1e4)]),
    Case(C('doge', 8, 8, 32, 1024), [T(128, 'half', 1e4)], norm=True),
    Case(C('dots1', 32, 32, 62, 4608), [T(144, 'half', 1e4)], norm=True),
    Case({'model_type': 'emu3', 'text_config': C('emu3_text_model', kv=8)}, [T(128, 'half', 1e6)]),
    Case(C('ernie4_5', 16, 2, 18, 1024, head_dim=128), [T(128, 'interleaved', 5e5)]),
    Case(C('ernie4_5', 16, 2, 18, 1024), [T(128, 'interleaved', 5e5)]),
    Case(C('ernie4_5_moe', 20, 4, 28, 2560), [T(128, 'interleaved', 5e5)]),
    Case(C('esm', 20, 20, 33, 1280, position_embedding_type='rotary'), [T(64, 'half', 1e4)]),
    Case(C('eurobert', 12, 12, 12, 768, rope_theta=250000), [T(64, 'half', 250000.0)]),
    Case(C('evolla', kv=8), [T(128, 'half', 5e5)]),
    Case(C('exaone4', kv=8, layers=64, hidden=5120, head_dim=128, sliding_window=4096, sliding_window_pattern='LLLG',
           rope_theta=1e6), [T(128, 'half', 1e6, n=48)], norm=True, unknown=('sliding_window_pattern',)),
    Case(C('exaone4', kv=8, layers=30, hidden=2048, head_dim=64, sliding_window=None, layer_types=[FULL] * 30),
         [T(64, 'half', 1e4)], norm=True),
    Case({'model_type': 'exaone4_5', 'text_config': C('exaone4', 40, 8, 4, 5120, layer_types=kinds(4, 4))},
         [T(128, 'half', 1e4, n=3)], norm=True),
    Case(C('exaone_moe', sliding_window=4096, sliding_window_pattern=4), [T(128, 'half', 1e4, n=24)], norm=True),
    Case(C('exaone_moe', 64, 8, 48, 6144, sliding_window=128, layer_types=kinds(48, 4)),
         [T(96, 'half', 1e4, n=36)], norm=True),
    Case(C('falcon', 71, 71, 32, 4544, multi_query=True), [T(64, 'half', 1e4, k=1)]),
    Case(C('falcon_h1', kv=8, rope_theta=1e11), [T(128, 'half', 1e11)]),
    Case(C('flex_olmo'), [T(128, 'half', 5e5)]),
    Case(C('gemma', 16, 16, 28, 3072), [T(256, 'half', 1e4)]),
    Case(C('gemma2', 8, 4, 26, 2304, head_dim=256), [T(256, 'half', 1e4)]),
    Case({'model_type': 'gemma3', 'text_config': C('gemma3_text', 8, 4, 34, 2560, head_dim=256, rope_scaling=rope(
        'linear', factor=8.0))}, [T(256, 'half', 1e6, n=5, name=FULL, scale=('linear', 8.0)),
                                  T(256, 'half', 1e4, n=29, name=WINDOW)], norm=True),
    Case(C('gemma3_text', 8, 4, 34, 2560, head_dim=256, layer_types=GEMMA3_KINDS, rope_parameters={
        FULL: rope('linear', factor=8.0, rope_theta=1e6), WINDOW: rope(rope_theta=1e4)}),
         [T(256, 'half', 1e6, n=5, name=FULL, scale=('linear', 8.0)), T(256, 'half', 1e4, n=29, name=WINDOW)],
         norm=True),
    Case(C('gemma3n_text', 8, 2, 35, 2048, head_dim=256, rope_theta=1e6, rope_local_base_freq=1e4),
         [T(256, 'half', 1e6, n=7, name=FULL), T(256, 'half', 1e4, n=28, name=WINDOW)], norm=True),
    Case(C('gemma4_text', 8, 4, 30, 2304, head_dim=256, global_head_dim=512),
         [T(**GEMMA4_FULL, n=5), T(256, 'half', 1e4, n=25, name=WINDOW)], norm=True),
    Case({'model_type': 'gemma4', 'text_config': C( # as 5.16 saves it
        'gemma4_text', 8, 4, 30, 2304, head_dim=256, attention_k_eq_v=True, layer_types=GEMMA4_KINDS,
        rope_parameters=GEMMA4_ROPE, per_layer_config={f'{i:02}': {'head_dim': 512, 'num_key_value_heads': 2}
                                                       for i in range(5, 30, 6)})},
         [T(**GEMMA4_FULL, n=5, k=2), T(256, 'half', 1e4, n=25, name=WINDOW)], norm=True),
    Case(C('gemma4_text', 8, 4, 30, 2304, head_dim=256, layer_types=GEMMA4_KINDS, rope_parameters=GEMMA4_ROPE,
           per_layer_config={5: {'head_dim': 512}, 29: {'head_dim': 512}}), # a dict of Python, and two of five layers
         [T(**GEMMA4_FULL, n=2), T(**{**GEMMA4_FULL, 'dim': 256}, n=3), T(256, 'half', 1e4, n=25, name=WINDOW)],
         norm=True),
    Case(C('gemma4_unified_text', 8, 4, 30, 2304, head_dim=256),
         [T(**GEMMA4_FULL, n=5), T(256, 'half', 1e4, n=25, name=WINDOW)], norm=True),
    Case(C('diffusion_gemma_text', 8, 4, 30, 2304, head_dim=256, num_global_key_value_heads=2),
         [T(**GEMMA4_FULL, n=5, k=2), T(256, 'half', 1e4, n=25, name=WINDOW)], norm=True),
    Case(C('diffusion_gemma_text', 8, 4, 30, 2304, head_dim=256, layer_types=GEMMA4_KINDS,
           rope_parameters=GEMMA4_ROPE, per_layer_config={str(i): {'head_dim': 512} for i in range(5, 30, 6)}),
         [T(**GEMMA4_FULL, n=5), T(256, 'half', 1e4, n=25, name=WINDOW)], norm=True),
    Case(C('glm', 32, 2, 40, head_dim=128), [T(128, 'interleaved', 1e4, rot=64)]),
    Case(C('glm4', 32, 2, 40, head_dim=128, rope_parameters=rope(rope_theta=1e4, partial_rotary_factor=0.5)),
         [T(128, 'interleaved', 1e4, rot=64)]),
    Case(C('glm4_moe', 96, 8, 46, head_dim=128, use_qk_norm=True, rope_theta=1e6),
         [T(128, 'half', 1e6, rot=64)], norm=True),
    Case(C('gpt_neox', 64, 64, 44, 6144), [T(96, 'half', 1e4, rot=24)]),
    Case(C('gpt_neox_japanese', 32, 32, 32, 2560), [T(80, 'half', 1e4)]),
    Case(C('gpt_oss', 64, 8, 36, 2880),
         [T(64, 'half', 150000.0, scale=OSS_SCALE, magnitude=OSS_MAGNITUDE)]),
    Case(C('gpt_oss', 64, 8, 24, 2880, head_dim=64, rope_theta=150000, rope_scaling=OSS),
         [T(64, 'half', 150000.0, scale=OSS_SCALE, magnitude=OSS_MAGNITUDE)]),
    Case({'model_type': 'gptj', 'n_embd': 4096, 'n_head': 16, 'n_layer': 28, 'rotary_dim': 64, 'rotary': True},
         [T(256, 'interleaved', 1e4, rot=64, n=28, q=16, k=16)]),
    Case(C('granite', kv=8), [T(128, 'half', 1e4)]),
    Case({'model_type': 'granite4_vision', 'text_config': C('granite4_vision_text', kv=8)}, [T(128, 'half', 1e4)]),
    Case(C('granite_swa', 20, 4, 24, 2560), [T(128, 'half', 1e4)]),
    Case(C('granite_swa', 20, 4, 8, 2560, rope_theta=1e4, layer_rope_theta=[0, 1e4, 1e4, 1e4] * 2),
         [T(128, 'half', 1e4, n=6)]),
    Case(C('granite_swa', 20, 4, 8, 2560, layer_rope_theta=[1e6, 1e4, 1e4, 0] * 2),
         [T(128, 'half', 1e6, n=2, name=FULL), T(128, 'half', 1e4, n=4, name=WINDOW)]),
    Case(C('granitemoe'), [T(128, 'half', 1e4)]),
    Case(C('granitemoehybrid', 12, 4, 4, 1536, position_embedding_type='rope',
           layer_types=['mamba', 'mamba', 'attention', 'mamba']), [T(128, 'half', 1e4, n=1)]),
    Case(C('granitemoeshared'), [T(128, 'half', 1e4)]),
    Case(C('helium', 20, 20, 24, 2560, head_dim=128), [T(128, 'interleaved', 1e5)]),
    Case(C('higgs_audio_v2', 24, 8, 28, 3072, head_dim=128),
         [T(128, 'half', 5e5, scale=('llama3', 32.0, 0.125, 0.5, 1024))]),
    Case(C('hrm_text', 12, 12, 16, 1536, head_dim=128), [T(128, 'half', 1e4)]),
    Case(C('hunyuan_v1_dense'), [T(128, 'half', 1e4)]), # its norms come after the rotation
    Case(C('hunyuan_v1_moe', max_position_embeddings=4096, rope_scaling=rope('dynamic', factor=1.0, alpha=1000.0)),
         [T(128, 'half', 1e4, scale=('alpha', 1000.0))]),
    Case(C('hy_v3', 64, 8, 80, head_dim=128), [T(128, 'half', 11158840.0)], norm=True),
    Case(C('hyperclovax'), [T(128, 'half', 1e4)]),
    Case(C('jais2', 26, 26, 32, 3328), [T(128, 'half', 1e4)]),
    Case(C('jetmoe', 32, 16, 12, 2048, kv_channels=128), [T(128, 'half', 1e4)]),
    Case(C('jina_embeddings_v3', 16, 16, 24, 1024), [T(64, 'half', 2e4)]),
    Case(C('kyutai_speech_to_text', 32, 32, 48, 2048), [T(64, 'half', 1e4)]),
    Case(C('laguna', 48, 8, 40, 2048, head_dim=128), # all layers are full_attention
         [T(128, 'half', 5e5, rot=64, name=FULL)], norm=True),
    Case(C('laguna', 48, 8, 4, 2048, head_dim=128, layer_types=kinds(4, 4, first=True),
           num_attention_heads_per_layer=[48, 64, 64, 64], rope_parameters={
               FULL: rope(rope_theta=5e5, partial_rotary_factor=0.5), WINDOW: rope(rope_theta=1e4)}),
         [T(128, 'half', 5e5, rot=64, n=1, name=FULL), T(128, 'half', 1e4, n=3, q=64, name=WINDOW)], norm=True),
    Case(C('laguna', 48, 8, 4, 2048, head_dim=128, layer_types=[FULL] * 4, num_attention_heads_per_layer=[48, 64] * 2,
           rope_parameters={FULL: rope(rope_theta=5e5)}),
         [T(128, 'half', 5e5, n=2, name=FULL), T(128, 'half', 5e5, n=2, q=64, name=FULL)], norm=True),
    Case(C('lfm2', 32, 8, 16, 2048, full_attn_idxs=[2, 5, 8, 10, 12, 14]), [T(64, 'half', 1e6, n=6)], norm=True),
    Case(C('lfm2_moe', 32, 8, 3, 2048, layer_types=['conv', 'conv', FULL]), [T(64, 'half', 1e6, n=1)], norm=True),
    Case({'model_type': 'llama4', 'text_config': C('llama4_text', 40, 8, 48, 5120, head_dim=128,
                                                   attn_temperature_tuning=True)},
         [T(128, 'interleaved', 5e5, n=36)], unknown=('attn_temperature_tuning',)),
    Case(C('mellum', 32, 4, 28, 2304, head_dim=128, layer_types=kinds(28, 4)),
         [T(128, 'half', 5e5, n=7, name=FULL), T(128, 'half', 1e4, n=21, name=WINDOW)], norm=True),
    Case(C('minimax_m2', 48, 8, 62, 3072, head_dim=128, rotary_dim=64, rope_theta=5e6), [T(128, 'half', 5e6, rot=64)]),
    Case({'model_type': 'minimax_m3_vl', 'text_config': C('minimax_m3_vl_text', 64, 4, 60, 6144, head_dim=128,
                                                          partial_rotary_factor=0.5)},
         [T(128, 'half', 5e6, rot=64)], norm=True),
    Case(C('ministral', kv=8), [T(128, 'half', 1e4)]),
    Case(C('ministral3', kv=8, layers=34, head_dim=128, max_position_embeddings=262144),
         [T(128, 'half', 1e6, scale=('yarn', 16.0, 16384, 32.0, 1.0, True))]),
    Case(C('mistral', kv=8), [T(128, 'half', 1e4)]),
    Case({'model_type': 'mistral3', 'text_config': C('mistral', kv=8, layers=40, hidden=5120, head_dim=128,
                                                     rope_theta=1e9)}, [T(128, 'half', 1e9)]),
    Case(C('mixtral', kv=8), [T(128, 'half', 1e6)]),
    Case({'model_type': 'mllama', 'text_config': C('mllama_text_model', kv=8, layers=40,
                                                   cross_attention_layers=[3, 8, 13])},
         [T(128, 'half', 5e5)], unknown=('cross_attention_layers',)),
    Case(C('modernbert', 12, 12, 22, 768, global_rope_theta=160000.0, local_rope_theta=1e4,
           global_attn_every_n_layers=3),
         [T(64, 'half', 160000.0, n=8, name=FULL), T(64, 'half', 1e4, n=14, name=WINDOW)]),
    Case(C('modernbert', 12, 12, 22, 768, layer_types=kinds(22, 3, first=True), rope_parameters={
        WINDOW: rope(rope_theta=1e4), FULL: rope(rope_theta=160000.0)}),
         [T(64, 'half', 1e4, n=14, name=WINDOW), T(64, 'half', 160000.0, n=8, name=FULL)]),
    Case(C('modernbert-decoder', 12, 12, 22, 768),
         [T(64, 'half', 160000.0, n=8, name=FULL), T(64, 'half', 1e4, n=14, name=WINDOW)]),
    Case({'model_type': 'muse_glimmer', 'text_config': C('muse_glimmer_text', 32, 2, 52, 6656, head_dim=128)},
         [T(128, 'half', 1e4, n=39)], norm=True),
    Case(C('muse_glimmer_text', 32, 2, 6, 6656, head_dim=128), # layers 1 and 5 of 0 .. 5 do not rotate
         [T(128, 'half', 1e4, n=4)], norm=True),
    Case(C('muse_glimmer_text', 32, 2, 4, 6656, head_dim=128, layer_rope_theta=[5e5, 5e5, 5e5, 0], rope_parameters=rope(
        rope_theta=5e5)), [T(128, 'half', 5e5, n=3)], norm=True),
    Case({'model_type': 'musicflamingo', 'head_dim': 1280, 'rope_parameters': rope(
        rope_theta=1200.0, partial_rotary_factor=0.2), 'text_config': C('qwen2', 28, 4, 28, 3584, rope_theta=1e6)},
         [T(128, 'half', 1e6)], unknown=('rotation of the audio by time',)),
    Case(C('nanochat', 6, 6, 12, 768), [T(128, 'half', 1e4, inverse=True)]), # its norms come after the rotation
    Case(C('nemotron', 48, 48, 32, 6144), [T(128, 'half', 1e4, rot=64)]),
    Case(C('nomic_bert', 12, 12, 12, 768, rotary_emb_base=1000, rotary_emb_fraction=1.0, rotary_scaling_factor=2.0,
           rotary_emb_interleaved=False), [T(64, 'half', 1e3)], unknown=('rotary_scaling_factor',)),
    Case(C('olmo'), [T(128, 'half', 1e4)]),
    Case(C('olmo2', rope_theta=5e5), [T(128, 'half', 5e5)]),
    Case(C('olmo3', rope_theta=5e5, max_position_embeddings=65536, rope_scaling=rope(
        'yarn', factor=8.0, beta_fast=32, beta_slow=1, original_max_position_embeddings=8192,
        attention_factor=1.2079441541679836)),
         [T(128, 'half', 5e5, n=8, name=FULL, scale=('yarn', 8.0, 8192, 32.0, 1.0, True), magnitude=1.2079441541679836),
          T(128, 'half', 5e5, n=24, name=WINDOW)]),
    Case(C('olmo3', rope_theta=5e5), [T(128, 'half', 5e5)]),
    Case(C('olmoe', 16, 16, 16, 2048), [T(128, 'half', 1e4)]),
    Case(C('openai_privacy_filter', 14, 2, 8, 640),
         [T(64, 'interleaved', 150000.0, scale=OSS_SCALE, magnitude=OSS_MAGNITUDE)]),
    Case(C('persimmon', 64, 64, 36, 4096), [T(64, 'half', 25000.0, rot=32)]),
    Case(C('phi', 32, 32, 24, 2048), [T(64, 'half', 1e4, rot=32)]),
    Case(C('phi3', 24, 8, 32, 3072, partial_rotary_factor=0.75), [T(128, 'half', 1e4, rot=96)]),
    Case(C('phi3', 2, 2, 4, 16, max_position_embeddings=131072, original_max_position_embeddings=4096, rope_scaling={
        'type': 'longrope', 'short_factor': [1.0, 1.5, 2.0, 2.5], 'long_factor': [1.0, 4.0, 9.0, 16.0]}),
         [T(8, 'half', 1e4, scale=('divided', 1.0, 4.0, 9.0, 16.0), magnitude=1.1902380714238083)], context=5000),
    Case(C('phi3', 2, 2, 4, 16, max_position_embeddings=131072, original_max_position_embeddings=4096, rope_scaling={
        'type': 'su', 'short_factor': [1.0, 1.5, 2.0, 2.5], 'long_factor': [1.0, 4.0, 9.0, 16.0]}),
         [T(8, 'half', 1e4, scale=('divided', 1.0, 1.5, 2.0, 2.5), magnitude=1.1902380714238083,
            name='up to 4096 positions'),
          T(8, 'half', 1e4, scale=('divided', 1.0, 4.0, 9.0, 16.0), magnitude=1.1902380714238083,
            name='beyond 4096 positions')], needs_context=True),
    Case(C('phi4_multimodal', 24, 8, 32, 3072, partial_rotary_factor=0.75), [T(128, 'half', 1e4, rot=96)]),
    Case(C('phimoe', kv=8), [T(128, 'half', 1e6)]),
    Case(C('qwen2', 28, 4, 28, 3584, rope_theta=1e6, max_position_embeddings=32768, rope_scaling={
        'type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 32768}),
         [T(128, 'half', 1e6, scale=('yarn', 4.0, 32768, 32.0, 1.0, True), magnitude=1.138629436111989)]),
    Case(C('qwen2_moe', 16, 16, 24, 2048), [T(128, 'half', 1e4)]),
    Case(C('qwen3', kv=8, layers=36, rope_theta=1e6), [T(128, 'half', 1e6)], norm=True),
    Case(C('qwen3_moe', 32, 4, 48, 2048, head_dim=128), [T(128, 'half', 1e4)], norm=True),
    Case(C('qwen3_next', 16, 2, 48, 2048, head_dim=256), [T(256, 'half', 1e4, rot=64, n=12)], norm=True),
    Case(C('recurrent_gemma', 10, 1, 26, 2560), [T(256, 'half', 1e4, rot=128, n=8)]),
    Case(C('recurrent_gemma', 10, 1, 6, 2560, block_types=['attention', 'recurrent']),
         [T(256, 'half', 1e4, rot=128, n=3)]),
    Case(C('roformer', 12, 12, 12, 768), [T(64, 'interleaved', 1e4)]),
    Case(C('roformer', 12, 12, 12, 768, rotary_value=True), [T(64, 'interleaved', 1e4)], unknown=('rotary_value',)),
    Case(C('seed_oss', 80, 8, 64, 5120, head_dim=128, rope_theta=1e7), [T(128, 'half', 1e7)]),
    Case(C('smollm3', 16, 4, 36, 2048), [T(128, 'half', 2e6, n=27)]),
    Case(C('smollm3', 16, 4, 4, 2048, no_rope_layers=[1, 0, 1, 1]), [T(128, 'half', 2e6, n=3)]),
    Case(C('solar_open', 64, 8, 48, head_dim=128), [T(128, 'half', 1e6)]),
    Case(C('stablelm', 32, 32, 32, 2560), [T(80, 'half', 1e4, rot=20)]),
    Case(C('starcoder2', 24, 2, 30, 3072), [T(128, 'half', 1e4)]),
    Case(C('step3p5', 64, None, 4, 4096, head_dim=128, num_attention_groups=8, # a fifth layer predicts tokens
           layer_types=kinds(4, 4, first=True) + [FULL], rope_theta=[5e6, 1e4, 1e4, 1e4, 5e6],
           partial_rotary_factors=[0.5, 1.0, 1.0, 1.0, 0.5], yarn_only_types=[FULL], use_rope_layers=[],
           attention_other_setting={'num_attention_heads': 96},
           rope_scaling={**LLAMA3, 'factor': 2.0, 'original_max_position_embeddings': 131072}),
         [T(128, 'half', 5e6, rot=64, n=1, k=8, name=FULL, scale=('llama3', 2.0, 1.0, 4.0, 131072)),
          T(128, 'half', 1e4, n=3, q=96, k=8, name=WINDOW)], norm=True),
    Case({'model_type': 'step3p7', 'text_config': C(
        'step3p5', 64, 8, 4, 4096, head_dim=128, layer_types=kinds(4, 4, first=True), num_sliding_attention_heads=96,
        per_layer_config={str(i): {'num_attention_heads': 96} for i in (1, 2, 3)}, rope_parameters={
            FULL: {**LLAMA3, 'rope_theta': 5e6, 'partial_rotary_factor': 0.5}, WINDOW: rope(rope_theta=1e4)})},
         [T(128, 'half', 5e6, rot=64, n=1, name=FULL, scale=('llama3', 8.0, 1.0, 4.0, 8192)),
          T(128, 'half', 1e4, n=3, q=96, name=WINDOW)], norm=True),
    Case(C('vaultgemma', 8, 4, 26, 2304), [T(256, 'half', 1e4)]),
]

# ---- Latent attention ----

V3, V3_HEADS = latent(128, 64, 512)
V3_YARN = {'type': 'yarn', 'factor': 40, 'beta_fast': 32, 'beta_slow': 1, 'mscale': 1.0, 'mscale_all_dim': 1.0,
           'original_max_position_embeddings': 4096}
V4_KINDS = ['heavily_compressed_attention', 'compressed_sparse_attention', WINDOW]
V4_TABLES = [T(512, 'interleaved', 16e4, rot=64, n=2, name='compressed_attention', q_offs=448, k=1, k_dim=512,
               scale=('yarn', 16.0, 65536, 32.0, 1.0, True)),
             T(512, 'interleaved', 1e4, rot=64, n=1, name=WINDOW, q_offs=448, k=1, k_dim=512)]

CASES += [
    Case(C('deepseek_v2', **V3), [T(layout='interleaved', base=1e4, **V3_HEADS)]),
    Case(C('deepseek_v3', 128, 128, 61, 7168, rope_scaling=V3_YARN, max_position_embeddings=163840, **V3),
         [T(layout='deinterleave', base=1e4, scale=('yarn', 40.0, 4096, 32.0, 1.0, True), **V3_HEADS)]),
    Case(C('deepseek_v3', 128, 128, 61, 7168, rope_interleave=True, head_dim=64, **V3),
         [T(layout='deinterleave', base=1e4, **V3_HEADS)]),
    Case(C('deepseek_v3', 128, 128, 61, 7168, rope_interleave=False, **V3), [T(layout='half', base=1e4, **V3_HEADS)]),
    Case(C('kimi_k2', 64, 64, 61, 7168, rope_theta=5e4, **V3), [T(layout='deinterleave', base=5e4, **V3_HEADS)]),
    Case(C('deepseek_v32', 128, 128, 61, 7168, index_head_dim=128, **V3),
         [T(layout='deinterleave', base=1e4, **V3_HEADS)]),
    Case(C('glm4_moe_lite', 20, 20, 47, 2048, rope_interleave=True, **latent(192, 64, 512)[0]),
         [T(layout='deinterleave', base=1e4, **latent(192, 64, 512)[1])]),
    Case(C('glm_moe_dsa', 64, 64, 78, 6144, rope_interleave=True, indexer_rope_interleave=True, **latent(
        192, 64, 512)[0], rope_parameters=rope(rope_theta=8e6)),
         [T(layout='deinterleave', base=8e6, **latent(192, 64, 512)[1])]),
    Case(C('glm_moe_dsa', 64, 64, 78, 6144, rope_interleave=False, **latent(192, 64, 512)[0]), # not looked at
         [T(layout='deinterleave', base=1e4, **latent(192, 64, 512)[1])], unknown=('rope_interleave',)),
    Case(C('axk2', 32, 32, 48, 2048, head_dim=32, **latent(64, 32, 128)[0]),
         [T(layout='deinterleave', base=1e4, **latent(64, 32, 128)[1])]),
    Case(C('longcat_flash', 64, 64, 56, 6144, head_dim=64, **V3), [T(layout='deinterleave', base=1e7, **V3_HEADS)]),
    Case(C('youtu', 16, 16, 32, 2048, **V3), [T(layout='deinterleave', base=1e4, **V3_HEADS)]),
    Case(C('bailing_hybrid', 64, 64, 80, 8192, layer_group_size=8, partial_rotary_factor=0.5, **V3), # 32 pairs
         [T(layout='deinterleave', base=1e4, n=10, **V3_HEADS)], unknown=('linear attention',)),
    Case(C('mistral4', 32, 32, 36, 4096, **latent(64, 64, 256)[0]),
         [T(layout='deinterleave', base=1e4, scale=('yarn', 128.0, 8192, 32.0, 1.0, True), **latent(64, 64, 256)[1])]),
    Case(C('mistral4', 32, 32, 36, 4096, **latent(64, 64, 256)[0], rope_parameters=rope(
        rope_theta=1e5, partial_rotary_factor=0.5)), # of heads of 128: 32 pairs
         [T(layout='deinterleave', base=1e5, **latent(64, 64, 256)[1])]),
    Case(C('deepseek_v4', 64, 1, 3, 4096, head_dim=512, qk_rope_head_dim=64, rope_theta=1e4, compress_rope_theta=16e4,
           compress_ratios=[128, 4, 0], rope_scaling={'type': 'yarn', 'factor': 16, 'beta_fast': 32, 'beta_slow': 1,
                                                      'original_max_position_embeddings': 65536}),
         V4_TABLES, norm=True),
    Case(C('deepseek_v4', 64, 1, 3, 4096, head_dim=512, partial_rotary_factor=0.125, layer_types=V4_KINDS,
           rope_parameters={'main': rope(rope_theta=1e4, partial_rotary_factor=0.125), 'compress': rope(
               'yarn', rope_theta=16e4, factor=16, original_max_position_embeddings=65536, attention_factor=1.0,
               partial_rotary_factor=0.125)}), [V4_TABLES[1], V4_TABLES[0]], norm=True),
]

# ---- Several positions a token ----

CASES += [
    Case({'model_type': 'cosmos3_edge', 'text_config': C('cosmos3_edge_text', 16, 8, 28, 2048, head_dim=128)},
         [T(128, 'half', 1e8, axes=('imrope', 24, 20, 20))]),
    Case(C('ernie4_5_vl_moe_text', 20, 4, 28, 2560), [T(128, 'interleaved', 5e5, axes=('ernie', 22, 22, 20))]),
    Case({'model_type': 'glm4v', 'text_config': C('glm4v_text', 32, 2, 40, rope_parameters=rope(
        rope_theta=1e4, partial_rotary_factor=0.5, mrope_section=[8, 12, 12]))},
         [T(128, 'interleaved', 1e4, rot=64, axes=('mrope', 8, 12, 12))]),
    Case(C('glm4v_text', 32, 2, 40), refused='add up to 32 pairs, but a head has 64'), # as its code fails
    Case({'model_type': 'glm4v_moe', 'text_config': C('glm4v_moe_text', 96, 8, 46, head_dim=128)},
         [T(128, 'half', 1e4, rot=64, axes=('mrope', 8, 12, 12))]),
    Case(C('glm_image_text', 32, 2, 40, partial_rotary_factor=0.5),
         [T(128, 'half', 1e4, rot=64, axes=('mrope', 8, 12, 12))]),
    Case(C('glm_ocr_text', 16, 8, 16, 1024), [T(64, 'interleaved', 1e4, axes=('mrope', 8, 12, 12))]),
    Case(C('paddleocr_vl_text', 16, 2, 18, 1024, rope_scaling={'type': 'default', 'mrope_section': [16, 24, 24]}),
         [T(128, 'half', 5e5, axes=('mrope', 16, 24, 24))]),
    Case(C('qwen2_vl', 28, 4, 28, 3584, rope_theta=1e6, rope_scaling={'type': 'mrope', 'mrope_section': [16, 24, 24]}),
         [T(128, 'half', 1e6, axes=('mrope', 16, 24, 24))]),
    Case({'model_type': 'qwen2_5_vl', 'text_config': C('qwen2_5_vl_text', 64, 8, 80, 8192, rope_parameters=rope(
        rope_theta=1e6, mrope_section=[16, 24, 24]))}, [T(128, 'half', 1e6, axes=('mrope', 16, 24, 24))]),
    Case({'model_type': 'qwen2_5_omni', 'thinker_config': {'text_config': C(
        'qwen2_5_omni_text', 28, 4, 28, 3584, rope_scaling={'rope_type': 'default', 'mrope_section': [16, 24, 24]})}},
         [T(128, 'half', 1e6, axes=('mrope', 16, 24, 24))]),
    Case({'model_type': 'qwen3_5', 'text_config': C('qwen3_5_text', 16, 4, 32, 4096, head_dim=256)},
         [T(256, 'half', 1e4, rot=64, n=8, axes=('imrope', 11, 11, 10))], norm=True),
    Case(C('qwen3_5_moe_text', 16, 2, 40, 2048, head_dim=256, rope_parameters=rope(
        rope_theta=1e7, partial_rotary_factor=0.25, mrope_section=[11, 11, 10], mrope_interleaved=True)),
         [T(256, 'half', 1e7, rot=64, n=10, axes=('imrope', 11, 11, 10))], norm=True),
    Case({'model_type': 'qwen3_omni_moe', 'thinker_config': {'text_config': C(
        'qwen3_omni_moe_text', 32, 4, 48, 2048, head_dim=128, rope_scaling={
            'rope_type': 'default', 'interleaved': True, 'mrope_interleaved': True, 'mrope_section': [24, 20, 20]})}},
         [T(128, 'half', 1e6, axes=('imrope', 24, 20, 20))], norm=True),
    Case({'model_type': 'qwen3_vl', 'text_config': C('qwen3_vl_text', kv=8, layers=36)},
         [T(128, 'half', 5e6, axes=('imrope', 24, 20, 20))], norm=True),
    Case(C('qwen3_vl_moe_text', 64, 4, 94, 4096), [T(128, 'half', 5e6, axes=('imrope', 24, 20, 20))], norm=True),
    Case(C('hunyuan_vl', 16, 8, 24, 2048, head_dim=128, max_position_embeddings=32768, rope_scaling={
        'type': 'xdrope', 'alpha': 1000.0, 'factor': 1.0, 'xdrope_section': [16, 16, 16, 16]}),
         [T(128, 'half', 1e4, scale=('alpha', 1000.0), axes=('mrope', 16, 16, 16, 16))]),
]

# ---- Towers for images ----


def tower(model_type, heads, layers, hidden, whole='', **fields):
    return {'model_type': whole or model_type, 'vision_config': {
        'model_type': model_type, 'num_attention_heads': heads, 'num_hidden_layers': layers, 'hidden_size': hidden,
        **fields}}


def V(model_type, heads, layers, hidden, dim, layout, base, axes, norm=False, rot=0, **fields):
    return Case(tower(model_type, heads, layers, hidden, **fields),
                [T(dim, layout, base, rot=rot, n=layers, q=heads, k=heads, axes=axes)], norm=norm, part='vision')


def by_rows_and_columns(model_type, heads, layers, hidden, dim, norm=False):
    return V(model_type, heads, layers, hidden, dim, 'half', 1e4, ('vision', dim // 4, dim // 4), norm)


CASES += [
    by_rows_and_columns('ernie4_5_vl_moe_vision', 16, 32, 1280, 80),
    by_rows_and_columns('exaone4_5_vision', 16, 32, 3584, 224),
    by_rows_and_columns('glm4v_vision', 12, 24, 1536, 128),
    by_rows_and_columns('glm4v_moe_vision', 12, 24, 1536, 128),
    by_rows_and_columns('glm_ocr_vision', 16, 24, 1024, 64, norm=True),
    by_rows_and_columns('qwen2_5_omni_vision_encoder', 16, 32, 1280, 80),
    by_rows_and_columns('qwen3_5_vision', 16, 27, 1152, 72),
    by_rows_and_columns('qwen3_5_moe_vision', 16, 27, 1152, 72),
    by_rows_and_columns('qwen3_omni_moe_vision_encoder', 16, 27, 1152, 72),
    by_rows_and_columns('qwen3_vl', 16, 27, 1152, 72),
    by_rows_and_columns('step3p5_vision', 16, 47, 1536, 96),
    Case({'model_type': 'step3p7', 'vision_config': {'width': 1536, 'layers': 47, 'heads': 16}},
         [T(96, 'half', 1e4, n=47, q=16, k=16, axes=('vision', 24, 24))], part='vision'),
    V('muse_glimmer_vision', 16, 50, 1536, 96, 'half', 1e4, ('vision', 24, 24)),
    V('minimax_m3_vl_vision', 16, 32, 1280, 80, 'half', 1e4, ('axial', 13, 13, 13), rot=78),
    V('gemma4_vision', 12, 16, 768, 64, 'half_by_axis', 100.0, ('axial', 16, 16), True),
    V('llama4_vision_model', 16, 34, 1408, 88, 'interleaved', 1e4, ('axial', 22, 22)),
    V('kimi_k25_vision', 16, 27, 1152, 72, 'interleaved', 1e4, ('alternate',)),
    V('pixtral', 16, 24, 1024, 64, 'half', 1e4, ('pixtral',)),
    Case(C('dinov3_vit', 6, 6, 12, 384), [T(64, 'half', 100.0, axes=('vision', 16, 16))]),
    Case(C('eomt_dinov3', 16, 16, 24, 1024, rope_parameters=rope(rope_theta=100.0)),
         [T(64, 'half', 100.0, axes=('vision', 16, 16))]),
    Case(C('sapiens2', 16, 16, 4, 1024, use_qk_norm=True, num_key_value_heads_per_layer=[16, 8, 8, 16]),
         [T(64, 'half', 100.0, n=2, axes=('vision', 16, 16)), T(64, 'half', 100.0, n=2, k=8, axes=('vision', 16, 16))],
         norm=True),
    Case(tower('some_vision', 16, 24, 1024), part='vision', refused='"some_vision" is unknown'),
    Case(C('llama'), part='vision', refused='there is no vision_config'),
]

# ---- Files that leave all to their model_type: 8 layers, 4 heads of 64 channels unless the class has others ----


def silent(model_type, *tables, norm=False, unknown=(), **fields):
    return Case(C(model_type, 4, 2, 8, 256, **fields), list(tables), norm=norm, unknown=unknown)


GEMMA4_WINDOW = T(256, 'half', 1e4, n=7, name=WINDOW)
ONE_OF_EIGHT = [T(**GEMMA4_FULL, n=1), GEMMA4_WINDOW]
CASES += [
    *[silent(name, T(128, 'half', base)) for name, base in (
        ('hrm_text', 1e4), ('minimax_m2', 5e6), ('seed_oss', 1e4), ('solar_open', 1e6))],
    *[silent(name, T(128, 'half', base), norm=True) for name, base in (
        ('hy_v3', 11158840.0), ('minimax_m3_vl', 5e6), ('qwen3', 1e4), ('step3p5', 1e4), ('step3p7', 1e4))],
    *[silent(name, T(64, 'half', base)) for name, base in (
        ('eurobert', 1e4), ('falcon_h1', 1e4), ('mistral3', 1e4), ('nomic_bert', 1e3), ('olmo2', 1e4), ('olmo3', 1e4),
        ('qwen2', 1e4))],
    silent('afmoe', T(128, 'half', 1e4, n=6), norm=True), silent('cohere', T(64, 'interleaved', 1e4)),
    silent('cohere2_moe', T(128, 'interleaved', 1e4, n=6)), silent('codegen', T(64, 'interleaved', 1e4)),
    Case(C('gptj', 2, 2, 8, 256), [T(128, 'interleaved', 1e4, rot=64)]),
    Case(C('codegen', 2, 2, 8, 256), [T(128, 'interleaved', 1e4, rot=64)]),
    silent('cwm', T(128, 'half', 1e6, scale=('llama3', 16.0, 1.0, 4.0, 8192))), silent('dbrx', T(64, 'half', 1e4)),
    silent('apertus', T(64, 'half', 1.2e7), norm=True, rope_parameters=rope()),
    silent('cwm', T(128, 'half', 1e6), rope_parameters=rope()),
    silent('gpt_oss', T(64, 'half', 150000.0), rope_scaling=rope()),
    silent('openai_privacy_filter', T(64, 'interleaved', 150000.0), rope_parameters=rope()),
    silent('ministral3', T(128, 'half', 1e4), rope_parameters=rope()),
    silent('higgs_audio_v2', T(128, 'half', 1e4), rope_parameters=rope()),
    silent('diffusion_gemma', *ONE_OF_EIGHT, norm=True), silent('gemma4', *ONE_OF_EIGHT, norm=True),
    silent('gemma4_unified', *ONE_OF_EIGHT, norm=True),
    *[silent(name, *ONE_OF_EIGHT, norm=True, num_global_key_value_heads=1) for name in (
        'gemma4_text', 'gemma4_unified_text')], # but for attention_k_eq_v their classes take no notice
    silent('exaone4_5', T(64, 'half', 1e4, n=6), norm=True), silent('gemma2', T(256, 'half', 1e4)),
    silent('gemma3', T(256, 'half', 1e6, n=1, name=FULL), T(256, 'half', 1e4, n=7, name=WINDOW), norm=True),
    silent('gemma3n', T(256, 'half', 1e6, n=1, name=FULL), T(256, 'half', 1e4, n=7, name=WINDOW), norm=True),
    silent('modernbert', T(64, 'half', 160000.0, n=3, name=FULL), T(64, 'half', 1e4, n=5, name=WINDOW)),
    silent('glm', T(128, 'interleaved', 1e4, rot=64)), silent('glm4', T(128, 'interleaved', 1e4, rot=64)),
    silent('glm4_moe', T(64, 'half', 1e4, rot=32)), silent('helium', T(128, 'interleaved', 1e5)),
    silent('glm4v_text', T(64, 'interleaved', 1e4, axes=('mrope', 8, 12, 12)), rope_parameters=rope()),
    silent('laguna', T(128, 'half', 5e5, rot=64, name=FULL), norm=True),
    silent('mellum', T(128, 'half', 5e5, name=FULL), norm=True), silent('llama4_text', T(128, 'interleaved', 5e5, n=6)),
    silent('muse_glimmer', T(128, 'half', 1e4, n=6), norm=True),
    silent('qwen3_next', T(256, 'half', 1e4, rot=64, n=2), norm=True),
    *[silent(name, T(256, 'half', 1e4, rot=64, n=2, axes=('imrope', 11, 11, 10)), norm=True) for name in (
        'qwen3_5', 'qwen3_5_moe')],
    silent('qwen3_vl', T(128, 'half', 5e6, axes=('imrope', 24, 20, 20)), norm=True),
    *[silent(name, T(128, 'half', base, axes=('imrope', 24, 20, 20)), norm=True, head_dim=128) for name, base in (
        ('qwen3_vl_moe', 5e6), ('qwen3_omni_moe', 1e6))],
    *[silent(name, T(64, 'half', 1e6, axes=('mrope', 8, 12, 12)), rope_scaling={
        'type': 'mrope', 'mrope_section': [8, 12, 12]}) for name in ('qwen2_vl', 'qwen2_5_vl')],
    silent('cosmos3_edge', T(128, 'half', 1e8, axes=('imrope', 24, 20, 20))),
    silent('bailing_hybrid', T(layout='deinterleave', base=1e4, n=1, **V3_HEADS), unknown=('linear attention',), **V3),
    silent('glm4_moe_lite', T(layout='deinterleave', base=1e4, **V3_HEADS), **V3),
    silent('deepseek_v4', *[T(512, 'interleaved', base, rot=64, n=4, name=name, q_offs=448, k=1, k_dim=512)
                            for base, name in ((16e4, 'compressed_attention'), (1e4, WINDOW))], norm=True,
           layer_types=['compressed_sparse_attention', WINDOW] * 4),
    *[silent(name, T(layout='half', base=1e4, **V3_HEADS), rope_interleave=False, **V3) for name in (
        'glm4_moe_lite', 'youtu')],
    silent('bailing_hybrid', T(layout='half', base=1e4, n=1, **V3_HEADS), unknown=('linear attention',),
           rope_interleave=False, **V3),
    silent('mistral4', T(layout='half', base=1e4, **V3_HEADS), rope_interleave=False, rope_parameters=rope(), **V3),
    silent('zamba2', T(64, 'half', 1e4, n=1), use_mem_rope=True),
    *[silent(name, T(64, 'half', 1e4), position_embeddings_type='rotary') for name in (
        'wav2vec2-bert', 'wav2vec2-conformer')],
    Case(C('eomt_dinov3', 4, 4, 8, 256), [T(64, 'half', 100.0, axes=('vision', 16, 16))]),
    Case(C('sapiens2', 4, 4, 8, 256, use_qk_norm=False), [T(64, 'half', 100.0, axes=('vision', 16, 16))]),
    Case({'model_type': 'gemma4', 'vision_config': {'model_type': 'gemma4_vision'}},
         [T(64, 'half_by_axis', 100.0, n=16, q=12, k=12, axes=('axial', 16, 16))], norm=True, part='vision'),
    *[by_rows_and_columns(name, 4, 8, 256, 64) for name in ('qwen2_vl', 'qwen2_5_vl', 'qwen3_vl_moe')],
]
# ---- No RoPE ----


def no_rope(positions, model_type, **fields):
    return Case(C(model_type, **fields), positions=positions)


CASES += [
    no_rope('alibi', 'bloom'), no_rope('alibi', 'falcon', alibi=True), no_rope('learned', 'mpt'),
    no_rope('alibi', 'mpt', attn_config={'alibi': True}),
    *[no_rope('learned', name) for name in ('gpt2', 'gpt_bigcode', 'opt', 'bert', 'roberta', 'esm')],
    *[no_rope('sinusoidal', name) for name in ('marian', 'm2m_100', 'whisper')],
    *[no_rope('relative_buckets', name) for name in ('t5', 'mt5', 'umt5')],
    no_rope('none', 'jamba', rope_theta=1e4), no_rope('none', 'nemotron_h', rope_theta=1e4),
    no_rope('none', 'granitemoehybrid', position_embedding_type='nope'), no_rope('none', 'zamba2', use_mem_rope=False),
    no_rope('none', 'granitemoehybrid', rope_theta=1e4),
    no_rope('none', 'cohere2', layers=2, layer_types=[FULL, FULL]), no_rope('none', 'llama', no_rope_layers=[0] * 32),
    no_rope('none', 'kimi_linear', mla_use_nope=True), no_rope('none', 'llama', position_embedding_type='nope'),
    Case(C('zamba2', 32, 32, 54, 2560, attention_head_dim=160, use_mem_rope=True, rope_theta=1e4),
         [T(160, 'half', 1e4, n=9)]),
    Case(C('zamba2', 32, 32, 3, 2560, attention_head_dim=160, use_mem_rope=True, layers_block_type=[
        'mamba', 'hybrid', 'hybrid']), [T(160, 'half', 1e4, n=2)]),
    no_rope('none', 'bamba', rope_theta=1e4), no_rope('none', 'granitemoehybrid', position_embedding_type='rope'),
    no_rope('relative_keys', 'wav2vec2-bert'), no_rope('relative_keys', 'wav2vec2-bert',
                                                       position_embeddings_type='relative_key'),
    Case(C('wav2vec2-bert', 16, 16, 24, 1024, position_embeddings_type='rotary', rotary_embedding_base=1e5),
         [T(64, 'half', 1e5)]),
    Case(C('wav2vec2-conformer', position_embeddings_type='relative'), refused='Transformer-XL'),
    Case(C('wav2vec2-conformer'), refused='Transformer-XL'), Case(C('parakeet_encoder'), refused='Transformer-XL'),
    Case(C('inkling_text'), refused='bias by distance'), Case(C('vjepa2'), refused='no rotation'),
]

# ---- What is not known ----

ODD = C('odd', rope_theta=1e4)
CASES += [
    Case(ODD, [T(128, 'half', 1e4)], guessed=('layout',)),
    Case(C('odd', rope_scaling=rope('linear', factor=2.0)), [T(128, 'half', 1e4, scale=('linear', 2.0))],
         guessed=('layout', 'base')),
    Case(C('odd', rope_parameters={FULL: rope(rope_theta=1e6), WINDOW: rope(rope_theta=1e4)}),
         [T(128, 'half', 1e6, n=-1, name=FULL), T(128, 'half', 1e4, n=-1, name=WINDOW)], guessed=('layout',)),
    Case({**ODD, 'model_type': None}, [T(128, 'half', 1e4)], guessed=('layout',)),
    Case(C('odd', rope_theta=1e4, rope_interleaved=True), [T(128, 'interleaved', 1e4)]),
    Case(C('odd', rope_theta=1e4, rotary_emb_interleaved=False), [T(128, 'half', 1e4)]),
    Case(C('odd', **V3, rope_theta=1e4, rope_interleave=True), [T(layout='deinterleave', base=1e4, **V3_HEADS)]),
    Case(C('odd', rope_theta=1e4, rope_scaling={'type': 'default', 'mrope_section': [16, 24, 24]}),
         [T(128, 'half', 1e4, axes=('mrope', 16, 24, 24))], guessed=('layout', 'axes')),
    Case(C('odd', rope_theta=1e4, patch_size=14), [T(128, 'half', 1e4)], guessed=('layout', 'axes')),
    Case(C('odd'), refused='"odd" is unknown'),
    Case(C('llama', swa_rope_theta=1e4), [T(128, 'half', 1e4)], unknown=('swa_rope_theta',)),
    Case(C('llama', rope_thetta=5e5), [T(128, 'half', 1e4)], unknown=('rope_thetta',)),
    Case(C('llama', nope_layer_interval=4), [T(128, 'half', 1e4)], unknown=('nope_layer_interval',)),
    Case(C('llama', rope_scaling=rope(unheard=1.0)), [T(128, 'half', 1e4)], unknown=('unheard',)),
    Case(C('llama', rope_scaling=rope('linear', factor=2.0), rope_parameters=rope(rope_theta=5e5)),
         [T(128, 'half', 1e4, scale=('linear', 2.0))], unknown=('rope_parameters beside rope_scaling',)),
    Case(C('llama', rope_interleave=True), [T(128, 'half', 1e4)], unknown=('rope_interleave',)),
    Case(C('llama', linear_attn_config={'kda_layers': [1]}), [T(128, 'half', 1e4)], unknown=('linear_attn_config',)),
    Case(C('llama', layers=4, per_layer_config={'1': {'rope_theta': 1e5}}), [T(128, 'half', 1e4)],
         unknown=('per_layer_config: rope_theta',)),
    Case(C('llama', layers=3, layer_types=kinds(3, 3), rope_parameters={FULL: rope(rope_theta=1e6)}),
         [T(128, 'half', 1e6, n=1, name=FULL)], unknown=(WINDOW,)),
    Case(C('llama', layers=4, per_layer_config={'4': {'head_dim': 64}}), refused='"per_layer_config" has layer 4'),
    Case(C('llama', layers=4, per_layer_config={'x': {'head_dim': 64}}), refused='"per_layer_config" is no object'),
    Case(C('llama', layers=4, per_layer_config={'9' * 5000: {'head_dim': 64}}),
         refused='"per_layer_config" is no object'),
    Case(C('llama', layers=2, layer_rope_theta=[1e4, None]), refused='"layer_rope_theta" holds what is no number'),
    Case(C('llama', layers=2, no_rope_layers=[True, False]), refused='"no_rope_layers" holds what is no number'),
    Case(C('llama', layers=2, num_attention_heads_per_layer=[4, 4.5]), refused='holds what is no count of heads'),
    Case(C('llama', layers=2, num_key_value_heads_per_layer=[4, 0]), refused='holds what is no count of heads'),
    Case(C('llama', layers=2, per_layer_config={'0': {'head_dim': 'x'}}), refused='"head_dim" is no number'),
    Case(C('llama', layers=2, layer_rope_theta=[1e4, -1.0]), refused='is -1; it has to be 1 to'),
    Case(C('llama', layers=2, partial_rotary_factors=[0.5, 1.5]), refused='correct "head_dim"'),
    Case(C('llama', layers=4, layer_rope_theta=[1e4, 1e4]), refused='"layer_rope_theta" is a list of 2'),
    Case(C('llama', rope_scaling=rope('unheard')), refused='a scaling that posenc does not have'),
    Case(C('llama', rope_theta=[1e4]), refused='"rope_theta"'),
    Case(C('llama', layers=8, layer_rope_theta=[10.0**(4 + i) for i in range(8)]), refused='more than 6 ways'),
    Case({'_class_name': 'odd', 'num_attention_heads': 24, 'attention_head_dim': 128, 'num_layers': 38,
          'rope_theta': 1e4, 'hidden_size': 1536}, [T(128, 'half', 1e4, n=38, q=24, k=24)], guessed=('layout',)),
    Case(C('odd', rope_theta=1e4, time_step_limit=[0.0, float('inf')]), [T(128, 'half', 1e4)], guessed=('layout',)),
    Case(C('llama', rope_theta=float('nan')), refused='is nan'),
    Case(C('llama', rope_theta='x'), refused='"rope_theta" is no number'),
]
