//===- Indices.cpp - Conversion of slices and indices of devices ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

static Value createConstant(Location location, int64_t value,
                            OpBuilder &builder) {
  return arith::ConstantIndexOp::create(builder, location, value);
}

static Value createRank(Location location, const DeviceGroup &group,
                        Context &context) {
  return rt::RankOp::create(context.rewriter, location,
                            context.groups.getSymbol(group));
}

LogicalResult mlir::commsched::shardconversion::convert(shard::AllSliceOp op,
                                                        Context &context) {
  if (context.group.size == 1)
    return replace(op, op.getInput(), context);
  int64_t dim = op.getSliceAxis().getSExtValue();
  int64_t size = op.getType().getDimSize(dim);
  Value rank = createRank(op.getLoc(), context.group, context);
  Value offset = arith::MulIOp::create(
      context.rewriter, op.getLoc(), rank,
      createConstant(op.getLoc(), size, context.rewriter));
  return replace(
      op, extractPart(op.getLoc(), op.getInput(), dim, offset, size, context),
      context);
}

/// The axes that `listed` stands for: without any, all of the grid's.
static FailureOr<DeviceGroup> lookupListed(Operation *op,
                                           FlatSymbolRefAttr grid,
                                           ArrayRef<shard::GridAxis> listed,
                                           Context &context) {
  if (listed.empty())
    return context.groups.lookupAll(op, grid);
  return context.groups.lookup(op, grid, listed);
}

LogicalResult mlir::commsched::shardconversion::convert(shard::GridShapeOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group =
      lookupListed(op, op.getGridAttr(), op.getAxes(), context);
  if (failed(group))
    return failure();
  SmallVector<Value> sizes;
  for (int64_t size : group->shape)
    sizes.push_back(createConstant(op.getLoc(), size, context.rewriter));
  context.rewriter.replaceOp(op, sizes);
  return success();
}

/// From the place in the group along these axes, the last of which varies
/// fastest.
LogicalResult
mlir::commsched::shardconversion::convert(shard::ProcessMultiIndexOp op,
                                          Context &context) {
  FailureOr<DeviceGroup> group =
      lookupListed(op, op.getGridAttr(), op.getAxes(), context);
  if (failed(group))
    return failure();
  IRRewriter &rewriter = context.rewriter;
  Location location = op.getLoc();
  Value rank = createRank(location, *group, context);
  SmallVector<Value> index;
  for (auto [position, size] : llvm::enumerate(group->shape)) {
    Value coordinate = rank;
    if (int64_t weight = group->getWeight(position); weight > 1)
      coordinate =
          arith::DivUIOp::create(rewriter, location, coordinate,
                                 createConstant(location, weight, rewriter));
    if (position > 0)
      coordinate =
          arith::RemUIOp::create(rewriter, location, coordinate,
                                 createConstant(location, size, rewriter));
    index.push_back(coordinate);
  }
  rewriter.replaceOp(op, index);
  return success();
}

LogicalResult
mlir::commsched::shardconversion::convert(shard::ProcessLinearIndexOp op,
                                          Context &context) {
  FailureOr<DeviceGroup> group = context.groups.lookupAll(op, op.getGridAttr());
  if (failed(group))
    return failure();
  context.rewriter.replaceOp(op, createRank(op.getLoc(), *group, context));
  return success();
}

/// Arithmetic on the coordinates that are given; -1 where there is no
/// neighbour.
LogicalResult
mlir::commsched::shardconversion::convert(shard::NeighborsLinearIndicesOp op,
                                          Context &context) {
  FailureOr<DeviceGroup> grid = context.groups.lookupAll(op, op.getGridAttr());
  if (failed(grid) ||
      failed(context.groups.lookup(op, op.getGridAttr(), op.getSplitAxes())))
    return failure();
  if (op.getDevice().size() != grid->shape.size())
    return emitGridError(op, grid->grid)
           << "has " << op.getDevice().size() << " coordinates of a device of @"
           << op.getGrid() << ", which has " << grid->shape.size() << " axes";
  if (op.getSplitAxes().size() != 1)
    return op.emitOpError("cannot be converted: it has ")
           << op.getSplitAxes().size()
           << " split axes, and neighbours are those along one";

  IRRewriter &rewriter = context.rewriter;
  Location location = op.getLoc();
  auto constant = [&](int64_t value) {
    return createConstant(location, value, rewriter);
  };
  Value linear;
  for (auto [coordinate, size] : llvm::zip_equal(op.getDevice(), grid->shape)) {
    if (!linear) {
      linear = coordinate;
      continue;
    }
    linear = arith::MulIOp::create(rewriter, location, linear, constant(size));
    linear = arith::AddIOp::create(rewriter, location, linear, coordinate);
  }
  unsigned axis = op.getSplitAxes().front();
  Value weight = constant(grid->getWeight(axis));
  Value none = constant(-1);
  auto selectUnlessAt = [&](int64_t border, Value neighbour) -> Value {
    Value atBorder =
        arith::CmpIOp::create(rewriter, location, arith::CmpIPredicate::eq,
                              op.getDevice()[axis], constant(border));
    return arith::SelectOp::create(rewriter, location, atBorder, none,
                                   neighbour);
  };
  Value down = arith::SubIOp::create(rewriter, location, linear, weight);
  Value up = arith::AddIOp::create(rewriter, location, linear, weight);
  rewriter.replaceOp(
      op, {selectUnlessAt(0, down), selectUnlessAt(grid->shape[axis] - 1, up)});
  return success();
}

//===----------------------------------------------------------------------===//
// Halos
//===----------------------------------------------------------------------===//

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
