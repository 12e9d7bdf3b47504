/*
 * code_pages.c -- see code_pages.h
 *
 * A window is a file in memory that is mapped executable and written as a file: a page
 * that a mapping touches for the first time takes 2 us, one that is written as a file a
 * third of that.
 */
#include "os/code_pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

static void *map_pages(size_t size, int protection, int flags, int file)
{
    if (alloc_fault()) {
        errno = ENOMEM;
        return NULL;
    }
    void *pages = mmap(NULL, size, protection, flags, file, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* ------------------------------------------------------------ writable, executable */

static bool refused(const char *what)
{
    if (errno == ENOMEM)
        return error_set(JIT_ERROR_MEMORY, "out of memory for machine code");
    return error_set(JIT_ERROR_SYSTEM,
                     "the system refuses executable memory (%s: %s)", what,
                     strerror(errno));
}

void *code_pages_get(size_t size)
{
    void *pages = map_pages(size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
    if (!pages)
        refused("mmap");
    return pages;
}

bool code_pages_seal(void *pages, size_t size)
{
    bool fault = alloc_fault();
    if (fault)
        errno = EACCES;
    return (!fault && mprotect(pages, size, PROT_READ | PROT_EXEC) == 0) ||
           refused("mprotect");
}

void code_pages_release(void *pages, size_t size)
{
    (void) munmap(pages, size);
}

/* ------------------------------------------------------------------------- windows */

/* A file without a name that exists as long as it is mapped; -1 if there are none. */
static int open_memory(size_t size)
{
    int file = memfd_create("drjit-kernels", MFD_CLOEXEC | MFD_EXEC);
    if (file < 0 && errno == EINVAL) /* systems that do not know MFD_EXEC allow it */
        file = memfd_create("drjit-kernels", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t) size) != 0) {
        close(file);
        return -1;
    }
    return file;
}

bool code_pages_open(CodeWindow *window, size_t size)
{
    struct stat status;
    *window = (CodeWindow){ .size = size, .file = open_memory(size) };
    TRY(window->file >= 0, false);
    if (fstat(window->file, &status) == 0) {
        window->device = status.st_dev;
        window->number = status.st_ino;
        window->code = map_pages(size, PROT_READ | PROT_EXEC, MAP_SHARED, window->file);
    }
    if (!window->code)
        close(window->file);
    return window->code != NULL;
}

bool code_pages_is_open(const CodeWindow *window)
{
    struct stat status;
    return fstat(window->file, &status) == 0 && status.st_dev == window->device &&
           status.st_ino == window->number;
}

bool code_pages_write(const CodeWindow *window, size_t offset, const void *bytes,
                      size_t size)
{
    const char *from = bytes;
    size_t done = 0;
    while (done < size) {
        ssize_t more = pwrite(window->file, from + done, size - done,
                              (off_t) (offset + done));
        if (more < 0 && errno == EINTR)
            continue;
        TRY(more > 0, false);
        done += (size_t) more;
    }
    return true;
}

void code_pages_close(const CodeWindow *window)
{
    if (code_pages_is_open(window))
        close(window->file);
}
