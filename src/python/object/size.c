/*
 * size.c -- see size.h
 */
#include "python/object/size.h"

#include "python/object/error.h"

typedef struct Size {
    PyObject_HEAD
    JitSize handle;
    int64_t value;
} Size;

/* An object with the value of a handle. NULL: exception. */
static PyObject *make(PyTypeObject *cls, JitSize handle)
{
    Size *size = (Size *) cls->tp_alloc(cls, 0);
    if (size) {
        size->handle = handle;
        size->value = jit_freeze_size_value(handle);
    }
    return (PyObject *) size;
}

/* 1, 0; -1: it is no size of what is being recorded now. */
static int test(JitSizeRelation relation, JitSize a, JitSize b)
{
    const int result = a && b ? jit_freeze_size_test(relation, a, b) : -1;
    if (result < 0)
        jit_error_clear();
    return result;
}

/* ---------------------------------------------------------------- handles */

static JitSize without_error(JitSize handle)
{
    if (!handle)
        jit_error_clear();
    return handle;
}

bool size_is_recording(void)
{
    return jit_flag(JitFlagFreezingScope);
}

bool size_is_general(void)
{
    return size_is_recording() && jit_freeze_is_general();
}

bool size_is_known(JitSize handle)
{
    jit_error_clear();
    (void) jit_freeze_size_value(handle);
    const bool known = jit_error() == JIT_OK;
    jit_error_clear();
    return known;
}

JitSize size_of_variable(Leaf leaf)
{
    const JitSize handle = size_is_recording() ? jit_freeze_size(leaf_index(leaf)) : 0;
    if (!handle && size_is_recording())
        size_pin_all();
    return without_error(handle);
}

JitSize size_number(size_t number)
{
    return number > INT64_MAX
               ? 0
               : without_error(jit_freeze_size_constant((int64_t) number));
}

JitSize size_combine(JitSizeOp op, JitSize a, JitSize b)
{
    return a && b ? without_error(jit_freeze_size_op(op, a, b)) : 0;
}

bool size_compare(JitSizeRelation relation, JitSize a, JitSize b)
{
    return test(relation, a, b) >= 0;
}

bool size_stays_many(JitSize handle)
{
    return test(JitSizeNotLess, handle, size_number(2)) > 0;
}

void size_pin(JitSize handle)
{
    if (!handle)
        return;
    const JitSize number = jit_freeze_size_constant(jit_freeze_size_value(handle));
    if (test(JitSizeEqual, handle, number) < 0) /* memory is out, or it is another's */
        size_pin_all();
    jit_error_clear();
}

void size_pin_all(void)
{
    if (!jit_freeze_bind())
        jit_error_clear();
}

void size_next(JitSize handle)
{
    if (handle && !jit_freeze_size_next(handle))
        jit_error_clear();
}

/* ---------------------------------------------------------------- numbers */

/* The number, which the recording depends on from now on. */
static PyObject *bind(const Size *size)
{
    size_pin(size->handle);
    return PyLong_FromLongLong(size->value);
}

static PyObject *size_index(PyObject *self)
{
    return bind((Size *) self);
}

static PyObject *size_float(PyObject *self)
{
    PyObject *number = bind((Size *) self);
    PyObject *result = number ? PyNumber_Float(number) : NULL;
    Py_XDECREF(number);
    return result;
}

static PyObject *size_text(PyObject *self)
{
    PyObject *number = bind((Size *) self);
    PyObject *result = number ? PyObject_Repr(number) : NULL;
    Py_XDECREF(number);
    return result;
}

static Py_hash_t size_hash(PyObject *self)
{
    PyObject *number = bind((Size *) self);
    const Py_hash_t hash = number ? PyObject_Hash(number) : -1;
    Py_XDECREF(number);
    return hash;
}

static int size_bool(PyObject *self)
{
    const Size *size = (Size *) self;
    test(JitSizeEqual, size->handle, jit_freeze_size_constant(0));
    jit_error_clear();
    return size->value != 0;
}

/* ---------------------------------------------------------------- operators */

/* Of two operands one is of the class. */
static PyTypeObject *class_of(PyObject *a, PyObject *b)
{
    return Py_TYPE(a)->tp_as_number &&
                   Py_TYPE(a)->tp_as_number->nb_index == size_index
               ? Py_TYPE(a)
               : Py_TYPE(b);
}

/* The handle of an operand, also of an int; 0: it has none. */
static JitSize handle_of(const PyTypeObject *cls, PyObject *object)
{
    if (Py_TYPE(object) == cls)
        return ((Size *) object)->handle;
    int overflow = 1;
    const long long value =
        PyLong_Check(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
    return overflow ? 0 : jit_freeze_size_constant(value);
}

/* An operand as a number: a new reference. */
static PyObject *number_of(const PyTypeObject *cls, PyObject *object)
{
    return Py_TYPE(object) == cls ? bind((Size *) object) : Py_NewRef(object);
}

static PyObject *plain(const PyTypeObject *cls, PyObject *a, PyObject *b,
                       binaryfunc operation)
{
    PyObject *x = number_of(cls, a), *y = x ? number_of(cls, b) : NULL;
    PyObject *result = y ? operation(x, y) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

/* Arrays have operators of their own. */
static bool beside_array(PyObject *a, PyObject *b)
{
    return array_of(a) || array_of(b);
}

static PyObject *operate(PyObject *a, PyObject *b, JitSizeOp op, binaryfunc operation)
{
    if (beside_array(a, b))
        Py_RETURN_NOTIMPLEMENTED;
    PyTypeObject *cls = class_of(a, b);
    const JitSize x = handle_of(cls, a), y = handle_of(cls, b);
    const JitSize result = size_combine(op, x, y);
    return result ? make(cls, result) : plain(cls, a, b, operation);
}

#define OPERATOR(name, op, operation)                      \
    static PyObject *size_##name(PyObject *a, PyObject *b) \
    {                                                      \
        return operate(a, b, op, operation);               \
    }
OPERATOR(add, JitSizeAdd, PyNumber_Add)
OPERATOR(subtract, JitSizeSub, PyNumber_Subtract)
OPERATOR(multiply, JitSizeMul, PyNumber_Multiply)
OPERATOR(floor_divide, JitSizeDiv, PyNumber_FloorDivide)
OPERATOR(remainder, JitSizeMod, PyNumber_Remainder)
#undef OPERATOR

#define PLAIN(name, operation)                                  \
    static PyObject *size_##name(PyObject *a, PyObject *b)      \
    {                                                           \
        if (beside_array(a, b))                                 \
            Py_RETURN_NOTIMPLEMENTED;                           \
        return plain(class_of(a, b), a, b, operation);          \
    }
PLAIN(true_divide, PyNumber_TrueDivide)
PLAIN(divmod, PyNumber_Divmod)
PLAIN(lshift, PyNumber_Lshift)
PLAIN(rshift, PyNumber_Rshift)
PLAIN(and, PyNumber_And)
PLAIN(or, PyNumber_Or)
PLAIN(xor, PyNumber_Xor)
#undef PLAIN

static PyObject *size_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    PyTypeObject *cls = class_of(a, b);
    if (beside_array(a, b))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *x = number_of(cls, a), *y = x ? number_of(cls, b) : NULL;
    PyObject *result = y ? PyNumber_Power(x, y, modulus) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

#define UNARY(name, operation)                      \
    static PyObject *size_##name(PyObject *self)    \
    {                                               \
        PyObject *number = bind((Size *) self);     \
        PyObject *result = number ? operation(number) : NULL; \
        Py_XDECREF(number);                         \
        return result;                              \
    }
UNARY(negative, PyNumber_Negative)
UNARY(invert, PyNumber_Invert)
#undef UNARY

/* What else an int has: methods, attributes. */
static PyObject *size_getattr(PyObject *self, PyObject *name)
{
    PyObject *result = PyObject_GenericGetAttr(self, name);
    if (result || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return result;
    PyErr_Clear();
    PyObject *number = bind((Size *) self);
    result = number ? PyObject_GetAttr(number, name) : NULL;
    Py_XDECREF(number);
    return result;
}

static PyObject *size_format(PyObject *self, PyObject *text)
{
    PyObject *number = bind((Size *) self);
    PyObject *result = number ? PyObject_Format(number, text) : NULL;
    Py_XDECREF(number);
    return result;
}

/* round(), math.floor(), ... */
static PyObject *size_round(PyObject *self, PyObject *unused)
{
    (void) unused;
    return bind((Size *) self);
}

static PyObject *size_reduce(PyObject *self, PyObject *unused)
{
    (void) unused;
    PyObject *number = bind((Size *) self);
    return number ? Py_BuildValue("O(N)", (PyObject *) &PyLong_Type, number) : NULL;
}

/* isinstance(size, int) */
static PyObject *size_class(PyObject *self, void *unused)
{
    (void) self;
    (void) unused;
    return Py_NewRef((PyObject *) &PyLong_Type);
}

static PyObject *size_itself(PyObject *self)
{
    return Py_NewRef(self);
}

static PyObject *size_richcompare(PyObject *self, PyObject *other, int op)
{
    /* a > b is b < a; the contrary of each relation stands beside it. */
    static const struct {
        JitSizeRelation relation;
        bool turned;
    } as[] = { [Py_LT] = { JitSizeLess, false },  [Py_LE] = { JitSizeNotLess, true },
               [Py_EQ] = { JitSizeEqual, false }, [Py_NE] = { JitSizeNotEqual, false },
               [Py_GT] = { JitSizeLess, true },   [Py_GE] = { JitSizeNotLess, false } };
    PyTypeObject *cls = Py_TYPE(self);
    if (beside_array(self, other))
        Py_RETURN_NOTIMPLEMENTED;
    const JitSize x = handle_of(cls, self), y = handle_of(cls, other);
    const int result = as[op].turned ? test(as[op].relation, y, x)
                                     : test(as[op].relation, x, y);
    jit_error_clear();
    if (result >= 0)
        return PyBool_FromLong(result);
    PyObject *a = number_of(cls, self), *b = a ? number_of(cls, other) : NULL;
    PyObject *compared = b ? PyObject_RichCompare(a, b, op) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return compared;
}

/* ---------------------------------------------------------------- the class */

static void size_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    cls->tp_free(self);
    Py_DECREF(cls);
}

bool size_bind(State *state)
{
    static PyMethodDef methods[] = {
        { "__format__", size_format, METH_O, "as that of int" },
        { "__round__", size_round, METH_NOARGS, "the number" },
        { "__trunc__", size_round, METH_NOARGS, "the number" },
        { "__floor__", size_round, METH_NOARGS, "the number" },
        { "__ceil__", size_round, METH_NOARGS, "the number" },
        { "__reduce__", size_reduce, METH_NOARGS, "a copy is the number" },
        { NULL, NULL, 0, NULL },
    };
    static PyGetSetDef members[] = {
        { "__class__", size_class, NULL, "int", NULL },
        { NULL, NULL, NULL, NULL, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, size_dealloc),
        { Py_tp_methods, methods },
        { Py_tp_getset, members },
        SLOT(Py_tp_getattro, size_getattr),
        SLOT(Py_tp_repr, size_text),
        SLOT(Py_tp_hash, size_hash),
        SLOT(Py_tp_richcompare, size_richcompare),
        SLOT(Py_nb_index, size_index),
        SLOT(Py_nb_int, size_index),
        SLOT(Py_nb_float, size_float),
        SLOT(Py_nb_bool, size_bool),
        SLOT(Py_nb_add, size_add),
        SLOT(Py_nb_subtract, size_subtract),
        SLOT(Py_nb_multiply, size_multiply),
        SLOT(Py_nb_floor_divide, size_floor_divide),
        SLOT(Py_nb_remainder, size_remainder),
        SLOT(Py_nb_true_divide, size_true_divide),
        SLOT(Py_nb_divmod, size_divmod),
        SLOT(Py_nb_lshift, size_lshift),
        SLOT(Py_nb_rshift, size_rshift),
        SLOT(Py_nb_and, size_and),
        SLOT(Py_nb_or, size_or),
        SLOT(Py_nb_xor, size_xor),
        SLOT(Py_nb_power, size_power),
        SLOT(Py_nb_negative, size_negative),
        SLOT(Py_nb_invert, size_invert),
        SLOT(Py_nb_positive, size_itself),
        SLOT(Py_nb_absolute, size_itself),
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "drjit._core._Size",
                         .basicsize = sizeof(Size),
                         .flags =
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots };
    state->size = (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec, NULL);
    return state->size;
}

PyObject *size_object(State *state, JitSize handle, size_t number)
{
    return handle ? make(state->size, handle) : PyLong_FromSize_t(number);
}

PyObject *size_of_leaf(State *state, Leaf leaf, size_t lanes)
{
    if (!leaf || leaf_peek_size(leaf) != lanes || !size_is_recording())
        return PyLong_FromSize_t(lanes);
    const JitSize handle = jit_freeze_size(leaf_index(leaf));
    return handle ? make(state->size, handle) : error_from_core(NULL, NULL, 0);
}

bool size_check(const State *state, PyObject *object)
{
    return Py_TYPE(object) == state->size;
}

PyObject *size_plain(const State *state, PyObject *object)
{
    return size_check(state, object) ? PyLong_FromLongLong(((Size *) object)->value)
                                     : Py_NewRef(object);
}

JitSize size_handle(const State *state, PyObject *object)
{
    const JitSize handle = size_check(state, object) ? ((Size *) object)->handle : 0;
    return handle && size_is_known(handle) ? handle : 0;
}
