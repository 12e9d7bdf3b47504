/*
 * test_freeze_escape.c -- variables that a recording makes and somebody else keeps
 *
 * For functions that keep nothing but their results there are none, whatever they are
 * made of; what is kept beyond that is found, all of it and nothing else.
 */
#include "freeze_util.h"

#include <pthread.h>

#include "drjit-core/ad.h"

enum { SIZE = 64 };

typedef uint64_t Tracked;

#define FREE(...) \
    free_all((Tracked[]){ __VA_ARGS__ }, COUNT_OF(((Tracked[]){ __VA_ARGS__ })))
static void free_all(const Tracked *ids, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        ad_var_dec_ref(ids[i]);
}

/* Are these the variables that have escaped, in ascending order, with what is known? */
static void check_escaped(const uint32_t *known, size_t known_count,
                          const uint32_t *expected, size_t count, const char *name)
{
    uint32_t found[8] = { 0 };
    const size_t n = jit_freeze_escaped(known_count, known, COUNT_OF(found), found);
    if (n == SIZE_MAX)
        fail_msg("%s: %s", name, jit_error_message());
    if (n != count)
        fail_msg("%s: %zu variables have escaped, the first is r%u; expected %zu", name,
                 n, found[0], count);
    for (size_t i = 0; i < count; ++i) {
        size_t at = 0;
        while (at < n && found[at] != expected[i])
            at++;
        if (at == n)
            fail_msg("%s: r%u has escaped and was not found", name, expected[i]);
        assert_true(!i || found[i - 1] < found[i]);
    }
}

/* ---------------------------------------------------------------- nothing escapes */

static size_t writes_twice(const uint32_t *in, uint32_t *out)
{
    uint32_t target = same(in[1]), two = f32(2);
    advance(&target, jit_var_scatter(target, in[0], in[2], ALWAYS, ReduceOpAdd,
                                     ReduceModeAuto));
    advance(&target, jit_var_scatter(target, two, in[2], ALWAYS, ReduceOpMul,
                                     ReduceModeAuto));
    jit_var_dec_ref(two);
    out[0] = target;
    return 1;
}

static size_t conditional(const uint32_t *in, uint32_t *out)
{
    uint32_t which = jit_var_lt(in[0], in[1]), cond = jit_var_cond_start("if", which);
    OK(cond);
    uint32_t one = f32(1), sides[] = { jit_var_add(in[0], one), jit_var_neg(in[1]) };
    OK(jit_var_cond_append(cond, 1, &sides[0]));
    OK(jit_var_cond_append(cond, 1, &sides[1]));
    OK(jit_var_cond_end(cond, out));
    DROP(which, one, sides[0], sides[1]);
    return 1;
}

/* One instance uses an array of its own and writes to another one. */
static size_t calls(const uint32_t *in, uint32_t *out)
{
    uint32_t one = jit_var_u32(CPU, 1), self = take(jit_var_add, same(one),
                                                    jit_var_and(in[2], one));
    uint32_t target = same(in[1]), y, five = f32(5);
    uint32_t handle = jit_var_call_start(CPU, "call", ALWAYS);
    OK(handle);
    uint32_t x = jit_var_call_input(handle, in[0]);
    uint32_t i = jit_var_call_input(handle, in[2]);
    y = take(jit_var_mul, same(x), jit_var_gather(in[1], i, ALWAYS));
    OK(jit_var_call_append(handle, 1, &y));
    jit_var_dec_ref(y);
    advance(&target,
            jit_var_scatter(target, x, i, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    OK(jit_var_call_append(handle, 1, &five));
    OK(jit_var_call(handle, self, 2, NULL, NULL, &y));
    DROP(one, self, five, x, i);
    out[0] = y;
    out[1] = target;
    return 2;
}

static size_t local_memory(const uint32_t *in, uint32_t *out)
{
    uint32_t array = jit_array_create(CPU, VarTypeFloat32, 4, 1);
    uint32_t three = jit_var_u32(CPU, 3), at = jit_var_and(in[2], three);
    advance(&array, jit_array_write(array, at, in[0], ALWAYS));
    out[0] = jit_array_read(array, three, ALWAYS);
    DROP(array, three, at);
    return 1;
}

/* Scheduled, and then of no use. */
static size_t schedules(const uint32_t *in, uint32_t *out)
{
    uint32_t y = jit_var_mul(in[0], in[1]), z = jit_var_neg(y);
    OK(jit_var_schedule(y));
    OK(jit_var_schedule(z));
    DROP(y, z);
    out[0] = jit_var_add(in[0], in[1]);
    return 1;
}

/* Labels and source locations stand beside variables. */
static size_t describes(const uint32_t *in, uint32_t *out)
{
    jit_set_source_location("scene.c", 3);
    uint32_t y = jit_var_mul(in[0], in[1]);
    advance(&y, jit_var_set_label(y, "y"));
    out[0] = jit_var_add(y, in[0]);
    advance(&out[0], jit_var_set_label(out[0], "z"));
    jit_var_dec_ref(y);
    jit_set_source_location(NULL, 0);
    return 1;
}

static size_t masks(const uint32_t *in, uint32_t *out)
{
    uint32_t mask = jit_var_lt(in[0], in[1]), inner = jit_var_gt(in[0], in[1]);
    OK(jit_var_mask_push(CPU, mask));
    OK(jit_var_mask_push(CPU, inner));
    out[0] = jit_var_gather(in[0], in[2], ALWAYS);
    OK(jit_var_mask_pop(CPU));
    OK(jit_var_mask_pop(CPU));
    DROP(mask, inner);
    return 1;
}

/* d/dx sum(sin(x) * y)^2, within. */
static size_t derivatives(const uint32_t *in, uint32_t *out)
{
    Tracked x = ad_var_track(in[0]), y = ad_var_op(JitOpSin, &x);
    Tracked product = ad_var_mul(y, in[1]), square = ad_var_mul(product, product);
    Tracked sum = ad_var_reduce(square, ReduceOpAdd);
    uint32_t one = f32(1);
    OK(ad_set_grad(sum, one));
    OK(ad_enqueue(ADModeBackward, sum));
    OK(ad_traverse(ADModeBackward, ADFlagDefault));
    jit_var_dec_ref(one);
    Tracked grad = ad_grad(x);
    OK(grad);
    FREE(x, y, product, square, sum);
    out[0] = ad_var_index(grad);
    return 1;
}

static const struct {
    const char *name;
    Function call;
} ordinary[] = {
    { "writes_twice", writes_twice }, { "conditional", conditional },
    { "calls", calls },               { "local_memory", local_memory },
    { "schedules", schedules },       { "describes", describes },
    { "masks", masks },               { "derivatives", derivatives }
};

static void check_ordinary(Function call, const char *name)
{
    uint32_t in[INPUTS], out[MOST];
    make_inputs(SIZE, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    OK(jit_freeze_set_general(true));
    const size_t count = call(in, out);
    for (size_t i = 0; i < count; ++i)
        OK(out[i]);
    check_escaped(out, count, NULL, 0, name);
    assert_int_equal(jit_freeze_foreign(0, NULL), 0);
    /* Without what is known, the results have escaped themselves. */
    size_t made = 0;
    for (size_t i = 0; i < count; ++i) {
        bool counted = out[i] == in[0] || out[i] == in[1] || out[i] == in[2];
        for (size_t k = 0; k < i; ++k)
            counted |= out[k] == out[i];
        made += !counted;
    }
    assert_int_equal(jit_freeze_escaped(0, NULL, 0, NULL), made);
    OK(jit_eval());
    check_escaped(out, count, NULL, 0, name);
    JitRecording *recording = jit_freeze_stop(count, out);
    OK(recording);
    jit_freeze_destroy(recording);
    drop_all(out, count);
    drop_all(in, INPUTS);
}

static void test_nothing(void **unused)
{
    (void) unused;
    for (size_t f = 0; f < COUNT_OF(functions); ++f)
        check_ordinary(functions[f].call, functions[f].name);
    for (size_t f = 0; f < COUNT_OF(ordinary); ++f)
        check_ordinary(ordinary[f].call, ordinary[f].name);
    jit_set_flag(JitFlagSymbolicLoops, 0);
    check_ordinary(loops, "loops, run at once");
    jit_set_flag(JitFlagSymbolicLoops, 1);
}

static void print_nothing(const JitPrintRecords *records, void *payload)
{
    (void) records, (void) payload;
}

/* A print that waits holds its values. */
static void test_prints(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out;
    make_inputs(SIZE, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    out = jit_var_add(in[0], in[1]);
    uint32_t product = jit_var_mul(in[0], in[1]);
    OK(jit_var_print(ALWAYS, 2, (uint32_t[]){ product, out }, 3, print_nothing, NULL));
    jit_var_dec_ref(product);
    check_escaped(&out, 1, NULL, 0, "prints");
    jit_freeze_abort();
    DROP(out);
    drop_all(in, INPUTS);
}

/* --------------------------------------------------------------- something escapes */

/* What is made, and kept: their number. */
typedef size_t (*Keep)(const uint32_t *in, uint32_t *kept);

static size_t keep_literal(const uint32_t *in, uint32_t *kept)
{
    kept[0] = f32(3);
    DROP(jit_var_add(in[0], kept[0]));
    return 1;
}
static size_t keep_wide_literal(const uint32_t *in, uint32_t *kept)
{
    (void) in;
    kept[0] = literal_of(VarTypeUInt32, 3, SIZE);
    return 1;
}
static size_t keep_unevaluated(const uint32_t *in, uint32_t *kept)
{
    kept[0] = jit_var_mul(in[0], in[1]);
    return 1;
}
static size_t keep_scheduled(const uint32_t *in, uint32_t *kept)
{
    kept[0] = jit_var_mul(in[0], in[1]);
    OK(jit_var_schedule(kept[0]));
    return 1;
}
static size_t keep_evaluated(const uint32_t *in, uint32_t *kept)
{
    kept[0] = jit_var_mul(in[0], in[1]);
    OK(jit_var_eval(kept[0]));
    return 1;
}
static size_t keep_constant(const uint32_t *in, uint32_t *kept)
{
    (void) in;
    kept[0] = u32_array(2, (uint32_t[]){ 1, 2 });
    return 1;
}
static size_t keep_sum(const uint32_t *in, uint32_t *kept)
{
    kept[0] = jit_var_reduce(in[0], ReduceOpAdd);
    return 1;
}
/* Each is an operand of the next. */
static size_t keep_chain(const uint32_t *in, uint32_t *kept)
{
    kept[0] = jit_var_neg(in[0]);
    uint32_t between = jit_var_abs(kept[0]);
    kept[1] = jit_var_mul(between, in[1]);
    jit_var_dec_ref(between);
    return 2;
}
static size_t keep_written(const uint32_t *in, uint32_t *kept)
{
    writes_twice(in, kept);
    return 1;
}
static size_t keep_expanded(const uint32_t *in, uint32_t *kept)
{
    return expands(in, kept);
}
static size_t keep_loop_state(const uint32_t *in, uint32_t *kept)
{
    uint32_t out[2];
    loops(in, out);
    kept[0] = out[0];
    jit_var_dec_ref(out[1]);
    return 1;
}
static size_t keep_side(const uint32_t *in, uint32_t *kept)
{
    return conditional(in, kept);
}
static size_t keep_call_results(const uint32_t *in, uint32_t *kept)
{
    return calls(in, kept);
}
static size_t keep_local_array(const uint32_t *in, uint32_t *kept)
{
    (void) in;
    kept[0] = jit_array_create(CPU, VarTypeFloat32, 4, 1);
    return 1;
}
static size_t keep_gradient(const uint32_t *in, uint32_t *kept)
{
    return derivatives(in, kept);
}
/* With its graph, which holds what its derivative needs: that has not escaped. */
static size_t keep_tracked(const uint32_t *in, uint32_t *kept)
{
    Tracked x = ad_var_track(in[0]), y = ad_var_op(JitOpSin, &x);
    Tracked z = ad_var_mul(y, y);
    FREE(x, y);
    kept[0] = ad_var_index(z);
    OK(jit_var_inc_ref(kept[0])); /* its node goes */
    FREE(z);
    return 1;
}
static size_t keep_several(const uint32_t *in, uint32_t *kept)
{
    kept[0] = f32(4);
    kept[1] = jit_var_mul(in[0], in[1]);
    OK(jit_var_eval(kept[1]));
    kept[2] = jit_var_add(kept[1], kept[0]);
    return 3;
}

static const struct {
    const char *name;
    Keep keep;
} keeps[] = {
#define KEEP(name) { #name, name }
    KEEP(keep_literal),      KEEP(keep_wide_literal), KEEP(keep_unevaluated),
    KEEP(keep_scheduled),    KEEP(keep_evaluated),    KEEP(keep_constant),
    KEEP(keep_sum),          KEEP(keep_chain),        KEEP(keep_written),
    KEEP(keep_expanded),     KEEP(keep_loop_state),   KEEP(keep_side),
    KEEP(keep_call_results), KEEP(keep_local_array),  KEEP(keep_gradient),
    KEEP(keep_tracked),      KEEP(keep_several)
};

static void test_kept(void **unused)
{
    (void) unused;
    for (size_t k = 0; k < COUNT_OF(keeps); ++k) {
        uint32_t in[INPUTS], kept[MOST] = { 0 }, out[2];
        make_inputs(SIZE, in);
        OK(jit_freeze_start(CPU, INPUTS, in));
        const size_t count = keeps[k].keep(in, kept);
        for (size_t i = 0; i < count; ++i)
            OK(kept[i]);
        two_kernels(in, out);
        check_escaped(out, 1, kept, count, keeps[k].name);
        /* All of them are known. */
        uint32_t known[MOST + 1] = { out[0] };
        memcpy(known + 1, kept, count * sizeof(uint32_t));
        check_escaped(known, count + 1, NULL, 0, keeps[k].name);
        /* They are the results, of which one is kept twice. */
        OK(jit_var_inc_ref(kept[0]));
        check_escaped(known, count + 1, kept, 1, keeps[k].name);
        jit_var_dec_ref(kept[0]);
        jit_freeze_abort();
        drop_all(kept, count);
        DROP(out[0]);
        drop_all(in, INPUTS);
    }
}

/* A graph that is kept by its result holds values, tracked or not, in edges of all
 * kinds, and gradients: none of these has escaped. */
static void test_graph(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS];
    make_inputs(SIZE, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    Tracked x = ad_var_track(in[0]), y = ad_var_op(JitOpExp, &x);
    uint32_t two = f32(2), mask = jit_var_lt(in[0], in[1]), index = jit_var_neg(in[2]);
    advance(&index, jit_var_neg(index));
    Tracked gathered = ad_var_gather(y, index, mask, ReduceModeAuto);
    OK(gathered);
    Tracked target = in[1];
    Tracked written = ad_var_scatter(target, gathered, index, mask, ReduceOpAdd,
                                     ReduceModeAuto);
    OK(written);
    Tracked quotient = ad_var_div(written, y);
    Tracked chosen = ad_var_select(mask, quotient, y);
    Tracked sum = ad_var_reduce(chosen, ReduceOpMul);
    /* A conditional, whose template is held by an operation. */
    uint32_t cond = ad_var_cond_start("if", mask);
    OK(cond);
    Tracked inner = ad_var_mul(y, chosen), results[1];
    OK(ad_var_cond_append(cond, 1, &inner));
    OK(ad_var_cond_append(cond, 1, &y));
    OK(ad_var_cond_end(cond, results));
    OK(ad_set_grad(x, two));
    FREE(inner, gathered, quotient, y, written, chosen);
    DROP(two, mask, index);
    const uint32_t known[] = { ad_var_index(results[0]), ad_var_index(sum) };
    check_escaped(known, 2, NULL, 0, "graph");
    check_escaped(known, 1, known + 1, 1, "graph");
    OK(jit_eval());
    check_escaped(known, 2, NULL, 0, "graph, evaluated");
    jit_freeze_abort();
    ad_clear_grad(x);
    FREE(x, sum, results[0]);
    drop_all(in, INPUTS);
}

/* ------------------------------------------------------------------------ threads */

typedef struct Keeper {
    uint32_t given, kept;
} Keeper;

static void *keep_elsewhere(void *data)
{
    Keeper *k = data;
    k->kept = jit_var_inc_ref(k->given);
    return NULL;
}

/* A variable of the other thread's that depends on it. */
static void *compute_elsewhere(void *data)
{
    Keeper *k = data;
    k->kept = jit_var_neg(k->given);
    return NULL;
}

static void test_threads(void **unused)
{
    (void) unused;
    for (int way = 0; way < 2; ++way) {
        uint32_t in[INPUTS];
        pthread_t thread;
        make_inputs(SIZE, in);
        OK(jit_freeze_start(CPU, INPUTS, in));
        uint32_t y = jit_var_mul(in[0], in[1]), out = jit_var_add(y, in[0]);
        Keeper k = { .given = y };
        check_escaped((uint32_t[]){ out, y }, 2, NULL, 0, "before");
        assert_int_equal(pthread_create(&thread, NULL,
                                        way ? compute_elsewhere : keep_elsewhere, &k),
                         0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        OK(k.kept);
        jit_var_dec_ref(y);
        check_escaped(&out, 1, &y, 1, way ? "computes" : "keeps");
        jit_freeze_abort();
        DROP(out, k.kept);
        drop_all(in, INPUTS);
    }
}

/* What inputs are is not the recording's to lose; what it reads of others neither. */
static void test_others(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], g = fill_u32(SIZE, 3), before = jit_var_neg(g);
    make_inputs(SIZE, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    uint32_t held[] = { same(in[0]), same(g), same(before) };
    uint32_t sum = jit_var_add(before, g), out = jit_var_add(sum, in[2]);
    check_escaped((uint32_t[]){ out, sum }, 2, NULL, 0, "others");
    OK(jit_freeze_pause());
    uint32_t aside = jit_var_add(g, g);
    OK(jit_freeze_resume());
    check_escaped((uint32_t[]){ out, sum }, 2, NULL, 0, "others");
    assert_int_equal(jit_freeze_copy(sum), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_copy()", "in memory");
    uint32_t copy = jit_freeze_copy(in[0]);
    assert_true(copy && copy != in[0] && jit_flag(JitFlagFreezingScope));
    check_escaped((uint32_t[]){ out, sum }, 2, NULL, 0, "others");
    jit_freeze_abort();
    assert_int_equal(jit_freeze_copy(in[0]), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_copy()", "not recording");
    DROP(aside, sum, out, g, before, copy);
    drop_all(held, COUNT_OF(held));
    drop_all(in, INPUTS);
}

static void test_errors(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], one;
    make_inputs(SIZE, in);
    assert_true(jit_freeze_escaped(0, NULL, 0, NULL) == SIZE_MAX);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_escaped()", "not recording");
    OK(jit_freeze_start(CPU, INPUTS, in));
    assert_true(jit_freeze_escaped(1, NULL, 0, NULL) == SIZE_MAX);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_escaped()", "known");
    assert_true(jit_freeze_escaped(0, NULL, 1, NULL) == SIZE_MAX);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_escaped()", "indices");
    one = 1u << 30;
    assert_true(jit_freeze_escaped(1, &one, 0, NULL) == SIZE_MAX);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_escaped()", "not a variable");
    uint32_t two[] = { f32(1), f32(2) }, found[1];
    assert_int_equal(jit_freeze_escaped(0, NULL, 1, found), 2);
    assert_true(found[0] == (two[0] < two[1] ? two[0] : two[1]));
    assert_int_equal(jit_freeze_escaped(3, (uint32_t[]){ two[0], 0, two[1] }, 1, found),
                     0);
    jit_freeze_abort();
    drop_all(two, 2);
    drop_all(in, INPUTS);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_nothing), TEST(test_prints), TEST(test_kept), TEST(test_graph),
        TEST(test_threads), TEST(test_others), TEST(test_errors)
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
