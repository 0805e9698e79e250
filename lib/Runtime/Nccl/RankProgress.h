//===- RankProgress.h - Collectives that a rank has started -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The answer of a rank to ranks that wait for it: how many collectives it has
// started on each group, the last ones on each, and the last of all. The rank
// updates it at every start; the thread that answers questions reads it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_RANKPROGRESS_H
#define COMMSCHED_RUNTIME_NCCL_RANKPROGRESS_H

#include "Bootstrap/Bootstrap.h"

#include <deque>

namespace commsched::runtime::nccl {

class RankProgress {
public:
  void setGroups(int32_t numGroups);
  void setStarted(const Launch &launch);

  /// As JSON.
  std::string write() const;

private:
  struct Started {
    int64_t count = 0;
    /// The last ones, in their order.
    std::deque<const Site *> recent;
  };

  mutable std::mutex mutex;
  int32_t numGroups = 0;
  /// By group.
  std::vector<Started> groups;
  Launch last;
};

/// The members that have not started `launch`, or another in its place. Of a
/// send or recv, the peer: how far it is with this rank is not known.
RankStates findMissing(const Launch &launch,
                       const std::vector<Standing> &standings);

/// The ranks that have not come to the making of the group `index`.
RankStates findMissing(int32_t index, const std::vector<Standing> &standings);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_RANKPROGRESS_H
