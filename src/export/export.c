/*
 * export.c -- see export.h
 */
#include "export/export.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "export/export_files.h"
#include "export/export_plan.h"
#include "os/file.h"
#include "trace/eval/work.h"

/* -------------------------------------------------------------------------- texts */

/* The sources of a role, as words of a Makefile. */
static void put_sources(const ExportLibrary *l, ExportRole role, Text *out)
{
    for (const ExportFile *f = export_files; f->path; ++f)
        if (f->role == role && f->parts & l->parts)
            text_putf(out, " \\\n    runtime/%s", f->path);
}

/* Files that each function has, likewise. */
static void put_own(const ExportLibrary *l, const char *ending, Text *out)
{
    for (uint32_t i = 0; i < l->count; ++i)
        text_putf(out, " %s%s", l->functions[i].name, ending);
}

/* What stands for a word of this length between '@'s. False: it is not one of ours. */
static bool put_word(const ExportLibrary *l, const char *word, size_t length, Text *out)
{
    static const char *const words[] = { "NAME", "ISA", "FLAGS", "SOURCES", "LOOPS",
                                         "KERNELS" };
    size_t i = 0;
    while (i < sizeof(words) / sizeof(*words) &&
           (strlen(words[i]) != length || memcmp(words[i], word, length) != 0))
        ++i;
    switch (i) {
        case 0: text_put(out, l->name); break;
        case 1: text_put(out, l->isa); break;
        case 2:
            text_put(out, strcmp(l->isa, "avx2") == 0 ? export_flags_avx2
                                                      : export_flags_avx512);
            break;
        case 3:
            put_own(l, ".c", out);
            text_putf(out, " %s_library.c", l->name);
            put_sources(l, EXPORT_SOURCE, out);
            break;
        case 4: put_sources(l, EXPORT_LOOPS, out); break;
        case 5: put_own(l, "_kernels.S", out); break;
        default: return false;
    }
    return true;
}

static void put_template(const ExportLibrary *l, const char *text, Text *out)
{
    for (const char *at; (at = strchr(text, '@')) != NULL;) {
        const size_t length = strcspn(at + 1, "@\n");
        text_put_n(out, text, (size_t) (at - text));
        text = at + 1;
        if (text[length] == '@' && put_word(l, text, length, out))
            text += length + 1;
        else
            text_put(out, "@");
    }
    text_put(out, text);
}

/* -------------------------------------------------------------------------- files */

static Text *add_file(ExportFiles *files, const char *folder, const char *path,
                      const char *ending)
{
    ExportText *file = &files->list[files->count++];
    text_putf(&file->path, "%s%s%s", folder, path, ending);
    return &file->text;
}

static void add_made(ExportFiles *files, const ExportLibrary *l)
{
    export_header(l, add_file(files, "", l->name, ".h"));
    export_header_example(l, add_file(files, "", l->name, "_example.c"));
    export_library(l, add_file(files, "", l->name, "_library.c"));
    for (uint32_t i = 0; i < l->count; ++i) {
        const ExportPlan *p = &l->functions[i];
        export_source(p, add_file(files, "", p->name, ".c"));
        export_kernels(p, add_file(files, "", p->name, "_kernels.S"));
    }
}

/* The templates stand beside what is made. */
static void add_runtime(ExportFiles *files, const ExportLibrary *l)
{
    for (const ExportFile *f = export_files; f->path; ++f) {
        if (!(f->parts & l->parts))
            continue;
        if (f->role == EXPORT_TEMPLATE) {
            const char *stem = *f->path == '.' ? l->name : "";
            put_template(l, f->text, add_file(files, stem, f->path, ""));
        } else {
            text_put(add_file(files, "runtime/", f->path, ""), f->text);
        }
    }
}

/* Are they complete, and each a file of its own? */
static bool check_files(const ExportFiles *files)
{
    for (uint32_t i = 0; i < files->count; ++i) {
        const char *path = text_get(&files->list[i].path);
        TRY(path && text_get(&files->list[i].text), false);
        for (uint32_t k = 0; k < i; ++k)
            if (strcmp(path, files->list[k].path.data) == 0)
                return error_set(JIT_ERROR_ARGUMENT, "jit_freeze_export(): two files "
                                 "would be called '%s': expected other names", path);
    }
    return true;
}

/* Constants are read by the host. */
static bool wait_for_constants(ThreadState *ts, const Recording *r)
{
    for (uint32_t i = 0; i < r->constant_count; ++i)
        TRY(work_wait(ts, r->constants[i], "jit_freeze_export()"), false);
    return true;
}

bool export_make(ThreadState *ts, const JitExport *functions, uint32_t count,
                 ExportFiles *files)
{
    enum { OF_LIBRARY = 3, OF_FUNCTION = 2 };
    uint32_t room = OF_LIBRARY + count * OF_FUNCTION;
    for (const ExportFile *f = export_files; f->path; ++f)
        ++room;
    files->list = alloc_zero(room, sizeof(ExportText));
    TRY(files->list, false);
    for (uint32_t i = 0; i < count; ++i)
        TRY(wait_for_constants(ts, &export_frozen(&functions[i])->recording), false);
    ExportLibrary library = { 0 };
    bool ok = export_plan(&library, functions, count);
    if (ok) {
        add_made(files, &library);
        add_runtime(files, &library);
        ok = check_files(files);
    }
    export_plan_free(&library);
    return ok;
}

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t) (slash - path) : 0;
}

static bool same_folder(const char *a, const char *b)
{
    size_t length = folder_length(a);
    return length == folder_length(b) && memcmp(a, b, length) == 0;
}

static bool save_file(const ExportText *file, const char *folder, bool make_folder)
{
    Text path = { 0 };
    text_putf(&path, "%s/%s", folder, file->path.data);
    bool ok = text_get(&path);
    if (ok && make_folder) {
        char *slash = strrchr(path.data, '/');
        *slash = 0;
        ok = file_make_folder(path.data);
        *slash = '/';
    }
    ok = ok && file_write(path.data, file->text.data, file->text.size);
    text_free(&path);
    return ok;
}

bool export_save(const ExportFiles *files, const char *folder)
{
    const ExportText *list = files->list;
    for (uint32_t i = 0; i < files->count; ++i) {
        bool make = !i || !same_folder(list[i].path.data, list[i - 1].path.data);
        TRY(save_file(&list[i], folder, make), false);
    }
    return true;
}

void export_free(ExportFiles *files)
{
    for (uint32_t i = 0; i < files->count; ++i) {
        text_free(&files->list[i].path);
        text_free(&files->list[i].text);
    }
    alloc_free(files->list);
}
