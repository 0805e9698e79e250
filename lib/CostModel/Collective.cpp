//===- Collective.cpp - Kinds and sizes of collectives --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Collective.h"

namespace mlir::commsched::cost {

int32_t CollectiveQuery::nodes() const {
  if (ranksPerNode <= 0 || ranks <= ranksPerNode)
    return 1;
  return ranks / ranksPerNode + (ranks % ranksPerNode != 0);
}

} // namespace mlir::commsched::cost
