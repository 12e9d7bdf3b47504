/*
 * bytes_program.c -- any bytes as a Program: refused, or it runs within its arrays
 *
 * A target for libFuzzer and for bytes_replay.c. What the verifier accepts is compiled
 * by the engine `native`, and not run there, since the sanitizer does not see what
 * machine code does; it is run by an interpreter (fence.h) on arrays that end with the
 * last lane.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bytes_target.h"
#include "device/cpu/launch/cpu_code.h"
#include "fence.h"
#include "ir/program_identity.h"
#include "lower/legalise.h"
#if defined(__x86_64__)
#include "engine/native/native_engine.h"
#endif

enum {
    LANES = 64, /* whole groups of the interpreter, which reads no further */
    ENTRIES = 24, /* of arrays that are accessed by index */
    MOST_BYTES = 1 << 16, /* of an input */
    MOST_REPORTS = 1 << 12,
    MOST_SCRATCH = 1 << 26
};

BytesOutcome bytes_outcome;

static void ignore(PrintLog *log, uint32_t print, uint32_t begin, uint32_t lanes,
                   const uint8_t *mask, const void *const *values)
{
    (void) log, (void) print, (void) begin, (void) lanes, (void) mask, (void) values;
}
static PrintLog nobody = { ignore };

/* What an argument stands for, in memory of its own. */
static void *make_array(const Program *p, const Param *param)
{
    size_t count = param->kind == PARAM_POINTER ? ENTRIES : LANES;
    size_t size = count * type_info[param->type].size;
    if (param->kind == PARAM_REPORT)
        size = p->check_count * sizeof(CheckReport);
    uint8_t *data = alloc_aligned(size);
    for (size_t i = 0; data && i < size; ++i)
        data[i] = (uint8_t) (param->type == VarTypeBool ? i & 1 : i * 37);
    return data;
}

static void run(const Program *p, const Code *code)
{
    void *scratch = alloc_aligned(cpu_code_scratch(code));
    uint64_t *args = alloc_zero(p->param_count + 1, sizeof(uint64_t));
    void **arrays = alloc_zero(p->param_count + 1, sizeof(void *));
    bool ok = scratch && args && arrays;
    for (uint32_t i = 0; ok && i < p->param_count; ++i) {
        const Param *param = &p->params[i];
        args[i] = 3; /* of a value */
        if (param->kind == PARAM_PRINT)
            args[i] = (uint64_t) (uintptr_t) &nobody;
        if (param->kind == PARAM_PRINT || param->kind == PARAM_VALUE)
            continue;
        ok = (arrays[i] = make_array(p, param)) != NULL;
        args[i] = (uint64_t) (uintptr_t) arrays[i];
    }
    if (ok)
        cpu_code_run(code, args, 0, LANES, 0, scratch);
    for (uint32_t i = 0; arrays && i < p->param_count; ++i)
        alloc_free(arrays[i]);
    alloc_free(arrays);
    alloc_free(args);
    alloc_free(scratch);
}

static void show(const Program *program)
{
    Text text = { 0 };
    program_write(program, &text);
    fprintf(stderr, "%s\n", text_get(&text));
    text_free(&text);
}

static bool use(const Program *program, const Engine *engine, bool runs)
{
    const Program *legal = legalise(program, engine);
    TRY(legal, false);
    if (!program_verify(legal)) {
        fprintf(stderr, "after legalise: %s\n", error_message());
        show(program);
        show(legal);
        abort();
    }
    Code *code = engine->compile(legal, &(CodeSpec){ .hash = { 1, 2 } });
    if (code && runs && cpu_code_scratch(code) <= MOST_SCRATCH)
        run(legal, code);
    const bool ok = code != NULL;
    code_release(code);
    if (legal != program)
        program_free((Program *) (uintptr_t) legal);
    return ok;
}

static bool is_small(const Program *p)
{
    return p->check_count <= MOST_REPORTS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool watched;
    uint64_t prefix;
    if (!watched && !(watched = fence_start_watch()))
        abort();
    Program *program =
        size <= MOST_BYTES ? program_deserialise(data, size, &prefix) : NULL;
    bytes_outcome = BYTES_REFUSED;
    if (program && is_small(program)) {
        Text text = { 0 };
        bytes_outcome = BYTES_ACCEPTED;
        program_write(program, &text);
        text_free(&text);
#if defined(__x86_64__)
        use(program, &native_engine, false);
#endif
        if (use(program, &fenced_engine, true))
            bytes_outcome = BYTES_RUN;
    }
    program_free(program);
    error_clear();
    return 0;
}
