/*
 * interp_build.c -- from a Program to steps and slots
 *
 * Three scans, all linear:
 *
 *   1. plan      which instruction holds the value of each position (reinterpretations
 *                and packet items have no step: they name a slot of their operand), and
 *                what is hoisted: uniform values are computed once per launch
 *   2. last uses the last position that needs each value
 *   3. emit      a slot is taken when a value is computed and given back after its last
 *                use; first for hoisted instructions, then for all others
 *
 * So the number of slots is the largest number of values alive at once, however long
 * the Program is. A result never shares a slot with an operand of its step, because the
 * loops promise the compiler that they do not overlap. A gather_packet takes
 * consecutive slots.
 *
 * Hoisted values stay in their slots for the whole launch. With very many literals that
 * would be more memory than the caches hold; so after HOIST_MOST of them, constants are
 * written into a temporary slot right before each use instead, and other uniform values
 * are treated like any value.
 */
#include "engine/interp/interp_build.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

enum {
    HOIST_MOST = 256,
    CHAIN_MOST = 1024,  /* steps between pauses */
    PACKET_CLASSES = 7, /* free lists for 1, 2, 4 ... 64 consecutive slots */
    NEVER = INT32_MAX,  /* as a last use: keep the slot */

    MARK_CROSSES = 1, /* hoisted, and used by an instruction that is not */
    MARK_WIDE = 2,    /* used in another way than as the pointer of a memory access */
    MARK_HOISTED = 4
};

/* What is known about one position of the Program. */
typedef struct Place {
    uint32_t root; /* instruction that computes the value */
    uint32_t last; /* roots: position of the last use, 0 = none */
    uint32_t slot; /* roots: where the value is */
    uint8_t item;  /* distance from the root's slot */
    uint8_t marks; /* MARK_... */
} Place;

typedef struct Builder {
    const Program *program;
    const LaneTable *lanes;
    InterpCode *code;
    Place *places;
    uint32_t *homes; /* memory of each view: slot */
    uint32_t *next;  /* free lists, by slot */
    uint32_t next_capacity;
    uint32_t free_slots[PACKET_CLASSES]; /* first one + 1 of each list, 0 = empty */
    uint32_t view;                       /* views given out so far */
    bool hoisting;                       /* emitting the steps that run once */
    bool failed;
} Builder;

static uint32_t log_2(uint32_t n)
{
    uint32_t result = 0;
    while (n > 1) {
        n /= 2;
        ++result;
    }
    return result;
}

static uint32_t size_class(VarType type)
{
    return log_2(type_info[type].size);
}

LaneFn interp_build_find(const LaneTable *lanes, Op op, VarType type, VarType operand)
{
    if (!type_valid(type) || !type_valid(operand))
        return NULL;
    if (op == OP_CAST)
        return lanes->cast[type][operand];
    if (op == OP_BITCAST)
        return type_info[type].size == type_info[operand].size
                   ? lanes->move[size_class(type)]
                   : NULL;
    return op < OP_COUNT ? lanes->op[op][operand] : NULL;
}

/* ---- plan */

/* Can this be written into a slot at any place, without operands? */
static bool is_constant(const Inst *inst)
{
    return inst->op == OP_LITERAL || inst->op == OP_UNDEFINED || inst->op == OP_PARAM ||
           inst->op == OP_WORKER || (inst->op == OP_LOAD && inst->flags & INST_UNIFORM);
}

static bool is_uniform(const Inst *inst)
{
    return is_constant(inst) || (inst->flags & INST_UNIFORM);
}

/* Is the result the unchanged operand? Masks are 0 or 1, which other bytes need not be.
 * */
static bool is_alias(const Program *p, const Inst *inst)
{
    if (inst->op == OP_PACKET_ITEM)
        return true;
    if (inst->op != OP_CAST && inst->op != OP_BITCAST)
        return false;
    const TypeInfo *to = &type_info[inst->type];
    const TypeInfo *from = &type_info[p->insts[inst->arg[0]].type];
    if (inst->type == p->insts[inst->arg[0]].type)
        return true;
    if (inst->type == VarTypeBool || to->size != from->size)
        return false;
    return inst->op == OP_BITCAST ||
           (to->is_integer && from->is_integer && !to->is_float && !from->is_float);
}

static bool is_access(const Inst *inst)
{
    return inst->op >= OP_GATHER && inst->op <= OP_SCATTER_CAS &&
           inst->op != OP_PACKET_ITEM;
}

/* Roots, and marks that follow from the uses by instructions that cannot be hoisted. */
static void plan_roots(Builder *b)
{
    const Program *p = b->program;
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        Place *place = &b->places[at];
        const uint32_t *args = program_args(p, inst);
        place->root = at;
        if (is_alias(p, inst)) {
            *place = (Place){ .root = b->places[args[0]].root,
                              .item = b->places[args[0]].item };
            if (inst->op == OP_PACKET_ITEM)
                place->item = (uint8_t) inst->aux;
            b->places[place->root].marks |= MARK_WIDE;
            continue;
        }
        uint8_t marks = is_uniform(inst) ? 0 : MARK_CROSSES;
        for (uint32_t i = 0; i < inst->count; ++i)
            b->places[b->places[args[i]].root].marks |=
                marks | (i == 0 && is_access(inst) ? 0 : MARK_WIDE);
        if (inst->op == OP_LOAD && !is_uniform(inst))
            ++b->code->views;
    }
}

/* Hoist uniform instructions up to the one that fills the last slot kept for them. */
static void plan_hoisting(Builder *b)
{
    const Program *p = b->program;
    uint32_t at = 0;
    for (uint32_t kept = 0; at < p->inst_count && kept < HOIST_MOST; ++at) {
        if (b->places[at].root != at || !is_uniform(&p->insts[at]))
            continue;
        b->places[at].marks |= MARK_HOISTED;
        kept += (b->places[at].marks & MARK_CROSSES) != 0;
    }
    for (; at < p->inst_count; ++at) {
        const uint32_t *args = program_args(p, &p->insts[at]);
        for (uint32_t i = 0; i < p->insts[at].count; ++i)
            b->places[b->places[args[i]].root].marks |= MARK_CROSSES;
    }
}

/* From the end, so that what nobody needs does not keep its operands alive. */
static void plan_last_uses(Builder *b)
{
    const Program *p = b->program;
    const uint8_t kept = MARK_HOISTED | MARK_CROSSES;
    for (uint32_t at = p->inst_count; at-- > 0;) {
        const Inst *inst = &p->insts[at];
        const Place *place = &b->places[at];
        const uint32_t *args = program_args(p, inst);
        if (place->root != at ||
            (place->last == 0 && !(op_info[inst->op].flags & F_EFFECT)))
            continue;
        for (uint32_t i = 0; i < inst->count; ++i) {
            Place *root = &b->places[b->places[args[i]].root];
            if (root->last == 0)
                root->last = (root->marks & kept) == kept ? NEVER : at;
        }
    }
}

/* ---- slots */

static uint32_t take_slots(Builder *b, uint32_t log_count)
{
    uint32_t slot = b->free_slots[log_count];
    if (slot--) {
        b->free_slots[log_count] = b->next[slot];
        return slot + b->code->views;
    }
    slot = b->code->slots;
    if (!vec_reserve(&b->next, &b->next_capacity, slot + (1u << log_count),
                     sizeof(uint32_t))) {
        b->failed = true;
        return 0;
    }
    b->code->slots += 1u << log_count;
    return slot + b->code->views;
}

static void give_slots(Builder *b, uint32_t slot, uint32_t log_count)
{
    if (b->failed)
        return;
    slot -= b->code->views;
    b->next[slot] = b->free_slots[log_count];
    b->free_slots[log_count] = slot + 1;
}

static uint32_t packet_class(const Inst *inst)
{
    return inst->op == OP_GATHER_PACKET ? log_2(inst->aux) : 0;
}

static void give_root(Builder *b, uint32_t at)
{
    uint32_t slot = b->places[at].slot;
    if (slot < b->code->views)
        slot = b->homes[slot];
    give_slots(b, slot, packet_class(&b->program->insts[at]));
}

/* ---- steps */

const LaneStep *interp_build_stop(const LaneStep *step, const LaneFrame *frame)
{
    (void) step;
    (void) frame;
    return NULL;
}

/* Returning now and then bounds the stack where a compiler does not turn the calls from
 * step to step into jumps, as in builds for debugging. */
static const LaneStep *pause_chain(const LaneStep *step, const LaneFrame *frame)
{
    (void) frame;
    return step + 1;
}

static void append(Builder *b, LaneStep step)
{
    InterpCode *code = b->code;
    if (b->failed || !vec_reserve(&code->steps, &code->step_capacity,
                                  code->step_count + 1, sizeof(LaneStep))) {
        b->failed = true;
        return;
    }
    code->steps[code->step_count++] = step;
}

static void emit(Builder *b, LaneFn fn, uint32_t out, uint32_t arg0, uint32_t arg1,
                 uint32_t arg2)
{
    if (b->code->step_count % CHAIN_MOST == CHAIN_MOST - 1)
        append(b, (LaneStep){ .fn = pause_chain });
    append(b, (LaneStep){ fn, out, { arg0, arg1, arg2 } });
}

static uint32_t add_extra(Builder *b, const uint32_t *slots, uint32_t count)
{
    InterpCode *code = b->code;
    uint32_t first = code->extra_count;
    if (b->failed || !vec_reserve(&code->extra, &code->extra_capacity, first + count,
                                  sizeof(uint32_t))) {
        b->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < count; ++i)
        code->extra[first + i] = slots[i];
    code->extra_count += count;
    return first;
}

static void note_entry(Builder *b, uint32_t size)
{
    if (size > b->code->entry)
        b->code->entry = size;
}

static void emit_constant(Builder *b, uint32_t at, uint32_t out)
{
    const Inst *inst = &b->program->insts[at];
    uint32_t size = size_class((VarType) inst->type);
    if (inst->op == OP_PARAM && !(b->places[at].marks & MARK_WIDE)) {
        emit(b, b->lanes->pointer, out, inst->aux, 0, 0);
        return;
    }
    note_entry(b, type_info[inst->type].size);
    uint64_t bits = inst->op == OP_LITERAL ? b->program->literals[inst->aux] : 0;
    switch (inst->op) {
    case OP_PARAM:
        emit(b, b->lanes->param[size], out, inst->aux, 0, 0);
        break;
    case OP_LOAD:
        emit(b, b->lanes->load_first[size], out, inst->aux, 0, 0);
        break;
    case OP_WORKER:
        emit(b, b->lanes->worker, out, 0, 0, 0);
        break;
    default:
        emit(b, b->lanes->fill[size], out, (uint32_t) bits, (uint32_t) (bits >> 32), 0);
    }
}

static bool is_temporary(const Builder *b, uint32_t root)
{
    return is_constant(&b->program->insts[root]) &&
           !(b->places[root].marks & MARK_HOISTED);
}

/* The slot that holds an operand, written now if it is a constant that is not kept. */
static uint32_t use(Builder *b, uint32_t arg)
{
    uint32_t root = b->places[arg].root;
    if (!is_temporary(b, root))
        return b->places[root].slot + b->places[arg].item;
    uint32_t slot = take_slots(b, 0);
    emit_constant(b, root, slot);
    return slot;
}

/* The operand is not needed any more by the instruction at this position. */
static void drop(Builder *b, uint32_t at, uint32_t arg, uint32_t slot)
{
    uint32_t root = b->places[arg].root;
    if (is_temporary(b, root)) {
        give_slots(b, slot, 0);
    } else if (b->places[root].last == at) {
        b->places[root].last = NEVER; /* an operand may occur twice */
        give_root(b, root);
    }
}

static LaneScatter scatter_kind(uint32_t aux)
{
    switch (aux >> 8) {
    case ReduceModeNoConflicts:
    case ReduceModeExpand:
    case ReduceModePermute:
        return LANE_SCATTER_PLAIN;
    case ReduceModeDirect:
        return LANE_SCATTER_ATOMIC;
    default:
        return LANE_SCATTER_RUNS;
    }
}

/* Fails if the Program asks for what does not exist. */
static LaneFn require(Builder *b, LaneFn fn, uint32_t at)
{
    if (!fn && !b->failed) {
        error_set(JIT_ERROR_UNSUPPORTED, "interp: no code for %%%u = %s of type %s", at,
                  op_info[b->program->insts[at].op].name,
                  type_info[b->program->insts[at].type].name);
        b->failed = true;
    }
    return fn;
}

static LaneFn find_scatter(Builder *b, const Inst *inst, uint32_t at, uint32_t value)
{
    uint32_t op = inst->aux & 0xff;
    VarType type = (VarType) b->program->insts[value].type;
    return require(b,
                   op < ReduceOpCount
                       ? b->lanes->scatter[scatter_kind(inst->aux)][op][type]
                       : NULL,
                   at);
}

static bool is_true(const Builder *b, uint32_t arg)
{
    const Inst *inst = &b->program->insts[b->places[arg].root];
    return inst->op == OP_LITERAL && b->program->literals[inst->aux] & 1;
}

/* Entry k of n of a packet is an ordinary access with the index i * n + k. */
static void emit_packet(Builder *b, uint32_t at, const Inst *inst, uint32_t out)
{
    const uint32_t *args = program_args(b->program, inst);
    bool gathers = inst->op == OP_GATHER_PACKET;
    uint32_t n = gathers ? inst->aux : inst->count - 3u;
    uint32_t pointer = use(b, args[0]), index = use(b, args[1]), mask = use(b, args[2]);
    uint32_t place = take_slots(b, 0);
    for (uint32_t k = 0; k < n; ++k) {
        emit(b, b->lanes->packet_index, place, index, n, k);
        if (gathers) {
            emit(b, b->lanes->gather[size_class((VarType) inst->type)], out + k,
                 pointer, place, mask);
        } else {
            uint32_t value = use(b, args[3 + k]);
            emit(b, find_scatter(b, inst, at, args[3 + k]), pointer, value, place,
                 mask);
            drop(b, UINT32_MAX, args[3 + k], value);
        }
    }
    give_slots(b, place, 0);
    const uint32_t slots[] = { pointer, index, mask };
    for (uint32_t i = 0; i < inst->count; ++i)
        if (i < 3 || !is_temporary(b, b->places[args[i]].root))
            drop(b, at, args[i], i < 3 ? slots[i] : 0);
}

static void emit_memory(Builder *b, uint32_t at, const Inst *inst, uint32_t out,
                        const uint32_t *args, const uint32_t *in)
{
    const LaneTable *lanes = b->lanes;
    uint32_t size = size_class((VarType) inst->type);
    switch (inst->op) {
    case OP_GATHER:
        emit(b, is_true(b, args[2]) ? lanes->gather_all[size] : lanes->gather[size],
             out, in[0], in[1], in[2]);
        break;
    case OP_SCATTER:
        emit(b, find_scatter(b, inst, at, args[1]), in[0], in[1], in[2], in[3]);
        break;
    case OP_SCATTER_INC:
        emit(b, lanes->increment, out, in[0], in[1], in[2]);
        break;
    case OP_SCATTER_ADD:
        emit(b, require(b, lanes->fetch_add[inst->type], at), out, in[0], in[1],
             add_extra(b, in + 2, 2));
        break;
    case OP_SCATTER_EXCH:
        emit(b, lanes->exchange[size], out, in[0], in[1], add_extra(b, in + 2, 2));
        break;
    default: { /* OP_SCATTER_CAS */
        const uint32_t more[] = { in[3], in[4], in[1] };
        emit(b, lanes->compare_exchange[size], out, in[0], in[2],
             add_extra(b, more, 3));
    }
    }
}

static void emit_load(Builder *b, uint32_t at, const Inst *inst)
{
    uint32_t view = b->view++;
    b->homes[view] = b->places[at].slot;
    b->places[at].slot = view;
    emit(b, b->lanes->load[size_class((VarType) inst->type)], view, inst->aux,
         b->homes[view], 0);
}

/* Everything with at most five operands. */
static void emit_simple(Builder *b, uint32_t at, const Inst *inst, uint32_t out)
{
    const Program *p = b->program;
    const uint32_t *args = program_args(p, inst);
    uint32_t in[5] = { 0 };
    if (inst->count > 5) {
        require(b, NULL, at);
        return;
    }
    for (uint32_t i = 0; i < inst->count; ++i)
        in[i] = use(b, args[i]);
    if (is_access(inst)) {
        emit_memory(b, at, inst, out, args, in);
    } else if (inst->op == OP_COUNTER) {
        emit(b, b->lanes->counter, out, 0, 0, 0);
    } else if (inst->op == OP_CHECK) {
        emit(b, b->lanes->check, out, in[0], in[1], inst->aux);
    } else if (inst->op == OP_LOAD) {
        emit_load(b, at, inst);
    } else if (inst->op == OP_STORE) {
        VarType type = (VarType) p->insts[args[0]].type;
        emit(b, b->lanes->store[size_class(type)], 0, inst->aux, in[0], 0);
    } else {
        uint32_t first = inst->op == OP_SELECT;
        VarType operand =
            inst->count > first ? (VarType) p->insts[args[first]].type : VarTypeVoid;
        emit(b,
             require(b,
                     interp_build_find(b->lanes, (Op) inst->op, (VarType) inst->type,
                                       operand),
                     at),
             out, in[0], in[1], in[2]);
    }
    for (uint32_t i = 0; i < inst->count; ++i)
        drop(b, at, args[i], in[i]);
}

static void emit_inst(Builder *b, uint32_t at)
{
    const Inst *inst = &b->program->insts[at];
    Place *place = &b->places[at];
    bool has_value = op_info[inst->op].result != RESULT_VOID;
    if (place->root != at ||
        (place->last == 0 && !(op_info[inst->op].flags & F_EFFECT)) ||
        ((place->marks & MARK_HOISTED) != 0) != b->hoisting || is_temporary(b, at))
        return;
    uint32_t out = 0;
    if (has_value) {
        out = place->slot = take_slots(b, packet_class(inst));
        if (!is_constant(inst))
            note_entry(b, type_info[inst->type].size);
    }
    if (is_constant(inst))
        emit_constant(b, at, out);
    else if (inst->op == OP_GATHER_PACKET || inst->op == OP_SCATTER_PACKET)
        emit_packet(b, at, inst, out);
    else
        emit_simple(b, at, inst, out);
    if (has_value && place->last == 0)
        give_root(b, at);
}

static void emit_all(Builder *b, bool hoisting)
{
    b->hoisting = hoisting;
    for (uint32_t at = 0; at < b->program->inst_count && !b->failed; ++at)
        emit_inst(b, at);
}

bool interp_build(InterpCode *code, const Program *p, const LaneTable *lanes)
{
    Builder b = { .program = p, .lanes = lanes, .code = code };
    code->entry = sizeof(uint32_t); /* indices of packets */
    code->report = p->check_count ? p->param_count - 1 : PROGRAM_NONE;
    b.places = alloc_zero(p->inst_count + 1u, sizeof(Place));
    TRY(b.places, false);
    plan_roots(&b);
    plan_hoisting(&b);
    plan_last_uses(&b);
    b.homes = alloc_get(code->views * sizeof(uint32_t));
    b.failed = !b.homes || !vec_reserve(&code->steps, &code->step_capacity,
                                        p->inst_count + p->inst_count / CHAIN_MOST + 2,
                                        sizeof(LaneStep));
    emit_all(&b, true);
    append(&b, (LaneStep){ .fn = interp_build_stop });
    code->once = code->step_count;
    emit_all(&b, false);
    append(&b, (LaneStep){ .fn = interp_build_stop });
    alloc_free(b.next);
    alloc_free(b.homes);
    alloc_free(b.places);
    return !b.failed;
}

void interp_build_free(InterpCode *code)
{
    alloc_free(code->steps);
    alloc_free(code->extra);
}
