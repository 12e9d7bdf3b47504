/*
 * random_regions.c -- random loops, conditionals, calls, local arrays and prints
 *
 * A body starts with a copy of the scope around it, which is restored after it, so its
 * values cannot be used outside. Loops count the iterations of each lane and end after
 * a few, ever fewer in loops within loops.
 */
#include "random_maker.h"

#include "base/alloc.h"

enum { FEW_VALUES = 4, MOST_VALUES = 31, FEW_TARGETS = 4, MOST_TARGETS = 20 };

/* A list of values that cross a border of a region. */
typedef struct Values {
    uint32_t count;
    VarType types[MOST_VALUES];
    uint32_t at[MOST_VALUES + 2]; /* room for what comes before them */
} Values;

static void draw_types(Maker *m, Values *values)
{
    values->count = maker_below(m, maker_chance(m, 88) ? FEW_VALUES + 1 : MOST_VALUES);
    for (uint32_t i = 0; i < values->count; ++i)
        values->types[i] = maker_type(m, CLASS_ANY);
}

static void pick_values(Maker *m, const Values *values, uint32_t *at)
{
    for (uint32_t i = 0; i < values->count; ++i)
        at[i] = maker_pick(m, values->types[i]);
}

static void make_steps(Maker *m, uint32_t most)
{
    for (uint32_t left = maker_below(m, most + 1); left && m->steps; --left) {
        m->steps--;
        maker_step(m);
    }
}

/* The steps of a body. Inner ones are shorter. */
static void make_body(Maker *m)
{
    uint32_t most = m->style.length >> (m->scope.depth - 1);
    make_steps(m, most < 4 ? 4 : most);
}

static uint32_t begin_region(Maker *m, RegionKind kind, uint32_t count,
                             const uint32_t *args, uint32_t target_count,
                             const uint32_t *targets)
{
    uint32_t region =
        program_add_region(m->program, kind, count, args, target_count, targets);
    m->failed |= region == PROGRAM_NONE;
    if (m->failed)
        return 0;
    maker_note(m, m->program->regions[region].begin, false);
    if (kind == REGION_CALL)
        maker_note(m, m->program->regions[region].end, true);
    return region;
}

/* Some of the results, in order. */
static void make_results(Maker *m, const Values *values)
{
    uint32_t made[MOST_VALUES], count = 0;
    for (uint32_t k = 0; k < values->count; ++k)
        if (maker_chance(m, 85))
            made[count++] = maker_guard(m, OP_RESULT, values->types[k], k, 0, NULL);
    for (uint32_t i = 0; i < count && !m->failed; ++i)
        maker_remember(m, made[i]);
}

typedef struct Loop {
    Values states;
    uint32_t counter;    /* the state that counts the iterations of a lane */
    uint32_t seen;       /* there are STATEs for the first ones */
    uint32_t limit, one; /* of and for the counter */
    uint32_t region;
} Loop;

static void draw_states(Maker *m, Loop *loop)
{
    Values *states = &loop->states;
    draw_types(m, states);
    loop->counter = maker_below(m, states->count + 1);
    for (uint32_t k = states->count++; k > loop->counter; --k)
        states->types[k] = states->types[k - 1];
    states->types[loop->counter] = VarTypeUInt32;
    loop->seen =
        maker_chance(m, 85)
            ? states->count
            : loop->counter + 1 + maker_below(m, states->count - loop->counter);
}

/* What comes before the loop: states, mask, and how often each lane goes round. */
static void prepare_loop(Maker *m, Loop *loop)
{
    static const uint32_t most_trips[] = { 7, 7, 3, 3, 1 };
    uint32_t depth = m->scope.depth < 4 ? m->scope.depth : 4, args[2];
    uint32_t most = maker_chance(m, 5) && !depth ? 31 : most_trips[depth];
    Values *states = &loop->states;
    draw_states(m, loop);
    args[0] = maker_pick(m, VarTypeUInt32);
    args[1] = maker_guard_literal(m, VarTypeUInt32, most);
    loop->limit = maker_guard(m, OP_AND, VarTypeUInt32, 0, 2, args);
    if (maker_chance(m, 40)) /* the same in all lanes; some count iterations then */
        loop->limit = maker_guard_literal(m, VarTypeUInt32,
                                          most == 31 ? 70 : maker_below(m, most + 1));
    loop->one = maker_guard_literal(m, VarTypeUInt32, 1);
    pick_values(m, states, states->at + 1);
    states->at[1 + loop->counter] = maker_guard_literal(m, VarTypeUInt32, 0);
    states->at[0] = maker_pick_mask(m);
}

/* Next states: any values, or the old ones with places changed. */
static void pick_next(Maker *m, const Loop *loop, const uint32_t *state, uint32_t *next)
{
    const Values *states = &loop->states;
    pick_values(m, states, next);
    bool swap = maker_chance(m, 40);
    for (uint32_t k = 0; swap && k < states->count; ++k) {
        uint32_t other = maker_below(m, loop->seen);
        if (states->types[other] == states->types[k])
            next[k] = state[other];
    }
    next[loop->counter] =
        maker_guard_2(m, OP_ADD, VarTypeUInt32, state[loop->counter], loop->one);
}

/* From the STATEs to the END. */
static void make_loop_body(Maker *m, const Loop *loop)
{
    uint32_t state[MOST_VALUES], next[MOST_VALUES], region = loop->region;
    for (uint32_t k = 0; k < loop->seen; ++k)
        state[k] = maker_guard(m, OP_STATE, loop->states.types[k], k, 0, NULL);
    for (uint32_t k = 0; k < loop->seen && !m->failed; ++k)
        if (k != loop->counter)
            maker_remember(m, state[k]);
    m->scope.active = maker_guard(m, OP_ACTIVE, VarTypeBool, region, 0, NULL);
    make_steps(m, 2);
    uint32_t going =
        maker_guard_2(m, OP_LT, VarTypeBool, state[loop->counter], loop->limit);
    if (maker_chance(m, 30))
        going =
            maker_guard_2(m, OP_AND, VarTypeBool, going, maker_pick(m, VarTypeBool));
    maker_guard(m, OP_TEST, VarTypeVoid, region, 1, &going);
    m->scope.active = maker_guard(m, OP_ACTIVE, VarTypeBool, region, 0, NULL);
    make_body(m);
    pick_next(m, loop, state, next);
    maker_guard(m, OP_END, VarTypeVoid, region, loop->states.count, next);
}

static void make_loop(Maker *m)
{
    Loop loop;
    prepare_loop(m, &loop);
    Scope *outside = alloc_get(sizeof(Scope));
    if (!outside) {
        m->failed = true;
        return;
    }
    *outside = m->scope;
    m->scope.depth++;
    loop.region =
        begin_region(m, REGION_LOOP, loop.states.count + 1, loop.states.at, 0, NULL);
    make_loop_body(m, &loop);
    m->scope = *outside;
    alloc_free(outside);
    make_results(m, &loop.states);
}

static void make_side(Maker *m, const Values *outputs, const Scope *outside,
                      uint32_t region, Op end)
{
    uint32_t at[MOST_VALUES];
    m->scope = *outside;
    m->scope.depth++;
    m->scope.active = maker_guard(m, OP_ACTIVE, VarTypeBool, region, 0, NULL);
    make_body(m);
    pick_values(m, outputs, at);
    maker_guard(m, end, VarTypeVoid, region, outputs->count, at);
}

static void make_if(Maker *m)
{
    Values outputs;
    draw_types(m, &outputs);
    uint32_t args[2];
    args[0] = maker_pick_mask(m);
    args[1] = maker_pick(m, VarTypeBool);
    Scope *outside = alloc_get(sizeof(Scope));
    if (!outside) {
        m->failed = true;
        return;
    }
    *outside = m->scope;
    uint32_t region = begin_region(m, REGION_IF, 2, args, 0, NULL);
    make_side(m, &outputs, outside, region, OP_ELSE);
    make_side(m, &outputs, outside, region, OP_END);
    m->scope = *outside;
    alloc_free(outside);
    make_results(m, &outputs);
}

/* ------------------------------------------------------------------------ calls */

/* The caller's arrays, to which there are no pointers yet. */
static void take_tables(Tables *to, const Tables *from)
{
    *to = *from;
    for (uint32_t i = 0; i < MAX_TABLES; ++i)
        to->table[i].at = PROGRAM_NONE;
}

/* A callable whose inputs are the number of the lane and 'inputs'. Its number, or
 * PROGRAM_NONE. */
static uint32_t make_callable(Maker *m, const Values *inputs, const Values *outputs)
{
    Program *caller = m->program, *callable = alloc_zero(1, sizeof(Program));
    Scope *outside = alloc_get(sizeof(Scope));
    if (!callable || !outside) {
        m->failed = true;
        alloc_free(callable);
        alloc_free(outside);
        return PROGRAM_NONE;
    }
    *outside = m->scope;
    m->program = callable;
    m->scope = (Scope){ .depth = outside->depth + 1 };
    take_tables(&m->scope.read, &outside->read);
    take_tables(&m->scope.reduced, &outside->reduced);
    m->scope.active = maker_guard(m, OP_ARG, VarTypeBool, 0, 0, NULL);
    m->scope.counter = maker_guard(m, OP_ARG, VarTypeUInt32, 1, 0, NULL);
    for (uint32_t k = 0; k < inputs->count && !m->failed; ++k)
        if (maker_chance(m, 80))
            maker_remember(m, maker_guard(m, OP_ARG, inputs->types[k], k + 2, 0, NULL));
    make_body(m);
    uint32_t at[MOST_VALUES];
    pick_values(m, outputs, at);
    maker_guard(m, OP_RETURN, VarTypeVoid, 0, outputs->count, at);
    m->program = caller;
    m->scope = *outside;
    alloc_free(outside);
    uint32_t number = program_add_callable(m->random->program, callable);
    m->failed |= number == PROGRAM_NONE;
    return number;
}

/* 1 + a place in the list, mostly: also 0, or what is beyond. */
static uint32_t pick_number(Maker *m, uint32_t targets)
{
    uint32_t number = maker_pick(m, VarTypeUInt32);
    if (maker_chance(m, 5))
        return number;
    return maker_guard_2(m, OP_MOD, VarTypeUInt32, number,
                         maker_guard_literal(m, VarTypeUInt32, targets + 2));
}

static void make_call(Maker *m)
{
    Values inputs, outputs;
    draw_types(m, &inputs);
    draw_types(m, &outputs);
    uint32_t targets[MOST_TARGETS], args[MOST_VALUES + 3];
    uint32_t most = maker_chance(m, 92) ? FEW_TARGETS : MOST_TARGETS;
    uint32_t count = maker_chance(m, 2) ? 0 : 1 + maker_below(m, most);
    if (!count)
        outputs.count = 0;
    for (uint32_t i = 0; i < count && !m->failed; ++i)
        targets[i] =
            i && maker_chance(m, 10) ? targets[0] : make_callable(m, &inputs, &outputs);
    args[0] = maker_pick_mask(m);
    args[1] = pick_number(m, count);
    args[2] = maker_counter(m);
    pick_values(m, &inputs, args + 3);
    if (m->failed)
        return;
    begin_region(m, REGION_CALL, inputs.count + 3, args, count, targets);
    make_results(m, &outputs);
}

void maker_region(Maker *m)
{
    if (m->scope.depth >= m->style.depth || !m->steps)
        return;
    switch (maker_below(m, m->style.pure ? 2 : 3)) {
    case 0:
        make_loop(m);
        break;
    case 1:
        make_if(m);
        break;
    default:
        make_call(m);
        break;
    }
}

/* ----------------------------------------------------------------- local arrays */

/* All arrays of a Program together have a limit. They begin with something defined, as
 * their entries are read without having been written. */
static uint32_t make_array(Maker *m, VarType type, uint32_t entries)
{
    uint32_t value = maker_pick(m, type), size = type_info[type].size;
    if (m->program->insts[value].op == OP_UNDEFINED)
        value = maker_guard_literal(m, type, 0);
    m->local_bytes += entries * size;
    uint32_t at = maker_guard(m, OP_LOCAL, type, entries, 1, &value);
    m->scope.locals[m->scope.local_count++ % MAX_LOCALS] = at;
    return at;
}

static bool has_room(const Maker *m, VarType type, uint32_t entries)
{
    return m->local_bytes + entries * type_info[type].size <= LOCAL_MOST_BYTES;
}

static void make_new_array(Maker *m)
{
    VarType type = maker_type(m, CLASS_ANY);
    uint32_t kind = maker_below(m, 100);
    uint32_t most = kind < 80 ? 8 : kind < 98 ? 100 : 5000;
    uint32_t entries = 1 + maker_below(m, most);
    if (has_room(m, type, entries))
        make_array(m, type, entries);
}

/* An index that is mostly inside. */
static uint32_t make_index(Maker *m, uint32_t entries)
{
    uint32_t index = maker_pick(m, VarTypeUInt32);
    if (maker_chance(m, 80))
        index = maker_guard_2(m, OP_MOD, VarTypeUInt32, index,
                              maker_guard_literal(m, VarTypeUInt32, entries + 1));
    return maker_chance(m, 25) ? maker_guard_2(m, OP_BITCAST, VarTypeInt32, index, 0)
                               : index;
}

void maker_local(Maker *m)
{
    Scope *scope = &m->scope;
    uint32_t there = scope->local_count < MAX_LOCALS ? scope->local_count : MAX_LOCALS;
    if (!there || maker_chance(m, 15)) {
        make_new_array(m);
        return;
    }
    uint32_t array = scope->locals[maker_below(m, there)];
    VarType type = (VarType) m->program->insts[array].type;
    uint32_t entries = m->program->insts[array].aux, args[4] = { array };
    switch (maker_below(m, 5)) {
    case 0:
    case 1:
        args[1] = make_index(m, entries);
        args[2] = maker_pick(m, VarTypeBool);
        maker_remember(m, maker_emit(m, OP_LOCAL_READ, type, 0, 3, args));
        break;
    case 2:
    case 3:
        args[1] = maker_pick(m, type);
        args[2] = make_index(m, entries);
        args[3] = maker_pick_mask(m);
        maker_emit(m, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, args);
        break;
    default:
        if (!has_room(m, type, entries))
            return;
        args[1] = make_array(m, type, entries);
        args[2] = maker_pick_mask(m);
        if (maker_chance(m, 50)) { /* from the old one, or to it */
            args[0] = args[1];
            args[1] = array;
        }
        maker_emit(m, OP_LOCAL_MOVE, VarTypeVoid, 0, 3, args);
        break;
    }
}

void maker_print(Maker *m)
{
    Program *root = m->random->program;
    if (root->print_count == RANDOM_PRINTS)
        return;
    uint32_t number = root->print_count++, args[1 + RANDOM_PRINTED];
    uint32_t count = maker_below(m, RANDOM_PRINTED + 1);
    args[0] = maker_pick_mask(m);
    for (uint32_t i = 0; i < count; ++i) {
        VarType type = maker_type(m, CLASS_NUMBER | 1 << VarTypeBool);
        m->random->printed[number][i] = (uint8_t) type;
        args[1 + i] = maker_pick_number(m, type);
    }
    maker_emit(m, OP_PRINT, VarTypeVoid, number, 1 + count, args);
}
