/*
 * call.h -- recording calls
 *
 * The functions of region.h, which says what they do. Requires the graph lock.
 */
#ifndef TRACE_FLOW_CALL_H
#define TRACE_FLOW_CALL_H

#include "base/arena.h"
#include "trace/graph/record.h"

/** What the caller has as an output. */
typedef struct CallOutput {
    VarType type;
    uint32_t length; /* of a local array, which is that many outputs; else 0 */
} CallOutput;

/** A literal, or the only entry of an array. */
typedef struct CallValue {
    uint64_t bits; /* of the literal */
    VarId array;   /* a reference; 0: it is a literal */
} CallValue;

/** Callables that differ in values only (call_merge.h). */
typedef struct CallKind {
    RecordedBody body;    /* of the first of them: it stands for all */
    VarId *values;        /* by which they may differ, each once, as variables of the
                             body; references */
    uint32_t value_count;
    uint32_t first_value; /* what these are: in the call's */
    uint32_t *place;      /* 1 + word of each value in the data of an instance, 0: all
                             have the same */
    uint32_t size;        /* of that data, in words */
    uint32_t number;      /* among the kinds that are used */
    bool used;            /* an instance has it */
    bool settled;         /* it has been compared with the others */
    struct CallPattern *pattern; /* NULL: it has none */
} CallKind;

/** A callable. */
typedef struct Callable {
    uint32_t kind;
    uint32_t first_value; /* its values, as many as its kind has: in the call's */
    uint32_t offset;      /* of its data in the table */
    bool used;            /* an instance has it */
} Callable;

/** A call that is recorded; lists hold references. */
typedef struct Call {
    Body body;               /* of the callable that is open */
    Arena arena;             /* for all but lists of variables, this record included */
    VarId mask;              /* lanes that call; the stack's mask is added in the end */
    VarId active;            /* placeholder for lanes that execute a callable */
    uint32_t scope;          /* of the placeholders, below those of the callables */
    VarIds inputs, states;   /* what is given, and what stands for it */
    Callable *callables;     /* that are complete */
    uint32_t count, capacity;
    CallKind *kinds;
    uint32_t kind_count, kind_capacity;
    CallValue *values;       /* of all callables that have been compared */
    uint32_t value_count, value_capacity;
    bool merges;             /* callables of one kind become one */
    struct CallWriter *writer; /* compares them (call_merge.c); NULL: not yet */
    VarIds outputs;          /* of the callable that has just been completed */
    VarId table, data;       /* of values, and a pointer to it; 0: none is needed */
    CallOutput *results;     /* as the caller counts them */
    uint32_t result_count;
} Call;

/** Which instances there are. */
typedef struct CallTargets {
    VarId self;                  /* ids, 0 = none */
    uint32_t count;
    const uint32_t *ids;         /* NULL: 1, 2, ... */
    const uint32_t *callable_of; /* NULL: 0, 1, ... */
} CallTargets;

uint32_t call_start(ThreadState *ts, uint8_t device, const char *name, VarId mask);
VarId call_input(ThreadState *ts, uint32_t call, VarId value);
VarId call_mask(ThreadState *ts, uint32_t call);
bool call_append(ThreadState *ts, uint32_t call, size_t n, const VarId *outputs);
/** All callables are recorded (call_end.c). */
bool call_end(ThreadState *ts, uint32_t call, const CallTargets *targets,
              VarId *results);
/** Lanes of one instance (call_reduce.c). */
bool call_reduce(ThreadState *ts, const char *variant, const char *domain,
                 uint32_t bound, VarId self, VarId mask, JitCallBucket **buckets,
                 uint32_t *count);

/** The innermost open call if it has this handle; NULL: error recorded. */
Call *call_find(ThreadState *ts, uint32_t handle, const char *function);
/** Make 'value' an input: its placeholder, which the call holds. */
VarId call_add_input(ThreadState *ts, Call *call, VarId value);
/** Release a call whose body has been closed. */
void call_free(Call *call);

#endif
