/*
 * atomic.c -- scatters that return what they replaced, and compensated additions
 *
 * The core may have to copy the target first. It then takes over the reference that the
 * array holds and hands back another, which is stored as it is.
 */
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/memory/gather.h"

/* An array with one variable of a backend; 'entry' restricts its type (Void: any). */
static Array *check_target(State *state, const char *operation, const char *name,
                           PyObject *object, VarType entry)
{
    if (!array_check(state, object)) {
        error_raise(PyExc_TypeError, operation, NULL, 0,
                    "'%s' is of type %s, expected an array", name,
                    Py_TYPE(object)->tp_name);
        return NULL;
    }
    Array *a = (Array *) object;
    const char *type = entry == VarTypeUInt32 ? "32 bit unsigned integer " : "1D ";
    if (!a->info->jit || a->info->kind != KIND_FLAT ||
        (entry != VarTypeVoid && a->info->entry != entry)) {
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "'%s' is of type %s, expected a just-in-time compiled %sarray",
                    name, a->info->name, type);
        return NULL;
    }
    if (var_is_empty(array_var(a))) {
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "'%s' is empty, expected at least one entry", name);
        return NULL;
    }
    return a;
}

static Array *convert_operand(const char *operation, const char *name,
                              const Array *target, PyObject *object)
{
    Array *converted = convert_to(target->info, object, operation);
    if (!converted && !PyErr_ExceptionMatches(PyExc_MemoryError))
        error_raise(PyExc_TypeError, operation, NULL, 0,
                    "'%s' is of type %s, expected something that can be converted to "
                    "%s",
                    name, Py_TYPE(object)->tp_name, target->info->name);
    return converted;
}

typedef enum Kinds { INC, EXCHANGE, COMPARE, KAHAN } Kinds;

/* What an operation works on; variables are owned by the arrays they come from. */
typedef struct Atomic {
    Kinds kind;
    Array *targets[2]; /* borrowed */
    Array *compare, *value;
    VarIndex out[2];
} Atomic;

static bool run(const Access *a, Atomic *t, Array *index, Array *mask)
{
    VarIndex *leaf = array_leaves(t->targets[0]);
    VarIndex target = *leaf, second = 0;
    VarIndex position = array_var(index), active = mask ? array_var(mask) : 0;
    VarIndex value = t->value ? array_var(t->value) : 0;
    bool ok = false;
    if (mask && var_is_empty(active))
        return error_raise(PyExc_RuntimeError, a->operation, NULL, 0,
                           "'active' is empty, expected at least one entry");
    if (t->kind == INC) {
        ok = (t->out[0] = var_scatter_inc(&target, position, active)) != 0;
    } else if (t->kind == EXCHANGE) {
        ok = (t->out[0] = var_scatter_exchange(&target, value, position, active)) != 0;
    } else if (t->kind == COMPARE) {
        ok = var_scatter_cas(&target, array_var(t->compare), value, position, active,
                             t->out);
    } else {
        VarIndex *other = array_leaves(t->targets[1]);
        second = *other;
        ok = var_scatter_add_kahan(&target, &second, value, position, active);
        *other = second;
    }
    *leaf = target;
    if (!ok)
        error_from_core(a->operation, NULL, 0);
    return ok;
}

/* What lanes find in memory depends on the order in which they come. */
static bool check_plain(const char *operation, const Atomic *t)
{
    const Array *const operands[] = { t->targets[0], t->compare, t->value };
    static const char *const names[] = { "target", "compare", "value" };
    const size_t count = t->kind == KAHAN ? 0 : sizeof(operands) / sizeof(*operands);
    for (size_t i = 0; i < count; i++)
        if (operands[i] && ad_grad_enabled(array_var((Array *) operands[i])))
            return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                               "'%s' is tracked, and this operation has no derivative; "
                               "expected an array without, see drjit.detach()",
                               names[i]);
    return true;
}

static bool perform(State *state, const char *operation, Atomic *t,
                    PyObject *index_object, PyObject *active)
{
    Access access;
    Array *index, *mask;
    access_start(&access, state, operation, index_object, active);
    bool ok = check_plain(operation, t) &&
              reads_check_write(operation, t->targets[0]) &&
              (!t->targets[1] || reads_check_write(operation, t->targets[1])) &&
              access_use(&access, t->targets[0]->info, &index, &mask) &&
              gather_prepare_target(operation, array_var(t->targets[0])) &&
              (!t->targets[1] ||
               gather_prepare_target(operation, array_var(t->targets[1]))) &&
              run(&access, t, index, mask);
    access_end(&access);
    Py_CLEAR(t->compare);
    Py_CLEAR(t->value);
    return ok;
}

static const TypeInfo *mask_info(State *state, const Array *a)
{
    return &state->types[a->info->mask];
}

PyObject *atomic_inc(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *names)
{
    static const char *const parameters[] = { "target", "index", "active" };
    static const Signature signature = { "scatter_inc", parameters, 3, 2, 0 };
    State *state = state_of_module(module);
    PyObject *v[3];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Atomic t = { .kind = INC };
    t.targets[0] = check_target(state, "scatter_inc", "target", v[0], VarTypeUInt32);
    if (!t.targets[0] || !perform(state, "scatter_inc", &t, v[1], v[2]))
        return NULL;
    return (PyObject *) array_new_leaf(&state->types[t.targets[0]->info->id], t.out[0]);
}

PyObject *atomic_exch(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    static const char *const parameters[] = { "target", "value", "index", "active" };
    static const Signature signature = { "scatter_exch", parameters, 4, 3, 0 };
    State *state = state_of_module(module);
    PyObject *v[4];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Atomic t = { .kind = EXCHANGE };
    t.targets[0] = check_target(state, "scatter_exch", "target", v[0], VarTypeVoid);
    t.value = t.targets[0]
                  ? convert_operand("scatter_exch", "value", t.targets[0], v[1])
                  : NULL;
    if (!t.value || !perform(state, "scatter_exch", &t, v[2], v[3]))
        return NULL;
    return (PyObject *) array_new_leaf(t.targets[0]->info, t.out[0]);
}

PyObject *atomic_cas(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *names)
{
    static const char *const parameters[] = { "target", "compare", "value", "index",
                                              "active" };
    static const Signature signature = { "scatter_cas", parameters, 5, 4, 0 };
    State *state = state_of_module(module);
    PyObject *v[5];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Atomic t = { .kind = COMPARE };
    Array *target = check_target(state, "scatter_cas", "target", v[0], VarTypeVoid);
    t.targets[0] = target;
    t.compare = target ? convert_operand("scatter_cas", "compare", target, v[1]) : NULL;
    t.value = t.compare ? convert_operand("scatter_cas", "value", target, v[2]) : NULL;
    if (!t.value) {
        Py_CLEAR(t.compare);
        return NULL;
    }
    if (!perform(state, "scatter_cas", &t, v[3], v[4]))
        return NULL;
    Array *old = array_new_leaf(target->info, t.out[0]);
    Array *success = array_new_leaf(mask_info(state, target), t.out[1]);
    PyObject *result =
        old && success ? PyTuple_Pack(2, (PyObject *) old, (PyObject *) success) : NULL;
    Py_XDECREF(old);
    Py_XDECREF(success);
    return result;
}

PyObject *atomic_add_kahan(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *names)
{
    static const char *const parameters[] = { "target_1", "target_2", "value", "index",
                                              "active" };
    static const char operation[] = "scatter_add_kahan";
    static const Signature signature = { operation, parameters, 5, 4, 0 };
    State *state = state_of_module(module);
    PyObject *v[5];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Atomic t = { .kind = KAHAN };
    for (int i = 0; i < 2; i++) {
        t.targets[i] = check_target(state, operation, parameters[i], v[i], VarTypeVoid);
        if (!t.targets[i])
            return NULL;
    }
    if (t.targets[0]->info != t.targets[1]->info)
        return error_raise(PyExc_TypeError, operation, v, 2,
                           "the targets have different types, expected two of the same "
                           "type");
    if (array_leaves(t.targets[0]) == array_leaves(t.targets[1]))
        return error_raise(PyExc_ValueError, operation, v, 2,
                           "the targets are the same array, expected two different "
                           "ones");
    t.value = convert_operand(operation, "value", t.targets[0], v[2]);
    if (!t.value || !perform(state, operation, &t, v[3], v[4]))
        return NULL;
    Py_RETURN_NONE;
}
