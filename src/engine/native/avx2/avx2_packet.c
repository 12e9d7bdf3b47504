/*
 * avx2_packet.c -- packets of entries (see forms_packet.c)
 */
#include "engine/native/avx2/avx2.h"

static void keep(Native *n, VarType type, NativeReg to, NativeReg from, NativeReg lanes)
{
    x86_rrr(native_x86(n), X86_VPANDD | forms_length(n, type), to, from, lanes);
}

bool avx2_packet_gather(Native *n, const NativeRow *row)
{
    (void) row;
    return forms_gather_packet(n, keep);
}
