/*
 * region.c -- while_loop and if_stmt of drjit._flow.regions, and the mask stack
 *
 * A body is traced by calling a Python function between two calls of the core. When it
 * raises, the recording is given up with everything in it, and the exception goes on. A
 * core function that fails has given it up already.
 */
#include "python/flow/region.h"

#include "python/object/arguments.h"
#include "python/object/deferred.h"
#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

/* ---------------------------------------------------------------- loops */

typedef struct Loop {
    RegionPlace place;
    PyObject *initial, *condition, *body; /* borrowed */
    uint32_t handle;                      /* 0: the core has ended it */
    Leaves states;
} Loop;

/* All that may evaluate, in the evaluated mode, runs without the GIL. */
static bool start_loop(Loop *loop, const char *name)
{
    WAIT_BEGIN
    loop->handle = jit_var_loop_start(type_backend(loop->place.state), name,
                                      loop->states.count, loop->states.ids);
    WAIT_END
    return loop->handle || error_from_core(loop->place.operation, NULL, 0);
}

static int give_condition(Loop *loop, uint32_t mask)
{
    int again;
    jit_var_inc_ref(mask);
    WAIT_BEGIN
    again = jit_var_loop_cond(loop->handle, mask);
    if (again > 0 && loop->states.count &&
        !jit_var_loop_compress(loop->handle, loop->states.ids))
        again = -1;
    jit_var_dec_ref(mask);
    WAIT_END
    if (again < 0) {
        loop->handle = 0;
        error_from_core(loop->place.operation, NULL, 0);
    }
    return again;
}

/* 1: the body is to be traced, 0: it is not needed, -1: exception. */
static int trace_condition(Loop *loop)
{
    RegionPlace place = loop->place;
    PyObject *state = region_give(&place, loop->initial, &loop->states);
    PyObject *result = state ? region_call_function(loop->condition, state) : NULL;
    Py_XDECREF(state);
    if (!result)
        return -1;
    place.what = "the condition";
    uint32_t mask = region_mask(&place, result);
    int again = mask ? give_condition(loop, mask) : -1;
    jit_var_dec_ref(mask);
    Py_DECREF(result);
    return again;
}

/* The next states take the place of those before. */
static bool trace_body(Loop *loop)
{
    RegionPlace place = loop->place;
    PyObject *state = region_give(&place, loop->initial, &loop->states);
    PyObject *next = state ? region_call_function(loop->body, state) : NULL;
    Py_XDECREF(state);
    if (!next)
        return false;
    Leaves leaves = { 0 };
    place.what = "what the body has returned";
    bool ok = PyTuple_CheckExact(next);
    if (!ok)
        error_raise(PyExc_TypeError, place.operation, NULL, 0,
                    "the body has returned a value of type %s, expected a tuple like "
                    "the state",
                    Py_TYPE(next)->tp_name);
    ok = ok && region_take(&place, next, loop->initial, &leaves);
    Py_DECREF(next);
    if (ok && leaves.count != loop->states.count)
        ok = error_raise(PyExc_RuntimeError, place.operation, NULL, 0,
                         "the state was changed while it was in use");
    if (ok) {
        Leaves before = loop->states;
        loop->states = leaves;
        leaves = before;
    }
    region_drop(&leaves);
    return ok;
}

static int end_loop(Loop *loop)
{
    int again;
    WAIT_BEGIN
    again = jit_var_loop_end(loop->handle, loop->states.ids);
    WAIT_END
    if (again) /* done, or an error */
        loop->handle = 0;
    if (again < 0)
        error_from_core(loop->place.operation, NULL, 0);
    return again;
}

static bool run_loop(Loop *loop)
{
    int status;
    do {
        status = trace_condition(loop);
        if (status < 0 || (status > 0 && !trace_body(loop)))
            return false;
        status = end_loop(loop);
    } while (status == 0);
    return status > 0;
}

static PyObject *while_loop(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names)
{
    static const char *const parameters[] = { "state", "cond", "body", "name" };
    static const Signature signature = { "_flow.regions.while_loop",
                                         parameters, 4, 3, 0 };
    PyObject *v[4];
    const char *name;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !region_name(signature.function, v[3], &name))
        return NULL;
    Loop loop = { .place = { state_of_module(module), signature.function, "the state" },
                  .initial = v[0], .condition = v[1], .body = v[2] };
    if (!PyTuple_CheckExact(v[0]))
        return error_raise(PyExc_TypeError, signature.function, v, 1,
                           "expected a tuple as 'state'");
    PyObject *result = NULL;
    bool recorded = jit_flag(JitFlagSymbolicLoops);
    if (recorded)
        deferred_hold();
    if (region_take(&loop.place, v[0], NULL, &loop.states) && start_loop(&loop, name) &&
        run_loop(&loop))
        result = region_give(&loop.place, v[0], &loop.states);
    if (loop.handle)
        jit_record_end(type_backend(loop.place.state), loop.handle, 1);
    region_drop(&loop.states);
    if (recorded)
        deferred_release();
    return result;
}

/* ---------------------------------------------------------------- conditionals */

typedef struct Cond {
    RegionPlace place;
    PyObject *args;    /* borrowed */
    uint32_t handle;   /* 0: the core has ended it */
    PyObject *outputs; /* of the true side: the template of the results */
    size_t count;      /* variables in it */
} Cond;

/* Call a side's function. Its objects are its own, so that changing them in place has
 * no effect on the other side. */
static PyObject *call_side(const Cond *cond, PyObject *function)
{
    RegionPlace place = cond->place;
    place.what = "'args'";
    PyObject *args = region_copy(&place, cond->args);
    PyObject *result = args ? region_call_function(function, args) : NULL;
    Py_XDECREF(args);
    return result;
}

/* Trace a side and append it. */
static bool trace_side(Cond *cond, PyObject *function)
{
    PyObject *outputs = call_side(cond, function);
    Leaves leaves = { 0 };
    bool ok = outputs && region_take(&cond->place, outputs, cond->outputs, &leaves);
    if (ok && cond->outputs && leaves.count != cond->count)
        ok = error_raise(PyExc_RuntimeError, cond->place.operation, NULL, 0,
                         "%s was changed while it was in use", cond->place.what);
    if (ok && !jit_var_cond_append(cond->handle, leaves.count, leaves.ids)) {
        cond->handle = 0;
        ok = error_from_core(cond->place.operation, NULL, 0);
    }
    cond->count = leaves.count;
    region_drop(&leaves);
    if (ok && !cond->outputs)
        cond->outputs = Py_NewRef(outputs);
    Py_XDECREF(outputs);
    return ok;
}

static PyObject *end_cond(Cond *cond)
{
    Leaves results = { .count = cond->count };
    results.ids = PyMem_Calloc(cond->count + 1, sizeof(uint32_t));
    if (!results.ids)
        return PyErr_NoMemory();
    PyObject *tree = NULL;
    bool ok = jit_var_cond_end(cond->handle, results.ids);
    cond->handle = 0;
    if (ok)
        tree = region_give(&cond->place, cond->outputs, &results);
    else
        error_from_core(cond->place.operation, NULL, 0);
    region_drop(&results); /* on errors all are 0 */
    return tree;
}

static PyObject *if_stmt(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names)
{
    static const char *const parameters[] = { "condition", "args", "true_fn",
                                              "false_fn", "name" };
    static const Signature signature = { "_flow.regions.if_stmt",
                                         parameters, 5, 4, 0 };
    PyObject *v[5];
    const char *name;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !region_name(signature.function, v[4], &name))
        return NULL;
    State *state = state_of_module(module);
    Cond cond = { .place = { state, signature.function, "the outputs" },
                  .args = v[1] };
    RegionPlace place = { state, signature.function, "the condition" };
    if (!PyTuple_CheckExact(v[1]))
        return error_raise(PyExc_TypeError, signature.function, v, 2,
                           "expected a tuple as 'args'");
    uint32_t mask = region_mask(&place, v[0]);
    if (!mask)
        return NULL;
    cond.handle = jit_var_cond_start(name, mask);
    jit_var_dec_ref(mask);
    if (!cond.handle)
        return error_from_core(signature.function, NULL, 0);
    deferred_hold();
    PyObject *result =
        trace_side(&cond, v[2]) && trace_side(&cond, v[3]) ? end_cond(&cond) : NULL;
    if (cond.handle)
        jit_record_end(type_backend(cond.place.state), cond.handle, 1);
    Py_XDECREF(cond.outputs);
    deferred_release();
    return result;
}

/* ---------------------------------------------------------------- mask stack */

/* From here on, 'mask' and what was on top before; with None, no restriction. */
static PyObject *mask_push(PyObject *module, PyObject *mask)
{
    const RegionPlace place = { state_of_module(module), "_flow.regions.masked",
                                "the mask" };
    uint32_t id = mask == Py_None ? 0 : region_mask(&place, mask);
    if (!id && mask != Py_None)
        return NULL;
    JitBackend backend = type_backend(place.state);
    uint32_t top = id ? jit_var_mask_peek(backend) : 0;
    uint32_t both = top  ? jit_var_and(id, top)
                    : id ? jit_var_inc_ref(id)
                         : jit_var_mask_default(backend, 1);
    bool ok = both && jit_var_mask_push(backend, both);
    jit_var_dec_ref(id);
    jit_var_dec_ref(top);
    jit_var_dec_ref(both);
    if (!ok)
        return error_from_core(place.operation, NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *mask_pop(PyObject *module, PyObject *unused)
{
    (void) unused;
    if (!jit_var_mask_pop(type_backend(state_of_module(module))))
        return error_from_core("_flow.regions.masked", NULL, 0);
    Py_RETURN_NONE;
}

PyMethodDef region_functions[] = {
    { "_while_loop", METHOD(while_loop), METH_FASTCALL | METH_KEYWORDS,
      "_while_loop(state, cond, body, name=None)\n\nsee drjit._flow.regions" },
    { "_if_stmt", METHOD(if_stmt), METH_FASTCALL | METH_KEYWORDS,
      "_if_stmt(condition, args, true_fn, false_fn, name=None)\n\n"
      "see drjit._flow.regions" },
    { "_mask_push", mask_push, METH_O, "_mask_push(mask)\n\nsee drjit._flow.regions" },
    { "_mask_pop", mask_pop, METH_NOARGS, "_mask_pop()\n\nsee drjit._flow.regions" },
    { NULL, NULL, 0, NULL },
};
