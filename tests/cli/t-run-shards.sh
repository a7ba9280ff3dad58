#!/bin/bash
# run --shard: the parts are the whole, without gap or overlap, and of about the same size.
. "$FP4_SRCDIR/tests/cli/lib.sh"

fp run --suite smoke --backend ref -o whole.json
cases=$(grep -c '^{"case"' whole.json)
for shards in 1 3 4; do
    rm -f part-*.json
    for ((i = 1; i <= shards; i++)); do
        fp run --suite smoke --backend ref --shard $i/$shards -o part-$i.json
        expect_status 0
        has part-$i.json "\"shard\":\"$i/$shards\""
        n=$(grep -c '^{"case"' part-$i.json)
        [ $((n * shards - cases)) -lt $shards ] && [ $((cases - n * shards)) -lt $shards ] || problem "part $i of $shards has $n of $cases cases"
    done
    grep -h '^{"case"' part-*.json | sed 's/,$//' | sort >parts
    grep '^{"case"' whole.json | sed 's/,$//' | sort >all
    expect_same parts all
done

# together with --op, and more parts than cases
fp list --suite smoke --op swizzle
sort out >all
: >parts
for i in 1 2 3; do
    fp list --suite smoke --op swizzle --shard $i/3
    expect_status 0
    cat out >>parts
done
sort -o parts parts
expect_same parts all
fp run --suite smoke --op sr-bf16x4 --shard 2/2 -o x.json
expect_trouble '2/2'
expect_no_file x.json x.json.partial

# a part against the whole: what is missing is said
fp diff whole.json part-2.json
expect_status 1
expect_out "only in A"
