/*
 * test_devices.c -- several devices of one backend
 *
 * Numbers 0 and 1 of far_device.h, whose memory, streams and commands have nothing in
 * common: a command that names memory of the other device makes it abort.
 */
#define TEST_FAR_DEVICE 0
#include "test_util.h"

#include "trace/graph/var.h"

#define NEAR JitBackendLLVM
#define FAR JitBackendCUDA

enum { N = 3000 };

static void choose(uint32_t number) { OK(current_set(FAR, number)); }

static int begin(void **state)
{
    for (uint32_t i = 0; i < FAR_DEVICES; ++i) {
        far_fail(&far_states[i], -1, 0);
        far_hold(&far_states[i], false);
    }
    return test_begin(state) || !jit_init(NEAR) ? -1 : 0;
}
#define TEST_DEVICES(name) cmocka_unit_test_setup_teardown(name, begin, test_end)

static uint32_t entry(uint32_t id, uint32_t i)
{
    uint32_t value = 0;
    OK(jit_var_read(id, i, &value));
    return value;
}

static void check_device(uint32_t id, JitBackend backend, uint32_t number)
{
    VarInfo info;
    OK(id && jit_var_info(id, &info));
    assert_int_equal(info.backend, backend);
    assert_int_equal(var_device(var_get(id))->number, number);
}

static uint32_t number_on(uint32_t device, uint32_t value)
{
    choose(device);
    uint32_t id = jit_var_u32(FAR, value);
    OK(id);
    return id;
}

static uint32_t counter_on(uint32_t device, size_t size)
{
    choose(device);
    uint32_t id = jit_var_counter(FAR, size);
    OK(id);
    return id;
}

/* 3 x + 7, where x is. */
static uint32_t compute(uint32_t x)
{
    uint32_t device = var_device(var_get(x))->number;
    uint32_t three = number_on(device, 3), seven = number_on(device, 7);
    uint32_t y = jit_var_fma(x, three, seven);
    OK(y);
    DROP(three, seven);
    return y;
}

/* Commands that a device has begun. */
static uint32_t count_all(uint32_t device)
{
    uint32_t sum = 0;
    for (int k = 0; k < COMMAND_COUNT; ++k)
        sum += far_count(&far_states[device], (CommandKind) k);
    return sum;
}

/* ----------------------------------------------------------------- creation */

static void *choice_of_another_thread(void *unused)
{
    uint32_t id = jit_var_u32(FAR, 1);
    check_device(id, FAR, 0);
    DROP(id);
    return unused;
}

static void test_choice(void **unused)
{
    (void) unused;
    choose(1);
    assert_false(current_set(FAR, FAR_DEVICES));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "the CUDA backend has no device 2");
    assert_false(current_set(NEAR, 1));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "the LLVM backend has no device 1");
    assert_false(current_set((JitBackend) 3, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "backend is 3");
    uint32_t far = jit_var_u32(FAR, 1), near = jit_var_u32(NEAR, 1);
    check_device(far, FAR, 1);
    check_device(near, NEAR, 0);
    pthread_t thread; /* each has its own */
    assert_int_equal(
        pthread_create(&thread, NULL, choice_of_another_thread, NULL), 0);
    pthread_join(thread, NULL);
    DROP(far, near);
    jit_shutdown(0); /* undoes it */
    OK(jit_init(FAR));
    far = jit_var_u32(FAR, 1);
    check_device(far, FAR, 0);
    DROP(far);
}

static void test_creation(void **unused)
{
    (void) unused;
    uint32_t data[N], first[8];
    for (uint32_t i = 0; i < N; ++i)
        data[i] = i * i;
    for (uint32_t d = 0; d < FAR_DEVICES; ++d) {
        choose(d);
        uint32_t bits = 5, ids[] = {
            jit_var_u32(FAR, 5), jit_var_counter(FAR, N),
            jit_var_mem_copy(FAR, VarTypeUInt32, data, N),
            jit_var_literal(FAR, VarTypeUInt32, &bits, N, 1),
            jit_var_undefined(FAR, VarTypeUInt32, N), jit_var_bool(FAR, true),
            jit_var_mask_default(FAR, N), jit_array_create(FAR, VarTypeUInt32, 4, N)
        };
        for (uint32_t i = 0; i < COUNT_OF(ids); ++i) {
            check_device(ids[i], FAR, d);
            for (uint32_t k = 0; d && k < COUNT_OF(first); ++k)
                assert_int_not_equal(ids[i], first[k]);
        }
        assert_int_equal(entry(ids[1], 17), 17);
        assert_int_equal(entry(ids[2], 17), 17 * 17);
        assert_int_equal(entry(ids[3], 17), 5);
        uint32_t again = jit_var_u32(FAR, 5); /* value numbering: each has its own */
        assert_int_equal(again, ids[0]);
        DROP(again);
        void *memory = jit_malloc(FAR, 100);
        OK(memory);
        assert_int_equal(jit_malloc_device(memory), d);
        assert_int_equal(jit_malloc_migrate(memory, FAR, 1), memory);
        OK(jit_free(memory));
        if (d)
            drop_all(ids, COUNT_OF(ids));
        else
            memcpy(first, ids, sizeof(ids));
    }
    drop_all(first, COUNT_OF(first));
}

/* --------------------------------------------------------------- evaluation */

/* One call, two groups, two streams, neither of which waits for the other. */
static void test_one_evaluation(void **unused)
{
    (void) unused;
    uint32_t x[2], y[2], before[2];
    for (uint32_t d = 0; d < 2; ++d) {
        x[d] = counter_on(d, N);
        y[d] = compute(x[d]);
        before[d] = far_count(&far_states[d], COMMAND_LAUNCH);
    }
    alarm(20); /* a failure of this test is that it never ends */
    far_hold(&far_states[0], true);
    OK(jit_var_schedule(y[0]) && jit_var_schedule(y[1]) && jit_eval());
    choose(0);
    JitEvent *event = jit_event_create(FAR, 0);
    OK(event && jit_event_record(event));
    assert_int_equal(entry(y[1], 5), 22);
    assert_int_equal(jit_event_query(event), 0);
    assert_int_equal(far_count(&far_states[0], COMMAND_LAUNCH), before[0]);
    assert_int_equal(far_count(&far_states[1], COMMAND_LAUNCH), before[1] + 1);
    far_hold(&far_states[0], false);
    alarm(0);
    OK(jit_event_wait(event));
    assert_int_equal(entry(y[0], 6), 25);
    assert_int_equal(far_count(&far_states[0], COMMAND_LAUNCH), before[0] + 1);
    jit_event_destroy(event);
    DROP(x[0], x[1], y[0], y[1]);
}

/* The device is part of a kernel's key. */
static void test_kernels(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagKernelHistory, 1);
    for (uint32_t k = 0; k < 4; ++k) {
        uint32_t x = counter_on(k % 2, N), y = compute(x);
        OK(jit_var_eval(y));
        DROP(x, y);
    }
    KernelHistoryEntry *e = NULL;
    assert_int_equal(jit_kernel_history(&e), 4);
    for (uint32_t k = 0; k < 4; ++k) {
        assert_int_equal(e[k].cache_hit, k >= 2);
        assert_int_equal(e[k].hash[0] == e[0].hash[0], k % 2 == 0);
    }
    jit_kernel_history_release(e, 4);
}

/* What a device can do is asked of it (the head of far_device.h): how many commands of
 * a kind it takes to reduce a computed value twice, to scan one, and to add to entries
 * in private copies. */
static void check_answers(uint32_t device, const uint32_t *expected)
{
    static const CommandKind kinds[] = { COMMAND_LAUNCH, COMMAND_REDUCE, COMMAND_PREFIX,
                                         COMMAND_COMBINE };
    FarState *far = &far_states[device];
    uint32_t before[COUNT_OF(kinds)], zero = 0, x = counter_on(device, N);
    uint32_t many = jit_var_literal(FAR, VarTypeUInt32, &zero, 10, 1);
    OK(jit_sync_thread());
    for (uint32_t k = 0; k < COUNT_OF(kinds); ++k)
        before[k] = far_count(far, kinds[k]);
    uint32_t y = compute(x), ten = number_on(device, 10), bucket = jit_var_mod(x, ten);
    uint32_t sum = jit_var_reduce(y, ReduceOpAdd);
    uint32_t most = jit_var_reduce(y, ReduceOpMax);
    (void) jit_var_schedule(sum); /* number 1 has reduced both by now */
    (void) jit_var_schedule(most);
    OK(jit_eval());
    uint32_t z = jit_var_add(x, x);
    uint32_t sums = jit_var_block_prefix_reduce(ReduceOpAdd, z, N, 0, 0);
    advance(&many, jit_var_scatter(many, x, bucket, ALWAYS, ReduceOpAdd,
                                   ReduceModeExpand));
    assert_int_equal(entry(sum, 0), 3 * (N * (N - 1) / 2) + 7 * N);
    assert_int_equal(entry(most, 0), 3 * (N - 1) + 7);
    assert_int_equal(entry(sums, 50), 50 * 51);
    assert_int_equal(entry(many, 4), N / 10 * 4 + 10 * (N / 10 * (N / 10 - 1) / 2));
    for (uint32_t k = 0; k < COUNT_OF(kinds); ++k)
        assert_int_equal(far_count(far, kinds[k]) - before[k], expected[k]);
    DROP(x, many, y, ten, bucket, sum, most, z, sums);
}

static void test_answers(void **unused)
{
    (void) unused;
    check_answers(0, (const uint32_t[]) { 3, 1, 1, 0 });
    check_answers(1, (const uint32_t[]) { 3, 2, 1, 1 });
}

/* What fails on one device leaves the other alone. */
static void test_failure(void **unused)
{
    (void) unused;
    uint32_t x[2], y[2];
    for (uint32_t d = 0; d < 2; ++d) {
        x[d] = counter_on(d, N);
        y[d] = compute(x[d]);
        OK(jit_var_schedule(y[d]));
    }
    far_fail(&far_states[1], COMMAND_LAUNCH, 1);
    OK(jit_eval());
    assert_int_equal(entry(y[0], 6), 25);
    assert_false(jit_sync_thread());
    CHECK_ERROR(JIT_ERROR_SYSTEM, "told to fail");
    choose(0); /* whose own memory it cannot reach either */
    assert_int_equal(jit_var_migrate(y[1], FAR), 0);
    CHECK_ERROR(JIT_ERROR_SYSTEM, "told to fail");
    DROP(x[0], x[1], y[0], y[1]);
}

/* ---------------------------------------------------------------- migration */

static void test_migration(void **unused)
{
    (void) unused;
    uint32_t x = counter_on(0, N), y = compute(x);
    choose(1);
    uint32_t there = jit_var_migrate(y, FAR), same = jit_var_migrate(there, FAR);
    check_device(there, FAR, 1);
    assert_int_equal(same, there);
    uint32_t z = compute(there), near = jit_var_migrate(z, NEAR);
    choose(0);
    uint32_t back = jit_var_migrate(z, FAR);
    check_device(back, FAR, 0);
    check_device(near, NEAR, 0);
    for (uint32_t i = 0; i < N; i += 499) {
        assert_int_equal(entry(there, i), 3 * i + 7);
        assert_int_equal(entry(back, i), 9 * i + 28);
        assert_int_equal(entry(near, i), 9 * i + 28);
    }
    uint32_t seven = number_on(1, 7);
    choose(0);
    uint32_t literal = jit_var_migrate(seven, FAR);
    check_device(literal, FAR, 0);
    assert_int_equal(jit_var_state(literal), VarStateLiteral);
    DROP(x, y, there, same, z, near, back, seven, literal);
}

static void test_memory_migration(void **unused)
{
    (void) unused;
    uint32_t data[4] = { 3, 1, 4, 1 }, found[4] = { 0 };
    choose(0);
    void *first = jit_malloc(FAR, sizeof(data));
    OK(first && jit_memcpy(FAR, first, data, sizeof(data)));
    choose(1);
    void *second = jit_malloc_migrate(first, FAR, 1);
    OK(second);
    assert_ptr_not_equal(first, second);
    assert_int_equal(jit_malloc_device(second), 1);
    assert_false(jit_free(first)); /* it has moved */
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_free()");
    OK(jit_memcpy(FAR, found, second, sizeof(data)));
    assert_memory_equal(found, data, sizeof(data));
    OK(jit_free(second));
}

/* ----------------------------------------------------- everything on number 1 */

static void test_memory_operations(void **unused)
{
    (void) unused;
    uint32_t *data = random_array(VarTypeUInt32, N), zero = 0, sum = 0, most = 0;
    OK(jit_sync_thread());
    uint32_t before = count_all(0);
    choose(1);
    uint32_t x = jit_var_mem_copy(FAR, VarTypeUInt32, data, N);
    uint32_t counter = counter_on(1, N), target, many, ten = number_on(1, 10);
    uint32_t reversed = jit_var_reverse(x), bucket = jit_var_mod(counter, ten);
    target = jit_var_literal(FAR, VarTypeUInt32, &zero, N, 1);
    advance(&target, jit_var_scatter(target, x, counter, ALWAYS, ReduceOpAdd,
                                     ReduceModeAuto));
    many = jit_var_literal(FAR, VarTypeUInt32, &zero, 10, 1);
    advance(&many, jit_var_scatter(many, x, bucket, ALWAYS, ReduceOpAdd,
                                   ReduceModeExpand));
    uint32_t low = jit_var_lt(bucket, ten), some = jit_var_compress(low);
    uint32_t all[] = { target, many, reversed, jit_var_reduce(x, ReduceOpAdd),
                       jit_var_block_reduce(ReduceOpMax, x, 10),
                       jit_var_block_prefix_reduce(ReduceOpAdd, x, N, 0, 0),
                       jit_var_sort(x, 0, 0), jit_var_argsort(x, 0, 1), some,
                       jit_var_shrink(x, 7), jit_var_tile(x, 2), jit_var_copy(x) };
    for (uint32_t i = 0; i < COUNT_OF(all); ++i)
        check_device(all[i], FAR, 1);
    for (uint32_t i = 0; i < N; ++i) {
        sum += data[i];
        most = i < 10 && data[i] > most ? data[i] : most;
        assert_int_equal(entry(all[5], i), sum);
    }
    assert_int_equal(entry(target, 99), data[99]);
    assert_int_equal(entry(reversed, 0), data[N - 1]);
    assert_int_equal(entry(all[3], 0), sum);
    assert_int_equal(entry(all[4], 0), most);
    assert_int_equal(entry(all[6], N - 1), data[entry(all[7], 0)]);
    assert_int_equal(jit_var_size(some), N);
    uint32_t five = 0;
    for (uint32_t i = 5; i < N; i += 10)
        five += data[i];
    assert_int_equal(entry(many, 5), five);
    uint32_t written = jit_var_write(all[11], 3, &zero);
    check_device(written, FAR, 1);
    assert_int_equal(entry(written, 3), 0);
    assert_int_equal(entry(x, 3), data[3]);
    drop_all(all, COUNT_OF(all));
    DROP(x, counter, ten, bucket, low, written);
    assert_int_equal(count_all(0), before); /* nothing of this on number 0 */
    free(data);
}

/* Halve until it is at most 1, and count, where the mask is set. */
static uint32_t record_loop(uint32_t x)
{
    uint32_t one = number_on(1, 1), state[2] = { x, number_on(1, 0) };
    jit_var_inc_ref(x);
    uint32_t loop = jit_var_loop_start(FAR, "halve", 2, state);
    int again;
    OK(loop);
    do {
        uint32_t goes_on = jit_var_gt(state[0], one);
        again = jit_var_loop_cond(loop, goes_on);
        DROP(goes_on);
        if (again > 0) {
            advance(&state[0], jit_var_shr(state[0], one));
            advance(&state[1], jit_var_add(state[1], one));
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    OK(again >= 0);
    DROP(state[0], one);
    return state[1];
}

static uint32_t record_cond(uint32_t x, uint32_t condition)
{
    uint32_t cond = jit_var_cond_start("choice", condition), result;
    OK(cond);
    uint32_t y = compute(x);
    OK(jit_var_cond_append(cond, 1, &y) && jit_var_cond_append(cond, 1, &x));
    OK(jit_var_cond_end(cond, &result));
    DROP(y);
    return result;
}

static uint32_t record_call(uint32_t x, uint32_t self)
{
    uint32_t call = jit_var_call_start(FAR, "two", ALWAYS), result;
    OK(call);
    uint32_t a = jit_var_call_input(call, x), b = compute(a), c = jit_var_not(a);
    OK(jit_var_call_append(call, 1, &b) && jit_var_call_append(call, 1, &c));
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    DROP(a, b, c);
    return result;
}

static void check_regions(void)
{
    uint32_t x = counter_on(1, N), three = number_on(1, 3), ten = number_on(1, 10);
    uint32_t self = jit_var_mod(x, three), small = jit_var_lt(x, ten);
    uint32_t halved = record_loop(x), chosen = record_cond(x, small);
    uint32_t called = record_call(x, self);
    choose(1);
    OK(jit_var_mask_push(FAR, small));
    uint32_t masked = jit_var_gather(x, x, ALWAYS);
    OK(masked && jit_var_mask_pop(FAR));
    uint32_t empty = jit_array_create(FAR, VarTypeUInt32, 3, N);
    uint32_t local = jit_array_write(empty, self, x, ALWAYS);
    uint32_t read = jit_array_read(local, self, small);
    uint32_t all[] = { halved, chosen, called, masked, read };
    for (uint32_t i = 0; i < COUNT_OF(all); ++i) {
        check_device(all[i], FAR, 1);
        (void) jit_var_schedule(all[i]); /* where it is not evaluated by now */
    }
    OK(jit_eval());
    for (uint32_t i = 0; i < 100; ++i) {
        uint32_t log2 = 0;
        while (i >> (log2 + 1))
            log2++;
        uint32_t instances[] = { 0, 3 * i + 7, ~i };
        assert_int_equal(entry(halved, i), log2);
        assert_int_equal(entry(chosen, i), i < 10 ? 3 * i + 7 : i);
        assert_int_equal(entry(called, i), instances[i % 3]);
        assert_int_equal(entry(masked, i), i < 10 ? i : 0);
        assert_int_equal(entry(read, i), i < 10 ? i : 0);
    }
    drop_all(all, COUNT_OF(all));
    DROP(x, three, ten, self, small, empty, local);
}

static void test_regions(void **unused)
{
    (void) unused;
    OK(jit_sync_thread());
    uint32_t before = count_all(0);
    check_regions();
    for (int k = 0; k < 2; ++k) /* the same with evaluated loops and selects */
        jit_set_flag(k ? JitFlagSymbolicConditionals : JitFlagSymbolicLoops, 0);
    check_regions();
    assert_int_equal(count_all(0), before);
}

/* ------------------------------------------------------------------- errors */

#define REFUSED(expression, name)                                                   \
    do {                                                                            \
        assert_false(expression);                                                   \
        CHECK_ERROR(JIT_ERROR_ARGUMENT, name, "belong to different devices, ", "0", \
                    " and ", "1");                                                  \
    } while (0)

typedef struct Mixed {
    uint32_t x, f, m, t, a; /* numbers, floats, masks, a target, a local array */
} Mixed;

static Mixed make_mixed(uint32_t device)
{
    Mixed v = { .x = counter_on(device, N) };
    uint32_t ten = number_on(device, 10), zero = 0;
    v.f = jit_var_cast(v.x, VarTypeFloat32, 0);
    v.m = jit_var_lt(v.x, ten);
    v.t = jit_var_literal(FAR, VarTypeUInt32, &zero, N, 1);
    v.a = jit_array_create(FAR, VarTypeUInt32, 4, N);
    OK(v.f && v.m && v.t && v.a);
    DROP(ten);
    return v;
}

static void refuse_operands(const Mixed *p, const Mixed *q)
{
    REFUSED(jit_var_add(p->x, q->x), "jit_var_add()");
    REFUSED(jit_var_fma(p->x, p->x, q->x), "jit_var_fma()");
    REFUSED(jit_var_select(p->m, q->x, q->x), "jit_var_select()");
    REFUSED(jit_var_and(p->x, q->m), "jit_var_and()");
    REFUSED(jit_var_reduce_dot(p->f, q->f), "jit_var_reduce_dot()");
    REFUSED(jit_var_batched_gemm(p->x, q->x, &(JitGemm){ .m = 2, .n = 2, .k = 2 }),
            "jit_var_batched_gemm()");
    REFUSED(jit_var_pointer(FAR, &p, q->t, 0), "jit_var_pointer()");
    REFUSED(jit_var_stmt(FAR, VarTypeUInt32, "$r0 = $r1", 0, 1, &q->x),
            "jit_var_stmt()");
}

static void ignore_print(const JitPrintRecords *records, void *payload)
{
    (void) records;
    (void) payload;
}

static void refuse_accesses(const Mixed *p, const Mixed *q)
{
    const ReduceOp op = ReduceOpAdd;
    const ReduceMode mode = ReduceModeAuto;
    uint32_t out[4], target = p->t, values[] = { p->x, q->x };
    REFUSED(jit_var_gather(p->t, q->x, ALWAYS), "jit_var_gather()");
    REFUSED(jit_var_gather(p->t, p->x, q->m), "jit_var_gather()");
    REFUSED(jit_var_gather_packet(4, p->t, q->x, ALWAYS, out), "jit_var_gather");
    REFUSED(jit_var_scatter(p->t, p->x, q->x, ALWAYS, op, mode), "jit_var_scatter()");
    REFUSED(jit_var_scatter(p->t, q->x, p->x, ALWAYS, op, mode), "jit_var_scatter()");
    REFUSED(jit_var_scatter(p->t, p->x, p->x, q->m, op, mode), "jit_var_scatter()");
    REFUSED(jit_var_scatter_packet(2, p->t, values, p->x, ALWAYS, op, mode),
            "jit_var_scatter_packet()");
    REFUSED(jit_var_scatter_inc(&target, q->x, ALWAYS), "jit_var_scatter_inc()");
    REFUSED(jit_var_scatter_exch(&target, q->x, p->x, ALWAYS),
            "jit_var_scatter_exch()");
    REFUSED(jit_var_scatter_cas(&target, p->x, q->x, p->x, ALWAYS, out),
            "jit_var_scatter_cas()");
    REFUSED(jit_array_read(p->a, q->x, ALWAYS), "jit_array_read()");
    REFUSED(jit_array_write(p->a, p->x, q->x, ALWAYS), "jit_array_write()");
    REFUSED(jit_array_init(p->a, q->x), "jit_array_init()");
    OK(jit_var_mask_push(FAR, q->m));
    REFUSED(jit_var_gather(p->t, p->x, ALWAYS), "jit_var_gather()");
    REFUSED(jit_var_mask_apply(p->m, N), "jit_var_mask_apply()");
    REFUSED(jit_var_loop_start(FAR, "mixed", 1, &target), "jit_var_loop_start()");
    REFUSED(jit_var_call_start(FAR, "mixed", ALWAYS), "jit_var_call_start()");
    REFUSED(jit_var_cond_start("mixed", p->m), "jit_var_cond_start()");
    REFUSED(jit_var_print(0, 1, &p->x, 1, ignore_print, NULL), "jit_var_print()");
    OK(jit_var_mask_pop(FAR));
}

static uint32_t start_loop(uint32_t x, uint32_t *state)
{
    *state = x;
    jit_var_inc_ref(x);
    uint32_t loop = jit_var_loop_start(FAR, "mixed", 1, state);
    OK(loop);
    return loop;
}

/* Each error gives the loop up. */
static void refuse_loops(const Mixed *p, const Mixed *q)
{
    uint32_t both[2] = { p->x, q->x }, state;
    uint32_t there = number_on(1, 1), three = number_on(0, 3);
    REFUSED(jit_var_loop_start(FAR, "mixed", 2, both), "jit_var_loop_start()");
    uint32_t loop = start_loop(p->x, &state);
    REFUSED(jit_var_loop_cond(loop, q->m) >= 0, "jit_var_loop_cond()");
    DROP(state);
    loop = start_loop(p->x, &state);
    uint32_t goes_on = jit_var_lt(state, three);
    assert_int_equal(jit_var_loop_cond(loop, goes_on), 1);
    REFUSED(jit_var_add(state, there), "jit_var_add()");
    REFUSED(jit_var_scatter(q->t, q->x, q->x, ALWAYS, ReduceOpAdd, ReduceModeAuto),
            "jit_var_scatter()"); /* the mask of the body */
    REFUSED(jit_var_loop_end(loop, &there) >= 0, "jit_var_loop_end()");
    DROP(state, three, goes_on, there);
}

static void refuse_branches(const Mixed *p, const Mixed *q)
{
    uint32_t result;
    uint32_t cond = jit_var_cond_start("mixed", p->m);
    OK(jit_var_cond_append(cond, 1, &p->x));
    REFUSED(jit_var_cond_append(cond, 1, &q->x), "jit_var_cond_append()");
    uint32_t call = jit_var_call_start(FAR, "mixed", ALWAYS);
    uint32_t input = jit_var_call_input(call, q->x);
    OK(jit_var_call_append(call, 1, &input) && jit_var_call_append(call, 1, &p->x));
    REFUSED(jit_var_call(call, p->x, 2, NULL, NULL, &result), "jit_var_call()");
    DROP(input);
}

static void test_mixed_operands(void **unused)
{
    (void) unused;
    Mixed q = make_mixed(1), p = make_mixed(0); /* which is current now */
    refuse_operands(&p, &q);
    refuse_accesses(&p, &q);
    refuse_loops(&p, &q);
    refuse_branches(&p, &q);
    uint32_t near = jit_var_counter(NEAR, N);
    assert_int_equal(jit_var_add(near, q.x), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_add()",
                "operands belong to different backends");
    assert_int_equal(jit_var_gather(q.t, near, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "operands belong to different backends");
    DROP(near, p.x, p.f, p.m, p.t, p.a, q.x, q.f, q.m, q.t, q.a);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST_DEVICES(test_choice),         TEST_DEVICES(test_creation),
        TEST_DEVICES(test_one_evaluation), TEST_DEVICES(test_kernels),
        TEST_DEVICES(test_answers),        TEST_DEVICES(test_failure),
        TEST_DEVICES(test_migration),      TEST_DEVICES(test_memory_migration),
        TEST_DEVICES(test_memory_operations),
        TEST_DEVICES(test_regions),        TEST_DEVICES(test_mixed_operands)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
