/*
 * forms_packet.c -- gathers and scatters of packets
 *
 * The entries of a packet are next to each other, so one load gets 16 bytes of them for
 * one lane, and a transpose makes vectors of all lanes. Items 0 to 3 of 32 bits, with
 * two parts of 128 bits:
 *
 *     row 0 | a0 a1 a2 a3 | e0 e1 e2 e3 |        item 0 | a0 b0 c0 d0 | e0 f0 g0 h0 |
 *     row 1 | b0 b1 b2 b3 | f0 f1 f2 f3 |        item 1 | a1 b1 c1 d1 | e1 f1 g1 h1 |
 *     row 2 | c0 c1 c2 c3 | g0 g1 g2 g3 |  --->  item 2 | a2 b2 c2 d2 | e2 f2 g2 h2 |
 *     row 3 | d0 d1 d2 d3 | h0 h1 h2 h3 |        item 3 | a3 b3 c3 d3 | e3 f3 g3 h3 |
 *
 * Two items of 64 bits are two rows, and of packets of two items of 32 bits each part
 * of a row has those of two lanes. If only one of these items is used, its entries are
 * loaded alone.
 *
 * Of packets whose size is not a multiple of 16 bytes, the last part is two moves of 8
 * and 4 bytes, or one of them: nothing behind the packet is touched, and on a Zen 4
 * this takes as long as masked moves (stores with masks of AVX2: 0.4 of the time).
 *
 * Of 16-bit entries, two are a word, which is loaded alone, and taken apart by shifts.
 *
 * Lanes that are masked off load packet 0, which exists if any lane is active; if none
 * is, all load from the frame. Scatters are the way back: 16 bytes of a lane are
 * stored, or read, added to and stored where only one thread has the target. Lanes that
 * are masked off do so in the frame.
 */
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

enum { ITEMS = 4 /* most in 16 bytes */ };

typedef struct Packet {
    VarType type;
    uint32_t count;        /* items */
    const uint32_t *items; /* numbers of their values */
    FormsEntries entries;  /* the packets' first ones */
    NativeReg active;
} Packet;

static bool is_wide(const Packet *p)
{
    return forms_bits(p->type) == 64;
}

static bool is_used(const Native *n, uint32_t item)
{
    return item != NATIVE_NO_VALUE && n->f->values[item].next != NATIVE_NEVER;
}

static NativeReg take(Native *n)
{
    return native_alloc_take(n, NATIVE_VECTOR);
}

/* Only temporaries stay where they are: callables on AVX2 have 14 registers. */
static void release_operands(Native *n)
{
    n->files[NATIVE_VECTOR].pinned = n->temps[NATIVE_VECTOR];
    n->keeps_operands = false;
}

/* The register holds item k. As there may be more items than registers, it may be
 * evicted from now on. */
static void finish(Native *n, const Packet *p, uint32_t k, NativeReg reg)
{
    if (is_used(n, p->items[k])) {
        forms_target(n)->keep(n, p->type, reg, reg, p->active);
        native_alloc_bind(n, p->items[k], reg);
        n->files[NATIVE_VECTOR].pinned &= ~(1u << reg);
    } else {
        native_alloc_give(n, NATIVE_VECTOR, reg);
    }
}

/* ---- loads */

/* Where 'item' is in two lanes, the first one of an even number. Indices come from
 * registers: on a Zen 4, what stores have written waits long before it can be loaded in
 * parts, so that sixteen gathers of four floats took 1.8 times as long. */
static void find_two(Native *n, const Packet *p, uint32_t lane, uint32_t item,
                     X86Mem at[2])
{
    const FormsEntries *e = &p->entries;
    uint32_t shift = is_wide(p) ? 3 : 2;
    int32_t disp = (int32_t) (item * type_info[p->type].size);
    forms_take_indices(n, e, lane);
    at[0] = x86_at_index(e->base, e->even, shift, disp);
    at[1] = x86_at_index(e->base, e->odd, shift, disp);
}

static X86Mem third_of(X86Mem at)
{
    at.disp += 8;
    return at;
}

/* 16 bytes, or those of 2 or 3 entries of 32 bits. */
static void load_part(Native *n, NativeReg to, X86Mem from, uint32_t bytes)
{
    x86_rm(x86_native(n), bytes == 16 ? X86_VMOVUPS | X86_128 : X86_VMOVQ_X, to, from);
    if (bytes == 12)
        x86_rrmi(x86_native(n), X86_VPINSRD, to, to, third_of(from), 2);
}

/* Part by part, up to 16 bytes from 'item' on of a lane: of the first lanes in part 0
 * of each row, and so on. */
static void load_rows(Native *n, const Packet *p, const NativeReg *row, uint32_t rows,
                      uint32_t item, uint32_t bytes)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, p->type);
    for (uint32_t lane = 0; lane < native_lanes(n); lane += 2) {
        int32_t part = (int32_t) (lane / rows);
        X86Mem from[2];
        find_two(n, p, lane, item, from);
        for (uint32_t k = 0; k < 2; ++k) {
            NativeReg to = row[lane % rows + k];
            X86Form insert = X86_VINSERTI32X4 | (part == 1 ? X86_256 : length);
            if (part && bytes == 16)
                x86_rrmi(x, insert, to, to, from[k], part);
            else
                load_part(n, part ? p->entries.part : to, from[k], bytes);
            if (part && bytes != 16)
                x86_rrri(x, insert, to, to, p->entries.part, part);
        }
    }
}

/* Part by part, 8 bytes of two lanes, in turn for either row. */
static void load_pairs(Native *n, const Packet *p, const NativeReg *row)
{
    X86 *x = x86_native(n);
    for (uint32_t lane = 0; lane < native_lanes(n); lane += 2) {
        NativeReg to = row[lane / 2 % 2], part = lane < 4 ? to : p->entries.part;
        X86Mem from[2];
        find_two(n, p, lane, 0, from);
        x86_rm(x, X86_VMOVQ_X, part, from[0]);
        x86_rrmi(x, X86_VPINSRQ, part, part, from[1], 1);
        if (lane >= 4)
            x86_rrri(x, X86_VINSERTI32X4 | forms_length(n, p->type), to, to, part,
                     (int32_t) (lane / 4));
    }
}

/* ---- items */

static void gather_alone(Native *n, const Packet *p, uint32_t k)
{
    FormsEntries e = p->entries;
    NativeReg to = take(n);
    e.disp = (int32_t) (k * type_info[p->type].size);
    forms_load_entries(n, &e, to);
    finish(n, p, k, to);
}

/* The only two items of 32 bits. */
static void gather_pair(Native *n, const Packet *p)
{
    X86Form shuffle = X86_VSHUFPS | forms_length(n, p->type);
    NativeReg row[2] = { take(n), take(n) }, first = take(n);
    load_pairs(n, p, row);
    x86_rrri(x86_native(n), shuffle, first, row[0], row[1], 0x88);
    x86_rrri(x86_native(n), shuffle, row[1], row[0], row[1], 0xdd);
    native_alloc_give(n, NATIVE_VECTOR, row[0]);
    finish(n, p, 0, first);
    finish(n, p, 1, row[1]);
}

/* Two of 64 bits. */
static void gather_two(Native *n, const Packet *p, uint32_t k)
{
    X86Form length = forms_length(n, p->type);
    NativeReg row[2] = { take(n), take(n) }, first = take(n);
    load_rows(n, p, row, 2, k, 16);
    x86_rrr(x86_native(n), X86_VPUNPCKLQDQ | length, first, row[0], row[1]);
    x86_rrr(x86_native(n), X86_VPUNPCKHQDQ | length, row[1], row[0], row[1]);
    native_alloc_give(n, NATIVE_VECTOR, row[0]);
    finish(n, p, k, first);
    finish(n, p, k + 1, row[1]);
}

/* Up to four of 32 bits. */
static void gather_four(Native *n, const Packet *p, uint32_t k, uint32_t count)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, p->type);
    NativeReg row[ITEMS], low = take(n);
    for (uint32_t i = 0; i < ITEMS; ++i)
        row[i] = take(n);
    load_rows(n, p, row, ITEMS, k, 4 * count);
    x86_rrr(x, X86_VPUNPCKLDQ | length, low, row[0], row[1]); /* a0 b0 a1 b1 */
    x86_rrr(x, X86_VPUNPCKHDQ | length, row[0], row[0], row[1]); /* a2 b2 a3 b3 */
    x86_rrr(x, X86_VPUNPCKLDQ | length, row[1], row[2], row[3]);
    x86_rrr(x, X86_VPUNPCKHDQ | length, row[2], row[2], row[3]);
    x86_rrr(x, X86_VPUNPCKLQDQ | length, row[3], low, row[1]);
    x86_rrr(x, X86_VPUNPCKHQDQ | length, low, low, row[1]);
    x86_rrr(x, X86_VPUNPCKLQDQ | length, row[1], row[0], row[2]);
    x86_rrr(x, X86_VPUNPCKHQDQ | length, row[0], row[0], row[2]);
    native_alloc_give(n, NATIVE_VECTOR, row[2]);
    const NativeReg item[ITEMS] = { row[3], low, row[1], row[0] };
    for (uint32_t i = 0; i < ITEMS; ++i)
        if (i < count)
            finish(n, p, k + i, item[i]);
        else
            native_alloc_give(n, NATIVE_VECTOR, item[i]);
}

/* The items from k on that one load gets. */
static void gather_items(Native *n, const Packet *p, uint32_t k, uint32_t count)
{
    uint32_t used = 0, last = 0;
    for (uint32_t i = k; i < k + count; ++i) {
        used += is_used(n, p->items[i]);
        last = is_used(n, p->items[i]) ? i : last;
    }
    if (used == 1)
        gather_alone(n, p, last);
    else if (used && is_wide(p))
        gather_two(n, p, k);
    else if (used && p->count == 2)
        gather_pair(n, p);
    else if (used)
        gather_four(n, p, k, count);
}

/* If no lane is active, base = the frame. Code without a mask runs for some lane. */
static NativeReg use_base(Native *n, NativeReg active)
{
    X86 *x = x86_native(n);
    uint64_t literal;
    NativeReg address = native_use_address(n, 0);
    if (native_is_literal(n, 2, &literal) && literal & 1)
        return address;
    NativeReg base = native_temp_general(n);
    x86_rm(x, X86_LEA | X86_W, base, forms_mem(native_stash(n)));
    forms_target(n)->test_masks(n, active, active, 32);
    x86_rr(x, X86_CMOVCC | X86_CC(X86_CC_NE) | X86_W, base, address);
    return base;
}

bool forms_gather_packet(Native *n, const NativeRow *row)
{
    (void) row;
    VarType type = native_result_type(n);
    uint32_t count = native_inst(n)->aux, together = forms_bits(type) == 64 ? 2 : 4;
    NativeReg index = native_use(n, 1), active = native_use_active(n, 2, 32);
    NativeReg first = native_temp(n), base = use_base(n, active);
    Packet p = { .type = type,
                 .count = count,
                 .items = n->f->items + n->f->values[n->result].slot,
                 .active = active };
    forms_target(n)->keep(n, VarTypeUInt32, first, index, active);
    forms_scale(n, first, first, count);
    p.entries = (FormsEntries){ .type = type,
                                .base = base,
                                .index = first,
                                .places = native_temp(n),
                                .part = native_temp(n),
                                .even = native_temp_general(n),
                                .odd = native_temp_general(n) };
    if (forms_bits(type) == 64)
        p.active = native_use_active(n, 2, 64);
    release_operands(n);
    for (uint32_t k = 0; k < count; k += together)
        gather_items(n, &p, k, count - k < together ? count - k : together);
    return true;
}

/* ---- packets of 16-bit entries, of which one word has two */

/* Half 'k' of a word in each lane is an item. */
static void bind_half(Native *n, const Packet *p, uint32_t item, NativeReg word,
                      uint32_t k)
{
    bool extends = type_info[p->type].is_integer && type_info[p->type].is_signed;
    X86Form shift = extends ? X86_VPSRAD_I : X86_VPSRLD_I;
    NativeReg to = take(n);
    if (k == 0)
        forms_extend(n, p->type, to, word);
    else
        forms_shift(n, shift | forms_length(n, VarTypeUInt32), to, word, 16);
    finish(n, p, item, to);
}

/* All bytes of a packet are in the array, so it need not be aligned. If the number of
 * items is odd, the last word has the one before it, too. */
bool forms_gather_halves(Native *n, const NativeRow *row)
{
    (void) row;
    const uint32_t count = native_inst(n)->aux;
    NativeReg index = native_use(n, 1), active = native_use_active(n, 2, 32);
    NativeReg place = native_temp(n), word = native_temp(n);
    Packet p = { .type = native_result_type(n),
                 .items = n->f->items + n->f->values[n->result].slot,
                 .active = active };
    FormsEntries e = { .type = VarTypeUInt32,
                       .base = use_base(n, active),
                       .index = place,
                       .places = native_temp(n),
                       .part = native_temp(n),
                       .even = native_temp_general(n),
                       .odd = native_temp_general(n),
                       .halves = true };
    forms_target(n)->keep(n, VarTypeUInt32, place, index, active);
    forms_scale(n, place, place, count);
    release_operands(n);
    for (uint32_t k = 0; k < count; k += 2) {
        const bool alone = k + 1 == count;
        if (!is_used(n, p.items[k]) && (alone || !is_used(n, p.items[k + 1])))
            continue;
        e.disp = (int32_t) (2 * (k - alone));
        forms_load_entries(n, &e, word);
        bind_half(n, &p, k, word, alone);
        if (!alone)
            bind_half(n, &p, k + 1, word, 1);
    }
    return true;
}

/* ---- scatters */

enum {
    FIRST_VALUE = 3, /* operand */
    NOWHERE = 1      /* operands[] in the frame: for lanes that are masked off, before
                        that the addresses of all */
};

typedef struct Target {
    VarType type;
    bool adds;
    NativeReg address;     /* a general register */
    NativeOperand places;  /* of 64 bits for each lane */
    NativeReg row[ITEMS + 1], part;
} Target;

static NativeOperand frame_operand(const Native *n, uint32_t k)
{
    return native_memory_frame(n, offsetof(NativeFrame, operands) +
                                      (size_t) k * NATIVE_HELPER_BYTES);
}

static void broadcast(Native *n, NativeReg to, NativeReg general)
{
    x86_rr(x86_native(n), X86_VMOVQ, to, general);
    x86_rr(x86_native(n), X86_VPBROADCASTQ | X86_LENGTH(n->target->vector_bytes >> 5),
           to, to);
}

/* Upper half of a vector of W lanes of 32 bits. */
static void take_upper(Native *n, NativeReg to, NativeReg from)
{
    bool large = n->target->vector_bytes == 64;
    x86_rri(x86_native(n),
            large ? X86_VEXTRACTI64X4 | X86_512 : X86_VEXTRACTI32X4 | X86_256, to, from,
            1);
}

/* to = index * size, of 64 bits. */
static void scale_places(Native *n, NativeReg to, NativeReg index, uint32_t size)
{
    X86Form length = X86_LENGTH(n->target->vector_bytes >> 5);
    if (size & (size - 1))
        forms_rrx(n, X86_VPMULUDQ | length, to, index, native_const(n, 64, size));
    else
        forms_shift(n, X86_VPSLLQ_I | length, to, index,
                    (uint32_t) __builtin_ctz(size));
}

/* Addresses of the packets of 'size' bytes, of 64 bits, in vectors of which each has
 * half the lanes or (in kernels with values of 64 bits) all. */
static void write_places(Native *n, const Target *t, uint32_t size)
{
    X86 *x = x86_native(n);
    bool masks = n->target->registers[NATIVE_MASK];
    uint32_t bytes = n->target->vector_bytes, halves = n->lanes * 8 / bytes;
    X86Form length = X86_LENGTH(bytes >> 5);
    NativeReg active = native_use_active(n, 2, 32), index = native_use(n, 1);
    NativeReg base = t->row[0], nowhere = t->row[1], to = t->row[2], lanes = t->row[3];
    broadcast(n, base, native_use_address(n, 0));
    x86_rm(x, X86_LEA | X86_W, t->address, forms_mem(frame_operand(n, NOWHERE)));
    broadcast(n, nowhere, t->address);
    for (uint32_t half = 0; half < halves; ++half) {
        NativeOperand place = t->places;
        place.disp += (int32_t) (half * bytes);
        if (half)
            take_upper(n, to, index);
        x86_rr(x, X86_VPMOVZXDQ | length, to, half ? to : index);
        scale_places(n, to, to, size);
        x86_rrr(x, X86_VPADDQ | length, to, to, base);
        if (half && masks)
            x86_rri(x, X86_KSHIFTRW_I, active, active, (int32_t) (n->lanes / 2));
        else if (half)
            take_upper(n, active, active);
        if (!masks)
            x86_rr(x, X86_VPMOVSXDQ | length, lanes, active);
        n->target->blend(n, bytes, 64, to, masks ? active : lanes, to, nowhere);
        x86_mr(x, X86_VMOVUPS_ST | length, forms_mem(place), to);
    }
}

static X86Mem place_of(Native *n, const Target *t, uint32_t lane, uint32_t item)
{
    X86Mem place = x86_at(t->places.base, t->places.disp + (int32_t) (lane * 8));
    x86_rm(x86_native(n), X86_MOV | X86_W, t->address, place);
    return x86_at(t->address, (int32_t) (item * type_info[t->type].size));
}

static X86Form sum_form(const Target *t)
{
    bool wide = forms_bits(t->type) == 64;
    if (type_info[t->type].is_float)
        return wide ? X86_VADDPD : X86_VADDPS;
    return wide ? X86_VPADDQ : X86_VPADDD;
}

/* 16 bytes of one lane, or 12. */
static void store_part(Native *n, const Target *t, NativeReg row, uint32_t number,
                       X86Mem to, uint32_t bytes)
{
    X86 *x = x86_native(n);
    X86Form extract = X86_VEXTRACTI32X4 | forms_length(n, t->type);
    if (number && !t->adds && bytes == 16) {
        x86_mri(x, extract, to, row, (int32_t) number);
        return;
    }
    NativeReg part = row;
    if (number)
        x86_rri(x, extract, part = t->part, row, (int32_t) number);
    if (t->adds && bytes == 16) {
        x86_rrm(x, sum_form(t), t->part, part, to);
    } else if (t->adds) {
        load_part(n, t->row[ITEMS], to, bytes);
        x86_rrr(x, sum_form(t), t->part, part, t->row[ITEMS]);
    }
    part = t->adds ? t->part : part;
    if (bytes == 16) {
        x86_mr(x, X86_VMOVUPS_ST | X86_128, to, part);
    } else {
        x86_mr(x, X86_VMOVQ_ST, to, part);
        x86_mri(x, X86_VPEXTRD, third_of(to), part, 2);
    }
}

/* 8 bytes of one lane: the lower or upper ones of a part. */
static void store_half(Native *n, const Target *t, NativeReg row, uint32_t number,
                       bool upper, X86Mem to)
{
    X86 *x = x86_native(n);
    NativeReg part = row;
    if (number) {
        x86_rri(x, X86_VEXTRACTI32X4 | forms_length(n, t->type), t->part, row,
                (int32_t) number);
        part = t->part;
    }
    if (upper) {
        x86_rrr(x, X86_VPUNPCKHQDQ | X86_128, t->part, part, part);
        part = t->part;
    }
    if (t->adds) {
        x86_rm(x, X86_VMOVQ_X, t->row[ITEMS], to);
        x86_rrr(x, sum_form(t), t->part, part, t->row[ITEMS]);
        part = t->part;
    }
    x86_mr(x, X86_VMOVQ_ST, to, part);
}

static void use_values(Native *n, uint32_t k, uint32_t count, NativeReg *value)
{
    for (uint32_t i = 0; i < count; ++i)
        value[i] = native_use(n, FIRST_VALUE + k + i);
}

/* They may leave their registers again: there may be more values than those. */
static void release_values(Native *n, uint32_t count, const NativeReg *value)
{
    for (uint32_t i = 0; i < count; ++i)
        n->files[NATIVE_VECTOR].pinned &= ~(1u << value[i]);
}

/* Rows with two values of 32 bits. */
static void scatter_pair(Native *n, const Target *t, uint32_t k)
{
    X86Form length = forms_length(n, t->type);
    NativeReg value[2];
    use_values(n, k, 2, value);
    x86_rrr(x86_native(n), X86_VPUNPCKLDQ | length, t->row[0], value[0], value[1]);
    x86_rrr(x86_native(n), X86_VPUNPCKHDQ | length, t->row[1], value[0], value[1]);
    release_values(n, 2, value);
    for (uint32_t lane = 0; lane < native_lanes(n); ++lane)
        store_half(n, t, t->row[lane / 2 % 2], lane / 4, lane % 2,
                   place_of(n, t, lane, k));
}

/* One of 64 bits. */
static void scatter_one(Native *n, const Target *t, uint32_t k)
{
    NativeReg value;
    use_values(n, k, 1, &value);
    for (uint32_t lane = 0; lane < native_lanes(n); ++lane)
        store_half(n, t, value, lane / 2, lane % 2, place_of(n, t, lane, k));
    release_values(n, 1, &value);
}

/* Two of 64 bits. */
static void make_two_rows(Native *n, const Target *t, uint32_t k)
{
    X86Form length = forms_length(n, t->type);
    NativeReg value[2];
    use_values(n, k, 2, value);
    x86_rrr(x86_native(n), X86_VPUNPCKLQDQ | length, t->row[0], value[0], value[1]);
    x86_rrr(x86_native(n), X86_VPUNPCKHQDQ | length, t->row[1], value[0], value[1]);
    release_values(n, 2, value);
}

/* Four of 32 bits, or three; then the last one is of no use. */
static void make_four_rows(Native *n, const Target *t, uint32_t k, uint32_t count)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, t->type);
    const NativeReg *row = t->row;
    NativeReg value[ITEMS];
    use_values(n, k, count, value);
    if (count < ITEMS)
        value[3] = value[2];
    x86_rrr(x, X86_VPUNPCKLDQ | length, row[1], value[0], value[1]); /* a0 a1 b0 b1 */
    x86_rrr(x, X86_VPUNPCKHDQ | length, row[3], value[0], value[1]); /* c0 c1 d0 d1 */
    x86_rrr(x, X86_VPUNPCKLDQ | length, row[2], value[2], value[3]);
    x86_rrr(x, X86_VPUNPCKHDQ | length, row[4], value[2], value[3]);
    x86_rrr(x, X86_VPUNPCKLQDQ | length, row[0], row[1], row[2]);
    x86_rrr(x, X86_VPUNPCKHQDQ | length, row[1], row[1], row[2]);
    x86_rrr(x, X86_VPUNPCKLQDQ | length, row[2], row[3], row[4]);
    x86_rrr(x, X86_VPUNPCKHQDQ | length, row[3], row[3], row[4]);
    release_values(n, count, value);
}

/* In the order of lanes, since they may have the same target. */
static void scatter_items(Native *n, const Target *t, uint32_t k, uint32_t count)
{
    bool wide = forms_bits(t->type) == 64;
    uint32_t rows = wide ? 2 : ITEMS;
    if (wide && count == 1) {
        scatter_one(n, t, k);
        return;
    }
    if (!wide && count == 2) {
        scatter_pair(n, t, k);
        return;
    }
    if (wide)
        make_two_rows(n, t, k);
    else
        make_four_rows(n, t, k, count);
    for (uint32_t lane = 0; lane < native_lanes(n); ++lane)
        store_part(n, t, t->row[lane % rows], lane / rows, place_of(n, t, lane, k),
                   wide ? 16 : 4 * count);
}

static void scatter_packets(Native *n, VarType type, uint32_t count, bool adds)
{
    bool wide = forms_bits(type) == 64;
    Target t = { .type = type,
                 .adds = adds,
                 .address = native_temp_general(n),
                 .places = frame_operand(n, 0),
                 .part = native_temp(n) };
    for (uint32_t i = 0; i <= ITEMS; ++i)
        t.row[i] = native_temp(n);
    write_places(n, &t, count * type_info[type].size);
    release_operands(n);
    const uint32_t together = wide ? 2 : ITEMS;
    for (uint32_t k = 0; k < count; k += together)
        scatter_items(n, &t, k, count - k < together ? count - k : together);
}

bool forms_scatter_packet(Native *n, const NativeRow *row)
{
    (void) row;
    const Inst *inst = native_inst(n);
    ReduceOp op = (ReduceOp) (inst->aux & 0xff);
    ReduceMode mode = (ReduceMode) (inst->aux >> 8);
    bool alone = mode == ReduceModeNoConflicts || mode == ReduceModePermute ||
                 mode == ReduceModeExpand;
    if (op == ReduceOpIdentity || (op == ReduceOpAdd && alone))
        scatter_packets(n, native_type(n, FIRST_VALUE), inst->count - FIRST_VALUE,
                        op == ReduceOpAdd);
    else if (!forms_scatter_each(n))
        native_call_scatter_packet(n);
    return true;
}
