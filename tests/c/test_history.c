/*
 * test_history.c -- the kernel history: kernels, other work, transfers, source lines
 */
#include "eval_util.h"

static void ignore_payload(void *payload)
{
    (void) payload;
}

static void test_history(void **unused)
{
    (void) unused;
    jit_flush_kernel_cache();
    jit_kernel_history_clear();
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t x = u32_array(100, (uint32_t[100]){ 0 });
    for (int k = 0; k < 2; ++k) {
        uint32_t c = jit_var_counter(CPU, 100), a = jit_var_add(c, x),
                 b = jit_var_xor(c, x);
        jit_var_schedule(a);
        jit_var_schedule(b);
        OK(jit_eval());
        DROP(c, a, b);
    }
    KernelHistoryEntry *e = NULL;
    size_t count = jit_kernel_history(&e);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(e[i].backend, CPU);
        assert_int_equal(e[i].type, KernelTypeJIT);
        assert_int_equal(e[i].size, 100);
        assert_int_equal(e[i].input_count, 1);
        assert_int_equal(e[i].output_count, 2);
        assert_true(e[i].operation_count >= 4);
        assert_int_equal(e[i].bytes_read, 400);
        assert_int_equal(e[i].bytes_written, 800);
        assert_int_equal(e[i].flops, 0);
        assert_false(e[i].has_loops);
        assert_int_equal(e[i].cache_hit, i == 1);
        assert_true(!e[i].cache_hit || !e[i].cache_disk);
        assert_non_null(e[i].ir);
        assert_non_null(strstr(e[i].ir, "xor"));
        assert_string_equal(e[i].engine, IS_FAR ? "far" : getenv("DRJIT_CPU_ENGINE"));
        assert_true(e[i].codegen_time >= 0 && e[i].execution_time >= 0);
        assert_true(e[i].cache_hit ? e[i].backend_time == 0 : e[i].backend_time > 0);
        assert_int_equal(e[i].hash[0], e[0].hash[0]);
        assert_int_equal(e[i].hash[1], e[0].hash[1]);
    }
    assert_true(e[0].hash[0] != 0 || e[0].hash[1] != 0);
    jit_kernel_history_release(e, count);
    assert_int_equal(jit_kernel_history(&e), 0);
    jit_kernel_history_release(e, 0);

    /* Work that is not a kernel. */
    float data[64] = { 1, 2, 3 };
    uint32_t f = array_of(VarTypeFloat32, data, 64);
    uint8_t flags[64] = { 0, 1, 1 };
    uint32_t m = array_of(VarTypeBool, flags, 64);
    uint32_t keys[64] = { 0 }, perm[64];
    bool ok;
    uint32_t r[4] = { jit_var_reduce(f, ReduceOpAdd) }; /* may wait */
    OK(jit_var_eval(r[0]) || jit_error() == JIT_OK);
    r[1] = jit_var_block_prefix_reduce(ReduceOpAdd, f, 64, 0, 0);
    r[2] = jit_var_reduce_dot(f, f);
    OK(jit_var_eval(r[2]) || jit_error() == JIT_OK);
    r[3] = jit_var_compress(m);
    OK(r[0] && r[1] && r[2] && r[3]);
    jit_block_mkperm(CPU, keys, 64, 64, 1, perm, NULL, &ok);
    OK(ok && jit_enqueue_host_func(CPU, ignore_payload, NULL));
    const KernelType types[] = { KernelTypeBlockReduce, KernelTypeBlockPrefixReduce,
                                 KernelTypeDot,         KernelTypeCompress,
                                 KernelTypeMkPerm,      KernelTypeHostFunc };
    const uint64_t read[] = { 256, 256, 256, 64, 256, 0 };
    const uint64_t written[] = { 4, 256, 4, 64 * 4 + 4, 256 + 4, 0 };
    const uint64_t flops[] = { 64, 64, 128, 0, 0, 0 };
    count = jit_kernel_history(&e);
    assert_int_equal(count, COUNT_OF(types));
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(e[i].type, types[i]);
        assert_int_equal(e[i].backend, CPU);
        assert_null(e[i].ir);
        assert_null(e[i].engine);
        if (types[i] != KernelTypeHostFunc)
            assert_int_equal(e[i].size, 64);
        assert_int_equal(e[i].bytes_read, read[i]);
        assert_int_equal(e[i].bytes_written, written[i]);
        assert_int_equal(e[i].flops, flops[i]);
        assert_true(e[i].execution_time >= 0);
    }
    jit_kernel_history_release(e, count);
    uint32_t a = sample(3, 3);
    OK(jit_var_eval(a));
    jit_kernel_history_clear();
    assert_int_equal(jit_kernel_history(&e), 0);
    jit_kernel_history_release(e, 0);
    jit_set_flag(JitFlagKernelHistory, 0);
    uint32_t b = sample(4, 5);
    OK(jit_var_eval(b));
    assert_int_equal(jit_kernel_history(&e), 0);
    jit_kernel_history_release(e, 0);
    drop_all(r, COUNT_OF(r));
    DROP(x, f, m, a, b);
}

/* Evaluates a variable, which leaves one entry, with these numbers. */
static void check_traffic(uint32_t id, uint64_t read, uint64_t written, uint64_t flops,
                          bool loops)
{
    jit_kernel_history_clear();
    OK(jit_var_eval(id));
    KernelHistoryEntry *e;
    assert_int_equal(jit_kernel_history(&e), 1);
    assert_int_equal(e->bytes_read, read);
    assert_int_equal(e->bytes_written, written);
    assert_int_equal(e->flops, flops);
    assert_int_equal(e->has_loops, loops);
    jit_kernel_history_release(e, 1);
}

/* x is halved until it is at most 1; whether that is so counts for nothing. */
static uint32_t halved(uint32_t x)
{
    uint32_t state = jit_var_inc_ref(x), one = jit_var_f32(CPU, 1);
    uint32_t half = jit_var_f32(CPU, .5f);
    uint32_t loop = jit_var_loop_start(CPU, "halve", 1, &state);
    OK(loop);
    int again;
    do {
        uint32_t more = jit_var_gt(state, one);
        again = jit_var_loop_cond(loop, more);
        uint32_t next = jit_var_mul(state, half);
        DROP(more, state);
        state = next;
    } while (again >= 0 && (again = jit_var_loop_end(loop, &state)) == 0);
    OK(again >= 0);
    DROP(loop, one, half);
    return state;
}

/* The same on all engines, since it is counted in the Program as it was traced. */
static void test_traffic(void **unused)
{
    (void) unused;
    enum { SIZE = 1000 };
    static float data[SIZE];
    uint32_t x = array_of(VarTypeFloat32, data, SIZE);
    uint32_t few = array_of(VarTypeFloat32, data, 10);
    uint32_t c = jit_var_counter(CPU, SIZE), all = jit_var_bool(CPU, true);
    uint32_t ten = jit_var_u32(CPU, 10), place = jit_var_mod(c, ten);
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t r[] = { jit_var_fma(x, x, x), jit_var_gather(few, place, all),
                     jit_var_gather(x, place, all), halved(x) };
    check_traffic(r[0], 4 * SIZE, 4 * SIZE, 2 * SIZE, false);
    check_traffic(r[1], 40, 4 * SIZE, 0, false);
    check_traffic(r[2], 4 * SIZE, 4 * SIZE, 0, false); /* at most */
    check_traffic(r[3], 4 * SIZE, 4 * SIZE, SIZE, true);
    jit_set_flag(JitFlagKernelHistory, 0);
    drop_all(r, COUNT_OF(r));
    DROP(x, few, c, all, ten, place);
}

/* Copies, fills and single writes, asked for or made by the library. */
static void test_transfer_history(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(100, (uint32_t[100]){ 0 }), held = jit_var_inc_ref(x);
    uint32_t value = 7, place[10], other[10];
    const AggregationEntry parts[] = { { 4, 0, NULL }, { -4, 4, &value } };
    jit_kernel_history_clear();
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t filled = jit_var_literal(CPU, VarTypeUInt32, &value, 50, 1);
    uint32_t written = jit_var_write(x, 3, &value); /* a copy, as it is shared */
    OK(filled && written);
    uint32_t part = jit_var_shrink(written, 10);
    OK(part && jit_memset_async(CPU, place, 10, 4, &value));
    OK(jit_memcpy_async(CPU, other, place, sizeof(place)));
    OK(jit_memcpy(CPU, other, place, 0));
    OK(jit_aggregate(CPU, place, parts, COUNT_OF(parts)));
    static const struct {
        KernelType type;
        size_t size;
    } expected[] = { { KernelTypeMemset, 50 }, { KernelTypeMemcpy, 400 },
                     { KernelTypePoke, 4 },    { KernelTypeMemcpy, 40 },
                     { KernelTypeMemset, 10 }, { KernelTypeMemcpy, 40 },
                     { KernelTypeMemcpy, 0 },  { KernelTypeAggregate, 2 } };
    KernelHistoryEntry *e;
    size_t count = jit_kernel_history(&e);
    assert_int_equal(count, COUNT_OF(expected));
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(e[i].type, expected[i].type);
        assert_int_equal(e[i].size, expected[i].size);
        assert_int_equal(e[i].output_count, 1);
        assert_true(e[i].execution_time >= 0);
    }
    jit_kernel_history_release(e, count);
    jit_set_flag(JitFlagKernelHistory, 0);
    DROP(x, held, filled, written, part);
}

/* Lines of the traced program stand beside instructions, also beside those that a
 * better suited expansion made, and the engine's own form beside the Program. */
static void test_source_lines(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagDebug, 1);
    jit_set_flag(JitFlagKernelHistory, 1);
    jit_set_log_level_stderr(LogLevelDisable);
    jit_set_source_location("march.py", 41);
    uint32_t a = jit_var_counter(CPU, 100), x = jit_var_cast(a, VarTypeFloat16, 0);
    jit_set_source_location("march.py", 42);
    uint32_t y = jit_var_mul(x, x);
    jit_set_source_location(NULL, 0);
    uint32_t z = jit_var_add(y, x);
    for (int with_ir = 0; with_ir < 2; ++with_ir) {
        uint32_t copy = jit_var_copy(z);
        jit_set_flag(JitFlagPrintIR, with_ir);
        jit_kernel_history_clear();
        OK(jit_var_eval(copy));
        KernelHistoryEntry *e;
        size_t count = jit_kernel_history(&e);
        assert_int_equal(count, 1);
        assert_non_null(strstr(e->ir, "counter    # march.py:41\n"));
        const char *mul = strstr(e->ir, "mul ");
        assert_non_null(mul);
        assert_non_null(strstr(mul, "# march.py:42\n"));
        const char *add = strstr(mul, "add ");
        assert_non_null(add);
        assert_int_not_equal(add[strcspn(add, "#\n")], '#');
        /* The engine's form follows, where it has one of its own. */
        bool own_form = !engine_is("interp") && !IS_FAR;
        const char *more = strstr(add, "\n\n");
        assert_true((more != NULL) == (with_ir && own_form));
        if (more && engine_is("native"))
            assert_non_null(strstr(more, "# march.py:42\n"));
        jit_kernel_history_release(e, count);
        DROP(copy);
    }
    DROP(a, x, y, z);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_history), TEST(test_traffic), TEST(test_transfer_history),
        TEST(test_source_lines),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}

int main(void)
{
    return run_engines_uncached(run);
}
