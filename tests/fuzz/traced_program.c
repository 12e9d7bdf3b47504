/*
 * traced_program.c -- see traced_program.h
 */
#include "traced_program.h"

#include <stdlib.h>
#include <string.h>

#define CPU JitBackendLLVM
enum { ALWAYS = 0, MOST_MOVED = 16 };

/* One Program, the root or a callable, while it is being traced. */
typedef struct Trace {
    TracedProgram *t;
    const Program *p;
    uint32_t *at;          /* variable of each instruction; of a LOCAL its version */
    uint32_t **packets;    /* entries of GATHER_PACKETs */
    const uint32_t *args;  /* of a callable */
    uint32_t mask;         /* lanes that execute it, 0 = all */
    bool quiet;            /* no effects here */
} Trace;

static void trace_range(Trace *x, uint32_t begin, uint32_t end);

static VarType type_of(uint32_t type)
{
    return type == VarTypePointer ? VarTypeUInt64 : (VarType) type;
}

/* ---------------------------------------------------------------------- values */

static uint32_t hold(uint32_t id)
{
    jit_var_inc_ref(id);
    return id;
}

/* The variable of an instruction, which is given away. */
static void set(Trace *x, uint32_t at, uint32_t id)
{
    if (!id)
        x->t->failed = true;
    if (x->at[at])
        jit_var_dec_ref(x->at[at]);
    x->at[at] = id;
}

static uint32_t literal(VarType type, uint64_t bits)
{
    return jit_var_literal(CPU, type, &bits, 1, 0);
}

static const uint32_t *args_of(const Trace *x, uint32_t at)
{
    return program_args(x->p, &x->p->insts[at]);
}

static uint32_t arg(const Trace *x, uint32_t at, uint32_t k)
{
    return x->at[args_of(x, at)[k]];
}

/* ---------------------------------------------------------------------- prints */

static void receive(const JitPrintRecords *records, void *payload)
{
    TracedPrint *print = payload;
    if (!records)
        return;
    print->owner->lost |= records->lost != 0;
    for (size_t i = 0; i < records->count; ++i) {
        uint64_t hash = records->lanes[i] + (uint64_t) print->number * 0x10001;
        for (uint32_t k = 0; k < records->value_count; ++k)
            hash = (hash ^ records->values[i * records->value_count + k]) *
                   0x9e3779b97f4a7c15u;
        print->owner->printed += hash >> 7; /* in any order */
    }
}

static void trace_print(Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    uint32_t values[RANDOM_PRINTED];
    for (uint32_t k = 1; k < inst->count; ++k)
        values[k - 1] = arg(x, at, k);
    TracedPrint *print = &x->t->prints[inst->aux];
    *print = (TracedPrint){ x->t, inst->aux };
    x->t->failed |= !jit_var_print(arg(x, at, 0), inst->count - 1u, values, SIZE_MAX,
                                   receive, print);
}

/* ---------------------------------------------------------------------- memory */

/* The slot behind a pointer. */
static uint32_t slot_of(const Trace *x, uint32_t at)
{
    return x->p->insts[args_of(x, at)[0]].aux;
}

/* index * n + k */
static uint32_t packet_index(uint32_t index, uint32_t n, uint32_t k)
{
    VarType type = jit_var_type(index);
    uint32_t scale = literal(type, n), shift = literal(type, k);
    uint32_t product = jit_var_mul(index, scale), sum = jit_var_add(product, shift);
    jit_var_dec_ref(scale);
    jit_var_dec_ref(shift);
    jit_var_dec_ref(product);
    return sum;
}

/* Packets from arrays that are not a whole number of packets. */
static bool gather_singly(uint32_t n, uint32_t source, uint32_t index, uint32_t mask,
                          uint32_t *out)
{
    bool ok = true;
    for (uint32_t k = 0; k < n; ++k) {
        uint32_t position = packet_index(index, n, k);
        out[k] = jit_var_gather(source, position, mask);
        ok &= out[k] != 0;
        jit_var_dec_ref(position);
    }
    return ok;
}

static bool scatter_singly(uint32_t n, uint32_t *slot, const uint32_t *values,
                           uint32_t index, uint32_t mask, ReduceOp op, ReduceMode mode)
{
    bool ok = true;
    for (uint32_t k = 0; k < n && ok; ++k) {
        uint32_t position = packet_index(index, n, k);
        uint32_t next = jit_var_scatter(*slot, values[k], position, mask, op, mode);
        jit_var_dec_ref(position);
        ok = next != 0;
        if (ok) {
            jit_var_dec_ref(*slot);
            *slot = next;
        }
    }
    return ok;
}

static void trace_gather(Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    uint32_t source = x->t->slots[slot_of(x, at)];
    if (inst->op == OP_GATHER) {
        set(x, at, jit_var_gather(source, arg(x, at, 1), arg(x, at, 2)));
        return;
    }
    uint32_t *out = calloc(inst->aux, sizeof(uint32_t));
    bool whole = jit_var_size(source) % inst->aux == 0;
    uint32_t index = arg(x, at, 1), mask = arg(x, at, 2), n = inst->aux;
    x->t->failed |= whole ? !jit_var_gather_packet(n, source, index, mask, out)
                          : !gather_singly(n, source, index, mask, out);
    for (uint32_t k = 0; x->packets[at] && k < inst->aux; ++k)
        jit_var_dec_ref(x->packets[at][k]);
    free(x->packets[at]);
    x->packets[at] = out;
}

static void trace_matvec(Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    const uint32_t m = inst->aux & MATVEC_RESULTS;
    const bool turned = inst->aux & MATVEC_TRANSPOSED, adds = inst->aux & MATVEC_ADDS;
    const uint32_t n = inst->count - 2 - (adds ? m : 0);
    const Inst *index = &x->p->insts[args_of(x, at)[1]];
    const JitMatrix matrix = { .array = x->t->slots[slot_of(x, at)],
                               .offset = x->p->literals[index->aux],
                               .rows = turned ? n : m,
                               .columns = turned ? m : n,
                               .transpose = turned };
    uint32_t *values = calloc(n + m, sizeof(uint32_t));
    uint32_t *out = calloc(m, sizeof(uint32_t));
    for (uint32_t k = 0; k < inst->count - 2u; ++k)
        values[k] = arg(x, at, 2 + k);
    x->t->failed |= !jit_var_matvec(&matrix, values, adds ? values + n : NULL, out);
    free(values);
    for (uint32_t k = 0; x->packets[at] && k < m; ++k)
        jit_var_dec_ref(x->packets[at][k]);
    free(x->packets[at]);
    x->packets[at] = out;
}

static void trace_scatter(Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    ReduceOp op = (ReduceOp) (inst->aux & 255);
    ReduceMode mode = (ReduceMode) (inst->aux >> 8);
    uint32_t *slot = &x->t->slots[slot_of(x, at)], values[64] = { arg(x, at, 1) };
    if (inst->op == OP_SCATTER) {
        x->t->failed |= !scatter_singly(1, slot, values, arg(x, at, 2), arg(x, at, 3),
                                        op, mode);
        return;
    }
    uint32_t index = arg(x, at, 1), mask = arg(x, at, 2), n = inst->count - 3u;
    for (uint32_t k = 0; k < n; ++k)
        values[k] = arg(x, at, k + 3);
    if (jit_var_size(*slot) % n) {
        x->t->failed |= !scatter_singly(n, slot, values, index, mask, op, mode);
        return;
    }
    uint32_t written = jit_var_scatter_packet(n, *slot, values, index, mask, op, mode);
    x->t->failed |= !written;
    if (!written)
        return;
    jit_var_dec_ref(*slot);
    *slot = written;
}

/* ---------------------------------------------------------------- local arrays */

static void trace_local(Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    uint32_t array = jit_array_create(CPU, type_of(inst->type), inst->aux,
                                      x->t->random->lanes);
    set(x, at, array ? jit_array_init(array, arg(x, at, 0)) : 0);
    if (array)
        jit_var_dec_ref(array);
}

static void trace_move(Trace *x, uint32_t at)
{
    uint32_t to = args_of(x, at)[0], length = x->p->insts[to].aux;
    for (uint32_t k = 0; k < length && length <= MOST_MOVED; ++k) {
        uint32_t index = literal(VarTypeUInt32, k);
        uint32_t entry = jit_array_read(arg(x, at, 1), index, ALWAYS);
        set(x, to, jit_array_write(x->at[to], index, entry, arg(x, at, 2)));
        jit_var_dec_ref(index);
        jit_var_dec_ref(entry);
    }
}

/* Arrays from outside that are written to in a range. */
static uint32_t find_changed(const Trace *x, uint32_t begin, uint32_t end,
                             uint32_t *changed)
{
    uint32_t count = 0;
    for (uint32_t at = begin; at < end; ++at) {
        Op op = (Op) x->p->insts[at].op;
        if (op != OP_LOCAL_WRITE && op != OP_LOCAL_MOVE)
            continue;
        uint32_t array = args_of(x, at)[0], i = 0;
        while (i < count && changed[i] != array)
            i++;
        if (array < begin && i == count)
            changed[count++] = array;
    }
    return count;
}

/* --------------------------------------------------------------------- regions */

/* STATEs or RESULTs from here on are these variables; the position after them. */
static uint32_t give(Trace *x, uint32_t at, Op op, const uint32_t *ids)
{
    for (; at < x->p->inst_count && x->p->insts[at].op == op; ++at)
        set(x, at, ids[x->p->insts[at].aux] ? hold(ids[x->p->insts[at].aux]) : 0);
    return at;
}

/* A region of this Program. */
typedef struct Place {
    const Region *region;
    uint32_t *changed;     /* local arrays */
    uint32_t changed_count;
    uint32_t count;        /* other states, outputs */
    uint32_t *ids;         /* states or results of both kinds; owned */
} Place;

static Place enter(Trace *x, uint32_t at, uint32_t count)
{
    const Region *region = &x->p->regions[x->p->insts[at].aux];
    Place place = { .region = region, .count = count };
    place.changed = calloc(x->p->inst_count, sizeof(uint32_t));
    place.changed_count = find_changed(x, region->begin, region->end, place.changed);
    place.ids = calloc(count + place.changed_count + 1, sizeof(uint32_t));
    x->t->failed |= !jit_var_mask_push(CPU, arg(x, at, 0));
    return place;
}

static uint32_t leave(Trace *x, Place *place)
{
    uint32_t all = place->count + place->changed_count;
    for (uint32_t i = 0; i < place->changed_count; ++i)
        set(x, place->changed[i], hold(place->ids[place->count + i]));
    for (uint32_t i = 0; i < all; ++i)
        if (place->ids[i])
            jit_var_dec_ref(place->ids[i]);
    uint32_t end = place->region->end;
    while (end + 1 < x->p->inst_count && x->p->insts[end + 1].op == OP_RESULT)
        end++;
    free(place->changed);
    free(place->ids);
    x->t->failed |= !jit_var_mask_pop(CPU);
    return end;
}

/* What the mark that ends a body has as operands, and the local arrays. */
static void take_outputs(const Trace *x, const Place *place, uint32_t mark,
                         uint32_t *ids)
{
    for (uint32_t k = 0; k < place->count; ++k)
        ids[k] = hold(arg(x, mark, k));
    for (uint32_t i = 0; i < place->changed_count; ++i)
        ids[place->count + i] = hold(x->at[place->changed[i]]);
}

/* Let go of the values of a body. */
static void forget(Trace *x, uint32_t begin, uint32_t end)
{
    for (uint32_t at = begin; at < end; ++at) {
        if (x->at[at])
            jit_var_dec_ref(x->at[at]);
        const uint32_t items = program_item_count(&x->p->insts[at]);
        for (uint32_t k = 0; x->packets[at] && k < items; ++k)
            if (x->packets[at][k])
                jit_var_dec_ref(x->packets[at][k]);
        free(x->packets[at]);
        x->packets[at] = NULL;
        x->at[at] = 0;
    }
}

static void replace_all(uint32_t *to, const uint32_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        if (to[i])
            jit_var_dec_ref(to[i]);
        to[i] = from[i];
    }
}

/* Condition and body of a loop, as often as they are wanted. */
static bool trace_loop_bodies(Trace *x, const Place *place, uint32_t loop,
                              uint32_t *next)
{
    const Region *r = place->region;
    uint32_t all = place->count + place->changed_count;
    bool quiet = x->quiet;
    int again = 0;
    while (again == 0) {
        uint32_t at = give(x, r->begin + 1, OP_STATE, place->ids);
        for (uint32_t i = 0; i < place->changed_count; ++i)
            set(x, place->changed[i], hold(place->ids[place->count + i]));
        x->quiet = true;
        trace_range(x, at, r->middle);
        x->quiet = quiet;
        if (x->t->failed)
            return false;
        again = jit_var_loop_cond(loop, arg(x, r->middle, 0));
        if (again > 0) {
            trace_range(x, r->middle + 1, r->end);
            if (x->t->failed)
                return false;
            take_outputs(x, place, r->end, next);
            replace_all(place->ids, next, all);
            forget(x, r->begin + 1, r->end);
        }
        again = again < 0 ? again : jit_var_loop_end(loop, place->ids);
    }
    return again > 0;
}

static uint32_t trace_loop(Trace *x, uint32_t at)
{
    Place place = enter(x, at, x->p->insts[at].count - 1u);
    uint32_t all = place.count + place.changed_count;
    uint32_t *next = calloc(all + 1, sizeof(uint32_t));
    for (uint32_t k = 0; k < place.count; ++k)
        place.ids[k] = hold(arg(x, at, k + 1));
    for (uint32_t i = 0; i < place.changed_count; ++i)
        place.ids[place.count + i] = hold(x->at[place.changed[i]]);
    uint32_t loop = jit_var_loop_start(CPU, "loop", all, place.ids);
    x->t->failed |= !loop || !trace_loop_bodies(x, &place, loop, next);
    if (!x->t->failed)
        give(x, place.region->end + 1, OP_RESULT, place.ids);
    free(next);
    return x->t->failed ? place.region->end : leave(x, &place);
}

/* Zero where a lane did not enter. */
static void mask_results(Trace *x, const Place *place, uint32_t mask)
{
    for (uint32_t k = 0; k < place->count && !x->t->failed; ++k) {
        uint32_t zero = literal(jit_var_type(place->ids[k]), 0);
        uint32_t masked = jit_var_select(mask, place->ids[k], zero);
        x->t->failed |= !masked;
        replace_all(&place->ids[k], &masked, 1);
        jit_var_dec_ref(zero);
    }
}

static bool trace_side(Trace *x, const Place *place, uint32_t cond, uint32_t begin,
                       uint32_t end)
{
    uint32_t all = place->count + place->changed_count;
    uint32_t *outputs = calloc(all + 1, sizeof(uint32_t));
    trace_range(x, begin, end);
    bool ok = !x->t->failed;
    if (ok) {
        take_outputs(x, place, end, outputs);
        forget(x, begin, end);
        ok = jit_var_cond_append(cond, all, outputs);
        for (uint32_t i = 0; i < all; ++i)
            jit_var_dec_ref(outputs[i]);
    }
    free(outputs);
    return ok;
}

static uint32_t trace_if(Trace *x, uint32_t at)
{
    const Region *r = &x->p->regions[x->p->insts[at].aux];
    Place place = enter(x, at, x->p->insts[r->end].count);
    uint32_t *before = calloc(place.changed_count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < place.changed_count; ++i)
        before[i] = hold(x->at[place.changed[i]]);
    uint32_t cond = jit_var_cond_start("if", arg(x, at, 1));
    bool ok = cond && trace_side(x, &place, cond, r->begin + 1, r->middle);
    for (uint32_t i = 0; i < place.changed_count; ++i)
        set(x, place.changed[i], before[i]);
    ok = ok && trace_side(x, &place, cond, r->middle + 1, r->end) &&
         jit_var_cond_end(cond, place.ids);
    x->t->failed |= !ok;
    free(before);
    if (!x->t->failed) {
        mask_results(x, &place, arg(x, at, 0));
        give(x, r->end + 1, OP_RESULT, place.ids);
    }
    return x->t->failed ? r->end : leave(x, &place);
}

static void free_trace(Trace *x)
{
    forget(x, 0, x->p->inst_count);
    free(x->at);
    free(x->packets);
}

static Trace begin_trace(TracedProgram *t, const Program *p)
{
    return (Trace){ .t = t, .p = p, .at = calloc(p->inst_count, sizeof(uint32_t)),
                    .packets = calloc(p->inst_count, sizeof(uint32_t *)) };
}

static void trace_callable(const Trace *caller, const Program *p, uint32_t call,
                           const uint32_t *args)
{
    TracedProgram *t = caller->t;
    Trace x = begin_trace(t, p);
    x.args = args;
    x.quiet = caller->quiet;
    x.mask = jit_var_call_mask(call);
    trace_range(&x, 0, p->inst_count - 1);
    if (!t->failed) {
        uint32_t last = p->inst_count - 1, count = p->insts[last].count;
        uint32_t *outputs = calloc(count + 1u, sizeof(uint32_t));
        for (uint32_t k = 0; k < count; ++k)
            outputs[k] = arg(&x, last, k);
        t->failed |= !jit_var_call_append(call, count, outputs);
        free(outputs);
    }
    jit_var_dec_ref(x.mask);
    free_trace(&x);
}

static uint32_t trace_call(Trace *x, uint32_t at)
{
    const Region *r = &x->p->regions[x->p->insts[at].aux];
    const Program *root = x->t->random->program;
    uint32_t count = x->p->insts[at].count - 2u, end = r->end;
    uint32_t *inputs = calloc(count + 1, sizeof(uint32_t)), results[256] = { 0 };
    uint32_t call = jit_var_call_start(CPU, "call", arg(x, at, 0));
    x->t->failed |= !call;
    for (uint32_t k = 0; k < count && !x->t->failed; ++k)
        x->t->failed |= !(inputs[k] = jit_var_call_input(call, arg(x, at, k + 2)));
    for (uint32_t i = 0; i < r->target_count && !x->t->failed; ++i)
        trace_callable(x, root->callables[x->p->extra[r->targets + i]], call, inputs);
    if (!x->t->failed)
        x->t->failed |= !jit_var_call(call, arg(x, at, 1), r->target_count, NULL, NULL,
                                      results);
    if (!x->t->failed)
        end = give(x, end + 1, OP_RESULT, results) - 1;
    for (uint32_t k = 0; k < 256 && results[k]; ++k)
        jit_var_dec_ref(results[k]);
    for (uint32_t k = 0; k < count; ++k)
        if (inputs[k])
            jit_var_dec_ref(inputs[k]);
    free(inputs);
    return end;
}

/* ---------------------------------------------------------------- instructions */

static uint32_t trace_cast(const Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    return jit_var_cast(arg(x, at, 0), type_of(inst->type), inst->op == OP_BITCAST);
}

static uint32_t trace_check(const Trace *x, uint32_t at)
{
    uint32_t wide = jit_var_cast(arg(x, at, 1), VarTypeUInt32, 0);
    uint32_t last = literal(VarTypeUInt32,
                            x->t->random->bounds[x->p->insts[at].aux] - 1);
    uint32_t inside = jit_var_le(wide, last);
    uint32_t result = jit_var_and(arg(x, at, 0), inside);
    jit_var_dec_ref(wide);
    jit_var_dec_ref(last);
    jit_var_dec_ref(inside);
    return result;
}

static uint32_t trace_operation(const Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    uint32_t operands[3] = { 0 };
    for (uint32_t k = 0; k < inst->count && k < 3; ++k)
        operands[k] = arg(x, at, k);
    return jit_var_op((JitOp) (inst->op - OP_NEG), operands);
}

static uint32_t active_mask(void)
{
    uint32_t mask = jit_var_mask_peek(CPU);
    return mask ? mask : literal(VarTypeBool, 1);
}

/* Instructions that are merely a value. */
static uint32_t trace_value(const Trace *x, uint32_t at)
{
    const Inst *inst = &x->p->insts[at];
    VarType type = type_of(inst->type);
    switch (inst->op) {
    case OP_LITERAL:
        return literal(type, x->p->literals[inst->aux]);
    case OP_LOAD:
        return hold(x->t->slots[inst->aux]);
    case OP_PARAM: /* a pointer to a table is not a value */
        return x->t->random->program->params[inst->aux].kind == PARAM_VALUE
                   ? hold(x->t->slots[inst->aux])
                   : literal(type, 0);
    case OP_COUNTER:
        return jit_var_counter(CPU, x->t->random->lanes);
    case OP_ARG:
        return hold(inst->aux ? x->args[inst->aux - 1] : x->mask);
    case OP_ACTIVE:
        return active_mask();
    case OP_PACKET_ITEM:
        return hold(x->packets[args_of(x, at)[0]][inst->aux]);
    case OP_LOOKUP:
        return hold(arg(x, at, 1));
    case OP_CHECK:
        return trace_check(x, at);
    case OP_LOCAL_READ:
        return jit_array_read(arg(x, at, 0), arg(x, at, 1), arg(x, at, 2));
    case OP_CAST:
    case OP_BITCAST:
        return trace_cast(x, at);
    default:
        return inst->op >= OP_NEG && inst->op < OP_CAST ? trace_operation(x, at)
                                                        : literal(type, 0);
    }
}

/* One instruction, or a region with its results; the last position of it. */
static uint32_t trace_step(Trace *x, uint32_t at)
{
    TracedProgram *t = x->t;
    const Inst *inst = &x->p->insts[at];
    switch (inst->op) {
    case OP_REGION:
        switch (x->p->regions[inst->aux].kind) {
        case REGION_LOOP: return trace_loop(x, at);
        case REGION_IF: return trace_if(x, at);
        default: return trace_call(x, at);
        }
    case OP_STORE:
        t->outputs = realloc(t->outputs, (t->output_count + 1) * sizeof(uint32_t));
        t->outputs[t->output_count++] = hold(arg(x, at, 0));
        break;
    case OP_GATHER:
    case OP_GATHER_PACKET: trace_gather(x, at); break;
    case OP_MATVEC: trace_matvec(x, at); break;
    case OP_SCATTER:
    case OP_SCATTER_PACKET:
        if (!x->quiet)
            trace_scatter(x, at);
        break;
    case OP_PRINT:
        if (!x->quiet)
            trace_print(x, at);
        break;
    case OP_LOCAL: trace_local(x, at); break;
    case OP_LOCAL_MOVE: trace_move(x, at); break;
    case OP_LOCAL_WRITE:
        set(x, args_of(x, at)[0],
            jit_array_write(arg(x, at, 0), arg(x, at, 2), arg(x, at, 1),
                            arg(x, at, 3)));
        break;
    default:
        if (inst->type != VarTypeVoid)
            set(x, at, trace_value(x, at));
    }
    return at;
}

static void trace_range(Trace *x, uint32_t begin, uint32_t end)
{
    for (uint32_t at = begin; at < end && !x->t->failed; ++at)
        at = trace_step(x, at);
}

/* ----------------------------------------------------------------------- whole */

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Other entries of this type: small numbers, as often as not. */
static uint8_t *other_data(VarType type, uint32_t bytes, uint64_t *state)
{
    uint32_t size = type_info[type].size;
    uint8_t *data = malloc(bytes);
    for (uint32_t i = 0; i + size <= bytes; i += size) {
        uint64_t bits = draw(state);
        if (type == VarTypeBool || draw(state) & 1)
            bits &= type == VarTypeBool ? 1 : 15;
        memcpy(data + i, &bits, size);
    }
    return data;
}

bool traced_program_begin(TracedProgram *t, const RandomProgram *random, uint64_t seed)
{
    const Program *p = random->program;
    *t = (TracedProgram){ .random = random };
    t->slots = calloc(p->param_count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < p->param_count; ++i) {
        const RandomArray *array = &random->arrays[i];
        VarType type = type_of(p->params[i].type);
        uint32_t kind = p->params[i].kind;
        if (kind != PARAM_INPUT && kind != PARAM_POINTER && kind != PARAM_VALUE)
            continue;
        const void *data = kind == PARAM_VALUE ? (const void *) &array->word
                                               : array->data;
        uint32_t bytes = kind == PARAM_VALUE ? type_info[type].size : array->bytes;
        uint8_t *other = seed ? other_data(type, bytes, &seed) : NULL;
        t->slots[i] = jit_var_mem_copy(CPU, type, other ? other : data,
                                       bytes / type_info[type].size);
        free(other);
        t->failed |= !t->slots[i];
    }
    return !t->failed;
}

bool traced_program_record(TracedProgram *t)
{
    Trace x = begin_trace(t, t->random->program);
    trace_range(&x, 0, x.p->inst_count);
    free_trace(&x);
    return !t->failed;
}

void traced_program_free(TracedProgram *t)
{
    for (uint32_t i = 0; i < t->random->program->param_count; ++i)
        if (t->slots[i])
            jit_var_dec_ref(t->slots[i]);
    for (uint32_t i = 0; i < t->output_count; ++i)
        jit_var_dec_ref(t->outputs[i]);
    free(t->slots);
    free(t->outputs);
}
