/*
 * forms_convert.c -- casts that both targets make in the same way
 *
 * Float16 goes through Float32, which holds all of its values. Towards it that would
 * round Float64 twice, so the targets round to odd first (narrow_f64() in lanes_ops.h).
 * Integers that Float32 has to round are infinite in Float16.
 */
#include "engine/native/x86/forms.h"

X86Form forms_cast_length(const Native *n)
{
    X86Form from = forms_length(n, native_type(n, 0));
    X86Form to = forms_length(n, native_result_type(n));
    return from > to ? from : to;
}

bool forms_convert(Native *n, const NativeRow *row)
{
    bool whole = row->param & FORMS_WHOLE;
    NativeOperand a = whole ? forms_use_whole(n, 0) : native_use_rm(n, 0);
    NativeReg to = native_result(n);
    forms_rx(n, row->inst | forms_cast_length(n), to, a);
    return true;
}

bool forms_convert_cut(Native *n, const NativeRow *row)
{
    (void) row;
    if (native_takes_form(n, NATIVE_LOOSE)) {
        native_result_same(n, 0);
        return true;
    }
    NativeReg a = native_use(n, 0), to = native_result(n);
    forms_extend(n, native_result_type(n), to, a);
    return true;
}

/* ---- Float16 */

void forms_widen(Native *n, NativeReg to, NativeReg a)
{
    forms_target(n)->take_words(n, to, a);
    x86_rr(x86_native(n), X86_VCVTPH2PS | forms_length(n, VarTypeFloat16), to, to);
}

/* Operand 0, of type Float16, as Float32. */
static void widen_operand(Native *n, NativeReg to, NativeReg a)
{
    X86Form form = X86_VCVTPH2PS | forms_length(n, VarTypeFloat16);
    if (native_has_form(n, 0, NATIVE_PACKED))
        x86_rr(x86_native(n), form, to, a);
    else
        forms_widen(n, to, a);
}

/* It may be in an array, whose entries nobody needs in any other form. */
static NativeReg use_wide(Native *n)
{
    X86Form form = X86_VCVTPH2PS | forms_length(n, VarTypeFloat16);
    NativeOperand array;
    if (!native_dies(n, 0) || !native_input(n, 0, &array)) {
        NativeReg a = native_use(n, 0), to = native_result(n);
        widen_operand(n, to, a);
        return to;
    }
    NativeReg to = native_result(n);
    x86_rm(x86_native(n), form, to, forms_mem(array));
    return to;
}

static void narrow(Native *n, NativeReg to, NativeReg a)
{
    if (native_takes_form(n, NATIVE_PACKED))
        x86_rri(x86_native(n), X86_VCVTPS2PH | forms_length(n, VarTypeFloat16), to, a,
                0);
    else
        forms_narrow(n, to, a);
}

void forms_narrow(Native *n, NativeReg to, NativeReg a)
{
    X86Form length = forms_length(n, VarTypeFloat16);
    x86_rri(x86_native(n), X86_VCVTPS2PH | length, to, a, 0);
    x86_rr(x86_native(n), X86_VPMOVZXWD | length, to, to);
}

bool forms_convert_from_half(Native *n, const NativeRow *row)
{
    NativeReg to = use_wide(n);
    if (row->inst)
        x86_rr(x86_native(n), row->inst | forms_cast_length(n), to, to);
    return true;
}

bool forms_convert_to_half(Native *n, const NativeRow *row)
{
    if (!row->inst) {
        NativeReg a = native_use(n, 0);
        narrow(n, native_result(n), a);
        return true;
    }
    NativeOperand a = native_use_rm(n, 0);
    NativeReg to = native_result(n);
    forms_rx(n, row->inst | forms_cast_length(n), to, a);
    narrow(n, to, to);
    return true;
}

NativeReg forms_use_float(Native *n, VarType *type)
{
    NativeReg a = native_use(n, 0);
    *type = native_type(n, 0);
    if (*type != VarTypeFloat16)
        return a;
    NativeReg wide = native_temp(n);
    forms_widen(n, wide, a);
    *type = VarTypeFloat32;
    return wide;
}
