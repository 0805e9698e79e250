//===- Transport.cpp - What carries collectives out -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/Transport.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::commsched;

bool mlir::commsched::isCarriedByGloo(CollectiveOpInterface collective) {
  auto symbol = dyn_cast_if_present<SymbolRefAttr>(collective.getGroupKey());
  auto group =
      symbol ? SymbolTable::lookupNearestSymbolFrom<GroupOp>(collective, symbol)
             : GroupOp();
  auto backend =
      group ? group->getAttrOfType<StringAttr>(backendAttrName) : StringAttr();
  return backend && backend.getValue() == glooBackend;
}

int64_t mlir::commsched::getTransportBytes(CollectiveOpInterface collective) {
  if (!isCarriedByGloo(collective))
    return 0;
  int64_t sent = collective.getOperandBytes().value_or(0);
  int64_t delivered = collective.getResultBytes().value_or(0);
  switch (collective.getCollectiveKind()) {
  case CollectiveKind::AllGather:
    return llvm::AddOverflow(sent, delivered, sent)
               ? std::numeric_limits<int64_t>::max()
               : sent;
  case CollectiveKind::ReduceScatter:
    return sent;
  case CollectiveKind::AllReduce:
    return collective.getSentValues().size() > 1 ? sent : 0;
  default:
    return 0;
  }
}
