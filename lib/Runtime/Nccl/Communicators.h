//===- Communicators.h - Non-blocking NCCL communicators --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communicator of all ranks, and the communicators of the groups, which are
// split off it. The ranks therefore have to meet only once, and a split is a
// call of all ranks in one order, as `createGroup` is. All communicators are
// non-blocking, so that operations that never end can be aborted.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_COMMUNICATORS_H
#define COMMSCHED_RUNTIME_NCCL_COMMUNICATORS_H

#include "Nccl/CudaResources.h"

#include <deque>
#include <functional>

namespace commsched::runtime::nccl {

/// Called again and again while something is in progress; an error ends that.
using KeepWaiting = std::function<Status()>;

class Communicators {
public:
  Communicators() = default;
  Communicators(const Communicators &) = delete;
  Communicators &operator=(const Communicators &) = delete;
  ~Communicators() { abort(); }

  /// Joins all ranks.
  Status init(int32_t rank, int32_t numRanks, const ncclUniqueId &id,
              const KeepWaiting &keepWaiting);
  /// A communicator for the group, with the configuration of its
  /// implementation; null where it has no members here.
  Status split(const Group &group, const KeepWaiting &keepWaiting,
               ncclComm_t &result);
  ncclComm_t getWorld() const { return world; }

  /// Registers `bytes` bytes, which NCCL has allocated, as a window for
  /// collectives of the communicator. A call of all its ranks, with equal sizes
  /// and in one order. `window` stays null where NCCL has no windows.
  Status registerWindow(ncclComm_t comm, void *buffer, int64_t bytes,
                        const KeepWaiting &keepWaiting, ncclWindow_t &window);

  /// Waits until NCCL is done with what it does in the background.
  Status settle(ncclComm_t comm, const KeepWaiting &keepWaiting) const;
  /// Whether it is done.
  Status isSettled(ncclComm_t comm, bool &settled) const;
  /// The first error of any communicator.
  Status check() const;

  /// Leaves all communicators together with the other ranks.
  Status finalize(const KeepWaiting &keepWaiting);
  /// Stops what is under way, without the other ranks.
  void abort();

private:
  ncclComm_t world = nullptr;
  /// NCCL writes to the elements when a split is done.
  std::deque<ncclComm_t> groups;
};

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_COMMUNICATORS_H
