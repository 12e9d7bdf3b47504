/*
 * forms_scatter.c -- scatters that visit the active lanes one by one
 *
 *     indices, values --> stash;   for each bit of the mask: entry[index] op= value
 *
 * Each lane is one scalar instruction with the entry as its memory operand, atomic
 * where the mode asks for that. Atomic sums of floats do not exist.
 *
 * Private copies of a target (mode Expand) are added to by one thread only, so more can
 * be done at once. Indices often come in order, and then neighbours meet in one entry:
 * one lane would wait for the sum of the one before, about ten cycles. If at least half
 * of the lanes of a packet have the index of the lane before, the values of such runs
 * are summed first, all runs at once, in steps of 1, 2, 4, 8 lanes:
 *
 *     index    3  3  3  3  7  7  8  9
 *     value    a  b  c  d  e  f  g  h
 *     step 1   a  ab bc cd e  ef g  h
 *     step 2   a  ab .. ad e  ef g  h        only d, f, g, h are visited
 *
 * Where fewer do this takes longer than it saves. If the lanes of a packet have one
 * entry after the other, one vector is added. The first question asked, which is all
 * that indices in no order cost, is how many lanes have the entry of the lane before or
 * the next one: with four targets or more, at random, the answer can be predicted.
 */
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

static uint32_t log_size(VarType type)
{
    return (uint32_t) __builtin_ctz(type_info[type].size);
}

enum { STASH_VALUES = 64 /* behind the indices */ };

/* entry[index] op= value, from and to general registers: atomic, and for targets that
 * nobody else touches. By the logarithm of the entry's size. */
typedef struct LaneForm {
    uint16_t atomic[4], plain[4];
} LaneForm;

static const LaneForm lane_forms[ReduceOpCount] = {
    [ReduceOpIdentity] = { .atomic = { X86_MOV8_ST, X86_MOV16_ST, X86_MOV_ST,
                                       X86_MOV_ST } },
    [ReduceOpAdd] = { .atomic = { X86_LOCK_XADD8, X86_LOCK_XADD16, X86_LOCK_ADD,
                                  X86_LOCK_ADD },
                      .plain = { 0, 0, X86_ADD_ST, X86_ADD_ST } },
    [ReduceOpAnd] = { .atomic = { 0, 0, X86_LOCK_AND, X86_LOCK_AND },
                      .plain = { 0, 0, X86_AND_ST, X86_AND_ST } },
    [ReduceOpOr] = { .atomic = { 0, 0, X86_LOCK_OR, X86_LOCK_OR },
                     .plain = { 0, 0, X86_OR_ST, X86_OR_ST } },
};

/* The same in the first lane of a vector register, Float32 and Float64, plain. */
static const uint16_t float_forms[ReduceOpCount][2] = {
    [ReduceOpAdd] = { X86_VADDSS, X86_VADDSD },
    [ReduceOpMul] = { X86_VMULSS, X86_VMULSD },
};

/* The instruction, 0 if there is none. In mode Local, neighbours with one target shall
 * be combined first, which is done here for sums of integers only. */
static uint16_t find_form(ReduceOp op, ReduceMode mode, VarType type)
{
    bool plain = mode == ReduceModeNoConflicts || mode == ReduceModePermute ||
                 mode == ReduceModeExpand;
    uint32_t size = log_size(type);
    const LaneForm *forms = &lane_forms[op];
    if (op == ReduceOpIdentity)
        return forms->atomic[size];
    if (type_info[type].is_float)
        return plain && size >= 2 ? float_forms[op][size - 2] : 0;
    if (plain && forms->plain[size])
        return forms->plain[size];
    return plain || mode == ReduceModeDirect ? forms->atomic[size] : 0;
}

static X86Mem stash_place(NativeOperand stash, int32_t offset, NativeReg lane,
                          uint32_t shift)
{
    return x86_at_index(stash.base, lane, (int) shift, stash.disp + offset);
}

/* Masks are stored as bytes, all others as they are in registers. */
static void store_values(Native *n, VarType type, NativeReg value)
{
    NativeOperand to = native_stash(n);
    to.disp += STASH_VALUES;
    if (type == VarTypeBool)
        n->target->store(n, type, to, value, 32);
    else
        x86_mr(x86_native(n), X86_VMOVUPS_ST | forms_length(n, type), forms_mem(to),
               value);
}

static X86Form sum_form(VarType type)
{
    bool wide = type_info[type].size == 8;
    if (type_info[type].is_float)
        return wide ? X86_VADDPD : X86_VADDPS;
    return wide ? X86_VPADDQ : X86_VPADDD;
}

/* 16 bytes are left of the values in the stash, with the same sum. */
static void fused_values(Native *n, VarType type, NativeReg sum)
{
    X86 *x = x86_native(n);
    for (uint32_t bytes = native_bytes(n, type) / 2; bytes >= 16; bytes /= 2) {
        X86Form length = X86_LENGTH(bytes >> 5);
        X86Mem first = stash_place(native_stash(n), STASH_VALUES, X86_NO_INDEX, 0);
        X86Mem second = first;
        second.disp += (int32_t) bytes;
        x86_rm(x, X86_VMOVUPS | length, sum, first);
        x86_rrm(x, sum_form(type) | length, sum, sum, second);
        x86_mr(x, X86_VMOVUPS_ST | length, first, sum);
    }
}

/* What it takes to visit the lanes. */
typedef struct Visit {
    VarType type;
    uint16_t form;
    bool real, together;
    NativeReg base, mask, left, lane, entry, sum;
    /* With 'together': vectors and masks, these of 32-bit lanes and of the value's. */
    NativeReg moved, zero, neutral, same, wide, spare;
} Visit;

static void begin_runs(Native *n, Visit *v)
{
    bool masks = n->target->registers[NATIVE_MASK] != 0;
    bool wide = forms_bits(v->type) == 64;
    uint64_t sign = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    v->moved = native_temp(n);
    v->same = masks ? native_temp_mask(n) : native_temp(n);
    v->spare = masks ? native_temp_mask(n) : native_temp(n);
    v->wide = wide && !masks ? native_temp(n) : v->same;
    v->zero = native_const_reg(n, 32, 0);
    if (!masks)
        v->neutral = native_const_reg(n, forms_bits(v->type), v->real ? sign : 0);
}

/* For values of this type; operand k is the mask. */
static Visit begin_visit(Native *n, VarType type, uint16_t form, uint32_t k)
{
    uint32_t aux = native_inst(n)->aux;
    ReduceOp op = (ReduceOp) (aux & 0xff);
    Visit v = { .type = type, .form = form, .base = native_use_address(n, 0) };
    v.real = type_info[type].is_float && op != ReduceOpIdentity;
    v.together = (ReduceMode) (aux >> 8) == ReduceModeExpand && op == ReduceOpAdd &&
                 log_size(type) >= 2;
    v.mask = native_use_active(n, k, 32);
    v.left = native_temp_general(n);
    v.lane = native_temp_general(n);
    v.entry = native_temp_general(n);
    v.sum = v.real || v.together ? native_temp(n) : 0;
    if (v.together)
        begin_runs(n, &v);
    return v;
}

/* In the lane that is next: entry op= value. */
static void visit_lane(Native *n, const Visit *v)
{
    X86 *x = x86_native(n);
    uint32_t shift = log_size(v->type);
    bool bytes = v->type == VarTypeBool, wide = shift == 3;
    NativeOperand stash = native_stash(n);
    X86Mem value = stash_place(stash, STASH_VALUES, v->lane, bytes ? 0 : wide ? 3 : 2);
    if (v->real) {
        x86_rm(x, X86_MOV, v->entry, stash_place(stash, 0, v->lane, 2));
        X86Mem target = x86_at_index(v->base, v->entry, (int) shift, 0);
        x86_rm(x, wide ? X86_VMOVSD : X86_VMOVSS, v->sum, target);
        x86_rrm(x, v->form, v->sum, v->sum, value);
        x86_mr(x, wide ? X86_VMOVSD_ST : X86_VMOVSS_ST, target, v->sum);
        return;
    }
    X86Form width = wide ? X86_W : 0;
    x86_rm(x, (bytes ? X86_MOVZX8 : X86_MOV) | width, v->entry, value);
    x86_rm(x, X86_MOV, v->lane, stash_place(stash, 0, v->lane, 2));
    x86_mr(x, v->form | width, x86_at_index(v->base, v->lane, (int) shift, 0),
           v->entry);
}

/* ---- private copies: neighbours with one target, and targets that are neighbours */

/* lane = how many lanes have the index of the lane before or the next one, active or
 * not; 'moved' becomes the index of the lane before. */
static void count_neighbours(Native *n, const Visit *v, NativeReg index)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    forms_target(n)->move_up(n, 32, v->moved, index, 1);
    x86_rrr(x, X86_VPSUBD | length, v->sum, index, v->moved);
    forms_shift(n, X86_VPSRLD_I | length, v->sum, v->sum, 1);
    n->target->match(n, v->same, v->sum, v->zero);
    forms_target(n)->mask_to_general(n, v->lane, v->same, 32);
    x86_rr(x, X86_POPCNT, v->lane, v->lane);
}

/* same = lanes that have the index of the one before, both active. */
static void find_same(Native *n, const Visit *v, NativeReg index)
{
    const FormsTarget *t = forms_target(n);
    t->native.match(n, v->same, v->moved, index);
    t->native.and_mask(n, v->same, v->same, v->mask);
    t->move_mask_up(n, v->spare, v->mask, 1);
    t->native.and_mask(n, v->same, v->same, v->spare);
}

/* sum = in each lane, the values of its run up to there. In round k, 'same' has the
 * lanes whose run began at least 2^k lanes before. */
static void sum_runs(Native *n, const Visit *v, NativeReg value)
{
    X86 *x = x86_native(n);
    const FormsTarget *t = forms_target(n);
    X86Form length = forms_length(n, v->type), form = sum_form(v->type) | length;
    uint32_t bits = forms_bits(v->type), lanes = native_lanes(n);
    x86_rr(x, X86_VMOVUPS | length, v->sum, value);
    for (uint32_t distance = 1; distance < lanes; distance *= 2) {
        t->move_up(n, bits, v->moved, v->sum, distance);
        if (t->native.registers[NATIVE_MASK]) {
            x86_rrr(x, form | X86_K(v->same), v->sum, v->sum, v->moved);
        } else {
            if (v->wide != v->same)
                t->native.convert_mask(n, v->wide, v->same, 64);
            t->native.blend(n, native_bytes(n, v->type), bits, v->moved, v->wide,
                            v->moved, v->neutral);
            x86_rrr(x, form, v->sum, v->sum, v->moved);
        }
        if (2 * distance < lanes) {
            t->move_mask_up(n, v->spare, v->same, distance);
            t->native.and_mask(n, v->same, v->same, v->spare);
        }
    }
}

/* If every lane is active and has the entry behind that of the lane before: one vector
 * is added, and the code goes on at 'done'. */
static void add_row(Native *n, const Visit *v, NativeReg value, NativeReg index,
                    X86Label apart, X86Label done)
{
    X86 *x = x86_native(n);
    uint32_t all = (1u << native_lanes(n)) - 1;
    X86Form length = forms_length(n, v->type);
    forms_rrx(n, X86_VPADDD | forms_length(n, VarTypeUInt32), v->moved, v->moved,
              native_const(n, 32, 1));
    n->target->match(n, v->same, v->moved, index);
    forms_target(n)->mask_to_general(n, v->lane, v->same, 32);
    x86_ri(x, X86_OR_I, v->lane, 1);
    x86_rr(x, X86_AND, v->lane, v->left);
    x86_ri(x, X86_CMP_I, v->lane, (int32_t) all);
    x86_jcc(x, X86_CC_NE, apart);
    x86_rr(x, X86_VMOVD_ST, v->entry, index);
    X86Mem row = x86_at_index(v->base, v->entry, (int) log_size(v->type), 0);
    x86_rrm(x, sum_form(v->type) | length, v->sum, value, row);
    x86_mr(x, X86_VMOVUPS_ST | length, row, v->sum);
    x86_jmp(x, done);
}

/* What is left to visit are the last lanes of runs, if there are long ones; else the
 * code goes on at 'apart'. */
static void add_together(Native *n, const Visit *v, NativeReg value, NativeReg index,
                         X86Label apart, X86Label top, X86Label done)
{
    X86 *x = x86_native(n);
    X86Label single = x86_label(x);
    int32_t lanes = (int32_t) native_lanes(n);
    count_neighbours(n, v, index);
    x86_ri(x, X86_CMP_I, v->lane, 5 * lanes / 8);
    x86_jcc(x, X86_CC_B, apart);
    find_same(n, v, index);
    forms_target(n)->mask_to_general(n, v->lane, v->same, 32);
    x86_rr(x, X86_POPCNT, v->entry, v->lane);
    x86_ri(x, X86_CMP_I, v->entry, lanes / 2);
    x86_jcc(x, X86_CC_B, single);
    sum_runs(n, v, value);
    store_values(n, v->type, v->sum);
    x86_ri(x, X86_SHR_I, v->lane, 1);
    x86_rrr(x, X86_ANDN, v->left, v->lane, v->left);
    x86_jmp(x, top);
    x86_bind(x, single);
    add_row(n, v, value, index, apart, done);
}

static void visit(Native *n, const Visit *v, NativeReg value, NativeReg index)
{
    X86 *x = x86_native(n);
    X86Label top = x86_label(x), apart = x86_label(x), done = x86_label(x);
    x86_mr(x, X86_VMOVUPS_ST | forms_length(n, VarTypeUInt32),
           forms_mem(native_stash(n)), index);
    forms_target(n)->mask_to_general(n, v->left, v->mask, 32);
    if (v->together)
        add_together(n, v, value, index, apart, top, done);
    x86_bind(x, apart);
    store_values(n, v->type, value);
    x86_rr(x, X86_TEST, v->left, v->left);
    x86_jcc_short(x, X86_CC_E, done);
    x86_bind(x, top);
    x86_rr(x, X86_TZCNT, v->lane, v->left);
    visit_lane(n, v);
    x86_rr(x, X86_BLSR, v->left, v->left);
    x86_jcc(x, X86_CC_NE, top);
    x86_bind(x, done);
}

/* ---- mode Local: lanes with one target are summed first. As with counters, once a
 * lane has a target for itself, the others are likely to. */

typedef struct Group {
    VarType type;
    NativeReg base, value, index, active; /* operands */
    NativeReg left, entry, sum;           /* general */
    NativeReg same, wide, zero, part;
} Group;

static Group begin_group(Native *n, VarType type)
{
    bool masks = n->target->registers[NATIVE_MASK];
    Group g = { .type = type,
                .base = native_use_address(n, 0),
                .value = native_use(n, 1),
                .index = native_use(n, 2),
                .active = native_use_active(n, 3, 32),
                .left = native_temp_general(n),
                .entry = native_temp_general(n),
                .sum = native_temp_general(n),
                .part = native_temp(n) };
    g.zero = native_const_reg(n, forms_bits(type), 0);
    g.wide = g.same = masks ? native_temp_mask(n) : native_temp(n);
    if (!masks && forms_bits(type) == 64)
        g.wide = native_temp(n);
    return g;
}

static X86Mem group_target(const Group *g)
{
    return x86_at_index(g->base, g->entry, (int) log_size(g->type), 0);
}

/* The lanes in 'same': their sum is added to the entry. */
static void add_group(Native *n, const Group *g)
{
    X86 *x = x86_native(n);
    uint32_t size = type_info[g->type].size;
    X86Form width = size == 8 ? X86_W : 0;
    NativeOperand stash = native_stash(n);
    if (g->wide != g->same)
        n->target->convert_mask(n, g->wide, g->same, 64);
    n->target->blend(n, native_bytes(n, g->type), forms_bits(g->type), g->part, g->wide,
                     g->value, g->zero);
    store_values(n, g->type, g->part);
    fused_values(n, g->type, g->part);
    for (uint32_t at = 0; at < 16; at += size)
        x86_rm(x, (at ? X86_ADD : X86_MOV) | width, g->sum,
               stash_place(stash, (int32_t) (STASH_VALUES + at), X86_NO_INDEX, 0));
    x86_mr(x, X86_LOCK_ADD | width, group_target(g), g->sum);
}

static void add_singles(Native *n, const Group *g)
{
    X86 *x = x86_native(n);
    X86Form width = type_info[g->type].size == 8 ? X86_W : 0;
    NativeOperand stash = native_stash(n);
    X86Label top = x86_label(x);
    store_values(n, g->type, g->value);
    x86_bind(x, top);
    x86_rr(x, X86_TZCNT, g->entry, g->left);
    x86_rm(x, X86_MOV | width, g->sum,
           stash_place(stash, STASH_VALUES, g->entry, log_size(g->type)));
    x86_rm(x, X86_MOV, g->entry, stash_place(stash, 0, g->entry, 2));
    x86_mr(x, X86_LOCK_ADD | width, group_target(g), g->sum);
    x86_rr(x, X86_BLSR, g->left, g->left);
    x86_jcc(x, X86_CC_NE, top);
}

static void scatter_groups(Native *n, VarType type)
{
    X86 *x = x86_native(n);
    const FormsTarget *t = forms_target(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    Group g = begin_group(n, type);
    NativeOperand stash = native_stash(n);
    X86Label top = x86_label(x), apart = x86_label(x), done = x86_label(x);
    t->mask_to_general(n, g.left, g.active, 32);
    x86_rr(x, X86_TEST, g.left, g.left);
    x86_jcc(x, X86_CC_E, done);
    x86_mr(x, X86_VMOVUPS_ST | length, forms_mem(stash), g.index);
    x86_bind(x, top);
    x86_rr(x, X86_TZCNT, g.entry, g.left);
    x86_rm(x, X86_MOV, g.entry, stash_place(stash, 0, g.entry, 2));
    x86_rr(x, X86_VMOVD, g.part, g.entry);
    x86_rr(x, X86_VPBROADCASTD | length, g.part, g.part);
    t->native.match(n, g.same, g.part, g.index);
    t->native.and_mask(n, g.same, g.same, g.active);
    t->mask_to_general(n, g.sum, g.same, 32);
    x86_rr(x, X86_BLSR, g.sum, g.sum);
    x86_jcc(x, X86_CC_E, apart);
    t->mask_to_general(n, g.sum, g.same, 32);
    x86_rr(x, X86_XOR, g.left, g.sum);
    add_group(n, &g);
    x86_rr(x, X86_TEST, g.left, g.left);
    x86_jcc(x, X86_CC_NE, top);
    x86_jmp(x, done);
    x86_bind(x, apart);
    add_singles(n, &g);
    x86_bind(x, done);
}

static bool has_groups(const Native *n, VarType type)
{
    uint32_t aux = native_inst(n)->aux;
    return aux == (ReduceOpAdd | (uint32_t) ReduceModeLocal << 8) &&
           !type_info[type].is_float && type_info[type].size >= 4;
}

static uint16_t find_current(const Native *n, VarType type)
{
    uint32_t aux = native_inst(n)->aux;
    return find_form((ReduceOp) (aux & 0xff), (ReduceMode) (aux >> 8), type);
}

bool forms_scatter(Native *n, const NativeRow *row)
{
    (void) row;
    if (forms_runs_scatter(n))
        return true;
    VarType type = native_type(n, 1);
    uint16_t form = find_current(n, type);
    if (has_groups(n, type)) {
        scatter_groups(n, type);
        return true;
    }
    if (!form)
        return false;
    bool mask = type == VarTypeBool;
    NativeReg value = mask ? native_use_mask(n, 1, 32) : native_use(n, 1);
    NativeReg index = native_use(n, 2);
    Visit v = begin_visit(n, type, form, 3);
    visit(n, &v, value, index);
    return true;
}

bool forms_scatter_each(Native *n)
{
    enum { FIRST_VALUE = 3 };
    VarType type = native_type(n, FIRST_VALUE);
    uint32_t count = native_inst(n)->count - FIRST_VALUE;
    uint16_t form = find_current(n, type);
    if (!form)
        return false;
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg index = native_temp(n);
    forms_scale(n, index, native_use(n, 1), count);
    Visit v = begin_visit(n, type, form, 2);
    for (uint32_t k = 0; k < count; ++k) {
        NativeReg value = native_use(n, FIRST_VALUE + k);
        visit(n, &v, value, index);
        n->files[NATIVE_VECTOR].pinned &= ~(1u << value);
        if (k + 1 < count)
            forms_rrx(n, X86_VPADDD | length, index, index, native_const(n, 32, 1));
    }
    return true;
}
