#!/bin/bash
# The diagnosis of diff and verify: causes named from dumps, with bytes and with digests only; stacks; both sides; nothing made up.
. "$FP4_SRCDIR/tests/cli/lib.sh"
cases=(--case 'quantize/te/*/1x16/*/16x64/s0' --case 'quantize/te/sr/1x16/f32/*/32x64/s0' --case 'swizzle/te/e4m3/coords/129x5/s0')

fp run -q "${cases[@]}" --backend ref --bytes all -o ref.json
expect_status 0
wrong() { # FILE MUTANT...
    local file=$1 arguments=()
    shift
    for mutant in "$@"; do arguments+=(--mutant "$mutant"); done
    fp selftest "${arguments[@]}" "${cases[@]}" -o "$file"
    expect_status 0
}

# one cause; the same from the other side; none where nothing differs
wrong half.json rule-half
fp diff --max-cases 0 ref.json half.json
expect_status 1
expect_out 'diagnosis, against the reference:' 'B (half.json:mutant): stochastic rule half [rule-half, R2]' 'explains 100% of'
expect_out 'that is rs-model half+b300'
expect_no_out 'A (ref.json'
fp diff --max-cases 0 half.json ref.json
expect_out 'A (half.json:mutant): stochastic rule half'
expect_no_out 'B (ref.json'
fp diff ref.json ref.json
expect_status 0
expect_no_out diagnosis

# both sides wrong, each in its own way
wrong ties.json ties-away
fp diff --max-cases 0 half.json ties.json
expect_out 'A (half.json:mutant): stochastic rule half' 'B (ties.json:mutant): ties of nearest rounding go away from zero [ties-away, R15]'

# two faults at once, in the order of the pipeline
wrong two.json nibbles-exchanged scale-up
fp diff --max-cases 0 ref.json two.json
expect_out '2 faults, in the order of the pipeline'
expect_equal "$(grep -n -e '- scales are rounded up' out | cut -d: -f1)" "$(($(grep -n -e '- the two nibbles' out | cut -d: -f1) - 1))" 'line of the first fault'

# another op
wrong floor.json columns-floored
fp diff --max-cases 0 ref.json floor.json
expect_out 'the last partial tile of columns is not counted [columns-floored]' '(swizzle)'

# digests only
dumps half.json half-bare.json strip
dumps ref.json ref-bare.json strip
wrong order.json fours-reversed
dumps order.json order-bare.json strip
fp diff --max-cases 0 ref-bare.json order-bare.json
expect_status 1
expect_out 'every four codes are in reversed order (operands ascending) [fours-reversed, O1]'
fp diff --max-cases 0 ref-bare.json half-bare.json
expect_out 'stochastic rule half [rule-half, R2]'

# verify, JSON and Markdown
fp verify --backend ref --max-cases 0 two.json --json verify.json --markdown verify.md
expect_status 1
expect_out 'A (two.json:mutant): 2 faults'
has verify.md '**diagnosis**'
has verify.md 'scales are rounded up [scale-up, F12]'
python <<'P'
import json
(s,) = json.load(open("verify.json"))["sections"]
d = s["diagnosis"]
assert 0 < d["considered"] <= d["differing"], d
f = d["findings"][0]
assert f["side"] == "a" and [c["name"] for c in f["cause"]] == ["scale-up", "nibbles-exchanged"], f
assert f["explained"] == f["differing"] > 0 and f["broken"] == 0 and f["units"] == "bytes" and f["places"], f
assert all(c["alone"] < f["explained"] for c in f["cause"])
P

# what nobody knows
dumps ref.json odd.json set quantize/te/rn/1x16/bf16/normal/16x64/s0 codes 5 7 set quantize/te/rn/1x16/bf16/ties/16x64/s0 codes 6 3
fp diff --max-cases 0 ref.json odd.json
expect_status 1
expect_out 'no known cause for 2 differing bytes in 2 cases (quantize)'

# what is not replayed is said
layer=gemm/torchao/quantized/bf16/normal/128x128x128/s0
fp run -q --backend ref --bytes all --case $layer -o layer.json
dumps layer.json other.json set $layer y 5 1234
fp diff --max-cases 0 layer.json other.json
expect_status 1
expect_out '2 of 2 results of differing cases were not looked at: '
