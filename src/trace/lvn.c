/*
 * lvn.c -- see lvn.h
 */
#include "trace/lvn.h"

#include "base/alloc.h"

typedef struct Slot {
    uint32_t hash;
    VarId id; /* 0 = free */
} Slot;

static Slot *slots;
static uint32_t capacity, count; /* capacity: a power of two or 0 */

/* Everything of the head but the flags takes part in the comparison. */
static uint64_t head_word(const Var *v) { return v->head & 0xffffffff00ffffffull; }

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128) a * b;
    return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/* The first two operands; in ascending order where that makes no difference. Only the
 * key is put in order: a Program built from the same trace again must not depend on
 * indices. */
static uint64_t first_operands(const Var *v)
{
    uint64_t pair = v->dep_pair[0], swapped = pair << 32 | pair >> 32;
    bool swap = pair > swapped && op_info[v->op].flags & F_COMMUTES;
    return swap ? swapped : pair;
}

uint32_t lvn_hash(const Var *v)
{
    uint64_t h = mix(head_word(v) ^ 0xa0761d6478bd642full,
                     first_operands(v) ^ 0xe7037ed1a0b428dbull);
    h ^= mix(v->dep_pair[1] ^ 0x8ebc6af09c88c6e3ull,
             v->value.literal ^ 0x589965cc75374cc3ull);
    h = mix(h ^ v->size, (uint64_t) v->scope ^ 0x1d8e4e27c47d124full);
    return (uint32_t) (h ^ h >> 32);
}

static bool equal(const Var *a, const Var *b)
{
    return head_word(a) == head_word(b) && first_operands(a) == first_operands(b) &&
           a->dep_pair[1] == b->dep_pair[1] && a->value.literal == b->value.literal &&
           a->size == b->size && a->scope == b->scope;
}

VarId lvn_lookup(const Var *v)
{
    if (!capacity)
        return 0;
    uint32_t mask = capacity - 1, i = v->hash & mask;
    for (; slots[i].id; i = (i + 1) & mask)
        if (slots[i].hash == v->hash && equal(var_get(slots[i].id), v))
            return slots[i].id;
    return 0;
}

static void put(Slot *table, uint32_t mask, Slot slot)
{
    uint32_t i = slot.hash & mask;
    while (table[i].id)
        i = (i + 1) & mask;
    table[i] = slot;
}

static bool grow(void)
{
    uint32_t larger = capacity ? capacity * 2 : 1024;
    Slot *table = alloc_zero(larger, sizeof(Slot));
    if (!table)
        return false;
    for (uint32_t i = 0; i < capacity; ++i)
        if (slots[i].id)
            put(table, larger - 1, slots[i]);
    alloc_free(slots);
    slots = table;
    capacity = larger;
    return true;
}

void lvn_insert(VarId id)
{
    /* Growing may fail as long as one slot stays free, which ends all searches. */
    if (count + 1 > capacity / 4 * 3 && !grow() && count + 1 >= capacity)
        return;
    Var *v = var_get(id);
    put(slots, capacity - 1, (Slot) { v->hash, id });
    v->flags |= VAR_NUMBERED;
    count++;
}

void lvn_remove(VarId id)
{
    uint32_t mask = capacity - 1, hole = var_get(id)->hash & mask;
    while (slots[hole].id != id)
        hole = (hole + 1) & mask;
    for (uint32_t i = (hole + 1) & mask; slots[i].id; i = (i + 1) & mask) {
        /* An entry may fill the hole if that lies on its way from its home slot. */
        if (((i - slots[i].hash) & mask) >= ((i - hole) & mask)) {
            slots[hole] = slots[i];
            hole = i;
        }
    }
    slots[hole].id = 0;
    count--;
}

void lvn_free(void)
{
    if (count)
        return;
    alloc_free(slots);
    slots = NULL;
    capacity = 0;
}
