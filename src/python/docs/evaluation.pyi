"""Docstrings of functions written in C: evaluation."""

def schedule(*args):
    """Have arrays computed by the next kernel launch, without launching one now.

    Arrays that are scheduled together become one kernel that computes what they have
    in common once. Those that are released before are left out.

    Args:
        *args: PyTrees. Literals, evaluated arrays and other objects are passed over.

    Returns:
        bool: was there an array to schedule?

    Raises:
        RuntimeError: an array depends on a loop, conditional or call that is being
            recorded.

    Evaluation:
        With the next launch of this thread: :func:`drjit.eval`, or reading any array.

    Example:
        >>> x = Float(1, 4)
        >>> a, b = dr.sqrt(x), x + 1
        >>> dr.schedule(a, b)
        True
        >>> a
        [1, 2]
        >>> b.state
        VarState.Evaluated

    See also:
        :func:`drjit.eval`, :func:`drjit.make_opaque`
    """

def eval(*args):
    """Evaluate arrays, and everything that was scheduled before.

    All arrays of one size are computed by one kernel, which is launched; the function
    does not wait for it. Programs rarely need this to get values, since reading an
    array evaluates it. It belongs where a value is used in several evaluations, and
    at the end of each iteration of a Python loop:
    [Evaluation](../evaluation.md#evaluate-at-the-right-places).

    Args:
        *args: PyTrees. Literals stay literals (see :func:`drjit.make_opaque`);
            evaluated arrays and other objects are passed over. Without any, only
            what is scheduled is evaluated, with side effects such as scatters.

    Returns:
        bool: was there an array in ``args`` to evaluate?

    Raises:
        RuntimeError: an array depends on a loop, conditional or call that is being
            recorded.

    Evaluation:
        Launches the kernels and returns.

    Example:
        >>> x = dr.sqrt(Float(1, 4, 9))
        >>> x.state
        VarState.Unevaluated
        >>> dr.eval(x)
        True
        >>> x.state
        VarState.Evaluated

    See also:
        :func:`drjit.schedule`, :func:`drjit.make_opaque`, :func:`drjit.sync_thread`
    """

def make_opaque(*args):
    """Evaluate arrays, literals included, so that kernels read them from memory.

    A literal is part of the kernel that uses it, so another value can mean another
    kernel. Of an opaque array the kernel is the same whatever its value. Meant for
    parameters that change from one iteration to the next.

    Args:
        *args: PyTrees, whose arrays are changed in place; other objects are passed
            over.

    Raises:
        RuntimeError: an array depends on a loop, conditional or call that is being
            recorded.

    Evaluation:
        Evaluates the arrays, and everything that was scheduled before.

    Example:
        >>> step = Float(0.1)
        >>> step.state
        VarState.Literal
        >>> dr.make_opaque(step)
        >>> step.state
        VarState.Evaluated

    See also:
        :func:`drjit.opaque`, :func:`drjit.eval`
    """

def copy(arg, /):
    """Return a deep copy of a PyTree.

    Containers and arrays are new objects. The arrays share memory until one of them is
    written to, so a copy costs next to nothing.

    Args:
        arg (PyTree): arrays are copied; objects that are neither arrays nor
            containers are the same in the copy.

    Returns:
        PyTree: of the structure of ``arg``.

    Derivative:
        The identity: copies of tracked arrays are tracked.

    Example:
        >>> a = {"x": Float(1, 2)}
        >>> b = dr.copy(a)
        >>> b["x"] += 1
        >>> a, b
        ({'x': [1, 2]}, {'x': [2, 3]})

    See also:
        :func:`drjit.detach`
    """

def sync_thread():
    """Wait until the kernels that this thread has launched have finished.

    Only measurements of time and output from within kernels (:func:`drjit.print`)
    need it: whatever reads an array waits by itself. Other Python threads run
    meanwhile.

    Raises:
        RuntimeError: ``JitFlag.ForbidSynchronization`` is set, or a kernel has failed.

    Evaluation:
        Launches nothing: arrays that are not evaluated stay so.

    Example:
        >>> dr.eval(dr.sqrt(Float(1, 4)))
        True
        >>> dr.sync_thread()

    See also:
        :func:`drjit.eval`, :func:`drjit.flush_thread`
    """

def has_backend(arg, /):
    """Can arrays of a backend be used on this machine?

    Args:
        arg (JitBackend): the backend.

    Returns:
        int: 1 or 0.

    Raises:
        TypeError: ``arg`` is not a ``JitBackend``.

    Example:
        >>> dr.has_backend(dr.JitBackend.LLVM), dr.has_backend(dr.JitBackend.CUDA)
        (1, 0)

    See also:
        :func:`drjit.set_backend`, :func:`drjit.backend_v`
    """

def set_flag(flag, value, /):
    """Set or clear a flag of the calling thread.

    Args:
        flag (JitFlag): the flag, or several combined with ``|``.
        value (bool): set or clear.

    Raises:
        TypeError: ``flag`` is not a ``JitFlag``, or ``value`` not a ``bool``.

    Example:
        >>> dr.set_flag(dr.JitFlag.Debug, True)
        >>> dr.flag(dr.JitFlag.Debug)
        True
        >>> dr.set_flag(dr.JitFlag.Debug, False)

    See also:
        :class:`drjit.scoped_set_flag`, :func:`drjit.flag`, :class:`drjit.JitFlag`
    """

def flag(arg, /):
    """Is a flag of the calling thread set?

    Args:
        arg (JitFlag): the flag. Of several combined with ``|``: is one of them set?

    Returns:
        bool: what this thread has set, or the default.

    Raises:
        TypeError: ``arg`` is not a ``JitFlag``.

    Example:
        >>> dr.flag(dr.JitFlag.SymbolicLoops)
        True

    See also:
        :func:`drjit.set_flag`, :class:`drjit.JitFlag`
    """

def flush_kernel_cache():
    """Forget the compiled kernels in memory.

    Later launches compile them again, or read them from disk with the engine
    ``llvm``. For measurements of compile times; the environment variable
    ``DRJIT_KERNEL_CACHE_SIZE`` bounds the number of kernels in ordinary programs.

    Example:
        >>> dr.flush_kernel_cache()

    See also:
        :func:`drjit.flush_malloc_cache`
    """

def flush_malloc_cache():
    """Return memory that is not in use to the operating system.

    Memory of released arrays is kept for new ones, which saves time; this gives it
    back.

    Example:
        >>> dr.flush_malloc_cache()

    See also:
        :func:`drjit.flush_kernel_cache`
    """

def thread_count():
    """Return the number of threads that run kernels, the calling one included.

    Returns:
        int: at first the number of cores that the process may use.

    Example:
        >>> dr.thread_count() >= 1
        True

    See also:
        :func:`drjit.set_thread_count`
    """

def set_thread_count(arg, /):
    """Set the number of threads that run kernels, the calling one included.

    Sums of floats and other results do not depend on it, except for atomic scatters
    of floats, whose order is not determined.

    Args:
        arg (int): the number. 0 and 1 mean that the calling thread runs everything.

    Raises:
        ValueError: ``arg`` is negative.
        TypeError: ``arg`` is not an integer.
        RuntimeError: ``arg`` is above 4096.

    Example:
        >>> before = dr.thread_count()
        >>> dr.set_thread_count(1)
        >>> dr.thread_count()
        1
        >>> dr.set_thread_count(before)

    See also:
        :func:`drjit.thread_count`
    """

def expand_threshold():
    """Return the largest target that ``ReduceMode.Auto`` replicates for each thread.

    Returns:
        int: a number of entries, at first 2**20.

    Example:
        >>> dr.expand_threshold()
        1048576

    See also:
        :func:`drjit.set_expand_threshold`, :class:`drjit.ReduceMode`
    """

def set_expand_threshold(arg, /):
    """Set the largest target that ``ReduceMode.Auto`` replicates for each thread.

    Scatter-reductions to a replicated target (``ReduceMode.Expand``) need no atomic
    operations, but memory and a sum over the copies. The threshold is one for all
    threads.

    Args:
        arg (int): a number of entries; with 0, none is replicated unless asked for.

    Raises:
        ValueError: ``arg`` is negative.
        TypeError: ``arg`` is not an integer.

    Example:
        >>> dr.set_expand_threshold(1000)
        >>> dr.expand_threshold()
        1000
        >>> dr.set_expand_threshold(2**20)

    See also:
        :func:`drjit.scatter_reduce`, :class:`drjit.ReduceMode`
    """

def width(*args):
    """Number of lanes of the arrays in these PyTrees, 1 if there are none. RuntimeError if
    their sizes do not fit."""

def opaque_width(arg, /):
    """The number of lanes as an evaluated array of one entry."""

def shape(arg, /):
    """Extents of an array, tensor or nested sequence. RuntimeError if it is ragged."""
