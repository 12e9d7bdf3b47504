"""Where programs of test_freeze_state.py keep what they use: tables of places, of
values that stand there, and of what is done with these.

In templates, ``{n}`` is the number of the place, ``{v}`` a value, ``{r}`` the
expression that reads the place, ``{u}`` one that makes an operand for ``y`` of it, and
``{T}`` the type of ``y``.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    setup: str  # lines at the top of the script; what begins with 'self.', 'cls.' or
    # 'cell' goes where such variables are made
    read: str
    write: str = ""  # statements within the function; '': it does not write there
    outside: tuple[str, ...] = ()  # statements between calls, one of which is chosen
    holds: str = "any"  # or 'number', 'float', 'byte', 'array'
    forms: str = "any"  # or 'self', 'cls'
    declare: str = ""  # what the function says first
    parameter: str = ""  # of the function, and what is passed for it
    argument: str = ""
    unknown: bool = False  # reads by a C callable not known to be repeatable


def _item(setup: str, key: str, **rest: object) -> Place:
    """An entry of a container that is a global."""
    read = f"C{{n}}{key}"
    write = f"{read} = {{v}}"
    outside = (write, write, "C{n} = copy.copy(C{n})")
    return Place(setup, read, write, outside, **rest)  # type: ignore[arg-type]


def _passed(setup: str, key: str, argument: str = "A{n}", **rest: object) -> Place:
    """What an argument leads to."""
    return Place(
        setup,
        f"a{{n}}{key}",
        f"a{{n}}{key} = {{v}}",
        (*(f"A{{n}}{key} = {{v}}",) * 2, "A{n} = copy.copy(A{n})"),
        parameter="a{n}",
        argument=argument,
        **rest,  # type: ignore[arg-type]
    )


PLACES: dict[str, Place] = {
    "global": Place(
        "G{n} = {v}", "G{n}", "G{n} = {v}", ("G{n} = {v}",), declare="global G{n}"
    ),
    "global_read": Place("G{n} = {v}", "G{n}", "", ("G{n} = {v}",)),
    "global_tuple": Place("G{n} = (1.0, {v})", "G{n}[1]", "", ("G{n} = (1.0, {v})",)),
    "module": Place(
        "G{n} = types.ModuleType('other')\nG{n}.k = {v}",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}",),
    ),
    "object": Place(
        "G{n} = Box({v})",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}", "G{n} = Box({v})", "G{n} = copy.copy(G{n})", "del G{n}.k"),
    ),
    "slots": Place(
        "G{n} = Slots({v})",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}", "G{n} = Slots({v})"),
    ),
    "dataclass": Place(
        "G{n} = Data({v})",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}", "G{n} = Data({v})"),
    ),
    "frozen_dataclass": Place(
        "G{n} = Fixed({v})", "G{n}.k", "", ("G{n} = Fixed({v})",)
    ),
    "struct": Place(
        "G{n} = Struct({v})",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}", "G{n} = Struct({v})"),
    ),
    "namespace": Place(
        "G{n} = types.SimpleNamespace(k={v})",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}",),
    ),
    "deep": Place(
        "G{n} = {{'a': [Box(Slots({v}))]}}",
        "G{n}['a'][0].k.k",
        "G{n}['a'][0].k.k = {v}",
        ("G{n}['a'][0].k.k = {v}", "G{n}['a'][0] = Box(Slots({v}))"),
    ),
    "class_attribute": Place(
        "class G{n}:\n    k = {v}", "G{n}.k", "G{n}.k = {v}", ("G{n}.k = {v}",)
    ),
    "class_of_instance": Place(
        "class C{n}:\n    k = {v}\nG{n} = C{n}()",
        "G{n}.k",
        "C{n}.k = {v}",
        ("C{n}.k = {v}", "G{n}.k = {v}", "vars(G{n}).clear()"),
    ),
    "inherited": Place(
        "class B{n}:\n    k = {v}\nclass C{n}(B{n}):\n    pass\nG{n} = C{n}()",
        "G{n}.k",
        "B{n}.k = {v}",
        ("B{n}.k = {v}", "C{n}.k = {v}", "G{n}.k = {v}", "vars(G{n}).clear()"),
    ),
    "super": Place(
        "class B{n}:\n    k = {v}\n    def get(self):\n        return self.k\n"
        "class C{n}(B{n}):\n    def get(self):\n        return super().get()\n"
        "G{n} = C{n}()",
        "G{n}.get()",
        "B{n}.k = {v}",
        ("B{n}.k = {v}", "C{n}.k = {v}", "G{n}.k = {v}"),
    ),
    "type_of": Place(
        "class C{n}:\n    k = {v}\nG{n} = C{n}()", "type(G{n}).k", "", ("C{n}.k = {v}",)
    ),
    "list": _item("C{n} = [{v}, 1.0]", "[0]"),
    "list_end": _item("C{n} = [1.0, {v}]", "[-1]"),
    "dict": _item("C{n} = {{'a': {v}, 'b': 1.0}}", "['a']"),
    "dict_less": _item("C{n} = {{'a': {v}, 'b': 1.0}}", "['a']")._replace(
        outside=("C{n}['a'] = {v}", "C{n}.pop('a', 0)", "C{n}['c'] = {v}")
    ),
    "deque": _item("C{n} = collections.deque([{v}, 1.0])", "[0]"),
    "defaultdict": _item("C{n} = collections.defaultdict(int, a={v})", "['a']"),
    "ordered_dict": _item("C{n} = collections.OrderedDict(a={v}, b=1.0)", "['a']"),
    "counter": _item("C{n} = collections.Counter(a={v})", "['a']", holds="number"),
    "numpy": _item("C{n} = np.array([{v}, 1.0])", "[0].item()", holds="float")._replace(
        write="C{n}[0] = {v}", outside=("C{n}[0] = {v}", "C{n} = np.array([{v}, 1.0])")
    ),
    "bytearray": _item("C{n} = bytearray([{v}, 1])", "[0]", holds="byte"),
    "dict_get": Place(
        "C{n} = {{'a': {v}}}",
        "C{n}.get('a', 7.0)",
        "C{n}['a'] = {v}",
        ("C{n}['a'] = {v}", "C{n}.pop('a', None)"),
    ),
    "self": Place(
        "self.k{n} = {v}",
        "self.k{n}",
        "self.k{n} = {v}",
        ("OWNER.k{n} = {v}",),
        forms="self",
    ),
    "self_list": Place(
        "self.k{n} = [{v}]",
        "self.k{n}[0]",
        "self.k{n}[0] = {v}",
        ("OWNER.k{n}[0] = {v}", "OWNER.k{n} = [{v}]"),
        forms="self",
    ),
    "self_dict": Place(
        "self.k{n} = {{'a': {v}}}",
        "self.k{n}['a']",
        "self.k{n}['a'] = {v}",
        ("OWNER.k{n}['a'] = {v}",),
        forms="self",
    ),
    "cls": Place(
        "cls.k{n} = {v}",
        "cls.k{n}",
        "cls.k{n} = {v}",
        ("OWNER.k{n} = {v}",),
        forms="cls",
    ),
    "cell": Place(
        "cell k{n} = {v}",
        "k{n}",
        "k{n} = {v}",
        ("put_k{n}({v})",),
        declare="nonlocal k{n}",
    ),
    "cell_read": Place("cell k{n} = {v}", "k{n}", "", ("put_k{n}({v})",)),
    "cell_of_helper": Place(
        "def scope{n}(k):\n    def get():\n        return k\n    def put(v):\n"
        "        nonlocal k\n        k = v\n    return get, put\n"
        "get{n}, put{n} = scope{n}({v})",
        "get{n}()",
        "put{n}({v})",
        ("put{n}({v})",),
    ),
    "default": Place(
        "def h{n}(k={v}):\n    return k", "h{n}()", "", ("h{n}.__defaults__ = ({v},)",)
    ),
    "keyword_default": Place(
        "def h{n}(*, k={v}):\n    return k",
        "h{n}()",
        "",
        ("h{n}.__kwdefaults__ = {{'k': {v}}}", "h{n}.__kwdefaults__['k'] = {v}"),
    ),
    "list_default": Place(
        "def h{n}(k=[{v}]):\n    return k",
        "h{n}()[0]",
        "h{n}()[0] = {v}",
        ("h{n}()[0] = {v}",),
    ),
    "function_attribute": Place(
        "def h{n}():\n    return h{n}.k\nh{n}.k = {v}",
        "h{n}()",
        "h{n}.k = {v}",
        ("h{n}.k = {v}",),
    ),
    "partial": Place(
        "h{n} = functools.partial(same, {v})",
        "h{n}()",
        "",
        ("h{n} = functools.partial(same, {v})",),
    ),
    "partial_keyword": Place(
        "h{n} = functools.partial(same, k={v})",
        "h{n}()",
        "",
        ("h{n}.keywords['k'] = {v}", "h{n} = functools.partial(same, k={v})"),
    ),
    "decorator": Place(
        "def scope{n}(k):\n    def wrap(inner):\n        def outer():\n"
        "            return inner(k)\n        return outer\n    return wrap\n"
        "@scope{n}({v})\ndef h{n}(k):\n    return k",
        "h{n}()",
        "",
        ("h{n}.__closure__[1].cell_contents = {v}", "h{n} = scope{n}({v})(same)"),
    ),
    "lru_cache": Place(
        "S{n} = {v}\n@functools.lru_cache\ndef h{n}():\n    return S{n}",
        "h{n}()",
        "",
        ("S{n} = {v}; h{n}.cache_clear()", "h{n}.cache_clear()", "S{n} = {v}"),
        unknown=True,
    ),
    "property": Place(
        "G{n} = WithProperty({v})",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}", "G{n}._k = {v}"),
    ),
    "cached_property": Place(
        "G{n} = WithCached({v})",
        "G{n}.k",
        "",
        ("G{n}._k = {v}; vars(G{n}).pop('k', 0)",),
    ),
    "dunder_getattr": Place(
        "G{n} = WithGetattr({v})",
        "G{n}.k",
        "G{n}.table['k'] = {v}",
        ("G{n}.table['k'] = {v}",),
    ),
    "dunder_getitem": Place(
        "G{n} = WithGetitem({v})", "G{n}[0]", "G{n}[0] = {v}", ("G{n}[0] = {v}",)
    ),
    "dunder_call": Place("G{n} = WithCall({v})", "G{n}()", "", ("G{n}.k = {v}",)),
    "descriptor": Place(
        "class C{n}:\n    k = Descriptor({v})\nG{n} = C{n}()",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}", "vars(C{n})['k'].value = {v}"),
    ),
    "bound_method": Place(
        "G{n} = WithCall({v})\nh{n} = G{n}.__call__", "h{n}()", "", ("G{n}.k = {v}",)
    ),
    "static_method": Place(
        "G{n} = {v}\nclass C{n}:\n    @staticmethod\n    def get():\n"
        "        return G{n}",
        "C{n}.get()",
        "",
        ("G{n} = {v}",),
    ),
    "class_method": Place(
        "class C{n}:\n    k = {v}\n    @classmethod\n    def get(cls):\n"
        "        return cls.k",
        "C{n}.get()",
        "C{n}.k = {v}",
        ("C{n}.k = {v}",),
    ),
    "thread_local": Place(
        "G{n} = threading.local()\nG{n}.k = {v}",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}",),
    ),
    "argument": Place(
        "A{n} = {v}", "a{n}", "", ("A{n} = {v}",), parameter="a{n}", argument="A{n}"
    ),
    "keyword": Place(
        "A{n} = {v}",
        "a{n}",
        "",
        ("A{n} = {v}",),
        parameter="a{n}",
        argument="a{n}=A{n}",
    ),
    "own_default": Place(
        "A{n} = {v}",
        "a{n}",
        "",
        ("A{n} = {v}",),
        parameter="a{n}={v}",
        argument="?A{n}",
    ),
    "passed_list": _passed("A{n} = [{v}, 1.0]", "[0]"),
    "passed_dict": _passed("A{n} = {{'a': {v}, 'b': 1.0}}", "['a']"),
    "passed_ordered": _passed("A{n} = collections.OrderedDict(a={v})", "['a']"),
    "passed_default": _passed("A{n} = collections.defaultdict(int, a={v})", "['a']"),
    "passed_counter": _passed(
        "A{n} = collections.Counter(a={v})", "['a']", holds="number"
    ),
    "passed_deque": _passed("A{n} = collections.deque([{v}])", "[0]"),
    "passed_object": _passed("A{n} = Box({v})", ".k"),
    "passed_slots": _passed("A{n} = Slots({v})", ".k"),
    "passed_dataclass": _passed("A{n} = Data({v})", ".k"),
    "passed_struct": _passed("A{n} = Struct({v})", ".k"),
    "passed_numpy": _passed("A{n} = np.array([{v}, 1.0])", "[0]", holds="float"),
    "passed_bytes": _passed("A{n} = bytearray([{v}, 1])", "[0]", holds="byte"),
    "passed_function": Place(
        "def h{n}():\n    return h{n}.k\nh{n}.k = {v}",
        "a{n}()",
        "h{n}.k = {v}",
        ("h{n}.k = {v}",),
        parameter="a{n}",
        argument="h{n}",
    ),
    "passed_tuple": Place(
        "A{n} = {v}",
        "a{n}[1]",
        "",
        ("A{n} = {v}",),
        parameter="a{n}",
        argument="(1.0, A{n})",
    ),
    "star": Place(
        "A{n} = {v}",
        "a{n}[0]",
        "",
        ("A{n} = {v}",),
        parameter="*a{n}",
        argument="*[A{n}]",
    ),
    "double_star": Place(
        "A{n} = {v}",
        "a{n}['b']",
        "",
        ("A{n} = {v}",),
        parameter="**a{n}",
        argument="**{{'b': A{n}}}",
    ),
    # Where a C callable finds what is read. Arrays are seen all the same.
    "computed_name": Place(
        "G{n} = Box({v})",
        "getattr(G{n}, 'K'.lower())",
        "setattr(G{n}, 'K'.lower(), {v})",
        ("G{n}.k = {v}",),
        unknown=True,
    ),
    "computed_global": Place(
        "G{n} = {v}",
        "globals()['g{n}'.upper()]",
        "globals()['g{n}'.upper()] = {v}",
        ("G{n} = {v}",),
        unknown=True,
    ),
    # Names that are texts.
    "getattr": Place(
        "G{n} = Box({v})",
        "getattr(G{n}, 'k')",
        "setattr(G{n}, 'k', {v})",
        ("G{n}.k = {v}",),
    ),
    "globals": Place(
        "G{n} = {v}",
        "globals()['G{n}']",
        "globals()['G{n}'] = {v}",
        ("G{n} = {v}",),
    ),
    "vars": Place(
        "G{n} = Box({v})",
        "vars(G{n})['k']",
        "vars(G{n})['k'] = {v}",
        ("G{n}.k = {v}",),
    ),
    "attributes": Place(
        "G{n} = Box({v})",
        "[*G{n}.__dict__.values()][0]",
        "G{n}.__dict__.update(k={v})",
        ("G{n}.k = {v}",),
    ),
    "attrgetter": Place(
        "G{n} = Box({v})",
        "operator.attrgetter('k')(G{n})",
        "",
        ("G{n}.k = {v}",),
    ),
    "weak": Place(
        "G{n} = Box({v})\nW{n} = WeakBox(weakref.ref(G{n}))",
        "W{n}.get().k",
        "W{n}.get().k = {v}",
        ("G{n}.k = {v}",),
    ),
    "iterator": Place("G{n} = [{v}, 1.0]", "next(iter(G{n}))", "", ("G{n}[0] = {v}",)),
    # Containers that lead to others, and what they have as keys and elements.
    "proxy": Place(
        "C{n} = {{'a': {v}}}\nG{n} = types.MappingProxyType(C{n})",
        "G{n}['a']",
        "C{n}['a'] = {v}",
        ("C{n}['a'] = {v}",),
    ),
    "view": Place(
        "C{n} = {{'a': {v}}}\nG{n} = C{n}.values()",
        "[*G{n}][0]",
        "C{n}['a'] = {v}",
        ("C{n}['a'] = {v}",),
    ),
    "user_dict": Place(
        "G{n} = collections.UserDict(a={v})",
        "G{n}['a']",
        "G{n}['a'] = {v}",
        ("G{n}['a'] = {v}",),
    ),
    "chain_map": Place(
        "C{n} = {{'a': {v}}}\nG{n} = collections.ChainMap({{}}, C{n})",
        "G{n}['a']",
        "C{n}['a'] = {v}",
        ("C{n}['a'] = {v}", "G{n}['a'] = {v}"),
    ),
    "arguments": Place(
        "G{n} = argparse.Namespace(k={v})",
        "G{n}.k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}",),
    ),
    "key": Place(
        "G{n} = Box({v})\nC{n} = {{G{n}: 1.0}}",
        "[*C{n}][0].k",
        "G{n}.k = {v}",
        ("G{n}.k = {v}",),
    ),
    "element": Place(
        "G{n} = Box({v})\nC{n} = {{G{n}}}",
        "[*C{n}][0].k",
        "[*C{n}][0].k = {v}",
        ("G{n}.k = {v}",),
    ),
    "array_of_objects": Place(
        "G{n} = Box({v})\nC{n} = np.array([G{n}, None])",
        "C{n}[0].k",
        "C{n}[0].k = {v}",
        ("G{n}.k = {v}",),
    ),
    "named_tuple": Place(
        "P{n} = collections.namedtuple('P{n}', 'a k')\nG{n} = P{n}(1.0, {v})",
        "G{n}.k",
        "",
        ("G{n} = P{n}(1.0, {v})", "G{n} = G{n}._replace(k={v})"),
    ),
    "metaclass": Place(
        "class M{n}(type):\n    k = {v}\nclass G{n}(metaclass=M{n}):\n    pass",
        "G{n}.k",
        "M{n}.k = {v}",
        ("M{n}.k = {v}",),
    ),
    "any_attribute": Place(
        "class C{n}:\n    def __init__(self, v):\n        self.named = v\n"
        "    def __getattr__(self, name):\n"
        "        return vars(self)['N{n}'[:1].lower() + 'amed']\nG{n} = C{n}({v})",
        "G{n}.k",
        "G{n}.named = {v}",
        ("G{n}.named = {v}",),
    ),
}

# Values that follow each other between calls; some differ in type or sign only.
NUMBERS = {
    "value": (("2.0", "3.0", "5.0"), ("2", "3", "4"), ("1.5", "2.0", "-1.0")),
    "type": (("1", "True", "1.0"), ("0", "False", "0.0"), ("2", "2.0", "2")),
    "zero": (("0.0", "-0.0", "0.0"),),
    "float": (("2.0", "3.0", "5.0"),),
    "byte": (("2", "3", "5"),),
}

# What is done with a number. 'W(...)' stands for writing.
NUMBER_ACTIONS = {
    "use": "y = y + {r} * 2",
    "scale": "y = y * {r}",
    "typed": "notes.append(dr.arange(UInt, 2) * {r})",
    "describe": "notes.append({r})",
    "text": "notes.append(str({r}))",
    "branch": "if {r}:\n    y = y + 1\nelse:\n    y = y * 2",
    "range": "for _ in range(int({r})):\n    y = y + 2",
    "lookup": "y = y + {{1: 2.0, 2: 3.0, 3: 4.0}}.get({r}, 5.0)",
    "comprehension": "y = y + sum([{r} for _ in range(2)])",
    "inner": "def inner(z):\n    return z * {r}\ny = inner(y)",
    "lambda": "y = (lambda z: z + {r})(y)",
    "raise": "if {r} > 2:\n    raise ValueError('found ' + repr({r}))",
    "caught": "try:\n    if {r} > 2:\n        raise ValueError('found ' + repr({r}))\n"
    "    y = y + 1\nexcept ValueError as error:\n    notes.append(str(error))",
    "finally": "try:\n    if {r} > 2:\n        raise KeyError({r})\nfinally:\n    W(0)",
    "count": "W({r} + 1)",
    "count_used": "W({r} + 1)\ny = y + {r}",
    "set": "y = y + {r}\nW(4)",
    "toggle": "y = y + {r}\nW(1 - {r})",
    "same": "W({r})",
}

# Kinds of arrays: how they are made, and what makes an operand for y of one.
ARRAYS = {
    "literal": (("{T}(2)", "{T}(3)", "dr.full({T}, 2, {N})", "{T}(1)"), "{r}"),
    "memory": (
        ("dr.opaque({T}, 2)", "dr.opaque({T}, 3, {N})", "{T}([1, 2, 3, 4][:{N}])"),
        "{r}",
    ),
    "unevaluated": (
        ("dr.opaque({T}, 2) + 1", "dr.arange({T}, {N}) + 1", "dr.opaque({T}, 3) * 2"),
        "{r}",
    ),
    "mixed": (
        ("{T}(2)", "dr.opaque({T}, 3)", "dr.opaque({T}, 2) + 1", "dr.arange({T}, {N})"),
        "{r}",
    ),
    "uint": (("UInt(2)", "dr.opaque(UInt, 3)", "dr.arange(UInt, {N})"), "{T}({r})"),
    "vector": (
        ("{V}(1, 2, 3)", "{V}(dr.opaque({T}, 1), 2, 3)", "{V}(dr.opaque({T}, 4))"),
        "({r}.x * 2 + {r}.z)",
    ),
    "tensor": (
        ("{X}([1, 2, 3, 4], (2, 2))", "dr.full({X}, 2, (1, 3))", "{X}([5], (1,))"),
        "dr.sum({r}, axis=None).array",
    ),
    "none": (("None", "dr.opaque({T}, 2)", "{T}(3)", "None"), "{r}"),
}

# What is done with an array: of any kind, of those like y, and where None can stand.
ARRAY_ACTIONS = {
    "use": "y = y * {u} + 1",
    "give": "notes.append({r})",
    "give_twice": "notes += [{r}, {r}]",
    "replace": "y = y + {u}\nW({r} + 1)",
    "in_place": "t = {r}\nt += 1\ny = y + {u}",
    "width": "y = y + dr.width({r})",
    "given_away": "notes.append(Box({r}).k)",
    "inner": "def inner(z):\n    return z * {u}\ny = inner(y)",
    "shallow": "notes.append([{r}])",
}
FLOAT_ACTIONS = {
    "accumulate": "W({r} + dr.sum(y))",
    "keep": "W(y)",
    "keep_used": "y = y + {u}\nW(y)",
    "keep_input": "y = y + {u}\nW(x)",
    "augment": "{r} += 1",
    "scatter": "dr.scatter({r}, {T}(7), UInt(0))\ny = y + {u}",
    "scatter_add": "dr.scatter_add({r}, {T}(1), UInt(0))\ny = y + {u}",
    "select": "y = dr.select({u} > 2, y, y + {u})",
    "identity": "y = y * {u}",
    "swap": "t = {r}\nW(x)\ny = t + 0",
    "input_changed": "x += {u}",
}
NONE_ACTIONS = {
    "fill": "if {r} is None:\n    W(dr.arange({T}, 1) + 5)\ny = y * {u}",
    "fill_of_input": "if {r} is None:\n    W(dr.sum(x) + 1)\ny = y * {u}",
    "unless_none": "if {r} is not None:\n    y = y * {u}\nelse:\n    y = y + 1",
    "turn": "if {r} is not None:\n    W(None)\nelse:\n    W({T}(2))",
}
GRAD_ACTIONS = {
    "enable": "dr.enable_grad({r})\ny = y * {u}",
    "disable": "y = y * {u}\ndr.disable_grad({r})",
    "detach": "y = y * dr.detach({u})",
    "backward": "dr.enable_grad({r})\ndr.backward(dr.sum({u} * {u}))",
    "backward_kept": "z = y * {u}\nif dr.grad_enabled(z):\n    dr.backward(dr.sum(z))",
    "suspend": "with dr.suspend_grad():\n    y = y * {u}",
    "suspend_one": "with dr.suspend_grad({r}):\n    y = y * {u}",
    "resume": "with dr.suspend_grad():\n    with dr.resume_grad():\n"
    "        y = y * {u}",
    "isolate": "with dr.isolate_grad():\n    z = y * {u}\n    if dr.grad_enabled(z):\n"
    "        dr.backward(dr.sum(z))",
    "gradient": "y = y + dr.grad({r})",
    "set_gradient": "dr.enable_grad({r})\ndr.set_grad({r}, 2)",
    "add_gradient": "dr.enable_grad({r})\ndr.accum_grad({r}, 2)",
    "clear_gradient": "dr.clear_grad({r})\ny = y * {u}",
    "new_leaf": "W({T}({r}))\ndr.enable_grad({r})\ndr.backward(dr.sum({u} * 2))",
    "tracked_result": "W({r} * 2)\ny = y * {u}",
    "enabled": "notes.append(dr.grad_enabled({r}))",
    "forward": "z = {T}(2)\ndr.enable_grad(z)\nw = z * {u}\ndr.forward(z)\n"
    "y = y + dr.grad(w)",
}
GRAD_OUTSIDE = (
    "dr.enable_grad({r})",
    "dr.disable_grad({r})",
    "dr.set_grad({r}, 3)",
    "dr.clear_grad({r})",
)
ARRAY_OUTSIDE = (
    "t = {r}; t += 1; del t",
    "dr.scatter({r}, {T}(9), UInt(0))",
    "dr.make_opaque({r})",
    "X = {r}",
)

PROLOGUE = """\
import argparse
import collections
import contextlib
import copy
import dataclasses
import functools
import json
import operator
import os
import sys
import threading
import types
import weakref

import drjit as dr
import numpy as np
from drjit.llvm{ad} import {types}
"""

# Classes that places use, by name; the rest of what they need is in their setup.
CLASSES = {
    "same": "def same(k):\n    return k",
    "Box": "class Box:\n    def __init__(self, k):\n        self.k = k",
    "Slots": "class Slots:\n    __slots__ = ('k',)\n    def __init__(self, k):\n"
    "        self.k = k",
    "Data": "@dataclasses.dataclass\nclass Data:\n    k: object",
    "Fixed": "@dataclasses.dataclass(frozen=True)\nclass Fixed:\n    k: object",
    "Struct": "class Struct:\n    DRJIT_STRUCT = {'k': object}\n"
    "    def __init__(self, k=None):\n        self.k = k",
    "WithProperty": "class WithProperty:\n    def __init__(self, k):\n"
    "        self._k = k\n    @property\n    def k(self):\n        return self._k\n"
    "    @k.setter\n    def k(self, v):\n        self._k = v",
    "WithCached": "class WithCached:\n    def __init__(self, k):\n        self._k = k\n"
    "    @functools.cached_property\n    def k(self):\n        return self._k",
    "WithGetattr": "class WithGetattr:\n    def __init__(self, k):\n"
    "        self.table = {'k': k}\n    def __getattr__(self, name):\n"
    "        if name == 'table':\n            raise AttributeError(name)\n"
    "        return self.table[name]",
    "WithGetitem": "class WithGetitem:\n    def __init__(self, k):\n"
    "        self.values = [k]\n    def __getitem__(self, i):\n"
    "        return self.values[i]\n    def __setitem__(self, i, v):\n"
    "        self.values[i] = v",
    "WithCall": "class WithCall:\n    def __init__(self, k):\n        self.k = k\n"
    "    def __call__(self):\n        return self.k",
    "Descriptor": "class Descriptor:\n    def __init__(self, value):\n"
    "        self.value = value\n    def __get__(self, instance, owner):\n"
    "        return self.value\n    def __set__(self, instance, value):\n"
    "        self.value = value",
    "WeakBox": "class WeakBox:\n    def __init__(self, get):\n        self.get = get",
}
