#!/usr/bin/env bash
# Trains each parallelism in each way in (docs/results/pytorch.md), with PyTorch
# 2.13.0. Takes some hours; every night there is one run (.github/workflows). What it
# measures is in build/matrix. Arguments are those of matrix.py, such as --case DDP.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${build_packages[@]}"
make_venv
pip_install torch==2.13.0 -e './python[test]'
build default commsched-opt
COMMSCHED_OPT="$root/build/bin/commsched-opt" "$venv/bin/python" \
  benchmarks/pytorch/matrix.py --python "$venv/bin/python" --results build/matrix "$@"
