/*
 * api_cpu.c -- threads, code generation target, block sizes
 */
#include "api/api.h"
#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_launch.h"
#include "device/cpu/pool.h"
#include "engine/llvm/llvm_engine.h"
#include "engine/target.h"
#include "trace/eval/evaluate.h"

bool jit_llvm_version(int *major, int *minor, int *patch)
{
    int ignored;
    return llvm_version(major ? major : &ignored, minor ? minor : &ignored,
                        patch ? patch : &ignored);
}

bool jit_llvm_set_thread_count(uint32_t count)
{
    if (count > 4096)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_llvm_set_thread_count(): count is %u, "
                         "expected at most 4096",
                         count);
    ThreadState *ts = api_enter();
    TRY(ts, false);
    /* Queued scatters into private copies are laid out for the present number of
     * threads. */
    bool ok = evaluate_effects(ts);
    api_leave();
    return pool_set_size(count) && ok;
}

uint32_t jit_llvm_thread_count(void) { return pool_size(); }

bool jit_llvm_set_target(const char *cpu, const char *features, uint32_t width)
{
    return target_set(cpu_device(), cpu, features, width);
}

const char *jit_llvm_target_cpu(void)
{
    return llvm_target_cpu(target_get(cpu_device()));
}

const char *jit_llvm_target_features(void)
{
    return llvm_target_features(target_get(cpu_device()));
}

uint32_t jit_llvm_vector_width(void)
{
    return llvm_vector_width(target_get(cpu_device()));
}

bool jit_llvm_set_block_size(uint32_t size)
{
    if (size < 64 || size % 64)
        return error_set(JIT_ERROR_ARGUMENT, "jit_llvm_set_block_size(): size is %u, "
                         "expected a positive multiple of 64", size);
    cpu_launch_set_block_size(size);
    return true;
}

uint32_t jit_llvm_block_size(void) { return cpu_launch_block_size(); }

void jit_set_expand_threshold(size_t entries)
{
    state_lock();
    state.expand_threshold = entries;
    state_unlock();
}

size_t jit_expand_threshold(void)
{
    state_lock();
    size_t result = state.expand_threshold;
    state_unlock();
    return result;
}
