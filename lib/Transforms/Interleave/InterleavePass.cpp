//===- InterleavePass.cpp - Pass that interleaves two functions -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "../Schedule/SchedulingPass.h"
#include "../Step/JoinedFunction.h"
#include "Interleaver.h"
#include "SharedArguments.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_INTERLEAVE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct Interleave
    : SchedulingPass<mlir::commsched::impl::InterleaveBase<Interleave>> {
  using SchedulingPass::SchedulingPass;

  void runOnOperation() override;

protected:
  std::optional<std::string> readOwnOptions() override;

private:
  FailureOr<func::FuncOp> findFunction(StringRef symbol,
                                       const llvm::cl::Option &option);
  LogicalResult checkName();
  FailureOr<InterleavedPair> findPair();
  FailureOr<bool> interleave(const InterleavedPair &pair);

  SharingRule sharing;
};

} // namespace

/// The symbol that an option names, with or without `@`.
static StringRef getSymbol(StringRef text) {
  text.consume_front("@");
  return text;
}

std::optional<std::string> Interleave::readOwnOptions() {
  for (auto *option : {&first, &second, &name})
    if (getSymbol(*option).empty())
      return makeOptionError(*this, *option, "has to name a function");
  if (std::optional<std::string> problem = parseSharingRule(share, sharing))
    return makeOptionError(*this, share, *problem);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

FailureOr<func::FuncOp>
Interleave::findFunction(StringRef symbol, const llvm::cl::Option &option) {
  ModuleOp module = getOperation();
  Operation *found = SymbolTable::lookupSymbolIn(module, symbol);
  auto function = dyn_cast_if_present<func::FuncOp>(found);
  if (function && !function.isExternal())
    return function;
  std::string error = makeOptionError(
      *this, option,
      "names '@" + symbol + "', " +
          (function ? "which has no body" : "but there is no such function"));
  InFlightDiagnostic diag = emitError(module.getLoc(), error);
  if (found)
    diag.attachNote(found->getLoc()) << "the symbol is here";
  return diag;
}

LogicalResult Interleave::checkName() {
  StringRef symbol = getSymbol(name);
  return checkNewSymbol(getOperation(), symbol, {}, [&] {
    return makeOptionError(
        *this, name, "is '@" + symbol + "', but the module has that symbol");
  });
}

FailureOr<InterleavedPair> Interleave::findPair() {
  FailureOr<func::FuncOp> firstFunction = findFunction(getSymbol(first), first);
  FailureOr<func::FuncOp> secondFunction =
      findFunction(getSymbol(second), second);
  if (failed(firstFunction) || failed(secondFunction) || failed(checkName()))
    return failure();
  return InterleavedPair{
      *firstFunction, *secondFunction, {}, getSymbol(name).str()};
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static void remarkDeclined(const InterleavedPair &pair, Location location,
                           const Twine &reason) {
  func::FuncOp first = pair.first, second = pair.second;
  remark::missed(location, makeRemark("NotInterleaved", first.getSymName()))
      << ("'@" + first.getSymName() + "' and '@" + second.getSymName() +
          "' are not interleaved: " + reason)
             .str();
}

static void remarkInterleaved(const InterleavedPair &pair,
                              const InterleavedFunction &result) {
  func::FuncOp first = pair.first, second = pair.second;
  func::FuncOp function = result.function;
  const BlockSchedule &schedule = result.decided.schedule;
  remark::passed(function.getLoc(),
                 makeRemark("Interleaved", function.getSymName()))
      << ("'@" + first.getSymName() + "' and '@" + second.getSymName() +
          "' take " + Twine(schedule.step.stepNs) + " ns, of which " +
          Twine(schedule.exposedNs) + " are exposed, instead of " +
          Twine(result.sequenceNs) + " with " +
          Twine(result.sequenceExposedNs) +
          " one after the other, each scheduled, and " +
          Twine(schedule.step.peakBytes) + " bytes within a budget of " +
          Twine(schedule.getBudgetBytes()))
             .str()
      << remark::metric("StepNsBefore", result.sequenceNs)
      << remark::metric("StepNsAfter", schedule.step.stepNs)
      << remark::metric("ExposedNsBefore", result.sequenceExposedNs)
      << remark::metric("ExposedNsAfter", schedule.exposedNs)
      << remark::metric("PeakBytes", schedule.step.peakBytes)
      << remark::metric("BudgetBytes", schedule.getBudgetBytes());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns whether there is a function of both.
FailureOr<bool> Interleave::interleave(const InterleavedPair &pair) {
  auto decline = [&](Location location, const Twine &reason) {
    remarkDeclined(pair, location, reason);
  };
  for (func::FuncOp function : {pair.first, pair.second})
    if (!hasLoneBlock(function)) {
      decline(function.getLoc(),
              "the body of '@" + function.getSymName() + "' is not one block");
      return false;
    }
  Interleaver interleaver(pair, scheduling, decline);
  FailureOr<std::optional<InterleavedFunction>> result = interleaver.run();
  if (failed(result))
    return failure();
  if (!*result)
    return false;
  remarkInterleaved(pair, **result);
  if (areRemarksEnabled((*result)->function))
    remarkBarriers((*result)->function,
                   (*result)->decided.scheduler.getBlock());
  if (failed(
          applyDecision((*result)->function, (*result)->decided, scheduling)))
    return failure();
  return true;
}

void Interleave::runOnOperation() {
  if (failed(emitOptionError(getOperation(), optionError)))
    return signalPassFailure();
  FailureOr<InterleavedPair> pair = findPair();
  if (failed(pair))
    return signalPassFailure();
  FailureOr<SmallVector<SharedArgument>> shared =
      findSharedArguments(pair->first, pair->second, sharing);
  if (failed(shared))
    return signalPassFailure();
  pair->sharedWith.assign(pair->second.getNumArguments(), std::nullopt);
  for (SharedArgument argument : *shared)
    pair->sharedWith[argument.second] = argument.first;
  FailureOr<bool> isChanged = interleave(*pair);
  if (failed(isChanged))
    signalPassFailure();
  else if (!*isChanged)
    markAllAnalysesPreserved();
}
