"""Dr.Jit: a just-in-time compiler for array programs. This file only re-exports.

Array types live in ``drjit.scalar`` (computed at once), ``drjit.llvm`` (traced, compiled
for the CPU) and ``drjit.auto`` (the best there is); these modules, and ``drjit.detail``,
are imported when they are first used.
"""

from ._core import *  # noqa: F403  # the functions written in C
from ._asserts import assert_equal, assert_false, assert_true
from ._compare import (
    allclose, assert_allclose, clamp, clip, isfinite, isinf, isnan,
)  # fmt: skip
from ._complex import conj, imag, real
from ._constants import (
    e, epsilon, four_pi, inf, inv_four_pi, inv_log_two, inv_pi, inv_sqrt_four_pi,
    inv_sqrt_pi, inv_sqrt_two, inv_sqrt_two_pi, inv_two_pi, largest, log_two, nan,
    one_minus_epsilon, pi, recip_overflow, smallest, sqrt_four_pi, sqrt_pi, sqrt_two,
    sqrt_two_pi, two_pi,
)  # fmt: skip
from ._debug import profile_enable, profile_range, scoped_set_flag, set_label
from ._enums import (
    JitBackend, JitFlag, KernelRecordingMode, KernelType, LogLevel, ReduceMode, ReduceOp,
    VarState, VarType,
)  # fmt: skip
from ._grids import linspace, meshgrid
from ._harmonics import sh_eval
from ._linalg import (
    cross, det, diag, frob, hypot, identity, inverse, lerp, matrix_to_quat, normalize,
    polar_decomp, quat_apply, quat_to_matrix, trace, transform_compose,
    transform_decompose,
)  # fmt: skip
from ._printing import format, print
from ._rearrange import (
    array_split, column_stack, concat, dstack, expand_dims, hstack, moveaxis, reverse,
    row_stack, split, squeeze, stack, swapaxes, take, take_interp, transpose, upsample,
    vstack,
)  # fmt: skip
from ._reorder import reorder_threads
from ._scalar_math import mulsign, sign, sqr, square
from ._sorting import argsort, binary_search, sort
from ._statistics import (
    all_nested, any_nested, argmax, argmin, block_prefix_sum, block_sum, count, cumsum,
    max_nested, mean, min_nested, none_nested, prefix_sum, prod_nested, std,
    sum_nested, var,
)  # fmt: skip

__version__ = "0.1.0"

Dynamic = -1
newaxis = None

# Imported when first asked for: name -> module that has it, or the module itself.
_LATER = {
    "AnyArray": "_typing",
    "ArrayT": "_typing",
    "MaskT": "_typing",
    "RedT": "_typing",
    "SelfCpT": "_typing",
    "SelfT": "_typing",
    "T": "_typing",
    "ValCpT": "_typing",
    "ValT": "_typing",
    "auto": "auto",
    "detail": "detail",
    "llvm": "llvm",
    "scalar": "scalar",
    "set_backend": "auto",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _LATER:
        raise AttributeError(f"module 'drjit' has no attribute '{name}'")
    module = import_module("." + _LATER[name], __name__)
    return module if name == _LATER[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER} - {"_LATER"})
