#!/bin/bash
# The faults of t-faults.sh by kernels on a GPU (tests/faulty/faulty_gpu.c): named for what they are, each costs its own case, and the next
# case has a fresh process and a device that works.
. "$FP4_SRCDIR/tests/cli/lib.sh"
. "$FP4_SRCDIR/tests/cli/faults.sh"
fp list backends
grep -q '^soft  *runs here' out || skip "soft $(sed -n 's/^soft  *//p' out)"

fp run "${selection[@]}" --backend soft -o soft.json
expect_status 0
expect_out ": $cases ok"
fp diff ref.json:ref soft.json:soft
expect_status 0

fault gpu-far 'CUDA: kernel: an illegal memory access was encountered'
fault gpu-near "backend 'faulty-gpu-near' wrote 200 bytes beyond the end of 'codes' \([0-9]+ bytes\), up to 300 past it"
fault gpu-onebyte "backend 'faulty-gpu-onebyte' wrote 1 byte beyond the end of 'codes' \([0-9]+ bytes\), up to 1 past it"
fault gpu-input "the kernel wrote beyond the end of the input 'x' \([0-9]+ bytes\), up to 4 past it"
fault gpu-partial "backend 'faulty-gpu-partial' never wrote 1 of the [0-9]+ bytes of 'codes', first byte [0-9]+"
fault gpu-silent "backend 'faulty-gpu-silent' never wrote '[a-z-]+': its [0-9]+ bytes are still the poison 0xca"
fault gpu-random "two runs of backend 'faulty-gpu-random' differ in 1 of the [0-9]+ bytes of 'codes', first in byte 5: not deterministic, or another function without stages"
fault gpu-hang "backend 'faulty-gpu-hang' gave no answer within 5 s: its process was killed" --timeout 5
fault gpu-trap 'CUDA: kernel: (unspecified launch failure|an illegal instruction was encountered)'
fault gpu-launch 'CUDA: launch: (invalid configuration argument|invalid argument)'

# the device is as it was
fp run "${selection[@]}" --backend soft -o again.json
expect_status 0
expect_same_dump soft.json again.json

# a device that is not there
fp list backends --device 99
expect_status 0
expect_out 'there is no device 99: the driver shows '
fp run "${selection[@]}" --backend soft --device 0,99 -o x.json
expect_trouble 'there is no device 99'
fp list backends --device 0
matches out 'soft +runs here: .*\(device 0: .*compute capability .*\)'
CUDA_VISIBLE_DEVICES='' fp list backends
matches out 'soft +cannot run here: no GPU: .*'
