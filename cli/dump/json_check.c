/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_check.c: the grammar of RFC 8259, strictly, as a machine that is fed with pieces of text of any size. It keeps the open
 * brackets and the hashes of the keys of open objects, never the text, so its memory does not grow with the input.
 *
 * Stricter than the RFC on purpose: no duplicate keys, no U+0000 (strings end up as C strings), keys that fit a buffer, numbers of at
 * most 63 characters (where cJSON stops reading), and limits on depth, values and keys.
 */
#include "dump_internal.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum state {
    WANT_VALUE,
    WANT_VALUE_OR_END, /* after [ */
    WANT_KEY,
    WANT_KEY_OR_END, /* after { */
    WANT_COLON,
    WANT_COMMA_OR_END,
    WANT_NOTHING, /* the text is complete */
    IN_STRING,    /* white space may come in all states above */
    IN_ESCAPE,
    IN_HEX,
    IN_LOW_BACKSLASH, /* a high surrogate wants \uDC00..\uDFFF */
    IN_LOW_U,
    IN_UTF8,
    IN_NUMBER,
    IN_LITERAL,
    AT_EARLY_END,
    STATE_COUNT
};

enum number_state { N_MINUS, N_ZERO, N_INTEGER, N_POINT, N_FRACTION, N_E, N_SIGN, N_EXPONENT, N_BAD };

static int fail(struct json_machine *m, const char *what)
{
    m->error.code = FP4_EFORMAT;
    snprintf(m->error.msg, sizeof m->error.msg, "%s", what);
    return -1;
}

static int fail_found(struct json_machine *m, const char *wanted, unsigned char c)
{
    m->error.code = FP4_EFORMAT;
    if (c > 0x20 && c < 0x7F)
        snprintf(m->error.msg, sizeof m->error.msg, "expected %s, found '%c'", wanted, c);
    else
        snprintf(m->error.msg, sizeof m->error.msg, "expected %s, found byte 0x%02x", wanted, c);
    return -1;
}

static int fail_limit(struct json_machine *m, const char *what, size_t limit)
{
    m->error.code = FP4_EFORMAT;
    snprintf(m->error.msg, sizeof m->error.msg, "%s (limit %zu)", what, limit);
    return -1;
}

static int notify(struct json_machine *m, enum json_event event)
{
    if (!m->watch || m->depth > m->watch_depth)
        return 0;
    return m->watch(m, event, m->arg) ? -1 : 0;
}

/* ---- values ---- */

static int end_value(struct json_machine *m)
{
    m->state = m->depth ? WANT_COMMA_OR_END : WANT_NOTHING;
    return notify(m, JSON_END);
}

static int open_bracket(struct json_machine *m, bool object)
{
    if (m->depth >= m->max_depth || m->depth >= JSON_DEPTH_LIMIT)
        return fail_limit(m, "brackets are nested too deep", m->max_depth);
    m->is_object[m->depth] = object;
    m->key_base[m->depth] = m->key_count;
    m->depth++;
    m->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    return 1;
}

static int close_bracket(struct json_machine *m)
{
    m->depth--;
    m->key_count = m->key_base[m->depth];
    m->end = m->offset + 1;
    return end_value(m) ? -1 : 1;
}

static int begin_string(struct json_machine *m, bool is_key)
{
    m->string_is_key = is_key;
    m->keep_text = is_key || (m->watch && m->depth <= m->watch_depth);
    m->text_length = 0;
    m->state = IN_STRING;
    return 1;
}

static int begin_number(struct json_machine *m, unsigned char c)
{
    m->number_state = c == '-' ? N_MINUS : c == '0' ? N_ZERO : N_INTEGER;
    m->number_length = 1;
    m->state = IN_NUMBER;
    return 1;
}

static int begin_literal(struct json_machine *m, const char *rest)
{
    m->literal = rest;
    m->state = IN_LITERAL;
    return 1;
}

static int want_value(struct json_machine *m, unsigned char c)
{
    bool number = c == '-' || (c >= '0' && c <= '9');

    if (!number && !memchr("{[\"tfn", c, 6))
        return fail_found(m, "a value", c);
    if (m->values >= m->max_values)
        return fail_limit(m, "too many values", m->max_values);
    m->values++;
    m->first = (char)c;
    if (notify(m, JSON_BEGIN))
        return -1;
    switch (c) {
    case '{':
        return open_bracket(m, true);
    case '[':
        return open_bracket(m, false);
    case '"':
        return begin_string(m, false);
    case 't':
        return begin_literal(m, "rue");
    case 'f':
        return begin_literal(m, "alse");
    case 'n':
        return begin_literal(m, "ull");
    default:
        return begin_number(m, c);
    }
}

static int want_value_or_end(struct json_machine *m, unsigned char c)
{
    return c == ']' ? close_bracket(m) : want_value(m, c);
}

static int want_key(struct json_machine *m, unsigned char c)
{
    return c == '"' ? begin_string(m, true) : fail_found(m, "a key in quotes", c);
}

static int want_key_or_end(struct json_machine *m, unsigned char c)
{
    return c == '}' ? close_bracket(m) : want_key(m, c);
}

static int want_colon(struct json_machine *m, unsigned char c)
{
    if (c != ':')
        return fail_found(m, "':'", c);
    m->state = WANT_VALUE;
    return 1;
}

static int want_comma_or_end(struct json_machine *m, unsigned char c)
{
    bool object = m->is_object[m->depth - 1];

    if (c == ',') {
        m->state = object ? WANT_KEY : WANT_VALUE;
        return 1;
    }
    if (c == (object ? '}' : ']'))
        return close_bracket(m);
    return fail_found(m, object ? "',' or '}'" : "',' or ']'", c);
}

static int want_nothing(struct json_machine *m, unsigned char c)
{
    return fail_found(m, "the end of the text", c);
}

static int in_literal(struct json_machine *m, unsigned char c)
{
    if (c != (unsigned char)*m->literal)
        return fail_found(m, "true, false or null", c);
    if (*++m->literal)
        return 1;
    m->end = m->offset + 1;
    return end_value(m) ? -1 : 1;
}

/* ---- numbers ---- */

static enum number_state number_next(enum number_state s, unsigned char c)
{
    bool digit = c >= '0' && c <= '9';

    switch (s) {
    case N_MINUS:
        return c == '0' ? N_ZERO : digit ? N_INTEGER : N_BAD;
    case N_ZERO:
    case N_INTEGER:
        if (digit)
            return s == N_INTEGER ? N_INTEGER : N_BAD;
        return c == '.' ? N_POINT : c == 'e' || c == 'E' ? N_E : N_BAD;
    case N_POINT:
        return digit ? N_FRACTION : N_BAD;
    case N_FRACTION:
        return digit ? N_FRACTION : c == 'e' || c == 'E' ? N_E : N_BAD;
    case N_E:
        return digit ? N_EXPONENT : c == '+' || c == '-' ? N_SIGN : N_BAD;
    case N_SIGN:
    case N_EXPONENT:
        return digit ? N_EXPONENT : N_BAD;
    default:
        return N_BAD;
    }
}

static bool number_complete(const struct json_machine *m)
{
    return m->number_state == N_ZERO || m->number_state == N_INTEGER || m->number_state == N_FRACTION ||
           m->number_state == N_EXPONENT;
}

static int in_number(struct json_machine *m, unsigned char c)
{
    enum number_state next = number_next((enum number_state)m->number_state, c);

    if (next != N_BAD) {
        if (++m->number_length > JSON_NUMBER_MAX)
            return fail_limit(m, "a number has too many characters", JSON_NUMBER_MAX);
        m->number_state = (int)next;
        return 1;
    }
    if (!number_complete(m))
        return fail_found(m, "a digit", c);
    if (c >= '0' && c <= '9')
        return fail(m, "a number begins with 0");
    m->end = m->offset;
    return end_value(m) ? -1 : 0; /* the character belongs to what follows */
}

/* ---- strings ---- */

static void put_bytes(struct json_machine *m, const char *bytes, size_t n)
{
    if (m->keep_text && m->text_length < JSON_TEXT_MAX - 1) {
        size_t room = JSON_TEXT_MAX - 1 - m->text_length;
        memcpy(m->text + m->text_length, bytes, n < room ? n : room);
    }
    m->text_length += n;
}

static void put_code_point(struct json_machine *m, uint32_t u)
{
    char b[4];
    size_t n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
    static const uint8_t lead[5] = { 0, 0x00, 0xC0, 0xE0, 0xF0 };

    for (size_t i = n; i-- > 1; u >>= 6)
        b[i] = (char)(0x80 | (u & 0x3F));
    b[0] = (char)(lead[n] | u);
    put_bytes(m, b, n);
}

/* Keys are remembered as hashes: a forged collision only makes the forger's own file wrong. */
static int add_key(struct json_machine *m)
{
    XXH128_hash_t h = XXH3_128bits(m->text, m->text_length);
    size_t base = m->key_base[m->depth - 1];

    if (m->key_count - base >= m->max_keys)
        return fail_limit(m, "an object has too many keys", m->max_keys);
    for (size_t i = base; i < m->key_count; i++)
        if (m->keys[i].lo == h.low64 && m->keys[i].hi == h.high64) {
            char quoted[DUMP_QUOTED_MAX], what[DUMP_QUOTED_MAX + 32];
            snprintf(what, sizeof what, "duplicate key %s", dump_quote(quoted, m->text));
            return fail(m, what);
        }
    if (m->key_count == m->key_capacity) {
        size_t capacity = m->key_capacity ? m->key_capacity * 2 : 64;
        struct json_key *keys = realloc(m->keys, capacity * sizeof *keys);
        if (!keys)
            return fail(m, "out of memory");
        m->keys = keys;
        m->key_capacity = capacity;
    }
    m->keys[m->key_count++] = (struct json_key){ .hi = h.high64, .lo = h.low64 };
    return 0;
}

static int end_string(struct json_machine *m)
{
    size_t kept = m->text_length < JSON_TEXT_MAX ? m->text_length : JSON_TEXT_MAX - 1;

    m->text[kept] = 0;
    if (m->string_is_key) {
        if (add_key(m) || notify(m, JSON_KEY))
            return -1;
        m->state = WANT_COLON;
        return 1;
    }
    m->end = m->offset + 1;
    return end_value(m) ? -1 : 1;
}

static int begin_utf8(struct json_machine *m, unsigned char c)
{
    char byte = (char)c;

    if (c < 0xC2 || c > 0xF4)
        return fail_found(m, "UTF-8", c);
    m->utf8_left = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    /* These bounds on the second byte shut out overlong forms, surrogates and what lies above U+10FFFF. */
    m->utf8_low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    m->utf8_high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    m->state = IN_UTF8;
    put_bytes(m, &byte, 1);
    return 1;
}

static int in_utf8(struct json_machine *m, unsigned char c)
{
    char byte = (char)c;

    if (c < m->utf8_low || c > m->utf8_high)
        return fail_found(m, "UTF-8", c);
    m->utf8_low = 0x80;
    m->utf8_high = 0xBF;
    if (--m->utf8_left == 0)
        m->state = IN_STRING;
    put_bytes(m, &byte, 1);
    return 1;
}

static int in_string(struct json_machine *m, unsigned char c)
{
    if (c == '"')
        return end_string(m);
    if (c == '\\') {
        m->state = IN_ESCAPE;
        return 1;
    }
    if (c < 0x20)
        return fail_found(m, "an escape for a control character", c);
    return begin_utf8(m, c);
}

static int in_escape(struct json_machine *m, unsigned char c)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *at = c ? strchr(names, c) : NULL;

    if (c == 'u') {
        m->hex_left = 4;
        m->unit = 0;
        m->state = IN_HEX;
        return 1;
    }
    if (!at)
        return fail_found(m, "one of \"\\/bfnrtu after '\\'", c);
    put_bytes(m, &values[at - names], 1);
    m->state = IN_STRING;
    return 1;
}

/* A whole \uXXXX has been read into unit. */
static int take_unit(struct json_machine *m)
{
    uint32_t u = m->unit;
    bool low = u >= 0xDC00 && u <= 0xDFFF;

    if (m->high_surrogate) {
        if (!low)
            return fail(m, "a high surrogate is not followed by a low one");
        put_code_point(m, 0x10000 + ((m->high_surrogate - 0xD800) << 10) + (u - 0xDC00));
        m->high_surrogate = 0;
        m->state = IN_STRING;
        return 1;
    }
    if (low)
        return fail(m, "a low surrogate stands alone");
    if (u == 0)
        return fail(m, "\\u0000 is not allowed");
    if (u >= 0xD800 && u <= 0xDBFF) {
        m->high_surrogate = u;
        m->state = IN_LOW_BACKSLASH;
        return 1;
    }
    put_code_point(m, u);
    m->state = IN_STRING;
    return 1;
}

static int in_hex(struct json_machine *m, unsigned char c)
{
    unsigned char lower = c | 0x20;
    uint32_t digit;

    if (c >= '0' && c <= '9')
        digit = c - (uint32_t)'0';
    else if (lower >= 'a' && lower <= 'f')
        digit = lower - (uint32_t)'a' + 10;
    else
        return fail_found(m, "four hex digits after '\\u'", c);
    m->unit = m->unit << 4 | digit;
    return --m->hex_left ? 1 : take_unit(m);
}

static int in_low_backslash(struct json_machine *m, unsigned char c)
{
    if (c != '\\')
        return fail(m, "a high surrogate is not followed by a low one");
    m->state = IN_LOW_U;
    return 1;
}

static int in_low_u(struct json_machine *m, unsigned char c)
{
    if (c != 'u')
        return fail(m, "a high surrogate is not followed by a low one");
    m->hex_left = 4;
    m->unit = 0;
    m->state = IN_HEX;
    return 1;
}

static int at_early_end(struct json_machine *m, unsigned char c)
{
    (void)c;
    return fail(m, "the text goes on after its end");
}

/* Printable ASCII without quote and backslash: what needs no thought in a string. DEL is allowed by the RFC. */
static inline bool plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The same for eight bytes at once: a byte below 0x20, equal to a quote or equal to a backslash borrows into its top bit. */
static inline bool plain8(const char *p)
{
    const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
    uint64_t v, quote, backslash;

    memcpy(&v, p, 8);
    quote = v ^ ones * '"';
    backslash = v ^ ones * '\\';
    return (((v - ones * 0x20) | (quote - ones) | (backslash - ones) | v) & tops) == 0;
}

static size_t plain_run(const char *p, size_t size)
{
    size_t n = 0;

    while (n + 8 <= size && plain8(p + n))
        n += 8;
    while (n < size && plain((unsigned char)p[n]))
        n++;
    return n;
}

/* ---- feeding ---- */

static int (*const steps[STATE_COUNT])(struct json_machine *, unsigned char) = {
    [WANT_VALUE] = want_value,
    [WANT_VALUE_OR_END] = want_value_or_end,
    [WANT_KEY] = want_key,
    [WANT_KEY_OR_END] = want_key_or_end,
    [WANT_COLON] = want_colon,
    [WANT_COMMA_OR_END] = want_comma_or_end,
    [WANT_NOTHING] = want_nothing,
    [IN_STRING] = in_string,
    [IN_ESCAPE] = in_escape,
    [IN_HEX] = in_hex,
    [IN_LOW_BACKSLASH] = in_low_backslash,
    [IN_LOW_U] = in_low_u,
    [IN_UTF8] = in_utf8,
    [IN_NUMBER] = in_number,
    [IN_LITERAL] = in_literal,
    [AT_EARLY_END] = at_early_end,
};

/* Steps over what needs no grammar; how many bytes. */
static size_t skip(struct json_machine *m, const char *p, size_t size)
{
    size_t n = 0;

    if (m->state == IN_STRING) {
        n = plain_run(p, size);
        put_bytes(m, p, n);
        return n;
    }
    if (m->state > IN_STRING)
        return 0;
    for (; n < size && (p[n] == ' ' || p[n] == '\n' || p[n] == '\r' || p[n] == '\t'); n++)
        if (p[n] == '\n') {
            m->line++;
            m->line_start = m->offset + n + 1;
        }
    return n;
}

void json_begin(struct json_machine *m)
{
    *m = (struct json_machine){
        .max_depth = JSON_DEPTH_LIMIT, .max_values = SIZE_MAX, .max_keys = 4096, .line = 1, .state = WANT_VALUE
    };
}

int json_feed(struct json_machine *m, const char *data, size_t size)
{
    size_t at = 0;

    while (at < size) {
        m->offset = m->base + at;
        at += skip(m, data + at, size - at);
        m->offset = m->base + at;
        if (m->state == IN_STRING && m->string_is_key && m->text_length >= JSON_TEXT_MAX)
            return fail_limit(m, "a key is too long", JSON_TEXT_MAX - 1);
        if (at == size)
            break;
        int used = steps[m->state](m, (unsigned char)data[at]);
        if (used < 0)
            return -1;
        at += (size_t)used;
    }
    m->base += size;
    m->offset = m->base;
    return 0;
}

int json_finish(struct json_machine *m)
{
    if (m->state == IN_NUMBER && m->depth == 0 && number_complete(m)) {
        m->end = m->offset;
        if (end_value(m))
            return -1;
    }
    if (m->state == WANT_NOTHING)
        return 0;
    bool in_text = m->state >= IN_STRING && m->state <= IN_UTF8;
    m->state = AT_EARLY_END;
    if (m->base == 0)
        return fail(m, "the text is empty");
    if (in_text)
        return fail(m, "the text ends inside a string");
    return fail(m, m->depth ? "the text ends while brackets are open" : "the text ends before its value does");
}

bool json_failed_at_end(const struct json_machine *m)
{
    return m->state == AT_EARLY_END;
}

size_t json_column(const struct json_machine *m)
{
    return (size_t)(m->offset - m->line_start + 1);
}

void json_release(struct json_machine *m)
{
    free(m->keys);
    m->keys = NULL;
}

int json_check(const char *text, size_t size, unsigned max_depth, size_t *line, size_t *column, struct fp4_error *err)
{
    struct json_machine m;
    int status;

    json_begin(&m);
    m.max_depth = max_depth;
    status = json_feed(&m, text, size);
    if (!status)
        status = json_finish(&m);
    if (status) {
        if (line)
            *line = (size_t)m.line;
        if (column)
            *column = json_column(&m);
        if (err)
            *err = m.error;
    }
    json_release(&m);
    return status;
}
