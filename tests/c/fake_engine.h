/*
 * fake_engine.h -- two engines that do what a test wants, and Programs for them
 *
 * "fast" and "slow" evaluate Programs lane by lane with a few lines of their own. They
 * count what is asked of them, fail on demand and can be held up at a gate. The file
 * that includes this one defines engine_list through it, in place of the library's.
 */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "device/buffer.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_code.h"
#include "device/cpu/pool.h"
#include "device/stream.h"
#include "engine/interp/interp.h"
#include "engine/llvm/llvm_engine.h"
#include "ir/program_identity.h"
#include "kernel/cache.h"
#include "kernel/disk.h"
#include "kernel/launch.h"
#include "kernel/tier.h"

/* -------------------------------------------------------------------- gates */

/* Threads wait at a closed gate; others wait until somebody does. */
typedef struct Gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;
    uint32_t waiting;
} Gate;

#define GATE                                                          \
    {                                                                 \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 \
    }

static inline void gate_pass(Gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->waiting++;
    pthread_cond_broadcast(&gate->changed);
    while (gate->closed)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->waiting--;
    pthread_mutex_unlock(&gate->lock);
}

static inline void gate_set(Gate *gate, bool closed)
{
    pthread_mutex_lock(&gate->lock);
    gate->closed = closed;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static inline void gate_await(Gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (!gate->waiting)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

/* ------------------------------------------------------------- fake engines */

typedef struct FakeCode {
    CpuCode cpu;
    Program *program;
} FakeCode;

static inline FakeCode *fake_code(const void *code)
{
    return (FakeCode *) (uintptr_t) code;
}

typedef struct Fake {
    _Atomic uint32_t compiles, launches, loads, live;
    _Atomic int fails;    /* JitError that compile() reports, 0 = none */
    _Atomic bool missing; /* the engine is not available */
    _Atomic uint64_t estimate;
    _Atomic size_t scratch; /* of code made from now on */
    Gate compile_gate, launch_gate;
    void (*on_available)(void); /* called when the engine is asked for */
} Fake;

static Fake slow_state = { .compile_gate = GATE, .launch_gate = GATE };
static Fake fast_state = { .compile_gate = GATE, .launch_gate = GATE };

static inline uint32_t fake_lane(const Program *p, const uint64_t *args, uint32_t lane,
                                 uint32_t *values)
{
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        const uint32_t *a = program_args(p, inst);
        switch (inst->op) {
        case OP_LITERAL:
            values[i] = (uint32_t) p->literals[inst->aux];
            break;
        case OP_PARAM:
            values[i] = (uint32_t) args[inst->aux];
            break;
        case OP_COUNTER:
            values[i] = lane;
            break;
        case OP_LOAD:
            values[i] = ((const uint32_t *) (uintptr_t) args[inst->aux])[lane];
            break;
        case OP_ADD:
            values[i] = values[a[0]] + values[a[1]];
            break;
        case OP_MUL:
            values[i] = values[a[0]] * values[a[1]];
            break;
        case OP_CHECK: {
            CheckReport *report =
                (CheckReport *) (uintptr_t) args[p->param_count - 1] + inst->aux;
            values[i] = values[a[0]] && values[a[1]] < report->bound;
            if (values[a[0]] && !values[i]) {
                __atomic_fetch_add(&report->count, 1, __ATOMIC_RELAXED);
                __atomic_store_n(&report->index, values[a[1]], __ATOMIC_RELAXED);
            }
            break;
        }
        case OP_STORE:
            ((uint32_t *) (uintptr_t) args[inst->aux])[lane] = values[a[0]];
            break;
        default:
            return i;
        }
    }
    return p->inst_count;
}

static inline Code *fake_new(Fake *fake, CpuCode cpu, const Program *program)
{
    FakeCode *code = alloc_zero(1, sizeof(FakeCode));
    TRY(code, NULL);
    code->cpu = cpu;
    code->program = program_copy(program);
    if (!code->program) {
        alloc_free(code);
        return NULL;
    }
    code->cpu.scratch = fake->scratch;
    fake->live++;
    return &code->cpu.code;
}

static inline Code *fake_compile(Fake *fake, CpuCode cpu, const Program *program)
{
    fake->compiles++;
    gate_pass(&fake->compile_gate);
    if (fake->fails) {
        error_set((JitError) fake->fails, "fake engine: told to fail");
        return NULL;
    }
    return fake_new(fake, cpu, program);
}

static inline void fake_launch(Fake *fake, const CpuCode *cpu, const uint64_t *args,
                               uint32_t begin, uint32_t end, uint32_t worker,
                               void *scratch)
{
    const FakeCode *code = fake_code(cpu);
    fake->launches++;
    gate_pass(&fake->launch_gate);
    assert_true(worker < pool_worker_bound());
    assert_int_equal(begin % 64, 0);
    if (cpu->scratch) {
        assert_int_equal((uintptr_t) scratch % 64, 0);
        memset(scratch, (int) worker, cpu->scratch);
    }
    uint32_t values[64];
    assert_true(code->program->inst_count <= 64);
    for (uint32_t lane = begin; lane < end; ++lane)
        fake_lane(code->program, args, lane, values);
}

static inline void fake_free(Fake *fake, Code *code)
{
    fake->live--;
    program_free(fake_code(code)->program);
    alloc_free(code);
}

static inline bool fake_available(const Fake *fake)
{
    if (fake->on_available)
        fake->on_available();
    return !fake->missing ||
           error_set(JIT_ERROR_SYSTEM, "fake engine: there is no library");
}

static inline uint64_t fake_fingerprint(const Target *target)
{
    (void) target;
    return 42;
}
static inline size_t fake_size(const Code *code)
{
    return sizeof(*fake_code(code));
}

static inline bool slow_available(void)
{
    return fake_available(&slow_state);
}
static inline bool slow_supports(Op op, VarType type, VarType operand)
{
    (void) type;
    (void) operand;
    return op != OP_STMT && op != OP_SCATTER;
}
static inline void slow_launch(const CpuCode *code, const uint64_t *args,
                               uint32_t begin, uint32_t end, uint32_t worker,
                               uint32_t requests, void *scratch)
{
    (void) requests;
    fake_launch(&slow_state, code, args, begin, end, worker, scratch);
}
static inline void slow_free(Code *code)
{
    fake_free(&slow_state, code);
}
static const CpuCode slow_code = { .code = { 1, slow_free }, .run = slow_launch,
                                   .lane_ps = 50 };
static inline Code *slow_compile(const Program *program, const CodeSpec *spec)
{
    (void) spec;
    return fake_compile(&slow_state, slow_code, program);
}
static inline uint64_t slow_estimate(const Program *program)
{
    (void) program;
    return 1000;
}

static const Engine slow = { .name = "slow",
                             .available = slow_available,
                             .fingerprint = fake_fingerprint,
                             .supports = slow_supports,
                             .compile = slow_compile,
                             .code_size = fake_size,
                             .compile_estimate = slow_estimate };

static inline bool fast_available(void)
{
    return fake_available(&fast_state);
}
static inline bool fast_supports(Op op, VarType type, VarType operand)
{
    (void) type;
    (void) operand;
    return op != OP_SCATTER;
}
static inline void fast_launch(const CpuCode *code, const uint64_t *args,
                               uint32_t begin, uint32_t end, uint32_t worker,
                               uint32_t requests, void *scratch)
{
    (void) requests;
    fake_launch(&fast_state, code, args, begin, end, worker, scratch);
}
static inline void fast_free(Code *code)
{
    fake_free(&fast_state, code);
}
static const CpuCode fast_code = { .code = { 1, fast_free }, .run = fast_launch,
                                   .lane_ps = 50 };
static inline Code *fast_compile(const Program *program, const CodeSpec *spec)
{
    (void) spec;
    return fake_compile(&fast_state, fast_code, program);
}
static inline uint64_t fast_estimate(const Program *program)
{
    (void) program;
    return fast_state.estimate;
}

/* What is saved is the first of three literals: enough to tell whose code it is. */
static inline bool fast_save(const Code *code, const void **data, size_t *size)
{
    *data = fake_code(code)->program->insts;
    *size = fake_code(code)->program->inst_count * sizeof(Inst);
    return true;
}
static inline Code *fast_load(const void *data, size_t size)
{
    Program program = { .insts = (Inst *) data,
                        .inst_count = (uint32_t) (size / sizeof(Inst)) };
    uint64_t literals[8] = { 3, 5 };
    Param params[1] = { { PARAM_OUTPUT, VarTypeUInt32, 0, 0 } };
    program.literals = literals;
    program.literal_count = 2;
    program.params = params;
    program.param_count = 1;
    fast_state.loads++;
    return fake_new(&fast_state, fast_code, &program);
}

static const Engine fast = { .name = "fast",
                             .available = fast_available,
                             .fingerprint = fake_fingerprint,
                             .supports = fast_supports,
                             .compile = fast_compile,
                             .code_size = fake_size,
                             .compile_estimate = fast_estimate,
                             .save = fast_save,
                             .load = fast_load };

/* The only one for code of its kind; of OTHER_CODE + 1 there is none. */
enum { OTHER_CODE = CODE_CPU + 1 };
static const Engine alone = { .name = "alone",
                              .code = (CodeKind) OTHER_CODE,
                              .instant = true,
                              .available = fast_available,
                              .fingerprint = fake_fingerprint,
                              .supports = slow_supports,
                              .compile = fast_compile,
                              .code_size = fake_size,
                              .compile_estimate = fast_estimate };

static const Engine *const fake_list[] = { &fast, &llvm_engine, &interp_engine, &slow,
                                           &alone, NULL };
const Engine *const *const engine_list = fake_list;

const Engine *engine_find(const char *name)
{
    for (uint32_t i = 0; engine_list[i]; ++i)
        if (strcmp(engine_list[i]->name, name) == 0)
            return engine_list[i];
    return NULL;
}

/* ----------------------------------------------------------------- programs */

/* out[lane] = lane * a + b */
static inline Program *affine(uint32_t a, uint32_t b)
{
    Program *p = alloc_zero(1, sizeof(Program));
    uint32_t counter = program_add(p, OP_COUNTER, VarTypeUInt32, 0, 0, NULL);
    uint32_t pair[2] = { counter, program_add_literal(p, VarTypeUInt32, a) };
    pair[0] = program_add(p, OP_MUL, VarTypeUInt32, 0, 2, pair);
    pair[1] = program_add_literal(p, VarTypeUInt32, b);
    pair[0] = program_add(p, OP_ADD, VarTypeUInt32, 0, 2, pair);
    uint32_t slot = program_add_param(p, PARAM_OUTPUT, VarTypeUInt32);
    program_add(p, OP_STORE, VarTypeVoid, slot, 1, pair);
    assert_true(program_verify(p));
    return p;
}

/* out[lane] = lane + 1 + 1 + ... */
static inline Program *chain(uint32_t length)
{
    Program *p = alloc_zero(1, sizeof(Program));
    uint32_t pair[2];
    pair[0] = program_add(p, OP_COUNTER, VarTypeUInt32, 0, 0, NULL);
    pair[1] = program_add_literal(p, VarTypeUInt32, 1);
    for (uint32_t i = 0; i < length; ++i)
        pair[0] = program_add(p, OP_ADD, VarTypeUInt32, 0, 2, pair);
    uint32_t slot = program_add_param(p, PARAM_OUTPUT, VarTypeUInt32);
    program_add(p, OP_STORE, VarTypeVoid, slot, 1, pair);
    return p;
}

/* out[lane] = lane < bound, checked. */
static inline Program *checked(void)
{
    Program *p = alloc_zero(1, sizeof(Program));
    uint32_t pair[2];
    pair[1] = program_add(p, OP_COUNTER, VarTypeUInt32, 0, 0, NULL);
    pair[0] = program_add_literal(p, VarTypeBool, 1);
    pair[0] = program_add(p, OP_CHECK, VarTypeBool, 0, 2, pair);
    p->check_count = 1;
    uint32_t a = program_add_literal(p, VarTypeUInt32, 7);
    uint32_t slot = program_add_param(p, PARAM_OUTPUT, VarTypeUInt32);
    program_add(p, OP_STORE, VarTypeVoid, slot, 1, &a);
    program_add_param(p, PARAM_REPORT, VarTypeVoid);
    return p;
}

static inline Program *statement(const char *text)
{
    Program *p = alloc_zero(1, sizeof(Program));
    uint32_t counter = program_add(p, OP_COUNTER, VarTypeUInt32, 0, 0, NULL);
    uint32_t stmt = program_add_stmt(p, text);
    uint32_t value = program_add(p, OP_STMT, VarTypeUInt32, stmt, 1, &counter);
    uint32_t slot = program_add_param(p, PARAM_OUTPUT, VarTypeUInt32);
    program_add(p, OP_STORE, VarTypeVoid, slot, 1, &value);
    return p;
}

static inline Kernel *get(const Program *p)
{
    Device *device = cpu_device();
    ProgramKey key = cache_key(p, device, NULL);
    Kernel *kernel = cache_find(p, &key);
    return kernel ? kernel : cache_get(p, &key, 1, NULL, NULL);
}

/* Submit and, if the thread is to run it itself, run. */
static inline void submit(Command *command)
{
    assert_non_null(command);
    assert_true(stream_submit(stream_self(cpu_device()), command));
    stream_run();
}

/* Run a Program with one output. */
static inline Buffer *launch(Kernel *kernel, const Program *p, uint32_t size)
{
    Buffer *out = buffer_get(cpu_device(), (size_t) size * 4);
    assert_non_null(out);
    uint64_t args[1] = { 0 };
    const LaunchArray array = { out, 0, SLOT_WRITE };
    submit(launch_create(&(LaunchSpec){ .device = cpu_device(),
                                        .kernel = kernel,
                                        .program = p,
                                        .size = size,
                                        .args = args,
                                        .arrays = &array,
                                        .array_count = 1 }));
    return out;
}

static inline void check_affine(const Buffer *out, uint32_t size, uint32_t a,
                                uint32_t b)
{
    assert_true(stream_sync_buffer(out));
    const uint32_t *values = buffer_host(out);
    for (uint32_t i = 0; i < size; ++i)
        if (values[i] != i * a + b)
            fail_msg("entry %u is %u, expected %u", i, values[i], i * a + b);
}

static inline void run_affine(uint32_t a, uint32_t b, uint32_t size)
{
    Program *p = affine(a, b);
    Kernel *kernel = get(p);
    assert_non_null(kernel);
    if (tier_is_due(kernel, size, launch_predict(kernel, size)))
        cache_upgrade(kernel);
    Buffer *out = launch(kernel, p, size);
    cache_release(kernel);
    check_affine(out, size, a, b);
    buffer_release(out);
    program_free(p);
}

/* ------------------------------------------------------------------ logging */

static char logged[8192];
static pthread_mutex_t logged_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void keep_log(LogLevel level, const char *message)
{
    (void) level;
    pthread_mutex_lock(&logged_lock);
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof(logged) - used, "%s\n", message);
    pthread_mutex_unlock(&logged_lock);
}

static inline uint32_t occurrences(const char *part)
{
    uint32_t count = 0;
    pthread_mutex_lock(&logged_lock);
    for (const char *s = logged; (s = strstr(s, part)); s += strlen(part))
        ++count;
    pthread_mutex_unlock(&logged_lock);
    return count;
}

/* -------------------------------------------------------------------- setup */

static inline void reset_fake(Fake *fake)
{
    fake->compiles = fake->launches = fake->loads = 0;
    fake->fails = 0;
    fake->missing = false;
    fake->estimate = 0;
    fake->scratch = 0;
    gate_set(&fake->compile_gate, false);
    gate_set(&fake->launch_gate, false);
}

/* Forced to "slow", unless a test says otherwise. */
static inline void choose(const char *engine)
{
    cache_shutdown();
    if (engine)
        setenv("DRJIT_CPU_ENGINE", engine, 1);
    else
        unsetenv("DRJIT_CPU_ENGINE");
}

static inline int setup(void **state)
{
    (void) state;
    reset_fake(&slow_state);
    reset_fake(&fast_state);
    unsetenv("DRJIT_KERNEL_CACHE_SIZE");
    setenv("DRJIT_CACHE_DIR", "", 1);
    disk_shutdown();
    choose("slow");
    error_clear();
    logged[0] = 0;
    log_set_callback(LogLevelInfo, keep_log);
    log_set_stderr_level(LogLevelNone);
    return 0;
}

static inline int teardown(void **state)
{
    (void) state;
    stream_sync_all();
    cache_shutdown();
    log_set_callback(LogLevelNone, NULL);
    assert_int_equal(slow_state.live, 0);
    assert_int_equal(fast_state.live, 0);
    assert_int_equal(buffer_stats(cpu_device()).live, 0);
    return 0;
}

#endif
