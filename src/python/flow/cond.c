/*
 * cond.c -- drjit.if_stmt()
 *
 * Both functions are called with the same arguments. What they return is a state of two
 * versions: the first is what it is on the true side, the second on the false side.
 */
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/recording.h"
#include "python/base/tables.h"
#include "python/docstrings.h"
#include "python/flow/alias.h"
#include "python/flow/construct.h"

static const char operation[] = "if_stmt";

typedef struct Cond {
    State *state;
    const char *label;
    bool strict, symbolic;
    uint32_t handle; /* 0: the core has ended it */
    uint32_t mask;   /* the condition */
    size_t size;     /* of it, and its type */
    const TypeInfo *info;
    Tracker args, yes, no;
    Watch watch;
    PyObject *last; /* what the false side has returned; NULL: nothing yet */
} Cond;

static bool start_cond(Cond *cond, PyObject *condition)
{
    cond->info = ((Array *) condition)->info;
    cond->mask = construct_mask(condition);
    cond->size = jit_var_peek_size(cond->mask);
    const bool symbolic = construct_set(JitFlagSymbolicConditionals, cond->symbolic);
    cond->handle = ad_var_cond_start(cond->label, cond->mask);
    construct_set(JitFlagSymbolicConditionals, symbolic);
    return cond->handle || error_from_core(operation, NULL, 0);
}

/* Labels name the entries of a tuple. */
static bool check_returned(const Tracker *t, PyObject *returned)
{
    const Py_ssize_t count = t->labels ? PyTuple_GET_SIZE(t->labels) : 0;
    if (!count || (PyTuple_Check(returned) && PyTuple_GET_SIZE(returned) == count))
        return true;
    return error_raise(
        PyExc_RuntimeError, operation, NULL, 0,
        "'rv_labels' has %zd entries, expected that the functions return a "
        "tuple of that size",
        count);
}

/* Has a side changed what is not part of the state? That is not a mistake if all lanes
 * take it. */
static bool check_objects(Cond *cond, const Tracker *returned)
{
    VarInfo info;
    if (!cond->watch.count)
        return true;
    if (!jit_var_peek_info(cond->mask, &info) || info.state != VarStateLiteral ||
        (info.literal != 0) != (returned == &cond->yes))
        return watch_check(&cond->watch, &cond->args);
    watch_end(&cond->watch);
    return watch_begin(&cond->watch, &cond->args);
}

/* Trace a side. Its containers are the caller's, and get their contents back. */
static bool trace_side(Cond *cond, PyObject *function, Tracker *returned)
{
    Reads reads;
    reads_begin(&reads, false);
    PyObject *args = tracker_give(&cond->args);
    PyObject *result = args ? PyObject_Call(function, args, NULL) : NULL;
    Py_XDECREF(args);
    bool ok = result && tracker_check_containers(&cond->args) &&
              check_objects(cond, returned) && check_returned(returned, result);
    if (ok && returned == &cond->no) {
        cond->last = result;
        result = tracker_fit(&cond->yes, result);
    }
    const Aliases aliases = { 0 }; /* one array is one for the function */
    ok = ok && result && tracker_open(returned, result) &&
         tracker_trace(returned, &cond->args) &&
         alias_check_caller(&cond->args, cond->args.variables.ids, returned) &&
         alias_check(&aliases, &cond->args, &cond->args, returned, &cond->watch, &reads,
                     &function, 1);
    reads_end(&reads);
    Py_XDECREF(result);
    return tracker_restore(&cond->args) && ok;
}

static bool append_side(Cond *cond, const Tracker *returned)
{
    if (ad_var_cond_append(cond->handle, returned->variables.count,
                            returned->variables.ids))
        return true;
    cond->handle = 0;
    return tracker_fail(returned, cond->size);
}

/* An array is the caller's if both sides have it in the same place, perhaps changed. */
static void merge_origins(Cond *cond)
{
    for (size_t i = 0; i < cond->no.tree.leaf_count; i++)
        if (cond->yes.leaves[i].origin != cond->no.leaves[i].origin)
            cond->no.leaves[i].origin = NO_ORIGIN;
}

static PyObject *end_cond(Cond *cond)
{
    Variables *results = &cond->no.variables;
    const size_t count = results->count;
    VarIndex *ids = PyMem_Calloc(count + 1, sizeof(*ids));
    if (!ids)
        return PyErr_NoMemory();
    const bool ok = ad_var_cond_end(cond->handle, ids);
    cond->handle = 0;
    if (!ok) {
        PyMem_Free(ids);
        tracker_fail(&cond->yes, cond->size);
        return NULL;
    }
    variables_drop(results);
    *results = (Variables){ .ids = ids, .count = count, .capacity = count };
    merge_origins(cond);
    PyObject *result = tracker_commit(&cond->args, &cond->no, &cond->yes);
    return result ? tracker_unfit(result, cond->last) : NULL;
}

/* Sides get new objects with the variables of the arguments: copies of what they have
 * not changed. */
static void note_arguments(const Cond *cond)
{
    const Tracker *t = &cond->args;
    for (size_t i = 0; reads_open && i < t->tree.leaf_count; i++) {
        const Array *array = array_of(t->tree.leaves[i]);
        const TrackedLeaf *leaf = &t->leaves[i];
        const size_t count = array && !leaf->local ? array_count(array) : 0;
        for (size_t k = 0; k < count && k < leaf->count; k++)
            if (var_number(array_leaves(array)[k]) ==
                var_number(t->variables.ids[leaf->first + k]))
                reads_note_copy(array, k, 1);
    }
}

static PyObject *run_traced(Cond *cond, PyObject *args, PyObject *condition,
                            PyObject *true_fn, PyObject *false_fn)
{
    PyObject *result = NULL;
    Recording recording;
    cond->args.empties = cond->yes.empties = cond->no.empties =
        construct_is_empty(condition);
    if (cond->symbolic)
        recording_begin(&recording, operation);
    if (tracker_open(&cond->args, args) && watch_begin(&cond->watch, &cond->args) &&
        start_cond(cond, condition) &&
        tracker_check_backend(&cond->args, cond->info) &&
        trace_side(cond, true_fn, &cond->yes) &&
        tracker_check_backend(&cond->yes, cond->info) &&
        append_side(cond, &cond->yes) && trace_side(cond, false_fn, &cond->no) &&
        tracker_follows(&cond->yes, &cond->no, cond->strict) &&
        tracker_align(&cond->yes, &cond->no) &&
        append_side(cond, &cond->no) && !(result = end_cond(cond)))
        tracker_restore(&cond->args);
    if (result && cond->symbolic)
        note_arguments(cond);
    if (cond->handle)
        ad_record_end((JitBackend) cond->info->backend, cond->handle, 1);
    tracker_close(&cond->args);
    tracker_close(&cond->yes);
    tracker_close(&cond->no);
    watch_end(&cond->watch);
    jit_var_dec_ref(cond->mask);
    Py_CLEAR(cond->last);
    if (cond->symbolic)
        recording_end(&recording);
    return result;
}

static PyObject *run_scalar(PyObject *args, PyObject *condition, PyObject *true_fn,
                            PyObject *false_fn)
{
    const int holds = PyObject_IsTrue(condition);
    return holds < 0 ? NULL : PyObject_Call(holds ? true_fn : false_fn, args, NULL);
}

static PyObject *run(Cond *cond, Mode mode, PyObject *args, PyObject *condition,
                     PyObject *true_fn, PyObject *false_fn)
{
    const Condition kind = construct_condition(cond->state, condition);
    if (mode == MODE_SCALAR || (mode == MODE_AUTO && kind == CONDITION_BOOL))
        return run_scalar(args, condition, true_fn, false_fn);
    if (kind != CONDITION_ARRAY)
        return construct_refuse(operation, "'cond'", condition);
    if (mode == MODE_AUTO)
        mode = jit_flag(JitFlagSymbolicConditionals) ? MODE_SYMBOLIC : MODE_EVALUATED;
    cond->symbolic = mode == MODE_SYMBOLIC;
    return run_traced(cond, args, condition, true_fn, false_fn);
}

static PyObject *if_stmt(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names)
{
    enum {
        ARGS,
        COND,
        TRUE_FN,
        FALSE_FN,
        ARG_LABELS,
        RV_LABELS,
        LABEL,
        MODE,
        STRICT,
        COUNT
    };
    static const char *const parameters[] = { "args",     "cond",       "true_fn",
                                              "false_fn", "arg_labels", "rv_labels",
                                              "label",    "mode",       "strict" };
    static const Signature signature = { operation, parameters, COUNT, 4, 0 };
    PyObject *v[COUNT], *arg_labels = NULL, *rv_labels = NULL, *result = NULL;
    Mode mode;
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    if (!PyTuple_CheckExact(v[ARGS]))
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "'args' is of type %s, expected a tuple",
                           Py_TYPE(v[ARGS])->tp_name);
    Cond cond = { .state = state_of_module(module) };
    if (construct_callable(operation, "true_fn", v[TRUE_FN]) &&
        construct_callable(operation, "false_fn", v[FALSE_FN]) &&
        construct_mode(operation, v[MODE], &mode) &&
        construct_label(operation, v[LABEL], &cond.label) &&
        arguments_bool(operation, "strict", v[STRICT], true, &cond.strict) &&
        construct_labels(operation, "arg_labels", v[ARG_LABELS], v[ARGS],
                         &arg_labels) &&
        construct_labels(operation, "rv_labels", v[RV_LABELS], NULL, &rv_labels)) {
        const Tracker returned = { .state = cond.state,
                                   .operation = operation,
                                   .what = "rv",
                                   .labels = rv_labels };
        cond.yes = cond.no = cond.args = returned;
        cond.args.what = "args";
        cond.args.labels = arg_labels;
        result = run(&cond, mode, v[ARGS], v[COND], v[TRUE_FN], v[FALSE_FN]);
    }
    Py_XDECREF(arg_labels);
    Py_XDECREF(rv_labels);
    return result;
}

PyMethodDef cond_functions[] = {
    { "if_stmt", METHOD(if_stmt), METH_FASTCALL | METH_KEYWORDS, DOC_if_stmt },
    { NULL, NULL, 0, NULL },
};
