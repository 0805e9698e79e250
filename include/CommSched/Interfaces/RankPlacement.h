//===- RankPlacement.h - Ranks of a group on nodes --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_INTERFACES_RANKPLACEMENT_H
#define COMMSCHED_INTERFACES_RANKPLACEMENT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace mlir::commsched {

/// The most of `ranks` that share one node, where each node has `ranksPerNode`
/// consecutive ranks, at least 1; 0 without ranks.
int64_t countRanksOnOneNode(ArrayRef<int64_t> ranks, int64_t ranksPerNode);

} // namespace mlir::commsched

#endif // COMMSCHED_INTERFACES_RANKPLACEMENT_H
