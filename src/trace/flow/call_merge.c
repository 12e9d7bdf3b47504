/*
 * call_merge.c -- see call_merge.h
 *
 * What a callable computes is written down as a list of words, its shape, in which
 * variables have the numbers in which a walk from effects and outputs leaves them. A
 * value by which callables may differ is a number like any other: its bits, or the
 * array, are noted apart. Callables of one shape are one group.
 */
#include "trace/flow/call_merge.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"
#include "trace/graph/region.h"
#include "trace/graph/region_walk.h"

/* --------------------------------------------------------------------- shapes */

/* Words that begin what is no operation. */
enum { WORD_VALUE = 0x80000000u, WORD_OUTSIDE, WORD_BODIES };

typedef struct Shape {
    uint32_t *words;
    VarId *values; /* borrowed; each once */
    uint32_t count, capacity, value_count, value_capacity;
} Shape;

typedef struct Writer {
    Shape *shape;
    RegionWalk walk;  /* value of a mark: number of the variable */
    uint32_t numbers; /* given away */
    uint32_t scope;   /* of the call's placeholders */
} Writer;

static inline bool put(Writer *w, uint32_t word)
{
    Shape *s = w->shape;
    if (s->count == s->capacity)
        TRY(vec_reserve(&s->words, &s->capacity, 2 * s->count + 64, sizeof(uint32_t)),
            false);
    s->words[s->count++] = word;
    return true;
}

static bool number(Writer *w, VarId id)
{
    return marks_set(w->walk.marks, id, w->numbers++);
}

/* Numbers of operands. */
static bool put_operands(Writer *w, VarId id, uint32_t first, uint32_t end)
{
    uint32_t count;
    const VarId *ids = var_operands(var_get(id), &count);
    for (uint32_t i = first; i < end; ++i)
        TRY(put(w, ids[i] ? marks_get(w->walk.marks, ids[i]) : MARKS_NONE), false);
    return true;
}

static bool put_text(Writer *w, const char *text)
{
    size_t size = strlen(text) + 1;
    TRY(put(w, (uint32_t) size), false);
    for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
        uint32_t word = 0;
        memcpy(&word, text + i, size - i < sizeof(word) ? size - i : sizeof(word));
        TRY(put(w, word), false);
    }
    return true;
}

static bool is_value(const Var *v)
{
    return (v->op == OP_LITERAL && v->type != VarTypePointer) ||
           (v->op == OP_EVALUATED && v->size == 1);
}

static bool put_value(Writer *w, VarId id)
{
    Shape *s = w->shape;
    TRY(vec_reserve(&s->values, &s->value_capacity, s->value_count + 1, sizeof(VarId)),
        false);
    s->values[s->value_count++] = id;
    return put(w, WORD_VALUE) && put(w, var_get(id)->type) && number(w, id);
}

/* What a callable has from outside is itself. Each write has a pointer of its own. */
static bool put_outside(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    uint64_t bits = id;
    if (v->op == OP_POINTER || v->op == OP_LITERAL)
        bits = v->value.literal;
    else if (v->op == OP_COUNTER || v->op == OP_WORKER)
        bits = v->size;
    return put(w, WORD_OUTSIDE) && put(w, v->op | v->aux << 8) &&
           put(w, v->op == OP_POINTER ? v->dep[0] : 0) && put(w, (uint32_t) bits) &&
           put(w, (uint32_t) (bits >> 32)) && number(w, id);
}

/* A placeholder of the call, which all callables share. */
static bool is_shared(VarId id)
{
    const Var *v = var_get(id);
    return (v->op == OP_STATE || v->op == OP_ACTIVE) && !region_of(id);
}

static bool meet(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    if (is_value(v))
        return put_value(w, id);
    if (region_is_outside(v, w->scope) || is_shared(id))
        return put_outside(w, id);
    return region_walk_operands(&w->walk, id);
}

/* What the region takes from outside is there: its bodies are next. */
static bool put_region(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *r = v->region;
    TRY(put(w, OP_REGION | (uint32_t) r->kind << 8) && put(w, r->count), false);
    TRY(put_operands(w, id, 0, r->outside), false);
    for (uint32_t k = 0; k < r->count; ++k)
        TRY(put(w, r->fixed[k]), false);
    for (uint32_t i = 0; i < r->body_count; ++i)
        TRY(put(w, r->bodies[i].effects.count), false);
    uint32_t end = r->parts[PART_STATES].first, count;
    const VarId *ids = var_operands(v, &count);
    for (uint32_t i = end; i < count; ++i)
        TRY(marks_has(w->walk.marks, ids[i]) || number(w, ids[i]), false);
    return region_walk_into(&w->walk, id, r->outside, end);
}

/* Prints and checks report to somebody: they are like no others. */
static bool put_operation(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    uint32_t count;
    var_operands(v, &count);
    bool unique = v->op == OP_PRINT || v->op == OP_CHECK;
    TRY(put(w, v->op | (uint32_t) v->type << 8 | count << 16), false);
    TRY(put(w, unique ? id : v->aux), false);
    TRY(v->op != OP_STMT || put_text(w, v->value.text), false);
    return put_operands(w, id, 0, count) && number(w, id);
}

static bool leave(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    if (v->op != OP_REGION)
        return put_operation(w, id);
    if (w->walk.end == v->region->outside)
        return put_region(w, id);
    return put(w, WORD_BODIES) &&
           put_operands(w, id, v->region->outside, w->walk.end) && number(w, id);
}

static bool put_roots(Writer *w, const VarId *ids, uint32_t count)
{
    WalkEvent event;
    VarId id;
    for (uint32_t i = 0; i < count; ++i) {
        region_walk_from(&w->walk, ids[i]);
        while ((event = region_walk(&w->walk, &id)) >= WALK_MET)
            TRY(event == WALK_MET ? meet(w, id) : leave(w, id), false);
        TRY(event == WALK_DONE, false);
    }
    for (uint32_t i = 0; i < count; ++i)
        TRY(put(w, marks_get(w->walk.marks, ids[i])), false);
    return true;
}

static bool make_shape(const Call *call, uint32_t callable, Shape *shape)
{
    const RecordedBody *body = &call->callables[callable];
    Writer w = { .shape = shape, .scope = call->scope };
    TRY(region_walk_begin(&w.walk), false);
    bool ok = put_roots(&w, body->effects, body->effect_count) &&
              put_roots(&w, body->outputs, body->output_count);
    region_walk_end(&w.walk);
    return ok;
}

/* -------------------------------------------------------------------- grouping */

/* The callables that are compared. */
typedef struct Merging {
    const Call *call;
    CallGroups *groups;
    Shape *shapes;  /* of each callable */
    bool **differs; /* group -> value -> is it not the same in all members? */
    Table leaders;  /* hash -> 1 + group */
} Merging;

static bool same_shape(const Shape *a, const Shape *b)
{
    return a->count == b->count &&
           memcmp(a->words, b->words, a->count * sizeof(uint32_t)) == 0;
}

static bool add_group(Merging *m, uint32_t callable)
{
    CallGroups *g = m->groups;
    m->differs[g->count] = alloc_zero((size_t) m->shapes[callable].value_count + 1, 1);
    TRY(m->differs[g->count], false);
    g->group_of[callable] = g->count;
    g->group[g->count++] = (CallGroup){ .leader = callable };
    return true;
}

static bool place(Merging *m, uint32_t callable)
{
    CallGroups *g = m->groups;
    const Shape *shape = &m->shapes[callable];
    if (!shape->count) /* no effects, no outputs */
        return add_group(m, callable);
    Hash128 hash = hash_128(shape->words, shape->count * sizeof(uint32_t), 0);
    uint32_t known =
        (uint32_t) (uintptr_t) table_get(&m->leaders, &hash, sizeof(hash));
    const Shape *leader = known ? &m->shapes[g->group[known - 1].leader] : NULL;
    if (leader && same_shape(leader, shape)) {
        g->group_of[callable] = known - 1;
        bool *differs = m->differs[known - 1];
        for (uint32_t i = 0; i < shape->value_count; ++i)
            differs[i] |= leader->values[i] != shape->values[i] &&
                          !var_same_literal(leader->values[i], shape->values[i]);
        return true;
    }
    TRY(add_group(m, callable), false);
    return known || table_put(&m->leaders, &hash, sizeof(hash),
                              (void *) (uintptr_t) g->count);
}

/* ---------------------------------------------------------------------- values */

static bool is_wide(VarId id) { return type_info[var_get(id)->type].size == 8; }

/* The slots of a group. */
static bool find_slots(Merging *m, uint32_t number)
{
    CallGroups *g = m->groups;
    CallGroup *group = &g->group[number];
    const Shape *leader = &m->shapes[group->leader];
    group->first_slot = g->slot_count;
    for (uint32_t i = 0; i < leader->value_count; ++i) {
        if (!m->differs[number][i])
            continue;
        TRY(vec_reserve(&g->slots, &g->slot_capacity, g->slot_count + 1,
                        sizeof(CallSlot)), false);
        g->slots[g->slot_count++] = (CallSlot){ leader->values[i], group->words };
        group->words += is_wide(leader->values[i]) ? 2 : 1;
    }
    group->slot_count = g->slot_count - group->first_slot;
    return true;
}

/* Write the values of one callable. */
static bool write_values(Merging *m, uint32_t callable)
{
    CallGroups *g = m->groups;
    const CallGroup *group = &g->group[g->group_of[callable]];
    const CallSlot *slot = g->slots + group->first_slot;
    for (uint32_t i = 0; i < m->shapes[callable].value_count; ++i) {
        if (!m->differs[g->group_of[callable]][i])
            continue;
        VarId id = m->shapes[callable].values[i];
        uint32_t word = g->offset[callable] + slot++->word;
        if (var_get(id)->op == OP_LITERAL) {
            uint64_t bits = var_get(id)->value.literal;
            g->table[word] = (uint32_t) bits;
            if (is_wide(id))
                g->table[word + 1] = (uint32_t) (bits >> 32);
            continue;
        }
        TRY(vec_reserve(&g->sources, &g->source_capacity, g->source_count + 1,
                        sizeof(ExtraSource)), false);
        g->sources[g->source_count++] = (ExtraSource){ id, word };
    }
    return true;
}

static bool make_table(Merging *m)
{
    CallGroups *g = m->groups;
    uint64_t words = 0;
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->count; ++i) {
        TRY(find_slots(m, i), false);
        most = g->group[i].words > most ? g->group[i].words : most;
    }
    for (uint32_t c = 0; c < m->call->count; ++c) {
        g->offset[c] = (uint32_t) words;
        words += g->group[g->group_of[c]].words;
        if (words + most > UINT32_MAX)
            return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_call(): the data of the "
                             "instances are too large");
    }
    if (!words)
        return true;
    /* A lane may compute what another group reads at its offset. */
    g->words = (uint32_t) words + most;
    g->table = alloc_zero(g->words, sizeof(uint32_t));
    TRY(g->table, false);
    for (uint32_t c = 0; c < m->call->count; ++c)
        TRY(write_values(m, c), false);
    return true;
}

bool call_merge(const Call *call, bool merge, CallGroups *groups)
{
    uint32_t count = call->count;
    *groups = (CallGroups){ .group = alloc_zero(count, sizeof(CallGroup)),
                            .group_of = alloc_zero(count, sizeof(uint32_t)),
                            .offset = alloc_zero(count, sizeof(uint32_t)) };
    Merging m = { .call = call, .groups = groups,
                  .shapes = alloc_zero(count, sizeof(Shape)),
                  .differs = alloc_zero(count, sizeof(bool *)) };
    bool ok = groups->group && groups->group_of && groups->offset && m.shapes &&
              m.differs;
    for (uint32_t c = 0; ok && c < count; ++c)
        ok = merge ? make_shape(call, c, &m.shapes[c]) && place(&m, c)
                   : add_group(&m, c);
    ok = ok && make_table(&m);
    for (uint32_t c = 0; m.shapes && c < count; ++c) {
        alloc_free(m.shapes[c].words);
        alloc_free(m.shapes[c].values);
    }
    for (uint32_t i = 0; m.differs && i < count; ++i)
        alloc_free(m.differs[i]);
    alloc_free(m.shapes);
    alloc_free(m.differs);
    table_free(&m.leaders);
    return ok;
}

void call_merge_free(CallGroups *groups)
{
    alloc_free(groups->group);
    alloc_free(groups->group_of);
    alloc_free(groups->offset);
    alloc_free(groups->slots);
    alloc_free(groups->table);
    alloc_free(groups->sources);
    *groups = (CallGroups){ 0 };
}
