/*
 * avx2_moves.c -- AVX2, FMA, F16C: registers, moves, loads and stores
 *
 * 16 vector registers, which hold masks too. The bits above a mask's lanes are 0.
 */
#include "engine/native/core/forms.h"
#include "engine/native/core/native.h"

static bool available(void)
{
    /* Every CPU with AVX2 has F16C. */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
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

static void move(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                 NativeReg from)
{
    (void) class;
    x86_rr(&n->x, X86_VMOVAPS | length(bytes), to, from);
}

static void spill(Native *n, NativeClass class, uint32_t bytes, NativeOperand to,
                  NativeReg from)
{
    (void) class;
    x86_mr(&n->x, X86_VMOVUPS_ST | length(bytes), forms_mem(to), from);
}

static void reload(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                   NativeOperand from)
{
    (void) class;
    x86_rm(&n->x, X86_VMOVUPS | length(bytes), to, forms_mem(from));
}

static void literal(Native *n, uint32_t bits, NativeReg to, uint64_t value)
{
    X86Form size = length(bits / 8 * n->lanes);
    bool ones = bits == 64 ? value == UINT64_MAX : (uint32_t) value == UINT32_MAX;
    if (value == 0)
        x86_rrr(&n->x, X86_VPXORD | X86_128, to, to, to);
    else if (ones)
        x86_rrr(&n->x, X86_VPCMPEQD | size, to, to, to);
    else
        x86_rm(&n->x, X86_VMOVUPS | size, to, forms_mem(native_const(n, bits, value)));
}

static void literal_mask(Native *n, NativeReg to, bool value)
{
    x86_rrr(&n->x, (value ? X86_VPCMPEQD : X86_VPXORD) | narrow_length(n), to, to, to);
}

static void counter(Native *n, NativeReg to, NativeReg first)
{
    static const uint32_t steps[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    X86Form size = narrow_length(n);
    x86_rr(&n->x, X86_VMOVD, to, first);
    x86_rr(&n->x, X86_VPBROADCASTD | size, to, to);
    x86_rrm(&n->x, X86_VPADDD | size, to, to,
            forms_mem(native_const_vector(n, steps, sizeof steps)));
}

static void load(Native *n, VarType type, NativeReg to, NativeOperand from)
{
    static const uint16_t forms[VarTypeCount] = {
        [VarTypeBool] = X86_VPMOVZXBD,   [VarTypeInt8] = X86_VPMOVSXBD,
        [VarTypeUInt8] = X86_VPMOVZXBD,  [VarTypeInt16] = X86_VPMOVSXWD,
        [VarTypeUInt16] = X86_VPMOVZXWD, [VarTypeFloat16] = X86_VPMOVZXWD
    };
    X86Form size = forms_length(n, type);
    X86Form form = type_info[type].size < 4 ? forms[type] : X86_VMOVUPS;
    x86_rm(&n->x, form | size, to, forms_mem(from));
    if (type == VarTypeBool) {
        NativeReg zero = native_temp(n);
        x86_rrr(&n->x, X86_VPXORD | X86_128, zero, zero, zero);
        x86_rrr(&n->x, X86_VPCMPGTD | size, to, to, zero);
    }
}

/* Lanes of 32 bits become entries of 1 or 2 bytes; what does not fit is not there. */
static void store_narrow(Native *n, VarType type, NativeOperand to, NativeReg from)
{
    X86 *x = &n->x;
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
        x86_rr(&n->x, X86_VPMOVSXDQ | X86_256, to, from);
    } else {
        x86_rri(&n->x, X86_VEXTRACTI32X4 | X86_256, to, from, 1);
        x86_rrri(&n->x, X86_VSHUFPS | X86_128, to, from, to, 0x88);
    }
}

static void store(Native *n, VarType type, NativeOperand to, NativeReg from,
                  uint32_t mask_bits)
{
    if (type_info[type].size >= 4) {
        X86Form form = X86_VMOVUPS_ST | forms_length(n, type);
        x86_mr(&n->x, form, forms_mem(to), from);
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
    static const uint16_t forms[VarTypeCount] = {
        [VarTypeBool] = X86_MOVZX8,    [VarTypeInt8] = X86_MOVSX8,
        [VarTypeUInt8] = X86_MOVZX8,   [VarTypeInt16] = X86_MOVSX16,
        [VarTypeUInt16] = X86_MOVZX16, [VarTypeFloat16] = X86_MOVZX16
    };
    X86Form size = forms_length(n, type);
    if (type_info[type].size >= 4) {
        bool wide = type_info[type].size == 8;
        x86_rm(&n->x, (wide ? X86_VPBROADCASTQ : X86_VPBROADCASTD) | size, to,
               forms_mem(from));
        return;
    }
    NativeReg general = native_temp_general(n);
    x86_rm(&n->x, forms[type], general, forms_mem(from));
    if (type == VarTypeBool)
        x86_r(&n->x, X86_NEG, general);
    x86_rr(&n->x, X86_VMOVD, to, general);
    x86_rr(&n->x, X86_VPBROADCASTD | size, to, to);
}

static void and_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(&n->x, X86_VPANDD | X86_256, to, a, b);
}

static void without_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(&n->x, X86_VPANDND | X86_256, to, b, a);
}

static void blend(Native *n, uint32_t bytes, uint32_t bits, NativeReg to,
                  NativeReg mask, NativeReg a, NativeReg b)
{
    X86Form form = bits == 64 ? X86_VBLENDVPD : X86_VBLENDVPS;
    x86_rrrr(&n->x, form | length(bytes), to, b, a, mask);
}

static void blend_mask(Native *n, NativeReg to, NativeReg mask, NativeReg a,
                       NativeReg b)
{
    x86_rrrr(&n->x, X86_VBLENDVPS | X86_256, to, b, a, mask);
}

static void test_masks(Native *n, NativeReg a, NativeReg b, uint32_t mask_bits)
{
    X86Form test = X86_VPTEST | length(mask_bits / 8 * n->lanes);
    x86_rr(&n->x, test, a, a);
    if (a == b)
        return;
    X86Label some = x86_label(&n->x);
    x86_jcc_short(&n->x, X86_CC_NE, some);
    x86_rr(&n->x, test, b, b);
    x86_bind(&n->x, some);
}

static void mask_to_general(Native *n, NativeReg to, NativeReg mask, uint32_t mask_bits)
{
    X86Form form = mask_bits == 64 ? X86_VMOVMSKPD : X86_VMOVMSKPS;
    x86_rr(&n->x, form | length(mask_bits / 8 * n->lanes), to, mask);
}

static void match(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(&n->x, X86_VPCMPEQD | narrow_length(n), to, a, b);
}

const NativeTarget native_avx2 = { .name = "avx2",
                                   .vector_bytes = 32,
                                   .registers = { 0xffff, 0, 0 },
                                   .broadcasts = false,
                                   .rows = &avx2_rows,
                                   .casts = &avx2_casts,
                                   .available = available,
                                   .move = move,
                                   .spill = spill,
                                   .reload = reload,
                                   .literal = literal,
                                   .literal_mask = literal_mask,
                                   .counter = counter,
                                   .load = load,
                                   .store = store,
                                   .load_first = load_first,
                                   .convert_mask = convert_mask,
                                   .and_mask = and_mask,
                                   .without_mask = without_mask,
                                   .blend = blend,
                                   .blend_mask = blend_mask,
                                   .test_masks = test_masks,
                                   .mask_to_general = mask_to_general,
                                   .match = match };
