//===- FsdpAnalysis.h - Which collectives shard parameters ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes fully sharded data parallelism by what flows where, not by names:
// gathers of one parameter, and reductions of gradients that leave the function.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_FSDPANALYSIS_H
#define COMMSCHED_ANALYSIS_FSDPANALYSIS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::commsched {

/// What a collective has to do with sharded parameters.
enum class FsdpRole {
  /// Nothing.
  None,
  /// An all-gather whose operand is made of exactly one parameter, through
  /// casts, padding and views.
  ParameterGather,
  /// A reduce-scatter whose result reaches only the function's results, through
  /// operations of one operand (in HSDP, an all-reduce among them).
  GradientScatter,
  /// HSDP: the all-reduce of a GradientScatter's result.
  GradientReduce,
};

class FsdpAnalysis {
public:
  /// Looks at the collectives of one block. Linear in its operations.
  explicit FsdpAnalysis(Block &block);

  FsdpRole getRole(Operation *collective) const;

  /// The parameter that a ParameterGather gathers, an argument of a function;
  /// null for any other collective.
  Value getParameter(Operation *collective) const;

  /// Whether parameters are gathered on the group with this key.
  bool isFsdpGroup(Attribute groupKey) const {
    return groups.contains(groupKey);
  }

private:
  DenseMap<Operation *, FsdpRole> roles;
  DenseMap<Operation *, Value> parameters;
  DenseSet<Attribute> groups;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_FSDPANALYSIS_H
