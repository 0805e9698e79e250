//===- CollectiveOrder.cpp - The fixed order of collectives ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/CollectiveOrder.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;

LogicalResult mlir::commsched::verifyCollectiveOrder(Operation *earlier,
                                                     Operation *later) {
  int64_t first = *getCollectiveOrder(earlier);
  int64_t second = *getCollectiveOrder(later);
  if (first < second)
    return success();
  InFlightDiagnostic diag = later->emitOpError("has ")
                            << orderAttrName << " " << second
                            << ", but starts after a collective with " << first;
  diag.attachNote(earlier->getLoc()) << "that collective is here";
  return diag;
}
