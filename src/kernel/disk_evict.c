/*
 * disk_evict.c -- the bound on the size of the disk cache
 *
 * An entry's time of modification is the time of its last use (disk_load touches it),
 * so the oldest ones leave first. All steps work relative to an open descriptor of the
 * directory, do not follow links, and touch only regular files whose names follow the
 * pattern. Entries may vanish at any time, since other processes do the same.
 */
#include "kernel/disk_evict.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "os/folder.h"

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
static bool visit(Scan *scan, const Folder *folder, const char *name)
{
    bool entry = disk_evict_is_entry(name);
    if (!entry && !is_temporary(name))
        return true;
    FolderFile file;
    if (!folder_look(folder, name, &file))
        return true;
    if (!entry) {
        if (file.modified.tv_sec < scan->now - STALE_SECONDS)
            (void) folder_remove(folder, name);
        return true;
    }
    TRY(vec_reserve(&scan->entries, &scan->capacity, scan->count + 1, sizeof(Entry)),
        false);
    Entry *e = &scan->entries[scan->count++];
    e->used = file.modified;
    e->size = file.size;
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
static bool shrink(Scan *scan, const Folder *folder, uint64_t target)
{
    bool ok = true;
    qsort(scan->entries, scan->count, sizeof(Entry), compare_use);
    for (uint32_t i = 0; i < scan->count && scan->total > target; ++i) {
        const Entry *e = &scan->entries[i];
        if (folder_remove(folder, e->name))
            scan->total -= e->size;
        else
            ok = false;
    }
    return ok;
}

static bool scan_folder(Scan *scan, Folder *folder)
{
    const char *name;
    for (;;) {
        TRY(folder_next(folder, &name), false);
        TRY(name, true);
        TRY(visit(scan, folder, name), false);
    }
}

bool disk_evict(const char *dir, uint64_t bound, uint64_t *left)
{
    Folder folder;
    *left = 0;
    TRY(folder_open(&folder, dir), false);
    Scan scan = { .now = time(NULL) };
    bool ok = scan_folder(&scan, &folder);
    if (ok && scan.total > bound)
        ok = shrink(&scan, &folder, bound - bound / 8);
    *left = scan.total;
    alloc_free(scan.entries);
    folder_close(&folder);
    return ok;
}
