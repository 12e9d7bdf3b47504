/*
 * test_transfer.c -- copies, fills, aggregation and the folding of scatter images
 *
 * Sums and the like are compared with 64-bit integer arithmetic on values that every
 * type holds exactly; rounding and special values of f16 with numbers worked out by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "device/buffer.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/pool.h"
#include "device/stream.h"

static Buffer *get_buffer(size_t bytes)
{
    Buffer *buffer = buffer_get(cpu_device(), bytes);
    assert_non_null(buffer);
    return buffer;
}

static bool submit(Command *c)
{
    return stream_submit(stream_self(cpu_device()), c);
}

static void submit_copy(Buffer *to, size_t to_offset, Buffer *from, size_t from_offset,
                        size_t bytes)
{
    Command *c = command_create(cpu_device(), COMMAND_COPY, bytes, 2, 0);
    assert_non_null(c);
    command_set_slot(c, 0, from, from_offset, bytes, SLOT_READ);
    command_set_slot(c, 1, to, to_offset, bytes, SLOT_WRITE);
    assert_true(submit(c));
}

static void submit_fill(Buffer *to, uint64_t bits, uint32_t item_size, size_t count)
{
    Command *c = command_create(cpu_device(), COMMAND_FILL, count, 1, 0);
    assert_non_null(c);
    command_set_slot(c, 0, to, 0, item_size * count, SLOT_WRITE);
    c->fill.bits = bits;
    c->fill.item_size = item_size;
    assert_true(submit(c));
}

static void transfer_copies(void **state)
{
    (void) state;
    for (size_t size = 1; size < 3000000; size = size * 5 + 3) {
        Buffer *a = get_buffer(size + 9), *b = get_buffer(size + 9);
        unsigned char *from = a->address, *to = b->address;
        for (size_t i = 0; i < size + 9; i++)
            from[i] = (unsigned char) (i * 2654435761u >> 13);
        memset(to, 0, size + 9);
        submit_copy(b, 3, a, 5, size);
        assert_true(stream_sync_buffer(b));
        assert_memory_equal(to + 3, from + 5, size);
        assert_true(to[2] == 0 && to[size + 3] == 0);
        /* Overlapping regions, ordered after a fill. */
        submit_fill(b, 1, 1, 3);
        submit_copy(b, 3, b, 0, size);
        assert_true(stream_sync_buffer(b));
        assert_true(to[3] == 1 && to[2] == 1);
        if (size > 3)
            assert_memory_equal(to + 6, from + 5, size - 3);
        buffer_release(a);
        buffer_release(b);
    }
}

static void transfer_fills(void **state)
{
    (void) state;
    const uint64_t bits = 0x8877665544332211u;
    for (uint32_t item = 1; item <= 8; item *= 2) {
        for (size_t count = 1; count < 400000; count = count * 3 + 1) {
            Buffer *b = get_buffer(item * count + 1);
            unsigned char *data = b->address;
            data[item * count] = 0xee;
            submit_fill(b, bits, item, count);
            assert_true(stream_sync_buffer(b));
            for (size_t i = 0; i < item * count; i++)
                assert_true(data[i] == 0x11 * (i % item + 1));
            assert_int_equal(data[item * count], 0xee);
            buffer_release(b);
        }
    }
}

static void transfer_aggregates(void **state)
{
    (void) state;
    unsigned char out[32];
    memset(out, 0xee, sizeof out);
    char text[] = "abcdefghijk";
    AggregationEntry entries[] = {
        {1, 0, (const void *) (uintptr_t) 0x11},
        {4, 4, (const void *) (uintptr_t) 0x12345678},
        {8, 8, (const void *) (uintptr_t) 0x1122334455667788},
        {-11, 20, text},
    };
    Command *c = command_create(cpu_device(), COMMAND_AGGREGATE, 4, 2, sizeof entries);
    memcpy(c->data, entries, sizeof entries);
    Buffer *to = buffer_map(cpu_device(), out, sizeof out, NULL, NULL);
    Buffer *from = buffer_map(cpu_device(), text, sizeof text, NULL, NULL);
    command_set_slot(c, 0, to, 0, sizeof out, SLOT_READ_WRITE);
    command_set_slot(c, 1, from, 0, 11, SLOT_READ);
    c->slots[1].word = 3;
    assert_true(submit(c));
    assert_true(stream_sync_buffer(to));
    buffer_release(from);
    buffer_release(to);
    const unsigned char expected[32] = {
        0x11, 0xee, 0xee, 0xee, 0x78, 0x56, 0x34, 0x12, 0x88, 0x77, 0x66, 0x55, 0x44,
        0x33, 0x22, 0x11, 0xee, 0xee, 0xee, 0xee, 'a', 'b', 'c', 'd', 'e', 'f', 'g',
        'h', 'i', 'j', 'k', 0xee};
    assert_memory_equal(out, expected, 32);
}

/* The functions that name memory by addresses. */
static void transfer_addresses(void **state)
{
    (void) state;
    assert_true(jit_init(JitBackendLLVM));
    uint32_t words[4] = {5, 6, 7, 8}, nine = 9;
    assert_true(jit_memset_async(JitBackendLLVM, words, 1, 4, &nine));
    assert_true(jit_memcpy_async(JitBackendLLVM, words + 1, words, 12));
    assert_true(jit_memcpy(JitBackendLLVM, NULL, NULL, 0));
    assert_true(words[0] == 9 && words[1] == 9 && words[2] == 6 && words[3] == 7);
    AggregationEntry entries[] = {
        {4, 4, (const void *) (uintptr_t) 0x12345678}, {-4, 8, &nine}};
    assert_true(jit_aggregate(JitBackendLLVM, words, entries, 2));
    memset(entries, 0, sizeof entries); /* they were copied */
    assert_true(jit_sync_thread());
    assert_true(words[0] == 9 && words[1] == 0x12345678 && words[2] == 9 &&
                words[3] == 7);
    assert_false(jit_memset_async(JitBackendLLVM, words, 1, 3, &nine));
    assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
    error_clear();
    entries[0].size = 3;
    assert_false(jit_aggregate(JitBackendLLVM, words, entries, 1));
    assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
    error_clear();
    assert_int_equal(jit_shutdown(1), 0);
}

static const uint32_t type_sizes[VarTypeCount] = {
    [VarTypeBool] = 1, [VarTypeInt8] = 1, [VarTypeUInt8] = 1, [VarTypeInt16] = 2,
    [VarTypeUInt16] = 2, [VarTypeInt32] = 4, [VarTypeUInt32] = 4, [VarTypeInt64] = 8,
    [VarTypeUInt64] = 8, [VarTypeFloat16] = 2, [VarTypeFloat32] = 4,
    [VarTypeFloat64] = 8,
};

/* A small integer as an entry of a type. Integers up to 2048 in magnitude are exact in
 * all three floating-point formats. */
static uint64_t encode(VarType type, int64_t value)
{
    if (type == VarTypeFloat64) {
        double d = (double) value;
        uint64_t bits;
        memcpy(&bits, &d, 8);
        return bits;
    }
    float f = (float) value;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (type == VarTypeFloat32)
        return bits;
    if (type != VarTypeFloat16) {
        uint32_t size = type_sizes[type];
        return size == 8 ? (uint64_t) value
                         : (uint64_t) value & (((uint64_t) 1 << (8 * size)) - 1);
    }
    if (value == 0)
        return 0;
    int exponent;
    double mantissa = frexp((double) (value < 0 ? -value : value), &exponent);
    return (value < 0 ? 0x8000u : 0u) | (uint32_t) (exponent + 14) << 10 |
           ((uint32_t) (mantissa * 2048) & 0x3ff);
}

static int64_t reduce_pair(ReduceOp op, int64_t a, int64_t b)
{
    switch (op) {
    case ReduceOpAdd: return a + b;
    case ReduceOpMul: return a * b;
    case ReduceOpMin: return a < b ? a : b;
    case ReduceOpMax: return a > b ? a : b;
    case ReduceOpAnd: return a & b;
    default: return a | b;
    }
}

static bool defined(ReduceOp op, VarType type)
{
    bool bits = op == ReduceOpAnd || op == ReduceOpOr;
    bool is_float = type >= VarTypeFloat16 && type <= VarTypeFloat64;
    bool integer = type >= VarTypeInt8 && type <= VarTypeUInt64;
    return op != ReduceOpIdentity &&
           (integer || (bits ? type == VarTypeBool : is_float));
}

static bool submit_combine(ReduceOp op, VarType type, Buffer *copies, size_t size,
                           size_t stride, uint32_t count, Buffer *out)
{
    Command *c = command_create(cpu_device(), COMMAND_COMBINE, size, 2, 0);
    assert_non_null(c);
    command_set_slot(c, 0, copies, 0, copies->size, SLOT_READ);
    command_set_slot(c, 1, out, 0, out->size, SLOT_WRITE);
    c->combine.op = op;
    c->combine.type = type;
    c->combine.stride = stride;
    c->combine.copies = count;
    return submit(c);
}

static void check_combine(ReduceOp op, VarType type, size_t size, bool in_place)
{
    enum { COPIES = 3 };
    const uint32_t entry = type_sizes[type];
    const size_t stride = size + 5;
    Buffer *expanded = get_buffer(entry * stride * COPIES);
    Buffer *out = in_place ? expanded : get_buffer(entry * size);
    Buffer *expected = get_buffer(entry * size);
    const bool is_signed = type != VarTypeBool &&
        encode(type, -1) != encode(type, 255) &&
        (type >= VarTypeFloat16 || (type - VarTypeInt8) % 2 == 0);
    for (size_t i = 0; i < size; i++) {
        int64_t result = 0;
        for (size_t k = 0; k < COPIES; k++) {
            int64_t value = type == VarTypeBool ? (int64_t) ((i + k * k) % 2)
                : (int64_t) ((i * 7 + k * 5) % 11) - (is_signed ? 5 : 0);
            uint64_t bits = encode(type, value);
            memcpy((char *) expanded->address + (k * stride + i) * entry, &bits, entry);
            result = k ? reduce_pair(op, result, value) : value;
        }
        uint64_t bits = encode(type, result);
        /* A product of -x and 0 is -0. */
        if (result == 0 && op == ReduceOpMul && type >= VarTypeFloat16)
            bits = UINT64_MAX;
        memcpy((char *) expected->address + i * entry, &bits, entry);
    }
    assert_true(submit_combine(op, type, expanded, size, stride, COPIES, out));
    assert_true(stream_sync_buffer(out));
    for (size_t i = 0; i < size; i++) {
        uint64_t have = 0, want = 0;
        memcpy(&have, (const char *) out->address + i * entry, entry);
        memcpy(&want, (const char *) expected->address + i * entry, entry);
        const uint64_t sign = (uint64_t) 1 << (8 * entry - 1);
        if (type >= VarTypeFloat16 && want == (UINT64_MAX >> (64 - 8 * entry)))
            assert_true((have & ~sign) == 0);
        else
            assert_true(have == want);
    }
    if (!in_place)
        buffer_release(out);
    buffer_release(expanded);
    buffer_release(expected);
}

static void transfer_combines(void **state)
{
    (void) state;
    Buffer *b = get_buffer(64);
    for (int op = 0; op <= ReduceOpCount; op++) {
        for (int type = 0; type <= VarTypeCount; type++) {
            if (op < ReduceOpCount && type < VarTypeCount && defined(op, type)) {
                check_combine(op, type, 1, false);
                check_combine(op, type, 1500, true);
                check_combine(op, type, 70000, op % 2);
            } else {
                error_clear();
                assert_false(submit_combine(op, type, b, 1, 1, 2, b));
                assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
            }
        }
    }
    error_clear();
    buffer_release(b);
}

static uint16_t combine_halves(ReduceOp op, uint16_t a, uint16_t b, uint16_t c)
{
    Buffer *buffer = get_buffer(6);
    memcpy(buffer->address, (uint16_t[]) {a, b, c}, 6);
    assert_true(submit_combine(op, VarTypeFloat16, buffer, 1, 1, 3, buffer));
    assert_true(stream_sync_buffer(buffer));
    uint16_t result;
    memcpy(&result, buffer->address, 2);
    buffer_release(buffer);
    return result;
}

/* NaN, infinities, denormals and the rounding of f16, by hand. */
static void transfer_combines_edges(void **state)
{
    (void) state;
    enum { NEG0 = 0x8000, INF = 0x7c00, NAN_ = 0x7e00, ONE = 0x3c00, MAX = 0x7bff };
    assert_int_equal(combine_halves(ReduceOpMin, NAN_, ONE, INF), ONE);
    assert_int_equal(combine_halves(ReduceOpMax, NAN_, ONE, NAN_), ONE);
    assert_int_equal(combine_halves(ReduceOpAdd, MAX, MAX, MAX), INF);
    /* Kept in f32: max + max - max comes back. */
    assert_int_equal(combine_halves(ReduceOpAdd, MAX, MAX, MAX | NEG0), MAX);
    assert_int_equal(combine_halves(ReduceOpAdd, 1, 2, 0x3ff), 0x402);
    /* Half of the last place: to even. 1 + 2^-11 = 1; 1 + 3 * 2^-11 = 1 + 2^-9. */
    assert_int_equal(combine_halves(ReduceOpAdd, ONE, 0x1000, 0), ONE);
    assert_int_equal(combine_halves(ReduceOpAdd, ONE, 0x1000, 0x1400), ONE + 2);
    /* 2^-14 / 2 is the denormal 2^-15, and 2^-24 / 2 rounds to 0, 3 * 2^-25 to 2^-23.
     */
    assert_int_equal(combine_halves(ReduceOpMul, 0x0400, 0x3800, ONE), 0x0200);
    assert_int_equal(combine_halves(ReduceOpMul, 1, 0x3800, ONE), 0);
    assert_int_equal(combine_halves(ReduceOpMul, 3, 0x3800, ONE), 2);
    assert_int_equal(combine_halves(ReduceOpMul, NEG0 | 1, 0x3800, ONE), NEG0);
    /* 65520 is the first that rounds to infinity. */
    assert_int_equal(combine_halves(ReduceOpAdd, MAX, 0x4c00 - 1, 0), MAX);
    assert_int_equal(combine_halves(ReduceOpAdd, MAX, 0x4c00, 0), INF);

    /* f32 minimum and maximum: the rules of FMIN and FMAX in src/ir/ops.def. */
    const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 7; i++) {
        for (int k = 0; k < 7; k++) {
            const float a = values[i], b = values[k];
            for (int is_max = 0; is_max < 2; is_max++) {
                const bool zeros = a == 0 && b == 0;
                const bool first = is_max ? a > b || isnan(b) || (zeros && !signbit(a))
                                          : a < b || isnan(b) || (zeros && signbit(a));
                const float want = first ? a : b;
                Buffer *buffer = get_buffer(8);
                memcpy(buffer->address, (float[]) {a, b}, 8);
                assert_true(submit_combine(is_max ? ReduceOpMax : ReduceOpMin,
                                           VarTypeFloat32, buffer, 1, 1, 2, buffer));
                float have;
                assert_true(stream_sync_buffer(buffer));
                memcpy(&have, buffer->address, 4);
                assert_true(isnan(want) ? isnan(have)
                                        : have == want &&
                                              signbit(have) == signbit(want));
                buffer_release(buffer);
            }
        }
    }
}

static int set_up(void **state)
{
    (void) state;
    return pool_set_size(4) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void) state;
    stream_shutdown();
    buffer_trim();
    return buffer_stats(cpu_device()).live == 0 ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(transfer_copies), TEST(transfer_fills), TEST(transfer_aggregates),
        TEST(transfer_addresses),
        TEST(transfer_combines), TEST(transfer_combines_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
