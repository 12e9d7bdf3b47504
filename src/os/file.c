/*
 * file.c -- files that nobody else may have touched; and files for everybody
 *
 * The disk cache holds machine code, so a file is only read when it is a regular file
 * of this user that others cannot write, checked on the open descriptor (not on the
 * name, which could be exchanged in between). A file is published by writing a
 * temporary and renaming it: readers see the old content, the new content, or nothing.
 * There is no fsync: a cache entry that a power cut truncates fails its authentication
 * and is rebuilt.
 */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/process.h"

enum { TEMPORARY_ATTEMPTS = 16 };

/* Take one fallible step; true if the hostile build wants it to fail. */
static bool step_fails(void)
{
    if (!alloc_fault())
        return false;
    errno = EIO;
    return true;
}

/* Record "cannot <what> '<path>': <reason from errno>". */
static bool fail(const char *what, const char *path)
{
    return error_set(JIT_ERROR_SYSTEM, "cannot %s '%.300s': %m", what, path);
}

/* The same with a reason of our own. */
static bool refuse(const char *path, const char *reason)
{
    return error_set(JIT_ERROR_SYSTEM, "refusing to use '%.300s': %s", path, reason);
}

static int open_file(const char *path, int flags, mode_t mode)
{
    if (step_fails())
        return -1;
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static bool make_dir(const char *path, mode_t mode)
{
    if (step_fails())
        return false;
    return mkdir(path, mode) == 0 || errno == EEXIST;
}

/* Create the missing directories on the way to 'path' and 'path' itself. */
static bool make_dirs(const char *path, mode_t mode)
{
    char *prefix = alloc_string(path);
    if (!prefix)
        return false;
    bool ok = true;
    for (char *p = prefix + 1; ok && *prefix && *p; ++p) {
        if (*p != '/')
            continue;
        *p = 0;
        /* A parent that cannot be created but is there (a read-only mount, say) is
         * fine: the last mkdir decides. */
        if (!make_dir(prefix, mode) && errno != EROFS && errno != EACCES)
            ok = fail("create directory", prefix);
        *p = '/';
    }
    if (ok && !make_dir(path, mode))
        ok = fail("create directory", path);
    alloc_free(prefix);
    return ok;
}

/* Is the open directory one that only this user can use? */
static bool check_dir(int fd, const char *path)
{
    struct stat info;
    if (step_fails() || fstat(fd, &info) != 0)
        return fail("inspect", path);
    if (info.st_uid != geteuid())
        return refuse(path, "the directory belongs to another user");
    if (info.st_mode & (S_IRWXG | S_IRWXO))
        return refuse(path, "others have access to the directory (expected mode 0700)");
    return true;
}

bool file_private_dir(const char *path)
{
    int fd = open_file(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && errno == ENOENT) {
        if (!make_dirs(path, 0700))
            return false;
        fd = open_file(path, O_RDONLY | O_DIRECTORY, 0);
    }
    if (fd < 0)
        return fail("open directory", path);
    bool ok = check_dir(fd, path);
    close(fd);
    return ok;
}

static bool read_all(int fd, const char *path, char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = step_fails() ? -1 : read(fd, data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail("read", path);
        if (n == 0)
            return refuse(path, "the file shrank while it was read");
        done += (size_t) n;
    }
    return true;
}

static bool read_checked(int fd, const char *path, size_t limit, void **data,
                         size_t *size)
{
    struct stat info;
    if (step_fails() || fstat(fd, &info) != 0)
        return fail("inspect", path);
    if (!S_ISREG(info.st_mode))
        return refuse(path, "not a regular file");
    if (info.st_uid != geteuid())
        return refuse(path, "the file belongs to another user");
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return refuse(path, "other users can write to the file");
    if (info.st_size < 0 || (uint64_t) info.st_size > limit)
        return refuse(path, "the file is too large");

    char *buffer = alloc_get((size_t) info.st_size);
    if (!buffer)
        return false;
    if (!read_all(fd, path, buffer, (size_t) info.st_size)) {
        alloc_free(buffer);
        return false;
    }
    *data = buffer;
    *size = (size_t) info.st_size;
    return true;
}

bool file_read_private(const char *path, size_t limit, void **data, size_t *size,
                       bool *absent)
{
    /* O_NONBLOCK: opening a fifo that somebody put there must not wait for a writer. */
    int fd = open_file(path, O_RDONLY | O_NONBLOCK, 0);
    *absent = fd < 0 && errno == ENOENT;
    if (fd < 0)
        return fail("open", path);
    bool ok = read_checked(fd, path, limit, data, size);
    close(fd);
    return ok;
}

static bool write_all(int fd, const char *path, const char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = step_fails() ? -1 : write(fd, data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail("write", path);
        done += (size_t) n;
    }
    return true;
}

/* Make up a name beside 'path' that hardly anything has, in 'name'. NULL on failure. */
static const char *unused_name(const char *path, const char *ending, Text *name)
{
    static _Atomic unsigned counter;
    text_clear(name);
    text_putf(name, "%s.%ld.%u.%llx.%s", path, (long) process_id(),
              atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed),
              (unsigned long long) clock_ns(), ending);
    return text_get(name);
}

/* Open a temporary file beside 'path' under a name that is not taken. Its name is left
 * in 'name'; -1 on failure. */
static int open_temporary(const char *path, Text *name)
{
    for (int i = 0; i < TEMPORARY_ATTEMPTS; ++i) {
        if (!unused_name(path, "tmp", name))
            return -1;
        int fd = open_file(text_get(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            break;
    }
    fail("create", text_get(name));
    return -1;
}

/* Write a file that is to have the name 'path' under another name, which is left in
 * 'name'. */
static bool write_temporary(const char *path, const void *data, size_t size, Text *name)
{
    int fd = open_temporary(path, name);
    TRY(fd >= 0, false);
    const char *temporary = text_get(name);
    bool ok = write_all(fd, temporary, data, size);
    /* A full disk or an exceeded quota may only show up now. */
    bool closed = close(fd) == 0;
    if (ok && (step_fails() || !closed))
        ok = fail("close", temporary);
    if (!ok)
        unlink(temporary);
    return ok;
}

bool file_publish(const char *path, const void *data, size_t size)
{
    Text name = { 0 };
    bool ok = write_temporary(path, data, size, &name);
    if (ok && (step_fails() || rename(text_get(&name), path) != 0)) {
        ok = fail("rename a temporary file to", path);
        unlink(text_get(&name));
    }
    text_free(&name);
    return ok;
}

/* A link gives the file its final name when its content is complete. */
bool file_publish_first(const char *path, const void *data, size_t size)
{
    Text name = { 0 };
    bool ok = write_temporary(path, data, size, &name);
    if (ok) {
        if ((step_fails() || link(text_get(&name), path) != 0) && errno != EEXIST)
            ok = fail("create", path);
        unlink(text_get(&name));
    }
    text_free(&name);
    return ok;
}

bool file_make_folder(const char *path)
{
    return make_dirs(path, 0777);
}

bool file_write(const char *path, const void *data, size_t size)
{
    (void) unlink(path); /* it takes long to overwrite a file that is not empty */
    int fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0)
        return fail("create", path);
    bool ok = write_all(fd, path, data, size);
    bool closed = close(fd) == 0;
    if (ok && (step_fails() || !closed))
        ok = fail("close", path);
    return ok;
}

bool file_move_aside(const char *path)
{
    Text name = { 0 };
    const char *aside = unused_name(path, "aside", &name);
    bool ok = aside && !step_fails() && rename(path, aside) == 0;
    if (aside && !ok)
        fail("move aside", path);
    text_free(&name);
    return ok;
}

bool file_remove(const char *path)
{
    if (step_fails() || (unlink(path) != 0 && errno != ENOENT))
        return fail("delete", path);
    return true;
}

void file_touch(const char *path)
{
    (void) utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

bool file_is_absent(const char *path)
{
    struct stat info;
    return lstat(path, &info) != 0 && errno == ENOENT;
}

bool file_is_dir(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_is_secret(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && !(info.st_mode & (S_IRWXG | S_IRWXO));
}

char *file_current_dir(void)
{
    char *dir = getcwd(NULL, 0);
    if (!dir)
        error_set(JIT_ERROR_SYSTEM, "cannot find the current directory: %m");
    return dir;
}
