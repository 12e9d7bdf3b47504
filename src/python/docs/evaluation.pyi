"""Docstrings of functions written in C: evaluation."""

def schedule(*args):
    """Have the arrays in these PyTrees computed by the next kernel launch. Returns True if
    there was something to schedule."""

def eval(*args):
    """Evaluate the arrays in these PyTrees, and all that was scheduled before. Literals
    stay literals (see make_opaque). Returns True if there was something to do."""

def make_opaque(*args):
    """Evaluate the arrays in these PyTrees, literals included."""

def copy(arg, /):
    """A deep copy of a PyTree; the arrays share memory until one of them is written to."""
