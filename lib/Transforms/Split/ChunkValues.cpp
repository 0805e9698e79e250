//===- ChunkValues.cpp - Slices and concatenations ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkValues.h"

#include "ChunkRings.h"
#include "CommSched/Dialect/Destinations.h"
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
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// The dimension along which a part is cut, and the ring in whose places the
/// parts are, if it is one.
struct Cut {
  int64_t dim;
  FlatSymbolRefAttr ring;
};
} // namespace

/// The dimension of `shape` that has `count` parts of which `slice`, a slice of
/// or into a tensor of that shape, has chunk `index`; none if it does anything
/// else.
static std::optional<Cut> getCut(OffsetSizeAndStrideOpInterface slice,
                                 ArrayRef<int64_t> shape, int64_t index,
                                 int64_t count) {
  if (ShapedType::isDynamicShape(slice.getStaticSizes()))
    return std::nullopt;
  std::optional<Cut> cut;
  for (auto [dim, offset, size, stride] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getStaticSizes(),
                       slice.getStaticStrides())) {
    if (stride != 1)
      return std::nullopt;
    std::optional<int64_t> number = getConstantIntValue(offset);
    if (number == 0 && size == shape[dim])
      continue;
    FlatSymbolRefAttr ring;
    if (auto value = dyn_cast<Value>(offset); value && !number)
      ring = recognizeRingOffset(value, size, index, count);
    if (cut || size * count != shape[dim] || (!ring && number != index * size))
      return std::nullopt;
    cut = Cut{static_cast<int64_t>(dim), ring};
  }
  return cut;
}

static std::optional<Cut> getCut(tensor::ExtractSliceOp slice, int64_t index,
                                 int64_t count) {
  return getCut(slice, slice.getSourceType().getShape(), index, count);
}

/// The one dimension of `groups` that is made of `parts`, and no other of more
/// than one; none otherwise.
static std::optional<int64_t>
getExpandedDim(ArrayRef<ReassociationIndices> groups, size_t parts) {
  std::optional<int64_t> found;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    if (group.size() == 1)
      continue;
    if (found || group.size() != parts)
      return std::nullopt;
    found = dim;
  }
  return found;
}

std::optional<RecognizedSlice>
mlir::commsched::recognizeSlice(Value chunk, int64_t index, int64_t count) {
  std::optional<int64_t> collapsed;
  if (auto collapse = chunk.getDefiningOp<tensor::CollapseShapeOp>()) {
    collapsed = getExpandedDim(collapse.getReassociationIndices(), 2);
    if (!collapsed)
      return std::nullopt;
    chunk = collapse.getSrc();
  }
  if (auto copy = chunk.getDefiningOp<linalg::CopyOp>())
    chunk = copy.getInputs().front();
  auto slice = chunk.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice)
    return std::nullopt;
  std::optional<Cut> cut = getCut(slice, index, count);
  if (!cut)
    return std::nullopt;
  if (!collapsed)
    return RecognizedSlice{slice.getSource(), ValueSplit{cut->dim, 1},
                           cut->ring};
  auto expand = slice.getSource().getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand ||
      getExpandedDim(expand.getReassociationIndices(), 3) != collapsed ||
      cut->dim != *collapsed + 1)
    return std::nullopt;
  int64_t outer = expand.getResultType().getDimSize(*collapsed);
  return RecognizedSlice{expand.getSrc(), ValueSplit{*collapsed, outer},
                         cut->ring};
}

std::optional<RecognizedSlice>
mlir::commsched::recognizeDestination(Value destination, int64_t index,
                                      int64_t count) {
  auto slice = destination.getDefiningOp<tensor::ExtractSliceOp>();
  std::optional<Cut> cut = slice ? getCut(slice, index, count) : std::nullopt;
  if (!cut)
    return std::nullopt;
  if (slice.getSourceType().getRank() == slice.getType().getRank())
    return RecognizedSlice{slice.getSource(), ValueSplit{cut->dim, 1},
                           cut->ring};
  auto expand = slice.getSource().getDefiningOp<tensor::ExpandShapeOp>();
  int64_t dim = cut->dim - 1;
  if (!expand || getExpandedDim(expand.getReassociationIndices(), 3) != dim)
    return std::nullopt;
  int64_t outer = expand.getResultType().getDimSize(dim);
  return RecognizedSlice{expand.getSrc(), ValueSplit{dim, outer}, cut->ring};
}

/// The value that `join` gives of `chunks`, if each is written into its part of
/// the same value; none if it is anything else.
static std::optional<JoinedValue> recognizeJoin(ComputeOp join,
                                                ValueRange chunks) {
  if (join.getCallee() != joinCallee || join.getAlias() != 0 ||
      !llvm::equal(join.getInputs().drop_front(), chunks))
    return std::nullopt;
  JoinedValue joined{join.getResult(0), std::nullopt, {join}, {}};
  for (auto [index, chunk] : llvm::enumerate(chunks)) {
    Operation *writer = chunk.getDefiningOp();
    if (!writer || !writesDestination(writer))
      return std::nullopt;
    std::optional<RecognizedSlice> part =
        recognizeDestination(writer->getOperands().back(),
                             static_cast<int64_t>(index), chunks.size());
    if (!part || part->source != join.getInputs().front() ||
        (joined.split &&
         (*joined.split != part->split || joined.ring != part->ring)))
      return std::nullopt;
    joined.split = part->split;
    joined.ring = part->ring;
  }
  return joined;
}

/// What `concat` puts together of `chunks`, with pieces of `expanded` if these
/// are views of the chunks; none if it does anything else.
static std::optional<JoinedValue> recognizeConcat(tensor::ConcatOp concat,
                                                  ValueRange chunks) {
  JoinedValue joined{concat.getResult(), ValueSplit{}, {}, {}};
  auto dim = static_cast<int64_t>(concat.getDim());
  if (llvm::equal(concat.getInputs(), chunks)) {
    joined.split = ValueSplit{dim, 1};
    joined.readers.push_back(concat);
    return joined;
  }
  if (concat.getInputs().size() != chunks.size() || !concat->hasOneUse())
    return std::nullopt;
  auto collapse =
      dyn_cast<tensor::CollapseShapeOp>(*concat->getUsers().begin());
  if (!collapse ||
      getExpandedDim(collapse.getReassociationIndices(), 3) != dim - 1)
    return std::nullopt;
  joined.value = collapse.getResult();
  joined.split =
      ValueSplit{dim - 1, concat.getResultType().getDimSize(dim - 1)};
  for (auto [input, chunk] : llvm::zip(concat.getInputs(), chunks)) {
    auto expand = input.getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand || expand.getSrc() != chunk || !expand->hasOneUse() ||
        expand.getReassociationIndices() != collapse.getReassociationIndices())
      return std::nullopt;
    joined.readers.push_back(expand);
  }
  return joined;
}

/// What a sequence of insertions, the first of which is `first`, puts together
/// of `chunks`; none if it does anything else.
static std::optional<JoinedValue> recognizeInserts(tensor::InsertSliceOp first,
                                                   ValueRange chunks) {
  auto count = static_cast<int64_t>(chunks.size());
  JoinedValue joined{first.getDest(), ValueSplit{}, {}, {}};
  ArrayRef<int64_t> shape = first.getType().getShape();
  int64_t cut = -1;
  bool isPieces = false;
  for (auto [index, chunk] : llvm::enumerate(chunks)) {
    auto insert =
        index == 0
            ? first
            : dyn_cast<tensor::InsertSliceOp>(*joined.value.getUsers().begin());
    std::optional<Cut> part =
        insert ? getCut(insert, shape, static_cast<int64_t>(index), count)
               : std::nullopt;
    bool isLast = static_cast<int64_t>(index) + 1 == count;
    if (!part || insert.getDest() != joined.value ||
        (!isLast && !insert->hasOneUse()) || !part->ring)
      return std::nullopt;
    auto expand = insert.getSource().getDefiningOp<tensor::ExpandShapeOp>();
    bool isExpanded =
        expand && expand.getSrc() == chunk && expand->hasOneUse() &&
        getExpandedDim(expand.getReassociationIndices(), 3) == part->dim - 1;
    if (!isExpanded && insert.getSource() != chunk)
      return std::nullopt;
    if (index != 0 && (part->dim != cut || part->ring != joined.ring ||
                       isExpanded != isPieces))
      return std::nullopt;
    cut = part->dim;
    isPieces = isExpanded;
    joined.ring = part->ring;
    joined.readers.push_back(isExpanded ? expand.getOperation()
                                        : insert.getOperation());
    joined.value = insert.getResult();
  }
  joined.split = ValueSplit{cut, 1};
  if (!isPieces)
    return joined;
  auto collapse =
      joined.value.hasOneUse()
          ? dyn_cast<tensor::CollapseShapeOp>(*joined.value.getUsers().begin())
          : tensor::CollapseShapeOp();
  if (!collapse ||
      getExpandedDim(collapse.getReassociationIndices(), 3) != cut - 1)
    return std::nullopt;
  joined.value = collapse.getResult();
  joined.split = ValueSplit{cut - 1, shape[cut - 1]};
  return joined;
}

/// Whether `generic` adds up `chunks` in their order, and nothing else.
static bool isSumOf(linalg::GenericOp generic, ValueRange chunks) {
  if (!llvm::equal(generic.getInputs(), chunks) ||
      generic.getNumResults() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block &body = *generic.getBody();
  Value sum = body.getArgument(0);
  unsigned next = 1;
  for (Operation &op : body.without_terminator()) {
    if (!isa<arith::AddFOp, arith::AddIOp>(op) || next >= chunks.size() ||
        op.getOperand(0) != sum || op.getOperand(1) != body.getArgument(next))
      return false;
    sum = op.getResult(0);
    ++next;
  }
  return next == chunks.size() && body.getTerminator()->getOperand(0) == sum;
}

SmallVector<JoinedValue> mlir::commsched::findJoined(ValueRange chunks) {
  SmallVector<JoinedValue> found;
  for (Operation *user : chunks.front().getUsers()) {
    Operation *reader = user;
    if (isa<tensor::ExpandShapeOp>(reader) && reader->hasOneUse())
      reader = *reader->getUsers().begin();
    if (auto concat = dyn_cast<tensor::ConcatOp>(reader)) {
      if (std::optional<JoinedValue> joined = recognizeConcat(concat, chunks))
        found.push_back(*joined);
    } else if (auto generic = dyn_cast<linalg::GenericOp>(reader);
               generic && isSumOf(generic, chunks)) {
      found.push_back({generic.getResult(0), std::nullopt, {generic}, {}});
    } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(reader)) {
      if (std::optional<JoinedValue> joined = recognizeInserts(insert, chunks))
        found.push_back(*joined);
    } else if (auto join = dyn_cast<ComputeOp>(reader)) {
      if (std::optional<JoinedValue> joined = recognizeJoin(join, chunks))
        found.push_back(*joined);
    }
  }
  return found;
}
