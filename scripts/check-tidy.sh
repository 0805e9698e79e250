#!/usr/bin/env bash
# Runs clang-tidy 22 with the checks of .clang-tidy on C++ sources: those that
# differ from REVISION (default: HEAD), or the files or folders named behind --.
#
#   scripts/check-tidy.sh origin/main
#   scripts/check-tidy.sh -- lib/Schedule lib/Partition
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

if [ "${1:-}" = -- ]; then
  shift
  mapfile -t files < <(git ls-files -- "$@" | grep '\.cpp$')
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "${1:-HEAD}" -- '*.cpp')
fi
if [ ${#files[@]} -eq 0 ]; then
  say "no C++ sources to check"
  exit 0
fi

install_packages "${build_packages[@]}" "${test_packages[@]}" clang-tidy-22
# The preset without unity batches: clang-tidy needs one command for each file.
# The generated headers are all that it needs built.
say "configuring (preset dev)"
cmake --preset dev >/dev/null
mapfile -t headers < <(ninja -C build-dev -t targets all |
  sed -nE 's/^([^ :]*IncGen): phony$/\1/p')
ninja -C build-dev "${headers[@]}" >/dev/null
say "checking ${#files[@]} files"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-22 --quiet -p build-dev
