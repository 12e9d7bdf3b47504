/*
 * native_alloc.c -- registers and spill slots
 *
 * A register holds one value, and a value is in one register at most. Who needs a
 * register when none is free gets that of the value that is needed furthest ahead,
 * where values that need not be stored first count as being twice as far.
 *
 *     in a register only ──store──► in both ("clean") ──drop──► in memory only
 *                                        ◄──────────fill─────────────┘
 *
 * Values that cost nothing to make again (NativeSource) are always clean and have no
 * slot. Slots are given back after the last use; the last one given back is the first
 * to be used again, since it is in the nearest cache.
 */
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "engine/native/plan/native_emit.h"

/* ---- slots */

static uint32_t take_slot(Native *n)
{
    return n->free_slot_count ? n->free_slots[--n->free_slot_count] : n->slot_count++;
}

static void give_slot(Native *n, uint32_t slot)
{
    if (!vec_reserve(&n->free_slots, &n->free_slot_capacity, n->free_slot_count + 1,
                     sizeof(uint32_t))) {
        n->failed = true;
        return;
    }
    n->free_slots[n->free_slot_count++] = slot;
}

NativeOperand native_alloc_slot(Native *n, uint32_t value)
{
    NativeValue *v = &n->values[value];
    if (!(v->flags & NATIVE_SPILLED))
        v->slot = take_slot(n);
    v->flags |= NATIVE_SPILLED;
    return native_memory_slot(n, v->slot);
}

/* ---- registers */

uint32_t native_alloc_share(const Native *n, NativeClass class)
{
    uint32_t all = n->target->registers[class];
    uint32_t count = (uint32_t) __builtin_popcount(all) / n->copies;
    if (n->copies == 1 || !all)
        return all;
    return ((1u << count) - 1) << __builtin_ctz(all);
}

void native_alloc_begin(Native *n)
{
    n->free_slot_count = 0; /* functions call each other: no slot belongs to two */
    bool callable = n->f->self != PROGRAM_NONE;
    for (uint32_t i = 0; i < NATIVE_FILES; ++i) {
        NativeFile *file = &n->files[i];
        file->all = native_alloc_share(n, (NativeClass) i);
        if (i == NATIVE_VECTOR && callable)
            file->all &= ~n->outputs;
        file->free = file->all;
        file->pinned = 0;
        for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r)
            file->owner[r] = NATIVE_NO_VALUE;
    }
}

static void store(Native *n, uint32_t value)
{
    NativeValue *v = &n->values[value];
    n->cpu->spill(n, (NativeClass) v->class, native_value_bytes(n, v),
                  native_alloc_slot(n, value), v->reg);
    v->flags |= NATIVE_CLEAN;
}

void native_alloc_clean(Native *n, uint32_t value)
{
    if (!native_is_clean(&n->values[value]))
        store(n, value);
}

/* How far away is the need for this register? */
static uint64_t distance(const Native *n, uint32_t value)
{
    const NativeValue *v = &n->values[value];
    uint64_t steps = v->next > n->step ? v->next - n->step : 0;
    return native_is_clean(v) ? 2 * steps : steps;
}

/* Registers that must stay as they are in this step. */
static uint32_t find_kept(const Native *n, NativeClass class)
{
    uint32_t kept = n->files[class].pinned;
    for (uint32_t k = 0; k < INST_ARGS && n->keeps_operands; ++k) {
        const NativeValue *v = &n->values[n->operand[k]];
        if (v->class == class && v->reg != NATIVE_NO_REG)
            kept |= 1u << v->reg;
    }
    return kept;
}

NativeReg native_alloc_evict(Native *n, NativeClass class)
{
    NativeFile *file = &n->files[class];
    NativeReg best = NATIVE_NO_REG;
    uint64_t furthest = 0;
    for (uint32_t set = file->all & ~find_kept(n, class); set; set &= set - 1) {
        NativeReg reg = (NativeReg) __builtin_ctz(set);
        uint64_t far = distance(n, file->owner[reg]);
        if (best == NATIVE_NO_REG || far > furthest) {
            best = reg;
            furthest = far;
        }
    }
    if (best == NATIVE_NO_REG) {
        n->failed = true;
        if (n->copies > 1)
            n->refused = true;
        else
            error_set(JIT_ERROR_COMPILE,
                      "native: an instruction needs too many registers");
        return 0;
    }
    uint32_t value = file->owner[best];
    native_alloc_clean(n, value);
    native_alloc_drop(n, value);
    return best;
}

/* ---- where values are */

uint64_t native_alloc_literal(const Native *n, uint32_t value)
{
    const Program *p = n->f->program;
    const Inst *inst = &p->insts[value];
    uint64_t bits = inst->op == OP_LITERAL ? p->literals[inst->aux] : 0;
    if (type_info[inst->type].size >= 4)
        return type_info[inst->type].size == 8 ? bits : (uint32_t) bits;
    switch (inst->type) {
    case VarTypeBool:
        return bits & 1;
    case VarTypeInt8:
        return (uint32_t) (int32_t) (int8_t) bits;
    case VarTypeUInt8:
        return (uint8_t) bits;
    case VarTypeInt16:
        return (uint32_t) (int32_t) (int16_t) bits;
    default: /* UInt16, Float16 */
        return (uint16_t) bits;
    }
}

static NativeOperand valid_place(const Native *n, uint32_t bits)
{
    return native_memory_frame(n, bits == 64 ? offsetof(NativeFrame, valid_wide)
                                             : offsetof(NativeFrame, valid));
}

static void fill(Native *n, uint32_t value, NativeReg reg)
{
    const NativeValue *v = &n->values[value];
    const NativeTarget *t = n->target;
    const Inst *inst = value < n->f->valid ? &n->f->program->insts[value] : NULL;
    VarType type = (VarType) v->type;
    uint32_t bytes = native_value_bytes(n, v);
    switch ((NativeSource) v->source) {
    case NATIVE_COMPUTED:
        n->cpu->reload(n, (NativeClass) v->class, bytes, reg,
                       native_memory_slot(n, v->slot));
        break;
    case NATIVE_LITERAL:
        if (type == VarTypeBool)
            t->literal_mask(n, reg, native_alloc_literal(n, value));
        else
            t->literal(n, v->bits, reg, native_alloc_literal(n, value));
        break;
    case NATIVE_PARAM:
        t->load_first(n, type, reg, native_memory_argument(n, inst->aux));
        break;
    case NATIVE_INPUT:
        t->load(n, type, reg, native_memory_array(n, inst->aux, type));
        break;
    case NATIVE_COUNTER:
        n->cpu->counter(n, reg);
        break;
    case NATIVE_ARG:
        n->cpu->reload(n, (NativeClass) v->class, bytes, reg,
                       native_dispatch_arg(n, inst->aux));
        break;
    case NATIVE_VALID:
        n->cpu->reload(n, (NativeClass) v->class, bytes, reg, valid_place(n, v->bits));
        break;
    }
}

/* Temporaries that this needs are free again at once. */
void native_alloc_fill(Native *n, uint32_t value, NativeReg reg)
{
    uint32_t before[NATIVE_CLASSES], more;
    memcpy(before, n->temps, sizeof before);
    fill(n, value, reg);
    for (uint32_t class = 0; class < NATIVE_FILES; ++class) {
        more = n->temps[class] & ~before[class];
        n->files[class].free |= more;
        n->files[class].pinned &= ~more;
    }
    n->general_free |= n->temps[NATIVE_GENERAL] & ~before[NATIVE_GENERAL];
    memcpy(n->temps, before, sizeof before);
}

bool native_alloc_place(Native *n, uint32_t value, NativeOperand *place)
{
    NativeValue *v = &n->values[value];
    const Inst *inst = value < n->f->valid ? &n->f->program->insts[value] : NULL;
    VarType type = (VarType) v->type;
    switch ((NativeSource) v->source) {
    case NATIVE_COMPUTED:
        if (!(v->flags & NATIVE_CLEAN))
            return false;
        *place = native_memory_slot(n, v->slot);
        return true;
    case NATIVE_LITERAL:
        if (type == VarTypeBool)
            return false;
        if (v->slot == NATIVE_NO_SLOT)
            v->slot =
                native_operand_constant(n, v->bits, native_alloc_literal(n, value));
        *place = native_memory_constant(n, v->slot);
        return true;
    case NATIVE_PARAM:
        *place = native_memory_argument(n, inst->aux);
        place->kind = NATIVE_IN_BROADCAST;
        return true;
    case NATIVE_INPUT:
        if (type_info[type].size < 4)
            return false;
        *place = native_memory_array(n, inst->aux, type);
        return true;
    case NATIVE_ARG:
        *place = native_dispatch_arg(n, inst->aux);
        return true;
    default:
        return false;
    }
}

NativeReg native_alloc_load(Native *n, uint32_t value)
{
    NativeValue *v = &n->values[value];
    if (v->reg == NATIVE_NO_REG) {
        NativeReg reg = native_alloc_take(n, (NativeClass) v->class);
        native_alloc_fill(n, value, reg);
        native_alloc_bind(n, value, reg);
    }
    native_file(n, v)->pinned |= 1u << v->reg;
    return v->reg;
}

void native_alloc_free_slot(Native *n, NativeValue *v)
{
    if (v->flags & NATIVE_HOME)
        return;
    give_slot(n, v->slot);
    v->slot = NATIVE_NO_SLOT;
    v->flags &= (uint16_t) ~(NATIVE_CLEAN | NATIVE_SPILLED);
}

void native_alloc_forget(Native *n, uint32_t value)
{
    NativeValue *v = &n->values[value];
    if ((v->flags & NATIVE_UNIFORM && n->step >= n->f->packet) ||
        v->class >= NATIVE_FILES)
        return;
    native_alloc_drop(n, value);
    if (v->flags & NATIVE_SPILLED)
        native_alloc_free_slot(n, v);
}

void native_alloc_flush(Native *n)
{
    for (uint32_t class = 0; class < NATIVE_FILES; ++class) {
        NativeFile *file = &n->files[class];
        for (uint32_t set = file->all & ~file->free; set; set &= set - 1) {
            uint32_t value = file->owner[__builtin_ctz(set)];
            if (value == NATIVE_NO_VALUE)
                continue;
            const NativeValue *v = &n->values[value];
            if (v->next != NATIVE_NEVER || v->flags & NATIVE_UNIFORM)
                native_alloc_clean(n, value);
            native_alloc_drop(n, value);
        }
    }
}
