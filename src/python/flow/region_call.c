/*
 * region_call.c -- call of drjit._flow.regions: each lane calls one of several
 * functions
 *
 * All functions are traced with the same placeholders for the arguments, each with new
 * objects. The outputs of the first one are the template of the others' and of the
 * results.
 */
#include "python/flow/region.h"
#include "python/object/arguments.h"
#include "python/object/deferred.h"
#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

typedef struct Call {
    RegionPlace place;
    PyObject *args;     /* borrowed */
    uint32_t handle;    /* 0: the core has ended it */
    Leaves inputs;
    PyObject *outputs;  /* of the first callable */
    size_t count;       /* variables in it */
    uint32_t instances; /* instance i + 1 ... */
    uint32_t *callable_of; /* ... has this callable; NULL: callable i */
} Call;

/* The ids of the lanes' instances, which the core counts from 1 (the largest number
 * gets 0: none); a new reference. 0: exception. */
static uint32_t number_of(const RegionPlace *place, PyObject *object)
{
    const TypeInfo *info =
        array_check(place->state, object) ? ((Array *) object)->info : NULL;
    if (!info || !info->jit || info->kind != KIND_LEAF ||
        info->entry != VarTypeUInt32) {
        error_raise(PyExc_TypeError, place->operation, NULL, 0,
                    "'number' is of type %s, expected a just-in-time compiled UInt",
                    Py_TYPE(object)->tp_name);
        return 0;
    }
    uint32_t id = array_index((Array *) object);
    if (!id)
        error_raise(PyExc_ValueError, place->operation, NULL, 0,
                    "'number' is empty, expected at least one entry");
    const uint32_t one = id ? jit_var_u32((JitBackend) info->backend, 1) : 0;
    const uint32_t result = one ? jit_var_add(id, one) : 0;
    jit_var_dec_ref(one);
    if (id && !result)
        error_from_core(place->operation, NULL, 0);
    return result;
}

/* ---------------------------------------------------------------- tracing */

/* Placeholders take the place of the arguments' variables. */
static bool make_inputs(Call *call)
{
    RegionPlace place = call->place;
    place.what = "'args'";
    if (!region_take(&place, call->args, NULL, &call->inputs))
        return false;
    for (size_t i = 0; i < call->inputs.count; i++) {
        uint32_t input = jit_var_call_input(call->handle, call->inputs.ids[i]);
        if (!input)
            return error_from_core(place.operation, NULL, 0);
        jit_var_dec_ref(call->inputs.ids[i]);
        call->inputs.ids[i] = input;
    }
    return true;
}

static bool append(Call *call, const Leaves *leaves)
{
    bool ok = true;
    if (call->outputs && leaves->count != call->count)
        return error_raise(PyExc_RuntimeError, call->place.operation, NULL, 0,
                           "%s were changed while they were in use", call->place.what);
    WAIT_BEGIN
    ok = jit_var_call_append(call->handle, leaves->count, leaves->ids);
    WAIT_END
    if (ok)
        return true;
    call->handle = 0;
    return error_from_core(call->place.operation, NULL, 0);
}

static bool trace(Call *call, PyObject *function)
{
    RegionPlace place = call->place;
    place.what = "'args'";
    PyObject *args = region_give(&place, call->args, &call->inputs);
    PyObject *outputs = args ? region_call_function(function, args) : NULL;
    Py_XDECREF(args);
    Leaves leaves = { 0 };
    bool ok = outputs && region_take(&call->place, outputs, call->outputs, &leaves) &&
              append(call, &leaves);
    call->count = leaves.count;
    region_drop(&leaves);
    if (ok && !call->outputs)
        call->outputs = Py_NewRef(outputs);
    Py_XDECREF(outputs);
    return ok;
}

static PyObject *finish(Call *call, uint32_t number)
{
    Leaves results = { .count = call->count };
    results.ids = PyMem_Calloc(call->count + 1, sizeof(uint32_t));
    if (!results.ids)
        return PyErr_NoMemory();
    bool ok;
    WAIT_BEGIN
    ok = jit_var_call(call->handle, number, call->instances, NULL, call->callable_of,
                      results.ids);
    WAIT_END
    call->handle = 0;
    PyObject *tree = ok ? region_give(&call->place, call->outputs, &results)
                        : error_from_core(call->place.operation, NULL, 0);
    region_drop(&results); /* on errors all are 0 */
    return tree;
}

/* 'functions' is a tuple, so nobody changes it. */
static PyObject *run(Call *call, uint32_t number, PyObject *functions)
{
    if (!make_inputs(call))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(functions); i++)
        if (!trace(call, PyTuple_GET_ITEM(functions, i)))
            return NULL;
    return finish(call, number);
}

/* ---------------------------------------------------------------- arguments */

/* Which callable each instance has. */
static bool read_instances(Call *call, PyObject *functions, PyObject *instances)
{
    call->instances = (uint32_t) PyTuple_GET_SIZE(functions);
    if (!instances || instances == Py_None)
        return true;
    PyObject *list = PySequence_Tuple(instances);
    Py_ssize_t n = list ? PyTuple_GET_SIZE(list) : -1;
    call->callable_of =
        list ? PyMem_Calloc((size_t) n + 1, sizeof(*call->callable_of)) : NULL;
    if (list && !call->callable_of)
        PyErr_NoMemory();
    bool ok = call->callable_of;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        size_t callable;
        ok = arguments_count(call->place.operation, "instances",
                             PyTuple_GET_ITEM(list, i), &callable);
        if (ok && callable >= call->instances)
            ok = error_raise(PyExc_ValueError, call->place.operation, NULL, 0,
                             "instance %zd has callable %zu, expected one below %u", i,
                             callable, call->instances);
        if (ok)
            call->callable_of[i] = (uint32_t) callable;
    }
    call->instances = ok ? (uint32_t) n : 0;
    Py_XDECREF(list);
    return ok;
}

/* The callables as a tuple. */
static PyObject *read_functions(const char *operation, PyObject *callables)
{
    PyObject *functions = PySequence_Tuple(callables);
    if (functions && PyTuple_GET_SIZE(functions) == 0) {
        Py_DECREF(functions);
        return error_raise(PyExc_ValueError, operation, NULL, 0,
                           "'functions' is empty, expected at least one function");
    }
    return functions;
}

/* 0 for a mask that is always set. */
static bool read_mask(const RegionPlace *like, PyObject *object, uint32_t *mask)
{
    const RegionPlace place = { like->state, like->operation, "the mask" };
    *mask = 0;
    return !object || object == Py_None || object == Py_True ||
           (*mask = region_mask(&place, object)) != 0;
}

static PyObject *call(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    static const char *const parameters[] = { "number", "callables", "args",
                                              "mask",   "instances", "name" };
    static const Signature signature = { "_flow.regions.call", parameters, 6, 3, 0 };
    PyObject *v[6];
    const char *name;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !region_name(signature.function, v[5], &name))
        return NULL;
    Call c = { .place = { state_of_module(module), signature.function, "the outputs" },
               .args = v[2] };
    if (!PyTuple_CheckExact(v[2]))
        return error_raise(PyExc_TypeError, signature.function, v, 3,
                           "expected a tuple as 'args'");
    uint32_t mask = 0, number = number_of(&c.place, v[0]);
    PyObject *functions = number && read_mask(&c.place, v[3], &mask)
                              ? read_functions(signature.function, v[1])
                              : NULL;
    PyObject *result = NULL;
    deferred_hold();
    if (functions && read_instances(&c, functions, v[4])) {
        c.handle = jit_var_call_start(type_backend(c.place.state), name, mask);
        result = c.handle ? run(&c, number, functions)
                          : error_from_core(signature.function, NULL, 0);
    }
    if (c.handle)
        jit_record_end(type_backend(c.place.state), c.handle, 1);
    region_drop(&c.inputs);
    jit_var_dec_ref(number);
    jit_var_dec_ref(mask);
    PyMem_Free(c.callable_of);
    Py_XDECREF(c.outputs);
    Py_XDECREF(functions);
    deferred_release();
    return result;
}

/* ---------------------------------------------------------------- buckets */

/* [(number, lanes), ...]: the lanes of each instance that is called. */
static PyObject *list_buckets(const TypeInfo *info, const JitCallBucket *buckets,
                              uint32_t count)
{
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list && i < count; i++) {
        Array *lanes = array_new_leaf(info, jit_var_inc_ref(buckets[i].index));
        const unsigned long number = buckets[i].id - 1;
        PyObject *entry = lanes ? Py_BuildValue("(kN)", number, lanes) : NULL;
        if (entry)
            PyList_SET_ITEM(list, i, entry);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *buckets_of(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names)
{
    static const char *const parameters[] = { "number", "bound", "mask" };
    static const Signature signature = { "_flow.regions.call", parameters, 3, 2, 0 };
    State *state = state_of_module(module);
    const RegionPlace place = { state, signature.function, "the mask" };
    PyObject *v[3];
    size_t bound;
    uint32_t mask = 0, count = 0;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !arguments_count(signature.function, "bound", v[1], &bound))
        return NULL;
    uint32_t number = number_of(&place, v[0]);
    bool ok = number && read_mask(&place, v[2], &mask), found = false;
    JitCallBucket *buckets = NULL;
    if (ok) {
        WAIT_BEGIN
        found = jit_var_call_reduce(NULL, NULL, (uint32_t) bound, number, mask,
                                    &buckets, &count);
        WAIT_END
    }
    jit_var_dec_ref(number);
    jit_var_dec_ref(mask);
    if (!ok)
        return NULL;
    if (!found)
        return error_from_core(signature.function, NULL, 0);
    const TypeInfo *info = ((Array *) v[0])->info;
    PyObject *list = list_buckets(info, buckets, count);
    jit_var_call_release(buckets, count);
    return list;
}

/* The entries of a variable at 'index' where the mask is set, 0 elsewhere. No index: as
 * many zeros as the mask has entries. */
static uint32_t gather_leaf(uint32_t leaf, uint32_t index, uint32_t mask)
{
    static const uint64_t zero;
    return index ? jit_var_gather(leaf, index, mask)
                 : jit_var_literal(leaf_backend(leaf_of(leaf)), jit_var_type(leaf),
                                   &zero, jit_var_size(mask), 0);
}

/* That in the place of each variable; or what the mask leaves is of 'others'. */
static bool gather_leaves(Leaves *leaves, uint32_t index, uint32_t mask,
                          const Leaves *others)
{
    for (size_t i = 0; i < leaves->count; i++) {
        uint32_t found = gather_leaf(leaves->ids[i], index, mask);
        if (found && others->count) {
            const uint32_t merged = jit_var_select(mask, found, others->ids[i]);
            jit_var_dec_ref(found);
            found = merged;
        }
        if (!found)
            return false;
        jit_var_dec_ref(leaves->ids[i]);
        leaves->ids[i] = found;
    }
    return true;
}

static PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    static const char *const parameters[] = { "tree", "index", "mask", "others" };
    static const Signature signature = { "_flow.regions.call", parameters, 4, 2, 0 };
    PyObject *v[4];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    const RegionPlace place = { state_of_module(module), signature.function,
                                v[2] ? "the outputs" : "'args'" };
    const Array *positions = array_of(v[1]);
    if (v[1] != Py_None && !(positions && positions->info->jit &&
                             positions->info->kind == KIND_LEAF))
        return error_raise(PyExc_TypeError, place.operation, NULL, 0,
                           "the positions are of type %s, expected a flat traced array",
                           Py_TYPE(v[1])->tp_name);
    Leaves leaves = { 0 }, others = { 0 };
    uint32_t mask = 0;
    PyObject *result = NULL;
    if (region_take(&place, v[0], v[3], &leaves) &&
        (!v[3] || region_take(&place, v[3], v[0], &others)) &&
        (!v[2] || (mask = region_mask(&place, v[2])) != 0)) {
        bool ok;
        const uint32_t index =
            positions ? jit_var_inc_ref(array_index(positions)) : 0;
        WAIT_BEGIN
        ok = gather_leaves(&leaves, index, mask, &others);
        jit_var_dec_ref(index);
        WAIT_END
        result = ok ? region_give(&place, v[0], &leaves)
                    : error_from_core(place.operation, NULL, 0);
    }
    region_drop(&leaves);
    region_drop(&others);
    jit_var_dec_ref(mask);
    return result;
}

PyMethodDef region_call_functions[] = {
    { "_call", METHOD(call), METH_FASTCALL | METH_KEYWORDS,
      "_call(number, callables, args, mask=None, instances=None, name=None)\n\nsee "
      "drjit._flow.regions" },
    { "_call_buckets", METHOD(buckets_of), METH_FASTCALL | METH_KEYWORDS,
      "_call_buckets(number, bound, mask=None)\n\n[(number, lanes), ...]" },
    { "_call_gather", METHOD(gather), METH_FASTCALL | METH_KEYWORDS,
      "_call_gather(tree, index, mask=None, others=None)\n\nA tree of the entries at "
      "index where the mask is set, elsewhere of those of the others or 0; no index: 0 "
      "everywhere" },
    { NULL, NULL, 0, NULL },
};
