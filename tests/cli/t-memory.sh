#!/bin/bash
# diff reads one case at a time: memory and time stay small whatever a file holds.
. "$FP4_SRCDIR/tests/cli/lib.sh"
sanitized && skip 'a sanitizer keeps memory of its own'

fp run -q --case quantize/te/rn/1x16/bf16/normal/64x256/s0 --backend ref --bytes all --stages -o one.json
expect_status 0

cat >measure.py <<'P'
import os, resource, subprocess, sys, time
begin = time.monotonic()
code = subprocess.run([os.environ["FP4CHECK"], *sys.argv[1:]], stdout=open("out", "w"), stderr=open("err", "w")).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, "%.1f" % (time.monotonic() - begin))
P
measured() { # ARGUMENT...: $status, $memory in MiB, $seconds
    ran="fp4check $*"
    read -r status memory seconds < <(python3 measure.py "$@")
    echo "$ran: exit status $status, $memory MiB, $seconds s"
}

# 200 MB in one dump
python <<'P'
lines = open("one.json").read().split("\n")
at = [i for i, l in enumerate(lines) if l.startswith('{"case"')][0]
line = lines[at]
count = 200 * 10**6 // len(line) + 1
with open("large.json", "w") as f:
    f.write("\n".join(lines[:at]) + "\n")
    f.write(",\n".join(line.replace('/s0"', '/s%d"' % i, 1) for i in range(count)))
    f.write('\n],\n"count":%d,"complete":true}\n' % count)
P
cases=$(grep -c '^{"case"' large.json)
measured diff large.json large.json
expect_status 0
expect_last_line out "$cases cases compared: $cases equal"
[ "$memory" -lt 300 ] || problem "$memory MiB for a dump of 200 MB"
rm large.json

# 1 GiB of nonsense in a pipe: no dump, and said soon
nonsense() { # CHARACTER
    ran="1 GiB of '$1' | fp4check diff /dev/stdin one.json"
    read -r status memory seconds < <(python3 -c "
import sys
block = b'$1' * (1 << 20)
try:
    for _ in range(1024):
        sys.stdout.buffer.write(block)
    sys.stdout.flush()
except BrokenPipeError:
    sys.stderr.close()
" | python3 measure.py diff /dev/stdin one.json)
    echo "$ran: exit status $status, $memory MiB, $seconds s"
    expect_trouble '/dev/stdin'
    [ "$memory" -lt 300 ] || problem "$memory MiB"
    [ "${seconds%.*}" -lt 20 ] || problem "$seconds s"
}
nonsense '['
nonsense ' '
nonsense '9'
nonsense '"'
