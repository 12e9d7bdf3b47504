/*
 * export_header.c -- NAME.h, and an example that calls the functions
 */
#include <inttypes.h>

#include "export/export_access.h"
#include "export/export_name.h"
#include "export/export_plan.h"

/* ------------------------------------------------------------------------ header */

/* "w2", "1", "w2 / 2" */
static void put_symsize(const ExportPlan *p, Text *out, SymSize symsize)
{
    if (symsize)
        symsize_write(&p->recording->symsizes, symsize, out);
    else
        text_put(out, "0");
}

static void put_classes(const ExportPlan *p, Text *out)
{
    const Frozen *f = p->frozen;
    for (uint32_t size = 2; size < p->sizes; ++size) {
        const char *between = "the size of ";
        text_putf(out, " *     w%u   ", size);
        for (uint32_t i = 0; i < f->input_count; ++i)
            if (p->inputs[i].sized && f->inputs[i].size == size) {
                text_putf(out, "%s%s", p->inputs[i].size ? "" : between,
                          p->inputs[i].name);
                between = ", ";
            }
        text_put(out, "\n");
    }
    if (p->recording->read_count)
        text_put(out, " *     r0, ...   numbers that are computed on the way\n");
}

static void put_guards(const ExportPlan *p, Text *out)
{
    const SymSizes *w = &p->recording->symsizes;
    if (w->guard_count)
        text_put(out, " *\n * It is right for sizes for which these hold:\n *\n");
    for (uint32_t i = 0; i < w->guard_count; ++i) {
        text_put(out, " *     ");
        symsize_write_guard(w, &w->guards[i], out);
        text_put(out, "\n");
    }
}

/* Names of the size classes that arrays accessed by index depend on. */
static void put_indexed_classes(const ExportPlan *p, Text *out)
{
    const char *between = " (";
    for (uint32_t size = 2; size < p->sizes; ++size)
        if (p->by_index[size]) {
            text_putf(out, "%sw%u", between, size);
            between = ", ";
        }
    text_put(out, *between == ',' ? ")" : "");
}

/* What there is to know of arrays that are accessed by index. */
static void put_bounds(const ExportPlan *p, Text *out)
{
    if (!p->indices)
        return;
    text_put(out, " *\n * Sizes are checked, and of what is used lane by lane or as a "
             "whole nothing lies\n * beyond. Arrays that are accessed by index");
    put_indexed_classes(p, out);
    switch (p->function->bounds) {
        case JitExportBoundsCaller:
            text_put(out, " are up to the caller:\n * nothing checks the indices, and "
                     "memory beyond the arrays may be read or written.\n");
            break;
        case JitExportBoundsPin:
            text_put(out, " need to have the\n * sizes that they had when the function "
                     "was recorded, which is checked. Indices\n * that come from what "
                     "inputs contain are up to the caller.\n");
            break;
        case JitExportBoundsCheck:
            text_put(out, ":\n * each index is checked. If one lies beyond, nothing is "
                     "accessed there, and the\n * call returns ");
            export_name_put_upper(out, p->library);
            text_put(out, "_ARGUMENT.\n");
            break;
    }
}

static void put_sizes(const ExportPlan *p, Text *out)
{
    text_putf(out, "\n/* %s(): sizes are numbers of entries.\n *\n", p->name);
    put_classes(p, out);
    put_guards(p, out);
    put_bounds(p, out);
    text_put(out, " */\n");
}

/* What the caller calls a field, for a comment. */
static void put_path(const ExportField *field, Text *out)
{
    export_name_put_comment(out, field->path ? field->path : field->name);
}

/* What has no field. */
static void put_fixed(const ExportPlan *p, Text *out)
{
    const Frozen *f = p->frozen;
    for (uint32_t i = 0; i < f->input_count; ++i) {
        const FrozenInput *input = &f->inputs[i];
        const ExportField *field = &p->inputs[i];
        if (field->size || (input->same == i && !input->literal && input->size))
            continue;
        text_put(out, "    /* ");
        put_path(field, out);
        if (input->same != i)
            text_putf(out, ": the same as %s */\n", p->inputs[input->same].name);
        else if (input->literal)
            text_putf(out, ": part of the function, as a value (%s, bits 0x%" PRIx64
                      ") */\n", export_plan_type((VarType) input->type),
                      input->bits);
        else
            text_put(out, ": empty */\n");
    }
}

static const char *note_of(VarType type)
{
    return type == VarTypeFloat16   ? ", half precision"
           : type == VarTypePointer ? ", addresses"
                                    : "";
}

/* ", lane by lane and by index" */
static void put_access(const ExportField *field, Text *out)
{
    static const struct {
        uint8_t bit;
        const char *text;
    } rows[] = { { EXPORT_BY_LANE, "lane by lane" },
                 { EXPORT_AS_A_WHOLE, "as a whole" },
                 { EXPORT_BY_INDEX, "by index" } };
    const char *between = ", ";
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
        if (field->access & rows[i].bit) {
            text_putf(out, "%s%s", between, rows[i].text);
            between = " and ";
        }
}

/* "    size_t x_size;" */
static void put_size(const ExportField *field, Text *out)
{
    text_put(out, "    size_t ");
    export_plan_put_size(field, out);
    text_put(out, ";");
    if (field->size && field->path) {
        text_put(out, " /* ");
        put_path(field, out);
        text_put(out, " */");
    }
    text_put(out, "\n");
}

static void put_inputs(const ExportPlan *p, Text *out)
{
    const Frozen *f = p->frozen;
    text_putf(out, "/** What goes in. */\nstruct %s_inputs {\n", p->name);
    for (uint32_t i = 0; i < f->input_count; ++i) {
        const ExportField *field = &p->inputs[i];
        const VarType type = (VarType) f->inputs[i].type;
        if (field->array) {
            text_putf(out, "    const %s *%s; /* ", export_plan_type(type),
                      field->name);
            put_path(field, out);
            text_put(out, ": ");
            put_symsize(p, out, export_plan_symsize(p, i));
            text_put(out, note_of(type));
            put_access(field, out);
            if (f->inputs[i].bits)
                text_putf(out, "; entry i is i + %d", (int32_t)
                          distance_of((uint32_t) f->inputs[i].bits));
            text_put(out, " */\n");
        }
        if (field->sized)
            put_size(field, out);
    }
    put_fixed(p, out);
    text_put(out, p->fields ? "};\n" : "    int none;\n};\n");
}

static void put_output(const ExportPlan *p, uint32_t k, Text *out)
{
    const Frozen *f = p->frozen;
    const ExportField *field = &p->outputs[k];
    const FrozenOutput *o = &f->outputs[k];
    const VarType type = (VarType) o->type;
    const bool input = o->kind == FROZEN_RESULT_INPUT;
    if (field->array) {
        text_putf(out, "    %s *%s; /* ", export_plan_type(type), field->name);
        put_path(field, out);
        text_put(out, ": ");
        put_symsize(p, out,
                  input ? export_plan_symsize(p, f->inputs[o->number].same)
                        : o->symsize);
        text_putf(out, "%s%s */\n", note_of(type),
                  input ? ", a copy of the input" : "");
    }
    put_size(field, out);
}

static void put_outputs(const ExportPlan *p, Text *out)
{
    const uint32_t count = p->frozen->output_count;
    text_putf(out, "\n/** What comes out. */\nstruct %s_outputs {\n", p->name);
    for (uint32_t k = 0; k < count; ++k)
        put_output(p, k, out);
    text_put(out, count ? "};\n" : "    int none;\n};\n");
}

static void put_function(const ExportPlan *p, Text *out)
{
    put_sizes(p, out);
    put_inputs(p, out);
    put_outputs(p, out);
    text_putf(out,
        "\n/** Compute. Inputs stay as they are. An output whose address is NULL gets\n"
        " *  memory, which free() releases; one that has an address says how many\n"
        " *  entries there is room for. Afterwards each says how many it has; if\n"
        " *  there was no room, how many it needs. Memory of outputs must not overlap\n"
        " *  that of inputs or of other outputs. After an error, the contents of\n"
        " *  outputs are undefined, and none has got memory. Any threads may call it\n"
        " *  at the same time. */\n"
        "EXPORTED_API int %s(const struct %s_inputs *in,\n"
        "    struct %s_outputs *out);\n", p->name, p->name, p->name);
}

static void put_status(const ExportLibrary *l, Text *out)
{
    static const struct {
        const char *name;
        int value;
        const char *comment;
    } rows[] = {
        { "SUCCESS", JIT_OK, "" },
        { "ARGUMENT", JIT_ERROR_ARGUMENT,
          " /* NULL, sizes that do not fit, no room, a check that failed */" },
        { "STATE", JIT_ERROR_STATE, "" },
        { "MEMORY", JIT_ERROR_MEMORY, " /* out of memory */" },
        { "UNSUPPORTED", JIT_ERROR_UNSUPPORTED, " /* the CPU lacks instructions */" }
    };
    text_putf(out, "/** What calls return. A CPU with %s is needed. */\nenum {\n",
              l->isa);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
        text_put(out, "    ");
        export_name_put_upper(out, l->name);
        text_putf(out, "_%s = %d,%s\n", rows[i].name, rows[i].value, rows[i].comment);
    }
    text_put(out, "};\n");
}

static void put_shared(const ExportLibrary *l, Text *out)
{
    const char *name = l->name;
    text_putf(out,
        "\n/** What went wrong in the calling thread's latest call, for people. */\n"
        "EXPORTED_API const char *%s_error(void);\n"
        "/** Threads that share the work, the calling one included; at first one for\n"
        " *  each CPU. */\n"
        "EXPORTED_API int %s_set_threads(unsigned count);\n"
        "/** Stop the threads and release memory that was kept, while no call is\n"
        " *  under way. Later calls start anew. */\n"
        "EXPORTED_API void %s_shutdown(void);\n", name, name, name);
}

void export_header(const ExportLibrary *l, Text *out)
{
    text_putf(out, "/*\n * %s.h -- functions that were recorded (C99, usable from "
              "C++)\n *\n * Written by jit_freeze_export().\n */\n#ifndef EXPORTED_",
              l->name);
    export_name_put_upper(out, l->name);
    text_put(out, "_H\n#define EXPORTED_");
    export_name_put_upper(out, l->name);
    text_put(out, "_H\n\n#include <stdbool.h>\n#include <stddef.h>\n#include "
             "<stdint.h>\n\n#if defined(__cplusplus)\nextern \"C\" {\n#endif\n\n"
             "#ifndef EXPORTED_API\n#  define EXPORTED_API "
             "__attribute__((visibility(\"default\")))\n#endif\n\n");
    put_status(l, out);
    for (uint32_t i = 0; i < l->count; ++i)
        put_function(&l->functions[i], out);
    put_shared(l, out);
    text_put(out, "\n#if defined(__cplusplus)\n}\n#endif\n\n#endif\n");
}

/* ----------------------------------------------------------------------- example */

/* Indices of 0 are valid everywhere. */
static const char *sample_of(VarType type)
{
    switch (type) {
        case VarTypeFloat32:
        case VarTypeFloat64: return "(i % 97 + 1) / 64.f";
        case VarTypeFloat16: return "0x3c00"; /* 1 */
        case VarTypeBool: return "i % 3 == 0";
        default: return "0";
    }
}

static uint32_t sample_size(const ExportPlan *p, uint32_t input)
{
    const SymSize symsize = export_plan_symsize(p, input);
    return symsize ? (uint32_t) symsize_value(&p->recording->symsizes, symsize) : 0;
}

static void put_input_sample(const ExportPlan *p, uint32_t i, Text *out)
{
    const ExportField *field = &p->inputs[i];
    const VarType type = (VarType) p->frozen->inputs[i].type;
    const uint32_t size = sample_size(p, i);
    if (field->sized) {
        text_putf(out, "    %s_in.", p->name);
        export_plan_put_size(field, out);
        text_putf(out, " = %u;\n", size);
    }
    if (!field->array)
        return;
    text_putf(out, "    {\n        %s *data = malloc(%u * sizeof *data);\n"
              "        for (size_t i = 0; data && i < %u; ++i)\n"
              "            data[i] = %s;\n        %s_in.%s = data;\n    }\n",
              export_plan_type(type), size, size, sample_of(type), p->name,
              field->name);
}

static const char *format_of(VarType type)
{
    switch (type) {
        case VarTypeFloat32:
        case VarTypeFloat64: return "%g\", (double) ";
        case VarTypeInt8:
        case VarTypeInt16:
        case VarTypeInt32:
        case VarTypeInt64: return "%lld\", (long long) ";
        default: return "%llu\", (unsigned long long) ";
    }
}

static void put_output_sample(const ExportPlan *p, uint32_t k, Text *out)
{
    const ExportField *field = &p->outputs[k];
    const char *own = p->name, *name = field->name;
    text_putf(out, "    printf(\"%s: %%zu%s\", %s_out.", name,
              field->array ? " entries" : "\\n", own);
    export_plan_put_size(field, out);
    text_put(out, ");\n");
    if (!field->array)
        return;
    text_putf(out, "    for (size_t i = 0; !%s_status && i < 4 && i < %s_out.%s_size; "
              "++i)\n        printf(\" %s%s_out.%s[i]);\n    printf(\"\\n\");\n"
              "    free(%s_out.%s);\n", own, own, name,
              format_of((VarType) p->frozen->outputs[k].type), own, name, own, name);
}

/* The names of variables begin with that of the function, which may be 'status'. */
static void put_function_sample(const ExportPlan *p, const char *library, Text *out)
{
    const Frozen *f = p->frozen;
    const char *own = p->name;
    text_putf(out, "\nstatic int call_%s(void)\n{\n"
              "    struct %s_inputs %s_in = { 0 };\n"
              "    struct %s_outputs %s_out = { 0 };\n", own, own, own, own, own);
    for (uint32_t i = 0; i < f->input_count; ++i)
        if (p->inputs[i].number != EXPORT_NONE)
            put_input_sample(p, i, out);
    text_putf(out, "    int %s_status = %s(&%s_in, &%s_out);\n    if (%s_status)\n"
              "        fprintf(stderr, \"%%s\\n\", %s_error());\n", own, own, own, own,
              own, library);
    for (uint32_t k = 0; k < f->output_count; ++k)
        put_output_sample(p, k, out);
    for (uint32_t i = 0; i < f->input_count; ++i)
        if (p->inputs[i].array)
            text_putf(out, "    free((void *) %s_in.%s);\n", own, p->inputs[i].name);
    text_putf(out, "    return %s_status;\n}\n", own);
}

void export_header_example(const ExportLibrary *l, Text *out)
{
    const char *name = l->name;
    text_putf(out, "/*\n * %s_example.c -- calls functions with inputs of the sizes "
              "that were recorded\n */\n#include \"%s.h\"\n\n#include <stdio.h>\n"
              "#include <stdlib.h>\n", name, name);
    for (uint32_t i = 0; i < l->count; ++i)
        put_function_sample(&l->functions[i], name, out);
    text_put(out, "\nint main(void)\n{\n    int status = ");
    for (uint32_t i = 0; i < l->count; ++i)
        text_putf(out, "%scall_%s()", i ? " | " : "", l->functions[i].name);
    text_putf(out, ";\n    %s_shutdown();\n    return status;\n}\n", name);
}
