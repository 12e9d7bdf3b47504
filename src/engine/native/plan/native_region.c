/*
 * native_region.c -- loops and conditionals
 *
 *     loop                          conditional
 *         states into registers         true = mask & condition, false = mask &
 *         ~condition
 *     top: ........ snapshot            results = 0
 *         condition part                no lane in true? else
 *         active &= test                ........ snapshot
 *         none? exit .. snapshot        true side; results = true ? outputs : results
 *         body                          restore
 *         states = next states     else: no lane in false? exit
 *         restore (exact)               ........ snapshot
 *         jump to top                   false side; results = false ? outputs : results
 *     exit: resume                      restore
 *                                  exit:
 *
 * A conditional for all lanes whose false side computes nothing is a path that is
 * rarely taken: results start as the outputs of that side, and there is one jump.
 *
 * Where two paths meet, the registers must be the same on both (native_snapshot.c).
 *
 * States and results change although they have one number. They are either in a
 * register and not in their slot, or in their slot, as the snapshot has them.
 */
#include "engine/native/plan/native_emit.h"

static NativeValue *value_at(const Native *n, uint32_t value)
{
    return &n->f->values[value];
}

static NativeRegion *region_of(const Native *n)
{
    return &n->f->regions[n->inst->aux];
}

static const Region *region_info(const Native *n)
{
    return &n->f->program->regions[n->inst->aux];
}

/* ---- uses of marks */

/* Operands are done with: the next use of each is the one behind the mark. */
static void advance_operands(Native *n)
{
    for (uint32_t k = 0; k < n->inst->count; ++k)
        value_at(n, n->f->root[n->args[k]])->next = n->args_next[k];
}

static void release_operands(Native *n)
{
    advance_operands(n);
    for (uint32_t k = 0; k < n->inst->count; ++k)
        native_alloc_release(n, n->f->root[n->args[k]]);
}

/* The same with what TEST or ELSE (0), or END (1), uses beside its operands. */
static void advance(Native *n, uint32_t which)
{
    const NativeFunction *f = n->f;
    const NativeRegion *own = region_of(n);
    for (uint32_t i = own->uses[which]; i < own->uses[which] + own->use_count[which];
         ++i)
        value_at(n, f->uses[i])->next = f->use_next[i];
    advance_operands(n);
}

static void release_uses(Native *n, uint32_t which)
{
    const NativeRegion *own = region_of(n);
    for (uint32_t i = own->uses[which]; i < own->uses[which] + own->use_count[which];
         ++i)
        native_alloc_release(n, n->f->uses[i]);
    release_operands(n);
}

static uint32_t own_mask(const Native *n, bool second)
{
    return native_region_mask(n->f, n->inst->aux, second);
}

static uint32_t carried(const Native *n, const NativeRegion *own, uint32_t k)
{
    uint32_t value = n->f->carried[own->carried + k];
    return value != NATIVE_NO_VALUE && value_at(n, value)->flags & NATIVE_LIVE
               ? value
               : NATIVE_NO_VALUE;
}

/* A mask in lanes of 32 bits, in a register. */
static NativeReg use_mask(Native *n, uint32_t value, uint32_t bits)
{
    const NativeValue *v = value_at(n, value);
    NativeReg reg = native_alloc_load(n, value);
    if (v->class == NATIVE_MASK || v->bits == bits)
        return reg;
    NativeReg to = native_temp(n);
    n->target->convert_mask(n, to, reg, bits);
    return to;
}

static NativeClass mask_class(const Native *n)
{
    return n->target->registers[NATIVE_MASK] ? NATIVE_MASK : NATIVE_VECTOR;
}

static void bind_mask(Native *n, uint32_t value, NativeReg reg)
{
    value_at(n, value)->bits = 32;
    native_alloc_bind(n, value, reg);
}

/* Lanes that enter a loop: operand 0, without those behind the end, which might never
 * leave. Conditionals need not care, as what touches memory does. */
static NativeReg take_entering(Native *n)
{
    NativeReg to = native_alloc_take(n, mask_class(n));
    NativeReg mask = use_mask(n, n->f->root[n->args[0]], 32);
    value_at(n, n->f->valid)->next = n->step + 1;
    n->target->and_mask(n, to, mask, native_alloc_load(n, n->f->valid));
    if (n->copies > 1) /* few masks, and nothing else needs it */
        native_alloc_drop(n, n->f->valid);
    return to;
}

static void jump_if_none(Native *n, uint32_t mask, NativeLabel label)
{
    const NativeValue *v = value_at(n, mask);
    n->cpu->jump_if_none(n, v->reg, v->bits, label);
}

/* Where iterations are counted, nobody is active any more when there are none left. */
static void jump_back(Native *n, const NativeRegion *own)
{
    const NativeValue *active = value_at(n, own_mask(n, true));
    if (!own->most) {
        n->cpu->loop_back(n, own->label[0]);
        return;
    }
    n->cpu->count_back(n, own->label[0]);
    if (active->reg != NATIVE_NO_REG)
        n->target->literal_mask(n, active->reg, false);
    else
        n->cpu->clear(n, value_at(n, own_mask(n, false))->slot);
    n->cpu->jump(n, own->label[0]);
}

/* mask ? a : b in a register; 'to' may be b's */
static void blend(Native *n, NativeReg to, uint32_t mask, uint32_t a, NativeReg b)
{
    const NativeValue *v = value_at(n, a);
    if (v->type == VarTypeBool) {
        NativeReg chosen = use_mask(n, a, 32);
        n->target->blend_mask(n, to, use_mask(n, mask, 32), chosen, b);
        return;
    }
    NativeReg chosen = native_alloc_load(n, a);
    n->target->blend(n, native_value_bytes(n, v), v->bits, to,
                     use_mask(n, mask, v->bits), chosen, b);
}

/* ---- states that become their next value behind their last user: only one of both
 * takes a register, or its slot, and nothing is left for the end of the loop ---- */

/* What the value has in lanes that are not active. */
static void settle_lanes(Native *n, uint32_t value, NativeNext next)
{
    NativeValue *v = value_at(n, value);
    (void) native_alloc_load(n, value);
    NativeReg old = native_alloc_load(n, next.state);
    uint32_t mask = native_region_mask(n->f, next.region, true);
    blend(n, old, mask, value, old);
    native_alloc_bind(n, value, old);
    if (v->flags & NATIVE_SPILLED)
        native_alloc_free_slot(n, v);
}

/* The value is in the state's slot, where the top of the loop expects it. */
static void settle_home(Native *n, uint32_t value, const NativeValue *state,
                        uint32_t end_step)
{
    NativeValue *v = value_at(n, value);
    (void) native_alloc_load(n, value);
    if (v->flags & NATIVE_SPILLED)
        native_alloc_free_slot(n, v);
    v->slot = state->slot;
    v->flags |= NATIVE_SPILLED | NATIVE_HOME;
    native_alloc_clean(n, value);
    if (v->next == end_step)
        native_alloc_drop(n, value);
}

static void settle(Native *n, uint32_t value)
{
    NativeNext next = n->f->becomes[value];
    const NativeRegion *own = &n->f->regions[next.region];
    NativeValue *state = value_at(n, next.state);
    bool blended = value_at(n, value)->role & NATIVE_BLENDED;
    if (state->flags & NATIVE_KEPT && !own->joint && !blended)
        settle_lanes(n, value, next);
    state->next = NATIVE_NEVER;
    native_alloc_drop(n, next.state);
    if (state->role & NATIVE_HOMED)
        settle_home(n, value, state, own->end_step);
    else if (state->flags & NATIVE_SPILLED)
        native_alloc_free_slot(n, state);
    native_alloc_unpin(n);
}

void native_region_settle(Native *n, uint32_t at)
{
    const NativeNext *becomes = n->f->becomes;
    for (uint32_t v = becomes[at].first; v && !n->failed; v = becomes[v].next)
        if (value_at(n, v)->role & NATIVE_SETTLES)
            settle(n, v);
}

/* ---- conditionals */

/* A copy of a value, in the form in which states and results are. */
static NativeReg take_copy(Native *n, uint32_t value)
{
    const NativeValue *v = value_at(n, value);
    NativeClass class = (NativeClass) v->class;
    NativeReg to = native_alloc_take(n, class);
    if (v->type == VarTypeBool && class == NATIVE_VECTOR && v->bits == 64)
        n->target->convert_mask(n, to, native_alloc_load(n, value), 32);
    else if (v->reg != NATIVE_NO_REG)
        n->cpu->move(n, class, native_value_bytes(n, v), to, v->reg);
    else
        native_alloc_fill(n, value, to);
    return to;
}

static bool occurs_once(const Native *n, uint32_t k)
{
    enum { MOST = 32 };
    if (n->inst->count > MOST)
        return false;
    uint32_t times = 0;
    for (uint32_t i = 0; i < n->inst->count; ++i)
        times += n->f->root[n->args[i]] == n->f->root[n->args[k]];
    return times == 1;
}

static bool is_plain(const NativeValue *v)
{
    return v->type != VarTypeBool || v->bits == 32;
}

/* The value of operand k for another number, in the register that it leaves or a new
 * one. The operands are advanced. */
static NativeReg take_operand(Native *n, uint32_t k)
{
    uint32_t value = n->f->root[n->args[k]];
    const NativeValue *v = value_at(n, value);
    bool leaves = v->reg != NATIVE_NO_REG && !native_snapshot_needs(n, v) &&
                  is_plain(v) && occurs_once(n, k);
    return leaves ? v->reg : take_copy(n, value);
}

bool native_region_is_one_sided(const Native *n, uint32_t region)
{
    const NativeFunction *f = n->f;
    const Program *p = f->program;
    const Region *r = &p->regions[region];
    uint32_t mask = f->root[program_args(p, &p->insts[r->begin])[0]];
    return r->kind == REGION_IF && f->values[mask].source == NATIVE_LITERAL &&
           native_alloc_literal(n, mask) &&
           f->steps[f->regions[region].end_step - 1].at == r->middle;
}

/* The operands of END are values from before, so they can be had here. */
static void begin_one_sided(Native *n, NativeRegion *own)
{
    const Program *program = n->f->program;
    const uint32_t *outputs =
        program_args(program, &program->insts[region_info(n)->end]);
    advance_operands(n);
    bind_mask(n, own_mask(n, false), take_operand(n, 1));
    release_operands(n);
    native_alloc_unpin(n);
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t result = carried(n, own, k);
        if (result == NATIVE_NO_VALUE)
            continue;
        native_alloc_bind(n, result, take_copy(n, n->f->root[outputs[k]]));
        native_alloc_unpin(n);
    }
}

/* Results start as 0. */
static void begin_two_sided(Native *n, NativeRegion *own)
{
    const NativeTarget *t = n->target;
    advance_operands(n);
    bind_mask(n, own_mask(n, true), take_operand(n, 0));
    native_alloc_unpin(n);
    NativeReg entering = native_alloc_load(n, own_mask(n, true));
    NativeReg condition = use_mask(n, n->f->root[n->args[1]], 32);
    NativeReg on_true = native_alloc_take(n, mask_class(n));
    t->and_mask(n, on_true, entering, condition);
    t->without_mask(n, entering, entering, condition);
    bind_mask(n, own_mask(n, false), on_true);
    release_operands(n);
    native_alloc_unpin(n);
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t result = carried(n, own, k);
        if (result == NATIVE_NO_VALUE)
            continue;
        NativeValue *v = value_at(n, result);
        NativeReg reg = native_alloc_take(n, (NativeClass) v->class);
        if (v->type == VarTypeBool)
            t->literal_mask(n, reg, false);
        else
            t->literal(n, v->bits, reg, 0);
        native_alloc_bind(n, result, reg);
        native_alloc_unpin(n);
    }
}

static void begin_if(Native *n)
{
    NativeRegion *own = region_of(n);
    own->one_sided = native_region_is_one_sided(n, n->inst->aux);
    if (own->one_sided)
        begin_one_sided(n, own);
    else
        begin_two_sided(n, own);
    own->label[0] = n->cpu->label(n);
    own->label[1] = n->cpu->label(n);
    native_alloc_load(n, own_mask(n, false));
    own->snapshot[0] = native_snapshot_take(n);
    jump_if_none(n, own_mask(n, false), own->label[0]);
}

/* Outputs of a side become results in the lanes of the side. */
static void end_side(Native *n, bool second)
{
    NativeRegion *own = region_of(n);
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t result = carried(n, own, k);
        if (result == NATIVE_NO_VALUE)
            continue;
        NativeReg reg = native_alloc_load(n, result);
        blend(n, reg, own_mask(n, second), n->f->root[n->args[k]], reg);
        native_value_set_clean(value_at(n, result), false);
        native_alloc_unpin(n);
    }
    advance(n, second);
    release_uses(n, second);
    native_snapshot_restore(n, own->snapshot[second], false);
    n->cpu->bind(n, own->label[second]);
}

void native_region_else(Native *n)
{
    NativeRegion *own = region_of(n);
    end_side(n, false);
    if (own->one_sided)
        return;
    native_alloc_load(n, own_mask(n, true));
    own->snapshot[1] = native_snapshot_take(n);
    jump_if_none(n, own_mask(n, true), own->label[1]);
}

/* ---- loops */

static void begin_states(Native *n, const NativeRegion *own)
{
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t state = carried(n, own, k);
        if (state == NATIVE_NO_VALUE)
            continue;
        native_alloc_bind(n, state, take_operand(n, k + 1));
        native_value_set_clean(value_at(n, state), false);
        native_alloc_unpin(n);
    }
}

/* Vectors from outside that the loop uses, which can be evicted without a store. */
static uint32_t count_invariants(const Native *n, const NativeRegion *own)
{
    const uint32_t *uses = n->f->uses + own->uses[1];
    uint32_t count = 0;
    for (uint32_t i = own->state_uses; i < own->use_count[1]; ++i) {
        const NativeValue *v = value_at(n, uses[i]);
        count += v->source == NATIVE_COMPUTED && v->class == NATIVE_VECTOR;
    }
    return count;
}

/* The state in a register that the loop needs last; NATIVE_NO_VALUE if there is
 * none. */
static uint32_t find_last_state(const Native *n, const NativeRegion *own)
{
    uint32_t last = NATIVE_NO_VALUE;
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t state = carried(n, own, k);
        if (state == NATIVE_NO_VALUE || value_at(n, state)->reg == NATIVE_NO_REG ||
            value_at(n, state)->class != NATIVE_VECTOR)
            continue;
        if (last == NATIVE_NO_VALUE ||
            value_at(n, state)->next > value_at(n, last)->next)
            last = state;
    }
    return last;
}

/* As many states as there are no registers for begin each iteration in their slots:
 * one that is evicted inside of the body has to be brought back at its end. */
static void send_states_home(Native *n, const NativeRegion *own, uint32_t registers)
{
    uint32_t wanted = registers + count_invariants(n, own), away = 0;
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t state = carried(n, own, k);
        away += state != NATIVE_NO_VALUE && value_at(n, state)->reg == NATIVE_NO_REG;
    }
    for (; own->pressure > wanted + away; ++away) {
        uint32_t state = find_last_state(n, own);
        if (state == NATIVE_NO_VALUE)
            return;
        native_alloc_clean(n, state);
        native_alloc_drop(n, state);
    }
}

/* Values that the loop does not use make way if it needs many registers. Those that it
 * uses are stored once, before it. */
static void prepare_loop(Native *n, const NativeRegion *own)
{
    enum { SPARE = 3, FREE = 2 };
    uint32_t share = native_alloc_share(n, NATIVE_VECTOR);
    uint32_t registers = (uint32_t) __builtin_popcount(share);
    bool tight = own->pressure + SPARE > registers;
    for (uint32_t k = 0; k < own->carried_count; ++k)
        if (carried(n, own, k) != NATIVE_NO_VALUE)
            value_at(n, carried(n, own, k))->flags |= NATIVE_WANTED;
    for (uint32_t class = 0; class < NATIVE_FILES; ++class) {
        NativeFile *file = &n->files[class];
        for (uint32_t set = file->all & ~file->free; set; set &= set - 1) {
            uint32_t value = file->owner[__builtin_ctz(set)];
            const NativeValue *v = value_at(n, value);
            if (v->flags & NATIVE_WANTED || value == own_mask(n, false))
                continue;
            native_alloc_clean(n, value);
            if (tight && v->next > own->end_step)
                native_alloc_drop(n, value);
        }
        NativeReg spare[FREE];
        uint32_t count = file->all ? FREE : 0;
        for (uint32_t i = 0; i < count; ++i)
            spare[i] = native_alloc_take(n, (NativeClass) class);
        for (uint32_t i = 0; i < count; ++i)
            native_alloc_give(n, (NativeClass) class, spare[i]);
    }
    for (uint32_t k = 0; k < own->carried_count; ++k)
        if (carried(n, own, k) != NATIVE_NO_VALUE)
            value_at(n, carried(n, own, k))->flags &= (uint16_t) ~NATIVE_WANTED;
    send_states_home(n, own, registers - SPARE);
}

/* Slots in which the top of the loop expects states are kept to its end, also those of
 * states that the body does not need that long. */
static void keep_homes(Native *n, const NativeRegion *own, bool keep)
{
    for (uint32_t k = 0; k <= own->carried_count; ++k) {
        uint32_t value =
            k < own->carried_count ? carried(n, own, k) : own_mask(n, false);
        if (value == NATIVE_NO_VALUE)
            continue;
        NativeValue *v = value_at(n, value);
        if (keep && v->reg == NATIVE_NO_REG) {
            v->flags |= NATIVE_HOME;
            v->role |= NATIVE_HOMED;
        } else if (!keep && v->flags & NATIVE_HOME) {
            v->flags &= (uint16_t) ~NATIVE_HOME;
            v->role &= (uint8_t) ~NATIVE_HOMED;
            native_alloc_release(n, value);
        }
    }
}

static void begin_loop(Native *n)
{
    NativeRegion *own = region_of(n);
    bind_mask(n, own_mask(n, false), take_entering(n));
    native_alloc_unpin(n);
    advance_operands(n);
    begin_states(n, own);
    release_operands(n);
    prepare_loop(n, own);
    own->label[0] = n->cpu->label(n);
    own->label[1] = n->cpu->label(n);
    own->snapshot[0] = native_snapshot_take(n);
    keep_homes(n, own, true);
    n->counts = own->most;
    if (own->most)
        n->cpu->count(n, own->most);
    n->cpu->bind(n, own->label[0]);
}

/* Slots that states have here are those in which they leave the loop. */
static void keep_slots(Native *n, const NativeRegion *own)
{
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t state = carried(n, own, k);
        if (state != NATIVE_NO_VALUE && value_at(n, state)->flags & NATIVE_SPILLED)
            value_at(n, state)->flags |= NATIVE_HOME;
    }
}

void native_region_test(Native *n)
{
    NativeRegion *own = region_of(n);
    uint32_t value = n->f->root[n->args[0]];
    NativeReg to = use_mask(n, value, 32);
    bool last = n->f->use_next[own->uses[0]] == NATIVE_NEVER; /* of the old mask */
    if (value == own_mask(n, false)) { /* the number of iterations is all */
        to = last ? to : take_copy(n, value);
    } else if (!(value_at(n, value)->flags & NATIVE_INSIDE)) {
        NativeReg test = to, active = native_alloc_load(n, own_mask(n, false));
        to = last ? active : native_alloc_take(n, mask_class(n));
        n->target->and_mask(n, to, active, test);
    }
    bind_mask(n, own_mask(n, true), to);
    advance(n, 0);
    own->snapshot[1] = native_snapshot_take(n);
    keep_slots(n, own);
    jump_if_none(n, own_mask(n, true), own->label[1]);
    release_uses(n, 0);
}

/* A value that the body computed and nobody needs any more. */
static bool can_rename(const Native *n, uint32_t k)
{
    uint32_t value = n->f->root[n->args[k]];
    const NativeValue *v = value_at(n, value);
    return v->reg != NATIVE_NO_REG && v->source == NATIVE_COMPUTED && is_plain(v) &&
           !(v->flags & (NATIVE_UNIFORM | NATIVE_WANTED)) && value < n->f->valid &&
           value > region_info(n)->begin && n->args_next[k] == NATIVE_NEVER &&
           !(v->role & NATIVE_TWICE);
}

/* The next value of state k, in a register. */
static NativeReg next_state(Native *n, uint32_t state, uint32_t k)
{
    uint32_t out = n->f->root[n->args[k]];
    NativeValue *v = value_at(n, state);
    bool blended = value_at(n, out)->role & NATIVE_BLENDED || region_of(n)->joint;
    if (!(v->flags & NATIVE_KEPT) || out == state || blended)
        return can_rename(n, k) ? value_at(n, out)->reg : take_copy(n, out);
    NativeReg old = native_alloc_load(n, state);
    NativeReg to =
        v->flags & NATIVE_WANTED ? native_alloc_take(n, (NativeClass) v->class) : old;
    blend(n, to, own_mask(n, true), out, old);
    return to;
}

/* Has the next value of state k taken its place? */
static bool settled(const Native *n, uint32_t k)
{
    return value_at(n, n->f->root[n->args[k]])->role & NATIVE_SETTLES;
}

/* States that are the next value of another one must keep theirs until the end. */
static void mark_exchanged(Native *n, bool mark)
{
    for (uint32_t k = 0; k < n->inst->count; ++k) {
        uint32_t value = n->f->root[n->args[k]];
        NativeValue *v = value_at(n, value);
        v->next = mark ? n->step : n->args_next[k];
        if (value >= n->f->valid)
            continue;
        Op op = (Op) n->f->program->insts[value].op;
        if (op == OP_STATE || op == OP_RESULT)
            v->flags = (uint16_t) (mark ? v->flags | NATIVE_WANTED
                                        : v->flags & ~NATIVE_WANTED);
    }
}

/* The value that becomes state k; NATIVE_NO_VALUE if nobody needs that. */
static uint32_t successor(const Native *n, const NativeRegion *own, uint32_t k)
{
    uint32_t value = n->f->root[n->args[k]];
    if (carried(n, own, k) == NATIVE_NO_VALUE)
        return NATIVE_NO_VALUE;
    return settled(n, k) ? value : native_region_incoming(n->f, own, k);
}

static void compute_states(Native *n, const NativeRegion *own)
{
    mark_exchanged(n, true);
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t state = carried(n, own, k);
        if (state == NATIVE_NO_VALUE || settled(n, k))
            continue;
        const NativeValue *v = value_at(n, state);
        uint32_t incoming = native_region_incoming(n->f, own, k);
        *value_at(n, incoming) = (NativeValue){ .next = n->step,
                                                .slot = NATIVE_NO_SLOT,
                                                .reg = NATIVE_NO_REG,
                                                .class = v->class,
                                                .bits = v->bits,
                                                .type = v->type };
        native_alloc_bind(n, incoming, next_state(n, state, k));
        native_alloc_unpin(n);
    }
    mark_exchanged(n, false);
}

/* A value goes to the slot of another one, which is not in a register. */
static void store_as(Native *n, uint32_t value, uint32_t home)
{
    const NativeValue *v = value_at(n, value);
    NativeReg reg = native_alloc_load(n, value);
    n->cpu->spill(n, (NativeClass) v->class, native_value_bytes(n, v),
                  native_alloc_slot(n, home), reg);
    native_alloc_unpin(n);
    value_at(n, value)->next = NATIVE_NEVER;
    native_alloc_release(n, value);
}

/* Where the top of the loop expects 'home', 'value' shall be. */
static void send_home(Native *n, NativeSnapshot *top, uint32_t home, uint32_t value)
{
    uint32_t class = value_at(n, home)->class;
    for (uint32_t r = 0; r < NATIVE_REGISTERS; ++r)
        if (top->owner[class][r] == home) {
            top->owner[class][r] = value;
            return;
        }
    if (!(value_at(n, value)->flags & NATIVE_HOME)) /* it is not there yet */
        store_as(n, value, home);
}

/* The next value of a state is where the top expects it. */
static void forget(Native *n, uint32_t value)
{
    if (value == NATIVE_NO_VALUE)
        return;
    NativeValue *v = value_at(n, value);
    v->next = NATIVE_NEVER;
    if (v->flags & NATIVE_HOME) { /* the slot is the state's */
        v->slot = NATIVE_NO_SLOT;
        v->flags &= (uint16_t) ~(NATIVE_HOME | NATIVE_SPILLED | NATIVE_CLEAN);
    }
    native_alloc_release(n, value);
}

static void end_loop(Native *n)
{
    NativeRegion *own = region_of(n);
    if (n->failed)
        return;
    compute_states(n, own);
    NativeSnapshot top = n->snapshots[own->snapshot[0]];
    for (uint32_t k = 0; k < own->carried_count; ++k)
        if (carried(n, own, k) != NATIVE_NO_VALUE)
            native_alloc_drop(n, carried(n, own, k));
    native_alloc_drop(n, own_mask(n, false));
    for (uint32_t k = 0; k < own->carried_count; ++k)
        if (carried(n, own, k) != NATIVE_NO_VALUE)
            send_home(n, &top, carried(n, own, k), successor(n, own, k));
    send_home(n, &top, own_mask(n, false), own_mask(n, true));
    native_snapshot_place(n, &top);
    jump_back(n, own);
    n->cpu->bind(n, own->label[1]);
    if (own->most)
        n->cpu->count_end(n);
    n->counts = false;
    for (uint32_t k = 0; k < own->carried_count; ++k)
        forget(n, successor(n, own, k));
    advance(n, 1);
    native_snapshot_resume(n, own->snapshot[1]);
    release_uses(n, 1);
    keep_homes(n, own, false);
}

/* ---- marks */

void native_region_begin(Native *n)
{
    switch ((RegionKind) region_info(n)->kind) {
    case REGION_LOOP:
        begin_loop(n);
        break;
    case REGION_IF:
        begin_if(n);
        break;
    default:
        native_dispatch_call(n);
    }
}

void native_region_end(Native *n)
{
    switch ((RegionKind) region_info(n)->kind) {
    case REGION_LOOP:
        end_loop(n);
        break;
    case REGION_IF:
        if (region_of(n)->one_sided) {
            advance(n, 1);
            release_uses(n, 1);
        } else {
            end_side(n, true);
        }
        break;
    default:
        break;
    }
}
