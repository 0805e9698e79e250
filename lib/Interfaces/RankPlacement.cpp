//===- RankPlacement.cpp - Ranks of a group on nodes ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Interfaces/RankPlacement.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

int64_t mlir::commsched::countRanksOnOneNode(ArrayRef<int64_t> ranks,
                                             int64_t ranksPerNode) {
  DenseMap<int64_t, int64_t> counts;
  int64_t most = 0;
  for (int64_t rank : ranks)
    most = std::max(most, ++counts[rank / ranksPerNode]);
  return most;
}
