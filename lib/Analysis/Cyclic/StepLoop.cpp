//===- StepLoop.cpp - A step as the body of a loop ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Cyclic/StepLoop.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/SteadyState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::commsched;

bool StepLoop::repeats(func::FuncOp step) {
  return llvm::any_of(llvm::seq(step.getNumArguments()), [&](unsigned index) {
    return getCarriedResult(step, index).has_value();
  });
}

bool StepLoop::isSteadyState(func::FuncOp step) {
  std::optional<SteadyStateInfo> info = getSteadyState(step);
  return info && info->role == SteadyStateRole::Steady;
}

/// What an argument is that no result feeds.
static StepArgument getKindOfOther(func::FuncOp step, unsigned index) {
  bool isInput = getRole(step.getArgument(index)) == "input";
  return isInput ? StepArgument::Input : StepArgument::Constant;
}

/// Reads the arguments of a step by the results that they take.
void StepLoop::readCarried() {
  for (unsigned index : llvm::seq(step.getNumArguments())) {
    std::optional<unsigned> result = getCarriedResult(step, index);
    if (!result) {
      kinds.push_back(getKindOfOther(step, index));
      continue;
    }
    kinds.push_back(StepArgument::Carried);
    carriedArguments.push_back(index);
    carriedResults.push_back(*result);
  }
}

/// Reads the arguments of a steady state: the results are the next state first.
void StepLoop::readState() {
  unsigned numState = getNumStateArguments(step);
  for (unsigned index : llvm::seq(step.getNumArguments())) {
    if (index >= numState) {
      kinds.push_back(getKindOfOther(step, index));
      continue;
    }
    kinds.push_back(StepArgument::Carried);
    carriedArguments.push_back(index);
    carriedResults.push_back(index);
  }
}

/// Creates a port: an operation that takes no time.
static Operation *createPort(OpBuilder &builder, Location location,
                             StringRef name, ValueRange inputs, Type type,
                             int64_t number) {
  auto port = ComputeOp::create(builder, location, type,
                                builder.getStringAttr(name), inputs,
                                /*flops=*/FloatAttr(), /*bytes=*/IntegerAttr(),
                                /*alias=*/IntegerAttr(),
                                /*mutates=*/DenseI64ArrayAttr(),
                                /*random=*/UnitAttr(), /*split=*/StringAttr());
  if (!inputs.empty())
    port.setAlias(0);
  port->setAttr(runtimeNsAttrName, builder.getI64IntegerAttr(0));
  port->setAttr(portAttrName, builder.getI64IntegerAttr(number));
  return port;
}

void StepLoop::build() {
  Location location = step.getLoc();
  OpBuilder builder(step->getContext());
  builder.setInsertionPointAfter(step);
  SmallVector<Type> returned =
      llvm::map_to_vector(carriedResults, [&](unsigned result) {
        return step.getResultTypes()[result];
      });
  repeated = func::FuncOp::create(
      builder, location, (step.getSymName() + "_repeated").str(),
      builder.getFunctionType(step.getArgumentTypes(), returned));
  for (unsigned index : llvm::seq(step.getNumArguments()))
    repeated.setArgAttrs(index, dropCarried(step.getArgAttrDict(index)));
  SymbolTable(step->getParentOp()).insert(repeated);
  Block *entry = repeated.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto createIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, location, value);
  };
  Value lower = createIndex(0), upper = createIndex(numRepetitions),
        stride = createIndex(1);
  SmallVector<Value> initial =
      llvm::map_to_vector(carriedArguments, [&](unsigned index) -> Value {
        return entry->getArgument(index);
      });
  auto loop =
      scf::ForOp::create(builder, location, lower, upper, stride, initial,
                         [](OpBuilder &, Location, Value, ValueRange) {});
  func::ReturnOp::create(builder, location, loop.getResults());
  builder.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  mapping.map(step.getArguments(), entry->getArguments());
  for (auto [place, index] : llvm::enumerate(carriedArguments))
    mapping.map(step.getArgument(index), loop.getRegionIterArg(place));
  for (auto [index, kind] : llvm::enumerate(kinds))
    if (kind == StepArgument::Input) {
      Value argument = step.getArgument(index);
      mapping.map(argument, createPort(builder, argument.getLoc(), "step.input",
                                       {}, argument.getType(), index)
                                ->getResult(0));
    }
  for (Operation &op : step.getBody().front().without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    if (op.hasTrait<OpTrait::ConstantLike>())
      copy->moveBefore(loop);
    else
      originals[copy] = &op;
  }
  Operation *terminator = step.getBody().front().getTerminator();
  llvm::DenseSet<unsigned> carried(carriedResults.begin(),
                                   carriedResults.end());
  for (OpOperand &operand : terminator->getOpOperands())
    if (!carried.contains(operand.getOperandNumber()))
      createPort(builder, terminator->getLoc(), "step.output",
                 mapping.lookup(operand.get()), operand.get().getType(),
                 operand.getOperandNumber());
  scf::YieldOp::create(
      builder, location,
      llvm::map_to_vector(carriedResults, [&](unsigned result) {
        return mapping.lookup(terminator->getOperand(result));
      }));
}

std::unique_ptr<StepLoop> StepLoop::create(func::FuncOp step,
                                           DeclineFunction decline) {
  std::unique_ptr<StepLoop> result(new StepLoop(step));
  Region &body = step.getBody();
  if (!body.hasOneBlock() || !isa<func::ReturnOp>(body.front().back())) {
    decline(step.getLoc(), "its body is not one block");
    return nullptr;
  }
  if (isSteadyState(step))
    result->readState();
  else
    result->readCarried();
  result->build();
  return result;
}

StepLoop::~StepLoop() {
  if (repeated)
    repeated.erase();
}

scf::ForOp StepLoop::getLoop() const {
  return *func::FuncOp(repeated).getOps<scf::ForOp>().begin();
}

FailureOr<std::vector<int64_t>> StepLoop::listConstantBytes() const {
  Block &body = func::FuncOp(step).getBody().front();
  FailureOr<BlockProblem> problem =
      BlockProblem::create(body, StreamOrder::Free);
  if (failed(problem))
    return failure();
  std::vector<int64_t> bytes;
  const schedule::Problem &known = problem->getProblem();
  for (schedule::BufferId id = 0; id < known.numBuffers(); ++id)
    if (auto argument =
            dyn_cast_if_present<BlockArgument>(problem->getBufferRoot(id));
        argument && argument.getOwner() == &body &&
        kinds[argument.getArgNumber()] == StepArgument::Constant)
      bytes.push_back(known.buffer(id).bytes);
  return bytes;
}
