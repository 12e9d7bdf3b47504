"""``python -m drjit``: what this machine has, whether it works, and what to do if not.

Each engine runs the programs of ``drjit._selftest`` in a process of its own: one that
fails, even by a crash of a library, is a line of the report.
"""

from __future__ import annotations

import ctypes
import glob
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import drjit as dr

ENGINES = ("native", "llvm", "interp")
TIMEOUT = 60  # seconds that the self-test of an engine may take

# What code uses where the CPU has it, as /proc/cpuinfo calls it.
FEATURES = (
    "avx2 fma f16c bmi2 avx512f avx512vl avx512dq avx512bw avx512cd "
    "avx512_vpopcntdq gfni"
)
LIBLLVM = (
    "/usr/lib/*/libLLVM*.so*",
    "/usr/lib/libLLVM*.so*",
    "/usr/lib64/libLLVM*.so*",
    "/usr/lib/llvm-*/lib/libLLVM*.so*",
    "/usr/lib64/llvm*/lib*/libLLVM*.so*",
    "/usr/local/lib/libLLVM*.so*",
    "/opt/*/lib/libLLVM*.so*",
)
CUDA = (
    "/usr/lib/*/libcuda.so*",
    "/usr/lib64/libcuda.so*",
    "/usr/lib/wsl/lib/libcuda.so*",
    "/usr/local/cuda/compat/libcuda.so*",
)


@dataclass
class Section:
    """A part of the report: its lines, and one line of advice for each problem."""

    title: str
    lines: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


def _distributions() -> Iterator[tuple[str, str]]:
    for name in ("drjit-c", "drjit"):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            pass


def versions() -> Section:
    """The package, its interface, Python, and a distribution that is in the way."""
    section = Section("Versions")
    config = dr.config
    section.lines = [
        f"drjit-c {config.VERSION}, with the interface of drjit {dr.__version__}",
        f"in {Path(dr.__file__).parent}",
        f"Python {platform.python_version()} (built for {config.PYTHON_VERSION}), "
        f"compiler {config.CXX_COMPILER}",
    ]
    installed = dict(_distributions())
    for name, version in installed.items():
        section.lines.append(f"installed: {name} {version}")
    if len(installed) == 2:
        section.advice.append(
            "the distributions 'drjit' and 'drjit-c' have files of the same names: run "
            "'pip uninstall drjit drjit-c', then install the one that you want"
        )
    return section


def cpu() -> Section:
    """Cores and instruction sets."""
    section = Section("CPU")
    text: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n"):
            key, _, value = line.partition(":")
            text.setdefault(key.strip(), value.strip())
    except OSError as error:
        section.lines.append(f"/proc/cpuinfo cannot be read: {error.strerror}")
    flags = text.get("flags", text.get("Features", "")).split()
    section.lines += [
        f"{text.get('model name', 'unnamed')}, {platform.machine()}, "
        f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} CPUs for this process, "
        f"{dr.thread_count()} threads",
        "has "
        + (" ".join(f for f in FEATURES.split() if f in flags) or "none of them"),
        "lacks " + (" ".join(f for f in FEATURES.split() if f not in flags) or "none"),
    ]
    if platform.machine() == "x86_64" and not {"avx2", "fma", "bmi2"} <= set(flags):
        section.advice.append(
            "without AVX2, FMA and BMI2 the engine 'native' cannot be used: install "
            "libLLVM 15 or newer for the engine 'llvm'; 'interp' is slower"
        )
    return section


def _selftest(**environment: str) -> tuple[bool, list[str]]:
    """Does a process with these variables get everything right? And what it says."""
    variables = {**os.environ, "DRJIT_CACHE_DIR": "", "DRJIT_LOG_LEVEL": "error"}
    variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    program = "import sys; from drjit._selftest import main; sys.exit(main())"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=variables | environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, [f"no end after {TIMEOUT} seconds"]
    lines = done.stdout.strip().split("\n") if done.stdout else []
    if done.returncode < 0:
        lines.append(f"the process ended by signal {-done.returncode}")
    elif done.returncode:
        errors = done.stderr.strip()
        lines.append(errors[errors.rfind("\nRuntimeError") + 1 :])
    return done.returncode == 0, lines


def engines() -> Section:
    """The self-test on each engine, and on the one that would be chosen."""
    section = Section("Engines")
    works = {}
    for name in ENGINES:
        works[name], lines = _selftest(DRJIT_CPU_ENGINE=name)
        text = "works" if works[name] else "does not work"
        section.lines += [f"{name}: {text}", *(f"  {line}" for line in lines)]
    chosen = os.environ.get("DRJIT_CPU_ENGINE")
    if chosen is not None:
        section.lines.append(f"DRJIT_CPU_ENGINE is {chosen!r}")
        if not works.get(chosen):
            section.advice.append(
                f"DRJIT_CPU_ENGINE chooses {chosen!r}, which does not work: unset it"
            )
    if not works["interp"]:
        section.advice.append(
            "the engine 'interp' has no requirements, so the installation is damaged: "
            "run 'pip install --force-reinstall drjit-c'"
        )
    if not works["native"] and platform.machine() == "x86_64":
        section.advice.append(
            "kernels run on a slower engine; the reason is the line of 'native' above"
        )
    return section


def _files(patterns: tuple[str, ...]) -> list[str]:
    """Files that match, each once: links to one file count as that."""
    found: dict[str, str] = {}
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def libllvm() -> Section:
    """Each libLLVM of the machine: its version, or why it cannot be used."""
    section = Section("libLLVM (optional)")
    chosen = os.environ.get("DRJIT_LIBLLVM_PATH")
    if chosen:
        section.lines.append(
            f"DRJIT_LIBLLVM_PATH names {chosen}: nothing else is tried"
        )
    candidates = [chosen] if chosen else _files(LIBLLVM)
    usable = False
    for path in candidates:
        works, lines = _selftest(DRJIT_CPU_ENGINE="llvm", DRJIT_LIBLLVM_PATH=path)
        usable |= works
        reason = "" if not lines else lines[-1].split("Tried:")[-1].strip()
        section.lines.append(
            f"{path}: usable"
            if works
            else f"refused: {reason.removeprefix(path + ': ')}"
        )
        if not works:
            section.lines[-1] = f"{path}: {section.lines[-1]}"
    if not candidates:
        section.lines.append("none in the usual folders")
    if chosen and not usable:
        section.advice.append(
            "DRJIT_LIBLLVM_PATH names a file that cannot be used: unset it, or name "
            "libLLVM 15 or newer"
        )
    return section


def cuda() -> Section:
    """The driver's library. No kernel runs on a GPU yet."""
    section = Section("CUDA")
    for path in ["libcuda.so.1", *_files(CUDA)]:
        try:
            driver = ctypes.CDLL(path)
            version = ctypes.c_int()
            driver.cuDriverGetVersion(ctypes.byref(version))
            major, minor = version.value // 1000, version.value % 1000 // 10
            section.lines.append(f"{path}: a driver for CUDA {major}.{minor}")
        except (OSError, AttributeError) as error:
            section.lines.append(f"{path}: refused: {error}")
    section.lines.append(
        "this version has no CUDA backend: arrays are computed on the CPU"
    )
    return section


def cache() -> Section:
    """Where compiled kernels are kept."""
    section = Section("Kernel cache")
    folder = dr.config.cache_dir()
    if not folder:
        section.lines.append("switched off: each process compiles its kernels anew")
        if os.environ.get("DRJIT_CACHE_DIR") != "":
            section.advice.append(
                "no folder for the cache was found: set HOME, or DRJIT_CACHE_DIR to a "
                "folder that belongs to you"
            )
        return section
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 2**20
    section.lines.append(f"{folder}: {len(files)} files, {size:.1f} MiB")
    problem = _unusable(Path(folder))
    if problem:
        section.advice.append(
            f"compiled kernels are not kept, as {problem}: correct that, or set "
            "DRJIT_CACHE_DIR to a folder that belongs to you"
        )
    return section


def _unusable(folder: Path) -> str:
    """Why the library refuses a folder of kernels, or ""."""
    if not folder.exists():
        above = next(path for path in folder.parents if path.exists())
        writable = above.is_dir() and os.access(above, os.W_OK)
        return "" if writable else f"{folder} cannot be made"
    if not os.access(folder, os.W_OK):
        return f"{folder} cannot be written to"
    status = folder.stat()
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to somebody else"
    return f"{folder} is open to others (chmod 700)" if status.st_mode & 0o77 else ""


SECTIONS = (versions, cpu, engines, libllvm, cuda, cache)


def report() -> int:
    """Print the report; 1 if there is advice to follow."""
    advice = []
    for make in SECTIONS:
        section = make()
        print(section.title)
        for line in section.lines:
            print("   ", line.replace("\n", "\n      "))
        advice += section.advice
    print("Advice" if advice else "All is well.")
    for line in advice:
        print("  -", line)
    return 1 if advice else 0
