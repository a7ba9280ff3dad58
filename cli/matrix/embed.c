/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slice of real weights, put into the program by the assembler. The path is relative to the root of the repository, where make
 * runs the compiler; a build from elsewhere gives -DFP4_WEIGHTS_FILE='"/full/path"'. The Makefile lists the file as a prerequisite of
 * this object, because the compiler's dependency output does not see .incbin.
 */
#include "embed.h"

#ifndef FP4_WEIGHTS_FILE
#define FP4_WEIGHTS_FILE "cli/matrix/weights/minilm-slice.safetensors.zst"
#endif

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl fp4_weights_begin\n"
        ".hidden fp4_weights_begin\n"
        "fp4_weights_begin:\n"
        ".incbin \"" FP4_WEIGHTS_FILE "\"\n"
        ".globl fp4_weights_end\n"
        ".hidden fp4_weights_end\n"
        "fp4_weights_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const uint8_t fp4_weights_begin[] __attribute__((visibility("hidden")));
extern const uint8_t fp4_weights_end[] __attribute__((visibility("hidden")));

const uint8_t *embedded_weights(size_t *bytes)
{
    *bytes = (size_t)(fp4_weights_end - fp4_weights_begin);
    return fp4_weights_begin;
}
