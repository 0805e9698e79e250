//===- Launcher.h - Launchers and backends ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of launchers. The launchers mpirun and torchrun set environment
// variables that give each process its rank. Backends whose ranks are processes
// use these functions, and tools commsched_find_launcher.
//
// Backends other than "local" are shared objects, so that a machine without MPI
// or CUDA runs the rest. "mpi" is libCommSchedRuntimeMpi.so, looked for in the
// folders of $COMMSCHED_BACKEND_PATH and then beside the runtime; a name with a
// slash is a path.
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

/// Null and an error that names the file, the folders and the backends there.
/// Shared objects stay loaded: MPI cannot be started twice.
std::unique_ptr<Backend> createBackend(const std::string &name,
                                       const BackendConfig &config,
                                       Status &status);

/// The built-in backend "local", defined in Local/LocalBackend.cpp: ranks as
/// threads of one process. Joins the job and does not wait for the other ranks.
std::unique_ptr<Backend> createLocalBackend(const BackendConfig &config,
                                            Status &status);

/// "local" and the backends found, sorted.
std::vector<std::string> listBackends();

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_LAUNCHER_H
