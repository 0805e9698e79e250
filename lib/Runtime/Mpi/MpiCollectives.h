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
// The MPI datatypes and operations of element types and reductions. Data that
// is only moved is a number of bytes for MPI. Reductions use MPI's own types
// and operations where it has them; for the others the datatype is the bytes of
// one element and the operation calls `accumulate`. MPI's counts have 32 bits,
// and its algorithms multiply them by the number of ranks, so a larger number
// of bytes is one element of a datatype that holds all of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_MPICOLLECTIVES_H
#define COMMSCHED_RUNTIME_MPI_MPICOLLECTIVES_H

#include "Core/HostBackend.h"

#include <map>
#include <mpi.h>

namespace commsched::runtime::mpi {

/// A buffer as MPI sees it.
struct Extent {
  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

/// No count that MPI gets, times the ranks, is larger. MPI's counts are ints,
/// and Open MPI adds small numbers to them. Tests set less, so that few
/// elements take the paths of many.
#ifndef COMMSCHED_MPI_MAX_COUNT
#define COMMSCHED_MPI_MAX_COUNT int64_t(1) << 30
#endif
inline constexpr int64_t maxCount = COMMSCHED_MPI_MAX_COUNT;

class MpiTypes {
public:
  MpiTypes() = default;
  MpiTypes(const MpiTypes &) = delete;
  MpiTypes &operator=(const MpiTypes &) = delete;

  /// `bytes` bytes, of which a call moves `parts` times as many.
  Status getBytes(int64_t bytes, int64_t parts, Extent &extent);
  /// One element, for reductions.
  Status getElement(commsched_type type, MPI_Datatype &datatype);
  /// An average is a sum for MPI.
  Status getOperation(commsched_type type, commsched_reduction reduction,
                      MPI_Op &operation);

  /// MPI must still run, and nothing be in pending.
  void release();

private:
  Status getBytesType(int64_t bytes, MPI_Datatype &datatype);

  std::map<int64_t, MPI_Datatype> bytesTypes;
  std::map<std::pair<commsched_type, commsched_reduction>, MPI_Op> operations;
};

/// Data that MPI delivers to a temporary buffer, since the target may not be
/// used.
struct Staged {
  std::unique_ptr<char[]> data;
  void *target = nullptr;
  int64_t bytes = 0;
};

struct MpiRequest final : HostRequest {
  Clock::time_point begin;
  /// MPI requests in pending.
  int32_t numPending = 0;
  std::vector<Staged> staged;
};

/// The MPI requests in flight. Their owners live until they have ended, or
/// until an error, after which nothing polls.
class PendingRequests {
public:
  /// Takes over `handle`. `bytes` is what must arrive, or -1 if MPI knows.
  void add(MPI_Request handle, MpiRequest &owner, int64_t bytes = -1);
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
  // Kept between calls.
  std::vector<int> places;
  std::vector<MPI_Status> statuses;
};

/// An error if a tag of `site` exceeds the limits of MPI.
Status checkLimits(const Site &site);

/// Makes the calls for `request.launch` on the group's communicator. Stages
/// results where MPI knows no such in-place form.
Status startCollective(MpiRequest &request, MPI_Comm communicator,
                       MpiTypes &types, PendingRequests &pending);

/// Completes the results when all MPI requests have ended.
void finishCollective(MpiRequest &request);

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_MPICOLLECTIVES_H
