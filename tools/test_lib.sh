# What the tests of the command from the outside share; they begin with: . "$(dirname "$0")/test_lib.sh"
# $1 is the command. Files go to $work; the number of failures is in $failures.
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
