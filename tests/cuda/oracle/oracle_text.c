/*
 * oracle_text.c -- see oracle_text.h
 *
 * The generator is called directly: no engine, device or cache is involved.
 */
#include "oracle_text.h"

#include <stdio.h>

#include "base/error.h"
#include "ir/program_identity.h"
#include "lower/legalise.h"

enum { PATH_SIZE = 1000 };

const Program *oracle_legalise(const Program *program)
{
    static const Engine ptx = { .name = "ptx", .supports = ptx_kernel_supports };
    return legalise(program, &ptx);
}

bool oracle_text(const Program *program, uint32_t sm, Text *out, PtxKernel *kernel)
{
    const PtxTarget target = { .sm = sm };
    const Program *legal = oracle_legalise(program);
    text_clear(out);
    if (!legal)
        return false;
    const Hash128 hash = program_hash(program, 0).full;
    const bool ok = program_verify(legal) &&
                    ptx_kernel_write(legal, hash, &target, out, kernel) &&
                    text_get(out);
    if (legal != program)
        program_free((Program *) legal);
    return ok;
}

bool oracle_file(const char *folder, const char *name, Text *text)
{
    char path[PATH_SIZE];
    const char *content = text_get(text);
    const int length = snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
    FILE *file = length < PATH_SIZE && content ? fopen(path, "wb") : NULL;
    bool ok = file && fputs(content, file) >= 0;
    if (file && fclose(file) != 0)
        ok = false;
    if (!ok)
        fprintf(stderr, "cannot write %s/%s.ptx\n", folder, name);
    return ok;
}
