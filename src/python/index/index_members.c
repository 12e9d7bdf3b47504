/*
 * index_members.c -- properties and methods of ArrayBase: x, shape, T, label, item, ...
 */
#include "python/array/reads.h"
#include "python/index/index.h"
#include "python/shape/shape.h"

#include "python/ad/gradient.h"
#include "python/array/evaluate.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/convert/value.h"
#include "python/docstrings.h"
#include "python/type/enums.h"

static const TypeInfo *type_at(const Array *a, uint16_t id)
{
    return &a->info->state->types[id];
}

/* ---------------------------------------------------------------- components */

static bool has_component(const Array *a, long i)
{
    const TypeInfo *info = a->info;
    return (info->kind == KIND_ARRAY || info->kind == KIND_QUATERNION) &&
           !info->dynamic && i < info->dims[0];
}

static void fail_component(const Array *a, long i)
{
    error_raise_both("AttributeError", NULL, NULL, 0,
                     "%s.%c: there is no such component", a->info->name, "xyzw"[i]);
}

static PyObject *get_component(PyObject *self, void *closure)
{
    Array *a = (Array *) self;
    const long i = (long) (intptr_t) closure;
    if (has_component(a, i))
        return index_get_item(a, i);
    fail_component(a, i);
    return NULL;
}

static int set_component(PyObject *self, PyObject *value, void *closure)
{
    Array *a = (Array *) self;
    const long i = (long) (intptr_t) closure;
    if (!value) {
        error_raise(PyExc_AttributeError, ".__delattr__", &self, 1,
                    "a component cannot be deleted");
        return -1;
    }
    if (has_component(a, i))
        return index_set_item(a, i, value);
    fail_component(a, i);
    return -1;
}

/* Real and imaginary part: of a complex number its components, of a quaternion w and
 * (x, y, z); all other arrays are real. */

static const TypeInfo *imaginary_vector(const Array *a)
{
    return type_at(a, type_find((Family) a->info->family, KIND_ARRAY, 1,
                                (const int8_t[]){ 3 }, (VarType) a->info->entry));
}

static PyObject *get_real(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    switch (a->info->kind) {
    case KIND_COMPLEX:
        return index_get_item(a, 0);
    case KIND_QUATERNION:
        return index_get_item(a, 3);
    default:
        return Py_NewRef(self);
    }
}

/* Zeros of the same type and shape. */
static PyObject *zeros_of(Array *a, const char *operation)
{
    Array *result = array_new_like(a->info, a);
    const size_t n = result && a->info->jit ? array_count(a) : 0;
    for (size_t i = 0; i < n && result; i++) {
        const uint64_t bits = 0;
        const VarIndex like = array_leaves(a)[i];
        if (var_is_empty(like))
            continue;
        const VarIndex zero = var_literal_like(a->info, &bits, like);
        array_set_leaf(result, i, zero);
        if (!zero) {
            error_from_core(operation, &(PyObject *){ (PyObject *) a }, 1);
            Py_CLEAR(result);
        }
    }
    return (PyObject *) result;
}

/* The first components; changing them changes nothing else. */
static PyObject *copy_of_part(Array *a, const TypeInfo *part)
{
    Array *view = array_view(a, part, 0);
    Array *copy = view ? array_copy(view) : NULL;
    Py_XDECREF((PyObject *) view);
    return (PyObject *) copy;
}

static PyObject *get_imag(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    switch (a->info->kind) {
    case KIND_COMPLEX:
        return index_get_item(a, 1);
    case KIND_QUATERNION:
        return copy_of_part(a, imaginary_vector(a));
    default:
        return zeros_of(a, "imag");
    }
}

static PyObject *get_grad(PyObject *self, void *closure)
{
    (void) closure;
    return (PyObject *) gradient_get((Array *) self, true);
}

static int set_grad(PyObject *self, PyObject *value, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    if (!value) {
        error_raise_both("AttributeError", NULL, NULL, 0, "%s.grad: cannot be deleted",
                         a->info->name);
        return -1;
    }
    return gradient_set("set_grad", a, value) ? 0 : -1;
}

static int set_part(PyObject *self, PyObject *value, bool real)
{
    Array *a = (Array *) self;
    if (!value || (a->info->kind != KIND_COMPLEX && a->info->kind != KIND_QUATERNION)) {
        error_raise_both("AttributeError", NULL, NULL, 0,
                         "%s.%s: only complex numbers and quaternions have this part",
                         a->info->name, real ? "real" : "imag");
        return -1;
    }
    if (a->info->kind == KIND_COMPLEX || real)
        return index_set_item(a, a->info->kind == KIND_COMPLEX ? !real : 3, value);
    Array *vector = convert_to(imaginary_vector(a), value, "imag");
    for (size_t i = 0; i < 3 && vector; i++)
        value_store(a, i, value_of(vector, i));
    Py_XDECREF((PyObject *) vector);
    return vector ? 0 : -1;
}

static int set_real(PyObject *self, PyObject *value, void *closure)
{
    (void) closure;
    return set_part(self, value, true);
}

static int set_imag(PyObject *self, PyObject *value, void *closure)
{
    (void) closure;
    return set_part(self, value, false);
}

/* ---------------------------------------------------------------- extents, storage */

static PyObject *get_shape(PyObject *self, void *closure)
{
    (void) closure;
    return shape_of_array((Array *) self, "shape");
}

static PyObject *get_ndim(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    return PyLong_FromLong(a->info->kind == KIND_TENSOR ? (long) array_tensor(a)->ndim
                                                        : a->info->ndim + a->info->jit);
}

static PyObject *get_array(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    const TypeInfo *plain = type_at(a, a->info->array);
    if (a->info->kind == KIND_TENSOR)
        return (PyObject *) array_view(a, plain, 0);
    return type_is_special(a->info) ? (PyObject *) convert_array(plain, a, "array")
                                    : Py_NewRef(self);
}

/* ---------------------------------------------------------------- transpose */

/* Of a matrix: rows and columns exchanged. */
static PyObject *transpose_matrix(Array *a)
{
    const size_t n = (size_t) a->info->dims[0], step = a->info->leaves / (n * n);
    Array *result = array_new(a->info);
    for (size_t i = 0; i < n && result; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < step; k++)
                value_store(result, (i * n + j) * step + k,
                            value_of(a, (j * n + i) * step + k));
    return (PyObject *) result;
}

static PyObject *transpose(PyObject *self, void *closure)
{
    Array *a = (Array *) self;
    const bool last_two = closure;
    if (a->info->kind == KIND_MATRIX)
        return transpose_matrix(a);
    if (a->info->kind != KIND_TENSOR)
        return error_raise_both("AttributeError", NULL, NULL, 0,
                                "%s.%s: expected a matrix or a tensor", a->info->name,
                                last_two ? "mT" : "T");
    const size_t rank = array_tensor(a)->ndim;
    if (rank != 2 && !last_two)
        return error_raise_both(
            "AttributeError", NULL, NULL, 0,
            "%s.T: the tensor has %zu axes, expected 2; '.mT' transposes the last two "
            "of more axes",
            a->info->name, rank);
    if (rank < 2)
        return error_raise_both("AttributeError", NULL, NULL, 0,
                                "%s.mT: the tensor has %zu axes, expected at least 2",
                                a->info->name, rank);
    return (PyObject *) tensor_transpose(a);
}

/* ---------------------------------------------------------------- trace */

static PyObject *get_index(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    return PyLong_FromUnsignedLong(
        a->info->kind == KIND_FLAT ? var_number(array_var(a)) : 0);
}

static PyObject *get_index_ad(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    return PyLong_FromUnsignedLong(
        a->info->kind == KIND_FLAT ? var_node(array_var(a)) : 0);
}

/* The common state of the leaves, Mixed if they differ. */
static VarState state_of(const Array *a)
{
    VarState state = VarStateInvalid;
    const size_t n = a->info->jit ? array_count(a) : 0;
    for (size_t i = 0; i < n; i++) {
        const VarIndex index = array_leaves(a)[i];
        const VarState other = index ? var_state(index) : VarStateInvalid;
        if (i && other != state)
            return VarStateMixed;
        state = other;
    }
    return state;
}

static PyObject *get_state(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    return enum_make(a->info->state, "VarState", state_of(a));
}

static bool is_one_variable(const Array *a)
{
    return a->info->jit && array_count(a) == 1;
}

static PyObject *get_label(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    const VarIndex index = is_one_variable(a) ? array_var(a) : 0;
    const char *label = !var_is_empty(index) ? var_label(index) : NULL;
    if (label)
        return PyUnicode_FromString(label);
    /* Without a label: in debug mode, the line that made it. */
    uint32_t line = 0;
    const char *file = !var_is_empty(index) ? var_location(index, &line) : NULL;
    return file ? PyUnicode_FromFormat("%s:%u", file, line) : Py_NewRef(Py_None);
}

/* The only variable gets the label, the components of others label_0, label_1, ... */
static int set_label(PyObject *self, PyObject *value, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    const bool none = !value || value == Py_None;
    if (!none && !PyUnicode_Check(value)) {
        error_raise(PyExc_TypeError, "set_label", &self, 1,
                    "the label is of type %s, expected a str or None",
                    Py_TYPE(value)->tp_name);
        return -1;
    }
    const char *label = none ? NULL : PyUnicode_AsUTF8(value);
    if (!none && !label)
        return -1;
    const size_t n = a->info->jit ? array_count(a) : 0;
    for (size_t i = 0; i < n; i++) {
        const VarIndex index = array_leaves(a)[i];
        PyObject *numbered = label && !is_one_variable(a)
                                 ? PyUnicode_FromFormat("%s_%zu", label, i)
                                 : NULL;
        const char *text = numbered ? PyUnicode_AsUTF8(numbered) : label;
        const bool named = text || none;
        const bool empty = var_is_empty(index);
        const VarIndex labelled = empty    ? var_ref(index)
                              : named ? var_labelled(index, text)
                                      : 0;
        Py_XDECREF(numbered);
        if (!empty && !labelled) {
            if (!PyErr_Occurred())
                error_from_core("set_label", &self, 1);
            return -1;
        }
        array_set_leaf(a, i, labelled);
    }
    return 0;
}

/* ---------------------------------------------------------------- one entry */

/* Is there exactly one entry? */
static size_t entry_count(const Array *a)
{
    size_t entries = a->info->jit ? 0 : array_count(a);
    for (size_t i = 0; a->info->jit && i < array_count(a); i++)
        entries += array_leaves(a)[i] ? var_size(array_leaves(a)[i]) : 0;
    return entries;
}

static PyObject *item(PyObject *self, PyObject *unused)
{
    (void) unused;
    Array *a = (Array *) self;
    uint64_t bits = 0;
    if (array_count(a) != 1 || entry_count(a) != 1)
        return error_raise(PyExc_RuntimeError, ".item", &self, 1,
                           "the array has %zu entries, expected exactly one",
                           entry_count(a));
    if (a->info->jit) {
        reads_note_whole(a);
        if (!evaluate_read(array_var(a), 0, &bits))
            return error_from_core(".item", &self, 1);
    } else {
        bits = value_of(a, 0);
    }
    return convert_entry((VarType) a->info->entry, &bits);
}

/* ---------------------------------------------------------------- tables */

/* Notebooks ask for these; drjit._text.notebook answers. */
static PyObject *shown(PyObject *self, const char *function)
{
    PyObject *module = PyImport_ImportModule("drjit._text.notebook");
    PyObject *result = module ? PyObject_CallMethod(module, function, "O", self) : NULL;
    Py_XDECREF(module);
    return result;
}

static PyObject *repr_html(PyObject *self, PyObject *unused)
{
    (void) unused;
    return shown(self, "as_html");
}

static PyObject *repr_png(PyObject *self, PyObject *unused)
{
    (void) unused;
    return shown(self, "as_png");
}

/* ---------------------------------------------------------------- array API */

/* Members that the Python array API standard asks for; only tensors have them, since
 * its arrays have a shape of any length and are indexed by all axes. */

static bool has_member(const Array *a, const char *member)
{
    if (a->info->kind == KIND_TENSOR)
        return true;
    error_raise_both("AttributeError", NULL, NULL, 0, "%s.%s: expected a tensor",
                     a->info->name, member);
    return false;
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    if (!has_member(a, "dtype"))
        return NULL;
    return enum_make(a->info->state, "VarType", (int) a->info->entry);
}

static PyObject *get_device(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    if (!has_member(a, "device"))
        return NULL;
    return PyUnicode_FromString(a->info->place == PLACE_HOST ? "cpu" : "gpu");
}

static PyObject *get_size(PyObject *self, void *closure)
{
    (void) closure;
    Array *a = (Array *) self;
    return has_member(a, "size") ? PyLong_FromSize_t(entry_count(a)) : NULL;
}

/* drjit.array_api answers. */
static PyObject *answered(PyObject *self, PyObject *args, PyObject *names,
                          const char *function)
{
    Array *a = (Array *) self;
    if (a->info->kind != KIND_TENSOR)
        return error_raise(PyExc_TypeError, function, &self, 1, "expected a tensor");
    PyObject *module = PyImport_ImportModule("drjit.array_api");
    PyObject *part = module ? PyObject_GetAttrString(module, "_info") : NULL;
    PyObject *called = part ? PyObject_GetAttrString(part, function + 1) : NULL;
    PyObject *bound = called ? PyMethod_New(called, self) : NULL;
    PyObject *result = bound ? PyObject_Call(bound, args, names) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(part);
    Py_XDECREF(called);
    Py_XDECREF(bound);
    return result;
}

static PyObject *array_namespace(PyObject *self, PyObject *args, PyObject *names)
{
    return answered(self, args, names, ".__array_namespace__");
}

static PyObject *to_device(PyObject *self, PyObject *args, PyObject *names)
{
    return answered(self, args, names, ".to_device");
}

#define ANSWERED(function) (PyCFunction) (void (*)(void)) function
#define ANSWERED_FLAGS METH_VARARGS | METH_KEYWORDS

PyMethodDef index_methods[] = {
    { "__array_namespace__", ANSWERED(array_namespace), ANSWERED_FLAGS,
      DOC_ArrayBase___array_namespace__ },
    { "to_device", ANSWERED(to_device), ANSWERED_FLAGS, DOC_ArrayBase_to_device },
    { "_repr_html_", repr_html, METH_NOARGS, DOC_ArrayBase__repr_html_ },
    { "_repr_png_", repr_png, METH_NOARGS, DOC_ArrayBase__repr_png_ },
    { "item", item, METH_NOARGS, DOC_ArrayBase_item },
    { "__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
      "__class_getitem__($type, item, /)\n--\n\nArrayBase[...]: for type "
      "annotations." },
    { NULL, NULL, 0, NULL },
};

#define COMPONENT(name, i)                                                      \
    {                                                                           \
        #name, get_component, set_component, DOC_ArrayBase_##name,              \
            (void *) (intptr_t) i                                               \
    }

PyGetSetDef index_getset[] = {
    COMPONENT(x, 0),
    COMPONENT(y, 1),
    COMPONENT(z, 2),
    COMPONENT(w, 3),
    { "real", get_real, set_real, DOC_ArrayBase_real, NULL },
    { "imag", get_imag, set_imag, DOC_ArrayBase_imag, NULL },
    { "grad", get_grad, set_grad, DOC_ArrayBase_grad, NULL },
    { "shape", get_shape, NULL, DOC_ArrayBase_shape, NULL },
    { "size", get_size, NULL, DOC_ArrayBase_size, NULL },
    { "dtype", get_dtype, NULL, DOC_ArrayBase_dtype, NULL },
    { "device", get_device, NULL, DOC_ArrayBase_device, NULL },
    { "ndim", get_ndim, NULL, DOC_ArrayBase_ndim, NULL },
    { "array", get_array, NULL, DOC_ArrayBase_array, NULL },
    { "T", transpose, NULL, DOC_ArrayBase_T, NULL },
    { "mT", transpose, NULL, DOC_ArrayBase_mT, (void *) (intptr_t) 1 },
    { "index", get_index, NULL, DOC_ArrayBase_index, NULL },
    { "index_ad", get_index_ad, NULL, DOC_ArrayBase_index_ad, NULL },
    { "state", get_state, NULL, DOC_ArrayBase_state, NULL },
    { "label", get_label, set_label, DOC_ArrayBase_label, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
