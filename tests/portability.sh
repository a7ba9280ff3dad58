#!/bin/bash
# One suite, the same bytes: gcc -O0 and -O3, clang -O2, aarch64 gcc -O0 and -O3 under qemu. Provenance is the only line that may differ.
# usage: tests/portability.sh [SUITE]
set -eu
cd "$(dirname "$0")/.."
suite=${1:-smoke}
out=build/portability
mkdir -p $out
failed=0
without_provenance() { grep -v '^"provenance":' "$1"; }
judge() { # NAME: compares $out/NAME.json with the first one
    if cmp -s <(without_provenance $out/reference.json) <(without_provenance "$out/$1.json"); then
        echo "portability: $1: the same bytes ($(grep -c '^{"case"' "$out/$1.json") cases)"
    else
        echo "portability: $1: DIFFERENT from the default build"
        build/fp4check diff $out/reference.json "$out/$1.json" | head -n 40 || true
        failed=1
    fi
}
make --no-print-directory build/fp4check >/dev/null
build/fp4check run -q --suite "$suite" --backend ref --bytes all --stages -o $out/reference.json >/dev/null
native() { # NAME, make variables...
    local name=$1
    shift
    make --no-print-directory -j2 WERROR=0 CUDA=0 BUILD=build/"$name" "$@" build/"$name"/fp4check >/dev/null
    build/"$name"/fp4check run -q --suite "$suite" --backend ref --bytes all --stages -o "$out/$name.json" >/dev/null
    judge "$name"
}
native gcc-O0 CC=gcc OPT=-O0
native gcc-O3 CC=gcc OPT=-O3
native gcc-native CC=gcc OPT='-O3 -march=native'
if command -v clang >/dev/null; then
    native clang-O2 CC=clang OPT=-O2
else
    echo 'portability: clang: skipped: not installed'
fi
for level in O0 O3; do
    status=0
    tests/aarch64-build.sh -$level build/aarch64-$level >build/aarch64-$level.log 2>&1 || status=$?
    if [ $status = 77 ]; then
        tail -n 1 build/aarch64-$level.log
        continue
    fi
    [ $status = 0 ] || { tail -n 20 build/aarch64-$level.log; exit 1; }
    build/aarch64-$level/run build/aarch64-$level/fp4check run -q --suite "$suite" --backend ref --bytes all --stages \
        -o $out/aarch64-$level.json >/dev/null
    judge aarch64-$level
    if [ $level = O3 ]; then
        echo -n 'portability: aarch64 conformance: '
        build/aarch64-O3/run build/aarch64-O3/tests/conformance tests/conformance/vectors | tail -n 1
    fi
done
exit $failed
