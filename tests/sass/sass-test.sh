#!/bin/bash
# What the compiler made of the ISA layers, also for GPUs that are not here: which conversion instructions, how many instructions per four
# elements, no local memory, nothing of FP4 in the soft layer. Exit status 77 and a reason where nvcc or a disassembler is missing
# (`make sass-deps` sets one up below build/).
#
#   tests/sass/sass-test.sh [OBJECT-FOLDER]     of a build (default build/obj/kernels): all kernels in it are looked at, too; for an
#                                               architecture that it has no code for, convert.cu is compiled
set -u
cd "$(dirname "$0")/../.." || exit 1
objects=${1:-build/obj/kernels}
skip() { echo "skipped: $1"; exit 77; }

nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || skip 'no CUDA toolkit'
command -v python3 >/dev/null || skip 'python3 is not installed'
find_tool() { # NAME: on PATH, in the toolkit, or in build/venv
    command -v "$1" && return
    local path
    for path in "$(dirname "$(readlink -f "$nvcc")")/$1" build/venv/lib/python3*/site-packages/nvidia/*/bin/"$1"; do
        [ -x "$path" ] && echo "$path" && return
    done
}
nvdisasm=$(find_tool nvdisasm)
cuobjdump=$(find_tool cuobjdump)
[ -n "$nvdisasm" ] || skip 'no disassembler: nvdisasm is not on PATH, not beside nvcc and not in build/venv (make sass-deps)'
PATH=$PATH:$(dirname "$(readlink -f "$nvdisasm")") # cuobjdump calls nvdisasm

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0
release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
exact=
[ "$release" = 13.0 ] && exact=--exact # the budgets are those of one compiler
archs=${ARCHS:-sm_80 sm_90 sm_100a sm_103a sm_120a sm_121a}

compile() { # SOURCE ARCH: cubin, ptxas's report, SASS
    local base
    base=$scratch/$(basename "$1" .cu).$2
    if ! "$nvcc" -arch="$2" -std=c++17 --fmad=false -O3 -Ireference -Ikernels -Xptxas -v -cubin "$1" -o "$base.cubin" >"$base.log" 2>&1; then
        cat "$base.log"
        echo "FAILED: $1 does not compile for $2"
        return 1
    fi
    if grep -E 'spill (stores|loads)' "$base.log" | grep -qvE '\b0 bytes spill stores, 0 bytes spill loads'; then
        echo "FAILED: ptxas spills in $1 for $2"
        failed=1
    fi
    "$nvdisasm" -c "$base.cubin" >"$base.sass" || { echo "FAILED: nvdisasm on $1 for $2"; return 1; }
}

echo "instructions per four elements (nvcc $release; loads, stores and parameters apart; rn8: multiply and round eight)"
printf '%-6s %-8s %-9s %5s %4s %5s %5s %5s %5s  %s\n' layer arch what total FP4 'cvt' int FP 'other' 'FP4 instructions'
for arch in $archs; do
    compile tests/sass/probe.cu "$arch" || { failed=1; continue; }
    python3 tests/sass/count.py probe "$arch" "$scratch/probe.$arch.sass" $exact >>"$scratch/table" || failed=1
done
sort -s -k1,1r -k3,3 -k2,2 "$scratch/table"

echo
if [ -n "$cuobjdump" ]; then
    for object in "$objects"/*.o; do
        [ -e "$object" ] || continue
        "$cuobjdump" -sass "$object" >"$scratch/all" 2>/dev/null || continue # no device code in it
        awk -v out="$scratch/$(basename "$object" .o)" '/^\tcode for sm_/ { arch = $3 } arch { print > (out "." arch ".objsass") }' "$scratch/all"
    done
fi
for arch in $archs; do
    if cat "$scratch"/*."$arch".objsass >"$scratch/kernels.$arch" 2>/dev/null; then
        echo "all kernels of $objects for $arch"
    else
        echo "kernels of convert.cu for $arch"
        compile kernels/convert.cu "$arch" || { failed=1; continue; }
        mv "$scratch/convert.$arch.sass" "$scratch/kernels.$arch"
    fi
    python3 tests/sass/count.py kernels "$arch" "$scratch/kernels.$arch" || failed=1
done
[ $failed = 0 ] && echo 'sass: passed'
exit $failed
