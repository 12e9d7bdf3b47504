/*
 * recording_repeat.c -- what a repeated command is apart from its kernel; see
 * recording.h
 *
 * A part of exported functions, too (src/export).
 */
#include "freeze/recording.h"

bool recording_bytes(const Recording *r, uint32_t array, const int64_t *values,
                     size_t *bytes)
{
    const FrozenArray *a = &r->arrays[array];
    const int64_t width = values[a->width];
    return width >= 0 &&
           (width <= UINT32_MAX || width_is_constant(&r->widths, a->width)) &&
           !__builtin_mul_overflow(width, a->entry, bytes);
}

/* Blocks that are as large as the command. */
static void set_blocks(const FrozenCommand *f, Command *c)
{
    if (c->kind == COMMAND_LAUNCH) {
        for (uint32_t i = 0; i < c->launch.folds; ++i)
            if (f->whole >> i & 1)
                command_folds(c)[i].block = c->size;
    } else if (f->whole && c->kind == COMMAND_SORT) {
        c->sort.block = (size_t) c->size;
    } else if (f->whole) {
        c->reduce.block = (size_t) c->size;
    }
}

void recording_fill(const Recording *r, const FrozenCommand *f, Command *c,
                    Buffer *const *buffers, const int64_t *values)
{
    set_blocks(f, c);
    if (f->bits)
        c->fill.bits = (uint64_t) values[f->bits];
    for (uint32_t i = 0; i < f->count; ++i) {
        const FrozenUse *use = &r->uses[f->first + i];
        command_set_slot(c, i, buffers[use->array], use->offset,
                         (size_t) values[use->width] * use->entry,
                         (SlotAccess) use->access);
        c->slots[i].word = use->word;
    }
}
