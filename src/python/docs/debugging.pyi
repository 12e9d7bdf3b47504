"""Docstrings of functions written in C: debugging."""

from drjit import LogLevel

def kernel_history(types=[]):
    """Return the launches recorded under ``JitFlag.KernelHistory``, and forget them.

    Waits for the kernels. Launches of all threads are in the record.

    Args:
        types (sequence of KernelType): the kinds of work to return, all by default.
            The others are forgotten, too.

    Returns:
        list[dict]: an entry for each launch, in order, with these keys:

        - ``backend``, ``type`` (:class:`drjit.KernelType`), ``recording_mode``
          (:class:`drjit.KernelRecordingMode`);
        - ``size``: entries processed (bytes for ``Memcpy`` and ``Poke``);
          ``input_count``, ``output_count``: arrays;
        - ``execution_time`` in milliseconds; ``bytes_read``, ``bytes_written`` and
          ``flops``, estimated before the launch
          ([the rules](../debugging.md#how-fast-is-it)).

        Kernels (``KernelType.JIT``) also have ``hash``, ``ir`` (the program, as a
        ``StringIO``), ``engine``, ``operation_count``, ``has_loops``; ``cache_hit``
        (it was in memory) and ``cache_disk`` (its code came from disk);
        ``codegen_time`` and ``backend_time``, the times of tracing it to a program
        and of compiling that in milliseconds; and ``uses_optix``, which is 0.

    Raises:
        TypeError: ``types`` is not a sequence.

    Evaluation:
        Launches nothing.

    Example:
        >>> with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        ...     dr.kernel_history_clear()
        ...     _ = dr.eval(dr.sqrt(Float(1, 4, 9)))
        ...     history = dr.kernel_history()
        >>> [(entry["type"], entry["size"]) for entry in history]
        [(KernelType.JIT, 3)]

    See also:
        :func:`drjit.kernel_history_clear`, :class:`drjit.JitFlag`
    """

def kernel_history_clear():
    """Forget the launches that were recorded under ``JitFlag.KernelHistory``.

    Example:
        >>> dr.kernel_history_clear()
        >>> dr.kernel_history()
        []

    See also:
        :func:`drjit.kernel_history`
    """

def log_level():
    """Return the level up to which messages of the log are printed.

    Errors and warnings go to ``sys.stderr``, the others to ``sys.stdout``.

    Returns:
        LogLevel: at first ``LogLevel.Warn``, or what the environment variable
        ``DRJIT_LOG_LEVEL`` names.

    Example:
        >>> isinstance(dr.log_level(), dr.LogLevel)
        True

    See also:
        :func:`drjit.set_log_level`, :class:`drjit.LogLevel`
    """

def set_log_level(arg, /):
    """Set the level up to which messages of the log are printed.

    Args:
        arg (LogLevel | int): the level, or its number.

    Raises:
        TypeError: ``arg`` is neither.
        ValueError: there is no level of this number.

    Example:
        >>> before = dr.log_level()
        >>> dr.set_log_level(dr.LogLevel.Error)
        >>> dr.log_level()
        LogLevel.Error
        >>> dr.set_log_level(before)

    See also:
        :func:`drjit.set_log_callback`, :class:`drjit.LogLevel`
    """

def set_log_callback(callback, level=LogLevel.Info):
    """Have a function get the messages of the log, too.

    It is called in the main thread, soon after the event. Printed messages stay as
    :func:`drjit.set_log_level` says.

    Args:
        callback (callable | None): ``callback(level, text)``, with a number and a
            string; ``None`` ends it.
        level (LogLevel): messages up to this level are passed.

    Raises:
        TypeError: ``callback`` is not callable, or ``level`` not a ``LogLevel``.

    Example:
        >>> messages = []
        >>> dr.set_log_callback(lambda level, text: messages.append(text))
        >>> dr.eval(dr.sin(Float(1, 2)))
        True
        >>> dr.set_log_callback(None)
        >>> messages[0]
        'jit_eval(): launching 1 kernel.'

    See also:
        :func:`drjit.set_log_level`, :class:`drjit.LogLevel`
    """

def whos(as_string=False):
    """List all variables that are alive.

    Each line has the number of a variable (``x.index``), its type, state, references,
    size, memory and label. Variables of all threads are listed; what should have been
    released shows up here.

    Args:
        as_string (bool): return the text instead of printing it.

    Returns:
        str | None: the text if ``as_string`` is set.

    Example:
        >>> x = Float(1, 2, 3)
        >>> x.label = "my array"
        >>> "my array" in dr.whos(as_string=True)
        True

    See also:
        :func:`drjit.set_label`, :func:`drjit.graphviz`, :func:`drjit.whos_ad`
    """

def graphviz(as_string=False):
    """Draw the graph of all variables that are alive, with what is recorded.

    Nodes have operation, type, references, size and label; those of evaluated arrays
    are blue. Edges go from operands to results.

    Args:
        as_string (bool): return the text in the language of Graphviz.

    Returns:
        graphviz.Source | str: what notebooks display, or the text.

    Raises:
        ImportError: ``as_string`` is not set, and the Python package ``graphviz`` is
            not installed.

    Example:
        >>> x = Float(1, 2)
        >>> y = x * x
        >>> dr.graphviz(as_string=True).split()[0]
        'digraph'

    See also:
        :func:`drjit.whos`, :func:`drjit.graphviz_ad`
    """

def profile_mark(arg, /):
    """Put a mark on the timeline of a profile.

    With the environment variable ``DRJIT_PROFILE=trace.json``, marks and ranges of all
    threads are written to this file in the trace event format. Collectors of NVTX, such
    as NVIDIA Nsight Systems, get them, too. Without either, the function does nothing.

    Args:
        arg (str): the label.

    Raises:
        TypeError: ``arg`` is not a string.

    Example:
        >>> dr.profile_mark("setup done")

    See also:
        :class:`drjit.profile_range`
    """
