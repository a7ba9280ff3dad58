#!/bin/bash
# diff: which files and backends are compared, and in what form a dump may come.
. "$FP4_SRCDIR/tests/cli/lib.sh"
case=quantize/te/rn/1x16/bf16/ties/16x64/s0

fp run --suite smoke --backend ref -o a.json
cases=$(grep -c '^{"case"' a.json)
all_equal="$cases cases compared: $cases equal"

# with itself; three at once
fp diff a.json a.json
expect_status 0
expect_last_line out "$all_equal"
dumps a.json b.json set $case codes 5 7
fp diff a.json a.json b.json
expect_status 1
expect_equal "$(grep -c '^rule  ' out)" 2 'comparisons'
has out "$all_equal"
expect_last_line out "$cases cases compared: $((cases - 1)) equal, 1 differs"
fp diff a.json b.json a.json
expect_status 1

# FILE:BACKEND
python <<'P'
import copy, dumps
a, b = dumps.load("a.json"), dumps.load("b.json")
a["backends"] = ["ref", "soft"]
for x, y in zip(a["cases"], b["cases"]):
    other = copy.deepcopy(y["results"][0])
    other["backend"] = "soft"
    x["results"].append(other)
dumps.save(a, "two.json")
P
dumps a.json other.json backend sm120@ptx
fp diff two.json:ref two.json:soft
expect_status 1
expect_out 'A  two.json:ref' 'B  two.json:soft' '--backend soft'
expect_last_line out "$cases cases compared: $((cases - 1)) equal, 1 differs"
fp diff two.json:ref a.json
expect_status 0
fp diff a.json two.json # the only backend of the one, the same of the other
expect_status 0
expect_out 'B  two.json:ref'
fp diff two.json two.json
expect_status 0
expect_equal "$(grep -c '^rule  ' out)" 2 'comparisons'
fp diff two.json:soft other.json
expect_status 1
fp diff a.json other.json:sm120@ptx
expect_status 0
fp diff two.json other.json
expect_trouble "'two.json' holds ref, soft" "'other.json' holds sm120@ptx"
fp diff two.json:te a.json
expect_trouble "not there" 'ref, soft'
cp a.json with:colon.json
cp a.json odd:ref
fp diff with:colon.json odd:ref # names of files come first
expect_status 0
fp diff with:colon.json:ref ./odd:ref:ref
expect_status 0

# --case
fp diff --case 'philox/*' a.json b.json
expect_status 0
matches out '6 cases compared: 6 equal'
fp diff --case 'philox/*' --case $case a.json b.json
expect_status 1
expect_last_line out '7 cases compared: 6 equal, 1 differs'

# another order of the cases, another form of the JSON
python <<'P'
import json, dumps
d = dumps.load("a.json")
json.dump(d, open("indented.json", "w"), indent=4)
json.dump(d, open("ascii.json", "w"), separators=(",", ":"))
r = dict(d, cases=d["cases"][::-1])
dumps.save(r, "reversed.json")
shuffled = {k: d[k] for k in reversed(list(d))}
shuffled["cases"] = [{k: c[k] for k in reversed(list(c))} for c in d["cases"]]
json.dump(shuffled, open("keys.json", "w"), indent="\t")
open("crlf.json", "wb").write(open("a.json", "rb").read().replace(b"\n", b"\r\n"))
P
for form in indented ascii reversed keys crlf; do
    fp diff a.json $form.json
    expect_status 0
    expect_last_line out "$all_equal"
    fp diff $form.json b.json
    expect_status 1
    expect_last_line out "$cases cases compared: $((cases - 1)) equal, 1 differs"
done

# pipes and packed files
status=0
ran='fp4check diff - a.json'
"$FP4CHECK" diff - a.json <a.json >out 2>err || status=$?
expect_status 0
expect_last_line out "$all_equal"
# shellcheck disable=SC2002 # a pipe is what is tested
cat a.json | "$FP4CHECK" diff /dev/stdin a.json >out 2>err
expect_equal "${PIPESTATUS[1]}" 0 'exit status with a pipe'
expect_last_line out "$all_equal"
fp diff <(cat a.json) <(cat b.json)
expect_status 1
expect_last_line out "$cases cases compared: $((cases - 1)) equal, 1 differs"
fp diff a.json <(:)
expect_trouble
if command -v zstd >/dev/null; then
    zstd -q a.json b.json indented.json
    fp diff a.json.zst a.json
    expect_status 0
    expect_last_line out "$all_equal"
    fp diff a.json.zst:ref b.json.zst:ref
    expect_status 1
    fp diff indented.json.zst a.json.zst
    expect_status 0
    fp diff <(cat a.json.zst) a.json
    expect_status 0
    cp a.json.zst packed # known by its first bytes
    fp diff packed a.json
    expect_status 0
    fp show --dump a.json.zst --stage codes $case
    expect_status 0
    head -c 5000 a.json.zst >cut.zst
    fp diff cut.zst a.json
    expect_trouble cut.zst
    head -c 5000 a.json | zstd -q >cut2.zst
    fp diff cut2.zst a.json
    expect_trouble cut2.zst
fi

# not whole, not a dump
head -c 5000 a.json >cut.json
fp diff cut.json a.json
expect_trouble 'cut.json: line '
fp diff a.json .
expect_trouble 'directory'
fp diff a.json /dev/null
expect_trouble '/dev/null'
fp diff "$FP4CHECK" a.json
expect_trouble "$(basename "$FP4CHECK")"
