//===- FunctionUsers.h - Who refers to functions ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds references to symbols of a module without looking through the
// attributes of operations that cannot have any: nearly all of a step.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_FUNCTIONUSERS_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_FUNCTIONUSERS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::commsched {

/// By symbol: the first operation of `module` that refers to it. Groups that
/// collectives refer to are left out. Linear in the operations.
llvm::DenseMap<StringAttr, Operation *> findFunctionUsers(ModuleOp module);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_FUNCTIONUSERS_H
