/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faulty.h: backends that are wrong on purpose, of the program build/tests/fp4check-faulty. That is fp4check with the registry.c of this
 * folder in place of its own. They compute what ref (faulty-gpu-*: what soft) computes, except on cases whose data is `ties`; there each
 * does one thing that a backend must not do. tests/cli/t-faults.sh and t-faults-gpu.sh look at what is made of it.
 *
 * Devices 0 to 7 exist for those without a GPU; 0 to 3 are of one kind, 4 to 7 of another.
 *
 *   FP4_FAULTY_LOG=FILE   every case that a faulty backend begins adds the line "PID DEVICE CASE"; each case begins several times,
 *                         with calls of others between (cli/backends/run_checks.h)
 *   FP4_FAULTY_GONE=FILE  faulty-gone makes FILE.DEVICE when it faults, and cannot be started on that device from then on
 *
 * To add one: a line in a list below, and the function fault_ID in faulty_cpu.c or faulty_gpu.c.
 */
#ifndef FP4_FAULTY_H
#define FP4_FAULTY_H

#include "backend.h"

#define FAULTY_CPU(X)                                                               \
    X(none, "faulty-none", "does nothing wrong")                                    \
    X(oob, "faulty-oob", "writes far beyond an output")                             \
    X(far, "faulty-far", "writes to an address that is not there")                  \
    X(onebyte, "faulty-onebyte", "writes one byte too many")                        \
    X(partial, "faulty-partial", "leaves the last byte of an output out")           \
    X(silent, "faulty-silent", "says that it wrote, and did not")                   \
    X(zero, "faulty-zero", "writes zeros, in every case")                           \
    X(random, "faulty-random", "computes something else each time")                 \
    X(hang, "faulty-hang", "loops for ever")                                        \
    X(trap, "faulty-trap", "executes an illegal instruction")                       \
    X(abort, "faulty-abort", "calls abort")                                         \
    X(kill, "faulty-kill", "is killed, as when memory has run out")                 \
    X(exit, "faulty-exit", "calls exit(0)")                                         \
    X(mute, "faulty-mute", "closes its descriptors and stays")                      \
    X(babble, "faulty-babble", "writes to the descriptor of its answers")           \
    X(noise, "faulty-noise", "prints on standard output, and reads standard input") \
    X(gone, "faulty-gone", "dies and cannot be started again")                      \
    X(nibbles, "faulty-nibbles", "exchanges the nibbles of every byte")             \
    X(behind, "faulty-behind", "reads an element behind its input")                 \
    X(padding, "faulty-padding", "dequantize: lets padding of the scales leak in")  \
    X(late, "faulty-late", "uses the amax of the call before")                      \
    X(stride, "faulty-stride", "uses the scale stride of the call before")

#ifdef FP4_HAVE_CUDA
#define FAULTY_GPU(X)                                                                           \
    X(gpu_far, "faulty-gpu-far", "a kernel that writes to an address that is not there")        \
    X(gpu_near, "faulty-gpu-near", "a kernel that writes beyond an output")                     \
    X(gpu_onebyte, "faulty-gpu-onebyte", "a kernel that writes one byte too many")              \
    X(gpu_input, "faulty-gpu-input", "a kernel that writes beyond its input")                   \
    X(gpu_partial, "faulty-gpu-partial", "a kernel that leaves the last byte of an output out") \
    X(gpu_silent, "faulty-gpu-silent", "no kernel at all")                                      \
    X(gpu_random, "faulty-gpu-random", "a kernel that computes something else each time")       \
    X(gpu_hang, "faulty-gpu-hang", "a kernel that loops for ever")                              \
    X(gpu_trap, "faulty-gpu-trap", "a kernel that calls __trap()")                              \
    X(gpu_launch, "faulty-gpu-launch", "a launch of more threads than there can be")
#else
#define FAULTY_GPU(X)
#endif

#define FAULTY_DECLARE(id, name, help) extern const struct backend_row faulty_##id;
FAULTY_CPU(FAULTY_DECLARE)
FAULTY_GPU(FAULTY_DECLARE)

/* Whether the fault is shown on this case. */
bool faulty_case(const struct fp4_case *c);
void faulty_log(const struct fp4_case *c);

#endif
