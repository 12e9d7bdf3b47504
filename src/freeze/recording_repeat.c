/*
 * recording_repeat.c -- what a repeated command is apart from its kernel; see
 * recording.h
 *
 * A part of exported functions, too (src/export).
 */
#include "freeze/recording.h"

#include <stddef.h>

bool recording_bytes(const Recording *r, uint32_t array, const int64_t *values,
                     size_t *bytes)
{
    const FrozenArray *a = &r->arrays[array];
    const int64_t width = values[a->width];
    return width >= 0 &&
           (width <= UINT32_MAX || width_is_constant(&r->widths, a->width)) &&
           !__builtin_mul_overflow(width, a->entry, bytes);
}

/* Where the parameters of a kind are that are sizes; 0: it has none, or they are in its
 * data. */
static const size_t places[COMMAND_COUNT] = {
    [COMMAND_FILL] = offsetof(Command, fill.bits),
    [COMMAND_REDUCE] = offsetof(Command, reduce.block),
    [COMMAND_PREFIX] = offsetof(Command, reduce.block),
    [COMMAND_SORT] = offsetof(Command, sort.block),
    [COMMAND_COMBINE] = offsetof(Command, combine.stride),
};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "all of them are of one type");

enum {
    GEMM_EXTENTS = offsetof(GemmShape, transpose_a) / sizeof(size_t),
    AXIS_EXTENTS = sizeof(GemmAxis) / sizeof(size_t)
};

uint32_t recording_extents(const Command *c)
{
    switch (c->kind) {
        case COMMAND_LAUNCH: return c->launch.folds;
        case COMMAND_GEMM:
            return GEMM_EXTENTS + AXIS_EXTENTS * ((const GemmShape *) c->data)->axes;
        default: return places[c->kind] != 0;
    }
}

uint64_t *recording_extent(Command *c, uint32_t number)
{
    if (c->kind == COMMAND_LAUNCH)
        return &command_folds(c)[number].block;
    size_t place = places[c->kind];
    char *start = (char *) c;
    if (c->kind == COMMAND_GEMM) {
        start = c->data;
        place = number < GEMM_EXTENTS
                    ? number * sizeof(size_t)
                    : sizeof(GemmShape) + (number - GEMM_EXTENTS) * sizeof(size_t);
    }
    return (uint64_t *) (void *) (start + place);
}

void recording_fill(const Recording *r, const FrozenCommand *f, Command *c,
                    Buffer *const *buffers, const int64_t *values)
{
    for (uint32_t i = 0; i < recording_extents(c); ++i)
        if (r->extents[f->extent + i])
            *recording_extent(c, i) = (uint64_t) values[r->extents[f->extent + i]];
    for (uint32_t i = 0; i < f->count; ++i) {
        const FrozenUse *use = &r->uses[f->first + i];
        size_t bytes; /* too many for a buffer: recording_fits() */
        if (__builtin_mul_overflow((size_t) values[use->width], use->entry, &bytes))
            bytes = SIZE_MAX;
        command_set_slot(c, i, buffers[use->array], use->offset, bytes,
                         (SlotAccess) use->access);
        c->slots[i].word = use->word;
    }
}
