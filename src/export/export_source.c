/*
 * export_source.c -- FUNCTION.c: the recording as tables, and the function
 *
 * The tables are those of recording/recording.h, of device/command.h for the patterns
 * of commands, and of engine/native/run/native_launch.h for the kernels. Nothing in it
 * does anything: that is exported.c. The names of its tables begin with 'own_', as
 * the function can have any other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/export_files.h"
#include "export/export_name.h"
#include "export/export_plan.h"
#include "recording/recording_fields.h"
#include "trace/graph/access.h"

/* The head of a table, which has at least one row. */
static void open_table(Text *out, const char *type, const char *name, uint32_t count)
{
    text_putf(out, "\nstatic %s %s[%u] = {\n", type, name, count ? count : 1);
    if (!count)
        text_put(out, "    { 0 },\n");
}

static void close_table(Text *out) { text_put(out, "};\n"); }

/* ---------------------------------------------------------------------- kernels */

static void put_steps(const ExportPlan *p, uint32_t k, Text *out)
{
    const NativeParts *parts = &p->kernels[k];
    if (!parts->step_count)
        return;
    text_putf(out, "\nstatic LaneStep own_steps_%u[] = {\n", k);
    for (uint32_t i = 0; i < parts->step_count; ++i) {
        const LaneStep *s = &parts->code->steps[i];
        text_putf(out, "    { NULL, %u, { %u, %u, %u } },\n", s->out, s->arg[0],
                  s->arg[1], s->arg[2]);
    }
    close_table(out);
}

static void put_arrays_of(const ExportPlan *p, uint32_t k, Text *out)
{
    const NativeCode *code = p->kernels[k].code;
    if (!code->array_count)
        return;
    text_putf(out, "static NativeArray own_arrays_%u[] = {", k);
    for (uint32_t i = 0; i < code->array_count; ++i)
        text_putf(out, "%s{ %u, %u }", i % 6 ? ", " : i ? ",\n    " : "\n    ",
                  code->arrays[i].slot, code->arrays[i].size);
    text_put(out, "\n};\n");
}

static void put_param(Text *out, const char *name, uint32_t param)
{
    if (param == EXPORT_NONE)
        text_putf(out, "      .%s = PROGRAM_NONE,\n", name);
    else
        text_putf(out, "      .%s = %u,\n", name, param);
}

static void put_kernel(const ExportPlan *p, uint32_t k, Text *out)
{
    const NativeParts *parts = &p->kernels[k];
    const NativeCode *code = parts->code;
    const CpuCost *cost = &code->cpu.cost;
    text_putf(out, "    { .cpu = { .code = { .refs = 1 }, .run = native_launch,\n"
              "               .scratch = %zu, .adds = true,\n"
              "               .streams = UINT64_C(%" PRIu64 "),\n"
              "               .cost = { %" PRIu64 ", %" PRIu64 ", %s } },\n"
              "      .entry = %s_kernel_%u,\n      .pool = (void *) %s_pool_%u,\n",
              code->cpu.scratch, code->cpu.streams, cost->lane, cost->block,
              cost->loops ? "true" : "false", p->name, k, p->name, k);
    if (parts->step_count)
        text_putf(out, "      .steps = own_steps_%u,\n", k);
    if (code->array_count)
        text_putf(out, "      .arrays = own_arrays_%u,\n", k);
    text_putf(out, "      .output_count = %u, .array_count = %u,\n"
              "      .lanes = %u, .packets = %u, .vector_bytes = %u,\n"
              "      .param_count = %u, .mask_bits = %s, .rows = %u,\n",
              code->output_count, code->array_count, code->lanes, code->packets,
              code->vector_bytes, code->param_count, code->mask_bits ? "true" : "false",
              code->rows);
    put_param(out, "report", code->report);
    put_param(out, "log", code->log);
    text_putf(out, "      .areas = %zu, .row_area = %zu, .locals = %zu,\n"
              "      .tail = %zu },\n", code->areas, code->row_area, code->locals,
              code->tail);
}

static void put_kernels(const ExportPlan *p, Text *out)
{
    for (uint32_t k = 0; k < p->kernel_count; ++k)
        text_putf(out, "extern const char %s_pool_%u[];\n"
                  "void %s_kernel_%u(uint32_t begin, uint32_t end,\n"
                  "    const uint64_t *args, NativeFrame *frame, const void *pool);\n",
                  p->name, k, p->name, k);
    for (uint32_t k = 0; k < p->kernel_count; ++k) {
        put_steps(p, k, out);
        put_arrays_of(p, k, out);
    }
    if (!p->kernel_count)
        return;
    text_put(out, "\nstatic NativeCode own_kernels[] = {\n");
    for (uint32_t k = 0; k < p->kernel_count; ++k)
        put_kernel(p, k, out);
    close_table(out);
}

/* The functions of steps are not constants. */
static void put_link(const ExportPlan *p, Text *out)
{
    char place[64];
    if (p->parts & EXPORT_LANES)
        text_putf(out, "\nextern const LaneTable lanes_%s;\n", p->isa);
    text_put(out, "\nstatic void own_link(void)\n{\n");
    for (uint32_t k = 0; k < p->kernel_count; ++k)
        for (uint32_t i = 0; i < p->kernels[k].step_count; ++i) {
            if (!export_plan_step(&p->kernels[k].code->steps[i], place, sizeof(place)))
                continue; /* the plan has no such kernels */
            text_putf(out, "    own_steps_%u[%u].fn = ", k, i);
            if (*place)
                text_putf(out, "lanes_%s%s;\n", p->isa, place);
            else
                text_put(out, "exported_stop;\n");
        }
    text_put(out, "}\n");
}

/* --------------------------------------------------------------------- commands */

static bool is_address(const ExportPlan *p, const FrozenCommand *f, size_t word)
{
    const FrozenUse *uses = &p->recording->uses[f->first];
    const Command *c = f->pattern;
    if (f->launch.checks && word + 1 == c->launch.words) /* of the reports */
        return true;
    for (uint32_t i = 0; i < f->count; ++i) {
        if (c->kind == COMMAND_LAUNCH && uses[i].word == word)
            return true;
        if (c->kind == COMMAND_AGGREGATE && uses[i].word != SLOT_NO_WORD &&
            uses[i].word * 2u + 1 == word)
            return true;
    }
    return false;
}

/* Words of a command, without the addresses among them. */
static void put_data(const ExportPlan *p, uint32_t number, Text *out)
{
    const FrozenCommand *f = &p->recording->commands[number];
    const Command *c = f->pattern;
    const size_t words = c->data_size / sizeof(uint64_t);
    if (!words)
        return;
    text_putf(out, "\nstatic uint64_t own_data_%u[] = {", number);
    for (size_t i = 0; i < words; ++i) {
        uint64_t word;
        memcpy(&word, (const char *) c->data + i * sizeof(word), sizeof(word));
        text_putf(out, "%s0x%" PRIx64, i % 4 ? ", " : i ? ",\n    " : "\n    ",
                  is_address(p, f, i) ? 0 : word);
    }
    text_put(out, "\n};\n");
}

static const char *truth(bool value) { return value ? "true" : "false"; }

static void put_field(const void *object, const Field *field, Text *out)
{
    text_putf(out, ".%s = 0x%" PRIx64, field->name, fields_value(object, field));
}

/* What its kind has of parameters. */
static void put_parameters(const ExportPlan *p, uint32_t number, Text *out)
{
    const Command *c = p->recording->commands[number].pattern;
    const RecordingKind *kind = &recording_kinds[c->kind];
    if (c->kind == COMMAND_LAUNCH)
        text_putf(out, ",\n      .launch.code = &own_kernels[%u].cpu.code",
                  p->kernel_of[number]);
    for (size_t i = 0; i < kind->field_count; ++i) {
        text_put(out, i % 2 ? ", " : ",\n      ");
        put_field(c, &kind->fields[i], out);
    }
}

static void put_pattern(const ExportPlan *p, uint32_t number, Text *out)
{
    const Command *c = p->recording->commands[number].pattern;
    text_putf(out, "    { .kind = %s, .slot_count = %u",
              export_plan_kinds[c->kind], c->slot_count);
    if (c->data_size)
        text_putf(out, ",\n      .data = own_data_%u, .data_size = %zu", number,
                  c->data_size);
    put_parameters(p, number, out);
    text_put(out, " },\n");
}

static void put_commands(const ExportPlan *p, Text *out)
{
    const Recording *r = p->recording;
    for (uint32_t i = 0; i < r->command_count; ++i)
        put_data(p, i, out);
    if (r->command_count) { /* else nothing uses them */
        open_table(out, "Command", "own_patterns", r->command_count);
        for (uint32_t i = 0; i < r->command_count; ++i)
            put_pattern(p, i, out);
        close_table(out);
    }
    open_table(out, "FrozenCommand", "own_commands", r->command_count);
    for (uint32_t i = 0; i < r->command_count; ++i) {
        const FrozenCommand *f = &r->commands[i];
        text_putf(out, "    { .pattern = &own_patterns[%u], .size = %u, .unit = %u,\n"
                  "      .first = %u, .count = %u, .extent = %u", i, f->size,
                  f->unit, f->first, f->count, f->extent);
        if (f->launch.checks)
            text_putf(out, ",\n      .launch = { .checks = %u, .bound = %u }",
                      f->launch.checks, f->launch.bound);
        text_put(out, " },\n");
    }
    close_table(out);
}

/* ----------------------------------------------------------------------- checks */

/* What a check of this kind finds. */
static const char *found_of(uint32_t kind)
{
    switch (kind) {
        case CHECK_CALL: return "EXPORTED_CALLED";
        case CHECK_LOOP: return "EXPORTED_LOOPED";
        case CHECK_GATHER:
        case CHECK_LOCAL_READ: return "EXPORTED_READ";
        default: return "EXPORTED_WRITTEN";
    }
}

/* A row for each bound of the recording. */
static void put_checks(const ExportPlan *p, Text *out)
{
    const Recording *r = p->recording;
    open_table(out, "const ExportedCheck", "own_checks", r->bound_count);
    for (uint32_t i = 0; i < r->command_count; ++i) {
        const FrozenLaunch *launch = &r->commands[i].launch;
        for (uint32_t k = 0; k < launch->checks; ++k) {
            uint32_t kind;
            const char *name;
            if (!report_check(p->frozen->reports[launch->report - 1], k, &kind, &name))
                continue;
            text_putf(out, "    { %s, \"", found_of(kind));
            export_name_put_string(out, name);
            text_put(out, "\" },\n");
        }
    }
    close_table(out);
    text_put(out, "\nstatic SymSize own_bounds[] = {\n");
    for (uint32_t i = 0; i < r->bound_count; ++i)
        text_putf(out, "    %u,\n", r->bounds[i]);
    text_put(out, "    0\n");
    close_table(out);
}

/* Sizes that have to be what they were, by class. */
static void put_pinned(const ExportPlan *p, Text *out)
{
    const SymSizes *w = &p->recording->symsizes;
    const bool pin = p->function->bounds == JitExportBoundsPin;
    text_put(out, "\nstatic const int64_t own_pinned[] = {");
    for (uint32_t class = 0; class < p->sizes; ++class) {
        uint32_t i = pin && p->by_index[class] ? 1 : w->count;
        while (i < w->count &&
               (w->terms[i].op != SYMSIZE_INPUT || w->terms[i].a != class))
            ++i;
        text_putf(out, " %" PRId64 ",", i < w->count ? symsize_value(w, i) : -1);
    }
    text_put(out, " };\n");
}

/* -------------------------------------------------------------- arrays and sizes */

static void put_symsizes(const ExportPlan *p, Text *out)
{
    static const char *const ops[] = { "SYMSIZE_CONSTANT", "SYMSIZE_INPUT",
                                       "SYMSIZE_READ",     "SYMSIZE_ADD",
                                       "SYMSIZE_SUB",      "SYMSIZE_MUL",
                                       "SYMSIZE_DIV",      "SYMSIZE_MOD" };
    static const char *const relations[] = { "SYMSIZE_EQUAL", "SYMSIZE_NOT_EQUAL",
                                             "SYMSIZE_LESS", "SYMSIZE_NOT_LESS" };
    const SymSizes *w = &p->recording->symsizes;
    open_table(out, "SizeTerm", "own_terms", w->count);
    for (uint32_t i = 0; i < w->count; ++i) {
        const SizeTerm *t = &w->terms[i];
        text_putf(out, "    { %s, %u, %u, %u, INT64_C(%" PRId64 ") },\n", ops[t->op],
                  t->a, t->b, t->late, t->op == SYMSIZE_CONSTANT ? t->value : 0);
    }
    close_table(out);
    open_table(out, "SizeGuard", "own_guards", w->guard_count);
    for (uint32_t i = 0; i < w->guard_count; ++i)
        text_putf(out, "    { %s, %u, %u },\n", relations[w->guards[i].relation],
                  w->guards[i].a, w->guards[i].b);
    close_table(out);
    text_put(out, "\nstatic const char *const own_guard_texts[] = {\n");
    for (uint32_t i = 0; i < w->guard_count; ++i) {
        text_put(out, "    \"");
        symsize_write_guard(w, &w->guards[i], out);
        text_put(out, "\",\n");
    }
    text_put(out, "    NULL\n");
    close_table(out);
}

/* A list of the recording as it is. */
static void put_list(const ExportPlan *p, size_t number, Text *out)
{
    const RecordingList *list = &recording_lists[number];
    const uint32_t count = recording_count(p->recording, number);
    char name[32];
    snprintf(name, sizeof(name), "own_%s", list->name);
    open_table(out, list->type, name, count);
    for (uint32_t i = 0; i < count; ++i) {
        const void *element = recording_element(p->recording, number, i);
        for (size_t k = 0; k < list->field_count; ++k) {
            text_put(out, !k ? "    { " : k % 4 ? ", " : ",\n      ");
            put_field(element, &list->fields[k], out);
        }
        text_put(out, " },\n");
    }
    close_table(out);
}

static void put_arrays(const ExportPlan *p, Text *out)
{
    static const char *const frozen_kinds[] = { "FROZEN_INPUT", "FROZEN_CONSTANT",
                                                "FROZEN_MADE", "FROZEN_LOST" };
    const Recording *r = p->recording;
    open_table(out, "FrozenArray", "own_arrays", r->array_count);
    for (uint32_t i = 0; i < r->array_count; ++i) {
        const FrozenArray *a = &r->arrays[i];
        const uint32_t number = a->kind == FROZEN_INPUT ? p->inputs[a->number].number
                                                        : a->number;
        text_putf(out, "    { %s, %u, %u, %u, 0x%x },\n", frozen_kinds[a->kind], number,
                  a->symsize, a->entry, a->last);
    }
    close_table(out);
    put_list(p, RECORDING_USES, out);
    put_list(p, RECORDING_READS, out);
    put_list(p, RECORDING_LOOPS, out);
    put_list(p, RECORDING_STATES, out);
}

/* What the host has read: entries of inputs in the words of the caller. */
static void put_decision_text(const ExportPlan *p, uint32_t decision, Text *out)
{
    const Recording *r = p->recording;
    const FrozenArray *a = decision < r->content_count
                               ? &r->arrays[r->contents[decision].array] : NULL;
    if (a && a->kind == FROZEN_INPUT)
        text_putf(out, "'%s', ", p->inputs[a->number].name);
    recording_write_decision(r, decision, out);
}

/* Bytes that have to be there again. */
static void put_contents(const ExportPlan *p, Text *out)
{
    const Recording *r = p->recording;
    put_list(p, RECORDING_CONTENTS, out);
    text_put(out, "\nstatic unsigned char own_content[] = {");
    for (size_t i = 0; i < r->content_bytes; ++i)
        text_putf(out, "%s%u,", i % 16 ? " " : "\n    ", r->content[i]);
    text_put(out, "\n    0\n");
    close_table(out);
    text_put(out, "\nstatic const char *const own_decision_texts[] = {\n");
    for (uint32_t i = 0; i < r->content_count + r->loop_count; ++i) {
        text_put(out, "    \"");
        put_decision_text(p, i, out);
        text_put(out, "\",\n");
    }
    text_put(out, "    NULL\n");
    close_table(out);
}

static void put_extents(const ExportPlan *p, Text *out)
{
    const Recording *r = p->recording;
    text_put(out, "\nstatic SymSize own_extents[] = {\n");
    for (uint32_t i = 0; i < r->extent_count; ++i)
        text_putf(out, "    %u,\n", r->extents[i]);
    text_put(out, "    0\n");
    close_table(out);
}

static void put_constants(const ExportPlan *p, Text *out)
{
    const Recording *r = p->recording;
    text_put(out, "\n");
    for (uint32_t i = 0; i < r->constant_count; ++i)
        text_putf(out, "extern const char %s_constant_%u[];\n", p->name, i);
    open_table(out, "const ExportedConstant", "own_constants", r->constant_count);
    for (uint32_t i = 0; i < r->constant_count; ++i)
        text_putf(out, "    { %s_constant_%u, %zu },\n", p->name, i,
                  r->constants[i]->size);
    close_table(out);
}

static void put_recording(const ExportPlan *p, Text *out)
{
    const Recording *r = p->recording;
    text_putf(
        out,
        "\nstatic Buffer *own_buffers[%u];\n"
        "static Recording own_recording = {\n"
        "    .symsizes = { .terms = own_terms, .count = %u, .guards = own_guards,\n"
        "                .guard_count = %u },\n"
        "    .arrays = own_arrays, .array_count = %u,\n"
        "    .uses = own_uses, .use_count = %u,\n"
        "    .commands = own_commands, .command_count = %u,\n"
        "    .reads = own_reads, .read_count = %u,\n"
        "    .loops = own_loops, .loop_count = %u,\n"
        "    .states = own_states, .state_count = %u,\n"
        "    .contents = own_contents, .content_count = %u,\n"
        "    .content = own_content, .content_bytes = %zu,\n"
        "    .extents = own_extents, .extent_count = %u,\n"
        "    .bounds = own_bounds, .bound_count = %u,\n"
        "    .constants = own_buffers, .constant_count = %u\n"
        "};\n",
        r->constant_count ? r->constant_count : 1, r->symsizes.count,
        r->symsizes.guard_count, r->array_count, r->use_count, r->command_count,
        r->read_count, r->loop_count, r->state_count, r->content_count,
        r->content_bytes, r->extent_count, r->bound_count, r->constant_count);
}

/* ----------------------------------------------------------------- in and out */

static void put_inputs(const ExportPlan *p, Text *out)
{
    const Frozen *f = p->frozen;
    open_table(out, "const ExportedInput", "own_inputs", p->fields);
    for (uint32_t i = 0; i < f->input_count; ++i) {
        const ExportField *field = &p->inputs[i];
        const uint32_t note = field->array ? (uint32_t) f->inputs[i].bits : 0;
        if (field->number != EXPORT_NONE)
            text_putf(out, "    { \"%s\", %u, %u, %s, %s, 0x%x },\n", field->name,
                      field->array ? (unsigned) type_info[f->inputs[i].type].size : 0,
                      f->inputs[i].size, truth(f->inputs[i].padded), truth(note != 0),
                      distance_of(note));
    }
    close_table(out);
}

/* The constant that a variable of the recording is. */
static uint32_t find_constant(const ExportPlan *p, uint32_t held)
{
    const Recording *r = p->recording;
    const Buffer *buffer = var_get(p->frozen->held.ids[held])->value.buffer;
    uint32_t i = 0;
    while (i < r->constant_count && r->constants[i] != buffer)
        ++i;
    return i;
}

static void put_output(const ExportPlan *p, uint32_t k, Text *out)
{
    static const char *const sources[] = {
        [FROZEN_RESULT_ARRAY] = "EXPORTED_ARRAY",
        [FROZEN_RESULT_INPUT] = "EXPORTED_INPUT",
        [FROZEN_RESULT_LITERAL] = "EXPORTED_VALUE",
        [FROZEN_RESULT_HELD] = "EXPORTED_CONSTANT"
    };
    const FrozenOutput *o = &p->frozen->outputs[k];
    FrozenResult kind = o->kind;
    uint32_t number = o->number;
    SymSize symsize = o->symsize;
    uint64_t bits = o->bits;
    if (p->outputs[k].size) {
        text_putf(out, "    { \"%s\", EXPORTED_SIZE, 0, 0, %u, 0 },\n",
                  p->outputs[k].name, symsize);
        return;
    }
    if (kind == FROZEN_RESULT_INPUT) {
        number = p->frozen->inputs[number].same;
        const FrozenInput *input = &p->frozen->inputs[number];
        symsize = export_plan_symsize(p, number);
        bits = input->bits;
        if (input->literal || !input->size) /* it has no memory */
            kind = FROZEN_RESULT_LITERAL;
        else
            number = p->inputs[number].number;
    } else if (kind == FROZEN_RESULT_HELD) {
        number = find_constant(p, number);
    }
    text_putf(out, "    { \"%s\", %s, 0x%x, %u, %u, UINT64_C(0x%" PRIx64 ") },\n",
              p->outputs[k].name, sources[kind], number,
              (unsigned) type_info[o->type].size, symsize, bits);
}

static void put_function(const ExportPlan *p, Text *out)
{
    const Frozen *f = p->frozen;
    text_putf(out, "\nExportedFunction %s_exported = {\n"
              "    .name = \"%s\", .recording = &own_recording,\n"
              "    .inputs = own_inputs, .outputs = own_outputs,\n"
              "    .constants = own_constants,\n"
              "    .guards = own_guard_texts, .decisions = own_decision_texts,\n"
              "    .checks = own_checks, .pinned = own_pinned,\n"
              "    .input_count = %u, .output_count = %u,\n"
              "    .sizes = %u, .extensions = %u, .link = own_link\n};\n",
              p->name, p->name, p->fields, f->output_count, p->sizes, p->extensions);
}

/* What the caller gives, and what is made of it. */
static void put_given(const ExportPlan *p, Text *out)
{
    text_put(out, "    const ExportedArray given[] = {\n");
    for (uint32_t i = 0; i < p->frozen->input_count; ++i) {
        const ExportField *field = &p->inputs[i];
        if (field->number == EXPORT_NONE)
            continue;
        if (field->array)
            text_putf(out, "        { (void *) in->%s, ", field->name);
        else
            text_put(out, "        { NULL, ");
        text_put(out, field->sized ? "in->" : "1");
        if (field->sized)
            export_plan_put_size(field, out);
        text_put(out, " },\n");
    }
    text_put(out, p->fields ? "    };\n" : "        { NULL, 0 },\n    };\n");
}

static void put_made(const ExportPlan *p, Text *out)
{
    const uint32_t count = p->frozen->output_count;
    text_put(out, "    ExportedArray made[] = {\n");
    for (uint32_t k = 0; k < count; ++k)
        if (p->outputs[k].array)
            text_putf(out, "        { out->%s, out->%s_size },\n", p->outputs[k].name,
                      p->outputs[k].name);
        else
            text_put(out, "        { NULL, 0 },\n");
    text_put(out, count ? "    };\n" : "        { NULL, 0 },\n    };\n");
}

static void put_call(const ExportPlan *p, Text *out)
{
    const char *name = p->name;
    text_putf(out, "\nint %s(const struct %s_inputs *in, struct %s_outputs *out)\n{\n"
              "    if (!in || !out)\n"
              "        return (int) exported_null(&%s_exported);\n",
              name, name, name, name);
    put_given(p, out);
    put_made(p, out);
    text_putf(out, "    JitError status = exported_call(&%s_exported, given, made);\n",
              name);
    for (uint32_t k = 0; k < p->frozen->output_count; ++k) {
        if (p->outputs[k].array)
            text_putf(out, "    out->%s = made[%u].address;\n", p->outputs[k].name, k);
        text_put(out, "    out->");
        export_plan_put_size(&p->outputs[k], out);
        text_putf(out, " = made[%u].size;\n", k);
    }
    text_put(out, "    return (int) status;\n}\n");
}

void export_source(const ExportPlan *p, Text *out)
{
    text_putf(out, "/*\n * %s.c -- what %s() consists of\n *\n"
              " * Written by jit_freeze_export(). Commands, with what they read and "
              "write:\n *\n", p->name, p->name);
    Text listing = { 0 };
    recording_write(p->recording, &listing);
    const char *line = text_get(&listing) ? text_get(&listing) : "";
    while (*line) {
        size_t length = strcspn(line, "\n");
        text_put(out, " *     ");
        text_put_n(out, line, length);
        text_put(out, "\n");
        line += length + (line[length] == '\n');
    }
    out->failed |= listing.failed;
    text_free(&listing);
    text_putf(out, " */\n/* To be called as one of their functions is an error. */\n"
              "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
              "#include <string.h>\n#include <unistd.h>\n\n#include \"%s.h\"\n\n"
              "#include \"engine/native/run/native_launch.h\"\n"
              "#include \"export/runtime/exported.h\"\n\n", p->library);
    put_kernels(p, out);
    put_link(p, out);
    put_commands(p, out);
    put_symsizes(p, out);
    put_arrays(p, out);
    put_contents(p, out);
    put_extents(p, out);
    put_checks(p, out);
    put_pinned(p, out);
    put_constants(p, out);
    put_recording(p, out);
    put_inputs(p, out);
    open_table(out, "const ExportedOutput", "own_outputs", p->frozen->output_count);
    for (uint32_t k = 0; k < p->frozen->output_count; ++k)
        put_output(p, k, out);
    close_table(out);
    put_function(p, out);
    put_call(p, out);
}
