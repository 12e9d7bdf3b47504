/*
 * drjit-core/jit.h -- the C interface of Dr.Jit in C (C99, usable from C++)
 *
 * A program written against this header *traces*: every jit_var_...() call
 * records one operation on a one-dimensional array and returns at once. When a
 * value is needed (jit_var_eval, jit_var_data, jit_var_read, jit_var_str, a
 * gather from an unevaluated array, ...) the recorded operations are fused into
 * kernels, which run in parallel on the vector units of the CPU.
 *
 * Conventions that hold for every function unless its comment says otherwise:
 *
 *   Variables   are named by a 32-bit index; 0 means "none" or "failed". A
 *               variable has a type, a size (number of entries, 1..2^32-1) and a
 *               backend. Size 1 broadcasts against every other size.
 *   Ownership   A returned index holds one reference that the caller releases
 *               with jit_var_dec_ref(). Index arguments are borrowed.
 *   Errors      are values: the function returns 0, NULL or false, leaves its
 *               arguments and the graph as they were, and jit_error() /
 *               jit_error_message() of the calling thread say what happened. A
 *               successful call does not reset them; jit_error_clear() does. An
 *               operand 0 gives JIT_ERROR_ARGUMENT like any other bad index.
 *   Threads     Every function may be called from any thread at any time. Flags,
 *               scheduled variables and label prefixes belong to the calling
 *               thread; each thread runs its kernels in a stream of its own.
 *
 * Control flow is declared in drjit-core/region.h, recording and repeating of whole
 * functions in drjit-core/freeze.h, textures in drjit-core/texture.h, what was launched
 * and how long it took in drjit-core/history.h, which come with this header.
 */
#ifndef DRJIT_CORE_JIT_H
#define DRJIT_CORE_JIT_H

#include <drjit-core/types.h>

JIT_C_BEGIN

/* ------------------------------------------------------------------ errors */

/** Code of the calling thread's last error (a JitError), JIT_OK if there was none. */
JIT_EXPORT int jit_error(void);

/** Message of the calling thread's last error, "" if there was none. It names the
 *  function, what was found and what was expected; valid until the thread's next
 *  failing call. */
JIT_EXPORT const char *jit_error_message(void);

/** Forget the calling thread's last error. */
JIT_EXPORT void jit_error_clear(void);

/* -------------------------------------------------------------------- life */

/** Initialise the given backends (OR of JitBackend bits). Calling it again adds
 *  backends. Fails (and still initialises the others) when a backend is not available;
 *  use jit_has_backend() to find out. No engine is loaded before it is needed. */
JIT_EXPORT bool jit_init(uint32_t backends);

/** The same as jit_init(), which does nothing that takes long: what an engine needs is
 *  loaded when a kernel needs the engine. */
JIT_EXPORT bool jit_init_async(uint32_t backends);

/** Was this backend initialised? */
JIT_EXPORT bool jit_has_backend(JitBackend backend);

/** Wait for all work, and for calls of other threads to end, report variables and
 *  memory that are still referenced (with their labels, at LogLevelWarn) and release
 *  everything but those. Other threads may go on: until it returns, their evaluations
 *  are refused. With 'light' nonzero, kernels and caches stay. Returns the number of
 *  leaked variables. jit_init() works afterwards. */
JIT_EXPORT uint32_t jit_shutdown(int light);
/** To be called before exit() if other threads may go on: waits for kernels that are
 *  being compiled, and from then on an evaluation that needs a new one is an error
 *  (JIT_ERROR_STATE). Does not wait for what runs. (exit() calls the destructors of
 *  libLLVM, which must not meet a compile.) */
JIT_EXPORT void jit_prepare_exit(void);

/** Ask all work that was begun so far, by all threads, to stop, evaluations in
 *  progress included; it does so at the next end of a block of lanes or iteration of a
 *  loop. What it was to write is not computed: reading that fails with
 *  JIT_ERROR_INTERRUPTED, and so do calls that wait for it, and what depends on it.
 *  Evaluating it again (jit_var_eval(), jit_var_schedule()) computes it. That is not
 *  possible for scatters into arrays, prints, or with JitFlagDebug, nor where an array
 *  it depends on was overwritten since: then it stays failed. Work that begins later is
 *  not affected. Async-signal-safe. */
JIT_EXPORT void jit_interrupt(void);

/** Wait until all work enqueued by this thread has finished, including reductions that
 *  it has traced (they are part of the next evaluation). Fails under
 *  JitFlagForbidSynchronization. Reports errors of asynchronous work. */
JIT_EXPORT bool jit_sync_thread(void);
/** Is there anything for jit_sync_thread() to do, or to wait for? */
JIT_EXPORT bool jit_sync_pending(void);
/** From jit_launch_hold(true) to jit_launch_hold(false), what this thread has evaluated
 *  does not begin, unless somebody waits for some of it, another thread has evaluated
 *  what depends on it, or this one has to compile a kernel or ends.
 *  Then launches of one kernel on different arrays can be one job of the device, which
 *  knows how much they move together. Such ranges can be nested. */
JIT_EXPORT void jit_launch_hold(bool hold);
/** Wait until all work on the calling thread's device (here: the CPU) has finished. */
JIT_EXPORT bool jit_sync_device(void);
/** Wait until all work of all threads and devices has finished. */
JIT_EXPORT bool jit_sync_all_devices(void);

/* --------------------------------------------------------------------- log */

JIT_C_END
/** Receives log lines. Called without any lock held, in the thread that logged. In the
 *  middle of an evaluation, it cannot evaluate other writes, since these would overtake
 *  those of the evaluation: that is an error. */
typedef void (*LogCallback)(LogLevel level, const char *message);
JIT_C_BEGIN

/** Level of messages written to stderr. It starts at LogLevelInfo; the first jit_init()
 *  sets it to what the environment variable DRJIT_LOG_LEVEL names (none, error, warn,
 *  info, infosym, debug, trace), if that is set. */
JIT_EXPORT void jit_set_log_level_stderr(LogLevel level);
JIT_EXPORT LogLevel jit_log_level_stderr(void);
/** A function that writes what otherwise goes to stderr (NULL: stderr again). Messages
 *  that it causes itself go to stderr. */
JIT_EXPORT void jit_set_log_output(LogCallback write);
/** Compiling that takes longer than a second shows a line on stderr, if that is a
 *  terminal, and erases it when done (DRJIT_PROGRESS: other milliseconds, 0: never).
 *  False: no lines from now on. At the start, it is true. */
JIT_EXPORT void jit_set_progress(bool enabled);
/** Send messages up to 'level' to 'callback' also (NULL: to none). */
JIT_EXPORT void jit_set_log_level_callback(LogLevel level, LogCallback callback);
JIT_EXPORT LogLevel jit_log_level_callback(void);
/** Write a message to the log. */
JIT_EXPORT void jit_log(LogLevel level, const char *format, ...) JIT_PRINTF(2, 3);

/* ------------------------------------------------------------------- flags */

/** Replace all flags of the calling thread. */
JIT_EXPORT void jit_set_flags(uint32_t flags);
/** All flags of the calling thread. */
JIT_EXPORT uint32_t jit_flags(void);
/** Switch one flag of the calling thread on (nonzero) or off. */
JIT_EXPORT void jit_set_flag(JitFlag flag, int enable);
/** Is this flag set for the calling thread? */
JIT_EXPORT int jit_flag(JitFlag flag);

/* --------------------------------------------------------------------- CPU */

/** Version of the libLLVM in use. Loads it if need be; false if there is none. */
JIT_EXPORT bool jit_llvm_version(int *major, int *minor, int *patch);
/** Threads that share a launch, the calling one included; 0 and 1: only the calling
 *  one. */
JIT_EXPORT bool jit_llvm_set_thread_count(uint32_t count);
JIT_EXPORT uint32_t jit_llvm_thread_count(void);
/** Choose CPU name (NULL: the one we run on), feature string ("+avx2,-avx512f", may be
 *  NULL) and vector width (a power of two from 1 to 64, 0: the default) for code
 *  generation. Kernels are kept apart by target. One that is being made is still for
 *  the target chosen before. */
JIT_EXPORT bool jit_llvm_set_target(const char *cpu, const char *features,
                                    uint32_t width);
/** The names in use; valid until the process ends. */
JIT_EXPORT const char *jit_llvm_target_cpu(void);
JIT_EXPORT const char *jit_llvm_target_features(void);
/** Lanes of a packet (32-bit lanes in one vector register by default). */
JIT_EXPORT uint32_t jit_llvm_vector_width(void);
/** Entries that one unit of parallel work holds at least (default 16384). */
JIT_EXPORT bool jit_llvm_set_block_size(uint32_t size);
JIT_EXPORT uint32_t jit_llvm_block_size(void);
/** Largest target (entries) for which Auto scatter-reductions may use Expand
 *  (default 2^20). */
JIT_EXPORT void jit_set_expand_threshold(size_t entries);
JIT_EXPORT size_t jit_expand_threshold(void);

/* ------------------------------------------------------------------ memory */

/** 'size' bytes, aligned to 64, from the buffer cache. NULL on failure or size 0. */
JIT_EXPORT void *jit_malloc(JitBackend backend, size_t size);
/** Return memory of jit_malloc(); queued work that uses it may still finish. NULL is
 *  fine. */
JIT_EXPORT bool jit_free(void *ptr);
/** Copy after all work of this thread's stream; returns when it is done. */
JIT_EXPORT bool jit_memcpy(JitBackend backend, void *dst, const void *src, size_t size);
/** The same as stream work. Both regions must stay valid until it has run. */
JIT_EXPORT bool jit_memcpy_async(JitBackend backend, void *dst, const void *src,
                                 size_t size);
/** Fill 'count' items of 'item_size' (1, 2, 4 or 8) bytes with the item at 'src', as
 *  stream work. The item is copied at once. */
JIT_EXPORT bool jit_memset_async(JitBackend backend, void *ptr, uint32_t count,
                                 uint32_t item_size, const void *src);
/** Memory of jit_malloc() with the same content for another backend. With 'move', 'ptr'
 *  is released (and may be returned itself). */
JIT_EXPORT void *jit_malloc_migrate(void *ptr, JitBackend backend, int move);
/** Device of a jit_malloc() pointer: -1 for the CPU. */
JIT_EXPORT int jit_malloc_device(void *ptr);
/** Most bytes ever in use at once since the last jit_malloc_clear_statistics(). */
JIT_EXPORT size_t jit_malloc_watermark(JitBackend backend);
JIT_EXPORT void jit_malloc_clear_statistics(void);
/** Return unused cached memory to the operating system. */
JIT_EXPORT void jit_flush_malloc_cache(void);
/** Most bytes of unused memory that are kept for later arrays: a quarter of the
 *  machine's memory unless set, with at least 1. What has not been used for about ten
 *  seconds is returned eventually in any case. */
JIT_EXPORT bool jit_set_malloc_cache_limit(JitBackend backend, size_t bytes);
JIT_EXPORT size_t jit_malloc_cache_limit(JitBackend backend);
/** Release all kernels held in memory (not the ones on disk). Waits for running
 *  ones. */
JIT_EXPORT void jit_flush_kernel_cache(void);
/** Folder of the disk cache, "" when it is off. Asking touches no file: whether the
 *  folder can be used shows when the first kernel is looked for in it, which only the
 *  engine `llvm` does. Valid until jit_shutdown(). */
JIT_EXPORT const char *jit_cache_dir(void);

/* ---------------------------------------------------------------- registry */

/** Give the object at 'ptr' an id (1, 2, ... lowest free first) within (variant,
 *  domain). Fails for NULL and for pointers that are registered already. */
JIT_EXPORT uint32_t jit_registry_put(const char *variant, const char *domain,
                                     void *ptr);
/** Take an object out again. */
JIT_EXPORT bool jit_registry_remove(const void *ptr);
/** Id of an object, 0 for NULL or an object that is not registered. */
JIT_EXPORT uint32_t jit_registry_id(const void *ptr);
/** Largest id in use in (variant, domain). */
JIT_EXPORT uint32_t jit_registry_id_bound(const char *variant, const char *domain);
/** Write the pointers of ids 1 ... id_bound to 'out' (NULL where an id is free). */
JIT_EXPORT void jit_registry_get_pointers(const char *variant, const char *domain,
                                          void **out);
/** Object behind an id, NULL for 0 or a free id. */
JIT_EXPORT void *jit_registry_ptr(const char *variant, const char *domain, uint32_t id);
/** Any one object of (variant, domain), NULL if there is none. */
JIT_EXPORT void *jit_registry_peek(const char *variant, const char *domain);
/** Forget all objects. */
JIT_EXPORT void jit_registry_clear(void);

/* ---------------------------------------------------------------- creation */

/** A literal: 'size' entries of one value, read from '*value' (of the given type). With
 *  'eval', it is written to memory at once and treated as opaque by the tracer. */
JIT_EXPORT uint32_t jit_var_literal(JitBackend backend, VarType type, const void *value,
                                    size_t size, int eval);
/** Literals of size 1. */
JIT_EXPORT uint32_t jit_var_bool(JitBackend backend, bool value);
JIT_EXPORT uint32_t jit_var_i8(JitBackend backend, int8_t value);
JIT_EXPORT uint32_t jit_var_u8(JitBackend backend, uint8_t value);
JIT_EXPORT uint32_t jit_var_i16(JitBackend backend, int16_t value);
JIT_EXPORT uint32_t jit_var_u16(JitBackend backend, uint16_t value);
JIT_EXPORT uint32_t jit_var_i32(JitBackend backend, int32_t value);
JIT_EXPORT uint32_t jit_var_u32(JitBackend backend, uint32_t value);
JIT_EXPORT uint32_t jit_var_i64(JitBackend backend, int64_t value);
JIT_EXPORT uint32_t jit_var_u64(JitBackend backend, uint64_t value);
/** Half precision, given as a float and rounded to nearest even. */
JIT_EXPORT uint32_t jit_var_f16(JitBackend backend, float value);
JIT_EXPORT uint32_t jit_var_f32(JitBackend backend, float value);
JIT_EXPORT uint32_t jit_var_f64(JitBackend backend, double value);
/** An array whose content is arbitrary. Memory is taken when it is evaluated. */
JIT_EXPORT uint32_t jit_var_undefined(JitBackend backend, VarType type, size_t size);
/** 0, 1, ..., size - 1 (UInt32). Size 1 gives the literal 0. */
JIT_EXPORT uint32_t jit_var_counter(JitBackend backend, size_t size);
JIT_EXPORT uint32_t jit_var_new_counter(JitBackend backend, size_t size);
/** An array on the caller's own memory, aligned to the entry size. With 'free' nonzero
 *  the library calls C's free() when the last user is done, otherwise the memory must
 *  outlive the variable and all queued work: jit_var_mem_map_release() tells when that
 *  is the case. On failure nothing is freed. */
JIT_EXPORT uint32_t jit_var_mem_map(JitBackend backend, VarType type, void *ptr,
                                    size_t size, int free);
/** The same, but 'release(ptr, payload)' is called once neither the variable nor queued
 *  work needs the memory any more. It runs in any thread, perhaps under locks of the
 *  library, which it must not call. On failure it is not called. */
JIT_EXPORT uint32_t jit_var_mem_map_release(JitBackend backend, VarType type, void *ptr,
                                            size_t size,
                                            void (*release)(void *ptr, void *payload),
                                            void *payload);
/** The same, but the library does not write to the memory: what would change the array
 *  makes a copy. While a function is recorded (freeze.h), this is a copy, and
 *  'release' is called at once. */
JIT_EXPORT uint32_t jit_var_mem_share(JitBackend backend, VarType type, void *ptr,
                                      size_t size,
                                      void (*release)(void *ptr, void *payload),
                                      void *payload);
/** Wait for submitted work of this thread that reads such memory: afterwards its owner
 *  may write to it. Failures are reported where they always are. One load if there is
 *  no such work. */
JIT_EXPORT void jit_sync_guests(void);
/** An array holding a copy of 'size' entries at 'ptr'; the copy is done on return. */
JIT_EXPORT uint32_t jit_var_mem_copy(JitBackend backend, VarType type, const void *ptr,
                                     size_t size);
/** A variable of its own with the same content, in memory if the source is. */
JIT_EXPORT uint32_t jit_var_copy(uint32_t index);
/** The same content with another size: a size-1 variable is broadcast, an equal size is
 *  the same variable; anything else is an error. */
JIT_EXPORT uint32_t jit_var_resize(uint32_t index, size_t size);
/** The first 'size' entries of an array (evaluates it). */
JIT_EXPORT uint32_t jit_var_shrink(uint32_t index, size_t size);
/** The same content for another backend; the same variable when it is there already. */
JIT_EXPORT uint32_t jit_var_migrate(uint32_t index, JitBackend backend);
/** A pointer (size 1) to memory. If 'dep' is given, it is kept alive by the pointer;
 *  with 'write' the pointer will be written through. */
JIT_EXPORT uint32_t jit_var_pointer(JitBackend backend, const void *value, uint32_t dep,
                                    int write);
/** The size of 'index' as a UInt32 of size 1 that kernels do not bake in. */
JIT_EXPORT uint32_t jit_var_opaque_width(uint32_t index);
/** Entries in opposite order. */
JIT_EXPORT uint32_t jit_var_reverse(uint32_t index);
/** The whole array 'count' times: a b a b a b. */
JIT_EXPORT uint32_t jit_var_tile(uint32_t index, size_t count);
/** Every entry 'count' times: a a a b b b. */
JIT_EXPORT uint32_t jit_var_repeat(uint32_t index, size_t count);

/* -------------------------------------------------------------- statements */

/** A variable computed by a statement in the backend's language, LLVM IR on the CPU and
 *  PTX on CUDA, with 0 to 4 operands. Escapes: $r0 result, $r1.. operands (registers);
 *  $t0.. scalar type, $b0.. type as plain bits, $a0.. type in memory, $s0.. entry size
 *  in bytes, $i0.. variable index, $o0.. literal value; $n new line, $$ a dollar. In
 *  LLVM IR alone: $T0.. vector type, $w packet width. In PTX, masks are predicates and
 *  integers of 8 bits are in registers of 16; the statement is a block, so that
 *  registers and labels that it declares are its own, and its last semicolon may be
 *  left out. The string must stay valid as long as the program runs (static storage);
 *  the _copy form of the creation functions is jit_var_stmt() with 'copy' nonzero. Of
 *  the engines of the CPU only 'llvm' can run these; without it, evaluation fails and
 *  says so. Text that is wrong is an error of the evaluation (JIT_ERROR_COMPILE). */
JIT_EXPORT uint32_t jit_var_stmt(JitBackend backend, VarType type, const char *stmt,
                                 int copy, uint32_t n_operands,
                                 const uint32_t *operands);
JIT_EXPORT uint32_t jit_var_new_stmt_0(JitBackend backend, VarType type,
                                       const char *stmt);
JIT_EXPORT uint32_t jit_var_new_stmt_1(JitBackend backend, VarType type,
                                       const char *stmt,
                                       uint32_t a);
JIT_EXPORT uint32_t jit_var_new_stmt_2(JitBackend backend, VarType type,
                                       const char *stmt,
                                       uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_new_stmt_3(JitBackend backend, VarType type,
                                       const char *stmt,
                                       uint32_t a, uint32_t b, uint32_t c);
JIT_EXPORT uint32_t jit_var_new_stmt_4(JitBackend backend, VarType type,
                                       const char *stmt,
                                       uint32_t a, uint32_t b, uint32_t c, uint32_t d);
/** The same as jit_var_new_stmt_0() to jit_var_new_stmt_4(). */
JIT_EXPORT uint32_t jit_var_new_0(JitBackend backend, VarType type, const char *stmt);
JIT_EXPORT uint32_t jit_var_new_1(JitBackend backend, VarType type, const char *stmt,
                                  uint32_t a);
JIT_EXPORT uint32_t jit_var_new_2(JitBackend backend, VarType type, const char *stmt,
                                  uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_new_3(JitBackend backend, VarType type, const char *stmt,
                                  uint32_t a, uint32_t b, uint32_t c);
JIT_EXPORT uint32_t jit_var_new_4(JitBackend backend, VarType type, const char *stmt,
                                  uint32_t a, uint32_t b, uint32_t c, uint32_t d);

/* -------------------------------------------------------------- arithmetic */

/** Apply 'op' to as many operands as it takes. Operands of one operation have the same
 *  type and backend (exceptions below) and sizes that are equal or 1. */
JIT_EXPORT uint32_t jit_var_op(JitOp op, const uint32_t *operands);
/** jit_var_op() of a variable and a number of its type, or of the number and the
 *  variable if 'number_first': what a literal of one entry gives, in one step. 'bits'
 *  are those of the number, in the low bytes. For operations with two operands. */
JIT_EXPORT uint32_t jit_var_op_number(JitOp op, uint32_t a, uint64_t bits,
                                      int number_first);
JIT_EXPORT uint32_t jit_var_new_op_1(JitOp op, uint32_t a);
JIT_EXPORT uint32_t jit_var_new_op_2(JitOp op, uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_new_op_3(JitOp op, uint32_t a, uint32_t b, uint32_t c);
JIT_EXPORT uint32_t jit_var_new_op_4(JitOp op, uint32_t a, uint32_t b, uint32_t c,
                                     uint32_t d);

/** -a, for floats (flips the sign bit) and integers (wraps). */
JIT_EXPORT uint32_t jit_var_neg(uint32_t a);
/** Bitwise complement, for integers and masks. */
JIT_EXPORT uint32_t jit_var_not(uint32_t a);
/** Square root, correctly rounded; NaN below 0. Floats. */
JIT_EXPORT uint32_t jit_var_sqrt(uint32_t a);
/** 1 / a, correctly rounded. Floats. */
JIT_EXPORT uint32_t jit_var_rcp(uint32_t a);
/** |a|; the most negative integer stays itself. */
JIT_EXPORT uint32_t jit_var_abs(uint32_t a);
/** Rounding to integers: up, down, to nearest (ties to even), towards zero. Integers
 *  pass. */
JIT_EXPORT uint32_t jit_var_ceil(uint32_t a);
JIT_EXPORT uint32_t jit_var_floor(uint32_t a);
JIT_EXPORT uint32_t jit_var_round(uint32_t a);
JIT_EXPORT uint32_t jit_var_trunc(uint32_t a);
/** Number of one bits, leading and trailing zeros (the type's width for 0), reversed
 *  bits. Integers; the result has the operand's type. */
JIT_EXPORT uint32_t jit_var_popc(uint32_t a);
JIT_EXPORT uint32_t jit_var_clz(uint32_t a);
JIT_EXPORT uint32_t jit_var_ctz(uint32_t a);
JIT_EXPORT uint32_t jit_var_brev(uint32_t a);
/** Sum, difference, product: integers wrap, floats round to nearest even. */
JIT_EXPORT uint32_t jit_var_add(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_sub(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_mul(uint32_t a, uint32_t b);
/** Quotient. Integers truncate; a / 0 is 0, and the most negative integer / -1 is
 *  itself. */
JIT_EXPORT uint32_t jit_var_div(uint32_t a, uint32_t b);
/** Remainder of the integer division with the sign of a; a mod 0 is a. */
JIT_EXPORT uint32_t jit_var_mod(uint32_t a, uint32_t b);
/** Upper half of the double-width product of two integers. */
JIT_EXPORT uint32_t jit_var_mul_hi(uint32_t a, uint32_t b);
/** Double-width product of two integers of 8 to 32 bits; the result type is twice as
 *  wide. */
JIT_EXPORT uint32_t jit_var_mul_wide(uint32_t a, uint32_t b);
/** Smaller and larger operand. With one NaN the other operand; on ties (+0 and -0 too)
 *  min gives a and max gives b. */
JIT_EXPORT uint32_t jit_var_min(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_max(uint32_t a, uint32_t b);
/** As IEEE 754-2019 minimumNumber and maximumNumber: NaN is missing data and -0 < +0.
 *  Floats. */
JIT_EXPORT uint32_t jit_var_fmin(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_fmax(uint32_t a, uint32_t b);
/** Magnitude of a with the sign bit of b. Floats. */
JIT_EXPORT uint32_t jit_var_copysign(uint32_t a, uint32_t b);
/** Comparisons: a mask. With a NaN operand only neq is true. eq and neq take every
 *  type, the ordering ones all but masks and pointers. */
JIT_EXPORT uint32_t jit_var_eq(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_neq(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_lt(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_le(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_gt(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_ge(uint32_t a, uint32_t b);
/** Bitwise operations on integers and masks. The second operand of 'and' and 'or' may
 *  be a mask beside any other type: a & m is m ? a : 0, a | m is m ? all ones : a. */
JIT_EXPORT uint32_t jit_var_and(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_or(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_xor(uint32_t a, uint32_t b);
/** Shift by b bits, b taken as unsigned: left, and right (with sign fill for signed
 *  types). Shifts by the type's width or more give 0, or all sign bits. */
JIT_EXPORT uint32_t jit_var_shl(uint32_t a, uint32_t b);
JIT_EXPORT uint32_t jit_var_shr(uint32_t a, uint32_t b);
/** a * b + c; rounded once for floats, wrapping for integers. */
JIT_EXPORT uint32_t jit_var_fma(uint32_t a, uint32_t b, uint32_t c);
/** m ? a : b; m is a mask. */
JIT_EXPORT uint32_t jit_var_select(uint32_t m, uint32_t a, uint32_t b);
/** Functions of floats, in radians where there are angles. Results are within 1 ulp of
 *  the exact value for every argument, subnormal ones and results included; odd
 *  functions are odd bit for bit; zeros, infinities and NaN as in Annex F of the C
 *  standard. All engines give the same bits. docs/accuracy.md has the error of each. */
JIT_EXPORT uint32_t jit_var_sin(uint32_t a);
JIT_EXPORT uint32_t jit_var_cos(uint32_t a);
JIT_EXPORT uint32_t jit_var_tan(uint32_t a);
JIT_EXPORT uint32_t jit_var_asin(uint32_t a);
JIT_EXPORT uint32_t jit_var_acos(uint32_t a);
JIT_EXPORT uint32_t jit_var_atan(uint32_t a);
JIT_EXPORT uint32_t jit_var_sinh(uint32_t a);
JIT_EXPORT uint32_t jit_var_cosh(uint32_t a);
JIT_EXPORT uint32_t jit_var_tanh(uint32_t a);
JIT_EXPORT uint32_t jit_var_asinh(uint32_t a);
JIT_EXPORT uint32_t jit_var_acosh(uint32_t a);
JIT_EXPORT uint32_t jit_var_atanh(uint32_t a);
JIT_EXPORT uint32_t jit_var_exp(uint32_t a);
JIT_EXPORT uint32_t jit_var_exp2(uint32_t a);
/** Natural logarithm, and that to the base 2; NaN below 0. */
JIT_EXPORT uint32_t jit_var_log(uint32_t a);
JIT_EXPORT uint32_t jit_var_log2(uint32_t a);
/** 1 / sqrt(a); infinite for zeros, with their sign, NaN below 0. */
JIT_EXPORT uint32_t jit_var_rsqrt(uint32_t a);
/** Cube root; negative for negative arguments. */
JIT_EXPORT uint32_t jit_var_cbrt(uint32_t a);
/** Error function, its inverse (NaN beyond -1 ... 1), log |gamma(a)|, and the
 *  derivative of log(gamma(a)): -inf at 0, +inf at -0, NaN at negative integers. */
JIT_EXPORT uint32_t jit_var_erf(uint32_t a);
JIT_EXPORT uint32_t jit_var_erfinv(uint32_t a);
JIT_EXPORT uint32_t jit_var_lgamma(uint32_t a);
JIT_EXPORT uint32_t jit_var_digamma(uint32_t a);
/** Angle of the point (x, y) with the x axis, -pi ... pi. Note the order. */
JIT_EXPORT uint32_t jit_var_atan2(uint32_t y, uint32_t x);
/** a to the power of b. */
JIT_EXPORT uint32_t jit_var_power(uint32_t a, uint32_t b);
/** sqrt(a * a + b * b), also where a square is out of range. */
JIT_EXPORT uint32_t jit_var_hypot(uint32_t a, uint32_t b);
/** 0 where a < b, 1 elsewhere (also if one is a NaN), in the type of the operands:
 *  numbers of one type. Errors are those of jit_var_lt(). */
JIT_EXPORT uint32_t jit_var_step(uint32_t a, uint32_t b);
/** Both functions of one argument; a kernel that has both computes what they share
 *  once. Two new references, or two zeros after an error. */
JIT_EXPORT void jit_var_sincos(uint32_t a, uint32_t *sine, uint32_t *cosine);
JIT_EXPORT void jit_var_sincosh(uint32_t a, uint32_t *sine, uint32_t *cosine);
/** Convert to another type. Float to integer truncates and saturates, NaN gives 0;
 *  integers wrap; to Bool is != 0. With 'reinterpret' the bits are kept: both types
 *  need the same size. Pointers convert to and from UInt64 by reinterpreting only. */
JIT_EXPORT uint32_t jit_var_cast(uint32_t index, VarType type, int reinterpret);
JIT_EXPORT uint32_t jit_var_new_cast(uint32_t index, VarType type, int reinterpret);

/* ---------------------------------------------------------- host arithmetic */

/* The operations above on values in the caller's memory, at once, with exactly the bits
 * that kernels compute. No backend needs to be initialised and no lock is taken. Masks
 * are bytes 0 and 1, f16 are the 2 bytes of the format. Memory is aligned to its entry
 * size; a result may be the same memory as an operand of the same type. */

JIT_C_END
/** A host operand: 'step' is 1 for an array of n values, 0 for one value used for
 *  all. */
typedef struct JitHostOperand {
    const void *data;
    uint32_t step;
} JitHostOperand;
JIT_C_BEGIN
/** Compute 'op' on n host values. 'type' is the type of the first operand (of the
 *  second for a selection). The result has the type that jit_var_op() gives: 'type',
 *  Bool for comparisons, twice the width for the wide product. All operands have this
 *  type, except the mask of a selection. */
JIT_EXPORT bool jit_host_op(JitOp op, VarType type, size_t n,
                            const JitHostOperand *operands, void *result);
/** jit_var_cast() of n host values. */
JIT_EXPORT bool jit_host_cast(VarType from, VarType to, int reinterpret, size_t n,
                              const void *src, void *dst);
/** jit_var_reduce() of n (at least 1) host values to one, in the same order. */
JIT_EXPORT bool jit_host_reduce(ReduceOp op, VarType type, size_t n, const void *src,
                                void *dst);
/** jit_var_block_prefix_reduce() of n host values, in the same order. 'block_size'
 *  divides n; 'src' and 'dst' may be the same. */
JIT_EXPORT bool jit_host_prefix_reduce(ReduceOp op, VarType type, size_t n,
                                       size_t block_size, int exclusive, int reverse,
                                       const void *src, void *dst);

/* -------------------------------------------------------------- memory ops */

/** source[index] where mask is set, 0 elsewhere. 'index' is Int32 or UInt32, 'mask'
 *  Bool (0: always). Evaluates the source, unless that is a reduction that waits, or
 *  computed from such with few operations: then it waits as well. Positions beyond the
 *  source are undefined, unless JitFlagDebug is set: then they read 0 and are reported.
 *  A source with one entry gives it for all indices. */
JIT_EXPORT uint32_t jit_var_gather(uint32_t source, uint32_t index, uint32_t mask);
/** n (a power of two or three times one, 1 to 64) gathers from source[index * n + k]
 *  into out[k]; the size of the source is a multiple of n. */
JIT_EXPORT bool jit_var_gather_packet(size_t n, uint32_t source, uint32_t index,
                                      uint32_t mask, uint32_t *out);
/** target[index] = value (ReduceOpIdentity) or target[index] = op(target[index], value)
 *  where mask is set. Returns the written variable, to be used instead of 'target' from
 *  now on: it is 'target' itself (one more reference) if nobody else holds it, else a
 *  copy. Runs with the next evaluation and before every later read. If several lanes
 *  write one entry without reducing, one of them wins; which one is unspecified. */
JIT_EXPORT uint32_t jit_var_scatter(uint32_t target, uint32_t value, uint32_t index,
                                    uint32_t mask, ReduceOp op, ReduceMode mode);
/** n scatters to target[index * n + k] from values[k], as jit_var_gather_packet. */
JIT_EXPORT uint32_t jit_var_scatter_packet(size_t n, uint32_t target,
                                           const uint32_t *values, uint32_t index,
                                           uint32_t mask, ReduceOp op, ReduceMode mode);
JIT_C_END
/** A small matrix that all lanes share: 'rows' times 'columns' entries, row by row from
 *  entry 'offset' of an array of floats on, 1 to 8192 of each. 'transpose': the matrix
 *  is the transpose of what is stored, which has 'columns' rows. */
typedef struct JitMatrix {
    uint32_t array;
    size_t offset, rows, columns;
    int transpose;
} JitMatrix;
JIT_C_BEGIN
/** In each lane, the product of a matrix with the vector 'x' of as many variables as it
 *  has columns, all of the array's type; 'add', NULL or one variable for each row, is
 *  added. Writes a variable for each row to 'out'. Each sum begins with what is added,
 *  goes through the columns in ascending order with fused operations, in Float32 for
 *  Float16, and is rounded to the type once. Evaluates the array. */
JIT_EXPORT bool jit_var_matvec(const JitMatrix *matrix, const uint32_t *x,
                               const uint32_t *add, uint32_t *out);
/** Each lane whose mask is set (0: all) adds left[i] * right[k] to entry (i, k) of a
 *  matrix. Returns the written array, as jit_var_scatter(); sums are made in private
 *  copies of the array, one for each thread, each in the order of its lanes. An error
 *  under JitFlagDeterministic. */
JIT_EXPORT uint32_t jit_var_outer(const JitMatrix *matrix, const uint32_t *left,
                                  const uint32_t *right, uint32_t mask);
/** Atomically add 1 to the UInt32 array '*target' at 'index' and return the previous
 *  values (undefined where masked). '*target' is replaced if it had to be copied, its
 *  old reference released. The order of increments in one evaluation is unspecified.
 *  The result exists in one kernel only: see jit_var_scatter_exch. */
JIT_EXPORT uint32_t jit_var_scatter_inc(uint32_t *target, uint32_t index,
                                        uint32_t mask);
/** Atomically replace (*target)[index] by 'value', returning previous values (0 where
 *  masked). The result describes a moment of one kernel: it may be evaluated together
 *  with what uses it, but using it in a later kernel without that is an error. */
JIT_EXPORT uint32_t jit_var_scatter_exch(uint32_t *target, uint32_t value,
                                         uint32_t index,
                                         uint32_t mask);
/** Atomically replace (*target)[index] by 'value' where it equals 'compare' (bit for
 *  bit). out[0]: previous values, out[1]: mask of lanes that succeeded. */
JIT_EXPORT bool jit_var_scatter_cas(uint32_t *target, uint32_t compare, uint32_t value,
                                    uint32_t index, uint32_t mask, uint32_t out[2]);
/** Is this scatter-reduction available? */
JIT_EXPORT bool jit_can_scatter_reduce(JitBackend backend, VarType type, ReduceOp op);
/** Add 'value' to the sums (*target_1)[index] + (*target_2)[index] where mask is set:
 *  'target_1' holds the sums, and 'target_2', of the same type and size, the rounding
 *  errors that the sums have left out (start it with zeros). Adding both arrays at the
 *  end gives compensated sums (Kahan, Neumaier). f32 and f64. Targets are replaced if
 *  they had to be copied, their old references released; both may hold one variable
 *  (equal literals are merged), and become two. The order of additions in one
 *  evaluation is unspecified. */
JIT_EXPORT bool jit_var_scatter_add_kahan(uint32_t *target_1, uint32_t *target_2,
                                          uint32_t value, uint32_t index,
                                          uint32_t mask);
/** Read one entry into '*dst' (of the variable's type). Evaluates and waits. */
JIT_EXPORT bool jit_var_read(uint32_t index, size_t offset, void *dst);
/** Write one entry. Returns the written variable as jit_var_scatter does. */
JIT_EXPORT uint32_t jit_var_write(uint32_t index, size_t offset, const void *src);
/** Evaluate (literals too), wait, and give the address of the entries in '*ptr'.
 *  Returns the variable to use from now on (a new reference). Masks are one byte an
 *  entry. */
JIT_EXPORT uint32_t jit_var_data(uint32_t index, void **ptr);
/** The same for memory that will be written to. Readers of the variable must not see
 *  that: if there are references other than the caller's 'own' ones and those that are
 *  lent, the result is a copy. jit_var_take_back() drops the reference. */
JIT_EXPORT uint32_t jit_var_lend(uint32_t index, uint32_t own, void **ptr);
/** The memory is not written to any more. */
JIT_EXPORT void jit_var_take_back(uint32_t index);
/** UInt32 indices of the set entries of a mask, in order. Evaluates and waits. The size
 *  is their number; with none set the result is an empty array (size 0), which only
 *  jit_var_size, jit_var_str and jit_var_dec_ref accept. */
JIT_EXPORT uint32_t jit_var_compress(uint32_t mask);
/** The same for a temporary: the caller holds 'refs' references to the mask, and does
 *  not need its entries any more. If there are no others, a mask that has not been
 *  computed is not written to memory, and stays as it is. */
JIT_EXPORT uint32_t jit_var_compress_temporary(uint32_t mask, uint32_t refs);

/* -------------------------------------------------------------- reductions */

/* Reductions are part of the kernel that computes their input, and wait for it; of
 * arrays that are in memory, prefix reductions run as stream work at once. Without
 * JitFlagFuseReductions all of them do, and evaluate their input. Sums of floats are
 * taken in one documented order that does not depend on threads or engine
 * (docs/dev/threads.md).
 * Types: Add, Mul, Min, Max take integers and floats; And, Or take integers and masks.
 * f16 is summed in f32 and rounded once at the end. */

/** Are all / is any entry set? A mask of size 1. */
JIT_EXPORT uint32_t jit_var_all(uint32_t index);
JIT_EXPORT uint32_t jit_var_any(uint32_t index);
/** Reduce all entries to one. */
JIT_EXPORT uint32_t jit_var_reduce(uint32_t index, ReduceOp op);
/** Sum of a[i] * b[i], fused multiply-adds. Floats. */
JIT_EXPORT uint32_t jit_var_reduce_dot(uint32_t a, uint32_t b);
/** Reduce consecutive blocks of 'block_size' entries (which divides the size). */
JIT_EXPORT uint32_t jit_var_block_reduce(ReduceOp op, uint32_t index,
                                         size_t block_size);
JIT_C_END
/** An axis of an array of (any, extent, stride) entries in row-major order. */
typedef struct JitAxis {
    size_t extent, stride;
    /** While a function is recorded, which of its sizes (JitSize in freeze.h, 0: none)
     *  these two are. NULL: both are plain numbers. */
    const uint64_t *sizes;
} JitAxis;
JIT_C_BEGIN
/** Reduce that axis: entry i of the result is that of the entries i % stride, + stride,
 *  + 2 * stride, ... of matrix i / stride, in this order. As stream work, with the bits
 *  of jit_var_block_reduce() for the transposed array. Errors: extent * stride is 0 or
 *  does not divide the size. */
JIT_EXPORT uint32_t jit_var_axis_reduce(ReduceOp op, uint32_t index,
                                        const JitAxis *axis);
/** Prefix reductions within blocks; 0 and the size mean the whole array. */
JIT_EXPORT uint32_t jit_var_block_prefix_reduce(ReduceOp op, uint32_t index,
                                                size_t block_size, int exclusive,
                                                int reverse);
/** The same along an axis: entry i combines the entries up to entry i, or with
 *  'reverse' those from it on, of those that jit_var_axis_reduce() would combine with
 *  it. Bits of jit_var_block_prefix_reduce() for the transposed array; errors as
 *  there. */
JIT_EXPORT uint32_t jit_var_axis_prefix_reduce(ReduceOp op, uint32_t index,
                                               const JitAxis *axis, int exclusive,
                                               int reverse);
JIT_C_END
/** Two neighbouring axes of an array of (any, rows, columns, items) entries in
 *  row-major order. */
typedef struct JitTranspose {
    size_t rows, columns, items;
    /** Which sizes these are, as in JitAxis. */
    const uint64_t *sizes;
} JitTranspose;
JIT_C_BEGIN
/** Let them change places: a copy, of (any, columns, rows, items) entries. Runs as
 *  stream work. Errors: rows * columns * items is 0 or does not divide the size. */
JIT_EXPORT uint32_t jit_var_transpose(uint32_t index, const JitTranspose *axes);
/** Sort consecutive blocks of 'block_size' entries (which divides the size; 0: the
 *  whole array), in ascending order, or with 'descending' in descending order.
 *  Integers, floats and Bool. NaN counts as larger than everything else; -0 and +0 are
 *  equal and keep their order, as all equal entries do. Runs as stream work. */
JIT_EXPORT uint32_t jit_var_sort(uint32_t index, size_t block_size, int descending);
/** The permutation that sorts: UInt32 positions within the array, so that gathering
 *  from them gives jit_var_sort(). Stable: equal entries keep their order, in both
 *  directions. */
JIT_EXPORT uint32_t jit_var_argsort(uint32_t index, size_t block_size, int descending);
JIT_C_END
/** A batch of matrix products, see jit_var_batched_gemm(). Sizes and strides count
 *  entries. */
typedef struct JitGemm {
    size_t m, n, k;           /**< op(A) is m x k, op(B) is k x n, results are m x n */
    bool transpose_a;         /**< A is stored as k x m, and op(A) is its transpose */
    bool transpose_b;         /**< B is stored as n x k, and op(B) is its transpose */
    size_t lda, ldb;          /**< from row to row as stored; 0: rows are contiguous */
    uint32_t batch_ndim;      /**< number of batch axes, may be 0 */
    const size_t *batch_shape; /**< extent of each */
    /** From one matrix to the next along each batch axis; 0: the same matrix again.
     *  NULL: the matrices are contiguous. */
    const size_t *batch_stride_a, *batch_stride_b;
    /** While a function is recorded, which of its sizes (JitSize in freeze.h, 0: none)
     *  m, n, k, lda and ldb are, and then, for each batch axis, its extent,
     *  batch_stride_a and batch_stride_b. Those of fields that are 0 or NULL above are
     *  ignored. NULL: all are plain numbers. */
    const uint64_t *sizes;
} JitGemm;
JIT_C_BEGIN
/** C[i] = op(A[i]) @ op(B[i]) for each index i of the batch, as stream work. 'a' and
 *  'b' hold matrices in row-major order and are evaluated first. They have one type, an
 *  integer (products wrap) or float (f16 is summed in f32 and rounded once). The result
 *  is a new variable with the matrices C one after the other, the last batch axis
 *  running fastest. Each entry is the sum of blocks of 256 products in order, a block
 *  being a chain of fused multiply-adds from 0: the same bits for any number of
 *  threads. With k = 0 it is a literal 0. Errors: sizes of 0 except k, a row stride
 *  shorter than a row, operands too small for the shape, a result of more than 2^32-1
 *  entries. */
JIT_EXPORT uint32_t jit_var_batched_gemm(uint32_t a, uint32_t b, const JitGemm *shape);
/** Neutral element of a reduction, as the bits of a value of that type. */
JIT_EXPORT bool jit_reduce_identity(VarType type, ReduceOp op, uint64_t *bits);
/** Stable counting sort. 'values' are 'size' UInt32 keys below 'bucket_count', treated
 *  in consecutive blocks of 'block_size'; 'perm' receives the indices (within the
 *  array) of the keys of each block in sorted order. If 'offsets' is given, it receives
 *  4 numbers for each non-empty bucket: bucket, start, size, 0. Memory is the caller's.
 *  Returns the number of such buckets (0 if 'offsets' is NULL); *ok says whether it
 *  worked. Waits. */
JIT_EXPORT uint32_t jit_block_mkperm(JitBackend backend, const uint32_t *values,
                                     uint32_t size, uint32_t block_size,
                                     uint32_t bucket_count, uint32_t *perm,
                                     uint32_t *offsets, bool *ok);

JIT_C_END
/** One element of jit_aggregate(): 'size' bytes at 'offset' of the destination.
 *  Positive sizes (1, 2, 4, 8) give the value itself in 'src'; negative ones a pointer
 *  in 'src' from which that many bytes are read when the job runs. */
typedef struct AggregationEntry {
    int32_t size;
    uint32_t offset;
    const void *src;
} AggregationEntry;
JIT_C_BEGIN
/** Assemble a block of memory from scattered values, as stream work. */
JIT_EXPORT bool jit_aggregate(JitBackend backend, void *dst,
                              const AggregationEntry *entries,
                              uint32_t count);

/* --------------------------------------------------------------- variables */

/** Add or drop a reference. dec_ref of 0 does nothing. jit_var_inc_ref returns its
 *  argument, or 0 if that is not a variable. */
JIT_EXPORT uint32_t jit_var_inc_ref(uint32_t index);
JIT_EXPORT void jit_var_dec_ref(uint32_t index);
/** The same for many at once; indices that are 0 are skipped. False: one that is to get
 *  a reference is not a variable, and no references were added. */
JIT_EXPORT bool jit_var_inc_refs(size_t count, const uint32_t *indices);
JIT_EXPORT void jit_var_dec_refs(size_t count, const uint32_t *indices);
JIT_EXPORT uint32_t jit_var_inc_ref_ext(uint32_t index);
JIT_EXPORT void jit_var_dec_ref_ext(uint32_t index);
/** Current number of references, 0 if there is no such variable. */
JIT_EXPORT uint32_t jit_var_ref(uint32_t index);
/** Number of entries. */
JIT_EXPORT size_t jit_var_size(uint32_t index);
/** The same, and a recording (freeze.h) does not depend on it: for comparisons with
 *  other sizes, with 0 and 1, and for sizes of what depends on the variable anyway. */
JIT_EXPORT size_t jit_var_peek_size(uint32_t index);
JIT_EXPORT VarType jit_var_type(uint32_t index);
JIT_EXPORT VarState jit_var_state(uint32_t index);
/** The same, but not noted by a recording (jit_freeze_foreign()): for the bookkeeping
 *  of a caller that keeps variables. */
JIT_EXPORT VarState jit_var_peek_state(uint32_t index);
/** Number of queued writes (scatters and the like) of all threads. An operation on an
 *  array with queued writes (VarStateDirty) evaluates them first: a caller that must
 *  not wait for so long, since it holds a lock of its own, can check this before. One
 *  load. */
JIT_EXPORT uint32_t jit_pending_writes(void);
/** Would an operation that needs the entries of an array return at once? True if it is
 *  small and in memory, or a literal, and nothing is queued before it. For the same
 *  callers: if not, they can release their lock meanwhile. */
JIT_EXPORT bool jit_var_at_hand(uint32_t index);
JIT_C_END
/** Everything about a variable at once. */
typedef struct VarInfo {
    JitBackend backend;
    VarType type;
    VarState state;
    size_t size;
    bool unaligned;     /**< mapped memory not aligned to 64 bytes */
    uint64_t literal;   /**< bits of the value if state is VarStateLiteral */
    void *data;         /**< address if evaluated (perhaps not computed yet) */
} VarInfo;
JIT_C_BEGIN
JIT_EXPORT bool jit_var_info(uint32_t index, VarInfo *info);
/** The same, and a recording does not depend on the size (see jit_var_peek_size()). */
JIT_EXPORT bool jit_var_peek_info(uint32_t index, VarInfo *info);
/** Are writes to this variable pending? */
JIT_EXPORT bool jit_var_is_dirty(uint32_t index);
/** Name a variable in whos, graphviz, messages and leak reports. Returns the variable
 *  that carries the label: a labelled copy of an unevaluated one that others share,
 *  else itself (a new reference). The string is copied; NULL removes the label. */
JIT_EXPORT uint32_t jit_var_set_label(uint32_t index, const char *label);
/** The label with its prefixes, NULL if there is none. Valid while the variable
 *  lives. */
JIT_EXPORT const char *jit_var_label(uint32_t index);
/** The file that jit_set_source_location() named when the variable was made, and in
 *  'line' (may be NULL) its line. NULL: not known. Valid until shutdown. */
JIT_EXPORT const char *jit_var_location(uint32_t index, uint32_t *line);
/** Call 'callback(index, 1, payload)' when the variable is freed (and with 0 when its
 *  memory was replaced by evaluation). Called without locks held, and by a thread that
 *  is evaluating only after that. One per variable; NULL removes. */
JIT_EXPORT bool jit_var_set_callback(uint32_t index,
                                     void (*callback)(uint32_t index, int freed,
                                                      void *payload),
                                     void *payload);
/** Entries as text, "[0.5, 1.5, ...]", numbers as %g, of more than 20 entries the first
 *  and last three. Evaluates and waits. Valid until this thread's next call of it. */
JIT_EXPORT const char *jit_var_str(uint32_t index);
/** Table of all live variables. Valid until this thread's next call of it. */
JIT_EXPORT const char *jit_var_whos(void);
/** The graph in the dot language. Valid until this thread's next call of it. */
JIT_EXPORT const char *jit_var_graphviz(void);

/* -------------------------------------------------------------- evaluation */

/** Let the thread's next evaluation compute this variable. Returns true if there was
 *  something to schedule. Literals stay literals. */
JIT_EXPORT bool jit_var_schedule(uint32_t index);
/** The same for literals too. Returns the variable to use (a new reference; a copy if a
 *  literal is shared); *rv says whether something was scheduled. */
JIT_EXPORT uint32_t jit_var_schedule_force(uint32_t index, int *rv);
/** Schedule and evaluate. Returns false with jit_error() == JIT_OK if there was nothing
 *  to do. */
JIT_EXPORT bool jit_var_eval(uint32_t index);
/** Evaluate the queued writes into an array, as an operation that reads it does. */
JIT_EXPORT bool jit_var_eval_writes(uint32_t index);
/** Evaluate all that this thread has scheduled, and its pending writes. */
JIT_EXPORT bool jit_eval(void);
/** Is there anything for jit_eval() to do, or to wait for? */
JIT_EXPORT bool jit_eval_pending(void);
/** Run a function in the stream, after the work enqueued so far. */
JIT_EXPORT bool jit_enqueue_host_func(JitBackend backend, void (*callback)(void *),
                                      void *payload);
/** Text of the Program that an evaluation of this variable alone would compile. Valid
 *  until this thread's next call of it. */
JIT_EXPORT const char *jit_program_str(uint32_t index);

/* ------------------------------------------------------------------ labels */

/** Prepend "label/" to labels of this thread, until popped. */
JIT_EXPORT bool jit_prefix_push(JitBackend backend, const char *label);
JIT_EXPORT bool jit_prefix_pop(JitBackend backend);
/** Attach file and line to variables that this thread creates, and to work that it
 *  enqueues, from now on (reported by JitFlagDebug, by literal generalisation, in the
 *  kernel history). NULL ends it. The string is copied. */
JIT_EXPORT void jit_set_source_location(const char *file, uint32_t line);

/* ------------------------------------------------------------------ events */

JIT_C_END
typedef struct JitEvent JitEvent;
JIT_C_BEGIN
/** An event marks a point of a stream. 'timing' allows jit_event_elapsed_time. */
JIT_EXPORT JitEvent *jit_event_create(JitBackend backend, int timing);
JIT_EXPORT void jit_event_destroy(JitEvent *event);
/** Put it at the current end of this thread's stream. */
JIT_EXPORT bool jit_event_record(JitEvent *event);
/** Has the stream passed it? An event never recorded counts as passed. */
JIT_EXPORT bool jit_event_query(JitEvent *event);
/** Block until the stream has passed it. */
JIT_EXPORT bool jit_event_wait(JitEvent *event);
/** Milliseconds between two passed events; negative on error. */
JIT_EXPORT double jit_event_elapsed_time(JitEvent *start, JitEvent *end);

JIT_C_END

#if defined(__cplusplus)
#  include <drjit-core/checked_jit.inc>
#endif

#include <drjit-core/freeze.h>
#include <drjit-core/history.h>
#include <drjit-core/region.h>
#include <drjit-core/texture.h>

#endif /* DRJIT_CORE_JIT_H */
