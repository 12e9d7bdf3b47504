/*
 * test_ad_scale.c -- large graphs of derivatives, in a thread with a small stack
 *
 * AD_TEST_NODES sets the length of chains: 10^5 unless it is given. Walks and frees are
 * iterative, costs linear, and a node takes little memory.
 */
#include "ad_util.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 256 * 1024, TOWER = 100 };

static size_t chain_length(void)
{
    const char *text = getenv("AD_TEST_NODES");
    return text ? strtoull(text, NULL, 10) : 100000;
}

static bool sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

/* Run where a recursion along a chain would end the process. */
static void in_small_stack(void *(*work)(void *), void *payload)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *problem = NULL;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, work, payload), 0);
    assert_int_equal(pthread_join(thread, &problem), 0);
    pthread_attr_destroy(&attributes);
    if (problem)
        fail_msg("%s: %s", (const char *) problem, jit_error_message());
}

static size_t resident(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*s %zu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return pages * (size_t) sysconf(_SC_PAGESIZE);
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static Tracked one_double(double value)
{
    uint32_t plain = jit_var_f64(CPU, value);
    Tracked x = plain ? ad_var_track(plain) : 0;
    jit_var_dec_ref(plain);
    return x;
}

static bool go(ADMode mode, Tracked x, uint32_t flags)
{
    uint32_t one = jit_var_f64(CPU, 1);
    bool ok =
        one && ad_set_grad(x, one) && ad_enqueue(mode, x) && ad_traverse(mode, flags);
    jit_var_dec_ref(one);
    return ok;
}

static bool gradient_is(Tracked x, double expected)
{
    Tracked g = ad_grad(x);
    double found = 0;
    bool ok = g && jit_var_read(ad_var_index(g), 0, &found);
    ad_var_dec_ref(g);
    return ok && found == expected;
}

/* ------------------------------------------------------------------ chains */

/* Of literals, so that there is nothing but the graph: there and back, both ways. */
static void *long_chain(void *payload)
{
    const size_t n = *(const size_t *) payload;
    Tracked x = one_double(3), y = ad_var_inc_ref(x);
    size_t before = resident();
    for (size_t i = 0; i < n && y; ++i) {
        Tracked next = ad_var_neg(y);
        ad_var_dec_ref(y);
        y = next;
    }
    size_t bytes = resident() - before;
    if (!y || ad_node_count() != n + 1)
        return "the chain is not there";
    /* 48 bytes for a node, as many for its edge; what is measured is coarse. */
    if (!sanitized() && n >= 100000 && bytes > 112 * n + (1 << 20)) {
        fprintf(stderr, "%zu bytes for %zu nodes\n", bytes, n);
        return "nodes take too much memory";
    }
    if (!go(ADModeForward, x, ADFlagClearVertices) || !gradient_is(y, n % 2 ? -1 : 1))
        return "forward";
    ad_clear_grad(y);
    if (!go(ADModeBackward, y, ADFlagClearVertices) || !gradient_is(x, n % 2 ? -1 : 1))
        return "reverse";
    ad_clear_grad(x);
    FREE(y); /* with all nodes, by the last reference */
    bool freed = ad_node_count() == 1;
    FREE(x);
    return freed ? NULL : "nodes are left";
}

static void test_long_chain(void **unused)
{
    (void) unused;
    size_t n = chain_length();
    in_small_stack(long_chain, &n);
}

/* With the edges dropped on the way, as backward() does. */
static void *dropped_chain(void *payload)
{
    const size_t n = *(const size_t *) payload;
    Tracked x = one_double(3), y = ad_var_inc_ref(x);
    for (size_t i = 0; i < n && y; ++i) {
        Tracked next = ad_var_neg(y);
        ad_var_dec_ref(y);
        y = next;
    }
    if (!y || !go(ADModeBackward, y, ADFlagDefault) || !gradient_is(x, n % 2 ? -1 : 1))
        return "reverse";
    bool freed = ad_node_count() == 2;
    FREE(x, y);
    return freed ? NULL : "nodes are left";
}

static void test_dropped_chain(void **unused)
{
    (void) unused;
    size_t n = chain_length();
    in_small_stack(dropped_chain, &n);
}

/* Of arrays: values, gradients and edges hold each other. Nothing is evaluated. */
static void *traced_chain(void *payload)
{
    const size_t n = *(const size_t *) payload;
    uint32_t counter = jit_var_counter(CPU, 100);
    uint32_t plain = jit_var_cast(counter, VarTypeFloat64, 0);
    Tracked x = ad_var_track(plain), y = ad_var_inc_ref(x);
    DROP(counter, plain);
    for (size_t i = 0; i < n && y; ++i) {
        Tracked next = ad_var_fma(y, y, x);
        ad_var_dec_ref(y);
        y = next;
    }
    if (!y || !go(ADModeBackward, y, ADFlagClearVertices))
        return "reverse";
    if (!go(ADModeBackward, y, ADFlagDefault))
        return "reverse, dropping edges";
    FREE(y);
    bool freed = ad_node_count() == 1;
    FREE(x);
    return freed ? NULL : "nodes are left";
}

static void test_traced_chain(void **unused)
{
    (void) unused;
    size_t n = 20000;
    in_small_stack(traced_chain, &n);
}

/* ------------------------------------------------------------------ towers */

/* Tangents that are tracked stay in the nodes of those before, so that as many nodes
 * hold each other as there are orders. Those of the sine at 0 are 1, 0, -1, 0, ... */
static void *tower(void *payload)
{
    (void) payload;
    Tracked x = one_double(0), level[TOWER + 1] = { ad_var_op(JitOpSin, &x) };
    const char *problem = NULL;
    for (int k = 0; k < TOWER && !problem; ++k) {
        uint32_t one = jit_var_f64(CPU, 1);
        bool ok = one && ad_set_grad(x, one) && ad_enqueue(ADModeBackward, level[k]) &&
                  ad_traverse(ADModeForward, ADFlagCreateGraph | ADFlagClearVertices);
        jit_var_dec_ref(one);
        level[k + 1] = ok ? ad_grad(level[k]) : 0;
        static const double expected[] = { 1, 0, -1, 0 };
        double value;
        if (!level[k + 1] || !ad_var_node(level[k + 1]) ||
            !jit_var_read(ad_var_index(level[k + 1]), 0, &value) ||
            value != expected[k % 4])
            problem = "a derivative of the sine is wrong";
    }
    FREE(x);
    for (int k = TOWER; k >= 0; --k) /* level 0, the first in the chain, at last */
        ad_var_dec_ref(level[k]);
    return (void *) (problem ? problem : ad_node_count() ? "nodes are left" : NULL);
}

static void test_tower(void **unused)
{
    (void) unused;
    in_small_stack(tower, NULL);
}

/* ------------------------------------------------------------------ growth */

/* One parameter in n operations: it has n edges, and gets n gradients. */
static double seconds_of_parameter(size_t n)
{
    double begin = processor_seconds();
    Tracked p = one_double(2), sum = jit_var_f64(CPU, 0);
    for (size_t i = 0; i < n && sum; ++i) {
        Tracked next = ad_var_add(sum, p);
        ad_var_dec_ref(sum);
        sum = next;
    }
    assert_true(sum && go(ADModeBackward, sum, ADFlagDefault));
    assert_true(gradient_is(p, (double) n));
    FREE(p, sum);
    return processor_seconds() - begin;
}

/* The same, in n results that nobody uses but a traversal. */
static double seconds_of_results(size_t n)
{
    double begin = processor_seconds();
    Tracked p = one_double(2), *results = malloc(n * sizeof(Tracked));
    uint32_t one = jit_var_f64(CPU, 1);
    for (size_t i = 0; i < n; ++i) {
        results[i] = ad_var_neg(p);
        OK(results[i] && ad_set_grad(results[i], one));
        OK(ad_enqueue(ADModeBackward, results[i]));
    }
    OK(ad_traverse(ADModeBackward, ADFlagClearVertices));
    assert_true(gradient_is(p, -(double) n));
    for (size_t i = n; i-- > 0;) /* from the middle of p's list, too */
        ad_var_dec_ref(results[i ^ 1]);
    FREE(p, one);
    free(results);
    return processor_seconds() - begin;
}

static void check_growth(double (*seconds)(size_t), size_t n)
{
    double small = 1e9, large = 1e9;
    for (int i = 0; i < 3; ++i) {
        small = fmin(small, seconds(n));
        large = fmin(large, seconds(8 * n));
    }
    if (large > 8 * 4 * small) /* quadratic: 64 times */
        fail_msg("%zu uses take %g s, 8 times as many %g s", n, small, large);
    assert_int_equal(ad_node_count(), 0);
}

static void test_growth(void **unused)
{
    (void) unused;
    const size_t most = chain_length(), n = (most < 2000000 ? most : 2000000) / 16;
    check_growth(seconds_of_parameter, n / 8 * 8);
    check_growth(seconds_of_results, n / 8 * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_long_chain), TEST(test_dropped_chain), TEST(test_traced_chain),
        TEST(test_tower),      TEST(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
