/*
 * ptx_sim_engine.c -- see ptx_sim_engine.h
 *
 * The words of a launch are those of any code of the CPU, behind a PtxLaunch. That of
 * PARAM_PRINT alone differs: kernels append to a PrintArea. If the launch has one, they
 * get it, and what does not fit is counted where it always is. Other users of engines
 * have a function (PrintLog.append): for these an area is mapped that has room for all
 * that a test prints, and its records are handed over in their order.
 */
#include "cuda/engine/ptx_sim_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "cuda/engine/assembler.h"
#include "cuda/sim/sim.h"
#include "device/cpu/launch/cpu_code.h"
#include "device/cpu/launch/cpu_prints.h"
#include "engine/ptx/ptx_kernel.h"
#include "kernel/print_log.h"
#include "os/file.h"

enum {
    REVISION = 1,
    SM = 80,
    BLOCK = 64,               /* threads, or twice as many */
    STAGED_BYTES = 256 << 20, /* of records; pages that nobody touches are not there */
    COMPILE_NS = 1000 * 1000,
    HEAD = sizeof(PtxLaunch) / sizeof(uint64_t) /* words in front of the others */
};

typedef struct SimCode {
    CpuCode cpu;
    SimModule *module;
    const SimKernel *kernel;
    char *text;
    size_t text_size;
    uint64_t hash;
    PtxKernel shape;
    uint32_t param_count, print;
    PrintArea *area; /* what one begins with; NULL: nothing is printed */
    size_t area_head;
} SimCode;

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static PtxTarget target_now(void)
{
    return (PtxTarget) { .sm = (uint32_t) setting("DRJIT_PTX_SM", SM) };
}

/* ------------------------------------------------------------------------ prints */

/* Where the records of a launch go. */
typedef struct Staging {
    PrintArea *area;
    PrintLog *log; /* NULL: the area is the launch's own */
    size_t size;
} Staging;

_Noreturn static void stop_here(const SimCode *code, const char *what)
{
    fprintf(stderr, "ptx-sim: %s\n", what);
    uint32_t line = 1;
    for (const char *at = code->text; *at; ++line) {
        int length = (int) strcspn(at, "\n");
        fprintf(stderr, "%5u  %.*s\n", line, length, at);
        at += length + (at[length] != 0);
    }
    abort();
}

static void begin_prints(const SimCode *code, uint64_t log, Staging *out)
{
    CpuPrints own;
    cpu_prints_begin(&own, NULL);
    *out = (Staging) { .log = (PrintLog *) (uintptr_t) log };
    if (out->log->append == own.log.append) {
        out->area = ((CpuPrints *) (void *) out->log)->area;
        out->log = NULL;
        return;
    }
    out->size = code->area_head + STAGED_BYTES;
    void *pages = mmap(NULL, out->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        stop_here(code, "no memory for what is printed");
    out->area = pages;
    memcpy(out->area, code->area, code->area_head);
}

static void hand_over(PrintArea *area, PrintLog *log, const PrintRecord *record)
{
    const uint32_t *begins = print_area_begins(area) + record->print;
    const uint32_t count = begins[1] - begins[0];
    const void **values = alloc_get((count + 1) * sizeof(void *));
    const uint8_t mask = 1;
    if (!values)
        abort();
    for (uint32_t k = 0; k < count; ++k)
        values[k] = &print_area_words(area)[record->first + k];
    log->append(log, record->print, record->lane, 1, &mask, values);
    alloc_free(values);
}

static void end_prints(const SimCode *code, Staging *staging)
{
    PrintArea *area = staging->area;
    if (!staging->log)
        return; /* it was the launch's own, or there is none */
    for (uint32_t i = 0; i < area->prints; ++i)
        if (atomic_load(&print_area_lost(area)[i]))
            stop_here(code, "more is printed than there is room for");
    const uint32_t count = (uint32_t) atomic_load(&area->used);
    const PrintRecord *records = (const void *) print_area_words(area);
    for (uint32_t i = 0; i < count; ++i)
        hand_over(area, staging->log, &records[i]);
    munmap(area, staging->size);
}

/* ---------------------------------------------------------------------- launches */

static bool is_interrupted(void *requests)
{
    return interrupt_requests() != *(uint32_t *) requests;
}

static void run(const CpuCode *cpu, const uint64_t *args, uint32_t begin, uint32_t end,
                uint32_t worker, uint32_t requests, void *scratch)
{
    const SimCode *code = (const SimCode *) (const void *) cpu;
    const bool apart = code->shape.words_in_memory;
    uint64_t *params = scratch, *words = params + HEAD + apart;
    const PtxLaunch head = { .begin = begin, .end = end, .worker = worker };
    const uint64_t origin[] = { setting("DRJIT_PTX_SEED", 1), code->hash, begin };
    const uint64_t seed = hash_64(origin, sizeof origin, 0);
    const uint32_t block = seed & 1 ? BLOCK : 2 * BLOCK;
    if (begin == end)
        return;
    memcpy(params, &head, sizeof head);
    params[HEAD] = (uint64_t) (uintptr_t) words; /* where they are apart */
    memcpy(words, args, code->param_count * sizeof(uint64_t));
    Staging staging = { NULL, NULL, 0 };
    if (code->area) {
        begin_prints(code, args[code->print], &staging);
        words[code->print] = (uint64_t) (uintptr_t) staging.area;
    }
    const uint32_t threads = (end - begin - 1) / code->shape.lanes + 1;
    const SimLaunch launch = {
        .kernel = code->kernel,
        .grid = { (threads - 1) / block + 1 },
        .block = { block },
        .params = params,
        .param_bytes = (HEAD + (apart ? 1 : code->param_count)) * sizeof(uint64_t),
        .order = seed & 2 ? SIM_LOWEST_PC : SIM_RANDOM_PC,
        .seed = seed,
        .stop = is_interrupted,
        .stop_data = &requests
    };
    SimResult result;
    if (!sim_run(&launch, &result))
        stop_here(code, result.message);
    end_prints(code, &staging);
}

/* ---------------------------------------------------------------------- compiling */

static void release(Code *base)
{
    SimCode *code = (SimCode *) (void *) base;
    if (code->module)
        sim_free(code->module);
    alloc_free(code->area);
    alloc_free(code->text);
    alloc_free(code);
}

/* False: error recorded. */
static bool dump(const char *text, size_t size)
{
    const char *folder = getenv("DRJIT_PTX_DUMP");
    if (!folder || !*folder)
        return true;
    const Hash128 hash = hash_128(text, size, 0);
    char path[4096];
    snprintf(path, sizeof path, "%s/%016llx%016llx.ptx", folder,
             (unsigned long long) hash.high, (unsigned long long) hash.low);
    TRY(file_make_folder(folder), false);
    if (!file_is_absent(path))
        return true;
    if (!file_publish_first(path, text, size)) {
        TRY(!file_is_absent(path), false); /* another thread was faster */
        error_clear();
    }
    return true;
}

static bool make_text(SimCode *code, const Program *program, const CodeSpec *spec)
{
    const PtxTarget target = target_now();
    Text text = { 0 };
    if (ptx_kernel_write(program, spec->hash, &target, &text, &code->shape))
        code->text = text_take(&text);
    else
        text_free(&text);
    TRY(code->text, false);
    code->text_size = strlen(code->text);
    char name[PTX_NAME_SIZE];
    ptx_kernel_name(spec->hash, name);
    return dump(code->text, code->text_size) &&
           assembler_check(code->text, target.sm, name);
}

/* Line of a text, from 1 on, without what it begins and ends with. */
static const char *line_of(const char *text, uint32_t line, int *length)
{
    for (uint32_t i = 1; i < line && *text; ++i) {
        text += strcspn(text, "\n");
        text += *text != 0;
    }
    text += strspn(text, " \t");
    *length = (int) strcspn(text, "\n");
    return text;
}

static bool has_statements(const Program *program)
{
    uint32_t count = program->stmt_count;
    for (uint32_t i = 0; i < program->callable_count; ++i)
        count += program->callables[i]->stmt_count;
    return count != 0;
}

/* Of statements nothing is demanded but what hardware does. */
static bool parse(SimCode *code, const Program *program, Hash128 hash)
{
    char error[SIM_MESSAGE], name[PTX_NAME_SIZE];
    ptx_kernel_name(hash, name);
    code->module = sim_parse(code->text, has_statements(program) ? SIM_FOREIGN
                                                                 : SIM_STRICT, error);
    if (!code->module) {
        uint32_t line = 0;
        int length = 0;
        (void) sscanf(error, "line %u:", &line);
        const char *text = line_of(code->text, line, &length);
        return error_set(JIT_ERROR_COMPILE, "ptx-sim: %s: \"%.*s\"", error,
                         length < 100 ? length : 100, text);
    }
    code->kernel = sim_find(code->module, name);
    return code->kernel ||
           error_set(JIT_ERROR_COMPILE, "ptx-sim: the module has no kernel %s", name);
}

static bool fill(SimCode *code, const Program *program, const CodeSpec *spec)
{
    code->hash = spec->hash.low ^ spec->hash.high;
    code->param_count = program->param_count;
    code->print = program_find_param(program, PARAM_PRINT);
    if (code->print != PROGRAM_NONE) {
        code->area = print_log_area(program, STAGED_BYTES, &code->area_head);
        TRY(code->area, false);
    }
    return make_text(code, program, spec) && parse(code, program, spec->hash);
}

static Code *compile(const Program *program, const CodeSpec *spec)
{
    SimCode *code = alloc_zero(1, sizeof *code);
    TRY(code, NULL);
    code->cpu = (CpuCode) {
        .code = { 1, release },
        .run = run,
        .scratch = (HEAD + 1 + program->param_count) * sizeof(uint64_t),
        .lane_ps = 20000
    };
    if (fill(code, program, spec))
        return &code->cpu.code;
    release(&code->cpu.code);
    return NULL;
}

/* ------------------------------------------------------------------------- engine */

static bool available(void)
{
    return true;
}

static uint64_t fingerprint(const Target *target)
{
    (void) target;
    const uint64_t parts[] = { REVISION, target_now().sm };
    return hash_64(parts, sizeof parts, 0);
}

static size_t code_size(const Code *code)
{
    return ((const SimCode *) (const void *) code)->text_size;
}

static bool write_ir(const Program *program, const CodeSpec *spec, Text *out)
{
    const PtxTarget target = target_now();
    PtxKernel kernel;
    return ptx_kernel_write(program, spec->hash, &target, out, &kernel);
}

static uint64_t compile_estimate(const Program *program)
{
    (void) program;
    return COMPILE_NS;
}

const Engine ptx_sim_engine = { .name = "ptx-sim",
                                .code = CODE_CPU,
                                .available = available,
                                .fingerprint = fingerprint,
                                .supports = ptx_kernel_supports,
                                .compile = compile,
                                .code_size = code_size,
                                .write_ir = write_ir,
                                .compile_estimate = compile_estimate };

__attribute__((constructor)) static void make_known(void)
{
    if (!engine_register(&ptx_sim_engine)) {
        fprintf(stderr, "%s\n", error_message());
        abort();
    }
}
