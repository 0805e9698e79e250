//===- GroupOps.cpp - Process groups, waits and barriers ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StartOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// GroupOp
//===----------------------------------------------------------------------===//

/// Ranks that share a node unless a group says otherwise: what an 8-GPU
/// server holds.
static constexpr int64_t defaultRanksPerNode = 8;

ProcessGroup GroupOp::getProcessGroup() {
  int64_t size = getSize();
  int64_t perNode =
      getRanksPerNode().value_or(std::min<int64_t>(size, defaultRanksPerNode));
  return {size, perNode};
}

/// Constraints C5 and C6 on the listed ranks.
static LogicalResult verifyListedRanks(GroupOp op, DenseIntElementsAttr ranks) {
  int64_t size = op.getSize();
  ShapedType type = ranks.getType();
  if (type.getRank() != 2 || type.getDimSize(0) < 1 ||
      type.getDimSize(1) != size)
    return op.emitOpError("'ranks' must have the shape Nx")
           << size << " for a group of size " << size << ", not " << type
           << " (C5)";
  llvm::DenseSet<int64_t> seen;
  for (int64_t rank : ranks.getValues<int64_t>()) {
    if (rank < 0)
      return op.emitOpError("'ranks' lists the negative rank ")
             << rank << " (C6)";
    if (!seen.insert(rank).second)
      return op.emitOpError("'ranks' lists rank ") << rank << " twice (C6)";
  }
  return success();
}

LogicalResult GroupOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (parent && !parent->hasTrait<OpTrait::SymbolTable>())
    return emitOpError("must be declared at module level, not inside '")
           << parent->getName() << "' (C1)";
  int64_t size = getSize();
  if (size < 1)
    return emitOpError("size(") << size << ") must be at least 1 (C2)";
  if (std::optional<int64_t> perNode = getRanksPerNode())
    if (*perNode < 1 || *perNode > size)
      return emitOpError("ranks_per_node(")
             << *perNode << ") must be in [1, " << size << "] (C3)";
  if (std::optional<int64_t> stride = getStride()) {
    if (*stride < 1)
      return emitOpError("stride(") << *stride << ") must be at least 1 (C4)";
    if (getRanks())
      return emitOpError("has both 'stride' and 'ranks' (C4)");
  }
  if (std::optional<DenseIntElementsAttr> ranks = getRanks())
    return verifyListedRanks(*this, *ranks);
  return success();
}

//===----------------------------------------------------------------------===//
// WaitOp
//===----------------------------------------------------------------------===//

Value WaitOp::getAwaitedFuture() { return getFuture(); }

LogicalResult
WaitOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                         ValueRange operands, DictionaryAttr attributes,
                         OpaqueProperties properties, RegionRange regions,
                         SmallVectorImpl<Type> &inferredReturnTypes) {
  if (operands.size() != 1)
    return failure();
  auto future = dyn_cast<FutureType>(operands.front().getType());
  if (!future)
    return emitOptionalError(location, "waits for a ",
                             operands.front().getType(),
                             ", which is no future");
  llvm::append_range(inferredReturnTypes, future.getTypes());
  return success();
}

void WaitOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  auto start = dyn_cast_if_present<CollectiveOpInterface>(getStart());
  effects.push_back(
      detail::getCommunicationEffect(start ? start.getGroupKey() : nullptr));
}

//===----------------------------------------------------------------------===//
// BarrierOp
//===----------------------------------------------------------------------===//

CollectiveKind BarrierOp::getCollectiveKind() {
  return CollectiveKind::Barrier;
}

Attribute BarrierOp::getGroupKey() { return getGroupAttr(); }

FailureOr<ProcessGroup>
BarrierOp::getProcessGroup(SymbolTableCollection &symbolTables) {
  return detail::lookupProcessGroup(*this, getGroupAttr(), symbolTables);
}

Value BarrierOp::getInFlightFuture() { return {}; }

OperandRange BarrierOp::getSentValues() { return (*this)->getOperands(); }

OperandRange BarrierOp::getDestinations() { return (*this)->getOperands(); }

SmallVector<Type> BarrierOp::getDeliveredTypes() { return {}; }

void BarrierOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.push_back(detail::getCommunicationEffect(getGroupAttr()));
}

LogicalResult BarrierOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  return detail::requireGroup(*this, getGroupAttr(), symbolTables);
}
