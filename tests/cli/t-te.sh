#!/bin/bash
# Backend `te` against a stand-in for Transformer Engine's library (tests/fakete): the calls it makes, where it finds the library, and what
# it says of one that is missing, too old, of another ABI, or that throws, aborts, prints, leaves zeros or writes where it must not.
. "$FP4_SRCDIR/tests/cli/lib.sh"

tests=$(dirname "$FP4CHECK")/tests
[ -e "$tests/libfakete.so" ] || tests=$(dirname "$(dirname "$FP4CHECK")")/tests
for library in libfakete libfakete-old libfakete-part; do
    [ -e "$tests/$library.so" ] || problem "there is no $tests/$library.so: make cli-tests makes it"
done
unset FP4CHECK_TE_LIB FP4CHECK_TE_TRY FAKETE_CC FAKETE_MODE VIRTUAL_ENV CONDA_PREFIX PYTHONPATH
export HOME=$PWD

# ---- no library ---------------------------------------------------------------------------------------------------------------------------

python='' # a machine with a wheel has the library without being told
if ! "$FP4CHECK" list backends | grep -q '^te .*was not found'; then
    python=there
fi
if [ -z "$python" ]; then
    fp run --suite smoke --backend te -o none.json
    expect_status 2
    expect_err "backend 'te' cannot run: libtransformer_engine.so was not found: get it with \`pip install transformer-engine-cu13\`" \
        'name it with --te-lib PATH or FP4CHECK_TE_LIB' 'nothing ran: every case was skipped'
    expect_out ' cases: 0 ok, ' ' skipped, 0 error'
    expect_equal "$(grep -c '"status":"skipped","reason":"libtransformer_engine.so was not found' none.json)" "$(grep -c '^{"case"' none.json)" 'cases that say why'
    fp run --suite smoke --backend te --backend ref
    expect_status 0
    fp list backends
    expect_status 0
    expect_out 'te         cannot run here: libtransformer_engine.so was not found: get it with'
    fp run --suite smoke --op swizzle -o default.json # not asked for and not there: not in the dump
    expect_status 0
    lacks default.json '"te"'
fi
fp run --op swizzle --backend te --te-lib nowhere.so
expect_status 2
expect_err "there is no Transformer Engine library 'nowhere.so'"
echo text >text.so
fp run --op swizzle --backend te --te-lib text.so
expect_status 2
expect_err "/text.so' is not a shared library"
head -c 5000 "$tests/libfakete.so" >cut.so
fp run --op swizzle --backend te --te-lib cut.so
expect_status 2
expect_err "/cut.so' is cut off"
fp run --op swizzle --backend te --te-lib "$tests/libfakete-old.so"
expect_status 2
expect_err 'libfakete-old.so'\'' lacks nvte_set_tensor_param_v2: it is too old, or not Transformer Engine'
python3 - "$tests/libfakete.so" <<'P'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[18:20] = (243).to_bytes(2, "little")  # RISC-V
open("foreign.so", "wb").write(b)
b = bytes(open(sys.argv[1], "rb").read())
open("cudnn.so", "wb").write(b.replace(b"libgcc_s.so.1\0", b"libcudnn.so.8\0"))
open("nccl.so", "wb").write(b.replace(b"libgcc_s.so.1\0", b"libnccl.so.27\0"))
P
fp run --op swizzle --backend te --te-lib foreign.so
expect_status 2
expect_err "/foreign.so' is a library for another kind of machine (ELF machine 243)"
fp run --op swizzle --backend te --te-lib cudnn.so
expect_status 2
expect_err "/cudnn.so': libcudnn.so.8: cannot open shared object file" 'it needs cuDNN 9'
fp run --op swizzle --backend te --te-lib nccl.so
expect_err 'libnccl.so.27: cannot open shared object file' 'it needs NCCL'
FAKETE_MODE=abi fp run --op swizzle --backend te --te-lib "$tests/libfakete.so"
expect_status 2
expect_err 'describes a tensor in 136 bytes, this program in 144: its version has another ABI'
FAKETE_MODE=nodevice fp list backends --te-lib "$tests/libfakete.so"
expect_status 0
expect_out 'te         cannot run here: CUDA: no device: no CUDA-capable device is detected'
fp run --op swizzle --backend te --te-lib "$tests/libfakete.so" --device 2
expect_trouble 'there is no device 2: the driver shows 2, counted from 0'

# ---- where it is found, and which version -------------------------------------------------------------------------------------------------

export PYTHONPATH=$PWD/site
mkdir -p site/transformer_engine/wheel_lib site/transformer_engine_cu13-2.99.1.dist-info venv/bin venv/lib/python3.99/site-packages
cp "$tests/libfakete.so" site/transformer_engine/wheel_lib/libtransformer_engine.so
fp list backends
expect_out 'te         runs here: Transformer Engine itself, its library loaded at run time (device 0: Transformer Engine 2.99.1, build id ' \
    'Fake GPU, compute capability 9.0, driver CUDA 13.0, runtime 13.0)'
mv site/transformer_engine site/transformer_engine_cu13-2.99.1.dist-info venv/lib/python3.99/site-packages
PYTHONPATH='' VIRTUAL_ENV=$PWD/venv fp list backends
expect_out 'Transformer Engine 2.99.1'
ln -s /bin/true venv/bin/python3
PYTHONPATH='' PATH=$PWD/venv/bin:$PATH fp list backends
expect_out 'Transformer Engine 2.99.1'
cp cudnn.so venv/lib/python3.99/site-packages/transformer_engine/wheel_lib/libtransformer_engine.so
PYTHONPATH='' VIRTUAL_ENV=$PWD/venv fp run --op swizzle --suite smoke -o default.json # found, and of no use: nobody asked for it
expect_status 0
lacks default.json '"te"'
unset PYTHONPATH
# a library of an nvidia-* wheel beside it
mkdir -p venv/lib/python3.99/site-packages/nvidia/cudnn/lib
cp "$tests/libfakete.so" venv/lib/python3.99/site-packages/nvidia/cudnn/lib/libcudnn.so.8
fp list backends --te-lib venv/lib/python3.99/site-packages/transformer_engine/wheel_lib/libtransformer_engine.so
expect_out 'te         cannot run here: cannot load' 'libcudnn.so.8'

# ---- right answers --------------------------------------------------------------------------------------------------------------------------

export FP4CHECK_TE_LIB=$tests/libfakete.so
fp run --suite te-sm90 --case '*[0-9]x[0-9][0-9]/s0' --case '*x128/s0' --backend ref --backend te -o h.json
expect_status 0
expect_out ' 0 skipped, 0 error'
fp diff h.json:ref h.json:te
expect_status 0
expect_out ' equal'
for path in 'vector-blockwise kernel' 'Hadamard transform and vector-blockwise kernel' 'dequantize kernel'; do
    has h.json "\"backend\":\"te\",\"status\":\"ok\",\"path\":\"$path\",\"tensors\""
done
has h.json '"name":"transformed.t"'
fp run --suite te-sm90 --op swizzle --case '*x[0-9]/s0' --backend te -o s.json
expect_status 0
has s.json '"path":"swizzle kernel"'
has s.json '"path":"unswizzle kernel"'
for cc in 100 120; do
    export FAKETE_CC=$cc
    # (recipe te-fast of the transform divides by the device's approximate reciprocal, which the stand-in has not)
    fp run --suite te --case 'quantize/*64/s0' --case 'quantize/*x128/s0' --case 'four-over-six/*' --case 'rht-quantize/te/*x128/s0' --backend ref --backend te --no-stages -o b.json
    expect_status 0
    fp diff b.json:ref b.json:te
    expect_status 0
    for path in 'tuned 1-D kernel' '2-D kernel' 'vector-blockwise kernel' 'group kernel' '4over6 kernel' 'columnwise Hadamard fusion' \
        'row_cast_col Hadamard fusion' 'Hadamard transform and tuned 1-D kernel'; do
        has b.json "\"path\":\"$path\""
    done
    [ $cc = 120 ] || has b.json '"path":"group row_cast_col Hadamard fusion"'
done
has b.json 'on compute capability 12.0 Transformer Engine rounds stochastically in software: rs-model te-soft'
has b.json 'rounds stochastically by cvt.rs only, which 12.0 lacks'
unset FAKETE_CC

# a golden of this backend, on a machine with the library and on one without
fp run --suite te-sm90 --op swizzle --backend te --bytes 64 -o g.json
expect_status 0
fp verify --backend te g.json
expect_status 0
FP4CHECK_TE_LIB='' fp verify --backend ref g.json
expect_status 0
expect_out ' equal'

# ---- what a device or a version cannot ----------------------------------------------------------------------------------------------------------

refused() { # CASE REASON
    fp run --case "$1" --backend te -o r.json
    expect_status 2
    has r.json "\"status\":\"skipped\",\"reason\":\"$2"
}
old='on compute capability 9.0 Transformer Engine'"'"'s'
refused quantize/te/rn/1x16/f32/normal/48x80/s0 "$old vector-blockwise kernel has no nearest conversion there"
refused quantize/te/sr/1x16/te-soft/bf16/normal/64x64/s0 "$old tuned 1-D kernel needs a tensor map of FP4"
refused quantize/te/sr/1x16/amax-row/te-soft/f32/normal/48x80/s0 "$old vector-blockwise kernel has no row amax there"
refused quantize/te/sr/1x16/f32/normal/48x80/s0 'on compute capability 9.0 Transformer Engine rounds stochastically in software: rs-model te-soft'
refused quantize/te/sr/1x16/te-soft/tuned/bf16/normal/64x64/s0 "$old tuned 1-D kernel needs"
refused quantize/te/sr/1x16/te-soft/vector/bf16/normal/64x64/s0 'Transformer Engine takes its tuned 1-D kernel for this case, which draws by another stream'
refused quantize/te/sr/1x16/te-soft/rbits/f32/normal/48x80/s0 'Transformer Engine draws its random words itself'
refused quantize/te/sr/1x16/te-soft/r7/f32/normal/48x80/s0 'a usual build of Transformer Engine has Philox with 10 rounds'
refused quantize/te-ref/rn/1x16/f32/normal/48x80/s0 'the library computes recipes te and te-fast'
refused rht-quantize/te/rn/bf16/normal/64x128/s0 "$old columnwise Hadamard fusion prints that it needs Blackwell"
refused four-over-six/te/mae/1x16/bf16/four-ties/16x64/s0 "$old 4over6 kernel prints errors there and writes nothing"
refused cvt-rn/ptx/f32/boundaries/256x4/s0 "Transformer Engine's library has no function for this alone"
FAKETE_CC=80 refused rht-quantize/te/sr/te-soft/kernel-unfused/bf16/normal/48x80/s0 'on compute capability 8.0 Transformer Engine has no Hadamard transform'
FAKETE_CC=100 refused quantize/te/sr/1x16/te-soft/f32/normal/48x80/s0 'on compute capability 10.0 Transformer Engine rounds by cvt.rs, not by te-soft'
FP4CHECK_TE_LIB=$tests/libfakete-part.so refused rht-quantize/te/sr/te-soft/kernel-unfused/bf16/normal/48x80/s0 \
    'this version of Transformer Engine exports no Hadamard transform and vector-blockwise kernel'

fp list backends --te-lib "$tests/libfakete-part.so"
expect_out 'runtime 13.0, without fakete_of_another_version)'

# tried all the same: what the kernels print, leave and throw is an error of its case
failed() { # CASE REASON
    fp run --case "$1" --backend te -o r.json
    expect_status 1
    has r.json "\"status\":\"error\",\"reason\":\"$2"
}
export FP4CHECK_TE_TRY=1
failed quantize/te/rn/1x16/f32/normal/48x80/s0 'the library printed: /fakete/quantize.cu:7 in function quantize_kernel (thread (0,0,0), block (0,0,0)): FP4 cvt PTX instructions are architecture-specific.: the library left zeros in'
failed rht-quantize/te/rn/bf16/normal/64x128/s0 "the library printed: /fakete/rht.cu:7 in function rht_kernel (thread (0,0,0), block (0,0,0)): RHT fusion is only supported on Blackwell."
failed four-over-six/te/mae/1x16/bf16/four-ties/16x64/s0 "the library printed: /fakete/4over6.cu:7 in function 4over6_kernel (thread (0,0,0), block (0,0,0)): sm_100 or higher is required."
sanitized || failed quantize/te/sr/1x16/te-soft/bf16/normal/64x64/s0 \
    'Transformer Engine threw an exception: /fakete/cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE in one of its functions: Assertion failed'
unset FP4CHECK_TE_TRY

# ---- faults: each costs its case, and the others go on ---------------------------------------------------------------------------------------------

cases=(--case 'quantize/te/sr/1x16/te-soft/f32/normal/32x80/s0' --case 'quantize/te/sr/1x16/te-soft/f32/normal/48x80/s0'
    --case 'quantize/te/sr/1x16/te-soft/f32/normal/64x80/s0')
fault() { # MODE REASON
    FAKETE_MODE=$1 fp run "${cases[@]}" --backend te -o f.json
    expect_status 1
    expect_out '3 cases: 2 ok, 0 skipped, 1 error'
    has f.json "$2"
}
if ! sanitized; then # which does not see a C++ runtime that comes later
    fault throw 'Transformer Engine threw an exception: /fakete/quantize.cu:48 in function quantize: Assertion failed: rows != 48. Forty-eight is refused'
    FAKETE_MODE=throw-load fp run "${cases[@]}" --backend te
    expect_status 2
    expect_err "backend 'te' cannot run: Transformer Engine threw an exception: nothing can be made here"
    fault segv "the process of backend 'te' died of signal 11"
fi
fault abort 'Transformer Engine aborted: it printed no reason'
fault zeros "the library left zeros in 'codes' under block scales that are not: its build cannot convert on this device"
fault print 'the library printed: ERROR: Block (0,0,0), Thread (1,0,0): FP4 instructions are not here. Try recompiling'
fault cuda 'CUDA: kernel: an illegal memory access was encountered'
fault oob "the library wrote beyond the end of 'codes' (1920 bytes), up to 10 past it"
FAKETE_MODE=noise fp run "${cases[@]}" --backend te
expect_status 0
expect_err 'fakete: a remark'
FAKETE_MODE=all-zeros fp run "${cases[@]}" --backend te
expect_status 2
expect_err "backend 'te' cannot run: the library left zeros in 'codes' under block scales that are not"
FAKETE_MODE=flip fp run "${cases[@]}" --backend te --backend ref -o f.json
expect_status 0
fp diff f.json:ref f.json:te
expect_status 1
expect_out 'codes e2m1 [48,80]: 1 of 3840 differ'
