#!/bin/bash
# bless and verify: a folder of goldens from its first dump on, and everything that must not slip in.
. "$FP4_SRCDIR/tests/cli/lib.sh"
case=quantize/te/rn/1x16/bf16/ties/16x64/s0
mkdir golden
snapshot() { rm -rf before && cp -r golden before; }
expect_untouched() { # golden/ is as snapshot() saw it
    diff -r before golden >diff.out 2>&1 || problem "golden/ has changed: $(head -n 3 diff.out)"
}

fp run --suite smoke --backend ref -o new.json
cases=$(grep -c '^{"case"' new.json)

# the first golden: only with a reason, and never in CI
fp bless new.json golden/ref-smoke.json
expect_status 1
expect_out "golden/ref-smoke.json is new: $cases cases" 'nothing was written' '--reason'
expect_equal "$(ls golden)" '' 'golden/'
fp bless --reason '  ' new.json golden/ref-smoke.json
expect_status 1
expect_equal "$(ls golden)" '' 'golden/'
export CI=true
fp bless --reason 'first' new.json golden/ref-smoke.json
expect_status 2
expect_err 'CI is set'
expect_equal "$(ls golden)" '' 'golden/'
CI=false
fp bless --reason 'first golden' new.json golden/ref-smoke.json
expect_status 0
unset CI
expect_out "wrote golden/ref-smoke.json: $cases cases"
expect_equal "$(ls golden | tr '\n' ' ')" 'MANIFEST ref-smoke.json ' 'golden/'
has golden/ref-smoke.json '"reason":"first golden"'
lacks golden/ref-smoke.json '"time":'
lacks golden/ref-smoke.json '"host":'
expect_same_dump golden/ref-smoke.json new.json
matches golden/MANIFEST "ref-smoke\.json [0-9a-f]{32} $cases fp4check run --suite smoke --backend ref"
python <<'P'
import dumps
name, digest, cases = [l for l in open("golden/MANIFEST") if not l.startswith("#")][0].split()[:3]
assert digest == dumps.xxh128(open("golden/" + name, "rb").read())
P

# the same golden whoever makes it
fp bless -q -m 'first golden' new.json other-golden.json
expect_same golden/ref-smoke.json other-golden.json
rm MANIFEST other-golden.json

# it passes
fp verify --backend ref golden/
expect_status 0
expect_out 'A  golden/ref-smoke.json:ref  (fp4check ' 'B  here:ref  (fp4check '
expect_last_line out "$cases cases compared: $cases equal"
fp verify --backend ref golden
expect_status 0
fp verify --backend ref golden/ref-smoke.json
expect_status 0
fp verify --backend ref --op philox golden
expect_status 0
expect_last_line out '6 cases compared: 6 equal'
fp verify --backend ref --case $case --case 'swizzle/*' golden
expect_status 0
expect_last_line out '7 cases compared: 7 equal'
fp verify --backend ref --case 'nothing/*' golden
expect_status 2
expect_err 'no case matches'

# nothing to change
snapshot
fp bless -m 'again' new.json golden/ref-smoke.json
expect_status 0
expect_out 'nothing changes: golden/ref-smoke.json stays as it is'
expect_untouched
fp bless new.json golden/ref-smoke.json
expect_status 0
CI=true fp bless new.json golden/ref-smoke.json
expect_status 0
expect_untouched

# a result that changed: shown, and written with a reason only
dumps new.json changed.json set $case codes 5 7
fp bless changed.json golden/ref-smoke.json
expect_status 1
expect_out 'codes: 1 of 1024 differ' "$cases cases compared: $((cases - 1)) equal, 1 differs" 'nothing was written'
expect_untouched
CI=1 fp bless -m 'because' changed.json golden/ref-smoke.json
expect_status 2
expect_out 'codes: 1 of 1024 differ'
expect_untouched
fp bless -m 'a reason' changed.json golden/ref-smoke.json
expect_status 0
expect_out 'changed golden/ref-smoke.json'
has golden/ref-smoke.json '"reason":"a reason"'
expect_same_dump golden/ref-smoke.json changed.json
cmp -s golden/MANIFEST before/MANIFEST && problem 'the MANIFEST is the old one'
# ... and now it is verify that objects
fp verify --backend ref --junit verify.xml --json verify.json --markdown verify.md --github golden/
expect_status 1
expect_out 'first stage that differs: codes' '::error title=fp4check%3A differs::'
matches out "$cases cases compared: $((cases - 1)) equal, 1 differs"
matches out "  again: fp4check run --case '$case' --backend ref --bytes all -o again.json"
expect_file verify.xml verify.json verify.md
python <<'P'
import json
r = json.load(open("verify.json"))
assert (r["command"], r["exit"], r["sections"][0]["totals"]["differs"]) == ("verify", 1, 1), r
P
fp bless -q -m 'back again' --command 'by hand' new.json golden/ref-smoke.json
expect_status 0
matches golden/MANIFEST 'ref-smoke\.json .* by hand'
fp verify --backend ref -q golden/
expect_status 0

# a case that came or went
fp run --suite smoke --backend ref --op philox -o philox.json
dumps new.json fewer.json drop $case
fp bless fewer.json golden/ref-smoke.json
expect_status 1
expect_out "only in A: $case"
fp bless -q -m 'one less' fewer.json golden/ref-smoke.json
fp verify --backend ref golden
expect_status 1 # the suite has a case that the golden lacks
expect_out "only in B: $case"
expect_last_line out "$((cases - 1)) cases compared: $((cases - 1)) equal; 1 only in B"
fp verify --backend ref --op philox golden # not asked for
expect_status 0
dumps new.json old-case.json
python <<'P'
import dumps
d = dumps.load("old-case.json")
d["cases"][0]["case"] = "quantize/te/rn/1x16/bf16/oldconstruction/16x64/s0"
dumps.save(d, "old-case.json")
P
fp bless -q -m 'a case that nobody can run' old-case.json golden/ref-smoke.json
expect_status 0
fp verify --backend ref golden
expect_status 1
expect_out oldconstruction
fp bless -q -m 'whole again' new.json golden/ref-smoke.json
fp verify --backend ref -q golden
expect_status 0

# a second golden in the folder; rows are in name order
fp bless -q -m 'second' philox.json golden/a-philox.json
expect_status 0
expect_equal "$(grep -v '^#' golden/MANIFEST | cut -d' ' -f1 | tr '\n' ' ')" 'a-philox.json ref-smoke.json '
fp verify --backend ref golden # of a selection nothing is missing
expect_status 0
expect_out '6 cases compared: 6 equal' "$cases cases compared: $cases equal"
fp verify --backend ref --op philox golden
expect_status 0
expect_equal "$(grep -c '^6 cases compared: 6 equal' out)" 2 'dumps compared'
rm golden/a-philox.json
fp verify --backend ref golden
expect_status 2
expect_err 'a-philox.json'
sed -i '/^a-philox/d' golden/MANIFEST
snapshot

# what only bless may do
restore() { rm -rf golden && cp -r before golden; }
sed -i 's/"reason":"whole again"/"reason":"another"/' golden/ref-smoke.json # bytes, however harmless
fp verify --backend ref golden
expect_trouble 'golden/ref-smoke.json' 'MANIFEST' 'bless'
restore
sed -i 's/ref-smoke.json \([0-9a-f]*\)[0-9a-f] /ref-smoke.json \1g /' golden/MANIFEST
fp verify --backend ref golden
expect_trouble 'golden/MANIFEST: line 2: digest'
restore
cp philox.json golden/extra.json
fp verify --backend ref golden
expect_trouble "'extra.json' is not in the MANIFEST"
restore
cp philox.json golden/extra.json.zst
fp verify --backend ref golden
expect_trouble "'extra.json.zst' is not in the MANIFEST"
restore
for line in 'short' "../new.json $(printf '0%.0s' {1..32}) 1 x" "$(grep '^ref' golden/MANIFEST)" "x.json $(printf '0%.0s' {1..32}) many x"; do
    echo "$line" >>golden/MANIFEST
    fp verify --backend ref golden
    expect_trouble 'golden/MANIFEST: line 3: '
    restore
done
rm golden/MANIFEST
fp verify --backend ref golden
expect_trouble 'golden/MANIFEST'
: >golden/MANIFEST
rm golden/ref-smoke.json
fp verify --backend ref golden
expect_trouble 'lists no dump'
restore

# what is no golden
dumps new.json skip.json incomplete
fp bless -m reason skip.json golden/ref-smoke.json
expect_trouble 'skip.json' 'interrupted'
dumps new.json error.json error $case 'CUDA error 700'
fp bless -m reason error.json golden/ref-smoke.json
expect_trouble 'CUDA error 700'
dumps new.json empty.json keep none
fp bless -m reason empty.json golden/ref-smoke.json
expect_trouble 'no cases'
fp bless -m reason nothere.json golden/ref-smoke.json
expect_trouble 'nothere.json'
fp bless -m reason new.json missing/golden.json
expect_status 2
expect_err 'missing/golden.json'
# what the MANIFEST could not hold, and a MANIFEST that cannot be read: nothing is written then
for name in 'my golden.json' '#golden.json' golden.txt golden.json.zst "$(printf 'x%.0s' {1..130}).json" .json; do
    fp bless -m reason new.json "golden/$name"
    expect_status 2
    expect_err "'$name'"
done
expect_untouched
dumps new.json less.json drop $case
echo 'no row' >>golden/MANIFEST
fp bless -m reason less.json golden/ref-smoke.json
expect_status 2
expect_err 'golden/MANIFEST: line 3: '
expect_same golden/ref-smoke.json before/ref-smoke.json
restore
fp bless -q -m 'two lines' --command $'fp4check run\n# more' less.json golden/less.json
expect_status 0
matches golden/MANIFEST 'less\.json .* fp4check run # more'
fp verify --backend ref --op philox golden
expect_status 0
restore
expect_untouched
# not even by a tolerance
dumps changed.json changed.json
fp bless --tolerance 50% changed.json golden/ref-smoke.json
expect_status 1
expect_out 'nothing was written'
expect_untouched

# an indented dump is blessed as one case a line
python3 -m json.tool new.json indented.json
rm -rf golden && mkdir golden
fp bless -q -m 'whole again' indented.json golden/ref-smoke.json
expect_status 0
expect_same golden/ref-smoke.json before/ref-smoke.json
