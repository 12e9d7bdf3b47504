/*
 * program_identity.c -- see program_identity.h
 *
 * Hash, comparison and serialisation see a Program as a list of byte ranges, its parts.
 * Inst, Param and Region have no padding and unused operands are 0, so equal Programs
 * have equal bytes and nothing has to be looked at instruction by instruction: the key
 * of a known kernel costs a pass of XXH3 over the arrays, and a hit a memcmp.
 *
 * Callables are Programs themselves, all of them in the root's list, and follow the
 * root in this order.
 */
#include "ir/program_identity.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/vec.h"

enum { COUNTS = 9 };

_Static_assert(sizeof(Inst) == 20, "an Inst is hashed as bytes: no padding");
_Static_assert(sizeof(Param) == 4, "a Param is hashed as bytes: no padding");
_Static_assert(sizeof(Region) == 24, "a Region is hashed as bytes: no padding");

static void list_counts(const Program *program, uint32_t counts[COUNTS])
{
    counts[0] = program->inst_count;
    counts[1] = program->extra_count;
    counts[2] = program->literal_count;
    counts[3] = program->param_count;
    counts[4] = program->stmt_count;
    counts[5] = program->region_count;
    counts[6] = program->callable_count;
    counts[7] = program->check_count;
    counts[8] = program->print_count;
}

/* -------------------------------------------------------------------- hash */

static Hash128 join(Hash128 a, Hash128 b)
{
    Hash128 both[2] = { a, b };
    return hash_128(both, sizeof(both), 0);
}

static Hash128 hash_stmts(const Program *program, Hash128 hash)
{
    for (uint32_t i = 0; i < program->stmt_count; ++i)
        hash = join(hash, hash_128(program->stmts[i], strlen(program->stmts[i]), 0));
    return hash;
}

/* The skeleton of one Program without its callables. */
static Hash128 hash_own(const Program *program, uint64_t seed)
{
    struct {
        uint32_t counts[COUNTS + 1];
        Hash128 insts, params, extra, regions, stmts;
    } parts;
    memset(&parts, 0, sizeof(parts));
    list_counts(program, parts.counts);
    parts.insts = hash_128(program->insts, program->inst_count * sizeof(Inst), seed);
    parts.params =
        hash_128(program->params, program->param_count * sizeof(Param), seed);
    if (program->extra_count)
        parts.extra =
            hash_128(program->extra, program->extra_count * sizeof(uint32_t), seed);
    if (program->region_count)
        parts.regions =
            hash_128(program->regions, program->region_count * sizeof(Region), seed);
    if (program->stmt_count)
        parts.stmts = hash_stmts(program, parts.stmts);
    return hash_128(&parts, sizeof(parts), seed);
}

static Hash128 hash_literals(const Program *program)
{
    return hash_128(program->literals, program->literal_count * sizeof(uint64_t), 0);
}

ProgramHash program_hash(const Program *program, uint64_t seed)
{
    ProgramHash key;
    key.skeleton = hash_own(program, seed);
    for (uint32_t i = 0; i < program->callable_count; ++i) {
        const Program *callable = program->callables[i];
        key.skeleton = join(key.skeleton, join(hash_own(callable, seed),
                                               hash_literals(callable)));
    }
    key.full = program->literal_count ? join(key.skeleton, hash_literals(program))
                                      : key.skeleton;
    return key;
}

/* -------------------------------------------------------------- comparison */

static bool same_bytes(const void *a, const void *b, size_t count, size_t size)
{
    return count == 0 || memcmp(a, b, count * size) == 0;
}

static bool same_own(const Program *a, const Program *b)
{
    uint32_t counts_a[COUNTS], counts_b[COUNTS];
    list_counts(a, counts_a);
    list_counts(b, counts_b);
    if (memcmp(counts_a, counts_b, sizeof(counts_a)) != 0 ||
        !same_bytes(a->insts, b->insts, a->inst_count, sizeof(Inst)) ||
        !same_bytes(a->params, b->params, a->param_count, sizeof(Param)) ||
        !same_bytes(a->extra, b->extra, a->extra_count, sizeof(uint32_t)) ||
        !same_bytes(a->regions, b->regions, a->region_count, sizeof(Region)))
        return false;
    for (uint32_t i = 0; i < a->stmt_count; ++i)
        if (strcmp(a->stmts[i], b->stmts[i]) != 0)
            return false;
    return true;
}

static bool same_literals(const Program *a, const Program *b)
{
    return same_bytes(a->literals, b->literals, a->literal_count, sizeof(uint64_t));
}

bool program_equal_skeleton(const Program *a, const Program *b)
{
    TRY(same_own(a, b), false);
    for (uint32_t i = 0; i < a->callable_count; ++i)
        if (!same_own(a->callables[i], b->callables[i]) ||
            !same_literals(a->callables[i], b->callables[i]))
            return false;
    return true;
}

bool program_equal(const Program *a, const Program *b)
{
    return program_equal_skeleton(a, b) && same_literals(a, b);
}

/* --------------------------------------------------------------- serialise */

/* Appends to 'out' and 'size', or only counts while 'out' is NULL. */
static void put(char *out, size_t *size, const void *data, size_t bytes)
{
    if (out && bytes)
        memcpy(out + *size, data, bytes);
    *size += bytes;
}

static void put_own(char *out, size_t *size, const Program *program)
{
    uint32_t counts[COUNTS];
    list_counts(program, counts);
    put(out, size, counts, sizeof(counts));
    put(out, size, program->insts, program->inst_count * sizeof(Inst));
    put(out, size, program->extra, program->extra_count * sizeof(uint32_t));
    put(out, size, program->literals, program->literal_count * sizeof(uint64_t));
    put(out, size, program->params, program->param_count * sizeof(Param));
    put(out, size, program->regions, program->region_count * sizeof(Region));
    for (uint32_t i = 0; i < program->stmt_count; ++i)
        put(out, size, program->stmts[i], strlen(program->stmts[i]) + 1);
}

static void put_all(char *out, size_t *size, const Program *program, uint64_t prefix)
{
    put(out, size, &prefix, sizeof(prefix));
    put_own(out, size, program);
    for (uint32_t i = 0; i < program->callable_count; ++i)
        put_own(out, size, program->callables[i]);
}

void *program_serialise(const Program *program, uint64_t prefix, size_t *size)
{
    size_t total = 0;
    put_all(NULL, &total, program, prefix);
    char *out = alloc_get(total);
    TRY(out, NULL);
    *size = 0;
    put_all(out, size, program, prefix);
    return out;
}

/* ------------------------------------------------------------- deserialise */

/* An array of 'count' elements. False: it is not there, or out of memory. */
static bool take(ByteReader *in, void *array, uint32_t *capacity, uint32_t *count,
                 uint32_t wanted, size_t size)
{
    const void *data = bytes_skip(in, wanted * size);
    TRY(data && vec_reserve(array, capacity, wanted, size), false);
    if (wanted)
        memcpy(*(void **) array, data, wanted * size);
    *count = wanted;
    return true;
}

static bool take_stmts(ByteReader *in, Program *program, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        const char *text = (const char *) in->data + in->at;
        const char *end = memchr(text, 0, in->size - in->at);
        TRY(end && program_add_stmt(program, text) != PROGRAM_NONE, false);
        (void) bytes_skip(in, (size_t) (end - text) + 1);
    }
    return true;
}

/* A Program without its callables; '*callables': how many there are. */
static bool take_own(ByteReader *in, Program *p, uint32_t *callables)
{
    uint32_t counts[COUNTS];
    const void *data = bytes_skip(in, sizeof(counts));
    TRY(data, false);
    memcpy(counts, data, sizeof(counts));
    *callables = counts[6];
    p->check_count = counts[7];
    p->print_count = counts[8];
    return take(in, &p->insts, &p->inst_capacity, &p->inst_count, counts[0],
                sizeof(Inst)) &&
           take(in, &p->extra, &p->extra_capacity, &p->extra_count, counts[1],
                sizeof(uint32_t)) &&
           take(in, &p->literals, &p->literal_capacity, &p->literal_count, counts[2],
                sizeof(uint64_t)) &&
           take(in, &p->params, &p->param_capacity, &p->param_count, counts[3],
                sizeof(Param)) &&
           take(in, &p->regions, &p->region_capacity, &p->region_count, counts[5],
                sizeof(Region)) &&
           take_stmts(in, p, counts[4]);
}

static bool take_all(ByteReader *in, Program *program)
{
    uint32_t callables, none = 0;
    bool ok = take_own(in, program, &callables);
    for (uint32_t i = 0; ok && i < callables; ++i) {
        Program *callable = alloc_zero(1, sizeof(Program));
        TRY(callable, false);
        ok = take_own(in, callable, &none) && none == 0;
        ok = program_add_callable(program, callable) != PROGRAM_NONE && ok;
    }
    return ok && bytes_complete(in);
}

/* Operands that are missing are 0: engines rely on it, as does comparison. */
static bool check_unused(const Program *p)
{
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        for (uint32_t i = inst->count > INST_ARGS ? 1 : inst->count; i < INST_ARGS; ++i)
            TRY(!inst->arg[i], false);
    }
    for (uint32_t i = 0; i < p->callable_count; ++i)
        TRY(check_unused(p->callables[i]), false);
    return true;
}

Program *program_deserialise(const void *data, size_t size, uint64_t *prefix)
{
    ByteReader in = { .data = data, .size = size };
    Program *program = alloc_zero(1, sizeof(Program));
    TRY(program, NULL);
    error_clear();
    *prefix = bytes_take(&in, sizeof(*prefix));
    bool ok = take_all(&in, program) && check_unused(program);
    if (!ok && !error_code())
        error_set(JIT_ERROR_ARGUMENT, "program_deserialise(): these bytes are no "
                  "Program");
    if (ok && program_verify(program))
        return program;
    program_free(program);
    return NULL;
}
