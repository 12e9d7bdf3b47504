/*
 * exported.h -- what an exported function consists of, and how it is called
 *
 *     FUNCTION.c    tables: an ExportedFunction, with a Recording (recording.h), whose
 *        │          commands are patterns and whose kernels are constants
 *        ▼
 *     exported.c    checks what the caller gives, computes sizes, submits the commands
 *        ▼
 *     device/       the library's own streams, buffers, threads and loops
 *
 * There are no Programs, no variables and no compiler. Errors are values: a JitError,
 * whose text is that of error.h.
 */
#ifndef EXPORT_RUNTIME_EXPORTED_H
#define EXPORT_RUNTIME_EXPORTED_H

#include "recording/recording_walk.h"

/** Memory of the caller: 'size' entries. */
typedef struct ExportedArray {
    void *address;
    size_t size;
} ExportedArray;

typedef struct ExportedInput {
    const char *name;
    uint32_t entry;    /* bytes of an entry; 0: only the size counts */
    uint32_t size;     /* its class: 0 and 1 mean these sizes */
    bool padded;       /* kernels may load whole vectors at its end */
    bool counts;       /* entry i is i + first, modulo 2^32 */
    uint32_t first;
} ExportedInput;

typedef enum ExportedSource {
    EXPORTED_ARRAY,    /* number: in Recording.arrays */
    EXPORTED_INPUT,    /* number: of the input */
    EXPORTED_CONSTANT, /* number: of the constant */
    EXPORTED_VALUE,    /* 'bits' in all entries */
    EXPORTED_SIZE      /* nothing but a size */
} ExportedSource;

typedef struct ExportedOutput {
    const char *name;
    ExportedSource source;
    uint32_t number;
    uint32_t entry;
    SymSize symsize;
    uint64_t bits;
} ExportedOutput;

/** An array that is part of the function; aligned to 64 bytes, with as many after
 *  it. */
typedef struct ExportedConstant {
    const void *address;
    size_t bytes;
} ExportedConstant;

/** What a check finds. */
typedef enum ExportedFound {
    EXPORTED_READ,    /* an entry past the end of an array is read, */
    EXPORTED_WRITTEN, /* or written */
    EXPORTED_CALLED,  /* a callable that does not exist is called */
    EXPORTED_LOOPED   /* a loop runs longer than it may */
} ExportedFound;

/** A check of a kernel, and what its variable is called. */
typedef struct ExportedCheck {
    ExportedFound found;
    const char *name;
} ExportedCheck;

typedef struct ExportedFunction {
    const char *name;
    Recording *recording; /* constants are filled in */
    const ExportedInput *inputs;
    const ExportedOutput *outputs;
    const ExportedConstant *constants;
    const char *const *guards, *const *decisions; /* as text */
    const ExportedCheck *checks; /* of Recording.bounds */
    const int64_t *pinned;       /* sizes that have to be what they were, by class; -1:
                                    any */
    uint32_t input_count, output_count;
    uint32_t sizes;            /* classes */
    uint32_t extensions;       /* of the CPU that are needed (base/isa.h) */
    void (*link)(void);        /* fills in what is not constant */
    bool begun;                /* that is done; guarded by a lock of exported.c */
} ExportedFunction;

/** Call it. Outputs that have memory say how many entries there is room for, others get
 *  memory that free() releases; all say how many they have. JIT_OK, or an error: then
 *  no output has got memory, and what is in those that had some is undefined. If the
 *  room is what was wrong, the sizes are those that are needed. */
JitError exported_call(ExportedFunction *f, const ExportedArray *in,
                       ExportedArray *out);
/** The caller has given NULL in the place of a struct. */
JitError exported_null(const ExportedFunction *f);
/** Threads that share the work, the calling one included. */
JitError exported_set_threads(uint32_t count);
/** Stop the threads and release memory of all functions (the last one is NULL); no
 *  call is under way. Later calls start anew. */
void exported_shutdown(ExportedFunction *const *functions);

/** The instruction set that the function was exported for, whose loops
 *  reduce_lanes_get() gives; can this CPU run it? */
const char *exported_isa(void);
bool exported_isa_suits(void);

/** The end of the steps that kernels call. */
struct LaneStep;
struct LaneFrame;
const struct LaneStep *exported_stop(const struct LaneStep *step,
                                     const struct LaneFrame *frame);

#endif
