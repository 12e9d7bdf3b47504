/*
 * extra.h -- what few variables have: label, source location, callback, private copies,
 * values copied from other arrays, losses
 *
 * Records are reached through Var.extra and live as long as the variable. Requires the
 * graph lock.
 */
#ifndef TRACE_GRAPH_EXTRA_H
#define TRACE_GRAPH_EXTRA_H

#include "trace/graph/var.h"

typedef void (*VarCallback)(uint32_t index, int freed, void *payload);

/** A call that waits for its thread to release the lock (state_defer()). Made when it
 *  becomes known that there may be one, so that it cannot fail when it is due. */
typedef struct Deferred {
    struct Deferred *next;
    VarCallback callback;
    void *payload;
    uint32_t index;
    int freed;
} Deferred;

/** Where derivatives got lost: a value does not have them, though it was computed from
 *  one that has. Noted in debug mode by src/ad, for ad_explain(). */
typedef struct Loss {
    uint64_t source;    /* serial number of the node of that value, */
    uint32_t node;      /* and its number; perhaps gone */
    const char *what;   /* literal text */
    const char *reason; /* literal text; NULL = none */
    const char *file;   /* where; interned, NULL = not known */
    const char *scope_file; /* of the scope that is to blame; the same */
    uint32_t line, scope_line;
} Loss;

/** Those of a variable and of all that it was computed from, latest last. Shared. */
typedef struct Losses {
    uint32_t refs, count;
    Loss list[8];
} Losses;

typedef struct Extra {
    char *label;         /* with prefixes, owned; NULL = none */
    const char *file;    /* interned, lives until shutdown; NULL = none */
    uint32_t line;
    VarCallback callback;
    void *payload;
    Deferred *call; /* for the callback, owned; NULL = there never was one */
    VarId expanded; /* private copies for queued scatter-reductions (expand.h), owned */
    VarId expanded_of;   /* on those: whose copies they are; 0 once that was freed */
    uint32_t lent;       /* references of others who write to its memory */
    uint32_t copies;     /* on those: their number, one for each worker */
    uint8_t expanded_op; /* ReduceOp with which the copies will be folded in */
    bool lanes;          /* indices of lanes: what is gathered with them stays what
                            it is, an entry for each lane */
    VarIds values; /* of a table that has copies of arrays (call_merge.h); owned */
    Losses *losses; /* a reference; NULL = none */
    uint32_t next_free;
} Extra;

/** The record of a variable, NULL if it has none. */
Extra *extra_find(const Var *v);
/** The record, made if need be; NULL (error recorded) if out of memory. */
Extra *extra_make(Var *v);
/** Give the variable a callback (NULL: none). False: out of memory. */
bool extra_set_callback(Var *v, VarCallback callback, void *payload);
/** Note a loss. When out of memory, nothing is noted. */
void extra_add_loss(Var *v, const Loss *loss);
/** A variable has the losses of its operands. */
void extra_inherit_losses(Var *v);
/** Release a variable's record; its callback is deferred (state.h). */
void extra_drop(VarId id, Var *v);
/** A copy of a file name that lives until shutdown; NULL if out of memory. */
const char *extra_intern(const char *text);
/** Was this text given before? It is from now on, until shutdown. */
bool extra_seen(const char *text);
/** Label of a variable or "". */
const char *extra_label(const Var *v);
/** "file:line", label or "r<id>": how messages name a variable. Written to 'out'. */
void extra_describe(VarId id, char *out, size_t size);
void extra_free_all(void);

#endif
