//===- ValueProgram.h - Programs of values for tests ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slow reference for SplitProblem: programs of operations on values, as in
// IR. A region is split there operation by operation, and the problem of the
// result is derived from its values, without any rule about buffers.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_VALUEPROGRAM_H
#define COMMSCHED_UNITTESTS_SCHEDULE_VALUEPROGRAM_H

#include "CommSched/Schedule/Splitting/SplitProblem.h"

#include <array>
#include <map>
#include <string>

namespace mlir::commsched::schedule::testing {

/// How a chunk of a region's operation reads an operand.
enum class Way : uint8_t {
  /// From outside of the region: the value or a view of its part.
  Free,
  /// From outside: a copied part.
  Copied,
  /// Of the region: the chunk with the same index.
  Chunk,
  /// Of the region: all chunks, put together.
  Whole,
  /// Of the region: a copied part of all chunks, put together.
  WholeCopied,
};

/// The operation of a program that makes a value; arguments are negative.
using ValueId = int32_t;

struct ValueOperation {
  struct Operand {
    ValueId value;
    Way way = Way::Free;
  };
  std::string label;
  NodeKind kind = NodeKind::Compute;
  StreamId stream = noStream;
  int64_t costNs = 0, chunkCostNs = 0;
  /// A Wait has its Start. A view has one.
  std::vector<Operand> operands;
  /// The result is in the buffer of the operand; true of a Wait.
  bool isView = false;
  int64_t bytes = 0, chunkBytes = 0;
  bool isReturned = false;
  int32_t region = -1;
};

struct ValueProgram {
  std::vector<ValueOperation> operations;
  std::vector<int64_t> argumentBytes;
  /// Dependences of other kinds than Data.
  std::vector<Dependence> others;

  /// The operation or argument in whose buffer a value is.
  ValueId findRoot(ValueId value) const;
  /// Node i is operation i. The buffers are those of the arguments, then of the
  /// operations that allocate.
  Problem makeProblem() const;
  /// By operation that allocates, and by argument: its buffer.
  std::map<ValueId, BufferId> findBuffers() const;
};

/// What the wholes and slices of random programs cost and allocate.
struct PartCost {
  static int64_t costNs(ValueId value) { return 1 + (value + 8) % 3; }
  static int64_t wholeBytes(ValueId value) { return 40 + (value + 8) % 7; }
  static int64_t sliceBytes(ValueId value) { return 11 + (value + 8) % 5; }
};

/// Up to `maxOperations` operations in up to two regions. The same seed gives
/// the same program on every platform.
ValueProgram makeRandomValueProgram(uint64_t seed, int32_t maxOperations);

/// The program with region i in chunks[i]. Labels: "3", "3.0" (a chunk), "w3"
/// (the whole of a value), "s3.1.0" (the slice of a value for a region's
/// chunk).
ValueProgram splitValues(const ValueProgram &program,
                         const std::vector<int32_t> &chunks);

/// The regions as SplitProblem::create() takes them.
std::vector<SplitSpec> makeSpecs(const ValueProgram &program,
                                 const std::vector<int32_t> &chunks);

/// The label in splitValues() of a node of the split problem.
std::string labelOf(const SplitProblem &split,
                    const std::vector<SplitSpec> &specs, NodeId node,
                    const ValueProgram &program);

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_VALUEPROGRAM_H
