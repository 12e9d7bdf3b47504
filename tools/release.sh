#!/bin/sh
# release.sh -- build the Python package as it is published
#
#     tools/release.sh FOLDER
#
# Leaves in FOLDER a wheel that is optimised with a profile: a first wheel counts what
# runs, a part of the tests runs with it, and the second one is built with the counts,
# in the same build folder, where the compiler looks for them. The same tests run with
# it. A compiler that can do nothing with profiles gives the wheel of 'pip wheel'. What
# is made on the way stays in build-release/.
set -eu
cd "$(dirname "$0")/.."
[ $# = 1 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }

# What users do most, on arrays so small that the time is the library's own. Always the
# same; no benchmark is among them, and nothing that is about errors mostly.
training="ad_bodies ad_functions ad_loops ad_programs ad_rules ad_types construct
    creation deferred flow flow_arrays flow_list flow_objects freeze freeze_match
    freeze_sizes functions indexing instances linalg memory operators programs
    rearrange reductions regions regions_calls reshape syntax syntax_programs
    tensor_indexing tree"

work=$PWD/build-release
compiler=${CC:-cc}
profdata= # Clang's tool that makes one profile of several
PATH="$PWD/.venv-wheel/bin:$PATH"
export CCACHE_DISABLE=1 # what it keeps belongs to no profile

# wheel FOLDER [OPTION OF PIP ...]
wheel() {
    folder=$1
    shift
    .venv-wheel/bin/python -m pip wheel -q --no-deps --no-build-isolation \
        --wheel-dir "$folder" "$@" .
}

# profiled_wheel FOLDER generate|use
profiled_wheel() {
    wheel "$1" --config-settings build-dir="$work/meson" \
        --config-settings setup-args="-Db_pgo=$2"
}

can_profile() {
    if echo __clang__ | $compiler -E -P -x c - | grep -qx 1; then
        profdata=$(command -v "$($compiler -print-prog-name=llvm-profdata)") || return 1
    fi
    echo 'int main(void) { return 0; }' |
        $compiler -fprofile-generate -x c - -o "$work/probe" 2>/dev/null
}

# run_tests FOLDER: with the wheel that is there.
run_tests() {
    rm -rf "$work/package"
    .venv-wheel/bin/python -m pip install -q --no-deps --no-index --force-reinstall \
        --find-links "$1" --target "$work/package" drjit-c
    PYTHONPATH="$work/package" DRJIT_CACHE_DIR= LLVM_PROFILE_FILE="$work/raw/%m" \
        .venv/bin/python -m pytest -q -p no:cacheprovider \
        $(printf 'tests/python/test_%s.py ' $training)
}

rm -rf "$work"
mkdir -p "$work"
if ! can_profile; then
    echo "release.sh: no profile, as $compiler cannot make or use one" >&2
    wheel "$1"
    exit
fi
echo "release.sh: building the wheel that counts"
profiled_wheel "$work/counting" generate
run_tests "$work/counting"
[ -z "$profdata" ] || "$profdata" merge -o "$work/meson/default.profdata" "$work/raw"
echo "release.sh: building the wheel with what was counted"
profiled_wheel "$1" use
run_tests "$1"
