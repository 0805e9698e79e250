//===- Progress.h - How far this rank has come ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank tells others that wait for it: how many collectives it has
// started on each group, and which was the last. Written at every start and
// read by the thread that answers questions.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_PROGRESS_H
#define COMMSCHED_RUNTIME_NCCL_PROGRESS_H

#include "Bootstrap/Bootstrap.h"

namespace commsched::runtime::nccl {

/// Ranks with what is known of each, as describeTimeout takes them.
using MissingRanks = std::vector<std::pair<int32_t, std::string>>;

class Progress {
public:
  void setGroups(int32_t numGroups);
  void setStarted(const Launch &launch);

  /// As JSON.
  std::string write() const;

private:
  mutable std::mutex mutex;
  int32_t numGroups = 0;
  /// By group.
  std::vector<int64_t> numStarted;
  Launch last;
};

/// The members that have not started `launch`. Of a send or recv, the peer: how
/// far it is with this rank is not known.
MissingRanks findMissing(const Launch &launch,
                         const std::vector<Standing> &standings);

/// The ranks that have not come to the making of the group `index`.
MissingRanks findMissing(int32_t index, const std::vector<Standing> &standings);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_PROGRESS_H
