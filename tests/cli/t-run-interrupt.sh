#!/bin/bash
# run: Ctrl-C, kill -9, --resume.
. "$FP4_SRCDIR/tests/cli/lib.sh"
selection=(--suite default --op quantize --op sr-fp32x4 --backend ref --bytes all --jobs 1)

fp run -q "${selection[@]}" -o whole.json
expect_status 0
cases=$(grep -c '^{"case"' whole.json)

stop_run() { # SIGNAL FILE RUN-OPTION...: starts a run, and sends the signal when a few hundred KB of FILE.partial are there
    ran="fp4check run $* (sent $1)"
    status=0
    python3 - "$@" <<'P' || status=$?
import os, signal, subprocess, sys, time

sig, path = getattr(signal, sys.argv[1]), sys.argv[2] + ".partial"
before = os.path.getsize(path) if "--resume" in sys.argv else 0
with open("out", "w") as out, open("err", "w") as err:
    p = subprocess.Popen([os.environ["FP4CHECK"], "run", *sys.argv[3:], "-o", sys.argv[2]], stdout=out, stderr=err,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) # the shell ignores it for jobs
    end = time.monotonic() + 120
    while p.poll() is None and time.monotonic() < end:
        try:
            if os.path.getsize(path) > before + 300000:
                break
        except FileNotFoundError:
            pass
        time.sleep(0.002)
    p.send_signal(sig)
    code = p.wait(timeout=120)
sys.exit(code if code >= 0 else 128 - code)
P
}

for sig in SIGINT SIGTERM; do
    rm -f x.json.partial
    echo old >x.json
    stop_run $sig x.json "${selection[@]}"
    expect_status 2
    expect_empty out
    expect_err 'interrupted after' "of $cases cases" 'x.json.partial' '--resume'
    expect_equal "$(cat x.json)" old 'the file that was there'

    # what is left is a dump of its own, and says that it is not whole
    expect_last_line x.json.partial "\"count\":$(grep -c '^{"case"' x.json.partial),\"complete\":false}"
    fp diff whole.json x.json.partial
    expect_status 1
    expect_out incomplete 'only in A'
    fp bless -m reason x.json.partial golden.json
    expect_trouble 'interrupted'
    expect_no_file golden.json MANIFEST

    fp run "${selection[@]}" --resume -o x.json
    expect_status 0
    expect_err "of $cases cases taken over from 'x.json.partial'"
    expect_same_dump x.json whole.json
    expect_no_file x.json.partial
done

# killed, then interrupted while it is resumed, then resumed with another number of threads
rm -f x.json x.json.partial
stop_run SIGKILL x.json "${selection[@]}"
expect_status 137
expect_no_file x.json
expect_file x.json.partial
stop_run SIGINT x.json "${selection[@]}" --resume
expect_status 2
fp run -q "${selection[@]}" --jobs 2 --resume -o x.json
expect_status 0
expect_same_dump x.json whole.json

# without --resume it starts afresh
stop_run SIGKILL x.json "${selection[@]}"
expect_same_dump x.json whole.json
fp run -q "${selection[@]}" -o x.json
expect_status 0
expect_no_file x.json.partial

# two runs with one output: the second one takes it, the first one says so and does not replace it
"$FP4CHECK" run "${selection[@]}" -o same.json >first.out 2>first.err &
pid=$!
for ((i = 0; i < 1000; i++)); do
    [ -s same.json.partial ] && break
    sleep 0.01
done
fp run -q --suite smoke --op philox --backend ref -o same.json
expect_status 0
cp same.json second.json
wait $pid
expect_equal $? 2 'exit status of the first run'
has first.err 'replaced by another run'
has first.err same.json.partial
expect_same same.json second.json

# on standard output nothing can be resumed
ran='fp4check run -o - (sent SIGINT)'
python <<'P'
import os, signal, subprocess
p = subprocess.Popen([os.environ["FP4CHECK"], "run", "--suite", "default", "--jobs", "1", "-o", "-"], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
p.stdout.read(100000)
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=120)
assert p.returncode == 2, p.returncode
assert b"interrupted after" in err and b"partial" not in err and b"resume" not in err, err
P
