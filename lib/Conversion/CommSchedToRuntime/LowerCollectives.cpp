//===- LowerCollectives.cpp - Lowering of starts and waits to requests ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// A launch on its way to `commsched_rt.start`.
struct Launch {
  /// The values to send, one for each tensor; empty for a receive, and in
  /// place.
  SmallVector<Value> inputs;
  /// The values to fill, one for each tensor; empty for a send.
  SmallVector<Value> outputs;
  SmallVector<int64_t> sent, received;
  bool inPlace = false;
  std::optional<ReductionKind> reduction;
  IntegerAttr peer, tag;
  DenseIntElementsAttr pairs;
  SmallVector<Attribute> inputSplits, outputSplits;
  /// Rows that are values, their sums, and the elements of a row.
  Value inputValues, inputRows, outputValues, outputRows;
  SmallVector<int64_t> row;
  SmallVector<Unpacking> unpackings;
};

/// Fills in a Launch for each kind of start.
class LaunchBuilder {
public:
  LaunchBuilder(Lowering &lowering, CollectiveOpInterface start)
      : lowering(lowering), delivered(start.getDeliveredTypes()),
        loc(start.getLoc()) {}

  LogicalResult build(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp,
              BroadcastOp, PermuteOp, SendOp, RecvOp>(
            [&](auto op) { return buildLaunch(op); })
        .Case<OffloadOp, ReloadOp>([&](auto op) {
          addWhole(op.getInputs(), op.getDestinations());
          return success();
        })
        .Case([](RaggedAllToAllOp op) {
          return op->emitError("cannot be lowered to the runtime: it writes "
                               "rows where other ranks say, and the runtime "
                               "writes them one after the other");
        })
        .Default([](Operation *op) {
          return op->emitError("has no lowering to the runtime");
        });
  }

  Launch launch;

private:
  LogicalResult buildLaunch(AllGatherOp op);
  LogicalResult buildLaunch(ReduceScatterOp op);
  LogicalResult buildLaunch(AllReduceOp op);
  LogicalResult buildLaunch(AllToAllOp op);
  LogicalResult buildLaunchOfValues(AllToAllOp op, int64_t groupSize);
  LogicalResult buildLaunch(BroadcastOp op);
  LogicalResult buildLaunch(PermuteOp op);
  LogicalResult buildLaunch(SendOp op);
  LogicalResult buildLaunch(RecvOp op);

  RankedTensorType getResultType(unsigned index) {
    return cast<RankedTensorType>(delivered[index]);
  }

  /// `input` as it is sent: packed when its parts along `dim` are not
  /// contiguous.
  Value pack(Value input, int64_t dim, ArrayRef<int64_t> parts);

  /// Adds the buffer that receives the value `index`, of which the parts along
  /// `dim` lie one after the other: the destination itself when that is so in
  /// it, too.
  void addOutput(unsigned index, OperandRange into, int64_t dim,
                 ArrayRef<int64_t> parts);

  /// Adds the one that receives the value `index` as it is delivered; `rows` of
  /// dimension 0 if that is dynamic.
  void addWholeOutput(unsigned index, OperandRange into, Value rows = nullptr) {
    launch.outputs.push_back(
        into.empty() ? lowering.createEmpty(loc, getResultType(index), rows)
                     : into[index]);
    launch.unpackings.emplace_back();
  }

  /// Sends and receives `inputs` as they are. In place where the destinations
  /// are the operands themselves.
  void addWhole(OperandRange inputs, OperandRange into);

  void addCounts(Value input, RankedTensorType result) {
    launch.sent.push_back(
        cast<RankedTensorType>(input.getType()).getNumElements());
    launch.received.push_back(result.getNumElements());
  }

  Lowering &lowering;
  SmallVector<Type> delivered;
  Location loc;
};

} // namespace

/// True if each of `into` is the whole buffer of which the input is this rank's
/// part.
static bool areOwnParts(OperandRange inputs, OperandRange into) {
  return !into.empty() &&
         llvm::all_of(llvm::zip_equal(inputs, into), [](auto pair) {
           auto copyIn =
               std::get<0>(pair).template getDefiningOp<AllGatherCopyInOp>();
           return copyIn && std::get<0>(pair) == copyIn.getSlice() &&
                  std::get<1>(pair) == copyIn.getBuffer();
         });
}

Value LaunchBuilder::pack(Value input, int64_t dim, ArrayRef<int64_t> parts) {
  auto type = cast<RankedTensorType>(input.getType());
  if (!needsPacking(type.getShape(), dim))
    return input;
  Value target =
      lowering.createEmpty(loc, type.getNumElements(), type.getElementType());
  return createCopies(lowering.rewriter, loc, input, target,
                      getPackingCopies(type.getShape(), dim, parts,
                                       *getElementBytes(type.getElementType())),
                      /*overwrites=*/true);
}

void LaunchBuilder::addOutput(unsigned index, OperandRange into, int64_t dim,
                              ArrayRef<int64_t> parts) {
  RankedTensorType type = getResultType(index);
  if (!needsPacking(type.getShape(), dim))
    return addWholeOutput(index, into);
  Unpacking &unpacking = launch.unpackings.emplace_back();
  if (!into.empty())
    unpacking.target = into[index];
  unpacking.copies = getUnpackingCopies(
      type.getShape(), dim, parts, *getElementBytes(type.getElementType()));
  launch.outputs.push_back(
      lowering.createEmpty(loc, type.getNumElements(), type.getElementType()));
}

void LaunchBuilder::addWhole(OperandRange inputs, OperandRange into) {
  launch.inPlace = !into.empty() && llvm::equal(inputs, into);
  for (auto [index, input] : llvm::enumerate(inputs)) {
    addCounts(input, getResultType(index));
    if (!launch.inPlace)
      launch.inputs.push_back(input);
    addWholeOutput(index, into);
  }
}

LogicalResult LaunchBuilder::buildLaunch(AllGatherOp op) {
  FailureOr<int64_t> size = lowering.getGroupSize(op, op.getGroupAttr());
  if (failed(size))
    return failure();
  launch.inPlace = areOwnParts(op.getInputs(), op.getInto());
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    addCounts(input, getResultType(index));
    if (!launch.inPlace)
      launch.inputs.push_back(input);
    SmallVector<int64_t> parts(*size, type.getDimSize(op.getDim()));
    addOutput(index, op.getInto(), op.getDim(), parts);
  }
  return success();
}

LogicalResult LaunchBuilder::buildLaunch(ReduceScatterOp op) {
  FailureOr<int64_t> size = lowering.getGroupSize(op, op.getGroupAttr());
  if (failed(size))
    return failure();
  launch.reduction = op.getReduction();
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    RankedTensorType type = getResultType(index);
    addCounts(input, type);
    SmallVector<int64_t> parts(*size, type.getDimSize(op.getDim()));
    launch.inputs.push_back(pack(input, op.getDim(), parts));
    addWholeOutput(index, op.getInto());
  }
  return success();
}

LogicalResult LaunchBuilder::buildLaunch(AllReduceOp op) {
  launch.reduction = op.getReduction();
  addWhole(op.getInputs(), op.getInto());
  return success();
}

/// The sizes of the parts along a dimension of `size`: as listed, or equal.
static SmallVector<int64_t> getParts(std::optional<ArrayRef<int64_t>> splits,
                                     int64_t size, int64_t groupSize) {
  if (splits)
    return SmallVector<int64_t>(*splits);
  return SmallVector<int64_t>(groupSize, size / groupSize);
}

/// The number of rows of `tensor`, as a value.
static Value getRows(OpBuilder &builder, Location loc, Value tensor) {
  int64_t rows = cast<RankedTensorType>(tensor.getType()).getDimSize(0);
  if (ShapedType::isDynamic(rows))
    return tensor::DimOp::create(builder, loc, tensor, 0);
  return arith::ConstantIndexOp::create(builder, loc, rows);
}

/// An exchange whose numbers of rows are values on at least one side. Rows that
/// are sent must be as many as the operand has, which the runtime verifies;
/// rows that are received decide how large a new tensor is.
LogicalResult LaunchBuilder::buildLaunchOfValues(AllToAllOp op,
                                                 int64_t groupSize) {
  IRRewriter &rewriter = lowering.rewriter;
  Value received;
  if (op.getInputSizes())
    launch.inputValues =
        rt::ReadSplitsOp::create(rewriter, loc, op.getInputSizes(),
                                 /*output=*/false)
            .getSplits();
  if (op.getOutputSizes()) {
    auto read = rt::ReadSplitsOp::create(rewriter, loc, op.getOutputSizes(),
                                         /*output=*/true);
    launch.outputValues = read.getSplits();
    received = read.getRows();
  }
  auto addSide = [&](RankedTensorType type, Value values,
                     std::optional<ArrayRef<int64_t>> splits, int64_t row,
                     SmallVectorImpl<int64_t> &elements,
                     SmallVectorImpl<Attribute> &lists) -> LogicalResult {
    if (values) {
      elements.push_back(0);
      return success();
    }
    int64_t rows = splits ? llvm::sum_of(*splits) : type.getDimSize(0);
    if (ShapedType::isDynamic(rows))
      return op.emitError("cannot be lowered to the runtime: ")
             << type << " is divided evenly, but has a dynamic size";
    SmallVector<int64_t> list;
    for (int64_t part : getParts(splits, rows, groupSize))
      list.push_back(part * row);
    elements.push_back(rows * row);
    lists.push_back(rewriter.getDenseI64ArrayAttr(list));
    return success();
  };
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    RankedTensorType resultType = getResultType(index);
    int64_t row = ShapedType::getNumElements(type.getShape().drop_front());
    launch.row.push_back(row);
    if (failed(addSide(type, launch.inputValues, op.getInputSplits(), row,
                       launch.sent, launch.inputSplits)) ||
        failed(addSide(resultType, launch.outputValues, op.getOutputSplits(),
                       row, launch.received, launch.outputSplits)))
      return failure();
    if (!received && !resultType.hasStaticShape())
      received = arith::ConstantIndexOp::create(
          rewriter, loc, llvm::sum_of(*op.getOutputSplits()));
    launch.inputs.push_back(input);
    addWholeOutput(index, op.getInto(), received);
  }
  if (launch.inputValues)
    launch.inputRows = getRows(rewriter, loc, launch.inputs.front());
  if (launch.outputValues)
    launch.outputRows = getRows(rewriter, loc, launch.outputs.front());
  return success();
}

LogicalResult LaunchBuilder::buildLaunch(AllToAllOp op) {
  FailureOr<int64_t> size = lowering.getGroupSize(op, op.getGroupAttr());
  if (failed(size))
    return failure();
  if (op.hasSplitValues())
    return buildLaunchOfValues(op, *size);
  bool uneven = op.getInputSplits() || op.getOutputSplits();
  auto getElements = [&](ArrayRef<int64_t> parts, int64_t dimSize,
                         int64_t numElements) -> Attribute {
    SmallVector<int64_t> elements;
    for (int64_t part : parts)
      elements.push_back(dimSize == 0 ? 0 : numElements / dimSize * part);
    return lowering.rewriter.getDenseI64ArrayAttr(elements);
  };
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    RankedTensorType resultType = getResultType(index);
    addCounts(input, resultType);
    int64_t splitSize = type.getDimSize(op.getSplitDim());
    SmallVector<int64_t> sent = getParts(op.getInputSplits(), splitSize, *size);
    launch.inputs.push_back(pack(input, op.getSplitDim(), sent));

    int64_t joinedSize = resultType.getDimSize(op.getConcatDim());
    SmallVector<int64_t> received =
        getParts(op.getOutputSplits(), joinedSize, *size);
    addOutput(index, op.getInto(), op.getConcatDim(), received);
    if (uneven) {
      launch.inputSplits.push_back(
          getElements(sent, splitSize, type.getNumElements()));
      launch.outputSplits.push_back(
          getElements(received, joinedSize, resultType.getNumElements()));
    }
  }
  return success();
}

LogicalResult LaunchBuilder::buildLaunch(BroadcastOp op) {
  launch.peer = op.getRootAttr();
  addWhole(op.getInputs(), op.getInto());
  return success();
}

LogicalResult LaunchBuilder::buildLaunch(PermuteOp op) {
  launch.pairs = cast<DenseIntElementsAttr>(op.getPairs());
  addWhole(op.getInputs(), op.getInto());
  // Rank after rank reads and writes: there is no form in place.
  if (launch.inPlace) {
    launch.inPlace = false;
    launch.inputs = llvm::to_vector(op.getInputs());
    for (auto [index, output] : llvm::enumerate(launch.outputs))
      output = lowering.createEmpty(loc, getResultType(index));
  }
  return success();
}

LogicalResult LaunchBuilder::buildLaunch(SendOp op) {
  launch.peer = op.getToAttr();
  launch.tag = op.getTagAttr();
  for (Value input : op.getInputs()) {
    launch.inputs.push_back(input);
    launch.sent.push_back(
        cast<RankedTensorType>(input.getType()).getNumElements());
    launch.received.push_back(0);
  }
  return success();
}

LogicalResult LaunchBuilder::buildLaunch(RecvOp op) {
  launch.peer = op.getFromAttr();
  launch.tag = op.getTagAttr();
  for (unsigned index = 0; index < delivered.size(); ++index) {
    RankedTensorType type = getResultType(index);
    launch.sent.push_back(0);
    launch.received.push_back(type.getNumElements());
    addWholeOutput(index, op.getInto());
  }
  return success();
}

/// Creates the wait and what follows it; replaces `wait`.
static void lowerWait(Lowering &lowering, rt::StartOp start, WaitOp wait,
                      const Launch &launch) {
  IRRewriter &rewriter = lowering.rewriter;
  rewriter.setInsertionPoint(wait);
  auto newWait = rt::WaitOp::create(
      rewriter, wait.getLoc(), start.getInFlight().getTypes(),
      start.getRequest(), start.getInputs(), start.getInFlight());
  lowering.replaceWait(wait, newWait.getValues(), launch.unpackings);
}

/// Holds the request where something else than a wait takes the future of
/// `start`. Only there: what is sent must not be written in place before.
static void holdRequest(Lowering &lowering, rt::StartOp request,
                        CollectiveOpInterface start, const Launch &launch) {
  IRRewriter &rewriter = lowering.rewriter;
  Value future = start.getInFlightFuture();
  rewriter.setInsertionPoint(*future.user_begin());
  auto hold = rt::HoldOp::create(
      rewriter, start.getLoc(), rt::HeldType::get(rewriter.getContext()),
      request.getRequest(), request.getInputs(), request.getInFlight());
  future.replaceAllUsesWith(hold.getHeld());
  CarriedLaunch &carried = lowering.carried[start];
  llvm::append_range(carried.received, request.getInFlight().getTypes());
  for (const Unpacking &unpacking : launch.unpackings)
    carried.unpackings.push_back({unpacking.copies, /*target=*/nullptr});
}

LogicalResult mlir::commsched::lowerCollective(Lowering &lowering,
                                               CollectiveOpInterface start,
                                               StringRef name) {
  IRRewriter &rewriter = lowering.rewriter;
  rewriter.setInsertionPoint(start);
  if (auto barrier = dyn_cast<BarrierOp>(start.getOperation())) {
    rewriter.replaceOpWithNewOp<rt::BarrierOp>(
        barrier, rewriter.getStringAttr(name), barrier.getGroupAttr(),
        lowering.getRuntimeNs(start), lowering.getImplementation(start));
    return success();
  }
  auto wait = dyn_cast_if_present<WaitOp>(start.getWait());
  bool isCarried = isHalfOfPair(start);
  auto group = dyn_cast<FlatSymbolRefAttr>(start.getGroupKey());
  if ((!wait && !isCarried) ||
      (!group && !isHostTransfer(start.getCollectiveKind())))
    return start.emitError("has no lowering to the runtime");
  SmallVector<Type> delivered = start.getDeliveredTypes();
  auto exchange = dyn_cast<AllToAllOp>(start.getOperation());
  auto require = exchange && exchange.hasSplitValues() && !isCarried
                     ? requireLowerableRows
                     : static_cast<LogicalResult (*)(Operation *, TypeRange)>(
                           requireLowerableTypes);
  if (failed(require(start, start->getOperandTypes())) ||
      failed(require(start, delivered)))
    return failure();

  LaunchBuilder builder(lowering, start);
  if (failed(builder.build(start)))
    return failure();
  Launch &launch = builder.launch;
  auto getSplits = [&](ArrayRef<Attribute> splits) {
    return splits.empty() ? ArrayAttr() : rewriter.getArrayAttr(splits);
  };
  SmallVector<Type> resultTypes = {rt::RequestType::get(rewriter.getContext())};
  llvm::append_range(resultTypes, ValueRange(launch.outputs).getTypes());
  auto request = rt::StartOp::create(
      rewriter, start.getLoc(), resultTypes,
      rt::CollectiveKindAttr::get(rewriter.getContext(),
                                  start.getCollectiveKind()),
      group, rewriter.getStringAttr(name),
      rewriter.getDenseI64ArrayAttr(launch.sent),
      rewriter.getDenseI64ArrayAttr(launch.received), launch.inputs,
      launch.outputs, launch.inPlace ? rewriter.getUnitAttr() : UnitAttr(),
      launch.reduction
          ? ReductionKindAttr::get(rewriter.getContext(), *launch.reduction)
          : ReductionKindAttr(),
      launch.peer, launch.tag, launch.pairs, getSplits(launch.inputSplits),
      getSplits(launch.outputSplits), lowering.getRuntimeNs(start),
      launch.inputValues, launch.inputRows, launch.outputValues,
      launch.outputRows,
      launch.row.empty() ? DenseI64ArrayAttr()
                         : rewriter.getDenseI64ArrayAttr(launch.row),
      lowering.getImplementation(start));
  if (isCarried)
    holdRequest(lowering, request, start, launch);
  else
    lowerWait(lowering, request, wait, launch);
  rewriter.eraseOp(start);
  return success();
}
