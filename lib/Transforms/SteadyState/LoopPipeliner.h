//===- LoopPipeliner.h - Overlap of the iterations of loops -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the loops of a function that hold collectives into the schedules that
// LoopScheduler finds.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPPIPELINER_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPPIPELINER_H

#include "LoopScheduler.h"

namespace mlir::commsched {

struct LoopPipeliningOptions : LoopSchedulingOptions {
  LoopPipeliningOptions() { maxDepth = 3; }
  explicit LoopPipeliningOptions(const LoopSchedulingOptions &options)
      : LoopSchedulingOptions(options) {}

  /// Whether gathers of what no iteration changes leave a loop that is shorter
  /// without them.
  bool hoistsGathers = true;
  /// Whether gathers of an iteration are merged where that is shorter.
  bool mergesGathers = true;
  /// Of how many iterations loops are unrolled where that is shorter.
  int32_t unroll = 0;
  /// Whether the function is a copy, of which no remark speaks.
  bool isTrial = false;
};

/// The loops of `function` whose bodies hold collectives, inner ones first.
SmallVector<Operation *> getLoopsWithCollectives(func::FuncOp function);

struct LoopChanges {
  /// Whether anything has changed.
  bool any = false;
  /// Whether gathers have left a loop.
  bool areHoisted = false;
};

/// Overlaps the iterations of these loops where that makes them shorter. Emits
/// remarks.
FailureOr<LoopChanges> pipelineLoops(func::FuncOp function,
                                     const LoopPipeliningOptions &options,
                                     OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPPIPELINER_H
