//===- Communicators.cpp - Non-blocking NCCL communicators ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Communicators.h"

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

Error Communicators::isSettled(ncclComm_t comm, bool &settled) const {
  ncclResult_t state = ncclSuccess;
  settled = false;
  if (Error error = checkNccl(ncclCommGetAsyncError(comm, &state),
                              "ncclCommGetAsyncError", comm))
    return error;
  settled = state == ncclSuccess;
  return checkNccl(state, "NCCL", comm);
}

Error Communicators::settle(ncclComm_t comm,
                            const KeepWaiting &keepWaiting) const {
  while (true) {
    bool settled = false;
    if (Error error = isSettled(comm, settled))
      return error;
    if (settled)
      return std::nullopt;
    if (Error error = keepWaiting())
      return error;
  }
}

Error Communicators::check() const {
  bool settled = false;
  if (world)
    if (Error error = isSettled(world, settled))
      return error;
  for (ncclComm_t comm : groups)
    if (comm)
      if (Error error = isSettled(comm, settled))
        return error;
  return std::nullopt;
}

Error Communicators::init(int32_t rank, int32_t numRanks,
                          const ncclUniqueId &id,
                          const KeepWaiting &keepWaiting) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (Error error =
          checkNccl(ncclCommInitRankConfig(&world, numRanks, id, rank, &config),
                    "ncclCommInitRankConfig"))
    return error;
  return settle(world, keepWaiting);
}

Error Communicators::split(const Group &group, const KeepWaiting &keepWaiting,
                           ncclComm_t &result) {
  // Rows have no rank in common: the first one names the row.
  int color = group.members.empty() ? NCCL_SPLIT_NOCOLOR : group.members[0];
  ncclComm_t &comm = groups.emplace_back(nullptr);
  if (Error error =
          checkNccl(ncclCommSplit(world, color, group.rank < 0 ? 0 : group.rank,
                                  &comm, nullptr),
                    "ncclCommSplit", world))
    return error;
  // The new communicator is there when the old one is done.
  if (Error error = settle(world, keepWaiting))
    return error;
  result = comm;
  return comm ? settle(comm, keepWaiting) : std::nullopt;
}

Error Communicators::finalize(const KeepWaiting &keepWaiting) {
  auto leave = [&](ncclComm_t &comm) -> Error {
    if (!comm)
      return std::nullopt;
    Error error = checkNccl(ncclCommFinalize(comm), "ncclCommFinalize", comm);
    if (!error)
      error = settle(comm, keepWaiting);
    if (error)
      return error;
    error = checkNccl(ncclCommDestroy(comm), "ncclCommDestroy");
    comm = nullptr;
    return error;
  };
  for (ncclComm_t &comm : groups)
    if (Error error = leave(comm))
      return error;
  return leave(world);
}

void Communicators::abort() {
  // Those that were split off first: the world's abort would also end a split
  // that is under way.
  for (ncclComm_t &comm : groups) {
    if (comm)
      ncclCommAbort(comm);
    comm = nullptr;
  }
  if (world)
    ncclCommAbort(world);
  world = nullptr;
}
