/*
 * exact.c -- see exact.h
 */
#include "python/freeze/exact.h"

enum { MOST_BYTES = 1 << 20 }; /* of a buffer, that are kept as they are */

static int doubles_equal(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static int sequences_equal(PyObject *a, PyObject *b)
{
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(a);
    int equal = count == PySequence_Fast_GET_SIZE(b);
    for (Py_ssize_t i = 0; equal > 0 && i < count && i < PySequence_Fast_GET_SIZE(a) &&
                           i < PySequence_Fast_GET_SIZE(b);
         i++) {
        PyObject *x = Py_NewRef(PySequence_Fast_GET_ITEM(a, i));
        PyObject *y = Py_NewRef(PySequence_Fast_GET_ITEM(b, i));
        equal = exact_equal(x, y);
        Py_DECREF(x);
        Py_DECREF(y);
    }
    return equal;
}

bool exact_is_identity(PyObject *object)
{
    const hashfunc hash = Py_TYPE(object)->tp_hash;
    return !hash || hash == PyBaseObject_Type.tp_hash ||
           hash == PyObject_HashNotImplemented;
}

bool exact_by_identity(PyObject *object)
{
    const Py_hash_t hash = exact_is_identity(object) ? -1 : PyObject_Hash(object);
    if (hash == -1 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Clear(); /* a tuple of things without hashes, and the like */
    return hash == -1 && !PyErr_Occurred();
}

int exact_equal(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    if (Py_TYPE(a) != Py_TYPE(b))
        return 0;
    if (PyFloat_CheckExact(a))
        return doubles_equal(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
    if (PyComplex_CheckExact(a))
        return doubles_equal(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b)) &&
               doubles_equal(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b));
    if (PyTuple_CheckExact(a) || PyList_CheckExact(a)) {
        if (Py_EnterRecursiveCall(" while values are compared"))
            return -1;
        const int equal = sequences_equal(a, b);
        Py_LeaveRecursiveCall();
        return equal;
    }
    if (PyWeakref_CheckRef(a) || exact_is_identity(a))
        return 0;
    return PyObject_RichCompareBool(a, b, Py_EQ);
}

bool exact_stands_in(PyObject *a, PyObject *b)
{
    if (a == b || !PyTuple_CheckExact(a) || !PyTuple_CheckExact(b))
        return a != b && PyType_HasFeature(Py_TYPE(a), Py_TPFLAGS_HEAPTYPE);
    bool other = PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b);
    for (Py_ssize_t i = 0; !other && i < PyTuple_GET_SIZE(a); i++)
        other = exact_stands_in(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
    return other;
}

/* Beyond a bound, a digest that nobody finds another content for takes the place of
 * bytes (stolen), which recordings would keep. NULL: exception. */
static PyObject *shorten(PyObject *bytes)
{
    if (!bytes || PyBytes_GET_SIZE(bytes) <= MOST_BYTES)
        return bytes;
    PyObject *module = PyImport_ImportModule("hashlib");
    PyObject *hash = module ? PyObject_CallMethod(module, "blake2b", "O", bytes) : NULL;
    PyObject *digest = hash ? PyObject_CallMethod(hash, "digest", NULL) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(hash);
    Py_DECREF(bytes);
    return digest;
}

/* What a buffer has now, as a bytes object: its entries, in front of them its format,
 * shape and strides, and whether it is read-only. NULL: it has nothing to show, or an
 * exception. */
static PyObject *bytes_of_buffer(PyObject *object)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
        if (PyErr_ExceptionMatches(PyExc_BufferError) ||
            PyErr_ExceptionMatches(PyExc_ValueError))
            PyErr_Clear(); /* of a type that the protocol has no format for */
        return NULL;
    }
    const char *format = view.format ? view.format : "B";
    const size_t name = strlen(format) + 1,
                 extents = (size_t) view.ndim * sizeof(*view.shape);
    const Py_ssize_t front = (Py_ssize_t) (name + 2 * extents + 1);
    PyObject *all = PyBytes_FromStringAndSize(NULL, front + view.len);
    if (all) {
        char *to = PyBytes_AS_STRING(all);
        memcpy(to, format, name);
        if (extents) {
            memcpy(to + name, view.shape, extents);
            memset(to + name + extents, 0, extents);
        }
        if (extents && view.strides) /* those of ctypes have none */
            memcpy(to + name + extents, view.strides, extents);
        to[front - 1] = (char) view.readonly;
        if (PyBuffer_ToContiguous(to + front, &view, view.len, 'C') < 0)
            Py_CLEAR(all);
    }
    PyBuffer_Release(&view);
    return shorten(all);
}

/* The elements and their types, in the order of iteration. */
static PyObject *content_of_set(PyObject *set)
{
    PyObject *all = PySequence_List(set);
    const Py_ssize_t count = all ? PyList_GET_SIZE(all) : 0;
    for (Py_ssize_t i = 0; all && i < count; i++) {
        PyObject *type = (PyObject *) Py_TYPE(PyList_GET_ITEM(all, i));
        if (PyList_Append(all, type) < 0)
            Py_CLEAR(all);
    }
    PyObject *content = all ? PyList_AsTuple(all) : NULL;
    Py_XDECREF(all);
    return content;
}

PyObject *exact_content(PyObject *object)
{
    if (PyAnySet_Check(object))
        return content_of_set(object);
    return PyObject_CheckBuffer(object) && !PyBytes_CheckExact(object)
               ? bytes_of_buffer(object)
               : NULL;
}
