#!/usr/bin/env bash
# Installs what is missing and builds everything with PRESET (default: dev), which
# compiles each source by itself; with --test also runs the lit and unit tests on it.
#
#   scripts/build_preset.sh [dev|asan|default] [--test]
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

preset=${1:-dev}
install_packages "${build_packages[@]}" "${test_packages[@]}"
make_venv
build "$preset" all CommSchedUnitTests
[ "${2:-}" = --test ] || exit 0

folder=build-$preset
[ "$preset" != default ] || folder=build
pip_install psutil
say "lit and unit tests (preset $preset)"
# Sanitized programs, without optimization, take ten times as long.
exec "$venv/bin/python" /usr/lib/llvm-22/bin/lit --succinct --timeout 3000 \
  "$folder/test" "$folder/test/Unit"
