/*
 * freezing_inside.h -- what a thread records: what freezing.c shares with the files
 * beside it
 *
 *     freezing.c        begin and end, sizes
 *     freezing_extent.c parameters of commands that are sizes
 *     freezing_gemm.c   those of matrix products
 *     freezing_note.c   launches that report, what the host reads
 *     freezing_loop.c   loops that are run at once
 *     freezing_foreign.c what is read that is not the recording's own
 *     freezing_escape.c what of it is kept by others
 *     freezing_same.c   comparing it with an earlier recording
 */
#ifndef FREEZE_FREEZING_INSIDE_H
#define FREEZE_FREEZING_INSIDE_H

#include "device/stream.h"
#include "freeze/freezing.h"

/** Scopes of a loop that is over: what was traced in its iterations. */
typedef struct LoopScopes {
    uint32_t first, last;
} LoopScopes;

/** What a thread records. */
typedef struct Freezing {
    Recorder recorder;
    Frozen *made;   /* what becomes of it: the rest comes in the end */
    Stream *stream; /* counted */
    VarIds inputs;  /* in order; references, as in all lists here */
    VarIds sized;   /* variables that have an entry in 'symsizes' */
    Table symsizes;   /* VarId -> SymSize */
    Table bounds;   /* of checks: VarId -> SymSize */
    uint32_t report_capacity, domain_capacity;
    Table numbers;  /* of inputs: VarId -> its place in 'inputs' */
    VarIds foreign; /* variables that it reads, and are none of its own */
    Table foreign_numbers; /* VarId -> its place in 'foreign' */
    uint32_t scope; /* of its own: ThreadState.recording */
    uint32_t scope_before, scope_within; /* of the thread when it began, paused */
    bool watches;   /* var_watch_begin() */
    Table classes;  /* size of an input -> its class */
    LoopScopes *over; /* in ascending order, none in another */
    uint32_t over_count, over_capacity;
    SymSize hint;     /* see freezing_hint() */
    size_t hint_size;
    uint32_t serial;
    bool paused;
    bool checks;    /* see freezing_check() */
    bool reads;     /* the host may read arrays */
    bool prints;    /* a launch has printed, which cannot be taken back */
} Freezing;

/** The terms and guards of what a thread records. */
static inline SymSizes *freezing_terms(ThreadState *ts)
{
    return &ts->freezing->recorder.recording.symsizes;
}
/** A number as a SymSize. 0: out of memory. */
static inline SymSize freezing_number(ThreadState *ts, uint64_t value)
{
    return symsize_constant(freezing_terms(ts), (int64_t) value);
}

/** The size of an array that is not the recording's own, which takes note of it. */
SymSize freezing_foreign_symsize(ThreadState *ts, VarId id);
/** Why what has read others' variables cannot be repeated: an error, false. */
bool freezing_refuse_foreign(const Freezing *f);

/** Whether the recording fits is seen here, at the latest. Giving up after a launch
 *  that prints, the same would be printed twice. */
void freezing_note_decision(ThreadState *ts);

/** Was a variable of this scope traced in a loop that is over (freezing_loop.c)? */
bool freezing_loop_is_over(const ThreadState *ts, uint32_t scope);

#endif
