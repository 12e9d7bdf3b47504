/*
 * interp_lanes.c -- the loops of the interpreter
 *
 * Compiled once for each instruction set (INTERP_ISA = baseline, avx2, avx512). The functions
 * apply interp_scalar.h to whole blocks in plain loops that the compiler vectorises; results
 * are the same bits in every object. Source and destination slots never overlap.
 */
#include "engine/interp/interp_lanes.h"

#include "engine/interp/interp_scalar.h"

/* Lanes of an arithmetic loop: the mask tells the compiler that no tail is needed. */
#define LANES (f->rounded & ~(INTERP_ROUND - 1))
#define SLOT(T, offset) ((T *) (void *) (f->base + (offset)))

#define UNARY(fn, TD, TA, expr) \
    static void fn(const Step *s, const Frame *f) { \
        TD *restrict d = SLOT(TD, s->dst); \
        const TA *restrict x = SLOT(TA, s->a); \
        for (uint32_t i = 0, n = LANES; i < n; ++i) { \
            const TA a = x[i]; \
            d[i] = (TD) (expr); \
        } \
    }

#define BINARY(fn, TD, T, expr) \
    static void fn(const Step *s, const Frame *f) { \
        TD *restrict d = SLOT(TD, s->dst); \
        const T *restrict x = SLOT(T, s->a), *restrict y = SLOT(T, s->b); \
        for (uint32_t i = 0, n = LANES; i < n; ++i) { \
            const T a = x[i], b = y[i]; \
            d[i] = (TD) (expr); \
        } \
    }

#define TERNARY(fn, TD, TA, T, expr) \
    static void fn(const Step *s, const Frame *f) { \
        TD *restrict d = SLOT(TD, s->dst); \
        const TA *restrict x = SLOT(TA, s->a); \
        const T *restrict y = SLOT(T, s->b), *restrict z = SLOT(T, s->c); \
        for (uint32_t i = 0, n = LANES; i < n; ++i) { \
            const TA a = x[i]; \
            const T b = y[i], c = z[i]; \
            d[i] = (TD) (expr); \
        } \
    }

/* -------------------------------------------------------------- arithmetic */

#define COMPARE_LOOPS(t, T) \
    BINARY(eq_loop_##t, uint8_t, T, a == b) \
    BINARY(neq_loop_##t, uint8_t, T, a != b) \
    BINARY(lt_loop_##t, uint8_t, T, a < b) \
    BINARY(le_loop_##t, uint8_t, T, a <= b) \
    BINARY(gt_loop_##t, uint8_t, T, a > b) \
    BINARY(ge_loop_##t, uint8_t, T, a >= b)

#define INTEGER_LOOPS(t, T) \
    UNARY(neg_loop_##t, T, T, neg_##t(a)) \
    UNARY(not_loop_##t, T, T, not_##t(a)) \
    UNARY(abs_loop_##t, T, T, abs_##t(a)) \
    UNARY(popc_loop_##t, T, T, popc_##t(a)) \
    UNARY(clz_loop_##t, T, T, clz_##t(a)) \
    UNARY(ctz_loop_##t, T, T, ctz_##t(a)) \
    UNARY(brev_loop_##t, T, T, brev_##t(a)) \
    BINARY(add_loop_##t, T, T, add_##t(a, b)) \
    BINARY(sub_loop_##t, T, T, sub_##t(a, b)) \
    BINARY(mul_loop_##t, T, T, mul_##t(a, b)) \
    BINARY(div_loop_##t, T, T, div_##t(a, b)) \
    BINARY(mod_loop_##t, T, T, mod_##t(a, b)) \
    BINARY(mul_hi_loop_##t, T, T, mul_hi_##t(a, b)) \
    BINARY(min_loop_##t, T, T, min_##t(a, b)) \
    BINARY(max_loop_##t, T, T, max_##t(a, b)) \
    BINARY(and_loop_##t, T, T, and_##t(a, b)) \
    BINARY(or_loop_##t, T, T, or_##t(a, b)) \
    BINARY(xor_loop_##t, T, T, xor_##t(a, b)) \
    BINARY(shl_loop_##t, T, T, shl_##t(a, b)) \
    BINARY(shr_loop_##t, T, T, shr_##t(a, b)) \
    TERNARY(fma_loop_##t, T, T, T, fma_##t(a, b, c)) \
    COMPARE_LOOPS(t, T)

INTEGER_LOOPS(i8, int8_t)
INTEGER_LOOPS(u8, uint8_t)
INTEGER_LOOPS(i16, int16_t)
INTEGER_LOOPS(u16, uint16_t)
INTEGER_LOOPS(i32, int32_t)
INTEGER_LOOPS(u32, uint32_t)
INTEGER_LOOPS(i64, int64_t)
INTEGER_LOOPS(u64, uint64_t)

BINARY(mul_wide_loop_i8, int16_t, int8_t, (int16_t) a * (int16_t) b)
BINARY(mul_wide_loop_u8, uint16_t, uint8_t, (uint16_t) a * (uint16_t) b)
BINARY(mul_wide_loop_i16, int32_t, int16_t, (int32_t) a * (int32_t) b)
BINARY(mul_wide_loop_u16, uint32_t, uint16_t, (uint32_t) a * (uint32_t) b)
BINARY(mul_wide_loop_i32, int64_t, int32_t, (int64_t) a * (int64_t) b)
BINARY(mul_wide_loop_u32, uint64_t, uint32_t, (uint64_t) a * (uint64_t) b)

#define FLOAT_LOOPS(t, T) \
    UNARY(neg_loop_##t, T, T, neg_##t(a)) \
    UNARY(abs_loop_##t, T, T, abs_##t(a)) \
    UNARY(sqrt_loop_##t, T, T, sqrt_##t(a)) \
    UNARY(rcp_loop_##t, T, T, rcp_##t(a)) \
    UNARY(rsqrt_loop_##t, T, T, rsqrt_##t(a)) \
    UNARY(ceil_loop_##t, T, T, ceil_##t(a)) \
    UNARY(floor_loop_##t, T, T, floor_##t(a)) \
    UNARY(round_loop_##t, T, T, round_##t(a)) \
    UNARY(trunc_loop_##t, T, T, trunc_##t(a)) \
    BINARY(add_loop_##t, T, T, add_##t(a, b)) \
    BINARY(sub_loop_##t, T, T, sub_##t(a, b)) \
    BINARY(mul_loop_##t, T, T, mul_##t(a, b)) \
    BINARY(div_loop_##t, T, T, div_##t(a, b)) \
    BINARY(min_loop_##t, T, T, min_##t(a, b)) \
    BINARY(max_loop_##t, T, T, max_##t(a, b)) \
    BINARY(fmin_loop_##t, T, T, fmin_##t(a, b)) \
    BINARY(fmax_loop_##t, T, T, fmax_##t(a, b)) \
    BINARY(copysign_loop_##t, T, T, copysign_##t(a, b)) \
    TERNARY(fma_loop_##t, T, T, T, fma_##t(a, b, c)) \
    COMPARE_LOOPS(t, T)

FLOAT_LOOPS(f16, _Float16)
FLOAT_LOOPS(f32, float)
FLOAT_LOOPS(f64, double)

UNARY(not_loop_mask, uint8_t, uint8_t, a ^ 1)
BINARY(and_loop_mask, uint8_t, uint8_t, a & b)
BINARY(or_loop_mask, uint8_t, uint8_t, a | b)
BINARY(xor_loop_mask, uint8_t, uint8_t, a ^ b)

TERNARY(select_loop_0, uint8_t, uint8_t, uint8_t, a ? b : c)
TERNARY(select_loop_1, uint16_t, uint8_t, uint16_t, a ? b : c)
TERNARY(select_loop_2, uint32_t, uint8_t, uint32_t, a ? b : c)
TERNARY(select_loop_3, uint64_t, uint8_t, uint64_t, a ? b : c)

/* ------------------------------------------------------------------- casts */

#define CAST(from, TA, to, TD) UNARY(cast_loop_##from##_##to, TD, TA, a)
#define CAST_INTEGER(from, TA) \
    CAST(from, TA, i8, int8_t) CAST(from, TA, u8, uint8_t) \
    CAST(from, TA, i16, int16_t) CAST(from, TA, u16, uint16_t) \
    CAST(from, TA, i32, int32_t) CAST(from, TA, u32, uint32_t) \
    CAST(from, TA, i64, int64_t) CAST(from, TA, u64, uint64_t) \
    CAST(from, TA, f32, float) CAST(from, TA, f64, double) \
    /* Integers that are not exact in float are beyond the largest half anyway. */ \
    UNARY(cast_loop_##from##_f16, _Float16, TA, (float) a) \
    UNARY(cast_loop_##from##_mask, uint8_t, TA, a != 0)

CAST_INTEGER(mask, uint8_t)
CAST_INTEGER(i8, int8_t)
CAST_INTEGER(u8, uint8_t)
CAST_INTEGER(i16, int16_t)
CAST_INTEGER(u16, uint16_t)
CAST_INTEGER(i32, int32_t)
CAST_INTEGER(u32, uint32_t)
CAST_INTEGER(i64, int64_t)
CAST_INTEGER(u64, uint64_t)

#define CAST_SATURATE(from, TA, to, TD) \
    UNARY(cast_loop_##from##_##to, TD, TA, cast_##from##_##to(a))
#define CAST_FLOAT(from, TA) \
    CAST_SATURATE(from, TA, i8, int8_t) CAST_SATURATE(from, TA, u8, uint8_t) \
    CAST_SATURATE(from, TA, i16, int16_t) CAST_SATURATE(from, TA, u16, uint16_t) \
    CAST_SATURATE(from, TA, i32, int32_t) CAST_SATURATE(from, TA, u32, uint32_t) \
    CAST_SATURATE(from, TA, i64, int64_t) CAST_SATURATE(from, TA, u64, uint64_t) \
    CAST(from, TA, f16, _Float16) CAST(from, TA, f32, float) CAST(from, TA, f64, double) \
    UNARY(cast_loop_##from##_mask, uint8_t, TA, a != 0)

CAST_FLOAT(f16, _Float16)
CAST_FLOAT(f32, float)
CAST_FLOAT(f64, double)

/* -------------------------------------------- entries of one size: 1 to 8 bytes */

/* Exchange and compare-exchange go lane by lane, in order. Prefetching the targets of later
 * lanes hides the latency of big arrays. */
#define AHEAD 24
#define PREFETCH_AHEAD(p, idx, i, n) \
    do { \
        if ((i) + AHEAD < (n)) \
            __builtin_prefetch(&(p)[(idx)[(i) + AHEAD]], 1); \
    } while (0)

#define SIZE_LOOPS(k, U) \
    UNARY(copy_loop_##k, U, U, a) \
    static void fill_loop_##k(const Step *s, const Frame *f) { \
        U *restrict d = SLOT(U, s->dst); \
        const U value = (U) (s->slot | (uint64_t) s->aux << 32); \
        for (uint32_t i = 0, n = LANES; i < n; ++i) \
            d[i] = value; \
    } \
    static void param_loop_##k(const Step *s, const Frame *f) { \
        U *restrict d = SLOT(U, s->dst); \
        const U value = (U) f->args[s->slot]; \
        for (uint32_t i = 0, n = LANES; i < n; ++i) \
            d[i] = value; \
    } \
    static void load_loop_##k(const Step *s, const Frame *f) { \
        memcpy(SLOT(U, s->dst), (const U *) (uintptr_t) f->args[s->slot] + f->begin, \
               f->count * sizeof(U)); \
    } \
    static void load_uniform_loop_##k(const Step *s, const Frame *f) { \
        U *restrict d = SLOT(U, s->dst); \
        const U value = *(const U *) (uintptr_t) f->args[s->slot]; \
        for (uint32_t i = 0, n = LANES; i < n; ++i) \
            d[i] = value; \
    } \
    static void store_loop_##k(const Step *s, const Frame *f) { \
        memcpy((U *) (uintptr_t) f->args[s->slot] + f->begin, SLOT(U, s->a), \
               f->count * sizeof(U)); \
    } \
    static void gather_loop_##k(const Step *s, const Frame *f) { \
        U *restrict d = SLOT(U, s->dst); \
        const U *p = (const U *) (uintptr_t) *SLOT(uint64_t, s->a); \
        const uint32_t *restrict idx = SLOT(uint32_t, s->b); \
        const uint8_t *restrict mask = SLOT(uint8_t, s->c); \
        for (uint32_t i = 0; i < f->count; ++i) \
            d[i] = mask[i] ? p[idx[i]] : 0; \
    } \
    static void gather_packet_loop_##k(const Step *s, const Frame *f) { \
        const U *p = (const U *) (uintptr_t) *SLOT(uint64_t, s->a); \
        const uint32_t *restrict idx = SLOT(uint32_t, s->b); \
        const uint8_t *restrict mask = SLOT(uint8_t, s->c); \
        for (uint32_t i = 0; i < f->count; ++i) { \
            const U *from = p + (uint64_t) idx[i] * s->aux; \
            for (uint32_t k_ = 0; k_ < s->aux; ++k_) \
                SLOT(U, s->dst + k_ * s->slot)[i] = mask[i] ? from[k_] : 0; \
        } \
    } \
    static void exch_loop_##k(const Step *s, const Frame *f) { \
        const uint32_t *list = f->lists + s->slot; \
        U *restrict d = SLOT(U, s->dst), *p = (U *) (uintptr_t) *SLOT(uint64_t, list[0]); \
        const U *restrict v = SLOT(U, list[1]); \
        const uint32_t *restrict idx = SLOT(uint32_t, list[2]); \
        const uint8_t *restrict mask = SLOT(uint8_t, list[3]); \
        for (uint32_t i = 0; i < f->count; ++i) \
            d[i] = mask[i] ? __atomic_exchange_n(&p[idx[i]], v[i], __ATOMIC_RELAXED) : 0; \
    } \
    static void cas_loop_##k(const Step *s, const Frame *f) { \
        const uint32_t *list = f->lists + s->slot; \
        U *restrict d = SLOT(U, s->dst), *p = (U *) (uintptr_t) *SLOT(uint64_t, list[0]); \
        const U *restrict compare = SLOT(U, list[1]), *restrict v = SLOT(U, list[2]); \
        const uint32_t *restrict idx = SLOT(uint32_t, list[3]); \
        const uint8_t *restrict mask = SLOT(uint8_t, list[4]); \
        for (uint32_t i = 0; i < f->count; ++i) { \
            U old = mask[i] ? compare[i] : 0; \
            if (mask[i]) \
                __atomic_compare_exchange_n(&p[idx[i]], &old, v[i], 0, __ATOMIC_RELAXED, \
                                            __ATOMIC_RELAXED); \
            d[i] = old; \
        } \
    }

SIZE_LOOPS(0, uint8_t)
SIZE_LOOPS(1, uint16_t)
SIZE_LOOPS(2, uint32_t)
SIZE_LOOPS(3, uint64_t)

/* ---------------------------------------------------------------- scatters */

/* One update of '*p' with 'v': plainly, or by compare-exchange. U: unsigned type of T's size,
 * 'expr' computes the new value from a (old) and b (v). */
#define UPDATE(fn, T, U, expr) \
    SCALAR void fn##_plain(T *p, T b) { \
        const T a = *p; \
        *p = (T) (expr); \
    } \
    SCALAR void fn##_atomic(T *p, T b) { \
        U *word = (U *) (void *) p, old = __atomic_load_n(word, __ATOMIC_RELAXED), next; \
        do { \
            T a, result; \
            memcpy(&a, &old, sizeof a); \
            result = (T) (expr); \
            memcpy(&next, &result, sizeof next); \
        } while (!__atomic_compare_exchange_n(word, &old, next, 1, __ATOMIC_RELAXED, \
                                              __ATOMIC_RELAXED)); \
    }

/* Integer sums and bit operations have instructions of their own. */
#define UPDATE_FETCH(fn, T, expr, builtin) \
    SCALAR void fn##_plain(T *p, T b) { \
        const T a = *p; \
        *p = (T) (expr); \
    } \
    SCALAR void fn##_atomic(T *p, T b) { builtin(p, b, __ATOMIC_RELAXED); }

#define SCATTER_LOOP(fn, T, update) \
    static void fn(const Step *s, const Frame *f) { \
        const uint32_t *list = f->lists + s->slot; \
        T *p = (T *) (uintptr_t) *SLOT(uint64_t, list[0]); \
        const T *restrict v = SLOT(T, list[1]); \
        const uint32_t *restrict idx = SLOT(uint32_t, list[2]); \
        const uint8_t *restrict mask = SLOT(uint8_t, list[3]); \
        for (uint32_t i = 0, n = f->count; i < n; ++i) { \
            PREFETCH_AHEAD(p, idx, i, n); \
            if (mask[i]) \
                update(&p[idx[i]], v[i]); \
        } \
    } \
    static void fn##_packet(const Step *s, const Frame *f) { \
        const uint32_t *list = f->lists + s->slot; \
        T *p = (T *) (uintptr_t) *SLOT(uint64_t, list[0]); \
        const uint32_t *restrict idx = SLOT(uint32_t, list[1]); \
        const uint8_t *restrict mask = SLOT(uint8_t, list[2]); \
        for (uint32_t i = 0; i < f->count; ++i) { \
            if (!mask[i]) \
                continue; \
            T *to = p + (uint64_t) idx[i] * s->aux; \
            for (uint32_t k = 0; k < s->aux; ++k) \
                update(&to[k], SLOT(T, list[3 + k])[i]); \
        } \
    }

#define SCATTER_LOOPS(op, t, T) \
    SCATTER_LOOP(scatter_##op##_atomic_##t, T, op##_update_##t##_atomic) \
    SCATTER_LOOP(scatter_##op##_plain_##t, T, op##_update_##t##_plain)

#define WRITE_LOOPS(t, T, U) \
    SCALAR void write_update_##t##_plain(T *p, T b) { *p = b; } \
    SCATTER_LOOP(scatter_write_plain_##t, T, write_update_##t##_plain)

#define SCATTER_INTEGER(t, T, U) \
    WRITE_LOOPS(t, T, U) \
    UPDATE_FETCH(add_update_##t, T, add_##t(a, b), __atomic_fetch_add) \
    UPDATE_FETCH(and_update_##t, T, and_##t(a, b), __atomic_fetch_and) \
    UPDATE_FETCH(or_update_##t, T, or_##t(a, b), __atomic_fetch_or) \
    UPDATE(mul_update_##t, T, U, mul_##t(a, b)) \
    UPDATE(min_update_##t, T, U, min_##t(a, b)) \
    UPDATE(max_update_##t, T, U, max_##t(a, b)) \
    SCATTER_LOOPS(add, t, T) SCATTER_LOOPS(mul, t, T) SCATTER_LOOPS(min, t, T) \
    SCATTER_LOOPS(max, t, T) SCATTER_LOOPS(and, t, T) SCATTER_LOOPS(or, t, T)

#define SCATTER_FLOAT(t, T, U) \
    WRITE_LOOPS(t, T, U) \
    UPDATE(add_update_##t, T, U, add_##t(a, b)) \
    UPDATE(mul_update_##t, T, U, mul_##t(a, b)) \
    UPDATE(min_update_##t, T, U, min_##t(a, b)) \
    UPDATE(max_update_##t, T, U, max_##t(a, b)) \
    SCATTER_LOOPS(add, t, T) SCATTER_LOOPS(mul, t, T) SCATTER_LOOPS(min, t, T) \
    SCATTER_LOOPS(max, t, T)

SCATTER_INTEGER(i8, int8_t, uint8_t)
SCATTER_INTEGER(u8, uint8_t, uint8_t)
SCATTER_INTEGER(i16, int16_t, uint16_t)
SCATTER_INTEGER(u16, uint16_t, uint16_t)
SCATTER_INTEGER(i32, int32_t, uint32_t)
SCATTER_INTEGER(u32, uint32_t, uint32_t)
SCATTER_INTEGER(i64, int64_t, uint64_t)
SCATTER_INTEGER(u64, uint64_t, uint64_t)
SCATTER_FLOAT(f16, _Float16, uint16_t)
SCATTER_FLOAT(f32, float, uint32_t)
SCATTER_FLOAT(f64, double, uint64_t)

static void inc_loop(const Step *s, const Frame *f) {
    uint32_t *restrict d = SLOT(uint32_t, s->dst);
    uint32_t *p = (uint32_t *) (uintptr_t) *SLOT(uint64_t, s->a);
    const uint32_t *restrict idx = SLOT(uint32_t, s->b);
    const uint8_t *restrict mask = SLOT(uint8_t, s->c);
    for (uint32_t i = 0; i < f->count;) {
        if (!mask[i]) {
            d[i++] = 0;
            continue;
        }
        /* One atomic operation for a run of lanes with the same target. */
        uint32_t end = i + 1, active = 1;
        while (end < f->count && (!mask[end] || idx[end] == idx[i]))
            active += mask[end++];
        uint32_t value = __atomic_fetch_add(&p[idx[i]], active, __ATOMIC_RELAXED);
        for (; i < end; ++i)
            d[i] = mask[i] ? value++ : 0;
    }
}

/* ------------------------------------------------------------------ others */

static void counter_loop(const Step *s, const Frame *f) {
    uint32_t *restrict d = SLOT(uint32_t, s->dst);
    for (uint32_t i = 0, n = LANES; i < n; ++i)
        d[i] = f->begin + i;
}

static void worker_loop(const Step *s, const Frame *f) {
    uint32_t *restrict d = SLOT(uint32_t, s->dst);
    for (uint32_t i = 0, n = LANES; i < n; ++i)
        d[i] = f->worker;
}

/* 'slot' is the report's, 'aux' the number of the check. */
static void check_loop(const Step *s, const Frame *f) {
    uint8_t *restrict d = SLOT(uint8_t, s->dst);
    const uint8_t *restrict mask = SLOT(uint8_t, s->a);
    const uint32_t *restrict idx = SLOT(uint32_t, s->b);
    CheckReport *report = (CheckReport *) (uintptr_t) f->args[s->slot] + s->aux;
    const uint64_t bound = report->bound;
    uint32_t failed = 0, bad = 0;
    for (uint32_t i = 0; i < f->count; ++i) {
        bool out = mask[i] && idx[i] >= bound;
        d[i] = mask[i] && !out;
        failed += out;
        bad = out ? idx[i] : bad;
    }
    if (failed) {
        __atomic_store_n(&report->index, bad, __ATOMIC_RELAXED);
        __atomic_fetch_add(&report->count, failed, __ATOMIC_RELAXED);
    }
}

/* ------------------------------------------------------------------- table */

#define INTEGER_ROWS(X, T) \
    X(OP_NEG, neg, T) X(OP_NOT, not, T) X(OP_ABS, abs, T) X(OP_POPC, popc, T) \
    X(OP_CLZ, clz, T) X(OP_CTZ, ctz, T) X(OP_BREV, brev, T) X(OP_ADD, add, T) \
    X(OP_SUB, sub, T) X(OP_MUL, mul, T) X(OP_DIV, div, T) X(OP_MOD, mod, T) \
    X(OP_MUL_HI, mul_hi, T) X(OP_MIN, min, T) X(OP_MAX, max, T) X(OP_AND, and, T) \
    X(OP_OR, or, T) X(OP_XOR, xor, T) X(OP_SHL, shl, T) X(OP_SHR, shr, T) \
    X(OP_FMA, fma, T) COMPARE_ROWS(X, T)
#define COMPARE_ROWS(X, T) \
    X(OP_EQ, eq, T) X(OP_NEQ, neq, T) X(OP_LT, lt, T) X(OP_LE, le, T) X(OP_GT, gt, T) \
    X(OP_GE, ge, T)
#define FLOAT_ROWS(X, T) \
    X(OP_NEG, neg, T) X(OP_ABS, abs, T) X(OP_SQRT, sqrt, T) X(OP_RCP, rcp, T) \
    X(OP_RSQRT, rsqrt, T) X(OP_CEIL, ceil, T) X(OP_FLOOR, floor, T) X(OP_ROUND, round, T) \
    X(OP_TRUNC, trunc, T) X(OP_ADD, add, T) X(OP_SUB, sub, T) X(OP_MUL, mul, T) \
    X(OP_DIV, div, T) X(OP_MIN, min, T) X(OP_MAX, max, T) X(OP_FMIN, fmin, T) \
    X(OP_FMAX, fmax, T) X(OP_COPYSIGN, copysign, T) X(OP_FMA, fma, T) COMPARE_ROWS(X, T)

#define TYPE_i8 VarTypeInt8
#define TYPE_u8 VarTypeUInt8
#define TYPE_i16 VarTypeInt16
#define TYPE_u16 VarTypeUInt16
#define TYPE_i32 VarTypeInt32
#define TYPE_u32 VarTypeUInt32
#define TYPE_i64 VarTypeInt64
#define TYPE_u64 VarTypeUInt64
#define TYPE_f16 VarTypeFloat16
#define TYPE_f32 VarTypeFloat32
#define TYPE_f64 VarTypeFloat64
#define TYPE_mask VarTypeBool

#define ROW(op, fn, t) [op][TYPE_##t] = fn##_loop_##t,
#define CAST_TO(from, to) [TYPE_##to] = cast_loop_##from##_##to,
#define CAST_ROW(t) \
    [TYPE_##t] = { CAST_TO(t, mask) CAST_TO(t, i8) CAST_TO(t, u8) CAST_TO(t, i16) \
        CAST_TO(t, u16) CAST_TO(t, i32) CAST_TO(t, u32) CAST_TO(t, i64) CAST_TO(t, u64) \
        CAST_TO(t, f16) CAST_TO(t, f32) CAST_TO(t, f64) },
#define SCATTER_ENTRY(op, t, suffix) \
    [TYPE_##t] = { scatter_##op##_atomic_##t##suffix, scatter_##op##_plain_##t##suffix },
#define WRITE_ENTRY(t, suffix) \
    [TYPE_##t] = { scatter_write_plain_##t##suffix, scatter_write_plain_##t##suffix },
#define SCATTER_INTEGER_ROW(op, suffix) \
    SCATTER_ENTRY(op, i8, suffix) SCATTER_ENTRY(op, u8, suffix) \
    SCATTER_ENTRY(op, i16, suffix) SCATTER_ENTRY(op, u16, suffix) \
    SCATTER_ENTRY(op, i32, suffix) SCATTER_ENTRY(op, u32, suffix) \
    SCATTER_ENTRY(op, i64, suffix) SCATTER_ENTRY(op, u64, suffix)
#define SCATTER_NUMBER_ROW(op, suffix) \
    SCATTER_INTEGER_ROW(op, suffix) SCATTER_ENTRY(op, f16, suffix) \
    SCATTER_ENTRY(op, f32, suffix) SCATTER_ENTRY(op, f64, suffix)
/* Masks are bytes that hold 0 or 1. */
#define SCATTER_MASK_ENTRY(op, suffix) \
    [VarTypeBool] = { scatter_##op##_atomic_u8##suffix, scatter_##op##_plain_u8##suffix },
#define SCATTER_TABLE(suffix) { \
    [ReduceOpIdentity] = { \
        WRITE_ENTRY(i8, suffix) WRITE_ENTRY(u8, suffix) WRITE_ENTRY(i16, suffix) \
        WRITE_ENTRY(u16, suffix) WRITE_ENTRY(i32, suffix) WRITE_ENTRY(u32, suffix) \
        WRITE_ENTRY(i64, suffix) WRITE_ENTRY(u64, suffix) WRITE_ENTRY(f16, suffix) \
        WRITE_ENTRY(f32, suffix) WRITE_ENTRY(f64, suffix) \
        [VarTypeBool] = { scatter_write_plain_u8##suffix, scatter_write_plain_u8##suffix }, \
        [VarTypePointer] = { scatter_write_plain_u64##suffix, \
                             scatter_write_plain_u64##suffix } }, \
    [ReduceOpAdd] = { SCATTER_NUMBER_ROW(add, suffix) }, \
    [ReduceOpMul] = { SCATTER_NUMBER_ROW(mul, suffix) }, \
    [ReduceOpMin] = { SCATTER_NUMBER_ROW(min, suffix) }, \
    [ReduceOpMax] = { SCATTER_NUMBER_ROW(max, suffix) }, \
    [ReduceOpAnd] = { SCATTER_INTEGER_ROW(and, suffix) SCATTER_MASK_ENTRY(and, suffix) }, \
    [ReduceOpOr] = { SCATTER_INTEGER_ROW(or, suffix) SCATTER_MASK_ENTRY(or, suffix) } }
#define BY_SIZE(fn) { fn##_0, fn##_1, fn##_2, fn##_3 }

#define PASTE(a, b) a##b
#define TABLE_NAME(isa) PASTE(interp_lanes_, isa)

const InterpLanes TABLE_NAME(INTERP_ISA) = {
    .arith = {
        INTEGER_ROWS(ROW, i8) INTEGER_ROWS(ROW, u8) INTEGER_ROWS(ROW, i16)
        INTEGER_ROWS(ROW, u16) INTEGER_ROWS(ROW, i32) INTEGER_ROWS(ROW, u32)
        INTEGER_ROWS(ROW, i64) INTEGER_ROWS(ROW, u64) FLOAT_ROWS(ROW, f16)
        FLOAT_ROWS(ROW, f32) FLOAT_ROWS(ROW, f64)
        ROW(OP_MUL_WIDE, mul_wide, i8) ROW(OP_MUL_WIDE, mul_wide, u8)
        ROW(OP_MUL_WIDE, mul_wide, i16) ROW(OP_MUL_WIDE, mul_wide, u16)
        ROW(OP_MUL_WIDE, mul_wide, i32) ROW(OP_MUL_WIDE, mul_wide, u32)
        ROW(OP_NOT, not, mask) ROW(OP_AND, and, mask) ROW(OP_OR, or, mask)
        ROW(OP_XOR, xor, mask)
        [OP_EQ][VarTypeBool] = eq_loop_u8, [OP_NEQ][VarTypeBool] = neq_loop_u8,
        [OP_EQ][VarTypePointer] = eq_loop_u64, [OP_NEQ][VarTypePointer] = neq_loop_u64
    },
    .cast = { CAST_ROW(mask) CAST_ROW(i8) CAST_ROW(u8) CAST_ROW(i16) CAST_ROW(u16)
              CAST_ROW(i32) CAST_ROW(u32) CAST_ROW(i64) CAST_ROW(u64) CAST_ROW(f16)
              CAST_ROW(f32) CAST_ROW(f64) },
    .copy = BY_SIZE(copy_loop), .select = BY_SIZE(select_loop), .fill = BY_SIZE(fill_loop),
    .param = BY_SIZE(param_loop), .load = BY_SIZE(load_loop),
    .load_uniform = BY_SIZE(load_uniform_loop), .store = BY_SIZE(store_loop),
    .counter = counter_loop, .worker = worker_loop, .check = check_loop,
    .gather = BY_SIZE(gather_loop), .gather_packet = BY_SIZE(gather_packet_loop),
    .scatter = SCATTER_TABLE(), .scatter_packet = SCATTER_TABLE(_packet),
    .scatter_inc = inc_loop, .scatter_exch = BY_SIZE(exch_loop),
    .scatter_cas = BY_SIZE(cas_loop)
};
