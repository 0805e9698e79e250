#!/usr/bin/env bash
# Builds commsched-opt and runs the tests of PyTorch's side with another PyTorch than
# scripts/test.sh: the newest of PyPI, the nightly build, or a version. Each is the
# build for processors, in an environment of its own.
#
#   scripts/test_pytorch.sh newest | nightly | VERSION [PYTEST OPTION...]
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

[ $# -ge 1 ] || die "which PyTorch? newest, nightly or a version such as 2.13.0"
version=$1
shift

install_packages "${build_packages[@]}" "${test_packages[@]}"
make_venv
build default commsched-opt

use_pytorch "$version"

cd python/tests
export COMMSCHED_OPT="$root/build/bin/commsched-opt"
exec "$venv/bin/python" -m pytest -q --numprocesses "$(nproc)" --dist loadfile \
  "$@" test_agreement*.py test_apply_*.py test_import_*.py test_inductor.py \
  test_inductor_settings.py test_torch_*.py
