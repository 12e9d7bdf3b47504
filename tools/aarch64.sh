#!/bin/sh
# aarch64.sh -- build the library for AArch64 Linux, and run the core's tests there
#
#     tools/aarch64.sh [TEST ...]
#
# By hand, on Debian as root: installs a cross compiler and qemu-user, and unpacks what
# the tests are linked with, and libLLVM, for that architecture into build-aarch64/root.
# The tests run under emulation, those named or the quick ones of the core, on the
# engine that DRJIT_TEST_ENGINE names (interp).
set -eu
cd "$(dirname "$0")/.."
build=$PWD/build-aarch64
root=$build/root
libraries=$root/usr/lib/aarch64-linux-gnu
search=$libraries:$root/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib
llvm=libllvm15
needed="libbsd0 libedit2 libffi8 libicu72 liblzma5 libmd0 libsodium23 libtinfo6 libxml2
    libz3-4 zlib1g"

if ! [ -d "$root" ]; then
    apt-get install -y gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user
    added=
    dpkg --print-foreign-architectures | grep -qx arm64 || added=1
    dpkg --add-architecture arm64
    apt-get update
    mkdir -p "$build/packages"
    (
        cd "$build/packages"
        for package in libcmocka-dev libcmocka0 libxxhash-dev "$llvm" $needed; do
            apt-get download "$package:arm64"
        done
    )
    [ -z "$added" ] || dpkg --remove-architecture arm64
    mkdir -p "$root.new"
    for package in "$build"/packages/*.deb; do
        dpkg -x "$package" "$root.new"
    done
    mv "$root.new" "$root"
fi

cat >"$build/cross.ini" <<INI
[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu',
    '-E', 'LD_LIBRARY_PATH=$search']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
[properties]
sys_root = '$root'
pkg_config_libdir = '$libraries/pkgconfig'
[built-in options]
c_link_args = ['-L$libraries', '-Wl,-rpath-link,$libraries']
cpp_link_args = ['-L$libraries', '-Wl,-rpath-link,$libraries']
INI
[ -f "$build/tree/build.ninja" ] ||
    meson setup "$build/tree" --cross-file "$build/cross.ini" -Dtests=enabled \
        -Dpython=disabled -Dexamples=disabled -Dwerror=false
ninja -C "$build/tree"
export DRJIT_TEST_ENGINE="${DRJIT_TEST_ENGINE:-interp}"
[ $# -gt 0 ] || set -- --suite quick
exec meson test -C "$build/tree" --no-rebuild --print-errorlogs -t 20 "$@"
