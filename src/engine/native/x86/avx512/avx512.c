/*
 * avx512.c -- the tables of emission rows for AVX-512
 */
#include "engine/native/x86/avx512/avx512.h"
#include "engine/native/x86/forms_rows.h"

#define OWN(name) avx512_##name
#define PICK(wide, narrow) wide
#define WIDE(...) __VA_ARGS__,
#define NARROW(...)

const NativeRows avx512_rows = {
#include "engine/native/x86/forms_rows.def"
};

const NativeCasts avx512_casts = {
#include "engine/native/x86/forms_casts.def"
};
