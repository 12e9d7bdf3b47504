/*
 * far_code.h -- code of a kind of its own, for the far devices
 *
 * What an engine makes for the CPU (that of DRJIT_CPU_ENGINE, or interp), in a box that
 * only the far devices open: a function that takes the code of a launch for that of the
 * CPU reads nonsense. far_register() makes the engine known.
 */
#ifndef TESTS_FAR_CODE_H
#define TESTS_FAR_CODE_H

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/code.h"
#include "engine/engine.h"
#include "engine/interp/interp.h"

enum { CODE_FAR = CODE_CPU + 1 };

typedef struct FarCode {
    Code code;
    uint64_t nonsense[32];
    Code *inner;
} FarCode;

static inline Code *far_code_inner(const Code *code)
{
    return ((const FarCode *) (const void *) code)->inner;
}

static inline const Engine *far_engine_inner(void)
{
    const char *name = getenv("DRJIT_CPU_ENGINE");
    const Engine *engine = name ? engine_find(name) : NULL;
    return engine ? engine : &interp_engine;
}

static bool far_engine_available(void)
{
    return far_engine_inner()->available();
}

static uint64_t far_engine_fingerprint(const Target *target)
{
    return far_engine_inner()->fingerprint(target) + 1;
}

static bool far_engine_supports(Op op, VarType type, VarType operand)
{
    return far_engine_inner()->supports(op, type, operand);
}

static void far_engine_release(Code *code)
{
    code_release(far_code_inner(code));
    alloc_free(code);
}

static Code *far_engine_compile(const Program *program, const CodeSpec *spec)
{
    FarCode *code = alloc_get(sizeof *code);
    TRY(code, NULL);
    memset(code, 0xa5, sizeof *code);
    atomic_store(&code->code.refs, 1);
    code->code.release = far_engine_release;
    code->inner = far_engine_inner()->compile(program, spec);
    if (code->inner)
        return &code->code;
    alloc_free(code);
    return NULL;
}

static size_t far_engine_code_size(const Code *code)
{
    return far_engine_inner()->code_size(far_code_inner(code));
}

static uint64_t far_engine_estimate(const Program *program)
{
    return far_engine_inner()->compile_estimate(program);
}

static const Engine far_engine = { .name = "far",
                                   .code = (CodeKind) CODE_FAR,
                                   .instant = true,
                                   .available = far_engine_available,
                                   .fingerprint = far_engine_fingerprint,
                                   .supports = far_engine_supports,
                                   .compile = far_engine_compile,
                                   .code_size = far_engine_code_size,
                                   .compile_estimate = far_engine_estimate };

#endif
