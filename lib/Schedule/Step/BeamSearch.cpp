//===- BeamSearch.cpp - Orders grown from their beginning -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SmallSteps.h"

#include "../Model/ReadyTracker.h"
#include "../Model/RunState.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Schedule prefixes
//===----------------------------------------------------------------------===//

namespace {

/// A legal order of some of the operations, to which more can be appended.
struct SchedulePrefix {
  explicit SchedulePrefix(const Problem &problem)
      : pending(problem.numNodes()), clocks(problem), memory(problem) {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      pending.addEdgesTo(node, problem.predecessors(node).size());
  }

  bool isIssued(NodeId node) const { return pending.isTaken(node); }

  /// Counts the dependences of each operation that are not met.
  IndegreeCounter pending;
  Clocks clocks;
  LiveBytes memory;
  /// A hash of the set of operations that are issued.
  uint64_t issuedHash = 0;
  /// No order that begins so has a shorter step.
  int64_t boundNs = 0;
};

/// Extends schedule prefixes of one problem, and bounds what they lead to.
class PrefixExtender {
public:
  /// `problem` has to live on; its program is a legal order.
  /// O(nodes log nodes + dependences + uses).
  explicit PrefixExtender(const Problem &problem);

  /// Appends a ready operation. O(dependences and buffers of `node`).
  void append(SchedulePrefix &prefix, NodeId node) const;

  /// Returns the ready operations that are worth issuing next, ascending. A
  /// wait that takes neither time nor memory comes before everything else.
  /// O(nodes).
  const std::vector<NodeId> &listChoices(const SchedulePrefix &prefix);

  /// Returns a lower bound on the step of all orders that begin with `prefix`,
  /// of which those from `belowNs` on are not told apart.
  /// O(nodes + dependences).
  int64_t computeBoundNs(const SchedulePrefix &prefix, int64_t belowNs);

private:
  void computeTails();
  int64_t computeReleaseDates(const SchedulePrefix &prefix);

  const Problem &problem;
  /// By operation: the least time from when the compute stream is past the
  /// operation to the end of the step.
  std::vector<int64_t> tailsNs;
  /// By collective: the least time from its end to the end of the step. By
  /// Compute: as above.
  std::vector<int64_t> endTailsNs;
  /// All operations but waits, the longest tail first.
  std::vector<NodeId> byEndTail;

  // Buffers of the functions above, which are called very often.
  std::vector<NodeId> choices;
  /// By operation: its release date, and when the compute stream is past it at
  /// the earliest.
  std::vector<int64_t> releasesNs, passedNs;
  std::vector<int64_t> firstReleases, sums;
};

} // namespace

PrefixExtender::PrefixExtender(const Problem &problem)
    : problem(problem), tailsNs(problem.numNodes()),
      endTailsNs(problem.numNodes()), releasesNs(problem.numNodes()),
      passedNs(problem.numNodes()) {
  computeTails();
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) != NodeKind::Wait)
      byEndTail.push_back(node);
  std::sort(byEndTail.begin(), byEndTail.end(), [&](NodeId a, NodeId b) {
    return endTailsNs[a] != endTailsNs[b] ? endTailsNs[a] > endTailsNs[b]
                                          : a < b;
  });
}

void PrefixExtender::computeTails() {
  for (NodeId node = problem.numNodes(); node-- > 0;) {
    int64_t tail = 0;
    for (DependenceEnd end : problem.successors(node)) {
      bool holdsCompute = problem.kind(end.node) == NodeKind::Compute ||
                          problem.kind(end.node) == NodeKind::Blocking;
      tail = std::max(tail, tailsNs[end.node] +
                                (holdsCompute ? problem.costNs(end.node) : 0));
    }
    tailsNs[node] = endTailsNs[node] = tail;
    if (problem.kind(node) != NodeKind::Start)
      continue;
    endTailsNs[node] = tailsNs[problem.waitOf(node)];
    tailsNs[node] = std::max(tail, problem.costNs(node) + endTailsNs[node]);
  }
}

/// Mixes the bits of an index (S. Vigna, splitmix64).
static uint64_t hashNode(NodeId node) {
  uint64_t x = (static_cast<uint64_t>(node) + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void PrefixExtender::append(SchedulePrefix &prefix, NodeId node) const {
  prefix.pending.take(node);
  for (DependenceEnd end : problem.successors(node))
    prefix.pending.removeEdgeTo(end.node);
  prefix.issuedHash ^= hashNode(node);
  prefix.clocks.issue(node);
  prefix.memory.issue(node);
}

const std::vector<NodeId> &
PrefixExtender::listChoices(const SchedulePrefix &prefix) {
  choices.clear();
  const Clocks &clocks = prefix.clocks;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (!prefix.pending.isReady(node))
      continue;
    if (problem.kind(node) == NodeKind::Wait &&
        problem.buffersMadeBy(node).empty() &&
        clocks.endNs(problem.startOf(node)) <= clocks.nowNs()) {
      choices = {node};
      return choices;
    }
    choices.push_back(node);
  }
  return choices;
}

/// Computes when each operation that is not issued can begin at the earliest,
/// by dependences and streams. Returns the bound that follows from these dates
/// and the tails.
int64_t PrefixExtender::computeReleaseDates(const SchedulePrefix &prefix) {
  const Clocks &clocks = prefix.clocks;
  int64_t bound = clocks.nowNs();
  // The compute stream is past all that is issued.
  std::fill(passedNs.begin(), passedNs.end(), clocks.nowNs());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (prefix.isIssued(node))
      continue;
    int64_t release = clocks.nowNs();
    for (DependenceEnd end : problem.predecessors(node))
      release = std::max(release, passedNs[end.node]);
    int64_t passed = release;
    switch (problem.kind(node)) {
    case NodeKind::Compute:
      passed += problem.costNs(node);
      break;
    case NodeKind::Wait: {
      NodeId start = problem.startOf(node);
      int64_t end = prefix.isIssued(start)
                        ? clocks.endNs(start)
                        : releasesNs[start] + problem.costNs(start);
      passed = std::max(release, end);
      break;
    }
    case NodeKind::Start:
    case NodeKind::Blocking:
      release = std::max(release, clocks.streamEndsNs()[problem.stream(node)]);
      if (problem.kind(node) == NodeKind::Blocking)
        passed = release + problem.costNs(node);
      break;
    }
    releasesNs[node] = release;
    passedNs[node] = passed;
    bound = std::max(bound, passed + tailsNs[node]);
  }
  return bound;
}

int64_t PrefixExtender::computeBoundNs(const SchedulePrefix &prefix,
                                       int64_t belowNs) {
  int64_t bound = computeReleaseDates(prefix);
  if (bound >= belowNs)
    return bound;
  // The bound of one machine for each stream: the operations whose tails are at
  // least so long take the sum of their times, from the first release date of
  // all on. The compute stream comes last.
  size_t compute = static_cast<size_t>(problem.numStreams());
  firstReleases.assign(compute + 1, std::numeric_limits<int64_t>::max());
  sums.assign(compute + 1, 0);
  auto addTo = [&](size_t stream, NodeId node) {
    firstReleases[stream] = std::min(firstReleases[stream], releasesNs[node]);
    sums[stream] += problem.costNs(node);
    bound = std::max(bound,
                     firstReleases[stream] + sums[stream] + endTailsNs[node]);
  };
  for (NodeId node : byEndTail) {
    if (prefix.isIssued(node))
      continue;
    if (problem.isCollective(node))
      addTo(static_cast<size_t>(problem.stream(node)), node);
    if (problem.kind(node) != NodeKind::Start)
      addTo(compute, node);
  }
  return bound;
}

//===----------------------------------------------------------------------===//
// Beam search
//===----------------------------------------------------------------------===//

namespace {

/// A prefix of the beam with one more operation: what the choice among them
/// reads.
struct BeamCandidate {
  /// At first the bound of the prefix, which that of more operations is not
  /// below.
  int64_t boundNs;
  /// The sum of when the streams are done with all that is issued.
  int64_t sumNs;
  int64_t nowNs;
  int64_t liveBytes;
  /// Index in the beam of the prefix that is extended.
  int32_t parent;
  NodeId node;
  uint64_t issuedHash;
  bool isBounded = false;

  /// Candidates with the least key are kept. Of equal bounds those whose
  /// streams have the least work issued leave the most freedom.
  auto key() const {
    return std::tie(boundNs, sumNs, nowNs, liveBytes, parent, node);
  }
  /// For a heap, the least key first.
  bool operator<(const BeamCandidate &other) const {
    return other.key() < key();
  }
};

class BeamSearch {
public:
  BeamSearch(const Problem &problem, const SearchOptions &options)
      : problem(problem), extender(problem), limitBytes(options.limitBytes),
        belowNs(options.belowNs), effort(options.effort) {}

  /// Runs one beam. Returns an order that is shorter than all before, or
  /// std::nullopt.
  std::optional<Order> run(size_t width);
  int64_t getBestNs() const { return belowNs; }
  int64_t getEffort() const { return effort; }
  /// Whether a wider beam than the last would have the same prefixes.
  bool isExhausted() const { return !dropped; }

private:
  /// The operation that a prefix of the beam ends with, and the index in the
  /// beam before it of the rest.
  struct Extension {
    int32_t parent;
    NodeId node;
  };

  bool extendAll(size_t width);
  std::optional<std::vector<BeamCandidate>> makeCandidates();
  Order traceBack() const;

  const Problem &problem;
  PrefixExtender extender;
  int64_t limitBytes, belowNs, effort;
  std::vector<SchedulePrefix> beam;
  /// By position in the order: the prefixes of the beam that end there.
  std::vector<std::vector<Extension>> extensions;
  bool dropped = false;
};

} // namespace

/// Extends each prefix of the beam by each of its choices that stays within the
/// limit. Returns std::nullopt if the effort is spent.
std::optional<std::vector<BeamCandidate>> BeamSearch::makeCandidates() {
  std::vector<BeamCandidate> candidates;
  for (size_t parent = 0; parent < beam.size(); ++parent) {
    SchedulePrefix &prefix = beam[parent];
    const std::vector<int64_t> &streamsNs = prefix.clocks.streamEndsNs();
    int64_t sumNs =
        std::accumulate(streamsNs.begin(), streamsNs.end(), int64_t(0));
    for (NodeId node : extender.listChoices(prefix)) {
      effort -= problem.numNodes();
      if (effort < 0)
        return std::nullopt;
      int64_t allocatedBytes = prefix.memory.issue(node);
      int64_t liveBytes = prefix.memory.bytes();
      prefix.memory.undo(node);
      if (allocatedBytes > limitBytes)
        continue;
      int64_t endNs = prefix.clocks.peek(node).endNs;
      bool isStart = problem.kind(node) == NodeKind::Start;
      int64_t workNs = problem.isCollective(node)
                           ? endNs - streamsNs[problem.stream(node)]
                           : 0;
      candidates.push_back({prefix.boundNs, sumNs + workNs,
                            isStart ? prefix.clocks.nowNs() : endNs, liveBytes,
                            static_cast<int32_t>(parent), node,
                            prefix.issuedHash ^ hashNode(node)});
    }
  }
  return candidates;
}

/// Replaces the beam by the best prefixes with one more operation that may lead
/// to a shorter step. Only what may be among the best is bounded. Returns false
/// if there are none or the effort is spent.
bool BeamSearch::extendAll(size_t width) {
  std::optional<std::vector<BeamCandidate>> candidates = makeCandidates();
  if (!candidates)
    return false;
  std::priority_queue<BeamCandidate> best({}, std::move(*candidates));
  std::vector<SchedulePrefix> extended;
  extensions.emplace_back();
  std::set<std::pair<uint64_t, int64_t>> seen;
  SchedulePrefix next(problem);
  while (!best.empty() && !(dropped && extended.size() == width)) {
    BeamCandidate candidate = best.top();
    best.pop();
    std::pair<uint64_t, int64_t> state = {candidate.issuedHash,
                                          candidate.nowNs};
    if (seen.count(state))
      continue;
    if (!candidate.isBounded) {
      next = beam[candidate.parent];
      extender.append(next, candidate.node);
      candidate.boundNs =
          std::max(candidate.boundNs, extender.computeBoundNs(next, belowNs));
      candidate.isBounded = true;
      if (candidate.boundNs < belowNs)
        best.push(candidate);
      continue;
    }
    if (extended.size() == width) {
      dropped = true;
      break;
    }
    seen.insert(state);
    extensions.back().push_back({candidate.parent, candidate.node});
    extended.push_back(beam[candidate.parent]);
    extender.append(extended.back(), candidate.node);
    extended.back().boundNs = candidate.boundNs;
  }
  beam = std::move(extended);
  return !beam.empty();
}

Order BeamSearch::traceBack() const {
  Order order(extensions.size());
  int32_t index = 0;
  for (size_t position = extensions.size(); position-- > 0;) {
    const Extension &extension =
        extensions[position][static_cast<size_t>(index)];
    order[position] = extension.node;
    index = extension.parent;
  }
  return order;
}

std::optional<Order> BeamSearch::run(size_t width) {
  extensions.clear();
  dropped = false;
  beam = {SchedulePrefix(problem)};
  for (NodeId position = 0; position < problem.numNodes(); ++position)
    if (!extendAll(width))
      return std::nullopt;
  // Every collective has been waited for, so the other streams are idle.
  belowNs = beam.front().clocks.nowNs();
  return traceBack();
}

std::optional<Order> schedule::searchBeam(const Problem &problem,
                                          const SearchOptions &options) {
  constexpr int64_t firstWidth = 8, growth = 4;
  int64_t size = problem.numNodes();
  // The effort of the first beam if every prefix has one choice.
  int64_t neededEffort = firstWidth * size;
  std::optional<Order> best;
  if (size == 0 || options.effort / neededEffort < size)
    return best;
  BeamSearch search(problem, options);
  for (int64_t width = firstWidth; neededEffort <= search.getEffort();
       width *= growth) {
    int64_t before = search.getEffort();
    if (std::optional<Order> order = search.run(static_cast<size_t>(width)))
      best = std::move(order);
    if (search.getBestNs() <= options.goalNs || search.isExhausted())
      break;
    neededEffort = (before - search.getEffort()) * growth;
  }
  return best;
}
