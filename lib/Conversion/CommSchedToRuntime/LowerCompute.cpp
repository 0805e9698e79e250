//===- LowerCompute.cpp - Opaque operators to emulated ones ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an opaque operator computes is not known. It is emulated: it takes its
// predicted time, and its results are made up from its name and its operands.
// A view is a view of as many elements, so that it takes no memory. A cast is a
// cast: passes let the copies around collectives do it, with the same result.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;

/// `source` in one row.
static Value flatten(OpBuilder &builder, Location loc, Value source) {
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getRank() == 1)
    return source;
  auto flatType =
      RankedTensorType::get(type.getNumElements(), type.getElementType());
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(builder, loc, flatType, source,
                                         ArrayRef<ReassociationIndices>());
  ReassociationIndices all =
      llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  return tensor::CollapseShapeOp::create(builder, loc, flatType, source,
                                         ArrayRef<ReassociationIndices>(all));
}

/// The first elements of `source` in the shape of `type`.
static Value createView(OpBuilder &builder, Location loc, Value source,
                        RankedTensorType type) {
  if (source.getType() == type)
    return source;
  Value flat = flatten(builder, loc, source);
  int64_t elements = type.getNumElements();
  if (cast<RankedTensorType>(flat.getType()).getDimSize(0) != elements)
    flat = tensor::ExtractSliceOp::create(
        builder, loc, RankedTensorType::get(elements, type.getElementType()),
        flat, ArrayRef<OpFoldResult>{builder.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(elements)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  if (type.getRank() == 1)
    return flat;
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, loc, type, flat,
                                           ArrayRef<ReassociationIndices>());
  ReassociationIndices all =
      llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  return tensor::ExpandShapeOp::create(builder, loc, type, flat,
                                       ArrayRef<ReassociationIndices>(all));
}

/// True if a value of `type` can be a view of the first elements of `source`.
static bool canView(Value source, Type type) {
  auto sourceType = dyn_cast<RankedTensorType>(source.getType());
  auto resultType = dyn_cast<RankedTensorType>(type);
  return sourceType && resultType &&
         sourceType.getElementType() == resultType.getElementType() &&
         resultType.getNumElements() > 0 &&
         sourceType.getNumElements() >= resultType.getNumElements();
}

/// `source` converted to the elements of `type`.
static Value createConversion(Lowering &lowering, Location loc, Value source,
                              RankedTensorType type) {
  RowCopy copy;
  copy.rowElements = type.getNumElements();
  copy.sourceType = cast<RankedTensorType>(source.getType()).getElementType();
  copy.targetType = type.getElementType();
  return createCopies(lowering.rewriter, loc, source,
                      lowering.createEmpty(loc, type), copy,
                      /*overwrites=*/true);
}

/// True if `op` is a cast between types that the runtime converts.
static bool isRuntimeCast(ComputeOp op) {
  auto isKnown = [](Type type) {
    return getRuntimeType(cast<RankedTensorType>(type).getElementType())
        .has_value();
  };
  return isCast(op) && isKnown(op.getInputs()[0].getType()) &&
         isKnown(op.getResultTypes()[0]);
}

/// The tensors and memrefs among `types`.
static SmallVector<Type> getBufferTypes(TypeRange types) {
  SmallVector<Type> buffers;
  for (Type type : types)
    if (isa<RankedTensorType, MemRefType>(type))
      buffers.push_back(type);
  return buffers;
}

LogicalResult mlir::commsched::lowerCompute(Lowering &lowering, ComputeOp op) {
  IRRewriter &rewriter = lowering.rewriter;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  for (TypeRange types :
       {TypeRange(op.getInputs().getTypes()), TypeRange(op.getResultTypes())})
    if (failed(requireLowerableTypes(op, getBufferTypes(types))))
      return failure();
  SmallVector<Value> inputs, outputs, results(op.getNumResults());
  for (Value input : op.getInputs())
    if (isa<RankedTensorType, MemRefType>(input.getType()))
      inputs.push_back(input);
  for (OpResult result : op.getOperation()->getResults()) {
    Type type = result.getType();
    Value &value = results[result.getResultNumber()];
    if (isRuntimeCast(op))
      value = createConversion(lowering, loc, op.getInputs()[0],
                               cast<RankedTensorType>(type));
    else if (auto alias = op.getAlias();
             alias && canView(op.getInputs()[*alias], type))
      value = createView(rewriter, loc, op.getInputs()[*alias],
                         cast<RankedTensorType>(type));
    else if (auto tensorType = dyn_cast<RankedTensorType>(type))
      outputs.push_back(lowering.createEmpty(loc, tensorType));
    else if (type.isIntOrIndexOrFloat())
      value =
          arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type));
    else
      return op.emitError("cannot be emulated: yields ") << type;
  }
  IntegerAttr runtime = lowering.getRuntimeNs(op);
  if (!runtime)
    return op.emitError("cannot be emulated: ")
           << explainUnknownCost(lowering.costs, op);

  // A free view leaves nothing to do.
  if (!outputs.empty() || runtime.getInt() > 0) {
    auto compute =
        rt::ComputeOp::create(rewriter, loc, ValueRange(outputs).getTypes(),
                              op.getCalleeAttr(), runtime, inputs, outputs);
    auto computed = compute.getResults().begin();
    for (Value &value : results)
      if (!value)
        value = *computed++;
  }
  rewriter.replaceOp(op, results);
  return success();
}
