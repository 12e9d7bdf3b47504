/*
 * test_os.c -- files, folders, code pages, threads, barriers, process and clock
 *
 * What src/os says of the system is compared with what the system says elsewhere: modes
 * and times of files, /proc/self/maps, the attributes of a thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "os/barrier.h"
#include "os/clock.h"
#include "os/code_pages.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/machine.h"
#include "os/process.h"
#include "os/threads.h"

/* ------------------------------------------------------------------- files */

static char root[200];

static const char *in_root(const char *name)
{
    static char path[8][600];
    static unsigned next;
    char *result = path[next++ % 8];
    snprintf(result, sizeof path[0], "%s/%s", root, name);
    return result;
}

static int make_root(void **state)
{
    (void) state;
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/test_os.XXXXXX", base ? base : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void) state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void expect_system_error(bool result, const char *message)
{
    assert_false(result);
    assert_int_equal(error_code(), JIT_ERROR_SYSTEM);
    assert_non_null(strstr(error_message(), message));
    error_clear();
}

static void test_file_dir(void **state)
{
    (void) state;
    const char *deep = in_root("a/b/c");
    assert_true(file_private_dir(deep));
    struct stat info;
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_true(file_private_dir(deep));

    assert_int_equal(chmod(deep, 0750), 0);
    expect_system_error(file_private_dir(deep), "others have access");
    assert_int_equal(chmod(deep, 0700), 0);

    const char *link = in_root("link");
    assert_int_equal(symlink(deep, link), 0);
    expect_system_error(file_private_dir(link), "link");

    assert_true(file_publish(in_root("plain"), "x", 1));
    expect_system_error(file_private_dir(in_root("plain")), "plain");
    expect_system_error(file_private_dir(in_root("plain/below")), "plain");
    /* Giving a file away is not always allowed, not even to root in a container. */
    if (chown(deep, 12345, 12345) == 0)
        expect_system_error(file_private_dir(deep), "another user");
}

static void expect_content(const char *path, const void *data, size_t size)
{
    void *found = NULL;
    size_t found_size = 0;
    bool absent = true;
    assert_true(file_read_private(path, 1 << 20, &found, &found_size, &absent));
    assert_false(absent);
    assert_int_equal(found_size, size);
    assert_memory_equal(found, data, size);
    alloc_free(found);
}

static void test_file_publish(void **state)
{
    (void) state;
    const char *path = in_root("entry");
    static char large[300000];
    memset(large, 'q', sizeof large);
    assert_true(file_publish(path, large, sizeof large));
    expect_content(path, large, sizeof large);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);

    assert_true(file_publish(path, "new", 3));
    expect_content(path, "new", 3);
    assert_true(file_publish(path, "", 0));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 0);

    expect_system_error(file_publish(in_root("missing/entry"), "x", 1), "missing");
    /* A directory in the way: the rename fails and the temporary goes away. */
    assert_int_equal(mkdir(in_root("taken"), 0700), 0);
    expect_system_error(file_publish(in_root("taken"), "x", 1), "taken");
    char command[300];
    snprintf(command, sizeof command, "! ls -a '%s' | grep -q tmp", root);
    assert_int_equal(system(command), 0);

    assert_true(file_remove(path));
    assert_true(file_remove(path));
    expect_system_error(file_remove(in_root("taken")), "taken");
}

static void test_file_read(void **state)
{
    (void) state;
    const char *path = in_root("read");
    void *data = NULL;
    size_t size = 0;
    bool absent = false;
    expect_system_error(file_read_private(path, 100, &data, &size, &absent), "read");
    assert_true(absent);

    assert_true(file_publish(path, "0123456789", 10));
    expect_system_error(file_read_private(path, 9, &data, &size, &absent), "too large");
    assert_false(absent);
    expect_content(path, "0123456789", 10);

    assert_int_equal(chmod(path, 0620), 0);
    expect_system_error(file_read_private(path, 100, &data, &size, &absent),
                        "can write");
    assert_int_equal(chmod(path, 0644), 0);
    expect_content(path, "0123456789", 10);

    const char *link = in_root("read-link");
    assert_int_equal(symlink(path, link), 0);
    expect_system_error(file_read_private(link, 100, &data, &size, &absent),
                        "read-link");
    assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
    expect_system_error(file_read_private(in_root("fifo"), 100, &data, &size, &absent),
                        "not a regular file");
    expect_system_error(file_read_private(root, 100, &data, &size, &absent),
                        "not a regular file");
    if (chown(path, 12345, 12345) == 0)
        expect_system_error(file_read_private(path, 100, &data, &size, &absent),
                            "another user");
}

/* What is there stays; otherwise it is as with file_publish(). */
static void test_file_publish_first(void **state)
{
    (void) state;
    const char *path = in_root("first");
    struct stat info;
    assert_true(file_is_absent(path));
    assert_true(file_publish_first(path, "one", 3));
    assert_false(file_is_absent(path));
    expect_content(path, "one", 3);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_nlink, 1); /* the temporary is gone */
    assert_true(file_publish_first(path, "two", 3));
    expect_content(path, "one", 3);
    expect_system_error(file_publish_first(in_root("none/first"), "x", 1), "none");
    char command[300];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l | grep -qx 1", root);
    assert_int_equal(system(command), 0);
}

static void test_file_questions(void **state)
{
    (void) state;
    const char *path = in_root("file"), *dir = in_root("dir"), *link = in_root("link");
    assert_true(file_publish(path, "x", 1));
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(symlink(dir, link), 0);
    assert_true(file_is_dir(dir));
    assert_false(file_is_dir(path));
    assert_false(file_is_dir(link));
    assert_false(file_is_dir(in_root("nothing")));
    assert_true(file_is_secret(path));
    assert_int_equal(chmod(path, 0604), 0);
    assert_false(file_is_secret(path));
    assert_false(file_is_secret(link));
    assert_false(file_is_secret(in_root("nothing")));

    /* The time of use, by the clock of time(); that of the file is a tick behind. */
    struct timespec past[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct stat info;
    assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
    time_t before = time(NULL);
    file_touch(path);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_mtime >= before - 1 && info.st_mtime <= time(NULL));

    char *here = file_current_dir(), *name = realpath(".", NULL);
    assert_string_equal(here, name);
    alloc_free(here);
    free(name);
}

static void test_folder(void **state)
{
    (void) state;
    assert_true(file_publish(in_root("file"), "12345", 5));
    assert_int_equal(mkdir(in_root("dir"), 0700), 0);
    assert_int_equal(symlink(in_root("file"), in_root("link")), 0);
    Folder folder;
    assert_true(folder_open(&folder, root));
    const char *name;
    unsigned seen = 0;
    for (;;) {
        assert_true(folder_next(&folder, &name));
        if (!name)
            break;
        seen += strcmp(name, "file") == 0 ? 1 : strcmp(name, "dir") == 0 ? 10
            : strcmp(name, "link") == 0 ? 100 : 0;
    }
    assert_int_equal(seen, 111);

    FolderFile file;
    struct stat info;
    assert_int_equal(stat(in_root("file"), &info), 0);
    assert_true(folder_look(&folder, "file", &file));
    assert_int_equal(file.size, 5);
    assert_int_equal(file.modified.tv_sec, info.st_mtim.tv_sec);
    assert_int_equal(file.modified.tv_nsec, info.st_mtim.tv_nsec);
    assert_false(folder_look(&folder, "dir", &file));
    assert_false(folder_look(&folder, "link", &file));
    assert_false(folder_look(&folder, "nothing", &file));

    assert_true(folder_remove(&folder, "link"));
    assert_true(folder_remove(&folder, "link"));
    assert_false(file_is_absent(in_root("file")));
    expect_system_error(folder_remove(&folder, "dir"), "dir");
    folder_close(&folder);

    expect_system_error(folder_open(&folder, in_root("nothing")), "nothing");
    expect_system_error(folder_open(&folder, in_root("file")), "file");
    assert_int_equal(symlink(in_root("dir"), in_root("link")), 0);
    expect_system_error(folder_open(&folder, in_root("link")), "link");
}

#if defined(JIT_HOSTILE)
/* Every system call of a publication and a reading fails once: nothing is left behind,
 * the old content stays, and the next call works. */
static void test_file_faults(void **state)
{
    (void) state;
    const char *path = in_root("hostile/entry");
    assert_true(file_private_dir(in_root("hostile")));
    assert_true(file_publish(path, "old", 3));
    unsigned failures = 0;
    for (uint64_t n = 1; n < 50; ++n) {
        alloc_fail_at(n);
        bool ok = file_publish(path, "new", 3);
        alloc_fail_at(0);
        expect_content(path, ok ? "new" : "old", 3);
        char command[300];
        snprintf(command, sizeof command, "ls -A '%s/hostile' | wc -l | grep -qx 1",
                 root);
        assert_int_equal(system(command), 0);
        failures += !ok;
        if (ok)
            break;
        assert_int_not_equal(error_code(), JIT_OK);
    }
    assert_true(failures >= 4 && failures < 20);
    failures = 0;
    for (uint64_t n = 1; n < 50; ++n) {
        void *data = NULL;
        size_t size;
        bool absent;
        alloc_fail_at(n);
        bool ok = file_read_private(path, 100, &data, &size, &absent);
        alloc_fail_at(0);
        alloc_free(data);
        failures += !ok;
        if (ok)
            break;
    }
    assert_int_equal(failures, 4); /* open, inspect, memory, read */
    error_clear();
}
#endif

/* ------------------------------------------------------------------ code */

/* Permissions of the mapping that has this address, as in "r-xp"; "" if none has. */
static const char *permissions(const void *address)
{
    static char found[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    assert_non_null(maps);
    found[0] = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char flags[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, flags) == 3 &&
            (uintptr_t) address >= begin && (uintptr_t) address < end)
            strcpy(found, flags);
    }
    fclose(maps);
    return found;
}

static void test_code_pages(void **state)
{
    (void) state;
    enum { SIZE = 10000 };
    unsigned char *code = code_pages_get(SIZE);
    assert_non_null(code);
    assert_string_equal(permissions(code + SIZE - 1), "rw-p");
    memset(code, 7, SIZE);
    assert_true(code_pages_seal(code, SIZE));
    assert_string_equal(permissions(code), "r-xp");
    assert_string_equal(permissions(code + SIZE - 1), "r-xp");
    assert_int_equal(code[SIZE - 1], 7);
    code_pages_release(code, SIZE);
    assert_string_equal(permissions(code + SIZE - 1), "");
    assert_null(code_pages_get(SIZE_MAX / 2));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    error_clear();
}

static void test_code_window(void **state)
{
    (void) state;
    enum { SIZE = 1 << 16, PLACE = 12345 };
    CodeWindow window;
    if (!code_pages_open(&window, SIZE))
        skip(); /* a system without such files */
    assert_string_equal(permissions(window.code), "r-xs");
    assert_true(code_pages_write(&window, PLACE, "machine code", 12));
    assert_memory_equal(window.code + PLACE, "machine code", 12);
    assert_int_equal(window.code[PLACE - 1], 0);
    assert_true(code_pages_is_open(&window));
    code_pages_close(&window);
    assert_false(code_pages_is_open(&window));
    assert_false(code_pages_write(&window, 0, "more", 4));
    assert_memory_equal(window.code + PLACE, "machine code", 12);
    code_pages_release(window.code, window.size);
    assert_string_equal(permissions(window.code), "");
}

/* --------------------------------------------------------------- threads */

typedef struct Seen {
    sigset_t mask;
    size_t stack;
    char name[32];
    uint64_t id;
    long system_id;
    uint32_t cpus; /* with one CPU allowed */
    _Atomic bool named;
} Seen;

static void *look(void *argument)
{
    Seen *seen = argument;
    pthread_attr_t attributes;
    pthread_sigmask(SIG_BLOCK, NULL, &seen->mask);
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &seen->stack);
        pthread_attr_destroy(&attributes);
    }
    while (!atomic_load(&seen->named))
        threads_yield();
    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    seen->id = threads_id();
    seen->system_id = syscall(SYS_gettid);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned) sched_getcpu(), &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0)
        seen->cpus = machine_cpus();
    return NULL;
}

static void test_threads(void **state)
{
    (void) state;
    enum { STACK = 3 << 20 };
    pthread_t thread;
    Seen seen = { .stack = 0 };
    assert_true(threads_start(&thread, STACK, look, &seen));
    threads_name(thread, "a-thread");
    atomic_store(&seen.named, true);
    pthread_join(thread, NULL);
    assert_int_equal(sigismember(&seen.mask, SIGINT), 1);
    assert_int_equal(sigismember(&seen.mask, SIGTERM), 1);
    assert_int_equal(seen.stack, STACK);
    assert_string_equal(seen.name, "a-thread");
    assert_int_equal(seen.id, seen.system_id);
    assert_int_not_equal(seen.id, threads_id());
    assert_int_equal(seen.cpus, 1);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGINT), 0);
    assert_false(threads_start(&thread, 1, look, &seen)); /* no stack is that small */
}

/* Dekker's algorithm with a barrier on one side only: of two threads that each raise a
 * flag and look at the other's, one sees it. Each has the other's flag in its cache by
 * then, and delays differ, so that without the barrier some rounds go wrong. */
enum { ROUNDS = 50000, DELAYS = 512 };
static _Alignas(128) _Atomic bool cheap;
static _Alignas(128) _Atomic bool dear;
static _Alignas(128) _Atomic uint32_t cheap_round;
static _Alignas(128) _Atomic uint32_t dear_round;
static bool cheap_saw[ROUNDS];

static void *play_cheap(void *unused)
{
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        for (uint32_t turns = 1; atomic_load(&dear_round) != i + 1; ++turns)
            if (turns % 1000 == 0)
                threads_yield();
        (void) atomic_load_explicit(&dear, memory_order_relaxed);
        atomic_store_explicit(&cheap, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        cheap_saw[i] = atomic_load_explicit(&dear, memory_order_relaxed);
        atomic_store(&cheap_round, i + 1);
    }
    return unused;
}

static void test_barrier(void **state)
{
    (void) state;
    if (!barrier_is_known())
        skip(); /* then nobody relies on it */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, play_cheap, NULL), 0);
    uint32_t neither = 0;
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        atomic_store_explicit(&cheap, false, memory_order_relaxed);
        atomic_store_explicit(&dear, false, memory_order_relaxed);
        atomic_store(&dear_round, i + 1); /* here both begin */
        for (volatile uint32_t delay = i % DELAYS; delay; --delay)
            (void) atomic_load_explicit(&cheap, memory_order_relaxed);
        atomic_store_explicit(&dear, true, memory_order_relaxed);
        barrier_everywhere();
        bool saw = atomic_load_explicit(&cheap, memory_order_relaxed);
        while (atomic_load(&cheap_round) != i + 1)
            threads_yield();
        neither += !saw && !cheap_saw[i];
    }
    pthread_join(thread, NULL);
    assert_int_equal(neither, 0);
}

/* --------------------------------------------------------- process, clock */

static void test_process(void **state)
{
    (void) state;
    assert_false(process_is_setuid());
    assert_int_equal(process_id(), getpid());
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(process_id() == (uint32_t) getpid() ? 0 : 1);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_clock(void **state)
{
    (void) state;
    uint64_t first = clock_ns();
    usleep(2000);
    uint64_t passed = clock_ns() - first;
    assert_true(passed >= 2000000 && passed < 60000000000u);
    uint64_t seconds = clock_seconds(), same = clock_ns() / 1000000000 + 1;
    assert_true(seconds <= same && seconds + 2 > same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file_dir, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_file_publish, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_file_publish_first, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(test_file_read, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_file_questions, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_folder, make_root, remove_root),
#if defined(JIT_HOSTILE)
        cmocka_unit_test_setup_teardown(test_file_faults, make_root, remove_root),
#endif
        cmocka_unit_test(test_code_pages),
        cmocka_unit_test(test_code_window),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
