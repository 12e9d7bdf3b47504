/*
 * test_pages.c -- the pages behind large arrays: nothing overlaps, all of it goes back
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_pages.h"
#include "os/pages.h"

enum {
    LEAST = 1 << 16,
    HUGE_PAGE = 1 << 21,
    AFTER = 64, /* bytes after an array that can be read */
    HELD = 100,
    STEPS = 4000
};

static bool is_mapped(const void *address)
{
    unsigned char there;
    uintptr_t page = (uintptr_t) address & ~(uintptr_t) 4095;
    return mincore((void *) page, 1, &there) == 0 || errno != ENOMEM;
}

static uint32_t random_next(uint32_t *seed)
{
    return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* Every 4 KiB, and in the last byte. */
static void fill(char *block, size_t bytes, char value)
{
    for (size_t i = 0; i < bytes; i += 4096)
        block[i] = value;
    block[bytes - 1] = value;
}

static bool holds(const char *block, size_t bytes, char value)
{
    bool same = block[bytes - 1] == value;
    for (size_t i = 0; i < bytes; i += 4096)
        same &= block[i] == value;
    volatile char behind = block[bytes + AFTER - 1];
    (void) behind;
    return same;
}

/* Takes and gives back arrays of random sizes; the number of things that are wrong. */
static uint32_t play(uint32_t seed)
{
    static const size_t sizes[] = { LEAST, 80 << 10, 256 << 10, 448 << 10, 1 << 20,
                                    1792 << 10, HUGE_PAGE, 3 << 20 };
    struct { char *block; size_t bytes; char value; } held[HELD] = { 0 };
    uint32_t wrong = 0;
    for (uint32_t step = 0; step < STEPS + HELD; ++step) {
        uint32_t k = step < STEPS ? random_next(&seed) % HELD : step - STEPS;
        if (held[k].block) {
            wrong += !holds(held[k].block, held[k].bytes, held[k].value);
            cpu_pages_release(held[k].block, held[k].bytes);
            held[k].block = NULL;
        } else if (step < STEPS) {
            held[k].bytes = sizes[random_next(&seed) % (sizeof sizes / sizeof *sizes)];
            held[k].block = cpu_pages_get(held[k].bytes);
            held[k].value = (char) step;
            if (held[k].block)
                fill(held[k].block, held[k].bytes, held[k].value);
            wrong += !held[k].block || (uintptr_t) held[k].block % LEAST;
        }
    }
    return wrong;
}

static void test_random(void **unused)
{
    (void) unused;
    for (uint32_t seed = 0; seed < 10; ++seed)
        assert_int_equal(play(seed), 0);
}

static void *play_in_thread(void *count)
{
    static _Atomic uint32_t seeds = 100;
    atomic_fetch_add((_Atomic uint32_t *) count, play(atomic_fetch_add(&seeds, 1)));
    return NULL;
}

static void test_threads(void **unused)
{
    (void) unused;
    _Atomic uint32_t wrong = 0;
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, play_in_thread, &wrong), 0);
    for (int i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
}

/* Small arrays share a page, which goes when the last one does. */
static void test_sharing(void **unused)
{
    (void) unused;
    char *blocks[64];
    uint32_t begins = 0;
    for (uint32_t i = 0; i < 64; ++i) {
        assert_non_null(blocks[i] = cpu_pages_get(LEAST));
        begins += (uintptr_t) blocks[i] % HUGE_PAGE == 0;
    }
    assert_int_equal(begins, 2);
    cpu_pages_release(blocks[5], LEAST); /* of a full page, which is used again */
    assert_ptr_equal(cpu_pages_get(LEAST), blocks[5]);
    cpu_pages_release(blocks[5], LEAST);
    cpu_pages_release(blocks[6], LEAST);
    assert_ptr_equal(cpu_pages_get(2 * LEAST), blocks[5]);
    cpu_pages_release(blocks[5], 2 * LEAST);
    for (uint32_t i = 0; i < 64; ++i) {
        if (i == 5 || i == 6)
            continue;
        assert_true(is_mapped(blocks[i]));
        cpu_pages_release(blocks[i], LEAST);
    }
    for (uint32_t i = 0; i < 64; ++i)
        assert_false(is_mapped(blocks[i]));
    char *large = cpu_pages_get(HUGE_PAGE);
    assert_non_null(large);
    assert_int_equal((uintptr_t) large % HUGE_PAGE, 0);
    cpu_pages_release(large, HUGE_PAGE);
    assert_false(is_mapped(large));
}

static bool is_touched(char *block, size_t bytes)
{
    unsigned char there[HUGE_PAGE / 4096];
    size_t pages = bytes / 4096, touched = 0;
    assert_int_equal(mincore(block, bytes, there), 0);
    for (size_t i = 0; i < pages; ++i)
        touched += there[i] & 1;
    return touched == pages;
}

/* Systems before Linux 5.14 cannot. */
static bool system_touches(void)
{
    char *block = pages_get(LEAST, LEAST);
    assert_non_null(block);
    pages_touch(block, LEAST);
    bool touches = is_touched(block, LEAST);
    pages_release(block, LEAST);
    return touches;
}

/* Bytes of addresses that are in use. /proc/self/statm would be simpler, but it has
 * what an emulator uses for itself, too. */
static unsigned long address_space(void)
{
    char line[400];
    unsigned long bytes = 0, begin, end;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            bytes += end - begin;
    fclose(file);
    assert_true(bytes > 0);
    return bytes;
}

/* The next page is touched before it is needed, and goes when another one does. */
static void test_reserve(void **unused)
{
    (void) unused;
    enum { MOST = HUGE_PAGE - 4 * LEAST };
    unsigned long before = address_space();
    cpu_pages_prepare(); /* nothing is in use */
    assert_int_equal(address_space(), before);

    char *first = cpu_pages_get(MOST);
    assert_non_null(first);
    cpu_pages_prepare();
    unsigned long with_reserve = address_space();
    assert_true(with_reserve >= before + 2 * HUGE_PAGE);
    cpu_pages_prepare(); /* there is one */
    assert_int_equal(address_space(), with_reserve);
    char *small = cpu_pages_get(LEAST); /* where there is room */
    assert_ptr_equal(small, first + MOST);
    char *second = cpu_pages_get(MOST);
    assert_int_equal(address_space(), with_reserve);
    assert_true(is_touched(second, MOST) || !system_touches());

    cpu_pages_prepare(); /* the next one */
    assert_true(address_space() >= with_reserve + HUGE_PAGE);
    cpu_pages_release(second, MOST);
    assert_true(address_space() < before + 2 * HUGE_PAGE);
    cpu_pages_prepare(); /* no more are needed */
    assert_true(address_space() < before + 2 * HUGE_PAGE);
    cpu_pages_release(first, MOST);
    cpu_pages_release(small, LEAST);
    assert_int_equal(address_space(), before);
}

static void *prepare_in_thread(void *stop)
{
    while (!atomic_load((_Atomic bool *) stop))
        cpu_pages_prepare();
    return NULL;
}

/* All of it goes back, however the reserve is overtaken. */
static void test_reserve_beside(void **unused)
{
    (void) unused;
    _Atomic bool stop = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, prepare_in_thread, &stop), 0);
    unsigned long before = address_space();
    uint32_t wrong = 0;
    for (uint32_t seed = 200; seed < 203; ++seed)
        wrong += play(seed);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
    assert_true(address_space() <= before);
}

/* An allocation that fails is an error, and nothing else changes. */
static void test_shortage(void **unused)
{
    (void) unused;
    alloc_fail_at(1);
    char *block = cpu_pages_get(LEAST);
#if defined(JIT_HOSTILE)
    assert_null(block);
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    error_clear();
    block = cpu_pages_get(LEAST);
#endif
    alloc_fail_at(0);
    assert_non_null(block);
    alloc_fail_at(1);
    cpu_pages_prepare(); /* does without */
    alloc_fail_at(0);
    assert_int_equal(error_code(), JIT_OK);
    cpu_pages_release(block, LEAST);
    assert_null(cpu_pages_get((size_t) 1 << 60));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_reserve_beside),
        cmocka_unit_test(test_shortage),
    };
    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
