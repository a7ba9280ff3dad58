#!/bin/bash
# diff: --tolerance on both sides of each of its limits, --signed-zero, --nan.
. "$FP4_SRCDIR/tests/cli/lib.sh"
case=quantize/te/rn/1x16/bf16/normal/64x64/s0
large=quantize/te/rn/1x16/bf16/normal/40x400/s0
zeros=quantize/te/rn/1x16/bf16/signedzero/64x64/s0
nans=dequantize/te/bf16/anybytes/16x256/s0

fp run --case $case --backend ref --bytes all --stages -o a.json
fp run --case $large --backend ref --bytes all -o large.json
fp run --case $zeros --backend ref --bytes all -o zeros.json
fp run --case $nans --backend ref --bytes all -o nans.json

judge() { # STATUS A B OPTION...: what diff makes of two dumps
    local wanted=$1 a=$2 b=$3
    shift 3
    fp diff "$@" "$a" "$b"
    expect_status "$wanted"
}

# the share: strictly fewer than 0.1% of 4096 are 4
dumps a.json four.json step $case codes 4 1
dumps a.json five.json step $case codes 5 1
judge 1 a.json four.json
judge 0 a.json four.json --tolerance 0.1%
expect_out 'rule  fewer than 0.1% of the codes may differ' 'within tolerance:' 'codes: 4 of 4096 differ'
expect_last_line out '1 case compared: 1 within tolerance'
judge 1 a.json five.json --tolerance 0.1%
expect_out 'codes: 5 of 4096 differ, which is not fewer than 0.1%'
expect_last_line out '1 case compared: 1 differs'
judge 0 a.json five.json -t 0.2%
judge 0 a.json four.json --tolerance 0.001
judge 1 a.json five.json --tolerance 0.001
judge 0 a.json a.json --tolerance 0.1%
expect_last_line out '1 case compared: 1 equal'
# where the share is a whole number, that number is too many
dumps large.json 15.json step $large codes 15 1
dumps large.json 16.json step $large codes 16 1
judge 0 large.json 15.json --tolerance 0.1%
judge 1 large.json 16.json --tolerance 0.1%
dumps a.json all.json step $case codes 3000 1
judge 0 a.json all.json --tolerance 100%

# the distance: one step, not two
dumps a.json two-steps.json step $case codes 1 2
judge 1 a.json two-steps.json --tolerance 0.1%
expect_out '1 of them by more than one step'
judge 1 a.json two-steps.json --tolerance 100%
dumps a.json one-of-two.json step $case codes 2 1 step $case codes 3 2
judge 1 a.json one-of-two.json --tolerance 1%

# across zero: codes 1 (0.5) and 0 or 8 are one step apart, 1 and 9 (-0.5) two
fp show --stage codes $zeros # row 0 holds 7 0 8 0 8 ...
dumps zeros.json plus.json set $zeros codes 1 1
dumps zeros.json minus.json set $zeros codes 1 9
dumps zeros.json from-minus.json set $zeros codes 2 1
judge 0 zeros.json plus.json --tolerance 0.1%
judge 0 zeros.json minus.json --tolerance 0.1%
judge 0 zeros.json from-minus.json --tolerance 0.1%
judge 1 plus.json minus.json --tolerance 0.1%

# scales and amax: to the byte, whatever the tolerance
dumps a.json scale.json set $case block-scale 9 01
judge 1 a.json scale.json --tolerance 100%
expect_out 'first stage that differs: block-scale'
dumps a.json amax.json set $case amax 0 40490fdb
judge 1 a.json amax.json --tolerance 100%
# stages are named, and not judged
dumps a.json stage.json set $case scaled 5 3f800000
judge 1 a.json stage.json
judge 0 a.json stage.json --tolerance 0.1%
expect_out 'scaled'
expect_last_line out '1 case compared: 1 within tolerance'

# digests alone: the bytes are found again by running the reference, where the other side kept its own
dumps a.json bare.json strip
judge 0 bare.json four.json --tolerance 0.1%
judge 1 bare.json five.json --tolerance 0.1%

# --signed-zero
dumps zeros.json sign.json set $zeros codes 1 8
judge 1 zeros.json sign.json
expect_out '1 in the sign of zero' 'looks like: only the sign of zero differs'
judge 1 zeros.json sign.json --signed-zero strict
judge 0 zeros.json sign.json --signed-zero equal
expect_out 'rule  bit-exact; -0 equals +0' 'by policy: 1 sign of zero and 0 NaNs counted as equal; 1 case passed only so'
expect_last_line out '1 case compared: 1 equal'
judge 0 zeros.json sign.json --tolerance 0.1% # no step at all is within one
judge 1 zeros.json plus.json --signed-zero equal
judge 1 zeros.json minus.json --signed-zero=equal
fp diff --signed-zero maybe zeros.json sign.json
expect_trouble '--signed-zero' "'maybe'"

# --nan: quiet NaNs with other signs and payloads
python <<'P'
import dumps
d = dumps.load("nans.json")
t = dumps.tensor(d, d["cases"][0]["case"], "dequantized")
b = dumps.data_of(t)
at = [i for i in range(4096) if dumps.get(t, b, i) & 0x7f80 == 0x7f80 and dumps.get(t, b, i) & 0x7f]
number = [i for i in range(4096) if dumps.get(t, b, i) & 0x7f80 != 0x7f80][0]
open("nan-at", "w").write("%d %d %d\n" % (at[0], at[1], number))
P
read -r first second number <nan-at
dumps nans.json payload.json set $nans dequantized "$first" 7fc0 set $nans dequantized "$second" ffc1
dumps nans.json number.json set $nans dequantized "$first" 3f80
dumps nans.json nan.json set $nans dequantized "$number" 7fc0
judge 1 nans.json payload.json
expect_out '2 NaN on both sides'
judge 0 nans.json payload.json --nan equal
expect_out 'any NaN equals any NaN' 'by policy: 0 signs of zero and 2 NaNs counted as equal'
judge 1 nans.json number.json --nan equal
expect_out 'NaN on one side'
judge 1 nans.json nan.json --nan equal
judge 1 nans.json payload.json --signed-zero equal
fp diff --nan maybe nans.json payload.json
expect_trouble '--nan' "'maybe'"

# what is no share
for wrong in 0 0% x -1 1.5 101% 0.1%% '' .5% 1e-3 0.00000000001 nan; do
    fp diff --tolerance "$wrong" a.json a.json
    expect_trouble "'$wrong'"
done
