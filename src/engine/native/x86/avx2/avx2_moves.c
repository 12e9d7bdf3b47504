/*
 * avx2_moves.c -- AVX2, FMA, F16C: registers, moves, loads and stores
 *
 * 16 vector registers, which hold masks too. The bits above a mask's lanes are 0.
 */
#include "base/isa.h"
#include "engine/native/x86/avx2/avx2.h"

static bool available(void)
{
    return isa_avx2();
}

static X86Form length(uint32_t bytes)
{
    return X86_LENGTH(bytes >> 5);
}

/* Of vectors and masks with lanes of 32 bits. */
static X86Form narrow_length(const Native *n)
{
    return length(4 * n->lanes);
}

static void literal(Native *n, uint32_t bits, NativeReg to, uint64_t value)
{
    X86Form size = length(bits / 8 * n->lanes);
    bool ones = bits == 64 ? value == UINT64_MAX : (uint32_t) value == UINT32_MAX;
    if (value == 0)
        x86_rrr(x86_native(n), X86_VPXORD | X86_128, to, to, to);
    else if (ones)
        x86_rrr(x86_native(n), X86_VPCMPEQD | size, to, to, to);
    else
        x86_rm(x86_native(n), X86_VMOVUPS | size, to,
               forms_mem(native_const(n, bits, value)));
}

static void literal_mask(Native *n, NativeReg to, bool value)
{
    x86_rrr(x86_native(n), (value ? X86_VPCMPEQD : X86_VPXORD) | narrow_length(n), to,
            to, to);
}

static void spread(Native *n, NativeReg to, NativeReg general)
{
    x86_rr(x86_native(n), X86_VMOVD, to, general);
    x86_rr(x86_native(n), X86_VPBROADCASTD | narrow_length(n), to, to);
}

static void counter(Native *n, NativeReg to)
{
    spread(n, to, X86_LANE);
    forms_rrx(n, X86_VPADDD | narrow_length(n), to, to, forms_lane_numbers(n));
}

static void load(Native *n, VarType type, NativeReg to, NativeOperand from)
{
    X86Form size = forms_length(n, type);
    x86_rm(x86_native(n), forms_load_lanes(type) | size, to, forms_mem(from));
    if (type == VarTypeBool) {
        NativeReg zero = native_temp(n);
        x86_rrr(x86_native(n), X86_VPXORD | X86_128, zero, zero, zero);
        x86_rrr(x86_native(n), X86_VPCMPGTD | size, to, to, zero);
    }
}

/* Lanes of 32 bits become entries of 1 or 2 bytes; what does not fit is not there. */
static void store_narrow(Native *n, VarType type, NativeOperand to, NativeReg from)
{
    X86 *x = x86_native(n);
    bool is_signed = type == VarTypeInt8 || type == VarTypeInt16 || type == VarTypeBool;
    X86Form pack_words = is_signed ? X86_VPACKSSDW : X86_VPACKUSDW;
    X86Form pack_bytes = is_signed ? X86_VPACKSSWB : X86_VPACKUSWB;
    bool bytes = type_info[type].size == 1;
    NativeReg packed = native_temp(n);
    if (n->lanes == 8) {
        x86_rri(x, X86_VEXTRACTI32X4 | X86_256, packed, from, 1);
        x86_rrr(x, pack_words | X86_128, packed, from, packed);
    } else {
        x86_rrr(x, pack_words | X86_128, packed, from, from);
    }
    if (bytes)
        x86_rrr(x, pack_bytes | X86_128, packed, packed, packed);
    if (type == VarTypeBool)
        x86_rr(x, X86_VPABSB | X86_128, packed, packed);
    uint32_t size = type_info[type].size * n->lanes;
    X86Form form = size == 16  ? X86_VMOVUPS_ST | X86_128
                   : size == 8 ? X86_VMOVQ_ST
                               : X86_VMOVD_ST;
    x86_mr(x, form, forms_mem(to), packed);
}

/* 'to' is not 'from'. */
static void convert_mask(Native *n, NativeReg to, NativeReg from, uint32_t to_bits)
{
    if (to_bits == 64) {
        x86_rr(x86_native(n), X86_VPMOVSXDQ | X86_256, to, from);
    } else {
        avx2_low_halves(n, to, from);
    }
}

static void store(Native *n, VarType type, NativeOperand to, NativeReg from,
                  uint32_t mask_bits)
{
    if (type_info[type].size >= 4) {
        X86Form form = X86_VMOVUPS_ST | forms_length(n, type);
        x86_mr(x86_native(n), form, forms_mem(to), from);
        return;
    }
    if (type == VarTypeBool && mask_bits == 64) {
        NativeReg mask = native_temp(n);
        convert_mask(n, mask, from, 32);
        from = mask;
    }
    store_narrow(n, type, to, from);
}

static void load_first(Native *n, VarType type, NativeReg to, NativeOperand from)
{
    if (type != VarTypeBool) {
        forms_load_first(n, type, to, from);
        return;
    }
    NativeReg general = native_temp_general(n);
    x86_rm(x86_native(n), X86_MOVZX8, general, forms_mem(from));
    x86_r(x86_native(n), X86_NEG, general);
    spread(n, to, general);
}

static void and_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(x86_native(n), X86_VPANDD | X86_256, to, a, b);
}

static void without_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(x86_native(n), X86_VPANDND | X86_256, to, b, a);
}

static void blend(Native *n, uint32_t bytes, uint32_t bits, NativeReg to,
                  NativeReg mask, NativeReg a, NativeReg b)
{
    X86Form form = bits == 64 ? X86_VBLENDVPD : X86_VBLENDVPS;
    x86_rrrr(x86_native(n), form | length(bytes), to, b, a, mask);
}

static void blend_mask(Native *n, NativeReg to, NativeReg mask, NativeReg a,
                       NativeReg b)
{
    x86_rrrr(x86_native(n), X86_VBLENDVPS | X86_256, to, b, a, mask);
}

static void test_masks(Native *n, NativeReg a, NativeReg b, uint32_t mask_bits)
{
    X86Form test = X86_VPTEST | length(mask_bits / 8 * n->lanes);
    x86_rr(x86_native(n), test, a, a);
    if (a == b)
        return;
    X86Label some = x86_label(x86_native(n));
    x86_jcc_short(x86_native(n), X86_CC_NE, some);
    x86_rr(x86_native(n), test, b, b);
    x86_bind(x86_native(n), some);
}

static void mask_to_general(Native *n, NativeReg to, NativeReg mask, uint32_t mask_bits)
{
    X86Form form = mask_bits == 64 ? X86_VMOVMSKPD : X86_VMOVMSKPS;
    x86_rr(x86_native(n), form | length(mask_bits / 8 * n->lanes), to, mask);
}

static void match(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(x86_native(n), X86_VPCMPEQD | narrow_length(n), to, a, b);
}

/* Bytes move within 128 bits; the lower half is what the upper one takes them from. */
static void move_up(Native *n, uint32_t bits, NativeReg to, NativeReg from,
                    uint32_t count)
{
    uint32_t bytes = count * bits / 8;
    if (bits / 8 * n->lanes == 16) {
        x86_rri(x86_native(n), X86_VPSLLDQ_I | X86_128, to, from, (int32_t) bytes);
        return;
    }
    x86_rrri(x86_native(n), X86_VPERM2I128 | X86_256, to, from, from, 0x08);
    if (bytes < 16)
        x86_rrri(x86_native(n), X86_VPALIGNR | X86_256, to, from, to,
                 (int32_t) (16 - bytes));
}

static void move_mask_up(Native *n, NativeReg to, NativeReg from, uint32_t count)
{
    move_up(n, 32, to, from, count);
}

static void take_words(Native *n, NativeReg to, NativeReg a)
{
    x86_rrr(x86_native(n), X86_VPACKUSDW | narrow_length(n), to, a, a);
    if (n->lanes == 8)
        x86_rri(x86_native(n), X86_VPERMQ_I | X86_256, to, to, 0x08);
}

static void gather_words(Native *n, NativeReg to, X86Mem at, NativeReg mask)
{
    x86_rmr(x86_native(n), X86_VPGATHERDD_V | narrow_length(n), to, at, mask);
}

static void test_bits(Native *n, NativeReg to, NativeReg a, uint32_t bits)
{
    X86Form size = narrow_length(n);
    forms_rrx(n, X86_VPANDD | size, a, a, native_const(n, 32, bits));
    forms_rrx(n, X86_VPCMPGTD | size, to, a, native_const(n, 32, 0));
}

static void keep(Native *n, VarType type, NativeReg to, NativeReg from, NativeReg lanes)
{
    x86_rrr(x86_native(n), X86_VPANDD | forms_length(n, type), to, from, lanes);
}

/* Bytes 0, 1, 2, ... deposited into the lanes' bytes are their ranks. */
static void add_ranks(Native *n, NativeReg to, NativeReg lanes, NativeReg first,
                      NativeReg spare, const NativeReg general[2])
{
    X86 *x = x86_native(n);
    X86Form size = narrow_length(n);
    NativeReg bits = general[0], ranks = general[1];
    NativeOperand ones = native_const(n, 64, 0x0101010101010101);
    x86_rr(x, X86_VMOVMSKPS | size, bits, lanes);
    x86_rrm(x, X86_PDEP | X86_W, bits, bits, forms_mem(ones));
    x86_rri(x, X86_IMUL_I | X86_W, bits, bits, 0xff);
    x86_mov_imm(x, ranks, 0x0706050403020100);
    x86_rrr(x, X86_PDEP | X86_W, ranks, ranks, bits);
    x86_rr(x, X86_VMOVQ, spare, ranks);
    x86_rr(x, X86_VPMOVZXBD | size, spare, spare);
    x86_rrr(x, X86_VPADDD | size, spare, spare, first);
    x86_rrrr(x, X86_VBLENDVPS | size, to, to, spare, lanes);
}

/* Not below: the larger one is the index. */
static void find_outside(Native *n, NativeReg lanes, NativeReg index, X86Mem bound,
                         NativeReg spare)
{
    X86Form size = narrow_length(n);
    x86_rm(x86_native(n), X86_VPBROADCASTD | size, spare, bound);
    x86_rrr(x86_native(n), X86_VPMAXUD | size, spare, spare, index);
    x86_rrr(x86_native(n), X86_VPCMPEQD | size, spare, spare, index);
    x86_rrr(x86_native(n), X86_VPANDD | size, lanes, lanes, spare);
}

const FormsTarget avx2_target = { .native = { .name = "avx2",
                                              .cpu = &x86_cpu,
                                              .vector_bytes = 32,
                                              .registers = { 0xffff, 0, 0 },
                                              .outputs = 0xc000,
                                              .slot_bias = X86_BIAS_BYTES,
                                              .pool_bias = X86_BIAS_BYTES,
                                              .broadcasts = false,
                                              .rotates = false,
                                              .cuts = false,
                                              .rows = &avx2_rows,
                                              .casts = &avx2_casts,
                                              .available = available,
                                              .literal = literal,
                                              .literal_mask = literal_mask,
                                              .load = load,
                                              .store = store,
                                              .load_first = load_first,
                                              .convert_mask = convert_mask,
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
                                  .subtract_negative = avx2_subtract_negative,
                                  .high_product = avx2_high_product,
                                  .add_ranks = add_ranks,
                                  .find_outside = find_outside,
                                  .local = &avx2_local };
