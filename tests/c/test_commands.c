/*
 * test_commands.c -- commands as records: text, comparison, slots, recording and replay
 *
 * What is shown here is what a command is good for beside being run: a list of them is
 * recorded as they are submitted, and does the same again with other buffers.
 */
#include "test_util.h"

#include "base/text.h"
#include "device/buffer.h"
#include "device/device.h"
#include "device/stream.h"
#include "trace/graph/var.h"

enum { N = 1000, MOST = 64 };

static Device *device(void)
{
    return device_find(CPU, 0);
}

static Buffer *get_buffer(size_t bytes)
{
    Buffer *buffer = buffer_get(device(), bytes);
    assert_non_null(buffer);
    return buffer;
}

/* ------------------------------------------------------------------ records */

static Command *make_copy(Buffer *from, Buffer *to, size_t bytes)
{
    Command *c = command_create(device(), COMMAND_COPY, bytes, 2, 0);
    assert_non_null(c);
    command_set_slot(c, 0, from, 16, bytes, SLOT_READ);
    command_set_slot(c, 1, to, 0, bytes, SLOT_WRITE);
    return c;
}

static Command *make_fill(Buffer *to, uint64_t bits)
{
    Command *c = command_create(device(), COMMAND_FILL, 4, 1, 0);
    assert_non_null(c);
    command_set_slot(c, 0, to, 0, 16, SLOT_WRITE);
    c->fill.bits = bits;
    c->fill.item_size = 4;
    return c;
}

static void test_print(void **unused)
{
    (void) unused;
    Buffer *a = get_buffer(64), *b = get_buffer(64);
    Command *copy = make_copy(a, b, 48);
    Command *event = command_create(device(), COMMAND_EVENT, 0, 0, 0);
    Text text = { 0 };
    char expected[200];
    command_write(copy, &text);
    snprintf(expected, sizeof expected, "copy 48 [r %p +16 48, w %p +0 48]",
             (const void *) a, (const void *) b);
    assert_string_equal(text_get(&text), expected);
    text_clear(&text);
    command_write(event, &text);
    assert_string_equal(text_get(&text), "event 0 []");
    text_free(&text);
    for (int kind = 0; kind < COMMAND_COUNT; ++kind)
        assert_true(command_info[kind].name && command_info[kind].name[0]);
    command_free(copy);
    command_free(event);
    buffer_release(a);
    buffer_release(b);
}

/* Equal is what does the same, whichever buffers it does it with. */
static void test_compare(void **unused)
{
    (void) unused;
    Buffer *a = get_buffer(64), *b = get_buffer(64);
    Command *same[] = { make_copy(a, b, 48), make_copy(b, a, 48) };
    Command *others[] = { make_copy(a, b, 40), make_fill(a, 1), make_fill(a, 2) };
    assert_true(command_equal(same[0], same[1]));
    for (size_t i = 0; i < COUNT_OF(others); ++i) {
        assert_false(command_equal(same[0], others[i]));
        for (size_t k = 0; k < COUNT_OF(others); ++k)
            assert_int_equal(command_equal(others[i], others[k]), i == k);
    }
    same[1]->slots[0].access = SLOT_READ_WRITE;
    assert_false(command_equal(same[0], same[1]));
    for (size_t i = 0; i < COUNT_OF(others); ++i) {
        Command *copy = command_copy(others[i]);
        assert_non_null(copy);
        assert_true(command_equal(copy, others[i]));
        command_free(copy);
        command_free(others[i]);
    }
    command_free(same[0]);
    command_free(same[1]);
    buffer_release(a);
    buffer_release(b);
}

/* A command holds its buffers, and lets go of one that is replaced. */
static void test_slots(void **unused)
{
    (void) unused;
    Buffer *a = get_buffer(64), *b = get_buffer(64);
    Command *c = make_copy(a, a, 48);
    assert_int_equal(atomic_load(&a->refs), 3);
    command_set_buffer(c, 1, b);
    assert_int_equal(atomic_load(&a->refs), 2);
    assert_int_equal(atomic_load(&b->refs), 2);
    assert_ptr_equal(c->slots[1].buffer, b);
    assert_int_equal(c->slots[1].access, SLOT_WRITE);
    Command *copy = command_copy(c);
    assert_non_null(copy);
    assert_int_equal(atomic_load(&b->refs), 3);
    command_free(c);
    command_free(copy);
    assert_int_equal(atomic_load(&a->refs), 1);
    assert_int_equal(atomic_load(&b->refs), 1);
    buffer_release(a);
    buffer_release(b);
}

/* ----------------------------------------------------------------- recorder */

typedef struct Recorder {
    Command *commands[MOST];
    uint32_t count;
} Recorder;

static void record(void *payload, const Command *command)
{
    Recorder *r = payload;
    assert_true(r->count < MOST);
    assert_non_null(r->commands[r->count++] = command_copy(command));
}

/* Where 'old' stands, and whatever was written, put other buffers, and submit. Returns
 * the one in the place of 'result'. */
static Buffer *replay(Recorder *r, const Buffer *old, Buffer *new, const Buffer *result)
{
    const Buffer *was[MOST] = { old };
    Buffer *is[MOST] = { new }, *found = NULL;
    uint32_t known = 1;
    for (uint32_t i = 0; i < r->count; ++i) {
        Command *c = r->commands[i];
        for (uint32_t s = 0; s < c->slot_count; ++s) {
            uint32_t k = 0;
            while (k < known && was[k] != c->slots[s].buffer)
                ++k;
            if (k == known && c->slots[s].access & SLOT_WRITE) {
                was[known] = c->slots[s].buffer;
                is[known++] = get_buffer(c->slots[s].buffer->size);
            }
            if (k < known)
                command_set_buffer(c, s, is[k]);
        }
        assert_true(stream_submit(stream_self(device()), c));
    }
    stream_run();
    for (uint32_t k = 1; k < known; ++k) {
        if (was[k] == result)
            found = is[k];
        else
            buffer_release(is[k]);
    }
    r->count = 0;
    return found;
}

static Buffer *buffer_of(uint32_t id)
{
    return var_get(id)->value.buffer;
}

/* Kernels, a scan, a sort and a sum, of which nothing is evaluated before the end. */
static uint32_t compute(uint32_t x)
{
    uint32_t three = jit_var_u32(CPU, 3), y = jit_var_mul(x, three);
    uint32_t scan = jit_var_block_prefix_reduce(ReduceOpAdd, y, N, 0, 0);
    uint32_t z = jit_var_xor(scan, x), turned = jit_var_reverse(z);
    uint32_t sums = jit_var_block_reduce(ReduceOpAdd, turned, 10);
    uint32_t result = jit_var_add(sums, three);
    OK(y && scan && z && turned && sums && result);
    OK(jit_var_eval(result) && jit_sync_thread());
    DROP(three, y, scan, z, turned, sums);
    return result;
}

static void test_recorder(void **unused)
{
    (void) unused;
    uint32_t *a = random_array(VarTypeUInt32, N), *b = random_array(VarTypeUInt32, N);
    uint32_t found[N / 10];
    uint32_t x = u32_array(N, a), other = u32_array(N, b);
    Stream *stream = stream_self(device());
    Recorder r = { .count = 0 };
    OK(jit_sync_thread());
    stream_set_tap(stream, record, &r);
    uint32_t y = compute(x);
    stream_set_tap(stream, NULL, NULL);
    assert_true(r.count >= 4);

    Buffer *result = replay(&r, buffer_of(x), buffer_of(other), buffer_of(y));
    assert_non_null(result);
    assert_true(stream_sync_buffer(result));
    OK(buffer_read(result, 0, found, sizeof found));
    uint32_t anew = compute(other);
    CHECK_BYTES(anew, found, N / 10);
    buffer_release(result);
    DROP(x, other, y, anew);
    free(a);
    free(b);
}

/* The same program submits equal commands. */
static void test_same_program(void **unused)
{
    (void) unused;
    uint32_t *a = random_array(VarTypeUInt32, N);
    uint32_t x = u32_array(N, a), y[2];
    Stream *stream = stream_self(device());
    Recorder r[2] = { { .count = 0 }, { .count = 0 } };
    for (int i = 0; i < 2; ++i) {
        stream_set_tap(stream, record, &r[i]);
        y[i] = compute(x);
        stream_set_tap(stream, NULL, NULL);
    }
    assert_int_equal(r[0].count, r[1].count);
    for (uint32_t i = 0; i < r[0].count; ++i) {
        assert_true(command_equal(r[0].commands[i], r[1].commands[i]));
        command_free(r[0].commands[i]);
        command_free(r[1].commands[i]);
    }
    DROP(x, y[0], y[1]);
    free(a);
}

/* Where operands are is not part of a command, the values it has are. */
static void test_aggregate(void **unused)
{
    (void) unused;
    uint64_t *from[2] = { jit_malloc(CPU, 8), jit_malloc(CPU, 8) };
    void *to = jit_malloc(CPU, 16);
    OK(from[0] && from[1] && to);
    Recorder r = { .count = 0 };
    stream_set_tap(stream_self(device()), record, &r);
    for (uintptr_t i = 0; i < 3; ++i) {
        AggregationEntry entries[] = { { -8, 0, from[i & 1] },
                                       { 4, 8, (void *) (i / 2) } };
        OK(jit_aggregate(CPU, to, entries, 2));
    }
    stream_set_tap(stream_self(device()), NULL, NULL);
    OK(jit_sync_thread());
    assert_int_equal(r.count, 3);
    assert_true(command_equal(r.commands[0], r.commands[1]));
    assert_false(command_equal(r.commands[0], r.commands[2]));
    for (uint32_t i = 0; i < r.count; ++i)
        command_free(r.commands[i]);
    OK(jit_free(from[0]) && jit_free(from[1]) && jit_free(to));
}

static int run(void)
{
    const struct CMUnitTest tests[] = { TEST(test_print), TEST(test_compare),
                                        TEST(test_slots), TEST(test_recorder),
                                        TEST(test_same_program),
                                        TEST(test_aggregate) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
