#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts minilm-slice.safetensors.zst out of the whole all-MiniLM-L6-v2 model.safetensors.

    make-slice.py model.safetensors minilm-slice.safetensors.zst

Needs the zstd program. The README beside this file says where the model is from. The order of tensors, the header's
spelling and the compression level are fixed, so that the same model gives the same raw file (its SHA-256 is in the README).
"""
import hashlib
import json
import struct
import subprocess
import sys

# name in the slice, tensor of the model, rows kept, columns kept (the first ones of each)
SLICES = [
    ("embed", "embeddings.word_embeddings.weight", slice(1996, 2092), 384),
    ("query", "encoder.layer.0.attention.self.query.weight", slice(0, 64), 384),
    ("ffn-in", "encoder.layer.0.intermediate.dense.weight", slice(0, 64), 384),
    ("ffn-out", "encoder.layer.0.output.dense.weight", slice(0, 64), 384),
    ("norm", "encoder.layer.0.output.LayerNorm.weight", slice(0, 1), 384),
]


def read_header(f):
    (size,) = struct.unpack("<Q", f.read(8))
    return json.loads(f.read(size)), 8 + size


def cut(f, header, base, tensor, rows, cols):
    entry = header[tensor]
    assert entry["dtype"] == "F32", tensor
    shape = entry["shape"] if len(entry["shape"]) == 2 else [1] + entry["shape"]
    out = b""
    for r in range(rows.start, rows.stop):
        f.seek(base + entry["data_offsets"][0] + 4 * r * shape[1])
        out += f.read(4 * cols)
    return out


def main(model, target):
    out_header = {"__metadata__": {"source": "sentence-transformers/all-MiniLM-L6-v2", "license": "Apache-2.0"}}
    data = b""
    with open(model, "rb") as f:
        header, base = read_header(f)
        for name, tensor, rows, cols in SLICES:
            part = cut(f, header, base, tensor, rows, cols)
            out_header[name] = {
                "dtype": "F32",
                "shape": [rows.stop - rows.start, cols],
                "data_offsets": [len(data), len(data) + len(part)],
            }
            data += part
    text = json.dumps(out_header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    raw = struct.pack("<Q", len(text)) + text + data
    packed = subprocess.run(["zstd", "-19", "--no-check", "-c"], input=raw, stdout=subprocess.PIPE, check=True).stdout
    with open(target, "wb") as f:
        f.write(packed)
    print(len(raw), "bytes raw, sha256", hashlib.sha256(raw).hexdigest())
    print(len(packed), "bytes packed, sha256", hashlib.sha256(packed).hexdigest())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
