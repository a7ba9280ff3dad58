#!/bin/bash
# four-over-six: the sweep, selection flips and NaN policy in a diff, combinations that are not defined; gemm.
. "$FP4_SRCDIR/tests/cli/lib.sh"

# torchao's sweep: 160 + 160 + 120 cases, all of them run
fp list --suite four-over-six-440
cp out names
expect_equal "$(sort -u names | wc -l)" 440 'cases of the sweep'
expect_equal "$(grep -c '/1x16/' names)" 320 '1x16'
expect_equal "$(grep -c '/1x16/amax-row/' names)" 160 '1x16, one amax a row'
expect_equal "$(grep -c '/16x16/' names)" 120 '16x16'
for error in mae mse; do
    for bound in '' /bound-448; do
        for dtype in bf16 f32; do
            for data in random boundary maxes denormal negzero; do
                for shape in 128x256 64x1024 384x256; do
                    echo "four-over-six/torchao/$error/16x16$bound/$dtype/ao-$data/$shape/s0"
                    echo "four-over-six/torchao/$error/1x16$bound/$dtype/ao-$data/$shape/s0"
                    echo "four-over-six/torchao/$error/1x16/amax-row$bound/$dtype/ao-$data/$shape/s0"
                done
                echo "four-over-six/torchao/$error/1x16$bound/$dtype/ao-$data/100x320/s0"
                echo "four-over-six/torchao/$error/1x16/amax-row$bound/$dtype/ao-$data/100x320/s0"
            done
        done
    done
done | sort >wanted
sort names >sorted
expect_same sorted wanted
fp run --suite four-over-six-440 --backend ref --no-stages -o sweep.json
expect_status 0
expect_out '440 cases: 440 ok, 0 skipped, 0 error'
fp diff sweep.json sweep.json
expect_status 0
expect_last_line out '440 cases compared: 440 equal'

# what show says of a block
fp show --rows 0 --cols 48:64 four-over-six/torchao/mae/1x16/bf16/four-ties/16x64/s0
expect_status 0
expect_out 'row 0, block 3 (columns 48-63): amax 14.4375, scale 0x5c = 24' \
    '    map-to-6     scale 0x5c = 24, error 1.8125 (0x3fe80000): stored' '    map-to-4     scale 0x61 = 36, error 1.8125 (0x3fe80000)'

# a block that took the other candidate, with its scale and codes, is one finding
cat >flip.py <<'P'
import sys
import dumps

dump, stages, out, row, block, drift = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6]
suffix = sys.argv[7] if len(sys.argv) > 7 else ""
d, s = dumps.load(dump), dumps.load(stages)
name = d["cases"][0]["case"]
stage = lambda which: dumps.data_of(dumps.tensor(s, name, which + suffix))
columns = dumps.tensor(s, name, "pick" + suffix)["shape"][1]
height = 16 if "/16x16/" in name else 1
for at in range(row * columns + block, (row + height) * columns, columns):
    other = 4 if stage("pick")[at] == 0 else 6
    for which, made, size in (("block-scale", "scale-%d", 1), ("codes", "codes-%d", 8)):
        t = dumps.tensor(d, name, which + suffix)
        data = dumps.data_of(t)
        data[size * at:size * at + size] = stage(made % other)[size * at:size * at + size]
        dumps.put_data(t, data)
    if drift != "0":  # its own stages: an error of another rounding, and the pick that follows
        for which, change in (("error-4", int(drift)), ("pick", 1 if other == 4 else -1)):
            t = dumps.tensor(d, name, which)
            data = dumps.data_of(t)
            dumps.put(t, data, at, dumps.get(t, data, at) + change)
            dumps.put_data(t, data)
dumps.save(d, out)
P
flip() { PYTHONPATH="$FP4_SRCDIR/tests/cli" python3 flip.py "$@" || problem 'flip.py failed'; }
case=four-over-six/torchao/mae/1x16/bf16/four-ties/16x64/s0
fp run --case $case --backend ref --bytes all --stages -o stages.json
fp run --case $case --backend ref --bytes all --no-stages -o a.json
flip a.json stages.json flip.json 0 3 0 # a tie: map-to-6 is right
fp diff --json report.json --markdown report.md a.json flip.json
expect_status 1
expect_out 'differs: 1 selection flip in 64 blocks, errors 0 ulps apart' 'selection: 1 of 64 blocks took the other candidate' \
    'row 0, block 3: A took map-to-6: error of 6 1.8125 (0x3fe80000), of 4 1.8125 (0x3fe80000), equal (recomputed)' \
    'B took map-to-4: error of 6 1.8125 (0x3fe80000), of 4 1.8125 (0x3fe80000), equal (recomputed)' \
    'block-scale e4m3 [16,4]: of 64: 1 in a block with the other candidate'
expect_no_out 'col  block' 'of 1024 differ'
expect_last_line out '1 case compared: 1 differs'
python <<'P'
import json
case = json.load(open("report.json"))["sections"][0]["cases"][0]
s = case["selection"]
assert (s["blocks"], s["flips"], s["nan_policy_blocks"], s["nan_payload_blocks"]) == (64, 1, 0, 0), s
f = s["list"][0]
assert (f["row"], f["block"], f["transposed"], f["a"], f["b"]) == (0, 3, False, 6, 4), f
assert f["a_error6_bits"] == f["a_error4_bits"] == f["b_error6_bits"] == "0x3fe80000" and f["a_ulps"] == f["b_ulps"] == 0, f
assert f["a_recomputed"] and f["b_recomputed"], f
for t in case["tensors"]:
    assert t["differing"] == 0 and t["places"] == [] and t["flipped"] > 0 and not t["equal"], t
P
has report.md '1 selection flip in 64 blocks, errors 0 ulps apart'
has report.md 'B took map-to-4: error of 6 1.8125'
fp diff --tolerance 100% a.json flip.json # a scale byte is another one
expect_status 1
fp diff --signed-zero equal a.json flip.json
expect_status 1

# the errors of each side are its own where it kept them: this one added in another order
flip stages.json stages.json drift.json 0 2 1
fp diff stages.json drift.json
expect_status 1
expect_out 'differs: error-4: 1 of 64 differ' 'first stage that differs: error-4' 'error-4 f32 [16,4] (stage): 1 of 64 differ (1.56%): 1 by one ulp' \
    'row 0, block 2: A took map-to-4: error of 6 2.20312524 (0x400d0001), of 4 2.203125 (0x400d0000), that of 4 is 1 ulp smaller' \
    'B took map-to-6: error of 6 2.20312524 (0x400d0001), of 4 2.20312524 (0x400d0001), equal' 'pick u8 [16,4] (stage): of 64: 1 in a block'
expect_no_out recomputed

# a wrong code beside a flip stays a wrong code
flip a.json stages.json both.json 0 3 0
dumps both.json both.json set $case codes 70 3
fp diff a.json both.json
expect_status 1
expect_out 'codes e2m1 [16,64]: 1 of 1024 differ' 'apart from that: 3 in blocks with the other candidate' 'selection: 1 of 64 blocks'
# and 3 codes that are no candidate's are no flip
dumps a.json wrong.json step $case codes 3 1
fp diff a.json wrong.json
expect_status 1
expect_out 'codes: 3 of 1024 differ'
expect_no_out 'selection'

# a tile flips as one
tile=four-over-six/torchao/mae/16x16/f32/four-ties/32x64/s0
fp run --case $tile --backend ref --bytes all --stages -o tile-stages.json
fp run --case $tile --backend ref --bytes all --no-stages -o tile.json
flip tile.json tile-stages.json tile-flip.json 16 1 0
fp diff tile.json tile-flip.json
expect_status 1
expect_out 'differs: 1 selection flip in 8 blocks' 'row 16, block 1: A took' 'block-scale e4m3 [32,4]: of 128: 16 in blocks with the other candidate'

# so does a block of the transposed output, which chooses on its own
both=four-over-six/te/mse/1x16/both/bf16/normal/32x48/s0
fp run --case $both --backend ref --bytes all --stages -o both-stages.json
fp run --case $both --backend ref --bytes all --no-stages -o both.json
flip both.json both-stages.json both-flip.json 5 1 0 .t
fp diff --json report.json both.json both-flip.json
expect_status 1
expect_out 'differs: 1 selection flip in 192 blocks' 'transposed row 5, block 1: A took' \
    'block-scale.t e4m3 [48,2]: of 96: 1 in a block with the other candidate'
expect_no_out 'block-scale e4m3'
has report.json '"transposed":true,"row":5,"block":1'

# NaN policy: the same cases under both, as two backends would give them
propagated() { # KNOBS TAIL: drop.json and propagate.json
    fp run --case "four-over-six/torchao/$1/$2" --backend ref --bytes all -o drop.json
    fp run --case "four-over-six/torchao/$1/nan-propagate/$2" --backend ref --bytes all -o named.json
    sed 's:/nan-propagate::' named.json >propagate.json
}
for case in mae/1x16:bf16/four-special/16x64/s0 mse/16x16:f32/naninf4/32x64/s0 mae/1x16:bf16/nan/16x64/s0 \
    mae/1x16/amax-row:bf16/naninf/16x64/s0 mae/1x16:f32/amaxnan/16x64/s0; do
    propagated "${case%%:*}" "${case#*:}"
    fp diff drop.json propagate.json
    expect_status 1
    expect_out 'differs: NaN policy: B propagates NaN, A drops it, in ' ': --nan=equal accepts that' \
        'blocks B propagates NaN to the scale, A leaves it out'
    expect_no_out ' differ (' 'selection flip'
    fp diff --nan equal propagate.json drop.json
    expect_status 0
    expect_out 'rule  bit-exact; any NaN equals any NaN' '1 case passed only so'
    expect_last_line out '1 case compared: 1 equal'
done
# the codes of a NaN scale come from payloads: another machine has others
propagated mae/1x16 bf16/four-special/16x64/s0
case=four-over-six/torchao/mae/1x16/bf16/four-special/16x64/s0
dumps propagate.json payload.json set $case codes 0 4 set $case codes 5 b
fp diff propagate.json payload.json
expect_status 1
expect_out 'NaN policy: in 1 of 64 blocks both scales are NaN' 'codes e2m1 [16,64]: of 1024: 2 by NaN policy'
fp diff --nan equal propagate.json payload.json
expect_status 0
# a wrong code in a block without NaN is none of that
dumps propagate.json code.json set $case codes 33 5
fp diff drop.json code.json
expect_status 1
expect_out 'codes e2m1 [16,64]: 1 of 1024 differ' 'NaN policy: in 32 of 64 blocks'
fp diff --nan equal drop.json code.json
expect_status 1

# what is not defined
refused() { # CASE TEXT
    fp run --case "$1" --backend ref -o none.json
    expect_trouble "$2"
    expect_no_file none.json
}
refused four-over-six/torchao/mae/1x16/bf16/normal/32x24/s0 'multiple of 16 columns'
refused four-over-six/torchao/mae/16x16/amax-row/bf16/normal/32x32/s0 'excludes 16x16'
refused four-over-six/te/mae/16x16/col/bf16/normal/32x32/s0 'rowwise output only'
refused four-over-six/torchao/mea/1x16/bf16/normal/32x32/s0 "did you mean 'mae'"
refused four-over-six/torchao/mae/1x16/bound-384/bf16/normal/32x32/s0 'unknown knob'
refused gemm/torchao/quantized/amax-row/bf16/normal/128x128x128/s0 'row'
refused gemm/torchao/quantized/bf16/normal/100x128x128/s0 '128'
refused gemm/torchao/backwards/bf16/normal/128x128x128/s0 'unknown knob'
refused gemm/te-ref/dequantized/bf16/normal/128x128x128/s0 'product alone'
refused gemm/te-ref/product/f32/normal/16x32/s0 'write MxNxK'

# gemm: every mode runs, and two runs agree
fp run --suite default --op gemm --backend ref -o gemm.json
expect_status 0
expect_out '0 skipped, 0 error'
fp run --suite default --op gemm --backend ref -o again.json
expect_same_dump gemm.json again.json
