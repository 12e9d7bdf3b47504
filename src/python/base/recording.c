/*
 * recording.c -- see recording.h
 */
#include "python/base/recording.h"

#include "python/base/deferred.h"

static Recording *innermost;

void recording_begin(Recording *recording, const char *operation)
{
    *recording = (Recording){ .operation = operation,
                              .frame = PyEval_GetFrame(),
                              .thread = PyThread_get_thread_ident(),
                              .outer = innermost };
    innermost = recording;
    deferred_hold();
}

void recording_end(Recording *recording)
{
    Recording **link = &innermost;
    while (*link != recording)
        link = &(*link)->outer;
    *link = recording->outer;
    deferred_release();
}

/* "text, drjit.while_loop() at file.py:3" */
static PyObject *add_place(PyObject *text, const Recording *recording)
{
    PyCodeObject *code = PyFrame_GetCode(recording->frame);
    PyObject *longer = PyUnicode_FromFormat(
        "%U%sdrjit.%s() at %U:%d", text, PyUnicode_GET_LENGTH(text) ? ", " : "",
        recording->operation, code->co_filename,
        PyFrame_GetLineNumber(recording->frame));
    Py_DECREF(code);
    Py_DECREF(text);
    return longer;
}

PyObject *recording_places(void)
{
    const unsigned long thread = PyThread_get_thread_ident();
    PyObject *text = PyUnicode_FromString("");
    for (const Recording *r = innermost; text && r; r = r->outer)
        if (r->thread == thread && r->frame)
            text = add_place(text, r);
    return text;
}
