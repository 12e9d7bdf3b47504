"""Docstrings of functions written in C: debugging."""

def has_backend(arg, /):
    """Is this JitBackend initialised? (0 or 1)"""

def set_flag(flag, value, /):
    """Set or clear a JitFlag of the calling thread."""

def flag(arg, /):
    """Is this JitFlag of the calling thread set?"""

def kernel_history(types=[]):
    """Take the launches recorded under JitFlag.KernelHistory, as dictionaries; times in
    milliseconds. 'types' restricts them to some KernelType."""

def kernel_history_clear():
    """Forget the recorded launches."""

def sync_thread():
    """Wait until the work enqueued by this thread has finished."""

def flush_kernel_cache():
    """Forget the compiled kernels in memory."""

def flush_malloc_cache():
    """Return unused memory to the operating system."""

def thread_count():
    """Number of threads that run kernels, the caller's included."""

def set_thread_count(arg, /):
    """Change that number; 0 and 1 mean the caller alone."""

def expand_threshold():
    """Largest target (entries) that ReduceMode.Auto replicates."""

def set_expand_threshold(arg, /):
    """Change that number of entries."""

def log_level():
    """Level of the messages that are printed: errors and warnings to ``sys.stderr``,
    others to ``sys.stdout``."""

def set_log_level(arg, /):
    """Change that LogLevel (or its number)."""

def set_log_callback(callback, level=LogLevel.Info):
    """Also pass messages up to 'level' (LogLevel.Info unless given) to callback(level,
    text), or to nobody (None). It is called in the main thread, soon after the event."""

def whos(as_string=False):
    """Print (or return) a table of all live variables."""

def graphviz(as_string=False):
    """The graph of all live variables, as a graphviz.Source or its text."""

def profile_mark(arg, /):
    """Put a mark into the profile."""
