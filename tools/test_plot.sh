#!/bin/sh
# posenc table and posenc plot from the outside: test_plot.sh POSENC. Every method is written and drawn in every way; each
# kind of wrong input gets a line on standard error that names it, and exit status 2. What the files hold is for test_table.
set -u
posenc=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# makes FILE ARGUMENTS...: exit status 0, not a word, and a file
makes() {
    file=$1
    shift
    rm -f "$file"
    "$posenc" "$@" -o "$file" >"$work/out" 2>&1 || fail "posenc $*: exit status $?"
    [ ! -s "$work/out" ] || fail "posenc $*: says $(cat "$work/out")"
    [ -s "$file" ] || fail "posenc $*: no file"
}

# refuses WORD ARGUMENTS...: exit status 2, WORD in the first line on standard error, no file
refuses() {
    word=$1
    shift
    rm -f "$work/none"
    "$posenc" "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 2 ] || fail "posenc $*: exit status $status, expected 2"
    [ ! -s "$work/out" ] || fail "posenc $*: output in spite of the error"
    head -n 1 "$work/err" | grep -q -e "$word" || fail "posenc $*: no '$word' in: $(cat "$work/err")"
    [ ! -e "$work/none" ] || fail "posenc $*: a file in spite of the error"
}

# The methods as --help lists them, encodings and biases: names stand two spaces in.
"$posenc" table --help >"$work/help" || fail "posenc table --help: exit status $?"
encodings=$(sed -n '/^Encodings:/,/^Biases/s/^  \([a-z0-9-]*\)  *[^ ].*/\1/p' "$work/help")
biases=$(sed -n '/^Biases/,$s/^  \([a-z0-9-]*\)  *[^ ].*/\1/p' "$work/help")
[ "$(echo "$encodings" "$biases" | wc -w)" -ge 24 ] || fail "only these methods: $encodings $biases"
! grep -q '.\{80\}' "$work/help" || fail "posenc table --help: a line of more than 79 characters"

# ---- Tables ----

for method in $encodings $biases; do
    makes "$work/$method.npy" table "$method"
done
makes "$work/one.npy" table sinusoidal --length 1 --dim 1
makes "$work/again.npy" table t5
cmp -s "$work/t5.npy" "$work/again.npy" || fail "t5: two runs differ"
makes "$work/again.npy" table t5 --seed 2
! cmp -s "$work/t5.npy" "$work/again.npy" || fail "t5: two seeds do not differ"

refuses 'METHOD is missing' table -o "$work/none"
refuses 'no method .nope2' table nope2 -o "$work/none"
refuses 'one too many' table gray binary -o "$work/none"
refuses '-o FILE.npy' table gray
refuses 'gray takes no --base; its options are --length' table gray --base 3 -o "$work/none"
refuses 'dim takes a whole number from 1 to 2097152, not .1.5' table gray --dim 1.5 -o "$work/none"
refuses 'dim takes a whole number' table gray --dim many -o "$work/none"
refuses 'layout takes interleaved, concat' table sinusoidal --layout round -o "$work/none"
refuses 'does nothing without --scaling' table rope --factor 2 -o "$work/none"
refuses 'beyond position 2147483647' table sinusoidal --start 2147483647 --length 2 -o "$work/none"
refuses 'rope: n_rot is odd' table rope --dim 7 -o "$work/none"
refuses 'a position, offset or id' table gray --start -1 -o "$work/none"
refuses 'No such file or directory' table gray -o "$work/no-such-directory/x.npy"
[ ! -w /dev/full ] || refuses 'No space left' table gray -o /dev/full

# ---- Pictures ----

"$posenc" plot --help >"$work/help" || fail "posenc plot --help: exit status $?"
if "$posenc" plot gray -o "$work/gray.png" 2>&1 | grep -q 'without Cairo'; then
    refuses 'install libcairo2-dev' plot gray -o "$work/none"
    [ $failures -eq 0 ] || exit 1
    echo "tables are as they should be; pictures are not built"
    exit 0
fi

# picture ARGUMENTS...: a PNG of at least 200 x 150 pixels; its number in $n
n=0
picture() {
    n=$((n + 1))
    makes "$work/$n.png" plot "$@"
    [ "$(head -c 8 "$work/$n.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "posenc plot $*: no PNG"
    # shellcheck disable=SC2046 # eight bytes, each a word
    set -- $(od -An -tu1 -j16 -N8 "$work/$n.png")
    [ $(($3 * 256 + $4)) -ge 200 ] && [ $(($7 * 256 + $8)) -ge 150 ] || fail "picture $n: $3 $4 x $7 $8 pixels"
}

for method in $encodings; do
    for view in '' --similarity --curves --spectrum; do
        # shellcheck disable=SC2086 # no view is no word
        picture "$method" $view --scale 0.5
    done
done
for method in $biases; do
    for view in '' --curves; do
        # shellcheck disable=SC2086
        picture "$method" $view --scale 0.5
    done
done
distinct=$(cksum "$work"/[0-9]*.png | awk '{ print $1, $2 }' | sort -u | wc -l)
[ "$distinct" -eq "$n" ] || fail "$n pictures, but only $distinct different ones"
picture sinusoidal --length 1 --dim 1
picture sinusoidal --length 3000 --dim 2000 --scale 0.5
picture alibi --length 1
picture alibi --heads 3 --head 2
picture sinusoidal --curves --lines 0,1,5 --scale 8
picture sinusoidal
cp "$work/$n.png" "$work/first.png"
picture sinusoidal
cmp -s "$work/$n.png" "$work/first.png" || fail "sinusoidal: two pictures of the same differ"

refuses '-o FILE.png' plot gray
refuses 'one of --similarity' plot gray --similarity --curves -o "$work/none"
refuses 'are for encodings' plot alibi --similarity -o "$work/none"
refuses 'are for encodings' plot alibi --spectrum -o "$work/none"
refuses 'no such head' plot alibi --heads 2 --head 2 -o "$work/none"
refuses 'not there' plot gray --dim 3 --curves --lines 3 -o "$work/none"
refuses 'numbers from 0' plot gray --curves --lines 1,x -o "$work/none"
refuses 'at most 8' plot gray --curves --lines 0,0,0,0,0,0,0,0,0 -o "$work/none"
refuses 'goes with --curves' plot gray --lines 0 -o "$work/none"
refuses 'from 0.5 to 8' plot gray --scale 9 -o "$work/none"
refuses 'only one position' plot gray --length 1 --curves -o "$work/none"
refuses 'smaller --length' plot sinusoidal --length 1000000 --similarity -o "$work/none"
refuses 'No such file or directory' plot gray -o "$work/no-such-directory/x.png"

[ $failures -eq 0 ] || exit 1
echo "tables and $n pictures are as they should be"
