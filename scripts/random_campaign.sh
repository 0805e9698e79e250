#!/usr/bin/env bash
# Runs the checks of random programs, problems and steps that are part of the
# tests with COUNT times as many of each (default: 10) as a test once had, from
# the seed SEED on, and what the tests do only in turns as a whole. The tests have
# a short run of each, on a seed that comes from the commit. With the default a
# campaign takes some hours; every night there is one (.github/workflows).
#
#   scripts/random_campaign.sh [COUNT [SEED]]
#
# The same command repeats a campaign. Every check runs, also after one that has
# failed; those are named at the end, and build/campaign has what they printed.
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
pip_install torch==2.13.0 ortools==9.15.6755 -e './python[test]'
build default commsched-opt commsched-run commsched-conformance CommSchedUnitTests
PATH="$root/build/bin:/usr/lib/llvm-22/bin:$PATH"
mkdir -p "$folder"

failed=() number=0

# Runs a command, and keeps it with what it prints if it fails.
run() {
  local log=$folder/$((++number)).log
  say "$*" | tee "$log"
  if "$@" >>"$log" 2>&1; then
    tail -n 1 "$log"
    rm "$log"
  else
    tail -n 20 "$log"
    failed+=("$*")
  fi
}

check() { run "$python" "$@"; }

# The seeds of so many programs for each of COUNT.
many() { echo "$seed+$(($1 * count))"; }

for tests in build/unittests/*/CommSched*Tests; do
  run env COMMSCHED_TEST_SEED="$seed" COMMSCHED_TEST_RUNS="$count" "$tests" --gtest_brief=1
done
run env COMMSCHED_TEST_SEED="$seed" COMMSCHED_TEST_RUNS="$count" \
  COMMSCHED_OPT="$root/build/bin/commsched-opt" "$python" -m pytest -q \
  python/tests/test_{apply_random,optimum,partition_parity}.py
for ranks in 1 2 3 4 8; do
  run commsched-conformance --backend=local --ranks="$ranks"
done

check $checks/check_budgets.py --functions $((200 * count)) --growing $((30 * count)) --seed "$seed" commsched-opt
check $checks/check_rank_agreement.py --functions $((200 * count)) --ranks 3 \
  --seed "$seed" --folder "$folder" commsched-opt
check $checks/check_fsdp_order.py --functions $((600 * count)) --seed "$seed" commsched-opt

equal() { check "$equivalence/$1" --folder="$folder" --opt=commsched-opt "${@:2}"; }

for step in fsdp experts implementations regions hybrid accumulated stored mixed \
  packed packed-experts joint; do
  equal check_equivalence.py --steps $step
done
equal check_equivalence.py --random="$(many 20)" --regions="$seed+$(((count + 4) / 5))"
equal check_iterations.py --steps plain mixed packed stored hybrid accumulated experts
equal check_iterations.py --random="$(many 20)" --linked="$(many 20)" \
  --loops="$(many 20)" --both="$(many 3)"
equal check_budgets.py --regions="$(many 3)"
equal check_split_backward.py --random="$(many 30)" --steps
equal check_partitions.py --small="$(many 15)" --operations=30 --run=3
equal check_partitions.py --module=examples/llama3-8b-joint-fsdp64.mlirbc \
  --variants strategy=default activation-memory-budget=0.5 \
  "collectives=recompute activation-memory-budget=0.2"
equal check_partitions.py --pass=test-commsched-fit-memory --small="$(many 110)" --run=2 \
  --offloads="$count" \
  --variants "memory-budget=12288 host-memory=1GiB" "memory-budget=20480 host-memory=8KiB"
equal check_budgets.py --small="$(many 2320)" --operations=14 --budgets 24576 36864 \
  --no-comparison --twice=0
equal check_budgets.py --steps="$(many 2700)" --operations=14 --budgets 24576 49152 --twice=0
equal check_budgets.py --steps="$(many 10)" --operations=60 --budgets 49152 98304
equal check_budgets.py --counted="$(many 20)"
equal check_iterations.py --whole="$(many 20)"
equal check_budgets.py --small="$(many 15)" --budgets 24576 40960 61440 92160

if ((${#failed[@]})); then
  say "failed, with seed $seed:"
  printf '%s\n' "${failed[@]}"
  exit 1
fi
say "all checks passed, with seed $seed"
