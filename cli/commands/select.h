/* SPDX-License-Identifier: Apache-2.0 */
/* select.h: the options that choose cases and backends, shared by run, list, show and verify. */
#ifndef FP4_SELECT_H
#define FP4_SELECT_H

#include "backend.h"
#include "options.h"

struct case_options {
    const char *suite, *shard, *seed, *device, *timeout, *te_lib;
    struct string_list cases, ops, inputs, backends, rs_models;
};

/* Rows for an option table; o is a struct case_options variable. */
#define CASE_OPTIONS(o)                                                                                                       \
    {                                                                                                                         \
        "suite", 's',       OPT_STRING, "NAME|FILE", "a suite (`fp4check list suites`) or a suite file ending in .json",      \
        "suite", &(o).suite                                                                                                   \
    },                                                                                                                        \
        { "case", 'c', OPT_LIST, "NAME|GLOB", "only cases that match; a full name needs no suite", NULL, &(o).cases },        \
        { "op", 0, OPT_LIST, "OP", "only cases of this operation", "op", &(o).ops },                                          \
        { "shard", 0, OPT_STRING, "I/N", "the I-th of N equal parts of the cases", NULL, &(o).shard },                        \
        { "seed", 0, OPT_STRING, "N", "added to the seed of every case of the suite", NULL, &(o).seed },                      \
    {                                                                                                                         \
        "input", 0, OPT_LIST, "FILE[:TENSOR]", "safetensors file: its tensors become data constructions", "file", &(o).inputs \
    }

#define BACKEND_OPTION(o)                                                                                            \
    {                                                                                                                \
        "backend", 'b', OPT_LIST, "NAME", "backend to run; default: all that can run here", "backend", &(o).backends \
    }

/* run: what the cases name instead of the default model. The others: files whose models case names mean. */
#define RS_MODEL_OPTION(o, text)                                           \
    {                                                                      \
        "rs-model", 0, OPT_LIST, "NAME|FILE", text, "file", &(o).rs_models \
    }

#define DEVICE_OPTION(o)                                                                                                   \
    {                                                                                                                      \
        "device", 0, OPT_STRING, "LIST", "device, or devices of one kind that share the cases: 0,1 (0)", NULL, &(o).device \
    }

#define TIMEOUT_OPTION(o)                                                                                                  \
    {                                                                                                                      \
        "timeout", 0, OPT_STRING, "SECONDS", "seconds that a case may take on a device before it is given up (120)", NULL, \
            &(o).timeout                                                                                                   \
    }

#define TE_LIB_OPTION(o)                                                                                                     \
    {                                                                                                                        \
        "te-lib", 0, OPT_STRING, "FILE", "libtransformer_engine.so for backend te (FP4CHECK_TE_LIB, or an installed wheel)", \
            "file", &(o).te_lib                                                                                              \
    }

/* Registers --input files, reads --shard and --seed, expands the cases. With --input and no --suite, --case or --op the cases are one
 * quantize case and one rht-quantize case (where the shape allows) for each tensor. */
int cases_selected(const struct case_options *o, struct case_list *out, struct selection *used, struct fp4_error *err);
int inputs_registered(const struct case_options *o, struct fp4_error *err);
/* The value of KNOB_RS for --rs-model NAME|FILE, made known to worker processes too; -1 and a message. */
int rs_model_chosen(const char *text, struct fp4_error *err);
/* Reads the files of --rs-model, so that case names can mean them. cases_selected and inputs_registered do that first. */
int rs_models_registered(const struct case_options *o, struct fp4_error *err);

/* Reads --device and --timeout, for worker.h, and hands --te-lib on to the workers. */
int workers_set(const struct case_options *o, struct fp4_error *err);

/* The backends asked for, or all that belong on this machine, one that is here but broken among them: who runs them says so. An error: the
 * name of a backend that does not exist; devices asked for by --device that no backend can use. */
int backends_selected(const struct case_options *o, const struct backend_row **out, size_t capacity, size_t *count,
                      struct fp4_error *err);

int u64_from_text(const char *text, uint64_t *out); /* decimal or 0x...; -1 when it is neither */
/* UTC now, ISO 8601. */
void time_now(char text[32]);

#endif
