//===- LowerBounds.cpp - Lower bounds of step time ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/LowerBounds.h"

#include "OneMachine.h"

#include <algorithm>
#include <array>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The longest chain over the dependences.
///
/// How much of an operation lies on a chain that leaves it depends on when its
/// successors may issue. A Compute and a Blocking hold the compute stream, so
/// whatever comes later in the order begins after their end: all of their cost
/// lies on every edge. A Start holds it not at all: the next operation issues
/// at the same instant, whatever the reason is that keeps the two in this
/// order. Only its Wait lasts until the collective has ended, so its cost lies
/// on that edge alone. (That a stream runs its collectives one after another is
/// the stream's bound, not a dependence.)
static int64_t computeCriticalPath(const Problem &problem) {
  // By operation: the earliest time at which it can issue.
  std::vector<int64_t> ready(problem.numNodes());
  int64_t longest = 0;
  for (NodeId node : problem.topologicalOrder()) {
    int64_t end = ready[node] + problem.costNs(node);
    longest = std::max(longest, end);
    bool isStart = problem.kind(node) == NodeKind::Start;
    for (DependenceEnd successor : problem.successors(node)) {
      bool carriesCost = !isStart || successor.node == problem.waitOf(node);
      int64_t arrival = carriesCost ? end : ready[node];
      ready[successor.node] = std::max(ready[successor.node], arrival);
    }
  }
  return longest;
}

Result<LowerBound> schedule::computeLowerBound(const Problem &problem) {
  if (!problem.check())
    return problem.check();
  LowerBound bound;
  std::vector<int64_t> streamSum(problem.numStreams());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.kind(node) == NodeKind::Compute)
      bound.computeNs += problem.costNs(node);
    else if (problem.isCollective(node))
      streamSum[problem.stream(node)] += problem.costNs(node);
  }
  if (!streamSum.empty()) {
    auto busiest = std::max_element(streamSum.begin(), streamSum.end());
    bound.streamNs = *busiest;
    bound.busiestStream = static_cast<StreamId>(busiest - streamSum.begin());
  }
  bound.criticalPathNs = computeCriticalPath(problem);
  return bound;
}

//===----------------------------------------------------------------------===//
// TightLowerBound
//
// Why it holds. Take any legal order and its timeline, in which the compute
// stream reaches an operation v at time I(v) and leaves it at time R(v); on its
// machine it begins at B(v) >= I(v) and ends at E(v). R(v) is I(v) for a Start,
// E(v) for a Compute and a Blocking, and at least the end of the collective for
// a Wait. If u is before v in the order then R(u) <= I(v). All ancestors of v
// are before it, and so
//
//   - the Compute and Blocking among them have ended at I(v), and so have
//     the collectives that they wait for;
//   - the machine that ran some set of these, none before its head, is not done
//     before the end of the BusyPeriods of the set;
//   - what an in-order stream got from an ancestor ends before B(v), if v is on
//     that stream.
//
// Each of these gives lower bounds on I(v) and B(v) from those of ancestors,
// which is what computeHeads() collects along a topological order. For tails
// time runs backwards: all descendants of v begin, on whatever machine, at R(v)
// or later. Any set of ancestors or descendants will do: which ones are looked
// at decides how tight the bound is, not whether it holds.
//
// No sum here overflows: each is the time that part of the operations takes at
// least, so none exceeds the sum of all costs.
//
//===----------------------------------------------------------------------===//

namespace {

/// By operation: how much time passes at least before it.
struct Heads {
  explicit Heads(NodeId numNodes) : readyNs(numNodes), beginNs(numNodes) {}

  /// Before the compute stream reaches it; for a Wait: leaves it.
  std::vector<int64_t> readyNs;
  /// Before it begins on its machine.
  std::vector<int64_t> beginNs;
};

/// By operation: how much time passes at least after it.
struct Tails {
  explicit Tails(NodeId numNodes) : reachedNs(numNodes), tailNs(numNodes) {}

  /// After the compute stream reaches it.
  std::vector<int64_t> reachedNs;
  /// After it has ended on its machine.
  std::vector<int64_t> tailNs;
};

/// By operation: the neighbours, in one direction of time, to which it passes
/// the jobs on its other side; or noNode. They form two forests of dependences.
/// That of the deepest neighbours follows the longest chain of the computation,
/// which all jobs reach; that of the shallowest connects the jobs that depend
/// on one collective.
struct Heirs {
  explicit Heirs(NodeId numNodes)
      : deepest(numNodes, noNode), shallowest(numNodes, noNode),
        depthNs(numNodes) {}

  /// `heir`, which is closed, is a neighbour of `node`.
  void offer(NodeId node, NodeId heir) {
    NodeId &deep = deepest[node];
    if (deep == noNode || depthNs[heir] >= depthNs[deep])
      deep = heir;
    NodeId &shallow = shallowest[node];
    if (shallow == noNode || depthNs[heir] < depthNs[shallow])
      shallow = heir;
  }
  /// All neighbours have been offered to `node`.
  void close(const Problem &problem, NodeId node) {
    if (deepest[node] != noNode)
      depthNs[node] = depthNs[deepest[node]];
    if (problem.kind(node) == NodeKind::Compute)
      depthNs[node] += problem.costNs(node);
  }

  std::vector<NodeId> deepest;
  std::vector<NodeId> shallowest;
  /// The most computation on a way to it.
  std::vector<int64_t> depthNs;
};

/// The sets that are forwarded through each of the two forests.
using PassedOn = std::array<BusyPeriods, 2>;

} // namespace

static bool isStart(const Problem &problem, NodeId node) {
  return problem.kind(node) == NodeKind::Start;
}

/// Whether two operations are collectives of one stream.
static bool shareStream(const Problem &problem, NodeId node, NodeId other) {
  return problem.stream(node) != noStream &&
         problem.stream(node) == problem.stream(other);
}

/// When the machines are done with what was passed on to one operation.
static int64_t getEndNs(const PassedOn &passed) {
  return std::max(passed[0].endNs(), passed[1].endNs());
}

/// Adds `node`, with `headNs` for a head, to all machines that it is on.
static void add(BusyPeriods &periods, const Problem &problem, NodeId node,
                int64_t headNs) {
  if (!isStart(problem, node))
    periods.add(noStream, headNs, problem.costNs(node));
  if (problem.isCollective(node))
    periods.add(problem.stream(node), headNs, problem.costNs(node));
}

/// Passes on what `node` has, and itself with `headNs` for a head.
static void passOn(std::vector<PassedOn> &passed, const Problem &problem,
                   const Heirs &heirs, NodeId node, int64_t headNs) {
  if (heirs.deepest[node] == noNode)
    return;
  NodeId chosen[] = {heirs.deepest[node], heirs.shallowest[node]};
  for (size_t forest : {0, 1}) {
    BusyPeriods &periods = passed[chosen[forest]][forest];
    periods.join(passed[node][forest]);
    add(periods, problem, node, headNs);
  }
}

/// Whom each operation passes its ancestors to: a Start to its Wait, others to
/// two of their successors.
static Heirs chooseSuccessors(const Problem &problem) {
  Heirs heirs(problem.numNodes());
  const Order &order = problem.topologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    heirs.close(problem, *it);
    for (DependenceEnd predecessor : problem.predecessors(*it))
      heirs.offer(predecessor.node, *it);
    if (isStart(problem, *it))
      heirs.deepest[*it] = heirs.shallowest[*it] = problem.waitOf(*it);
  }
  return heirs;
}

/// Whom each operation passes its descendants to: two of its predecessors.
static Heirs choosePredecessors(const Problem &problem) {
  Heirs heirs(problem.numNodes());
  for (NodeId node : problem.topologicalOrder()) {
    heirs.close(problem, node);
    for (DependenceEnd successor : problem.successors(node))
      heirs.offer(successor.node, node);
  }
  return heirs;
}

static Heads computeHeads(const Problem &problem) {
  Heirs heirs = chooseSuccessors(problem);
  Heads heads(problem.numNodes());
  // By operation: ancestors of it, with their heads.
  std::vector<PassedOn> before(problem.numNodes());
  for (NodeId node : problem.topologicalOrder()) {
    int64_t &ready = heads.readyNs[node];
    int64_t &begin = heads.beginNs[node];
    ready = std::max(ready, getEndNs(before[node]));
    begin = std::max(begin, ready);
    int64_t end = begin + problem.costNs(node);
    for (DependenceEnd successor : problem.successors(node)) {
      NodeId to = successor.node;
      // A Start does not hold the compute stream; only its Wait is after it.
      bool isOver = !isStart(problem, node) || to == problem.waitOf(node);
      heads.readyNs[to] = std::max(heads.readyNs[to], isOver ? end : ready);
      if (shareStream(problem, node, to))
        heads.beginNs[to] = std::max(heads.beginNs[to], end);
    }
    passOn(before, problem, heirs, node, begin);
  }
  return heads;
}

static Tails computeTails(const Problem &problem) {
  Heirs heirs = choosePredecessors(problem);
  Tails tails(problem.numNodes());
  // By operation: descendants of it, with their tails.
  std::vector<PassedOn> after(problem.numNodes());
  const Order &order = problem.topologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    NodeId node = *it;
    // So far: what its successors say.
    int64_t &reached = tails.reachedNs[node];
    int64_t &tail = tails.tailNs[node];
    int64_t cost = problem.costNs(node);
    // Successors of a Start may run beside its collective; only successors of
    // the Wait run after its end.
    if (isStart(problem, node))
      tail = std::max(tail, tails.reachedNs[problem.waitOf(node)]);
    else
      tail = std::max({tail, reached, getEndNs(after[node])});
    reached = std::max(reached, cost + tail);
    for (DependenceEnd predecessor : problem.predecessors(node)) {
      NodeId from = predecessor.node;
      tails.reachedNs[from] = std::max(tails.reachedNs[from], reached);
      if (shareStream(problem, node, from))
        tails.tailNs[from] = std::max(tails.tailNs[from], cost + tail);
    }
    passOn(after, problem, heirs, node, tail);
  }
  return tails;
}

/// By machine: its operations. The compute stream is the first, stream s the
/// one at s + 1.
static std::vector<std::vector<Job>>
getJobs(const Problem &problem, const Heads &heads, const Tails &tails) {
  std::vector<std::vector<Job>> jobs(problem.numStreams() + 1);
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    Job job = {heads.beginNs[node], problem.costNs(node), tails.tailNs[node]};
    if (!isStart(problem, node))
      jobs.front().push_back(job);
    if (problem.isCollective(node))
      jobs[problem.stream(node) + 1].push_back(job);
  }
  return jobs;
}

Result<TightLowerBound>
schedule::computeTightLowerBound(const Problem &problem) {
  Result<LowerBound> plain = computeLowerBound(problem);
  if (!plain)
    return Error{plain.error()};
  Heads heads = computeHeads(problem);
  Tails tails = computeTails(problem);

  TightLowerBound bound;
  int64_t mostNs = -1;
  StreamId machine = noStream;
  for (const std::vector<Job> &jobs : getJobs(problem, heads, tails)) {
    int64_t ns = computePreemptiveEnd(jobs);
    int64_t busyNs = 0;
    for (const Job &job : jobs)
      busyNs += job.timeNs;
    if (ns > bound.ns || (ns == bound.ns && busyNs > mostNs)) {
      bound.ns = ns;
      bound.stream = machine;
      mostNs = busyNs;
    }
    ++machine;
  }
  bound.kind =
      bound.stream == noStream ? BoundKind::Computation : BoundKind::Stream;

  // A chain needs no look of its own: it leads over an operation of a machine,
  // whose head, time and tail are not less.
  if (bound.ns == plain->criticalPathNs && bound.ns > mostNs) {
    bound.kind = BoundKind::CriticalPath;
    bound.stream = noStream;
  }
  return bound;
}
