#!/usr/bin/env bash
# Installs what is missing, builds, and schedules a training step of Llama 3 8B
# that was traced from PyTorch with its parameters sharded over 64 ranks; reports
# the step time within larger memory budgets, draws it, and writes the timeline
# before and after as a page with a picture of it. Then does the same
# with a step whose tensors are shared by 8 ranks: its collectives are on the
# critical path, where no order hides them, and are split in chunks. Repeats the
# first step with its optimizer, so that communication hides under the step before
# and after. Runs a small traced step on 4 ranks of this machine, before and after,
# and draws the step times between which the joint graph of the first step gives a
# choice of memory.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${build_packages[@]}"
make_venv
build default commsched-opt commsched-run
# Without it there is no picture of the timeline.
(install_packages chromium) || true
if ! "$venv/bin/python" -c 'import matplotlib' 2>/dev/null; then
  say "installing matplotlib"
  # Without it nothing is drawn.
  pip_install -e './python[plot]' || true
fi
demo() {
  COMMSCHED_OPT=build/bin/commsched-opt PYTHONPATH=python \
    "$venv/bin/python" -m commsched.demo "$@" --output-dir build/demo
}
demo schedule examples/llama3-8b-fsdp64.mlirbc "$@"
echo
demo schedule examples/llama3-8b-tp8.mlirbc "$@"
echo
demo repeat examples/llama3-8b-adamw-fsdp64.mlirbc
echo
demo run examples/llama3-tiny-fsdp4.mlirbc
echo
demo partition examples/llama3-8b-joint-fsdp64.mlirbc
