/*
 * test_native_map.c -- executable memory, and what debuggers are told of it
 *
 * The code that is mapped is one function: it returns its number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/native/run/native_map.h"
#include "os/code_names.h"

enum { KERNELS = 5000, LARGE = 100000 };

typedef int (*Function)(void);

/* mov eax, number; ret; padding */
static NativeMapping add_function(int number, size_t size)
{
    uint8_t *bytes = calloc(size, 1);
    assert_non_null(bytes);
    bytes[0] = 0xb8;
    memcpy(bytes + 1, &number, sizeof number);
    bytes[5] = 0xc3;
    NativeMapping mapping;
    assert_true(native_map_add(&mapping, bytes, size));
    free(bytes);
    assert_int_equal(mapping.size, size);
    assert_int_equal((uintptr_t) mapping.code % 64, 0);
    return mapping;
}

static int call(const NativeMapping *mapping)
{
    Function function;
    memcpy(&function, &mapping->code, sizeof function);
    return function();
}

/* Permissions of the mapping that has this address, as in "r-xp". */
static void find_permissions(const void *address, char found[8])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    found[0] = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char flags[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, flags) == 3 &&
            (uintptr_t) address >= begin && (uintptr_t) address < end)
            strcpy(found, flags);
    }
    if (maps)
        fclose(maps);
}

/* No mapping of the process is writable and executable. */
static void check_no_page_is_both(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        char flags[8];
        assert_int_equal(sscanf(line, "%*s %7s", flags), 1);
        assert_false(flags[1] == 'w' && flags[2] == 'x');
    }
    fclose(maps);
}

static void test_many(void **unused)
{
    (void) unused;
    static NativeMapping all[KERNELS];
    for (int i = 0; i < KERNELS; ++i)
        all[i] = add_function(i * 7, 6 + (size_t) i % 300);
    check_no_page_is_both();
    for (int i = 0; i < KERNELS; ++i)
        assert_int_equal(call(&all[i]), i * 7);
    char flags[8];
    find_permissions(all[0].code, flags);
    assert_int_equal(flags[0], 'r');
    assert_int_equal(flags[1], '-');
    assert_int_equal(flags[2], 'x');
    /* In another order than they came; those that are left still run. */
    for (int i = 0; i < KERNELS; i += 2)
        native_map_remove(&all[i]);
    for (int i = 1; i < KERNELS; i += 2)
        assert_int_equal(call(&all[i]), i * 7);
    for (int i = KERNELS - 1; i > 0; i -= 2)
        native_map_remove(&all[i]);
    find_permissions(all[0].code, flags);
    assert_string_equal(flags, ""); /* the first chunk went back to the system */
}

static void test_small_ones_share_pages(void **unused)
{
    (void) unused;
    NativeMapping a = add_function(1, 100), b = add_function(2, 100);
    assert_true((uintptr_t) b.code - (uintptr_t) a.code < 4096 ||
                (uintptr_t) a.code - (uintptr_t) b.code < 4096);
    native_map_remove(&a);
    assert_int_equal(call(&b), 2);
    native_map_remove(&b);
}

/* The file that small kernels are written to, -1 if there is none. */
static int find_file(void)
{
    for (int file = 3; file < 256; ++file) {
        char path[32], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        if (readlink(path, target, sizeof target - 1) > 0 &&
            strncmp(target, "/memfd:drjit-kernels", 20) == 0)
            return file;
    }
    return -1;
}

/* A program that closes files which are not its own, and opens others, which get their
 * numbers: nothing is written to those, and the next kernels have other memory. */
static void test_closed_file(void **unused)
{
    (void) unused;
    NativeMapping a = add_function(1, 100);
    int file = find_file();
    assert_true(file >= 0);
    FILE *other = tmpfile();
    assert_non_null(other);
    assert_int_equal(dup2(fileno(other), file), file);
    NativeMapping b = add_function(2, 100);
    assert_int_equal(call(&a), 1);
    assert_int_equal(call(&b), 2);
    struct stat status;
    assert_int_equal(fstat(file, &status), 0); /* nor is it closed */
    assert_int_equal(status.st_size, 0);
    close(file);
    fclose(other);
    native_map_remove(&a);
    native_map_remove(&b);
}

static void test_large(void **unused)
{
    (void) unused;
    NativeMapping a = add_function(41, LARGE), b = add_function(42, LARGE);
    check_no_page_is_both();
    assert_int_equal(call(&a), 41);
    native_map_remove(&a);
    char flags[8];
    find_permissions(a.code, flags);
    assert_string_equal(flags, "");
    assert_int_equal(call(&b), 42);
    native_map_remove(&b);
}

/* Parent and child go on with kernels of their own, in memory of their own. */
static void test_fork(void **unused)
{
    (void) unused;
    NativeMapping before = add_function(1, 64);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    NativeMapping after[100];
    for (int i = 0; i < 100; ++i)
        after[i] = add_function(child ? i : 1000 + i, 64);
    char ready = 0; /* the child looks after the parent has written its kernels */
    if (child) {
        assert_int_equal(write(pipes[1], &ready, 1), 1);
    } else if (read(pipes[0], &ready, 1) != 1) {
        _exit(2);
    }
    bool right = call(&before) == 1;
    for (int i = 0; i < 100; ++i)
        right &= call(&after[i]) == (child ? i : 1000 + i);
    native_map_remove(&before);
    for (int i = 0; i < 100; ++i)
        native_map_remove(&after[i]);
    if (!child)
        _exit(right ? 0 : 1);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(right);
    close(pipes[0]);
    close(pipes[1]);
}

/* The list that gdb reads has an entry for each kernel, whose object names its code. */
static void test_gdb(void **unused)
{
    (void) unused;
    extern struct {
        uint32_t version, action;
        void *relevant, *first;
    } __jit_debug_descriptor;
    NativeMapping mapping = add_function(3, 64);
    Hash128 hash = { .low = 2, .high = 1 };
    void *a = code_names_add(mapping.code, mapping.size, hash);
    void *b = code_names_add(mapping.code, mapping.size, hash);
    assert_non_null(a);
    assert_ptr_equal(__jit_debug_descriptor.first, b);
    assert_int_equal(__jit_debug_descriptor.action, 1);
    struct {
        void *next, *previous;
        const char *object;
        uint64_t size;
    } entry;
    memcpy(&entry, b, sizeof entry);
    assert_ptr_equal(entry.next, a);
    assert_memory_equal(entry.object, "\177ELF", 4);
    static const char name[] = "drjit_00000000000000010000000000000002";
    assert_non_null(memmem(entry.object, entry.size, name, sizeof name));
    const void *code = mapping.code;
    assert_non_null(memmem(entry.object, entry.size, &code, sizeof code));
    code_names_remove(b);
    assert_int_equal(__jit_debug_descriptor.action, 2);
    assert_ptr_equal(__jit_debug_descriptor.first, a);
    code_names_remove(a);
    assert_null(__jit_debug_descriptor.first);
    native_map_remove(&mapping);
}

/* In a process of its own, as the environment is read once: the first test. */
static void test_perf_map(void **unused)
{
    (void) unused;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    char path[64], expected[256] = "";
    snprintf(path, sizeof path, "/tmp/perf-%d.map",
             child ? (int) child : (int) getpid());
    if (!child) {
        setenv("DRJIT_PERF", "map", 1);
        NativeMapping mapping = add_function(3, 64);
        Hash128 hash = { .low = 5, .high = 4 };
        code_names_remove(code_names_add(mapping.code, mapping.size, hash));
        snprintf(expected, sizeof expected, "%llx 40 drjit_%016x%016x\n",
                 (unsigned long long) (uintptr_t) mapping.code, 4, 5);
        char found[256] = "";
        FILE *file = fopen(path, "r");
        bool read = file && fgets(found, sizeof found, file);
        _exit(read && strcmp(found, expected) == 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    setenv("DRJIT_GDB", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perf_map),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_small_ones_share_pages),
        cmocka_unit_test(test_closed_file),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_gdb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
