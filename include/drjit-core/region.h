/*
 * drjit-core/region.h -- control flow of traced programs: loops, conditionals, calls of
 * many functions, masks, arrays of a lane, printing (C99, usable from C++)
 *
 * A part of drjit-core/jit.h, which includes it and whose conventions hold here.
 */
#ifndef DRJIT_CORE_REGION_H
#define DRJIT_CORE_REGION_H

#include <drjit-core/types.h>

JIT_C_BEGIN

/* ----------------------------------------------------------------- regions */

/* Loops and conditionals are traced as such: their bodies are recorded once, with
 * placeholders for values that only exist while the kernel runs, and become its control
 * flow. They consist of what results and side effects need. Every function that fails
 * here ends the recording it belongs to and drops all that was recorded in it: queue,
 * mask stack and scope of the thread are as they were before, and variables that the
 * caller holds stay valid. jit_record_end() gives up a recording for other reasons.
 *
 * Inside of a body
 *   - what depends on a placeholder cannot be evaluated or read: an error, after which
 *     recording goes on; other variables can;
 *   - every gather, scatter, ... is masked by the lanes that execute it;
 *   - an array that the body has written to cannot be read before the region has ended
 *     (JIT_ERROR_STATE). One that it has read before writing to it is copied then: all
 *     reads, in all iterations, see what was in it before the region. In a conditional
 *     that runs at once they can be read: the true side comes first.
 *
 * Sizes: the region has the common size of condition, mask stack, states and outputs
 * (which are equal or 1), and so have its results. */

/** Begin to record what follows separately, in a scope of its own: side effects such as
 *  scatters are kept in a list of their own until jit_record_end(). The name is for
 *  messages and may be NULL. The handle, 0 on errors. */
JIT_EXPORT uint32_t jit_record_begin(JitBackend backend, const char *name);
/** The same for what runs at once: nothing in it is symbolic. Arrays that are written
 *  to can be read, which performs the writes; with 'cleanup', jit_record_end() then
 *  restores the content of the arrays. */
JIT_EXPORT uint32_t jit_record_begin_evaluated(JitBackend backend, const char *name);
/** Number of side effects that the innermost recording (of any kind) has, or that the
 *  thread has queued if it is recording nothing. */
JIT_EXPORT uint32_t jit_record_checkpoint(JitBackend backend);
/** Drop all side effects of the innermost recording from this checkpoint on. */
JIT_EXPORT bool jit_record_rollback(JitBackend backend, uint32_t checkpoint);
/** End a recording. With 'cleanup' its side effects are dropped; otherwise they become
 *  those of the recording around it. Loops, conditionals and calls are given up in this
 *  way, with all recordings inside of them: for these 'cleanup' must be nonzero. */
JIT_EXPORT bool jit_record_end(JitBackend backend, uint32_t record, int cleanup);

/** Variables of different scopes are never found equal by value numbering. The scope of
 *  the thread, a new one that becomes the thread's (0 on errors), and setting it:
 *  inside of a body to scopes of that body only. */
JIT_EXPORT uint32_t jit_scope(JitBackend backend);
JIT_EXPORT uint32_t jit_new_scope(JitBackend backend);
JIT_EXPORT bool jit_set_scope(JitBackend backend, uint32_t scope);

/** Begin a loop: while (condition) body. A complete one is
 *
 *      loop = jit_var_loop_start(backend, "name", n, state);
 *      do {
 *          condition = ... computed from state[] ...
 *          again = jit_var_loop_cond(loop, condition);
 *          if (again > 0) {
 *              jit_var_loop_compress(loop, state);                     (optional)
 *              ... replace the entries of state[] by their next values ...
 *          }
 *      } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
 *
 *  'state' holds 'n' variables that the loop changes. Their references move to the
 *  loop, and the caller owns the placeholders that replace them. The condition must
 *  have no side effects. States can have any type; those that the loop does not change
 *  may also have any size, and be arrays that it gathers from or scatters to as a
 *  whole. With JitFlagOptimizeLoops, states that turn out not to change are replaced by
 *  their initial values in the body. Condition and body are traced once. Without
 *  JitFlagSymbolicLoops nothing is recorded: 'state' keeps real values, the body is
 *  traced once for each iteration of the slowest lane (with the mask of active lanes on
 *  the mask stack), every iteration is evaluated, and a state that no iteration changes
 *  keeps its size. The handle, 0 on errors (state[] is unchanged then). */
JIT_EXPORT uint32_t jit_var_loop_start(JitBackend backend, const char *name, size_t n,
                                       uint32_t *state);
/** Give the loop its condition (a mask). 1: the body is to be traced now. 0: it is not
 *  needed, call jit_var_loop_end() at once. -1: error. */
JIT_EXPORT int jit_var_loop_cond(uint32_t loop, uint32_t condition);
/** To be called when the body is to be traced, before it. With JitFlagCompressLoops,
 *  and without JitFlagSymbolicLoops, this may take out lanes that are done: state[] is
 *  replaced by arrays with an entry for each lane that is left, which
 *  jit_var_loop_end() undoes when the loop is done. The first iteration has all lanes.
 *  Arrays with an entry for each lane have to be states then; and if the body gathers
 *  from or scatters to a state that has as many entries as there are lanes, or the loop
 *  is part of a recording, no lane is taken out. False: error, the loop is given up. */
JIT_EXPORT bool jit_var_loop_compress(uint32_t loop, uint32_t *state);
/** The body is complete, state[] holds the next states. 1: the loop is done, state[]
 *  (whose old references are released) holds the results. 0: once more, from the
 *  condition on, with what is in state[] now. -1: error, state[] is unchanged. */
JIT_EXPORT int jit_var_loop_end(uint32_t loop, uint32_t *state);
/** Is the calling thread recording the condition or the body of a loop, or anything
 *  within? It will run several times for what is traced once. */
JIT_EXPORT bool jit_in_loop(void);

/** Begin a conditional: what is traced from here on is its true side, up to the first
 *  jit_var_cond_append(); what follows is the false side, up to the second one. With a
 *  literal condition the side that is not taken is dropped, and the other one becomes
 *  part of the surrounding code. Without JitFlagSymbolicConditionals both sides are
 *  traced as if they were straight-line code, under masks. The handle, 0 on errors. */
JIT_EXPORT uint32_t jit_var_cond_start(const char *name, uint32_t condition);
/** End a side; 'outputs' are its 'n' results: as many, and of the same types, on both
 *  sides. */
JIT_EXPORT bool jit_var_cond_append(uint32_t cond, size_t n, const uint32_t *outputs);
/** End the conditional: 'results' receives one variable for each output. An output that
 *  is the same variable on both sides is that variable. */
JIT_EXPORT bool jit_var_cond_end(uint32_t cond, uint32_t *results);

/* ------------------------------------------------------------------- calls */

/* A call runs, in each lane, the callable of the instance that the lane names by its id
 * (of the registry, or any other numbers; 0 is none). Every callable is traced once:
 *
 *      call = jit_var_call_start(backend, "name", mask);
 *      a = jit_var_call_input(call, x);       what stands for x, in all callables
 *      for each callable
 *          ... trace it with 'a' ..., its outputs
 *          jit_var_call_append(call, n, outputs);
 *      jit_var_call(call, self, n_instances, ids, callable_of, results);
 *
 * Many instances can have one callable: the ids themselves can be an input, by which it
 * gathers what belongs to the instance. With JitFlagMergeFunctions callables that
 * differ only in values (literals, arrays of one entry) become one as well. Other
 * variables from outside can be used without being inputs. With JitFlagOptimizeCalls
 * literal inputs stay literals in the callables, outputs that are the same everywhere
 * leave the call, and a call that can reach only one callable is a conditional. Local
 * arrays of up to 1024 entries can be inputs and outputs: they are copied. Others from
 * outside cannot be used in callables. Calls can be nested 64 deep. As with loops, a
 * function that fails ends the recording. Without JitFlagSymbolicCalls, callers use
 * jit_var_call_reduce() instead. */

/** Begin a call in lanes where 'mask' (0: always) and the mask stack are set, and its
 *  first callable. The handle, 0 on errors. */
JIT_EXPORT uint32_t jit_var_call_start(JitBackend backend, const char *name,
                                       uint32_t mask);
/** Make a variable from outside an input: the placeholder for it in the callables (a
 *  new reference). An error does not end the recording. */
JIT_EXPORT uint32_t jit_var_call_input(uint32_t call, uint32_t value);
/** The mask of lanes that execute a callable; it is also on top of the mask stack. */
JIT_EXPORT uint32_t jit_var_call_mask(uint32_t call);
/** End a callable and begin the next, which may remain empty. All callables have
 *  outputs of the same number and types. */
JIT_EXPORT bool jit_var_call_append(uint32_t call, size_t n, const uint32_t *outputs);
/** End the call. 'self' are the ids (UInt32) of the instances that lanes call; those
 *  there can be are ids[0 ... n_instances-1] (NULL: 1, 2, ...), with callables number
 *  callable_of[...] in order of tracing (NULL: 0, 1, ...). Memory is proportional to
 *  the largest id. 'results' receives a variable for each output: 0 in lanes that call
 *  nothing. Ids that do not exist call nothing, and JitFlagDebug reports those beyond
 *  the largest one. */
JIT_EXPORT bool jit_var_call(uint32_t call, uint32_t self, uint32_t n_instances,
                             const uint32_t *ids, const uint32_t *callable_of,
                             uint32_t *results);

JIT_C_END
/** Lanes that call one instance. */
typedef struct JitCallBucket {
    uint32_t id;
    void *ptr;      /**< registered under this id, NULL without a domain */
    uint32_t index; /**< lane numbers, ascending (UInt32) */
} JitCallBucket;
JIT_C_BEGIN
/** Sort lanes by the id in 'self' where 'mask' (0: always) and the mask stack are set:
 *  '*buckets' receives one entry for each id but 0 that occurs, ascending. Ids are
 *  those of a registry's domain, or with 'domain' NULL at most 'bound'; larger ones are
 *  an error. Evaluates and waits. To be released with jit_var_call_release(). */
JIT_EXPORT bool jit_var_call_reduce(const char *variant, const char *domain,
                                    uint32_t bound, uint32_t self, uint32_t mask,
                                    JitCallBucket **buckets, uint32_t *count);
JIT_EXPORT void jit_var_call_release(JitCallBucket *buckets, uint32_t count);

/* -------------------------------------------------------------- mask stack */

/* Each thread has a stack of masks. The one on top is combined (and) into the mask of
 * every gather, scatter, atomic, access of local memory and print that the thread
 * traces from then on, and is that of the regions that it records. A mask of size 1
 * serves any size. A mask of another size applies to operations with as many lanes, and
 * to those with one: others are not masked. In bodies that are recorded their sizes
 * must agree. The bodies of loops, conditionals and calls push the mask of the lanes
 * that execute them. */

/** Put a mask on top of the stack, which holds a reference to it. Inside the body of a
 *  loop, conditional or call it is combined with the one that was on top. (In bodies
 *  that are not recorded, without JitFlagSymbolicLoops and the like, a literal is not
 *  if it is 'true' of size 1, or has another size than the one on top: what follows
 *  works on other lanes.) */
JIT_EXPORT bool jit_var_mask_push(JitBackend backend, uint32_t mask);
/** Take the top off. An error if there is none, or none that was pushed since the
 *  innermost open body began. A body that leaves masks on the stack is also an error.
 *  */
JIT_EXPORT bool jit_var_mask_pop(JitBackend backend);
/** The mask on top (a new reference), 0 without an error if there is none. */
JIT_EXPORT uint32_t jit_var_mask_peek(JitBackend backend);
/** The mask of a computation of this size that nothing restricts: true. */
JIT_EXPORT uint32_t jit_var_mask_default(JitBackend backend, size_t size);
/** 'mask' (0: true) and the top of the stack as a mask of this size. */
JIT_EXPORT uint32_t jit_var_mask_apply(uint32_t mask, size_t size);

/* ------------------------------------------------------------ local memory */

/* Arrays of a fixed length of which each lane has its own, for use within a kernel: as
 * variables they have the type of their entries and as many "entries" as there are
 * lanes. They are values: writing gives a new version, and older ones can still be read
 * (at the cost of a copy where both are needed). They can be states of loops and
 * outputs of conditionals, but are never evaluated: other functions than those here
 * refuse them, except for references, type, size and state. Structured elements are
 * several arrays. */

/** An array of 'length' zeros in each of 'size' lanes. Arrays of a lane can have up to
 *  65,536 bytes in each kernel (masks: a byte an entry). */
JIT_EXPORT uint32_t jit_array_create(JitBackend backend, VarType type, size_t length,
                                     size_t size);
/** The same with all entries set to 'value'. */
JIT_EXPORT uint32_t jit_array_init(uint32_t array, uint32_t value);
/** The entry at 'offset' (Int32 or UInt32) where mask (0: always) and mask stack are
 *  set, 0 elsewhere and at positions beyond the end; JitFlagDebug reports these. */
JIT_EXPORT uint32_t jit_array_read(uint32_t array, uint32_t offset, uint32_t mask);
/** The array with the entry at 'offset' set to 'value' where mask and mask stack are
 *  set and the position is not beyond the end. */
JIT_EXPORT uint32_t jit_array_write(uint32_t array, uint32_t offset, uint32_t value,
                                    uint32_t mask);
/** Number of entries. */
JIT_EXPORT size_t jit_array_length(uint32_t array);

/* ---------------------------------------------------------------- printing */

JIT_C_END
/** What one print has reported in one launch. */
typedef struct JitPrintRecords {
    size_t count;            /**< records, by lane; those of a lane in order */
    size_t lost;             /**< further ones that were not kept */
    uint32_t value_count;    /**< values of a record */
    const VarType *types;    /**< their types */
    const uint32_t *lanes;   /**< lane of each record */
    const uint64_t *values;  /**< all values of record 0, of record 1, ...: bits, in the
                                  low bytes */
} JitPrintRecords;
JIT_C_BEGIN

/** Report values of a computation, within the body of a loop, conditional or call or
 *  outside: 'n' values of any types (equal sizes or 1; n may be 0), in lanes in which
 *  'mask' (0: always) and the mask stack are set, each time this place is reached. It
 *  runs with the next evaluation, like a write to memory. After each launch that has
 *  reached it, 'callback' gets at most 'limit' records (SIZE_MAX: all). A launch keeps
 *  a megabyte of records, of all its prints together; which ones are lost beyond that
 *  is unspecified. Finally it gets NULL, once, when no more records can come and the
 *  payload is no longer needed. It is called without locks in any thread and must not
 *  wait for work of the library. An assertion is a print of the lanes that fail it. */
JIT_EXPORT bool jit_var_print(uint32_t mask, uint32_t n, const uint32_t *values,
                              size_t limit,
                              void (*callback)(const JitPrintRecords *records,
                                               void *payload),
                              void *payload);

JIT_C_END

#if defined(__cplusplus)
#  include <drjit-core/checked_region.inc>
#endif

#endif /* DRJIT_CORE_REGION_H */
