#!/usr/bin/env bash
# Builds, tests and measures on a machine with an NVIDIA GPU, without a network.
#
#   scripts/gpu.sh [--list] [--dry-run] [--runtime-only] [--standins]
#                  [--output FILE] [STEP...]
#
# Runs the steps that are named, by default all, each of at most 8 minutes, and
# adds what they give to FILE (default build/gpu-results.json). A step can be
# run again, and what one has given stays when another fails. docs/results/gpu.md
# describes the steps.
#
# The exit status is 1 if something failed, and 2 without a GPU or for an unknown
# option or step.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 2

steps=(build conformance measure tax pytorch report)
describe() {
  case $1 in
    pack) echo "on a machine with a build: what a GPU machine may lack, as build/gpu-kit" ;;
    build) echo "the runtime, its NCCL backend and their tests; the tools where MLIR is" ;;
    conformance) echo "the conformance suite and the unit tests that need a GPU" ;;
    measure) echo "products, attention, copies, host transfers, collectives" ;;
    tax) echo "what a copy, a transfer or a collective takes from a product beside it" ;;
    pytorch) echo "order, memory and time of compiled PyTorch steps, and the example" ;;
    report) echo "cost tables and a page from the results" ;;
  esac
}

usage() { sed -n '2,/^# SPDX/ { /^# SPDX/d; s/^# \{0,1\}//; p }' "${BASH_SOURCE[0]}"; }
error() { printf 'error: %s\n' "$*" >&2; }

output=build/gpu-results.json
dry= standins= runtime_only=
wanted=()
while [ $# -gt 0 ]; do
  case $1 in
    --list)
      for step in pack "${steps[@]}"; do printf '%-12s %s\n' "$step" "$(describe "$step")"; done
      exit 0 ;;
    --dry-run) dry=1 ;;
    --standins) standins=1 ;;
    --runtime-only) runtime_only=1 ;;
    --output)
      [ $# -gt 1 ] || { error "--output needs a file"; exit 2; }
      output=$2
      shift ;;
    --output=*) output=${1#*=} ;;
    -h | --help) usage; exit 0 ;;
    -*) error "unknown option '$1'; see scripts/gpu.sh --help"; exit 2 ;;
    *)
      if [ -z "$(describe "$1")" ]; then
        error "unknown step '$1'; the steps are pack ${steps[*]}"
        exit 2
      fi
      wanted+=("$1") ;;
  esac
  shift
done
if [ ${#wanted[@]} -eq 0 ]; then
  wanted=("${steps[@]}")
  # The stand-ins carry out calls; nothing can be measured with them.
  [ -n "$standins" ] && wanted=(build conformance)
fi

# -- What is here ---------------------------------------------------------------

kit=build/gpu-kit
work=${COMMSCHED_GPU_FOLDER:-$root/build/gpu}
runtime=$work/runtime
python=${PYTHON:-}
if [ -z "$python" ]; then
  python=python3
  [ -x .venv/bin/python ] && python=$root/.venv/bin/python
fi
gpus=0
if smi=$(nvidia-smi -L 2>&1); then
  gpus=$(grep -c '^GPU ' <<<"$smi")
fi

for step in "${wanted[@]}"; do
  case $step in
    pack | build | report) ;;
    conformance) [ -n "$standins" ] || needs_gpu=$step ;;
    *)
      if [ -n "$standins" ]; then
        error "step $step measures; --standins is for build and conformance only"
        exit 2
      fi
      needs_gpu=$step ;;
  esac
done
if [ -n "${needs_gpu:-}" ] && [ "$gpus" -eq 0 ] && [ -z "$dry" ]; then
  error "no NVIDIA GPU found (nvidia-smi -L: ${smi##*: }), which step" \
    "$needs_gpu needs; build, report and, with --standins, conformance do without"
  exit 2
fi
[ "$gpus" -gt 0 ] || gpus=1 # For --dry-run.

# The wheels of CUDA and NCCL are beside this Python's packages.
VIRTUAL_ENV=$("$python" -c 'import sys; print(sys.prefix)') || exit 2
export VIRTUAL_ENV
# PyTorch finds the package in the wheel that step build has unpacked, the
# programs in build/bin, and the runtime its backend in this build.
export PYTHONPATH="$work/package:$root/python${PYTHONPATH:+:$PYTHONPATH}"
export PATH="$root/build/bin:$work/package/commsched/bin:$PATH"
export COMMSCHED_BACKEND_PATH="$runtime/lib"

# -- Running ----------------------------------------------------------------------

failed=()
trap 'exit 130' INT TERM
limit=${COMMSCHED_GPU_STEP_SECONDS:-480}

# run PART [OPTION...] -- COMMAND...: one command of a step; options are those of
# scripts/gpu/results.py. Commands of a step share its time.
run() {
  local part=$1 left
  shift
  if [ -n "$dry" ]; then
    while [ "$1" != -- ]; do shift; done
    shift
    printf '%s, %s:\n ' "$step" "$part"
    printf ' %q' "$@"
    printf '\n'
    return 0
  fi
  left=$((limit - (SECONDS - began)))
  [ "$left" -gt 0 ] || left=1
  "$python" scripts/gpu/results.py --output "$output" --step "$step" --part "$part" \
    --limit "$left" ${standins:+--standins} "$@" && return 0
  failed+=("$step, $part")
  return 1
}

# measured PART SCRIPT ARGUMENT...: a program that writes JSON.
measured() {
  local part=$1 json
  json=$work/json/$step-${part// /-}.json
  shift
  run "$part" --json "$json" -- "$@" --json "$json"
}

# Ranks: one for each GPU, or two that share the only one. To NCCL these are on
# two machines and use sockets: results count, but not times.
if [ "$gpus" -gt 1 ]; then
  shared= largest=$((256 << 20))
  ranks=("$python" -m torch.distributed.run --standalone --nproc-per-node "$gpus" --no-python)
else
  shared=" shared" largest=$((4 << 20))
  ranks=(env LOCAL_WORLD_SIZE=1 NCCL_DEBUG=WARN "$python" test/Runtime/Inputs/nccl_ranks.py --ranks=2
    "--timeout=$limit" --)
fi
# What NCCL says if it does not let ranks share a GPU.
refusal='Duplicate GPU detected'

step_pack() {
  local wheel
  wheel=$(compgen -G 'build/wheel/*.whl' | head -1)
  if [ -z "$wheel" ]; then
    error "no build/wheel/*.whl: run scripts/build_wheel.sh first"
    failed+=("pack")
    return
  fi
  if ! dpkg -L nlohmann-json3-dev libgtest-dev >/dev/null 2>&1; then
    error "the packages nlohmann-json3-dev and libgtest-dev are not installed here"
    failed+=("pack")
    return
  fi
  [ -n "$dry" ] && { echo "pack: $wheel, nlohmann-json and GoogleTest to $kit"; return; }
  rm -rf "$kit"
  mkdir -p "$kit"
  # A prefix for CMake, as /usr is.
  dpkg -L nlohmann-json3-dev libgtest-dev | grep -E '^/usr/(include|lib|share/cmake)/.*\.(h|hpp|a|cmake)$' |
    sed 's,^/usr/,,' | tar -C /usr -cf - -T - | tar -C "$kit" -xf -
  cp "$wheel" "$kit"
  git rev-parse HEAD >"$kit/commit"
  du -sh "$kit"
}

step_build() {
  local generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  run configure -- cmake "${generator[@]}" -S scripts/gpu -B "$runtime" \
    "-DCMAKE_PREFIX_PATH=$root/$kit" &&
    run runtime -- cmake --build "$runtime" --parallel "$(nproc)" --target all
  run package -- "$python" scripts/gpu/package.py "$work/package" "$kit"
  [ -n "$runtime_only" ] && return
  if compgen -G "${MLIR_DIR:-/usr/lib/llvm-22/lib/cmake/mlir}/MLIRConfig.cmake" >/dev/null; then
    run "tools configure" -- cmake --preset default &&
      run tools -- cmake --build --preset default --target commsched-opt commsched-run
  else
    echo "build, tools: MLIR 22 is not here; commsched-opt and commsched-run are those of the" \
      "package"
  fi
}

step_conformance() {
  local conformance=$runtime/bin/commsched-conformance
  if [ -n "$standins" ]; then
    local launch=("$python" test/Runtime/Inputs/nccl_ranks.py "--standins=$runtime/nccl/Standin/lib" --)
    run "1 rank" -- "${launch[@]}" "$conformance" --backend=nccl --ranks=1
    run "4 ranks" -- "${launch[@]}" "$conformance" --backend=nccl --ranks=4
    run refusals -- "${launch[@]}" "$conformance" --backend=nccl --ranks=2 --refusals
    return
  fi
  run "unit tests" --refuse 'SKIPPED' -- "$runtime/nccl/CommSchedRuntimeGpuTests"
  run "1 rank" -- "$conformance" --backend=nccl
  run refusals -- "$conformance" --backend=nccl --refusals
  run "several ranks$shared" --unsupported "$refusal" -- "${ranks[@]}" "$conformance" --backend=nccl
  if [ -n "$dry" ] || command -v commsched-run >/dev/null; then
    run "scheduled program$shared" --unsupported "$refusal" -- \
      "${ranks[@]}" commsched-run test/Runtime/nccl-processes.mlir --backend=nccl
  fi
}

# The steps below need a PyTorch that sees the GPU.
see_device() { measured device "$python" scripts/gpu/measure.py device; }

step_measure() {
  local part
  see_device || return
  for part in products attention copies transfers; do
    measured "$part" "$python" scripts/gpu/measure.py "$part"
  done
  local json=$work/json/measure-collectives.json
  run "collectives$shared" --json "$json" --unsupported "$refusal" -- \
    "${ranks[@]}" "$python" -m commsched.torch.measure --backend nccl --max-size "$largest" -o "$json"
  if [ -n "$dry" ] || command -v commsched-run >/dev/null; then
    json=$work/json/measure-runtime.json
    run "runtime$shared" --json "$json" --unsupported "$refusal" -- "${ranks[@]}" commsched-run \
      --collectives=all --backend=nccl --type=bf16 --min-bytes=64K "--max-bytes=$largest" "--output=$json"
  fi
}

step_tax() {
  see_device || return
  measured copies "$python" scripts/gpu/measure.py tax
  local json=$work/json/tax-collectives.json
  run "collectives$shared" --json "$json" --unsupported "$refusal" -- \
    "${ranks[@]}" "$python" scripts/gpu/measure.py tax --json "$json"
}

step_pytorch() {
  local json=$work/json/pytorch-train.json
  see_device || return
  measured compiled "$python" scripts/gpu/compiled.py
  run "training$shared" --json "$json" --unsupported "$refusal" -- \
    env TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 "${ranks[@]}" "$python" examples/pytorch/train.py \
    --layers 4 --dim 512 --sequence 1024 --batch 8 --steps 10 --output "$json"
}

step_report() {
  run tables -- "$python" scripts/gpu/report.py "$output" --tables "$work/tables" --page "$work/gpu.md"
}

for step in "${wanted[@]}"; do
  [ -n "$dry" ] || echo "== step $step: $(describe "$step")"
  began=$SECONDS
  "step_$step"
done
[ -n "$dry" ] && exit 0
if [ ${#failed[@]} -gt 0 ]; then
  printf -v list '%s; ' "${failed[@]}"
  error "failed: ${list%; }. $output has what was measured, and why"
  exit 1
fi
echo "all of ${wanted[*]} done: $output"
