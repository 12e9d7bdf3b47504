"""The functions of NVIDIA's libdevice as PTX, one kernel for each function and type.

    libdevice.py FOLDER [--arch NN]
    libdevice.py --run TEST_LIBDEVICE [--arch NN]

libnvvm, which comes with nvcc, compiles them; nothing of that is NVIDIA's to be kept:
the files are made when a test needs them, and never committed. The second form makes
them in a folder of its own and runs the program test_libdevice on them. FOLDER receives
<function>_<f32|f64>.ptx, whose kernel of the same name has the parameters

    (const type *x, [const type *y,] type *result, u32 n)

and computes entry %ctaid.x * %ntid.x + %tid.x if it is below n.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import toolkit

# Names of tests/accuracy, and what libdevice calls them if not the same.
NAMES = {"power": "pow"}
UNARY = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 log log2 "
    "rsqrt cbrt erf erfinv lgamma"
).split()
BINARY = "atan2 power hypot".split()

HEAD = """
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-\
i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
"""

KERNEL = """
declare {type} @{callee}({operand_types})
define void @{name}({parameters}, {type} addrspace(1)* %r, i32 %n) {{
    %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
    %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
    %first = mul i32 %ctaid, %ntid
    %i = add i32 %first, %tid
    %inside = icmp ult i32 %i, %n
    br i1 %inside, label %work, label %end
work:
{loads}
    %value = call {type} @{callee}({operands})
    %to = getelementptr {type}, {type} addrspace(1)* %r, i32 %i
    store {type} %value, {type} addrspace(1)* %to
    br label %end
end:
    ret void
}}
!nvvm.annotations = !{{!1}}
!1 = !{{void ({pointers}, {type} addrspace(1)*, i32)* @{name}, !"kernel", i32 1}}
"""

LOAD = """
    %{x}at = getelementptr {type}, {type} addrspace(1)* %{x}, i32 %i
    %{x}v = load {type}, {type} addrspace(1)* %{x}at"""


def kernel(function: str, bits: int) -> str:
    """NVVM IR of a kernel that computes a function of 32 or 64 bits."""
    kind = "float" if bits == 32 else "double"
    operands = "x" if function in UNARY else "xy"
    return HEAD + KERNEL.format(
        type=kind,
        name=f"{function}_f{bits}",
        callee="__nv_" + NAMES.get(function, function) + ("f" if bits == 32 else ""),
        operand_types=", ".join(kind for _ in operands),
        operands=", ".join(f"{kind} %{x}v" for x in operands),
        parameters=", ".join(f"{kind} addrspace(1)* %{x}" for x in operands),
        pointers=", ".join(f"{kind} addrspace(1)*" for _ in operands),
        loads="".join(LOAD.format(x=x, type=kind) for x in operands),
    )


class Nvvm:
    """libnvvm with the bitcode of libdevice."""

    def __init__(self, folder: Path) -> None:
        """Load both from the nvvm folder of a toolkit."""
        self.library = ctypes.CDLL(str(next(folder.glob("lib64/libnvvm.so*"))))
        self.bitcode = next(folder.glob("libdevice/libdevice.*.bc")).read_bytes()

    @staticmethod
    def find() -> Nvvm:
        """That of the first toolkit that has both; without one, the test ends."""
        for tool in toolkit.find_tool("ptxas"):
            folder = tool.parent.parent / "nvvm"
            if list(folder.glob("lib64/libnvvm.so*")):
                return Nvvm(folder)
        toolkit.lack("there is no libnvvm (package nvidia-cuda-nvcc-cu12)")

    def call(self, name: str, *arguments: object) -> None:
        """Call a function that returns 0 if all is well."""
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    def compile(self, text: str, arch: int) -> str:
        """The PTX of a module in NVVM IR, linked with libdevice.

        Raises RuntimeError with the compiler's words if it does not take the text.
        """
        program = ctypes.c_void_p()
        size = ctypes.c_size_t()
        self.call("nvvmCreateProgram", ctypes.byref(program))
        module = text.encode()
        options = (ctypes.c_char_p * 1)(f"-arch=compute_{arch}".encode())
        try:
            for what, code in (("Lazy", self.bitcode), ("", module)):
                length = ctypes.c_size_t(len(code))
                self.call(f"nvvm{what}AddModuleToProgram", program, code, length, b"m")
            if self.library.nvvmCompileProgram(program, 1, options) != 0:
                raise RuntimeError(self.read(program, "ProgramLog", size))
            return self.read(program, "CompiledResult", size)
        finally:
            self.call("nvvmDestroyProgram", ctypes.byref(program))

    def read(self, program: ctypes.c_void_p, what: str, size: ctypes.c_size_t) -> str:
        """One of the texts that belong to a program."""
        self.call(f"nvvmGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvvmGet{what}", program, buffer)
        return buffer.value.decode()


def write(folder: Path, arch: int) -> None:
    """Write all files into a folder."""
    nvvm = Nvvm.find()
    for function in UNARY + BINARY:
        for bits in (32, 64):
            path = folder / f"{function}_f{bits}.ptx"
            path.write_text(nvvm.compile(kernel(function, bits), arch))


def main() -> int:
    """Write the files, and test them; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--run", type=Path, help="program that tests them")
    parser.add_argument("--arch", type=int, default=80)
    options = parser.parse_args()
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        write(options.folder, options.arch)
    if not options.run:
        return 0 if options.folder else parser.error("a folder or --run is needed")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.arch)
        count = "200000" if toolkit.takes_all() else "5000"
        return subprocess.run([options.run, folder, "--count", count]).returncode


if __name__ == "__main__":
    sys.exit(main())
