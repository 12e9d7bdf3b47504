"""The enumerations. Their values are those of the C interface (drjit-core/types.h)."""

from enum import Enum, IntEnum, IntFlag


class JitBackend(Enum):
    """A computational backend; see also :func:`drjit.backend_v`."""

    __module__ = "drjit"

    Invalid = 0
    CUDA = 1
    LLVM = 2


class VarType(Enum):
    """Entry types of arrays, in promotion order."""

    __module__ = "drjit"

    Void = 0
    Bool = 1
    Int8 = 3
    UInt8 = 4
    Int16 = 5
    UInt16 = 6
    Int32 = 7
    UInt32 = 8
    Int64 = 9
    UInt64 = 10
    Pointer = 11
    Float16 = 13
    Float32 = 14
    Float64 = 15


class VarState(Enum):
    """What an array currently is; see :attr:`drjit.ArrayBase.state`."""

    __module__ = "drjit"

    Invalid = 0
    Undefined = 1
    Literal = 2
    Unevaluated = 3
    Evaluated = 4
    Dirty = 5
    Symbolic = 6
    Mixed = 7


class ReduceOp(Enum):
    """How a reduction or scatter combines values.

    - ``Identity``: not at all; a scatter writes the new value. No reductions have it.
    - ``Add``: the sum, of numbers; integers wrap around.
    - ``Mul``: the product, of numbers.
    - ``Min``: the smaller number; a number rather than NaN.
    - ``Max``: the larger number; a number rather than NaN.
    - ``And``: bitwise and, of integers and masks.
    - ``Or``: bitwise or, of integers and masks.

    See also:
        :func:`drjit.reduce`, :func:`drjit.prefix_reduce`, :func:`drjit.block_reduce`,
        :func:`drjit.scatter_reduce`
    """

    __module__ = "drjit"

    Identity = 0
    Add = 1
    Mul = 2
    Min = 3
    Max = 4
    And = 5
    Or = 6


class ReduceMode(IntEnum):
    """How lanes that update the same entry of an array are kept apart.

    It is for :func:`drjit.scatter_reduce` and :func:`drjit.scatter_add`, and for the
    reverse derivative of :func:`drjit.gather`, which is such an addition. The result is
    the same, up to the order in which floats are added; the time is not.

    - ``Auto``: one of the following, chosen by the sizes of the target, the number of
      lanes and the caches of the machine. The default.
    - ``Direct``: an atomic operation for each lane. Good where few lanes meet.
    - ``Local``: lanes of a packet (a vector register) that meet are combined first,
      then there is one atomic operation for them. Good where neighbouring lanes meet.
    - ``Expand``: each thread has a copy of the target, and updates it without atomic
      operations; the copies are combined at the end. Good for small targets; the memory
      grows with the number of threads. :func:`drjit.set_expand_threshold` sets the
      largest target for which ``Auto`` does this.
    - ``NoConflicts``: a promise that no two lanes meet. Reads and writes are not
      atomic; updates are lost where the promise is broken.
    - ``Permute``: a promise that indices are a permutation: each entry is accessed
      exactly once. For :func:`drjit.scatter` and :func:`drjit.gather`, whose
      derivatives then are plain reads and writes. An error for reductions.

    See also:
        :func:`drjit.scatter_reduce`, :func:`drjit.gather`,
        :func:`drjit.expand_threshold`
    """

    __module__ = "drjit"

    Auto = 0
    Direct = 1
    Local = 2
    NoConflicts = 3
    Expand = 4
    Permute = 5


class KernelType(Enum):
    """What an entry of :func:`drjit.kernel_history` describes."""

    __module__ = "drjit"

    JIT = 0
    BlockReduce = 1
    BlockPrefixReduce = 2
    Dot = 3
    BatchedGemm = 4
    Compress = 5
    MkPerm = 6
    Memcpy = 7
    Memset = 8
    Poke = 9
    Aggregate = 10
    LLVMHostFunc = 11


class KernelRecordingMode(Enum):
    """Whether a launch belongs to the recording of a frozen function."""

    __module__ = "drjit"

    Inactive = 0
    Recorded = 1
    Replayed = 2


class LogLevel(IntEnum):
    """Severity of log messages; a sink shows those up to its own level."""

    __module__ = "drjit"

    Disable = 0
    Error = 1
    Warn = 2
    Info = 3
    InfoSym = 4
    Debug = 5
    Trace = 6


class JitFlag(IntEnum):
    """Compilation flags, a property of the calling thread."""

    __module__ = "drjit"

    Debug = 1 << 0
    ReuseIndices = 1 << 1
    ConstantPropagation = 1 << 2
    FastMath = 1 << 3
    ValueNumbering = 1 << 4
    SymbolicLoops = 1 << 5
    OptimizeLoops = 1 << 6
    CompressLoops = 1 << 7
    SymbolicCalls = 1 << 8
    OptimizeCalls = 1 << 9
    MergeFunctions = 1 << 10
    SymbolicConditionals = 1 << 11
    PacketOps = 1 << 12
    ForceOptiX = 1 << 13
    PrintIR = 1 << 14
    KernelHistory = 1 << 15
    LaunchBlocking = 1 << 16
    ForbidSynchronization = 1 << 17
    ScatterReduceLocal = 1 << 18
    SymbolicScope = 1 << 19
    KernelFreezing = 1 << 20
    FreezingScope = 1 << 21
    EnableObjectTraversal = 1 << 22
    ShaderExecutionReordering = 1 << 23
    SpillToSharedMemory = 1 << 24
    FuseReductions = 1 << 27
    FreezingCheckAll = 1 << 28
    FreezingCheckNone = 1 << 29
    Deterministic = 1 << 30
    Default = (
        ReuseIndices
        | ConstantPropagation
        | FastMath
        | ValueNumbering
        | SymbolicLoops
        | OptimizeLoops
        | SymbolicCalls
        | OptimizeCalls
        | MergeFunctions
        | SymbolicConditionals
        | PacketOps
        | ScatterReduceLocal
        | KernelFreezing
        | ShaderExecutionReordering
        | SpillToSharedMemory
        | FuseReductions
    )

    # Names of earlier versions, which existing programs use.
    LoopRecord = SymbolicLoops
    LoopOptimize = OptimizeLoops
    VCallRecord = SymbolicCalls
    VCallOptimize = OptimizeCalls
    VCallDeduplicate = MergeFunctions
    Recording = SymbolicScope

    def __repr__(self) -> str:
        return f"JitFlag.{self.name}"

    __str__ = __repr__


def _short_repr(self: Enum) -> str:
    return f"{type(self).__name__}.{self.name}"


for _enum in (
    JitBackend, VarType, VarState, ReduceOp, ReduceMode, KernelType,
    KernelRecordingMode, LogLevel,
):  # fmt: skip
    _enum.__repr__ = _enum.__str__ = _short_repr  # type: ignore
del _enum


class ADMode(Enum):
    """The direction in which derivatives go; see :func:`drjit.traverse`."""

    __module__ = "drjit"

    Primal = 0
    Forward = 1
    Backward = 2


class ADFlag(IntFlag):
    """What a traversal clears, to be combined with ``|``; see :func:`drjit.traverse`.

    ``CreateGraph`` is ours: gradients are tracked, so that they can be differentiated
    themselves, and edges are kept.
    """

    __module__ = "drjit"

    ClearNone = 0
    ClearEdges = 1
    ClearInput = 2
    ClearInterior = 4
    ClearVertices = 6
    Default = 7
    AllowNoGrad = 8
    CreateGraph = 16


class FilterMode(Enum):
    """How a texture is interpolated between its texels.

    - ``Nearest``: not at all; a position gets the content of the texel in which it
      lies.
    - ``Linear``: linearly along each axis between the centres of two texels.

    The same values choose between the levels of a texture with several resolutions
    (``mip_filter``). Cubic lookups are methods of their own.

    Example:
        >>> from drjit.llvm.ad import Texture1f
        >>> line = TensorXf([[1.0], [3.0]])
        >>> x = Float(0.25, 0.4, 0.75)
        >>> Texture1f(line, filter_mode=dr.FilterMode.Nearest).eval(x).x
        [1, 1, 3]
        >>> Texture1f(line, filter_mode=dr.FilterMode.Linear).eval(x).x
        [1, 1.6, 3]
    """

    __module__ = "drjit"

    Nearest = 0
    Linear = 1


class WrapMode(Enum):
    """What a texture contains beyond its grid, which covers the positions from 0 to 1.

    - ``Repeat``: the grid again and again.
    - ``Clamp``: the content of the nearest texel of the border.
    - ``Mirror``: the grid and its mirror image in turn.

    Example:
        >>> from drjit.llvm.ad import Texture1f
        >>> line, x = TensorXf([[1.0], [2.0], [4.0]]), Float(-0.5, 0.5, 1.2)
        >>> for mode in dr.WrapMode:
        ...     print(mode.name, Texture1f(line, wrap_mode=mode).eval(x).x)
        Repeat [2, 2, 1.1]
        Clamp [1, 2, 4]
        Mirror [2, 2, 3.8]
    """

    __module__ = "drjit"

    Repeat = 0
    Clamp = 1
    Mirror = 2
