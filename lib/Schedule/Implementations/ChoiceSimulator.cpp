//===- ChoiceSimulator.cpp - Times of choices at one order ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChoiceSimulator.h"

#include "CommSched/Support/Unlimited.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

static constexpr int64_t millionths = 1'000'000;

/// Returns `ns` * `dividend` / `divisor`, saturated.
static int64_t scaleTime(int64_t ns, int64_t dividend, int64_t divisor) {
  __extension__ using Product = __int128;
  return static_cast<int64_t>(std::min<Product>(
      static_cast<Product>(ns) * dividend / divisor, unlimited / 8));
}

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
  return static_cast<int32_t>(
      std::count_if(choice.begin(), choice.end(),
                    [](int32_t index) { return index != 0; }));
}

int64_t schedule::getTaxPpm(const Contention &contention, StreamId stream) {
  if (contention.slowdownPpm.empty())
    return 0;
  int64_t slowdown = contention.slowdownPpm[stream];
  return slowdown * millionths / (millionths + slowdown);
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
      Price perMillion = static_cast<Price>(exposedPpm[node]) * millionths +
                         static_cast<Price>(millionths - exposedPpm[node]) *
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

ChoiceSimulator::ChoiceSimulator(const Problem &problem,
                                 const Implementations &implementations,
                                 const Order &order,
                                 const Contention &contention)
    : problem(problem), implementations(implementations), order(order),
      contention(contention) {
  this->problem.reserveStreams(countStreams(problem, implementations));
}

Result<Timeline> ChoiceSimulator::run(const ImplementationChoice &choice) {
  if (Status status = problem.replaceCollectives(
          getCollectiveCosts(implementations, choice));
      !status)
    return status;
  return simulate(problem, order, contention);
}

std::vector<ChoiceSimulator::Place>
ChoiceSimulator::findPlaces(const ImplementationChoice &choice,
                            const Timeline &timeline) const {
  std::vector<Place> places(order.size());
  int64_t nowNs = 0;
  for (NodeId node : order) {
    places[node].issuedNs = nowNs;
    if (problem.kind(node) != NodeKind::Start)
      nowNs = timeline.endNs[node];
  }
  std::vector<NodeId> nextOn(problem.numStreams(), noNode);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    NodeId node = *it;
    if (!problem.isCollective(node))
      continue;
    Place &place = places[node];
    place.next = std::exchange(nextOn[get(node, choice).stream], node);
    place.savableNs = timeline.exposedNs[node];
    int64_t endNs = timeline.endNs[node];
    if (NodeId wait = problem.waitOf(node); wait != noNode)
      place.slackNs = std::max<int64_t>(timeline.beginNs[wait] - endNs, 0);
    if (place.next == noNode)
      continue;
    const Place &next = places[place.next];
    int64_t nextBeginNs = timeline.beginNs[place.next];
    place.slackNs =
        std::min(place.slackNs, next.slackNs + (nextBeginNs - endNs));
    if (nextBeginNs == endNs)
      place.savableNs =
          std::max(place.savableNs,
                   std::min(next.savableNs, nextBeginNs - next.issuedNs));
  }
  return places;
}

std::vector<bool>
ChoiceSimulator::findExposed(const ImplementationChoice &choice,
                             const Timeline &timeline) const {
  std::vector<Place> places = findPlaces(choice, timeline);
  std::vector<bool> isExposed;
  for (const Place &place : places)
    isExposed.push_back(place.savableNs > 0);
  return isExposed;
}

/// What shares the link of `own` is taken to slow `other` down as much.
int64_t ChoiceSimulator::estimateDuration(const Implementation &own,
                                          const Implementation &other,
                                          int64_t ownNs) const {
  const std::vector<int32_t> &links = contention.links;
  bool isSameLink =
      own.stream == other.stream ||
      (!links.empty() && links[own.stream] == links[other.stream]);
  return isSameLink && own.costNs > 0
             ? scaleTime(other.costNs, ownNs, own.costNs)
             : other.costNs;
}

int64_t ChoiceSimulator::estimateGain(const Change &change,
                                      const Implementation &own,
                                      NodeId nextOnOther,
                                      const std::vector<Place> &places,
                                      const Timeline &timeline) const {
  NodeId node = change.node;
  const Implementation &other = implementations[node][change.implementation];
  const Place &place = places[node];
  int64_t beginNs = timeline.beginNs[node], endNs = timeline.endNs[node];
  int64_t otherNs = estimateDuration(own, other, endNs - beginNs);
  int64_t otherEndNs = change.beginNs + otherNs;
  NodeId wait = problem.waitOf(node);
  int64_t neededNs = wait == noNode ? place.issuedNs : timeline.beginNs[wait];
  int64_t stallNs = std::max<int64_t>(endNs - neededNs, 0);
  int64_t otherStallNs = std::max<int64_t>(otherEndNs - neededNs, 0);

  // Its own stall, and what that of those behind it gains if they move up.
  bool staysOnStream = own.stream == other.stream;
  int64_t gainNs = stallNs - otherStallNs;
  if (place.next != noNode) {
    const Place &next = places[place.next];
    int64_t nextBeginNs = timeline.beginNs[place.next];
    int64_t freedNs = staysOnStream ? endNs - otherEndNs : endNs - beginNs;
    if (freedNs < 0) {
      int64_t roomNs = next.slackNs + (nextBeginNs - endNs);
      gainNs = std::min(gainNs, std::min<int64_t>(freedNs + roomNs, 0));
    } else if (nextBeginNs == endNs) {
      int64_t movesUpNs = std::min(
          {freedNs, next.savableNs, nextBeginNs - next.issuedNs});
      gainNs = std::max(gainNs, std::min<int64_t>(gainNs, 0) + movesUpNs);
    }
  }
  // What those lose that it holds up on its new stream.
  if (!staysOnStream && nextOnOther != noNode)
    gainNs -= std::max<int64_t>(otherEndNs - timeline.beginNs[nextOnOther] -
                                    places[nextOnOther].slackNs,
                                0);
  // What both make computation longer by.
  auto taxNs = [&](int64_t durationNs, int64_t exposedNs, StreamId stream) {
    return scaleTime(std::max<int64_t>(durationNs - exposedNs, 0),
                     getTaxPpm(contention, stream), millionths);
  };
  return gainNs + taxNs(endNs - beginNs, stallNs, own.stream) -
         taxNs(otherNs, otherStallNs, other.stream);
}

std::vector<Change>
ChoiceSimulator::listChanges(const ImplementationChoice &choice,
                             const Timeline &timeline) const {
  std::vector<Place> places = findPlaces(choice, timeline);
  std::vector<Change> changes;
  std::vector<int64_t> freeNs(problem.numStreams());
  for (NodeId node : order) {
    if (!problem.isCollective(node))
      continue;
    StreamId stream = get(node, choice).stream;
    const std::vector<Implementation> &ways = implementations[node];
    for (int32_t i = 0; i < static_cast<int32_t>(ways.size()); ++i)
      if (i != choice[node])
        changes.push_back(
            {node, i,
             ways[i].stream == stream
                 ? timeline.beginNs[node]
                 : std::max(places[node].issuedNs, freeNs[ways[i].stream]),
             /*gainNs=*/0});
    freeNs[stream] = timeline.endNs[node];
  }
  std::vector<NodeId> nextOn(problem.numStreams(), noNode);
  auto change = changes.rbegin();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    NodeId node = *it;
    if (!problem.isCollective(node))
      continue;
    Implementation own = get(node, choice);
    for (; change != changes.rend() && change->node == node; ++change) {
      StreamId stream =
          implementations[node][change->implementation].stream;
      change->gainNs =
          estimateGain(*change, own, nextOn[stream], places, timeline);
    }
    nextOn[own.stream] = node;
  }
  return changes;
}
