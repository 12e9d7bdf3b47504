/*
 * freezing_same.c -- a function is recorded once more, to see whether it still does the
 * same; see freezing.h
 */
#include "base/error.h"
#include "freeze/freezing_inside.h"
#include "trace/eval/work.h"

bool freezing_check(ThreadState *ts, const Frozen *known)
{
    TRY(freezing_set_general(ts, known->general), false);
    ts->freezing->checks = true;
    Frozen *made = ts->freezing->made;
    const uint32_t count = ts->freezing->inputs.count;
    for (uint32_t i = 0; i < count && i < known->input_count; ++i)
        if (!made->inputs[i].literal) /* what may be assumed of it is what was */
            made->inputs[i].bits = known->inputs[i].bits;
    return true;
}

KernelRecordingMode freezing_mode(const ThreadState *ts)
{
    if (!watch_records(ts))
        return KernelRecordingModeInactive;
    return ts->freezing->checks ? KernelRecordingModeReplayed
                                : KernelRecordingModeRecorded;
}

static bool same_input(const FrozenInput *a, const FrozenInput *b)
{
    return a->type == b->type && a->device == b->device && a->literal == b->literal &&
           a->same == b->same && a->size == b->size && a->bits == b->bits;
}

/* Kernels load other inputs at their ends. */
static bool loads_alike(const Frozen *a, const Frozen *b)
{
    bool same = true;
    for (uint32_t i = 0; same && i < a->input_count && i < b->input_count; ++i)
        same = a->inputs[i].padded == b->inputs[i].padded;
    return same;
}

static bool same_output(const FrozenOutput *a, const FrozenOutput *b)
{
    return a->kind == b->kind && a->type == b->type && a->device == b->device &&
           a->number == b->number && a->same == b->same && a->symsize == b->symsize &&
           a->bits == b->bits;
}

/* A constant of the recordings is compared with these. */
static uint32_t constant_of(const Recording *r, const Var *v)
{
    uint32_t number = 0;
    while (number < r->constant_count && r->constants[number] != v->value.buffer)
        ++number;
    return number;
}

static bool same_held(const Frozen *a, const Frozen *b, uint32_t number)
{
    const Var *v = var_get(a->held.ids[number]), *w = var_get(b->held.ids[number]);
    return v->type == w->type && var_lanes(v) == var_lanes(w) &&
           constant_of(&a->recording, v) == constant_of(&b->recording, w);
}

static bool same_domain(const FrozenDomain *a, const FrozenDomain *b)
{
    return strcmp(a->variant, b->variant) == 0 && strcmp(a->name, b->name) == 0 &&
           a->version == b->version;
}

/* All but the recordings of their commands. */
static bool same_frame(const Frozen *a, const Frozen *b)
{
    bool same = a->flags == b->flags && a->general == b->general &&
                a->input_count == b->input_count &&
                a->output_count == b->output_count && a->held.count == b->held.count &&
                a->report_count == b->report_count &&
                a->domain_count == b->domain_count;
    for (uint32_t i = 0; same && i < a->input_count; ++i)
        same = same_input(&a->inputs[i], &b->inputs[i]);
    for (uint32_t i = 0; same && i < a->output_count; ++i)
        same = same_output(&a->outputs[i], &b->outputs[i]);
    for (uint32_t i = 0; same && i < a->held.count; ++i)
        same = same_held(a, b, i);
    for (uint32_t i = 0; same && i < a->report_count; ++i)
        same = report_same(a->reports[i], b->reports[i]);
    for (uint32_t i = 0; same && i < a->domain_count; ++i)
        same = same_domain(&a->domains[i], &b->domains[i]);
    return same;
}

static bool wait_for_constants(ThreadState *ts, const Recording *r,
                               const char *function)
{
    for (uint32_t i = 0; i < r->constant_count; ++i)
        TRY(work_wait(ts, r->constants[i], function), false);
    return true;
}

RecordingSame freezing_same(ThreadState *ts, const Frozen *a, const Frozen *b,
                            const char *function)
{
    TRY(wait_for_constants(ts, &a->recording, function) &&
            wait_for_constants(ts, &b->recording, function),
        RECORDING_FAILED);
    const RecordingSame same = a->recording.device == b->recording.device
                                   ? recording_same(&a->recording, &b->recording)
                                   : RECORDING_DIFFERS;
    return same == RECORDING_FAILED || loads_alike(a, b)
               ? same == RECORDING_SAME && !same_frame(a, b) ? RECORDING_DIFFERS : same
               : RECORDING_APART;
}
