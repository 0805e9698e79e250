//===- FlowNetwork.h - Minimum cut of a network -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A minimum cut between a source and a sink, by the maximum flow of Boost.Graph
// (Boykov and Kolmogorov, "An experimental comparison of min-cut/max-flow
// algorithms for energy minimization in vision", 2004). The answer can be
// checked: no cut is smaller than any flow is large.
//
// The network whose cuts are the choices of values to save: every value of the
// forward that the backward needs is saved, or computed again from others that
// it has. The minimum cuts by size and by time differ in the weights alone.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_PARTITION_FLOWNETWORK_H
#define COMMSCHED_LIB_PARTITION_FLOWNETWORK_H

#include "CommSched/Partition/MinCut.h"
#include "CommSched/Support/Result.h"

#include <cstdint>
#include <vector>

namespace mlir::commsched::partition {

/// Index of a vertex of a network.
using VertexId = int32_t;

class FlowNetwork {
public:
  /// More than any cut can be worth: an edge that no cut may cross.
  static constexpr int64_t unbounded = -1;

  static constexpr VertexId source = 0;
  static constexpr VertexId sink = 1;

  struct Edge {
    VertexId from;
    VertexId to;
    /// Not negative, or `unbounded`.
    int64_t capacity;
  };

  /// Adds a vertex; 0 and 1, the source and the sink, are there already.
  VertexId addVertex() { return numVertices++; }

  /// Parallel edges are allowed.
  void addEdge(VertexId from, VertexId to, int64_t capacity) {
    edges.push_back({from, to, capacity});
  }

  int32_t size() const { return numVertices; }
  const std::vector<Edge> &getEdges() const { return edges; }

  struct Cut {
    /// By vertex: whether it is on the sink's side. Of several minimum cuts
    /// this is the one with the fewest vertices there.
    std::vector<char> onSinkSide;
    /// The sum of the capacities that lead from the source's side to the
    /// sink's.
    int64_t capacity = 0;
    /// The value of the maximum flow.
    int64_t flow = 0;
    /// Edges from the source to the sink that all are unbounded, if there are
    /// such: then there is no cut, and all else is empty.
    std::vector<Edge> unboundedPath;
  };

  /// Finite capacities that add up to 2^61 or more are all divided by the same
  /// power of two first, so capacity and flow are then those of the divided
  /// network. The path has the fewest edges, and of those with as many it takes
  /// the edges that were added first.
  Cut findMinimumCut() const;

  /// Whether `cut` is a minimum cut or a path that says why there is none.
  /// Error: how it is not.
  Status verify(const Cut &cut) const;

private:
  /// How often finite capacities are halved.
  int32_t getShift() const;
  Status verifyPath(const std::vector<Edge> &path) const;

  VertexId numVertices = 2;
  std::vector<Edge> edges;
};

//===----------------------------------------------------------------------===//
// Cuts of joint graphs
//===----------------------------------------------------------------------===//

/// By node, what a choice weighs: not negative, or `FlowNetwork::unbounded` for
/// what cannot be chosen.
struct CutWeights {
  /// Saving the value.
  std::vector<int64_t> save;
  /// Computing it again: the whole operation for one that has several results,
  /// which weigh 0.
  std::vector<int64_t> repeat;
};

/// Whether computing the node again takes nothing: views, constants.
bool isFreeToRepeat(const JointNode &node);

/// The values to save, ascending, such that these and what is computed again
/// weigh least; of several choices the one that computes least again. `bans`:
/// why what may not be computed again may not be. What the user wants to be
/// computed again is. Conflict: something can neither be saved nor computed
/// again.
PartitionResult<std::vector<NodeId>>
solveCut(const JointGraph &graph, const Classification &classes,
         const std::vector<BanReason> &bans, const CutWeights &weights);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_LIB_PARTITION_FLOWNETWORK_H
