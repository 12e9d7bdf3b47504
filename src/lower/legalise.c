/*
 * legalise.c -- the walk over the Program
 *
 * One forward pass copies the instructions the engine supports and replaces the others
 * through the rules of legalise_rules.c. 'map' takes positions of the old Program to
 * positions of the new one; the position of a packet gather or a product with a matrix
 * leads to a list of positions, one for each item, as the items are separate results in
 * the new Program and a PACKET_ITEM is just another name for one of them. Only items
 * that somebody uses are there.
 *
 * Control flow: marks are copied one to one with mapped operands, and STATEs and
 * RESULTs stay directly behind their marks, as no rule is ever asked for them. Rules
 * may add conditionals, so regions get new numbers. Callables are walked one after the
 * other, each into a Program of its own.
 *
 * The walk is a loop; only rules within rules recurse, a few levels deep.
 */
#include "lower/legalise.h"

#include "base/alloc.h"
#include "base/error.h"
#include "lower/build.h"
#include "lower/legalise_matrix.h"

typedef struct Walk {
    const Program *in;
    Build build;
    uint32_t *map;    /* new position of an old result; packets: start in items[] */
    uint32_t *items;  /* new positions of items; before: ITEM_USED, PROGRAM_NONE */
    uint32_t *mapped; /* operands of the current instruction */
    uint32_t *region; /* new numbers of regions */
} Walk;

enum { ITEM_USED = 0 };

static bool supported(const Program *program, const Engine *engine, const Inst *inst)
{
    return engine->supports((Op) inst->op, (VarType) inst->type,
                            program_operation_type(program, inst));
}

/* The same without branches that nobody could predict, where operands stand in the
 * instruction; unused ones are 0. */
static inline VarType operand_type(const Program *program, const Inst *inst)
{
    if (inst->count > INST_ARGS)
        return program_operation_type(program, inst);
    uint32_t which = op_info[inst->op].lead, there = which < inst->count;
    uint32_t type = program->insts[inst->arg[which * there]].type;
    return (VarType) (inst->type ^ ((inst->type ^ type) & -there));
}

/* A Program has few different instructions: those that the engine has are remembered,
 * so that it need not be asked for each. */
static bool needs_work(const Program *program, const Engine *engine)
{
    enum { KNOWN_BITS = 6, TYPE_BITS = 5 };
    uint32_t known[1 << KNOWN_BITS] = { 0 };
    for (uint32_t i = 0; i < program->inst_count; ++i) {
        const Inst *inst = &program->insts[i];
        VarType operand = operand_type(program, inst);
        uint32_t what = ((inst->op + 1u) << TYPE_BITS | inst->type) << TYPE_BITS |
                        (uint32_t) operand;
        uint32_t *slot = &known[what * 0x9e3779b1u >> (32 - KNOWN_BITS)];
        if (*slot == what)
            continue;
        if (!engine->supports((Op) inst->op, (VarType) inst->type, operand))
            return true;
        *slot = what;
    }
    return false;
}

/* Is there anything to expand, in the Program or a callable? */
static bool any_needs_work(const Program *program, const Engine *engine)
{
    bool any = needs_work(program, engine);
    for (uint32_t i = 0; !any && i < program->callable_count; ++i)
        any = needs_work(program->callables[i], engine);
    return any;
}

/* Packets that are taken apart get a stretch of items[] each, in which used items are
 * marked. */
static bool prepare_packets(Walk *walk)
{
    const Program *in = walk->in;
    const Engine *engine = walk->build.engine;
    size_t total = 0;
    for (uint32_t i = 0; i < in->inst_count; ++i) {
        const Inst *inst = &in->insts[i];
        if (program_item_count(inst) && !supported(in, engine, inst)) {
            walk->map[i] = (uint32_t) total;
            total += program_item_count(inst);
        }
    }
    if (total == 0)
        return true;
    if (total >= PROGRAM_NONE)
        return error_set(JIT_ERROR_MEMORY, "a kernel has %zu items of packets", total);

    TRY(walk->items = alloc_get(total * sizeof *walk->items), false);
    for (size_t i = 0; i < total; ++i)
        walk->items[i] = PROGRAM_NONE;
    for (uint32_t i = 0; i < in->inst_count; ++i) {
        const Inst *inst = &in->insts[i];
        if (inst->op == OP_PACKET_ITEM &&
            !supported(in, engine, &in->insts[inst->arg[0]]))
            walk->items[walk->map[inst->arg[0]] + inst->aux] = ITEM_USED;
    }
    return true;
}

/* 32-bit index of item k of a packet of n. The product wraps in UInt32, also for Int32.
 * */
static uint32_t item_index(Build *build, uint32_t index, uint32_t n, uint32_t k)
{
    uint32_t first = build_2(build, OP_MUL, build_bitcast(build, VarTypeUInt32, index),
                             build_bits(build, VarTypeUInt32, n));
    return k == 0 ? first
                  : build_2(build, OP_ADD, first, build_bits(build, VarTypeUInt32, k));
}

/* GATHER_PACKET -> one GATHER for each item that is used. */
static bool split_gather(Walk *walk, uint32_t position, const uint32_t *args)
{
    Build *build = &walk->build;
    const Inst *inst = &walk->in->insts[position];
    uint32_t *items = walk->items + walk->map[position];
    for (uint32_t k = 0; k < inst->aux; ++k) {
        if (items[k] != ITEM_USED)
            continue;
        uint32_t index = item_index(build, args[1], inst->aux, k);
        items[k] = build_emit(build, &(BuildInst) {
            .op = OP_GATHER, .type = (VarType) inst->type,
            .operand = (VarType) inst->type, .count = 3,
            .args = (uint32_t[]) { args[0], index, args[2] } });
        TRY(items[k] != PROGRAM_NONE, false);
    }
    return true;
}

/* SCATTER_PACKET -> one SCATTER for each value. */
static bool split_scatter(Walk *walk, const Inst *inst, const uint32_t *args)
{
    Build *build = &walk->build;
    uint32_t n = inst->count - 3;
    for (uint32_t k = 0; k < n; ++k) {
        uint32_t value = args[3 + k];
        uint32_t index = item_index(build, args[1], n, k);
        uint32_t done = build_emit(build, &(BuildInst) {
            .op = OP_SCATTER, .type = VarTypeVoid, .operand = build_type(build, value),
            .aux = inst->aux, .count = 4,
            .args = (uint32_t[]) { args[0], value, index, args[2] } });
        TRY(done != PROGRAM_NONE, false);
    }
    return true;
}

/* A product with a matrix -> its entries. */
static bool split_matrix(Walk *walk, uint32_t position, const uint32_t *args)
{
    const Inst *inst = &walk->in->insts[position];
    const BuildInst wanted = { .op = (Op) inst->op, .type = (VarType) inst->type,
                               .operand = (VarType) inst->type, .aux = inst->aux,
                               .count = inst->count, .args = args };
    return inst->op == OP_OUTER
               ? legalise_outer(&walk->build, &wanted)
               : legalise_matvec(&walk->build, &wanted,
                                 walk->items + walk->map[position]);
}

/* Copy or expand one instruction; operands are mapped already. */
static bool translate(Walk *walk, uint32_t position, const uint32_t *args)
{
    const Program *in = walk->in;
    const Inst *inst = &in->insts[position];
    Build *build = &walk->build;
    bool legal = supported(in, build->engine, inst);

    if (!legal && (inst->op == OP_MATVEC || inst->op == OP_OUTER))
        return split_matrix(walk, position, args);
    if (inst->op == OP_GATHER_PACKET && !legal)
        return split_gather(walk, position, args);
    if (inst->op == OP_SCATTER_PACKET && !legal)
        return split_scatter(walk, inst, args);

    bool region = op_info[inst->op].aux == AUX_REGION;
    uint32_t result;
    if (inst->op == OP_LITERAL)
        result = build_bits(build, (VarType) inst->type, in->literals[inst->aux]);
    else
        result = build_emit(build, &(BuildInst) {
            .op = (Op) inst->op, .type = (VarType) inst->type,
            .operand = program_operation_type(in, inst),
            .aux = region ? walk->region[inst->aux] : inst->aux,
            .count = inst->count, .args = args });
    TRY(result != PROGRAM_NONE, false);
    /* What is computed from UNDEFINED has a value: LOCAL tells them apart. */
    if (inst->op != OP_UNDEFINED && inst->type != VarTypeVoid &&
        build->out->insts[result].op == OP_UNDEFINED)
        result = build_bits(build, (VarType) inst->type, 0);
    TRY(result != PROGRAM_NONE, false);
    /* That a LOAD reads one entry for all lanes is known by its flag alone. */
    if (inst->op == OP_LOAD)
        build->out->insts[result].flags = inst->flags;
    walk->map[position] = result;
    return true;
}

/* A REGION; the END of a call comes with it. */
static bool begin_region(Walk *walk, const Inst *inst, const uint32_t *args)
{
    const Program *in = walk->in;
    const Region *region = &in->regions[inst->aux];
    if (!supported(in, walk->build.engine, inst))
        return build_unsupported(&walk->build, &(BuildInst){ .op = OP_REGION }) !=
               PROGRAM_NONE;
    const uint32_t *targets =
        region->target_count ? in->extra + region->targets : NULL;
    walk->region[inst->aux] =
        program_add_region(walk->build.out, (RegionKind) region->kind, inst->count,
                           args, region->target_count, targets);
    return walk->region[inst->aux] != PROGRAM_NONE;
}

/* Is this an item of a packet that has been taken apart? */
static bool is_split_item(const Walk *walk, const Inst *inst)
{
    return inst->op == OP_PACKET_ITEM &&
           !supported(walk->in, walk->build.engine, &walk->in->insts[inst->arg[0]]);
}

static bool walk_inst(Walk *walk, uint32_t position)
{
    const Program *in = walk->in;
    const Inst *inst = &in->insts[position];
    const uint32_t *args = program_args(in, inst);
    if (is_split_item(walk, inst)) {
        walk->map[position] = walk->items[walk->map[args[0]] + inst->aux];
        return true;
    }
    for (uint32_t k = 0; k < inst->count; ++k)
        walk->mapped[k] = walk->map[args[k]];
    if (inst->op == OP_REGION)
        return begin_region(walk, inst, walk->mapped);
    if (inst->op == OP_ELSE || inst->op == OP_END) {
        const Region *region = &in->regions[inst->aux];
        if (region->kind == REGION_CALL)
            return true;
        const Region *new = &walk->build.out->regions[walk->region[inst->aux]];
        build_forget(&walk->build, new->begin);
    }
    return translate(walk, position, walk->mapped);
}

/* Parameters, statements and counts, which legalisation leaves as they are. */
static bool copy_frame(Program *out, const Program *in)
{
    for (uint32_t i = 0; i < in->param_count; ++i) {
        uint32_t param = program_add_param(out, (ParamKind) in->params[i].kind,
                                           (VarType) in->params[i].type);
        TRY(param != PROGRAM_NONE, false);
        out->params[param] = in->params[i];
    }
    for (uint32_t i = 0; i < in->stmt_count; ++i)
        TRY(program_add_stmt(out, in->stmts[i]) != PROGRAM_NONE, false);
    out->check_count = in->check_count;
    out->print_count = in->print_count;
    return true;
}

static uint32_t most_operands(const Program *program)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < program->inst_count; ++i)
        if (program->insts[i].count > most)
            most = program->insts[i].count;
    return most;
}

/* One body of instructions, the callables left out. */
static Program *legalise_one(const Program *in, const Engine *engine)
{
    Walk walk = { .in = in, .build.engine = engine };
    walk.build.out = alloc_zero(1, sizeof(Program));
    walk.map = alloc_zero(in->inst_count, sizeof *walk.map);
    walk.mapped = alloc_zero(most_operands(in), sizeof *walk.mapped);
    walk.region = alloc_zero(in->region_count + 1u, sizeof *walk.region);
    bool ok = walk.build.out && walk.map && walk.mapped && walk.region &&
        copy_frame(walk.build.out, in) && prepare_packets(&walk);
    for (uint32_t i = 0; ok && i < in->inst_count; ++i) {
        const SourceLine *source = program_source(in, i);
        walk.build.out->source = source ? *source : (SourceLine){ NULL, 0 };
        ok = walk_inst(&walk, i);
    }
    alloc_free(walk.map);
    alloc_free(walk.mapped);
    alloc_free(walk.region);
    alloc_free(walk.items);
    if (ok)
        return walk.build.out;
    program_free(walk.build.out);
    return NULL;
}

const Program *legalise(const Program *program, const Engine *engine)
{
    if (!any_needs_work(program, engine))
        return program;
    Program *out = legalise_one(program, engine);
    for (uint32_t i = 0; out && i < program->callable_count; ++i) {
        Program *callable = legalise_one(program->callables[i], engine);
        if (!callable || program_add_callable(out, callable) == PROGRAM_NONE) {
            program_free(out);
            out = NULL;
        }
    }
    return out;
}
