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
wheels=https://download.pytorch.org/whl

# newest_version: what PyPI has of PyTorch that is no release candidate.
newest_version() {
  "$venv/bin/python" -m pip index versions torch 2>/dev/null |
    sed -n 's/^torch (\(.*\))$/\1/p'
}

# install_torch VERSION: with what it needs, but none of CUDA.
install_torch() {
  case $1 in
    nightly) pip_install --pre torch --index-url "$wheels/nightly/cpu" ;;
    newest) install_torch "$(newest_version)" ;;
    [0-9]*) pip_install "torch==$1" --extra-index-url "$wheels/cpu" \
      --only-binary torch ;;
    *) die "no PyTorch is called '$1'" ;;
  esac
}

install_packages "${build_packages[@]}" "${test_packages[@]}"
make_venv
build default commsched-opt

venv="$root/build/pytorch-$version"
make_venv
say "installing PyTorch ($version)"
install_torch "$version"
# Without the extra `torch`, whose bounds may be older than this PyTorch.
pip_install psutil pytest pytest-xdist numpy ijson
pip_install --no-deps -e ./python
"$venv/bin/python" -c 'import torch; print("== PyTorch", torch.__version__)'

cd python/tests
export COMMSCHED_OPT="$root/build/bin/commsched-opt"
exec "$venv/bin/python" -m pytest -q --numprocesses "$(nproc)" --dist loadfile \
  "$@" test_agreement*.py test_apply_*.py test_import_*.py test_inductor.py \
  test_inductor_settings.py test_torch_*.py
