//===- SteadyFunctions.cpp - Functions of a steady state ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SteadyFunctions.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/SteadyState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// Operations of the function with the pipelined loop that become a function.
struct SteadyPart {
  SteadyStateRole role;
  SmallVector<Operation *> operations;
  /// The values that are the state before and after the operations.
  SmallVector<Value> oldState;
  SmallVector<Value> newState;
};

/// An argument or a result of the step, of one repetition.
struct StepPort {
  unsigned number = 0;
  /// None for an argument that is the same in all.
  std::optional<int64_t> repetition;
  /// The value of the loop's function.
  Value value;
};

/// Writes the function of one part.
class SteadyFunctionWriter {
public:
  SteadyFunctionWriter(const StepLoop &steps, const SteadyPart &part,
                       int64_t depth)
      : steps(steps), step(steps.getStep()), part(part), depth(depth),
        builder(step->getContext()) {}

  func::FuncOp write();

private:
  void findPorts();
  void findArgumentsOfAll();
  void addCarriedResults();
  DictionaryAttr makeAttributes(DictionaryAttr ofStep, const StepPort &port,
                                StringRef numberName);
  DictionaryAttr makeStateAttributes(size_t place);
  func::FuncOp createFunction();
  void cloneOperations(func::FuncOp function);

  const StepLoop &steps;
  func::FuncOp step;
  const SteadyPart &part;
  int64_t depth;
  OpBuilder builder;
  /// Behind the state.
  SmallVector<StepPort> arguments;
  SmallVector<StepPort> results;
};

} // namespace

static std::optional<unsigned> getPort(Operation *op) {
  auto port = op->getAttrOfType<IntegerAttr>(portAttrName);
  return port ? std::optional<unsigned>(port.getInt()) : std::nullopt;
}

/// Calls `visit` for each operand of `op` and of the operations in it.
static void forEachOperand(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      visit(operand);
  });
}

/// Finds what repetitions are given and give away. The ports of one number
/// stand in the order of the repetitions, as they are all of one stage.
void SteadyFunctionWriter::findPorts() {
  std::map<unsigned, int64_t> numInputs, numOutputs;
  for (Operation *op : part.operations) {
    std::optional<unsigned> number = getPort(op);
    if (!number)
      continue;
    if (op->getNumOperands() == 0)
      arguments.push_back({*number, numInputs[*number]++, op->getResult(0)});
    else
      results.push_back({*number, numOutputs[*number]++, op->getOperand(0)});
  }
}

/// Finds the arguments of the step that the part takes for all repetitions.
void SteadyFunctionWriter::findArgumentsOfAll() {
  llvm::SetVector<Value> used;
  auto addArgument = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner()->getParentOp() == steps.getRepeated())
      used.insert(argument);
  };
  for (Operation *op : part.operations)
    forEachOperand(op, addArgument);
  llvm::for_each(part.newState, addArgument);
  for (Value value : used)
    arguments.push_back(
        {cast<BlockArgument>(value).getArgNumber(), std::nullopt, value});
}

/// The epilogue also returns what the repetition after the last would take.
void SteadyFunctionWriter::addCarriedResults() {
  Operation *terminator = steps.getRepeated().getBody().front().getTerminator();
  for (auto [number, value] :
       llvm::zip_equal(steps.getCarriedResults(), terminator->getOperands()))
    results.push_back({number, depth - 2, value});
}

/// Returns the attributes of an argument or a result behind the state.
DictionaryAttr SteadyFunctionWriter::makeAttributes(DictionaryAttr ofStep,
                                                    const StepPort &port,
                                                    StringRef numberName) {
  NamedAttrList attributes(dropCarried(ofStep));
  attributes.set(numberName, builder.getI64IntegerAttr(port.number));
  if (port.repetition) {
    attributes.set(repetitionAttrName,
                   builder.getI64IntegerAttr(*port.repetition));
    // Names remain unique.
    if (*port.repetition > 0)
      attributes.erase(nameAttrName);
  }
  return attributes.getDictionary(step->getContext());
}

/// Returns the attributes of a state argument. Whoever calls the function hands
/// the state over, so that it may be freed.
DictionaryAttr SteadyFunctionWriter::makeStateAttributes(size_t place) {
  NamedAttrList attributes;
  ArrayRef<unsigned> carried = steps.getCarriedArguments();
  if (place < carried.size())
    attributes.append(
        dropCarried(step.getArgAttrDict(carried[place])).getValue());
  if (!isa<FutureType>(part.oldState[place].getType()))
    attributes.set(freeableAttrName, builder.getUnitAttr());
  return attributes.getDictionary(step->getContext());
}

func::FuncOp SteadyFunctionWriter::createFunction() {
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  for (auto [place, value] : llvm::enumerate(part.oldState)) {
    argumentTypes.push_back(value.getType());
    argumentAttrs.push_back(makeStateAttributes(place));
  }
  for (const StepPort &port : arguments) {
    argumentTypes.push_back(port.value.getType());
    argumentAttrs.push_back(makeAttributes(step.getArgAttrDict(port.number),
                                           port, stepArgumentAttrName));
  }
  for (Value value : part.newState) {
    resultTypes.push_back(value.getType());
    resultAttrs.push_back(builder.getDictionaryAttr({}));
  }
  for (const StepPort &port : results) {
    resultTypes.push_back(port.value.getType());
    resultAttrs.push_back(makeAttributes(step.getResultAttrDict(port.number),
                                         port, stepResultAttrName));
  }
  auto function = func::FuncOp::create(
      builder, step.getLoc(),
      (step.getSymName() + "_" + stringifySteadyStateRole(part.role)).str(),
      builder.getFunctionType(argumentTypes, resultTypes));
  function.setVisibility(step.getVisibility());
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
  setSteadyState(function, {FlatSymbolRefAttr::get(step.getSymNameAttr()),
                            part.role, depth});
  return function;
}

/// Copies the operations of the part, and the constants that they use.
void SteadyFunctionWriter::cloneOperations(func::FuncOp function) {
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  size_t numState = part.oldState.size();
  mapping.map(part.oldState, entry->getArguments().take_front(numState));
  for (auto [port, argument] :
       llvm::zip_equal(arguments, entry->getArguments().drop_front(numState)))
    mapping.map(port.value, argument);
  auto cloneConstant = [&](Value value) {
    Operation *definition = value.getDefiningOp();
    if (definition && definition->hasTrait<OpTrait::ConstantLike>() &&
        !mapping.contains(value))
      builder.clone(*definition, mapping);
  };
  for (Operation *op : part.operations) {
    if (getPort(op))
      continue;
    forEachOperand(op, cloneConstant);
    if (!op->hasTrait<OpTrait::ConstantLike>())
      builder.clone(*op, mapping);
  }
  SmallVector<Value> returned = part.newState;
  for (const StepPort &port : results)
    returned.push_back(port.value);
  llvm::for_each(returned, cloneConstant);
  for (Value &value : returned)
    value = mapping.lookup(value);
  func::ReturnOp::create(builder, step.getLoc(), returned);
  // What the pipeliner computes of the number of the repetition.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*entry)))
    if (isa<arith::ArithDialect>(op.getDialect()) && isOpTriviallyDead(&op))
      op.erase();
}

func::FuncOp SteadyFunctionWriter::write() {
  findPorts();
  findArgumentsOfAll();
  if (part.role == SteadyStateRole::Epilogue)
    addCarriedResults();
  auto isBefore = [](const StepPort &a, const StepPort &b) {
    return std::make_pair(a.repetition.value_or(0), a.number) <
           std::make_pair(b.repetition.value_or(0), b.number);
  };
  llvm::sort(arguments, isBefore);
  llvm::sort(results, isBefore);
  func::FuncOp function = createFunction();
  cloneOperations(function);
  return function;
}

/// The operations of a block between two of its operations.
static SmallVector<Operation *> listOperations(Block::iterator begin,
                                               Block::iterator end) {
  return llvm::map_to_vector(llvm::make_range(begin, end),
                             [](Operation &op) { return &op; });
}

void mlir::commsched::createSteadyFunctions(const StepLoop &steps,
                                            scf::ForOp kernel, int64_t depth) {
  Block &outer = steps.getRepeated().getBody().front();
  Block &body = *kernel.getBody();
  SteadyPart parts[] = {
      {SteadyStateRole::Prologue,
       listOperations(outer.begin(), kernel->getIterator()),
       {},
       kernel.getInitArgs()},
      {SteadyStateRole::Steady,
       listOperations(body.begin(), body.getTerminator()->getIterator()),
       llvm::to_vector_of<Value>(kernel.getRegionIterArgs()),
       kernel.getYieldedValues()},
      {SteadyStateRole::Epilogue,
       listOperations(std::next(kernel->getIterator()),
                      outer.getTerminator()->getIterator()),
       llvm::to_vector_of<Value>(kernel.getResults()),
       {}}};
  SymbolTable symbols(steps.getStep()->getParentOp());
  Operation *place = steps.getStep();
  for (const SteadyPart &part : parts) {
    func::FuncOp function = SteadyFunctionWriter(steps, part, depth).write();
    symbols.insert(function, std::next(place->getIterator()));
    place = function;
  }
}
