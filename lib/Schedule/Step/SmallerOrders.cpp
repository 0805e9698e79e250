//===- SmallerOrders.cpp - Orders that take less memory -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/SmallerOrders.h"

#include "../Model/ReadyTracker.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Support/Unlimited.h"
#include "ComputeOrders.h"
#include "StepConstruction.h"

#include <algorithm>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

struct SizedOrder {
  Order order;
  int64_t peakBytes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Along the longest chain
//===----------------------------------------------------------------------===//

namespace {

/// Orders computation by its place beside the longest chain of the program:
/// what takes more memory than it frees comes directly before what needs it,
/// and everything else directly behind what it needs, so that nothing waits for
/// a view. Collectives take no time: they are as late as possible anyway.
class ChainOrder {
public:
  explicit ChainOrder(const Problem &problem);

  /// Independent parts side by side. What an operation frees is guessed by the
  /// places of the others.
  Order takeByPlace();
  /// Depth first: independent parts, such as the chunks of a loss, one after
  /// the other. What an operation frees is known when it is taken.
  Order takeDeep();

private:
  /// Whether an operation is late, and its place depth first.
  using Entry = std::pair<bool, int32_t>;

  int64_t getCost(NodeId node) const {
    // Operations without a cost have places, too.
    return problem.kind(node) == NodeKind::Compute ? problem.costNs(node) + 1
                                                   : 0;
  }
  void measureChains();
  void measureKept();
  int64_t computeFreedByPlace(NodeId node) const;
  Order listDeep() const;
  bool isHeldBy(BufferId id, NodeId node) const;
  void countHolders();
  void release(BufferId id, NodeId node);
  int64_t computeFreed(NodeId node) const;
  bool isEarly(NodeId node, int64_t freedBytes) const;
  void makeReady(NodeId node);

  const Problem &problem;
  /// By operation: the longest chain before and behind it.
  std::vector<int64_t> heads;
  std::vector<int64_t> tails;
  int64_t longest = 0;
  /// By operation: the bytes that stay of what it makes when all that follows
  /// at once has run, such as the reduction of a gradient.
  std::vector<int64_t> kept;
  /// By operation: the bytes that it makes.
  std::vector<int64_t> made;
  /// By buffer: how many operations that are not taken hold it.
  std::vector<size_t> numHolders;
  /// By operation: its place depth first.
  std::vector<int32_t> places;
  ReadyTracker tracker;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
};

} // namespace

ChainOrder::ChainOrder(const Problem &problem)
    : problem(problem), heads(problem.numNodes()), tails(problem.numNodes()),
      kept(problem.numNodes()), made(problem.numNodes()),
      numHolders(problem.numBuffers()), tracker(problem) {
  measureChains();
  measureKept();
  countHolders();
}

void ChainOrder::measureChains() {
  const Order &program = problem.topologicalOrder();
  for (NodeId node : program)
    for (DependenceEnd end : problem.predecessors(node))
      heads[node] = std::max(heads[node], heads[end.node] + getCost(end.node));
  for (auto it = program.rbegin(); it != program.rend(); ++it) {
    for (DependenceEnd end : problem.successors(*it))
      tails[*it] = std::max(tails[*it], tails[end.node] + getCost(end.node));
    longest = std::max(longest, heads[*it] + getCost(*it) + tails[*it]);
  }
}

void ChainOrder::measureKept() {
  std::vector<int64_t> stays(problem.numNodes());
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    if (const Buffer &buffer = problem.buffer(id); buffer.producer != noNode) {
      made[buffer.producer] += buffer.bytes;
      if (!buffer.freed)
        stays[buffer.producer] += buffer.bytes;
    }
  const Order &program = problem.topologicalOrder();
  for (auto it = program.rbegin(); it != program.rend(); ++it) {
    NodeId node = *it;
    int64_t endNs = heads[node] + getCost(node);
    int64_t behind = 0;
    for (DependenceEnd end : problem.successors(node))
      behind =
          heads[end.node] > endNs
              ? unlimited
              : std::min(behind, unlimited - kept[end.node]) + kept[end.node];
    // What makes nothing, such as a wait, stands for what it passes on.
    int64_t freed = made[node] - stays[node];
    bool passesOn = problem.kind(node) != NodeKind::Start && freed == 0;
    kept[node] =
        stays[node] + (passesOn ? std::min(behind, unlimited - stays[node])
                                : std::min(behind, freed));
  }
}

/// Begins with the results that take longest, and of what an operation needs
/// with what has the longest chain before it: the rest holds memory for less
/// time then.
Order ChainOrder::listDeep() const {
  auto sortBy = [](Order &nodes, auto getKey) {
    std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
      return std::make_pair(getKey(a), a) < std::make_pair(getKey(b), b);
    });
  };
  Order roots, needed;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.successors(node).empty())
      roots.push_back(node);
  sortBy(roots, [&](NodeId node) { return -getCost(node); });
  return orderDepthFirst(
      problem.numNodes(), roots, [&](NodeId node, Order &open) {
        needed.clear();
        for (DependenceEnd end : problem.predecessors(node))
          needed.push_back(end.node);
        sortBy(needed, [&](NodeId other) { return -heads[other]; });
        open.insert(open.end(), needed.rbegin(), needed.rend());
      });
}

/// Whether the buffer lives until `node` has run. A wait holds what its start
/// uses no longer than that.
bool ChainOrder::isHeldBy(BufferId id, NodeId node) const {
  if (problem.kind(node) != NodeKind::Wait)
    return true;
  ArrayView<BufferId> used = problem.buffersUsedBy(problem.startOf(node));
  return std::find(used.begin(), used.end(), id) == used.end();
}

void ChainOrder::countHolders() {
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    for (NodeId user : problem.users(id))
      numHolders[id] += isHeldBy(id, user);
}

/// The bytes of what `node` is the last to use.
int64_t ChainOrder::computeFreed(NodeId node) const {
  int64_t bytes = 0;
  for (BufferId id : problem.buffersUsedBy(node))
    if (const Buffer &buffer = problem.buffer(id);
        buffer.freed && buffer.producer != node && numHolders[id] == 1 &&
        isHeldBy(id, node))
      bytes += buffer.bytes;
  return bytes;
}

/// Whether `node`, which frees so much, comes directly behind what it needs.
bool ChainOrder::isEarly(NodeId node, int64_t freedBytes) const {
  bool isView = problem.kind(node) == NodeKind::Compute && made[node] == 0;
  return isView || kept[node] <= freedBytes;
}

/// A wait comes as soon as it can, since its start comes when it should.
void ChainOrder::makeReady(NodeId node) {
  bool isNow =
      problem.kind(node) == NodeKind::Wait || isEarly(node, computeFreed(node));
  ready.push({!isNow, places[node]});
}

/// Counts that `node` is taken. If one user of the buffer is left, it frees
/// that, and may be early now.
void ChainOrder::release(BufferId id, NodeId node) {
  if (!isHeldBy(id, node) || --numHolders[id] != 1)
    return;
  for (NodeId user : problem.users(id))
    if (tracker.isReady(user))
      makeReady(user);
}

Order ChainOrder::takeDeep() {
  Order deep = listDeep(), order;
  places = positionsOf(deep);
  for (NodeId node : tracker.listReady())
    makeReady(node);
  while (!ready.empty()) {
    NodeId node = deep[ready.top().second];
    ready.pop();
    if (tracker.isTaken(node))
      continue;
    order.push_back(node);
    tracker.take(node, [](NodeId) {});
    for (BufferId id : problem.buffersUsedBy(node))
      release(id, node);
    for (DependenceEnd end : problem.successors(node))
      if (tracker.isReady(end.node))
        makeReady(end.node);
  }
  return order;
}

/// The bytes of what `node` is among the last to use, by their places.
int64_t ChainOrder::computeFreedByPlace(NodeId node) const {
  int64_t bytes = 0;
  for (BufferId id : problem.buffersUsedBy(node)) {
    const Buffer &buffer = problem.buffer(id);
    ArrayView<NodeId> users = problem.users(id);
    if (buffer.freed && buffer.producer != node &&
        std::all_of(users.begin(), users.end(),
                    [&](NodeId user) { return heads[user] <= heads[node]; }))
      bytes += buffer.bytes;
  }
  return bytes;
}

Order ChainOrder::takeByPlace() {
  using PlacedNode = std::pair<int64_t, NodeId>;
  std::priority_queue<PlacedNode, std::vector<PlacedNode>, std::greater<>> open;
  auto add = [&](NodeId node) {
    open.push({isEarly(node, computeFreedByPlace(node))
                   ? heads[node]
                   : longest - tails[node] - getCost(node),
               node});
  };
  for (NodeId node : tracker.listReady())
    add(node);
  Order order;
  while (!open.empty()) {
    NodeId node = open.top().second;
    open.pop();
    order.push_back(node);
    tracker.take(node, add);
  }
  return order;
}

static Result<Order> sortAlongChains(const Problem &problem) {
  return ChainOrder(problem).takeByPlace();
}

static Result<Order> sortDeepAlongChains(const Problem &problem) {
  return ChainOrder(problem).takeDeep();
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Puts every collective of `order` as late as possible. What overlaps takes
/// memory that says nothing about the order of the computation.
static Result<SizedOrder> collectLate(const StepStructure &structure,
                                      const Order &order) {
  SizedOrder late = {
      StepConstruction(structure, getComputeOrder(structure, order))
          .alapOrder(),
      0};
  if (Status status = verify(structure.getProblem(), late.order); !status)
    return Error{status.error()};
  Result<MemoryTimeline> memory =
      simulateMemory(structure.getProblem(), late.order);
  if (!memory)
    return Error{memory.error()};
  late.peakBytes = memory->peakBytes;
  return late;
}

Result<SmallerOrders> schedule::findSmallerOrders(const Problem &problem) {
  if (Status status = verify(problem, problem.programOrder()); !status)
    return Error{"the program is not a legal order: " + status.error()};
  Result<StepStructure> structure = StepStructure::create(problem);
  if (!structure)
    return Error{structure.error()};
  Result<SizedOrder> program = collectLate(*structure, problem.programOrder());
  if (!program)
    return Error{program.error()};
  // Of orders that take nearly as much, that of the program is as good.
  constexpr int64_t nearPart = 32;
  int64_t smallerBytes = program->peakBytes - program->peakBytes / nearPart;
  std::vector<SizedOrder> smaller;
  SmallerOrders result;
  result.leastBytes = program->peakBytes;
  for (auto *sort : {sortAlongChains, sortDeepAlongChains,
                     sortLeastPeakMemoryFirst, sortDepthFirst}) {
    Result<Order> sorted = sort(problem);
    if (!sorted)
      return Error{sorted.error()};
    Result<SizedOrder> late = collectLate(*structure, *sorted);
    if (!late)
      return Error{late.error()};
    result.leastBytes = std::min(result.leastBytes, late->peakBytes);
    if (late->peakBytes < smallerBytes)
      smaller.push_back(std::move(*late));
    else if (late->peakBytes <= program->peakBytes &&
             late->order != program->order)
      result.nearOrders.push_back(std::move(late->order));
  }
  std::stable_sort(smaller.begin(), smaller.end(),
                   [](const SizedOrder &a, const SizedOrder &b) {
                     return a.peakBytes < b.peakBytes;
                   });
  result.nearBytes =
      smaller.empty() ? program->peakBytes : smaller.front().peakBytes;
  for (SizedOrder &each : smaller)
    if (result.orders.empty() || result.orders.back() != each.order)
      result.orders.push_back(std::move(each.order));
  return result;
}
