# What scripts/demo.sh and scripts/test.sh share: installing what is missing and
# building. Meant to be sourced; every step can be repeated.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
venv="$root/.venv"

say() { printf '== %s\n' "$*"; }

# as_root COMMAND...: as it is for root, else through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "error: need root or sudo to run: $*" >&2
    exit 1
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
    echo "error: no apt-get here; install these first: ${missing[*]}" >&2
    exit 1
  fi
  say "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build_packages=(
  cmake ninja-build g++ ccache
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  zlib1g-dev libzstd-dev libcurl4-openssl-dev libedit-dev
  nlohmann-json3-dev libboost-dev libprotozero-dev
  python3 python3-venv ca-certificates
)
test_packages=(
  libgtest-dev libbenchmark-dev clang-format-22 git openmpi-bin libopenmpi-dev
  protobuf-compiler
  chromium chromium-driver
)
wheel_packages=(python3-dev libopenmpi-dev)
fuzz_packages=(clang-22 libclang-rt-22-dev)

# make_venv: Debian refuses to install Python packages beside its own.
make_venv() {
  if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    say "making the virtual environment $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
  fi
  # CMake takes the interpreter of an active environment, for the tests.
  export VIRTUAL_ENV="$venv"
}

# pip_install REQUIREMENT...: into the virtual environment.
pip_install() {
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
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

# build PRESET TARGET...: configures and builds; the output stays quiet unless
# something fails.
build() {
  local preset=$1 log
  shift
  log=$(mktemp)
  say "building (preset $preset)"
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" --target "$@"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    exit 1
  fi
  sed -n '/CommSched .* found:/,$ { /^--   /p }' "$log"
  rm -f "$log"
}

# make_wheel: the wheel of what build/ holds, in build/wheel.
make_wheel() {
  say "making the wheel"
  rm -rf build/wheel
  "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir build/wheel ./python \
    --config-settings=cmake.source-dir=prebuilt \
    --config-settings="cmake.define.COMMSCHED_BUILD_DIR=$root/build"
  ls -s --block-size=M build/wheel
}
