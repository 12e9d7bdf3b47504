/*
 * test_disk_demand.c -- the disk cache is opened by the first engine that saves code
 *
 * Each case is a process of its own, this program again with the word "run", that has a
 * new, empty home.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <drjit-core/jit.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"

enum { FAILED = 1, LOADED = 2, OFF = 4, SAID_TWICE = 8, LIMIT = 300 };

static const char *program_name;
static char home[LIMIT / 2];

/* ------------------------------------------------------------- the other process */

static int off_lines;

static void count_lines(LogLevel level, const char *message)
{
    (void) level;
    off_lines += strstr(message, "disk cache: off") != NULL;
}

static bool maps_libsodium(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1000];
    bool found = false;
    while (f && fgets(line, sizeof line, f))
        found = found || strstr(line, "sodium");
    if (f)
        fclose(f);
    return found;
}

/* Run kernels; what was seen as a sum of flags. */
static int run(void)
{
    char expected[LIMIT];
    jit_set_log_level_callback(LogLevelInfo, count_lines);
    bool ok = jit_init(JitBackendLLVM);
    for (uint32_t i = 0; i < 3; ++i) {
        uint32_t counter = jit_var_counter(JitBackendLLVM, 100 + i);
        uint32_t x = jit_var_cast(counter, VarTypeFloat32, 0), value = 0;
        uint32_t y = i ? jit_var_mul(x, x) : jit_var_add(x, x);
        uint32_t z = jit_var_cast(y, VarTypeUInt32, 0);
        ok = ok && jit_var_eval(z) && jit_var_read(z, 9, &value) &&
            value == (i ? 81 : 18);
        jit_var_dec_ref(counter);
        jit_var_dec_ref(x);
        jit_var_dec_ref(y);
        jit_var_dec_ref(z);
    }
    snprintf(expected, sizeof expected, "%s/.cache/drjit", getenv("HOME"));
    ok = ok && strcmp(jit_cache_dir(), off_lines ? "" : expected) == 0;
    int result = (maps_libsodium() ? LOADED : 0) | (off_lines == 1 ? OFF : 0) |
        (off_lines > 1 ? SAID_TWICE : 0);
    return result | (ok && jit_shutdown(0) == 0 ? 0 : FAILED);
}

/* ------------------------------------------------------------------------ this one */

static int run_with(const char *engine, const char *libsodium)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("DRJIT_CPU_ENGINE", engine, 1);
        setenv("HOME", home, 1);
        unsetenv("DRJIT_CACHE_DIR");
        unsetenv("XDG_CACHE_HOME");
        if (libsodium)
            setenv("DRJIT_LIBSODIUM_PATH", libsodium, 1);
        execl(program_name, program_name, "run", (char *) NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool home_is_empty(void)
{
    DIR *stream = opendir(home);
    assert_non_null(stream);
    int count = 0;
    while (readdir(stream))
        ++count;
    closedir(stream);
    return count == 2; /* . and .. */
}

static bool cache_has(const char *ending)
{
    char path[LIMIT];
    snprintf(path, sizeof path, "%s/.cache/drjit", home);
    DIR *stream = opendir(path);
    bool found = false;
    for (struct dirent *e; stream && (e = readdir(stream));) {
        size_t n = strlen(e->d_name), m = strlen(ending);
        found = found || (n >= m && strcmp(e->d_name + n - m, ending) == 0);
    }
    if (stream)
        closedir(stream);
    return found;
}

static bool usable(const char *name)
{
    const Engine *engine = engine_find(name);
    return engine && engine->available();
}

/* Engines that keep no code leave no trace. */
static void test_nothing_saved(void **state)
{
    (void) state;
    static const char *const names[] = { "native", "interp" };
    for (size_t i = 0; i < 2; ++i) {
        if (!usable(names[i]))
            continue;
        assert_int_equal(run_with(names[i], NULL), 0);
        assert_true(home_is_empty());
        assert_int_equal(run_with(names[i], "/nonexistent"), 0);
        assert_true(home_is_empty());
    }
}

static void test_saved(void **state)
{
    (void) state;
    if (!usable("llvm"))
        return;
    assert_int_equal(run_with("llvm", NULL), LOADED);
    assert_true(cache_has("key"));
    assert_true(cache_has(".llvm.bin"));
    assert_int_equal(run_with("llvm", NULL), LOADED);
}

/* Without libsodium, or with something else in its place, the cache is off. */
static void test_without_libsodium(void **state)
{
    (void) state;
    if (!usable("llvm"))
        return;
    assert_int_equal(run_with("llvm", "/nonexistent"), OFF);
    assert_true(home_is_empty());
    assert_int_equal(run_with("llvm", "libm.so.6"), OFF);
    assert_true(home_is_empty());
    assert_int_equal(run_with("llvm", program_name), OFF);
    assert_true(home_is_empty());
}

static int set_up(void **state)
{
    (void) state;
    const char *base = getenv("TMPDIR");
    snprintf(home, sizeof home, "%s/test_disk_demand.XXXXXX", base ? base : "/tmp");
    return mkdtemp(home) ? 0 : 1;
}

static int tear_down(void **state)
{
    (void) state;
    char command[LIMIT];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    program_name = argv[0];
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        return run();
    const struct CMUnitTest tests[] = { TEST(test_nothing_saved), TEST(test_saved),
                                        TEST(test_without_libsodium) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
