#!/bin/bash
# selftest: every mutant is noticed, nine in ten are named first, four in five of the pairs in order; the document is its output.
. "$FP4_SRCDIR/tests/cli/lib.sh"

fp selftest --list
expect_status 0
expect_out 'rule-half ' 'nibbles-exchanged ' 'not-written '
for letters in R1 R15 O1 O7 G1 G9 A1 A22 S1 S5 T1 T13 P1 P16; do
    grep -qE "[ ]$letters( |\$)" out || problem "no mutant bears $letters"
done
expect_equal "$(cut -d' ' -f1 out | sort | uniq -d | wc -l)" 0 'names that are there twice'

fp selftest --mutant rule-half --mutant nibbles-exchanged --json -
expect_status 0
python <<'P'
import json
r = json.load(open("out"))
assert (r["format"], r["version"]) == ("fp4check-selftest", 1)
a, b = r["results"]
assert a["faults"] == a["named"] == ["rule-half"] and a["verdict"] == "right" and 0 < a["killed"] < a["applied"], a
assert b["faults"] == b["named"] == ["nibbles-exchanged"] and b["explained"] == b["differing"] > 0, b
assert all(len(x["probes"]) == len(r["cases"]) for x in r["results"])
P

# all of it
if sanitized; then
    fp selftest --mutant scale-up --mutant sums-exact --markdown doc.md
    expect_status 0
    skip 'the whole catalogue takes too long with sanitizers'
fi
fp selftest --json all.json --markdown doc.md
expect_status 0
expect_out ' 0 survive' 'pairs peeled in order'
python <<'P'
import json
r = json.load(open("all.json"))
single = [x for x in r["results"] if len(x["faults"]) == 1]
pairs = [x for x in r["results"] if len(x["faults"]) == 2]
assert len(single) == r["mutants"] >= 70 and len(pairs) == r["pairs"] == 40
assert all(x["killed"] > 0 for x in single), [x["faults"] for x in single if not x["killed"]]
right = sum(x["verdict"] == "right" for x in single)
assert right == r["right"] and right * 10 >= 9 * len(single), right
peeled = sum(x["verdict"] == "right" for x in pairs)
assert peeled == r["peeled"] and peeled * 5 >= 4 * len(pairs), peeled
for x in pairs:  # right means both, and no third
    assert x["verdict"] != "right" or x["named"] == x["faults"], x
assert set(len(x["probes"]) for x in r["results"]) == {len(r["cases"])}
# the cases are in the default suite, but for one
import os, subprocess
suite = set(subprocess.run([os.environ["FP4CHECK"], "list", "-q", "--suite", "default"], capture_output=True, text=True).stdout.split())
assert set(r["cases"]) - suite == {"four-over-six/te/mae/16x16/bf16/four-ties/64x192/s1"}, set(r["cases"]) - suite
P
expect_same doc.md "$FP4_SRCDIR/docs/selftest.md"

# what is wrong
fp selftest --mutant no-such
expect_trouble "no mutant 'no-such'"
fp selftest extra
expect_trouble "unexpected argument 'extra'"
fp selftest --jobs 0
expect_trouble "--jobs is a number from 1 to 64, not '0'"
fp selftest -o x.json
expect_trouble '--output writes what one --mutant'
fp selftest -m no-such -o x.json
expect_trouble "no mutant 'no-such'"
expect_no_file x.json
