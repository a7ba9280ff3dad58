#!/bin/bash
# diff --statistical: other random bits pass as what they are, a biased rule, a stream that comes again and everything that is no draw
# do not; verify asks for other draws.
. "$FP4_SRCDIR/tests/cli/lib.sh"
q=quantize/te/sr/1x16

# as MODEL FROM TO: the cases of FROM computed with another rs-model, under the names of the default one
as() { # MODEL FILE CASE...
    local model=$1 file=$2
    shift 2
    fp run -q --no-profile --rs-model "$model" --backend ref --bytes all "${@/#/--case=}" -o model.json
    expect_status 0
    python "$model" "$file" <<'P'
import sys, dumps
model, path = sys.argv[1:]
d = dumps.load("model.json")
for c in d["cases"]:
    c["case"] = c["case"].replace("/%s/" % model, "/b300/" if c["case"].split("/")[0] not in ("quantize", "rht-quantize") else "/")
dumps.save(d, path)
P
}
cases=("$q/bf16/normal/64x128/s0" "$q/both/bf16/uniform/64x64/s0" rht-quantize/te/sr/bf16/normal/64x128/s0 rht-quantize/te/sr/both/kernel-unfused/bf16/normal/64x128/s0
    cvt-rs/ptx/b300/f32/normal/64x128/s0
    sr-bf16x4/te/b300/bf16/normal/1792x4/s0)
fp run -q --no-profile --backend ref --bytes all "${cases[@]/#/--case=}" -o b300.json
as straight straight.json "${cases[@]}"

# other bits: bit for bit they differ, as draws they are alike
fp diff b300.json straight.json
expect_status 1
fp diff --statistical b300.json straight.json
expect_status 0
expect_last_line out "${#cases[@]} cases compared: ${#cases[@]} within tolerance"
expect_out 'stochastic codes as draws of exact probabilities, error rate 0.001 for all cases together' \
    'codes pass as two honest draws' 'statistics of A: ' 'statistics of B: ' ' draws, bias ' ' steps (' ' would be found), ' 'smallest p '
expect_no_out '%'
fp diff --statistical b300.json b300.json
expect_status 0
expect_last_line out "${#cases[@]} cases compared: ${#cases[@]} equal"
fp diff --statistical --error-rate 1e-9 --json - b300.json straight.json
expect_status 0
python <<'P'
import json
d = json.load(open("out"))
s = d["sections"][0]
assert s["rule"]["statistical"]["error_rate"] == 1e-9, s["rule"]
for c in s["cases"]:
    for side in "ab":
        t = c["statistics"][side]
        assert not t["fails"] and t["draws"] > 1000 and t["tests"] > 50 and t["impossible"] == 0, (c["case"], t)
        assert t["detectable_bias"] > t["bias_margin"] > abs(t["bias"]), t
        assert t["threshold"] < 1e-9 / 50, t
        if c["case"].startswith("quantize/te/sr/1x16/both"): # both directions, and other draws of a backend of this build
            assert 320 < t["tests"] < 640, t["tests"]
P

# a rule that is biased: half where its extra bit shows, half-old where all values have eight bits
wide=$q/f32/normal/512x1024/s0
fp run -q --no-profile --backend ref --bytes all --case $wide -o wide.json
as half+b300 half.json $wide
fp diff --statistical wide.json half.json
expect_status 1
expect_out 'statistics of B: ' 'codes that no random bits give' 'rule half explains it'
point=$q/bf16/midpoint/1024x1024/s0
fp run -q --no-profile --backend ref --bytes all --case $point -o point.json
as straight point-straight.json $point
fp diff --statistical point.json point-straight.json
expect_status 0
as half-old+b300 old.json $point
fp diff --statistical --error-rate 0.01 point.json old.json
expect_status 1
expect_out 'rule half-old explains it'

# a scale or an amax that differs is no matter of chance; nor is a code two steps away
case=$q/bf16/normal/64x128/s0
dumps b300.json scale.json keep $case set $case block-scale 3 1
fp diff --statistical b300.json scale.json
expect_out 'block-scale: 1 of 512 differ'
dumps straight.json two.json keep $case
python <<'P'
import base64, dumps
d = dumps.load("two.json")
for t in d["cases"][0]["results"][0]["tensors"]:
    if t["name"] == "codes":
        b = bytearray(base64.b64decode(t["base64"]))
        b[5] ^= 0x44
        t["base64"] = base64.b64encode(b).decode()
        t["xxh3"] = dumps.xxh128(bytes(b))
        t.pop("blocks", None)
dumps.save(d, "two.json")
P
fp diff --statistical --case $case b300.json two.json
expect_status 1
expect_out 'codes that no random bits give, first at row 0, column 1'

# a stream that comes again: every line with the words of the first
fp run -q --no-profile --backend ref --bytes all --case $q/bf16/midpoint/64x128/s0 -o again.json
python <<'P'
import base64, dumps
d = dumps.load("again.json")
d["cases"][0]["results"][0]["tensors"] = [t for t in d["cases"][0]["results"][0]["tensors"] if t["role"] == "output"]
for t in d["cases"][0]["results"][0]["tensors"]:
    if t["name"] == "codes":
        b = bytearray(base64.b64decode(t["base64"]))
        b = b[:64 * 8] + b[64 * 4:64 * 8] * 14
        t["base64"] = base64.b64encode(b).decode()
        t["xxh3"] = dumps.xxh128(bytes(b))
        t.pop("blocks", None)
dumps.save(d, "lines.json")
P
fp diff --statistical again.json lines.json
expect_status 1
expect_out 'lines apart'

# two seeds of one case that draw the same words: as if the seed were ignored
two=("$q/bf16/normal/64x128/s0" "$q/bf16/normal/64x128/s1")
fp run -q --no-profile --backend ref --bytes all --stages "${two[@]/#/--case=}" -o seeds.json
as straight seeds-straight.json "${two[@]}"
fp diff --statistical seeds.json seeds-straight.json
expect_status 0
python <<'P'
import base64, struct, dumps
d = dumps.load("seeds.json")
a, b = d["cases"]
def data(c, name):
    t = [t for t in c["results"][0]["tensors"] if t["name"] == name][0]
    return t, base64.b64decode(t["base64"])
words = struct.unpack("<%dI" % 2048, data(a, "random")[1]) # of the other seed
scaled = struct.unpack("<%df" % 8192, data(b, "scaled")[1])
grid = [0, .5, 1, 1.5, 2, 3, 4, 6]
def code(y, byte):
    m = abs(y)
    sign = 8 if struct.pack("<f", y)[3] & 128 else 0
    if m >= 6:
        return 7 | sign
    c = max(i for i in range(7) if m >= grid[i])
    n = int(256 * (m - grid[c]) / (grid[c + 1] - grid[c]))
    return (c + (n + byte >= 256)) | sign
codes = [code(y, words[i // 4] >> 8 * (i % 4) & 255) for i, y in enumerate(scaled)]
t, _ = data(b, "codes")
raw = bytes(codes[2 * i] | codes[2 * i + 1] << 4 for i in range(4096))
t["base64"], t["xxh3"] = base64.b64encode(raw).decode(), dumps.xxh128(raw)
# and A's with the same map, so that only the words can matter
ca = [code(y, words[i // 4] >> 8 * (i % 4) & 255) for i, y in enumerate(struct.unpack("<8192f", data(a, "scaled")[1]))]
t, _ = data(a, "codes")
raw = bytes(ca[2 * i] | ca[2 * i + 1] << 4 for i in range(4096))
t["base64"], t["xxh3"] = base64.b64encode(raw).decode(), dumps.xxh128(raw)
for c in (a, b):
    c["results"][0]["tensors"] = [t for t in c["results"][0]["tensors"] if t["role"] == "output"]
dumps.save(d, "seed-ignored.json")
P
fp diff --statistical seeds.json seed-ignored.json
expect_status 1
expect_out 'statistics of B: draws: another seed of the case, p ' '2 cases compared: 1 within tolerance, 1 differs'

# words that are an input and no draw: nothing to test
fp run -q --no-profile --backend ref --bytes all --case cvt-rs/ptx/b300/f32/mapprobes/288x4/s0 -o probes.json
as straight probes-straight.json cvt-rs/ptx/b300/f32/mapprobes/288x4/s0
fp diff --statistical probes.json probes-straight.json
expect_status 1
expect_out 'the random words are an input and no draw: no statistics'

# bytes that are not there
fp run -q --no-profile --backend ref --bytes none --case $case -o none.json
dumps none.json foreign.json backend sm100
python <<'P'
import dumps
d = dumps.load("foreign.json")
for t in d["cases"][0]["results"][0]["tensors"]:
    if t["name"] == "codes":
        t["xxh3"] = "0" * 32
        t["blocks"] = ["0" * 16 for _ in t.get("blocks", [])] or None
        if t["blocks"] is None:
            del t["blocks"]
dumps.save(d, "foreign.json")
P
fp diff --statistical none.json foreign.json
expect_status 1
expect_out 'statistics need the codes of B, which are missing'

# verify: B is run here, and other draws of it are asked for
dumps straight.json golden.json keep $case
fp verify --statistical --backend ref golden.json
expect_status 0
expect_last_line out '1 case compared: 1 within tolerance'

# mistakes
fp diff --statistical --tolerance 1% b300.json straight.json
expect_trouble 'exclude each other'
fp diff --error-rate 0.1 b300.json straight.json
expect_trouble '--error-rate belongs to --statistical'
for rate in 0 1 -0.1 x nan 1e-30; do
    fp diff --statistical --error-rate $rate b300.json straight.json
    expect_trouble '--error-rate is a number'
done
