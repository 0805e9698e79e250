//===- CollectiveAlternatives.h - What to choose from -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the implementations that can carry out each collective of a program
// from the target.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_COLLECTIVEALTERNATIVES_H
#define COMMSCHED_LIB_TRANSFORMS_COLLECTIVEALTERNATIVES_H

#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Schedule/Implementations/Implementations.h"

namespace mlir::commsched {

/// The implementations of the collectives of a program, in the terms of the
/// scheduling library.
class CollectiveAlternatives {
public:
  /// `getOperation` gives the operation of a node. `problem` and `costs` have
  /// to live on.
  CollectiveAlternatives(
      const schedule::Problem &problem,
      function_ref<Operation *(schedule::NodeId)> getOperation,
      OperationCosts &costs);

  /// Whether there is anything to choose.
  bool hasChoice() const { return !names.empty(); }
  const schedule::Implementations &getAlternatives() const {
    return alternatives;
  }
  /// The streams of the program, and behind them those of alternatives.
  ArrayRef<ContentionStream> getStreams() const { return streams; }
  /// The name of alternative `index` of a node; null for the first, which is
  /// that of the program.
  StringAttr getName(schedule::NodeId node, int32_t index) const {
    auto it = names.find({node, index});
    return it == names.end() ? StringAttr() : it->second;
  }

private:
  void addAlternatives(CollectiveOpInterface collective, schedule::NodeId node);
  schedule::StreamId getStream(CollectiveOpInterface collective,
                               StringAttr name);

  const schedule::Problem &problem;
  OperationCosts &costs;
  schedule::Implementations alternatives;
  SmallVector<ContentionStream> streams;
  DenseMap<std::pair<Attribute, StringAttr>, schedule::StreamId> streamOf;
  DenseMap<std::pair<schedule::NodeId, int32_t>, StringAttr> names;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_COLLECTIVEALTERNATIVES_H
