/*
 * call.h -- recording calls
 *
 * The functions of region.h, which says what they do. Requires the graph lock.
 */
#ifndef TRACE_FLOW_CALL_H
#define TRACE_FLOW_CALL_H

#include "trace/graph/extra.h"
#include "trace/graph/record.h"

typedef struct CallList {
    VarId *ids;
    uint32_t count, capacity;
} CallList;

/** What the caller has as an output. */
typedef struct CallOutput {
    VarType type;
    uint32_t length; /* of a local array, which is that many outputs; else 0 */
} CallOutput;

/** A call that is recorded; lists hold references. */
typedef struct Call {
    Body body;               /* of the callable that is open */
    VarId mask;              /* lanes that call */
    VarId active;            /* placeholder for lanes that execute a callable */
    uint32_t scope;          /* of the placeholders, below those of the callables */
    CallList inputs, states; /* what is given, and what stands for it */
    RecordedBody *callables; /* that are complete */
    uint32_t count, capacity;
    uint32_t output_count;   /* of each; entries of local arrays count */
    CallOutput *results;     /* as the caller counts them */
    uint32_t result_count;
} Call;

uint32_t call_start(ThreadState *ts, JitBackend backend, const char *name, VarId mask);
VarId call_input(ThreadState *ts, uint32_t call, VarId value);
VarId call_mask(ThreadState *ts, uint32_t call);
bool call_append(ThreadState *ts, uint32_t call, size_t n, const VarId *outputs);

/** The innermost open call if it has this handle; NULL: error recorded. */
Call *call_find(ThreadState *ts, uint32_t handle, const char *function);
/** Make 'value' an input: its placeholder, which the call holds. */
VarId call_add_input(ThreadState *ts, Call *call, VarId value);
/** A placeholder that belongs to all callables. */
VarId call_placeholder(ThreadState *ts, const Call *call, Op op, uint32_t which,
                       VarType type, uint32_t size);
/** Append an id, with a reference of its own or without. */
bool call_append_id(CallList *list, VarId id, bool new_reference);
/** Drop what a list holds. */
void call_drop_list(CallList *list);
/** Put the only entries of arrays into a table of words, which remembers the list and
 *  holds the arrays; it takes the list over, also on errors (call_end.c). */
bool call_fill_table(ThreadState *ts, VarId table, ExtraSource *sources,
                     uint32_t count);
/* Local arrays that cross (call_local.c). */
/** A version of a local array as an input: what stands for it (a new reference). */
VarId call_local_input(ThreadState *ts, Call *call, VarId array);
/** Append the entries of a version in the open callable. */
bool call_local_split(ThreadState *ts, const Call *call, VarId array, CallList *list);
/** An array with these entries. */
VarId call_local_join(ThreadState *ts, const Call *call, const VarId *entries,
                      uint32_t length, uint32_t size);

/** Release a call whose body has been closed. */
void call_free(Call *call);

/** Lanes of one instance. */
bool call_reduce(ThreadState *ts, const char *variant, const char *domain,
                 uint32_t bound, VarId self, VarId mask, JitCallBucket **buckets,
                 uint32_t *count);

#endif
