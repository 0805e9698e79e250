//===- Communicators.cpp - Non-blocking NCCL communicators ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The methods of NcclBackend that make, watch and end communicators, and the
// windows of groups. The communicators of groups are split off that of all
// ranks. The ranks therefore have to meet only once, and a split is a call of
// all ranks in one order, as `createGroup` is. All communicators are
// non-blocking, so that operations that never end can be aborted.
//
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/Sites.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

Status NcclBackend::openWorld(Deadline deadline) {
  // Groups of one GPU have streams of their own; with this, NCCL keeps the
  // order in which the host starts their collectives.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  // Where GPUs do not reach each other's memory, NCCL then has no windows;
  // otherwise it registers buffers for other purposes, which this backend does
  // not need, and calls that windows.
  setenv("NCCL_LOCAL_REGISTER", "0", /*overwrite=*/0);
  COMMSCHED_TRY(CALL_NCCL(nullptr, ncclGetVersion, &ncclVersion));
  ncclUniqueId id = {};
  std::string text;
  if (place.rank == 0) {
    COMMSCHED_TRY(CALL_NCCL(nullptr, ncclGetUniqueId, &id));
    text.assign(id.internal, sizeof(id.internal));
  }
  std::vector<std::string> all;
  COMMSCHED_TRY(bootstrap->exchange(text, all, deadline));
  if (all[0].size() != sizeof(id.internal))
    return "rank 0 has no identifier of NCCL's communicator";
  std::memcpy(id.internal, all[0].data(), sizeof(id.internal));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  COMMSCHED_TRY(CALL_NCCL(nullptr, ncclCommInitRankConfig, &world,
                          place.numRanks, id, place.rank, &config));
  return settle(world, watch(deadline, "while NCCL connects all ranks"));
}

Status NcclBackend::createGroup(const Group &group, Deadline deadline) {
  progress.setGroups(group.index + 1);
  COMMSCHED_TRY(settle(deadline));
  size_t number = group.index - Group::d2hIndex;
  if (channels.size() <= number)
    channels.resize(number + 1);
  if (group.implementation && needsWindow(*group.implementation))
    COMMSCHED_TRY(checkNodes(group, deadline));
  Channel &channel = getChannel(group);
  auto describe = [this, &group] {
    RankStates missing = findMissing(group.index, bootstrap->ask());
    Status status = bootstrap->getFailure();
    return status ? describeTimeout("while NCCL connects its ranks", deadlineMs,
                                    missing)
                  : status.getMessage();
  };
  COMMSCHED_TRY(
      orGiveUp(split(group, watch(deadline, describe), channel.comm)));
  if (!channel.comm)
    return Status();
  channel.ownsStream = group.stream == group.index;
  if (!channel.ownsStream) {
    channel.stream = channels[group.stream - Group::d2hIndex].stream;
    return Status();
  }
  return CALL_CUDA(cudaStreamCreateWithFlags, &channel.stream,
                   cudaStreamNonBlocking);
}

/// A communicator for the group, with the configuration of its implementation;
/// null where it has no members here.
Status NcclBackend::split(const Group &group, const KeepWaiting &keepWaiting,
                          ncclComm_t &comm) {
  // Rows have no rank in common: the first one names the row.
  int color = group.members.empty() ? NCCL_SPLIT_NOCOLOR : group.members[0];
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (group.implementation)
    config = makeConfig(*group.implementation);
  COMMSCHED_TRY(CALL_NCCL(world, ncclCommSplit, world, color,
                          group.rank < 0 ? 0 : group.rank, &comm,
                          group.implementation ? &config : nullptr));
  // The new communicator is there when the old one is done.
  COMMSCHED_TRY(settle(world, keepWaiting));
  return comm ? settle(comm, keepWaiting) : Status();
}

/// An error unless all members of the group are on one node. A call of all
/// ranks.
Status NcclBackend::checkNodes(const Group &group, Deadline deadline) {
  // As NCCL tells nodes apart.
  char name[256] = "";
  const char *given = std::getenv("NCCL_HOSTID");
  if (given && *given)
    std::strncpy(name, given, sizeof(name) - 1);
  else
    gethostname(name, sizeof(name) - 1);
  std::vector<std::string> nodes;
  COMMSCHED_TRY(exchange(name, nodes, deadline));
  for (int32_t rank : group.members)
    if (int32_t first = group.members[0]; nodes[rank] != nodes[first])
      return concat("takes ranks on one node, but rank ", first, " is on '",
                    nodes[first], "' and rank ", rank, " on '", nodes[rank],
                    "'");
  return Status();
}

Status NcclBackend::isSettled(ncclComm_t comm, bool &settled) const {
  ncclResult_t state = ncclSuccess;
  settled = false;
  COMMSCHED_TRY(CALL_NCCL(comm, ncclCommGetAsyncError, comm, &state));
  settled = state == ncclSuccess;
  return checkNccl(state, "NCCL", comm);
}

Status NcclBackend::settle(ncclComm_t comm,
                           const KeepWaiting &keepWaiting) const {
  while (true) {
    bool settled = false;
    COMMSCHED_TRY(isSettled(comm, settled));
    if (settled)
      return Status();
    COMMSCHED_TRY(keepWaiting());
  }
}

Status NcclBackend::checkCommunicators() const {
  bool settled = false;
  if (world)
    COMMSCHED_TRY(isSettled(world, settled));
  for (const Channel &channel : channels)
    if (channel.comm)
      COMMSCHED_TRY(isSettled(channel.comm, settled));
  return Status();
}

Status NcclBackend::leaveCommunicators(Deadline deadline) {
  KeepWaiting keepWaiting = watch(deadline, "while NCCL's ranks leave");
  auto leave = [&](ncclComm_t &comm) -> Status {
    if (!comm)
      return Status();
    COMMSCHED_TRY(CALL_NCCL(comm, ncclCommFinalize, comm));
    COMMSCHED_TRY(settle(comm, keepWaiting));
    return CALL_NCCL(nullptr, ncclCommDestroy, std::exchange(comm, nullptr));
  };
  for (Channel &channel : channels)
    COMMSCHED_TRY(leave(channel.comm));
  return leave(world);
}

void NcclBackend::giveUp() {
  // Those that were split off first: the world's abort would also end a split
  // that is under way.
  for (Channel &channel : channels)
    if (ncclComm_t comm = std::exchange(channel.comm, nullptr))
      ncclCommAbort(comm);
  if (world)
    ncclCommAbort(std::exchange(world, nullptr));
  putOff.clear();
  unsettled.clear();
  hasGivenUp = true;
}

Status NcclBackend::orGiveUp(Status status) {
  if (!status)
    giveUp();
  return status;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

Status NcclBackend::prepareGroup(const Group &group,
                                 const std::vector<const Site *> &sites,
                                 Deadline deadline) {
  Channel &channel = getChannel(group);
  if (!needsWindow(*group.implementation) || !channel.comm)
    return Status();
  int64_t bytes = getWindowBytes(sites);
  if (bytes <= channel.window.bytes)
    return Status();
  COMMSCHED_TRY(waitForIdle(deadline));
  COMMSCHED_TRY(closeWindow(channel));
  COMMSCHED_TRY(openWindow(channel, bytes, deadline));
  if (channel.window.handle)
    return Status();
  // For one rank, NCCL registers nothing and copies.
  if (group.members.size() == 1)
    return closeWindow(channel);
  return std::string(
      "NCCL registers no memory for it: the GPUs of its ranks do not reach "
      "each other's memory, or NCCL_CUMEM_ENABLE or NCCL_WIN_ENABLE is 0");
}

Status NcclBackend::openWindow(Channel &channel, int64_t bytes,
                               Deadline deadline) {
  Window &window = channel.window;
  Status status;
  window.buffer = memory.allocateWindow(bytes, status);
  if (!status)
    return concat("no window of ", bytes, " bytes: ", status.getMessage());
  // A call of all ranks of the group, with equal sizes and in one order. The
  // handle stays null where NCCL has no windows.
  COMMSCHED_TRY(orGiveUp(CALL_NCCL(channel.comm, ncclCommWindowRegister,
                                   channel.comm, window.buffer, bytes,
                                   &window.handle, NCCL_WIN_COLL_SYMMETRIC)));
  COMMSCHED_TRY(orGiveUp(
      settle(channel.comm,
             watch(deadline, "while NCCL registers memory of all its ranks"))));
  window.bytes = window.handle ? bytes : 0;
  return Status();
}

Status NcclBackend::closeWindow(Channel &channel) {
  Window window = std::exchange(channel.window, {});
  Status status;
  if (window.handle)
    status = CALL_NCCL(channel.comm, ncclCommWindowDeregister, channel.comm,
                       window.handle);
  if (window.buffer)
    memory.release(window.buffer);
  return status;
}
