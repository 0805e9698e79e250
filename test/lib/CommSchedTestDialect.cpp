//===- CommSchedTestDialect.cpp - Foreign dialect for tests ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSchedTestDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched_test;

#include "CommSchedTestDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "CommSchedTestTypes.cpp.inc"

#define GET_OP_CLASSES
#include "CommSchedTestOps.cpp.inc"

void TestDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "CommSchedTestTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "CommSchedTestOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ExchangeOp
//===----------------------------------------------------------------------===//

CollectiveKind ExchangeOp::getCollectiveKind() {
  return CollectiveKind::AllToAll;
}

SmallVector<Type> ExchangeOp::getDeliveredTypes() {
  return llvm::to_vector(getInputs().getTypes());
}

//===----------------------------------------------------------------------===//
// TotalOp
//===----------------------------------------------------------------------===//

CollectiveKind TotalOp::getCollectiveKind() {
  return symbolizeCollectiveKind(getKind().value_or(""))
      .value_or(CollectiveKind::AllReduce);
}

SmallVector<Type> TotalOp::getDeliveredTypes() {
  if (std::optional<Type> delivered = getDelivers())
    return {*delivered};
  return llvm::to_vector(getInputs().getTypes());
}

std::optional<mlir::commsched::ReductionKind> TotalOp::getReductionKind() {
  return mlir::commsched::ReductionKind::Sum;
}

Attribute TotalOp::getBucketKey() {
  if (getKeyless())
    return {};
  Attribute key = mlir::commsched::detail::getDefaultBucketKey(*this);
  if (!getWagon())
    return key;
  return ArrayAttr::get(getContext(), {key, getWagonAttr()});
}

bool TotalOp::isMergeable() { return !getUnmergeable(); }

Operation *TotalOp::createMergedStart(OpBuilder &builder, Location location,
                                      ValueRange sent, TypeRange delivered) {
  return TotalOp::create(builder, location, getHandle().getType(), sent,
                         getChannelAttr(), getRanksAttr(), getKindAttr(),
                         /*delivers=*/TypeAttr(), getWagonAttr(),
                         /*keyless=*/UnitAttr(),
                         /*unmergeable=*/UnitAttr());
}

Operation *TotalOp::createWait(OpBuilder &builder, Location location) {
  return FinishOp::create(builder, location, getDeliveredTypes(), getHandle());
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

Value FinishOp::getAwaitedFuture() { return getHandle(); }

std::optional<int64_t> WorkOp::getKnownRuntimeNs() { return getNanoseconds(); }

bool WorkOp::isExpensive() { return getExpensive(); }
