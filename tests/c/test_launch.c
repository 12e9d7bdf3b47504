/*
 * test_launch.c -- how launches are cut into blocks (cpu_launch.c)
 */
#include "test_util.h"

#include "device/cpu/cpu_job.h"
#include "device/stream.h"
#include "region_util.h"

enum { LANES = 4000, THREADS = 16 };

static uint32_t last_blocks; /* of the last launch */

static void note_blocks(void *unused, const Command *command,
                        const CommandResult *result)
{
    (void) unused;
    (void) result;
    if (command->kind == COMMAND_LAUNCH)
        last_blocks = ((const CpuJob *) command->job)->blocks;
}

static void watch(void *unused, const Command *command)
{
    (void) unused;
    ((Command *) (uintptr_t) command)->done = note_blocks;
}

static uint32_t blocks_of(uint32_t id)
{
    OK(jit_sync_thread());
    Stream *stream = stream_self(device_find(CPU, 0));
    stream_set_tap(stream, watch, NULL);
    last_blocks = 0;
    OK(jit_var_eval(id) && jit_sync_thread());
    stream_set_tap(stream, NULL, NULL);
    return last_blocks;
}

static uint32_t body_steps; /* fused operations of an iteration */

static void body_step(uint32_t *state)
{
    uint32_t scale = jit_var_f32(CPU, 0.999f);
    for (uint32_t i = 0; i < body_steps; ++i)
        advance(&state[1], jit_var_fma(state[1], scale, scale));
    jit_var_dec_ref(scale);
    add_u32(&state[0], 1);
}

static uint32_t ten_turns(const uint32_t *state)
{
    uint32_t limit = u32(10), more = jit_var_lt(state[0], limit);
    jit_var_dec_ref(limit);
    return more;
}

static uint32_t looped(uint32_t steps)
{
    uint32_t lane = counter(LANES);
    uint32_t state[] = { u32(0), jit_var_cast(lane, VarTypeFloat32, 0) };
    body_steps = steps;
    run_loop("steps", 2, state, ten_turns, body_step);
    DROP(lane, state[0]);
    return state[1];
}

/* However long an iteration is expected to take: there may be many. */
static void test_loops(void **unused)
{
    (void) unused;
    static const uint32_t steps[] = { 1, 20, 200, 600 };
    OK(jit_llvm_set_thread_count(THREADS));
    for (uint32_t i = 0; i < COUNT_OF(steps); ++i) {
        uint32_t y = looped(steps[i]);
        /* The interpreter's blocks have 256 lanes at least. */
        assert_true(blocks_of(y) >= THREADS - 1);
        jit_var_dec_ref(y);
    }
}

/* Few lanes with little to do are not shared. */
static void test_small(void **unused)
{
    (void) unused;
    OK(jit_llvm_set_thread_count(THREADS));
    uint32_t lane = counter(LANES / 10), y = jit_var_mul(lane, lane);
    assert_int_equal(blocks_of(y), 1);
    DROP(lane, y);
}

static int run(void)
{
    const struct CMUnitTest tests[] = { TEST(test_loops), TEST(test_small) };
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}

int main(void) { return run_engines(run); }
