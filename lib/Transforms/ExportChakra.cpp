//===- ExportChakra.cpp - Pass that writes execution traces ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/ChakraTrace.h"
#include "CommSched/Transforms/Passes.h"
#include "PassSupport.h"
#include "Step/InlinedCalls.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_EXPORTCHAKRA
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct ExportChakra : mlir::commsched::impl::ExportChakraBase<ExportChakra> {
  using ExportChakraBase::ExportChakraBase;

  /// Accepts the name of the directory alone as well.
  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (options.empty() || options.starts_with("output="))
      return Pass::initializeOptions(options, errorHandler);
    output = options.str();
    return success();
  }

  void runOnOperation() override;

private:
  LogicalResult checkOptions();
  LogicalResult write(ChakraWriter &writer, func::FuncOp function,
                      const SymbolTable &symbols, const Callees &callees,
                      OperationCosts &costs);
  LogicalResult writeFile(Location loc, StringRef name,
                          function_ref<void(raw_ostream &)> print);
};

} // namespace

LogicalResult ExportChakra::checkOptions() {
  Location loc = getOperation().getLoc();
  if (!ChakraWriter::isAvailable())
    return emitError(loc, "pass 'commsched-export-chakra' needs the library "
                          "protozero, which this build lacks: install it "
                          "(Debian: libprotozero-dev), then configure and "
                          "build CommSched again");
  if (output.empty())
    return emitError(loc,
                     makeOptionError(*this, output, "must name a directory"));
  if (std::error_code error = llvm::sys::fs::create_directories(
          output, /*IgnoreExisting=*/true, llvm::sys::fs::all_all))
    return emitError(loc, "cannot make the directory '")
           << output << "': " << error.message();
  return success();
}

LogicalResult ExportChakra::writeFile(Location loc, StringRef name,
                                      function_ref<void(raw_ostream &)> print) {
  SmallString<128> path(output);
  llvm::sys::path::append(path, name);
  // It may lead out of the directory.
  if (llvm::sys::fs::is_symlink_file(path))
    return emitError(loc, "cannot write the trace to '")
           << path << "': it is a link";
  return writeOutputFile(loc, path, "the trace", print);
}

//===----------------------------------------------------------------------===//
// What a trace consists of
//===----------------------------------------------------------------------===//

/// Replaces the calls in `function` by what they call. Emits an error for one
/// that stays and communicates, or might.
static LogicalResult inlineAll(func::FuncOp function,
                               const SymbolTable &symbols,
                               const Callees &callees) {
  LogicalResult result = success();
  inlineCalls(function, symbols, callees,
              [&](func::CallOp call, func::FuncOp callee, StringRef reason) {
                if (getCommunicationEffect(call) == CommunicationEffect::None)
                  return;
                result = call.emitError("cannot be exported: it communicates, "
                                        "or might, and calls '@")
                         << callee.getSymName() << "', " << reason;
              });
  return result;
}

/// How often `loop` runs, which is unrolled. Emits an error if that is not
/// known, or makes too many operations.
static FailureOr<int64_t> getUnrolledCount(Operation *loop) {
  constexpr int64_t mostOperations = 1 << 20;
  TripCount count = getTripCount(loop);
  if (count.source == TripCount::Source::Assumed)
    return loop->emitError("cannot be exported: it communicates, and how many "
                           "iterations it has is known neither by constant "
                           "bounds nor by '")
           << tripCountAttrName << "'";
  int64_t numOps = -1;
  loop->walk([&](Operation *) { ++numOps; });
  if (numOps > mostOperations / std::max<int64_t>(count.count, 1))
    return loop->emitError("cannot be exported: it communicates, and its ")
           << count.count << " iterations of " << numOps
           << " operations are more than the " << mostOperations
           << " operations that are unrolled";
  return count.count;
}

/// Replaces a branch by the block of it that costs most, as the model does, if
/// that gives its results.
static void chooseBranch(Operation *branch, OperationCosts &costs) {
  std::optional<SmallVector<Block *>> blocks = costs.findRuns(branch);
  if (!blocks || blocks->size() != 1)
    return;
  Block *block = blocks->front();
  if (block->getNumArguments() != 0 || !block->mightHaveTerminator() ||
      !llvm::equal(block->getTerminator()->getOperandTypes(),
                   branch->getResultTypes()))
    return;
  Operation *terminator = block->getTerminator();
  branch->replaceAllUsesWith(terminator->getOperands());
  terminator->erase();
  branch->getBlock()->getOperations().splice(branch->getIterator(),
                                             block->getOperations());
  branch->erase();
}

/// Replaces the operations of `function` in whose regions something
/// communicates by what they run. Emits an error if it is not known how often.
static LogicalResult flattenRegions(func::FuncOp function,
                                    OperationCosts &costs) {
  // The inner ones come first.
  SmallVector<Operation *> holders;
  function.walk([&](Operation *op) {
    if (op != function && op->getNumRegions() > 0 &&
        !isa<CollectiveOpInterface>(op) && findCollective(op))
      holders.push_back(op);
  });
  for (Operation *op : holders) {
    if (!isa<scf::ForOp, scf::WhileOp>(op)) {
      if (isa<RegionBranchOpInterface>(op) && !isa<LoopLikeOpInterface>(op))
        chooseBranch(op, costs);
      continue;
    }
    FailureOr<int64_t> count = getUnrolledCount(op);
    if (failed(count))
      return failure();
    // What they compute with is of no account.
    if (auto loop = dyn_cast<scf::ForOp>(op))
      unrollFully(loop, *count, [&](int64_t) { return loop.getLowerBound(); });
    else if (*count > 0)
      unrollFully(cast<scf::WhileOp>(op), *count);
    else
      return op->emitError("cannot be exported: it communicates, and without "
                           "an iteration it has no results");
  }
  renumberCollectives(function);
  return success();
}

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

LogicalResult ExportChakra::write(ChakraWriter &writer, func::FuncOp function,
                                  const SymbolTable &symbols,
                                  const Callees &callees,
                                  OperationCosts &costs) {
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(function);
  OwningOpRef<func::FuncOp> flat = cast<func::FuncOp>(builder.clone(*function));
  if (failed(inlineAll(*flat, symbols, callees)) ||
      failed(flattenRegions(*flat, costs)))
    return failure();
  FailureOr<BlockProblem> problem = priceBlock(flat->getBody().front(), costs);
  if (failed(problem))
    return failure();
  if (areRemarksEnabled(function))
    remarkAssumptions(function.getSymName(), listAssumedTimes(*problem, costs));
  if (Operation *half = problem->getHalfOfPair())
    return half->emitError("cannot be exported: ")
           << getObstacle(*problem)->reason;
  ScanningSymbolTables symbolTables;
  FailureOr<GroupContention> groups =
      computeContention(*problem, costs.getTarget(), symbolTables);
  if (failed(groups))
    return failure();
  remarkUnknownGroups(function.getLoc(), function.getSymName(),
                      groups->unknownGroups);
  FailureOr<int64_t> numIdle = writer.write(
      function, *problem, groups->contention,
      [&](StringRef name, function_ref<void(raw_ostream &)> print) {
        return writeFile(function.getLoc(), name, print);
      });
  if (failed(numIdle))
    return failure();
  if (*numIdle > 0)
    remark::analysis(function.getLoc(),
                     makeRemark("RanksWithoutTrace", function.getSymName()))
        << (Twine(*numIdle) +
            " ranks have no trace: the function sends to them or receives "
            "from them, so that they run another program")
               .str();
  return success();
}

void ExportChakra::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkOptions()))
    return signalPassFailure();
  FailureOr<ChakraWriter> writer = ChakraWriter::create(module);
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (failed(writer) || !costs)
    return signalPassFailure();
  Callees callees(module, *costs);
  SymbolTable symbols(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (!llvm::hasSingleElement(function.getBody())) {
      remark::missed(function.getLoc(),
                     makeRemark("FunctionNotExported", function.getSymName()))
          << "the function has several blocks";
      continue;
    }
    if (failed(write(*writer, function, symbols, callees, *costs)))
      return signalPassFailure();
  }
  markAllAnalysesPreserved();
}
