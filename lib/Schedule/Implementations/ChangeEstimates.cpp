//===- ChangeEstimates.cpp - What another implementation gains ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ChangeEstimates.h"

#include "Choices.h"
#include "CommSched/Support/Unlimited.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Estimates take longer times for this one, so that sums fit 64 bits.
static constexpr int64_t maxTimeNs = unlimited / 16;

/// Returns `ns` * `dividend` / `divisor`, saturated.
static int64_t scaleTime(int64_t ns, int64_t dividend, int64_t divisor) {
  __extension__ using Product = __int128;
  return static_cast<int64_t>(std::min<Product>(
      static_cast<Product>(ns) * dividend / divisor, maxTimeNs));
}

ChangeEstimates::ChangeEstimates(const Problem &problem,
                                 const Implementations &implementations,
                                 const Order &order,
                                 const Contention &contention,
                                 const ImplementationChoice &choice,
                                 const Timeline &timeline)
    : problem(problem), implementations(implementations), order(order),
      contention(contention), choice(choice), timeline(timeline),
      places(order.size()) {
  findIssues();
  findSlack();
}

Implementation ChangeEstimates::get(NodeId node) const {
  if (implementations[node].empty())
    return {problem.costNs(node), problem.stream(node)};
  return implementations[node][choice[node]];
}

void ChangeEstimates::findIssues() {
  int64_t nowNs = 0;
  for (NodeId node : order) {
    places[node].issuedNs = nowNs;
    if (problem.kind(node) != NodeKind::Start)
      nowNs = timeline.endNs[node];
  }
}

/// Goes through the order backwards with the latest time at which the compute
/// stream may be there.
void ChangeEstimates::findSlack() {
  int64_t latestNs = timeline.stepNs;
  std::vector<NodeId> nextOn(problem.numStreams(), noNode);
  // By collective: when it may begin at the latest.
  std::vector<int64_t> latestBeginNs(order.size());
  // By start: when the compute stream may go on behind its wait at the latest.
  std::vector<int64_t> latestWaitNs(order.size());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    NodeId node = *it;
    int64_t beginNs = timeline.beginNs[node], endNs = timeline.endNs[node];
    if (problem.kind(node) == NodeKind::Compute) {
      if (endNs >= latestNs && beginNs < endNs)
        critical.push_back({beginNs, endNs, /*doneNs=*/0});
      latestNs -= endNs - beginNs;
      continue;
    }
    if (problem.kind(node) == NodeKind::Wait) {
      latestWaitNs[problem.startOf(node)] = latestNs;
      continue;
    }
    Place &place = places[node];
    int64_t latestEndNs =
        problem.kind(node) == NodeKind::Start ? latestWaitNs[node] : latestNs;
    if (endNs >= latestEndNs)
      place.savableNs = timeline.exposedNs[node];
    place.next = std::exchange(nextOn[get(node).stream], node);
    if (place.next != noNode) {
      const Place &next = places[place.next];
      int64_t nextBeginNs = timeline.beginNs[place.next];
      latestEndNs = std::min(latestEndNs, latestBeginNs[place.next]);
      if (endNs >= latestBeginNs[place.next])
        place.savableNs =
            std::max(place.savableNs,
                     std::min(next.savableNs, nextBeginNs - next.issuedNs));
    }
    place.slackNs = std::max<int64_t>(latestEndNs - endNs, 0);
    latestBeginNs[node] = latestEndNs - (endNs - beginNs);
    latestNs = std::min(latestNs, latestBeginNs[node]);
  }
  std::reverse(critical.begin(), critical.end());
  int64_t doneNs = 0;
  for (Work &work : critical) {
    work.doneNs = doneNs;
    doneNs += work.endNs - work.beginNs;
  }
}

/// For how long critical computation has run at that time.
int64_t ChangeEstimates::criticalNs(int64_t ns) const {
  auto behind = std::upper_bound(
      critical.begin(), critical.end(), ns,
      [](int64_t ns, const Work &work) { return ns < work.beginNs; });
  if (behind == critical.begin())
    return 0;
  const Work &work = *std::prev(behind);
  return work.doneNs + std::min(ns, work.endNs) - work.beginNs;
}

/// What shares the link of `own` is taken to slow `other` down as much.
int64_t ChangeEstimates::estimateDuration(const Implementation &own,
                                          const Implementation &other,
                                          int64_t ownNs) const {
  const std::vector<int32_t> &links = contention.links;
  bool isSameLink =
      own.stream == other.stream ||
      (!links.empty() && links[own.stream] == links[other.stream]);
  return isSameLink && own.costNs > 0
             ? scaleTime(other.costNs, ownNs, own.costNs)
             : std::min(other.costNs, maxTimeNs);
}

int64_t ChangeEstimates::estimateGain(const Change &change,
                                      const Implementation &own,
                                      NodeId nextOnOther) const {
  NodeId node = change.node;
  const Implementation &other = implementations[node][change.implementation];
  const Place &place = places[node];
  int64_t beginNs = timeline.beginNs[node], endNs = timeline.endNs[node];
  int64_t otherEndNs =
      change.beginNs + estimateDuration(own, other, endNs - beginNs);

  int64_t gainNs = endNs - otherEndNs;
  if (gainNs > 0)
    gainNs = std::min(gainNs, place.savableNs);
  else
    gainNs = std::min<int64_t>(gainNs + place.slackNs, 0);
  // Those behind it move up if it leaves. What is saved twice counts once.
  bool staysOnStream = own.stream == other.stream;
  if (!staysOnStream && place.next != noNode) {
    const Place &next = places[place.next];
    int64_t nextBeginNs = timeline.beginNs[place.next];
    if (nextBeginNs == endNs) {
      int64_t movesUpNs = std::min(
          {endNs - beginNs, next.savableNs, nextBeginNs - next.issuedNs});
      gainNs = std::max(gainNs, std::min<int64_t>(gainNs, 0) + movesUpNs);
    }
  }
  // What those lose that it holds up on its new stream.
  if (!staysOnStream && nextOnOther != noNode)
    gainNs -= std::max<int64_t>(otherEndNs - timeline.beginNs[nextOnOther] -
                                    places[nextOnOther].slackNs,
                                0);
  // What both make computation longer by.
  auto taxNs = [&](int64_t fromNs, int64_t toNs, StreamId stream) {
    return scaleTime(criticalNs(toNs) - criticalNs(fromNs),
                     getTaxPpm(contention, stream), 1'000'000);
  };
  return gainNs + taxNs(beginNs, endNs, own.stream) -
         taxNs(change.beginNs, otherEndNs, other.stream);
}

std::vector<Change> ChangeEstimates::listChanges() const {
  std::vector<Change> changes;
  // By stream: when it is free.
  std::vector<int64_t> freeNs(problem.numStreams());
  for (NodeId node : order) {
    if (!problem.isCollective(node))
      continue;
    StreamId stream = get(node).stream;
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
  if (timeline.stepNs > maxTimeNs)
    return changes;
  std::vector<NodeId> nextOn(problem.numStreams(), noNode);
  auto change = changes.rbegin();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    NodeId node = *it;
    if (!problem.isCollective(node))
      continue;
    Implementation own = get(node);
    for (; change != changes.rend() && change->node == node; ++change)
      change->gainNs = estimateGain(
          *change, own,
          nextOn[implementations[node][change->implementation].stream]);
    nextOn[own.stream] = node;
  }
  return changes;
}

std::pair<int64_t, int64_t>
ChangeEstimates::getTimes(const Change &change) const {
  NodeId wait = problem.waitOf(change.node);
  return {std::min(change.beginNs, timeline.beginNs[change.node]),
          timeline.endNs[wait == noNode ? change.node : wait]};
}
