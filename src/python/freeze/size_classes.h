/*
 * size_classes.h -- which sizes of a call's inputs are equal
 *
 * Each size of more than one entry is a class, numbered from 2 on as they come; 0 and 1
 * are classes of their own. First come those of variables, then the extents of tensors
 * that no variable has as its size.
 */
#ifndef PYTHON_SIZE_CLASSES_H
#define PYTHON_SIZE_CLASSES_H

#include "python/freeze/finder.h"
#include "python/type/state.h"

typedef struct SizeClass {
    uint32_t size;
    uint32_t input; /* one that has it, counted from 0 */
} SizeClass;

/** Zeroed: none. */
typedef struct SizeClasses {
    SizeClass *classes; /* from class 2 on */
    size_t count, capacity;
    size_t extra;    /* the last ones, which are of extents */
    Finder finder;   /* of their sizes */
} SizeClasses;

enum { FIRST_CLASS = 2 };

/** The class of a size; one that is new is that of this input. UINT64_MAX:
 *  exception. */
uint64_t size_classes_get(SizeClasses *s, uint32_t size, size_t input);
/** The class that a size is, NULL: none. */
const SizeClass *size_classes_find(const SizeClasses *s, uint32_t size);
void size_classes_free(SizeClasses *s);

#endif
