//===- Launcher.cpp - Which rank a launcher made this process ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Launcher.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

using namespace commsched::runtime;

namespace {
struct Variables {
  const char *rank;
  const char *numRanks;
  const char *localRank;
};
} // namespace

static const Variables launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"}};

/// -1 when the variable is not set.
static Error readVariable(const char *name, int32_t &value) {
  value = -1;
  const char *text = std::getenv(name);
  if (!text)
    return std::nullopt;
  char *end = nullptr;
  long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > INT32_MAX)
    return std::string(name) + "='" + text + "' is no rank or number of ranks";
  value = static_cast<int32_t>(number);
  return std::nullopt;
}

bool commsched::runtime::isLaunched() {
  return std::any_of(std::begin(launchers), std::end(launchers),
                     [](const Variables &variables) {
                       return std::getenv(variables.rank) ||
                              std::getenv(variables.numRanks);
                     });
}

Error commsched::runtime::checkRank(int32_t rank, int32_t numRanks) {
  if (numRanks >= 1 && rank >= 0 && rank < numRanks)
    return std::nullopt;
  return "rank " + std::to_string(rank) + " of " + std::to_string(numRanks) +
         " ranks does not exist";
}

Error commsched::runtime::findLaunchedRank(const commsched_options &options,
                                           LaunchedRank &result) {
  result = LaunchedRank();
  for (const Variables &variables : launchers) {
    int32_t rank, numRanks, localRank;
    if (Error error = readVariable(variables.rank, rank))
      return error;
    if (Error error = readVariable(variables.numRanks, numRanks))
      return error;
    if (Error error = readVariable(variables.localRank, localRank))
      return error;
    if (rank == -1 && numRanks == -1)
      continue;
    if (rank == -1 || numRanks == -1)
      return std::string(rank == -1 ? variables.rank : variables.numRanks) +
             " is not set, but " +
             (rank == -1 ? variables.numRanks : variables.rank) + " is";
    result = {rank, numRanks, localRank};
    break;
  }
  if ((options.rank == -1) != (options.num_ranks == -1))
    return std::string("a rank and a number of ranks are given together or "
                       "not at all");
  if (options.rank != -1) {
    if (options.rank != result.rank || options.num_ranks != result.numRanks)
      result.localRank = -1;
    result.rank = options.rank;
    result.numRanks = options.num_ranks;
  }
  if (result.rank == -1)
    return std::string("no launcher says which rank this is: neither "
                       "OMPI_COMM_WORLD_RANK nor PMI_RANK nor RANK is set");
  return checkRank(result.rank, result.numRanks);
}
