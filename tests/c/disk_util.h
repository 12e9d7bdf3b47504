/*
 * disk_util.h -- what the tests of the disk cache share
 */
#ifndef TESTS_DISK_UTIL_H
#define TESTS_DISK_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "kernel/disk.h"

static char root[200]; /* scratch folder of the current test */
static char dir[256];  /* the cache in it */
static char logged[4000];

static const Hash128 key_a = { 0x1122334455667788, 0x99aabbccddeeff00 };
static const char name_a[] = "99aabbccddeeff001122334455667788.interp.bin";

static inline void collect_log(LogLevel level, const char *message)
{
    (void) level;
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%s\n", message);
}

static inline void shell(const char *format, const char *argument)
{
    char command[600];
    snprintf(command, sizeof command, format, argument);
    assert_int_equal(system(command), 0);
}

static inline int set_up(void **state)
{
    (void) state;
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/test_disk.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(root))
        return 1;
    snprintf(dir, sizeof dir, "%s/cache", root);
    setenv("DRJIT_CACHE_DIR", dir, 1);
    unsetenv("DRJIT_CACHE_SIZE");
    log_set_callback(LogLevelDebug, collect_log);
    error_clear();
    return 0;
}

static inline int tear_down(void **state)
{
    (void) state;
    disk_shutdown();
    log_set_callback(LogLevelDisable, NULL);
    shell("chmod -R u+rwx '%s'", root);
    shell("rm -rf '%s'", root);
    return 0;
}

static inline const char *in_dir(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static inline size_t read_file(const char *path, uint8_t *out, size_t limit)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, limit, f);
    fclose(f);
    return n;
}

static inline void write_file(const char *path, const void *data, size_t size,
                              mode_t mode)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), (ssize_t) size);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static inline bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static inline void store_text(Hash128 key, const char *identity, const char *code)
{
    disk_store(key, "interp", identity, strlen(identity), code, strlen(code));
}

/* Load; NULL or a string that is valid until the next call. Errors are never recorded.
 * */
static inline const char *load_text(Hash128 key, const char *identity)
{
    static char text[256];
    void *data;
    size_t size;
    int code = (int) error_code();
    bool ok = disk_load(key, "interp", identity, strlen(identity), &data, &size);
    assert_int_equal(error_code(), code);
    if (!ok)
        return NULL;
    assert_true(size < sizeof text);
    memcpy(text, data, size);
    text[size] = 0;
    alloc_free(data);
    return text;
}

/* The first look-up opens the cache. */
static inline void start(void)
{
    logged[0] = 0;
    assert_null(load_text((Hash128){ 0, 0 }, "never stored"));
}

static inline void restart(void)
{
    disk_shutdown();
    start();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
