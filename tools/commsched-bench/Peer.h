//===- Peer.h - A backend called directly -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of peers: shared objects that call MPI or NCCL as a program
// without the runtime would, so that the benchmark can time both in one run. A
// peer is used on one rank, after the runtime has started the library and while
// it runs; its communicators and streams are its own.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_PEER_H
#define COMMSCHED_TOOLS_BENCH_PEER_H

#include "CommSched/Runtime/Runtime.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace commsched::bench {

/// One call. Members of a group are counted from 0 in their order.
struct PeerCall {
  commsched_kind kind = COMMSCHED_ALL_REDUCE;
  /// As `createGroup` returned.
  int32_t group = 0;
  commsched_type type = COMMSCHED_F32;
  int64_t elementBytes = 0;
  /// For kinds that reduce.
  commsched_reduction reduction = COMMSCHED_SUM;
  /// Of one part, as MPI and NCCL count.
  int64_t elements = 0;
  /// Broadcast: the root; send and recv: the other member.
  int32_t peer = 0;
  const void *input = nullptr;
  void *output = nullptr;
  /// As in the rules of commsched_start.
  bool inPlace = false;
};

/// Functions that return text fail with it; it is empty when all is well.
class Peer {
public:
  virtual ~Peer() = default;

  /// "Open MPI v4.1.4": what the collectives are carried out by.
  virtual std::string getLibrary() const = 0;
  /// The device that they run on; empty for the processor.
  virtual std::string getDevice() const = 0;

  /// Makes a communicator of its own for the group that this rank is in;
  /// `members` has all ranks of it. Called on all ranks, for all groups in one
  /// order; nothing before it waits for other ranks.
  virtual std::string createGroup(const std::vector<int32_t> &members,
                                  int32_t &group) = 0;

  /// Whether the library has a plain call for this one.
  virtual bool supports(const PeerCall &call) const = 0;

  /// Starts the call; `slot`, below `maxSlots`, names it until its wait. A
  /// permute sends to the next member and receives from the one before.
  virtual std::string start(const PeerCall &call, int32_t slot) = 0;
  /// Lets later calls use the buffers of `slot`.
  virtual std::string wait(int32_t slot) = 0;
  /// Waits on the host for everything that was started.
  virtual std::string synchronize() = 0;

  static constexpr int32_t maxSlots = 1024;
};

/// The parameters of a peer's creation.
struct PeerConfig {
  int32_t rank = 0;
  int32_t numRanks = 1;
  /// commsched_exchange.
  int32_t (*exchange)(const void *mine, void *all, int64_t bytes) = nullptr;
};

} // namespace commsched::bench

/// Exported by every peer. Null, and why in `error`, when it cannot be made.
extern "C" COMMSCHED_RUNTIME_API commsched::bench::Peer *
commsched_bench_create_peer(const commsched::bench::PeerConfig *config,
                            std::string *error);

#endif // COMMSCHED_TOOLS_BENCH_PEER_H
