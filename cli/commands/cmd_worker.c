/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check worker NAME: what `run` starts for a backend that has a process of its own. Not for people. */
#include "commands.h"
#include "select.h"
#include "term.h"
#include "worker.h"

static struct case_options opt;
static const char *device;

static int worker_main(int argc, char **argv)
{
    const struct backend_row *b = argc == 1 ? backend_find(argv[0]) : NULL;
    struct fp4_error err;
    uint64_t n = 0;
    int status;

    if (!b || (device && (u64_from_text(device, &n) || n > 9999))) {
        term_error("worker: is started by `fp4check run`");
        return EXIT_TROUBLE;
    }
    worker_is_child = true;
    worker_device = (unsigned)n;
    if (inputs_registered(&opt, &err)) {
        term_error("worker: %s", err.msg);
        return EXIT_TROUBLE;
    }
    status = worker_serve(b);
    input_release_all();
    return status;
}

static struct option_row options[] = {
    { "input", 0, OPT_LIST, "FILE[:TENSOR]", "safetensors file: its tensors become data constructions", "file", &opt.inputs },
    RS_MODEL_OPTION(opt, "file of an rs-model that cases name"),
    { "device", 0, OPT_STRING, "N", "the device of this worker (0)", NULL, &device },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_worker = {
    .name = "worker",
    .summary = "serve cases to the process that started this one",
    .arguments = "BACKEND",
    .examples = NULL,
    .options = options,
    .run = worker_main,
    .hidden = true,
};
