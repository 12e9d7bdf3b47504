/*
 * native_snapshot.c -- registers where two paths meet
 *
 * There the registers must be the same on both. A snapshot notes them where the paths
 * part (or at the top of a loop); the end of a side moves and reloads values until they
 * are as noted. What a side stored is of no use behind it, as the other path did not
 * store it: whether a slot holds its value goes with the snapshot, too.
 */
#include <string.h>

#include "base/vec.h"
#include "engine/native/plan/native.h"

static NativeValue *value_at(const Native *n, uint32_t value)
{
    return &n->f->values[value];
}

uint32_t native_snapshot_take(Native *n)
{
    if (!vec_reserve(&n->snapshots, &n->snapshot_capacity, n->snapshot_count + 1,
                     sizeof(NativeSnapshot))) {
        n->failed = true;
        return 0;
    }
    NativeSnapshot *s = &n->snapshots[n->snapshot_count];
    for (uint32_t class = 0; class < NATIVE_FILES; ++class) {
        const NativeFile *file = &n->files[class];
        memcpy(s->owner[class], file->owner, sizeof s->owner[class]);
        s->clean[class] = 0;
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r)
            if (file->owner[r] != NATIVE_NO_VALUE &&
                native_is_clean(value_at(n, file->owner[r])))
                s->clean[class] |= 1u << r;
    }
    return n->snapshot_count++;
}

void native_snapshot_resume(Native *n, uint32_t snapshot)
{
    if (n->failed)
        return;
    const NativeSnapshot *s = &n->snapshots[snapshot];
    for (uint32_t class = 0; class < NATIVE_FILES; ++class)
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r)
            if (n->files[class].owner[r] != NATIVE_NO_VALUE)
                native_alloc_drop(n, n->files[class].owner[r]);
    for (uint32_t class = 0; class < NATIVE_FILES; ++class)
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r) {
            uint32_t value = s->owner[class][r];
            if (value == NATIVE_NO_VALUE ||
                !native_snapshot_needs(n, value_at(n, value)))
                continue;
            native_alloc_bind(n, value, (NativeReg) r);
            native_value_set_clean(value_at(n, value), s->clean[class] >> r & 1);
        }
}

/* Values that are not wanted leave their registers. States and results whose home is
 * their slot go there. */
static void drop_others(Native *n, uint32_t class)
{
    NativeFile *file = &n->files[class];
    for (uint32_t set = file->all & ~file->free; set; set &= set - 1) {
        uint32_t value = file->owner[__builtin_ctz(set)];
        if (value == NATIVE_NO_VALUE || value_at(n, value)->flags & NATIVE_WANTED)
            continue;
        if (native_snapshot_needs(n, value_at(n, value)))
            native_alloc_clean(n, value);
        native_alloc_drop(n, value);
    }
}

/* One register gets what it should have, if nothing is in the way. */
static bool place_one(Native *n, uint32_t class, uint32_t r, uint32_t value)
{
    NativeFile *file = &n->files[class];
    NativeValue *v = value_at(n, value);
    if (!(file->free >> r & 1))
        return false;
    file->free &= ~(1u << r);
    if (v->reg != NATIVE_NO_REG) {
        n->cpu->move(n, (NativeClass) class, native_value_bytes(n, v), (NativeReg) r,
                     v->reg);
    } else {
        file->pinned |= 1u << r;
        native_alloc_fill(n, value, (NativeReg) r);
    }
    native_alloc_bind(n, value, (NativeReg) r);
    return true;
}

/* Nothing moves because each target is occupied: make way. */
static void break_cycle(Native *n, uint32_t class, uint32_t r)
{
    NativeFile *file = &n->files[class];
    uint32_t value = file->owner[r];
    NativeValue *v = value_at(n, value);
    if (file->free) {
        NativeReg to = (NativeReg) __builtin_ctz(file->free);
        n->cpu->move(n, (NativeClass) class, native_value_bytes(n, v), to, v->reg);
        native_alloc_bind(n, value, to);
    } else {
        native_alloc_clean(n, value);
        native_alloc_drop(n, value);
    }
}

static void place_all(Native *n, uint32_t class, const uint32_t *owner)
{
    NativeFile *file = &n->files[class];
    for (;;) {
        bool moved = false;
        uint32_t stuck = NATIVE_REGISTERS;
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r) {
            if (owner[r] == NATIVE_NO_VALUE || file->owner[r] == owner[r])
                continue;
            if (place_one(n, class, r, owner[r]))
                moved = true;
            else
                stuck = r;
        }
        if (n->failed || (!moved && stuck == NATIVE_REGISTERS))
            return;
        if (!moved)
            break_cycle(n, class, stuck);
    }
}

void native_snapshot_place(Native *n, const NativeSnapshot *wanted)
{
    for (uint32_t class = 0; class < NATIVE_FILES; ++class) {
        const uint32_t *owner = wanted->owner[class];
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r)
            if (owner[r] != NATIVE_NO_VALUE)
                value_at(n, owner[r])->flags |= NATIVE_WANTED;
        drop_others(n, class);
    }
    for (uint32_t class = 0; class < NATIVE_FILES; ++class) {
        const uint32_t *owner = wanted->owner[class];
        place_all(n, class, owner);
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r) {
            if (owner[r] == NATIVE_NO_VALUE)
                continue;
            NativeValue *v = value_at(n, owner[r]);
            v->flags &= (uint16_t) ~NATIVE_WANTED;
            native_value_set_clean(v, wanted->clean[class] >> r & 1);
        }
    }
    native_alloc_unpin(n);
}

void native_snapshot_restore(Native *n, uint32_t snapshot, bool exact)
{
    if (n->failed)
        return;
    NativeSnapshot wanted = n->snapshots[snapshot];
    for (uint32_t class = 0; class < NATIVE_FILES; ++class)
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r) {
            uint32_t value = wanted.owner[class][r];
            if (value == NATIVE_NO_VALUE)
                continue;
            const NativeValue *v = value_at(n, value);
            bool elsewhere = v->reg != r && wanted.clean[class] >> r & 1;
            if (!exact && (elsewhere || !native_snapshot_needs(n, v)))
                wanted.owner[class][r] = NATIVE_NO_VALUE;
        }
    native_snapshot_place(n, &wanted);
}
