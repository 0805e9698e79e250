//===- AbsorbedCasts.cpp - Casts that a copy-in makes ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbsorbedCasts.h"

#include "CommSched/Analysis/Problem/Casts.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "WritesBetween.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveKind;

static bool widens(Operation *cast) {
  return getElementTypeOrSelf(cast->getOperand(0)).getIntOrFloatBitWidth() <
         getElementTypeOrSelf(cast->getResult(0)).getIntOrFloatBitWidth();
}

Operation *mlir::commsched::getAbsorbedCast(CollectiveOpInterface start,
                                            Operation *last) {
  Operation *cast = start.getSentValues().front().getDefiningOp();
  if (!cast || cast->getBlock() != start->getBlock() || !cast->hasOneUse() ||
      !isCast(cast))
    return nullptr;
  CollectiveKind kind = start.getCollectiveKind();
  bool converts = kind == CollectiveKind::AllGather ||
                  (kind == CollectiveKind::ReduceScatter && widens(cast));
  if (!converts || mayBeWrittenBetween(cast->getOperand(0), cast, last))
    return nullptr;
  return cast;
}
