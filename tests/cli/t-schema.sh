#!/bin/bash
# docs/dump.schema.json takes every dump that the program writes, and refuses what the reader refuses.
. "$FP4_SRCDIR/tests/cli/lib.sh"
schema=$FP4_SRCDIR/docs/dump.schema.json
[ -e "$schema" ] || skip 'there is no docs/dump.schema.json yet'
python3 -c 'import jsonschema' 2>/dev/null || skip 'python has no jsonschema'
case=quantize/te/rn/1x16/bf16/normal/512x512/s0

fp run -q --suite smoke --backend ref --bytes all --stages -o all.json
fp run -q --suite smoke --backend ref --bytes none --no-stages --seed 0xffffffffffffffff -o none.json
fp run -q --suite smoke --backend ref --shard 2/3 -o shard.json
fp run -q --case $case --case philox/te/u32/kat/16x16/s0 --backend ref --bytes all -o packed.json
fp run -q --case quantize/te/rn/1x16/bf16/normal/1073741824x1073741824/s0 --backend ref -o error.json
dumps packed.json skipped.json skip $case 'no such device' backend sm100@ptx
dumps packed.json incomplete.json incomplete drop 'philox/*'
dumps packed.json empty.json keep none
fp bless -q -m 'a reason' shard.json golden.json
expect_status 0
python "$schema" <<'P'
import copy, json, sys, warnings
warnings.simplefilter("ignore")
import jsonschema, dumps

schema = json.load(open(sys.argv[1]))
Validator = jsonschema.validators.validator_for(schema)
Validator.check_schema(schema)
v = Validator(schema)
for name in ("all", "none", "shard", "packed", "error", "skipped", "incomplete", "empty", "golden"):
    d = dumps.load(name + ".json")
    for e in list(v.iter_errors(d))[:3]:
        raise SystemExit("%s.json: %s: %s" % (name, list(e.absolute_path), e.message[:300]))

good = dumps.load("packed.json")
def bad(what, change):
    d = copy.deepcopy(good)
    change(d)
    json.dump(d, open("bad-%s.json" % what, "w"))
    if v.is_valid(d):
        raise SystemExit("the schema takes a dump with a bad " + what)

T = lambda d: d["cases"][0]["results"][0]["tensors"][0]
bad("format", lambda d: d.update(format="other"))
bad("version", lambda d: d.update(version=2))
bad("extra-key", lambda d: d.update(colour="red"))
bad("seed", lambda d: d.update(seed=0))
bad("seed-text", lambda d: d.update(seed="0"))
bad("complete", lambda d: d.update(complete=1))
bad("count", lambda d: d.update(count=-1))
bad("no-count", lambda d: d.pop("count"))
bad("no-suite", lambda d: d.pop("suite"))
bad("shard", lambda d: d.update(shard="1"))
bad("backends", lambda d: d.update(backends=[]))
bad("case", lambda d: d["cases"][0].pop("inputs"))
bad("case-key", lambda d: d["cases"][0].update(colour="red"))
bad("status", lambda d: d["cases"][0]["results"][0].update(status="fine"))
bad("no-reason", lambda d: d["cases"][0].update(results=[{"backend": "ref", "status": "skipped"}]))
bad("digest", lambda d: T(d).update(xxh3="0" * 31))
bad("digest-case", lambda d: T(d).update(xxh3="A" * 32))
bad("dtype", lambda d: T(d).update(dtype="f64"))
bad("shape", lambda d: T(d).update(shape=["1"]))
bad("role", lambda d: T(d).update(role="thing"))
bad("path", lambda d: d["cases"][0]["results"][0].update(path=7))
bad("path-long", lambda d: d["cases"][0]["results"][0].update(path="x" * 65))
bad("path-skipped", lambda d: d["cases"][0].update(results=[{"backend": "ref", "status": "skipped", "reason": "r", "path": "x"}]))
named = copy.deepcopy(good)
named["cases"][0]["results"][0]["path"] = "x" * 64
json.dump(named, open("named.json", "w"))
for e in v.iter_errors(named):
    raise SystemExit("a path: " + e.message[:300])
P
fp diff packed.json named.json
expect_status 0
for file in bad-*.json; do # the reader and the schema agree
    fp diff packed.json "$file"
    expect_status 2
done
