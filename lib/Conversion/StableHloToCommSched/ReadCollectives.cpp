//===- ReadCollectives.cpp - StableHLO's collectives by name --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

std::optional<CollectiveKind>
mlir::commsched::stablehlo::getCollectiveKind(Operation *op) {
  if (op->getName().getDialectNamespace() != "stablehlo")
    return std::nullopt;
  StringRef name = op->getName().getStringRef();
  if (name == customCallName) {
    auto target =
        dyn_cast_if_present<StringAttr>(getAttribute(op, callTargetName));
    if (target && target.getValue() == raggedAllToAllTarget)
      return CollectiveKind::AllToAll;
    return std::nullopt;
  }
  return llvm::StringSwitch<std::optional<CollectiveKind>>(name)
      .Case(allGatherName, CollectiveKind::AllGather)
      .Case(allReduceName, CollectiveKind::AllReduce)
      .Case(allToAllName, CollectiveKind::AllToAll)
      .Case(collectiveBroadcastName, CollectiveKind::Broadcast)
      .Case(collectivePermuteName, CollectiveKind::Permute)
      .Case(reduceScatterName, CollectiveKind::ReduceScatter)
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Reads the i64 attribute `name`, which must be in [`low`, `high`).
static LogicalResult readInteger(Operation *op, StringRef name, int64_t low,
                                 int64_t high, StringRef bound,
                                 int64_t &value) {
  Attribute attr = getAttribute(op, name);
  if (!attr)
    return op->emitOpError("lacks the attribute '") << name << "'";
  auto integer = dyn_cast<IntegerAttr>(attr);
  if (!integer || integer.getValue().getSignificantBits() > 64)
    return op->emitOpError("attribute '")
           << name << "' must be an i64, not " << attr;
  value = integer.getValue().getSExtValue();
  if (value < low || value >= high)
    return op->emitOpError("attribute '")
           << name << "' is " << value << ", which is not in [" << low << ", "
           << high << "), " << bound;
  return success();
}

/// Reads a dimension of the first operand of `collective`, which is a ranked
/// tensor.
static LogicalResult readDimension(Operation *op, StringRef name,
                                   int64_t &dim) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  return readInteger(op, name, 0, type.getRank(),
                     "the dimensions of its operand", dim);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Why the operands or results `types` cannot be sent; empty if they can.
static std::string describeUnsupportedTypes(TypeRange types) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      os << type << " is no ranked tensor";
    else if (!tensor.hasStaticShape())
      os << type << " has a dynamic size";
    else if (!tensor.getElementType().isIntOrFloat() &&
             !isa<ComplexType>(tensor.getElementType()))
      os << "the size of " << tensor.getElementType() << " is not known";
    if (!text.empty())
      break;
  }
  return text;
}

static bool hasDimensions(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

/// The type that `collective` delivers for an operand of type `sent`, or null,
/// with an error, if the group does not divide it or the size is too large.
static Type inferDelivered(const Collective &collective,
                           RankedTensorType sent) {
  SmallVector<int64_t> shape = llvm::to_vector(sent.getShape());
  int64_t size = collective.group->size;
  auto divide = [&](int64_t dim) {
    if (shape[dim] % size == 0) {
      shape[dim] /= size;
      return true;
    }
    collective.op->emitOpError("splits ")
        << sent << " along dimension " << dim
        << " among the devices of a group, of which there are " << size;
    return false;
  };
  auto multiply = [&](int64_t dim) {
    if (!llvm::MulOverflow(shape[dim], size, shape[dim]))
      return true;
    collective.op->emitOpError("concatenates ")
        << sent << " along dimension " << dim << " for " << size
        << " devices, which is too large";
    return false;
  };
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    if (!multiply(collective.dim))
      return {};
    break;
  case CollectiveKind::ReduceScatter:
    if (!divide(collective.dim))
      return {};
    break;
  case CollectiveKind::AllToAll:
    if (!divide(collective.dim) || !multiply(collective.concatDim))
      return {};
    break;
  default:
    break;
  }
  return RankedTensorType::get(shape, sent.getElementType(),
                               sent.getEncoding());
}

/// The results are what the group delivers for the operands.
static Reading verifyTypes(Collective &collective, Context &context) {
  Operation *op = collective.op;
  for (auto [index, sent, delivered] :
       llvm::enumerate(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = cast<RankedTensorType>(sent);
    Type element = cast<RankedTensorType>(delivered).getElementType();
    if (element != tensor.getElementType()) {
      bool reduces = collective.kind == CollectiveKind::AllReduce ||
                     collective.kind == CollectiveKind::ReduceScatter;
      if (!reduces || !isPromotable(tensor.getElementType(), element))
        return keep(op, "its result has another element type than its operand",
                    context);
      collective.isPromoted = true;
      tensor = tensor.clone(element);
    }
    int64_t dim = std::max(collective.dim, collective.concatDim);
    if (hasDimensions(collective.kind) && dim >= tensor.getRank()) {
      op->emitOpError("works along dimension ")
          << dim << ", but operand " << index << " is a " << tensor;
      return Reading::Failed;
    }
    Type inferred = inferDelivered(collective, tensor);
    if (!inferred)
      return Reading::Failed;
    if (inferred != delivered) {
      op->emitOpError("result ")
          << index << " is a " << delivered << ", but a group of "
          << collective.group->size << " devices delivers a " << inferred
          << " for a " << tensor
          << context.groups.describeMissing(collective.ids ==
                                                    DeviceIds::WholeReplicas
                                                ? DeviceIds::Flattened
                                                : collective.ids);
      return Reading::Failed;
    }
  }
  return Reading::Complete;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Reads the dimensions that collectives of its kind have.
static LogicalResult readDimensions(Collective &collective) {
  Operation *op = collective.op;
  if (collective.isRagged)
    return success();
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    return readDimension(op, allGatherDimName, collective.dim);
  case CollectiveKind::ReduceScatter:
    return readDimension(op, scatterDimensionName, collective.dim);
  case CollectiveKind::AllToAll:
    return success(
        succeeded(readDimension(op, splitDimensionName, collective.dim)) &&
        succeeded(
            readDimension(op, concatDimensionName, collective.concatDim)));
  default:
    return success();
  }
}

static LogicalResult verifySplitCount(const Collective &collective) {
  if (collective.kind != CollectiveKind::AllToAll)
    return success();
  int64_t count, size = collective.group->size;
  if (failed(readInteger(collective.op, splitCountName, 1,
                         std::numeric_limits<int64_t>::max(),
                         "the numbers of parts", count)))
    return failure();
  if (count == size)
    return success();
  return collective.op->emitOpError("attribute 'split_count' is ")
         << count << ", but its groups have " << size << " devices";
}

/// Whether `reduction` is one that `commsched` defines for `element`.
static bool isLegal(ReductionKind reduction, Type element) {
  switch (reduction) {
  case ReductionKind::Min:
  case ReductionKind::Max:
    return !isa<ComplexType>(element);
  case ReductionKind::BitAnd:
  case ReductionKind::BitOr:
    return isa<IntegerType>(element);
  default:
    return true;
  }
}

static Reading readReduction(Collective &collective, Context &context) {
  Operation *op = collective.op;
  if (op->getNumRegions() != 1) {
    op->emitOpError("has ")
        << op->getNumRegions() << " regions, but reduces by one";
    return Reading::Failed;
  }
  for (Type type : op->getResultTypes()) {
    Type element = cast<RankedTensorType>(type).getElementType();
    std::optional<Reducer> reducer = readReducer(op->getRegion(0), element);
    if (!reducer)
      return keep(op,
                  "its reducer is not one of add, maximum, minimum, multiply, "
                  "and, or, xor of its results' elements",
                  context);
    if (!isLegal(reducer->reduction, element))
      return keep(op, "its reducer is not defined for its elements", context);
    collective.reducer = *reducer;
  }
  return Reading::Complete;
}

/// Operands and result are those of `commsched.ragged_all_to_all`.
static Reading verifyRaggedTypes(const Collective &collective,
                                 Context &context) {
  Operation *op = collective.op;
  if (op->getNumOperands() != 6 || op->getNumResults() != 1) {
    op->emitOpError("has ")
        << op->getNumOperands() << " operands and " << op->getNumResults()
        << " results, but a ragged all-to-all has 6 and 1";
    return Reading::Failed;
  }
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto output = cast<RankedTensorType>(op->getOperand(1).getType());
  if (output != op->getResult(0).getType()) {
    op->emitOpError("result is a ")
        << op->getResult(0).getType() << ", but is written into a " << output;
    return Reading::Failed;
  }
  if (input.getRank() < 1 || input.getRank() != output.getRank() ||
      input.getShape().drop_front() != output.getShape().drop_front() ||
      input.getElementType() != output.getElementType()) {
    op->emitOpError("sends rows of a ")
        << input << ", which are no rows of a " << output;
    return Reading::Failed;
  }
  Type first = op->getOperand(2).getType();
  for (Value list : op->getOperands().drop_front(2)) {
    auto type = cast<RankedTensorType>(list.getType());
    if (type.getRank() != 1 || !isa<IntegerType>(type.getElementType()) ||
        type.getShape() != cast<RankedTensorType>(first).getShape() ||
        type.getDimSize(0) % collective.group->size != 0)
      return keep(op, "its lists do not have entries for each device", context);
  }
  return Reading::Complete;
}

/// The number of devices for which the types of the first operand and result
/// are right, or 0 if that does not depend on it. `split_count` says that of an
/// all_to_all.
static int64_t getTypeFactor(const Collective &collective) {
  Operation *op = collective.op;
  auto divide = [](int64_t larger, int64_t smaller) {
    return smaller > 0 && larger % smaller == 0 ? larger / smaller : 0;
  };
  auto sent = cast<RankedTensorType>(op->getOperand(0).getType());
  auto delivered = cast<RankedTensorType>(op->getResult(0).getType());
  if (collective.isRagged || sent.getRank() != delivered.getRank())
    return 0;
  if (collective.kind == CollectiveKind::AllGather)
    return divide(delivered.getDimSize(collective.dim),
                  sent.getDimSize(collective.dim));
  if (collective.kind == CollectiveKind::ReduceScatter)
    return divide(sent.getDimSize(collective.dim),
                  delivered.getDimSize(collective.dim));
  auto count = dyn_cast_if_present<IntegerAttr>(
      collective.kind == CollectiveKind::AllToAll
          ? getAttribute(op, splitCountName)
          : Attribute());
  return count && count.getValue().isIntN(31) ? count.getInt() : 0;
}

/// The numbers of operands and results are those of its kind.
static Reading verifyNumbers(const Collective &collective, Context &context) {
  Operation *op = collective.op;
  if (op->getNumOperands() == 0)
    return keep(op, "it has no operands", context);
  if (collective.isRagged || op->getNumOperands() == op->getNumResults())
    return Reading::Complete;
  if (collective.kind == CollectiveKind::Broadcast &&
      op->getNumOperands() == op->getNumResults() + 1)
    return keep(op, "its root is known at run time only", context);
  op->emitOpError("has ") << op->getNumOperands() << " operands but "
                          << op->getNumResults() << " results";
  return Reading::Failed;
}

Reading mlir::commsched::stablehlo::readAlone(Collective &collective,
                                              DeviceEvidence &evidence,
                                              Context &context) {
  Operation *op = collective.op;
  collective.kind = *getCollectiveKind(op);
  collective.isRagged = op->getName().getStringRef() == customCallName;
  Reading numbers = verifyNumbers(collective, context);
  if (numbers != Reading::Complete)
    return numbers;
  SmallVector<Type> types = llvm::to_vector(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  if (std::string reason = describeUnsupportedTypes(types); !reason.empty())
    return keep(op, reason, context);
  if (failed(readDimensions(collective)))
    return Reading::Failed;
  Reading ids = readIds(collective, context);
  if (ids == Reading::Complete && op->getNumResults() != 0)
    addEvidence(collective, getTypeFactor(collective), evidence, context);
  return ids;
}

Reading mlir::commsched::stablehlo::readCollective(Collective &collective,
                                                   Context &context) {
  int64_t factor =
      collective.op->getNumResults() == 0 ? 0 : getTypeFactor(collective);
  Reading group = readGroup(collective, factor, context);
  if (group != Reading::Complete)
    return group;
  if (collective.isRagged)
    return verifyRaggedTypes(collective, context);
  if (failed(verifySplitCount(collective)))
    return Reading::Failed;
  Reading types = verifyTypes(collective, context);
  if (types != Reading::Complete)
    return types;
  if (collective.kind == CollectiveKind::AllReduce ||
      collective.kind == CollectiveKind::ReduceScatter)
    return readReduction(collective, context);
  return Reading::Complete;
}
