/*
 * lvn.h -- local value numbering: equal pure operations share one variable
 *
 * A hash table of chains that are linked through the variables themselves, so entering
 * and leaving costs a store or two. The home of an operation follows the ids of its
 * operands, give or take a few chains: what is traced in a row lies close together, and
 * long traces are not slower than short ones. Entries hold no reference: a variable
 * leaves the table when it is freed or evaluated. Requires the graph lock.
 */
#ifndef TRACE_GRAPH_LVN_H
#define TRACE_GRAPH_LVN_H

#include "trace/graph/var.h"

typedef struct LvnTable {
    VarId *heads; /* of chains through Var.same_hash, 0 = empty */
    uint32_t capacity, count; /* capacity: a power of two or 0 */
} LvnTable;

extern LvnTable lvn_table;

/** Everything that makes two nodes equal. */
typedef struct LvnKey {
    uint64_t head;    /* Var.head without the flags */
    uint64_t pair;    /* the first two operands, see lvn_ordered() */
    uint64_t more;    /* the others */
    uint64_t literal;
    uint32_t size, scope, hash;
} LvnKey;

/** False if out of memory or the table as large as it can be: chains become longer.
 *  The number of variables has a bound of its own, beyond which there are errors. */
bool lvn_grow(void);

#define LVN_HEAD 0xffffffff00ffffffull

/* The first two operands, in ascending order where that makes no difference. Only the
 * key is put in order: a Program built from the same trace again must not depend on
 * indices. */
static inline uint64_t lvn_ordered(Op op, uint64_t pair)
{
    uint64_t swapped = pair << 32 | pair >> 32;
    return pair > swapped && op_info[op].flags & F_COMMUTES ? swapped : pair;
}

static inline uint32_t lvn_hash(const LvnKey *k)
{
    uint64_t shape = k->size | (uint64_t) k->scope << 32;
    unsigned __int128 product =
        (unsigned __int128) (k->head ^ 0xa0761d6478bd642full) *
        (k->literal ^ shape ^ 0xe7037ed1a0b428dbull);
    uint64_t h = (uint64_t) product ^ (uint64_t) (product >> 64);
    if (!k->pair)
        return (uint32_t) (h ^ h >> 32);
    /* The newer operand is usually the one that changes from one operation to the next;
     * the factor of the other keeps all pairs out of two sets apart. */
    uint32_t a = (uint32_t) k->pair, b = (uint32_t) (k->pair >> 32);
    uint32_t newer = a > b ? a : b, older = a > b ? b : a;
    uint64_t place =
        newer + 4099 * (uint64_t) older + 5 * k->more + 7 * (k->more >> 32);
    return 2 * (uint32_t) place + ((uint32_t) h & 31);
}

/** The key of operation 'op' (which is in 'head', too). */
static inline LvnKey lvn_key(Op op, uint64_t head, uint64_t pair, uint64_t more,
                             uint64_t literal, uint32_t size, uint32_t scope)
{
    LvnKey key = { head & LVN_HEAD, lvn_ordered(op, pair), more, literal, size,
                   scope,           0 };
    key.hash = lvn_hash(&key);
    return key;
}

/** A variable with this key, 0 if there is none. */
static inline VarId lvn_lookup(const LvnKey *k)
{
    if (!lvn_table.capacity)
        return 0;
    VarId id = lvn_table.heads[k->hash & (lvn_table.capacity - 1)];
    while (id) {
        const Var *v = var_get(id);
        if (v->hash == k->hash && (v->head & LVN_HEAD) == k->head &&
            lvn_ordered((Op) v->op, v->dep_pair[0]) == k->pair &&
            v->dep_pair[1] == k->more && v->value.literal == k->literal &&
            var_lanes(v) == k->size && v->scope == k->scope)
            break;
        id = v->same_hash;
    }
    return id;
}

/** Enter a variable; silently left out if out of memory (it is only an
 *  optimisation). */
static inline void lvn_insert(VarId id, Var *v, uint32_t hash)
{
    /* Where growing fails, chains become longer. */
    if (lvn_table.count >= lvn_table.capacity / 2 && !lvn_grow() && !lvn_table.capacity)
        return;
    VarId *head = &lvn_table.heads[hash & (lvn_table.capacity - 1)];
    v->hash = hash;
    v->same_hash = *head;
    v->flags |= VAR_NUMBERED;
    *head = id;
    lvn_table.count++;
}

/** Take it out; VAR_NUMBERED is left to the caller. */
static inline void lvn_remove(VarId id)
{
    const Var *v = var_get(id);
    VarId *link = &lvn_table.heads[v->hash & (lvn_table.capacity - 1)];
    while (*link != id)
        link = &var_get(*link)->same_hash;
    *link = v->same_hash;
    lvn_table.count--;
}

void lvn_free(void);

#endif
