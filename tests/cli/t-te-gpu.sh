#!/bin/bash
# Backend `te` with the real library, where that is installed (or named by FP4CHECK_TE_LIB) and a GPU is there: every kernel that this device
# has equals the reference, and what it has not ends as it should.
. "$FP4_SRCDIR/tests/cli/lib.sh"

fp list backends
grep -q '^te  *runs here' out || skip "$(grep '^te ' out)"
grep '^te ' out

fp run --suite te --backend te --backend ref --no-stages -o te.json
expect_status 0
expect_out ' 0 error'
fp diff te.json:ref te.json:te
expect_status 0
grep -o '"path":"[^"]*"' te.json | sort | uniq -c
fp run --suite te-sm90 --op rht-quantize --backend te --backend ref -o rht.json # with the transform as a stage
expect_status 0
fp diff rht.json:ref rht.json:te
expect_status 0

# one seed more, and shapes of every remainder
fp run --suite te-sm90 --seed 4711 --backend te --backend ref --no-stages -o seed.json
expect_status 0
fp diff seed.json:ref seed.json:te
expect_status 0
python3 - <<'P'
import json
shapes = [f"{r}x{c}" for r in (2, 4, 6, 14, 16, 18, 30, 34, 46, 66, 126, 128, 130) for c in (2, 6, 14, 16, 18, 34, 62, 66, 126, 130, 258)]
cases = [{"op": "quantize", "knobs": {"round": "sr", "rs": "te-soft", "out": ["row", "col", "both"], "block": block},
          "dtype": ["f32", "bf16"], "data": "normal", "shape": shapes} for block in ("1x16", "16x16")]
json.dump({"format": "fp4check-suite", "version": 1, "name": "shapes", "cases": cases}, open("shapes.json", "w"))
P
fp run --suite shapes.json --backend te --backend ref --no-stages -o shapes.dump.json
expect_status 0
fp diff shapes.dump.json:ref shapes.dump.json:te
expect_status 0
tail -n 1 out

# before Blackwell: an exception of the library, and what its kernels print, are errors of their cases with the library's words
if grep -q 'compute capability 9' te.json; then
    export FP4CHECK_TE_TRY=1
    fp run --case quantize/te/rn/1x16/bf16/normal/64x64/s0 --case quantize/te/rn/1x16/f32/normal/48x80/s0 \
        --case quantize/te/sr/1x16/te-soft/f32/normal/48x80/s0 --backend te -o bad.json
    expect_status 1
    expect_out '3 cases: 1 ok, 0 skipped, 2 error'
    has bad.json '"reason":"Transformer Engine threw an exception: '
    has bad.json '"reason":"the library printed: '
fi
