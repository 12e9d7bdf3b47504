/*
 * library.c -- shared libraries that are loaded when they are first needed
 *
 * Other copies of a library may live in the process, so symbols stay local and bind to
 * their own library first.
 */
#include "os/library.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"

/* Sanitizers intercept symbols that a deep binding would bypass. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    !defined(RTLD_DEEPBIND)
#define LOAD_FLAGS (RTLD_LAZY | RTLD_LOCAL)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOAD_FLAGS (RTLD_LAZY | RTLD_LOCAL)
#endif
#endif
#ifndef LOAD_FLAGS
#define LOAD_FLAGS (RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

/* Opening a pipe would wait for a writer, and what a device gives may have no end. */
static bool is_no_file(const char *path)
{
    struct stat status;
    return strchr(path, '/') && stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

void *library_open(const char *path, const char **reason)
{
    if (is_no_file(path)) {
        *reason = "it is not a regular file";
        return NULL;
    }
    bool fault = alloc_fault();
    void *handle = fault ? NULL : dlopen(path, LOAD_FLAGS);
    if (handle)
        return handle;
    const char *text = fault ? "cannot be opened" : dlerror();
    if (!text)
        text = "cannot be opened";
    /* The linker repeats the name, unless it is a library needed by this one that is
     * missing. */
    const size_t length = strlen(path);
    bool own = strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0;
    *reason = !own                         ? text
              : strstr(text, "No such file") ? NULL
                                             : text + length + 2;
    return NULL;
}

/* dlsym() returns an object pointer; POSIX guarantees that it can hold a function's. */
bool library_symbol(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

bool library_has(void *handle, const char *name) { return dlsym(handle, name) != NULL; }

void library_close(void *handle) { (void) dlclose(handle); }
