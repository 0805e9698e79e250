//===- MicroBatches.cpp - Micro-batches in one function -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"
#include "../PassSupport.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "InlinedCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// The parts of the step
//===----------------------------------------------------------------------===//

static bool canBeAdded(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

static bool isInput(Value value) { return getRole(value) == inputRole; }

static std::string describePart(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return ("'@" + call.getCallee() + "'").str();
  return ("'" + op->getName().getStringRef() + "'").str();
}

namespace {

/// Tells apart what the operations of a step depend on.
class StepDivider {
public:
  StepDivider(func::FuncOp step, const SymbolTable &symbols);

  /// None, after a call of `decline`, if the step cannot be divided.
  std::optional<AccumulatedStep> divide(DeclineFunction decline);

private:
  enum class Kind { Shared, Repeated, Update };

  Value resolve(Value value) const;
  Kind classify(Operation *op);
  bool takeValues(Operation *update, DeclineFunction decline);

  func::FuncOp step;
  const SymbolTable &symbols;
  AccumulatedStep divided;
  llvm::BitVector isCarried;
  DenseMap<Operation *, Kind> kinds;
};

} // namespace

StepDivider::StepDivider(func::FuncOp step, const SymbolTable &symbols)
    : step(step), symbols(symbols), isCarried(step.getNumResults()) {
  divided.step = step;
  for (unsigned index : llvm::seq(step.getNumArguments()))
    if (std::optional<unsigned> result = getCarriedResult(step, index))
      isCarried.set(*result);
}

/// The value that `value` is if functions pass it through.
Value StepDivider::resolve(Value value) const {
  while (auto call = value.getDefiningOp<func::CallOp>()) {
    func::FuncOp callee = getPart(call, symbols);
    if (!callee)
      break;
    Operation *end = callee.getBody().front().getTerminator();
    auto argument = dyn_cast<BlockArgument>(
        end->getOperand(cast<OpResult>(value).getResultNumber()));
    if (!argument)
      break;
    value = call.getOperand(argument.getArgNumber());
  }
  return value;
}

StepDivider::Kind StepDivider::classify(Operation *op) {
  Kind kind = Kind::Shared;
  for (OpOperand &use : op->getUses())
    if (use.getOwner()->hasTrait<OpTrait::ReturnLike>() &&
        use.getOwner()->getParentOp() == step &&
        isCarried[use.getOperandNumber()] && resolve(use.get()) == use.get())
      kind = Kind::Update;
  visitReads(op, [&](Value value) {
    value = resolve(value);
    if (Operation *definition = value.getDefiningOp())
      kind = std::max(kind, kinds.lookup(definition));
    else if (isInput(value))
      kind = std::max(kind, Kind::Repeated);
  });
  return kind;
}

/// Adds what `update` takes of each micro-batch.
bool StepDivider::takeValues(Operation *update, DeclineFunction decline) {
  std::string obstacle;
  visitReads(update, [&](Value value) {
    value = resolve(value);
    Operation *definition = value.getDefiningOp();
    if (!definition) {
      if (isInput(value))
        obstacle = (describePart(update) +
                    ", which runs once for all micro-batches, takes argument " +
                    Twine(cast<BlockArgument>(value).getArgNumber()) +
                    " of '@" + step.getSymName() + "', which each of them has")
                       .str();
      return;
    }
    if (kinds.lookup(definition) != Kind::Repeated)
      return;
    divided.taken.insert(value);
    if (!canBeAdded(value.getType()))
      obstacle =
          ("result " + Twine(cast<OpResult>(value).getResultNumber()) + " of " +
           describePart(definition) + ", which " + describePart(update) +
           " takes, is no tensor of floating-point numbers, which could be "
           "added up")
              .str();
  });
  if (obstacle.empty())
    return true;
  decline(update->getLoc(), obstacle);
  return false;
}

std::optional<AccumulatedStep> StepDivider::divide(DeclineFunction decline) {
  Block &body = step.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Kind kind = kinds[&op] = classify(&op);
    (kind == Kind::Update     ? divided.updates
     : kind == Kind::Repeated ? divided.repeated
                              : divided.shared)
        .push_back(&op);
  }
  if (divided.repeated.empty() || divided.updates.empty()) {
    decline(step.getLoc(),
            divided.updates.empty()
                ? "no part of it returns what the next repetition takes"
                : "no part of it takes an input without returning what the "
                  "next repetition takes");
    return std::nullopt;
  }
  for (Operation *update : divided.updates)
    if (!takeValues(update, decline))
      return std::nullopt;
  for (Operation *op : divided.updates)
    for (OpOperand &operand : op->getOpOperands())
      divided.passed.push_back({&operand, resolve(operand.get())});
  for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
    Value value = resolve(operand.get());
    divided.passed.push_back({&operand, value});
    Operation *definition = value.getDefiningOp();
    divided.isOfEach.push_back(definition && !divided.taken.contains(value) &&
                               kinds.lookup(definition) == Kind::Repeated);
  }
  return std::move(divided);
}

/// The function of the module that repeats and calls its parts.
static func::FuncOp findStep(ModuleOp module, DeclineFunction decline) {
  func::FuncOp step;
  for (auto function : module.getOps<func::FuncOp>()) {
    bool repeats =
        llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
          return getCarriedResult(function, i).has_value();
        });
    bool hasCalls =
        function.walk([](func::CallOp call) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (!repeats || !hasLoneBlock(function) || !hasCalls)
      continue;
    if (step) {
      decline(function.getLoc(), "'@" + function.getSymName() + "' and '@" +
                                     step.getSymName() +
                                     "' are different steps");
      return {};
    }
    step = function;
  }
  if (!step)
    decline(
        module.getLoc(),
        "no function has arguments with '" + carriedAttrName +
            "' and calls what runs for each micro-batch and what runs once");
  return step;
}

std::optional<AccumulatedStep>
mlir::commsched::divideStep(ModuleOp module, const SymbolTable &symbols,
                            DeclineFunction decline) {
  func::FuncOp step = findStep(module, decline);
  if (!step)
    return std::nullopt;
  return StepDivider(step, symbols).divide(decline);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

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

/// The attributes of an argument of all micro-batches. Later ones may take it,
/// too, and so may the updates: only what is an input may be freed.
static DictionaryAttr getSharedAttrs(func::FuncOp step, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  NamedAttrList attrs(step.getArgAttrDict(argument.getArgNumber()));
  if (!isInput(value))
    attrs.erase(freeableAttrName);
  attrs.erase(carriedAttrName);
  return attrs.getDictionary(step.getContext());
}

/// The values of the step that its repeated operations take: arguments, then
/// others, both in their order.
static SmallVector<Value> findOperands(const AccumulatedStep &divided) {
  func::FuncOp step = divided.step;
  llvm::DenseSet<Value> used;
  for (Operation *op : divided.repeated)
    visitReads(op, [&](Value value) { used.insert(value); });
  SmallVector<Value> operands;
  for (BlockArgument argument : step.getArguments())
    if (used.contains(argument))
      operands.push_back(argument);
  for (Operation *op : divided.shared)
    if (!op->hasTrait<OpTrait::ConstantLike>())
      for (Value result : op->getResults())
        if (used.contains(result))
          operands.push_back(result);
  return operands;
}

MicroBatches::MicroBatches(const AccumulatedStep &divided, unsigned count,
                           bool keepsLoops)
    : divided(divided), count(count), keepsLoops(keepsLoops),
      operands(findOperands(divided)) {
  for (Value operand : operands)
    if (isInput(operand))
      inputs.push_back(cast<BlockArgument>(operand));
}

func::FuncOp MicroBatches::create(StringRef name, const SymbolTable &symbols) {
  func::FuncOp step = divided.step;
  MLIRContext *context = step.getContext();
  Location location = step.getLoc();
  SmallVector<Value> arguments(operands);
  for (unsigned batch = 1; batch < count; ++batch)
    arguments.append(inputs.begin(), inputs.end());
  SmallVector<DictionaryAttr> attrs = llvm::map_to_vector(
      arguments, [&](Value value) { return getSharedAttrs(step, value); });
  makeNamesUnique(attrs, context);
  auto function = func::FuncOp::create(
      location, name,
      FunctionType::get(context, ValueRange(arguments).getTypes(), {}));
  function.setPrivate();
  function.setAllArgAttrs(attrs);
  Block *body = function.addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  IRMapping shared;
  shared.map(operands, body->getArguments().take_front(operands.size()));
  for (Operation *op : divided.shared)
    if (op->hasTrait<OpTrait::ConstantLike>())
      builder.clone(*op, shared);
  // By micro-batch: what a value of the step is in it.
  SmallVector<IRMapping> mappings(count, shared);
  BodyInliner inliner(function);
  size_t next = operands.size();
  for (auto [batch, mapping] : llvm::enumerate(mappings)) {
    if (batch > 0)
      for (BlockArgument input : inputs)
        mapping.map(input, body->getArgument(next++));
    for (Operation *op : divided.repeated)
      builder.clone(*op, mapping);
  }
  returnResults(function, mappings, builder);
  if (count == 1 && !keepsLoops)
    unrollMicroBatches(*body, symbols);
  // The calls stand in the order of the micro-batches.
  llvm::StringMap<unsigned> numCalls;
  SmallVector<func::CallOp> calls;
  if (keepsLoops)
    function.walk([&](func::CallOp call) { calls.push_back(call); });
  else
    llvm::append_range(calls, body->getOps<func::CallOp>());
  for (func::CallOp call : calls)
    if (func::FuncOp callee = getPart(call, symbols)) {
      unsigned number = numCalls[callee.getSymName()]++;
      inliner.inlineCall(call, callee,
                         (callee.getSymName() + "." + Twine(number)).str());
    }
  renumberCollectives(function);
  return function;
}

/// Returns what the updates take, added up, and by result of the step the
/// values of all micro-batches.
void MicroBatches::returnResults(func::FuncOp function,
                                 ArrayRef<IRMapping> mappings,
                                 OpBuilder &builder) const {
  func::FuncOp step = divided.step;
  auto lookup = [&](Value value) {
    return llvm::map_to_vector(mappings, [&](const IRMapping &mapping) {
      return mapping.lookup(value);
    });
  };
  SmallVector<Value> returned;
  SmallVector<DictionaryAttr> attrs;
  for (Value value : divided.taken) {
    returned.push_back(addUp(lookup(value)));
    attrs.push_back({});
  }
  builder.setInsertionPointToEnd(&function.getBody().front());
  Operation *end = step.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands())
    if (divided.isOfEach[operand.getOperandNumber()])
      for (Value value : lookup(operand.get())) {
        returned.push_back(value);
        attrs.push_back(step.getResultAttrDict(operand.getOperandNumber()));
      }
  makeNamesUnique(attrs, step.getContext());
  func::ReturnOp::create(builder, step.getLoc(), returned);
  function.setFunctionType(FunctionType::get(step.getContext(),
                                             function.getArgumentTypes(),
                                             ValueRange(returned).getTypes()));
  function.setAllResultAttrs(attrs);
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Adds arguments to the step for the inputs of further micro-batches, and
/// returns them.
SmallVector<Value> MicroBatches::addInputs() const {
  func::FuncOp step = divided.step;
  SmallVector<Value> added;
  for (unsigned batch = 1; batch < count; ++batch)
    for (BlockArgument input : inputs) {
      unsigned index = step.getNumArguments();
      (void)step.insertArgument(index, input.getType(),
                                step.getArgAttrDict(input.getArgNumber()),
                                input.getLoc());
      added.push_back(step.getArgument(index));
    }
  SmallVector<DictionaryAttr> attrs =
      llvm::map_to_vector(llvm::seq(step.getNumArguments()),
                          [&](unsigned i) { return step.getArgAttrDict(i); });
  makeNamesUnique(attrs, step.getContext());
  step.setAllArgAttrs(attrs);
  return added;
}

/// Makes the step return what `call` does of each micro-batch, and carries
/// results by their new numbers.
void MicroBatches::returnOfEach(func::CallOp call) const {
  func::FuncOp step = divided.step;
  Operation *end = step.getBody().front().getTerminator();
  SmallVector<Value> returned;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<unsigned> numbers;
  size_t next = divided.taken.size();
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    bool isOfEach = divided.isOfEach[index];
    numbers.push_back(returned.size());
    for (unsigned i = 0, e = isOfEach ? count : 1; i < e; ++i) {
      returned.push_back(isOfEach ? call.getResult(next++) : operand.get());
      attrs.push_back(step.getResultAttrDict(index));
    }
  }
  makeNamesUnique(attrs, step.getContext());
  end->setOperands(returned);
  step.setFunctionType(FunctionType::get(step.getContext(),
                                         step.getArgumentTypes(),
                                         ValueRange(returned).getTypes()));
  step.setAllResultAttrs(attrs);
  for (unsigned index : llvm::seq(step.getNumArguments()))
    if (std::optional<unsigned> result = getCarriedResult(step, index))
      setCarriedResult(step, index, numbers[*result]);
}

void MicroBatches::replace(func::FuncOp function) const {
  Operation *first = divided.updates.front();
  for (auto [operand, value] : divided.passed)
    operand->set(value);
  for (Operation *op : divided.shared)
    if (first->isBeforeInBlock(op))
      op->moveBefore(first);
  SmallVector<Value> values(operands);
  values.append(addInputs());
  OpBuilder builder(first);
  auto call = func::CallOp::create(builder, first->getLoc(), function, values);
  for (auto [index, taken] : llvm::enumerate(divided.taken)) {
    Value value = taken;
    value.replaceUsesWithIf(call.getResult(index), [&](OpOperand &use) {
      return !llvm::is_contained(divided.repeated, use.getOwner());
    });
  }
  returnOfEach(call);
  for (Operation *op : llvm::reverse(divided.repeated))
    op->erase();
}
