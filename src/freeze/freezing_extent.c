/*
 * freezing_extent.c -- sizes that are parameters of commands: how many entries blocks
 * have, and matrices; see freezing.h
 */
#include "base/error.h"
#include "trace/eval/expand.h"
#include "freeze/freezing_inside.h"
#include "trace/graph/pending.h"

SymSize freezing_term(ThreadState *ts, uint64_t size)
{
    const SymSize symsize = (SymSize) size;
    return ts->freezing && size >> 32 == freezing_serial(ts) &&
                   symsize < freezing_terms(ts)->count
               ? symsize
               : 0;
}

SymSize freezing_given(ThreadState *ts, uint64_t number, uint64_t handle)
{
    TRY(watch_records(ts), 0);
    const SymSizes *w = freezing_terms(ts);
    SymSize symsize = handle ? freezing_term(ts, handle) : 0;
    if (symsize && (uint64_t) symsize_value(w, symsize) != number)
        symsize = 0;
    if (handle && !symsize)
        recorder_pin(&ts->freezing->recorder);
    if (!symsize)
        return freezing_number(ts, number);
    return symsize_pin_kind(freezing_terms(ts), symsize) ? symsize : 0;
}

void freezing_extent(ThreadState *ts, uint32_t number, SymSize symsize)
{
    if (watch_records(ts))
        recorder_extent(&ts->freezing->recorder, number, symsize);
}

bool freezing_extent_of(ThreadState *ts, VarId id)
{
    TRY(watch_records(ts), true);
    SymSize symsize = freezing_symsize(ts, id);
    TRY(symsize, false);
    freezing_extent(ts, 0, symsize);
    return true;
}

void freezing_stride_extent(ThreadState *ts, uint32_t number, SymSize stride)
{
    if (watch_records(ts))
        freezing_extent(ts, number, stride ? stride : freezing_number(ts, 1));
}

/* ------------------------------------------------------------------- blocks */

SymSize freezing_take_number(ThreadState *ts, size_t number)
{
    SymSize symsize = freezing_take_hint(ts, number);
    TRY(watch_records(ts), 0);
    if (symsize == FREEZING_LANES)
        recorder_pin(&ts->freezing->recorder);
    return symsize && symsize != FREEZING_LANES ? symsize : freezing_number(ts, number);
}

bool freezing_number_varies(ThreadState *ts, SymSize number)
{
    return number && freezing_is_general(ts) &&
           !symsize_is_constant(freezing_terms(ts), number);
}

bool freezing_pin_number(ThreadState *ts, SymSize number)
{
    return !watch_records(ts) || (number && symsize_pin(freezing_terms(ts), number));
}

bool freezing_times(ThreadState *ts, SymSize number, SymSize *symsize)
{
    SymSizes *w = *symsize ? freezing_terms(ts) : NULL;
    if (!w || (symsize_is_constant(w, number) && symsize_value(w, number) == 1))
        return true;
    const bool lanes = *symsize == FREEZING_LANES;
    *symsize = lanes ? 0 : symsize_make(w, SYMSIZE_MUL, *symsize, number);
    return *symsize || lanes;
}

bool freezing_divides(ThreadState *ts, VarId id, SymSize block)
{
    TRY(watch_records(ts) && block != FREEZING_LANES, true);
    SymSizes *w = freezing_terms(ts);
    TRY(block && symsize_pin_kind(w, block), false);
    SymSize size = freezing_symsize(ts, id), zero = freezing_number(ts, 0);
    TRY(size && zero, false);
    if (symsize_value(w, size) == symsize_value(w, block))
        return symsize_assume(w, SYMSIZE_EQUAL, size, block);
    SymSize rest = symsize_make(w, SYMSIZE_MOD, size, block);
    return rest && symsize_assume(w, SYMSIZE_EQUAL, rest, zero);
}

bool freezing_command_block(ThreadState *ts, VarId id, SymSize block)
{
    if (block == FREEZING_LANES)
        return freezing_extent_of(ts, id);
    freezing_extent(ts, 0, block);
    return true;
}

/* ---------------------------------------------------------------- reductions */

static uint32_t own_serial(const ThreadState *ts)
{
    return freezing_serial(ts) & UINT16_MAX;
}

/* What does not fit counts as that of another thread. */
void freezing_reduction(const ThreadState *ts, Var *reduction, const SymSize *symsizes)
{
    if (!watch_records(ts) || reduction->op == OP_DOT)
        return;
    const SymSize block = symsizes[0] == FREEZING_LANES ? 0 : symsizes[0];
    const bool strided = pending_stride(reduction) != 1;
    const bool fits = (block || !strided) && block <= UINT16_MAX &&
                      (symsizes[1] || !strided) && symsizes[1] <= UINT16_MAX;
    if (fits)
        pending_set_origin(reduction, own_serial(ts), (uint16_t) block,
                        strided ? (uint16_t) symsizes[1] : 0);
    else
        pending_set_origin(reduction, own_serial(ts) ^ 1, 0, 0);
}

SymSize freezing_reduction_block(ThreadState *ts, const Var *reduction)
{
    const SymSizes *w = freezing_terms(ts);
    if (reduction->op == OP_DOT || reduction->op == OP_COMPRESS)
        return FREEZING_LANES;
    const SymSize block = pending_block_origin(reduction);
    const bool own = pending_serial(reduction) == own_serial(ts) && block < w->count;
    if (own &&
        (!block || (uint64_t) symsize_value(w, block) == pending_block(reduction)))
        return block ? block : FREEZING_LANES;
    recorder_pin(&ts->freezing->recorder); /* another thread has made it */
    return freezing_number(ts, pending_block(reduction));
}

/* 0: it is 1. */
static SymSize fused_stride_symsize(ThreadState *ts, const Var *reduction)
{
    const SymSizes *w = freezing_terms(ts);
    const SymSize stride = pending_stride_origin(reduction);
    if (pending_stride(reduction) == 1)
        return 0;
    const bool own = pending_serial(reduction) == own_serial(ts) && stride < w->count;
    if (own && stride &&
        (uint64_t) symsize_value(w, stride) == pending_stride(reduction))
        return stride;
    recorder_pin(&ts->freezing->recorder);
    return freezing_number(ts, pending_stride(reduction));
}

void freezing_fused(ThreadState *ts, const Assembly *b)
{
    for (uint32_t i = 0; watch_records(ts) && i < b->fused_count; ++i) {
        const Var *reduction = var_get(b->outputs[b->fused[i].target]);
        SymSize block = freezing_reduction_block(ts, reduction);
        if (block == FREEZING_LANES)
            block = ts->freezing->recorder.size;
        freezing_extent(ts, 2 * i, block);
        freezing_stride_extent(ts, 2 * i + 1, fused_stride_symsize(ts, reduction));
    }
}

/* ------------------------------------------------------------ private copies */

SymSize freezing_stride(ThreadState *ts, VarId target)
{
    TRY(watch_records(ts), 0);
    SymSizes *w = freezing_terms(ts);
    SymSize size = freezing_symsize(ts, target),
            line = freezing_number(ts, EXPAND_LINE);
    SymSize rest = freezing_number(ts, EXPAND_LINE - 1);
    TRY(size && rest && line, 0);
    SymSize more = symsize_make(w, SYMSIZE_ADD, size, rest);
    SymSize lines = more ? symsize_make(w, SYMSIZE_DIV, more, line) : 0;
    return lines ? symsize_make(w, SYMSIZE_MUL, lines, line) : 0;
}

void freezing_combine(ThreadState *ts, VarId target)
{
    freezing_size_of(ts, target);
    freezing_extent(ts, 0, freezing_stride(ts, target));
}

bool freezing_copies(ThreadState *ts, VarId target, uint32_t copies)
{
    SymSizes *w = freezing_terms(ts);
    SymSize size = freezing_symsize(ts, target), stride = freezing_stride(ts, target);
    SymSize count = freezing_number(ts, copies), most = freezing_number(ts, INT32_MAX);
    SymSize limit = freezing_number(ts, state.expand_threshold + (uint64_t) 1);
    TRY(size && stride && count && most && limit, false);
    SymSize all = symsize_make(w, SYMSIZE_MUL, stride, count);
    ts->freezing->recorder.size = all;
    return all && symsize_assume(w, SYMSIZE_NOT_LESS, most, all) &&
           symsize_test(w, SYMSIZE_LESS, size, limit) >= 0;
}
