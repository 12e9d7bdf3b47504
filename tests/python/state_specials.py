"""What programs of test_freeze_state.py do, other than by the tables of places: each
has lines at the top, statements in the function, and statements between calls.

Names in templates are as in state_places.py; ``x`` is the input of the function, ``y``
what it computes, ``notes`` a list of what else it returns.
"""

from __future__ import annotations

from typing import NamedTuple


class Special(NamedTuple):
    top: str
    body: str
    outside: tuple[str, ...] = ()
    parameter: str = ""  # of the function, and what is passed for it
    argument: str = ""
    declare: str = ""
    field: str = ""  # of self, if the function has that
    grad: bool = False  # it needs derivatives
    unknown: bool = False  # what changes is given by a C callable
    hidden: bool = False  # arrays are, as 'hidden_array' in STATE_WITHOUT switches off


def _in_order(made: str, values: str, *outside: str) -> Special:
    loop = f"for v in {values}:\n    y = y * 2 + v"
    return Special(f"C{{n}} = {made}", loop, outside)


_SCOPE = (
    "def scope{n}(k):\n    def get():\n        return k\n    def put(v):\n"
    "        nonlocal k\n        k = v\n    return get, put\n"
)

SPECIALS: dict[str, Special] = {
    # ------------------------------------------------ order
    "dict_order": _in_order(
        "{{'a': 1.0, 'b': 2.0, 'c': 4.0}}",
        "C{n}.values()",
        "C{n}['a'] = C{n}.pop('a')",
        "C{n} = dict(reversed(C{n}.items()))",
        "C{n}['b'] += 1",
    ),
    "dict_order_arrays": _in_order(
        "{{'a': dr.opaque({T}, 1), 'b': dr.opaque({T}, 2)}}",
        "C{n}.values()",
        "C{n}['a'] = C{n}.pop('a')",
        "C{n}['b'] = {T}(5)",
        "C{n}['b'] = C{n}['a']",
    ),
    "dict_order_within": Special(
        "C{n} = {{'a': 1.0, 'b': 2.0}}",
        "C{n}['a'] = C{n}.pop('a')\nfor v in C{n}.values():\n    y = y * 2 + v",
        ("C{n}['b'] = C{n}.pop('b')", "C{n} = {{'a': 1.0, 'b': 2.0}}"),
    ),
    "dict_argument_order": Special(
        "A{n} = {{'a': 1.0, 'b': 2.0}}",
        "a{n}['a'] = a{n}.pop('a')\nfor v in a{n}.values():\n    y = y * 2 + v",
        ("A{n} = {{'a': 1.0, 'b': 2.0}}", "A{n} = {{'b': 2.0, 'a': 1.0}}"),
        "a{n}",
        "A{n}",
    ),
    "ordered_moved": Special(
        "C{n} = collections.OrderedDict(a=1.0, b=2.0)",
        "C{n}.move_to_end('a')\nfor v in C{n}.values():\n    y = y * 2 + v",
        ("C{n}.move_to_end('b')", "C{n}['b'] = 3.0"),
    ),
    "set_order": _in_order(
        "{{8, 0, 16}}",
        "C{n}",
        "C{n} = set(); C{n}.add(16); C{n}.update([8, 0])",
        "C{n} = set(); C{n}.add(0); C{n}.update([8, 16])",
        "C{n}.add(3)",
    ),
    "frozenset_order": _in_order(
        "frozenset([8, 0, 16])",
        "C{n}",
        "C{n} = frozenset([16, 8, 0])",
        "C{n} = frozenset([0, 8, 16])",
    ),
    "set_argument_order": Special(
        "A{n} = {{8, 0}}",
        "for v in a{n}:\n    y = y * 2 + v",
        ("A{n} = set(); A{n}.add(0); A{n}.add(8)", "A{n} = {{8}}; A{n}.add(0)"),
        "a{n}",
        "A{n}",
    ),
    "set_changed": Special(
        "C{n} = {{1}}",
        "C{n}.add(5)\ny = y + len(C{n})",
        ("C{n} = {{1}}", "C{n}.clear()", "C{n}.discard(5)"),
    ),
    "set_argument_changed": Special(
        "A{n} = {{1}}",
        "a{n}.add(5)",
        ("A{n} = {{1}}", "A{n}.clear()"),
        "a{n}",
        "A{n}",
    ),
    "set_grows": Special("C{n} = set()", "C{n}.add(len(C{n}))", ("C{n}.clear()",)),
    "list_sorted": Special(
        "C{n} = [3.0, 1.0, 2.0]",
        "C{n}.sort()\nfor v in C{n}:\n    y = y * 2 + v",
        ("C{n}.append(0.0)", "C{n}.reverse()"),
    ),
    "list_turns": Special(
        "C{n} = [dr.opaque({T}, 1), {T}(2), dr.opaque({T}, 3) + 1]",
        "C{n}.append(C{n}.pop(0))\ny = y * C{n}[0]",
        ("C{n}.reverse()", "C{n}[0] = {T}(5)"),
    ),
    "deque_turns": Special(
        "C{n} = collections.deque([1.0, 2.0, 3.0])",
        "C{n}.rotate(1)\ny = y + C{n}[0]",
        ("C{n}.append(4.0)", "C{n}.rotate(1)"),
    ),
    "length": Special(
        "C{n} = [1]",
        "y = y + len(C{n})",
        ("C{n}.append(1)", "C{n} = []", "C{n} = [True]"),
    ),
    "contains": Special(
        "C{n} = [1, 3]",
        "if 3 in C{n}:\n    y = y + 1",
        ("C{n}.remove(3) if 3 in C{n} else C{n}.append(3)",),
    ),
    # ------------------------------------------------ aliases
    "alias_argument": Special(
        "C{n} = [dr.opaque({T}, 2)]\nA{n} = C{n}[0]",
        "a{n} += 1\ny = y + C{n}[0]",
        ("A{n} = {T}(A{n})", "A{n} = C{n}[0]", "C{n}[0] = dr.opaque({T}, 5)"),
        "a{n}",
        "A{n}",
    ),
    "alias_changed": Special(
        "C{n} = [dr.opaque({T}, 2)]\nA{n} = C{n}[0]",
        "C{n}[0] += 1\ny = y + a{n}",
        ("A{n} = {T}(A{n})", "A{n} = C{n}[0]", "C{n}[0] = {T}(5)"),
        "a{n}",
        "A{n}",
    ),
    "alias_cell": Special(
        _SCOPE + "G{n} = Box({T}(2))\nget{n}, put{n} = scope{n}(G{n}.k)",
        "G{n}.k += 1\ny = y + get{n}()",
        ("G{n}.k = {T}(G{n}.k)", "put{n}(G{n}.k)"),
    ),
    "alias_scattered": Special(
        _SCOPE + "G{n} = dr.opaque({T}, 2)\nget{n}, put{n} = scope{n}(G{n})",
        "dr.scatter(G{n}, {T}(7), UInt(0))\ny = y + get{n}()",
        ("G{n} = {T}(G{n}) + 1", "put{n}(G{n})", "G{n} = dr.opaque({T}, 3)"),
    ),
    "alias_self_cell": Special(
        _SCOPE + "A{n} = dr.opaque({T}, 2)\nget{n}, put{n} = scope{n}(A{n})",
        "self.k{n} += 1\ny = y + get{n}()",
        (
            "OWNER.k{n} = {T}(OWNER.k{n})",
            "put{n}(OWNER.k{n})",
            "OWNER.k{n} = dr.opaque({T}, 3)",
        ),
        field="k{n} = A{n}",
    ),
    "alias_self_argument": Special(
        "A{n} = {T}(2)",
        "a{n} += x\ny = y + dr.sum(self.k{n})\nself.k{n} = y",
        ("A{n} = OWNER.k{n}", "OWNER.k{n} = A{n}", "A{n} = dr.opaque({T}, 3)"),
        "a{n}",
        "A{n}",
        field="k{n} = A{n}",
    ),
    "twice": Special(
        "A{n} = dr.opaque({T}, 2)\nB{n} = A{n}",
        "a{n} += 1\ny = y + b{n}\nb{n} *= 2",
        ("B{n} = A{n}", "B{n} = {T}(A{n})", "A{n} = dr.opaque({T}, 3)"),
        "a{n}, b{n}",
        "A{n}, B{n}",
    ),
    "twice_container": Special(
        "A{n} = [{T}(2)]\nB{n} = A{n}",
        "a{n}[0] = a{n}[0] + 1\ny = y + b{n}[0]",
        ("B{n} = A{n}", "B{n} = list(A{n})", "A{n}[0] = {T}(3)"),
        "a{n}, b{n}",
        "A{n}, B{n}",
    ),
    "twice_in_list": Special(
        "G{n} = dr.opaque({T}, 2)\nC{n} = [G{n}, G{n}]",
        "C{n}[0] += 1\ny = y + C{n}[1]",
        ("C{n}[1] = {T}(C{n}[1])", "C{n}[1] = C{n}[0]", "G{n} += 1"),
    ),
    "alias_made": Special(
        "G{n} = Box({T}(2))\nH{n} = Box(dr.opaque({T}, 3))",
        "y = y + G{n}.k\nG{n}.k = H{n}.k",
        ("G{n}.k = {T}(5)", "H{n}.k += 1"),
    ),
    "swapped": Special(
        "G{n} = Box({T}(2))\nH{n} = Box(dr.opaque({T}, 3))",
        "G{n}.k, H{n}.k = H{n}.k, G{n}.k\ny = y + G{n}.k",
        ("G{n}.k = {T}(5)", "H{n}.k = G{n}.k"),
    ),
    "input_given": Special("", "notes.append(x)"),
    "input_in_container": Special("", "notes.append({{'x': x, 'y': [y, x]}})"),
    "given_twice": Special("", "z = y + 1\nnotes += [z, z]"),
    "given_and_kept": Special(
        "G{n} = Box(None)", "G{n}.k = y\nnotes.append(y)", ("G{n}.k = None",)
    ),
    "container_given": Special(
        "C{n} = [{T}(2), 1.0]",
        "notes.append(C{n})\ny = y * C{n}[0]",
        ("C{n} = list(C{n})", "C{n}[0] = {T}(3)"),
    ),
    "argument_given": Special(
        "A{n} = {{'k': {T}(2)}}",
        "a{n}['k'] = a{n}['k'] + 1\nnotes.append(a{n})",
        ("A{n} = dict(A{n})",),
        "a{n}",
        "A{n}",
    ),
    # ------------------------------------------------ what is kept
    "log": Special("C{n} = []", "C{n}.append('called')", ("C{n}.clear()",)),
    "log_width": Special("C{n} = []", "C{n}.append(dr.width(x))", ("C{n} = []",)),
    "log_arrays": Special("C{n} = []", "C{n}.append(dr.sum(y))", ("C{n}.clear()",)),
    "log_deque": Special(
        "C{n} = collections.deque(maxlen=2)", "C{n}.append(y)", ("C{n}.clear()",)
    ),
    "log_counter": Special(
        "C{n} = collections.Counter()", "C{n}['calls'] += 1", ("C{n}.clear()",)
    ),
    "log_default": Special(
        "C{n} = collections.defaultdict(list)",
        "C{n}[dr.width(x)].append(1)",
        ("C{n}.clear()",),
    ),
    "log_of_helper": Special(
        "C{n} = []\ndef note{n}(what):\n    C{n}.append(what)",
        "note{n}('before')\ny = y + 1",
        ("C{n}.clear()",),
    ),
    "log_argument": Special("A{n} = []", "a{n}.append(1)", (), "a{n}", "A{n}"),
    "table": Special(
        "C{n} = {{}}",
        "if 'w' not in C{n}:\n    C{n}['w'] = dr.arange({T}, 1) + 3\ny = y * C{n}['w']",
        ("C{n}.clear()", "C{n}['w'] = dr.opaque({T}, 2)"),
    ),
    "table_of_input": Special(
        "C{n} = {{}}",
        "if 'w' not in C{n}:\n    C{n}['w'] = dr.sum(x)\ny = y + C{n}['w']",
        ("C{n}.clear()",),
    ),
    "table_of_numbers": Special(
        "C{n} = {{}}\nG{n} = 2",
        "if G{n} not in C{n}:\n    C{n}[G{n}] = G{n} * G{n}\ny = y + C{n}[G{n}]",
        ("C{n}.clear()", "G{n} = 3", "G{n} = 2", "C{n}[2] = 1.0"),
    ),
    "table_by_width": Special(
        "C{n} = {{}}",
        "w = dr.width(x)\nif w not in C{n}:\n    C{n}[w] = dr.sum(x)\ny = y + C{n}[w]",
        ("C{n}.clear()",),
    ),
    "table_attribute": Special(
        "G{n} = Box(1)",
        "if not hasattr(G{n}, 'late'):\n    G{n}.late = dr.arange({T}, 1) + 2\n"
        "y = y * G{n}.late",
        ("vars(G{n}).pop('late', 0)", "G{n}.late = {T}(2)"),
    ),
    "table_function": Special(
        "def h{n}():\n    if h{n}.table is None:\n"
        "        h{n}.table = dr.arange({T}, 1) + 2\n    return h{n}.table\n"
        "h{n}.table = None",
        "y = y * h{n}()",
        ("h{n}.table = None", "h{n}.table = {T}(3)"),
    ),
    "table_lru": Special(
        "@functools.lru_cache\ndef h{n}(k):\n    return dr.arange({T}, 1) + k",
        "y = y * h{n}(2)",
        ("h{n}.cache_clear()",),
        hidden=True,
    ),
    "table_lru_of_number": Special(
        "G{n} = 2.0\n@functools.lru_cache\ndef h{n}(k):\n    return {T}(k) + 1",
        "y = y * h{n}(G{n})",
        ("h{n}.cache_clear()", "G{n} = 3.0", "G{n} = 2", "G{n} = True"),
        hidden=True,
    ),
    "table_default": Special(
        "def h{n}(table={{}}):\n    if not table:\n"
        "        table['w'] = dr.arange({T}, 1) + 2\n    return table['w']",
        "y = y * h{n}()",
        ("h{n}.__defaults__[0].clear()",),
    ),
    "object_kept": Special(
        "G{n} = Box(None)", "G{n}.k = Box(dr.sum(y))", ("G{n}.k = None",)
    ),
    "error_kept": Special(
        "G{n} = None",
        "try:\n    raise ValueError('kept')\nexcept ValueError as error:\n"
        "    G{n} = error",
        ("G{n} = None",),
        declare="global G{n}",
    ),
    "error_with_array": Special(
        "",
        "try:\n    raise ValueError(y)\nexcept ValueError as error:\n"
        "    y = error.args[0] + 1",
    ),
    "error_in_order": Special(
        "G{n} = 0",
        "G{n} += 1\nif G{n} == 3:\n    raise RuntimeError(f'call {{G{n}}}')\ny = y + 1",
        ("G{n} = 1", "G{n} = 0"),
        declare="global G{n}",
    ),
    "error_of_helper": Special(
        "G{n} = 2.0\ndef h{n}(z):\n    if G{n} > 2:\n        raise KeyError(G{n})\n"
        "    return z + 1",
        "try:\n    y = h{n}(y)\nexcept KeyError as error:\n"
        "    notes.append(error.args)",
        ("G{n} = 3.0", "G{n} = 2.0"),
    ),
    "attribute_late": Special(
        "G{n} = Box(1)",
        "if hasattr(G{n}, 'late'):\n    y = y + G{n}.late",
        ("G{n}.late = 2.0", "vars(G{n}).pop('late', 0)", "G{n}.late = {T}(3)"),
    ),
    "attribute_deleted": Special(
        "G{n} = Box(1)\nG{n}.late = 2.0",
        "if hasattr(G{n}, 'late'):\n    y = y + G{n}.late\n    del G{n}.late",
        ("G{n}.late = 3.0",),
    ),
    "entry_deleted": Special(
        "C{n} = {{'a': 1.0, 'b': 2.0}}",
        "y = y + C{n}.pop('b', 7.0)",
        ("C{n}['b'] = 3.0", "C{n}['b'] = 2.0"),
    ),
    "cyclic": Special(
        "C{n} = [1.0]\nC{n}.append(C{n})",
        "y = y + C{n}[1][0]",
        ("C{n}[0] = 2.0", "C{n}[0] = {T}(3)"),
    ),
    "cyclic_object": Special(
        "G{n} = Box({T}(2))\nG{n}.own = G{n}",
        "y = y * G{n}.own.k",
        ("G{n}.k = {T}(3)", "G{n}.k += 1"),
    ),
    # ------------------------------------------------ code
    "generator": Special(
        "def gen{n}():\n    total = {T}(0)\n    while True:\n"
        "        v = yield total\n        total = total + v\n"
        "g{n} = gen{n}()\nnext(g{n})",
        "y = y + g{n}.send(dr.sum(x))",
        ("g{n} = gen{n}(); next(g{n})", "g{n}.send({T}(1))"),
    ),
    "generator_of_state": Special(
        "G{n} = {T}(2)\ndef gen{n}():\n    while True:\n        yield G{n}\n"
        "g{n} = gen{n}()",
        "y = y * next(g{n})",
        ("G{n} = {T}(3)", "G{n} = dr.opaque({T}, 4)"),
    ),
    "generator_local": Special(
        "G{n} = 2.0\ndef parts{n}(z):\n    yield z\n    yield z * G{n}",
        "for part in parts{n}(y):\n    y = y + part",
        ("G{n} = 3.0", "G{n} = {T}(4)"),
    ),
    "recursive": Special(
        "G{n} = 2.0",
        "def down(k, z):\n    return z if k == 0 else down(k - 1, z * G{n})\n"
        "y = down(2, y)",
        ("G{n} = 3.0", "G{n} = dr.opaque({T}, 3)"),
    ),
    "recursive_cells": Special(
        "",
        "total = []\ndef down(k):\n    total.append(y)\n    if k:\n"
        "        down(k - 1)\ndown(2)\ny = total[0] + total[-1]",
    ),
    "replaced_function": Special(
        "h{n} = lambda z: z * 2",
        "y = h{n}(y)",
        ("h{n} = lambda z: z * 3", "h{n} = lambda z, k=4: z * k", "h{n} = abs"),
    ),
    "replaced_code": Special(
        "def h{n}(z):\n    return z * 2",
        "y = h{n}(y)",
        ("h{n}.__code__ = (lambda z: z * 3).__code__",),
    ),
    "replaced_method": Special(
        "class C{n}:\n    def m(self, z):\n        return z * 2\nG{n} = C{n}()",
        "y = G{n}.m(y)",
        (
            "C{n}.m = lambda self, z: z * 3",
            "G{n}.m = lambda z: z * 4",
            "vars(G{n}).clear()",
        ),
    ),
    "replaced_class": Special(
        "class B{n}:\n    def m(self, z):\n        return z * 2\n"
        "class C{n}(B{n}):\n    def m(self, z):\n        return super().m(z) + 1\n"
        "G{n} = C{n}()",
        "y = G{n}.m(y)",
        ("G{n}.__class__ = B{n}", "G{n}.__class__ = C{n}"),
    ),
    "property_counts": Special(
        "class C{n}:\n    reads = 0\n    @property\n    def k(self):\n"
        "        self.reads += 1\n        return 2.0\nG{n} = C{n}()",
        "y = y * G{n}.k",
        ("G{n}.reads = 0",),
    ),
    "property_of_global": Special(
        "K{n} = 2.0\nclass C{n}:\n    @property\n    def k(self):\n"
        "        return K{n}\nG{n} = C{n}()",
        "y = y * G{n}.k",
        ("K{n} = 3.0", "K{n} = {T}(3)", "C{n}.k = 4.0"),
    ),
    "decorator_counts": Special(
        "def counted{n}(inner):\n    def outer(z):\n        outer.calls += 1\n"
        "        return inner(z)\n    outer.calls = 0\n    return outer\n"
        "@counted{n}\ndef h{n}(z):\n    return z * 2",
        "y = h{n}(y)",
        ("h{n}.calls = 0",),
    ),
    "operator_method": Special(
        "class C{n}:\n    def __init__(self, k):\n        self.k = k\n"
        "    def __matmul__(self, z):\n        return z * self.k\n"
        "    def __len__(self):\n        return int(self.k)\nG{n} = C{n}(2.0)",
        "y = G{n} @ y + len(G{n})",
        ("G{n}.k = 3.0", "G{n}.k = 2", "G{n} = C{n}(4.0)"),
    ),
    "context_manager": Special(
        "class C{n}:\n    depth = 0\n    def __enter__(self):\n"
        "        self.depth += 1\n        return self.depth\n"
        "    def __exit__(self, *unused):\n        self.depth -= 1\nG{n} = C{n}()",
        "with G{n} as level:\n    y = y + level",
        ("G{n}.depth = 1", "G{n}.depth = 0"),
    ),
    "context_generator": Special(
        "G{n} = Box(2.0)\n@contextlib.contextmanager\ndef h{n}():\n"
        "    before = G{n}.k\n    G{n}.k = 5.0\n    yield before\n"
        "    G{n}.k = before",
        "with h{n}() as before:\n    y = y * G{n}.k + before",
        ("G{n}.k = 3.0", "G{n}.k = 2"),
    ),
    "dispatched": Special(
        "@functools.singledispatch\ndef h{n}(z):\n    return z * 2",
        "y = h{n}(y)",
        ("h{n}.register({T}, lambda z: z * 3)", "h{n}.register(int, lambda z: z)"),
    ),
    "pattern": Special(
        "class C{n}:\n    __match_args__ = ('k', 'm')\n    def __init__(self):\n"
        "        self.k = 1.0\n        self.m = 2.0\nG{n} = C{n}()",
        "match G{n}:\n    case C{n}(1.0, m):\n        y = y * m\n"
        "    case C{n}(k):\n        y = y + k",
        ("G{n}.k = 3.0", "G{n}.m = 5.0", "C{n}.__match_args__ = ('m', 'k')"),
    ),
    "formatted": Special(
        "G{n} = Box(2.0)",
        "notes.append('{{0.k}}'.format(G{n}))",
        ("G{n}.k = 3.0", "G{n}.k = 2"),
    ),
    "bases": Special(
        "class A{n}:\n    k = 2.0\nclass B{n}(A{n}):\n    k = 3.0\n"
        "class G{n}(A{n}):\n    pass",
        "y = y * G{n}.k",
        ("G{n}.__bases__ = (B{n},)", "G{n}.__bases__ = (A{n},)", "A{n}.k = 4.0"),
    ),
    "imported": Special(
        "G{n} = types.ModuleType('state_of_test{n}')\nG{n}.k = 2.0\n"
        "sys.modules['state_of_test{n}'] = G{n}",
        "from state_of_test{n} import k\ny = y * k",
        ("G{n}.k = 3.0", "G{n}.k = {T}(3)"),
    ),
    "environment": Special(
        "os.environ['STATE_OF_TEST'] = '2'",
        "y = y + int(os.environ['STATE_OF_TEST'])",
        ("os.environ['STATE_OF_TEST'] = '3'", "os.environ['STATE_OF_TEST'] = '2'"),
    ),
    "frozen_helper": Special(
        "G{n} = 2.0\n@freeze\ndef h{n}(z):\n    return z * G{n}",
        "y = h{n}(y)",
        ("G{n} = 3.0", "call(lambda: h{n}(X))", "G{n} = {T}(4)"),
    ),
    "called_outside": Special(
        "G{n} = Box({T}(1))\ndef h{n}(z):\n    G{n}.k = G{n}.k + dr.sum(z)\n"
        "    return z + G{n}.k",
        "y = h{n}(y)",
        ("h{n}(X)", "G{n}.k = {T}(1)"),
    ),
    "unread": Special(
        "G{n} = dr.opaque({T}, 2)",
        "if len(notes) > 100:\n    y = y + G{n}",
        ("G{n} = {T}([1, 2, 3])", "G{n} = None", "G{n} += 1"),
    ),
    "one": Special(
        "G{n} = {T}(1)\nH{n} = {T}(0)",
        "y = x * G{n} + H{n}",
        ("G{n} = {T}(2)", "H{n} = {T}(1)", "G{n} = {T}(1)", "H{n} = {T}(0)"),
    ),
    "zero": Special(
        "G{n} = {T}(0)",
        "y = y + x * G{n}",
        ("G{n} = {T}(2)", "G{n} = {T}(0)", "G{n} = dr.opaque({T}, 1)"),
    ),
    "literal_changed": Special(
        "G{n} = {T}(2)\nH{n} = {T}(3)",
        "y = y * (G{n} + H{n})",
        ("G{n} = {T}(4)", "H{n} = {T}(1)", "G{n} = dr.opaque({T}, 2)"),
    ),
    "width": Special("", "notes.append(dr.width(x))\ny = y * dr.width(x)"),
    "width_computed": Special(
        "",
        "n = dr.width(x)\nnotes += [abs(n - 3), n // 2, n % 3, divmod(n, 2), -n]",
    ),
    "symsize_read": Special(
        "",
        "n = dr.width(x)\nnotes += [n / 2, float(n), str(n), f'{{n}}', n == 3]",
    ),
    "width_given": Special(
        "",
        "n = dr.width(x)\nnotes += [dr.sum(n), dr.sign(n - 2), round(n, 1)]",
    ),
    "width_chosen": Special("", "y = y * abs(dr.width(x) - 2) + dr.width(x) ** 2"),
    "width_of_key": Special(
        "C{n} = {{1: 2.0, 3: 5.0, 4: 7.0}}",
        "y = y * C{n}.get(dr.width(x), 1.0)",
        ("C{n}[4] = 3.0", "C{n}[3] = 2.0"),
    ),
    "width_kept": Special(
        "G{n} = Box(0)", "G{n}.k = dr.width(x) + 1", ("G{n}.k = 0", "G{n}.k = True")
    ),
    "width_large": Special(
        "",
        "n = dr.width(x)\nnotes += [n * 4294967296, n << 33, n**9, y * (n << 40)]",
    ),
    "width_encoded": Special("", "notes.append(json.dumps({{'n': dr.width(x)}}))"),
    "width_compared": Special(
        "G{n} = 3", "if dr.width(x) > G{n}:\n    y = y + 1", ("G{n} = 1", "G{n} = 10")
    ),
    "evaluated": Special("", "dr.eval(y)\ny = y + 1"),
    "evaluated_state": Special(
        "G{n} = Box(dr.arange({T}, 1) + 2)",
        "dr.eval(G{n}.k)\ny = y * G{n}.k",
        ("G{n}.k = dr.opaque({T}, 1) + 2", "G{n}.k = {T}(4)"),
    ),
    "opaque_state": Special(
        "C{n} = [{T}(2), {T}(3)]",
        "dr.make_opaque(C{n})\ny = y * C{n}[0] + C{n}[1]",
        ("C{n}[0] = {T}(4)", "C{n}[1] = dr.opaque({T}, 1)"),
    ),
    "opaque_made": Special(
        "G{n} = 2.0", "y = y * dr.opaque({T}, G{n})", ("G{n} = 3.0", "G{n} = 2")
    ),
    # ------------------------------------------------ control flow
    "loop": Special(
        "G{n} = {T}(2)",
        "i, y = dr.while_loop(\n    (UInt(0), y), lambda i, y: i < 3,\n"
        "    lambda i, y: (i + 1, y + G{n})\n)",
        ("G{n} = {T}(3)", "G{n} = dr.opaque({T}, 4)", "G{n} += 1"),
    ),
    "loop_of_number": Special(
        "G{n} = Box(3)",
        "i, y = dr.while_loop(\n    (UInt(0), y), lambda i, y: i < G{n}.k,\n"
        "    lambda i, y: (i + 1, y + i)\n)",
        ("G{n}.k = 2", "G{n}.k = UInt(4)", "G{n}.k = True"),
    ),
    "loop_evaluated": Special(
        "G{n} = {T}(1)",
        "i, y = dr.while_loop(\n    (UInt(0), y), lambda i, y: i < 3,\n"
        "    lambda i, y: (i + 1, y + G{n}), mode='evaluated'\n)",
        ("G{n} = {T}(3)", "G{n} = dr.opaque({T}, 4)"),
    ),
    "conditional": Special(
        "G{n} = {T}(2)\nH{n} = Box(dr.opaque({T}, 3))",
        "y = dr.if_stmt(\n    (y,), y > G{n}, lambda y: y * H{n}.k, lambda y: y - 1\n)",
        ("G{n} = {T}(1)", "H{n}.k = {T}(5)", "H{n}.k += 1"),
    ),
    "switch": Special(
        "G{n} = {T}(2)\nC{n} = [lambda z: z * G{n}, lambda z: z + 1]",
        "y = dr.switch(UInt(0), C{n}, y)",
        ("G{n} = dr.opaque({T}, 3)", "C{n}.reverse()", "C{n}[0] = lambda z: z - 1"),
    ),
    "switch_of_lanes": Special(
        "G{n} = Box({T}(2))\nC{n} = [lambda z: z * G{n}.k, lambda z: z + 1]",
        "y = dr.switch(dr.arange(UInt, dr.width(y)) % 2, C{n}, y)",
        ("G{n}.k = {T}(3)", "G{n}.k += 1", "C{n}.reverse()"),
    ),
    # ------------------------------------------------ NumPy, random numbers, threads
    "numpy_read": Special(
        "C{n} = np.array([1.0, 2.0])",
        "y = y + dr.sum({T}(C{n}))",
        ("C{n}[0] = 5.0", "C{n} = C{n}.copy()", "C{n} = C{n}[::-1]"),
    ),
    "numpy_written": Special(
        "C{n} = np.zeros(2)",
        "y = y + float(C{n}[0])\nC{n}[0] = 5",
        ("C{n} = np.zeros(2)", "C{n}[1] = 1"),
    ),
    "numpy_counts": Special(
        "C{n} = np.zeros(2)", "C{n} += 1", ("C{n}[:] = 0",), declare="global C{n}"
    ),
    "numpy_argument": Special(
        "A{n} = np.zeros(2)",
        "a{n}.fill(5)",
        ("A{n} = np.zeros(2)", "A{n}[0] = 1"),
        "a{n}",
        "A{n}",
    ),
    "numpy_view": Special(
        "C{n} = np.arange(4.0)\nA{n} = C{n}[:2]",
        "C{n}[0] = 3\ny = y + float(a{n}[0])",
        ("C{n}[0] = 1", "A{n} = A{n}.copy()"),
        "a{n}",
        "A{n}",
    ),
    "bytes_written": Special(
        "C{n} = bytearray(2)", "y = y + C{n}[0]\nC{n}[0] = 5", ("C{n} = bytearray(2)",)
    ),
    "rng": Special(
        "G{n} = dr.rng(3)",
        "y = y + G{n}.random({T}, 1)",
        ("G{n} = dr.rng(4)", "G{n}.random({T}, 1)"),
    ),
    "rng_argument": Special(
        "A{n} = dr.rng(3)",
        "y = y + a{n}.random({T}, 1)",
        ("A{n} = dr.rng(3)", "A{n}.random({T}, 1)"),
        "a{n}",
        "A{n}",
    ),
    "rng_of_object": Special(
        "G{n} = Box(dr.rng(UInt(3)))",
        "y = y + G{n}.k.random({T}, 1)",
        ("G{n}.k = dr.rng(UInt(4))", "G{n}.k.random({T}, 1)"),
    ),
    "thread_inside": Special(
        "C{n} = []",
        "t = threading.Thread(target=lambda: C{n}.append(1))\nt.start()\nt.join()",
        ("C{n}.clear()",),
    ),
    "queue": Special(
        "import queue\nC{n} = queue.SimpleQueue()\nC{n}.put(dr.opaque({T}, 2))",
        "v = C{n}.get()\nC{n}.put(v + 1)\ny = y * v",
        ("C{n}.get(); C{n}.put({T}(5))",),
        hidden=True,
    ),
    # ------------------------------------------------ derivatives
    "descent": Special(
        "G{n} = Box({T}([1, 2, 3][:1]))",
        "w = {T}(G{n}.k)\ndr.enable_grad(w)\ndr.backward(dr.sum(dr.square(w - x)))\n"
        "G{n}.k = dr.detach(w) - dr.grad(w)",
        ("G{n}.k = {T}(2)",),
        grad=True,
    ),
    "input_tracked": Special(
        "", "dr.enable_grad(x)\nz = x * x\ndr.backward(dr.sum(z))", grad=True
    ),
    "input_detached": Special("", "y = y + x\ndr.disable_grad(x)", grad=True),
    "input_suspended": Special(
        "", "with dr.suspend_grad():\n    x *= 1\ny = y + x * 3", grad=True
    ),
    "input_changed": Special("", "x *= 3\ny = y + x * x", grad=True),
    "graph_kept": Special(
        "G{n} = Box(None)",
        "G{n}.k = y * 2",
        ("G{n}.k = None", "call(lambda: dr.backward(dr.sum(G{n}.k)))"),
        grad=True,
    ),
    "number_in_gradient": Special(
        "G{n} = 2.0", "y = y * G{n} * x", ("G{n} = 3.0", "G{n} = 5.0"), grad=True
    ),
    "array_in_gradient": Special(
        "C{n} = [dr.opaque({T}, 2)]",
        "y = y * C{n}[0] * x",
        ("C{n}[0] = {T}(3)", "C{n}.append({T}(9))", "dr.enable_grad(C{n}[0])"),
        grad=True,
    ),
    "gradient_twice": Special(
        "A{n} = dr.opaque({T}, 2)\nB{n} = A{n}\ndr.enable_grad(A{n})",
        "b{n} *= 3\ny = y * a{n} * b{n}",
        ("B{n} = A{n}", "B{n} = {T}(A{n})", "dr.enable_grad(A{n})"),
        "a{n}, b{n}",
        "A{n}, B{n}",
        grad=True,
    ),
    "gradient_alias": Special(
        "G{n} = Box(dr.opaque({T}, 2))\nA{n} = G{n}.k\ndr.enable_grad(A{n})",
        "a{n} += 1\na{n} *= 3\ny = y + G{n}.k * 2",
        ("G{n}.k = A{n}", "G{n}.k = {T}(2)", "A{n} = {T}(2); dr.enable_grad(A{n})"),
        "a{n}",
        "A{n}",
        grad=True,
    ),
    "operation": Special(
        "K{n} = 2.0\nclass C{n}(dr.CustomOp):\n    def eval(self, z):\n"
        "        return z * 2\n    def backward(self):\n"
        "        self.set_grad_in('z', self.grad_out() * K{n})\n"
        "    def forward(self):\n"
        "        self.set_grad_out(self.grad_in('z') * K{n})\n"
        "    def name(self):\n        return 'operation'",
        "y = dr.custom(C{n}, y)",
        ("K{n} = 3.0", "K{n} = 2.0"),
        grad=True,
    ),
    "two_results": Special("", "notes += [x * 3, x * x]", grad=True),
    "second_order": Special(
        "",
        "w = {T}(2)\ndr.enable_grad(w)\nv = w * w * w\ndr.backward(v)\n"
        "y = y * dr.grad(w)",
        grad=True,
    ),
    # ------------------------------------------------ what changes is unknown
    "random": Special(
        "import random", "y = y + random.randint(1, 99)", (), unknown=True
    ),
    "random_object": Special(
        "import random\nG{n} = random.Random(5)",
        "y = y + G{n}.random()",
        ("G{n}.seed(3)",),
        unknown=True,
    ),
    "next_number": Special(
        "import itertools\nG{n} = itertools.count()", "y = y + next(G{n})", unknown=True
    ),
    "next_of_list": Special(
        "G{n} = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])",
        "y = y + next(G{n}, 0)",
        unknown=True,
    ),
    "next_of_generator": Special(
        "def gen{n}():\n    k = 0\n    while True:\n        k += 1\n        yield k\n"
        "G{n} = gen{n}()",
        "y = y + next(G{n})",
        unknown=True,
    ),
    "context_variable": Special(
        "import contextvars\nG{n} = contextvars.ContextVar('G{n}')\nG{n}.set(2.0)",
        "y = y + G{n}.get(1.0)",
        ("G{n}.set(3.0)", "G{n}.set(4.0)"),
        unknown=True,
    ),
}
