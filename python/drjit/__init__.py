"""Dr.Jit: a just-in-time compiler for array programs. This file only re-exports.

Array types live in ``drjit.scalar`` (computed at once), ``drjit.llvm`` (traced and
compiled for the CPU) and ``drjit.auto`` (the best there is); those with derivatives in
``drjit.llvm.ad`` and ``drjit.auto.ad``. All modules are there from the start, but
executed when first looked into, and a function that is written in Python is imported
with its module when it is first used. So ``import drjit`` takes little longer than
loading the extension.
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
from ._core import _families, _LazyFunction  # noqa: E402
from ._lazy import module as _module  # noqa: E402

# The published version whose interface this is, which programs compare;
# drjit.config.VERSION is that of this package.
__version__ = "1.5.0"

Dynamic = -1
newaxis = None

# The functions written in Python: module -> its public names.
_FUNCTIONS = {
    "_ad.check": "check_grad",
    "_ad.custom": "custom",
    "_ad.inspect": "explain_grad graphviz_ad whos_ad",
    "_ad.modes": (
        "backward backward_from backward_to forward forward_from forward_to "
        "relative_grad replace_grad traverse"
    ),
    "_ad.wrap": "wrap wrap_ad",
    "_flow.func": "func",
    "_flow.instances": "dispatch",
    "_flow.local": "alloc_local",
    "_flow.reorder": "flush_thread reorder_threads",
    "_freeze.function": "freeze",
    "_freeze.load": "load_frozen",
    "_math.angles": "deg2rad rad2deg safe_acos safe_asin safe_sqrt sphdir",
    "_math.color": (
        "linear_srgb_to_oklab linear_to_srgb oklab_to_linear_srgb srgb_to_linear"
    ),
    "_math.compare": "allclose assert_allclose clamp clip fmax fmin",
    "_math.complex": "arg conj imag real",
    "_math.constants": "epsilon largest one_minus_epsilon recip_overflow smallest",
    "_math.harmonics": "sh_eval",
    "_math.linalg": ("cross det diag frob hypot identity inverse lerp normalize trace"),
    "_math.norms": "abs_dot norm squared_norm",
    "_math.rotations": (
        "euler_to_quat matrix_to_quat polar_decomp quat_apply quat_to_euler "
        "quat_to_matrix rotate slerp transform_compose transform_decompose unit_angle"
    ),
    "_math.scalar_math": "mulsign sign sqr square",
    "_math.special": "cot erfc",
    "_shape.grids": "meshgrid",
    "_shape.join": "column_stack concat dstack hstack row_stack stack vstack",
    "_shape.nested": (
        "all_nested all_or any_nested any_or max_nested min_nested none_nested none_or "
        "prod_nested sum_nested"
    ),
    "_shape.ranges": "arange linspace",
    "_shape.rearrange": (
        "array_split expand_dims moveaxis reverse split squeeze swapaxes take "
        "take_interp transpose upsample"
    ),
    "_shape.replicate": "repeat tile",
    "_shape.resample": "convolve resample",
    "_shape.reshape": "reshape",
    "_shape.sorting": "argsort binary_search sort",
    "_shape.statistics": (
        "argmax argmin block_prefix_sum count cumsum mean median prefix_sum std var"
    ),
    "_text.asserts": "assert_equal assert_false assert_true",
    "_text.debug": "set_label",
    "_text.printing": "format print",
    "ast": "hint syntax",
    "auto": "set_backend",
    "random": "rng",
}

# The classes and constants.
_VALUES = {
    "_ad.custom": "CustomOp",
    "_ad.scopes": "isolate_grad resume_grad suspend_grad",
    "_enums": (
        "ADFlag ADMode FilterMode JitBackend JitFlag KernelRecordingMode KernelType "
        "LogLevel ReduceMode ReduceOp VarState VarType WrapMode"
    ),
    "_flow.instances": "Instance",
    "_flow.local": "Local",
    "_math.constants": (
        "e four_pi inf inv_four_pi inv_log_two inv_pi inv_sqrt_four_pi inv_sqrt_pi "
        "inv_sqrt_two inv_sqrt_two_pi inv_two_pi log_two nan pi sqrt_four_pi sqrt_pi "
        "sqrt_two sqrt_two_pi two_pi"
    ),
    "_text.debug": "profile_enable profile_range scoped_set_flag",
    "_text.profile": "profile",
    "_typing": "AnyArray ArrayT MaskT PlainT RedT SelfCpT SelfT T Ts ValCpT ValT",
}
_HOME = {name: module for module, names in _VALUES.items() for name in names.split()}

for _home, _names in _FUNCTIONS.items():
    for _name in _names.split():
        globals()[_name] = _LazyFunction(globals(), f"{__name__}.{_home}", _name)

# What `from drjit import *` gives.
__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
__all__ += _HOME

_MODULES = (
    "ad array_api auto auto.ad config dda detail dist hashgrid interop nn opt random"
)
for _name in _MODULES.split():
    _module(f"{__name__}.{_name}")
for _name in _families():
    _module(_name)
del _families, _home, _names, _name, _MODULES


def _find(name: str) -> object:
    from importlib import import_module

    return getattr(import_module("." + _HOME[name], __name__), name)


_binding = False


def __getattr__(name: str) -> object:
    """Find a class or constant that is written in Python; then all of them are bound.

    While a module has this function, Python does not remember where its other names
    are, and each ``drjit.x`` takes half as long again. So it goes when all are bound.
    It stays as long as a module cannot be imported, and raises that module's error
    whenever one of its names is asked for; the names of the others are bound.
    """
    global _binding
    if name not in _HOME:
        raise AttributeError(f"module 'drjit' has no attribute '{name}'")
    if _binding:  # one of the modules that are imported below asks, or another thread
        return _find(name)
    names = globals()
    failed: set[str] = set()
    _binding = True
    try:
        value = names[name] = _find(name)
        for other, home in _HOME.items():
            if other in names or home in failed:
                continue
            try:
                names[other] = _find(other)
            except Exception:  # using this name will raise it
                failed.add(home)
        if not failed:
            names.pop("__getattr__", None)
    finally:
        _binding = False
    return value


def __dir__() -> list[str]:
    private = {"_FUNCTIONS", "_HOME", "_VALUES", "_binding", "_find", "_module"}
    private |= {"_LazyFunction", "__getattr__"}  # the latter goes
    return sorted({*globals(), *_HOME} - private)
