/*
 * exported_isa.c -- the one instruction set that a function was exported for
 *
 * Compiled with -DEXPORTED_ISA=avx2 or avx512. In the place of
 * device/cpu/loops/isa_choice.c: the loops of other sets are not there.
 */
#include "base/isa.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "export/runtime/exported.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern const Lanes JOIN(reduce_lanes_, EXPORTED_ISA);

const Lanes *reduce_lanes_get(void) { return &JOIN(reduce_lanes_, EXPORTED_ISA); }

const char *exported_isa(void) { return TEXT(EXPORTED_ISA); }

bool exported_isa_suits(void) { return JOIN(isa_, EXPORTED_ISA)(); }
