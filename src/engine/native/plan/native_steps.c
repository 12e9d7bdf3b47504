/*
 * native_steps.c -- which instructions are steps, and where values are needed next
 *
 * The second scan over a Program, backward: what somebody needs becomes a step; where
 * each operand is needed next; the most values alive at once.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/native/plan/native_build.h"

/* Values in vector registers at a point of the scan, and at once so far. */
typedef struct Alive {
    uint32_t alive, most;
} Alive;

typedef struct Steps {
    const Native *n;
    NativeFunction *f;
    const Program *p;
    const NativeScan *scan;
    uint32_t *uniform; /* uniform steps, the last one first */
    uint32_t uniform_count, uniform_capacity;
    Alive now;
    uint8_t single; /* is there an operation that cannot be copied? */
    bool failed;
} Steps;

/* Numbers instead of branches: what values are, nobody could predict. */

static inline bool occupies(const NativeValue *v)
{
    uint16_t both;
    _Static_assert(!NATIVE_COMPUTED && !NATIVE_VECTOR, "both are 0");
    _Static_assert(offsetof(NativeValue, source) == offsetof(NativeValue, class) + 1,
                   "they are side by side");
    memcpy(&both, &v->class, sizeof both);
    return both == 0;
}

static inline void use(Alive *now, NativeValue *v, uint32_t step)
{
    now->alive += (v->next == NATIVE_NEVER) & occupies(v);
    v->next = step;
}

/* Before this, the value does not exist. */
static inline void kill(Alive *now, const NativeValue *v)
{
    now->alive -= (v->next != NATIVE_NEVER) & occupies(v) & (now->alive != 0);
}

/* Nobody needs the value between here and where it is made anew. */
static inline void forget(Alive *now, NativeValue *v)
{
    kill(now, v);
    v->next = NATIVE_NEVER;
}

static uint32_t find_item(const Steps *b, uint32_t packet, uint32_t k)
{
    return b->f->items[b->f->values[packet].slot + k];
}

/* Mask registers of a region: lanes that enter, lanes that there are, a condition; to
 * blend masks takes one more. */
static void note_region_masks(const Steps *b, const NativeRegion *own)
{
    NativeFunction *f = b->f;
    uint32_t masks = 3;
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t carried = f->carried[own->carried + k];
        if (carried != NATIVE_NO_VALUE && f->values[carried].type == VarTypeBool)
            masks = 4;
    }
    f->masks = masks > f->masks ? masks : f->masks;
}

/* What states whose last value is needed become at the end of a loop is chosen there,
 * by the lanes that are active. */
static void note_merges(const Steps *b, const Inst *end, const NativeRegion *own)
{
    const NativeFunction *f = b->f;
    const uint32_t *args = program_args(b->p, end);
    if (b->p->regions[end->aux].kind != REGION_LOOP || own->joint)
        return;
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t state = f->carried[own->carried + k];
        if (state != NATIVE_NO_VALUE && f->values[state].flags & NATIVE_KEPT &&
            f->values[state].type != VarTypeBool)
            f->values[f->root[args[k]]].flags |= NATIVE_SELECTED;
    }
}

/* Can this use of a state be left out? Marks use states only for their results: END to
 * blend the old state into the next one, TEST where all lanes leave together. */
static bool is_vain(const NativeFunction *f, const NativeRegion *own, bool end,
                    uint32_t value)
{
    return value < f->valid && (!(f->values[value].flags & NATIVE_KEPT) ||
                                (end && own->joint));
}

/* Values take the place of states behind this step: a state is needed here, and no more
 * after, to become its next value, as in lanes that are not active it keeps the last
 * one. */
static void settle(Steps *b, uint32_t at, uint32_t step)
{
    NativeFunction *f = b->f;
    for (uint32_t v = f->becomes[at].first; v; v = f->becomes[v].next) {
        const NativeRegion *own = &f->regions[f->becomes[v].region];
        NativeValue *state = &f->values[f->becomes[v].state];
        if (state->next != NATIVE_NEVER && state->next != own->end_step)
            continue;
        f->values[v].role |= NATIVE_SETTLES;
        forget(&b->now, state);
        if (state->flags & NATIVE_KEPT && !own->joint)
            use(&b->now, state, step);
    }
}

static void link_mark(Steps *b, const Inst *inst, uint32_t step)
{
    NativeFunction *f = b->f;
    NativeRegion *own = &f->regions[inst->aux];
    b->single |= b->p->regions[inst->aux].kind == REGION_CALL;
    if (inst->op == OP_REGION) {
        uint32_t before = own->pressure;
        note_region_masks(b, own);
        own->pressure = b->now.most;
        if (before > b->now.most)
            b->now.most = before;
        for (uint32_t k = 0; k < own->carried_count; ++k)
            if (f->carried[own->carried + k] != NATIVE_NO_VALUE)
                kill(&b->now, &f->values[f->carried[own->carried + k]]);
        return;
    }
    bool end = inst->op == OP_END;
    for (uint32_t i = own->uses[end]; i < own->uses[end] + own->use_count[end]; ++i)
        f->use_next[i] = f->values[f->uses[i]].next;
    uint32_t states = end ? own->state_uses : own->use_count[0];
    if (b->p->regions[inst->aux].kind != REGION_LOOP)
        states = 0;
    states += own->uses[end];
    for (uint32_t i = own->uses[end]; i < own->uses[end] + own->use_count[end]; ++i)
        if (i >= states || !is_vain(f, own, end, f->uses[i]))
            use(&b->now, &f->values[f->uses[i]], step);
        else if (end)
            forget(&b->now, &f->values[f->uses[i]]);
    if (end) {
        note_merges(b, inst, own);
        own->end_step = step;
        own->pressure = b->now.most; /* until the REGION is met */
        b->now.most = b->now.alive;
    }
}

/* Mask registers that a row with a mask as result needs: for operands, the result,
 * temporaries. */
static void note_masks(const Steps *b, const Inst *inst)
{
    NativeFunction *f = b->f;
    uint32_t masks = 1;
    if (inst->count && f->values[program_args(b->p, inst)[0]].type == VarTypeBool)
        masks = inst->count + 1u + (inst->op == OP_SELECT);
    f->masks = masks > f->masks ? masks : f->masks;
}

/* Before a packet's step, the items that it computes are not. */
static void kill_items(Steps *b, uint32_t packet)
{
    for (uint32_t k = 0; k < program_item_count(&b->p->insts[packet]); ++k) {
        uint32_t item = find_item(b, packet, k);
        if (item != NATIVE_NO_VALUE)
            kill(&b->now, &b->f->values[item]);
    }
}

/* Reads first: an operand may occur twice. */
static void link_step(Steps *b, uint32_t at, uint32_t step)
{
    NativeFunction *f = b->f;
    const Inst *inst = &b->p->insts[at];
    const uint32_t *args = program_args(b->p, inst);
    NativeStep *s = &f->steps[step];
    uint32_t *next = inst->count > INST_ARGS ? f->extra_next + inst->arg[0] : s->next;
    uint32_t count = program_computed_args(inst);
    s->at = at;
    if (program_item_count(inst))
        kill_items(b, at);
    b->single |= NATIVE_SINGLE(inst->op, op_info[inst->op].group);
    if (inst->op == OP_LOCAL)
        f->local_rows += inst->aux + 1;
    if (inst->type == VarTypeBool)
        note_masks(b, inst);
    if (f->values[at].role & NATIVE_SETTLER)
        settle(b, at, step);
    kill(&b->now, &f->values[at]);
    for (uint32_t k = 0; k < count; ++k)
        next[k] = f->values[f->root[args[k]]].next;
    if (op_info[inst->op].group == GROUP_MARK)
        link_mark(b, inst, step);
    const uint32_t unused = native_runs_index(b->n, b->p, inst);
    for (uint32_t k = 0; k < count; ++k)
        if (k != unused)
            use(&b->now, &f->values[f->root[args[k]]], step);
    if (b->now.alive > b->now.most)
        b->now.most = b->now.alive;
}

/* A pointer that is used as a value is computed like one. */
static void mark_pointers(const Steps *b, const Inst *inst)
{
    NativeFunction *f = b->f;
    const uint32_t *args = program_args(b->p, inst);
    for (uint32_t k = 0; k < inst->count; ++k) {
        uint32_t value = f->root[args[k]];
        if (value < f->valid && f->values[value].type == VarTypePointer &&
            b->p->insts[value].op == OP_PARAM && !native_is_address(inst, k))
            f->values[value].flags |= NATIVE_STEP | NATIVE_ODD;
    }
}

static void mark_operands(const Steps *b, const Inst *inst)
{
    NativeFunction *f = b->f;
    const uint32_t *args = program_args(b->p, inst);
    const uint32_t unused = native_runs_index(b->n, b->p, inst);
    for (uint32_t k = 0; k < inst->count; ++k)
        if (k != unused) {
            f->values[args[k]].flags |= NATIVE_LIVE;
            f->values[f->root[args[k]]].flags |= NATIVE_LIVE;
        }
    if (b->scan->pointers)
        mark_pointers(b, inst);
}

static void note_uniform(Steps *b, uint32_t at)
{
    if (b->failed || !vec_reserve(&b->uniform, &b->uniform_capacity,
                                  b->uniform_count + 1, sizeof(uint32_t))) {
        b->failed = true;
        return;
    }
    b->uniform[b->uniform_count++] = at;
    b->f->values[at].flags |= NATIVE_UNIFORM;
    if (b->p->insts[at].op == OP_GATHER_PACKET)
        for (uint32_t k = 0; k < b->p->insts[at].aux; ++k)
            if (find_item(b, at, k) != NATIVE_NO_VALUE)
                b->f->values[find_item(b, at, k)].flags |= NATIVE_UNIFORM;
}

/* An instruction that somebody needs, whatever it is. Returns the first step so far. */
static uint32_t make_any(Steps *b, uint32_t at, uint32_t step)
{
    NativeFunction *f = b->f;
    const Inst *inst = &b->p->insts[at];
    uint16_t flags = f->values[at].flags;
    if (!(flags & NATIVE_STEP)) {
        if (inst->op == OP_RESULT) /* which may have been renamed */
            f->values[f->root[at]].flags |= NATIVE_KEPT;
        else if (flags & NATIVE_RENAMES)
            f->values[inst->arg[0]].flags |= NATIVE_LIVE;
        return step;
    }
    mark_operands(b, inst);
    if (f->self == PROGRAM_NONE && inst->flags & INST_UNIFORM)
        note_uniform(b, at);
    else
        link_step(b, at, --step);
    return step;
}

/* The same for most instructions, those that are not odd: without branches. There
 * are always three operands, of which those that are missing are the value behind the
 * last one. The last operand first: where an operand occurs twice, the first one is
 * needed next in this step, and the last one in a later one. */
static inline void make_plain(const Steps *b, Alive *now, uint32_t at,
                              uint32_t step)
{
    const NativeFunction *f = b->f;
    const Inst *inst = &b->p->insts[at];
    NativeValue *values = f->values;
    NativeValue *third = &values[native_short_operand(f, inst, 2)];
    NativeValue *second = &values[native_short_operand(f, inst, 1)];
    NativeValue *first = &values[native_short_operand(f, inst, 0)];
    NativeStep *s = &f->steps[step];
    s->at = at;
    kill(now, &values[at]);
    s->next[2] = third->next;
    use(now, third, step);
    s->next[1] = second->next;
    use(now, second, step);
    s->next[0] = first->next;
    use(now, first, step);
    now->most = now->alive > now->most ? now->alive : now->most;
}

/* Steps are written after what is left of the candidates. */
static void make_steps(Steps *b)
{
    const Program *p = b->p;
    NativeFunction *f = b->f;
    uint32_t step = f->step_end = p->inst_count;
    bool masks = b->n->target->registers[NATIVE_MASK];
    Alive now = { 0 };
    for (uint32_t i = b->scan->candidates; i-- > 0;) {
        uint32_t at = f->steps[i].at;
        const Inst *inst = &p->insts[at];
        uint16_t flags = f->values[at].flags;
        bool used = f->values[at].next != NATIVE_NEVER;
        if (!(used | ((flags & (NATIVE_LIVE | NATIVE_EFFECT)) != 0)))
            continue;
        if (flags & NATIVE_ODD || inst->count > INST_ARGS) {
            b->now = now;
            step = make_any(b, at, step);
            now = b->now;
            continue;
        }
        if (masks && inst->type == VarTypeBool)
            note_masks(b, inst);
        if (b->scan->renamed | b->scan->pointers)
            mark_operands(b, inst);
        make_plain(b, &now, at, --step);
    }
    f->packet = step;
    f->pressure = now.most;
    b->now = now;
    for (uint32_t i = 0; i < b->uniform_count; ++i)
        link_step(b, b->uniform[i], --step);
    f->step_begin = step;
    f->single = b->single;
}

bool native_steps(const Native *n, NativeFunction *f, const NativeScan *scan)
{
    Steps b = { .n = n, .f = f, .p = f->program, .scan = scan };
    make_steps(&b);
    alloc_free(b.uniform);
    return !b.failed;
}
