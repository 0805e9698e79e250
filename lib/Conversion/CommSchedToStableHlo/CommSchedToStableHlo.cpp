//===- CommSchedToStableHlo.cpp - Conversion from commsched to StableHLO --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Writing.h"

#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/VersionTuple.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_CONVERTCOMMSCHEDTOSTABLEHLO
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

namespace {

/// The operations of a module that are converted.
struct Program {
  SmallVector<Launch> launches;
  SmallVector<AllGatherCopyInOp> copyIns;
  SmallVector<SplitWithSizesCopyOp> copyOuts;
  SmallVector<ChunkCatOp> chunkCats;
  BucketOps bucketOps;
  /// Whether there are operations of Shardy.
  bool usesShardy = false;
  /// Whether custom calls say what is sharded, as JAX writes it for GSPMD.
  bool usesGspmd = false;
};

struct ConvertCommSchedToStableHlo
    : mlir::commsched::impl::ConvertCommSchedToStableHloBase<
          ConvertCommSchedToStableHlo> {
  using ConvertCommSchedToStableHloBase::ConvertCommSchedToStableHloBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
  LogicalResult readVersion();
  FailureOr<Program> collect(Groups &groups);

  /// Whether the version has asynchronous operations.
  bool hasAsync = true;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is there
//===----------------------------------------------------------------------===//

LogicalResult ConvertCommSchedToStableHlo::readVersion() {
  llvm::VersionTuple tuple;
  if (tuple.tryParse(version))
    return getOperation().emitError("the option 'version' is '")
           << version << "', not a version of StableHLO such as '1.17'";
  hasAsync = tuple >= llvm::VersionTuple(1, 17);
  return success();
}

/// Asynchronous operations are for what stands between start and wait, and for
/// what was asynchronous before.
static bool isBlocking(CollectiveOpInterface start, bool hasAsync) {
  return !hasAsync || (start->getNextNode() == start.getWait() &&
                       !start->hasAttr(asyncMark));
}

static bool isForGspmd(Operation *op) {
  if (op->getName().getStringRef() != customCallName)
    return false;
  auto target =
      dyn_cast_if_present<StringAttr>(getAttribute(op, callTargetName));
  return target && llvm::is_contained({"Sharding", "SPMDFullToShardShape",
                                       "SPMDShardToFullShape"},
                                      target.getValue());
}

/// GSPMD, XLA's older partitioner, fails if the computation of an asynchronous
/// operation has a gather or a broadcast ("Side-effect HLO must have
/// sharding"), whatever their sharding. XLA makes blocking ones asynchronous by
/// itself.
static void makeGathersBlocking(ModuleOp module, Program &program) {
  int64_t count = 0;
  for (Launch &launch : program.launches)
    if (isa<AllGatherOp, BroadcastOp>(launch.start.getOperation()) &&
        !launch.isBlocking && !launch.start->hasAttr(asyncMark)) {
      launch.isBlocking = true;
      ++count;
    }
  if (count > 0)
    module.emitWarning()
        << count
        << " asynchronous gather(s) and broadcast(s) become blocking, because "
           "the module is sharded for GSPMD, which compiles no others; Shardy "
           "(jax_use_shardy_partitioner) does";
}

static void collectBucketOps(Program &program) {
  auto collectAround = [&](ValueRange sent, ValueRange delivered) {
    for (Value value : sent)
      program.bucketOps.collectSources(value);
    for (Value value : delivered)
      program.bucketOps.collectUsers(value);
  };
  for (const Launch &launch : program.launches)
    if (!launch.start->hasAttr(propertiesMark))
      collectAround(launch.start->getOperands(), launch.wait->getResults());
  for (AllGatherCopyInOp op : program.copyIns)
    collectAround(op.getInputs(), {});
  for (ChunkCatOp op : program.chunkCats)
    collectAround(op.getInputs(), {});
  for (SplitWithSizesCopyOp op : program.copyOuts)
    collectAround({}, op.getOutputs());
}

FailureOr<Program> ConvertCommSchedToStableHlo::collect(Groups &groups) {
  Program program;
  WalkResult result = getOperation()->walk([&](Operation *op) -> WalkResult {
    StringRef dialect = op->getName().getDialectNamespace();
    program.usesShardy |= dialect == "sdy";
    if (dialect == "stablehlo") {
      program.usesGspmd |= isForGspmd(op);
      groups.noteChannels(op);
      return WalkResult::advance();
    }
    if (!isa_and_present<CommSchedDialect, rt::CommSchedRtDialect>(
            op->getDialect()))
      return WalkResult::advance();
    if (std::optional<std::string> reason = getUnsupportedReason(op))
      return op->emitOpError("has no form in StableHLO: ") << *reason;
    if (isHalfOfPair(op))
      return op->emitOpError("has no form in StableHLO: its collective is in "
                             "flight across the boundary of the block");
    if (auto start = dyn_cast<CollectiveOpInterface>(op)) {
      groups.noteChannels(op);
      program.launches.push_back(
          {start, start.getWait(), isBlocking(start, hasAsync)});
    }
    if (auto copyIn = dyn_cast<AllGatherCopyInOp>(op))
      program.copyIns.push_back(copyIn);
    if (auto copyOut = dyn_cast<SplitWithSizesCopyOp>(op))
      program.copyOuts.push_back(copyOut);
    if (auto chunkCat = dyn_cast<ChunkCatOp>(op))
      program.chunkCats.push_back(chunkCat);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (program.usesGspmd && !program.usesShardy)
    makeGathersBlocking(getOperation(), program);
  collectBucketOps(program);
  return program;
}

//===----------------------------------------------------------------------===//
// What is removed
//===----------------------------------------------------------------------===//

static void removeArgumentAttributes(FunctionOpInterface function) {
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    for (NamedAttribute attr : function.getArgAttrs(index))
      if (isOwnAttribute(attr.getName()))
        function.removeArgAttr(index, attr.getName());
}

/// Removes the attributes of CommSched and the marks of the conversion from
/// StableHLO.
static void removeOwnAttributes(ModuleOp module) {
  removeTarget(module);
  module->walk([](Operation *op) {
    SmallVector<StringAttr> own;
    for (NamedAttribute attr : op->getDiscardableAttrs())
      if (isOwnAttribute(attr.getName()))
        own.push_back(attr.getName());
    for (StringAttr name : own)
      op->removeDiscardableAttr(name);
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      removeArgumentAttributes(function);
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult ConvertCommSchedToStableHlo::run() {
  ModuleOp module = getOperation();
  MLIRContext *context = &getContext();
  Groups groups;
  if (failed(readVersion()) || failed(groups.initialize(module)))
    return failure();
  FailureOr<Program> program = collect(groups);
  if (failed(program))
    return failure();
  if (!program->launches.empty() && !context->getOrLoadDialect("stablehlo") &&
      !context->allowsUnregisteredDialects())
    return module.emitError("StableHLO is not registered");

  for (AllGatherCopyInOp op : program->copyIns)
    if (failed(lowerCopyIn(op)))
      return failure();
  // XLA fails to compile collectives with several results in modules of several
  // partitions and in manual computations of Shardy.
  bool mayBeVariadic = !program->usesShardy && !groups.mayBePartitioned();
  LaunchLowering launches(context, groups, mayBeVariadic);
  for (const Launch &launch : program->launches)
    if (failed(launches.lower(launch)))
      return failure();
  for (AllGatherCopyInOp op : program->copyIns)
    op->erase();
  for (SplitWithSizesCopyOp op : program->copyOuts)
    if (failed(lowerCopyOut(op, groups)))
      return failure();
  for (ChunkCatOp op : program->chunkCats)
    if (failed(lowerChunkCat(op, groups)))
      return failure();
  if (failed(program->bucketOps.lower()) ||
      failed(inlineManualComputations(module)))
    return failure();
  for (GroupOp group : groups.getGroups())
    group->erase();
  removeOwnAttributes(module);
  if (schedulingGroups)
    annotateSchedulingGroups(module);
  return success();
}
