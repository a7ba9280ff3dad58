#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts and checks instructions in disassembled CUDA code.

count.py probe ARCH FILE [--exact]  one arch's probe.cu, as `nvdisasm -c` prints it: a table on stdout; --exact holds the
                                    budgets below against it
count.py kernels ARCH FILE          any kernels, as nvdisasm -c or cuobjdump -sass print them: what each ISA layer may hold

Exit status 1 when an expectation is not met; each is named on stderr.
"""
import re
import sys

INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T0-9]+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)([^;]*);")
FUNCTION = re.compile(r"^\s*(?:Function : |\.text\.)([A-Za-z_][\w$]*):?\s*$")

# loads, stores, parameters and the way out are the probe's own
FRAME = {"LDG", "STG", "LD", "ST", "LDC", "LDCU", "ULDC", "S2R", "S2UR", "CS2R", "EXIT", "NOP", "BRA", "R2UR"}
CONTROL = {"BSSY", "BSYNC", "CALL", "RET", "BRX", "WARPSYNC", "BREAK", "BMOV"}
MOVES = {"MOV", "UMOV"}
CONVERSIONS = {"F2FP", "F2F", "I2F", "F2I", "I2FP", "F2IP", "I2I", "FRND"}
FLOATING = {"FADD", "FMUL", "FFMA", "FMNMX", "FMNMX3", "FSEL", "FSETP", "FSET", "FCHK", "MUFU", "HADD2", "HMUL2", "HFMA2", "HMNMX2",
            "HSETP2", "HSET2", "FADD2", "FMUL2", "FFMA2", "DADD", "DMUL", "DFMA", "DSETP", "FSWZADD"}

FP4_ARCHS = ("sm_100a", "sm_103a", "sm_120a", "sm_121a")
RS_ARCHS = ("sm_100a", "sm_103a")

# Local arrays with a run-time index, not spills: general kernels beside which fast ones stand.
INDEXED = ("philox_kernel", "rht_any_kernel", "rht_amax_kernel")

# The most instructions per four elements, by what ptxas of CUDA 13.0 makes: more is a step back.
BUDGETS = {
    ("rn", "sm120"): {"": 2},
    ("rn", "sm100"): {"": 2},
    ("rn8", "sm120"): {"": 12, "sm_100a": 8, "sm_103a": 8},
    ("rn8", "sm100"): {"": 8},
    ("rn8", "soft"): {"": 20},
    ("native", "sm100"): {"": 3},  # the third one clears the upper half, which a 16-bit store would not need
    ("b300", "soft"): {"": 19, "sm_80": 21, "sm_100a": 17, "sm_103a": 17},
    ("straight", "soft"): {"": 18, "sm_80": 20, "sm_100a": 16, "sm_103a": 16},
    ("b300", "sm120"): {"": 19, "sm_100a": 17, "sm_103a": 17},
    ("straight", "sm120"): {"": 18, "sm_100a": 16, "sm_103a": 16},
}


def functions(path):
    """{name: [(mnemonic, operands)]}, in the order of the file"""
    found, current = {}, None
    with open(path) as lines:
        for line in lines:
            start = FUNCTION.match(line)
            if start:
                current = found.setdefault(start.group(1), [])
                continue
            instruction = INSTRUCTION.match(line)
            if instruction and current is not None:
                current.append((instruction.group(1), instruction.group(2)))
    return found


def kind(mnemonic, operands):
    base = mnemonic.split(".")[0]
    if base in FRAME:
        return "frame"
    if base in CONTROL:
        return "control"
    if base in MOVES or mnemonic.startswith("IMAD.MOV"):
        return "frame" if "c[" in operands or "c [" in operands else "moves"
    if base in CONVERSIONS:
        return "conversions"
    return "floating" if base in FLOATING else "integer"


def has(code, *words):
    return sum(1 for mnemonic, _ in code if all("." + w in mnemonic for w in words))


def local_memory(code):
    return sum(1 for mnemonic, _ in code if mnemonic.split(".")[0] in ("LDL", "STL"))


class Checks:
    def __init__(self):
        self.failed = 0

    def expect(self, met, text):
        if not met:
            print("  FAILED: " + text, file=sys.stderr)
            self.failed += 1


def layer_rules(checks, arch, name, code, layer):
    """what a kernel of an ISA layer may hold"""
    fp4, rs = has(code, "E2M1"), has(code, "E2M1", "RS")
    if not any(word in name for word in INDEXED):
        checks.expect(local_memory(code) == 0, f"{arch}: {name} has {local_memory(code)} local-memory instructions")
    if layer == "soft":
        checks.expect(fp4 == 0, f"{arch}: {name} has {fp4} FP4 instructions; the soft layer is to have none")
    if layer == "sm120" or arch not in RS_ARCHS:
        checks.expect(rs == 0, f"{arch}: {name} has {rs} stochastic conversions")
    if arch not in FP4_ARCHS:
        checks.expect(fp4 == 0, f"{arch}: {name} has {fp4} FP4 instructions")


def probe(arch, path, exact):
    checks, seen = Checks(), set()
    for name, code in functions(path).items():
        if not name.startswith("probe_"):
            continue
        _, what, layer = name.split("_")
        layer_rules(checks, arch, name, code, layer)
        seen.add((what, layer))
        counts = {}
        for mnemonic, operands in code:
            counts[kind(mnemonic, operands)] = counts.get(kind(mnemonic, operands), 0) + 1
        built = layer == "soft" or arch in (RS_ARCHS if layer == "sm100" else FP4_ARCHS)
        checks.expect(built == any(m.startswith("STG") for m, _ in code), f"{arch}: {name} is {'empty' if built else 'not empty'}")
        if not built:
            continue
        total = sum(n for k, n in counts.items() if k != "frame")
        fp4 = has(code, "E2M1")
        if layer != "soft" and what in ("rn", "rn8", "native"):
            wanted = 4 if what == "rn8" else 2
            checks.expect(fp4 == wanted, f"{arch}: {name} has {fp4} FP4 conversions, not {wanted}")
            checks.expect(has(code, "E2M1", "RS") == (2 if what == "native" else 0), f"{arch}: {name}: .RS is in the wrong place")
        budget = BUDGETS.get((what, layer), {})
        most = budget.get(arch, budget.get(""))
        if exact and most is not None:
            checks.expect(total <= most, f"{arch}: {name} takes {total} instructions, {most} are known to do")
        names = sorted({m for m, _ in code if ".E2M1" in m})
        print(f"{layer:6} {arch:8} {what:9} {total:5} {fp4:4} {counts.get('conversions', 0) - fp4:5} {counts.get('integer', 0):5}"
              f" {counts.get('floating', 0):5} {counts.get('moves', 0) + counts.get('control', 0):5}  {' '.join(names)}".rstrip())
    checks.expect({("rn", "soft"), ("rn", "sm120"), ("native", "sm100"), ("b300", "sm120")} <= seen, f"{arch}: probe kernels are missing")
    return checks.failed


def kernels(arch, path):
    checks, counted = Checks(), {"soft": [0, 0, 0], "sm120": [0, 0, 0], "sm100": [0, 0, 0]}
    for name, code in functions(path).items():
        layer = next((l for l in counted if "isa_" + l in name), None)
        layer_rules(checks, arch, name, code, layer)
        if layer:
            for i, n in enumerate((1, has(code, "E2M1"), has(code, "E2M1", "RS"))):
                counted[layer][i] += n
    for layer, (count, fp4, rs) in counted.items():
        if count:
            built = arch in (RS_ARCHS if layer == "sm100" else FP4_ARCHS)
            print(f"{layer:6} {arch:8} {count:4} kernels {fp4:6} FP4 conversions, {rs} of them stochastic")
            if layer != "soft" and built:
                checks.expect(fp4 > 0, f"{arch}: no FP4 conversion in {count} kernels of layer {layer}")
    return checks.failed


def main(argv):
    if len(argv) >= 4 and argv[1] == "probe":
        return probe(argv[2], argv[3], "--exact" in argv)
    if len(argv) == 4 and argv[1] == "kernels":
        return kernels(argv[2], argv[3])
    print(__doc__, file=sys.stderr)
    return 2


sys.exit(1 if main(sys.argv) else 0)
