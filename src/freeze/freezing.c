/*
 * freezing.c -- recording: what sizes are, what comes in and goes out; see freezing.h
 */
#include "freeze/freezing_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/stream.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/work.h"
#include "trace/graph/pending.h"
#include "trace/graph/node.h"
#include "trace/graph/record.h"
#include "trace/graph/region_walk.h"

/* ------------------------------------------------- symbolic sizes of variables */

/* What is known of a variable from the table, which only has arrays in memory and what
 * has no operands; 0: nothing. */
static SymSize known_symsize(const ThreadState *ts, VarId id)
{
    if (op_info[var_get(id)->op].arity)
        return 0;
    return (SymSize) (uintptr_t) table_get(&ts->freezing->symsizes, &id, sizeof(id));
}

/* From now on a variable has this symbolic size. */
static bool set_symsize(ThreadState *ts, VarId id, SymSize symsize)
{
    Freezing *f = ts->freezing;
    SymSize known = known_symsize(ts, id);
    if (known && known != FREEZING_LANES)
        return symsize == FREEZING_LANES ||
               symsize_assume(freezing_terms(ts), SYMSIZE_EQUAL, known, symsize);
    assert(!op_info[var_get(id)->op].arity);
    TRY(symsize && (known || var_ids_add(&f->sized, id)), false);
    if (!known)
        var_inc(id);
    return table_put(&f->symsizes, &id, sizeof(id), (void *) (uintptr_t) symsize);
}

/* The symbolic size of an array in memory. */
static SymSize symsize_of_array(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    Recorder *r = &ts->freezing->recorder;
    if (!var_lanes(v))
        return freezing_number(ts, 0);
    uint32_t number = recorder_find(r, v->value.buffer);
    if (number == RECORDER_UNKNOWN)
        return freezing_foreign_symsize(ts, id);
    const FrozenArray *array = &r->recording.arrays[number];
    SymSize symsize = array->symsize;
    if (array->entry == type_info[v->type].size &&
        symsize_value(freezing_terms(ts), symsize) == var_lanes(v))
        return symsize;
    return symsize_pin(freezing_terms(ts), symsize) ? freezing_number(ts, var_lanes(v))
                                                    : 0;
}

/* The symbolic size of a variable that depends on no others. A size that may be that of
 * any input pins them all. */
static SymSize symsize_of_leaf(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    SymSize known = known_symsize(ts, id);
    if (known)
        return known;
    if (v->op == OP_EVALUATED)
        return symsize_of_array(ts, id);
    if (pending_is(v) && v->op != OP_COMPRESS &&
        var_lanes(v) > 1) { /* each level halves it */
        SymSize lanes = freezing_symsize(ts, v->dep[0]);
        SymSize block = freezing_reduction_block(ts, v);
        return lanes && block
                   ? symsize_make(freezing_terms(ts), SYMSIZE_DIV, lanes, block)
                   : 0;
    }
    if (var_lanes(v) > 1)
        recorder_pin(&ts->freezing->recorder);
    return freezing_number(ts, var_lanes(v));
}

/* A walk over what variables of one size are computed from. */
typedef struct Sizing {
    ThreadState *ts;
    RegionWalk walk;
    uint32_t size;
    SymSize symsize; /* 0: nothing is known yet, */
    bool lanes;  /* ... but that it is FREEZING_LANES */
} Sizing;

/* Something of the size in question has this symbolic size: all such are equal. */
static bool meet(Sizing *s, SymSize symsize)
{
    TRY(symsize, false);
    if (s->symsize &&
        !symsize_assume(freezing_terms(s->ts), SYMSIZE_EQUAL, s->symsize, symsize))
        return false;
    if (!s->symsize || symsize_is_constant(freezing_terms(s->ts), s->symsize))
        s->symsize = symsize;
    return true;
}

/* A variable that others are not looked for after. */
static bool meet_leaf(Sizing *s, VarId id)
{
    const Var *v = var_get(id);
    SymSize symsize = symsize_of_leaf(s->ts, id);
    return symsize && (var_lanes(v) != s->size || meet(s, symsize));
}

static bool visit(Sizing *s, VarId id)
{
    const Var *v = var_get(id);
    const Freezing *f = s->ts->freezing;
    if (v->op == OP_LITERAL && var_lanes(v) == 1 && s->size != 1)
        return true; /* as most of them are */
    uint32_t count;
    (void) var_operands(v, &count);
    const SymSize known = known_symsize(s->ts, id);
    s->lanes |=
        var_lanes(v) == s->size && (known == FREEZING_LANES || v->op == OP_LOCAL);
    if (known == FREEZING_LANES)
        return true;
    if (f->over_count && v->op != OP_EVALUATED && v->op != OP_LITERAL &&
        freezing_loop_is_over(s->ts, v->scope))
        recorder_refuse(&s->ts->freezing->recorder, "what the body of an evaluated "
                        "loop leaves uncomputed in an object that is not a state is "
                        "used after the loop");
    if (v->op == OP_POINTER && !v->dep[0]) {
        recorder_refuse(&s->ts->freezing->recorder, "an address is used");
    } else if (v->op == OP_POINTER) {
        if (var_get(v->dep[0])->op == OP_EVALUATED)
            TRY(symsize_of_array(s->ts, v->dep[0]), false);
    } else {
        bool placeholder = v->op == OP_STATE || v->op == OP_ACTIVE;
        bool resized = pending_is(v) && v->op != OP_PREFIX;
        bool leaf = v->op == OP_EVALUATED || count == 0 || resized || known;
        return leaf && !placeholder ? meet_leaf(s, id)
                                    : region_walk_into(&s->walk, id, 0, count);
    }
    return true;
}

/* The symbolic size of all variables of this size that the roots depend on; with
 * 'inside', FREEZING_LANES if that is all that is known. */
static SymSize common_symsize(ThreadState *ts, const VarId *roots, uint32_t count,
                            uint32_t size, bool inside)
{
    Sizing s = { .ts = ts, .size = size };
    TRY(region_walk_begin(&s.walk), 0);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; ++i) {
        VarId id;
        region_walk_from(&s.walk, roots[i]);
        while (ok && (id = region_walk_next(&s.walk)) != 0)
            ok = id == roots[i] && pending_is(var_get(id)) && size != var_lanes_of(id)
                     ? region_walk_operands(&s.walk, id)
                     : visit(&s, id);
    }
    region_walk_end(&s.walk);
    TRY(ok, 0);
    if (s.symsize || (inside && s.lanes))
        return s.symsize ? s.symsize : FREEZING_LANES;
    if (size > 1)
        recorder_pin(&ts->freezing->recorder);
    return freezing_number(ts, size);
}

SymSize freezing_symsize(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    const bool array = v->op == OP_EVALUATED && known_symsize(ts, id) != FREEZING_LANES;
    return array ? symsize_of_leaf(ts, id)
                 : common_symsize(ts, &id, 1, var_lanes(v), false);
}

SymSize freezing_size(ThreadState *ts, VarId id)
{
    const VarId outside = loop_array_begin(ts, id);
    return var_get(outside)->flags & VAR_SYMBOLIC
               ? FREEZING_LANES
               : common_symsize(ts, &outside, 1, var_lanes_of(outside), true);
}

/* ------------------------------------------------------------ what is pinned */

void freezing_pin(ThreadState *ts, VarId id)
{
    if (!watch_records(ts))
        return;
    Recorder *r = &ts->freezing->recorder;
    const bool complete = !(var_get(id)->flags & VAR_SYMBOLIC); /* is its region? */
    SymSize symsize = complete ? freezing_symsize(ts, id) : 0;
    if (!complete)
        recorder_pin(r);
    else if (!symsize || !symsize_pin(&r->recording.symsizes, symsize))
        r->failed = true;
}

bool freezing_keeps(ThreadState *ts, VarId id, SymSize symsize)
{
    TRY(watch_records(ts) && symsize != FREEZING_LANES, true);
    if (!symsize)
        freezing_pin(ts, id);
    SymSize own = symsize ? freezing_size(ts, id) : FREEZING_LANES;
    return own == FREEZING_LANES ||
           (own && symsize_assume(freezing_terms(ts), SYMSIZE_EQUAL, own, symsize));
}

bool freezing_blocks(ThreadState *ts, VarId id, size_t block)
{
    TRY(watch_records(ts), true);
    return freezing_divides(ts, id, freezing_number(ts, block));
}

void freezing_size_of(ThreadState *ts, VarId id)
{
    if (watch_records(ts))
        ts->freezing->recorder.size = freezing_symsize(ts, id);
}

void freezing_size_is(ThreadState *ts, uint64_t size)
{
    if (watch_records(ts))
        ts->freezing->recorder.size = freezing_number(ts, size);
}

bool freezing_size_given(ThreadState *ts, SymSize symsize, uint64_t size)
{
    freezing_size_is(ts, size);
    TRY(symsize && watch_records(ts), true);
    if (symsize == FREEZING_LANES) {
        recorder_pin(&ts->freezing->recorder);
        return true;
    }
    ts->freezing->recorder.size = symsize;
    return symsize_pin_kind(freezing_terms(ts), symsize);
}

bool freezing_size_group(ThreadState *ts, const Group *group)
{
    TRY(watch_records(ts), true);
    SymSize symsize =
        common_symsize(ts, group->roots, group->root_count, group->size, false);
    ts->freezing->recorder.size = symsize;
    return symsize != 0;
}

bool freezing_constant(ThreadState *ts, VarId id)
{
    TRY(watch_records(ts), true);
    const Var *v = var_get(id);
    SymSize symsize = freezing_number(ts, var_lanes(v));
    TRY(symsize && var_ids_add(&ts->freezing->made->held, id), false);
    var_inc(id);
    return recorder_constant(&ts->freezing->recorder, v->value.buffer, symsize,
                             type_info[v->type].size);
}

bool freezing_undefined(ThreadState *ts, VarId id, Buffer *buffer)
{
    TRY(watch_records(ts), true);
    SymSize symsize = freezing_symsize(ts, id);
    return symsize && recorder_undefined(&ts->freezing->recorder, buffer, symsize,
                                         type_info[var_get(id)->type].size);
}

bool freezing_count(ThreadState *ts, VarId id, const Buffer *buffer, VarId place)
{
    TRY(watch_records(ts), true);
    freezing_note_decision(ts);
    SymSize at = place ? freezing_symsize(ts, place) : freezing_number(ts, 0);
    TRY(at, false);
    SymSize symsize =
        recorder_read(&ts->freezing->recorder, buffer, at, var_lanes_of(id));
    return symsize && symsize_pin_kind(freezing_terms(ts), symsize) &&
           set_symsize(ts, id, symsize);
}

void freezing_hint(ThreadState *ts, SymSize symsize, size_t size)
{
    if (!watch_records(ts))
        return;
    ts->freezing->hint = symsize;
    ts->freezing->hint_size = size;
}

SymSize freezing_take_hint(ThreadState *ts, size_t size)
{
    TRY(ts->freezing, 0);
    SymSize symsize = ts->freezing->hint;
    ts->freezing->hint = 0;
    return ts->freezing->hint_size == size ? symsize : 0;
}

VarId freezing_give(ThreadState *ts, VarId id, SymSize symsize)
{
    if (!id || !symsize || !watch_records(ts))
        return id;
    if ((symsize != FREEZING_LANES && !symsize_pin_kind(freezing_terms(ts), symsize)) ||
        (var_lanes_of(id) > 1 && !set_symsize(ts, id, symsize)))
        var_clear(&id);
    return id;
}

VarId freezing_sized(ThreadState *ts, VarId id)
{
    const uint32_t size = id ? var_lanes_of(id) : 0;
    SymSize symsize = freezing_take_hint(ts, size);
    if (!id || !watch_records(ts))
        return id;
    if (!symsize && !(symsize = freezing_number(ts, size)))
        var_clear(&id);
    return freezing_give(ts, id, symsize);
}

bool freezing_like(ThreadState *ts, VarId id, SymSize *symsize)
{
    *symsize = watch_records(ts) ? freezing_size(ts, id) : 0;
    return *symsize || !watch_records(ts);
}

bool freezing_varies(ThreadState *ts, VarId id)
{
    return freezing_is_general(ts) && !(var_get(id)->flags & VAR_SYMBOLIC) &&
           freezing_number_varies(ts, freezing_symsize(ts, id));
}

bool freezing_assume_distance(ThreadState *ts, const Distance *distance)
{
    const VarId id = distance->array;
    if (!id || !watch_records(ts) || var_maker(id) == ts->recording)
        return true;
    const Freezing *f = ts->freezing;
    const uintptr_t number = (uintptr_t) table_get(&f->numbers, &id, sizeof(id));
    if (!number || f->made->general)
        return false;
    FrozenInput *input = &f->made->inputs[number - 1];
    if (f->checks)
        return input->bits == var_get(id)->aux;
    input->bits = var_get(id)->aux;
    return true;
}

VarId freezing_keep_size(ThreadState *ts, VarId id, const VarId *operands,
                         uint32_t count)
{
    const uint32_t size = var_lanes_of(id);
    bool fresh = var_get(id)->op == OP_LITERAL;
    uint32_t wide = 0;
    for (uint32_t i = 0; i < count; ++i) {
        fresh &= operands[i] != id;
        wide += var_lanes_of(operands[i]) == size;
    }
    if (size <= 1 || !watch_records(ts) || (!fresh && wide <= 1))
        return id;
    SymSize symsize = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; ++i) {
        SymSize own;
        if (var_lanes_of(operands[i]) != size)
            continue;
        ok = freezing_like(ts, operands[i], &own);
        if (ok && symsize && symsize != FREEZING_LANES && own != FREEZING_LANES)
            ok = symsize_assume(freezing_terms(ts), SYMSIZE_EQUAL, own, symsize);
        if (!symsize || symsize == FREEZING_LANES)
            symsize = own;
    }
    if (!ok)
        var_clear(&id);
    /* Operands of one entry have as many as that in the replay of a body only. */
    return fresh ? freezing_give(ts, id, symsize ? symsize : FREEZING_LANES) : id;
}

/* ------------------------------------------------------------------ beginning */

/* An array that has nothing that had to be looked at more closely. */
static bool is_plain(VarId id)
{
    const Var *v = var_exists(id) ? var_get(id) : NULL;
    return v && (!var_lanes(v) || (!(v->flags & VAR_UNUSABLE) && !var_pending(v)));
}

static bool check_input(ThreadState *ts, const Device *device, VarId id, uint32_t k)
{
    if (!is_plain(id)) {
        char what[40];
        snprintf(what, sizeof(what), "input %u", k);
        TRY(node_usable(ts, id, "jit_freeze_start()", what), false);
    }
    const Var *v = var_get(id);
    if (v->device != device->index)
        return node_same_device(v->device, device->index, "jit_freeze_start(): input "
                                "%u and the recording", k);
    if (!evaluate_is_done(v))
        return error_set(JIT_ERROR_ARGUMENT, "jit_freeze_start(): input %u (r%u) is "
                         "neither in memory nor a literal", k, id);
    return true;
}

/* Of sizes beyond 1, each is a class. */
static uint32_t class_of(Freezing *f, uint32_t size)
{
    if (size <= 1)
        return size;
    uint32_t number = table_number(&f->classes, &size, sizeof(size), f->classes.count);
    return number == UINT32_MAX ? number : 2 + number;
}

static bool add_input(ThreadState *ts, VarId id, uint32_t k)
{
    Freezing *f = ts->freezing;
    const Var *v = var_get(id);
    bool literal = v->op == OP_LITERAL;
    uint32_t first = table_number(&f->numbers, &id, sizeof(id), k);
    uint32_t same = literal && first != UINT32_MAX ? k : first; /* equal by chance */
    uint32_t size = class_of(f, var_lanes(v));
    TRY(same != UINT32_MAX && size != UINT32_MAX && var_ids_add(&f->inputs, id), false);
    var_inc(id);
    f->made->inputs[k] = (FrozenInput) {
        .type = v->type, .device = v->device, .literal = literal, .same = same,
        .size = size, .bits = literal ? v->value.literal : 0,
        .padded = literal || !var_lanes(v) || buffer_is_padded(v->value.buffer) };
    if (same != k || !var_lanes(v))
        return true;
    SymSize symsize = size == 1 ? freezing_number(ts, 1)
                            : symsize_input(freezing_terms(ts), size, var_lanes(v));
    TRY(symsize && symsize_pin_kind(freezing_terms(ts), symsize), false);
    if (literal)
        return set_symsize(ts, id, symsize);
    return recorder_input(&f->recorder, k, v->value.buffer, symsize,
                          type_info[v->type].size);
}

static void free_freezing(Freezing *f)
{
    if (f->watches)
        var_watch_end();
    freezing_free(f->made);
    stream_release(f->stream);
    recorder_end(&f->recorder);
    recording_free(&f->recorder.recording);
    var_ids_drop(&f->inputs);
    var_ids_drop(&f->sized);
    var_ids_drop(&f->foreign);
    table_free(&f->foreign_numbers);
    table_free(&f->symsizes);
    table_free(&f->bounds);
    table_free(&f->numbers);
    table_free(&f->classes);
    alloc_free(f->over);
    alloc_free(f);
}

static void listen(ThreadState *ts, bool on)
{
    Freezing *f = ts->freezing;
    ts->recording = on ? f->scope : 0;
    stream_set_tap(f->stream, on ? recorder_note : NULL, on ? &f->recorder : NULL);
    f->paused = !on;
    ts->flags = on ? ts->flags | JitFlagFreezingScope
                   : ts->flags & ~(uint32_t) JitFlagFreezingScope;
}

bool freezing_start(ThreadState *ts, Device *device, const VarId *inputs,
                    uint32_t count)
{
    if (ts->freezing || ts->body)
        return error_set(JIT_ERROR_STATE, "jit_freeze_start(): the calling thread is "
                         "recording %s already",
                         ts->freezing ? "a function" : "a loop, conditional or call");
    TRY(evaluate_all(ts), false);
    for (uint32_t i = 0; i < count; ++i)
        TRY(check_input(ts, device, inputs[i], i), false);
    Stream *stream = stream_self(device);
    Freezing *f = stream ? alloc_zero(1, sizeof(Freezing)) : NULL;
    TRY(f, false);
    f->recorder.recording.device = device;
    f->stream = stream;
    stream_retain(stream); /* threads end in the midst of things */
    f->serial = ++state.freezings;
    f->made = alloc_zero(1, sizeof(Frozen));
    if (f->made) {
        f->made->flags = freezing_flags(ts);
        f->made->inputs = alloc_zero(count ? count : 1, sizeof(FrozenInput));
    }
    f->scope = record_new_scope();
    f->scope_before = ts->scope;
    ts->freezing = f;
    bool ok = f->made && f->made->inputs && f->scope &&
              (f->watches = var_watch_begin());
    for (uint32_t i = 0; ok && i < count; ++i)
        ok = add_input(ts, inputs[i], i);
    if (ok) {
        ts->scope = f->scope;
        listen(ts, true);
        return true;
    }
    ts->freezing = NULL;
    free_freezing(f);
    return false;
}

static bool check_started(const ThreadState *ts, const char *function)
{
    return ts->freezing || error_set(JIT_ERROR_STATE, "%s: the calling thread is not "
                                     "recording a function", function);
}

uint32_t freezing_serial(const ThreadState *ts)
{
    return ts->freezing ? ts->freezing->serial : 0;
}

SymSizes *freezing_symsizes(ThreadState *ts, const char *function)
{
    return check_started(ts, function) ? freezing_terms(ts) : NULL;
}

bool freezing_set_general(ThreadState *ts, bool general)
{
    TRY(check_started(ts, "jit_freeze_set_general()"), false);
    ts->freezing->made->general = general;
    return true;
}

bool freezing_is_general(const ThreadState *ts)
{
    return watch_records(ts) && ts->freezing->made->general &&
           !ts->freezing->recorder.pinned;
}

bool freezing_bind(ThreadState *ts)
{
    TRY(check_started(ts, "jit_freeze_bind()"), false);
    recorder_pin(&ts->freezing->recorder);
    return !ts->freezing->recorder.failed;
}

bool freezing_pause(ThreadState *ts)
{
    TRY(check_started(ts, "jit_freeze_pause()") && evaluate_all(ts), false);
    Freezing *f = ts->freezing;
    TRY(!f->paused, true);
    if (f->recorder.loop)
        freezing_refuse(ts, "something is left out within an evaluated loop");
    const uint32_t aside = ts->body ? record_new_scope() : f->scope_before;
    TRY(aside || !ts->body, false);
    f->scope_within = ts->scope;
    ts->scope = aside;
    listen(ts, false);
    return true;
}

bool freezing_resume(ThreadState *ts)
{
    TRY(check_started(ts, "jit_freeze_resume()") && evaluate_all(ts), false);
    Freezing *f = ts->freezing;
    TRY(f->paused, true);
    ts->scope = f->scope_within;
    listen(ts, true);
    return true;
}

VarId freezing_copy(ThreadState *ts, VarId id)
{
    static const char function[] = "jit_freeze_copy()";
    TRY(check_started(ts, function) && node_usable(ts, id, function, "the array"), 0);
    const bool listens = watch_records(ts);
    if (var_get(id)->op != OP_EVALUATED)
        return (VarId) error_set(JIT_ERROR_ARGUMENT, "%s: r%u is not in memory",
                                 function, id);
    listen(ts, false);
    VarId copy = work_duplicate(ts, id);
    listen(ts, listens);
    return copy;
}

void freezing_abort(ThreadState *ts)
{
    Freezing *f = ts->freezing;
    if (!f)
        return;
    listen(ts, false);
    *record_outermost_scope(ts) = f->scope_before;
    ts->freezing = NULL;
    free_freezing(f);
}

/* ------------------------------------------------------------------------ end */

static bool place_of(const VarIds *list, VarId id, uint32_t *place)
{
    for (*place = 0; *place < list->count; ++*place)
        if (list->ids[*place] == id)
            return true;
    return false;
}

/* What becomes of an output, which is evaluated. */
static bool describe_output(ThreadState *ts, VarId id, FrozenOutput *out)
{
    Freezing *f = ts->freezing;
    const Var *v = var_get(id);
    *out = (FrozenOutput) { .kind = FROZEN_RESULT_ARRAY, .type = v->type,
                            .device = v->device, .number = RECORDER_UNKNOWN };
    uintptr_t input = (uintptr_t) table_get(&f->numbers, &id, sizeof(id));
    if (input) {
        out->kind = FROZEN_RESULT_INPUT;
        out->number = (uint32_t) (input - 1);
        return true;
    }
    out->symsize = freezing_symsize(ts, id);
    TRY(out->symsize, false);
    if (v->op == OP_LITERAL) {
        out->kind = FROZEN_RESULT_LITERAL;
        out->bits = v->value.literal;
    } else if (place_of(&f->made->held, id, &out->number)) {
        out->kind = FROZEN_RESULT_HELD;
    } else if (var_lanes(v)) {
        out->number = recorder_find(&f->recorder, v->value.buffer);
        if (out->number == RECORDER_UNKNOWN)
            return f->recorder.refused || f->foreign.count;
        if (f->recorder.recording.arrays[out->number].kind == FROZEN_LOST)
            recorder_refuse(&f->recorder, "a result is an array of one iteration of an "
                                          "evaluated loop");
        recorder_keep(&f->recorder, out->number);
    }
    return true;
}

/* Literals stay what they are. */
static bool evaluate_output(ThreadState *ts, VarId id)
{
    return evaluate_is_done(var_get(id)) || evaluate_var(ts, id);
}

static bool describe_outputs(ThreadState *ts, const VarId *outputs, uint32_t count,
                             FrozenOutput *out)
{
    for (uint32_t i = 0; i < count; ++i) {
        node_read(ts, outputs[i]);
        TRY(evaluate_is_done(var_get(outputs[i])) ||
                evaluate_schedule(ts, outputs[i], NULL),
            false);
    }
    TRY(evaluate_all(ts), false);
    recorder_loop_end(&ts->freezing->recorder);
    Table first = { 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; ++i) {
        ok = evaluate_output(ts, outputs[i]) &&
             describe_output(ts, outputs[i], &out[i]);
        out[i].same = table_number(&first, &outputs[i], sizeof(VarId), i);
        ok = ok && out[i].same != UINT32_MAX;
    }
    table_free(&first);
    TRY(ok, false);
    const Recorder *r = &ts->freezing->recorder;
    if (r->failed)
        return error_set(JIT_ERROR_MEMORY, "jit_freeze_stop(): memory ran out while "
                         "commands were recorded");
    if (ts->freezing->foreign.count)
        return freezing_refuse_foreign(ts->freezing);
    if (r->refused)
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_freeze_stop(): what was recorded "
                         "cannot be repeated: %s", r->refused);
    return true;
}

static bool check_outputs(const VarId *outputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (!var_exists(outputs[i]))
            return error_set(JIT_ERROR_ARGUMENT, "jit_freeze_stop(): output %u is r%u, "
                             "which is not a variable", i, outputs[i]);
    return true;
}

Frozen *freezing_stop(ThreadState *ts, const VarId *outputs, uint32_t count)
{
    TRY(check_started(ts, "jit_freeze_stop()"), NULL);
    Freezing *f = ts->freezing;
    Frozen *frozen = f->made;
    FrozenOutput *out = alloc_zero(count ? count : 1, sizeof(FrozenOutput));
    bool ok = out && check_outputs(outputs, count) &&
              describe_outputs(ts, outputs, count, out);
    if (ok) {
        frozen->recording = f->recorder.recording;
        memset(&f->recorder.recording, 0, sizeof(Recording));
        frozen->outputs = out;
        frozen->input_count = f->inputs.count;
        frozen->output_count = count;
        f->made = NULL;
    } else {
        alloc_free(out);
    }
    freezing_abort(ts);
    return ok ? frozen : NULL;
}

void freezing_write(const Frozen *frozen, Text *out)
{
    const SymSizes *w = &frozen->recording.symsizes;
    uint32_t broken = atomic_load_explicit(&((Frozen *) frozen)->broken,
                                           memory_order_relaxed);
    recording_write(&frozen->recording, out);
    if (!broken)
        return;
    text_put(out, "not met the last time: ");
    if (broken <= w->guard_count)
        symsize_write_guard(w, &w->guards[broken - 1], out);
    else
        recording_write_decision(&frozen->recording, broken - w->guard_count - 1, out);
    text_put(out, "\n");
}

void freezing_free(Frozen *frozen)
{
    if (!frozen)
        return;
    recording_free(&frozen->recording);
    for (uint32_t i = 0; i < frozen->report_count; ++i)
        report_drop(frozen->reports[i]);
    alloc_free(frozen->reports);
    for (uint32_t i = 0; i < frozen->domain_count; ++i) {
        alloc_free(frozen->domains[i].variant);
        alloc_free(frozen->domains[i].name);
    }
    alloc_free(frozen->domains);
    var_ids_drop(&frozen->held);
    alloc_free(frozen->inputs);
    alloc_free(frozen->outputs);
    alloc_free(frozen);
}

const Watch watcher = { freezing_abort, freezing_pin, freezing_keep_size,
                      freezing_note_read, freezing_size_of, freezing_undefined,
                      freezing_copies, freezing_combine, freezing_size_group,
                      freezing_fused, freezing_launch, freezing_mode };
