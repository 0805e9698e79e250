#!/usr/bin/env bash
# Measures training steps on two gloo ranks of this machine, which should have two
# cores for them and do nothing else: the example's step, eager, compiled and
# scheduled, with what was predicted; then steps of torchtitan without passes, with its
# own and with CommSched's, with FSDP also in the memory that torchtitan's takes. In each
# job they take turns. Takes ten minutes.
#
#   benchmarks/pytorch/gloo.sh
#
# Needs build/torchtitan (docs/results/torchtitan.md says how it is made).
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ ! -d build/torchtitan ]; then
  echo "error: there is no build/torchtitan; see docs/results/torchtitan.md" >&2
  exit 1
fi
export COMMSCHED_OPT="${COMMSCHED_OPT:-$PWD/build/bin/commsched-opt}"
export PYTHONPATH="$PWD/build/torchtitan:$PWD/python:$PWD/testsupport"
export OMP_NUM_THREADS=1
python="$PWD/.venv/bin/python"

"$python" -m torch.distributed.run --standalone --nproc-per-node 2 \
  examples/pytorch/train.py --steps 40 --output build/gloo-steps.json
for budget in 5% 37%; do
  "$python" benchmarks/pytorch/titan_gloo.py --turns 10 --memory-budget "$budget"
done
for given in \
  '{"tensor_parallel_degree": 2, "data_parallel_shard_degree": 1}' \
  '{"data_parallel_replicate_degree": 2, "data_parallel_shard_degree": 1}'; do
  "$python" benchmarks/pytorch/titan_gloo.py --turns 10 --parallelism "$given"
done
"$python" benchmarks/pytorch/titan_gloo.py --turns 10 --model deepseek_v3 \
  --parallelism '{"expert_parallel_degree": 2}'
