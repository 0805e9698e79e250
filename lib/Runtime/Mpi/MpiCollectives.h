//===- MpiCollectives.h - Collectives as calls of MPI -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts launches as non-blocking calls of MPI. A launch is one MPI request for
// each tensor, or several where MPI has no single call for it. The calls depend
// only on properties that are equal on all ranks of the group, so that they
// match. All requests in flight are tested together, since MPI makes progress
// only within its calls.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_MPICOLLECTIVES_H
#define COMMSCHED_RUNTIME_MPI_MPICOLLECTIVES_H

#include "CommSched/Runtime/Backend.h"
#include "Mpi/MpiTypes.h"

#include <memory>
#include <mpi.h>
#include <vector>

namespace commsched::runtime::mpi {

class PendingRequests;

/// Data that MPI delivers to a temporary buffer, since the target may not be
/// used.
struct Staged {
  std::unique_ptr<char[]> data;
  void *target = nullptr;
  int64_t bytes = 0;
};

struct MpiRequest final : Request {
  explicit MpiRequest(PendingRequests &pending) : pending(pending) {}
  ~MpiRequest() override;

  PendingRequests &pending;
  Clock::time_point begin;
  /// MPI requests in pending.
  int32_t numPending = 0;
  bool isDone = false;
  std::vector<Staged> staged;
};

/// The MPI requests in flight.
class PendingRequests {
public:
  /// Takes over `handle`. `bytes` is what must arrive, or -1 if MPI knows.
  void add(MPI_Request handle, MpiRequest &owner, int64_t bytes = -1);
  /// The owner goes while MPI may still use its buffers: after an error.
  void abandon(MpiRequest &owner);
  /// The launch that has been in flight for the longest time, or null.
  MpiRequest *getFirst() const {
    return entries.empty() ? nullptr : entries.front().owner;
  }

  /// Lets MPI work, and appends the launches that have ended.
  Status poll(std::vector<MpiRequest *> &ended);

private:
  /// `code` is the error of the request.
  Status checkReceived(int code, const MPI_Status &status, size_t place) const;

  struct Entry {
    MpiRequest *owner = nullptr;
    int64_t bytes = -1;
  };
  std::vector<MPI_Request> handles;
  /// In the order of `handles`.
  std::vector<Entry> entries;
  std::vector<Staged> abandoned;
  // Kept between calls.
  std::vector<int> places;
  std::vector<MPI_Status> statuses;
};

/// An error if a tag of `site` exceeds the limits of MPI.
Status checkLimits(const Site &site);

/// Makes the calls for `request.launch` on the group's communicator. Stages
/// results where MPI knows no such in-place form.
Status startCollective(MpiRequest &request, MPI_Comm communicator,
                       MpiTypes &types);

/// Completes the results when all MPI requests have ended.
void finishCollective(MpiRequest &request);

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_MPICOLLECTIVES_H
