/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_wire.h: what goes over the socket between worker.c and worker_serve.c; both ends are the same program.
 *
 *   request   u32 length, bytes     a case name; "": can the backend run here?
 *             bytes                 to a case whose data is `made`: its inputs, one after the other
 *   answer    u32 WIRE_OK           to "": u32 length, text (describe)
 *                                   to a case: for each output and stage u64 bytes, data (UINT64_MAX, none: it was not made),
 *                                   then, once the worker has put the case away, u32 WIRE_DONE
 *             u32 WIRE_FAILED       u32 code, u32 length, text; the worker ends
 *             u32 WIRE_REFUSED      u32 code, u32 length, text: the device cannot run this case; the worker goes on
 *             u32 WIRE_NO_EXEC      u32 errno: the process could not become a worker
 */
#ifndef FP4_WORKER_WIRE_H
#define FP4_WORKER_WIRE_H

#include <stddef.h>

#define WORKER_FD 3
#define WIRE_TEXT_MAX 480

enum wire { WIRE_OK = 0x4F4B0001, WIRE_FAILED, WIRE_NO_EXEC, WIRE_DONE, WIRE_REFUSED };

/* 0 when all was sent; -1 when the other end is gone (no SIGPIPE). */
int wire_send(int fd, const void *data, size_t size);

#endif
