/*
 * export_plan.c -- see export_plan.h
 */
#include "export/export_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/interp/interp.h"
#include "engine/interp/interp_build.h"
#include "export/export_access.h"
#include "export/export_files.h"
#include "export/export_name.h"
#include "export/export_symbol.h"

/* What recordings have that libraries have nothing for. */
static bool check_recording(const JitExport *function)
{
    const Frozen *f = export_frozen(function);
    uint32_t prints = 0;
    for (uint32_t i = 0; i < f->report_count; ++i)
        prints += report_prints(f->reports[i]);
    const struct {
        uint32_t count;
        const char *what;
    } lacking[] = {
        { prints, "a kernel of it prints" },
        { f->domain_count, "it depends on objects that are registered" },
    };
    for (size_t i = 0; i < sizeof(lacking) / sizeof(*lacking); ++i)
        if (lacking[i].count)
            return error_set(JIT_ERROR_UNSUPPORTED, "jit_freeze_export(): '%s' cannot "
                             "be exported: %s", function->name, lacking[i].what);
    return true;
}

/* ---------------------------------------------------------------------- kernels */

#if defined(__x86_64__)
static bool find_parts(const Code *code, NativeParts *parts)
{
    return native_parts(code, parts);
}
#else
static bool find_parts(const Code *code, NativeParts *parts)
{
    (void) code;
    (void) parts;
    return false;
}
#endif

static bool check_steps(const NativeParts *parts, uint32_t command)
{
    char place[64];
    for (uint32_t i = 0; i < parts->step_count; ++i)
        if (!export_plan_step(&parts->code->steps[i], place, sizeof(place)))
            return error_set(JIT_ERROR_UNSUPPORTED, "jit_freeze_export(): command %u: "
                             "its kernel calls a function of the library that cannot "
                             "be exported", command);
    return true;
}

static bool add_kernel(ExportPlan *p, uint32_t command, const Code *code)
{
    NativeParts parts = { 0 };
    if (!find_parts(code, &parts))
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_freeze_export(): command %u: its "
                         "kernel was not made by the engine 'native', whose code alone "
                         "can be exported", command);
    uint32_t k = 0;
    while (k < p->kernel_count && p->kernels[k].code != parts.code)
        ++k;
    p->kernel_of[command] = k;
    if (k < p->kernel_count)
        return true;
    TRY(check_steps(&parts, command), false);
    p->kernels[p->kernel_count++] = parts;
    p->isa = parts.target;
    p->extensions |= parts.extensions;
    p->parts |= parts.step_count ? EXPORT_LANES : 0;
    return true;
}

const char *const export_plan_kinds[COMMAND_COUNT] = {
#define COMMAND(name, ...) [COMMAND_##name] = "COMMAND_" #name,
#include "device/commands.def"
#undef COMMAND
};

static bool add_command(ExportPlan *p, uint32_t i)
{
    static const uint32_t parts[COMMAND_COUNT] = {
        [COMMAND_PERMUTATION] = EXPORT_PERMUTATION,
        [COMMAND_SORT] = EXPORT_SORT,
        [COMMAND_TRANSPOSE] = EXPORT_TRANSPOSE,
        [COMMAND_GEMM] = EXPORT_GEMM,
        [COMMAND_ORDERED] = EXPORT_ORDERED
    };
    const Command *c = p->recording->commands[i].pattern;
    p->parts |= parts[c->kind];
    p->kernel_of[i] = EXPORT_NONE;
    return c->kind != COMMAND_LAUNCH || add_kernel(p, i, c->launch.code);
}

/* A member of LaneTable: a table of functions, from this offset on. */
typedef struct Member {
    const char *name;
    size_t offset;
    uint32_t count, rows, columns; /* [count][rows][columns], 0 where there are fewer */
} Member;

#define MEMBER(name, ...) { #name, offsetof(LaneTable, name), __VA_ARGS__ }
static const Member members[] = {
    MEMBER(op, OP_COUNT, VarTypeCount, 0),
    MEMBER(cast, VarTypeCount, VarTypeCount, 0),
    MEMBER(gather, 4, 0, 0),
    MEMBER(scatter, LANE_SCATTER_COUNT, ReduceOpCount, VarTypeCount),
    MEMBER(fetch_add, VarTypeCount, 0, 0),
    MEMBER(increment, 0, 0, 0),
    MEMBER(exchange, 4, 0, 0),
    MEMBER(compare_exchange, 4, 0, 0),
    MEMBER(check, 0, 0, 0),
    MEMBER(matvec, VarTypeCount, 0, 0),
    MEMBER(outer, LANE_SCATTER_COUNT, VarTypeCount, 0),
};

static uint32_t at_least_one(uint32_t count) { return count ? count : 1; }

bool export_plan_step(const LaneStep *step, char *out, size_t size)
{
    const char *table = (const char *) interp_table();
    *out = 0;
    if (step->fn == interp_build_stop)
        return true;
    for (size_t m = 0; m < sizeof(members) / sizeof(*members); ++m) {
        const Member *member = &members[m];
        const uint32_t rows = at_least_one(member->rows);
        const uint32_t columns = at_least_one(member->columns);
        const uint32_t all = at_least_one(member->count) * rows * columns;
        const LaneFn *fn = (const LaneFn *) (const void *) (table + member->offset);
        uint32_t i = 0;
        while (i < all && fn[i] != step->fn)
            ++i;
        if (i == all)
            continue;
        int n = snprintf(out, size, ".%s", member->name);
        if (member->count)
            n += snprintf(out + n, size - (size_t) n, "[%u]", i / columns / rows);
        if (member->rows)
            n += snprintf(out + n, size - (size_t) n, "[%u]", i / columns % rows);
        if (member->columns)
            snprintf(out + n, size - (size_t) n, "[%u]", i % columns);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------ names */

/* Is it the name of one of these, or that of its size? */
static bool is_taken(const ExportField *fields, uint32_t count, const char *name)
{
    static const char suffix[] = "_size";
    for (uint32_t i = 0; i < count; ++i) {
        const char *other = fields[i].name;
        const size_t a = strlen(name), b = strlen(other);
        const char *shorter = a < b ? name : other, *longer = a < b ? other : name;
        const size_t n = a < b ? a : b;
        if (strncmp(shorter, longer, n) == 0 &&
            (a == b || strcmp(longer + n, suffix) == 0))
            return true;
    }
    return false;
}

void export_plan_put_size(const ExportField *field, Text *out)
{
    text_put(out, field->name);
    text_put(out, field->size ? "" : "_size");
}

static bool name_field(ExportField *fields, uint32_t i, const char *kind)
{
    Text text = { 0 };
    if (fields[i].path)
        export_name_put_field(&text, fields[i].path);
    if (!text.size)
        text_putf(&text, "%s_%u", kind, i);
    const size_t size = text.size;
    for (uint32_t n = 2; text_get(&text) && is_taken(fields, i, text_get(&text)); ++n) {
        text.size = size;
        text_putf(&text, "_%u", n);
    }
    fields[i].name = text_take(&text);
    return fields[i].name;
}

static bool name_inputs(ExportPlan *p)
{
    const Frozen *f = p->frozen;
    const char *const *names = p->function->inputs;
    p->inputs = alloc_zero(f->input_count + 1, sizeof(ExportField));
    TRY(p->inputs, false);
    p->sizes = 2;
    for (uint32_t i = 0; i < f->input_count; ++i) {
        const FrozenInput *input = &f->inputs[i];
        ExportField *field = &p->inputs[i];
        field->path = names ? names[i] : NULL;
        field->size = i + p->function->input_sizes >= f->input_count;
        field->sized = input->same == i && input->size >= 2;
        field->array = input->same == i && input->size && !input->literal;
        field->number = field->sized || field->array ? p->fields++ : EXPORT_NONE;
        if (input->size >= p->sizes)
            p->sizes = input->size + 1;
        TRY(name_field(p->inputs, i, "input"), false);
    }
    return true;
}

static bool name_outputs(ExportPlan *p)
{
    const Frozen *f = p->frozen;
    const char *const *names = p->function->outputs;
    p->outputs = alloc_zero(f->output_count + 1, sizeof(ExportField));
    TRY(p->outputs, false);
    for (uint32_t i = 0; i < f->output_count; ++i) {
        ExportField *field = &p->outputs[i];
        const bool size = i + p->function->output_sizes >= f->output_count;
        *field = (ExportField) { .path = names ? names[i] : NULL, .number = i,
                                 .array = !size, .sized = true, .size = size };
        TRY(name_field(p->outputs, i, "output"), false);
    }
    return true;
}

SymSize export_plan_symsize(const ExportPlan *p, uint32_t input)
{
    const SymSizes *w = &p->recording->symsizes;
    const uint32_t size = p->frozen->inputs[input].size;
    for (uint32_t i = 1; size && i < w->count; ++i) {
        const SizeTerm *t = &w->terms[i];
        if (size == 1 ? t->op == SYMSIZE_CONSTANT && t->value == 1
                      : t->op == SYMSIZE_INPUT && t->a == size)
            return i;
    }
    return 0;
}

const char *export_plan_type(VarType type)
{
    static const char *const types[VarTypeCount] = {
        [VarTypeBool] = "bool", [VarTypeInt8] = "int8_t", [VarTypeUInt8] = "uint8_t",
        [VarTypeInt16] = "int16_t", [VarTypeUInt16] = "uint16_t",
        [VarTypeInt32] = "int32_t", [VarTypeUInt32] = "uint32_t",
        [VarTypeInt64] = "int64_t", [VarTypeUInt64] = "uint64_t",
        [VarTypePointer] = "uint64_t", [VarTypeFloat16] = "uint16_t",
        [VarTypeFloat32] = "float", [VarTypeFloat64] = "double"
    };
    return types[type];
}

/* ----------------------------------------------------------------------- access */

/* How inputs are used, with a zeroed byte for each array. */
static bool find_access(ExportPlan *p, uint8_t *arrays)
{
    const Recording *r = p->recording;
    TRY(export_access_find(r, arrays, p->by_index), false);
    for (uint32_t i = 0; i < r->array_count; ++i) {
        if (r->arrays[i].kind == FROZEN_INPUT)
            p->inputs[r->arrays[i].number].access |= arrays[i];
        p->indices |= (arrays[i] & EXPORT_BY_INDEX) != 0;
    }
    const JitExport *function = p->function;
    if (function->bounds != JitExportBoundsCheck || !p->indices ||
        p->frozen->flags & JitFlagDebug)
        return true;
    return error_set(JIT_ERROR_ARGUMENT, "jit_freeze_export(): the recording of '%s' "
                     "has no checks of indices, expected one that was made with "
                     "JitFlagDebug", function->name);
}

static bool plan_access(ExportPlan *p)
{
    p->by_index = alloc_zero(p->sizes, sizeof(bool));
    uint8_t *arrays = alloc_zero(p->recording->array_count + (size_t) 1, 1);
    const bool ok = p->by_index && arrays && find_access(p, arrays);
    alloc_free(arrays);
    return ok;
}

/* ------------------------------------------------------------------------ whole */

static bool plan_function(ExportPlan *p, const JitExport *function,
                          const char *library)
{
    const Recording *r = &export_frozen(function)->recording;
    *p = (ExportPlan) { .function = function, .frozen = export_frozen(function),
                        .recording = r, .name = function->name,
                        .library = library, .isa = "avx2", .parts = EXPORT_ALWAYS };
    p->kernels = alloc_zero(r->command_count + 1, sizeof(NativeParts));
    p->kernel_of = alloc_zero(r->command_count + 1, sizeof(uint32_t));
    TRY(p->kernels && p->kernel_of && check_recording(function), false);
    for (uint32_t i = 0; i < r->command_count; ++i)
        TRY(add_command(p, i), false);
    return name_inputs(p) && name_outputs(p) && plan_access(p);
}

bool export_plan(ExportLibrary *library, const JitExport *functions,
                 uint32_t count)
{
    TRY(export_symbol_check(functions, count), false);
    library->functions = alloc_zero(count, sizeof(ExportPlan));
    TRY(library->functions, false);
    library->name = functions[0].name;
    library->isa = "avx2";
    for (uint32_t i = 0; i < count; ++i) {
        ExportPlan *p = &library->functions[library->count++];
        TRY(plan_function(p, &functions[i], library->name), false);
        library->parts |= p->parts;
        library->isa = p->kernel_count ? p->isa : library->isa;
    }
    return true;
}

static void free_fields(ExportField *fields, uint32_t count)
{
    for (uint32_t i = 0; fields && i < count; ++i)
        alloc_free(fields[i].name);
    alloc_free(fields);
}

void export_plan_free(ExportLibrary *library)
{
    for (uint32_t i = 0; i < library->count; ++i) {
        ExportPlan *p = &library->functions[i];
        free_fields(p->inputs, p->frozen->input_count);
        free_fields(p->outputs, p->frozen->output_count);
        alloc_free(p->kernels);
        alloc_free(p->kernel_of);
        alloc_free(p->by_index);
    }
    alloc_free(library->functions);
    *library = (ExportLibrary) { 0 };
}
