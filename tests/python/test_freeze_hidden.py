"""What a frozen function reads by other ways than a name in its code: texts, patterns,
imports, builtins, keys and elements, views, attributes of threads, classes of classes,
environment variables. Each is compared, or said to be uncertain."""

from __future__ import annotations

from typing import Any

import drjit as dr
import pytest
from state_worlds import World, compare

HEAD = """\
import abc, argparse, ast, builtins, collections, contextlib, decimal, enum, fractions
import functools, gc, inspect, io, itertools, json, logging, operator, os, queue, random
import statistics, string, sys, sysconfig, threading, types, typing, weakref
import drjit as dr
import numpy as np
from drjit.llvm.ad import Float64, UInt

class Box:
    K = 2.0

    def __init__(self, k=2.0):
        self.k = k

def one():
    return dr.opaque(Float64, 1, 3)

G = Box()
@freeze
def f(x):
    return x * (VALUE)

call(lambda: f(one()))
CHANGE
call(lambda: f(one()))
"""

# What is read, how it changes, and lines at the top.
KNOWN = {
    "text": ("getattr(G, 'k')", "G.k = 3.0", ""),
    "getter": ("operator.attrgetter('k')(G)", "G.k = 3.0", ""),
    "entry of globals": ("globals()['G'].k", "G = Box(3.0)", ""),
    "format": ("float('{0.k}'.format(G))", "G.k = 3.0", ""),
    "all attributes": ("sum(vars(G).values())", "G.k = 3.0", ""),
    "slot that is not there": (
        "getattr(S, 'k', 9.0)",
        "S.k = 3.0",
        "class Slots:\n    __slots__ = ('k',)\nS = Slots()",
    ),
    "any attribute": (
        "A.anything",
        "A.k = 3.0",
        "class Any(Box):\n    def __getattr__(self, name):\n"
        "        return vars(self)['K'.lower()]\nA = Any()",
    ),
    "module in a function": (
        "imported()",
        "sys.modules['state_hidden'].k = 3.0",
        "sys.modules['state_hidden'] = types.ModuleType('state_hidden')\n"
        "sys.modules['state_hidden'].k = 2.0\n"
        "def imported():\n    import state_hidden\n    return state_hidden.k",
    ),
    "builtin": ("hidden_k", "builtins.hidden_k = 3.0", "builtins.hidden_k = 2.0"),
    "environment": (
        "float(os.environ['HIDDEN_K'])",
        "os.environ['HIDDEN_K'] = '3'",
        "os.environ['HIDDEN_K'] = '2'",
    ),
    "variable of the environment": (
        "float(os.getenv('HIDDEN_K'))",
        "os.environ['HIDDEN_K'] = '3'",
        "os.environ['HIDDEN_K'] = '2'",
    ),
    "arguments": ("N.k", "N.k = 3.0", "N = argparse.Namespace(k=2.0)"),
    "thread": ("T.k", "T.k = 3.0", "T = threading.local()\nT.k = 2.0"),
    "key": ("[*D][0].k", "G.k = 3.0", "D = {}\ndef fill():\n    D[G] = 1"),
    "element": ("[*D][0].k", "G.k = 3.0", "D = set()\ndef fill():\n    D.add(G)"),
    "proxy": (
        "P['a']",
        "D['a'] = 3.0",
        "D = {'a': 2.0}\nP = types.MappingProxyType(D)",
    ),
    "view": ("sum(P)", "D['a'] = 3.0", "D = {'a': 2.0}\nP = D.values()"),
    "user's dictionary": ("D['a']", "D['a'] = 3.0", "D = collections.UserDict(a=2.0)"),
    "objects": ("D[0].k", "D[0].k = 3.0", "D = np.array([Box(), None])"),
    "metaclass": (
        "C.k",
        "M.k = 3.0",
        "class M(type):\n    k = 2.0\nclass C(metaclass=M):\n    pass",
    ),
    "bases": (
        "C.k",
        "C.__bases__ = (B,)",
        "class A:\n    k = 2.0\nclass B(A):\n    k = 3.0\nclass C(A):\n    pass",
    ),
    "shadowed method": (
        "B().get()",
        "K = 3.0",
        "K = 2.0\nclass A:\n    def get(self):\n        return K\n"
        "class B(A):\n    def get(self):\n        return super().get()",
    ),
    "cell of a shadowed method": (
        "B().get()",
        "put(3.0)",
        "def scope(k):\n    class A:\n        def get(self):\n"
        "            return k\n    class B(A):\n        def get(self):\n"
        "            return super().get()\n    def put(v):\n"
        "        nonlocal k\n        k = v\n    return B, put\nB, put = scope(2.0)",
    ),
    "enumerator": (
        "E.A.k",
        "E.A.k = 3.0",
        "class E(enum.Enum):\n    A = 1\nE.A.k = 2.0",
    ),
    "dispatched": (
        "h(2.0)",
        "h.register(float, lambda k: 3.0)",
        "h = functools.singledispatch(lambda k: k)",
    ),
    "one of several bases": (
        "C().k",
        "C.__bases__ = (B,)",
        "class A:\n    k = 2.0\nclass B(A):\n    pass\nclass M(A):\n    k = 5.0\n"
        "class C(B, M):\n    pass",
    ),
    "getter made elsewhere": (
        "GET(G)",
        "G.k = 3.0",
        "GET = operator.attrgetter('k')",
    ),
    "caller made elsewhere": (
        "CALL(A)",
        "A.hidden = 3.0",
        "class C(Box):\n    def get(self, n):\n        return self.hidden * n\n"
        "A = C()\nA.hidden = 2.0\nCALL = operator.methodcaller('get', n=2)",
    ),
    "format made elsewhere": ("float(F.format(G))", "G.k = 3.0", "F = '{0.k}'"),
    "defaults of a named tuple": (
        "P().k",
        "P.__new__.__defaults__ = (3.0,)",
        "class P(typing.NamedTuple):\n    k: float = 2.0",
    ),
    "registered class": (
        "2.0 if isinstance(G, A) else 5.0",
        "A.register(Box)",
        "class A(abc.ABC):\n    pass",
    ),
    "methods for types": (
        "A.get(2)",
        "vars(C)['get'].register(int, lambda self, n: n * 3)",
        "class C:\n    @functools.singledispatchmethod\n    def get(self, n):\n"
        "        return n\nA = C()",
    ),
    "method with arguments": (
        "A.two()",
        "vars(C)['two'].keywords['n'] = 3.0",
        "class C:\n    def get(self, n):\n        return n\n"
        "    two = functools.partialmethod(get, n=2.0)\nA = C()",
    ),
    "context": (
        "opened()",
        "A.enter_result = 3.0",
        "A = contextlib.nullcontext(2.0)\ndef opened():\n    with A as k:\n"
        "        return k",
    ),
    "object that decorates": (
        "decorated()",
        "A.hidden = 3.0",
        "class C(contextlib.ContextDecorator):\n    def __enter__(self):\n"
        "        S.append(self.hidden)\n    def __exit__(self, *error):\n"
        "        S.pop()\nA, S = C(), [1.0]\nA.hidden = 2.0\n@A\n"
        "def decorated():\n    return S[-1]",
    ),
    "template": (
        "float(A.substitute(n=2))",
        "A.template = '3$n'",
        "A = string.Template('$n')",
    ),
    "distribution": (
        "A.mean",
        "A._mu = 3.0",
        "A = statistics.NormalDist(2.0, 1.0)",
    ),
    "value in an object of a library": (
        "2.0 if A.indentation() else 5.0",
        "A.width = 3",
        "import textwrap\nclass Wrapper(textwrap.TextWrapper):\n"
        "    def indentation(self):\n        return len(self.wrap('a b c d')) > 1\n"
        "A = Wrapper()",
    ),
    "attribute of a module by its function": (
        "M.anything",
        "M.__getattr__ = lambda name: 3.0",
        "M = types.ModuleType('other')\nM.__getattr__ = lambda name: 2.0",
    ),
    "property of a module": (
        "M.anything",
        "C.anything = 3.0",
        "class C(types.ModuleType):\n    anything = property(lambda self: 2.0)\n"
        "M = C('other')",
    ),
    "object of super()": (
        "S.get()",
        "A.hidden = 3.0",
        "class C(Box):\n    def get(self):\n        return self.hidden\n"
        "class D(C):\n    pass\nA = D()\nA.hidden = 2.0\nS = super(D, A)",
    ),
    "cell": ("C.cell_contents", "C.cell_contents = 3.0", "C = types.CellType(2.0)"),
    "annotations": (
        "len(C.__annotations__)",
        "C.__annotations__['b'] = int",
        "class C:\n    a: float",
    ),
    "name of a function": (
        "len(get.__name__)",
        "get.__name__ = 'another'",
        "def get():\n    pass",
    ),
    "attribute of a partial function": (
        "P.k",
        "P.k = 3.0",
        "P = functools.partial(len)\nP.k = 2.0",
    ),
    "arguments of an exception": (
        "float(str(E))",
        "E.args = (3.0,)",
        "E = ValueError(2.0)",
    ),
    "namespaces that are equal": (
        "2.0 if A == B else 5.0",
        "A.any = 3",
        "A, B = types.SimpleNamespace(any=1), types.SimpleNamespace(any=1)",
    ),
    "computed format": (
        "float(('{0.' + 'K'.lower() + '}').format(G))",
        "G.k = 3.0",
        "",
    ),
    "long format": (
        "float(('{0.k}' + ' ' * 200).format(G))",
        "G.k = 3.0",
        "",
    ),
    "long format made elsewhere": (
        "float(F.format(G, 0))",
        "G.k = 3.0",
        "F = '{0.k:{1}}' + ' ' * 200",
    ),
    "computed attribute": ("G.__getattribute__('K'.lower())", "G.k = 3.0", ""),
    "protocol": (
        "2.0 if isinstance(G, P) else 5.0",
        "Box.named = 3.0",
        "@typing.runtime_checkable\nclass P(typing.Protocol):\n    def named(self):\n"
        "        pass",
    ),
    "code in two namespaces": (
        "GETS[0]() + GETS[1]()",
        "SPACES[1]['hidden_k'] = 5.0",
        "SPACES = [{'hidden_k': 2.0}, {'hidden_k': 3.0}]\n"
        "GETS = [types.FunctionType((lambda: hidden_k).__code__, s) for s in SPACES]",
    ),
    "order in memory": (
        "float(N.strides[0])",
        "N = np.asfortranarray(N)",
        "N = np.zeros((2, 3))",
    ),
    "read-only array": (
        "2.0 if N.flags.writeable else 5.0",
        "N.flags.writeable = False",
        "N = np.zeros(3)",
    ),
    "constructor": (
        "C().k",
        "C.__init__ = lambda self: setattr(self, 'k', 3.0)",
        "class C:\n    def __init__(self):\n        self.k = 2.0",
    ),
    "constructor that comes": (
        "C().k",
        "C.__init__ = lambda self: setattr(self, 'k', 3.0)",
        "class C:\n    k = 2.0",
    ),
    "constructor of a base that comes": (
        "C().k",
        "B.__new__ = staticmethod(made)",
        "class B:\n    k = 2.0\nclass C(B):\n    pass\ndef made(cls):\n"
        "    own = object.__new__(cls)\n    own.k = 3.0\n    return own",
    ),
    "special method that is an object": (
        "len(A)",
        "C.__len__ = Length(3)",
        "class Length(Box):\n    def __call__(self):\n        return self.k\n"
        "class C:\n    __len__ = Length(2)\nA = C()",
    ),
    "special method that is one of Python": (
        "len(A)",
        "C.__len__ = list.__len__",
        "class C(list):\n    __len__ = lambda self: 5\nA = C([1, 2])",
    ),
    "cell of a constructor": (
        "C().k",
        "put(3.0)",
        "def scope(k):\n    class C:\n        def __init__(self):\n"
        "            self.k = k\n    def put(v):\n"
        "        nonlocal k\n        k = v\n    return C, put\nC, put = scope(2.0)",
    ),
    "object that a constructor has in a cell": (
        "C().k",
        "G.k = 3.0",
        "def scope(g):\n    class C:\n        def __init__(self):\n"
        "            self.k = g.k\n    return C\ndef fill():\n"
        "    globals()['C'] = scope(G)",
    ),
    "annotations of a function": (
        "len(get.__annotations__)",
        "get.__annotations__['b'] = int",
        "def get(a: int):\n    pass",
    ),
    "class derived from partial": (
        "P()",
        "P = C(same, 3.0)",
        "class C(functools.partial):\n    pass\ndef same(k):\n    return k\n"
        "P = C(same, 2.0)",
    ),
    "base by its place": (
        "A.get()",
        "B.get = lambda self: 3.0",
        "class B:\n    def get(self):\n        return 2.0\nclass C(B):\n"
        "    def get(self):\n        return type(self).__mro__[1].get(self)\nA = C()",
    ),
    "array within objects": (
        "float(N[0][0])",
        "N[0][0] = 3.0",
        "N = np.empty(1, dtype=object)\ndef fill():\n    N[0] = np.array([2.0])",
    ),
    "set within objects": (
        "sum(N[0])",
        "N[0].add(3.0)",
        "N = np.empty(1, dtype=object)\ndef fill():\n    N[0] = {2.0}",
    ),
    "weak reference": (
        "W().k",
        "G.k = 3.0",
        "W = 0\ndef fill():\n    globals()['W'] = weakref.ref(G)",
    ),
    "weak reference to an array": (
        "float(W()[0])",
        "N[0] = 3.0",
        "N = np.array([2.0])\nW = weakref.ref(N)",
    ),
    "weak reference to what goes": (
        "2.0 if W() is None else 5.0",
        "del N\ngc.collect()",
        "class Set(set):\n    pass\nN = Set()\nW = weakref.ref(N)",
    ),
    "method that a library calls": (
        "len(json.dumps(G, cls=C))",
        "C.default = lambda self, value: 'abcd'",
        "class C(json.JSONEncoder):\n    def default(self, value):\n        return 'a'",
    ),
    "attribute that a library reads": (
        "len(json.dumps([1, 2], cls=C))",
        "C.item_separator = ',,,'",
        "class C(json.JSONEncoder):\n    item_separator = ','",
    ),
    "object that one of a library has": (
        "len(A.format(logging.makeLogRecord({'msg': 'a'})))",
        "A._style._fmt = '%(message)s!!'",
        "A = logging.Formatter('%(message)s')",
    ),
    "method that a library calls, and comes": (
        "len(json.dumps(None if A else 1, cls=C))",
        "C.encode = lambda self, value: 'abcdefg'",
        "A = 0\nclass C(json.JSONEncoder):\n    pass",
    ),
    "method that a library finds by a computed name": (
        "visited(C())",
        "C.visit_Name = lambda self, node: setattr(self, 'k', 3.0)",
        "class C(ast.NodeVisitor):\n    def visit_Name(self, node):\n"
        "        self.k = 2.0\ndef visited(c):\n"
        "    c.visit(ast.parse('a'))\n    return c.k",
    ),
    "member of an enumeration that is missing": (
        "E(7).value",
        "E._missing_ = classmethod(lambda cls, value: E.B)",
        "class E(enum.Enum):\n    A, B = 2, 3\n    @classmethod\n"
        "    def _missing_(cls, value):\n        return cls.A",
    ),
    "name that takes another's place": (
        "2.0 if A else 5.0",
        "del C.other\nC.__bool__ = lambda self: False",
        "class C:\n    other = 1\nA = C()",
    ),
    "weak reference to data": (
        "W().k",
        "A.k = 3.0",
        "class Data:\n    DRJIT_STRUCT = {'k': float}\n    k = 2.0\nA = Data()\n"
        "W = weakref.ref(A)",
    ),
}

# What nobody sees, and what is said of it.
UNKNOWN = {
    "random numbers": ("random.randint(1, 99)", "random.randint()"),
    "their object": ("random.Random(3).random()", "random."),
    "NumPy's": ("float(np.random.random())", "numpy.random"),
    "queue": ("Q.get()", "queue."),
    "computed name": ("getattr(G, 'K'.lower())", "builtins.getattr()"),
    "cache": ("cached()", "keeps results"),
    "iterator": ("first(I)", "'I' is an iterator"),
    "lines": ("float(first(LINES))", "'LINES' is an iterator"),
    "context of decimals": ("float(decimal.Decimal(1) / 3)", "decimal.getcontext()"),
    "level of a log": ("2 if LOG.isEnabledFor(10) else 5", "logging.isEnabledFor()"),
    "thread": ("len(threading.current_thread().name)", "threading.current_thread()"),
    "setting": ("float(dr.thread_count())", "drjit.thread_count()"),
    "NumPy's objects": ("float(POLY(2))", "numpy.poly1d"),
    "NumPy's settings": ("len(np.geterr())", ".geterr()"),
    "NumPy's texts": ("len(str(np.zeros(2)))", "numpy._core.arrayprint"),
    "getter": ("operator.attrgetter('K'.lower())(G)", "names attrgetter"),
    "entry of a class": ("Box.__dict__['K'.upper()]", "names __dict__"),
    "globals of a function": ("first.__globals__['G'].k", "names __globals__"),
    "attribute of a class": (
        "type.__getattribute__(Box, 'K'.upper())",
        "names __getattribute__",
    ),
    "function in C for code": (
        "functools.reduce(getattr, ['K'.lower()], G)",
        "builtins.getattr()",
    ),
    "formatter": (
        "float(string.Formatter().format('{0.' + 'K'.lower() + '}', G))",
        "string.format()",
    ),
    "environment in a text": (
        "len(os.path.expandvars('$HOME'))",
        "posixpath.expandvars()",
    ),
    "attribute by its name": (
        "inspect.getattr_static(G, 'K'.lower())",
        "inspect.getattr_static()",
    ),
    "code of another thread": ("in_thread()", "threading.start()"),
    "module of the standard library": ("len(sysconfig.get_paths())", "sysconfig."),
}
STORES = """\
Q = queue.Queue()
Q.put(2.0)
Q.put(2.0)
cached = functools.lru_cache(lambda: 2.0)
I = itertools.count(2.0)
LINES = io.StringIO("2\\n3\\n")
LOG = logging.getLogger("state_hidden")
POLY = np.poly1d([1.0, 2.0])
def first(values):
    for value in values:
        return value
def in_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(2.0))
    thread.start()
    thread.join()
    return found[0]
"""


def program(value: str, change: str, top: str) -> str:
    fill = "fill()" if "def fill" in top else ""
    text = HEAD.replace("VALUE", value).replace("CHANGE", change)
    return text.replace("G = Box()\n", f"G = Box()\n{top}\n{fill}\n")


@pytest.mark.parametrize("way", KNOWN)
def test_what_is_read_is_compared(way: str) -> None:
    compare(program(*KNOWN[way]))


# Special methods: what calls one, and what it is where a class gets it.
SPECIAL = {
    "__add__": ("A + 1", "lambda self, other: 4.0"),
    "__radd__": ("1 + A", "lambda self, other: 4.0"),
    "__iadd__": ("added(A)", "lambda self, other: 4.0"),
    "__array__": ("float(np.asarray(A, dtype=float))", "lambda *any, **k: np.ones(())"),
    "__call__": ("2.0 if callable(A) else 5.0", "lambda self: 4.0"),
    "__contains__": ("2.0 if 3 in A else 5.0", "lambda self, k: True"),
    "__enter__": ("entered(A)", "lambda self: 4.0"),
    "__eq__": ("2.0 if A == C() else 5.0", "lambda self, other: True"),
    "__float__": ("float(A)", "lambda self: 4.0"),
    "__format__": ("len(f'{A}')", "lambda self, spec: 'abc'"),
    "__getattr__": ("A.anything", "lambda self, name: 4.0"),
    "__getitem__": ("A[0]", "lambda self, k: 4.0"),
    "__index__": ("[1.0, 2.0, 4.0][A]", "lambda self: 2"),
    "__iter__": ("sum(A)", "lambda self: iter([4.0])"),
    "__len__": ("2.0 if A else 5.0", "lambda self: 0"),
    "__lt__": ("2.0 if A < C() else 5.0", "lambda self, other: True"),
    "__neg__": ("-A", "lambda self: 4.0"),
    "__repr__": ("len(repr(A)[:9])", "lambda self: 'abc'"),
    "__reversed__": ("sum(reversed(A))", "lambda self: iter([4.0])"),
    "__set_name__": ("named(A)", "lambda self, cls, name: setattr(cls, 'k', 4.0)"),
    "__setattr__": ("attribute_set(A)", "lambda self, name, value: None"),
}
WITHOUT = """\
class C:
    pass

A = C()

def added(a):
    a += 1
    return a

def entered(a):
    with contextlib.ExitStack() as stack:
        return stack.enter_context(a)

def named(a):
    class D:
        k = 2.0
        part = a
    return D.k

def attribute_set(a):
    a = C()
    a.k = 3.0
    return vars(a).get("k", 5.0)

def tried(x):
    try:
        return x * (VALUE)
    except (AttributeError, TypeError):
        return x * 7
"""


@pytest.mark.parametrize("name", SPECIAL)
def test_special_methods_that_come(name: str) -> None:
    value, method = SPECIAL[name]
    top = WITHOUT.replace("VALUE", value)
    changes = f"call(lambda: f(one()))\nC.{name} = {method}"
    changes += f"\ncall(lambda: f(one()))\ndel C.{name}"
    compare(program("1", changes, top).replace("return x * (1)", "return tried(x)"))


@pytest.mark.parametrize("way", [way for way in KNOWN if way.startswith("weak ref")])
def test_what_references_refer_to_is_repeated(way: str) -> None:
    value, change, top = KNOWN[way]
    counts = compare(program(value, f"call(lambda: f(one()))\n{change}", top))
    assert counts["repeated"] >= 1


def test_other_attributes_of_a_class_do_not_count() -> None:
    changes = "".join(f"C.other{k} = {k}\ncall(lambda: f(one()))\n" for k in range(4))
    counts = compare(program("A.k", changes, "class C:\n    k = 2.0\nA = C()"))
    assert counts["repeated"] == 5


def test_the_label_of_an_array() -> None:
    compare(
        program("len(x.label or '')", "", "").replace(
            "call(lambda: f(one()))",
            "for name in ('a', 'a', 'abc'):\n    X = one()\n"
            "    dr.set_label(X, name)\n    call(lambda: f(X))",
        )
    )


@pytest.mark.parametrize("way", UNKNOWN)
def test_what_is_not_seen_is_said(way: str) -> None:
    value, said = UNKNOWN[way]
    world = World("frozen")
    try:
        world.run(program(value, "", STORES))
        text = world.functions[0].explain()
        assert "not certain: " in text and said in text
    finally:
        world.close()


def test_a_frozen_object_is_looked_into() -> None:
    """One that is a PyTree, too."""
    compare(
        HEAD.partition("@freeze")[0]
        + "class Model:\n    DRJIT_STRUCT = {'k': float, 'w': Float64}\n"
        "    def __init__(self):\n        self.k, self.w = 2.0, one()\n"
        "    def __call__(self, x):\n        self.w = self.w + x\n"
        "        return self.w * self.k\n"
        "model = Model()\nf = freeze(model)\n"
        "for model.k in (2.0, 3.0, 2.0): call(lambda: f(one()))\n"
    )


def test_results_of_a_cache_are_computed_again() -> None:
    compare(
        program(
            "h()", "h.cache_clear(); G.k = 3.0", "h = functools.lru_cache(get)"
        ).replace("G = Box()\n", "G = Box()\ndef get():\n    return G.k\n", 1)
    )


def test_calls_in_evaluated_loops() -> None:
    """They are not recorded there."""
    compare(
        HEAD.partition("@freeze")[0] + "@freeze\ndef f(x):\n    return x * G.k\n"
        "def loop(x):\n"
        "    return dr.while_loop(\n        (UInt(0), x), lambda i, y: i < 3,\n"
        "        lambda i, y: (i + 1, f(y)), mode='evaluated'\n    )[1]\n"
        "call(lambda: loop(one()))\nx = one()\ndr.enable_grad(x)\n"
        "y = call(lambda: loop(x))\ncall(lambda: f(one()))\n"
        "call(lambda: loop(one()))\n"
    )


def test_gradients_from_each_result() -> None:
    """A traversal from one leaves the way from the other open."""
    from drjit.llvm.ad import Float64

    for frozen in (False, True):

        def f(a: Float64) -> tuple[Float64, Float64]:
            return a * 2, a * 3

        a = Float64(1, 2)
        dr.enable_grad(a)
        u, v = (dr.freeze(f) if frozen else f)(a)
        dr.backward(u)
        dr.backward(v + a)
        assert dr.all(dr.grad(a) == 6)


@pytest.mark.parametrize("change", ["a.k = b.k", "b.k = one()", "a.k, b.k = b.k, a.k"])
def test_what_is_one_array_later(change: str) -> None:
    """The derivative in forward mode is recorded when it is wanted: of the call, or an
    error."""
    compare(
        HEAD.partition("@freeze")[0] + "a, b = Box(one() * 2), Box(one() * 5)\n"
        "@freeze\ndef f(x):\n    return x * a.k + x * b.k * b.k\n"
        "x = one()\ndr.enable_grad(x)\ny = f(x)\n" + change + "\n"
        "def forward():\n    dr.forward(x)\n    return dr.grad(y)\ncall(forward)\n"
    )


def test_the_derivative_of_an_operation_reads_globals() -> None:
    compare(
        HEAD.partition("@freeze")[0] + "K = 2.0\nclass Op(dr.CustomOp):\n"
        "    def eval(self, x):\n        return x * 2\n    def backward(self):\n"
        "        self.set_grad_in('x', self.grad_out() * K)\n"
        "    def name(self):\n        return 'op'\n"
        "@freeze\ndef f(x):\n    return dr.custom(Op, x)\n"
        "for K in (2.0, 3.0):\n    x = one()\n    dr.enable_grad(x)\n    y = f(x)\n"
        "    call(lambda: dr.backward(y))\n"
    )


def test_settings_that_a_function_leaves() -> None:
    levels = dr.LogLevel.Warn, dr.LogLevel.Error

    @dr.freeze
    def f(x: Any, level: bool) -> Any:
        if level:
            dr.set_log_level(levels[1])
        else:
            dr.set_flag(dr.JitFlag.Debug, True)
        return x + 1

    for level in (False, True) * 3:
        try:
            f(dr.opaque(dr.llvm.Float, 1, 3), level)
            assert dr.flag(dr.JitFlag.Debug) == (not level)
            assert (dr.log_level() == levels[1]) == level
        finally:
            dr.set_flag(dr.JitFlag.Debug, False)
            dr.set_log_level(levels[0])
    assert f.n_recordings == 0
    for level in levels[::-1]:  # it is what it was, and then not
        try:
            dr.set_log_level(level)
            f(dr.opaque(dr.llvm.Float, 1, 3), True)
            assert dr.log_level() == levels[1]
        finally:
            dr.set_log_level(levels[0])


def test_settings_that_a_function_sets_back() -> None:
    @dr.freeze
    def f(x: Any) -> Any:
        with dr.scoped_set_flag(dr.JitFlag.Debug, True):
            return x + 1

    for k in range(3):
        assert f(dr.opaque(dr.llvm.Float, k, 3))[0] == k + 1
    assert f.n_recordings == 1
