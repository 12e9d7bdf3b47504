/*
 * borrow.c -- getting at the memory of NumPy, DLPack producers and buffer exporters
 */
#include "python/convert/borrow.h"

#include "python/base/error.h"

/* What it calls (__release_buffer__, a DLPack deleter) must not see our exception. */
void borrow_close(Borrowed *s)
{
    PyObject *exception = error_fetch();
    if (s->buffer.obj)
        PyBuffer_Release(&s->buffer);
    Py_CLEAR(s->keeper);
    error_restore(exception);
}

/* ---------------------------------------------------------------- opening */

/* Entry type of a buffer's format; the sizes of 'l' and 'L' come from the itemsize. */
static bool read_format(const char *format, Py_ssize_t itemsize, Memory *m)
{
    if (!format)
        format = "B";
    if (*format == '@' || *format == '=' || *format == '<')
        format++; /* little endian, as this machine */
    m->complex = *format == 'Z';
    if (m->complex)
        format++;
    if (strlen(format) != 1)
        return false;
    char nature = *format == '?'              ? 'b'
                  : strchr("bhilqn", *format) ? 'i'
                  : strchr("BHILQN", *format) ? 'u'
                  : strchr("efd", *format)    ? 'f'
                                              : 0;
    Py_ssize_t size = m->complex ? itemsize / 2 : itemsize;
    m->type = type_entry_find(nature, (size_t) size);
    return m->type != VarTypeVoid && (!m->complex || nature == 'f');
}

static bool read_buffer(Borrowed *s)
{
    const Py_buffer *b = &s->buffer;
    Memory *m = &s->memory;
    if (b->suboffsets || b->ndim > EXCHANGE_MAX_DIMS ||
        !read_format(b->format, b->itemsize, m))
        return false;
    m->data = b->buf;
    m->place = PLACE_HOST;
    m->read_only = b->readonly;
    m->ndim = b->ndim;
    Py_ssize_t row_major = b->itemsize; /* ctypes gives no strides, though asked to */
    for (int i = b->ndim - 1; i >= 0; i--) {
        m->shape[i] = b->shape[i];
        m->strides[i] = b->strides ? b->strides[i] : row_major;
        row_major *= b->shape[i];
    }
    return true;
}

Opening borrow_open(State *state, PyObject *object, Borrowed *s)
{
    *s = (Borrowed) { .object = object };
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &s->buffer, PyBUF_FULL_RO) < 0) {
            s->buffer.obj = NULL;
            return BORROW_ERROR;
        }
        return read_buffer(s) ? BORROW_OPEN : BORROW_STRANGE;
    }
    if (!PyCapsule_CheckExact(object) &&
        !class_defines(Py_TYPE(object), state->str_dlpack))
        return BORROW_NONE;
    if (dlpack_import(state, object, &s->memory, &s->keeper))
        return BORROW_OPEN;
    return PyErr_Occurred() ? BORROW_ERROR : BORROW_NONE;
}
