//===- LowerLocalOps.cpp - Lowering of local operations to the runtime ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers the operations that do not communicate: the copies around the
// collectives of FSDP, and opaque operators.
//
// The runtime does not know what an opaque operator computes, so it emulates
// it: the operator takes its predicted time, and its results depend on its name
// and its operands. An operator whose result is a view becomes a view of as
// many elements, which takes no memory. A cast is converted for real, because
// passes may have moved it into the copies around a collective, where it is
// real too.
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Copies of FSDP
//===----------------------------------------------------------------------===//

/// All elements of a tensor of `from` as one row at `targetOffset`, converted
/// to `to`.
static RowCopy getWholeCopy(RankedTensorType from, Type to,
                            int64_t targetOffset) {
  RowCopy copy;
  copy.target = {targetOffset, 0, 0};
  copy.rowElements = from.getNumElements();
  if (from.getElementType() == to) {
    copy.rowElements *= *getElementBytes(to);
    return copy;
  }
  copy.sourceType = from.getElementType();
  copy.targetType = to;
  return copy;
}

/// The shards go to this rank's part of a new buffer. Where the part itself is
/// used, it is cut out of the buffer again.
LogicalResult mlir::commsched::lowerCopyIn(Lowering &lowering,
                                           AllGatherCopyInOp op) {
  IRRewriter &rewriter = lowering.rewriter;
  Location loc = op.getLoc();
  if (failed(requireLowerableTypes(op)))
    return failure();
  rewriter.setInsertionPoint(op);
  auto sliceType = cast<RankedTensorType>(op.getSlice().getType());
  auto bufferType = cast<RankedTensorType>(op.getBuffer().getType());
  int64_t elementBytes = *getElementBytes(bufferType.getElementType());
  Value rank = rt::RankOp::create(rewriter, loc, rewriter.getIndexType(),
                                  op.getGroupAttr());
  Value partBytes = arith::ConstantIndexOp::create(
      rewriter, loc, sliceType.getNumElements() * elementBytes);
  Value offset = arith::MulIOp::create(rewriter, loc, rank, partBytes);

  Value buffer = lowering.createEmpty(loc, bufferType);
  int64_t begin = 0;
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    Type target = op.getPacked()
                      ? cast<TypeAttr>((*op.getPacked())[index]).getValue()
                      : bufferType.getElementType();
    FailureOr<int64_t> targetBytes = getElementBytes(target);
    if (failed(targetBytes))
      return op.emitError("has no lowering to the runtime: packs ") << target;
    buffer = createCopies(rewriter, loc, input, buffer,
                          getWholeCopy(type, target, begin),
                          /*overwrites=*/false, offset);
    begin += type.getNumElements() * *targetBytes;
  }

  Value slice;
  if (!op.getSlice().use_empty()) {
    Value part = arith::ConstantIndexOp::create(rewriter, loc,
                                                sliceType.getNumElements());
    Value first = arith::MulIOp::create(rewriter, loc, rank, part);
    slice = tensor::ExtractSliceOp::create(
        rewriter, loc, sliceType, buffer, ArrayRef<OpFoldResult>{first},
        ArrayRef<OpFoldResult>{
            rewriter.getIndexAttr(sliceType.getNumElements())},
        ArrayRef<OpFoldResult>{rewriter.getIndexAttr(1)});
  }
  rewriter.replaceAllUsesWith(op.getBuffer(), buffer);
  if (slice)
    rewriter.replaceAllUsesWith(op.getSlice(), slice);
  rewriter.eraseOp(op);
  return success();
}

/// Every tensor takes its row out of each rank's part.
LogicalResult mlir::commsched::lowerCopyOut(Lowering &lowering,
                                            SplitWithSizesCopyOp op) {
  IRRewriter &rewriter = lowering.rewriter;
  FailureOr<int64_t> size = lowering.getGroupSize(op, op.getGroupAttr());
  if (failed(size) || failed(requireLowerableTypes(op)))
    return failure();
  rewriter.setInsertionPoint(op);
  auto inputType = cast<RankedTensorType>(op.getInput().getType());
  int64_t partBytes = inputType.getNumElements() *
                      *getElementBytes(inputType.getElementType()) / *size;
  SmallVector<Value> outputs;
  int64_t begin = 0;
  for (Value result : op.getOutputs()) {
    auto type = cast<RankedTensorType>(result.getType());
    int64_t rowBytes =
        type.getNumElements() * *getElementBytes(type.getElementType()) / *size;
    RowCopy copy;
    copy.rows = *size;
    copy.rowElements = rowBytes;
    copy.source = {begin, partBytes, 0};
    copy.target = {0, rowBytes, 0};
    outputs.push_back(createCopies(rewriter, op.getLoc(), op.getInput(),
                                   lowering.createEmpty(op.getLoc(), type),
                                   copy, /*overwrites=*/true));
    begin += rowBytes;
  }
  rewriter.replaceOp(op, outputs);
  return success();
}

/// Rows of the ranks that `elements` fill in whole chunks, and what remains.
LogicalResult mlir::commsched::lowerChunkCat(Lowering &lowering,
                                             ChunkCatOp op) {
  IRRewriter &rewriter = lowering.rewriter;
  FailureOr<int64_t> size = lowering.getGroupSize(op, op.getGroupAttr());
  if (failed(size) || failed(requireLowerableTypes(op)))
    return failure();
  rewriter.setInsertionPoint(op);
  auto outputType = cast<RankedTensorType>(op.getOutput().getType());
  Type target = outputType.getElementType();
  int64_t targetBytes = *getElementBytes(target);
  int64_t rowStride = outputType.getNumElements() / *size * targetBytes;

  SmallVector<std::pair<Value, SmallVector<RowCopy>>> inputs;
  bool isPadded = false;
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t sourceBytes = *getElementBytes(type.getElementType());
    bool converts = type.getElementType() != target;
    int64_t dimSize = type.getDimSize(0);
    int64_t inner = dimSize == 0 ? 0 : type.getNumElements() / dimSize;
    int64_t chunk = llvm::divideCeil(dimSize, *size) * inner;
    auto getCopy = [&](int64_t row, int64_t rows, int64_t elements) {
      RowCopy copy;
      copy.rows = rows;
      copy.rowElements = converts ? elements : elements * targetBytes;
      copy.source = {row * chunk * sourceBytes, chunk * sourceBytes, 0};
      copy.target = {row * rowStride + begin, rowStride, 0};
      if (converts) {
        copy.sourceType = type.getElementType();
        copy.targetType = target;
      }
      return copy;
    };
    SmallVector<RowCopy> copies;
    int64_t full = chunk == 0 ? 0 : type.getNumElements() / chunk;
    int64_t rest = type.getNumElements() - full * chunk;
    if (full > 0)
      copies.push_back(getCopy(0, full, chunk));
    if (rest > 0)
      copies.push_back(getCopy(full, 1, rest));
    isPadded |= full < *size;
    inputs.emplace_back(input, std::move(copies));
    begin += chunk * targetBytes;
  }

  Value output = lowering.createEmpty(op.getLoc(), outputType);
  if (isPadded)
    output = rt::ZeroOp::create(rewriter, op.getLoc(), outputType, output)
                 .getResult();
  // One input that fills its rows fills the output.
  bool overwrites = !isPadded && inputs.size() == 1;
  for (auto &[input, copies] : inputs)
    output =
        createCopies(rewriter, op.getLoc(), input, output, copies, overwrites);
  rewriter.replaceOp(op, output);
  return success();
}

LogicalResult mlir::commsched::lowerFsdpCopy(Lowering &lowering,
                                             FsdpCopyOp op) {
  IRRewriter &rewriter = lowering.rewriter;
  rewriter.setInsertionPoint(op);
  auto copy = bufferization::MaterializeInDestinationOp::create(
      rewriter, op.getLoc(), op.getSource(), op.getStorage());
  copy.setWritable(true);
  rewriter.eraseOp(op);
  return success();
}

/// Bufferization requires `restrict` on reads of memory: no alias writes it. A
/// storage that is filled again later is first copied into a tensor.
void mlir::commsched::lowerStorageRead(Lowering &lowering,
                                       bufferization::ToTensorOp op) {
  if (op.getRestrict())
    return;
  op.setRestrict(true);
  bool isFilledLater =
      llvm::any_of(op.getBuffer().getUsers(), [&](Operation *user) {
        return isa<FsdpCopyOp>(user) && (user->getBlock() != op->getBlock() ||
                                         op->isBeforeInBlock(user));
      });
  if (!isFilledLater)
    return;
  IRRewriter &rewriter = lowering.rewriter;
  rewriter.setInsertionPointAfter(op);
  auto copy = bufferization::AllocTensorOp::create(
      rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()),
      /*dynamicSizes=*/ValueRange(), op.getResult());
  rewriter.replaceAllUsesExcept(op.getResult(), copy.getResult(), copy);
}

//===----------------------------------------------------------------------===//
// Opaque operators
//===----------------------------------------------------------------------===//

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
  return reshapeFlat(builder, loc, flat, type);
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
