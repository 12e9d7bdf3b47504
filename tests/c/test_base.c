/*
 * test_base.c -- memory, errors, log, containers and hash
 *
 * Reference values come from elsewhere: hashes from the definition of XXH3 (checked
 * against libxxhash's own library object), the table from a plain array, quantities by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"

/* ------------------------------------------------------------------ memory */

static void test_alloc(void **state)
{
    (void) state;
    char *p = alloc_get(0);
    assert_non_null(p);
    p = alloc_resize(p, 100);
    assert_non_null(p);
    memset(p, 7, 100);
    alloc_free(p);

    unsigned char *zero = alloc_zero(33, 3);
    assert_non_null(zero);
    for (int i = 0; i < 99; ++i)
        assert_int_equal(zero[i], 0);
    alloc_free(zero);

    for (size_t size = 0; size < 200; size += 13) {
        void *aligned = alloc_aligned(size);
        assert_non_null(aligned);
        assert_int_equal((uintptr_t) aligned % 64, 0);
        alloc_free(aligned);
    }

    char *copy = alloc_string("copied");
    assert_string_equal(copy, "copied");
    alloc_free(copy);
    alloc_free(NULL);
}

static void test_alloc_failure(void **state)
{
    (void) state;
    error_clear();
    assert_null(alloc_zero(SIZE_MAX / 2, 3));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_non_null(strstr(error_message(), "out of memory"));

#if defined(JIT_HOSTILE)
    alloc_fail_at(2);
    void *first = alloc_get(8);
    assert_non_null(first);
    assert_null(alloc_get(8));
    void *third = alloc_get(8);
    assert_non_null(third);
    assert_int_equal(alloc_steps(), 3);
    alloc_fail_at(0);
    alloc_free(first);
    alloc_free(third);
#else
    alloc_fail_at(1);
    assert_false(alloc_fault());
    assert_int_equal(alloc_steps(), 0);
#endif
}

/* ------------------------------------------------------------------ errors */

static int fail_with_try(bool ok)
{
    TRY(ok, -5);
    return 1;
}

static void *error_thread(void *seen)
{
    *(JitError *) seen = error_code();
    error_set(JIT_ERROR_COMPILE, "from another thread");
    return NULL;
}

static void test_error(void **state)
{
    (void) state;
    error_clear();
    assert_int_equal(error_code(), JIT_OK);
    assert_string_equal(error_message(), "");

    assert_int_equal(error_set(JIT_ERROR_ARGUMENT, "operand %d is %s", 2, "float64"),
                     0);
    assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
    assert_string_equal(error_message(), "operand 2 is float64");

    /* A message may quote the one before it. */
    error_set(JIT_ERROR_STATE, "jit_eval(): %s", error_message());
    assert_string_equal(error_message(), "jit_eval(): operand 2 is float64");

    JitError seen = JIT_ERROR_SYSTEM;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, error_thread, &seen), 0);
    pthread_join(thread, NULL);
    assert_int_equal(seen, JIT_OK);
    assert_int_equal(error_code(), JIT_ERROR_STATE);

    ErrorRecord saved;
    error_save(&saved);
    error_clear();
    error_restore(&saved);
    assert_string_equal(error_message(), "jit_eval(): operand 2 is float64");

    char wide[2000];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    error_set(JIT_ERROR_SYSTEM, "%s", wide);
    assert_int_equal(strlen(error_message()), sizeof saved.message - 1);
    assert_string_equal(error_message() + sizeof saved.message - 4, "...");

    assert_int_equal(fail_with_try(true), 1);
    assert_int_equal(fail_with_try(false), -5);
    error_clear();
}

/* --------------------------------------------------------------------- log */

static char heard[4096];
static unsigned heard_count;

static void listen(LogLevel level, const char *message)
{
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof heard - used, "%d:%s;", (int) level, message);
    ++heard_count;
    /* A callback that causes log lines is not called again for them. */
    log_write(LogLevelError, "from the callback");
}

static void test_log(void **state)
{
    (void) state;
    LogLevel before = log_stderr_level();
    assert_int_equal(before, LogLevelInfo);
    log_set_stderr_level(LogLevelWarn);
    assert_int_equal(log_callback_level(), LogLevelDisable);
    assert_true(log_enabled(LogLevelWarn));
    assert_false(log_enabled(LogLevelInfo));
    assert_false(log_enabled(LogLevelNone));

    log_set_stderr_level(LogLevelDisable);
    assert_false(log_enabled(LogLevelError));
    log_set_callback(LogLevelInfo, listen);
    assert_int_equal(log_callback_level(), LogLevelInfo);
    assert_true(log_enabled(LogLevelInfo));
    assert_false(log_enabled(LogLevelDebug));

    heard[0] = 0;
    heard_count = 0;
    log_write(LogLevelWarn, "a%d", 1);
    log_text(LogLevelDebug, "too detailed");
    assert_string_equal(heard, "2:a1;");

    log_defer();
    log_defer();
    log_text(LogLevelInfo, "b");
    log_release();
    log_write(LogLevelError, "c");
    assert_string_equal(heard, "2:a1;");
    log_release();
    assert_string_equal(heard, "2:a1;3:b;1:c;");

    /* A record longer than the formatting buffer arrives whole. */
    char wide[3000];
    memset(wide, 'y', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    heard[0] = 0;
    log_write(LogLevelInfo, "%s", wide);
    assert_int_equal(strlen(heard), sizeof wide - 1 + 3);

    log_set_callback(LogLevelTrace, NULL);
    assert_int_equal(log_callback_level(), LogLevelDisable);

    /* What stands for stderr has its level, and gets what was asked for at any. */
    log_set_output(listen);
    log_set_stderr_level(LogLevelError);
    heard[0] = 0;
    log_write(LogLevelWarn, "d");
    log_write(LogLevelError, "e");
    log_defer();
    log_print("f");
    log_release();
    assert_string_equal(heard, "1:e;3:f;");
    log_set_stderr_level(LogLevelDisable);
    log_print("g");
    assert_string_equal(heard, "1:e;3:f;");
    log_set_output(NULL);
    log_set_stderr_level(before);
}

static void *log_thread(void *arg)
{
    (void) arg;
    for (int i = 0; i < 200; ++i) {
        log_defer();
        log_write(LogLevelInfo, "line %d", i);
        log_release();
    }
    return NULL;
}

static _Atomic unsigned parallel_count;

static void count(LogLevel level, const char *message)
{
    (void) level;
    (void) message;
    ++parallel_count;
}

static void test_log_threads(void **state)
{
    (void) state;
    log_set_callback(LogLevelInfo, count);
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, log_thread, NULL), 0);
    for (int i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    log_set_callback(LogLevelDisable, NULL);
    assert_int_equal(parallel_count, 800);
}

/* -------------------------------------------------------------- containers */

static void test_vec(void **state)
{
    (void) state;
    double *data = NULL;
    uint32_t capacity = 0, grown = 0;
    for (uint32_t i = 0; i < 10000; ++i) {
        uint32_t old = capacity;
        assert_true(vec_reserve(&data, &capacity, i + 1, sizeof *data));
        if (capacity != old) {
            ++grown;
            assert_true(capacity >= old + old / 2);
        }
        data[i] = i;
    }
    for (uint32_t i = 0; i < 10000; ++i)
        assert_true(data[i] == i);
    assert_true(grown < 25);

    double *same = data;
    assert_false(vec_reserve(&data, &capacity, UINT32_MAX, SIZE_MAX / 8));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_ptr_equal(data, same);
    alloc_free(data);
    error_clear();
}

enum { BLOCKS = 3000 };

/* Blocks of all sizes, each filled with its number. */
static void fill_blocks(Arena *arena, unsigned char **blocks, uint32_t *sizes)
{
    uint32_t seed = 1;
    for (uint32_t i = 0; i < BLOCKS; ++i) {
        seed = seed * 1664525u + 1013904223u;
        sizes[i] = i % 500 == 499 ? 100000 : (seed >> 16) % 200;
        assert_non_null(blocks[i] = arena_get(arena, sizes[i]));
        assert_int_equal((uintptr_t) blocks[i] % ARENA_ALIGNMENT, 0);
        memset(blocks[i], (int) (i & 255), sizes[i]);
    }
}

/* Nothing overlaps, and an arena that was released can be used again. */
static void test_arena(void **state)
{
    (void) state;
    static unsigned char *blocks[BLOCKS];
    static uint32_t sizes[BLOCKS];
    Arena arena = { 0 };
    assert_non_null(arena_get(&arena, 0));
    for (int round = 0; round < 3; ++round) {
        fill_blocks(&arena, blocks, sizes);
        for (uint32_t i = 0; i < BLOCKS; ++i)
            for (uint32_t k = 0; k < sizes[i]; ++k)
                assert_int_equal(blocks[i][k], i & 255);
        unsigned char *zero = arena_zero(&arena, 33, 3);
        for (int k = 0; k < 99; ++k)
            assert_int_equal(zero[k], 0);
        assert_string_equal(arena_string(&arena, "copied"), "copied");
        arena_free(&arena);
        arena = (Arena){ 0 };
    }
    arena_free(&arena); /* an empty one */
    arena_trim();
    arena_trim();
}

static void test_arena_array(void **state)
{
    (void) state;
    Arena arena = { 0 };
    double *data = NULL;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < 10000; ++i) {
        assert_true(arena_reserve(&arena, &data, &capacity, i + 1, sizeof *data));
        assert_non_null(arena_get(&arena, i % 7)); /* something beside it */
        data[i] = i;
    }
    for (uint32_t i = 0; i < 10000; ++i)
        assert_true(data[i] == i);

    double *same = data;
    uint32_t before = capacity;
    assert_false(arena_reserve(&arena, &data, &capacity, UINT32_MAX, SIZE_MAX / 8));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_ptr_equal(data, same);
    assert_int_equal(capacity, before);
    error_clear();
    static const size_t too_large[] = { SIZE_MAX, SIZE_MAX - 20, SIZE_MAX / 2 };
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; ++i) {
        assert_null(arena_get(&arena, too_large[i]));
        assert_int_equal(error_code(), JIT_ERROR_MEMORY);
        error_clear();
    }
    assert_null(arena_zero(&arena, SIZE_MAX / 4, 8));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    error_clear();
    assert_non_null(arena_get(&arena, 1)); /* as before */
    arena_free(&arena);
    arena_trim();
}

enum { TABLE_KEYS = 400 };

/* Key 'k', of up to eight bytes, or of more. */
static size_t table_key(char key[40], uint32_t k)
{
    return k % 2 ? (size_t) snprintf(key, 40, "key-%u-%*u", k, (int) (k % 9), k)
                 : (size_t) snprintf(key, 40, "%u", k);
}

/* Random insertions, replacements and deletions of this many keys, compared with a
 * plain array. */
static void check_table(uint32_t keys)
{
    static char values[TABLE_KEYS][2];
    void *expected[TABLE_KEYS] = { 0 };
    Table table = { 0 };
    uint64_t seed = keys;
    uint32_t count_expected = 0;
    char key[40];

    assert_null(table_get(&table, "x", 1));
    assert_null(table_remove(&table, "x", 1));
    for (int step = 0; step < 20000; ++step) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t k = (uint32_t) (seed >> 33) % keys;
        unsigned action = (unsigned) (seed >> 60);
        size_t key_size = table_key(key, k);
        if (action < 8) {
            void *value = &values[k][action & 1];
            assert_true(table_put(&table, key, key_size, value));
            count_expected += expected[k] == NULL;
            expected[k] = value;
        } else if (action < 14) {
            assert_ptr_equal(table_remove(&table, key, key_size), expected[k]);
            count_expected -= expected[k] != NULL;
            expected[k] = NULL;
        } else {
            assert_ptr_equal(table_get(&table, key, key_size), expected[k]);
        }
        assert_int_equal(table.count, count_expected);
    }
    for (uint32_t k = 0; k < keys; ++k)
        assert_ptr_equal(table_get(&table, key, table_key(key, k)), expected[k]);

    /* Keys are byte strings: the empty one and ones with zeros count too. */
    assert_true(table_put(&table, "", 0, values[0]));
    assert_true(table_put(&table, "\0\0", 2, values[1]));
    assert_ptr_equal(table_get(&table, "", 0), values[0]);
    assert_ptr_equal(table_get(&table, "\0\0", 2), values[1]);
    assert_null(table_get(&table, "\0", 1));
    table_free(&table);
    assert_int_equal(table.count, 0);
}

static void test_table(void **state)
{
    (void) state;
    static const uint32_t keys[] = { 1, 5, 8, 12, 40, TABLE_KEYS };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i)
        check_table(keys[i]);
}

/* -------------------------------------------------------------------- text */

static void test_text(void **state)
{
    (void) state;
    Text text = { 0 };
    assert_string_equal(text_get(&text), "");
    text_put(&text, "a");
    text_put_char(&text, 'b');
    text_put_n(&text, "cdef", 2);
    text_put_u64(&text, 0);
    text_put_char(&text, ' ');
    text_put_u64(&text, UINT64_MAX);
    text_put_char(&text, ' ');
    text_put_i64(&text, INT64_MIN);
    text_put_char(&text, ' ');
    text_put_i64(&text, -7);
    text_put_char(&text, ' ');
    text_put_hex64(&text, 0x0123456789abcdefu);
    assert_string_equal(text_get(&text), "abcd0 18446744073709551615 "
                                         "-9223372036854775808 -7 0123456789abcdef");
    text_clear(&text);
    assert_string_equal(text_get(&text), "");

    char wide[1000];
    memset(wide, 'z', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    text_putf(&text, "<%s|%d>", wide, 5);
    assert_int_equal(text.size, 999 + 4);
    assert_string_equal(text_get(&text) + 999, "z|5>");

    char *taken = text_take(&text);
    assert_int_equal(strlen(taken), 999 + 4);
    alloc_free(taken);
    taken = text_take(&text);
    assert_string_equal(taken, "");
    alloc_free(taken);
    text_free(&text);
}

static void check_bytes(uint64_t bytes, const char *expected)
{
    Text text = { 0 };
    text_put_bytes(&text, bytes);
    assert_string_equal(text_get(&text), expected);
    text_free(&text);
}

static void check_seconds(double seconds, const char *expected)
{
    Text text = { 0 };
    text_put_seconds(&text, seconds);
    assert_string_equal(text_get(&text), expected);
    text_free(&text);
}

static void test_text_quantities(void **state)
{
    (void) state;
    check_bytes(0, "0 B");
    check_bytes(7, "7 B");
    check_bytes(1023, "1023 B");
    check_bytes(1024, "1 KiB");
    check_bytes(3052, "2.98 KiB");
    check_bytes(101376, "99 KiB");
    check_bytes((uint64_t) (23.7 * 1073741824.0), "23.7 GiB");
    check_bytes(1048575, "1 MiB");
    check_bytes((uint64_t) 5 << 50, "5 PiB");
    check_seconds(0, "0 ns");
    check_seconds(2.4e-6, "2.4 us");
    check_seconds(69.195e-6, "69.195 us");
    check_seconds(33.417e-3, "33.417 ms");
    check_seconds(0.9999999, "1 s");
    check_seconds(12.0, "12 s");
    check_seconds(90061.25, "90061.25 s");
}

#if defined(JIT_HOSTILE)
static void test_text_failure(void **state)
{
    (void) state;
    Text text = { 0 };
    alloc_fail_at(1);
    text_put(&text, "lost");
    text_put(&text, "also lost");
    assert_null(text_get(&text));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_null(text_take(&text));
    text_clear(&text);
    text_put(&text, "works again");
    assert_string_equal(text_get(&text), "works again");
    alloc_fail_at(0);
    text_free(&text);
}
#endif

/* -------------------------------------------------------------------- hash */

static void test_hash(void **state)
{
    (void) state;
    unsigned char data[1000];
    for (size_t i = 0; i < sizeof data; ++i)
        data[i] = (unsigned char) (i * 31 + 7);

    /* The published value of the empty input with seed 0. */
    assert_true(hash_64("", 0, 0) == 0x2d06800538d394c2u);
    Hash128 empty = hash_128("", 0, 0);
    assert_true(empty.high == 0x99aa06d3014798d8u && empty.low == 0x6001c324468d497fu);

    for (size_t size = 0; size <= sizeof data; size += size < 300 ? 1 : 77) {
        XXH128_hash_t reference = XXH3_128bits_withSeed(data, size, 42);
        Hash128 hash = hash_128(data, size, 42);
        assert_true(hash.low == reference.low64 && hash.high == reference.high64);
        assert_true(hash_64(data, size, 42) == XXH3_64bits_withSeed(data, size, 42));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_alloc_failure),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_threads),
        cmocka_unit_test(test_vec),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_array),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_quantities),
        cmocka_unit_test(test_hash),
#if defined(JIT_HOSTILE)
        cmocka_unit_test(test_text_failure),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
