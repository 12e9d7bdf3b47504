/*
 * call_merge.c -- see call_merge.h
 *
 * What a callable computes is written down as words, in which variables have the
 * numbers in which a walk from effects and outputs leaves them. Of a value by which
 * callables may differ only the type is written; the variable is noted apart. Callables
 * with the same words are of one kind.
 */
#include "trace/flow/call_merge.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/eval/work.h"
#include "trace/flow/region_replay.h"
#include "trace/graph/arith.h"

/* ---------------------------------------------------------------------- words */

typedef struct Writer {
    uint32_t *words;
    uint32_t count, capacity;
    VarIds *values;   /* of the call */
    RegionWalk walk;  /* value of a mark: number of the variable */
    uint32_t numbers; /* given away */
    uint32_t scope;   /* of the call's placeholders */
} Writer;

/* Room for more words; NULL: memory is out. */
static uint32_t *extend(Writer *w, uint32_t count)
{
    if (w->count + count > w->capacity)
        TRY(vec_reserve(&w->words, &w->capacity, w->count + count, sizeof(uint32_t)),
            NULL);
    w->count += count;
    return w->words + w->count - count;
}

/* Bytes, filled up with zeros. */
static bool put(Writer *w, const void *data, size_t bytes)
{
    uint32_t count = (uint32_t) (bytes / sizeof(uint32_t) + 1);
    uint32_t *words = extend(w, count);
    TRY(words, false);
    words[count - 1] = 0;
    memcpy(words, data, bytes);
    return true;
}

static void number(const Writer *w, uint32_t *words, const VarId *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        words[i] = ids[i] ? marks_get(w->walk.marks, ids[i]) : MARKS_NONE;
}

/* Operands that have been walked. */
static bool put_numbers(Writer *w, const VarId *ids, uint32_t count)
{
    uint32_t *words = extend(w, count);
    TRY(words, false);
    number(w, words, ids, count);
    return true;
}

/* By which callables of one kind may differ. */
static bool is_value(const Var *v)
{
    return (v->op == OP_LITERAL && v->type != VarTypePointer) ||
           (v->op == OP_EVALUATED && v->size == 1);
}

/* A variable; regions are apart. What callables have from outside is itself ('which'),
 * but each has its own counters and, for each write, pointers. Prints and checks report
 * to somebody: they are like no others. */
static bool put_variable(Writer *w, VarId id, bool outside)
{
    const Var *v = var_get(id);
    uint32_t op = is_value(v) ? OP_LITERAL : v->op, count = 0;
    VarId which = outside ? id : 0, region;
    uint64_t bits = 0;
    const VarId *ids = outside ? NULL : var_operands(v, &count);
    switch (op) {
    case OP_LITERAL:
        which = 0;
        bits = is_value(v) ? 0 : v->value.literal;
        TRY(!is_value(v) || var_ids_add(w->values, id), false);
        break;
    case OP_POINTER:
        which = v->dep[0];
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
    uint32_t *words = extend(w, (bits ? 5 : 3) + count);
    TRY(words, false);
    words[0] = op | (uint32_t) v->type << 8 | (bits ? 1u << 15 : 0) | count << 16;
    words[1] = v->aux;
    words[2] = which;
    if (bits)
        memcpy(words + 3, &bits, sizeof(bits));
    number(w, words + (bits ? 5 : 3), ids, count);
    TRY(v->op != OP_STMT || put(w, v->value.text, strlen(v->value.text)), false);
    return marks_set(w->walk.marks, id, w->numbers++);
}

/* What an inner region takes from outside is there: its bodies are next. */
static bool put_region(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *r = v->region;
    uint32_t words[] = { OP_REGION, r->kind, r->count, r->outside }, unused;
    TRY(put(w, words, sizeof(words)) && put(w, r->fixed, r->count * sizeof(bool)) &&
        put_numbers(w, var_operands(v, &unused), r->outside), false);
    return marks_set(w->walk.marks, id, w->numbers++) &&
           region_walk_into(&w->walk, id, r->outside, r->parts[PART_STATES].first);
}

static bool put_bodies(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *r = v->region;
    uint32_t words[] = { OP_END, r->body_count }, count;
    const VarId *ids = var_operands(v, &count) + r->outside;
    TRY(put(w, words, sizeof(words)), false);
    for (uint32_t i = 0; i < r->body_count; ++i)
        TRY(put(w, &r->bodies[i].effects.count, sizeof(uint32_t)), false);
    return put_numbers(w, ids, w->walk.end - r->outside);
}

static bool meet(Writer *w, VarId id)
{
    if (region_is_outside(var_get(id), w->scope))
        return put_variable(w, id, true);
    return region_walk_operands(&w->walk, id);
}

static bool leave(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    if (v->op != OP_REGION)
        return put_variable(w, id, false);
    return w->walk.end == v->region->outside ? put_region(w, id) : put_bodies(w, id);
}

static bool put_roots(Writer *w, const VarIds *roots)
{
    WalkEvent event;
    VarId id;
    uint32_t *words = extend(w, 1);
    TRY(words, false);
    *words = roots->count;
    for (uint32_t i = 0; i < roots->count; ++i) {
        region_walk_from(&w->walk, roots->ids[i]);
        while ((event = region_walk(&w->walk, &id)) >= WALK_MET)
            TRY(event == WALK_MET ? meet(w, id) : leave(w, id), false);
        TRY(event == WALK_DONE, false);
    }
    return put_numbers(w, roots->ids, roots->count);
}

static bool write_down(Writer *w, Callable *callable)
{
    callable->first_value = w->values->count;
    w->count = w->numbers = 0;
    TRY(region_walk_begin(&w->walk), false);
    bool ok = put_roots(w, &callable->body.effects) &&
              put_roots(w, &callable->body.outputs);
    region_walk_end(&w->walk);
    callable->value_count = w->values->count - callable->first_value;
    return ok;
}

/* ---------------------------------------------------------------------- kinds */

/* The values of a callable: as many as its leader has. */
static const VarId *values_of(const Call *call, const Callable *callable)
{
    return call->values.ids + callable->first_value;
}

/* Find the leader of a callable, and the values in which it is not like that. */
static bool find_leader(Call *call, Writer *w, Table *leaders, uint32_t c)
{
    Callable *callable = &call->callables[c];
    TRY(write_down(w, callable), false);
    callable->leader = table_number(leaders, w->words, w->count * sizeof(uint32_t), c);
    TRY(callable->leader != UINT32_MAX, false);
    if (callable->leader == c) {
        callable->place = alloc_zero(callable->value_count + 1, sizeof(uint32_t));
        return callable->place != NULL;
    }
    const Callable *leader = &call->callables[callable->leader];
    const VarId *own = values_of(call, callable), *first = values_of(call, leader);
    for (uint32_t i = 0; i < leader->value_count; ++i) {
        VarId a = first[i], b = own[i];
        leader->place[i] |= a != b && !var_same_literal(a, b);
    }
    return true;
}

static bool find_kinds(Call *call, bool merge)
{
    Writer w = { .scope = call->scope, .values = &call->values };
    Table leaders = { 0 };
    uint32_t kinds = 0;
    bool ok = true;
    for (uint32_t c = 0; ok && c < call->count; ++c) {
        Callable *callable = &call->callables[c];
        if (!callable->used)
            continue;
        callable->leader = c;
        ok = !merge || find_leader(call, &w, &leaders, c);
        if (ok)
            callable->number = callable->leader == c
                                   ? kinds++
                                   : call->callables[callable->leader].number;
    }
    table_free(&leaders);
    alloc_free(w.words);
    return ok;
}

/* ---------------------------------------------------------------------- table */

static uint32_t words_of(VarId id)
{
    return type_info[var_get(id)->type].size == 8 ? 2 : 1;
}

/* Append those values of a callable that differ, each at its first word. */
static bool add_values(const Call *call, Callable *callable, VarIds *values)
{
    const Callable *leader = &call->callables[callable->leader];
    callable->offset = values->count;
    for (uint32_t i = 0; i < callable->value_count; ++i) {
        VarId id = values_of(call, callable)[i];
        if (!leader->place[i])
            continue;
        if (callable == leader)
            leader->place[i] = 1 + values->count - leader->offset;
        TRY(var_ids_add(values, id), false);
        TRY(words_of(id) == 1 || var_ids_add(values, 0), false);
    }
    callable->size = values->count - callable->offset;
    if (values->count > INT32_MAX)
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_call(): the data of the "
                         "instances are too large");
    return true;
}

static bool find_values(Call *call, VarIds *values)
{
    uint32_t most = 0;
    for (uint32_t c = 0; c < call->count; ++c) {
        Callable *callable = &call->callables[c];
        TRY(!callable->used || add_values(call, callable, values), false);
        most = callable->size > most ? callable->size : most;
    }
    /* A lane may compute what another kind reads at its offset. */
    while (most--)
        TRY(var_ids_add(values, 0), false);
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

VarId call_merge_table(ThreadState *ts, uint8_t device, const VarIds *values)
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
    VarId table = array_mem_copy(ts, device, VarTypeUInt32, words, values->count);
    alloc_free(words);
    if (table && arrays && !copy_arrays(ts, table, values))
        var_clear(&table);
    return table;
}

bool call_merge(ThreadState *ts, Call *call, bool merge)
{
    uint8_t device = call->body.device;
    VarIds values = { 0 };
    bool ok = find_kinds(call, merge) && find_values(call, &values);
    if (ok && values.count) {
        call->table = call_merge_table(ts, device, &values);
        call->data = call->table ? memory_pointer(ts, call->table, false) : 0;
        ok = call->data != 0;
    }
    alloc_free(values.ids);
    return ok;
}

/* ------------------------------------------------------------------- look-up */

/* Where values are read. */
typedef struct Reader {
    ThreadState *ts;
    uint8_t device;
    VarId data, offset;
} Reader;

static VarId literal(const Reader *r, VarType type, uint64_t bits)
{
    return node_literal(r->ts, r->device, type, bits, 1);
}

/* Operations that take their operands; 0 if one of them is. */
static VarId binary(const Reader *r, Op op, VarId a, VarId b)
{
    VarId result = a && b ? arith_binary(r->ts, op, a, b) : 0;
    var_drop(a);
    var_drop(b);
    return result;
}

static VarId cast(const Reader *r, VarId a, VarType type, bool bits)
{
    VarId result = a ? arith_cast(r->ts, a, type, bits) : 0;
    var_drop(a);
    return result;
}

/* Word number k of the values of an instance, in all lanes. */
static VarId read_word(const Reader *r, uint32_t k)
{
    var_inc(r->offset);
    VarId index = binary(r, OP_ADD, r->offset, literal(r, VarTypeUInt32, k));
    VarId always = literal(r, VarTypeBool, 1), result = 0;
    if (index && always) {
        Var v = { .op = OP_GATHER, .type = VarTypeUInt32,
                  .device = r->device, .size = var_get(index)->size,
                  .dep = { r->data, index, always } };
        result = node_new(r->ts, &v);
    }
    var_drop(always);
    var_drop(index);
    return result;
}

static VarId read_value(const Reader *r, VarType type, uint32_t word)
{
    VarId bits = read_word(r, word);
    if (type_info[type].size == 8) {
        bits = cast(r, bits, VarTypeUInt64, false);
        VarId high = cast(r, read_word(r, word + 1), VarTypeUInt64, false);
        high = binary(r, OP_SHL, high, literal(r, VarTypeUInt64, 32));
        bits = binary(r, OP_OR, high, bits);
    } else if (type_info[type].size < 4) { /* masks have no bits */
        bits = cast(r, bits, type == VarTypeBool ? type : type_bits(type), false);
    }
    return cast(r, bits, type, true);
}

/* The values that differ are looked up. */
static bool set_values(const Reader *r, const Call *call, const Callable *leader,
                       RegionReplay *replay)
{
    for (uint32_t i = 0; i < leader->value_count; ++i) {
        VarId id = values_of(call, leader)[i];
        if (!leader->place[i])
            continue;
        VarId value = read_value(r, (VarType) var_get(id)->type, leader->place[i] - 1);
        bool ok = value && region_replay_set(replay, id, value);
        var_drop(value);
        TRY(ok, false);
    }
    return true;
}

static bool look_up(ThreadState *ts, Call *call, Callable *leader, VarId offset)
{
    Reader reader = { ts, call->body.device, call->data, offset };
    RecordedBody now = { .scope = 0 };
    RegionReplay r;
    TRY(record_open(ts, &call->body, BODY_CALLABLE, call->body.device, 0), false);
    /* The placeholders stay, those in the callable do not. */
    bool ok = region_replay_begin(&r, ts, call->scope + 1);
    if (ok) {
        ok = set_values(&reader, call, leader, &r) &&
             region_replay_recorded(&r, &leader->body, &now);
        region_replay_end(&r);
    }
    ok = record_close_into(ts, &call->body, &now, "jit_var_call()") && ok;
    if (ok)
        region_replaced_all(&leader->body.effects);
    record_release(ok ? &leader->body : &now);
    if (ok)
        leader->body = now;
    return ok;
}

bool call_merge_apply(ThreadState *ts, Call *call, VarId offset)
{
    for (uint32_t c = 0; c < call->count; ++c) {
        Callable *callable = &call->callables[c];
        if (!callable->used || callable->leader != c) {
            region_replaced_all(&callable->body.effects);
            record_release(&callable->body);
        } else {
            TRY(!callable->size || look_up(ts, call, callable, offset), false);
        }
    }
    return true;
}
