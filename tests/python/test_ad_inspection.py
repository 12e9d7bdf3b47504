"""What shows derivatives: ways and why there are none, tables, diagrams, labels; what
debug mode finds in traversals."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm
from drjit.llvm.ad import Array3f, Complex2f, Float, Float64, Matrix2f, TensorXf, UInt

HINT = "JitFlag.Debug, if it is set from the beginning"


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


@pytest.fixture
def debug() -> Iterator[None]:
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        yield


@pytest.fixture
def log() -> Iterator[list[str]]:
    lines: list[str] = []
    dr.set_log_callback(lambda level, text: lines.append(text), dr.LogLevel.Warn)
    yield lines
    dr.set_log_callback(None, dr.LogLevel.Disable)


def tracked(*values: float, type: Any = Float) -> Any:
    x = type(*values)
    dr.enable_grad(x)
    return x


def explain(y: Any, x: Any) -> str:
    text = dr.explain_grad(y, x, as_string=True)
    assert text is not None
    return text


def line(offset: int = 0) -> str:
    """file:line of the caller."""
    frame = sys._getframe(1)
    return f"test_ad_inspection.py:{frame.f_lineno + offset}"


# ------------------------------------------------------------------- where they go


def test_one_way() -> None:
    x = tracked(1, 2, 3)
    dr.set_label(x, "parameter")
    text = explain(dr.exp(dr.sin(x)), x)
    assert text.startswith("Gradients go from the result (r")
    steps = re.findall(r"^    a\d+ +(\w+)  float32\[3\]", text, re.M)
    assert steps == ["exp", "sin", "input"] and '"parameter"' in text
    assert ", 1 way:" in text and HINT in text


def test_several_ways() -> None:
    x = tracked(1, 2)
    y = dr.sin(x) * x
    assert ", 2 ways:" in explain(y, x)
    for _ in range(40):  # 2^40 ways through a chain of diamonds
        y = dr.sin(y) + dr.cos(y)
    text = explain(y, x)
    assert re.search(r"about 2\.\de\+12 ways", text) and "more ..." in text
    assert len(text.splitlines()) < 100
    assert ", 1 way:" in explain(x * x, x)


def test_way_through_regions_and_custom_operations() -> None:
    class Twice(dr.CustomOp):
        def eval(self, x: Any) -> Any:
            return 2 * x

        def backward(self) -> None:
            self.set_grad_in("x", 2 * self.grad_out())

        def name(self) -> str:
            return "my operation"

    x = tracked(1, 2, 3)
    text = explain(dr.custom(Twice, x) + 1, x)
    assert "my operation [out 0]" in text
    state = (UInt(0), Float(x))
    _, y = dr.while_loop(
        state,
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y * x),
        label="powers",
        mode="symbolic",
    )
    assert "Loop: powers" in explain(y, x)
    y = dr.if_stmt((x,), x > 2, lambda x: x * x, lambda x: x, mode="symbolic")
    assert "If: " in explain(y, x)
    y = dr.switch(
        UInt(0, 1, 0), [lambda x: x * x, lambda x: x], x, mode="symbolic", label="pick"
    )
    assert "Call: pick" in explain(y, x)
    text = dr.whos_ad(as_string=True)
    assert text and "Call: pick" in text
    diagram = dr.graphviz_ad(as_string=True)
    assert "Call: pick" in diagram and "{Symbolic}" in diagram


def test_way_beyond_an_isolated_scope() -> None:
    x = tracked(1, 2)
    y = x * 2
    with dr.isolate_grad():
        z = y + 1
        text = explain(z, x)
        assert text.count("(beyond isolate_grad(): at its end)") == 2
    assert "beyond" not in explain(z, x)


def test_lines(debug: None) -> None:
    x = tracked(1, 2)
    y = dr.sin(x)
    at = line(-1)
    text = explain(y, x)
    assert f"sin  float32[2]  {at}" in text and HINT not in text


# ------------------------------------------------------------------- and why not


@pytest.mark.parametrize(
    ("function", "operation", "reason"),
    [
        (lambda x: dr.floor(x) + 1, "floor", "it is piecewise constant"),
        (lambda x: Float(dr.round(x * 2)), "round", "it is piecewise constant"),
        (lambda x: Float(UInt(x)) * 2, "cast", "the result is not a float"),
        (lambda x: dr.select(x > 1, Float(1), 2), "gt", "the result is a mask"),
        (lambda x: dr.copysign(Float(1, 2), x), "copysign", "it has none with respect"),
        (
            lambda x: dr.reinterpret_array(Float, dr.reinterpret_array(UInt, x) + 1),
            "bitcast",
            "it reinterprets bits",
        ),
    ],
)
def test_operations_without_derivative(
    function: Any, operation: str, reason: str
) -> None:
    x = tracked(0.5, 1.5)
    text = explain(function(x), x)
    assert text.startswith("No gradient goes from")
    assert re.search(rf"- {operation} \(r\d+\) has no derivative: {reason}", text), text
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        y = function(x)
        at = line(-1)
    text = explain(y, x)
    assert reason in text and operation in text
    assert at.split(":")[0] in text


def test_types() -> None:
    x = tracked(1, 2)
    assert "the result is of type uint32: only floats" in explain(UInt(x), x)
    assert "the input is of type uint32" in explain(x, UInt(1))


def test_what_was_never_tracked() -> None:
    x = Float(1, 2)
    text = explain(x * 2, x)
    assert "the input is not tracked: enable_grad() was not called" in text


def test_detached_without_debug_mode() -> None:
    x = tracked(1, 2)
    assert "the result is the input, detached" in explain(dr.detach(x), x)
    for y in (dr.detach(x * 2) + 1, dr.detach(dr.gather(Float, x, UInt(1, 0))) * 3):
        text = explain(y, x)
        assert (
            "all operations in between have derivatives: a value was detached" in text
        )
        assert HINT in text
    with dr.suspend_grad():
        y = x * 2
    assert "computed while gradients were suspended" in explain(y, x)
    y = dr.detach(x * 2)
    dr.eval(y)
    assert "which is evaluated" in explain(y, x)
    assert "the result was not computed from the input" in explain(
        dr.arange(Float, 3) + 1, x
    )


def test_detached_in_debug_mode(debug: None) -> None:
    x = tracked(1, 2)
    z = x * 2
    y = dr.detach(z) + 1
    at = line(-1)
    assert f"- detach() at {at}" in explain(y, x)
    y = Float(z)
    dr.disable_grad(y)
    at = line(-1)
    assert f"- detach() at {at}" in explain(y + 1, x)
    dr.eval(y)
    assert at in explain(y * 3, x)


def test_suspended_in_debug_mode(debug: None) -> None:
    x = tracked(1, 2)
    with dr.suspend_grad():
        y = x * 2
        at = line(-1)
        begin = line(-3)
        k = tracked(1)
        refused = line(-1)
    for value in (y, y + 1, dr.gather(Float, y, UInt(1))):
        assert f"suspended at {at}, by suspend_grad() at {begin}" in explain(value, x)
    dr.eval(y)
    assert f"suspended at {at}, by suspend_grad() at {begin}" in explain(y, x)
    text = explain(k + 1, k)
    assert "the input is not tracked" in text
    assert "all is suspended, by suspend_grad() at" in text
    assert refused.split(":")[0] in text
    with dr.suspend_grad(x):
        y = dr.gather(Float, x, UInt(0)) + 1
        at = line(-1)
        begin = line(-3)
        assert "Note: the input is suspended now" in explain(y, x)
    assert f"suspended at {at}, by suspend_grad() at {begin}" in explain(y, x)


def test_losses_do_not_blame_others(debug: None) -> None:
    x, other = tracked(1, 2), tracked(3, 4)
    y = dr.detach(other) * 3
    text = explain(y, x)
    assert "- detach()" not in text
    y = dr.detach(other) * dr.detach(x)
    at = line(-1)
    assert f"- detach() at {at}" in explain(y, x)


def test_cleared_edges() -> None:
    x = tracked(1, 2)
    y = dr.sin(x * 2)
    dr.backward(y)
    text = explain(y, x)
    assert (
        "were cleared by a traversal; without ADFlag.ClearEdges they are kept" in text
    )
    y = dr.sin(x * 2)
    dr.backward(y, flags=dr.ADFlag.ClearVertices)
    assert explain(y, x).startswith("Gradients go")


def test_trees_and_nested_arrays() -> None:
    x = tracked(1, 2, 3, type=Array3f)
    y = Array3f(x.x, dr.detach(x.y), x.x + x.z)
    text = explain({"a": y, "n": 3}, [x.x, x.z])
    parts = dict(re.findall(r"^(y\S+ by x\S+): (\w+)", text, re.M))
    assert parts == {
        "y[a][0] by x[0]": "Gradients",
        "y[a][0] by x[1]": "No",
        "y[a][1] by x[0]": "No",
        "y[a][1] by x[1]": "No",
        "y[a][2] by x[0]": "Gradients",
        "y[a][2] by x[1]": "Gradients",
    }
    assert text.count(HINT) == 1
    m = tracked(1, 2, 3, 4, type=Matrix2f)
    assert "y by x[1][0]: No gradient" in explain(m[0, 1], m)
    t = TensorXf([1, 2])
    dr.enable_grad(t)
    assert explain(dr.sum(t * t), t).startswith("Gradients go")
    many = explain([Float(i) for i in range(20)], x.x)
    assert "... 4 more pairs ..." in many


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    x = tracked(1, 2)
    y = x * 2
    dr.explain_grad(y, x)
    assert capsys.readouterr().out == explain(y, x)
    for y in ("text", 3.0, [], None):
        with pytest.raises(
            TypeError, match=r"^drjit\.explain_grad\(\): 'y' is of type"
        ):
            dr.explain_grad(y, x)
    with pytest.raises(
        TypeError, match=r"^drjit\.explain_grad\(\): 'x' is of type int"
    ):
        dr.explain_grad(x, 1)


def test_explaining_changes_nothing() -> None:
    x = tracked(1, 2)
    y = dr.sin(x) * x
    before = dr.whos_ad(as_string=True), y.state
    explain(y, x)
    assert (dr.whos_ad(as_string=True), y.state) == before
    dr.backward(y)
    expected = np.cos([1, 2]) * [1, 2] + np.sin([1, 2])
    assert np.allclose(x.grad.numpy(), expected, rtol=1e-6)


# ------------------------------------------------------------------- NaN and infinity


def test_first_gradient_that_is_not_finite(debug: None, log: list[str]) -> None:
    x = tracked(0, 4, 9)
    dr.set_label(x, "parameter")
    y = dr.sqrt(x)
    at = line(-1)
    z = dr.sin(y * 2) + x
    dr.backward(z)
    assert len(log) == 1
    assert f"operand 1 of 'sqrt' at {at}" in log[0] and '"parameter"' in log[0]
    assert "infinite or NaN in 1 of 3 entries, first in entry 0" in log[0]
    assert np.isinf(x.grad.numpy()[0]) and np.all(np.isfinite(x.grad.numpy()[1:]))


@pytest.mark.parametrize("type", [Float, Float64])
def test_forward_not_finite(debug: None, log: list[str], type: Any) -> None:
    x = tracked(1, 0, type=type)
    y = dr.log(x)
    at = line(-1)
    z = y * 3
    dr.forward(x)
    assert len(log) == 1 and f"the result of 'log' at {at}" in log[0]
    assert "in 1 of 2 entries, first in entry 1" in log[0]
    assert np.isinf(z.grad.numpy()[1])


def test_gradient_that_was_set(debug: None, log: list[str]) -> None:
    x = tracked(1, 2)
    y = x * 2
    dr.set_grad(y, Float(dr.nan, 1))
    dr.backward(y)
    assert len(log) == 1 and "a gradient that was set is not finite" in log[0]


def test_literal_gradient(debug: None, log: list[str]) -> None:
    x = tracked(2)
    y = dr.repeat(x, 5) * Float(dr.inf)
    dr.backward(y)
    assert len(log) == 1 and "operand 1 of 'mul'" in log[0]
    assert "in 5 of 5 entries" in log[0] or "in 1 of 1 entry" in log[0]


def test_not_finite_in_regions(debug: None, log: list[str]) -> None:
    class Bad(dr.CustomOp):
        def eval(self, x: Any, y: Any) -> Any:
            return x + y

        def backward(self) -> None:
            self.set_grad_in("x", self.grad_out())
            self.set_grad_in("y", self.grad_out() * dr.inf)

    x = tracked(1, 2)
    dr.backward(dr.custom(Bad, x, x * 2))
    assert len(log) == 1 and "input 2 of 'Bad'" in log.pop()
    x = tracked(1, 2)
    _, y = dr.while_loop(
        (UInt(0), Float(x)),
        lambda i, y: i < 2,
        lambda i, y: (i + 1, dr.sqrt(y - x)),
        label="roots",
        mode="symbolic",
    )
    dr.backward(y)
    assert len(log) == 1 and "'Loop: roots'" in log[0]


def test_all_finite(debug: None, log: list[str]) -> None:
    x = tracked(1, 2, 3)
    dr.backward(dr.sin(x) * dr.exp(x))
    dr.forward(tracked(1))
    h, g = dr.ad.hvp(lambda v: dr.sum(v * v * v), (Float64(1, 2),), (Float64(1, 0),))
    assert not log and np.allclose(g[0].numpy(), [6, 0])


def test_nobody_checks_outside_of_debug_mode(log: list[str]) -> None:
    x = tracked(0)
    dr.backward(dr.sqrt(x))
    assert not log


def test_where_waiting_is_forbidden(debug: None, log: list[str]) -> None:
    x = tracked(0, 1)
    y = dr.sqrt(x)
    with dr.scoped_set_flag(dr.JitFlag.ForbidSynchronization):
        dr.backward(y)
    assert not log and np.isinf(x.grad.numpy()[0])


def test_warning_on_stderr() -> None:
    program = """import drjit as dr
from drjit.llvm.ad import Float
dr.set_flag(dr.JitFlag.Debug, True)
x = Float(0, 1)
dr.enable_grad(x)
y = dr.sqrt(x)
dr.backward(y)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "drjit.traverse(): the first gradient that is not finite" in done.stderr
    assert "'sqrt'" in done.stderr


# ------------------------------------------------------------------- tables, diagrams


def test_table() -> None:
    x = tracked(1, 2)
    dr.set_label(x, "parameter")
    y = x * x
    text = dr.whos_ad(as_string=True)
    assert text
    rows = text.strip("\n").split("\n")
    assert rows[0].split() == ["ID", "Type", "Size", "Refs", "Operation", "Label"]
    assert rows[1].strip("= ") == "" and rows[-1] == rows[1]
    assert rows[2].split() == [str(x.index_ad), "f32", "2", "5", "input", "parameter"]
    assert rows[3].split() == [str(y.index_ad), "f32", "2", "1", "mul"]
    del x, y


def test_empty_table() -> None:
    assert "No variables registered" in str(dr.whos_ad(as_string=True))


def test_table_in_debug_mode(debug: None) -> None:
    x = tracked(1, 2)
    y = x * x
    at = line(-1)
    text = dr.whos_ad(as_string=True)
    assert text and at in text and y.index_ad


def test_diagram() -> None:
    x = tracked(1, 2)
    dr.set_label(x, 'a{b|c}<"d">')
    y = x * 2
    z = y + x
    dr.set_grad(y, 1)
    diagram = dr.graphviz_ad(as_string=True)
    box = {
        int(number): text
        for number, text in re.findall(r"^ +(\d+) \[label=(.*)\];$", diagram, re.M)
    }
    assert r"a\{b\|c\}\<\"d\"\>" in box[x.index_ad] and "wheat" in box[x.index_ad]
    assert "yellowgreen" in box[y.index_ad] and "lightblue2" in box[z.index_ad]
    assert f"{y.index_ad} -> {x.index_ad};" in diagram
    assert f'{z.index_ad} -> {y.index_ad} [label=" 1"];' in diagram
    assert "cluster_legend" in diagram and "cluster_isolate" not in diagram
    assert diagram.count("{") - diagram.count(r"\{") == diagram.count(
        "}"
    ) - diagram.count(r"\}")


def test_isolation_in_diagrams() -> None:
    x = tracked(1, 2)
    with dr.isolate_grad():
        y = x * 2
        with dr.isolate_grad():
            z = y + 1
            diagram = dr.graphviz_ad(as_string=True)
            outer, inner = diagram.split("cluster_isolate_1")[1].split(
                "cluster_isolate_2"
            )
            assert f"{y.index_ad} [label" in outer and "style=dashed" in outer
            assert f"{z.index_ad} [label" in inner
            assert f"{z.index_ad} -> {y.index_ad} [color=red style=dashed]" in diagram
    assert "cluster_isolate" not in dr.graphviz_ad(as_string=True)


# ------------------------------------------------------------------- labels, members


@dataclass
class Ray:
    o: Array3f
    t: Float


def test_labels_of_both_halves() -> None:
    x = tracked(1, 2)
    dr.set_label(x, "x")
    assert x.label == "x" and '"x"' in explain(x * 1.5, x)
    assert re.search(r" x$", str(dr.whos_ad(as_string=True)), re.M)
    assert re.search(r" x$", str(dr.whos(as_string=True)), re.M)
    x.label = None
    assert x.label is None and '"x"' not in explain(x * 1.5, x)

    ray = Ray(tracked(1, 2, 3, type=Array3f), tracked(1))
    dr.set_label(ray, "ray")
    c, t = tracked(1, 2, type=Complex2f), TensorXf([1, 2])
    dr.enable_grad(t)
    dr.set_label(c=c, t=t)
    text = str(dr.whos_ad(as_string=True))
    found = set(re.findall(r" input +(\S+)$", text, re.M))
    assert found == {
        "ray_o_0",
        "ray_o_1",
        "ray_o_2",
        "ray_t",
        "c_0",
        "c_1",
        "t",
    }
    assert t.label == "t" and ray.o.y.label == "ray_o_1"


def test_a_label_keeps_the_derivative() -> None:
    x = tracked(1, 2)
    y = x * x
    z = y + 1
    dr.set_label(y, "y")  # others share the variable: a copy gets the label
    dr.backward(y + z)
    assert y.label == "y" and list(x.grad) == [4, 8]


def test_members() -> None:
    x = tracked(1, 2)
    assert x.index_ad > 0 and Float(1).index_ad == 0 and llvm.Float(1).index_ad == 0
    assert dr.detach(x).index_ad == 0 and dr.detach(x).index == x.index
    assert list(x.grad) == [0, 0] and type(x.grad) is Float
    x.grad = 3
    assert list(x.grad) == [3, 3] and x.grad.index_ad == 0
    assert llvm.Float(1).grad is not None and list(llvm.Float(1).grad) == [0]
    t = TensorXf([1, 2])
    dr.enable_grad(t)
    assert t.array.index_ad > 0 and type(t.grad) is TensorXf
