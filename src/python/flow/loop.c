/*
 * loop.c -- drjit.while_loop()
 *
 * Symbolic and evaluated loops take the same steps: the core hands out variables for
 * the state, the condition and the body work on them, and the core says whether there
 * is another iteration. A symbolic loop has one.
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/array/undo.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/recording.h"
#include "python/base/tables.h"
#include "python/docstrings.h"
#include "python/flow/alias.h"
#include "python/flow/construct.h"
#include "python/shape/size.h"

static const char operation[] = "while_loop";

typedef struct Loop {
    State *state;
    PyObject *initial, *condition, *body; /* borrowed */
    const char *label;
    const TypeInfo *like; /* a type of its backend */
    bool strict, symbolic, compress;
    long long max_iterations; /* or an ADLoopIterations */
    uint32_t handle; /* 0: the core has ended it */
    size_t size;     /* of the condition */
    Tracker trackers[3];
    Tracker *start; /* of the caller's state */
    Watch watch;
    Aliases aliases;
    VarIndex *before;   /* variables of the caller's arrays, without references */
    Undo undo;      /* of one that runs at once */
    Reads reads;
    Tracker *now;   /* what the last body has returned; at first 'start' */
} Loop;

/* ---------------------------------------------------------------- steps */

/* Whatever may evaluate runs without the GIL: steps of an evaluated loop, and of others
 * if writes are queued. */
static bool may_evaluate(const Loop *loop)
{
    return !loop->symbolic || jit_pending_writes();
}

/* Which variables of the state are of types with derivatives? NULL: exception. */
static bool *find_differentiated(const Tracker *t)
{
    bool *found = PyMem_Calloc(t->variables.count + 1, sizeof(bool));
    if (!found)
        PyErr_NoMemory();
    for (size_t i = 0; found && i < t->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &t->leaves[i];
        for (size_t k = 0; leaf->info && k < leaf->count; k++)
            found[leaf->first + k] = leaf->info->diff;
    }
    return found;
}

/* The backend is that of the condition, if it has been called, or else of the state;
 * where that has no arrays, of the condition. */
static bool find_backend(Loop *loop)
{
    const Tracker *start = loop->start;
    for (size_t i = 0; !loop->like && i < start->tree.leaf_count; i++)
        loop->like = start->leaves[i].count ? start->leaves[i].info : NULL;
    if (loop->like)
        return tracker_check_backend(start, loop->like);
    PyObject *first = PyObject_Call(loop->condition, loop->initial, NULL);
    const bool ok = first && construct_condition(loop->state, first) == CONDITION_ARRAY;
    if (ok)
        loop->like = ((Array *) first)->info;
    else if (first)
        construct_refuse(operation, "the loop condition", first);
    Py_XDECREF(first);
    return ok;
}

static bool start_loop(Loop *loop)
{
    const size_t bytes = loop->start->variables.count * sizeof(VarIndex);
    loop->before = PyMem_Malloc(bytes + 1);
    if (!loop->before)
        return PyErr_NoMemory();
    if (bytes)
        memcpy(loop->before, loop->start->variables.ids, bytes);
    bool *differentiated = find_differentiated(loop->start);
    if (!differentiated)
        return false;
    const bool symbolic = construct_set(JitFlagSymbolicLoops, loop->symbolic);
    const bool compress = construct_set(JitFlagCompressLoops, loop->compress);
    GIL_RELEASE_BEGIN_IF(may_evaluate(loop))
    loop->handle =
        ad_var_loop_start((JitBackend) loop->like->backend, loop->label,
                          loop->max_iterations, loop->start->variables.count,
                          loop->start->variables.ids, differentiated);
    GIL_RELEASE_END
    construct_set(JitFlagSymbolicLoops, symbolic);
    construct_set(JitFlagCompressLoops, compress);
    PyMem_Free(differentiated);
    tracker_unite_names(loop->start);
    if (loop->symbolic && loop->handle) {
        loop->reads.states = loop->start->variables.ids;
        loop->reads.state_count = loop->start->variables.count;
    }
    return loop->handle || error_from_core(operation, NULL, 0);
}

static bool fail_step(Loop *loop)
{
    loop->handle = 0;
    return tracker_fail(loop->now, loop->size);
}

/* 1: the body is to be traced, 0: it is not needed, -1: exception. */
static int give_condition(Loop *loop, PyObject *condition)
{
    Variables *variables = &loop->now->variables;
    const uint32_t mask = construct_mask(condition);
    int again;
    loop->size = jit_var_peek_size(mask);
    GIL_RELEASE_BEGIN_IF(may_evaluate(loop))
    again = ad_var_loop_cond(loop->handle, mask);
    if (again > 0 && variables->count &&
        !ad_var_loop_compress(loop->handle, variables->ids))
        again = -1;
    jit_var_dec_ref(mask);
    GIL_RELEASE_END
    if (again < 0)
        fail_step(loop);
    return again;
}

static int trace_condition(Loop *loop, PyObject *args)
{
    PyObject *result = PyObject_Call(loop->condition, args, NULL);
    int again = -1;
    if (result && construct_condition(loop->state, result) != CONDITION_ARRAY)
        construct_refuse(operation, "the loop condition", result);
    else if (result)
        again = give_condition(loop, result);
    Py_XDECREF(result);
    return again;
}

static bool check_returned(const Loop *loop, PyObject *returned)
{
    if (!PyTuple_CheckExact(returned))
        return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                           "'body' has returned a value of type %s, expected a tuple",
                           Py_TYPE(returned)->tp_name);
    const Py_ssize_t expected = PyTuple_GET_SIZE(loop->initial);
    return PyTuple_GET_SIZE(returned) == expected ||
           error_raise(PyExc_RuntimeError, operation, NULL, 0,
                       "'body' has returned a tuple of %zd entries, expected %zd",
                       PyTuple_GET_SIZE(returned), expected);
}

/* A variable may be assigned in the body for the first time, and has no value after the
 * loop then: some lanes have not been there. It cannot be deleted. */
static bool check_assigned(const Tracker *before, const Tracker *after)
{
    for (size_t i = 0; i < after->tree.leaf_count; i++) {
        if (!after->leaves[i].unbound || before->leaves[i].unbound)
            continue;
        PyObject *name = tracker_name(after, after->leaves[i].place);
        if (name)
            error_raise(PyExc_RuntimeError, operation, NULL, 0,
                        "state variable %U is not assigned any more after the body",
                        name);
        Py_XDECREF(name);
        return false;
    }
    return true;
}

/* What has read the state has read the caller's arrays, as far as loops around go. */
static void note_reads(const Loop *loop)
{
    const Tracker *now = loop->now;
    for (size_t i = 0; loop->symbolic && i < now->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &now->leaves[i];
        const Array *array = array_of(loop->start->tree.leaves[i]);
        for (size_t k = 0; array && !leaf->local && k < leaf->count; k++)
            reads_note_state(now->variables.ids[leaf->first + k], array, k);
    }
}

static bool check_aliases(Loop *loop, const Tracker *returned)
{
    PyObject *const functions[] = { loop->body, loop->condition };
    const bool ok = alias_check_caller(loop->start, loop->before, loop->start) &&
                    alias_check(&loop->aliases, loop->now, loop->start, returned,
                                &loop->watch, &loop->reads, functions, 2);
    alias_end(&loop->aliases);
    return ok;
}

/* One object that the body returns in two places is two states, unless they have been
 * one before: lanes that are done keep what they had. */
static void separate_names(const Tracker *now, Tracker *next)
{
    for (size_t i = next->tree.leaf_count; i-- > 0;) {
        const size_t first = next->leaves[i].first_use;
        size_t j = first;
        while (j < i && (next->leaves[j].first_use != first ||
                         now->leaves[j].first_use != now->leaves[i].first_use))
            ++j;
        next->leaves[i].first_use = j;
    }
}

/* What a recorded body leaves alone stays the caller's. The core may have made other
 * variables of it (JitFlagOptimizeLoops), which loops around would take for changes. */
static void note_left_alone(const Tracker *now, Tracker *next)
{
    for (size_t i = 0; i < next->tree.leaf_count; i++) {
        TrackedLeaf *leaf = &next->leaves[i];
        const TrackedLeaf *given = &now->leaves[i];
        bool same = !leaf->local && leaf->origin == (Py_ssize_t) i &&
                    leaf->count == given->count;
        for (size_t k = 0; same && k < leaf->count; k++) {
            const VarIndex id = next->variables.ids[leaf->first + k];
            same = id == now->variables.ids[given->first + k] &&
                   jit_var_peek_state(var_jit(id)) != VarStateDirty;
        }
        leaf->left_alone = same;
    }
}

/* What the body has returned becomes the state. An array is the caller's as long as
 * each body returns the object that it was given in its place. */
static bool take_returned(Loop *loop, PyObject *returned)
{
    Tracker *now = loop->now;
    Tracker *next = &loop->trackers[now == &loop->trackers[1] ? 2 : 1];
    tracker_close(next);
    PyObject *fitting = tracker_fit(now, returned);
    const bool ok = fitting && tracker_open(next, fitting) &&
                    tracker_follows(now, next, loop->strict) &&
                    check_assigned(now, next) && tracker_trace(next, now) &&
                    check_aliases(loop, next) && tracker_align(now, next);
    Py_XDECREF(fitting);
    if (!ok)
        return false;
    for (size_t i = 0; i < next->tree.leaf_count; i++) {
        const size_t given = now->apart ? i : now->leaves[i].first_use;
        next->leaves[i].origin = next->leaves[i].origin == (Py_ssize_t) given
                                     ? now->leaves[i].origin
                                     : NO_ORIGIN;
    }
    if (!now->apart)
        separate_names(now, next);
    else
        note_left_alone(now, next);
    loop->now = next;
    return true;
}

static bool trace_body(Loop *loop, PyObject *args)
{
    tracker_set(loop->now); /* the condition may have changed arrays in place */
    PyObject *returned = PyObject_Call(loop->body, args, NULL);
    note_reads(loop);
    bool ok =
        returned && watch_check(&loop->watch, loop->start) &&
        check_returned(loop, returned) && take_returned(loop, returned);
    Py_XDECREF(returned);
    return ok;
}

/* 1: done, 0: there is another iteration, -1: exception. */
static int end_iteration(Loop *loop)
{
    int status;
    GIL_RELEASE_BEGIN_IF(may_evaluate(loop))
    status = ad_var_loop_end(loop->handle, loop->now->variables.ids);
    GIL_RELEASE_END
    if (status >= 0)
        tracker_unite_names(loop->now);
    if (status > 0)
        loop->handle = 0;
    else if (status < 0)
        fail_step(loop);
    return status;
}

static int run_iteration(Loop *loop)
{
    PyObject *args = tracker_give(loop->now);
    int again = args && alias_begin(&loop->aliases, loop->now)
                    ? trace_condition(loop, args)
                    : -1;
    if (again > 0 && !trace_body(loop, args))
        again = -1;
    Py_XDECREF(args);
    alias_end(&loop->aliases);
    return again < 0 ? -1 : end_iteration(loop);
}

/* ---------------------------------------------------------------- modes */

static PyObject *run_traced(Loop *loop)
{
    int status = 0;
    PyObject *result = NULL;
    Tracker *start = loop->start;
    Recording recording;
    if (loop->symbolic)
        recording_begin(&recording, operation);
    reads_begin(&loop->reads, loop->symbolic);
    if (!loop->symbolic)
        undo_begin(&loop->undo);
    if (tracker_open(start, loop->initial) && watch_begin(&loop->watch, start) &&
        find_backend(loop) && start_loop(loop)) {
        for (size_t i = 0; i < start->tree.leaf_count; i++)
            start->leaves[i].origin =
                (Py_ssize_t) (start->apart ? i : start->leaves[i].first_use);
        do
            status = run_iteration(loop);
        while (status == 0);
        if (!tracker_restore(start))
            status = -1;
    }
    reads_end(&loop->reads); /* results are made outside */
    if (status > 0 && !(result = tracker_commit(start, loop->now, NULL)))
        tracker_restore(start);
    if (loop->handle)
        ad_record_end((JitBackend) loop->like->backend, loop->handle, 1);
    for (int i = 0; i < 3; i++)
        tracker_close(&loop->trackers[i]);
    watch_end(&loop->watch);
    PyMem_Free(loop->before);
    if (!loop->symbolic)
        undo_end(&loop->undo, result != NULL);
    if (loop->symbolic)
        recording_end(&recording);
    return result;
}

/* while condition: body. 'first' is the first condition, whose reference is stolen;
 * NULL: it is still to be computed. */
static PyObject *run_scalar(const Loop *loop, PyObject *first)
{
    PyObject *state = Py_NewRef(loop->initial), *condition = first;
    for (;;) {
        if (!condition)
            condition = PyObject_Call(loop->condition, state, NULL);
        const int again = condition ? PyObject_IsTrue(condition) : -1;
        Py_CLEAR(condition);
        if (again == 0)
            return state;
        PyObject *next = again > 0 ? PyObject_Call(loop->body, state, NULL) : NULL;
        if (next && !check_returned(loop, next))
            Py_CLEAR(next);
        Py_SETREF(state, next);
        if (!state)
            return NULL;
    }
}

/* A state has no entries, for which there is an error. If the condition has none,
 * either, there is nothing to do. */
static PyObject *run_without_lanes(Loop *loop)
{
    PyObject *error = error_fetch();
    PyObject *found = PyObject_Call(loop->condition, loop->initial, NULL);
    const bool empty = found &&
                       construct_condition(loop->state, found) == CONDITION_ARRAY &&
                       construct_is_empty(found);
    Py_XDECREF(found);
    if (empty) {
        Py_XDECREF(error);
        return Py_NewRef(loop->initial);
    }
    PyErr_Clear();
    error_restore(error);
    return NULL;
}

static PyObject *run(Loop *loop, Mode mode)
{
    if (mode == MODE_SCALAR)
        return run_scalar(loop, NULL);
    if (mode == MODE_AUTO) {
        PyObject *first = PyObject_Call(loop->condition, loop->initial, NULL);
        if (!first)
            return NULL;
        const Condition kind = construct_condition(loop->state, first);
        if (kind == CONDITION_BOOL)
            return run_scalar(loop, first);
        if (kind == CONDITION_OTHER)
            construct_refuse(operation, "the loop condition", first);
        else
            loop->like = ((Array *) first)->info;
        Py_DECREF(first);
        if (kind == CONDITION_OTHER)
            return NULL;
        mode = jit_flag(JitFlagSymbolicLoops) ? MODE_SYMBOLIC : MODE_EVALUATED;
    }
    loop->symbolic = mode == MODE_SYMBOLIC;
    for (int i = 0; i < 3; i++) /* an iteration that runs at once is as in Python */
        loop->trackers[i].apart = loop->symbolic;
    PyObject *result = run_traced(loop);
    return result || !loop->start->failed_empty ? result : run_without_lanes(loop);
}

/* ---------------------------------------------------------------- arguments */

static bool take_iterations(PyObject *object, long long *count)
{
    *count = ADLoopUnbounded;
    if (!object || object == Py_None)
        return true;
    if (!size_is_int(object) || PyBool_Check(object))
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "'max_iterations' is %R, expected an int or None", object);
    *count = PyLong_AsLongLong(object);
    if (*count == -1 && PyErr_Occurred())
        return false;
    return *count >= ADLoopSums ||
           error_raise(PyExc_ValueError, operation, NULL, 0,
                       "'max_iterations' is %R, expected at least 0, or -1", object);
}

static PyObject *while_loop(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names)
{
    enum {
        STATE,
        COND,
        BODY,
        LABELS,
        LABEL,
        MODE,
        STRICT,
        COMPRESS,
        ITERATIONS,
        COUNT
    };
    static const char *const parameters[] = { "state",  "cond",     "body",
                                              "labels", "label",    "mode",
                                              "strict", "compress", "max_iterations" };
    static const Signature signature = { operation, parameters, COUNT, 3, 0 };
    PyObject *v[COUNT], *labels = NULL, *result = NULL;
    Mode mode;
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Loop loop = { .state = state_of_module(module),
                  .initial = v[STATE],
                  .condition = v[COND],
                  .body = v[BODY] };
    if (!PyTuple_CheckExact(v[STATE]))
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "'state' is of type %s, expected a tuple",
                           Py_TYPE(v[STATE])->tp_name);
    const bool compress = jit_flag(JitFlagCompressLoops);
    if (v[COMPRESS] == Py_None)
        v[COMPRESS] = NULL;
    if (!construct_callable(operation, "cond", v[COND]) ||
        !construct_callable(operation, "body", v[BODY]) ||
        !construct_mode(operation, v[MODE], &mode) ||
        !construct_label(operation, v[LABEL], &loop.label) ||
        !arguments_bool(operation, "strict", v[STRICT], true, &loop.strict) ||
        !arguments_bool(operation, "compress", v[COMPRESS], compress, &loop.compress) ||
        !take_iterations(v[ITERATIONS], &loop.max_iterations) ||
        !construct_labels(operation, "labels", v[LABELS], v[STATE], &labels))
        return NULL;
    for (int i = 0; i < 3; i++)
        loop.trackers[i] = (Tracker){ .state = loop.state,
                                      .operation = operation,
                                      .what = "state",
                                      .labels = labels,
                                      .apart = true };
    loop.start = loop.now = &loop.trackers[0];
    result = run(&loop, mode);
    Py_XDECREF(labels);
    return result;
}

static PyObject *in_loop(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    return PyBool_FromLong(jit_in_loop());
}

PyMethodDef loop_functions[] = {
    { "_in_loop", in_loop, METH_NOARGS,
      "_in_loop()\n\nIs what is traced now going to run several times?" },
    { "while_loop", METHOD(while_loop), METH_FASTCALL | METH_KEYWORDS, DOC_while_loop },
    { NULL, NULL, 0, NULL },
};
