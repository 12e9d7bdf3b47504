/*
 * listener.h -- which code runs while a function is recorded, and which functions
 * written in C it calls
 *
 * A profile function of the calling thread. One that is there is called as before.
 * Other threads are not listened to.
 */
#ifndef PYTHON_LISTENER_H
#define PYTHON_LISTENER_H

#include "python/base/compat.h"

/** Make the class and put it into the module. */
bool listener_bind(PyObject *module);

#endif
