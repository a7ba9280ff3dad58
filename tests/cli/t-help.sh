#!/bin/bash
# help: every command explains itself, and its examples work.
. "$FP4_SRCDIR/tests/cli/lib.sh"
case=quantize/te/rn/1x16/bf16/ties/32x64/s0

fp help
expect_status 0
expect_empty err
cp out overview
for args in '' --help -h; do
    # shellcheck disable=SC2086 # none, or one word
    fp $args
    expect_status 0
    expect_same out overview
done
commands="$(listed_commands) completion" # the latter is not listed
for command in run diff verify list show bless version help; do
    case " $commands " in *" $command "*) ;; *) problem "the overview lacks $command" ;; esac
done
fp --version
cp out version
fp version
expect_same out version
matches out 'fp4check [0-9]+\.[0-9]+\.[0-9]+'
expect_out 'backend ref: ' 'cJSON ' 'xxHash ' 'zstd '

# --help: usage, options, examples; the same as `help COMMAND`, wherever it stands
for command in $commands; do
    fp help "$command"
    cp out help-"$command"
    for args in --help -h; do
        fp "$command" $args
        expect_status 0
        expect_empty err
        expect_same out help-"$command"
    done
    has out "usage: fp4check $command"
    matches out 'examples:'
    matches out '  (source <\()?fp4check .*'
    [ "$(wc -L <out)" -le 132 ] || problem "a line of $command --help has $(wc -L <out) characters"
done
fp run --suite smoke --help
expect_status 0
expect_same out help-run
fp -q diff -h
expect_same out help-diff

# the files that the examples speak of
fp run -q --case $case --case 'quantize/te/sr/1x16/bf16/normal/64x128/s0' --case rht-quantize/te/rn/bf16/normal/64x16/s0 --backend ref \
    --bytes all -o a.json
cp a.json b.json
cp a.json new.json
dumps a.json b200.json backend sm100
dumps a.json 5090.json backend sm120
python <<'P'
import copy, json, struct, dumps
d = dumps.load("a.json")
d["backends"] = ["ref", "soft"]
for c in d["cases"]:
    c["results"].append(dict(copy.deepcopy(c["results"][0]), backend="soft"))
dumps.save(d, "one.json")
text = json.dumps({"layer.0.weight": {"dtype": "F32", "shape": [16, 32], "data_offsets": [0, 2048]}}).encode()
open("model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<512f", *range(512)))
P
mkdir golden
fp bless -q -m 'for the examples' a.json golden/ref-smoke.json
fp bless -q -m 'for the examples' a.json golden/ref-default.json
cp -r golden golden-before

fp list backends
grep -v ' runs here: ' out | cut -d' ' -f1 >absent

fp4check() { "$FP4CHECK" "$@"; }
export -f fp4check
for command in $commands; do
    sed -n '/^examples:/,$s/^  \(.\)/\1/p' help-"$command" >examples
    while IFS= read -r line; do
        case $line in
        *'--suite full'* | 'fp4check exhaustive '*) continue ;; # minutes to hours
        *'| jq '*) command -v jq >/dev/null || line=${line%%|*} ;;
        esac
        rm -rf golden && cp -r golden-before golden
        ran=$line
        status=0
        bash -c "$line" >out 2>err </dev/null || status=$?
        backend=
        [[ $line =~ ^fp4check\ (run|verify|bench|explain)\ (.*\ )?(-b|--backend)\ ([a-z0-9]+) ]] && backend=${BASH_REMATCH[4]}
        [[ $line =~ ^fp4check\ probe\ ([a-z0-9]+) ]] && backend=${BASH_REMATCH[1]}
        if [ -n "$backend" ] && grep -qx "$backend" absent; then
            expect_status 2 # what has to run on a backend that is not here
            expect_err "'$backend'" # and the reason why it cannot run
        else
            expect_status 0
        fi
    done <examples
done
expect_file here.json ref.json sr.json weight.json verify.xml
