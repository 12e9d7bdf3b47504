/*
 * evaluate.c -- from scheduled variables to results in memory
 *
 * For each group of the schedule:
 *
 *     assemble_group()   variables -> Program, arguments          (graph lock)
 *     cache_key()     Program and target -> 128-bit name
 *     cache_find()    known kernel?
 *     cache_get()     no: generalise, load or compile          (no lock)
 *     launch_create() a command with arrays for the results    (graph lock)
 *     work_submit()   queue it in the thread's stream
 *     finish_group()  results become the variables' contents
 *
 * No kernel runs meanwhile: those that the thread is to run itself wait for the lock to
 * be released. While the lock is released on the way another thread may evaluate the
 * same variables. Both compute the same bits, so the second one drops its result.
 * Effects are taken out of the queues before, so each runs once.
 */
#include "trace/eval/evaluate.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/vec.h"
#include "device/uses.h"
#include "kernel/cache.h"
#include "kernel/launch.h"
#include "kernel/tier.h"
#include "os/clock.h"
#include "trace/eval/assemble.h"
#include "trace/eval/effects.h"
#include "trace/eval/evaluate_fused.h"
#include "trace/eval/expand.h"
#include "trace/eval/finite.h"
#include "trace/eval/report.h"
#include "trace/eval/work.h"
#include "trace/graph/hooks.h"
#include "trace/graph/node.h"
#include "trace/graph/pending.h"
#include "trace/graph/region.h"
#include "trace/graph/watch.h"

/** Memory that a thread's evaluations use again and again. */
typedef struct Workspace {
    Program *program; /* NULL: to be made; see begin_program() */
    Assembly assembly;
} Workspace;

/* ------------------------------------------------------------ workspace */

static Workspace *take_workspace(ThreadState *ts)
{
    Workspace *w = ts->workspace;
    ts->workspace = NULL; /* a log callback may evaluate while we wait for a compile */
    return w ? w : alloc_zero(1, sizeof(Workspace));
}

static void free_workspace(Workspace *w)
{
    if (!w)
        return;
    program_free(w->program);
    assemble_free(&w->assembly);
    alloc_free(w);
}

/* Keep it for the next evaluation unless it has grown beyond the ordinary. */
static void return_workspace(ThreadState *ts, Workspace *w)
{
    if (ts->workspace || !w->program || w->program->inst_capacity > 1u << 16)
        free_workspace(w);
    else
        ts->workspace = w;
}

/* A Program to assemble a group in: the one before, unless a kernel has kept that. */
static bool begin_program(Workspace *w)
{
    if (w->program && program_is_shared(w->program)) {
        program_free(w->program);
        w->program = NULL;
    }
    if (!w->program)
        w->program = alloc_zero(1, sizeof(Program));
    return w->program != NULL;
}

/* --------------------------------------------------------------- one group */

/* Names a literal for the log of a generalisation; runs without the lock, on variables
 * that assemble_retain() keeps alive. */
static const char *literal_origin(void *context, uint32_t literal)
{
    static _Thread_local char text[200];
    const Assembly *b = context;
    state_lock();
    VarId id = b->literal_vars[literal];
    if (id)
        extra_describe(id, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "mask of a mapped array");
    state_unlock();
    return text;
}

static void print_ir(const Kernel *kernel)
{
    Text text = { 0 };
    report_write_ir(kernel, true, &text);
    const char *ir = text_get(&text);
    if (ir)
        log_print(ir);
    text_free(&text);
}

/* How the kernel was come by, in the words of the log. */
static void log_origin(const Kernel *kernel, bool hit)
{
    if (!log_enabled(LogLevelInfo) || hit)
        return;
    Text text = { 0 };
    text_put(&text,
             kernel->from_disk ? "     cache hit, load: " : "     cache miss, build: ");
    text_put_seconds(&text, (double) kernel->build_ns * 1e-9);
    text_put(&text, ", ");
    text_put_bytes(&text, kernel->base.engine->code_size(kernel->base.code));
    text_putf(&text, " (%s).", kernel->base.engine->name);
    const char *line = text_get(&text);
    if (line)
        log_text(LogLevelInfo, line);
    text_free(&text);
}

static void log_launch(const Assembly *b, const ProgramKey *key, uint64_t ns)
{
    if (!log_enabled(LogLevelInfo))
        return;
    log_write(LogLevelInfo,
              "  -> launching %016llx (n=%u, in=%u, out=%u, ops=%u, "
              "jit=%.4g us):",
              (unsigned long long) key->full.high, b->size, b->input_count,
              b->output_count, b->program->inst_count, (double) ns * 1e-3);
}

/* Before the lock is released for a while. */
static void hold(Assembly *b)
{
    if (!b->retained)
        assemble_retain(b);
    b->retained = true;
}

static void begin_pause(ThreadState *ts, Assembly *b)
{
    Stream *stream = stream_self(b->device);
    if (stream)
        stream_let_go(stream);
    hold(b);
    state_pause(ts);
}

/* Find the kernel, or make it; make a better one if it is due. */
static Kernel *get_kernel(ThreadState *ts, Assembly *b, const ProgramKey *key,
                          bool *hit)
{
    Kernel *kernel = cache_find(b->program, key);
    *hit = kernel != NULL;
    if (!kernel) {
        begin_pause(ts, b);
        kernel = cache_get(b->program, key, b->size, literal_origin, b);
        state_resume(ts);
    }
    if (kernel && tier_is_due(kernel, b->size, launch_predict(kernel, b->size))) {
        begin_pause(ts, b);
        cache_upgrade(kernel);
        state_resume(ts);
    }
    if (kernel && state_flag(ts, JitFlagPrintIR))
        print_ir(kernel);
    if (kernel)
        log_origin(kernel, *hit);
    return kernel;
}

static size_t output_bytes(const Assembly *b, uint32_t output)
{
    const Var *v = var_get(b->outputs[output]);
    bool reduced = b->output_params[output] == SLOT_NO_WORD;
    return (size_t) type_info[v->type].size * (reduced ? var_lanes(v) : b->size);
}

/* Let what is on its way be written before there is too much of it. */
static void relieve(ThreadState *ts, Assembly *b)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->output_count; ++i)
        bytes += output_bytes(b, i);
    if (!work_is_congested(ts, b->device, bytes))
        return;
    hold(b);
    work_relieve(ts, b->device, bytes);
}

static void drop_outputs(Assembly *b, uint32_t count)
{
    while (count-- > 0)
        buffer_release(b->operands[--b->operand_count].buffer);
}

/* Memory for each output, of many at once. On failure none is left. */
static bool get_outputs(Assembly *b)
{
    Stream *stream = stream_self(b->device);
    TRY(vec_reserve(&b->operands, &b->operand_capacity,
                    b->operand_count + b->output_count, sizeof(LaunchArray)), false);
    for (uint32_t i = 0; i < b->output_count;) {
        size_t sizes[BUFFER_BATCH];
        Buffer *buffers[BUFFER_BATCH];
        uint32_t count = 0;
        const uint32_t first = i;
        do
            sizes[count++] = output_bytes(b, i++);
        while (i < b->output_count && count < BUFFER_BATCH);
        if (!buffer_get_all(b->device, count, sizes, buffers)) {
            drop_outputs(b, first);
            return false;
        }
        for (uint32_t k = 0; k < count; ++k) {
            uses_begin(buffers[k], stream);
            b->operands[b->operand_count++] =
                (LaunchArray) { buffers[k], b->output_params[first + k], SLOT_WRITE };
        }
    }
    return true;
}

/* The launch is queued: its outputs are what the variables contain from now on. One may
 * be all that holds another, which is the result of a region. */
static void finish_group(Assembly *b)
{
    const LaunchArray *results = &b->operands[b->operand_count - b->output_count];
    for (uint32_t i = 0; i < b->output_count; ++i)
        var_inc(b->outputs[i]);
    for (uint32_t i = 0; i < b->output_count; ++i) {
        Var *v = var_get(b->outputs[i]);
        if (v->op == OP_EVALUATED) { /* another thread was faster */
            buffer_release(results[i].buffer);
            continue;
        }
        var_set_buffer(b->outputs[i], results[i].buffer);
        Extra *extra = extra_find(v);
        if (extra && extra->callback)
            state_defer(extra->call, extra->callback, b->outputs[i], 0,
                        extra->payload);
    }
    for (uint32_t i = 0; i < b->consumed_count; ++i)
        if (var_get(b->consumed[i])->op != OP_EVALUATED)
            var_consume(b->consumed[i]);
    for (uint32_t i = 0; i < b->output_count; ++i)
        var_dec(b->outputs[i]);
}

/* What a launch of the assembly's kernel reports to; NULL if nobody wants to know. */
static bool make_report(ThreadState *ts, const Assembly *b, Report **report)
{
    bool wanted = state_flag(ts, JitFlagKernelHistory) || b->program->check_count ||
                  b->program->print_count;
    *report = wanted ? report_make(b) : NULL;
    return *report || !wanted;
}

static void add_history(ThreadState *ts, const Assembly *b, const Kernel *kernel,
                        const Command *command, Report *report, bool hit,
                        uint64_t codegen_ns)
{
    if (state_flag(ts, JitFlagKernelHistory))
        report_add_history(report, ts, &(ReportedLaunch) {
            .command = command, .kernel = kernel, .program = b->program,
            .operation_count = b->program->inst_count,
            .input_count = b->input_count, .output_count = b->output_count,
            .mode = watcher.mode(ts), .hit = hit, .codegen_ns = codegen_ns });
}

static bool submit(ThreadState *ts, Assembly *b, Kernel *kernel, bool hit,
                   uint64_t codegen_ns)
{
    watcher.fused(ts, b);
    if (!kernel)
        return evaluate_fused_submit(ts, b);
    FusedReduction fused[LAUNCH_FUSED];
    evaluate_fused_place(b, fused);
    Report *report;
    TRY(make_report(ts, b, &report), false);
    Command *command = launch_create(&(LaunchSpec) {
        .device = b->device, .kernel = kernel, .program = b->program, .size = b->size,
        .args = b->args, .workers = b->workers, .arrays = b->operands,
        .array_count = b->operand_count, .fused = fused,
        .fused_count = b->fused_count, .check_bounds = b->check_bounds,
        .done = report ? report_done : NULL, .payload = report });
    if (command) {
        command->interrupts = b->interrupts;
        add_history(ts, b, kernel, command, report, hit, codegen_ns);
        watcher.launch(ts, b, kernel, report);
    }
    if (command && work_submit(ts, command))
        return true;
    report_drop(report);
    return false;
}

/* Have the kernel of an assembly write its outputs and finish its variables. */
static bool launch(ThreadState *ts, Assembly *b, Kernel *kernel, bool hit,
                   uint64_t codegen_ns)
{
    TRY(get_outputs(b), false);
    if (!submit(ts, b, kernel, hit, codegen_ns)) {
        drop_outputs(b, b->output_count);
        return false;
    }
    state.launches++;
    finish_group(b);
    return true;
}

/* The same; where memory is short, what is on its way gets a chance to end. */
static bool launch_or_wait(ThreadState *ts, Assembly *b, Kernel *kernel, bool hit,
                           uint64_t codegen_ns)
{
    ErrorRecord before;
    error_save(&before);
    relieve(ts, b);
    if (launch(ts, b, kernel, hit, codegen_ns))
        return true;
    hold(b);
    return work_recover(ts, &before) && launch(ts, b, kernel, hit, codegen_ns);
}

static bool run_group(ThreadState *ts, Workspace *w, const Group *group)
{
    Assembly *b = &w->assembly;
    bool timed = log_enabled(LogLevelInfo) || state_flag(ts, JitFlagKernelHistory);
    uint64_t start = timed ? clock_ns() : 0;
    b->sources = state_flag(ts, JitFlagDebug) || state_flag(ts, JitFlagPrintIR);
    TRY(begin_program(w) && assemble_group(b, w->program, group), false);
    b->device = device_at(group->device);
    TRY(watcher.group(ts, group), false);
    const bool watched = finite_watches(ts, b);
    if (watched)
        hold(b);
    bool computes = w->program->inst_count || b->fused_count != 1 ||
                    b->fused[0].op == REDUCE_COMPRESS, hit = false, ok;
    Kernel *kernel = NULL;
    if (computes) {
        ProgramKey key = cache_key(w->program, b->device, target_get(b->device));
        uint64_t codegen_ns = timed ? clock_ns() - start : 0;
        log_launch(b, &key, codegen_ns);
        kernel = get_kernel(ts, b, &key, &hit);
        ok = kernel && launch_or_wait(ts, b, kernel, hit, codegen_ns);
    } else {
        ok = launch_or_wait(ts, b, NULL, false, 0);
    }
    for (uint32_t i = 0; ok && i < group->effect_count; ++i) {
        VarId effect = group->roots[group->root_count - 1 - i];
        if (var_get(effect)->op == OP_REGION)
            region_has_run(effect);
    }
    if (kernel)
        cache_release(kernel);
    if (ok && watched)
        finite_check(ts, b);
    if (b->retained)
        assemble_drop(b);
    b->retained = false;
    if (ok && state_flag(ts, JitFlagLaunchBlocking)) {
        state_pause(ts);
        stream_sync(stream_self(b->device));
        state_resume(ts);
    }
    return ok;
}

/* -------------------------------------------------------------- evaluation */

/* Of the scheduled variables, keep those that somebody still holds and that are not in
 * memory yet, each once. */
static uint32_t filter_scheduled(VarId *ids, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i) {
        Var *v = var_get(ids[i]);
        if (v->refs == 1 || v->flags & VAR_RUNNING || v->op == OP_EVALUATED ||
            v->op == OP_LITERAL || v->op == OP_UNDEFINED) {
            var_dec(ids[i]);
        } else {
            v->flags |= VAR_RUNNING;
            ids[kept++] = ids[i];
        }
    }
    for (uint32_t i = 0; i < kept; ++i)
        var_get(ids[i])->flags &= (uint8_t) ~VAR_RUNNING;
    return kept;
}

static void poison(Var *v)
{
    const Extra *extra = extra_find(v);
    v->flags |= VAR_POISONED;
    if (extra && extra->expanded_of)
        var_get(extra->expanded_of)->flags |= VAR_POISONED;
}

/* A write cannot be performed, so the arrays it was for are wrong from now on, and the
 * results of a region are lost. Using them is an error. */
static void poison_targets(VarId effect)
{
    uint32_t targets;
    const VarId *target = region_targets(effect, &targets);
    for (uint32_t k = 0; k < targets; ++k)
        poison(var_get(target[k]));
    const Var *v = var_get(effect);
    for (uint32_t k = 0; v->op == OP_REGION && k < v->region->count; ++k)
        if (v->region->results[k])
            poison(var_get(v->region->results[k]));
}

/* Put the writes of the groups from 'first' on back into the list, in order; they may
 * run when there is memory again. The number of entries. */
static uint32_t keep_effects(const Schedule *schedule, uint32_t first, VarId *effects)
{
    uint32_t kept = 0;
    for (uint32_t g = first; g < schedule->group_count; ++g) {
        const Group *group = &schedule->groups[g];
        for (uint32_t i = group->root_count - group->effect_count;
             i < group->root_count; ++i) {
            var_inc(group->roots[i]);
            effects[kept++] = group->roots[i];
        }
    }
    return kept;
}

/* Launches in a row, of as many lanes or of one for each row of them, are begun
 * together, as what one of them writes may be in the cache when the next one reads it
 * (cpu_chain.h). So are all of a thread that holds them back (cpu_batch.h). */
static bool is_continued(const Schedule *schedule, uint32_t number)
{
    const Group *group = &schedule->groups[number], *next = group + 1;
    return number + 1 < schedule->group_count && next->device == group->device &&
           stream_go_together(device_at(group->device), group->size, next->size);
}

static bool run_continued(ThreadState *ts, Workspace *w, const Schedule *schedule,
                          uint32_t number, bool *held)
{
    const Group *group = &schedule->groups[number];
    bool more = ts->deferring || is_continued(schedule, number);
    Stream *stream = more || *held ? stream_self(device_at(group->device)) : NULL;
    if (stream && more)
        stream_defer(stream, ts->deferring, group->size);
    bool ok = run_group(ts, w, group);
    if (stream && !(more && ok))
        stream_let_go(stream);
    *held = more && ok;
    return ok;
}

/* The first error is the one to report: groups that need what another one has not made
 * fail, too. */
static bool run_groups(ThreadState *ts, Workspace *w, const Schedule *schedule,
                       VarId *effects, uint32_t *effect_count)
{
    bool ok = true, held = false;
    ErrorRecord first;
    *effect_count = 0;
    w->assembly.interrupts = interrupt_requests();
    for (uint32_t i = 0; i < schedule->group_count; ++i) {
        const Group *group = &schedule->groups[i];
        if (run_continued(ts, w, schedule, i, &held))
            continue;
        if (error_code() == JIT_ERROR_MEMORY) {
            *effect_count = keep_effects(schedule, i, effects);
            return false;
        }
        if (ok)
            error_save(&first);
        ok = false;
        for (uint32_t k = group->root_count - group->effect_count;
             k < group->root_count; ++k)
            poison_targets(group->roots[k]);
    }
    if (!ok)
        error_restore(&first);
    return ok;
}

static bool run_effects(ThreadState *ts, ThreadState *owner, const VarId *vars,
                        uint32_t var_count);

/* Have regions evaluated that what is in the lists needs results of, and that are
 * another thread's. */
static bool run_foreign(ThreadState *ts, const VarId *vars, uint32_t var_count,
                        const VarId *effects, uint32_t effect_count)
{
    bool ok = true;
    while (ok && effects_foreign_exist(ts)) {
        VarId region;
        ok = effects_find_foreign(vars, var_count, effects, effect_count, &region);
        if (!region)
            break;
        ThreadState *owner = effects_owner(region);
        if (owner)
            ok = run_effects(ts, owner, NULL, 0);
        else if (ts->evaluating || !state_wait_eval())
            break; /* which is an error: assemble_region.c */
    }
    return ok;
}

/* Run what is in the lists, which stay the caller's. References are taken over, except
 * those of effects that stay queued for want of memory: these are left at the start
 * of 'effects', and '*effect_count' is their number. */
static bool run_lists(ThreadState *ts, const VarId *vars, uint32_t var_count,
                      VarId *effects, uint32_t *effect_count)
{
    bool ok = run_foreign(ts, vars, var_count, effects, *effect_count);
    *effect_count = effects_filter(effects, *effect_count);
    if (!(var_count + *effect_count))
        return ok;
    Workspace *w = take_workspace(ts);
    Schedule schedule;
    if (!w || !schedule_make(ts, &schedule, vars, var_count, effects, *effect_count)) {
        for (uint32_t i = 0; i < var_count; ++i)
            var_dec(vars[i]);
        free_workspace(w);
        return false;
    }
    log_write(LogLevelInfo, "jit_eval(): launching %u kernel%s.", schedule.group_count,
              schedule.group_count == 1 ? "" : "s");
    bool writes = *effect_count != 0;
    ts->evaluating++;
    ts->writing += writes;
    ok &= run_groups(ts, w, &schedule, effects, effect_count);
    log_write(LogLevelDebug, "jit_eval(): cleaning up..");
    schedule_free(&schedule);
    ts->evaluating--;
    ts->writing -= writes;
    ok &= expand_collapse_idle(ts);
    return_workspace(ts, w);
    state_signal_eval();
    log_write(LogLevelInfo, "jit_eval(): done.");
    return ok;
}

/* Give a list of effects back to its thread: those that stayed queued come before what
 * callbacks may have queued meanwhile. Without memory for both in one list, the latter
 * will not be performed. */
static void return_effects(ThreadState *ts, VarId *effects, uint32_t count,
                           uint32_t capacity)
{
    if (ts->effects && !count) {
        alloc_free(effects);
        return;
    }
    if (ts->effect_count &&
        vec_reserve(&effects, &capacity, count + ts->effect_count, sizeof(VarId))) {
        memcpy(effects + count, ts->effects, ts->effect_count * sizeof(VarId));
        count += ts->effect_count;
        ts->effect_count = 0;
    }
    for (uint32_t i = 0; i < ts->effect_count; ++i) {
        poison_targets(ts->effects[i]);
        var_dec(ts->effects[i]);
    }
    alloc_free(ts->effects);
    ts->effects = effects;
    ts->effect_count = count;
    ts->effect_capacity = capacity;
}

/* A log callback evaluates in the midst of an evaluation. */
static bool refuse_writes(const VarId *vars, uint32_t var_count)
{
    for (uint32_t i = 0; i < var_count; ++i)
        var_dec(vars[i]);
    return error_set(JIT_ERROR_STATE,
                     "jit_eval(): a log callback cannot have writes evaluated while "
                     "others that come before them are");
}

/* Run the writes that a thread has queued, with variables of the calling one. */
static bool run_effects(ThreadState *ts, ThreadState *owner, const VarId *vars,
                        uint32_t var_count)
{
    if (ts->writing && owner->effect_count)
        return refuse_writes(vars, var_count);
    VarId *effects = owner->effects;
    uint32_t count = owner->effect_count, capacity = owner->effect_capacity;
    owner->effects = NULL;
    owner->effect_count = owner->effect_capacity = 0;
    uint64_t serial = owner->serial;
    owner->stolen += owner != ts;
    bool ok = run_lists(ts, vars, var_count, effects, &count);
    /* The owner may have ended while the lock was released. */
    for (ThreadState *t = state.threads; t; t = t->next)
        if (t->serial == serial) {
            owner->stolen -= owner != ts;
            return_effects(owner, effects, count, capacity);
            if (owner->ended && !owner->effect_count)
                state_bury(owner);
            return ok;
        }
    return_effects(ts, effects, count, capacity);
    return ok;
}

/* Run what threads that have ended have left. */
static bool run_ended(ThreadState *ts)
{
    bool ok = true;
    for (ThreadState *owner = state.threads; ok && state.ended && owner;) {
        bool ended = owner->ended && owner->effect_count;
        ok = !ended || run_effects(ts, owner, NULL, 0);
        owner = ended ? state.threads : owner->next; /* the list may have changed */
    }
    return ok;
}

bool evaluate_all(ThreadState *ts)
{
    if (state.closing)
        return error_set(JIT_ERROR_STATE, "jit_eval(): another thread is shutting the "
                         "library down");
    bool earlier = ts->writing || run_ended(ts);
    /* Earlier writes of this thread that another one runs come before those to come.
     * (A log callback cannot wait: that thread may be waiting for this one.) */
    while (ts->stolen && !ts->evaluating && state_wait_eval())
        continue;
    earlier &= evaluate_fused_schedule(ts);
    VarId *vars = ts->scheduled;
    uint32_t capacity = ts->scheduled_capacity;
    uint32_t count = filter_scheduled(vars, ts->scheduled_count);
    ts->scheduled = NULL;
    ts->scheduled_count = ts->scheduled_capacity = 0;
    bool ok = run_effects(ts, ts, vars, count) && earlier;
    if (ts->scheduled) {
        alloc_free(vars);
    } else {
        ts->scheduled = vars;
        ts->scheduled_capacity = capacity;
    }
    return ok;
}

static bool refuse_symbolic(VarId id)
{
    char name[150];
    extra_describe(id, name, sizeof(name));
    return error_set(JIT_ERROR_SYMBOLIC,
                     "jit_eval(): cannot evaluate %s: it is symbolic, i.e. it depends "
                     "on a loop, conditional or call that is being traced, and has no "
                     "value before that runs",
                     name);
}

bool evaluate_schedule(ThreadState *ts, VarId id, bool *scheduled)
{
    Var *v = var_get(id);
    if (scheduled)
        *scheduled = false;
    if (evaluate_is_done(v))
        return true;
    if (v->flags & VAR_UNUSABLE)
        return node_usable(ts, id, "jit_var_schedule()", "the variable");
    if (v->flags & VAR_SYMBOLIC)
        return refuse_symbolic(id);
    if (v->op == OP_UNDEFINED) {
        TRY(evaluate_literal(ts, id), false);
    } else if (v->op != OP_EVALUATED) {
        TRY(vec_reserve(&ts->scheduled, &ts->scheduled_capacity,
                        ts->scheduled_count + 1, sizeof(VarId)),
            false);
        ts->scheduled[ts->scheduled_count++] = id;
        var_inc(id);
    }
    if (scheduled)
        *scheduled = true;
    return true;
}

bool evaluate_literal(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    uint32_t entry = type_info[v->type].size;
    var_inc(id); /* the lock may be released */
    Buffer *buffer = work_buffer(ts, v->device, var_bytes(v));
    v = var_get(id);
    bool ok = buffer != NULL;
    if (ok && v->op == OP_UNDEFINED) {
        ok = watcher.undefined(ts, id, buffer);
    } else if (ok && v->op == OP_LITERAL) {
        watcher.size_of(ts, id);
        ok = work_fill(ts, buffer, v->value.literal, entry);
    }
    if (ok && v->op != OP_EVALUATED)
        var_set_buffer(id, buffer);
    else /* out of memory, or another thread was faster */
        buffer_release(buffer);
    var_dec(id);
    return ok;
}

bool evaluate_effects(ThreadState *ts)
{
    for (ThreadState *owner = state.threads; owner;) {
        bool work = owner->effect_count != 0;
        TRY(run_effects(ts, owner, NULL, 0), false);
        owner = work ? state.threads : owner->next; /* the list may have changed */
    }
    return true;
}

bool evaluate_pending(ThreadState *ts, VarId id)
{
    bool ok = true;
    var_inc(id); /* the lock may be released on the way */
    while (ok && var_pending(var_get(id))) {
        VarId expanded = expand_copies_of(id);
        if (expanded) {
            ok = var_get(expanded)->pending ? evaluate_pending(ts, expanded)
                                            : expand_collapse(ts, id);
            continue;
        }
        ThreadState *owner = effects_writer(id);
        if (owner == ts) {
            ok = evaluate_all(ts);
        } else if (owner) {
            ok = run_effects(ts, owner, NULL, 0);
        } else if (!ts->evaluating && effects_are_kept(ts, id)) {
            ok = evaluate_all(ts) && effects_run_kept(ts) && evaluate_all(ts);
        } else if (ts->evaluating || !state_wait_eval()) {
            /* Otherwise another thread is compiling their kernel: we have waited for
             * it. */
            ok = !ts->evaluating
                     ? effects_refuse_read(ts, id)
                     : error_set(JIT_ERROR_STATE,
                                 "jit_eval(): r%u cannot be read now: writes to it are "
                                 "being evaluated, and a log callback cannot wait for "
                                 "them", id);
        }
    }
    var_dec(id);
    return ok;
}

bool evaluate_var(ThreadState *ts, VarId id)
{
    Var *v = var_get(id);
    if (v->flags & VAR_UNUSABLE)
        return node_usable(ts, id, "jit_eval()", "the variable");
    if (v->op == OP_EVALUATED)
        return v->pending ? evaluate_pending(ts, id) : true;
    if (v->op == OP_LITERAL || v->op == OP_UNDEFINED)
        return evaluate_literal(ts, id);
    TRY(evaluate_schedule(ts, id, NULL), false);
    bool all = evaluate_all(ts);
    if (var_get(id)->op == OP_EVALUATED) /* whatever else may have failed */
        return true;
    return !all ? false : error_set(JIT_ERROR_STATE, "jit_eval(): r%u could not be "
                                    "evaluated", id);
}

bool evaluate_program_text(ThreadState *ts, VarId id, Text *out)
{
    if (pending_table.live || pending_arrays_wait())
        TRY(evaluate_fused_below(ts, id), false);
    Workspace *w = take_workspace(ts);
    TRY(w, false);
    bool ok = begin_program(w) && assemble_preview(&w->assembly, w->program, id);
    if (ok)
        program_write(w->program, out);
    return_workspace(ts, w);
    return ok;
}

const Hooks hooks = { evaluate_pending, effects_take_back, free_workspace };
