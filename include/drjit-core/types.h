/*
 * drjit-core/types.h -- the enumerations of the C interface (C99, usable from C++)
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

/* ------------------------------------------------------------ enumerations */

/** A computational backend. The values are bits; jit_init() takes their OR. */
typedef enum JitBackend {
    JitBackendNone = 0,
    JitBackendCUDA = 1, /**< NVIDIA GPUs (not part of this version) */
    JitBackendLLVM = 2  /**< the CPU, with any engine */
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

/** Operations accepted by jit_var_op(). The function of the same name in jit.h and
 *  src/ir/ops.def define each. */
typedef enum JitOp {
    /* unary */
    JitOpNeg, JitOpNot, JitOpSqrt, JitOpRcp, JitOpAbs,
    JitOpCeil, JitOpFloor, JitOpRound, JitOpTrunc,
    JitOpPopc, JitOpClz, JitOpCtz, JitOpBrev,
    /* binary */
    JitOpAdd, JitOpSub, JitOpMul, JitOpDiv, JitOpMod, JitOpMulHi, JitOpMulWide,
    JitOpMin, JitOpMax, JitOpFmin, JitOpFmax, JitOpCopysign,
    JitOpEq, JitOpNeq, JitOpLt, JitOpLe, JitOpGt, JitOpGe,
    JitOpAnd, JitOpOr, JitOpXor, JitOpShl, JitOpShr,
    /* ternary */
    JitOpFma, JitOpSelect,
    /* functions; those from Atan2 to Hypot have two operands */
    JitOpSin, JitOpCos, JitOpTan, JitOpAsin, JitOpAcos, JitOpAtan,
    JitOpSinh, JitOpCosh, JitOpTanh, JitOpAsinh, JitOpAcosh, JitOpAtanh,
    JitOpExp, JitOpExp2, JitOpLog, JitOpLog2, JitOpRsqrt, JitOpCbrt,
    JitOpErf, JitOpErfinv, JitOpLgamma,
    JitOpAtan2, JitOpPower, JitOpHypot,
    JitOpDigamma,
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
    ReduceModeCount = 6,
    /** In addition to those, for scatters with ReduceOpIdentity to a new, undefined
     *  array: all writes until it is complete have this mode, and together they write
     *  no entry twice. So one kernel may do several of them. */
    ReduceModeParts = 7
} ReduceMode;

/** What a variable currently is. */
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
    JitFlagFuseReductions = 1 << 27,     /**< reductions are part of the kernels that
                                              compute what they reduce */
    JitFlagFreezingCheckAll = 1 << 28,   /**< each call of a frozen function is checked:
                                              called, and compared with its recording */
    JitFlagFreezingCheckNone = 1 << 29,  /**< none is, unless all are */
    JitFlagDeterministic = 1 << 30,      /**< scatter-reductions (Add, Mul) of floats,
                                              those of gradients, too, have an order
                                              that depends on sizes alone; in recorded
                                              bodies they are an error */
    /** What a thread starts with. */
    JitFlagDefault =
        JitFlagReuseIndices | JitFlagConstantPropagation | JitFlagFastMath |
        JitFlagValueNumbering | JitFlagSymbolicLoops | JitFlagOptimizeLoops |
        JitFlagSymbolicCalls | JitFlagOptimizeCalls | JitFlagMergeFunctions |
        JitFlagSymbolicConditionals | JitFlagPacketOps | JitFlagScatterReduceLocal |
        JitFlagKernelFreezing | JitFlagShaderExecutionReordering |
        JitFlagSpillToSharedMemory | JitFlagFuseReductions
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
    JIT_ERROR_UNSUPPORTED, /**< nothing here can do this */
    JIT_ERROR_INTERRUPTED, /**< jit_interrupt() has stopped the computation */
    JIT_ERROR_SYMBOLIC     /**< a value is needed that exists while a kernel runs */
} JitError;

#endif /* DRJIT_CORE_TYPES_H */
