//===- Halo.cpp - Conversion of halo exchanges ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

namespace {

/// The halos of one dimension of the tensor: `low` elements in front of the
/// device's own, `high` behind them. Without devices to exchange them with,
/// both are 0.
struct Halo {
  int64_t low = 0;
  int64_t high = 0;
  DeviceGroup group;
};

/// A block of the tensor.
struct Block {
  SmallVector<int64_t> offsets;
  SmallVector<int64_t> sizes;
};

/// Builds the exchanges of one operation.
class HaloExchange {
public:
  HaloExchange(shard::UpdateHaloOp op, Context &context)
      : op(op), context(context) {}

  /// Reads the halo of every dimension, with an error where they do not fit.
  LogicalResult readHalos();
  Value build();

private:
  LogicalResult verifyFits(int64_t dim, const Halo &halo);
  /// Sends `sent` one device on (`up`) or back, and writes what arrives over
  /// the block of equal size at `offset` along `dim`.
  Value shiftBlock(Value tensor, const Block &sent, int64_t dim, int64_t offset,
                   const DeviceGroup &group, bool up);
  Value extract(Value tensor, const Block &block);

  RankedTensorType getType() {
    return cast<RankedTensorType>(op.getResult().getType());
  }

  shard::UpdateHaloOp op;
  Context &context;
  SmallVector<Halo> halos;
};

} // namespace

LogicalResult HaloExchange::verifyFits(int64_t dim, const Halo &halo) {
  int64_t size = getType().getDimSize(dim);
  if (halo.low < 0 || halo.high < 0)
    return op.emitOpError("has a negative halo in dimension ") << dim;
  // Each halo alone first: their sum might overflow.
  if (halo.low > size || halo.high > size || halo.low + halo.high > size)
    return op.emitOpError("has halos of ")
           << halo.low << " and " << halo.high << " elements in dimension "
           << dim << " of size " << size;
  int64_t own = size - halo.low - halo.high;
  if (std::max(halo.low, halo.high) > own)
    return op.emitOpError("has a halo of ")
           << std::max(halo.low, halo.high) << " elements in dimension " << dim
           << ", but a neighbour has only " << own << " of its own to send";
  return success();
}

LogicalResult HaloExchange::readHalos() {
  ArrayRef<int64_t> sizes = op.getStaticHaloSizes();
  auto splitAxes = op.getSplitAxes().getAxes();
  if (static_cast<int64_t>(splitAxes.size()) > getType().getRank())
    return op.emitOpError("has split_axes for ")
           << splitAxes.size() << " dimensions of " << getType();
  if (!op.getHaloSizes().empty())
    return op.emitOpError("cannot be converted: a halo size is known at run "
                          "time only, and must be constant");
  size_t split = llvm::count_if(
      splitAxes, [](DenseI16ArrayAttr axes) { return !axes.empty(); });
  if (sizes.size() != 2 * split)
    return op.emitOpError("has ") << sizes.size() << " halo sizes for " << split
                                  << " split dimensions, which have two each";
  halos.resize(getType().getRank());
  for (auto [dim, axes] : llvm::enumerate(splitAxes)) {
    if (axes.empty())
      continue;
    FailureOr<DeviceGroup> group =
        context.groups.lookup(op, op.getGridAttr(), axes);
    if (failed(group))
      return failure();
    halos[dim] = {sizes[0], sizes[1], *group};
    sizes = sizes.drop_front(2);
    if (failed(verifyFits(dim, halos[dim])))
      return failure();
  }
  return success();
}

Value HaloExchange::extract(Value tensor, const Block &block) {
  IRRewriter &rewriter = context.rewriter;
  return tensor::ExtractSliceOp::create(
      rewriter, op.getLoc(), tensor,
      getAsIndexOpFoldResult(rewriter.getContext(), block.offsets),
      getAsIndexOpFoldResult(rewriter.getContext(), block.sizes),
      SmallVector<OpFoldResult>(block.offsets.size(),
                                rewriter.getIndexAttr(1)));
}

Value HaloExchange::shiftBlock(Value tensor, const Block &sent, int64_t dim,
                               int64_t offset, const DeviceGroup &group,
                               bool up) {
  IRRewriter &rewriter = context.rewriter;
  Location location = op.getLoc();
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t rank = 1; rank < group.size; ++rank)
    pairs.push_back(up ? std::pair(rank - 1, rank) : std::pair(rank, rank - 1));
  StringRef symbol = context.groups.getSymbol(group);
  Value input = extract(tensor, sent);
  auto start = PermuteOp::create(
      rewriter, location, getFutureOf(input.getType()), input, symbol,
      getPairsAttr(op.getContext(), pairs), /*into=*/ValueRange());
  Value received =
      WaitOp::create(rewriter, location, start.getFuture()).getResult(0);

  // The device at the border has no neighbour there and keeps what it has; the
  // permute has delivered zeros.
  Block target = sent;
  target.offsets[dim] = offset;
  Value rank = rt::RankOp::create(rewriter, location, symbol);
  Value border = arith::ConstantIndexOp::create(rewriter, location,
                                                up ? 0 : group.size - 1);
  Value atBorder = arith::CmpIOp::create(
      rewriter, location, arith::CmpIPredicate::eq, rank, border);
  Value halo = arith::SelectOp::create(rewriter, location, atBorder,
                                       extract(tensor, target), received);
  return tensor::InsertSliceOp::create(
      rewriter, location, halo, tensor,
      getAsIndexOpFoldResult(rewriter.getContext(), target.offsets),
      getAsIndexOpFoldResult(rewriter.getContext(), target.sizes),
      SmallVector<OpFoldResult>(target.offsets.size(),
                                rewriter.getIndexAttr(1)));
}

/// From the last dimension to the first: what is sent along a dimension spans
/// the halos of later ones, which are up to date by then, and not those of
/// earlier ones. So the corners arrive too, through two neighbours.
Value HaloExchange::build() {
  Value tensor = op.getDestination();
  ArrayRef<int64_t> shape = getType().getShape();
  Block block;
  for (auto [size, halo] : llvm::zip_equal(shape, halos)) {
    block.offsets.push_back(halo.low);
    block.sizes.push_back(size - halo.low - halo.high);
  }
  for (int64_t dim = getType().getRank() - 1; dim >= 0; --dim) {
    const Halo &halo = halos[dim];
    int64_t end = shape[dim] - halo.high;
    bool hasNeighbours = halo.low + halo.high > 0 && halo.group.size > 1;
    if (hasNeighbours && halo.low > 0) {
      block.offsets[dim] = end - halo.low;
      block.sizes[dim] = halo.low;
      tensor = shiftBlock(tensor, block, dim, 0, halo.group, /*up=*/true);
    }
    if (hasNeighbours && halo.high > 0) {
      block.offsets[dim] = halo.low;
      block.sizes[dim] = halo.high;
      tensor = shiftBlock(tensor, block, dim, end, halo.group, /*up=*/false);
    }
    block.offsets[dim] = 0;
    block.sizes[dim] = shape[dim];
  }
  return tensor;
}

LogicalResult mlir::commsched::shardconversion::convert(shard::UpdateHaloOp op,
                                                        Context &context) {
  if (failed(verifyStaticTensors(op)))
    return failure();
  HaloExchange exchange(op, context);
  if (failed(exchange.readHalos()))
    return failure();
  return replace(op, exchange.build(), context);
}
