//===- Remarks.cpp - Remarks of CommSched's passes ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"

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
