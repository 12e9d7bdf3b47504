/*
 * recording_check.c -- may a recording that was read from a file be repeated?
 *
 * That all references exist is known from the tables. Here is what a repetition relies
 * on beside that: only what is made is written, loops lie within each other, launches
 * have what their kernels expect. Whether arrays are as large as what is read and
 * written of them is looked at each time a command is made (recording_fill()), of all
 * recordings. An array that nobody has written has any contents, and a size that is not
 * known yet is negative, which no array and no command is (recording_walk.c).
 */
#include "ir/reduce_rule.h"
#include "ir/type.h"
#include "kernel/cache.h"
#include "recording/recording_fields.h"
#include "recording/recording_file.h"

/* Is it an array of which a repetition has references of its own? */
static bool is_made(const Recording *r, uint32_t array)
{
    return r->arrays[array].kind >= FROZEN_MADE;
}

static bool has_part(uint64_t first, uint64_t count, uint64_t all)
{
    return first <= all && count <= all - first;
}

/* ----------------------------------------------------------------- launches */

/* Commands of a file may share uses. */
static void need(uint16_t *bytes, uint32_t least)
{
    if (*bytes < least)
        *bytes = (uint16_t) least;
}

/* Non-uniform loads are of an entry for each lane. */
static void bind_loads(const Recording *r, const FrozenCommand *f, const Program *p)
{
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        if (inst->op != OP_LOAD || inst->flags & INST_UNIFORM)
            continue;
        for (uint32_t k = f->first; k < f->first + f->count; ++k)
            if (r->uses[k].word == inst->aux)
                need(&r->uses[k].lane, type_info[inst->type].size);
    }
}

static void bind_fused(const Recording *r, const FrozenCommand *f,
                       const FusedReduction *reduction)
{
    FrozenUse *uses = &r->uses[f->first], *target = &uses[reduction->target];
    const uint32_t size = type_info[reduction->type].size;
    for (uint32_t i = 0; i < 2; ++i)
        if (!(reduction->source[i] & FUSED_TILE)) /* nor FUSED_NONE */
            need(&uses[reduction->source[i]].lane, size);
    if (reduction->op == REDUCE_PREFIX)
        need(&target->lane, size);
    if (reduction->op == REDUCE_COMPRESS) { /* the number comes after the indices */
        need(&target->lane, sizeof(uint32_t));
        need(&target->once, sizeof(uint32_t));
    }
}

void recording_bind(const Recording *r, const FrozenCommand *f)
{
    const Program *p = f->launch.kernel->program;
    bind_loads(r, f, p);
    for (uint32_t i = 0; i < p->callable_count; ++i)
        bind_loads(r, f, p->callables[i]);
    for (uint32_t i = f->first; i < f->first + f->count; ++i) {
        FrozenUse *use = &r->uses[i];
        const Param *param = use->word < p->param_count ? &p->params[use->word] : NULL;
        if (param && param->kind == PARAM_OUTPUT)
            need(&use->lane, type_info[param->type].size);
        if (param && param->kind == PARAM_INPUT && !use->lane)
            need(&use->once, type_info[param->type].size);
    }
    for (uint32_t i = 0; i < f->pattern->launch.fused; ++i)
        bind_fused(r, f, &command_fused(f->pattern)[i]);
}

/* Is a slot an argument that is an address, and written if that one is? */
static bool check_word(const FrozenCommand *f, const FrozenUse *use)
{
    const Program *program = f->launch.kernel->program;
    if (use->word == SLOT_NO_WORD)
        return true;
    TRY(use->word < program->param_count && !use->offset, false);
    const Param *param = &program->params[use->word];
    bool writes = param->kind == PARAM_OUTPUT || param->written;
    return param->kind <= PARAM_POINTER && (!writes || use->access & SLOT_WRITE);
}

/* What is reduced: a tile, or an array. */
static bool check_source(const FrozenCommand *f, const FusedReduction *reduction,
                         uint32_t source)
{
    const Program *program = f->launch.kernel->program;
    if (!(source & FUSED_TILE) || source == FUSED_NONE)
        return source == FUSED_NONE || source < f->count;
    TRY((source & ~FUSED_TILE) < program->param_count, false);
    const Param *param = &program->params[source & ~FUSED_TILE];
    return param->kind == PARAM_OUTPUT && param->reduced &&
           param->type == reduction->type &&
           reduce_rule_shares(param->reduced, fused_param(reduction),
                              (VarType) reduction->type);
}

/* Is there such a reduction? */
static bool check_rule(const FusedReduction *reduction)
{
    if (reduction->op == REDUCE_COMPRESS)
        return reduction->type == VarTypeBool;
    if (reduction->op == REDUCE_DOT)
        return type_valid((VarType) reduction->type) &&
               type_info[reduction->type].is_float;
    ReduceOp op = reduction->op == REDUCE_PREFIX ? (ReduceOp) reduction->rule
                                                 : (ReduceOp) reduction->op;
    return reduction->op < REDUCE_COUNT && reduction->op != REDUCE_SQUARES &&
           reduce_rule_defined(op, (VarType) reduction->type);
}

static bool check_fused(const Recording *r, const FrozenCommand *f,
                        const FusedReduction *reduction)
{
    return check_rule(reduction) && reduction->target < f->count &&
           r->uses[f->first + reduction->target].access & SLOT_WRITE &&
           (reduction->op != REDUCE_COMPRESS || f->pattern->launch.fused == 1) &&
           reduction->source[0] != FUSED_NONE &&
           (reduction->op == REDUCE_DOT) == (reduction->source[1] != FUSED_NONE) &&
           check_source(f, reduction, reduction->source[0]) &&
           check_source(f, reduction, reduction->source[1]);
}

/* Which arguments are addresses, and have an array? */
static bool has_arrays(const Recording *r, const FrozenCommand *f)
{
    const Program *program = f->launch.kernel->program;
    for (uint32_t param = 0; param < program->param_count; ++param) {
        bool found = program->params[param].kind > PARAM_POINTER;
        for (uint32_t i = 0; !found && i < f->count; ++i)
            found = r->uses[f->first + i].word == param;
        for (uint32_t i = 0; !found && i < f->pattern->launch.fused; ++i) {
            const FusedReduction *reduction = &command_fused(f->pattern)[i];
            found = reduction->source[0] == (FUSED_TILE | param) ||
                    reduction->source[1] == (FUSED_TILE | param);
        }
        TRY(found, false);
    }
    return true;
}

static bool check_launch(const Recording *r, const FrozenCommand *f)
{
    const FrozenLaunch *launch = &f->launch;
    const Program *program = launch->kernel->program;
    TRY(f->pattern->launch.words == program->param_count &&
            launch->checks == program->check_count &&
            has_part(launch->bound, launch->checks, r->bound_count) &&
            (!launch->checks || program_find_param(program, PARAM_REPORT) ==
                                    program->param_count - 1), false);
    for (uint32_t i = 0; i < f->count; ++i)
        TRY(check_word(f, &r->uses[f->first + i]), false);
    for (uint32_t i = 0; i < f->pattern->launch.fused; ++i)
        TRY(check_fused(r, f, &command_fused(f->pattern)[i]), false);
    TRY(has_arrays(r, f), false);
    recording_bind(r, f);
    return true;
}

/* ----------------------------------------------------------------- commands */

/* Is each array used as its slot is in all commands of the kind? */
static bool check_slots(const Recording *r, const FrozenCommand *f)
{
    const SlotInfo *slots = command_info[f->pattern->kind].slots;
    for (uint32_t i = 0; i < f->count; ++i)
        TRY(r->uses[f->first + i].access == slots[i].access, false);
    return true;
}

static bool is_bool(const bool *value) { return *(const unsigned char *) value <= 1; }

static bool check_command(const Recording *r, const FrozenCommand *f)
{
    const Command *p = f->pattern;
    TRY(has_part(f->extent, recording_extents(p), r->extent_count), false);
    if (p->kind == COMMAND_LAUNCH)
        return check_launch(r, f);
    TRY(!f->launch.checks && !f->launch.report && check_slots(r, f), false);
    const GemmShape *s = p->kind == COMMAND_GEMM ? p->data : NULL;
    return !s || (is_bool(&s->transpose_a) && is_bool(&s->transpose_b));
}

/* -------------------------------------------------------------------- whole */

/* Does a loop lie within the one around it, and its block within that one's? */
static bool check_loop(const Recording *r, uint32_t number)
{
    const FrozenLoop *loop = &r->loops[number];
    const uint32_t outer = recording_outer(r, number);
    const FrozenLoop *around = outer == RECORDER_UNKNOWN ? NULL : &r->loops[outer];
    const uint32_t end = around ? outer + 1 + around->inner : r->loop_count;
    TRY(loop->first <= loop->end && loop->end <= r->command_count &&
            loop->inner <= end - number - 1 && loop->arrays <= loop->arrays_end &&
            loop->arrays_end <= r->array_count &&
            has_part(loop->state, loop->states, r->state_count), false);
    TRY(!around || (loop->first >= around->first && loop->end <= around->end), false);
    return loop->most <= 1 || loop->first < loop->end; /* or it could go on for ever */
}

bool recording_check(const Recording *r)
{
    for (uint32_t i = 0; i < r->array_count; ++i)
        TRY(r->arrays[i].kind != FROZEN_CONSTANT ||
                r->arrays[i].number < r->constant_count, false);
    for (uint32_t i = 0; i < r->use_count; ++i)
        TRY(r->uses[i].access == SLOT_READ ||
                (r->uses[i].access && is_made(r, r->uses[i].array)), false);
    for (uint32_t i = 0; i < r->content_count; ++i)
        TRY(has_part(r->contents[i].first, r->contents[i].bytes, r->content_bytes),
            false);
    for (uint32_t i = 0; i < r->state_count; ++i)
        TRY(is_made(r, r->states[i].array) && is_made(r, r->states[i].next), false);
    for (uint32_t i = 0; i < r->loop_count; ++i)
        TRY(check_loop(r, i), false);
    for (uint32_t i = 0; i < r->command_count; ++i)
        TRY(check_command(r, &r->commands[i]), false);
    return true;
}
