#!/bin/sh
# The posenc command from the outside: test_tool.sh POSENC MODELS. What must work works; each kind of wrong input gets one
# line on standard error that names it, and exit status 2.
# shellcheck source=tools/test_lib.sh
. "$(dirname "$0")/test_lib.sh"
models=$2

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
    works "$1" model --quick --tokens 3 "$work/config.json"
}

works 'verify' --help
! sed -n '/^Commands:/,/^$/p' "$work/out" | grep -q '^[a-z]' || fail "posenc --help: a line of the list begins in column 0"
cp "$work/out" "$work/help"
works 'verify' help
cmp -s "$work/help" "$work/out" || fail "posenc help is not posenc --help"
works 'Reads a Hugging Face' model --help
cp "$work/out" "$work/help"
works 'Reads a Hugging Face' help model
cmp -s "$work/help" "$work/out" || fail "posenc help model is not posenc model --help"
refuses "no command 'none'" help none
works '^posenc [0-9]' --version
works 'in use' info
works 'scripts/board' verify --help
works '^Verified' verify

# A POSENC_ISA that is refused means scalar: whatever is asked of the command, one line says so. An empty one asks for nothing.
says_refused() { # TIER WHY ARGUMENTS...
    tier=$1 why=$2
    shift 2
    POSENC_ISA=$tier "$posenc" "$@" >"$work/out" 2>"$work/err" || fail "POSENC_ISA=$tier posenc $*: exit status $?"
    [ "$(cat "$work/err")" = \
        "posenc: POSENC_ISA=$tier was refused ($why), and scalar runs; take one that runs here, or unset it" ] ||
        fail "POSENC_ISA=$tier posenc $*: says on standard error: $(cat "$work/err")"
}
for tier in nonsense AVX2 'avx2 '; do
    says_refused "$tier" 'there is no such tier' info
    grep -q 'scalar .*in use: POSENC_ISA was refused' "$work/out" || fail "POSENC_ISA=$tier posenc info: $(cat "$work/out")"
done
for arguments in --help --version help 'help info' 'info --help' verify 'table gray -o -' \
    "model --quick --tokens 2 $models/gpt-j-6b.json" "plot gray --help"; do
    # shellcheck disable=SC2086 # several arguments
    says_refused nonsense 'there is no such tier' $arguments
done
"$posenc" info | sed '1,/runs here/d; /^$/,$d' >"$work/tiers"
while read -r tier _ runs why; do
    [ "$runs" = yes ] || says_refused "$tier" "$why" info
done <"$work/tiers"
"$posenc" info | sed '1,/kernels of attention/d' >"$work/features"
while read -r feature state; do
    [ "$state" != on ] || POSENC_ISA=$feature works "$feature *off: POSENC_ISA leaves it out" info
done <"$work/features"
for POSENC_ISA in scalar ''; do
    export POSENC_ISA
    works 'in use' info
done
unset POSENC_ISA

refuses 'a command is missing'
refuses "no command 'fly'" fly
refuses 'takes no argument' info more
refuses "takes no argument 'more'" verify more
refuses 'FILE is missing' model
refuses 'FILE is empty' model ''
for number in -1 0 1e3 '' 1x; do
    refuses '--context takes a whole number from 1' model --context "$number" "$models/bloom-7b1.json"
    refuses '--tokens takes a whole number from 1 to 65536' model --tokens "$number" "$models/bloom-7b1.json"
done
refuses "no tier 'sse'" model --isa sse "$models/bloom-7b1.json"
refuses "no tier ''" model --isa '' "$models/bloom-7b1.json"
refuses "no tier ''" model --isa scalar,,scalar "$models/bloom-7b1.json"
refuses 'use a smaller --tokens' model --tokens 65536 "$models/bloom-7b1.json"
refuses 'No such file' model "$work/none.json"
refuses 'directory.*config.json' model "$work"
refuses 'pipe or a device' model /dev/null
refuses 'none.json: No such file.*give the path' model "$work/$(printf '%1000s' | tr ' ' /)none.json"
refuses 'no?ne.json: No such file' model "$work/no
ne.json"

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
damaged '"num_key_value_heads" is a list, and posenc model reads one number for all layers$' \
    '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": [2, 4]}'
damaged 'makes no sense' '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": -4}'
damaged 'whole number' '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2.5}'
damaged '"rope_theta" or .* is 0 or missing; it has to be 1 to 1e+30: correct it' \
    '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 0}'
damaged '"rotary_pct" is 1.5; .* at most 1: correct it' \
    '{"hidden_size": 64, "num_attention_heads": 4, "rotary_pct": 1.5}'
damaged '"rotary_dim" is 3.5; it has to be a whole number' \
    '{"num_attention_heads": 4, "head_dim": 8, "rotary_dim": 3.5}'
damaged '7 of the 7 channels.*correct "head_dim"' '{"model_type": "llama", "head_dim": 7, "num_attention_heads": 4}'
damaged '16 of the 8 channels.*"rotary_dim"' \
    '{"model_type": "gptj", "head_dim": 8, "rotary_dim": 16, "num_attention_heads": 4}'
damaged 'make no sense' '{"model_type": "llama", "head_dim": 65536, "num_attention_heads": 4}'
damaged 'cannot serve' '{"model_type": "llama", "head_dim": 8, "num_attention_heads": 4, "num_key_value_heads": 3}'
damaged 'there is no model_type, and nothing' '{"head_dim": 8, "num_attention_heads": 4}'
damaged 'model_type "abacus" is unknown, and nothing' '{"model_type": "abacus", "head_dim": 8, "num_attention_heads": 4}'
damaged 'is no object' '{"model_type": "llama", "head_dim": 8, "num_attention_heads": 4, "rope_scaling": "yarn"}'
damaged 'is no object' '{"model_type": "llama", "head_dim": 8, "num_attention_heads": 4, "rope_scaling": ["yarn"]}'
damaged 'is no object' '{"model_type": "llama", "head_dim": 8, "num_attention_heads": 4, "rope_scaling": [{"a": 1}, 2]}'

small='"num_attention_heads": 4, "head_dim": 8, "max_position_embeddings": 4096'
scaled() { # WORD FIELDS-OF-ROPE-SCALING
    reads "$1" "{\"model_type\": \"llama\", $small, \"rope_scaling\": {$2}}"
}
scaled 'linear, factor 2' '"type": "linear", "factor": 2'
scaled 'dynamic ntk, factor 2, as for a context of 8192' '"type": "dynamic", "factor": 2'
scaled 'linear, factor 2' '"rope_type": "linear", "factor": 2, "type": "dynamic"'
scaled 'yarn, factor 4' '"rope_type": "yarn", "original_max_position_embeddings": 1024'
scaled 'differ from the unscaled' '"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1024'
scaled 'magnitude 1.5 ' '"rope_type": "yarn", "factor": 4, "attention_factor": 1.5'
scaled 'divided by 1 to 4\|divided by 2 to 4' \
    '"type": "su", "short_factor": [1,1,1,1], "long_factor": [1,2,3,4], "original_max_position_embeddings": 512'
scaled 'these do not turn' '"rope_type": "proportional", "partial_rotary_factor": 0.5'
scaled 'not understood wobble, wave "long"$' '"rope_type": "default", "wobble": 3, "wave": "long"'
scaled '3 positions a token' '"rope_type": "default", "mrope_section": [1, 1, 2]'
scaled 'interleaved$' '"rope_type": "default", "mrope_section": [2, 1, 1], "mrope_interleaved": true'
refused_scaling() { # WORD FIELDS-OF-ROPE-SCALING
    damaged "$1" "{\"model_type\": \"llama\", $small, \"rope_scaling\": {$2}}"
}
refused_scaling '"rope_type" is "weird", a scaling that posenc does not have; it has' \
    '"rope_type": "weird", "factor": 4'
refused_scaling '"factor" is no number' '"rope_type": "linear", "factor": "four"'
refused_scaling '"factor" is no number' '"rope_type": "linear", "factor": [4]'
refused_scaling '"factor" is 0 or missing; it has to be 1 to 1e+09: correct it' '"type": "linear"'
refused_scaling '"factor" is 0.5; it has to be 1 to' '"type": "linear", "factor": 0.5'
refused_scaling '"factor" is 4, but no scaling is stated; add its type ("rope_type")' \
    '"rope_type": "default", "factor": 4'
refused_scaling '"factor" is 4, but no scaling is stated' '"factor": 4, "rope_type": "default", "type": "linear"'
refused_scaling '"original_max_position_embeddings" is 0 or missing' '"rope_type": "llama3", "factor": 8'
refused_scaling '"low_freq_factor" is 5, and must not be above "high_freq_factor", 4' \
    '"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 512, "low_freq_factor": 5'
refused_scaling '"low_freq_factor" is -1; it has to be 1e-30 to 1e+30' \
    '"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 512, "low_freq_factor": -1'
refused_scaling '"factor" is 0 or missing' '"rope_type": "yarn", "original_max_position_embeddings": 8192'
refused_scaling '"beta_slow" is 40, and must not be above "beta_fast", 32' \
    '"rope_type": "yarn", "factor": 4, "beta_slow": 40'
refused_scaling 'context of 4 tokens does not go with' \
    '"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4'
refused_scaling '"attention_factor" is -1; it has to be 1e-30 to 1e+30' \
    '"rope_type": "yarn", "factor": 4, "attention_factor": -1'
refused_scaling '"mscale", -9, and "mscale_all_dim", 1,' \
    '"rope_type": "yarn", "factor": 4, "mscale": -9, "mscale_all_dim": 1'
refused_scaling '"short_factor" is missing' '"type": "longrope", "original_max_position_embeddings": 512'
refused_scaling '"long_factor" has 2 numbers, and another list of factors has 4' \
    '"type": "longrope", "short_factor": [1,1,1,1], "long_factor": [1,2]'
refused_scaling '"short_factor" has 2 numbers for the 4 pairs' \
    '"type": "longrope", "short_factor": [1,1], "long_factor": [1,2], "original_max_position_embeddings": 512'
refused_scaling 'number 4 of "long_factor" is 0' \
    '"type": "longrope", "short_factor": [1,1,1,1], "long_factor": [1,2,3,0], "original_max_position_embeddings": 512'
# What the library takes, and the reference cannot follow: it went on for ever, or found differences.
for number in '"high_freq_factor": 1e308' '"low_freq_factor": 1e-300'; do
    refused_scaling 'it has to be 1e-30 to 1e+30: correct it$' \
        "\"rope_type\": \"llama3\", \"factor\": 8, \"original_max_position_embeddings\": 512, $number"
done
refused_scaling '"attention_factor" is 1e+38; it has to be 1e-30 to 1e+30' \
    '"rope_type": "yarn", "factor": 4, "attention_factor": 1e38'
for number in 2 -0.5; do
    refused_scaling "\"extrapolation_factor\" is $number; it has to be 0 to 1: correct it" \
        "\"rope_type\": \"yarn\", \"factor\": 4, \"extrapolation_factor\": $number"
done
refused_scaling 'number 3 of "short_factor" is 1e+300; it has to be 1/65536 to 1e+30' '"type": "longrope",
    "short_factor": [1,1,1e300,1], "long_factor": [1,2,3,4], "original_max_position_embeddings": 512'
refused_scaling 'holds what is no number' '"type": "longrope", "short_factor": [1, "two"]'
refused_scaling 'sections of "mrope_section" add up to 3 pairs, but a head has 4' \
    '"rope_type": "default", "mrope_section": [1, 1, 1]'
refused_scaling '"mrope_section" has 2 sections' \
    '"rope_type": "default", "mrope_section": [2, 2], "mrope_interleaved": true'
refused_scaling '"mrope_section" holds 1.9' '"rope_type": "default", "mrope_section": [1.9, 1, 1]'
refused_scaling '1 sections' '"rope_type": "default", "mrope_section": [4]'
damaged '"max_position_embeddings" is 0 or missing' \
    '{"model_type": "llama", "num_attention_heads": 4, "head_dim": 8, "rope_scaling": {"type": "dynamic", "factor": 2}}'
damaged '2 rotated channels cannot be scaled' \
    "{\"model_type\": \"llama\", $small, \"rotary_dim\": 2, \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}}"
damaged 'at most 256 where' '{"model_type": "qwen2_vl", "num_attention_heads": 4, "head_dim": 512, "rope_scaling": {
    "type": "mrope", "mrope_section": [128, 64, 64]}}'
damaged 'a base of 1e+30, grown by a factor of 2,' \
    "{\"model_type\": \"llama\", $small, \"rope_theta\": 1e30, \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}}"
damaged 'a base of 1 gives' "{\"model_type\": \"llama\", $small, \"rope_theta\": 1, \"rope_scaling\": {
    \"type\": \"yarn\", \"factor\": 2}}"
damaged '"rope_theta" is no number' "{\"model_type\": \"llama\", $small, \"rope_theta\": \"abc\"}"
reads 'guessed  *half-split, base 10000: neither the file nor its model_type, "abacus", tells' \
    "{\"model_type\": \"abacus\", $small, \"position_embedding_type\": \"rotary\"}"
reads 'guessed  *half-split: neither' "{$small, \"rope_parameters\": {\"rope_theta\": 70000}}"
reads 'not understood rope_wobble$' "{\"model_type\": \"llama\", $small, \"rope_wobble\": 2}"
reads 'base 70000' "{$small, \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 70000}}"
reads 'base 80000' "{$small, \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 80000}}}"
reads 'not understood wobble$' "{$small, \"rope_parameters\": {\"wobble\": 1, \"a\": {\"rope_theta\": 1e4}}}"
reads 'layer, 2 layers' "{$small, \"layer_types\": [\"a\", \"layer\", \"layer\"], \"rope_parameters\": {
    \"a\": {\"rope_theta\": 1e4}, \"layer\": {\"rope_theta\": 1e5, \"rope_type\": \"linear\", \"factor\": 3}}}"
reads '4 of 8 channels' "{$small, \"rope_theta\": 1e4, \"partial_rotary_factor\": 0.5}"
reads 'Q 4, K 1' "{\"model_type\": \"falcon\", $small, \"multi_query\": true}"
reads 'latent attention' "{\"model_type\": \"deepseek_v3\", $small, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8}"
reads 'Q 4, K 4' "{\"text_config\": {\"model_type\": \"llama\", $small}}"
reads 'ALiBi: 4 slopes' "{\"model_type\": \"mpt\", \"n_heads\": 4, \"d_model\": 32, \"attn_config\": {\"alibi\": true}}"
reads 'learned table' "{\"model_type\": \"gpt2\", \"n_head\": 4, \"n_embd\": 32}"
reads 'posenc_rel_index_t5 and posenc_rel_bias_gather' '{"model_type": "t5", "num_heads": 4, "d_model": 32}'
reads 'posenc_encoding_add' "{\"model_type\": \"whisper\", \"num_attention_heads\": 4, \"d_model\": 32}"

# A list that says something of each layer has an item for each; beyond them, those that predict further tokens may follow.
full() { printf '"full_attention", %.0s' $(seq 2 "$1") && printf '"full_attention"'; } # N times
layers="\"model_type\": \"llama\", $small, \"num_hidden_layers\": 32"
for n in 31 49 70000; do
    damaged "\"layer_types\" is a list of $n for 32 layers; correct it, or num_hidden_layers\$" \
        "{$layers, \"layer_types\": [$(full $n)]}"
done
damaged '"no_rope_layers" is a list of 3 for 32 layers' "{$layers, \"no_rope_layers\": [1, 1, 0]}"
for n in 32 35 48; do
    reads 'All 32 layers on' "{$layers, \"layer_types\": [$(full $n)]}"
done

# A file or its name sends nothing to the terminal that it would obey: control characters, those above 0x7f as one byte,
# as UTF-8 and in its longer forms; and what is no UTF-8 at all.
shows_nothing() { # FILE OF OUTPUT: nothing but ASCII
    [ -z "$(LC_ALL=C tr -d '\n -~' <"$1" | od -A n -t x1)" ] || fail "a terminal obeys: $(od -c "$1" | head -n 20)"
}
for bytes in '\033' '\177' '\200' '\233' '\237' '\302\200' '\302\233' '\302\237' '\301\233' '\340\202\233' '\360\200\202\233' \
    '\370\220\200\233' '\303' '\303x\233'; do
    raw=$(printf '%b' "$(echo "$bytes" | sed 's/\\/\\0/g')")
    named="\"architectures\": [\"ab${raw}31m\"], \"model_type\": \"c$raw\", $small"
    reads '^ab?.*31m ' "{$named, \"rope_theta\": 1e4, \"rope_wobble$raw\": 1, \"rope_scaling\": {\"mode\": \"$raw\"}}"
    shows_nothing "$work/out"
    damaged '^posenc model: .*model_type "c?' "{$named}"
    shows_nothing "$work/err"
    mv "$work/config.json" "$work/$raw.json"
    refuses 'is unknown' model "$work/$raw.json"
    shows_nothing "$work/err"
    cp "$models/gpt-j-6b.json" "$work/$raw.json"
    works 'interleaved' model --quick --tokens 2 --isa scalar "$work/$raw.json"
    shows_nothing "$work/out"
done
reads '^Àß通義🙂 ' "{\"architectures\": [\"Àß通義🙂\"], $small, \"rope_theta\": 1e4}"

# Too little memory is no failed check. A sanitizer needs more than is left here, and refuses large pieces when told to.
in_little_memory() {
    # shellcheck disable=SC3045 # a shell without ulimit -v fails
    if (ulimit -v 300000 && "$posenc" --version) >"$work/out" 2>&1; then
        (ulimit -v 300000 && "$posenc" "$@")
    else
        ASAN_OPTIONS="${ASAN_OPTIONS:-}:allocator_may_return_null=1:max_allocation_size_mb=150" "$posenc" "$@"
    fi
}
for model in bloom-7b1 llama-3.1-8b; do
    [ $model = bloom-7b1 ] && tokens=2500 || tokens=12000
    in_little_memory model --quick --tokens "$tokens" --isa scalar "$models/$model.json" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 2 ] || fail "$model in little memory: exit status $status, expected 2"
    grep -q 'memory.*use a smaller --tokens' "$work/err" || fail "$model in little memory: says $(cat "$work/err")"
    ! grep -q FAILED "$work/out" || fail "$model in little memory: $(grep FAILED "$work/out")"
done

# Output that goes nowhere is an error, told once, --help's and --version's too.
for arguments in --help --version info 'model --help' 'table gray -o -'; do
    for out in /dev/full closed; do
        [ "$out" = closed ] || [ -w "$out" ] || continue
        (
            if [ "$out" = closed ]; then exec >&-; else exec >"$out"; fi
            # shellcheck disable=SC2086 # several arguments
            "$posenc" $arguments 2>"$work/err"
        )
        status=$?
        [ $status -eq 2 ] || fail "posenc $arguments, output $out: exit status $status, expected 2"
        [ "$(wc -l <"$work/err")" -eq 1 ] || fail "posenc $arguments, output $out: says $(cat "$work/err")"
    done
done

# The manual page knows every command and every option.
sed 's/\\//g' "$(dirname "$0")/posenc.1" >"$work/page"
for command in $("$posenc" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    grep -q "^\.SS posenc $command$" "$work/page" || fail "posenc.1 does not have 'posenc $command'"
    for option in $("$posenc" "$command" --help | grep -o -e '^ .*--[a-z-]*' | grep -o -e '--[a-z-]*$'); do
        sed -n "/^\.SS posenc $command$/,/^\.S/p; /^\.SH METHOD OPTIONS/,\$p" "$work/page" | grep -qw -e "$option" ||
            fail "posenc.1 does not have $option of 'posenc $command'"
    done
done

"$posenc" table --help >"$work/out"
for method in $(sed -n '/^Encodings:/,$s/^  \([a-z0-9-]*\)  *[^ ].*/\1/p' "$work/out"); do
    grep -q "^\.B $method$" "$work/page" || fail "posenc.1 does not have the method $method"
done

[ $failures -eq 0 ] || exit 1
echo "all that was asked of posenc is as it should be"
