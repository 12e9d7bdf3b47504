/*
 * freezing_extent.c -- sizes that are parameters of commands: how many entries blocks
 * have, and matrices; see freezing.h
 */
#include "base/error.h"
#include "trace/eval/expand.h"
#include "freeze/freezing_inside.h"
#include "trace/graph/fold.h"

Width freezing_term(ThreadState *ts, uint64_t size)
{
    const Width width = (Width) size;
    return ts->freezing && size >> 32 == freezing_serial(ts) &&
                   width < freezing_terms(ts)->count
               ? width
               : 0;
}

Width freezing_given(ThreadState *ts, uint64_t number, uint64_t handle)
{
    TRY(watch_records(ts), 0);
    const Widths *w = freezing_terms(ts);
    Width width = handle ? freezing_term(ts, handle) : 0;
    if (width && (uint64_t) width_value(w, width) != number)
        width = 0;
    if (handle && !width)
        recorder_pin(&ts->freezing->recorder);
    if (!width)
        return freezing_number(ts, number);
    return width_pin_kind(freezing_terms(ts), width) ? width : 0;
}

void freezing_extent(ThreadState *ts, uint32_t number, Width width)
{
    if (watch_records(ts))
        recorder_extent(&ts->freezing->recorder, number, width);
}

bool freezing_extent_of(ThreadState *ts, VarId id)
{
    TRY(watch_records(ts), true);
    Width width = freezing_width(ts, id);
    TRY(width, false);
    freezing_extent(ts, 0, width);
    return true;
}

void freezing_stride_extent(ThreadState *ts, uint32_t number, Width stride)
{
    if (watch_records(ts))
        freezing_extent(ts, number, stride ? stride : freezing_number(ts, 1));
}

/* ------------------------------------------------------------------- blocks */

Width freezing_take_number(ThreadState *ts, size_t number)
{
    Width width = freezing_take_hint(ts, number);
    TRY(watch_records(ts), 0);
    if (width == FREEZING_LANES)
        recorder_pin(&ts->freezing->recorder);
    return width && width != FREEZING_LANES ? width : freezing_number(ts, number);
}

bool freezing_number_varies(ThreadState *ts, Width number)
{
    return number && freezing_is_general(ts) &&
           !width_is_constant(freezing_terms(ts), number);
}

bool freezing_pin_number(ThreadState *ts, Width number)
{
    return !watch_records(ts) || (number && width_pin(freezing_terms(ts), number));
}

bool freezing_times(ThreadState *ts, Width number, Width *width)
{
    Widths *w = *width ? freezing_terms(ts) : NULL;
    if (!w || (width_is_constant(w, number) && width_value(w, number) == 1))
        return true;
    const bool lanes = *width == FREEZING_LANES;
    *width = lanes ? 0 : width_make(w, WIDTH_MUL, *width, number);
    return *width || lanes;
}

bool freezing_divides(ThreadState *ts, VarId id, Width block)
{
    TRY(watch_records(ts) && block != FREEZING_LANES, true);
    Widths *w = freezing_terms(ts);
    TRY(block && width_pin_kind(w, block), false);
    Width size = freezing_width(ts, id), zero = freezing_number(ts, 0);
    TRY(size && zero, false);
    if (width_value(w, size) == width_value(w, block))
        return width_assume(w, WIDTH_EQUAL, size, block);
    Width rest = width_make(w, WIDTH_MOD, size, block);
    return rest && width_assume(w, WIDTH_EQUAL, rest, zero);
}

bool freezing_command_block(ThreadState *ts, VarId id, Width block)
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
void freezing_fold(const ThreadState *ts, Var *fold, const Width *widths)
{
    if (!watch_records(ts) || fold->op == OP_DOT)
        return;
    const Width block = widths[0] == FREEZING_LANES ? 0 : widths[0];
    const bool strided = fold_stride(fold) != 1;
    const bool fits = (block || !strided) && block <= UINT16_MAX &&
                      (widths[1] || !strided) && widths[1] <= UINT16_MAX;
    if (fits)
        fold_set_origin(fold, own_serial(ts), (uint16_t) block,
                        strided ? (uint16_t) widths[1] : 0);
    else
        fold_set_origin(fold, own_serial(ts) ^ 1, 0, 0);
}

Width freezing_fold_block(ThreadState *ts, const Var *fold)
{
    const Widths *w = freezing_terms(ts);
    if (fold->op == OP_DOT || fold->op == OP_COMPRESS)
        return FREEZING_LANES;
    const Width block = fold_block_origin(fold);
    const bool own = fold_serial(fold) == own_serial(ts) && block < w->count;
    if (own && (!block || (uint64_t) width_value(w, block) == fold_block(fold)))
        return block ? block : FREEZING_LANES;
    recorder_pin(&ts->freezing->recorder); /* another thread has made it */
    return freezing_number(ts, fold_block(fold));
}

/* 0: it is 1. */
static Width fold_stride_width(ThreadState *ts, const Var *fold)
{
    const Widths *w = freezing_terms(ts);
    const Width stride = fold_stride_origin(fold);
    if (fold_stride(fold) == 1)
        return 0;
    const bool own = fold_serial(fold) == own_serial(ts) && stride < w->count;
    if (own && stride && (uint64_t) width_value(w, stride) == fold_stride(fold))
        return stride;
    recorder_pin(&ts->freezing->recorder);
    return freezing_number(ts, fold_stride(fold));
}

void freezing_folds(ThreadState *ts, const Assembly *b)
{
    for (uint32_t i = 0; watch_records(ts) && i < b->fold_count; ++i) {
        const Var *fold = var_get(b->outputs[b->folds[i].target]);
        Width block = freezing_fold_block(ts, fold);
        if (block == FREEZING_LANES)
            block = ts->freezing->recorder.size;
        freezing_extent(ts, 2 * i, block);
        freezing_stride_extent(ts, 2 * i + 1, fold_stride_width(ts, fold));
    }
}

/* ------------------------------------------------------------ private copies */

Width freezing_stride(ThreadState *ts, VarId target)
{
    TRY(watch_records(ts), 0);
    Widths *w = freezing_terms(ts);
    Width size = freezing_width(ts, target), line = freezing_number(ts, EXPAND_LINE);
    Width rest = freezing_number(ts, EXPAND_LINE - 1);
    TRY(size && rest && line, 0);
    Width more = width_make(w, WIDTH_ADD, size, rest);
    Width lines = more ? width_make(w, WIDTH_DIV, more, line) : 0;
    return lines ? width_make(w, WIDTH_MUL, lines, line) : 0;
}

void freezing_combine(ThreadState *ts, VarId target)
{
    freezing_size_of(ts, target);
    freezing_extent(ts, 0, freezing_stride(ts, target));
}

bool freezing_copies(ThreadState *ts, VarId target, uint32_t copies)
{
    Widths *w = freezing_terms(ts);
    Width size = freezing_width(ts, target), stride = freezing_stride(ts, target);
    Width count = freezing_number(ts, copies), most = freezing_number(ts, INT32_MAX);
    Width limit = freezing_number(ts, state.expand_threshold + (uint64_t) 1);
    TRY(size && stride && count && most && limit, false);
    Width all = width_make(w, WIDTH_MUL, stride, count);
    ts->freezing->recorder.size = all;
    return all && width_assume(w, WIDTH_NOT_LESS, most, all) &&
           width_test(w, WIDTH_LESS, size, limit) >= 0;
}
