/*
 * hostile_util.h -- the n-th fallible step fails, for every n: ownership and the driver
 *
 * Each scenario uses one part of the public interface and says whether all of it
 * worked.
 * For n = 1, 2, 3, ... it runs with the n-th fallible step failing: it may fail, and
 * must then have recorded an error, but a value that it gets must be right. After that
 * it runs undisturbed and must succeed; nothing may be left. That ends when a run takes
 * fewer than n steps.
 */
#ifndef HOSTILE_UTIL_H
#define HOSTILE_UTIL_H

#include "test_util.h"

#include <drjit-core/ad.h>

#include "base/alloc.h"
#include "device/buffer.h"
#include "device/device.h"

enum { N = 300, MOST_STEPS = 20000 };

/* ------------------------------------------------------------------- ownership */

/* Variables of the running scenario. */
static uint32_t owned[256];
static size_t owned_count;

static UNUSED uint32_t own(uint32_t id)
{
    if (id) {
        assert_true(owned_count < COUNT_OF(owned));
        owned[owned_count++] = id;
    }
    return id;
}

/* Tracked ones; what they have as gradients goes, or it could keep them alive. */
static uint64_t tracked[64];
static size_t tracked_count;

static UNUSED uint64_t track(uint64_t index)
{
    if (index) {
        assert_true(tracked_count < COUNT_OF(tracked));
        tracked[tracked_count++] = index;
    }
    return index;
}

static UNUSED void disown_all(void)
{
    for (size_t i = 0; i < tracked_count; i++)
        ad_clear_grad(tracked[i]);
    while (tracked_count)
        ad_var_dec_ref(tracked[--tracked_count]);
    while (owned_count)
        jit_var_dec_ref(owned[--owned_count]);
}

/* The entry could be read, and then it is right. */
static UNUSED bool entry_is(uint32_t id, size_t offset, uint32_t expected)
{
    uint32_t found;
    if (!jit_var_read(id, offset, &found))
        return false;
    if (found != expected)
        fail_msg("entry %zu of r%u is %u, expected %u", offset, id, found, expected);
    return true;
}

static UNUSED uint32_t counter(void)
{
    return own(jit_var_counter(CPU, N));
}
static UNUSED uint32_t number(uint32_t value)
{
    return own(jit_var_u32(CPU, value));
}
static UNUSED uint32_t zeros(size_t size)
{
    uint32_t zero = 0;
    return own(jit_var_literal(CPU, VarTypeUInt32, &zero, size, 1));
}

/* ---------------------------------------------------------------------- driver */

typedef struct Scenario {
    const char *name;
    bool (*run)(void);
    bool on_disk; /* with a disk cache, a new one for each n */
    bool threads; /* steps are taken by other threads, so their order varies */
} Scenario;

static char folder[] = "/tmp/jit-hostile-XXXXXX";

static UNUSED void use_disk(const Scenario *scenario, uint64_t n)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%llu", folder, (unsigned long long) n);
    setenv("DRJIT_CACHE_DIR", scenario->on_disk ? path : "", 1);
}

/* One n; true if there was a step to fail. */
static bool disturb(const Scenario *scenario, uint64_t n)
{
    use_disk(scenario, n);
    jit_error_clear();
    alloc_fail_at(n);
    bool begun = jit_init(CPU), ok = begun && scenario->run();
    uint64_t steps = alloc_steps();
    alloc_fail_at(0);
    if (!ok && !scenario->threads && jit_error() == JIT_OK)
        fail_msg("%s, n = %llu: failed without an error", scenario->name,
                 (unsigned long long) n);
    if (!ok && steps < n)
        fail_msg("%s, n = %llu: failed without a fault: %s", scenario->name,
                 (unsigned long long) n, jit_error_message());
    disown_all();
    if (ad_node_count())
        fail_msg("%s, n = %llu: %zu nodes are left by a failure", scenario->name,
                 (unsigned long long) n, ad_node_count());
    jit_set_flags(JitFlagDefault);
    jit_error_clear();
    if (!jit_init(CPU) || !scenario->run())
        fail_msg("%s, n = %llu: does not recover: %s", scenario->name,
                 (unsigned long long) n, jit_error_message());
    disown_all();
    uint32_t leaks = jit_shutdown(0);
    uint32_t live = buffer_stats(device_find(CPU, 0)).live;
    size_t nodes = ad_node_count();
    if (leaks || live || nodes)
        fail_msg("%s, n = %llu: %u variables, %u buffers and %zu nodes are left",
                 scenario->name, (unsigned long long) n, leaks, live, nodes);
    return steps >= n;
}

static void test_scenario(void **state)
{
    const Scenario *scenario = *state;
    uint64_t n = 1;
    while (n < MOST_STEPS && disturb(scenario, n))
        n +=
            engine_is("llvm") && n > 40 ? 5 : 1; /* a compile takes many steps and ms */
    assert_true(n > 1 && n < MOST_STEPS);
}

/* All of them, or the one that DRJIT_TEST_SCENARIO names. */
static UNUSED int run_scenarios(const char *group, const Scenario *scenarios,
                                size_t number)
{
    struct CMUnitTest list[64];
    memset(list, 0, sizeof list);
    assert_true(number <= COUNT_OF(list));
    size_t count = 0;
    const char *only = getenv("DRJIT_TEST_SCENARIO");
    for (size_t i = 0; i < number; ++i)
        if (!only || strcmp(only, scenarios[i].name) == 0)
            list[count++] =
                (struct CMUnitTest){ scenarios[i].name, test_scenario, NULL, NULL,
                                     (void *) (uintptr_t) &scenarios[i] };
    return _cmocka_run_group_tests(group, list, count, NULL, NULL);
}

static UNUSED bool begin_hostile(void)
{
    setenv("DRJIT_LOG_LEVEL", "error", 1);
    return mkdtemp(folder) != NULL;
}

static UNUSED bool end_hostile(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0;
}

#endif
