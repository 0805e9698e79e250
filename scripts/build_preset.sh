#!/usr/bin/env bash
# Installs what is missing and builds everything with PRESET (default: dev), which
# compiles each source by itself.
#
#   scripts/build_preset.sh [dev|asan|default]
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${build_packages[@]}" "${test_packages[@]}"
make_venv
build "${1:-dev}" all CommSchedUnitTests
