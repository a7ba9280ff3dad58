# shellcheck shell=bash
# lib.sh: helpers of the command-line tests. A test begins with
#
#   . "$FP4_SRCDIR/tests/cli/lib.sh"
#
# and goes on to the end whatever fails: every unmet expectation is printed with its line, and the exit status tells that there was one.
set -u
export PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}" # a case too large for memory is a result too
problems=0
status=
ran=

# Runs the program: standard output to ./out, standard error to ./err, exit status to $status.
fp() {
    ran="fp4check $*"
    status=0
    "$FP4CHECK" "$@" >out 2>err || status=$?
}

problem() {
    local i at=
    for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do # the place in the test, not in here
        if [ "${BASH_SOURCE[i]}" != "${BASH_SOURCE[0]}" ]; then
            at=$(basename "${BASH_SOURCE[i]}"):${BASH_LINENO[i - 1]}
            break
        fi
    done
    problems=$((problems + 1))
    echo "$at: $1"
    [ -z "$ran" ] || echo "  after: $ran (exit status $status)"
}

show_file() { # at most 25 lines of at most 300 characters
    echo "  $1:"
    head -n 25 "$1" | cut -c1-300 | sed 's/^/    | /'
}

expect_status() {
    [ "$status" = "$1" ] && return
    problem "wants exit status $1"
    show_file out
    show_file err
}

has() { # FILE TEXT
    grep -qF -e "$2" "$1" && return
    problem "$1 lacks '$2'"
    show_file "$1"
}
lacks() { # FILE TEXT
    grep -qF -e "$2" "$1" || return 0
    problem "$1 holds '$2'"
    show_file "$1"
}
matches() { # FILE REGEX: one line that it describes from end to end
    grep -qxE -e "$2" "$1" && return
    problem "$1 has no line like '$2'"
    show_file "$1"
}
expect_out() { for text in "$@"; do has out "$text"; done; }
expect_err() { for text in "$@"; do has err "$text"; done; }
expect_no_out() { for text in "$@"; do lacks out "$text"; done; }
expect_no_err() { for text in "$@"; do lacks err "$text"; done; }
expect_last_line() { # FILE TEXT
    [ "$(tail -n 1 "$1")" = "$2" ] && return
    problem "the last line of $1 is '$(tail -n 1 "$1")', not '$2'"
}
expect_empty() { # FILE...
    local file
    for file in "$@"; do
        [ -e "$file" ] && [ ! -s "$file" ] && continue
        problem "$file is not empty"
        show_file "$file"
    done
}
expect_file() { for file in "$@"; do [ -e "$file" ] || problem "there is no '$file'"; done; }
expect_no_file() { for file in "$@"; do [ ! -e "$file" ] || problem "'$file' is there"; done; }
expect_same() { # A B: the same bytes
    cmp "$1" "$2" >cmp.out 2>&1 && return
    problem "'$1' and '$2' are not the same: $(cat cmp.out)"
}
expect_equal() { # GOT WANTED [WHAT]
    [ "$1" = "$2" ] || problem "${3:-value}: '$1', not '$2'"
}
# Trouble: exit status 2, nothing on standard output, a message of the program on standard error that holds every TEXT.
expect_trouble() {
    expect_status 2
    expect_empty out
    has err 'fp4check: '
    expect_err "$@"
}

case_lines() { grep -v '^"provenance":' "$1"; } # all that two runs must have in common
expect_same_dump() { # A B: the same bytes but for the provenance
    cmp <(case_lines "$1") <(case_lines "$2") >cmp.out 2>&1 && return
    problem "'$1' and '$2' differ in more than their provenance: $(cat cmp.out)"
}

dumps() { # dumps.py IN OUT VERB...: an edited copy of a dump
    python3 "$FP4_SRCDIR/tests/cli/dumps.py" "$@" && return
    ran="dumps.py $*"
    problem 'dumps.py failed'
}
python() { # a python program from standard input, with dumps.py to import; its failure is one here
    PYTHONPATH="$FP4_SRCDIR/tests/cli" python3 - "$@" && return
    problem 'the python part failed'
}
command_again() { # of a report: the repro command of the first case
    sed -n 's/^ *again: //p' "$1" | head -n 1
}

listed_commands() { # of `fp4check help`, on one line
    "$FP4CHECK" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | tr "\n" " "
}

skip() { # REASON
    [ $problems = 0 ] || exit 1
    echo "$1"
    exit 77
}
sanitized() { "$FP4CHECK" version | grep -q fsanitize; }

finish() {
    local code=$?
    [ $code = 0 ] && [ $problems -gt 0 ] && code=1
    exit $code
}
trap finish EXIT
