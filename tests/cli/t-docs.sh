#!/bin/bash
# The documents against the program: the manual names every option of every command, under that command, and is clean; links lead somewhere.
. "$FP4_SRCDIR/tests/cli/lib.sh"

# ---- the manual ----------------------------------------------------------------------------------------------------------------------------

page=$FP4_SRCDIR/docs/fp4check.1
if command -v man >/dev/null && man --version 2>/dev/null | grep -q '^man 2' && LC_ALL=C MANWIDTH=200 man -l --warnings "$page" >page.txt 2>warnings.txt; then
    ran='man -l --warnings docs/fp4check.1'
    expect_empty warnings.txt
    col -bx <page.txt >plain.txt 2>/dev/null || sed 's/.\x08//g' page.txt >plain.txt
    for command in $(listed_commands) completion; do
        fp help "$command"
        expect_status 0
        sed -n 's/^ *\(-., \)\{0,1\}--\([a-z-]*\).*/\2/p' out >options.txt
        # the section of the command, and the one that diff, verify and bless share
        sed -n -e "/^   $command\$/,/^   [a-z]*\$\|^[A-Z]/p" -e '/^   Comparing$/,/^[A-Z]/p' plain.txt >section.txt
        expect_equal "$(head -n 1 section.txt)" "   $command" 'the section of the command'
        while read -r option; do
            grep -qE -e "(^|[ ,])--$option( |,|\$|\[)" section.txt || problem "the manual's section '$command' lacks --$option"
        done <options.txt
    done
    # and the other way round: no option that no command has
    "$FP4CHECK" help >known.txt
    for command in $(listed_commands); do "$FP4CHECK" help "$command"; done >>known.txt
    grep -oE -e '--[a-z][a-z-]+' plain.txt | sort -u | while read -r option; do
        grep -qF -e "$option" known.txt || [ "$option" = --version ] || echo "$option"
    done >strangers.txt
    ran='the manual'
    expect_empty strangers.txt
else
    man_missing=1
fi

# ---- links and files that the documents name -------------------------------------------------------------------------------------------------

ran=links
for path in "$FP4_SRCDIR"/README.md "$FP4_SRCDIR"/docs/*.md "$FP4_SRCDIR"/cli/matrix/weights/README.md; do
    grep -oE '\]\([^)]*\)' "$path" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^https\{0,1\}:' | grep . | sort -u | while read -r target; do
        [ -e "$(dirname "$path")/$target" ] || echo "$path: link to $target"
    done
done >broken.txt
expect_empty broken.txt

[ -z "${man_missing:-}" ] || skip 'man is not installed; links are in order'
