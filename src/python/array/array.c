/*
 * array.c -- making, viewing, copying and freeing arrays
 *
 * Allocation: dead objects of exactly their class are kept in a short list of their
 * descriptor, so that the arrays of an expression reuse each other's memory; they stay
 * what they are, their reference to their class included.
 * Reference counts: an Array owns its leaves (one core reference each), a view owns a
 * reference to its root. Heap types: every instance owns a reference to its class, and
 * one to the State, in which its descriptor lies.
 */
#include "python/array/array.h"

#include "python/array/reads.h"
#include "python/array/view.h"
#include "python/base/deferred.h"
#include "python/base/error.h"

/* ---------------------------------------------------------------- blocks */

/* A block starts with its reference count; 16 bytes keep the entries aligned. */
typedef struct Block {
    size_t references;
    size_t unused;
    char entries[];
} Block;

void *block_new(size_t bytes)
{
    Block *block = PyMem_Calloc(1, sizeof(Block) + bytes);
    if (!block)
        return PyErr_NoMemory();
    block->references = 1;
    return block->entries;
}

static Block *block_of(void *entries)
{
    return (Block *) ((char *) entries - offsetof(Block, entries));
}

void block_ref(void *entries)
{
    block_of(entries)->references++;
}

void block_unref(void *entries)
{
    Block *block = block_of(entries);
    if (--block->references == 0)
        PyMem_Free(block);
}

/* ---------------------------------------------------------------- allocation */

/* What every new object starts with. */
static void adopt(Array *a, const TypeInfo *info)
{
    a->info = (TypeInfo *) info;
    a->root = NULL;
    a->offset = 0;
    a->collected = a->overlaid = false;
    a->inner = reads_open != 0;
    info->state->references++;
}

static Array *allocate(const TypeInfo *type)
{
    TypeInfo *info = (TypeInfo *) type;
    Array *a = info->free_list;
    if (a) {
        info->free_list = a->data;
        info->free_count--;
        Py_SET_REFCNT((PyObject *) a, 1);
    } else {
        if (!info->py && !type_class(info))
            return NULL;
        a = PyObject_New(Array, info->py);
        if (!a)
            return NULL;
    }
    adopt(a, info);
    return a;
}

/* An object that the garbage collector is to know, once it is complete. */
static Array *allocate_collected(const TypeInfo *info)
{
    Array *a = PyObject_GC_New(Array, info->py);
    if (a) {
        adopt(a, info);
        a->collected = true;
    }
    return a;
}

/* The part of an object that follows its Array: inline leaves. */
static void *inline_leaves(Array *a)
{
    return a + 1;
}

static void start_static(Array *a)
{
    const TypeInfo *info = a->info;
    a->data = inline_leaves(a);
    a->count = info->leaves;
    memset(a->data, 0, (size_t) info->leaves * info->var_size);
}

/* A block for that many leaves; dynamic arrays and the tensors of drjit.scalar. */
static bool start_block(Array *a, size_t count)
{
    size_t bytes;
    a->count = 0;
    a->data = NULL;
    if (__builtin_mul_overflow(count, a->info->var_size, &bytes) ||
        bytes > PY_SSIZE_T_MAX - sizeof(Block))
        return PyErr_Format(PyExc_MemoryError,
                            "%s: %zu entries exceed the address space", a->info->name,
                            count);
    a->data = block_new(bytes);
    a->count = a->data ? count : 0;
    return a->data;
}

Array *array_new(const TypeInfo *info)
{
    Array *a = allocate(info);
    if (a)
        start_static(a);
    return a;
}

Array *array_new_dynamic(const TypeInfo *info, size_t count)
{
    Array *a = allocate(info);
    if (a && !start_block(a, count))
        Py_CLEAR(a);
    return a;
}

bool array_shape_size(size_t ndim, const size_t *shape, size_t *size)
{
    *size = 1;
    for (size_t i = 0; i < ndim; i++)
        if (shape[i] == 0) {
            *size = 0;
            return true;
        }
    for (size_t i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(*size, shape[i], size)) {
            PyErr_SetString(PyExc_OverflowError,
                            "drjit: the number of entries of the tensor exceeds 64 "
                            "bits");
            return false;
        }
    return true;
}

/* Room for 'ndim' extents: inside the object if they fit. */
static size_t *shape_room(Tensor *t, size_t ndim)
{
    if (ndim <= TENSOR_INLINE_DIMS)
        return t->small;
    if (ndim > TENSOR_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError,
                     "%s: the shape has %zu axes, expected at most %d",
                     t->array.info->name, ndim, TENSOR_MAX_DIMS);
        return NULL;
    }
    size_t *shape = PyMem_Malloc(ndim * sizeof(size_t));
    return shape ? shape : (size_t *) PyErr_NoMemory();
}

bool array_set_shape(Array *a, size_t ndim, const size_t *shape)
{
    Tensor *t = array_tensor(a);
    size_t saved[TENSOR_MAX_DIMS]; /* 'shape' may be the tensor's own */
    if (ndim <= TENSOR_MAX_DIMS && ndim)
        memcpy(saved, shape, ndim * sizeof(size_t));
    size_t *room = shape_room(t, ndim);
    if (!room)
        return false;
    if (t->extents != t->small)
        PyMem_Free(t->extents);
    if (ndim)
        memcpy(room, saved, ndim * sizeof(size_t));
    t->extents = room;
    t->ndim = ndim;
    PyMem_Free(t->sizes);
    t->sizes = NULL;
    return true;
}

bool array_set_sizes(Array *a, const JitSize *sizes)
{
    Tensor *t = array_tensor(a);
    JitSize *room = PyMem_Malloc((t->ndim + 1) * sizeof(JitSize));
    if (!room)
        return PyErr_NoMemory();
    memcpy(room, sizes, t->ndim * sizeof(JitSize));
    PyMem_Free(t->sizes);
    t->sizes = room;
    return true;
}

/* A tensor without entries, of shape (0,). */
static void start_tensor(Array *a)
{
    Tensor *t = array_tensor(a);
    t->ndim = 1;
    t->extents = t->small;
    t->sizes = NULL;
    t->small[0] = 0;
    t->leaf = 0;
    a->data = a->info->jit ? &t->leaf : NULL;
    a->count = a->info->jit;
}

Array *array_new_tensor(const TypeInfo *info, size_t ndim, const size_t *shape)
{
    size_t size;
    if (!array_shape_size(ndim, shape, &size))
        return NULL;
    Array *a = allocate(info);
    if (!a)
        return NULL;
    start_tensor(a);
    if (!array_set_shape(a, ndim, shape) || (!info->jit && !start_block(a, size)))
        Py_CLEAR(a);
    return a;
}

Array *array_new_like(const TypeInfo *info, const Array *like)
{
    if (info->kind == KIND_TENSOR) {
        const Tensor *t = (const Tensor *) like;
        Array *tensor = array_new_tensor(info, t->ndim, t->extents);
        if (tensor && t->sizes && !array_set_sizes(tensor, t->sizes))
            Py_CLEAR(tensor);
        return tensor;
    }
    return info->dynamic ? array_new_dynamic(info, array_count(like)) : array_new(info);
}

Array *array_new_leaf(const TypeInfo *info, VarIndex var)
{
    Array *a = allocate(info);
    if (!a) {
        var_unref(var);
        return NULL;
    }
    a->data = inline_leaves(a);
    a->count = 1;
    *(VarIndex *) a->data = var;
    return a;
}

/* What a new object of a user's class starts with: nothing that would need
 * releasing. */
static bool start_any(Array *a, const TypeInfo *info, const Array *like)
{
    if (info->kind == KIND_TENSOR) {
        start_tensor(a);
        const size_t none = 0;
        if (!like) /* of shape (0,), as TensorXf() is */
            return array_set_shape(a, 1, &none) && (info->jit || start_block(a, 0));
        const Tensor *t = (const Tensor *) like;
        return array_set_shape(a, t->ndim, t->extents) &&
               (!t->sizes || array_set_sizes(a, t->sizes)) &&
               (info->jit || start_block(a, array_count(like)));
    }
    if (info->dynamic)
        return start_block(a, like ? array_count(like) : 0);
    start_static(a);
    return true;
}

Array *array_new_subclass(PyTypeObject *cls, const TypeInfo *info, const Array *like)
{
    Array *a = cls == info->py ? allocate(info) : (Array *) cls->tp_alloc(cls, 0);
    if (a && cls != info->py) {
        adopt(a, info);
        a->collected = true;
    }
    if (a && !start_any(a, info, like))
        Py_CLEAR(a);
    return a;
}

Array *array_view(Array *parent, const TypeInfo *info, size_t first)
{
    Array *root = parent->root ? parent->root : parent;
    size_t offset = parent->offset + first;
    Array *a = view_find(root, info, offset);
    if (a)
        return (Array *) Py_NewRef((PyObject *) a);
    a = Py_TYPE(root) == root->info->py ? allocate(info) : allocate_collected(info);
    if (!a)
        return NULL;
    a->root = (Array *) Py_NewRef((PyObject *) root);
    a->data = NULL;
    a->offset = offset;
    a->count = info->leaves;
    if (a->collected)
        PyObject_GC_Track(a);
    if (!view_add(a))
        Py_CLEAR(a);
    return a;
}

/* ---------------------------------------------------------------- changing */

void array_set_leaf(Array *a, size_t i, VarIndex index)
{
    VarIndex *leaf = &array_leaves(a)[i];
    VarIndex old = *leaf;
    *leaf = index;
    var_unref(old);
}

Array *array_set_none(Array *a, int n, const VarIndex *from)
{
    for (size_t i = 0; a && a->info->jit && i < array_count(a); i++) {
        VarIndex var;
        if (var_none(a->info, n, from, &var))
            array_set_leaf(a, i, var);
        else
            Py_CLEAR(a);
    }
    return a;
}

static void swap_leaves(VarIndex *a, VarIndex *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        VarIndex var = a[i];
        a[i] = b[i];
        b[i] = var;
    }
}

/* Number of entries of what may be a tensor's storage. */
static size_t storage_size(const Array *a)
{
    if (!a->info->jit)
        return array_count(a);
    return a->info->kind == KIND_FLAT ? var_size(array_var(a)) : 0;
}

/* The storage of a tensor, seen through a view, has as many entries as the shape
 * says. */
static bool keeps_storage(const Array *view, const Array *source)
{
    if (!view->root || view->root->info->kind != KIND_TENSOR)
        return true;
    size_t size = storage_size(view), wanted = storage_size(source);
    if (size == wanted)
        return true;
    return PyErr_Format(
        PyExc_RuntimeError,
        "%s: a tensor's storage of %zu entries cannot become one of %zu",
        view->info->name, size, wanted);
}

bool array_replace(Array *target, Array *source)
{
    const TypeInfo *info = target->info;
    size_t count = array_count(target), wanted = array_count(source);
    if (!keeps_storage(target, source))
        return false;
    if (info->kind != KIND_TENSOR && wanted < count)
        return PyErr_Format(PyExc_RuntimeError,
                            "%s: an array of %zu components cannot shrink to %zu",
                            info->name, count, wanted);
    if (info->kind == KIND_TENSOR) {
        Tensor *t = array_tensor(source);
        if (!array_set_shape(target, t->ndim, t->extents))
            return false;
        array_tensor(target)->sizes = t->sizes;
        t->sizes = NULL;
    }
    Array *owner = target->root ? target->root : target;
    if (wanted != count && owner->overlaid)
        return PyErr_Format(
            PyExc_RuntimeError,
            "%s: an array of %zu components cannot become one of %zu while a "
            "derivative of a frozen function is recorded",
            info->name, count, wanted);
    if (wanted != count) { /* blocks of ArrayX and scalar tensors of another size */
        void *block = owner->data;
        owner->data = source->data;
        owner->count = wanted;
        source->data = block;
        source->count = count;
    } else if (info->jit) {
        swap_leaves(array_leaves(target), array_leaves(source), count);
    } else if (count) {
        memcpy(array_data(target), array_data(source), count * info->var_size);
    }
    return true;
}

Array *array_copy(const Array *a)
{
    Array *copy = array_new_like(a->info, a);
    if (!copy)
        return NULL;
    size_t count = array_count(a);
    if (a->info->jit) {
        for (size_t i = 0; i < count; i++) {
            array_leaves(copy)[i] = array_leaves(a)[i];
            var_ref(array_leaves(a)[i]);
        }
    } else if (count) {
        memcpy(copy->data, array_data(a), count * a->info->var_size);
    }
    return copy;
}

Array *array_duplicate(const Array *a)
{
    Array *copy = array_copy(a);
    if (copy)
        reads_note_copy(a, 0, array_count(a));
    for (size_t i = 0; copy && a->info->diff && a->info->jit && i < array_count(copy);
         i++)
        array_set_leaf(copy, i, var_copied(array_leaves(a)[i]));
    return copy;
}

PyObject *array_finish(Array *result, PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; result && i < n; i++) {
        const Array *a = array_of(args[i]);
        if (!a || a->info != result->info || Py_TYPE(args[i]) == a->info->py)
            continue;
        Array *derived = array_new_subclass(Py_TYPE(args[i]), result->info, NULL);
        if (derived && !array_replace(derived, result))
            Py_CLEAR(derived);
        Py_DECREF(result);
        return (PyObject *) derived;
    }
    return (PyObject *) result;
}

/* ---------------------------------------------------------------- slots */

static void release_leaves(Array *a)
{
    const TypeInfo *info = a->info;
    if (a->root) {
        view_remove(a);
        Py_CLEAR(a->root);
        return;
    }
    if (info->jit)
        for (size_t i = 0; i < a->count; i++)
            var_unref(((VarIndex *) a->data)[i]);
    if (a->data && (info->dynamic || (info->kind == KIND_TENSOR && !info->jit)))
        block_unref(a->data);
    if (info->kind != KIND_TENSOR)
        return;
    if (array_tensor(a)->extents != array_tensor(a)->small)
        PyMem_Free(array_tensor(a)->extents);
    PyMem_Free(array_tensor(a)->sizes);
}

int array_is_collected(PyObject *self)
{
    return ((Array *) self)->collected;
}

/* There is nothing to clear: every cycle leads through the attributes of an instance of
 * a user's class. */
int array_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Array *) self)->root);
    return 0;
}

/* A function of our own: it keeps Python from exchanging the class of an object with
 * that of one which has a header, or has none, through __class__. */
void array_free(void *self)
{
    if (((Array *) self)->collected)
        PyObject_GC_Del(self);
    else
        PyObject_Free(self);
}

void array_dealloc(PyObject *self)
{
    Array *a = (Array *) self;
    PyTypeObject *cls = Py_TYPE(self);
    TypeInfo *info = a->info;
    State *state = info->state;
    if (a->collected)
        PyObject_GC_UnTrack(self);
    if (info->jit && info->kind == KIND_FLAT && !a->root) /* most of them */
        var_unref(*(VarIndex *) a->data);
    else
        release_leaves(a);
    if (!a->collected && info->py == cls && info->free_count < FREE_LIST_LIMIT) {
        a->data = info->free_list;
        info->free_list = a;
        info->free_count++;
    } else {
        array_free(self);
        Py_DECREF(cls);
    }
    state_unref(state);
}

bool array_overlap(PyObject *a, PyObject *b)
{
    if (a == b)
        return true;
    const Array *x = array_of(a), *y = array_of(b);
    return x && y && (x->root ? x->root : x) == (y->root ? y->root : y) &&
           x->offset < y->offset + array_count(y) &&
           y->offset < x->offset + array_count(x);
}
