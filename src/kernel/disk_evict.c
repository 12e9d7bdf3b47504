/*
 * disk_evict.c -- the bound on the size of the disk cache
 *
 * An entry's time of modification is the time of its last use (disk_load touches it),
 * so the oldest ones leave first. All steps work relative to an open descriptor of the
 * directory, do not follow links, and touch only regular files whose names follow the
 * pattern. Entries may vanish at any time, since other processes do the same.
 */
#include "kernel/disk_evict.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

enum {
    HASH_DIGITS = 32,
    NAME_SIZE = 96,           /* of an entry, with the final 0 */
    STALE_SECONDS = 3600      /* nobody writes one file for an hour */
};

typedef struct Entry {
    struct timespec used;
    uint64_t size;
    char name[NAME_SIZE];
} Entry;

typedef struct Scan {
    Entry *entries;
    uint32_t count, capacity;
    uint64_t total;
    time_t now;
} Scan;

/* Length of the entry name that 'name' starts with, 0 if it does not start with one. */
static size_t entry_prefix(const char *name)
{
    size_t n = 0;
    while (n < HASH_DIGITS && name[n] && strchr("0123456789abcdef", name[n]))
        ++n;
    if (n != HASH_DIGITS || name[n++] != '.')
        return 0;
    size_t engine = n;
    while (name[n] && strchr("0123456789abcdefghijklmnopqrstuvwxyz-_", name[n]))
        ++n;
    if (n == engine || strncmp(name + n, ".bin", 4) != 0)
        return 0;
    return n + 4;
}

bool disk_evict_is_entry(const char *name)
{
    size_t n = entry_prefix(name);
    return n > 0 && name[n] == 0 && n < NAME_SIZE;
}

/* Temporaries are "<entry>.<...>.tmp" and "key.<...>.tmp". */
static bool is_temporary(const char *name)
{
    size_t n = strncmp(name, "key.", 4) == 0 ? 3 : entry_prefix(name);
    size_t all = strlen(name);
    return n > 0 && name[n] == '.' && all > n + 4 &&
        strcmp(name + all - 4, ".tmp") == 0;
}

/* Note one file of the directory. */
static bool visit(Scan *scan, int fd, const char *name)
{
    bool entry = disk_evict_is_entry(name);
    if (!entry && !is_temporary(name))
        return true;
    struct stat info;
    if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return true;
    if (!entry) {
        if (info.st_mtime < scan->now - STALE_SECONDS)
            unlinkat(fd, name, 0);
        return true;
    }
    TRY(vec_reserve(&scan->entries, &scan->capacity, scan->count + 1, sizeof(Entry)),
        false);
    Entry *e = &scan->entries[scan->count++];
    e->used = info.st_mtim;
    e->size = (uint64_t) info.st_size;
    memcpy(e->name, name, strlen(name) + 1);
    scan->total += e->size;
    return true;
}

static int compare_use(const void *left, const void *right)
{
    const Entry *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Delete from the old end. */
static bool shrink(Scan *scan, int fd, uint64_t target)
{
    bool ok = true;
    qsort(scan->entries, scan->count, sizeof(Entry), compare_use);
    for (uint32_t i = 0; i < scan->count && scan->total > target; ++i) {
        const Entry *e = &scan->entries[i];
        if (unlinkat(fd, e->name, 0) == 0 || errno == ENOENT)
            scan->total -= e->size;
        else
            ok = error_set(JIT_ERROR_SYSTEM, "cannot delete the entry '%s': %m",
                           e->name);
    }
    return ok;
}

static bool scan_dir(Scan *scan, DIR *stream)
{
    for (;;) {
        errno = alloc_fault() ? EIO : 0;
        const struct dirent *found = errno ? NULL : readdir(stream);
        if (!found && errno)
            return error_set(JIT_ERROR_SYSTEM, "cannot read the directory: %m");
        if (!found)
            return true;
        TRY(visit(scan, dirfd(stream), found->d_name), false);
    }
}

bool disk_evict(const char *dir, uint64_t bound, uint64_t *left)
{
    *left = 0;
    int fd = alloc_fault() ? -1
                           : open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return error_set(JIT_ERROR_SYSTEM, "cannot open the directory '%.300s': %m",
                         dir);
    }
    Scan scan = { .now = time(NULL) };
    bool ok = scan_dir(&scan, stream);
    if (ok && scan.total > bound)
        ok = shrink(&scan, dirfd(stream), bound - bound / 8);
    *left = scan.total;
    alloc_free(scan.entries);
    closedir(stream);
    return ok;
}
