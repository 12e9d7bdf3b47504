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
#include "device/code.h"
#include "engine/target.h"
#include "ir/program.h"

/** What is to be known of code beside its Program. */
typedef struct CodeSpec {
    Hash128 hash;         /* names the kernel (symbol names, logs) */
    const Target *target; /* which not every engine heeds */
    bool many_lanes;      /* for long launches: code that takes longer to make may pay.
                           * Changes no bits */
} CodeSpec;

typedef struct Engine {
    /** Required. Name in DRJIT_CPU_ENGINE, logs and history. */
    const char *name;

    /** Required. Which devices run its code: those of the same kind. Its code begins
     *  with the record of that kind (CODE_CPU: CpuCode). */
    CodeKind code;

    /** Optional (false). Does compile() take microseconds? Then kernels start with this
     *  engine, without a stage of interpretation. */
    bool instant;

    /** Required. Can this engine be used on this machine? Loads what it needs at the
     *  first call (thread-safe, the outcome is remembered). False: error recorded. */
    bool (*available)(void);

    /** Required. Number that changes with everything outside of the Program that the
     *  code for this target depends on: CPU features, library version, engine
     *  revision. */
    uint64_t (*fingerprint)(const Target *target);

    /** Required. Is 'op' with this result type and type of the operation (the
     *  result type itself if it has none) a primitive here? What is not is expanded by
     *  the legaliser or refused. */
    bool (*supports)(Op op, VarType type, VarType operand);

    /** Required. Compile a legalised Program, which stays the caller's and may be
     *  released afterwards. Called without locks, by several threads at once. The code
     *  is immutable, and used by many threads at once; one reference. NULL: error
     *  recorded. */
    Code *(*compile)(const Program *program, const CodeSpec *spec);
    /** Optional (NULL: no). Is code for many lanes another one? Asked for the Program
     *  before it is legalised. */
    bool (*heeds_lanes)(const Program *program);

    /** Optional (NULL: nothing to keep). The code as position-independent bytes for the
     *  disk cache, owned by the code. */
    bool (*save)(const Code *code, const void **data, size_t *size);
    /** Required if save is there. Rebuild code from what save gave for an equal Program
     *  and fingerprint. The bytes are authenticated but are checked all the same. */
    Code *(*load)(const void *data, size_t size);

    /** Required. Bytes of code, for logs. */
    size_t (*code_size)(const Code *code);

    /** Optional (NULL: the Program text says it all). The engine's IR as text, for
     *  PrintIR and golden files. */
    bool (*write_ir)(const Program *program, const CodeSpec *spec, Text *out);

    /** Required. Expected time of compile(), in nanoseconds, for the choice of
     *  engine. */
    uint64_t (*compile_estimate)(const Program *program);
} Engine;

/** The engines, in the order of preference for long-running kernels; ends with NULL.
 *  `interp` is always there and always last. */
extern const Engine *const *const engine_list;
/** Engine of this name, NULL if there is none. */
const Engine *engine_find(const char *name);
/** Put one more engine before `interp`: for those that are not part of the library. It
 *  has to stay. A second time is fine. To be called before anything is compiled, by one
 *  thread. False: the name is taken or there is no room, error recorded. */
bool engine_register(const Engine *engine);

#endif
