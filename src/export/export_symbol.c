/*
 * export_symbol.c -- see export_symbol.h
 *
 * FUNCTION.c includes headers of the runtime, and is linked with it, so the two share
 * one name space. What the runtime declares is known since it was put into this library
 * (tools/file_scope.py); derived[] lists what is made of names.
 */
#include "export/export_symbol.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "export/export_files.h"
#include "export/export_name.h"
#include "os/library.h"

/* What the files that are written declare for each function, or for the library, which
 * is called as its first function is. */
static const struct {
    const char *before, *after; /* of the name */
    bool upper;                 /* the name is in capitals */
    bool numbered;              /* a number follows */
    bool shared;                /* of the library */
} derived[] = {
    { "", "", false, false, false },
    { "", "_inputs", false, false, false },
    { "", "_outputs", false, false, false },
    { "", "_exported", false, false, false },
    { "", "_kernel_", false, true, false },
    { "", "_pool_", false, true, false },
    { "", "_constant_", false, true, false },
    { "call_", "", false, false, false },
    { "", "_error", false, false, true },
    { "", "_set_threads", false, false, true },
    { "", "_shutdown", false, false, true },
    { "", "_SUCCESS", true, false, true },
    { "", "_ARGUMENT", true, false, true },
    { "", "_STATE", true, false, true },
    { "", "_MEMORY", true, false, true },
    { "", "_UNSUPPORTED", true, false, true },
    { "EXPORTED_", "_H", true, false, true },
};

enum { DERIVED = sizeof(derived) / sizeof(*derived) };

typedef struct Symbol {
    Text text;
    const char *name; /* of the function */
    bool numbered;
} Symbol;

/* Names that all libraries have: that of a macro, and those of tables. */
static bool is_own(const char *name)
{
    return strcmp(name, "EXPORTED_API") == 0 || strncmp(name, "own_", 4) == 0;
}

static bool fail_twice(const Symbol *s)
{
    return error_set(JIT_ERROR_ARGUMENT, "jit_freeze_export(): 'name' is \"%.100s\", "
                     "with which '%.120s%s' would be declared twice, expected another "
                     "one", s->name, s->text.data, s->numbered ? "0" : "");
}

static bool is_declared(const Symbol *s, bool *out)
{
    Text line = { 0 };
    text_putf(&line, "\n%s%s", s->text.data, s->numbered ? "" : "\n");
    const bool ok = text_get(&line);
    *out = ok && strstr(export_names, line.data);
    text_free(&line);
    return ok;
}

/* Is one of them the other, or that with a number? */
static bool is_same(const Symbol *a, const Symbol *b)
{
    const char *first = a->text.data, *second = b->text.data;
    if (a->numbered)
        return strncmp(first, second, strlen(first)) == 0;
    if (b->numbered)
        return strncmp(first, second, strlen(second)) == 0;
    return strcmp(first, second) == 0;
}

/* A function of the C library would be replaced in all of a program by one of the same
 * name; libm is linked to the rest. */
static bool check_name(const char *name)
{
    if (!export_name_is_function(name))
        return error_set(JIT_ERROR_ARGUMENT, "jit_freeze_export(): 'name' is "
                         "\"%.100s\", expected an identifier of C", name);
    const char *reason;
    void *libm = library_open("libm.so.6", &reason), *found;
    if (!libm)
        return error_set(JIT_ERROR_SYSTEM, "jit_freeze_export(): libm.so.6: %s",
                         reason ? reason : "there is no such file");
    if (library_symbol(libm, name, &found))
        return error_set(JIT_ERROR_ARGUMENT, "jit_freeze_export(): 'name' is \"%s\", "
                         "which the C library has, expected another one", name);
    return true;
}

/* Append the symbols of a function, and check them. */
static bool add_symbols(const char *name, bool first, Symbol *list, uint32_t *count)
{
    for (uint32_t d = 0; d < DERIVED; ++d) {
        if (derived[d].shared && !first)
            continue;
        Symbol *s = &list[(*count)++];
        *s = (Symbol) { .name = name, .numbered = derived[d].numbered };
        text_put(&s->text, derived[d].before);
        (derived[d].upper ? export_name_put_upper : text_put)(&s->text, name);
        text_put(&s->text, derived[d].after);
        bool twice = is_own(s->text.data ? s->text.data : "");
        TRY(text_get(&s->text) && (twice || is_declared(s, &twice)), false);
        for (const Symbol *other = list; !twice && other < s; ++other)
            twice = is_same(s, other);
        if (twice)
            return fail_twice(s);
    }
    return true;
}

bool export_symbol_check(const JitExport *functions, uint32_t count)
{
    Symbol *list = alloc_zero(count, DERIVED * sizeof(Symbol));
    uint32_t used = 0;
    bool ok = list;
    for (uint32_t i = 0; ok && i < count; ++i)
        ok = check_name(functions[i].name) &&
             add_symbols(functions[i].name, i == 0, list, &used);
    for (uint32_t i = 0; i < used; ++i)
        text_free(&list[i].text);
    alloc_free(list);
    return ok;
}
