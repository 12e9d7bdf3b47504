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
 */
#ifndef DRJIT_CORE_JIT_H
#define DRJIT_CORE_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#  define JIT_EXPORT __declspec(dllimport)
#elif defined(__GNUC__)
#  define JIT_EXPORT __attribute__((visibility("default")))
#else
#  define JIT_EXPORT
#endif

#if defined(__GNUC__)
#  define JIT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#  define JIT_PRINTF(fmt, args)
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* ------------------------------------------------------------ enumerations */

/** A computational backend. The values are bits; jit_init() takes their OR. */
typedef enum JitBackend {
    JitBackendNone = 0,
    JitBackendCUDA = 1, /**< NVIDIA GPUs (not part of this version) */
    JitBackendLLVM = 2  /**< the CPU, whichever engine serves it */
} JitBackend;

/** Entry types, in promotion order. VarTypeBaseInt and VarTypeBaseFloat stand for
 *  Python scalars in promotion rules; no variable has these types. */
typedef enum VarType {
    VarTypeVoid = 0, VarTypeBool = 1, VarTypeBaseInt = 2,
    VarTypeInt8 = 3, VarTypeUInt8 = 4, VarTypeInt16 = 5, VarTypeUInt16 = 6,
    VarTypeInt32 = 7, VarTypeUInt32 = 8, VarTypeInt64 = 9, VarTypeUInt64 = 10,
    VarTypePointer = 11, VarTypeBaseFloat = 12,
    VarTypeFloat16 = 13, VarTypeFloat32 = 14, VarTypeFloat64 = 15,
    VarTypeCount = 16
} VarType;

/** Operations accepted by jit_var_op(). The semantics of each stand beside the function
 *  of the same name below and in src/ir/ops.def. */
typedef enum JitOp {
    /* unary */
    JitOpNeg, JitOpNot, JitOpSqrt, JitOpRcp, JitOpRsqrt, JitOpAbs,
    JitOpCeil, JitOpFloor, JitOpRound, JitOpTrunc,
    JitOpPopc, JitOpClz, JitOpCtz, JitOpBrev,
    /* binary */
    JitOpAdd, JitOpSub, JitOpMul, JitOpDiv, JitOpMod, JitOpMulHi, JitOpMulWide,
    JitOpMin, JitOpMax, JitOpFmin, JitOpFmax, JitOpCopysign,
    JitOpEq, JitOpNeq, JitOpLt, JitOpLe, JitOpGt, JitOpGe,
    JitOpAnd, JitOpOr, JitOpXor, JitOpShl, JitOpShr,
    /* ternary */
    JitOpFma, JitOpSelect,
    /* functions; the last three have two operands */
    JitOpSin, JitOpCos, JitOpTan, JitOpAsin, JitOpAcos, JitOpAtan,
    JitOpSinh, JitOpCosh, JitOpTanh, JitOpAsinh, JitOpAcosh, JitOpAtanh,
    JitOpExp, JitOpExp2, JitOpLog, JitOpLog2, JitOpCbrt,
    JitOpErf, JitOpErfinv, JitOpLgamma,
    JitOpAtan2, JitOpPower, JitOpHypot,
    JitOpCount
} JitOp;

/** Read-modify-write operations of scatters and reductions. */
typedef enum ReduceOp {
    ReduceOpIdentity = 0, ReduceOpAdd = 1, ReduceOpMul = 2, ReduceOpMin = 3,
    ReduceOpMax = 4, ReduceOpAnd = 5, ReduceOpOr = 6, ReduceOpCount = 7
} ReduceOp;

/** How a scatter-reduction resolves conflicting writes. */
typedef enum ReduceMode {
    ReduceModeAuto = 0,        /**< the library picks (see jit_var_scatter) */
    ReduceModeDirect = 1,      /**< one atomic operation per lane */
    ReduceModeLocal = 2,       /**< combine equal targets of a packet first */
    ReduceModeNoConflicts = 3, /**< the caller promises distinct targets */
    ReduceModeExpand = 4,      /**< a private copy of the target per thread */
    ReduceModePermute = 5,     /**< every target is written exactly once */
    ReduceModeCount = 6
} ReduceMode;

/** What currently stands behind a variable. */
typedef enum VarState {
    VarStateInvalid = 0, VarStateUndefined = 1, VarStateLiteral = 2,
    VarStateUnevaluated = 3, VarStateEvaluated = 4, VarStateDirty = 5,
    VarStateSymbolic = 6, VarStateMixed = 7
} VarState;

/** Compilation flags, a property of the calling thread. */
typedef enum JitFlag {
    JitFlagDebug = 1 << 0,               /**< check gathers and scatters at run time */
    JitFlagReuseIndices = 1 << 1,        /**< freed indices are reused, lowest first */
    JitFlagConstantPropagation = 1 << 2, /**< fold operations on literals */
    JitFlagFastMath = 1 << 3,            /**< x * 0 is 0 even for NaN and infinities */
    JitFlagValueNumbering = 1 << 4,      /**< equal operations share one variable */
    JitFlagSymbolicLoops = 1 << 5, JitFlagOptimizeLoops = 1 << 6,
    JitFlagCompressLoops = 1 << 7, JitFlagSymbolicCalls = 1 << 8,
    JitFlagOptimizeCalls = 1 << 9, JitFlagMergeFunctions = 1 << 10,
    JitFlagSymbolicConditionals = 1 << 11,
    JitFlagPacketOps = 1 << 12,          /**< packets are not split into lanes */
    JitFlagForceOptiX = 1 << 13,
    JitFlagPrintIR = 1 << 14,            /**< log Program and IR of each kernel */
    JitFlagKernelHistory = 1 << 15,      /**< record launches, see jit_kernel_history */
    JitFlagLaunchBlocking = 1 << 16,     /**< wait after every launch */
    JitFlagForbidSynchronization = 1 << 17, /**< synchronising is an error */
    JitFlagScatterReduceLocal = 1 << 18, /**< Auto scatter-reductions may use Local */
    JitFlagSymbolicScope = 1 << 19, JitFlagKernelFreezing = 1 << 20,
    JitFlagFreezingScope = 1 << 21, JitFlagEnableObjectTraversal = 1 << 22,
    JitFlagShaderExecutionReordering = 1 << 23, JitFlagSpillToSharedMemory = 1 << 24,
    /** What a thread starts with. */
    JitFlagDefault =
        JitFlagReuseIndices | JitFlagConstantPropagation | JitFlagFastMath |
        JitFlagValueNumbering | JitFlagSymbolicLoops | JitFlagOptimizeLoops |
        JitFlagSymbolicCalls | JitFlagOptimizeCalls | JitFlagMergeFunctions |
        JitFlagSymbolicConditionals | JitFlagPacketOps | JitFlagScatterReduceLocal |
        JitFlagKernelFreezing | JitFlagShaderExecutionReordering |
        JitFlagSpillToSharedMemory
} JitFlag;

/** Severity of log messages; a sink shows those up to its own level. */
typedef enum LogLevel {
    LogLevelDisable = 0, LogLevelNone = 0, LogLevelError = 1, LogLevelWarn = 2,
    LogLevelInfo = 3, LogLevelInfoSym = 4, LogLevelDebug = 5, LogLevelTrace = 6
} LogLevel;

/** Error codes returned by jit_error(). */
typedef enum JitError {
    JIT_OK = 0,
    JIT_ERROR_ARGUMENT,    /**< an argument is wrong; the call did nothing */
    JIT_ERROR_STATE,       /**< the call is not allowed now (not initialised, ...) */
    JIT_ERROR_MEMORY,      /**< out of memory */
    JIT_ERROR_SYSTEM,      /**< the operating system refused something */
    JIT_ERROR_COMPILE,     /**< a kernel could not be compiled */
    JIT_ERROR_UNSUPPORTED  /**< nothing here can do this */
} JitError;

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

/** Like jit_init(), and start loading the compiler in a background thread at once. */
JIT_EXPORT bool jit_init_async(uint32_t backends);

/** Was this backend initialised? */
JIT_EXPORT bool jit_has_backend(JitBackend backend);

/** Wait for all work, report variables and memory that are still referenced (with their
 *  labels, at LogLevelWarn) and release everything but those. With 'light' nonzero,
 *  kernels and caches stay. Returns the number of leaked variables. jit_init() works
 *  afterwards. */
JIT_EXPORT uint32_t jit_shutdown(int light);

/** Wait until all work enqueued by this thread has finished. Fails under
 *  JitFlagForbidSynchronization. Reports errors of asynchronous work. */
JIT_EXPORT bool jit_sync_thread(void);
/** Wait until all work on the calling thread's device (here: the CPU) has finished. */
JIT_EXPORT bool jit_sync_device(void);
/** Wait until all work of all threads and devices has finished. */
JIT_EXPORT bool jit_sync_all_devices(void);

/* --------------------------------------------------------------------- log */

/** Receives log lines. Called without any lock held, in the thread that logged. */
typedef void (*LogCallback)(LogLevel level, const char *message);

/** Level of messages written to stderr. It starts at LogLevelInfo; the first jit_init()
 *  sets it to what the environment variable DRJIT_LOG_LEVEL names (none, error, warn,
 *  info, infosym, debug, trace), if that is set. */
JIT_EXPORT void jit_set_log_level_stderr(LogLevel level);
JIT_EXPORT LogLevel jit_log_level_stderr(void);
/** Send messages up to 'level' to 'callback' also (NULL: to none). */
JIT_EXPORT void jit_set_log_level_callback(LogLevel level, LogCallback callback);
JIT_EXPORT LogLevel jit_log_level_callback(void);
/** Write a message of one's own to the log. */
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
 *  generation. Kernels in memory are kept apart by target. */
JIT_EXPORT bool jit_llvm_set_target(const char *cpu, const char *features,
                                    uint32_t width);
/** The names in use; valid until the next jit_llvm_set_target(). */
JIT_EXPORT const char *jit_llvm_target_cpu(void);
JIT_EXPORT const char *jit_llvm_target_features(void);
/** Lanes of a packet (32-bit lanes in one vector register by default). */
JIT_EXPORT uint32_t jit_llvm_vector_width(void);
/** Entries that one unit of parallel work holds at least (default 16384). */
JIT_EXPORT bool jit_llvm_set_block_size(uint32_t size);
JIT_EXPORT uint32_t jit_llvm_block_size(void);
/** Largest target (entries) for which Auto scatter-reductions may use Expand. */
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
/** Release all kernels held in memory (not the ones on disk). Waits for running ones,
 *  and for the compiler, if it is at work (or being loaded) in the background. */
JIT_EXPORT void jit_flush_kernel_cache(void);
/** Folder of the disk cache, "" when it is off. Valid until jit_shutdown(). */
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
 *  is. On failure nothing is freed. */
JIT_EXPORT uint32_t jit_var_mem_map(JitBackend backend, VarType type, void *ptr,
                                    size_t size, int free);
/** The same, but 'release(ptr, payload)' is called once neither the variable nor queued
 *  work needs the memory any more. It runs in any thread, perhaps under locks of the
 *  library, which it must not call. On failure it is not called. */
JIT_EXPORT uint32_t jit_var_mem_map_release(JitBackend backend, VarType type, void *ptr,
                                            size_t size,
                                            void (*release)(void *ptr, void *payload),
                                            void *payload);
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

/** A variable computed by a statement in the backend's language (LLVM IR on the CPU)
 *  with 0 to 4 operands. Escapes: $r0 result, $r1.. operands (registers); $t0.. scalar
 *  type, $T0.. vector type, $b0.. type as plain bits, $a0.. type in memory, $s0.. entry
 *  size in bytes, $i0.. variable index, $o0.. literal value; $w packet width, $n new
 *  line, $$ a dollar. The string must stay valid as long as the program runs (static
 *  storage); the _copy form of the creation functions is jit_var_stmt() with 'copy'
 *  nonzero. Only the 'llvm' engine can run these; without it, evaluation fails and says
 *  so. */
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

/* -------------------------------------------------------------- arithmetic */

/** Apply 'op' to as many operands as it takes. Operands of one operation have the same
 *  type and backend (exceptions below) and sizes that are equal or 1. */
JIT_EXPORT uint32_t jit_var_op(JitOp op, const uint32_t *operands);
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
/** 1 / sqrt(a), each step correctly rounded. Floats. */
JIT_EXPORT uint32_t jit_var_rsqrt(uint32_t a);
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
 *  standard. All engines give the same bits. How far off each is stands in
 *  docs/accuracy.md. */
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
/** Cube root; negative for negative arguments. */
JIT_EXPORT uint32_t jit_var_cbrt(uint32_t a);
/** Error function, its inverse (NaN beyond -1 ... 1), and log |gamma(a)|. */
JIT_EXPORT uint32_t jit_var_erf(uint32_t a);
JIT_EXPORT uint32_t jit_var_erfinv(uint32_t a);
JIT_EXPORT uint32_t jit_var_lgamma(uint32_t a);
/** Angle of the point (x, y) with the x axis, -pi ... pi. Note the order. */
JIT_EXPORT uint32_t jit_var_atan2(uint32_t y, uint32_t x);
/** a to the power of b. */
JIT_EXPORT uint32_t jit_var_power(uint32_t a, uint32_t b);
/** sqrt(a * a + b * b), also where a square is out of range. */
JIT_EXPORT uint32_t jit_var_hypot(uint32_t a, uint32_t b);
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

/** A host operand: 'step' is 1 for an array of n values, 0 for one value used for
 *  all. */
typedef struct JitHostOperand {
    const void *data;
    uint32_t step;
} JitHostOperand;
/** Compute 'op' on n host values. 'type' is the type of the first operand (of the
 *  second for a selection). The result has the type that jit_var_op() gives: 'type',
 *  Bool for comparisons, twice the width for the wide product. All
 *  operands have this type but for the mask of a selection. */
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
 *  Bool (0: always). Evaluates the source. Positions beyond the source are undefined,
 *  unless JitFlagDebug is set: then they read 0 and are reported. A source with one
 *  entry gives it for all positions. */
JIT_EXPORT uint32_t jit_var_gather(uint32_t source, uint32_t index, uint32_t mask);
/** n (a power of two, 1 to 64) gathers from source[index * n + k] into out[k]; the size
 *  of the source is a multiple of n. */
JIT_EXPORT bool jit_var_gather_packet(size_t n, uint32_t source, uint32_t index,
                                      uint32_t mask, uint32_t *out);
/** target[index] = value (ReduceOpIdentity) or target[index] = op(target[index], value)
 *  where mask is set. Returns the written variable, to be used instead of 'target' from
 *  now on: it is 'target' itself (one more reference) if nobody else holds it, else a
 *  copy. Runs with the next evaluation and before every later read. If several lanes
 *  write one entry without reducing, one of them wins. */
JIT_EXPORT uint32_t jit_var_scatter(uint32_t target, uint32_t value, uint32_t index,
                                    uint32_t mask, ReduceOp op, ReduceMode mode);
/** n scatters to target[index * n + k] from values[k], as jit_var_gather_packet. */
JIT_EXPORT uint32_t jit_var_scatter_packet(size_t n, uint32_t target,
                                           const uint32_t *values, uint32_t index,
                                           uint32_t mask, ReduceOp op, ReduceMode mode);
/** Atomically add 1 to the UInt32 array '*target' at 'index' and return the previous
 *  values (undefined where masked). '*target' is replaced if it had to be copied, its
 *  old reference released. Increments of one evaluation come in any order. The result
 *  exists in one kernel only: see jit_var_scatter_exch. */
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
 *  they had to be copied, their old references released. Additions of one evaluation
 *  come in any order. */
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
/** UInt32 indices of the set entries of a mask, in order. Evaluates and waits. The size
 *  is their number; with none set the result is an empty array (size 0), which only
 *  jit_var_size, jit_var_str and jit_var_dec_ref accept. */
JIT_EXPORT uint32_t jit_var_compress(uint32_t mask);

/* ----------------------------------------------------------------- regions */

/* Loops and conditionals are traced as such: their bodies are recorded once (a loop's
 * at most twice) with placeholders for values that only exist while the kernel runs,
 * and become control flow of the kernel. Every function that fails here ends the
 * recording it belongs to and drops all that was recorded in it: queue, mask stack and
 * scope of the thread are as they were before, and variables that the caller holds stay
 * valid. jit_record_end() gives up a recording for other reasons.
 *
 * Inside of a body
 *   - what depends on a placeholder cannot be evaluated or read: an error, after which
 *     recording goes on; other variables can;
 *   - every gather, scatter, ... is masked by the lanes that execute it;
 *   - an array that the body has written to cannot be read before the region has ended
 *     (JIT_ERROR_STATE). One that it has read before writing to it is copied then: all
 *     reads, in all iterations, see what was in it before the region.
 *
 * Sizes: the region has the common size of condition, mask stack, states and outputs
 * (which are equal or 1), and so have its results. */

/** Begin to record what follows apart, in a scope of its own: scatters and the like are
 *  kept in a list of their own until jit_record_end(). The name is for messages and may
 *  be NULL. The handle, 0 on errors. */
JIT_EXPORT uint32_t jit_record_begin(JitBackend backend, const char *name);
/** Number of side effects that the innermost recording (of any kind) has, or that the
 *  thread has queued if it is recording nothing. */
JIT_EXPORT uint32_t jit_record_checkpoint(JitBackend backend);
/** Drop all side effects of the innermost recording from this checkpoint on. */
JIT_EXPORT bool jit_record_rollback(JitBackend backend, uint32_t checkpoint);
/** End a recording. With 'cleanup' its side effects are dropped; else they become those
 *  of what is around it. Loops, conditionals and calls are given up in this way, with
 *  all recordings inside of them: for these 'cleanup' must be nonzero. */
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
 *  their initial values, and the body is recorded again if it uses them. Without
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
 *  and without JitFlagSymbolicLoops, this may take lanes out that are done: state[] is
 *  replaced by arrays with an entry for each lane that is left, which
 *  jit_var_loop_end() undoes when the loop is done. The first iteration has all lanes.
 *  Arrays with an entry for each lane have to be states then; and if the body gathers
 *  from or scatters to a state that has as many entries as there are lanes, or the loop
 *  is part of a recording, no lane is ever taken out. False: error, the loop is given
 *  up. */
JIT_EXPORT bool jit_var_loop_compress(uint32_t loop, uint32_t *state);
/** The body is complete, state[] holds the next states. 1: the loop is done, state[]
 *  (whose old references are released) holds the results. 0: once more, from the
 *  condition on, with what is in state[] now. -1: error, state[] is unchanged. */
JIT_EXPORT int jit_var_loop_end(uint32_t loop, uint32_t *state);

/** Begin a conditional: what is traced from here on is its true side, up to the first
 *  jit_var_cond_append(); what follows is the false side, up to the second one. With a
 *  literal condition the side that nobody takes is dropped, and the other one is part
 *  of what is around it. Without JitFlagSymbolicConditionals both sides are traced as
 *  if they were straight-line code, under masks. The handle, 0 on errors. */
JIT_EXPORT uint32_t jit_var_cond_start(const char *name, uint32_t condition);
/** End a side; 'outputs' are its 'n' results: as many, and of the same types, on both
 *  sides. */
JIT_EXPORT bool jit_var_cond_append(uint32_t cond, size_t n, const uint32_t *outputs);
/** End the conditional: 'results' receives one variable for each output. What is the
 *  same variable on both sides is that variable. */
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
 * differ only in values (literals, arrays of one entry) become one, too. Other
 * variables from outside can be used without being inputs. With JitFlagOptimizeCalls
 * literal inputs stay literals in the callables, and outputs that are the same
 * everywhere leave the call. A call that can reach one callable only is a conditional.
 * Local arrays of up to 1024 entries can be inputs and outputs: they are copied. Others
 * from outside cannot be used in callables.
 * Calls can be nested 64 deep. As with loops, a function that fails ends the recording.
 * Without JitFlagSymbolicCalls, callers use jit_var_call_reduce() instead. */

/** Begin a call in lanes where 'mask' (0: always) and the mask stack are set, and its
 *  first callable. The handle, 0 on errors. */
JIT_EXPORT uint32_t jit_var_call_start(JitBackend backend, const char *name,
                                       uint32_t mask);
/** Make a variable from outside an input: what stands for it in the callables (a new
 *  reference). An error does not end the recording. */
JIT_EXPORT uint32_t jit_var_call_input(uint32_t call, uint32_t value);
/** The mask of lanes that execute a callable; it is on top of the mask stack, too. */
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

/** Lanes that call one instance. */
typedef struct JitCallBucket {
    uint32_t id;
    void *ptr;      /**< registered under this id, NULL without a domain */
    uint32_t index; /**< lane numbers, ascending (UInt32) */
} JitCallBucket;
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
 * traces from then on; a mask of size 1 serves any size, other sizes must agree. The
 * bodies of loops, conditionals and calls push the mask of the lanes that execute
 * them. */

/** Put a mask on top of the stack, which holds a reference to it. Inside the body of a
 *  loop, conditional or call it is combined with the one that was on top. (In bodies
 *  that are not recorded, without JitFlagSymbolicLoops and the like, a literal 'true'
 *  of size 1 is not: what follows may have another size and is not masked.) */
JIT_EXPORT bool jit_var_mask_push(JitBackend backend, uint32_t mask);
/** Take the top off. An error if there is none, or none that was pushed since the
 *  innermost open body began. A body that leaves masks behind is an error, too. */
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

/** Report values of a computation, within the body of a loop, conditional or call or
 *  outside: 'n' values of any types (equal sizes or 1; n may be 0), in lanes in which
 *  'mask' (0: always) and the mask stack are set, each time this place is reached. It
 *  runs with the next evaluation, like a write to memory. After each launch that has
 *  come by, 'callback' gets at most 'limit' records (SIZE_MAX: all). A launch keeps a
 *  megabyte of records, of all its prints together; which are lost beyond that is left
 *  to chance. Finally it gets NULL, once, when nothing more can come: the payload is
 *  not needed any more. It is called without locks in any thread and must not wait for
 *  work of the library. An assertion is a print of the lanes that fail it. */
JIT_EXPORT bool jit_var_print(uint32_t mask, uint32_t n, const uint32_t *values,
                              size_t limit,
                              void (*callback)(const JitPrintRecords *records,
                                               void *payload),
                              void *payload);

/* -------------------------------------------------------------- reductions */

/* Reductions evaluate their input and run as stream work. Sums of floats are taken in
 * one documented order that does not depend on threads or engine (docs/dev/threads.md).
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
/** Prefix reductions within blocks; block_size = size treats the whole array. */
JIT_EXPORT uint32_t jit_var_block_prefix_reduce(ReduceOp op, uint32_t index,
                                                size_t block_size, int exclusive,
                                                int reverse);
/** Sort consecutive blocks of 'block_size' entries (which divides the size; 0: the
 *  whole array), upwards or with 'descending' downwards. Integers, floats and Bool. NaN
 *  counts as larger than everything else; -0 and +0 are equal and keep their order, as
 *  all equal entries do. Runs as stream work. */
JIT_EXPORT uint32_t jit_var_sort(uint32_t index, size_t block_size, int descending);
/** The permutation that sorts: UInt32 positions within the array, so that gathering
 *  from them gives jit_var_sort(). Stable: equal entries keep their order, in both
 *  directions. */
JIT_EXPORT uint32_t jit_var_argsort(uint32_t index, size_t block_size, int descending);
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
} JitGemm;
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
 *  in consecutive blocks of 'block_size'; 'perm' receives the positions (within the
 *  array) of the keys of each block in sorted order. If 'offsets' is given, it receives
 *  4 numbers for each non-empty bucket: bucket, start, size, 0. Memory is the caller's.
 *  Returns the number of such buckets (0 if 'offsets' is NULL); *ok says whether it
 *  worked. Waits. */
JIT_EXPORT uint32_t jit_block_mkperm(JitBackend backend, const uint32_t *values,
                                     uint32_t size, uint32_t block_size,
                                     uint32_t bucket_count, uint32_t *perm,
                                     uint32_t *offsets, bool *ok);

/** One element of jit_aggregate(): 'size' bytes at 'offset' of the destination.
 *  Positive sizes (1, 2, 4, 8) give the value itself in 'src'; negative ones a pointer
 *  in 'src' from which that many bytes are read when the job runs. */
typedef struct AggregationEntry {
    int32_t size;
    uint32_t offset;
    const void *src;
} AggregationEntry;
/** Assemble a block of memory from scattered values, as stream work. */
JIT_EXPORT bool jit_aggregate(JitBackend backend, void *dst,
                              const AggregationEntry *entries,
                              uint32_t count);

/* --------------------------------------------------------------- variables */

/** Add or drop a reference. dec_ref of 0 does nothing. jit_var_inc_ref returns its
 *  argument, or 0 if that is not a variable. */
JIT_EXPORT uint32_t jit_var_inc_ref(uint32_t index);
JIT_EXPORT void jit_var_dec_ref(uint32_t index);
JIT_EXPORT uint32_t jit_var_inc_ref_ext(uint32_t index);
JIT_EXPORT void jit_var_dec_ref_ext(uint32_t index);
/** Current number of references, 0 if there is no such variable. */
JIT_EXPORT uint32_t jit_var_ref(uint32_t index);
/** Number of entries. */
JIT_EXPORT size_t jit_var_size(uint32_t index);
JIT_EXPORT VarType jit_var_type(uint32_t index);
JIT_EXPORT VarState jit_var_state(uint32_t index);
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
JIT_EXPORT bool jit_var_info(uint32_t index, VarInfo *info);
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
 *  memory was replaced by evaluation). Called without locks held. One per variable;
 *  NULL removes. */
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

/** Have this variable computed by the thread's next evaluation. Returns true if there
 *  was something to schedule. Literals stay literals. */
JIT_EXPORT bool jit_var_schedule(uint32_t index);
/** The same for literals too. Returns the variable to use (a new reference; a copy if a
 *  literal is shared); *rv says whether something was scheduled. */
JIT_EXPORT uint32_t jit_var_schedule_force(uint32_t index, int *rv);
/** Schedule and evaluate. Returns false with jit_error() == JIT_OK if there was nothing
 *  to do. */
JIT_EXPORT bool jit_var_eval(uint32_t index);
/** Evaluate all that this thread has scheduled, and its pending writes. */
JIT_EXPORT bool jit_eval(void);
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
/** Attach file and line to variables that this thread creates from now on (reported by
 *  JitFlagDebug and by literal generalisation). NULL ends it. The string is copied. */
JIT_EXPORT void jit_set_source_location(const char *file, uint32_t line);

/* ---------------------------------------------------------- events, history */

typedef struct JitEvent JitEvent;
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

/** What kind of work a history entry describes. */
typedef enum KernelType {
    KernelTypeJIT = 0, KernelTypeBlockReduce = 1, KernelTypeBlockPrefixReduce = 2,
    KernelTypeDot = 3, KernelTypeBatchedGemm = 4, KernelTypeCompress = 5,
    KernelTypeMkPerm = 6, KernelTypeMemcpy = 7, KernelTypeMemset = 8,
    KernelTypePoke = 9,
    KernelTypeAggregate = 10, KernelTypeHostFunc = 11
} KernelType;

typedef struct KernelHistoryEntry {
    JitBackend backend;
    KernelType type;
    uint64_t hash[2];         /**< low and high half of the kernel's key */
    /** Text of the Program, and under JitFlagPrintIR of the engine's own form; NULL for
     *  other work. */
    const char *ir;
    const char *engine;       /**< engine that ran it, NULL for other work */
    size_t size;              /**< entries processed (Memcpy, Poke: bytes) */
    uint32_t input_count, output_count;
    uint32_t operation_count; /**< instructions of the Program */
    bool cache_hit;           /**< the kernel was in memory */
    bool cache_disk;          /**< its machine code came from disk */
    double codegen_time;      /**< schedule, Program and key [ms] */
    double backend_time;      /**< compiling in the engine [ms] */
    double execution_time;    /**< running [ms] */
} KernelHistoryEntry;

/** Take the launches recorded under JitFlagKernelHistory (waits for them). Writes an
 *  array to '*entries' to be released with jit_kernel_history_release(); returns its
 *  length. */
JIT_EXPORT size_t jit_kernel_history(KernelHistoryEntry **entries);
JIT_EXPORT void jit_kernel_history_release(KernelHistoryEntry *entries, size_t count);
JIT_EXPORT void jit_kernel_history_clear(void);
/** Kernels launched, found in memory (hits), found on disk (soft misses) and compiled
 *  (hard misses) since start. Pointers may be NULL. */
JIT_EXPORT void jit_launch_stats(size_t *launches, size_t *hits, size_t *soft_misses,
                                 size_t *hard_misses);

/** Mark a point, or begin and end a (nested) range, on the calling thread's line of a
 *  profile. When the environment variable DRJIT_PROFILE names a file, these are written
 *  to it in the JSON trace event format; otherwise they do nothing. Ending a range that
 *  was not begun is an error. */
JIT_EXPORT bool jit_profile_mark(const char *message);
JIT_EXPORT bool jit_profile_range_push(const char *message);
JIT_EXPORT bool jit_profile_range_pop(void);

#if defined(__cplusplus)
}
#endif

#endif /* DRJIT_CORE_JIT_H */
