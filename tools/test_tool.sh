#!/bin/sh
# The posenc command from the outside: test_tool.sh POSENC. Right arguments work; each kind of wrong argument gets one
# line on standard error that names it, and exit status 2.
set -u
posenc=$1
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
    grep -q -e "$word" "$work/out" || fail "posenc $*: no '$word' in: $(cat "$work/out")"
}

# refuses WORD ARGUMENTS...: exit status 2, nothing on standard output, one line with WORD on standard error
refuses() {
    word=$1
    shift
    "$posenc" "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 2 ] || fail "posenc $*: exit status $status, expected 2"
    [ ! -s "$work/out" ] || fail "posenc $*: output in spite of the error"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "posenc $*: more than one line: $(cat "$work/err")"
    grep -q -e "$word" "$work/err" || fail "posenc $*: no '$word' in: $(cat "$work/err")"
}

works 'verify' --help
cp "$work/out" "$work/help"
works 'verify' help
cmp -s "$work/help" "$work/out" || fail "posenc help is not posenc --help"
works 'Usage: posenc bench' bench --help
cp "$work/out" "$work/help"
works 'Usage: posenc bench' help bench
cmp -s "$work/help" "$work/out" || fail "posenc help bench is not posenc bench --help"
works '^posenc [0-9]' --version
works 'in use' info
works 'scripts/board' verify --help
works '^Verified' verify

# A POSENC_ISA that is refused means scalar: whatever is asked of the command, one line says so. An empty one asks for nothing.
small='bench --quick --n-heads 2 --head-dim 16 --tokens 3 --context 9'
says_refused() { # TIER WHY ARGUMENTS...
    tier=$1 why=$2
    shift 2
    POSENC_ISA=$tier "$posenc" "$@" >"$work/out" 2>"$work/err" || fail "POSENC_ISA=$tier posenc $*: exit status $?"
    [ "$(cat "$work/err")" = \
        "posenc: POSENC_ISA=$tier was refused ($why), and scalar runs" ] ||
        fail "POSENC_ISA=$tier posenc $*: says on standard error: $(cat "$work/err")"
}
for tier in nonsense avx 'avx2 '; do
    says_refused "$tier" 'there is no such tier' info
    grep -q 'scalar .*in use: POSENC_ISA was refused' "$work/out" || fail "POSENC_ISA=$tier posenc info: $(cat "$work/out")"
done
for arguments in --help --version help 'help info' 'info --help' verify "$small"; do
    # shellcheck disable=SC2086 # several arguments
    says_refused nonsense 'there is no such tier' $arguments
done
"$posenc" info | sed '1,/runs here/d; /^$/,$d' >"$work/tiers"
while read -r tier _ runs why; do
    case $why in "not for "*) why="left out of this build" ;; esac
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

# shellcheck disable=SC2086 # several arguments, here and below
{
    works '^Verified: ' $small
    works 'RoPE of Q and K, later layers' $small
    works 'RoPE of all 7 layers, scalar' $small --n-layers 7 --isa scalar
    works 'interleaved, theta 1 to' $small --layout interleaved
    works 'RoPE: 8 channels' $small --set partial_rotary_factor=0.5
    works 'theta 0.25 to' $small --set rope_type=linear --set factor=4
    works 'scale, ALiBi, mask, softmax' $small --alibi
    ! grep -q RoPE "$work/out" || fail "posenc bench --alibi: RoPE in: $(cat "$work/out")"
    works 'Q 6, K and V 2' $small --n-heads 6 --n-kv-heads 2
    works 'one layer, 3 threads' $small --threads 3
}

# Two files side by side; a build without cJSON says so.
"$posenc" $small --json >"$work/a.json"
"$posenc" $small --json --isa scalar >"$work/b.json"
if "$posenc" bench --compare "$work/a.json" "$work/b.json" >"$work/out" 2>"$work/err"; then
    [ "$(grep -c '^  [dp]' "$work/out")" = 20 ] || fail "posenc bench --compare: $(cat "$work/out")"
    grep -q '^B: .*, 1 threads, ' "$work/out" || fail "posenc bench --compare: $(cat "$work/out")"
    refuses 'no such file cannot be read' bench --compare "$work/a.json" "$work/no such file"
    echo '{"rows": 3}' >"$work/c.json"
    refuses "is not what 'posenc bench --json' prints" bench --compare "$work/c.json" "$work/a.json"
    echo '{"rows": []}' >"$work/c.json"
    "$posenc" bench --compare "$work/a.json" "$work/c.json" 2>&1 | grep -q 'no row in common' || fail 'no row in common'
else
    grep -q 'libcjson-dev' "$work/err" || fail "posenc bench --compare: $(cat "$work/err")"
fi
refuses 'takes two files' bench --compare "$work/a.json"
refuses 'takes two files' bench --quick --compare "$work/a.json" "$work/b.json"
works '"in_use"' info --json
works '^decode,1,9,' $small --csv

refuses 'a command is missing'
refuses "no command 'fly'" fly
refuses "no command 'none'" help none
refuses "unknown option '--fly'" --fly
refuses "takes no argument 'more'" info more
refuses "takes no argument 'more'" verify more
refuses "takes no argument 'more'" bench more
refuses "unknown option '--fly'" verify --fly
refuses "unknown option '-x'" bench -x
refuses "'--quick=3': this option takes no value" bench --quick=3
refuses "option '--tokens' needs a value" bench --tokens
for number in -1 0 1e3 '' 1x 99999999999999999999; do
    for option in n-heads n-kv-heads head-dim n-layers tokens context threads; do
        refuses "--$option takes a whole number from 1 to [0-9]*, not '$number'" bench "--$option" "$number"
    done
done
refuses "no tier 'sse'" bench --isa sse
refuses "no tier ''" bench --isa ''
refuses "no tier ''" bench --isa scalar,,scalar
refuses 'half or interleaved' bench --layout neox
refuses 'takes NAME=VALUE' bench --set rope_theta
refuses "rope_theta takes a number, not 'abc'" bench --set rope_theta=abc
refuses "rope_theta takes a number, not 'inf'" bench --set rope_theta=inf
refuses 'name is unknown' bench --set wobble=3
refuses 'name is unknown' bench --set rope_type=weird
refuses 'correct --head-dim or --set' bench --set factor=4
refuses 'correct --head-dim or --set' bench --head-dim 7
refuses 'cannot serve' bench --n-heads 4 --n-kv-heads 3
refuses 'use a smaller --tokens' bench --tokens 65536
refuses 'use a smaller --context' bench --context 1048576

# Too little memory is no failed check. A sanitizer needs more than is left here, and refuses large pieces when told to.
in_little_memory() {
    # shellcheck disable=SC3045 # a shell without ulimit -v fails
    if (ulimit -v 100000 && "$posenc" --version) >"$work/out" 2>&1; then
        (ulimit -v 100000 && "$posenc" "$@")
    else
        ASAN_OPTIONS="${ASAN_OPTIONS:-}:allocator_may_return_null=1:max_allocation_size_mb=50" "$posenc" "$@"
    fi
}
in_little_memory bench --quick --isa scalar --head-dim 16 --tokens 1500 --context 9 >"$work/out" 2>"$work/err"
status=$?
[ $status -eq 2 ] || fail "in little memory: exit status $status, expected 2"
grep -q 'memory.*use a smaller --tokens' "$work/err" || fail "in little memory: says $(cat "$work/err")"
! grep -q 'FAILED\|Verified' "$work/out" || fail "in little memory: $(cat "$work/out")"

# Output that goes nowhere is an error, told once, --help's and --version's too.
for arguments in --help --version info 'bench --help'; do
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
    for option in $("$posenc" "$command" --help | sed -n 's/^  \(--[a-z-]*\) .*/\1/p'); do
        sed -n "/^\.SS posenc $command$/,/^\.S/p" "$work/page" | grep -qw -e "$option" ||
            fail "posenc.1 does not have $option of 'posenc $command'"
    done
done

[ $failures -eq 0 ] || exit 1
echo "all that was asked of posenc is as it should be"
