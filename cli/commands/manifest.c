/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

int file_digest(const char *path, digest128 *out, struct fp4_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    FILE *in = fopen(path, "rb");
    char buffer[65536];
    XXH128_hash_t hash;
    size_t n;
    int status = -1;

    if (!in) {
        fp4_fail(err, FP4_EIO, "cannot open '%s': %s", path, strerror(errno));
        goto cleanup;
    }
    if (!state || XXH3_128bits_reset(state) != XXH_OK) {
        fp4_fail(err, FP4_EIO, "out of memory");
        goto cleanup;
    }
    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
        XXH3_128bits_update(state, buffer, n);
    if (ferror(in)) {
        fp4_fail(err, FP4_EIO, "cannot read '%s': %s", path, strerror(errno));
        goto cleanup;
    }
    hash = XXH3_128bits_digest(state);
    out->hi = hash.high64;
    out->lo = hash.low64;
    status = 0;
cleanup:
    XXH3_freeState(state);
    if (in)
        fclose(in);
    return status;
}

static int hex_digest(const char *text, digest128 *out)
{
    size_t i;

    if (strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return -1;
    out->hi = out->lo = 0;
    for (i = 0; i < 32; i++) {
        uint64_t *half = i < 16 ? &out->hi : &out->lo;

        *half = *half << 4 | (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    }
    return 0;
}

static int parse_row(const char *path, size_t line, const char *text, struct manifest *m, struct fp4_error *err)
{
    struct manifest_row row;
    char digest[64];
    int at = 0;

    memset(&row, 0, sizeof row);
    if (sscanf(text, "%127s %63s %zu %n", row.name, digest, &row.cases, &at) < 3 || at == 0)
        return fp4_fail(err, FP4_EFORMAT, "%s: line %zu: wants NAME DIGEST CASES COMMAND", path, line);
    if (hex_digest(digest, &row.digest))
        return fp4_fail(err, FP4_EFORMAT, "%s: line %zu: digest: '%.40s' is not 32 hex digits", path, line, digest);
    if (strchr(row.name, '/'))
        return fp4_fail(err, FP4_EFORMAT, "%s: line %zu: name: '%s' is not a file of the same folder", path, line, row.name);
    if (manifest_find(m, row.name))
        return fp4_fail(err, FP4_EFORMAT, "%s: line %zu: name: '%s' is listed twice", path, line, row.name);
    snprintf(row.command, sizeof row.command, "%.*s", (int)strcspn(text + at, "\n"), text + at);
    return manifest_set(m, &row, err);
}

int manifest_read(const char *path, bool may_lack, struct manifest *out, struct fp4_error *err)
{
    FILE *in = fopen(path, "r");
    char text[1024];
    size_t line = 0;
    int status = 0;

    memset(out, 0, sizeof *out);
    if (!in)
        return may_lack && errno == ENOENT ? 0 : fp4_fail(err, FP4_EIO, "cannot open '%s': %s", path, strerror(errno));
    while (status == 0 && fgets(text, sizeof text, in)) {
        line++;
        if (!strchr(text, '\n') && strlen(text) == sizeof text - 1)
            status = fp4_fail(err, FP4_EFORMAT, "%s: line %zu: longer than %zu characters", path, line, sizeof text - 2);
        else if (text[0] != '#' && text[strspn(text, " \t\r\n")] != '\0')
            status = parse_row(path, line, text, out, err);
    }
    fclose(in);
    if (status)
        manifest_release(out);
    return status;
}

const struct manifest_row *manifest_find(const struct manifest *m, const char *name)
{
    size_t i;

    for (i = 0; i < m->count; i++)
        if (strcmp(m->rows[i].name, name) == 0)
            return &m->rows[i];
    return NULL;
}

int manifest_set(struct manifest *m, const struct manifest_row *row, struct fp4_error *err)
{
    struct manifest_row *grown;
    size_t i = 0;

    while (i < m->count && strcmp(m->rows[i].name, row->name) < 0)
        i++;
    if (i < m->count && strcmp(m->rows[i].name, row->name) == 0) {
        m->rows[i] = *row;
        return 0;
    }
    grown = realloc(m->rows, (m->count + 1) * sizeof *grown);
    if (!grown)
        return fp4_fail(err, FP4_EIO, "out of memory");
    m->rows = grown;
    memmove(grown + i + 1, grown + i, (m->count - i) * sizeof *grown);
    grown[i] = *row;
    m->count++;
    return 0;
}

int manifest_write(const char *path, const struct manifest *m, struct fp4_error *err)
{
    char partial[4096], digest[33];
    FILE *out;
    size_t i;
    bool ok;

    snprintf(partial, sizeof partial, "%s.partial", path);
    out = fopen(partial, "w");
    if (!out)
        return fp4_fail(err, FP4_EIO, "cannot write '%s': %s", partial, strerror(errno));
    fputs("# Golden dumps: file, XXH3-128 of its bytes, cases, the command that made it. Changed by `fp4check bless` only.\n", out);
    for (i = 0; i < m->count; i++) {
        digest_print(m->rows[i].digest, digest);
        fprintf(out, "%s %s %zu %s\n", m->rows[i].name, digest, m->rows[i].cases, m->rows[i].command);
    }
    ok = !ferror(out) && fflush(out) == 0 && fsync(fileno(out)) == 0;
    ok = fclose(out) == 0 && ok;
    if (!ok || rename(partial, path) != 0) {
        fp4_fail(err, FP4_EIO, "cannot write '%s': %s", path, strerror(errno));
        unlink(partial);
        return -1;
    }
    return 0;
}

void manifest_release(struct manifest *m)
{
    free(m->rows);
    memset(m, 0, sizeof *m);
}
