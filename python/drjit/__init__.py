"""Dr.Jit: a just-in-time compiler for array programs. This file only re-exports.

Array types live in ``drjit.scalar`` (computed at once), ``drjit.llvm`` (traced and
compiled for the CPU) and ``drjit.auto`` (the best there is); those with derivatives in
``drjit.llvm.ad`` and ``drjit.auto.ad``. These modules, ``drjit.detail`` and
``drjit.nn`` are there from the start, but executed when first looked into; other
modules and all functions written in Python are imported when one of them is first used.
So ``import drjit`` takes little longer than loading the extension.
"""

from os import path as _path

# The published package, 'drjit' by name, has files of the same names in this folder.
if _path.exists(_path.join(__path__[0], "libdrjit-extra.so")):
    raise ImportError(
        "drjit: the packages 'drjit' and 'drjit-c' are both installed in "
        f"{__path__[0]} (libdrjit-extra.so is a file of the former, __init__.py one of "
        "the latter), expected one of them as each has overwritten files of the other; "
        "run 'pip uninstall drjit drjit-c', then install the one that you want"
    )

from ._core import *  # noqa: E402,F403  # the functions written in C
from ._core import __version__  # noqa: E402
from ._lazy import module as _module  # noqa: E402

Dynamic = -1
newaxis = None

# The functions, classes and constants written in Python: module -> its public names.
_PYTHON = {
    "_ad.check": "check_grad",
    "_ad.custom": "CustomOp custom",
    "_ad.inspect": "explain_grad graphviz_ad whos_ad",
    "_ad.modes": (
        "backward backward_from backward_to forward forward_from forward_to "
        "relative_grad replace_grad traverse"
    ),
    "_ad.wrap": "wrap wrap_ad",
    "_ad.scopes": "isolate_grad resume_grad suspend_grad",
    "_math.angles": "deg2rad rad2deg safe_acos safe_asin safe_sqrt sphdir",
    "_text.asserts": "assert_equal assert_false assert_true",
    "_math.compare": "allclose assert_allclose clamp clip fmax fmin",
    "_math.color": (
        "linear_srgb_to_oklab linear_to_srgb oklab_to_linear_srgb srgb_to_linear"
    ),
    "_math.complex": "arg conj imag real",
    "_math.constants": (
        "e epsilon four_pi inf inv_four_pi inv_log_two inv_pi inv_sqrt_four_pi "
        "inv_sqrt_pi inv_sqrt_two inv_sqrt_two_pi inv_two_pi largest log_two nan "
        "one_minus_epsilon pi recip_overflow smallest sqrt_four_pi sqrt_pi sqrt_two "
        "sqrt_two_pi two_pi"
    ),
    "_text.debug": "profile_enable profile_range scoped_set_flag set_label",
    "_enums": (
        "ADFlag ADMode FilterMode JitBackend JitFlag KernelRecordingMode KernelType "
        "LogLevel ReduceMode ReduceOp VarState VarType WrapMode"
    ),
    "_shape.grids": "meshgrid",
    "_math.harmonics": "sh_eval",
    "_math.linalg": (
        "cross det diag euler_to_quat frob hypot identity inverse lerp "
        "matrix_to_quat normalize polar_decomp quat_apply quat_to_euler "
        "quat_to_matrix rotate slerp trace transform_compose transform_decompose "
        "unit_angle"
    ),
    "_text.printing": "format print",
    "_shape.rearrange": (
        "array_split column_stack concat dstack expand_dims hstack moveaxis reverse "
        "row_stack split squeeze stack swapaxes take take_interp transpose upsample "
        "vstack"
    ),
    "_flow.func": "func",
    "_freeze.function": "freeze",
    "_freeze.load": "load_frozen",
    "_flow.instances": "Instance dispatch",
    "_flow.local": "Local alloc_local",
    "_flow.reorder": "flush_thread reorder_threads",
    "_math.scalar_math": "mulsign sign sqr square",
    "_shape.resample": "convolve resample",
    "_shape.sorting": "argsort binary_search sort",
    "_shape.statistics": (
        "all_nested any_nested argmax argmin block_prefix_sum count cumsum "
        "max_nested mean median min_nested none_nested prefix_sum prod_nested std "
        "sum_nested var"
    ),
    "_typing": "AnyArray ArrayT MaskT PlainT RedT SelfCpT SelfT T Ts ValCpT ValT",
    "ast": "hint syntax",
    "auto": "set_backend",
    "random": "rng",
}
_MODULES = ("ad", "config", "dda", "hashgrid", "interop", "opt", "random")
_HOME = {name: module for module, names in _PYTHON.items() for name in names.split()}

# What `from drjit import *` gives. Names of the extension are in this module already.
__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
__all__ += _HOME

for _name in ("auto", "auto.ad", "detail", "llvm", "llvm.ad", "nn", "scalar"):
    _module(f"{__name__}.{_name}")
del _name


_binding = False


def _find(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module("." + name, __name__)
    return getattr(import_module("." + _HOME[name], __name__), name)


def __getattr__(name: str) -> object:
    """Find a name that is written in Python; the first time, bind all of them.

    While a module has this function, Python does not remember where its other names
    are, and each ``drjit.x`` takes three times as long. So it goes when all are bound.
    It stays as long as a module cannot be imported, and raises that module's error
    whenever one of its names is asked for; the names of the others are bound.
    """
    global _binding
    if name not in _HOME and name not in _MODULES:
        raise AttributeError(f"module 'drjit' has no attribute '{name}'")
    if _binding:  # one of the modules that are imported below asks, or another thread
        return _find(name)
    names = globals()
    failed: set[str] = set()
    _binding = True
    try:
        value = names[name] = _find(name)
        for other in (*_HOME, *_MODULES):
            home = _HOME.get(other, other)
            if other in names or home in failed:
                continue
            try:
                names[other] = _find(other)
            except Exception:  # whatever it is, who asks for this name will see it
                failed.add(home)
        if not failed:
            names.pop("__getattr__", None)
    finally:
        _binding = False
    return value


def __dir__() -> list[str]:
    private = {"_HOME", "_MODULES", "_PYTHON", "_binding", "_find", "_module"}
    private.add("__getattr__")  # which goes
    return sorted({*globals(), *_HOME, *_MODULES} - private)
