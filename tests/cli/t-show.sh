#!/bin/bash
# show: one case of each op, the window, single tensors, and what a dump holds.
. "$FP4_SRCDIR/tests/cli/lib.sh"
case=quantize/te/rn/1x16/bf16/ties/32x64/s0

fp list --suite default
awk -F/ '!seen[$1]++' out >first-of-op
fp list ops
expect_equal "$(wc -l <first-of-op)" "$(wc -l <out)" 'ops'
while IFS= read -r name; do
    fp show "$name"
    expect_status 0
    expect_empty err
    has out "$name  (backend ref)"
    expect_equal "$(grep -cE '^[a-z-]+(\.t)?  input ' out | sed 's/^[1-9].*/some/')" some 'inputs'
    expect_equal "$(grep -cE '^[a-z-]+(\.t)?  output ' out | sed 's/^[1-9].*/some/')" some 'outputs'
done <first-of-op

# values of a block: known by hand (the row begins 6 x 448, then values 0.5, 1.5, 2.5 ... of a step apart, on either side of each tie)
fp show --rows 0 --cols 0:16 $case
expect_out 'x  input bf16 [32,64]  xxh3 ' 'codes  output e2m1 [32,64]  xxh3 ' 'amax 2688 (0x45280000), global scale S_enc 1 (0x3f800000)' \
    'row 0, block 0 (columns 0-15): amax 2688, scale 0x7e = 448'
expect_no_out 'row 1, ' 'block 1 '
matches out ' +code +7 +0 +1 +2 +3 +4 +5 +6'
matches out ' +decodes to +6 +0 +0\.5 +1 +1\.5 +2 +3 +4'
matches out ' +dequantized +2688 +0 +224 +448 +672 +896 +1344 +1792'
fp show --rows 4:6 --cols 16:32 $case
expect_out 'row 4, block 1 (columns 16-31)' 'row 5, block 1 (columns 16-31)'
expect_no_out 'row 3,' 'row 6,' 'block 0 ' 'block 2 '
fp show -r 31 -k 48:100 $case # as far as there is something
expect_status 0
expect_out 'row 31, block 3'
fp show quantize/te/rn/1x16/col/bf16/ties/32x64/s0
expect_status 0
expect_out 'column 0, block 0 (rows 0-15)'
expect_no_out 'row 0, block 0'

# the digests are those of a dump
fp run --case $case --backend ref --bytes all --stages -o a.json
for name in x codes block-scale amax scaled; do
    digest=$(grep -o "\"name\":\"$name\",[^}]*\"xxh3\":\"[0-9a-f]*" a.json | grep -o '[0-9a-f]*$')
    fp show --stage $name $case
    expect_status 0
    matches out "$name  [a-z]+ [a-z0-9]+ \[[0-9,]+\]  xxh3 $digest"
    expect_equal "$(grep -c ' xxh3 ' out)" 1 'tensors'
done
fp show --stage codes --stage amax $case
expect_equal "$(grep -c ' xxh3 ' out)" 2 'tensors'

# from a dump
fp show $case
tail -n +2 out >computed
fp show --dump a.json $case
expect_status 0
expect_out "$case  (a.json)"
tail -n +2 out >dumped
expect_same computed dumped
dumps a.json b.json backend sm100 set $case codes 1 7
fp show --dump b.json --backend sm100 --stage codes --rows 0 --cols 0:8 $case
expect_status 0
expect_out "(b.json:sm100)"
matches out ' +0,0 +7 +7 +1 +2 +3 +4 +5 +6'
fp run -q --case $case --backend ref --bytes none -o none.json
fp show --dump none.json $case
expect_status 0
expect_err 'digests only'

# what cannot be shown
trouble() { # TEXT ARGUMENT...
    local text=$1
    shift
    fp show "$@"
    expect_trouble "$text"
}
for range in 5:5 6:5 x 1: :3 -1 1:2:3 ''; do
    trouble "--rows" --rows "$range" $case
    trouble "--cols" --cols "$range" $case
done
trouble "--rows '32:40'" --rows 32:40 $case
trouble "--cols '64'" --cols 64 $case
trouble "'code'; it has x, amax" --stage code $case
trouble "unknown data 'tis'" quantize/te/rn/1x16/bf16/tis/32x64/s0
trouble "unknown backend 'rf'" --backend rf $case
trouble "a.json: no case" --dump a.json philox/te/u32/kat/16x16/s0
trouble "no result of backend 'ref'" --dump b.json --backend ref $case
trouble "nothere.json" --dump nothere.json $case
dumps a.json error.json error $case 'CUDA error 700'
trouble 'CUDA error 700' --dump error.json $case

# the bytes of an input or an output, for a foreign kernel
case=quantize/te/rn/1x16/bf16/ties/32x64/s0
fp show --stage x --raw x.bin $case
expect_status 0
expect_equal "$(stat -c %s x.bin)" 4096 'bytes of x'
fp show --stage codes --raw - $case
expect_status 0
expect_equal "$(stat -c %s out)" 1024 'bytes of codes on standard output'
fp show --raw x.bin $case
expect_status 2
expect_err '--raw writes one tensor: name it with --stage'
fp show --stage x --raw missing/x.bin $case
expect_status 2
expect_err "cannot write 'missing/x.bin'"
