/*
 * array.h -- the one object layout of all array types
 *
 *     Array3f        [ header | info | root | data | count | offset | leaf leaf leaf ]
 *                                              └────────────────────────^
 *     v.x, m[1]      [ header | info | root | 0 | ... | offset ]     a view: reads and
 *                                       └──> the owning array        writes its root
 *     ArrayXf        leaves in a block of their own, shared by reference count with
 *                    exported buffers (drjit.scalar)
 *     TensorXf       one leaf (drjit.scalar: a block of entries) and a shape
 *
 * A leaf is a VarIndex (just-in-time backends) or an entry in memory (drjit.scalar).
 * Leaves of nested arrays follow each other in row-major order. A view's root is never
 * a view.
 * The number of leaves of an array never shrinks, so a view stays within its root.
 * There is one view of a part as long as it lives (view.h). The GIL guards all fields.
 *
 * Garbage collection: an array refers to no objects, so it cannot be in a cycle, and is
 * made without the collector's header. Instances of users' classes have attributes, and
 * views keep their root: these instances, and views of them, are collected. The classes
 * are the same, so each object says to which kind it belongs.
 */
#ifndef PYTHON_ARRAY_H
#define PYTHON_ARRAY_H

#include "python/array/var.h"
#include "python/type/state.h"

typedef struct Array {
    PyObject_HEAD
    TypeInfo *info;
    struct Array *root; /* strong; NULL: owns its leaves */
    void *data;         /* own leaves; NULL in a view */
    size_t count;       /* number of own leaves; of a view: of leaves seen */
    size_t offset : 61; /* view: first leaf in the root */
    size_t collected : 1; /* known to the garbage collector, by a header of its own */
    size_t overlaid : 1;  /* some thread sees other leaves in their place: overlay.h */
    size_t inner : 1;     /* made in a body: reads.h */
} Array;

enum { TENSOR_INLINE_DIMS = 4, TENSOR_MAX_DIMS = 32 };

typedef struct Tensor {
    Array array;
    VarIndex leaf;          /* jit only; array.data points here */
    size_t ndim;
    size_t *extents;    /* as numbers: see extent.h. In 'small' or PyMem memory */
    JitSize *sizes;     /* of a recording, one for each axis; PyMem memory or NULL */
    size_t small[TENSOR_INLINE_DIMS];
} Tensor;

/* ---- making arrays. All leaves start as empty (jit) or zero (scalar). NULL:
 * exception. */

/** A static type, or a FLAT of a jit family. */
Array *array_new(const TypeInfo *info);
/** ArrayX...: 'count' leaves. */
Array *array_new_dynamic(const TypeInfo *info, size_t count);
/** A tensor. The storage of a jit tensor is an empty leaf to be set. */
Array *array_new_tensor(const TypeInfo *info, size_t ndim, const size_t *shape);
/** Any of the three, with the counts (and tensor shape) of 'like', whose type may
 *  differ in entry type and family. */
Array *array_new_like(const TypeInfo *info, const Array *like);
/** One leaf of a jit family, which is stolen, also on failure. */
Array *array_new_leaf(const TypeInfo *info, VarIndex leaf);
/** An empty object of a user's subclass (tp_alloc; __init__ is not called). */
Array *array_new_subclass(PyTypeObject *cls, const TypeInfo *info, const Array *like);

/** The view of 'parent' from leaf 'first' on (relative to the parent's own). */
Array *array_view(Array *parent, const TypeInfo *info, size_t first);

/* ---- access */

void array_dealloc(PyObject *self);

static inline bool array_check(const State *state, PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == array_dealloc || /* exactly one of ours */
           (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE && /* no built-in type */
            PyObject_TypeCheck(object, state->array_base));
}

/** overlay.c: the leaves of an array that is overlaid, as this thread sees them. */
void *overlay_data(const Array *root);

/** Own leaves, of what is not a view. */
static inline void *array_own(const Array *root)
{
    return root->overlaid ? overlay_data(root) : root->data;
}

/** The first leaf; valid until Python code runs or the array is changed. */
static inline void *array_data(const Array *a)
{
    return a->root ? (char *) array_own(a->root) + a->offset * a->info->var_size
                   : array_own(a);
}

/** Number of leaves. The storage view of a scalar tensor follows its root. */
static inline size_t array_count(const Array *a)
{
    return a->root && a->info->dynamic ? a->root->count : a->count;
}

static inline VarIndex *array_leaves(const Array *a)
{
    return (VarIndex *) array_data(a);
}

/** The same for the shortest way: NULL if some thread sees other leaves. */
static inline const VarIndex *array_plain_leaves(const Array *a)
{
    const Array *root = a->root ? a->root : a;
    return root->overlaid ? NULL : (const VarIndex *) root->data + a->offset;
}

/** The only leaf of a FLAT or jit tensor. */
static inline VarIndex array_var(const Array *a)
{
    return *array_leaves(a);
}

/** Its variable, for control flow. */
static inline uint32_t array_index(const Array *a)
{
    return var_jit(array_var(a));
}

static inline Tensor *array_tensor(Array *a)
{
    return (Tensor *) a;
}

/** The object as an array, NULL (no exception) if it is not one. */
static inline Array *array_of(PyObject *object)
{
    for (PyTypeObject *cls = Py_TYPE(object); cls; cls = cls->tp_base)
        if (cls->tp_dealloc == array_dealloc)
            return (Array *) object;
    return NULL;
}

/** The object as an array of a just-in-time family, NULL if it is not one. */
static inline Array *array_traced(const State *state, PyObject *object)
{
    Array *a = array_check(state, object) ? (Array *) object : NULL;
    return a && a->info->jit ? a : NULL;
}

/** Are both arrays that share leaves, since one is the other or a part of it? */
bool array_overlap(PyObject *a, PyObject *b);

/** The object as an array of exactly the class of its descriptor, else NULL. Classes of
 *  users have a deallocator of their own. */
static inline Array *array_of_exact_class(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == array_dealloc ? (Array *) object : NULL;
}

/** Product of the extents; false with an exception if it exceeds 64 bits. */
bool array_shape_size(size_t ndim, const size_t *shape, size_t *size);

/** Give a tensor another shape (the storage is the caller's business). */
bool array_set_shape(Array *tensor, size_t ndim, const size_t *shape);
/** Say which sizes its extents are (0: just numbers); see extent.h. */
bool array_set_sizes(Array *tensor, const JitSize *sizes);

/** Set variable i of a jit array; 'var' is stolen, the previous one released. */
void array_set_leaf(Array *a, size_t i, VarIndex var);
/** Leaves without entries (var_none()), made of n others. NULL is passed on; on
 *  failure the core's error is set, and the array released. In drjit.scalar nothing
 *  happens. */
Array *array_set_none(Array *a, int n, const VarIndex *from);

/** Move the leaves (and the shape) of 'source' into 'target', which keeps its identity;
 *  both have the same info. Source is left empty. Into a view the leaves go to the
 *  root. False with an exception, nothing changed, if the number of leaves would
 *  shrink. */
bool array_replace(Array *target, Array *source);

/** 'result' in the class of the first of args that a user derived from its class, or as
 *  it is. Consumes it; NULL is passed on. */
PyObject *array_finish(Array *result, PyObject *const *args, Py_ssize_t n);

/** A new array of the same type and leaves (copy on write). */
Array *array_copy(const Array *a);
/** The same as programs ask for it: in a scope that suspends derivatives, without. */
Array *array_duplicate(const Array *a);

/* ---- blocks of drjit.scalar entries, shared with exported buffers */

/** Zeroed memory with a reference count of one; NULL: exception. */
void *block_new(size_t bytes);
void block_ref(void *block);
void block_unref(void *block);

/* ---- slots that every array class shares */

void array_free(void *self);
int array_traverse(PyObject *self, visitproc visit, void *arg);
int array_is_collected(PyObject *self);

#endif
