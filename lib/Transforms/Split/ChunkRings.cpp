//===- ChunkRings.cpp - Chunks that go around a ring ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkRings.h"

#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/ChunkAttribute.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/SplitRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::commsched;

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

/// The group of the ring whose chunk `index` of `count` is part number `place`.
static FlatSymbolRefAttr recognizePlace(Value place, int64_t index,
                                        int64_t count) {
  if (index != 0) {
    auto remainder = place.getDefiningOp<arith::RemUIOp>();
    if (!remainder || getConstantIntValue(remainder.getRhs()) != count)
      return {};
    auto sum = remainder.getLhs().getDefiningOp<arith::AddIOp>();
    if (!sum || getConstantIntValue(sum.getRhs()) != count - index)
      return {};
    place = sum.getLhs();
  }
  auto rank = place.getDefiningOp<RankOp>();
  return rank ? rank.getGroupAttr() : FlatSymbolRefAttr();
}

FlatSymbolRefAttr mlir::commsched::recognizeRingOffset(Value offset,
                                                       int64_t size,
                                                       int64_t index,
                                                       int64_t count) {
  if (size != 1) {
    auto product = offset.getDefiningOp<arith::MulIOp>();
    if (!product || getConstantIntValue(product.getRhs()) != size)
      return {};
    offset = product.getLhs();
  }
  return recognizePlace(offset, index, count);
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

static bool isRingStep(PermuteOp permute, int64_t size) {
  std::optional<ChunkInfo> info = getChunkInfo(permute);
  return info && info->part == ChunkPart::Ring &&
         permute.getInputs().size() == 1 && permute.getInto().empty() &&
         llvm::equal(permute.getPairs().getValues<int64_t>(), getPairs(size));
}

FailureOr<SmallVector<PermuteOp>>
mlir::commsched::findRingSteps(ArrayRef<Operation *> chunks) {
  auto local = dyn_cast<tensor::ExtractSliceOp>(chunks.front());
  if (!local || local.getType() != local.getSourceType())
    return failure();
  SmallVector<PermuteOp> steps;
  for (size_t index = 1; index < chunks.size(); ++index) {
    auto wait = dyn_cast<WaitOp>(chunks[index]);
    auto step =
        wait ? wait.getFuture().getDefiningOp<PermuteOp>() : PermuteOp();
    if (!step || !isRingStep(step, static_cast<int64_t>(chunks.size())) ||
        step.getInputs().front() != chunks[index - 1]->getResult(0) ||
        (index > 1 && step.getGroup() != steps.front().getGroup()))
      return failure();
    steps.push_back(step);
  }
  return steps;
}

/// The only type of `original`; null if there is none.
static Type getOnlyType(DictionaryAttr original) {
  auto types = original ? original.getAs<ArrayAttr>("types") : ArrayAttr();
  auto type =
      types && types.size() == 1 ? dyn_cast<TypeAttr>(types[0]) : TypeAttr();
  return type ? type.getValue() : Type();
}

/// Whether a gather of `shard` along `dim` of `size` ranks gives `whole`.
static bool isGatherOf(RankedTensorType shard, Type type, int64_t dim,
                       int64_t size) {
  auto whole = dyn_cast_if_present<RankedTensorType>(type);
  return whole && dim >= 0 && dim < shard.getRank() &&
         whole.getRank() == shard.getRank() &&
         whole.getDimSize(dim) % size == 0 &&
         getChunkType(whole, dim, size) == shard;
}

/// Gives `op` the attributes of `chunk`, whose number is `index`, without what
/// says that it is a chunk.
static void restoreAttributes(Operation *op, Operation *chunk, int64_t index) {
  op->setDiscardableAttrs(chunk->getDiscardableAttrDictionary().getValue());
  op->removeAttr(chunkAttrName);
  op->removeAttr(originAttrName);
  op->removeAttr(runtimeNsAttrName);
  op->removeAttr(measuredNsAttrName);
  StringRef name = getStableName(chunk);
  if (name.consume_back(".chunk" + std::to_string(index)))
    op->setAttr(nameAttrName, StringAttr::get(op->getContext(), name));
}

FailureOr<GatherOfRing>
mlir::commsched::createGatherOfRing(ArrayRef<Operation *> chunks,
                                    ArrayRef<PermuteOp> steps, Operation *last,
                                    Value shard) {
  DictionaryAttr original = getChunkInfo(steps.front())->original;
  Type whole = getOnlyType(getChunkInfo(chunks.front())->original);
  auto future = dyn_cast_if_present<FutureType>(getOnlyType(original));
  auto properties = original ? original.getAs<DictionaryAttr>("properties")
                             : DictionaryAttr();
  auto dim = properties ? properties.getAs<IntegerAttr>("dim") : IntegerAttr();
  if (!future || !dim || future.getTypes() != ArrayRef<Type>(whole) ||
      !isGatherOf(cast<RankedTensorType>(shard.getType()), whole, dim.getInt(),
                  static_cast<int64_t>(chunks.size())))
    return failure();
  PermuteOp first = steps.front();
  OpBuilder builder(steps.back());
  auto gather =
      AllGatherOp::create(builder, first.getLoc(), future, ValueRange(shard),
                          first.getGroupAttr(), dim, /*into=*/ValueRange());
  restoreAttributes(gather, first, /*index=*/1);
  if (auto pinned = original.getAs<IntegerAttr>("runtime_ns"))
    gather->setAttr(runtimeNsAttrName, pinned);
  builder.setInsertionPoint(last);
  Operation *wait = createWithTypes(builder, chunks.back(), gather.getFuture(),
                                    TypeRange(whole));
  restoreAttributes(wait, chunks.front(), /*index=*/0);
  return GatherOfRing{gather, wait};
}
