#!/usr/bin/env bash
# Runs each fuzz target for MINUTES (default: 60) with libFuzzer and sanitizers
# on all processors. Inputs that fail are in build-fuzz/failures.
#
#   scripts/fuzz.sh [MINUTES]
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

minutes=${1:-60}
folder=$root/build-fuzz

install_packages "${build_packages[@]}" "${fuzz_packages[@]}"
build default commsched-opt
build fuzz CommSchedFuzzers
python3 fuzz/make_corpus.py "$folder/corpus" --opt build/bin/commsched-opt
mkdir -p "$folder/failures"

failed=0
for target in opt json runtime; do
  say "commsched-fuzz-$target for $minutes minutes"
  mkdir -p "$folder/found/$target"
  # MLIR's library has no sanitizers: what it frees and poisons does not match.
  ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0 \
    "$folder/bin/commsched-fuzz-$target" \
    "$folder/found/$target" "$folder/corpus/$target" \
    -artifact_prefix="$folder/failures/$target-" -max_len=8192 -timeout=30 \
    -rss_limit_mb=4096 -fork="$(nproc)" -ignore_crashes=1 \
    -max_total_time=$((60 * minutes)) || failed=1
done
exit $failed
