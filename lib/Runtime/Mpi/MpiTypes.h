//===- MpiTypes.h - MPI datatypes and operations ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The MPI datatypes and operations of element types and reductions. Data that
// is only moved is a number of bytes for MPI. Reductions use MPI's own types
// and operations where it has them; for the others the datatype is the bytes of
// one element and the operation calls `accumulate`. MPI's counts have 32 bits,
// and its algorithms multiply them by the number of ranks, so a larger number
// of bytes is one element of a datatype that holds all of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_MPITYPES_H
#define COMMSCHED_RUNTIME_MPI_MPITYPES_H

#include "CommSched/Runtime/Backend.h"

#include <map>
#include <mpi.h>
#include <utility>

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
  Status getElement(commsched_type type, MPI_Datatype &datatype);
  /// An average is a sum for MPI.
  Status getOperation(commsched_type type, commsched_reduction reduction,
                      MPI_Op &operation);

  /// MPI must still run, and nothing be in pending.
  void release();

private:
  Status makeBytes(int64_t bytes, MPI_Datatype &datatype);

  std::map<int64_t, MPI_Datatype> bytesTypes;
  std::map<commsched_type, MPI_Datatype> elementTypes;
  std::map<std::pair<commsched_type, commsched_reduction>, MPI_Op> operations;
};

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_MPITYPES_H
