/* SPDX-License-Identifier: Apache-2.0 */
#include "te_find.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITES_MAX 64

struct sites { /* folders that Python packages lie in */
    char path[SITES_MAX][1024];
    size_t count;
};

static void add_site(struct sites *s, const char *path)
{
    size_t i;

    for (i = 0; i < s->count; i++)
        if (strcmp(s->path[i], path) == 0)
            return;
    if (s->count < SITES_MAX && strlen(path) < sizeof s->path[0])
        strcpy(s->path[s->count++], path);
}

/* All that match, the newest Python last in the alphabet first. */
static void add_matching(struct sites *s, const char *prefix, const char *pattern)
{
    char text[PATH_MAX];
    glob_t found;
    size_t i;

    if (!prefix || !*prefix || (size_t)snprintf(text, sizeof text, "%s/%s", prefix, pattern) >= sizeof text)
        return;
    if (glob(text, 0, NULL, &found) == 0) {
        for (i = found.gl_pathc; i-- > 0;)
            add_site(s, found.gl_pathv[i]);
        globfree(&found);
    }
}

static void add_prefix(struct sites *s, const char *prefix)
{
    add_matching(s, prefix, "lib/python3*/site-packages");
    add_matching(s, prefix, "lib/python3*/dist-packages");
}

/* PREFIX/bin/python3 and what it is a link to. */
static void add_interpreter(struct sites *s, const char *path)
{
    char prefix[PATH_MAX], *slash;
    int turn;

    for (turn = 0; turn < 2; turn++) {
        if (turn == 0)
            snprintf(prefix, sizeof prefix, "%s", path);
        else if (!realpath(path, prefix))
            return;
        slash = strstr(prefix, "/bin/python3");
        if (!slash)
            continue;
        *slash = '\0';
        add_prefix(s, prefix);
    }
}

/* The parts of a list with colons. */
static void each_part(struct sites *s, const char *list, void (*take)(struct sites *, const char *))
{
    char part[PATH_MAX];

    while (list && *list) {
        size_t n = strcspn(list, ":");

        if (n && n < sizeof part) {
            memcpy(part, list, n);
            part[n] = '\0';
            take(s, part);
        }
        list += n + (list[n] == ':');
    }
}

static void add_path_folder(struct sites *s, const char *folder)
{
    char python[PATH_MAX];

    if ((size_t)snprintf(python, sizeof python, "%s/python3", folder) < sizeof python && access(python, X_OK) == 0)
        add_interpreter(s, python);
}

static const struct sites *all_sites(void)
{
    static struct sites s;
    static bool known;
    char local[PATH_MAX];
    const char *home = getenv("HOME");

    if (known)
        return &s;
    known = true;
    each_part(&s, getenv("PYTHONPATH"), add_site);
    add_prefix(&s, getenv("VIRTUAL_ENV"));
    add_prefix(&s, getenv("CONDA_PREFIX"));
    each_part(&s, getenv("PATH"), add_path_folder);
    if (home && (size_t)snprintf(local, sizeof local, "%s/.local", home) < sizeof local)
        add_prefix(&s, local);
    add_prefix(&s, "/usr/local");
    add_prefix(&s, "/usr");
    return &s;
}

int te_find_library(char *path, size_t size, bool *asked, struct fp4_error *err)
{
    static const char *const places[] = { "transformer_engine/wheel_lib/libtransformer_engine.so",
                                          "transformer_engine/libtransformer_engine.so", "libtransformer_engine.so" };
    const char *named = getenv(TE_LIBRARY_VARIABLE);
    const struct sites *s;
    size_t i, k;

    *asked = named && *named;
    if (*asked) {
        char full[PATH_MAX]; /* a name without a slash would be looked for elsewhere */

        if (access(named, R_OK) || !realpath(named, full))
            return fp4_fail(err, FP4_EIO, "there is no Transformer Engine library '%s' (--te-lib, %s)", named, TE_LIBRARY_VARIABLE);
        if ((size_t)snprintf(path, size, "%s", full) >= size)
            return fp4_fail(err, FP4_EUSAGE, "the path of the Transformer Engine library is too long");
        return 0;
    }
    s = all_sites();
    for (i = 0; i < s->count; i++)
        for (k = 0; k < sizeof places / sizeof places[0]; k++)
            if ((size_t)snprintf(path, size, "%s/%s", s->path[i], places[k]) < size && access(path, R_OK) == 0)
                return 0;
    return fp4_fail(err, FP4_ESUPPORT, "libtransformer_engine.so was not found: " TE_HOW_TO_GET);
}

/* The folder site-packages (or dist-packages, or whatever holds transformer_engine/) that a library lies in; "" when it is in none. */
static void site_of(const char *library, char *site, size_t size)
{
    char full[PATH_MAX], *end;

    *site = '\0';
    if (!realpath(library, full))
        return;
    end = strstr(full, "/transformer_engine/");
    if (!end)
        end = strrchr(full, '/');
    if (end) {
        *end = '\0';
        snprintf(site, size, "%s", full);
    }
}

static bool in_site(const char *site, const char *soname, char *path, size_t size)
{
    char text[PATH_MAX];
    glob_t found;
    bool ok = false;

    if ((size_t)snprintf(text, sizeof text, "%s/nvidia/*/lib/%s", site, soname) >= sizeof text || glob(text, 0, NULL, &found))
        return false;
    ok = (size_t)snprintf(path, size, "%s", found.gl_pathv[0]) < size;
    globfree(&found);
    return ok;
}

bool te_find_wheel_library(const char *soname, const char *beside, char *path, size_t size)
{
    const struct sites *s = all_sites();
    char site[PATH_MAX];
    size_t i;

    site_of(beside, site, sizeof site);
    if (*site && in_site(site, soname, path, size))
        return true;
    for (i = 0; i < s->count; i++)
        if (in_site(s->path[i], soname, path, size))
            return true;
    return false;
}

void te_find_version(const char *library, char *version, size_t size)
{
    char site[PATH_MAX], text[PATH_MAX];
    const char *name;
    glob_t found;

    *version = '\0';
    site_of(library, site, sizeof site);
    if (!*site || (size_t)snprintf(text, sizeof text, "%s/transformer_engine*-*.dist-info", site) >= sizeof text ||
        glob(text, 0, NULL, &found))
        return;
    name = strrchr(found.gl_pathv[0], '/') + 1; /* transformer_engine_cu13-2.20.2.dist-info */
    name += strcspn(name, "-") + 1;
    snprintf(version, size, "%.*s", (int)(strlen(name) - strlen(".dist-info")), name);
    globfree(&found);
}
