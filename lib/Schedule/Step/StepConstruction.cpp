//===- StepConstruction.cpp - One-pass construction of orders -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepConstruction.h"

#include "../Model/RangeMaximum.h"
#include "../Model/ReadyTracker.h"
#include "CommSched/Support/Unlimited.h"
#include "IssuedOrder.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Emission of operations in dependence order
//===----------------------------------------------------------------------===//

namespace {

/// Issues operations in dependence order: an operation after all that it
/// depends on; and cheap computation on results that no operation of the
/// compute order depends on as soon as it is ready. Reports collectives that
/// become available because all operations that they depend on have been
/// issued.
class StepEmitter {
public:
  /// `isNeeded`, by operation: whether an operation of the compute order
  /// depends on it. The other parameters are those of IssuedOrder.
  StepEmitter(const StepStructure &structure, const std::vector<char> &isNeeded,
              const std::vector<std::pair<StreamId, StreamId>> &exclusive,
              int32_t slackPercent);
  virtual ~StepEmitter() = default;

protected:
  /// Reports the collectives that depend on nothing.
  void begin();
  /// Issues an operation, and before it all that it depends on.
  void issueWithPredecessors(NodeId node);
  /// Issues all other operations, in the order of the program.
  void issueRest();

  /// Called when collective `id` can be issued.
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
  /// Epilogue operations that are ready, the first of the program first.
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

/// Whether the operation unpacks or converts a result that no operation of the
/// compute order depends on.
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

void StepEmitter::issueWithPredecessors(NodeId node) {
  stack.assign(1, node);
  while (!stack.empty()) {
    NodeId top = stack.back();
    if (issued.contains(top)) {
      stack.pop_back();
      continue;
    }
    if (!ready.isReady(top)) {
      // Predecessors are issued in the order of the program.
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

void StepEmitter::issueRest() {
  for (NodeId node : problem.topologicalOrder())
    issueWithPredecessors(node);
}

//===----------------------------------------------------------------------===//
// As-late-as-possible order
//===----------------------------------------------------------------------===//

StepConstruction::StepConstruction(const StepStructure &structure, Order order)
    : structure(&structure), computeOrder(std::move(order)) {
  computeDuePositions();
  measureAlapOrder();
}

void StepConstruction::computeDuePositions() {
  const Problem &problem = structure->getProblem();
  int32_t numPositions = static_cast<int32_t>(computeOrder.size());
  std::vector<int32_t> firstUsers(problem.numNodes(), numPositions);
  std::vector<int32_t> positions(problem.numNodes(), -1);
  for (int32_t position = 0; position < numPositions; ++position)
    positions[computeOrder[position]] = position;
  const Order &order = problem.topologicalOrder();
  for (size_t i = order.size(); i-- > 0;)
    for (DependenceEnd end : problem.successors(order[i]))
      firstUsers[order[i]] =
          std::min(firstUsers[order[i]], positions[end.node] >= 0
                                             ? positions[end.node]
                                             : firstUsers[end.node]);
  isNeeded.resize(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    isNeeded[node] = firstUsers[node] < numPositions;
  duePositions.reserve(structure->numCollectives());
  for (CollectiveId id = 0; id < structure->numCollectives(); ++id)
    duePositions.push_back(firstUsers[structure->collective(id).wait]);
  dueCollectives.build(
      numPositions, duePositions.size(),
      [&](size_t id) {
        return duePositions[id] < numPositions ? duePositions[id] : -1;
      },
      [](size_t id) { return static_cast<CollectiveId>(id); });
}

namespace {

/// Issues collectives that acquire memory when they are due, and collectives
/// that release memory as soon as they are available.
class AlapOrder final : public StepEmitter {
public:
  using StepEmitter::StepEmitter;

  void complete() {
    // Waiting for one collective may make another one available.
    while (!available.empty()) {
      CollectiveId id = available.back();
      available.pop_back();
      const MovableCollective &collective = structure.collective(id);
      if (collective.isReleasing && !issued.contains(collective.wait))
        issueWithPredecessors(collective.wait);
    }
  }

  using StepEmitter::begin;
  using StepEmitter::issued;
  using StepEmitter::issueRest;
  using StepEmitter::issueWithPredecessors;

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
    order.issueWithPredecessors(node);
    order.complete();
    peaks.push_back(order.issued.takePeak());
  }
  computedNs.push_back(order.issued.computedNs());
  order.issueRest();
  alapPeak = order.issued.takePeak();
  if (!peaks.empty())
    alapPeak =
        std::max(alapPeak, *std::max_element(peaks.begin(), peaks.end()));
  alap = order.issued.takeOrder();
}

std::vector<int64_t>
StepConstruction::computeLatestStarts(const IssuedOrder &clocks) const {
  const Problem &problem = structure->getProblem();
  constexpr int64_t never = std::numeric_limits<int64_t>::max() / 4;
  std::vector<int64_t> latest(structure->numCollectives(), never);
  // By stream: the latest start of the next collective.
  std::vector<int64_t> next(problem.numStreams(), never);
  for (size_t position = computeOrder.size(); position-- > 0;) {
    ArrayView<CollectiveId> row =
        dueCollectives[static_cast<int32_t>(position)];
    for (size_t i = row.size(); i-- > 0;) {
      NodeId start = structure->collective(row[i]).start;
      int64_t &nextStart = next[problem.stream(start)];
      nextStart = latest[row[i]] = std::min(computedNs[position], nextStart) -
                                   clocks.collectiveNs(start);
    }
  }
  return latest;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

namespace mlir::commsched::schedule {

/// One construction: the order so far, and the collectives that are available
/// or in flight.
class StepConstructor final : public StepEmitter {
public:
  StepConstructor(const StepConstruction &plan,
                  const ConstructionOptions &options)
      : StepEmitter(*plan.structure, plan.isNeeded,
                    options.contention.exclusive, options.slackPercent),
        plan(plan), options(options),
        latestStartsNs(plan.computeLatestStarts(issued)),
        futurePeaks(plan.peaks), streams(problem.numStreams()),
        prefetchedBytes(plan.computeOrder.size() + 1, 0) {
    for (CollectiveId id = 0; id < structure.numCollectives(); ++id)
      streams[problem.stream(startOf(id))].totalNs += costNs(id);
  }

  ConstructedOrder run();

private:
  using DueQueue =
      std::priority_queue<std::pair<int32_t, CollectiveId>,
                          std::vector<std::pair<int32_t, CollectiveId>>,
                          std::greater<>>;

  /// The collectives of a stream that are available or in flight.
  struct Stream {
    /// Those that acquire memory, by due position.
    DueQueue acquiring;
    /// Those that release memory and have a due position, by that.
    DueQueue releasingDue;
    /// Other collectives that release memory, in the order in which they became
    /// available. Those that are issued stay until all before them are.
    std::vector<CollectiveId> releasing;
    size_t firstReleasing = 0;
    /// The sum of the times of `releasing` that are not issued.
    int64_t releasingNs = 0;
    /// Collectives that release memory and are issued but not waited for.
    std::queue<CollectiveId> inFlight;
    /// The sum of the times of all its starts.
    int64_t totalNs = 0;
  };

  NodeId startOf(CollectiveId id) const {
    return structure.collective(id).start;
  }
  NodeId waitOf(CollectiveId id) const { return structure.collective(id).wait; }
  int64_t costNs(CollectiveId id) const {
    return issued.collectiveNs(startOf(id));
  }
  bool isIssued(CollectiveId id) const { return issued.contains(startOf(id)); }
  /// Whether the collective can be issued now within that limit.
  bool fitsBesideLive(CollectiveId id, int64_t limitBytes) const {
    return issued.liveBytes() <=
           limitBytes - structure.collective(id).issuingBytes;
  }
  /// The latest start on the clock, if nothing stalls from now on.
  int64_t latestStartNs(CollectiveId id) const {
    return latestStartsNs[id] + (issued.nowNs() - plan.computedNs[position]);
  }
  /// The time of the operation at the current position. No sum with it
  /// overflows: the sum of all costs is known to fit.
  int64_t currentNs() const {
    return plan.computedNs[position + 1] - plan.computedNs[position];
  }

  void makeAvailable(CollectiveId id) override;
  void issueCollective(CollectiveId id);
  CollectiveId takeReleasing(Stream &stream, int64_t roomNs,
                             int64_t limitBytes);
  CollectiveId findFirst(DueQueue &queue) const;
  bool fitsInMemory(CollectiveId id) const;
  bool issueNext(StreamId stream);
  CollectiveId findFirstInFlight();
  void waitForEnded();
  int64_t predictEndNs() const;
  int64_t predictPeak() const;
  bool exceedsLimit();
  bool freeMemory();
  int64_t getReservedBytes(const Stream &stream) const;
  void fillStreams(int64_t untilNs);
  void schedule(NodeId node);
  void finish();
  int64_t computeLowerBoundNs() const;

  const StepConstruction &plan;
  const ConstructionOptions &options;
  std::vector<int64_t> latestStartsNs;
  /// By position: the live bytes if nothing else is issued before it is due.
  RangeMaximum futurePeaks;
  std::vector<Stream> streams;
  /// By position: the bytes of collectives that are due there and were issued
  /// before.
  std::vector<int64_t> prefetchedBytes;
  /// The sum of these from the current position on.
  int64_t totalPrefetchedBytes = 0;
  int32_t position = 0;
  bool isLimited = false;
};

} // namespace mlir::commsched::schedule

void StepConstructor::makeAvailable(CollectiveId id) {
  Stream &stream = streams[problem.stream(startOf(id))];
  if (isIssued(id))
    return;
  if (!structure.collective(id).isReleasing) {
    stream.acquiring.push({plan.duePositions[id], id});
  } else if (plan.duePositions[id] <
             static_cast<int32_t>(plan.computeOrder.size())) {
    stream.releasingDue.push({plan.duePositions[id], id});
  } else {
    stream.releasing.push_back(id);
    stream.releasingNs += costNs(id);
  }
}

void StepConstructor::issueCollective(CollectiveId id) {
  const MovableCollective &collective = structure.collective(id);
  issueWithPredecessors(collective.start);
  if (collective.isReleasing || (options.makesRoom && collective.isFreeing))
    streams[problem.stream(collective.start)].inFlight.push(id);
  if (collective.isReleasing)
    return;
  int32_t due = plan.duePositions[id];
  if (due < position)
    return;
  futurePeaks.add(position, due, collective.issuedBytes);
  prefetchedBytes[due] += collective.issuedBytes;
  totalPrefetchedBytes += collective.issuedBytes;
}

/// Takes the first of the first few releasing collectives that fits into
/// `roomNs` and `limitBytes`, or noCollective.
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
    if (isIssued(id) || costNs(id) > roomNs)
      continue;
    if (!fitsBesideLive(id, limitBytes)) {
      isLimited = true;
      continue;
    }
    stream.releasingNs -= costNs(id);
    return id;
  }
  return noCollective;
}

CollectiveId StepConstructor::findFirst(DueQueue &queue) const {
  while (!queue.empty() && isIssued(queue.top().second))
    queue.pop();
  return queue.empty() ? noCollective : queue.top().second;
}

/// Whether the memory allows to issue the collective now and to keep its result
/// until it is due.
bool StepConstructor::fitsInMemory(CollectiveId id) const {
  int64_t bytes = structure.collective(id).issuedBytes;
  int32_t due = plan.duePositions[id];
  if (bytes <= 0 || due <= position)
    return true;
  int64_t room = options.limitBytes - bytes;
  if (!fitsBesideLive(id, options.limitBytes) ||
      futurePeaks.exceeds(position, due, room))
    return false;
  // The bytes that releasing collectives hold until they have ended, and that
  // the next one takes to be issued.
  StreamId index = problem.stream(startOf(id));
  const Stream &stream = streams[index];
  int64_t held = issued.liveBytes() - plan.bytesBefore[position] -
                 totalPrefetchedBytes + getReservedBytes(stream);
  if (held <= 0)
    return true;
  int64_t busyNs = std::max<int64_t>(issued.freeNs(index) - issued.nowNs(), 0) +
                   stream.releasingNs;
  auto drained = std::lower_bound(plan.computedNs.begin() + position,
                                  plan.computedNs.end(),
                                  plan.computedNs[position] + busyNs);
  int32_t end = static_cast<int32_t>(drained - plan.computedNs.begin());
  return !futurePeaks.exceeds(position, std::min(due, end), room - held);
}

/// Issues the best collective for the stream. Returns whether there was one.
bool StepConstructor::issueNext(StreamId index) {
  Stream &stream = streams[index];
  CollectiveId next = findFirst(stream.releasingDue);
  CollectiveId acquiring = findFirst(stream.acquiring);
  if (acquiring != noCollective &&
      (next == noCollective ||
       latestStartNs(acquiring) < latestStartNs(next))) {
    if (fitsInMemory(acquiring))
      next = acquiring;
    else
      isLimited = true;
  }
  int64_t beginNs = std::max(issued.nowNs(), issued.freeNs(index));
  int64_t roomNs =
      next == noCollective ? unlimited : latestStartNs(next) - beginNs;
  CollectiveId releasing = takeReleasing(stream, roomNs, options.limitBytes);
  if (releasing != noCollective) {
    issueCollective(releasing);
    return true;
  }
  // An acquiring collective can wait for the look-ahead if there is nothing to
  // issue behind it.
  if (next == noCollective ||
      (next == acquiring && roomNs > options.lookAheadNs &&
       stream.releasingNs == 0))
    return false;
  issueCollective(next);
  return true;
}

/// Returns the releasing collective in flight that ends first.
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
    issueWithPredecessors(waitOf(first));
  }
}

/// Issues collectives that keep the streams busy until `untilNs`.
void StepConstructor::fillStreams(int64_t untilNs) {
  for (StreamId stream = 0; stream < problem.numStreams(); ++stream)
    while (issued.freeNs(stream) < untilNs && issueNext(stream)) {
    }
}

/// Returns the bytes that the next releasing collective of the stream takes
/// when it is issued.
int64_t StepConstructor::getReservedBytes(const Stream &stream) const {
  for (size_t i = stream.firstReleasing; i < stream.releasing.size(); ++i)
    if (!isIssued(stream.releasing[i]))
      return structure.collective(stream.releasing[i]).issuingBytes;
  return 0;
}

/// Returns when the operation at the current position will end.
int64_t StepConstructor::predictEndNs() const {
  int64_t untilNs = issued.nowNs();
  for (CollectiveId id : plan.dueCollectives[position])
    if (isIssued(id))
      untilNs = std::max(untilNs, issued.endNs(startOf(id)));
  return untilNs + currentNs();
}

/// Returns the most live bytes up to the end of the operation at the current
/// position.
int64_t StepConstructor::predictPeak() const {
  // The growth first: the sum of all buffers is known to fit 64 bits, but not
  // that of two states.
  int64_t growth = plan.peaks[position] - plan.bytesBefore[position] -
                   prefetchedBytes[position];
  return issued.liveBytes() + growth;
}

/// Whether the operation at the current position is above the limit.
bool StepConstructor::exceedsLimit() {
  bool exceeds = predictPeak() > options.limitBytes;
  isLimited |= exceeds;
  return exceeds;
}

/// Waits for a releasing collective, which is issued if none is in flight.
/// Returns whether there was one.
bool StepConstructor::freeMemory() {
  CollectiveId first = findFirstInFlight();
  // If none is in flight, one that is within the limit, or else any.
  for (int64_t limitBytes : {options.limitBytes, unlimited})
    for (Stream &stream : streams)
      if (first == noCollective) {
        first = takeReleasing(stream, unlimited, limitBytes);
        if (first != noCollective)
          issueCollective(first);
      }
  if (first == noCollective)
    return false;
  issueWithPredecessors(waitOf(first));
  return true;
}

void StepConstructor::schedule(NodeId node) {
  waitForEnded();
  while (exceedsLimit() && freeMemory()) {
  }
  for (CollectiveId id : plan.dueCollectives[position]) {
    if (isIssued(id))
      continue;
    while (options.makesRoom && !fitsBesideLive(id, options.limitBytes) &&
           freeMemory()) {
    }
    issueCollective(id);
  }
  fillStreams(predictEndNs());
  while (exceedsLimit()) {
    CollectiveId first = findFirstInFlight();
    if (first != noCollective)
      fillStreams(
          std::max(predictEndNs(), issued.endNs(startOf(first)) + currentNs()));
    if (!freeMemory())
      break;
  }
  issueWithPredecessors(node);
  totalPrefetchedBytes -= prefetchedBytes[position];
}

/// Issues the remaining collectives and waits for them as they end. A
/// collective is issued just early enough for its preparation to end when its
/// stream is free, because the preparation takes memory.
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
    int64_t untilNs = issued.nowNs();
    if (first != noCollective)
      untilNs = std::max(untilNs, issued.endNs(startOf(first)));
    // The sum of all costs fits, but not everything beyond it.
    fillStreams(std::min(untilNs, unlimited - preparationNs - 1) +
                preparationNs + 1);
  } while (freeMemory());
  issueRest();
}

/// Of the step, whatever is issued next: all computation is still to come, and
/// on each stream all collectives.
int64_t StepConstructor::computeLowerBoundNs() const {
  int64_t boundNs =
      issued.nowNs() + (plan.computedNs.back() - issued.computedNs());
  for (StreamId stream = 0; stream < problem.numStreams(); ++stream)
    boundNs = std::max(boundNs,
                       std::max(issued.nowNs(), issued.freeNs(stream)) +
                           std::max<int64_t>(streams[stream].totalNs -
                                                 issued.communicatedNs(stream),
                                             0));
  return boundNs;
}

ConstructedOrder StepConstructor::run() {
  begin();
  for (NodeId node : plan.computeOrder) {
    schedule(node);
    ++position;
    if (int64_t boundNs = computeLowerBoundNs(); boundNs >= options.knownNs)
      return {issued.takeOrder(), boundNs, isLimited};
  }
  finish();
  int64_t stepNs = issued.stepNs();
  return {issued.takeOrder(), stepNs, isLimited};
}

ConstructedOrder
StepConstruction::construct(const ConstructionOptions &options) const {
  return StepConstructor(*this, options).run();
}
