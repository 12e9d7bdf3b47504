#!/bin/sh
# cppcheck.sh -- static analysis of the library where cppcheck is installed. Its
# findings are advice and do not fail 'make lint': they differ between its versions.
set -eu
cd "$(dirname "$0")/.."
cppcheck --quiet --std=c11 --language=c -j 2 --inline-suppr \
    --enable=warning,portability,performance \
    --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
    --suppress=objectIndex --suppress=uninitvar --suppress=legacyUninitvar \
    -D_GNU_SOURCE -D__x86_64__ -D__GNUC__=12 \
    -DLANES_ISA=baseline -DLANES_ISA=baseline -I include -I src src
