/*
 * lanes.c -- see lanes.h
 *
 * Compiled once for each instruction set with -DLANES_ISA=<name>. Nothing here names
 * an instruction: the loops are plain C, and the compiler turns them into the vector
 * code of the set it was told to use. A loop runs over groups of LANE_GROUP lanes; as
 * that number is a constant, vector code needs neither a remainder loop nor a test of
 * the count, and a block of 16 lanes costs little more than its arithmetic.
 *
 * Operations that depend on the width of an integer but not on its sign exist once, for
 * the unsigned type; SHARED() enters them for both.
 */
#include "lanes/lanes.h"
#include "lanes/lanes_control.h"
#include "lanes/lanes_loops.h"
#include "lanes/lanes_matrix.h"
#include "lanes/lanes_memory.h"
#include "lanes/lanes_ops.h"

#define TEXT_OF(name) #name
#define STRING_OF(name) TEXT_OF(name)
#define JOIN_NAMES(a, b) a##b
#define JOIN(a, b) JOIN_NAMES(a, b)

/* ---- loops by number of operands */

/* R: type of the result; A: of the operands */
#define LOOP_1(name, R, A, function)                                   \
    static const LaneStep *name(const LaneStep *s, const LaneFrame *f) \
    {                                                                  \
        R *restrict out = f->regs[s->out];                             \
        const A *restrict a = f->regs[s->arg[0]];                      \
        const size_t end = whole_groups(f->lanes);                     \
        FOR_LANES(i, end, out[i] = (R) function(a[i]);)                \
        NEXT(s, f);                                                    \
    }

#define LOOP_2(name, R, A, function)                                   \
    static const LaneStep *name(const LaneStep *s, const LaneFrame *f) \
    {                                                                  \
        R *restrict out = f->regs[s->out];                             \
        const A *restrict a = f->regs[s->arg[0]];                      \
        const A *restrict b = f->regs[s->arg[1]];                      \
        const size_t end = whole_groups(f->lanes);                     \
        FOR_LANES(i, end, out[i] = (R) function(a[i], b[i]);)          \
        NEXT(s, f);                                                    \
    }

#define LOOP_3(name, R, A, function)                                   \
    static const LaneStep *name(const LaneStep *s, const LaneFrame *f) \
    {                                                                  \
        R *restrict out = f->regs[s->out];                             \
        const A *restrict a = f->regs[s->arg[0]];                      \
        const A *restrict b = f->regs[s->arg[1]];                      \
        const A *restrict c = f->regs[s->arg[2]];                      \
        const size_t end = whole_groups(f->lanes);                     \
        FOR_LANES(i, end, out[i] = (R) function(a[i], b[i], c[i]);)    \
        NEXT(s, f);                                                    \
    }

#define OP_1(T, op) LOOP_1(lanes_##op##_##T, T, T, op##_##T)
#define OP_2(T, op) LOOP_2(lanes_##op##_##T, T, T, op##_##T)
#define OP_3(T, op) LOOP_3(lanes_##op##_##T, T, T, op##_##T)
#define COMPARE(T, op) LOOP_2(lanes_##op##_##T, u8, T, op##_##T)

/* ---- arithmetic */

#define LOOPS_UNSIGNED_ONLY(U)                                                       \
    OP_1(U, neg)                                                                     \
    OP_1(U, not ) OP_1(U, popc) OP_1(U, clz) OP_1(U, ctz) OP_1(U, brev) OP_2(U, add) \
        OP_2(U, sub) OP_2(U, mul) OP_3(U, fma) COMPARE(U, eq) COMPARE(U, neq)        \
            OP_2(U, and) OP_2(U, or) OP_2(U, xor) OP_2(U, shl)
LOOPS_UNSIGNED_ONLY(u8)
LOOPS_UNSIGNED_ONLY(u16)
LOOPS_UNSIGNED_ONLY(u32)
LOOPS_UNSIGNED_ONLY(u64)

#define LOOPS_ORDER(T) COMPARE(T, lt) COMPARE(T, le) COMPARE(T, gt) COMPARE(T, ge)
#define LOOPS_INTEGER(T) \
    LOOPS_ORDER(T)       \
    OP_2(T, div) OP_2(T, mod) OP_2(T, mul_hi) OP_2(T, min) OP_2(T, max) OP_2(T, shr)
LOOPS_INTEGER(i8)
LOOPS_INTEGER(u8)
LOOPS_INTEGER(i16)
LOOPS_INTEGER(u16)
LOOPS_INTEGER(i32)
LOOPS_INTEGER(u32)
LOOPS_INTEGER(i64)
LOOPS_INTEGER(u64)
OP_1(i8, abs)
OP_1(i16, abs) OP_1(i32, abs) OP_1(i64, abs)
    LOOP_2(lanes_mul_wide_i8, i16, i8, mul_wide_i8)
        LOOP_2(lanes_mul_wide_u8, u16, u8, mul_wide_u8)
            LOOP_2(lanes_mul_wide_i16, i32, i16, mul_wide_i16)
                LOOP_2(lanes_mul_wide_u16, u32, u16, mul_wide_u16)
                    LOOP_2(lanes_mul_wide_i32, i64, i32, mul_wide_i32)
                        LOOP_2(lanes_mul_wide_u32, u64, u32, mul_wide_u32)

#define LOOPS_FLOAT(F)                                                         \
    OP_1(F, neg)                                                               \
    OP_1(F, abs) OP_1(F, sqrt) OP_1(F, rcp) OP_1(F, ceil)                      \
        OP_1(F, floor) OP_1(F, round) OP_1(F, trunc) OP_2(F, add) OP_2(F, sub) \
            OP_2(F, mul) OP_2(F, div) OP_2(F, min) OP_2(F, max) OP_2(F, fmin)  \
                OP_2(F, fmax) OP_2(F, copysign) OP_3(F, fma) COMPARE(F, eq)    \
                    COMPARE(F, neq) LOOPS_ORDER(F)
                            LOOPS_FLOAT(f16) LOOPS_FLOAT(f32) LOOPS_FLOAT(f64)

                                static inline u8 not_bool(u8 a)
{
    return a ^ 1;
}
LOOP_1(lanes_not_bool, u8, u8, not_bool)

/* Both values are read whatever the mask says, so that this is a blend. */
#define LOOP_SELECT(U)                                                             \
    static inline U select_##U(u8 mask, U a, U b)                                  \
    {                                                                              \
        return mask ? a : b;                                                       \
    }                                                                              \
    static const LaneStep *lanes_select_##U(const LaneStep *s, const LaneFrame *f) \
    {                                                                              \
        U *restrict out = f->regs[s->out];                                         \
        const u8 *restrict mask = f->regs[s->arg[0]];                              \
        const U *restrict a = f->regs[s->arg[1]];                                  \
        const U *restrict b = f->regs[s->arg[2]];                                  \
        const size_t end = whole_groups(f->lanes);                                 \
        FOR_LANES(i, end, out[i] = select_##U(mask[i], a[i], b[i]);)               \
        NEXT(s, f);                                                                \
    }
LOOP_SELECT(u8)
LOOP_SELECT(u16)
LOOP_SELECT(u32)
LOOP_SELECT(u64)

/* A power of two of entries. */
#define LOOP_LOOKUP(U)                                                             \
    static const LaneStep *lanes_lookup_##U(const LaneStep *s, const LaneFrame *f) \
    {                                                                              \
        U *restrict out = f->regs[s->out];                                         \
        const U *restrict index = f->regs[s->arg[0]];                              \
        U table[INST_LOOKUP_MOST];                                                 \
        memcpy(table, f->extra + s->arg[1], s->arg[2] * sizeof(U));                \
        const U last = s->arg[2] - 1;                                              \
        const size_t end = whole_groups(f->lanes);                                 \
        FOR_LANES(i, end, out[i] = table[index[i] & last];)                        \
        NEXT(s, f);                                                                \
    }
LOOP_LOOKUP(u32)
LOOP_LOOKUP(u64)

/* ---- conversions */

#define CONVERT(to, from) LOOP_1(lanes_##to##_from_##from, to, from, to##_from_##from)
#define TO_BOOL(from) LOOP_1(lanes_bool_from_##from, u8, from, bool_from_##from)
#define CONVERT_FLOAT(F)                                                           \
    CONVERT(i8, F)                                                                 \
    CONVERT(u8, F) CONVERT(i16, F) CONVERT(u16, F) CONVERT(i32, F) CONVERT(u32, F) \
        CONVERT(i64, F) CONVERT(u64, F) TO_BOOL(F)
CONVERT_FLOAT(f16)
CONVERT(f32, f16) CONVERT(f64, f16) CONVERT_FLOAT(f32) CONVERT(f16, f32)
    CONVERT(f64, f32) CONVERT_FLOAT(f64) CONVERT(f16, f64) CONVERT(f32, f64)
/* Unsigned results serve for the signed types of the same width. */
#define CONVERT_INTEGER(T)                                                          \
    CONVERT(u8, T)                                                                  \
    CONVERT(u16, T) CONVERT(u32, T) CONVERT(u64, T) CONVERT(f16, T) CONVERT(f32, T) \
        CONVERT(f64, T) TO_BOOL(T)
        CONVERT_INTEGER(i8) CONVERT_INTEGER(u8) CONVERT_INTEGER(i16)
            CONVERT_INTEGER(u16) CONVERT_INTEGER(i32) CONVERT_INTEGER(u32)
                CONVERT_INTEGER(i64) CONVERT_INTEGER(u64)

/* ---- leaves and stores */

#define LOOP_BROADCAST(name, U, value)                                 \
    static const LaneStep *name(const LaneStep *s, const LaneFrame *f) \
    {                                                                  \
        U *restrict out = f->regs[s->out];                             \
        const U bits = value;                                          \
        const size_t end = whole_groups(f->lanes);                     \
        FOR_LANES(i, end, out[i] = bits;)                              \
        NEXT(s, f);                                                    \
    }

#define LEAVES(U)                                                                  \
    LOOP_BROADCAST(fill_##U, U, (U) (s->arg[0] | (u64) s->arg[1] << 32))           \
    LOOP_BROADCAST(param_##U, U, (U) f->args[s->arg[0]])                           \
    LOOP_BROADCAST(load_first_##U, U, *(const U *) (uintptr_t) f->args[s->arg[0]]) \
    static U move_value_##U(U a)                                                   \
    {                                                                              \
        return a;                                                                  \
    }                                                                              \
    LOOP_1(move_##U, U, U, move_value_##U)                                         \
    static const LaneStep *load_##U(const LaneStep *s, const LaneFrame *f)         \
    {                                                                              \
        U *array = (U *) (uintptr_t) f->args[s->arg[0]] + f->begin;                \
        if (f->count == f->lanes) {                                                \
            f->regs[s->out] = array;                                               \
            NEXT(s, f);                                                            \
        }                                                                          \
        f->regs[s->out] = f->regs[s->arg[1]];                                      \
        memcpy(f->regs[s->arg[1]], array, f->count * sizeof(U));                   \
        NEXT(s, f);                                                                \
    }                                                                              \
    static const LaneStep *store_##U(const LaneStep *s, const LaneFrame *f)        \
    {                                                                              \
        U *restrict out = (U *) (uintptr_t) f->args[s->arg[0]] + f->begin;         \
        const U *restrict value = f->regs[s->arg[1]];                              \
        const size_t end = whole_groups(f->count);                                 \
        FOR_LANES(i, end, out[i] = value[i];)                                      \
        for (size_t i = end; i < f->count; ++i)                                    \
            out[i] = value[i];                                                     \
        NEXT(s, f);                                                                \
    }
                    LEAVES(u8) LEAVES(u16) LEAVES(u32) LEAVES(u64)

                        LOOP_BROADCAST(worker, u32, f->worker)

static const LaneStep *pointer(const LaneStep *s, const LaneFrame *f)
{
    *(u64 *) f->regs[s->out] = f->args[s->arg[0]];
    NEXT(s, f);
}

static const LaneStep *counter(const LaneStep *s, const LaneFrame *f)
{
    u32 *restrict out = f->regs[s->out];
    const u32 begin = f->begin;
    const size_t end = whole_groups(f->lanes);
    FOR_LANES(i, end, out[i] = begin + (u32) i;)
    NEXT(s, f);
}

static const LaneStep *packet_index(const LaneStep *s, const LaneFrame *f)
{
    u32 *restrict out = f->regs[s->out];
    const u32 *restrict index = f->regs[s->arg[0]];
    const u32 n = s->arg[1], item = s->arg[2];
    const size_t end = whole_groups(f->lanes);
    FOR_LANES(i, end, out[i] = index[i] * n + item;)
    NEXT(s, f);
}

/* ---- the table */

#define SHARED(f)                                                                   \
    [VarTypeInt8] = f##_u8, [VarTypeUInt8] = f##_u8, [VarTypeInt16] = f##_u16,      \
    [VarTypeUInt16] = f##_u16, [VarTypeInt32] = f##_u32, [VarTypeUInt32] = f##_u32, \
    [VarTypeInt64] = f##_u64, [VarTypeUInt64] = f##_u64
#define NARROW(f)                                                              \
    [VarTypeInt8] = f##_i8, [VarTypeUInt8] = f##_u8, [VarTypeInt16] = f##_i16, \
    [VarTypeUInt16] = f##_u16, [VarTypeInt32] = f##_i32, [VarTypeUInt32] = f##_u32
#define INTEGERS(f) NARROW(f), [VarTypeInt64] = f##_i64, [VarTypeUInt64] = f##_u64
#define FLOATS(f) \
    [VarTypeFloat16] = f##_f16, [VarTypeFloat32] = f##_f32, [VarTypeFloat64] = f##_f64
#define SIZES(f)                          \
    {                                     \
        f##_u8, f##_u16, f##_u32, f##_u64 \
    }

#define FROM_SHARED(T, U)                                                \
    {                                                                    \
        [VarTypeBool] = lanes_##U##_from_u8, INTEGERS(lanes_##U##_from), \
        FLOATS(lanes_##T##_from)                                         \
    }
#define REDUCE_NUMBERS(kind, op)                 \
    {                                            \
        SHARED(kind##_##op), FLOATS(kind##_##op) \
    }
#define REDUCE_CHOICE(kind, op)                     \
    {                                               \
        INTEGERS(kind##_##op), FLOATS(kind##_f##op) \
    }
#define REDUCE_BITS(kind, op)                                 \
    {                                                         \
        SHARED(kind##_##op), [VarTypeBool] = kind##_##op##_u8 \
    }
#define WRITE                                                                        \
    {                                                                                \
        SHARED(scatter), [VarTypeBool] = scatter_u8, [VarTypePointer] = scatter_u64, \
                         [VarTypeFloat16] = scatter_u16,                             \
                         [VarTypeFloat32] = scatter_u32,                             \
                         [VarTypeFloat64] = scatter_u64                              \
    }
#define SCATTERS(kind)                                                               \
    {                                                                                \
        [ReduceOpIdentity] = WRITE, [ReduceOpAdd] = REDUCE_NUMBERS(kind, add),       \
        [ReduceOpMul] = REDUCE_NUMBERS(kind, mul),                                   \
        [ReduceOpMin] = REDUCE_CHOICE(kind, min),                                    \
        [ReduceOpMax] = REDUCE_CHOICE(kind, max),                                    \
        [ReduceOpAnd] = REDUCE_BITS(kind, and), [ReduceOpOr] = REDUCE_BITS(kind, or) \
    }

const LaneTable JOIN(lanes_, LANES_ISA) = {
    .isa = STRING_OF(LANES_ISA),
    .op = { [OP_NEG] = { SHARED(lanes_neg), FLOATS(lanes_neg) },
            [OP_NOT] = { SHARED(lanes_not), [VarTypeBool] = lanes_not_bool },
            [OP_SQRT] = { FLOATS(lanes_sqrt) },
            [OP_RCP] = { FLOATS(lanes_rcp) },
            [OP_ABS] = { [VarTypeInt8] = lanes_abs_i8,
                         [VarTypeUInt8] = move_u8,
                         [VarTypeInt16] = lanes_abs_i16,
                         [VarTypeUInt16] = move_u16,
                         [VarTypeInt32] = lanes_abs_i32,
                         [VarTypeUInt32] = move_u32,
                         [VarTypeInt64] = lanes_abs_i64,
                         [VarTypeUInt64] = move_u64,
                         FLOATS(lanes_abs) },
            [OP_CEIL] = { FLOATS(lanes_ceil) },
            [OP_FLOOR] = { FLOATS(lanes_floor) },
            [OP_ROUND] = { FLOATS(lanes_round) },
            [OP_TRUNC] = { FLOATS(lanes_trunc) },
            [OP_POPC] = { SHARED(lanes_popc) },
            [OP_CLZ] = { SHARED(lanes_clz) },
            [OP_CTZ] = { SHARED(lanes_ctz) },
            [OP_BREV] = { SHARED(lanes_brev) },
            [OP_ADD] = { SHARED(lanes_add), FLOATS(lanes_add) },
            [OP_SUB] = { SHARED(lanes_sub), FLOATS(lanes_sub) },
            [OP_MUL] = { SHARED(lanes_mul), FLOATS(lanes_mul) },
            [OP_DIV] = { INTEGERS(lanes_div), FLOATS(lanes_div) },
            [OP_MOD] = { INTEGERS(lanes_mod) },
            [OP_MUL_HI] = { INTEGERS(lanes_mul_hi) },
            [OP_MUL_WIDE] = { NARROW(lanes_mul_wide) },
            [OP_MIN] = { INTEGERS(lanes_min), FLOATS(lanes_min) },
            [OP_MAX] = { INTEGERS(lanes_max), FLOATS(lanes_max) },
            [OP_FMIN] = { FLOATS(lanes_fmin) },
            [OP_FMAX] = { FLOATS(lanes_fmax) },
            [OP_COPYSIGN] = { FLOATS(lanes_copysign) },
            [OP_EQ] = { SHARED(lanes_eq), FLOATS(lanes_eq), [VarTypeBool] = lanes_eq_u8,
                        [VarTypePointer] = lanes_eq_u64 },
            [OP_NEQ] = { SHARED(lanes_neq),
                         FLOATS(lanes_neq), [VarTypeBool] = lanes_neq_u8,
                         [VarTypePointer] = lanes_neq_u64 },
            [OP_LT] = { INTEGERS(lanes_lt), FLOATS(lanes_lt) },
            [OP_LE] = { INTEGERS(lanes_le), FLOATS(lanes_le) },
            [OP_GT] = { INTEGERS(lanes_gt), FLOATS(lanes_gt) },
            [OP_GE] = { INTEGERS(lanes_ge), FLOATS(lanes_ge) },
            [OP_AND] = { SHARED(lanes_and), [VarTypeBool] = lanes_and_u8 },
            [OP_OR] = { SHARED(lanes_or), [VarTypeBool] = lanes_or_u8 },
            [OP_XOR] = { SHARED(lanes_xor), [VarTypeBool] = lanes_xor_u8 },
            [OP_SHL] = { SHARED(lanes_shl) },
            [OP_SHR] = { INTEGERS(lanes_shr) },
            [OP_FMA] = { SHARED(lanes_fma), FLOATS(lanes_fma) },
            [OP_SELECT] = { SHARED(lanes_select), [VarTypeBool] = lanes_select_u8,
                            [VarTypePointer] = lanes_select_u64,
                            [VarTypeFloat16] = lanes_select_u16,
                            [VarTypeFloat32] = lanes_select_u32,
                            [VarTypeFloat64] = lanes_select_u64 },
            [OP_LOOKUP] = { [VarTypeInt32] = lanes_lookup_u32,
                            [VarTypeUInt32] = lanes_lookup_u32,
                            [VarTypeInt64] = lanes_lookup_u64,
                            [VarTypeUInt64] = lanes_lookup_u64,
                            [VarTypeFloat32] = lanes_lookup_u32,
                            [VarTypeFloat64] = lanes_lookup_u64 } },
    .cast = { [VarTypeBool] = { [VarTypeBool] = move_u8,
                                INTEGERS(lanes_bool_from),
                                FLOATS(lanes_bool_from) },
              [VarTypeInt8] = FROM_SHARED(i8, u8),
              [VarTypeUInt8] = FROM_SHARED(u8, u8),
              [VarTypeInt16] = FROM_SHARED(i16, u16),
              [VarTypeUInt16] = FROM_SHARED(u16, u16),
              [VarTypeInt32] = FROM_SHARED(i32, u32),
              [VarTypeUInt32] = FROM_SHARED(u32, u32),
              [VarTypeInt64] = FROM_SHARED(i64, u64),
              [VarTypeUInt64] = FROM_SHARED(u64, u64),
              [VarTypeFloat16] = { [VarTypeBool] = lanes_f16_from_u8,
                                   INTEGERS(lanes_f16_from),
                                   [VarTypeFloat16] = move_u16,
                                   [VarTypeFloat32] = lanes_f16_from_f32,
                                   [VarTypeFloat64] = lanes_f16_from_f64 },
              [VarTypeFloat32] = { [VarTypeBool] = lanes_f32_from_u8,
                                   INTEGERS(lanes_f32_from),
                                   [VarTypeFloat16] = lanes_f32_from_f16,
                                   [VarTypeFloat32] = move_u32,
                                   [VarTypeFloat64] = lanes_f32_from_f64 },
              [VarTypeFloat64] = { [VarTypeBool] = lanes_f64_from_u8,
                                   INTEGERS(lanes_f64_from),
                                   [VarTypeFloat16] = lanes_f64_from_f16,
                                   [VarTypeFloat32] = lanes_f64_from_f32,
                                   [VarTypeFloat64] = move_u64 } },
    .fill = SIZES(fill),
    .param = SIZES(param),
    .pointer = pointer,
    .load_first = SIZES(load_first),
    .load = SIZES(load),
    .store = SIZES(store),
    .move = SIZES(move),
    .counter = counter,
    .worker = worker,
    .packet_index = packet_index,
    .gather = SIZES(gather),
    .gather_all = SIZES(gather_all),
    .scatter = { [LANE_SCATTER_PLAIN] = SCATTERS(plain),
                 [LANE_SCATTER_ATOMIC] = SCATTERS(atomic),
                 [LANE_SCATTER_RUNS] = SCATTERS(runs) },
    .fetch_add = { FLOATS(fetch_add) },
    .increment = increment,
    .exchange = SIZES(exchange),
    .compare_exchange = SIZES(compare_exchange),
    .check = check,
    .blend = SIZES(blend),
    .without = without,
    .match = match,
    .narrow = narrow,
    .skip = skip,
    .local_fill = SIZES(local_fill),
    .local_read = SIZES(local_read),
    .local_write = SIZES(local_write),
    .local_move = SIZES(local_move),
    .print = print,
    .rows = lanes_rows,
    .matvec = { FLOATS(matvec) },
    .outer = { [LANE_SCATTER_PLAIN] = { FLOATS(outer_plain) },
               [LANE_SCATTER_ATOMIC] = { FLOATS(outer_atomic) },
               [LANE_SCATTER_RUNS] = { FLOATS(outer_atomic) } }
};
