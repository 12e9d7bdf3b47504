/*
 * native_build.c -- what the values of a Program are, and what its regions use
 *
 * The first of two linear scans, forward: the number of the value that each instruction
 * gives (those that only rename one share it), its class and where it comes from; what
 * marks of regions use without having it as operand. The second one is native_steps.c.
 *
 * A loop needs what it takes from outside until its end, since there is another
 * iteration; so these values are uses of its END. Values that change with the iteration
 * (states) or are made by two sides (results of conditionals) have one number all the
 * time, and are used by END and ELSE where lanes that are not active keep what they
 * have.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "engine/native/plan/native_build.h"

typedef struct Builder {
    Native *n;
    NativeFunction *f;
    const Program *p;
    uint32_t *open; /* regions around the current instruction, the innermost last */
    uint32_t depth;
    uint32_t *seen; /* by value: the last loop it was noted for, + 1 */
    uint32_t *outside, *outside_base; /* values from outside of the open loops */
    uint32_t outside_count, outside_capacity;
    NativeScan scan;
    bool folds;     /* there are instructions that may be part of their users */
    uint32_t *path; /* by position: see find_path() */
    bool failed;
} Builder;

/* ---- tables */

enum { SPECIAL = 1 };

/* Where values come from, and so which operations are not steps. */
#define SOURCE(op) \
    ((op) == OP_LITERAL || (op) == OP_UNDEFINED ? NATIVE_LITERAL \
     : (op) == OP_COUNTER                       ? NATIVE_COUNTER \
     : (op) == OP_ARG                           ? NATIVE_ARG \
                                                : NATIVE_COMPUTED)

/* Operations that need more than the tables say. */
static const uint8_t op_special[OP_COUNT] = {
    [OP_LOAD] = SPECIAL,    [OP_PARAM] = SPECIAL,  [OP_CAST] = SPECIAL,
    [OP_BITCAST] = SPECIAL, [OP_ACTIVE] = SPECIAL, [OP_RESULT] = SPECIAL,
    [OP_STATE] = SPECIAL,   [OP_LOCAL] = SPECIAL,  [OP_STORE] = SPECIAL,
    [OP_SHL] = SPECIAL,
    [OP_GATHER_PACKET] = SPECIAL, [OP_PACKET_ITEM] = SPECIAL, [OP_NEG] = SPECIAL,
    [OP_MATVEC] = SPECIAL,
    [OP_AND] = SPECIAL,     [OP_SELECT] = SPECIAL, [OP_DIV] = SPECIAL,
    [OP_SHR] = SPECIAL
};

/* By operation: source and flags of the value, before anybody needs it. What follows
 * from its type is added to that. */
static const NativeValue op_value[OP_COUNT] = {
#define IF(test, flag) ((test) ? NATIVE_##flag : 0)
#define OP(name, text, group, arity, roles, operands, result, aux, memory, flags_) \
    [OP_##name] = { .source = SOURCE(OP_##name), \
                    .flags = IF(SOURCE(OP_##name) == NATIVE_COMPUTED, STEP) | \
                             IF(!((flags_) &F_DROPS), EFFECT) | \
                             IF(NATIVE_SINGLE(OP_##name, GROUP_##group) || \
                                GROUP_##group == GROUP_LOCAL || \
                                GROUP_##group == GROUP_MARK, ODD) },
#include "ir/ops.def"
#undef OP
#undef IF
};

enum {
    WIDE_TYPES = 1 << VarTypeInt64 | 1 << VarTypeUInt64 | 1 << VarTypeFloat64,
    POINTER_TYPE = 1 << VarTypePointer
};

/* Are pointers used as values, not only as addresses? */
static bool has_pointer_values(const Program *p)
{
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        if (inst->type == VarTypePointer && inst->op != OP_PARAM)
            return true;
        const uint32_t *args = program_args(p, inst);
        for (uint32_t k = 0; k < inst->count; ++k)
            if (p->insts[args[k]].type == VarTypePointer && !native_is_address(inst, k))
                return true;
    }
    return false;
}

static bool is_wide(const Program *p)
{
    uint32_t types = 0;
    for (uint32_t at = 0; at < p->inst_count; ++at)
        types |= 1u << p->insts[at].type;
    return types & WIDE_TYPES || (types & POINTER_TYPE && has_pointer_values(p));
}

bool native_build_is_wide(const Program *p)
{
    bool wide = is_wide(p);
    for (uint32_t i = 0; i < p->callable_count && !wide; ++i)
        wide = is_wide(p->callables[i]);
    return wide;
}

/* ---- values */

static bool renames(const Program *p, const Inst *inst)
{
    if (inst->op != OP_CAST && inst->op != OP_BITCAST)
        return false;
    VarType from = (VarType) p->insts[inst->arg[0]].type, to = (VarType) inst->type;
    if (from == to)
        return true;
    const TypeInfo *a = &type_info[from], *b = &type_info[to];
    if (a->size != b->size)
        return false;
    if (inst->op == OP_CAST)
        return a->size >= 4 && a->is_integer && b->is_integer;
    return a->size >= 4 || (from == VarTypeUInt16 && to == VarTypeFloat16) ||
           (from == VarTypeFloat16 && to == VarTypeUInt16);
}

static NativeValue make_value(const Native *n, VarType type, NativeSource source,
                              uint16_t flags)
{
    bool mask = type == VarTypeBool && n->target->registers[NATIVE_MASK];
    return (NativeValue){ .next = NATIVE_NEVER,
                          .slot = NATIVE_NO_SLOT,
                          .reg = NATIVE_NO_REG,
                          .class = mask ? NATIVE_MASK : NATIVE_VECTOR,
                          .bits = type_info[type].size == 8 ? 64 : 32,
                          .source = (uint8_t) source,
                          .type = (uint8_t) type,
                          .flags = flags };
}

/* A state is known by its STATE, or else by its RESULT; a result of another region by
 * its RESULT. */
static void number_carried(const Builder *b, uint32_t region)
{
    const Program *p = b->p;
    const Region *r = &p->regions[region];
    NativeRegion *own = &b->f->regions[region];
    own->carried = b->f->carried_count;
    own->carried_count = program_result_count(p, b->n->root_program, r);
    b->f->carried_count += own->carried_count;
    uint32_t *carried = b->f->carried + own->carried;
    for (uint32_t k = 0; k < own->carried_count; ++k)
        carried[k] = NATIVE_NO_VALUE;
    for (uint32_t at = r->end + 1; at < p->inst_count && p->insts[at].op == OP_RESULT;
         ++at)
        carried[p->insts[at].aux] = at;
    if (r->kind == REGION_LOOP)
        for (uint32_t at = r->begin + 1; p->insts[at].op == OP_STATE; ++at)
            carried[p->insts[at].aux] = at;
}

static uint32_t active_mask(const Builder *b, uint32_t at, uint32_t region)
{
    return native_region_mask(b->f, region, at > b->p->regions[region].middle);
}

/* The root's code loads the registers. */
static void hoist(const Builder *b, uint32_t slot)
{
    Native *n = b->n;
    if (b->f->self != PROGRAM_NONE)
        return;
    for (uint32_t i = 0; i < n->hoisted_count; ++i)
        if (n->hoisted[i] == slot)
            return;
    if (n->hoisted_count < n->cpu->most_addresses)
        n->hoisted[n->hoisted_count++] = slot;
    else
        n->hoisted_all = false;
}

static void number_param(const Builder *b, const Inst *inst, NativeValue *v)
{
    if (inst->type == VarTypePointer) {
        hoist(b, inst->aux);
        v->flags = NATIVE_ODD; /* a step if it is used other than as an address */
    }
    if (b->n->target->broadcasts && type_info[inst->type].size >= 4) {
        v->source = NATIVE_PARAM;
        v->flags = 0;
    }
}

/* The END of the region of a RESULT. */
static uint32_t result_end(const Program *p, uint32_t at)
{
    uint32_t end = at - 1;
    while (p->insts[end].op != OP_END)
        --end;
    return end;
}

static uint32_t result_root(const Builder *b, uint32_t at)
{
    const Program *p = b->p;
    const NativeRegion *own = &b->f->regions[p->insts[result_end(p, at)].aux];
    return b->f->carried[own->carried + p->insts[at].aux];
}

/* A packet has room for the numbers of its items. */
static void number_packet(Builder *b, const Inst *inst, NativeValue *v)
{
    NativeFunction *f = b->f;
    v->class = NATIVE_CLASSES;
    v->slot = f->item_count;
    if (b->failed || !vec_reserve(&f->items, &f->item_capacity,
                                  f->item_count + program_item_count(inst),
                                  sizeof(uint32_t))) {
        b->failed = true;
        return;
    }
    for (uint32_t k = 0; k < program_item_count(inst); ++k)
        f->items[f->item_count++] = NATIVE_NO_VALUE;
}

/* An item is computed by the step of its packet. */
static void number_item(Builder *b, uint32_t at, NativeValue *v)
{
    NativeFunction *f = b->f;
    const Inst *inst = &b->p->insts[at];
    v->flags = NATIVE_RENAMES | NATIVE_ODD;
    b->scan.renamed = true;
    if (b->failed)
        return;
    uint32_t *item = &f->items[f->values[inst->arg[0]].slot + inst->aux];
    if (*item == NATIVE_NO_VALUE)
        *item = at;
    f->root[at] = *item;
}

/* The operand of an instruction that may be part of its users: the negation of a float
 * (not of Float16, which has no fused instructions), the lower half of 64 bits, a part
 * of the lane counter, or of a rotation. PROGRAM_NONE for others. */
static uint32_t folded_operand(const Program *p, const Inst *inst)
{
    uint32_t floats = 1 << VarTypeFloat32 | 1 << VarTypeFloat64;
    if (inst->op == OP_NEG)
        return floats >> inst->type & 1 ? inst->arg[0] : PROGRAM_NONE;
    if (inst->op == OP_SHL)
        return native_turn(p, inst);
    bool turns = inst->op == OP_SHR && inst->type == VarTypeUInt32 &&
                 p->insts[inst->arg[1]].op != OP_LITERAL;
    if (inst->op == OP_DIV || inst->op == OP_SHR)
        return turns || p->insts[inst->arg[0]].op == OP_COUNTER ? inst->arg[0]
                                                                : PROGRAM_NONE;
    for (uint32_t k = 0; k < 2 && type_info[inst->type].size == 8; ++k) {
        const Inst *mask = &p->insts[inst->arg[k]];
        if (mask->op == OP_LITERAL && p->literals[mask->aux] == UINT32_MAX)
            return inst->arg[1 - k];
    }
    return PROGRAM_NONE;
}

static void number_special(Builder *b, uint32_t at)
{
    const Inst *inst = &b->p->insts[at];
    NativeFunction *f = b->f;
    NativeValue *v = &f->values[at];
    switch (inst->op) {
    case OP_STORE:
        b->n->streams[inst->aux] |= NATIVE_STORED;
        hoist(b, inst->aux);
        break;
    case OP_LOAD:
        if (!(inst->flags & INST_UNIFORM)) {
            v->source = NATIVE_INPUT;
            v->flags = 0;
            b->n->streams[inst->aux] |= NATIVE_LOADED;
            hoist(b, inst->aux);
        }
        break;
    case OP_PARAM:
        number_param(b, inst, v);
        break;
    case OP_LOCAL:
        v->class = NATIVE_CLASSES;
        break;
    case OP_ACTIVE:
        f->root[at] = active_mask(b, at, inst->aux);
        v->flags = 0;
        break;
    case OP_RESULT:
        f->root[at] = result_root(b, at);
        v->flags = NATIVE_ODD;
        break;
    case OP_STATE:
        v->flags = NATIVE_ODD; /* its loop's REGION ends it */
        break;
    case OP_GATHER_PACKET:
    case OP_MATVEC:
        number_packet(b, inst, v);
        break;
    case OP_PACKET_ITEM:
        number_item(b, at, v);
        break;
    case OP_NEG:
    case OP_AND:
    case OP_DIV:
    case OP_SHL:
    case OP_SHR:
        if (folded_operand(b->p, inst) != PROGRAM_NONE) {
            v->flags = NATIVE_RENAMES | NATIVE_ODD; /* see fold() */
            b->folds = true;
        }
        break;
    case OP_SELECT:
        for (uint32_t k = 1; k < INST_ARGS && inst->type != VarTypeBool; ++k)
            f->values[f->root[inst->arg[k]]].flags |= NATIVE_SELECTED;
        break;
    default: /* CAST, BITCAST */
        if (renames(b->p, inst)) {
            f->root[at] = f->root[inst->arg[0]];
            v->flags = NATIVE_RENAMES | NATIVE_ODD;
            b->scan.renamed = true;
        }
    }
}

static bool rotates(const Builder *b, const Inst *inst)
{
    return b->n->target->rotates && native_rotates(b->p, inst);
}

/* Could the row of an instruction do for its operand k what the operation says? */
static bool may_include(const Builder *b, const Inst *user, uint32_t k, Op op)
{
    const NativeFunction *f = b->f;
    if (op == OP_NEG)
        return user->op == OP_FMA;
    if (op == OP_SHL)
        return k == 1 && rotates(b, user);
    if (op == OP_DIV || op == OP_SHR)
        return k == 1 ? native_repeats(b->p, user, b->n->lanes)
                      : k == 0 && rotates(b, user);
    return user->op == OP_MUL && native_is_half(f, user->arg[1 - k]);
}

static bool can_fuse(const Builder *b, const Inst *user, uint32_t k, Op op)
{
    return may_include(b, user, k, op) && native_has_row(b->n, b->p, user);
}

/* Operations for which folded_operand() is asked. */
static bool may_fuse(uint8_t op)
{
    return op == OP_NEG || op == OP_AND || op == OP_DIV || op == OP_SHL ||
           op == OP_SHR;
}

static void unfold(NativeValue *v)
{
    v->flags |= NATIVE_STEP;
    v->flags &= (uint16_t) ~NATIVE_RENAMES;
}

/* Both shifts of a rotation are part of it, or none. */
static void fold_both(Builder *b)
{
    NativeValue *values = b->f->values;
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t at = 0; at < b->p->inst_count; ++at) {
            const Inst *inst = &b->p->insts[at];
            if (!rotates(b, inst))
                continue;
            NativeValue *right = &values[inst->arg[0]], *left = &values[inst->arg[1]];
            if (!((right->flags ^ left->flags) & NATIVE_RENAMES))
                continue;
            unfold(right);
            unfold(left);
            again = true;
        }
    }
}

/* A negation that only fused operations use is a part of them (native_is_negated()),
 * and so is the choice of lower halves for products of such (native_is_half()), the
 * index of gathers that need none (native_repeats()), and the shifts of rotations. */
static void fold(Builder *b)
{
    const Program *p = b->p;
    NativeFunction *f = b->f;
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        const uint32_t *args = program_args(p, inst);
        for (uint32_t k = 0; k < inst->count; ++k) {
            Op op = (Op) p->insts[args[k]].op;
            if (may_fuse(op) && f->values[args[k]].flags & NATIVE_RENAMES &&
                !can_fuse(b, inst, k, op))
                unfold(&f->values[args[k]]);
        }
    }
    fold_both(b);
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        if (may_fuse(inst->op) && f->values[at].flags & NATIVE_RENAMES) {
            f->root[at] = f->root[folded_operand(p, inst)];
            b->scan.renamed = true;
        }
    }
}

/* Steps on the longest path of dependencies to and including this instruction. One with
 * a long list, except a LOOKUP, is none of which packets are side by side, so nobody
 * asks. Operands that are missing are 0, and instruction 0 has none. */
static inline uint32_t find_path(const Program *p, const Inst *inst, uint16_t flags,
                                 const uint32_t *path)
{
    uint32_t is_step = (flags & (NATIVE_STEP | NATIVE_EFFECT | NATIVE_ODD)) ==
                       NATIVE_STEP;
    if (inst->count > INST_ARGS)
        return inst->op == OP_LOOKUP ? path[p->extra[inst->arg[0]]] + is_step : 0;
    uint32_t a = path[inst->arg[0]], b = path[inst->arg[1]], c = path[inst->arg[2]];
    uint32_t most = a > b ? a : b;
    return (most > c ? most : c) + is_step;
}

/* The same for a result: what goes into it on either side of a conditional. */
static uint32_t find_result_path(const Builder *b, uint32_t at)
{
    const Program *p = b->p;
    const Region *r = &p->regions[p->insts[result_end(p, at)].aux];
    if (r->kind != REGION_IF)
        return 0;
    uint32_t k = p->insts[at].aux;
    uint32_t one = b->path[program_args(p, &p->insts[r->middle])[k]];
    uint32_t other = b->path[program_args(p, &p->insts[r->end])[k]];
    return one > other ? one : other;
}

/* The bits of both, of which one has zeros where the other one has not. */
static inline void join(NativeValue *to, const NativeValue *a, const NativeValue *b)
{
    uint64_t x[2], y[2];
    _Static_assert(sizeof *to == sizeof x, "two words");
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    x[0] |= y[0];
    x[1] |= y[1];
    memcpy(to, x, sizeof x);
}

/* Those that make_steps() has to look at are collected as steps. */
static void number_values(Builder *b)
{
    const Program *p = b->p;
    NativeFunction *f = b->f;
    NativeValue by_type[VarTypeCount], *values = f->values;
    uint32_t *path = b->path, *root = f->root, height = 0, count = 0;
    uint32_t uniform = f->self == PROGRAM_NONE ? INST_UNIFORM : 0;
    for (uint32_t type = 0; type < VarTypeCount; ++type)
        by_type[type] = make_value(b->n, (VarType) type, NATIVE_COMPUTED, 0);
    for (uint32_t i = 0; i < p->region_count; ++i)
        number_carried(b, i);
    path[0] = 0;
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        NativeValue *v = &values[at];
        join(v, &by_type[inst->type], &op_value[inst->op]);
        uint32_t odd = (v->flags / NATIVE_STEP) & inst->flags & uniform;
        v->flags |= (uint16_t) (odd * NATIVE_ODD);
        root[at] = at;
        if (op_special[inst->op])
            number_special(b, at);
        path[at] = inst->op == OP_RESULT ? find_result_path(b, at)
                                         : find_path(p, inst, v->flags, path);
        height = path[at] > height ? path[at] : height;
        f->steps[count].at = at;
        count += (v->flags & (NATIVE_STEP | NATIVE_ODD | NATIVE_EFFECT)) != 0;
    }
    f->height = height;
    b->scan.candidates = count;
    if (b->folds)
        fold(b);
    for (uint32_t v = f->valid; v < f->value_count; ++v)
        f->values[v] =
            make_value(b->n, VarTypeBool,
                       v == f->valid ? NATIVE_VALID : NATIVE_COMPUTED, NATIVE_LIVE);
    root[p->inst_count] = f->value_count;
    f->values[f->value_count] = (NativeValue){ .slot = NATIVE_NO_SLOT,
                                               .reg = NATIVE_NO_REG,
                                               .class = NATIVE_CLASSES };
}

/* ---- regions */

static void add_use(Builder *b, uint32_t value)
{
    NativeFunction *f = b->f;
    if (b->failed ||
        !vec_reserve(&f->uses, &f->use_capacity, f->use_count + 1, sizeof(uint32_t))) {
        b->failed = true;
        return;
    }
    f->uses[f->use_count++] = value;
}

static void note_outside(Builder *b, uint32_t value)
{
    if (b->failed || !vec_reserve(&b->outside, &b->outside_capacity,
                                  b->outside_count + 1, sizeof(uint32_t))) {
        b->failed = true;
        return;
    }
    b->outside[b->outside_count++] = value;
}

/* Where a value begins to be. */
static uint32_t birth(const Builder *b, uint32_t value)
{
    const NativeFunction *f = b->f;
    if (value < f->valid) {
        const Inst *inst = &b->p->insts[value];
        return inst->op == OP_PACKET_ITEM ? inst->arg[0] : value;
    }
    if (value == f->valid)
        return 0;
    uint32_t which = value - f->valid - 1;
    const Region *region = &b->p->regions[which / 2];
    return which % 2 && region->kind == REGION_LOOP ? region->middle : region->begin;
}

/* The innermost loop around the current instruction notes what comes from outside of
 * it; its end hands that on to the next one. */
static void note_operand(Builder *b, uint32_t value)
{
    uint32_t i = b->depth;
    while (i > 0 && b->p->regions[b->open[i - 1]].kind != REGION_LOOP)
        --i;
    if (i == 0)
        return;
    uint32_t loop = b->open[i - 1];
    if (b->seen[value] == loop + 1)
        return;
    bool uniform = value < b->f->valid && b->p->insts[value].flags & INST_UNIFORM;
    if (birth(b, value) < b->p->regions[loop].begin || uniform) {
        b->seen[value] = loop + 1;
        note_outside(b, value);
    }
}

static void add_carried_uses(Builder *b, const NativeRegion *own)
{
    for (uint32_t k = 0; k < own->carried_count; ++k)
        if (b->f->carried[own->carried + k] != NATIVE_NO_VALUE)
            add_use(b, b->f->carried[own->carried + k]);
}

static bool is_chosen(const Program *p, uint32_t at)
{
    const Inst *end = &p->insts[result_end(p, at)];
    return p->regions[end->aux].kind == REGION_IF;
}

/* Is this a vector that an instruction of the loop's body computes, or a conditional
 * chooses? */
static bool may_settle(const Builder *b, uint32_t region, uint32_t value)
{
    const NativeFunction *f = b->f;
    if (value >= f->valid || value < b->p->regions[region].middle ||
        !(f->values[value].role & NATIVE_DIRECT))
        return false;
    const NativeValue *v = &f->values[value];
    const Inst *inst = &b->p->insts[value];
    bool uniform = f->self == PROGRAM_NONE && inst->flags & INST_UNIFORM;
    bool computed = inst->op == OP_RESULT ? is_chosen(b->p, value)
                                          : (v->flags & NATIVE_STEP) != 0;
    return computed && !uniform && v->source == NATIVE_COMPUTED &&
           v->class == NATIVE_VECTOR && v->type != VarTypeBool;
}

/* The instruction behind which a value can take the place of a state: where it is
 * complete, and nobody needs the state. */
static uint32_t find_settler(const Builder *b, uint32_t value, uint32_t state)
{
    const Program *p = b->p;
    bool stated = p->insts[state].op == OP_STATE; /* else nobody uses it */
    uint32_t last = stated ? b->f->becomes[state].next : 0;
    if (p->insts[value].op == OP_RESULT)
        value = result_end(p, value);
    return last > value ? last : value;
}

/* Which values become states before the end of the loop? Not those that become two, or
 * whose state becomes another one there. */
static void note_next(Builder *b, uint32_t region, const NativeRegion *own)
{
    NativeFunction *f = b->f;
    const uint32_t *args =
        program_args(b->p, &b->p->insts[b->p->regions[region].end]);
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        NativeValue *v = &f->values[f->root[args[k]]];
        v->role |= v->role & NATIVE_NEXT ? NATIVE_TWICE : NATIVE_NEXT;
    }
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t value = f->root[args[k]], state = f->carried[own->carried + k];
        if (state == NATIVE_NO_VALUE || !may_settle(b, region, value) ||
            f->values[value].role & NATIVE_TWICE ||
            f->values[state].role & NATIVE_NEXT)
            continue;
        uint32_t at = find_settler(b, value, state);
        f->values[value].role |= NATIVE_BECOMES;
        f->values[at].role |= NATIVE_SETTLER;
        f->values[at].flags |= NATIVE_ODD;
        f->becomes[value].state = state;
        f->becomes[value].region = region;
        f->becomes[value].next = f->becomes[at].first;
        f->becomes[at].first = value;
    }
}

static void end_loop(Builder *b, uint32_t region, NativeRegion *own)
{
    uint32_t first = b->outside_base[region];
    note_next(b, region, own);
    add_use(b, native_region_mask(b->f, region, true));
    add_carried_uses(b, own);
    own->state_uses = b->f->use_count - own->uses[1];
    for (uint32_t i = first; i < b->outside_count && !b->failed; ++i)
        add_use(b, b->outside[i]);
    own->use_count[1] = b->f->use_count - own->uses[1];
    /* What is from outside of the next loop as well stays on the list. */
    uint32_t end = b->outside_count;
    b->outside_count = first;
    --b->depth;
    for (uint32_t i = first; i < end && !b->failed; ++i)
        note_operand(b, b->outside[i]);
}

static void note_mark(Builder *b, const Inst *inst)
{
    NativeFunction *f = b->f;
    NativeRegion *own = &f->regions[inst->aux];
    RegionKind kind = (RegionKind) b->p->regions[inst->aux].kind;
    uint32_t which = inst->op == OP_END;
    switch (inst->op) {
    case OP_REGION:
        b->outside_base[inst->aux] = b->outside_count;
        b->open[b->depth++] = inst->aux;
        return;
    case OP_TEST:
        own->uses[0] = f->use_count;
        add_use(b, native_region_mask(f, inst->aux, false));
        if (own->joint)
            add_carried_uses(b, own);
        break;
    case OP_ELSE:
        own->uses[0] = f->use_count;
        add_use(b, native_region_mask(f, inst->aux, false));
        add_carried_uses(b, own);
        break;
    default: /* OP_END */
        own->uses[1] = f->use_count;
        if (kind == REGION_LOOP) {
            end_loop(b, inst->aux, own);
            return;
        }
        --b->depth;
        if (kind == REGION_IF) {
            add_use(b, native_region_mask(f, inst->aux, true));
            add_carried_uses(b, own);
        }
    }
    own->use_count[which] = f->use_count - own->uses[which];
}

/* What the instruction is in the loop directly around it. */
static void note_direct(const Builder *b, uint32_t at)
{
    uint32_t region = b->open[b->depth - 1];
    const Region *r = &b->p->regions[region];
    if (r->kind != REGION_LOOP)
        return;
    if (at > r->middle)
        b->f->values[at].role |= NATIVE_DIRECT;
    if (b->p->insts[at].op == OP_STATE)
        b->f->becomes[at].region = region;
}

/* A region inside uses a state until its end. */
static void note_state_use(const Builder *b, uint32_t state, uint32_t at)
{
    const Inst *inst = &b->p->insts[at];
    NativeNext *own = &b->f->becomes[state];
    uint32_t i = b->depth;
    while (b->open[i - 1] != own->region)
        --i;
    if (i < b->depth)
        at = b->p->regions[b->open[i]].end;
    else if (inst->op == OP_REGION)
        at = b->p->regions[inst->aux].end;
    own->next = at;
}

static void note_regions(Builder *b)
{
    const Program *p = b->p;
    for (uint32_t at = p->regions[0].begin; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        const uint32_t *args = program_args(p, inst);
        for (uint32_t k = 0; k < program_computed_args(inst) && b->depth; ++k) {
            uint32_t value = b->f->root[args[k]];
            note_operand(b, value);
            if (value < b->f->valid && p->insts[value].op == OP_STATE &&
                at < p->regions[b->f->becomes[value].region].end)
                note_state_use(b, value, at);
        }
        if (op_info[inst->op].group == GROUP_MARK)
            note_mark(b, inst);
        else if (b->depth)
            note_direct(b, at);
    }
}

/* ---- all together */

/* A stretch of memory for an array behind others. */
static size_t add_array(size_t *size, size_t count, size_t entry)
{
    size_t at = *size;
    *size = (at + count * entry + 7) & ~(size_t) 7;
    return at;
}

/* All arrays whose sizes are known are one piece of memory, which stays for the next
 * function and the next kernel. */
static bool lay_out(Builder *b, uint32_t carried)
{
    enum { NONE = 1 /* more, for what is missing */ };
    NativeFunction *f = b->f;
    const Program *p = b->p;
    bool regions = p->region_count;
    size_t size = 0, insts = (size_t) p->inst_count + NONE;
    size_t values = add_array(&size, f->value_count + (size_t) NONE, sizeof *f->values);
    size_t steps = add_array(&size, insts, sizeof *f->steps);
    size_t root = add_array(&size, insts, sizeof *f->root);
    size_t path = add_array(&size, insts, sizeof *b->path);
    size_t next = add_array(&size, p->extra_count, sizeof *f->extra_next);
    size_t numbers = add_array(&size, carried, sizeof *f->carried);
    size_t region = add_array(&size, p->region_count, sizeof *f->regions);
    size_t open = add_array(&size, p->region_count, sizeof *b->open);
    size_t base = add_array(&size, p->region_count, sizeof *b->outside_base);
    size_t seen = add_array(&size, regions ? f->value_count : 0, sizeof *b->seen);
    size_t becomes = add_array(&size, regions ? p->inst_count : 0, sizeof *f->becomes);
    uint8_t *plan = native_take_plan(b->n, size);
    TRY(plan, false);
    f->values = (NativeValue *) (void *) (plan + values);
    f->steps = (NativeStep *) (void *) (plan + steps);
    f->root = (uint32_t *) (void *) (plan + root);
    b->path = (uint32_t *) (void *) (plan + path);
    f->extra_next = (uint32_t *) (void *) (plan + next);
    f->becomes = (NativeNext *) (void *) (plan + becomes);
    f->carried = (uint32_t *) (void *) (plan + numbers);
    f->regions = (NativeRegion *) (void *) (plan + region);
    b->open = (uint32_t *) (void *) (plan + open);
    b->outside_base = (uint32_t *) (void *) (plan + base);
    b->seen = (uint32_t *) (void *) (plan + seen);
    memset(plan + region, 0, open - region);
    memset(plan + seen, 0, size - seen);
    return true;
}

bool native_build(Native *n, NativeFunction *f, const Program *p, uint32_t self)
{
    Builder b = { .n = n, .f = f, .p = p, .scan.renamed = p->region_count != 0 };
    const Program *root = n->root_program;
    for (uint32_t i = 0; i < root->param_count && !n->target->broadcasts; ++i)
        b.scan.pointers |= root->params[i].kind == PARAM_POINTER ||
                      root->params[i].type == VarTypePointer;
    f->program = p;
    f->self = self;
    f->valid = p->inst_count;
    uint32_t carried = 0;
    for (uint32_t i = 0; i < p->region_count; ++i)
        carried += program_result_count(p, root, &p->regions[i]);
    f->value_count = p->inst_count + 1 + 2 * p->region_count + carried;
    TRY(lay_out(&b, carried), false);
    number_values(&b);
    if (p->region_count) {
        native_count(f);
        note_regions(&b);
        f->use_next = alloc_get((f->use_count + 1u) * sizeof(uint32_t));
        b.failed |= !f->use_next;
    }
    alloc_free(b.outside);
    return !b.failed && native_steps(n, f, &b.scan);
}

void native_build_free(NativeFunction *f)
{
    alloc_free(f->items);
    alloc_free(f->uses);
    alloc_free(f->use_next);
}
