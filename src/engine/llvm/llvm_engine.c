/*
 * llvm_engine.c -- the engine struct, and what a target means to libLLVM
 */
#include "engine/llvm/llvm_engine.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/llvm/llvm_compile.h"
#include "engine/llvm/llvm_ir.h"
#include "engine/llvm/llvm_load.h"
#include "engine/llvm/llvm_object.h"
#include "os/clock.h"
#include "os/stack.h"

/* Raised whenever equal Programs get other code than before. */
enum { ENGINE_REVISION = 7 };

/* What a compile costs before any was measured, and what it costs beside its
 * operations. */
enum { COMPILE_NS_OP = 20000, COMPILE_NS_FIXED = 900000 };

/* Bytes of stack that every thread is trusted to have left; bytes that others need on
 * that of a kernel: what it calls, and handlers of signals. */
enum { STACK_TRUSTED = 16 << 10, STACK_RESERVE = 128 << 10 };

typedef void (*KernelFunction)(uint32_t begin, uint32_t end, uint32_t worker,
                               const uint64_t *args, void *scratch);

/* What compile() and load() make. */
typedef struct EngineCode {
    CpuCode cpu;
    void *bytes; /* the ELF object, for save() */
    size_t size;
    LlvmObject object;
    KernelFunction function;
} EngineCode;

/* Nanoseconds an operation takes to compile, a running average. */
static _Atomic uint64_t compile_ns_op = COMPILE_NS_OP;

/* ---- target */

static uint32_t host_width(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq")
               ? 16
           : __builtin_cpu_supports("avx2") ? 8
                                            : 4;
#else
    return 4;
#endif
}

static const char *host_cpu(void)
{
    const LlvmLibrary *library = llvm_load();
    return library ? library->host_cpu : "generic";
}

static const char *host_features(void)
{
    const LlvmLibrary *library = llvm_load();
    return library ? library->host_features : "";
}

/* Features of the host go with the host's CPU name only. */
const char *llvm_target_cpu(const Target *target)
{
    return target && target->cpu ? target->cpu : host_cpu();
}

const char *llvm_target_features(const Target *target)
{
    return target && target->features ? target->features
           : target && target->cpu    ? ""
                                      : host_features();
}

uint32_t llvm_vector_width(const Target *target)
{
    return target && target->width ? target->width : host_width();
}

static LlvmShape shape_of(const Target *target)
{
    LlvmShape shape = { 0 };
    shape.width = llvm_vector_width(target);
    shape.vector_memory =
        shape.width >= 8 && strstr(llvm_target_features(target), "+avx512f");
#if defined(__aarch64__)
    /* LLVM makes FMINNM of 'x < 0 ? x : 0', which is -0 for x = -0. */
    shape.select_bits = true;
#endif
    return shape;
}

bool llvm_version(int *major, int *minor, int *patch)
{
    const LlvmLibrary *library = llvm_load();
    TRY(library, false);
    *major = library->major;
    *minor = library->minor;
    *patch = library->patch;
    return true;
}

/* ---- engine */

static bool available(void)
{
#if defined(__x86_64__)
    /* Without FMA and F16C, fused multiply-add and half precision would be calls to
     * libraries. Every CPU with AVX2 has F16C. */
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) {
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "the llvm engine needs a CPU with AVX2, FMA and F16C");
    }
#elif !defined(__aarch64__)
    return error_set(JIT_ERROR_UNSUPPORTED,
                     "the llvm engine runs on x86-64 and AArch64 only");
#endif
    return llvm_load() != NULL;
}

static uint64_t fingerprint(const Target *target)
{
    const LlvmLibrary *library = llvm_load();
    TRY(library, 0);
    const char *cpu = llvm_target_cpu(target), *features = llvm_target_features(target);
    uint32_t numbers[5] = { (uint32_t) library->major, (uint32_t) library->minor,
                            (uint32_t) library->patch, shape_of(target).width,
                            ENGINE_REVISION };
    uint64_t result = hash_64(numbers, sizeof numbers, 1);
    result = hash_64(cpu, strlen(cpu), result);
    return hash_64(features, strlen(features), result);
}

static void launch(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                   uint32_t end, uint32_t worker, uint32_t requests, void *scratch)
{
    const EngineCode *code = (const EngineCode *) (const void *) cpu;
    if (code->object.number) /* with loops it has a place; local arrays do not mind */
        *(Interrupt *) scratch = (Interrupt) { &interrupt_count, requests };
    if (begin < end)
        code->function(begin, end, worker, args, scratch);
}

/* A kernel may need more stack than the thread that runs it has. Then it runs on one
 * that is part of its scratch memory, behind what its code uses. */
static size_t own_stack(const LlvmObject *object)
{
    return object->stack <= STACK_TRUSTED
               ? 0
               : ((size_t) object->stack + STACK_RESERVE) / 64 * 64;
}

static size_t stack_offset(const LlvmObject *object)
{
    return ((size_t) object->number + 63) / 64 * 64;
}

typedef struct Launch {
    const CpuCode *cpu;
    const uint64_t *args;
    uint32_t begin, end, worker, requests;
    void *scratch;
} Launch;

static void launch_there(void *data)
{
    const Launch *l = data;
    launch(l->cpu, l->args, l->begin, l->end, l->worker, l->requests, l->scratch);
}

static void launch_deep(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                        uint32_t end, uint32_t worker, uint32_t requests,
                        void *scratch)
{
    const LlvmObject *object = &((const EngineCode *) (const void *) cpu)->object;
    Launch l = { cpu, args, begin, end, worker, requests, scratch };
    stack_switch((char *) scratch + stack_offset(object), own_stack(object),
                 launch_there, &l);
}

static void release(Code *base)
{
    EngineCode *code = (EngineCode *) (void *) base;
    llvm_object_unmap(&code->object);
    alloc_free(code->bytes);
    alloc_free(code);
}

static Code *load_code(const void *data, size_t size)
{
    EngineCode *code = alloc_zero(1, sizeof *code);
    TRY(code, NULL);
    code->bytes = alloc_get(size);
    if (!code->bytes || !llvm_object_map(data, size, "drjit_", &code->object)) {
        alloc_free(code->bytes);
        alloc_free(code);
        return NULL;
    }
    memcpy(code->bytes, data, size);
    code->size = size;
    memcpy(&code->function, &code->object.function, sizeof code->function);
    size_t stack = own_stack(&code->object);
    code->cpu = (CpuCode){ .code = { 1, release }, .run = stack ? launch_deep : launch,
                           .scratch = stack ? stack_offset(&code->object) + stack
                                            : (size_t) code->object.number,
                           .lane_ps = 20 };
    return &code->cpu.code;
}

static uint32_t count_insts(const Program *program)
{
    uint32_t count = program->inst_count;
    for (uint32_t i = 0; i < program->callable_count; i++) {
        count += program->callables[i]->inst_count;
    }
    return count;
}

static void note_compile_time(uint64_t elapsed, uint32_t ops)
{
    if (ops < 64 || elapsed < COMPILE_NS_FIXED) {
        return;
    }
    uint64_t now = (elapsed - COMPILE_NS_FIXED) / ops;
    uint64_t old = atomic_load_explicit(&compile_ns_op, memory_order_relaxed);
    atomic_store_explicit(&compile_ns_op, (3 * old + now) / 4, memory_order_relaxed);
}

static Code *compile(const Program *program, const CodeSpec *spec)
{
    const Target *target = spec->target;
    TRY(available(), NULL);
    Text text = { 0 };
    Code *code = NULL;
    void *object = NULL;
    size_t size = 0;
    uint64_t start = clock_ns();
    if (llvm_ir_write(program, spec->hash, shape_of(target), &text) &&
        llvm_compile(text.data, text.size, llvm_target_cpu(target),
                     llvm_target_features(target), &object, &size)) {
        code = load_code(object, size);
        note_compile_time(clock_ns() - start, count_insts(program));
    }
    alloc_free(object);
    text_free(&text);
    return code;
}

static bool save(const Code *base, const void **data, size_t *size)
{
    const EngineCode *code = (const EngineCode *) (const void *) base;
    *data = code->bytes;
    *size = code->size;
    return true;
}

static size_t code_size(const Code *base)
{
    return ((const EngineCode *) (const void *) base)->object.size;
}

static bool write_ir(const Program *program, const CodeSpec *spec, Text *out)
{
    return llvm_ir_write(program, spec->hash, shape_of(spec->target), out);
}

static uint64_t compile_estimate(const Program *program)
{
    return COMPILE_NS_FIXED +
           count_insts(program) *
               atomic_load_explicit(&compile_ns_op, memory_order_relaxed);
}

const Engine llvm_engine = { .name = "llvm",
                             .code = CODE_CPU,
                             .available = available,
                             .fingerprint = fingerprint,
                             .supports = llvm_ir_supports,
                             .compile = compile,
                             .save = save,
                             .load = load_code,
                             .code_size = code_size,
                             .write_ir = write_ir,
                             .compile_estimate = compile_estimate };
