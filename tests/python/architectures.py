"""Tiny models with random weights of the architectures of Transformers that is installed."""
import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

# Fields of configurations, whichever a configuration has. Weights of 0.2: attention is far from even.
SMALL = dict(
    vocab_size=99, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
    intermediate_size=64, max_position_embeddings=128, initializer_range=0.2, sliding_window=6, n_embd=64, n_layer=2,
    n_head=4, n_positions=128, n_inner=64, d_model=64, n_layers=2, n_heads=4, ffn_dim=64, num_layers=2,
    decoder_layers=2, encoder_layers=2, decoder_attention_heads=4, encoder_attention_heads=4, decoder_ffn_dim=64,
    encoder_ffn_dim=64, word_embed_proj_dim=64, num_experts=4, num_local_experts=4, n_routed_experts=4,
    num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32, n_shared_experts=1, n_group=1,
    topk_group=1, kv_lora_rank=16, q_lora_rank=32, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16,
    attention_dropout=0.0, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    resid_pdrop=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=None, tie_word_embeddings=False)

NAMES = """
    afmoe apertus arcee aria_text bart bert bert-generation bigbird_pegasus biogpt bitnet blenderbot blenderbot-small
    camembert cohere cohere2 cohere2_moe cwm data2vec-text deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 doge dots1
    electra ernie ernie4_5 ernie4_5_moe exaone4 exaone_moe flex_olmo gemma gemma2 gemma3_text glm glm4 glm4_moe
    glm4_moe_lite glm_moe_dsa gpt2 gpt_neox gpt_oss granite granitemoe granitemoeshared helium
    hunyuan_v1_dense hunyuan_v1_moe hyperclovax jais2 laguna llama llama4_text marian mbart mellum minimax_m2
    minimax_m3_vl_text ministral ministral3 mistral mixtral modernbert-decoder nanochat olmo olmo2 olmo3 olmoe opt pegasus
    persimmon phi phi3 phimoe plbart qwen2 qwen2_moe qwen3 qwen3_moe roberta seed_oss smollm3 solar_open stablelm
    starcoder2 vaultgemma youtu
""".split()

# Sizes that differ from the common ones.
SPECIAL = {
    **dict.fromkeys(('deepseek_v2', 'deepseek_v3', 'deepseek_v32', 'glm_moe_dsa', 'glm4_moe_lite', 'youtu'),
                    {'num_key_value_heads': 4, 'head_dim': 8}),
}

# Transformers' own code fails there, with any attention.
WITHOUT_GENERATE, WITHOUT_STATIC_CACHE = {'llama4_text'}, {'deepseek_v4'}

IS_5 = int(transformers.__version__.split('.')[0]) >= 5

_softmax = torch.nn.functional.softmax


def _softmax_in_double(x, *args, dtype=None, **given):
    """Models compute it in float32, whatever they are given: not exact enough to compare with, and not finite."""
    return _softmax(x, *args, dtype=None if x.dtype == torch.float64 else dtype, **given)


torch.nn.functional.softmax = _softmax_in_double


def config_of(model_type, **more):
    has = CONFIG_MAPPING[model_type]()
    given = {name: value for name, value in SMALL.items() if hasattr(has, name)}
    return CONFIG_MAPPING[model_type](**{**given, **SPECIAL.get(model_type, {}), **more})


def make(model_type, attn_implementation, dtype=torch.float32, **more):
    """A causal language model, the same weights for any implementation and type."""
    names = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[model_type]
    kind = getattr(transformers, names if isinstance(names, str) else names[0])
    torch.manual_seed(0)
    model = kind._from_config(config_of(model_type, **more), attn_implementation=attn_implementation,
                              **({'experts_implementation': 'eager'} if IS_5 else {}))  # in double too
    return model.to(dtype).eval()
