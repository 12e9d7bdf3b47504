/*
 * x86_row.h -- the words of x86.def as numbers, for encoder, listing and test
 *
 * x86.def writes its columns in short words; each file that reads it pastes a prefix in
 * front and finds the enumerators below.
 */
#ifndef ENGINE_NATIVE_X86_ASM_X86_ROW_H
#define ENGINE_NATIVE_X86_ASM_X86_ROW_H

#include "engine/native/x86/asm/x86.h"

/** Bits of the column KIND. */
enum {
    X86_KIND_LEGACY = 1 << 0,
    X86_KIND_LOCK = 1 << 1,
    X86_KIND_VEX = 1 << 2,
    X86_KIND_EVEX = 1 << 3,
    X86_KIND_EVEX_MEM = 1 << 4, /* EVEX if there is a memory operand */
    X86_KIND_L = X86_KIND_LEGACY,
    X86_KIND_K = X86_KIND_LEGACY | X86_KIND_LOCK,
    X86_KIND_V = X86_KIND_VEX,
    X86_KIND_E = X86_KIND_EVEX,
    X86_KIND_VE = X86_KIND_VEX | X86_KIND_EVEX,
    X86_KIND_VM = X86_KIND_VEX | X86_KIND_EVEX | X86_KIND_EVEX_MEM,
};

enum {
    X86_MAP_OP = 0, X86_MAP_0F = 1, X86_MAP_38 = 2, X86_MAP_3A = 3,
    X86_PP_NP = 0, X86_PP_66 = 1, X86_PP_F3 = 2, X86_PP_F2 = 3,
};

/** Bits of the column W: of VEX, of EVEX, as the form says. */
enum { X86_W_0 = 0, X86_W_1 = 3, X86_W_X = 2, X86_W_G = 4 };

/** The column DIGIT; 8 is none. */
enum {
    X86_DIGIT_0, X86_DIGIT_1, X86_DIGIT_2, X86_DIGIT_3, X86_DIGIT_4, X86_DIGIT_5,
    X86_DIGIT_6, X86_DIGIT_7, X86_DIGIT__,
};

/** The column LENGTH: bits 0-2 the lengths offered, if there is a choice; bit 3: VEX.L
 *  is always 1. */
enum {
    X86_LENGTH_S = 0, X86_LENGTH_A = 7, X86_LENGTH_Y = 2, X86_LENGTH_Z = 4,
    X86_LENGTH_YZ = 6, X86_LENGTH_L1 = 8,
};

/** The column TUPLE: the row of x86_tuple_shift[]. */
enum {
    X86_TUPLE_F, X86_TUPLE_H, X86_TUPLE_Q, X86_TUPLE_O, X86_TUPLE_D,
    X86_TUPLE_N1, X86_TUPLE_N2, X86_TUPLE_N4, X86_TUPLE_N8, X86_TUPLE_N16,
    X86_TUPLE_N32,
    X86_TUPLE_G, X86_TUPLE_GW, /* right after G: with X86_W */
    X86_TUPLE_T1, X86_TUPLE_T2, X86_TUPLE_T4, X86_TUPLE_T8,
    X86_TUPLE_COUNT
};

/** The column BCAST: log2 of the element size, and what EVEX.b says of registers. */
enum {
    X86_BCAST_SIZE = 3, X86_BCAST_ROUND = 4, X86_BCAST_SAE = 8,
    X86_BCAST_0 = 0, X86_BCAST_4 = 2, X86_BCAST_8 = 3,
    X86_BCAST_0R = 4, X86_BCAST_4R = 6, X86_BCAST_8R = 7,
    X86_BCAST_0S = 8, X86_BCAST_4S = 10, X86_BCAST_8S = 11,
};

enum { X86_MASK__, X86_MASK_K, X86_MASK_Z, X86_MASK_G };

/** The column IMM: bits 0-3 its bytes. */
enum {
    X86_IMM_SIZE = 7, X86_IMM_SHORT = 8, X86_IMM_REG = 16,
    X86_IMM__ = 0, X86_IMM_8 = 1, X86_IMM_16 = 2, X86_IMM_32 = 4,
    X86_IMM_S = 4 | X86_IMM_SHORT, /* a sign-extended byte where it fits */
    X86_IMM_R4 = 1 | X86_IMM_REG,
};

/** Classes of operands. */
enum {
    X86_CLASS_NONE,
    X86_CLASS_V, X86_CLASS_H, X86_CLASS_Q, X86_CLASS_O, X86_CLASS_X, X86_CLASS_Y,
    X86_CLASS_K, X86_CLASS_G, X86_CLASS_B, X86_CLASS_W, X86_CLASS_D, X86_CLASS_U,
    X86_CLASS_L, /* the register cl */
};

/** Places of operands. The low two bits say where the number of the register goes. */
enum {
    X86_AT_REG = 0, X86_AT_VVVV = 1, X86_AT_RM = 2, X86_AT_IMM = 3,
    X86_PLACE_R = X86_AT_REG, X86_PLACE_V = X86_AT_VVVV, X86_PLACE_M = X86_AT_RM,
    X86_PLACE_A = X86_AT_IMM,
    X86_PLACE_N = 4 | X86_AT_RM,  /* register only */
    X86_PLACE_P = 8 | X86_AT_RM,  /* memory only */
    X86_PLACE_S = 12 | X86_AT_RM, /* memory with a vector as index */
    X86_PLACE_O = 16 | X86_AT_RM, /* in the opcode */
    X86_PLACE_C = 20,             /* implied */
};

/** An operand column: place and class. */
#define X86_OPERAND(place, class) ((place) << 4 | (class))
#define X86_OPERAND_PLACE(operand) ((operand) >> 4)
#define X86_OPERAND_CLASS(operand) ((operand) & 15)
/** Where the number of its register goes. */
#define X86_OPERAND_AT(operand) ((operand) >> 4 & 3)

enum {
    X86_OPERAND__ = 0,
    X86_OPERAND_C_L = X86_OPERAND(X86_PLACE_C, X86_CLASS_L),
#define CLASS(place, class) \
    X86_OPERAND_##place##_##class = X86_OPERAND(X86_PLACE_##place, X86_CLASS_##class)
#define PLACES(class) \
    CLASS(R, class), CLASS(V, class), CLASS(M, class), CLASS(N, class), \
    CLASS(P, class), CLASS(S, class), CLASS(A, class), CLASS(O, class)
    PLACES(V), PLACES(H), PLACES(Q), PLACES(O), PLACES(X), PLACES(Y), PLACES(K),
    PLACES(G), PLACES(B), PLACES(W), PLACES(D), PLACES(U),
#undef PLACES
#undef CLASS
};

/** Bits of a form that only EVEX can express: 512 bits, opmask, zeroing, broadcast. */
#define X86_EVEX_FORM (X86_512 | X86_K(7) | X86_Z | X86_B)
/** Registers 16-31 among packed operands. */
#define X86_HIGH_REGS 0x10101010u

/** By how many bits an 8-bit displacement of EVEX is scaled, for each vector length. */
extern const uint8_t x86_tuple_shift[X86_TUPLE_COUNT][3];

#endif
