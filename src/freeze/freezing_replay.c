/*
 * freezing_replay.c -- a recorded function is repeated; see freezing.h
 *
 * Inputs are compared with what was recorded, sizes computed, guards checked; then the
 * commands are made again for the arrays of this time and submitted, one after the
 * other (recording/recording_walk.h).
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/uses.h"
#include "kernel/tier.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/graph/node.h"
#include "trace/graph/registry.h"

/** One repetition. */
typedef struct Repeat {
    ThreadState *ts;
    Frozen *frozen;
    const VarId *inputs;
    const char *function;
    Walk walk;
    int64_t *sizes; /* of inputs, by class */
    uint32_t held;  /* inputs, from the first one on: the lock may be released */
    VarIds copies;  /* of inputs, with references */
} Repeat;

/* ------------------------------------------------------------------- inputs */

/* An input, with a reference. What is pending is evaluated first. NULL: error
 * recorded. */
static inline const Var *hold_input(Repeat *p, uint32_t k)
{
    const VarId id = p->inputs[k];
    const Var *v = var_exists(id) ? var_get(id) : NULL;
    if (!v || (var_lanes(v) && !node_is_ready(v))) {
        TRY(node_usable(p->ts, id, p->function, "an input"), NULL);
        v = var_get(id);
    }
    var_inc(id);
    p->held = k + 1;
    return v;
}

/* Is it what was recorded? 'sizes' has the classes so far. */
static inline bool fits(const FrozenInput *spec, const Var *v, int64_t *sizes)
{
    const Op op = spec->literal ? OP_LITERAL : OP_EVALUATED;
    const uint64_t kind = var_head(op, (VarType) spec->type, spec->device, 0);
    TRY((v->head & VAR_KIND) == kind, false);
    const uint64_t bits = spec->literal ? v->value.literal : v->aux;
    TRY(bits == spec->bits || (!spec->literal && !spec->bits), false);
    int64_t *size = &sizes[spec->size];
    *size = *size < 0 ? var_lanes(v) : *size;
    return *size == var_lanes(v);
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

static Replay check_inputs(Repeat *p)
{
    const Frozen *frozen = p->frozen;
    int64_t *sizes = p->sizes;
    TRY(frozen->flags == freezing_flags(p->ts) && check_domains(frozen),
        REPLAY_REFUSED);
    sizes[0] = 0;
    sizes[1] = 1;
    /* -1, also of terms, which are not known yet */
    memset(sizes + 2, 0xff,
           (frozen->input_count + frozen->recording.symsizes.count) * sizeof(*sizes));
    for (uint32_t k = 0; k < frozen->input_count; ++k) {
        const FrozenInput *spec = &frozen->inputs[k];
        const Var *v = hold_input(p, k);
        TRY(v, REPLAY_FAILED);
        TRY(p->inputs[k] == p->inputs[spec->same] && fits(spec, v, sizes),
            REPLAY_REFUSED);
    }
    return REPLAY_DONE;
}

/* ----------------------------------------------------------------- commands */

static Replay set_sizes(void *payload, uint32_t numbers)
{
    const Repeat *p = payload;
    const SymSizes *w = &p->frozen->recording.symsizes;
    uint32_t guard;
    uint32_t broken = 0;
    bool ok = symsize_evaluate(w, numbers, p->sizes, p->walk.values);
    if (ok && !symsize_hold(w, numbers, p->walk.values, &guard)) {
        broken = guard + 1;
        ok = false;
    }
    atomic_store_explicit(&p->frozen->broken, broken, memory_order_relaxed);
    return ok ? REPLAY_DONE : REPLAY_REFUSED;
}

static bool take(void *payload, uint32_t count, const uint32_t *arrays,
                 const size_t *bytes, Buffer **buffers)
{
    const Repeat *p = payload;
    Device *device = p->frozen->recording.device;
    (void) arrays;
    TRY(work_buffers(p->ts, device->index, count, bytes, buffers), false);
    Stream *stream = stream_self(device);
    for (uint32_t i = 0; i < count; ++i)
        uses_begin(buffers[i], stream);
    return true;
}

static bool wait_for(void *payload, Buffer *buffer)
{
    const Repeat *p = payload;
    return work_wait(p->ts, buffer, p->function);
}

static void differs(void *payload, uint32_t decision)
{
    const Repeat *p = payload;
    atomic_store_explicit(&p->frozen->broken,
                          p->frozen->recording.symsizes.guard_count + decision + 1,
                          memory_order_relaxed);
}

/* Better code for a launch, if it is due; the lock is released meanwhile. */
static void upgrade(Repeat *p, const FrozenCommand *f)
{
    Kernel *kernel = f->launch.kernel;
    uint32_t lanes = (uint32_t) p->walk.values[f->size];
    if (!tier_is_due(kernel, lanes, launch_predict(kernel, lanes)))
        return;
    walk_let_go(&p->walk);
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
        history_note(p->ts, c, KernelRecordingModeReplayed);
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
static bool submit(void *payload, uint32_t number)
{
    Repeat *p = payload;
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
    Command *c = recording_repeat(r, number, p->walk.buffers, p->walk.values,
                                  report ? report_done : NULL, report);
    if (c) {
        c->interrupts = p->walk.interrupts;
        add_history(p, f, c, report);
    }
    if (c && work_submit(p->ts, c)) {
        state.launches += f->launch.kernel != NULL;
        return true;
    }
    report_drop(report);
    return false;
}

static const WalkCalls calls = { take, submit, wait_for, set_sizes, differs };

/* ------------------------------------------------------------------ outputs */

static VarId make_array(const Repeat *p, const FrozenOutput *out, uint32_t size)
{
    const uint32_t array = out->number;
    Buffer *buffer = NULL;
    if (array != RECORDER_UNKNOWN) {
        if (walk_take(&p->walk, array) != REPLAY_DONE)
            return 0; /* of an array that nobody has written */
        buffer = p->walk.buffers[array];
    }
    if ((uint64_t) size * type_info[out->type].size > (buffer ? buffer->size : 0))
        return (VarId) error_set(JIT_ERROR_STATE, "%s: output %u has %u entries, and "
                                 "an array of %zu bytes", p->function,
                                 (uint32_t) (out - p->frozen->outputs), size,
                                 buffer ? buffer->size : 0);
    VarId id = node_buffer(p->ts, out->device, (VarType) out->type, size, buffer);
    if (id && buffer)
        p->walk.buffers[array] = NULL; /* the reference has moved */
    return id;
}

static VarId make_output(const Repeat *p, const FrozenOutput *out)
{
    const int64_t value = out->symsize ? p->walk.values[out->symsize] : 0;
    const uint32_t size = (uint32_t) value;
    if (value != size)
        return (VarId) error_set(JIT_ERROR_STATE, "%s: output %u has %lld entries",
                                 p->function, (uint32_t) (out - p->frozen->outputs),
                                 (long long) value);
    if (out->kind == FROZEN_RESULT_ARRAY)
        return make_array(p, out, size);
    if (out->kind == FROZEN_RESULT_LITERAL)
        return node_literal(p->ts, out->device, (VarType) out->type, out->bits, size);
    VarId id = out->kind == FROZEN_RESULT_INPUT ? p->inputs[out->number]
                                                : p->frozen->held.ids[out->number];
    var_inc(id);
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

/* The memory of an input, or of a copy where it must not be read past its end. The
 * lock may be released. False: error recorded. */
static bool take_input(Repeat *p, uint32_t k, Buffer **buffer)
{
    const FrozenInput *spec = &p->frozen->inputs[k];
    VarId id = p->inputs[k];
    *buffer = var_get(id)->value.buffer;
    if (spec->literal || !*buffer || !spec->padded || buffer_is_padded(*buffer))
        return true;
    TRY(var_ids_take(&p->copies, id = work_duplicate(p->ts, id)), false);
    *buffer = var_get(id)->value.buffer;
    return true;
}

static bool set_arrays(Repeat *p)
{
    const Recording *r = &p->frozen->recording;
    for (uint32_t i = 0; i < r->array_count; ++i) {
        const FrozenArray *a = &r->arrays[i];
        Buffer **buffer = &p->walk.buffers[i];
        *buffer = a->kind == FROZEN_CONSTANT ? r->constants[a->number] : NULL;
        if (a->kind == FROZEN_INPUT)
            TRY(take_input(p, a->number, buffer), false);
    }
    return true;
}

static Replay repeat(Repeat *p, VarId *outputs)
{
    Replay result = check_inputs(p);
    if (result == REPLAY_DONE)
        result = set_sizes(p, 0);
    if (result != REPLAY_DONE || !outputs)
        return result;
    TRY(set_arrays(p), REPLAY_FAILED);
    result = walk_run(&p->walk);
    if (result == REPLAY_DONE && !make_outputs(p, outputs))
        result = REPLAY_FAILED;
    walk_end(&p->walk);
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
    size_t sizes = 2 + (size_t) count, terms = r->symsizes.count;
    char *memory = alloc_get((sizes + terms) * sizeof(int64_t) +
                             r->array_count * sizeof(Buffer *));
    TRY(memory, REPLAY_FAILED);
    Repeat p = { .ts = ts, .frozen = frozen, .inputs = inputs,
                 .function = function };
    p.sizes = (int64_t *) (void *) memory;
    p.walk = (Walk){ .recording = r, .calls = &calls, .who = &p };
    p.walk.values = p.sizes + sizes;
    p.walk.buffers = (Buffer **) (void *) (p.walk.values + terms);
    Replay result = repeat(&p, outputs);
    while (p.held > 0)
        var_dec(inputs[--p.held]);
    var_ids_drop(&p.copies);
    alloc_free(memory);
    return result;
}
