//===- ShardToCommSched.cpp - Conversion from shard to commsched ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Conversions.h"

#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace mlir::commsched {
#define GEN_PASS_DEF_CONVERTSHARDTOCOMMSCHED
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

//===----------------------------------------------------------------------===//
// Helpers of the conversions
//===----------------------------------------------------------------------===//

LogicalResult
mlir::commsched::shardconversion::verifyStaticTensors(Operation *op) {
  SmallVector<Type> types = llvm::to_vector(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      continue;
    if (!isa<RankedTensorType>(type))
      return op->emitOpError("cannot be converted: ")
             << type << " is a buffer, and commsched's collectives work on "
             << "tensors; convert before bufferization";
    if (!shaped.hasStaticShape())
      return op->emitOpError("cannot be converted: ")
             << type << " has a dynamic size";
  }
  return success();
}

FailureOr<int64_t>
mlir::commsched::shardconversion::getMember(Operation *op, StringRef name,
                                            const DeviceGroup &group,
                                            ArrayRef<int64_t> coordinates) {
  if (coordinates.size() != group.shape.size())
    return emitGridError(op, group.grid)
           << "has " << coordinates.size() << " coordinates of '" << name
           << "' for " << group.shape.size() << " axes";
  for (auto [coordinate, size] : llvm::zip_equal(coordinates, group.shape)) {
    if (ShapedType::isDynamic(coordinate))
      return op->emitOpError("cannot be converted: '")
             << name << "' is known at run time only, and must be constant";
    if (coordinate < 0 || coordinate >= size)
      return emitGridError(op, group.grid)
             << "has the coordinate " << coordinate << " in '" << name
             << "', which is not in [0, " << size << ")";
  }
  return group.getLinearIndex(coordinates);
}

LogicalResult mlir::commsched::shardconversion::replace(Operation *op,
                                                        Value value,
                                                        Context &context) {
  Type expected = op->getResult(0).getType();
  if (value.getType() != expected)
    return op->emitOpError("cannot be converted: its result would be ")
           << value.getType() << ", not " << expected;
  context.rewriter.replaceOp(op, value);
  return success();
}

Value mlir::commsched::shardconversion::extractPart(Location location,
                                                    Value tensor, int64_t dim,
                                                    OpFoldResult offset,
                                                    int64_t size,
                                                    Context &context) {
  IRRewriter &rewriter = context.rewriter;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
  offsets[dim] = offset;
  sizes[dim] = rewriter.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(rewriter, location, tensor, offsets,
                                        sizes, strides);
}

FutureType mlir::commsched::shardconversion::getFutureOf(Type type) {
  return FutureType::get(type.getContext(), type);
}

DenseIntElementsAttr mlir::commsched::shardconversion::getPairsAttr(
    MLIRContext *context, ArrayRef<std::pair<int64_t, int64_t>> pairs) {
  SmallVector<int64_t> values;
  for (auto [source, target] : pairs)
    values.append({source, target});
  auto type = RankedTensorType::get({static_cast<int64_t>(pairs.size()), 2},
                                    IntegerType::get(context, 64));
  return DenseIntElementsAttr::get(type, values);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static LogicalResult convertOp(Operation *op,
                               shardconversion::Context &context) {
  context.rewriter.setInsertionPoint(op);
  auto convertTyped = [&](auto typed) {
    return shardconversion::convert(typed, context);
  };
  auto convertInGroup = [&](auto typed) -> LogicalResult {
    FailureOr<DeviceGroup> group =
        context.groups.lookup(op, typed.getGridAttr(), typed.getGridAxes());
    if (failed(group) || failed(verifyStaticTensors(op)))
      return failure();
    context.group = std::move(*group);
    return convertTyped(typed);
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<shard::AllGatherOp, shard::AllReduceOp, shard::AllSliceOp,
            shard::AllToAllOp, shard::BroadcastOp, shard::GatherOp,
            shard::RecvOp, shard::ReduceOp, shard::ReduceScatterOp,
            shard::ScatterOp, shard::SendOp, shard::ShiftOp>(convertInGroup)
      .Case<shard::GridShapeOp, shard::NeighborsLinearIndicesOp,
            shard::ProcessLinearIndexOp, shard::ProcessMultiIndexOp,
            shard::UpdateHaloOp>(convertTyped)
      .Default([](Operation *other) {
        return other->emitOpError("has no counterpart in commsched");
      });
}

namespace {

struct ConvertShardToCommSched
    : mlir::commsched::impl::ConvertShardToCommSchedBase<
          ConvertShardToCommSched> {
  using ConvertShardToCommSchedBase::ConvertShardToCommSchedBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
};

} // namespace

LogicalResult ConvertShardToCommSched::run() {
  ModuleOp module = getOperation();
  if (ranksPerNode < 1)
    return module.emitError("the option 'ranks-per-node' is ")
           << ranksPerNode.getValue() << ", and a node has at least one rank";
  SmallVector<Operation *> grids, shardings, ops;
  WalkResult partitioned = module.walk([&](Operation *op) {
    if (!isa_and_nonnull<shard::ShardDialect>(op->getDialect()))
      return WalkResult::advance();
    if (isa<shard::ShardOp>(op)) {
      op->emitOpError("annotates a program that is not partitioned; run "
                      "--pass-pipeline='builtin.module(func.func(sharding-"
                      "propagation,shard-partition),convert-shard-to-"
                      "commsched)' instead");
      return WalkResult::interrupt();
    }
    // Partitioning may leave a description of a layout, which has no effect.
    if (isa<shard::ShardingOp>(op))
      shardings.push_back(op);
    else
      (isa<shard::GridOp>(op) ? grids : ops).push_back(op);
    return WalkResult::advance();
  });
  if (partitioned.wasInterrupted())
    return failure();

  IRRewriter rewriter(&getContext());
  SymbolTableCollection symbolTables;
  GridGroups groups(symbolTables, ranksPerNode);
  shardconversion::Context context = {rewriter, groups};
  LogicalResult result = success();
  for (Operation *op : ops)
    if (failed(convertOp(op, context)))
      result = failure();
  if (failed(result))
    return failure();
  for (Operation *sharding : shardings)
    if (sharding->use_empty())
      rewriter.eraseOp(sharding);
  for (Operation *grid : grids)
    if (SymbolTable::symbolKnownUseEmpty(grid, module))
      rewriter.eraseOp(grid);
  return success();
}

//===----------------------------------------------------------------------===//
// DeviceGroup
//===----------------------------------------------------------------------===//

/// The distance of two neighbours along `axis` in a row-major order.
static int64_t getStride(ArrayRef<int64_t> shape, int64_t axis) {
  return computeStrides(shape)[axis];
}

int64_t DeviceGroup::getWeight(unsigned position) const {
  return getStride(shape, position);
}

int64_t DeviceGroup::getLinearIndex(ArrayRef<int64_t> index) const {
  return linearize(index, computeStrides(shape));
}

//===----------------------------------------------------------------------===//
// Look-up
//===----------------------------------------------------------------------===//

InFlightDiagnostic mlir::commsched::emitGridError(Operation *op,
                                                  shard::GridOp grid) {
  return emitOpErrorWithNote(
      op, grid.getLoc(), "grid @" + grid.getSymName() + " is declared here");
}

/// Every device needs a number that a rank can have.
static LogicalResult verifyGrid(Operation *op, shard::GridOp grid) {
  int64_t devices = 1;
  for (auto [axis, size] : llvm::enumerate(grid.getShape())) {
    if (ShapedType::isDynamic(size))
      return emitGridError(op, grid)
             << "cannot be converted: axis " << axis << " of @"
             << grid.getSymName()
             << " has a dynamic size, and groups have constant members";
    if (size == 0)
      return emitGridError(op, grid)
             << "cannot be converted: axis " << axis << " of @"
             << grid.getSymName() << " has size 0, so there are no devices";
    if (llvm::MulOverflow(devices, size, devices) ||
        devices > std::numeric_limits<int32_t>::max())
      return emitGridError(op, grid)
             << "cannot be converted: @" << grid.getSymName()
             << " has more devices than ranks can be numbered, "
             << std::numeric_limits<int32_t>::max();
  }
  return success();
}

FailureOr<DeviceGroup> GridGroups::lookup(Operation *op,
                                          FlatSymbolRefAttr gridSymbol,
                                          ArrayRef<shard::GridAxis> axes) {
  auto grid = shard::getGridOrNull(op, gridSymbol, symbolTables);
  if (!grid)
    return op->emitOpError("names ") << gridSymbol << ", which is no grid";
  if (failed(verifyGrid(op, grid)))
    return failure();
  DeviceGroup group = {grid, llvm::to_vector(axes), {}, 1};
  llvm::SmallSet<shard::GridAxis, 4> seen;
  for (shard::GridAxis axis : axes) {
    if (axis < 0 || axis >= grid.getRank())
      return emitGridError(op, grid)
             << "names axis " << axis << ", but @" << grid.getSymName()
             << " has " << grid.getRank() << " axes";
    if (!seen.insert(axis).second)
      return op->emitOpError("names axis ") << axis << " twice";
    group.shape.push_back(grid.getShape()[axis]);
    group.size *= group.shape.back();
  }
  return group;
}

FailureOr<DeviceGroup> GridGroups::lookupAll(Operation *op,
                                             FlatSymbolRefAttr gridSymbol) {
  auto grid = shard::getGridOrNull(op, gridSymbol, symbolTables);
  SmallVector<shard::GridAxis> axes(grid ? grid.getRank() : 0);
  std::iota(axes.begin(), axes.end(), 0);
  return lookup(op, gridSymbol, axes);
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

/// The distance between a group's ranks if it is the same everywhere: each axis
/// then steps over exactly what the next one spans. Axes of size 1 do not
/// matter.
static std::optional<int64_t> getStride(ArrayRef<int64_t> gridShape,
                                        const DeviceGroup &group) {
  int64_t stride = 0, span = 0;
  for (auto [axis, size] :
       llvm::reverse(llvm::zip_equal(group.axes, group.shape))) {
    if (size == 1)
      continue;
    int64_t step = getStride(gridShape, axis);
    if (!stride)
      stride = span = step;
    if (step != span)
      return std::nullopt;
    span *= size;
  }
  return stride ? stride : 1;
}

/// The ranks of the devices that are at 0 outside of `axes`, in the order of a
/// group along `axes`.
static SmallVector<int64_t> listRanks(ArrayRef<int64_t> gridShape,
                                      ArrayRef<shard::GridAxis> axes) {
  SmallVector<int64_t> ranks = {0};
  for (shard::GridAxis axis : axes) {
    int64_t step = getStride(gridShape, axis);
    SmallVector<int64_t> extended;
    extended.reserve(ranks.size() * gridShape[axis]);
    for (int64_t rank : ranks)
      for (int64_t index = 0; index < gridShape[axis]; ++index)
        extended.push_back(rank + index * step);
    ranks = std::move(extended);
  }
  return ranks;
}

/// One row for each group, in the order of the coordinates outside of its axes.
static DenseIntElementsAttr listAllGroups(const DeviceGroup &group,
                                          ArrayRef<int64_t> members) {
  shard::GridOp grid = group.grid;
  SmallVector<shard::GridAxis> others;
  for (shard::GridAxis axis = 0; axis < grid.getRank(); ++axis)
    if (!llvm::is_contained(group.axes, axis))
      others.push_back(axis);
  SmallVector<int64_t> firsts = listRanks(grid.getShape(), others);
  SmallVector<int64_t> ranks;
  ranks.reserve(firsts.size() * members.size());
  for (int64_t first : firsts)
    for (int64_t member : members)
      ranks.push_back(first + member);
  auto type =
      RankedTensorType::get({static_cast<int64_t>(firsts.size()), group.size},
                            IntegerType::get(grid.getContext(), 64));
  return DenseIntElementsAttr::get(type, ranks);
}

//===----------------------------------------------------------------------===//
// Declaration
//===----------------------------------------------------------------------===//

StringRef GridGroups::getSymbol(const DeviceGroup &group) {
  shard::GridOp grid = group.grid;
  MLIRContext *context = grid.getContext();
  GroupOp &op = declared[{grid, DenseI16ArrayAttr::get(context, group.axes)}];
  if (op)
    return op.getSymName();

  Builder builder(context);
  IntegerAttr strideAttr;
  DenseIntElementsAttr ranks;
  int64_t onOneNode;
  if (std::optional<int64_t> stride = getStride(grid.getShape(), group)) {
    if (*stride != 1)
      strideAttr = builder.getI64IntegerAttr(*stride);
    onOneNode =
        std::min<int64_t>(group.size, llvm::divideCeil(ranksPerNode, *stride));
  } else {
    SmallVector<int64_t> members = listRanks(grid.getShape(), group.axes);
    ranks = listAllGroups(group, members);
    onOneNode = countRanksOnOneNode(members, ranksPerNode);
  }

  std::string name = (grid.getSymName() + "_axes").str();
  for (shard::GridAxis axis : group.axes)
    name += "_" + std::to_string(axis);
  OpBuilder detached(context);
  op = GroupOp::create(detached, grid.getLoc(), name, group.size,
                       /*ranks_per_node=*/IntegerAttr(), strideAttr, ranks,
                       /*sym_visibility=*/StringAttr());
  // The default is not printed.
  if (op.getProcessGroup().ranksPerNode != onOneNode)
    op.setRanksPerNode(onOneNode);
  Operation *&last = lastDeclared.try_emplace(grid, grid).first->second;
  symbolTables.getSymbolTable(grid->getParentOp())
      .insert(op, std::next(Block::iterator(last)));
  last = op;
  return op.getSymName();
}
