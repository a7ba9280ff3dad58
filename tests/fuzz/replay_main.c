/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main.c: runs a fuzz target over files that are already there, without libFuzzer, so that `make test` replays the corpus with
 * any compiler. Arguments are files and folders (not searched deeper).
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t input_count;

static void stop(const char *path)
{
    fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
    exit(2);
}

static void replay_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    struct stat st;
    uint8_t *data;
    size_t got;

    if (!in || fstat(fileno(in), &st))
        stop(path);
    /* A block of exactly the file's size: a read beyond its end is seen by the sanitizers. */
    data = malloc(st.st_size ? (size_t)st.st_size : 1);
    if (!data)
        stop(path);
    got = fread(data, 1, (size_t)st.st_size, in);
    fclose(in);
    LLVMFuzzerTestOneInput(data, got);
    free(data);
    input_count++;
}

static void replay_folder(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);

    if (count < 0)
        stop(path);
    for (int i = 0; i < count; i++) {
        char name[4096];
        struct stat st;
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (stat(name, &st) == 0 && S_ISREG(st.st_mode))
            replay_file(name);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st))
            stop(argv[i]);
        if (S_ISDIR(st.st_mode))
            replay_folder(argv[i]);
        else
            replay_file(argv[i]);
    }
    printf("%zu inputs replayed\n", input_count);
    return input_count ? 0 : 1;
}
