/*
 * avx2.c -- the table of emission rows for AVX2, FMA and F16C
 *
 * Empty cells are 64-bit division, arithmetic in half precision (expanded by the
 * legaliser), and atomic operations that give back what they found. Those of rows whose
 * function refuses are noted there.
 */
#include "engine/native/avx2/avx2.h"

#define ROW(type, ...) [VarType##type] = { .emit = __VA_ARGS__ }
#define EACH_8(...) ROW(Int8, __VA_ARGS__), ROW(UInt8, __VA_ARGS__)
#define EACH_16(...) ROW(Int16, __VA_ARGS__), ROW(UInt16, __VA_ARGS__)
#define EACH_32(...) ROW(Int32, __VA_ARGS__), ROW(UInt32, __VA_ARGS__)
#define EACH_64(...) ROW(Int64, __VA_ARGS__), ROW(UInt64, __VA_ARGS__)
#define EACH_8_16(...) EACH_8(__VA_ARGS__), EACH_16(__VA_ARGS__)
#define UNSIGNED_32(...)                               \
    ROW(UInt8, __VA_ARGS__), ROW(UInt16, __VA_ARGS__), \
        ROW(UInt32, __VA_ARGS__)
#define SIGNED_32(...) \
    ROW(Int8, __VA_ARGS__), ROW(Int16, __VA_ARGS__), ROW(Int32, __VA_ARGS__)
#define FLOATS(function, single, double_) \
    ROW(Float32, function, single), ROW(Float64, function, double_)

#define FLOAT(name) avx2_float_##name
#define INTEGER(name) avx2_integer_##name
#define LONG(name) avx2_long_##name
#define MEMORY(name) avx2_memory_##name
#define EXTEND FORMS_EXTEND
#define SWAP NATIVE_AVX2_SWAP
#define INVERT NATIVE_AVX2_INVERT
#define FLIP NATIVE_AVX2_FLIP

/* Logic leaves narrow values extended. */
#define LOGIC(inst)                                                    \
    { EACH_8_16(forms_commute, inst), EACH_32(forms_commute, inst),    \
      EACH_64(forms_commute, inst), ROW(Bool, FLOAT(mask), inst) }

/* Equality; 'invert' for its opposite. */
#define EQUAL(invert)                                               \
    EACH_8_16(INTEGER(compare), X86_VPCMPEQD, 0, invert),           \
        EACH_32(INTEGER(compare), X86_VPCMPEQD, 0, invert),         \
        EACH_64(INTEGER(compare), X86_VPCMPEQQ, 0, invert),         \
        ROW(Pointer, INTEGER(compare), X86_VPCMPEQQ, 0, invert)
/* Order, by "greater" with its operands swapped or its result inverted. */
#define ORDER(flags)                                                \
    EACH_8_16(INTEGER(compare), X86_VPCMPGTD, 0, flags),            \
        ROW(Int64, INTEGER(compare), X86_VPCMPGTQ, 0, flags),       \
        ROW(UInt64, INTEGER(compare), X86_VPCMPGTQ, 0, FLIP | (flags))
/* Predicates of floats, and those for swapped operands. */
#define REAL(predicate, swapped)                                    \
    ROW(Float32, FLOAT(compare), X86_VCMPPS, swapped, predicate),   \
        ROW(Float64, FLOAT(compare), X86_VCMPPD, swapped, predicate)

#define EVERY(...)                                                       \
    { ROW(Bool, __VA_ARGS__), EACH_8_16(__VA_ARGS__),                    \
      EACH_32(__VA_ARGS__), EACH_64(__VA_ARGS__),                        \
      ROW(Pointer, __VA_ARGS__), ROW(Float16, __VA_ARGS__),              \
      ROW(Float32, __VA_ARGS__), ROW(Float64, __VA_ARGS__) }

const NativeRows avx2_rows = {
    /* ---- one operand */
    [OP_NEG] = {
        ROW(Int8, forms_integer_neg, X86_VPSUBD, 0, EXTEND),
        ROW(UInt8, forms_integer_neg, X86_VPSUBB),
        ROW(Int16, forms_integer_neg, X86_VPSUBD, 0, EXTEND),
        ROW(UInt16, forms_integer_neg, X86_VPSUBW),
        EACH_32(forms_integer_neg, X86_VPSUBD),
        EACH_64(forms_integer_neg, X86_VPSUBQ),
        ROW(Float16, forms_sign, X86_VPXORD),
        FLOATS(forms_sign, X86_VXORPS, X86_VXORPD),
    },
    [OP_NOT] = {
        ROW(Int8, forms_unary_const, X86_VPXORD, 32, UINT32_MAX),
        ROW(UInt8, forms_unary_const, X86_VPXORD, 32, 0xff),
        ROW(Int16, forms_unary_const, X86_VPXORD, 32, UINT32_MAX),
        ROW(UInt16, forms_unary_const, X86_VPXORD, 32, 0xffff),
        EACH_32(forms_unary_const, X86_VPXORD, 32, UINT32_MAX),
        EACH_64(forms_unary_const, X86_VPXORD, 64, UINT32_MAX),
        ROW(Bool, FLOAT(mask_not), X86_VPXORD),
    },
    [OP_SQRT] = { FLOATS(forms_unary, X86_VSQRTPS, X86_VSQRTPD) },
    [OP_RCP] = { FLOATS(forms_rcp, X86_VDIVPS, X86_VDIVPD) },
    [OP_ABS] = {
        ROW(Int8, forms_integer_unary, X86_VPABSD, 0, EXTEND),
        ROW(Int16, forms_integer_unary, X86_VPABSD, 0, EXTEND),
        ROW(Int32, forms_integer_unary, X86_VPABSD),
        ROW(Int64, LONG(abs)),
        UNSIGNED_32(forms_same),
        ROW(UInt64, forms_same),
        ROW(Float16, forms_sign, X86_VPANDD, 0, 1),
        ROW(Float32, forms_sign, X86_VANDPS, 0, 1),
        ROW(Float64, forms_sign, X86_VANDPD, 0, 1),
    },
    /* The immediate: 0 to nearest, 1 down, 2 up, 3 to zero; 8: whatever MXCSR says. */
    [OP_ROUND] = {
        ROW(Float32, forms_unary_imm, X86_VROUNDPS, 0, 8),
        ROW(Float64, forms_unary_imm, X86_VROUNDPD, 0, 8),
    },
    [OP_FLOOR] = {
        ROW(Float32, forms_unary_imm, X86_VROUNDPS, 0, 9),
        ROW(Float64, forms_unary_imm, X86_VROUNDPD, 0, 9),
    },
    [OP_CEIL] = {
        ROW(Float32, forms_unary_imm, X86_VROUNDPS, 0, 10),
        ROW(Float64, forms_unary_imm, X86_VROUNDPD, 0, 10),
    },
    [OP_TRUNC] = {
        ROW(Float32, forms_unary_imm, X86_VROUNDPS, 0, 11),
        ROW(Float64, forms_unary_imm, X86_VROUNDPD, 0, 11),
    },
    [OP_POPC] = {
        EACH_8(INTEGER(popc), 0, 0, 8),
        EACH_16(INTEGER(popc), 0, 0, 16),
        EACH_32(INTEGER(popc), 0, 0, 32),
        EACH_64(LONG(popc)),
    },
    [OP_CLZ] = {
        EACH_8(INTEGER(clz), 0, 0, 8),
        EACH_16(INTEGER(clz), 0, 0, 16),
        EACH_32(INTEGER(clz), 0, 0, 32),
        EACH_64(LONG(clz)),
    },
    [OP_CTZ] = {
        EACH_8(INTEGER(ctz), 0, 0, 8),
        EACH_16(INTEGER(ctz), 0, 0, 16),
        EACH_32(INTEGER(ctz), 0, 0, 32),
        EACH_64(LONG(ctz)),
    },
    [OP_BREV] = {
        EACH_8(INTEGER(brev), 0, 0, 8),
        EACH_16(INTEGER(brev), 0, 0, 16),
        EACH_32(INTEGER(brev), 0, 0, 32),
        EACH_64(INTEGER(brev), 0, 0, 64),
    },

    /* ---- two operands. Sums of unsigned bytes in lanes with zeros above are sums of
     * lanes of bytes. */
    [OP_ADD] = {
        ROW(Int8, forms_integer_binary, X86_VPADDD, 0, EXTEND),
        ROW(UInt8, forms_commute, X86_VPADDB),
        ROW(Int16, forms_integer_binary, X86_VPADDD, 0, EXTEND),
        ROW(UInt16, forms_commute, X86_VPADDW),
        EACH_32(forms_commute, X86_VPADDD),
        EACH_64(forms_commute, X86_VPADDQ),
        FLOATS(forms_commute, X86_VADDPS, X86_VADDPD),
    },
    [OP_SUB] = {
        ROW(Int8, forms_integer_binary, X86_VPSUBD, 0, EXTEND),
        ROW(UInt8, forms_binary, X86_VPSUBB),
        ROW(Int16, forms_integer_binary, X86_VPSUBD, 0, EXTEND),
        ROW(UInt16, forms_binary, X86_VPSUBW),
        EACH_32(forms_binary, X86_VPSUBD),
        EACH_64(forms_binary, X86_VPSUBQ),
        FLOATS(forms_binary, X86_VSUBPS, X86_VSUBPD),
    },
    [OP_MUL] = {
        EACH_8(forms_integer_binary, X86_VPMULLW, 0, EXTEND),
        ROW(Int16, forms_integer_binary, X86_VPMULLW, 0, EXTEND),
        ROW(UInt16, forms_commute, X86_VPMULLW),
        EACH_32(forms_commute, X86_VPMULLD),
        EACH_64(LONG(mul)),
        FLOATS(forms_commute, X86_VMULPS, X86_VMULPD),
    },
    [OP_DIV] = {
        EACH_8_16(avx2_divide_narrow),
        EACH_32(avx2_divide),
        FLOATS(forms_binary, X86_VDIVPS, X86_VDIVPD),
    },
    [OP_MOD] = {
        EACH_8_16(avx2_divide_narrow),
        EACH_32(avx2_divide),
    },
    [OP_MUL_HI] = {
        ROW(Int8, forms_integer_mul_shift, X86_VPMULLD, X86_VPSRAD_I, 8),
        ROW(UInt8, forms_integer_mul_shift, X86_VPMULLD, X86_VPSRLD_I, 8),
        ROW(Int16, forms_integer_mul_shift, X86_VPMULLD, X86_VPSRAD_I, 16),
        ROW(UInt16, forms_commute, X86_VPMULHUW),
        ROW(Int32, INTEGER(mul_hi), X86_VPMULDQ),
        ROW(UInt32, INTEGER(mul_hi), X86_VPMULUDQ),
        ROW(Int64, LONG(mul_hi), 0, 0, 1),
        ROW(UInt64, LONG(mul_hi)),
    },
    [OP_MUL_WIDE] = {
        EACH_8_16(forms_commute, X86_VPMULLD),
        ROW(Int32, forms_integer_mul_wide, X86_VPMULDQ, X86_VPMOVZXDQ),
        ROW(UInt32, forms_integer_mul_wide, X86_VPMULUDQ, X86_VPMOVZXDQ),
    },
    [OP_MIN] = {
        SIGNED_32(forms_commute, X86_VPMINSD),
        UNSIGNED_32(forms_commute, X86_VPMINUD),
        EACH_64(LONG(choose)),
        ROW(Float32, FLOAT(choose), X86_VMINPS, 0, 1),
        ROW(Float64, FLOAT(choose), X86_VMINPD, 0, 1),
    },
    [OP_MAX] = {
        SIGNED_32(forms_commute, X86_VPMAXSD),
        UNSIGNED_32(forms_commute, X86_VPMAXUD),
        EACH_64(LONG(choose), 0, 0, 1),
        ROW(Float32, FLOAT(choose), X86_VMAXPS, 0, 0),
        ROW(Float64, FLOAT(choose), X86_VMAXPD, 0, 0),
    },
    /* Of zeros, the smaller one has all sign bits; the larger one those of both. */
    [OP_FMIN] = {
        ROW(Float32, FLOAT(range), X86_VMINPS, X86_VPANDD, X86_VPORD),
        ROW(Float64, FLOAT(range), X86_VMINPD, X86_VPANDD, X86_VPORD),
    },
    [OP_FMAX] = {
        ROW(Float32, FLOAT(range), X86_VMAXPS, X86_VPANDND, X86_VPANDND),
        ROW(Float64, FLOAT(range), X86_VMAXPD, X86_VPANDND, X86_VPANDND),
    },
    [OP_COPYSIGN] = {
        ROW(Float16, FLOAT(copysign)),
        ROW(Float32, FLOAT(copysign)),
        ROW(Float64, FLOAT(copysign)),
    },
    [OP_EQ] = { EQUAL(0), ROW(Bool, FLOAT(mask), X86_VPCMPEQD),
                REAL(X86_CMP_EQ_OQ, X86_CMP_EQ_OQ) },
    [OP_NEQ] = { EQUAL(INVERT), ROW(Bool, FLOAT(mask), X86_VPXORD),
                 REAL(X86_CMP_NEQ_UQ, X86_CMP_NEQ_UQ) },
    [OP_LT] = { ORDER(SWAP),
                ROW(Int32, INTEGER(compare), X86_VPCMPGTD, 0, SWAP),
                ROW(UInt32, INTEGER(order), X86_VPMAXUD, 0, INVERT),
                REAL(X86_CMP_LT_OQ, X86_CMP_GT_OQ) },
    [OP_LE] = { ORDER(INVERT),
                ROW(Int32, INTEGER(bound), X86_VPMINSD),
                ROW(UInt32, INTEGER(bound), X86_VPMINUD),
                REAL(X86_CMP_LE_OQ, X86_CMP_GE_OQ) },
    [OP_GT] = { ORDER(0),
                ROW(Int32, INTEGER(compare), X86_VPCMPGTD),
                ROW(UInt32, INTEGER(order), X86_VPMINUD, 0, INVERT),
                REAL(X86_CMP_GT_OQ, X86_CMP_LT_OQ) },
    [OP_GE] = { ORDER(SWAP | INVERT),
                ROW(Int32, INTEGER(bound), X86_VPMAXSD),
                ROW(UInt32, INTEGER(bound), X86_VPMAXUD),
                REAL(X86_CMP_GE_OQ, X86_CMP_LE_OQ) },
    [OP_AND] = LOGIC(X86_VPANDD),
    [OP_OR] = LOGIC(X86_VPORD),
    [OP_XOR] = LOGIC(X86_VPXORD),
    [OP_SHL] = {
        EACH_8_16(INTEGER(shift), X86_VPSLLVD, X86_VPSLLD_I, EXTEND),
        EACH_32(INTEGER(shift), X86_VPSLLVD, X86_VPSLLD_I),
        EACH_64(INTEGER(shift), X86_VPSLLVQ, X86_VPSLLQ_I),
    },
    [OP_SHR] = {
        SIGNED_32(INTEGER(shift), X86_VPSRAVD, X86_VPSRAD_I),
        UNSIGNED_32(INTEGER(shift), X86_VPSRLVD, X86_VPSRLD_I),
        ROW(Int64, LONG(shr)),
        ROW(UInt64, INTEGER(shift), X86_VPSRLVQ, X86_VPSRLQ_I),
    },

    /* ---- three operands */
    [OP_FMA] = {
        EACH_8(forms_integer_fma, X86_VPMULLD, X86_VPADDD, EXTEND),
        ROW(Int16, forms_integer_fma, X86_VPMULLD, X86_VPADDD, EXTEND),
        ROW(UInt16, forms_integer_fma, X86_VPMULLW, X86_VPADDW),
        EACH_32(forms_integer_fma, X86_VPMULLD, X86_VPADDD),
        EACH_64(LONG(fma)),
        ROW(Float32, forms_fma, X86_VFMADD231PS, X86_VFMADD213PS),
        ROW(Float64, forms_fma, X86_VFMADD231PD, X86_VFMADD213PD),
    },
    [OP_SELECT] = {
        EACH_8_16(FLOAT(select), X86_VBLENDVPS),
        EACH_32(FLOAT(select), X86_VBLENDVPS),
        EACH_64(FLOAT(select), X86_VBLENDVPD),
        ROW(Pointer, FLOAT(select), X86_VBLENDVPD),
        ROW(Float16, FLOAT(select), X86_VBLENDVPS),
        FLOATS(FLOAT(select), X86_VBLENDVPS, X86_VBLENDVPD),
        ROW(Bool, FLOAT(mask_select), X86_VBLENDVPS),
    },

    /* ---- tables */
    [OP_LOOKUP] = {
        EACH_32(avx2_lookup),
        EACH_64(avx2_lookup),
        ROW(Float32, avx2_lookup),
        ROW(Float64, avx2_lookup),
    },

    /* ---- memory */
    [OP_GATHER] = {
        EACH_8_16(MEMORY(gather_narrow)),
        ROW(Bool, MEMORY(gather_narrow)),
        ROW(Float16, MEMORY(gather_narrow)),
        EACH_32(MEMORY(gather)),
        ROW(Float32, MEMORY(gather)),
        EACH_64(MEMORY(gather_long), X86_VPGATHERQQ_V),
        ROW(Pointer, MEMORY(gather_long), X86_VPGATHERQQ_V),
        ROW(Float64, MEMORY(gather_long), X86_VPGATHERQQ_V),
    },
    [OP_SCATTER] = {
        EACH_8_16(forms_scatter),
        ROW(Bool, forms_scatter),
        EACH_32(forms_scatter),
        EACH_64(forms_scatter),
        ROW(Pointer, forms_scatter),
        ROW(Float16, forms_scatter),
        ROW(Float32, forms_scatter),
        ROW(Float64, forms_scatter),
    },
    [OP_GATHER_PACKET] = {
        EACH_32(avx2_packet_gather),
        EACH_64(avx2_packet_gather),
        ROW(Pointer, avx2_packet_gather),
        FLOATS(avx2_packet_gather, 0, 0),
    },
    [OP_SCATTER_PACKET] = {
        EACH_32(forms_scatter_packet),
        EACH_64(forms_scatter_packet),
        ROW(Pointer, forms_scatter_packet),
        FLOATS(forms_scatter_packet, 0, 0),
    },
    [OP_SCATTER_INC] = { ROW(UInt32, avx2_atomic_increment) },
    [OP_CHECK] = { ROW(Bool, avx2_atomic_check) },

    /* ---- local arrays */
    [OP_LOCAL] = EVERY(avx2_local),
    [OP_LOCAL_READ] = EVERY(avx2_local_read),
    [OP_LOCAL_WRITE] = EVERY(avx2_local_write),
    [OP_LOCAL_MOVE] = EVERY(avx2_local_move),
};
