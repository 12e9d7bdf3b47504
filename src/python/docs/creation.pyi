"""Docstrings of functions written in C: creation."""

def zeros(dtype, shape=1):
    """An array, tensor, number or structure of zeros (False for masks). 'shape' is a
    sequence with all extents, or the number of lanes."""

def ones(dtype, shape=1):
    """As zeros(), of ones (True for masks)."""

def empty(dtype, shape=1):
    """As zeros(), with arbitrary contents, for targets that are about to be overwritten."""

def full(dtype, value, shape=1):
    """As zeros(), of a given value."""

def opaque(dtype, value, shape=1):
    """As full(), evaluated: kernels do not contain the value, so another value needs no
    other kernel."""

def zeros_like(arg, /):
    """Zeros with the type and shape of 'arg'."""

def ones_like(arg, /):
    """Ones with the type and shape of 'arg'."""

def empty_like(arg, /):
    """Arbitrary contents with the type and shape of 'arg'."""

def full_like(arg, value, /):
    """A value with the type and shape of 'arg'."""
