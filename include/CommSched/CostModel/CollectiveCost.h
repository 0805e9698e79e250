//===- CollectiveCost.h - Time of a collective ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one question that passes ask: how long does this collective take? A
// measured table answers where it can, the NCCL model everywhere else.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_COLLECTIVECOST_H
#define COMMSCHED_COSTMODEL_COLLECTIVECOST_H

#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/CostModel/NcclModel.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched::cost {

class CollectiveCost {
public:
  explicit CollectiveCost(const Target &target);
  CollectiveCost(const Target &target, MeasuredTable table);

  /// Nanoseconds: the table's answer if it has one, else the model's. Pure,
  /// and never decreasing in `bytes` or `tensors`. `query` can be carried out:
  /// findObstacle() finds none.
  int64_t timeNs(const CollectiveQuery &query) const;

  /// Why the implementation of `query` cannot carry it out, as the end of a
  /// sentence about it; also if its time is not known.
  std::optional<std::string> findObstacle(const CollectiveQuery &query) const;

  /// Nanoseconds from the table: interpolated between the points of a curve;
  /// beyond its ends the model's time scaled to meet the curve there; between
  /// the curves of two rank counts, interpolated over the logarithm of ranks.
  /// A curve is of single tensors: for every further one, the table's rows of
  /// several tensors in the same group say what it adds, or else the model what
  /// it adds to the smallest message. Nothing where no curve fits, and for
  /// groups that do not communicate. Curves are of one implementation.
  std::optional<int64_t> tableTimeNs(const CollectiveQuery &query) const;

  /// The model's answer: that of NCCL with the channels of the implementation,
  /// or its linear time.
  NcclEstimate estimate(const CollectiveQuery &query) const;

  /// NcclModel::getShareableNs() for timeNs(): of the table, where it has an
  /// answer, or else of the model. O(points of a curve).
  double getShareableNs(const CollectiveQuery &query) const;

  /// NCCL's model for an implementation: with its channels.
  const NcclModel &getModel(int32_t implementation = 0) const {
    return models[implementation];
  }

private:
  double curveNs(const MeasuredCurve &curve,
                 const CollectiveQuery &query) const;
  double getModelShareableNs(const CollectiveQuery &query) const;
  double getCurveShareableNs(const MeasuredCurve &curve,
                             const CollectiveQuery &query) const;
  template <typename TimeOn>
  std::optional<double> readTable(const CollectiveQuery &query,
                                  const TimeOn &timeOn) const;
  std::optional<int64_t> singleTensorNs(const CollectiveQuery &query) const;
  int64_t furtherTensorsNs(const CollectiveQuery &query) const;

  const Implementation &getImplementation(const CollectiveQuery &query) const {
    return models.front().getTarget().implementations.get(query.implementation);
  }

  /// By implementation.
  std::vector<NcclModel> models;
  std::optional<MeasuredTable> table;
};

/// The full buffer, in bytes, from which on a collective of one tensor reaches
/// `fraction` of its bandwidth in the limit. Bandwidth is bytes over time; the
/// limit is that of 1 PiB, where no latency is left to see. Merging collectives
/// beyond this size saves little and delays what waits for them.
///
/// The following is guaranteed: the size and every power of two above it (up to
/// 1 PiB) reach the fraction, and one byte less does not, unless the size is 1.
/// Where bandwidth only grows with the size, as it does wherever the time is a
/// latency plus bytes over bandwidth, or the least of several such, every other
/// larger size reaches it too, but for the rounding of times to nanoseconds. A
/// table bends bandwidth at its rows only, so with rows at powers of two the
/// same holds.
///
/// A `fraction` up to 0 is reached by 1 byte, and one above 1 never: the result
/// is then 1 PiB. It is 0 where size means nothing: for a group of one, which
/// does not communicate, and for a barrier. About a hundred evaluations of the
/// model.
int64_t getSaturationBytes(const CollectiveCost &cost, CollectiveKind kind,
                           int32_t ranks, int32_t ranksPerNode,
                           double fraction);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_COLLECTIVECOST_H
