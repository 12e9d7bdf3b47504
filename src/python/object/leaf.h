/*
 * leaf.h -- what arrays of the just-in-time families hold; the core's functions on it
 *
 * A leaf is a variable of the core, in the lower half, and a node of the graph of
 * derivatives in the upper one (drjit-core/ad.h): 0 in the families without
 * derivatives, and where nothing is tracked. 0 is an empty array. All files but those
 * of control flow (region*) work with whole leaves, with the functions below, so that
 * an operation is differentiated where it is recorded.
 *
 * An array without entries that is tracked is a node and no variable: code that wants
 * the variable asks leaf_is_empty(). What is made of it is tracked without an edge,
 * since no gradient comes from there (leaf_none(), leaf_of_none()).
 *
 * What makes a leaf gives a new reference; 0 says that the core failed (its error is
 * set). Operands are borrowed.
 */
#ifndef PYTHON_LEAF_H
#define PYTHON_LEAF_H

#include "drjit-core/ad.h"
#include "python/object/type.h"

typedef uint64_t Leaf;

/** The variable. For leaf.* and for control flow, which handles nodes by itself. */
static inline uint32_t leaf_index(Leaf leaf)
{
    return (uint32_t) leaf;
}

/** The variable's number as users see it. */
static inline uint32_t leaf_name(Leaf leaf)
{
    return leaf_index(leaf);
}

/** The node, 0 if operations with it are not tracked. */
static inline uint32_t leaf_node(Leaf leaf)
{
    return (uint32_t) (leaf >> 32);
}

/** A variable (its reference moves) without a derivative: the only way to make a leaf.
 */
static inline Leaf leaf_of(uint32_t variable)
{
    return variable;
}

/** Has it no entries? */
static inline bool leaf_is_empty(Leaf leaf)
{
    return !leaf_index(leaf);
}

/** The leaf without its derivative (borrowed, as the leaf is). */
static inline Leaf leaf_detached(Leaf leaf)
{
    return leaf_of(leaf_index(leaf));
}

/* ---- tracking */

/** The variable of a leaf, whose reference moves, without the node. */
Leaf leaf_plain(Leaf leaf);

/** What n leaves, of which one is empty, give where there are no entries, as a leaf of
 *  this type: tracked if one of them is. False: the core's error is set. */
bool leaf_none(const TypeInfo *info, int n, const Leaf *from, Leaf *result);
/** The same for what has entries nevertheless, such as a sum; its reference moves, and
 *  0 stays 0. */
Leaf leaf_of_none(Leaf result, int n, const Leaf *from);

/* ---- references; 0 is accepted */

static inline Leaf leaf_ref(Leaf leaf)
{
    if (leaf_node(leaf))
        return ad_var_inc_ref(leaf);
    if (leaf)
        jit_var_inc_ref(leaf_index(leaf));
    return leaf;
}

/** For a copy of an array: in a scope that suspends the node, without it. */
static inline Leaf leaf_copied(Leaf leaf)
{
    return leaf_node(leaf) && !ad_grad_enabled(leaf) ? leaf_plain(leaf_ref(leaf))
                                                     : leaf_ref(leaf);
}

static inline void leaf_unref(Leaf leaf)
{
    if (leaf_node(leaf))
        ad_var_dec_ref(leaf);
    else if (leaf)
        jit_var_dec_ref(leaf_index(leaf));
}

/** The variable of one leaf (its reference moves) with the node of another: 0 stays
 *  0. */
Leaf leaf_with_node(uint32_t variable, Leaf like);

/* ---- questions */

static inline size_t leaf_size(Leaf leaf)
{
    return leaf_is_empty(leaf) ? 0 : jit_var_size(leaf_index(leaf));
}

/** The same for comparisons with other sizes, with 0 and 1: a frozen function that is
 *  being recorded does not depend on it. */
static inline size_t leaf_peek_size(Leaf leaf)
{
    return leaf_is_empty(leaf) ? 0 : jit_var_peek_size(leaf_index(leaf));
}

static inline VarState leaf_state(Leaf leaf)
{
    return jit_var_state(leaf_index(leaf));
}

/** The same for the library's own books: a frozen function that is being recorded does
 *  not read it. */
static inline VarState leaf_peek_state(Leaf leaf)
{
    return jit_var_peek_state(leaf_index(leaf));
}

/** Can work with its entries begin and end at once? */
static inline bool leaf_at_hand(Leaf leaf)
{
    return jit_var_at_hand(leaf_index(leaf));
}

JitBackend leaf_backend(Leaf leaf);
/** As leaf_peek_size(). False: the core's error is set. */
bool leaf_info(Leaf leaf, VarInfo *info);
/** The label, the line that recorded it; NULL: none. */
const char *leaf_label(Leaf leaf);
const char *leaf_location(Leaf leaf, uint32_t *line);

/* ---- new variables, of a type with this family and entry type */

static inline Leaf leaf_literal(const TypeInfo *info, const void *bits, size_t size)
{
    return leaf_of(jit_var_literal((JitBackend) info->backend, (VarType) info->entry,
                                   bits, size, 0));
}

/** The same with as many entries as a variable has. */
Leaf leaf_literal_like(const TypeInfo *info, const void *bits, Leaf like);
/** The next one has as many entries as a variable, also where it is repeated. False:
 *  the core's error is set. */
bool leaf_next_like(Leaf like);

/** A literal with 'size' entries, for the sake of these alone. */
Leaf leaf_entries(JitBackend backend, size_t size);

/** A literal with one entry of a type that a formula works with. */
Leaf leaf_constant(JitBackend backend, VarType type, const void *bits);

/** The number of entries of a variable, in memory. */
Leaf leaf_opaque_width(Leaf leaf);
/** A literal in memory: it is not part of the programs that use it. */
Leaf leaf_opaque(const TypeInfo *info, const void *bits, size_t size);
/** A copy of entries in memory. */
Leaf leaf_copy(const TypeInfo *info, const void *entries, size_t size);
/** Entries in memory of somebody else, which is not written to; 'release' as
 *  jit_var_mem_share() calls it. */
Leaf leaf_share(const TypeInfo *info, void *entries, size_t size,
                void (*release)(void *entries, void *payload), void *payload);
/** The same, and it is written to: as jit_var_mem_map_release(). */
Leaf leaf_map(const TypeInfo *info, void *entries, size_t size,
              void (*release)(void *entries, void *payload), void *payload);
/** Does anything else refer to the variable? A write would copy it. */
static inline bool leaf_is_shared(Leaf leaf)
{
    return jit_var_ref(leaf_index(leaf)) > 1;
}
/** Entries that are about to be written. */
Leaf leaf_undefined(const TypeInfo *info, size_t size);
/** 0, 1, 2, ... as 32 bit integers without sign; one integer. */
Leaf leaf_counter(JitBackend backend, size_t size);
Leaf leaf_u32(JitBackend backend, uint32_t value);
Leaf leaf_i32(JitBackend backend, int32_t value);

/* ---- arithmetic */

/** An operation with n operands. */
static inline Leaf leaf_op(JitOp op, int n, const Leaf *operands)
{
    uint32_t in[3] = { 0 }, nodes = 0;
    for (int i = 0; i < n; i++) {
        in[i] = leaf_index(operands[i]);
        nodes |= leaf_node(operands[i]);
    }
    return nodes ? ad_var_op(op, operands) : leaf_of(jit_var_op(op, in));
}

/** An operation with two operands, one of them a number of the type 'info', in its
 *  bits. */
static inline Leaf leaf_op_number(JitOp op, const TypeInfo *info, Leaf a, uint64_t bits,
                                  bool number_first)
{
    if (!leaf_node(a))
        return leaf_of(jit_var_op_number(op, leaf_index(a), bits, number_first));
    const Leaf number = leaf_literal(info, &bits, 1);
    const Leaf result = number ? ad_var_op(op, number_first ? (Leaf[]) { number, a }
                                                            : (Leaf[]) { a, number })
                               : 0;
    leaf_unref(number);
    return result;
}

/* The operators of Python have functions of their own: they are called directly. */
#define LEAF_TRACKED(name, op)                                        \
    static inline Leaf leaf_##name(Leaf a, Leaf b)                    \
    {                                                                 \
        if (leaf_node(a | b))                                         \
            return ad_var_op(op, (Leaf[]) { a, b });                  \
        return leaf_of(jit_var_##name(leaf_index(a), leaf_index(b))); \
    }
LEAF_TRACKED(add, JitOpAdd)
LEAF_TRACKED(sub, JitOpSub)
LEAF_TRACKED(mul, JitOpMul)
LEAF_TRACKED(div, JitOpDiv)
LEAF_TRACKED(and, JitOpAnd) /* of a float and a mask */
#undef LEAF_TRACKED

/* Their results have no derivatives. */
#define LEAF_PLAIN(name)                                              \
    static inline Leaf leaf_##name(Leaf a, Leaf b)                    \
    {                                                                 \
        return leaf_of(jit_var_##name(leaf_index(a), leaf_index(b))); \
    }
LEAF_PLAIN(mod)
LEAF_PLAIN(or)
LEAF_PLAIN(xor)
LEAF_PLAIN(shl)
LEAF_PLAIN(shr)
LEAF_PLAIN(lt)
LEAF_PLAIN(le)
LEAF_PLAIN(gt)
LEAF_PLAIN(ge)
LEAF_PLAIN(eq)
LEAF_PLAIN(neq)
#undef LEAF_PLAIN

static inline Leaf leaf_fma(Leaf a, Leaf b, Leaf c)
{
    return leaf_op(JitOpFma, 3, (Leaf[]) { a, b, c });
}

static inline Leaf leaf_select(Leaf mask, Leaf a, Leaf b)
{
    return leaf_op(JitOpSelect, 3, (Leaf[]) { mask, a, b });
}

Leaf leaf_not(Leaf a);
/** With another entry type: converted, or the same bits. */
Leaf leaf_cast(Leaf a, VarType type);
Leaf leaf_reinterpret(Leaf a, VarType type);

/* ---- masks */

/** An operation on a whole array sets the mask of a body that runs at once aside: it is
 *  about the body's lanes, which may happen to be as many. (In a body that is recorded,
 *  a mask that is true changes nothing.) The functions below that are not told a mask
 *  do it themselves. */
typedef struct Whole {
    JitBackend masked; /* whose mask is set aside, JitBackendNone: there is none */
    bool ok;           /* false: the core's error is set, nothing is to be ended */
} Whole;
Whole leaf_whole_begin(Leaf array);
void leaf_whole_end(Whole whole);

/* ---- sizes */

/** One entry, as often as needed; the first entries; all of them, one after the other;
 *  each of them that often. */
Leaf leaf_resize(Leaf a, size_t size);
Leaf leaf_shrink(Leaf a, size_t size);
Leaf leaf_tile(Leaf a, size_t count);
Leaf leaf_repeat(Leaf a, size_t count);
/** See ad_var_broadcast(). */
Leaf leaf_broadcast(Leaf source, Leaf position, size_t inner);

/* ---- memory; a mask 0 is one that is set everywhere */

/** 'mode' is how its reverse derivative is scattered. */
Leaf leaf_gather(Leaf source, Leaf position, Leaf mask, ReduceMode mode);
/** n variables, from n neighbours each. */
bool leaf_gather_packet(size_t n, Leaf source, Leaf position, Leaf mask,
                        ReduceMode mode, Leaf *out);
/** The same for a whole array, from positions that are valid. */
Leaf leaf_gather_whole(Leaf source, Leaf position);
/** See ad_var_matvec(). */
bool leaf_matvec(Leaf array, const JitMatrix *matrix, const Leaf *x, Leaf bias,
                 size_t first, Leaf gradient, Leaf *out);
/** The variable that 'target' becomes. */
Leaf leaf_scatter(Leaf target, Leaf value, Leaf position, Leaf mask, ReduceOp op,
                  ReduceMode mode);
Leaf leaf_scatter_packet(size_t n, Leaf target, const Leaf *values, Leaf position,
                         Leaf mask, ReduceOp op, ReduceMode mode);
/** The same for a whole array, to positions that are valid. */
Leaf leaf_scatter_whole(Leaf target, Leaf value, Leaf position, ReduceOp op,
                        ReduceMode mode);
/** These replace '*target' and give what was there. */
Leaf leaf_scatter_inc(Leaf *target, Leaf position, Leaf mask);
Leaf leaf_scatter_exchange(Leaf *target, Leaf value, Leaf position, Leaf mask);
bool leaf_scatter_cas(Leaf *target, Leaf compare, Leaf value, Leaf position, Leaf mask,
                      Leaf out[2]);
bool leaf_scatter_add_kahan(Leaf *target_1, Leaf *target_2, Leaf value, Leaf position,
                            Leaf mask);
/** One entry, from memory. */
Leaf leaf_write(Leaf target, size_t offset, const void *entry);

/* ---- reductions and the like. They may wait: see evaluate_call() */

Leaf leaf_reduce(Leaf a, ReduceOp op);
Leaf leaf_reduce_dot(Leaf a, Leaf b);
Leaf leaf_block_reduce(ReduceOp op, Leaf a, size_t block);
/** 'position', which derivatives need: as ad_var_axis_reduce(). */
Leaf leaf_axis_reduce(ReduceOp op, Leaf a, const JitAxis *axis, Leaf position);
Leaf leaf_block_prefix_reduce(ReduceOp op, Leaf a, size_t block, bool exclusive,
                              bool reverse);
Leaf leaf_axis_prefix_reduce(ReduceOp op, Leaf a, const JitAxis *axis, bool exclusive,
                             bool reverse);
Leaf leaf_transpose(Leaf a, const JitTranspose *axes);
Leaf leaf_any(Leaf mask);
/** 'spare' references are of somebody who does not need the mask's entries. */
Leaf leaf_compress(Leaf mask, uint32_t spare);
Leaf leaf_sort(Leaf a, size_t block, bool descending);
Leaf leaf_argsort(Leaf a, size_t block, bool descending);
Leaf leaf_gemm(Leaf a, Leaf b, const JitGemm *shape);

/* ---- evaluation, in a function called by evaluate_call() if it may wait */

/** To be computed by the next kernel. False: there is nothing to compute. */
bool leaf_schedule(Leaf leaf);
/** The same for literals too, which get memory: the variable that has it. */
Leaf leaf_schedule_force(Leaf leaf, int *scheduled);
/** Compute it now. False: nothing to compute, or the core failed (its error is set). */
bool leaf_eval(Leaf leaf);
/** Queued writes into it. False: the core's error is set. */
bool leaf_eval_writes(Leaf leaf);
/** One entry. False: the core's error is set. */
bool leaf_read(Leaf leaf, size_t offset, void *entry);
/** The variable in memory and the address of its first entry, on its device. */
Leaf leaf_data(Leaf leaf, void **data);
/** The same entries on the device of a backend; the leaf itself if they are there. The
 *  result has no derivative. */
Leaf leaf_migrate(Leaf leaf, JitBackend backend);
/** As leaf_data(), lent to somebody who writes to it (jit_var_lend()). */
Leaf leaf_lend(Leaf leaf, uint32_t own, void **data);
void leaf_gather_whole_back(Leaf leaf);
/** The variable with that name. */
Leaf leaf_labelled(Leaf leaf, const char *label);

#endif
