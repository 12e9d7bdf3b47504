/*
 * avx512_moves.c -- AVX-512 (F, VL, DQ, BW): registers, moves, loads and stores
 *
 * 32 vector registers; masks in k1 to k7 (as k0, instructions read "no mask"). Masks of
 * 8 lanes leave the bits above 0, so that 16-bit mask instructions serve for both
 * widths.
 */
#include "engine/native/core/forms.h"
#include "engine/native/core/native.h"

static bool available(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
}

static X86Form length(uint32_t bytes)
{
    return X86_LENGTH(bytes >> 5);
}

static void move(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                 NativeReg from)
{
    if (class == NATIVE_MASK)
        x86_rr(&n->x, X86_KMOVW, to, from);
    else
        x86_rr(&n->x, X86_VMOVAPS | length(bytes), to, from);
}

static void spill(Native *n, NativeClass class, uint32_t bytes, NativeOperand to,
                  NativeReg from)
{
    if (class == NATIVE_MASK)
        x86_mr(&n->x, X86_KMOVW_ST, forms_mem(to), from);
    else
        x86_mr(&n->x, X86_VMOVUPS_ST | length(bytes), forms_mem(to), from);
}

static void reload(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                   NativeOperand from)
{
    if (class == NATIVE_MASK)
        x86_rm(&n->x, X86_KMOVW, to, forms_mem(from));
    else
        x86_rm(&n->x, X86_VMOVUPS | length(bytes), to, forms_mem(from));
}

static void literal(Native *n, uint32_t bits, NativeReg to, uint64_t value)
{
    X86Form size = length(bits / 8 * n->lanes);
    bool ones = bits == 64 ? value == UINT64_MAX : (uint32_t) value == UINT32_MAX;
    if (value == 0)
        x86_rrr(&n->x, X86_VPXORD | X86_128, to, to, to);
    else if (ones)
        x86_rrri(&n->x, X86_VPTERNLOGD | size, to, to, to, 0xff);
    else
        x86_rm(&n->x, (bits == 64 ? X86_VPBROADCASTQ : X86_VPBROADCASTD) | size, to,
               forms_mem(native_const(n, bits, value)));
}

static void literal_mask(Native *n, NativeReg to, bool value)
{
    X86Form form = !value ? X86_KXORW : n->lanes == 8 ? X86_KXNORB : X86_KXNORW;
    x86_rrr(&n->x, form, to, to, to);
}

static void counter(Native *n, NativeReg to, NativeReg first)
{
    static const uint32_t steps[] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                      8, 9, 10, 11, 12, 13, 14, 15 };
    X86Form size = length(4 * n->lanes);
    x86_rr(&n->x, X86_VPBROADCASTD_R | size, to, first);
    x86_rrm(&n->x, X86_VPADDD | size, to, to,
            forms_mem(native_const_vector(n, steps, sizeof steps)));
}

static void load(Native *n, VarType type, NativeReg to, NativeOperand from)
{
    static const uint16_t forms[VarTypeCount] = { [VarTypeInt8] = X86_VPMOVSXBD,
                                                  [VarTypeUInt8] = X86_VPMOVZXBD,
                                                  [VarTypeInt16] = X86_VPMOVSXWD,
                                                  [VarTypeUInt16] = X86_VPMOVZXWD,
                                                  [VarTypeFloat16] = X86_VPMOVZXWD };
    X86Form size = forms_length(n, type);
    if (type == VarTypeBool) {
        NativeReg bytes = native_temp(n);
        x86_rm(&n->x, X86_VPMOVZXBD | size, bytes, forms_mem(from));
        x86_rrr(&n->x, X86_VPTESTMD_K | size, to, bytes, bytes);
    } else {
        X86Form form = type_info[type].size < 4 ? forms[type] : X86_VMOVUPS;
        x86_rm(&n->x, form | size, to, forms_mem(from));
    }
}

static void store(Native *n, VarType type, NativeOperand to, NativeReg from,
                  uint32_t mask_bits)
{
    (void) mask_bits;
    X86Form size = forms_length(n, type);
    if (type == VarTypeBool) {
        NativeReg bytes = native_temp(n);
        x86_rr(&n->x, X86_VPMOVM2B | X86_128, bytes, from);
        x86_rr(&n->x, X86_VPABSB | X86_128, bytes, bytes);
        if (n->lanes == 16)
            x86_mr(&n->x, X86_VMOVUPS_ST | X86_128, forms_mem(to), bytes);
        else
            x86_mr(&n->x, X86_VMOVQ_ST, forms_mem(to), bytes);
    } else if (type_info[type].size == 1) {
        x86_mr(&n->x, X86_VPMOVDB | size, forms_mem(to), from);
    } else if (type_info[type].size == 2) {
        x86_mr(&n->x, X86_VPMOVDW | size, forms_mem(to), from);
    } else {
        x86_mr(&n->x, X86_VMOVUPS_ST | size, forms_mem(to), from);
    }
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
    NativeReg vector = type == VarTypeBool ? native_temp(n) : to;
    x86_rm(&n->x, forms[type], general, forms_mem(from));
    x86_rr(&n->x, X86_VPBROADCASTD_R | size, vector, general);
    if (type == VarTypeBool)
        x86_rrr(&n->x, X86_VPTESTMD_K | size, to, vector, vector);
}

static void and_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(&n->x, X86_KANDW, to, a, b);
}

static void without_mask(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(&n->x, X86_KANDNW, to, b, a);
}

static void blend(Native *n, uint32_t bytes, uint32_t bits, NativeReg to,
                  NativeReg mask, NativeReg a, NativeReg b)
{
    X86Form form = bits == 64 ? X86_VPBLENDMQ : X86_VPBLENDMD;
    x86_rrr(&n->x, form | length(bytes) | X86_K(mask), to, b, a);
}

static void blend_mask(Native *n, NativeReg to, NativeReg mask, NativeReg a,
                       NativeReg b)
{
    NativeReg chosen = native_temp_mask(n);
    x86_rrr(&n->x, X86_KANDW, chosen, mask, a);
    x86_rrr(&n->x, X86_KANDNW, to, mask, b);
    x86_rrr(&n->x, X86_KORW, to, to, chosen);
}

static void test_masks(Native *n, NativeReg a, NativeReg b, uint32_t mask_bits)
{
    (void) mask_bits;
    x86_rr(&n->x, X86_KORTESTW, a, b);
}

static void mask_to_general(Native *n, NativeReg to, NativeReg mask, uint32_t mask_bits)
{
    (void) mask_bits;
    x86_rr(&n->x, X86_KMOVW_RK, to, mask);
}

static void match(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    x86_rrr(&n->x, X86_VPCMPEQD_K | length(4 * n->lanes), to, a, b);
}

const NativeTarget native_avx512 = { .name = "avx512",
                                     .vector_bytes = 64,
                                     .registers = { 0xffffffff, 0xfe, 0 },
                                     .broadcasts = true,
                                     .rows = &avx512_rows,
                                     .casts = &avx512_casts,
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
                                     .and_mask = and_mask,
                                     .without_mask = without_mask,
                                     .blend = blend,
                                     .blend_mask = blend_mask,
                                     .test_masks = test_masks,
                                     .mask_to_general = mask_to_general,
                                     .match = match };
