#!/bin/sh
# aarch64.sh -- build the library for AArch64 Linux, and run the core's tests there
#
#     tools/aarch64.sh [TEST ...]
#
# By hand, on Debian as root: installs a cross compiler and qemu-user, and unpacks what
# the tests are linked with, libLLVM and libsodium for that architecture into
# build-aarch64/root. The tests run under emulation, those named or all that
# aarch64_tests.py lists, with each engine in turn or the one that DRJIT_TEST_ENGINE
# names. Ends with a table, and fails if a test did. AARCH64_JOBS is how many programs
# run at the same time (as many as there are cores).
set -eu
cd "$(dirname "$0")/.."
build=$PWD/build-aarch64
root=$build/root
libraries=$root/usr/lib/aarch64-linux-gnu
search=$libraries:$root/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib
llvm=libllvm15
needed="libbsd0 libedit2 libffi8 libicu72 liblzma5 libmd0 libsodium23 libtinfo6 libxml2
    libz3-4 zlib1g"
jobs=${AARCH64_JOBS:-$(nproc)}

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

# Some tests start themselves again by the name in argv[0]. The system cannot run that
# program, but a script: each program is given one as its name.
mkdir -p "$build/launch"
cat >"$build/emulate" <<EMULATE
#!/bin/sh
# PROGRAM [ARGUMENT ...]
program=\$1
shift
launcher=$build/launch/\${program##*/}
[ -x "\$launcher" ] || {
    printf '#!/bin/sh\nexec "%s" "%s" "\$@"\n' "\$0" "\$program" >"\$launcher.\$\$"
    chmod +x "\$launcher.\$\$"
    mv "\$launcher.\$\$" "\$launcher"
}
exec qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$search" \\
    -0 "\$launcher" "\$program" "\$@"
EMULATE
chmod +x "$build/emulate"

cat >"$build/cross.ini" <<INI
[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['$build/emulate']
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
        -Dpython=disabled -Dexamples=disabled
ninja -C "$build/tree"
exec python3 tools/aarch64_tests.py --jobs "$jobs" "$build/tree" "$@"
