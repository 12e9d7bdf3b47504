/*
 * command.c -- see command.h
 */
#include "device/command.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "device/device.h"
#include "ir/type.h"

const CommandInfo command_info[COMMAND_COUNT] = {
#define COMMAND(name, text, history, inputs, flops, slots, parameters)          \
    [COMMAND_##name] = { text, history, inputs, flops, { slots { 0 } },         \
                         { parameters 0 } },
#define NONE
#define SLOT(access, entry, extent, over, optional) \
    { access, ENTRY_##entry, EXTENT_##extent, over, optional },
#define READ(entry, extent) SLOT(SLOT_READ, entry, extent, false, false)
#define WRITE(entry, extent) SLOT(SLOT_WRITE, entry, extent, false, false)
#define OVERWRITE(entry, extent) SLOT(SLOT_WRITE, entry, extent, true, false)
#define CHANGE(entry, extent) SLOT(SLOT_READ_WRITE, entry, extent, true, false)
#define MAY_READ(entry, extent) SLOT(SLOT_READ, entry, extent, false, true)
#define MAY_WRITE(entry, extent) SLOT(SLOT_WRITE, entry, extent, false, true)
#define SIZE(member) offsetof(Command, member),
#define BITS(member) offsetof(Command, member),
#define BELOW(...)
#define BYTES(member)
#define COUNT(member)
#define FACTOR(member)
#define FLAG(member)
#define FLOATING(member)
#define NUMBER(member)
#define OP(member)
#define SUM(member)
#define TYPE(member)
#include "device/commands.def"
};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are of one type");

enum { ALIGNMENT = 16 };

static size_t round_up(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

Command *command_create(Device *device, CommandKind kind, uint64_t size, uint32_t slots,
                        size_t data)
{
    size_t first = round_up(sizeof(Command));
    size_t head = first + round_up(slots * sizeof(Slot));
    size_t used = head + round_up(data);
    Command *c = alloc_get(used + device->job_bytes);
    TRY(c, NULL);
    memset(c, 0, offsetof(Command, few));
    memset((char *) c + first, 0, used - first); /* it can be freed half done */
    c->kind = kind;
    c->size = size;
    c->device = device;
    c->slots = (Slot *) (void *) ((char *) c + first);
    c->slot_count = slots;
    c->data = (char *) c + head;
    c->data_size = data;
    c->points = c->few;
    c->interrupts = interrupt_requests();
    c->job = (char *) c + used;
    return c;
}

void command_set_slot(Command *c, uint32_t slot, Buffer *buffer, size_t offset,
                      size_t bytes, SlotAccess access)
{
    buffer_retain(buffer);
    c->slots[slot] = (Slot) { buffer, offset, bytes, (uint32_t) access, SLOT_NO_WORD,
                                0 };
}

void command_set_buffer(Command *c, uint32_t slot, Buffer *buffer)
{
    buffer_retain(buffer);
    buffer_release(c->slots[slot].buffer);
    c->slots[slot].buffer = buffer;
}

Command *command_like(const Command *c, uint64_t size)
{
    Command *like = command_create(c->device, c->kind, size, c->slot_count,
                                   c->data_size);
    TRY(like, NULL);
    size_t first = offsetof(Command, launch), end = offsetof(Command, timed);
    memcpy((char *) like + first, (const char *) c + first, end - first);
    memcpy(like->data, c->data, c->data_size);
    if (c->kind == COMMAND_LAUNCH)
        code_retain(c->launch.code);
    return like;
}

Command *command_copy(const Command *c)
{
    Command *copy = command_like(c, c->size);
    TRY(copy, NULL);
    memcpy(copy->slots, c->slots, c->slot_count * sizeof(Slot));
    for (uint32_t i = 0; i < c->slot_count; ++i)
        buffer_retain(c->slots[i].buffer);
    return copy;
}

bool command_reserve_points(Command *c, uint32_t count)
{
    if (count <= COMMAND_POINTS)
        return true;
    if (c->points != c->few)
        alloc_free(c->points);
    c->points = alloc_get(count * sizeof(StreamPoint));
    if (!c->points)
        c->points = c->few;
    return c->points != c->few;
}

void command_let_go(Command *c)
{
    const Slot *slots = c->slots;
    for (uint32_t i = 0, count = c->slot_count; i < count; ++i)
        buffer_release(slots[i].buffer);
    c->slot_count = 0;
    if (c->kind == COMMAND_LAUNCH)
        code_release(c->launch.code);
    c->kind = COMMAND_EVENT;
}

void command_free(Command *c)
{
    if (!c)
        return;
    if (c->drop)
        c->drop(c->payload);
    if (c->prepared)
        c->device->discard(c->device, c);
    command_let_go(c);
    if (c->points != c->few)
        alloc_free(c->points);
    alloc_free(c);
}

/* Which of its words are addresses is known from the slots, and what they are is not
 * part of the command. */
static bool is_address(const Command *c, size_t word)
{
    for (uint32_t i = 0; c->kind == COMMAND_LAUNCH && i < c->slot_count; ++i)
        if (c->slots[i].word == word)
            return true;
    return false;
}

static bool data_equal(const Command *a, const Command *b)
{
    const char *x = a->data, *y = b->data;
    for (size_t at = 0; at < a->data_size; at += sizeof(uint64_t)) {
        size_t rest = a->data_size - at;
        if (memcmp(x + at, y + at, rest < sizeof(uint64_t) ? rest : sizeof(uint64_t)) &&
            !is_address(a, at / sizeof(uint64_t)))
            return false;
    }
    return true;
}

bool command_equal(const Command *a, const Command *b)
{
    if (a->kind != b->kind || a->size != b->size || a->device != b->device ||
        a->slot_count != b->slot_count || a->data_size != b->data_size)
        return false;
    for (uint32_t i = 0; i < a->slot_count; ++i) {
        const Slot *s = &a->slots[i], *t = &b->slots[i];
        if (s->offset != t->offset || s->bytes != t->bytes || s->access != t->access ||
            s->word != t->word)
            return false;
    }
    size_t first = offsetof(Command, launch), end = offsetof(Command, timed);
    return memcmp((const char *) a + first, (const char *) b + first, end - first) ==
               0 && data_equal(a, b);
}

bool command_repeats(const Command *first, const Command *second)
{
    if (first->kind != COMMAND_LAUNCH || second->kind != COMMAND_LAUNCH ||
        first->launch.code != second->launch.code)
        return false;
    for (uint32_t i = 0; i < first->slot_count; ++i)
        for (uint32_t k = 0; k < second->slot_count; ++k)
            if (first->slots[i].access & SLOT_WRITE &&
                first->slots[i].buffer == second->slots[k].buffer)
                return false;
    return true;
}

/* ------------------------------------------------------------------- extents */

static uint64_t saturated_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t saturated_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* From the first to the last entry of a matrix, in all of the batch. */
static uint64_t matrix_extent(const GemmShape *s, bool first)
{
    bool transpose = first ? s->transpose_a : s->transpose_b;
    size_t rows = first ? s->m : s->k, columns = first ? s->k : s->n;
    uint64_t count = transpose ? rows : columns;
    uint64_t steps = (transpose ? columns : rows) - 1;
    count = saturated_add(count, saturated_product(steps, first ? s->row_a : s->row_b));
    for (uint32_t i = 0; i < s->axes; ++i) {
        const GemmAxis *axis = &s->axis[i];
        steps = saturated_product(axis->extent - 1,
                                  first ? axis->stride_a : axis->stride_b);
        count = saturated_add(count, steps);
    }
    return count;
}

static uint64_t record_extent(const Command *c)
{
    uint64_t blocks = (c->size - 1) / c->permutation.block + 1;
    uint64_t records = saturated_product(blocks, c->permutation.buckets);
    return records < c->size ? records : c->size;
}

/* Entries that a slot has to have; a command whose parameters fit each other. */
static uint64_t find_extent(const Command *c, uint32_t extent)
{
    switch (extent) {
    case EXTENT_ONE: return 1;
    case EXTENT_BLOCKS: return c->size / c->reduce.block;
    case EXTENT_RECORDS: return record_extent(c);
    case EXTENT_COPIES:
        return saturated_add(c->size, saturated_product(c->combine.copies - 1u,
                                                        c->combine.stride));
    case EXTENT_FIRST_MATRIX: return matrix_extent(c->data, true);
    case EXTENT_SECOND_MATRIX: return matrix_extent(c->data, false);
    default: return c->size;
    }
}

uint32_t command_entry(const Command *c, uint32_t slot)
{
    const uint32_t entry = command_info[c->kind].slots[slot].entry;
    if (entry == ENTRY_ITEM)
        return c->fill.item_size;
    if (entry == ENTRY_RESULT && c->sort.indices)
        return sizeof(uint32_t);
    return entry >= ENTRY_TYPE ? type_info[command_type(c)].size : entry;
}

static inline bool has_extent(const Command *c, const SlotInfo *info, uint32_t slot)
{
    const uint64_t bytes = c->slots[slot].bytes, entry = command_entry(c, slot);
    const bool all = info->extent <= EXTENT_FIXED;
    return bytes / entry >= (all ? c->size : find_extent(c, info->extent)) ||
           (info->extent == EXTENT_ITEMS_OR_ONE && bytes == entry);
}

/* Is a buffer that is written no other slot's? */
static inline bool is_apart(const Command *c, const SlotInfo *info, uint32_t slot)
{
    const uint32_t count = info->over || info->access == SLOT_READ ? 0 : c->slot_count;
    for (uint32_t i = 0; i < count; ++i)
        if (i != slot && c->slots[i].buffer == c->slots[slot].buffer)
            return false;
    return true;
}

/* Does it consist of whole blocks? With a stride, these are columns. */
static bool has_blocks(const Command *c, uint64_t block, uint64_t stride)
{
    uint64_t matrix = saturated_product(block, stride);
    return matrix && c->size % matrix == 0;
}

/* The same of all that a launch reduces, among which nothing else has columns beside
 * it; and are results as large as that? */
static bool has_fused(const Command *c)
{
    const FusedReduction *reduction = command_fused(c),
                         *end = reduction + c->launch.fused;
    uint64_t stride = 1;
    uint32_t op = 0;
    for (; reduction < end; ++reduction) {
        TRY(has_blocks(c, reduction->block, reduction->stride), false);
        if (reduction->op <= REDUCE_DOT &&
            c->size / reduction->block * type_info[reduction->type].size >
                c->slots[reduction->target].bytes)
            return false;
        stride = reduction->stride > stride ? reduction->stride : stride;
        op = reduction->op > op ? reduction->op : op;
    }
    return stride == 1 || op < ReduceOpCount;
}

/* Is the result of a product as large as its matrices say? */
static bool has_matrices(const Command *c)
{
    const GemmShape *s = c->data;
    uint64_t size = saturated_product(s->m, s->n);
    for (uint32_t i = 0; i < s->axes; ++i)
        size = saturated_product(size, s->axis[i].extent);
    return s->k && size && size == c->size;
}

/* Do size and parameters fit each other? */
static bool fits_itself(const Command *c)
{
    switch (c->kind) {
    case COMMAND_REDUCE:
    case COMMAND_PREFIX: return has_blocks(c, c->reduce.block, c->reduce.stride);
    case COMMAND_SORT: return has_blocks(c, c->sort.block, 1);
    case COMMAND_TRANSPOSE:
        return has_blocks(c, saturated_product(c->transpose.rows, c->transpose.columns),
                          c->transpose.items);
    case COMMAND_GEMM: return has_matrices(c);
    case COMMAND_ORDERED: /* its target consists of entries with a number */
        return c->slots[2].bytes % type_info[c->ordered.type].size == 0 &&
               c->slots[2].bytes / type_info[c->ordered.type].size <= UINT32_MAX;
    default: return true;
    }
}

bool command_fits(const Command *c)
{
    const SlotInfo *slots = command_info[c->kind].slots;
    const bool bytes = c->kind == COMMAND_COPY || c->kind == COMMAND_FILL;
    if (!c->size || (c->size > UINT32_MAX && !bytes))
        return false;
    if (c->kind == COMMAND_LAUNCH)
        return has_fused(c);
    bool fits = fits_itself(c);
    for (uint32_t i = 0; fits && slots[0].access && i < c->slot_count; ++i)
        fits = has_extent(c, &slots[i], i) && is_apart(c, &slots[i], i);
    return fits;
}

void command_write(const Command *c, Text *out)
{
    static const char *const access[] = { "", "r", "w", "b" };
    text_putf(out, "%s %llu [", command_info[c->kind].name,
              (unsigned long long) c->size);
    for (uint32_t i = 0; i < c->slot_count; ++i)
        text_putf(out, "%s%s %p +%zu %zu", i ? ", " : "", access[c->slots[i].access],
                  (const void *) c->slots[i].buffer, c->slots[i].offset,
                  c->slots[i].bytes);
    text_put(out, "]");
}
