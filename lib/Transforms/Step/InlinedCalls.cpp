//===- InlinedCalls.cpp - Bodies of functions in place of calls -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "InlinedCalls.h"
#include "../AssumedFusion.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/Inliner.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

bool mlir::commsched::hasLoneBlock(func::FuncOp function) {
  Region &body = function.getBody();
  return body.hasOneBlock() && !body.front().empty() &&
         isa<func::ReturnOp>(body.front().back());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void PartNames::beginPart(StringRef partPrefix) {
  prefix = (partPrefix + ".").str();
  for (const auto &renaming : renamings)
    taken.insert(renaming.second);
  renamings.clear();
}

StringRef PartNames::get(StringRef name) {
  auto [renaming, isNew] = renamings.try_emplace(name);
  if (isNew)
    renaming->second = choose(name);
  return renaming->second;
}

std::string PartNames::choose(StringRef name) const {
  if (!taken.contains(name))
    return name.str();
  std::string prefixed = prefix + name.str();
  std::string unique = prefixed;
  for (int64_t number = 1; taken.contains(unique); ++number)
    unique = prefixed + "." + std::to_string(number);
  return unique;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

BodyInliner::BodyInliner(func::FuncOp function)
    : InlinerInterface(function.getContext()) {
  function->walk([&](Operation *op) {
    if (StringRef name = getStableName(op); !name.empty())
      names.reserve(name);
    if (std::optional<ChunkInfo> info = getChunkInfo(op))
      chunks.reserve(info->of.getValue());
  });
}

/// Gives `op` names that nothing before it has. It keeps those by which a
/// profile of its graph knows it.
void BodyInliner::rename(Operation *op) {
  MLIRContext *context = op->getContext();
  if (StringRef name = getStableName(op); mayRename && !name.empty()) {
    auto unique = StringAttr::get(context, names.get(name));
    if (!op->hasAttr(graphAttrName))
      op->setDiscardableAttr(graphAttrName, graph);
    if (unique != name && !op->hasAttr(graphNameAttrName))
      op->setDiscardableAttr(graphNameAttrName,
                             op->getDiscardableAttr(nameAttrName));
    op->setDiscardableAttr(nameAttrName, unique);
  }
  if (std::optional<ChunkInfo> info = getChunkInfo(op)) {
    info->of = StringAttr::get(context, chunks.get(info->of));
    setChunkInfo(op, *info);
  }
}

void BodyInliner::processInlinedBlocks(
    iterator_range<Region::iterator> inlinedBlocks) {
  for (Block &block : inlinedBlocks)
    block.walk([&](Operation *op) {
      rename(op);
      if (auto call = dyn_cast<func::CallOp>(op); call && visitCall)
        visitCall(call);
    });
}

void BodyInliner::handleTerminator(Operation *op, ValueRange replaced) const {
  for (auto [value, operand] : llvm::zip_equal(replaced, op->getOperands()))
    value.replaceAllUsesWith(operand);
}

void BodyInliner::inlineCall(func::CallOp call, func::FuncOp callee,
                             StringRef prefix,
                             function_ref<void(func::CallOp)> visit) {
  names.beginPart(prefix);
  chunks.beginPart(prefix);
  graph = StringAttr::get(call.getContext(), getGraph(callee));
  visitCall = visit;
  [[maybe_unused]] LogicalResult inlined =
      inlineRegion(*this, InlinerConfig().getCloneCallback(), &callee.getBody(),
                   call, call.getOperands(), call.getResults());
  assert(succeeded(inlined) && "a call has the types of its callee");
  call.erase();
}

void mlir::commsched::renumberCollectives(func::FuncOp function) {
  Builder builder(function.getContext());
  function.walk([&](Block *block) {
    int64_t next = 0;
    for (Operation &op : *block)
      if (std::optional<int64_t> order = getCollectiveOrder(&op)) {
        if (*order < next)
          op.setDiscardableAttr(orderAttrName, builder.getI64IntegerAttr(next));
        next = std::max(*order, next) + 1;
      }
  });
}

//===----------------------------------------------------------------------===//
// A function that calls its parts
//===----------------------------------------------------------------------===//

namespace {

/// Makes a function of one that calls its parts.
class StepMerger {
public:
  StepMerger(func::FuncOp step, const SymbolTable &symbols,
             const Callees &callees)
      : step(step), symbols(symbols), callees(callees), inliner(step) {}

  SmallVector<func::FuncOp>
  merge(function_ref<void(func::CallOp, func::FuncOp, StringRef)> remarkKept,
        function_ref<bool(func::CallOp)> isTaken);

private:
  std::string explainKept(func::CallOp call, func::FuncOp callee);
  void inherit(func::CallOp call, func::FuncOp callee);

  func::FuncOp step;
  const SymbolTable &symbols;
  const Callees &callees;
  BodyInliner inliner;
  llvm::SetVector<func::FuncOp> parts;
  /// Functions that call others twice, which do so again, make more operations
  /// than any program has.
  static constexpr int64_t maxInlined = int64_t(1) << 20;
  int64_t numInlined = 0;
  /// The arguments of the step that calls took.
  llvm::DenseSet<Value> handedOn;
};

} // namespace

/// Why the call cannot be replaced by what it calls; empty if it can.
std::string StepMerger::explainKept(func::CallOp call, func::FuncOp callee) {
  if (callee.isExternal())
    return "which is only declared";
  if (!hasLoneBlock(callee))
    return "whose body is not one block";
  if (getSteadyState(callee))
    return "which is a part of a steady state";
  if (callee->hasAttr(perDeviceAttrName))
    return "which is the program of one device";
  if (callee.getNoInline() || call.getNoInline())
    return "which has 'no_inline'";
  if (numInlined > maxInlined)
    return ("as it has " + Twine(numInlined) + " operations of others").str();
  return callees.isRecursive(callee) ? "which calls itself" : "";
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

/// Whether `call` is an operation of its own, and not a part of a step: it is
/// `commsched.pure`, or its time is known.
static bool isOperator(func::CallOp call) {
  return call->hasAttr(pureAttrName) || getPinnedRuntimeNs(call);
}

SmallVector<func::FuncOp> StepMerger::merge(
    function_ref<void(func::CallOp, func::FuncOp, StringRef)> remarkKept,
    function_ref<bool(func::CallOp)> isTaken) {
  SmallVector<func::CallOp> pending;
  step.walk([&](func::CallOp call) {
    if (isTaken(call))
      pending.push_back(call);
  });
  std::reverse(pending.begin(), pending.end());
  while (!pending.empty()) {
    func::CallOp call = pending.pop_back_val();
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    // A compiler that is assumed to fuse what is called puts it there first.
    if (!callee || (isOperator(call) && !isAssumed(call)))
      continue;
    if (std::string reason = explainKept(call, callee); !reason.empty()) {
      remarkKept(call, callee, reason);
      continue;
    }
    inherit(call, callee);
    numInlined += llvm::range_size(callee.getBody().front());
    parts.insert(callee);
    size_t first = pending.size();
    inliner.inlineCall(call, callee, callee.getSymName(),
                       [&](func::CallOp inner) { pending.push_back(inner); });
    std::reverse(pending.begin() + first, pending.end());
  }
  renumberCollectives(step);
  return parts.takeVector();
}

SmallVector<func::FuncOp> mlir::commsched::inlineCalls(
    func::FuncOp step, const SymbolTable &symbols, const Callees &callees,
    function_ref<void(func::CallOp, func::FuncOp, StringRef)> explainKept,
    function_ref<bool(func::CallOp)> isTaken) {
  return StepMerger(step, symbols, callees).merge(explainKept, isTaken);
}

OwningOpRef<func::FuncOp> mlir::commsched::mergeCopy(func::FuncOp step,
                                                     const SymbolTable &symbols,
                                                     const Callees &callees) {
  OpBuilder builder(step.getContext());
  builder.setInsertionPointAfter(step);
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(builder.clone(*step));
  inlineCalls(*copy, symbols, callees, [](auto...) {});
  return copy;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Clones the operations of `block` for an iteration, and returns what `passed`
/// are there.
static SmallVector<Value> cloneIteration(Block &block, int64_t iteration,
                                         ValueRange passed, IRMapping &values,
                                         OpBuilder &builder) {
  for (Operation &op : block.without_terminator()) {
    Operation *clone = builder.clone(op, values);
    if (StringRef name = getStableName(&op); !name.empty())
      clone->setDiscardableAttr(
          nameAttrName,
          builder.getStringAttr(name + ".iteration." + Twine(iteration)));
  }
  return llvm::map_to_vector(
      passed, [&](Value value) { return values.lookupOrDefault(value); });
}

void mlir::commsched::unrollFully(scf::WhileOp loop, int64_t count) {
  OpBuilder builder(loop);
  SmallVector<Value> carried(loop.getInits()), results;
  for (int64_t iteration = 0; iteration < count; ++iteration) {
    IRMapping values;
    values.map(loop.getBeforeArguments(), carried);
    results = cloneIteration(*loop.getBeforeBody(), iteration,
                             loop.getConditionOp().getArgs(), values, builder);
    values.map(loop.getAfterArguments(), results);
    carried = cloneIteration(*loop.getAfterBody(), iteration,
                             loop.getYieldOp().getOperands(), values, builder);
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
}

void mlir::commsched::unrollFully(scf::ForOp loop, int64_t count,
                                  function_ref<Value(int64_t)> getCounter) {
  OpBuilder builder(loop);
  SmallVector<Value> carried(loop.getInitArgs());
  for (int64_t iteration = 0; iteration < count; ++iteration) {
    IRMapping values;
    values.map(loop.getInductionVar(), getCounter(iteration));
    values.map(loop.getRegionIterArgs(), carried);
    carried = cloneIteration(*loop.getBody(), iteration,
                             loop.getYieldedValues(), values, builder);
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

func::FuncOp mlir::commsched::getPart(func::CallOp call,
                                      const SymbolTable &symbols) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  bool isPart = callee && !isOperator(call) && hasLoneBlock(callee);
  return isPart ? callee : func::FuncOp();
}

/// Adds `change` for each symbol that `root` or an operation in it names.
/// MLIR's own search ends at operations of unregistered dialects that have a
/// region.
static void countUses(Operation *root, int64_t change,
                      llvm::DenseMap<Attribute, int64_t> &numUses) {
  auto count = [&](Attribute attributes) {
    attributes.walk([&](SymbolRefAttr symbol) {
      numUses[symbol.getRootReference()] += change;
    });
  };
  root->walk([&](Operation *op) {
    count(op->getAttrDictionary());
    if (!op->isRegistered())
      if (Attribute properties = op->getPropertiesAsAttribute())
        count(properties);
  });
}

void mlir::commsched::eraseUnused(ArrayRef<func::FuncOp> parts,
                                  SymbolTable &symbols) {
  llvm::DenseMap<Attribute, int64_t> numUses;
  countUses(symbols.getOp(), 1, numUses);
  llvm::SetVector<func::FuncOp> kept(parts.begin(), parts.end());
  auto isUnused = [&](func::FuncOp part) {
    if (!part.isPrivate() || numUses.lookup(part.getSymNameAttr()) > 0)
      return false;
    countUses(part, -1, numUses);
    symbols.erase(part);
    return true;
  };
  // What one calls may be unused without it.
  while (kept.remove_if(isUnused))
    ;
}
