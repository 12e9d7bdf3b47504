"""Conversions between color spaces.

Sources: IEC 61966-2-1 (the sRGB transfer function); B. Ottosson, "A perceptual color
space for image processing", 2020 (Oklab).
"""

from __future__ import annotations

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_Matrix = tuple[tuple[float, float, float], ...]

# Linear sRGB -> responses of three kinds of cones; their cube roots -> L, a, b.
_RGB_TO_CONES: _Matrix = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_ROOTS_TO_LAB: _Matrix = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
# The way back, with the coefficients that the source gives for it.
_LAB_TO_ROOTS: _Matrix = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.2914855480),
)
_CONES_TO_RGB: _Matrix = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)


def linear_to_srgb(x: Any, clip: bool = True) -> Any:
    """Encode linear intensities by the sRGB transfer function.

    Displays and image files expect encoded values.

    Args:
        x (float array | float): intensities, usually from 0 to 1, of any shape.
        clip (bool): whether values are limited to [0, 1] first, where NaN becomes 1. If
            not, the curve continues above 1, and is applied to the magnitude of
            negative values, whose sign is kept: for wide gamuts.

    Returns:
        array | float: ``12.92 * x`` up to 0.0031308, and
        ``1.055 * x**(1 / 2.4) - 0.055`` above.

    Derivative:
        The slope of the curve, 12.92 near zero. With ``clip``, 0 above 1, at zero and
        below.

    Source:
        IEC 61966-2-1.

    Example:
        >>> dr.linear_to_srgb(Float(0, 0.5, 1))
        [0, 0.735357, 1]

    See also:
        :func:`drjit.srgb_to_linear`, :func:`drjit.linear_srgb_to_oklab`
    """
    return _by_magnitude(_encode, x, clip)


def srgb_to_linear(x: Any, clip: bool = True) -> Any:
    """Decode sRGB values into linear intensities.

    Light adds up in linear intensities: decode before blending, filtering or rendering.

    Args:
        x (float array | float): values, usually from 0 to 1, of any shape.
        clip (bool): whether values are limited to [0, 1] first, where NaN becomes 1. If
            not, the curve continues above 1, and is applied to the magnitude of
            negative values, whose sign is kept: for wide gamuts.

    Returns:
        array | float: ``x / 12.92`` up to 0.04045, and
        ``((x + 0.055) / 1.055)**2.4`` above.

    Derivative:
        The slope of the curve, 1 / 12.92 near zero. With ``clip``, 0 above 1, at zero
        and below.

    Source:
        IEC 61966-2-1.

    Example:
        >>> dr.srgb_to_linear(Float(0, 0.5, 1))
        [0, 0.214041, 1]

    See also:
        :func:`drjit.linear_to_srgb`, :func:`drjit.linear_srgb_to_oklab`
    """
    return _by_magnitude(_decode, x, clip)


def _by_magnitude(function: Any, x: Any, clip: bool) -> Any:
    if clip:
        return function(dr.clip(x, 0, 1))
    return dr.mulsign(function(dr.mulsign(x, x)), x)  # |x|, with a slope at zero, too


def _encode(x: Any) -> Any:
    curve = dr.fma(1.055, dr.power(x, 1 / 2.4), -0.055)
    return dr.select(x <= 0.0031308, 12.92 * x, curve)


def _decode(x: Any) -> Any:
    curve = dr.power((x + 0.055) * (1 / 1.055), 2.4)
    return dr.select(x <= 0.04045, x * (1 / 12.92), curve)


def linear_srgb_to_oklab(value: Any) -> Any:
    """Convert colors from linear sRGB to Oklab.

    Oklab is made for processing images: equal distances look about equally large, and
    blends have the hue and lightness that the eye expects.

    Args:
        value (float array | tensor): colors, not encoded
            (:func:`drjit.srgb_to_linear`): a tensor with 3 or 4 channels in its last
            dimension, or a nested array with 3 or 4 components. The fourth is alpha.

    Returns:
        array | tensor: lightness L (0 to 1), a (green to red) and b (blue to yellow),
        in the type and shape of ``value``; alpha is kept.

    Raises:
        TypeError: ``value`` is not an array of floats.
        RuntimeError: it has another number of channels.

    Derivative:
        NaN for black, where cube roots have no finite slope.

    Evaluation:
        Evaluates tensors; arrays are only traced.

    Source:
        B. Ottosson, "A perceptual color space for image processing", 2020.

    Example:
        >>> dr.linear_srgb_to_oklab(Array3f(1, 0, 0))
        [[0.627955, 0.224863, 0.125846]]

    See also:
        :func:`drjit.oklab_to_linear_srgb`, :func:`drjit.srgb_to_linear`
    """
    return _convert("linear_srgb_to_oklab", value, _to_lab)


def oklab_to_linear_srgb(value: Any) -> Any:
    """Convert colors from Oklab to linear sRGB.

    Args:
        value (float array | tensor): colors (L, a, b), and alpha, in the shapes of
            :func:`drjit.linear_srgb_to_oklab`.

    Returns:
        array | tensor: linear intensities in the type and shape of ``value``, which are
        below 0 or above 1 for colors that sRGB does not have; alpha is kept.

    Raises:
        TypeError: ``value`` is not an array of floats.
        RuntimeError: it has another number of channels.

    Derivative:
        That of polynomials of degree 3.

    Evaluation:
        Evaluates tensors; arrays are only traced.

    Source:
        B. Ottosson, "A perceptual color space for image processing", 2020.

    Example:
        >>> dr.oklab_to_linear_srgb(Array3f(0.5, 0, 0))
        [[0.125, 0.125, 0.125]]

    See also:
        :func:`drjit.linear_srgb_to_oklab`, :func:`drjit.linear_to_srgb`
    """
    return _convert("oklab_to_linear_srgb", value, _to_rgb)


def _to_lab(rgb: Sequence[Any]) -> list[Any]:
    cones = _apply(_RGB_TO_CONES, rgb)
    return _apply(_ROOTS_TO_LAB, [dr.cbrt(cone) for cone in cones])


def _to_rgb(lab: Sequence[Any]) -> list[Any]:
    roots = _apply(_LAB_TO_ROOTS, lab)
    return _apply(_CONES_TO_RGB, [root * root * root for root in roots])


def _apply(matrix: _Matrix, vector: Sequence[Any]) -> list[Any]:
    x, y, z = vector
    return [dr.fma(a, x, dr.fma(b, y, c * z)) for a, b, c in matrix]


def _convert(name: str, value: Any, function: Any) -> Any:
    is_array = not isinstance(value, type) and dr.is_array_v(value)
    if not is_array or not dr.is_float_v(value) or dr.is_special_v(value):
        raise TypeError(
            f"drjit.{name}(<{type(value).__module__}.{type(value).__qualname__}>): "
            "expected a floating point tensor or array"
        )
    tensor = dr.is_tensor_v(value)
    shape = dr.shape(value)
    channels = 0 if not shape else shape[-1 if tensor else 0]
    if channels not in (3, 4) or (not tensor and len(shape) == dr.is_jit_v(value)):
        where = "last" if tensor else "first"
        raise RuntimeError(
            f"drjit.{name}(): the input has shape {tuple(shape)}, expected 3 (color) "
            f"or 4 (color and alpha) channels in the {where} dimension"
        )
    if tensor:
        parts = [value[..., k] for k in range(channels)]
        return dr.stack([*function(parts[:3]), *parts[3:]], axis=-1)
    parts = [value[k] for k in range(channels)]
    return type(value)(*function(parts[:3]), *parts[3:])
