/*
 * size_classes.c -- see size_classes.h
 */
#include "python/freeze/size_classes.h"

enum { FIRST_ROOM = 8 };

const SizeClass *size_classes_find(const SizeClasses *s, uint32_t size)
{
    const uint32_t number = finder_get(&s->finder, size);
    return number == FINDER_NONE ? NULL : &s->classes[number];
}

static bool reserve(SizeClasses *s)
{
    if (s->count < s->capacity)
        return true;
    const size_t wanted = s->capacity ? 2 * s->capacity : FIRST_ROOM;
    SizeClass *grown = PyMem_Realloc(s->classes, wanted * sizeof(*grown));
    if (!grown)
        return PyErr_NoMemory() != NULL;
    s->classes = grown;
    s->capacity = wanted;
    return true;
}

uint64_t size_classes_get(SizeClasses *s, uint32_t size, size_t input)
{
    if (size < FIRST_CLASS)
        return size;
    const SizeClass *known = size_classes_find(s, size);
    if (known)
        return FIRST_CLASS + (uint64_t) (known - s->classes);
    if (!reserve(s) || !finder_put(&s->finder, size, (uint32_t) s->count))
        return UINT64_MAX;
    s->classes[s->count] = (SizeClass) { size, (uint32_t) input };
    return FIRST_CLASS + s->count++;
}

void size_classes_free(SizeClasses *s)
{
    PyMem_Free(s->classes);
    finder_free(&s->finder);
    *s = (SizeClasses) { 0 };
}
