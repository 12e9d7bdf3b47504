/*
 * export_library.c -- NAME_library.c: what the functions of a library share
 */
#include "export/export_plan.h"

static bool has_kind(const ExportLibrary *l, CommandKind kind)
{
    for (uint32_t i = 0; i < l->count; ++i) {
        const Recording *r = l->functions[i].recording;
        for (uint32_t k = 0; k < r->command_count; ++k)
            if (r->commands[k].pattern->kind == kind)
                return true;
    }
    return false;
}

/* Of the kinds of commands, those that there are. */
static void put_kinds(const ExportLibrary *l, Text *out)
{
    static const char *const functions[COMMAND_COUNT] = {
#define CPU_KIND(name, function) [COMMAND_##name] = #function,
#include "device/cpu/cpu_kinds.def"
    };
    text_put(out, "\nbool (*const cpu_kinds[COMMAND_COUNT])(CpuJob *job) = {\n");
    for (uint32_t kind = 0; kind < COMMAND_COUNT; ++kind)
        if (has_kind(l, (CommandKind) kind))
            text_putf(out, "    [%s] = %s,\n", export_plan_kinds[kind],
                      functions[kind]);
    text_put(out, "    [COMMAND_EVENT] = NULL,\n};\n");
}

static void put_functions(const ExportLibrary *l, Text *out)
{
    text_put(out, "\nextern ExportedFunction");
    for (uint32_t i = 0; i < l->count; ++i)
        text_putf(out, "%s %s_exported", i ? "," : "", l->functions[i].name);
    text_put(out, ";\n\nstatic ExportedFunction *const own_functions[] = {\n");
    for (uint32_t i = 0; i < l->count; ++i)
        text_putf(out, "    &%s_exported,\n", l->functions[i].name);
    text_put(out, "    NULL\n};\n");
}

void export_library(const ExportLibrary *l, Text *out)
{
    const char *name = l->name;
    text_putf(out, "/*\n * %s_library.c -- what the functions of %s.h share\n *\n"
              " * Written by jit_freeze_export().\n */\n#include \"%s.h\"\n\n"
              "#include \"base/error.h\"\n#include \"device/cpu/cpu_job.h\"\n"
              "#include \"export/runtime/exported.h\"\n", name, name, name);
    put_kinds(l, out);
    put_functions(l, out);
    text_putf(out, "\nconst char *%s_error(void) { return error_message(); }\n"
              "\nint %s_set_threads(unsigned count)\n{\n"
              "    return (int) exported_set_threads(count);\n}\n"
              "\nvoid %s_shutdown(void) { exported_shutdown(own_functions); }\n",
              name, name, name);
}
