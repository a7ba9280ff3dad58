#!/bin/bash
# run: the same bytes whatever the threads, the selection of cases, and what a dump of the suite holds.
. "$FP4_SRCDIR/tests/cli/lib.sh"

# twice, and with other numbers of threads
fp run --suite smoke --backend ref -o a.json
expect_status 0
expect_out 'cases: ' ' ok, 0 skipped, 0 error -> a.json'
expect_no_file a.json.partial
fp run --suite smoke --backend ref -o b.json
fp run --suite smoke --backend ref --jobs 1 -o one.json
fp run --suite smoke --backend ref -j 2 -o two.json
fp run --suite smoke --backend ref --jobs=7 -o seven.json
for other in b one two seven; do
    expect_same_dump a.json $other.json
done
fp run --suite smoke --backend ref -q -o a.json # over an old one
expect_status 0
expect_same_dump a.json b.json

# the whole suite, once each, and the last line of a diff says so
fp list --suite smoke
cases=$(wc -l <out)
expect_equal "$(sort -u out | wc -l)" "$cases" 'different names in the suite'
expect_err "$cases cases"
grep -o '^{"case":"[^"]*"' a.json | cut -d'"' -f4 >names
expect_same names out
fp diff a.json b.json
expect_status 0
expect_last_line out "$cases cases compared: $cases equal"

# without --suite it is the default one, without -o there is no dump
fp run --op philox --backend ref
expect_status 0
expect_err 'no -o FILE'
fp list --op philox
philox=$(wc -l <out)
fp run --op philox --backend ref -o philox.json
expect_out "$philox cases: $philox ok"
fp list --suite default --op philox
expect_equal "$(wc -l <out)" "$philox"

# --op, --case and --seed, alone and together
fp list --suite smoke --op swizzle --op philox
expect_equal "$(cut -d/ -f1 out | sort -u | tr '\n' ' ')" 'philox swizzle ' 'ops'
fp list --suite smoke --case 'quantize/*/ties/*' --case 'cvt-rn/*'
expect_equal "$(wc -l <out)" "$(grep -cE '^cvt-rn/|^quantize/.*/ties/' names)" 'cases of two patterns'
fp list --suite smoke --op cvt-rn --case '*/specials/*'
expect_equal "$(cat out)" cvt-rn/ptx/f32/specials/64x4/s0
fp list --suite smoke --seed 5
expect_equal "$(grep -c '/s5$' out)" "$cases" 'cases with the other seed'
fp run --suite smoke --op sr-bf16x4 --seed 0x10 --backend ref -o seed.json
expect_status 0
has seed.json '"seed":"0x10"'
expect_equal "$(grep -o '^{"case":"[^"]*"' seed.json)" '{"case":"sr-bf16x4/te/b300/bf16/normal/64x4/s16"'

# a full name is a case of its own, in a suite or not, and its dump is that of the suite
fp run --case quantize/torchao/rn/1x16/f32/heavy/7x48/s123 --backend ref -o own.json
expect_status 0
expect_out '1 cases: 1 ok'
has own.json '"suite":"selection"'
fp run --case swizzle/te/e4m3/coords/144x3/s0 --case philox/te/u32/kat/16x16/s0 --backend ref -o pair.json
for name in swizzle/te/e4m3/coords/144x3/s0 philox/te/u32/kat/16x16/s0; do
    expect_equal "$(grep -F "\"$name\"" pair.json | sed 's/,$//')" "$(grep -F "\"$name\"" a.json | sed 's/,$//')" "line of $name"
done

# a case that cannot be run is an error of that case, of the exit status, and of the dump
fp run --case quantize/te/rn/1x16/bf16/normal/1073741824x1073741824/s0 --case philox/te/u32/kat/16x16/s0 --backend ref -o huge.json
expect_status 1
expect_out '2 cases: 1 ok, 0 skipped, 1 error'
expect_err 'first error: quantize/te/rn/1x16/bf16/normal/1073741824x1073741824/s0: ref: '
has huge.json '"status":"error","reason":"'
fp diff huge.json huge.json
expect_status 1
expect_last_line out '1 case compared: 1 equal; 1 error'

# a backend that cannot run here is skipped with its reason: a dump of nothing but skips is no pass
fp list backends
for backend in $(sed -n 's/^\([^ ]*\) *cannot run here: .*/\1/p' out); do
    fp run --suite smoke --op philox --backend "$backend" -o skip.json
    expect_status 2
    expect_err "backend '$backend' cannot run: " 'nothing ran'
    fp run --suite smoke --op philox --backend ref --backend "$backend" -o both.json
    expect_status 0
    expect_out '6 ok, 6 skipped, 0 error'
    expect_equal "$(grep -c "\"backend\":\"$backend\",\"status\":\"skipped\",\"reason\":\"." both.json)" 6 'skips with a reason'
    fp diff both.json:ref both.json:"$backend"
    expect_status 2
    expect_out 'skipped, 6: '
    expect_err 'nothing was compared'
    fp verify --backend "$backend" both.json
    expect_status 2
    fp show --backend "$backend" philox/te/u32/kat/16x16/s0
    expect_trouble "'$backend'"
done
