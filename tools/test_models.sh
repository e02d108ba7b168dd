#!/bin/sh
# What posenc model makes of published files: test_models.sh POSENC MODELS. Those in models/, and the parts that matter of
# others, as they were published: what a file leaves to its model_type is left out here too.
# shellcheck source=tools/test_lib.sh
. "$(dirname "$0")/test_lib.sh"
models=$2

# lacks WORDS: not in the output of the command before
lacks() {
    ! grep -q -e "$1" "$work/out" || fail "'$1' in: $(cat "$work/out")"
}

# reads JSON WORDS...: a config.json with this text is read, and its report has all of the words
reads() {
    printf '%s' "$1" >"$work/config.json"
    shift
    for words in "$@"; do
        works "$words" model --quick --tokens 2 --isa scalar "$work/config.json"
    done
}

# ---- models/ ----

for model in "$models"/*.json; do
    works 'scalar ' model --quick --tokens 4 "$model"
    ! grep -q -e FAILED -e 'not understood' "$work/out" || fail "$model: $(cat "$work/out")"
    ! grep -q '.\{121\}' "$work/out" || fail "$model: a line of more than 120 characters"
done

# says WORDS MODEL: what the report of a shipped model says
says() {
    works "$1" model --quick --tokens 2 --isa scalar "$models/$2.json"
}
says 'llama3, factor 8, original context 8192, turns 1 to 4' llama-3.1-8b
says 'pairs 29 to 63, of 64, differ from the unscaled: divided by 1.207 to 8' llama-3.1-8b
says '24 of 96 channels' gpt-neox-20b
says 'interleaved, 64 of 256' gpt-j-6b
says 'ALiBi: 32 slopes' bloom-7b1
says 'Q 128 x 192 (the last 64 rotated), K 1 x 576 (the last 64 rotated)' deepseek-v3
says 'interleaved pairs written half-split' deepseek-v3
says 'softmax scale to be multiplied by 1.87385421' deepseek-v3
says 'Q 71, K 1' falcon-7b
says 'full_attention, 8 layers' gemma-3-12b
says 'base 1e+06, linear, factor 8' gemma-3-12b
says 'sliding_attention, 40 layers' gemma-3-12b
says 'base 10000, unscaled' gemma-3-12b
says 'normed' gemma-3-12b
says 'interleaved, 64 of 128' glm-4-9b-0414
says 'yarn, factor 32, .*not truncated' gpt-oss-20b
says 'beyond 4096 positions' phi-4-mini
says 'magnitude 1.19023807' phi-4-mini
says 'sections of 16 24 24 pairs, one after the other' qwen2-vl-7b
says 'sections of 24 20 20 pairs, interleaved' qwen3-vl-8b
says 'magnitude 1.13862944' qwen2.5-7b-yarn
works 'longrope.*original context' model --quick --tokens 2 --context 5000 "$models/phi-4-mini.json"
lacks 'up to 4096'

# ---- What a file leaves to its model_type ----

gemma3='"model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "sliding_window": 1024'
reads "{\"model_type\": \"gemma3\", \"text_config\": {$gemma3, \"hidden_size\": 3840, \"num_hidden_layers\": 48,
    \"num_attention_heads\": 16, \"num_key_value_heads\": 8}}" \
    'Q 16, K 8, of 256 channels, in 48 layers' 'full_attention, 8 layers' 'base 1e+06, linear, factor 8' \
    'sliding_attention, 40 layers' 'base 10000, unscaled' 'normed' 'context  *131072 positions'
lacks 'guessed'
reads "{\"model_type\": \"gemma3\", \"text_config\": {$gemma3, \"hidden_size\": 2560, \"num_hidden_layers\": 34}}" \
    'Q 8, K 4, of 256 channels, in 34 layers' 'full_attention, 5 layers' 'sliding_attention, 29 layers'

heads='"num_attention_heads": 4, "head_dim": 8, "num_hidden_layers": 12'
reads "{\"model_type\": \"mixtral\", $heads}" 'base 1e+06'
lacks 'guessed'
reads "{\"model_type\": \"llama\", $heads}" 'base 10000'
lacks 'guessed'
reads "{\"model_type\": \"bert\", $heads, \"position_embedding_type\": \"rotary\"}" \
    'guessed  *half-split, base 10000: neither the file nor its model_type, "bert", tells'

# GLM-4.5 has the norms, GLM-4.5-Air of the same type has not.
reads "{\"model_type\": \"glm4_moe\", $heads, \"use_qk_norm\": true}" '4 of 8 channels, after an RMS-norm of each head'
for stated in ', "use_qk_norm": false' ''; do
    reads "{\"model_type\": \"glm4_moe\", $heads$stated}" '4 of 8 channels'
    lacks 'RMS-norm'
done

# The language model inside, by each of the names that it goes by.
for inside in text_config llm_config language_config; do
    reads "{\"model_type\": \"abacus\", \"$inside\": {\"model_type\": \"qwen2\", $heads, \"rope_theta\": 1e6}}" \
        'Q 4, K 4, of 8 channels, in 12 layers' 'base 1e+06'
    lacks 'guessed'
done

# ---- Heads that differ ----

layer_types=$(printf '"sliding_attention", %.0s' 1 2 3 4 5)'"full_attention"'
gemma4='"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "global_head_dim": 512,
    "num_global_key_value_heads": 2, "num_hidden_layers": 6'
parameters='{"full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
    "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}'
reads "{\"model_type\": \"gemma4_text\", $gemma4, \"attention_k_eq_v\": true, \"layer_types\": [$layer_types],
    \"rope_parameters\": $parameters}" \
    'half-split, 256 of 256 channels' 'full_attention, 1 layer, Q 16, K 2, of 512 channels' \
    'base 1e+06, proportional, proportion 0.25' 'theta 1 to 0.0333762' \
    'pairs 64 to 255, of 256, differ from the unscaled: these do not turn' 'sliding_attention, 5 layers:' \
    'base 10000, unscaled' 'All 5 layers with these heads on scalar, norms included, 1 list of rows'
lacks 'not understood'
reads "{\"model_type\": \"gemma4_text\", $gemma4}" 'full_attention, 1 layer, Q 16, K 8, of 512 channels' \
    'base 1e+06, proportional, proportion 0.25' 'pairs 64 to 255, of 256' 'sliding_attention, 5 layers:'

# ---- What a file states itself ----

modernbert='"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 22,
    "global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3, "local_attention": 128'
for stated in '' ', "position_embedding_type": "absolute"'; do
    reads "{$modernbert$stated}" 'half-split, 64 of 64' 'full_attention, 8 layers' 'base 160000' \
        'sliding_attention, 14 layers' 'base 10000'
    lacks 'not understood'
done
reads "{\"model_type\": \"abacus\", $heads, \"position_embedding_type\": \"absolute\", \"rope_theta\": 500}" 'base 500'
reads "{\"model_type\": \"abacus\", $heads, \"position_embedding_type\": \"absolute\"}" 'learned table'
reads "{\"model_type\": \"granitemoehybrid\", $heads, \"position_embedding_type\": \"nope\", \"rope_theta\": 10000}" \
    'know nothing of positions'
reads "{\"model_type\": \"granitemoehybrid\", $heads, \"position_embedding_type\": \"rope\", \"rope_theta\": 10000}" \
    'RoPE, half-split'
for stated in '' ', "position_embedding_type": null'; do
    reads "{\"model_type\": \"granitemoehybrid\", $heads, \"rope_theta\": 10000$stated}" 'know nothing of positions'
done
for model in '"jamba", "attn_layer_period": 8' \
    '"nemotron_h", "hybrid_override_pattern": "M-M*", "rope_theta": 10000'; do
    reads "{\"model_type\": $model, $heads}" 'know nothing of positions'
done
for stated in relative_key relative_key_query; do
    reads "{\"model_type\": \"bert\", $heads, \"position_embedding_type\": \"$stated\"}" \
        'posenc_relative_products' 'nothing to verify'
done
dbrx='"d_model": 6144, "n_heads": 48, "n_layers": 40, "max_seq_len": 32768,
    "attn_config": {"kv_n_heads": 8, "rope_theta": 500000}'
reads "{\"model_type\": \"dbrx\", $dbrx}" 'Q 48, K 8, of 128 channels' 'base 500000'
lacks 'guessed'
reads "{$dbrx}" 'base 500000' 'guessed  *half-split: neither'

# YaRN whose parameters speak of the magnitude only: the softmax scale of latent attention is not that of others.
ministral3='"rope_theta": 1e6, "rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 16384,
    "mscale": 1, "mscale_all_dim": 1'
reads "{\"model_type\": \"ministral3\", $heads, \"rope_parameters\": {$ministral3}}" 'yarn, factor 16'
lacks 'softmax scale'
lacks 'guessed'

# The older name counts; what the other says besides is told. An empty one says nothing.
yarn='"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1024'
linear='"rope_type": "linear", "factor": 2'
reads "{\"model_type\": \"llama\", $heads, \"rope_parameters\": {$linear}, \"rope_scaling\": {$yarn}}" \
    'yarn, factor 4' 'not understood rope_parameters beside rope_scaling'
reads "{\"model_type\": \"llama\", $heads, \"rope_parameters\": {$linear}, \"rope_scaling\": {$linear}}" 'linear, factor 2'
lacks 'not understood'
reads "{\"model_type\": \"llama\", $heads, \"rope_parameters\": {$linear}, \"rope_scaling\": {}}" 'linear, factor 2'

lacks 'not understood'
reads "{\"model_type\": \"llama\", $heads, \"rope_scaling\": {\"factor\": 2, \"rope_type\": \"linear\"},
    \"rope_parameters\": {$linear}}" 'linear, factor 2'
lacks 'not understood'

# Equal objects, deep or wide, are compared in no time.
deep=$(printf '{"a": %.0s' $(seq 60))1$(printf '}%.0s' $(seq 60))
wide=$(seq -f '"f%.0f": 1' -s , 100000)
for same in "$deep" "{$wide}"; do
    printf '%s' "{\"model_type\": \"llama\", $heads, \"rope_scaling\": $same, \"rope_parameters\": $same}" \
        >"$work/config.json"
    timeout 10 "$posenc" model --quick --tokens 2 --isa scalar "$work/config.json" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 0 ] || fail "equal objects of $(echo "$same" | wc -c) bytes: exit status $status"
done

# A config.json that is eight times as large takes eight times as long at most, whatever it repeats; looking for each field
# among all others would take sixty-four times as long. The best of three runs counts.
time_repeated() { # N FIELD MORE: sets $time, in ns
    fields=$(yes "$2" | head -n "$1" | paste -s -d , -)
    printf '%s' "{\"model_type\": \"llama\", $heads, \"rope_scaling\": {$fields, $3}}" >"$work/config.json"
    time=''
    for _ in 1 2 3; do
        start=$(date +%s%N)
        "$posenc" model --quick --tokens 2 --isa scalar "$work/config.json" >"$work/out" 2>"$work/err" ||
            fail "$1 of $2: $(cat "$work/err")"
        took=$(($(date +%s%N) - start))
        [ "$time" ] && [ "$time" -le $took ] || time=$took
    done
}
in_linear_time() { # FIELD MORE
    time_repeated 5000 "$@"
    few=$time
    time_repeated 40000 "$@"
    [ "$time" -lt $((16 * few)) ] || fail "40000 of $1 take $time ns, 5000 of them $few"
}
in_linear_time '"type": "linear"' '"factor": 2'
in_linear_time '"type": "dynamic"' '"factor": 2, "rope_type": "linear"'
in_linear_time '"rope_type": null, "type": "linear"' '"factor": 2'
in_linear_time '"type": "linear"' '"full_attention": {"factor": 2}'
in_linear_time '"wobble": 1' '"type": "linear", "factor": 2'

# Llama 4 Scout: no turns between low and high, of 8192 positions at pair 34 still 1.22 turns and at pair 35 0.997.
reads "{\"model_type\": \"llama4_text\", \"num_attention_heads\": 40, \"num_key_value_heads\": 8, \"head_dim\": 128,
    \"num_hidden_layers\": 48, \"rope_theta\": 500000.0, \"rope_scaling\": {\"factor\": 16.0, \"high_freq_factor\": 1.0,
    \"low_freq_factor\": 1.0, \"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}}" \
    'turns 1 to 1$' 'pairs 35 to 63, of 64, differ from the unscaled: divided by 16$'

# The newer name of the type counts, wherever the older one stands.
llama3='"original_max_position_embeddings": 8192, "low_freq_factor": 1, "high_freq_factor": 4'
reads "{\"model_type\": \"llama\", $heads, \"rope_scaling\": {\"factor\": 8, $llama3, \"rope_type\": \"llama3\",
    \"type\": \"default\"}}" 'llama3, factor 8'
reads "{\"model_type\": \"llama\", $heads, \"rope_scaling\": {\"rope_type\": \"default\", \"type\": \"linear\"}}" \
    'base 10000, unscaled'
reads "{\"model_type\": \"llama\", $heads, \"rope_scaling\": {\"rope_type\": null, \"type\": \"linear\",
    \"factor\": 4}}" 'linear, factor 4'
reads "{\"model_type\": \"llama\", $heads, \"rope_parameters\": {\"rope_type\": \"linear\", \"type\": \"default\",
    \"factor\": 4, \"full_attention\": {\"rope_theta\": 500}}}" 'base 500, linear, factor 4'

# YaRN by lengths, of which the original one may be missing too.
reads "{\"model_type\": \"llama\", $heads, \"max_position_embeddings\": 4096,
    \"rope_scaling\": {\"rope_type\": \"yarn\"}}" 'yarn, factor 1,'

# Fields that say what is done anyway.
for stated in '"chatglm", "original_rope": true' '"gptj", "rotary": true' '"llama", "rope_interleaved": false'; do
    reads "{\"model_type\": $stated, $heads}" 'RoPE'
    lacks 'not understood'
done
reads "{\"model_type\": \"llama\", $heads, \"rope_interleaved\": true}" 'not understood rope_interleaved'

# The layout of a type that is unknown, and that of one that has its own.
unknown="\"model_type\": \"abacus\", $heads, \"rope_theta\": 500"
reads "{$unknown, \"rope_interleave\": true}" 'RoPE, interleaved pairs written half-split'
lacks 'guessed'
reads "{$unknown, \"rope_interleave\": false}" 'RoPE, half-split'
lacks 'guessed'
reads "{$unknown}" 'RoPE, half-split' 'guessed  *half-split'
reads "{\"model_type\": \"gptj\", $heads, \"rope_interleave\": true}" 'RoPE, interleaved, '

# ChatGLM's groups of heads count unless multi_query_attention is false.
reads "{\"model_type\": \"chatglm\", $heads, \"multi_query_attention\": true, \"multi_query_group_num\": 2}" 'Q 4, K 2'
reads "{\"model_type\": \"chatglm\", $heads, \"multi_query_group_num\": 2}" 'Q 4, K 2'
reads "{\"model_type\": \"chatglm\", $heads, \"multi_query_attention\": false, \"multi_query_group_num\": 1}" 'Q 4, K 4'

# ---- Axes ----

# Qwen3-VL's class interleaves its sections, whatever the file says of that.
qwen3_vl='"model_type": "qwen3_vl_text", "num_attention_heads": 4, "num_hidden_layers": 2'
for stated in '' ', "rope_scaling": {"rope_type": "default", "mrope_section": [24, 20, 20]}' \
    ', "rope_parameters": {"rope_type": "default", "rope_theta": 5e6}'; do
    reads "{$qwen3_vl$stated}" 'sections of 24 20 20 pairs, interleaved'
    lacks 'guessed'
done
sections='"rope_type": "default", "mrope_section": [2, 1, 1]'
reads "{$unknown, \"rope_scaling\": {$sections}}" 'guessed  *half-split, sections one after the other: neither'
reads "{$unknown, \"rope_interleave\": false, \"rope_scaling\": {$sections}}" \
    'guessed  *sections one after the other: neither'
reads "{$unknown, \"rope_scaling\": {$sections, \"mrope_interleaved\": false}}" 'guessed  *half-split: neither'
reads "{$unknown, \"rope_scaling\": {$sections, \"mrope_interleaved\": true}}" 'guessed  *half-split: neither'
reads "{\"model_type\": \"qwen2_vl\", $heads, \"rope_scaling\": {$sections}}" 'pairs, one after the other'
lacks 'guessed'

# A tower for images, whose tokens may well have two positions each.
dinov3="\"model_type\": \"dinov3_vit\", $heads, \"rope_theta\": 100.0, \"image_size\": 224, \"patch_size\": 16"
reads "{$dinov3}" 'guessed  *half-split, one position a token: neither the file nor its model_type, "dinov3_vit", tells'
reads "{$dinov3, \"rope_scaling\": {$sections}}" 'guessed  *half-split, sections one after the other: neither'
reads "{\"model_type\": \"llama\", $heads, \"patch_size\": 16}" 'RoPE, half-split'
lacks 'guessed'

# ---- Names, and heads where they are needed ----

reads '{"model_type": "t5", "d_model": 512, "num_heads": 6, "d_kv": 64, "num_layers": 8}' 'of 64 channels' 'posenc_rel_index_t5'
reads '{"model_type": "t5", "d_model": 1024, "num_heads": 128, "d_kv": 128, "num_layers": 24}' 'of 128 channels'
reads '{"model_type": "bloom", "n_embed": 1024, "num_attention_heads": 16, "n_layer": 24}' 'Q 16, K 16, of 64 channels' \
    'ALiBi: 16 slopes'
for type in marian whisper; do
    reads "{\"model_type\": \"$type\", \"d_model\": 512, \"encoder_attention_heads\": 8, \"encoder_layers\": 6}" \
        'Q 8, K 8, of 64 channels' 'posenc_encoding_add'
done
reads '{"model_type": "gpt2"}' 'learned table'

# ---- Positions that the command does not read ----

printf '{"model_type": "chatglm", %s, "position_encoding_2d": true}' "$heads" >"$work/config.json"
! "$posenc" model --quick "$work/config.json" >"$work/out" 2>"$work/err" || fail 'two positions a token are read as one'
grep -q 'position_encoding_2d.*two positions' "$work/err" || fail "two positions a token: $(cat "$work/err")"
reads "{\"model_type\": \"chatglm\", $heads, \"position_encoding_2d\": false}" 'interleaved, 4 of 8 channels'

# Conformers state the one of two kinds that they have, and the other's base in any case.
printf '{"model_type": "wav2vec2-conformer", %s, "position_embeddings_type": "relative",
    "rotary_embedding_base": 10000}' "$heads" >"$work/config.json"
! "$posenc" model --quick "$work/config.json" >"$work/out" 2>"$work/err" || fail 'relative positions are read as RoPE'
grep -q '"position_embeddings_type" is "relative", .* which posenc model does not read' "$work/err" ||
    fail "relative positions: $(cat "$work/err")"
reads "{\"model_type\": \"wav2vec2-conformer\", $heads, \"position_embeddings_type\": \"rotary\"}" 'RoPE, half-split'
lacks 'not understood'
reads "{\"model_type\": \"abacus\", $heads, \"position_embedding_type\": \"rope_gptj\", \"rope_theta\": 500}" \
    'base 500'
lacks 'not understood'
reads "{\"model_type\": \"abacus\", $heads, \"position_embedding_type\": \"sans_pos\", \"rope_theta\": 500}" \
    'base 500' 'not understood position_embedding_type "sans_pos"$'

# ---- ALiBi's exponent ----

says 'ALiBi: 32 slopes down to 2^-8,' bloom-7b1
reads '{"model_type": "mpt", "n_heads": 12, "d_model": 96, "attn_config": {"alibi": true, "alibi_bias_max": 16}}' \
    'ALiBi: 12 slopes down to 2^-16,'
lacks 'sqrt'
reads "{\"model_type\": \"falcon\", $heads, \"alibi\": true}" \
    'ALiBi: 4 slopes down to 2^-8, times 1/sqrt(head_dim), applied'
reads "{\"model_type\": \"falcon\", $heads, \"alibi\": false}" 'RoPE, half-split'
lacks 'sqrt'

# ---- Latent attention ----

# GLM-4.7-Flash, whose heads do not divide its hidden size.
glm_flash='"num_attention_heads": 20, "hidden_size": 2048, "num_hidden_layers": 47, "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64, "kv_lora_rank": 512'
reads "{\"model_type\": \"glm4_moe_lite\", $glm_flash}" 'interleaved pairs written half-split' \
    'Q 20 x 256 (the last 64 rotated), K 1 x 576 (the last 64 rotated)'
lacks 'guessed'

# MiniCPM3: both tables of LongRoPE rotate the same channels.
factors=$(printf '1, %.0s' $(seq 15))1
reads "{\"model_type\": \"minicpm3\", \"hidden_size\": 2560, \"num_attention_heads\": 40, \"num_hidden_layers\": 62,
    \"qk_nope_head_dim\": 64, \"qk_rope_head_dim\": 32, \"kv_lora_rank\": 256, \"max_position_embeddings\": 131072,
    \"rope_scaling\": {\"rope_type\": \"longrope\", \"short_factor\": [$factors], \"long_factor\": [$factors],
    \"original_max_position_embeddings\": 32768}}" \
    'Q 40 x 96 (the last 32 rotated), K 1 x 288 (the last 32 rotated)' 'beyond 32768 positions:$' \
    'All 62 layers on scalar, 1 list of rows'

# ---- Which layers rotate, and how often rows are made ----

says 'All 32 layers on scalar, 1 list of rows' phi-4-mini
says 'All 48 layers on scalar, norms included, 2 lists of rows' gemma-3-12b
layers='"num_attention_heads": 32, "head_dim": 128, "num_hidden_layers"'
reads "{\"model_type\": \"cohere2\", $layers: 32, \"sliding_window\": 4096, \"sliding_window_pattern\": 4}" \
    'channels, in 24 of the layers' 'All 24 layers with RoPE'
for stated in '' ', "no_rope_layers": [], "no_rope_layer_interval": 4'; do
    reads "{\"model_type\": \"llama4_text\", $layers: 48$stated}" 'base 500000' 'All 36 layers with RoPE'
    lacks 'not understood'
done
reads "{\"model_type\": \"smollm3\", $layers: 36, \"no_rope_layer_interval\": 4}" 'base 2e+06' 'All 27 layers with RoPE'
reads "{\"model_type\": \"smollm3\", $layers: 6, \"no_rope_layers\": [1, 0, 1, 0, 1, 1]}" 'All 4 layers with RoPE'
lacks 'not understood'
# EXAONE 4.0 of 32B, and of 1.2B, which has no windows and rotates in all layers.
exaone4="\"model_type\": \"exaone4\", \"rope_theta\": 1000000"
for stated in '' ', "sliding_window_pattern": "LLLG"'; do
    reads "{$exaone4, $layers: 8, \"sliding_window\": 4096$stated, \"layer_types\": [\"sliding_attention\",
        \"sliding_attention\", \"sliding_attention\", \"full_attention\", \"sliding_attention\", \"sliding_attention\",
        \"sliding_attention\", \"full_attention\"]}" 'channels, in 6 of the layers, after an RMS-norm of each head'
    lacks 'not understood'
    lacks 'guessed'
done
reads "{$exaone4, $layers: 64, \"sliding_window\": 4096}" 'All 48 layers with RoPE'
reads "{$exaone4, $layers: 30, \"sliding_window\": null}" 'All 30 layers on'
reads "{$exaone4, $layers: 2, \"sliding_window\": null, \"layer_types\": [\"full_attention\", \"full_attention\"]}" \
    'All 2 layers on'
reads "{\"model_type\": \"granitemoehybrid\", $layers: 4, \"position_embedding_type\": \"rope\",
    \"layer_types\": [\"mamba\", \"attention\", \"mamba\", \"attention\"]}" 'All 2 layers with RoPE'
reads "{\"model_type\": \"qwen3_next\", $layers: 48, \"rope_theta\": 1e7, \"full_attention_interval\": 4}" \
    'channels, in 12 of the layers' 'All 12 layers with RoPE'
reads "{\"model_type\": \"qwen3_next\", $layers: 4, \"rope_theta\": 1e7, \"full_attention_interval\": 4,
    \"layer_types\": [\"linear_attention\", \"full_attention\", \"linear_attention\", \"full_attention\"]}" \
    'All 2 layers with RoPE'
# Hybrids that list the indices of their attention layers.
for model in '"lfm2", "full_attn_idxs": [2, 5, 8, 10, 12, 14]' \
    '"bamba", "attn_layer_indices": [0, 4, 8, 11, 14, 15]'; do
    reads "{\"model_type\": $model, $layers: 16, \"rope_theta\": 1e6}" 'channels, in 6 of the layers' \
        'All 6 layers with RoPE'
    lacks 'not understood'
done
for list in '[2, 2]' '[5, 2]' '[16]' '[-1]' '[1.5]' '["2"]' '[]' '"2, 5"'; do
    reads "{\"model_type\": \"lfm2\", $layers: 16, \"rope_theta\": 1e6, \"full_attn_idxs\": $list}" \
        'not understood full_attn_idxs$'
done
for list in attn_type_list layers_block_type block_types _block_types; do
    reads "{\"model_type\": \"llama\", $heads, \"$list\": [0, 1]}" "not understood $list\$"
    reads "{\"model_type\": \"llama\", $layers: 2, \"$list\": [0, 1],
        \"layer_types\": [\"conv\", \"attention\"]}" 'RoPE'
    lacks 'not understood'
done
kimi_linear="\"model_type\": \"kimi_linear\", $layers: 27, \"qk_rope_head_dim\": 64, \"rope_theta\": 10000"
reads "{$kimi_linear, \"mla_use_nope\": true, \"linear_attn_config\": {}}" 'know nothing of positions'
reads "{$kimi_linear, \"mla_use_nope\": false, \"linear_attn_config\": {}}" 'not understood linear_attn_config'

# Named where they stand, but for what says that there is no such thing.
for stated in '"sliding_window_pattern": "LLLG"' '"use_dynamic_ntk": true' '"use_logn_attn": true' \
    '"attn_temperature_tuning": true' '"attn_temperature_tuning": 4' '"cross_attention_layers": [3, 8]'; do
    reads "{\"model_type\": \"llama\", $heads, $stated}" "not understood $(echo "$stated" | cut -d '"' -f 2)"
done
for stated in '"sliding_window_pattern": 4' '"use_dynamic_ntk": false' '"linear_attn_config": null' \
    '"attn_temperature_tuning": 0' '"cross_attention_layers": []'; do
    reads "{\"model_type\": \"llama\", $heads, $stated}" 'RoPE'
    lacks 'not understood'
done

[ $failures -eq 0 ] || exit 1
echo "every model is read as it was published"
