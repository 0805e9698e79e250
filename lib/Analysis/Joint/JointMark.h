//===- JointMark.h - What makes a function a joint one ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds what only a function with a forward and its backward has, so that one
// that does not say how many of its results are the forward's is noticed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_JOINT_JOINTMARK_H
#define COMMSCHED_LIB_ANALYSIS_JOINT_JOINTMARK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace mlir::commsched {

/// Something that only a joint function has, and what it is, as a note's text.
struct JointMark {
  Location location;
  StringRef text;
};

/// What shows that `function` holds a backward and its forward. A backward
/// alone takes what its forward saved; a forward alone has no operation of a
/// backward.
std::optional<JointMark> findJointMark(func::FuncOp function);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_JOINT_JOINTMARK_H
