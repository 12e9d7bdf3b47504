/*
 * overlay.c -- see overlay.h
 *
 * An array in an overlay is marked, so that others cost one test. A marked one is
 * looked for in the thread's overlays, the innermost first, in hash tables: functions
 * may read a thousand arrays. The GIL guards the list of all overlays, which tells when
 * a mark goes.
 */
#include "python/array/overlay.h"

#include "python/base/error.h"

typedef struct Entry {
    Array *array; /* strong, never a view; NULL: free */
    VarIndex *leaves;
    size_t count;
    /* Of a tensor, what it is to have again. */
    bool shaped;
    size_t ndim;
    size_t extents[TENSOR_MAX_DIMS];
    JitSize *sizes;
} Entry;

typedef struct Overlay Overlay;
struct Overlay {
    Overlay *outer;            /* of the same thread */
    Overlay *previous, *next;  /* in the list of all */
    Entry *entries;
    size_t count;
    uint32_t *slots; /* by address: 1 + number of an entry, open addressing */
    size_t mask;
};

static _Thread_local Overlay *innermost;
static Overlay *all;

static size_t slot_of(const Overlay *o, const Array *array)
{
    size_t slot = ((uintptr_t) array >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    while (o->slots[slot & o->mask] &&
           o->entries[o->slots[slot & o->mask] - 1].array != array)
        slot++;
    return slot & o->mask;
}

static Entry *find(const Overlay *o, const Array *array)
{
    const uint32_t number = o->slots[slot_of(o, array)];
    return number ? &o->entries[number - 1] : NULL;
}

void *overlay_data(const Array *root)
{
    for (const Overlay *o = innermost; o; o = o->outer) {
        const Entry *entry = find(o, root);
        if (entry)
            return entry->leaves;
    }
    return root->data;
}

/* ---------------------------------------------------------------- shapes */

static bool take_shape(Entry *entry, const Array *source)
{
    Tensor *own = array_tensor(entry->array);
    const Tensor *other = (const Tensor *) source;
    entry->ndim = own->ndim;
    memcpy(entry->extents, own->extents, own->ndim * sizeof(size_t));
    JitSize *sizes = own->sizes;
    own->sizes = NULL;
    if (!array_set_shape(entry->array, other->ndim, other->extents)) {
        own->sizes = sizes;
        return false;
    }
    entry->sizes = sizes;
    entry->shaped = true;
    return !other->sizes || array_set_sizes(entry->array, other->sizes);
}

/* There was room for this many extents before. */
static void give_shape(Entry *entry)
{
    if (!array_set_shape(entry->array, entry->ndim, entry->extents))
        PyErr_Clear();
    array_tensor(entry->array)->sizes = entry->sizes;
}

/* ---------------------------------------------------------------- entries */

static Overlay *make(size_t n)
{
    size_t room = 8;
    while (room < 2 * n)
        room *= 2;
    Overlay *o = PyMem_Calloc(1, sizeof(*o));
    if (o) {
        o->entries = PyMem_Calloc(n + 1, sizeof(*o->entries));
        o->slots = PyMem_Calloc(room, sizeof(*o->slots));
        o->mask = room - 1;
    }
    return o;
}

/* An entry for an array that has none yet, with the leaves that the thread sees now. */
static Entry *add(Overlay *o, Array *root)
{
    Entry *entry = &o->entries[o->count];
    const size_t count = array_count(root);
    entry->leaves = PyMem_Calloc(count + 1, sizeof(VarIndex));
    if (!entry->leaves) {
        PyErr_NoMemory();
        return NULL;
    }
    entry->count = count;
    for (size_t i = 0; i < count; i++)
        entry->leaves[i] = var_ref(array_leaves(root)[i]);
    o->slots[slot_of(o, root)] = (uint32_t) ++o->count;
    entry->array = (Array *) Py_NewRef((PyObject *) root);
    return entry;
}

/* A view is a part of an array, of which there may be other parts. */
static bool put(Overlay *o, Array *array, const Array *source)
{
    Array *root = array->root ? array->root : array;
    const size_t first = array->root ? array->offset : 0;
    Entry *entry = find(o, root);
    if (array->info != source->info || !array->info->jit ||
        array_count(array) != array_count(source))
        return error_raise(PyExc_TypeError, "freeze", NULL, 0,
                           "an array of type %s with %zu components cannot be seen as "
                           "one of type %s with %zu",
                           array->info->name, array_count(array), source->info->name,
                           array_count(source));
    if (!entry && !(entry = add(o, root)))
        return false;
    for (size_t i = 0; i < array_count(source); i++) {
        VarIndex *leaf = &entry->leaves[first + i];
        const VarIndex before = *leaf;
        *leaf = var_ref(array_leaves(source)[i]);
        var_unref(before);
    }
    return array->info->kind != KIND_TENSOR || array->root || entry->shaped ||
           take_shape(entry, source);
}

/* Does any overlay have it still? */
static bool is_overlaid(const Array *array)
{
    for (const Overlay *o = all; o; o = o->next)
        if (find(o, array))
            return true;
    return false;
}

/* It is in no list any more. */
static void destroy(Overlay *o)
{
    for (size_t i = 0; o->entries && i < o->count; i++) {
        Entry *entry = &o->entries[i];
        if (entry->shaped)
            give_shape(entry);
        for (size_t k = 0; k < entry->count; k++)
            var_unref(entry->leaves[k]);
        PyMem_Free(entry->leaves);
        entry->array->overlaid = is_overlaid(entry->array);
        Py_DECREF((PyObject *) entry->array);
    }
    PyMem_Free(o->entries);
    PyMem_Free(o->slots);
    PyMem_Free(o);
}

bool overlay_begin(size_t n, Array *const *arrays, Array *const *sources)
{
    Overlay *o = make(n);
    bool ok = o && o->entries && o->slots;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < n; i++)
        ok = put(o, arrays[i], sources[i]);
    if (!ok) {
        if (o)
            destroy(o);
        return false;
    }
    for (size_t i = 0; i < o->count; i++)
        o->entries[i].array->overlaid = true;
    o->outer = innermost;
    o->next = all;
    if (all)
        all->previous = o;
    innermost = all = o;
    return true;
}

void overlay_end(void)
{
    Overlay *o = innermost;
    if (!o)
        return;
    innermost = o->outer;
    *(o->previous ? &o->previous->next : &all) = o->next;
    if (o->next)
        o->next->previous = o->previous;
    destroy(o);
}
