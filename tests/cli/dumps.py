# SPDX-License-Identifier: Apache-2.0
"""Edits dumps as another backend, or a careless hand, would: bytes changed with their digests made right again.

usage: dumps.py IN OUT VERB...      each verb with its arguments, from left to right

  backend NAME                 the only backend is called NAME
  set CASE TENSOR I VALUE      element I of an output or stage (codes: nibble I), VALUE in hex; digests are made anew
  step CASE TENSOR COUNT N     the first COUNT codes that allow it move N grid steps; digests are made anew
  input CASE TENSOR            the digest of an input is another one
  drop GLOB | keep GLOB        cases whose name matches go | stay
  strip                        no kept bytes
  skip CASE REASON | error CASE REASON   the result is none
  reason-all GLOB REASON       every matching case ends in an error
  incomplete                   as an interrupted run leaves it

Bytes must have been kept for set and step (run --bytes all).
"""
import base64
import ctypes
import ctypes.util
import fnmatch
import json
import sys


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_xxhash = None


def _library():
    global _xxhash
    if _xxhash is None:
        _xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
        _xxhash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        _xxhash.XXH3_128bits.restype = Hash128
        _xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        _xxhash.XXH3_64bits.restype = ctypes.c_uint64
    return _xxhash


def xxh128(data):
    h = _library().XXH3_128bits(bytes(data), len(data))
    return "%016x%016x" % (h.high, h.low)


def xxh64(data):
    return "%016x" % _library().XXH3_64bits(bytes(data), len(data))


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def _text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def save(dump, path):
    """In the program's own form: one case a line."""
    head = {k: dump[k] for k in ("format", "version")}
    rest = {k: dump[k] for k in ("suite", "shard", "seed", "backends")}
    with open(path, "w", encoding="utf-8") as f:
        f.write(_text(head)[:-1] + ',\n"provenance":' + _text(dump["provenance"]) + ",\n" + _text(rest)[1:-1])
        if "profiles" in dump:
            f.write(',\n"profiles":{' + ",\n".join(_text(k) + ":" + _text(v) for k, v in dump["profiles"].items()) + "}")
        f.write(',\n"cases":[')
        f.write(",".join("\n" + _text(c) for c in dump["cases"]))
        f.write('\n],\n"count":%d,"complete":%s}\n' % (len(dump["cases"]), "true" if dump["complete"] else "false"))


def case(dump, name):
    found = [c for c in dump["cases"] if c["case"] == name]
    if not found:
        raise SystemExit("no case '%s'" % name)
    return found[0]


def tensor(dump, name, which, result=0):
    for t in case(dump, name)["results"][result]["tensors"]:
        if t["name"] == which:
            return t
    raise SystemExit("no tensor '%s' in case '%s'" % (which, name))


def data_of(t):
    return bytearray(base64.b64decode(t["base64"]))


def put_data(t, data):
    t["base64"] = base64.b64encode(bytes(data)).decode()
    t["xxh3"] = xxh128(data)
    if "blocks" in t:
        t["blocks"] = [xxh64(data[i:i + 4096]) for i in range(0, len(data), 4096)]


SIZES = {"e4m3": 1, "u8": 1, "bf16": 2, "f16": 2, "f32": 4, "u32": 4, "u64": 8}


def get(t, data, i):
    if t["dtype"] == "e2m1":
        return data[i // 2] >> 4 * (i & 1) & 15
    size = SIZES[t["dtype"]]
    return int.from_bytes(data[i * size:(i + 1) * size], "little")


def put(t, data, i, value):
    if t["dtype"] == "e2m1":
        shift = 4 * (i & 1)
        data[i // 2] = data[i // 2] & ~(15 << shift) & 255 | value << shift
    else:
        size = SIZES[t["dtype"]]
        data[i * size:(i + 1) * size] = value.to_bytes(size, "little")


def set_element(dump, name, which, i, value):
    t = tensor(dump, name, which)
    data = data_of(t)
    if get(t, data, i) == value:
        raise SystemExit("element %d of '%s' is 0x%x already" % (i, which, value))
    put(t, data, i, value)
    put_data(t, data)


def stepped(code, n):
    """n steps from zero outwards, or inwards where there is no room; the sign stays, and zero is left alone."""
    sign, magnitude = code & 8, code & 7
    if magnitude == 0:
        return None
    if magnitude + n <= 7:
        return sign | magnitude + n
    return sign | magnitude - n if magnitude - n >= 1 else None


def step_codes(dump, name, which, count, n):
    t = tensor(dump, name, which)
    data = data_of(t)
    i = 0
    while count:
        if 2 * len(data) == i:
            raise SystemExit("not enough codes in '%s' can move %d steps" % (which, n))
        new = stepped(get(t, data, i), n)
        if new is not None:
            put(t, data, i, new)
            count -= 1
        i += 1
    put_data(t, data)


def no_result(c, status, reason):
    c["results"] = [{"backend": r["backend"], "status": status, "reason": reason} for r in c["results"]]


def apply(dump, words):
    words = list(words)
    while words:
        verb = words.pop(0)

        def take():
            return words.pop(0)

        if verb == "backend":
            name, old = take(), dump["backends"][0]
            dump["backends"] = [name]
            builds = dump["provenance"].get("builds", {})
            if old in builds:
                dump["provenance"]["builds"] = {name: "a build of " + name}
            for c in dump["cases"]:
                c["results"][0]["backend"] = name
        elif verb == "set":
            set_element(dump, take(), take(), int(take()), int(take(), 16))
        elif verb == "step":
            step_codes(dump, take(), take(), int(take()), int(take()))
        elif verb == "input":
            name, which = take(), take()
            t = [t for t in case(dump, name)["inputs"] if t["name"] == which][0]
            t["xxh3"] = xxh128(b"another input")
        elif verb == "drop":
            glob = take()
            dump["cases"] = [c for c in dump["cases"] if not fnmatch.fnmatchcase(c["case"], glob)]
        elif verb == "keep":
            glob = take()
            dump["cases"] = [c for c in dump["cases"] if fnmatch.fnmatchcase(c["case"], glob)]
        elif verb == "strip":
            for c in dump["cases"]:
                for r in c["results"]:
                    for t in r.get("tensors", []):
                        t.pop("base64", None)
                        t.pop("zstd", None)
        elif verb in ("skip", "error"):
            no_result(case(dump, take()), "skipped" if verb == "skip" else "error", take())
        elif verb == "reason-all":
            glob, reason = take(), take()
            for c in dump["cases"]:
                if fnmatch.fnmatchcase(c["case"], glob):
                    no_result(c, "error", reason)
        elif verb == "incomplete":
            dump["complete"] = False
        else:
            raise SystemExit("unknown verb '%s'" % verb)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    edited = load(sys.argv[1])
    apply(edited, sys.argv[3:])
    save(edited, sys.argv[2])
