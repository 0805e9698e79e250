//===- Problem.h - Scheduling problems --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scheduling problem on dense indices: operations with a kind, a cost and a
// stream; dependences between them; buffers with a size, a producer and users.
// It is built by the add functions, closed by finalize(), and then the
// read-only input of every solver, simulator and bound of this library. It is
// independent of MLIR and of what the operations compute.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_PROBLEM_H
#define COMMSCHED_SCHEDULE_MODEL_PROBLEM_H

#include "CommSched/Support/Csr.h"
#include "CommSched/Support/Result.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::commsched::schedule {

/// Index of an operation. Indices are the order of the program.
using NodeId = int32_t;
/// Index of a buffer.
using BufferId = int32_t;
/// Index of a communication stream: one per process group, numbered from 0.
using StreamId = int32_t;

/// No operation: the producer of a buffer that is live from the start.
inline constexpr NodeId noNode = -1;
/// No stream: the value for operations on the compute stream.
inline constexpr StreamId noStream = -1;
/// Stream indices are below this number: most functions allocate an array that
/// is indexed by streams.
inline constexpr StreamId maxStreams = 1 << 20;

/// An order of execution: position -> operation.
using Order = std::vector<NodeId>;

enum class NodeKind : uint8_t {
  /// Runs on the compute stream.
  Compute,
  /// Starts a collective on its stream; the compute stream goes on at once.
  Start,
  /// Holds the compute stream until the collective of its start has ended.
  Wait,
  /// A collective that is start and wait in one, such as a barrier: it begins
  /// when both the compute stream and its own stream are free, and holds both.
  Blocking,
};

/// Why one operation has to come after another. Of several reasons for one pair
/// the first in this list is reported.
enum class DependenceKind : uint8_t {
  /// It reads a result of the other operation.
  Data,
  /// Both access the same memory, and at least one writes it.
  Memory,
  /// Both are collectives whose relative order is kept.
  Order,
  /// One of them may communicate in an unknown way.
  Barrier,
  /// The other operation, a Start, is on a stream that it uses itself, a
  /// Compute with collectives inside: it begins when the collective has ended.
  Stream,
};

/// "compute", "start", "wait" or "blocking".
const char *toString(NodeKind kind);
/// "data", "memory", "order", "barrier" or "stream".
const char *toString(DependenceKind kind);

/// `to` runs after `from`.
struct Dependence {
  NodeId from;
  NodeId to;
  DependenceKind kind;
};

/// One end of a dependence, seen from the other end.
struct DependenceEnd {
  NodeId node;
  DependenceKind kind;
};

/// The duration and the stream of a collective.
struct CollectiveCost {
  NodeId node;
  int64_t costNs;
  StreamId stream;
};

/// Storage that an operation allocates, or that is live from the start.
struct Buffer {
  int64_t bytes;
  /// The operation that allocates it; noNode: it is live from the start.
  NodeId producer;
  /// Whether its last user frees it; otherwise it stays to the end.
  bool freed;
};

class IndegreeCounter;

/// A problem under construction, or (after finalize()) closed and checked.
class Problem {
public:
  //===--------------------------------------------------------------------===//
  // Building. Nothing is checked here; finalize() checks everything.
  //===--------------------------------------------------------------------===//

  /// Adds an operation at the end of the program. `costNs` is its duration in
  /// nanoseconds. `stream` is given for Start and Blocking only. Waits are
  /// added by addWait().
  NodeId addNode(NodeKind kind, int64_t costNs, StreamId stream = noStream);

  /// Adds the one wait of `start`, and the data dependence between the two.
  ///
  /// A collective reads and writes its operands until it is waited for, so the
  /// caller adds the wait as a user (addUse()) of every buffer that the start
  /// uses.
  NodeId addWait(NodeId start);

  /// Requires that `to` runs after `from`. Several dependences between one pair
  /// are allowed, also of the same kind; one of an operation on itself is not.
  /// A dependence may point backwards in the program (then the program is not
  /// itself a valid order), as long as there is no cycle.
  void addDependence(NodeId from, NodeId to, DependenceKind kind);

  /// Adds storage. `producer`: the operation that allocates it, or noNode if
  /// it is live from the start (an argument). `freed`: whether its last user
  /// frees it; false for what stays to the end (a returned value, an argument
  /// that the caller owns).
  BufferId addBuffer(int64_t bytes, NodeId producer, bool freed);

  /// Adds `node` as a user of `buffer`, directly or through an alias. The
  /// producer need not be added. Repeated uses count once.
  void addUse(BufferId buffer, NodeId node);

  /// Marks `node` as one of the large computations that hide communication:
  /// solvers that move groups of operations do not move it.
  void setExpensive(NodeId node) {
    assert(isNode(node) && "no such operation");
    nodes[node].isExpensive = true;
  }

  /// Lets the problem have at least `count` streams, also those on which no
  /// operation is.
  void reserveStreams(StreamId count) {
    reservedStreams = std::max(reservedStreams, count);
    streamCount = std::max(streamCount, count);
  }

  /// Reserves memory for operations and dependences. Optional.
  void reserve(size_t numNodes, size_t numDependences);

  /// Closes the problem: checks it and builds the adjacency. Returns check().
  /// May be called again after further additions. O(nodes + dependences +
  /// buffers + uses).
  const Status &finalize();

  /// Replaces the costs and streams of some collectives. A problem without
  /// error stays finalized, unless the new ones cause one: returns check().
  /// O(nodes).
  const Status &replaceCollectives(const std::vector<CollectiveCost> &costs);

  /// Returns what finalize() found: success, or an error that names operations
  /// by their index. Before finalize() there is an error. O(1). A problem
  /// without error has
  ///   - all indices in range, streams exactly on Start and Blocking,
  ///   - no negative cost or size, and sums of all costs and of all sizes that
  ///     fit 64 bits (so that nothing computed from them overflows),
  ///   - exactly one Wait for each Start, later in the program,
  ///   - no cycle of dependences.
  const Status &check() const { return status; }

  //===--------------------------------------------------------------------===//
  // Operations.
  //===--------------------------------------------------------------------===//

  /// The operations as they were added: 0, 1, ….
  Order programOrder() const;
  NodeId numNodes() const { return static_cast<NodeId>(nodes.size()); }
  NodeKind kind(NodeId node) const { return at(node).kind; }
  /// Duration in nanoseconds; 0 for a Wait.
  int64_t costNs(NodeId node) const { return at(node).costNs; }
  /// The stream of a Start or Blocking; noStream otherwise.
  StreamId stream(NodeId node) const { return at(node).stream; }
  /// The Start that a Wait completes; noNode otherwise.
  NodeId startOf(NodeId wait) const {
    return kind(wait) == NodeKind::Wait ? nodes[wait].partner : noNode;
  }
  /// The Wait of a Start (after finalize()); noNode otherwise.
  NodeId waitOf(NodeId start) const {
    return kind(start) == NodeKind::Start ? nodes[start].partner : noNode;
  }
  /// Whether the operation is a collective: Start or Blocking.
  bool isCollective(NodeId node) const {
    return kind(node) == NodeKind::Start || kind(node) == NodeKind::Blocking;
  }
  /// Whether the operation was marked by setExpensive().
  bool isExpensive(NodeId node) const { return at(node).isExpensive; }
  /// The operation as error texts name it, such as "node 3 (wait)".
  std::string describe(NodeId node) const;
  /// The number of streams: the largest index of one, plus 1, or as many as
  /// were reserved.
  StreamId numStreams() const { return streamCount; }
  /// Appends numbers that say all of a problem without error: those of two
  /// problems are equal only if these are, down to the order in which they were
  /// built. O(nodes + dependences + buffers + uses).
  void appendTo(std::vector<int64_t> &numbers) const;

  //===--------------------------------------------------------------------===//
  // Dependences. All but numDependences() are empty before finalize().
  //===--------------------------------------------------------------------===//

  size_t numDependences() const { return dependences.size(); }
  /// The operations that depend on `node`, one entry per dependence.
  ArrayView<DependenceEnd> successors(NodeId node) const {
    return successorRows[node];
  }
  /// The operations that `node` depends on, one entry per dependence.
  ArrayView<DependenceEnd> predecessors(NodeId node) const {
    return predecessorRows[node];
  }
  /// The operations on which `node` has a dependence of kind Stream.
  ArrayView<NodeId> collectivesEndedBefore(NodeId node) const {
    return endedRows[node];
  }
  /// An order that respects all dependences: that of the program if it does.
  const Order &topologicalOrder() const { return topological; }

  //===--------------------------------------------------------------------===//
  // Buffers. The rows are empty before finalize().
  //===--------------------------------------------------------------------===//

  BufferId numBuffers() const { return static_cast<BufferId>(buffers.size()); }
  const Buffer &buffer(BufferId buffer) const {
    assert(buffer >= 0 && buffer < numBuffers() && "no such buffer");
    return buffers[buffer];
  }
  ArrayView<NodeId> users(BufferId buffer) const { return userRows[buffer]; }
  ArrayView<BufferId> buffersUsedBy(NodeId node) const {
    return usedRows[node];
  }
  ArrayView<BufferId> buffersMadeBy(NodeId node) const {
    return producedRows[node];
  }

private:
  struct Node {
    int64_t costNs;
    StreamId stream;
    /// Wait: its start. Start: its wait, once finalized.
    NodeId partner;
    NodeKind kind;
    bool isExpensive = false;
  };
  struct Use {
    BufferId buffer;
    NodeId node;
  };

  void reopen();
  bool isNode(NodeId node) const { return node >= 0 && node < numNodes(); }
  const Node &at(NodeId node) const {
    assert(isNode(node) && "no such operation");
    return nodes[node];
  }
  Status checkNodes();
  Status pairWaits();
  Status checkDependences() const;
  Status checkBuffers() const;
  void buildRows();
  Status sortTopologically();
  std::string describeCycle(const IndegreeCounter &missing) const;

  std::vector<Node> nodes;
  std::vector<Dependence> dependences;
  std::vector<Buffer> buffers;
  std::vector<Use> uses;

  StreamId streamCount = 0;
  StreamId reservedStreams = 0;
  Csr<DependenceEnd> successorRows;
  Csr<DependenceEnd> predecessorRows;
  Csr<NodeId> endedRows;
  Csr<NodeId> userRows;
  Csr<BufferId> usedRows;
  Csr<BufferId> producedRows;
  Order topological;
  bool finalized = false;
  Status status = Error{"the problem is not finalized"};
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_PROBLEM_H
