/*
 * size.c -- see size.h
 */
#include "python/object/size.h"

#include "python/object/error.h"
#include "python/object/tables.h"

typedef struct Size {
    PyObject_HEAD
    JitSize handle;
    int64_t value;
    State *state;
    struct Size **place, *next; /* State.sizes: who points to it, who is next */
} Size;

static PyObject *size_index(PyObject *self);

bool size_is(PyObject *object)
{
    const PyNumberMethods *number = Py_TYPE(object)->tp_as_number;
    return number && number->nb_index == size_index;
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

JitSize size_constant(int64_t value)
{
    return without_error(jit_freeze_size_constant(value));
}

JitSize size_number(size_t number)
{
    return number > INT64_MAX ? 0 : size_constant((int64_t) number);
}

Leaf size_leaf(JitBackend backend, JitSize handle)
{
    return leaf_of(jit_freeze_size_var(backend, handle));
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
    if (test(JitSizeEqual, handle, number) < 0) /* out of memory, or it is another's */
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

/* ---------------------------------------------------------------- objects */

/* What a thread does with sizes while it records: an int in the dictionary of the
 * thread. */
enum { NONE_MADE, SOME_MADE, NUMBERS };

static long mode_of(const State *state)
{
    PyObject *own = PyThreadState_GetDict(); /* borrowed */
    PyObject *mode = own ? PyDict_GetItemWithError(own, state->str_sizes) : NULL;
    return mode ? PyLong_AsLong(mode) : NONE_MADE;
}

static bool set_mode(const State *state, long mode)
{
    PyObject *own = PyThreadState_GetDict(), *number = PyLong_FromLong(mode);
    const bool ok = own && number && PyDict_SetItem(own, state->str_sizes, number) == 0;
    Py_XDECREF(number);
    if (!ok && !PyErr_Occurred())
        PyErr_NoMemory();
    return ok;
}

bool size_begin(const State *state, bool numbers)
{
    return set_mode(state, numbers ? NUMBERS : NONE_MADE);
}

/* An object with the value of a handle, or the number. NULL: exception. */
static PyObject *make(State *state, JitSize handle)
{
    const long mode = mode_of(state);
    if (mode == NUMBERS) {
        size_pin(handle);
        return PyLong_FromLongLong(jit_freeze_size_value(handle));
    }
    if (PyErr_Occurred() || (mode == NONE_MADE && !set_mode(state, SOME_MADE)))
        return NULL;
    Size *size = (Size *) state->size->tp_alloc(state->size, 0);
    if (!size)
        return NULL;
    size->handle = handle;
    size->value = jit_freeze_size_value(handle);
    size->state = state;
    size->place = &state->sizes;
    size->next = state->sizes;
    if (size->next)
        size->next->place = &size->next;
    state->sizes = size;
    state->references++;
    return (PyObject *) size;
}

static void size_dealloc(PyObject *self)
{
    Size *size = (Size *) self;
    PyTypeObject *cls = Py_TYPE(self);
    State *state = size->state;
    PyObject_GC_UnTrack(self);
    *size->place = size->next;
    if (size->next)
        size->next->place = size->place;
    cls->tp_free(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int size_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

PyObject *size_object(State *state, JitSize handle, size_t number)
{
    return handle ? make(state, handle) : PyLong_FromSize_t(number);
}

PyObject *size_of_leaf(State *state, Leaf leaf, size_t lanes)
{
    if (!leaf || leaf_peek_size(leaf) != lanes || !size_is_recording())
        return PyLong_FromSize_t(lanes);
    const JitSize handle = jit_freeze_size(leaf_index(leaf));
    return handle ? make(state, handle) : error_from_core(NULL, NULL, 0);
}

PyObject *size_plain(PyObject *object)
{
    return size_is(object) ? PyLong_FromLongLong(((Size *) object)->value)
                           : Py_NewRef(object);
}

JitSize size_handle(PyObject *object)
{
    const JitSize handle = size_is(object) ? ((Size *) object)->handle : 0;
    return handle && size_is_known(handle) ? handle : 0;
}

/* Handles that another thread than the one that records has asked for their number: the
 * recording is bound to them before it ends. A set, in the module. */
static PyObject *asked_elsewhere(const State *state)
{
    return PyObject_GetAttrString(state->module, "_sizes_elsewhere");
}

static void note_elsewhere(const State *state, JitSize handle)
{
    PyObject *pending = error_fetch(), *set = asked_elsewhere(state);
    PyObject *number = set ? PyLong_FromUnsignedLongLong(handle) : NULL;
    if (!number || PySet_Add(set, number) < 0)
        PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(set);
    error_restore(pending);
}

static bool bind_elsewhere(const State *state)
{
    PyObject *set = asked_elsewhere(state);
    PyObject *list = set ? PySequence_List(set) : NULL;
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        PyObject *number = PyList_GET_ITEM(list, i);
        const JitSize handle = PyLong_AsUnsignedLongLong(number);
        if (!size_is_known(handle))
            continue;
        size_pin(handle);
        if (PySet_Discard(set, number) < 0)
            PyErr_Clear();
    }
    Py_XDECREF(list);
    Py_XDECREF(set);
    return list;
}

/* Those of what the thread records that are alive. (They are objects of the collector,
 * which does not follow containers of others: so it finds who has them.) */
static PyObject *sizes_alive(PyObject *module, PyObject *unused)
{
    State *state = state_of_module(module);
    PyObject *list = PyList_New(0);
    (void) unused;
    if (list && !bind_elsewhere(state))
        Py_CLEAR(list);
    if (mode_of(state) != SOME_MADE && list && !PyErr_Occurred()) {
        Py_DECREF(list);
        Py_RETURN_NONE;
    }
    for (Size *size = state->sizes; list && size; size = size->next) {
        if (!size_is_known(size->handle))
            continue;
        if (PyList_Append(list, (PyObject *) size) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* How many references there are to the entries of a list, beside its own. */
static PyObject *references(PyObject *module, PyObject *list)
{
    (void) module;
    if (!PyList_Check(list))
        return error_raise(PyExc_TypeError, "freeze", NULL, 0, "expected a list");
    PyObject *counts = PyList_New(PyList_GET_SIZE(list));
    for (Py_ssize_t i = 0; counts && i < PyList_GET_SIZE(list); i++) {
        PyObject *count = PyLong_FromSsize_t(Py_REFCNT(PyList_GET_ITEM(list, i)) - 1);
        if (count)
            PyList_SET_ITEM(counts, i, count);
        else
            Py_CLEAR(counts);
    }
    return counts;
}

static PyObject *plain_number(PyObject *module, PyObject *object)
{
    (void) module;
    return size_plain(object);
}

/* ---------------------------------------------------------------- the number */

/* It as an int, which the recording depends on from now on. */
static PyObject *bind(PyObject *self)
{
    const Size *size = (const Size *) self;
    if (!size_is_known(size->handle))
        note_elsewhere(size->state, size->handle);
    size_pin(size->handle);
    return PyLong_FromLongLong(size->value);
}

PyObject *size_number_of(PyObject *object)
{
    return size_is(object) ? bind(object) : Py_NewRef(object);
}

static PyObject *size_index(PyObject *self)
{
    return bind(self);
}

/* What a function of the number gives. */
static PyObject *of_number(PyObject *self, unaryfunc function)
{
    PyObject *number = bind(self);
    PyObject *result = number ? function(number) : NULL;
    Py_XDECREF(number);
    return result;
}

static PyObject *size_float(PyObject *self)
{
    return of_number(self, PyNumber_Float);
}

static PyObject *size_text(PyObject *self)
{
    return of_number(self, PyObject_Repr);
}

static Py_hash_t size_hash(PyObject *self)
{
    PyObject *number = bind(self);
    const Py_hash_t hash = number ? PyObject_Hash(number) : -1;
    Py_XDECREF(number);
    return hash;
}

static int size_bool(PyObject *self)
{
    const Size *size = (const Size *) self;
    if (test(JitSizeEqual, size->handle, size_constant(0)) < 0)
        Py_XDECREF(bind(self));
    return size->value != 0;
}

/* ---------------------------------------------------------------- operators */

/* The handle of an operand, also of an int; 0: it has none. Other classes that are ints
 * may have operators of their own. */
static JitSize handle_of(PyObject *object)
{
    if (size_is(object))
        return ((const Size *) object)->handle;
    int overflow = 1;
    const bool is_int = PyLong_CheckExact(object) || PyBool_Check(object);
    const long long value =
        is_int ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
    return overflow ? 0 : size_constant(value);
}

static State *state_of(PyObject *a, PyObject *b)
{
    return ((const Size *) (size_is(a) ? a : b))->state;
}

/* The operation on numbers. */
static PyObject *plain(PyObject *a, PyObject *b, binaryfunc operation)
{
    PyObject *x = size_number_of(a), *y = x ? size_number_of(b) : NULL;
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
    const JitSize result = size_combine(op, handle_of(a), handle_of(b));
    return result ? make(state_of(a, b), result) : plain(a, b, operation);
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

#define PLAIN(name, operation)                             \
    static PyObject *size_##name(PyObject *a, PyObject *b) \
    {                                                      \
        if (beside_array(a, b))                            \
            Py_RETURN_NOTIMPLEMENTED;                      \
        return plain(a, b, operation);                     \
    }
PLAIN(true_divide, PyNumber_TrueDivide)
PLAIN(and, PyNumber_And)
PLAIN(or, PyNumber_Or)
PLAIN(xor, PyNumber_Xor)
#undef PLAIN

static PyObject *size_divmod(PyObject *a, PyObject *b)
{
    if (beside_array(a, b))
        Py_RETURN_NOTIMPLEMENTED;
    const JitSize x = handle_of(a), y = handle_of(b);
    const JitSize quotient = size_combine(JitSizeDiv, x, y);
    const JitSize rest = size_combine(JitSizeMod, x, y);
    if (!quotient || !rest)
        return plain(a, b, PyNumber_Divmod);
    State *state = state_of(a, b);
    PyObject *first = make(state, quotient), *second = make(state, rest);
    PyObject *both = first && second ? PyTuple_Pack(2, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return both;
}

/* A small exponent, or number of bits; -1: it is not one. */
static int small(PyObject *object, int most)
{
    int overflow = 1;
    const long value =
        PyLong_CheckExact(object) ? PyLong_AsLongAndOverflow(object, &overflow) : 0;
    return overflow || value < 0 || value > most ? -1 : (int) value;
}

/* By a power of two. */
static PyObject *shift(PyObject *a, PyObject *b, JitSizeOp op, binaryfunc operation)
{
    if (beside_array(a, b))
        Py_RETURN_NOTIMPLEMENTED;
    const int bits = size_is(a) ? small(b, 62) : -1;
    const JitSize factor = bits >= 0 ? size_constant((int64_t) 1 << bits) : 0;
    const JitSize result = size_combine(op, handle_of(a), factor);
    return result ? make(state_of(a, b), result) : plain(a, b, operation);
}

static PyObject *size_lshift(PyObject *a, PyObject *b)
{
    return shift(a, b, JitSizeMul, PyNumber_Lshift);
}

static PyObject *size_rshift(PyObject *a, PyObject *b)
{
    return shift(a, b, JitSizeDiv, PyNumber_Rshift);
}

static PyObject *size_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (beside_array(a, b))
        Py_RETURN_NOTIMPLEMENTED;
    const int exponent = size_is(a) && modulus == Py_None ? small(b, 8) : -1;
    JitSize result = exponent > 0 ? ((const Size *) a)->handle : 0;
    for (int i = 1; i < exponent; i++)
        result = size_combine(JitSizeMul, result, ((const Size *) a)->handle);
    if (result)
        return make(state_of(a, b), result);
    PyObject *x = size_number_of(a), *y = x ? size_number_of(b) : NULL;
    PyObject *z = y ? size_number_of(modulus) : NULL;
    PyObject *power = z ? PyNumber_Power(x, y, z) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    Py_XDECREF(z);
    return power;
}

/* number - size */
static PyObject *less_than(PyObject *self, int64_t number, unaryfunc function)
{
    const Size *size = (const Size *) self;
    const JitSize result =
        size_combine(JitSizeSub, size_constant(number), size->handle);
    return result ? make(size->state, result) : of_number(self, function);
}

static PyObject *size_negative(PyObject *self)
{
    return less_than(self, 0, PyNumber_Negative);
}

static PyObject *size_invert(PyObject *self)
{
    return less_than(self, -1, PyNumber_Invert);
}

static PyObject *size_absolute(PyObject *self)
{
    const Size *size = (const Size *) self;
    const int negative = test(JitSizeLess, size->handle, size_constant(0));
    return negative < 0 ? of_number(self, PyNumber_Absolute)
           : negative   ? size_negative(self)
                        : Py_NewRef(self);
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
    if (beside_array(self, other))
        Py_RETURN_NOTIMPLEMENTED;
    const JitSize x = handle_of(self), y = handle_of(other);
    const int result = as[op].turned ? test(as[op].relation, y, x)
                                     : test(as[op].relation, x, y);
    if (result >= 0)
        return PyBool_FromLong(result);
    PyObject *a = size_number_of(self), *b = a ? size_number_of(other) : NULL;
    PyObject *compared = b ? PyObject_RichCompare(a, b, op) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return compared;
}

/* ---------------------------------------------------------------- members */

/* What else an int has: methods, attributes. Asking for others depends on nothing. */
static PyObject *size_getattr(PyObject *self, PyObject *name)
{
    PyObject *result = PyObject_GenericGetAttr(self, name);
    if (result || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return result;
    PyErr_Clear();
    PyObject *number = class_defines(&PyLong_Type, name) ? bind(self)
                                                         : PyLong_FromLong(0);
    result = number ? PyObject_GetAttr(number, name) : NULL;
    Py_XDECREF(number);
    return result;
}

static PyObject *size_format(PyObject *self, PyObject *text)
{
    PyObject *number = bind(self);
    PyObject *result = number ? PyObject_Format(number, text) : NULL;
    Py_XDECREF(number);
    return result;
}

/* math.floor(), conjugate(), copies, ... */
static PyObject *method_itself(PyObject *self, PyObject *unused)
{
    (void) unused;
    return Py_NewRef(self);
}

/* It is a whole number: only digits in front of the point can be rounded. */
static PyObject *size_round(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    if (n == 0 || (n == 1 && (args[0] == Py_None || small(args[0], 1000) >= 0)))
        return Py_NewRef(self);
    PyObject *number = bind(self);
    PyObject *method =
        number ? PyObject_GetAttrString(number, "__round__") : NULL;
    PyObject *result = method ? PyObject_Vectorcall(method, args, (size_t) n, NULL)
                              : NULL;
    Py_XDECREF(method);
    Py_XDECREF(number);
    return result;
}

/* A copy that is read from a file is the number. */
static PyObject *size_reduce(PyObject *self, PyObject *unused)
{
    (void) unused;
    PyObject *number = bind(self);
    return number ? Py_BuildValue("O(N)", (PyObject *) &PyLong_Type, number) : NULL;
}

/* isinstance(size, int) */
static PyObject *size_class(PyObject *self, void *unused)
{
    (void) self;
    (void) unused;
    return Py_NewRef((PyObject *) &PyLong_Type);
}

static PyObject *member_itself(PyObject *self, void *unused)
{
    (void) unused;
    return Py_NewRef(self);
}

static PyObject *member_zero(PyObject *self, void *unused)
{
    (void) self;
    (void) unused;
    return PyLong_FromLong(0);
}

static PyObject *member_one(PyObject *self, void *unused)
{
    (void) self;
    (void) unused;
    return PyLong_FromLong(1);
}

/* ---------------------------------------------------------------- NumPy */

static PyObject *numbers_within(PyObject *object);

static PyObject *numbers_of_tuple(PyObject *tuple)
{
    PyObject *result = PyTuple_New(PyTuple_GET_SIZE(tuple));
    for (Py_ssize_t i = 0; result && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = numbers_within(PyTuple_GET_ITEM(tuple, i));
        if (item)
            PyTuple_SET_ITEM(result, i, item);
        else
            Py_CLEAR(result);
    }
    return result;
}

static PyObject *numbers_of_dict(PyObject *dict)
{
    PyObject *result = PyDict_New(), *key, *value;
    Py_ssize_t at = 0;
    while (result && PyDict_Next(dict, &at, &key, &value)) {
        PyObject *item = numbers_within(value);
        if (!item || PyDict_SetItem(result, key, item) < 0)
            Py_CLEAR(result);
        Py_XDECREF(item);
    }
    return result;
}

/* Sizes in arguments as ints, also in lists and tuples. */
static PyObject *numbers_within(PyObject *object)
{
    const bool list = PyList_CheckExact(object), tuple = PyTuple_CheckExact(object);
    if (!list && !tuple && !PyDict_CheckExact(object))
        return size_number_of(object);
    if (Py_EnterRecursiveCall(" in arguments of NumPy"))
        return NULL;
    PyObject *items = list ? PyList_AsTuple(object) : Py_NewRef(object);
    PyObject *result = !items         ? NULL
                       : list || tuple ? numbers_of_tuple(items)
                                       : numbers_of_dict(items);
    if (result && list)
        Py_SETREF(result, PySequence_List(result));
    Py_XDECREF(items);
    Py_LeaveRecursiveCall();
    return result;
}

/* function(*args, **kwargs) with ints in the place of sizes. */
static PyObject *call_with_numbers(PyObject *function, PyObject *args, PyObject *kwargs)
{
    PyObject *plain_args = args ? numbers_within(args) : NULL;
    PyObject *named = plain_args && kwargs ? numbers_within(kwargs) : NULL;
    PyObject *result = plain_args && (named || !kwargs)
                           ? PyObject_Call(function, plain_args, named)
                           : NULL;
    Py_XDECREF(plain_args);
    Py_XDECREF(named);
    return result;
}

/* __array__(dtype=None, copy=None) */
static PyObject *size_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype,
                                     &copy))
        return NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *number = numpy ? bind(self) : NULL;
    PyObject *result =
        number ? PyObject_CallMethod(numpy, "array", "OO", number, dtype) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(numpy);
    return result;
}

static PyObject *power_of(PyObject *a, PyObject *b)
{
    return PyNumber_Power(a, b, Py_None);
}

/* The operator that a function of NumPy stands for: a scalar of NumPy beside an int
 * does not call it, and may round otherwise. NULL: there is none. */
static binaryfunc operator_of(PyObject *ufunc, PyObject *inputs)
{
    static const struct {
        const char *name;
        binaryfunc function;
    } rows[] = { { "add", PyNumber_Add },
                 { "subtract", PyNumber_Subtract },
                 { "multiply", PyNumber_Multiply },
                 { "divide", PyNumber_TrueDivide },
                 { "true_divide", PyNumber_TrueDivide },
                 { "floor_divide", PyNumber_FloorDivide },
                 { "remainder", PyNumber_Remainder },
                 { "power", power_of } };
    const char *cls =
        PyTuple_GET_SIZE(inputs) == 2 ? Py_TYPE(PyTuple_GET_ITEM(inputs, 0))->tp_name
                                      : "";
    if (strncmp(cls, "numpy.", 6) != 0 || strcmp(cls, "numpy.ndarray") == 0)
        return NULL;
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    binaryfunc found = NULL;
    const bool text = name && PyUnicode_Check(name);
    for (size_t i = 0; text && i < sizeof(rows) / sizeof(*rows); i++)
        if (PyUnicode_CompareWithASCIIString(name, rows[i].name) == 0)
            found = rows[i].function;
    PyErr_Clear();
    Py_XDECREF(name);
    return found;
}

/* __array_ufunc__(ufunc, "__call__" or another method, *inputs, **kwargs) */
static PyObject *size_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void) self;
    PyObject *ufunc, *name;
    PyObject *first = PyTuple_GetSlice(args, 0, 2);
    PyObject *inputs = PyTuple_GetSlice(args, 2, PyTuple_GET_SIZE(args));
    PyObject *result = NULL;
    if (first && inputs && PyArg_ParseTuple(first, "OU", &ufunc, &name)) {
        const bool call = PyUnicode_CompareWithASCIIString(name, "__call__") == 0;
        const binaryfunc operation =
            call && (!kwargs || !PyDict_GET_SIZE(kwargs)) ? operator_of(ufunc, inputs)
                                                          : NULL;
        PyObject *function = PyObject_GetAttr(ufunc, name);
        result = !function   ? NULL
                 : operation ? plain(PyTuple_GET_ITEM(inputs, 0),
                                     PyTuple_GET_ITEM(inputs, 1), operation)
                             : call_with_numbers(function, inputs, kwargs);
        Py_XDECREF(function);
    }
    Py_XDECREF(first);
    Py_XDECREF(inputs);
    return result;
}

/* __array_function__(function, types, args, kwargs) */
static PyObject *size_array_function(PyObject *self, PyObject *all)
{
    (void) self;
    PyObject *function, *types, *args, *kwargs;
    return PyArg_ParseTuple(all, "OOO!O!", &function, &types, &PyTuple_Type, &args,
                            &PyDict_Type, &kwargs)
               ? call_with_numbers(function, args, kwargs)
               : NULL;
}

/* ---------------------------------------------------------------- the class */

static PyMethodDef size_methods[] = {
    { "__format__", size_format, METH_O, "as that of int" },
    { "__round__", METHOD(size_round), METH_FASTCALL, "as that of int" },
    { "__trunc__", method_itself, METH_NOARGS, "the number" },
    { "__floor__", method_itself, METH_NOARGS, "the number" },
    { "__ceil__", method_itself, METH_NOARGS, "the number" },
    { "__copy__", method_itself, METH_NOARGS, "the number" },
    { "__deepcopy__", method_itself, METH_O, "the number" },
    { "conjugate", method_itself, METH_NOARGS, "the number" },
    { "__reduce__", size_reduce, METH_NOARGS, "a copy is the number" },
    { "__array__", METHOD(size_array), METH_VARARGS | METH_KEYWORDS, "see NumPy" },
    { "__array_ufunc__", METHOD(size_array_ufunc), METH_VARARGS | METH_KEYWORDS,
      "see NumPy" },
    { "__array_function__", size_array_function, METH_VARARGS, "see NumPy" },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef size_members[] = {
    { "__class__", size_class, NULL, "int", NULL },
    { "real", member_itself, NULL, "the number", NULL },
    { "imag", member_zero, NULL, "0", NULL },
    { "numerator", member_itself, NULL, "the number", NULL },
    { "denominator", member_one, NULL, "1", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

bool size_bind(State *state)
{
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, size_dealloc),
        SLOT(Py_tp_traverse, size_traverse),
        { Py_tp_methods, size_methods },
        { Py_tp_getset, size_members },
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
        SLOT(Py_nb_absolute, size_absolute),
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "drjit._core._Size",
                         .basicsize = sizeof(Size),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                  Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots };
    state->size = (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec, NULL);
    PyObject *set = state->size ? PySet_New(NULL) : NULL;
    const bool ok =
        set && PyModule_AddObjectRef(state->module, "_sizes_elsewhere", set) == 0 &&
        PyModule_AddObjectRef(state->module, "_Size", (PyObject *) state->size) == 0;
    Py_XDECREF(set);
    return ok;
}

PyMethodDef size_functions[] = {
    { "_sizes_alive", sizes_alive, METH_NOARGS,
      "_sizes_alive()\n\nThose of what the thread records; None: there was none" },
    { "_references", references, METH_O,
      "_references(list)\n\nReferences to its entries, beside its own" },
    { "_size_plain", plain_number, METH_O,
      "_size_plain(object)\n\nA size as an int, without binding the recording; others "
      "as they are" },
    { NULL, NULL, 0, NULL },
};
