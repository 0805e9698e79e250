//===- Launcher.h - Who started this process --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launchers such as mpirun and torchrun start a process for each rank and tell
// it by environment variables which one it is.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_LAUNCHER_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_LAUNCHER_H

#include <cstdint>
#include <optional>

namespace mlir::commsched::run {

struct Launcher {
  const char *name;
  /// The backend that one uses with it.
  const char *backend;
  int32_t rank;
  int32_t numRanks;
};

/// None for a process that was started by itself.
std::optional<Launcher> detectLauncher();

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_LAUNCHER_H
