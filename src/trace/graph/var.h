/*
 * var.h -- variables: the nodes of the trace
 *
 * A variable is 64 bytes in a chunked table, so pointers stay valid while the table
 * grows. The index names it; freed slots are reused lowest first. A variable is either
 *
 *     a literal           op LITERAL     value.literal holds the bits
 *     in memory           op EVALUATED   value.buffer holds the entries
 *     an operation        dep[] names its operands, each holding a reference
 *
 * Operands are read through var_operands() only: nodes with more than four keep them in
 * a list of their own.
 *
 * Everything in this file requires the graph lock (state.h).
 */
#ifndef TRACE_GRAPH_VAR_H
#define TRACE_GRAPH_VAR_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/buffer.h"
#include "device/device.h"
#include "ir/op.h"
#include "ir/type.h"

typedef uint32_t VarId; /* 0 = none */

enum {
    VAR_WIDE = 1,     /* operands are in value.list */
    VAR_NUMBERED = 2, /* in the value numbering table */
    VAR_CONSUMED = 4, /* result of an atomic that ran in an earlier kernel: gone */
    VAR_OWN_TEXT = 8, /* STMT: value.text is ours */
    VAR_SYMBOLIC = 16, /* depends on a placeholder of a body (record.h) */
    VAR_RUNNING = 32,  /* an effect of the group that is being built; while the list of
                          scheduled variables is looked through: one that is in it */
    VAR_POISONED = 64, /* a write to this array failed: its content is wrong */
    VAR_LOCAL = 128,   /* version of an array in local memory (local.h) */
    VAR_UNUSABLE = VAR_CONSUMED | VAR_POISONED | VAR_LOCAL
};

/** Operand list of a wide node. */
typedef struct VarList {
    uint32_t count;
    VarId ids[];
} VarList;

typedef struct Var {
    uint32_t refs;    /* by callers, by other variables, by queues */
    uint32_t own_lanes; /* see var_lanes(); 0 only for an empty evaluated array */
    union {
        struct {
            uint8_t op;       /* Op */
            uint8_t type;     /* VarType */
            uint8_t device;   /* Device.index, see var_device() */
            uint8_t flags;    /* VAR_... */
            /** As Inst.aux; POINTER: 1 = of a queued write, 2 = written by the caller's
             *  own statements; STMT: number of operands; EVALUATED: see distance.h. */
            uint32_t aux;
        };
        uint64_t head;        /* the same as one word, see var_head() */
    };
    union {
        VarId dep[4];
        uint64_t dep_pair[2]; /* dep[0] in the low half of the first, and so on; of a
                                 LITERAL, which has none: 0, and ThreadState.recording
                                 of its maker */
        struct TraceRegion *region; /* REGION, which is wide (region.h) */
    };
    union {
        uint64_t
            literal; /* LITERAL, and the bound of a CHECK, the address of a POINTER;
                        placeholders and RESULT: see region.h */
        Buffer *buffer;    /* EVALUATED, one reference (NULL if there are none) */
        const char *text;  /* STMT */
        VarList *list;     /* VAR_WIDE */
    } value;
    uint32_t hash;     /* in the value numbering table */
    VarId same_hash;   /* VAR_NUMBERED: next in the chain of the numbering table */
    uint32_t pending;  /* queued writes into this array; each holds one reference */
    uint32_t scope;    /* value numbering does not cross scopes */
    uint32_t extra;    /* record in extra.h: label, callback, location; 0 = none */
    VarId link;        /* next in a list that one function makes and empties */
} Var;

static_assert(sizeof(Var) == 64, "a variable is one cache line");

#define VAR_CHUNK_BITS 10
#define VAR_LEVELS 4
#define VAR_CHUNK (1u << VAR_CHUNK_BITS)

/** The table. */
typedef struct VarTable {
    Var **chunks;
    uint32_t chunk_count, chunk_capacity;
    uint32_t end;          /* slots ever used: ids below this are in chunks */
    uint32_t live, peak;   /* live variables now, most ever */
    uint64_t created;
    _Atomic uint32_t pending; /* of all variables together; read without the lock */
    uint64_t
        *free_bits[VAR_LEVELS]; /* level 0: one bit a free slot; above: one bit for each
                                        word of the level below that is not 0 */
    uint32_t free_words[VAR_LEVELS];
    uint32_t free_count;
    uint32_t first_word;   /* no word of level 0 before this one has a bit set */
    uint32_t recordings;   /* functions that threads are recording; while there are any,
                              it is noted who makes a variable: */
    uint32_t *makers;      /* by variable, see var_maker() */
    uint32_t maker_capacity;
} VarTable;

extern VarTable var_table;

/** The record of a valid id. */
static inline Var *var_get(VarId id)
{
    return var_table.chunks[id >> VAR_CHUNK_BITS] + (id & (VAR_CHUNK - 1));
}
/** How many entries a variable has, to be compared with those of others, with 0 and 1,
 *  and given to new variables. Code that computes with it, or reports it, needs a
 *  number: node_number(). */
static inline uint32_t var_lanes(const Var *v) { return v->own_lanes; }
static inline uint32_t var_lanes_of(VarId id) { return var_lanes(var_get(id)); }
/** The same as a number, for those who say which term of a recording it is: what they
 *  compute from it is another one (docs/dev/freezing.md). */
static inline uint32_t var_entries(const Var *v) { return v->own_lanes; }
/** Bytes of these in memory. */
static inline size_t var_bytes(const Var *v)
{
    return (size_t) v->own_lanes * type_info[v->type].size;
}
/** Where it is, or will be computed. */
static inline Device *var_device(const Var *v) { return device_at(v->device); }
/** Is this the id of a live variable? */
static inline bool var_exists(VarId id)
{
    return id != 0 && id < var_table.end && var_get(id)->refs != 0;
}

/* New nodes are written in place and in whole words: reading back words that were
 * written in parts, or copying a struct made of small fields, stalls the CPU on every
 * traced operation. */
enum { VAR_KIND = 0xffffff }; /* operation, type and device in a head */
static inline uint64_t var_head(Op op, VarType type, uint32_t device, uint32_t aux)
{
    return (uint64_t) op | (uint64_t) type << 8 | (uint64_t) device << 16 |
           (uint64_t) aux << 32;
}
static inline uint64_t var_pair(VarId a, VarId b) { return a | (uint64_t) b << 32; }
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "words of Var are little-endian");

bool var_find_slot(bool reuse, VarId *id);
void var_note_maker(VarId id);
void var_unmark_words(uint32_t word);

/** The slot that the next variable gets, zeroed but not taken. 'reuse': the lowest free
 *  slot, else one never used. NULL if out of memory. */
static inline Var *var_reserve(bool reuse, VarId *id)
{
    const VarTable *t = &var_table;
    uint64_t word = reuse && t->free_count ? t->free_bits[0][t->first_word] : 0;
    if (word)
        *id = t->first_word * 64 + (uint32_t) __builtin_ctzll(word);
    else if (!var_find_slot(reuse, id))
        return NULL;
    Var *v = var_get(*id);
    memset(v, 0, sizeof(*v));
    return v;
}

/** Take that slot, with one reference. References to the operands are up to the
 *  caller. */
static inline void var_take(VarId id, Var *v)
{
    VarTable *t = &var_table;
    if (id == t->end) {
        t->end++;
    } else {
        uint64_t *word = &t->free_bits[0][id / 64];
        *word &= ~((uint64_t) 1 << (id % 64));
        t->free_count--;
        if (!*word)
            var_unmark_words(id / 64);
    }
    if (t->recordings)
        var_note_maker(id);
    v->refs = 1;
    t->created++;
    if (++t->live > t->peak)
        t->peak = t->live;
}

/** Take that slot, filled in by now: one reference, operands gain a reference each. */
void var_commit(VarId id);
/** A fresh slot for a copy of '*proto' with one reference; operands gain a reference
 *  each. 'reuse': take the lowest free slot, else one never used. 0 if out of
 *  memory. */
VarId var_create(const Var *proto, bool reuse);
static inline void var_inc(VarId id) { var_get(id)->refs++; }
void var_release(VarId id);
/** Drop a reference; frees the variable and, iteratively, what only it held. */
static inline void var_dec(VarId id)
{
    if (--var_get(id)->refs == 0)
        var_release(id);
}
/** The same if there is a variable. */
static inline void var_drop(VarId id)
{
    if (id)
        var_dec(id);
}
/** ... and forget it. */
static inline void var_clear(VarId *id)
{
    var_drop(*id);
    *id = 0;
}
/** Are these literals with the same value? */
static inline bool var_same_literal(VarId a, VarId b)
{
    const Var *x = var_get(a), *y = var_get(b);
    return x->op == OP_LITERAL && y->op == OP_LITERAL &&
           x->value.literal == y->value.literal;
}

/** A thread begins to record a function: from now on it is known who makes variables.
 *  False: out of memory. */
bool var_watch_begin(void);
void var_watch_end(void);
/** ThreadState.recording of the thread that has made a variable, when it made it; 0 for
 *  what no recording under way has made. Only while a function is recorded. */
static inline uint32_t var_maker(VarId id) { return var_table.makers[id]; }

/** Give an unevaluated variable its memory (the reference is taken over). */
void var_set_buffer(VarId id, Buffer *buffer);
/** Replace the operands of an executed atomic whose value nobody stored. */
void var_consume(VarId id);

/** Queued writes into a variable; only arrays have any. */
static inline uint32_t var_pending(const Var *v) { return v->pending; }
static inline void var_add_pending(Var *v)
{
    v->pending++;
    atomic_fetch_add_explicit(&var_table.pending, 1, memory_order_relaxed);
}
static inline void var_drop_pending(Var *v)
{
    v->pending--;
    atomic_fetch_sub_explicit(&var_table.pending, 1, memory_order_relaxed);
}

/** Number of operands and where they are. */
static inline const VarId *var_operands(const Var *v, uint32_t *count)
{
    if (v->flags & VAR_WIDE) {
        *count = v->value.list->count;
        return v->value.list->ids;
    }
    *count = v->op == OP_STMT     ? v->aux
             : v->op == OP_RESULT ? 1
                                  : op_info[v->op].arity;
    return v->dep;
}

/** A list of variables. */
typedef struct VarIds {
    VarId *ids;
    uint32_t count, capacity;
} VarIds;

/** Append a variable. False: out of memory. */
bool var_ids_add(VarIds *list, VarId id);
/** The same for a list that holds references: it takes this one over, which is dropped
 *  if out of memory. False also for 0. */
bool var_ids_take(VarIds *list, VarId id);
/** Empty a list that holds references; 0 stands for nothing. */
void var_ids_drop(VarIds *list);

/** Release the table if no variable is left. */
void var_table_free(void);

#endif
