#!/usr/bin/env bash
# Runs the checks on random programs that are part of the tests, with COUNT times
# as many programs (default: 10), on seeds that the tests do not use. The tests
# keep each check below a minute; a campaign takes about COUNT minutes a check.
#
#   scripts/random_campaign.sh [COUNT [SEED]]
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

count=${1:-10}
seed=${2:-1000}
python=$venv/bin/python
checks=test/Transforms/Inputs
equivalence=test/Equivalence/Inputs
folder=build/campaign

install_packages "${build_packages[@]}"
make_venv
pip_install numpy
build default commsched-opt commsched-run
PATH="$root/build/bin:/usr/lib/llvm-22/bin:$PATH"
mkdir -p "$folder"

run() { say "$*"; "$python" "$@"; }

run $checks/check_budgets.py --functions $((200 * count)) --seed "$seed" commsched-opt
run $checks/check_schedules.py --functions $((400 * count)) --seed "$seed" commsched-opt
run $checks/check_larger_budgets.py --functions $((30 * count)) --seed "$seed" commsched-opt
run $checks/check_rank_agreement.py --functions $((200 * count)) --ranks 3 \
  --seed "$seed" --folder "$folder" commsched-opt
run $checks/check_params.py --functions $((300 * count)) --seed "$seed" commsched-opt
run $checks/check_reinplacing.py --functions $((300 * count)) --seed "$seed" commsched-opt
run $checks/check_fsdp_order.py --functions $((600 * count)) --seed "$seed" commsched-opt
run $checks/check_buckets.py --count $((45 * count)) --functions 12 --seed "$seed" commsched-opt
run fuzz/check_programs.py --programs $((2000 * count)) --seed "$seed" commsched-opt
last=$((seed + 20 * count - 1))
run $equivalence/check_equivalence.py --random="$seed-$last" --folder="$folder" --opt=commsched-opt
run $equivalence/check_iterations.py --random="$seed-$last" --linked="$seed-$last" \
  --loops="$seed-$last" --folder="$folder" --opt=commsched-opt
run $equivalence/check_partitions.py --random="$seed-$last" --run=3 --folder="$folder" --opt=commsched-opt
last=$((seed + 110 * count - 1))
run $equivalence/check_partitions.py --pass=commsched-fit-memory --small="$seed-$last" \
  --run=2 --offloads=$count --folder="$folder" --opt=commsched-opt \
  --variants "device-memory=12288 host-memory=1GiB" "device-memory=20480 host-memory=8KiB"
run $equivalence/check_budgets.py --small="$((14 * seed))-$((14 * seed + 2320 * count - 1))" \
  --operations=14 --budgets 24576 36864 --no-comparison --twice=0 --folder="$folder" \
  --opt=commsched-opt
say "all checks passed"
