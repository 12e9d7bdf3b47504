/*
 * forms_memory.c -- entries of 8 and 16 bits, and one for all lanes
 *
 * There are no instructions that gather entries of 8 and 16 bits: those of the aligned
 * 32 bits around them, which lie in the same page, are shifted into place.
 */
#include "engine/native/x86/forms.h"

NativeOperand forms_lane_numbers(Native *n)
{
    static const uint32_t numbers[] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                        8, 9, 10, 11, 12, 13, 14, 15 };
    return native_const_vector(n, numbers, n->target->vector_bytes);
}

X86Form forms_load_scalar(VarType type)
{
    static const uint16_t forms[VarTypeCount] = {
        [VarTypeBool] = X86_MOVZX8,    [VarTypeInt8] = X86_MOVSX8,
        [VarTypeUInt8] = X86_MOVZX8,   [VarTypeInt16] = X86_MOVSX16,
        [VarTypeUInt16] = X86_MOVZX16, [VarTypeFloat16] = X86_MOVZX16
    };
    return forms[type];
}

X86Form forms_load_lanes(VarType type)
{
    static const uint16_t forms[VarTypeCount] = {
        [VarTypeBool] = X86_VPMOVZXBD,   [VarTypeInt8] = X86_VPMOVSXBD,
        [VarTypeUInt8] = X86_VPMOVZXBD,  [VarTypeInt16] = X86_VPMOVSXWD,
        [VarTypeUInt16] = X86_VPMOVZXWD, [VarTypeFloat16] = X86_VPMOVZXWD
    };
    return type_info[type].size < 4 ? forms[type] : X86_VMOVUPS;
}

void forms_load_first(Native *n, VarType type, NativeReg to, NativeOperand from)
{
    if (type_info[type].size >= 4) {
        x86_rm(x86_native(n),
               forms_by_width(n, type, X86_VPBROADCASTD, X86_VPBROADCASTQ), to,
               forms_mem(from));
        return;
    }
    NativeReg general = native_temp_general(n);
    x86_rm(x86_native(n), forms_load_scalar(type), general, forms_mem(from));
    forms_target(n)->spread(n, to, general);
}

/* A place within 32 bits is (index + low bits of the address) modulo 'entries'. */
bool forms_gather_narrow(Native *n, const NativeRow *row)
{
    (void) row;
    if (forms_near_gather(n))
        return true;
    X86 *x = x86_native(n);
    VarType type = native_result_type(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    uint32_t shift = (uint32_t) __builtin_ctz(type_info[type].size);
    uint32_t entries = 4u >> shift;
    NativeReg base = native_use_address(n, 0);
    NativeOperand index = native_use_rm(n, 1);
    NativeReg mask = native_use_active(n, 2, 32);
    NativeReg aligned = native_temp_general(n), rest = native_temp_general(n);
    NativeReg place = native_temp(n), words = native_temp(n), found = native_temp(n);

    x86_rr(x, X86_MOV | X86_W, aligned, base);
    x86_rr(x, X86_MOV, rest, base);
    x86_ri(x, X86_AND_I | X86_W, aligned, -4);
    x86_ri(x, X86_AND_I, rest, 3);
    if (shift)
        x86_ri(x, X86_SHR_I, rest, (int32_t) shift);
    forms_target(n)->spread(n, place, rest);
    forms_rrx(n, X86_VPADDD | length, place, place, index);
    forms_shift(n, X86_VPSRLD_I | length, words, place, 2 - shift);
    x86_rrr(x, X86_VPXORD, found, found, found);
    forms_target(n)->gather_words(n, found, x86_at_index(aligned, words, 2, 0), mask);
    forms_shift(n, X86_VPSLLD_I | length, place, place, 3 + shift);
    forms_rrx(n, X86_VPANDD | length, place, place,
              native_const(n, 32, (entries - 1) * (8u << shift)));
    x86_rrr(x, X86_VPSRLVD | length, found, found, place);
    if (type == VarTypeBool)
        forms_target(n)->test_bits(n, native_result_mask(n, 32), found, 0xff);
    else
        forms_extend(n, type, native_result(n), found);
    return true;
}
