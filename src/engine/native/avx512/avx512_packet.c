/*
 * avx512_packet.c -- packets of entries (see forms_packet.c)
 */
#include "engine/native/avx512/avx512.h"

static void keep(Native *n, VarType type, NativeReg to, NativeReg from, NativeReg lanes)
{
    X86Form form = forms_by_width(n, type, X86_VMOVUPS, X86_VMOVUPD);
    x86_rr(native_x86(n), form | X86_K(lanes) | X86_Z, to, from);
}

bool avx512_packet_gather(Native *n, const NativeRow *row)
{
    (void) row;
    return forms_gather_packet(n, keep);
}
