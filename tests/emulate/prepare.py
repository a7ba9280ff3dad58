#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies kernels/ to a folder in a form that a C++ compiler takes: launches become calls, functions with inline PTX in isa/common.cuh are
dropped (include/isa_host.h has them in C++), and .cu becomes .cpp. usage: prepare.py KERNELS OUT"""
import os
import re
import sys

source, out = sys.argv[1:3]
LAUNCH = re.compile(r'([A-Za-z_]\w*(?:<[\w, ]*>)?)\s*<<<(.*?)>>>\s*\(', re.S)
FUNCTION = re.compile(r'^(?:template <[^>]*> )?__device__ __forceinline__ [^\n]*\n\{\n.*?^\}\n', re.S | re.M)


def convert(text, name):
    if name == 'common.cuh':
        text = FUNCTION.sub(lambda m: '' if 'asm' in m.group(0) else m.group(0), text)
        text = text.replace('#include "block.h"\n', '#include "block.h"\n#include "isa_host.h"\n')
    return LAUNCH.sub(lambda m: 'emulate_launch(%s).run(%s, ' % (m.group(2), m.group(1)), text)


for folder, _, names in os.walk(source):
    for name in names:
        if not name.endswith(('.cu', '.cuh', '.h')):
            continue
        path = os.path.join(out, os.path.relpath(folder, source), re.sub(r'\.cu$', '.cpp', name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = convert(open(os.path.join(folder, name)).read(), name)
        if not os.path.exists(path) or open(path).read() != text:
            open(path, 'w').write(text)
