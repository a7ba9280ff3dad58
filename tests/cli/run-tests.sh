#!/bin/bash
# Runs the command-line tests: each t-*.sh here, in an empty folder of its own, two at a time.
# usage: run-tests.sh PROGRAM [PATTERN]      PATTERN: a part of the names, * and ? allowed
#
# A test finds FP4CHECK (the program, absolute), FP4_SRCDIR (the repository), LC_ALL=C and NO_COLOR=1; CI is unset. Exit status 0 is a
# pass, 77 a skip whose reason is the last line of the output, anything else a failure, whose output is shown. The exit status here is 1
# when a test failed, and when none passed: a run in which nothing ran is no pass.
set -u
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ ! -x "$1" ]; then
    echo "usage: $0 PROGRAM [PATTERN]" >&2
    exit 2
fi
FP4CHECK=$(realpath "$1")
FP4_SRCDIR=$(realpath "$(dirname "$0")/../..")
pattern=${2:-}
limit=${FP4_TEST_TIMEOUT:-600} # seconds for one test: a hang is a failure, not a wait
export FP4CHECK FP4_SRCDIR LC_ALL=C NO_COLOR=1
unset CI GITHUB_ACTIONS GITHUB_STEP_SUMMARY

scratch=$(mktemp -d "${TMPDIR:-/tmp}/fp4check-tests.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

one_test() { # PATH NAME: writes NAME.log, and NAME.status when it is over
    local begin=$SECONDS status=0
    mkdir "$scratch/$2"
    (cd "$scratch/$2" && exec timeout -k 5 "$limit" bash "$1") >"$scratch/$2.log" 2>&1 </dev/null || status=$?
    echo "$status $((SECONDS - begin))" >"$scratch/$2.status"
    rm -rf "${scratch:?}/$2"
}

report() { # every test that has ended since the last call
    local file name status seconds
    for file in "$scratch"/*.status; do
        [ -e "$file" ] || continue
        name=$(basename "$file" .status)
        read -r status seconds <"$file"
        rm "$file"
        case $status in
        0)
            passed=$((passed + 1))
            echo "passed   $name ($seconds s)"
            ;;
        77)
            skipped=$((skipped + 1))
            echo "skipped  $name: $(tail -n 1 "$scratch/$name.log")"
            ;;
        *)
            failed=$((failed + 1))
            [ "$status" = 124 ] && echo "no end after $limit s" >>"$scratch/$name.log"
            echo "FAILED   $name (exit status $status, $seconds s)"
            sed 's/^/    /' "$scratch/$name.log"
            ;;
        esac
    done
}

passed=0 failed=0 skipped=0 running=0
for test in "$FP4_SRCDIR"/tests/cli/t-*.sh; do
    name=$(basename "$test" .sh)
    # shellcheck disable=SC2254 # the pattern is one
    case $name in *$pattern*) ;; *) continue ;; esac
    if [ $running -ge 2 ]; then
        wait -n
        running=$((running - 1))
        report
    fi
    one_test "$test" "$name" &
    running=$((running + 1))
done
wait
report
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
