#!/bin/sh
# posenc table and posenc plot from the outside: test_plot.sh POSENC. Every method is written and drawn in every way; each
# kind of wrong input gets a line on standard error that names it, and exit status 2. What the files hold is for test_table.
# shellcheck source=tools/test_lib.sh
. "$(dirname "$0")/test_lib.sh"

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
grep -q 'dynamic is as for --factor times as many' "$work/help" || fail "posenc table --help: dynamic NTK's context"

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
refuses 'name of the file to write is empty' table gray -o ''
refuses 'ends with .npy' table gray -o "$work/none.npz"
refuses 'length takes a whole number' table gray --length 1e3 -o "$work/none"

# What does not go together is told by options, and how to put it right, in one line.
advises() { # WORDS ARGUMENTS...
    refuses "$@" -o "$work/none"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than one line: $(cat "$work/err")"
    grep -q -e '--[a-z]' "$work/err" || fail "no option in: $(cat "$work/err")"
}
advises 'rope: --dim must be even, not 63: use 64' table rope --dim 63
advises 'ntk and dynamic need a --dim of 4' table rope --scaling ntk --dim 2
advises 'ntk and dynamic need a --dim of 4' table rope --scaling dynamic --dim 2
advises 'smaller --factor or --base' table rope --scaling ntk --dim 4 --factor 1e9 --base 1e20
advises 'context times --factor' table rope --scaling dynamic --factor 1e9 --context 1000000000
advises 'context of 7 or more' table rope --scaling yarn --context 1
advises 'base above 1' table rope --scaling yarn --base 1
advises 'larger --base' table rope --scaling yarn --base 2 --context 1000000
advises 'multiple of 4, not 6: use 8' table grid --dim 6
advises 'shift 1 must be less .*dim of 4' table timestep --dim 2
advises 'shift 2 must be less .*dim of 6' table timestep --dim 4 --shift 2
advises 'layout concat or concat-cos' table sinusoidal --schedule half-minus-1 --dim 2
advises 'even, not 9' table sinusoidal --layout complex --dim 9
advises 'buckets must be 4 or more' table t5 --buckets 3 --mask full
advises 'use 17 or more' table t5 --max-distance 16
advises 'dim is at most 8192' table sandwich --dim 8194
advises 'even, not 7' table sandwich --dim 7
advises 'sigma is at most 4096' table fourier --sigma 5000
advises 'trained is at most 1048576' table resized --trained 2000000
advises 'width is at most 1024' table swin --width 2000 --height 1
advises 'start must not be negative' table gray --start -1
advises '298.0 GiB: use a smaller --length or --heads, or add --large' table alibi --length 100000
advises 'smaller --length or --dim' table sinusoidal --length 16777216
advises 'smaller --height or --width or --dim' table grid --height 4096 --width 4096
advises 'smaller --height, --width or --heads' table swin --height 200 --width 100

# Standard output is written like a file, and a file has its name only when it is whole.
"$posenc" table t5 -o - >"$work/again.npy" || fail "table -o -: exit status $?"
cmp -s "$work/t5.npy" "$work/again.npy" || fail "table -o -: not what -o FILE writes"
mkdir "$work/part"
echo old >"$work/part/old.npy"
chmod 600 "$work/part/old.npy"
ln -s old.npy "$work/part/link.npy"
"$posenc" table gray -o "$work/part/link.npy" || fail "a link: exit status $?"
cmp -s "$work/gray.npy" "$work/part/old.npy" && [ -L "$work/part/link.npy" ] || fail "a link is not followed"
[ "$(stat -c %a "$work/part/old.npy")" = 600 ] || fail "the file's mode has changed"
ln -s nothing "$work/dangling.npy"
"$posenc" table gray -o "$work/dangling.npy" 2>"$work/err" && fail "a link to nothing is replaced"
grep -q 'leads to no file' "$work/err" || fail "a link to nothing: $(cat "$work/err")"
"$posenc" table sinusoidal --length 4000 --dim 65536 -o "$work/part/old.npy" &
run=$!
until [ -n "$(find "$work/part" -name '*.part')" ] || ! kill -0 $run 2>"$work/err"; do :; done
kill $run
wait $run 2>"$work/err" && fail "a run that is ended says that all is well"
[ "$(ls "$work/part")" = "$(printf 'link.npy\nold.npy')" ] || fail "an ended run leaves $(ls "$work/part")"
(ulimit -f 10 && exec "$posenc" table sinusoidal --length 4000 --dim 65536 -o "$work/part/old.npy") 2>"$work/err" &&
    fail "a file beyond the limit says that all is well"
[ "$(ls "$work/part")" = "$(printf 'link.npy\nold.npy')" ] || fail "a file beyond the limit leaves $(ls "$work/part")"
cmp -s "$work/gray.npy" "$work/part/old.npy" || fail "an ended run has changed the file"

refuses 'no such folder: make it first' table gray -o "$work/no-such-directory/x.npy"
refuses 'a folder: name a file in it' table gray -o "$work/part"
"$posenc" table gray -o "$(printf '%s/%0250d' "$work/part" 0).npy" || fail "a name of 254 bytes: exit status $?"
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
    width=$(($3 * 256 + $4))
    [ $width -ge 200 ] && [ $(($7 * 256 + $8)) -ge 150 ] || fail "picture $n: $3 $4 x $7 $8 pixels"
}

for method in $encodings; do
    for view in '' --similarity --curves --spectrum; do
        # shellcheck disable=SC2086 # no view is no word
        picture "$method" $view --scale 0.5
    done
done
for method in $biases; do
    picture "$method" --scale 0.5
    [ "$method" = swin ] || picture "$method" --curves --scale 0.5
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

picture sinusoidal --spectrum
one_panel=$width
picture rope --spectrum # cosines and sines
[ "$width" -gt $((one_panel * 5 / 4)) ] || fail "the spectrum of rope has one panel"
"$posenc" plot gray -o - >"$work/again.png" || fail "plot -o -: exit status $?"
cmp -s "$work/gray.png" "$work/again.png" || fail "plot -o -: not what -o FILE writes"

refuses '-o FILE.png' plot gray
refuses 'ends with .png' plot gray -o "$work/none.jpg"
refuses 'ends with .png' plot gray -o "$work/none.svg"
refuses 'sinusoidal has no heads' plot sinusoidal -H 0 -o "$work/none"
refuses 'use --lines' plot alibi --curves -H 3 -o "$work/none"
advises 'depends on rows and columns' plot swin --curves
advises '1 GiB of memory: use a smaller --length$' plot alibi --length 100000
advises 'no --head 8: with --heads 8 they are 0 to 7' plot alibi -H 8
advises 'names curve 128, which is not there: they are 0 to 127, the cosines of 64 pairs first' \
    plot rope --curves --lines 128
advises 'names bit 3, which is not there: they are 0 to 2' plot gray --dim 3 --curves --lines 3
refuses 'one of --similarity' plot gray --similarity --curves -o "$work/none"
refuses 'are for encodings' plot alibi --similarity -o "$work/none"
refuses 'are for encodings' plot alibi --spectrum -o "$work/none"
refuses 'numbers from 0' plot gray --curves --lines 1,x -o "$work/none"
refuses 'numbers from 0' plot gray --curves --lines 1,,2 -o "$work/none"
refuses 'at most 8' plot gray --curves --lines 0,0,0,0,0,0,0,0,0 -o "$work/none"
refuses 'goes with --curves' plot gray --lines 0 -o "$work/none"
refuses 'from 0.5 to 8' plot gray --scale 9 -o "$work/none"
refuses 'only one position' plot gray --length 1 --curves -o "$work/none"
refuses 'smaller --length' plot sinusoidal --length 1000000 --similarity -o "$work/none"
refuses 'no such folder' plot gray -o "$work/no-such-directory/x.png"

[ $failures -eq 0 ] || exit 1
echo "tables and $n pictures are as they should be"
