//===- CommSchedToRequests.cpp - Pass from commsched to commsched_rt ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ParallelCombiningOpInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <optional>
#include <utility>

namespace mlir::commsched {
#define GEN_PASS_DEF_CONVERTCOMMSCHEDTOREQUESTS
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Row copies
//===----------------------------------------------------------------------===//

bool mlir::commsched::needsPacking(ArrayRef<int64_t> shape, int64_t dim) {
  return ShapedType::getNumElements(shape.take_front(dim)) > 1;
}

SmallVector<RowCopy>
mlir::commsched::getPackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                  ArrayRef<int64_t> partSizes,
                                  int64_t elementBytes) {
  int64_t outer = ShapedType::getNumElements(shape.take_front(dim));
  int64_t inner =
      ShapedType::getNumElements(shape.drop_front(dim + 1)) * elementBytes;
  auto getCopy = [&](int64_t begin, int64_t size) {
    RowCopy copy;
    copy.rows = outer;
    copy.rowElements = size * inner;
    copy.source = {begin * inner, shape[dim] * inner, size * inner};
    copy.target = {begin * inner * outer, size * inner, size * inner * outer};
    return copy;
  };
  if (llvm::all_equal(partSizes)) {
    RowCopy copy = getCopy(0, partSizes.front());
    copy.repeat = partSizes.size();
    return {copy};
  }
  SmallVector<RowCopy> copies;
  int64_t begin = 0;
  for (int64_t size : partSizes) {
    copies.push_back(getCopy(begin, size));
    begin += size;
  }
  return copies;
}

SmallVector<RowCopy>
mlir::commsched::getUnpackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                    ArrayRef<int64_t> partSizes,
                                    int64_t elementBytes) {
  SmallVector<RowCopy> copies =
      getPackingCopies(shape, dim, partSizes, elementBytes);
  for (RowCopy &copy : copies)
    std::swap(copy.source, copy.target);
  return copies;
}

Value mlir::commsched::createCopies(OpBuilder &builder, Location loc,
                                    Value source, Value target,
                                    ArrayRef<RowCopy> copies, bool overwrites,
                                    Value offset) {
  auto getTypeAttr = [](Type type) {
    return type ? TypeAttr::get(type) : TypeAttr();
  };
  for (const RowCopy &copy : copies) {
    auto op = rt::CopyOp::create(
        builder, loc, target.getType(), source, target, offset,
        builder.getDenseI64ArrayAttr(copy.source),
        builder.getDenseI64ArrayAttr(copy.target),
        builder.getI64IntegerAttr(copy.repeat),
        builder.getI64IntegerAttr(copy.rows),
        builder.getI64IntegerAttr(copy.rowElements),
        getTypeAttr(copy.sourceType), getTypeAttr(copy.targetType),
        // The first of several leaves the rest to the others.
        overwrites && copies.size() == 1 ? builder.getUnitAttr() : UnitAttr());
    target = op.getResult();
  }
  return target;
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

IntegerAttr Lowering::getRuntimeNs(Operation *op) {
  return rewriter.getI64IntegerAttr(costs.getRuntimeNs(op));
}

rt::ImplementationAttr
Lowering::getImplementation(CollectiveOpInterface collective) {
  if (isHostTransfer(collective.getCollectiveKind()))
    return {};
  const cost::Implementations &known = costs.getTarget().implementations;
  // CostAnalysis has rejected those that the target does not list. The first
  // one carries out what names none.
  StringAttr name = mlir::commsched::getImplementation(collective);
  const cost::Implementation &implementation =
      known.get(name ? *known.find(name.getValue()) : 0);
  bool hasOwnStream = implementation.stream == implementation.name;
  if (!name && implementation.channels == 0 && hasOwnStream)
    return {};
  return rt::ImplementationAttr::get(
      rewriter.getContext(), implementation.name,
      cost::stringifyImplementationMethod(implementation.method),
      implementation.channels,
      hasOwnStream ? StringAttr()
                   : rewriter.getStringAttr(implementation.stream));
}

FailureOr<int64_t> Lowering::getGroupSize(Operation *op,
                                          FlatSymbolRefAttr symbol) {
  auto group = symbolTables.lookupNearestSymbolFrom<GroupOp>(op, symbol);
  if (!group)
    return op->emitError("group ") << symbol << " does not exist";
  return group.getProcessGroup().size;
}

Value Lowering::createEmpty(Location loc, RankedTensorType type, Value rows) {
  if (!type.hasStaticShape())
    return tensor::EmptyOp::create(rewriter, loc, type, rows);
  return tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                 type.getElementType(), type.getEncoding());
}

Value Lowering::createEmpty(Location loc, int64_t elements, Type elementType) {
  return tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(elements),
                                 elementType);
}

void Lowering::replaceWait(WaitOp wait, ValueRange received,
                           ArrayRef<Unpacking> unpackings) {
  SmallVector<Value> values;
  for (auto [value, unpacking, old] :
       llvm::zip_equal(received, unpackings, wait.getValues())) {
    if (unpacking.copies.empty()) {
      values.push_back(value);
      continue;
    }
    Value target = unpacking.target;
    if (!target)
      target =
          createEmpty(wait.getLoc(), cast<RankedTensorType>(old.getType()));
    values.push_back(createCopies(rewriter, wait.getLoc(), value, target,
                                  unpacking.copies, /*overwrites=*/true));
  }
  rewriter.replaceOp(wait, values);
}

LogicalResult mlir::commsched::requireLowerableTypes(Operation *op,
                                                     TypeRange types) {
  for (Type type : types) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped || !shaped.hasStaticShape())
      return op->emitError("cannot be lowered to the runtime: ")
             << type << " has no static shape";
    if (failed(getElementBytes(shaped.getElementType())))
      return op->emitError("cannot be lowered to the runtime: elements of ")
             << type << " are not a power of two of bytes";
  }
  return success();
}

LogicalResult mlir::commsched::requireLowerableTypes(Operation *op) {
  return failure(failed(requireLowerableTypes(op, op->getOperandTypes())) ||
                 failed(requireLowerableTypes(op, op->getResultTypes())));
}

LogicalResult mlir::commsched::requireLowerableRows(Operation *op,
                                                    TypeRange types) {
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    auto row = RankedTensorType::get(tensor.getShape().drop_front(),
                                     tensor.getElementType());
    if (failed(requireLowerableTypes(op, row)))
      return failure();
  }
  return success();
}

namespace {

struct ConvertCommSchedToRequests
    : mlir::commsched::impl::ConvertCommSchedToRequestsBase<
          ConvertCommSchedToRequests> {
  using ConvertCommSchedToRequestsBase::ConvertCommSchedToRequestsBase;

  void runOnOperation() override;
};

} // namespace

/// The names of all collectives, before anything changes.
static llvm::DenseMap<Operation *, std::string>
nameCollectives(ModuleOp module) {
  llvm::DenseMap<Operation *, std::string> names;
  module.walk([&](Block *block) {
    unsigned index = 0;
    for (Operation &op : *block)
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        names[&op] = getCollectiveName(collective, index++);
  });
  return names;
}

/// Says before `op`, which the program carries out itself, what it is predicted
/// to take, if that is not nothing.
static void accountFor(Lowering &lowering, Operation *op) {
  IntegerAttr runtime = lowering.getRuntimeNs(op);
  if (runtime.getInt() == 0)
    return;
  lowering.rewriter.setInsertionPoint(op);
  rt::AccountOp::create(lowering.rewriter, op->getLoc(),
                        op->getName().getIdentifier(), runtime);
}

/// True if `op` is one of those that this pass lowers.
static bool isLowered(Operation *op) {
  return isa<CollectiveOpInterface, WaitOp, ComputeOp, ResizeStorageOp,
             GroupOp>(op);
}

/// Accounts for what the program does itself. The regions of an operation that
/// states its own cost are its definition; those of others are run as they are.
/// Nothing may stand beside what combines the results of parallel iterations.
static void accountForOwnWork(Lowering &lowering, func::FuncOp function) {
  SmallVector<Operation *> operations;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumRegions() > 0 && !isa<CostOpInterface>(op))
      return WalkResult::advance();
    if (!isLowered(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
        !isa<ParallelCombiningOpInterface>(op))
      operations.push_back(op);
    return WalkResult::skip();
  });
  for (Operation *op : operations)
    accountFor(lowering, op);
}

/// An argument is the caller's: only where its storage may be freed may it be
/// overwritten.
static void protectArguments(func::FuncOp function) {
  StringRef writable = bufferization::BufferizationDialect::kWritableAttrName;
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (isa<TensorType>(function.getArgument(index).getType()) &&
        !function.getArgAttr(index, writable) && !isFreeable(function, index))
      function.setArgAttr(index, writable,
                          BoolAttr::get(function.getContext(), false));
}

/// Whether the dimensions of the type that are known alone are more than 2^63 -
/// 1 bytes: the runtime counts bytes in 64 bits.
static bool isTooLarge(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || !shaped.getElementType().isIntOrFloat())
    return false;
  auto sizes = llvm::to_vector(
      llvm::make_filter_range(shaped.getShape(), [](int64_t size) {
        return !ShapedType::isDynamic(size);
      }));
  return !getStaticBytes(RankedTensorType::get(sizes, shaped.getElementType()));
}

static LogicalResult checkSizes(ModuleOp module) {
  auto check = [](Operation *op, TypeRange types) {
    auto found = llvm::find_if(types, isTooLarge);
    if (found == types.end())
      return WalkResult::advance();
    op->emitOpError() << "has a value of type " << *found
                      << ", which is more than 2^63 - 1 bytes";
    return WalkResult::interrupt();
  };
  WalkResult result = module.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (check(op, block.getArgumentTypes()).wasInterrupted())
          return WalkResult::interrupt();
    return check(op, op->getResultTypes());
  });
  return failure(result.wasInterrupted());
}

void ConvertCommSchedToRequests::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkSizes(module)))
    return signalPassFailure();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  SymbolTableCollection symbolTables;
  IRRewriter rewriter(&getContext());
  Lowering lowering{rewriter, *costs, symbolTables};

  FailureOr<SmallVector<CarriedWait>> carriedWaits = findCarriedWaits(module);
  if (failed(carriedWaits))
    return signalPassFailure();
  llvm::DenseMap<Operation *, std::string> names = nameCollectives(module);
  for (auto function : module.getOps<func::FuncOp>())
    accountForOwnWork(lowering, function);
  // Waits go together with their starts. A gather in place is recognised by the
  // copy-in that defines its operand, so starts are lowered first.
  SmallVector<Operation *> operations, others;
  module.walk([&](Operation *op) {
    if (auto read = dyn_cast<bufferization::ToTensorOp>(op))
      lowerStorageRead(lowering, read);
    else if (isa<CollectiveOpInterface>(op))
      operations.push_back(op);
    else if (isa<AllGatherCopyInOp, SplitWithSizesCopyOp, ChunkCatOp,
                 FsdpCopyOp, ResizeStorageOp, ComputeOp, RankOp>(op))
      others.push_back(op);
  });
  llvm::append_range(operations, others);
  auto lower = [&](Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](CollectiveOpInterface start) {
          return lowerCollective(lowering, start, names[op]);
        })
        .Case([&](AllGatherCopyInOp op) { return lowerCopyIn(lowering, op); })
        .Case(
            [&](SplitWithSizesCopyOp op) { return lowerCopyOut(lowering, op); })
        .Case([&](ChunkCatOp op) { return lowerChunkCat(lowering, op); })
        .Case([&](FsdpCopyOp op) { return lowerFsdpCopy(lowering, op); })
        .Case([&](ComputeOp op) { return lowerCompute(lowering, op); })
        .Case([&](RankOp op) {
          rewriter.setInsertionPoint(op);
          rewriter.replaceOpWithNewOp<rt::RankOp>(op, op.getType(),
                                                  op.getGroupAttr());
          return success();
        })
        .Default([&](Operation *resize) {
          // The caller owns the storage of its arguments.
          rewriter.eraseOp(resize);
          return success();
        });
  };
  bool failedAny = false;
  for (Operation *op : operations)
    failedAny |= failed(lower(op));
  if (failedAny)
    return signalPassFailure();
  for (const CarriedWait &wait : *carriedWaits)
    if (failed(lowerCarriedWait(lowering, wait)))
      return signalPassFailure();
  convertFutureTypes(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      protectArguments(function);
}
