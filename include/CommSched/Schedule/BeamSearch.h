//===- BeamSearch.h - Orders grown from the beginning -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for a short step by growing many orders side by side, one operation at
// a time, and going on with those whose bound is lowest. It sees what no single
// move of an operation leads to, and is for programs that are small enough to
// have some hundred orders grown.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BEAMSEARCH_H
#define COMMSCHED_SCHEDULE_BEAMSEARCH_H

#include "CommSched/Schedule/Problem.h"

#include <limits>
#include <optional>

namespace mlir::commsched::schedule {

struct BeamSearchOptions {
  /// Live bytes that are never exceeded.
  int64_t limitBytes = std::numeric_limits<int64_t>::max();
  /// Only steps that are shorter are looked for.
  int64_t belowNs = std::numeric_limits<int64_t>::max();
  /// A step that is short enough: a lower bound.
  int64_t goalNs = 0;
  /// How many operations all bounds together may look at.
  int64_t effort = 0;
};

/// The order with the shortest step that was found, by simulate(); none if
/// there is none within the limit and below `belowNs`, or the effort is spent
/// before the first order is whole.
///
/// A beam search (P. S. Ow and T. E. Morton, "Filtered beam search in
/// scheduling", International Journal of Production Research 26, 1988), with
/// beams of 8 orders, 32, and so on while the effort lasts. The bound of what
/// is begun is, for each stream, that of one machine with heads and tails; what
/// cannot be shorter than the best so far is dropped. Of orders that begin with
/// the same operations, which take the compute stream equally long, only the
/// most promising goes on.
///
/// The program has to be a legal order, in which dependences keep every user of
/// a buffer behind who makes it. O(effort), and as many bytes as 4 * width *
/// (nodes + buffers + streams) numbers take, in which the square root of the
/// effort is above the nodes times the square root of the width.
std::optional<Order> searchBeam(const Problem &problem,
                                const BeamSearchOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BEAMSEARCH_H
