/*
 * call_merge.c -- see call_merge.h
 *
 * Candidates are found by the hash of their Programs without literals; the first of a
 * group leads it. Two literals of the leader may be one variable: then they have to be
 * equal in the other members, too, or these are no members.
 */
#include "trace/eval/call_merge.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"
#include "ir/program_identity.h"

/* ------------------------------------------------------------------ grouping */

typedef struct Merging {
    const struct CallPreview *preview;
    CallGroups *groups;
    uint32_t *next;  /* callable -> the next member of its group; count: none */
    uint32_t *last;  /* group -> its last member */
    uint32_t **first; /* group -> literal of the leader -> the first one with the same
                       * variable */
    Table leaders;   /* hash -> 1 + group */
} Merging;

/* A value: bits, or the entry of an array. */
static uint64_t value_of(const struct CallPreview *p, uint32_t callable, uint32_t i,
                         VarId *array)
{
    VarId id = p->slots[callable][i];
    *array = var_get(id)->op == OP_LITERAL ? 0 : id;
    return p->programs[callable]->literals[i];
}

static bool same_value(const struct CallPreview *p, uint32_t a, uint32_t i, uint32_t b,
                       uint32_t k)
{
    VarId x, y;
    uint64_t bits = value_of(p, a, i, &x);
    return bits == value_of(p, b, k, &y) && x == y;
}

/* Fill in first[] for a new group. */
static bool find_first(Merging *m, uint32_t group)
{
    uint32_t callable = m->groups->leader[group];
    uint32_t count = m->preview->programs[callable]->literal_count;
    const VarId *slots = m->preview->slots[callable];
    uint32_t *first = alloc_zero((size_t) count + 1, sizeof(uint32_t));
    m->first[group] = first;
    TRY(first, false);
    Table seen = { 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; ++i) {
        uintptr_t known = (uintptr_t) table_get(&seen, &slots[i], sizeof(VarId));
        first[i] = known ? (uint32_t) known - 1 : i;
        if (!known)
            ok = table_put(&seen, &slots[i], sizeof(VarId),
                           (void *) (uintptr_t) (i + 1));
    }
    table_free(&seen);
    return ok;
}

/* May this callable join the group? */
static bool fits(const Merging *m, uint32_t group, uint32_t callable)
{
    const struct CallPreview *p = m->preview;
    uint32_t leader = m->groups->leader[group];
    if (!program_equal_skeleton(p->programs[leader], p->programs[callable]))
        return false;
    for (uint32_t i = 0; i < p->programs[leader]->literal_count; ++i) {
        if (!same_value(p, callable, i, callable, m->first[group][i]))
            return false;
        bool pointer = var_get(p->slots[leader][i])->type == VarTypePointer;
        if (pointer && !same_value(p, leader, i, callable, i))
            return false;
    }
    return true;
}

static bool place(Merging *m, uint32_t callable)
{
    CallGroups *g = m->groups;
    Hash128 hash = program_hash(m->preview->programs[callable], 0).skeleton;
    uint32_t known =
        (uint32_t) (uintptr_t) table_get(&m->leaders, &hash, sizeof(hash));
    if (known && fits(m, known - 1, callable)) {
        m->next[m->last[known - 1]] = callable;
        m->last[known - 1] = callable;
        g->group_of[callable] = known - 1;
        return true;
    }
    uint32_t group = g->count++;
    g->leader[group] = m->last[group] = callable;
    g->group_of[callable] = group;
    TRY(find_first(m, group), false);
    return known || table_put(&m->leaders, &hash, sizeof(hash),
                              (void *) (uintptr_t) (group + 1));
}

/* -------------------------------------------------------------------- values */

static bool differs(const Merging *m, uint32_t leader, uint32_t i)
{
    for (uint32_t c = m->next[leader]; c != m->preview->count; c = m->next[c])
        if (!same_value(m->preview, leader, i, c, i))
            return true;
    return false;
}

/* Slots of a group, numbered from its first word on; '*words' of each member. */
static bool find_slots(Merging *m, uint32_t group, uint32_t *words)
{
    CallGroups *g = m->groups;
    uint32_t leader = g->leader[group];
    const Program *program = m->preview->programs[leader];
    *words = 0;
    if (m->next[leader] == m->preview->count)
        return true;
    for (uint32_t i = 0; i < program->literal_count; ++i) {
        if (m->first[group][i] != i || !differs(m, leader, i))
            continue;
        TRY(vec_reserve(&g->slots, &g->slot_capacity, g->slot_count + 1,
                        sizeof(CallSlot)), false);
        VarId var = m->preview->slots[leader][i];
        g->slots[g->slot_count++] = (CallSlot){ group, var, *words };
        *words += type_info[var_get(var)->type].size == 8 ? 2 : 1;
    }
    return true;
}

/* Write the values of one member. */
static bool write_values(Merging *m, uint32_t group, uint32_t first_slot,
                         uint32_t callable)
{
    CallGroups *g = m->groups;
    uint32_t leader = g->leader[group], slot = first_slot;
    const Program *program = m->preview->programs[leader];
    for (uint32_t i = 0; i < program->literal_count; ++i) {
        if (slot == g->slot_count || g->slots[slot].callable != group)
            break;
        if (m->preview->slots[leader][i] != g->slots[slot].var)
            continue;
        uint32_t word = g->offset[callable] + g->slots[slot++].word;
        VarId array;
        uint64_t bits = value_of(m->preview, callable, i, &array);
        g->table[word] = (uint32_t) bits;
        if (type_info[var_get(m->preview->slots[leader][i])->type].size == 8)
            g->table[word + 1] = (uint32_t) (bits >> 32);
        if (!array)
            continue;
        TRY(vec_reserve(&g->copies, &g->copy_capacity, g->copy_count + 1,
                        sizeof(*g->copies)), false);
        g->copies[g->copy_count++] = (struct CallCopy){ array, word };
    }
    return true;
}

static bool make_table(Merging *m)
{
    CallGroups *g = m->groups;
    uint32_t count = m->preview->count, most = 0;
    uint32_t *widths = alloc_zero(g->count, sizeof(uint32_t));
    uint32_t *firsts = alloc_zero(g->count, sizeof(uint32_t));
    bool ok = widths && firsts;
    for (uint32_t i = 0; ok && i < g->count; ++i) {
        firsts[i] = g->slot_count;
        ok = find_slots(m, i, &widths[i]);
        most = widths[i] > most ? widths[i] : most;
    }
    uint64_t words = 0;
    for (uint32_t c = 0; ok && c < count; ++c) {
        g->offset[c] = (uint32_t) words;
        words += widths[g->group_of[c]];
        if (words + most > UINT32_MAX)
            ok = error_set(JIT_ERROR_UNSUPPORTED,
                           "jit_var_call(): the data of the instances are too large");
    }
    /* A lane may compute what another group reads at its offset. */
    g->words = words ? (uint32_t) words + most : 0;
    if (ok && words) {
        g->table = alloc_zero(g->words, sizeof(uint32_t));
        ok = g->table != NULL;
    }
    for (uint32_t c = 0; ok && words && c < count; ++c)
        ok = write_values(m, g->group_of[c], firsts[g->group_of[c]], c);
    if (ok && g->slot_count)
        call_info_sort(g->slots, g->slot_count);
    alloc_free(widths);
    alloc_free(firsts);
    return ok;
}

bool call_merge_none(uint32_t count, CallGroups *groups)
{
    *groups = (CallGroups){ .count = count,
                            .group_of = alloc_zero(count, sizeof(uint32_t)),
                            .leader = alloc_zero(count, sizeof(uint32_t)),
                            .offset = alloc_zero(count, sizeof(uint32_t)) };
    TRY(groups->group_of && groups->leader && groups->offset, false);
    for (uint32_t c = 0; c < count; ++c)
        groups->group_of[c] = groups->leader[c] = c;
    return true;
}

bool call_merge_groups(const struct CallPreview *preview, CallGroups *groups)
{
    uint32_t count = preview->count;
    *groups = (CallGroups){ .group_of = alloc_zero(count, sizeof(uint32_t)),
                            .leader = alloc_zero(count, sizeof(uint32_t)),
                            .offset = alloc_zero(count, sizeof(uint32_t)) };
    Merging m = { .preview = preview, .groups = groups,
                  .next = alloc_zero(count, sizeof(uint32_t)),
                  .last = alloc_zero(count, sizeof(uint32_t)),
                  .first = alloc_zero(count, sizeof(uint32_t *)) };
    bool ok = groups->group_of && groups->leader && groups->offset && m.next &&
              m.last && m.first;
    for (uint32_t c = 0; ok && c < count; ++c)
        m.next[c] = count;
    for (uint32_t c = 0; ok && c < count; ++c)
        ok = place(&m, c);
    ok = ok && make_table(&m);
    alloc_free(m.next);
    alloc_free(m.last);
    for (uint32_t i = 0; m.first && i < groups->count; ++i)
        alloc_free(m.first[i]);
    alloc_free(m.first);
    table_free(&m.leaders);
    return ok;
}

void call_merge_free(CallGroups *groups)
{
    alloc_free(groups->group_of);
    alloc_free(groups->leader);
    alloc_free(groups->offset);
    alloc_free(groups->slots);
    alloc_free(groups->table);
    alloc_free(groups->copies);
    *groups = (CallGroups){ 0 };
}
