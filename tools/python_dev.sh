#!/bin/sh
# python_dev.sh -- build the Python package in a build folder, to be used from there
#
#     tools/python_dev.sh BUILD_DIR [meson options, e.g. -Db_sanitize=address]
#     PYTHONPATH=BUILD_DIR/py python -m pytest tests/python
#
# Sets the folder up where that has not happened, builds the extension and its library,
# and fills BUILD_DIR/py/drjit (tools/python_tree.py). Its Python files are links to the
# source tree, so edits are seen at once. The package fits the interpreter in $PYTHON,
# else .venv/bin/python if it exists, else python3. $JOBS bounds the compilers that run
# at a time. 'meson configure BUILD_DIR' changes options later.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -eq 0 ] || [ "${1#-}" != "$1" ]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
build=$1
shift

if [ -z "${PYTHON:-}" ]; then
    PYTHON=python3
    [ ! -x "$root/.venv/bin/python" ] || PYTHON=$root/.venv/bin/python
fi
meson=meson
[ ! -x "$root/.venv/bin/meson" ] || meson=$root/.venv/bin/meson

if [ ! -f "$build/build.ninja" ]; then
    python=$("$PYTHON" -c 'import sys; print(sys.executable)')
    "$meson" setup "$build" "$root" -Dpython=enabled -Dpython_path="$python" \
        -Dtests=disabled -Dexamples=disabled "$@"
fi
ninja -C "$build" ${JOBS:+-j "$JOBS"} python/python-tree.stamp
