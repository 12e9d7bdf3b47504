"""Fixtures that the tests of the Python package share."""

from __future__ import annotations

from types import ModuleType

import drjit as dr
import pytest


@pytest.fixture(params=["scalar", "llvm"])
def m(request: pytest.FixtureRequest) -> ModuleType:
    """A module of array types, one after the other."""
    module: ModuleType = getattr(dr, request.param)
    return module
