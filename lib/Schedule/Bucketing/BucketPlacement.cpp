//===- BucketPlacement.cpp - Order of a bucketed program ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Model/ReadyTracker.h"
#include "BucketKeys.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

template <typename T>
using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

/// List scheduling by the keys of computeBucketKeys(). Merged waits, each with
/// its copy-out, are lazy: when one could run, the nodes that need only it
/// become ready, but it runs directly before the first of them. Tails become
/// ready only once it has run.
class Placer {
public:
  Placer(const BucketedProblem &bucketed, const BucketPlacement &placement);
  Order takeOrder();

private:
  /// The priority that a constraint gives a node: the later ones run first.
  enum class Priority : uint8_t { None, ToWait, ToStart };

  void rankNodes(const std::vector<NodeId> &keys);
  void push(NodeId node);
  void provide(NodeId node);
  void settle(NodeId node);
  void run(NodeId node);
  void runTails(std::initializer_list<NodeId> nodes);
  void runWait(int32_t bucket);
  std::vector<int32_t> findNeededWaits(NodeId node);
  bool startBefore(int32_t waited);
  void prioritize(NodeId node, Priority by);
  void prioritizeStart(NodeId start);
  void take(NodeId node);
  void takeReady();

  const BucketedProblem &bucketed;
  const Problem &problem;
  std::vector<bool> isCheap;
  std::vector<bool> isTail;
  /// By node: its rank by key, then by index.
  std::vector<int32_t> rankOf;
  Order nodeAt;
  /// The ready nodes by priority and rank. A node that is prioritized while it
  /// is ready is in the heap twice.
  MinHeap<int64_t> ready;
  Order order;

  /// By node: dependences on what neither has run nor is a lazy wait that
  /// could; of a tail, on what has not run.
  IndegreeCounter missing;
  std::vector<bool> hasRun;
  std::vector<Priority> priorities;
  /// The buckets whose wait could run, in the order in which they became such
  /// (of several at once, the first ones that others do not hold up), and by
  /// bucket the place there or -1.
  std::vector<int32_t> available;
  std::vector<int32_t> availablePlace;
  /// By bucket: all false but within findNeededWaits().
  std::vector<bool> isNeeded;

  /// The constraints. By bucket that is waited for: what is to start before.
  Csr<int32_t> startsBefore;
  /// By bucket that starts: what is to be waited for then.
  Csr<int32_t> waitsAfter;
  /// By node: dependences on what neither has run nor is settled. A cheap node
  /// that needs nothing unsettled is settled: together with what it needs, it
  /// could run at once.
  IndegreeCounter unsettled;
};

} // namespace

Placer::Placer(const BucketedProblem &bucketed,
               const BucketPlacement &placement)
    : bucketed(bucketed), problem(bucketed.getProblem()),
      isCheap(findCheapNodes(bucketed)),
      isTail(findTails(bucketed, isCheap, placement)),
      missing(problem.numNodes()), hasRun(problem.numNodes()),
      priorities(problem.numNodes()), availablePlace(bucketed.numBuckets(), -1),
      isNeeded(bucketed.numBuckets()), unsettled(problem.numNodes()) {
  order.reserve(problem.numNodes());
  rankNodes(computeBucketKeys(bucketed, isCheap));
  auto index = [&](Csr<int32_t> &rows,
                   const std::vector<std::pair<int32_t, int32_t>> &constraints,
                   bool bySecond) {
    rows.build(
        bucketed.numBuckets(), constraints.size(),
        [&](size_t i) {
          return bySecond ? constraints[i].second : constraints[i].first;
        },
        [&](size_t i) {
          return bySecond ? constraints[i].first : constraints[i].second;
        });
  };
  index(startsBefore, placement.startBeforeWait, /*bySecond=*/false);
  index(waitsAfter, placement.waitAfterStart, /*bySecond=*/true);
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    missing.addEdgesTo(node, problem.predecessors(node).size());
    unsettled.addEdgesTo(node, problem.predecessors(node).size());
  }
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (!problem.predecessors(node).empty())
      continue;
    push(node);
    if (isCheap[node])
      settle(node);
  }
}

void Placer::rankNodes(const std::vector<NodeId> &keys) {
  Csr<NodeId> rows;
  rows.build(
      bucketed.getOriginal().numNodes(), keys.size(),
      [&](size_t node) { return keys[node]; },
      [](size_t node) { return static_cast<NodeId>(node); });
  rankOf.resize(problem.numNodes());
  nodeAt.reserve(problem.numNodes());
  for (NodeId key = 0; nodeAt.size() < keys.size(); ++key) {
    for (NodeId node : rows[key]) {
      rankOf[node] = static_cast<int32_t>(nodeAt.size());
      nodeAt.push_back(node);
    }
  }
}

void Placer::push(NodeId node) {
  ready.push(rankOf[node] -
             static_cast<int64_t>(priorities[node]) * problem.numNodes());
}

/// Releases the successors of `node`, which has run, except tails. Lazy waits
/// that can run now count as if they had.
void Placer::provide(NodeId node) {
  MinHeap<int32_t> reached;
  auto release = [&](NodeId from) {
    for (DependenceEnd successor : problem.successors(from)) {
      NodeId user = successor.node;
      if (isTail[user] || !missing.removeEdgeTo(user))
        continue;
      if (!isLazy(bucketed, user))
        push(user);
      else if (problem.kind(user) == NodeKind::Wait)
        reached.push(bucketed.bucketOf(user));
    }
  };
  release(node);
  while (!reached.empty()) {
    int32_t bucket = reached.top();
    reached.pop();
    availablePlace[bucket] = static_cast<int32_t>(available.size());
    available.push_back(bucket);
    release(bucketed.waitOf(bucket));
    if (NodeId copyOut = bucketed.bucket(bucket).copyOut; copyOut != noNode)
      release(copyOut);
  }
}

/// Notes for the successors of `node` that it has run or could at once. Called
/// once a node.
void Placer::settle(NodeId node) {
  std::vector<NodeId> open = {node};
  while (!open.empty()) {
    NodeId next = open.back();
    open.pop_back();
    for (DependenceEnd successor : problem.successors(next))
      if (unsettled.removeEdgeTo(successor.node) && isCheap[successor.node])
        open.push_back(successor.node);
  }
}

void Placer::run(NodeId node) {
  order.push_back(node);
  hasRun[node] = true;
  // A cheap node that has run was settled before: all that it needs has run.
  if (!isCheap[node])
    settle(node);
}

/// Runs the tails that can run now that `nodes` have, and those after them. One
/// that waits for a collective becomes ready instead: its turn may be later.
void Placer::runTails(std::initializer_list<NodeId> nodes) {
  MinHeap<NodeId> able;
  auto release = [&](NodeId from) {
    for (DependenceEnd successor : problem.successors(from))
      if (isTail[successor.node] && missing.removeEdgeTo(successor.node))
        able.push(successor.node);
  };
  for (NodeId node : nodes)
    release(node);
  while (!able.empty()) {
    NodeId tail = able.top();
    able.pop();
    if (problem.kind(tail) == NodeKind::Wait) {
      push(tail);
      continue;
    }
    run(tail);
    release(tail);
  }
}

void Placer::runWait(int32_t bucket) {
  NodeId wait = bucketed.waitOf(bucket);
  run(wait);
  NodeId copyOut = bucketed.bucket(bucket).copyOut;
  if (copyOut == noNode)
    return runTails({wait});
  run(copyOut);
  runTails({wait, copyOut});
}

/// The buckets that have to be waited for before `node` runs, or that it is the
/// wait of, in an order in which they can be.
std::vector<int32_t> Placer::findNeededWaits(NodeId node) {
  std::vector<int32_t> buckets;
  auto need = [&](NodeId lazy) {
    int32_t bucket = bucketed.bucketOf(lazy);
    if (isNeeded[bucket])
      return;
    isNeeded[bucket] = true;
    buckets.push_back(bucket);
  };
  // All that has not run of what a ready node needs are lazy waits.
  auto needPredecessors = [&](NodeId user) {
    for (DependenceEnd end : problem.predecessors(user))
      if (!hasRun[end.node])
        need(end.node);
  };
  if (isLazy(bucketed, node))
    need(node);
  else
    needPredecessors(node);
  for (size_t next = 0; next < buckets.size(); ++next)
    needPredecessors(bucketed.waitOf(buckets[next]));
  std::sort(buckets.begin(), buckets.end(), [&](int32_t a, int32_t b) {
    return availablePlace[a] < availablePlace[b];
  });
  for (int32_t bucket : buckets)
    isNeeded[bucket] = false;
  return buckets;
}

/// Prioritizes the starts that are to run before `waited` is waited for.
/// Returns whether there are any.
bool Placer::startBefore(int32_t waited) {
  bool isAny = false;
  for (int32_t bucket : startsBefore[waited]) {
    NodeId start = bucketed.startOf(bucket);
    if (hasRun[start] || unsettled.isPending(start))
      continue;
    prioritizeStart(start);
    isAny = true;
  }
  return isAny;
}

void Placer::prioritize(NodeId node, Priority by) {
  priorities[node] = by;
  if (missing.isReady(node))
    push(node);
}

/// Prioritizes a start and all that it needs.
void Placer::prioritizeStart(NodeId start) {
  std::vector<NodeId> open = {start};
  while (!open.empty()) {
    NodeId node = open.back();
    open.pop_back();
    if (hasRun[node] || priorities[node] == Priority::ToStart)
      continue;
    prioritize(node, Priority::ToStart);
    for (DependenceEnd predecessor : problem.predecessors(node))
      open.push_back(predecessor.node);
  }
}

void Placer::take(NodeId node) {
  std::vector<int32_t> waits = findNeededWaits(node);
  bool isHeld = false;
  for (int32_t bucket : waits)
    isHeld |= startBefore(bucket);
  if (isHeld)
    return push(node);
  for (int32_t bucket : waits)
    runWait(bucket);
  if (hasRun[node])
    return;
  // A tail that waits may have become ready, whose turn is before.
  if (!waits.empty())
    return push(node);
  run(node);
  if (isTail[node])
    return runTails({node});
  provide(node);
  int32_t bucket = bucketed.bucketOf(node);
  if (bucket < 0 || node != bucketed.startOf(bucket))
    return;
  for (int32_t waited : waitsAfter[bucket])
    prioritize(bucketed.waitOf(waited), Priority::ToWait);
}

void Placer::takeReady() {
  int64_t numNodes = problem.numNodes();
  while (!ready.empty()) {
    int64_t priority = ready.top();
    ready.pop();
    NodeId node = nodeAt[(priority + 2 * numNodes) % numNodes];
    if (!hasRun[node])
      take(node);
  }
}

Order Placer::takeOrder() {
  takeReady();
  for (int32_t bucket : available)
    if (!hasRun[bucketed.waitOf(bucket)])
      runWait(bucket);
  // The remaining nodes are tails that wait for a collective, and their
  // successors.
  takeReady();
  return std::move(order);
}

static Status
checkBucketIndices(const std::vector<std::pair<int32_t, int32_t>> &constraints,
                   int32_t numBuckets) {
  for (auto [a, b] : constraints)
    for (int32_t bucket : {a, b})
      if (bucket < 0 || bucket >= numBuckets)
        return Error{"a wish names bucket " + std::to_string(bucket) +
                     "; there are " + std::to_string(numBuckets) + " buckets"};
  return Status::success();
}

Result<Order> BucketedProblem::place(const BucketPlacement &placement) const {
  if (Status status =
          checkBucketIndices(placement.startBeforeWait, numBuckets());
      !status)
    return status;
  if (Status status =
          checkBucketIndices(placement.waitAfterStart, numBuckets());
      !status)
    return status;
  Order order = Placer(*this, placement).takeOrder();
  if (Status status = verify(merged, order); !status)
    return Error{"placing the buckets made an invalid order: " +
                 status.error()};
  return order;
}
