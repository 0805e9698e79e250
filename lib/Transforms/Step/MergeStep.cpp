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
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Transforms/Passes.h"
#include "InlinedCalls.h"
#include "JoinedFunction.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
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
  bool mergeCalls(SymbolTable &symbols);
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
// A function that calls its parts
//===----------------------------------------------------------------------===//

namespace {

/// Makes a function of one that calls its parts.
class StepMerger {
public:
  StepMerger(func::FuncOp step, SymbolTable &symbols)
      : step(step), symbols(symbols), inliner(step) {}

  /// Replaces all calls that can be replaced. Linear in the operations.
  void merge();

  /// The functions whose operations are in the step now.
  ArrayRef<func::FuncOp> getParts() const { return parts.getArrayRef(); }

private:
  /// A call, and of those that have been replaced the one that it was in: its
  /// number counts from 1.
  struct PendingCall {
    func::CallOp call;
    size_t caller = 0;
  };
  struct ReplacedCall {
    func::FuncOp callee;
    size_t caller = 0;
  };

  std::string explainKept(const PendingCall &pending, func::FuncOp callee);
  void inherit(func::CallOp call, func::FuncOp callee);

  func::FuncOp step;
  SymbolTable &symbols;
  BodyInliner inliner;
  SmallVector<ReplacedCall> replaced;
  llvm::SetVector<func::FuncOp> parts;
  /// The arguments of the step that calls took.
  llvm::DenseSet<Value> handedOn;
};

} // namespace

/// Why the call cannot be replaced by what it calls; empty if it can.
std::string StepMerger::explainKept(const PendingCall &pending,
                                    func::FuncOp callee) {
  if (callee.isExternal())
    return "which is only declared";
  if (!hasLoneBlock(callee))
    return "whose body is not one block";
  if (getSteadyState(callee))
    return "which is a part of a steady state";
  bool isRecursive = callee == step;
  for (size_t number = pending.caller; number != 0;
       number = replaced[number - 1].caller)
    isRecursive |= replaced[number - 1].callee == callee;
  return isRecursive ? "which calls itself" : "";
}

/// Gives arguments of the step that no call before took what only the callee
/// says of them.
void StepMerger::inherit(func::CallOp call, func::FuncOp callee) {
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != &step.getBody().front() ||
        !handedOn.insert(argument).second)
      continue;
    unsigned number = argument.getArgNumber();
    for (StringRef name : {nameAttrName, roleAttrName, sizeHintsAttrName})
      if (Attribute attr = callee.getArgAttr(index, name);
          attr && !step.getArgAttr(number, name))
        step.setArgAttr(number, name, attr);
  }
}

void StepMerger::merge() {
  SmallVector<PendingCall> pending;
  step.walk([&](func::CallOp call) { pending.push_back({call}); });
  std::reverse(pending.begin(), pending.end());
  while (!pending.empty()) {
    PendingCall next = pending.pop_back_val();
    auto callee = symbols.lookup<func::FuncOp>(next.call.getCallee());
    if (!callee || isOperator(next.call))
      continue;
    if (std::string reason = explainKept(next, callee); !reason.empty()) {
      remark::missed(next.call.getLoc(),
                     makeRemark("StepNotMerged", step.getSymName()))
          << ("'@" + step.getSymName() + "' still calls '@" +
              callee.getSymName() + "', " + reason)
                 .str();
      continue;
    }
    inherit(next.call, callee);
    parts.insert(callee);
    replaced.push_back({callee, next.caller});
    size_t first = pending.size();
    inliner.inlineCall(
        next.call, callee, callee.getSymName(),
        [&](func::CallOp call) { pending.push_back({call, replaced.size()}); });
    std::reverse(pending.begin() + first, pending.end());
  }
}

/// Replaces the calls in all functions that others may call. Returns whether
/// there are any.
bool MergeStep::mergeCalls(SymbolTable &symbols) {
  llvm::SetVector<func::FuncOp> replaced;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    StepMerger merger(function, symbols);
    merger.merge();
    if (merger.getParts().empty())
      continue;
    std::string names;
    for (func::FuncOp part : merger.getParts())
      names += (names.empty() ? "'@" : ", '@") + part.getSymName().str() + "'";
    replaced.insert_range(merger.getParts());
    remark::passed(function.getLoc(),
                   makeRemark("StepMerged", function.getSymName()))
        << ("'@" + function.getSymName() + "' is one function now, of " + names)
               .str()
        << remark::metric("Parts", merger.getParts().size());
  }
  eraseUnused(replaced.getArrayRef(), symbols);
  return !replaced.empty();
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

/// Whether `commsched.source` links functions of the module.
static bool hasSources(ModuleOp module) {
  bool isLinked = false;
  for (auto function : module.getOps<func::FuncOp>())
    forEachSource(function,
                  [&](unsigned, const StepSource &) { isLinked = true; });
  return isLinked;
}

void MergeStep::runOnOperation() {
  if (name.empty()) {
    emitError(getOperation().getLoc(),
              makeOptionError(*this, name, "must not be empty"));
    return signalPassFailure();
  }
  SymbolTable symbols(getOperation());
  if (!hasSources(getOperation())) {
    if (!mergeCalls(symbols))
      decline(getOperation().getLoc(), "none calls another one");
    return;
  }
  SmallVector<func::FuncOp> parts = findLinkedFunctions(
      getOperation(), [&](Location location, const Twine &reason) {
        decline(location, reason);
      });
  if (parts.empty())
    return;
  if (failed(checkNewSymbol(getOperation(), name, parts, *this, name)))
    return signalPassFailure();
  merge(parts, symbols);
}
