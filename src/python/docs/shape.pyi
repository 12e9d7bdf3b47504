"""Docstrings of functions written in C: shape."""

def ravel(array, order="A"):
    """The entries of an array or tensor as a flat array. 'F' (the default for arrays):
    components of an element follow each other; 'C' (the default for tensors): all first
    components, then all second ones. A flat array is returned itself, a tensor's
    storage as a view."""

def unravel(dtype, array, order="A"):
    """The inverse of ravel(): an instance of 'dtype' from a flat array."""
