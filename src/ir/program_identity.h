/*
 * program_identity.h -- which Programs are the same: hash, equality, bytes
 *
 * The skeleton of a Program covers instructions, operands, types, parameters,
 * statements, regions and callables, but not the values of its own literals; those of
 * callables belong to it. No text is generated. Kernels are found by this hash, with
 * device, engine and target as the seed (cache_key), and callables that are the same,
 * too.
 */
#ifndef IR_PROGRAM_IDENTITY_H
#define IR_PROGRAM_IDENTITY_H

#include "base/hash.h"
#include "ir/program.h"

typedef struct ProgramHash {
    Hash128 skeleton;
    Hash128 full;
} ProgramHash;

ProgramHash program_hash(const Program *program, uint64_t seed);

/** Are two Programs the same up to the values of their own literals? */
bool program_equal_skeleton(const Program *a, const Program *b);
/** Are two Programs the same? */
bool program_equal(const Program *a, const Program *b);
/** All of a Program as bytes, the same for equal ones: preceded by 'prefix'. Owned by
 *  the caller (alloc_free); NULL if out of memory. */
void *program_serialise(const Program *program, uint64_t prefix, size_t *size);
/** The Program that these bytes are, which is verified; sources are unknown. They may
 *  be any bytes: every length is checked. NULL: error recorded. */
Program *program_deserialise(const void *data, size_t size, uint64_t *prefix);

#endif
