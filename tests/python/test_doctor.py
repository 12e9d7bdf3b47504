"""``python -m drjit``: the report, its advice, and the self-test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import drjit as dr
import pytest
from drjit import _doctor, _selftest


def report(**environment: str) -> tuple[int, str]:
    """Exit status and output of ``python -m drjit`` with these variables."""
    variables = {**os.environ, "DRJIT_LOG_LEVEL": "warn", **environment}
    done = subprocess.run(
        [sys.executable, "-m", "drjit"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_report() -> None:
    """Every section is there, and the engine without requirements works."""
    variables = {"DRJIT_CPU_ENGINE": "interp", "DRJIT_LIBLLVM_PATH": ""}
    status, text = report(**variables)
    for section in ("Versions", "CPU", "Engines", "libLLVM", "CUDA", "Kernel cache"):
        assert re.search(f"^{section}", text, re.MULTILINE), section
    assert f"drjit-c {dr.config.VERSION}, with the interface of" in text
    assert "interp: works" in text
    assert status == (1 if "Advice" in text else 0)


def test_an_engine_that_does_not_exist() -> None:
    """It is named, and the advice says what to do."""
    status, text = report(DRJIT_CPU_ENGINE="clang")
    assert status == 1
    assert "DRJIT_CPU_ENGINE chooses 'clang', which does not work: unset it" in text


def test_a_library_that_is_not_libllvm(tmp_path: Path) -> None:
    """The reason of the refusal is that of the file."""
    status, text = report(DRJIT_LIBLLVM_PATH=str(tmp_path / "libLLVM.so"))
    assert status == 1
    assert "no such file" in text
    libc = "libc.so.6"
    status, text = report(DRJIT_LIBLLVM_PATH=libc)
    assert status == 1
    assert f"{libc}: refused: it is not libLLVM" in text
    assert "names a file that cannot be used" in text


def test_both_distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the same names are a problem, also where the import still works."""
    for name in ("drjit", "drjit-c"):
        folder = tmp_path / f"{name.replace('-', '_')}-1.5.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1.5.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    section = _doctor.versions()
    assert "installed: drjit 1.5.0" in section.lines
    assert any("pip uninstall drjit drjit-c" in line for line in section.advice)


def test_cache_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is what the user wanted, so there is no advice; without a home there is."""
    monkeypatch.setattr(dr.config, "cache_dir", lambda: "")
    monkeypatch.setenv("DRJIT_CACHE_DIR", "")
    assert _doctor.cache().advice == []
    monkeypatch.delenv("DRJIT_CACHE_DIR")
    assert "set HOME" in _doctor.cache().advice[0]


def test_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are counted; what the library refuses is a problem."""
    folder = tmp_path / "kernels"
    monkeypatch.setattr(dr.config, "cache_dir", lambda: str(folder))
    assert _doctor.cache().advice == []  # it is made when it is needed
    folder.mkdir(mode=0o700)
    (folder / "kernel").write_bytes(bytes(1 << 20))
    section = _doctor.cache()
    assert section.lines == [f"{folder}: 1 files, 1.0 MiB"]
    assert section.advice == []
    folder.chmod(0o755)
    assert f"{folder} is open to others" in _doctor.cache().advice[0]
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "cannot be written to" in _doctor.cache().advice[0]
    monkeypatch.setattr(dr.config, "cache_dir", lambda: "/proc/kernels")
    assert "/proc/kernels cannot be made" in _doctor.cache().advice[0]


def test_the_library_agrees(tmp_path: Path) -> None:
    """A folder that others can read is refused, and reported so."""
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    status, text = report(DRJIT_CACHE_DIR=str(folder), DRJIT_CPU_ENGINE="interp")
    assert status == 1 and "is open to others (chmod 700)" in text


def test_selftest_finds_a_wrong_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sine that is off by one thousandth is not right."""
    assert _selftest.main() == 0
    assert "WRONG" not in capsys.readouterr().out
    sine = dr.sin
    monkeypatch.setattr(dr, "sin", lambda x: sine(x) * 1.001)
    assert _selftest.main() == 1
    assert "arithmetic: WRONG" in capsys.readouterr().out


def test_an_engine_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A self-test that ends by a signal is a line of the report."""
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    run = subprocess.run

    def crash(command: list[str], **options: object) -> object:
        return run([command[0], "-c", program], **options)  # type: ignore

    monkeypatch.setattr(subprocess, "run", crash)
    section = _doctor.engines()
    assert "  the process ended by signal 9" in section.lines
    assert any("'interp' has no requirements" in line for line in section.advice)


def test_version() -> None:
    """Programs compare ``drjit.__version__`` with versions of the published package."""
    assert tuple(map(int, dr.__version__.split("."))) >= (1, 5, 0)
    assert re.fullmatch(r"\d+\.\d+\.\d+", dr.config.VERSION)
