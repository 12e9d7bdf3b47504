"""Docstrings of functions written in C: classes."""

class Local:
    """An array that each lane has for itself; see drjit.alloc_local()."""

    def assign(self, other, /):
        """Become a copy of another local array of the same type."""

    def copy(self):
        """Another local array of these entries."""

    def zeros(self):
        """Another local array of this type and length, of zeros."""

    def read(self, index, active=True):
        """The entries at these positions; 0 where masked and beyond the end."""

    def write(self, value, index, active=True):
        """Set the entries at these positions, but for masked lanes and positions beyond
        the end."""

class Event:
    """A mark in the queue of work, to wait for and to measure times between.

    Work that kernels do is queued by the thread that evaluates; an event recorded there
    is reached when all work before it has finished. An event can be recorded again,
    which moves it. The class is in each module of traced arrays (``drjit.llvm``,
    ``drjit.auto``); ``drjit.scalar`` has none, since nothing is queued there.

    Args:
        enable_timing (bool): the event takes the time when it is reached. ``False``
            makes an event for waiting only.

    Example:
        >>> start, end = dr.llvm.Event(), dr.llvm.Event()
        >>> start.record()
        >>> x = dr.sum(dr.sin(dr.arange(Float, 100000)))
        >>> end.record()
        >>> milliseconds = start.elapsed_time(end)
        >>> milliseconds > 0, end.query()
        (True, True)

    See also:
        :func:`drjit.kernel_history`, :func:`drjit.sync_thread`
    """

    def __init__(self, enable_timing=True): ...
    def record(self):
        """Put the event behind all work that this thread has queued so far.

        Arrays that are not evaluated yet are no queued work: call :func:`drjit.eval`
        before.
        """

    def query(self):
        """Return whether the work before the event has finished, without waiting.

        Returns:
            bool: ``True`` also for an event that was never recorded.
        """

    def wait(self):
        """Wait until the work before the event has finished; at once if it was never
        recorded.

        Other Python threads run in the meantime.
        """

    def elapsed_time(self, end_event, /):
        """Return the time from this event to another one in milliseconds; waits for
        both.

        Args:
            end_event (Event): the other event, of the same backend. The time is
                negative if it was recorded before this one.

        Raises:
            RuntimeError: an event was not recorded, or was made without
                ``enable_timing``.
            TypeError: ``end_event`` is not an event of the same backend.
        """

    @property
    def handle(self):
        """Address of the event in the C interface (``JitEvent *``), an ``int``."""
