#!/bin/bash
# The manual page names every command and every option, and is accepted by man.
. "$FP4_SRCDIR/tests/cli/lib.sh"
page=$FP4_SRCDIR/docs/fp4check.1
[ -e "$page" ] || skip 'there is no docs/fp4check.1 yet'

# man or mdoc: "\-\-suite", "Fl -suite"
sed 's/\\-/-/g; s/\\f[BIRP]//g; s/Fl -\([a-z]\)/--\1/g; s/Fl \([a-z]\)/-\1/g' "$page" >plain
for command in $(listed_commands) completion; do
    fp "$command" --help
    grep -qE "(^|[^a-z-])$command([^a-z-]|\$)" plain || problem "the page lacks the command $command"
    sed -n '/^options:/,/^$/s/^  [ -][^-]*\(--[a-z-]*\).*/\1/p; /^options:/,/^$/s/^  \(-[a-z]\), --.*/\1/p' out >options
    while IFS= read -r option; do
        grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" plain || problem "the page lacks $option of $command"
    done <options
done
for word in NO_COLOR 'EXIT STATUS' --quiet --color --help --version; do grep -qi -e "$word" plain || problem "the page lacks $word"; done

if command -v man >/dev/null; then
    MANWIDTH=80 man --warnings -E UTF-8 -l "$page" >shown 2>warnings
    expect_empty warnings
    [ -s shown ] || problem 'man shows nothing'
else
    echo 'man is not installed: the page is not checked by it'
fi
