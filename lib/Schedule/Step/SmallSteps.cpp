//===- SmallSteps.cpp - Searches for steps of few operations --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallSteps.h"

#include "CommSched/Schedule/Simulator.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Schedule prefixes
//===----------------------------------------------------------------------===//

namespace {

/// What has been issued, and what that leads to.
struct SchedulePrefix {
  /// By operation: how many dependences it waits for; -1 once it is issued.
  std::vector<int32_t> numMissing;
  /// By buffer: who has not used it yet, and who makes it.
  std::vector<int32_t> usersLeft;
  /// By Start that is issued: when the collective ends.
  std::vector<int64_t> endsNs;
  std::vector<int64_t> streamsNs;
  int64_t clockNs = 0;
  int64_t liveBytes = 0;
  /// Tells sets of issued operations apart.
  uint64_t issuedHash = 0;

  bool isIssued(NodeId node) const { return numMissing[node] < 0; }
  bool isReady(NodeId node) const { return numMissing[node] == 0; }
};

/// Continues prefix orders of one problem.
class PrefixExtender {
public:
  /// `problem` has to live on; its program is a legal order.
  /// O(nodes log nodes + dependences + uses).
  explicit PrefixExtender(const Problem &problem);

  /// Nothing is issued.
  SchedulePrefix makeEmpty() const;

  /// Issues a ready operation. Returns the live bytes beside it.
  /// O(its dependences and buffers).
  int64_t issue(SchedulePrefix &prefix, NodeId node) const;

  /// The ready operations that are worth issuing next, ascending. A wait that
  /// takes neither time nor memory comes before all else. O(nodes).
  const std::vector<NodeId> &listChoices(const SchedulePrefix &prefix);

  /// No order that begins like this is shorter. O(nodes + dependences).
  int64_t findBoundNs(const SchedulePrefix &prefix);

private:
  void findTails();

  const Problem &problem;
  /// By operation: how long the step goes on at least from when the compute
  /// stream is past it.
  std::vector<int64_t> tailsNs;
  /// By collective: from when it ends; by Compute as above.
  std::vector<int64_t> endTailsNs;
  /// What takes time, the longest tail first.
  std::vector<NodeId> byEndTail;

  // What is used again and again.
  std::vector<NodeId> choices;
  std::vector<int64_t> headsNs, releasesNs;
  std::vector<int64_t> firstHeads, sums;
};

} // namespace

PrefixExtender::PrefixExtender(const Problem &problem)
    : problem(problem), tailsNs(problem.numNodes()),
      endTailsNs(problem.numNodes()), headsNs(problem.numNodes()),
      releasesNs(problem.numNodes()) {
  findTails();
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) != NodeKind::Wait)
      byEndTail.push_back(node);
  std::sort(byEndTail.begin(), byEndTail.end(), [&](NodeId a, NodeId b) {
    return endTailsNs[a] != endTailsNs[b] ? endTailsNs[a] > endTailsNs[b]
                                          : a < b;
  });
}

void PrefixExtender::findTails() {
  for (NodeId node = problem.numNodes(); node-- > 0;) {
    int64_t tail = 0;
    for (DependenceEnd end : problem.successors(node)) {
      bool holds = problem.kind(end.node) == NodeKind::Compute ||
                   problem.kind(end.node) == NodeKind::Blocking;
      tail = std::max(tail, tailsNs[end.node] +
                                (holds ? problem.costNs(end.node) : 0));
    }
    tailsNs[node] = endTailsNs[node] = tail;
    if (problem.kind(node) != NodeKind::Start)
      continue;
    endTailsNs[node] = tailsNs[problem.waitOf(node)];
    tailsNs[node] = std::max(tail, problem.costNs(node) + endTailsNs[node]);
  }
}

SchedulePrefix PrefixExtender::makeEmpty() const {
  SchedulePrefix prefix;
  prefix.endsNs.resize(problem.numNodes());
  prefix.streamsNs.resize(problem.numStreams());
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    prefix.numMissing.push_back(
        static_cast<int32_t>(problem.predecessors(node).size()));
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    bool isThere = problem.buffer(id).producer == noNode;
    // A producer may be among the users, and then counts twice.
    prefix.usersLeft.push_back(static_cast<int32_t>(problem.users(id).size()) +
                               !isThere);
    if (isThere)
      prefix.liveBytes += problem.buffer(id).bytes;
  }
  return prefix;
}

/// Mixes the bits of an index (S. Vigna, splitmix64).
static uint64_t hash(NodeId node) {
  uint64_t x = (static_cast<uint64_t>(node) + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

int64_t PrefixExtender::issue(SchedulePrefix &prefix, NodeId node) const {
  for (BufferId id : problem.buffersMadeBy(node))
    prefix.liveBytes += problem.buffer(id).bytes;
  int64_t allocated = prefix.liveBytes;
  auto release = [&](BufferId id) {
    if (--prefix.usersLeft[id] == 0 && problem.buffer(id).freed)
      prefix.liveBytes -= problem.buffer(id).bytes;
  };
  for (BufferId id : problem.buffersMadeBy(node))
    release(id);
  for (BufferId id : problem.buffersUsedBy(node))
    release(id);
  switch (problem.kind(node)) {
  case NodeKind::Compute:
    prefix.clockNs += problem.costNs(node);
    break;
  case NodeKind::Wait:
    prefix.clockNs =
        std::max(prefix.clockNs, prefix.endsNs[problem.startOf(node)]);
    break;
  case NodeKind::Start:
  case NodeKind::Blocking: {
    int64_t &stream = prefix.streamsNs[problem.stream(node)];
    stream = std::max(prefix.clockNs, stream) + problem.costNs(node);
    prefix.endsNs[node] = stream;
    if (problem.kind(node) == NodeKind::Blocking)
      prefix.clockNs = stream;
    break;
  }
  }
  prefix.numMissing[node] = -1;
  for (DependenceEnd end : problem.successors(node))
    --prefix.numMissing[end.node];
  prefix.issuedHash ^= hash(node);
  return allocated;
}

const std::vector<NodeId> &
PrefixExtender::listChoices(const SchedulePrefix &prefix) {
  choices.clear();
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (!prefix.isReady(node))
      continue;
    if (problem.kind(node) == NodeKind::Wait &&
        problem.buffersMadeBy(node).empty() &&
        prefix.endsNs[problem.startOf(node)] <= prefix.clockNs) {
      choices = {node};
      return choices;
    }
    choices.push_back(node);
  }
  return choices;
}

int64_t PrefixExtender::findBoundNs(const SchedulePrefix &prefix) {
  int64_t bound = prefix.clockNs;
  // When each operation begins at the earliest, and when the compute stream is
  // past it; what is issued is past now.
  std::fill(releasesNs.begin(), releasesNs.end(), prefix.clockNs);
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (prefix.isIssued(node))
      continue;
    int64_t head = prefix.clockNs;
    for (DependenceEnd end : problem.predecessors(node))
      head = std::max(head, releasesNs[end.node]);
    int64_t release = head;
    switch (problem.kind(node)) {
    case NodeKind::Compute:
      release += problem.costNs(node);
      break;
    case NodeKind::Wait: {
      NodeId start = problem.startOf(node);
      int64_t end = prefix.isIssued(start)
                        ? prefix.endsNs[start]
                        : headsNs[start] + problem.costNs(start);
      release = std::max(head, end);
      break;
    }
    case NodeKind::Start:
    case NodeKind::Blocking:
      head = std::max(head, prefix.streamsNs[problem.stream(node)]);
      if (problem.kind(node) == NodeKind::Blocking)
        release = head + problem.costNs(node);
      break;
    }
    headsNs[node] = head;
    releasesNs[node] = release;
    bound = std::max(bound, release + tailsNs[node]);
  }
  // Whatever has at least some tail runs one after another on its stream, from
  // the least of the heads on. The compute stream comes last.
  size_t compute = static_cast<size_t>(problem.numStreams());
  firstHeads.assign(compute + 1, std::numeric_limits<int64_t>::max());
  sums.assign(compute + 1, 0);
  auto run = [&](size_t stream, NodeId node) {
    firstHeads[stream] = std::min(firstHeads[stream], headsNs[node]);
    sums[stream] += problem.costNs(node);
    bound =
        std::max(bound, firstHeads[stream] + sums[stream] + endTailsNs[node]);
  };
  for (NodeId node : byEndTail) {
    if (prefix.isIssued(node))
      continue;
    if (problem.isCollective(node))
      run(static_cast<size_t>(problem.stream(node)), node);
    if (problem.kind(node) != NodeKind::Start)
      run(compute, node);
  }
  return bound;
}

//===----------------------------------------------------------------------===//
// Beam search
//===----------------------------------------------------------------------===//

namespace {

/// A prefix order of the beam with one more operation.
struct Candidate {
  SchedulePrefix prefix;
  int64_t boundNs;
  /// Index in the beam.
  int32_t parent;
  NodeId node;

  /// What goes on first is least. Streams that are not ahead leave most open.
  auto key() const {
    int64_t streamsNs = std::accumulate(prefix.streamsNs.begin(),
                                        prefix.streamsNs.end(), int64_t(0));
    return std::make_tuple(boundNs, streamsNs, prefix.clockNs, prefix.liveBytes,
                           parent, node);
  }
};

class BeamSearch {
public:
  BeamSearch(const Problem &problem, const BeamSearchOptions &options)
      : problem(problem), extender(problem), limitBytes(options.limitBytes),
        belowNs(options.belowNs), effort(options.effort) {}

  /// Runs one beam. An order that is shorter than all before, or none.
  std::optional<Order> run(size_t width);
  int64_t getBestNs() const { return belowNs; }
  int64_t getEffort() const { return effort; }
  /// Whether the last beam had room for all.
  bool isExhausted() const { return !dropped; }

private:
  struct Step {
    int32_t parent;
    NodeId node;
  };

  bool grow(size_t width);
  Order traceBack() const;

  const Problem &problem;
  PrefixExtender extender;
  int64_t limitBytes, belowNs, effort;
  std::vector<SchedulePrefix> beam;
  std::vector<std::vector<Step>> steps;
  bool dropped = false;
};

} // namespace

/// Appends an operation to every order of the beam. False if nothing is left.
bool BeamSearch::grow(size_t width) {
  std::vector<Candidate> candidates;
  for (size_t parent = 0; parent < beam.size(); ++parent)
    for (NodeId node : extender.listChoices(beam[parent])) {
      if ((effort -= problem.numNodes()) < 0)
        return false;
      SchedulePrefix next = beam[parent];
      if (extender.issue(next, node) > limitBytes)
        continue;
      int64_t bound = extender.findBoundNs(next);
      if (bound < belowNs)
        candidates.push_back(
            {std::move(next), bound, static_cast<int32_t>(parent), node});
    }
  std::vector<size_t> ranks(candidates.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::sort(ranks.begin(), ranks.end(), [&](size_t a, size_t b) {
    return candidates[a].key() < candidates[b].key();
  });
  beam.clear();
  steps.emplace_back();
  std::set<std::pair<uint64_t, int64_t>> seen;
  for (size_t i : ranks) {
    Candidate &candidate = candidates[i];
    const SchedulePrefix &prefix = candidate.prefix;
    bool isNew = seen.insert({prefix.issuedHash, prefix.clockNs}).second;
    if (!isNew || beam.size() == width) {
      dropped = true;
      continue;
    }
    steps.back().push_back({candidate.parent, candidate.node});
    beam.push_back(std::move(candidate.prefix));
  }
  return !beam.empty();
}

Order BeamSearch::traceBack() const {
  Order order(steps.size());
  int32_t index = 0;
  for (size_t place = steps.size(); place-- > 0;) {
    const Step &step = steps[place][static_cast<size_t>(index)];
    order[place] = step.node;
    index = step.parent;
  }
  return order;
}

std::optional<Order> BeamSearch::run(size_t width) {
  steps.clear();
  dropped = false;
  beam = {extender.makeEmpty()};
  for (NodeId place = 0; place < problem.numNodes(); ++place)
    if (!grow(width))
      return std::nullopt;
  // Every collective has been waited for, so the other streams are idle.
  belowNs = beam.front().clockNs;
  return traceBack();
}

std::optional<Order> schedule::searchBeam(const Problem &problem,
                                          const BeamSearchOptions &options) {
  constexpr int64_t firstWidth = 8, growth = 4;
  int64_t size = problem.numNodes();
  // What the first beam takes if every order has one choice.
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

//===----------------------------------------------------------------------===//
// Local search
//===----------------------------------------------------------------------===//

namespace {

struct OrderCost {
  int64_t stepNs = 0;
  int64_t peakBytes = 0;

  bool operator<(const OrderCost &other) const {
    return stepNs != other.stepNs ? stepNs < other.stepNs
                                  : peakBytes < other.peakBytes;
  }
};

/// simulate() and simulateMemory() in one, without allocations: what thousands
/// of orders of one problem are judged by.
class OrderJudge {
public:
  OrderJudge(const Problem &problem, const Contention &contention);

  OrderCost judge(const Order &order);

private:
  int64_t simulatePlainly(const Order &order);
  int64_t simulatePeak(const Order &order);

  const Problem &problem;
  const Contention &contention;
  int64_t initialBytes = 0;
  std::vector<int64_t> endsNs;
  std::vector<int64_t> streamNs;
  std::vector<int32_t> numUsers;
  std::vector<int32_t> usersLeft;
};

} // namespace

OrderJudge::OrderJudge(const Problem &problem, const Contention &contention)
    : problem(problem), contention(contention), endsNs(problem.numNodes()),
      streamNs(problem.numStreams()), numUsers(problem.numBuffers()) {
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    numUsers[id] = static_cast<int32_t>(problem.users(id).size());
    if (problem.buffer(id).producer == noNode)
      initialBytes += problem.buffer(id).bytes;
  }
}

int64_t OrderJudge::simulatePlainly(const Order &order) {
  std::fill(streamNs.begin(), streamNs.end(), 0);
  int64_t clockNs = 0;
  for (NodeId node : order)
    switch (problem.kind(node)) {
    case NodeKind::Compute:
      clockNs += problem.costNs(node);
      break;
    case NodeKind::Wait:
      clockNs = std::max(clockNs, endsNs[problem.startOf(node)]);
      break;
    case NodeKind::Start:
    case NodeKind::Blocking: {
      int64_t &stream = streamNs[problem.stream(node)];
      stream = std::max(clockNs, stream) + problem.costNs(node);
      endsNs[node] = stream;
      if (problem.kind(node) == NodeKind::Blocking)
        clockNs = stream;
      break;
    }
    }
  for (int64_t stream : streamNs)
    clockNs = std::max(clockNs, stream);
  return clockNs;
}

int64_t OrderJudge::simulatePeak(const Order &order) {
  usersLeft = numUsers;
  int64_t live = initialBytes, peak = initialBytes;
  for (NodeId node : order) {
    for (BufferId id : problem.buffersMadeBy(node))
      live += problem.buffer(id).bytes;
    peak = std::max(peak, live);
    for (BufferId id : problem.buffersMadeBy(node))
      if (problem.buffer(id).freed && numUsers[id] == 0)
        live -= problem.buffer(id).bytes;
    for (BufferId id : problem.buffersUsedBy(node))
      if (--usersLeft[id] == 0 && problem.buffer(id).freed)
        live -= problem.buffer(id).bytes;
  }
  return peak;
}

OrderCost OrderJudge::judge(const Order &order) {
  OrderCost cost;
  cost.stepNs = contention.isNone()
                    ? simulatePlainly(order)
                    : simulate(problem, order, contention)->stepNs;
  cost.peakBytes = simulatePeak(order);
  return cost;
}

namespace {

class OrderImprover {
public:
  OrderImprover(const Problem &problem, const Order &order,
                const OrderImprovementOptions &options)
      : problem(problem), options(options), judge(problem, options.contention),
        order(order), places(order.size()) {
    for (size_t place = 0; place < order.size(); ++place)
      places[order[place]] = static_cast<int32_t>(place);
  }

  Order run();

private:
  uint32_t draw(uint32_t bound);
  std::pair<int32_t, int32_t> findRange(NodeId node) const;
  void move(int32_t from, int32_t to);

  const Problem &problem;
  const OrderImprovementOptions &options;
  OrderJudge judge;
  Order order;
  std::vector<int32_t> places;
  uint64_t state = 0x9e3779b97f4a7c15;
};

} // namespace

/// A number below `bound`, from a linear congruential generator (D. E. Knuth,
/// MMIX): the same on every platform.
uint32_t OrderImprover::draw(uint32_t bound) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return static_cast<uint32_t>(((state >> 32) * bound) >> 32);
}

/// The first and the last place that the operation can move to.
std::pair<int32_t, int32_t> OrderImprover::findRange(NodeId node) const {
  int32_t first = 0, last = static_cast<int32_t>(order.size()) - 1;
  for (DependenceEnd end : problem.predecessors(node))
    first = std::max(first, places[end.node] + 1);
  for (DependenceEnd end : problem.successors(node))
    last = std::min(last, places[end.node] - 1);
  for (BufferId id : problem.buffersUsedBy(node))
    if (NodeId producer = problem.buffer(id).producer;
        producer != noNode && producer != node)
      first = std::max(first, places[producer] + 1);
  for (BufferId id : problem.buffersMadeBy(node))
    for (NodeId user : problem.users(id))
      if (user != node)
        last = std::min(last, places[user] - 1);
  return {first, last};
}

void OrderImprover::move(int32_t from, int32_t to) {
  auto begin = order.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
  for (int32_t place = std::min(from, to); place <= std::max(from, to); ++place)
    places[order[place]] = place;
}

Order OrderImprover::run() {
  int64_t size = std::max<int64_t>(static_cast<int64_t>(order.size()), 1);
  // Simulating contention takes about so many times as long.
  int64_t effortPerMove = options.contention.isNone() ? size : 16 * size;
  constexpr int64_t maxMoves = 1 << 16;
  int64_t numMoves = std::min(options.effort / effortPerMove, maxMoves);
  OrderCost current = judge.judge(order), best = current;
  Order bestOrder = order;
  // To begin with, an eighth of what might be gained.
  int64_t firstThreshold = (current.stepNs - options.goalNs) / 8;
  for (int64_t done = 0; done < numMoves && best.stepNs > options.goalNs;
       ++done) {
    NodeId node = static_cast<NodeId>(draw(static_cast<uint32_t>(size)));
    auto [first, last] = findRange(node);
    if (last <= first)
      continue;
    int32_t from = places[node];
    // Any place of the range but its own.
    int32_t to =
        first + static_cast<int32_t>(draw(static_cast<uint32_t>(last - first)));
    to += to >= from;
    move(from, to);
    OrderCost cost = judge.judge(order);
    constexpr int64_t numPhases = 64;
    int64_t threshold = firstThreshold / numPhases *
                        (numPhases - 1 - done * numPhases / numMoves);
    if (cost.peakBytes > options.limitBytes ||
        cost.stepNs > current.stepNs + threshold) {
      move(to, from);
      continue;
    }
    current = cost;
    if (current < best) {
      best = current;
      bestOrder = order;
    }
  }
  return bestOrder;
}

Order schedule::improveOrder(const Problem &problem, const Order &order,
                             const OrderImprovementOptions &options) {
  return OrderImprover(problem, order, options).run();
}
