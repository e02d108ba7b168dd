"""Facts of each GGUF architecture, as llama.cpp has them, which converts weights to its own layouts."""
from .architectures import Architecture, Layers, by_name, half, interleaved

#: By general.architecture, as llama.cpp has it.
GGUF = by_name([
    ('llama llada deci internlm2 minicpm xverse command-r olmo arctic deepseek deepseek2 plm chatglm glm4 chameleon '
     'bailingmoe neo-bert arcee ernie4_5 ernie4_5-moe mistral3', interleaved()),
    ('baichuan', interleaved(alibi_layers=40)), # 13B; 7B rotates
    ('granite granitemoe granitehybrid', interleaved(finetuned_tells=True)),
    ('cohere2', interleaved(layers=Layers(full_every=4, only_windows_rotate=True))),
    ('llama4 smollm3', interleaved(layers=Layers(unrotated_every=4))),
    ('falcon falcon-h1 grok dbrx nomic-bert nomic-bert-moe jina-bert-v3 stablelm bitnet qwen qwen2 qwen2moe qwen2vl '
     'qwen3 qwen3moe dream llada-moe olmoe phi2 phi3 phimoe plamo plamo2 plamo3 gemma gemma2 starcoder2 openelm '
     'gptneox codeshell orion nemotron exaone minicpm3 bailingmoe2 dots1 hunyuan-moe hunyuan-dense gpt-oss lfm2 '
     'lfm2moe glm4moe seed_oss grovemoe apertus minimax-m2', half()),
    ('gemma3 gemma-embedding', half(local_base=1e4, layers=Layers(full_every=6))),
    ('gemma3n', half(local_base=1e4, layers=Layers(full_every=5))),
    ('exaone4', half(layers=Layers(full_every=4, only_windows_rotate=True, only_if_windows=True))),
    ('smallthinker', half(layers=Layers(full_every=4, full_comes_first=True, only_windows_rotate=True,
                                         only_if_windows=True))),
    ('olmo2', half(layers=Layers(full_every=4, only_if_windows=True, windows_unscaled=True))), # with windows OLMo 3
    ('modern-bert', half(layers=Layers(full_every=3, full_comes_first=True))),
    ('qwen3vl qwen3vlmoe', half(axes='imrope_ggml')),
    ('bloom refact jina-bert-v2', Architecture('alibi')),
    ('mpt gpt2 bert starcoder', Architecture('learned')), # mpt: unless there is an attention.max_alibi_bias
    ('t5 t5encoder', Architecture('relative_buckets')),
])
