//===- NcclModel.cpp - NCCL's tuning model ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/NcclModel.h"

#include "NcclGroup.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

llvm::StringRef cost::stringifyNcclAlgorithm(NcclAlgorithm algorithm) {
  switch (algorithm) {
  case NcclAlgorithm::Tree:
    return "tree";
  case NcclAlgorithm::Ring:
    return "ring";
  case NcclAlgorithm::NVLS:
    return "nvls";
  case NcclAlgorithm::NVLSTree:
    return "nvls_tree";
  case NcclAlgorithm::PAT:
    return "pat";
  case NcclAlgorithm::PointToPoint:
    return "p2p";
  case NcclAlgorithm::Local:
    return "local";
  }
  llvm_unreachable("unknown algorithm");
}

llvm::StringRef cost::stringifyNcclProtocol(NcclProtocol protocol) {
  switch (protocol) {
  case NcclProtocol::LL:
    return "ll";
  case NcclProtocol::LL128:
    return "ll128";
  case NcclProtocol::Simple:
    return "simple";
  }
  llvm_unreachable("unknown protocol");
}

namespace {

constexpr NcclAlgorithm tunedAlgorithms[] = {
    NcclAlgorithm::Tree, NcclAlgorithm::Ring, NcclAlgorithm::NVLS,
    NcclAlgorithm::NVLSTree, NcclAlgorithm::PAT};
constexpr NcclProtocol protocols[] = {NcclProtocol::LL, NcclProtocol::LL128,
                                      NcclProtocol::Simple};

} // namespace

std::optional<double> NcclModel::candidateUs(const CollectiveQuery &query,
                                             NcclAlgorithm algorithm,
                                             NcclProtocol protocol) const {
  if (query.ranks <= 1)
    return std::nullopt;
  NcclGroup group(target, query.kind, query.ranks, query.nodes(),
                  query.tensors);
  if (!group.considers(algorithm, protocol))
    return std::nullopt;
  return group.time(algorithm, protocol, std::max<int64_t>(query.bytes, 0));
}

/// The time of a transfer between the device and its host, in which NCCL has no
/// part.
static int64_t getHostTransferNs(const Target &target,
                                 const CollectiveQuery &query) {
  if (query.bytes <= 0)
    return 0;
  // GB/s is bytes a nanosecond.
  return roundToNs(1000 * target.hostLatencyUs * std::max(query.tensors, 1) +
                   static_cast<double>(query.bytes) / target.hostGBs);
}

/// Calls `consider` for the pairs of algorithm and protocol that NCCL chooses
/// from; there is always one.
template <typename Consider>
static void forEachCandidate(const NcclGroup &group, const Consider &consider) {
  bool isTuned = false;
  for (NcclAlgorithm algorithm : tunedAlgorithms)
    for (NcclProtocol protocol : protocols)
      if (group.considers(algorithm, protocol)) {
        isTuned = true;
        consider(algorithm, protocol);
      }
  if (!isTuned)
    for (NcclProtocol protocol : {NcclProtocol::LL, NcclProtocol::Simple})
      consider(NcclAlgorithm::PointToPoint, protocol);
}

NcclEstimate NcclModel::estimate(const CollectiveQuery &query) const {
  if (isHostTransfer(query.kind)) {
    NcclEstimate estimate;
    estimate.timeNs = getHostTransferNs(target, query);
    return estimate;
  }
  if (query.ranks <= 1)
    return {};
  CollectiveKind kind = query.kind;
  int64_t bytes = std::max<int64_t>(query.bytes, 0);
  int32_t tensors = query.tensors;
  if (kind == CollectiveKind::Barrier) {
    // NCCL has none; frameworks reduce one 4-byte element.
    kind = CollectiveKind::AllReduce;
    bytes = 4;
    tensors = 1;
  }
  if (bytes == 0)
    return {};

  NcclGroup group(target, kind, query.ranks, query.nodes(), tensors);
  std::optional<double> bestUs;
  NcclEstimate best;
  auto consider = [&](NcclAlgorithm algorithm, NcclProtocol protocol) {
    double us = group.extraTime(algorithm, protocol, bytes) +
                (algorithm == NcclAlgorithm::PointToPoint
                     ? group.pointToPointTime(protocol, bytes)
                     : group.monotoneTime(algorithm, protocol, bytes));
    if (bestUs && *bestUs <= us)
      return;
    bestUs = us;
    best.algorithm = algorithm;
    best.protocol = protocol;
  };
  forEachCandidate(group, consider);
  best.timeNs = roundToNs(1000 * (*bestUs + target.collectiveLaunchUs));
  return best;
}

double NcclModel::getShareableNs(const CollectiveQuery &query) const {
  if (query.bytes <= 0)
    return 0;
  double leastUs = std::numeric_limits<double>::infinity();
  if (isHostTransfer(query.kind)) {
    leastUs = target.hostLatencyUs +
              static_cast<double>(query.bytes) / (1000 * target.hostGBs);
  } else if (query.ranks <= 1) {
    return 0;
  } else {
    NcclGroup group(target, query.kind, query.ranks, query.nodes(),
                    /*tensors=*/1);
    forEachCandidate(group, [&](NcclAlgorithm algorithm,
                                NcclProtocol protocol) {
      leastUs = std::min(leastUs,
                         group.shareableTime(algorithm, protocol, query.bytes));
    });
    leastUs += target.collectiveLaunchUs;
  }
  // Of more than half of the bytes, a message has half of this nanosecond, and
  // of less it has at most half of the latency.
  return std::max(1000 * leastUs - 1, 0.0);
}
