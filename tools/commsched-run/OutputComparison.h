//===- OutputComparison.h - Comparison of outputs ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the outputs of two programs on one rank, element by element.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_OUTPUTCOMPARISON_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_OUTPUTCOMPARISON_H

#include "StepRunner.h"

namespace mlir::commsched::run {

/// Ranks exchange it.
struct Difference {
  int64_t numElements = 0;
  int64_t numDifferent = 0;
  /// The first place: a result of a repetition, or an argument (-1); and the
  /// element in row-major order.
  int64_t repetition = -1;
  int64_t index = -1;
  int64_t element = -1;
  /// The bytes of the two elements.
  std::array<int64_t, 2> left = {}, right = {};
};

/// Fails, with a text that names both programs, unless they take and give the
/// same types, and the same of them in each repetition.
llvm::Error checkComparable(const CompiledProgram &left,
                            const CompiledProgram &right);

/// Compares the outputs of programs of that plan.
Difference compareOutputs(const StepPlan &plan, const Outputs &left,
                          const Outputs &right,
                          std::optional<double> tolerance);

/// One line for people, of the findings of all ranks.
std::string describeComparison(const CompiledProgram &left,
                               const CompiledProgram &right,
                               ArrayRef<Difference> ranks);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_OUTPUTCOMPARISON_H
