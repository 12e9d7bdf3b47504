/*
 * avx2.c -- the tables of emission rows for AVX2, FMA and F16C
 */
#include "engine/native/x86/avx2/avx2.h"
#include "engine/native/x86/forms_rows.h"

#define OWN(name) avx2_##name
#define PICK(wide, narrow) narrow
#define WIDE(...)
#define NARROW(...) __VA_ARGS__,

#define SWAP NATIVE_AVX2_SWAP
#define INVERT NATIVE_AVX2_INVERT
#define FLIP NATIVE_AVX2_FLIP

const NativeRows avx2_rows = {
#include "engine/native/x86/forms_rows.def"
};

const NativeCasts avx2_casts = {
#include "engine/native/x86/forms_casts.def"
};
