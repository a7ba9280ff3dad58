#!/bin/bash
# --input: a user's tensors from a safetensors file, and what is wrong with one.
. "$FP4_SRCDIR/tests/cli/lib.sh"

cat >st.py <<'P'
import json, random, struct

def tensors():
    r = random.Random(7)
    x = [r.gauss(0, 1) for _ in range(32 * 64)]
    return {
        "w.f32": ("F32", [32, 64], struct.pack("<2048f", *x)),
        "w.f16": ("F16", [32, 64], struct.pack("<2048e", *x)),
        "w.bf16": ("BF16", [2, 16, 64], b"".join(struct.pack("<f", v)[2:] for v in x)),
        "bias": ("F32", [48], struct.pack("<48f", *x[:48])),
        "ids": ("I64", [3], bytes(24)),
    }

def header(tensors):
    h, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        h[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    return h

def write(path, tensors, h=None, text=None, length=None, tail=b""):
    text = text if text is not None else json.dumps(h or header(tensors)).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text) if length is None else length) + text + b"".join(t[2] for t in tensors.values()) + tail)
P
PYTHONPATH=. python3 -c 'import st; t = st.tensors(); st.write("m.safetensors", t)
h = dict(__metadata__={"format": "pt"}, **st.header(t)); st.write("other-name.safetensors", t, h)'

# the cases: named after the bytes, whatever the file is called
fp list --input m.safetensors
expect_status 0
cp out names
for want in 'quantize/te/rn/1x16/both/f32/file-[0-9a-f]{16}/32x64/s0' 'quantize/te/rn/1x16/both/f16/file-[0-9a-f]{16}/32x64/s0' \
    'quantize/te/rn/1x16/both/bf16/file-[0-9a-f]{16}/32x64/s0' 'quantize/te/rn/1x16/f32/file-[0-9a-f]{16}/1x48/s0' \
    'rht-quantize/te/rn/bf16/file-[0-9a-f]{16}/32x64/s0'; do
    matches names "$want"
done
expect_err "'ids'" "'bias'" # left out, and said so
fp list --input other-name.safetensors
expect_same out names
fp list --input m.safetensors:w.bf16
expect_equal "$(wc -l <out)" 2 'cases of one tensor'
fp list data --input m.safetensors
expect_out "tensor 'w.f32'" "tensor 'w.f16'" "tensor 'w.bf16'" "tensor 'bias'"
fp list --input m.safetensors --suite input --op quantize
expect_status 0
[ "$(wc -l <out)" -gt 10 ] || problem 'suite input is small'
expect_equal "$(grep -vc /file- out)" 0 'cases of suite input that are not of the file'

# reproducible
fp run --input m.safetensors --backend ref --bytes all -o a.json
expect_status 0
expect_out "$(wc -l <names) cases: $(wc -l <names) ok"
fp run --input other-name.safetensors --backend ref --bytes all --jobs 1 -o b.json
expect_same_dump a.json b.json
fp diff a.json b.json
expect_status 0
fp verify a.json --backend ref --input m.safetensors
expect_status 0
expect_last_line out "$(wc -l <names) cases compared: $(wc -l <names) equal"
# the bytes that went in are those of the file
python <<'P'
import sys
sys.path.insert(0, ".")
import dumps, st
t = st.tensors()
have = {x["xxh3"] for c in dumps.load("a.json")["cases"] for x in c["inputs"] if x["name"] == "x"}
for name in ("w.f32", "w.f16", "w.bf16", "bias"):
    assert dumps.xxh128(t[name][2]) in have, name
P

# a difference is explained when the file is given, and says that it is needed when it is not
case=$(grep '^quantize/.*/f32/file-.*/32x64/' names)
dumps a.json changed.json set "$case" codes 67 5 backend sm100
fp diff a.json changed.json
expect_status 1
expect_out 'codes: 1 of 2048 differ' "${case#*/f32/}"
expect_out 'no input values: ' '--input'
fp diff --input m.safetensors a.json changed.json
expect_status 1
expect_no_out 'no input values'
matches out ' *row  col  block  nibble  input +block amax +scale +scaled +A +B +ref'
matches out ' *1    3    0      3 .* 3 \(0x5\) .*'
again=$(command_again out)
case $again in *"--input FILE.safetensors"*) ;; *) problem "the command does not ask for the file: $again" ;; esac
again=${again/FILE.safetensors/m.safetensors}
again=${again/--backend sm100/--backend ref} # not on this machine
(fp4check() { "$FP4CHECK" "$@"; } && eval "$again") >again.out 2>again.err || problem "'$again' failed: $(cat again.err)"
expect_equal "$(grep '^{"case"' again.json | sed 's/,$//')" "$(grep -F "\"$case\"" a.json | sed 's/,$//')" 'its case'
# changed in one weight: another name, so nothing in common
PYTHONPATH=. python3 -c 'import st; t = st.tensors(); d = bytearray(t["w.f32"][2]); d[0] ^= 1; t["w.f32"] = t["w.f32"][:2] + (bytes(d),)
st.write("nudged.safetensors", t)'
fp run --input nudged.safetensors:w.f32 --op quantize --suite input --backend ref -o nudged.json
expect_status 0
fp diff a.json nudged.json
expect_trouble 'no case in common'

# a case by its name needs the file
fp show --input m.safetensors "$case"
expect_status 0
expect_out 'x  input f32 [32,64]'
fp show "$case"
expect_trouble '--input'
fp verify a.json --backend ref
expect_status 1
expect_out '--input'
fp run --case "$case" --backend ref -o x.json
expect_status 1
expect_err '--input'
fp run --suite input -o y.json
expect_trouble '--input'

# a broken file: the file, the tensor and the field are named
PYTHONPATH=. python3 <<'P'
import copy, json, st
t = st.tensors()
h = st.header(t)

def broken(name, change=None, **how):
    g = copy.deepcopy(h)
    if change:
        change(g)
    st.write("bad-%s.safetensors" % name, t, g, **how)

broken("dtype", lambda g: g["w.f32"].update(dtype=32))
broken("size", lambda g: g["w.f32"].update(shape=[32, 65]))
broken("shape", lambda g: g["w.f16"].update(shape=[32, -64]))
broken("huge", lambda g: g["w.f16"].update(shape=[1 << 40, 1 << 40]))
broken("overlap", lambda g: g["w.f16"].update(data_offsets=[8190, 12286]))
broken("beyond", lambda g: g["ids"].update(data_offsets=[20000, 20024]))
broken("backwards", lambda g: g["ids"].update(data_offsets=[24, 0]))
broken("missing", lambda g: g["ids"].pop("shape"))
broken("extra", lambda g: g["ids"].update(colour="red"))
broken("meta", lambda g: g.update(__metadata__={"a": 1}))
broken("tail", tail=b"more")
broken("json", text=b'{"w": {"dtype": "F32", ')
broken("twice", text=b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}')
broken("array", text=b"[]")
broken("length", length=1 << 60)
broken("short", length=10**6)
open("bad-empty.safetensors", "wb").close()
open("bad-tiny.safetensors", "wb").write(b"\x10\0\0")
P
bad() { # NAME TEXT...
    local file=bad-$1.safetensors
    shift
    fp run --input "$file" -o x.json
    expect_trouble "$file" "$@"
    expect_no_file x.json.partial
}
rm -f x.json
bad dtype "'w.f32'" dtype
bad size "'w.f32'" data_offsets
bad shape "'w.f16'" shape
bad huge "'w.f16'" shape
bad overlap "'w.f16'" data_offsets
bad beyond data_offsets
bad backwards "'ids'" data_offsets
bad missing "'ids'" shape
bad extra "'ids'" colour
bad meta __metadata__
bad tail bytes
bad json header
bad twice "w"
bad array object
bad length header
bad short
bad empty
bad tiny
bad nowhere 'No such file'
expect_no_file x.json
fp run --input m.safetensors:nope -o x.json
expect_trouble "m.safetensors" "'nope'"
fp run --input m.safetensors:ids -o x.json
expect_trouble "'ids'" I64
fp run --input . -o x.json
expect_trouble "'.'"
fp diff --input bad-json.safetensors a.json b.json
expect_trouble 'bad-json.safetensors'
fp verify --input bad-json.safetensors a.json
expect_trouble 'bad-json.safetensors'
