#!/bin/bash
# completion: the scripts are accepted by the shells, and complete from the tables.
. "$FP4_SRCDIR/tests/cli/lib.sh"

fp completion bash
expect_status 0
cp out fp4check.bash
bash -n fp4check.bash || problem 'bash -n'
# shellcheck disable=SC1091 # it was just made
. ./fp4check.bash

completes() { # WORD...: what the last word completes to, in $got, sorted
    COMP_WORDS=(fp4check "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    ran="completion of: fp4check $*"
    _fp4check
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
}
expect_words() { expect_equal "$got" "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" 'words'; }

fp list suites
suites=$(cut -d' ' -f1 out)
# shellcheck disable=SC2086 # words
{
    completes run --suite ''
    expect_words $suites
    completes run -s ''
    expect_words $suites
    completes list --suite ''
    expect_words $suites
    completes run --suite = ''
    expect_words $suites
    completes run --suite =
    expect_words $suites
    fp list ops
    ops=$(cut -d' ' -f1 out)
    completes run --op ''
    expect_words $ops
    fp list backends
    backends=$(cut -d' ' -f1 out)
    completes verify --backend ''
    expect_words $backends
    completes ''
    expect_words $(listed_commands)
}
completes run --suite sm
expect_words smoke
completes run --suite = sm
expect_words smoke
completes run --op rht
expect_words rht-quantize
completes diff --signed-zero ''
expect_words strict equal
completes run --bytes ''
expect_words none all
completes di
expect_words diff
completes run --ba
expect_words --backend
completes list --rs
expect_words --rs-models
touch dump-a.json dump-b.json
completes diff dump-
expect_words dump-a.json dump-b.json
completes run --output dump-a
expect_words dump-a.json
completes diff dump-a.json dump-b
expect_words dump-b.json

# every option of every command
for command in $(listed_commands); do
    fp "$command" --help
    sed -n '/^options:/,/^$/s/^  [ -][^-]*\(--[a-z-]*\).*/\1/p' out >options
    completes "$command" --
    # shellcheck disable=SC2046 # words
    expect_words --help --quiet --color $(cat options)
done

fp completion zsh
expect_status 0
matches out '#compdef fp4check'
cp out _fp4check
for suite in $suites; do has _fp4check "$suite"; done
if command -v zsh >/dev/null; then
    zsh -n _fp4check || problem 'zsh -n'
else
    echo 'zsh is not installed: its script is not checked'
fi
