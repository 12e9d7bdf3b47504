/*
 * engine.h -- what an engine is
 *
 * An engine turns a Program into something that runs. It is one filled-in struct;
 * adding an engine means writing that struct (docs/dev/adding-an-engine.md). Engines
 * see Programs and argument arrays only: no variables, no streams, no caches.
 *
 * Every engine computes the same bits for every operation (NaN payloads aside);
 * `interp` is the reference.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/text.h"
#include "ir/program.h"

/** Compiled form of one Program; its content belongs to the engine. Immutable once
 *  made, used by many threads at once. */
typedef struct EngineCode EngineCode;

typedef struct Engine {
    /** Required. Name in DRJIT_CPU_ENGINE, logs and history. */
    const char *name;

    /** Optional (false). Does compile() take microseconds? Then kernels start with this
     *  engine, without a stage of interpretation. */
    bool instant;

    /** Required. Can this engine be used on this machine? Loads what it needs at the
     *  first call (thread-safe, the outcome is remembered). False: error recorded. */
    bool (*available)(void);

    /** Required. Number that changes with everything outside of the Program that the
     *  code depends on: CPU features, target name, library version, engine revision. */
    uint64_t (*fingerprint)(void);

    /** Required. Is 'op' with this result type and type of its first value operand (the
     *  result type itself if it has none) a primitive here? What is not is expanded by
     *  the legaliser or refused. */
    bool (*supports)(Op op, VarType type, VarType operand);

    /** Required. Compile a legalised Program, which stays the caller's and may be
     *  released afterwards. Called without locks, by several threads at once. NULL:
     *  error recorded. 'hash' names the kernel (symbol names, logs). */
    EngineCode *(*compile)(const Program *program, Hash128 hash);

    /** Required. Compute lanes begin ... end-1 of a launch. 'args' has one 64-bit word
     *  for each parameter slot (addresses and value bits). 'worker' is below the number
     *  of threads of the pool and distinct for everything that runs at the same time;
     *  'scratch' points to scratch() bytes (64-byte aligned) of this worker. Cannot
     *  fail. 'begin' is a multiple of 64 except that it may also be 0. */
    void (*launch)(const EngineCode *code, const uint64_t *args, uint32_t begin,
                   uint32_t end, uint32_t worker, void *scratch);

    /** Optional (NULL: none needed). Bytes of scratch memory each worker needs. */
    size_t (*scratch)(const EngineCode *code);

    /** Required. Release compiled code. No launch of it is running. */
    void (*free)(EngineCode *code);

    /** Optional (NULL: nothing to keep). The code as position-independent bytes for the
     *  disk cache, owned by the code. */
    bool (*save)(const EngineCode *code, const void **data, size_t *size);
    /** Required if save is there. Rebuild code from what save gave for an equal Program
     *  and fingerprint. The bytes are authenticated but are checked all the same. */
    EngineCode *(*load)(const void *data, size_t size);

    /** Required. Bytes of code, for logs. */
    size_t (*code_size)(const EngineCode *code);

    /** Optional (NULL: the Program text says it all). The engine's IR as text, for
     *  PrintIR and golden files. */
    bool (*write_ir)(const Program *program, Hash128 hash, Text *out);

    /** Required. Expected time of compile(), in nanoseconds, for the choice of
     *  engine. */
    uint64_t (*compile_estimate)(const Program *program);

    /** Optional (NULL: makes no difference). Nobody waits for what this thread compiles
     *  from now on, so that it may take longer for faster code. */
    void (*compile_in_background)(void);
} Engine;

/** The engines of this build, in the order of preference for long-running kernels; ends
 *  with NULL. `interp` is always there and always last. */
extern const Engine *const engine_list[];
/** Engine of this name, NULL if there is none. */
const Engine *engine_find(const char *name);

#endif
