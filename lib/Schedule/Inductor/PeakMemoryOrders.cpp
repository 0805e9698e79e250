//===- PeakMemoryOrders.cpp - Orders for low peak memory ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"

#include "../Model/ReadyTracker.h"
#include "../Model/SortBy.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Returns for each node the bytes that it allocates. O(nodes + buffers).
static std::vector<int64_t> getMadeBytes(const Problem &problem) {
  std::vector<int64_t> made(problem.numNodes());
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    if (NodeId producer = problem.buffer(id).producer; producer != noNode)
      made[producer] += problem.buffer(id).bytes;
  return made;
}

namespace {

/// The uses of a problem, each once, and without
///   - uses by the buffer's own producer: they neither keep nor free it,
///   - buffers that are live from the start to the end: no order differs in
///     them.
/// O(nodes + buffers + uses).
struct BufferReads {
  explicit BufferReads(const Problem &problem);

  /// By buffer.
  Csr<NodeId> readers;
  /// By node.
  Csr<BufferId> buffers;
};

} // namespace

BufferReads::BufferReads(const Problem &problem) {
  struct Read {
    BufferId buffer;
    NodeId node;
  };
  std::vector<Read> reads;
  // By node: the last buffer that was seen to be read by it.
  std::vector<BufferId> lastRead(problem.numNodes(), -1);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    if (buffer.producer == noNode && !buffer.freed)
      continue;
    for (NodeId user : problem.users(id)) {
      if (user == buffer.producer || lastRead[user] == id)
        continue;
      lastRead[user] = id;
      reads.push_back({id, user});
    }
  }
  readers.build(
      problem.numBuffers(), reads.size(),
      [&](size_t i) { return reads[i].buffer; },
      [&](size_t i) { return reads[i].node; });
  buffers.build(
      problem.numNodes(), reads.size(), [&](size_t i) { return reads[i].node; },
      [&](size_t i) { return reads[i].buffer; });
}

const char *schedule::toString(PeakMemoryMethod method) {
  switch (method) {
  case PeakMemoryMethod::Incoming:
    return "incoming";
  case PeakMemoryMethod::LeastPeakMemoryFirst:
    return "lpmf";
  case PeakMemoryMethod::BreadthFirst:
    return "bfs";
  case PeakMemoryMethod::DepthFirst:
    return "dfs";
  }
  return "unknown";
}

static Result<Order> keepProgram(const Problem &problem) {
  Order order = problem.programOrder();
  if (Status status = verify(problem, order); !status)
    return status;
  return order;
}

static Result<Order> makeOrder(const Problem &problem,
                               PeakMemoryMethod method) {
  switch (method) {
  case PeakMemoryMethod::LeastPeakMemoryFirst:
    return sortLeastPeakMemoryFirst(problem);
  case PeakMemoryMethod::BreadthFirst:
    return sortBreadthFirst(problem);
  case PeakMemoryMethod::DepthFirst:
    return sortDepthFirst(problem);
  case PeakMemoryMethod::Incoming:
    break;
  }
  return keepProgram(problem);
}

Result<PeakMemoryChoice>
schedule::choosePeakMemoryOrder(const Problem &problem,
                                const std::vector<PeakMemoryMethod> &methods) {
  std::vector<PeakMemoryMethod> tried = {PeakMemoryMethod::Incoming};
  tried.insert(tried.end(), methods.begin(), methods.end());
  PeakMemoryChoice choice;
  for (PeakMemoryMethod method : tried) {
    Result<Order> order = makeOrder(problem, method);
    if (!order)
      return Error{order.error()};
    Result<MemoryTimeline> memory = simulateMemory(problem, *order);
    if (!memory)
      return Error{memory.error()};
    PeakMemoryCandidate candidate = {method, memory->peakBytes};
    if (choice.candidates.empty() ||
        candidate.peakBytes < choice.best.peakBytes) {
      choice.order = std::move(*order);
      choice.best = candidate;
    }
    choice.candidates.push_back(candidate);
  }
  return choice;
}

namespace {

/// The ready nodes, and which of them is best.
///
/// A tournament tree: the leaves are all nodes by the bytes that they make, and
/// an inner node knows the best ready node below it. The nodes that fit into a
/// gap are a prefix of the leaves, so the best of them takes a walk up the tree
/// and not a search through what is ready.
class ReadyNodes {
public:
  /// `made`, `growth`: by node, the bytes that it makes, and those less what it
  /// frees. Both outlive this object.
  ReadyNodes(const std::vector<int64_t> &made,
             const std::vector<int64_t> &growth);

  void insert(NodeId node) { set(leafOf[node], node); }
  void remove(NodeId node) { set(leafOf[node], noNode); }
  /// To be called when the growth of a node has changed.
  void update(NodeId node) {
    if (tree[leafOf[node]] == node)
      insert(node);
  }

  /// Of the nodes that make at most `gap` bytes the one that grows least; if
  /// there is none, of those that make the fewest bytes. noNode if nothing is
  /// ready.
  NodeId best(int64_t gap) const;

private:
  void set(size_t leaf, NodeId node);
  NodeId better(NodeId a, NodeId b) const;
  NodeId bestMaking(int64_t low, int64_t high) const;

  const std::vector<int64_t> &made;
  const std::vector<int64_t> &growth;
  /// `made`, ascending.
  std::vector<int64_t> sortedMade;
  std::vector<size_t> leafOf;
  /// The children of i are 2i and 2i+1, the root is 1; the leaves begin at
  /// numLeaves, a power of two.
  std::vector<NodeId> tree;
  size_t numLeaves = 1;
};

/// One run of the sort.
class LeastPeakMemoryFirst {
public:
  explicit LeastPeakMemoryFirst(const Problem &problem);
  Order takeOrder();

private:
  void addBuffer(BufferId id);
  void schedule(NodeId node);
  void closeRead(BufferId id);

  const Problem &problem;
  BufferReads reads;
  std::vector<int64_t> made;
  /// `made` less what the node would free if it ran now.
  std::vector<int64_t> growth;
  ReadyNodes ready;
  /// By buffer: the readers that have not run.
  std::vector<int32_t> openReaders;
  ReadyTracker tracker;
  int64_t liveBytes = 0;
  int64_t peakBytes = 0;
  Order order;
};

} // namespace

ReadyNodes::ReadyNodes(const std::vector<int64_t> &made,
                       const std::vector<int64_t> &growth)
    : made(made), growth(growth), leafOf(made.size()) {
  while (numLeaves < made.size())
    numLeaves *= 2;
  tree.assign(2 * numLeaves, noNode);
  Order sorted = sortBy(made.size(), [&](NodeId node) { return made[node]; });
  sortedMade.reserve(made.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    leafOf[sorted[i]] = numLeaves + i;
    sortedMade.push_back(made[sorted[i]]);
  }
}

NodeId ReadyNodes::better(NodeId a, NodeId b) const {
  if (a == noNode || b == noNode)
    return a == noNode ? b : a;
  if (growth[a] != growth[b])
    return growth[a] < growth[b] ? a : b;
  return std::min(a, b);
}

void ReadyNodes::set(size_t leaf, NodeId node) {
  tree[leaf] = node;
  for (size_t i = leaf / 2; i > 0; i /= 2)
    tree[i] = better(tree[2 * i], tree[2 * i + 1]);
}

/// Of the nodes that make `low` to `high` bytes the one that grows least.
NodeId ReadyNodes::bestMaking(int64_t low, int64_t high) const {
  auto first = std::lower_bound(sortedMade.begin(), sortedMade.end(), low);
  auto last = std::upper_bound(first, sortedMade.end(), high);
  size_t begin = numLeaves + static_cast<size_t>(first - sortedMade.begin());
  size_t end = numLeaves + static_cast<size_t>(last - sortedMade.begin());
  NodeId result = noNode;
  for (; begin < end; begin /= 2, end /= 2) {
    if (begin % 2 == 1)
      result = better(result, tree[begin++]);
    if (end % 2 == 1)
      result = better(result, tree[--end]);
  }
  return result;
}

NodeId ReadyNodes::best(int64_t gap) const {
  if (tree[1] == noNode)
    return noNode;
  if (NodeId fitting = bestMaking(0, gap); fitting != noNode)
    return fitting;
  size_t smallest = 1;
  while (smallest < numLeaves)
    smallest = 2 * smallest + (tree[2 * smallest] == noNode ? 1 : 0);
  int64_t bytes = made[tree[smallest]];
  return bestMaking(bytes, bytes);
}

LeastPeakMemoryFirst::LeastPeakMemoryFirst(const Problem &problem)
    : problem(problem), reads(problem), made(getMadeBytes(problem)),
      growth(made), ready(made, growth), openReaders(problem.numBuffers()),
      tracker(problem) {
  order.reserve(problem.numNodes());
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    addBuffer(id);
  peakBytes = std::max(peakBytes, liveBytes);
  for (NodeId node : tracker.listReady())
    ready.insert(node);
}

/// Counts a buffer in what is live at first, in what is live at last (the first
/// bound of the peak), and with the node that frees it.
///
/// An argument that stays is in neither sum, as in the reference. It would be
/// in both, and since only the difference of peak and live bytes is compared
/// with anything, it does not matter which. The same holds for an argument that
/// may be freed but is never read.
void LeastPeakMemoryFirst::addBuffer(BufferId id) {
  const Buffer &buffer = problem.buffer(id);
  ArrayView<NodeId> readers = reads.readers[id];
  openReaders[id] = static_cast<int32_t>(readers.size());
  if (buffer.producer == noNode && !readers.empty())
    liveBytes += buffer.bytes;
  if (!buffer.freed) {
    if (buffer.producer != noNode)
      peakBytes += buffer.bytes;
    return;
  }
  if (readers.size() == 1)
    growth[readers[0]] -= buffer.bytes;
  else if (readers.empty() && buffer.producer != noNode)
    growth[buffer.producer] -= buffer.bytes;
}

/// One reader of a buffer has run: if that leaves one, it frees the buffer.
void LeastPeakMemoryFirst::closeRead(BufferId id) {
  if (--openReaders[id] != 1 || !problem.buffer(id).freed)
    return;
  // Those that have run are in it too, but their growth is not looked at again.
  for (NodeId reader : reads.readers[id]) {
    growth[reader] -= problem.buffer(id).bytes;
    ready.update(reader);
  }
}

void LeastPeakMemoryFirst::schedule(NodeId node) {
  ready.remove(node);
  order.push_back(node);
  peakBytes = std::max(peakBytes, liveBytes + made[node]);
  liveBytes += growth[node];
  tracker.take(node, [&](NodeId next) { ready.insert(next); });
  for (BufferId buffer : reads.buffers[node])
    closeRead(buffer);
}

Order LeastPeakMemoryFirst::takeOrder() {
  NodeId node;
  while ((node = ready.best(peakBytes - liveBytes)) != noNode)
    schedule(node);
  return std::move(order);
}

Result<Order> schedule::sortLeastPeakMemoryFirst(const Problem &problem) {
  if (!problem.check())
    return problem.check();
  Order order = LeastPeakMemoryFirst(problem).takeOrder();
  if (Status status = verify(problem, order); !status)
    return Error{"the sort by least peak memory made an invalid order: " +
                 status.error()};
  return order;
}

namespace {

/// One run of the sort.
class BreadthFirst {
public:
  explicit BreadthFirst(const Problem &problem);
  Order takeOrder();

private:
  /// The range of a node's list in `lists`.
  struct List {
    size_t begin = 0, end = 0;
  };

  /// Orders nodes by their lists, then by index.
  struct Earlier {
    const BreadthFirst *run;
    bool operator()(NodeId a, NodeId b) const;
  };

  void makeReady(NodeId node);

  const Problem &problem;
  ReadyTracker tracker;
  Positions positions;
  std::vector<List> listOf;
  std::vector<int32_t> lists;
  /// A tree rather than a heap: it compares where a node is put in, never where
  /// one is taken out. So a node's list is walked at most log(nodes) times, and
  /// no long list is walked again and again while it waits near the top.
  std::set<NodeId, Earlier> ready;
};

} // namespace

bool BreadthFirst::Earlier::operator()(NodeId a, NodeId b) const {
  const int32_t *lists = run->lists.data();
  const int32_t *endA = lists + run->listOf[a].end;
  const int32_t *endB = lists + run->listOf[b].end;
  auto [itA, itB] = std::mismatch(lists + run->listOf[a].begin, endA,
                                  lists + run->listOf[b].begin, endB);
  if (itA != endA && itB != endB)
    return *itA < *itB;
  if (itA != endA || itB != endB)
    return itA == endA;
  return a < b;
}

BreadthFirst::BreadthFirst(const Problem &problem)
    : problem(problem), tracker(problem), positions(problem.numNodes(), -1),
      listOf(problem.numNodes()), ready(Earlier{this}) {
  lists.reserve(problem.numDependences());
  for (NodeId node : tracker.listReady())
    makeReady(node);
}

void BreadthFirst::makeReady(NodeId node) {
  size_t begin = lists.size();
  for (DependenceEnd predecessor : problem.predecessors(node))
    lists.push_back(positions[predecessor.node]);
  auto first = lists.begin() + static_cast<ptrdiff_t>(begin);
  std::sort(first, lists.end());
  lists.erase(std::unique(first, lists.end()), lists.end());
  listOf[node] = {begin, lists.size()};
  ready.insert(node);
}

Order BreadthFirst::takeOrder() {
  Order order;
  order.reserve(problem.numNodes());
  while (!ready.empty()) {
    NodeId node = *ready.begin();
    ready.erase(ready.begin());
    positions[node] = static_cast<int32_t>(order.size());
    order.push_back(node);
    tracker.take(node, [&](NodeId next) { makeReady(next); });
  }
  return order;
}

Result<Order> schedule::sortBreadthFirst(const Problem &problem) {
  if (!problem.check())
    return problem.check();
  Order order = BreadthFirst(problem).takeOrder();
  if (Status status = verify(problem, order); !status)
    return Error{"the breadth-first sort made an invalid order: " +
                 status.error()};
  return order;
}

/// All nodes by the bytes that they make and read, then by index.
static Order sortBySize(const Problem &problem) {
  BufferReads reads(problem);
  std::vector<int64_t> bytes = getMadeBytes(problem);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (BufferId buffer : reads.buffers[node])
      bytes[node] += problem.buffer(buffer).bytes;
  return sortBy(bytes.size(), [&](NodeId node) { return bytes[node]; });
}

/// Every node's predecessors, those that come last in `sorted` first.
static Csr<NodeId> sortPredecessors(const Problem &problem,
                                    const Order &sorted) {
  // Filling the rows in the order in which their entries are wanted sorts all
  // of them at once.
  std::vector<Dependence> dependences;
  dependences.reserve(problem.numDependences());
  for (auto it = sorted.rbegin(); it != sorted.rend(); ++it)
    for (DependenceEnd successor : problem.successors(*it))
      dependences.push_back({*it, successor.node, successor.kind});
  Csr<NodeId> rows;
  rows.build(
      sorted.size(), dependences.size(),
      [&](size_t i) { return dependences[i].to; },
      [&](size_t i) { return dependences[i].from; });
  return rows;
}

Result<Order> schedule::sortDepthFirst(const Problem &problem) {
  if (!problem.check())
    return problem.check();
  Order sorted = sortBySize(problem);
  Csr<NodeId> predecessors = sortPredecessors(problem, sorted);

  Order order = orderDepthFirst(problem.numNodes(), sorted,
                                [&](NodeId node, Order &open) {
                                  for (NodeId predecessor : predecessors[node])
                                    open.push_back(predecessor);
                                });
  if (Status status = verify(problem, order); !status)
    return Error{"the depth-first sort made an invalid order: " +
                 status.error()};
  return order;
}
