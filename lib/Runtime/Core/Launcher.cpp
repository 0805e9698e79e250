//===- Launcher.cpp - Ranks that launchers assign -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Launcher.h"

#include <cstdlib>
#include <cstring>

using namespace commsched::runtime;

namespace {
struct LauncherVariables {
  const char *name;
  const char *backend;
  const char *rank;
  const char *numRanks;
  const char *localRank;
};
} // namespace

/// By priority. A process that one launcher starts under another has the
/// variables of both, and the innermost launcher, which has started the process
/// itself, gives the rank. The variables do not say which one that is. The
/// usual nesting is torchrun under mpirun (or srun with PMI), where MPI starts
/// one agent of torchrun for each machine and the agents start the ranks: MPI's
/// variables then count the agents. Scripts that start PyTorch by mpirun alone
/// set RANK and WORLD_SIZE to MPI's numbers. So torchrun's variables are first.
/// A worker of torchrun that calls mpirun is a rank itself; programs started
/// that way use the backend "mpi", see `findLauncher`.
static const LauncherVariables launchers[] = {
    {"torchrun", "nccl", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun", "mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpirun", "mpi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"}};

/// -1 when the variable is not set.
static Status readVariable(const char *name, int32_t &value) {
  value = -1;
  const char *text = std::getenv(name);
  if (!text)
    return Status();
  char *end = nullptr;
  long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > INT32_MAX)
    return std::string(name) + "='" + text + "' is no rank or number of ranks";
  value = static_cast<int32_t>(number);
  return Status();
}

Status commsched::runtime::checkRank(int32_t rank, int32_t numRanks) {
  if (numRanks >= 1 && rank >= 0 && rank < numRanks)
    return Status();
  return concat("rank ", rank, " of ", numRanks, " ranks does not exist");
}

/// Reads the variables of one launcher; none if they are not set.
static Status readLauncher(const LauncherVariables &variables,
                           std::optional<commsched_launcher> &result) {
  int32_t rank, numRanks, localRank;
  COMMSCHED_TRY(readVariable(variables.rank, rank));
  COMMSCHED_TRY(readVariable(variables.numRanks, numRanks));
  COMMSCHED_TRY(readVariable(variables.localRank, localRank));
  if (rank == -1 && numRanks == -1)
    return Status();
  if (rank == -1 || numRanks == -1)
    return std::string(rank == -1 ? variables.rank : variables.numRanks) +
           " is not set, but " +
           (rank == -1 ? variables.numRanks : variables.rank) + " is";
  result = commsched_launcher{variables.name, variables.backend, rank, numRanks,
                              localRank};
  return Status();
}

Status
commsched::runtime::findLauncher(const std::string &backend,
                                 std::optional<commsched_launcher> &result) {
  result.reset();
  Status first;
  // MPI assigns the ranks of its backend whatever other launchers set, so its
  // own launchers come first there.
  for (bool isPreferred : {true, false})
    for (const LauncherVariables &variables : launchers) {
      bool isOfMpi = std::strcmp(variables.backend, "mpi") == 0;
      if ((backend != "mpi" || isOfMpi) != isPreferred)
        continue;
      Status status = readLauncher(variables, result);
      if (result)
        return Status();
      if (first)
        first = status;
    }
  return first;
}

Status commsched::runtime::findLaunchedRank(const commsched_options &options,
                                            commsched_launcher &result) {
  std::optional<commsched_launcher> launcher;
  COMMSCHED_TRY(findLauncher(options.backend ? options.backend : "", launcher));
  result = launcher.value_or(commsched_launcher{nullptr, nullptr, 0, 1, -1});
  if ((options.rank == -1) != (options.num_ranks == -1))
    return "a rank and a number of ranks are given together or not at all";
  if (options.rank != -1) {
    if (options.rank != result.rank || options.num_ranks != result.num_ranks)
      result.local_rank = -1;
    result.rank = options.rank;
    result.num_ranks = options.num_ranks;
  }
  return checkRank(result.rank, result.num_ranks);
}
