//===- Movement.cpp - Collectives that only move data ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Starter.h"

#include <cstring>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

Error Starter::allGather() {
  if (inBytes == 0)
    return {};
  Extent extent;
  if (Error error = types.getBytes(inBytes, numRanks, extent))
    return error;
  bool isInPlace = in == output(group.rank * inBytes);
  return add(MPI_Iallgather(isInPlace ? MPI_IN_PLACE : in, extent.count,
                            extent.type, out, extent.count, extent.type,
                            communicator, &handle),
             "MPI_Iallgather");
}

Error Starter::allToAll() {
  if (inBytes == 0)
    return {};
  Extent extent;
  if (Error error = types.getBytes(inBytes / numRanks, numRanks, extent))
    return error;
  return add(MPI_Ialltoall(in, extent.count, extent.type, out, extent.count,
                           extent.type, communicator, &handle),
             "MPI_Ialltoall");
}

/// By messages: MPI_Ialltoallv places its parts with 32 bits, and whether they
/// suffice may differ between ranks, since each has its own splits.
Error Starter::unevenAllToAll() {
  auto getPart = [&](const std::vector<int64_t> &splits, int64_t total,
                     int32_t rank) {
    return (splits.empty() ? total / numRanks : splits[rank]) *
           tensor->element.bytes;
  };
  int64_t offset = 0;
  for (int32_t rank = 0; rank != numRanks; ++rank) {
    int64_t bytes = getPart(tensor->outputSplits, tensor->outputs, rank);
    if (Error error = receive(output(offset), bytes, rank, allToAllTag))
      return error;
    offset += bytes;
  }
  offset = 0;
  for (int32_t rank = 0; rank != numRanks; ++rank) {
    int64_t bytes = getPart(tensor->inputSplits, tensor->inputs, rank);
    if (Error error = send(input(offset), bytes, rank, allToAllTag))
      return error;
    offset += bytes;
  }
  return {};
}

Error Starter::broadcast() {
  if (outBytes == 0)
    return {};
  Extent extent;
  if (Error error = types.getBytes(outBytes, numRanks, extent))
    return error;
  // The root sends what it is given, and copies it meanwhile.
  bool isRoot = group.rank == site.peer;
  void *buffer = isRoot ? const_cast<char *>(in) : out;
  Error error = add(MPI_Ibcast(buffer, extent.count, extent.type, site.peer,
                               communicator, &handle),
                    "MPI_Ibcast");
  if (!error && isRoot && in != out)
    std::memcpy(out, in, outBytes);
  return error;
}

Error Starter::permute() {
  bool isTarget = false;
  for (auto [source, target] : site.pairs) {
    if (target != group.rank)
      continue;
    isTarget = true;
    if (Error error = receive(out, outBytes, source, permuteTag))
      return error;
  }
  if (!isTarget && outBytes > 0)
    std::memset(out, 0, outBytes);
  for (auto [source, target] : site.pairs)
    if (source == group.rank)
      if (Error error = send(in, inBytes, target, permuteTag))
        return error;
  return {};
}

Error Starter::send(const void *data, int64_t bytes, int32_t rank, int tag) {
  Extent extent;
  if (Error error = types.getBytes(bytes, 1, extent))
    return error;
  return add(MPI_Isend(data, extent.count, extent.type, rank, tag, communicator,
                       &handle),
             "MPI_Isend");
}

Error Starter::receive(void *data, int64_t bytes, int32_t rank, int tag) {
  Extent extent;
  if (Error error = types.getBytes(bytes, 1, extent))
    return error;
  return add(MPI_Irecv(data, extent.count, extent.type, rank, tag, communicator,
                       &handle),
             "MPI_Irecv", bytes);
}
