//===- Communicators.cpp - Non-blocking NCCL communicators ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The methods of NcclBackend that make, watch and end communicators, and the
// windows of groups. The communicators of groups are split off that of all
// ranks. The ranks therefore have to meet only once, and a split is a call of
// all ranks in one order, as `createGroup` is. All communicators are
// non-blocking, so that operations that never end can be aborted.
//
// What NCCL needs for the implementation of a group: the configuration of its
// communicator, and, for copy engines and kernels on symmetric memory, a
// window: memory at the same offsets on all ranks, which they have registered
// together. Collectives outside of a window would run as NCCL's usual kernels
// without notice.
//
// Buffers of a program do not lie in windows. A group has one window for the
// tensors of one launch, since its stream carries out one launch after the
// other: what is sent is copied in before the calls of NCCL, and what is
// received copied out after them, both on the stream of the group.
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/Program.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

/// Whether the collectives of the implementation work on a window.
static bool needsWindow(const Implementation &implementation) {
  return implementation.method != Method::Nccl;
}

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
  return createStream(channel.stream);
}

/// The configuration of the communicator of a group with `implementation`.
static ncclConfig_t makeConfig(const Implementation &implementation) {
  // Nothing is inherited from the communicator that is split.
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (implementation.channels > 0)
    config.minCTAs = config.maxCTAs = implementation.channels;
  if (implementation.method == Method::CopyEngine)
    config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  return config;
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
// Implementations
//===----------------------------------------------------------------------===//

/// "2.27.3" for 22703, as ncclGetVersion codes it.
static std::string formatVersion(int version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

/// "all_gather, reduce_scatter and all_reduce".
static std::string listKinds(const std::vector<commsched_kind> &kinds) {
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == kinds.size() ? " and "
                                     : ", ") +
            std::string(getName(kinds[i]));
  return text;
}

Status NcclBackend::checkImplementation(const Implementation &implementation,
                                        const Site &site) const {
  if (!needsWindow(implementation))
    return Status();
  bool byCopies = implementation.method == Method::CopyEngine;
  int first = byCopies ? NCCL_VERSION(2, 28, 0) : NCCL_VERSION(2, 27, 0);
  if (ncclVersion < first)
    return "needs NCCL " + formatVersion(first) + ", but " +
           formatVersion(ncclVersion) + " is loaded";
  // NCCL falls back to its usual kernels for all others, without notice.
  std::vector<commsched_kind> kinds = {
      COMMSCHED_ALL_GATHER, COMMSCHED_REDUCE_SCATTER, COMMSCHED_ALL_REDUCE};
  if (byCopies)
    kinds = {COMMSCHED_ALL_GATHER, COMMSCHED_ALL_TO_ALL};
  if (std::find(kinds.begin(), kinds.end(), site.kind) == kinds.end())
    return "carries out " + listKinds(kinds) + " only";
  // Parts that are listed are sends and receives.
  if (site.hasSplitValues() ||
      std::any_of(
          site.tensors.begin(), site.tensors.end(),
          [](const Tensor &tensor) { return !tensor.inputSplits.empty(); }))
    return "carries out all_to_all in equal parts only";
  return Status();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// More than any kernel needs.
static constexpr int64_t windowAlignment = 256;

static int64_t alignInWindow(int64_t bytes) {
  return (bytes + windowAlignment - 1) / windowAlignment * windowAlignment;
}

/// The bytes of a window for any one of the sites.
static int64_t getWindowBytes(const std::vector<const Site *> &sites) {
  int64_t most = 0;
  for (const Site *site : sites) {
    int64_t bytes = 0;
    for (const Tensor &tensor : site->tensors)
      bytes += alignInWindow(tensor.getInputBytes()) +
               alignInWindow(tensor.getOutputBytes());
    most = std::max(most, bytes);
  }
  return most;
}

Launch commsched::runtime::nccl::moveIntoWindow(const Launch &launch,
                                                void *base) {
  Launch moved = launch;
  auto *next = static_cast<char *>(base);
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    moved.inputs[i] = next;
    next += alignInWindow(launch.getTensors()[i].getInputBytes());
    moved.outputs[i] = next;
    next += alignInWindow(launch.getTensors()[i].getOutputBytes());
  }
  return moved;
}

Status NcclBackend::copyWindow(const Channel &channel, const Launch &launch,
                               bool isInput) {
  Launch inWindow = moveIntoWindow(launch, channel.window.buffer);
  int64_t bytes = 0;
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    const Tensor &tensor = launch.getTensors()[i];
    int64_t count = isInput ? tensor.getInputBytes() : tensor.getOutputBytes();
    if (count == 0)
      continue;
    bytes += count;
    void *target =
        isInput ? const_cast<void *>(inWindow.inputs[i]) : launch.outputs[i];
    const void *source = isInput ? launch.inputs[i] : inWindow.outputs[i];
    COMMSCHED_TRY(CALL_CUDA(cudaMemcpyAsync, target, source, count,
                            cudaMemcpyDeviceToDevice, channel.stream));
  }
  recorder.addStagedBytes(bytes);
  return Status();
}

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
