//===- Launcher.h - Which rank a launcher made this process -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For backends whose ranks are processes: mpirun and torchrun say in the
// environment which rank a process is.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_LAUNCHER_H
#define COMMSCHED_RUNTIME_CORE_LAUNCHER_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

struct LaunchedRank {
  int32_t rank = -1;
  int32_t numRanks = -1;
  /// Among the ranks of this machine; -1 if the launcher does not say.
  int32_t localRank = -1;
};

/// The rank and number of ranks that the options give, and otherwise the
/// environment: Open MPI's variables, then those of other MPIs (PMI_RANK), then
/// torchrun's (RANK). An error that names the variables when nothing says it,
/// or only a half.
COMMSCHED_RUNTIME_API Error findLaunchedRank(const commsched_options &options,
                                             LaunchedRank &result);

/// Whether any of these variables is set.
COMMSCHED_RUNTIME_API bool isLaunched();

/// Whether the numbers make sense together.
COMMSCHED_RUNTIME_API Error checkRank(int32_t rank, int32_t numRanks);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_LAUNCHER_H
