//===- Starter.h - MPI's calls for one launch -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Collectives.h starts, by kinds: Movement.cpp for data that is only
// moved, Reductions.cpp for the rest.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_STARTER_H
#define COMMSCHED_RUNTIME_MPI_STARTER_H

#include "Flight.h"
#include "Session.h"
#include "Types.h"

namespace commsched::runtime::mpi {

// Messages between two ranks of a group. Those of one tag arrive in the order
// in which they were started, which is the same on both sides.
inline constexpr int permuteTag = 0;
inline constexpr int allToAllTag = 1;
inline constexpr int firstUserTag = 2;

/// Starts the calls of one launch.
class Starter {
public:
  Starter(MpiRequest &request, MPI_Comm communicator, Types &types)
      : request(request), site(*request.launch.site),
        group(*request.launch.group), numRanks(group.members.size()),
        communicator(communicator), types(types) {}

  /// The calls for one tensor.
  Error start(size_t index);
  Error startBarrier();

private:
  /// Adds the request that a call has made.
  Error add(int code, const char *call, int64_t bytes = -1) {
    if (Error error = checkMpi(code, call))
      return error;
    request.flight.add(handle, request, bytes);
    return {};
  }
  char *output(int64_t offset = 0) const { return out + offset; }
  const char *input(int64_t offset = 0) const { return in + offset; }

  Error allGather();
  Error reduceScatter();
  Error reduceParts(MPI_Datatype type, MPI_Op operation);
  Error allReduce();
  Error allToAll();
  Error unevenAllToAll();
  Error broadcast();
  Error permute();
  Error send(const void *data, int64_t bytes, int32_t rank, int tag);
  Error receive(void *data, int64_t bytes, int32_t rank, int tag);

  MpiRequest &request;
  const Site &site;
  const Group &group;
  int64_t numRanks;
  MPI_Comm communicator;
  Types &types;
  MPI_Request handle = MPI_REQUEST_NULL;
  // Of the tensor that is being started.
  const Tensor *tensor = nullptr;
  const char *in = nullptr;
  char *out = nullptr;
  int64_t inBytes = 0;
  int64_t outBytes = 0;
};

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_STARTER_H
