/*
 * assemble_call.c -- see assemble_call.h
 *
 * A variable from outside carries, while a call is being emitted,
 *
 *     outer stamp, position there      not an input yet
 *     capture stamp, number of input   an input that the current callable has not used
 *     callable's stamp, position       its ARG in the current callable
 *
 * Literals, pointers and values from the table are emitted in the callable itself. If
 * they have a position outside, it is put aside until the callable is complete.
 */
#include "trace/eval/assemble_call.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "ir/program_identity.h"
#include "trace/eval/assemble_region.h"
#include "trace/eval/call_merge.h"
#include "trace/graph/region.h"

static CallFrame *top_frame(const Assembly *b) { return &b->calls[b->call_count - 1]; }

/* Is this the call of which a preview is wanted? */
static bool is_previewed(const Assembly *b, const CallFrame *frame)
{
    return b->call_preview && b->call_preview->region == frame->region;
}

/* ------------------------------------------------------------------- inputs */

bool assemble_call_captures(const Assembly *b, VarId id)
{
    const CallFrame *frame = top_frame(b);
    const Var *v = var_get(id);
    switch (v->op) {
    case OP_LITERAL:
    case OP_POINTER:
        return false;
    case OP_EVALUATED:
    case OP_COUNTER:
    case OP_WORKER:
        return true;
    case OP_STATE:
    case OP_ACTIVE:
        if (region_of(id) == frame->region)
            return true;
        break;
    default:
        break;
    }
    /* The call itself is visited in between, too. */
    return v->scope < var_get(frame->region)->region->scope && id != frame->region;
}

static uint32_t number_input(Assembly *b, CallFrame *frame, Var *v, VarId id)
{
    if (v->stamp == frame->capture_stamp)
        return v->position;
    bool known = v->stamp == frame->outer_stamp;
    if (!known && !is_previewed(b, frame)) {
        error_set(JIT_ERROR_STATE, "jit_eval(): a callable of '%s' uses r%u, which is "
                  "not there where it is called",
                  var_get(frame->region)->region->name, id);
        return PROGRAM_NONE;
    }
    TRY(vec_reserve(&b->inputs, &b->input_capacity, b->call_input_count + 1,
                    sizeof(CallInput)), PROGRAM_NONE);
    uint32_t number = b->call_input_count - frame->first_input;
    b->inputs[b->call_input_count++] = (CallInput){ id, v->position };
    return number;
}

uint32_t assemble_call_input(Assembly *b, VarId id)
{
    CallFrame *frame = top_frame(b);
    Var *v = var_get(id);
    uint32_t number = 0; /* the mask */
    if (v->op != OP_ACTIVE || region_of(id) != frame->region) {
        number = number_input(b, frame, v, id);
        TRY(number != PROGRAM_NONE, PROGRAM_NONE);
        number++;
    }
    return program_add(b->program, OP_ARG, (VarType) v->type, number, 0, NULL);
}

void assemble_call_body_ended(Assembly *b)
{
    const CallFrame *frame = top_frame(b);
    for (uint32_t i = frame->first_input; i < b->call_input_count; ++i) {
        Var *v = var_get(b->inputs[i].id);
        if (v->stamp != b->mark_stamp)
            continue;
        v->stamp = frame->capture_stamp;
        v->position = i - frame->first_input;
    }
}

/* All inputs of the innermost call look like this again. */
static void restore_inputs(Assembly *b, const CallFrame *frame, bool outside)
{
    for (uint32_t i = frame->first_input; i < b->call_input_count; ++i) {
        Var *v = var_get(b->inputs[i].id);
        v->stamp = outside ? frame->outer_stamp : frame->capture_stamp;
        v->position = outside ? b->inputs[i].position : i - frame->first_input;
    }
}

bool assemble_call_hide(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    if (v->stamp == b->mark_stamp)
        return true;
    TRY(vec_reserve(&b->hidden, &b->hidden_capacity, b->hidden_count + 1,
                    sizeof(HiddenPosition)), false);
    b->hidden[b->hidden_count++] = (HiddenPosition){ id, v->stamp, v->position };
    return true;
}

/* What the callable has hidden is as it was; the oldest entry of a variable counts. */
static void restore_hidden(Assembly *b, const CallFrame *frame)
{
    while (b->hidden_count > frame->first_hidden) {
        HiddenPosition hidden = b->hidden[--b->hidden_count];
        var_get(hidden.id)->stamp = hidden.stamp;
        var_get(hidden.id)->position = hidden.position;
    }
}

/* ------------------------------------------------------------ values that differ */

static uint32_t add(Assembly *b, Op op, VarType type, uint32_t x, uint32_t y)
{
    uint32_t args[] = { x, y }, count = op_info[op].arity;
    TRY(x != PROGRAM_NONE && y != PROGRAM_NONE, PROGRAM_NONE);
    return program_add(b->program, op, type, 0, count, args);
}

/* Word 'number' of the data of an instance. */
static uint32_t add_word(Assembly *b, uint32_t pointer, uint32_t offset,
                         uint32_t number)
{
    uint32_t place = assemble_constant(b, VarTypeUInt32, number);
    uint32_t index = add(b, OP_ADD, VarTypeUInt32, offset, place);
    uint32_t always = assemble_constant(b, VarTypeBool, 1);
    TRY(index != PROGRAM_NONE && always != PROGRAM_NONE, PROGRAM_NONE);
    uint32_t args[] = { pointer, index, always };
    return program_add(b->program, OP_GATHER, VarTypeUInt32, 0, 3, args);
}

/* A value of this type from its word or words. */
static uint32_t convert(Assembly *b, VarType type, uint32_t low, uint32_t high)
{
    VarType bits = type_bits(type);
    uint32_t value = low;
    if (type == VarTypeBool)
        return add(b, OP_NEQ, VarTypeBool, low,
                   assemble_constant(b, VarTypeUInt32, 0));
    if (type_info[type].size == 8) {
        uint32_t wide = add(b, OP_CAST, VarTypeUInt64, high, 0);
        uint32_t upper = add(b, OP_SHL, VarTypeUInt64, wide,
                             assemble_constant(b, VarTypeUInt64, 32));
        value = add(b, OP_OR, VarTypeUInt64, upper,
                    add(b, OP_CAST, VarTypeUInt64, low, 0));
    } else if (type_info[type].size < 4) {
        value = add(b, OP_CAST, bits, low, 0);
    }
    if (type == bits)
        return value;
    return add(b, OP_BITCAST, type, value, 0);
}

/* Position of a leaf of the callable. */
static bool visit_leaf(Assembly *b, VarId id, uint32_t *position)
{
    const Var *v = var_get(id);
    if (v->stamp != b->stamp)
        TRY(assemble_leaf(b, id), false);
    *position = v->position;
    return true;
}

static uint32_t read_slot(Assembly *b, const CallFrame *frame, VarType type,
                          uint32_t word)
{
    const Var *v = var_get(frame->region);
    const CallInfo *info = v->region->call;
    uint32_t count, pointer, offset, high = 0;
    VarId data = region_part(v, PART_CONDITION, &count)[1];
    VarId placeholder = region_part(v, PART_STATES, &count)[info->offset_state];
    TRY(visit_leaf(b, data, &pointer) && visit_leaf(b, placeholder, &offset),
        PROGRAM_NONE);
    uint32_t low = add_word(b, pointer, offset, word);
    if (type_info[type].size == 8)
        high = add_word(b, pointer, offset, word + 1);
    TRY(low != PROGRAM_NONE && high != PROGRAM_NONE, PROGRAM_NONE);
    return convert(b, type, low, high);
}

/* In a preview, a literal stands for each value by which callables may differ. */
static uint32_t add_preview_value(Assembly *b, CallFrame *frame, const Var *v, VarId id)
{
    bool literal = v->op == OP_LITERAL;
    uint32_t position = program_add_literal(b->program, (VarType) v->type,
                                            literal ? v->value.literal : 0);
    uint32_t count = b->program->literal_count;
    TRY(position != PROGRAM_NONE, PROGRAM_NONE);
    TRY(vec_reserve(&frame->slots, &frame->slot_capacity, count, sizeof(VarId)),
        PROGRAM_NONE);
    frame->slots[count - 1] = id;
    return position;
}

bool assemble_call_value(Assembly *b, VarId id, uint32_t *position)
{
    CallFrame *frame = top_frame(b);
    const Var *v = var_get(id);
    bool literal = v->op == OP_LITERAL;
    bool value = literal || (v->op == OP_EVALUATED && v->size == 1);
    if (!value)
        return false;
    if (is_previewed(b, frame)) {
        *position = add_preview_value(b, frame, v, id);
        return true;
    }
    const CallInfo *info = var_get(frame->region)->region->call;
    const CallSlot *slot = call_info_find(info, frame->callable, id);
    if (slot)
        *position = read_slot(b, frame, (VarType) v->type, slot->word);
    else if (literal)
        *position = program_add_literal(b->program, (VarType) v->type,
                                        v->value.literal);
    return slot || literal;
}

/* ----------------------------------------------------------------- pointers */

typedef struct PointerKey {
    VarId array;
    uint32_t kind;
    uint64_t address;
} PointerKey;

static PointerKey pointer_key(const Var *v)
{
    return (PointerKey){ v->dep[0], v->aux, v->value.literal };
}

uint32_t assemble_call_slot(const Assembly *b, const Var *pointer)
{
    PointerKey key = pointer_key(pointer);
    return (uint32_t) (uintptr_t) table_get(&b->pointers, &key, sizeof(key));
}

bool assemble_call_note_slot(Assembly *b, const Var *pointer, uint32_t slot)
{
    PointerKey key = pointer_key(pointer);
    return table_put(&b->pointers, &key, sizeof(key), (void *) (uintptr_t) (slot + 1));
}

/* --------------------------------------------------------------- one callable */

/* Effects and needed outputs of the callable that is next. */
static bool list_roots(CallFrame *frame)
{
    const Var *v = var_get(frame->region);
    const TraceRegion *region = v->region;
    const RegionBody *body = &region->bodies[frame->callable];
    const VarId *effects = region_list(v, body->effects);
    const VarId *outputs = region_list(v, body->outputs);
    TRY(vec_reserve(&frame->roots, &frame->root_capacity,
                    body->effects.count + region->count, sizeof(VarId)), false);
    frame->root_count = frame->next_root = 0;
    for (uint32_t i = 0; i < body->effects.count; ++i)
        frame->roots[frame->root_count++] = effects[i];
    frame->effect_count = frame->root_count;
    for (uint32_t k = 0; k < region->count; ++k)
        if (region->needed[k] & NEEDED_RESULT)
            frame->roots[frame->root_count++] = outputs[k];
    return true;
}

static bool begin_callable(Assembly *b)
{
    CallFrame *frame = top_frame(b);
    TRY(list_roots(frame), false);
    b->program = alloc_zero(1, sizeof(Program));
    if (!b->program) {
        b->program = frame->outer;
        return false;
    }
    b->stamp = var_new_stamp();
    local_plan_reset(&b->locals, frame->roots, frame->root_count);
    b->locals.bytes = frame->locals.bytes;
    return true;
}

/* A callable like this one that the root has already; PROGRAM_NONE on errors. */
static uint32_t share_callable(Assembly *b, Program *program)
{
    Hash128 hash = program_hash(program, 0).full;
    uint32_t known =
        (uint32_t) (uintptr_t) table_get(&b->callables, &hash, sizeof(hash));
    if (known && program_equal(b->root->callables[known - 1], program)) {
        program_free(program);
        return known - 1;
    }
    uint32_t number = program_add_callable(b->root, program);
    TRY(number != PROGRAM_NONE, PROGRAM_NONE);
    TRY(known || table_put(&b->callables, &hash, sizeof(hash),
                           (void *) (uintptr_t) (number + 1)), PROGRAM_NONE);
    return number;
}

static bool keep_preview(Assembly *b, CallFrame *frame, Program *program)
{
    struct CallPreview *preview = b->call_preview;
    preview->programs[preview->count] = program;
    preview->slots[preview->count++] = frame->slots;
    frame->slots = NULL;
    frame->slot_capacity = 0;
    return true;
}

static bool end_callable(Assembly *b)
{
    CallFrame *frame = top_frame(b);
    Program *program = b->program;
    uint32_t count = frame->root_count - frame->effect_count;
    TRY(vec_reserve(&b->words, &b->word_capacity, count + 1, sizeof(uint32_t)), false);
    for (uint32_t i = 0; i < count; ++i)
        b->words[i] = var_get(frame->roots[frame->effect_count + i])->position;
    TRY(program_add(program, OP_RETURN, VarTypeVoid, 0, count, b->words) !=
        PROGRAM_NONE, false);
    assemble_region_forget(b, frame->inside);
    restore_hidden(b, frame);
    restore_inputs(b, frame, false);
    frame->locals.bytes = b->locals.bytes;
    b->program = frame->outer;
    if (is_previewed(b, frame))
        return keep_preview(b, frame, program);
    uint32_t number = share_callable(b, program);
    TRY(number != PROGRAM_NONE, false);
    TRY(vec_reserve(&frame->targets, &frame->target_capacity, frame->callable + 1,
                    sizeof(uint32_t)), false);
    frame->targets[frame->callable] = number;
    return true;
}

/* --------------------------------------------------------------- the whole call */

static bool begin_call(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    TRY(vec_reserve(&b->calls, &b->call_capacity, b->call_count + 1, sizeof(CallFrame)),
        false);
    uint32_t count;
    const VarId *states = region_part(v, PART_STATES, &count);
    const VarId *inputs = region_part(v, PART_INPUTS, &count);
    bool preview = b->call_preview && b->call_preview->region == id;
    for (uint32_t k = 0; k < count && !preview; ++k) {
        /* The input may be needed elsewhere and not be there yet: the others must not
         * look like it. */
        if (!(v->region->needed[k] & NEEDED_STATE))
            continue;
        var_get(states[k])->stamp = var_get(inputs[k])->stamp;
        var_get(states[k])->position = var_get(inputs[k])->position;
    }
    CallFrame *frame = &b->calls[b->call_count++];
    *frame = (CallFrame){ .region = id, .outer = b->program, .outer_stamp = b->stamp,
                          .capture_stamp = var_new_stamp(), .inside = b->inside_count,
                          .first_input = b->call_input_count,
                          .first_hidden = b->hidden_count, .locals = b->locals };
    b->locals = (LocalPlan){ 0 };
    b->bodies++;
    return begin_callable(b);
}

static void free_frame(CallFrame *frame)
{
    alloc_free(frame->roots);
    alloc_free(frame->targets);
    alloc_free(frame->slots);
}

/* Back in the outer Program. */
static void leave_call(Assembly *b, CallFrame *frame)
{
    uint64_t bytes = frame->locals.bytes;
    local_plan_free(&b->locals);
    b->locals = frame->locals;
    b->locals.bytes = bytes;
    b->program = frame->outer;
    b->stamp = frame->outer_stamp;
    b->bodies--;
    b->call_count--;
}

static bool end_call(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    CallFrame frame = *top_frame(b);
    restore_inputs(b, &frame, true);
    leave_call(b, &frame);
    uint32_t count = b->call_input_count - frame.first_input, unused;
    bool ok = vec_reserve(&b->words, &b->word_capacity, count + 2, sizeof(uint32_t));
    if (ok && !is_previewed(b, &frame)) {
        b->words[0] = var_get(region_part(v, PART_MASK, &unused)[0])->position;
        b->words[1] = var_get(region_part(v, PART_CONDITION, &unused)[0])->position;
        for (uint32_t i = 0; i < count; ++i)
            b->words[i + 2] = b->inputs[frame.first_input + i].position;
        v->region->number =
            program_add_region(b->program, REGION_CALL, count + 2, b->words,
                               frame.callable, frame.targets);
        ok = v->region->number != PROGRAM_NONE && assemble_region_results(b, id);
    }
    b->call_input_count = frame.first_input;
    b->open_count--;
    free_frame(&frame);
    return ok;
}

/* Does anything in the callables use this? In doubt, yes. */
static bool is_needed(const Assembly *b, const Var *v)
{
    if (v->stamp == b->mark_stamp)
        return true;
    const CallFrame *frame = b->call_count ? top_frame(b) : NULL;
    return frame &&
           (v->stamp == frame->capture_stamp || v->stamp == frame->outer_stamp);
}

/* Does operand 'index' need no visit in the outer Program? */
static bool skips(const Assembly *b, const Var *v, uint32_t index)
{
    const TraceRegion *region = v->region;
    VarId id = v->value.list->ids[index];
    const Var *operand = var_get(id);
    uint32_t reads = index - region->parts[PART_READS].first;
    uint32_t input = index - region->parts[PART_INPUTS].first;
    if (operand->stamp == b->stamp)
        return true;
    if (input < region->parts[PART_INPUTS].count)
        return !(region->needed[input] & NEEDED_STATE);
    if (reads < region->parts[PART_READS].count)
        return !is_needed(b, operand) || operand->op == OP_LITERAL ||
               operand->op == OP_POINTER ||
               (operand->op == OP_EVALUATED && call_info_is_slot(region->call, id));
    return operand->op == OP_POINTER; /* the data, which callables read */
}

bool assemble_call_step(Assembly *b, VarId id, uint32_t *next, VarId *operand)
{
    const Var *v = var_get(id);
    TraceRegion *region = v->region;
    *operand = 0;
    if (*next == 0)
        region->phase = 0;
    bool preview = b->call_preview && b->call_preview->region == id;
    while (!preview && *next < region->outside) {
        uint32_t index = (*next)++;
        if (skips(b, v, index))
            continue;
        *operand = v->value.list->ids[index];
        return true;
    }
    if (region->phase == 0) {
        *next = region->outside;
        region->phase = 1;
        TRY(begin_call(b, id), false);
    }
    while (true) {
        CallFrame *frame = top_frame(b);
        while (frame->next_root < frame->root_count) {
            VarId root = frame->roots[frame->next_root++];
            if (var_get(root)->stamp == b->stamp)
                continue;
            *operand = root;
            return true;
        }
        TRY(end_callable(b), false);
        if (++frame->callable == region->body_count)
            return end_call(b, id);
        TRY(begin_callable(b), false);
    }
}

/* -------------------------------------------------------------- begin and end */

void assemble_call_reset(Assembly *b)
{
    while (b->call_count) { /* left by a failure */
        CallFrame *frame = top_frame(b);
        if (b->program != frame->outer)
            program_free(b->program);
        leave_call(b, frame);
        free_frame(frame);
    }
    b->call_input_count = b->hidden_count = 0;
    if (b->pointers.count)
        table_free(&b->pointers);
    if (b->callables.count)
        table_free(&b->callables);
}

void assemble_call_free(Assembly *b)
{
    assemble_call_reset(b);
    table_free(&b->pointers);
    table_free(&b->callables);
    alloc_free(b->calls);
    alloc_free(b->inputs);
    alloc_free(b->hidden);
}
