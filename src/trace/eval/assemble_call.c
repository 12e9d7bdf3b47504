/*
 * assemble_call.c -- see assemble_call.h
 */
#include "trace/eval/assemble_call.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "ir/program_identity.h"
#include "trace/eval/assemble_region.h"
#include "trace/graph/region.h"

static CallFrame *top_frame(const Assembly *b) { return &b->calls[b->call_count - 1]; }

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

/* Where an input is in the Program around the call. */
static uint32_t outer_position(const CallFrame *frame, VarId id)
{
    const Var *v = var_get(id), *call = var_get(frame->region);
    uint32_t count;
    if (v->op == OP_STATE && region_of(id) == frame->region)
        id = region_part(call, PART_INPUTS, &count)[v->aux];
    return marks_get(frame->outer_places, id);
}

static uint32_t number_input(Assembly *b, CallFrame *frame, VarId id)
{
    uint32_t number = marks_get(frame->inputs, id);
    if (number != MARKS_NONE)
        return number;
    if (outer_position(frame, id) == MARKS_NONE) {
        error_set(JIT_ERROR_STATE, "jit_eval(): a callable of '%s' uses r%u, which is "
                  "not there where it is called",
                  var_get(frame->region)->region->name, id);
        return PROGRAM_NONE;
    }
    TRY(vec_reserve(&b->inputs, &b->input_capacity, b->call_input_count + 1,
                    sizeof(VarId)), PROGRAM_NONE);
    number = b->call_input_count - frame->first_input;
    b->inputs[b->call_input_count++] = id;
    marks_set(frame->inputs, id, number);
    return number;
}

uint32_t assemble_call_input(Assembly *b, VarId id)
{
    CallFrame *frame = top_frame(b);
    const Var *v = var_get(id);
    uint32_t number = 0; /* the mask */
    if (v->op != OP_ACTIVE || region_of(id) != frame->region) {
        number = number_input(b, frame, id);
        TRY(number != PROGRAM_NONE, PROGRAM_NONE);
        number++;
    }
    return program_add(b->program, OP_ARG, (VarType) v->type, number, 0, NULL);
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
static bool list_roots(Assembly *b, CallFrame *frame)
{
    const Var *v = var_get(frame->region);
    const RegionBody *body = &v->region->bodies[frame->callable];
    const VarId *effects = region_list(v, body->effects);
    const VarId *outputs = region_list(v, body->outputs);
    const uint8_t *flags = assemble_region_flags(b, frame->region);
    TRY(vec_reserve(&frame->roots, &frame->root_capacity,
                    body->effects.count + body->outputs.count, sizeof(VarId)), false);
    frame->root_count = frame->next_root = 0;
    for (uint32_t i = 0; i < body->effects.count; ++i)
        frame->roots[frame->root_count++] = effects[i];
    frame->effect_count = frame->root_count;
    for (uint32_t k = 0; k < body->outputs.count; ++k)
        if (flags[k] & NEEDED_RESULT)
            frame->roots[frame->root_count++] = outputs[k];
    return true;
}

/* An empty Program. */
static bool begin_callable(Assembly *b)
{
    CallFrame *frame = top_frame(b);
    TRY(list_roots(b, frame), false);
    b->program = alloc_zero(1, sizeof(Program));
    b->places = marks_take();
    local_plan_reset(&b->locals, frame->roots, frame->root_count);
    return b->program && b->places;
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

/* The callable is complete: the outer Program is the one again. */
static bool end_callable(Assembly *b)
{
    CallFrame *frame = top_frame(b);
    Program *program = b->program;
    uint32_t count = frame->root_count - frame->effect_count;
    TRY(vec_reserve(&b->words, &b->word_capacity, count + 1, sizeof(uint32_t)), false);
    for (uint32_t i = 0; i < count; ++i)
        b->words[i] = assemble_position(b, frame->roots[frame->effect_count + i]);
    TRY(program_add(program, OP_RETURN, VarTypeVoid, 0, count, b->words) !=
        PROGRAM_NONE, false);
    b->inside_count = frame->inside;
    marks_return(b->places);
    b->places = frame->outer_places;
    b->program = frame->outer;
    uint32_t number = share_callable(b, program);
    TRY(number != PROGRAM_NONE, false);
    TRY(vec_reserve(&frame->targets, &frame->target_capacity, frame->callable + 1,
                    sizeof(uint32_t)), false);
    frame->targets[frame->callable] = number;
    return true;
}

/* --------------------------------------------------------------- the whole call */

bool assemble_call_begin(Assembly *b, VarId id)
{
    TRY(vec_reserve(&b->calls, &b->call_capacity, b->call_count + 1, sizeof(CallFrame)),
        false);
    CallFrame *frame = &b->calls[b->call_count++];
    *frame = (CallFrame){ .region = id, .outer = b->program, .outer_places = b->places,
                          .outer_locals = b->locals, .inputs = marks_take(),
                          .first_input = b->call_input_count,
                          .inside = b->inside_count };
    b->locals = (LocalPlan){ 0 };
    b->bodies++;
    return frame->inputs && begin_callable(b);
}

/* Back in the outer Program. */
static void leave_call(Assembly *b, CallFrame *frame)
{
    if (b->program != frame->outer)
        program_free(b->program);
    if (b->places != frame->outer_places)
        marks_return(b->places);
    local_plan_free(&b->locals);
    marks_return(frame->inputs);
    b->program = frame->outer;
    b->places = frame->outer_places;
    b->locals = frame->outer_locals;
    b->bodies--;
    b->call_count--;
    b->call_input_count = frame->first_input;
    alloc_free(frame->roots);
}

static bool end_call(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    CallFrame frame = *top_frame(b);
    uint32_t first = frame.first_input, count = b->call_input_count - first, unused;
    bool ok = vec_reserve(&b->words, &b->word_capacity, count + 2, sizeof(uint32_t));
    for (uint32_t i = 0; ok && i < count; ++i)
        b->words[i + 2] = outer_position(&frame, b->inputs[first + i]);
    leave_call(b, &frame);
    if (ok) {
        b->words[0] = assemble_position(b, region_part(v, PART_MASK, &unused)[0]);
        b->words[1] = assemble_position(b, region_part(v, PART_CONDITION, &unused)[0]);
        ok = assemble_region_added(b, id,
                                   program_add_region(b->program, REGION_CALL,
                                                      count + 2, b->words,
                                                      frame.callable, frame.targets));
    }
    alloc_free(frame.targets);
    return ok;
}

bool assemble_call_step(Assembly *b, VarId id, VarId *operand)
{
    *operand = 0;
    while (true) {
        CallFrame *frame = top_frame(b);
        while (frame->next_root < frame->root_count) {
            VarId root = frame->roots[frame->next_root++];
            if (marks_has(b->places, root))
                continue;
            *operand = root;
            return true;
        }
        TRY(end_callable(b), false);
        if (++frame->callable == var_get(id)->region->body_count)
            return end_call(b, id);
        TRY(begin_callable(b), false);
    }
}

/* -------------------------------------------------------------- begin and end */

void assemble_call_reset(Assembly *b)
{
    while (b->call_count) {
        CallFrame *frame = top_frame(b);
        alloc_free(frame->targets);
        leave_call(b, frame);
    }
    if (b->pointers.count)
        table_free(&b->pointers);
    if (b->callables.count)
        table_free(&b->callables);
}

void assemble_call_free(Assembly *b)
{
    table_free(&b->pointers);
    table_free(&b->callables);
    alloc_free(b->calls);
    alloc_free(b->inputs);
}
