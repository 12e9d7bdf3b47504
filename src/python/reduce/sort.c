/*
 * sort.c -- sorting blocks of flat arrays, permutations that group keys, and axes that
 * change places
 */
#include "python/docstrings.h"
#include "python/memory/access.h"
#include "python/object/arguments.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/extent.h"
#include "python/object/reads.h"
#include "python/object/tables.h"
#include "python/object/gil.h"

typedef struct Sort {
    Extent block;
    int descending;
    bool positions;
} Sort;

static VarIndex run_sort(VarIndex leaf, void *argument)
{
    const Sort *s = argument;
    const size_t block = extent_next(s->block);
    return s->positions ? var_argsort(leaf, block, s->descending)
                        : var_sort(leaf, block, s->descending);
}

/* A flat jit array that is read, else a TypeError. */
static Array *flat_operand(State *state, const char *operation, PyObject *object)
{
    if (array_check(state, object) && ((Array *) object)->info->jit &&
        ((Array *) object)->info->kind == KIND_FLAT) {
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
    VarIndex var = array_var(a), sorted = 0;
    if (var_is_empty(var) ? !var_none(info, 1, &var, &sorted)
                          : !(sorted = evaluate_call(run_sort, var, &sort)))
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

static VarIndex run_transpose(VarIndex var, void *axes)
{
    return var_transpose(var, axes);
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
    VarIndex turned = evaluate_call(run_transpose, array_var(a), &places);
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
static bool keys_valid(VarIndex leaf, uint32_t buckets)
{
    VarIndex limit = var_u32(var_backend(leaf), buckets);
    VarIndex wrong = limit ? var_ge(leaf, limit) : 0;
    VarIndex any = wrong ? var_any(wrong) : 0;
    uint8_t found = 1;
    bool ok = any && var_read(any, 0, &found);
    var_unref(limit);
    var_unref(wrong);
    var_unref(any);
    return ok && !found;
}

static VarIndex run_permutation(VarIndex var, void *argument)
{
    Permutation *p = argument;
    p->ok = false;
    void *keys, *out;
    size_t size = var_size(var);
    jit_error_clear();
    if (!keys_valid(var, p->buckets))
        return 0;
    VarIndex evaluated = var_data(var, &keys);
    VarIndex undefined = evaluated ? var_undefined(p->info, size) : 0;
    VarIndex result = undefined ? var_data(undefined, &out) : 0;
    if (result && jit_sync_thread())
        jit_block_mkperm((JitBackend) p->info->backend, keys, (uint32_t) size, p->block,
                         p->buckets, out, NULL, &p->ok);
    var_unref(evaluated);
    var_unref(undefined);
    if (p->ok)
        return result;
    var_unref(result);
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
    VarIndex var = array_var(a), result = 0;
    Permutation p = { a->info, (uint32_t) block, (uint32_t) buckets, true };
    if (!var_is_empty(var))
        result = evaluate_call(run_permutation, var, &p);
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
    { "_block_mkperm", METHOD(block_mkperm), FAST, DOC__block_mkperm },
    { NULL, NULL, 0, NULL },
};
