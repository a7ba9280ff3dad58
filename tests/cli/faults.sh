# shellcheck shell=bash
# faults.sh: what t-faults.sh and t-faults-gpu.sh share. From here on FP4CHECK is fp4check-faulty; $selection has $cases cases, of which
# $bad fault and $good do not.
FP4CHECK=$(dirname "$FP4CHECK")/tests/fp4check-faulty
[ -x "$FP4CHECK" ] || skip "there is no $FP4CHECK (make cli-tests builds it)"
export FP4_FAULTY_LOG=$PWD/log FP4_FAULTY_GONE=$PWD/gone
selection=(--suite smoke --op quantize)

fp list "${selection[@]}"
cp out names
cases=$(wc -l <names)
bad=$(grep -c /ties/ names)
good=$((cases - bad))
[ "$bad" -ge 2 ] && [ "$good" -ge 20 ] || problem "the selection has $bad cases that fault, and $good that do not"
fp run -q "${selection[@]}" --backend ref -o ref.json
expect_status 0

no_process_left() { # of those that wrote the log; a killed one may take a moment
    local pid tries
    for pid in $(cut -d' ' -f1 log | sort -u); do
        for tries in 1 2 3 4 5 6 7 8 9 10; do
            kill -0 "$pid" 2>/dev/null || continue 2
            sleep 0.2
        done
        problem "process $pid is left over: $(ps -o pid,ppid,stat,args -p "$pid" | tail -n 1)"
    done
}

run_faulty() { # NAME OPTION...: a run, and what is true of every one that goes on to the end
    local name=$1
    shift
    rm -f log x.json
    fp run "${selection[@]}" --backend "faulty-$name" --jobs 1 -o x.json "$@"
    expect_file x.json log
    no_process_left
}

fault() { # NAME REASON-REGEX OPTION...
    local name=$1 reason=$2
    shift 2
    run_faulty "$name" "$@"
    expect_status 1
    expect_out ": $good ok, 0 skipped, $bad error"
    expect_err "first error: $(grep -m1 /ties/ names): faulty-$name: "
    # the reason, on the cases that fault and on no others
    grep -o '^{"case":"[^"]*".*"status":"error","reason":"[^"]*"' x.json | sed 's/^{"case":"\([^"]*\)".*"reason":"\([^"]*\)"$/\1 \2/' >errors
    expect_equal "$(cut -d' ' -f1 errors)" "$(grep /ties/ names)" 'the cases in error'
    cut -d' ' -f2- errors | grep -vxE -e "$reason" >others
    expect_empty others
    # the rest is right
    fp diff ref.json:ref "x.json:faulty-$name"
    expect_status 1
    expect_last_line out "$good cases compared: $good equal; $bad errors"
    # one process for the first cases, and another one after each fault
    expect_equal "$(cut -d' ' -f1 log | uniq | wc -l)" $((bad + $(tail -n 1 names | grep -vc /ties/))) 'processes that computed a case'
}
