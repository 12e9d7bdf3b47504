"""Modules of the package that exist from the start, and are executed when looked into.

Programs enumerate ``vars(drjit)`` to find the modules of array types, but making these
takes longer than all else. What tools ask of every module that is loaded (its name and
file) is found without executing it.

One lock guards all of them. It cannot be part of a circle with the locks of the import
system as long as what these modules import does not look into them when imported.
"""

import sys
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
else:  # importing types takes longer than all that is here
    ModuleType = type(sys)

# Known from the start ("ad" is a module in another); found when asked for.
_KNOWN = {"__class__", "__name__", "ad"}
_FOUND = {"__file__", "__loader__", "__package__", "__path__", "__spec__"}
_lock = RLock()


class _LazyModule(ModuleType):
    """A module that becomes an ordinary one when anything else is asked of it."""

    def __getattribute__(self, name: str) -> object:
        if name in _FOUND:
            _locate(self)
        elif name not in _KNOWN:
            _execute(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not _is_part(self, name, value):
            _execute(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _execute(self)
        ModuleType.__delattr__(self, name)


_executing: list[ModuleType] = []


def _is_part(module: ModuleType, name: str, value: object) -> bool:
    """Does the import system note a module that stands in this one? It may be all that
    a process needs, such as what a worker of drjit.dist calls."""
    get = ModuleType.__getattribute__
    whole = f"{get(module, '__name__')}.{name}"
    return isinstance(value, ModuleType) and get(value, "__name__") == whole


def _locate(module: ModuleType) -> None:
    """Find the file of the module, as the import system does."""
    names = ModuleType.__getattribute__(module, "__dict__")
    if type(module) is not _LazyModule or names["__spec__"] is not None:
        return
    name = names["__name__"]
    path = sys.modules[name.rpartition(".")[0]].__path__
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    spec = next(spec for spec in specs if spec)
    names["__loader__"] = spec.loader
    names["__package__"] = spec.parent
    names["__file__"] = spec.origin
    names["__cached__"] = spec.cached
    if spec.submodule_search_locations is not None:
        names["__path__"] = spec.submodule_search_locations
    names["__spec__"] = spec  # last: it says that the others are there


def _execute(module: ModuleType) -> None:
    """Execute the module, unless that has begun. If it fails, all is as before."""
    with _lock:
        if type(module) is not _LazyModule or module in _executing:
            return
        _locate(module)
        names = ModuleType.__getattribute__(module, "__dict__")
        before = names.copy()
        _executing.append(module)
        try:
            names["__spec__"].loader.exec_module(module)
            ModuleType.__setattr__(module, "__class__", ModuleType)
        except BaseException:
            names.update(before)  # first: memory may have run out
            for name in [name for name in names if name not in before]:
                del names[name]
            raise
        finally:
            _executing.remove(module)


def module(name: str) -> ModuleType:
    """The module of that full name, bound in the package that it belongs to."""
    if name in sys.modules:
        return sys.modules[name]
    package, _, own = name.rpartition(".")
    siblings = ModuleType.__getattribute__(sys.modules[package], "__dict__")
    sys.modules[name] = siblings[own] = _LazyModule(name)
    return sys.modules[name]
