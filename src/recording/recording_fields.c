/*
 * recording_fields.c -- see recording_fields.h
 */
#include "recording/recording_fields.h"

#include <string.h>

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

static const Field bound_fields[] = { { 0, sizeof(Width), OF_SIZES, "" } };
static const Field extent_fields[] = { { 0, sizeof(Width), OF_SIZES_OR_0, "" } };

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

const RecordingList recording_lists[] = {
#define LIST(number, list, one, Element, table, space)                                 \
    [RECORDING_##number] = { offsetof(Recording, list),                                \
                             offsetof(Recording, one##_count),                         \
                             offsetof(Recording, one##_capacity), sizeof(Element),     \
                             FIELDS(table), space, #Element, #list }
    [RECORDING_TERMS] = { offsetof(Recording, widths.terms),
                          offsetof(Recording, widths.count),
                          offsetof(Recording, widths.capacity), sizeof(WidthTerm),
                          FIELDS(term_fields), OF_SIZES, "WidthTerm", "terms" },
    LIST(GUARDS, widths.guards, widths.guard, WidthGuard, guard_fields, OF_NUMBERS),
    LIST(ARRAYS, arrays, array, FrozenArray, array_fields, OF_ARRAYS),
    LIST(USES, uses, use, FrozenUse, use_fields, OF_NUMBERS),
    LIST(COMMANDS, commands, command, FrozenCommand, command_fields, OF_NUMBERS),
    LIST(READS, reads, read, FrozenRead, read_fields, OF_NUMBERS),
    LIST(CONTENTS, contents, content, FrozenContent, content_fields, OF_NUMBERS),
    LIST(LOOPS, loops, loop, FrozenLoop, loop_fields, OF_NUMBERS),
    LIST(STATES, states, state, FrozenState, state_fields, OF_NUMBERS),
    LIST(BOUNDS, bounds, bound, Width, bound_fields, OF_NUMBERS),
    LIST(EXTENTS, extents, extent, Width, extent_fields, OF_NUMBERS),
#undef LIST
};
_Static_assert(sizeof recording_lists / sizeof *recording_lists == RECORDING_LISTS,
               "a list has no row");
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
    FIELD(Command, reduce.stride, OF_POSITIVE),
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
static const Field transpose_fields[] = {
    FIELD(Command, transpose.type, OF_TYPES),
    FIELD(Command, transpose.rows, OF_POSITIVE),
    FIELD(Command, transpose.columns, OF_POSITIVE),
    FIELD(Command, transpose.items, OF_POSITIVE),
};
static const Field gemm_fields[] = { FIELD(Command, gemm.type, OF_TYPES) };
static const Field combine_fields[] = {
    FIELD(Command, combine.op, OF_ENUM + ReduceOpCount),
    FIELD(Command, combine.type, OF_TYPES),
    FIELD(Command, combine.stride, OF_NUMBERS),
    FIELD(Command, combine.copies, OF_POSITIVE),
};

static const Field ordered_fields[] = {
    FIELD(Command, ordered.op, OF_ENUM + ReduceOpCount),
    FIELD(Command, ordered.type, OF_TYPES),
};

const RecordingKind recording_kinds[COMMAND_COUNT] = {
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
    [COMMAND_TRANSPOSE] = { true, 2, 2, FIELDS(transpose_fields) },
    [COMMAND_GEMM] = { true, 3, 3, FIELDS(gemm_fields) },
    [COMMAND_COMBINE] = { true, 2, 2, FIELDS(combine_fields) },
    [COMMAND_ORDERED] = { true, 3, 4, FIELDS(ordered_fields) },
};

uint32_t recording_count(const Recording *r, size_t list)
{
    uint32_t count;
    memcpy(&count, (const char *) r + recording_lists[list].count, sizeof(count));
    return count;
}

void *recording_element(const Recording *r, size_t list, uint32_t number)
{
    char *first;
    memcpy(&first, (const char *) r + recording_lists[list].list, sizeof(first));
    return first + number * recording_lists[list].element;
}
