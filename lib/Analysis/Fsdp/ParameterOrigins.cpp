//===- ParameterOrigins.cpp - Values made from parameters -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ParameterOrigins.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using ObstacleKind = FsdpObstacle::Kind;

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

SmallVector<Value> mlir::commsched::getTensorInputs(Operation *op) {
  SmallVector<Value> inputs;
  visitReads(op, [&](Value value) {
    if (!isNumber(value.getType()))
      inputs.push_back(value);
  });
  return inputs;
}

static bool isRandom(Operation *op) {
  return llvm::any_of(getStatedEffects(op), [](const auto &effect) {
    return effect.getResource() == RandomStateResource::get();
  });
}

/// Whether the operations nested in `op` give numbers only.
static bool holdsOnlyNumbers(Operation *op) {
  auto givesTensor = [&](Operation *nested) {
    bool isNested = nested != op;
    return isNested && !llvm::all_of(nested->getResultTypes(), isNumber)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return op->getNumRegions() == 0 || !op->walk(givesTensor).wasInterrupted();
}

bool mlir::commsched::isLocalComputation(Operation *op) {
  return getCommunicationEffect(op) == CommunicationEffect::None &&
         !isRandom(op) && holdsOnlyNumbers(op);
}

/// Whether `op`, a local computation, does arithmetic, or might.
static bool mayDoArithmetic(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return false;
  std::optional<double> flops = cost.getFlopCount();
  // A region without a flop count, as a size is dynamic, may do arithmetic.
  return (flops ? *flops > 0 : op->getNumRegions() > 0) || cost.isExpensive();
}

/// Whether the only result of `op` has the shape of a concatenation of
/// `inputs`: along one dimension the sizes add up, all others are equal.
static bool isConcatenation(Operation *op, ArrayRef<Value> inputs) {
  if (op->getNumResults() != 1)
    return false;
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result)
    return false;
  // The sum along every dimension, and the only one that is not equal.
  SmallVector<int64_t> sums(result.getRank(), 0);
  std::optional<int64_t> joined;
  for (Value input : inputs) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.getRank() != result.getRank())
      return false;
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      int64_t index = dim;
      if (size == result.getDimSize(index) || joined == index)
        continue;
      if (joined)
        return false;
      joined = index;
    }
    for (auto [sum, size] : llvm::zip_equal(sums, type.getShape()))
      if (ShapedType::isDynamic(size) || llvm::AddOverflow(sum, size, sum))
        return false;
  }
  return joined && sums[*joined] == result.getDimSize(*joined);
}

//===----------------------------------------------------------------------===//
// ParameterOrigins
//===----------------------------------------------------------------------===//

static Origin makeOther(ObstacleKind kind, Value value, Value second,
                        Operation *op) {
  Origin origin;
  origin.kind = Origin::Kind::Other;
  origin.obstacle = {kind, value, second, op};
  return origin;
}

static Origin makeOther(Operation *op) {
  return makeOther(ObstacleKind::OtherSource, {}, {}, op);
}

static Origin makeParameter(Value parameter) {
  Origin origin;
  origin.kind = Origin::Kind::Parameter;
  origin.parameter = parameter;
  return origin;
}

/// The roles of the arguments of `function`, null where there is none; empty if
/// no argument has one.
static SmallVector<StringAttr> readRoles(FunctionOpInterface function) {
  SmallVector<StringAttr> roles;
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i)
    roles.push_back(function.getArgAttrOfType<StringAttr>(i, roleAttrName));
  if (llvm::none_of(roles, [](StringAttr role) { return bool(role); }))
    roles.clear();
  return roles;
}

ParameterOrigins::ParameterOrigins(Block &block) {
  Operation *parent = block.getParentOp();
  while (parent && !isa<FunctionOpInterface>(parent))
    parent = parent->getParentOp();
  if (auto function = dyn_cast_if_present<FunctionOpInterface>(parent)) {
    entry = &function.front();
    roles = readRoles(function);
  }
  for (Operation &op : block) {
    // One that views each operand by itself.
    bool isView = op.getNumResults() > 1 && isFreeView(&op);
    Origin origin = isView ? Origin() : visit(&op);
    for (OpResult result : op.getResults())
      origins[result] =
          isView ? getOrigin(commsched::getAliasedValue(result)) : origin;
  }
}

Origin ParameterOrigins::getOrigin(Value value) const {
  // In graph regions, operations later in the block have no origin yet.
  auto it = origins.find(value);
  return it == origins.end() ? getOuterOrigin(value) : it->second;
}

/// The origin of an argument, or of a value from outside of the block.
Origin ParameterOrigins::getOuterOrigin(Value value) const {
  if (matchPattern(value, m_Constant()))
    return {};
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != entry)
    return makeOther(ObstacleKind::OutsideValue, value, {}, nullptr);
  if (!roles.empty()) {
    StringAttr role = roles[argument.getArgNumber()];
    if (!role || role != parameterRole)
      return makeOther(ObstacleKind::OtherArgument, value, {}, nullptr);
  }
  return makeParameter(value);
}

/// Whether `op`, a local computation of `inputs`, casts, pads or views: without
/// arithmetic, it has one tensor operand, or concatenates several; what it
/// writes into does not count.
static bool isMovement(Operation *op, ArrayRef<Value> inputs) {
  if (mayDoArithmetic(op))
    return false;
  auto isDestination = [&](Value value) {
    auto style = dyn_cast<DestinationStyleOpInterface>(op);
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    return (style && llvm::is_contained(style.getDpsInits(), value)) ||
           (effects && effects.getEffectOnValue<MemoryEffects::Write>(value));
  };
  SmallVector<Value> sources = llvm::filter_to_vector(
      inputs, [&](Value value) { return !isDestination(value); });
  return sources.size() <= 1 || isConcatenation(op, sources);
}

Origin ParameterOrigins::visit(Operation *op) const {
  if (isa<AllGatherCopyInOp>(op))
    return visitCopyIn(op);
  if (!isLocalComputation(op))
    return makeOther(op);
  SmallVector<Value> inputs = getTensorInputs(op);
  if (llvm::all_of(inputs, [&](Value input) { return isConstant(input); })) {
    // Anybody may write into memory.
    bool isMemory =
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
    return isMemory ? makeOther(op) : Origin();
  }
  if (!isMovement(op, inputs))
    return makeOther(op);
  Origin joined;
  for (Value input : inputs) {
    Origin origin = getOrigin(input);
    if (origin.kind == Origin::Kind::Constant)
      continue;
    if (origin.kind == Origin::Kind::Other)
      return origin;
    if (joined.kind == Origin::Kind::Constant) {
      joined = origin;
      continue;
    }
    if (origin.kind == Origin::Kind::Bucket || joined.kind != origin.kind)
      return makeOther(op);
    if (joined.parameter != origin.parameter)
      return makeOther(ObstacleKind::SecondParameter, joined.parameter,
                       origin.parameter, op);
  }
  return joined;
}

/// The origin of both results: the slice, and the buffer that it is of.
Origin ParameterOrigins::visitCopyIn(Operation *op) const {
  Origin bucket;
  for (Value input : op->getOperands()) {
    Origin origin = getOrigin(input);
    if (origin.kind == Origin::Kind::Other)
      return origin;
    if (origin.kind == Origin::Kind::Bucket)
      return makeOther(op);
    if (origin.kind == Origin::Kind::Parameter) {
      bucket.kind = Origin::Kind::Bucket;
      bucket.copyIn = op;
    }
  }
  return bucket;
}

void ParameterOrigins::appendParameters(
    Value value, SmallVectorImpl<Value> &parameters) const {
  Origin origin = getOrigin(value);
  if (origin.kind == Origin::Kind::Parameter) {
    parameters.push_back(origin.parameter);
    return;
  }
  for (Value input : origin.copyIn->getOperands())
    if (Value parameter = getOrigin(input).parameter)
      parameters.push_back(parameter);
}
