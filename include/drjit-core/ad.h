/*
 * drjit-core/ad.h -- derivatives of what is traced (C99, usable from C++)
 *
 * A graph, separate from the trace, says how results depend on what they were computed
 * from. A *tracked* variable is 64 bits: its node in that graph in the upper half, the
 * variable of jit.h in the lower one. With an upper half of 0 it is a plain variable,
 * so every function here takes either; those that have a plain result from plain
 * operands cost what the function of jit.h costs.
 *
 *      uint64_t x = ad_var_track(jit_var_mem_copy(...));  derivatives with respect to x
 *      uint64_t y = ad_var_mul(x, x);
 *      ad_set_grad(y, one);                                the loss: dy/dy
 *      ad_enqueue(ADModeBackward, y);
 *      ad_traverse(ADModeBackward, ADFlagDefault);
 *      uint64_t g = ad_grad(x);                            2 x
 *
 * Conventions are those of jit.h: a returned index holds a reference to both halves
 * that the caller releases with ad_var_dec_ref(), arguments are borrowed, errors are
 * values. The graph is one for all threads. Scopes and what was enqueued belong to the
 * thread.
 *
 * What is differentiated: floats. Results of other types are plain. The rule of each
 * operation is in src/ad/rule/ad_rules.def; a zero gradient times an infinite or NaN
 * weight is zero (docs/dev/differentiation.md).
 *
 * Sizes: the gradient of a variable has its size. An operand with one entry of an
 * operation with many gets the sum.
 *
 * Arrays without entries, for which jit.h has no variables, can be tracked: such an
 * index has a node in its upper half, and 0 in the lower one. Functions about nodes,
 * references, gradients, traversals and scopes take it; it has no gradient, and setting
 * one does nothing. Operations take variables only.
 */
#ifndef DRJIT_CORE_AD_H
#define DRJIT_CORE_AD_H

#include <drjit-core/jit.h>
#include <drjit-core/region.h>


/* ------------------------------------------------------------------- modes */

/** The direction in which gradients go. */
#define AD_MODE_LIST(X, E)                                           \
    X(E, Primal, 0) /**< no derivatives: not a valid argument here */ \
    X(E, Forward, 1) /**< from inputs to results */                  \
    X(E, Backward, 2) /**< from results to inputs */
JIT_ENUM(ADMode, AD_MODE_LIST)

/** What a traversal clears, bits. ADFlagClearVertices: only nodes where it ended, and
 *  those that were enqueued in the other direction, keep theirs. ADFlagCreateGraph:
 *  gradients are tracked themselves, so that they can be differentiated; edges are
 *  kept, since the gradients' own derivatives need them. */
#define AD_FLAG_LIST(X, E)                                                          \
    X(E, ClearNone, 0)                                                              \
    X(E, ClearEdges, 1) /**< edges that were passed, with their values */           \
    X(E, ClearInput, 2) /**< gradients of the nodes where it began */               \
    X(E, ClearInterior, 4) /**< gradients of nodes that it has passed */            \
    X(E, ClearVertices, 6) /**< both */                                             \
    X(E, Default, 7)                                                                \
    X(E, AllowNoGrad, 8) /**< for ad_enqueue()'s callers: nothing tracked is fine */ \
    X(E, CreateGraph, 16) /**< see above */
JIT_ENUM(ADFlag, AD_FLAG_LIST)
JIT_BITS(ADFlag)

/* -------------------------------------------------------------- references */

/** The halves. */
static inline uint32_t ad_var_index(uint64_t index)
{
    return (uint32_t) index;
}
static inline uint32_t ad_var_node(uint64_t index)
{
    return (uint32_t) (index >> 32);
}
JIT_C_BEGIN

/** Add or drop a reference to both halves; 0 is fine. */
JIT_EXPORT uint64_t ad_var_inc_ref(uint64_t index);
JIT_EXPORT void ad_var_dec_ref(uint64_t index);

/* ---------------------------------------------------------------- tracking */

/** The same variable with a node of its own, which depends on nothing: derivatives with
 *  respect to it are available. A new reference to both. Plain (one more reference) if
 *  it is not a float, or in a scope that suspends everything. */
JIT_EXPORT uint64_t ad_var_track(uint32_t index);
/** The same for an array without entries of that type (see above). 0: error recorded,
 *  or plain. */
JIT_EXPORT uint64_t ad_var_track_none(JitBackend backend, VarType type);
/** Derivatives with respect to it are wanted: the result of ad_var_track() for its
 *  variable if it is not tracked, otherwise a new reference. In the body of a loop that
 *  is being recorded, what depends on a state which is not tracked before the loop
 *  counts as not tracked, although ad_grad_enabled() is true: if the state turns out to
 *  be, since an iteration makes it depend on what is tracked, ad_var_loop_end() fails,
 *  or the end of what is recorded around the loop. ad_var_track() of a copy without
 *  node is for this case. */
JIT_EXPORT uint64_t ad_var_enable(uint64_t index);
/** The variable without its node: a new reference. */
JIT_EXPORT uint64_t ad_var_detach(uint64_t index);
/** Are operations with it tracked? It has a node that no scope suspends. In the body of
 *  a loop that is being recorded, each state of floats may be; which are is known at
 *  the end of the loop, and results of the others have no node. */
JIT_EXPORT bool ad_grad_enabled(uint64_t index);

/** Is it tracked without depending on anything? That is the case where derivatives were
 *  enabled, or where a traversal has cleared the edges that led here. */
JIT_EXPORT bool ad_is_leaf(uint64_t index);

/** The gradient, of the variable's type and size: zeros if nothing was set. A new
 *  reference; plain unless it was computed with ADFlagCreateGraph, or set so. */
JIT_EXPORT uint64_t ad_grad(uint64_t index);
/** Was a gradient stored? */
JIT_EXPORT bool ad_has_grad(uint64_t index);
/** Add to the gradient. 'value' has the variable's type; one with one entry stands for
 *  the size of the variable, and a variable with one entry gets the sum of 'value'. If
 *  it is tracked, so is the gradient, which must not depend on its own variable then.
 *  Without a node (or with a suspended one) nothing happens. */
JIT_EXPORT bool ad_accum_grad(uint64_t index, uint64_t value);
/** Forget the gradient. */
JIT_EXPORT void ad_clear_grad(uint64_t index);
/** ad_clear_grad() and ad_accum_grad(). */
JIT_EXPORT bool ad_set_grad(uint64_t index, uint64_t value);

/* --------------------------------------------------------------- traversal */

/** Traversals in the bodies of loops, conditionals and calls, recorded or not: reverse,
 *  gradients stop at variables from before the body, and wait there, summed up over
 *  active lanes and iterations, until the loop, conditional or call is complete. Then
 *  they propagate further, as after a scope that isolates (ADScopeIsolate). Where a
 *  body is recorded, a variable with one entry is one of each lane, and it is an error
 *  if a gradient would have to wait that the body asks for, sets or clears, that has a
 *  derivative of its own (ADFlagCreateGraph), or that is one of a state which the loop
 *  changes.
 *
 *  A variable from before the body, with a node that belongs to the body, so that it
 *  has a gradient of its own. Other variables are returned as they are. A new
 *  reference. */
JIT_EXPORT uint64_t ad_var_enter(uint64_t index);
/** Is the thread in such a body? */
JIT_EXPORT bool ad_in_body(void);

/** Note, for the next ad_traverse() of this thread, all edges that lead from this
 *  variable towards its inputs (ADModeBackward) or results (ADModeForward). Forward, on
 *  the way back from a result, is for gradients of certain results only. */
JIT_EXPORT bool ad_enqueue(ADMode mode, uint64_t index);
/** The same for several variables: after an error for none of them. */
JIT_EXPORT bool ad_enqueue_all(ADMode mode, size_t n, const uint64_t *indices);
/** Propagate gradients along the edges that were enqueued. After an error what was
 *  enqueued is forgotten, gradients of nodes where it would have ended are those
 *  computed so far, and the others are cleared as 'flags' say; all are plain. In debug
 *  mode (JitFlagDebug) gradients are evaluated, and the first that is infinite or NaN
 *  is reported in the log: operation, line, label, number of entries. */
JIT_EXPORT bool ad_traverse(ADMode mode, uint32_t flags);

JIT_C_END
/** What an operation within a scope does with nodes. */
typedef enum ADScope {
    ADScopeSuspend = 0, /**< it ignores these (none given: all) */
    ADScopeResume = 1,  /**< it takes notice of them again */
    ADScopeIsolate = 2, /**< reverse traversals stop at variables from before the scope,
                             and go on at its end; forward ones bring tangents to these,
                             whose gradients stay what they were if they go on */
    ADScopeClose = 3    /**< the same, but forward traversals to certain results begin
                             at these: only the tangents that they have count */
} ADScope;
JIT_C_BEGIN
/** Begin a scope within the thread's current one. */
JIT_EXPORT bool ad_scope_enter(ADScope kind, size_t n, const uint64_t *indices);
/** Does the thread's innermost scope suspend everything, also what begins within? */
JIT_EXPORT bool ad_scope_suspends_all(void);
/** Does it suspend all but certain variables, and what is made from now on? */
JIT_EXPORT bool ad_scope_suspends_others(void);
/** Have it take notice of a variable, as of those that are made in it. */
JIT_EXPORT bool ad_scope_admit_variable(uint64_t index);
/** Have it suspend a variable that was made in a scope further in. */
JIT_EXPORT bool ad_scope_suspend_variable(uint64_t index);
/** Within a callback of a custom operation: was this variable suspended where the
 *  operation was made? Then losing a gradient for it is not a mistake. */
JIT_EXPORT bool ad_scope_suspended_before(uint64_t index);
/** Is the thread in a scope that is closed (ADScopeClose)? What runs there has run
 *  before, and its mistakes have been reported. */
JIT_EXPORT bool ad_scope_is_closed(void);
/** Has a reverse traversal stopped at this variable, to continue after the scope? */
JIT_EXPORT bool ad_scope_keeps(uint64_t index);
/** Have the innermost scope, which isolates, go on from these variables at its end, as
 *  if reverse traversals had stopped there. */
JIT_EXPORT bool ad_scope_keep(size_t n, const uint64_t *indices);
JIT_C_END
/** How have forward traversals within a scope that isolates met operations from before
 *  it? */
typedef enum ADCrossing {
    ADCrossingOut = 1,  /**< ad_enqueue() of ADModeForward has listed one */
    ADCrossingLook = 2, /**< one was looked at for tangents of certain results */
    ADCrossingIn = 4    /**< a tangent has come by one */
} ADCrossing;
JIT_C_BEGIN
/** A combination of these, for the innermost scope; 0 if it does not isolate. */
JIT_EXPORT uint32_t ad_scope_crossed(void);
/** End it. With 'go_on' what an isolating scope has kept back is propagated. */
JIT_EXPORT bool ad_scope_leave(bool go_on);

/* -------------------------------------------------------------- arithmetic */

/** jit_var_op(), tracked. */
JIT_EXPORT uint64_t ad_var_op(JitOp op, const uint64_t *operands);
JIT_EXPORT uint64_t ad_var_neg(uint64_t a);
JIT_EXPORT uint64_t ad_var_add(uint64_t a, uint64_t b);
JIT_EXPORT uint64_t ad_var_sub(uint64_t a, uint64_t b);
JIT_EXPORT uint64_t ad_var_mul(uint64_t a, uint64_t b);
JIT_EXPORT uint64_t ad_var_div(uint64_t a, uint64_t b);
JIT_EXPORT uint64_t ad_var_fma(uint64_t a, uint64_t b, uint64_t c);
JIT_EXPORT uint64_t ad_var_select(uint64_t mask, uint64_t a, uint64_t b);
/** jit_var_cast(); tracked between floats, if not reinterpreted. */
JIT_EXPORT uint64_t ad_var_cast(uint64_t index, VarType type, int reinterpret);
/** The value of 'a' with the derivatives of 'b', of the same type; sizes are equal or
 *  one of them is 1. */
JIT_EXPORT uint64_t ad_var_replace_grad(uint64_t a, uint64_t b);

/* --------------------------------------------------------- arrays, memory */

/* As the functions of jit.h, whose names they have. */

/** A copy in memory of its own, with the same node. */
JIT_EXPORT uint64_t ad_var_copy(uint64_t index);
/** One entry, repeated; the first entries; all entries in opposite order; the array
 *  repeated; each entry repeated. */
JIT_EXPORT uint64_t ad_var_resize(uint64_t index, size_t size);
JIT_EXPORT uint64_t ad_var_shrink(uint64_t index, size_t size);
JIT_EXPORT uint64_t ad_var_reverse(uint64_t index);
JIT_EXPORT uint64_t ad_var_tile(uint64_t index, size_t count);
JIT_EXPORT uint64_t ad_var_repeat(uint64_t index, size_t count);
/** A gather at indices that are known to be those of (P, 1, K) entries in an array
 *  of (P, R, K): each of P blocks of 'inner' = K entries R times; 0: there is one
 *  block. In reverse the R entries are summed up in the order of
 *  jit_var_block_reduce(), so that the result does not depend on threads. */
JIT_EXPORT uint64_t ad_var_broadcast(uint64_t source, uint32_t index, size_t inner);

/** 'mode' says how the reverse derivative, a scatter-addition, is done. With
 *  ReduceModePermute no entry is read twice: it is a plain scatter. */
JIT_EXPORT uint64_t ad_var_gather(uint64_t source, uint32_t index, uint32_t mask,
                                  ReduceMode mode);
JIT_EXPORT bool ad_var_gather_packet(size_t n, uint64_t source, uint32_t index,
                                     uint32_t mask, uint64_t *out, ReduceMode mode);
/** jit_var_matvec() and jit_var_outer(): 'array' is that of the matrix, whose own field
 *  is ignored. What is added is in an array as well, from entry 'first' on (0: nothing
 *  is), which may be the same one. 'gradient' (0: none) is a tracked array of the same
 *  size, of any precision, that takes the place of the array in derivatives, since
 *  thousands of lanes add to an entry. The reverse derivative of a product is a product
 *  with the transpose, and sums of outer products; those of Float16 are made in Float32
 *  outside of recorded bodies. Under JitFlagDeterministic, sums over lanes are a
 *  product of matrices. */
JIT_EXPORT bool ad_var_matvec(uint64_t array, const JitMatrix *matrix,
                              const uint64_t *x, uint64_t bias, size_t first,
                              uint64_t gradient, uint64_t *out);
JIT_EXPORT uint64_t ad_var_outer(uint64_t array, const JitMatrix *matrix,
                                 const uint64_t *left, const uint64_t *right,
                                 uint32_t mask);
/** With ReduceOpIdentity, Add, Min and Max; others of tracked operands are an error.
 *  Ties of Min and Max: all of them get the gradient. */
JIT_EXPORT uint64_t ad_var_scatter(uint64_t target, uint64_t value, uint32_t index,
                                   uint32_t mask, ReduceOp op, ReduceMode mode);
JIT_EXPORT uint64_t ad_var_scatter_packet(size_t n, uint64_t target,
                                          const uint64_t *values, uint32_t index,
                                          uint32_t mask, ReduceOp op, ReduceMode mode);
/** Derivatives go to '*target_1' only. */
JIT_EXPORT bool ad_var_scatter_add_kahan(uint64_t *target_1, uint64_t *target_2,
                                         uint64_t value, uint32_t index, uint32_t mask);
/** Local arrays (region.h): the gradient of one is a local array. */
JIT_EXPORT uint64_t ad_array_init(uint32_t array, uint64_t value);
JIT_EXPORT uint64_t ad_array_read(uint64_t array, uint32_t offset, uint32_t mask);
JIT_EXPORT uint64_t ad_array_write(uint64_t array, uint32_t offset, uint64_t value,
                                   uint32_t mask);
/** The written entry does not depend on anything. */
JIT_EXPORT uint64_t ad_var_write(uint64_t target, size_t offset, const void *entry);

/* -------------------------------------------------------------- reductions */

/** With ReduceOpAdd, Mul, Min and Max. Ties of Min and Max: all of them get the
 *  gradient. That of a product is result / x, 0 where x is 0. */
JIT_EXPORT uint64_t ad_var_reduce(uint64_t index, ReduceOp op);
JIT_EXPORT uint64_t ad_var_block_reduce(ReduceOp op, uint64_t index, size_t block_size);
/** Derivatives need 'position' (UInt32, borrowed; 0: the operand is not tracked): where
 *  each entry of the operand goes in the result, (i / (extent * stride)) * stride +
 *  i % stride for entry i. */
JIT_EXPORT uint64_t ad_var_axis_reduce(ReduceOp op, uint64_t index, const JitAxis *axis,
                                       uint32_t position);
/** The sum of products. */
JIT_EXPORT uint64_t ad_var_reduce_dot(uint64_t a, uint64_t b);
/** With ReduceOpAdd; others of tracked operands are an error. */
JIT_EXPORT uint64_t ad_var_block_prefix_reduce(ReduceOp op, uint64_t index,
                                               size_t block_size, int exclusive,
                                               int reverse);
JIT_EXPORT uint64_t ad_var_axis_prefix_reduce(ReduceOp op, uint64_t index,
                                              const JitAxis *axis, int exclusive,
                                              int reverse);
JIT_EXPORT uint64_t ad_var_transpose(uint64_t index, const JitTranspose *axes);
/** By the permutation that sorts. */
JIT_EXPORT uint64_t ad_var_sort(uint64_t index, size_t block_size, int descending);
/** Products of matrices; derivatives with respect to both. */
JIT_EXPORT uint64_t ad_var_batched_gemm(uint64_t a, uint64_t b, const JitGemm *shape);

/* ------------------------------------------------------------ control flow */

/* As the functions of region.h. What is traced between them is tracked as usual; in the
 * end the results depend on what the bodies have used. Their derivatives are regions of
 * the same kind, made of what was recorded. */

/** Conditionals: one side after the other, whose outputs are tracked. 'results' are new
 *  references. */
JIT_EXPORT uint32_t ad_var_cond_start(const char *name, uint32_t condition);
JIT_EXPORT bool ad_var_cond_append(uint32_t cond, size_t n, const uint64_t *outputs);
JIT_EXPORT bool ad_var_cond_end(uint32_t cond, uint64_t *results);
/** Calls of one of several callables. An input that is tracked is so within. */
JIT_EXPORT uint32_t ad_var_call_start(JitBackend backend, const char *name,
                                      uint32_t mask);
JIT_EXPORT uint64_t ad_var_call_input(uint32_t call, uint64_t value);
JIT_EXPORT bool ad_var_call_append(uint32_t call, size_t n, const uint64_t *outputs);
JIT_EXPORT bool ad_var_call(uint32_t call, uint32_t self, uint32_t n_instances,
                            const uint32_t *ids, const uint32_t *callable_of,
                            uint64_t *results);

JIT_C_END
/** What is known of a loop's number of iterations, if it is not a bound. */
typedef enum ADLoopIterations {
    ADLoopUnbounded = -2, /**< nothing: they are counted when they have to be */
    ADLoopSums = -1 /**< floats are only added to: reverse derivatives need no values of
                               states; an error if they do */
} ADLoopIterations;
JIT_C_BEGIN
/** Loops that run at once (without JitFlagSymbolicLoops) are differentiated as what
 *  they have computed: each iteration keeps what its derivative needs.
 *
 *  The derivative of a recorded loop is made of loops, which have derivatives like any
 *  other: forward, of its states and their tangents. Reverse, the states that are
 *  needed are computed again and kept for all iterations, on a tape, of which there are
 *  at most 'max_iterations', an ADLoopIterations or a bound, beyond which the traversal
 *  fails. A short tape (32 KiB for each lane) is made of local arrays. Where a tape
 *  would be larger than ad_set_tape_limit() allows, parts of it are computed from
 *  checkpoints: of n iterations each is run O(log n) times.
 *
 *  Within another recording nothing can be evaluated. There a bound gives a tape of
 *  local arrays (32 KiB for each lane), and a launch in which lanes exceed it fails:
 *  what it was to write cannot be read. Without a bound, or if the tape would be
 *  larger, and where states that are needed are local arrays, they are computed from
 *  checkpoints in local arrays (16 KiB), O(log n) times; so they are beyond the limit
 *  of the tape with ADFlagCreateGraph (1 KiB). If there is room for a few checkpoints
 *  only, or for none, the time becomes quadratic in the number of iterations. Loops
 *  that only add to their states need none of this.
 *
 *  Arrays that a recorded loop accesses by index may be read, be added to, and be
 *  overwritten by scatters. Reverse, a loop that overwrites one runs once more, to find
 *  out which write to each entry was the last; within another recording, and where it
 *  is a region in the body that overwrites, this is not done, and is an error.
 *
 *  'differentiated' says which states may have derivatives; NULL: all floats. In the
 *  body these are tracked; results are if the state was tracked before, or if an
 *  iteration makes it depend on what is. */
JIT_EXPORT uint32_t ad_var_loop_start(JitBackend backend, const char *name,
                                      int64_t max_iterations, size_t n, uint64_t *state,
                                      const bool *differentiated);
/** How many bytes the reverse derivative of a loop may take for states of its
 *  iterations; at first a quarter of the machine's memory. One for all threads. Half of
 *  it is for a tape and half for checkpoints if a whole tape does not fit; a tape of
 *  one iteration and log n checkpoints are allowed in any case. */
JIT_EXPORT void ad_set_tape_limit(size_t bytes);
JIT_EXPORT size_t ad_tape_limit(void);
/** The condition; lanes that are done taken out, which is not done with tracked states;
 *  the end of an iteration. */
JIT_EXPORT int ad_var_loop_cond(uint32_t loop, uint32_t condition);
JIT_EXPORT bool ad_var_loop_compress(uint32_t loop, uint64_t *state);
JIT_EXPORT int ad_var_loop_end(uint32_t loop, uint64_t *state);
/** jit_record_end(), also for recordings that were begun by one of these functions. */
JIT_EXPORT bool ad_record_end(JitBackend backend, uint32_t record, int cleanup);

/* --------------------------------------------------------- custom operations */

JIT_C_END
/** What propagates the gradients of a custom operation. 'in' has an entry for each
 *  input, 'out' for each output, in the order given to ad_custom(): gradients, of
 *  the variable's type and size, 0 where there is none. Forward reads 'in' and sets
 *  entries of 'out', backward the other way round: references move to the caller.
 *  Called without locks, in the thread that traverses. It may trace, evaluate and
 *  differentiate. False: the traversal fails with the error that was set. */
typedef struct ADCustom {
    const char *name; /**< copied */
    bool (*forward)(void *payload, const uint64_t *in, uint64_t *out);
    bool (*backward)(void *payload, uint64_t *in, const uint64_t *out);
    /** Called once, when the operation is not needed any more, or if ad_custom()
     *  fails or nothing is tracked. In any thread, without locks. */
    void (*release)(void *payload);
    /** For each output, for each input: does it depend on it? Copied. Traversals
     *  through one output then ignore other inputs. NULL: all do. */
    const bool *depends;
} ADCustom;
JIT_C_BEGIN
/** Connect 'outputs' (plain variables, replaced by tracked ones; those that are not
 *  floats stay plain) with 'inputs'. If no input is tracked, nothing is connected.
 *  False: error. */
JIT_EXPORT bool ad_custom(const ADCustom *op, void *payload, size_t n_in,
                          const uint64_t *inputs, size_t n_out, uint64_t *outputs);
/** Is this thread within a traversal with ADFlagCreateGraph? Then a custom operation
 *  has to return tracked gradients; otherwise they are taken as plain. */
JIT_EXPORT bool ad_traverse_is_tracked(void);
/** For collectors of cycles: which operations would be released if these references
 *  were dropped? 'note' is called, with the lock of the graph held, with the payload of
 *  each that was made with this 'release'. Nothing is changed. False: out of memory. */
JIT_EXPORT bool ad_custom_released_with(size_t n, const uint64_t *indices,
                                        void (*release)(void *payload),
                                        void (*note)(void *context, void *payload),
                                        void *context);

/* -------------------------------------------------------------- inspection */

/** Name a node in ad_whos() and ad_graphviz(). The string is copied, after the thread's
 *  prefixes (jit_prefix_push()); NULL removes it. Without a node nothing happens. */
JIT_EXPORT bool ad_var_set_label(uint64_t index, const char *label);
/** NULL: none. Valid until it is changed, or the node released. */
JIT_EXPORT const char *ad_var_label(uint64_t index);
/** All nodes as text: types, sizes, references, operations, and labels (or, in debug
 *  mode, the line that made them). Valid until the thread's next such call. */
JIT_EXPORT const char *ad_whos(void);
/** The graph in the language of GraphViz: inputs, outputs, labelled nodes and those
 *  with a gradient have colours, and a dashed box is around what was made in a scope of
 *  the thread that isolates. Valid until the thread's next such call. */
JIT_EXPORT const char *ad_graphviz(void);
/** The paths, as text, that gradients take between a result and an input of a
 *  computation; or why there is no path: operations without a derivative, from the
 *  trace as far as it is not evaluated, edges that a traversal has cleared, and, noted
 *  in debug mode (JitFlagDebug), where values were detached or suspended. That mode
 *  also adds source lines. Valid until the thread's next such call. */
JIT_EXPORT const char *ad_explain(uint64_t result, uint64_t input);
/** Has a traversal cleared all edges along which gradients could propagate from here,
 *  so that ad_enqueue() finds none? */
JIT_EXPORT bool ad_is_cut(ADMode mode, uint64_t index);
/** Do results depend on tracked variables that are older than some inputs, other than
 *  by way of these? 1 or 0; -1 if out of memory. */
JIT_EXPORT int ad_depends_beyond(size_t n_results, const uint64_t *results,
                                 size_t n_inputs, const uint64_t *inputs);
/** Which inputs do results depend on, along edges that have not been cleared? The
 *  search stops at inputs. False: out of memory. */
JIT_EXPORT bool ad_reached(size_t n_results, const uint64_t *results, size_t n_inputs,
                           const uint64_t *inputs, bool *reached);
/** Does anything that these variables depend on, along edges that have not been
 *  cleared, have a gradient? 1 or 0; -1 if out of memory. */
JIT_EXPORT int ad_has_grad_behind(size_t n, const uint64_t *indices);
/** The number of nodes. */
JIT_EXPORT size_t ad_node_count(void);

JIT_C_END

#if defined(__cplusplus)
#  include <drjit-core/checked_ad.inc>
#endif

#endif /* DRJIT_CORE_AD_H */
