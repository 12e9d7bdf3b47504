/*
 * places.h -- names in dictionaries and cells, looked up all at once
 */
#ifndef PYTHON_PLACES_H
#define PYTHON_PLACES_H

#include "python/object/compat.h"

/** Make the class and put it into the module. */
bool places_bind(PyObject *module);

#endif
