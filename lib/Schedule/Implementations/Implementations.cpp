//===- Implementations.cpp - Problems with implementations ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Implementations/Implementations.h"

#include "Choices.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

static Status checkWays(const std::vector<Implementation> &ways, NodeId node,
                        const Problem &problem) {
  auto name = [&](size_t index) {
    return "implementation " + std::to_string(index) + " of " +
           problem.describe(node);
  };
  if (!problem.isCollective(node))
    return Error{problem.describe(node) + " has " +
                 std::to_string(ways.size()) +
                 " implementations, but it is no collective"};
  for (size_t i = 0; i < ways.size(); ++i) {
    if (ways[i].costNs < 0)
      return Error{name(i) + " has a negative cost of " +
                   std::to_string(ways[i].costNs) + " ns"};
    if (ways[i].stream < 0 || ways[i].stream >= maxStreams)
      return Error{name(i) + " is on stream " + std::to_string(ways[i].stream) +
                   ", but streams are numbered from 0 to " +
                   std::to_string(maxStreams - 1)};
  }
  const Implementation &first = ways.front();
  if (first.costNs != problem.costNs(node) ||
      first.stream != problem.stream(node))
    return Error{name(0) + " takes " + std::to_string(first.costNs) +
                 " ns on stream " + std::to_string(first.stream) +
                 ", but that of the problem takes " +
                 std::to_string(problem.costNs(node)) + " ns on stream " +
                 std::to_string(problem.stream(node))};
  return Status::success();
}

Status schedule::check(const Implementations &implementations,
                       const Problem &problem) {
  if (implementations.size() != static_cast<size_t>(problem.numNodes()))
    return Error{"there are implementations for " +
                 std::to_string(implementations.size()) +
                 " operations, but the problem has " +
                 std::to_string(problem.numNodes())};
  int64_t totalNs = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    const std::vector<Implementation> &ways = implementations[node];
    int64_t longestNs = problem.costNs(node);
    if (!ways.empty())
      if (Status status = checkWays(ways, node, problem); !status)
        return status;
    for (const Implementation &way : ways)
      longestNs = std::max(longestNs, way.costNs);
    if (longestNs > std::numeric_limits<int64_t>::max() - totalNs)
      return Error{"the sum of the longest implementations up to " +
                   problem.describe(node) + ", which takes up to " +
                   std::to_string(longestNs) + " ns, does not fit 64 bits"};
    totalNs += longestNs;
  }
  return Status::success();
}

Result<Problem>
schedule::withImplementations(const Problem &problem,
                              const Implementations &implementations,
                              const ImplementationChoice &choice) {
  if (!problem.check())
    return problem.check();
  if (Status status = check(implementations, problem); !status)
    return status;
  if (choice.size() != implementations.size())
    return Error{"the choice is one for " + std::to_string(choice.size()) +
                 " operations, but the problem has " +
                 std::to_string(problem.numNodes())};
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    size_t count = std::max<size_t>(implementations[node].size(), 1);
    if (choice[node] < 0 || static_cast<size_t>(choice[node]) >= count)
      return Error{"implementation " + std::to_string(choice[node]) +
                   " is chosen for " + problem.describe(node) + ", which has " +
                   std::to_string(implementations[node].size())};
  }
  Problem result = problem;
  result.reserveStreams(countStreams(problem, implementations));
  if (Status status = result.replaceCollectives(
          getCollectiveCosts(implementations, choice));
      !status)
    return status;
  return result;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

StreamId schedule::countStreams(const Problem &problem,
                                const Implementations &implementations) {
  StreamId count = problem.numStreams();
  for (const std::vector<Implementation> &ways : implementations)
    for (const Implementation &way : ways)
      count = std::max(count, way.stream + 1);
  return count;
}

std::vector<CollectiveCost>
schedule::getCollectiveCosts(const Implementations &implementations,
                             const ImplementationChoice &choice) {
  std::vector<CollectiveCost> costs;
  for (size_t node = 0; node < choice.size(); ++node)
    if (!implementations[node].empty()) {
      const Implementation &way = implementations[node][choice[node]];
      costs.push_back({static_cast<NodeId>(node), way.costNs, way.stream});
    }
  return costs;
}

int32_t schedule::countChanged(const ImplementationChoice &choice) {
  return static_cast<int32_t>(std::count_if(
      choice.begin(), choice.end(), [](int32_t index) { return index != 0; }));
}

static constexpr int64_t wholePpm = 1'000'000;

int64_t schedule::getTaxPpm(const Contention &contention, StreamId stream) {
  if (contention.slowdownPpm.empty())
    return 0;
  int64_t slowdown = contention.slowdownPpm[stream];
  return slowdown * wholePpm / (wholePpm + slowdown);
}

ImplementationChoice
schedule::choosePrices(const Implementations &implementations,
                       const Contention &contention,
                       const std::vector<int64_t> &exposedPpm) {
  __extension__ using Price = __int128;
  ImplementationChoice choice(implementations.size());
  for (size_t node = 0; node < choice.size(); ++node) {
    const std::vector<Implementation> &ways = implementations[node];
    auto price = [&](const Implementation &way) {
      Price perMillion = static_cast<Price>(exposedPpm[node]) * wholePpm +
                         static_cast<Price>(wholePpm - exposedPpm[node]) *
                             getTaxPpm(contention, way.stream);
      return perMillion * way.costNs;
    };
    for (size_t i = 1; i < ways.size(); ++i)
      if (price(ways[i]) < price(ways[choice[node]]))
        choice[node] = static_cast<int32_t>(i);
  }
  return choice;
}

StreamGroups schedule::groupByStreams(const Implementations &implementations) {
  StreamGroups groups;
  for (size_t node = 0; node < implementations.size(); ++node) {
    const std::vector<Implementation> &ways = implementations[node];
    for (size_t i = 0; i < ways.size(); ++i)
      groups[{ways.front().stream, ways[i].stream}].push_back(
          {static_cast<NodeId>(node), static_cast<int32_t>(i)});
  }
  return groups;
}
