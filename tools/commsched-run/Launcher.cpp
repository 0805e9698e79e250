//===- Launcher.cpp - Who started this process ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::commsched::run;

static std::optional<int32_t> readInteger(const char *name) {
  const char *text = std::getenv(name);
  int32_t value = 0;
  if (!text || StringRef(text).getAsInteger(10, value) || value < 0)
    return std::nullopt;
  return value;
}

std::optional<Launcher> mlir::commsched::run::detectLauncher() {
  struct {
    const char *name, *backend, *rank, *numRanks;
  } launchers[] = {
      {"torchrun", "nccl", "RANK", "WORLD_SIZE"},
      {"mpirun", "mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"mpirun", "mpi", "PMI_RANK", "PMI_SIZE"},
  };
  for (const auto &launcher : launchers) {
    std::optional<int32_t> rank = readInteger(launcher.rank);
    std::optional<int32_t> numRanks = readInteger(launcher.numRanks);
    if (rank && numRanks)
      return Launcher{launcher.name, launcher.backend, *rank, *numRanks};
  }
  return std::nullopt;
}
