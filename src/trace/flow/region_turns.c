/*
 * region_turns.c -- see region_turns.h
 */
#include "trace/flow/region_turns.h"

/* A comparison of a state that is counted with a limit. */
typedef struct Count {
    int64_t first, increment, limit;
    Op op; /* state op limit: the loop goes on */
} Count;

static int64_t literal_value(const Var *v)
{
    const TypeInfo *type = &type_info[v->type];
    uint32_t unused = 64 - 8 * type->size;
    uint64_t high = v->value.literal << unused;
    return type->is_signed ? (int64_t) high >> unused : (int64_t) (high >> unused);
}

/* A literal, also where it is a state that never changes. */
static bool find_literal(VarId region, VarId id, int64_t *value)
{
    const Var *v = var_get(id), *r = var_get(region);
    if (v->op == OP_STATE && region_of(id) == region && r->region->fixed[v->aux])
        v = var_get(region_part(r, PART_INPUTS, &(uint32_t){ 0 })[v->aux]);
    *value = literal_value(v);
    return v->op == OP_LITERAL && type_info[v->type].is_integer;
}

/* What an iteration adds to state k. */
static bool find_increment(VarId region, uint32_t k, int64_t *increment)
{
    VarId id = region_output(var_get(region), 0, k);
    const Var *v = var_get(id);
    if (v->op != OP_ADD && v->op != OP_SUB)
        return false;
    for (uint32_t i = 0; i < (v->op == OP_ADD ? 2 : 1); ++i) {
        const Var *counted = var_get(v->dep[i]);
        bool own = counted->op == OP_STATE && region_of(v->dep[i]) == region;
        if (!own || counted->aux != k ||
            !find_literal(region, v->dep[1 - i], increment))
            continue;
        uint32_t unused = 64 - 8 * type_info[v->type].size; /* it wraps: + 2^32 - 1 */
        *increment = (int64_t) ((uint64_t) *increment << unused) >> unused;
        *increment = v->op == OP_SUB ? -*increment : *increment;
        return true;
    }
    return false;
}

static Op mirrored(Op op)
{
    switch (op) {
        case OP_LT: return OP_GT;
        case OP_LE: return OP_GE;
        case OP_GT: return OP_LT;
        case OP_GE: return OP_LE;
        default: return op;
    }
}

static bool find_count(VarId region, const Var *condition, Count *count)
{
    for (uint32_t i = 0; i < 2; ++i) {
        VarId id = condition->dep[i];
        const Var *counted = var_get(id);
        if (counted->op != OP_STATE || region_of(id) != region)
            continue;
        VarId input = region_part(var_get(region), PART_INPUTS,
                                  &(uint32_t){ 0 })[counted->aux];
        count->op = i ? mirrored((Op) condition->op) : (Op) condition->op;
        return find_literal(region, input, &count->first) &&
               find_literal(region, condition->dep[1 - i], &count->limit) &&
               find_increment(region, counted->aux, &count->increment);
    }
    return false;
}

static uint32_t bounded(double turns)
{
    return turns < 1 ? 1 : turns < REGION_MOST_TURNS ? (uint32_t) turns
                                                     : REGION_MOST_TURNS;
}

/* 0: they have no end that could be seen. */
static uint32_t count_turns(const Count *c)
{
    bool up = c->op == OP_LT || c->op == OP_LE, down = c->op == OP_GT || c->op == OP_GE;
    if (!c->increment || (up && c->increment < 0) || (down && c->increment > 0))
        return 0;
    double way = (double) c->limit - (double) c->first;
    double past = c->op == OP_LE || c->op == OP_GE ? 1 : 0;
    double turns = way / (double) c->increment;
    if (past)
        turns += 1;
    else if ((double) (int64_t) turns < turns)
        turns += 1; /* the last increment goes beyond the limit */
    return !up && !down && turns < 0 ? 0 : bounded(turns);
}

/* The least that one of several conditions allows for; 0: unknown. */
static uint32_t turns_of(VarId region, VarId condition, uint32_t depth)
{
    const Var *v = var_get(condition);
    Count count;
    switch ((Op) v->op) {
        case OP_AND: {
            if (!depth)
                return 0;
            uint32_t a = turns_of(region, v->dep[0], depth - 1);
            uint32_t b = turns_of(region, v->dep[1], depth - 1);
            return !a || (b && b < a) ? b : a;
        }
        case OP_LT:
        case OP_LE:
        case OP_GT:
        case OP_GE:
        case OP_NEQ:
            return find_count(region, v, &count) ? count_turns(&count) : 0;
        default:
            return 0;
    }
}

uint32_t region_turns(VarId region)
{
    enum { DEPTH = 4 };
    const Var *v = var_get(region);
    if (v->region->kind != REGION_LOOP)
        return 1;
    VarId condition = region_part(v, PART_CONDITION, &(uint32_t){ 0 })[0];
    uint32_t turns = turns_of(region, condition, DEPTH);
    return turns ? turns : REGION_TURNS;
}
