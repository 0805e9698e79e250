#!/usr/bin/env bash
# Trains each parallelism in each way in (docs/results/pytorch.md) with one version of
# PyTorch: newest, or one such as 2.13.0. Takes some hours; every night there is one
# run of the oldest and one of the newest (.github/workflows). What it measures is in
# build/matrix. Options are those of matrix.py, such as --case DDP.
#
#   scripts/pytorch_matrix.sh newest | VERSION [OPTION...]
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

[ $# -ge 1 ] || die "which PyTorch? newest or a version such as 2.13.0"
version=$1
shift

install_packages "${build_packages[@]}"
make_venv
build default commsched-opt
use_pytorch "$version"
COMMSCHED_OPT="$root/build/bin/commsched-opt" "$venv/bin/python" \
  benchmarks/pytorch/matrix.py --python "$venv/bin/python" --results build/matrix "$@"
