//===- SplitExtent.h - How far regions of chunks reach ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_SPLIT_SPLITEXTENT_H
#define COMMSCHED_ANALYSIS_SPLIT_SPLITEXTENT_H

namespace mlir::commsched {

/// How far a region reaches from a collective.
enum class SplitExtent {
  /// From a gather forward, from a scatter backward, from other collectives
  /// both ways, to the first large computations, which belong to the region as
  /// the free views directly behind them do.
  Nearest,
  /// As far as the rules go.
  Widest,
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_SPLIT_SPLITEXTENT_H
