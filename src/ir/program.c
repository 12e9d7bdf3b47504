/*
 * program.c -- see program.h
 */
#include "ir/program.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "os/pages.h"

/* Does this operation give the same value in all lanes if its operands do? */
static uint8_t uniform_flag(const Program *program, Op op, uint32_t count,
                            const uint32_t *args)
{
    if (!op_may_be_uniform(op))
        return 0;
    uint8_t flags = INST_UNIFORM;
    for (uint32_t i = 0; i < count; ++i)
        flags &= program->insts[args[i]].flags;
    return flags;
}

/* Operands beyond those that fit into an instruction. */
static bool add_extra(Program *program, Inst *inst, uint32_t count,
                      const uint32_t *args)
{
    TRY(vec_reserve(&program->extra, &program->extra_capacity,
                    program->extra_count + count, sizeof(uint32_t)),
        false);
    memcpy(program->extra + program->extra_count, args, count * sizeof(uint32_t));
    inst->arg[0] = program->extra_count;
    program->extra_count += count;
    return true;
}

/* A mark of structure completes the record of its region. */
static void note_mark(Program *program, Op op, uint32_t region)
{
    if (op == OP_TEST || op == OP_ELSE)
        program->regions[region].middle = program->inst_count;
    else if (op == OP_END)
        program->regions[region].end = program->inst_count;
}

/* Note the line of the instruction that is being added; those before it that have none
 * are unknown. */
static bool note_source(Program *program)
{
    uint32_t at = program->inst_count;
    TRY(vec_reserve(&program->sources, &program->source_capacity, at + 1,
                    sizeof(SourceLine)),
        false);
    memset(program->sources + program->source_count, 0,
           (at - program->source_count) * sizeof(SourceLine));
    program->sources[at] = program->source;
    program->source_count = at + 1;
    return true;
}

uint32_t program_add(Program *program, Op op, VarType type, uint32_t aux,
                     uint32_t count, const uint32_t *args)
{
    if (program->inst_count == program->inst_capacity)
        TRY(vec_reserve(&program->insts, &program->inst_capacity,
                        program->inst_count + 1, sizeof(Inst)),
            PROGRAM_NONE);
    if (count > INST_MOST_OPERANDS) {
        error_set(JIT_ERROR_ARGUMENT,
                  "program_add(): '%s' with %u operands, there can be %u",
                  op_info[op].name, count, INST_MOST_OPERANDS);
        return PROGRAM_NONE;
    }
    if (program->source.file)
        TRY(note_source(program), PROGRAM_NONE);
    /* Written in place, field by field: a struct built aside and copied as a whole
     * would wait for its own small stores. */
    Inst *inst = &program->insts[program->inst_count];
    inst->op = (uint8_t) op;
    inst->type = (uint8_t) type & 31;
    inst->count = (uint16_t) count;
    inst->aux = aux;
    inst->arg[0] = count > 0 ? args[0] : 0;
    inst->arg[1] = count > 1 ? args[1] : 0;
    inst->arg[2] = count > 2 ? args[2] : 0;
    if (count > INST_ARGS) {
        inst->arg[1] = inst->arg[2] = 0;
        TRY(add_extra(program, inst, count, args), PROGRAM_NONE);
    }
    inst->flags = uniform_flag(program, op, count, args) & 7;
    note_mark(program, op, aux);
    return program->inst_count++;
}

uint32_t program_add_literal(Program *program, VarType type, uint64_t bits)
{
    TRY(vec_reserve(&program->literals, &program->literal_capacity,
                    program->literal_count + 1, sizeof(uint64_t)),
        PROGRAM_NONE);
    uint32_t position =
        program_add(program, OP_LITERAL, type, program->literal_count, 0, NULL);
    if (position != PROGRAM_NONE)
        program->literals[program->literal_count++] = bits;
    return position;
}

uint32_t program_add_param(Program *program, ParamKind kind, VarType type)
{
    TRY(vec_reserve(&program->params, &program->param_capacity,
                    program->param_count + 1, sizeof(Param)),
        PROGRAM_NONE);
    program->params[program->param_count] =
        (Param){ (uint8_t) kind, (uint8_t) type, 0, 0 };
    return program->param_count++;
}

uint32_t program_add_stmt(Program *program, const char *text)
{
    TRY(vec_reserve(&program->stmts, &program->stmt_capacity, program->stmt_count + 1,
                    sizeof(char *)),
        PROGRAM_NONE);
    char *copy = alloc_string(text);
    TRY(copy, PROGRAM_NONE);
    program->stmts[program->stmt_count] = copy;
    return program->stmt_count++;
}

uint32_t program_add_region(Program *program, RegionKind kind, uint32_t count,
                            const uint32_t *args, uint32_t target_count,
                            const uint32_t *targets)
{
    uint32_t number = program->region_count;
    TRY(vec_reserve(&program->regions, &program->region_capacity, number + 1,
                    sizeof(Region)),
        PROGRAM_NONE);
    uint32_t begin = program_add(program, OP_REGION, VarTypeVoid, number, count, args);
    TRY(begin != PROGRAM_NONE, PROGRAM_NONE);
    program->regions[program->region_count++] =
        (Region){ .kind = kind, .begin = begin, .target_count = target_count };
    if (kind != REGION_CALL)
        return number;
    TRY(vec_reserve(&program->extra, &program->extra_capacity,
                    program->extra_count + target_count, sizeof(uint32_t)),
        PROGRAM_NONE);
    if (target_count)
        memcpy(program->extra + program->extra_count, targets,
               target_count * sizeof(uint32_t));
    program->regions[number].targets = program->extra_count;
    program->extra_count += target_count;
    program->regions[number].middle = program->inst_count;
    TRY(program_add(program, OP_END, VarTypeVoid, number, 0, NULL) != PROGRAM_NONE,
        PROGRAM_NONE);
    return number;
}

uint32_t program_add_callable(Program *program, Program *callable)
{
    if (!vec_reserve(&program->callables, &program->callable_capacity,
                     program->callable_count + 1, sizeof(Program *))) {
        program_free(callable);
        return PROGRAM_NONE;
    }
    program->callables[program->callable_count] = callable;
    return program->callable_count++;
}

uint32_t program_result_count(const Program *program, const Program *root,
                              const Region *region)
{
    if (region->kind != REGION_CALL)
        return program->insts[region->end].count;
    if (!region->target_count)
        return 0;
    const Program *target = root->callables[program->extra[region->targets]];
    return target->insts[target->inst_count - 1].count;
}

VarType program_operation_type(const Program *program, const Inst *inst)
{
    uint32_t lead = op_info[inst->op].lead;
    if (lead >= inst->count)
        return (VarType) inst->type;
    return (VarType) program->insts[program_args(program, inst)[lead]].type;
}

uint32_t program_find_param(const Program *program, ParamKind kind)
{
    for (uint32_t i = 0; i < program->param_count; ++i)
        if (program->params[i].kind == kind)
            return i;
    return PROGRAM_NONE;
}

/* A copy of an array with exactly as many elements as there are; NULL for none. */
static bool copy_array(void *out, uint32_t *capacity, const void *data, uint32_t count,
                       size_t size)
{
    *capacity = count;
    if (!count)
        return true;
    void *copy = alloc_get(count * size);
    TRY(copy, false);
    pages_touch(copy, count * size);
    memcpy(copy, data, count * size);
    memcpy(out, &copy, sizeof(copy));
    return true;
}

static bool copy_stmts(Program *to, const Program *from)
{
    if (!from->stmt_count)
        return true;
    to->stmts = alloc_zero(from->stmt_count, sizeof(char *));
    TRY(to->stmts, false);
    to->stmt_count = to->stmt_capacity = from->stmt_count;
    for (uint32_t i = 0; i < from->stmt_count; ++i) {
        to->stmts[i] = alloc_string(from->stmts[i]);
        TRY(to->stmts[i], false);
    }
    return true;
}

static bool copy_callables(Program *to, const Program *from)
{
    if (!from->callable_count)
        return true;
    to->callables = alloc_zero(from->callable_count, sizeof(Program *));
    TRY(to->callables, false);
    to->callable_count = to->callable_capacity = from->callable_count;
    for (uint32_t i = 0; i < from->callable_count; ++i) {
        to->callables[i] = program_copy(from->callables[i]);
        TRY(to->callables[i], false);
    }
    return true;
}

Program *program_copy(const Program *p)
{
    Program *c = alloc_zero(1, sizeof(Program));
    TRY(c, NULL);
    bool ok = copy_array(&c->insts, &c->inst_capacity, p->insts, p->inst_count,
                         sizeof(Inst)) &&
              copy_array(&c->extra, &c->extra_capacity, p->extra, p->extra_count,
                         sizeof(uint32_t)) &&
              copy_array(&c->literals, &c->literal_capacity, p->literals,
                         p->literal_count, sizeof(uint64_t)) &&
              copy_array(&c->params, &c->param_capacity, p->params, p->param_count,
                         sizeof(Param)) &&
              copy_array(&c->regions, &c->region_capacity, p->regions, p->region_count,
                         sizeof(Region)) &&
              copy_array(&c->sources, &c->source_capacity, p->sources,
                         p->source_count, sizeof(SourceLine)) &&
              copy_stmts(c, p) && copy_callables(c, p);
    if (!ok) {
        program_free(c);
        return NULL;
    }
    c->inst_count = p->inst_count;
    c->extra_count = p->extra_count;
    c->literal_count = p->literal_count;
    c->param_count = p->param_count;
    c->region_count = p->region_count;
    c->check_count = p->check_count;
    c->print_count = p->print_count;
    c->source_count = p->source_count;
    return c;
}

Program *program_share(const Program *program)
{
    enum { LARGE = 1 << 16 }; /* instructions: a copy takes longer than growing anew */
    Program *p = (Program *) (uintptr_t) program;
    if (p->inst_count < LARGE)
        return program_copy(p);
    atomic_fetch_add_explicit(&p->further_owners, 1, memory_order_relaxed);
    return p;
}

bool program_is_shared(const Program *program)
{
    return atomic_load_explicit(&program->further_owners, memory_order_acquire) > 0;
}

bool program_has_loops(const Program *p)
{
    for (uint32_t i = 0; i < p->region_count; ++i)
        if (p->regions[i].kind == REGION_LOOP)
            return true;
    return false;
}

bool program_may_last(const Program *p)
{
    bool loops = program_has_loops(p);
    for (uint32_t i = 0; i < p->callable_count && !loops; ++i)
        loops = program_has_loops(p->callables[i]);
    return loops;
}

void program_clear(Program *p)
{
    for (uint32_t i = 0; i < p->stmt_count; ++i)
        alloc_free(p->stmts[i]);
    for (uint32_t i = 0; i < p->callable_count; ++i)
        program_free(p->callables[i]);
    p->inst_count = p->extra_count = p->literal_count = p->param_count = 0;
    p->stmt_count = p->region_count = p->callable_count = 0;
    p->check_count = p->print_count = p->source_count = 0;
    p->source = (SourceLine){ NULL, 0 };
}

void program_free(Program *p)
{
    if (!p ||
        atomic_fetch_sub_explicit(&p->further_owners, 1, memory_order_acq_rel) > 0)
        return;
    program_clear(p);
    alloc_free(p->insts);
    alloc_free(p->extra);
    alloc_free(p->literals);
    alloc_free(p->params);
    alloc_free(p->stmts);
    alloc_free(p->regions);
    alloc_free(p->callables);
    alloc_free(p->sources);
    alloc_free(p);
}
