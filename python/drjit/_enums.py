"""The enumerations. Their values are those of the C interface (drjit-core/types.h)."""

from enum import Enum, IntEnum, IntFlag


class JitBackend(Enum):
    """A computational backend: what computes the arrays of a module.

    - ``Invalid`` (0): none, as of the types of ``drjit.scalar``.
    - ``CUDA`` (1): NVIDIA GPUs. Not part of this version.
    - ``LLVM`` (2): the CPU, with any [engine](../evaluation.md#engines); it has this
      name even where no code is made by LLVM.

    See also:
        :func:`drjit.backend_v`, :func:`drjit.has_backend`
    """

    __module__ = "drjit"

    Invalid = 0
    CUDA = 1
    LLVM = 2


class VarType(Enum):
    """The types of entries, in the order of promotion.

    - ``Void`` (0): none.
    - ``Bool`` (1): a truth value.
    - ``Int8`` (3), ``UInt8`` (4), ``Int16`` (5), ``UInt16`` (6), ``Int32`` (7),
      ``UInt32`` (8), ``Int64`` (9), ``UInt64`` (10): integers with and without sign.
      There are no array types of 16-bit integers.
    - ``Pointer`` (11): an address, within the library.
    - ``Float16`` (13), ``Float32`` (14), ``Float64`` (15): numbers in half, single and
      double precision.

    See also:
        :func:`drjit.type_v`, :func:`drjit.replace_type_t`
    """

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
    """What an array currently is: the answer of ``x.state``.

    - ``Invalid`` (0): an array without entries that was made without a value.
    - ``Undefined`` (1): made by :func:`drjit.empty`; it takes no memory yet.
    - ``Literal`` (2): one value for all entries, known while tracing; it takes no
      memory.
    - ``Unevaluated`` (3): a recorded operation.
    - ``Evaluated`` (4): memory.
    - ``Dirty`` (5): memory that a recorded scatter will write to.
    - ``Symbolic`` (6): an array in a loop, conditional or call that is being recorded.
      It has no value before the kernel runs.
    - ``Mixed`` (7): a nested array whose components are in different states.

    [Evaluation](../evaluation.md#what-an-array-is) shows transitions between them.

    See also:
        :func:`drjit.eval`, :func:`drjit.make_opaque`
    """

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
    """The kind of work of an entry of :func:`drjit.kernel_history`.

    - ``JIT`` (0): a kernel that was compiled from traced operations.
    - ``BlockReduce`` (1): a reduction of a whole array or of its blocks.
    - ``BlockPrefixReduce`` (2): a prefix sum or another scan.
    - ``Dot`` (3): a dot product.
    - ``BatchedGemm`` (4): products of matrices.
    - ``Compress`` (5): the indices at which a mask is set, see :func:`drjit.compress`.
    - ``MkPerm`` (6): sorting: a permutation that groups keys.
    - ``Memcpy`` (7), ``Memset`` (8): copying and filling memory.
    - ``Poke`` (9): writing one entry.
    - ``Aggregate`` (10): collecting values into one block of memory.
    - ``LLVMHostFunc`` (11): a function of the host.

    See also:
        :func:`drjit.kernel_history`
    """

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
    """How a launch relates to a frozen function; see :func:`drjit.kernel_history`.

    - ``Inactive`` (0): not at all.
    - ``Recorded`` (1): it was launched while the function was recorded.
    - ``Replayed`` (2): it was launched by a recording.

    See also:
        :func:`drjit.freeze`
    """

    __module__ = "drjit"

    Inactive = 0
    Recorded = 1
    Replayed = 2


class LogLevel(IntEnum):
    """The level of a message of the log; those up to the current level are shown.

    - ``Disable`` (0): nothing is shown.
    - ``Error`` (1): what has failed.
    - ``Warn`` (2): what is probably a mistake: accesses out of bounds in debug mode,
      leaks, engines that cannot be used, functions that cannot be frozen. The level at
      first.
    - ``Info`` (3): each evaluation: kernels, where they came from, how long they took.
    - ``InfoSym`` (4): no messages of its own.
    - ``Debug`` (5): each variable.
    - ``Trace`` (6): no messages of its own.

    See also:
        :func:`drjit.set_log_level`, :func:`drjit.set_log_callback`
    """

    __module__ = "drjit"

    Disable = 0
    Error = 1
    Warn = 2
    Info = 3
    InfoSym = 4
    Debug = 5
    Trace = 6


class JitFlag(IntEnum):
    """Flags that say how programs are traced, compiled and checked.

    Each thread has its own; :class:`drjit.scoped_set_flag` sets one for a block. They
    can be combined with ``|``. "On" and "off" are the defaults.

    Checks and reports:

    - ``Debug`` (off): check indices of gathers, scatters and calls while kernels run,
      have ``dr.assert_*`` check, have arrays know the source line that made them, and
      warn of results that are infinite or NaN
      ([debugging](../debugging.md#debug-mode)). Each kernel is waited for and runs
      slower; results are the same.
    - ``PrintIR`` (off): print each kernel when it is launched, and what the engine
      makes of it.
    - ``KernelHistory`` (off): record launches for :func:`drjit.kernel_history`.
    - ``LaunchBlocking`` (off): wait after each launch, so that errors and times belong
      to it.
    - ``ForbidSynchronization`` (off): waiting for a kernel is an error, to find hidden
      waits.

    Tracing:

    - ``ConstantPropagation`` (on): compute with literals while tracing.
    - ``ValueNumbering`` (on): equal operations on the same arrays share one variable.
    - ``FastMath`` (on): ``x * 0`` is 0 even for infinities and NaN. It changes nothing
      else.
    - ``ReuseIndices`` (on): numbers of released variables (``x.index``) are used again.
      Without it they tell variables apart in logs, and memory grows.

    Control flow ([modes](../flow.md#symbolic-and-evaluated)):

    - ``SymbolicLoops``, ``SymbolicConditionals``, ``SymbolicCalls`` (on): record loops,
      conditionals and calls as parts of kernels; otherwise they run at once, with
      evaluated arrays.
    - ``OptimizeLoops`` (on): take states that do not change out of recorded loops.
    - ``CompressLoops`` (off): evaluated loops remove lanes that are done.
    - ``OptimizeCalls`` (on): pass literals into the functions of recorded calls, and
      move out of them what is the same in all.
    - ``MergeFunctions`` (on): functions with equal code become one in the kernel.

    Memory and reductions:

    - ``PacketOps`` (on): gathers and scatters of neighbouring entries are loads and
      stores of packets.
    - ``ScatterReduceLocal`` (on): ``ReduceMode.Auto`` may combine lanes with equal
      targets before an atomic operation (``ReduceMode.Local``).
    - ``FuseReductions`` (on): a reduction is part of the kernel that computes its
      input.
    - ``Deterministic`` (off): scatter-reductions (``Add``, ``Mul``) of floats, and with
      them gradients, have a fixed order of operations; in recorded loops, conditionals
      and calls, they are an error.

    Frozen functions ([freezing](../freezing.md)):

    - ``KernelFreezing`` (on): without it, functions of :func:`drjit.freeze` are called
      as if they were not decorated.
    - ``FreezingCheckAll`` (off): check each repetition against a real call, which is
      slow.
    - ``FreezingCheckNone`` (off): check none, unless the other flag is set.

    Set by the library, to be read:

    - ``SymbolicScope``: a loop, conditional or call is being recorded.
    - ``FreezingScope``: a frozen function is being recorded.

    Accepted without effect in this version: ``EnableObjectTraversal`` (off),
    ``ForceOptiX`` (off), ``ShaderExecutionReordering`` (on), ``SpillToSharedMemory``
    (on).

    ``Default`` has all flags that are on. ``LoopRecord``, ``LoopOptimize``,
    ``VCallRecord``, ``VCallOptimize``, ``VCallDeduplicate`` and ``Recording`` are older
    names of ``SymbolicLoops``, ``OptimizeLoops``, ``SymbolicCalls``, ``OptimizeCalls``,
    ``MergeFunctions`` and ``SymbolicScope``.

    Example:
        >>> with dr.scoped_set_flag(dr.JitFlag.FastMath, False):
        ...     print(dr.isnan(Float(1, dr.inf) * 0))
        [False, True]

    See also:
        :func:`drjit.flag`, :func:`drjit.set_flag`, :class:`drjit.scoped_set_flag`
    """

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
    """The direction in which derivatives go; see :func:`drjit.traverse`.

    - ``Primal`` (0): none.
    - ``Forward`` (1): from inputs to results.
    - ``Backward`` (2): from results to inputs.
    """

    __module__ = "drjit"

    Primal = 0
    Forward = 1
    Backward = 2


class ADFlag(IntFlag):
    """What a traversal clears, and what else it does; see :func:`drjit.traverse`.

    Members are combined with ``|``.

    - ``ClearNone`` (0): nothing is cleared, so a traversal can be repeated. Gradients
      add up.
    - ``ClearEdges`` (1): the edges that were passed. This frees memory early, and the
      traversal cannot be repeated.
    - ``ClearInput`` (2): the gradients where the traversal begins.
    - ``ClearInterior`` (4): the gradients on the way.
    - ``ClearVertices`` (6): ``ClearInput | ClearInterior``. For repeated traversals.
    - ``Default`` (7): all of it. Only arrays where the traversal ends have gradients
      afterwards.
    - ``AllowNoGrad`` (8): beginning at an array that is not tracked is not an error.
    - ``CreateGraph`` (16): gradients are tracked, so that they can be differentiated
      themselves; edges are kept.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> y = x * x
        >>> for _ in range(2):
        ...     dr.backward(y, dr.ADFlag.ClearVertices)
        >>> x.grad
        [12]
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
