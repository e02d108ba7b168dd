"""Facts of each model_type, as its code has them: a row for each model.

A row is its model_types, where that can be checked, and the facts. '' is the folder of the first name below
src/transformers/models of Transformers 5.12.1 (modeling_*.py for layouts, norms and layers, configuration_*.py for
numbers); a folder otherwise, of a release or a commit after '@'; or the repository whose own code a file names.
"""
from .architectures import UNKNOWN, Architecture, Layers, by_name, deinterleave, half, interleaved

# ---- What several have in common ----

_LLAMA3 = dict(rope_type='llama3', factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
               original_max_position_embeddings=8192.0)
_GPT_OSS_YARN = dict(rope_type='yarn', factor=32.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
                     original_max_position_embeddings=4096.0)
_MINISTRAL_YARN = dict(rope_type='yarn', beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                       llama_4_scaling_beta=0.1)
_GEMMA3 = dict(local_base=1e4, hidden_size=2304, n_heads=8, n_kv_heads=4, head_dim=256, max_position=131072,
               has_qk_norm=True)
_GEMMA4 = dict(hidden_size=2304, n_heads=8, n_kv_heads=4, head_dim=256, full_head_dim=512, n_layers=30,
               layers=Layers(full_every=6), has_qk_norm=True,
               rope=dict(full_attention=dict(rope_type='proportional', partial_rotary_factor=0.25, rope_theta=1e6),
                         sliding_attention=dict(rope_type='default', rope_theta=1e4)))
_EXAONE4 = dict(has_qk_norm=True, layers=Layers(full_every=4, only_windows_rotate=True, only_if_windows=True))
_MODERNBERT = dict(local_base=1e4, hidden_size=768, n_heads=12, n_layers=22, max_position=8192,
                   layers=Layers(full_every=3, full_comes_first=True))
_QWEN3_NEXT = dict(rotated_part=0.25, head_dim=256, has_qk_norm=True, layers=Layers(attention_every=4))
_QWEN3_5 = dict(axes='imrope', sections=(11, 11, 10), **_QWEN3_NEXT)
_QWEN3_VL = dict(axes='imrope', sections=(24, 20, 20), has_qk_norm=True)
_GLM_V = dict(axes='mrope', sections=(8, 12, 12))
_ZAMBA2 = ('mamba', *(*('mamba',) * 5, 'hybrid') * 7, *('mamba',) * 4, 'hybrid', *('mamba',) * 3, 'hybrid',
           *('mamba',) * 2)
_STEP = dict(head_dim=128, has_qk_norm=True, layers=Layers(windows_unscaled=True))

# ---- Texts ----

_TEXTS = [
    # One position a token
    ('llama', '', half(1e4)),
    ('afmoe', '', half(1e4, head_dim=128, has_qk_norm=True, layers=Layers(full_every=4, only_windows_rotate=True))),
    ('apertus', '', half(1.2e7, has_qk_norm=True, rope=dict(_LLAMA3, rope_theta=1.2e7))),
    ('arcee', '', half(1e4)),
    ('aria_text aria', 'aria', half(1e4)),
    ('axk2', 'axk2@0572057', deinterleave(1e4)),
    ('bailing_hybrid', 'bailing_hybrid@1221846', deinterleave(
        1e4, states_interleave=True, layers=Layers(attention_every=8),
        unread='RoPE of its linear attention (half-split, partial_rotary_factor of those heads)')),
    ('bamba', '', half(1e4, rotated_part=0.5, layers=Layers(blocks=('mamba',)))), # unless it lists attention
    ('bitnet', '', half(5e5)),
    ('chameleon', '', half(1e4)),
    ('chatglm', 'THUDM/chatglm3-6b', interleaved(1e4, rotated_part=0.5)),
    ('codegen', '', interleaved(1e4, n_rot=64)),
    ('cohere', 'cohere@4.57', interleaved(1e4)), # 5e5 in 5.12
    ('cohere2', '', interleaved(1e4, layers=Layers(full_every=4, only_windows_rotate=True))),
    ('cohere2_moe', '', interleaved(1e4, head_dim=128)),
    ('csm', '', half(5e5)),
    ('cwm', '', half(1e6, head_dim=128, rope=dict(_LLAMA3, factor=16.0, rope_theta=1e6))),
    ('dbrx', '', half(1e4)),
    ('deepseek_ocr2_text', 'deepseek_ocr2', half(1e4)),
    ('deepseek_v2', '', interleaved(1e4)),
    ('deepseek_v3 kimi_k2', '', deinterleave(1e4, states_interleave=True)),
    ('deepseek_v32', '', deinterleave(1e4)),
    ('deepseek_v4', '', interleaved(16e4, local_base=1e4, head_dim=512, n_kv_heads=1, has_qk_norm=True,
                                    rotates_last=True, output_rotates=True, unwindowed='compressed_attention')),
    ('diffllama', '', half(1e4)),
    ('diffusion_gemma diffusion_gemma_text', '', half(max_position=131072, **_GEMMA4)),
    ('doge', '', half(1e4, has_qk_norm=True)),
    ('dots1', '', half(1e4, has_qk_norm=True)),
    ('emu3_text_model', 'emu3', half(1e6)),
    ('ernie4_5', '', interleaved(5e5, head_dim=128)),
    ('ernie4_5_moe', '', interleaved(5e5)),
    ('esm', '', Architecture('learned', 'half', 1e4)), # unless it states "rotary"
    ('eurobert', '', half(1e4)),
    ('evolla', '', half(5e5)),
    ('exaone4', '', half(1e4, **_EXAONE4)),
    ('exaone4_5', '', half(1e4, **_EXAONE4)),
    ('exaone_moe', '', half(1e4, **_EXAONE4)),
    ('falcon', '', half(1e4, bias_is_scaled=True)), # unless "alibi" is true it has no bias
    ('falcon_h1', '', half(1e4)),
    ('flex_olmo', '', half(5e5)), # norms of Q and K span all heads
    ('gemma', '', half(1e4, head_dim=256)),
    ('gemma2', '', half(1e4, head_dim=256)),
    ('gemma3 gemma3_text', '', half(1e6, n_layers=26, layers=Layers(full_every=6), **_GEMMA3)),
    ('gemma3n gemma3n_text', '', half(1e6, local_base=1e4, hidden_size=2048, n_heads=8, n_kv_heads=2, head_dim=256,
                                      n_layers=35, max_position=32768, has_qk_norm=True, layers=Layers(full_every=5))),
    ('gemma4 gemma4_text', '', half(max_position=131072, states_full_kv=True, **_GEMMA4)),
    ('gemma4_unified gemma4_unified_text', '', half(max_position=262144, states_full_kv=True, **_GEMMA4)),
    ('glm', '', interleaved(1e4, rotated_part=0.5, head_dim=128)),
    ('glm4', '', interleaved(1e4, rotated_part=0.5, head_dim=128)),
    ('glm4_moe', '', half(1e4, rotated_part=0.5, states_qk_norm=True)),
    ('glm4_moe_lite', '', deinterleave(1e4, states_interleave=True)),
    ('glm_moe_dsa', '', deinterleave(1e4)),
    ('gpt_neox', '', half(1e4, rotated_part=0.25)),
    ('gpt_neox_japanese', '', half(1e4)),
    ('gpt_oss', '', half(150000.0, head_dim=64, rope=_GPT_OSS_YARN)),
    ('gptj', '', interleaved(1e4, n_rot=64)),
    ('granite', '', half(1e4)),
    ('granite4_vision_text', 'granite4_vision', half(1e4)),
    ('granite_swa', 'granite_swa@1b27b6b', half(1e4, layers=Layers(full_every=4, full_comes_first=True))),
    ('granitemoe', '', half(1e4)),
    ('granitemoehybrid', '', Architecture('none', 'half', 1e4, layers=Layers(blocks=('mamba',)))), # unless it says rope
    ('granitemoeshared', '', half(1e4)),
    ('helium', '', interleaved(1e5, head_dim=128)),
    ('higgs_audio_v2', '', half(1e4, head_dim=128, rope=dict(
        _LLAMA3, factor=32.0, low_freq_factor=0.125, high_freq_factor=0.5, original_max_position_embeddings=1024.0,
        rope_theta=5e5))),
    ('hrm_text', '', half(1e4, head_dim=128)),
    ('hunyuan_v1_dense', '', half(1e4)), # norms of Q and K come after the rotation, as in the next two
    ('hunyuan_v1_moe', '', half(1e4)),
    ('hunyuan_vl hunyuan_vl_text', 'tencent/HunyuanOCR', half(1e4)),
    ('hy_v3', '', half(11158840.0, head_dim=128, has_qk_norm=True)),
    ('hyperclovax', '', half(1e4)),
    ('jais2', '', half(1e4)),
    ('jetmoe', '', half(1e4)),
    ('jina_embeddings_v3', '', half(2e4)),
    ('kyutai_speech_to_text', '', half(1e4)),
    ('laguna', '', half(head_dim=128, has_qk_norm=True, layers=Layers(full_every=1), rope=dict(
        full_attention=dict(rope_type='default', rope_theta=5e5, partial_rotary_factor=0.5),
        sliding_attention=dict(rope_type='default', rope_theta=1e4)))),
    ('lfm2', '', half(1e6, has_qk_norm=True)),
    ('lfm2_moe', '', half(1e6, has_qk_norm=True)),
    ('llama4_text', 'llama4', interleaved(5e5, head_dim=128, layers=Layers(unrotated_every=4))), # norms come after
    ('longcat_flash', '', deinterleave(1e7)),
    ('mellum', '', half(head_dim=128, has_qk_norm=True, layers=Layers(full_every=1), rope=dict(
        full_attention=dict(rope_type='default', rope_theta=5e5),
        sliding_attention=dict(rope_type='default', rope_theta=1e4)))),
    ('minimax_m2', '', half(5e6, head_dim=128)), # norms of Q and K span all heads
    ('minimax_m3_vl minimax_m3_vl_text', '', half(5e6, head_dim=128, has_qk_norm=True)),
    ('ministral', '', half(1e4)),
    ('ministral3', '', half(1e4, head_dim=128, rope=dict(_MINISTRAL_YARN, rope_theta=1e6, factor=16.0,
                                                         original_max_position_embeddings=16384.0))),
    ('mistral', '', half(1e4)),
    ('mistral3', '', half(1e4)),
    ('mistral4', '', deinterleave(1e4, states_interleave=True, rope=dict(
        _MINISTRAL_YARN, rope_theta=1e4, factor=128.0, original_max_position_embeddings=8192.0))),
    ('mixtral', '', half(1e6)),
    ('mllama_text_model', 'mllama', half(5e5)),
    ('modernbert', '', half(160000.0, **_MODERNBERT)),
    ('modernbert-decoder', 'modernbert_decoder', half(160000.0, **_MODERNBERT)),
    ('muse_glimmer muse_glimmer_text', 'muse_glimmer@0173fbb', half(
        1e4, head_dim=128, has_qk_norm=True,
        layers=Layers(full_every=4, unrotated_every=4, counts_from_end=True))),
    ('musicflamingo', '', Architecture(
        unread='rotation of the audio by time and window (base 1200, the first fifth of hidden_size)')),
    ('nanochat', '', half(1e4, is_inverse=True)), # norms come after the rotation
    ('nemotron', '', half(1e4, rotated_part=0.5)),
    ('nomic_bert', '', half(1e3)),
    ('olmo', '', half(1e4)),
    ('olmo2', '', half(1e4)), # norms of Q and K span all heads, as in the next two
    ('olmo3', 'olmo3@4.57', half(1e4, layers=Layers(full_every=4, windows_unscaled=True))), # 5.12 scales all layers
    ('olmoe', '', half(1e4)),
    ('openai_privacy_filter', '', interleaved(150000.0, head_dim=64, rope=_GPT_OSS_YARN)),
    ('persimmon', 'persimmon@4.57', half(25000.0, rotated_part=0.5)), # base 1e4 in 5.12
    ('phi', '', half(1e4, rotated_part=0.5)),
    ('phi3', '', half(1e4)),
    ('phi4_multimodal', '', half(1e4)),
    ('phimoe', '', half(1e6)),
    ('qwen2', '', half(1e4)),
    ('qwen2_moe', '', half(1e4)),
    ('qwen3', '', half(1e4, head_dim=128, has_qk_norm=True)),
    ('qwen3_moe', '', half(1e4, has_qk_norm=True)),
    ('qwen3_next', '', half(1e4, **_QWEN3_NEXT)),
    ('recurrent_gemma', '', half(1e4, rotated_part=0.5, layers=Layers(blocks=('recurrent', 'recurrent', 'attention')))),
    ('roformer', '', interleaved(1e4)),
    ('seed_oss', '', half(1e4, head_dim=128)),
    ('smollm3', '', half(2e6, layers=Layers(unrotated_every=4))),
    ('solar_open', '', half(1e6, head_dim=128)),
    ('stablelm', '', half(1e4, rotated_part=0.25)),
    ('starcoder2', '', half(1e4)),
    ('step3p5', 'step3p7@052f526', half(1e4, **_STEP)),
    ('step3p7', 'step3p7@052f526', half(1e4, **_STEP)),
    ('vaultgemma', '', half(1e4, head_dim=256)),
    ('youtu', '', deinterleave(1e4, states_interleave=True)),
    # Several positions a token
    ('cosmos3_edge cosmos3_edge_text', 'cosmos3_edge@05f60f3', half(1e8, head_dim=128, axes='imrope',
                                                                    sections=(24, 20, 20))),
    ('ernie4_5_vl_moe ernie4_5_vl_moe_text ernie4_5_moe_vl', '',
     interleaved(5e5, axes='ernie', sections=(22, 22, 20))),
    ('glm4v_text glm4v', 'glm4v', interleaved(1e4, **_GLM_V)),
    ('glm4v_moe_text glm4v_moe', 'glm4v_moe', half(1e4, rotated_part=0.5, **_GLM_V)),
    ('glm_image_text glm_image', 'glm_image', half(1e4, **_GLM_V)),
    ('glm_ocr_text glm_ocr', 'glm_ocr', interleaved(1e4, **_GLM_V)),
    ('paddleocr_vl_text paddleocr_vl', 'paddleocr_vl', half(5e5, head_dim=128)),
    ('qwen2_vl qwen2_vl_text', '', half(1e6)),
    ('qwen2_5_vl qwen2_5_vl_text', '', half(1e6)),
    ('qwen2_5_omni qwen2_5_omni_thinker qwen2_5_omni_text', '', half(1e6)),
    ('qwen3_5 qwen3_5_text', '', half(1e4, **_QWEN3_5)),
    ('qwen3_5_moe qwen3_5_moe_text', '', half(1e4, **_QWEN3_5)),
    ('qwen3_omni_moe qwen3_omni_moe_thinker qwen3_omni_moe_text', '', half(1e6, **_QWEN3_VL)),
    ('qwen3_vl qwen3_vl_text', 'qwen3_vl@4.57', half(5e6, head_dim=128, **_QWEN3_VL)), # base 5e5 in 5.12
    ('qwen3_vl_moe qwen3_vl_moe_text', 'qwen3_vl_moe@4.57', half(5e6, head_dim=128, **_QWEN3_VL)), # likewise
    # No RoPE
    ('bloom', '', Architecture('alibi')),
    ('jamba', '', Architecture('none')), # some files have a rope_theta, the classes do not look at it
    ('nemotron_h', '', Architecture('none')),
    ('zamba2', '', Architecture('none', 'half', 1e4, layers=Layers(blocks=_ZAMBA2))), # unless use_mem_rope is true
    ('mpt', '', Architecture('learned')), # unless attn_config says otherwise
    ('gpt2', '', Architecture('learned')),
    ('gpt_bigcode', '', Architecture('learned')),
    ('opt', '', Architecture('learned')),
    ('bert', '', Architecture('learned')),
    ('roberta', '', Architecture('learned')),
    ('marian', '', Architecture('sinusoidal')),
    ('m2m_100', '', Architecture('sinusoidal')),
    ('whisper', '', Architecture('sinusoidal')), # of the encoder; the decoder's are learned
    ('t5', '', Architecture('relative_buckets')),
    ('mt5', '', Architecture('relative_buckets')),
    ('umt5', '', Architecture('relative_buckets')),
    ('wav2vec2-bert', 'wav2vec2_bert', Architecture('relative_keys', 'half', 1e4)), # unless it states another
    ('wav2vec2-conformer', 'wav2vec2_conformer', Architecture(
        layout='half', base=1e4, refused='its positions are relative, as Transformer-XL has them')),
    ('parakeet_encoder parakeet_ctc parakeet_rnnt parakeet_tdt', 'parakeet', Architecture(
        refused='its positions are relative, as Transformer-XL has them')),
    ('inkling_mm_model inkling_text', 'inkling@0d828d2', Architecture(
        refused='it adds a bias by distance that each query makes from d_rel channels')),
    ('vjepa2', '', Architecture(
        refused='its code pairs neighbouring channels with angles of two halves, which is no rotation')),
]

# ---- Towers for images: some are called like the whole model ----

_ROW_AND_COLUMN = dict(axes='vision', coordinates='row and column')
_CENTRES = dict(axes='vision', coordinates='y and x of the centre in [-1, 1], times 2 pi, real')

_TOWERS = [
    ('dinov3_vit', '', half(100.0, **_CENTRES)),
    ('eomt_dinov3', '', half(100.0, **_CENTRES)),
    ('sapiens2', '', half(100.0, states_qk_norm=True, **_CENTRES)),
    ('ernie4_5_vl_moe_vision ernie4_5_vl_moe', 'ernie4_5_vl_moe', half(1e4, **_ROW_AND_COLUMN)),
    ('exaone4_5_vision exaone4_5', 'exaone4_5', half(1e4, **_ROW_AND_COLUMN)),
    ('gemma4_vision', 'gemma4', Architecture('rope', 'half_by_axis', 100.0, axes='axial', has_qk_norm=True,
                                             hidden_size=768, n_heads=12, head_dim=64, n_layers=16,
                                             coordinates='column and row')),
    ('glm4v_vision glm4v', 'glm4v', half(1e4, **_ROW_AND_COLUMN)),
    ('glm4v_moe_vision glm4v_moe', 'glm4v_moe', half(1e4, **_ROW_AND_COLUMN)),
    ('glm_ocr_vision glm_ocr', 'glm_ocr', half(1e4, has_qk_norm=True, **_ROW_AND_COLUMN)),
    ('llama4_vision_model', 'llama4', interleaved(1e4, axes='axial', coordinates='column and row, from 1 on')),
    ('minimax_m3_vl_vision minimax_m3_vl', 'minimax_m3_vl', half(1e4, axes='axial', n_axes=3,
                                                                 coordinates='frame, row and column')),
    ('moonvit kimi_vl kimi_k25 kimi_k25_vision', 'moonshotai/Kimi-VL-A3B-Instruct', interleaved(
        1e4, axes='alternate', coordinates='column and row')),
    ('muse_glimmer_vision', 'muse_glimmer@0173fbb', half(1e4, axes='vision', coordinates='column and row, from 1 on')),
    ('pixtral', '', half(1e4, axes='pixtral', coordinates='row and column')),
    ('qwen2_vl', '', half(1e4, **_ROW_AND_COLUMN)),
    ('qwen2_5_vl', '', half(1e4, **_ROW_AND_COLUMN)),
    ('qwen2_5_omni_vision_encoder', 'qwen2_5_omni', half(1e4, **_ROW_AND_COLUMN)),
    ('qwen3_5_vision qwen3_5', 'qwen3_5', half(1e4, **_ROW_AND_COLUMN)),
    ('qwen3_5_moe_vision qwen3_5_moe', 'qwen3_5_moe', half(1e4, **_ROW_AND_COLUMN)),
    ('qwen3_omni_moe_vision_encoder', 'qwen3_omni_moe', half(1e4, **_ROW_AND_COLUMN)),
    ('qwen3_vl', '', half(1e4, **_ROW_AND_COLUMN)),
    ('qwen3_vl_moe', '', half(1e4, **_ROW_AND_COLUMN)),
    ('step3p5_vision step3p7', 'step3p7@052f526', half(1e4, **_ROW_AND_COLUMN)),
]

TEXTS, TOWERS = by_name(_TEXTS), by_name(_TOWERS)


def type_of(name, part):
    """The Architecture of a config.json, or of a part of it. A tower may have a file of its own."""
    if part == 'vision':
        return TOWERS.get(name, UNKNOWN)
    return TEXTS.get(name) or TOWERS.get(name, UNKNOWN)
