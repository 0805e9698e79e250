//===- Copies.cpp - Copies of buckets as StableHLO ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Copies.h"
#include "TensorBuilder.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

static LogicalResult verifyStatic(Operation *op) {
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()),
                                      llvm::to_vector(op->getResultTypes())))
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && !shaped.hasStaticShape())
      return op->emitOpError("has no form in StableHLO: ")
             << type << " has a dynamic size";
  return success();
}

LogicalResult mlir::commsched::stablehlo::lowerCopyIn(AllGatherCopyInOp op) {
  if (failed(verifyStatic(op)))
    return failure();
  for (Operation *user : op.getBuffer().getUsers()) {
    auto collective = dyn_cast<CollectiveOpInterface>(user);
    if (collective &&
        llvm::is_contained(collective.getDestinations(), op.getBuffer()))
      continue;
    InFlightDiagnostic diag = op.emitOpError(
        "has no form in StableHLO: its buffer is used for more than the "
        "collective that fills it");
    diag.attachNote(user->getLoc()) << "the other user";
    return diag;
  }
  OpBuilder inserter(op);
  TensorBuilder builder(inserter, op.getLoc());
  std::optional<ArrayAttr> packed = op.getPacked();
  Type element = op.getSlice().getType().getElementType();
  SmallVector<Value> parts;
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    Value flat = builder.flatten(input);
    if (!packed) {
      parts.push_back(builder.convert(flat, element));
      continue;
    }
    Type sent = cast<TypeAttr>((*packed)[index]).getValue();
    parts.push_back(builder.toBytes(builder.convert(flat, sent)));
  }
  op.getSlice().replaceAllUsesWith(builder.concatenate(parts, /*dim=*/0));
  return success();
}

LogicalResult mlir::commsched::stablehlo::lowerCopyOut(SplitWithSizesCopyOp op,
                                                       Groups &groups) {
  GroupOp group = groups.lookup(op, op.getGroupAttr());
  if (!group || failed(verifyStatic(op)))
    return failure();
  int64_t size = group.getSize();
  OpBuilder inserter(op);
  TensorBuilder builder(inserter, op.getLoc());
  Type packed = op.getInput().getType().getElementType();
  bool holdsBytes = llvm::any_of(op.getOutputs(), [&](Value output) {
    return cast<ShapedType>(output.getType()).getElementType() != packed;
  });
  // One row for each rank.
  Value rows = builder.splitIntoRows(op.getInput(), /*dim=*/0, size);
  SmallVector<Value> outputs;
  int64_t offset = 0;
  for (Value output : op.getOutputs()) {
    auto type = cast<RankedTensorType>(output.getType());
    Type element = type.getElementType();
    int64_t length = type.getNumElements() / size;
    if (holdsBytes)
      length *= getElementBytes(element);
    Value part = builder.sliceLast(rows, offset, length);
    if (holdsBytes && element != packed)
      part = builder.fromBytes(part, element);
    outputs.push_back(builder.joinRows(part, /*dim=*/0, type.getShape()));
    offset += length;
  }
  op->replaceAllUsesWith(outputs);
  op->erase();
  return success();
}

LogicalResult mlir::commsched::stablehlo::lowerChunkCat(ChunkCatOp op,
                                                        Groups &groups) {
  GroupOp group = groups.lookup(op, op.getGroupAttr());
  if (!group || failed(verifyStatic(op)))
    return failure();
  int64_t size = group.getSize();
  OpBuilder inserter(op);
  TensorBuilder builder(inserter, op.getLoc());
  RankedTensorType type = op.getOutput().getType();
  SmallVector<Value> parts;
  for (Value input : op.getInputs()) {
    int64_t count = cast<ShapedType>(input.getType()).getDimSize(0);
    Value padded =
        builder.padWithZeros(builder.convert(input, type.getElementType()),
                             llvm::alignTo(count, size) - count);
    parts.push_back(builder.splitIntoRows(padded, /*dim=*/0, size));
  }
  Value packed = builder.concatenate(parts, /*dim=*/1);
  op.getOutput().replaceAllUsesWith(builder.flatten(packed));
  op->erase();
  return success();
}
