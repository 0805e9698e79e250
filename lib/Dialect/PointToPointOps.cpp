//===- PointToPointOps.cpp - Verifiers of sends and receives --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StartOps.h"

using namespace mlir;
using namespace mlir::commsched;

static LogicalResult verifyTag(Operation *op, std::optional<int64_t> tag) {
  if (!tag || *tag >= 0)
    return success();
  return op->emitOpError("tag(") << *tag << ") is negative (C4)";
}

LogicalResult SendOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one operand (C2)");
  if (!getFutureTypes().empty())
    return emitOpError("delivers nothing, but its future holds ")
           << getFutureTypes().size() << " type(s) (C2)";
  return verifyTag(*this, getTag());
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  FailureOr<GroupOp> group =
      detail::requireGroup(*this, getGroupAttr(), symbolTables);
  if (failed(group))
    return failure();
  return detail::verifyRank(*this, "to", getTo(), *group, "C3");
}

LogicalResult RecvOp::verify() {
  if (getFutureTypes().empty())
    return emitOpError("must deliver at least one value (C2)");
  if (failed(verifyTag(*this, getTag())))
    return failure();
  return detail::verifyInto(*this, getInto().getTypes(), getFutureTypes(),
                            "C5");
}

LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  FailureOr<GroupOp> group =
      detail::requireGroup(*this, getGroupAttr(), symbolTables);
  if (failed(group))
    return failure();
  return detail::verifyRank(*this, "from", getFrom(), *group, "C3");
}
