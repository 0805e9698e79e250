//===- JointMark.cpp - What makes a function a joint one
//-----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JointMark.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;

std::optional<JointMark> mlir::commsched::findJointMark(func::FuncOp function) {
  auto hasRole = [](StringRef role) {
    return [=](BlockArgument argument) { return getRole(argument) == role; };
  };
  auto arguments = function.getArguments();
  if (llvm::any_of(arguments, hasRole(savedActivationRole)))
    return std::nullopt;
  if (auto tangent = llvm::find_if(arguments, hasRole(tangentRole));
      tangent != arguments.end())
    return JointMark{tangent->getLoc(), "this argument is a tangent"};
  Operation *forward = nullptr, *backward = nullptr;
  for (Operation &op : function.getOps()) {
    auto half = op.getAttrOfType<StringAttr>(partitionAttrName);
    if (!half)
      continue;
    bool isForward = half.getValue().ends_with("forward");
    Operation *&first = isForward ? forward : backward;
    first = first ? first : &op;
  }
  if (!forward || !backward)
    return std::nullopt;
  return JointMark{backward->getLoc(),
                   "this operation belongs to the backward, and others to the "
                   "forward"};
}
