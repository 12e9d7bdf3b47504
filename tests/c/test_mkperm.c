/*
 * test_mkperm.c -- counting sort of keys within blocks
 *
 * Compared with a plain search for each bucket, for several numbers of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/pool.h"
#include "device/stream.h"

enum { MAX_SIZE = 200000 };

static Buffer *in, *out, *second, *number;

static int setup(void **state)
{
    (void) state;
    in = buffer_get(cpu_device(), 4 * MAX_SIZE);
    out = buffer_get(cpu_device(), 4 * MAX_SIZE);
    second = buffer_get(cpu_device(), 16 * MAX_SIZE);
    number = buffer_get(cpu_device(), sizeof(uint32_t));
    return !in || !second || !out || !number;
}

static int teardown(void **state)
{
    (void) state;
    buffer_release(in);
    buffer_release(out);
    buffer_release(second);
    buffer_release(number);
    stream_shutdown();
    buffer_trim();
    return buffer_stats(cpu_device()).live == 0 ? 0 : -1;
}

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void use(Command *c, uint32_t slot, Buffer *buffer, size_t bytes,
                SlotAccess access)
{
    command_set_slot(c, slot, buffer, 0, bytes, access);
}

/* Slot 3 is left out without 'offsets'. */
static Command *permutation(Buffer *keys, uint32_t size, uint32_t block,
                            uint32_t buckets, Buffer *perm, Buffer *unique,
                            Buffer *offsets)
{
    Command *c = command_create(cpu_device(), COMMAND_PERMUTATION, size,
                                offsets ? 4 : 3, 0);
    assert_non_null(c);
    use(c, 0, keys, size * sizeof(uint32_t), SLOT_READ);
    use(c, 1, perm, size * sizeof(uint32_t), SLOT_WRITE);
    use(c, 2, unique, sizeof(uint32_t), SLOT_WRITE);
    if (offsets)
        use(c, 3, offsets, 4 * size * sizeof(uint32_t), SLOT_WRITE);
    c->permutation.block = block;
    c->permutation.buckets = buckets;
    return c;
}

static void run_command(Command *c)
{
    Stream *stream = stream_self(cpu_device());
    assert_true(stream_submit(stream, c));
    stream_sync(stream);
    assert_true(stream_check(stream));
}

/* The permutation of the keys in 'in', in 'out', and the records. */
static void expect_sorted(uint32_t size, uint32_t block, uint32_t buckets)
{
    const uint32_t *keys = in->address, *perm = out->address;
    const uint32_t *offsets = second->address;
    uint32_t next = 0, records = 0;
    for (uint64_t first = 0; first < size; first += block) {
        uint32_t end = first + block < size ? (uint32_t) (first + block) : size;
        for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
            uint32_t start = next;
            for (uint32_t i = (uint32_t) first; i < end; ++i)
                if (keys[i] == bucket)
                    assert_int_equal(perm[next++], i);
            if (next == start)
                continue;
            const uint32_t expected[] = { bucket, start, next - start, 0 };
            assert_memory_equal(offsets + 4 * (size_t) records, expected,
                                sizeof expected);
            ++records;
        }
    }
    assert_int_equal(*(uint32_t *) number->address, records);
}

static void check_mkperm(uint32_t size, uint32_t block, uint32_t buckets, bool skewed)
{
    uint32_t *keys = in->address, *perm = out->address;
    for (uint32_t i = 0; i < size; ++i)
        keys[i] =
            (uint32_t) (random_bits() % (skewed && random_bits() % 4 ? 1 : buckets));
    run_command(permutation(in, size, block, buckets, out, number, second));
    expect_sorted(size, block, buckets);
    uint32_t records = *(uint32_t *) number->address;
    memset(perm, 0xff, size * sizeof(uint32_t));
    run_command(permutation(in, size, block, buckets, out, number, NULL));
    for (uint32_t i = 0; i < size; ++i)
        assert_true(perm[i] < size);
    assert_int_equal(*(uint32_t *) number->address, records);
}

static void test_mkperm(void **state)
{
    (void) state;
    for (uint32_t threads = 0; threads < 6; ++threads) {
        assert_true(pool_set_size(threads));
        check_mkperm(1, 1, 1, false);
        check_mkperm(1000, 1000, 7, false);
        check_mkperm(1000, 100, 13, false);
        check_mkperm(1000, 3, 5, true);
        check_mkperm(1001, 64, 5, true);
        check_mkperm(200000, 200000, 9, true);
        check_mkperm(200000, 70000, 9, false);
        check_mkperm(200000, 1000, 3, false);
        check_mkperm(3000, 3000, 4000, false);
        check_mkperm(5, UINT32_MAX, 3, false);
    }
    assert_true(pool_set_size(2));
}

/* The error is that of all that the command was to write. */
static void test_mkperm_errors(void **state)
{
    (void) state;
    uint32_t *keys = in->address;
    Stream *stream = stream_self(cpu_device());
    memset(keys, 0, 400000);
    keys[40000] = 9;
    keys[90000] = UINT32_MAX;
    for (uint32_t block = 1000; block <= 100000; block *= 10) {
        Buffer *perm = buffer_get(cpu_device(), 400000);
        Buffer *count = buffer_get(cpu_device(), sizeof(uint32_t));
        assert_true(stream_submit(
            stream, permutation(in, 100000, block, 5, perm, count, NULL)));
        /* The buffers say so whenever they are asked; the stream does unless the thread
         * was told. */
        stream_sync(stream);
        bool told = block == 10000;
        for (int i = told; i < 3; ++i) {
            error_clear();
            assert_false(i == 0   ? stream_check(stream)
                         : i == 1 ? stream_sync_buffer(perm)
                                  : stream_sync_buffer(count));
            assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
            assert_non_null(strstr(error_message(), "key 9 at position 40000"));
        }
        assert_true(stream_sync_buffer(in));
        assert_true(stream_check(stream));
        buffer_release(perm);
        buffer_release(count);
    }
    error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mkperm),
        cmocka_unit_test(test_mkperm_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
