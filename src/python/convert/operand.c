/*
 * operand.c -- see operand.h
 */
#include "python/convert/operand.h"

#include "python/convert/convert.h"
#include "python/convert/promote.h"
#include "python/shape/size.h"

typedef struct ForeignOperand {
    PyObject_HEAD
    PyObject *object;
    Borrowed source;
} ForeignOperand;

static void operand_dealloc(PyObject *self)
{
    ForeignOperand *operand = (ForeignOperand *) self;
    PyTypeObject *cls = Py_TYPE(self);
    borrow_close(&operand->source);
    Py_DECREF(operand->object);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static bool is_operand(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == operand_dealloc;
}

Borrowed *operand_memory(PyObject *object)
{
    return is_operand(object) ? &((ForeignOperand *) object)->source : NULL;
}

PyTypeObject *operand_class(PyObject *object)
{
    return Py_TYPE(is_operand(object) ? ((ForeignOperand *) object)->object : object);
}

bool operand_bind(State *state)
{
    PyType_Slot slots[] = { SLOT(Py_tp_dealloc, operand_dealloc), { 0, NULL } };
    state->foreign_operand =
        type_make(state->module, "drjit._core.ForeignOperand", sizeof(ForeignOperand),
                  Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return state->foreign_operand;
}

/* ---------------------------------------------------------------- numbers */

/* The number that an object of this class is for Python. */
static PyObject *number_of(PyObject *object, int class)
{
    if (class == OPERAND_FLOAT)
        return PyNumber_Float(object);
    if (class == OPERAND_BOOL) {
        int truth = PyObject_IsTrue(object);
        return truth < 0 ? NULL : PyBool_FromLong(truth);
    }
    return PyIndex_Check(object) ? PyNumber_Index(object) : PyNumber_Long(object);
}

static int class_of_entries(VarType type)
{
    return type == VarTypeBool       ? OPERAND_BOOL
           : type >= VarTypeFloat16 ? OPERAND_FLOAT
                                    : OPERAND_INT;
}

/* Objects with __index__ or __float__ that are neither arrays nor sequences. */
static int class_of_number(PyObject *object)
{
    PyTypeObject *cls = Py_TYPE(object);
    const PyNumberMethods *number = cls->tp_as_number;
    if (!number || (cls->tp_as_sequence && cls->tp_as_sequence->sq_item))
        return -1;
    return number->nb_index ? OPERAND_INT : number->nb_float ? OPERAND_FLOAT : -1;
}

/* ---------------------------------------------------------------- arrays */

/* Entries as __array_interface__ names them after the byte order: "i4", "f8", "b1". */
static VarType type_of_code(const char *code)
{
    char *end = NULL;
    unsigned long size = strtoul(code + 1, &end, 10);
    return *end ? VarTypeVoid : type_entry_find(code[0], size);
}

/* An entry of the dictionary (new reference); NULL with or without exception. */
static PyObject *entry_of(PyObject *interface, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *value = key ? PyDict_GetItemWithError(interface, key) : NULL;
    Py_XINCREF(value);
    Py_XDECREF(key);
    return value;
}

/* The class of what __array_interface__ says to be one number; -1: it says something
 * else, or there is an exception. */
static int class_of_interface(PyObject *interface)
{
    if (!PyDict_Check(interface))
        return -1;
    int class = -1;
    PyObject *shape = entry_of(interface, "shape");
    bool single = shape && PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) == 0;
    PyObject *code = single ? entry_of(interface, "typestr") : NULL;
    if (code && PyUnicode_Check(code)) {
        const char *text = PyUnicode_AsUTF8(code);
        VarType type =
            text && text[0] && text[1] ? type_of_code(text + 1) : VarTypeVoid;
        if (!text)
            PyErr_Clear(); /* no valid text */
        class = type == VarTypeVoid ? -1 : class_of_entries(type);
    }
    Py_XDECREF(shape);
    Py_XDECREF(code);
    return class;
}

/* Without memory that can be had, __array_interface__ may still say that the object is
 * one number. */
static PyObject *number_by_interface(State *state, PyObject *object)
{
    if (!class_defines(Py_TYPE(object), state->str_array_interface))
        return NULL;
    PyObject *interface = PyObject_GetAttr(object, state->str_array_interface);
    if (!interface) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Clear();
        return NULL;
    }
    int class = class_of_interface(interface);
    Py_DECREF(interface);
    return class < 0 ? NULL : number_of(object, class);
}

/* The entry of an array without axes. */
static PyObject *number_in(const Memory *m)
{
    uint64_t bits; /* aligned, as the memory may not be */
    memcpy(&bits, m->data, type_entry_size(m->type));
    return convert_entry(m->type, &bits);
}

/* A foreign array; NULL without exception: it is not one. */
static PyObject *open_array(State *state, PyObject *object)
{
    ForeignOperand *operand = PyObject_New(ForeignOperand, state->foreign_operand);
    if (!operand)
        return NULL;
    operand->object = Py_NewRef(object);
    Opening opening = borrow_open(state, object, &operand->source);
    const Memory *m = &operand->source.memory;
    if (opening == BORROW_OPEN && (m->ndim || m->complex))
        return (PyObject *) operand;
    PyObject *number = opening == BORROW_OPEN ? number_in(m) : NULL;
    Py_DECREF(operand);
    return opening == BORROW_OPEN || opening == BORROW_ERROR
               ? number
               : number_by_interface(state, object);
}

/* ---------------------------------------------------------------- sequences */

static bool is_sequence(PyObject *object)
{
    const PySequenceMethods *methods = Py_TYPE(object)->tp_as_sequence;
    return methods && methods->sq_length && PySequence_Check(object);
}

/* The items of any sequence as a list or tuple. Its length counts, since an object
 * that only has __getitem__() may never end. */
static PyObject *items_of(PyObject *object)
{
    if (PyList_Check(object) || PyTuple_Check(object))
        return Py_NewRef(object);
    Py_ssize_t n = PySequence_Size(object);
    PyObject *items = n < 0 ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; items && i < n; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        if (item)
            PyTuple_SET_ITEM(items, i, item);
        else
            Py_CLEAR(items);
    }
    return items;
}

/* Does it stand for itself, and is that known without running code of others? */
static bool is_plain(PyObject *object)
{
    return (promote_number(object) >= 0 && !size_is(object)) || array_of(object) ||
           is_operand(object);
}

static bool all_plain(PyObject *items)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++)
        if (!is_plain(PySequence_Fast_GET_ITEM(items, i)))
            return false;
    return true;
}

/* What stands for the items, in a tuple; or the items, if they stand for themselves. */
static PyObject *open_items(State *state, PyObject *items)
{
    if (all_plain(items))
        return Py_NewRef(items);
    PyObject *all = PySequence_Tuple(items); /* a list may change meanwhile */
    PyObject *opened = all ? PyTuple_New(PyTuple_GET_SIZE(all)) : NULL;
    for (Py_ssize_t i = 0; opened && i < PyTuple_GET_SIZE(all); i++) {
        PyObject *operand = operand_of(state, PyTuple_GET_ITEM(all, i));
        if (operand)
            PyTuple_SET_ITEM(opened, i, operand);
        else
            Py_CLEAR(opened);
    }
    Py_XDECREF(all);
    return opened;
}

static PyObject *sequence_of(State *state, PyObject *object)
{
    PyObject *items = items_of(object);
    if (!items)
        return NULL;
    PyObject *opened = NULL;
    if (!Py_EnterRecursiveCall(" while inspecting a sequence")) {
        opened = open_items(state, items);
        Py_LeaveRecursiveCall();
    }
    Py_DECREF(items);
    return opened;
}

/* ---------------------------------------------------------------- operands */

/* Bytes are a sequence and have memory, but are meant as text. */
static bool is_text(PyObject *object)
{
    return PyUnicode_Check(object) || PyBytes_Check(object) ||
           PyByteArray_Check(object);
}

PyObject *operand_of(State *state, PyObject *object)
{
    if (is_plain(object) || object == Py_None || is_text(object) ||
        PyType_Check(object) || PyDict_Check(object))
        return Py_NewRef(object);
    if (size_is(object))
        return size_number_of(object);
    if (PyList_Check(object) || PyTuple_Check(object))
        return sequence_of(state, object);
    PyObject *found = open_array(state, object);
    if (found || PyErr_Occurred())
        return found;
    int class = class_of_number(object);
    if (class >= 0)
        return number_of(object, class);
    return is_sequence(object) ? sequence_of(state, object) : Py_NewRef(object);
}

bool operand_open(State *state, PyObject *const *args, Py_ssize_t n,
                  PyObject **operands)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        operands[i] = operand_of(state, args[i]);
        if (!operands[i]) {
            operand_close(operands, i);
            return false;
        }
    }
    return true;
}

void operand_close(PyObject **operands, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        Py_DECREF(operands[i]);
}
