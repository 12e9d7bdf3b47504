"""Programs whose entries do not meet: arithmetic, conversions, functions."""

from __future__ import annotations

from typing import Any

from programs import (
    FLOATS,
    INTEGERS,
    WIDE,
    Results,
    exact,
    floats,
    integers,
    made,
    near,
    positive,
)

# ---- arithmetic


@exact
def integer_arithmetic(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in INTEGERS:
        a, b = integers(dr, m, name), integers(dr, m, name, salt=2)
        out |= {f"{name} +": a + b, f"{name} -": a - b, f"{name} *": a * b}
        out |= {f"{name} &": a & b, f"{name} |": a | b, f"{name} ^": a ^ b}
        out |= {f"{name} ~": ~a, f"{name} neg": -a}
        out |= {f"{name} <": a < b, f"{name} <=": a <= b, f"{name} ==": a == b}
        out |= {f"{name} min": dr.minimum(a, b), f"{name} max": dr.maximum(a, b)}
        out |= {f"{name} fma": dr.fma(a, b, a), f"{name} abs": dr.abs(a)}
        out |= {f"{name} select": dr.select(a < b, a, b)}
    return out


@exact
def integer_division(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in INTEGERS:
        t = getattr(m, name)
        a = integers(dr, m, name)
        b = (integers(dr, m, name, salt=2) & t(31)) + t(1)
        out |= {f"{name} //": a // b, f"{name} %": a % b}
        out |= {f"{name} // 7": a // t(7), f"{name} % 8": a % t(8)}
    return out


@exact
def integer_shifts(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in INTEGERS:
        t = getattr(m, name)
        width = 8 if "8" in name else 64 if "64" in name else 32
        a = integers(dr, m, name)
        b = integers(dr, m, name, salt=2) & t(width - 1)
        out |= {f"{name} <<": a << b, f"{name} >>": a >> b, f"{name} << 3": a << 3}
    return out


@exact
def integer_bits(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in WIDE:
        a = integers(dr, m, name) >> 5
        out |= {f"{name} popcnt": dr.popcnt(a), f"{name} lzcnt": dr.lzcnt(a)}
        out |= {f"{name} tzcnt": dr.tzcnt(a), f"{name} brev": dr.brev(a)}
        if "64" not in name:
            out[f"{name} mul_hi"] = dr.mul_hi(a, integers(dr, m, name, salt=2))
    a, b = integers(dr, m, "UInt"), integers(dr, m, "UInt", salt=2)
    return out | {"mul_wide": dr.mul_wide(a, b)}


def rough(dr: Any, m: Any, name: str, salt: int) -> Any:
    """Numbers of which all bits are used, so that sums and products are rounded."""
    return made(dr, floats(dr, m, name, salt=salt) * getattr(m, name)(1.37))


@exact
def float_arithmetic(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in FLOATS:
        a, b = rough(dr, m, name, 1), rough(dr, m, name, 2)
        out |= {f"{name} +": a + b, f"{name} -": a - b, f"{name} *": a * b}
        out |= {f"{name} fma": dr.fma(a, b, a), f"{name} neg": -a}
        out |= {f"{name} abs": dr.abs(a), f"{name} copysign": dr.copysign(a, b)}
        out |= {f"{name} min": dr.minimum(a, b), f"{name} max": dr.maximum(a, b)}
        out |= {f"{name} <": a < b, f"{name} >=": a >= b, f"{name} !=": a != b}
        out |= {f"{name} select": dr.select(a < b, a, b)}
    return out


@exact
def float_division(dr: Any, m: Any, ad: Any) -> Results:
    """Division and root without `JitFlag.FastMath`: correctly rounded."""
    out: Results = {}
    with dr.scoped_set_flag(dr.JitFlag.FastMath, False):
        for name in ("Float32", "Float64"):
            a, b = rough(dr, m, name, 1), dr.abs(rough(dr, m, name, 2)) + 1
            out |= {f"{name} /": a / b, f"{name} sqrt": dr.sqrt(b)}
        dr.eval(out)
    return out


@near(1e-3)
def float_division_f16(dr: Any, m: Any, ad: Any) -> Results:
    a, b = floats(dr, m, "Float16"), positive(dr, m, "Float16", salt=2)
    return {"/": a / b, "sqrt": dr.sqrt(b), "rcp": dr.rcp(b), "rsqrt": dr.rsqrt(b)}


@near(4e-7)
def float_division_fast(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in ("Float32", "Float64"):
        a, b = floats(dr, m, name), positive(dr, m, name, salt=2)
        out |= {f"{name} /": a / b, f"{name} sqrt": dr.sqrt(b)}
        out |= {f"{name} rcp": dr.rcp(b), f"{name} rsqrt": dr.rsqrt(b)}
    return out


@exact
def float_rounding(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in FLOATS:
        a = floats(dr, m, name) * 0.5
        out |= {f"{name} ceil": dr.ceil(a), f"{name} floor": dr.floor(a)}
        out |= {f"{name} round": dr.round(a), f"{name} trunc": dr.trunc(a)}
    return out


@exact
def float_special(dr: Any, m: Any, ad: Any) -> Results:
    """Infinities, NaN and signed zeros."""
    out: Results = {}
    inf, nan = float("inf"), float("nan")
    first = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 1.0, nan]
    second = [-0.0, 0.0, nan, 2.0, inf, inf, 1.0, nan, nan]
    for name in FLOATS:
        t = getattr(m, name)
        a, b = made(dr, t(first)), made(dr, t(second))
        out |= {f"{name} +": a + b, f"{name} *": a * b, f"{name} <": a < b}
        out |= {f"{name} ==": a == b, f"{name} !=": a != b, f"{name} >=": a >= b}
        out |= {f"{name} isnan": dr.isnan(a), f"{name} isinf": dr.isinf(a)}
        out |= {f"{name} abs": dr.abs(a), f"{name} isfinite": dr.isfinite(a)}
    return out


@exact
def minimum_special(dr: Any, m: Any, ad: Any) -> Results:
    """Minimum and maximum of NaN and of zeros of both signs."""
    out: Results = {}
    nan = float("nan")
    for name in FLOATS:
        t = getattr(m, name)
        a = made(dr, t([0.0, -0.0, nan, 1.0, nan]))
        b = made(dr, t([-0.0, 0.0, 1.0, nan, nan]))
        out |= {f"{name} min": dr.minimum(a, b), f"{name} max": dr.maximum(a, b)}
    return out


@exact
def subnormals(dr: Any, m: Any, ad: Any) -> Results:
    """Sums and products below the least normal number; f64 has no `.ftz`."""
    out: Results = {}
    for name, least in (("Float32", 2.0**-126), ("Float64", 2.0**-1022)):
        t = getattr(m, name)
        a = made(dr, t([least, least * 0.5, least * 1.5, -least * 0.75]))
        out |= {f"{name} * 0.5": a * t(0.5), f"{name} +": a + t(least * -0.75)}
    return out


@exact
def contraction(dr: Any, m: Any, ad: Any) -> Results:
    """A product and a sum, each rounded; a GPU may contract the published one's."""
    a = made(dr, m.Float32([1 + 2.0**-12, 1 + 3 * 2.0**-12, 1.1, 1.7]))
    b = made(dr, m.Float32([1 - 2.0**-12, 1 - 2.0**-11, 0.9, 0.3]))
    out = {"a * b - 1": a * b - 1, "a * b + a": a * b + a}
    return out | {"fma": dr.fma(a, b, -1)}


@exact
def masks(dr: Any, m: Any, ad: Any) -> Results:
    a = made(dr, m.Bool([True, False, True, False]))
    b = made(dr, m.Bool([True, True, False, False]))
    out = {"&": a & b, "|": a | b, "^": a ^ b, "~": ~a, "==": a == b}
    out |= {"select": dr.select(a, b, ~b), "UInt": m.UInt(a), "Float": m.Float(a)}
    return out | {"all": dr.all(a), "any": dr.any(a), "count": dr.count(a | b)}



# ---- conversions


@exact
def casts(dr: Any, m: Any, ad: Any) -> Results:
    """Between all types; floats to integers where the value fits."""
    out: Results = {}
    for source in INTEGERS + FLOATS:
        if source in FLOATS:
            a = positive(dr, m, source)
        else:
            a = integers(dr, m, source)
        for target in INTEGERS + FLOATS:
            if target == "Float16" and "8" not in source and source not in FLOATS:
                a = a & getattr(m, source)(1023)
            out[f"{source} -> {target}"] = getattr(m, target)(a)
    return out


@exact
def casts_rounded(dr: Any, m: Any, ad: Any) -> Results:
    """Numbers that floats cannot have."""
    out: Results = {}
    a = integers(dr, m, "Int64")
    out |= {"i64 f32": m.Float32(a), "i64 f64": m.Float64(a)}
    a = integers(dr, m, "UInt64")
    out |= {"u64 f32": m.Float32(a), "u64 f64": m.Float64(a)}
    a = integers(dr, m, "Int")
    out |= {"i32 f32": m.Float32(a)}
    a = floats(dr, m, "Float64") * (1 / 3)
    return out | {"f64 f32": m.Float32(a), "f64 f16": m.Float16(a)}


@exact
def casts_beyond(dr: Any, m: Any, ad: Any) -> Results:
    """Floats that integers cannot hold."""
    out: Results = {}
    inf, nan = float("inf"), float("nan")
    values = [3e9, -3e9, 1e20, -1e20, inf, -inf, nan, -1.5]
    for source in ("Float32", "Float64"):
        a = made(dr, getattr(m, source)(values))
        for target in WIDE:
            out[f"{source} -> {target}"] = getattr(m, target)(a)
    return out


@exact
def bitcasts(dr: Any, m: Any, ad: Any) -> Results:
    a, b = floats(dr, m, "Float32"), floats(dr, m, "Float64")
    u = dr.reinterpret_array(m.UInt, a)
    v = dr.reinterpret_array(m.UInt64, b)
    return {
        "f32": u,
        "f64": v,
        "back f32": dr.reinterpret_array(m.Float32, u ^ m.UInt(1)),
        "back f64": dr.reinterpret_array(m.Float64, v ^ m.UInt64(1)),
    }



# ---- functions


def functions(dr: Any, m: Any, name: str) -> Results:
    """The elementary functions of a type."""
    x, p = floats(dr, m, name), positive(dr, m, name, salt=3)
    unit = floats(dr, m, name, salt=4) * (1 / 9)
    out = {n: getattr(dr, n)(x) for n in ("sin", "cos", "atan", "tanh", "erf", "cbrt")}
    out |= {n: getattr(dr, n)(p) for n in ("log", "log2", "sqrt", "rsqrt")}
    out |= {n: getattr(dr, n)(unit) for n in ("asin", "acos", "atanh", "exp", "exp2")}
    out |= {n: getattr(dr, n)(unit) for n in ("tan", "sinh", "cosh", "asinh", "erfinv")}
    out |= {"acosh": dr.acosh(p + 1), "lgamma": dr.lgamma(p)}
    out |= {"atan2": dr.atan2(x, p), "power": dr.power(p, unit), "cube": x**3}
    out |= {"hypot": dr.hypot(x, p)}
    s, c = dr.sincos(x)
    return {f"{name} {k}": v for k, v in out.items()} | {"sincos": s + 2 * c}


@near(4e-6)
def functions_f32(dr: Any, m: Any, ad: Any) -> Results:
    return functions(dr, m, "Float32")


@near(4e-12)
def functions_f64(dr: Any, m: Any, ad: Any) -> Results:
    return functions(dr, m, "Float64")


@near(4e-3)
def functions_f16(dr: Any, m: Any, ad: Any) -> Results:
    x, p = floats(dr, m, "Float16"), positive(dr, m, "Float16", salt=3)
    out = {n: getattr(dr, n)(x) for n in ("sin", "cos", "tanh", "atan")}
    return out | {"log": dr.log(p), "exp": dr.exp(x * 0.25), "exp2": dr.exp2(x * 0.5)}
