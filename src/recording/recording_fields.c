/*
 * recording_fields.c -- see recording_fields.h
 */
#include "recording/recording_fields.h"

#include <string.h>

static const Field term_fields[] = {
    FIELD(SizeTerm, op, OF_ENUM + SYMSIZE_OPS),
    FIELD(SizeTerm, a, OF_NUMBERS),
    FIELD(SizeTerm, b, OF_NUMBERS),
    FIELD(SizeTerm, late, OF_FOUND),
    FIELD(SizeTerm, value, OF_NUMBERS),
};
_Static_assert(sizeof(SizeTerm) == 24, "a field has no row");

static const Field guard_fields[] = {
    FIELD(SizeGuard, relation, OF_ENUM + SYMSIZE_RELATIONS),
    FIELD(SizeGuard, a, OF_SIZES),
    FIELD(SizeGuard, b, OF_SIZES),
};
_Static_assert(sizeof(SizeGuard) == 12, "a field has no row");

static const Field array_fields[] = {
    FIELD(FrozenArray, kind, OF_ENUM + FROZEN_KINDS),
    FIELD(FrozenArray, number, OF_NUMBERS),
    FIELD(FrozenArray, symsize, OF_SIZES),
    FIELD(FrozenArray, entry, OF_POSITIVE),
    FIELD(FrozenArray, last, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenArray) == 20, "a field has no row");

static const Field use_fields[] = {
    FIELD(FrozenUse, array, OF_ARRAYS),
    FIELD(FrozenUse, symsize, OF_SIZES),
    FIELD(FrozenUse, entry, OF_POSITIVE),
    FIELD(FrozenUse, access, OF_ENUM + SLOT_READ_WRITE + 1),
    FIELD(FrozenUse, word, OF_NUMBERS),
    FIELD(FrozenUse, lane, OF_FOUND),
    FIELD(FrozenUse, once, OF_FOUND),
    FIELD(FrozenUse, offset, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenUse) == 32, "a field has no row");

static const Field read_fields[] = {
    FIELD(FrozenRead, behind, OF_NUMBERS),
    FIELD(FrozenRead, array, OF_ARRAYS),
    FIELD(FrozenRead, place, OF_SIZES),
    FIELD(FrozenRead, symsize, OF_SIZES),
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

static const Field bound_fields[] = { { 0, sizeof(SymSize), OF_SIZES, "" } };
static const Field extent_fields[] = { { 0, sizeof(SymSize), OF_SIZES_OR_0, "" } };

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
    [RECORDING_TERMS] = { offsetof(Recording, symsizes.terms),
                          offsetof(Recording, symsizes.count),
                          offsetof(Recording, symsizes.capacity), sizeof(SizeTerm),
                          FIELDS(term_fields), OF_SIZES, "SizeTerm", "terms" },
    LIST(GUARDS, symsizes.guards, symsizes.guard, SizeGuard, guard_fields, OF_NUMBERS),
    LIST(ARRAYS, arrays, array, FrozenArray, array_fields, OF_ARRAYS),
    LIST(USES, uses, use, FrozenUse, use_fields, OF_NUMBERS),
    LIST(COMMANDS, commands, command, FrozenCommand, command_fields, OF_NUMBERS),
    LIST(READS, reads, read, FrozenRead, read_fields, OF_NUMBERS),
    LIST(CONTENTS, contents, content, FrozenContent, content_fields, OF_NUMBERS),
    LIST(LOOPS, loops, loop, FrozenLoop, loop_fields, OF_NUMBERS),
    LIST(STATES, states, state, FrozenState, state_fields, OF_NUMBERS),
    LIST(BOUNDS, bounds, bound, SymSize, bound_fields, OF_NUMBERS),
    LIST(EXTENTS, extents, extent, SymSize, extent_fields, OF_NUMBERS),
#undef LIST
};
_Static_assert(sizeof recording_lists / sizeof *recording_lists == RECORDING_LISTS,
               "a list has no row");
_Static_assert(sizeof(Recording) == 240, "what has been added is to be saved, too");

/* Parameters: after those of each kind, a row without a size. */
#define NONE
#define BELOW(member, most) FIELD(Command, member, OF_ENUM + (most)),
#define BITS(member) FIELD(Command, member, OF_NUMBERS),
#define BYTES(member) FIELD(Command, member, OF_BYTES),
#define COUNT(member) FIELD(Command, member, OF_POSITIVE),
#define FACTOR(member) FIELD(Command, member, OF_FACTORS),
#define FLAG(member) FIELD(Command, member, OF_BOOLS),
#define FLOATING(member) FIELD(Command, member, OF_FLOATS),
#define NUMBER(member) FIELD(Command, member, OF_NUMBERS),
#define OP(member) FIELD(Command, member, OF_OPS),
#define SIZE(member) FIELD(Command, member, OF_POSITIVE),
#define SUM(member) FIELD(Command, member, OF_SUMS),
#define TYPE(member) FIELD(Command, member, OF_TYPES),
#define COMMAND(name, text, history, inputs, flops, slots, parameters) \
    static const Field fields_of_##name[] = { parameters { 0, 0, 0, NULL } };
#include "device/commands.def"
#undef COMMAND

const RecordingKind recording_kinds[COMMAND_COUNT] = {
#define COMMAND(name, ...)                                                         \
    [COMMAND_##name] = { fields_of_##name,                                         \
                         sizeof(fields_of_##name) / sizeof(*fields_of_##name) - 1 },
#include "device/commands.def"
};

bool recording_can_keep(CommandKind kind, uint32_t count)
{
    const SlotInfo *slots = command_info[kind].slots;
    uint32_t least = 0, most = 0;
    for (; most < COMMAND_SLOTS && slots[most].access; ++most)
        least += !slots[most].optional;
    return kind == COMMAND_LAUNCH || (most && count >= least && count <= most);
}

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
