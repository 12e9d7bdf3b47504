/*
 * programs.c -- traced programs and their references (see programs.h)
 */
#include "programs.h"

#include <math.h>
#include <stdlib.h>

#include "harness.h"

/* Replace a reference we own by another one. */
static uint32_t step(uint32_t old, uint32_t next)
{
    jit_var_dec_ref(old);
    return next;
}

uint32_t programs_chain(uint32_t a, uint32_t b, size_t n)
{
    uint32_t x = jit_var_inc_ref(a);
    for (size_t i = 0; i < n; ++i) {
        x = step(x, jit_var_mul(x, b));
        x = step(x, jit_var_add(x, a));
    }
    return x;
}

float programs_chain_value(float a, float b, size_t n)
{
    float x = a;
    for (size_t i = 0; i < n; ++i) {
        x = x * b;
        x = x + a;
    }
    return x;
}

uint32_t programs_collatz(uint32_t start, size_t n)
{
    const uint32_t zero = jit_var_u32(JitBackendLLVM, 0),
                   one = jit_var_u32(JitBackendLLVM, 1),
                   three = jit_var_u32(JitBackendLLVM, 3);
    uint32_t x = jit_var_inc_ref(start);
    for (size_t i = 0; i < n; ++i) {
        uint32_t bit = jit_var_and(x, one);
        const uint32_t odd = step(bit, jit_var_neq(bit, zero));
        uint32_t up = jit_var_mul(x, three);
        up = step(up, jit_var_add(up, one));
        const uint32_t down = jit_var_shr(x, one);
        x = step(x, jit_var_select(odd, up, down));
        jit_var_dec_ref(odd);
        jit_var_dec_ref(up);
        jit_var_dec_ref(down);
    }
    jit_var_dec_ref(zero);
    jit_var_dec_ref(one);
    jit_var_dec_ref(three);
    return x;
}

uint32_t programs_collatz_value(uint32_t x, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        x = (x & 1) != 0 ? x * 3 + 1 : x >> 1;
    return x;
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

Statement *programs_random(uint64_t seed, size_t n)
{
    Statement *statements = harness_alloc(n * sizeof(Statement));
    uint64_t state = seed;
    for (size_t i = 0; i < n; ++i) {
        Statement *s = &statements[i];
        s->kind = (uint32_t) (draw(&state) % 6);
        s->other = (uint32_t) (draw(&state) % PROGRAM_LEAVES);
        s->constant = .5f + (float) (draw(&state) >> 40) * 0x1p-24f;
        s->store = i % 5 ? PROGRAM_LEAVES : (uint32_t) (draw(&state) % PROGRAM_LEAVES);
    }
    return statements;
}

double programs_leaf_offset(uint64_t seed, uint32_t j)
{
    uint64_t state = seed ^ 0x5eed5eed5eed5eedu;
    uint64_t bits = 0;
    for (uint32_t i = 0; i <= j; ++i)
        bits = draw(&state);
    return (double) (bits >> 40) * 0x1p-24;
}

static double leaf_entry(VarType type, size_t size, double offset, size_t i)
{
    if (type == VarTypeFloat32)
        return (float) i * (1.f / (float) size) + (float) offset;
    return (double) i * (1. / (double) size) + offset;
}

void programs_leaves(VarType type, size_t size, uint64_t seed,
                     uint32_t leaves[PROGRAM_LEAVES])
{
    void *memory = harness_alloc(size * sizeof(double));
    for (uint32_t j = 0; j < PROGRAM_LEAVES; ++j) {
        const double offset = programs_leaf_offset(seed, j);
        for (size_t i = 0; i < size; ++i) {
            if (type == VarTypeFloat32)
                ((float *) memory)[i] = (float) leaf_entry(type, size, offset, i);
            else
                ((double *) memory)[i] = leaf_entry(type, size, offset, i);
        }
        leaves[j] = jit_var_mem_copy(JitBackendLLVM, type, memory, size);
        harness_require(leaves[j] != 0, "jit_var_mem_copy");
    }
    free(memory);
}

void programs_release(uint32_t leaves[PROGRAM_LEAVES])
{
    for (uint32_t j = 0; j < PROGRAM_LEAVES; ++j)
        jit_var_dec_ref(leaves[j]);
}

/* One statement on variables. The result is a new reference. */
static uint32_t trace_statement(const Statement *s, uint32_t x, uint32_t y, uint32_t c)
{
    uint32_t inner, mask, result;
    switch (s->kind) {
    case 0:
        return jit_var_add(x, y);
    case 1:
        return jit_var_mul(x, y);
    case 2:
        inner = jit_var_mul(y, c);
        return step(inner, jit_var_sub(x, inner));
    case 3:
        return jit_var_fma(x, c, y);
    case 4:
        mask = jit_var_lt(x, y);
        inner = jit_var_mul(x, c);
        result = jit_var_select(mask, inner, y);
        jit_var_dec_ref(mask);
        return step(inner, result);
    default:
        inner = jit_var_min(x, y);
        return step(inner, jit_var_add(inner, c));
    }
}

uint32_t programs_trace(const Statement *statements, size_t n, VarType type,
                        const uint32_t leaves[PROGRAM_LEAVES])
{
    uint32_t pool[PROGRAM_LEAVES];
    for (uint32_t j = 0; j < PROGRAM_LEAVES; ++j)
        pool[j] = jit_var_inc_ref(leaves[j]);
    uint32_t x = jit_var_inc_ref(pool[0]);
    for (size_t i = 0; i < n; ++i) {
        const Statement *s = &statements[i];
        const uint32_t c = type == VarTypeFloat32
                               ? jit_var_f32(JitBackendLLVM, s->constant)
                               : jit_var_f64(JitBackendLLVM, s->constant);
        x = step(x, trace_statement(s, x, pool[s->other], c));
        jit_var_dec_ref(c);
        if (s->store < PROGRAM_LEAVES)
            pool[s->store] = step(pool[s->store], jit_var_inc_ref(x));
    }
    programs_release(pool);
    harness_require(x != 0, "tracing a random program");
    return x;
}

static float value_f32(const Statement *s, float x, float y)
{
    const float c = s->constant;
    switch (s->kind) {
    case 0:
        return x + y;
    case 1:
        return x * y;
    case 2:
        return x - y * c;
    case 3:
        return fmaf(x, c, y);
    case 4:
        return x < y ? x * c : y;
    default:
        return (x < y ? x : y) + c;
    }
}

static double value_f64(const Statement *s, double x, double y)
{
    const double c = (double) s->constant;
    switch (s->kind) {
    case 0:
        return x + y;
    case 1:
        return x * y;
    case 2:
        return x - y * c;
    case 3:
        return fma(x, c, y);
    case 4:
        return x < y ? x * c : y;
    default:
        return (x < y ? x : y) + c;
    }
}

static double program_value(const Statement *statements, size_t n, VarType type,
                            size_t size, uint64_t seed, size_t lane)
{
    double pool[PROGRAM_LEAVES];
    for (uint32_t j = 0; j < PROGRAM_LEAVES; ++j)
        pool[j] = leaf_entry(type, size, programs_leaf_offset(seed, j), lane);
    double x = pool[0];
    for (size_t i = 0; i < n; ++i) {
        const Statement *s = &statements[i];
        const double y = pool[s->other];
        x = type == VarTypeFloat32 ? (double) value_f32(s, (float) x, (float) y)
                                   : value_f64(s, x, y);
        if (s->store < PROGRAM_LEAVES)
            pool[s->store] = x;
    }
    return x;
}

void programs_check(uint32_t result, const Statement *statements, size_t n,
                    VarType type, size_t size, uint64_t seed)
{
    const size_t stride = size < 64 ? 1 : size / 64;
    for (size_t lane = 0; lane < size; lane += stride) {
        double found = 0;
        float single = 0;
        const bool ok = type == VarTypeFloat32 ? jit_var_read(result, lane, &single)
                                               : jit_var_read(result, lane, &found);
        harness_require(ok, "jit_var_read");
        if (type == VarTypeFloat32)
            found = (double) single;
        const double expected = program_value(statements, n, type, size, seed, lane);
        harness_require(harness_close(found, expected, 1e-6),
                        "random program, entry %zu: found %g, expected %g", lane, found,
                        expected);
    }
}
