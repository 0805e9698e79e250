//===- StepConstruction.cpp - One-pass construction of orders -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepConstruction.h"

#include "../Model/ReadyTracker.h"
#include "CommSched/Support/Unlimited.h"
#include "IssuedOrder.h"
#include "RangeMaximum.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Emission of operations in dependence order
//===----------------------------------------------------------------------===//

namespace {

class StepEmitter {
public:
  /// `isNeeded`, by operation: whether the compute order needs it. The others
  /// are those of IssuedOrder.
  StepEmitter(const StepStructure &structure, const std::vector<char> &isNeeded,
              const std::vector<std::pair<StreamId, StreamId>> &exclusive,
              int32_t slackPercent);
  virtual ~StepEmitter() = default;

protected:
  /// Makes what awaits nothing available.
  void begin();
  /// Issues an operation, and before it all that it needs.
  void demand(NodeId node);
  /// Issues all that is left, in the order of the program as far as it can be.
  void demandRest();

  /// `id` can be issued from now on.
  virtual void makeAvailable(CollectiveId id) = 0;

  const StepStructure &structure;
  const Problem &problem;
  IssuedOrder issued;

private:
  void issue(NodeId node);
  bool isEpilogue(NodeId node) const;

  const std::vector<char> &isNeeded;
  /// Counts the operations that have to run before each collective.
  IndegreeCounter pendingCollectives;
  ReadyTracker ready;
  std::vector<NodeId> stack;
  /// To be issued, the first of the program first.
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> epilogue;
};

} // namespace

StepEmitter::StepEmitter(
    const StepStructure &structure, const std::vector<char> &isNeeded,
    const std::vector<std::pair<StreamId, StreamId>> &exclusive,
    int32_t slackPercent)
    : structure(structure), problem(structure.getProblem()),
      issued(problem, exclusive, slackPercent), isNeeded(isNeeded),
      pendingCollectives(structure.numCollectives()), ready(problem) {
  for (CollectiveId id = 0; id < structure.numCollectives(); ++id)
    pendingCollectives.addEdgesTo(id, structure.collective(id).numPredecessors);
}

void StepEmitter::begin() {
  for (CollectiveId id : pendingCollectives.listReady())
    makeAvailable(id);
}

/// What unpacks or converts a result that nothing of the compute order needs.
bool StepEmitter::isEpilogue(NodeId node) const {
  return problem.kind(node) == NodeKind::Compute && !isNeeded[node] &&
         !structure.isInComputeOrder(node) && !structure.isPreparation(node);
}

void StepEmitter::issue(NodeId node) {
  issued.issue(node);
  for (CollectiveId id : structure.successors(node))
    if (pendingCollectives.removeEdgeTo(id))
      makeAvailable(id);
  ready.take(node, [&](NodeId next) {
    if (isEpilogue(next))
      epilogue.push(next);
  });
}

void StepEmitter::demand(NodeId node) {
  stack.assign(1, node);
  while (!stack.empty()) {
    NodeId top = stack.back();
    if (issued.contains(top)) {
      stack.pop_back();
      continue;
    }
    if (!ready.isReady(top)) {
      // What it needs comes in the order of the program.
      size_t height = stack.size();
      for (DependenceEnd needed : problem.predecessors(top))
        if (!issued.contains(needed.node))
          stack.push_back(needed.node);
      std::sort(stack.begin() + height, stack.end(), std::greater<>());
      continue;
    }
    stack.pop_back();
    issue(top);
  }
  while (!epilogue.empty()) {
    NodeId end = epilogue.top();
    epilogue.pop();
    if (!issued.contains(end))
      issue(end);
  }
}

void StepEmitter::demandRest() {
  for (NodeId node : problem.topologicalOrder())
    demand(node);
}

//===----------------------------------------------------------------------===//
// As-late-as-possible order
//===----------------------------------------------------------------------===//

StepConstruction::StepConstruction(const StepStructure &structure, Order order)
    : structure(&structure), computeOrder(std::move(order)) {
  findNeeds();
  measureAlapOrder();
}

void StepConstruction::findNeeds() {
  const Problem &problem = structure->getProblem();
  int32_t numPlaces = static_cast<int32_t>(computeOrder.size());
  std::vector<int32_t> firstNeeds(problem.numNodes(), numPlaces);
  std::vector<int32_t> places(problem.numNodes(), -1);
  for (int32_t place = 0; place < numPlaces; ++place)
    places[computeOrder[place]] = place;
  const Order &order = problem.topologicalOrder();
  for (size_t i = order.size(); i-- > 0;)
    for (DependenceEnd end : problem.successors(order[i]))
      firstNeeds[order[i]] = std::min(
          firstNeeds[order[i]],
          places[end.node] >= 0 ? places[end.node] : firstNeeds[end.node]);
  isNeeded.resize(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    isNeeded[node] = firstNeeds[node] < numPlaces;
  needs.reserve(structure->numCollectives());
  for (CollectiveId id = 0; id < structure->numCollectives(); ++id)
    needs.push_back(firstNeeds[structure->collective(id).wait]);
  neededRows.build(
      numPlaces, needs.size(),
      [&](size_t id) { return needs[id] < numPlaces ? needs[id] : -1; },
      [](size_t id) { return static_cast<CollectiveId>(id); });
}

namespace {

/// Issues nothing before it is needed, but for what is better over early.
class AlapOrder final : public StepEmitter {
public:
  using StepEmitter::StepEmitter;

  void complete() {
    // Waiting for one may make another one available.
    while (!available.empty()) {
      CollectiveId id = available.back();
      available.pop_back();
      const MovableCollective &collective = structure.collective(id);
      if (collective.isReleasing && !issued.contains(collective.wait))
        demand(collective.wait);
    }
  }

  using StepEmitter::begin;
  using StepEmitter::demand;
  using StepEmitter::demandRest;
  using StepEmitter::issued;

private:
  void makeAvailable(CollectiveId id) override { available.push_back(id); }

  std::vector<CollectiveId> available;
};

} // namespace

void StepConstruction::measureAlapOrder() {
  AlapOrder order(*structure, isNeeded, {}, /*slackPercent=*/0);
  order.begin();
  order.complete();
  order.issued.takePeak();
  for (NodeId node : computeOrder) {
    bytesBefore.push_back(order.issued.liveBytes());
    computedNs.push_back(order.issued.computedNs());
    order.demand(node);
    order.complete();
    peaks.push_back(order.issued.takePeak());
  }
  computedNs.push_back(order.issued.computedNs());
  order.demandRest();
  alap = order.issued.takeOrder();
}

std::vector<int64_t>
StepConstruction::findLatestStarts(const IssuedOrder &clocks) const {
  const Problem &problem = structure->getProblem();
  constexpr int64_t never = std::numeric_limits<int64_t>::max() / 4;
  std::vector<int64_t> latest(structure->numCollectives(), never);
  // By stream: when the next collective has to start.
  std::vector<int64_t> next(problem.numStreams(), never);
  for (size_t place = computeOrder.size(); place-- > 0;) {
    ArrayView<CollectiveId> row = neededRows[static_cast<int32_t>(place)];
    for (size_t i = row.size(); i-- > 0;) {
      NodeId start = structure->collective(row[i]).start;
      int64_t &nextStart = next[problem.stream(start)];
      nextStart = latest[row[i]] =
          std::min(computedNs[place], nextStart) - clocks.collectiveNs(start);
    }
  }
  return latest;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

namespace mlir::commsched::schedule {

/// One construction: the order so far, and what is in the air.
class StepConstructor final : public StepEmitter {
public:
  StepConstructor(const StepConstruction &plan,
                  const ConstructionOptions &options)
      : StepEmitter(*plan.structure, plan.isNeeded, options.exclusive,
                    options.slackPercent),
        plan(plan), options(options),
        latestStartsNs(plan.findLatestStarts(issued)), future(plan.peaks),
        streams(problem.numStreams()), ahead(plan.computeOrder.size() + 1, 0) {}

  ConstructedOrder run();

private:
  using NeededFirst =
      std::priority_queue<std::pair<int32_t, CollectiveId>,
                          std::vector<std::pair<int32_t, CollectiveId>>,
                          std::greater<>>;

  /// What a stream could do next, and what it does.
  struct Stream {
    /// What makes more live, by need.
    NeededFirst acquiring;
    /// Eager collectives that the compute order needs, by need.
    NeededFirst releasingDue;
    /// Other eager collectives as they came; those that are issued stay until
    /// all before them are.
    std::vector<CollectiveId> releasing;
    size_t firstReleasing = 0;
    /// The time of the scatters that are not issued.
    int64_t releasingNs = 0;
    /// Eager collectives that were issued and not waited for.
    std::queue<CollectiveId> inFlight;
  };

  NodeId startOf(CollectiveId id) const {
    return structure.collective(id).start;
  }
  NodeId waitOf(CollectiveId id) const { return structure.collective(id).wait; }
  int64_t costNs(CollectiveId id) const {
    return issued.collectiveNs(startOf(id));
  }
  bool isIssued(CollectiveId id) const { return issued.contains(startOf(id)); }
  /// On the clock, if nothing stalls from now on.
  int64_t latestStartNs(CollectiveId id) const {
    return latestStartsNs[id] + issued.nowNs() - plan.computedNs[place];
  }

  void makeAvailable(CollectiveId id) override;
  void issueCollective(CollectiveId id);
  CollectiveId takeReleasing(Stream &stream, int64_t roomNs,
                             int64_t limitBytes);
  CollectiveId findFirst(NeededFirst &queue) const;
  bool hasRoomFor(CollectiveId id) const;
  bool issueNext(StreamId stream);
  CollectiveId findFirstInFlight();
  void waitForEnded();
  int64_t findNextMoment() const;
  int64_t predictPeak() const;
  bool freeMemory();
  int64_t findReserve(const Stream &stream) const;
  void fillStreams(int64_t momentNs);
  void visit(NodeId node);
  void finish();

  const StepConstruction &plan;
  const ConstructionOptions &options;
  std::vector<int64_t> latestStartsNs;
  /// By place: the most that is live there if nothing else is issued early.
  RangeMaximum future;
  std::vector<Stream> streams;
  /// By place: the bytes of what is needed there and was issued early.
  std::vector<int64_t> ahead;
  /// The sum of these from here on.
  int64_t totalAhead = 0;
  int32_t place = 0;
};

} // namespace mlir::commsched::schedule

void StepConstructor::makeAvailable(CollectiveId id) {
  Stream &stream = streams[problem.stream(startOf(id))];
  if (isIssued(id))
    return;
  if (!structure.collective(id).isReleasing) {
    stream.acquiring.push({plan.needs[id], id});
  } else if (plan.needs[id] < static_cast<int32_t>(plan.computeOrder.size())) {
    stream.releasingDue.push({plan.needs[id], id});
  } else {
    stream.releasing.push_back(id);
    stream.releasingNs += costNs(id);
  }
}

void StepConstructor::issueCollective(CollectiveId id) {
  const MovableCollective &collective = structure.collective(id);
  demand(collective.start);
  if (collective.isReleasing) {
    streams[problem.stream(collective.start)].inFlight.push(id);
    return;
  }
  int32_t need = plan.needs[id];
  if (need < place)
    return;
  future.add(place, need, collective.issuedBytes);
  ahead[need] += collective.issuedBytes;
  totalAhead += collective.issuedBytes;
}

/// The first of the scatters that are over within `roomNs`, among the first
/// few, which is taken from them.
CollectiveId StepConstructor::takeReleasing(Stream &stream, int64_t roomNs,
                                            int64_t limitBytes) {
  constexpr size_t maxSearched = 16;
  std::vector<CollectiveId> &releasing = stream.releasing;
  while (stream.firstReleasing < releasing.size() &&
         isIssued(releasing[stream.firstReleasing]))
    ++stream.firstReleasing;
  size_t end = std::min(releasing.size(), stream.firstReleasing + maxSearched);
  for (size_t i = stream.firstReleasing; i < end; ++i) {
    CollectiveId id = releasing[i];
    if (isIssued(id) || costNs(id) > roomNs ||
        issued.liveBytes() + structure.collective(id).issuingBytes > limitBytes)
      continue;
    stream.releasingNs -= costNs(id);
    return id;
  }
  return noCollective;
}

CollectiveId StepConstructor::findFirst(NeededFirst &queue) const {
  while (!queue.empty() && isIssued(queue.top().second))
    queue.pop();
  return queue.empty() ? noCollective : queue.top().second;
}

/// Whether the collective can be issued now and stay until it is needed.
bool StepConstructor::hasRoomFor(CollectiveId id) const {
  int64_t bytes = structure.collective(id).issuedBytes;
  int32_t need = plan.needs[id];
  if (bytes <= 0 || need <= place)
    return true;
  int64_t room = options.limitBytes - bytes;
  if (issued.liveBytes() >
          options.limitBytes - structure.collective(id).issuingBytes ||
      future.maximum(place, need) > room)
    return false;
  // What scatters hold, until they are through, and take to get there.
  StreamId index = problem.stream(startOf(id));
  const Stream &stream = streams[index];
  int64_t held = issued.liveBytes() - plan.bytesBefore[place] - totalAhead +
                 findReserve(stream);
  if (held <= 0)
    return true;
  int64_t busyNs = std::max<int64_t>(issued.freeNs(index) - issued.nowNs(), 0) +
                   stream.releasingNs;
  auto drained =
      std::lower_bound(plan.computedNs.begin() + place, plan.computedNs.end(),
                       plan.computedNs[place] + busyNs);
  int32_t end = static_cast<int32_t>(drained - plan.computedNs.begin());
  return future.maximum(place, std::min(need, end)) <= room - held;
}

/// Issues the best that there is for the stream, if anything.
bool StepConstructor::issueNext(StreamId index) {
  Stream &stream = streams[index];
  CollectiveId next = findFirst(stream.releasingDue);
  CollectiveId acquiring = findFirst(stream.acquiring);
  if (acquiring != noCollective && hasRoomFor(acquiring) &&
      (next == noCollective || latestStartNs(acquiring) < latestStartNs(next)))
    next = acquiring;
  int64_t beginNs = std::max(issued.nowNs(), issued.freeNs(index));
  int64_t roomNs =
      next == noCollective ? unlimited : latestStartNs(next) - beginNs;
  CollectiveId releasing = takeReleasing(stream, roomNs, options.limitBytes);
  if (releasing != noCollective) {
    issueCollective(releasing);
    return true;
  }
  // A stream with nothing else to do need not be in a hurry.
  if (next == noCollective ||
      (next == acquiring && roomNs > options.lookAheadNs &&
       stream.releasingNs == 0))
    return false;
  issueCollective(next);
  return true;
}

/// Of the eager collectives in flight the one that is over first.
CollectiveId StepConstructor::findFirstInFlight() {
  CollectiveId first = noCollective;
  for (Stream &stream : streams) {
    std::queue<CollectiveId> &inFlight = stream.inFlight;
    while (!inFlight.empty() && issued.contains(waitOf(inFlight.front())))
      inFlight.pop();
    if (!inFlight.empty() &&
        (first == noCollective || issued.endNs(startOf(inFlight.front())) <
                                      issued.endNs(startOf(first))))
      first = inFlight.front();
  }
  return first;
}

void StepConstructor::waitForEnded() {
  while (true) {
    CollectiveId first = findFirstInFlight();
    if (first == noCollective || issued.endNs(startOf(first)) > issued.nowNs())
      return;
    demand(waitOf(first));
  }
}

/// Issues what keeps the streams busy until `momentNs`.
void StepConstructor::fillStreams(int64_t momentNs) {
  for (StreamId stream = 0; stream < problem.numStreams(); ++stream)
    while (issued.freeNs(stream) < momentNs && issueNext(stream)) {
    }
}

/// What the next scatter of the stream will take when it is issued.
int64_t StepConstructor::findReserve(const Stream &stream) const {
  for (size_t i = stream.firstReleasing; i < stream.releasing.size(); ++i)
    if (!isIssued(stream.releasing[i]))
      return structure.collective(stream.releasing[i]).issuingBytes;
  return 0;
}

/// When the operation at this place will be through.
int64_t StepConstructor::findNextMoment() const {
  int64_t momentNs = issued.nowNs();
  for (CollectiveId id : plan.neededRows[place])
    if (isIssued(id))
      momentNs = std::max(momentNs, issued.endNs(startOf(id)));
  return momentNs + plan.computedNs[place + 1] - plan.computedNs[place];
}

/// The most that will be live up to the operation at this place.
int64_t StepConstructor::predictPeak() const {
  return plan.peaks[place] + issued.liveBytes() - plan.bytesBefore[place] -
         ahead[place];
}

/// Has an eager collective over with. Returns whether there was one.
bool StepConstructor::freeMemory() {
  CollectiveId first = findFirstInFlight();
  // If none is in flight, one that fits, or else any.
  for (int64_t limitBytes : {options.limitBytes, unlimited})
    for (Stream &stream : streams)
      if (first == noCollective) {
        first = takeReleasing(stream, unlimited, limitBytes);
        if (first != noCollective)
          issueCollective(first);
      }
  if (first == noCollective)
    return false;
  demand(waitOf(first));
  return true;
}

void StepConstructor::visit(NodeId node) {
  waitForEnded();
  while (predictPeak() > options.limitBytes && freeMemory()) {
  }
  for (CollectiveId id : plan.neededRows[place])
    if (!isIssued(id))
      issueCollective(id);
  fillStreams(findNextMoment());
  while (predictPeak() > options.limitBytes) {
    CollectiveId first = findFirstInFlight();
    if (first != noCollective)
      fillStreams(std::max(findNextMoment(), issued.endNs(startOf(first)) +
                                                 plan.computedNs[place + 1] -
                                                 plan.computedNs[place]));
    if (!freeMemory())
      break;
  }
  demand(node);
  totalAhead -= ahead[place];
}

/// Issues what is left and waits for it as it ends. A collective is issued as
/// early as it takes to have it prepared when its stream is free, and not
/// before: what prepares it takes memory.
void StepConstructor::finish() {
  int64_t preparationNs = 0;
  for (CollectiveId id = 0; id < structure.numCollectives(); ++id) {
    int64_t ownNs = 0;
    for (NodeId node : structure.collective(id).preparation)
      ownNs += problem.costNs(node);
    preparationNs = std::max(preparationNs, ownNs);
  }
  do {
    CollectiveId first = findFirstInFlight();
    int64_t momentNs = issued.nowNs();
    if (first != noCollective)
      momentNs = std::max(momentNs, issued.endNs(startOf(first)));
    fillStreams(momentNs + preparationNs + 1);
  } while (freeMemory());
  demandRest();
}

ConstructedOrder StepConstructor::run() {
  begin();
  for (NodeId node : plan.computeOrder) {
    visit(node);
    ++place;
  }
  finish();
  int64_t stepNs = issued.stepNs();
  return {issued.takeOrder(), stepNs};
}

ConstructedOrder
StepConstruction::construct(const ConstructionOptions &options) const {
  return StepConstructor(*this, options).run();
}
