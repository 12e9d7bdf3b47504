/*
 * drjit-core/freeze.h -- functions that are recorded, and repeated without tracing
 * (C99, usable from C++)
 *
 * A part of drjit-core/jit.h, which includes it and whose conventions hold here.
 */
#ifndef DRJIT_CORE_FREEZE_H
#define DRJIT_CORE_FREEZE_H

#include <drjit-core/types.h>

JIT_C_BEGIN

/* ---------------------------------------------------------------- freezing */

/* What a program does between jit_freeze_start() and jit_freeze_stop() is traced and
 * performed as usual. Meanwhile the commands that the thread submits are recorded:
 * kernels, copies, reductions, scans, sorting, ... jit_freeze_replay() performs them
 * again with other inputs, and traces nothing.
 *
 *     if (jit_freeze_start(JitBackendLLVM, 1, &x)) {
 *         uint32_t y = f(x);
 *         recording = jit_freeze_stop(1, &y);                   (y is evaluated)
 *     }
 *     jit_freeze_replay(recording, 1, &other_x, &other_y);
 *
 * Inputs and outputs are all that may come in and go out. The use of a variable that is
 * not an input and was made before the recording or by another thread is a *foreign
 * read*. This includes literals, also where only their value, size or state is asked
 * for, or where an operation is simplified away (x * 1). The function continues with
 * the right values, and jit_freeze_stop() fails with JIT_ERROR_UNSUPPORTED.
 * jit_freeze_foreign() lists these variables: they have to become inputs. What the
 * function makes and somebody keeps beyond its outputs is what jit_freeze_escaped()
 * finds. An input that the function scatters to is copied first and stays as it is;
 * what becomes of it is an output.
 *
 * Sizes. A recording serves inputs of other sizes. It knows where the size of each
 * array comes from: an input, the number of entries that a mask selects, and what is
 * computed from these (jit_freeze_size()). Numbers that functions are given are
 * constants, unless the program says which sizes they are (jit_freeze_size_next()). A
 * program that asks for the size of a variable as a number (jit_var_size()) binds the
 * recording to it. What was bound, and what has to be equal, is checked at each
 * repetition, which is refused if it does not hold. Inputs of equal sizes stay so, and
 * those of size 0 and 1 keep these. A size that no array has goes in and out as a
 * literal with that many entries.
 *
 * Contents. The host cannot read arrays meanwhile (jit_var_read(), jit_var_data(),
 * which lanes make an evaluated call, ...): JIT_ERROR_STATE, unless it is allowed
 * (jit_freeze_allow_reads()). Then what was read is a condition: a repetition reads it
 * again, at the same point, and is refused if it is different. What cannot be repeated
 * (functions of the host, memory of the caller's own) makes jit_freeze_stop() fail with
 * JIT_ERROR_UNSUPPORTED; what the function has computed is right all the same.
 *
 * Loops that the host runs (without JitFlagSymbolicLoops): if the commands of their
 * iterations are the same, but for the state, a repetition has as many iterations as it
 * needs, and at least one; otherwise it has those that were recorded, or the function
 * cannot be repeated.
 *
 * Domains of the registry that were looked at have to be unchanged.
 *
 * Launches that print (jit_var_print()) or check something (debug mode) do so each
 * time; the callback is told that there will be no more when the recording is released.
 * Where a size is read after a launch that prints, the function cannot be repeated: if
 * the recording does not fit, the same would be printed twice. */

JIT_C_END
/** A function that was recorded. It does not change: any threads may repeat it at the
 *  same time. */
typedef struct JitRecording JitRecording;

/** What a variable is as an input. */
typedef struct JitFreezeInput {
    uint32_t size;
    uint8_t type;    /* VarType */
    uint8_t literal; /* 'bits' is its value */
    uint8_t stored;  /* it is in memory, or empty, and nothing is queued for it */
    uint8_t padded;  /* its memory was not given by the caller, or is aligned well */
    uint64_t bits;
} JitFreezeInput;
JIT_C_BEGIN

/** Describe variables. One that is neither a literal nor stored has to be evaluated
 *  before it can be an input. False if one does not exist. */
JIT_EXPORT bool jit_freeze_describe(size_t count, const uint32_t *indices,
                                    JitFreezeInput *inputs);
/** Begin to record what the calling thread does on its device of a backend, after what
 *  it has scheduled was evaluated. Inputs are arrays in memory, literals or empty. A
 *  thread records one function at a time, and none inside of loops, conditionals and
 *  calls. */
JIT_EXPORT bool jit_freeze_start(JitBackend backend, size_t count,
                                 const uint32_t *inputs);
/** End it: evaluates the outputs (literals stay what they are). The recording, which
 *  the caller owns; NULL on errors, after which nothing is being recorded either. */
JIT_EXPORT JitRecording *jit_freeze_stop(size_t count, const uint32_t *outputs);
/** Give up what the calling thread records; without a recording nothing happens. */
JIT_EXPORT void jit_freeze_abort(void);
/** Leave out what is done between these two. Its results are not part of the
 *  recording. */
JIT_EXPORT bool jit_freeze_pause(void);
JIT_EXPORT bool jit_freeze_resume(void);
/** A copy of an array in memory as it is now, which is not part of the recording: for
 *  code that may have to give up, and then needs the array. 0 on errors. */
JIT_EXPORT uint32_t jit_freeze_copy(uint32_t index);

/** The recording reads these variables (0: none) in a way that nothing else shows: they
 *  are compared, or returned. jit_freeze_stop() does the same for its outputs. Where
 *  nothing is recorded nothing happens. False: one does not exist. */
JIT_EXPORT bool jit_freeze_note(size_t count, const uint32_t *indices);
/** The foreign variables that were read so far, in the order of their first reads: how
 *  many there are. At most 'capacity' of them are filled in (borrowed: they live until
 *  the recording ends). 0 where nothing is recorded.
 *  Reads are all uses but counting references, describing and labelling a variable,
 *  asking for its type, and jit_var_peek_size() and jit_var_peek_state(). What is done
 *  between jit_freeze_pause() and jit_freeze_resume() is not looked at, but what was
 *  made there is foreign.
 *  Equal literals of before may be one variable: where one of them is an input, reading
 *  another one is reading that input, unless the input is a copy (jit_var_copy()),
 *  which is a variable of its own. */
JIT_EXPORT size_t jit_freeze_foreign(size_t capacity, uint32_t *indices);
/** To be called just before jit_freeze_stop(): variables that were made by what is
 *  recorded, and have references that nothing accounts for. Those of operands of its
 *  variables, of what is scheduled or queued, of mask stacks and of the graph of
 *  derivatives are accounted for; 'known' has an entry for each reference that the
 *  caller accounts for, so that an index may occur several times (0: none). What custom
 *  operations (ADCustom) hold, and variables of other threads, is not known. How many
 *  there are, of which at most 'capacity' are filled in (borrowed), in ascending order;
 *  SIZE_MAX on errors: a variable does not exist, nothing is recorded
 *  (JIT_ERROR_STATE), out of memory. */
JIT_EXPORT size_t jit_freeze_escaped(size_t count, const uint32_t *known,
                                     size_t capacity, uint32_t *indices);

/** Let the host read arrays while the calling thread records, or not (0, as it is in
 *  the beginning). What was set before; 0 without a recording. */
JIT_EXPORT int jit_freeze_allow_reads(int allow);

/** Repeat: 1, and 'outputs' has a new reference for each output. 0: the recording does
 *  not fit these inputs (types, literals, sizes) or the thread's flags, and has to be
 *  made anew. -1: an error.
 *  Outputs that were inputs are the inputs of this time. */
JIT_EXPORT int jit_freeze_replay(JitRecording *recording, size_t count,
                                 const uint32_t *inputs, uint32_t *outputs);
/** The same without doing anything: contents, and sizes that commands have yet to
 *  compute, are not looked at. */
JIT_EXPORT int jit_freeze_dry_run(JitRecording *recording, size_t count,
                                  const uint32_t *inputs);
/** What the calling thread has begun to record is to be compared with a recording of
 *  before: sizes are read from memory, or not (jit_freeze_set_general()), as they are
 *  there, and the kernel history calls its launches repeated. */
JIT_EXPORT bool jit_freeze_check(const JitRecording *known);
/** Do two recordings do the same for all inputs that they serve? Inputs and outputs,
 *  commands, kernels with all literals, constants, sizes as expressions, and conditions
 *  are compared; the sizes at the time of recording, and callbacks of prints, do not
 *  count. 1: they do. 0: they do not. 2: they do not, but may have reason to differ:
 *  they were made for other sizes, by which work is cut, or the host has read something
 *  else, or has run loops. -1: an error. */
JIT_EXPORT int jit_freeze_same(const JitRecording *a, const JitRecording *b);
/** Numbers of inputs and outputs. */
JIT_EXPORT size_t jit_freeze_input_count(const JitRecording *recording);
JIT_EXPORT size_t jit_freeze_output_count(const JitRecording *recording);
/** Arrays, commands and conditions, and the condition that was not met the last time;
 *  valid until the thread's next call of this. NULL on errors. */
JIT_EXPORT const char *jit_freeze_str(JitRecording *recording);
JIT_C_END
/** What an exported function does about indices that lie outside of the arrays they are
 *  for. Sizes of arrays that are used lane by lane or as a whole are always checked. */
typedef enum JitExportBounds {
    JitExportBoundsCaller, /* nothing: they are up to the caller */
    JitExportBoundsPin,    /* inputs, on whose sizes those of arrays that are accessed
                              by index depend, need to have the sizes of the recording;
                              indices that come from the contents of inputs are
                              still up to the caller */
    JitExportBoundsCheck   /* each index is checked. The recording was made with
                              JitFlagDebug */
} JitExportBounds;

/** A function of an exported library. */
typedef struct JitExport {
    JitRecording *recording;
    const char *name; /* an identifier of C that neither the C library nor the sources
                         that the library takes along have */
    /** What to call what goes in and out: a text for each, of which letters and digits
     *  count; NULL: input_0, ... The last ones may be nothing but sizes: literals of
     *  which only the number of entries matters. */
    const char *const *inputs, *const *outputs;
    size_t input_sizes, output_sizes;
    JitExportBounds bounds;
} JitExport;
JIT_C_BEGIN

/** Write recordings to a folder, which is made if it is not there, as a C library that
 *  is called as its first function: NAME.h, and for each function tables (FUNCTION.c)
 *  and the kernels as machine code (FUNCTION_kernels.S), what runs them in 'runtime', a
 *  Makefile, NAME.pc.in and NAME_example.c. Files of an earlier export are replaced.
 *  What is built from them needs the C library and a CPU like this one, and nothing
 *  else; results have the same bits, for all sizes that the recordings serve. The
 *  header says what goes in and out, and which inputs are accessed by index. What the
 *  recording checks, since it was made with JitFlagDebug or has loops with a limit, the
 *  function checks, too: it returns an error. JIT_ERROR_UNSUPPORTED if kernels were not
 *  made by the engine 'native', and if a recording depends on registered objects or
 *  prints something; JIT_ERROR_ARGUMENT if a function cannot have its name, and if
 *  indices are to be checked and the recording was made without JitFlagDebug;
 *  JIT_ERROR_SYSTEM if a file cannot be written. */
JIT_EXPORT bool jit_freeze_export(const char *folder, size_t count,
                                  const JitExport *functions);
/** Release a recording that is not being repeated; NULL is fine. */
JIT_EXPORT void jit_freeze_destroy(JitRecording *recording);

/* Keeping recordings. A block of bytes has recordings, for this process or another one,
 * and whatever the caller puts beside them. It is portable: it does not depend on the
 * engine or the CPU, but for the order of bytes. Kernels are in it as Programs, from
 * which machine code is made, or found in the cache, when they are loaded. A later
 * version of the library loads it if its format and its operations are the same; new
 * operations do no harm.
 *
 * Loading checks all of a block, and a damaged one is an error. But the kernels of a
 * well-formed block may read and write beyond arrays, as any program's may: load what
 * comes from a source you trust, or sign blocks and check that first.
 */

/** Recordings, and a note of the caller's, as a block of '*size' bytes, to be released
 *  with jit_freeze_free(). Waits for constants that are being computed. NULL on errors:
 *  JIT_ERROR_UNSUPPORTED if a recording depends on what is of this process only (the
 *  registry's instances, callbacks of prints). */
JIT_EXPORT void *jit_freeze_save(size_t count, JitRecording *const *recordings,
                                 const void *note, size_t note_size, size_t *size);
/** Release a block; NULL is fine. */
JIT_EXPORT void jit_freeze_free(void *block);
/** How many recordings does a block have, and which note (a part of the block)? Any of
 *  the pointers may be NULL. False if it is damaged or was written by another version
 *  of the library. */
JIT_EXPORT bool jit_freeze_inspect(const void *block, size_t size, size_t *count,
                                   const void **note, size_t *note_size);
/** A recording of a block, for the calling thread's device of a backend. Kernels that
 *  are not in the cache are compiled now. NULL on errors. */
JIT_EXPORT JitRecording *jit_freeze_load(JitBackend backend, const void *block,
                                         size_t size, size_t number);

JIT_C_END
/** Sizes to compute with, while the calling thread records. A handle stands for a size
 *  wherever it comes from, and belongs to the recording; 0 on errors (JIT_ERROR_STATE
 *  without a recording), also of computations that have no result. */
typedef uint64_t JitSize;
typedef enum JitSizeOp {
    JitSizeAdd, JitSizeSub, JitSizeMul, JitSizeDiv, JitSizeMod /* rounded down */
} JitSizeOp;
typedef enum JitSizeRelation {
    JitSizeEqual, JitSizeNotEqual, JitSizeLess, JitSizeNotLess
} JitSizeRelation;
JIT_C_BEGIN

/** The size of a variable; a constant. */
JIT_EXPORT JitSize jit_freeze_size(uint32_t index);
JIT_EXPORT JitSize jit_freeze_size_constant(int64_t value);
JIT_EXPORT JitSize jit_freeze_size_op(JitSizeOp op, JitSize a, JitSize b);
/** The value that a size has now; 0 and an error if there is no such size. */
JIT_EXPORT int64_t jit_freeze_size_value(JitSize size);
/** Bind the recording to a relation between two sizes being what it is now: 1 if it
 *  holds, 0 if not, -1 on errors. */
JIT_EXPORT int jit_freeze_size_test(JitSizeRelation relation, JitSize a, JitSize b);
/** The next literal, counter or undefined variable that the thread makes or resizes has
 *  this size, if its number of entries is the size's value. Or the next number that it
 *  gives a function is this size, if it is the size's value: 'block_size' of
 *  reductions, prefix reductions and sorting, 'count' of jit_var_tile() and
 *  jit_var_repeat(). Those of matrix products are in JitGemm. */
JIT_EXPORT bool jit_freeze_size_next(JitSize size);
/** It has the size of this variable. This is the only way to pass on the size of a
 *  variable that depends on a body which is being recorded, and so is not known yet,
 *  without binding the recording. Without a recording nothing happens. */
JIT_EXPORT bool jit_freeze_size_like(uint32_t index);
/** The value of a size as an Int64 of one entry, which kernels read from memory. (Of
 *  the size of a variable, jit_var_opaque_width() is a UInt32.) */
JIT_EXPORT uint32_t jit_freeze_size_var(JitBackend backend, JitSize size);
/** Where kernels compute with sizes, as in jit_var_reverse(): let them read these from
 *  memory (true), which costs some time, or bind the recording to them (false, the
 *  default). */
JIT_EXPORT bool jit_freeze_set_general(bool general);
/** Which of the two? False also where nothing is recorded. */
JIT_EXPORT bool jit_freeze_is_general(void);
/** Bind the recording to the sizes of all inputs: for code that depends on them in a
 *  way that the library does not know. */
JIT_EXPORT bool jit_freeze_bind(void);

JIT_C_END

#if defined(__cplusplus)
#  include <drjit-core/checked_freeze.inc>
#endif

#endif
