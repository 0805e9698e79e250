//===- SeparatedStarts.cpp - Starts that wait for their link --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SeparatedStarts.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <map>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// `contention` with streams of one link that are exclusive; false if too many
/// share one.
static bool makeExclusive(const Problem &problem, Contention &contention) {
  constexpr size_t mostStreams = 64;
  std::map<int32_t, std::vector<StreamId>> streamsOf;
  StreamId numStreams = std::min(
      problem.numStreams(), static_cast<StreamId>(contention.links.size()));
  for (StreamId stream = 0; stream < numStreams; ++stream)
    if (contention.links[stream] >= 0)
      streamsOf[contention.links[stream]].push_back(stream);
  for (const auto &[link, streams] : streamsOf) {
    if (streams.size() > mostStreams)
      return false;
    for (size_t second = 1; second < streams.size(); ++second)
      for (size_t first = 0; first < second; ++first)
        contention.exclusive.push_back({streams[first], streams[second]});
  }
  std::sort(contention.exclusive.begin(), contention.exclusive.end());
  auto end =
      std::unique(contention.exclusive.begin(), contention.exclusive.end());
  contention.exclusive.erase(end, contention.exclusive.end());
  return true;
}

/// The order in which each start is issued at the last operation of the compute
/// stream that begins no later than the collective does, and before its wait.
static Order issueAtBegin(const Problem &problem, const Order &order,
                          const std::vector<int64_t> &beginNs) {
  std::vector<NodeId> issuing;
  std::vector<size_t> placeOf(order.size());
  for (NodeId node : order)
    if (problem.kind(node) != NodeKind::Start) {
      placeOf[node] = issuing.size();
      issuing.push_back(node);
    }
  struct Issue {
    size_t place;
    NodeId start;
  };
  std::vector<Issue> issues;
  for (NodeId node : order) {
    if (problem.kind(node) != NodeKind::Start)
      continue;
    auto after = std::upper_bound(
        issuing.begin(), issuing.end(), beginNs[node],
        [&](int64_t ns, NodeId other) { return ns < beginNs[other]; });
    auto number = static_cast<size_t>(after - issuing.begin());
    size_t place = number == 0 ? 0 : number - 1;
    issues.push_back({std::min(place, placeOf[problem.waitOf(node)]), node});
  }
  std::stable_sort(
      issues.begin(), issues.end(), [&](const Issue &a, const Issue &b) {
        return a.place != b.place ? a.place < b.place
                                  : beginNs[a.start] < beginNs[b.start];
      });
  Order result;
  auto issue = issues.begin();
  for (size_t place = 0; place < issuing.size(); ++place) {
    for (; issue != issues.end() && issue->place == place; ++issue)
      result.push_back(issue->start);
    result.push_back(issuing[place]);
  }
  return result;
}

Result<Order> schedule::separateStarts(const Problem &problem,
                                       const Order &order,
                                       const Contention &contention) {
  Contention separate = contention;
  if (!makeExclusive(problem, separate))
    return order;
  Result<Timeline> timeline = simulate(problem, order, separate);
  if (!timeline)
    return Error{timeline.error()};
  Order separated = issueAtBegin(problem, order, timeline->beginNs);
  if (!verify(problem, separated))
    return order;
  return separated;
}
