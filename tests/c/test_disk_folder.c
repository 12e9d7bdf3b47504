/*
 * test_disk_folder.c -- the disk cache's folder: places, rights, bound, other processes
 *
 * Whatever happens to the folder, a load gives exactly what was stored or nothing.
 */
#include "disk_util.h"

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
    snprintf(line, sizeof line, "disk cache: creating directory \"%s\" ..\n", dir);
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
    store_text(key_a, "program", "new"); /* cannot replace a folder: it moves aside */
    assert_string_equal(load_text(key_a, "program"), "new");
    assert_int_equal(error_code(), JIT_OK);
    assert_int_equal(count_files(".aside"), 1);
    assert_non_null(strstr(logged, "was moved aside"));

    /* The same of a folder that is not empty. */
    unlink(in_dir(name_a));
    assert_int_equal(mkdir(in_dir(name_a), 0700), 0);
    snprintf(target, sizeof target, "%s/file", in_dir(name_a));
    write_file(target, "mine", 4, 0600);
    store_text(key_a, "program", "newer");
    assert_string_equal(load_text(key_a, "program"), "newer");
    assert_int_equal(count_files(".aside"), 2);
    assert_int_equal(count_files(".tmp"), 0);
    unlink(in_dir(name_a));
    if (geteuid() == 0) {
        write_file(in_dir(name_a), file, size, 0600);
        assert_int_equal(chown(in_dir(name_a), 12345, (gid_t) -1), 0);
        assert_null(load_text(key_a, "program"));
    }
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
    restart();
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
        store_text(key_a, "program", "machine code");
        const char *code = load_text(key_a, "program");
        complete = alloc_steps() < n;
        alloc_fail_at(0);
        if (code)
            assert_string_equal(code, "machine code");
        assert_int_equal(error_code(), JIT_OK);
        assert_true(!complete || code);
        disk_shutdown();

        start();
        assert_string_equal(disk_dir(), dir);
        store_text(key_a, "program", "machine code");
        assert_string_equal(load_text(key_a, "program"), "machine code");
        disk_shutdown();
    }
    assert_true(complete);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_places), TEST(test_relative), TEST(test_unsafe_dirs),
        TEST(test_dir_lost), TEST(test_unsafe_files), TEST(test_full_disk),
        TEST(test_bound), TEST(test_processes_start), TEST(test_processes_write),
        TEST(test_threads),
#if defined(JIT_HOSTILE)
        TEST(test_hostile),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
