#!/bin/bash
# diff over the malformed dumps: exit status 2 and the message that lies beside each; no crash, no result.
. "$FP4_SRCDIR/tests/cli/lib.sh"
corpus=$FP4_SRCDIR/tests/cli/malformed
[ -d "$corpus" ] || skip 'there is no tests/cli/malformed'

fp run --suite smoke --op philox --backend ref -o good.json
seen=0
for file in "$corpus"/*; do
    case $file in
    *.err | *.md | */README*) continue ;;
    esac
    fp diff "$file" good.json
    expect_status 2
    expect_empty out
    expect_err 'fp4check: diff: ' "$(basename "$file")"
    seen=$((seen + 1))
    if [ -e "${file%.*}.err" ]; then
        while IFS= read -r text; do
            [ -z "$text" ] || expect_err "$text"
        done <"${file%.*}.err"
    fi
    if [ $((seen % 20)) = 0 ]; then # the other ways in
        fp diff good.json "$file"
        expect_trouble
        fp verify --backend ref "$file"
        expect_trouble
        fp bless -m reason "$file" golden.json
        expect_trouble
    fi
    [ $problems -lt 20 ] || break
done
expect_no_file golden.json MANIFEST
[ $seen -gt 20 ] || problem "only $seen malformed dumps"
