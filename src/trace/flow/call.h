/*
 * call.h -- recording calls
 *
 * The functions of region.h, which says what they do. Requires the graph lock.
 */
#ifndef TRACE_FLOW_CALL_H
#define TRACE_FLOW_CALL_H

#include "trace/graph/record.h"

/** What the caller has as an output. */
typedef struct CallOutput {
    VarType type;
    uint32_t length; /* of a local array, which is that many outputs; else 0 */
} CallOutput;

/** A callable, and what it has in common with others (call_merge.h). */
typedef struct Callable {
    RecordedBody body;
    bool used;       /* an instance has it */
    uint32_t leader; /* the first callable of its kind, which stands for all of these */
    uint32_t number; /* of its kind */
    uint32_t offset; /* of its values in the table */
    uint32_t size;   /* of these, in words */
    /* Values by which others of its kind may differ, each once: in the call's. */
    uint32_t first_value, value_count;
    uint32_t *place; /* leader: 1 + word of each value behind the offset, 0: all of its
                        kind have the same; owned */
} Callable;

/** A call that is recorded; lists hold references. */
typedef struct Call {
    Body body;               /* of the callable that is open */
    VarId mask;              /* lanes that call */
    VarId active;            /* placeholder for lanes that execute a callable */
    uint32_t scope;          /* of the placeholders, below those of the callables */
    VarIds inputs, states;   /* what is given, and what stands for it */
    Callable *callables;     /* that are complete */
    uint32_t count, capacity;
    VarIds values;           /* of all callables; borrowed */
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
