#!/bin/bash
# `make test`: everything, in order, with one line a part at the end. Exit status 1 when a part failed.
set -u
cd "$(dirname "$0")/.."
passed=() failed=() skipped=()
part() { # NAME COMMAND...
    local name=$1 status=0
    shift
    echo
    echo "== $name"
    "$@" || status=$?
    if [ $status = 0 ]; then
        passed+=("$name")
    elif [ $status = 77 ]; then
        skipped+=("$name${reason:+ ($reason)}")
    else
        failed+=("$name")
    fi
}
make="make --no-print-directory WERROR=1"
part 'build' $make -j2 all build/tests/unit build/tests/conformance build/tests/replay_dump
[ ${#failed[@]} = 0 ] || { echo; echo "0 passed, 1 failed"; exit 1; }
part 'unit tests' $make unit
part 'vectors made by others' $make conformance
part 'command line' $make cli-tests
part 'error rate and power of the statistics' $make statistics
part 'malformed dumps and fuzz corpus' $make fuzz-replay
part 'golden dumps' $make golden
part 'address and undefined-behaviour sanitizers' $make sanitize
part 'the same bytes everywhere' tests/portability.sh
part 'kernels emulated on the CPU' $make WERROR=0 emulate
if [ -n "$($make -s print-nvcc)" ]; then
    part 'CUDA host conversions and cuRAND as oracles' $make oracle
else
    echo; echo '== oracles: skipped, no CUDA toolkit'
    skipped+=('oracles (no CUDA toolkit)')
fi
sass() {
    NVCC=$($make -s print-nvcc) tests/sass/sass-test.sh build/obj/kernels 2>&1 | tee build/sass.log
    local status=${PIPESTATUS[0]}
    reason=$(sed -n 's/^skipped: //p' build/sass.log)
    return "$status"
}
part 'instructions of the ISA layers' sass
echo
for name in "${passed[@]}"; do echo "passed   $name"; done
for name in "${skipped[@]:-}"; do [ -z "$name" ] || echo "skipped  $name"; done
for name in "${failed[@]:-}"; do [ -z "$name" ] || echo "FAILED   $name"; done
echo "${#passed[@]} passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
[ ${#failed[@]} = 0 ]
