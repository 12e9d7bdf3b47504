/*
 * llvm.c -- the engine struct and the target
 *
 * The target (CPU, features, packet width) is process-wide state under a lock; a
 * compile works on a copy of it, so it may change at any time. Compiled code remembers
 * nothing of it: the fingerprint keeps kernels of different targets apart.
 */
#include "engine/llvm/llvm_engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cpu/cpu_code.h"
#include "engine/llvm/llvm_compile.h"
#include "engine/llvm/llvm_ir.h"
#include "engine/llvm/llvm_load.h"
#include "engine/llvm/llvm_object.h"

/* Raised whenever equal Programs get other code than before. */
enum { ENGINE_REVISION = 4 };

/* What a compile costs before any was measured, and what it costs beside its
 * operations. */
enum { COMPILE_NS_OP = 20000, COMPILE_NS_FIXED = 900000 };

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

static pthread_mutex_t target_lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by target_lock; NULL and 0 stand for the host. */
static struct {
    char *cpu, *features;
    uint32_t width;
} chosen;

/* Nanoseconds an operation takes to compile, a running average. */
static _Atomic uint64_t compile_ns_op = COMPILE_NS_OP;


/* A copy of the target. */
typedef struct Target {
    char *cpu, *features;
    LlvmShape shape;
} Target;

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

/* The names in use. The caller holds target_lock. Features of the host go with the
 * host's CPU name only. */
static const char *current_cpu(void)
{
    return chosen.cpu ? chosen.cpu : host_cpu();
}

static const char *current_features(void)
{
    return chosen.features ? chosen.features : chosen.cpu ? "" : host_features();
}

static bool copy_target(Target *target)
{
    pthread_mutex_lock(&target_lock);
    const char *features = current_features();
    target->cpu = alloc_string(current_cpu());
    target->features = alloc_string(features);
    target->shape.width = chosen.width ? chosen.width : host_width();
    target->shape.vector_memory =
        strstr(features, "+avx512f") && target->shape.width >= 8;
    pthread_mutex_unlock(&target_lock);
    return target->cpu && target->features;
}

static void free_target(Target *target)
{
    alloc_free(target->cpu);
    alloc_free(target->features);
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

/* Features are "+name" or "-name", separated by commas. */
static bool valid_names(const char *cpu, const char *features)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    if (cpu && (!*cpu || cpu[strspn(cpu, letters)])) {
        return false;
    }
    while (features && *features) {
        if (*features != '+' && *features != '-') {
            return false;
        }
        size_t length = strspn(++features, letters);
        if (length == 0 || (features[length] && features[length] != ',')) {
            return false;
        }
        features += length + (features[length] == ',');
    }
    return true;
}

bool llvm_set_target(const char *cpu, const char *features, uint32_t width)
{
    if (!valid_names(cpu, features)) {
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_llvm_set_target(): \"%.80s\", \"%.80s\" "
                         "are not a CPU name and a list such as \"+avx2,-avx512f\"",
                         cpu ? cpu : "(host)", features ? features : "");
    }
    if (width > LLVM_WIDTH_MAX || (width & (width - 1))) {
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_llvm_set_target(): the vector width is "
                         "%u, it must be a power of two from 1 to %d",
                         width, LLVM_WIDTH_MAX);
    }
    char *new_cpu = cpu ? alloc_string(cpu) : NULL;
    char *new_features = features ? alloc_string(features) : NULL;
    if ((cpu && !new_cpu) || (features && !new_features)) {
        alloc_free(new_cpu);
        alloc_free(new_features);
        return false;
    }
    pthread_mutex_lock(&target_lock);
    alloc_free(chosen.cpu);
    alloc_free(chosen.features);
    chosen.cpu = new_cpu;
    chosen.features = new_features;
    chosen.width = width;
    pthread_mutex_unlock(&target_lock);
    return true;
}

const char *llvm_target_cpu(void)
{
    pthread_mutex_lock(&target_lock);
    const char *cpu = current_cpu();
    pthread_mutex_unlock(&target_lock);
    return cpu;
}

const char *llvm_target_features(void)
{
    pthread_mutex_lock(&target_lock);
    const char *features = current_features();
    pthread_mutex_unlock(&target_lock);
    return features;
}

uint32_t llvm_vector_width(void)
{
    pthread_mutex_lock(&target_lock);
    uint32_t width = chosen.width ? chosen.width : host_width();
    pthread_mutex_unlock(&target_lock);
    return width;
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

static uint64_t fingerprint(void)
{
    const LlvmLibrary *library = llvm_load();
    Target target = { 0 };
    uint64_t result = 0;
    if (library && copy_target(&target)) {
        uint32_t numbers[5] = { (uint32_t) library->major, (uint32_t) library->minor,
                                (uint32_t) library->patch, target.shape.width,
                                ENGINE_REVISION };
        result = hash_64(numbers, sizeof numbers, 1);
        result = hash_64(target.cpu, strlen(target.cpu), result);
        result = hash_64(target.features, strlen(target.features), result);
    }
    free_target(&target);
    return result;
}

static void launch(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                   uint32_t end, uint32_t worker, void *scratch)
{
    if (begin < end)
        ((const EngineCode *) (const void *) cpu)
            ->function(begin, end, worker, args, scratch);
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
    code->cpu = (CpuCode){ .code = { 1, release }, .run = launch,
                           .scratch = (size_t) code->object.number };
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

static Code *compile(const Program *program, Hash128 hash)
{
    TRY(available(), NULL);
    Target target = { 0 };
    Text text = { 0 };
    Code *code = NULL;
    void *object = NULL;
    size_t size = 0;
    uint64_t start = clock_ns();
    bool ok = copy_target(&target);
    if (ok && llvm_ir_write(program, hash, target.shape, &text) &&
        llvm_compile(text.data, text.size, target.cpu, target.features, &object,
                     &size)) {
        code = load_code(object, size);
        note_compile_time(clock_ns() - start, count_insts(program));
    }
    alloc_free(object);
    text_free(&text);
    free_target(&target);
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

static bool write_ir(const Program *program, Hash128 hash, Text *out)
{
    Target target = { 0 };
    bool ok = copy_target(&target) && llvm_ir_write(program, hash, target.shape, out);
    free_target(&target);
    return ok;
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
                             .lane_ps = 20,
                             .compile_estimate = compile_estimate };
