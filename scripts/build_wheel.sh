#!/usr/bin/env bash
# Installs what is missing, builds, and makes the wheel build/wheel/commsched-*.whl
# of the folder build/, with the programs linked statically. `pip wheel ./python`
# makes the same wheel, but compiles all of it in a folder of its own.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${build_packages[@]}"
make_venv
build default commsched-wheel
make_wheel
