//===- ChunkCosts.cpp - Costs of chunks -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/ChunkCosts.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::commsched;

using cost::ProductShape;

std::optional<ChunkAxis> mlir::commsched::getChunkAxis(Operation *op) {
  std::optional<ChunkInfo> info = getChunkInfo(op);
  if (!info || !info->axis)
    return std::nullopt;
  return ChunkAxis{*info->axis, info->count};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether operand `operand` has `axis`.
static bool hasAxis(const SplitAxis &axis, unsigned operand) {
  return llvm::any_of(axis.operands, [&](const AxisPlace &place) {
    return place.value == operand;
  });
}

/// The operands that are multiplied: those that all sums have. None if there
/// are not two of them.
static std::optional<std::pair<unsigned, unsigned>>
findFactors(const SplitRule &rule) {
  std::optional<std::pair<unsigned, unsigned>> factors;
  for (const SplitAxis &axis :
       llvm::concat<const SplitAxis>(rule.axes, rule.wholeSums)) {
    if (axis.kind != SplitAxisKind::Sum)
      continue;
    if (axis.operands.size() != 2)
      return std::nullopt;
    std::pair<unsigned, unsigned> found(axis.operands[0].value,
                                        axis.operands[1].value);
    if (factors && *factors != found)
      return std::nullopt;
    factors = found;
  }
  return factors;
}

/// The size that `axis` belongs to; null for one that is of no factor.
static int64_t *findSize(ProductShape &shape, const SplitAxis &axis,
                         std::pair<unsigned, unsigned> factors) {
  if (axis.kind == SplitAxisKind::Sum)
    return &shape.k;
  bool isOfFirst = hasAxis(axis, factors.first);
  bool isOfSecond = hasAxis(axis, factors.second);
  if (isOfFirst && isOfSecond)
    return &shape.batch;
  if (isOfFirst)
    return &shape.m;
  return isOfSecond ? &shape.n : nullptr;
}

/// The bytes of operands and results of the whole; none where they are not
/// known, or do not fit in 64 bits.
static std::optional<int64_t>
getWholeBytes(Operation *op, const SplitAxis *axis, int64_t count) {
  int64_t total = 0;
  SmallVector<Type> operands = getSizedTypes(op->getOperands());
  if (writesDestination(op))
    operands.pop_back();
  auto add = [&](TypeRange types, ArrayRef<AxisPlace> places) {
    for (auto [index, type] : llvm::enumerate(types)) {
      bool isDivided = llvm::any_of(
          places, [&](const AxisPlace &place) { return place.value == index; });
      std::optional<int64_t> bytes = getStaticBytes(type);
      int64_t ofWhole = 0;
      if (!bytes || llvm::MulOverflow(*bytes, isDivided ? count : 1, ofWhole) ||
          llvm::AddOverflow(total, ofWhole, total))
        return false;
    }
    return true;
  };
  ArrayRef<AxisPlace> none;
  if (!add(operands, axis ? ArrayRef<AxisPlace>(axis->operands) : none) ||
      !add(getSizedTypes(op->getResults()),
           axis ? ArrayRef<AxisPlace>(axis->results) : none))
    return std::nullopt;
  return total;
}

std::optional<ProductChunk> mlir::commsched::getProductChunk(Operation *op,
                                                             ChunkAxis axis) {
  auto split = dyn_cast<SplitOpInterface>(op);
  if (!split)
    return std::nullopt;
  SplitRule rule = split.getSplitRule();
  std::optional<std::pair<unsigned, unsigned>> factors = findFactors(rule);
  if (!factors || axis.axis >= static_cast<int64_t>(rule.axes.size()))
    return std::nullopt;
  ProductChunk result;
  for (const SplitAxis &other :
       llvm::concat<const SplitAxis>(rule.axes, rule.wholeSums)) {
    int64_t *size = findSize(result.chunk, other, *factors);
    if (!size || other.size < 1)
      return std::nullopt;
    *size = saturatingMultiply(*size, other.size);
  }
  result.whole = result.chunk;
  const SplitAxis *divided = axis.axis < 0 ? nullptr : &rule.axes[axis.axis];
  if (divided) {
    int64_t *size = findSize(result.whole, *divided, *factors);
    *size = saturatingMultiply(*size, axis.count);
  }
  // Without rows or columns it is no product: a sum of an elementwise one, or
  // the product with a vector, which has no tiles.
  if (result.whole.m == 1 || result.whole.n == 1)
    return std::nullopt;
  std::optional<int64_t> bytes = getWholeBytes(op, divided, axis.count);
  if (!bytes)
    return std::nullopt;
  result.wholeBytes = *bytes;
  return result;
}

std::optional<ProductChunk>
mlir::commsched::divideProduct(Operation *whole, const SplitAxis &axis,
                               int64_t count) {
  std::optional<ProductChunk> product =
      getProductChunk(whole, ChunkAxis{/*axis=*/-1, /*count=*/1});
  if (!product)
    return std::nullopt;
  auto factors = findFactors(cast<SplitOpInterface>(whole).getSplitRule());
  if (int64_t *size = findSize(product->chunk, axis, *factors))
    *size = std::max<int64_t>(*size / count, 1);
  return product;
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

int64_t mlir::commsched::scalePinnedNs(int64_t wholeNs, int64_t chunkEstimateNs,
                                       int64_t wholeEstimateNs, int64_t count) {
  if (wholeEstimateNs <= 0)
    return llvm::divideCeil(wholeNs, count);
  double scaled = static_cast<double>(wholeNs) *
                  static_cast<double>(chunkEstimateNs) /
                  static_cast<double>(wholeEstimateNs);
  return cost::roundToNs(std::ceil(scaled));
}

/// The index of `axis` in the rule of `whole`; none if it has no such axis.
static std::optional<int64_t> findIndex(SplitOpInterface whole,
                                        const SplitAxis &axis) {
  auto isSame = [](ArrayRef<AxisPlace> a, ArrayRef<AxisPlace> b) {
    return llvm::equal(a, b, [](const AxisPlace &one, const AxisPlace &other) {
      return one.value == other.value && one.dim == other.dim &&
             one.outer == other.outer;
    });
  };
  for (auto [index, other] : llvm::enumerate(whole.getSplitRule().axes))
    if (other.size == axis.size && other.kind == axis.kind &&
        isSame(other.operands, axis.operands) &&
        isSame(other.results, axis.results))
      return index;
  return std::nullopt;
}

/// Without a place in the operand, the chunks are steps of a ring.
static std::optional<int64_t>
estimateCollectiveChunkNs(OperationCosts &costs, CollectiveOpInterface whole,
                          const SplitAxis &axis, int64_t count) {
  std::optional<cost::CollectiveQuery> query = costs.getQuery(whole);
  if (!query)
    return std::nullopt;
  query->bytes /= count;
  if (axis.operands.empty())
    query->kind = CollectiveKind::Permute;
  return costs.estimateCollective(*query).timeNs;
}

/// The estimate for a chunk, which is created outside of the IR and dropped.
static std::optional<int64_t>
estimateCreatedChunkNs(OperationCosts &costs, SplitOpInterface whole,
                       const SplitAxis &axis, int64_t index, int64_t count) {
  Operation *op = whole;
  Block scratch;
  // An argument of a block without a function has no size hints.
  SmallVector<Type> operands = getSizedTypes(op->getOperands());
  for (const AxisPlace &place : axis.operands)
    operands[place.value] =
        getChunkType(operands[place.value], place.dim, count);
  scratch.addArguments(operands,
                       SmallVector<Location>(operands.size(), op->getLoc()));
  // atBlockEnd() asks the block for its region, which this one has not.
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  Operation *chunk =
      whole.createChunk(builder, scratch.getArguments(),
                        getChunkResultTypes(op, axis, count), axis, count);
  ChunkInfo info;
  info.of = builder.getStringAttr("");
  info.count = count;
  info.index = 0;
  info.axis = index;
  info.blocks = 1;
  setChunkInfo(chunk, info);
  return costs.estimateNs(chunk);
}

std::optional<int64_t> mlir::commsched::estimateChunkNs(OperationCosts &costs,
                                                        Operation *whole,
                                                        const SplitAxis &axis,
                                                        int64_t count) {
  if (isa<WaitOpInterface>(whole))
    return 0;
  auto collective = dyn_cast<CollectiveOpInterface>(whole);
  bool isRing = collective && axis.operands.empty();
  auto split = dyn_cast<SplitOpInterface>(whole);
  std::optional<int64_t> index =
      split ? findIndex(split, axis) : std::optional<int64_t>();
  if (!index && !isRing)
    return std::nullopt;
  std::optional<int64_t> estimate =
      collective ? estimateCollectiveChunkNs(costs, collective, axis, count)
                 : estimateCreatedChunkNs(costs, split, axis, *index, count);
  std::optional<int64_t> known = costs.findKnownNs(whole);
  if (!estimate || !known)
    return estimate;
  return scalePinnedNs(*known, *estimate, costs.estimateNs(whole).value_or(0),
                       count);
}

int64_t mlir::commsched::getLeastNsInChunks(OperationCosts &costs,
                                            Operation *whole, int64_t wholeNs,
                                            int64_t mostChunks) {
  auto own = dyn_cast<CostOpInterface>(whole);
  // Nothing is known of the times that chunks will have by themselves.
  if (own && own.getKnownRuntimeNs())
    return 0;
  // A launch makes up for what a chunk gains by rounding to nanoseconds.
  constexpr double leastLaunchNs = 2;
  bool isRounded = costs.getTarget().kernelLaunchNs < leastLaunchNs;
  if (costs.getProducts().empty() && !isRounded)
    return wholeNs;
  std::optional<int64_t> estimate = costs.estimateNs(whole);
  if (!estimate || *estimate <= 0)
    return wholeNs;
  auto least = static_cast<double>(*estimate);
  // Chunks have the times that were measured of products of their size.
  std::optional<ProductChunk> product =
      own ? getProductChunk(whole, ChunkAxis{/*axis=*/-1, /*count=*/1})
          : std::nullopt;
  std::optional<double> nsPerMultiplication =
      product ? costs.getProducts().getLeastNsPerMultiplication(
                    getElementKind(own.getComputeType()))
              : std::nullopt;
  if (nsPerMultiplication) {
    isRounded = true;
    least = std::min(least, *nsPerMultiplication *
                                cost::countMultiplications(product->whole));
  }
  if (isRounded)
    least = std::max(least - static_cast<double>(mostChunks), 0.0);
  return static_cast<int64_t>(static_cast<double>(wholeNs) * least /
                              static_cast<double>(*estimate));
}

//===----------------------------------------------------------------------===//
// Slices, concatenations and sums
//===----------------------------------------------------------------------===//

/// The time of a kernel that reads `read` times and writes once as many bytes
/// as a tensor of this type has.
static std::optional<int64_t> estimatePassesNs(const OperationCosts &costs,
                                               Type type, int64_t read,
                                               double flops) {
  std::optional<int64_t> bytes = getStaticBytes(type);
  int64_t moved;
  if (!bytes || llvm::MulOverflow(*bytes, read + 1, moved))
    return std::nullopt;
  return cost::computeTimeNs(costs.getTarget(), flops,
                             getElementKind(getElementTypeOrSelf(type)), moved);
}

std::optional<int64_t>
mlir::commsched::estimateCopyNs(const OperationCosts &costs, Type type) {
  return estimatePassesNs(costs, type, /*read=*/1, /*flops=*/0);
}

std::optional<int64_t>
mlir::commsched::estimateSumNs(const OperationCosts &costs, Type whole,
                               int64_t count) {
  auto shaped = dyn_cast<ShapedType>(whole);
  if (!shaped || !shaped.hasStaticShape())
    return std::nullopt;
  double flops = static_cast<double>(count - 1) *
                 static_cast<double>(shaped.getNumElements());
  return estimatePassesNs(costs, whole, /*read=*/count, flops);
}
