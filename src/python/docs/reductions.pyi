"""Docstrings of functions written in C: reductions."""

def reduce(op, value, axis=..., mode=None, keepdims=False):
    """Combine entries along axes with a ReduceOp.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed.
    mode="evaluated" computes the input and runs a reduction on it, "symbolic" traces
    atomic scatters, None chooses."""

def sum(value, axis=..., mode=None, keepdims=False):
    """Sum of entries along axes.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed.
    mode="evaluated" computes the input and runs a reduction on it, "symbolic" traces
    atomic scatters, None chooses."""

def prod(value, axis=..., mode=None, keepdims=False):
    """Product of entries along axes.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed.
    mode="evaluated" computes the input and runs a reduction on it, "symbolic" traces
    atomic scatters, None chooses."""

def min(value, axis=..., mode=None, keepdims=False):
    """Smallest entry along axes.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed.
    mode="evaluated" computes the input and runs a reduction on it, "symbolic" traces
    atomic scatters, None chooses."""

def max(value, axis=..., mode=None, keepdims=False):
    """Largest entry along axes.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed.
    mode="evaluated" computes the input and runs a reduction on it, "symbolic" traces
    atomic scatters, None chooses."""

def all(value, axis=..., keepdims=False):
    """Are all entries along axes set? True if there are none.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed."""

def any(value, axis=..., keepdims=False):
    """Is any entry along axes set? False if there are none.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed."""

def none(value, axis=..., keepdims=False):
    """Is no entry along axes set? True if there are none.
    'axis' is an int, a tuple of ints, or None for all; the default is all axes of a
    tensor and the first one of everything else. With keepdims=True, reduced axes stay
    with extent 1. The trailing axis of a just-in-time compiled array is never removed."""

def prefix_reduce(op, value, axis=0, exclusive=True, reverse=False):
    """Replace each entry by the reduction of those before it along an axis (several axes:
    one after the other), with itself if 'exclusive' is False, from the end if 'reverse'
    is set."""

def block_reduce(op, value, block_size, mode=None):
    """Reduce consecutive blocks along the trailing dynamic axis of all arrays of a PyTree;
    the last one may be shorter. mode="evaluated" computes the input and runs a
    reduction on it, "symbolic" traces atomic scatters, None chooses."""

def block_sum(value, block_size, mode=None):
    """Sums of consecutive blocks: block_reduce() with ReduceOp.Add."""

def block_prefix_reduce(op, value, block_size, exclusive=True, reverse=False):
    """Prefix reductions that start anew with each block, along the trailing dynamic axis
    of all arrays of a PyTree."""

def compress(arg, /):
    """Positions (UInt32) of the set entries of a flat mask, in order. Waits for it."""
