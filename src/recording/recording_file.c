/*
 * recording_file.c -- see recording_file.h
 */
#include "recording/recording_file.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"
#include "kernel/literals.h"
#include "kernel/tier.h"

/* ------------------------------------------------------------------- tables */

/* 'late' follows from the rest. */
static const Field term_fields[] = {
    FIELD(WidthTerm, op, OF_ENUM + WIDTH_OPS),
    FIELD(WidthTerm, a, OF_NUMBERS),
    FIELD(WidthTerm, b, OF_NUMBERS),
    FIELD(WidthTerm, value, OF_NUMBERS),
};
_Static_assert(sizeof(WidthTerm) == 24, "a field has no row");

static const Field guard_fields[] = {
    FIELD(WidthGuard, relation, OF_ENUM + WIDTH_RELATIONS),
    FIELD(WidthGuard, a, OF_SIZES),
    FIELD(WidthGuard, b, OF_SIZES),
};
_Static_assert(sizeof(WidthGuard) == 12, "a field has no row");

static const Field array_fields[] = {
    FIELD(FrozenArray, kind, OF_ENUM + FROZEN_KINDS),
    FIELD(FrozenArray, number, OF_NUMBERS),
    FIELD(FrozenArray, width, OF_SIZES),
    FIELD(FrozenArray, entry, OF_POSITIVE),
    FIELD(FrozenArray, last, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenArray) == 20, "a field has no row");

static const Field use_fields[] = {
    FIELD(FrozenUse, array, OF_ARRAYS),
    FIELD(FrozenUse, width, OF_SIZES),
    FIELD(FrozenUse, entry, OF_POSITIVE),
    FIELD(FrozenUse, access, OF_ENUM + SLOT_READ_WRITE + 1),
    FIELD(FrozenUse, word, OF_NUMBERS),
    FIELD(FrozenUse, offset, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenUse) == 32, "a field has no row");

static const Field read_fields[] = {
    FIELD(FrozenRead, behind, OF_NUMBERS),
    FIELD(FrozenRead, array, OF_ARRAYS),
    FIELD(FrozenRead, place, OF_SIZES),
    FIELD(FrozenRead, width, OF_SIZES),
};
_Static_assert(sizeof(FrozenRead) == 16, "a field has no row");

static const Field content_fields[] = {
    FIELD(FrozenContent, behind, OF_NUMBERS),
    FIELD(FrozenContent, array, OF_ARRAYS),
    FIELD(FrozenContent, offset, OF_NUMBERS),
    FIELD(FrozenContent, bytes, OF_POSITIVE),
    FIELD(FrozenContent, first, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenContent) == 32, "a field has no row");

static const Field state_fields[] = {
    FIELD(FrozenState, initial, OF_ARRAYS),
    FIELD(FrozenState, array, OF_ARRAYS),
    FIELD(FrozenState, next, OF_ARRAYS),
};
_Static_assert(sizeof(FrozenState) == 12, "a field has no row");

static const Field loop_fields[] = {
    FIELD(FrozenLoop, first, OF_NUMBERS),
    FIELD(FrozenLoop, end, OF_NUMBERS),
    FIELD(FrozenLoop, inner, OF_NUMBERS),
    FIELD(FrozenLoop, enter, OF_ARRAYS),
    FIELD(FrozenLoop, again, OF_ARRAYS),
    FIELD(FrozenLoop, least, OF_NUMBERS),
    FIELD(FrozenLoop, most, OF_NUMBERS),
    FIELD(FrozenLoop, arrays, OF_NUMBERS),
    FIELD(FrozenLoop, arrays_end, OF_NUMBERS),
    FIELD(FrozenLoop, state, OF_NUMBERS),
    FIELD(FrozenLoop, states, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenLoop) == 44, "a field has no row");

static const Field bound_fields[] = { { 0, sizeof(Width), OF_SIZES } };
static const Field extent_fields[] = { { 0, sizeof(Width), OF_SIZES_OR_0 } };

/* 'pattern' and 'launch.kernel' follow the lists. */
static const Field command_fields[] = {
    FIELD(FrozenCommand, size, OF_SIZES),
    FIELD(FrozenCommand, unit, OF_POSITIVE),
    FIELD(FrozenCommand, first, OF_NUMBERS),
    FIELD(FrozenCommand, count, OF_NUMBERS),
    FIELD(FrozenCommand, extent, OF_NUMBERS),
    FIELD(FrozenCommand, launch.operations, OF_NUMBERS),
    FIELD(FrozenCommand, launch.inputs, OF_NUMBERS),
    FIELD(FrozenCommand, launch.outputs, OF_NUMBERS),
    FIELD(FrozenCommand, launch.checks, OF_NUMBERS),
    FIELD(FrozenCommand, launch.bound, OF_NUMBERS),
    FIELD(FrozenCommand, launch.report, OF_REPORTS),
};
_Static_assert(sizeof(FrozenCommand) == 64, "a field has no row");

/* The lists of a recording, and what numbers of their elements are. */
static const struct {
    size_t list, count, capacity, element;
    const Field *fields;
    size_t field_count;
    FieldSpace space; /* OF_NUMBERS: nothing refers to them */
} lists[] = {
#define LIST(name, one, Element, table, space)                                         \
    { offsetof(Recording, name), offsetof(Recording, one##_count),                     \
      offsetof(Recording, one##_capacity), sizeof(Element), FIELDS(table), space }
    { offsetof(Recording, widths.terms), offsetof(Recording, widths.count),
      offsetof(Recording, widths.capacity), sizeof(WidthTerm), FIELDS(term_fields),
      OF_SIZES },
    LIST(widths.guards, widths.guard, WidthGuard, guard_fields, OF_NUMBERS),
    LIST(arrays, array, FrozenArray, array_fields, OF_ARRAYS),
    LIST(uses, use, FrozenUse, use_fields, OF_NUMBERS),
    LIST(commands, command, FrozenCommand, command_fields, OF_NUMBERS),
    LIST(reads, read, FrozenRead, read_fields, OF_NUMBERS),
    LIST(contents, content, FrozenContent, content_fields, OF_NUMBERS),
    LIST(loops, loop, FrozenLoop, loop_fields, OF_NUMBERS),
    LIST(states, state, FrozenState, state_fields, OF_NUMBERS),
    LIST(bounds, bound, Width, bound_fields, OF_NUMBERS),
    LIST(extents, extent, Width, extent_fields, OF_NUMBERS),
#undef LIST
};
enum { LISTS = sizeof lists / sizeof *lists };
_Static_assert(sizeof(Recording) == 240, "what has been added is to be saved, too");

static const Field launch_fields[] = {
    FIELD(Command, launch.workers, OF_NUMBERS),
    FIELD(Command, launch.words, OF_NUMBERS),
    FIELD(Command, launch.folds, OF_ENUM + LAUNCH_FOLDS + 1),
};
static const Field fill_fields[] = {
    FIELD(Command, fill.bits, OF_NUMBERS),
    FIELD(Command, fill.item_size, OF_ENUM + sizeof(uint64_t) + 1),
};
static const Field reduce_fields[] = {
    FIELD(Command, reduce.op, OF_ENUM + ReduceOpCount),
    FIELD(Command, reduce.type, OF_TYPES),
    FIELD(Command, reduce.block, OF_POSITIVE),
    FIELD(Command, reduce.exclusive, OF_BOOLS),
    FIELD(Command, reduce.reverse, OF_BOOLS),
};
static const Field dot_fields[] = { FIELD(Command, dot.type, OF_TYPES) };
static const Field permutation_fields[] = {
    FIELD(Command, permutation.block, OF_POSITIVE),
    FIELD(Command, permutation.buckets, OF_POSITIVE),
};
static const Field sort_fields[] = {
    FIELD(Command, sort.type, OF_TYPES),
    FIELD(Command, sort.block, OF_POSITIVE),
    FIELD(Command, sort.descending, OF_BOOLS),
    FIELD(Command, sort.positions, OF_BOOLS),
};
static const Field gemm_fields[] = { FIELD(Command, gemm.type, OF_TYPES) };
static const Field combine_fields[] = {
    FIELD(Command, combine.op, OF_ENUM + ReduceOpCount),
    FIELD(Command, combine.type, OF_TYPES),
    FIELD(Command, combine.stride, OF_NUMBERS),
    FIELD(Command, combine.copies, OF_POSITIVE),
};

/* Parameters of commands, and how many arrays they use; others cannot be saved. */
static const struct {
    bool known;
    uint32_t least, most; /* slots */
    const Field *fields;
    size_t field_count;
} kinds[COMMAND_COUNT] = {
    [COMMAND_LAUNCH] = { true, 0, UINT32_MAX, FIELDS(launch_fields) },
    [COMMAND_COPY] = { true, 2, 2, NULL, 0 },
    [COMMAND_FILL] = { true, 1, 1, FIELDS(fill_fields) },
    [COMMAND_POKE] = { true, 1, 1, FIELDS(fill_fields) },
    [COMMAND_REDUCE] = { true, 2, 2, FIELDS(reduce_fields) },
    [COMMAND_DOT] = { true, 3, 3, FIELDS(dot_fields) },
    [COMMAND_PREFIX] = { true, 2, 2, FIELDS(reduce_fields) },
    [COMMAND_COMPRESS] = { true, 3, 3, NULL, 0 },
    [COMMAND_PERMUTATION] = { true, 3, 4, FIELDS(permutation_fields) },
    [COMMAND_SORT] = { true, 2, 2, FIELDS(sort_fields) },
    [COMMAND_GEMM] = { true, 3, 3, FIELDS(gemm_fields) },
    [COMMAND_COMBINE] = { true, 2, 2, FIELDS(combine_fields) },
};

static void *list_at(const Recording *r, size_t i)
{
    return *(void **) (void *) ((char *) (uintptr_t) r + lists[i].list);
}

static uint32_t *number_at(const Recording *r, size_t offset)
{
    return (uint32_t *) (void *) ((char *) (uintptr_t) r + offset);
}

/* ------------------------------------------------------------------- saving */

static void put_lists(const Recording *r, Text *out)
{
    for (size_t i = 0; i < LISTS; ++i)
        bytes_put(out, *number_at(r, lists[i].count), sizeof(uint32_t));
    for (size_t i = 0; i < LISTS; ++i)
        for (uint32_t k = 0; k < *number_at(r, lists[i].count); ++k)
            fields_put(out, (const char *) list_at(r, i) + k * lists[i].element,
                       lists[i].fields, lists[i].field_count);
}

static bool put_constants(const Recording *r, Text *out)
{
    bytes_put(out, r->constant_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < r->constant_count; ++i) {
        size_t size = r->constants[i]->size;
        void *copy = alloc_get(size);
        TRY(copy, false);
        buffer_read(r->constants[i], 0, copy, size);
        bytes_put_block(out, copy, size);
        alloc_free(copy);
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
              put_kernel(kernel, (uint64_t) width_value(&r->widths, f->size) * f->unit,
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
    if (!kinds[kind].known || (kind == COMMAND_LAUNCH && !f->launch.kernel))
        return error_set(JIT_ERROR_UNSUPPORTED, "%s: the recording cannot be saved: "
                         "it has a command of the kind '%s'", function,
                         command_info[kind].name);
    bytes_put(out, kind, sizeof(uint32_t));
    bytes_put(out, numbers[i], sizeof(uint32_t));
    fields_put(out, f->pattern, kinds[kind].fields, kinds[kind].field_count);
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

static bool take_lists(Recording *r, ByteReader *in, FieldCounts *counts)
{
    uint32_t count[LISTS];
    for (size_t i = 0; i < LISTS; ++i) {
        count[i] = bytes_take_count(
            in, fields_size(lists[i].fields, lists[i].field_count));
        if (lists[i].space)
            counts->of[lists[i].space] = count[i];
    }
    for (size_t i = 0; i < LISTS; ++i) {
        size_t bytes = lists[i].element;
        void *list = (char *) r + lists[i].list;
        TRY(vec_reserve(list, number_at(r, lists[i].capacity), count[i], bytes), false);
        if (count[i])
            memset(list_at(r, i), 0, count[i] * bytes);
        *number_at(r, lists[i].count) = count[i];
        for (uint32_t k = 0; k < count[i]; ++k)
            TRY(fields_take(in, (char *) list_at(r, i) + k * bytes, counts,
                            lists[i].fields, lists[i].field_count), false);
    }
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
        buffer_write(buffer, 0, data, size);
        r->constants[r->constant_count++] = buffer;
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
    ProgramKey key = cache_key(program, r->device, target_get());
    return count ? cache_get_general(program, &key, positions, count, r->device, lanes)
                 : cache_get(program, &key, r->device, lanes, NULL, NULL);
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
        size = c->launch.words * sizeof(uint64_t) + c->launch.folds * sizeof(Fold);
    else if (c->kind == COMMAND_GEMM && c->data_size >= sizeof(GemmShape))
        size = sizeof(GemmShape) +
               ((const GemmShape *) c->data)->axes * sizeof(GemmAxis);
    return c->data_size == size;
}

/* The pattern of a command; the tables have said how many arrays it has. */
static bool take_command(Recording *r, FrozenCommand *f, ByteReader *in,
                         const FieldCounts *counts, Kernel *const *kernels,
                         uint32_t kernel_count)
{
    Command head = { .kind = (CommandKind) bytes_take(in, sizeof(uint32_t)) };
    uint32_t number = (uint32_t) bytes_take(in, sizeof(uint32_t));
    TRY(head.kind < COMMAND_COUNT && kinds[head.kind].known, false);
    TRY(f->count >= kinds[head.kind].least && f->count <= kinds[head.kind].most &&
            f->first <= r->use_count && f->count <= r->use_count - f->first,
        false);
    TRY(fields_take(in, &head, counts, kinds[head.kind].fields,
                    kinds[head.kind].field_count), false);
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
        take_commands(r, in, counts) && !in->failed && recording_check(r))
        return true;
    if (error_code() == JIT_OK)
        error_set(JIT_ERROR_ARGUMENT, "%s: the recording is not well-formed", function);
    return false;
}
