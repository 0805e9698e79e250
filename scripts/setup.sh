# What scripts/demo.sh and scripts/test.sh share: installing what is missing and
# building. Meant to be sourced; every step can be repeated.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
venv="$root/.venv"
# Packages of another interpreter, such as that of an active environment, are not
# for the interpreter of this one.
unset PYTHONPATH PYTHONHOME

say() { printf '== %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# watched COMMAND...: runs it and shows the newest line of its output, on a terminal
# in place, else every half minute. All of it is printed if the command fails.
watched() {
  local log status=0
  log=$(mktemp)
  "$@" 2>&1 | show_progress "$log" || status=$?
  [ $status -eq 0 ] || cat "$log" >&2
  rm -f "$log"
  return $status
}

# show_progress LOG: what watched() does with the output.
show_progress() {
  local line width next=$((SECONDS + 30))
  width=$(tput cols 2>/dev/null || echo 80)
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line" >>"$1"
    if [ -t 1 ]; then
      printf '\r\033[K%s' "${line:0:width-1}"
    elif [ $SECONDS -ge $next ]; then
      printf '   %s\n' "${line:0:100}"
      next=$((SECONDS + 30))
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}

# as_root COMMAND...: as it is for root, else through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# install_packages NAME...: the Debian packages that are not there yet.
install_packages() {
  local missing=() package
  for package in "$@"; do
    # A package that was removed may still have its configuration files here.
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      missing+=("$package")
    fi
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    die "no apt-get here; install these packages first: ${missing[*]}"
  fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    die "neither root nor sudo; let an administrator run:" \
      "apt-get install ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  # What an interrupted run left unpacked keeps apt-get from working.
  [ -z "$(dpkg --audit)" ] || watched as_root dpkg --configure -a
  watched as_root apt-get update
  watched as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# What decides what a build consists of: the same for all scripts.
build_packages=(
  cmake ninja-build g++ ccache
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  zlib1g-dev libzstd-dev libcurl4-openssl-dev libedit-dev
  nlohmann-json3-dev libboost-dev libprotozero-dev libgtest-dev libopenmpi-dev
  python3 python3-dev python3-venv ca-certificates
)
test_packages=(
  libbenchmark-dev clang-format-22 git openmpi-bin protobuf-compiler
  chromium chromium-driver
)
fuzz_packages=(clang-22 libclang-rt-22-dev)

# make_venv: Debian refuses to install Python packages beside its own. The
# interpreter is the one whose headers python3-dev installs, whatever is first on
# PATH. The environment has what the build looks for, so that the same is built
# whichever script runs first.
make_venv() {
  local python=/usr/bin/python3
  [ -x $python ] || python=python3
  if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    say "making the virtual environment $venv"
    rm -rf "$venv"
    "$python" -m venv "$venv" || die "$python cannot make the environment $venv"
  fi
  # CMake takes the interpreter of an active environment.
  export VIRTUAL_ENV="$venv"
  export PATH="$venv/bin:$PATH"
  "$venv/bin/python" -c 'import nanobind' 2>/dev/null || pip_install nanobind
}

# pip_install REQUIREMENT...: into the virtual environment.
pip_install() {
  watched "$venv/bin/python" -m pip install --disable-pip-version-check \
    --progress-bar off "$@"
}

# install_cuda: what the backend for GPUs is built from, as NVIDIA's wheels in
# the virtual environment, where CUDA's usual places lack it. No GPU is needed.
install_cuda() {
  local cuda=${CUDA_HOME:-/usr/local/cuda} wheels=()
  if [ ! -x "$cuda/bin/nvcc" ] || ! compgen -G "$cuda/lib*/libcudart.so*" >/dev/null; then
    wheels+=(nvidia-cuda-{nvcc,crt,runtime,cccl}==13.0.* nvidia-nvvm==13.0.*)
  fi
  if [ ! -e "$cuda/include/nccl.h" ] && [ ! -e /usr/include/nccl.h ]; then
    wheels+=(nvidia-nccl-cu13==2.28.9)
  fi
  [ ${#wheels[@]} -eq 0 ] || pip_install "${wheels[@]}"
}

# build PRESET TARGET...: configures and builds, and says what was found.
build() {
  local preset=$1 log
  shift
  say "building (preset $preset)"
  log=$(mktemp)
  # A folder of another revision, or one that was moved, may not be configurable.
  cmake --preset "$preset" >"$log" 2>&1 ||
    cmake --preset "$preset" --fresh >"$log" 2>&1 || {
    cat "$log" >&2
    die "cannot configure the preset $preset"
  }
  sed -n '/CommSched .* found:/,$ { /^--   /p }' "$log"
  rm -f "$log"
  watched cmake --build --preset "$preset" --target "$@"
}

# make_wheel: the wheel of what build/ holds, in build/wheel.
make_wheel() {
  say "making the wheel"
  rm -rf build/wheel
  watched "$venv/bin/python" -m pip wheel --disable-pip-version-check --no-deps \
    --wheel-dir build/wheel ./python \
    --config-settings=cmake.source-dir=prebuilt \
    --config-settings="cmake.define.COMMSCHED_BUILD_DIR=$root/build"
  ls -s --block-size=M build/wheel
}

# newest_pytorch: what PyPI has of PyTorch that is no release candidate.
newest_pytorch() {
  "$venv/bin/python" -m pip index versions torch 2>/dev/null |
    sed -n 's/^torch (\(.*\))$/\1/p'
}

# install_pytorch VERSION: the build for processors.
install_pytorch() {
  local wheels=https://download.pytorch.org/whl
  case $1 in
    nightly) pip_install --pre torch --index-url "$wheels/nightly/cpu" ;;
    newest) install_pytorch "$(newest_pytorch)" ;;
    [0-9]*) pip_install "torch==$1" --extra-index-url "$wheels/cpu" \
      --only-binary torch ;;
    *) die "no PyTorch is called '$1'" ;;
  esac
}

# use_pytorch VERSION: makes $venv an environment of its own, with that PyTorch and
# what its tests need. VERSION is newest, nightly or one such as 2.13.0.
use_pytorch() {
  venv="$root/build/pytorch-$1"
  make_venv
  say "installing PyTorch ($1)"
  install_pytorch "$1"
  # Without the extra `torch`, whose bounds may be older than this PyTorch.
  pip_install psutil pytest pytest-xdist numpy ijson
  pip_install --no-deps -e ./python
  "$venv/bin/python" -c 'import torch; print("== PyTorch", torch.__version__)'
}
