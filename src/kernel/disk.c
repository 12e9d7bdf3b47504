/*
 * disk.c -- the disk cache: authenticated files with the code of one kernel each
 *
 * An entry is machine code that this process will execute, so nothing in a file is
 * believed before the keyed BLAKE2b over all of it fits; the key is a file of random
 * bytes beside the entries that only the user can read. Entries are read and published
 * through base/file.c, which looks after links, owners, modes and half-written files.
 * See docs/dev/cache-format.md for the layout and for what this protects against.
 *
 * The first look-up or store opens the cache: it loads the cryptography (seal.c), and
 * makes folder and key if they are not there. Before, nothing of the kind happens, and
 * programs whose engines save no code never get there.
 *
 * The settings are guarded by a mutex, which the first user holds while it opens the
 * cache, and which is held for a few memory copies from then on: an operation works on
 * a snapshot. Processes coordinate through the file system alone: entries appear by
 * rename, the key by link (the first process wins), and deletion of a file that is gone
 * already is fine.
 */
#include "kernel/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/disk_evict.h"
#include "kernel/seal.h"

enum {
    FORMAT_VERSION = 1,
    CODE_VERSION = 7,    /* to be raised when legaliser or engines emit other code */
    KEY_SIZE = SEAL_KEY_SIZE,
    MAC_SIZE = SEAL_CODE_SIZE,
    MAC_OFFSET = 56,
    HEADER_SIZE = MAC_OFFSET + MAC_SIZE,
    ENGINE_NAME_SIZE = 32,
    DEFAULT_MIB = 512,
    SCAN_INTERVAL = 64,  /* stores between two looks at the whole directory */
    KEY_ATTEMPTS = 4
};
#define ENTRY_LIMIT ((uint64_t) 1 << 30) /* bytes of one file */

static const char magic[8] = { 'd', 'j', 'c', '-', 'c', 'o', 'd', 'e' };

/* What can go wrong when storing; each is logged once. */
enum { REPORT_STORE = 1, REPORT_EVICT = 2, REPORT_FOLDER = 4 };

/* How far the cache has come since the start or the last shutdown. */
typedef enum Stage {
    STAGE_UNKNOWN,
    STAGE_CHOSEN, /* 'dir' and 'bound' are known, nothing was touched */
    STAGE_OPEN,
    STAGE_OFF
} Stage;

static struct {
    Stage stage;
    char *dir;              /* from STAGE_CHOSEN on; valid until the shutdown */
    uint8_t key[KEY_SIZE];
    uint64_t bound;         /* bytes */
    uint64_t estimate;      /* bytes of all entries, as far as this process knows */
    uint32_t until_scan;    /* stores until the next scan */
    bool scanning;          /* by a thread of this process */
} disk;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t reported;

/* What an operation works with. */
typedef struct Snapshot {
    char *dir; /* owned */
    uint8_t key[KEY_SIZE];
    uint64_t bound;
} Snapshot;

static void report_once(uint32_t kind)
{
    if (!(atomic_fetch_or_explicit(&reported, kind, memory_order_relaxed) & kind))
        log_write(LogLevelInfo, "disk cache: %s (further cases are not reported)",
                  error_message());
}

/* ------------------------------------------------------------------- start and end */

/* A copy of a path without slashes at its end (which would make the system follow a
 * link) and made absolute, so that chdir() does not move the cache. NULL on failure. */
static char *clean_path(const char *path)
{
    Text text = { 0 };
    if (path[0] != '/') {
        char *cwd = getcwd(NULL, 0);
        if (!cwd) {
            error_set(JIT_ERROR_SYSTEM, "cannot find the current directory: %m");
            return NULL;
        }
        text_putf(&text, "%s/", cwd);
        free(cwd);
    }
    text_put(&text, path);
    char *result = text_take(&text);
    for (size_t n = result ? strlen(result) : 0; n > 1 && result[n - 1] == '/'; --n)
        result[n - 1] = 0;
    return result;
}

/* Where the cache goes; NULL (error recorded) if nowhere. */
static char *choose_dir(void)
{
    const char *dir = getenv("DRJIT_CACHE_DIR");
    if (dir && !*dir) {
        error_set(JIT_ERROR_STATE, "DRJIT_CACHE_DIR is empty");
        return NULL;
    }
    if (dir)
        return clean_path(dir);

    const char *parent = getenv("XDG_CACHE_HOME"), *below = "drjit";
    if (!parent || parent[0] != '/') { /* the XDG rules ignore relative paths */
        parent = getenv("HOME");
        below = ".cache/drjit";
    }
    if (!parent || parent[0] != '/') {
        error_set(JIT_ERROR_STATE,
                  "none of DRJIT_CACHE_DIR, XDG_CACHE_HOME and HOME is set");
        return NULL;
    }
    Text text = { 0 };
    text_putf(&text, "%s/%s", parent, below);
    return text_take(&text);
}

/* Bound in bytes from DRJIT_CACHE_SIZE (MiB). */
static uint64_t choose_bound(void)
{
    const char *text = getenv("DRJIT_CACHE_SIZE");
    uint64_t mib = DEFAULT_MIB;
    if (text) {
        char *end;
        errno = 0;
        unsigned long long value = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end || errno || value > UINT64_MAX >> 20)
            log_write(LogLevelWarn, "disk cache: DRJIT_CACHE_SIZE is '%.40s', expected "
                      "a number of MiB; using %d", text, DEFAULT_MIB);
        else
            mib = value;
    }
    return mib << 20;
}

static bool prepare_dir(const char *dir)
{
    struct stat info;
    if (lstat(dir, &info) != 0 && errno == ENOENT)
        log_write(LogLevelInfo, "disk cache: creating directory \"%s\" ..", dir);
    return file_private_dir(dir);
}

/* Read the key file. False (error recorded): absent or damaged, as '*absent' tells. */
static bool read_key(const char *path, uint8_t key[KEY_SIZE], bool *absent)
{
    void *data;
    size_t size;
    if (!file_read_private(path, KEY_SIZE, &data, &size, absent))
        return false;
    struct stat info;
    bool ok = size == KEY_SIZE && lstat(path, &info) == 0 && !(info.st_mode & 077);
    if (ok)
        memcpy(key, data, KEY_SIZE);
    else
        error_set(JIT_ERROR_SYSTEM, "the key file '%.300s' has the wrong size or mode "
                  "(expected %d bytes, mode 0600)", path, KEY_SIZE);
    explicit_bzero(data, size);
    alloc_free(data);
    return ok;
}

/* Put a random key at 'path' unless there is a file already. The link gives it the
 * final name when its content is complete; of several processes the first one succeeds.
 * */
static bool create_key(const char *path)
{
    Text name = { 0 };
    text_putf(&name, "%s.%ld.%llx.tmp", path, (long) getpid(),
              (unsigned long long) clock_ns());
    const char *temporary = text_get(&name);
    uint8_t key[KEY_SIZE];
    seal_new_key(key);
    bool ok = temporary && file_publish(temporary, key, sizeof key);
    explicit_bzero(key, sizeof key);
    if (ok) {
        if ((alloc_fault() || link(temporary, path) != 0) && errno != EEXIST)
            ok = error_set(JIT_ERROR_SYSTEM, "cannot create '%.300s': %m", path);
        file_remove(temporary);
    }
    text_free(&name);
    return ok;
}

static bool replace_key(const char *path)
{
    uint8_t key[KEY_SIZE];
    seal_new_key(key);
    bool ok = file_publish(path, key, sizeof key);
    explicit_bzero(key, sizeof key);
    return ok;
}

/* Get the user's key, making it if it is absent and replacing it if it is damaged:
 * entries under the old one are dropped as they are met. */
static bool find_key(const char *dir, uint8_t key[KEY_SIZE])
{
    Text name = { 0 };
    text_putf(&name, "%s/key", dir);
    const char *path = text_get(&name);
    bool ok = false;
    for (int i = 0; path && !ok && i < KEY_ATTEMPTS; ++i) {
        bool absent;
        ok = read_key(path, key, &absent);
        if (ok)
            break;
        if (!absent)
            log_write(LogLevelInfo, "disk cache: replacing the key: %s",
                      error_message());
        if (error_code() == JIT_ERROR_MEMORY ||
            !(absent ? create_key(path) : replace_key(path)))
            break;
    }
    text_free(&name);
    return ok;
}

/* Why is the cache off? The calling thread's error says so. With the lock held, like
 * the next two. */
static void turn_off(void)
{
    disk.stage = STAGE_OFF;
    log_write(LogLevelInfo, "disk cache: off: %s", error_message());
}

/* Decide where the cache goes, without a trace in the file system. */
static void choose(void)
{
    disk.bound = choose_bound();
    disk.stage = STAGE_CHOSEN;
    if (file_process_is_setuid())
        error_set(JIT_ERROR_STATE,
                  "the process runs with the privileges of another user");
    else if (disk.bound == 0)
        error_set(JIT_ERROR_STATE, "DRJIT_CACHE_SIZE is 0");
    else
        disk.dir = choose_dir();
    if (!disk.dir)
        turn_off();
}

static void open_cache(void)
{
    disk.stage = STAGE_OPEN;
    disk.until_scan = 0;
    if (!seal_load() || !prepare_dir(disk.dir) || !find_key(disk.dir, disk.key))
        turn_off();
}

static void lock_for_fork(void)
{
    pthread_mutex_lock(&disk_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&disk_lock);
}

static void unlock_in_child(void)
{
    disk.scanning = false; /* the thread that scanned stayed behind */
    pthread_mutex_unlock(&disk_lock);
}

void disk_prepare_fork(void)
{
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_in_child);
}

/* Opens the cache if need be. False: it is off. Who opens it holds the lock; what that
 * logs is written when the lock is free again. */
static bool take_snapshot(Snapshot *out)
{
    log_hold();
    pthread_mutex_lock(&disk_lock);
    if (disk.stage == STAGE_UNKNOWN)
        choose();
    if (disk.stage == STAGE_CHOSEN)
        open_cache();
    out->dir = disk.stage == STAGE_OPEN ? alloc_string(disk.dir) : NULL;
    memcpy(out->key, disk.key, KEY_SIZE);
    out->bound = disk.bound;
    pthread_mutex_unlock(&disk_lock);
    log_release();
    return out->dir != NULL;
}

static void drop_snapshot(Snapshot *snapshot)
{
    alloc_free(snapshot->dir);
    explicit_bzero(snapshot->key, KEY_SIZE);
}

const char *disk_dir(void)
{
    ErrorRecord before;
    error_save(&before);
    log_hold();
    pthread_mutex_lock(&disk_lock);
    if (disk.stage == STAGE_UNKNOWN)
        choose();
    const char *dir = disk.stage == STAGE_OFF ? "" : disk.dir;
    pthread_mutex_unlock(&disk_lock);
    log_release();
    error_restore(&before);
    return dir;
}

void disk_shutdown(void)
{
    pthread_mutex_lock(&disk_lock);
    char *dir = disk.dir;
    disk.dir = NULL;
    disk.stage = STAGE_UNKNOWN;
    explicit_bzero(disk.key, KEY_SIZE);
    pthread_mutex_unlock(&disk_lock);
    alloc_free(dir);
    atomic_store_explicit(&reported, 0, memory_order_relaxed);
}

/* ------------------------------------------------------------------------- entries */

static void put_le(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i)
        out[i] = (uint8_t) (value >> 8 * i);
}

static uint64_t get_le(const uint8_t *in, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
        value |= (uint64_t) in[i] << 8 * i;
    return value;
}

/* The header up to the authentication code. */
static void write_header(uint8_t *out, Hash128 key, size_t engine_size,
                         size_t identity_size, size_t size)
{
    memcpy(out, magic, sizeof magic);
    put_le(out + 8, FORMAT_VERSION, 4);
    put_le(out + 12, CODE_VERSION, 4);
    put_le(out + 16, engine_size, 4);
    put_le(out + 20, 0, 4);
    put_le(out + 24, key.low, 8);
    put_le(out + 32, key.high, 8);
    put_le(out + 40, identity_size, 8);
    put_le(out + 48, size, 8);
}

/* Authentication code of a whole file: everything but the place of the code itself. */
static void authenticate(const uint8_t key[KEY_SIZE], const uint8_t *file, size_t size,
                         uint8_t mac[MAC_SIZE])
{
    seal_compute(key, file, MAC_OFFSET, file + HEADER_SIZE, size - HEADER_SIZE, mac);
}

/* <32 hex>.<engine>.bin in the directory; NULL (error recorded) if it cannot be named.
 * */
static char *entry_path(const char *dir, Hash128 key, const char *engine)
{
    Text path = { 0 };
    text_putf(&path, "%s/", dir);
    size_t start = path.size;
    text_put_hex64(&path, key.high);
    text_put_hex64(&path, key.low);
    text_putf(&path, ".%s.bin", engine);
    char *result = text_take(&path);
    if (result &&
        (strlen(engine) > ENGINE_NAME_SIZE || !disk_evict_is_entry(result + start))) {
        error_set(JIT_ERROR_ARGUMENT, "'%.40s' cannot be part of a file name", engine);
        alloc_free(result);
        return NULL;
    }
    return result;
}

/* What a file holds, once it has been checked. */
typedef enum Verdict { ENTRY_DAMAGED, ENTRY_OTHER, ENTRY_FITS } Verdict;

/* Is this file intact, and is it the wanted entry? On ENTRY_FITS, '*code' is where the
 * code starts; it reaches to the end of the file. */
static Verdict check_entry(const uint8_t key[KEY_SIZE], const uint8_t *file,
                           size_t size, Hash128 name, const char *engine,
                           const void *identity, size_t identity_size, size_t *code)
{
    uint8_t mac[MAC_SIZE], expected[HEADER_SIZE];
    if (size < HEADER_SIZE)
        return ENTRY_DAMAGED;
    authenticate(key, file, size, mac);
    if (!seal_equal(mac, file + MAC_OFFSET))
        return ENTRY_DAMAGED;

    /* From here on the file is one of ours, but perhaps one of another version, or one
     * that was given the name of another entry. */
    size_t engine_size = get_le(file + 16, 4), rest = size - HEADER_SIZE;
    uint64_t stored = get_le(file + 40, 8), code_size = get_le(file + 48, 8);
    if (engine_size > rest || stored > rest - engine_size ||
        code_size != rest - engine_size - stored)
        return ENTRY_DAMAGED;
    write_header(expected, name, strlen(engine), stored, code_size);
    if (memcmp(file, expected, MAC_OFFSET) != 0 ||
        memcmp(file + HEADER_SIZE, engine, engine_size) != 0)
        return ENTRY_DAMAGED;

    /* Two Programs with one key: possible in theory, and no reason to delete. */
    const uint8_t *program = file + HEADER_SIZE + engine_size;
    if (stored != identity_size || memcmp(program, identity, identity_size) != 0)
        return ENTRY_OTHER;
    *code = HEADER_SIZE + engine_size + stored;
    return ENTRY_FITS;
}

/* Look at one file. True: '*data' is a copy of the code. */
static bool load(const Snapshot *now, const char *path, Hash128 key, const char *engine,
                 const void *identity, size_t identity_size, void **data, size_t *size)
{
    void *file;
    size_t file_size, code = 0;
    bool absent;
    if (!file_read_private(path, ENTRY_LIMIT, &file, &file_size, &absent))
        return false; /* a file of a wrong kind stays until a store replaces it */

    Verdict verdict = check_entry(now->key, file, file_size, key, engine, identity,
                                  identity_size, &code);
    bool ok = false;
    if (verdict == ENTRY_DAMAGED) {
        log_write(LogLevelDebug, "disk cache: dropping damaged entry '%s'", path);
        file_remove(path);
    } else if (verdict == ENTRY_FITS) {
        void *copy = alloc_get(file_size - code);
        if (copy) {
            memcpy(copy, (uint8_t *) file + code, file_size - code);
            *data = copy;
            *size = file_size - code;
            utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); /* recently used */
            ok = true;
        }
    }
    alloc_free(file);
    return ok;
}

bool disk_load(Hash128 key, const char *engine, const void *identity,
               size_t identity_size, void **data, size_t *size)
{
    ErrorRecord before;
    error_save(&before);
    Snapshot now;
    bool ok = false;
    if (take_snapshot(&now)) {
        char *path = entry_path(now.dir, key, engine);
        ok = path && load(&now, path, key, engine, identity, identity_size, data, size);
        alloc_free(path);
    }
    drop_snapshot(&now);
    error_restore(&before);
    return ok;
}

/* ------------------------------------------------------------------------- storing */

/* The bytes of an entry, NULL (error recorded) if memory is out or it is too large. */
static uint8_t *make_entry(const Snapshot *now, Hash128 key, const char *engine,
                           const void *identity, size_t identity_size, const void *data,
                           size_t size, size_t *total)
{
    size_t engine_size = strlen(engine);
    if (identity_size > ENTRY_LIMIT || size > ENTRY_LIMIT ||
        HEADER_SIZE + engine_size + identity_size + size > ENTRY_LIMIT) {
        error_set(JIT_ERROR_SYSTEM, "a kernel of %zu bytes is too large to be stored",
                  size);
        return NULL;
    }
    *total = HEADER_SIZE + engine_size + identity_size + size;
    uint8_t *file = alloc_get(*total);
    if (!file)
        return NULL;
    write_header(file, key, engine_size, identity_size, size);
    uint8_t *p = file + HEADER_SIZE;
    memcpy(p, engine, engine_size);
    memcpy(p + engine_size, identity, identity_size);
    memcpy(p + engine_size + identity_size, data, size);
    authenticate(now->key, file, *total, file + MAC_OFFSET);
    return file;
}

/* Write an entry. Only a folder cannot be replaced by a file: it is moved aside. */
static bool publish(const char *path, const void *file, size_t size)
{
    struct stat info;
    TRY(!file_publish(path, file, size), true);
    TRY(lstat(path, &info) == 0 && S_ISDIR(info.st_mode), false);
    TRY(file_move_aside(path), false);
    error_set(JIT_ERROR_SYSTEM, "a folder in the place of '%.300s' was moved aside",
              path);
    report_once(REPORT_FOLDER);
    return file_publish(path, file, size);
}

/* Count a stored entry; look at the whole directory when the bound seems to be
 * exceeded, at the first store, and now and then because other processes store too. */
static void keep_bound(const Snapshot *now, uint64_t added)
{
    pthread_mutex_lock(&disk_lock);
    disk.estimate += added;
    bool due = disk.until_scan == 0 || disk.estimate > now->bound;
    bool scan = due && !disk.scanning;
    if (scan) {
        disk.scanning = true;
        disk.until_scan = SCAN_INTERVAL;
    } else if (disk.until_scan > 0) {
        --disk.until_scan;
    }
    pthread_mutex_unlock(&disk_lock);
    if (!scan)
        return;

    uint64_t left = 0;
    bool ok = disk_evict(now->dir, now->bound, &left);
    if (!ok)
        report_once(REPORT_EVICT);
    pthread_mutex_lock(&disk_lock);
    disk.scanning = false;
    /* After a failure, try again after the usual number of stores, not at each. */
    disk.estimate = left;
    pthread_mutex_unlock(&disk_lock);
}

void disk_store(Hash128 key, const char *engine, const void *identity,
                size_t identity_size, const void *data, size_t size)
{
    ErrorRecord before;
    error_save(&before);
    Snapshot now;
    if (take_snapshot(&now)) {
        size_t total = 0;
        char *path = entry_path(now.dir, key, engine);
        uint8_t *file = path
            ? make_entry(&now, key, engine, identity, identity_size, data, size, &total)
            : NULL;
        if (!file || !publish(path, file, total))
            report_once(REPORT_STORE);
        else
            keep_bound(&now, total);
        alloc_free(file);
        alloc_free(path);
    }
    drop_snapshot(&now);
    error_restore(&before);
}
