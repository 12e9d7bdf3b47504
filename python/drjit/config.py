"""What the package is, and what its compiled part was built with."""

from ._core import _build, _cache_dir, _version

#: Version of this package, the distribution ``drjit-c``. (``drjit.__version__`` is that
#: of the published package whose interface it has.)
VERSION: str = _version

#: Name and version of the C compiler, as ``"GNU 12.2.0"``. (The published package names
#: its C++ compiler so.)
CXX_COMPILER: str = _build["compiler"]

#: Version of Python.
PYTHON_VERSION: str = _build["python"]


def cache_dir() -> str:
    """Return the folder in which compiled kernels are kept.

    Returns:
        str: the path, ``""`` if the cache is off (``DRJIT_CACHE_DIR=""``). Whether the
        folder can be written to shows when the first kernel is stored.

    Example:
        >>> folder = dr.config.cache_dir()
        >>> isinstance(folder, str)
        True
    """
    folder: str = _cache_dir()
    return folder
