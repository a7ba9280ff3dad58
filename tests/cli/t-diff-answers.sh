#!/bin/bash
# diff: six ways in which two dumps can disagree, and six different answers.
. "$FP4_SRCDIR/tests/cli/lib.sh"
case=quantize/te/rn/1x16/bf16/normal/64x128/s0

fp run --case $case --case philox/te/u32/kat/16x16/s0 --case swizzle/te/e4m3/coords/144x3/s0 --backend ref --bytes all -o a.json
expect_status 0

# what the command printed as "again" shows the finding again
repeat_it() { # REPORT OTHER: its dump is a.json's case, and differs from OTHER's in the same way
    local again
    again=$(command_again "$1")
    ran=$again
    [ -n "$again" ] || { problem 'no "again:" line'; return; }
    rm -f again.json
    status=0
    (fp4check() { "$FP4CHECK" "$@"; } && eval "$again") >again.out 2>again.err || status=$?
    expect_equal "$status" 0 'exit status of the command'
    expect_equal "$(grep '^{"case"' again.json | sed 's/,$//')" "$(grep -F "\"$case\"" a.json | sed 's/,$//')" 'its case'
    fp diff again.json "$2"
    expect_status 1
    expect_out "$(grep 'of .* differ (' "$1")"
}

# 1: one changed code, as another backend would give it
dumps a.json code.json set $case codes 1094 5 # row 8, column 70; the digest is made right again
fp diff a.json code.json
cp out code.out
expect_status 1
expect_out 'A  a.json:ref  (fp4check ' 'B  code.json:ref  (fp4check ' 'rule  bit-exact' "$case" \
    '  differs: codes: 1 of 8192 differ' '  first stage that differs: codes' 'codes e2m1 [64,128]: 1 of 8192 differ (0.0122%): '
expect_last_line out '3 cases compared: 2 equal, 1 differs'
fp show --rows 8 --cols 64:80 $case
python code.out out <<'P'
import re, sys, dumps

lines = open(sys.argv[1]).read().splitlines()
at = [i for i, l in enumerate(lines) if l.split()[:2] == ["row", "col"]][0]
titles = re.split(r" {2,}", lines[at].strip())
cells = dict(zip(titles, re.split(r" {2,}", lines[at + 1].strip())))
want = dumps.load("a.json")
data = dumps.data_of(dumps.tensor(want, dumps.load("a.json")["cases"][0]["case"], "codes"))
old = data[1094 // 2] & 15
values = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
text = lambda c: "%s%g (0x%x)" % ("-" if c & 8 else "", values[c & 7], c)
assert [cells[t] for t in ("row", "col", "block", "nibble")] == ["8", "70", "4", "2"], cells
assert cells["A"] == cells["ref"] == text(old) and cells["B"] == "3 (0x5)" and old != 5, cells
# input, amax, scale and scaled value are there, the same as in `show`
for t in ("input", "block amax", "scale", "scaled"):
    assert re.fullmatch(r"-?[0-9.e+-]+ \(0x[0-9a-f]+\)", cells[t]), (t, cells)
show = open(sys.argv[2]).read()
amax, scale = re.search(r"row 8, block 4 \(columns 64-79\): amax (\S+), scale (0x[0-9a-f]+) = ", show).groups()
assert "%.6g" % float(cells["block amax"].split()[0]) == amax and "(%s)" % scale in cells["scale"], (cells, amax, scale)
assert "0x%02x" % dumps.data_of(dumps.tensor(want, want["cases"][0]["case"], "block-scale"))[8 * 8 + 4] in cells["scale"]
P
repeat_it code.out code.json
dumps a.json sm100.json backend sm100 set $case codes 1094 5
fp diff a.json sm100.json
expect_status 1
expect_out 'B  sm100.json:sm100  (fp4check' "  again: fp4check run --case '$case' --backend sm100 --bytes all -o again.json"
fp diff sm100.json a.json # the other way round: still the backend that is not the reference
expect_out "--backend sm100 "

# 2: one changed scale byte
dumps a.json scale.json set $case block-scale 9 01
fp diff a.json scale.json
cp out scale.out
expect_status 1
expect_out '  differs: block-scale: 1 of 512 differ' 'first stage that differs: block-scale' 'block-scale e4m3 [64,8]: 1 of 512 differ'
matches out ' *row  col  block .* A +B +ref'
matches out ' *1    1    1 .* \(0x[0-9a-f]{2}\) +0.001953125 \(0x01\) .*'
expect_last_line out '3 cases compared: 2 equal, 1 differs'
expect_no_out 'first stage that differs: codes'
repeat_it scale.out scale.json

# both: the scale comes first, the codes are told too
dumps a.json both.json set $case block-scale 9 01 set $case codes 1094 5
fp diff a.json both.json
expect_out 'first stage that differs: block-scale' 'codes e2m1 [64,128]: 1 of 8192 differ'

# 3: a dropped case
dumps a.json drop.json drop 'swizzle/*'
fp diff a.json drop.json
expect_status 1
expect_out 'missing cases, which count as differing' '  only in A: swizzle/te/e4m3/coords/144x3/s0'
expect_last_line out '2 cases compared: 2 equal; 1 only in A'
fp diff drop.json a.json
expect_status 1
expect_out '  only in B: swizzle/te/e4m3/coords/144x3/s0'
expect_last_line out '2 cases compared: 2 equal; 1 only in B'

# 4: another input
dumps a.json input.json input $case x
fp diff a.json input.json
expect_status 1
matches out 'quantize +1 +0 +0 +0 +0 +0 +1'
expect_out '  not-comparable: ' "'x'"
expect_last_line out '2 cases compared: 2 equal; 1 not comparable'
dumps a.json input2.json input $case x set $case codes 1094 5 # whatever the codes are
fp diff a.json input2.json
expect_last_line out '2 cases compared: 2 equal; 1 not comparable'
dumps a.json input3.json keep $case input $case x # and when nothing else is left
fp diff a.json input3.json --case $case
expect_status 1
expect_out '0 cases compared; 1 not comparable'

# 5: an empty dump
dumps a.json empty.json keep none
fp diff a.json empty.json
expect_trouble 'nothing to compare' "'empty.json' holds no cases"
fp diff empty.json a.json
expect_trouble 'nothing to compare' "'empty.json' holds no cases"
fp diff empty.json empty.json
expect_trouble 'nothing to compare'

# 6: nothing in common
dumps a.json left.json keep 'philox/*'
dumps a.json right.json drop 'philox/*'
fp diff left.json right.json
expect_trouble 'nothing to compare' 'left.json' 'right.json' 'no case in common'
fp diff --case 'cvt-rn/*' a.json a.json
expect_trouble 'no case' '--case'

# neighbours of these: one backend skipped, failed; everything skipped
dumps a.json skip.json skip $case 'no such device'
fp diff a.json skip.json
expect_status 0
expect_out 'skipped, 1: ' 'no such device'
expect_last_line out '2 cases compared: 2 equal; 1 skipped'
dumps a.json error.json error $case 'CUDA error 700'
fp diff a.json error.json
expect_status 1
expect_out 'CUDA error 700'
expect_last_line out '2 cases compared: 2 equal; 1 error'
dumps skip.json allskip.json keep $case
fp diff --case $case a.json allskip.json
expect_status 2
expect_err 'nothing was compared'

# without any bytes the digests decide, and the reference is run again for the places
dumps a.json a-bare.json strip
dumps code.json code-bare.json strip
fp diff a-bare.json code-bare.json
expect_status 1
expect_out 'codes'
fp diff a-bare.json code.json
expect_status 1
matches out ' *8    70   4      2 .* 3 \(0x5\) .*'
fp diff a-bare.json a.json
expect_status 0

# --places and --max-cases
dumps a.json many.json step $case codes 30 1 set philox/te/u32/kat/16x16/s0 words 3 1 set swizzle/te/e4m3/coords/144x3/s0 swizzled 0 ff
fp diff a.json many.json
expect_status 1
expect_out 'codes: 30 of 8192 differ' 'and 22 more'
expect_equal "$(grep -c '^  again: ' out)" 3 'cases in full'
fp diff --places 3 --max-cases 1 a.json many.json
expect_out 'and 27 more' 'and 2 more cases that do not pass'
expect_equal "$(grep -c '^  again: ' out)" 1 'cases in full'
expect_last_line out '3 cases compared: 3 differ'
fp diff --places 64 a.json many.json
expect_no_out ' more'
