#!/bin/bash
# The README's examples, run as they stand: every fenced block marked console, in order, in one shell and one folder. A line that begins
# with "$ " is a command and "> " continues it; the other lines are what it prints on standard output. "..." in a line stands for any
# text, a line of its own that is "..." for any number of lines.
. "$FP4_SRCDIR/tests/cli/lib.sh"

mkdir build
ln -s "$FP4CHECK" build/fp4check
ln -s "$FP4_SRCDIR/tests" tests

python "$FP4_SRCDIR/README.md" <<'P'
import os
import re
import subprocess
import sys

MARK = "@@ readme example "


def examples(path):
    """[line number, command, expected lines] of each command."""
    found, inside = [], False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append([number, line[2:], []])
        elif inside and line.startswith("> ") and found and not found[-1][2]:
            found[-1][1] += "\n" + line[2:]
        elif inside:
            found[-1][2].append(line)
    return found


def run(commands):
    """Standard output of each command; $? goes from one to the next."""
    script = "mark() { local s=$?; printf '\\n%s%s\\n' '" + MARK + "' \"$1\"; return $s; }\n"
    for i, command in enumerate(commands):
        script += "mark %d\n%s\n" % (i, command)
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=open("stderr.txt", "wb"))
    parts = re.split("\n?" + re.escape(MARK) + r"\d+\n", done.stdout.decode())
    return [part.splitlines() for part in parts[1:]]


def line_matches(want, got):
    return re.fullmatch(".*".join(re.escape(part) for part in want.split("...")), got) is not None


def matches(want, got):
    if not want:
        return not got
    if want[0] == "...":
        return any(matches(want[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and line_matches(want[0], got[0]) and matches(want[1:], got[1:])


todo = examples(sys.argv[1])
outputs = run([command for _, command, _ in todo])
bad = 0
if len(outputs) != len(todo) or len(todo) < 5:
    print("README: %d commands, %d ran" % (len(todo), len(outputs)))
    bad += 1
for (number, command, want), got in zip(todo, outputs):
    if not matches(want, got):
        bad += 1
        print("README.md:%d: $ %s" % (number, command.splitlines()[0]))
        print("\n".join("  wants | " + line for line in want))
        print("\n".join("  got   | " + line for line in got))
if bad:
    print("standard error of all:")
    print(open("stderr.txt").read())
sys.exit(bad > 0)
P
