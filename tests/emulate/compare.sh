#!/bin/bash
# The soft kernels, run by the emulation of tests/emulate, against the reference: every case of suite smoke, those of default (and a few more)
# whose shapes reach the fast kernels, torchao's sweep of four-over-six, and of the suite of its ties and of gemm one case in STEP (default 6;
# 1 takes all, which is slow). usage: compare.sh PROGRAM [STEP]
set -eu
program=$1
step=${2:-6}
out=$(dirname "$program")
# rcp.approx is not emulated: te-fast of the fused transform is left to a GPU.
"$program" list -q --suite smoke | grep -v '^rht-quantize/te-fast/' >"$out/names"
"$program" list -q --suite default | grep -E '/(128x64|128x128|256x128|192x128|512x256|64x128|64x320)/s[0-9]+$' |
    grep -E '^(quantize|rht-quantize)' | grep -v '^rht-quantize/te-fast/' | grep -v sum-exact >>"$out/names"
for data in normal ties nan inf zeroblocks negzero tiny amaxstale spread saturate huge; do
    for knobs in rn/1x16 rn/1x16/both rn/1x16/col sr/1x16 sr/1x16/both; do
        echo "quantize/te/$knobs/bf16/$data/256x128/s0"
    done
done >>"$out/names"
echo quantize/te/rn/1x16/bf16/amaxstale/256x512/s0 >>"$out/names" # scaled values of exactly 7 under a multiplier of the ties kind
for data in normal nan inf zeroblocks tiny amaxstale spread cancel huge amaxnan amaxinf rht-ties; do
    for knobs in rn sr rn/kernel-rowcol sr/kernel-rowcol rn/kernel-unfused rn/nosigns; do
        echo "rht-quantize/te/$knobs/bf16/$data/256x128/s0"
    done
done >>"$out/names"
"$program" list -q --suite four-over-six-440 >>"$out/names"
{
    "$program" list -q --suite four-over-six-ties
    "$program" list -q --suite default --case 'gemm/*'
} | awk -v step="$step" 'NR % step == 1 % step' >>"$out/names"
sort -u "$out/names" | python3 -c 'import json, sys; json.dump({"format": "fp4check-suite", "version": 1, "name": "emulated",
    "cases": [line.strip() for line in sys.stdin]}, sys.stdout)' >"$out/suite.json"
"$program" run -q --suite "$out/suite.json" -b ref -b soft --timeout 600 -o "$out/dump.json" | tail -n 1
"$program" diff "$out/dump.json:ref" "$out/dump.json:soft" >"$out/diff.txt" || { cat "$out/diff.txt"; exit 1; }
tail -n 1 "$out/diff.txt"
