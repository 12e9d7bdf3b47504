"""The machine code of the operators: what the source means to be direct is direct."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from drjit import _core

# Slot -> what it calls for two arrays of one class.
SLOTS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "div",
    "mod": "mod", "and": "and", "or": "or", "xor": "xor", "lshift": "shl",
    "rshift": "shr", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq",
    "ne": "neq",
}  # fmt: skip


DERIVED = {"add", "sub", "mul", "div", "and"}


def listing() -> dict[str, list[str]]:
    """The instructions of each function of the extension."""
    objdump = shutil.which("objdump")
    if not objdump:
        pytest.skip("objdump is not installed")
    text = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", _core.__file__],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    functions: dict[str, list[str]] = {}
    for block in text.split("\n\n"):
        head, _, body = block.strip().partition("\n")
        name = re.search(r"<(\w+)>:$", head)
        if name:
            functions[name[1]] = body.splitlines()
    if "number_add" not in functions:
        pytest.skip(f"{Path(_core.__file__).name} has no symbols")
    if "single_info" in functions or "__asan_" in text or "__tsan_" in text:
        pytest.skip("the extension is not optimised, or instrumented")
    return functions


def test_operators_call_the_core_directly() -> None:
    functions = listing()
    for slot, operation in SLOTS.items():
        lines = functions[f"number_{slot}"]
        calls = [line for line in lines if re.search(r"\b(call|jmp)\b", line)]
        assert any(f"<jit_var_{operation}@plt>" in line for line in calls), slot
        assert not any("*" in line for line in calls), f"{slot}: an indirect call"
        # One look at queued writes, the core, the new array; the rest of the cases.
        # What has derivatives also goes another way where an operand is tracked.
        called = [line for line in calls if re.search(r"<\w+(@plt)?>$", line)]
        tracked = [line for line in called if "<ad_var_op@plt>" in line]
        assert len(tracked) == (operation in DERIVED), (slot, called)
        assert len(called) == 4 + len(tracked), (slot, called)
