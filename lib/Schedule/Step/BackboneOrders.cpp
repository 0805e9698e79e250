//===- BackboneOrders.cpp -------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/BackboneOrders.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Order schedule::getProgramBackbone(const StepStructure &structure) {
  Order backbone;
  for (NodeId node : structure.getProblem().topologicalOrder())
    if (structure.isBackbone(node))
      backbone.push_back(node);
  return backbone;
}
