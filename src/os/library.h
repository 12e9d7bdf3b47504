/*
 * library.h -- shared libraries that are loaded when they are first needed
 */
#ifndef OS_LIBRARY_H
#define OS_LIBRARY_H

#include <stdbool.h>

/** Load the library of this path, or of this name on the dynamic linker's search path.
 *  Its symbols stay local. NULL: '*reason' says why, valid until the next call for a
 *  library, or is NULL if there is no such file. A fallible step of the hostile
 *  build. */
void *library_open(const char *path, const char **reason);
/** Store the address of a function in '*function', a pointer to its type; NULL and
 *  false if the library lacks it. */
bool library_symbol(void *handle, const char *name, void *function);
/** Does the library have something of this name? */
bool library_has(void *handle, const char *name);
/** Unload a library that turned out to be the wrong one. */
void library_close(void *handle);

#endif
