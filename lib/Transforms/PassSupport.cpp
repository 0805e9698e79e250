//===- PassSupport.cpp - Blocks, remarks and files of passes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PassSupport.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Support/OutputFile.h"

using namespace mlir;
using namespace mlir::commsched;

SmallVector<Block *>
mlir::commsched::getBlocksWithCollectives(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk([&](Block *block) {
    // The block of an asynchronous collective is its definition.
    if (!isa<CollectiveOpInterface>(block->getParentOp()) &&
        llvm::any_of(*block, llvm::IsaPred<CollectiveOpInterface>))
      blocks.push_back(block);
  });
  return blocks;
}

FailureOr<bool>
mlir::commsched::rewriteBlocks(ArrayRef<Block *> blocks,
                               function_ref<FailureOr<bool>(Block &)> rewrite) {
  bool isChanged = false;
  for (Block *block : blocks) {
    FailureOr<bool> isBlockChanged = rewrite(*block);
    if (failed(isBlockChanged))
      return failure();
    isChanged |= *isBlockChanged;
  }
  return isChanged;
}

bool mlir::commsched::areRemarksEnabled(Operation *op) {
  return op->getContext()->getRemarkEngine() != nullptr;
}

remark::RemarkOpts mlir::commsched::makeRemark(StringRef name,
                                               StringRef function) {
  return remark::RemarkOpts::name(name)
      .category("commsched")
      .function(function);
}

remark::detail::InFlightRemark
mlir::commsched::remarkBlockKept(func::FuncOp function, Location location,
                                 const Twine &reason) {
  remark::detail::InFlightRemark remark =
      remark::missed(location, makeRemark("BlockKept", function.getSymName()));
  remark << ("not reordered: " + reason).str();
  return remark;
}

FailureOr<std::optional<BlockProblem>>
mlir::commsched::readBlock(func::FuncOp function, Block &block,
                           OperationCosts *costs, StreamOrder streamOrder) {
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block,
      [&](Operation *op) {
        return costs ? costs->price(op) : OperationPrice();
      },
      streamOrder);
  if (failed(problem))
    return failure();
  std::optional<BlockObstacle> obstacle = getObstacle(*problem);
  if (!obstacle)
    return std::optional(std::move(*problem));
  remarkBlockKept(function, obstacle->location, obstacle->reason);
  return std::optional<BlockProblem>();
}

void mlir::commsched::remarkUnknownGroups(Location location, StringRef function,
                                          ArrayRef<Attribute> groups) {
  for (Attribute group : groups)
    remark::analysis(location, makeRemark("UnknownContention", function))
        << explainUnknownGroup(group);
}

void mlir::commsched::remarkAssumptions(StringRef function,
                                        ArrayRef<Assumption> assumptions) {
  for (const Assumption &assumption : assumptions) {
    auto remark = remark::analysis(
        assumption.location,
        makeRemark(assumption.timeNs ? "AssumedTime" : "AssumedSize",
                   function));
    remark << assumption.text;
    if (assumption.timeNs)
      remark << remark::metric("TimeNs", *assumption.timeNs);
  }
}

void mlir::commsched::remarkAssumedSizes(StringRef function, Block &block) {
  StorageAnalysis storages(block);
  for (const Storage &storage : storages.getStorages())
    if (!storage.bytes)
      remarkAssumptions(function, assumeSize(storage.root));
}

int64_t mlir::commsched::priceOrRemark(StringRef function, Operation *op,
                                       OperationCosts &costs) {
  OperationPrice price = costs.price(op);
  if (!price.isKnown() && areRemarksEnabled(op))
    remarkAssumptions(function, assumeTime(op, costs));
  return price.timeNs;
}

LogicalResult
mlir::commsched::writeOutputFile(Location loc, StringRef path, StringRef what,
                                 function_ref<void(raw_ostream &)> print) {
  OutputFile file(path);
  if (!file.getError())
    print(file.os());
  if (std::error_code error = file.keep())
    return emitError(loc, "cannot write ")
           << what << " to '" << path << "': " << error.message();
  return success();
}

void mlir::commsched::remarkBarriers(func::FuncOp function, Block &block) {
  for (Operation &op : block.without_terminator()) {
    // Other operations with unknown effects belong to linked dialects, whose
    // authors say what they do.
    if (op.isRegistered() && !isa<KnownEffectsOpInterface>(op))
      continue;
    if (hasUnknownMemoryEffects(&op))
      remark::analysis(op.getLoc(),
                       makeRemark("Barrier", function.getSymName()))
          << (describe(&op) + " is a barrier: its effects are not known");
  }
}

void mlir::commsched::remarkUnknownCallees(Callees &callees, size_t level) {
  for (Callees::Barrier &barrier : callees.findBarriers(level))
    remark::analysis(
        barrier.call.getLoc(),
        makeRemark(
            "UnknownCallee",
            barrier.call->getParentOfType<FunctionOpInterface>().getName()))
        << (describe(barrier.call) + " is a barrier, priced by its operands " +
            "and results: " + barrier.reason);
}
