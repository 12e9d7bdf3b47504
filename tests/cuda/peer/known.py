"""What is known to differ between the two packages, or to fail, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A program that does not agree."""

    kind: str  # "differ" or "fail"
    why: str
    results: tuple[str, ...] = ()  # that differ; (): any of them
    text: str = ""  # which the report has
    version: str = ""  # what the version of the peer begins with; "": all


KNOWN = {
    "float_special": Known(
        "differ",
        "x != x is false for NaN there: setp.ne",
        ("Float16 !=", "Float32 !=", "Float64 !="),
    ),
    "minimum_special": Known(
        "differ",
        "min and max of PTX: -0 is less than 0, the other operand of a NaN; ours are "
        "select(b < a, b, a) and hand on NaN",
        ("Float16 max", "Float16 min", "Float32 max", "Float32 min", "Float64 max",
         "Float64 min"),
    ),
    "subnormals": Known(
        "differ", "f32 is flushed: .ftz", ("Float32 * 0.5", "Float32 +")
    ),
    "casts_beyond": Known(
        "differ",
        "cvt.rzi of NaN is 0 only from f32 to 32 bits; ours always",
        ("Float32 -> Int64", "Float32 -> UInt64", "Float64 -> Int", "Float64 -> UInt",
         "Float64 -> Int64", "Float64 -> UInt64"),
    ),
    "functions_f64": Known(
        "differ", "its erfinv is wrong by up to 1e-7", ("Float64 erfinv",)
    ),
    "products_and_least": Known(
        "differ",
        "its scans of the least and greatest 64-bit unsigned integers are wrong: they "
        "look at 32 bits",
        ("UInt64 ReduceOp.Max all", "UInt64 ReduceOp.Max scan",
         "UInt64 ReduceOp.Min all", "UInt64 ReduceOp.Min scan"),
    ),
    "scatter_reduce_float_order": Known(
        "fail", "it came with 1.5", text="does not support", version="1.4."
    ),
    "texture_hardware": Known(
        "fail", "the simulator has no textures", text="cuda-sim: cuArray"
    ),
}  # fmt: skip


def known_of(name: str, version: str) -> Known | None:
    """What is known of a program on this version of the peer."""
    known = KNOWN.get(name)
    return known if known and version.startswith(known.version) else None
