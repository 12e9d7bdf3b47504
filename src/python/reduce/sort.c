/*
 * sort.c -- sorting blocks of flat arrays, permutations that group keys, and axes that
 * change places
 */
#include "python/memory/access.h"
#include "python/object/arguments.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/extent.h"
#include "python/object/reads.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

typedef struct Sort {
    Extent block;
    int descending;
    bool positions;
} Sort;

static Leaf run_sort(Leaf leaf, void *argument)
{
    const Sort *s = argument;
    const size_t block = extent_next(s->block);
    return s->positions ? leaf_argsort(leaf, block, s->descending)
                        : leaf_sort(leaf, block, s->descending);
}

/* A flat jit array that is read, else a TypeError. */
static Array *flat_operand(State *state, const char *operation, PyObject *object)
{
    if (array_check(state, object) && ((Array *) object)->info->jit &&
        ((Array *) object)->info->kind == KIND_LEAF) {
        reads_note_whole((Array *) object);
        return (Array *) object;
    }
    error_raise(PyExc_TypeError, operation, &object, 1,
                "expected a flat just-in-time compiled array");
    return NULL;
}

static PyObject *sort_array(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names, bool positions)
{
    static const char *const parameters[] = { "array", "block_size", "descending" };
    const char *operation = positions ? "detail.argsort" : "detail.sort";
    const Signature signature = { operation, parameters, 3, 3, 0 };
    State *state = state_of_module(module);
    PyObject *v[3];
    bool descending;
    Sort sort = { .positions = positions };
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !extent_argument(operation, "block_size", v[1], &sort.block) ||
        !arguments_bool(operation, "descending", v[2], false, &descending))
        return NULL;
    Array *a = flat_operand(state, operation, v[0]);
    if (!a)
        return NULL;
    sort.descending = descending;
    const TypeInfo *info =
        positions ? access_flat(state, a->info, VarTypeUInt32) : a->info;
    Leaf leaf = array_leaf(a), sorted = 0;
    if (leaf_is_empty(leaf) ? !leaf_none(info, 1, &leaf, &sorted)
                            : !(sorted = evaluate_call(run_sort, leaf, &sort)))
        return error_from_core(operation, v, 1);
    return (PyObject *) array_new_leaf(info, sorted);
}

static PyObject *sort(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    return sort_array(module, args, nargs, names, false);
}

static PyObject *argsort(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names)
{
    return sort_array(module, args, nargs, names, true);
}

static Leaf run_transpose(Leaf leaf, void *axes)
{
    return leaf_transpose(leaf, axes);
}

static PyObject *transpose(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *names)
{
    static const char *const parameters[] = { "array", "rows", "columns", "items" };
    static const Signature signature = { "detail.transpose", parameters, 4, 4, 0 };
    const char *operation = signature.function;
    PyObject *v[4];
    Extent axes[3];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (!extent_argument(operation, parameters[1 + i], v[1 + i], &axes[i]))
            return NULL;
    Array *a = flat_operand(state_of_module(module), operation, v[0]);
    if (!a)
        return NULL;
    const uint64_t sizes[] = { axes[0].size, axes[1].size, axes[2].size };
    JitTranspose places = { axes[0].n, axes[1].n, axes[2].n, sizes };
    Leaf turned = evaluate_call(run_transpose, array_leaf(a), &places);
    if (!turned)
        return error_from_core(operation, v, 1);
    return (PyObject *) array_new_leaf(a->info, turned);
}

typedef struct Permutation {
    const TypeInfo *info; /* UInt */
    uint32_t block, buckets;
    bool ok;
} Permutation;

/* The keys must be below the number of buckets. */
static bool keys_valid(Leaf leaf, uint32_t buckets)
{
    Leaf limit = leaf_u32(leaf_backend(leaf), buckets);
    Leaf wrong = limit ? leaf_ge(leaf, limit) : 0;
    Leaf any = wrong ? leaf_any(wrong) : 0;
    uint8_t found = 1;
    bool ok = any && leaf_read(any, 0, &found);
    leaf_unref(limit);
    leaf_unref(wrong);
    leaf_unref(any);
    return ok && !found;
}

static Leaf run_permutation(Leaf leaf, void *argument)
{
    Permutation *p = argument;
    p->ok = false;
    void *keys, *out;
    size_t size = leaf_size(leaf);
    jit_error_clear();
    if (!keys_valid(leaf, p->buckets))
        return 0;
    Leaf evaluated = leaf_data(leaf, &keys);
    Leaf undefined = evaluated ? leaf_undefined(p->info, size) : 0;
    Leaf result = undefined ? leaf_data(undefined, &out) : 0;
    if (result && jit_sync_thread())
        jit_block_mkperm((JitBackend) p->info->backend, keys, (uint32_t) size, p->block,
                         p->buckets, out, NULL, &p->ok);
    leaf_unref(evaluated);
    leaf_unref(undefined);
    if (p->ok)
        return result;
    leaf_unref(result);
    return 0;
}

static PyObject *block_mkperm(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *names)
{
    static const char *const parameters[] = { "values", "block_size", "bucket_count" };
    static const Signature signature = { "detail.block_mkperm", parameters, 3, 3, 0 };
    const char *operation = signature.function;
    PyObject *v[3];
    size_t block, buckets;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !arguments_count(operation, "block_size", v[1], &block) ||
        !arguments_count(operation, "bucket_count", v[2], &buckets))
        return NULL;
    Array *a = flat_operand(state_of_module(module), operation, v[0]);
    if (!a)
        return NULL;
    if (a->info->entry != VarTypeUInt32)
        return error_raise(PyExc_TypeError, operation, v, 1,
                           "expected keys of type UInt32");
    if (block == 0 || block > UINT32_MAX || buckets == 0 || buckets > UINT32_MAX)
        return error_raise(PyExc_ValueError, operation, v, 1,
                           "expected 1 to 2^32 - 1 as 'block_size' and 'bucket_count'");
    Leaf leaf = array_leaf(a), result = 0;
    Permutation p = { a->info, (uint32_t) block, (uint32_t) buckets, true };
    if (!leaf_is_empty(leaf))
        result = evaluate_call(run_permutation, leaf, &p);
    if (!p.ok && jit_error() == JIT_OK)
        return error_raise(PyExc_ValueError, operation, v, 1,
                           "a key is out of bounds, expected keys below 'bucket_count' "
                           "(%zu)",
                           buckets);
    if (!p.ok)
        return error_from_core(operation, v, 1);
    return (PyObject *) array_new_leaf(a->info, result);
}

#define FAST METH_FASTCALL | METH_KEYWORDS

PyMethodDef sort_functions[] = {
    { "_sort", METHOD(sort), FAST,
      "_sort(array, block_size, descending)\n\nSort blocks of a flat array (0: all)." },
    { "_argsort", METHOD(argsort), FAST,
      "_argsort(array, block_size, descending)\n\nThe positions that sort it so." },
    { "_transpose", METHOD(transpose), FAST,
      "_transpose(array, rows, columns, items)\n\nTwo axes change places: a copy." },
    { "_block_mkperm", METHOD(block_mkperm), FAST,
      "_block_mkperm(values, block_size, bucket_count)\n--\n\n"
      "The permutation that stably groups the keys of each block." },
    { NULL, NULL, 0, NULL },
};
