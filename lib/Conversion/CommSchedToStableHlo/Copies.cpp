//===- Copies.cpp - Copies of buckets as StableHLO ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Writing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

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
    return emitOpErrorWithNote(op, user->getLoc(), "the other user")
           << "has no form in StableHLO: its buffer is used for more than the "
              "collective that fills it";
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

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// The operation of StableHLO that does with two operands what `op` does.
static StringRef getBinaryName(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddFOp, arith::AddIOp, linalg::AddOp>(
          [](auto) { return "stablehlo.add"; })
      .Case<arith::SubFOp, arith::SubIOp, linalg::SubOp>(
          [](auto) { return "stablehlo.subtract"; })
      .Case<arith::MulFOp, arith::MulIOp, linalg::MulOp>(
          [](auto) { return "stablehlo.multiply"; })
      .Case([](arith::DivFOp) { return "stablehlo.divide"; })
      .Default([](Operation *) { return StringRef(); });
}

/// Whether `op` is a cast that rounds as StableHLO's convert does.
static bool isConvertible(Operation *op) {
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    return truncation.getRoundingmode().value_or(
               arith::RoundingMode::to_nearest_even) ==
           arith::RoundingMode::to_nearest_even;
  return isa<arith::ExtFOp, arith::ExtSIOp, arith::TruncIOp, arith::SIToFPOp>(
      op);
}

static bool isStaticSlice(tensor::ExtractSliceOp slice) {
  auto isStatic = [](ArrayRef<int64_t> values) {
    return !llvm::is_contained(values, ShapedType::kDynamic);
  };
  return isStatic(slice.getStaticOffsets()) &&
         isStatic(slice.getStaticSizes()) && isStatic(slice.getStaticStrides());
}

/// Whether `BucketOps` replaces `op`.
static bool isKnown(Operation *op) {
  auto isPlain = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (!llvm::all_of(op->getOperandTypes(), isPlain) ||
      !llvm::all_of(op->getResultTypes(), isPlain) || op->getNumResults() != 1)
    return false;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return isStaticSlice(slice);
  return isa<tensor::CollapseShapeOp, tensor::ConcatOp, tensor::EmptyOp,
             tensor::ExpandShapeOp, linalg::TransposeOp>(op) ||
         !getBinaryName(op).empty() || isConvertible(op);
}

void BucketOps::collectSources(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !isKnown(op) || !known.insert(op).second)
      continue;
    ops.push_back(op);
    llvm::append_range(worklist, op->getOperands());
  }
}

void BucketOps::collectUsers(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (!isKnown(user) || !known.insert(user).second)
        continue;
      ops.push_back(user);
      worklist.push_back(user->getResult(0));
      for (Value operand : user->getOperands())
        collectSources(operand);
    }
}

static Value convert(Operation *op, TensorBuilder &builder) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  ArrayRef<int64_t> shape = type.getShape();
  if (StringRef name = getBinaryName(op); !name.empty())
    return builder.apply(name, op->getOperands().take_front(2), type);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](tensor::ExtractSliceOp slice) {
        Value part =
            builder.slice(slice.getSource(), slice.getStaticOffsets(),
                          slice.getStaticSizes(), slice.getStaticStrides());
        return builder.reshape(part, shape);
      })
      .Case([&](tensor::ConcatOp concat) {
        return builder.concatenate(concat.getInputs(), concat.getDim());
      })
      .Case([&](linalg::TransposeOp transpose) {
        return builder.transpose(transpose.getInput(),
                                 transpose.getPermutation());
      })
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
          [&](auto view) { return builder.reshape(view.getSrc(), shape); })
      .Default([&](Operation *cast) {
        return builder.convert(cast->getOperand(0), type.getElementType());
      });
}

LogicalResult BucketOps::lower() {
  SmallVector<Operation *> empty;
  for (Operation *op : ops) {
    if (isa<tensor::EmptyOp>(op)) {
      empty.push_back(op);
      continue;
    }
    OpBuilder inserter(op);
    TensorBuilder builder(inserter, op->getLoc());
    op->getResult(0).replaceAllUsesWith(convert(op, builder));
    op->dropAllReferences();
  }
  for (Operation *op : ops)
    if (!isa<tensor::EmptyOp>(op))
      op->erase();
  for (Operation *op : empty) {
    for (Operation *user : op->getUsers())
      if (user->getName().getDialectNamespace() == "stablehlo")
        return op->emitOpError("has no form in StableHLO: an undefined value "
                               "is used");
    if (op->use_empty())
      op->erase();
  }
  return success();
}
