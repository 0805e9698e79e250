//===- PricedCut.h - Saved values by price ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the values that the forward saves such that what saving costs and the
// time of what is computed again are least together. With a price for memory,
// in nanoseconds per byte, saving costs time as well: then this is the exact
// answer of the Lagrangian of the problem to compute as little as possible
// again within a number of saved bytes (Everett, "Generalized Lagrange
// Multiplier Method for Solving Problems of Optimum Allocation of Resources",
// Operations Research 1963).
//
// Cuts the forward into segments that the backward may compute again one at a
// time, as activation checkpointing does (Chen et al., "Training Deep Nets with
// Sublinear Memory Cost", 2016). A minimum cut does not see that what is
// computed again is live as well: with a high price of memory it saves nothing
// and computes the whole forward again at once.
//
// Estimates what the step of a partition takes without making its halves: for
// searches among many partitions, the best of which are then measured.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_PRICEDCUT_H
#define COMMSCHED_PARTITION_PRICEDCUT_H

#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/MinCut.h"
#include "CommSched/Partition/Split.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace mlir::commsched::partition {

/// What there is to pay for each node, in nanoseconds; not negative.
struct TreatmentPrices {
  /// Handing the value from the forward to the backward.
  std::vector<int64_t> saveNs;
  /// Computing the operation again in the backward. The results of an operation
  /// with several have no price of their own: theirs is ignored.
  std::vector<int64_t> repeatNs;
};

/// The values to save, ascending: what is paid for these, and for what the
/// backward then computes again, is as little as possible. Of choices with
/// equal prices, one that computes the fewest nodes again.
///
/// Views and constants are not saved but taken again, and saving an argument
/// that stays costs nothing. What may not be computed again whatever it costs
/// (isHard()) is saved; collectives may be, if they gather a parameter. What
/// the user wants to be computed again is. `prices` has an entry for each node,
/// and all of one kind fit in an int64_t together.
///
/// Conflict: something can neither be saved nor computed again. A maximum flow
/// in a network of two vertices for each node.
PartitionResult<std::vector<NodeId>>
solvePricedCut(const JointGraph &graph, const Classification &classes,
               const TreatmentPrices &prices);

/// The bytes of all values that the forward computes, gathered parameters
/// aside, each storage once. Linear.
int64_t computeForwardBytes(const JointGraph &graph,
                            const Classification &classes);

/// By node, whether it is an input of a segment: an operation of the forward,
/// or its result, that a later segment reads or sees through views. Segments
/// compute up to `segmentBytes`, at the least a single operation, and end in
/// their second half where the fewest bytes cross. Gathered parameters are no
/// inputs. Linear.
std::vector<char> findSegmentInputs(const JointGraph &graph,
                                    const Classification &classes,
                                    int64_t segmentBytes);

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

struct StepEstimate {
  /// The most bytes that are live at once.
  int64_t peakBytes = 0;
  /// The time of the busiest stream of the forward, and of the backward, in
  /// nanoseconds if the costs of the graph are.
  int64_t timeNs = 0;
};

/// The operations of the backward of `split` in the order in which autograd
/// runs them: those in front of the first that reads a tangent come right
/// before the first operation that needs them. Linear.
std::vector<NodeId> getBackwardOrder(const JointGraph &graph,
                                     const Split &split);

class StepEstimator {
public:
  /// `streams`: by node, the stream that a collective runs on, from 0; -1 for
  /// what computes. `graph` must outlive the object.
  StepEstimator(const JointGraph &graph, std::vector<int32_t> streams);

  /// The forward runs in the order of the program, the backward in that of
  /// getBackwardOrder(). A storage is live from the first operation of a half
  /// that makes a value in it to the last that reads one, to the end of the
  /// step if the half returns it, and from the end of the forward if it is
  /// saved. Primals that may not be freed are live all the time. Linear.
  StepEstimate estimate(const Split &split) const;

private:
  class Half;

  const JointGraph &graph;
  std::vector<int32_t> streams;
  int32_t numStreams = 0;
  /// By node: its storage, also where the graph has none for the value; -1 for
  /// what has no bytes.
  std::vector<int32_t> storages;
  /// By storage.
  std::vector<int64_t> bytes;
};

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_PRICEDCUT_H
