//===- ReferenceExposure.h - Reference of exposed time ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exposure of one collective by walking from it to the end of its window,
// and remembering which collectives of its stream the walk has met; or from its
// wait back to it, and forgetting the computation behind collectives that the
// walk has met together with their waits.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEEXPOSURE_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEEXPOSURE_H

#include "Inductor/Exposure.h"

#include <algorithm>
#include <set>

namespace mlir::commsched::schedule::testing {

/// The exposure of `node`, which is a start, walking back from its wait.
inline Exposure walkBack(const Problem &problem, const Order &order,
                         NodeId node) {
  Exposure exposure;
  exposure.commNs = problem.costNs(node);
  std::set<NodeId> waits;
  auto at = std::find(order.begin(), order.end(), problem.waitOf(node));
  while (*--at != node) {
    switch (problem.kind(*at)) {
    case NodeKind::Compute:
      exposure.computeNs += problem.costNs(*at);
      break;
    case NodeKind::Wait:
      waits.insert(*at);
      break;
    case NodeKind::Start:
      if (waits.count(problem.waitOf(*at)))
        exposure.computeNs = 0;
      break;
    case NodeKind::Blocking:
      exposure.computeNs = 0;
      break;
    }
  }
  return exposure;
}

/// The exposure of `node`, zeros if it is no collective. O(nodes).
inline Exposure walkWindow(const Problem &problem, const Order &order,
                           NodeId node, ExposureWalk walk) {
  Exposure exposure;
  if (!problem.isCollective(node))
    return exposure;
  exposure.commNs = problem.costNs(node);
  if (problem.kind(node) == NodeKind::Blocking)
    return exposure;
  if (walk == ExposureWalk::FromWait)
    return walkBack(problem, order, node);
  // Whose waits end the window.
  std::set<NodeId> met = {node};
  auto at = std::find(order.begin(), order.end(), node);
  for (++at; at != order.end(); ++at) {
    switch (problem.kind(*at)) {
    case NodeKind::Compute:
      exposure.computeNs += problem.costNs(*at);
      break;
    case NodeKind::Start:
      if (problem.stream(*at) == problem.stream(node))
        met.insert(*at);
      break;
    case NodeKind::Wait:
      if (met.count(problem.startOf(*at)))
        return exposure;
      break;
    case NodeKind::Blocking:
      return exposure;
    }
  }
  return exposure;
}

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEEXPOSURE_H
