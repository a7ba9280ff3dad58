#!/bin/bash
# run --suite FILE.json: a user's own suite, and what is wrong with one.
. "$FP4_SRCDIR/tests/cli/lib.sh"

cat >mine.json <<'J'
{ "format": "fp4check-suite", "version": 1, "name": "mine",
  "cases": [
    "philox/te/u32/kat/16x16/s0",
    "quantize/te/rn/1x16/bf16/ties/16x64/s3",
    "swizzle/te/e4m3/coords/*",
    { "op": "quantize", "recipe": ["te", "torchao"], "knobs": { "round": ["rn", "sr"], "block": "1x16" }, "dtype": "bf16",
      "data": ["heavy", "ties"], "shape": ["16x32", "48x80"], "seed": [0, 7] }
  ] }
J
fp list --suite mine.json
expect_status 0
cp out names
expect_equal "$(sort -u names | wc -l)" "$(wc -l <names)" 'different names'
for name in philox/te/u32/kat/16x16/s0 quantize/te/rn/1x16/bf16/ties/16x64/s3 quantize/te/sr/1x16/bf16/heavy/48x80/s7 \
    quantize/torchao/rn/1x16/bf16/ties/16x32/s0; do
    matches names "$name"
done
expect_equal "$(sed -n 1,2p names | tr '\n' ' ')" 'philox/te/u32/kat/16x16/s0 quantize/te/rn/1x16/bf16/ties/16x64/s3 '
fp list --suite default --case 'swizzle/te/e4m3/coords/*'
expect_equal "$(grep -c '^swizzle/te/e4m3/coords/' names)" "$(wc -l <out)" 'cases of the pattern'

fp run --suite mine.json --backend ref -o a.json
expect_status 0
grep -o '^{"case":"[^"]*"' a.json | cut -d'"' -f4 >in-dump
expect_same in-dump names
has a.json '"suite":"mine.json"'
fp run --suite ./mine.json --shard 2/3 --backend ref -o part.json
expect_status 0
fp run --suite mine.json --op philox --case 'quantize/torchao/*' --backend ref -o x.json
expect_trouble # nothing is both
fp verify --backend ref a.json
expect_status 0

bad() { # 'TEXT|TEXT...' JSON
    local texts
    IFS='|' read -r -a texts <<<"$1"
    echo "$2" >bad.json
    fp run --suite bad.json -o x.json
    expect_trouble "'bad.json'" "${texts[@]}"
    expect_no_file x.json x.json.partial
}
head='"format": "fp4check-suite", "version": 1, "name": "bad"'
bad 'line ' '{'
bad 'object' '[]'
bad "'format'" '{"version": 1, "name": "x", "cases": ["philox/te/u32/kat/16x16/s0"]}'
bad "'version'" '{"format": "fp4check-suite", "version": 2, "name": "x", "cases": ["philox/te/u32/kat/16x16/s0"]}'
bad "'cases'" "{$head}"
bad "'cases'" "{$head, \"cases\": []}"
bad "'colour'" "{$head, \"colour\": 1, \"cases\": [\"philox/te/u32/kat/16x16/s0\"]}"
bad "unknown data 'tis'" "{$head, \"cases\": [\"quantize/te/rn/1x16/bf16/tis/32x64/s0\"]}"
bad "nothing/*" "{$head, \"cases\": [\"nothing/*\"]}"
bad "'op'" "{$head, \"cases\": [{\"data\": \"ties\", \"shape\": \"16x16\"}]}"
bad "'data'" "{$head, \"cases\": [{\"op\": \"quantize\", \"shape\": \"16x16\"}]}"
bad "'shape'" "{$head, \"cases\": [{\"op\": \"quantize\", \"data\": \"ties\", \"shape\": \"16\"}]}"
bad "'knobs'|colour" "{$head, \"cases\": [{\"op\": \"quantize\", \"data\": \"ties\", \"shape\": \"16x16\", \"knobs\": {\"colour\": \"red\"}}]}"
bad "knobs.round" "{$head, \"cases\": [{\"op\": \"quantize\", \"data\": \"ties\", \"shape\": \"16x16\", \"knobs\": {\"round\": \"1x16\"}}]}"
bad "seed" "{$head, \"cases\": [{\"op\": \"quantize\", \"data\": \"ties\", \"shape\": \"16x16\", \"seed\": -1}]}"
bad "no combination is defined" "{$head, \"cases\": [{\"op\": \"quantize\", \"recipe\": \"te-fast\", \"dtype\": \"f32\", \"data\": \"heavy\", \"shape\": \"16x16\"}]}"
bad 'line 1' "{$head, $head, \"cases\": [\"philox/te/u32/kat/16x16/s0\"]}"
bad 'line' "{$head, \"cases\": [\"philox/te/u32/kat/16x16/s0\"]} more"
