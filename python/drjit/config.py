"""What the compiled part of the package was built with."""

from ._core import _build

#: Name and version of the C compiler, as ``"GNU 12.2.0"``. (The published package names
#: its C++ compiler so.)
CXX_COMPILER: str = _build["compiler"]

#: Version of Python.
PYTHON_VERSION: str = _build["python"]
