//===- ActivationOrigins.h - Where saved values come from -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Leads from a value of a forward to the argument whose numbers it has: what is
// saved of a parameter is no activation, also if it was gathered or cast.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONORIGINS_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONORIGINS_H

#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"

namespace mlir::commsched {

class ActivationOrigins {
public:
  struct Origin {
    /// The argument with the same numbers; null if they were computed.
    BlockArgument argument;
    /// Whether the value lives in the storage of the argument.
    bool isView = true;
  };

  /// Linear in what FsdpAnalysis is linear in.
  explicit ActivationOrigins(Block &block) : fsdp(block) {}

  /// Through views, casts, and gathers of a parameter. Linear in all values
  /// together, over all calls.
  Origin getOrigin(Value value);

private:
  Value getSource(Value value, bool &isView) const;

  FsdpAnalysis fsdp;
  DenseMap<Value, Origin> known;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONORIGINS_H
