/*
 * origin.c -- see origin.h
 *
 * A lane that is not active in a body does not go there, so that masks of regions are
 * branches here, and ACTIVE is true wherever it is reached. Callables have a frame of
 * their own. Nothing is written to arrays.
 */
#include "kernel/origin.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "kernel/host.h"

enum {
    MOST_ORIGINS = 1 << 16, /* of a lane */
    MOST_DEPTH = 100        /* of regions in each other */
};

typedef struct Value {
    uint64_t bits;
    uint32_t origin; /* 1 + its number; 0: none */
} Value;

typedef struct Frame {
    const Program *program;
    Value *values;        /* by position */
    const Value *inputs;  /* of a callable */
    uint32_t input_count;
    const Value *states;  /* of the loop whose iteration begins */
    Value **locals;       /* by position, owned; NULL: there are none */
    Value *results;       /* of the region that has ended last, owned */
    uint32_t result_count;
} Frame;

typedef struct Scattered {
    uint32_t param, origin;
    uint64_t entry;
} Scattered;

struct OriginWalk {
    OriginSpec spec;
    uint32_t lane, depth;
    bool exhausted;
    Value *outputs;  /* by parameter */
    Origin *origins;
    uint32_t origin_count, origin_capacity;
    Scattered *scattered;
    uint32_t scattered_count, scattered_capacity;
};

uint32_t origin_badness(VarType type, uint64_t bits)
{
    if (!type_info[type].is_float)
        return 0;
    const uint32_t fraction = type == VarTypeFloat16   ? 10
                              : type == VarTypeFloat32 ? 23
                                                       : 52;
    const uint32_t sign = type_info[type].size * 8 - 1;
    const uint64_t limit = ((UINT64_C(1) << (sign - fraction)) - 1) << fraction;
    const uint64_t magnitude = bits & ((UINT64_C(1) << sign) - 1);
    return magnitude < limit ? 0 : magnitude == limit ? 1 : 2;
}

/* ------------------------------------------------------------------ origins */

static bool mark(OriginWalk *w, const Origin *origin, Value *value)
{
    TRY(w->origin_count < MOST_ORIGINS &&
            vec_reserve(&w->origins, &w->origin_capacity, w->origin_count + 1,
                        sizeof(Origin)),
        false);
    w->origins[w->origin_count++] = *origin;
    value->origin = w->origin_count;
    return true;
}

static Origin describe(const Frame *f, uint32_t at, OriginKind kind, uint64_t bits)
{
    const Inst *inst = &f->program->insts[at];
    const SourceLine *source = program_source(f->program, at);
    return (Origin){ .kind = kind, .source = source ? *source : (SourceLine){ NULL, 0 },
                     .type = (VarType) inst->type, .bits = bits, .op = (Op) inst->op,
                     .operand = program_operation_type(f->program, inst),
                     .param = PROGRAM_NONE };
}

static bool set_leaf(OriginWalk *w, Frame *f, uint32_t at, OriginKind kind,
                     uint64_t bits, uint32_t param, uint64_t entry)
{
    Value *value = &f->values[at];
    *value = (Value){ bits, 0 };
    if (!origin_badness((VarType) f->program->insts[at].type, bits))
        return true;
    Origin origin = describe(f, at, kind, bits);
    origin.param = param;
    origin.entry = entry;
    return mark(w, &origin, value);
}

static bool is_made(const OriginWalk *w, uint32_t origin)
{
    return origin && w->origins[origin - 1].kind == ORIGIN_MADE;
}

/* Of the operands of a value that is bad, the mark of the one that made it so: a value
 * that is NaN is made of infinities unless they were made themselves. 0: none. */
static uint32_t inherited(const OriginWalk *w, const Frame *f, const uint32_t *args,
                          uint32_t count, uint32_t bad)
{
    uint32_t found = 0;
    for (uint32_t k = 0; k < count; ++k) {
        const Value *v = &f->values[args[k]];
        const VarType type = (VarType) f->program->insts[args[k]].type;
        const bool made = is_made(w, v->origin);
        const bool fits = bad == 1 || origin_badness(type, v->bits) != 1 || made;
        if (v->origin && fits && (!found || (made && !is_made(w, found))))
            found = v->origin;
    }
    return found;
}

/* The result of an operation on these operands is in its place: mark it. */
static bool mark_result(OriginWalk *w, Frame *f, uint32_t at, const uint32_t *args,
                        uint32_t count)
{
    const Inst *inst = &f->program->insts[at];
    Value *value = &f->values[at];
    const uint32_t bad = origin_badness((VarType) inst->type, value->bits);
    if (inst->op == OP_BITCAST && !bad)
        value->origin = f->values[args[0]].origin;
    if (!bad)
        return true;
    value->origin = inherited(w, f, args, count, bad);
    if (value->origin)
        return true;
    Origin origin = describe(f, at, ORIGIN_MADE, value->bits);
    if (inst->op == OP_BITCAST) /* somebody wants these bits */
        origin.kind = ORIGIN_LITERAL;
    origin.count = count <= ORIGIN_OPERANDS ? count : 0;
    for (uint32_t k = 0; k < origin.count; ++k)
        origin.operands[k] = f->values[args[k]].bits;
    return mark(w, &origin, value);
}

/* ------------------------------------------------------------- instructions */

static bool fold(OriginWalk *w, Frame *f, uint32_t at)
{
    const Inst *inst = &f->program->insts[at];
    const uint32_t *args = program_args(f->program, inst);
    Value *value = &f->values[at];
    if (inst->op == OP_SELECT) {
        *value = f->values[f->values[args[0]].bits & 1 ? args[1] : args[2]];
        return true;
    }
    uint64_t bits[ORIGIN_OPERANDS] = { 0 };
    for (uint32_t k = 0; k < inst->count; ++k)
        bits[k] = f->values[args[k]].bits;
    *value = (Value){ 0, 0 };
    return host_fold((Op) inst->op, (VarType) inst->type,
                     program_operation_type(f->program, inst), bits, &value->bits) &&
           mark_result(w, f, at, args, inst->count);
}

static uint64_t read_entry(uint64_t address, VarType type, int64_t entry)
{
    const uint32_t size = type_info[type].size;
    uint64_t bits = 0;
    memcpy(&bits, (const char *) (uintptr_t) address + entry * (int64_t) size, size);
    return bits;
}

static int64_t index_of(const Frame *f, uint32_t arg)
{
    const uint64_t bits = f->values[arg].bits;
    return f->program->insts[arg].type == VarTypeInt32 ? (int32_t) bits
                                                       : (int64_t) (uint32_t) bits;
}

static uint32_t param_of(const Frame *f, uint32_t pointer)
{
    const Inst *inst = &f->program->insts[pointer];
    return inst->op == OP_PARAM ? inst->aux : PROGRAM_NONE;
}

/* Entry 'offset' of the packet of 'packet' entries that a gather reads. */
static bool gather(OriginWalk *w, Frame *f, uint32_t at, const uint32_t *args,
                   uint32_t packet, uint32_t offset)
{
    if (!(f->values[args[2]].bits & 1))
        return set_leaf(w, f, at, ORIGIN_LITERAL, 0, PROGRAM_NONE, 0);
    const int64_t entry = index_of(f, args[1]) * packet + offset;
    const uint64_t bits = read_entry(f->values[args[0]].bits,
                                     (VarType) f->program->insts[at].type, entry);
    return set_leaf(w, f, at, ORIGIN_ARRAY, bits, param_of(f, args[0]),
                    (uint64_t) entry);
}

static bool convert(VarType to, VarType from, uint64_t *bits)
{
    return to == from || host_fold(OP_CAST, to, from, bits, bits);
}

/* One result of a product with a matrix: where its entries are, how it is summed, see
 * docs/dev/program.md. */
static bool matvec(OriginWalk *w, Frame *f, uint32_t at, const Inst *inst,
                   uint32_t which)
{
    const uint32_t *args = program_args(f->program, inst);
    const VarType type = (VarType) inst->type,
                  wide = type == VarTypeFloat16 ? VarTypeFloat32 : type;
    const uint32_t rows = inst->aux & MATVEC_RESULTS;
    const bool adds = inst->aux & MATVEC_ADDS;
    const uint32_t columns = inst->count - 2 - (adds ? rows : 0);
    uint64_t sum = adds ? f->values[args[2 + columns + which]].bits : 0;
    TRY(convert(wide, type, &sum), false);
    uint32_t found = 0;
    for (uint32_t k = 0; k < columns; ++k) {
        const int64_t place = inst->aux & MATVEC_TRANSPOSED
                                  ? (int64_t) k * rows + which
                                  : (int64_t) which * columns + k;
        uint64_t terms[] = { read_entry(f->values[args[0]].bits, type,
                                        index_of(f, args[1]) + place),
                             f->values[args[2 + k]].bits, sum };
        if (!found && origin_badness(type, terms[0])) {
            TRY(set_leaf(w, f, at, ORIGIN_ARRAY, terms[0], param_of(f, args[0]),
                         (uint64_t) (index_of(f, args[1]) + place)), false);
            found = f->values[at].origin;
        }
        TRY(convert(wide, type, &terms[0]) && convert(wide, type, &terms[1]), false);
        TRY(host_fold(OP_FMA, wide, wide, terms, &sum), false);
    }
    TRY(convert(type, wide, &sum), false);
    f->values[at] = (Value){ sum, found };
    uint32_t bad = origin_badness(type, sum);
    uint32_t made = inherited(w, f, args + 2, columns, bad);
    if (!bad || (found && !made))
        return true;
    if (made) {
        f->values[at].origin = made;
        return true;
    }
    Origin origin = describe(f, at, ORIGIN_MADE, sum);
    origin.op = OP_MATVEC;
    return mark(w, &origin, &f->values[at]);
}

static bool item(OriginWalk *w, Frame *f, uint32_t at)
{
    const Inst *inst = &f->program->insts[at];
    const Inst *packet = &f->program->insts[inst->arg[0]];
    return packet->op == OP_MATVEC
               ? matvec(w, f, at, packet, inst->aux)
               : gather(w, f, at, program_args(f->program, packet), packet->aux,
                        inst->aux);
}

/* Note what is written, if it was made here. */
static bool scatter(OriginWalk *w, const Frame *f, const Inst *inst)
{
    const uint32_t *args = program_args(f->program, inst);
    const bool packet = inst->op == OP_SCATTER_PACKET;
    const uint32_t index = args[packet ? 1 : 2], mask = args[packet ? 2 : 3],
                   first = packet ? 3 : 1, count = packet ? inst->count - 3 : 1;
    for (uint32_t k = 0; k < count && f->values[mask].bits & 1; ++k) {
        const Value *v = &f->values[args[first + k]];
        if (!is_made(w, v->origin))
            continue;
        TRY(vec_reserve(&w->scattered, &w->scattered_capacity, w->scattered_count + 1,
                        sizeof(Scattered)), false);
        w->scattered[w->scattered_count++] =
            (Scattered){ param_of(f, args[0]), v->origin,
                         (uint64_t) (index_of(f, index) * count + k) };
    }
    return true;
}

static bool local_begin(Frame *f, uint32_t at)
{
    const Inst *inst = &f->program->insts[at];
    if (!f->locals)
        f->locals = alloc_zero(f->program->inst_count, sizeof(Value *));
    TRY(f->locals, false);
    if (!f->locals[at])
        f->locals[at] = alloc_zero(inst->aux, sizeof(Value));
    TRY(f->locals[at], false);
    for (uint32_t i = 0; i < inst->aux; ++i)
        f->locals[at][i] = f->values[inst->arg[0]];
    return true;
}

static void local_access(Frame *f, uint32_t at)
{
    const Inst *inst = &f->program->insts[at];
    const uint32_t *args = program_args(f->program, inst);
    const uint32_t entries = f->program->insts[args[0]].aux;
    const bool active = f->values[args[inst->count - 1]].bits & 1;
    Value *array = f->locals[args[0]];
    if (inst->op == OP_LOCAL_MOVE) {
        if (active)
            memcpy(array, f->locals[args[1]], entries * sizeof(Value));
        return;
    }
    const uint32_t index = (uint32_t) f->values[args[inst->count - 2]].bits;
    const bool there = active && index < entries;
    if (inst->op == OP_LOCAL_READ)
        f->values[at] = there ? array[index] : (Value){ 0, 0 };
    else if (there)
        array[index] = f->values[args[1]];
}

/* Whatever does not fold, and begins no region. */
static bool step(OriginWalk *w, Frame *f, uint32_t at)
{
    const Inst *inst = &f->program->insts[at];
    const uint32_t *args = program_args(f->program, inst);
    Value *value = &f->values[at];
    *value = (Value){ 0, 0 };
    switch (inst->op) {
    case OP_LITERAL:
        return set_leaf(w, f, at, ORIGIN_LITERAL, f->program->literals[inst->aux],
                        PROGRAM_NONE, 0);
    case OP_PARAM: value->bits = w->spec.args[inst->aux]; return true;
    case OP_COUNTER: value->bits = w->lane; return true;
    case OP_LOAD: {
        const uint32_t entry = inst->flags & INST_UNIFORM ? 0 : w->lane;
        const uint64_t array = w->spec.args[inst->aux];
        return set_leaf(w, f, at, ORIGIN_ARRAY,
                        read_entry(array, (VarType) inst->type, entry), inst->aux,
                        entry);
    }
    case OP_GATHER: return gather(w, f, at, args, 1, 0);
    case OP_PACKET_ITEM: return item(w, f, at);
    case OP_STORE: w->outputs[inst->aux] = f->values[args[0]]; return true;
    case OP_SCATTER:
    case OP_SCATTER_PACKET: return scatter(w, f, inst);
    case OP_CHECK:
        value->bits =
            (f->values[args[0]].bits & 1) &&
            (uint32_t) f->values[args[1]].bits < w->spec.check_bounds[inst->aux];
        return true;
    case OP_STATE: *value = f->states[inst->aux]; return true;
    case OP_ACTIVE: value->bits = 1; return true;
    case OP_ARG:
        if (inst->aux == 0)
            value->bits = 1;
        else if (inst->aux <= f->input_count)
            *value = f->inputs[inst->aux - 1];
        return true;
    case OP_RESULT:
        if (inst->aux < f->result_count)
            *value = f->results[inst->aux];
        return true;
    case OP_LOCAL: return local_begin(f, at);
    case OP_LOCAL_READ:
    case OP_LOCAL_WRITE:
    case OP_LOCAL_MOVE: local_access(f, at); return true;
    case OP_UNDEFINED:
    case OP_WORKER:
    case OP_GATHER_PACKET: /* these two: see item() */
    case OP_MATVEC:
    case OP_OUTER:
    case OP_PRINT:
    case OP_RETURN: return true;
    default: return false; /* statements, and atomics that give what was there before */
    }
}

/* ------------------------------------------------------------------ regions */

static bool run(OriginWalk *w, Frame *f, uint32_t from, uint32_t to);

/* The values of a list of positions; NULL: out of memory. */
static Value *take(const Frame *f, const uint32_t *args, uint32_t count)
{
    Value *values = alloc_zero(count ? count : 1, sizeof(Value));
    for (uint32_t k = 0; values && k < count; ++k)
        values[k] = f->values[args[k]];
    return values;
}

/* What the region has as results from now on, which is taken over; NULL: zeros. */
static void set_results(Frame *f, Value *results, uint32_t count)
{
    alloc_free(f->results);
    f->results = results;
    f->result_count = results ? count : 0;
}

static bool run_loop(OriginWalk *w, Frame *f, const Region *r)
{
    const Inst *insts = f->program->insts;
    const uint32_t *args = program_args(f->program, &insts[r->begin]);
    const uint32_t count = insts[r->begin].count - 1;
    Value *states = take(f, args + 1, count);
    bool ok = states != NULL, active = f->values[args[0]].bits & 1;
    while (ok && active) {
        f->states = states;
        ok = run(w, f, r->begin + 1, r->middle);
        active = ok && f->values[insts[r->middle].arg[0]].bits & 1;
        if (!active)
            break;
        ok = run(w, f, r->middle + 1, r->end);
        const uint32_t *next = program_args(f->program, &insts[r->end]);
        for (uint32_t k = 0; ok && k < count; ++k)
            states[k] = f->values[next[k]];
    }
    set_results(f, states, count);
    return ok;
}

static bool run_if(OriginWalk *w, Frame *f, const Region *r)
{
    const Inst *insts = f->program->insts;
    const uint32_t *args = program_args(f->program, &insts[r->begin]);
    const bool active = f->values[args[0]].bits & 1, side = f->values[args[1]].bits & 1;
    const Inst *end = &insts[side ? r->middle : r->end];
    if (!active) {
        set_results(f, NULL, 0);
        return true;
    }
    TRY(side ? run(w, f, r->begin + 1, r->middle) : run(w, f, r->middle + 1, r->end),
        false);
    Value *results = take(f, program_args(f->program, end), end->count);
    set_results(f, results, end->count);
    return results != NULL;
}

static void free_frame(Frame *f)
{
    for (uint32_t i = 0; f->locals && i < f->program->inst_count; ++i)
        alloc_free(f->locals[i]);
    alloc_free(f->locals);
    alloc_free(f->results);
    alloc_free(f->values);
}

static bool run_call(OriginWalk *w, Frame *f, const Region *r)
{
    const Inst *begin = &f->program->insts[r->begin];
    const uint32_t *args = program_args(f->program, begin);
    const uint32_t number = (uint32_t) f->values[args[1]].bits;
    set_results(f, NULL, 0);
    if (!(f->values[args[0]].bits & 1) || number - 1 >= r->target_count)
        return true;
    const Program *target =
        w->spec.program->callables[f->program->extra[r->targets + number - 1]];
    Value *inputs = take(f, args + 2, begin->count - 2);
    Frame inner = { .program = target,
                    .values = alloc_zero(target->inst_count, sizeof(Value)),
                    .inputs = inputs, .input_count = begin->count - 2 };
    bool ok = inputs && inner.values && run(w, &inner, 0, target->inst_count);
    if (ok) {
        const Inst *last = &target->insts[target->inst_count - 1];
        Value *results = take(&inner, program_args(target, last), last->count);
        set_results(f, results, last->count);
        ok = results != NULL;
    }
    free_frame(&inner);
    alloc_free(inputs);
    return ok;
}

static bool run_region(OriginWalk *w, Frame *f, const Region *r)
{
    TRY(w->depth < MOST_DEPTH, false);
    ++w->depth;
    bool ok = r->kind == REGION_LOOP ? run_loop(w, f, r)
              : r->kind == REGION_IF ? run_if(w, f, r)
                                     : run_call(w, f, r);
    --w->depth;
    return ok;
}

static bool run(OriginWalk *w, Frame *f, uint32_t from, uint32_t to)
{
    for (uint32_t at = from; at < to; ++at) {
        const Inst *inst = &f->program->insts[at];
        w->exhausted |= w->spec.steps == 0;
        TRY(w->spec.steps, false);
        --w->spec.steps;
        if (inst->op == OP_REGION) {
            const Region *r = &f->program->regions[inst->aux];
            TRY(run_region(w, f, r), false);
            at = r->end;
        } else {
            TRY(op_info[inst->op].flags & F_FOLDS ? fold(w, f, at) : step(w, f, at),
                false);
        }
    }
    return true;
}

/* -------------------------------------------------------------------- walks */

OriginWalk *origin_begin(const OriginSpec *spec)
{
    OriginWalk *w = alloc_zero(1, sizeof *w);
    TRY(w, NULL);
    w->spec = *spec;
    w->outputs = alloc_zero(spec->program->param_count + 1, sizeof(Value));
    if (w->outputs)
        return w;
    alloc_free(w);
    return NULL;
}

bool origin_lane(OriginWalk *w, uint32_t lane)
{
    const Program *program = w->spec.program;
    w->lane = lane;
    w->depth = w->origin_count = w->scattered_count = 0;
    Frame f = { .program = program,
                .values = alloc_zero(program->inst_count + 1, sizeof(Value)) };
    bool ok = f.values && run(w, &f, 0, program->inst_count);
    free_frame(&f);
    return ok;
}

bool origin_is_exhausted(const OriginWalk *w) { return w->exhausted; }

const Origin *origin_output(const OriginWalk *w, uint32_t param, uint64_t *bits)
{
    *bits = w->outputs[param].bits;
    const uint32_t origin = w->outputs[param].origin;
    return origin ? &w->origins[origin - 1] : NULL;
}

const Origin *origin_scattered(const OriginWalk *w, uint32_t param, uint64_t *entry)
{
    for (uint32_t i = 0; i < w->scattered_count; ++i)
        if (w->scattered[i].param == param) {
            *entry = w->scattered[i].entry;
            return &w->origins[w->scattered[i].origin - 1];
        }
    return NULL;
}

void origin_end(OriginWalk *w)
{
    if (!w)
        return;
    alloc_free(w->outputs);
    alloc_free(w->origins);
    alloc_free(w->scattered);
    alloc_free(w);
}
