//===- CollectiveCost.cpp - Time of a collective --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"

#include "CommSched/CostModel/Collective.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

/// The target that NCCL has with the channels of an implementation. Inside a
/// node NCCL makes two channels of each that its graph search finds
/// (ncclTopoPostset in src/graph/connect.cc), and NVLS needs one for each
/// accelerator of the node. That the bandwidth is proportional to the channels
/// is an assumption.
static Target limitChannels(const Target &target, int32_t channels) {
  Target limited = target;
  if (channels == 0)
    return limited;
  limited.intraChannels = std::min(limited.intraChannels, channels / 2.0);
  limited.netChannelsPerRank =
      std::min<double>(limited.netChannelsPerRank, channels);
  constexpr int32_t acceleratorsPerNode = 8;
  if (channels < acceleratorsPerNode)
    limited.nvls = 0;
  return limited;
}

CollectiveCost::CollectiveCost(const Target &target) {
  for (const Implementation &implementation : target.implementations.get())
    models.emplace_back(limitChannels(target, implementation.channels));
}

CollectiveCost::CollectiveCost(const Target &target, MeasuredTable table)
    : CollectiveCost(target) {
  this->table = std::move(table);
}

/// A curve's time anywhere: beyond an end, the model's shape at the curve's
/// height.
double CollectiveCost::curveNs(const MeasuredCurve &curve,
                               const CollectiveQuery &query) const {
  if (curve.covers(query.bytes))
    return curve.interpolateNs(query.bytes);
  const MeasuredCurve::Point &end =
      query.bytes < curve.front().bytes ? curve.front() : curve.back();
  CollectiveQuery atEnd = query;
  atEnd.bytes = end.bytes;
  // Never 0: a group of several ranks and a message of some bytes.
  double modelAtEnd = static_cast<double>(estimate(atEnd).timeNs);
  double modelHere = static_cast<double>(estimate(query).timeNs);
  return end.timeNs * (modelHere / modelAtEnd);
}

/// What `timeOn` says of the curve for `query`, or interpolated between those
/// of the two closest groups. Nothing where the table has no answer.
template <typename TimeOn>
std::optional<double> CollectiveCost::readTable(const CollectiveQuery &query,
                                                const TimeOn &timeOn) const {
  bool isBarrier = query.kind == CollectiveKind::Barrier;
  bool isAlone = query.ranks <= 1 && !isHostTransfer(query.kind);
  if (!table || isAlone || (query.bytes <= 0 && !isBarrier))
    return std::nullopt;
  if (const MeasuredCurve *curve =
          table->findCurve(query.kind, query.ranks, query.nodes(),
                           getImplementation(query).name))
    return timeOn(*curve, query);
  MeasuredTable::Neighbours near =
      table->findNeighbours(query, getImplementation(query).name);
  if (!near.lower)
    return std::nullopt;
  double low = timeOn(*near.lower, near.lowerGroup);
  double high = timeOn(*near.upper, near.upperGroup);
  double fraction =
      std::log(static_cast<double>(query.ranks) / near.lowerGroup.ranks) /
      std::log(static_cast<double>(near.upperGroup.ranks) /
               near.lowerGroup.ranks);
  return std::exp((1 - fraction) * std::log(low) + fraction * std::log(high));
}

/// The table's time of all bytes in one tensor.
std::optional<int64_t>
CollectiveCost::singleTensorNs(const CollectiveQuery &query) const {
  std::optional<double> time = readTable(
      query, [&](const MeasuredCurve &curve, const CollectiveQuery &group) {
        return query.kind == CollectiveKind::Barrier ? curve.front().timeNs
                                                     : curveNs(curve, group);
      });
  return time ? std::optional(roundToNs(*time)) : std::nullopt;
}

/// Returns the time that the table, or else the model, adds for the tensors
/// beyond the first. That of the model is taken at one byte, so that it does
/// not depend on the message: the model's difference at the size itself may
/// shrink where a larger message changes the algorithm, and would make a curve
/// that is flat there decrease.
int64_t CollectiveCost::furtherTensorsNs(const CollectiveQuery &query) const {
  if (std::optional<double> measured =
          table->findFurtherTensorNs(query.kind, query.ranks, query.nodes(),
                                     getImplementation(query).name))
    return roundToNs(*measured * (query.tensors - 1));
  CollectiveQuery all = query;
  all.bytes = 1;
  CollectiveQuery first = all;
  first.tensors = 1;
  return estimate(all).timeNs - estimate(first).timeNs;
}

std::optional<int64_t>
CollectiveCost::tableTimeNs(const CollectiveQuery &query) const {
  CollectiveQuery single = query;
  single.tensors = 1;
  std::optional<int64_t> time = singleTensorNs(single);
  if (!time || query.tensors <= 1)
    return time;
  int64_t sum;
  if (llvm::AddOverflow(*time, furtherTensorsNs(query), sum))
    return std::numeric_limits<int64_t>::max();
  return sum;
}

int64_t CollectiveCost::timeNs(const CollectiveQuery &query) const {
  if (std::optional<int64_t> measured = tableTimeNs(query))
    return *measured;
  return estimate(query).timeNs;
}

NcclEstimate CollectiveCost::estimate(const CollectiveQuery &query) const {
  const Implementation &implementation = getImplementation(query);
  if (!implementation.linear || isHostTransfer(query.kind))
    return models[query.implementation].estimate(query);
  NcclEstimate estimate;
  estimate.timeNs = computeLinearTimeNs(*implementation.linear, query);
  return estimate;
}

//===----------------------------------------------------------------------===//
// Times that smaller messages share
//===----------------------------------------------------------------------===//

double CollectiveCost::getModelShareableNs(const CollectiveQuery &query) const {
  const Implementation &implementation = getImplementation(query);
  if (!implementation.linear || isHostTransfer(query.kind))
    return models[query.implementation].getShareableNs(query);
  return cost::getShareableNs(*implementation.linear, query);
}

/// Between two points, the curve is a power of the bytes. So is the time per
/// byte, which is least at one of the two. Beyond an end, times are those of
/// the model, scaled.
double CollectiveCost::getCurveShareableNs(const MeasuredCurve &curve,
                                           const CollectiveQuery &query) const {
  auto bytes = static_cast<double>(query.bytes);
  auto scaled = [&](const MeasuredCurve::Point &end, int64_t atBytes) {
    CollectiveQuery atEnd = query, there = query;
    atEnd.bytes = end.bytes;
    there.bytes = atBytes;
    return end.timeNs / static_cast<double>(estimate(atEnd).timeNs) *
           getModelShareableNs(there) * (bytes / static_cast<double>(atBytes));
  };
  double least =
      scaled(curve.front(), std::min(query.bytes, curve.front().bytes));
  if (query.bytes > curve.back().bytes)
    least = std::min(least, scaled(curve.back(), query.bytes));
  if (curve.covers(query.bytes))
    least = std::min(least, curve.interpolateNs(query.bytes));
  for (const MeasuredCurve::Point &point : curve.getPoints())
    if (point.bytes <= query.bytes)
      least = std::min(least, point.timeNs *
                                  (bytes / static_cast<double>(point.bytes)));
  return least;
}

double CollectiveCost::getShareableNs(const CollectiveQuery &query) const {
  std::optional<double> measured = readTable(
      query, [&](const MeasuredCurve &curve, const CollectiveQuery &group) {
        return getCurveShareableNs(curve, group);
      });
  return measured ? *measured : getModelShareableNs(query);
}

std::optional<std::string>
CollectiveCost::findObstacle(const CollectiveQuery &query) const {
  const Implementation &implementation = getImplementation(query);
  if (std::optional<std::string> obstacle = implementation.getObstacle(query))
    return obstacle;
  bool isModelled = implementation.linear ||
                    implementation.method == ImplementationMethod::Nccl;
  if (isModelled || tableTimeNs(query))
    return std::nullopt;
  return "has no time for it: neither 'latency_us' and 'bandwidth_gb_s' nor "
         "rows of a profile";
}

int64_t cost::getSaturationBytes(const CollectiveCost &cost,
                                 CollectiveKind kind, int32_t ranks,
                                 int32_t ranksPerNode, double fraction) {
  if ((ranks <= 1 && !isHostTransfer(kind)) || kind == CollectiveKind::Barrier)
    return 0;
  constexpr int64_t limitBytes = int64_t(1) << 50;
  auto timeOf = [&](int64_t bytes) {
    return static_cast<double>(
        cost.timeNs({kind, bytes, ranks, ranksPerNode, /*tensors=*/1}));
  };
  double wanted = fraction * limitBytes;
  double limitTime = timeOf(limitBytes);
  // bytes / time >= fraction * limitBytes / limitTime, without the quotients.
  auto reaches = [&](int64_t bytes) {
    return static_cast<double>(bytes) * limitTime >= wanted * timeOf(bytes);
  };

  int64_t above = limitBytes;
  while (above > 1 && reaches(above / 2))
    above /= 2;
  // Here `above` reaches the fraction and, unless it is 1, its half does not.
  int64_t below = above / 2;
  while (above - below > 1) {
    int64_t middle = below + (above - below) / 2;
    (reaches(middle) ? above : below) = middle;
  }
  return above;
}

namespace mlir::commsched::cost {

int32_t CollectiveQuery::nodes() const {
  if (ranksPerNode <= 0 || ranks <= ranksPerNode)
    return 1;
  return ranks / ranksPerNode + (ranks % ranksPerNode != 0);
}

} // namespace mlir::commsched::cost
