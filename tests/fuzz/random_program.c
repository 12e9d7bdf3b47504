/*
 * random_program.c -- see random_program.h
 *
 * Values that have been computed wait in a pool by type. Each step draws an operation,
 * its types and its operands from the pools, or makes new leaves. Values that nobody
 * used are stored at the end, so that no difference is lost.
 */
#include "random_program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

enum {
    MAX_LANES = 2000,
    POOL = 64 /* values of a type that are remembered */
};

typedef struct Pool {
    uint32_t at[POOL];
    uint32_t count; /* ever added; the last POOL of them are there */
} Pool;

typedef struct Maker {
    RandomProgram *random;
    Program *program;
    Pool pools[VarTypeCount];
    uint64_t state;
    bool failed; /* memory ran out */
} Maker;

/* --------------------------------------------------------------- random numbers */

/* Splitmix. Calls of draw() must not share an expression without a sequence point. */
static uint64_t draw(Maker *m)
{
    uint64_t x = m->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint32_t below(Maker *m, uint32_t bound)
{
    return (uint32_t) ((draw(m) >> 32) * bound >> 32);
}

static bool chance(Maker *m, uint32_t percent)
{
    return below(m, 100) < percent;
}

static VarType draw_type(Maker *m, uint32_t types)
{
    uint32_t n = below(m, (uint32_t) __builtin_popcount(types));
    while (n--)
        types &= types - 1;
    return (VarType) __builtin_ctz(types);
}

/* Bits of a float near the limits of something: zeros, ones, infinities, NaNs,
 * denormals. */
static uint64_t special_float(Maker *m, VarType type)
{
    static const uint64_t specials[3][12] = {
        { 0, 0x3c00, 0x7c00, 0x7e01, 0x7d01, 0x0001, 0x03ff, 0x0400, 0x7bff, 0x3800,
          0x7800, 0x57ff },
        { 0, 0x3f800000, 0x7f800000, 0x7fc00001, 0x7fa00001, 1, 0x007fffff, 0x00800000,
          0x7f7fffff, 0x3f000000, 0x4f000000, 0x5f800000 },
        { 0, 0x3ff0000000000000, 0x7ff0000000000000, 0x7ff8000000000001,
          0x7ff4000000000001, 1, 0x000fffffffffffff, 0x0010000000000000,
          0x7fefffffffffffff, 0x3fe0000000000000, 0x41e0000000000000,
          0x43f0000000000000 }
    };
    uint64_t sign = draw(m) & 1;
    return specials[type - VarTypeFloat16][below(m, 12)] |
           sign << (type_info[type].size * 8 - 1);
}

/* A number of moderate size, which most arithmetic is about. */
static uint64_t plain_number(Maker *m, VarType type)
{
    if (type == VarTypeFloat16) { /* with a fraction that is often short */
        uint64_t sign = draw(m) & 1, exponent = 11 + below(m, 10);
        uint64_t fraction = below(m, 1024);
        if (chance(m, 50))
            fraction &= 0x380;
        return sign << 15 | exponent << 10 | fraction;
    }
    int32_t number = (int32_t) below(m, 65) - 32;
    if (!type_info[type].is_float)
        return (uint64_t) (int64_t) number;
    double f64 = number + (chance(m, 50) ? below(m, 1024) / 1024. : 0);
    float f32 = (float) f64;
    uint64_t bits = 0;
    if (type == VarTypeFloat32)
        memcpy(&bits, &f32, sizeof f32);
    else
        memcpy(&bits, &f64, sizeof f64);
    return bits;
}

static uint64_t draw_bits(Maker *m, VarType type)
{
    uint32_t width = type_info[type].size * 8u, kind = below(m, 10);
    uint64_t bits = draw(m);
    if (type == VarTypeBool)
        return bits & 1;
    if (type == VarTypePointer)
        bits &= 7; /* so that some are equal; nobody follows them */
    else if (kind < 5)
        bits = plain_number(m, type);
    else if (kind < 8 && type_info[type].is_float)
        bits = special_float(m, type);
    else if (kind < 8) /* next to a power of two, 0 and the limits included */
        bits = (1ull << below(m, width)) - (bits & 1) - (kind == 7);
    return width == 64 ? bits : bits & ((1ull << width) - 1);
}

/* ----------------------------------------------------------------------- emitting */

static uint32_t note(Maker *m, uint32_t at, bool fixed)
{
    RandomProgram *r = m->random;
    if (at == PROGRAM_NONE || !vec_reserve(&r->fixed, &r->fixed_capacity, at + 1, 1)) {
        m->failed = true;
        return 0;
    }
    r->fixed[at] = fixed;
    return at;
}

static uint32_t emit(Maker *m, Op op, VarType type, uint32_t aux, uint32_t count,
                     const uint32_t *args)
{
    return note(m, program_add(m->program, op, type, aux, count, args), false);
}

/* An instruction that keeps the Program well-defined. */
static uint32_t guard(Maker *m, Op op, VarType type, uint32_t a, uint32_t b)
{
    uint32_t count = op_info[op].arity, args[2] = { a, b };
    return note(m, program_add(m->program, op, type, 0, count, args), true);
}

static uint32_t guard_literal(Maker *m, VarType type, uint64_t bits)
{
    return note(m, program_add_literal(m->program, type, bits), true);
}

static void remember(Maker *m, uint32_t at)
{
    Pool *pool = &m->pools[m->program->insts[at].type];
    pool->at[pool->count++ % POOL] = at;
}

static uint32_t add_slot(Maker *m, ParamKind kind, VarType type, uint32_t entries)
{
    RandomProgram *r = m->random;
    uint32_t slot = program_add_param(m->program, kind, type);
    if (slot == PROGRAM_NONE ||
        !vec_reserve(&r->arrays, &r->array_capacity, slot + 1, sizeof(RandomArray))) {
        m->failed = true;
        m->program->param_count -= slot != PROGRAM_NONE;
        return 0;
    }
    RandomArray *array = &r->arrays[slot];
    memset(array, 0, sizeof *array);
    uint32_t size = type_info[type].size;
    array->bytes = entries * size;
    if (!array->bytes)
        return slot;
    array->data = alloc_get(array->bytes);
    if (!array->data)
        m->failed = true;
    else if (kind == PARAM_OUTPUT)
        memset(array->data, ARRAY_FILL, array->bytes);
    else
        for (uint32_t i = 0; i < entries; ++i) {
            uint64_t bits = draw_bits(m, type);
            memcpy(array->data + i * size, &bits, size);
        }
    if (kind != PARAM_OUTPUT && chance(m, 25))
        array->shift = size * (1 + below(m, 15)) % ARRAY_GUARD;
    return slot;
}

static uint32_t new_leaf(Maker *m, VarType type)
{
    uint32_t kind = below(m, 100), at;
    if (type == VarTypeUInt32 && kind < 15)
        return emit(m, OP_COUNTER, type, 0, 0, NULL);
    if (type == VarTypeUInt32 && kind < 17)
        return emit(m, OP_WORKER, type, 0, 0, NULL);
    if (kind < 20)
        return emit(m, OP_UNDEFINED, type, 0, 0, NULL);
    if (kind < 45)
        return note(m, program_add_literal(m->program, type, draw_bits(m, type)),
                    false);
    if (kind < 55) {
        uint32_t slot = add_slot(m, PARAM_VALUE, type, 0);
        if (!m->failed)
            m->random->arrays[slot].word = draw_bits(m, type);
        return emit(m, OP_PARAM, type, slot, 0, NULL);
    }
    bool uniform = kind < 65;
    uint32_t slot = add_slot(m, PARAM_INPUT, type, uniform ? 1 : m->random->lanes);
    at = emit(m, OP_LOAD, type, slot, 0, NULL);
    if (uniform && !m->failed)
        m->program->insts[at].flags |= INST_UNIFORM;
    return at;
}

/* A value of this type: a recent one, any one, or a new leaf. */
static uint32_t pick(Maker *m, VarType type)
{
    const Pool *pool = &m->pools[type];
    uint32_t there = pool->count < POOL ? pool->count : POOL;
    if (there && chance(m, 85)) {
        uint32_t back = 1 + below(m, chance(m, 50) && there > 4 ? 4 : there);
        return pool->at[(pool->count - back) % POOL];
    }
    uint32_t at = new_leaf(m, type);
    remember(m, at);
    return at;
}

/* A float that is not NaN. */
static uint32_t pick_number(Maker *m, VarType type)
{
    uint32_t value = pick(m, type);
    if (!type_info[type].is_float)
        return value;
    uint32_t args[3] = { 0, value };
    args[0] = guard(m, OP_EQ, VarTypeBool, value, value);
    args[2] = guard_literal(m, type, 0);
    return note(m, program_add(m->program, OP_SELECT, type, 0, 3, args), true);
}

/* --------------------------------------------------------------------- arithmetic */

static void make_arithmetic(Maker *m)
{
    Op op = (Op) (OP_NEG + below(m, OP_SELECT - OP_NEG + 1));
    const OpInfo *info = &op_info[op];
    VarType type = draw_type(m, info->operands), result = type;
    if (info->result == RESULT_MASK)
        result = VarTypeBool;
    else if (info->result == RESULT_WIDE)
        result = type_wide(type);
    uint32_t args[3];
    for (uint32_t i = 0; i < info->arity; ++i)
        args[i] = pick(m, type);
    if (op == OP_SELECT)
        args[0] = pick(m, VarTypeBool);
    if (op == OP_COPYSIGN) /* the sign of a NaN is arbitrary */
        args[1] = pick_number(m, type);
    remember(m, emit(m, op, result, 0, info->arity, args));
}

static void make_cast(Maker *m)
{
    uint32_t types = CLASS_NUMBER | 1 << VarTypeBool;
    VarType from = draw_type(m, types), to = draw_type(m, types & ~(1u << from));
    uint32_t value = pick(m, from);
    remember(m, emit(m, OP_CAST, to, 0, 1, &value));
}

static void make_bitcast(Maker *m)
{
    VarType from = draw_type(m, CLASS_NUMBER | 1 << VarTypePointer);
    uint32_t types = 0;
    for (uint32_t t = 0; t < VarTypeCount; ++t)
        if (CLASS_NUMBER >> t & 1 && t != from &&
            type_info[t].size == type_info[from].size)
            types |= 1u << t;
    if (from == VarTypePointer)
        types = 1u << VarTypeUInt64;
    else if (from == VarTypeUInt64)
        types |= 1u << VarTypePointer;
    uint32_t value = pick_number(m, from);
    remember(m, emit(m, OP_BITCAST, draw_type(m, types), 0, 1, &value));
}

/* ------------------------------------------------------------------------- memory */

static uint32_t add_pointer(Maker *m, VarType type, uint32_t entries, bool written)
{
    uint32_t slot = add_slot(m, PARAM_POINTER, type, entries);
    if (!m->failed)
        m->program->params[slot].written = written;
    return note(m, program_add(m->program, OP_PARAM, VarTypePointer, slot, 0, NULL),
                true);
}

/* Any index below 'bound', and a mask. Either the index is reduced to the range or
 * lanes beyond it are masked. */
static void any_index(Maker *m, uint32_t bound, uint32_t *index, uint32_t *mask)
{
    *mask = chance(m, 30) ? guard_literal(m, VarTypeBool, 1) : pick(m, VarTypeBool);
    uint32_t value = pick(m, VarTypeUInt32);
    uint32_t limit = guard_literal(m, VarTypeUInt32, bound);
    if (chance(m, 20)) {
        uint32_t inside = guard(m, OP_LT, VarTypeBool, value, limit);
        *mask = guard(m, OP_AND, VarTypeBool, *mask, inside);
        *index = value;
    } else {
        *index = guard(m, OP_MOD, VarTypeUInt32, value, limit);
    }
    if (chance(m, 25))
        *index = guard(m, OP_BITCAST, VarTypeInt32, *index, 0);
}

/* Indices that differ from lane to lane, below a power of two '*bound'. */
static uint32_t distinct_index(Maker *m, uint32_t *bound)
{
    *bound = 1;
    while (*bound < m->random->lanes)
        *bound *= 2;
    uint32_t counter = guard(m, OP_COUNTER, VarTypeUInt32, 0, 0);
    uint32_t factor = guard_literal(m, VarTypeUInt32, draw(m) >> 32 | 1);
    uint32_t offset = guard_literal(m, VarTypeUInt32, draw(m) >> 32);
    uint32_t product = guard(m, OP_MUL, VarTypeUInt32, counter, factor);
    uint32_t sum = guard(m, OP_ADD, VarTypeUInt32, product, offset);
    uint32_t last = guard_literal(m, VarTypeUInt32, *bound - 1);
    uint32_t index = guard(m, OP_AND, VarTypeUInt32, sum, last);
    return chance(m, 25) ? guard(m, OP_BITCAST, VarTypeInt32, index, 0) : index;
}

static void make_gather(Maker *m)
{
    VarType type = draw_type(m, CLASS_ANY);
    uint32_t n = chance(m, 40) ? 2u << below(m, chance(m, 15) ? 6 : 3) : 1;
    uint32_t bound = 1 + below(m, chance(m, 50) ? 8 : 1000), args[3];
    args[0] = add_pointer(m, type, bound * n, false);
    any_index(m, bound, &args[1], &args[2]);
    if (n == 1) {
        remember(m, emit(m, OP_GATHER, type, 0, 3, args));
        return;
    }
    uint32_t packet =
        note(m, program_add(m->program, OP_GATHER_PACKET, type, n, 3, args), true);
    for (uint32_t k = 0; k < n; ++k)
        if (k == 0 || n <= 4 || chance(m, 25))
            remember(m, emit(m, OP_PACKET_ITEM, type, k, 1, &packet));
}

static uint32_t reduce_types(ReduceOp op)
{
    switch (op) {
    case ReduceOpIdentity:
        return CLASS_ANY;
    case ReduceOpAnd:
    case ReduceOpOr:
        return CLASS_BITS;
    default:
        return CLASS_NUMBER;
    }
}

/* Can lanes meet at one target without the order of lanes being seen? */
static bool may_meet(ReduceOp op, VarType type, ReduceMode mode)
{
    return op != ReduceOpIdentity && !type_info[type].is_float &&
           mode != ReduceModeNoConflicts && mode != ReduceModePermute;
}

static void make_scatter(Maker *m)
{
    ReduceOp op = (ReduceOp) below(m, ReduceOpCount);
    ReduceMode mode = (ReduceMode) below(m, ReduceModeCount);
    VarType type = draw_type(m, reduce_types(op));
    uint32_t n = chance(m, 30) ? 2u << below(m, chance(m, 15) ? 6 : 3) : 1, bound,
             index;
    uint32_t mask =
        chance(m, 30) ? guard_literal(m, VarTypeBool, 1) : pick(m, VarTypeBool);
    if (may_meet(op, type, mode) && chance(m, 70)) {
        bound = 1 + below(m, chance(m, 50) ? 8 : 1000);
        any_index(m, bound, &index, &mask);
    } else {
        index = distinct_index(m, &bound);
    }
    uint32_t pointer = add_pointer(m, type, bound * n, true);
    uint32_t aux = (uint32_t) op | (uint32_t) mode << 8;
    if (n == 1) {
        uint32_t args[] = { pointer, pick(m, type), index, mask };
        emit(m, OP_SCATTER, VarTypeVoid, aux, 4, args);
        return;
    }
    uint32_t args[3 + 64] = { pointer, index, mask };
    for (uint32_t k = 0; k < n; ++k)
        args[3 + k] = pick(m, type);
    emit(m, OP_SCATTER_PACKET, VarTypeVoid, aux, 3 + n, args);
}

/* Every lane writes the same, so they may meet without reducing. */
static void make_uniform_scatter(Maker *m)
{
    VarType type = draw_type(m, CLASS_ANY);
    uint32_t value = guard_literal(m, type, draw_bits(m, type));
    uint32_t bound = 1 + below(m, 100), args[4] = { 0, value, 0, 0 };
    any_index(m, bound, &args[2], &args[3]);
    args[0] = add_pointer(m, type, bound, true);
    emit(m, OP_SCATTER, VarTypeVoid, ReduceOpIdentity, 4, args);
}

static void make_atomic(Maker *m)
{
    uint32_t kind = below(m, 5), bound, index;
    uint32_t mask =
        chance(m, 30) ? guard_literal(m, VarTypeBool, 1) : pick(m, VarTypeBool);
    if (kind == 0) { /* lanes may meet if nobody uses what they saw */
        bound = 1 + below(m, 100);
        any_index(m, bound, &index, &mask);
    } else {
        index = distinct_index(m, &bound);
    }
    VarType type = kind < 2    ? VarTypeUInt32
                   : kind == 4 ? draw_type(m, CLASS_FLOAT)
                               : draw_type(m, CLASS_ANY);
    uint32_t pointer = add_pointer(m, type, bound, true);
    uint32_t args[5] = { pointer };
    if (kind < 2) {
        args[1] = index;
        args[2] = mask;
        uint32_t old = emit(m, OP_SCATTER_INC, type, 0, 3, args);
        if (kind == 1)
            remember(m, old);
        return;
    }
    static const Op ops[] = { [2] = OP_SCATTER_EXCH,
                              [3] = OP_SCATTER_CAS,
                              [4] = OP_SCATTER_ADD };
    uint32_t values = kind == 3 ? 2 : 1; /* compare and exchange has two */
    for (uint32_t k = 0; k < values; ++k)
        args[1 + k] = kind == 2 ? pick(m, type) : pick_number(m, type);
    args[1 + values] = index;
    args[2 + values] = mask;
    remember(m, emit(m, ops[kind], type, 0, 3 + values, args));
}

static void make_check(Maker *m)
{
    Program *p = m->program;
    if (p->check_count == RANDOM_CHECKS)
        return;
    VarType type = chance(m, 25) ? VarTypeInt32 : VarTypeUInt32;
    uint32_t number = p->check_count++;
    uint32_t bits = 2 + below(m, 33), args[2];
    m->random->bounds[number] = 1 + (draw(m) >> (64 - bits));
    args[0] = pick(m, VarTypeBool);
    args[1] = pick(m, type);
    remember(m, emit(m, OP_CHECK, VarTypeBool, number, 2, args));
}

/* -------------------------------------------------------------------------- whole */

static void make_step(Maker *m)
{
    uint32_t kind = below(m, 100);
    if (kind < 62)
        make_arithmetic(m);
    else if (kind < 74)
        make_cast(m);
    else if (kind < 82)
        make_bitcast(m);
    else if (kind < 88)
        make_gather(m);
    else if (kind < 93)
        make_scatter(m);
    else if (kind < 95)
        make_uniform_scatter(m);
    else if (kind < 98)
        make_atomic(m);
    else
        make_check(m);
}

/* Store every value that nobody uses. */
static void store_sinks(Maker *m)
{
    Program *p = m->program;
    uint32_t count = p->inst_count;
    bool *used = alloc_zero(count, sizeof(bool));
    if (!used) {
        m->failed = true;
        return;
    }
    for (uint32_t at = 0; at < count; ++at) {
        const uint32_t *args = program_args(p, &p->insts[at]);
        for (uint32_t i = 0; i < p->insts[at].count; ++i)
            used[args[i]] = true;
    }
    for (uint32_t at = 0; at < count && !m->failed; ++at) {
        const Inst *inst = &p->insts[at];
        /* What an increment saw may depend on the order of lanes, packets have no
         * entry. */
        if (used[at] || inst->type == VarTypeVoid || inst->op == OP_SCATTER_INC ||
            inst->op == OP_GATHER_PACKET || m->random->fixed[at])
            continue;
        uint32_t slot =
            add_slot(m, PARAM_OUTPUT, (VarType) inst->type, m->random->lanes);
        emit(m, OP_STORE, VarTypeVoid, slot, 1, &at);
    }
    alloc_free(used);
}

RandomProgram *random_program_new(uint64_t seed, uint32_t ops)
{
    RandomProgram *r = alloc_zero(1, sizeof *r);
    Maker *m = alloc_zero(1, sizeof *m);
    if (r && m) {
        m->random = r;
        m->state = seed * 0xd1342543de82ef95u;
        m->failed = !(r->program = m->program = alloc_zero(1, sizeof(Program)));
        r->lanes = 1 + below(m, chance(m, 50) ? 64 : MAX_LANES);
        r->split = chance(m, 50) ? 0 : below(m, (r->lanes + 63) / 64) * 64;
        for (uint32_t i = 0; i < ops && !m->failed; ++i)
            make_step(m);
        if (!m->failed)
            store_sinks(m);
        if (!m->failed && r->program->check_count)
            add_slot(m, PARAM_REPORT, VarTypeVoid, 0);
    }
    bool failed = !r || !m || m->failed;
    alloc_free(m);
    if (!failed)
        return r;
    random_program_free(r);
    return NULL;
}

void random_program_free(RandomProgram *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->program && i < r->program->param_count; ++i)
        alloc_free(r->arrays[i].data);
    program_free(r->program);
    alloc_free(r->fixed);
    alloc_free(r->arrays);
    alloc_free(r);
}

/* ---------------------------------------------------------------------- reduction */

/* Which instructions does somebody need? */
static bool *find_live(const Program *p, const uint8_t *reductions)
{
    bool *live = alloc_zero(p->inst_count + 1, sizeof(bool));
    for (uint32_t at = p->inst_count; live && at-- > 0;) {
        const Inst *inst = &p->insts[at];
        if (op_info[inst->op].flags & F_EFFECT && reductions[at] == REDUCE_KEEP)
            live[at] = true;
        if (!live[at] || reductions[at] != REDUCE_KEEP)
            continue;
        const uint32_t *args = program_args(p, inst);
        for (uint32_t i = 0; i < inst->count; ++i)
            live[args[i]] = true;
    }
    return live;
}

static uint32_t copy_inst(Program *to, const Program *p, const Inst *inst,
                          const uint32_t *map)
{
    uint32_t args[256];
    for (uint32_t i = 0; i < inst->count; ++i)
        args[i] = map[program_args(p, inst)[i]];
    VarType type = (VarType) inst->type;
    if (inst->op == OP_LITERAL)
        return program_add_literal(to, type, p->literals[inst->aux]);
    uint32_t at = program_add(to, (Op) inst->op, type, inst->aux, inst->count, args);
    if (at != PROGRAM_NONE && inst->op == OP_LOAD)
        to->insts[at].flags = inst->flags;
    return at;
}

static bool copy_live(Program *to, const Program *p, const uint8_t *reductions,
                      const bool *live, uint32_t *map)
{
    for (uint32_t i = 0; i < p->param_count; ++i) {
        if (program_add_param(to, (ParamKind) p->params[i].kind,
                              (VarType) p->params[i].type) == PROGRAM_NONE)
            return false;
        to->params[i] = p->params[i];
    }
    to->check_count = p->check_count;
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        if (!live[at])
            continue;
        const Inst *inst = &p->insts[at];
        map[at] = reductions[at] == REDUCE_KEEP
                      ? copy_inst(to, p, inst, map)
                      : program_add_literal(to, (VarType) inst->type, 0);
        if (map[at] == PROGRAM_NONE)
            return false;
    }
    return true;
}

Program *random_program_reduce(const RandomProgram *random, const uint8_t *reductions)
{
    const Program *p = random->program;
    Program *to = alloc_zero(1, sizeof *to);
    bool *live = find_live(p, reductions);
    uint32_t *map = alloc_zero(p->inst_count + 1, sizeof(uint32_t));
    if (!to || !live || !map || !copy_live(to, p, reductions, live, map)) {
        program_free(to);
        to = NULL;
    }
    alloc_free(live);
    alloc_free(map);
    return to;
}
