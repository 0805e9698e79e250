#!/usr/bin/env bash
# Installs what is missing, builds, and schedules a training step of Llama 3 8B
# that was traced from PyTorch with its parameters sharded over 64 ranks.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${build_packages[@]}"
build default commsched-opt
exec python3 scripts/schedule_step.py --opt build/bin/commsched-opt \
  --output-dir build/demo "$@" examples/llama3-8b-fsdp64.mlirbc
