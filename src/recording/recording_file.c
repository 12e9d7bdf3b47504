/*
 * recording_file.c -- see recording_file.h
 */
#include "recording/recording_file.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"
#include "recording/recording_fields.h"
#include "kernel/literals.h"
#include "kernel/tier.h"

/* ------------------------------------------------------------------- saving */

static void put_lists(const Recording *r, Text *out)
{
    for (size_t i = 0; i < RECORDING_LISTS; ++i)
        bytes_put(out, recording_count(r, i), sizeof(uint32_t));
    for (size_t i = 0; i < RECORDING_LISTS; ++i) {
        const RecordingList *list = &recording_lists[i];
        for (uint32_t k = 0; k < recording_count(r, i); ++k)
            fields_put(out, recording_element(r, i, k), list->fields,
                       list->field_count);
    }
}

static bool put_constants(const Recording *r, Text *out)
{
    bytes_put(out, r->constant_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < r->constant_count; ++i) {
        size_t size = r->constants[i]->size;
        void *copy = alloc_get(size);
        TRY(copy, false);
        bool ok = buffer_read(r->constants[i], 0, copy, size);
        if (ok)
            bytes_put_block(out, copy, size);
        alloc_free(copy);
        TRY(ok, false);
    }
    return true;
}

/* What a kernel is made of. */
static bool put_kernel(const Kernel *kernel, uint64_t lanes, Text *out)
{
    const Program *program = kernel->traced ? kernel->traced : kernel->program;
    size_t size;
    void *data = program_serialise(program, 0, &size);
    TRY(data, false);
    bytes_put(out, lanes, sizeof(uint32_t));
    bytes_put(out, kernel->value_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < kernel->value_count; ++i)
        bytes_put(out, kernel->value_literals[i], sizeof(uint32_t));
    bytes_put_block(out, data, size);
    alloc_free(data);
    return true;
}

/* Kernels, each once; 'numbers' says which those of the commands are. */
static bool put_kernels(const Recording *r, uint32_t *numbers, Text *out)
{
    Table known = { 0 };
    size_t place = out->size;
    bytes_put(out, 0, sizeof(uint32_t));
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->command_count; ++i) {
        const FrozenCommand *f = &r->commands[i];
        uint32_t fresh = known.count;
        const Kernel *kernel = f->launch.kernel;
        if (!kernel)
            continue;
        numbers[i] = table_number(&known, &kernel, sizeof(kernel), fresh);
        ok = numbers[i] != UINT32_MAX &&
             (numbers[i] != fresh ||
              put_kernel(kernel,
                         (uint64_t) symsize_value(&r->symsizes, f->size) * f->unit,
                         out));
    }
    if (text_get(out))
        bytes_set(out->data + place, known.count, sizeof(uint32_t));
    table_free(&known);
    return ok;
}

/* The pattern without addresses, which are those of the process. */
static void put_data(const Recording *r, const FrozenCommand *f, Text *out)
{
    size_t start = out->size + sizeof(uint64_t);
    bytes_put_block(out, f->pattern->data, f->pattern->data_size);
    for (uint32_t i = 0; f->launch.kernel && !out->failed && i < f->count; ++i) {
        uint32_t word = r->uses[f->first + i].word;
        if (word != SLOT_NO_WORD)
            bytes_set(out->data + start + word * sizeof(uint64_t), 0, sizeof(uint64_t));
    }
    if (f->launch.checks && !out->failed)
        bytes_set(out->data + start +
                      (f->pattern->launch.words - 1) * sizeof(uint64_t),
                  0, sizeof(uint64_t));
}

static bool put_command(const Recording *r, uint32_t i, const uint32_t *numbers,
                        const char *function, Text *out)
{
    const FrozenCommand *f = &r->commands[i];
    CommandKind kind = f->pattern->kind;
    const RecordingKind *known = &recording_kinds[kind];
    if (!recording_can_keep(kind, f->count) ||
        (kind == COMMAND_LAUNCH && !f->launch.kernel))
        return error_set(JIT_ERROR_UNSUPPORTED, "%s: the recording cannot be saved: "
                         "it has a command of the kind '%s'", function,
                         command_info[kind].name);
    bytes_put(out, kind, sizeof(uint32_t));
    bytes_put(out, numbers[i], sizeof(uint32_t));
    fields_put(out, f->pattern, known->fields, known->field_count);
    put_data(r, f, out);
    return true;
}

bool recording_put(const Recording *r, const char *function, Text *out)
{
    uint32_t *numbers = alloc_zero(r->command_count + 1, sizeof(uint32_t));
    TRY(numbers, false);
    put_lists(r, out);
    bytes_put_block(out, r->content, r->content_bytes);
    bool ok = put_constants(r, out) && put_kernels(r, numbers, out);
    for (uint32_t i = 0; ok && i < r->command_count; ++i)
        ok = put_command(r, i, numbers, function, out);
    alloc_free(numbers);
    return ok;
}

/* ------------------------------------------------------------------ loading */

/* List i, of 'count' elements. */
static bool take_list(Recording *r, size_t i, uint32_t count, ByteReader *in,
                      const FieldCounts *counts)
{
    const RecordingList *list = &recording_lists[i];
    char *at = (char *) r;
    TRY(vec_reserve(at + list->list, (uint32_t *) (void *) (at + list->capacity), count,
                    list->element), false);
    if (count)
        memset(recording_element(r, i, 0), 0, count * list->element);
    *(uint32_t *) (void *) (at + list->count) = count;
    for (uint32_t k = 0; k < count; ++k)
        TRY(fields_take(in, recording_element(r, i, k), counts, list->fields,
                        list->field_count), false);
    return true;
}

static bool take_lists(Recording *r, ByteReader *in, FieldCounts *counts)
{
    uint32_t count[RECORDING_LISTS];
    for (size_t i = 0; i < RECORDING_LISTS; ++i) {
        const RecordingList *list = &recording_lists[i];
        count[i] = bytes_take_count(in, fields_size(list->fields, list->field_count));
        if (list->space)
            counts->of[list->space] = count[i];
    }
    for (size_t i = 0; i < RECORDING_LISTS; ++i)
        TRY(take_list(r, i, count[i], in, counts), false);
    return true;
}

/* The bytes of all contents. */
static bool take_content(Recording *r, ByteReader *in)
{
    size_t size;
    const void *data = bytes_take_block(in, &size);
    TRY(data && size, data != NULL);
    r->content = alloc_get(size);
    TRY(r->content, false);
    memcpy(r->content, data, size);
    r->content_bytes = r->content_room = size;
    return true;
}

static bool take_constants(Recording *r, ByteReader *in)
{
    uint32_t count = bytes_take_count(in, sizeof(uint64_t));
    TRY(vec_reserve(&r->constants, &r->constant_capacity, count, sizeof(Buffer *)),
        false);
    for (uint32_t i = 0; i < count; ++i) {
        size_t size;
        const void *data = bytes_take_block(in, &size);
        Buffer *buffer = data && size ? buffer_get(r->device, size) : NULL;
        TRY(buffer, false);
        r->constants[r->constant_count++] = buffer;
        TRY(buffer_write(buffer, 0, data, size), false);
    }
    return true;
}

/* Can these literals be parameters? */
static bool check_positions(const Program *program, const uint32_t *positions,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (positions[i] >= program->literal_count ||
            (i && positions[i] <= positions[i - 1]) ||
            !type_valid(literals_type(program, positions[i])))
            return false;
    return true;
}

/* Nobody to print to; reports of checks where launches expect them? */
static bool check_program(const Program *program)
{
    uint32_t report = program->check_count ? program->param_count - 1 : PROGRAM_NONE;
    return !program->print_count &&
           program_find_param(program, PARAM_PRINT) == PROGRAM_NONE &&
           program_find_param(program, PARAM_REPORT) == report;
}

static Kernel *make_kernel(const Recording *r, const Program *program, uint32_t lanes,
                           const uint32_t *positions, uint32_t count)
{
    TRY(check_program(program) && check_positions(program, positions, count), NULL);
    ProgramKey key = cache_key(program, r->device, target_get(r->device));
    return cache_get_fixed(program, &key, positions, count, lanes);
}

static Kernel *take_kernel(const Recording *r, ByteReader *in)
{
    uint32_t lanes = (uint32_t) bytes_take(in, sizeof(uint32_t));
    uint32_t count = bytes_take_count(in, sizeof(uint32_t));
    uint32_t *positions = alloc_get(count * sizeof(uint32_t));
    TRY(positions, NULL);
    for (uint32_t i = 0; i < count; ++i)
        positions[i] = (uint32_t) bytes_take(in, sizeof(uint32_t));
    size_t size;
    uint64_t prefix;
    const void *data = bytes_take_block(in, &size);
    Program *program = data ? program_deserialise(data, size, &prefix) : NULL;
    Kernel *kernel = program ? make_kernel(r, program, lanes, positions, count) : NULL;
    program_free(program);
    alloc_free(positions);
    return kernel;
}

static bool data_fits(const Command *c)
{
    size_t size = 0;
    if (c->kind == COMMAND_LAUNCH)
        size = c->launch.words * sizeof(uint64_t) +
               c->launch.fused * sizeof(FusedReduction);
    else if (c->kind == COMMAND_GEMM && c->data_size >= sizeof(GemmShape))
        size = sizeof(GemmShape) +
               ((const GemmShape *) c->data)->axes * sizeof(GemmAxis);
    return c->data_size == size;
}

/* Is an operation that a row names defined for the type? */
static bool check_op(const Command *c, const RecordingKind *kind)
{
    bool defined = true;
    for (size_t i = 0; i < kind->field_count; ++i)
        if (kind->fields[i].space == OF_OPS)
            defined = reduce_rule_defined(c->reduce.op, command_type(c));
    return defined;
}

/* The pattern of a command; the tables have said how many arrays it has. */
static bool take_command(Recording *r, FrozenCommand *f, ByteReader *in,
                         const FieldCounts *counts, Kernel *const *kernels,
                         uint32_t kernel_count)
{
    Command head = { .kind = (CommandKind) bytes_take(in, sizeof(uint32_t)) };
    uint32_t number = (uint32_t) bytes_take(in, sizeof(uint32_t));
    TRY(head.kind < COMMAND_COUNT, false);
    const RecordingKind *kind = &recording_kinds[head.kind];
    TRY(recording_can_keep(head.kind, f->count) && f->first <= r->use_count &&
            f->count <= r->use_count - f->first,
        false);
    TRY(fields_take(in, &head, counts, kind->fields, kind->field_count) &&
            check_op(&head, kind), false);
    size_t size;
    const void *data = bytes_take_block(in, &size);
    TRY(data, false);
    uint32_t slots = f->count + (f->launch.checks != 0); /* the last one is reports */
    f->pattern = command_create(r->device, head.kind, 0, slots, size);
    TRY(f->pattern, false);
    size_t first = offsetof(Command, launch), end = offsetof(Command, timed);
    memcpy((char *) f->pattern + first, (char *) &head + first, end - first);
    memcpy(f->pattern->data, data, size);
    if (head.kind == COMMAND_LAUNCH && number < kernel_count) {
        f->launch.kernel = kernels[number];
        cache_retain(f->launch.kernel);
        f->pattern->launch.code = code_retain(tier_code(f->launch.kernel)->code);
    }
    return data_fits(f->pattern) && (f->launch.kernel || head.kind != COMMAND_LAUNCH);
}

static bool take_commands(Recording *r, ByteReader *in, const FieldCounts *counts)
{
    enum { LEAST_BYTES = 16 };
    uint32_t count = bytes_take_count(in, LEAST_BYTES), made = 0;
    Kernel **kernels = alloc_zero(count + 1, sizeof(Kernel *));
    TRY(kernels, false);
    bool ok = true;
    for (; ok && made < count; ++made)
        ok = (kernels[made] = take_kernel(r, in)) != NULL;
    for (uint32_t i = 0; ok && i < r->command_count; ++i)
        ok = take_command(r, &r->commands[i], in, counts, kernels, count);
    for (uint32_t i = 0; i < made; ++i)
        cache_release(kernels[i]);
    alloc_free(kernels);
    return ok;
}

bool recording_take(Recording *r, Device *device, const char *function, ByteReader *in,
                    FieldCounts *counts)
{
    r->device = device;
    counts->of[OF_SIZES] = 0;
    error_clear();
    if (take_lists(r, in, counts) && take_content(r, in) && take_constants(r, in) &&
        take_commands(r, in, counts) && !in->failed &&
        symsize_check(&r->symsizes, r->read_count) && recording_check(r))
        return true;
    if (error_code() == JIT_OK)
        error_set(JIT_ERROR_ARGUMENT, "%s: the recording is not well-formed", function);
    return false;
}
