#!/bin/bash
# Philox on a GPU: our kernel and the toolkit's device generator (curand_init and curand) against the reference.
. "$FP4_SRCDIR/tests/cli/lib.sh"
fp list backends
grep -q '^soft  *runs here' out || skip "soft $(sed -n 's/^soft  *//p' out)"
"$(dirname "$FP4CHECK")/tests/philox_device"
