/*
 * recording_repeat.c -- what a repeated command is apart from its kernel; see
 * recording.h
 *
 * A part of exported functions, too (src/export).
 */
#include "recording/recording.h"

#include <stddef.h>

#include "ir/type.h"

enum {
    GEMM_EXTENTS = offsetof(GemmShape, transpose_a) / sizeof(size_t),
    AXIS_EXTENTS = sizeof(GemmAxis) / sizeof(size_t)
};

uint32_t recording_extents(const Command *c)
{
    switch (c->kind) {
        case COMMAND_LAUNCH: return 2 * c->launch.folds; /* block and stride of each */
        case COMMAND_GEMM:
            return GEMM_EXTENTS + AXIS_EXTENTS * ((const GemmShape *) c->data)->axes;
        default: return command_info[c->kind].sizes;
    }
}

uint64_t *recording_extent(Command *c, uint32_t number)
{
    if (c->kind == COMMAND_LAUNCH) {
        Fold *fold = &command_folds(c)[number / 2];
        return number % 2 ? &fold->stride : &fold->block;
    }
    char *first = (char *) c + command_info[c->kind].first_size;
    if (c->kind == COMMAND_GEMM) {
        first = c->data;
        if (number >= GEMM_EXTENTS) { /* of the axes, behind the shape */
            first += sizeof(GemmShape);
            number -= GEMM_EXTENTS;
        }
    }
    return (uint64_t *) (void *) (first + number * sizeof(uint64_t));
}

/* --------------------------------------------------------------------- sizes */

static bool add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t product;
    return !__builtin_mul_overflow(a, b, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

/* Does an operand of a product, of this many bytes, have all entries that are read? */
static bool has_operand(const GemmShape *s, bool first, uint64_t entry, size_t bytes)
{
    bool transpose = first ? s->transpose_a : s->transpose_b;
    size_t rows = first ? s->m : s->k, columns = first ? s->k : s->n;
    uint64_t count = transpose ? rows : columns;
    bool ok = add_product(&count, (transpose ? columns : rows) - 1,
                          first ? s->row_a : s->row_b);
    for (uint32_t i = 0; ok && i < s->axes; ++i)
        ok = add_product(&count, s->axis[i].extent - 1,
                         first ? s->axis[i].stride_a : s->axis[i].stride_b);
    return ok && count <= bytes / entry;
}

static bool has_operands(const Command *c)
{
    const GemmShape *s = c->data;
    uint64_t entry = type_info[c->gemm.type].size, size = s->m;
    bool ok = s->m && s->n && s->k && !__builtin_mul_overflow(size, s->n, &size);
    for (uint32_t i = 0; ok && i < s->axes; ++i)
        ok = s->axis[i].extent &&
             !__builtin_mul_overflow(size, s->axis[i].extent, &size);
    return ok && size == c->size && size <= c->slots[2].bytes / entry &&
           has_operand(s, true, entry, c->slots[0].bytes) &&
           has_operand(s, false, entry, c->slots[1].bytes);
}

/* Are private copies within their array, and as large as the target? */
static bool has_copies(const Command *c)
{
    uint64_t entry = type_info[c->combine.type].size, all = c->size;
    return add_product(&all, c->combine.copies - 1, c->combine.stride) &&
           all <= c->slots[0].bytes / entry && c->size <= c->slots[1].bytes / entry;
}

/* Does a slot have an entry for each lane, or one for all? */
static bool has_lanes(const Command *c, uint32_t slot, uint64_t entry)
{
    const size_t bytes = c->slots[slot].bytes;
    return bytes == entry || (bytes / entry == c->size && bytes % entry == 0);
}

/* Are the operands of each lane there, and a target? */
static bool has_targets(const Command *c)
{
    uint64_t entry = type_info[c->ordered.type].size, target = c->slots[2].bytes;
    return has_lanes(c, 0, sizeof(uint32_t)) && has_lanes(c, 1, entry) &&
           (c->slot_count < 4 || has_lanes(c, 3, 1)) && target >= entry &&
           target % entry == 0 && target / entry <= UINT32_MAX;
}

/* Does it consist of whole blocks? With a stride, these are columns. */
static bool has_blocks(const Command *c, uint64_t block, uint64_t stride)
{
    uint64_t matrix;
    return !__builtin_mul_overflow(block, stride, &matrix) && matrix &&
           c->size % matrix == 0;
}

/* The same of all that a launch reduces, among which nothing else has columns beside
 * it. */
static bool has_folds(const Command *c)
{
    const Fold *folds = command_folds(c);
    bool strided = false, others = false;
    for (uint32_t i = 0; i < c->launch.folds; ++i) {
        TRY(has_blocks(c, folds[i].block, folds[i].stride), false);
        strided |= folds[i].stride > 1;
        others |= folds[i].op >= ReduceOpCount;
    }
    return !strided || !others;
}

/* The same of matrices of items. */
static bool has_matrices(const Command *c)
{
    uint64_t matrix;
    return !__builtin_mul_overflow(c->transpose.rows, c->transpose.columns, &matrix) &&
           !__builtin_mul_overflow(matrix, c->transpose.items, &matrix) && matrix &&
           c->size % matrix == 0;
}

/* Does it have all that its parameters say? */
static bool is_complete(Command *c)
{
    switch (c->kind) {
        case COMMAND_COMBINE: return has_copies(c);
        case COMMAND_ORDERED: return has_targets(c);
        case COMMAND_GEMM: return has_operands(c);
        case COMMAND_REDUCE:
        case COMMAND_PREFIX: return has_blocks(c, c->reduce.block, c->reduce.stride);
        case COMMAND_TRANSPOSE: return has_matrices(c);
        case COMMAND_LAUNCH: return has_folds(c);
        case COMMAND_SORT: return has_blocks(c, c->sort.block, 1);
        default: return true;
    }
}

/* ---------------------------------------------------------------------- fill */

/* Constants are known to all that repeat a recording, other arrays to nobody else. */
static inline void hold(const FrozenArray *array, Buffer *buffer)
{
    if (array->kind == FROZEN_CONSTANT)
        buffer_retain(buffer);
    else
        buffer_retain_alone(buffer);
}

/* False: what is used does not lie within the array. */
static inline bool fill_slot(Slot *slot, const FrozenUse *use, const FrozenArray *array,
                             Buffer *buffer, int64_t width)
{
    size_t bytes;
    if (__builtin_mul_overflow((size_t) width, use->entry, &bytes) ||
        use->offset > buffer->size || bytes > buffer->size - use->offset)
        return false;
    hold(array, buffer);
    *slot = (Slot) { buffer, use->offset, bytes, use->access, use->word, 0 };
    return true;
}

bool recording_fill(const Recording *r, const FrozenCommand *f, Command *c,
                    Buffer *const *buffers, const int64_t *values)
{
    const uint32_t extents = recording_extents(c);
    for (uint32_t i = 0; i < extents; ++i)
        if (r->extents[f->extent + i])
            *recording_extent(c, i) = (uint64_t) values[r->extents[f->extent + i]];
    const FrozenUse *uses = r->uses + f->first;
    const FrozenArray *arrays = r->arrays;
    Slot *slots = c->slots;
    for (uint32_t i = 0, count = f->count; i < count; ++i) {
        const uint32_t array = uses[i].array;
        TRY(fill_slot(&slots[i], &uses[i], &arrays[array], buffers[array],
                      values[uses[i].width]), false);
    }
    return is_complete(c);
}
