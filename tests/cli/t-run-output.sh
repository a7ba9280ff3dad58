#!/bin/bash
# run: where the dump goes, what happens when it cannot, and which bytes it keeps.
. "$FP4_SRCDIR/tests/cli/lib.sh"

# to standard output: the dump alone, the table goes to stderr
fp run --suite smoke --backend ref -o a.json
fp run --suite smoke --backend ref -o -
expect_status 0
expect_same_dump a.json out
expect_err 'cases: '
"$FP4CHECK" run -q --suite smoke --backend ref -o - | "$FP4CHECK" diff -q - a.json >out 2>err
expect_equal "${PIPESTATUS[*]}" '0 0' 'exit statuses of the pipe'
fp run --suite smoke --op philox -o /dev/null
expect_status 0
expect_no_file /dev/null.partial

# nowhere to write: said before anything runs
fp run --suite smoke -o missing/folder/x.json
expect_trouble 'missing/folder/x.json' 'No such file or directory'
expect_no_file missing
fp run --suite smoke -o .
expect_trouble "'.'" 'directory'
echo text >file
fp run --suite smoke -o file/x.json
expect_trouble 'file/x.json' 'Not a directory'
if [ "$(id -u)" != 0 ]; then
    mkdir locked
    chmod 555 locked
    fp run --suite smoke -o locked/x.json
    expect_trouble 'locked/x.json' 'Permission denied'
fi

# a full disk: no dump, no remains, and the old dump stays
fp run --suite smoke -o /dev/full
expect_trouble '/dev/full' 'No space left on device'
expect_no_err .partial
ran='fp4check run -o - to a full device'
"$FP4CHECK" run -q --suite smoke -o - >/dev/full 2>err
expect_equal $? 2 'exit status'
expect_err 'No space left on device'
"$FP4CHECK" list suites >/dev/full 2>err
expect_equal $? 2 'exit status of list'
expect_err 'standard output'
fp run --suite smoke --op philox --backend ref -o old.json
cp old.json kept.json
(
    trap '' XFSZ # a write beyond the limit fails, as one to a full disk does
    ulimit -f 32
    exec "$FP4CHECK" run --suite smoke --backend ref --bytes all --stages -o old.json >limit.out 2>limit.err
)
status=$?
ran='fp4check run with no room for the dump'
expect_status 2
expect_empty limit.out
has limit.err 'old.json'
has limit.err 'File too large'
lacks limit.err 'resume'
expect_no_file old.json.partial
expect_same old.json kept.json

# a link stays one
mkdir folder
ln -s folder/real.json link.json
fp run --suite smoke --backend ref -o folder/real.json
fp run --suite smoke --op philox --backend ref -o link.json
[ -L link.json ] || problem 'link.json is no link any more'
expect_same_dump folder/real.json kept.json

# kept bytes
fp run --suite smoke --backend ref --bytes none -o none.json
fp run --suite smoke --backend ref --bytes 64 -o small.json
fp run --suite smoke --backend ref --bytes all --stages -o all.json
fp run --suite smoke --backend ref --bytes all -o outputs.json
fp run --suite smoke --backend ref --no-stages -o nostages.json
fp run --suite smoke --backend ref --bytes 4096 -o 4096.json
expect_same_dump a.json 4096.json
fp run --case quantize/te/rn/1x16/bf16/normal/512x512/s0 --backend ref --bytes all -o large.json
python <<'P'
import base64, dumps

SIZE = dict(dumps.SIZES, e2m1=0.5)

def tensors(path):
    for c in dumps.load(path)["cases"]:
        assert all("base64" not in t and "zstd" not in t for t in c["inputs"]), "inputs are made anew, never kept"
        for r in c["results"]:
            for t in r["tensors"]:
                n = SIZE[t["dtype"]]
                for d in t["shape"]:
                    n *= d
                yield c["case"], t, int(n)

def check(path, outputs, stages):
    kept = 0
    for name, t, size in tensors(path):
        wanted = size <= (stages if t["role"] == "stage" else outputs)
        assert ("base64" in t or "zstd" in t) == wanted, (path, name, t["name"], size)
        kept += wanted
        if "base64" in t:
            data = base64.b64decode(t["base64"], validate=True)
            assert len(data) == size and dumps.xxh128(data) == t["xxh3"], (path, name, t["name"])
        if size > 4096:
            assert len(t["blocks"]) == (size + 4095) // 4096
            if "base64" in t:
                assert t["blocks"] == [dumps.xxh64(data[i:i + 4096]) for i in range(0, size, 4096)]
        else:
            assert "blocks" not in t
    return kept

ALL = 1 << 60
assert check("a.json", 4096, -1) > 0
assert check("none.json", -1, -1) == 0
assert check("small.json", 64, -1) > 0
assert check("all.json", ALL, ALL) > check("outputs.json", ALL, -1) > 0
assert all(t["role"] == "output" for _, t, _ in tensors("nostages.json"))
assert any(t["role"] == "stage" for _, t, _ in tensors("a.json"))
# digests do not depend on what is kept
digests = [[(n, t["name"], t["xxh3"]) for n, t, _ in tensors(p)] for p in ("a.json", "none.json", "small.json", "all.json")]
assert all(d == digests[0] for d in digests)
# what is large is packed
packed = {t["name"]: "zstd" in t for _, t, _ in tensors("large.json") if t["role"] == "output"}
assert packed == {"amax": False, "block-scale": False, "codes": True}, packed
try:
    import subprocess
    for _, t, size in tensors("large.json"):
        if "zstd" in t:
            raw = subprocess.run(["zstd", "-dc"], input=base64.b64decode(t["zstd"], validate=True), stdout=subprocess.PIPE, check=True).stdout
            assert len(raw) == size and dumps.xxh128(raw) == t["xxh3"]
except FileNotFoundError:
    pass
P
for other in none small all outputs; do # any of them against any: digests decide
    fp diff -q a.json $other.json
    expect_status 0
done
fp diff -q a.json nostages.json # only outputs are in both
expect_status 0
