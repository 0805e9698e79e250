//===- Remarks.cpp - Remarks of CommSched's passes ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"

using namespace mlir;
using namespace mlir::commsched;

bool mlir::commsched::areRemarksEnabled(Operation *op) {
  return op->getContext()->getRemarkEngine() != nullptr;
}

remark::RemarkOpts mlir::commsched::makeRemark(StringRef name,
                                               StringRef function) {
  return remark::RemarkOpts::name(name)
      .category("commsched")
      .function(function);
}

std::string mlir::commsched::describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto compute = dyn_cast<ComputeOp>(op))
    text = compute.getCallee().str();
  StringRef name = getStableName(op);
  if (!name.empty())
    text += " '" + name.str() + "'";
  return text;
}
