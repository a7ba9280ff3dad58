#!/bin/bash
# list: everything that the tables hold.
. "$FP4_SRCDIR/tests/cli/lib.sh"

for what in cases suites ops recipes knobs data rs-models backends coverage; do
    fp list $what
    expect_status 0
    [ -s out ] || problem "list $what is empty"
    cp out by-word
    fp list --$what
    expect_status 0
    expect_same out by-word
done
fp list
cp out all
fp list cases --suite default
expect_same out all
expect_equal "$(sort -u all | wc -l)" "$(wc -l <all)" 'different names'

fp list suites ops # several: each with its title
expect_status 0
matches out 'suites:'
matches out 'ops:'
fp list suites
for suite in smoke default full input; do matches out "$suite +[0-9-]+ cases  .*"; done
smoke=$(sed -n 's/^smoke *\([0-9]*\) cases.*/\1/p' out)
fp list --suite smoke
expect_equal "$(wc -l <out)" "$smoke" 'cases of smoke'
fp list ops
expect_equal "$(wc -l <out)" "$(cut -d/ -f1 all | sort -u | wc -l)" 'ops, each with a case in the default suite'
cut -d' ' -f1 out | sort >ops
cut -d/ -f1 all | sort -u >ops-of-cases
expect_same ops ops-of-cases
fp list recipes
for recipe in te te-fast te-ref torchao; do matches out "$recipe +.*\(.* quantize.*\)"; done
fp list knobs
expect_out 'rn*' sr 1x16 16x16 'default'
fp list data
for data in ties heavy normal minilm-ffn-in specials; do matches out "$data +.*\[.+\]"; done
fp list rs-models
for model in b300 ptx-x ptx-y straight te-soft fp4sm120; do matches out "$model +.*"; done
fp list backends
matches out 'ref +runs here: .*'
expect_equal "$(grep -vcE '^[^ ]+ +(runs here: .|cannot run here: .)' out)" 0 'lines without a reason'

# no hole: every op and every data construction has a case
for suite in smoke default full; do
    fp list coverage --suite $suite
    expect_status 0
    grep -E '^(op|data) ' out | awk '$3 == 0' >zero
    if [ $suite = smoke ]; then
        grep -q '^op ' zero && problem 'an op without a case in smoke'
    else
        expect_empty zero
    fi
    matches out 'op +quantize +[1-9][0-9]* cases'
    matches out 'data ties +[1-9][0-9]* cases'
done
fp list coverage --suite default
expect_equal "$(awk '$1 == "op" { n += $3 } END { print n }' out)" "$(wc -l <all)" 'cases by op'
fp list coverage --suite default --op swizzle
matches out 'op +quantize +0 cases'

# every name of the larger suites parses back to itself
fp list --suite full
expect_equal "$(sort -u out | wc -l)" "$(wc -l <out)" 'different names in full'
grep -Fvxf out all >only-default
expect_empty only-default
shuf -n 40 --random-source=all out >some
while IFS= read -r name; do
    fp list --case "$name"
    expect_equal "$(cat out)" "$name" 'name'
done <some
