"""Docstrings of functions written in C: linalg."""

def dot(a, b, /):
    """Inner product."""

def matmul(A, B, At=False, Bt=False):
    """Matrix, vector, inner or tensor product."""
