/*
 * size_classes.c -- see size_classes.h
 */
#include "python/freeze/size_classes.h"

enum { FEW = 8 }; /* classes that are looked for one by one */

static uint32_t *slot_of(const SizeClasses *s, uint32_t size)
{
    size_t slot = (size * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    while (s->slots[slot & s->mask] &&
           s->classes[s->slots[slot & s->mask] - 1].size != size)
        ++slot;
    return &s->slots[slot & s->mask];
}

/* Room for another class, and twice as many slots as there can be classes then. */
static bool reserve(SizeClasses *s)
{
    if (s->count < s->capacity)
        return true;
    const size_t wanted = s->capacity ? 2 * s->capacity : FEW;
    SizeClass *grown = PyMem_Realloc(s->classes, wanted * sizeof(*grown));
    uint32_t *slots =
        grown && wanted > FEW ? PyMem_Calloc(2 * wanted, sizeof(*slots)) : NULL;
    s->classes = grown ? grown : s->classes;
    if (!grown || (wanted > FEW && !slots)) {
        PyErr_NoMemory();
        return false;
    }
    s->capacity = wanted;
    PyMem_Free(s->slots);
    s->slots = slots;
    s->mask = 2 * wanted - 1;
    for (size_t i = 0; slots && i < s->count; i++)
        *slot_of(s, s->classes[i].size) = (uint32_t) i + 1;
    return true;
}

const SizeClass *size_classes_find(const SizeClasses *s, uint32_t size)
{
    if (s->slots) {
        const uint32_t number = *slot_of(s, size);
        return number ? &s->classes[number - 1] : NULL;
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->classes[i].size == size)
            return &s->classes[i];
    return NULL;
}

uint64_t size_classes_get(SizeClasses *s, uint32_t size, size_t input)
{
    if (size < FIRST_CLASS)
        return size;
    const SizeClass *known = size_classes_find(s, size);
    if (known)
        return FIRST_CLASS + (uint64_t) (known - s->classes);
    if (!reserve(s))
        return UINT64_MAX;
    s->classes[s->count] = (SizeClass) { size, (uint32_t) input };
    if (s->slots)
        *slot_of(s, size) = (uint32_t) s->count + 1;
    return FIRST_CLASS + s->count++;
}

void size_classes_free(SizeClasses *s)
{
    PyMem_Free(s->classes);
    PyMem_Free(s->slots);
    *s = (SizeClasses) { 0 };
}
