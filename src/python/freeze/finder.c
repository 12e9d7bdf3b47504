/*
 * finder.c -- see finder.h
 */
#include "python/freeze/finder.h"

enum { FIRST_ROOM = 16 };

/* The slot of a key, or a free one for it. */
static size_t slot_of(const Finder *f, uint64_t key)
{
    size_t slot = (size_t) (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & f->mask;
    while (f->numbers[slot] && f->keys[slot] != key)
        slot = (slot + 1) & f->mask;
    return slot;
}

/* At least half of the slots stay free. */
static bool grow(Finder *f)
{
    const size_t room = f->numbers ? 2 * (f->mask + 1) : FIRST_ROOM;
    Finder grown = { PyMem_New(uint64_t, room),
                     PyMem_Calloc(room, sizeof(*f->numbers)), room - 1, f->count };
    if (!grown.keys || !grown.numbers) {
        finder_free(&grown);
        return PyErr_NoMemory() != NULL;
    }
    for (size_t i = 0; f->numbers && i <= f->mask; i++) {
        const size_t slot = f->numbers[i] ? slot_of(&grown, f->keys[i]) : 0;
        if (!f->numbers[i])
            continue;
        grown.keys[slot] = f->keys[i];
        grown.numbers[slot] = f->numbers[i];
    }
    finder_free(f);
    *f = grown;
    return true;
}

uint32_t finder_get(const Finder *f, uint64_t key)
{
    return f->numbers ? f->numbers[slot_of(f, key)] - 1 : FINDER_NONE;
}

bool finder_put(Finder *f, uint64_t key, uint32_t number)
{
    if ((!f->numbers || 2 * f->count > f->mask) && !grow(f))
        return false;
    const size_t slot = slot_of(f, key);
    f->count += !f->numbers[slot];
    f->keys[slot] = key;
    f->numbers[slot] = number + 1;
    return true;
}

void finder_free(Finder *f)
{
    PyMem_Free(f->keys);
    PyMem_Free(f->numbers);
    *f = (Finder){ 0 };
}
