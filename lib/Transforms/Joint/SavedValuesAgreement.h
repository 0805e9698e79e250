//===- SavedValuesAgreement.h - Same saved values on all ranks --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUESAGREEMENT_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUESAGREEMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched {

/// Writes `commsched.saved_values` on each of the joint functions of `module`
/// that holds collectives: of the proposals in the files (SavedValues.h; one a
/// rank, in the order of ranks), the one that takes least bytes on the rank
/// where it takes most, of equal ones the first. Functions without collectives
/// stay as they are, with a remark. Emits an error if a file cannot be read,
/// lacks a function that holds collectives or has one that is not in
/// `functions`, or if two files list different values.
LogicalResult agreeOnSavedValues(ModuleOp module,
                                 ArrayRef<func::FuncOp> functions,
                                 ArrayRef<std::string> paths);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUESAGREEMENT_H
