/*
 * programs.h -- the traced programs that are timed, and the same in plain C
 *
 * Chains make every operation depend on the one before. Random programs mix six kinds
 * of statements over eight inputs; the generator is written down in peer_bench.py too,
 * so that a seed names the same program on both sides.
 */
#ifndef BENCH_PROGRAMS_H
#define BENCH_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

#define PROGRAM_LEAVES 8

/* 2n dependent operations, x = x * b + a, that neither folding nor value numbering
 * removes. */
uint32_t programs_chain(uint32_t a, uint32_t b, size_t n);
float programs_chain_value(float a, float b, size_t n);

/* 6n operations: n steps of the Collatz iteration, x odd ? 3 x + 1 : x / 2 (UInt32). */
uint32_t programs_collatz(uint32_t x, size_t n);
uint32_t programs_collatz_value(uint32_t x, size_t n);

typedef struct Statement {
    uint32_t kind;  /* 0 ... 5, see programs_trace */
    uint32_t other; /* leaf that is the second operand */
    uint32_t store; /* leaf that is replaced by the result, or PROGRAM_LEAVES */
    float constant; /* in [0.5, 1.5) */
} Statement;

/* n random statements; free() releases them. */
Statement *programs_random(uint64_t seed, size_t n);

/* A number in [0, 1) that belongs to leaf j of a seed, and the entries of that leaf:
 * i / size + that number. */
double programs_leaf_offset(uint64_t seed, uint32_t j);
void programs_leaves(VarType type, size_t size, uint64_t seed,
                     uint32_t leaves[PROGRAM_LEAVES]);
void programs_release(uint32_t leaves[PROGRAM_LEAVES]);

/* Trace the statements; returns the last value. The leaves are borrowed. */
uint32_t programs_trace(const Statement *statements, size_t n, VarType type,
                        const uint32_t leaves[PROGRAM_LEAVES]);

/* Compare the entries of a traced program with plain C, at up to 64 positions. */
void programs_check(uint32_t result, const Statement *statements, size_t n,
                    VarType type, size_t size, uint64_t seed);

#endif
