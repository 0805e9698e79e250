//===- MergeStep.cpp - Pass that merges the functions of a step -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "CommSched/Transforms/Passes.h"
#include "JoinedFunction.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_MERGESTEP
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct MergeStep : mlir::commsched::impl::MergeStepBase<MergeStep> {
  using MergeStepBase::MergeStepBase;

  void runOnOperation() override;

private:
  void decline(Location location, const Twine &reason);
  void replaceParts(const StepLinker &step, func::FuncOp joined,
                    SymbolTable &symbols);
  void merge(ArrayRef<func::FuncOp> parts, SymbolTable &symbols);
};

} // namespace

/// Emits the remark `StepNotMerged`.
void MergeStep::decline(Location location, const Twine &reason) {
  remark::missed(location, makeRemark("StepNotMerged", name))
      << ("the functions of the module are not merged: " + reason).str();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// Keeps the results that a later repetition takes, and those that nothing of
/// the step takes.
static void keepResults(StepLinker &linker) {
  llvm::DenseSet<std::pair<unsigned, unsigned>> carried;
  for (const std::optional<StepSource> &source : linker.getSources())
    if (source)
      carried.insert({linker.getNumber(source->function), source->result});
  for (auto [part, function] : llvm::enumerate(linker.join.parts))
    for (unsigned index : llvm::seq(function.getNumResults()))
      if (carried.contains({part, index}) || !linker.isTaken(part, index))
        linker.join.results.push_back({static_cast<unsigned>(part), index});
}

/// The argument of the joined function that the operand is, perhaps because
/// functions pass it through.
static std::optional<unsigned> findArgument(const FunctionJoin &join,
                                            JoinedOperand operand) {
  // Every result is one of an earlier part.
  while (!operand.argument) {
    func::FuncOp part = join.parts[operand.result.part];
    Operation *end = part.getBody().front().getTerminator();
    auto passed =
        dyn_cast<BlockArgument>(end->getOperand(operand.result.index));
    if (!passed)
      return std::nullopt;
    operand = join.operands[operand.result.part][passed.getArgNumber()];
  }
  return operand.argument;
}

/// By argument of the joined function: whether its storage may be freed, which
/// the last function says that takes it.
static SmallVector<bool> findFreeable(const FunctionJoin &join) {
  SmallVector<bool> isFreeable(join.arguments.size(), false);
  SmallVector<size_t> lastPart(join.arguments.size(), 0);
  for (auto [part, operands] : llvm::enumerate(join.operands))
    for (auto [index, operand] : llvm::enumerate(operands)) {
      std::optional<unsigned> argument = findArgument(join, operand);
      if (!argument)
        continue;
      bool mayFree =
          func::FuncOp(join.parts[part]).getArgAttr(index, freeableAttrName) !=
          nullptr;
      bool isAgain = lastPart[*argument] == part + 1;
      isFreeable[*argument] = mayFree && (!isAgain || isFreeable[*argument]);
      lastPart[*argument] = part + 1;
    }
  return isFreeable;
}

//===----------------------------------------------------------------------===//
// The merge
//===----------------------------------------------------------------------===//

/// Erases the parts, or makes those private that something refers to, and gives
/// the joined function its name and its links.
void MergeStep::replaceParts(const StepLinker &step, func::FuncOp joined,
                             SymbolTable &symbols) {
  eraseReplaced(step.join.parts, name, symbols);
  if (joined.getSymName() != name)
    (void)symbols.rename(joined, name);
  StringAttr symbol = joined.getSymNameAttr();
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> results;
  for (auto [index, port] : llvm::enumerate(step.join.results))
    results[{port.part, port.index}] = index;
  for (auto [index, source] : llvm::enumerate(step.getSources()))
    if (source)
      setStepSource(
          joined, index,
          {symbol,
           results.lookup({step.getNumber(source->function), source->result}),
           /*iterations=*/1});
}

void MergeStep::merge(ArrayRef<func::FuncOp> parts, SymbolTable &symbols) {
  StepLinker step(parts, /*count=*/1);
  keepResults(step);
  func::FuncOp joined = joinFunctions(step.join, name);
  for (auto [index, isFreeable] : llvm::enumerate(findFreeable(step.join)))
    if (isFreeable)
      joined.setArgAttr(index, freeableAttrName,
                        UnitAttr::get(joined.getContext()));
    else
      joined.removeArgAttr(index, freeableAttrName);
  Operation *last = parts.back();
  symbols.insert(joined, std::next(Block::iterator(last)));
  std::string names;
  for (StringRef prefix : step.join.prefixes)
    names += (names.empty() ? "'@" : ", '@") + prefix.str() + "'";
  replaceParts(step, joined, symbols);
  remark::passed(joined.getLoc(), makeRemark("StepMerged", name))
      << (names + " are '@" + name + "' now, which takes " +
          Twine(joined.getNumArguments()) + " values and returns " +
          Twine(joined.getNumResults()))
             .str()
      << remark::metric("Arguments", joined.getNumArguments())
      << remark::metric("Results", joined.getNumResults());
}

void MergeStep::runOnOperation() {
  if (name.empty()) {
    emitError(getOperation().getLoc(),
              makeOptionError(*this, name, "must not be empty"));
    return signalPassFailure();
  }
  SmallVector<func::FuncOp> parts = findLinkedFunctions(
      getOperation(), [&](Location location, const Twine &reason) {
        decline(location, reason);
      });
  if (parts.empty())
    return markAllAnalysesPreserved();
  SymbolTable symbols(getOperation());
  if (failed(checkNewSymbol(getOperation(), name, parts, *this, name)))
    return signalPassFailure();
  merge(parts, symbols);
}
