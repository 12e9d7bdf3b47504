/*
 * test_print_log.c -- what a launch prints comes back whole and in order
 *
 * The log by itself (types, order, bounds, threads), and as a part of a launch: through
 * an engine of the test's own that appends packets of lanes in the order it likes.
 */
#include <pthread.h>

#include "fake_engine.h"
#include "print_util.h"

/* A Program whose prints have these numbers of values, of all types in turn, the last
 * one in a callable. */
static const VarType types[] = {
    VarTypeBool,  VarTypeInt8,   VarTypeUInt8,   VarTypeInt16,   VarTypeUInt16,
    VarTypeInt32, VarTypeUInt32, VarTypeInt64,   VarTypeUInt64,  VarTypeFloat16,
    VarTypeFloat32, VarTypeFloat64
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static void add_print(Program *p, uint32_t number, uint32_t values)
{
    uint32_t args[1 + TYPES];
    args[0] = program_add_literal(p, VarTypeBool, 1);
    for (uint32_t i = 0; i < values; ++i)
        args[i + 1] = program_add_literal(p, types[i], i);
    program_add(p, OP_PRINT, VarTypeVoid, number, values + 1, args);
}

static Program *printing(const uint32_t *values, uint32_t count)
{
    Program *p = alloc_zero(1, sizeof(Program));
    program_add_param(p, PARAM_PRINT, VarTypeVoid);
    p->print_count = count;
    for (uint32_t i = 0; i + 1 < count; ++i)
        add_print(p, i, values[i]);
    Program *callable = alloc_zero(1, sizeof(Program));
    add_print(callable, count - 1, values[count - 1]);
    program_add(callable, OP_RETURN, VarTypeVoid, 0, 0, NULL);
    program_add_callable(p, callable);
    if (!program_verify(p))
        fail_msg("%s", error_message());
    return p;
}

static PrintLog *make(const Program *p, size_t bytes)
{
    PrintLog *log = prints_make(p, bytes);
    assert_non_null(log);
    return log;
}

static void test_types(void **state)
{
    (void) state;
    Program *p = printing((uint32_t[]){ 0, TYPES, 3 }, 3);
    PrintLog *log = make(p, 4096);
    program_free(p); /* is not needed any more */

    /* Bytes of entry i of an array begin with i + 1, all others are 0xf0 + i. */
    uint8_t data[TYPES][4 * 8];
    const void *values[TYPES];
    for (uint32_t k = 0; k < TYPES; ++k) {
        size_t size = type_info[types[k]].size;
        for (size_t i = 0; i < 4 * size; ++i)
            data[k][i] = (uint8_t) (i % size ? 0xf0 + i / size : i / size + 1 + k);
        values[k] = data[k];
    }
    static const uint8_t mask[4] = { 1, 0, 1, 1 };
    log->append(log, 1, 100, 4, mask, values);
    log->append(log, 2, 7, 1, mask, values);
    log->append(log, 0, 50, 2, mask, NULL);

    const PrintRecords *r = prints_finish(log);
    assert_int_equal(r->count, 5);
    assert_int_equal(r->lost, 0);
    assert_int_equal(r->print_count, 3);
    static const uint32_t expected[5][2] = { { 0, 50 }, { 1, 100 }, { 1, 102 },
                                             { 1, 103 }, { 2, 7 } };
    for (uint32_t i = 0; i < r->count; ++i) {
        assert_int_equal(r->records[i].print, expected[i][0]);
        assert_int_equal(r->records[i].lane, expected[i][1]);
    }
    for (uint32_t print = 0; print < 3; ++print) {
        uint32_t count;
        const uint8_t *found = print_log_types(r, print, &count);
        assert_int_equal(count, print == 0 ? 0 : print == 1 ? TYPES : 3);
        for (uint32_t k = 0; k < count; ++k)
            assert_int_equal(found[k], types[k]);
    }
    for (uint32_t i = 1; i < 4; ++i) {
        const uint64_t *words = print_log_values(r, &r->records[i]);
        uint32_t lane = r->records[i].lane - 100;
        for (uint32_t k = 0; k < TYPES; ++k) {
            uint64_t word = 0; /* little-endian, as all our machines are */
            for (uint32_t b = type_info[types[k]].size; b-- > 0;)
                word = word << 8 | (b ? 0xf0 + lane : lane + 1 + k);
            assert_true(words[k] == word);
        }
    }
    assert_true(print_log_values(r, &r->records[4])[2] == 3); /* entry 0 of array 2 */
    prints_free(log);
    prints_free(NULL);
}

static void append_one(PrintLog *log, uint32_t print, uint32_t lane, uint8_t value)
{
    static const uint8_t on = 1;
    log->append(log, print, lane, 1, &on, (const void *const[]){ &value });
}

/* By print, by lane, and records of one lane in turn. */
static void test_order(void **state)
{
    (void) state;
    enum { PRINTS = 3, LANES = 50, ROUNDS = 20 };
    Program *p = printing((uint32_t[]){ 1, 1, 1 }, PRINTS);
    PrintLog *log = make(p, PRINT_LOG_BYTES);
    for (uint32_t round = 0; round < ROUNDS; ++round)
        for (uint32_t i = 0; i < LANES * PRINTS; ++i) {
            uint32_t at = (i * 77 + round * 31) % (LANES * PRINTS); /* gcd is 1 */
            append_one(log, at % PRINTS, at / PRINTS, (uint8_t) round);
        }
    const PrintRecords *r = prints_finish(log);
    assert_int_equal(r->count, PRINTS * LANES * ROUNDS);
    for (uint32_t i = 0; i < r->count; ++i) {
        assert_int_equal(r->records[i].print, i / (LANES * ROUNDS));
        assert_int_equal(r->records[i].lane, i / ROUNDS % LANES);
        assert_int_equal(print_log_values(r, &r->records[i])[0], i % ROUNDS);
    }
    prints_free(log);
    program_free(p);
}

/* Of any room, what fits is kept whole and the rest is counted. */
static void test_bounds(void **state)
{
    (void) state;
    enum { LANES = 40 };
    Program *p = printing((uint32_t[]){ TYPES }, 1);
    static const uint64_t data[LANES];
    const void *values[TYPES];
    uint8_t mask[LANES];
    for (uint32_t k = 0; k < TYPES; ++k)
        values[k] = data;
    memset(mask, 1, sizeof(mask));
    const size_t each = sizeof(PrintRecord) + TYPES * sizeof(uint64_t);
    for (size_t bytes = 0; bytes < LANES * each + 64; bytes += 8) {
        PrintLog *log = make(p, bytes);
        log->append(log, 0, 5, LANES, mask, values);
        log->append(log, 0, 5 + LANES, 1, mask, values);
        const PrintRecords *r = prints_finish(log);
        size_t fits = bytes / each < LANES + 1 ? bytes / each : LANES + 1;
        assert_int_equal(r->count, fits);
        assert_int_equal(r->lost, LANES + 1 - fits);
        for (uint32_t i = 0; i < r->count; ++i) {
            assert_int_equal(r->records[i].lane, 5 + i);
            assert_true(r->records[i].first * sizeof(uint64_t) >=
                        r->count * sizeof(PrintRecord));
            assert_true((r->records[i].first + TYPES) * sizeof(uint64_t) <= bytes);
        }
        prints_free(log);
    }
    /* A record that is too long does not keep shorter ones out. */
    Program *q = printing((uint32_t[]){ TYPES, 0 }, 2);
    PrintLog *log = make(q, 2 * sizeof(PrintRecord));
    log->append(log, 0, 0, 1, mask, values);
    log->append(log, 1, 0, 3, mask, values);
    const PrintRecords *r = prints_finish(log);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->lost, 2);
    prints_free(log);
    program_free(p);
    program_free(q);
}

/* ------------------------------------------------------------------ threads */

enum { THREADS = 4, PACKET = 16, PACKETS = 200, TURNS = 3 };

typedef struct Writer {
    PrintLog *log;
    uint32_t number;
} Writer;

/* Each thread has packets of its own, and prints each of them TURNS times. */
static void *write_packets(void *arg)
{
    Writer *writer = arg;
    uint8_t mask[PACKET], value[PACKET];
    for (uint32_t k = 0; k < PACKETS; ++k) {
        uint32_t begin = (k * THREADS + writer->number) * PACKET;
        for (uint32_t turn = 0; turn < TURNS; ++turn) {
            for (uint32_t i = 0; i < PACKET; ++i) {
                mask[i] = (begin + i) % 3 != 0;
                value[i] = (uint8_t) turn;
            }
            writer->log->append(writer->log, 0, begin, PACKET, mask,
                                (const void *const[]){ value });
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void) state;
    Program *p = printing((uint32_t[]){ 1 }, 1);
    PrintLog *log = make(p, PRINT_LOG_BYTES);
    pthread_t threads[THREADS];
    Writer writers[THREADS];
    for (uint32_t i = 0; i < THREADS; ++i) {
        writers[i] = (Writer){ log, i };
        assert_int_equal(pthread_create(&threads[i], NULL, write_packets, &writers[i]),
                         0);
    }
    for (uint32_t i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    const PrintRecords *r = prints_finish(log);
    uint32_t at = 0;
    for (uint32_t lane = 0; lane < THREADS * PACKETS * PACKET; ++lane)
        for (uint32_t turn = 0; turn < TURNS && lane % 3; ++turn, ++at) {
            assert_int_equal(r->records[at].lane, lane);
            assert_int_equal(print_log_values(r, &r->records[at])[0], turn);
        }
    assert_int_equal(r->count, at);
    assert_int_equal(r->lost, 0);
    prints_free(log);
    program_free(p);
}

/* ----------------------------------------------------------------- launches */

/* Prints the lane's number where it is even, from the last lane to the first. */
static void backwards_launch(const CpuCode *code, const uint64_t *args, uint32_t begin,
                             uint32_t end, uint32_t worker, uint32_t requests,
                             void *scratch)
{
    (void) worker, (void) requests, (void) scratch;
    uint32_t slot = program_find_param(fake_code(code)->program, PARAM_PRINT);
    PrintLog *log = (PrintLog *) (uintptr_t) args[slot];
    for (uint32_t lane = end; lane-- > begin;) {
        uint8_t mask = lane % 2 == 0;
        log->append(log, 0, lane, 1, &mask, (const void *const[]){ &lane });
    }
}

typedef struct Outcome {
    uint32_t calls, count;
    uint64_t lost;
} Outcome;

static void check_evens(void *payload, const LaunchResult *result)
{
    const PrintRecords *prints = result->prints;
    Outcome *outcome = payload;
    outcome->calls++;
    assert_null(result->error);
    assert_int_equal(result->report_count, 0);
    assert_non_null(prints);
    outcome->count = prints->count;
    outcome->lost = prints->lost;
    uint64_t last = 0;
    for (uint32_t i = 0; i < prints->count; ++i) {
        const PrintRecord *record = &prints->records[i];
        assert_int_equal(print_log_values(prints, record)[0], record->lane);
        assert_int_equal(record->lane % 2, 0);
        assert_true(i == 0 || record->lane > last);
        last = record->lane;
    }
}

/* Prints lane + literal; nothing runs it but backwards_launch(). */
static Program *print_lane(uint32_t literal)
{
    Program *p = alloc_zero(1, sizeof(Program));
    program_add_param(p, PARAM_PRINT, VarTypeVoid);
    p->print_count = 1;
    uint32_t pair[2] = { program_add(p, OP_COUNTER, VarTypeUInt32, 0, 0, NULL),
                         program_add_literal(p, VarTypeUInt32, literal) };
    pair[1] = program_add(p, OP_ADD, VarTypeUInt32, 0, 2, pair);
    pair[0] = program_add_literal(p, VarTypeBool, 1);
    program_add(p, OP_PRINT, VarTypeVoid, 0, 2, pair);
    assert_true(program_verify(p));
    return p;
}

/* Its kernel, whose code is run by backwards_launch(). */
static Kernel *get_backwards(const Program *p)
{
    Kernel *kernel = get(p);
    if (!kernel)
        fail_msg("%s", error_message());
    ((CpuCode *) (void *) kernel->base.code)->run = backwards_launch;
    return kernel;
}

static void launch_printing(uint32_t literal, uint32_t size, Outcome *outcome)
{
    Program *p = print_lane(literal);
    Kernel *kernel = get_backwards(p);
    uint64_t args[1] = { 12345 }; /* whatever is there for the log is replaced */
    LaunchSpec spec = { .device = cpu_device(), .kernel = kernel, .program = p,
                        .size = size, .args = args, .done = check_evens,
                        .payload = outcome };
    submit(launch_create(&spec));
    stream_sync(stream_self(cpu_device()));
    /* Without anybody to tell, printing goes nowhere. */
    spec.done = NULL;
    submit(launch_create(&spec));
    stream_sync(stream_self(cpu_device()));
    cache_release(kernel);
    program_free(p);
}

static void test_launch(void **state)
{
    (void) state;
    pool_set_size(3);
    static const uint32_t sizes[] = { 1, 1000, 40000 };
    for (uint32_t i = 0; i < 3; ++i) {
        Outcome outcome = { 0 };
        launch_printing(5 + i, sizes[i], &outcome); /* a generalised kernel, too */
        assert_int_equal(outcome.calls, 1);
        assert_int_equal(outcome.count, (sizes[i] + 1) / 2);
        assert_int_equal(outcome.lost, 0);
    }
    Outcome outcome = { 0 };
    launch_printing(7, 1000000, &outcome);
    assert_int_equal(outcome.calls, 1);
    assert_int_equal(outcome.count, PRINT_LOG_BYTES / 24);
    assert_int_equal(outcome.lost, 500000 - PRINT_LOG_BYTES / 24);
}

#if defined(JIT_HOSTILE)
static void test_hostile(void **state)
{
    (void) state;
    Program *p = printing((uint32_t[]){ 1, 2 }, 2);
    for (uint64_t n = 1;; ++n) {
        assert_true(n < 100);
        alloc_fail_at(n);
        size_t size;
        PrintArea *area = print_log_area(p, 1000, &size);
        bool failed = alloc_steps() >= n;
        alloc_fail_at(0);
        assert_int_equal(area == NULL, failed);
        alloc_free(area);
        if (!failed)
            break;
        assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    }
    program_free(p);
}

/* Without memory for it nothing is queued and nobody is told. */
static void test_hostile_launch(void **state)
{
    (void) state;
    slow_state.scratch = 100;
    Program *p = print_lane(3);
    Kernel *kernel = get_backwards(p);
    uint64_t args[1] = { 0 };
    Outcome outcome = { 0 };
    uint32_t refused = 0;
    LaunchSpec spec = { .device = cpu_device(), .kernel = kernel, .program = p,
                        .size = 10, .args = args, .done = check_evens,
                        .payload = &outcome };
    Stream *stream = stream_self(cpu_device());
    for (uint64_t n = 1;; ++n) {
        assert_true(n < 100);
        alloc_fail_at(n);
        Command *command = launch_create(&spec);
        bool ok = command && stream_submit(stream, command);
        bool failed = alloc_steps() >= n;
        alloc_fail_at(0);
        stream_sync(stream);
        assert_true(ok || failed); /* the stream can do without some memory */
        assert_int_equal(outcome.calls, ok);
        outcome.calls = 0;
        if (!failed)
            break;
        if (!ok)
            assert_int_equal(error_code(), JIT_ERROR_MEMORY);
        refused += !ok;
    }
    assert_true(refused >= 4); /* the launch, its end, two for the area of prints */
    cache_release(kernel);
    program_free(p);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_threads),
        cmocka_unit_test_setup_teardown(test_launch, setup, teardown),
#if defined(JIT_HOSTILE)
        cmocka_unit_test(test_hostile),
        cmocka_unit_test_setup_teardown(test_hostile_launch, setup, teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
