/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "dump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

/* ---- a scratch folder, which a test removes at its end ---- */

static char folder[256];

/* In memory where that can be had: these tests end some thousand files, and each end waits for the disk. */
static void make_folder(void)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%.200s/fp4check-test-XXXXXX", base && *base ? base : "/tmp");
    cr_assert(mkdtemp(folder), "cannot make '%s'", folder);
}

static void drop_folder(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char paths[4][400];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put_file(const char *path, const void *data, size_t size)
{
    FILE *out = fopen(path, "wb");

    cr_assert(out, "cannot make '%s'", path);
    cr_assert_eq(fwrite(data, 1, size, out), size);
    fclose(out);
}

static char *get_file(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    char *data = NULL;

    *size = 0;
    if (!in)
        return NULL;
    for (size_t got = 1; got > 0; *size += got) {
        data = realloc(data, *size + 4097);
        got = fread(data + *size, 1, 4096, in);
    }
    data[*size] = 0;
    fclose(in);
    return data;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- a small dump ---- */

static uint8_t small_codes[4] = { 0x10, 0x32, 0x54, 0xF6 }, small_scales[2] = { 0x38, 0x7E }, zeros[70000];
static float small_amax[1] = { 6.0f };

static struct case_tensors small_tensors(void)
{
    return (struct case_tensors){ .count = 5,
                                  .t = { { "x", TENSOR_INPUT, FP4_F32, 2, { 2, 4 }, 32, zeros, true },
                                         { "amax", TENSOR_OUTPUT, FP4_F32, 1, { 1, 0 }, 4, (uint8_t *)small_amax, true },
                                         { "block-scale", TENSOR_OUTPUT, FP4_E4M3, 2, { 2, 1 }, 2, small_scales, true },
                                         { "scaled", TENSOR_STAGE, FP4_F32, 2, { 2, 4 }, 32, zeros, true },
                                         { "codes", TENSOR_OUTPUT, FP4_E2M1, 2, { 2, 4 }, 4, small_codes, true } } };
}

static struct dump_header small_header(void)
{
    return (struct dump_header){ .provenance = { .tool = "fp4check 0.1.0",
                                                 .time = "2025-01-01T00:00:00Z",
                                                 .builds = { { "ref", "gcc -O2" } },
                                                 .build_count = 1 },
                                 .suite = "smoke",
                                 .seed = 0xFEDCBA9876543210,
                                 .backends = { "ref", "sm100" },
                                 .backend_count = 2 };
}

static const char *const small_names[] = { "quantize/te/rn/1x16/f32/ties/2x4/s0", "quantize/te/rn/1x16/f32/ties/2x4/s1",
                                           "quantize/te/rn/1x16/f32/ties/2x4/s2" };

static char *small_case(const char *name)
{
    struct case_tensors t = small_tensors();
    struct dump_result r[2] = { { "ref", DUMP_OK, NULL, &t, NULL }, { "sm100", DUMP_SKIPPED, "no CUDA device", NULL, NULL } };

    return dump_render_case(name, &t, r, 2, 100, false);
}

/* Writes the small dump; the writer is left for the caller to end. */
static struct dump_writer *write_small(const char *path, const struct dump_header *h, size_t from)
{
    struct fp4_error err = { 0 };
    struct dump_writer *w = dump_open(path, h, &err);

    cr_assert(w, "%s", err.msg);
    for (size_t i = from; i < 3; i++) {
        char *text = small_case(small_names[i]);
        cr_assert_eq(dump_append(w, text, &err), 0, "%s", err.msg);
        free(text);
    }
    return w;
}

static void finish_small(const char *path)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };

    cr_assert_eq(dump_close(write_small(path, &h, 0), &err), 0, "%s", err.msg);
}

/* Opens a file and reads all its cases: 0 or -1 with a message. */
static int read_all(const char *path, struct fp4_error *err)
{
    struct dump_file *f;
    int status = 0;

    *err = (struct fp4_error){ 0 };
    f = dump_read_open(path, err);
    if (!f)
        return -1;
    for (size_t i = 0; i < dump_count(f) && !status; i++) {
        struct dump_case c;
        status = dump_case_read(f, i, &c, err);
        dump_case_release(&c);
    }
    dump_read_close(f);
    return status;
}

/* ---- digests ---- */

Test(digest, empty_input_has_the_published_value)
{
    char text[33];

    digest_print(digest_bytes("", 0), text);
    cr_expect_str_eq(text, "99aa06d3014798d86001c324468d497f");
    cr_expect_eq(digest64_bytes("", 0), UINT64_C(0x2d06800538d394c2));
    cr_expect(digest_equal(digest_bytes("ab", 2), digest_bytes("ab", 2)));
    cr_expect(!digest_equal(digest_bytes("ab", 2), digest_bytes("ba", 2)));
}

/* ---- writing ---- */

Test(dump_writer, a_small_dump_has_exactly_these_bytes)
{
    static const char one[] =
        "\"inputs\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[2,4],\"xxh3\":"
        "\"9a026d96b3c0f0fca057271c9071c99d\"}],"
        "\"results\":[{\"backend\":\"ref\",\"status\":\"ok\",\"tensors\":["
        "{\"name\":\"amax\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[1],\"xxh3\":\"9e0e639e4f3202054c17f0c3016bcf4f\","
        "\"base64\":\"AADAQA==\"},"
        "{\"name\":\"block-scale\",\"role\":\"output\",\"dtype\":\"e4m3\",\"shape\":[2,1],\"xxh3\":"
        "\"7604528aaff72625b417b9fdf151b2f7\","
        "\"base64\":\"OH4=\"},"
        "{\"name\":\"scaled\",\"role\":\"stage\",\"dtype\":\"f32\",\"shape\":[2,4],\"xxh3\":\"9a026d96b3c0f0fca057271c9071c99d\"},"
        "{\"name\":\"codes\",\"role\":\"output\",\"dtype\":\"e2m1\",\"shape\":[2,4],\"xxh3\":\"cbd1eb27d75eda71fa9e271d3ac4c4f8\","
        "\"base64\":\"EDJU9g==\"}]},"
        "{\"backend\":\"sm100\",\"status\":\"skipped\",\"reason\":\"no CUDA device\"}]}";
    char *wanted = NULL, *got;
    size_t size;

    make_folder();
    finish_small(in_folder("a.json"));
    got = get_file(in_folder("a.json"), &size);
    cr_assert(
        asprintf(
            &wanted,
            "{\"format\":\"fp4check-dump\",\"version\":1,\n"
            "\"provenance\":{\"tool\":\"fp4check 0.1.0\",\"time\":\"2025-01-01T00:00:00Z\",\"builds\":{\"ref\":\"gcc -O2\"}},\n"
            "\"suite\":\"smoke\",\"shard\":\"1/1\",\"seed\":\"0xfedcba9876543210\",\"backends\":[\"ref\",\"sm100\"],\n"
            "\"cases\":[\n{\"case\":\"%s\",%s,\n{\"case\":\"%s\",%s,\n{\"case\":\"%s\",%s\n],\n\"count\":3,\"complete\":true}\n",
            small_names[0], one, small_names[1], one, small_names[2], one) > 0);
    cr_expect_str_eq(got, wanted);
    cr_expect_not(exists(in_folder("a.json.partial")));
    free(wanted);
    free(got);
    drop_folder();
}

Test(dump_writer, a_dump_without_cases_is_valid)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };

    make_folder();
    cr_expect_eq(dump_close(write_small(in_folder("a.json"), &h, 3), &err), 0, "%s", err.msg);
    cr_expect_eq(read_all(in_folder("a.json"), &err), 0, "%s", err.msg);
    drop_folder();
}

Test(dump_writer, the_old_file_stays_until_the_new_one_is_whole)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    struct dump_writer *w;
    struct stat st;
    size_t size;
    char *text;

    make_folder();
    put_file(in_folder("a.json"), "old", 3);
    w = write_small(in_folder("a.json"), &h, 0);
    cr_expect(stat(in_folder("a.json"), &st) == 0 && st.st_size == 3);
    cr_expect(exists(in_folder("a.json.partial")));
    dump_abort(w);
    cr_expect_not(exists(in_folder("a.json.partial")));
    cr_expect(stat(in_folder("a.json"), &st) == 0 && st.st_size == 3);

    w = write_small(in_folder("a.json"), &h, 0);
    cr_expect_eq(dump_interrupt(w, &err), 0, "%s", err.msg);
    text = get_file(in_folder("a.json.partial"), &size);
    cr_expect(strstr(text, "\n],\n\"count\":3,\"complete\":false}\n"));
    free(text);
    cr_expect_eq(read_all(in_folder("a.json.partial"), &err), 0, "%s", err.msg);
    cr_expect(stat(in_folder("a.json"), &st) == 0 && st.st_size == 3);

    finish_small(in_folder("a.json"));
    cr_expect_eq(read_all(in_folder("a.json"), &err), 0, "%s", err.msg);
    dump_abort(NULL);
    drop_folder();
}

Test(dump_writer, a_link_stays_a_link_and_a_device_stays_a_device)
{
    struct stat st;
    struct fp4_error err = { 0 };

    make_folder();
    put_file(in_folder("real.json"), "old", 3);
    cr_assert_eq(symlink("real.json", in_folder("link.json")), 0);
    finish_small(in_folder("link.json"));
    cr_expect(lstat(in_folder("link.json"), &st) == 0 && S_ISLNK(st.st_mode));
    cr_expect_eq(read_all(in_folder("real.json"), &err), 0, "%s", err.msg);
    finish_small("/dev/null");
    cr_expect(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    cr_expect_not(exists("/dev/null.partial"));
    drop_folder();
}

static void expect_open_error(const char *path, const char *message)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    struct dump_writer *w = dump_open(path, &h, &err);

    cr_expect_null(w);
    cr_expect(strstr(err.msg, message), "%s", err.msg);
    dump_abort(w);
}

Test(dump_writer, what_cannot_be_written_is_said_with_the_name_of_the_file)
{
    make_folder();
    expect_open_error(in_folder("nowhere/a.json"), "/nowhere/a.json.partial': No such file or directory");
    expect_open_error(folder, "it is a directory");
    expect_open_error("/dev/full", "cannot write '/dev/full': No space left on device");
    drop_folder();
}

Test(dump_writer, another_runs_partial_file_is_not_taken_for_the_own_one)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    struct dump_writer *first, *second;

    make_folder();
    first = write_small(in_folder("a.json"), &h, 1);
    second = write_small(in_folder("a.json"), &h, 0);
    cr_expect_eq(dump_close(first, &err), -1);
    cr_expect(strstr(err.msg, "was replaced by another run"), "%s", err.msg);
    cr_expect_eq(dump_close(second, &err), 0, "%s", err.msg);
    cr_expect_eq(read_all(in_folder("a.json"), &err), 0, "%s", err.msg);
    drop_folder();
}

/* A profile goes into the file and comes back as it was; a backend without one has none. */
Test(dump_writer, profiles_come_back)
{
    static const char profile[] = "{\"cvt-rs.rule\":\"trunc\",\"scale.order\":\"amax * (S * (1/6)), \\\"so\\\"\"}";
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    struct dump_file *f;
    char *text;

    make_folder();
    h.profiles[0] = profile;
    struct dump_writer *w = dump_open(in_folder("a.json"), &h, &err);
    cr_assert(w, "%s", err.msg);
    cr_assert(dump_close(w, &err) == 0, "%s", err.msg);
    f = dump_read_open(in_folder("a.json"), &err);
    cr_assert(f, "%s", err.msg);
    text = dump_profile_text(f, h.backends[0]);
    cr_assert(text);
    cr_expect_str_eq(text, profile);
    free(text);
    cr_expect(dump_profile_text(f, "nobody") == NULL);
    dump_read_close(f);
    h.profiles[0] = NULL;
    w = dump_open(in_folder("b.json"), &h, &err);
    cr_assert(w && dump_close(w, &err) == 0, "%s", err.msg);
    f = dump_read_open(in_folder("b.json"), &err);
    cr_assert(f, "%s", err.msg);
    cr_expect(dump_profile_text(f, h.backends[0]) == NULL);
    dump_read_close(f);
    drop_folder();
}

Test(dump_writer, headers_that_no_reader_would_take_are_refused)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };

    make_folder();
    h.backends[1] = "ref";
    cr_expect_null(dump_open(in_folder("a.json"), &h, &err));
    cr_expect_str_eq(err.msg, "backend 'ref' is there twice");
    h.backends[1] = "plugin:/a/very/long/path/that/never/ends.so";
    cr_expect_null(dump_open(in_folder("a.json"), &h, &err));
    cr_expect(strstr(err.msg, "a backend's name has 1 to 31 bytes"), "%s", err.msg);
    h.backend_count = 0;
    cr_expect_null(dump_open(in_folder("a.json"), &h, &err));
    cr_expect_str_eq(err.msg, "a dump holds 1 to 16 backends, not 0");
    cr_expect_not(exists(in_folder("a.json.partial")));
    drop_folder();
}

/* ---- round trips ---- */

static const struct dump_tensor *tensor_of(const struct dump_case_result *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->t[i].name, name) == 0)
            return &r->t[i];
    return NULL;
}

Test(dump_reader, gives_back_what_was_written)
{
    struct fp4_error err = { 0 };
    struct dump_file *f;
    struct dump_case c;
    unsigned shard, shards;

    make_folder();
    finish_small(in_folder("a.json"));
    f = dump_read_open(in_folder("a.json"), &err);
    cr_assert(f, "%s", err.msg);
    cr_expect_str_eq(dump_path(f), in_folder("a.json"));
    cr_expect(dump_count(f) == 3 && dump_complete(f) && dump_backend_count(f) == 2);
    cr_expect_str_eq(dump_suite(f), "smoke");
    cr_expect_str_eq(dump_backend(f, 0), "ref");
    cr_expect_str_eq(dump_backend(f, 1), "sm100");
    cr_expect_str_eq(dump_provenance_text(f, "tool"), "fp4check 0.1.0");
    cr_expect_str_eq(dump_provenance_text(f, "time"), "2025-01-01T00:00:00Z");
    cr_expect_null(dump_provenance_text(f, "host"));
    cr_expect_null(dump_provenance_text(f, "builds"));
    cr_expect_str_eq(dump_provenance_build(f, "ref"), "gcc -O2");
    cr_expect_null(dump_provenance_build(f, "sm100"));
    dump_shard(f, &shard, &shards);
    cr_expect(shard == 1 && shards == 1);
    cr_expect_eq(dump_seed(f), 0xFEDCBA9876543210);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(dump_find(f, small_names[i]), (ptrdiff_t)i);
    cr_expect_eq(dump_find(f, "quantize/te/rn/1x16/f32/ties/2x4/s3"), -1);
    cr_expect_eq(dump_find(f, ""), -1);

    cr_assert_eq(dump_case_read(f, 1, &c, &err), 0, "%s", err.msg);
    cr_expect_str_eq(c.name, small_names[1]);
    cr_expect(c.line == 6 && c.input_count == 1 && c.result_count == 2);
    cr_expect(c.inputs[0].role == TENSOR_INPUT && c.inputs[0].dtype == FP4_F32 && c.inputs[0].bytes == 32 && !c.inputs[0].data);
    cr_expect(c.inputs[0].ndim == 2 && c.inputs[0].dims[0] == 2 && c.inputs[0].dims[1] == 4 && !c.inputs[0].blocks);
    cr_expect(digest_equal(c.inputs[0].digest, digest_bytes(zeros, 32)));
    const struct dump_case_result *r = dump_case_result_find(&c, "ref");
    cr_assert(r && r->status == DUMP_OK && !r->reason && r->count == 4);
    const struct dump_tensor *codes = tensor_of(r, "codes"), *scaled = tensor_of(r, "scaled"), *amax = tensor_of(r, "amax");
    cr_expect(codes && codes->role == TENSOR_OUTPUT && codes->dtype == FP4_E2M1 && codes->bytes == 4 && codes->data &&
              memcmp(codes->data, small_codes, 4) == 0);
    cr_expect(amax && amax->ndim == 1 && amax->dims[0] == 1 && memcmp(amax->data, small_amax, 4) == 0);
    cr_expect(scaled && scaled->role == TENSOR_STAGE && !scaled->data); /* stages were not to be kept */
    r = dump_case_result_find(&c, "sm100");
    cr_expect(r && r->status == DUMP_SKIPPED && r->count == 0 && strcmp(r->reason, "no CUDA device") == 0);
    cr_expect_null(dump_case_result_find(&c, "sm120"));
    dump_case_release(&c);
    dump_read_close(f);
    dump_read_close(NULL);
    drop_folder();
}

static void fill(uint8_t *data, size_t bytes, bool random)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < bytes; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[i] = random ? (uint8_t)state : 0;
    }
}

static void round_trip(size_t bytes, bool random, size_t keep, bool keep_stages)
{
    struct case_tensors t = { .count = 3 };
    struct dump_result ok = { "ref", DUMP_OK, NULL, &t, NULL };
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    uint8_t *data = malloc(bytes + 1);
    struct dump_case c;

    fill(data, bytes, random);
    t.t[0] = (struct tensor){ "x", TENSOR_INPUT, FP4_U8, 1, { bytes, 0 }, bytes, data, true };
    t.t[1] = (struct tensor){ "codes", TENSOR_OUTPUT, FP4_E2M1, 2, { 2, bytes }, bytes, data, true };
    t.t[2] = (struct tensor){ "scaled", TENSOR_STAGE, FP4_U8, 1, { bytes, 0 }, bytes, data, true };
    struct dump_writer *w = dump_open(in_folder("r.json"), &h, &err);
    char *text = dump_render_case("a/b/s0", &t, &ok, 1, keep, keep_stages);
    cr_assert_eq(dump_append(w, text, &err), 0);
    free(text);
    cr_assert_eq(dump_close(w, &err), 0, "%s", err.msg);

    struct dump_file *f = dump_read_open(in_folder("r.json"), &err);
    cr_assert(f && dump_case_read(f, 0, &c, &err) == 0, "%zu bytes: %s", bytes, err.msg);
    for (size_t i = 0; i < 3; i++) {
        const struct dump_tensor *got = i ? &c.results[0].t[i - 1] : &c.inputs[0];
        bool kept = i && keep && bytes <= keep && (i == 1 || keep_stages);
        cr_expect(got->bytes == bytes && digest_equal(got->digest, digest_bytes(data, bytes)), "%zu bytes", bytes);
        cr_expect((got->blocks != NULL) == (bytes > 4096), "%zu bytes", bytes);
        cr_expect_eq(got->data != NULL, kept, "tensor %zu of %zu bytes, keep %zu", i, bytes, keep);
        cr_expect(!got->data || memcmp(got->data, data, bytes) == 0, "%zu bytes", bytes);
    }
    dump_case_release(&c);
    dump_read_close(f);
    free(data);
}

Test(dump_reader, tensors_of_every_kind_of_size_come_back)
{
    static const size_t sizes[] = { 0, 1, 2, 3, 4095, 4096, 4097, 8192, 65535, 65536, 65537, 300001 };

    make_folder();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int random = 0; random < 2; random++) {
            round_trip(sizes[i], random, 0, true);
            round_trip(sizes[i], random, SIZE_MAX, false);
            round_trip(sizes[i], random, sizes[i], true);
            if (sizes[i] > 1)
                round_trip(sizes[i], random, sizes[i] - 1, true);
        }
    drop_folder();
}

Test(dump_reader, outputs_that_a_backend_did_not_write_are_not_recorded)
{
    struct case_tensors t = small_tensors();
    struct dump_result ok = { "ref", DUMP_OK, NULL, &t, NULL };
    char *text;

    t.t[1].written = false;
    t.t[3].data = NULL;
    text = dump_render_case("a/b/s0", NULL, &ok, 1, 100, true);
    cr_expect(strstr(text, "\"inputs\":[],"));
    cr_expect(!strstr(text, "amax") && !strstr(text, "scaled") && strstr(text, "\"codes\"") && strstr(text, "\"block-scale\""));
    free(text);
}

Test(dump_writer, the_path_of_a_library_stands_before_the_tensors)
{
    struct case_tensors t = small_tensors();
    struct dump_result ok = { "ref", DUMP_OK, NULL, &t, "a kernel \"x\"" };
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    char *text = dump_render_case("a/b/s0", NULL, &ok, 1, 0, false), *bad;
    struct dump_writer *w;

    make_folder();
    w = dump_open(in_folder("p.json"), &h, &err);
    cr_expect(strstr(text, "\"status\":\"ok\",\"path\":\"a kernel \\\"x\\\"\",\"tensors\":["), "%s", text);
    cr_assert(dump_append(w, text, &err) == 0 && dump_close(w, &err) == 0, "%s", err.msg);
    cr_expect_eq(read_all(in_folder("p.json"), &err), 0, "%s", err.msg);
    bad = strstr(text, "a kernel");
    memcpy(bad, "a ke\tnel", 8); /* a control character is no JSON */
    w = dump_open(in_folder("q.json"), &h, &err);
    cr_assert(dump_append(w, text, &err) == 0 && dump_close(w, &err) == 0, "%s", err.msg);
    cr_expect_eq(read_all(in_folder("q.json"), &err), -1);
    free(text);
    ok.path = "a name of sixty-five bytes, one more than there may be in a dump.";
    cr_assert_eq(strlen(ok.path), DUMP_PATH_MAX + 1);
    text = dump_render_case("a/b/s0", NULL, &ok, 1, 0, false);
    w = dump_open(in_folder("l.json"), &h, &err);
    cr_assert(dump_append(w, text, &err) == 0 && dump_close(w, &err) == 0, "%s", err.msg);
    cr_expect_eq(read_all(in_folder("l.json"), &err), -1);
    cr_expect(strstr(err.msg, "path") && strstr(err.msg, "longer than 64 bytes"), "%s", err.msg);
    free(text);
    drop_folder();
}

static void expect_reason(const char *written, const char *read)
{
    struct dump_result r = { "ref", DUMP_ERROR, written, NULL, NULL };
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    char *text = dump_render_case("a/b/s0", NULL, &r, 1, 0, false);
    struct dump_writer *w = dump_open(in_folder("s.json"), &h, &err);
    struct dump_case c;

    cr_assert(dump_append(w, text, &err) == 0 && dump_close(w, &err) == 0, "%s", err.msg);
    free(text);
    struct dump_file *f = dump_read_open(in_folder("s.json"), &err);
    cr_assert(f && dump_case_read(f, 0, &c, &err) == 0, "%s", err.msg);
    cr_expect(c.results[0].status == DUMP_ERROR);
    cr_expect_str_eq(c.results[0].reason, read);
    dump_case_release(&c);
    dump_read_close(f);
}

Test(dump_writer, any_text_becomes_a_valid_string)
{
    char *longer = malloc(10001);

    make_folder();
    expect_reason("", "");
    expect_reason(NULL, "");
    expect_reason("a \"b\" \\ / \b\f\n\r\t \x01\x1f\x7f", "a \"b\" \\ / \b\f\n\r\t \x01\x1f\x7f");
    expect_reason("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    expect_reason("\xff", "\xef\xbf\xbd");
    expect_reason("a\xc3", "a\xef\xbf\xbd");
    expect_reason("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_reason("\xc0\xaf\xf5\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    /* A reason is cut at a whole character: 4095 bytes are left when a two-byte one would straddle the limit. */
    memset(longer, 'x', 10000);
    longer[10000] = 0;
    memcpy(longer + 4095, "\xc3\xa9", 2);
    char *cut = strndup(longer, 4095);
    expect_reason(longer, cut);
    free(cut);
    free(longer);
    drop_folder();
}

/* ---- reading what others made of it ---- */

/* Each token on a line of its own, as a pretty-printer would do it. */
static char *spread(const char *text)
{
    char *out = malloc(strlen(text) * 3 + 1), *to = out;
    bool quoted = false;

    for (; *text; text++) {
        if (*text == '"' && text[-1] != '\\')
            quoted = !quoted;
        if (!quoted && *text == '\n')
            continue;
        *to++ = *text;
        if (!quoted && strchr("{}[],:", *text)) {
            *to++ = '\n';
            *to++ = ' ';
        }
    }
    *to = 0;
    return out;
}

Test(dump_reader, line_breaks_mean_nothing)
{
    struct fp4_error err = { 0 };
    size_t size;
    char *text, *wide;

    make_folder();
    finish_small(in_folder("a.json"));
    text = get_file(in_folder("a.json"), &size);
    wide = spread(text);
    put_file(in_folder("wide.json"), wide, strlen(wide));
    cr_expect_eq(read_all(in_folder("wide.json"), &err), 0, "%s", err.msg);
    /* A fault in the second case is reported at the line where that case begins. */
    char *second = strstr(strstr(wide, "2x4/s1"), "cbd1eb27");
    second[0] = 'z';
    put_file(in_folder("wide.json"), wide, strlen(wide));
    size_t line = 1;
    for (char *p = wide; p < strstr(wide, "2x4/s1"); p++)
        line += *p == '\n';
    char wanted[64];
    snprintf(wanted, sizeof wanted, "wide.json: line %zu: case '", line - 2);
    cr_expect_eq(read_all(in_folder("wide.json"), &err), -1);
    cr_expect(strstr(err.msg, wanted) && strstr(err.msg, "2x4/s1': results[0].tensors[3].xxh3: 'zbd1eb27"), "%s: %s", wanted,
              err.msg);
    free(text);
    free(wide);
    drop_folder();
}

Test(dump_reader, keys_may_come_in_any_order)
{
    static const char text[] =
        "{\"complete\":true,\"count\":1,\"cases\":[{\"results\":[{\"reason\":\"r\",\"status\":\"error\",\"backend\":\"a\"}],"
        "\"inputs\":[],\"case\":\"n\"}],\"backends\":[\"a\"],\"seed\":\"0x1\",\"shard\":\"2/3\",\"suite\":\"\","
        "\"provenance\":{},\"version\":1.0,\"format\":\"fp4check\\u002ddump\"}";
    struct fp4_error err = { 0 };

    cr_expect_eq(dump_check_memory(text, sizeof text - 1, &err), 0, "%s", err.msg);
}

Test(dump_reader, pipes_and_packed_files_read_the_same)
{
    struct fp4_error err = { 0 };
    char path[32];
    uint8_t packed[65536];
    size_t size, packed_size;
    int ends[2];
    char *text;

    make_folder();
    finish_small(in_folder("a.json"));
    text = get_file(in_folder("a.json"), &size);
    packed_size = ZSTD_compress(packed, sizeof packed, text, size, 3);
    put_file(in_folder("a.json.zst"), packed, packed_size);
    cr_expect_eq(read_all(in_folder("a.json.zst"), &err), 0, "%s", err.msg);
    for (int zstd = 0; zstd < 2; zstd++) {
        cr_assert_eq(pipe(ends), 0); /* both fit into a pipe's buffer */
        cr_assert_gt(write(ends[1], zstd ? (void *)packed : (void *)text, zstd ? packed_size : size), 0);
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        cr_expect_eq(read_all(path, &err), 0, "%s", err.msg);
        close(ends[0]);
    }
    for (size_t cut = 5; cut < packed_size; cut++) {
        put_file(in_folder("cut.zst"), packed, cut);
        CHECK(read_all(in_folder("cut.zst"), &err) == -1 && strstr(err.msg, "cut.zst: "), "cut at %zu", cut);
    }
    free(text);
    drop_folder();
}

Test(dump_reader, what_is_no_file_is_said_plainly)
{
    struct fp4_error err;

    make_folder();
    cr_expect(read_all(folder, &err) == -1 && strstr(err.msg, ": is a directory"), "%s", err.msg);
    cr_expect(read_all(in_folder("none"), &err) == -1 && strstr(err.msg, "/none: cannot open: No such file or directory"), "%s",
              err.msg);
    cr_expect(read_all("/dev/null", &err) == -1 && strcmp(err.msg, "/dev/null: the file is empty") == 0, "%s", err.msg);
    cr_expect(read_all("/dev/zero", &err) == -1 && strstr(err.msg, "found byte 0x00"), "%s", err.msg);
    setenv("TMPDIR", in_folder("none"), 1);
    cr_expect(read_all("/dev/zero", &err) == -1 && strstr(err.msg, "cannot create a temporary file in '"), "%s", err.msg);
    drop_folder();
}

/* ---- malformed dumps ---- */

static void expect_lines(const char *file, const char *message, char *lines)
{
    char *rest = NULL;

    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        cr_expect(strstr(message, line), "%s: wanted '%s', got '%s'", file, line, message);
}

Test(dump_reader, each_malformed_dump_is_refused_with_its_message)
{
    const char *root = getenv("FP4_SRCDIR");
    struct dirent **entries;
    char path[1024];
    int count, seen = 0;

    snprintf(path, sizeof path, "%s/tests/cli/malformed", root ? root : ".");
    count = scandir(path, &entries, NULL, alphasort);
    cr_assert_gt(count, 0, "cannot read '%s'", path);
    for (int i = 0; i < count; i++) {
        size_t stem = strlen(entries[i]->d_name), size;
        struct fp4_error err;

        if (stem > 5 && strcmp(entries[i]->d_name + stem - 5, ".json") == 0) {
            snprintf(path, sizeof path, "%s/tests/cli/malformed/%.*s.err", root ? root : ".", (int)(stem - 5), entries[i]->d_name);
            char *lines = get_file(path, &size);
            cr_assert(lines, "there is no '%s'", path);
            memcpy(path + strlen(path) - 4, ".json", 6);
            cr_expect_eq(read_all(path, &err), -1, "%s was taken for a dump", path);
            cr_expect_eq(strncmp(err.msg, path, strlen(path)), 0, "%s: the message does not begin with it: %s", path, err.msg);
            cr_expect(!strpbrk(err.msg, "\n\x1b"), "%s", path);
            expect_lines(path, err.msg, lines);
            free(lines);
            seen++;
        }
        free(entries[i]);
    }
    free(entries);
    cr_expect_geq(seen, 35);
}

Test(dump_reader, no_part_of_a_dump_is_a_dump)
{
    struct fp4_error err = { 0 };
    size_t size;
    char *text;

    make_folder();
    finish_small(in_folder("a.json"));
    text = get_file(in_folder("a.json"), &size);
    for (size_t cut = 0; cut < size - 1; cut++) { /* the last byte is a line feed */
        char *copy = malloc(cut + 1);
        memcpy(copy, text, cut);
        CHECK(dump_check_memory(copy, cut, &err) == -1 && strncmp(err.msg, "memory: ", 8) == 0, "cut at %zu: %s", cut, err.msg);
        free(copy);
    }
    cr_expect_eq(dump_check_memory(text, size - 1, &err), 0, "%s", err.msg);
    free(text);
    drop_folder();
}

Test(dump_reader, a_changed_byte_is_an_error_or_still_a_dump)
{
    static const char other[] = "\0\"\\{],0\x80";
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    size_t size;
    char *text;

    make_folder();
    cr_assert_eq(dump_close(write_small(in_folder("a.json"), &h, 2), &err), 0, "%s", err.msg);
    text = get_file(in_folder("a.json"), &size);
    const char *kept = strstr(text, "EDJU9g==");
    for (size_t i = 0; i < size; i++) {
        char was = text[i];
        for (size_t j = 0; j < sizeof other - 1; j++) {
            text[i] = other[j];
            err = (struct fp4_error){ 0 };
            int status = dump_check_memory(text, size, &err);
            CHECK((status == 0) == (err.msg[0] == 0), "byte %zu", i);
            if (text + i >= kept && text + i < kept + 8)
                CHECK(status == -1, "byte %zu of the kept bytes", i);
        }
        text[i] = was;
    }
    free(text);
    drop_folder();
}

/* ---- size is no weapon ---- */

/* A child writes head and then copies of body without end into a pipe. How much did it get rid of before the reader gave up? */
static uint64_t refuse_stream(const char *head, const char *body, const char *message)
{
    char path[32], block[65536];
    struct fp4_error err;
    int ends[2], back[2];
    uint64_t total = 0;
    pid_t child;

    cr_assert(pipe(ends) == 0 && pipe(back) == 0);
    child = fork();
    if (child == 0) {
        size_t n = strlen(body), fill_bytes = sizeof block / n * n;
        for (size_t i = 0; i < fill_bytes; i += n)
            memcpy(block + i, body, n);
        signal(SIGPIPE, SIG_IGN);
        close(ends[0]);
        ssize_t got = write(ends[1], head, strlen(head));
        while (got >= 0 && total < (UINT64_C(1) << 30)) {
            got = write(ends[1], block, fill_bytes);
            total += got > 0 ? (uint64_t)got : 0;
        }
        got = write(back[1], &total, sizeof total);
        _exit(got < 0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    cr_expect_eq(read_all(path, &err), -1);
    cr_expect(strstr(err.msg, message), "%s", err.msg);
    close(ends[0]);
    cr_expect_eq(read(back[0], &total, sizeof total), (ssize_t)sizeof total);
    close(back[0]);
    close(back[1]);
    waitpid(child, NULL, 0);
    return total;
}

Test(dump_reader, endless_input_is_refused_early)
{
    uint64_t mib = 1 << 20;

    cr_expect_lt(refuse_stream("", "[", "is not a JSON object"), mib);
    cr_expect_lt(refuse_stream("{\"suite\":", "[", "brackets are nested too deep (limit 16)"), mib);
    cr_expect_lt(refuse_stream("{\"cases\":[{\"a\":", "{\"a\":", "brackets are nested too deep (limit 16)"), mib);
    cr_expect_lt(refuse_stream("", " ", "more than 1048576 bytes before the cases"), 2 * mib);
    cr_expect_lt(refuse_stream("{\"suite\":\"", "x", "suite: is longer than 1048576 bytes"), 2 * mib);
    cr_expect_lt(refuse_stream("{\"provenance\":[", "0,", "too many values (limit 4096)"), mib);
    cr_expect_lt(refuse_stream("{\"", "x", "a key is too long (limit 1023)"), mib);
    cr_expect_lt(refuse_stream("{\"count\":", "1", "a number has too many characters (limit 63)"), mib);
    cr_expect_lt(refuse_stream("{\"cases\":[{\"a\":[", "[],", "too many values (limit 1048576)"), 8 * mib);
    cr_expect_lt(refuse_stream("{\"cases\":[", "{\"case\":\"n\",\"case\":\"n\"},", "duplicate key 'case'"), mib);
    cr_expect_lt(refuse_stream("{\"cases\":[{\"a\":\"", "x", "cases[0]: is longer than 100663296 bytes"), 100 * mib);
}

Test(dump_reader, a_sparse_gigabyte_is_refused_early)
{
    struct fp4_error err;

    make_folder();
    put_file(in_folder("a.json"), "{", 1);
    cr_assert_eq(truncate(in_folder("a.json"), (off_t)1 << 30), 0);
    cr_expect_eq(read_all(in_folder("a.json"), &err), -1);
    cr_expect(strstr(err.msg, "UTF-16") || strstr(err.msg, "found byte 0x00"), "%s", err.msg);
    drop_folder();
}

Test(dump_reader, finds_each_of_many_cases_by_name)
{
    struct dump_header h = small_header();
    struct dump_result r = { "ref", DUMP_SKIPPED, "why", NULL, NULL };
    struct fp4_error err = { 0 };
    enum { CASES = 20000 };
    struct dump_writer *w;
    char name[64];

    make_folder();
    w = dump_open(in_folder("a.json"), &h, &err);
    for (int i = 0; i < CASES; i++) {
        snprintf(name, sizeof name, "a/b/s%d", i);
        char *text = dump_render_case(name, NULL, &r, 1, 0, false);
        CHECK(dump_append(w, text, &err) == 0, "%s", err.msg);
        free(text);
    }
    cr_assert_eq(dump_close(w, &err), 0, "%s", err.msg);
    struct dump_file *f = dump_read_open(in_folder("a.json"), &err);
    cr_assert(f, "%s", err.msg);
    for (int i = 0; i < CASES; i++) {
        struct dump_case c;
        snprintf(name, sizeof name, "a/b/s%d", i);
        CHECK(dump_find(f, name) == i, "%s is at %td", name, dump_find(f, name));
        CHECK(dump_case_read(f, (size_t)i, &c, &err) == 0 && strcmp(c.name, name) == 0 && c.line == (size_t)i + 5, "%s", name);
        dump_case_release(&c);
    }
    dump_read_close(f);
    drop_folder();
}

Test(dump_reader, a_file_that_changes_while_it_is_read_is_noticed)
{
    struct fp4_error err = { 0 };
    struct dump_case c;
    size_t size;
    char *text;

    make_folder();
    finish_small(in_folder("a.json"));
    struct dump_file *f = dump_read_open(in_folder("a.json"), &err);
    text = get_file(in_folder("a.json"), &size);
    memcpy(strstr(text, "2x4/s1"), "2x4/s9", 6);
    int fd = open(in_folder("a.json"), O_WRONLY);
    cr_assert_eq(pwrite(fd, text, size, 0), (ssize_t)size);
    cr_expect_eq(dump_case_read(f, 1, &c, &err), -1);
    cr_expect(strstr(err.msg, "the file changed while it was read"), "%s", err.msg);
    cr_expect_eq(dump_case_read(f, 2, &c, &err), 0);
    dump_case_release(&c);
    cr_assert_eq(ftruncate(fd, 500), 0);
    cr_expect_eq(dump_case_read(f, 2, &c, &err), -1);
    cr_expect(strstr(err.msg, "the file became shorter while it was read"), "%s", err.msg);
    close(fd);
    dump_read_close(f);
    free(text);
    drop_folder();
}

/* ---- resuming ---- */

struct kept {
    char *texts[8];
    size_t count;
};

static int keep_text(const char *name, const char *text, void *arg)
{
    struct kept *k = arg;

    CHECK(k->count < 3 && strcmp(name, small_names[k->count]) == 0, "%s in place %zu", name, k->count);
    k->texts[k->count++] = strdup(text);
    return 0;
}

static void forget(struct kept *k)
{
    while (k->count)
        free(k->texts[--k->count]);
}

/* Whole lines of cases in the first `cut` bytes: what a resumed run must find. */
static size_t whole_cases(const char *text, size_t cut)
{
    size_t n = 0;

    for (size_t i = 0; i < 3; i++) {
        const char *end = strstr(strstr(text, small_names[i]), "no CUDA device\"}]}") + strlen("no CUDA device\"}]}");
        n += (size_t)(end - text) <= cut;
    }
    return n;
}

/* Resumes from a partial file of these bytes, computes what is missing, and compares the result with the uninterrupted file. */
static void resume_from(const char *partial, size_t size, size_t wanted, const char *whole, size_t whole_size, size_t cut)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    struct kept k = { .count = 0 };
    size_t found = 99, again_size;

    put_file(in_folder("b.json.partial"), partial, size);
    CHECK(dump_resume(in_folder("b.json"), &h, keep_text, &k, &found, &err) == 0, "cut at %zu: %s", cut, err.msg);
    CHECK(found == wanted && k.count == wanted, "cut at %zu: %zu cases, not %zu", cut, found, wanted);
    struct dump_writer *w = dump_open(in_folder("b.json"), &h, &err);
    for (size_t i = 0; i < 3; i++) {
        char *text = i < k.count ? k.texts[i] : small_case(small_names[i]);
        CHECK(dump_append(w, text, &err) == 0, "%s", err.msg);
        if (i >= k.count)
            free(text);
    }
    CHECK(dump_close(w, &err) == 0, "%s", err.msg);
    char *again = get_file(in_folder("b.json"), &again_size);
    CHECK(again && again_size == whole_size && memcmp(again, whole, whole_size) == 0, "cut at %zu: another file", cut);
    free(again);
    forget(&k);
}

Test(dump_resume, a_partial_file_cut_at_any_byte_leads_to_the_same_dump)
{
    size_t size;
    char *whole;

    make_folder();
    finish_small(in_folder("a.json"));
    whole = get_file(in_folder("a.json"), &size);
    for (size_t cut = 0; cut <= size; cut++)
        resume_from(whole, cut, whole_cases(whole, cut), whole, size, cut);
    free(whole);
    drop_folder();
}

Test(dump_resume, blocks_that_were_never_written_are_an_end_too)
{
    size_t size;
    char *whole, *partial;

    make_folder();
    finish_small(in_folder("a.json"));
    whole = get_file(in_folder("a.json"), &size);
    partial = malloc(size);
    for (size_t cut = (size_t)(strstr(whole, "\"cases\":[") - whole) + 9; cut < size; cut += 7) {
        memcpy(partial, whole, cut);
        memset(partial + cut, 0, size - cut);
        resume_from(partial, size, whole_cases(whole, cut), whole, size, cut);
    }
    free(partial);
    free(whole);
    drop_folder();
}

Test(dump_resume, an_interrupted_run_is_taken_up)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    size_t size, partial_size, found = 99;
    char *whole, *partial;
    struct kept k = { .count = 0 };

    make_folder();
    cr_expect_eq(dump_resume(in_folder("b.json"), &h, keep_text, &k, &found, &err), 0);
    cr_expect_eq(found, 0, "there is nothing yet");
    finish_small(in_folder("a.json"));
    whole = get_file(in_folder("a.json"), &size);
    struct dump_writer *w = dump_open(in_folder("c.json"), &h, &err);
    char *text = small_case(small_names[0]);
    cr_expect_eq(dump_append(w, text, &err), 0);
    free(text);
    cr_expect_eq(dump_interrupt(w, &err), 0);
    partial = get_file(in_folder("c.json.partial"), &partial_size);
    resume_from(partial, partial_size, 1, whole, size, partial_size);
    free(partial);
    free(whole);
    drop_folder();
}

static void expect_refusal(struct dump_header h, const char *message)
{
    struct fp4_error err = { 0 };
    struct kept k = { .count = 0 };
    size_t found;

    cr_expect_eq(dump_resume(in_folder("b.json"), &h, keep_text, &k, &found, &err), -1, "%s", message);
    cr_expect(strstr(err.msg, message), "%s", err.msg);
    cr_expect(strstr(err.msg, "b.json.partial"), "%s", err.msg);
    cr_expect_eq(k.count, 0);
    forget(&k);
}

Test(dump_resume, another_runs_partial_file_is_refused)
{
    struct dump_header h = small_header(), other = h;
    struct fp4_error err = { 0 };

    make_folder();
    cr_assert_eq(dump_interrupt(write_small(in_folder("b.json"), &h, 0), &err), 0);
    other.suite = "full";
    expect_refusal(other, "its suite is 'smoke', but this run's is 'full'");
    other = h;
    other.shard = 1;
    other.shards = 4;
    expect_refusal(other, "its shard is '1/1', but this run's is '1/4'");
    other = h;
    other.seed = 1;
    expect_refusal(other, "its seed is '0xfedcba9876543210', but this run's is '0x1'");
    other = h;
    other.backends[1] = "sm120";
    expect_refusal(other, "its list of backends is 'sm100', but this run's is 'sm120'");
    other.backend_count = 1;
    expect_refusal(other, "it has 2 backends, but this run has 1");
    other = h;
    other.provenance.tool = "fp4check 0.2.0";
    expect_refusal(other, "its tool is 'fp4check 0.1.0', but this run's is 'fp4check 0.2.0'");
    other = h;
    other.provenance.builds[0].build = "gcc -O0";
    expect_refusal(other, "its build of a backend is 'gcc -O2', but this run's is 'gcc -O0'");
    drop_folder();
}

Test(dump_resume, time_host_and_command_may_differ)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    struct kept k = { .count = 0 };
    size_t found = 0;

    make_folder();
    cr_assert_eq(dump_interrupt(write_small(in_folder("b.json"), &h, 0), &err), 0);
    h.provenance.time = "2026-01-01T00:00:00Z";
    h.provenance.host = "elsewhere";
    h.provenance.command = "fp4check run --resume";
    cr_expect_eq(dump_resume(in_folder("b.json"), &h, keep_text, &k, &found, &err), 0, "%s", err.msg);
    cr_expect_eq(found, 3);
    forget(&k);
    drop_folder();
}

static int refuse(const char *name, const char *text, void *arg)
{
    (void)name, (void)text, (void)arg;
    return 1;
}

Test(dump_resume, damage_is_an_error_and_no_end)
{
    struct dump_header h = small_header();
    struct fp4_error err = { 0 };
    size_t size, found;
    char *text;

    make_folder();
    cr_assert_eq(dump_interrupt(write_small(in_folder("b.json"), &h, 0), &err), 0);
    cr_expect_eq(dump_resume(in_folder("b.json"), &h, refuse, NULL, &found, &err), -1);
    cr_expect(strstr(err.msg, "case 'quantize/te/rn/1x16/f32/ties/2x4/s0' was refused"), "%s", err.msg);
    text = get_file(in_folder("b.json.partial"), &size);
    memcpy(strstr(text, "EDJU9g=="), "EDJU9Q==", 8);
    put_file(in_folder("b.json.partial"), text, size);
    expect_refusal(h,
                   "line 5: case 'quantize/te/rn/1x16/f32/ties/2x4/s0': results[0].tensors[3].xxh3: does not match the kept bytes");
    put_file(in_folder("b.json.partial"), "my notes\n", 9);
    expect_refusal(h, "line 1: column 1: expected a value, found 'm'");
    put_file(in_folder("b.json.partial"), "{\"name\":1}", 10);
    expect_refusal(h, "line 1: unknown key 'name'; this is not a dump of fp4check");
    free(text);
    drop_folder();
}
