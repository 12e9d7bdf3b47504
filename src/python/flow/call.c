/*
 * call.c -- drjit.switch(), drjit.dispatch(): each lane calls one of several functions
 *
 * A symbolic call traces every function once, with the same placeholders for the
 * arguments; call_evaluated.c has the other ones. Each function gets containers of its
 * own. What the first one returns is the template of the others' results.
 */
#include "python/docstrings.h"
#include "python/flow/call.h"
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/recording.h"
#include "python/base/tables.h"
#include "python/flow/construct.h"

/* ---------------------------------------------------------------- functions */

/* Call a function with these arguments: 'count' positional ones, then one for each
 * name (NULL: no names). There is room before them for one more. */
static PyObject *call_with(const Call *call, uint32_t callable, PyObject **args,
                           size_t count, PyObject *names)
{
    PyObject *function = PyTuple_GET_ITEM(call->functions, callable);
    if (!call->target)
        return PyObject_Vectorcall(function, args,
                                   count | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    *--args = function;
    ++count;
    return PyUnicode_Check(call->target)
               ? PyObject_VectorcallMethod(call->target, args, count, names)
               : PyObject_Vectorcall(call->target, args, count, names);
}

/* The same with arguments that are nothing but leaves. */
static PyObject *call_with_leaves(const Call *call, uint32_t callable)
{
    PyObject *args[MOST_LEAVES + 1];
    const size_t count = call->args.tree.leaf_count;
    if (!tracker_give_leaves(&call->args, args + 1))
        return NULL;
    const size_t named = call->names ? (size_t) PyTuple_GET_SIZE(call->names) : 0;
    PyObject *result =
        call_with(call, callable, args + 1, count - named, call->names);
    for (size_t i = 1; i <= count; i++)
        Py_DECREF(args[i]);
    return result;
}

/* The same with a pair of positional and named ones. */
static PyObject *call_with_pair(const Call *call, uint32_t callable, PyObject *pair)
{
    PyObject *positional = PyTuple_GET_ITEM(pair, 0);
    PyObject *named = PyTuple_GET_ITEM(pair, 1);
    const Py_ssize_t count = PyTuple_GET_SIZE(positional);
    const Py_ssize_t size = PyDict_GET_SIZE(named);
    PyObject **args = PyMem_New(PyObject *, (size_t) (1 + count + size));
    PyObject *names = PyTuple_New(size), *key, *value, *result = NULL;
    if (args && names) {
        Py_ssize_t position = 0, next = 0;
        for (Py_ssize_t i = 0; i < count; i++)
            args[1 + i] = PyTuple_GET_ITEM(positional, i);
        for (; PyDict_Next(named, &position, &key, &value); ++next) {
            PyTuple_SET_ITEM(names, next, Py_NewRef(key));
            args[1 + count + next] = value;
        }
        result = call_with(call, callable, args + 1, (size_t) count, names);
    } else if (!args) {
        PyErr_NoMemory();
    }
    PyMem_Free(args);
    Py_XDECREF(names);
    return result;
}

PyObject *call_function(Call *call, uint32_t callable)
{
    if (call->flat)
        return call_with_leaves(call, callable);
    PyObject *pair = tracker_give(&call->args);
    PyObject *result = pair ? call_with_pair(call, callable, pair) : NULL;
    Py_XDECREF(pair);
    return result;
}

Tracker *call_take_returned(Call *call, PyObject *result)
{
    Tracker *returned = call->returned++ ? &call->next : &call->first;
    if (returned == &call->next)
        tracker_close(returned);
    const bool ok =
        tracker_open(returned, result) &&
        (returned == &call->first ? tracker_check_backend(returned, call->index)
                                  : tracker_follows(&call->first, returned, true));
    return ok ? returned : NULL;
}

/* The result: the template with these variables, whose references it takes. */
static PyObject *make_result(Call *call, VarIndex *ids)
{
    Variables *variables = &call->first.variables;
    const size_t count = variables->count;
    variables_drop(variables);
    *variables = (Variables){ .ids = ids, .count = count, .capacity = count };
    return tracker_give(&call->first);
}

/* ---------------------------------------------------------------- symbolic calls */

/* Placeholders take the place of the arguments' variables. */
static bool make_inputs(Call *call)
{
    Variables *variables = &call->args.variables;
    for (size_t i = 0; i < variables->count; i++) {
        const VarIndex input = ad_var_call_input(call->handle, variables->ids[i]);
        if (!input)
            return error_from_core(call->operation, NULL, 0);
        var_unref(variables->ids[i]);
        variables->ids[i] = input;
    }
    return true;
}

/* The variables (borrowed from the result) that a function has returned, if it is seen
 * at once that they are like the template's; else NULL. */
static const VarIndex *match_returned(Call *call, PyObject *result)
{
    if (!call->returned || jit_pending_writes()) /* these take time to evaluate */
        return NULL;
    const size_t count = call->first.variables.count;
    if (!call->matched)
        call->matched = PyMem_New(VarIndex, count + 1);
    return call->matched && tracker_match(&call->first, result, call->matched)
               ? call->matched
               : NULL;
}

static bool append_function(Call *call, PyObject *result)
{
    const VarIndex *matched = match_returned(call, result);
    bool ok = false;
    if (matched &&
        ad_var_call_append(call->handle, call->first.variables.count, matched))
        return true;
    Tracker *returned = call_take_returned(call, result);
    if (!returned)
        return false;
    if (!matched) {
        GIL_RELEASE_BEGIN_IF(jit_pending_writes()) /* else nothing is evaluated */
        ok = ad_var_call_append(call->handle, returned->variables.count,
                                returned->variables.ids);
        GIL_RELEASE_END
    }
    if (ok)
        return true;
    call->handle = 0;
    return tracker_fail(returned, call->size);
}

static bool trace_function(Call *call, uint32_t callable)
{
    PyObject *result = call_function(call, callable);
    const bool ok = result && append_function(call, result);
    Py_XDECREF(result);
    return ok;
}

static PyObject *end_symbolic(Call *call)
{
    VarIndex *ids = PyMem_Calloc(call->first.variables.count + 1, sizeof(*ids));
    if (!ids)
        return PyErr_NoMemory();
    bool ok;
    GIL_RELEASE_BEGIN_IF(jit_pending_writes()) /* else nothing is evaluated */
    ok = ad_var_call(call->handle, call->ids, call->instances, call->numbers, NULL,
                     ids);
    GIL_RELEASE_END
    call->handle = 0;
    if (ok)
        return make_result(call, ids);
    PyMem_Free(ids); /* on errors all are 0 */
    tracker_fail(&call->first, call->size);
    return NULL;
}

static PyObject *run_symbolic(Call *call)
{
    PyObject *result = NULL;
    Recording recording;
    recording_begin(&recording, call->operation);
    call->handle =
        ad_var_call_start(call->backend, call->label, call->mask);
    if (!call->handle) {
        error_from_core(call->operation, NULL, 0);
    } else if (make_inputs(call)) {
        uint32_t i = 0;
        while (i < PyTuple_GET_SIZE(call->functions) && trace_function(call, i))
            ++i;
        if (i == PyTuple_GET_SIZE(call->functions))
            result = end_symbolic(call);
    }
    if (call->handle)
        ad_record_end(call->backend, call->handle, 1);
    recording_end(&recording);
    return result;
}

/* ---------------------------------------------------------------- arguments */

/* The common size of all that has lanes. */
static bool find_size(Call *call)
{
    const Variables *variables = &call->args.variables;
    call->size = jit_var_peek_size(call->ids);
    if (call->mask && call->size == 1)
        call->size = jit_var_peek_size(call->mask);
    for (size_t i = 0; i < variables->count && call->size == 1; i++)
        call->size = var_peek_size(variables->ids[i]);
    const size_t mask = call->mask ? jit_var_peek_size(call->mask) : 1;
    if (mask != 1 && mask != call->size)
        return error_raise(PyExc_RuntimeError, call->operation, NULL, 0,
                           "the mask has %zu entries, expected %zu or 1", mask,
                           call->size);
    for (size_t i = 0; i < variables->count; i++) {
        const size_t own = var_peek_size(variables->ids[i]);
        if (own != 1 && own != call->size)
            return tracker_fail_size(&call->args, call->size);
    }
    return true;
}

/* Are all arguments leaves, and few? Then what they are called with is known. */
static bool find_flat(Call *call)
{
    const Tree *tree = &call->args.tree;
    call->flat = tree->node_count == tree->leaf_count + 3 && /* the pair, and its two */
                 tree->leaf_count <= MOST_LEAVES;
    if (!call->flat)
        return true;
    size_t place = tree->node_count;
    while (tree->nodes[--place].kind != NODE_DICTIONARY)
        continue;
    PyObject *keys = tree->nodes[place].keys;
    if (PyList_GET_SIZE(keys))
        call->names = PyList_AsTuple(keys);
    return call->names || !PyList_GET_SIZE(keys);
}

/* Functions read copies of these: a loop around has read the arrays themselves. */
static void note_arguments(const Call *call)
{
    const Tree *tree = &call->args.tree;
    for (size_t i = 0; reads_open && call->symbolic && i < tree->leaf_count; i++)
        reads_note_operands(&tree->leaves[i], 1);
}

/* No lanes: what the first function returns, without entries. */
static PyObject *run_without_lanes(Call *call, PyObject *pair)
{
    PyObject *result = NULL, *found = NULL;
    if (!call_push_mask(call, 0))
        return NULL;
    found = call_with_pair(call, 0, pair);
    if (call_pop_mask(call) && found)
        result = construct_without_entries(call->state, call->operation, found);
    Py_XDECREF(found);
    return result;
}

/* Call the functions with a pair of positional and named arguments. */
static PyObject *run(Call *call, PyObject *pair)
{
    PyObject *result = NULL;
    if (!call->ids)
        return run_without_lanes(call, pair);
    const Tracker copied = { .state = call->state,
                             .operation = call->operation,
                             .what = "result",
                             .copied = true };
    call->args = call->first = call->next = copied;
    call->args.labels = call->state->call_labels;
    if (tracker_open(&call->args, pair) &&
        tracker_check_backend(&call->args, call->index) && find_flat(call) &&
        find_size(call)) {
        note_arguments(call);
        result = call->symbolic ? run_symbolic(call) : call_run_evaluated(call);
    }
    variables_drop(&call->spread);
    tracker_close(&call->args);
    tracker_close(&call->first);
    tracker_close(&call->next);
    return result;
}

/* The lanes' numbers of functions, counted from 1 as the core does: the largest number
 * becomes 0, nobody. */
static bool read_index(Call *call, PyObject *object)
{
    const TypeInfo *info =
        array_check(call->state, object) ? ((Array *) object)->info : NULL;
    if (!info || !info->jit || info->kind != KIND_FLAT || info->entry != VarTypeUInt32)
        return error_raise(
            PyExc_RuntimeError, call->operation, NULL, 0,
            "'index' is of type %s, expected an int or a Jit-compiled 1D "
            "32-bit unsigned integer array",
            Py_TYPE(object)->tp_name);
    call->index = info;
    call->backend = (JitBackend) info->backend;
    const uint32_t index = array_index((Array *) object);
    if (!index)
        return true; /* there are no lanes */
    call->ids = jit_var_op_number(JitOpAdd, index, 1, 0);
    return call->ids || error_from_core(call->operation, NULL, 0);
}

static bool check_targets(const char *operation, PyObject *targets)
{
    return PySequence_Check(targets) ||
           error_raise(PyExc_TypeError, operation, NULL, 0,
                       "'targets' is of type %s, expected a sequence of callables",
                       Py_TYPE(targets)->tp_name);
}

/* The functions as a tuple. */
static bool read_functions(Call *call, PyObject *targets)
{
    if (!check_targets(call->operation, targets) ||
        !(call->functions = PySequence_Tuple(targets)))
        return false;
    const Py_ssize_t count = PyTuple_GET_SIZE(call->functions);
    if (count == 0)
        return error_raise(PyExc_RuntimeError, call->operation, NULL, 0,
                           "'targets' is empty, expected at least one callable");
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyCallable_Check(PyTuple_GET_ITEM(call->functions, i)))
            return error_raise(PyExc_TypeError, call->operation, NULL, 0,
                               "'targets[%zd]' is %R, expected a callable", i,
                               PyTuple_GET_ITEM(call->functions, i));
    call->instances = call->bound = (uint32_t) count;
    return true;
}

/* Is it a mask of lanes: a traced Bool, or a bool? */
static bool is_mask(const Call *call, PyObject *object)
{
    if (PyBool_Check(object))
        return true;
    const TypeInfo *info =
        array_check(call->state, object) ? ((Array *) object)->info : NULL;
    return info && info->jit && info->kind == KIND_FLAT && type_is_mask(info);
}

/* Take the mask out of the arguments, in which True stands instead: the one named
 * 'active', or the last positional one. */
static bool take_mask(Call *call, PyObject *args, PyObject *named)
{
    const Py_ssize_t last = PyTuple_GET_SIZE(args) - 1;
    PyObject *key = call->state->str_active;
    PyObject *mask = PyDict_GetItemWithError(named, key);
    const bool by_name = mask;
    if (!mask && !PyErr_Occurred() && last >= 0)
        mask = PyTuple_GET_ITEM(args, last);
    bool ok = !PyErr_Occurred();
    if (ok && mask && is_mask(call, mask)) {
        static const uint64_t yes = 1;
        PyObject *instead;
        if (PyBool_Check(mask)) {
            call->mask =
                mask == Py_True ? 0 : jit_var_bool(call->backend, false);
            instead = Py_NewRef(Py_True);
        } else {
            const TypeInfo *info = ((Array *) mask)->info;
            call->mask = jit_var_inc_ref(array_index((Array *) mask));
            instead = (PyObject *) array_new_leaf(info, var_literal(info, &yes, 1));
            if (!call->mask) {
                Py_CLEAR(instead);
                error_raise(PyExc_RuntimeError, call->operation, NULL, 0,
                            "the mask is empty, expected at least one entry");
            }
        }
        ok = instead && (!by_name || PyDict_SetItem(named, key, instead) == 0);
        if (ok && !by_name)
            PyTuple_SetItem(args, last, Py_NewRef(instead));
        Py_XDECREF(instead);
    }
    return ok;
}

/* "symbolic", "evaluated", or as the flag says. */
static bool read_mode(Call *call, PyObject *object)
{
    Mode mode;
    if (!construct_mode(call->operation, object, &mode))
        return false;
    if (mode == MODE_SCALAR)
        return error_raise(PyExc_RuntimeError, call->operation, NULL, 0,
                           "'mode' is 'scalar', expected None, \"symbolic\", or "
                           "\"evaluated\"");
    call->symbolic =
        mode == MODE_AUTO ? jit_flag(JitFlagSymbolicCalls) : mode == MODE_SYMBOLIC;
    return true;
}

static void drop(Call *call)
{
    jit_var_dec_ref(call->ids);
    jit_var_dec_ref(call->mask);
    Py_XDECREF(call->functions);
    Py_XDECREF(call->names);
    PyMem_Free(call->matched);
    PyMem_Free(call->numbers);
}

/* ---------------------------------------------------------------- switch */

/* An int, or an integer of NumPy; arrays of NumPy are neither. */
static bool is_integer(State *state, PyObject *object)
{
    if (array_check(state, object) || !PyIndex_Check(object))
        return false;
    PyObject *number = PyNumber_Index(object);
    if (!number)
        PyErr_Clear();
    Py_XDECREF(number);
    return number;
}

/* targets[index](*args, **named) */
static PyObject *call_one(const char *operation, PyObject *targets, PyObject *index,
                          PyObject *args, PyObject *named)
{
    if (!check_targets(operation, targets))
        return NULL;
    PyObject *function = PyObject_GetItem(targets, index);
    if (!function && PyErr_ExceptionMatches(PyExc_IndexError))
        return error_raise_both("IndexError", operation, NULL, 0,
                                "'index' is %S, which is out of bounds for %zd targets",
                                index, PyObject_Size(targets));
    PyObject *result = function ? PyObject_Call(function, args, named) : NULL;
    Py_XDECREF(function);
    return result;
}

/* The parameters of switch itself, some of which are positional (index, targets); all
 * can be named. */
enum { INDEX, TARGETS, MODE_PARAMETER, LABEL, OWN_COUNT };
static const char *const own_parameters[] = { "index", "targets", "mode", "label" };

static int own_parameter(PyObject *name)
{
    int i = 0;
    while (i < OWN_COUNT && PyUnicode_CompareWithASCIIString(name, own_parameters[i]))
        ++i;
    return i;
}

/* Sort out what is switch's (borrowed) and what goes to the functions: new objects. */
static bool sort_arguments(const char *operation, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *names, PyObject **own,
                           PyObject **positional, PyObject **named)
{
    const Py_ssize_t taken = nargs < 2 ? nargs : 2;
    memset(own, 0, OWN_COUNT * sizeof(*own));
    memcpy(own, args, (size_t) taken * sizeof(*own));
    *positional = PyTuple_New(nargs - taken);
    *named = PyDict_New();
    for (Py_ssize_t i = taken; *positional && i < nargs; i++)
        PyTuple_SET_ITEM(*positional, i - taken, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; *named && names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[nargs + i];
        const int parameter = own_parameter(name);
        if (parameter == OWN_COUNT) {
            if (PyDict_SetItem(*named, name, value) < 0)
                return false;
        } else if (own[parameter]) {
            return arguments_refuse(
                operation, NULL, 0,
                "found several values for the argument '%s', expected one",
                own_parameters[parameter]);
        } else {
            own[parameter] = value;
        }
    }
    for (int i = INDEX; i <= TARGETS; i++)
        if (!own[i])
            return arguments_refuse(operation, NULL, 0, "the argument '%s' is missing",
                                    own_parameters[i]);
    return *positional && *named;
}

static PyObject *switch_(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names)
{
    Call call = { .state = state_of_module(module), .operation = "switch" };
    PyObject *own[OWN_COUNT], *positional = NULL, *named = NULL, *result = NULL;
    PyObject *pair = NULL;
    if (!sort_arguments(call.operation, args, nargs, names, own, &positional, &named) ||
        !read_mode(&call, own[MODE_PARAMETER]) ||
        !construct_label(call.operation, own[LABEL], &call.label))
        goto end;
    if (is_integer(call.state, own[INDEX]) &&
        PyDict_GetItemWithError(named, call.state->str_active) == Py_False) {
        result = Py_NewRef(Py_None); /* nobody calls */
    } else if (is_integer(call.state, own[INDEX])) {
        result = call_one(call.operation, own[TARGETS], own[INDEX], positional, named);
    } else if (read_index(&call, own[INDEX]) && read_functions(&call, own[TARGETS]) &&
               take_mask(&call, positional, named) &&
               (pair = PyTuple_Pack(2, positional, named))) {
        result = run(&call, pair);
    }
end:
    drop(&call);
    Py_XDECREF(pair);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return result;
}

/* ---------------------------------------------------------------- dispatch */

/* The instances that there are, by id; None stands where there is none (any more). */
static bool read_instances(Call *call, PyObject *list)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(list);
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        count += PyTuple_GET_ITEM(list, i) != Py_None;
    if (count == 0)
        return error_raise(PyExc_RuntimeError, call->operation, NULL, 0,
                           "there are no instances, expected at least one");
    if (count == n) { /* their ids are 1, 2, ... */
        call->functions = Py_NewRef(list);
        call->instances = call->bound = (uint32_t) n;
        return true;
    }
    call->functions = PyTuple_New(count);
    call->numbers = PyMem_Calloc((size_t) count, sizeof(*call->numbers));
    if (!call->functions || !call->numbers)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *instance = PyTuple_GET_ITEM(list, i);
        if (instance == Py_None)
            continue;
        PyTuple_SET_ITEM(call->functions, call->instances, Py_NewRef(instance));
        call->numbers[call->instances++] = (uint32_t) i + 1;
    }
    call->bound = call->numbers[call->instances - 1];
    return true;
}

/* _dispatch(ids, instances, target, args, kwargs, mode, label): 'args' is a list, whose
 * entries go to the target, and 'instances' a tuple. 'target' may be the name of a
 * method. */
static PyObject *dispatch(PyObject *module, PyObject *args)
{
    Call call = { .state = state_of_module(module), .operation = "dispatch" };
    PyObject *ids, *instances, *list, *named, *mode_object, *label;
    PyObject *positional = NULL, *pair = NULL, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!OO!O!OO", call.state->array_base, &ids,
                          &PyTuple_Type, &instances, &call.target, &PyList_Type, &list,
                          &PyDict_Type, &named, &mode_object, &label))
        return NULL;
    call.index = ((Array *) ids)->info;
    call.backend = (JitBackend) call.index->backend;
    call.ids = jit_var_inc_ref(array_index((Array *) ids));
    if (!call.ids)
        return error_raise(PyExc_RuntimeError, call.operation, NULL, 0,
                           "'inst' is empty, expected at least one entry");
    if (read_mode(&call, mode_object) &&
        construct_label(call.operation, label, &call.label) &&
        (PyUnicode_Check(call.target) ||
         construct_callable(call.operation, "target", call.target)) &&
        read_instances(&call, instances) && (positional = PyList_AsTuple(list)) &&
        take_mask(&call, positional, named) &&
        (pair = PyTuple_Pack(2, positional, named)))
        result = run(&call, pair);
    drop(&call);
    Py_XDECREF(pair);
    Py_XDECREF(positional);
    return result;
}

PyMethodDef call_functions[] = {
    { "switch", METHOD(switch_), METH_FASTCALL | METH_KEYWORDS, DOC_switch },
    { "_dispatch", dispatch, METH_VARARGS,
      "_dispatch(ids, instances, target, args, kwargs, mode, label)\n\nsee "
      "drjit._flow.instances" },
    { NULL, NULL, 0, NULL },
};
