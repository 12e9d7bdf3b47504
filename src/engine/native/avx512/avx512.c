/*
 * avx512.c -- the table of emission rows for AVX-512
 *
 * Empty cells are most arithmetic in half precision, which the legaliser expands, and
 * exchanges and additions that give back what they found, which are the interpreter's.
 */
#include "engine/native/avx512/avx512.h"

#define ROW(type, ...) [VarType##type] = { .emit = __VA_ARGS__ }
#define EACH_32(...) ROW(Int32, __VA_ARGS__), ROW(UInt32, __VA_ARGS__)
#define EACH_64(...) ROW(Int64, __VA_ARGS__), ROW(UInt64, __VA_ARGS__)
#define EACH_8_16(...)                              \
    ROW(Int8, __VA_ARGS__), ROW(UInt8, __VA_ARGS__), \
        ROW(Int16, __VA_ARGS__), ROW(UInt16, __VA_ARGS__)
#define UNSIGNED_32(...)                                 \
    ROW(UInt8, __VA_ARGS__), ROW(UInt16, __VA_ARGS__), \
        ROW(UInt32, __VA_ARGS__)
#define SIGNED_32(...) \
    ROW(Int8, __VA_ARGS__), ROW(Int16, __VA_ARGS__), ROW(Int32, __VA_ARGS__)
#define FLOATS(function, single, double_) \
    ROW(Float32, function, single), ROW(Float64, function, double_)

#define FLOAT(name) avx512_float_##name
#define INTEGER(name) avx512_integer_##name
#define MEMORY(name) avx512_memory_##name
#define WHOLE FORMS_WHOLE
#define EXTEND FORMS_EXTEND

/* Logic leaves narrow values extended. */
#define LOGIC(d, q, k)                                           \
    { EACH_8_16(INTEGER(logic), d), EACH_32(INTEGER(logic), d),  \
      EACH_64(INTEGER(logic), q), ROW(Bool, FLOAT(mask), k) }

/* Predicates of integers and floats, and those for swapped operands. */
#define COMPARE(integer, integer_swapped, real, real_swapped)                         \
    SIGNED_32(FLOAT(compare_integer), X86_VPCMPD_K, integer_swapped, integer),        \
        UNSIGNED_32(FLOAT(compare_integer), X86_VPCMPUD_K, integer_swapped, integer), \
        ROW(Int64, FLOAT(compare_integer), X86_VPCMPQ_K, integer_swapped, integer),   \
        ROW(UInt64, FLOAT(compare_integer), X86_VPCMPUQ_K, integer_swapped, integer), \
        ROW(Float32, FLOAT(compare), X86_VCMPPS_K, real_swapped, real),               \
        ROW(Float64, FLOAT(compare), X86_VCMPPD_K, real_swapped, real)

#define EVERY(...)                                                       \
    { ROW(Bool, __VA_ARGS__), EACH_8_16(__VA_ARGS__),                    \
      EACH_32(__VA_ARGS__), EACH_64(__VA_ARGS__),                        \
      ROW(Pointer, __VA_ARGS__), ROW(Float16, __VA_ARGS__),              \
      ROW(Float32, __VA_ARGS__), ROW(Float64, __VA_ARGS__) }

const NativeRows avx512_rows = {
    /* ---- one operand */
    [OP_NEG] = {
        ROW(Int8, forms_integer_neg, X86_VPSUBD, 0, EXTEND),
        ROW(UInt8, forms_integer_neg, X86_VPSUBB, 0, WHOLE),
        ROW(Int16, forms_integer_neg, X86_VPSUBD, 0, EXTEND),
        ROW(UInt16, forms_integer_neg, X86_VPSUBW, 0, WHOLE),
        EACH_32(forms_integer_neg, X86_VPSUBD),
        EACH_64(forms_integer_neg, X86_VPSUBQ),
        ROW(Float16, forms_sign, X86_VPXORD),
        FLOATS(forms_sign, X86_VPXORD, X86_VPXORQ),
    },
    [OP_NOT] = {
        ROW(Int8, INTEGER(not), X86_VPTERNLOGD),
        ROW(UInt8, forms_unary_const, X86_VPXORD, 32, 0xff),
        ROW(Int16, INTEGER(not), X86_VPTERNLOGD),
        ROW(UInt16, forms_unary_const, X86_VPXORD, 32, 0xffff),
        EACH_32(INTEGER(not), X86_VPTERNLOGD),
        EACH_64(INTEGER(not), X86_VPTERNLOGQ),
        ROW(Bool, FLOAT(mask_not), X86_KNOTW, X86_KNOTB),
    },
    [OP_SQRT] = { FLOATS(forms_unary, X86_VSQRTPS, X86_VSQRTPD) },
    [OP_RCP] = { FLOATS(forms_rcp, X86_VDIVPS, X86_VDIVPD) },
    [OP_ABS] = {
        ROW(Int8, forms_integer_unary, X86_VPABSD, 0, EXTEND),
        ROW(Int16, forms_integer_unary, X86_VPABSD, 0, EXTEND),
        ROW(Int32, forms_unary, X86_VPABSD),
        ROW(Int64, forms_unary, X86_VPABSQ),
        UNSIGNED_32(forms_same),
        ROW(UInt64, forms_same),
        ROW(Float16, forms_sign, X86_VPANDD, 0, 1),
        ROW(Float32, forms_sign, X86_VPANDD, 0, 1),
        ROW(Float64, forms_sign, X86_VPANDQ, 0, 1),
    },
    /* The immediate: 0 to nearest, 1 down, 2 up, 3 to zero; 8: whatever MXCSR says. */
    [OP_ROUND] = {
        ROW(Float32, forms_unary_imm, X86_VRNDSCALEPS, 0, 8),
        ROW(Float64, forms_unary_imm, X86_VRNDSCALEPD, 0, 8),
    },
    [OP_FLOOR] = {
        ROW(Float32, forms_unary_imm, X86_VRNDSCALEPS, 0, 9),
        ROW(Float64, forms_unary_imm, X86_VRNDSCALEPD, 0, 9),
    },
    [OP_CEIL] = {
        ROW(Float32, forms_unary_imm, X86_VRNDSCALEPS, 0, 10),
        ROW(Float64, forms_unary_imm, X86_VRNDSCALEPD, 0, 10),
    },
    [OP_TRUNC] = {
        ROW(Float32, forms_unary_imm, X86_VRNDSCALEPS, 0, 11),
        ROW(Float64, forms_unary_imm, X86_VRNDSCALEPD, 0, 11),
    },
    [OP_POPC] = {
        ROW(Int8, INTEGER(popc), X86_VPOPCNTD, 0, 8),
        ROW(UInt8, INTEGER(popc), X86_VPOPCNTD, 0, 8),
        ROW(Int16, INTEGER(popc), X86_VPOPCNTD, 0, 16),
        ROW(UInt16, INTEGER(popc), X86_VPOPCNTD, 0, 16),
        EACH_32(INTEGER(popc), X86_VPOPCNTD, 0, 32),
        EACH_64(INTEGER(popc), X86_VPOPCNTQ, 0, 64),
    },
    [OP_CLZ] = {
        ROW(Int8, INTEGER(clz), X86_VPLZCNTD, 0, 8),
        ROW(UInt8, INTEGER(clz), X86_VPLZCNTD, 0, 8),
        ROW(Int16, INTEGER(clz), X86_VPLZCNTD, 0, 16),
        ROW(UInt16, INTEGER(clz), X86_VPLZCNTD, 0, 16),
        EACH_32(INTEGER(clz), X86_VPLZCNTD, 0, 32),
        EACH_64(INTEGER(clz), X86_VPLZCNTQ, 0, 64),
    },
    [OP_CTZ] = {
        ROW(Int8, INTEGER(ctz), X86_VPOPCNTD, 0, 8),
        ROW(UInt8, INTEGER(ctz), X86_VPOPCNTD, 0, 8),
        ROW(Int16, INTEGER(ctz), X86_VPOPCNTD, 0, 16),
        ROW(UInt16, INTEGER(ctz), X86_VPOPCNTD, 0, 16),
        EACH_32(INTEGER(ctz), X86_VPOPCNTD, 0, 32),
        EACH_64(INTEGER(ctz), X86_VPOPCNTQ, 0, 64),
    },
    [OP_BREV] = {
        ROW(Int8, INTEGER(brev), 0, 0, 8),
        ROW(UInt8, INTEGER(brev), 0, 0, 8),
        ROW(Int16, INTEGER(brev), 0, 0, 16),
        ROW(UInt16, INTEGER(brev), 0, 0, 16),
        EACH_32(INTEGER(brev), 0, 0, 32),
        EACH_64(INTEGER(brev), 0, 0, 64),
    },

    /* ---- two operands. Sums of unsigned bytes in lanes with zeros above are sums of
     * lanes of bytes. */
    [OP_ADD] = {
        ROW(Int8, forms_integer_binary, X86_VPADDD, 0, EXTEND),
        ROW(UInt8, forms_integer_binary, X86_VPADDB, 0, WHOLE),
        ROW(Int16, forms_integer_binary, X86_VPADDD, 0, EXTEND),
        ROW(UInt16, forms_integer_binary, X86_VPADDW, 0, WHOLE),
        EACH_32(forms_commute, X86_VPADDD),
        EACH_64(forms_commute, X86_VPADDQ),
        FLOATS(forms_commute, X86_VADDPS, X86_VADDPD),
    },
    [OP_SUB] = {
        ROW(Int8, forms_integer_binary, X86_VPSUBD, 0, EXTEND),
        ROW(UInt8, forms_integer_binary, X86_VPSUBB, 0, WHOLE),
        ROW(Int16, forms_integer_binary, X86_VPSUBD, 0, EXTEND),
        ROW(UInt16, forms_integer_binary, X86_VPSUBW, 0, WHOLE),
        EACH_32(forms_binary, X86_VPSUBD),
        EACH_64(forms_binary, X86_VPSUBQ),
        FLOATS(forms_binary, X86_VSUBPS, X86_VSUBPD),
    },
    [OP_MUL] = {
        ROW(Int8, forms_integer_binary, X86_VPMULLW, 0, WHOLE | EXTEND),
        ROW(UInt8, forms_integer_binary, X86_VPMULLW, 0, WHOLE | EXTEND),
        ROW(Int16, forms_integer_binary, X86_VPMULLW, 0, WHOLE | EXTEND),
        ROW(UInt16, forms_integer_binary, X86_VPMULLW, 0, WHOLE),
        EACH_32(forms_commute, X86_VPMULLD),
        EACH_64(INTEGER(mul_long), X86_VPMULLQ),
        FLOATS(forms_commute, X86_VMULPS, X86_VMULPD),
    },
    [OP_DIV] = {
        EACH_8_16(avx512_divide_narrow),
        ROW(Int32, avx512_divide, X86_VCVTDQ2PD, X86_VCVTTPD2DQ),
        ROW(UInt32, avx512_divide, X86_VCVTUDQ2PD, X86_VCVTTPD2UDQ),
        EACH_64(avx512_divide_long),
        FLOATS(forms_binary, X86_VDIVPS, X86_VDIVPD),
    },
    [OP_MOD] = {
        EACH_8_16(avx512_divide_narrow),
        ROW(Int32, avx512_divide, X86_VCVTDQ2PD, X86_VCVTTPD2DQ),
        ROW(UInt32, avx512_divide, X86_VCVTUDQ2PD, X86_VCVTTPD2UDQ),
        EACH_64(avx512_divide_long),
    },
    [OP_MUL_HI] = {
        ROW(Int8, forms_integer_mul_shift, X86_VPMULLD, X86_VPSRAD_I, 8),
        ROW(UInt8, forms_integer_mul_shift, X86_VPMULLD, X86_VPSRLD_I, 8),
        ROW(Int16, forms_integer_mul_shift, X86_VPMULLD, X86_VPSRAD_I, 16),
        ROW(UInt16, forms_integer_binary, X86_VPMULHUW, 0, WHOLE),
        ROW(Int32, INTEGER(mul_hi), X86_VPMULDQ),
        ROW(UInt32, INTEGER(mul_hi), X86_VPMULUDQ),
        ROW(Int64, INTEGER(mul_hi_long), 0, 0, 1),
        ROW(UInt64, INTEGER(mul_hi_long), 0, 0, 0),
    },
    [OP_MUL_WIDE] = {
        EACH_8_16(forms_commute, X86_VPMULLD),
        ROW(Int32, forms_integer_mul_wide, X86_VPMULDQ, X86_VPMOVZXDQ),
        ROW(UInt32, forms_integer_mul_wide, X86_VPMULUDQ, X86_VPMOVZXDQ),
    },
    [OP_MIN] = {
        SIGNED_32(forms_commute, X86_VPMINSD),
        UNSIGNED_32(forms_commute, X86_VPMINUD),
        ROW(Int64, forms_commute, X86_VPMINSQ),
        ROW(UInt64, forms_commute, X86_VPMINUQ),
        ROW(Float32, FLOAT(choose), X86_VMINPS, 0, 1),
        ROW(Float64, FLOAT(choose), X86_VMINPD, 0, 1),
    },
    [OP_MAX] = {
        SIGNED_32(forms_commute, X86_VPMAXSD),
        UNSIGNED_32(forms_commute, X86_VPMAXUD),
        ROW(Int64, forms_commute, X86_VPMAXSQ),
        ROW(UInt64, forms_commute, X86_VPMAXUQ),
        ROW(Float32, FLOAT(choose), X86_VMAXPS, 0, 0),
        ROW(Float64, FLOAT(choose), X86_VMAXPD, 0, 0),
    },
    /* The immediate: 4 and 5 are minimum and maximum with their own sign. */
    [OP_FMIN] = {
        ROW(Float32, FLOAT(range), X86_VRANGEPS, 0, 4),
        ROW(Float64, FLOAT(range), X86_VRANGEPD, 0, 4),
    },
    [OP_FMAX] = {
        ROW(Float32, FLOAT(range), X86_VRANGEPS, 0, 5),
        ROW(Float64, FLOAT(range), X86_VRANGEPD, 0, 5),
    },
    [OP_COPYSIGN] = {
        ROW(Float16, FLOAT(copysign)),
        ROW(Float32, FLOAT(copysign)),
        ROW(Float64, FLOAT(copysign)),
    },
    [OP_EQ] = {
        COMPARE(X86_PCMP_EQ, X86_PCMP_EQ, X86_CMP_EQ_OQ, X86_CMP_EQ_OQ),
        ROW(Bool, FLOAT(mask), X86_KXNORW, X86_KXNORB),
        ROW(Pointer, FLOAT(compare_integer), X86_VPCMPUQ_K, X86_PCMP_EQ, X86_PCMP_EQ),
    },
    [OP_NEQ] = {
        COMPARE(X86_PCMP_NE, X86_PCMP_NE, X86_CMP_NEQ_UQ, X86_CMP_NEQ_UQ),
        ROW(Bool, FLOAT(mask), X86_KXORW),
        ROW(Pointer, FLOAT(compare_integer), X86_VPCMPUQ_K, X86_PCMP_NE, X86_PCMP_NE),
    },
    [OP_LT] = { COMPARE(X86_PCMP_LT, X86_PCMP_GT, X86_CMP_LT_OQ, X86_CMP_GT_OQ) },
    [OP_LE] = { COMPARE(X86_PCMP_LE, X86_PCMP_GE, X86_CMP_LE_OQ, X86_CMP_GE_OQ) },
    [OP_GT] = { COMPARE(X86_PCMP_GT, X86_PCMP_LT, X86_CMP_GT_OQ, X86_CMP_LT_OQ) },
    [OP_GE] = { COMPARE(X86_PCMP_GE, X86_PCMP_LE, X86_CMP_GE_OQ, X86_CMP_LE_OQ) },
    [OP_AND] = LOGIC(X86_VPANDD, X86_VPANDQ, X86_KANDW),
    [OP_OR] = LOGIC(X86_VPORD, X86_VPORQ, X86_KORW),
    [OP_XOR] = LOGIC(X86_VPXORD, X86_VPXORQ, X86_KXORW),
    [OP_SHL] = {
        EACH_8_16(INTEGER(shift), X86_VPSLLVD, X86_VPSLLD_I, EXTEND),
        EACH_32(INTEGER(shift), X86_VPSLLVD, X86_VPSLLD_I),
        EACH_64(INTEGER(shift), X86_VPSLLVQ, X86_VPSLLQ_I),
    },
    [OP_SHR] = {
        SIGNED_32(INTEGER(shift), X86_VPSRAVD, X86_VPSRAD_I),
        UNSIGNED_32(INTEGER(shift), X86_VPSRLVD, X86_VPSRLD_I),
        ROW(Int64, INTEGER(shift), X86_VPSRAVQ, X86_VPSRAQ_I),
        ROW(UInt64, INTEGER(shift), X86_VPSRLVQ, X86_VPSRLQ_I),
    },

    /* ---- three operands */
    [OP_FMA] = {
        ROW(Int8, forms_integer_fma, X86_VPMULLD, X86_VPADDD, EXTEND),
        ROW(UInt8, forms_integer_fma, X86_VPMULLD, X86_VPADDD, EXTEND),
        ROW(Int16, forms_integer_fma, X86_VPMULLD, X86_VPADDD, EXTEND),
        ROW(UInt16, forms_integer_fma, X86_VPMULLW, X86_VPADDW, WHOLE),
        EACH_32(forms_integer_fma, X86_VPMULLD, X86_VPADDD),
        EACH_64(forms_integer_fma, X86_VPMULLQ, X86_VPADDQ),
        ROW(Float16, avx512_convert_half_fma),
        ROW(Float32, forms_fma, X86_VFMADD231PS, X86_VFMADD213PS),
        ROW(Float64, forms_fma, X86_VFMADD231PD, X86_VFMADD213PD),
    },
    [OP_SELECT] = {
        EACH_8_16(FLOAT(select), X86_VPBLENDMD),
        EACH_32(FLOAT(select), X86_VPBLENDMD),
        EACH_64(FLOAT(select), X86_VPBLENDMQ),
        ROW(Pointer, FLOAT(select), X86_VPBLENDMQ),
        ROW(Float16, FLOAT(select), X86_VPBLENDMD),
        FLOATS(FLOAT(select), X86_VPBLENDMD, X86_VPBLENDMQ),
        ROW(Bool, FLOAT(mask_select)),
    },

    /* ---- tables: instructions for one register and for two, entries of a register */
    [OP_LOOKUP] = {
        EACH_32(avx512_lookup, X86_VPERMPS, X86_VPERMT2PS, 16),
        EACH_64(avx512_lookup, X86_VPERMPD, X86_VPERMT2PD, 8),
        ROW(Float32, avx512_lookup, X86_VPERMPS, X86_VPERMT2PS, 16),
        ROW(Float64, avx512_lookup, X86_VPERMPD, X86_VPERMT2PD, 8),
    },

    /* ---- memory: instructions with indices of 32 and of 64 bits */
    [OP_GATHER] = {
        EACH_8_16(MEMORY(gather_narrow)),
        ROW(Bool, MEMORY(gather_narrow)),
        ROW(Float16, MEMORY(gather_narrow)),
        EACH_32(MEMORY(gather), X86_VPGATHERDD, X86_VPGATHERQD),
        EACH_64(MEMORY(gather), X86_VPGATHERDQ, X86_VPGATHERQQ),
        ROW(Pointer, MEMORY(gather), X86_VPGATHERDQ, X86_VPGATHERQQ),
        ROW(Float32, MEMORY(gather), X86_VPGATHERDD, X86_VPGATHERQD),
        ROW(Float64, MEMORY(gather), X86_VPGATHERDQ, X86_VPGATHERQQ),
    },
    [OP_SCATTER] = {
        EACH_8_16(forms_scatter),
        ROW(Bool, forms_scatter),
        ROW(Float16, forms_scatter),
        EACH_32(MEMORY(scatter), X86_VPSCATTERDD, X86_VPSCATTERQD),
        EACH_64(MEMORY(scatter), X86_VPSCATTERDQ, X86_VPSCATTERQQ),
        ROW(Pointer, MEMORY(scatter), X86_VPSCATTERDQ, X86_VPSCATTERQQ),
        ROW(Float32, MEMORY(scatter), X86_VPSCATTERDD, X86_VPSCATTERQD),
        ROW(Float64, MEMORY(scatter), X86_VPSCATTERDQ, X86_VPSCATTERQQ),
    },
    [OP_GATHER_PACKET] = {
        EACH_32(avx512_packet_gather),
        EACH_64(avx512_packet_gather),
        ROW(Pointer, avx512_packet_gather),
        FLOATS(avx512_packet_gather, 0, 0),
    },
    [OP_SCATTER_PACKET] = {
        EACH_32(forms_scatter_packet),
        EACH_64(forms_scatter_packet),
        ROW(Pointer, forms_scatter_packet),
        FLOATS(forms_scatter_packet, 0, 0),
    },
    [OP_SCATTER_INC] = { ROW(UInt32, avx512_atomic_increment) },
    [OP_CHECK] = { ROW(Bool, avx512_atomic_check) },

    /* ---- local arrays */
    [OP_LOCAL] = EVERY(avx512_local),
    [OP_LOCAL_READ] = EVERY(avx512_local_read),
    [OP_LOCAL_WRITE] = EVERY(avx512_local_write),
    [OP_LOCAL_MOVE] = EVERY(avx512_local_move),
};
