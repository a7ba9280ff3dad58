/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: a profile as text and as JSON. */
#include "probe.h"

#include <string.h>

void profile_print(const struct profile *p, FILE *out)
{
    const char *group = "";
    size_t i;

    fprintf(out, "backend %s\n", p->backend);
    for (i = 0; i < p->count; i++) {
        const struct profile_finding *f = &p->findings[i];

        if (strcmp(f->group, group) != 0)
            fprintf(out, "\n%s%s%s\n", term_on(out, STYLE_BOLD), f->group, term_off(out));
        group = f->group;
        fprintf(out, "  %-20s %s\n", f->key, f->value);
    }
}

static void put_findings(const struct profile *p, struct text *t)
{
    char key[64];
    size_t i;

    text_add(t, "{");
    for (i = 0; i < p->count; i++) {
        snprintf(key, sizeof key, "%s.%s", p->findings[i].group, p->findings[i].key);
        text_add(t, i ? "," : "");
        text_json(t, key);
        text_add(t, ":");
        text_json(t, p->findings[i].value);
    }
    text_add(t, "}");
}

void profile_json_short(const struct profile *p, struct text *t)
{
    put_findings(p, t);
}

void profile_json(const struct profile *p, struct text *t)
{
    const struct probe_rs *rs = &p->rs;
    unsigned lane, j;

    text_add(t, "{\"format\":\"fp4check-profile\",\"version\":1,\"tool\":\"fp4check " FP4_VERSION "\",\n\"backend\":");
    text_json(t, p->backend);
    text_add(t, ",\n\"rs_model\":");
    if (rs->model >= 0)
        text_json(t, rs_model_row((unsigned)rs->model)->name);
    else
        text_add(t, "null");
    text_add(t, ",\"rule\":");
    if (rs->rule_found)
        text_json(t, rs_rule_name(rs->rule));
    else
        text_add(t, "null");
    text_add(t, ",\n\"map\":");
    if (rs->additive) {
        for (lane = 0; lane < 4; lane++)
            for (j = 0; j < 8; j++) {
                text_add(t, j ? "," : lane ? "],[" : "[[");
                if (rs->map.source[lane][j] < 32)
                    text_printf(t, "%u", rs->map.source[lane][j]);
                else
                    text_add(t, "null");
            }
        text_add(t, "]]");
    } else {
        text_add(t, "null");
    }
    text_add(t, ",\n\"findings\":");
    put_findings(p, t);
    text_add(t, "}\n");
}
