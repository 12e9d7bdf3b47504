/*
 * call_merge.c -- see call_merge.h
 *
 * What a callable computes is written down as a list of words, in which variables have
 * the numbers in which a walk from effects and outputs leaves them. A value by which
 * callables may differ is a number like any other: the variable is noted apart.
 * Callables with the same words are of one kind.
 */
#include "trace/flow/call_merge.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/eval/work.h"
#include "trace/flow/region_replay.h"
#include "trace/graph/arith.h"

/* ---------------------------------------------------------------------- words */

/* Words that begin what is no operation. */
enum { WORD_VALUE = 0x80000000u, WORD_OUTSIDE, WORD_BODIES };

typedef struct Writer {
    CallMember *member;
    RegionWalk walk;  /* value of a mark: number of the variable */
    uint32_t numbers; /* given away */
    uint32_t scope;   /* of the call's placeholders */
} Writer;

static bool put(Writer *w, const void *data, size_t bytes)
{
    CallMember *m = w->member;
    uint32_t end = m->word_count + (uint32_t) ((bytes + 3) / 4);
    TRY(vec_reserve(&m->words, &m->word_capacity, end + 1, sizeof(uint32_t)), false);
    m->words[end - (end > m->word_count)] = 0; /* bytes are filled up to words */
    memcpy(m->words + m->word_count, data, bytes);
    m->word_count = end;
    return true;
}

/* Operands that have been walked. */
static bool put_numbers(Writer *w, const VarId *ids, uint32_t count)
{
    CallMember *m = w->member;
    TRY(vec_reserve(&m->words, &m->word_capacity, m->word_count + count,
                    sizeof(uint32_t)), false);
    for (uint32_t i = 0; i < count; ++i)
        m->words[m->word_count++] =
            ids[i] ? marks_get(w->walk.marks, ids[i]) : MARKS_NONE;
    return true;
}

/* By which callables of one kind may differ. */
static bool is_value(const Var *v)
{
    return (v->op == OP_LITERAL && v->type != VarTypePointer) ||
           (v->op == OP_EVALUATED && v->size == 1);
}

/* Something without operands, or whose operands are not walked. */
static bool is_leaf(const Writer *w, const Var *v)
{
    return is_value(v) || region_is_outside(v, w->scope);
}

static bool put_value(Writer *w, VarId id)
{
    uint32_t words[] = { WORD_VALUE, var_get(id)->type };
    return var_ids_add(&w->member->values, id) && put(w, words, sizeof(words));
}

/* What callables have from outside is itself ('which'), but each has its own counters
 * and, for each write, pointers. Prints and checks report to somebody: they are like no
 * others. */
static bool put_variable(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    bool outside = region_is_outside(v, w->scope);
    VarId which = outside ? id : 0, region;
    uint64_t bits = 0;
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    switch ((Op) v->op) {
    case OP_POINTER:
        which = v->dep[0];
        bits = v->value.literal;
        break;
    case OP_LITERAL:
        which = 0;
        bits = v->value.literal;
        break;
    case OP_COUNTER:
    case OP_WORKER:
        which = 0;
        bits = v->size;
        break;
    case OP_PRINT:
    case OP_CHECK:
        which = id;
        break;
    case OP_STATE:
    case OP_ACTIVE: /* of an inner region; all callables share those of the call */
        region = outside ? 0 : region_of(id);
        which = region ? 0 : id;
        bits = region ? marks_get(w->walk.marks, region) : 0;
        break;
    default:
        break;
    }
    count = is_leaf(w, v) ? 0 : count;
    uint32_t words[] = { v->op | (uint32_t) v->type << 8 | count << 16, v->aux, which,
                         (uint32_t) bits, (uint32_t) (bits >> 32) };
    return put(w, words, sizeof(words)) &&
           (v->op != OP_STMT ||
            put(w, v->value.text, strlen(v->value.text) + 1)) &&
           put_numbers(w, ids, count);
}

/* What an inner region takes from outside is there: its bodies are next. */
static bool put_region(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *r = v->region;
    uint32_t words[] = { OP_REGION, r->kind, r->count, r->outside }, unused;
    TRY(put(w, words, sizeof(words)) && put(w, r->fixed, r->count * sizeof(bool)) &&
        put_numbers(w, var_operands(v, &unused), r->outside), false);
    return region_walk_into(&w->walk, id, r->outside, r->parts[PART_STATES].first);
}

static bool put_bodies(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *r = v->region;
    uint32_t words[] = { WORD_BODIES, r->body_count }, count;
    const VarId *ids = var_operands(v, &count) + r->outside;
    TRY(put(w, words, sizeof(words)), false);
    for (uint32_t i = 0; i < r->body_count; ++i)
        TRY(put(w, &r->bodies[i].effects.count, sizeof(uint32_t)), false);
    return put_numbers(w, ids, w->walk.end - r->outside);
}

/* The operands of a variable have numbers, and so has it then. */
static bool leave(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    bool inner = v->op == OP_REGION && !is_leaf(w, v);
    if (inner && w->walk.end != v->region->outside)
        return put_bodies(w, id);
    return (is_value(v) ? put_value(w, id)
            : inner     ? put_region(w, id)
                        : put_variable(w, id)) &&
           marks_set(w->walk.marks, id, w->numbers++);
}

static bool meet(Writer *w, VarId id)
{
    return is_leaf(w, var_get(id)) ? region_walk_into(&w->walk, id, 0, 0)
                                   : region_walk_operands(&w->walk, id);
}

static bool put_roots(Writer *w, const VarIds *roots)
{
    WalkEvent event;
    VarId id;
    TRY(put(w, &roots->count, sizeof(uint32_t)), false);
    for (uint32_t i = 0; i < roots->count; ++i) {
        region_walk_from(&w->walk, roots->ids[i]);
        while ((event = region_walk(&w->walk, &id)) >= WALK_MET)
            TRY(event == WALK_MET ? meet(w, id) : leave(w, id), false);
        TRY(event == WALK_DONE, false);
    }
    return put_numbers(w, roots->ids, roots->count);
}

static bool write_down(const CallMerge *m, uint32_t callable)
{
    const RecordedBody *body = &m->call->callables[callable];
    Writer w = { .member = &m->members[callable], .scope = m->call->scope };
    TRY(region_walk_begin(&w.walk), false);
    bool ok = put_roots(&w, &body->effects) && put_roots(&w, &body->outputs);
    region_walk_end(&w.walk);
    return ok;
}

/* ---------------------------------------------------------------------- kinds */

static bool is_same(const CallMember *a, const CallMember *b)
{
    return a->word_count == b->word_count &&
           memcmp(a->words, b->words, a->word_count * sizeof(uint32_t)) == 0;
}

/* Find the leader of a callable, and the values in which it is not like that. */
static bool find_leader(CallMerge *m, Table *leaders, uint32_t callable)
{
    CallMember *member = &m->members[callable];
    TRY(write_down(m, callable), false);
    Hash128 hash = hash_128(member->words, member->word_count * sizeof(uint32_t), 0);
    uint32_t known = table_number(leaders, &hash, sizeof(hash), callable);
    TRY(known != UINT32_MAX, false);
    CallMember *leader = &m->members[known];
    if (leader == member || !is_same(leader, member)) {
        member->place = alloc_zero(member->values.count + 1, sizeof(uint32_t));
        return member->place != NULL;
    }
    member->leader = known;
    for (uint32_t i = 0; i < member->values.count; ++i) {
        VarId a = leader->values.ids[i], b = member->values.ids[i];
        leader->place[i] |= a != b && !var_same_literal(a, b);
    }
    return true;
}

static bool find_kinds(CallMerge *m, bool merge)
{
    Table leaders = { 0 };
    bool ok = true;
    for (uint32_t c = 0; ok && c < m->count; ++c) {
        CallMember *member = &m->members[c];
        if (!member->used)
            continue;
        member->leader = c;
        ok = !merge || find_leader(m, &leaders, c);
        member->number = member->leader == c ? m->kinds++
                                             : m->members[member->leader].number;
    }
    table_free(&leaders);
    return ok;
}

/* ---------------------------------------------------------------------- table */

static uint32_t words_of(VarId id)
{
    return type_info[var_get(id)->type].size == 8 ? 2 : 1;
}

/* Append those values of a callable that differ, each at its first word. */
static bool add_values(CallMerge *m, CallMember *member)
{
    CallMember *leader = &m->members[member->leader];
    member->offset = m->values.count;
    for (uint32_t i = 0; leader->place && i < member->values.count; ++i) {
        VarId id = member->values.ids[i];
        if (!leader->place[i])
            continue;
        if (member == leader)
            leader->place[i] = 1 + m->values.count - leader->offset;
        TRY(var_ids_add(&m->values, id), false);
        TRY(words_of(id) == 1 || var_ids_add(&m->values, 0), false);
    }
    member->size = m->values.count - member->offset;
    if (m->values.count > INT32_MAX)
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_call(): the data of the "
                         "instances are too large");
    return true;
}

static bool find_values(CallMerge *m)
{
    uint32_t most = 0;
    for (uint32_t c = 0; c < m->count; ++c) {
        CallMember *member = &m->members[c];
        TRY(!member->used || add_values(m, member), false);
        most = member->size > most ? member->size : most;
    }
    /* A lane may compute what another kind reads at its offset. */
    while (most--)
        TRY(var_ids_add(&m->values, 0), false);
    return true;
}

/* Copy the entries of arrays into a table, which remembers what it is made of. */
static bool copy_arrays(ThreadState *ts, VarId table, const VarIds *values)
{
    Extra *extra = extra_make(var_get(table));
    TRY(extra, false);
    for (uint32_t i = 0; i < values->count; ++i) {
        TRY(var_ids_add(&extra->values, values->ids[i]), false);
        if (values->ids[i])
            var_inc(values->ids[i]);
    }
    for (uint32_t i = 0; i < values->count; ++i) {
        const Var *v = values->ids[i] ? var_get(values->ids[i]) : NULL;
        TRY(!v || v->op == OP_LITERAL ||
            work_copy(ts, v->value.buffer, 0, var_get(table)->value.buffer,
                      i * sizeof(uint32_t), type_info[v->type].size), false);
    }
    return true;
}

VarId call_merge_table(ThreadState *ts, JitBackend backend, const VarIds *values)
{
    uint32_t *words = alloc_zero(values->count, sizeof(uint32_t));
    TRY(words, 0);
    bool arrays = false;
    for (uint32_t i = 0; i < values->count; ++i) {
        const Var *v = values->ids[i] ? var_get(values->ids[i]) : NULL;
        if (v && v->op == OP_LITERAL)
            memcpy(words + i, &v->value.literal,
                   words_of(values->ids[i]) * sizeof(uint32_t));
        arrays |= v && v->op != OP_LITERAL;
    }
    VarId table = array_mem_copy(ts, backend, VarTypeUInt32, words, values->count);
    alloc_free(words);
    if (table && arrays && !copy_arrays(ts, table, values))
        var_clear(&table);
    return table;
}

/* ------------------------------------------------------------------- look-up */

/* Operations that take their operands; 0 if one of them is. */
static VarId binary(const CallMerge *m, Op op, VarId a, VarId b)
{
    VarId result = a && b ? arith_binary(m->ts, op, a, b) : 0;
    var_drop(a);
    var_drop(b);
    return result;
}

static VarId cast(const CallMerge *m, VarId a, VarType type, bool bits)
{
    VarId result = a ? arith_cast(m->ts, a, type, bits) : 0;
    var_drop(a);
    return result;
}

static VarId literal(const CallMerge *m, VarType type, uint64_t bits)
{
    return node_literal(m->ts, m->call->body.backend, type, bits, 1);
}

/* Word number k of the values of an instance, in all lanes. */
static VarId read_word(const CallMerge *m, VarId offset, uint32_t k)
{
    var_inc(offset);
    VarId index = binary(m, OP_ADD, offset, literal(m, VarTypeUInt32, k)), result = 0;
    VarId always = literal(m, VarTypeBool, 1);
    if (index && always) {
        Var v = { .op = OP_GATHER, .type = VarTypeUInt32,
                  .backend = (uint8_t) m->call->body.backend,
                  .size = var_get(index)->size, .dep = { m->data, index, always } };
        result = node_new(m->ts, &v);
    }
    var_drop(always);
    var_drop(index);
    return result;
}

/* A value of this type. */
static VarId read_value(const CallMerge *m, VarType type, VarId offset, uint32_t word)
{
    VarId bits = read_word(m, offset, word);
    if (type_info[type].size == 8) {
        bits = cast(m, bits, VarTypeUInt64, false);
        VarId high = cast(m, read_word(m, offset, word + 1), VarTypeUInt64, false);
        high = binary(m, OP_SHL, high, literal(m, VarTypeUInt64, 32));
        bits = binary(m, OP_OR, high, bits);
    } else if (type_info[type].size < 4) { /* masks have no bits */
        bits = cast(m, bits, type == VarTypeBool ? type : type_bits(type), false);
    }
    return cast(m, bits, type, true);
}

/* The values that differ are looked up by the leader. */
static bool set_values(const CallMerge *m, const CallMember *leader, VarId offset,
                       RegionReplay *r)
{
    for (uint32_t i = 0; i < leader->values.count; ++i) {
        if (!leader->place[i])
            continue;
        VarId id = leader->values.ids[i];
        VarType type = (VarType) var_get(id)->type;
        VarId value = read_value(m, type, offset, leader->place[i] - 1);
        bool ok = value && region_replay_set(r, id, value);
        var_drop(value);
        TRY(ok, false);
    }
    return true;
}

static bool look_up(const CallMerge *m, uint32_t callable, VarId offset)
{
    Call *call = m->call;
    RecordedBody *before = &call->callables[callable], now = { 0 };
    RegionReplay r;
    TRY(record_open(m->ts, &call->body, BODY_CALLABLE, call->body.backend, 0), false);
    /* The placeholders stay, those in the callable do not. */
    bool ok = region_replay_begin(&r, m->ts, call->scope + 1);
    if (ok) {
        ok = set_values(m, &m->members[callable], offset, &r) &&
             region_replay_recorded(&r, before, &now);
        region_replay_end(&r);
    }
    ok = record_close_into(m->ts, &call->body, &now, "jit_var_call()") && ok;
    record_release(ok ? before : &now);
    if (ok)
        *before = now;
    return ok;
}

/* ------------------------------------------------------------------ the whole */

bool call_merge_begin(CallMerge *m, ThreadState *ts, Call *call)
{
    *m = (CallMerge){ .ts = ts, .call = call, .count = call->count,
                      .members = alloc_zero(call->count + 1, sizeof(CallMember)) };
    return m->members != NULL;
}

bool call_merge(CallMerge *m, bool merge)
{
    TRY(find_kinds(m, merge) && find_values(m), false);
    if (!m->values.count)
        return true;
    m->table = call_merge_table(m->ts, m->call->body.backend, &m->values);
    TRY(m->table, false);
    m->data = memory_pointer(m->ts, m->table, false);
    return m->data != 0;
}

bool call_merge_apply(CallMerge *m, VarId offset)
{
    Call *call = m->call;
    uint32_t kept = 0;
    for (uint32_t c = 0; c < m->count; ++c) {
        const CallMember *member = &m->members[c];
        bool leads = member->used && member->leader == c;
        TRY(!leads || !member->size || look_up(m, c, offset), false);
    }
    for (uint32_t c = 0; c < m->count; ++c)
        if (m->members[c].used && m->members[c].leader == c)
            call->callables[kept++] = call->callables[c];
        else
            record_release(&call->callables[c]);
    call->count = kept;
    return true;
}

void call_merge_end(CallMerge *m)
{
    for (uint32_t c = 0; c < m->count; ++c) {
        alloc_free(m->members[c].words);
        alloc_free(m->members[c].values.ids);
        alloc_free(m->members[c].place);
    }
    alloc_free(m->members);
    alloc_free(m->values.ids);
    var_drop(m->table);
    var_drop(m->data);
}
