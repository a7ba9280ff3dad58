#!/bin/bash
# probe: every rs-model is recovered, and random permutations of the 32 bits; a profile says what is known of the reference; files of
# measured models go through run, verify, diff, show and explain; profiles in dumps.
. "$FP4_SRCDIR/tests/cli/lib.sh"

# the reference, as numerics.md describes it
fp probe ref
expect_status 0
expect_empty err
while IFS='|' read -r key value; do
    has out "  $(printf '%-20s' "$key") $value"
done <<'T'
packing|element i in nibble i
ties|even
rounded first|no: one ulp above a midpoint goes up
nan|code 7 for both signs and every payload
minus zero|kept (code 8), of tiny negatives too
saturation|7, 100 and Inf give 6 (code 7), -Inf -6 (code f)
nibble 1|bits 7 6 5 4 3 2 1 0 (weight 1 first)
rule|trunc
rs-model|b300
check|0 of 16384 conversions of random words differ from the model
order|amax * (S * (1/6))
rounding|nearest even
elements|1 / (scale * (1/S)) * x
zero block|scale 00, codes 0 0
block with Inf|scale 7e, codes 7 0
above 448 * 6|scale 7e, codes 7 0
smallest scale 2^-9|scale 01, codes 7 0
amax with a NaN|the NaN is dropped
counter|{offset, subsequence}
rounds|10
carry|the whole counter
offset|in words of 32 bits
quantize row|tuned
quantize f32|vector
quantize 16x16|2d
rht col|rht-col; half of the rows alone draws other words
sum-tc|tensor core: products cut at 2^(Emax-25), exact sum, toward zero
sum-seq|in order, nearest even
sum-exact|one rounding of the exact sum
rcp-approx|the table of an H200
T

# every model, named or not
"$FP4CHECK" list rs-models | awk 'NR > 1 { print $1 }' >models
[ "$(wc -l <models)" -gt 15 ] || problem 'too few models'
while read -r model; do
    fp probe ref --rs-model "$model"
    expect_status 0
    matches out "  rs-model +${model//+/\\+}"
    has out '0 of 16384 conversions'
    expect_no_out 'none that is known'
done <models

# random permutations, made up here, with every rule; one with shared and missing bits
python <<'P'
import json, random
rules = ["trunc", "half", "half-old", "fma-floor"]
for i in range(6):
    r = random.Random(1000 + i)
    bits = list(range(32))
    r.shuffle(bits)
    lanes = [bits[8 * k:8 * k + 8] for k in range(4)]
    if i == 5:
        lanes = [lanes[0], lanes[0], lanes[1][:5] + [None] * 3, lanes[3]]
    json.dump({"format": "fp4check-rs-model", "version": 1, "rule": rules[i % 4], "map": lanes}, open("random%d.json" % i, "w"))
P
for i in 0 1 2 3 4 5; do
    fp probe ref --rs-model random$i.json -o profile$i.json --save-rs-model found$i.json
    expect_status 0
    has out 'none that has a name: the measured map is rs-file-'
    has out '0 of 16384 conversions'
    expect_no_out 'none that is known'
done
python <<'P'
import json
for i in range(6):
    want, got, profile = (json.load(open("%s%d.json" % (n, i))) for n in ("random", "found", "profile"))
    assert want["map"] == got["map"] and want["rule"] == got["rule"], (i, got)
    assert profile["map"] == want["map"] and profile["rule"] == want["rule"] and profile["rs_model"].startswith("rs-file-"), i
P
# what has a name is called by it, wherever it comes from
fp probe ref --rs-model te-soft --save-rs-model te.json
fp probe ref --rs-model te.json
matches out '  rs-model +te-soft'

# JSON, and the same twice
fp probe ref --json
expect_status 0
cp out one.json
fp probe ref --json
expect_same one.json out
python <<'P'
import json
d = json.load(open("one.json"))
assert d["format"] == "fp4check-profile" and d["rs_model"] == "b300" and d["rule"] == "trunc"
assert d["map"][0] == list(range(16, 24)) and d["findings"]["cvt-rn.ties"] == "even"
P

# a measured model in run, and the names of its cases in the other commands
case='cvt-rs/ptx/b300/f32/normal/64x128/s0'
fp run -q --case $case --case quantize/te/sr/1x16/bf16/normal/32x64/s0 --backend ref --rs-model random0.json --bytes all -o measured.json
expect_status 0
name=$(grep -o 'cvt-rs/ptx/rs-file-[0-9a-f]*/f32/normal/64x128/s0' measured.json)
[ -n "$name" ] || problem 'no case of the measured model'
grep -q 'quantize/te/sr/1x16/rs-file-' measured.json || problem 'no quantizer of the measured model'
fp verify --backend ref measured.json
expect_status 1
expect_out 'give its file with --rs-model FILE'
fp verify --backend ref --rs-model random0.json measured.json
expect_status 0
expect_last_line out '2 cases compared: 2 equal'
fp diff --rs-model random0.json measured.json measured.json
expect_status 0
fp show --rs-model random0.json "$name"
expect_status 0
fp explain --rs-model random0.json --at 0,1 "$name"
expect_status 0
has out 'nibble 1 takes bits '
fp explain --at 0,1 "$name"
expect_trouble 'give its file with --rs-model FILE'
fp run -q --suite smoke --op cvt-rs --rs-model straight --backend ref -o straight.json
expect_status 0
lacks straight.json '/b300/'
fp run -q --op cvt-rs --suite smoke --rs-model random0.json --backend soft -o soft.json # kernels have templates for maps, not tables
expect_status 2

# a profile is part of a dump, the same each time, and may be left out
fp run -q --case $case --backend ref -o a.json
fp run -q --case $case --backend ref -o b.json
expect_same_dump a.json b.json
matches a.json '"profiles":\{"ref":\{"cvt-rn.packing":"element i in nibble i",.*"cvt-rs.rs-model":"b300".*\}\},'
fp run -q --case $case --backend ref --no-profile -o c.json
lacks c.json '"profiles"'
fp diff a.json c.json
expect_status 0
fp bless -q -m 'a reason' a.json golden.json
has golden.json '"profiles":{"ref":{"cvt-rn.packing":"element i in nibble i"'

# a process of its own gets the made inputs, and the file
faulty=$(dirname "$FP4CHECK")/tests/fp4check-faulty
if [ -x "$faulty" ]; then
    "$faulty" probe faulty-none --rs-model random0.json >isolated 2>err || problem "the isolated backend cannot be probed: $(cat err)"
    sed -n '/^scale/,/^$/p' isolated >isolated-scale
    fp probe ref
    sed -n '/^scale/,/^$/p' out >ref-scale
    expect_same isolated-scale ref-scale
    matches isolated '  rs-model +rs-file-[0-9a-f]* \(by a quantizer.s codes\)'
    "$faulty" probe faulty-zero >zero 2>err && problem 'a backend that fails its canary is probed'
    has err 'canary'
fi

# mistakes
fp probe
expect_trouble 'one backend'
fp probe nobody
expect_trouble "unknown backend 'nobody'"
fp probe ref --rs-model nobody
expect_trouble "no rs-model 'nobody'"
fp probe ref --rs-model ./missing.json
expect_trouble 'missing.json: cannot read'
echo '{"format":"fp4check-rs-model","version":1,"rule":"trunc","map":[]}' >bad.json
fp run --rs-model bad.json --op cvt-rs --suite smoke -o x.json
expect_trouble "bad.json: field 'map' is not an array of 4"
fp run --case 'cvt-rs/ptx/b300/f32/made/64x4/s0' --backend ref -o x.json
expect_status 1
expect_err "made by a command such as probe"
fp probe ref --rs-model hash32 --save-rs-model x.json
expect_status 2
expect_err 'no rule with a map of bits'
