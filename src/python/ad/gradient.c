/*
 * gradient.c -- see gradient.h; functions on PyTrees: enable_grad, detach, grad, ...
 */
#include "python/ad/gradient.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/base/warn.h"
#include "python/convert/convert.h"
#include "python/docstrings.h"
#include "python/shape/size.h"
#include "python/tree/tree.h"

/* ---------------------------------------------------------------- arrays */

static VarIndex zeros_like(const TypeInfo *info, VarIndex like)
{
    const uint64_t zero = 0;
    return var_literal_like(info, &zero, like);
}

static VarIndex read_gradient(VarIndex var, void *unused)
{
    (void) unused;
    return ad_grad(var);
}

Array *gradient_get(Array *a, bool preserve_type)
{
    const TypeInfo *info = preserve_type ? a->info : type_detached(a->info);
    Array *result = array_new_like(info, a);
    if (!a->info->jit)
        return result;
    for (size_t i = 0; result && i < array_count(result); i++) {
        const VarIndex var = i < array_count(a) ? array_leaves(a)[i] : 0;
        if (var_is_empty(var))
            continue;
        VarIndex own = gradient_is_float(a->info) && var_node(var)
                       ? evaluate_call(read_gradient, var, NULL)
                       : zeros_like(info, var);
        if (own && !preserve_type)
            own = var_plain(own);
        if (own) {
            array_set_leaf(result, i, own);
        } else {
            error_from_core("grad", &(PyObject *){ (PyObject *) a }, 1);
            Py_CLEAR(result);
        }
    }
    return result;
}

typedef struct Store {
    VarIndex target;
    bool ok;
} Store;

static VarIndex add_gradient(VarIndex value, void *argument)
{
    Store *s = argument;
    s->ok = ad_accum_grad(s->target, value);
    return 0;
}

/* What has become of gradients that were to be stored. */
typedef struct Fate {
    bool stored;
    bool lost; /* one that is not known to be zero, of what is not tracked, and was not
                  suspended where the custom operation was made that runs */
} Fate;

static bool is_zero(VarIndex leaf)
{
    VarInfo info;
    return var_info(leaf, &info) && info.state == VarStateLiteral && info.literal == 0;
}

/* Warn if gradients were lost, and none stored. False: exception. */
static bool warn_of_loss(const char *operation, const Fate *fate)
{
    static const char text[] =
        "the gradient is lost, since the target is not tracked, or suspended; expected "
        "an array that depends on one that drjit.enable_grad() was called for";
    return !fate->lost || fate->stored || warn_user(operation, text);
}

/* A number as the gradient of an ArrayX has one component, which stands for all. */
static VarIndex component(const Array *source, size_t i)
{
    return array_leaves(source)[array_count(source) == 1 ? 0 : i];
}

/* 'source' is of the type of 'a', which messages call by its path in the PyTree. False:
 * exception. */
static bool fits(const char *operation, const char *path, const Array *a,
                 const Array *source)
{
    const char *of = *path ? " of " : "";
    const size_t n = array_count(a);
    if (array_count(source) != n && array_count(source) != 1)
        return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                           "the gradient%s%s has %zu components, expected %zu", of,
                           path, array_count(source), n);
    for (size_t i = 0; i < n && a->info->jit; i++) {
        const VarIndex target = array_leaves(a)[i], value = component(source, i);
        const size_t size = var_node(target) && value ? var_peek_size(target) : 1;
        const size_t given = size != 1 ? var_peek_size(value) : 1;
        if (given != 1 && given != size) {
            char places[VAR_PLACES];
            var_places(value, target, places);
            return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                               "the gradient%s%s has %zu entries, expected %zu or 1%s",
                               of, path, given, size, places);
        }
    }
    return true;
}

static void clear(const Array *a)
{
    for (size_t i = 0; i < array_count(a) && a->info->jit; i++)
        if (ad_grad_enabled(array_leaves(a)[i]))
            ad_clear_grad(array_leaves(a)[i]);
}

/* How gradients are stored. */
enum { STORE_REPLACE = 1, STORE_TRACKED = 2 };

/* 'source' fits. */
static bool accumulate(const char *operation, Array *a, const Array *source, int how,
                       Fate *fate)
{
    bool ok = true;
    for (size_t i = 0; ok && a->info->jit && i < array_count(a); i++) {
        Store s = { var_ref(array_leaves(a)[i]), true };
        const VarIndex given = component(source, i);
        const VarIndex own = how & STORE_TRACKED ? given : var_detached(given);
        const bool tracked = ad_grad_enabled(s.target);
        if (tracked && own)
            evaluate_call(add_gradient, own, &s);
        fate->stored |= tracked;
        fate->lost |= !tracked && own && gradient_is_float(a->info) &&
                      var_peek_size(s.target) && !is_zero(own) &&
                      !ad_scope_suspended_before(s.target);
        var_unref(s.target);
        ok = s.ok;
    }
    if (!ok)
        error_from_core(operation, NULL, 0);
    return ok;
}

/* Components may be one variable, which gets the sum. */
bool gradient_set(const char *operation, Array *a, PyObject *value)
{
    Array *source = convert_to(a->info, value, operation);
    Fate fate = { 0 };
    bool ok = source && fits(operation, "", a, source);
    if (ok) {
        clear(a);
        ok = accumulate(operation, a, source, 0, &fate) &&
             warn_of_loss(operation, &fate);
    }
    Py_XDECREF((PyObject *) source);
    return ok;
}

static Array *detached(const Array *a, bool preserve_type)
{
    const TypeInfo *info = preserve_type ? a->info : type_detached(a->info);
    Array *result = array_new_like(info, a);
    if (!a->info->jit) {
        Py_XDECREF((PyObject *) result);
        return array_copy(a);
    }
    reads_note_copy(a, 0, array_count(a));
    for (size_t i = 0; result && i < array_count(result) && i < array_count(a); i++)
        array_set_leaf(result, i, ad_var_detach(array_leaves(a)[i]));
    return result;
}

/* ---------------------------------------------------------------- PyTrees */

typedef struct Walk {
    State *state;
    const char *operation;
    bool flag;
    bool (*ask)(uint64_t leaf);
} Walk;

/* The array, if it is one whose leaves can be tracked. */
static Array *tracked_array(const Walk *w, PyObject *leaf)
{
    Array *a = array_check(w->state, leaf) ? (Array *) leaf : NULL;
    return a && gradient_is_float(a->info) ? a : NULL;
}

static bool visit_all(Walk *w, PyObject *const *args, Py_ssize_t n, TreeVisit visit)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!tree_visit(w->state, w->operation, args[i], visit, w))
            return false;
    return true;
}

/* The variable with a node, or without. False: the core's error is set. */
static bool set_node(const TypeInfo *info, VarIndex var, bool enabled, VarIndex *own)
{
    if (!var_is_empty(var)) {
        *own = enabled ? ad_var_enable(var) : ad_var_detach(var);
        return *own;
    }
    if (!enabled || var_node(var) || ad_scope_suspends_all()) {
        *own = enabled ? var_ref(var) : 0;
        return true;
    }
    *own = ad_var_track_none((JitBackend) info->backend, (VarType) info->entry);
    return *own;
}

static bool enable_leaf(void *context, PyObject *object)
{
    const Walk *w = context;
    Array *a = tracked_array(w, object);
    for (size_t i = 0; a && i < array_count(a); i++) {
        const VarIndex var = array_leaves(a)[i];
        VarIndex own;
        if (!w->flag && !var_node(var))
            continue;
        if (!set_node(a->info, var, w->flag, &own))
            return error_from_core(w->operation, NULL, 0);
        array_set_leaf(a, i, own);
    }
    return true;
}

static PyObject *set_enabled(PyObject *module, const char *operation,
                             PyObject *const *args, Py_ssize_t n, bool enabled)
{
    Walk w = { state_of_module(module), operation, enabled, NULL };
    if (!visit_all(&w, args, n, enable_leaf))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *enable_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return set_enabled(module, "enable_grad", args, n, true);
}

static PyObject *disable_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return set_enabled(module, "disable_grad", args, n, false);
}

static PyObject *set_grad_enabled(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !PyBool_Check(args[1]))
        return error_raise(PyExc_TypeError, "set_grad_enabled", args, n,
                           "expected a PyTree and a bool");
    return set_enabled(module, "set_grad_enabled", args, 1, args[1] == Py_True);
}

static bool find_any(void *context, PyObject *object)
{
    Walk *w = context;
    Array *a = tracked_array(w, object);
    for (size_t i = 0; a && !w->flag && i < array_count(a); i++)
        w->flag = w->ask(array_leaves(a)[i]);
    return true;
}

static PyObject *grad_enabled(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Walk w = { state_of_module(module), "grad_enabled", false, ad_grad_enabled };
    return visit_all(&w, args, n, find_any) ? PyBool_FromLong(w.flag) : NULL;
}

static PyObject *has_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Walk w = { state_of_module(module), "grad", false, ad_has_grad };
    return visit_all(&w, args, n, find_any) ? PyBool_FromLong(w.flag) : NULL;
}

static bool clear_leaf(void *context, PyObject *object)
{
    Array *a = tracked_array(context, object);
    for (size_t i = 0; a && i < array_count(a); i++)
        ad_clear_grad(array_leaves(a)[i]);
    return true;
}

static PyObject *clear_grad(PyObject *module, PyObject *arg)
{
    Walk w = { state_of_module(module), "clear_grad", false, NULL };
    if (!visit_all(&w, &arg, 1, clear_leaf))
        return NULL;
    Py_RETURN_NONE;
}

/* grad(3.0) is 0.0; what is not a number stays itself. */
static PyObject *grad_leaf(void *context, PyObject *const *leaves)
{
    const Walk *w = context;
    if (array_check(w->state, leaves[0]))
        return array_finish(gradient_get((Array *) leaves[0], w->flag), leaves,
                            w->flag);
    if (PyFloat_Check(leaves[0]))
        return PyFloat_FromDouble(0);
    return size_is_int(leaves[0]) ? PyLong_FromLong(0) : Py_NewRef(leaves[0]);
}

static PyObject *detach_leaf(void *context, PyObject *const *leaves)
{
    const Walk *w = context;
    if (!array_check(w->state, leaves[0]))
        return Py_NewRef(leaves[0]);
    return array_finish(detached((Array *) leaves[0], w->flag), leaves, w->flag);
}

static PyObject *map_preserving(PyObject *module, const char *operation,
                                PyObject *const *args, Py_ssize_t nargs,
                                PyObject *names, TreeMap map)
{
    static const char *const parameters[] = { "arg", "preserve_type" };
    const Signature signature = { operation, parameters, 2, 1, 0 };
    PyObject *v[2];
    Walk w = { state_of_module(module), operation, true, NULL };
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !arguments_bool(operation, "preserve_type", v[1], true, &w.flag))
        return NULL;
    return tree_map(w.state, operation, v, 1, map, &w);
}

static PyObject *grad(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    return map_preserving(module, "grad", args, nargs, names, grad_leaf);
}

static PyObject *detach(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    return map_preserving(module, "detach", args, nargs, names, detach_leaf);
}

/* All is converted and looked at before anything is stored, and cleared before anything
 * is added: a variable may occur several times. */
static bool store(State *state, const char *operation, const Tree *target, Tree *source,
                  int how)
{
    for (size_t i = 0; i < target->leaf_count; i++) {
        if (!array_check(state, target->leaves[i]))
            continue;
        const Array *like = (Array *) target->leaves[i];
        Array *own = convert_to(like->info, source->leaves[i], operation);
        if (!own)
            return false;
        Py_SETREF(source->leaves[i], (PyObject *) own);
        PyObject *path = tree_leaf_path(target, i);
        const char *name = path ? PyUnicode_AsUTF8(path) : NULL;
        const bool ok = name && fits(operation, name, like, own);
        Py_XDECREF(path);
        if (!ok)
            return false;
    }
    Fate fate = { 0 };
    for (size_t i = 0; i < target->leaf_count && how & STORE_REPLACE; i++)
        if (array_check(state, target->leaves[i]))
            clear((Array *) target->leaves[i]);
    for (size_t i = 0; i < target->leaf_count; i++)
        if (array_check(state, target->leaves[i]) &&
            !accumulate(operation, (Array *) target->leaves[i],
                        (Array *) source->leaves[i], how, &fate))
            return false;
    return warn_of_loss(operation, &fate);
}

static PyObject *store_tree(PyObject *module, const char *operation,
                            PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                            int how)
{
    static const char *const parameters[] = { "target", "source" };
    const Signature signature = { operation, parameters, 2, 2, 0 };
    PyObject *v[2];
    State *state = state_of_module(module);
    Tree target = { 0 }, source = { 0 };
    bool ok = arguments_parse(&signature, args, nargs, names, v) &&
              tree_flatten(state, operation, v[0], &target) &&
              tree_flatten_like(state, operation, &target, v[1], &source) &&
              store(state, operation, &target, &source, how);
    tree_free(&target);
    tree_free(&source);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_grad(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *names)
{
    return store_tree(module, "set_grad", args, nargs, names, STORE_REPLACE);
}

/* _set_tracked_grad(target, source): gradients that have derivatives keep these. */
static PyObject *set_tracked_grad(PyObject *module, PyObject *const *args,
                                  Py_ssize_t nargs, PyObject *names)
{
    return store_tree(module, "set_grad", args, nargs, names,
                      STORE_REPLACE | STORE_TRACKED);
}

static PyObject *accum_grad(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names)
{
    return store_tree(module, "accum_grad", args, nargs, names, 0);
}

/* _enter(arg): see ad_var_enter(). */
static PyObject *enter(PyObject *module, PyObject *arg)
{
    if (!array_check(state_of_module(module), arg) || !((Array *) arg)->info->jit ||
        !ad_in_body())
        return Py_NewRef(arg);
    const Array *a = (const Array *) arg;
    Array *result = array_new_like(a->info, a);
    for (size_t i = 0; result && i < array_count(a); i++) {
        const VarIndex own = ad_var_enter(array_leaves(a)[i]);
        array_set_leaf(result, i, own);
        if (!own && array_leaves(a)[i]) {
            error_from_core("backward", &arg, 1);
            Py_CLEAR(result);
        }
    }
    return (PyObject *) result;
}

/* The value of x with the node of y, one of which has no entries. */
static bool without_entries(const TypeInfo *info, VarIndex x, VarIndex y, VarIndex *own)
{
    if (var_is_empty(x))
        return var_none(info, 1, &y, own);
    *own = var_of_none(var_plain(var_ref(x)), 1, &y);
    return *own;
}

/* _replace_grad(a, b): arrays of one type. */
static PyObject *replace_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    State *state = state_of_module(module);
    if (n != 2 || !array_check(state, args[0]) || !array_check(state, args[1]) ||
        ((Array *) args[0])->info != ((Array *) args[1])->info ||
        array_count((Array *) args[0]) != array_count((Array *) args[1]))
        return error_raise(PyExc_TypeError, "replace_grad", args, n,
                           "expected two arrays of one type and shape");
    Array *a = (Array *) args[0], *b = (Array *) args[1];
    if (!gradient_is_float(a->info))
        return Py_NewRef(args[0]);
    Array *result = array_new_like(a->info, a);
    for (size_t i = 0; result && i < array_count(a); i++) {
        const VarIndex x = array_leaves(a)[i], y = array_leaves(b)[i];
        VarIndex own = 0;
        const bool ok = var_is_empty(x) || var_is_empty(y)
                            ? without_entries(a->info, x, y, &own)
                            : (own = ad_var_replace_grad(x, y)) != 0;
        if (!ok) {
            error_from_core("replace_grad", args, n);
            Py_CLEAR(result);
        } else {
            array_set_leaf(result, i, own);
        }
    }
    return (PyObject *) result;
}

#define FAST METH_FASTCALL | METH_KEYWORDS

PyMethodDef gradient_functions[] = {
    { "enable_grad", METHOD(enable_grad), METH_FASTCALL, DOC_enable_grad },
    { "disable_grad", METHOD(disable_grad), METH_FASTCALL, DOC_disable_grad },
    { "set_grad_enabled", METHOD(set_grad_enabled), METH_FASTCALL,
      DOC_set_grad_enabled },
    { "grad_enabled", METHOD(grad_enabled), METH_FASTCALL, DOC_grad_enabled },
    { "detach", METHOD(detach), FAST, DOC_detach },
    { "grad", METHOD(grad), FAST, DOC_grad },
    { "set_grad", METHOD(set_grad), FAST, DOC_set_grad },
    { "accum_grad", METHOD(accum_grad), FAST, DOC_accum_grad },
    { "_set_tracked_grad", METHOD(set_tracked_grad), FAST,
      "_set_tracked_grad(target, source)\n\nThe same with derivatives of 'source'." },
    { "clear_grad", METHOD(clear_grad), METH_O, DOC_clear_grad },
    { "_has_grad", METHOD(has_grad), METH_FASTCALL,
      "_has_grad(*args)\n\nWas a gradient stored in any array?" },
    { "_enter", METHOD(enter), METH_O,
      "_enter(arg, /)\n\nAn array from before the body, as one of the body: see "
      "ad_var_enter()" },
    { "_replace_grad", METHOD(replace_grad), METH_FASTCALL,
      "_replace_grad(a, b)\n\nsee drjit.replace_grad" },
    { NULL, NULL, 0, NULL },
};
