#!/bin/bash
# Whatever is wrong with a command line: exit status 2, a message on stderr that names it, nothing on stdout, and no file.
. "$FP4_SRCDIR/tests/cli/lib.sh"
name=quantize/te/rn/1x16/bf16/ties/32x64/s0

trouble() { # 'TEXT|TEXT...' ARGUMENT...: the texts are in the message
    local texts
    IFS='|' read -r -a texts <<<"$1"
    shift
    fp "$@"
    expect_trouble "${texts[@]}"
}
run_trouble() { # likewise, of run, with an output file
    local texts=$1
    shift
    trouble "$texts" run "$@" -o x.json
    expect_no_file x.json x.json.partial
}

# commands
trouble "unknown command 'dif'|did you mean 'diff'" dif a b
trouble "unknown command 'everything'|fp4check help" everything
trouble "unknown command '--colour'" --colour version
trouble "--color|'red'" --color=red version
trouble "unknown command 'nope'" help nope
trouble "version: |'extra'" version extra
trouble "help: |'diff'" help run diff

# options
run_trouble "unknown option '--suit'|did you mean '--suite'" --suit smoke
run_trouble "unknown option '-x'|run --help" -x
trouble "'--suite' needs an argument" run --suite
run_trouble "'--stages' takes no argument" --stages=yes
run_trouble "unexpected argument 'smoke'" smoke
run_trouble "unknown suite 'smok'|smoke, default, full" --suite smok
run_trouble "'nothere.json'" --suite nothere.json
run_trouble "unknown op 'quantise'|did you mean 'quantize'" --op quantise
run_trouble "unknown backend 'rf'|ref" --suite smoke --backend rf
run_trouble "'ref' is given twice" --suite smoke --backend ref -b ref
run_trouble "--bytes|'1k'" --suite smoke --bytes 1k
run_trouble "--bytes|'-1'" --suite smoke --bytes=-1
run_trouble "--stages and --no-stages" --suite smoke --stages --no-stages
for jobs in 0 257 two -1 1.5 ''; do
    run_trouble "--jobs|'$jobs'" --suite smoke --jobs "$jobs"
done
for shard in 0/3 4/3 1 1/ a/b 1/0 1/2/3; do
    run_trouble "--shard|'$shard'" --suite smoke --shard "$shard"
done
for seed in -1 x 0x 18446744073709551616; do
    run_trouble "--seed|'$seed'" --suite smoke --seed "$seed"
done
trouble '--resume needs -o' run --suite smoke --resume
trouble '--resume needs -o' run --suite smoke --resume -o -
trouble '--output' run --suite smoke --output=

# cases: which part is wrong, and what would be right
run_trouble "no case matches 'quantise/*'" --case 'quantise/*'
run_trouble "unknown op 'quantise'|'quantize'" --case quantise/te/rn/1x16/bf16/ties/32x64/s0
run_trouble "unknown data 'tis'|did you mean 'ties'" --case quantize/te/rn/1x16/bf16/tis/32x64/s0
run_trouble "'1x17'|did you mean '1x16'" --case quantize/te/rn/1x17/bf16/ties/32x64/s0
run_trouble "too few segments" --case quantize/te
run_trouble "seed" --case quantize/te/rn/1x16/bf16/ties/32x64/s
run_trouble "32y64" --case quantize/te/rn/1x16/bf16/ties/32y64/s0
run_trouble "te-fast|bf16" --case quantize/te-fast/rn/1x16/f32/ties/32x64/s0

# an invalid argument does not cost the partial file of an interrupted run
echo precious >x.json.partial
fp run --suite smoke --jobs 0 -o x.json
expect_trouble '--jobs'
expect_equal "$(cat x.json.partial)" precious 'x.json.partial'
rm x.json.partial

# other commands
trouble "needs two dumps" diff
trouble "needs two dumps" diff a.json
trouble "nothere.json: |No such file" diff nothere.json nothere.json
trouble "folder with a MANIFEST" verify
trouble "'nowhere'|No such file" verify nowhere
trouble "'./MANIFEST'" verify .
trouble "unknown backend 'rf'" verify --backend rf nowhere
trouble "needs the new dump and the golden" bless a.json
trouble "nothing called 'suits'|did you mean 'suites'" list suits
trouble "unknown op 'nope'" list --op nope
trouble "one case name" show
trouble "one case name" show $name $name
trouble "bash or zsh" completion
trouble "bash or zsh" completion fish

# "--" ends the options
trouble "unexpected argument '--suite'" run -- --suite
