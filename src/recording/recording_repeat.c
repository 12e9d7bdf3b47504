/*
 * recording_repeat.c -- what a repeated command is apart from its kernel; see
 * recording.h
 *
 * A part of exported functions, too (src/export).
 */
#include "recording/recording.h"

#include <stddef.h>

enum {
    GEMM_EXTENTS = offsetof(GemmShape, transpose_a) / sizeof(size_t),
    AXIS_EXTENTS = sizeof(GemmAxis) / sizeof(size_t)
};

uint32_t recording_extents(const Command *c)
{
    switch (c->kind) {
        case COMMAND_LAUNCH: return 2 * c->launch.fused; /* block and stride of each */
        case COMMAND_GEMM:
            return GEMM_EXTENTS + AXIS_EXTENTS * ((const GemmShape *) c->data)->axes;
        default: break;
    }
    uint32_t count = 0;
    while (command_info[c->kind].sizes[count])
        ++count;
    return count;
}

uint64_t *recording_extent(Command *c, uint32_t number)
{
    if (c->kind == COMMAND_LAUNCH) {
        FusedReduction *reduction = &command_fused(c)[number / 2];
        return number % 2 ? &reduction->stride : &reduction->block;
    }
    char *first = c->data;
    if (c->kind != COMMAND_GEMM)
        first = (char *) c + command_info[c->kind].sizes[number];
    else if (number < GEMM_EXTENTS)
        first += number * sizeof(size_t);
    else /* of the axes, after the shape */
        first += sizeof(GemmShape) + (number - GEMM_EXTENTS) * sizeof(size_t);
    return (uint64_t *) (void *) first;
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

/* False: what is used does not lie within the array, or is not as much as 'lanes' of a
 * launch use. */
static inline bool fill_slot(Slot *slot, const FrozenUse *use, const FrozenArray *array,
                             Buffer *buffer, int64_t symsize, uint64_t lanes)
{
    size_t bytes;
    if (__builtin_mul_overflow((size_t) symsize, use->entry, &bytes) ||
        use->offset > buffer->size || bytes > buffer->size - use->offset ||
        bytes < lanes * use->lane + use->once)
        return false;
    hold(array, buffer);
    *slot = (Slot) { buffer, use->offset, bytes, use->access, use->word, 0 };
    return true;
}

bool recording_fill(const Recording *r, const FrozenCommand *f, Command *c,
                    Buffer *const *buffers, const int64_t *values)
{
    const bool launch = c->kind == COMMAND_LAUNCH;
    const uint64_t lanes = launch ? c->size : 0;
    TRY(lanes <= UINT32_MAX, false);
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
                      values[uses[i].symsize], lanes), false);
    }
    return (launch && !c->launch.fused) || command_fits(c);
}
