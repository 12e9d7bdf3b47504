/*
 * var.c -- the table of variables: slots, references, release
 *
 * Free slots are found lowest first through a bitmap with summary levels: a set bit of
 * level k says that the word below it is not zero, so a search descends one word per
 * level.
 *
 * Releasing a variable may release its operands and so on. The variables on their way
 * out form a stack linked through their 'link' field: no recursion, no memory needed,
 * and a chain of any length can be freed.
 */
#include "trace/graph/var.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/distance.h"
#include "trace/graph/extra.h"
#include "trace/graph/pending.h"
#include "trace/graph/lvn.h"
#include "trace/graph/region.h"
#include "trace/graph/state.h"

VarTable var_table;

/* ------------------------------------------------------------------ slots */

/* Have room in the list of makers for this many chunks. */
static bool grow_makers(uint32_t chunks)
{
    VarTable *t = &var_table;
    const uint32_t old = t->maker_capacity;
    TRY(vec_reserve(&t->makers, &t->maker_capacity, chunks * VAR_CHUNK,
                    sizeof(uint32_t)), false);
    memset(t->makers + old, 0, (t->maker_capacity - old) * sizeof(uint32_t));
    return true;
}

/* One more chunk, and room in the bitmaps for its slots. */
static bool add_chunk(void)
{
    VarTable *t = &var_table;
    if (t->chunk_count >= UINT32_MAX / VAR_CHUNK)
        return error_set(JIT_ERROR_MEMORY, "jit_var_new(): too many variables");
    TRY(vec_reserve(&t->chunks, &t->chunk_capacity, t->chunk_count + 1, sizeof(Var *)),
        false);
    uint32_t words = (t->chunk_count + 1) * (VAR_CHUNK / 64);
    for (int level = 0; level < VAR_LEVELS; ++level) {
        uint32_t old = t->free_words[level];
        uint32_t capacity = old;
        if (words > old) {
            TRY(vec_reserve(&t->free_bits[level], &capacity, words, sizeof(uint64_t)),
                false);
            memset(t->free_bits[level] + old, 0, (capacity - old) * sizeof(uint64_t));
            t->free_words[level] = capacity;
        }
        words = (words + 63) / 64;
    }
    TRY(!t->recordings || grow_makers(t->chunk_count + 1), false);
    Var *chunk = alloc_aligned(VAR_CHUNK * sizeof(Var));
    TRY(chunk, false);
    memset(chunk, 0, VAR_CHUNK * sizeof(Var));
    t->chunks[t->chunk_count++] = chunk;
    return true;
}

static void mark_free(VarId id)
{
    if (id / 64 < var_table.first_word)
        var_table.first_word = id / 64;
    for (int level = 0; level < VAR_LEVELS; ++level) {
        uint64_t *word = &var_table.free_bits[level][id / 64], before = *word;
        *word = before | (uint64_t) 1 << (id % 64);
        if (before)
            break;
        id /= 64;
    }
    var_table.free_count++;
}

/* The first word of level 0 with a bit set, found from the top. There is one. */
static uint32_t find_word(void)
{
    const VarTable *t = &var_table;
    uint32_t word = 0;
    while (!t->free_bits[VAR_LEVELS - 1][word])
        word++;
    for (int level = VAR_LEVELS - 1; level > 0; --level)
        word = word * 64 + (uint32_t) __builtin_ctzll(t->free_bits[level][word]);
    return word;
}

/* The lowest free slot; there is one. */
static VarId lowest_free(void)
{
    VarTable *t = &var_table;
    if (!t->free_bits[0][t->first_word])
        t->first_word = find_word();
    return t->first_word * 64 +
           (uint32_t) __builtin_ctzll(t->free_bits[0][t->first_word]);
}

void var_unmark_words(uint32_t word)
{
    for (int level = 1; level < VAR_LEVELS; ++level) {
        uint64_t *bits = &var_table.free_bits[level][word / 64];
        *bits &= ~((uint64_t) 1 << (word % 64));
        if (*bits)
            break;
        word /= 64;
    }
}

bool var_find_slot(bool reuse, VarId *id)
{
    VarTable *t = &var_table;
    if (reuse && t->free_count) {
        *id = lowest_free();
        return true;
    }
    if (t->end == 0)
        t->end = 1; /* index 0 means "none" */
    if (t->end >= t->chunk_count * VAR_CHUNK)
        TRY(add_chunk(), false);
    *id = t->end;
    return true;
}

void var_commit(VarId id)
{
    Var *v = var_get(id);
    var_take(id, v);
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    for (uint32_t i = 0; i < count; ++i)
        if (ids[i])
            var_inc(ids[i]);
    if (v->op == OP_POINTER && v->aux == 1)
        var_add_pending(var_get(v->dep[0]));
}

VarId var_create(const Var *proto, bool reuse)
{
    VarId id;
    Var *v = var_reserve(reuse, &id);
    TRY(v, 0);
    *v = *proto;
    var_commit(id);
    return id;
}

/* ------------------------------------------------------------------ makers
 *
 * What a variable had as its maker before it was freed may still be there when nobody
 * records: the next recording has another number. */

bool var_watch_begin(void)
{
    TRY(grow_makers(var_table.chunk_count ? var_table.chunk_count : 1), false);
    var_table.recordings++;
    return true;
}

void var_watch_end(void) { var_table.recordings--; }

void var_note_maker(VarId id)
{
    const ThreadState *ts = thread_self.state;
    var_table.makers[id] = ts ? ts->recording : 0;
}

/* ---------------------------------------------------------------- release */

static inline VarId drop(VarId id, VarId stack)
{
    Var *v = var_get(id);
    if (--v->refs)
        return stack;
    v->link = stack;
    return id;
}

/* Drop operands that are in the record; those that nobody else holds go on top of the
 * stack. */
static inline VarId drop_few(const Var *v, VarId stack)
{
    for (uint32_t i = 0; i < 4 && v->dep[i]; ++i)
        stack = drop(v->dep[i], stack);
    return stack;
}

/* The same for all that a variable has. */
static VarId drop_operands(VarId id, Var *v, VarId stack)
{
    if (v->op == OP_RESULT)
        region_forget_result(id, v);
    else if (v->op == OP_REGION)
        region_release(v);
    else if (pending_is(v))
        pending_forget(v);
    if (v->op == OP_POINTER && v->aux == 1)
        var_drop_pending(var_get(v->dep[0]));
    if (v->flags & VAR_WIDE) {
        const VarList *list = v->value.list;
        for (uint32_t i = 0; i < list->count; ++i)
            if (list->ids[i])
                stack = drop(list->ids[i], stack);
        alloc_free(v->value.list);
        return stack;
    }
    if (v->flags & VAR_OWN_TEXT)
        alloc_free((char *) v->value.text);
    return drop_few(v, stack);
}

/* The same for a variable that goes on as something else. */
static VarId detach_operands(VarId id, Var *v)
{
    VarId stack = drop_operands(id, v, 0);
    v->flags &= (uint8_t) ~(VAR_WIDE | VAR_OWN_TEXT);
    memset(v->dep, 0, sizeof(v->dep));
    return stack;
}

/* Free a variable that nobody holds any more; what only it held goes on top of the
 * stack. */
static inline __attribute__((always_inline)) VarId
release_one(VarId id, Var *v, VarId stack)
{
    if (v->flags & VAR_NUMBERED)
        lvn_remove(id);
    /* Arrays have no operands, and arithmetic has nothing else. */
    if (v->op == OP_EVALUATED)
        buffer_release(v->value.buffer);
    else
        stack = op_info[v->op].flags & F_FOLDS ? drop_few(v, stack)
                                               : drop_operands(id, v, stack);
    if (v->extra)
        extra_drop(id, v);
    v->op = OP_NONE;
    var_table.live--;
    mark_free(id);
    return stack;
}

static void release_stack(VarId stack)
{
    while (stack) {
        VarId id = stack;
        Var *v = var_get(id);
        stack = release_one(id, v, v->link);
    }
}

void var_release(VarId id)
{
    VarId stack = release_one(id, var_get(id), 0);
    if (stack)
        release_stack(stack);
}

void var_set_buffer(VarId id, Buffer *buffer)
{
    Var *v = var_get(id);
    if (v->flags & VAR_NUMBERED) {
        lvn_remove(id);
        v->flags &= (uint8_t) ~VAR_NUMBERED;
    }
    const uint32_t note = distance_note(id);
    VarId stack = detach_operands(id, v);
    v->op = OP_EVALUATED;
    v->aux = note;
    v->value.buffer = buffer;
    release_stack(stack);
}

void var_consume(VarId id)
{
    Var *v = var_get(id);
    VarId stack = detach_operands(id, v);
    v->op = OP_UNDEFINED;
    v->aux = 0;
    v->value.literal = 0;
    v->flags |= VAR_CONSUMED;
    release_stack(stack);
}

bool var_ids_add(VarIds *list, VarId id)
{
    TRY(vec_reserve(&list->ids, &list->capacity, list->count + 1, sizeof(VarId)),
        false);
    list->ids[list->count++] = id;
    return true;
}

bool var_ids_take(VarIds *list, VarId id)
{
    if (id && var_ids_add(list, id))
        return true;
    var_drop(id);
    return false;
}

void var_ids_drop(VarIds *list)
{
    for (uint32_t i = 0; i < list->count; ++i)
        var_drop(list->ids[i]);
    alloc_free(list->ids);
    *list = (VarIds){ 0 };
}

void var_table_free(void)
{
    VarTable *t = &var_table;
    if (t->live)
        return;
    pending_free();
    for (uint32_t i = 0; i < t->chunk_count; ++i)
        alloc_free(t->chunks[i]);
    alloc_free(t->chunks);
    alloc_free(t->makers);
    for (int level = 0; level < VAR_LEVELS; ++level)
        alloc_free(t->free_bits[level]);
    memset(t, 0, sizeof(*t));
}
