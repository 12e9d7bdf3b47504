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
    """A mark in the stream of queued work."""

    def __init__(self, enable_timing=True): ...
    def record(self):
        """Put the event after all work enqueued so far by this thread."""

    def query(self):
        """Has the work before it finished?"""

    def wait(self):
        """Wait until the work before it has finished."""

    def elapsed_time(self, end_event, /):
        """Milliseconds from this event to 'end_event'; waits for both."""

    @property
    def handle(self):
        """The address of the core's event, an int."""
