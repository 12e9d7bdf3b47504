#!/bin/sh
# fuzz_bytes.sh -- what reads files, and anybody may have written them
#
#     tools/fuzz_bytes.sh BUILD SECONDS
#
# libFuzzer changes the files of the corpora for SECONDS in all, each target for a third
# of that; then each single-bit change of each file is tried. What it comes across is
# kept in BUILD/found and is where it begins the next time. A fault ends the script; the
# input is in BUILD/crash-..., or in crash-replay if it is one of the latter, and the
# program that shows it again is BUILD/tests/bytes_TARGET.
set -eu
cd "$(dirname "$0")/.."
build=$1
seconds=$(($2 / 3))
export DRJIT_LOG_LEVEL=error
export ASAN_OPTIONS=allocator_may_return_null=1:intercept_tls_get_addr=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

for target in program recording cache; do
    mkdir -p "$build/found/$target"
    echo "bytes_$target: $seconds seconds"
    "$build/tests/bytes_$target" -max_total_time="$seconds" -print_final_stats=1 \
        -verbosity=0 -timeout=30 -rss_limit_mb=4096 -max_len=16384 \
        -dict="$build/tests/corpus/words" -artifact_prefix="$build/" \
        "$build/found/$target" "$build/tests/corpus/$target" \
        "tests/fuzz/corpus/$target"
done
for target in program recording cache; do
    echo "replay_$target: each bit of each file"
    "$build/tests/replay_$target" "$build/tests/corpus/$target" \
        "tests/fuzz/corpus/$target"
done
