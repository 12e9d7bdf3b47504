/*
 * report.c -- values that kernels report, for a Python function
 *
 * The core calls back from any thread, without the GIL; see deferred.h. The records are
 * copied and given to the function when that is safe. What is queued stays in order, so
 * the function is released after the last delivery.
 */
#include <stdlib.h>

#include "python/base/arguments.h"
#include "python/base/deferred.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/flow/construct.h"

/* One for each report. Malloc memory: the core may release it without the GIL. */
typedef struct Receiver {
    Deferred deferred; /* first: its end */
    PyObject *function;
} Receiver;

typedef struct Delivery {
    Deferred deferred; /* first */
    Receiver *receiver;
    size_t count, lost;
    uint32_t value_count;
    VarType *types;
    uint32_t *lanes;
    uint64_t values[]; /* types and lanes after them */
} Delivery;

/* ---------------------------------------------------------------- with the GIL */

static void release(Deferred *work)
{
    Receiver *receiver = (Receiver *) work;
    Py_DECREF(receiver->function);
    free(receiver);
}

/* (lane, value, ...) */
static PyObject *record_of(const Delivery *d, size_t i)
{
    PyObject *record = PyTuple_New(1 + (Py_ssize_t) d->value_count);
    PyObject *lane = record ? PyLong_FromUnsignedLong(d->lanes[i]) : NULL;
    if (lane)
        PyTuple_SET_ITEM(record, 0, lane);
    bool ok = lane;
    for (uint32_t k = 0; ok && k < d->value_count; k++) {
        PyObject *value =
            convert_entry(d->types[k], &d->values[i * d->value_count + k]);
        ok = value;
        if (ok)
            PyTuple_SET_ITEM(record, 1 + (Py_ssize_t) k, value);
    }
    if (!ok)
        Py_CLEAR(record);
    return record;
}

static void deliver(Deferred *work)
{
    Delivery *d = (Delivery *) work;
    PyObject *function = Py_NewRef(d->receiver->function);
    PyObject *records = PyList_New((Py_ssize_t) d->count);
    for (size_t i = 0; records && i < d->count; i++) {
        PyObject *record = record_of(d, i);
        if (record)
            PyList_SET_ITEM(records, (Py_ssize_t) i, record);
        else
            Py_CLEAR(records);
    }
    PyObject *result =
        records ? PyObject_CallFunction(function, "On", records, (Py_ssize_t) d->lost)
                : NULL;
    if (!result)
        PyErr_WriteUnraisable(function);
    Py_DECREF(function);
    Py_XDECREF(result);
    Py_XDECREF(records);
    free(d);
}

/* ---------------------------------------------------------------- from the core */

static void receive(const JitPrintRecords *r, void *payload)
{
    Receiver *receiver = payload;
    if (!r) {
        receiver->deferred.run = release;
        deferred_add(&receiver->deferred);
        return;
    }
    size_t values = r->count * r->value_count * sizeof(uint64_t);
    size_t types = r->value_count * sizeof(VarType);
    size_t lanes = r->count * sizeof(uint32_t);
    Delivery *d = malloc(sizeof(Delivery) + values + types + lanes);
    if (!d)
        return;
    *d = (Delivery){ .deferred.run = deliver,
                     .receiver = receiver,
                     .count = r->count,
                     .lost = r->lost,
                     .value_count = r->value_count };
    d->types = (VarType *) ((char *) d->values + values);
    d->lanes = (uint32_t *) ((char *) d->types + types);
    if (values)
        memcpy(d->values, r->values, values);
    if (types)
        memcpy(d->types, r->types, types);
    if (lanes)
        memcpy(d->lanes, r->lanes, lanes);
    deferred_add(&d->deferred);
}

/* ---------------------------------------------------------------- reporting */

static PyObject *start_report(const char *operation, PyObject *function, uint32_t mask,
                              const Variables *values, size_t limit)
{
    Receiver *receiver = malloc(sizeof(Receiver));
    uint32_t *plain = malloc((values->count + 1) * sizeof(uint32_t));
    if (!receiver || !plain) {
        free(receiver);
        free(plain);
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < values->count; i++)
        plain[i] = var_jit(values->ids[i]);
    receiver->function = Py_NewRef(function);
    const bool ok = jit_var_print(mask, (uint32_t) values->count, plain, limit, receive,
                                  receiver);
    free(plain);
    if (ok)
        Py_RETURN_NONE;
    release(&receiver->deferred);
    return error_from_core(operation, NULL, 0);
}

static PyObject *report(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    static const char *const parameters[] = { "operation", "function", "mask", "values",
                                              "limit" };
    static const Signature signature = { "_report", parameters, 5, 4, 0 };
    State *state = state_of_module(module);
    PyObject *v[5];
    size_t limit = SIZE_MAX;
    uint32_t mask = 0;
    const char *operation;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !(operation = PyUnicode_AsUTF8(v[0])) ||
        (v[4] && v[4] != Py_None &&
         !arguments_count(operation, "limit", v[4], &limit)))
        return NULL;
    if (v[2] != Py_None && v[2] != Py_True &&
        !(mask = construct_lanes(state, operation, v[2])))
        return NULL;
    Tracker values = { .state = state,
                       .operation = operation,
                       .what = "values" };
    PyObject *result =
        tracker_open(&values, v[3])
            ? start_report(operation, v[1], mask, &values.variables, limit)
            : NULL;
    tracker_close(&values);
    jit_var_dec_ref(mask);
    return result;
}

PyMethodDef report_functions[] = {
    { "_report", METHOD(report), METH_FASTCALL | METH_KEYWORDS,
      "_report(operation, function, mask, values, limit=None)\n\nsee "
      "drjit._flow.regions" },
    { NULL, NULL, 0, NULL },
};
