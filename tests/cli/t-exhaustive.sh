#!/bin/bash
# exhaustive: the reference's arithmetic against its second formulation, parts and strides, state and resume, what is wrong.
. "$FP4_SRCDIR/tests/cli/lib.sh"

# ---- counts --------------------------------------------------------------------------------------------------------------------------------

fp exhaustive cvt-rn --backend ref --stride 4099
expect_status 0
matches out 'cvt-rn +1047809 floats, 0 differ'
fp exhaustive e4m3 --backend ref --stride 4099 -j 3
expect_status 0
matches out 'e4m3 +1047809 floats, 0 differ'
fp exhaustive divide --backend ref --stride 65521
expect_status 0
for divisor in 6 1536 2688; do matches out "divide/$divisor +65552 floats, 0 differ"; done
for at in 00000003 00000009 80000000 0d7fffff 0d800000 7f7fffff 7f800000 ffc00001; do
    fp exhaustive divide --backend ref --at $at
    expect_status 0
done
fp exhaustive cvt-rs --backend ref --stride 65521
expect_status 0
for rule in trunc half half-old fma-floor; do
    matches out "cvt-rs/$rule +65552 floats x 256 bytes, 0 differ"
    for map in b300 ptx-x ptx-y straight reverse; do matches out "cvt-rs/$rule\\+$map +65552 random words .*, 0 differ"; done
done
matches out 'cvt-rs/hash32 +65552 floats x 4 words x 4 nibbles, 0 differ'
expect_equal "$(wc -l <out)" 25 'sweeps'
fp exhaustive cvt-rs --backend ref --stride 65536 --rs-model fp4sm120 # bf16 numbers
expect_status 0
expect_equal "$(wc -l <out)" 2 'sweeps of one model'
matches out 'cvt-rs/half\+reverse +65536 random words .*, 0 differ'

# the places where a sum rounds, NaN with quirks, the ends: SR 2.4
for at in 3b000000 3affffff 3e7fffff bccffffd 3e800000 40bfffff 40c00000 7f7fffff ff800000 ff800001 7fffffff 00000001 80000000; do
    fp exhaustive cvt-rs --backend ref --at $at
    expect_status 0
    matches out 'cvt-rs/half +1 floats x 256 bytes, 0 differ'
done

# parts add up
total=0
for part in 1/3 2/3 3/3; do
    fp exhaustive cvt-rn --backend ref --stride 100003 --part $part
    expect_status 0
    total=$((total + $(sed -n 's/^cvt-rn *\([0-9]*\) floats.*/\1/p' out)))
done
expect_equal $total 42949 'floats of three parts'

# ---- state and resume ------------------------------------------------------------------------------------------------------------------------

fp exhaustive cvt-rs --backend ref --stride 1000003 --rule trunc --state state
expect_status 0
cp out whole
has state 'fp4check-exhaustive 1 cvt-rs ref stride=1000003'
expect_no_file state.partial
fp exhaustive cvt-rs --backend ref --stride 1000003 --rule trunc --resume state # all is done: the same counts
expect_status 0
expect_same out whole
sed -i 's/^cvt-rs\/trunc 4295 /cvt-rs\/trunc 1000 /' state # as if it had been interrupted
fp exhaustive cvt-rs --backend ref --stride 1000003 --rule trunc --resume state
expect_status 0
expect_same out whole
has state 'cvt-rs/trunc 4295 0 0'
sed -i 's/^cvt-rs\/trunc .*/cvt-rs\/trunc 4295 1 1 3f800000 01010101 3333 2222/' state # a difference is kept
fp exhaustive cvt-rs --backend ref --stride 1000003 --rule trunc --resume state
expect_status 1
expect_out ', 1 differ' 'input 3f800000 (1), random word 01010101: got 3333, not 2222' 'again: fp4check exhaustive cvt-rs --backend ref --rule trunc --at 3f800000'
fp exhaustive cvt-rs --backend ref --stride 1000003 --rule half --resume state
expect_trouble 'other work'
echo nonsense >state
fp exhaustive cvt-rn --backend ref --resume state
expect_trouble 'no state file'
fp exhaustive cvt-rn --backend ref --resume none
expect_trouble "cannot open 'none'"

# ---- what is wrong ------------------------------------------------------------------------------------------------------------------------------

fp exhaustive
expect_trouble 'say what'
fp exhaustive cvt-rx
expect_trouble "did you mean 'cvt-rn'?"
fp exhaustive cvt-rs --backend reff
expect_trouble "did you mean 'ref'?"
fp exhaustive cvt-rs --backend ref --rule nearest
expect_trouble 'there are trunc, half'
fp exhaustive cvt-rs --backend ref --rs-model x1
expect_trouble "rs-model 'x1' does not exist"
fp exhaustive cvt-rs --backend ref --rs-model b300 --rule half
expect_trouble 'has rule trunc'
fp exhaustive cvt-rn --rule half
expect_trouble 'for cvt-rs'
for stride in 0 -1 x 4294967296; do
    fp exhaustive cvt-rn --backend ref --stride $stride
    expect_trouble '--stride'
done
for part in 0/2 3/2 1 1/0 x/2; do
    fp exhaustive cvt-rn --backend ref --part $part
    expect_trouble '--part'
done
fp exhaustive cvt-rn --backend ref --at 3f80000g
expect_trouble '--at'
fp exhaustive cvt-rn --backend ref --state a --resume b
expect_trouble 'leave --state out'

# a GPU backend where it cannot run says why
if ! "$FP4CHECK" list backends 2>/dev/null | grep -q '^soft *runs here'; then
    fp exhaustive cvt-rn --backend soft
    expect_trouble "backend 'soft'"
fi
