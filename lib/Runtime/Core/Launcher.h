//===- Launcher.h - Ranks that launchers assign -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of launchers. The launchers mpirun and torchrun set environment
// variables that give each process its rank. Backends whose ranks are processes
// use these functions, and tools commsched_find_launcher.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_LAUNCHER_H
#define COMMSCHED_RUNTIME_CORE_LAUNCHER_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// Finds the launcher for `backend` (empty: any) as commsched_find_launcher
/// does; none if no variable is set. The first complete set of variables
/// counts; if there is none, an error names what is missing or no number.
Status findLauncher(const std::string &backend,
                    std::optional<commsched_launcher> &result);

/// Sets the numbers of `result` to the rank and number of ranks that the
/// options give, and otherwise the launcher's; without one there is one rank.
COMMSCHED_RUNTIME_API Status findLaunchedRank(const commsched_options &options,
                                              commsched_launcher &result);

/// An error unless there is a rank `rank` of `numRanks` ranks.
COMMSCHED_RUNTIME_API Status checkRank(int32_t rank, int32_t numRanks);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_LAUNCHER_H
