#!/bin/bash
# Results on stdout, all else on stderr; colours; --quiet; progress on a terminal only.
. "$FP4_SRCDIR/tests/cli/lib.sh"
esc=$(printf '\033')
case=quantize/te/rn/1x16/bf16/ties/16x64/s0

fp run --suite smoke --backend ref --bytes all -o a.json
expect_status 0
expect_out 'cases: ' 'quantize '
matches err 'fp4check: [0-9.]+ s'
fp run -q --suite smoke --backend ref -o q.json
expect_empty err
[ -s out ] || problem '--quiet takes the result away'
fp run --quiet --suite smok
expect_status 2
expect_err "unknown suite 'smok'" # errors stay
expect_empty out
dumps a.json b.json set $case codes 5 7
fp diff a.json b.json
expect_empty err
cp out plain
fp diff --quiet a.json b.json
expect_empty err
expect_same out plain

# colours: NO_COLOR is set here
lacks plain "$esc"
fp diff --color=always a.json b.json
expect_status 1
has out "${esc}["
sed "s/${esc}\[[0-9;]*m//g" out >stripped
expect_same stripped plain
fp --color=always diff a.json nothere.json
expect_status 2
has err "${esc}["
fp diff --color a.json b.json
has out "${esc}["
for mode in never auto; do
    fp diff --color=$mode a.json b.json
    expect_same out plain
done
NO_COLOR='' fp diff a.json b.json # no terminal
expect_same out plain
for form in json junit markdown; do # no escapes in what programs read
    fp diff --color=always a.json b.json --$form -
    lacks out "$esc"
done
fp run --color=always --suite smoke --op philox --backend ref -o -
lacks out "$esc"

# on a terminal
cat >terminal.py <<'P'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(os.environ["FP4CHECK"], ["fp4check", *sys.argv[1:]])
text = b""
while True:
    try:
        got = os.read(fd, 65536)
    except OSError:
        got = b""
    if not got:
        break
    text += got
sys.stdout.buffer.write(text)
sys.stdout.flush()
sys.exit(os.waitpid(pid, 0)[1] >> 8)
P
on_terminal() {
    ran="fp4check $* on a terminal"
    status=0
    python3 terminal.py "$@" >out 2>err || status=$?
}
on_terminal diff a.json b.json
expect_status 1
lacks out "${esc}[3" # NO_COLOR
unset NO_COLOR
on_terminal diff a.json b.json
expect_status 1
has out "${esc}[3"
on_terminal diff --color=never a.json b.json
lacks out "${esc}[3"
export NO_COLOR= # empty is not set
on_terminal diff a.json b.json
has out "${esc}[3"
on_terminal run --suite default --op quantize --backend ref -o c.json
expect_status 0
expect_out ' s left'
on_terminal run -q --suite default --op philox --backend ref -o c.json
expect_no_out ' s left'
fp run --suite default --op philox --backend ref -o c.json
expect_no_err ' s left'
