"""What hostile programs once did to the extension. Crashes run in this process, too:
a test that fails by ending the interpreter fails for everyone to see."""

import sys

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest


class Plain:
    pass


def test_base_class_beside_foreign_classes():
    """An object that is not an array must not inherit the methods of arrays."""
    derived = type("Derived", (Plain, dr.ArrayBase), {})
    with pytest.raises(TypeError, match="cannot be instantiated"):
        derived()
    with pytest.raises(TypeError, match="lay-out"):
        type("Derived", (list, dr.ArrayBase), {})


def test_class_assignment_does_not_make_arrays():
    class Empty:
        __slots__ = ()

    class EmptyArray(dr.ArrayBase):
        __slots__ = ()

    for thing, cls in [
        (Empty(), EmptyArray),
        (Plain(), type("Array", (dr.ArrayBase,), {})),
        (llvm.Float(1), llvm.Int),
        (scalar.ArrayXf(1), scalar.ArrayXi),
        (scalar.ArrayXf(1), scalar.Array0f),
    ]:
        with pytest.raises(TypeError, match="__class__ assignment"):
            thing.__class__ = cls


@pytest.mark.parametrize("call", ["__init__", "__iadd__"])
def test_storage_of_a_tensor_keeps_its_size(call):
    """A view of the storage once gave the tensor a variable smaller than its shape."""
    tensor = llvm.TensorXf([1.0], (1,))
    with pytest.raises(RuntimeError, match="of 1 entries cannot become one of 3"):
        getattr(tensor.array, call)(llvm.Float([1, 2, 3]))
    assert tensor.shape == (1,) and tensor[0] == 1
    tensor = llvm.TensorXf([1.0, 2.0, 3.0], (3,))
    with pytest.raises(RuntimeError, match="of 3 entries cannot become one of 2"):
        tensor.array.__init__([5.0, 6.0])
    assert scalar.TensorXf(tensor).numpy().tolist() == [1, 2, 3]
    tensor.array.__init__([5.0, 6.0, 7.0])
    assert tensor.numpy().tolist() == [5, 6, 7]


@pytest.mark.parametrize("m", [llvm, llvm.ad, scalar])
def test_tensor_without_init_is_empty(m):
    """It once had the shape (), which is one entry, and no storage."""
    tensor = m.TensorXf.__new__(m.TensorXf)
    assert tensor.shape == (0,)
    assert (tensor + 1).shape == (0,)
    assert tensor.numpy().tolist() == []


def test_entry_types_that_no_array_has():
    with pytest.raises(TypeError, match="entries of type void"):
        dr.replace_type_t(llvm.Float, dr.VarType.Void)
    with pytest.raises(TypeError, match="entries of type void"):
        dr.reinterpret_array_t(llvm.Float, dr.VarType.Void)


def test_extents_that_clear_their_list():
    extents = []

    class Extent:
        def __index__(self):
            extents.clear()
            return 3

    extents += [Extent(), Extent(), -1]
    assert dr.replace_shape_t(llvm.Array2f, extents, "matrix") is llvm.Matrix3f
    with pytest.raises(TypeError, match=r"drjit.replace_shape_t\(<int>\)"):
        dr.replace_shape_t(llvm.Array2f, 5)


def test_interface_without_valid_text():
    class Odd:
        __array_interface__ = {"shape": (), "typestr": "\ud800"}

    one = llvm.Float(1)
    for function in [dr.sqrt, lambda x: dr.minimum(one, x), lambda x: one + x]:
        with pytest.raises(TypeError) as caught:
            function(Odd())
        assert caught.value.__cause__ is None


def test_interface_whose_look_up_removes_entries():
    class Key:
        def __hash__(self):
            return hash("typestr")

        def __eq__(self, other):
            if armed:
                interface.pop("shape", None)
            return False

    class Odd:
        @property
        def __array_interface__(self):
            return interface

    armed = False
    interface = {}
    interface[Key()] = 0
    interface["shape"] = tuple(map(int, "3"))  # held by the dictionary alone
    interface["typestr"] = "<f4"
    armed = True
    with pytest.raises((TypeError, RuntimeError)):
        llvm.Array3f(1) + Odd()


def test_operand_that_changes_its_mind():
    """No result and no exception is an error of the extension (SystemError)."""

    class Fickle:
        def __init__(self, limit):
            self.asked, self.limit = 0, limit

        @property
        def __array_interface__(self):
            self.asked += 1
            if self.asked < self.limit:
                raise AttributeError
            return {"shape": (3,), "typestr": "<f4"}

    for limit in range(1, 9):
        for function in [dr.dot, dr.minimum, dr.copysign, lambda a, b: a * b]:
            try:
                function(scalar.Array3f(1, 2, 3), Fickle(limit))
            except (TypeError, RuntimeError, ValueError):
                pass


def test_exponents():
    class Truth:
        __array_interface__ = {"shape": (), "typestr": "|b1"}

        def __bool__(self):
            raise ValueError("neither")

    with pytest.raises(ValueError, match="neither"):
        llvm.Float(2) ** Truth()
    with pytest.raises(OverflowError, match=r"drjit.power\(\): 1180591620717411303424"):
        llvm.Float(2) ** 2**70
    assert llvm.Float(2) ** True == 2
    assert llvm.Float(2) ** np.True_ == 2


def test_powers_keep_the_class():
    class Length(llvm.Float):
        pass

    for exponent in [-1, 0, 1, 2]:
        assert type(Length(2) ** exponent) is Length


def test_field_type_by_name_without_annotation():
    class Point:
        DRJIT_STRUCT = {"x": "Float"}

    with pytest.raises(TypeError, match=r"drjit.zeros\(\): .*x has a type .* by name"):
        dr.zeros(Point)


@pytest.mark.parametrize("extents", [("a",), (-1,), (2**70,), [1]])
def test_shapes_that_are_none(extents):
    class Foreign:
        shape = extents

    for thing in [Foreign(), [Foreign()], [Foreign(), Foreign()]]:
        with pytest.raises(TypeError, match=r"drjit.shape\(<Foreign>\)"):
            dr.shape(thing)


def test_log_callback_beside_a_replaced_module(monkeypatch):
    messages = []
    dr.set_log_callback(lambda level, text: messages.append(text), dr.LogLevel.Trace)
    try:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "drjit._core", Plain())
            dr.eval(llvm.Float([1, 2]) + 1)
            llvm.Float(1)
    finally:
        dr.set_log_callback(None)


def test_a_false_member_is_not_remembered():
    """Something that only says it is a VarType was once handed out as the member."""

    class False64:
        __class__ = dr.VarType
        value = dr.VarType.Float64.value

    assert dr.replace_type_t(llvm.Float, False64()) is llvm.Float64
    assert type(dr.type_v(llvm.Float64)) is dr.VarType
