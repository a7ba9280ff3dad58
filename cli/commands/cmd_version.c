/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"
#include "commands.h"
#include "term.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <xxhash.h>
#include <zstd.h>

static int version_main(int argc, char **argv)
{
    char build[256];
    size_t i;

    if (argc) {
        term_error("version: unexpected argument '%s'", argv[0]);
        return EXIT_TROUBLE;
    }
    printf("fp4check %s\n", FP4_VERSION);
    for (i = 0; i < fp4_backend_count; i++) {
        backend_describe(fp4_backends[i], build, sizeof build);
        printf("backend %s: %s\n", fp4_backends[i]->name, build);
    }
    printf("libraries: cJSON %s, xxHash %d.%d.%d, zstd %s\n", cJSON_Version(), XXH_VERSION_MAJOR, XXH_VERSION_MINOR,
           XXH_VERSION_RELEASE, ZSTD_versionString());
    return EXIT_PASS;
}

static struct option_row options[] = { { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL } };

struct command cmd_version = {
    .name = "version",
    .summary = "print the version, how each backend was built, and the libraries",
    .arguments = "",
    .examples = "  fp4check version",
    .options = options,
    .run = version_main,
};
