#!/bin/bash
# Backends that are wrong on purpose (tests/faulty): each fault is named for what it is and costs its own case, the others are as they
# should be, the next case has a fresh process, and no process is left over.
. "$FP4_SRCDIR/tests/cli/lib.sh"
. "$FP4_SRCDIR/tests/cli/faults.sh"

fault oob "backend 'faulty-oob' wrote 200 bytes beyond the end of 'codes' \([0-9]+ bytes\), up to 300 past it"
fault onebyte "backend 'faulty-onebyte' wrote 1 byte beyond the end of 'codes' \([0-9]+ bytes\), up to 1 past it"
fault partial "backend 'faulty-partial' never wrote 1 of the [0-9]+ bytes of 'codes', first byte [0-9]+"
fault silent "backend 'faulty-silent' never wrote '[a-z-]+': its [0-9]+ bytes are still the poison 0xca"
fault random "two runs of backend 'faulty-random' differ in 1 of the [0-9]+ bytes of 'codes', first in byte 5: not deterministic, or another function without stages"
fault hang "backend 'faulty-hang' gave no answer within 1 s: its process was killed" --timeout 1
fault trap "the process of backend 'faulty-trap' died of signal 4 \(Illegal instruction\)"
fault abort "the process of backend 'faulty-abort' died of signal 6 \(Aborted\)"
fault kill "the process of backend 'faulty-kill' died of signal 9 \(Killed\): someone, or the lack of memory, killed it"
fault exit "the process of backend 'faulty-exit' ended with status 0 before it had answered"
fault babble "the process of backend 'faulty-babble' answered something else than was asked, and was killed"
fault mute "the process of backend 'faulty-mute' (ended with status 2 before it had answered|closed its connection .*)"
if sanitized; then
    fault far "the process of backend 'faulty-far' ended with status [0-9]+ before it had answered"
else
    fault far "the process of backend 'faulty-far' died of signal 11 \(Segmentation fault\)"
fi

# what is printed reaches the user and not the answers
run_faulty noise
expect_status 0
expect_out ": $cases ok, 0 skipped, 0 error"
expect_no_out 'noise from a backend'
expect_equal "$(grep -c 'noise from a backend, -1 at the end of standard input' err)" $((3 * bad)) 'lines that a backend printed'
fp diff ref.json:ref x.json:faulty-noise
expect_status 0

# what is no input decides: bytes behind the input, padding, the call before
fault behind "backend 'faulty-behind': '[a-z-]+' depends on bytes that lie behind the end of an input: it reads past the end"
fault late "backend 'faulty-late': '[a-z-]+' is another one after a call with another amax: an amax of the call before is used, the right one comes too late"
fault stride "backend 'faulty-stride': 'block-scale' is another one after a call with another shape: a stride or an extent of the call before is used"
fp run --case 'dequantize/te/swizzled/f32/*/129x80/s0' --case 'dequantize/te/f32/allcodes/129x80/s0' --backend faulty-padding -o x.json
expect_status 1
expect_equal "$(grep -c "backend 'faulty-padding': 'dequantized' depends on bytes that are padding of an input: padding leaks in" x.json)" 2 'cases in error'
expect_out ': 1 ok, 0 skipped, 2 error'

# what ref would not have made is diagnosed at once
run_faulty nibbles --backend ref
expect_status 0
expect_out "backend 'faulty-nibbles' differs from ref in $bad of $cases cases; diagnosis:" \
    'B (faulty-nibbles): the two nibbles of every byte are exchanged [nibbles-exchanged, O2]' 'explains 100% of'
run_faulty none --backend ref
expect_no_out diagnosis

# zeros do not come as far as the first case; the others go on, and the exit status tells
run_faulty zero --backend ref
expect_status 1
expect_err "backend 'faulty-zero' cannot run: canary: the identity block gave codes 00 00 00 00.. and scale 00"
expect_err "run: 1 of the backends cannot be believed"
expect_out ": $cases ok, $cases skipped, 0 error"
expect_equal "$(grep -cv identity log)" 0 'cases after the canary'
run_faulty zero
expect_status 2
expect_err 'nothing ran'
fp list backends
expect_out 'faulty-zero cannot run here: canary: the identity block gave codes 00 00 00 00'

# ---- a device that is lost -----------------------------------------------------------------------------------------------------------------

rm -f gone.*
run_faulty gone
expect_status 1
expect_err "device 0 is left out for backend 'faulty-gone': the device is lost"
before=$(($(grep -nm1 /ties/ names | cut -d: -f1) - 1))
expect_out ": $before ok, 0 skipped, $((cases - before)) error"
has x.json "backend 'faulty-gone' cannot be started any more: the device is lost"
fp list backends
expect_out 'faulty-gone cannot run here: the device is lost'

# the others of its kind take its cases
rm -f gone.*
touch gone.3
fp run "${selection[@]}" --backend faulty-gone --device 1,2 --case '*/normal/*' -o x.json
expect_status 0
rm -f gone.*
run_faulty gone --device 0,1,2,3
expect_status 1
expect_err 'on device ' 'the device has fallen off the bus'
expect_equal "$(grep -c 'has fallen off' x.json)" "$((bad < 4 ? bad : 4))" 'cases that a device was lost on'

# ---- several devices ------------------------------------------------------------------------------------------------------------------------

rm -f log
fp run "${selection[@]}" --backend ref --backend faulty-none -o one.json
expect_status 0
expect_equal "$(cut -d' ' -f2 log | sort -u)" 0 'devices that computed'
has one.json '"a device of kind A"'
for devices in 0,1,2,3 3,1 2; do
    for jobs in 1 2 5; do
        rm -f log
        fp run "${selection[@]}" --backend ref --backend faulty-none --device $devices --jobs $jobs -o many.json
        expect_status 0
        expect_same_dump one.json many.json
        expect_equal "$(cut -d' ' -f2 log | sort -un | tr '\n' ,)" "$(echo $devices | tr , '\n' | sort -n | tr '\n' ,)" 'devices that computed'
        expect_equal "$(cut -d' ' -f1 log | sort -u | wc -l)" "$(echo $devices | tr , '\n' | wc -l)" 'processes that computed'
    done
done
has many.json '--device 2'
fp list backends --device 0,1,2,3
expect_out 'faulty-none runs here: does nothing wrong (devices 0,1,2,3: a device of kind A)'

# faults, on several devices: the same cases, the same reasons
for name in onebyte trap; do
    fp run "${selection[@]}" --backend faulty-$name -o one.json
    expect_status 1
    rm -f log
    fp run "${selection[@]}" --backend faulty-$name --device 0,1,2,3 -j 4 -o many.json
    expect_status 1
    expect_same_dump one.json many.json
    expect_err 'on device '
    no_process_left
done

# verify deals to all of them as well, and a fault is an error of its case there too
rm -f log
fp verify --backend faulty-none --device 1,2 ref.json
expect_status 0
expect_equal "$(cut -d' ' -f2 log | sort -u | tr '\n' ' ')" '1 2 ' 'devices that computed'
rm -f log
fp verify --backend faulty-hang --timeout 1 --case '*/ties/16x64/*' --case '*/normal/*' ref.json
expect_status 1
expect_out "gave no answer within 1 s: its process was killed"
no_process_left
fp show --backend faulty-none --device 3 quantize/te/rn/1x16/bf16/ties/32x64/s0
expect_status 0
fp show --backend faulty-trap quantize/te/rn/1x16/bf16/ties/32x64/s0
expect_trouble 'died of signal 4'
no_process_left

# ---- what is wrong with --device and --timeout ------------------------------------------------------------------------------------------------

for command in verify list show; do
    for devices in '' , 0, ,0 a -1 0,x 0x1 1.5 '0 1' 10000; do
        fp $command --device "$devices" backends
        expect_trouble --device "'$devices'"
    done
done
for devices in '' 0, a 0,x; do
    fp run "${selection[@]}" --device "$devices" -o y.json
    expect_trouble "--device is a device or several, such as 0 or 0,1, not '$devices'"
done
fp run "${selection[@]}" --device 1,2,1 -o y.json
expect_trouble 'device 1 is given twice'
fp run "${selection[@]}" --device 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 -o y.json
expect_trouble 'at most 16 devices'
fp run "${selection[@]}" --backend ref --backend faulty-none --device 8 -o y.json
expect_trouble "--device 8: backend 'faulty-none': there is no device 8: the driver shows 8, counted from 0"
fp run "${selection[@]}" --backend faulty-none --device 0,8 -o y.json
expect_trouble 'device 8: there is no device 8'
fp run "${selection[@]}" --backend faulty-none --device 3,4 -o y.json
expect_trouble 'devices 3 and 4 are not of one kind (a device of kind A | a device of kind B)'
fp run "${selection[@]}" --device 9 -o y.json
expect_trouble '--device 9: no backend can run there (backend '
fp list backends --device 8
expect_status 0
expect_out 'faulty-none cannot run here: there is no device 8'
fp list backends --device 5
expect_out 'faulty-none runs here: does nothing wrong (device 5: a device of kind B)'
for seconds in 0 -1 x '' 1.5 1000001; do
    fp run "${selection[@]}" --timeout "$seconds" -o y.json
    expect_trouble "--timeout is a number of seconds from 1 to 1000000, not '$seconds'"
done
expect_no_file y.json y.json.partial

# ---- Ctrl-C, and a parent that is gone -----------------------------------------------------------------------------------------------------------

rm -f log
ran='fp4check run, interrupted'
python <<'P'
import os, signal, subprocess, time

def start(*more):
    try:
        os.unlink("log")
    except FileNotFoundError:
        pass
    p = subprocess.Popen([os.environ["FP4CHECK"], "run", "--suite", "smoke", "--op", "quantize", "--backend", "faulty-hang", "-o", "i.json", *more],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end = time.monotonic() + 60
    while time.monotonic() < end:  # until a case hangs
        try:
            lines = open("log").read().splitlines()
            if lines and "/ties/" in lines[-1]:
                return p, [int(l.split()[0]) for l in lines]
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    raise SystemExit("no case began")

def gone(pids):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if not any(os.path.exists(f"/proc/{pid}/exe") and os.access(f"/proc/{pid}", os.F_OK) for pid in pids):
            return
        time.sleep(0.02)
    raise SystemExit(f"processes of {pids} are left over")

# the whole group gets the signal, as from a terminal: not a case in error, no wait for the time-out, no process left
p, pids = start("--jobs", "1")
begin = time.monotonic()
os.killpg(p.pid, signal.SIGINT)
out, err = p.communicate(timeout=60)
assert p.returncode == 2, (p.returncode, err)
assert b"interrupted after" in err and b"--resume" in err, err
assert time.monotonic() - begin < 20, "waited for the hanging case"
partial = open("i.json.partial").read()
assert '"status":"error"' not in partial, partial[-2000:]
gone(pids)

# killed: the workers notice, whatever they are doing
p, pids = start("--device", "0,1", "--jobs", "2")
p.kill()
p.communicate()
gone(pids)
P
expect_no_file i.json
fp run "${selection[@]}" --backend faulty-hang --timeout 1 --resume -o i.json
expect_status 1
expect_out "$bad error"

# with its standard descriptors closed
ran='fp4check run, without standard descriptors'
"$FP4CHECK" run "${selection[@]}" --backend faulty-noise -o closed.json <&- >&- 2>&-
expect_file closed.json
fp diff ref.json:ref closed.json:faulty-noise
expect_status 0

# the program itself has none of these
ran=
FP4CHECK=$(dirname "$(dirname "$FP4CHECK")")/fp4check
fp list backends
expect_no_out faulty
