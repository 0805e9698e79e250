//===- StartOps.cpp - Shared parts of collective starts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StartOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

MemoryEffects::EffectInstance
mlir::commsched::detail::getGroupEffect(Attribute group) {
  MemoryEffects::Effect *write = MemoryEffects::Write::get();
  if (auto symbol = dyn_cast_if_present<SymbolRefAttr>(group))
    return {write, symbol, CommunicationResource::get()};
  if (group)
    return {write, group, CommunicationResource::get()};
  return {write, CommunicationResource::get()};
}

void mlir::commsched::detail::addStartEffects(
    CollectiveOpInterface start,
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.push_back(getGroupEffect(start.getGroupKey()));
  OperandRange into = start.getDestinations();
  if (into.empty())
    return;
  unsigned first = into.getBeginOperandIndex();
  for (unsigned index = first, end = first + into.size(); index < end; ++index)
    effects.emplace_back(MemoryEffects::Write::get(),
                         &start->getOpOperand(index));
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

Operation *mlir::commsched::detail::createMergedStart(Operation *start,
                                                      OpBuilder &builder,
                                                      Location location,
                                                      ValueRange sent,
                                                      TypeRange delivered) {
  NamedAttrList attributes(
      cast<DictionaryAttr>(start->getPropertiesAsAttribute()));
  // The first operands are what is sent. There are no others.
  StringRef segmentsName = AllGatherOp::getOperandSegmentSizeAttr();
  auto segments = cast<DenseI32ArrayAttr>(attributes.get(segmentsName));
  SmallVector<int32_t> sizes(segments.size(), 0);
  sizes.front() = static_cast<int32_t>(sent.size());
  attributes.set(segmentsName, builder.getDenseI32ArrayAttr(sizes));
  OperationState state(location, start->getName());
  state.addOperands(sent);
  state.addTypes(
      FutureType::get(builder.getContext(), llvm::to_vector(delivered)));
  state.propertiesAttr = attributes.getDictionary(builder.getContext());
  return builder.create(state);
}

Attribute mlir::commsched::detail::getBucketKeyWith(Operation *start,
                                                    ArrayRef<Attribute> more) {
  Builder builder(start->getContext());
  SmallVector<Attribute> key = {getDefaultBucketKey(start)};
  for (Attribute attr : more)
    key.push_back(attr ? attr : builder.getUnitAttr());
  return builder.getArrayAttr(key);
}

Attribute mlir::commsched::detail::sortPairs(ElementsAttr pairs) {
  SmallVector<std::pair<int64_t, int64_t>> rows;
  auto values = pairs.getValues<int64_t>();
  for (int64_t index = 0, end = pairs.getNumElements(); index < end; index += 2)
    rows.emplace_back(values[index], values[index + 1]);
  llvm::sort(rows);
  SmallVector<int64_t> flat;
  for (auto [source, target] : rows)
    flat.append({source, target});
  return DenseI64ArrayAttr::get(pairs.getContext(), flat);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The group that `symbol` names, seen from `op`; null when there is none.
static GroupOp lookupGroup(Operation *op, FlatSymbolRefAttr symbol,
                           SymbolTableCollection &symbolTables) {
  return symbolTables.lookupNearestSymbolFrom<GroupOp>(op, symbol);
}

/// The innermost operation around `op` that is not registered, or else the
/// outermost one.
static Operation *getUnregisteredParent(Operation *op) {
  while (Operation *parent = op->getParentOp()) {
    op = parent;
    if (!op->isRegistered())
      break;
  }
  return op;
}

FailureOr<GroupOp>
mlir::commsched::detail::requireGroup(Operation *op, FlatSymbolRefAttr symbol,
                                      SymbolTableCollection &symbolTables) {
  if (GroupOp group = lookupGroup(op, symbol, symbolTables))
    return group;
  Operation *other = symbolTables.lookupNearestSymbolFrom(op, symbol);
  if (!other) {
    InFlightDiagnostic diag = op->emitOpError("names the group ") << symbol;
    // MLIR looks for no symbols beyond an operation that may define its own.
    if (!SymbolTable::getNearestSymbolTable(op))
      return diag << ", which cannot be looked up in a region of '"
                  << getUnregisteredParent(op)->getName()
                  << "': that is not registered, and may have symbols of its "
                     "own (C1)";
    return diag << ", which does not exist (C1)";
  }
  return emitOpErrorWithNote(op, other->getLoc(), "the symbol is defined here")
         << "names " << symbol << " as its group, which is a '"
         << other->getName() << "' (C1)";
}

FailureOr<ProcessGroup> mlir::commsched::detail::lookupProcessGroup(
    Operation *op, FlatSymbolRefAttr symbol,
    SymbolTableCollection &symbolTables) {
  if (GroupOp group = lookupGroup(op, symbol, symbolTables))
    return group.getProcessGroup();
  return failure();
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::detail::verifyArity(Operation *op,
                                                   TypeRange inputs,
                                                   ArrayRef<Type> delivered,
                                                   StringRef constraint) {
  if (inputs.empty())
    return op->emitOpError("needs at least one operand (") << constraint << ")";
  if (inputs.size() != delivered.size())
    return op->emitOpError("has ")
           << inputs.size() << " operand(s) but delivers " << delivered.size()
           << " value(s) (" << constraint << ")";
  return success();
}

LogicalResult mlir::commsched::detail::verifySameElementTypeAndRank(
    Operation *op, TypeRange inputs, ArrayRef<Type> delivered,
    StringRef constraint) {
  if (failed(verifyArity(op, inputs, delivered, "C2")))
    return failure();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(inputs, delivered))) {
    auto input = cast<RankedTensorType>(std::get<0>(pair));
    auto output = cast<RankedTensorType>(std::get<1>(pair));
    if (input.getElementType() != output.getElementType())
      return op->emitOpError("operand ")
             << index << " has element type " << input.getElementType()
             << ", but " << output.getElementType() << " is delivered ("
             << constraint << ")";
    if (input.getRank() != output.getRank())
      return op->emitOpError("operand ")
             << index << " has rank " << input.getRank() << ", but rank "
             << output.getRank() << " is delivered (" << constraint << ")";
  }
  return success();
}

LogicalResult mlir::commsched::detail::verifySameTypes(Operation *op,
                                                       TypeRange inputs,
                                                       ArrayRef<Type> delivered,
                                                       StringRef constraint) {
  if (failed(verifyArity(op, inputs, delivered, "C2")))
    return failure();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(inputs, delivered)))
    if (std::get<0>(pair) != std::get<1>(pair))
      return op->emitOpError("operand ")
             << index << " is a " << std::get<0>(pair) << ", but a "
             << std::get<1>(pair) << " is delivered (" << constraint << ")";
  return success();
}

LogicalResult mlir::commsched::detail::verifyDimension(Operation *op,
                                                       StringRef name,
                                                       int64_t dim,
                                                       TypeRange inputs,
                                                       StringRef constraint) {
  for (auto [index, type] : llvm::enumerate(inputs)) {
    int64_t rank = cast<RankedTensorType>(type).getRank();
    if (dim < 0 || dim >= rank)
      return op->emitOpError()
             << name << "(" << dim << ") is no dimension of operand " << index
             << ", which has rank " << rank << " (" << constraint << ")";
  }
  return success();
}

LogicalResult mlir::commsched::detail::verifyInto(Operation *op,
                                                  ValueRange into,
                                                  ArrayRef<Type> delivered,
                                                  StringRef constraint) {
  if (into.empty())
    return success();
  if (into.size() != delivered.size())
    return op->emitOpError("writes into ")
           << into.size() << " buffer(s) but delivers " << delivered.size()
           << " value(s) (" << constraint << ")";
  for (auto [index, buffer, type] : llvm::enumerate(into, delivered)) {
    if (buffer.getType() == type)
      continue;
    return emitOpErrorWithNote(op, buffer.getLoc(),
                               "the buffer is defined here")
           << "'into' buffer " << index << " is a " << buffer.getType()
           << ", but a " << type << " is delivered (" << constraint << ")";
  }
  return success();
}

static bool isLegalReduction(ReductionKind reduction, Type element) {
  switch (reduction) {
  case ReductionKind::Sum:
  case ReductionKind::Prod:
    return true;
  case ReductionKind::Avg:
    return isa<FloatType, ComplexType>(element);
  case ReductionKind::Min:
  case ReductionKind::Max:
    return !isa<ComplexType>(element);
  case ReductionKind::BitAnd:
  case ReductionKind::BitOr:
  case ReductionKind::BitXor:
    return isa<IntegerType>(element);
  }
  return false;
}

LogicalResult mlir::commsched::detail::verifyReduction(Operation *op,
                                                       ReductionKind reduction,
                                                       TypeRange inputs,
                                                       StringRef constraint) {
  for (auto [index, type] : llvm::enumerate(inputs)) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (!isLegalReduction(reduction, element))
      return op->emitOpError("reduction(")
             << stringifyReductionKind(reduction)
             << ") is not defined for the element type " << element
             << " of operand " << index << " (" << constraint << ")";
  }
  return success();
}

LogicalResult mlir::commsched::detail::verifyRank(Operation *op, StringRef name,
                                                  int64_t rank, GroupOp group,
                                                  StringRef constraint) {
  int64_t size = group.getSize();
  if (rank >= 0 && rank < size)
    return success();
  return emitOpErrorWithNote(op, group.getLoc(), "the group is declared here")
         << name << "(" << rank << ") is no rank of group @"
         << group.getSymName() << ", which has " << size << " (" << constraint
         << ")";
}

//===----------------------------------------------------------------------===//
// Division into chunks
//===----------------------------------------------------------------------===//

commsched::detail::RankDimensions
mlir::commsched::detail::getRankDimensions(Operation *start) {
  return llvm::TypeSwitch<Operation *, RankDimensions>(start)
      .Case([](AllGatherOp op) {
        return RankDimensions{-1, static_cast<int64_t>(op.getDim())};
      })
      .Case([](ReduceScatterOp op) {
        return RankDimensions{static_cast<int64_t>(op.getDim()), -1};
      })
      .Case([](AllToAllOp op) {
        return RankDimensions{static_cast<int64_t>(op.getSplitDim()),
                              static_cast<int64_t>(op.getConcatDim()),
                              op.hasSplits()};
      })
      .Default(RankDimensions());
}

SplitRule mlir::commsched::detail::getTransferSplitRule(Operation *start) {
  auto collective = cast<CollectiveOpInterface>(start);
  auto group = SymbolTable::lookupNearestSymbolFrom<GroupOp>(
      start, cast<FlatSymbolRefAttr>(collective.getGroupKey()));
  if (!group)
    return {};
  int64_t ranks = group.getSize();
  auto sent = cast<RankedTensorType>(start->getOperand(0).getType());
  auto delivered =
      cast<RankedTensorType>(collective.getDeliveredTypes().front());
  RankDimensions dims = getRankDimensions(start);
  SplitRule rule;
  for (int64_t dim = 0, rank = sent.getRank(); dim < rank; ++dim) {
    if (sent.isDynamicDim(dim) || delivered.isDynamicDim(dim) ||
        (dims.isUneven && dim == dims.ofOperand))
      continue;
    int64_t inOperand = dim == dims.ofOperand ? ranks : 1;
    int64_t inResult = dim == dims.ofResult ? ranks : 1;
    rule.axes.push_back({sent.getDimSize(dim) / inOperand,
                         SplitAxisKind::Parallel,
                         {AxisPlace{0, dim, inOperand}},
                         {AxisPlace{0, dim, inResult}}});
  }
  return rule;
}

Operation *mlir::commsched::detail::createTransferChunk(Operation *start,
                                                        OpBuilder &builder,
                                                        ValueRange operands,
                                                        TypeRange delivered) {
  auto future =
      FutureType::get(start->getContext(), llvm::to_vector(delivered));
  return createWithTypes(builder, start, operands, TypeRange(future));
}
