"""Views of parts of arrays: their identity, and that cycles through them are found."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import pytest


@pytest.fixture(params=[llvm, llvm.ad, scalar])
def module(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_view_is_the_same_object_while_it_is_alive(module: ModuleType) -> None:
    m = module.Matrix3f(*range(9))
    row = m[1]
    assert m[1] is row and m[-2] is row and m[0] is not row
    t = module.TensorXf([1, 2, 3])
    assert t.array is t.array and t.array is not module.TensorXf([1, 2, 3]).array
    if module is not scalar:
        v = module.Array3f(1, 2, 3)
        assert v.y is v.y and v[1] is v.y and v.x is not v.y
        assert row.z is m[1, 2] and row.z is m[1][2]
        assert module.Array3f(v).y is not v.y
        first = v.x
        v.x += 1
        assert v.x is first and first[0] == 2
        v += 1
        assert v.x is first and first[0] == 3


def test_a_view_is_gone_when_nobody_has_it() -> None:
    v = llvm.Array3f(1, 2, 3)
    references = sys.getrefcount(v)
    for _ in range(3):
        y = v.y
        assert sys.getrefcount(v) == references + 1
        del y
        assert sys.getrefcount(v) == references
    a, b = llvm.Array3f(1), llvm.Array3f(2)
    kept = [a.x, b.x]
    del a
    assert kept[0][0] == 1 and b.x is kept[1]


def test_many_views() -> None:
    """Against a dictionary, with views coming and going."""
    rng = random.Random(3)
    owners = [llvm.Matrix4f(*range(16)) for _ in range(50)]
    alive: dict[tuple[int, int, int], Any] = {}
    for _ in range(20000):
        key = (rng.randrange(50), rng.randrange(4), rng.randrange(-1, 4))
        view = owners[key[0]][key[1]]
        view = view if key[2] < 0 else view[key[2]]
        assert alive.setdefault(key, view) is view
        if rng.random() < 0.5:
            del alive[rng.choice(list(alive))]
    for (owner, row, column), view in alive.items():
        assert (
            owners[owner][row] is view
            if column < 0
            else view is owners[owner][row, column]
        )


def make_cycles(module: ModuleType) -> Iterator[Any]:
    class Plain(module.Array3f):  # type: ignore[name-defined, misc]
        pass

    class Slots(module.Matrix2f):  # type: ignore[name-defined, misc]
        __slots__ = ("__weakref__", "first")

    class Tensor(module.TensorXf):  # type: ignore[name-defined, misc]
        pass

    v = Plain(1, 2, 3)
    v.first = v.x if module is not scalar else [v]
    yield v
    s = Slots(1)
    s.first = s[1]
    yield s
    t = Tensor([1, 2])
    t.first = t.array
    yield t
    a, b = Slots(1), Slots(2)
    a.first, b.first = [b[0]], {"a": a[1], "row": a[0]}
    yield a


def test_cycles_through_views_are_collected(module: ModuleType) -> None:
    gc.collect()
    alive = [weakref.ref(instance) for instance in make_cycles(module)]
    gc.collect()
    assert [reference() for reference in alive] == [None] * 4


def test_what_is_alive_is_not_collected() -> None:
    class Vector(llvm.Array3f):
        pass

    v = Vector(1, 2, 3)
    v.first = v.x
    view = v.y
    alive = weakref.ref(v)
    del v
    gc.collect()
    assert alive() is not None and view[0] == 2
    assert alive().first is alive().x and alive().first[0] == 1
    del view
    gc.collect()
    assert alive() is None


def test_finalizers_see_whole_views() -> None:
    seen = []

    class Vector(llvm.Array3f):
        def __del__(self) -> None:
            seen.append((self.first is self.x, self.first[0], self.y[0]))

    v = Vector(1, 2, 3)
    v.first = v.x
    del v
    gc.collect()
    assert seen == [(True, 1, 2)]


def test_plain_arrays_have_no_header_for_the_collector() -> None:
    for a in (llvm.Float(1), llvm.Array3f(1), llvm.TensorXf([1]), scalar.ArrayXf(1),
              llvm.Array3f(1).x, llvm.Matrix3f(1)[1], llvm.TensorXf([1]).array,
              llvm.Float.__new__(llvm.Float), scalar.Array3f(1)):  # fmt: skip
        assert not gc.is_tracked(a)
    before = len(gc.get_objects())
    many = [llvm.Float(i) for i in range(1000)]
    assert len(gc.get_objects()) < before + 10
    assert not gc.is_tracked((many[0], many[1])) or gc.collect() >= 0

    class Vector(llvm.Array3f):
        pass

    v = Vector(1)
    assert gc.is_tracked(v) and gc.is_tracked(v.x)


def test_classes_cannot_be_exchanged_with_those_of_plain_arrays() -> None:
    class Bare(llvm.Float):
        __slots__ = ()

    class Other(llvm.Float):
        __slots__ = ()

    plain, bare = llvm.Float(1), Bare(2)
    with pytest.raises(TypeError):
        plain.__class__ = Bare
    with pytest.raises(TypeError):
        bare.__class__ = llvm.Float
    bare.__class__ = Other
    assert type(bare) is Other and bare[0] == 2
    for _ in range(100):
        Bare(1), llvm.Float(1), Bare(llvm.Float(2))
    assert type(bare + 1) is Other
    dr.eval(bare)


def test_array_of_special_types_is_a_copy(m):
    """As in the published package: the parts of t.array are not parts of these."""
    for special in (
        m.Matrix2f(1, 2, 3, 4),
        m.Complex2f(1, 2),
        m.Quaternion4f(1, 2, 3, 4),
    ):
        copy = special.array
        assert special.array is not copy and type(special.array) is type(copy)
        before = str(special)
        copy[0] = 7
        copy += 1
        assert str(special) == before
        special[0] = 9
        assert not dr.any(copy == 9, axis=None)
    for same in (m.Array3f(1, 2, 3), m.Float(1)):
        if dr.is_array_v(same):
            assert same.array is same
    t = m.TensorXf([1, 2], (2,))
    assert t.array is t.array
