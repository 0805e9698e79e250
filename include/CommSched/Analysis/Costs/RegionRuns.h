//===- RegionRuns.h - How operations run their regions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which blocks an operation runs, and how often: the iterations of a loop, the
// alternatives of a branch, the function that a call names.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_REGIONRUNS_H
#define COMMSCHED_ANALYSIS_COSTS_REGIONRUNS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"

#include <optional>

namespace mlir::commsched {

/// How `op` uses its regions, as far as it says so by RegionUseOpInterface, or
/// as a loop or a branch of MLIR.
RegionUse getRegionUse(Operation *op);

/// How often a loop runs its body.
struct TripCount {
  /// INT64_MAX if it is more. Where nothing is known it is so many that a loop
  /// whose iterations overlap takes less time than the loop as it was.
  int64_t count = 16;
  enum class Source {
    /// Its bounds are constants.
    Bounds,
    /// The hint `commsched.trip_count`.
    Hint,
    /// Nothing is known, or what is assumed of the loop that it was a part of.
    Assumed,
  };
  Source source = Source::Assumed;
};

/// That of a loop, over all its dimensions.
TripCount getTripCount(Operation *loop);

/// The regions of which one is chosen when `op` is entered; empty when `op`
/// does not say.
SmallVector<Region *> getAlternatives(Operation *op);

/// The body of the function that the call `op` names and that runs in its
/// place; null if it has none, or if `op` states its own cost.
Region *getCalledBody(Operation *op, SymbolTableCollection &symbolTables);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_REGIONRUNS_H
