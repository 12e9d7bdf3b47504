/*
 * avx512_moves.c -- AVX-512 (F, VL, DQ, BW): registers, moves, loads and stores
 *
 * 32 vector registers; masks in k1 to k7 (as k0, instructions read "no mask"). Masks of
 * 8 lanes leave the bits above 0, so that 16-bit mask instructions serve for both
 * widths.
 */
#include "base/isa.h"
#include "engine/native/x86/avx512/avx512.h"

static bool available(void)
{
    return isa_avx512();
}

static X86Form length(uint32_t bytes)
{
    return X86_LENGTH(bytes >> 5);
}

static void literal(Native *n, uint32_t bits, NativeReg to, uint64_t value)
{
    X86Form size = length(bits / 8 * n->lanes);
    bool ones = bits == 64 ? value == UINT64_MAX : (uint32_t) value == UINT32_MAX;
    if (value == 0)
        x86_rrr(x86_native(n), X86_VPXORD | X86_128, to, to, to);
    else if (ones)
        x86_rrri(x86_native(n), X86_VPTERNLOGD | size, to, to, to, 0xff);
    else
        x86_rm(x86_native(n), (bits == 64 ? X86_VPBROADCASTQ : X86_VPBROADCASTD) | size,
               to, forms_mem(native_const(n, bits, value)));
}

static void literal_mask(Native *n, NativeReg to, bool value)
{
    X86Form form = !value ? X86_KXORW : n->lanes == 8 ? X86_KXNORB : X86_KXNORW;
    x86_rrr(x86_native(n), form, to, to, to);
}

static void spread(Native *n, NativeReg to, NativeReg general)
{
    x86_rr(x86_native(n), X86_VPBROADCASTD_R | length(4 * n->lanes), to, general);
}

static void counter(Native *n, NativeReg to)
{
    spread(n, to, X86_LANE);
    x86_rrm(x86_native(n), X86_VPADDD | length(4 * n->lanes), to, to,
            forms_mem(forms_lane_numbers(n)));
}

static void load(Native *n, VarType type, NativeReg to, NativeOperand from)
{
    X86Form form = forms_load_lanes(type) | forms_length(n, type);
    NativeReg loaded = type == VarTypeBool ? native_temp(n) : to;
    x86_rm(x86_native(n), form, loaded, forms_mem(from));
    if (type == VarTypeBool)
        x86_rrr(x86_native(n), X86_VPTESTMD_K | forms_length(n, type), to, loaded,
                loaded);
}

static void store(Native *n, VarType type, NativeOperand to, NativeReg from,
                  uint32_t mask_bits)
{
    (void) mask_bits;
    X86Form size = forms_length(n, type);
    if (type == VarTypeBool) {
        NativeReg bytes = native_temp(n);
        x86_rr(x86_native(n), X86_VPMOVM2B | X86_128, bytes, from);
        x86_rr(x86_native(n), X86_VPABSB | X86_128, bytes, bytes);
        if (n->lanes == 16)
            x86_mr(x86_native(n), X86_VMOVUPS_ST | X86_128, forms_mem(to), bytes);
        else
            x86_mr(x86_native(n), X86_VMOVQ_ST, forms_mem(to), bytes);
    } else if (type_info[type].size == 1) {
        x86_mr(x86_native(n), X86_VPMOVDB | size, forms_mem(to), from);
    } else if (type_info[type].size == 2) {
        x86_mr(x86_native(n), X86_VPMOVDW | size, forms_mem(to), from);
    } else {
        x86_mr(x86_native(n), X86_VMOVUPS_ST | size, forms_mem(to), from);
    }
}

static void load_first(Native *n, VarType type, NativeReg to, NativeOperand from)
{
    if (type != VarTypeBool) {
        forms_load_first(n, type, to, from);
        return;
    }
    NativeReg general = native_temp_general(n), vector = native_temp(n);
    x86_rm(x86_native(n), X86_MOVZX8, general, forms_mem(from));
    spread(n, vector, general);
    x86_rrr(x86_native(n), X86_VPTESTMD_K | forms_length(n, type), to, vector, vector);
}

static void and_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(x86_native(n), X86_KANDW, to, a, b);
}

static void without_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(x86_native(n), X86_KANDNW, to, b, a);
}

static void blend(Native *n, uint32_t bytes, uint32_t bits, NativeReg to,
                  NativeReg mask, NativeReg a, NativeReg b)
{
    X86Form form = bits == 64 ? X86_VPBLENDMQ : X86_VPBLENDMD;
    x86_rrr(x86_native(n), form | length(bytes) | X86_K(mask), to, b, a);
}

static void blend_mask(Native *n, NativeReg to, NativeReg mask, NativeReg a,
                       NativeReg b)
{
    NativeReg chosen = native_temp_mask(n);
    x86_rrr(x86_native(n), X86_KANDW, chosen, mask, a);
    x86_rrr(x86_native(n), X86_KANDNW, to, mask, b);
    x86_rrr(x86_native(n), X86_KORW, to, to, chosen);
}

static void test_masks(Native *n, NativeReg a, NativeReg b, uint32_t mask_bits)
{
    (void) mask_bits;
    x86_rr(x86_native(n), X86_KORTESTW, a, b);
}

static void mask_to_general(Native *n, NativeReg to, NativeReg mask, uint32_t mask_bits)
{
    (void) mask_bits;
    x86_rr(x86_native(n), X86_KMOVW_RK, to, mask);
}

static void match(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(x86_native(n), X86_VPCMPEQD_K | length(4 * n->lanes), to, a, b);
}

static void move_up(Native *n, uint32_t bits, NativeReg to, NativeReg from,
                    uint32_t count)
{
    X86Form form = bits == 64 ? X86_VALIGNQ : X86_VALIGND;
    x86_rrri(x86_native(n), form | length(bits / 8 * n->lanes), to, from, from,
             (int32_t) (n->lanes - count));
}

static void move_mask_up(Native *n, NativeReg to, NativeReg from, uint32_t count)
{
    x86_rri(x86_native(n), X86_KSHIFTLW_I, to, from, (int32_t) count);
}

static void take_words(Native *n, NativeReg to, NativeReg a)
{
    x86_rr(x86_native(n), X86_VPMOVDW | length(4 * n->lanes), to, a);
}

static void gather_words(Native *n, NativeReg to, X86Mem at, NativeReg mask)
{
    x86_rm(x86_native(n), X86_VPGATHERDD | length(4 * n->lanes) | X86_K(mask), to, at);
}

static void test_bits(Native *n, NativeReg to, NativeReg a, uint32_t bits)
{
    forms_rrx(n, X86_VPTESTMD_K | length(4 * n->lanes), to, a,
              native_const(n, 32, bits));
}

static void keep(Native *n, VarType type, NativeReg to, NativeReg from, NativeReg lanes)
{
    X86Form form = forms_by_width(n, type, X86_VMOVUPS, X86_VMOVUPD);
    x86_rr(x86_native(n), form | X86_K(lanes) | X86_Z, to, from);
}

/* 0, 1, 2, ... expanded into the lanes are their ranks. */
static void add_ranks(Native *n, NativeReg to, NativeReg lanes, NativeReg first,
                      NativeReg spare, const NativeReg general[2])
{
    (void) general;
    X86Form form = length(4 * n->lanes) | X86_K(lanes);
    x86_rm(x86_native(n), X86_VPEXPANDD | form | X86_Z, spare,
           forms_mem(forms_lane_numbers(n)));
    x86_rrr(x86_native(n), X86_VPADDD | form, to, spare, first);
}

static void find_outside(Native *n, NativeReg lanes, NativeReg index, X86Mem bound,
                         NativeReg spare)
{
    (void) spare;
    X86Form form = X86_VPCMPUD_K | length(4 * n->lanes) | X86_B | X86_K(lanes);
    x86_rrmi(x86_native(n), form, lanes, index, bound, X86_PCMP_GE);
}

const FormsTarget avx512_target = { .native = { .name = "avx512",
                                                .cpu = &x86_cpu,
                                                .vector_bytes = 64,
                                                .registers = { 0xffffffff, 0xfe, 0 },
                                                .outputs = 0xf0000000,
                                                .slot_bias = X86_BIAS_SLOTS,
                                                .pool_bias = X86_BIAS_POOL,
                                                .broadcasts = true,
                                                .rotates = true,
                                                .cuts = true,
                                                .rows = &avx512_rows,
                                                .casts = &avx512_casts,
                                                .available = available,
                                                .literal = literal,
                                                .literal_mask = literal_mask,
                                                .load = load,
                                                .store = store,
                                                .load_first = load_first,
                                                .and_mask = and_mask,
                                                .without_mask = without_mask,
                                                .blend = blend,
                                                .blend_mask = blend_mask,
                                                .match = match },
                                    .counter = counter,
                                    .test_masks = test_masks,
                                    .mask_to_general = mask_to_general,
                                    .move_up = move_up,
                                    .move_mask_up = move_mask_up,
                                    .spread = spread,
                                    .take_words = take_words,
                                    .gather_words = gather_words,
                                    .test_bits = test_bits,
                                    .keep = keep,
                                    .subtract_negative = avx512_subtract_negative,
                                    .high_product = avx512_high_product,
                                    .add_ranks = add_ranks,
                                    .find_outside = find_outside,
                                    .local = &avx512_local };
