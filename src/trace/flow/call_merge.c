/*
 * call_merge.c -- see call_merge.h
 *
 * What a callable computes is written down as words, in which variables have the
 * numbers in which a walk from effects and outputs leaves them. Of a value by which
 * callables may differ only the type is written; the value is noted apart. Callables
 * with the same words are of one kind, and before they are written down, the pattern of
 * the kind that was met last is tried (call_pattern.h).
 */
#include "trace/flow/call_merge.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/flow/call_pattern.h"
#include "trace/flow/region_replay.h"
#include "trace/graph/arith.h"

/* ---------------------------------------------------------------------- words */

enum {
    HAS_BITS = 1 << 15, /* in the first word of a variable */
    USUAL_WORDS = 64    /* of a callable */
};

typedef struct CallWriter {
    Arena *arena;     /* the call's */
    Table kinds;      /* words -> number of the kind */
    uint32_t last;    /* 1 + number of the kind that was met last; 0: it has no
                         pattern */
    uint32_t *words;  /* of the callable that is written down */
    uint32_t count, capacity;
    VarIds walked;    /* its variables by number; borrowed */
    RegionWalk walk;  /* value of a mark: number of the variable */
    bool loose;       /* something in it does not depend on placeholders */
    bool plain;       /* it consists of values, what is from outside, pure operations */
} Writer;

/* Room for more words; NULL: out of memory. */
static inline uint32_t *extend(Writer *w, uint32_t count)
{
    TRY(arena_reserve(w->arena, &w->words, &w->capacity, w->count + count,
                      sizeof(uint32_t)), NULL);
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

/* The variable has been walked: it gets the next number. */
static inline bool give_number(Writer *w, VarId id)
{
    TRY(arena_reserve(w->arena, &w->walked.ids, &w->walked.capacity,
                      w->walked.count + 1, sizeof(VarId)), false);
    w->walked.ids[w->walked.count] = id;
    return marks_set(w->walk.marks, id, w->walked.count++);
}

static inline void number(const Writer *w, uint32_t *words, const VarId *ids,
                          uint32_t count)
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

/* What it is, 'bits' if there are any, then the operands' numbers. */
static inline bool put_words(Writer *w, const Var *v, Op op, uint32_t which,
                             uint64_t bits, uint32_t count, const VarId *ids)
{
    uint32_t more = bits ? 2 : 0, *words = extend(w, 3 + more + count);
    TRY(words, false);
    words[0] = op | (uint32_t) v->type << 8 | (bits ? HAS_BITS : 0) | count << 16;
    words[1] = v->aux;
    words[2] = which;
    if (bits)
        memcpy(words + 3, &bits, sizeof(bits));
    number(w, words + 3 + more, ids, count);
    return true;
}

/* One more value of the call's. */
static bool add_value(Call *call, VarId id)
{
    const Var *v = var_get(id);
    CallValue value = { 0 };
    TRY(arena_reserve(&call->arena, &call->values, &call->value_capacity,
                      call->value_count + 1, sizeof(CallValue)), false);
    if (v->op == OP_LITERAL)
        value.bits = v->value.literal;
    else
        var_inc(value.array = id);
    call->values[call->value_count++] = value;
    return true;
}

/* What callables have from outside is itself ('which'), but each has its own counters
 * and, for each write, pointers. */
static bool put_outside(Writer *w, Call *call, VarId id)
{
    const Var *v = var_get(id);
    if (call_is_value(v))
        return add_value(call, id) &&
               put_words(w, v, OP_LITERAL, 0, var_lanes(v) == 1 ? 0 : var_lanes(v), 0,
                         NULL) &&
               give_number(w, id);
    VarId which = id;
    uint64_t bits = 0;
    if (v->op == OP_POINTER) {
        which = v->dep[0];
        bits = v->value.literal;
    } else if (v->op == OP_COUNTER || v->op == OP_WORKER) {
        which = 0;
        bits = var_lanes(v);
    } else if (v->op == OP_LITERAL) {
        which = 0;
        bits = v->value.literal;
    }
    return put_words(w, v, (Op) v->op, which, bits, 0, NULL) && give_number(w, id);
}

/* A variable of the callable; regions are apart. Prints and checks report to somebody:
 * they are like no others. */
static bool put_variable(Writer *w, VarId id, const Var *v)
{
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    VarId which = 0;
    uint64_t bits = 0;
    if (v->op == OP_PRINT || v->op == OP_CHECK) {
        which = id;
        w->plain = false;
    } else if (v->op == OP_STATE || v->op == OP_ACTIVE) {
        /* of an inner region; all callables share those of the call */
        VarId region = region_of(id);
        which = region ? 0 : id;
        bits = region ? marks_get(w->walk.marks, region) : 0;
        w->plain &= !region;
    } else {
        w->plain &= (op_info[v->op].flags & F_PURE) == F_PURE && !(v->flags & VAR_WIDE);
    }
    return put_words(w, v, (Op) v->op, which, bits, count, ids) &&
           (v->op != OP_STMT || put(w, v->value.text, strlen(v->value.text))) &&
           give_number(w, id);
}

/* What an inner region takes from outside is there: its bodies are next. */
static bool put_region(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *r = v->region;
    uint32_t words[] = { OP_REGION, r->kind, r->count, r->outside }, unused;
    TRY(put(w, words, sizeof(words)) && put(w, r->fixed, r->count * sizeof(bool)) &&
        put_numbers(w, var_operands(v, &unused), r->outside), false);
    return give_number(w, id) &&
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

/* A variable of the callable is met: what it needs comes first. */
static inline bool meet(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    w->loose |= !(v->flags & VAR_SYMBOLIC);
    w->plain &= v->op != OP_REGION;
    return marks_set(w->walk.marks, id, 0) && region_walk_operands(&w->walk, id);
}

/* This has been written down. */
static inline bool leave(Writer *w, VarId id)
{
    const Var *v = var_get(id);
    if (v->op != OP_REGION)
        return put_variable(w, id, v);
    return w->walk.end == v->region->outside ? put_region(w, id) : put_bodies(w, id);
}

/* The nodes of a walk; that of region_walk() would hand out, and mark, each variable
 * from outside twice. This is done for every callable. */
static bool put_roots(Writer *w, Call *call, const VarIds *roots)
{
    RegionWalk *walk = &w->walk;
    uint32_t *words = extend(w, 1);
    TRY(words, false);
    *words = roots->count;
    for (uint32_t i = 0; i < roots->count; ++i) {
        region_walk_from(walk, roots->ids[i]);
        for (;;) {
            VarId id = region_walk_find(walk);
            if (id)
                TRY(region_is_outside(var_get(id), call->scope)
                        ? put_outside(w, call, id) : meet(w, id), false);
            else if (walk->depth)
                TRY(leave(w, region_walk_pop(walk)), false);
            else
                break;
        }
    }
    return put_numbers(w, roots->ids, roots->count);
}

/* The last values of the call, from this one on, are none. */
static void drop_values(Call *call, uint32_t first)
{
    while (call->value_count > first)
        var_drop(call->values[--call->value_count].array);
}

/* Write a body down. Its values become the last of the call. */
static bool write_down(Call *call, const VarIds *effects, const VarIds *outputs)
{
    if (!call->writer)
        TRY(call->writer = arena_zero(&call->arena, 1, sizeof(Writer)), false);
    Writer *w = call->writer;
    w->arena = &call->arena;
    TRY(arena_reserve(w->arena, &w->words, &w->capacity, USUAL_WORDS,
                      sizeof(uint32_t)), false);
    w->count = w->walked.count = 0;
    w->loose = false;
    w->plain = !effects->count;
    TRY(region_walk_begin(&w->walk), false);
    uint32_t first = call->value_count;
    bool ok = put_roots(w, call, effects) && put_roots(w, call, outputs);
    region_walk_end(&w->walk);
    if (!ok)
        drop_values(call, first);
    return ok;
}

/* ---------------------------------------------------------------------- kinds */

/* A kind, whose first callable has this body, which is taken over on success. */
static bool add_kind(Call *call, RecordedBody *body, bool settled)
{
    TRY(arena_reserve(&call->arena, &call->kinds, &call->kind_capacity,
                      call->kind_count + 1, sizeof(CallKind)), false);
    body->outputs = call->outputs;
    call->outputs = (VarIds){ 0 };
    call->kinds[call->kind_count++] = (CallKind){ .body = *body, .settled = settled };
    *body = (RecordedBody){ .scope = 0 };
    return true;
}

/* The number of the kind that the callable which was written down belongs to, 'fresh'
 * if there is none. UINT32_MAX: out of memory. */
static uint32_t find_kind(const Call *call, uint32_t fresh)
{
    Writer *w = call->writer;
    return table_number(&w->kinds, w->words, w->count * sizeof(uint32_t), fresh);
}

/* The pattern of the callable that was written down, which is plain: its words have
 * the numbers of operands. */
static CallPattern *make_pattern(const Writer *w)
{
    CallPattern *p = call_pattern_new(w->arena, w->walked.count, w->words, w->count);
    TRY(p, NULL);
    uint32_t at = 2; /* numbers of effects and outputs */
    for (uint32_t i = 0; i < p->count; ++i) {
        VarId id = w->walked.ids[i];
        const Var *v = var_get(id);
        uint32_t head = w->words[at], operands = at + (head & HAS_BITS ? 5 : 3);
        CallNodeKind kind = call_is_value(v) ? CALL_NODE_VALUE
                            : head >> 16     ? CALL_NODE_OPERATION
                                             : CALL_NODE_SAME;
        p->nodes[i] = (CallNode){ id, kind, operands, head >> 16 };
        at = operands + (head >> 16);
    }
    p->outputs = at;
    return p;
}

/* The kind consists of the callable that was written down. */
static bool settle_kind(Call *call, CallKind *kind, uint32_t first_value)
{
    const VarIds *walked = &call->writer->walked;
    kind->settled = true;
    kind->first_value = first_value;
    kind->values = arena_get(&call->arena,
                             (call->value_count - first_value) * sizeof(VarId));
    TRY(kind->values, false);
    for (uint32_t i = 0; i < walked->count; ++i) {
        VarId id = walked->ids[i];
        if (!call_is_value(var_get(id)))
            continue;
        var_inc(id);
        kind->values[kind->value_count++] = id;
    }
    return true;
}

/* The callable that is complete differs from the kind that was met last in values
 * only? -1: out of memory. */
static int is_like_last(Call *call, Callable *callable)
{
    const Writer *w = call->writer;
    const CallKind *kind = w && w->last ? &call->kinds[w->last - 1] : NULL;
    if (!kind || !call_pattern_fits(kind->pattern, call->scope + 1, &call->outputs))
        return 0;
    callable->kind = w->last - 1;
    callable->first_value = call->value_count;
    const CallPattern *p = kind->pattern;
    for (uint32_t i = 0; i < p->count; ++i)
        if (p->nodes[i].kind == CALL_NODE_VALUE)
            TRY(add_value(call, p->own[i]), -1);
    return 1;
}

/* Find the kind of a callable by its words. If it is the first, or nothing is known
 * until others are complete, its body is taken. */
static bool find_by_words(Call *call, Callable *callable, RecordedBody *body)
{
    uint32_t fresh = call->kind_count, first = call->value_count;
    TRY(write_down(call, &body->effects, &call->outputs), false);
    Writer *w = call->writer;
    if (w->loose) {
        drop_values(call, first);
        return add_kind(call, body, false);
    }
    callable->first_value = first;
    callable->kind = find_kind(call, fresh);
    TRY(callable->kind != UINT32_MAX, false);
    if (callable->kind == fresh) {
        TRY(add_kind(call, body, true) && settle_kind(call, &call->kinds[fresh], first),
            false);
        if (w->plain)
            TRY(call->kinds[fresh].pattern = make_pattern(w), false);
        /* A few more of it are to be expected. */
        uint32_t count = 8 * (call->value_count - first);
        TRY(arena_reserve(&call->arena, &call->values, &call->value_capacity,
                          first + count, sizeof(CallValue)), false);
    }
    w->last = call->kinds[callable->kind].pattern ? callable->kind + 1 : 0;
    return true;
}

/* Compare a callable at once, if that can be done. */
static bool add_compared(Call *call, Callable *callable, RecordedBody *body)
{
    int known = is_like_last(call, callable);
    TRY(known >= 0 && (known || find_by_words(call, callable, body)), false);
    VarIds *outputs = &call->outputs; /* none are left where they have been taken */
    while (outputs->count)
        var_dec(outputs->ids[--outputs->count]);
    return true;
}

bool call_merge_add(Call *call, RecordedBody *body)
{
    bool ok = arena_reserve(&call->arena, &call->callables, &call->capacity,
                            call->count + 1, sizeof(Callable));
    if (ok) {
        Callable *callable = &call->callables[call->count++];
        *callable = (Callable){ .kind = call->kind_count };
        ok = call->merges && !body->effects.count
                 ? add_compared(call, callable, body)
                 : add_kind(call, body, !call->merges);
    }
    var_ids_drop(&body->effects); /* unless they have been taken */
    return ok;
}

bool call_merge_settle(Call *call)
{
    for (uint32_t c = 0; c < call->count; ++c) {
        Callable *callable = &call->callables[c];
        CallKind *kind = &call->kinds[callable->kind];
        if (kind->settled || !kind->used)
            continue;
        callable->first_value = call->value_count;
        TRY(write_down(call, &kind->body.effects, &kind->body.outputs), false);
        uint32_t known = find_kind(call, callable->kind);
        TRY(known != UINT32_MAX, false);
        if (known == callable->kind) {
            TRY(settle_kind(call, kind, callable->first_value), false);
        } else {
            kind->used = false;
            call->kinds[known].used = true;
            callable->kind = known;
        }
    }
    return true;
}

CallValue call_merge_value(const Call *call, const Callable *callable, VarId id)
{
    const CallKind *kind = &call->kinds[callable->kind];
    for (uint32_t i = 0; i < kind->value_count; ++i)
        if (kind->values[i] == id)
            return call->values[callable->first_value + i];
    CallValue value = { 0 };
    if (var_get(id)->op == OP_LITERAL)
        value.bits = var_get(id)->value.literal;
    else
        value.array = id;
    return value;
}

void call_merge_free(Call *call)
{
    drop_values(call, 0);
    if (call->writer)
        table_free(&call->writer->kinds);
}

/* ---------------------------------------------------------------------- table */

static uint32_t words_of(VarId id)
{
    return type_info[var_get(id)->type].size == 8 ? 2 : 1;
}

/* The values in which a callable is not like the first of its kind have a place. */
static bool find_differences(Call *call, const Callable *callable)
{
    CallKind *kind = &call->kinds[callable->kind];
    const CallValue *first = call->values + kind->first_value,
                    *own = call->values + callable->first_value;
    for (uint32_t i = 0; i < kind->value_count; ++i) {
        if (call_merge_same(&first[i], &own[i]))
            continue;
        if (!kind->place)
            TRY(kind->place = arena_zero(&call->arena, kind->value_count,
                                         sizeof(uint32_t)), false);
        kind->place[i] = 1;
    }
    return true;
}

/* Where in the data of an instance they are. */
static void line_up(CallKind *kind)
{
    for (uint32_t i = 0; kind->place && i < kind->value_count; ++i) {
        if (!kind->place[i])
            continue;
        kind->place[i] = 1 + kind->size;
        kind->size += words_of(kind->values[i]);
    }
}

/* Where in the table the data of the instances are; 'size' is that of the table. */
static bool find_offsets(Call *call, uint32_t *size)
{
    uint64_t words = 0;
    uint32_t most = 0, number = 0;
    for (uint32_t i = 0; i < call->kind_count; ++i) {
        CallKind *kind = &call->kinds[i];
        if (!kind->used)
            continue;
        line_up(kind);
        kind->number = number++;
        most = kind->size > most ? kind->size : most;
    }
    for (uint32_t c = 0; c < call->count; ++c) {
        Callable *callable = &call->callables[c];
        if (!callable->used)
            continue;
        callable->offset = (uint32_t) words;
        words += call->kinds[callable->kind].size;
        if (words + most > INT32_MAX)
            return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_call(): the data of the "
                             "instances are too large");
    }
    /* A lane may compute what another kind reads at its offset. */
    *size = (uint32_t) words + (words ? most : 0);
    return true;
}

/* A table that is being filled. */
typedef struct Data {
    uint32_t *words;
    VarIds values; /* if there are arrays, all as variables: references, by word */
    bool arrays;
} Data;

/* A value that is like this variable goes to a word. */
static bool put_datum(ThreadState *ts, Data *data, uint32_t word,
                      const CallValue *value, VarId like)
{
    const Var *v = var_get(like);
    data->arrays |= value->array != 0;
    data->words[word] = (uint32_t) value->bits;
    if (words_of(like) == 2)
        data->words[word + 1] = (uint32_t) (value->bits >> 32);
    if (!data->values.ids)
        return true;
    VarId id = value->array;
    if (id)
        var_inc(id);
    else
        id = node_literal(ts, v->device, (VarType) v->type, value->bits, 1);
    return (data->values.ids[word] = id) != 0;
}

/* All values that have a place. */
static bool put_data(ThreadState *ts, const Call *call, Data *data)
{
    for (uint32_t c = 0; c < call->count; ++c) {
        const Callable *callable = &call->callables[c];
        const CallKind *kind = &call->kinds[callable->kind];
        const CallValue *values = call->values + callable->first_value;
        if (!callable->used || !kind->size)
            continue;
        for (uint32_t i = 0; i < kind->value_count; ++i)
            if (kind->place[i])
                TRY(put_datum(ts, data, callable->offset + kind->place[i] - 1,
                              &values[i], kind->values[i]), false);
    }
    return true;
}

static VarId make_table(ThreadState *ts, Call *call, uint32_t size)
{
    uint8_t device = call->body.device;
    Data data = { .words = arena_zero(&call->arena, size, sizeof(uint32_t)) };
    bool ok = data.words && put_data(ts, call, &data);
    VarId table = 0;
    if (ok && data.arrays) {
        data.values.ids = alloc_zero(size, sizeof(VarId));
        data.values.count = data.values.ids ? size : 0;
        ok = data.values.ids && put_data(ts, call, &data);
        table = ok ? call_merge_table(ts, device, &data.values) : 0;
    } else if (ok) {
        table = array_mem_copy(ts, device, VarTypeUInt32, data.words, size);
    }
    var_ids_drop(&data.values);
    return table;
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
        if (v)
            freezing_size_is(ts, type_info[v->type].size);
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
    if (table && arrays && watch_records(ts)) { /* what is recorded is a constant */
        VarId own = memory_duplicate(ts, table);
        var_dec(table);
        table = own;
    }
    if (table && arrays && !copy_arrays(ts, table, values))
        var_clear(&table);
    return table;
}

bool call_merge(ThreadState *ts, Call *call)
{
    uint32_t size = 0;
    for (uint32_t c = 0; c < call->count; ++c)
        TRY(!call->callables[c].used || find_differences(call, &call->callables[c]),
            false);
    TRY(find_offsets(call, &size), false);
    if (!size)
        return true;
    TRY(call->table = make_table(ts, call, size), false);
    return (call->data = memory_pointer(ts, call->table, false)) != 0;
}

/* ------------------------------------------------------------------- look-up */

/* Where values are read. */
typedef struct Reader {
    ThreadState *ts;
    uint8_t device;
    VarId data, offset;
    VarId always; /* the mask */
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
    VarId index = r->offset, result = 0;
    if (k)
        index = arith_number(r->ts, OP_ADD, index, k, false);
    else
        var_inc(index);
    if (index)
        result = memory_read(r->ts, r->data, VarTypeUInt32, index, r->always);
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
static bool set_values(const Reader *r, const CallKind *kind, RegionReplay *replay)
{
    for (uint32_t i = 0; i < kind->value_count; ++i) {
        VarId id = kind->values[i];
        if (!kind->place[i])
            continue;
        VarId value = read_value(r, (VarType) var_get(id)->type, kind->place[i] - 1);
        bool ok = value && region_replay_set(replay, id, value);
        var_drop(value);
        TRY(ok, false);
    }
    return true;
}

static bool look_up(const Reader *reader, Call *call, CallKind *kind)
{
    ThreadState *ts = reader->ts;
    RecordedBody now = { .scope = 0 };
    RegionReplay r;
    TRY(record_open(ts, &call->body, BODY_CALLABLE, call->body.device, 0), false);
    /* The placeholders stay, those in the callable do not. */
    bool ok = region_replay_begin(&r, ts, call->scope + 1);
    if (ok) {
        ok = set_values(reader, kind, &r) &&
             region_replay_recorded(&r, &kind->body, &now);
        region_replay_end(&r);
    }
    ok = record_close_into(ts, &call->body, &now, "jit_var_call()") && ok;
    if (ok)
        region_replaced_all(&kind->body.effects);
    record_release(ok ? &kind->body : &now);
    if (ok)
        kind->body = now;
    return ok;
}

bool call_merge_apply(ThreadState *ts, Call *call, VarId offset)
{
    uint8_t device = call->body.device;
    Reader reader = { ts, device, call->data, offset,
                      node_literal(ts, device, VarTypeBool, 1, 1) };
    bool ok = reader.always != 0;
    for (uint32_t i = 0; ok && i < call->kind_count; ++i) {
        CallKind *kind = &call->kinds[i];
        if (!kind->used) {
            region_replaced_all(&kind->body.effects);
            record_release(&kind->body);
        } else if (kind->size) {
            ok = look_up(&reader, call, kind);
        }
    }
    var_drop(reader.always);
    return ok;
}
