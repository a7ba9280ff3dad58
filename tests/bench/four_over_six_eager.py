#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four-over-six as eager PyTorch operations, timed: what the reference and the kernels are compared with.

    four_over_six_eager.py                                     one CPU thread, 1024x2048
    four_over_six_eager.py --driver build/tests/time_four      the same, beside the reference on the same input, bytes compared
    four_over_six_eager.py --device cuda --shape 8192x7168 --shape 32768x7168

The arithmetic is that of docs/numerics.md, "Four-over-six", recipe torchao, one elementwise operation at a time on whole tensors; only
the sum of a block's errors, whose order is fixed, is a loop of 16. The tensor amax is computed outside the timing, for both. On a CPU
both are measured in the CPU time of their one thread, so that other work on the machine counts little. Needs torch (2.13.0 was used);
nothing else here does.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

FLT_MAX = torch.finfo(torch.float32).max


class Constants:
    """Divisors as tensors of the device: a Python number would be turned into a multiplication by its reciprocal on a GPU."""

    def __init__(self, bound, device):
        self.numerator = torch.full((1,), 6.0 * bound, device=device)
        self.six = torch.full((1,), 6.0, device=device)
        self.one = torch.ones((1,), device=device)


def global_scale(amax, c):
    s = torch.clamp(c.numerator / amax, max=FLT_MAX)
    return torch.where((amax == 0) | (s == 0), c.one, s)


def round_e2m1(v):
    """Values and codes of the nearest E2M1 numbers, ties to even."""
    a = v.abs().clamp(max=6.0)
    step = torch.where(a < 2, 0.5, torch.where(a < 4, 1.0, 2.0))
    q = torch.round(a / step) * step
    index = torch.where(q < 2, 2 * q, torch.where(q < 4, q + 2, q / 2 + 4)).to(torch.uint8)
    return torch.copysign(q, v), index | (torch.signbit(v).to(torch.uint8) << 3)


def block_error(q, f, x, amax, c, mse):
    """Serial sum over the 16 elements of a block. x: [..., 16]."""
    d = q * f.unsqueeze(-1) * amax / c.numerator - x
    d = d * d if mse else d.abs()
    e = torch.zeros_like(f)
    for i in range(16):
        e = e + d[..., i]
    return e


def tile_sum(e):
    """e: [tile rows, 16, blocks]; halves added to halves."""
    for width in (8, 4, 2, 1):
        e = e[:, :width] + e[:, width : 2 * width]
    return e


def four_over_six(x, amax, c, tile, mse):
    """x: [R, C] -> packed codes [R, C/2], scale bytes [R, C/16]."""
    rows, cols = x.shape
    v = x.float().view(rows, cols // 16, 16)
    s = global_scale(amax, c)
    d = c.one / s
    b = v.abs().amax(-1)
    if tile:
        b = b.view(rows // 16, 16, -1).amax(1, keepdim=True).expand(-1, 16, -1).reshape(rows, -1)
    base = b / c.six * s
    candidates = []
    for larger in (base, base * 1.5):
        scale = larger.clamp(max=448.0).to(torch.float8_e4m3fn)
        f = scale.float()
        e = torch.clamp(c.one / (f * d), max=FLT_MAX)
        q, code = round_e2m1(v * e.unsqueeze(-1))
        error = block_error(q, f, v, amax, c, mse)
        if tile:
            error = tile_sum(error.view(rows // 16, 16, -1)).expand(-1, 16, -1).reshape(rows, -1)
        candidates.append((scale.view(torch.uint8), code, error))
    (scale6, code6, error6), (scale4, code4, error4) = candidates
    pick4 = error4 < error6
    code = torch.where(pick4.unsqueeze(-1), code4, code6).view(rows, cols)
    return code[:, 0::2] | (code[:, 1::2] << 4), torch.where(pick4, scale4, scale6)


def seconds_of(call, device, runs):
    """The median of some calls, after one to warm up."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    times = []
    for run in range(runs + 1):
        if device == "cuda":
            torch.cuda.synchronize()
        start = clock()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        if run:
            times.append(clock() - start)
    return sorted(times)[len(times) // 2]


def reference_seconds(driver, x, amax, args, tile, codes, scales):
    """Times the C driver on the same bytes, and insists on the same result."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = pathlib.Path(folder, "x"), pathlib.Path(folder, "out")
        source.write_bytes(bytes(x.view(torch.uint8).flatten().tolist()))
        text = subprocess.run(
            [driver, str(x.shape[0]), str(x.shape[1]), "16x16" if tile else "1x16", args.error, str(args.bound),
             amax.view(torch.int32).item().to_bytes(4, "big", signed=True).hex(), str(source), str(result)],
            check=True, capture_output=True, text=True).stdout
        got = result.read_bytes()
    want = bytes(codes.flatten().tolist()) + bytes(scales.flatten().tolist())
    if got != want:
        at = next(i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1])
        sys.exit(f"four_over_six_eager: the two disagree at byte {at} of codes and scales")
    return float(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--shape", action="append", metavar="ROWSxCOLS")
    parser.add_argument("--error", default="mae", choices=("mae", "mse"))
    parser.add_argument("--bound", type=int, default=256, choices=(256, 448))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--driver", help="the C driver (build/tests/time_four), for the ratio; CPU only")
    args = parser.parse_args()
    if args.driver and args.device != "cpu":
        parser.error("--driver compares on the CPU")
    torch.set_num_threads(1)
    torch.manual_seed(123)
    constants = Constants(args.bound, args.device)
    print(f"torch {torch.__version__}, {args.device}, {args.error}, bound {args.bound}, bf16")
    for shape in args.shape or ["1024x2048"]:
        rows, cols = map(int, shape.split("x"))
        x = torch.randn(rows, cols, device=args.device).to(torch.bfloat16)
        amax = x.abs().amax().float().reshape(1)
        for tile in (False, True):
            def call():
                return four_over_six(x, amax, constants, tile, args.error == "mse")

            seconds = seconds_of(call, args.device, args.runs)
            line = f"{shape} {'16x16' if tile else '1x16':5} {seconds * 1e3:10.3f} ms {rows * cols / seconds / 1e6:10.2f} Melem/s" \
                   f" {rows * cols * (2 + 1 / 2 + 1 / 16) / seconds / 1e9:8.2f} GB/s"
            if args.driver:
                codes, scales = call()
                other = reference_seconds(args.driver, x, amax, args, tile, codes, scales)
                line += f" | reference {rows * cols / other / 1e6:8.2f} Melem/s, {seconds / other:.1f} times, the same bytes"
            print(line, flush=True)


if __name__ == "__main__":
    main()
