//===- CollectiveCost.h - what a collective costs ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one question that passes ask: how long does this collective take? A
// measured table answers where it can, the NCCL model everywhere else.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_COLLECTIVECOST_H
#define COMMSCHED_COSTMODEL_COLLECTIVECOST_H

#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/CostModel/NcclModel.h"

#include <cstdint>
#include <optional>

namespace mlir::commsched::cost {

class CollectiveCost {
public:
  explicit CollectiveCost(const Target &target) : model(target) {}
  CollectiveCost(const Target &target, MeasuredTable table)
      : model(target), table(std::move(table)) {}

  /// Nanoseconds: the table's answer if it has one, else the model's. Pure,
  /// and never decreasing in `bytes` or `tensors`.
  int64_t timeNs(const CollectiveQuery &query) const;

  /// Nanoseconds from the table: interpolated between the points of a curve;
  /// beyond its ends the model's time scaled to meet the curve there; between
  /// the curves of two rank counts, interpolated over the logarithm of ranks.
  /// Rows measure single tensors: for every further one, the model says what it
  /// adds to the smallest message. Nothing where no curve fits, and for groups
  /// that do not communicate.
  std::optional<int64_t> tableTimeNs(const CollectiveQuery &query) const;

  const NcclModel &getModel() const { return model; }

private:
  double curveNs(const MeasuredCurve &curve,
                 const CollectiveQuery &query) const;
  std::optional<int64_t> singleTensorNs(const CollectiveQuery &query) const;
  int64_t furtherTensorsNs(const CollectiveQuery &query) const;

  NcclModel model;
  std::optional<MeasuredTable> table;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_COLLECTIVECOST_H
