/*
 * drjit-core/types.h -- the enumerations of the C interface (C99, usable from C++11)
 *
 * A part of drjit-core/jit.h, which includes it.
 */
#ifndef DRJIT_CORE_TYPES_H
#define DRJIT_CORE_TYPES_H

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

/* Functions of the C interface are declared between these two, types are not. In C++
 * the functions are drjit::c::jit_...(), with the names and errors of C; what a program
 * calls by their plain names are those of checked_*.inc, which throw. JIT_C(function):
 * the one of C. */
#if defined(__cplusplus)
#  define JIT_C_BEGIN namespace drjit { namespace c { extern "C" {
#  define JIT_C_END } } }
#  define JIT_C(function) drjit::c::function
#else
#  define JIT_C_BEGIN
#  define JIT_C_END
#  define JIT_C(function) function
#endif

/* Each enumeration is a list of X(E, name, value). In C its enumerators begin with its
 * name: JitBackendLLVM. In C++ it is scoped, JitBackend::LLVM, and the names of C are
 * constants beside it. */
#if defined(__cplusplus)
#  define JIT_ENUMERATOR(E, name, value) name = value,
#  define JIT_CONSTANT(E, name, value) constexpr E E##name = E::name;
#  define JIT_ENUM(E, LIST)                                                            \
       enum class E : uint32_t { LIST(JIT_ENUMERATOR, E) };                            \
       LIST(JIT_CONSTANT, E)
/* Enumerators that are bits: sets of them, and numbers that hold such sets. */
#  define JIT_BITS(E)                                                                  \
       constexpr E operator|(E a, E b) { return E(uint32_t(a) | uint32_t(b)); }        \
       constexpr E operator&(E a, E b) { return E(uint32_t(a) & uint32_t(b)); }        \
       constexpr E operator~(E a) { return E(~uint32_t(a)); }                          \
       constexpr uint32_t operator|(uint32_t a, E b) { return a | uint32_t(b); }       \
       constexpr uint32_t operator|(E a, uint32_t b) { return uint32_t(a) | b; }       \
       constexpr uint32_t operator&(uint32_t a, E b) { return a & uint32_t(b); }       \
       constexpr uint32_t operator&(E a, uint32_t b) { return uint32_t(a) & b; }
#else
#  define JIT_ENUMERATOR(E, name, value) E##name = value,
#  define JIT_ENUM(E, LIST) typedef enum E { LIST(JIT_ENUMERATOR, E) } E;
#  define JIT_BITS(E)
#endif

/* ------------------------------------------------------------ enumerations */

/** A computational backend. The values are bits; jit_init() takes their OR. */
#define JIT_BACKEND_LIST(X, E)                                      \
    X(E, None, 0)                                                   \
    X(E, CUDA, 1) /**< NVIDIA GPUs (not part of this version) */    \
    X(E, LLVM, 2) /**< the CPU, with any engine */                  \
    X(E, Metal, 4) /**< GPUs of Apple (not part of this version) */ \
    X(E, Count, 5) /**< beyond the largest one */
JIT_ENUM(JitBackend, JIT_BACKEND_LIST)
JIT_BITS(JitBackend)

/** Entry types, in promotion order. VarTypeBaseInt and VarTypeBaseFloat stand for
 *  Python scalars in promotion rules; no variable has these types. */
#define JIT_VAR_TYPE_LIST(X, E)                                                  \
    X(E, Void, 0) X(E, Bool, 1) X(E, BaseInt, 2) X(E, Int8, 3) X(E, UInt8, 4)    \
    X(E, Int16, 5) X(E, UInt16, 6) X(E, Int32, 7) X(E, UInt32, 8) X(E, Int64, 9) \
    X(E, UInt64, 10) X(E, Pointer, 11) X(E, BaseFloat, 12) X(E, Float16, 13)     \
    X(E, Float32, 14) X(E, Float64, 15) X(E, Count, 16)
JIT_ENUM(VarType, JIT_VAR_TYPE_LIST)

/** Operations accepted by jit_var_op(). The function of the same name in jit.h and
 *  src/ir/ops.def define each. */
#define JIT_OP_LIST(X, E)                                                           \
    /* unary */                                                                     \
    X(E, Neg, 0) X(E, Not, 1) X(E, Sqrt, 2) X(E, Rcp, 3) X(E, Abs, 4) X(E, Ceil, 5) \
    X(E, Floor, 6) X(E, Round, 7) X(E, Trunc, 8) X(E, Popc, 9) X(E, Clz, 10)        \
    X(E, Ctz, 11) X(E, Brev, 12)                                                    \
    /* binary */                                                                    \
    X(E, Add, 13) X(E, Sub, 14) X(E, Mul, 15) X(E, Div, 16) X(E, Mod, 17)           \
    X(E, MulHi, 18) X(E, MulWide, 19) X(E, Min, 20) X(E, Max, 21) X(E, Fmin, 22)    \
    X(E, Fmax, 23) X(E, Copysign, 24) X(E, Eq, 25) X(E, Neq, 26) X(E, Lt, 27)       \
    X(E, Le, 28) X(E, Gt, 29) X(E, Ge, 30) X(E, And, 31) X(E, Or, 32) X(E, Xor, 33) \
    X(E, Shl, 34) X(E, Shr, 35)                                                     \
    /* ternary */                                                                   \
    X(E, Fma, 36) X(E, Select, 37)                                                  \
    /* functions; those from Atan2 to Hypot have two operands */                    \
    X(E, Sin, 38) X(E, Cos, 39) X(E, Tan, 40) X(E, Asin, 41) X(E, Acos, 42)         \
    X(E, Atan, 43) X(E, Sinh, 44) X(E, Cosh, 45) X(E, Tanh, 46) X(E, Asinh, 47)     \
    X(E, Acosh, 48) X(E, Atanh, 49) X(E, Exp, 50) X(E, Exp2, 51) X(E, Log, 52)      \
    X(E, Log2, 53) X(E, Rsqrt, 54) X(E, Cbrt, 55) X(E, Erf, 56) X(E, Erfinv, 57)    \
    X(E, Lgamma, 58) X(E, Atan2, 59) X(E, Power, 60) X(E, Hypot, 61)                \
    X(E, Digamma, 62)                                                               \
    /* the same operations by other names */                                        \
    X(E, FMin, 22) X(E, FMax, 23) X(E, Count, 63)                                   \
    /* two operands, composed of the others */                                      \
    X(E, Step, 64)
JIT_ENUM(JitOp, JIT_OP_LIST)

/** Read-modify-write operations of scatters and reductions. */
#define JIT_REDUCE_OP_LIST(X, E)                                          \
    X(E, Identity, 0) X(E, Add, 1) X(E, Mul, 2) X(E, Min, 3) X(E, Max, 4) \
    X(E, And, 5) X(E, Or, 6) X(E, Count, 7)
JIT_ENUM(ReduceOp, JIT_REDUCE_OP_LIST)

/** How a scatter-reduction resolves conflicting writes. ReduceModeParts comes in
 *  addition to the others, for scatters with ReduceOpIdentity to a new, undefined
 *  array: all writes until it is complete have this mode, and together they write no
 *  entry twice. So one kernel may do several of them. */
#define JIT_REDUCE_MODE_LIST(X, E)                                    \
    X(E, Auto, 0) /**< the library picks (see jit_var_scatter) */     \
    X(E, Direct, 1) /**< one atomic operation per lane */             \
    X(E, Local, 2) /**< combine equal targets of a packet first */    \
    X(E, NoConflicts, 3) /**< the caller promises distinct targets */ \
    X(E, Expand, 4) /**< a private copy of the target per thread */   \
    X(E, Permute, 5) /**< every target is written exactly once */     \
    X(E, Count, 6)                                                    \
    X(E, Parts, 7) /**< see above */
JIT_ENUM(ReduceMode, JIT_REDUCE_MODE_LIST)

/** How the entries of a matrix lie in memory: row by row, or in the order that is best
 *  to infer or to train on a device. Functions of this interface take no layout: all
 *  matrices are row-major. */
#define JIT_MATRIX_LAYOUT_LIST(X, E) \
    X(E, RowMajor, 0) X(E, InferencingOptimal, 1) X(E, TrainingOptimal, 2)
JIT_ENUM(MatrixLayout, JIT_MATRIX_LAYOUT_LIST)

/** What a variable currently is. */
#define JIT_VAR_STATE_LIST(X, E)                                              \
    X(E, Invalid, 0) X(E, Undefined, 1) X(E, Literal, 2) X(E, Unevaluated, 3) \
    X(E, Evaluated, 4) X(E, Dirty, 5) X(E, Symbolic, 6) X(E, Mixed, 7)
JIT_ENUM(VarState, JIT_VAR_STATE_LIST)

/** Compilation flags, a property of the calling thread. What a thread starts with is
 *  JitFlagDefault. Rows are X(E, name, bit, is it set then?). */
#define JIT_FLAG_LIST(X, E)                                                          \
    X(E, Debug, 0, 0) /**< check gathers and scatters at run time, search results */ \
                      /**< for infinities and NaN, which is waited for */            \
    X(E, ReuseIndices, 1, 1) /**< freed indices are reused, lowest first */          \
    X(E, ConstantPropagation, 2, 1) /**< fold operations on literals */              \
    X(E, FastMath, 3, 1) /**< x * 0 is 0 even for NaN and infinities */              \
    X(E, ValueNumbering, 4, 1) /**< equal operations share one variable */           \
    X(E, SymbolicLoops, 5, 1) X(E, OptimizeLoops, 6, 1)                              \
    X(E, CompressLoops, 7, 0) X(E, SymbolicCalls, 8, 1)                              \
    X(E, OptimizeCalls, 9, 1) X(E, MergeFunctions, 10, 1)                            \
    X(E, SymbolicConditionals, 11, 1)                                                \
    X(E, PacketOps, 12, 1) /**< packets are not split into lanes */                  \
    X(E, ForceOptiX, 13, 0)                                                          \
    X(E, PrintIR, 14, 0) /**< log Program and IR of each kernel */                   \
    X(E, KernelHistory, 15, 0) /**< record launches, see jit_kernel_history */       \
    X(E, LaunchBlocking, 16, 0) /**< wait after every launch */                      \
    X(E, ForbidSynchronization, 17, 0) /**< synchronising is an error */             \
    X(E, ScatterReduceLocal, 18, 1) /**< Auto scatter-reductions may use Local */    \
    X(E, SymbolicScope, 19, 0) X(E, KernelFreezing, 20, 1)                           \
    X(E, FreezingScope, 21, 0) X(E, EnableObjectTraversal, 22, 0)                    \
    X(E, ShaderExecutionReordering, 23, 1) X(E, SpillToSharedMemory, 24, 1)          \
    X(E, FuseReductions, 27, 1) /**< reductions are part of the kernels that compute \
                                     what they reduce */                             \
    X(E, FreezingCheckAll, 28, 0) /**< each call of a frozen function is checked:    \
                                       called, and compared with its recording */    \
    X(E, FreezingCheckNone, 29, 0) /**< none is, unless all are */                   \
    X(E, Deterministic, 30, 0) /**< scatter-reductions (Add, Mul) of floats, those   \
                                    of gradients, too, have an order that depends on \
                                    sizes alone; in recorded bodies they are an      \
                                    error */                                         \
    /* the same flags by older names */                                              \
    X(E, LoopRecord, 5, 0) X(E, LoopOptimize, 6, 0) X(E, VCallRecord, 8, 0)          \
    X(E, VCallOptimize, 9, 0) X(E, VCallDeduplicate, 10, 0)                          \
    X(E, Recording, 19, 0)
#define JIT_FLAG_DEFAULT(E, name, bit, on) | on << bit
#if defined(__cplusplus)
#  define JIT_FLAG(E, name, bit, on) name = 1 << bit,
#  define JIT_FLAG_CONSTANT(E, name, bit, on) constexpr E E##name = E::name;
enum class JitFlag : uint32_t {
    JIT_FLAG_LIST(JIT_FLAG, JitFlag)
    Default = 0 JIT_FLAG_LIST(JIT_FLAG_DEFAULT, JitFlag)
};
JIT_FLAG_LIST(JIT_FLAG_CONSTANT, JitFlag)
constexpr JitFlag JitFlagDefault = JitFlag::Default;
#else
#  define JIT_FLAG(E, name, bit, on) E##name = 1 << bit,
typedef enum JitFlag {
    JIT_FLAG_LIST(JIT_FLAG, JitFlag)
    JitFlagDefault = 0 JIT_FLAG_LIST(JIT_FLAG_DEFAULT, JitFlag)
} JitFlag;
#endif
JIT_BITS(JitFlag)

/** Severity of log messages; a sink shows those up to its own level. */
#define JIT_LOG_LEVEL_LIST(X, E)                                              \
    X(E, Disable, 0) X(E, None, 0) X(E, Error, 1) X(E, Warn, 2) X(E, Info, 3) \
    X(E, InfoSym, 4) X(E, Debug, 5) X(E, Trace, 6)
JIT_ENUM(LogLevel, JIT_LOG_LEVEL_LIST)

/** Error codes returned by jit_error(). */
typedef enum JitError {
    JIT_OK = 0,
    JIT_ERROR_ARGUMENT,    /**< an argument is wrong; the call did nothing */
    JIT_ERROR_STATE,       /**< the call is not allowed now (not initialised, ...) */
    JIT_ERROR_MEMORY,      /**< out of memory */
    JIT_ERROR_SYSTEM,      /**< the operating system refused something */
    JIT_ERROR_COMPILE,     /**< a kernel could not be compiled */
    JIT_ERROR_UNSUPPORTED, /**< nothing here can do this */
    JIT_ERROR_INTERRUPTED, /**< jit_interrupt() has stopped the computation */
    JIT_ERROR_SYMBOLIC     /**< a value is needed that exists while a kernel runs */
} JitError;

#endif /* DRJIT_CORE_TYPES_H */
