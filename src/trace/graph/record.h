/*
 * record.h -- bodies that a thread is recording, and the scopes of variables
 *
 * A body is what a loop repeats, one side of a conditional, a callable, or merely a
 * stretch of tracing whose effects are kept apart (jit_record_begin). While it is open,
 *
 *     its effects    go to a list of its own instead of the thread's queue,
 *     its variables  carry its scope number, so that value numbering finds them only
 *                    while the body is open, and that a walk can tell what is inside,
 *     its mask       is on top of the mask stack.
 *
 * Scope numbers are never used twice and grow, so a variable belongs to a body (or to
 * one inside of it) exactly if its scope is not below the body's. What is pure and does
 * not depend on a loop's body is given the scope outside of the loop: it is computed
 * once, before the loop. A side of a conditional and a callable keep theirs.
 *
 * Bodies are closed in the reverse order of opening. An owner (Loop, Cond, ...) has its
 * Body as first member; 'abandon' releases it when the recording is given up. Requires
 * the graph lock.
 */
#ifndef TRACE_GRAPH_RECORD_H
#define TRACE_GRAPH_RECORD_H

#include "trace/graph/state.h"

typedef enum BodyKind {
    BODY_RECORD, BODY_LOOP, BODY_SIDE, BODY_CALLABLE,
    BODY_EVALUATED /* an iteration that runs at once: its effects are queued as usual */
} BodyKind;

typedef struct Body Body;
struct Body {
    Body *outer;
    BodyKind kind;
    uint8_t device;
    char *name;           /* for messages; the owner's to set and to free */
    uint32_t handle;      /* names the recording: the first scope that its owner took */
    uint32_t scope;       /* of the variables in it; those further in have more */
    uint32_t outer_scope; /* what the thread's was */
    uint32_t mask_mark;   /* for mask_close() */
    VarIds effects;       /* in order, one reference each */
    uint32_t results;     /* of the region, as far as it is known: states, outputs */
    bool has_values;      /* its variables can be evaluated: it is not a region's. Nor
                             are effects kept to its end if what they write is read */
    VarIds *before;       /* effects of sides that are complete; NULL: none */
    VarIds backups;       /* pairs of one reference each: an array that effects of the
                             body have been performed on, and a copy from before that */
    bool notes_written;   /* conditionals: see record_note_written() */
    VarIds written;
    uint32_t written_before; /* so much of it is from a side that is complete */
    void (*abandon)(ThreadState *ts, Body *body); /* the body is closed by now */
};

/** What a complete body leaves behind, one reference each. */
typedef struct RecordedBody {
    VarIds effects, outputs; /* effects in order */
    uint32_t scope;          /* what the body's was */
} RecordedBody;

/** A scope number that no variable has; 0 if they are used up (error recorded). */
uint32_t record_new_scope(void);

/** Open a body inside of those that are open. 'active' (0: none) is pushed on the mask
 *  stack. 'handle', 'effects' and 'abandon' are the owner's to fill in before; a handle
 *  of 0 becomes the body's scope. False: error recorded, nothing is open. */
bool record_open(ThreadState *ts, Body *body, BodyKind kind, uint8_t device,
                 VarId active);
/** From here on, another mask is that of the open body (the innermost one). */
bool record_set_active(ThreadState *ts, Body *body, VarId active, const char *function);
/** Close the innermost body, which keeps its effects. False (error recorded, and closed
 *  all the same): it left masks on the stack. */
bool record_close(ThreadState *ts, Body *body, const char *function);
/** The same, and have its effects, in any case. */
bool record_close_into(ThreadState *ts, Body *body, RecordedBody *out,
                       const char *function);
/** The innermost body is complete, whose effects are handed over in any case, and is
 *  open again for another one of its owner's, with the same mask. False: error
 *  recorded, and it is no good any more. */
bool record_next(ThreadState *ts, Body *body, RecordedBody *out, const char *function);
/** Give up a body and all that are open inside of it. */
void record_abandon(ThreadState *ts, Body *body);
/** The innermost open body if it has this handle and kind; NULL: error recorded. */
Body *record_find(ThreadState *ts, uint32_t handle, BodyKind kind,
                  const char *function);

/** Append an effect to the list of the innermost body, or to the thread's queue; the
 *  list takes over the caller's reference on success. */
bool record_effect(ThreadState *ts, VarId effect);
/** Is there a body that effects are kept in? */
bool record_keeps(const ThreadState *ts);
/** Conditionals whose sides are open learn that a write to 'from' went to 'to', the
 *  same array or a copy of it: pairs of one reference each in 'written'. False: out of
 *  memory. */
bool record_note_written(ThreadState *ts, VarId from, VarId to);
/** References to an array that these pairs hold. */
uint32_t record_written_holders(const ThreadState *ts, VarId id);
/** Has another side of an open conditional, and not yet this one, written to 'from',
 *  the write going to 'to'? */
bool record_written_before(const ThreadState *ts, VarId from, VarId to);
/** Is there a body whose variables stand for values that do not exist yet? */
bool record_is_symbolic(const ThreadState *ts);
/** Note the outputs of a body. False: out of memory. */
bool record_outputs(RecordedBody *out, size_t count, const VarId *ids);
/** What a region is made of: in messages 'role' with its number ("state %u"), or the
 *  variable if that is NULL. */
typedef struct RecordPart {
    VarId id;
    const char *role;
    uint32_t number;
} RecordPart;
/** The number of lanes that all parts have in common, and their device. */
typedef struct RecordSize {
    const char *what, *name; /* for messages */
    uint8_t device;
    uint32_t size;           /* as far as known, first 1 */
    RecordPart first;        /* that had it */
} RecordSize;
/** This is on the device and has one entry or as many as those before, or else: an
 *  error. */
bool record_join_size(RecordSize *s, VarId id, const char *role, uint32_t number);
/** The same for some variables. */
bool record_join_sizes(RecordSize *s, const VarId *ids, uint32_t count);
bool record_join_body(RecordSize *s, const RecordedBody *body);
/** Let go of a body; it may be used anew. */
void record_release(RecordedBody *body);
/** A body with values is complete ('ok'), or given up: what has been written early
 *  stays, or is taken back. */
void record_settle(ThreadState *ts, Body *body, bool ok);
/** The innermost open body that effects are kept in, NULL: they are queued. */
Body *record_keeper(const ThreadState *ts);
/** Hand effects to what is around a closed body. False: an error, and some may have
 *  been handed over. */
bool record_hand_over(ThreadState *ts, const VarId *effects, uint32_t count);

/** The scope of a pure operation whose operands have scopes up to this one. */
uint32_t record_place(const ThreadState *ts, uint32_t deepest);
/** The scope of an operand as far as record_place() goes. */
static inline uint32_t record_scope(const Var *v)
{
    return v->op == OP_EVALUATED ? 0 : v->scope;
}

/** The scope of what is outside of all bodies that are open. */
uint32_t *record_outermost_scope(ThreadState *ts);

/* The public functions of the same names. */
uint32_t record_begin(ThreadState *ts, uint8_t device, const char *name,
                      bool has_values);
uint32_t record_checkpoint(const ThreadState *ts);
bool record_rollback(ThreadState *ts, uint32_t checkpoint);
bool record_end(ThreadState *ts, uint32_t record, bool cleanup);
bool record_set_scope(ThreadState *ts, uint32_t scope);

/** Give up all that a thread which ends was recording. */
void record_free(ThreadState *ts);

#endif
