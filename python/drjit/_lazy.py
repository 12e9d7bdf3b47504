"""Modules of the package that exist from the start, and are executed when looked into.

Programs enumerate ``vars(drjit)`` to find the modules of array types, but making these
takes longer than all else. What tools ask of every module that is loaded (its name and
file) is known without executing it.

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

_KNOWN = {"__class__", "__file__", "__loader__", "__name__", "__package__", "__path__"}
_lock = RLock()


class _LazyModule(ModuleType):
    """A module that becomes an ordinary one when anything else is asked of it."""

    def __getattribute__(self, name: str) -> object:
        if name not in _KNOWN:
            _execute(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        _execute(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _execute(self)
        ModuleType.__delattr__(self, name)


_executing: list[ModuleType] = []


def _execute(module: ModuleType) -> None:
    """Execute the module, unless that has begun. If it fails, all is as before."""
    with _lock:
        if type(module) is not _LazyModule or module in _executing:
            return
        names = ModuleType.__getattribute__(module, "__dict__")
        before = names.copy()
        _executing.append(module)
        try:
            names["__spec__"].loader.exec_module(module)
            ModuleType.__setattr__(module, "__class__", ModuleType)
        except BaseException:
            names.update(before)  # first, since it may be memory that is out
            for name in [name for name in names if name not in before]:
                del names[name]
            raise
        finally:
            _executing.remove(module)


def module(name: str, path: list[str]) -> ModuleType:
    """The module of that full name in a package with that path."""
    if name in sys.modules:
        return sys.modules[name]
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    spec = next(spec for spec in specs if spec)
    result = _LazyModule(name)
    names = ModuleType.__getattribute__(result, "__dict__")
    names["__spec__"] = spec
    names["__loader__"] = spec.loader
    names["__package__"] = spec.parent
    names["__file__"] = spec.origin
    names["__cached__"] = spec.cached
    if spec.submodule_search_locations is not None:
        names["__path__"] = spec.submodule_search_locations
    sys.modules[name] = result
    return result
