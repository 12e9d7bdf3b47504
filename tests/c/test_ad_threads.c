/*
 * test_ad_threads.c -- one graph of derivatives, many threads
 *
 * They track, differentiate and free side by side; what a thread has left open when it
 * ends goes with it. Runs under the thread sanitizer, too.
 */
#include "ad_util.h"
#include "thread_util.h"

#include <pthread.h>

enum { THREADS = 6, ROUNDS = 20, SIZE = 500 };

typedef struct Task {
    uint32_t number;
    Tracked shared[4]; /* borrowed */
} Task;

static void run_tasks(void *(*work)(void *), const Tracked *shared, size_t count)
{
    pthread_t ids[THREADS];
    Task tasks[THREADS] = { 0 };
    atomic_store(&faults, 0);
    for (uint32_t i = 0; i < THREADS; ++i) {
        tasks[i].number = i;
        for (size_t k = 0; k < count; ++k)
            tasks[i].shared[k] = shared[k];
        assert_int_equal(pthread_create(&ids[i], NULL, work, &tasks[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; ++i)
        pthread_join(ids[i], NULL);
    assert_int_equal(atomic_load(&faults), 0);
}

static Tracked own_input(size_t size, double value)
{
    uint32_t x = jit_var_f64(CPU, value), wide = x ? jit_var_resize(x, size) : 0;
    Tracked result = wide ? ad_var_track(wide) : 0;
    DROP(x, wide);
    return result;
}

static bool seed_one(Tracked x)
{
    uint32_t one = jit_var_f64(CPU, 1);
    bool ok = one && ad_set_grad(x, one);
    jit_var_dec_ref(one);
    return ok;
}

static bool go_back(Tracked y, uint32_t flags)
{
    return seed_one(y) && ad_enqueue(ADModeBackward, y) &&
           ad_traverse(ADModeBackward, flags);
}

static bool gradient_is(Tracked x, double expected)
{
    Tracked g = ad_grad(x);
    double found;
    bool ok = g && jit_var_read(ad_var_index(g), 0, &found);
    ad_var_dec_ref(g);
    if (ok && found != expected)
        fprintf(stderr, "gradient is %.17g, expected %.17g\n", found, expected);
    return ok && found == expected;
}

/* ------------------------------------------------------------------ one parameter */

/* sum of x p over its own x, whose derivative with respect to p is SIZE * number. */
static void *use_parameter(void *payload)
{
    const Task *t = payload;
    for (int round = 0; round < ROUNDS; ++round) {
        Tracked x = own_input(SIZE, t->number + 1);
        Tracked y = ad_var_mul(x, t->shared[0]), sum = ad_var_reduce(y, ReduceOpAdd);
        EXPECT(sum && go_back(sum, round % 2 ? ADFlagDefault : ADFlagClearVertices));
        EXPECT(gradient_is(x, 2));
        FREE(x, y, sum);
    }
    return NULL;
}

static void test_shared_parameter(void **unused)
{
    (void) unused;
    Tracked p = tracked(1, (double[]){ 2 });
    run_tasks(use_parameter, &p, 1);
    CHECK_GRAD(p, (double) SIZE * ROUNDS * THREADS * (THREADS + 1) / 2);
    FREE(p);
    assert_int_equal(ad_node_count(), 0);
}

/* -------------------------------------------------------------- one graph for all */

/* Whose gradient arrives where is left open; nothing is lost or used past its end. */
static void *traverse_shared(void *payload)
{
    const Task *t = payload;
    for (int round = 0; round < ROUNDS; ++round) {
        const Tracked *s = t->shared;
        Tracked extra = ad_var_mul(s[1], s[2]), more = ad_var_add(extra, s[0]);
        EXPECT(extra && more);
        switch ((t->number + (uint32_t) round) % 4) {
        case 0:
            EXPECT(go_back(s[3], ADFlagClearVertices));
            break;
        case 1: /* tracked gradients beside plain ones */
            EXPECT(go_back(more, ADFlagClearVertices | ADFlagCreateGraph));
            for (int k = 0; k < 4; ++k)
                ad_clear_grad(s[k]);
            ad_clear_grad(more);
            ad_clear_grad(extra);
            break;
        case 2:
            EXPECT(seed_one(s[0]) && ad_enqueue(ADModeForward, s[0]) &&
                   ad_traverse(ADModeForward, ADFlagClearVertices));
            break;
        default: /* it looks, and drops what others may be passing */
            EXPECT(ad_whos() && ad_graphviz());
            ad_clear_grad(s[1]);
            EXPECT(ad_enqueue(ADModeBackward, more));
            FREE(more);
            more = 0;
            EXPECT(ad_traverse(ADModeBackward, ADFlagDefault));
        }
        FREE(extra, more);
    }
    return NULL;
}

static void test_shared_graph(void **unused)
{
    (void) unused;
    double numbers[SIZE];
    for (int i = 0; i < SIZE; ++i)
        numbers[i] = i % 17;
    Tracked x = tracked(SIZE, numbers), a = ad_var_mul(x, x);
    uint32_t order = jit_var_counter(CPU, SIZE);
    Tracked b = ad_var_gather(a, order, 0, ReduceModePermute);
    Tracked c = ad_var_mul(b, a), sum = ad_var_reduce(c, ReduceOpMul);
    run_tasks(traverse_shared, (Tracked[]){ x, b, c, sum }, 4);
    Tracked all[] = { x, a, b, c, sum };
    for (size_t k = 0; k < COUNT_OF(all); ++k)
        ad_clear_grad(all[k]); /* tracked ones keep nodes alive */
    FREE(x, a, b, c, sum, order);
    assert_int_equal(ad_node_count(), 0);
}

/* Edges are dropped by the thread that passes them first. */
static void *traverse_once(void *payload)
{
    const Task *t = payload;
    EXPECT(go_back(t->shared[t->number % 2], ADFlagDefault));
    return NULL;
}

static void test_shared_edges(void **unused)
{
    (void) unused;
    for (int round = 0; round < ROUNDS; ++round) {
        Tracked x = tracked(3, (double[]){ 1, 2, 3 }), y = ad_var_inc_ref(x);
        for (int k = 0; k < 50; ++k) {
            Tracked next = ad_var_add(y, x);
            FREE(y);
            y = next;
        }
        Tracked z = ad_var_mul(y, y);
        FREE(y);
        run_tasks(traverse_once, (Tracked[]){ z, z }, 2);
        FREE(x, z);
        assert_int_equal(ad_node_count(), 0);
    }
}

/* ---------------------------------------------------------------- regions, scopes */

/* x^2 where x > 1, else 3 x, in a conditional; then a power by a loop. */
static Tracked branches(Tracked x)
{
    uint32_t one = jit_var_f64(CPU, 1), three = jit_var_f64(CPU, 3);
    uint32_t greater = jit_var_gt(ad_var_index(x), one);
    uint32_t cond = ad_var_cond_start("threads", greater);
    Tracked result = 0;
    bool ok = cond != 0;
    for (int side = 0; side < 2 && ok; ++side) {
        Tracked y = ad_var_mul(x, side ? three : x);
        ok = ad_var_cond_append(cond, 1, &y);
        FREE(y);
    }
    ok = ok && ad_var_cond_end(cond, &result);
    DROP(one, three, greater);
    return ok ? result : 0;
}

static void *use_regions(void *payload)
{
    const Task *t = payload;
    for (int round = 0; round < ROUNDS; ++round) {
        double value = t->number % 2 ? 4 : 0.5;
        Tracked x = own_input(SIZE, value), y = x ? branches(x) : 0;
        Tracked z = y ? ad_var_mul(y, t->shared[0]) : 0;
        EXPECT(z && go_back(z, ADFlagDefault));
        EXPECT(gradient_is(x, value > 1 ? 4 * value : 6));
        FREE(x, y, z);
    }
    return NULL;
}

static void test_regions(void **unused)
{
    (void) unused;
    Tracked p = tracked(1, (double[]){ 2 });
    run_tasks(use_regions, &p, 1);
    CHECK_GRAD(p, SIZE * ROUNDS * THREADS / 2 * (16 + 1.5));
    FREE(p);
    assert_int_equal(ad_node_count(), 0);
}

/* Scopes are a thread's own. */
static void *use_scopes(void *payload)
{
    const Task *t = payload;
    for (int round = 0; round < ROUNDS; ++round) {
        bool suspend = (t->number + (uint32_t) round) % 2;
        EXPECT(ad_scope_enter(suspend ? ADScopeSuspend : ADScopeIsolate, 0, NULL));
        Tracked y = ad_var_mul(t->shared[0], t->shared[0]);
        EXPECT((ad_var_node(y) == 0) == suspend);
        EXPECT(suspend || go_back(y, ADFlagDefault));
        EXPECT(ad_scope_leave(true));
        FREE(y);
    }
    return NULL;
}

static void test_scopes(void **unused)
{
    (void) unused;
    Tracked x = tracked(1, (double[]){ 3 });
    run_tasks(use_scopes, &x, 1);
    CHECK_GRAD(x, 6 * THREADS * ROUNDS / 2);
    FREE(x);
    assert_int_equal(ad_node_count(), 0);
}

/* ------------------------------------------------------------------ ends of threads */

/* It leaves open scopes, a gradient that was kept back, enqueued edges, a recording. */
static void *leave_open(void *payload)
{
    const Task *t = payload;
    Tracked y = ad_var_mul(t->shared[0], t->shared[0]);
    EXPECT(ad_scope_enter(ADScopeIsolate, 0, NULL));
    Tracked z = ad_var_mul(y, y);
    EXPECT(go_back(z, ADFlagDefault));
    EXPECT(ad_scope_enter(ADScopeSuspend, 1, &z));
    EXPECT(ad_scope_enter(ADScopeResume, 0, NULL));
    EXPECT(ad_enqueue(ADModeBackward, z));
    EXPECT(ad_whos());
    if (t->number % 2) {
        uint32_t condition = jit_var_bool(CPU, true);
        uint32_t all = jit_var_resize(condition, SIZE);
        EXPECT(ad_var_cond_start("left open", all));
        DROP(condition, all);
    }
    FREE(y, z);
    return NULL;
}

static void test_ends_of_threads(void **unused)
{
    (void) unused;
    Tracked x = tracked(1, (double[]){ 3 });
    for (int round = 0; round < 3; ++round)
        run_tasks(leave_open, &x, 1);
    CHECK_GRAD(x, 0);
    FREE(x);
    assert_int_equal(ad_node_count(), 0);
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_shared_parameter), TEST(test_shared_graph),
        TEST(test_shared_edges),     TEST(test_regions),
        TEST(test_scopes),           TEST(test_ends_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(all);
}
