//===- PricedCut.h - Saved values by price ----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selects the values that the forward saves such that what saving costs and the
// time of what is computed again are least together. With a price for memory,
// in nanoseconds per byte, saving costs time as well: then this is the exact
// answer of the Lagrangian of the problem to compute as little as possible
// again within a number of saved bytes (Everett, "Generalized Lagrange
// Multiplier Method for Solving Problems of Optimum Allocation of Resources",
// Operations Research 1963).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_PRICEDCUT_H
#define COMMSCHED_PARTITION_PRICEDCUT_H

#include "CommSched/Partition/MinCut.h"

#include <cstdint>
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

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_PRICEDCUT_H
