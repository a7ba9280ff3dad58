#!/bin/bash
# run --resume: from a partial file cut off at any byte, and the refusals.
. "$FP4_SRCDIR/tests/cli/lib.sh"
selection=(--suite smoke --backend ref --op cvt-rn --op cvt-rs --op philox)

fp run -q "${selection[@]}" -o whole.json
cases=$(grep -c '^{"case"' whole.json)
size=$(stat -c %s whole.json)

# cut off anywhere: in the header, between cases, in a case, in the end, and not at all
offsets="0 1 30 $(grep -abo '"cases":\[' whole.json | head -n 1 | cut -d: -f1)"
line_starts=$(grep -abo '^{"case"' whole.json | cut -d: -f1 | sed -n '1p;2p;9p;$p')
for at in $line_starts; do offsets+=" $((at - 2)) $((at - 1)) $at $((at + 1)) $((at + 200))"; done
for at in $offsets $((size - 30)) $((size - 12)) $((size - 2)) $((size - 1)) "$size"; do
    head -c "$at" whole.json >x.json.partial
    whole_lines=$(head -c "$at" whole.json | grep -c '^{"case".*}[],}]*$')
    fp run "${selection[@]}" --resume -o x.json
    ran="$ran of $at bytes"
    expect_status 0
    expect_same_dump x.json whole.json
    expect_no_file x.json.partial
    taken=$(sed -n "s/.*: \([0-9]*\) of $cases cases taken over.*/\1/p" err)
    [ "$whole_lines" -le 2 ] || [ "${taken:-0}" -ge $((whole_lines - 1)) ] || problem "$whole_lines whole lines, but '$taken' were taken over"
    rm -f x.json
done

# nothing there
fp run "${selection[@]}" --resume -o x.json
expect_status 0
expect_err "nothing to resume at 'x.json.partial'"
expect_same_dump x.json whole.json

# another suite, shard, seed, backend build: refused, and the partial file stays
refused() { # TEXT RUN-OPTION...
    local text=$1
    shift
    cp whole.json x.json.partial
    fp run "$@" --resume -o x.json
    expect_trouble "$text" 'x.json.partial'
    expect_same x.json.partial whole.json
}
refused suite --suite default --backend ref
refused selection --suite smoke --backend ref
refused shard "${selection[@]}" --shard 1/2
refused seed "${selection[@]}" --seed 1
cp whole.json x.json.partial
fp run --suite smoke --backend ref --op cvt-rs --resume -o x.json # a selection too, but another one
expect_trouble "has case 'cvt-rn/" 'start afresh without --resume'
expect_same x.json.partial whole.json
dumps whole.json x.json.partial backend other
cp x.json.partial other.json
fp run "${selection[@]}" --resume -o x.json
expect_trouble 'backend' "'other'"
expect_same x.json.partial other.json
sed 's/"ref":"C reference/"ref":"another build/' whole.json >x.json.partial
fp run "${selection[@]}" --resume -o x.json
expect_trouble 'build' 'another build'
echo 'no dump at all' >x.json.partial
fp run "${selection[@]}" --resume -o x.json
expect_trouble 'x.json.partial'
expect_equal "$(cat x.json.partial)" 'no dump at all'
sed 's/"base64":"..../"base64":"AAAA/' whole.json >x.json.partial # bytes that are not those of the digest
fp run "${selection[@]}" --resume -o x.json
expect_trouble 'x.json.partial' 'tensors[0].' 'not match'

# a typing error costs nothing
cp whole.json x.json.partial
for wrong in '--jobs 0' '--bytes x' '--op nope' '--shard 9'; do
    # shellcheck disable=SC2086 # two words
    fp run "${selection[@]}" $wrong --resume -o x.json
    expect_trouble
    expect_same x.json.partial whole.json
done

# what was an error stays one
fp run -q --case quantize/te/rn/1x16/bf16/normal/1073741824x1073741824/s0 --case philox/te/u32/kat/16x16/s0 --backend ref -o huge.json
expect_status 1
mv huge.json huge.json.partial
fp run --case quantize/te/rn/1x16/bf16/normal/1073741824x1073741824/s0 --case philox/te/u32/kat/16x16/s0 --backend ref --resume -o huge.json
expect_status 1
expect_file huge.json
