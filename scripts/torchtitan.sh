#!/usr/bin/env bash
# Trains debug models of torchtitan, plain, by its own passes and by CommSched's, with
# a newer PyTorch than the tests have, of 5 GB. Takes some hours; every night there is
# one run (.github/workflows). scripts/test.sh trains models of two layers.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${build_packages[@]}"
make_venv
pip_install torch==2.13.0 -e './python[test]'
build default commsched-opt
COMMSCHED_OPT="$root/build/bin/commsched-opt" COMMSCHED_TORCHTITAN_TORCH=2.15.0 \
  "$venv/bin/python" -m pytest -q python/tests/test_torchtitan.py
