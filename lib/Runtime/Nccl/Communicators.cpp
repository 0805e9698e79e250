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
  COMMSCHED_TRY(CALL_NCCL(comm, ncclCommGetAsyncError, comm, &state));
  settled = state == ncclSuccess;
  return checkNccl(state, "NCCL", comm);
}

Status Communicators::settle(ncclComm_t comm,
                             const KeepWaiting &keepWaiting) const {
  while (true) {
    bool settled = false;
    COMMSCHED_TRY(isSettled(comm, settled));
    if (settled)
      return Status();
    COMMSCHED_TRY(keepWaiting());
  }
}

Status Communicators::check() const {
  bool settled = false;
  if (world)
    COMMSCHED_TRY(isSettled(world, settled));
  for (ncclComm_t comm : groups)
    if (comm)
      COMMSCHED_TRY(isSettled(comm, settled));
  return Status();
}

Status Communicators::init(int32_t rank, int32_t numRanks,
                           const ncclUniqueId &id,
                           const KeepWaiting &keepWaiting) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  COMMSCHED_TRY(CALL_NCCL(nullptr, ncclCommInitRankConfig, &world, numRanks, id,
                          rank, &config));
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
  COMMSCHED_TRY(CALL_NCCL(world, ncclCommSplit, world, color,
                          group.rank < 0 ? 0 : group.rank, &comm,
                          group.implementation ? &config : nullptr));
  // The new communicator is there when the old one is done.
  COMMSCHED_TRY(settle(world, keepWaiting));
  result = comm;
  return comm ? settle(comm, keepWaiting) : Status();
}

Status Communicators::registerWindow(ncclComm_t comm, void *buffer,
                                     int64_t bytes,
                                     const KeepWaiting &keepWaiting,
                                     ncclWindow_t &window) {
  window = nullptr;
  COMMSCHED_TRY(CALL_NCCL(comm, ncclCommWindowRegister, comm, buffer, bytes,
                          &window, NCCL_WIN_COLL_SYMMETRIC));
  return settle(comm, keepWaiting);
}

Status Communicators::finalize(const KeepWaiting &keepWaiting) {
  auto leave = [&](ncclComm_t &comm) -> Status {
    if (!comm)
      return Status();
    COMMSCHED_TRY(CALL_NCCL(comm, ncclCommFinalize, comm));
    COMMSCHED_TRY(settle(comm, keepWaiting));
    return CALL_NCCL(nullptr, ncclCommDestroy, std::exchange(comm, nullptr));
  };
  for (ncclComm_t &comm : groups)
    COMMSCHED_TRY(leave(comm));
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
