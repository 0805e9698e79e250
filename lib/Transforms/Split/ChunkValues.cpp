//===- ChunkValues.cpp - Slices and concatenations ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitRewrite.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// Creates operations and lists them.
class Recorder {
public:
  Recorder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  template <typename Op, typename... Args> Value create(Args &&...args) {
    auto op = Op::create(builder, loc, std::forward<Args>(args)...);
    created.operations.push_back(op);
    created.value = op->getResult(0);
    return created.value;
  }
  CreatedValue take() { return std::move(created); }

private:
  OpBuilder &builder;
  Location loc;
  CreatedValue created;
};

} // namespace

static SmallVector<OpFoldResult> getIndices(Builder &builder,
                                            ArrayRef<int64_t> values) {
  return getAsIndexOpFoldResult(builder.getContext(), values);
}

/// `shape` with `parts` in the place of dimension `dim`.
static SmallVector<int64_t> replaceDim(ArrayRef<int64_t> shape, int64_t dim,
                                       ArrayRef<int64_t> parts) {
  SmallVector<int64_t> replaced(shape.take_front(dim));
  llvm::append_range(replaced, parts);
  llvm::append_range(replaced, shape.drop_front(dim + 1));
  return replaced;
}

/// The reassociation that makes `parts` dimensions of dimension `dim` of
/// `rank`.
static SmallVector<ReassociationIndices>
getReassociation(int64_t rank, int64_t dim, int64_t parts) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t from = 0, to = 0; from < rank; ++from) {
    ReassociationIndices group;
    for (int64_t part = 0; part < (from == dim ? parts : 1); ++part)
      group.push_back(to++);
    groups.push_back(group);
  }
  return groups;
}

/// The offset of part number `place`, in parts of `size`.
static OpFoldResult createOffset(Recorder &recorder, Builder &builder,
                                 OpFoldResult place, int64_t size) {
  if (std::optional<int64_t> number = getConstantIntValue(place))
    return builder.getIndexAttr(*number * size);
  if (size == 1)
    return place;
  Value factor = recorder.create<arith::ConstantIndexOp>(size);
  return recorder.create<arith::MulIOp>(cast<Value>(place), factor);
}

/// Creates the view of part number `place` of `count` of `value`: [outer, rest]
/// in the place of the divided dimension if the part is in several blocks.
static Value createView(Recorder &recorder, Builder &builder, Value value,
                        ValueSplit split, OpFoldResult place, int64_t count) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t dim = split.dim;
  SmallVector<int64_t> shape(type.getShape());
  bool isPieces = split.outer != 1;
  int64_t rest = shape[dim] / split.outer / count;
  if (isPieces) {
    shape = replaceDim(shape, dim, {split.outer, count, rest});
    value = recorder.create<tensor::ExpandShapeOp>(
        type.clone(shape), value, getReassociation(type.getRank(), dim, 3));
  }
  int64_t cut = isPieces ? dim + 1 : dim;
  SmallVector<int64_t> sizes(shape), strides(shape.size(), 1);
  sizes[cut] /= count;
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  offsets[cut] = createOffset(recorder, builder, place, sizes[cut]);
  SmallVector<int64_t> sliced = isPieces ? replaceDim(sizes, cut, {}) : sizes;
  return recorder.create<tensor::ExtractSliceOp>(
      type.clone(sliced), value, offsets, getIndices(builder, sizes),
      getIndices(builder, strides));
}

CreatedValue mlir::commsched::createSlice(OpBuilder &builder, Location loc,
                                          Value value, ValueSplit split,
                                          OpFoldResult place, int64_t count,
                                          bool isCopied) {
  Recorder recorder(builder, loc);
  auto type = cast<RankedTensorType>(value.getType());
  value = createView(recorder, builder, value, split, place, count);
  auto view = cast<RankedTensorType>(value.getType());
  bool isPieces = split.outer != 1;
  if (isCopied) {
    Value empty = recorder.create<tensor::EmptyOp>(
        view.getShape(), type.getElementType(), type.getEncoding());
    value = recorder.create<linalg::CopyOp>(value, empty);
  }
  if (isPieces)
    recorder.create<tensor::CollapseShapeOp>(
        getChunkType(type, split.dim, count), value,
        getReassociation(type.getRank(), split.dim, 2));
  return recorder.take();
}

CreatedValue mlir::commsched::createDestination(OpBuilder &builder,
                                                Location loc, Value whole,
                                                ValueSplit split,
                                                OpFoldResult place,
                                                int64_t count) {
  Recorder recorder(builder, loc);
  createView(recorder, builder, whole, split, place, count);
  return recorder.take();
}

CreatedValue mlir::commsched::createConcat(OpBuilder &builder, Location loc,
                                           Type type, ValueRange chunks,
                                           ValueSplit split) {
  Recorder recorder(builder, loc);
  auto whole = cast<RankedTensorType>(type);
  auto count = static_cast<int64_t>(chunks.size());
  if (split.outer == 1) {
    Value joined = recorder.create<tensor::ConcatOp>(whole, split.dim, chunks);
    // The dimensions that are not divided have the sizes of the chunks.
    auto sized = cast<RankedTensorType>(getSizedType(chunks.front()));
    SmallVector<int64_t> hints;
    for (int64_t dim = 0; dim < whole.getRank(); ++dim)
      if (whole.isDynamicDim(dim) && !sized.isDynamicDim(dim))
        hints.push_back(sized.getDimSize(dim));
    if (!hints.empty())
      joined.getDefiningOp()->setDiscardableAttr(
          sizeHintsAttrName, builder.getDenseI64ArrayAttr(hints));
    return recorder.take();
  }
  int64_t rank = whole.getRank(), dim = split.dim;
  int64_t rest = whole.getDimSize(dim) / split.outer / count;
  SmallVector<ReassociationIndices> groups = getReassociation(rank, dim, 3);
  auto expanded =
      whole.clone(replaceDim(whole.getShape(), dim, {split.outer, 1, rest}));
  SmallVector<Value> parts;
  for (Value chunk : chunks)
    parts.push_back(
        recorder.create<tensor::ExpandShapeOp>(expanded, chunk, groups));
  Value joined = recorder.create<tensor::ConcatOp>(
      whole.clone(
          replaceDim(whole.getShape(), dim, {split.outer, count, rest})),
      dim + 1, parts);
  recorder.create<tensor::CollapseShapeOp>(whole, joined, groups);
  return recorder.take();
}

CreatedValue mlir::commsched::createInserts(OpBuilder &builder, Location loc,
                                            Type type, ValueRange chunks,
                                            ValueSplit split,
                                            ArrayRef<OpFoldResult> places) {
  Recorder recorder(builder, loc);
  auto whole = cast<RankedTensorType>(type);
  auto count = static_cast<int64_t>(chunks.size());
  int64_t rank = whole.getRank(), dim = split.dim;
  int64_t rest = whole.getDimSize(dim) / split.outer / count;
  bool isPieces = split.outer != 1;
  SmallVector<int64_t> shape(whole.getShape()), parts(shape);
  parts[dim] = rest;
  if (isPieces) {
    shape = replaceDim(shape, dim, {split.outer, count, rest});
    parts = replaceDim(parts, dim, {split.outer, 1, rest});
  }
  int64_t cut = isPieces ? dim + 1 : dim;
  Value joined = recorder.create<tensor::EmptyOp>(shape, whole.getElementType(),
                                                  whole.getEncoding());
  SmallVector<int64_t> strides(shape.size(), 1);
  for (auto [chunk, place] : llvm::zip_equal(chunks, places)) {
    Value part = chunk;
    if (isPieces)
      part = recorder.create<tensor::ExpandShapeOp>(
          whole.clone(parts), part, getReassociation(rank, dim, 3));
    SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
    offsets[cut] = createOffset(recorder, builder, place, rest);
    joined = recorder.create<tensor::InsertSliceOp>(
        part, joined, offsets, getIndices(builder, parts),
        getIndices(builder, strides));
  }
  if (isPieces)
    recorder.create<tensor::CollapseShapeOp>(whole, joined,
                                             getReassociation(rank, dim, 3));
  return recorder.take();
}

CreatedValue mlir::commsched::createJoin(OpBuilder &builder, Location loc,
                                         Value storage, ValueRange chunks) {
  SmallVector<Value> inputs = {storage};
  llvm::append_range(inputs, chunks);
  auto join = ComputeOp::create(
      builder, loc, TypeRange(storage.getType()), joinCallee, inputs,
      /*flops=*/{}, /*bytes=*/{}, /*alias=*/builder.getI64IntegerAttr(0),
      /*mutates=*/{}, /*random=*/false, /*split=*/{});
  return {join.getResult(0), {join}};
}

bool mlir::commsched::canAdd(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  return shaped && shaped.getElementType().isIntOrIndexOrFloat();
}

CreatedValue mlir::commsched::createSum(OpBuilder &builder, Location loc,
                                        ValueRange chunks) {
  Recorder recorder(builder, loc);
  auto type = cast<RankedTensorType>(chunks.front().getType());
  Value empty = recorder.create<tensor::EmptyOp>(
      type.getShape(), type.getElementType(), type.getEncoding());
  int64_t rank = type.getRank();
  SmallVector<AffineMap> maps(chunks.size() + 1,
                              builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  bool isFloat = isa<FloatType>(type.getElementType());
  recorder.create<linalg::GenericOp>(
      TypeRange(type), chunks, empty, maps, iterators,
      [&](OpBuilder &inner, Location innerLoc, ValueRange arguments) {
        Value sum = arguments.front();
        for (Value term : arguments.drop_front().drop_back())
          sum = isFloat
                    ? Value(arith::AddFOp::create(inner, innerLoc, sum, term))
                    : Value(arith::AddIOp::create(inner, innerLoc, sum, term));
        linalg::YieldOp::create(inner, innerLoc, sum);
      });
  return recorder.take();
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

RingPlaces mlir::commsched::createRingPlaces(OpBuilder &builder, Location loc,
                                             FlatSymbolRefAttr group,
                                             int64_t size) {
  RingPlaces result;
  auto record = [&](Operation *op) {
    result.operations.push_back(op);
    return op->getResult(0);
  };
  auto createConstant = [&](int64_t value) {
    return record(arith::ConstantIndexOp::create(builder, loc, value));
  };
  Value rank =
      record(RankOp::create(builder, loc, builder.getIndexType(), group));
  result.places.push_back(rank);
  Value modulus = createConstant(size);
  for (int64_t chunk = 1; chunk < size; ++chunk) {
    Value ahead = record(arith::AddIOp::create(builder, loc, rank,
                                               createConstant(size - chunk)));
    result.places.push_back(
        record(arith::RemUIOp::create(builder, loc, ahead, modulus)));
  }
  return result;
}

/// The pairs of a ring: each rank sends to the next one.
static SmallVector<int64_t> getPairs(int64_t size) {
  SmallVector<int64_t> pairs;
  for (int64_t rank = 0; rank < size; ++rank)
    pairs.append({rank, (rank + 1) % size});
  return pairs;
}

PermuteOp mlir::commsched::createRingStep(OpBuilder &builder, Location loc,
                                          Value value, FlatSymbolRefAttr group,
                                          int64_t size) {
  auto pairs = DenseIntElementsAttr::get(
      RankedTensorType::get({size, 2}, builder.getI64Type()), getPairs(size));
  return PermuteOp::create(
      builder, loc, FutureType::get(builder.getContext(), value.getType()),
      ValueRange(value), group, pairs, /*into=*/ValueRange());
}
