//===- MergeViews.cpp - Views into merged tensors -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeKinds.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;

/// All dimensions of a tensor of that rank as one; none for a scalar.
static SmallVector<ReassociationIndices> getOneGroup(int64_t rank) {
  if (rank == 0)
    return {};
  return {llvm::to_vector<2>(llvm::seq<int64_t>(0, rank))};
}

Value mlir::commsched::flatten(OpBuilder &builder, Location location,
                               Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() == 1)
    return tensor;
  RankedTensorType flat =
      RankedTensorType::get(type.getNumElements(), type.getElementType());
  SmallVector<ReassociationIndices> groups = getOneGroup(type.getRank());
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(builder, location, flat, tensor,
                                         groups);
  return tensor::CollapseShapeOp::create(builder, location, flat, tensor,
                                         groups);
}

Value mlir::commsched::unflatten(OpBuilder &builder, Location location,
                                 Value flat, RankedTensorType type) {
  if (type.getRank() == 1)
    return flat;
  SmallVector<ReassociationIndices> groups = getOneGroup(type.getRank());
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, location, type, flat,
                                           groups);
  return tensor::ExpandShapeOp::create(builder, location, type, flat, groups);
}

SmallVector<Value>
mlir::commsched::viewDelivered(OpBuilder &builder, Value flat,
                               ArrayRef<MergeMember> members) {
  SmallVector<Value> values;
  int64_t offset = 0;
  for (const MergeMember &member : members) {
    RankedTensorType type = member.getDeliveredType();
    Location location = member.wait->getLoc();
    int64_t size = type.getNumElements();
    Value slice = tensor::ExtractSliceOp::create(
        builder, location, flat, {builder.getIndexAttr(offset)},
        {builder.getIndexAttr(size)}, {builder.getIndexAttr(1)});
    values.push_back(unflatten(builder, location, slice, type));
    offset += size;
  }
  return values;
}
