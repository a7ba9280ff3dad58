#!/bin/bash
# diff: reports for programs: --json, --junit, --markdown, --github.
. "$FP4_SRCDIR/tests/cli/lib.sh"
case=quantize/te/rn/1x16/bf16/ties/16x64/s0

fp run --suite smoke --backend ref --bytes all -o a.json
cases=$(grep -c '^{"case"' a.json)
dumps a.json b.json backend sm100 set $case codes 5 7 input quantize/te/rn/1x16/bf16/normal/16x64/s0 x \
    drop 'swizzle/te/e4m3/coords/*' skip philox/te/u32/kat/16x16/s0 'no <curand> & "co"' error philox/te/u32/carry/16x16/s0 $'CUDA error 700: <x|y>\nline 2'

# all at once, and the same as one at a time
fp diff a.json b.json --json all.json --junit all.xml --markdown all.md
expect_status 1
expect_no_file all.json.partial all.xml.partial all.md.partial
expect_last_line out "$((cases - 4)) cases compared: $((cases - 5)) equal, 1 differs; 1 not comparable, 1 error, 1 skipped, 1 only in A"
cp out text
for form in json junit markdown; do
    fp diff a.json b.json --$form -
    expect_status 1
    expect_same err text # what people read goes to stderr then
    case $form in
    json) expect_same out all.json ;;
    junit) expect_same out all.xml ;;
    markdown) expect_same out all.md ;;
    esac
    fp diff -q a.json b.json --$form -
    expect_empty err
done
fp diff a.json b.json --json - --junit -
expect_trouble 'standard output'

# JSON: keys as documented in cli/report/report.h, in that order
python "$cases" <<'P'
import json, sys
cases = int(sys.argv[1])
text = open("all.json").read()
pairs = json.loads(text, object_pairs_hook=list)
r = json.loads(text)

def keys(of, documented, required):
    documented, required = documented.split(), required.split()
    got = list(of)
    assert set(required) <= set(got) <= set(documented), (got, documented)
    assert got == [k for k in documented if k in got], "order of the keys: %s" % got

keys(r, "format version command tool sections exit", "format version command tool sections exit")
assert (r["format"], r["version"], r["command"], r["exit"]) == ("fp4check-report", 1, "diff", 1)
assert r["tool"].startswith("fp4check ")
(s,) = r["sections"]
keys(s, "title a b rule cases totals diagnosis", "title a b rule cases totals diagnosis")
keys(s["diagnosis"], "differing considered left_out findings", "differing considered left_out findings")
(f,) = s["diagnosis"]["findings"]  # codes 5 is 7: nothing that is known does that
keys(f, "side cause same model ops cases whole units differing explained broken others others_broken places",
     "side cause same ops cases whole units differing explained broken others others_broken places")
assert (f["side"], f["cause"], f["ops"], f["cases"], f["units"], f["differing"]) == ("b", [], ["quantize"], 1, "bytes", 1), f
assert s["title"] == "a.json:ref against b.json:sm100"
for side, path, backend in (("a", "a.json", "ref"), ("b", "b.json", "sm100")):
    keys(s[side], "label path backend tool os arch build complete", "label path backend complete")
    assert (s[side]["path"], s[side]["backend"], s[side]["complete"]) == (path, backend, True)
assert s["rule"] == {"tolerance": None, "signed_zero": "strict", "nan": "strict"}
t = s["totals"]
keys(t, "total compared equal within_tolerance differs skipped error not_comparable only_a only_b policy_cases policy_zero policy_nan",
     "total compared equal within_tolerance differs skipped error not_comparable only_a only_b policy_cases policy_zero policy_nan")
assert t == dict(total=cases, compared=cases - 4, equal=cases - 5, within_tolerance=0, differs=2, skipped=1, error=1, not_comparable=1,
                 only_a=1, only_b=0, policy_cases=0, policy_zero=0, policy_nan=0), t
assert sum(t[k] for k in ("equal", "within_tolerance", "differs", "skipped", "error", "not_comparable")) == t["total"]
PLACE = "row col block nibble input_row input_col input input_bits block_amax block_amax_bits scale scale_bits scaled scaled_bits rbits " \
        "byte a a_bits b b_bits ref ref_bits"
TENSOR = "name role dtype shape elements equal only shape_differs located differing one_step more_steps zero_sign nan_only nan_number " \
         "other policy_zero policy_nan padding_differs looks_like places no_bytes blocks blocks_differing block_list"
verdicts = {}
for c in s["cases"]:
    keys(c, "case op verdict reason only first no_context repro tensors", "case op verdict")
    verdicts[c["verdict"]] = verdicts.get(c["verdict"], 0) + 1
    assert c["op"] == c["case"].split("/")[0]
    if c["verdict"] not in ("equal",):
        assert c["reason"], c
    for x in c.get("tensors", []):
        keys(x, TENSOR, "name role dtype shape elements equal located")
        for p in x.get("places", []):
            keys(p, PLACE, "row col block a a_bits b b_bits")
assert verdicts.get("equal", 0) in (0, t["equal"]), verdicts # equal cases may be left out
assert (verdicts["differs"], verdicts["skipped"], verdicts["error"], verdicts["not-comparable"]) == (2, 1, 1, 1), verdicts
by = {c["case"]: c for c in s["cases"]}
d = by["quantize/te/rn/1x16/bf16/ties/16x64/s0"]
assert d["first"] == "codes" and d["repro"].startswith("fp4check run --case '%s' --backend sm100" % d["case"])
(x,) = d["tensors"]
assert (x["shape"], x["elements"], x["differing"], x["located"]) == ([16, 64], 1024, 1, True)
(p,) = x["places"]
assert (p["row"], p["col"], p["block"], p["nibble"], p["b_bits"]) == (0, 5, 0, 1, "0x7") and p["a_bits"] == p["ref_bits"] != "0x7", p
assert by["swizzle/te/e4m3/coords/144x3/s0"]["only"] == "a"
assert by["philox/te/u32/kat/16x16/s0"]["reason"].count('no <curand> & "co"')
assert "CUDA error 700:" in by["philox/te/u32/carry/16x16/s0"]["reason"]
P

# JUnit: parses, and its counts are those of its cases
python "$cases" <<'P'
import sys, xml.etree.ElementTree as ET
cases = int(sys.argv[1])
root = ET.parse("all.xml").getroot()
assert root.tag == "testsuites"
suites = root.findall("testsuite")
sums = dict(tests=0, failures=0, errors=0, skipped=0)
for s in suites:
    found = dict(tests=len(s.findall("testcase")), failures=len(s.findall("testcase/failure")), errors=len(s.findall("testcase/error")),
                 skipped=len(s.findall("testcase/skipped")))
    for k, n in found.items():
        assert int(s.get(k)) == n, (s.get("name"), k, s.get(k), n)
        sums[k] += n
    for c in s.findall("testcase"):
        assert c.get("classname") == "fp4check." + c.get("name").split("/")[0], c.attrib
assert sums == dict(tests=cases, failures=3, errors=1, skipped=1), sums
names = [c.get("name") for c in root.iter("testcase")]
assert len(set(names)) == cases
by = {c.get("name"): c for c in root.iter("testcase")}
f = by["quantize/te/rn/1x16/bf16/ties/16x64/s0"].find("failure")
assert f.get("type") == "differs" and "first stage that differs: codes" in f.text and "again: fp4check run" in f.text, f.text
assert 'no <curand> & "co"' in by["philox/te/u32/kat/16x16/s0"].find("skipped").get("message")
P
if command -v xmllint >/dev/null; then
    xmllint --noout all.xml >xmllint.out 2>&1 || problem "xmllint: $(head -n 3 xmllint.out)"
fi

# Markdown
has all.md '### fp4check diff: **fail**'
has all.md "| \`$case\` | differs | "
matches all.md "\| \*\*total\*\* \| $cases \|.*"
has all.md 'CUDA error 700: &lt;x&#124;y> line 2 |' # in a cell
fp diff a.json a.json --markdown -
has out '### fp4check diff: pass'
fp diff a.json b.json --github --markdown summary.md
expect_same summary.md all.md

# an old report stays when there is none to write, and one that cannot be written is trouble
echo old >old.json
fp diff a.json nothere.json --json old.json --junit new.xml
expect_trouble nothere.json
expect_equal "$(cat old.json)" old
expect_no_file new.xml new.xml.partial old.json.partial
fp diff a.json b.json --json missing/x.json
expect_status 2
expect_err 'missing/x.json'
fp diff a.json a.json --junit /dev/full
expect_status 2
expect_err '/dev/full'
fp diff a.json nothere.json --json -
expect_trouble nothere.json

# GitHub: at most ten errors, then one line with the number of the others; %, CR and LF escaped
fp diff --github a.json b.json
expect_equal "$(grep -c '^::error ' out)" 4 'errors'
expect_no_out '::notice'
matches out "::error title=fp4check%3A differs::$case%0A.*%0Afp4check run --case '$case' --backend sm100 .*"
has out '::error title=fp4check%3A error::philox/te/u32/carry/16x16/s0%0A'
expect_equal "$(grep -c '^line 2' out)" 0 'lines broken by a reason'
dumps a.json many.json reason-all 'quantize/te/*' $'100% wrong:\r\nreally'
fp diff --github a.json many.json
expect_status 1
expect_equal "$(grep -c '^::error ' out)" 10 'errors'
wrong=$(grep -c '^{"case":"quantize/te/' a.json)
matches out "::notice title=fp4check::and $((wrong - 10)) more cases that do not pass"
expect_equal "$(grep -c '^::error .*100%25 wrong:%0D%0Areally' out)" 10 'escaped reasons'
dumps a.json eleven.json
python <<'P'
import dumps
d = dumps.load("a.json")
for c in d["cases"][:11]:
    dumps.no_result(c, "error", "wrong")
dumps.save(d, "eleven.json")
P
fp diff --github a.json eleven.json
matches out "::notice title=fp4check::and 1 more case that does not pass"
fp diff --github a.json a.json
expect_status 0
expect_no_out '::'
