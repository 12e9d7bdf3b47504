#!/usr/bin/env python3
"""Compare the installed package 'drjit' with the entries of the API reference.

    api_coverage.py                    report, section by section
    api_coverage.py --missing          only what a section in scope lacks; exit status 1
                                       if there is anything
    api_coverage.py --update           add what exists to the baseline, which only grows
    api_coverage.py --extract FILE     write the list of entries anew from the text of
                                       the reference
    api_coverage.py --members FILE     write what the modules and classes below have
                                       in the package that is installed; with the
                                       published one: tools/api_published.txt
    api_coverage.py --published        compare with that list; exit status 1 if
                                       anything differs for no stated reason

The list, tools/api_reference.txt, holds names and signatures, one line for each
overload: ``section | kind | name | signature``. The baseline,
tools/api_baseline.txt, holds the names that existed at some time and
must not disappear. tools/api_published.txt has what the reference shows by name only:
every public member of the published package's (1.5.0) networks, optimisers, rays
through grids, hash grids and textures, as names, names of parameters and defaults.
tests/python/test_coverage.py watches all three.
"""

from __future__ import annotations

import argparse
import ast
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = ROOT / "tools/api_reference.txt"
BASELINE = ROOT / "tools/api_baseline.txt"
PUBLISHED = ROOT / "tools/api_published.txt"

# The sections, in their order, and whether the package is expected to have all entries.
SECTIONS = {
    "Array creation": True,
    "Control flow": True,
    "Scatter/gather operations": True,
    "Reductions": True,
    "Prefix reductions": True,
    "Block reductions": True,
    "Rearranging array contents": True,
    "Other operations on tensors": True,
    "Random number generation": True,
    "Mask operations": True,
    "Miscellaneous operations": True,
    "Just-in-time compilation": True,
    "Function freezing": True,
    "Type traits": True,
    "Array type tests": True,
    "Array properties (shape, type, etc.)": True,
    "Bit-level operations": True,
    "Standard mathematical functions": True,
    "Operations for vectors and matrices": True,
    "Operations for complex values and quaternions": True,
    "Transcendental functions": True,
    "Trigonometric functions": True,
    "Hyperbolic functions": True,
    "Exponentials, logarithms, power function": True,
    "Other": True,
    "Safe mathematical functions": True,
    "Automatic differentiation": True,
    "Constants": True,
    "Array base class": True,
    "Computation graph analysis": True,
    "Debugging": True,
    "Profiling": True,
    "Textures": True,
    "Low-level bits": True,
    "Typing": False,
    "Local memory": True,
    "Digital Differential Analyzer": True,
    "Optimizers": True,
    "Cooperative Vectors": True,
    "Neural Networks": True,
    "CUDA contexts": False,
    "CUDA / GL interoperability": False,
    "Beyond the reference": True,
}

# Entries of sections in scope that need something which comes later.
LATER: set[str] = set()

# What existing programs use although the reference does not show it.
BEYOND = """
    all_nested any_nested none_nested sum_nested prod_nested min_nested max_nested
    array_t mask_t scalar_t value_t leaf_t tensor_t matrix_t expr_t detached_t
    diff_array_t int_array_t uint_array_t float_array_t int8_array_t uint8_array_t
    int32_array_t uint32_array_t int64_array_t uint64_array_t float16_array_t
    float32_array_t float64_array_t reinterpret_array_t replace_type_t replace_shape_t
    binary_search clamp identity inverse opaque_width row_stack sqr square upsample
    median fmin fmax relative_grad flush_thread full_like load_frozen set_log_callback
    KernelRecordingMode
    inv_sqrt_four_pi ArrayT MaskT AnyArray KernelType
    scalar llvm llvm.ad auto auto.ad Instance func check_grad explain_grad ad
    ADFlag.CreateGraph
    wrap_ad interop interop.wrap interop.flatten interop.unflatten
    detail.collect_indices detail.can_scatter_reduce detail.reduce_identity
    detail.any_symbolic detail.clear_registry detail.remove_instance detail.reset
    detail.copy
"""

# Of these the published package's list has every member.
MODULES = "drjit.nn", "drjit.opt", "drjit.dda", "drjit.hashgrid"
TEXTURES = [f"Texture{n}f{kind}" for n in "123" for kind in ("", "16", "64", "8u")]
FAMILIES = "drjit.scalar", "drjit.llvm", "drjit.llvm.ad"

# What differs from that list, and why: names as patterns, what is said of them.
ALL_NAMED = "the parameters of HashEncoding are named, which *args and **kwargs take on"
DIFFERENT = {
    (r"drjit\.\w+\.(HashGrid|Permuto)Encoding\.__init__", what): ALL_NAMED
    for what in ("lacks *args", "lacks **kwargs")
}
DIFFERENT[
    r"drjit\.hashgrid\.\w+Encoding\.(ArrayX[iu]|U?Int32|StorageFloat(Xf)?)", ""
] = "types that its implementation uses; 'dtype' says the same"

CLASS = re.compile(r"class (drjit\.[\w.]+)(\(.*\))?$")
ENUM = re.compile(r"enum (drjit\.[\w.]+)\(")
MEMBER = re.compile(r"(\w+) = (\w+)\.\1$")
PROPERTY = re.compile(r"property (\w+)\b")
METHOD = re.compile(r"(\w+)(\(.*\))(?: (\S.*))?$")
FUNCTION = re.compile(r"(drjit\.[\w.]+)(\(.*\))(?: (\S.*))?$")
CONSTANT = re.compile(r"(drjit\.\w+)(: .+)?$")


@dataclass(frozen=True)
class Entry:
    """One overload of one name."""

    section: str
    kind: str
    name: str
    signature: str = ""

    def __str__(self) -> str:
        return f"{self.section} | {self.kind} | {self.name} | {self.signature}".rstrip()


@dataclass
class Parameter:
    """One parameter of a signature; 'default' is its text, or None."""

    name: str
    prefix: str = ""
    default: str | None = None
    positional_only: bool = False
    keyword_only: bool = False


def is_type(text: str | None) -> bool:
    """Can this be the return type behind a signature, rather than prose?"""
    if text is None:
        return True
    if text.endswith(".") and not text.endswith("...") or text.startswith("is "):
        return False
    return " " not in text or "[" in text or "|" in text


def extract(text: str) -> Iterator[Entry]:
    """Yield the entries of the text of the reference."""
    lines = text.splitlines()
    section = ""
    owner = ""  # the class or enumeration whose members follow
    before = ""  # the last line that is not blank
    for number, line in enumerate(lines):
        previous = lines[number - 1] if number else ""
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line in SECTIONS and not previous and not following:
            section, owner = line, ""
        elif not section or not line or line[0].isspace():
            pass
        elif match := ENUM.match(line):
            owner = match.group(1)
            yield Entry(section, "enum", owner)
        elif match := CLASS.match(line):
            owner = match.group(1)
            yield Entry(section, "class", owner, match.group(2) or "")
        elif match := FUNCTION.match(line):
            if before != "Return type:" and is_type(match.group(3)):
                owner = ""
                result = f" -> {match.group(3)}" if match.group(3) else ""
                yield Entry(section, "function", match[1], match[2] + result)
        elif match := CONSTANT.match(line):
            if match.group(2) or section == "Constants":
                owner = ""
                yield Entry(section, "constant", match[1])
        elif owner and before != "Type:" and line != "abs(self)":
            yield from extract_member(section, owner, line)
        before = line or before


def extract_member(section: str, owner: str, line: str) -> Iterator[Entry]:
    """Yield the member of a class or enumeration that a line declares, if any."""
    if match := MEMBER.match(line):
        if match.group(2) == owner.rpartition(".")[2]:
            yield Entry(section, "member", f"{owner}.{match[1]}")
    elif match := PROPERTY.match(line):
        yield Entry(section, "property", f"{owner}.{match[1]}")
    elif (match := METHOD.match(line)) and is_type(match.group(3)):
        typed = match.group(3) is not None and ": " in match.group(2)
        if match[1].startswith("__") or match[2].startswith("(self") or typed:
            result = f" -> {match.group(3)}" if match.group(3) else ""
            yield Entry(section, "method", f"{owner}.{match[1]}", match[2] + result)


def read_entries() -> list[Entry]:
    """The entries of the committed list, and the names beyond the reference."""
    entries = parse_entries(ENTRIES)
    extra = [f"drjit.{name}" for name in BEYOND.split()]
    return entries + [Entry("Beyond the reference", "name", name) for name in extra]


def parse_entries(path: Path) -> list[Entry]:
    """The entries of a list."""
    return [
        Entry(*(part.strip() for part in f"{line} ".split(" | ", 3)))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]


def read_published() -> list[Entry]:
    """The members that the published package has."""
    return parse_entries(PUBLISHED)


def read_baseline() -> list[str]:
    """The names that existed before."""
    lines = BASELINE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def find(name: str) -> object:
    """Look an entry up in the package; raises AttributeError or ImportError."""
    value: object = importlib.import_module("drjit")
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def exists(name: str) -> bool:
    """Does the package, which has to be importable, have an entry of this name?"""
    importlib.import_module("drjit")
    try:
        find(name)
    except (AttributeError, ImportError):
        return False
    return True


def in_scope(entry: Entry) -> bool:
    """Is the package expected to have this entry?"""
    return SECTIONS.get(entry.section, True) and entry.name not in LATER


def split_parameters(text: str) -> list[str]:
    """Cut the inside of a parameter list at its outer commas."""
    parts = [""]
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def parse_signature(signature: str) -> list[Parameter]:
    """The parameters of a signature as the reference writes it, without 'self'."""
    depth = 0
    end = len(signature)
    for position, character in enumerate(signature):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            end = position
            break
    parameters: list[Parameter] = []
    keyword_only = False
    for part in split_parameters(signature[1:end]):
        if part == "/":
            for parameter in parameters:
                parameter.positional_only = True
            continue
        if part == "*":
            keyword_only = True
            continue
        head, equals, default = part.partition("=")
        name = head.split(":")[0].strip()
        prefix = "*" * (len(name) - len(name.lstrip("*")))
        if name == "self" and not parameters:
            continue
        parameters.append(
            Parameter(
                name=name.lstrip("*"),
                prefix=prefix,
                default=default.strip() if equals else None,
                positional_only=bool(re.fullmatch(r"arg\d*", name)),
                keyword_only=keyword_only,
            )
        )
        keyword_only = keyword_only or prefix == "*"
    return parameters


def same_default(text: str, value: object) -> bool:
    """Does a default have the value that the reference writes? True if unclear."""
    if value is inspect.Parameter.empty:
        return False
    if text == value:
        return True
    if text in ("...", "Ellipsis"):
        return value is ...
    if isinstance(value, enum.Enum):
        return text.split(".")[-1] == value.name
    try:
        return bool(ast.literal_eval(text) == value)
    except (ValueError, SyntaxError):
        return True


Parameters = dict[str, inspect.Parameter]


def to_inspect(parameter: Parameter) -> inspect.Parameter:
    """A parameter as Python's own introspection describes it."""
    kinds = inspect.Parameter
    kind: inspect._ParameterKind = kinds.POSITIONAL_OR_KEYWORD
    if parameter.prefix:
        kind = {"*": kinds.VAR_POSITIONAL, "**": kinds.VAR_KEYWORD}[parameter.prefix]
    elif parameter.positional_only:
        kind = kinds.POSITIONAL_ONLY
    elif parameter.keyword_only:
        kind = kinds.KEYWORD_ONLY
    default: object = kinds.empty
    if parameter.default is not None:
        try:
            default = ast.literal_eval(parameter.default)
        except (ValueError, SyntaxError):
            default = parameter.default
    return kinds(parameter.name, kind, default=default)


def documented(value: object) -> Iterator[Parameters]:
    """The overloads that the first line of a function's documentation shows."""
    name = getattr(value, "__name__", "").lstrip("_")
    line = (inspect.getdoc(value) or "").partition("\n")[0]
    for form in re.findall(rf"(?<![a-z]){name}(\([^)]*\))", line):
        # Brackets surround what can be left out.
        for text in (re.sub(r"\[.*?\]", "", form), re.sub(r"[][]", "", form)):
            yield {p.name: to_inspect(p) for p in parse_signature(text)}


def signatures(value: object) -> list[Parameters]:
    """The parameters of each overload of a function; empty if nothing tells them."""
    try:
        parameters = dict(inspect.signature(value).parameters)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return list(documented(value))
    parameters.pop("self", None)
    return [parameters]


def differences(overloads: list[Entry], value: object) -> Iterator[str]:
    """Say how a function's parameters differ from those of the reference.

    Each overload of the reference is compared with the one that is most like it.
    """
    actual = signatures(value)
    if not actual:
        yield "has no signature"
        return
    single = len(overloads) == len(actual) == 1
    for overload in overloads:
        parameters = parse_signature(overload.signature)
        found = [list(compare_parameters(parameters, one, single)) for one in actual]
        yield from min(found, key=len)


def compare_parameters(
    parameters: list[Parameter], actual: Parameters, single: bool
) -> Iterator[str]:
    """Say how the parameters of one overload differ from those of the reference."""
    kinds = [parameter.kind for parameter in actual.values()]
    many = inspect.Parameter.VAR_POSITIONAL in kinds
    any_keyword = inspect.Parameter.VAR_KEYWORD in kinds
    slots = [
        name
        for name, parameter in actual.items()
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    count = sum(not p.prefix and not p.keyword_only for p in parameters)
    if count > len(slots) and not many:
        yield f"takes {len(slots)} positional arguments, not {count}"
    for position, expected in enumerate(parameters):
        name = expected.name
        if expected.prefix == "*" and not many:
            yield f"lacks *{name}"
        elif expected.prefix == "**" and not any_keyword:
            yield f"lacks **{name}"
        elif expected.prefix or expected.positional_only:
            continue
        elif name not in actual:
            if not (any_keyword and many):
                yield f"lacks the parameter '{name}'"
        elif actual[name].kind == inspect.Parameter.POSITIONAL_ONLY:
            # In front of *args a name makes no difference.
            if not many:
                yield f"takes '{name}' by position only"
        elif expected.default is not None and not same_default(
            expected.default, actual[name].default
        ):
            yield f"'{name}' has not the default {expected.default}"
        elif single and not expected.keyword_only and not many:
            if name not in slots or slots.index(name) != position:
                yield f"takes '{name}' at another position"


def is_own(value: object) -> bool:
    """Is this the package's, and no type variable or import of its annotations?"""
    module = getattr(value, "__module__", None) or ""
    of_package = module.split(".")[0] == "drjit"
    return of_package and not hasattr(value, "__constraints__")


def is_member(cls: type, name: str) -> bool:
    """Is this a public member, or a special method that the package defines?"""
    if not name.startswith("_"):
        return True
    if not re.fullmatch(r"__\w+__", name) or name in SILENT:
        return False
    owners = [one for one in cls.__mro__ if name in vars(one)]
    return bool(owners) and callable(getattr(cls, name)) and is_own(owners[0])


# Special members that all classes have, or that only say how a class is made.
SILENT = {
    f"__{name}__"
    for name in """
    abstractmethods annotations class class_getitem dict doc init_subclass module new
    orig_bases parameters subclasshook weakref getstate setstate reduce reduce_ex hash
    static_attributes firstlineno
    """.split()
}


def bare(parameters: Iterable[Parameter]) -> str:
    """A parameter list without annotations."""
    texts: list[str] = []
    rest = list(parameters)
    only = [p.positional_only for p in rest]
    for position, p in enumerate(rest):
        star = p.keyword_only and not any(t.startswith("*") for t in texts)
        if star and not p.prefix:
            texts.append("*")
        default = "" if p.default is None else f"={p.default}"
        texts.append(f"{p.prefix}{p.name}{default}")
        if p.positional_only and True not in only[position + 1 :]:
            texts.append("/")
    return f"({', '.join(texts)})"


def literal(value: object) -> str:
    """A default as text: a literal, a member of an enumeration, or what it is."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    plain = isinstance(value, int | float | str | tuple | None)
    return repr(value) if plain else f"<{type(value).__name__}>"


def shown(value: object) -> list[str]:
    """The parameter lists of a function, one for each overload that differs."""
    native = getattr(value, "__nb_signature__", None)
    if native is None:
        try:
            found = inspect.signature(value)  # type: ignore[arg-type]
        except (ValueError, TypeError):
            return []
        parameters = found.parameters.values()
        return [bare(from_inspect(p) for p in parameters if p.name != "self")]
    texts = [overload_text(text, *rest[1:]) for text, *rest in native]
    forms = [bare(parse_signature(text[text.index("(") :])) for text in texts]
    return list(dict.fromkeys(forms))


def overload_text(text: str, defaults: Sequence[object] | None = None) -> str:
    r"""A signature in which '\0' is a default by number, '\=0' one that is a text."""
    given = defaults or ()
    text = re.sub(r"\\=(\d+)", lambda match: str(given[int(match[1])]), text)
    return re.sub(r"\\(\d+)", lambda match: literal(given[int(match[1])]), text)


def from_inspect(parameter: inspect.Parameter) -> Parameter:
    """The reverse of to_inspect()."""
    kinds = inspect.Parameter
    prefix: dict[object, str] = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}
    default = parameter.default
    return Parameter(
        name=parameter.name,
        prefix=prefix.get(parameter.kind, ""),
        default=None if default is kinds.empty else literal(default),
        positional_only=parameter.kind == kinds.POSITIONAL_ONLY,
        keyword_only=parameter.kind == kinds.KEYWORD_ONLY,
    )


def members() -> Iterator[Entry]:
    """Yield what the installed package's modules and classes of the list consist of."""
    for module in MODULES:
        found = vars(importlib.import_module(module))
        for name in sorted(found.get("__all__", found)):
            if not name.startswith("_") and is_own(found[name]):
                yield from members_of(module, f"{module}.{name}", found[name])
    for family in FAMILIES:
        for name in TEXTURES:
            cls = getattr(importlib.import_module(family), name)
            everything = family == FAMILIES[-1]
            path = f"{family}.{name}"
            if everything:
                yield from members_of("textures", path, cls)
            else:
                yield Entry("textures", "class", path)


def members_of(section: str, path: str, value: object) -> Iterator[Entry]:
    """Yield a name of a module, and if it is a class, its members."""
    if not isinstance(value, type):
        for text in shown(value):
            yield Entry(section, "function", path, text)
        return
    yield Entry(section, "class", path)
    for name in sorted(dir(value)):
        if name in getattr(value, "__abstractmethods__", ()) or not is_member(
            value, name
        ):
            continue
        member = getattr(value, name)
        if callable(member) and not isinstance(member, type):
            for text in shown(member) or [""]:
                yield Entry(section, "method", f"{path}.{name}", text)
        else:
            yield Entry(section, "property", f"{path}.{name}")


def instances() -> dict[str, object]:
    """Objects of the modules' classes that have attributes of their own."""
    ad = importlib.import_module("drjit.llvm.ad")
    nn, opt = (importlib.import_module(f"drjit.{name}") for name in ("nn", "opt"))
    grids = importlib.import_module("drjit.hashgrid")
    matrix = {"x": ad.TensorXf(ad.Float(1, 2, 3, 4), (2, 2))}
    found: list[object] = [
        getattr(opt, name)(lr=1.0, params=matrix)
        for name in ("SGD", "RMSProp", "Adam", "AdamW", "Muon")
    ]
    found.append(opt.GradScaler())
    grid = grids.HashGridEncoding(ad.Float, 2, n_levels=2)
    found += [grid, grids.PermutoEncoding(ad.Float, 2, n_levels=2)]
    found += [nn.Linear(2, 3), nn.LeakyReLU(), nn.SinEncode(2), nn.TriEncode(2)]
    found += [nn.Cast(ad.Float16), nn.ScaleAdd(1, 2), nn.Sequential(nn.Linear(2, 2))]
    found.append(nn.HashEncodingLayer(grid))
    return {f"{type(one).__module__}.{type(one).__name__}": one for one in found}


def attributes() -> Iterator[Entry]:
    """Yield the attributes that objects have beside those of their classes."""
    for path, one in instances().items():
        for name in sorted(vars(one)):
            if not name.startswith("_"):
                yield Entry("objects", "attribute", f"{path}.{name}")


@dataclass
class Report:
    """The state of one section."""

    present: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


def group(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The overloads of each name."""
    names: dict[str, list[Entry]] = {}
    for entry in entries:
        names.setdefault(entry.name, []).append(entry)
    return names


def compare(
    entries: Iterable[Entry],
    sections: Iterable[str] = tuple(SECTIONS),
    kinds: Iterable[str] = ("function",),
) -> dict[str, Report]:
    """Compare the package with the entries, section by section.

    Parameters are compared of entries of these kinds.
    """
    reports = {section: Report() for section in sections}
    made = instances() if "objects" in reports else {}
    for name, overloads in group(entries).items():
        report = reports[overloads[0].section]
        owner, _, last = name.rpartition(".")
        if not (hasattr(made[owner], last) if owner in made else exists(name)):
            wanted = in_scope(overloads[0])
            (report.missing if wanted else report.later).append(name)
            continue
        report.present.append(name)
        if overloads[0].kind in kinds and not callable(find(name)):
            report.different.append(f"{name} cannot be called")
        elif overloads[0].kind in kinds:
            found = dict.fromkeys(differences(overloads, find(name)))
            report.different += [f"{name} {text}" for text in found]
    return reports


def compare_published() -> dict[str, Report]:
    """Compare the package with the published one, but for what is to differ."""
    entries = read_published()
    sections = dict.fromkeys(entry.section for entry in entries)
    reports = compare(entries, sections, ("function", "method"))
    for report in reports.values():
        for texts in (report.missing, report.different):
            report.later += [text for text in texts if reason(text)]
            texts[:] = [text for text in texts if not reason(text)]
    return reports


def own_members() -> list[str]:
    """What these modules and classes have here, and the published ones have not.

    Without special members, and those of enumerations that are texts.
    """
    names = {e.name for e in [*members(), *attributes()]} - {
        e.name for e in read_published()
    }
    last = {name: name.rpartition(".")[2] for name in names}
    return sorted(n for n in names if last[n][:2] != "__" and last[n] not in dir(str))


def reason(text: str) -> str:
    """Why a name is missing, or differs as it does; '' if there is none."""
    name, _, what = text.partition(" ")
    for (names, differs), why in DIFFERENT.items():
        if re.fullmatch(names, name) and what == differs:
            return why
    return ""


def print_reports(reports: dict[str, Report], only_missing: bool) -> int:
    """Print what there is and what not; the number of names missing in scope."""
    for section, report in reports.items():
        later = [text for text in report.later if " " not in text]
        total = len(report.present) + len(report.missing) + len(later)
        if only_missing and not (report.missing or report.different):
            continue
        print(f"{section}: {len(report.present)} of {total}")
        for name in report.missing:
            print(f"    missing  {name}")
        for text in report.different:
            print(f"    differs  {text}")
        if not only_missing:
            for text in report.later:
                print(f"    accepted {text}: {reason(text) or 'comes later'}")
    present = sum(len(report.present) for report in reports.values())
    missing = sum(len(report.missing) for report in reports.values())
    different = sum(len(report.different) for report in reports.values())
    print(f"{present} present, {missing} missing in scope, {different} differences")
    return missing


def main() -> int:
    """Do what the head of this file says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--extract", type=Path, metavar="FILE")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--members", type=Path, metavar="FILE")
    parser.add_argument("--published", action="store_true")
    options = parser.parse_args()
    if options.extract:
        text = options.extract.read_text(encoding="utf-8")
        lines = dict.fromkeys(str(entry) for entry in extract(text))
        head = "# From tools/api_coverage.py --extract: section, kind, name, signature."
        ENTRIES.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
        print(f"{len(lines)} entries")
        return 0
    if options.members:
        entries = [*members(), *attributes()]
        lines = dict.fromkeys(str(entry) for entry in entries)
        head = "# From tools/api_coverage.py --members: section, kind, name, signature."
        options.members.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
        print(f"{len(lines)} entries")
        return 0
    if options.published:
        reports = compare_published()
        missing = print_reports(reports, False)
        for name in own_members():
            print(f"    ours     {name}")
        return 1 if missing or any(r.different for r in reports.values()) else 0
    reports = compare(read_entries())
    if options.update:
        names = {name for report in reports.values() for name in report.present}
        if BASELINE.exists():
            names |= set(read_baseline())
        head = "# Names that exist and stay. From tools/api_coverage.py --update."
        BASELINE.write_text("\n".join([head, *sorted(names), ""]), encoding="utf-8")
    missing = print_reports(reports, options.missing)
    return 1 if options.missing and missing else 0


if __name__ == "__main__":
    sys.exit(main())
