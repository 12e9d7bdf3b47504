/*
 * freezing_replay.c -- a recorded function is repeated; see freezing.h
 *
 * Inputs are compared with what was recorded, sizes computed, guards checked; then each
 * command is made again for the arrays of this time and submitted. Arrays that commands
 * make are taken before the first command that writes them and given up behind the last
 * one that uses them, so that as much memory is in use as there was at most when it was
 * recorded.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/tier.h"
#include "trace/eval/freezing.h"
#include "trace/eval/work.h"
#include "trace/graph/node.h"
#include "trace/graph/registry.h"

/** One repetition. */
typedef struct Repeat {
    ThreadState *ts;
    Frozen *frozen;
    const VarId *inputs;
    const char *function;
    Buffer **buffers; /* of arrays: borrowed from inputs and constants, references of
                         those that are made */
    int64_t *sizes;   /* of inputs, by class */
    int64_t *values;  /* of terms */
} Repeat;

/* ------------------------------------------------------------------- inputs */

/* Is it what was recorded? What is pending is evaluated first. */
static Replay check_input(const Repeat *p, uint32_t k)
{
    const FrozenInput *spec = &p->frozen->inputs[k];
    VarId id = p->inputs[k];
    if (!var_exists(id) || var_get(id)->size)
        TRY(node_usable(p->ts, id, p->function, "an input"), REPLAY_FAILED);
    const Var *v = var_get(id);
    bool literal = v->op == OP_LITERAL;
    if (v->type != spec->type || v->device != spec->device ||
        literal != spec->literal || (!literal && v->op != OP_EVALUATED) ||
        id != p->inputs[spec->same])
        return REPLAY_REFUSED;
    if (literal ? v->value.literal != spec->bits
                : v->size && buffer_is_padded(v->value.buffer) != spec->padded)
        return REPLAY_REFUSED;
    if (p->sizes[spec->size] < 0)
        p->sizes[spec->size] = v->size;
    return p->sizes[spec->size] == v->size ? REPLAY_DONE : REPLAY_REFUSED;
}

/* Are the same objects in the registry, as far as it was looked at? */
static bool check_domains(const Frozen *frozen)
{
    for (uint32_t i = 0; i < frozen->domain_count; ++i) {
        const FrozenDomain *d = &frozen->domains[i];
        if (registry_version(d->variant, d->name) != d->version)
            return false;
    }
    return true;
}

static Replay check_inputs(const Repeat *p)
{
    TRY(p->frozen->flags == freezing_flags(p->ts) && check_domains(p->frozen),
        REPLAY_REFUSED);
    for (uint32_t k = 0; k < p->frozen->input_count; ++k)
        p->sizes[2 + k] = -1;
    p->sizes[0] = 0;
    p->sizes[1] = 1;
    Replay result = REPLAY_DONE;
    for (uint32_t k = 0; result == REPLAY_DONE && k < p->frozen->input_count; ++k)
        result = check_input(p, k);
    return result;
}

/* Sizes are known up to the number that was read last. */
static bool set_sizes(const Repeat *p, uint32_t late)
{
    const Widths *w = &p->frozen->recording.widths;
    uint32_t guard;
    uint32_t broken = 0;
    bool ok = width_evaluate(w, late, p->sizes, p->values);
    if (ok && !width_hold(w, late, p->values, &guard)) {
        broken = guard + 1;
        ok = false;
    }
    atomic_store_explicit(&p->frozen->broken, broken, memory_order_relaxed);
    return ok;
}

/* ----------------------------------------------------------------- commands */

static Replay take_array(const Repeat *p, uint32_t number)
{
    const Recording *r = &p->frozen->recording;
    TRY(!p->buffers[number], REPLAY_DONE);
    size_t bytes;
    TRY(recording_bytes(r, number, p->values, &bytes), REPLAY_REFUSED);
    p->buffers[number] = work_buffer(p->ts, r->device->index, bytes);
    return p->buffers[number] ? REPLAY_DONE : REPLAY_FAILED;
}

static Replay take_arrays(const Repeat *p, const FrozenCommand *f)
{
    const Recording *r = &p->frozen->recording;
    Replay result = p->values[f->size] < 0 ? REPLAY_REFUSED : REPLAY_DONE;
    for (uint32_t i = 0; result == REPLAY_DONE && i < f->count; ++i)
        result = take_array(p, r->uses[f->first + i].array);
    return result;
}

static void drop_array(const Repeat *p, uint32_t number)
{
    if (p->frozen->recording.arrays[number].kind == FROZEN_MADE)
        buffer_release(p->buffers[number]);
    p->buffers[number] = NULL;
}

static void drop_arrays(const Repeat *p, uint32_t command)
{
    const Recording *r = &p->frozen->recording;
    const FrozenCommand *f = &r->commands[command];
    for (uint32_t i = 0; i < f->count; ++i) {
        uint32_t number = r->uses[f->first + i].array;
        const FrozenArray *a = &r->arrays[number];
        if (a->kind == FROZEN_MADE && a->last == command && p->buffers[number])
            drop_array(p, number);
    }
}

static Replay read_number(const Repeat *p, uint32_t k)
{
    const Recording *r = &p->frozen->recording;
    const FrozenRead *read = &r->reads[k];
    const uint32_t writer = recording_writer(r, read->behind, read->array);
    TRY(writer, REPLAY_REFUSED);
    const FrozenCommand *f = &r->commands[writer - 1];
    Buffer *buffer = p->buffers[read->array];
    uint64_t place = (uint64_t) p->values[read->place] * sizeof(uint32_t);
    uint32_t value;
    TRY(place < buffer->size && buffer->size - place >= sizeof(value), REPLAY_REFUSED);
    TRY(work_wait(p->ts, buffer, p->function), REPLAY_FAILED);
    buffer_read(buffer, (size_t) place, &value, sizeof(value));
    TRY(value <= (uint64_t) p->values[f->size] * f->unit, REPLAY_REFUSED);
    p->values[read->width] = value;
    return set_sizes(p, k + 1) ? REPLAY_DONE : REPLAY_REFUSED;
}

/* Better code for a launch, if it is due; the lock is released meanwhile. */
static void upgrade(const Repeat *p, const FrozenCommand *f)
{
    Kernel *kernel = f->launch.kernel;
    uint32_t lanes = (uint32_t) p->values[f->size];
    if (!tier_is_due(kernel, lanes, launch_predict(kernel, lanes)))
        return;
    state_pause(p->ts);
    cache_upgrade(kernel);
    state_resume(p->ts);
}

static void add_history(const Repeat *p, const FrozenCommand *f, Command *c,
                        Report *report)
{
    if (!state_flag(p->ts, JitFlagKernelHistory))
        return;
    if (!report) {
        history_note(c, KernelRecordingModeReplayed);
        return;
    }
    report_add_history(report, p->ts, &(ReportedLaunch) {
        .command = c, .kernel = f->launch.kernel,
        .program = f->launch.kernel->program,
        .operation_count = f->launch.operations, .input_count = f->launch.inputs,
        .output_count = f->launch.outputs, .mode = KernelRecordingModeReplayed,
        .hit = true });
}

/* Launches that print or check, or are in the history, report what they found. */
static bool run_command(const Repeat *p, uint32_t number)
{
    const Recording *r = &p->frozen->recording;
    const FrozenCommand *f = &r->commands[number];
    Report *report = NULL;
    if (f->launch.kernel)
        upgrade(p, f);
    if (f->launch.report ||
        (f->launch.kernel && state_flag(p->ts, JitFlagKernelHistory))) {
        report = report_again(f->launch.report
                                  ? p->frozen->reports[f->launch.report - 1] : NULL);
        TRY(report, false);
    }
    Command *c = recording_repeat(r, number, p->buffers, p->values,
                                  report ? report_done : NULL, report);
    if (c)
        add_history(p, f, c, report);
    if (c && work_submit(p->ts, c)) {
        state.launches += f->launch.kernel != NULL;
        return true;
    }
    report_drop(report);
    return false;
}

/* Are these bytes of a buffer as they were? Nothing is on its way to it. */
static bool is_equal(const Buffer *buffer, size_t offset, const unsigned char *expected,
                     size_t bytes)
{
    unsigned char part[4096];
    TRY(offset + bytes <= buffer->size, false);
    for (size_t at = 0, count; at < bytes; at += count) {
        count = bytes - at < sizeof(part) ? bytes - at : sizeof(part);
        buffer_read(buffer, offset + at, part, count);
        if (memcmp(part, expected + at, count) != 0)
            return false;
    }
    return true;
}

static Replay check_content(const Repeat *p, uint32_t k)
{
    const Recording *r = &p->frozen->recording;
    const FrozenContent *content = &r->contents[k];
    Replay taken = take_array(p, content->array);
    TRY(taken == REPLAY_DONE, taken);
    Buffer *buffer = p->buffers[content->array];
    TRY(work_wait(p->ts, buffer, p->function), REPLAY_FAILED);
    if (is_equal(buffer, content->offset, r->content + content->first, content->bytes))
        return REPLAY_DONE;
    atomic_store_explicit(&p->frozen->broken, r->widths.guard_count + k + 1,
                          memory_order_relaxed);
    return REPLAY_REFUSED;
}

/* What is read behind so many commands, from these reads on. */
static Replay read_all(const Repeat *p, uint32_t behind, uint32_t *reads,
                       uint32_t *contents)
{
    const Recording *r = &p->frozen->recording;
    Replay result = REPLAY_DONE;
    while (result == REPLAY_DONE && *reads < r->read_count &&
           r->reads[*reads].behind == behind)
        result = read_number(p, (*reads)++);
    while (result == REPLAY_DONE && *contents < r->content_count &&
           r->contents[*contents].behind == behind)
        result = check_content(p, (*contents)++);
    return result;
}

/* -------------------------------------------------------------------- loops */

/* Its states are what they are before the first iteration. */
static Replay enter_loop(const Repeat *p, const FrozenLoop *loop)
{
    const FrozenState *states = p->frozen->recording.states + loop->state;
    for (uint32_t i = 0; i < loop->states; ++i) {
        Replay result = take_array(p, states[i].initial); /* it may be undefined */
        TRY(result == REPLAY_DONE, result);
        Buffer *initial = p->buffers[states[i].initial];
        buffer_retain(initial);
        p->buffers[states[i].array] = initial;
    }
    return REPLAY_DONE;
}

/* What the block has made is the state from now on. */
static void advance(const Repeat *p, const FrozenLoop *loop)
{
    const FrozenState *states = p->frozen->recording.states + loop->state;
    for (uint32_t i = 0; i < loop->states; ++i) {
        buffer_release(p->buffers[states[i].array]);
        p->buffers[states[i].array] = p->buffers[states[i].next];
        p->buffers[states[i].next] = NULL;
    }
}

/* ---------------------------------------------------------------------- all */

/* Where a repetition is: what comes next. */
typedef struct Progress {
    uint32_t command, reads, contents, loop;
    bool inside; /* the block of the next loop */
} Progress;

/* The block of a loop has been run: once more, or on behind it. */
static Replay end_iteration(const Repeat *p, Progress *at)
{
    const FrozenLoop *loop = &p->frozen->recording.loops[at->loop];
    Buffer *again = p->buffers[loop->again];
    unsigned char byte = 0;
    TRY(work_wait(p->ts, again, p->function), REPLAY_FAILED);
    buffer_read(again, 0, &byte, sizeof(byte));
    advance(p, loop);
    at->inside = byte != 0;
    if (at->inside) {
        at->command = loop->first;
        return REPLAY_DONE;
    }
    at->loop++;
    return read_all(p, at->command, &at->reads, &at->contents);
}

/* A command, and what is read behind it. */
static Replay step(const Repeat *p, Progress *at)
{
    const Recording *r = &p->frozen->recording;
    uint32_t command = at->command++;
    Replay result = take_arrays(p, &r->commands[command]);
    TRY(result == REPLAY_DONE, result);
    TRY(run_command(p, command), REPLAY_FAILED);
    result = at->inside && r->loops[at->loop].end == at->command
                 ? end_iteration(p, at)
                 : read_all(p, at->command, &at->reads, &at->contents);
    drop_arrays(p, command);
    return result;
}

static Replay run_commands(const Repeat *p)
{
    const Recording *r = &p->frozen->recording;
    Progress at = { 0 };
    Replay result = read_all(p, 0, &at.reads, &at.contents);
    while (result == REPLAY_DONE && at.command < r->command_count) {
        if (!at.inside && at.loop < r->loop_count &&
            r->loops[at.loop].first == at.command) {
            result = enter_loop(p, &r->loops[at.loop]);
            at.inside = true;
        }
        if (result == REPLAY_DONE)
            result = step(p, &at);
    }
    return result;
}

/* ------------------------------------------------------------------ outputs */

static VarId make_output(const Repeat *p, const FrozenOutput *out)
{
    uint32_t size = out->width ? (uint32_t) p->values[out->width] : 0;
    VarId id = 0;
    switch (out->kind) {
        case FROZEN_RESULT_INPUT: id = p->inputs[out->number]; break;
        case FROZEN_RESULT_HELD: id = p->frozen->held.ids[out->number]; break;
        case FROZEN_RESULT_LITERAL:
            return node_literal(p->ts, out->device, (VarType) out->type, out->bits,
                                size);
        default: break;
    }
    if (id) {
        var_inc(id);
        return id;
    }
    if (out->number != RECORDER_UNKNOWN && take_array(p, out->number) != REPLAY_DONE)
        return 0; /* of an array that nobody has written */
    Buffer *buffer = out->number == RECORDER_UNKNOWN ? NULL : p->buffers[out->number];
    if ((uint64_t) size * type_info[out->type].size > (buffer ? buffer->size : 0))
        return (VarId) error_set(JIT_ERROR_STATE, "%s: output %u has %u entries, and "
                                 "an array of %zu bytes", p->function,
                                 (uint32_t) (out - p->frozen->outputs), size,
                                 buffer ? buffer->size : 0);
    id = node_buffer(p->ts, out->device, (VarType) out->type, size, buffer);
    if (id && buffer)
        p->buffers[out->number] = NULL; /* the reference has moved */
    return id;
}

static bool make_outputs(const Repeat *p, VarId *outputs)
{
    const FrozenOutput *out = p->frozen->outputs;
    for (uint32_t k = 0; k < p->frozen->output_count; ++k) {
        if (out[k].same != k)
            var_inc(outputs[k] = outputs[out[k].same]);
        else
            outputs[k] = make_output(p, &out[k]);
        if (outputs[k])
            continue;
        while (k-- > 0)
            var_dec(outputs[k]);
        return false;
    }
    return true;
}

/* -------------------------------------------------------------------- whole */

static void set_arrays(const Repeat *p)
{
    const Recording *r = &p->frozen->recording;
    for (uint32_t i = 0; i < r->array_count; ++i) {
        const FrozenArray *a = &r->arrays[i];
        p->buffers[i] = a->kind == FROZEN_INPUT
                            ? var_get(p->inputs[a->number])->value.buffer
                        : a->kind == FROZEN_CONSTANT ? r->constants[a->number]
                                                     : NULL;
    }
}

static Replay repeat(const Repeat *p, VarId *outputs)
{
    Replay result = check_inputs(p);
    if (result == REPLAY_DONE && !set_sizes(p, 0))
        result = REPLAY_REFUSED;
    if (result != REPLAY_DONE || !outputs)
        return result;
    set_arrays(p);
    result = run_commands(p);
    if (result == REPLAY_DONE && !make_outputs(p, outputs))
        result = REPLAY_FAILED;
    for (uint32_t i = 0; i < p->frozen->recording.array_count; ++i)
        if (p->buffers[i])
            drop_array(p, i);
    return result;
}

Replay freezing_replay(ThreadState *ts, Frozen *frozen, const VarId *inputs,
                       uint32_t count, VarId *outputs, const char *function)
{
    if (ts->freezing)
        return (Replay) error_set(JIT_ERROR_STATE, "%s: the calling thread is "
                                  "recording a function", function);
    if (count != frozen->input_count)
        return (Replay) error_set(JIT_ERROR_ARGUMENT, "%s: there are %u inputs, "
                                  "expected %u", function, count, frozen->input_count);
    const Recording *r = &frozen->recording;
    size_t sizes = 2 + (size_t) count, terms = r->widths.count;
    char *memory = alloc_get((sizes + terms) * sizeof(int64_t) +
                             r->array_count * sizeof(Buffer *));
    TRY(memory, REPLAY_FAILED);
    Repeat p = { .ts = ts, .frozen = frozen, .inputs = inputs,
                 .function = function };
    p.sizes = (int64_t *) (void *) memory;
    p.values = p.sizes + sizes;
    p.buffers = (Buffer **) (void *) (p.values + terms);
    for (uint32_t k = 0; k < count; ++k)
        if (var_exists(inputs[k]))
            var_inc(inputs[k]); /* the lock may be released */
    Replay result = repeat(&p, outputs);
    for (uint32_t k = 0; k < count; ++k)
        if (var_exists(inputs[k]))
            var_dec(inputs[k]);
    alloc_free(memory);
    return result;
}
