//===- Collective.cpp - kinds and sizes of collectives ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Collective.h"

#include "llvm/Support/ErrorHandling.h"

namespace mlir::commsched::cost {

llvm::StringRef stringifyCollectiveKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::Permute:
    return "permute";
  case CollectiveKind::Send:
    return "send";
  case CollectiveKind::Recv:
    return "recv";
  case CollectiveKind::Barrier:
    return "barrier";
  }
  llvm_unreachable("unknown collective kind");
}

std::optional<CollectiveKind> parseCollectiveKind(llvm::StringRef name) {
  for (CollectiveKind kind : allCollectiveKinds)
    if (stringifyCollectiveKind(kind) == name)
      return kind;
  return std::nullopt;
}

int32_t CollectiveQuery::nodes() const {
  if (ranksPerNode <= 0 || ranks <= ranksPerNode)
    return 1;
  return ranks / ranksPerNode + (ranks % ranksPerNode != 0);
}

} // namespace mlir::commsched::cost
