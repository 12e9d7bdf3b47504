/*
 * random_program.c -- see random_program.h
 *
 * Values that have been computed wait in a pool by type. Each step draws an operation,
 * its types and its operands from the pools, or makes new leaves. Values that nobody
 * used are stored at the end, so that no difference is lost.
 */
#include "random_maker.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

enum { MAX_LANES = 2000 };

/* --------------------------------------------------------------- random numbers */

/* Splitmix. Calls of draw() must not share an expression without a sequence point. */
uint64_t maker_draw(Maker *m)
{
    uint64_t x = m->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint32_t maker_below(Maker *m, uint32_t bound)
{
    return (uint32_t) ((maker_draw(m) >> 32) * bound >> 32);
}

bool maker_chance(Maker *m, uint32_t percent)
{
    return maker_below(m, 100) < percent;
}

VarType maker_type(Maker *m, uint32_t types)
{
    if (types & m->style.types)
        types &= m->style.types;
    if (types & m->style.favourites && maker_chance(m, 85))
        types &= m->style.favourites;
    uint32_t n = maker_below(m, (uint32_t) __builtin_popcount(types));
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
    uint64_t sign = maker_draw(m) & 1;
    return specials[type - VarTypeFloat16][maker_below(m, 12)] |
           sign << (type_info[type].size * 8 - 1);
}

/* A number of moderate size, which most arithmetic is about. */
static uint64_t plain_number(Maker *m, VarType type)
{
    if (type == VarTypeFloat16) { /* with a fraction that is often short */
        uint64_t sign = maker_draw(m) & 1, exponent = 11 + maker_below(m, 10);
        uint64_t fraction = maker_below(m, 1024);
        if (maker_chance(m, 50))
            fraction &= 0x380;
        return sign << 15 | exponent << 10 | fraction;
    }
    int32_t number = (int32_t) maker_below(m, 65) - 32;
    if (!type_info[type].is_float)
        return (uint64_t) (int64_t) number;
    double f64 = number + (maker_chance(m, 50) ? maker_below(m, 1024) / 1024. : 0);
    float f32 = (float) f64;
    uint64_t bits = 0;
    if (type == VarTypeFloat32)
        memcpy(&bits, &f32, sizeof f32);
    else
        memcpy(&bits, &f64, sizeof f64);
    return bits;
}

uint64_t maker_bits(Maker *m, VarType type)
{
    uint32_t width = type_info[type].size * 8u, kind = maker_below(m, 10);
    uint64_t bits = maker_draw(m);
    if (type == VarTypeBool)
        return bits & 1;
    if (type == VarTypePointer)
        bits &= 7; /* so that some are equal; nobody follows them */
    else if (kind < 5)
        bits = plain_number(m, type);
    else if (kind < 8 && type_info[type].is_float)
        bits = special_float(m, type);
    else if (kind < 8) /* next to a power of two, 0 and the limits included */
        bits = (1ull << maker_below(m, width)) - (bits & 1) - (kind == 7);
    return width == 64 ? bits : bits & ((1ull << width) - 1);
}

/* ----------------------------------------------------------------------- emitting */

void maker_note(Maker *m, uint32_t at, bool fixed)
{
    RandomProgram *r = m->random;
    if (at == PROGRAM_NONE)
        m->failed = true;
    if (m->failed || m->program != r->program)
        return; /* callables are not reduced */
    if (vec_reserve(&r->fixed, &r->fixed_capacity, at + 1, 1))
        r->fixed[at] = fixed;
    else
        m->failed = true;
}

static uint32_t note(Maker *m, uint32_t at, bool fixed)
{
    maker_note(m, at, fixed);
    return m->failed ? 0 : at;
}

uint32_t maker_emit(Maker *m, Op op, VarType type, uint32_t aux, uint32_t count,
                    const uint32_t *args)
{
    return note(m, program_add(m->program, op, type, aux, count, args), false);
}

uint32_t maker_guard(Maker *m, Op op, VarType type, uint32_t aux, uint32_t count,
                     const uint32_t *args)
{
    return note(m, program_add(m->program, op, type, aux, count, args), true);
}

uint32_t maker_guard_2(Maker *m, Op op, VarType type, uint32_t a, uint32_t b)
{
    return maker_guard(m, op, type, 0, op_info[op].arity, (uint32_t[]){ a, b });
}

uint32_t maker_guard_literal(Maker *m, VarType type, uint64_t bits)
{
    return note(m, program_add_literal(m->program, type, bits), true);
}

void maker_remember(Maker *m, uint32_t at)
{
    Pool *pool = &m->scope.pools[m->program->insts[at].type];
    pool->at[pool->count++ % POOL] = at;
}

uint32_t maker_masked(Maker *m, uint32_t mask)
{
    return m->scope.active == PROGRAM_NONE
               ? mask
               : maker_guard_2(m, OP_AND, VarTypeBool, mask, m->scope.active);
}

static uint32_t any_mask(Maker *m)
{
    uint32_t kind = maker_below(m, 100); /* all lanes, none, some */
    return kind < 34 ? maker_guard_literal(m, VarTypeBool, kind < 30)
                     : maker_pick(m, VarTypeBool);
}

uint32_t maker_pick_mask(Maker *m)
{
    return maker_masked(m, any_mask(m));
}

uint32_t maker_counter(Maker *m)
{
    return m->scope.counter == PROGRAM_NONE
               ? maker_guard(m, OP_COUNTER, VarTypeUInt32, 0, 0, NULL)
               : m->scope.counter;
}

static uint32_t add_slot(Maker *m, ParamKind kind, VarType type, uint32_t entries)
{
    RandomProgram *r = m->random;
    uint32_t slot = program_add_param(r->program, kind, type);
    if (slot == PROGRAM_NONE ||
        !vec_reserve(&r->arrays, &r->array_capacity, slot + 1, sizeof(RandomArray))) {
        m->failed = true;
        r->program->param_count -= slot != PROGRAM_NONE;
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
            uint64_t bits = maker_bits(m, type);
            memcpy(array->data + i * size, &bits, size);
        }
    if (kind != PARAM_OUTPUT && maker_chance(m, 25))
        array->shift = size * (1 + maker_below(m, 15)) % ARRAY_GUARD;
    return slot;
}

static uint32_t new_leaf(Maker *m, VarType type)
{
    uint32_t kind = maker_below(m, 100), at;
    bool callable = m->program != m->random->program;
    if (m->style.literals)
        kind = 20; /* nothing else */
    if (type == VarTypeUInt32 && kind < 15)
        return callable ? m->scope.counter
                        : maker_emit(m, OP_COUNTER, type, 0, 0, NULL);
    if (type == VarTypeUInt32 && kind < 17 && !callable)
        return maker_emit(m, OP_WORKER, type, 0, 0, NULL);
    if (kind < 20)
        return maker_emit(m, OP_UNDEFINED, type, 0, 0, NULL);
    if (kind < 45 || (callable && kind >= 55))
        return note(m, program_add_literal(m->program, type, maker_bits(m, type)),
                    false);
    if (kind < 55) {
        uint32_t slot = add_slot(m, PARAM_VALUE, type, 0);
        if (!m->failed)
            m->random->arrays[slot].word = maker_bits(m, type);
        return maker_emit(m, OP_PARAM, type, slot, 0, NULL);
    }
    bool uniform = kind < 65;
    uint32_t slot = add_slot(m, PARAM_INPUT, type, uniform ? 1 : m->random->lanes);
    at = maker_emit(m, OP_LOAD, type, slot, 0, NULL);
    if (uniform && !m->failed)
        m->program->insts[at].flags |= INST_UNIFORM;
    return at;
}

/* A value of this type: a recent one, any one, or a new leaf. */
uint32_t maker_pick(Maker *m, VarType type)
{
    const Pool *pool = &m->scope.pools[type];
    uint32_t there = pool->count < POOL ? pool->count : POOL;
    if (there && !maker_chance(m, m->style.fresh)) {
        bool old = there <= 4 || maker_chance(m, m->style.old);
        uint32_t back = 1 + maker_below(m, old ? there : 4);
        return pool->at[(pool->count - back) % POOL];
    }
    uint32_t at = new_leaf(m, type);
    maker_remember(m, at);
    return at;
}

/* A float that is not NaN. */
uint32_t maker_pick_number(Maker *m, VarType type)
{
    uint32_t value = maker_pick(m, type);
    if (!type_info[type].is_float)
        return value;
    uint32_t args[3] = { 0, value };
    args[0] = maker_guard_2(m, OP_EQ, VarTypeBool, value, value);
    args[2] = maker_guard_literal(m, type, 0);
    return note(m, program_add(m->program, OP_SELECT, type, 0, 3, args), true);
}

/* --------------------------------------------------------------------- arithmetic */

/* Types whose double width is one of the Program's. */
static uint32_t wide_operands(const Maker *m)
{
    uint32_t types = 0;
    for (uint32_t t = 0; t < VarTypeCount; ++t)
        if (CLASS_NARROW >> t & 1 && m->style.types >> type_wide((VarType) t) & 1)
            types |= 1u << t;
    return types;
}

/* What the legaliser writes out. */
static const Op functions[] = {
#define MATH(name, ...) OP_##name,
#include "lower/math/math.def"
#undef MATH
};

static void make_arithmetic(Maker *m)
{
    enum { FUNCTIONS = sizeof functions / sizeof *functions };
    Op op = (Op) (OP_NEG + maker_below(m, OP_SELECT - OP_NEG + 1));
    if (maker_chance(m, 5))
        op = functions[maker_below(m, FUNCTIONS)];
    const OpInfo *info = &op_info[op];
    uint32_t types = info->operands;
    if (info->result == RESULT_WIDE)
        types = wide_operands(m);
    if (!(types & m->style.types))
        return;
    VarType type = maker_type(m, types), result = type;
    if (info->result == RESULT_MASK)
        result = VarTypeBool;
    else if (info->result == RESULT_WIDE)
        result = type_wide(type);
    uint32_t args[3];
    for (uint32_t i = 0; i < info->arity; ++i)
        args[i] = maker_pick(m, type);
    if (op == OP_SELECT)
        args[0] = maker_pick(m, VarTypeBool);
    if (op == OP_COPYSIGN) /* the sign of a NaN is arbitrary */
        args[1] = maker_pick_number(m, type);
    maker_remember(m, maker_emit(m, op, result, 0, info->arity, args));
}

static void make_lookup(Maker *m)
{
    uint32_t n = 2u << maker_below(m, 5), args[1 + INST_LOOKUP_MOST];
    VarType type = maker_type(m, CLASS_WORD & m->style.types);
    args[0] = maker_pick(m, type_info[type].size == 4 ? VarTypeUInt32 : VarTypeUInt64);
    for (uint32_t i = 1; i <= n; ++i)
        args[i] = maker_guard_literal(m, type, maker_bits(m, type));
    maker_remember(m, maker_emit(m, OP_LOOKUP, type, 0, n + 1, args));
}

static void make_cast(Maker *m)
{
    uint32_t types = (CLASS_NUMBER | 1 << VarTypeBool) & m->style.types;
    VarType from = maker_type(m, types);
    if (types == 1u << from)
        return;
    VarType to = maker_type(m, types & ~(1u << from));
    uint32_t value = maker_pick(m, from);
    maker_remember(m, maker_emit(m, OP_CAST, to, 0, 1, &value));
}

static void make_bitcast(Maker *m)
{
    VarType from = maker_type(m, CLASS_NUMBER | 1 << VarTypePointer);
    uint32_t types = 0;
    for (uint32_t t = 0; t < VarTypeCount; ++t)
        if (CLASS_NUMBER >> t & 1 && t != from &&
            type_info[t].size == type_info[from].size)
            types |= 1u << t;
    if (from == VarTypePointer)
        types = 1u << VarTypeUInt64;
    else if (from == VarTypeUInt64)
        types |= 1u << VarTypePointer;
    if (!(types & m->style.types))
        return;
    uint32_t value = maker_pick_number(m, from);
    maker_remember(m, maker_emit(m, OP_BITCAST, maker_type(m, types), 0, 1, &value));
}

/* ------------------------------------------------------------------------- memory */

static uint32_t add_pointer(Maker *m, VarType type, uint32_t entries, bool written)
{
    uint32_t slot = add_slot(m, PARAM_POINTER, type, entries);
    if (!m->failed)
        m->random->program->params[slot].written = written;
    return note(m, program_add(m->program, OP_PARAM, VarTypePointer, slot, 0, NULL),
                true);
}

/* Any index below 'bound', and a mask. Either the index is reduced to the range or
 * lanes beyond it are masked. */
static void any_index(Maker *m, uint32_t bound, uint32_t *index, uint32_t *mask)
{
    *mask = any_mask(m);
    uint32_t value = maker_pick(m, VarTypeUInt32);
    uint32_t limit = maker_guard_literal(m, VarTypeUInt32, bound);
    if (maker_chance(m, 20)) {
        uint32_t inside = maker_guard_2(m, OP_LT, VarTypeBool, value, limit);
        *mask = maker_guard_2(m, OP_AND, VarTypeBool, *mask, inside);
        *index = value;
    } else {
        *index = maker_guard_2(m, OP_MOD, VarTypeUInt32, value, limit);
    }
    if (maker_chance(m, 25))
        *index = maker_guard_2(m, OP_BITCAST, VarTypeInt32, *index, 0);
}

/* Indices that differ from lane to lane, below a power of two '*bound'. */
static uint32_t distinct_index(Maker *m, uint32_t *bound)
{
    *bound = 1;
    while (*bound < m->random->lanes)
        *bound *= 2;
    uint32_t counter = maker_counter(m);
    uint32_t factor = maker_guard_literal(m, VarTypeUInt32, maker_draw(m) >> 32 | 1);
    uint32_t offset = maker_guard_literal(m, VarTypeUInt32, maker_draw(m) >> 32);
    uint32_t product = maker_guard_2(m, OP_MUL, VarTypeUInt32, counter, factor);
    uint32_t sum = maker_guard_2(m, OP_ADD, VarTypeUInt32, product, offset);
    uint32_t last = maker_guard_literal(m, VarTypeUInt32, *bound - 1);
    uint32_t index = maker_guard_2(m, OP_AND, VarTypeUInt32, sum, last);
    return maker_chance(m, 25) ? maker_guard_2(m, OP_BITCAST, VarTypeInt32, index, 0)
                               : index;
}

static uint32_t entries_of(const Maker *m, const Table *table)
{
    VarType type = (VarType) m->random->program->params[table->slot].type;
    return m->random->arrays[table->slot].bytes / type_info[type].size;
}

/* One of the tables with at least 'least' entries, NULL if none is tried. */
static Table *old_table(Maker *m, Tables *tables, uint32_t least)
{
    uint32_t there = tables->count < MAX_TABLES ? tables->count : MAX_TABLES;
    if (!there || maker_chance(m, 50))
        return NULL;
    Table *table = &tables->table[maker_below(m, there)];
    return entries_of(m, table) < least ? NULL : table;
}

static Table *new_table(Maker *m, Tables *tables, VarType type, uint32_t entries,
                        uint32_t reduce, bool written)
{
    Table *table = &tables->table[tables->count++ % MAX_TABLES];
    table->reduce = reduce;
    table->at = add_pointer(m, type, entries, written);
    table->slot = m->failed ? 0 : m->program->insts[table->at].aux;
    return table;
}

/* Mostly the one PARAM of the slot. */
static uint32_t table_pointer(Maker *m, Table *table)
{
    if (table->at == PROGRAM_NONE || maker_chance(m, 10))
        table->at = note(
            m, program_add(m->program, OP_PARAM, VarTypePointer, table->slot, 0, NULL),
            true);
    return table->at;
}

static uint32_t packet_size(Maker *m, uint32_t percent)
{
    if (!maker_chance(m, percent))
        return 1;
    const uint32_t n = 2u << maker_below(m, maker_chance(m, 15) ? 6 : 3);
    return n < 64 && maker_chance(m, 30) ? n / 2 * 3 : n;
}

static void make_gather(Maker *m)
{
    uint32_t n = packet_size(m, 40), args[3];
    Table *table = old_table(m, &m->scope.read, n);
    if (!table) {
        VarType type = maker_type(m, CLASS_ANY);
        uint32_t bound = 1 + maker_below(m, maker_chance(m, 50) ? 8 : 1000);
        table = new_table(m, &m->scope.read, type, bound * n, 0, false);
    }
    if (m->failed)
        return;
    VarType type = (VarType) m->random->program->params[table->slot].type;
    args[0] = table_pointer(m, table);
    any_index(m, entries_of(m, table) / n, &args[1], &args[2]);
    if (n == 1) {
        uint32_t value = maker_emit(m, OP_GATHER, type, 0, 3, args);
        maker_remember(m, value);
        return;
    }
    uint32_t packet =
        note(m, program_add(m->program, OP_GATHER_PACKET, type, n, 3, args), true);
    for (uint32_t k = 0; k < n; ++k)
        if (k == 0 || n <= 4 || maker_chance(m, 25))
            maker_remember(m, maker_emit(m, OP_PACKET_ITEM, type, k, 1, &packet));
}

static void make_matvec(Maker *m)
{
    enum { MOST = 20 };
    const uint32_t most = maker_chance(m, 80) ? 5 : MOST;
    const uint32_t rows = 1 + maker_below(m, most), columns = 1 + maker_below(m, most);
    const bool turned = maker_chance(m, 40), adds = maker_chance(m, 50);
    const uint32_t results = turned ? columns : rows, inputs = turned ? rows : columns;
    const uint32_t first = maker_below(m, 9);
    VarType type = maker_type(m, CLASS_FLOAT);
    uint32_t args[2 + 2 * MOST], count = 2;
    args[0] = add_pointer(m, type, first + rows * columns, false);
    args[1] = maker_guard_literal(m, VarTypeUInt32, first);
    for (uint32_t k = 0; k < inputs + (adds ? results : 0); ++k)
        args[count++] = maker_pick(m, type);
    uint32_t aux = results | (turned ? MATVEC_TRANSPOSED : 0) |
                   (adds ? MATVEC_ADDS : 0);
    uint32_t product =
        note(m, program_add(m->program, OP_MATVEC, type, aux, count, args), true);
    for (uint32_t k = 0; k < results; ++k)
        if (k == 0 || maker_chance(m, 60))
            maker_remember(m, maker_emit(m, OP_PACKET_ITEM, type, k, 1, &product));
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

/* Lanes, and other instructions, meet at the entries of one array. */
static void meet(Maker *m, ReduceOp *op, VarType *type, uint32_t n, uint32_t *pointer,
                 uint32_t *index, uint32_t *mask)
{
    Table *table = old_table(m, &m->scope.reduced, n);
    if (table) {
        *op = (ReduceOp) table->reduce;
        *type = (VarType) m->random->program->params[table->slot].type;
    } else {
        uint32_t bound = 1 + maker_below(m, maker_chance(m, 50) ? 8 : 1000);
        table = new_table(m, &m->scope.reduced, *type, bound * n, *op, true);
    }
    if (m->failed)
        return;
    *pointer = table_pointer(m, table);
    any_index(m, entries_of(m, table) / n, index, mask);
    *mask = maker_masked(m, *mask);
}

/* Each lane has entries for itself, which it may have accessed before. The types that
 * will do; gives the one that it is. */
static VarType take_own(Maker *m, uint32_t types, uint32_t n, uint32_t *pointer,
                        uint32_t *index)
{
    Table *table = n == 1 ? old_table(m, &m->scope.own, 1) : NULL;
    if (table && types >> m->random->program->params[table->slot].type & 1) {
        *pointer = table_pointer(m, table);
        *index = table->index;
        return (VarType) m->random->program->params[table->slot].type;
    }
    VarType type = maker_type(m, types);
    uint32_t bound;
    *index = distinct_index(m, &bound);
    if (n > 1) {
        *pointer = add_pointer(m, type, bound * n, true);
        return type;
    }
    table = new_table(m, &m->scope.own, type, bound, 0, true);
    table->index = *index;
    *pointer = table->at;
    return type;
}

static void make_scatter(Maker *m)
{
    ReduceOp op = (ReduceOp) maker_below(m, ReduceOpCount);
    ReduceMode mode = (ReduceMode) maker_below(m, ReduceModeCount);
    VarType type = maker_type(m, reduce_types(op));
    uint32_t n = packet_size(m, 30), pointer = 0, index = 0, mask = maker_pick_mask(m);
    if (may_meet(op, type, mode) && maker_chance(m, 70)) {
        meet(m, &op, &type, n, &pointer, &index, &mask);
    } else {
        type = take_own(m, reduce_types(op), n, &pointer, &index);
    }
    uint32_t aux = (uint32_t) op | (uint32_t) mode << 8;
    if (n == 1) {
        uint32_t args[] = { pointer, maker_pick(m, type), index, mask };
        maker_emit(m, OP_SCATTER, VarTypeVoid, aux, 4, args);
        return;
    }
    uint32_t args[3 + 64] = { pointer, index, mask };
    for (uint32_t k = 0; k < n; ++k)
        args[3 + k] = maker_pick(m, type);
    maker_emit(m, OP_SCATTER_PACKET, VarTypeVoid, aux, 3 + n, args);
}

/* Every lane writes the same, so they may meet without reducing. */
static void make_uniform_scatter(Maker *m)
{
    VarType type = maker_type(m, CLASS_ANY);
    uint32_t value = maker_guard_literal(m, type, maker_bits(m, type));
    uint32_t bound = 1 + maker_below(m, 100), args[4] = { 0, value, 0, 0 };
    any_index(m, bound, &args[2], &args[3]);
    args[3] = maker_masked(m, args[3]);
    args[0] = add_pointer(m, type, bound, true);
    maker_emit(m, OP_SCATTER, VarTypeVoid, ReduceOpIdentity, 4, args);
}

/* Lanes may meet if nobody uses what they saw. */
static void make_increment(Maker *m)
{
    uint32_t bound = 1 + maker_below(m, 100), args[3];
    any_index(m, bound, &args[1], &args[2]);
    args[2] = maker_masked(m, args[2]);
    args[0] = add_pointer(m, VarTypeUInt32, bound, true);
    maker_emit(m, OP_SCATTER_INC, VarTypeUInt32, 0, 3, args);
}

static void make_atomic(Maker *m)
{
    static const Op ops[] = { OP_SCATTER_INC, OP_SCATTER_EXCH, OP_SCATTER_CAS,
                              OP_SCATTER_ADD };
    static const uint32_t types[] = { CLASS_U32, CLASS_ANY, CLASS_ANY, CLASS_FLOAT };
    uint32_t kind = maker_below(m, 5), mask = maker_pick_mask(m), args[5], count = 1;
    if (kind == 4) {
        make_increment(m);
        return;
    }
    Op op = ops[kind];
    uint32_t index;
    VarType type = take_own(m, types[kind], 1, &args[0], &index);
    if (op == OP_SCATTER_EXCH)
        args[count++] = maker_pick(m, type);
    if (op == OP_SCATTER_CAS || op == OP_SCATTER_ADD)
        args[count++] = maker_pick_number(m, type);
    if (op == OP_SCATTER_CAS)
        args[count++] = maker_pick_number(m, type);
    args[count++] = index;
    args[count++] = mask;
    maker_remember(m, maker_emit(m, op, type, 0, count, args));
}

static void make_check(Maker *m)
{
    Program *p = m->random->program;
    if (p->check_count == RANDOM_CHECKS)
        return;
    VarType type = maker_chance(m, 25) ? VarTypeInt32 : VarTypeUInt32;
    uint32_t number = p->check_count++;
    uint32_t bits = 2 + maker_below(m, 33), args[2];
    m->random->bounds[number] = 1 + (maker_draw(m) >> (64 - bits));
    args[0] = maker_masked(m, maker_pick(m, VarTypeBool));
    args[1] = maker_pick(m, type);
    maker_remember(m, maker_emit(m, OP_CHECK, VarTypeBool, number, 2, args));
}

/* -------------------------------------------------------------------------- whole */

/* Outputs can be written anywhere outside of regions. */
static void make_store(Maker *m, uint32_t value)
{
    VarType type = (VarType) m->program->insts[value].type;
    uint32_t slot = add_slot(m, PARAM_OUTPUT, type, m->random->lanes);
    maker_emit(m, OP_STORE, VarTypeVoid, slot, 1, &value);
}

static void store_any(Maker *m)
{
    if (m->program == m->random->program && m->scope.depth == 0)
        make_store(m, maker_pick(m, maker_type(m, CLASS_ANY)));
}

void maker_step(Maker *m)
{
    typedef struct Choice {
        uint32_t weight;
        void (*make)(Maker *m);
    } Choice;
    static const Choice choices[] = {
        { 62, make_arithmetic }, { 12, make_cast },   { 8, make_bitcast },
        { 2, make_lookup },
        { 6, make_gather },      { 5, make_scatter }, { 2, make_uniform_scatter },
        { 3, make_atomic },      { 2, make_check },   { 4, maker_local },
        { 1, maker_print },      { 1, store_any },         { 2, make_matvec },
    };
    if (maker_chance(m, m->style.regions)) {
        maker_region(m);
        return;
    }
    enum { PURE = 4 };
    size_t count = m->style.pure ? PURE : sizeof choices / sizeof *choices;
    uint32_t all = 0, i = 0;
    for (size_t k = 0; k < count; ++k)
        all += choices[k].weight;
    uint32_t pick = maker_below(m, all);
    while (pick >= choices[i].weight)
        pick -= choices[i++].weight;
    choices[i].make(m);
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
        if (inst->op == OP_REGION)
            at = p->regions[inst->aux].end; /* its values are gone after it */
        /* What an increment saw may depend on the order of lanes, packets have no
         * entry. */
        if (used[at] || inst->type == VarTypeVoid || inst->op == OP_SCATTER_INC ||
            program_item_count(inst) ||
            (m->random->fixed[at] && inst->op != OP_RESULT))
            continue;
        make_store(m, at);
    }
    alloc_free(used);
}

/* Some types, of all that the Program may have. */
static uint32_t some_types(Maker *m, uint32_t count)
{
    uint32_t types = 1u << VarTypeBool;
    while (count--)
        types |= 1u << maker_type(m, CLASS_NUMBER);
    return types;
}

/* Without entries of 64 bits, packets can be wider; few types put pressure on the
 * registers of one kind; without memory, several packets are computed at a time. */
static void draw_style(Maker *m)
{
    static const uint32_t regions[] = { 0, 3, 3, 3, 3, 6, 6, 10, 10, 25 };
    static const uint32_t lengths[] = { 12, 12, 12, 12, 12, 12, 12, 30, 30, 120 };
    Style *style = &m->style;
    style->types = CLASS_ANY;
    if (maker_chance(m, 50))
        style->types &= ~(1u << VarTypeInt64 | 1u << VarTypeUInt64 |
                          1u << VarTypeFloat64 | 1u << VarTypePointer);
    if (maker_chance(m, 50))
        style->favourites = some_types(m, 1 + maker_below(m, 3));
    style->regions = regions[maker_below(m, 10)];
    style->length = lengths[maker_below(m, 10)];
    style->depth = maker_chance(m, 75) ? 3 : 3 + maker_below(m, 6);
    style->fresh = maker_chance(m, 70) ? 15 : 4;
    style->old = maker_chance(m, 70) ? 50 : 95;
    style->literals = maker_chance(m, 4);
    style->pure = maker_chance(m, 12);
}

RandomProgram *random_program_new(uint64_t seed, uint32_t ops)
{
    RandomProgram *r = alloc_zero(1, sizeof *r);
    Maker *m = alloc_zero(1, sizeof *m);
    if (r && m) {
        m->random = r;
        m->state = seed * 0xd1342543de82ef95u;
        m->scope.active = m->scope.counter = PROGRAM_NONE;
        m->failed = !(r->program = m->program = alloc_zero(1, sizeof(Program)));
        m->style.types = CLASS_ANY;
        draw_style(m);
        m->steps = 50 + 4 * ops;
        r->lanes = 1 + maker_below(m, maker_chance(m, 50) ? 64 : MAX_LANES);
        r->split = maker_chance(m, 50) ? 0 : maker_below(m, (r->lanes + 63) / 64) * 64;
        if (!m->style.regions && maker_chance(m, 20))
            ops *= 8; /* a long straight line */
        for (uint32_t i = 0; i < ops && !m->failed; ++i)
            maker_step(m);
        if (!m->failed)
            store_sinks(m);
        if (!m->failed && r->program->print_count)
            add_slot(m, PARAM_PRINT, VarTypeVoid, 0);
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
