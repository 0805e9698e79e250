//===- SplitBackward.cpp - Pass that splits a backward --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Joint/SplitFunction.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Transforms/Passes.h"
#include "JoinedFunction.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SPLITBACKWARD
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// One of the two functions.
struct BackwardHalf {
  std::string name;
  SmallVector<FunctionPort> arguments;
  SmallVector<FunctionPort> results;
};

struct SplitBackward : mlir::commsched::impl::SplitBackwardBase<SplitBackward> {
  using SplitBackwardBase::SplitBackwardBase;

  void runOnOperation() override;

private:
  LogicalResult checkNames(func::FuncOp backward);
  bool decline(func::FuncOp backward, Location location, const Twine &reason);
  FailureOr<llvm::BitVector> readInputGradients(func::FuncOp backward,
                                                const SymbolUserMap &users);
  bool isSplittable(func::FuncOp backward,
                    const llvm::BitVector &isInputGradient);
  void replace(func::FuncOp backward, const BackwardSplit &split,
               const SymbolUserMap &users);
};

} // namespace

//===----------------------------------------------------------------------===//
// The function and its results
//===----------------------------------------------------------------------===//

static std::string getInputName(func::FuncOp backward) {
  return (backward.getSymName() + "_input").str();
}

static std::string getWeightName(func::FuncOp backward) {
  return (backward.getSymName() + "_weight").str();
}

/// Emits an error if the name of a half is that of something else.
LogicalResult SplitBackward::checkNames(func::FuncOp backward) {
  for (const std::string &name :
       {getInputName(backward), getWeightName(backward)})
    if (Operation *found = SymbolTable::lookupSymbolIn(getOperation(), name))
      return emitOpErrorWithNote(backward, found->getLoc(), "it is here")
             << "is to be split, and a half is to be '@" << name
             << "', but the module has that symbol";
  return success();
}

/// Emits the remark `BackwardNotSplit`. Returns false.
bool SplitBackward::decline(func::FuncOp backward, Location location,
                            const Twine &reason) {
  remark::missed(location,
                 makeRemark("BackwardNotSplit", backward.getSymName()))
      << ("'@" + backward.getSymName() + "' is not split: " + reason).str();
  return false;
}

/// The calls among `users` of a function.
static auto getCalls(ArrayRef<Operation *> users) {
  return llvm::make_filter_range(
      llvm::map_range(
          users, [](Operation *user) { return dyn_cast<func::CallOp>(user); }),
      [](func::CallOp call) { return call != nullptr; });
}

/// Whether a parameter of the next repetition of `step` is this operand of its
/// end.
static bool isParameter(func::FuncOp step, unsigned result) {
  return llvm::any_of(llvm::seq(step.getNumArguments()), [&](unsigned index) {
    return getCarriedResult(step, index) == result &&
           getRole(step, index) == parameterRole;
  });
}

/// Whether a parameter of the next repetition depends on `value`.
static bool updatesParameter(Value value) {
  auto step = value.getParentRegion()->getParentOfType<func::FuncOp>();
  SmallVector<Value> pending = {value};
  llvm::DenseSet<Value> known;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!known.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      bool isEnd = user->hasTrait<OpTrait::ReturnLike>();
      if (isEnd && user->getParentOp() == step) {
        if (isParameter(step, use.getOperandNumber()))
          return true;
        continue;
      }
      llvm::append_range(pending, isEnd ? user->getParentOp()->getResults()
                                        : user->getResults());
    }
  }
  return false;
}

/// By result of `backward`: whether a parameter of the next repetition depends
/// on it, in a function that calls it.
static llvm::BitVector findParameterGradients(func::FuncOp backward,
                                              const SymbolUserMap &users) {
  llvm::BitVector found(backward.getNumResults());
  for (func::CallOp call : getCalls(users.getUsers(backward)))
    for (OpResult result : call->getResults())
      if (updatesParameter(result))
        found.set(result.getResultNumber());
  return found;
}

FailureOr<llvm::BitVector>
SplitBackward::readInputGradients(func::FuncOp backward,
                                  const SymbolUserMap &users) {
  if (inputGradients.empty())
    return findParameterGradients(backward, users).flip();
  llvm::BitVector isInputGradient(backward.getNumResults());
  for (int64_t index : inputGradients) {
    if (index < 0 || index >= static_cast<int64_t>(isInputGradient.size())) {
      InFlightDiagnostic diag = emitError(
          getOperation().getLoc(),
          makeOptionError(*this, inputGradients,
                          "names result " + Twine(index) + ", but '@" +
                              backward.getSymName() + "' has " +
                              Twine(isInputGradient.size()) + " results"));
      diag.attachNote(backward.getLoc()) << "the function is here";
      return diag;
    }
    isInputGradient.set(index);
  }
  return isInputGradient;
}

bool SplitBackward::isSplittable(func::FuncOp backward,
                                 const llvm::BitVector &isInputGradient) {
  auto keep = [&](const Twine &reason) {
    return decline(backward, backward.getLoc(), reason);
  };
  if (!hasLoneBlock(backward))
    return keep("its body is not one block");
  if (getSteadyState(backward))
    return keep("it is a part of a steady state");
  for (auto other : getOperation().getOps<func::FuncOp>()) {
    std::optional<SteadyStateInfo> steady = getSteadyState(other);
    if (steady && steady->step.getAttr() == backward.getSymNameAttr())
      return keep("'@" + other.getSymName() +
                  "' is a part of its steady state");
  }
  if (isInputGradient.all())
    return keep(
        inputGradients.empty()
            ? "no parameter of the next repetition depends on a result of it"
            : "no result of it is a gradient of a weight");
  if (isInputGradient.none())
    return keep("each result of it is a gradient of a parameter");
  return true;
}

//===----------------------------------------------------------------------===//
// The halves
//===----------------------------------------------------------------------===//

/// What the half of the weights has on an argument that the other half feeds.
static DictionaryAttr getHandedAttrs(func::FuncOp backward, Value value) {
  MLIRContext *context = backward.getContext();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return dropCarried(backward.getArgAttrDict(argument.getArgNumber()));
  NamedAttrList attrs;
  if (isa<ShapedType>(value.getType()))
    attrs.set(roleAttrName, StringAttr::get(context, savedActivationRole));
  if (DenseI64ArrayAttr hints = getSizeHints(value))
    attrs.set(sizeHintsAttrName, hints);
  return attrs.getDictionary(context);
}

/// Decides what both halves take and return.
static std::pair<BackwardHalf, BackwardHalf>
planHalves(func::FuncOp backward, const BackwardSplit &split) {
  BackwardHalf ofInputs = {getInputName(backward), {}, {}};
  BackwardHalf ofWeights = {getWeightName(backward), {}, {}};
  Operation *end = backward.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    BackwardHalf &half = split.isInputGradient[index] ? ofInputs : ofWeights;
    half.results.push_back({operand.get(), backward.getResultAttrDict(index)});
  }
  for (Value value : split.handed) {
    ofInputs.results.push_back({value, {}});
    ofWeights.arguments.push_back({value, getHandedAttrs(backward, value)});
  }
  for (BlockArgument argument : backward.getArguments()) {
    unsigned index = argument.getArgNumber();
    FunctionPort port = {argument, backward.getArgAttrDict(index)};
    if (split.inputArguments[index])
      ofInputs.arguments.push_back(port);
    if (split.weightArguments[index])
      ofWeights.arguments.push_back(port);
  }
  return {ofInputs, ofWeights};
}

/// The attributes of the backward that hold for each half.
static DictionaryAttr getHalfOwnAttributes(func::FuncOp backward) {
  NamedAttrList attrs =
      dropWholeAttributes(backward->getDiscardableAttrDictionary());
  attrs.set(graphAttrName,
            StringAttr::get(backward.getContext(), getGraph(backward)));
  return attrs.getDictionary(backward.getContext());
}

/// Creates a half behind `previous`, of the operations for which `computes`
/// holds.
static func::FuncOp
createBackwardHalf(func::FuncOp backward, Operation *previous,
                   const BackwardHalf &half,
                   function_ref<bool(Operation *)> computes) {
  IRMapping mapping;
  func::FuncOp function = createFunction(backward.getLoc(), half.name,
                                         half.arguments, half.results, mapping);
  function->setDiscardableAttrs(getHalfOwnAttributes(backward));
  function.setVisibility(backward.getVisibility());
  OpBuilder builder(backward.getContext());
  builder.setInsertionPointAfter(previous);
  builder.insert(function);
  builder.setInsertionPointToEnd(&function.getBody().front());
  Block &block = backward.getBody().front();
  for (Operation &op : block.without_terminator())
    if (computes(&op))
      builder.clone(op, mapping);
  func::ReturnOp::create(
      builder, block.getTerminator()->getLoc(),
      llvm::map_to_vector(half.results, [&](const FunctionPort &port) {
        return mapping.lookup(port.value);
      }));
  return function;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Makes `call` of the backward calls of its halves.
static void replaceCall(func::CallOp call, const BackwardSplit &split,
                        func::FuncOp ofInputs, func::FuncOp ofWeights) {
  OpBuilder builder(call);
  auto take = [&](const llvm::BitVector &arguments,
                  SmallVectorImpl<Value> &operands) {
    for (unsigned index : arguments.set_bits())
      operands.push_back(call.getOperand(index));
  };
  SmallVector<Value> operands;
  take(split.inputArguments, operands);
  auto inputs =
      func::CallOp::create(builder, call.getLoc(), ofInputs, operands);
  unsigned numInputs = split.isInputGradient.count();
  operands.assign(inputs.result_begin() + numInputs, inputs.result_end());
  take(split.weightArguments, operands);
  auto weights =
      func::CallOp::create(builder, call.getLoc(), ofWeights, operands);
  unsigned nextInput = 0, nextWeight = 0;
  for (OpResult result : call->getResults())
    result.replaceAllUsesWith(split.isInputGradient[result.getResultNumber()]
                                  ? inputs.getResult(nextInput++)
                                  : weights.getResult(nextWeight++));
  call.erase();
}

void SplitBackward::replace(func::FuncOp backward, const BackwardSplit &split,
                            const SymbolUserMap &users) {
  auto [inputPlan, weightPlan] = planHalves(backward, split);
  func::FuncOp ofInputs =
      createBackwardHalf(backward, backward, inputPlan, [&](Operation *op) {
        return split.ofInputs.contains(op);
      });
  func::FuncOp ofWeights =
      createBackwardHalf(backward, ofInputs, weightPlan, [&](Operation *op) {
        return !split.ofInputs.contains(op) || split.repeated.contains(op);
      });
  remark::passed(backward.getLoc(),
                 makeRemark("BackwardSplit", backward.getSymName()))
      << ("'@" + backward.getSymName() + "' is '@" + ofInputs.getSymName() +
          "', which computes " + Twine(split.isInputGradient.count()) +
          " gradients of inputs, and '@" + ofWeights.getSymName() +
          "', which takes " + Twine(split.handed.size()) + " values from it")
             .str()
      << remark::metric("HandedValues", split.handed.size())
      << remark::metric("HandedBytes",
                        getMultipleOfBytes(split.handed, 1).value_or(0));
  bool isNeeded = false;
  for (Operation *user : users.getUsers(backward)) {
    if (auto call = dyn_cast<func::CallOp>(user))
      replaceCall(call, split, ofInputs, ofWeights);
    else
      isNeeded |= user->getParentOp() != getOperation();
  }
  if (isNeeded)
    backward.setPrivate();
  else
    backward.erase();
}

void SplitBackward::runOnOperation() {
  FailureOr<func::FuncOp> backward =
      findNamedFunction(getOperation(), function, *this, function);
  if (failed(backward))
    return signalPassFailure();
  SymbolTableCollection symbolTables;
  SymbolUserMap users(symbolTables, getOperation());
  FailureOr<llvm::BitVector> isInputGradient =
      readInputGradients(*backward, users);
  if (failed(isInputGradient) || failed(checkNames(*backward)))
    return signalPassFailure();
  if (!isSplittable(*backward, *isInputGradient))
    return markAllAnalysesPreserved();
  BackwardSplit split;
  FailureOr<std::optional<BlockObstacle>> obstacle =
      splitBackward(*backward, *isInputGradient, split);
  if (failed(obstacle))
    return signalPassFailure();
  if (*obstacle) {
    decline(*backward, (*obstacle)->location, (*obstacle)->reason);
    return markAllAnalysesPreserved();
  }
  replace(*backward, split, users);
}
