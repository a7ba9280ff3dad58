#!/bin/bash
# explain: for elements that field reports are about, what the report says should be found; every op; backends and dumps beside the
# reference; JSON; mistakes.
. "$FP4_SRCDIR/tests/cli/lib.sh"
q=quantize/te/rn/1x16
at() { # ROW,COL CASE LINE...: each LINE a regular expression for a whole line, blanks between words taken as they come
    local line
    fp explain --at "$1" "$2"
    expect_status 0
    expect_empty err
    tr -s ' ' <out >squeezed
    shift 2
    for line in "$@"; do matches squeezed " $line ?"; done
}

# 12: which rounding of the scale: 6.2 goes down to 38 and up to 39, 6.7 the other way
at 0,16 $q/f32/scalerules/16x64/s0 'scale, raw 0x3f844444 = 1.0333333 block amax.*' 'block scale 0x38 = 1' 'other rule scale rounded up: 0x39'
at 0,32 $q/f32/scalerules/16x64/s0 'block scale 0x39 = 1.125' 'other rule scale rounded down: 0x38'
# 13, 27: the order of the scale formula: 79 here, 78 for amax * (S / 6), one ulp from the boundary
at 0,16 $q/bf16/division/16x64/s0 'input 0x41aa = 21.25' 'amax 0x420c0000 = 35' 'boundaries 272 is 1 ulp \(3.05e-05\) below, .*' \
    'block scale 0x79 = 288' 'other rule amax \* \(S / 6\): 0x78'
at 0,32 $q/bf16/division/16x64/s0 'block scale 0x65 = 52' 'other rule amax \* \(S / 6\): 0x64'
# 18: a block maximum that bf16 rounding lifts over a threshold
at 0,16 $q/f32/amaxbf16/16x64/s0 'block scale 0x39 = 1.125' 'other rule block amax rounded to bf16 first: 0x38'
# 21: double rounding through f16 of a scale, through bf16 of an element
at 0,16 $q/f32/double/16x64/s0 'scale, raw 0x3f880400 = 1.06262207 .*' 'block scale 0x39 = 1.125' 'other rule scale rounded to f16 first: 0x38'
at 0,33 $q/f32/double/16x64/s0 'scaled 0x3e802000 = 0.250244141 .*' 'boundaries 0.25 is 8192 ulps \(0.000244\) below, .*' \
    'code 0x1 = 0.5 byte 16 of the codes, high nibble' 'other rule rounded to bf16 first: code 0'
# 25: an unfused path that stores bf16
at 0,35 $q/f32/double/16x64/s0 'scaled 0x40202000 = 2.50195312 .*' 'code 0x5 = 3 .*' 'other rule rounded to bf16 first: code 4'
# 19, 23: a tie
at 0,17 $q/f32/profile/16x64/s0 'scaled 0x3e638e39 = 0.222222224 .*' 'code 0x0 = 0 .*'
at 0,21 $q/bf16/signedzero/16x64/s0 'boundaries exactly on 0.25: a tie' 'other rule ties away from zero: code 9' 'code 0x8 = -0 .*'
# 26: x / s against x * (1 / s)
at 0,17 $q/f32/reciprocal/16x64/s0 'input 0x3cc3ffff = 0.0239257794' 'block scale 0x07 = 0.013671875' 'scaled 0x3fe00000 = 1.75 .*' \
    'code 0x4 = 2 .*' 'other rule x / \(scale \* \(1/S\)\): 1.74999988, code 3'
# 32, 34: NaN
at 0,16 $q/bf16/nan/16x64/s0 'input 0x7fc0 = nan' 'boundaries NaN: code 7 whatever its sign; .*' 'code 0x7 = 6 .*' \
    'other rule a NaN that stays in the block amax: scale 0x7f .*'
# 35, 36: a zero block
at 0,16 $q/bf16/zeroblocks/16x64/s0 'block amax 0x00000000 = 0' 'block scale 0x00 = 0' 'multiplier 0x7f7fffff = 3.40282347e\+38 .*without that limit.*' \
    'code 0x0 = 0 .*'
# 37, 38: the tie at 2^-10, and a scale of 00 under data that are not zero
at 0,32 $q/bf16/underflow/16x64/s0 'scale, raw 0x3a800000 = 0.0009765625 .*' 'boundaries exactly on 0.0009765625: a tie' 'block scale 0x00 = 0' \
    'other rule scale rounded up: 0x01' 'code 0x7 = 6 .*'
at 0,48 $q/bf16/underflow/16x64/s0 'block scale 0x01 = 0.001953125' 'code 0x5 = 3 .*'
# 41: overflow of the scale
at 1,16 $q/f32/saturate/16x64/s0 'block amax 0x452e6000 = 2790' 'boundaries 448 or more: saturates \(7e\); an encoder without saturation gives NaN \(7f\)' \
    'block scale 0x7e = 448'
# 45: a subnormal scale decoded as a normal number
at 0,16 $q/f32/subnormalscales/16x64/s0 'block scale 0x01 = 0.001953125' 'code 0x7 = 6 .*' 'other rule scale read as a normal number \(0.0087890625\): code 3'
# 46: the sign of zero
at 0,19 $q/bf16/signedzero/16x64/s0 'code 0x8 = -0 .*' 'other rule sign dropped when the result is zero: code 0'
# 61, 62: how many bytes round up
at 0,1 quantize/te/sr/1x16/bf16/quarters/64x64/s0 'scaled 0x3f200000 = 0.625 .*' 'cell 0.5 to 1, 256 \* fraction = 64 \(n = 64, rest 0\)' \
    'threshold rule trunc: up for 64 of 256 bytes, 0xc0 and more; byte 0x[0-9a-f]* goes (up|down)'
at 0,2 quantize/te/sr/1x16/bf16/quarters/64x64/s0 'other rule half-old: up for 63 of 256 bytes; .*'
# 66: a known answer of the generator
at 0,0 philox/te/u32/kat/16x16/s0 'counter .*, 10 rounds' 'word 0x[0-9a-f]*'
# 4, 6: where a scale lies in the GEMM layout
fp list --op swizzle
swizzle=$(grep '/swizzle/.*/coords/' out | head -n 1)
at 0,1 "${swizzle:-$(head -n 1 out)}" 'place tile 0 of 128x4, row 0 and column 1 of it: byte 1 of its 512'

# 28: errors of the two candidates, equal and one ulp apart
four=four-over-six/torchao/mae/1x16/bf16/four-ties/16x64/s0
at 0,0 $four 'errors equal: map to 6' 'pick 0x00 .*'
at 0,16 $four 'errors map to 4 is 1 ulp worse: another order of the additions may choose the other' 'pick 0x00 .*'
at 0,32 $four 'errors map to 4 is 1 ulp better: .*' 'pick 0x01 .*'
# a product: its blocks, the additions in order
at 3,5 gemm/te-ref/product/bf16/normal/16x16x64/s0 'block 0 0x49d44400 = 1738880 codes 47.5, scales 208 and 176; so far 1738880' \
    'block 3 .*; so far 2908224' 'acc 0x4a318100 = 2908224 in order' 'y 0x4148 = 12.5'
fp explain --at 0,0 gemm/torchao/quantized/bf16/normal/128x128x128/s0
expect_trouble 'not a layer'

# Every op; the replay inside has to agree with the reference, or explain itself is trouble.
fp list --suite default
awk -F/ '!seen[$1 $2 $3]++' out >some
while IFS= read -r name; do
    shape=${name%/s*}
    shape=${shape##*/}
    rows=${shape%%x*} cols=${shape#*x} # gemm: MxNxK
    cols=${cols%%x*}
    case $name in gemm/*/product/*) ;; gemm/*) continue ;; esac
    fp explain --at "$((rows - 1)),$((cols - 1))" "$name"
    expect_status 0
    expect_empty err
    has out "$name  row $((rows - 1)), column $((cols - 1))"
done <some
[ "$(wc -l <some)" -gt 20 ] || problem 'too few cases'

# the transform: its sixteen inputs, their signs, the three sums, the class
fp explain --at 3,17 rht-quantize/te/sr/bf16/normal/64x128/s0
expect_equal "$(grep -cE '^  x\[[0-9]+\] .*sign [+-]$' out)" 16 'inputs'
expect_out 'sum, tensor core' 'sum, in order' 'sum, exact' 'exactness' 'transformed'

# both outputs; the transposed one is chosen
fp explain --at 5,2 $q/both/bf16/ties/32x64/s0
expect_out 'row 5, block 0, element 2 of it'
fp explain --at 5,2 --transposed $q/both/bf16/ties/32x64/s0
expect_out 'column 2, block 0, element 5 of it'
fp explain --at 5,2 --transposed $q/bf16/ties/32x64/s0
expect_trouble 'no transposed output'

# beside the reference: a dump with bytes, one with a changed code, one with digests only
case=$q/bf16/ties/32x64/s0
fp run -q --no-profile --case $case --backend ref --bytes all --stages -o a.json
dumps a.json b.json backend sm100 set $case codes 1 5
dumps a.json c.json
fp explain --at 0,1 --dump a.json:ref $case
expect_status 0
expect_last_line out 'no difference in what all sides have'
fp explain --at 0,1 --dump a.json --dump b.json:sm100 $case
expect_status 0
expect_last_line out 'first difference: code of b.json:sm100'
matches out '  code  *0x0 = 0  *the same  *0x5 = 3  *byte 0 of the codes, high nibble'
fp run -q --no-profile --case $case --backend ref --bytes none --no-stages -o d.json
fp explain --at 0,1 --dump d.json $case
expect_status 0
expect_err 'digests only'
fp explain --at 0,1 --backend ref $case
expect_status 0
expect_no_out 'first difference'

# JSON
fp explain --json --at 0,1 --dump b.json $case
expect_status 0
python <<'P'
import json
d = json.load(open("out"))
assert d["format"] == "fp4check-explain" and d["sides"] == ["ref", "b.json"], d["sides"]
assert d["first_difference"] == {"key": "code", "side": "b.json"}
code = [s for s in d["stages"] if s["key"] == "code"][0]
assert code["values"] == [{"bits": "0x0", "value": "0"}, {"bits": "0x5", "value": "3"}], code
scaled = [s for s in d["stages"] if s["key"] == "scaled"][0]
assert scaled["values"][0]["bits"].startswith("0x3"), scaled
P

# mistakes
fp explain $case
expect_trouble '--at ROW,COL'
fp explain --at 3 $case
expect_trouble '--at is ROW,COL'
fp explain --at 32,0 $case
expect_trouble 'lies outside of the 32x64'
fp explain --at 0,0 quantize/te
expect_trouble 'too few segments'
fp explain --at 0,0 --backend nobody $case
expect_trouble "unknown backend 'nobody'"
fp explain --at 0,0 --dump a.json:sm100 $case
expect_trouble 'no result of that backend'
fp explain --at 0,0 --dump a.json $q/bf16/ties/16x64/s0
expect_trouble 'no case'
fp explain
expect_trouble 'one case name'
