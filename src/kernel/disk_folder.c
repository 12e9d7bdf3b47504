/*
 * disk_folder.c -- see disk_folder.h
 *
 * The settings are guarded by a mutex, which the first user holds while it opens the
 * folder: that loads the cryptography (seal.c), and makes folder and key if they are
 * not there. Before, nothing of the kind happens. Processes coordinate through the file
 * system alone: the first one's key stays.
 */
#include "kernel/disk_folder.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

enum { KEY_SIZE = SEAL_KEY_SIZE, DEFAULT_MIB = 512, KEY_ATTEMPTS = 4 };

/* How far the folder has come since the start or the last shutdown. */
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
    ErrorRecord off;        /* why */
} disk;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;

/* A copy of a path without slashes at its end (which would make the system follow a
 * link) and made absolute, so that chdir() does not move the cache. NULL on failure. */
static char *clean_path(const char *path)
{
    Text text = { 0 };
    if (path[0] != '/') {
        char *cwd = file_current_dir();
        TRY(cwd, NULL);
        text_putf(&text, "%s/", cwd);
        alloc_free(cwd);
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
    if (file_is_absent(dir))
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
    bool ok = size == KEY_SIZE && file_is_secret(path);
    if (ok)
        memcpy(key, data, KEY_SIZE);
    else
        error_set(JIT_ERROR_SYSTEM, "the key file '%.300s' has the wrong size or mode "
                  "(expected %d bytes, mode 0600)", path, KEY_SIZE);
    explicit_bzero(data, size);
    alloc_free(data);
    return ok;
}

/* Put a random key at 'path': if there is no file already, or in its place. */
static bool put_key(const char *path, bool first)
{
    uint8_t key[KEY_SIZE];
    seal_new_key(key);
    bool ok = first ? file_publish_first(path, key, sizeof key)
                    : file_publish(path, key, sizeof key);
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
            !put_key(path, absent))
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
    error_save(&disk.off);
    log_write(LogLevelInfo, "disk cache: off: %s", error_message());
}

/* Decide where the cache goes, without a trace in the file system. */
static void choose(void)
{
    disk.bound = choose_bound();
    disk.stage = STAGE_CHOSEN;
    if (process_is_setuid())
        error_set(JIT_ERROR_STATE,
                  "the process runs with the privileges of another user");
    else if (disk.bound == 0)
        error_set(JIT_ERROR_STATE, "DRJIT_CACHE_SIZE is 0");
    else
        disk.dir = choose_dir();
    if (!disk.dir)
        turn_off();
}

static void open_folder(void)
{
    disk.stage = STAGE_OPEN;
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

void disk_folder_prepare_fork(void)
{
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

/* Who opens it holds the lock; what that logs is written when the lock is free. */
bool disk_folder_take(DiskFolder *out)
{
    log_defer();
    pthread_mutex_lock(&disk_lock);
    if (disk.stage == STAGE_UNKNOWN)
        choose();
    if (disk.stage == STAGE_CHOSEN)
        open_folder();
    if (disk.stage == STAGE_OFF)
        error_restore(&disk.off);
    out->dir = disk.stage == STAGE_OPEN ? alloc_string(disk.dir) : NULL;
    memcpy(out->key, disk.key, KEY_SIZE);
    out->bound = disk.bound;
    pthread_mutex_unlock(&disk_lock);
    log_release();
    return out->dir != NULL;
}

void disk_folder_drop(DiskFolder *folder)
{
    alloc_free(folder->dir);
    explicit_bzero(folder->key, KEY_SIZE);
}

const char *disk_folder_dir(void)
{
    ErrorRecord before;
    error_save(&before);
    log_defer();
    pthread_mutex_lock(&disk_lock);
    if (disk.stage == STAGE_UNKNOWN)
        choose();
    const char *dir = disk.stage == STAGE_OFF ? "" : disk.dir;
    pthread_mutex_unlock(&disk_lock);
    log_release();
    error_restore(&before);
    return dir;
}

void disk_folder_shutdown(void)
{
    pthread_mutex_lock(&disk_lock);
    char *dir = disk.dir;
    disk.dir = NULL;
    disk.stage = STAGE_UNKNOWN;
    explicit_bzero(disk.key, KEY_SIZE);
    pthread_mutex_unlock(&disk_lock);
    alloc_free(dir);
}
