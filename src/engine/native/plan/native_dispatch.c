/*
 * native_dispatch.c -- calls of callables
 *
 * A callable is a function in the same piece of code. What goes in and out is in
 * memory, in an area that belongs to the caller (nobody calls itself, and of the calls
 * of one caller one is active at a time, so each caller has one area), in vectors:
 *
 *     mask | outputs ... | inputs ... | lanes that are left | numbers
 *
 * The caller takes the number of the first lane that is left and calls that callable
 * for all lanes with this number. If lanes are left then, and there are few callables,
 * each of them is called that has a lane: which ones these are is easier to predict for
 * the processor than the number of the first lane. With many, the caller goes on with
 * the first lane that is left. A callable writes its outputs in the lanes of its mask
 * only; they were 0 before. It leaves the address of the area where it was.
 *
 * If no callable calls another one, the first outputs that are not masks are not in the
 * area but in registers that callables use for nothing else (Native.outputs).
 */
#include "engine/native/plan/native_emit.h"

typedef struct Area {
    uint32_t outputs, inputs;
} Area;

static int32_t place_of(const Native *n, uint32_t number)
{
    return (int32_t) (number * n->target->vector_bytes);
}

static int32_t input_place(const Native *n, Area area, uint32_t k)
{
    return place_of(n, 1 + area.outputs + k);
}

/* Behind the inputs: 0 lanes left, 1 numbers. */
static int32_t state_place(const Native *n, Area area, uint32_t which)
{
    return input_place(n, area, area.inputs + which);
}

static void load_area(Native *n, NativeReg to)
{
    n->cpu->load_word(n, to,
                      native_memory_frame(n, offsetof(NativeFrame, slot) +
                                                 NATIVE_AREA_SLOT * sizeof(void *)));
    if (n->area_first)
        n->cpu->add(n, to, n->area_first);
}

/* ---- callables */

static uint32_t output_count(const Program *p)
{
    return p->insts[p->inst_count - 1].count;
}

NativeOperand native_dispatch_arg(const Native *n, uint32_t number)
{
    uint32_t place = number ? output_count(n->f->program) + number : 0;
    return native_at(n->cpu->inputs, (int32_t) (place * n->target->vector_bytes));
}

void native_dispatch_choose(Native *n)
{
    const Program *root = n->root_program;
    bool nested = false;
    for (uint32_t i = 0; i < root->callable_count; ++i)
        for (uint32_t r = 0; r < root->callables[i]->region_count; ++r)
            nested |= root->callables[i]->regions[r].kind == REGION_CALL;
    if (!nested && root->callable_count)
        n->outputs = n->target->outputs;
}

/* The register for output k of this type, NATIVE_NO_REG: it is in the area. */
static NativeReg output_register(const Native *n, uint32_t k, VarType type)
{
    uint32_t first = n->outputs ? (uint32_t) __builtin_ctz(n->outputs) : 0;
    if (k >= (uint32_t) __builtin_popcount(n->outputs) || type == VarTypeBool)
        return NATIVE_NO_REG;
    return (NativeReg) (first + k);
}

static VarType output_type(const Program *p, uint32_t k)
{
    const Inst *last = &p->insts[p->inst_count - 1];
    return (VarType) p->insts[program_args(p, last)[k]].type;
}

static void move_outputs(Native *n, bool save)
{
    const Program *p = n->f->program;
    if (n->f->self == PROGRAM_NONE)
        return;
    for (uint32_t k = 0; k < output_count(p); ++k) {
        VarType type = output_type(p, k);
        NativeReg reg = output_register(n, k, type);
        NativeOperand place = native_dispatch_arg(n, 0);
        place.disp += (int32_t) ((1 + k) * n->target->vector_bytes);
        if (reg == NATIVE_NO_REG)
            continue;
        if (save)
            n->cpu->spill(n, NATIVE_VECTOR, native_bytes(n, type), place, reg);
        else
            n->cpu->reload(n, NATIVE_VECTOR, native_bytes(n, type), reg, place);
    }
}

void native_dispatch_save(Native *n)
{
    move_outputs(n, true);
}

void native_dispatch_restore(Native *n)
{
    move_outputs(n, false);
}

void native_dispatch_enter(Native *n)
{
    n->cpu->enter_callable(n, n->entries[n->f->self]);
}

static NativeReg reload_mask(Native *n, NativeOperand from, uint32_t bits)
{
    bool vectors = !n->target->registers[NATIVE_MASK];
    NativeReg mask = vectors ? native_temp(n) : native_temp_mask(n);
    n->cpu->reload(n, vectors ? NATIVE_VECTOR : NATIVE_MASK, 4 * n->lanes, mask, from);
    if (!vectors || bits == 32)
        return mask;
    NativeReg wide = native_temp(n);
    n->target->convert_mask(n, wide, mask, 64);
    return wide;
}

/* One that the steps of the function do not know. */
static NativeReg take_like(Native *n, const NativeValue *v)
{
    return v->class == NATIVE_MASK ? native_temp_mask(n) : native_temp(n);
}

static void write_output(Native *n, uint32_t k)
{
    uint32_t value = n->f->root[n->args[k]];
    const NativeValue *v = &n->f->values[value];
    const NativeTarget *t = n->target;
    NativeOperand place = native_dispatch_arg(n, 0);
    bool is_mask = v->type == VarTypeBool;
    uint32_t bits = is_mask ? 32 : v->bits;
    NativeReg mask = reload_mask(n, place, bits), reg = native_alloc_load(n, value);
    if (v->bits != bits) {
        NativeReg narrow = native_temp(n);
        t->convert_mask(n, narrow, reg, bits);
        reg = narrow;
    }
    NativeReg kept = output_register(n, k, (VarType) v->type);
    if (kept != NATIVE_NO_REG) {
        t->blend(n, native_value_bytes(n, v), bits, kept, mask, reg, kept);
        native_alloc_unpin(n);
        return;
    }
    NativeReg old = take_like(n, v);
    place.disp += (int32_t) ((1 + k) * n->target->vector_bytes);
    n->cpu->reload(n, (NativeClass) v->class, bits / 8 * n->lanes, old, place);
    if (is_mask)
        t->blend_mask(n, old, mask, reg, old);
    else
        t->blend(n, native_value_bytes(n, v), bits, old, mask, reg, old);
    n->cpu->spill(n, (NativeClass) v->class, bits / 8 * n->lanes, place, old);
    native_alloc_unpin(n);
}

void native_dispatch_return(Native *n)
{
    for (uint32_t k = 0; k < n->inst->count; ++k)
        write_output(n, k);
    n->cpu->leave_callable(n);
}

/* ---- calls */

static void write_input(Native *n, uint32_t k, int32_t place)
{
    uint32_t value = n->f->root[n->args[k]];
    const NativeValue *v = &n->f->values[value];
    uint32_t bits = v->type == VarTypeBool ? 32 : v->bits;
    NativeReg reg = native_alloc_load(n, value);
    if (v->bits != bits) {
        NativeReg narrow = native_temp(n);
        n->target->convert_mask(n, narrow, reg, bits);
        reg = narrow;
    }
    NativeReg area = native_temp_general(n);
    load_area(n, area);
    n->cpu->spill(n, (NativeClass) v->class, bits / 8 * n->lanes,
                  native_at(area, place), reg);
    native_alloc_unpin(n);
}

static NativeClass mask_class(const Native *n)
{
    return n->target->registers[NATIVE_MASK] ? NATIVE_MASK : NATIVE_VECTOR;
}

static void write_lanes(Native *n, Area area)
{
    NativeReg mask = native_use_active(n, 0, 32), base = native_temp_general(n);
    load_area(n, base);
    n->cpu->spill(n, mask_class(n), 4 * n->lanes,
                  native_at(base, state_place(n, area, 0)), mask);
    native_alloc_unpin(n);
}

static void clear_outputs(Native *n, const Program *target, Area area)
{
    NativeReg zero = native_temp(n), base = native_temp_general(n);
    load_area(n, base);
    n->target->literal(n, 32, zero, 0);
    for (uint32_t k = 0; k < area.outputs; ++k) {
        NativeReg kept = output_register(n, k, output_type(target, k));
        if (kept != NATIVE_NO_REG)
            n->target->literal(n, 32, kept, 0);
        else
            n->cpu->spill(n, NATIVE_VECTOR, n->target->vector_bytes,
                          native_at(base, place_of(n, 1 + k)), zero);
    }
    native_alloc_unpin(n);
}

static NativeReg reload_left(Native *n, Area area)
{
    return reload_mask(n, native_at(n->cpu->area, state_place(n, area, 0)), 32);
}

/* Mask of the lanes that are left and have this number (a vector). */
static NativeReg match(Native *n, Area area, NativeReg number)
{
    NativeReg numbers = native_temp(n);
    NativeReg same =
        mask_class(n) == NATIVE_MASK ? native_temp_mask(n) : native_temp(n);
    n->cpu->reload(n, NATIVE_VECTOR, 4 * n->lanes, numbers,
                   native_at(n->cpu->area, state_place(n, area, 1)));
    n->target->match(n, same, numbers, number);
    NativeReg left = reload_left(n, area);
    n->target->and_mask(n, same, same, left);
    n->cpu->spill(n, mask_class(n), 4 * n->lanes,
                  native_at(n->cpu->area, place_of(n, 0)), same);
    return same;
}

/* The lanes that are left are noted; leave if there are none. */
static void leave_if_done(Native *n, Area area, NativeLabel done)
{
    NativeReg left = reload_left(n, area);
    n->cpu->note_lanes(n, left, done);
    native_alloc_unpin(n);
}

/* The mask of lanes that are like the first one that is left; they are not left any
 * more. Their number is noted. */
static void take_first(Native *n, Area area)
{
    NativeReg number = native_temp(n);
    NativeOperand first =
        n->cpu->note_number(n, native_at(n->cpu->area, state_place(n, area, 1)));
    n->target->load_first(n, VarTypeUInt32, number, first);
    NativeReg same = match(n, area, number);
    NativeReg left = reload_left(n, area);
    n->target->without_mask(n, left, left, same);
    n->cpu->spill(n, mask_class(n), 4 * n->lanes,
                  native_at(n->cpu->area, state_place(n, area, 0)), left);
    native_alloc_unpin(n);
}

static NativeLabel entry_of(const Native *n, const Region *region, uint32_t target)
{
    return n->entries[n->f->program->extra[region->targets + target]];
}

/* Each callable that a lane is left for. */
static void call_each(Native *n, const Region *region, Area area)
{
    for (uint32_t i = 0; i < region->target_count; ++i) {
        NativeLabel next = n->cpu->label(n);
        NativeReg number = native_temp(n);
        n->target->literal(n, 32, number, i + 1);
        NativeReg lanes = match(n, area, number);
        n->cpu->jump_if_none(n, lanes, 32, next);
        n->cpu->call(n, entry_of(n, region, i));
        n->cpu->bind(n, next);
        native_alloc_unpin(n);
    }
}

static void call_targets(Native *n, const Region *region, Area area)
{
    const NativeCpu *cpu = n->cpu;
    bool few = region->target_count <= n->lanes / 2;
    load_area(n, cpu->area);
    NativeLabel next = cpu->label(n);
    cpu->bind(n, next);
    NativeLabel done = cpu->label(n);
    leave_if_done(n, area, done);
    take_first(n, area);
    NativeLabel others = few ? cpu->label(n) : next;
    cpu->check_number(n, region->target_count, others);
    NativeLabel table = cpu->label(n);
    if (region->target_count == 1)
        cpu->call(n, entry_of(n, region, 0));
    else
        cpu->call_number(n, table);
    if (few) {
        cpu->bind(n, others);
        leave_if_done(n, area, done);
        call_each(n, region, area);
    }
    cpu->jump(n, few ? done : next);
    if (region->target_count > 1) {
        cpu->begin_table(n, table);
        for (uint32_t i = 0; i < region->target_count; ++i)
            cpu->add_entry(n, entry_of(n, region, i), table);
    }
    cpu->bind(n, done);
}

static uint32_t live_result(const Native *n, const NativeRegion *own, uint32_t k)
{
    uint32_t result = n->f->carried[own->carried + k];
    bool live = result != NATIVE_NO_VALUE && n->f->values[result].flags & NATIVE_LIVE;
    return live ? result : NATIVE_NO_VALUE;
}

static NativeReg result_register(const Native *n, uint32_t k, uint32_t result)
{
    return result == NATIVE_NO_VALUE
               ? NATIVE_NO_REG
               : output_register(n, k, (VarType) n->f->values[result].type);
}

static void read_result(Native *n, uint32_t k, uint32_t result)
{
    const NativeValue *v = &n->f->values[result];
    NativeReg to = native_alloc_take(n, (NativeClass) v->class);
    NativeReg base = native_temp_general(n);
    load_area(n, base);
    n->cpu->reload(n, (NativeClass) v->class, native_value_bytes(n, v), to,
                   native_at(base, place_of(n, 1 + k)));
    native_alloc_bind(n, result, to);
    native_alloc_unpin(n);
}

/* Those in registers first, while no other value is in one. */
static void read_results(Native *n, const NativeRegion *own)
{
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t result = live_result(n, own, k);
        if (result_register(n, k, result) != NATIVE_NO_REG)
            native_alloc_bind(n, result, result_register(n, k, result));
    }
    for (uint32_t k = 0; k < own->carried_count; ++k) {
        uint32_t result = live_result(n, own, k);
        if (result != NATIVE_NO_VALUE && result_register(n, k, result) == NATIVE_NO_REG)
            read_result(n, k, result);
    }
}

void native_dispatch_call(Native *n)
{
    const Program *p = n->f->program;
    const Region *region = &p->regions[n->inst->aux];
    const NativeRegion *own = &n->f->regions[n->inst->aux];
    Area area = { own->carried_count, n->inst->count - 2u };
    uint32_t bytes = (area.outputs + area.inputs + 3) * n->target->vector_bytes;
    if (bytes > n->area_most)
        n->area_most = bytes;
    write_lanes(n, area);
    write_input(n, 1, state_place(n, area, 1));
    for (uint32_t k = 2; k < n->inst->count; ++k)
        write_input(n, k, input_place(n, area, k - 2));
    for (uint32_t k = 0; k < n->inst->count; ++k)
        n->f->values[n->f->root[n->args[k]]].next = n->args_next[k];
    native_alloc_flush(n);
    if (region->target_count) {
        uint32_t first = p->extra[region->targets];
        clear_outputs(n, n->root_program->callables[first], area);
        call_targets(n, region, area);
    }
    read_results(n, own);
}
