/*
 * sim_alu.h -- the machinery behind ptx_forms.def
 *
 * Each row becomes, for each of its types, a function over 32 lanes and an entry of a
 * table by which the decoder finds it. A full mask has a loop of its own, which the
 * compiler makes vectors of.
 */
#ifndef CUDA_SIM_SIM_ALU_H
#define CUDA_SIM_SIM_ALU_H

#include "sim_warp.h"

enum { FORM_SOURCES = 4 };

typedef struct Form {
    const char *opcode, *suffix;
    PtxType type; /* that ends the opcode */
    uint8_t sources;
    uint8_t dest, source[FORM_SOURCES]; /* types */
    Exec *exec;
} Form;

extern const Form sim_int_forms[], sim_float_forms[];
extern const uint32_t sim_int_form_count, sim_float_form_count;

/* C types of lanes; U: unsigned, P: what arithmetic is done in. */
typedef uint16_t C_B16, U_B16, C_U16, U_U16, C_F16, U_F16, U_S16;
typedef int16_t C_S16;
typedef uint32_t C_B32, U_B32, C_U32, U_U32, U_S32, C_F16X2, U_F16X2, U_F32;
typedef int32_t C_S32;
typedef float C_F32;
typedef uint64_t C_B64, U_B64, C_U64, U_U64, U_S64, U_F64;
typedef int64_t C_S64;
typedef double C_F64;
typedef uint32_t P_B16, P_U16, P_S16, P_B32, P_U32, P_S32, P_F32, P_F16, P_F16X2;
typedef uint64_t P_B64, P_U64, P_S64, P_F64;

/* What a product fits. */
typedef uint32_t W_B16, W_U16;
typedef int32_t W_S16;
typedef uint64_t W_B32, W_U32, W_F16, W_F16X2, W_F32, W_F64;
typedef int64_t W_S32;
__extension__ typedef unsigned __int128 W_B64, W_U64;
__extension__ typedef __int128 W_S64;

/* The type of twice the width. */
#define WIDE_U16 U32
#define WIDE_S16 S32
#define WIDE_U32 U64
#define WIDE_S32 S64

/* Signatures: number of sources; types of the result and of a, b, c and e; suffix. */
#define SIGNATURE_V1(X, id, t, ...) X(id, t, 1, t, t, t, t, t, "", __VA_ARGS__)
#define SIGNATURE_V2(X, id, t, ...) X(id, t, 2, t, t, t, t, t, "", __VA_ARGS__)
#define SIGNATURE_V3(X, id, t, ...) X(id, t, 3, t, t, t, t, t, "", __VA_ARGS__)
#define SIGNATURE_WIDE2(X, id, t, ...) \
    SIGNATURE_AS(X, id, t, 2, WIDE_##t, t, t, WIDE_##t, t, "", __VA_ARGS__)
#define SIGNATURE_WIDE3(X, id, t, ...) \
    SIGNATURE_AS(X, id, t, 3, WIDE_##t, t, t, WIDE_##t, t, "", __VA_ARGS__)
#define SIGNATURE_SHIFT(X, id, t, ...) X(id, t, 2, t, t, U32, t, t, "", __VA_ARGS__)
#define SIGNATURE_COUNT(X, id, t, ...) X(id, t, 1, U32, t, t, t, t, "", __VA_ARGS__)
#define SIGNATURE_FIELD(X, id, t, ...) X(id, t, 3, t, t, U32, U32, t, "", __VA_ARGS__)
#define SIGNATURE_INSERT(X, id, t, ...) X(id, t, 4, t, t, t, U32, U32, "", __VA_ARGS__)
#define SIGNATURE_LOOKUP(X, id, t, ...) X(id, t, 4, t, t, t, t, U32, "", __VA_ARGS__)
#define SIGNATURE_CHOOSE_S32(X, id, t, ...) \
    X(id, t, 3, t, t, t, S32, t, ".s32", __VA_ARGS__)
#define SIGNATURE_CHOOSE_F32(X, id, t, ...) \
    X(id, t, 3, t, t, t, F32, t, ".f32", __VA_ARGS__)
#define SIGNATURE_AS(X, ...) X(__VA_ARGS__)

/* Sets of types. */
#define TYPES_U32(R, ...) R(U32, __VA_ARGS__)
#define TYPES_S32(R, ...) R(S32, __VA_ARGS__)
#define TYPES_B32(R, ...) R(B32, __VA_ARGS__)
#define TYPES_32(R, ...) R(U32, __VA_ARGS__) R(S32, __VA_ARGS__)
#define TYPES_NARROW(R, ...) \
    R(U16, __VA_ARGS__) R(S16, __VA_ARGS__) TYPES_32(R, __VA_ARGS__)
#define TYPES_CARRY(R, ...) \
    TYPES_32(R, __VA_ARGS__) R(U64, __VA_ARGS__) R(S64, __VA_ARGS__)
#define TYPES_INT(R, ...) \
    TYPES_NARROW(R, __VA_ARGS__) R(U64, __VA_ARGS__) R(S64, __VA_ARGS__)
#define TYPES_SIGNED(R, ...) R(S16, __VA_ARGS__) R(S32, __VA_ARGS__) R(S64, __VA_ARGS__)
#define TYPES_WORDS(R, ...) R(B32, __VA_ARGS__) R(B64, __VA_ARGS__)
#define TYPES_BITS(R, ...) R(B16, __VA_ARGS__) TYPES_WORDS(R, __VA_ARGS__)
#define TYPES_SHIFT(R, ...) TYPES_INT(R, __VA_ARGS__) TYPES_BITS(R, __VA_ARGS__)
#define TYPES_F16(R, ...) R(F16, __VA_ARGS__)
#define TYPES_F16X2(R, ...) R(F16X2, __VA_ARGS__)
#define TYPES_F32(R, ...) R(F32, __VA_ARGS__)
#define TYPES_F64(R, ...) R(F64, __VA_ARGS__)
#define TYPES_ANY(R, ...) \
    TYPES_SHIFT(R, __VA_ARGS__) R(F32, __VA_ARGS__) R(F64, __VA_ARGS__)

/* A row, for one type. */
#define FORM_FUNCTION(t, id, opcode, signature, ...) \
    SIGNATURE_##signature(FORM_DEFINE, id, t, __VA_ARGS__)
#define FORM_ENTRY(t, id, opcode, signature, ...) \
    SIGNATURE_##signature(FORM_ROW, id, t, opcode)

#define FORM_ROW(id, t, n, d, a, b, c, e, behind, opcode_) \
    { .opcode = opcode_,                                   \
      .suffix = behind,                                    \
      .type = PTX_##t,                                     \
      .sources = n,                                        \
      .dest = PTX_##d,                                     \
      .source = { PTX_##a, PTX_##b, PTX_##c, PTX_##e },    \
      .exec = run_##id##_##t },

#define FORM_DEFINE(id, t, n, td, ta, tb, tc, te, behind, ...)                         \
    static void run_##id##_##t(Warp *w, const Insn *i, uint32_t mask)                  \
    {                                                                                  \
        typedef C_##td D;                                                              \
        typedef P_##td DP;                                                             \
        typedef U_##t U;                                                               \
        typedef P_##t P;                                                               \
        typedef W_##t W;                                                               \
        enum {                                                                         \
            WIDTH = sizeof(C_##t) * 8,                                                 \
            IS_SIGNED = PTX_##t == PTX_S16 || PTX_##t == PTX_S32 || PTX_##t == PTX_S64 \
        };                                                                             \
        const C_##ta *pa = sim_data(w, &i->s[0]);                                      \
        const C_##tb *pb = sim_data(w, &i->s[1]);                                      \
        const C_##tc *pc = sim_data(w, &i->s[2]);                                      \
        const C_##te *pe = sim_data(w, &i->s[3]);                                      \
        const uint32_t known = sim_defined(w, &i->s[0]) & sim_defined(w, &i->s[1]) &   \
                               sim_defined(w, &i->s[2]) & sim_defined(w, &i->s[3]);    \
        D *d = sim_data(w, &i->d);                                                     \
        if (mask == SIM_ALL) {                                                         \
            SIM_IVDEP                                                                  \
            for (uint32_t l = 0; l < SIM_WARP; l++) {                                  \
                const C_##ta a = pa[l];                                                \
                const C_##tb b = pb[l];                                                \
                const C_##tc c = pc[l];                                                \
                const C_##te e = pe[l];                                                \
                (void) a, (void) b, (void) c, (void) e;                                \
                d[l] = (D) (__VA_ARGS__);                                              \
            }                                                                          \
        } else {                                                                       \
            SIM_LANES(mask, l)                                                         \
            {                                                                          \
                const C_##ta a = pa[l];                                                \
                const C_##tb b = pb[l];                                                \
                const C_##tc c = pc[l];                                                \
                const C_##te e = pe[l];                                                \
                (void) a, (void) b, (void) c, (void) e;                                \
                d[l] = (D) (__VA_ARGS__);                                              \
            }                                                                          \
        }                                                                              \
        (void) sizeof(U), (void) sizeof(P), (void) sizeof(DP), (void) sizeof(W),       \
            (void) IS_SIGNED, (void) WIDTH;                                            \
        sim_define(w, &i->d, mask, known);                                             \
    }

#endif
