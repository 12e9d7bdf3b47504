/*
 * disk.c -- the disk cache: authenticated files with the code of one kernel each
 *
 * An entry is machine code that this process will execute, so nothing in a file is
 * believed before the keyed BLAKE2b over all of it fits; the key is a file of random
 * bytes beside the entries that only the user can read (disk_folder.c). Entries are
 * read and published through os/file.c, which looks after links, owners, modes and
 * half-written files. See docs/dev/cache-format.md for the layout and for what this
 * protects against.
 *
 * Programs whose engines save no code never open the folder. Processes coordinate
 * through the file system alone: entries appear by rename, and deletion of a file that
 * is gone already is fine.
 */
#include "kernel/disk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/disk_evict.h"
#include "kernel/disk_folder.h"
#include "os/file.h"

enum {
    FORMAT_VERSION = 1,
    CODE_VERSION = 7,    /* to be raised when legaliser or engines emit other code */
    MAC_SIZE = SEAL_CODE_SIZE,
    MAC_OFFSET = 56,
    HEADER_SIZE = MAC_OFFSET + MAC_SIZE,
    ENGINE_NAME_SIZE = 32,
    SCAN_INTERVAL = 64   /* stores between two looks at the whole directory */
};
#define ENTRY_LIMIT ((uint64_t) 1 << 30) /* bytes of one file */

static const char magic[8] = { 'd', 'j', 'c', '-', 'c', 'o', 'd', 'e' };

/* What can go wrong when storing; each is logged once. */
enum { REPORT_STORE = 1, REPORT_EVICT = 2, REPORT_FOLDER = 4 };

/* How much there is. */
static struct {
    uint64_t estimate;      /* bytes of all entries, as far as this process knows */
    uint32_t until_scan;    /* stores until the next scan */
    bool scanning;          /* by a thread of this process */
} amount;
static pthread_mutex_t amount_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t reported;

static void report_once(uint32_t kind)
{
    if (!(atomic_fetch_or_explicit(&reported, kind, memory_order_relaxed) & kind))
        log_write(LogLevelInfo, "disk cache: %s (further cases are not reported)",
                  error_message());
}

/* ------------------------------------------------------------------- start and end */

static void lock_for_fork(void)
{
    pthread_mutex_lock(&amount_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&amount_lock);
}

static void unlock_in_child(void)
{
    amount.scanning = false; /* the thread that scanned stayed behind */
    pthread_mutex_unlock(&amount_lock);
}

void disk_prepare_fork(void)
{
    disk_folder_prepare_fork();
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_in_child);
}

const char *disk_dir(void)
{
    return disk_folder_dir();
}

void disk_shutdown(void)
{
    disk_folder_shutdown();
    pthread_mutex_lock(&amount_lock);
    amount.until_scan = 0;
    pthread_mutex_unlock(&amount_lock);
    atomic_store_explicit(&reported, 0, memory_order_relaxed);
}

/* ------------------------------------------------------------------------- entries */

/* The header up to the authentication code. */
static void write_header(uint8_t *out, Hash128 key, size_t engine_size,
                         size_t identity_size, size_t size)
{
    memcpy(out, magic, sizeof magic);
    bytes_set(out + 8, FORMAT_VERSION, 4);
    bytes_set(out + 12, CODE_VERSION, 4);
    bytes_set(out + 16, engine_size, 4);
    bytes_set(out + 20, 0, 4);
    bytes_set(out + 24, key.low, 8);
    bytes_set(out + 32, key.high, 8);
    bytes_set(out + 40, identity_size, 8);
    bytes_set(out + 48, size, 8);
}

/* Authentication code of a whole file: everything but the place of the code itself. */
static void authenticate(const uint8_t key[SEAL_KEY_SIZE], const uint8_t *file,
                         size_t size, uint8_t mac[MAC_SIZE])
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
static Verdict check_entry(const uint8_t key[SEAL_KEY_SIZE], const uint8_t *file,
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
    size_t engine_size = bytes_get(file + 16, 4), rest = size - HEADER_SIZE;
    uint64_t stored = bytes_get(file + 40, 8), code_size = bytes_get(file + 48, 8);
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
static bool load(const DiskFolder *now, const char *path, Hash128 key,
                 const char *engine, const void *identity, size_t identity_size,
                 void **data, size_t *size)
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
            file_touch(path); /* recently used */
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
    DiskFolder now;
    bool ok = false;
    if (disk_folder_take(&now)) {
        char *path = entry_path(now.dir, key, engine);
        ok = path && load(&now, path, key, engine, identity, identity_size, data, size);
        alloc_free(path);
    }
    disk_folder_drop(&now);
    error_restore(&before);
    return ok;
}

/* ------------------------------------------------------------------------- storing */

/* The bytes of an entry, NULL (error recorded) if out of memory or it is too large. */
static uint8_t *make_entry(const DiskFolder *now, Hash128 key, const char *engine,
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
    TRY(!file_publish(path, file, size), true);
    TRY(file_is_dir(path), false);
    TRY(file_move_aside(path), false);
    error_set(JIT_ERROR_SYSTEM, "a folder in the place of '%.300s' was moved aside",
              path);
    report_once(REPORT_FOLDER);
    return file_publish(path, file, size);
}

/* Count a stored entry; look at the whole directory when the bound seems to be
 * exceeded, at the first store, and now and then because other processes store too. */
static void keep_bound(const DiskFolder *now, uint64_t added)
{
    pthread_mutex_lock(&amount_lock);
    amount.estimate += added;
    bool due = amount.until_scan == 0 || amount.estimate > now->bound;
    bool scan = due && !amount.scanning;
    if (scan) {
        amount.scanning = true;
        amount.until_scan = SCAN_INTERVAL;
    } else if (amount.until_scan > 0) {
        --amount.until_scan;
    }
    pthread_mutex_unlock(&amount_lock);
    if (!scan)
        return;

    uint64_t left = 0;
    bool ok = disk_evict(now->dir, now->bound, &left);
    if (!ok)
        report_once(REPORT_EVICT);
    pthread_mutex_lock(&amount_lock);
    amount.scanning = false;
    /* After a failure, try again after the usual number of stores, not at each. */
    amount.estimate = left;
    pthread_mutex_unlock(&amount_lock);
}

void disk_store(Hash128 key, const char *engine, const void *identity,
                size_t identity_size, const void *data, size_t size)
{
    ErrorRecord before;
    error_save(&before);
    DiskFolder now;
    if (disk_folder_take(&now)) {
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
    disk_folder_drop(&now);
    error_restore(&before);
}
