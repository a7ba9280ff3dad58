#!/bin/bash
# Several GPUs share the cases, and the dump is the same.
. "$FP4_SRCDIR/tests/cli/lib.sh"
fp list backends
grep -q '^soft  *runs here' out || skip "soft $(sed -n 's/^soft  *//p' out)"
fp list backends --device 0,1
grep -q '^soft  *runs here' out || skip "with --device 0,1: soft $(sed -n 's/^soft  *//p' out)"
expect_out '(devices 0,1: '
last=1
while [ $last -lt 7 ] && "$FP4CHECK" list backends --device $((last + 1)) | grep -q '^soft  *runs here'; do last=$((last + 1)); done
all=$(seq -s, 0 $last)

fp run --suite default --backend soft -o one.json
expect_status 0
for devices in 1 1,0 "$all"; do
    begin=$(date +%s%N)
    fp run --suite default --backend soft --device "$devices" -o many.json
    echo "--device $devices: $((($(date +%s%N) - begin) / 1000000)) ms"
    expect_status 0
    expect_same_dump one.json many.json
done
fp run --suite default --backend ref --backend soft --device "$all" -o both.json
expect_status 0
fp diff both.json:ref both.json:soft
expect_status 0
fp verify --backend soft --device "$all" one.json
expect_status 0
