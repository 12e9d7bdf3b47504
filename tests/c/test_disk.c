/*
 * test_disk.c -- the disk cache against damage, foreign files and other processes
 *
 * Whatever happens to the directory, a load gives exactly what was stored or nothing.
 * The layout and the authentication code are checked against docs/dev/cache-format.md,
 * with offsets written out and libsodium's one-shot hash.
 */
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
#include <sodium.h>
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

static void collect_log(LogLevel level, const char *message)
{
    (void) level;
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%s\n", message);
}

static void shell(const char *format, const char *argument)
{
    char command[600];
    snprintf(command, sizeof command, format, argument);
    assert_int_equal(system(command), 0);
}

static void start(void)
{
    logged[0] = 0;
    disk_init();
}

static void restart(void)
{
    disk_shutdown();
    start();
}

static int set_up(void **state)
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

static int tear_down(void **state)
{
    (void) state;
    disk_shutdown();
    log_set_callback(LogLevelDisable, NULL);
    shell("chmod -R u+rwx '%s'", root);
    shell("rm -rf '%s'", root);
    return 0;
}

static const char *in_dir(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static size_t read_file(const char *path, uint8_t *out, size_t limit)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, limit, f);
    fclose(f);
    return n;
}

static void write_file(const char *path, const void *data, size_t size, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), (ssize_t) size);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static void store_text(Hash128 key, const char *identity, const char *code)
{
    disk_store(key, "interp", identity, strlen(identity), code, strlen(code));
}

/* Load; NULL or a string that is valid until the next call. Errors are never recorded.
 * */
static const char *load_text(Hash128 key, const char *identity)
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

/* -------------------------------------------------------------- round trip, layout */

static void test_round_trip(void **state)
{
    (void) state;
    start();
    assert_string_equal(disk_dir(), dir);
    assert_null(load_text(key_a, "program"));
    store_text(key_a, "program", "machine code");
    assert_string_equal(load_text(key_a, "program"), "machine code");

    /* Other keys, engines and identities do not see it, nor do they destroy it. */
    Hash128 near = { key_a.low, key_a.high ^ 1 };
    void *data;
    size_t size;
    assert_null(load_text(near, "program"));
    assert_false(disk_load(key_a, "llvm", "program", 7, &data, &size));
    assert_null(load_text(key_a, "prograM"));
    assert_null(load_text(key_a, "program "));
    assert_null(load_text(key_a, ""));
    assert_string_equal(load_text(key_a, "program"), "machine code");

    /* It is there for the next process, and a store replaces it. */
    restart();
    assert_string_equal(load_text(key_a, "program"), "machine code");
    store_text(key_a, "program", "other");
    assert_string_equal(load_text(key_a, "program"), "other");
    store_text(key_a, "", "");
    assert_string_equal(load_text(key_a, ""), "");
    assert_null(load_text(key_a, "program"));

    /* Names that could lead out of the directory are refused. */
    disk_store(key_a, "../x", "p", 1, "c", 1);
    disk_store(key_a, "", "p", 1, "c", 1);
    assert_false(disk_load(key_a, "../x", "p", 1, &data, &size));
    assert_int_equal(error_code(), JIT_OK);
}

static void test_large(void **state)
{
    (void) state;
    start();
    size_t size = 3000000, found;
    uint8_t *code = malloc(size), *identity = malloc(size);
    for (size_t i = 0; i < size; ++i) {
        code[i] = (uint8_t) (i * 37 >> 3);
        identity[i] = (uint8_t) (i * 91 >> 5);
    }
    void *data;
    disk_store(key_a, "llvm", identity, size, code, size);
    assert_true(disk_load(key_a, "llvm", identity, size, &data, &found));
    assert_int_equal(found, size);
    assert_memory_equal(data, code, size);
    alloc_free(data);
    identity[size - 1] ^= 1;
    assert_false(disk_load(key_a, "llvm", identity, size, &data, &found));
    free(code);
    free(identity);
}

static uint64_t little_endian(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
        value = value << 8 | p[i];
    return value;
}

static void test_layout(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300], key[40], body[300], mac[32];
    size_t size = read_file(in_dir(name_a), file, sizeof file);
    assert_int_equal(size, 88 + 6 + 7 + 12);
    assert_memory_equal(file, "djc-code", 8);
    assert_int_equal(little_endian(file + 8, 4), 1);
    assert_int_equal(little_endian(file + 16, 4), 6);
    assert_int_equal(little_endian(file + 20, 4), 0);
    assert_true(little_endian(file + 24, 8) == key_a.low);
    assert_true(little_endian(file + 32, 8) == key_a.high);
    assert_int_equal(little_endian(file + 40, 8), 7);
    assert_int_equal(little_endian(file + 48, 8), 12);
    assert_memory_equal(file + 88, "interpprogrammachine code", 25);

    assert_int_equal(read_file(in_dir("key"), key, sizeof key), 32);
    memcpy(body, file, 56);
    memcpy(body + 56, file + 88, size - 88);
    assert_int_equal(crypto_generichash(mac, 32, body, size - 32, key, 32), 0);
    assert_memory_equal(file + 56, mac, 32);

    struct stat info;
    assert_int_equal(stat(dir, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(stat(in_dir("key"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(stat(in_dir(name_a), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

/* ------------------------------------------------------------------------- damage */

static void test_truncated(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300];
    size_t size = read_file(in_dir(name_a), file, sizeof file - 1);
    for (size_t n = 0; n <= size + 1; ++n) {
        file[size] = 0;
        write_file(in_dir(name_a), file, n, 0600);
        const char *code = load_text(key_a, "program");
        if (n == size)
            assert_string_equal(code, "machine code");
        else
            assert_null(code);
        assert_int_equal(exists(in_dir(name_a)), n == size);
    }
}

static void test_flipped(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300];
    size_t size = read_file(in_dir(name_a), file, sizeof file);
    for (size_t i = 0; i < size; ++i) {
        for (int bit = 0; bit <= 8; ++bit) {
            uint8_t change = bit == 8 ? 0xff : (uint8_t) (1 << bit);
            file[i] ^= change;
            write_file(in_dir(name_a), file, size, 0600);
            assert_null(load_text(key_a, "program"));
            assert_false(exists(in_dir(name_a)));
            file[i] ^= change;
        }
    }
    write_file(in_dir(name_a), file, size, 0600);
    assert_string_equal(load_text(key_a, "program"), "machine code");

    /* A genuine entry under the name of another one. */
    Hash128 other = { 1, 2 };
    const char *name = in_dir("00000000000000020000000000000001.interp.bin");
    write_file(name, file, size, 0600);
    assert_null(load_text(other, "program"));
    name = in_dir("00000000000000020000000000000001.interp.bin");
    assert_false(exists(name));
}

/* A signed header whose lengths do not fit is refused too: the sizes are not believed
 * just because somebody with the key wrote them. */
static void test_lengths(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300], key[40], body[300];
    size_t size = read_file(in_dir(name_a), file, sizeof file);
    read_file(in_dir("key"), key, sizeof key);
    static const struct { size_t at; uint64_t value; int bytes; } cases[] = {
        { 8, 2, 4 }, { 12, 77, 4 }, { 16, 0, 4 }, { 16, UINT32_MAX, 4 }, { 16, 5, 4 },
        { 20, 1, 4 }, { 40, UINT64_MAX, 8 }, { 40, 8, 8 }, { 40, UINT64_MAX - 6, 8 },
        { 48, 0, 8 }, { 48, UINT64_MAX, 8 }, { 48, 13, 8 }, { 0, 0, 8 }, { 24, 0, 8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        uint8_t forged[300];
        memcpy(forged, file, size);
        for (int k = 0; k < cases[i].bytes; ++k)
            forged[cases[i].at + k] = (uint8_t) (cases[i].value >> 8 * k);
        memcpy(body, forged, 56);
        memcpy(body + 56, forged + 88, size - 88);
        crypto_generichash(forged + 56, 32, body, size - 32, key, 32);
        write_file(in_dir(name_a), forged, size, 0600);
        assert_null(load_text(key_a, "program"));
        assert_false(exists(in_dir(name_a)));
    }
}

/* ---------------------------------------------------------------------------- key */

static void test_foreign_key(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t foreign[32];
    memset(foreign, 5, sizeof foreign);
    write_file(in_dir("key"), foreign, sizeof foreign, 0600);
    restart();
    assert_null(load_text(key_a, "program"));
    assert_false(exists(in_dir(name_a)));
    store_text(key_a, "program", "machine code");
    assert_string_equal(load_text(key_a, "program"), "machine code");
}

/* A damaged key is replaced, with a log line; what it protected is dropped. */
static void test_damaged_key(void **state)
{
    (void) state;
    uint8_t bytes[64], key[64];
    memset(bytes, 9, sizeof bytes);
    for (int i = 0; i < 5; ++i) {
        start();
        store_text(key_a, "program", "machine code");
        disk_shutdown();
        char other[300];
        snprintf(other, sizeof other, "%s/other", root);
        if (i == 0)
            write_file(in_dir("key"), bytes, 31, 0600);
        else if (i == 1)
            write_file(in_dir("key"), bytes, 33, 0600);
        else if (i == 2)
            write_file(in_dir("key"), bytes, 32, 0644);
        else if (i == 3)
            write_file(in_dir("key"), bytes, 0, 0600);
        else {
            write_file(other, bytes, 32, 0600);
            unlink(in_dir("key"));
            assert_int_equal(symlink(other, in_dir("key")), 0);
        }
        start();
        assert_string_equal(disk_dir(), dir);
        assert_non_null(strstr(logged, "replacing the key"));
        assert_null(load_text(key_a, "program"));
        struct stat info;
        assert_int_equal(lstat(in_dir("key"), &info), 0);
        assert_true(S_ISREG(info.st_mode));
        assert_int_equal(info.st_mode & 07777, 0600);
        assert_int_equal(read_file(in_dir("key"), key, sizeof key), 32);
        assert_memory_not_equal(key, bytes, 32);
        if (i == 4) {
            assert_int_equal(read_file(other, key, sizeof key), 32);
            assert_memory_equal(key, bytes, 32);
        }
        disk_shutdown();
    }
    /* A folder cannot be replaced: off. */
    unlink(in_dir("key"));
    assert_int_equal(mkdir(in_dir("key"), 0700), 0);
    start();
    assert_string_equal(disk_dir(), "");
    assert_non_null(strstr(logged, "disk cache: off"));
}

/* --------------------------------------------------------------------- directories */

static void expect_off(const char *reason)
{
    restart();
    assert_string_equal(disk_dir(), "");
    assert_non_null(strstr(logged, "disk cache: off"));
    if (!strstr(logged, reason))
        fail_msg("'%s' does not mention '%s'", logged, reason);
    assert_int_equal(error_code(), JIT_OK);
    store_text(key_a, "program", "code");
    assert_null(load_text(key_a, "program"));
}

static void test_places(void **state)
{
    (void) state;
    char line[400], path[600];
    start();
    snprintf(line, sizeof line, "jit_init(): creating directory \"%s\" ..\n", dir);
    assert_string_equal(logged, line);
    restart();
    assert_string_equal(logged, "");

    setenv("DRJIT_CACHE_DIR", "", 1);
    expect_off("DRJIT_CACHE_DIR is empty");
    unsetenv("DRJIT_CACHE_DIR");

    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    expect_off("HOME");
    setenv("HOME", root, 1);
    restart();
    snprintf(path, sizeof path, "%s/.cache/drjit", root);
    assert_string_equal(disk_dir(), path);
    snprintf(path, sizeof path, "%s/xdg", root);
    setenv("XDG_CACHE_HOME", path, 1);
    restart();
    snprintf(path, sizeof path, "%s/xdg/drjit", root);
    assert_string_equal(disk_dir(), path);
    setenv("XDG_CACHE_HOME", "relative", 1);
    restart();
    snprintf(path, sizeof path, "%s/.cache/drjit", root);
    assert_string_equal(disk_dir(), path);
    unsetenv("XDG_CACHE_HOME");
    if (home)
        setenv("HOME", home, 1);
    free(home);

    setenv("DRJIT_CACHE_DIR", dir, 1);
    setenv("DRJIT_CACHE_SIZE", "0", 1);
    expect_off("DRJIT_CACHE_SIZE is 0");
    setenv("DRJIT_CACHE_SIZE", "-3", 1);
    log_set_stderr_level(LogLevelNone);
    restart();
    log_set_stderr_level(LogLevelWarn);
    assert_string_equal(disk_dir(), dir);
    assert_non_null(strstr(logged, "DRJIT_CACHE_SIZE is '-3'"));
}

/* A relative folder stays where it is when the process moves on. */
static void test_relative(void **state)
{
    (void) state;
    char cwd[1000];
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(root), 0);
    setenv("DRJIT_CACHE_DIR", "cache//", 1);
    start();
    assert_int_equal(chdir(cwd), 0);
    assert_string_equal(disk_dir(), dir);
    store_text(key_a, "program", "code");
    assert_true(exists(in_dir(name_a)));
    assert_string_equal(load_text(key_a, "program"), "code");
}

static void test_unsafe_dirs(void **state)
{
    (void) state;
    static const mode_t modes[] = { 0777, 0770, 0707, 0755, 0710, 0701 };
    assert_int_equal(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        assert_int_equal(chmod(dir, modes[i]), 0);
        expect_off("0700");
        assert_false(exists(in_dir("key")));
    }
    assert_int_equal(chmod(dir, 0700), 0);

    char path[300];
    snprintf(path, sizeof path, "%s/link", root);
    assert_int_equal(symlink(dir, path), 0);
    setenv("DRJIT_CACHE_DIR", path, 1);
    expect_off(path);
    snprintf(path, sizeof path, "%s/link/", root);
    setenv("DRJIT_CACHE_DIR", path, 1);
    expect_off("link");
    assert_false(exists(in_dir("key")));

    snprintf(path, sizeof path, "%s/file", root);
    write_file(path, "x", 1, 0600);
    setenv("DRJIT_CACHE_DIR", path, 1);
    expect_off("file");
    snprintf(path, sizeof path, "%s/file/below", root);
    setenv("DRJIT_CACHE_DIR", path, 1);
    expect_off("file");
    setenv("DRJIT_CACHE_DIR", "/proc/cannot/be/made", 1);
    expect_off("/proc");

    setenv("DRJIT_CACHE_DIR", dir, 1);
    if (geteuid() == 0) { /* only root can give a folder away */
        assert_int_equal(chown(dir, 12345, (gid_t) -1), 0);
        expect_off("another user");
    } else {
        assert_int_equal(chmod(dir, 0500), 0);
        expect_off("create");
    }
}

/* The folder vanishes or is closed while it is in use: stores fail with one log line.
 * */
static void test_dir_lost(void **state)
{
    (void) state;
    start();
    shell("rm -r '%s'", dir);
    logged[0] = 0;
    store_text(key_a, "program", "code");
    store_text(key_a, "program", "code");
    assert_null(load_text(key_a, "program"));
    const char *first = strstr(logged, "disk cache:");
    assert_non_null(first);
    assert_null(strstr(first + 1, "disk cache:"));
    assert_int_equal(error_code(), JIT_OK);
}

static void test_unsafe_files(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300];
    size_t size = read_file(in_dir(name_a), file, sizeof file);
    char target[300];
    snprintf(target, sizeof target, "%s/target", root);
    write_file(target, file, size, 0600);

    /* The right bytes behind a link: not followed, and not written through. */
    unlink(in_dir(name_a));
    assert_int_equal(symlink(target, in_dir(name_a)), 0);
    assert_null(load_text(key_a, "program"));
    store_text(key_a, "program", "new");
    assert_string_equal(load_text(key_a, "program"), "new");
    uint8_t after[300];
    assert_int_equal(read_file(target, after, sizeof after), size);
    assert_memory_equal(after, file, size);

    write_file(in_dir(name_a), file, size, 0622);
    assert_null(load_text(key_a, "program"));
    unlink(in_dir(name_a));
    assert_int_equal(mkfifo(in_dir(name_a), 0600), 0);
    assert_null(load_text(key_a, "program"));
    unlink(in_dir(name_a));
    assert_int_equal(mkdir(in_dir(name_a), 0700), 0);
    assert_null(load_text(key_a, "program"));
    store_text(key_a, "program", "new"); /* cannot replace a folder */
    assert_null(load_text(key_a, "program"));
    assert_int_equal(error_code(), JIT_OK);
    rmdir(in_dir(name_a));
    if (geteuid() == 0) {
        write_file(in_dir(name_a), file, size, 0600);
        assert_int_equal(chown(in_dir(name_a), 12345, (gid_t) -1), 0);
        assert_null(load_text(key_a, "program"));
    }
}

static int count_files(const char *part)
{
    DIR *stream = opendir(dir);
    assert_non_null(stream);
    int count = 0;
    for (struct dirent *e; (e = readdir(stream));)
        count += strstr(e->d_name, part) != NULL;
    closedir(stream);
    return count;
}

/* Writes fail beyond a few bytes, as on a full disk. */
static void test_full_disk(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = old;
    small.rlim_cur = 50;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    store_text(key_a, "program", "other code");
    Hash128 fresh = { 3, 4 };
    store_text(fresh, "program", "other code");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);

    assert_int_equal(error_code(), JIT_OK);
    assert_int_equal(count_files(".tmp"), 0);
    assert_string_equal(load_text(key_a, "program"), "machine code");
    assert_null(load_text(fresh, "program"));
    store_text(fresh, "program", "other code");
    assert_string_equal(load_text(fresh, "program"), "other code");

    /* No room for the key: off, and nothing half-made is left. */
    disk_shutdown();
    unlink(in_dir("key"));
    handler = signal(SIGXFSZ, SIG_IGN);
    small.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    start();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_string_equal(disk_dir(), "");
    assert_int_equal(count_files("key"), 0);
    start();
    assert_string_equal(disk_dir(), dir);
}

/* ------------------------------------------------------------------------- bound */

static void set_age(const char *name, long seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, in_dir(name), times, AT_SYMLINK_NOFOLLOW), 0);
}

static const char *entry_name(uint64_t low)
{
    static char name[80];
    snprintf(name, sizeof name, "0000000000000000%016llx.interp.bin",
             (unsigned long long) low);
    return name;
}

static uint64_t total_size(void)
{
    uint64_t total = 0;
    DIR *stream = opendir(dir);
    for (struct dirent *e; (e = readdir(stream));) {
        struct stat info;
        if (strstr(e->d_name, ".bin") && lstat(in_dir(e->d_name), &info) == 0 &&
            S_ISREG(info.st_mode))
            total += (uint64_t) info.st_size;
    }
    closedir(stream);
    return total;
}

static void test_bound(void **state)
{
    (void) state;
    setenv("DRJIT_CACHE_SIZE", "1", 1);
    start();
    static const char *const strangers[] = {
        "notes.txt", "99aabbccddeeff001122334455667788.interp.bin.bak", "x.interp.bin",
        "99aabbccddeeff001122334455667788..bin",
        "99AABBCCDDEEFF001122334455667788.i.bin",
    };
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; ++i) {
        write_file(in_dir(strangers[i]), "mine", 4, 0600);
        set_age(strangers[i], 100000);
    }
    char stale[200], fresh[200];
    snprintf(stale, sizeof stale, "%s.1.2.3.tmp", name_a);
    snprintf(fresh, sizeof fresh, "%s.1.2.4.tmp", name_a);
    write_file(in_dir(stale), "x", 1, 0600);
    write_file(in_dir(fresh), "x", 1, 0600);
    set_age(stale, 100000);
    char target[300];
    snprintf(target, sizeof target, "%s/target", root);
    write_file(target, "mine", 4, 0600);
    assert_int_equal(symlink(target, in_dir(entry_name(999))), 0);
    set_age(entry_name(999), 100000);
    assert_int_equal(mkdir(in_dir(entry_name(998)), 0700), 0);

    enum { SIZE = 65536, COUNT = 60 };
    uint8_t *code = calloc(1, SIZE);
    for (uint64_t i = 0; i < COUNT; ++i) {
        disk_store((Hash128) { i, 0 }, "interp", "p", 1, code, SIZE);
        set_age(entry_name(i), (long) (COUNT - i) + 10);
        /* Number 0 is in use all the time, so it never is the oldest. */
        void *data;
        size_t size;
        assert_true(disk_load((Hash128) { 0, 0 }, "interp", "p", 1, &data, &size));
        alloc_free(data);
        assert_true(total_size() <= 1 << 20);
    }
    assert_true(total_size() > 1 << 19);
    assert_true(exists(in_dir(entry_name(COUNT - 1))));
    assert_false(exists(in_dir(entry_name(1))));
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; ++i)
        assert_true(exists(in_dir(strangers[i])));
    assert_true(exists(in_dir(entry_name(999))));
    assert_true(exists(in_dir(entry_name(998))));
    assert_true(exists(target));
    assert_true(exists(in_dir(fresh)));
    assert_false(exists(in_dir(stale)));

    /* The next process finds the directory too full for a smaller bound. */
    for (uint64_t i = 100; i < 110; ++i) {
        write_file(in_dir(entry_name(i)), code, SIZE, 0600);
        set_age(entry_name(i), 5);
    }
    restart();
    store_text(key_a, "program", "code");
    assert_true(total_size() <= 1 << 20);
    assert_string_equal(load_text(key_a, "program"), "code");
    free(code);
}

/* ----------------------------------------------------------------------- processes */

static void wait_for_children(int count)
{
    for (int i = 0; i < count; ++i) {
        int status = -1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

/* Four processes start on an empty directory: one key wins, and all entries are good.
 * */
static void test_processes_start(void **state)
{
    (void) state;
    for (int round = 0; round < 5; ++round) {
        for (uint64_t i = 0; i < 4; ++i) {
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0) {
                disk_init();
                store_text((Hash128) { i, 7 }, "program", "code");
                _exit(load_text((Hash128) { i, 7 }, "program") ? 0 : 1);
            }
        }
        wait_for_children(4);
        start();
        for (uint64_t i = 0; i < 4; ++i)
            assert_string_equal(load_text((Hash128) { i, 7 }, "program"), "code");
        assert_int_equal(count_files(".tmp"), 0);
        disk_shutdown();
        shell("rm -r '%s'", dir);
    }
}

/* Four processes write, read, damage and evict the same few entries. */
static void test_processes_write(void **state)
{
    (void) state;
    setenv("DRJIT_CACHE_SIZE", "1", 1);
    start();
    for (int child = 0; child < 4; ++child) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            static uint8_t code[100000];
            int bad = 0;
            for (int i = 0; i < 300; ++i) {
                uint64_t n = (uint64_t) (i * 7 + child) % 16;
                memset(code, (int) n, sizeof code);
                disk_store((Hash128) { n, 0 }, "interp", "p", 1, code, sizeof code);
                n = (uint64_t) (i * 5 + child) % 16;
                memset(code, (int) n, sizeof code);
                void *data;
                size_t size;
                if (disk_load((Hash128) { n, 0 }, "interp", "p", 1, &data, &size)) {
                    bad |= size != sizeof code || memcmp(data, code, size) != 0;
                    alloc_free(data);
                }
                if (i % 50 == 49)
                    (void) !truncate(in_dir(entry_name(n)), 1000);
            }
            _exit(bad);
        }
    }
    wait_for_children(4);
    assert_int_equal(count_files(".tmp"), 0);
}

/* ------------------------------------------------------------------------- threads */

static void *store_and_load(void *start)
{
    static uint8_t code[4][60000];
    uint64_t first = *(uint64_t *) start;
    uintptr_t bad = 0;
    disk_init();
    memset(code[first], (int) first + 1, sizeof code[first]);
    for (uint64_t i = 0; i < 100; ++i) {
        Hash128 key = { i % 20, first };
        void *data;
        size_t size;
        disk_store(key, "interp", "p", 1, code[first], sizeof code[first]);
        if (disk_load(key, "interp", "p", 1, &data, &size)) {
            bad |= size != sizeof code[first] || memcmp(data, code[first], size) != 0;
            alloc_free(data);
        }
    }
    return (void *) bad;
}

static void test_threads(void **state)
{
    (void) state;
    setenv("DRJIT_CACHE_SIZE", "1", 1);
    log_set_callback(LogLevelDisable, NULL); /* collect_log() is for one thread */
    pthread_t threads[4];
    uint64_t first[4] = { 0, 1, 2, 3 };
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, store_and_load, first + i),
                         0);
    for (int i = 0; i < 4; ++i) {
        void *bad;
        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
    }
    assert_string_equal(disk_dir(), dir);
    assert_int_equal(count_files(".tmp"), 0);
    restart();
    store_text(key_a, "program", "code");
    assert_true(total_size() <= 1 << 20);
}

/* ------------------------------------------------------------------------- hostile */

#if defined(JIT_HOSTILE)
/* Every allocation and file operation fails once; the outcome is the entry or nothing.
 * */
static void test_hostile(void **state)
{
    (void) state;
    log_set_callback(LogLevelDisable, NULL);
    bool complete = false;
    for (uint64_t n = 1; !complete && n < 1000; ++n) {
        shell("rm -rf '%s'", dir);
        alloc_fail_at(n);
        disk_init();
        store_text(key_a, "program", "machine code");
        const char *code = load_text(key_a, "program");
        complete = alloc_steps() < n;
        alloc_fail_at(0);
        if (code)
            assert_string_equal(code, "machine code");
        assert_int_equal(error_code(), JIT_OK);
        assert_true(!complete || code);
        disk_shutdown();

        disk_init();
        assert_string_equal(disk_dir(), dir);
        store_text(key_a, "program", "machine code");
        assert_string_equal(load_text(key_a, "program"), "machine code");
        disk_shutdown();
    }
    assert_true(complete);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_large),
        TEST(test_layout),
        TEST(test_truncated),
        TEST(test_flipped),
        TEST(test_lengths),
        TEST(test_foreign_key),
        TEST(test_damaged_key),
        TEST(test_places),
        TEST(test_relative),
        TEST(test_unsafe_dirs),
        TEST(test_dir_lost),
        TEST(test_unsafe_files),
        TEST(test_full_disk),
        TEST(test_bound),
        TEST(test_processes_start),
        TEST(test_processes_write),
        TEST(test_threads),
#if defined(JIT_HOSTILE)
        TEST(test_hostile),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
