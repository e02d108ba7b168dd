#!/bin/sh
# The posenc command from the outside: test_tool.sh POSENC MODELS. What must work works; each kind of wrong input gets one
# line on standard error that names it, and exit status 2.
set -u
posenc=$1
models=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# works WORD ARGUMENTS...: exit status 0, nothing on standard error, WORD in the output
works() {
    word=$1
    shift
    "$posenc" "$@" >"$work/out" 2>"$work/err" || fail "posenc $*: exit status $?"
    [ ! -s "$work/err" ] || fail "posenc $*: says on standard error: $(cat "$work/err")"
    grep -q -e "$word" "$work/out" || fail "posenc $*: no '$word' in the output"
}

# refuses WORD ARGUMENTS...: exit status 2, nothing on standard output, WORD in the first line on standard error
refuses() {
    word=$1
    shift
    "$posenc" "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 2 ] || fail "posenc $*: exit status $status, expected 2"
    [ ! -s "$work/out" ] || fail "posenc $*: output in spite of the error"
    head -n 1 "$work/err" | grep -q -e "$word" || fail "posenc $*: no '$word' in: $(cat "$work/err")"
}

# damaged WORD JSON: a config.json with this text is refused, in one line
damaged() {
    printf '%s' "$2" >"$work/config.json"
    refuses "$1" model "$work/config.json"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than one line for: $2"
}

# reads WORD JSON: a config.json with this text works
reads() {
    printf '%s' "$2" >"$work/config.json"
    works "$1" model --tokens 3 "$work/config.json"
}

works 'verify' --help
works '^posenc [0-9]' --version
works 'in use' info
works '^Verified' verify --quick --seed 7
for model in "$models"/*.json; do
    works 'scalar ' model --tokens 16 "$model"
    ! grep -q FAILED "$work/out" || fail "$model: $(cat "$work/out")"
done
works 'llama3: .*not applied yet' model --tokens 2 "$models/llama-3.1-8b.json"
works '24 of 96 channels' model --tokens 2 "$models/gpt-neox-20b.json"
works 'interleaved, 64 of 256' model --tokens 2 "$models/gpt-j-6b.json"
works 'ALiBi: 32 slopes' model --tokens 2 "$models/bloom-7b1.json"
works 'ns/token' model --tokens 2 --isa scalar "$models/bloom-7b1.json"

POSENC_ISA=nonsense "$posenc" info | grep -q 'nonsense was refused' || fail 'a wrong POSENC_ISA is not reported'

refuses 'a command is missing'
refuses "no command 'fly'" fly
refuses 'takes no argument' info more
refuses '--seed takes a number' verify --seed x
refuses 'FILE is missing' model
refuses '--tokens takes a number' model --tokens 0 "$models/bloom-7b1.json"
refuses "no tier 'sse'" model --isa sse "$models/bloom-7b1.json"
refuses 'use a smaller --tokens' model --tokens 65536 "$models/bloom-7b1.json"
refuses 'No such file' model "$work/none.json"
refuses 'directory.*config.json' model "$work"

damaged 'ends too early' '{"num_attention_heads": 32,'
damaged 'ends too early' ''
damaged 'near line 2' '{
  oops'
damaged 'no object' '[1, 2]'
damaged 'no valid JSON' '{"hidden_size": 64} trailing'
damaged 'no num_attention_heads' '{"model_type": "llama", "hidden_size": 4096}'
damaged 'neither head_dim nor hidden_size' '{"model_type": "llama", "num_attention_heads": 32}'
damaged 'no multiple of' '{"model_type": "llama", "hidden_size": 100, "num_attention_heads": 32}'
damaged 'is no number' '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": "many"}'
damaged 'makes no sense' '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": -4}'
damaged 'whole number' '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2.5}'
damaged 'makes no sense' '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 0}'
damaged 'makes no sense' '{"hidden_size": 64, "num_attention_heads": 4, "rotary_pct": 1.5}'
damaged 'even number' '{"model_type": "llama", "head_dim": 7, "num_attention_heads": 4}'
damaged 'a head has 8' '{"model_type": "gptj", "head_dim": 8, "rotary_dim": 16, "num_attention_heads": 4}'
damaged 'cannot serve' '{"model_type": "llama", "head_dim": 8, "num_attention_heads": 4, "num_key_value_heads": 3}'
damaged 'is unknown' '{"model_type": "abacus", "head_dim": 8, "num_attention_heads": 4}'
damaged 'is no object' '{"model_type": "llama", "head_dim": 8, "num_attention_heads": 4, "rope_scaling": "yarn"}'

small='"num_attention_heads": 4, "head_dim": 8'
for type in linear dynamic yarn longrope llama3 some-later-one; do
    reads "scaling  *$type: .*not applied" "{\"model_type\": \"llama\", $small, \"rope_scaling\": {\"type\": \"$type\"}}"
done
reads 'scaling  *mrope:' "{$small, \"rope_scaling\": {\"rope_type\": \"default\", \"mrope_section\": [1, 1, 2]}}"
reads 'base 70000' "{$small, \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 70000}}"
reads 'base 80000' "{$small, \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 80000}}}"
reads '4 of 8 channels' "{$small, \"rope_theta\": 1e4, \"partial_rotary_factor\": 0.5}"
reads 'Q 4, K 1' "{\"model_type\": \"falcon\", $small, \"multi_query\": true}"
reads 'latent attention' "{\"model_type\": \"deepseek_v3\", $small, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8}"
reads 'Q 4, K 4' "{\"text_config\": {\"model_type\": \"llama\", $small}}"
reads 'ALiBi: 4 slopes' "{\"model_type\": \"mpt\", \"n_heads\": 4, \"d_model\": 32, \"attn_config\": {\"alibi\": true}}"
reads 'learned table' "{\"model_type\": \"gpt2\", \"n_head\": 4, \"n_embd\": 32}"
reads 'posenc_sinusoidal_add' "{\"model_type\": \"whisper\", \"num_attention_heads\": 4, \"d_model\": 32}"

[ $failures -eq 0 ] || exit 1
echo "all that was asked of posenc is as it should be"
