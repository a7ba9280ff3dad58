/* SPDX-License-Identifier: Apache-2.0 */
/* te_elf.c: ELF (System V gABI): program headers, dynamic section, build-id note. Every offset is checked against the file. */
#include "te_elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const uint8_t *bytes;
    size_t size;
    const Elf64_Phdr *segments;
    size_t segment_count;
};

/* count bytes at offset, or NULL when they are not all in the file. */
static const void *at(const struct image *f, uint64_t offset, uint64_t count)
{
    return offset <= f->size && count <= f->size - offset ? f->bytes + offset : NULL;
}

static bool offset_of(const struct image *f, uint64_t address, uint64_t *offset)
{
    size_t i;

    for (i = 0; i < f->segment_count; i++) {
        const Elf64_Phdr *s = &f->segments[i];

        if (s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr < s->p_filesz) {
            *offset = address - s->p_vaddr + s->p_offset;
            return true;
        }
    }
    return false;
}

static void take_needed(const struct image *f, const Elf64_Phdr *dynamic, struct te_elf *out)
{
    size_t count = dynamic->p_filesz / sizeof(Elf64_Dyn), i;
    const Elf64_Dyn *d = at(f, dynamic->p_offset, count * sizeof *d);
    uint64_t strings = 0;

    for (i = 0; d && i < count && d[i].d_tag != DT_NULL; i++)
        if (d[i].d_tag == DT_STRTAB && !offset_of(f, d[i].d_un.d_ptr, &strings))
            return;
    for (i = 0; d && strings && i < count && d[i].d_tag != DT_NULL; i++) {
        char *name = out->needed[out->needed_count];
        const char *from;

        if (d[i].d_tag != DT_NEEDED || out->needed_count == TE_ELF_NEEDED_MAX)
            continue;
        from = at(f, strings + d[i].d_un.d_val,
                  sizeof out->needed[0]); /* a table that ends within 64 bytes of the file's end is none */
        if (from && memchr(from, '\0', sizeof out->needed[0])) {
            memcpy(name, from, sizeof out->needed[0]);
            out->needed_count++;
        }
    }
}

static void take_build_id(const struct image *f, const Elf64_Phdr *notes, struct te_elf *out)
{
    uint64_t offset = notes->p_offset, end = notes->p_offset + notes->p_filesz;

    while (offset + sizeof(Elf64_Nhdr) <= end) {
        const Elf64_Nhdr *n = at(f, offset, sizeof *n);
        uint64_t name = offset + sizeof *n, id;
        const uint8_t *bytes;
        size_t i;

        if (!n || name % 4)
            return;
        id = name + (n->n_namesz + 3ULL) / 4 * 4;
        bytes = at(f, id, n->n_descsz);
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && bytes) {
            for (i = 0; i < n->n_descsz && 2 * i + 3 < sizeof out->build_id; i++)
                snprintf(out->build_id + 2 * i, 3, "%02x", bytes[i]);
            return;
        }
        offset = id + (n->n_descsz + 3ULL) / 4 * 4;
    }
}

static int machine_here(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#else
    return EM_NONE;
#endif
}

static int read_image(struct image *f, const char *path, struct te_elf *out, struct fp4_error *err)
{
    const Elf64_Ehdr *h = at(f, 0, sizeof *h);
    size_t i;

    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_type != ET_DYN)
        return fp4_fail(err, FP4_EFORMAT, "'%s' is not a shared library", path);
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != machine_here())
        return fp4_fail(err, FP4_ESUPPORT, "'%s' is a library for another kind of machine (ELF machine %u)", path, h->e_machine);
    f->segment_count = h->e_phnum;
    f->segments = h->e_phoff % 8 ? NULL : at(f, h->e_phoff, f->segment_count * sizeof(Elf64_Phdr));
    if (!f->segments)
        return fp4_fail(err, FP4_EFORMAT, "'%s' is cut off: its program headers are not in the file", path);
    for (i = 0; i < f->segment_count; i++) {
        const Elf64_Phdr *s = &f->segments[i];

        if (s->p_type == PT_LOAD && !at(f, s->p_offset, s->p_filesz))
            return fp4_fail(err, FP4_EFORMAT, "'%s' is cut off: a segment ends beyond the file's %zu bytes", path, f->size);
        if (s->p_type == PT_DYNAMIC && s->p_offset % 8 == 0)
            take_needed(f, s, out);
        if (s->p_type == PT_NOTE && !out->build_id[0])
            take_build_id(f, s, out);
    }
    return 0;
}

int te_elf_read(const char *path, struct te_elf *out, struct fp4_error *err)
{
    struct image f = { NULL, 0, NULL, 0 };
    struct stat st;
    void *bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC), status;

    memset(out, 0, sizeof *out);
    if (fd < 0 || fstat(fd, &st)) {
        status = fp4_fail(err, FP4_EIO, "cannot open '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    bytes = S_ISREG(st.st_mode) && st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (bytes == MAP_FAILED)
        return fp4_fail(err, FP4_EFORMAT, "'%s' is not a shared library", path);
    f.bytes = bytes;
    f.size = (size_t)st.st_size;
    status = read_image(&f, path, out, err);
    munmap(bytes, f.size);
    return status;
}
