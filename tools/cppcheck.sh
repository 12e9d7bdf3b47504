#!/bin/sh
# cppcheck.sh -- static analysis of the library, where cppcheck is installed. It says
# nothing if all is well; a finding fails 'make lint'. Wrong findings are listed in
# cppcheck.supp, with reasons.
set -eu
cd "$(dirname "$0")/.."
cppcheck --quiet --error-exitcode=1 --std=c11 --language=c -j 2 \
    --enable=warning,portability,performance \
    --suppressions-list=tools/cppcheck.supp \
    -D_GNU_SOURCE -D__x86_64__ -D__GNUC__=12 -DPY_VERSION_HEX=0x030A0000 \
    -DLANES_ISA=baseline -DGEMM_ISA=baseline -DREDUCE_ISA=baseline \
    -DORDERED_ISA=baseline \
    --library=python -I include -I src src
