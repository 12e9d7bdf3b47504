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

/* Is this a placeholder of the region? */
static bool stands_in(VarId id, VarId region)
{
    const Var *v = var_get(id);
    return (v->op == OP_STATE || v->op == OP_ACTIVE) && region_of(id) == region;
}

bool assemble_call_captures(const Assembly *b, VarId id)
{
    VarId region = top_frame(b)->region;
    const Var *v = var_get(id);
    /* The call itself is visited in between, too. */
    if (v->op == OP_LITERAL || v->op == OP_POINTER || id == region)
        return false;
    return region_is_outside(v, var_get(region)->region->scope) ||
           stands_in(id, region);
}

/* What the call needs is an operand of it, by its position in the Program around it. */
static bool add_operand(CallFrame *frame, VarId id)
{
    uint32_t position = marks_get(frame->outer_places, id);
    if (position == MARKS_NONE)
        return error_set(JIT_ERROR_STATE, "jit_eval(): a callable of '%s' uses r%u, "
                         "which is not there where it is called",
                         var_get(frame->region)->region->name, id);
    TRY(vec_reserve(&frame->operands, &frame->operand_capacity,
                    frame->operand_count + 1, sizeof(uint32_t)), false);
    frame->operands[frame->operand_count++] = position;
    return true;
}

uint32_t assemble_call_input(Assembly *b, VarId id)
{
    CallFrame *frame = top_frame(b);
    const Var *v = var_get(id);
    uint32_t number = marks_get(frame->numbers, id), unused;
    if (number == MARKS_NONE) {
        VarId given = id;
        if (stands_in(id, frame->region))
            given = region_part(var_get(frame->region), PART_INPUTS, &unused)[v->aux];
        number = frame->operand_count - 1; /* the callable's number is not an ARG */
        TRY(add_operand(frame, given), PROGRAM_NONE);
        marks_set(frame->numbers, id, number);
    }
    return program_add(b->program, OP_ARG, (VarType) v->type, number, 0, NULL);
}

uint32_t assemble_call_param(Assembly *b, const Var *pointer)
{
    uint64_t key[] = { pointer->dep[0], pointer->aux, pointer->value.literal };
    uint32_t fresh = b->root->param_count;
    uint32_t param = table_number(&b->pointers, key, sizeof(key), fresh);
    return param == fresh ? assemble_pointer(b, pointer) : param;
}

/* --------------------------------------------------------------- one callable */

/* An empty Program takes the place of the outer one. */
static bool begin_callable(Assembly *b, VarId id, uint32_t which)
{
    const Var *v = var_get(id);
    RegionList body = region_body(v, which);
    b->program = alloc_zero(1, sizeof(Program));
    b->places = marks_take();
    local_plan_reset(&b->locals, region_list(v, body), body.count);
    return b->program && b->places;
}

/* A callable like this one that the root has already; PROGRAM_NONE on errors. */
static uint32_t share_callable(Assembly *b, Program *program)
{
    Hash128 hash = program_hash(program, 0).full;
    uint32_t fresh = b->root->callable_count;
    uint32_t known = table_number(&b->callables, &hash, sizeof(hash), fresh);
    if (known == PROGRAM_NONE ||
        (known < fresh && program_equal(b->root->callables[known], program))) {
        program_free(program);
        return known;
    }
    return program_add_callable(b->root, program);
}

/* The callable is complete: the outer Program is the one again. */
static bool end_callable(Assembly *b, VarId id, uint32_t which)
{
    CallFrame *frame = top_frame(b);
    Program *program = b->program;
    uint32_t count;
    TRY(assemble_region_outputs(b, id, which, &count), false);
    TRY(program_add(program, OP_RETURN, VarTypeVoid, 0, count, b->words) !=
        PROGRAM_NONE, false);
    b->inside_count = frame->inside;
    marks_return(b->places);
    b->places = frame->outer_places;
    b->program = frame->outer;
    frame->targets[which] = share_callable(b, program);
    return frame->targets[which] != PROGRAM_NONE;
}

/* --------------------------------------------------------------- the whole call */

static bool begin_call(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    uint32_t unused;
    TRY(vec_reserve(&b->calls, &b->call_capacity, b->call_count + 1, sizeof(CallFrame)),
        false);
    CallFrame *frame = &b->calls[b->call_count++];
    *frame = (CallFrame){ .region = id, .outer = b->program, .outer_places = b->places,
                          .outer_locals = b->locals, .numbers = marks_take(),
                          .targets = alloc_zero(v->region->body_count,
                                                sizeof(uint32_t)),
                          .inside = b->inside_count };
    b->locals = (LocalPlan){ 0 };
    b->bodies++;
    TRY(frame->numbers && frame->targets, false);
    marks_set(frame->numbers, region_part(v, PART_ACTIVE, &unused)[0], 0);
    return add_operand(frame, region_part(v, PART_MASK, &unused)[0]) &&
           add_operand(frame, region_part(v, PART_CONDITION, &unused)[0]);
}

/* Back in the outer Program. */
static void leave_call(Assembly *b)
{
    CallFrame *frame = top_frame(b);
    if (b->program != frame->outer)
        program_free(b->program);
    if (b->places != frame->outer_places)
        marks_return(b->places);
    local_plan_free(&b->locals);
    marks_return(frame->numbers);
    b->program = frame->outer;
    b->places = frame->outer_places;
    b->locals = frame->outer_locals;
    b->bodies--;
    b->call_count--;
    alloc_free(frame->operands);
    alloc_free(frame->targets);
}

static bool end_call(Assembly *b, VarId id)
{
    const CallFrame *frame = top_frame(b);
    uint32_t number = program_add_region(b->program, REGION_CALL, frame->operand_count,
                                         frame->operands,
                                         var_get(id)->region->body_count,
                                         frame->targets);
    leave_call(b);
    return assemble_region_added(b, id, number);
}

bool assemble_call_phase(Assembly *b, VarId id, uint32_t phase)
{
    TRY(phase ? end_callable(b, id, phase - 1) : begin_call(b, id), false);
    return phase < var_get(id)->region->body_count ? begin_callable(b, id, phase)
                                                   : end_call(b, id);
}

/* -------------------------------------------------------------- begin and end */

void assemble_call_reset(Assembly *b)
{
    while (b->call_count)
        leave_call(b);
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
}
