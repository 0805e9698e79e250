//===- MicroBatches.cpp - Micro-batches in one function -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinedFunction.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// The functions of the step
//===----------------------------------------------------------------------===//

static bool canBeAdded(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Whether `function` returns one of its arguments as that result.
static bool isPassedThrough(func::FuncOp function, unsigned result) {
  Operation *end = function.getBody().front().getTerminator();
  return isa<BlockArgument>(end->getOperand(result));
}

std::optional<AccumulatedStep> mlir::commsched::divideStep(
    ArrayRef<func::FuncOp> parts,
    function_ref<void(Location, const Twine &)> decline) {
  llvm::StringSet<> updating;
  for (func::FuncOp part : parts)
    forEachSource(part, [&](unsigned, const StepSource &source) {
      if (source.iterations == 1)
        updating.insert(source.function.getValue());
    });
  AccumulatedStep step;
  llvm::StringMap<unsigned> numbers;
  for (func::FuncOp part : parts) {
    bool isUpdate = updating.contains(part.getSymName());
    if (!isUpdate)
      numbers[part.getSymName()] = step.repeated.size();
    (isUpdate ? step.updates : step.repeated).push_back(part);
  }
  if (step.repeated.empty() || step.updates.empty()) {
    decline(func::FuncOp(parts.front()).getLoc(),
            step.updates.empty()
                ? "no function returns what the next repetition takes"
                : "each function returns what the next repetition takes");
    return std::nullopt;
  }
  std::optional<std::pair<Location, std::string>> obstacle;
  for (func::FuncOp part : step.repeated)
    forEachSource(part, [&](unsigned index, const StepSource &source) {
      if (source.iterations == 0 && !numbers.contains(source.function))
        obstacle = {part.getArgument(index).getLoc(),
                    ("argument " + Twine(index) + " of '@" + part.getSymName() +
                     "' comes from '@" + source.function.getValue() +
                     "', which runs once for all micro-batches")
                        .str()};
    });
  llvm::DenseSet<std::pair<unsigned, unsigned>> known;
  for (func::FuncOp part : step.updates)
    forEachSource(part, [&](unsigned index, const StepSource &source) {
      auto number = numbers.find(source.function);
      if (source.iterations == 1 || number == numbers.end() ||
          !known.insert({number->second, source.result}).second)
        return;
      step.taken.push_back({number->second, source.result});
      func::FuncOp from = step.repeated[number->second];
      Type type = from.getResultTypes()[source.result];
      if (!canBeAdded(type) && !isPassedThrough(from, source.result))
        obstacle = {part.getArgument(index).getLoc(),
                    ("result " + Twine(source.result) + " of '@" +
                     from.getSymName() + "', which '@" + part.getSymName() +
                     "' takes, is no tensor of floating-point numbers, which "
                     "could be added up")
                        .str()};
    });
  if (!obstacle)
    return step;
  decline(obstacle->first, obstacle->second);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Whether a result of the first micro-batch is an argument of the join that
/// all micro-batches share.
static bool isPassed(const FunctionJoin &join, JoinedPort port,
                     unsigned numRepeated) {
  while (true) {
    func::FuncOp function = join.parts[port.part];
    Operation *end = function.getBody().front().getTerminator();
    auto argument = dyn_cast<BlockArgument>(end->getOperand(port.index));
    if (!argument)
      return false;
    const JoinedOperand &operand =
        join.operands[port.part][argument.getArgNumber()];
    if (operand.argument)
      return join.arguments[*operand.argument].part < numRepeated &&
             getRole(function.getArgument(argument.getArgNumber())) != "input";
    port = operand.result;
  }
}

/// Adds to the join, for each port of `step.taken`, one result or one for each
/// micro-batch, and then the others. Returns, by port, how many it has.
static SmallVector<unsigned> addResults(const AccumulatedStep &step,
                                        unsigned count, StepLinker &linker) {
  FunctionJoin &join = linker.join;
  SmallVector<unsigned> numTaken;
  llvm::DenseSet<std::pair<unsigned, unsigned>> taken;
  for (JoinedPort port : step.taken) {
    taken.insert({port.part, port.index});
    bool isOne = isPassed(join, port, step.repeated.size());
    numTaken.push_back(isOne ? 1 : count);
    for (unsigned batch : llvm::seq(numTaken.back()))
      join.results.push_back({linker.getPart(batch, port.part), port.index});
  }
  for (unsigned batch : llvm::seq(count))
    for (auto [number, function] : llvm::enumerate(step.repeated))
      for (unsigned index : llvm::seq(func::FuncOp(function).getNumResults())) {
        std::pair<unsigned, unsigned> key(number, index);
        if (!taken.contains(key) && !linker.isTaken(number, index))
          join.results.push_back(
              {linker.getPart(batch, static_cast<unsigned>(number)), index});
      }
  return numTaken;
}

/// Returns the sum of values, each added as soon as it is there.
static Value addUp(ArrayRef<Value> values) {
  Value sum = values.front();
  for (Value value : values.drop_front()) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    sum = arith::AddFOp::create(builder, value.getLoc(), sum, value);
  }
  return sum;
}

/// Numbers what has the same `commsched.name`.
static void makeNamesUnique(MutableArrayRef<DictionaryAttr> attrs,
                            MLIRContext *context) {
  llvm::StringMap<unsigned> counts;
  for (DictionaryAttr &attr : attrs) {
    NamedAttrList list(attr);
    auto name = dyn_cast_if_present<StringAttr>(list.get(nameAttrName));
    if (!name)
      continue;
    if (unsigned number = counts[name.getValue()]++) {
      list.set(nameAttrName,
               StringAttr::get(context, name.getValue() + "." + Twine(number)));
      attr = list.getDictionary(context);
    }
  }
}

/// Replaces the values of several micro-batches that `function` returns by
/// their sums.
static void returnSums(func::FuncOp function, ArrayRef<unsigned> numTaken) {
  Operation *end = function.getBody().front().getTerminator();
  SmallVector<Value> values(end->getOperands()), returned;
  SmallVector<DictionaryAttr> attrs;
  unsigned next = 0;
  for (unsigned count : numTaken) {
    attrs.push_back(function.getResultAttrDict(next));
    returned.push_back(addUp(ArrayRef(values).slice(next, count)));
    next += count;
  }
  for (; next < values.size(); ++next) {
    attrs.push_back(function.getResultAttrDict(next));
    returned.push_back(values[next]);
  }
  end->setOperands(returned);
  makeNamesUnique(attrs, function.getContext());
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getArgumentTypes(),
                                             ValueRange(returned).getTypes()));
  function.setAllResultAttrs(attrs);
}

func::FuncOp mlir::commsched::createMicroBatches(const AccumulatedStep &step,
                                                 unsigned count,
                                                 StringRef name) {
  StepLinker linker(step.repeated, count);
  SmallVector<unsigned> numTaken = addResults(step, count, linker);
  func::FuncOp function = joinFunctions(linker.join, name);
  returnSums(function, numTaken);
  SmallVector<DictionaryAttr> attrs;
  for (unsigned index : llvm::seq(function.getNumArguments()))
    attrs.push_back(function.getArgAttrDict(index));
  makeNamesUnique(attrs, function.getContext());
  function.setAllArgAttrs(attrs);
  for (auto [index, source] : llvm::enumerate(linker.getSources())) {
    if (source)
      setStepSource(function, index, *source);
    // Later micro-batches may take it, too; so may the updates.
    if (getRole(function.getArgument(index)) != "input")
      function.removeArgAttr(index, freeableAttrName);
  }
  return function;
}
