//===- Environment.h - Where a run takes place ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a table says about its origin: hosts, device, library; the same on all
// ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_ENVIRONMENT_H
#define COMMSCHED_TOOLS_BENCH_ENVIRONMENT_H

#include "Peer.h"
#include "Plan.h"

#include <memory>

namespace commsched::bench {

struct Environment {
  std::string backend;
  /// "Open MPI v4.1.4"; empty if not known.
  std::string library;
  /// "znver4, 2 cores", or a GPU's name.
  std::string device;
  /// By rank.
  std::vector<std::string> hosts;

  /// Asks all ranks. False on an error of the runtime. `peer` may be null.
  bool gather(const Peer *peer);

  /// Hosts that the members of a group are on; the most of any of its rows.
  int32_t countNodes(const PlanGroup &group) const;
};

/// The peer that calls the library of `backend`, from beside the runtime's
/// library. Null, and why in `error`, if there is none.
std::unique_ptr<Peer> loadPeer(llvm::StringRef backend, std::string &error);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_ENVIRONMENT_H
