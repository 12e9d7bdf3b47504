/*
 * key.h -- the name of a kernel: XXH3-128 over its Program
 *
 * The skeleton covers instructions, operands, types, slots, statements, regions and
 * callables, but not the values of literals; the key adds those. Engine, target and
 * flags are mixed in through 'environment' (cache_environment). No text is generated.
 */
#ifndef KERNEL_KEY_H
#define KERNEL_KEY_H

#include "base/hash.h"
#include "engine/target.h"
#include "ir/program.h"

typedef struct ProgramKey {
    Hash128 skeleton; /* literal values left out */
    Hash128 full;
    const Target *target; /* what code is to be made for (cache_key); part of both */
} ProgramKey;

/** For the host; 'environment' is mixed in. */
ProgramKey key_compute(const Program *program, uint64_t environment);

/** Are two Programs the same up to the values of their own literals? (Those of
 *  callables belong to the skeleton.) */
bool key_same_skeleton(const Program *a, const Program *b);
/** Are two Programs the same? */
bool key_same(const Program *a, const Program *b);
/** All of a Program as bytes, the same for equal ones: preceded by 'prefix'. Owned by
 *  the caller (alloc_free); NULL if memory is out. */
void *key_serialise(const Program *program, uint64_t prefix, size_t *size);

static inline bool key_equal_hash(Hash128 a, Hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

#endif
