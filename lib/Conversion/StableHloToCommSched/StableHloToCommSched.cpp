//===- StableHloToCommSched.cpp - Conversion from StableHLO ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX writes what a scan computes as a private function that the loop calls.
// MLIR's inliner does not inline operations of unregistered dialects.
//
// What has no form in `commsched` does not end the conversion: it stays where
// it is, is a barrier for what communicates, and costs what the model says.
//
// Function passes, memory budgets and reports are about functions. What runs on
// one device is the body of a `sdy.manual_computation`, so it becomes a
// function, which the region calls:
//
//   %r = "sdy.manual_computation"(%x) <{...}> ({
//   ^bb0(%a: tensor<8xf32>):
//     %c = func.call @main.manual_computation_0(%a) : ...
//     "sdy.return"(%c) : (tensor<8xf32>) -> ()
//   }) : ...
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

namespace mlir::commsched {
#define GEN_PASS_DEF_CONVERTSTABLEHLOTOCOMMSCHED
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

stablehlo::Context::Context(ModuleOp module, int64_t ranksPerNode,
                            bool isStrict)
    : module(module), groups(module, ranksPerNode), isStrict(isStrict) {}

namespace {

struct ConvertStableHloToCommSchedPass
    : commsched::impl::ConvertStableHloToCommSchedBase<
          ConvertStableHloToCommSchedPass> {
  using ConvertStableHloToCommSchedBase::ConvertStableHloToCommSchedBase;

  void runOnOperation() final {
    if (failed(convert(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult convert(ModuleOp module);
};

} // namespace

LogicalResult ConvertStableHloToCommSchedPass::convert(ModuleOp module) {
  if (ranksPerNode < 1)
    return module.emitError("the option 'ranks-per-node' is ")
           << ranksPerNode.getValue() << ", and a node has at least one rank";
  SymbolTable symbols(module);
  stablehlo::Context context(module, ranksPerNode, strict || !lenient);
  if (failed(context.groups.initialize(devices)))
    return failure();
  FailureOr<SmallVector<stablehlo::Collective>> collectives =
      stablehlo::collectCollectives(context);
  if (failed(collectives))
    return failure();

  stablehlo::outlineManualComputations(*collectives, symbols);
  stablehlo::replaceCollectives(*collectives, context, symbols);
  stablehlo::annotatePureCalls(module, symbols);
  stablehlo::annotateFreeableArguments(module, symbols);
  if (!collectives->empty())
    module->setAttr(packedLaunchesAttrName, UnitAttr::get(&getContext()));
  return stablehlo::remarkOnKept(context);
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

Reading mlir::commsched::stablehlo::keep(Operation *op, const Twine &reason,
                                         Context &context) {
  if (!context.isStrict) {
    context.kept.push_back({op, reason.str()});
    return Reading::Kept;
  }
  op->emitOpError("is not converted: ")
      << reason << "; without 'strict' it blocks in its place";
  return Reading::Failed;
}

/// What `op` does in its place, and for how long.
static std::string describePrice(Operation *op, const OperationPrice &price,
                                 OperationCosts &costs) {
  bool isInFlight = getCommunicationEffect(op) == CommunicationEffect::Start;
  std::string text =
      isInFlight ? "it is in flight up to its wait" : "it blocks in its place";
  std::string ns = std::to_string(price.timeNs) + " ns";
  if (price.isKnown())
    return text + ", for " + ns;
  return text + ", for an assumed " + ns + ": " + explainUnknownCost(costs, op);
}

LogicalResult mlir::commsched::stablehlo::remarkOnKept(Context &context) {
  // The texts cost more than the conversion.
  if (context.kept.empty() || !context.module.getContext()->getRemarkEngine())
    return success();
  FailureOr<std::shared_ptr<CostAnalysis>> analysis =
      CostAnalysis::create(context.module);
  if (failed(analysis))
    return failure();
  OperationCosts *costs = (*analysis)->getCosts();
  for (const Kept &kept : context.kept) {
    Operation *op = kept.op;
    auto function = op->getParentOfType<FunctionOpInterface>();
    OperationPrice price = costs->price(op);
    auto remark =
        remark::missed(op->getLoc(), remark::RemarkOpts::name("CollectiveKept")
                                         .category("commsched")
                                         .function(function ? function.getName()
                                                            : StringRef()));
    remark << (op->getName().getStringRef() + " is not converted: " +
               kept.reason + "; " + describePrice(op, price, *costs))
                  .str();
    remark << remark::metric("RuntimeNs", price.timeNs);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Manual computations
//===----------------------------------------------------------------------===//

/// The closest manual computation around `op`; null if there is none.
static Operation *getManualComputation(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (parent->getName().getStringRef() == manualComputationName)
      return parent;
  return nullptr;
}

/// The terminator of the body, or null if it does not have the form that
/// Shardy's verifier requires.
static Operation *getManualReturn(Operation *computation) {
  if (computation->getNumRegions() != 1 ||
      !computation->getRegion(0).hasOneBlock() ||
      computation->getRegion(0).front().empty())
    return nullptr;
  Operation &last = computation->getRegion(0).front().back();
  return last.getName().getStringRef() == manualReturnName ? &last : nullptr;
}

/// A private function of the body's arguments, followed by the values from
/// outside that it uses.
static func::FuncOp createFunction(Operation *computation, Block &body,
                                   ValueRange captured, Operation *returned,
                                   StringRef name) {
  SmallVector<Type> inputs = llvm::to_vector(body.getArgumentTypes());
  llvm::append_range(inputs, captured.getTypes());
  auto type = FunctionType::get(computation->getContext(), inputs,
                                llvm::to_vector(returned->getOperandTypes()));
  OpBuilder detached(computation->getContext());
  auto function =
      func::FuncOp::create(detached, computation->getLoc(), name, type);
  function.setPrivate();
  function->setDiscardableAttr(perDeviceAttrName, detached.getUnitAttr());
  return function;
}

/// Moves the body of `computation` into the function `name`.
static void outline(Operation *computation, func::FuncOp parent, StringRef name,
                    SymbolTable &symbols) {
  Operation *returned = getManualReturn(computation);
  Region &region = computation->getRegion(0);
  Block *body = &region.front();
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(region, captured);
  for (Value value : returned->getOperands())
    if (value.getParentRegion() != &region)
      captured.insert(value);

  func::FuncOp function = createFunction(
      computation, *body, captured.getArrayRef(), returned, name);
  symbols.insert(function, std::next(Block::iterator(parent)));

  // The region gets a block that calls, and the function the body.
  Block *caller = new Block();
  for (BlockArgument argument : body->getArguments())
    caller->addArgument(argument.getType(), argument.getLoc());
  region.push_back(caller);
  body->moveBefore(&function.getBody(), function.getBody().end());
  for (Value value : captured) {
    BlockArgument argument = body->addArgument(value.getType(), value.getLoc());
    value.replaceUsesWithIf(argument, [&](OpOperand &use) {
      return function.getBody().isAncestor(use.getOwner()->getParentRegion());
    });
  }
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  func::ReturnOp::create(builder, returned->getLoc(), returned->getOperands());
  returned->moveBefore(caller, caller->end());
  builder.setInsertionPoint(returned);
  SmallVector<Value> operands =
      llvm::to_vector_of<Value>(caller->getArguments());
  llvm::append_range(operands, captured);
  auto call =
      func::CallOp::create(builder, computation->getLoc(), function, operands);
  returned->setOperands(call.getResults());
}

/// The closest manual computations around `collectives`, and around the calls
/// of functions that run them.
static llvm::SetVector<Operation *>
findComputations(ArrayRef<Collective> collectives, Operation *module) {
  llvm::StringMap<SmallVector<Operation *>> calls;
  module->walk(
      [&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
  llvm::SetVector<Operation *> computations;
  llvm::SetVector<func::FuncOp> functions;
  auto visit = [&](Operation *op) {
    if (Operation *computation = getManualComputation(op))
      computations.insert(computation);
    else if (auto function = op->getParentOfType<func::FuncOp>())
      functions.insert(function);
  };
  for (const Collective &collective : collectives)
    visit(collective.op);
  for (size_t i = 0; i < functions.size(); ++i) {
    func::FuncOp function = functions[i];
    llvm::for_each(calls.lookup(function.getSymName()), visit);
  }
  return computations;
}

void mlir::commsched::stablehlo::outlineManualComputations(
    ArrayRef<Collective> collectives, SymbolTable &symbols) {
  llvm::DenseMap<Operation *, int64_t> counts;
  for (Operation *computation :
       findComputations(collectives, symbols.getOp())) {
    auto parent = computation->getParentOfType<func::FuncOp>();
    if (!parent || !getManualReturn(computation))
      continue;
    std::string name =
        (parent.getSymName() + ".manual_computation_" + Twine(counts[parent]++))
            .str();
    outline(computation, parent, name, symbols);
  }
}
