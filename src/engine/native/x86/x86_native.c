/*
 * x86_native.c -- what all targets of x86-64 have in common: the table of hooks, the
 * code, jumps, single moves
 *
 * Packets side by side are X86Copies of instructions. What jumps is written once.
 */
#include "engine/native/x86/x86_native.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/native/x86/forms.h"

/* ---- the code of a compile */

static X86Native *context(const Native *n)
{
    return (X86Native *) (void *) ((char *) n - offsetof(X86Native, native));
}

static Native *create(void)
{
    X86Native *own = alloc_zero(1, sizeof *own);
    TRY(own, NULL);
    x86_init(&own->x);
    return &own->native;
}

static void reset(Native *n)
{
    X86 *x = x86_native(n);
    x86_reset(x);
    x86_listing_free(&context(n)->listing);
    x->listing = n->lists ? &context(n)->listing : NULL;
    x->copies = (X86Copies){ 0 };
}

static void release(Native *n)
{
    x86_free(x86_native(n));
    x86_listing_free(&context(n)->listing);
    alloc_free(context(n));
}

static size_t capacity(const Native *n)
{
    return x86_capacity(&context(n)->x);
}

static bool finish(Native *n)
{
    return x86_finish(x86_native(n)) &&
           (!n->lists || text_get(&context(n)->listing.text));
}

static const void *code(const Native *n)
{
    return context(n)->x.code;
}

static uint32_t position(const Native *n)
{
    return x86_position(&context(n)->x);
}

static bool line(const Native *n, uint32_t k, NativeLine *out)
{
    const X86Listing *all = context(n)->x.listing;
    if (k >= all->count)
        return false;
    size_t begin = all->lines[k].text;
    size_t end = k + 1 < all->count ? all->lines[k + 1].text : all->text.size;
    *out = (NativeLine){ all->lines[k].code, all->text.data + begin, end - begin };
    return true;
}

/* ---- jumps */

static NativeLabel label(Native *n)
{
    return x86_label(x86_native(n));
}

static void bind(Native *n, NativeLabel at)
{
    x86_bind(x86_native(n), at);
}

static void jump(Native *n, NativeLabel to)
{
    X86 *x = x86_native(n);
    x->copies.count = 0;
    x86_jmp(x, to);
    x->copies.count = n->copies;
}

static void jump_if_none(Native *n, NativeReg mask, uint32_t bits, NativeLabel to)
{
    X86 *x = x86_native(n);
    bool in_vectors = !n->target->registers[NATIVE_MASK];
    uint32_t step = in_vectors ? x->copies.vectors : x->copies.masks;
    x->copies.count = 0;
    forms_target(n)->test_masks(n, mask, (NativeReg) (mask + (n->copies - 1) * step),
                                bits);
    x86_jcc(x, X86_CC_E, to);
    x->copies.count = n->copies;
}

/* ---- moves */

static X86Form vector_form(X86Op op, uint32_t bytes)
{
    return op | X86_LENGTH(bytes >> 5);
}

static void move(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                 NativeReg from)
{
    X86Form form = class == NATIVE_MASK ? X86_KMOVW : vector_form(X86_VMOVAPS, bytes);
    x86_rr(x86_native(n), form, to, from);
}

static void spill(Native *n, NativeClass class, uint32_t bytes, NativeOperand to,
                  NativeReg from)
{
    X86Form form =
        class == NATIVE_MASK ? X86_KMOVW_ST : vector_form(X86_VMOVUPS_ST, bytes);
    x86_mr(x86_native(n), form, forms_mem(to), from);
}

static void reload(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                   NativeOperand from)
{
    X86Form form = class == NATIVE_MASK ? X86_KMOVW : vector_form(X86_VMOVUPS, bytes);
    x86_rm(x86_native(n), form, to, forms_mem(from));
}

static void set(Native *n, NativeReg to, uint64_t value)
{
    x86_mov_imm(x86_native(n), to, value);
}

static void load_word(Native *n, NativeReg to, NativeOperand from)
{
    x86_rm(x86_native(n), X86_MOV | X86_W, to, forms_mem(from));
}

static void store_word(Native *n, NativeOperand to, NativeReg from)
{
    x86_mr(x86_native(n), X86_MOV_ST | X86_W, forms_mem(to), from);
}

static void add(Native *n, NativeReg to, uint32_t value)
{
    x86_ri(x86_native(n), X86_ADD_I | X86_W, to, (int32_t) value);
}

static void store_lane(Native *n, NativeOperand to)
{
    x86_mr(x86_native(n), X86_MOV_ST, forms_mem(to), X86_LANE);
}

/* Each packet goes on where the one before ends. */
static void counter(Native *n, NativeReg reg)
{
    X86 *x = x86_native(n);
    X86Form add_lanes = X86_VPADDD | forms_length(n, VarTypeUInt32);
    forms_target(n)->counter(n, reg);
    x->copies.count = 0;
    for (uint32_t c = 1; c < n->copies; ++c) {
        NativeReg to = (NativeReg) (reg + c * x->copies.vectors);
        forms_rrx(n, add_lanes, to, to, native_const(n, 32, c * n->lanes));
    }
    x->copies.count = n->copies;
}

static void item_index(Native *n, NativeReg to, NativeReg index, uint32_t count,
                       uint32_t k)
{
    forms_scale(n, to, index, count);
    forms_rrx(n, X86_VPADDD | forms_length(n, VarTypeUInt32), to, to,
              native_const(n, 32, k));
}

/* General registers: for all packets. */
static void clear(Native *n, uint32_t slot)
{
    enum { WORD = 8 };
    X86Mem place = forms_mem(native_memory_slot(n, slot));
    NativeReg zero = native_temp_general(n);
    x86_mov_imm(x86_native(n), zero, 0);
    for (uint32_t i = 0; i < n->copies * n->target->vector_bytes; i += WORD) {
        x86_mr(x86_native(n), X86_MOV_ST | X86_W, place, zero);
        place.disp += WORD;
    }
    native_alloc_unpin(n);
}

/* ---- the table */

static void direct(Native *n, const NativeRow *row, VarType type, NativeReg to,
                   NativeReg a, NativeOperand b)
{
    forms_rrx(n, row->inst | forms_length(n, type), to, a, b);
}

const NativeCpu x86_cpu = { .lane = X86_LANE,
                            .args = X86_ARGS,
                            .slots = X86_SLOTS,
                            .pool = X86_POOL,
                            .inputs = X86_INPUTS,
                            .area = X86_AREA,
                            .general = 1 << X86_RAX | 1 << X86_RCX | 1 << X86_RDX |
                                       1 << X86_RSI | 1 << X86_RDI,
                            .most_addresses = 6,
                            .binary = forms_binary,
                            .commute = forms_commute,
                            .multiply = forms_multiply,
                            .direct = direct,
                            .create = create,
                            .reset = reset,
                            .release = release,
                            .capacity = capacity,
                            .finish = finish,
                            .code = code,
                            .position = position,
                            .line = line,
                            .label = label,
                            .bind = bind,
                            .jump = jump,
                            .jump_if_none = jump_if_none,
                            .move = move,
                            .spill = spill,
                            .reload = reload,
                            .set = set,
                            .load_word = load_word,
                            .store_word = store_word,
                            .add = add,
                            .store_lane = store_lane,
                            .counter = counter,
                            .item_index = item_index,
                            .clear = clear,
                            .choose = x86_frame_choose,
                            .hoist = x86_frame_hoist,
                            .enter = x86_frame_enter,
                            .leave = x86_frame_leave,
                            .next_packet = x86_frame_next_packet,
                            .loop_back = x86_frame_loop_back,
                            .count = x86_frame_count,
                            .count_back = x86_frame_count_back,
                            .count_end = x86_frame_count_end,
                            .store_output = forms_store,
                            .streams = forms_streams,
                            .prefetch_scatter = x86_call_prefetch_scatter,
                            .prefetch_packets = x86_call_prefetch_packets,
                            .begin_call = x86_call_begin,
                            .call_step = x86_call_step,
                            .enter_callable = x86_call_enter_callable,
                            .leave_callable = x86_call_leave_callable,
                            .note_lanes = x86_call_note_lanes,
                            .note_number = x86_call_note_number,
                            .check_number = x86_call_check_number,
                            .call_number = x86_call_number,
                            .call = x86_call_entry,
                            .begin_table = x86_call_begin_table,
                            .add_entry = x86_call_add_entry };
