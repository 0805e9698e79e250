//===- CommSchedInterfaces.cpp - Interface defaults and verifiers ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

#include "CommSched/Interfaces/CommSchedEnums.cpp.inc"
#include "CommSched/Interfaces/CommSchedInterfaces.cpp.inc"

StringAttr mlir::commsched::getImplementation(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(implementationAttrName);
  constexpr StringLiteral defaultName = "nccl";
  return name && name.getValue() != defaultName ? name : StringAttr();
}

Attribute mlir::commsched::getStreamKey(CollectiveOpInterface collective) {
  Attribute group = collective.getGroupKey();
  if (StringAttr implementation = getImplementation(collective))
    return ArrayAttr::get(collective->getContext(), {group, implementation});
  return group;
}

Attribute mlir::commsched::detail::getDefaultBucketKey(Operation *op) {
  auto collective = cast<CollectiveOpInterface>(op);
  Builder builder(op->getContext());
  SmallVector<Attribute> key = {builder.getStringAttr(stringifyCollectiveKind(
                                    collective.getCollectiveKind())),
                                getStreamKey(collective)};
  if (std::optional<ReductionKind> reduction = collective.getReductionKind())
    key.push_back(builder.getStringAttr(stringifyReductionKind(*reduction)));
  for (Type type : collective.getDeliveredTypes())
    if (ShapedType shaped = getTensorType(type)) {
      auto element = TypeAttr::get(shaped.getElementType());
      if (key.back() != element)
        key.push_back(element);
    }
  return builder.getArrayAttr(key);
}

Type mlir::commsched::detail::getDefaultComputeType(Operation *op) {
  for (Value operand : op->getOperands())
    if (ShapedType shaped = getTensorType(operand.getType()))
      return shaped.getElementType();
  for (Type type : op->getResultTypes())
    if (ShapedType shaped = getTensorType(type))
      return shaped.getElementType();
  return {};
}

bool mlir::commsched::detail::isExpensiveByDefault(Operation *op) {
  constexpr double flopsPerByte = 8;
  auto cost = cast<CostOpInterface>(op);
  std::optional<double> flops = cost.getFlopCount();
  // Sizes take longer to add up, and most operations need none.
  if (!flops || *flops <= 0)
    return false;
  std::optional<int64_t> bytes = cost.getMovedBytes();
  return bytes && *flops > flopsPerByte * static_cast<double>(*bytes);
}

Operation *mlir::commsched::detail::getStart(Value future) {
  if (!future)
    return nullptr;
  Operation *start = future.getDefiningOp();
  auto collective = dyn_cast_if_present<CollectiveOpInterface>(start);
  if (!collective || collective.getInFlightFuture() != future)
    return nullptr;
  return start;
}

Operation *mlir::commsched::detail::getWait(Value future) {
  if (!future)
    return nullptr;
  for (Operation *user : future.getUsers())
    if (isa<WaitOpInterface>(user))
      return user;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Sizes of values with static shapes
//===----------------------------------------------------------------------===//

/// Bytes of one element, padded to whole bytes; none for types without a
/// fixed width.
static std::optional<int64_t> getElementBytes(Type type) {
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    std::optional<int64_t> part = getElementBytes(complexType.getElementType());
    return part ? std::optional<int64_t>(2 * *part) : std::nullopt;
  }
  // The width of an index is the target's; every one that CommSched knows
  // addresses 64 bits.
  if (isa<IndexType>(type))
    return 8;
  if (auto integer = dyn_cast<IntegerType>(type))
    return static_cast<int64_t>(llvm::divideCeil(integer.getWidth(), 8));
  if (auto number = dyn_cast<FloatType>(type))
    return static_cast<int64_t>(llvm::divideCeil(number.getWidth(), 8));
  return std::nullopt;
}

static std::optional<int64_t> getBytes(ArrayRef<int64_t> shape,
                                       Type elementType) {
  if (ShapedType::isDynamicShape(shape))
    return std::nullopt;
  std::optional<int64_t> bytes = getElementBytes(elementType);
  if (!bytes)
    return std::nullopt;
  for (int64_t dim : shape)
    if (llvm::MulOverflow(*bytes, dim, *bytes))
      return std::nullopt;
  return bytes;
}

ShapedType mlir::commsched::getTensorType(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped;
  Dialect *dialect = &type.getDialect();
  if (auto opaque = dyn_cast<OpaqueType>(type))
    dialect = type.getContext()->getLoadedDialect(
        opaque.getDialectNamespace().getValue());
  if (!dialect)
    return {};
  auto *types = dialect->getRegisteredInterface<TensorTypeDialectInterface>();
  return types ? types->getTensorType(type) : ShapedType();
}

std::optional<int64_t> mlir::commsched::getStaticBytes(Type type) {
  // Nearly all are tensors, which answer faster than the interface.
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return getBytes(tensor.getShape(), tensor.getElementType());
  ShapedType shaped = getTensorType(type);
  if (!shaped)
    return 0;
  if (!shaped.hasRank())
    return std::nullopt;
  return getBytes(shaped.getShape(), shaped.getElementType());
}

std::optional<int64_t> mlir::commsched::getStaticBytes(TypeRange types) {
  int64_t total = 0;
  for (Type type : types) {
    std::optional<int64_t> bytes = getStaticBytes(type);
    if (!bytes || llvm::AddOverflow(total, *bytes, total))
      return std::nullopt;
  }
  return total;
}

std::optional<int64_t> mlir::commsched::getWholeNumber(Attribute constant) {
  if (auto elements = dyn_cast_if_present<DenseIntElementsAttr>(constant);
      elements && elements.isSplat())
    constant = elements.getSplatValue<IntegerAttr>();
  auto number = dyn_cast_if_present<IntegerAttr>(constant);
  if (!number)
    return std::nullopt;
  return APSInt(number.getValue(), number.getType().isUnsignedInteger())
      .tryExtValue();
}

std::optional<int64_t>
mlir::commsched::getOperandAndResultBytes(Operation *op) {
  SmallVector<Type> types = getSizedTypes(op->getOperands());
  llvm::append_range(types, getSizedTypes(op->getResults()));
  return getStaticBytes(types);
}

std::optional<int64_t> mlir::commsched::getMultipleOfBytes(ValueRange values,
                                                           int64_t times) {
  SmallVector<Type> types = getSizedTypes(values);
  std::optional<int64_t> bytes = getStaticBytes(types);
  int64_t product;
  if (!bytes || llvm::MulOverflow(*bytes, times, product))
    return std::nullopt;
  return product;
}

std::optional<int64_t> mlir::commsched::getSelectionBytes(Operation *op) {
  std::optional<int64_t> copied =
      getMultipleOfBytes(op->getResults(), /*times=*/2);
  std::optional<int64_t> others =
      getMultipleOfBytes(op->getOperands().drop_front(), /*times=*/1);
  int64_t total;
  if (!copied || !others || llvm::AddOverflow(*copied, *others, total))
    return std::nullopt;
  return total;
}

std::optional<double> mlir::commsched::getElementCount(Type type) {
  ShapedType shaped = getTensorType(type);
  if (!shaped)
    return 0;
  if (!shaped.hasStaticShape())
    return std::nullopt;
  double count = 1;
  for (int64_t dim : shaped.getShape())
    count *= static_cast<double>(dim);
  return count;
}

std::optional<double> mlir::commsched::getElementCount(Value value) {
  return getElementCount(getSizedType(value));
}

int64_t mlir::commsched::countRanksOnOneNode(ArrayRef<int64_t> ranks,
                                             int64_t ranksPerNode) {
  DenseMap<int64_t, int64_t> counts;
  int64_t most = 0;
  for (int64_t rank : ranks)
    most = std::max(most, ++counts[rank / ranksPerNode]);
  return most;
}
