//===- StepConstructor.cpp ------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/StepConstruction.h"
#include "CommSched/Support/Unlimited.h"

#include "RangeMaximum.h"
#include "StepEmitter.h"

#include <algorithm>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

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
        streams(problem.numStreams()), ahead(plan.backbone.size() + 1, 0) {}

  ConstructedOrder run();

private:
  using NeededFirst =
      std::priority_queue<std::pair<int32_t, CollectiveId>,
                          std::vector<std::pair<int32_t, CollectiveId>>,
                          std::greater<>>;

  /// What a stream could do next, and what it does.
  struct Stream {
    /// What makes more live, by need.
    NeededFirst gathers;
    /// Eager collectives that the backbone needs, by need.
    NeededFirst urgent;
    /// Other eager collectives as they came; those that are issued stay until
    /// all before them are.
    std::vector<CollectiveId> scatters;
    size_t firstScatter = 0;
    /// The time of the scatters that are not issued.
    int64_t scatterNs = 0;
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
  CollectiveId takeScatter(Stream &stream, int64_t roomNs, int64_t limitBytes);
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
  if (!structure.collective(id).isEager) {
    stream.gathers.push({plan.needs[id], id});
  } else if (plan.needs[id] < static_cast<int32_t>(plan.backbone.size())) {
    stream.urgent.push({plan.needs[id], id});
  } else {
    stream.scatters.push_back(id);
    stream.scatterNs += costNs(id);
  }
}

void StepConstructor::issueCollective(CollectiveId id) {
  const MovableCollective &collective = structure.collective(id);
  demand(collective.start);
  if (collective.isEager) {
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
CollectiveId StepConstructor::takeScatter(Stream &stream, int64_t roomNs,
                                          int64_t limitBytes) {
  constexpr size_t maxSearched = 16;
  std::vector<CollectiveId> &scatters = stream.scatters;
  while (stream.firstScatter < scatters.size() &&
         isIssued(scatters[stream.firstScatter]))
    ++stream.firstScatter;
  size_t end = std::min(scatters.size(), stream.firstScatter + maxSearched);
  for (size_t i = stream.firstScatter; i < end; ++i) {
    CollectiveId id = scatters[i];
    if (isIssued(id) || costNs(id) > roomNs ||
        issued.liveBytes() + structure.collective(id).issuingBytes > limitBytes)
      continue;
    stream.scatterNs -= costNs(id);
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
                   stream.scatterNs;
  auto drained =
      std::lower_bound(plan.computedNs.begin() + place, plan.computedNs.end(),
                       plan.computedNs[place] + busyNs);
  int32_t end = static_cast<int32_t>(drained - plan.computedNs.begin());
  return future.maximum(place, std::min(need, end)) <= room - held;
}

/// Issues the best that there is for the stream, if anything.
bool StepConstructor::issueNext(StreamId index) {
  Stream &stream = streams[index];
  CollectiveId next = findFirst(stream.urgent);
  CollectiveId gather = findFirst(stream.gathers);
  if (gather != noCollective && hasRoomFor(gather) &&
      (next == noCollective || latestStartNs(gather) < latestStartNs(next)))
    next = gather;
  int64_t beginNs = std::max(issued.nowNs(), issued.freeNs(index));
  int64_t roomNs =
      next == noCollective ? unlimited : latestStartNs(next) - beginNs;
  CollectiveId scatter = takeScatter(stream, roomNs, options.limitBytes);
  if (scatter != noCollective) {
    issueCollective(scatter);
    return true;
  }
  // A stream with nothing else to do need not be in a hurry.
  if (next == noCollective ||
      (next == gather && roomNs > options.lookAheadNs && stream.scatterNs == 0))
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
  for (size_t i = stream.firstScatter; i < stream.scatters.size(); ++i)
    if (!isIssued(stream.scatters[i]))
      return structure.collective(stream.scatters[i]).issuingBytes;
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
        first = takeScatter(stream, unlimited, limitBytes);
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
  for (NodeId node : plan.backbone) {
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
