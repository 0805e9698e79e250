//===- Communicators.cpp - Non-blocking NCCL communicators ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Communicators.h"

#include "Nccl/NcclImplementations.h"

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

Status Communicators::isSettled(ncclComm_t comm, bool &settled) const {
  ncclResult_t state = ncclSuccess;
  settled = false;
  if (Status status = checkNccl(ncclCommGetAsyncError(comm, &state),
                                "ncclCommGetAsyncError", comm);
      !status)
    return status;
  settled = state == ncclSuccess;
  return checkNccl(state, "NCCL", comm);
}

Status Communicators::settle(ncclComm_t comm,
                             const KeepWaiting &keepWaiting) const {
  while (true) {
    bool settled = false;
    if (Status status = isSettled(comm, settled); !status)
      return status;
    if (settled)
      return Status();
    if (Status status = keepWaiting(); !status)
      return status;
  }
}

Status Communicators::check() const {
  bool settled = false;
  if (world)
    if (Status status = isSettled(world, settled); !status)
      return status;
  for (ncclComm_t comm : groups)
    if (comm)
      if (Status status = isSettled(comm, settled); !status)
        return status;
  return Status();
}

Status Communicators::init(int32_t rank, int32_t numRanks,
                           const ncclUniqueId &id,
                           const KeepWaiting &keepWaiting) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (Status status =
          checkNccl(ncclCommInitRankConfig(&world, numRanks, id, rank, &config),
                    "ncclCommInitRankConfig");
      !status)
    return status;
  return settle(world, keepWaiting);
}

Status Communicators::split(const Group &group, const KeepWaiting &keepWaiting,
                            ncclComm_t &result) {
  // Rows have no rank in common: the first one names the row.
  int color = group.members.empty() ? NCCL_SPLIT_NOCOLOR : group.members[0];
  ncclComm_t &comm = groups.emplace_back(nullptr);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (group.implementation)
    config = makeConfig(*group.implementation);
  if (Status status = checkNccl(
          ncclCommSplit(world, color, group.rank < 0 ? 0 : group.rank, &comm,
                        group.implementation ? &config : nullptr),
          "ncclCommSplit", world);
      !status)
    return status;
  // The new communicator is there when the old one is done.
  if (Status status = settle(world, keepWaiting); !status)
    return status;
  result = comm;
  return comm ? settle(comm, keepWaiting) : Status();
}

Status Communicators::registerWindow(ncclComm_t comm, void *buffer,
                                     int64_t bytes,
                                     const KeepWaiting &keepWaiting,
                                     ncclWindow_t &window) {
  window = nullptr;
  if (Status status =
          checkNccl(ncclCommWindowRegister(comm, buffer, bytes, &window,
                                           NCCL_WIN_COLL_SYMMETRIC),
                    "ncclCommWindowRegister", comm);
      !status)
    return status;
  return settle(comm, keepWaiting);
}

Status Communicators::finalize(const KeepWaiting &keepWaiting) {
  auto leave = [&](ncclComm_t &comm) -> Status {
    if (!comm)
      return Status();
    Status status = checkNccl(ncclCommFinalize(comm), "ncclCommFinalize", comm);
    if (status)
      status = settle(comm, keepWaiting);
    if (!status)
      return status;
    status = checkNccl(ncclCommDestroy(comm), "ncclCommDestroy");
    comm = nullptr;
    return status;
  };
  for (ncclComm_t &comm : groups)
    if (Status status = leave(comm); !status)
      return status;
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
