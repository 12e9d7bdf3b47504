/*
 * var.h -- what arrays of the just-in-time families hold; the core's functions on it
 *
 * A VarIndex is the index of a variable of the core, in the lower half, and that of a
 * node of the graph of derivatives in the upper half (drjit-core/ad.h): 0 in the
 * families without derivatives, and where nothing is tracked. 0 is an empty array. All
 * files but those of control flow work with both halves, through the functions below,
 * so that an operation is differentiated where it is recorded.
 *
 * An array without entries that is tracked is a node and no variable: code that wants
 * the variable asks var_is_empty(). What is made of it is tracked without an edge,
 * since no gradient comes from there (var_none(), var_of_none()).
 *
 * Functions that make a variable return a new reference; 0 says that the core failed
 * (its error is set). Operands are borrowed.
 */
#ifndef PYTHON_VAR_H
#define PYTHON_VAR_H

#include "drjit-core/ad.h"
#include "python/type/type.h"

typedef uint64_t VarIndex;

/** The core's variable. For var.* and for control flow, which handles nodes itself. */
static inline uint32_t var_jit(VarIndex var)
{
    return (uint32_t) var;
}

/** The variable's number as users see it. */
static inline uint32_t var_number(VarIndex var)
{
    return var_jit(var);
}

/** The node, 0 if operations with it are not tracked. */
static inline uint32_t var_node(VarIndex var)
{
    return (uint32_t) (var >> 32);
}

/** The core's variable (its reference moves) without a derivative: the only way to make
 *  a VarIndex. */
static inline VarIndex var_of(uint32_t variable)
{
    return variable;
}

/** Has it no entries? */
static inline bool var_is_empty(VarIndex var)
{
    return !var_jit(var);
}

/** The variable without its derivative (borrowed, as the variable is). */
static inline VarIndex var_detached(VarIndex var)
{
    return var_of(var_jit(var));
}

/* ---- tracking */

/** The variable, whose reference moves, without the node. */
VarIndex var_plain(VarIndex var);

/** The result of an operation on n variables, of which one is empty, where there are no
 *  entries, as a variable of this type: tracked if one of them is. False: the core's
 *  error is set. */
bool var_none(const TypeInfo *info, int n, const VarIndex *from, VarIndex *result);
/** The same for what has entries nevertheless, such as a sum; its reference moves, and
 *  0 stays 0. */
VarIndex var_of_none(VarIndex result, int n, const VarIndex *from);

/* ---- references; 0 is accepted */

static inline VarIndex var_ref(VarIndex var)
{
    if (var_node(var))
        return ad_var_inc_ref(var);
    if (var)
        jit_var_inc_ref(var_jit(var));
    return var;
}

/** For a copy of an array: in a scope that suspends the node, without it. */
static inline VarIndex var_copied(VarIndex var)
{
    return var_node(var) && !ad_grad_enabled(var) ? var_plain(var_ref(var))
                                                     : var_ref(var);
}

static inline void var_unref(VarIndex var)
{
    if (var_node(var))
        ad_var_dec_ref(var);
    else if (var)
        jit_var_dec_ref(var_jit(var));
}

/** The variable of one variable (its reference moves) with the node of another: 0 stays
 *  0. */
VarIndex var_with_node(uint32_t variable, VarIndex like);

/* ---- questions */

static inline size_t var_size(VarIndex var)
{
    return var_is_empty(var) ? 0 : jit_var_size(var_jit(var));
}

/** The same for comparisons with other sizes, with 0 and 1: a frozen function that is
 *  being recorded does not depend on it. */
static inline size_t var_peek_size(VarIndex var)
{
    return var_is_empty(var) ? 0 : jit_var_peek_size(var_jit(var));
}

static inline VarState var_state(VarIndex var)
{
    return jit_var_state(var_jit(var));
}

/** The same for the library's own books: a frozen function that is being recorded does
 *  not read it. */
static inline VarState var_peek_state(VarIndex var)
{
    return jit_var_peek_state(var_jit(var));
}

/** Can work with its entries begin and end at once? */
static inline bool var_at_hand(VarIndex var)
{
    return jit_var_at_hand(var_jit(var));
}

JitBackend var_backend(VarIndex var);
/** As var_peek_size(). False: the core's error is set. */
bool var_info(VarIndex var, VarInfo *info);
/** The label, the line that recorded it; NULL: none. */
const char *var_label(VarIndex var);
const char *var_location(VarIndex var, uint32_t *line);
/** Where two variables were made, which debug mode knows, for the end of a message:
 *  "; the first was made at program.py:2, the second at program.py:3". Else ''. */
enum { VAR_PLACES = 200 };
void var_places(VarIndex first, VarIndex second, char text[VAR_PLACES]);
/** The same for one: "; it was made at program.py:2". */
void var_place(VarIndex var, char text[VAR_PLACES]);

/* ---- new variables, of a type with this family and entry type */

static inline VarIndex var_literal(const TypeInfo *info, const void *bits, size_t size)
{
    return var_of(jit_var_literal((JitBackend) info->backend, (VarType) info->entry,
                                  bits, size, 0));
}

/** The same with as many entries as a variable has. */
VarIndex var_literal_like(const TypeInfo *info, const void *bits, VarIndex like);
/** The next one has as many entries as a variable, also where it is repeated. False:
 *  the core's error is set. */
bool var_next_like(VarIndex like);

/** A literal with 'size' entries, for the sake of these alone. */
VarIndex var_of_size(JitBackend backend, size_t size);

/** A literal with one entry of a type that a formula works with. */
VarIndex var_constant(JitBackend backend, VarType type, const void *bits);

/** The number of entries of a variable, in memory. */
VarIndex var_opaque_width(VarIndex var);
/** A literal in memory: it is not part of the programs that use it. */
VarIndex var_opaque(const TypeInfo *info, const void *bits, size_t size);
/** A copy of entries in memory. */
VarIndex var_copy(const TypeInfo *info, const void *entries, size_t size);
/** Entries in memory of somebody else, which is not written to; 'release' as
 *  jit_var_mem_share() calls it. */
VarIndex var_share(const TypeInfo *info, void *entries, size_t size,
                   void (*release)(void *entries, void *payload), void *payload);
/** The same, and it is written to: as jit_var_mem_map_release(). */
VarIndex var_map(const TypeInfo *info, void *entries, size_t size,
                 void (*release)(void *entries, void *payload), void *payload);
/** Does anything else refer to the variable? A write would copy it. */
static inline bool var_is_shared(VarIndex var)
{
    return jit_var_ref(var_jit(var)) > 1;
}
/** Entries that are about to be written. */
VarIndex var_undefined(const TypeInfo *info, size_t size);
/** 0, 1, 2, ... as 32 bit integers without sign; one integer. */
VarIndex var_counter(JitBackend backend, size_t size);
VarIndex var_u32(JitBackend backend, uint32_t value);
VarIndex var_i32(JitBackend backend, int32_t value);

/* ---- arithmetic */

/** An operation with n operands. */
static inline VarIndex var_op(JitOp op, int n, const VarIndex *operands)
{
    uint32_t in[3] = { 0 }, nodes = 0;
    for (int i = 0; i < n; i++) {
        in[i] = var_jit(operands[i]);
        nodes |= var_node(operands[i]);
    }
    return nodes ? ad_var_op(op, operands) : var_of(jit_var_op(op, in));
}

/** An operation with two operands, one of them a number of the type 'info', in its
 *  bits. */
static inline VarIndex var_op_number(JitOp op, const TypeInfo *info, VarIndex a,
                                     uint64_t bits, bool number_first)
{
    if (!var_node(a))
        return var_of(jit_var_op_number(op, var_jit(a), bits, number_first));
    const VarIndex number = var_literal(info, &bits, 1);
    const VarIndex result =
        number ? ad_var_op(op, number_first ? (VarIndex[]){ number, a }
                                            : (VarIndex[]){ a, number })
               : 0;
    var_unref(number);
    return result;
}

/* The operators of Python have functions of their own: they are called directly. */
#define VAR_TRACKED(name, op)                                        \
    static inline VarIndex var_##name(VarIndex a, VarIndex b)                    \
    {                                                                 \
        if (var_node(a | b))                                         \
            return ad_var_op(op, (VarIndex[]) { a, b });                  \
        return var_of(jit_var_##name(var_jit(a), var_jit(b))); \
    }
VAR_TRACKED(add, JitOpAdd)
VAR_TRACKED(sub, JitOpSub)
VAR_TRACKED(mul, JitOpMul)
VAR_TRACKED(div, JitOpDiv)
VAR_TRACKED(and, JitOpAnd) /* of a float and a mask */
#undef VAR_TRACKED

/* Their results have no derivatives. */
#define VAR_PLAIN(name)                                              \
    static inline VarIndex var_##name(VarIndex a, VarIndex b)                    \
    {                                                                 \
        return var_of(jit_var_##name(var_jit(a), var_jit(b))); \
    }
VAR_PLAIN(mod)
VAR_PLAIN(or)
VAR_PLAIN(xor)
VAR_PLAIN(shl)
VAR_PLAIN(shr)
VAR_PLAIN(lt)
VAR_PLAIN(le)
VAR_PLAIN(gt)
VAR_PLAIN(ge)
VAR_PLAIN(eq)
VAR_PLAIN(neq)
#undef VAR_PLAIN

static inline VarIndex var_fma(VarIndex a, VarIndex b, VarIndex c)
{
    return var_op(JitOpFma, 3, (VarIndex[]) { a, b, c });
}

static inline VarIndex var_select(VarIndex mask, VarIndex a, VarIndex b)
{
    return var_op(JitOpSelect, 3, (VarIndex[]) { mask, a, b });
}

VarIndex var_not(VarIndex a);
/** With another entry type: converted, or the same bits. */
VarIndex var_cast(VarIndex a, VarType type);
VarIndex var_reinterpret(VarIndex a, VarType type);

/* ---- masks */

/** An operation on a whole array sets the mask of a body that runs at once aside: it is
 *  about the body's lanes, which may happen to be as many. (In a body that is recorded,
 *  a mask that is true changes nothing.) The functions below that are not told a mask
 *  do it themselves. */
typedef struct Whole {
    JitBackend masked; /* whose mask is set aside, JitBackendNone: there is none */
    bool ok;           /* false: the core's error is set, nothing is to be ended */
} Whole;
Whole var_whole_begin(VarIndex array);
void var_whole_end(Whole whole);

/* ---- sizes */

/** One entry, as often as needed; the first entries; all of them, one after the other;
 *  each of them that often. */
VarIndex var_resize(VarIndex a, size_t size);
VarIndex var_shrink(VarIndex a, size_t size);
VarIndex var_tile(VarIndex a, size_t count);
VarIndex var_repeat(VarIndex a, size_t count);
/** See ad_var_broadcast(). */
VarIndex var_broadcast(VarIndex source, VarIndex index, size_t inner);

/* ---- memory; a mask 0 is one that is set everywhere */

/** 'mode' is how its reverse derivative is scattered. */
VarIndex var_gather(VarIndex source, VarIndex index, VarIndex mask, ReduceMode mode);
/** n variables, from n neighbours each. */
bool var_gather_packet(size_t n, VarIndex source, VarIndex index, VarIndex mask,
                       ReduceMode mode, VarIndex *out);
/** The same for a whole array, from indices that are valid. */
VarIndex var_gather_whole(VarIndex source, VarIndex index);
/** See ad_var_matvec(). */
bool var_matvec(VarIndex array, const JitMatrix *matrix, const VarIndex *x,
                VarIndex bias, size_t first, VarIndex gradient, VarIndex *out);
/** The variable that 'target' becomes. */
VarIndex var_scatter(VarIndex target, VarIndex value, VarIndex index, VarIndex mask,
                     ReduceOp op, ReduceMode mode);
VarIndex var_scatter_packet(size_t n, VarIndex target, const VarIndex *values,
                            VarIndex index, VarIndex mask, ReduceOp op,
                            ReduceMode mode);
/** The same for a whole array, to indices that are valid. */
VarIndex var_scatter_whole(VarIndex target, VarIndex value, VarIndex index,
                           ReduceOp op, ReduceMode mode);
/** These replace '*target' and give what was there. */
VarIndex var_scatter_inc(VarIndex *target, VarIndex index, VarIndex mask);
VarIndex var_scatter_exchange(VarIndex *target, VarIndex value, VarIndex index,
                              VarIndex mask);
bool var_scatter_cas(VarIndex *target, VarIndex compare, VarIndex value,
                     VarIndex index, VarIndex mask, VarIndex out[2]);
bool var_scatter_add_kahan(VarIndex *target_1, VarIndex *target_2, VarIndex value,
                           VarIndex index, VarIndex mask);
/** One entry, from memory. */
VarIndex var_write(VarIndex target, size_t offset, const void *entry);

/* ---- reductions and the like. They may wait: see evaluate_call() */

VarIndex var_reduce(VarIndex a, ReduceOp op);
VarIndex var_reduce_dot(VarIndex a, VarIndex b);
VarIndex var_block_reduce(ReduceOp op, VarIndex a, size_t block);
/** 'index', which derivatives need: as ad_var_axis_reduce(). */
VarIndex var_axis_reduce(ReduceOp op, VarIndex a, const JitAxis *axis,
                         VarIndex index);
VarIndex var_block_prefix_reduce(ReduceOp op, VarIndex a, size_t block, bool exclusive,
                                 bool reverse);
VarIndex var_axis_prefix_reduce(ReduceOp op, VarIndex a, const JitAxis *axis,
                                bool exclusive, bool reverse);
VarIndex var_transpose(VarIndex a, const JitTranspose *axes);
VarIndex var_any(VarIndex mask);
/** 'spare' references are of somebody who does not need the mask's entries. */
VarIndex var_compress(VarIndex mask, uint32_t spare);
VarIndex var_sort(VarIndex a, size_t block, bool descending);
VarIndex var_argsort(VarIndex a, size_t block, bool descending);
VarIndex var_gemm(VarIndex a, VarIndex b, const JitGemm *shape);

/* ---- evaluation, in a function called by evaluate_call() if it may wait */

/** To be computed by the next kernel. False: there is nothing to compute. */
bool var_schedule(VarIndex leaf);
/** The same for literals too, which get memory: the variable that has it. */
VarIndex var_schedule_force(VarIndex leaf, int *scheduled);
/** Compute it now. False: nothing to compute, or the core failed (its error is set). */
bool var_eval(VarIndex leaf);
/** Queued writes into it. False: the core's error is set. */
bool var_eval_writes(VarIndex leaf);
/** One entry. False: the core's error is set. */
bool var_read(VarIndex leaf, size_t offset, void *entry);
/** The variable in memory and the address of its first entry, on its device. */
VarIndex var_data(VarIndex leaf, void **data);
/** The same entries on the device of a backend; the leaf itself if they are there. The
 *  result has no derivative. */
VarIndex var_migrate(VarIndex leaf, JitBackend backend);
/** As var_data(), lent to somebody who writes to it (jit_var_lend()). */
VarIndex var_lend(VarIndex leaf, uint32_t own, void **data);
void var_gather_whole_back(VarIndex leaf);
/** The variable with that name. */
VarIndex var_labelled(VarIndex leaf, const char *label);

#endif
