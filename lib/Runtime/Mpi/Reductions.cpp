//===- Reductions.cpp - Collectives that reduce ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Starter.h"

#include <algorithm>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

Error Starter::allReduce() {
  int64_t count = tensor->inputs;
  if (count == 0)
    return {};
  MPI_Datatype type;
  MPI_Op operation;
  if (Error error = types.getElement(*tensor->element.type, type))
    return error;
  if (Error error =
          types.getOperation(*tensor->element.type, *site.reduction, operation))
    return error;
  for (int64_t begin = 0; begin < count; begin += types.getMaxCount()) {
    int64_t offset = begin * tensor->element.bytes;
    auto size = static_cast<int>(std::min(count - begin, types.getMaxCount()));
    if (Error error =
            add(MPI_Iallreduce(in == out ? MPI_IN_PLACE : input(offset),
                               output(offset), size, type, operation,
                               communicator, &handle),
                "MPI_Iallreduce"))
      return error;
  }
  return {};
}

Error Starter::reduceScatter() {
  if (outBytes == 0)
    return {};
  MPI_Datatype type;
  MPI_Op operation;
  if (Error error = types.getElement(*tensor->element.type, type))
    return error;
  if (Error error =
          types.getOperation(*tensor->element.type, *site.reduction, operation))
    return error;
  if (tensor->outputs > types.getMaxCount() / numRanks)
    return reduceParts(type, operation);

  // In place MPI delivers to the beginning of the input, not to our own part.
  void *target = out;
  if (out == input(group.rank * outBytes) && numRanks > 1) {
    request.staged.push_back(
        {std::unique_ptr<char[]>(new char[outBytes]), out, outBytes});
    target = request.staged.back().data.get();
  }
  bool isInPlace = in == out && numRanks == 1;
  return add(MPI_Ireduce_scatter_block(isInPlace ? MPI_IN_PLACE : in, target,
                                       static_cast<int>(tensor->outputs), type,
                                       operation, communicator, &handle),
             "MPI_Ireduce_scatter_block");
}

/// A range of elements of all parts is not one range of the input: each part is
/// reduced to its owner.
Error Starter::reduceParts(MPI_Datatype type, MPI_Op operation) {
  bool isInPlace = out == input(group.rank * outBytes);
  for (int root = 0; root != numRanks; ++root) {
    for (int64_t begin = 0; begin < tensor->outputs;
         begin += types.getMaxCount()) {
      int64_t offset = begin * tensor->element.bytes;
      auto size = static_cast<int>(
          std::min(tensor->outputs - begin, types.getMaxCount()));
      const void *source = isInPlace && root == group.rank
                               ? MPI_IN_PLACE
                               : input(root * outBytes + offset);
      if (Error error = add(MPI_Ireduce(source, output(offset), size, type,
                                        operation, root, communicator, &handle),
                            "MPI_Ireduce"))
        return error;
    }
  }
  return {};
}
