//===- Operation.h - Operations and element types ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that the benchmark times: what each sends and receives, its
// in-place form, and its bytes and bandwidths, which are counted as in nccl-
// tests. The element types that can be timed, and how a small integer is
// written in each of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_OPERATION_H
#define COMMSCHED_TOOLS_BENCH_OPERATION_H

#include "CommSched/Runtime/Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace commsched::bench {

struct Element {
  llvm::StringRef name;
  commsched_type type;
  int64_t bytes;
  /// 2 for a complex type, whose parts are one after the other.
  int32_t components;
  /// All integers from 0 to this one are exact; at most 2^16.
  int64_t maxExact;
};

/// Every type, in the order of `commsched_type`.
llvm::ArrayRef<Element> getElements();

/// The type of that name; null if there is none.
const Element *findElement(llvm::StringRef name);

/// Writes the integer, at most `maxExact`, into all components' bytes of one
/// element: `real` and, for a complex type, `imaginary`.
void writeElement(const Element &element, int64_t real, int64_t imaginary,
                  char *target);

enum class Operation : uint8_t {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Broadcast,
  /// Every rank sends to the next one of its group, the last to the first.
  Permute,
  /// The group's first rank sends to its second.
  SendRecv
};

/// Every operation, in the order of the enumeration.
llvm::ArrayRef<Operation> getOperations();

/// The runtime's kind of collective; of SendRecv that of the sender.
commsched_kind getKind(Operation operation);

/// The runtime's name of the kind, or "send_recv".
llvm::StringRef stringifyOperation(Operation operation);

/// Buffers in parts of one size: how many a rank of a group of `ranks` reads
/// and writes.
struct PartCounts {
  int64_t inputs = 1;
  int64_t outputs = 1;
  /// The parts of the full buffer, whose bytes are those of a table's row.
  int64_t full() const { return inputs > outputs ? inputs : outputs; }
};
PartCounts getPartCounts(Operation operation, int64_t ranks);

bool isReduction(Operation operation);
/// Whether there is a form that works in one buffer.
bool hasInPlaceForm(Operation operation);
/// The fewest ranks of a group that it makes sense on.
int32_t getLeastRanks(Operation operation);

/// Bytes of the full buffer over time, in GB/s (bytes a nanosecond).
double computeAlgorithmBandwidth(int64_t bytes, double timeNs);

/// The factor of the algorithm bandwidth that makes groups of all sizes
/// comparable with the speed of their links.
double computeBusFactor(Operation operation, int64_t ranks);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_OPERATION_H
