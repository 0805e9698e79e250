//===- Types.h - MPI's datatypes and operations for ours --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data that is only moved is so many bytes for MPI. Reductions use MPI's own
// types and operations where it has them; for the rest a datatype is its bytes,
// and the operation is the one of Numerics. MPI's counts are 32 bits wide, and
// its algorithms multiply them by the number of ranks: more bytes than that are
// one element of a type that holds all of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_TYPES_H
#define COMMSCHED_RUNTIME_MPI_TYPES_H

#include "CommSched/Runtime/Backend.h"

#include <mpi.h>

#include <map>
#include <utility>

namespace commsched::runtime::mpi {

/// A buffer as MPI sees it.
struct Extent {
  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

class Types {
public:
  /// No count that MPI gets, times the ranks, is larger than `maxCount`.
  explicit Types(int64_t maxCount) : maxCount(maxCount) {}
  Types(const Types &) = delete;
  Types &operator=(const Types &) = delete;

  int64_t getMaxCount() const { return maxCount; }

  /// `bytes` bytes, of which a call moves `parts` times as many.
  Error getBytes(int64_t bytes, int64_t parts, Extent &extent);
  Error getElement(commsched_type type, MPI_Datatype &datatype);
  /// An average is a sum for MPI.
  Error getOperation(commsched_type type, commsched_reduction reduction,
                     MPI_Op &operation);

  /// MPI must still run, and nothing be in flight.
  void release();

private:
  Error makeBytes(int64_t bytes, MPI_Datatype &datatype);

  int64_t maxCount;
  std::map<int64_t, MPI_Datatype> bytesTypes;
  std::map<commsched_type, MPI_Datatype> elementTypes;
  std::map<std::pair<commsched_type, commsched_reduction>, MPI_Op> operations;
};

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_TYPES_H
